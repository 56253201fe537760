// SPDX-License-Identifier: GPL-2.0-only
/* Receive queues: posting and flushing. rx.c fills receives. */
#include "cq.h"
#include "qp.h"
#include "ring.h"
#include "rq.h"

static void rnic_rq_push(struct rnic_qp *qp, u64 wr_id, u8 status,
			 struct rnic_due *due)
{
	struct mpa_cqe cqe = {
		.wr_id = wr_id,
		.qp_num = qp->ibqp.qp_num,
		.status = status,
		.opcode = MPA_CQE_RECV,
		.vendor_err = qp->cause,
	};

	lockdep_assert_held(&qp->lock);
	if (rnic_cq_push(qp->rcq, &cqe, true))
		due->rcq = true;
}

/**
 * rnic_rq_posted() - count the receives that are not completed
 * @qp: the QP; rnic_qp.lock held, and the socket lock if there is a stream
 *
 * Return: the number; the user may add more at any time.
 */
u32 rnic_rq_posted(const struct rnic_qp *qp)
{
	const struct rnic_rq *rq = &qp->rq;

	lockdep_assert_held(&qp->lock);
	return rq->busy + rnic_ring_pending(&rq->ring, rq->taken);
}

/**
 * rnic_rq_flush() - complete posted receives in order, with an error
 * @qp: the QP, in TERMINATE or ERROR; rnic_qp.lock held, and the socket lock
 *	if there is a stream
 * @first: MPA_WC_* of a receive whose message has begun; MPA_WC_WR_FLUSH_ERR
 *	for others
 * @n: complete at most so many
 * @due: completion events that became due are added
 *
 * Return: the number completed.
 */
u32 rnic_rq_flush(struct rnic_qp *qp, u8 first, u32 n, struct rnic_due *due)
{
	struct rnic_rq *rq = &qp->rq;
	struct mpa_rqe e;
	u32 done = 0;

	lockdep_assert_held(&qp->lock);
	if (n && rq->busy) {
		rq->busy = false;
		rnic_rq_give_back(rq);
		rnic_rq_push(qp, rq->cur->wr_id, first, due);
		done++;
	}
	for (; done < n && rnic_ring_pending(&rq->ring, rq->taken); done++) {
		rnic_ring_fetch(&rq->ring, rq->taken, 0, &e, sizeof(e));
		WRITE_ONCE(rq->taken, rq->taken + 1);
		rnic_rq_give_back(rq);
		rnic_rq_push(qp, e.wr_id, MPA_WC_WR_FLUSH_ERR, due);
	}
	return done;
}

/**
 * rnic_rq_forget() - discard what is posted or in use
 * @qp: the QP, in ERROR and without a stream; rnic_qp.lock held
 */
void rnic_rq_forget(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;

	lockdep_assert_held(&qp->lock);
	rq->busy = false;
	rq->taken += rnic_ring_pending(&rq->ring, rq->taken);
	rnic_rq_give_back(rq);
}

/**
 * rnic_rq_post() - put a kernel consumer's request into the ring
 * @qp: the QP; rnic_qp.lock held
 * @wr: the request
 *
 * Return: 0, -EINVAL (too many pieces), -ENOMEM (ring full).
 */
int rnic_rq_post(struct rnic_qp *qp, const struct ib_recv_wr *wr)
{
	struct rnic_ring *ring = &qp->rq.ring;
	u32 prod = ring->hdr->prod;
	struct mpa_rqe *e = rnic_ring_at(ring, prod);
	int i;

	lockdep_assert_held(&qp->lock);
	if (wr->num_sge < 0 || wr->num_sge > qp->rq.max_sge)
		return -EINVAL;
	/* Pairs with rnic_rq_give_back(): its reader is done with the slot. */
	if (prod - smp_load_acquire(&ring->hdr->cons) >= ring->size)
		return -ENOMEM;
	e->wr_id = wr->wr_id;
	e->num_sge = wr->num_sge;
	e->reserved = 0;
	for (i = 0; i < wr->num_sge; i++) {
		e->sge[i].addr = wr->sg_list[i].addr;
		e->sge[i].length = wr->sg_list[i].length;
		e->sge[i].lkey = wr->sg_list[i].lkey;
	}
	/* Pairs with rnic_ring_pending(). */
	smp_store_release(&ring->hdr->prod, prod + 1);
	return 0;
}
