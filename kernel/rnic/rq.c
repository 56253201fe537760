// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive queues: posting and flushing. rx.c fills receives. A queue pair that
 * uses a shared receive queue (srq.c) has no entries of its own but the one that
 * is in use.
 */
#include "cq.h"
#include "qp.h"
#include "ring.h"
#include "rq.h"
#include "rqe.h"

static void rnic_rq_push(struct rnic_qp *qp, u64 wr_id, u8 status,
			 struct rnic_due *due)
{
	struct mpa_cqe cqe = {
		.wr_id = wr_id,
		.qp_num = qp->cqe_qp,
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
	return rq->busy + rnic_rq_pending(rq);
}

/**
 * rnic_rq_flush() - complete posted receives in order, with an error
 * @qp: the QP, in TERMINATE or ERROR; rnic_qp.lock held, and the socket lock
 *	if there is a stream
 * @n: complete at most so many
 * @due: completion events that became due are added
 *
 * A receive whose message has begun gets rnic_rq.first_status.
 *
 * Return: the number completed.
 */
u32 rnic_rq_flush(struct rnic_qp *qp, u32 n, struct rnic_due *due)
{
	struct rnic_rq *rq = &qp->rq;
	struct mpa_rqe e;
	u32 done = 0;

	lockdep_assert_held(&qp->lock);
	if (n && rq->busy) {
		u64 wr_id = rq->cur->wr_id;

		rq->busy = false;
		rnic_rq_give_back(rq);
		rnic_rq_push(qp, wr_id, rq->first_status, due);
		done++;
	}
	for (; done < n && rnic_rq_pending(rq); done++) {
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
 *
 * Entries of a shared receive queue stay, but the one that was in use.
 */
void rnic_rq_forget(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;

	lockdep_assert_held(&qp->lock);
	rq->busy = false;
	rq->ended = false;
	if (rq->srq)
		return;
	rq->taken += rnic_rq_pending(rq);
	rnic_rq_give_back(rq);
	WRITE_ONCE(rq->ring.hdr->arm, MPA_ARM_NONE);
}

/**
 * rnic_rq_last() - has the QP completed its last entry of a shared queue?
 * @qp: the QP, in TERMINATE or ERROR; rnic_qp.lock held
 *
 * A QP in these states takes no more entries. Tells it once for each end.
 *
 * Return: true if so, and %IB_EVENT_QP_LAST_WQE_REACHED is due.
 */
bool rnic_rq_last(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;

	lockdep_assert_held(&qp->lock);
	if (!rq->srq || rq->busy || rq->ended)
		return false;
	rq->ended = true;
	return true;
}

/**
 * rnic_rq_post() - put a kernel consumer's request into the ring
 * @qp: the QP; rnic_qp.lock held
 * @wr: the request
 *
 * Return: 0, -EINVAL (too many pieces, or the QP uses a shared receive queue),
 * -ENOMEM (ring full).
 */
int rnic_rq_post(struct rnic_qp *qp, const struct ib_recv_wr *wr)
{
	lockdep_assert_held(&qp->lock);
	if (qp->rq.srq)
		return -EINVAL;
	return rnic_rqe_post(&qp->rq.ring, qp->rq.max_sge, wr);
}
