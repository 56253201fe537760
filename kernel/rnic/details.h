/* SPDX-License-Identifier: GPL-2.0-only */
/* Driver-specific details for `rdma -dd resource show` and `rdma statistic mr`. */
#ifndef MPA_RNIC_DETAILS_H
#define MPA_RNIC_DETAILS_H

#include <rdma/ib_verbs.h>

struct rdma_cm_id;
struct sk_buff;

int rnic_fill_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int rnic_fill_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int rnic_fill_srq(struct sk_buff *msg, struct ib_srq *ibsrq);
int rnic_fill_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int rnic_fill_mr_stat(struct sk_buff *msg, struct ib_mr *ibmr);
int rnic_fill_cm_id(struct sk_buff *msg, struct rdma_cm_id *id);

#endif /* MPA_RNIC_DETAILS_H */
