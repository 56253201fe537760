/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints: the MPA stream, the QP and the identifier of the core. */
#ifndef MPA_RNIC_EP_STREAM_H
#define MPA_RNIC_EP_STREAM_H

#include "states.h"

struct iw_cm_id;
struct mpa_conn;
struct rnic_ep;
struct rnic_qp;

int rnic_ep_attach(struct rnic_ep *ep, enum rnic_ep_state to);
void rnic_ep_adopt(struct rnic_ep *ep, struct mpa_conn *conn,
		   enum rnic_ep_state to);
void rnic_ep_tune(struct rnic_ep *ep);
void rnic_ep_rejected(struct rnic_ep *ep);
int rnic_ep_bind(struct rnic_ep *ep, struct iw_cm_id *cm_id,
		 struct rnic_qp *qp);

#endif /* MPA_RNIC_EP_STREAM_H */
