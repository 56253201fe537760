/* SPDX-License-Identifier: GPL-2.0-only */
/* Queue pairs: operations of the device. */
#ifndef MPA_RNIC_QP_VERBS_H
#define MPA_RNIC_QP_VERBS_H

#include <rdma/ib_verbs.h>

int rnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int rnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int rnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata);
int rnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int rnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int rnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);

#endif /* MPA_RNIC_QP_VERBS_H */
