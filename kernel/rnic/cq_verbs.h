/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion queues: operations of the device. */
#ifndef MPA_RNIC_CQ_VERBS_H
#define MPA_RNIC_CQ_VERBS_H

#include <rdma/ib_verbs.h>

int rnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata);
int rnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int rnic_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int rnic_resize_cq(struct ib_cq *ibcq, u32 cqe, struct ib_udata *udata);
int rnic_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc);
int rnic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif /* MPA_RNIC_CQ_VERBS_H */
