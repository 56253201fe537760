/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints: connecting, as Initiator. */
#ifndef MPA_RNIC_CONNECT_H
#define MPA_RNIC_CONNECT_H

struct iw_cm_conn_param;
struct iw_cm_id;
struct rnic_ep;

void rnic_ep_startup_over(struct rnic_ep *ep);
int rnic_iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);

#endif /* MPA_RNIC_CONNECT_H */
