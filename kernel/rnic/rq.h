/* SPDX-License-Identifier: GPL-2.0-only */
/* Receive queues. */
#ifndef MPA_RNIC_RQ_H
#define MPA_RNIC_RQ_H

#include <rdma/ib_verbs.h>

#include "qp.h"
#include "ring.h"

static inline void rnic_rq_give_back(struct rnic_rq *rq)
{
	/* An entry of a shared queue was given back when it was taken. */
	if (rq->srq)
		return;
	/*
	 * The entry was read before. Pairs with mpa_ring_room() of the
	 * provider, and with rnic_rqe_post().
	 */
	smp_store_release(&rq->ring.hdr->cons, rq->taken);
}

/* Entries of the queue's own ring that no message has taken. */
static inline u32 rnic_rq_pending(const struct rnic_rq *rq)
{
	/* nldev reads it without the socket lock. */
	return rq->srq ? 0 : rnic_ring_pending(&rq->ring, READ_ONCE(rq->taken));
}

u32 rnic_rq_posted(const struct rnic_qp *qp);
u32 rnic_rq_flush(struct rnic_qp *qp, u32 n, struct rnic_due *due);
void rnic_rq_forget(struct rnic_qp *qp);
bool rnic_rq_last(struct rnic_qp *qp);
int rnic_rq_post(struct rnic_qp *qp, const struct ib_recv_wr *wr);

#endif /* MPA_RNIC_RQ_H */
