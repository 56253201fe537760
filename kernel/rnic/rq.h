/* SPDX-License-Identifier: GPL-2.0-only */
/* Receive queues. */
#ifndef MPA_RNIC_RQ_H
#define MPA_RNIC_RQ_H

#include <rdma/ib_verbs.h>

#include "qp.h"

static inline void rnic_rq_give_back(struct rnic_rq *rq)
{
	/*
	 * The entry was read before. Pairs with mpa_ring_room() of the
	 * provider, and with rnic_rq_post().
	 */
	smp_store_release(&rq->ring.hdr->cons, rq->taken);
}

u32 rnic_rq_posted(const struct rnic_qp *qp);
u32 rnic_rq_flush(struct rnic_qp *qp, u8 first, u32 n, struct rnic_due *due);
void rnic_rq_forget(struct rnic_qp *qp);
int rnic_rq_post(struct rnic_qp *qp, const struct ib_recv_wr *wr);

#endif /* MPA_RNIC_RQ_H */
