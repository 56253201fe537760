/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints: the end of a connection. */
#ifndef MPA_RNIC_EP_CLOSE_H
#define MPA_RNIC_EP_CLOSE_H

#include <linux/types.h>

struct rnic_ep;
struct sock;

bool rnic_ep_tcp_over(const struct sock *sk);
void rnic_ep_finish(struct rnic_ep *ep, bool abort, int err);
void rnic_ep_abort(struct rnic_ep *ep);
void rnic_ep_start_closing(struct rnic_ep *ep);
void rnic_ep_check_progress(struct rnic_ep *ep);
void rnic_ep_linger(struct rnic_ep *ep);
void rnic_ep_orderly(struct rnic_ep *ep);
void rnic_ep_end_soon(struct rnic_ep *ep);

#endif /* MPA_RNIC_EP_CLOSE_H */
