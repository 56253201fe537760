/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared receive queues: operations of the device. */
#ifndef MPA_RNIC_SRQ_VERBS_H
#define MPA_RNIC_SRQ_VERBS_H

#include <rdma/ib_verbs.h>

int rnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata);
int rnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int rnic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int rnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int rnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);

#endif /* MPA_RNIC_SRQ_VERBS_H */
