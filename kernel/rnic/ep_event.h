/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints: events for the connection manager of the core. */
#ifndef MPA_RNIC_EP_EVENT_H
#define MPA_RNIC_EP_EVENT_H

#include <linux/types.h>

struct iw_cm_event;
struct iw_cm_id;
struct mpa_frame;
struct rnic_ep;

void rnic_ep_event_set_pd(struct iw_cm_event *event, const void *pd, u32 pd_len);
int rnic_ep_report_request(struct rnic_ep *ep, const struct mpa_frame *req,
			   const void *pd, u32 pd_len);
int rnic_ep_report_established(struct rnic_ep *ep);
int rnic_ep_report_reply(struct rnic_ep *ep, const void *pd, u32 pd_len);
void rnic_ep_report_failure(const struct rnic_ep *ep, struct iw_cm_id *cm_id,
			    int status);
void rnic_ep_report_close(const struct rnic_ep *ep, struct iw_cm_id *cm_id);

#endif /* MPA_RNIC_EP_EVENT_H */
