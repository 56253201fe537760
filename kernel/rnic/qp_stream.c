// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stream of a queue pair: its start, and the one way in which it ends.
 */
#include <linux/sched/mm.h>

#include "ddp/check.h"
#include "ddp/terminate.h"
#include "device.h"
#include "early.h"
#include "ep.h"
#include "qp.h"
#include "qp_stats.h"
#include "qp_stream.h"
#include "reads.h"
#include "ring.h"
#include "rq.h"
#include "segment.h"
#include "sq.h"
#include "trace.h"

/* Flushing ----------------------------------------------------------------- */

/**
 * rnic_qp_want_doorbell() - request a doorbell for every receive
 * @qp: the QP, in TERMINATE or ERROR
 *
 * A user's receive queue has no doorbell in normal operation. From now on every
 * posted entry must be flushed. Entries of a shared receive queue never are.
 */
void rnic_qp_want_doorbell(struct rnic_qp *qp)
{
	if (!qp->user || qp->rq.srq)
		return;
	WRITE_ONCE(qp->rq.ring.hdr->arm, MPA_ARM_NEXT);
	/*
	 * arm is written before the flush that follows reads prod. Pairs with
	 * the fence in mpa_ring_armed() of the provider, between its store to
	 * prod and its look at arm.
	 */
	smp_mb();
}

/**
 * struct rnic_flush - state of flushing both queues
 * @sends: requests still to be completed
 * @receives: receives still to be completed
 * @due: completion events that became due
 */
struct rnic_flush {
	u32 sends;
	u32 receives;
	struct rnic_due due;
};

static bool rnic_qp_flushes(const struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	return !qp->discard && (qp->state == RNIC_QP_TERMINATE ||
				qp->state == RNIC_QP_ERROR);
}

/*
 * Counted once: requests that the user adds meanwhile have their own doorbell.
 * Returns false if nothing is to be flushed in this state.
 */
static bool rnic_qp_flush_begin(struct rnic_qp *qp, struct rnic_flush *f)
{
	unsigned long flags;
	bool flushes;

	spin_lock_irqsave(&qp->lock, flags);
	flushes = rnic_qp_flushes(qp);
	if (flushes) {
		f->sends = rnic_sq_posted(qp);
		f->receives = rnic_rq_posted(qp);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return flushes;
}

/*
 * A concurrent flush takes the next entries, so the order is kept. Without a stream
 * one may also be the first, see rnic_qp_end_with().
 */
static void rnic_qp_flush_some(struct rnic_qp *qp, struct rnic_flush *f)
{
	u32 sends = min_t(u32, f->sends, RNIC_QP_CHUNK - !!f->receives);
	u32 receives = min_t(u32, f->receives, RNIC_QP_CHUNK - sends);
	unsigned long flags;
	bool on;

	spin_lock_irqsave(&qp->lock, flags);
	on = rnic_qp_flushes(qp);
	if (on && rnic_sq_flush(qp, sends, &f->due) < sends)
		f->sends = sends;
	if (on && rnic_rq_flush(qp, receives, &f->due) < receives)
		f->receives = receives;
	spin_unlock_irqrestore(&qp->lock, flags);
	f->sends = on ? f->sends - sends : 0;
	f->receives = on ? f->receives - receives : 0;
}

/*
 * All that was posted when the stream ended is complete: raises the events that
 * follow, once for each end.
 */
static void rnic_qp_flushed(struct rnic_qp *qp)
{
	unsigned long flags;
	bool last = false;
	int event = -1;

	spin_lock_irqsave(&qp->lock, flags);
	if (rnic_qp_flushes(qp)) {
		last = rnic_rq_last(qp);
		swap(event, qp->end_event);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (last)
		rnic_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	rnic_qp_event(qp, event);
}

/* Completes up to @chunks times RNIC_QP_CHUNK entries; true if there were no more. */
static bool rnic_qp_flush_chunks(struct rnic_qp *qp, u32 chunks)
{
	struct rnic_flush f = {};

	if (!rnic_qp_flush_begin(qp, &f))
		return true;
	for (; chunks && (f.sends || f.receives); chunks--)
		rnic_qp_flush_some(qp, &f);
	rnic_qp_notify(qp, &f.due);
	if (f.sends || f.receives)
		return false;
	rnic_qp_flushed(qp);
	return true;
}

/**
 * rnic_qp_flush() - complete posted requests of both queues as flushed
 * @qp: the QP; socket lock held if there is a stream; rnic_qp.lock not
 *
 * Does nothing unless the QP is in TERMINATE or ERROR. Interrupts are off for no
 * more than %RNIC_QP_CHUNK entries at a time. Raises the event of the end, if that
 * is still to be done, and for a shared receive queue
 * %IB_EVENT_QP_LAST_WQE_REACHED. Process context.
 */
void rnic_qp_flush(struct rnic_qp *qp)
{
	rnic_qp_flush_chunks(qp, U32_MAX);
}

/* The end ------------------------------------------------------------------ */

/*
 * The oldest entries of both queues say why the stream has ended. That is noted before
 * the QP is seen in its new state: a doorbell that found no stream before it began may
 * flush then, without the socket lock.
 */
static void rnic_qp_end_with(struct rnic_qp *qp, const struct rnic_end *end)
{
	lockdep_assert_held(&qp->lock);
	qp->sq.first_status = end->send_status;
	qp->rq.first_status = end->recv_status;
}

/*
 * Moves to TERMINATE if a Terminate must and can be sent, else to ERROR.
 * Returns the new state, or IDLE if the stream had ended before.
 */
static enum rnic_qp_state rnic_qp_leave(struct rnic_qp *qp,
					const struct rnic_end *end)
{
	enum rnic_qp_state to = RNIC_QP_ERROR;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (rnic_qp_streaming(qp))
		rnic_qp_end_with(qp, end);
	if (end->fault && rnic_qp_streaming(qp))
		to = RNIC_QP_TERMINATE;
	else if (qp->state == RNIC_QP_TERMINATE && end->fault)
		to = RNIC_QP_IDLE;
	if (to != RNIC_QP_IDLE && !rnic_qp_move(qp, to))
		to = RNIC_QP_IDLE;
	if (to != RNIC_QP_IDLE && end->event >= 0)
		qp->end_event = end->event;
	if (to != RNIC_QP_IDLE && !qp->cause)
		qp->cause = end->fault ? rnic_cause(end->fault->layer,
						    end->fault->etype,
						    end->fault->code)
				       : end->cause;
	spin_unlock_irqrestore(&qp->lock, flags);
	return to;
}

/* Builds the Terminate that is sent as the last message of the stream. */
static void rnic_qp_prepare_terminate(struct rnic_qp *qp,
				      const struct ddp_fault *f,
				      const struct rnic_segment *seg)
{
	struct rnic_tx *tx = &qp->tx;

	if (tx->term_len)
		return;
	tx->term_cause = rnic_cause(f->layer, f->etype, f->code);
	tx->term_len = rdmap_terminate_build(tx->term, qp->version, f,
					     seg ? seg->image : NULL,
					     seg ? seg->image_len : 0,
					     seg ? seg->len : 0);
}

/**
 * rnic_qp_kill() - end the stream
 * @qp: the QP; the socket lock of its endpoint is held
 * @end: why and how
 *
 * The only way in which a stream ends. The first call counts; later ones do
 * nothing. Both queues are flushed in order, the peer gets a Terminate, the
 * consumer an event, and the endpoint is requested to close TCP. Of long queues,
 * the QP's work flushes the rest and raises the event. Any context.
 */
void rnic_qp_kill(struct rnic_qp *qp, const struct rnic_end *end)
{
	enum rnic_qp_state entered = rnic_qp_leave(qp, end);
	bool flushed;

	if (entered == RNIC_QP_IDLE)
		return;
	if (entered == RNIC_QP_TERMINATE) {
		trace_rnic_fault(&qp->ibqp, true, end->fault->layer,
				 end->fault->etype, end->fault->code);
		rnic_qp_prepare_terminate(qp, end->fault, end->seg);
	}
	rnic_sq_stop(qp);
	rnic_qp_want_doorbell(qp);
	flushed = rnic_qp_flush_chunks(qp, RNIC_QP_CHUNKS_AT_END);
	if (entered == RNIC_QP_TERMINATE || !flushed)
		rnic_qp_kick(qp);
	rnic_qp_end_ep(qp, entered == RNIC_QP_TERMINATE ? RNIC_EP_END_SOON :
						       end->how);
}

/**
 * rnic_qp_refuse() - end the stream after an error of the peer
 * @qp: the QP; socket lock held
 * @f: the fault
 * @seg: the segment at fault, or NULL
 *
 * After the Terminate is sent, the endpoint is requested to end the stream.
 *
 * Return: -EPROTO, for the callback of the ULP.
 */
int rnic_qp_refuse(struct rnic_qp *qp, const struct ddp_fault *f,
		   const struct rnic_segment *seg)
{
	struct rnic_end end = {
		.fault = f,
		.seg = seg,
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.event = rnic_etype_access(f->etype) ? IB_EVENT_QP_ACCESS_ERR :
						       IB_EVENT_QP_FATAL,
	};

	if (f->layer == RDMAP_LAYER_DDP && f->etype == DDP_ET_UNTAGGED &&
	    f->code == DDP_EC_UNTAGGED_TOO_LONG)
		end.recv_status = MPA_WC_LOC_LEN_ERR;
	if (f->layer == RDMAP_LAYER_RDMAP)
		rnic_qp_count(qp, RNIC_CNT_RX_RDMAP_ERROR);
	else if (f->layer == RDMAP_LAYER_DDP)
		rnic_qp_count(qp, RNIC_CNT_RX_DDP_ERROR);
	rnic_qp_kill(qp, &end);
	return -EPROTO;
}

/**
 * rnic_qp_stream_error() - end the stream after MPA refused an FPDU
 * @qp: the QP; socket lock held
 * @code: %MPA_ERROR_CRC or %MPA_ERROR_MARKER
 * @err: from &mpa_ops.ended
 */
void rnic_qp_stream_error(struct rnic_qp *qp, enum mpa_error code, int err)
{
	bool crc = code == MPA_ERROR_CRC;

	rnic_qp_count(qp, crc ? RNIC_CNT_RX_CRC_ERROR :
			   err == -EMSGSIZE ? RNIC_CNT_RX_LENGTH_ERROR :
					      RNIC_CNT_RX_MARKER_ERROR);
	rnic_qp_refuse(qp, crc ? &ddp_fault_crc : &ddp_fault_marker, NULL);
}

/**
 * rnic_qp_startup_fault() - end the stream if the Initiator cannot accept the
 * Reply
 * @qp: the QP, in RTS; socket lock held
 * @f: &ddp_fault_ird, &ddp_fault_rtr or &ddp_fault_mpa_local
 */
void rnic_qp_startup_fault(struct rnic_qp *qp, const struct ddp_fault *f)
{
	rnic_qp_refuse(qp, f, NULL);
}

/**
 * rnic_qp_closed() - end the stream after TCP ended
 * @qp: the QP; socket lock held
 * @err: 0 for an orderly end, else a negative error
 *
 * Idempotent. If a Send or a Write was in progress, any end is an error.
 */
void rnic_qp_closed(struct rnic_qp *qp, int err)
{
	struct rnic_end end = {
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.cause = rnic_cause(RDMAP_LAYER_LLP, LLP_ET_MPA,
				    MPA_EC_TCP_LOST),
		.event = -1,
		.how = RNIC_EP_END_RELEASE,
	};

	if (rnic_qp_streaming(qp)) {
		if (err)
			rnic_qp_count(qp, RNIC_CNT_CONN_RESET);
		if (err || qp->rq.busy || qp->rx.writing)
			end.event = IB_EVENT_QP_FATAL;
	}
	rnic_qp_kill(qp, &end);
}

/* Moves a QP without a stream to ERROR, so that it cannot get one. */
static void rnic_qp_end_unbound(struct rnic_qp *qp, int event)
{
	unsigned long flags;
	bool ended;

	spin_lock_irqsave(&qp->lock, flags);
	ended = !qp->ep && qp->state == RNIC_QP_IDLE &&
		rnic_qp_move(qp, RNIC_QP_ERROR);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!ended)
		return;
	rnic_qp_want_doorbell(qp);
	rnic_qp_event(qp, event);
}

/**
 * rnic_qp_check_cqs() - end a QP if a completion queue has lost an entry
 * @qp: the QP
 * @ep: its endpoint, whose socket is locked, or NULL
 *
 * Such a queue takes no more entries, so the consumer would not get later
 * completions of the QP.
 */
void rnic_qp_check_cqs(struct rnic_qp *qp, struct rnic_ep *ep)
{
	const struct rnic_end end = {
		.fault = &ddp_fault_local,
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.event = IB_EVENT_QP_FATAL,
		.how = RNIC_EP_END_ABORT,
	};

	if (!rnic_qp_cq_overflown(qp))
		return;
	if (ep && READ_ONCE(qp->ep) == ep)
		rnic_qp_kill(qp, &end);
	else
		rnic_qp_end_unbound(qp, end.event);
}

/* The start ---------------------------------------------------------------- */

/**
 * rnic_qp_set_extensions() - set whether the stream carries RFC 7306
 * @qp: the QP; rnic_qp.lock held
 * @on: it does
 *
 * A user reads it from its ring, so that it can refuse what the peer would not
 * understand when it is posted. What it does there does not matter: entries are
 * checked when they are taken.
 */
void rnic_qp_set_extensions(struct rnic_qp *qp, bool on)
{
	lockdep_assert_held(&qp->lock);
	qp->extensions = on;
	WRITE_ONCE(qp->sq.ring.hdr->carries, on ? MPA_CARRIES_RFC7306 : 0);
}

/**
 * rnic_qp_forget_end() - reset the state of the end of a stream before the next
 * one
 * @qp: the QP; rnic_qp.lock held, or nobody else has it yet
 */
void rnic_qp_forget_end(struct rnic_qp *qp)
{
	qp->tx.kind = RNIC_TX_NONE;
	qp->tx.term_len = 0;
	qp->tx.term_sent = false;
	qp->tx.fin_asked = false;
	qp->cause = 0;
	qp->end_event = -1;
	qp->sq.first_status = MPA_WC_WR_FLUSH_ERR;
	qp->rq.first_status = MPA_WC_WR_FLUSH_ERR;
}

/**
 * rnic_qp_set_receive_wait() - let messages of a QP wait for receives
 * @qp: the QP, in any state
 * @ms: how long a message waits at the most, up to %MPA_MAX_RECEIVE_WAIT; 0: it
 *	does not wait
 *
 * From now on this replaces the setting receive-wait, also for a message that
 * waits already. Process context.
 */
void rnic_qp_set_receive_wait(struct rnic_qp *qp, u32 ms)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	qp->receive_wait = ms;
	WRITE_ONCE(qp->rx.wait, msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&qp->lock, flags);
}

static void rnic_qp_start(struct rnic_qp *qp, const struct mpa_result *res)
{
	const u32 *config = qp->ep->config.v;
	struct rnic_early *early = qp->rx.sink.early;
	struct rnic_reads *r = &qp->reads;

	lockdep_assert_held(&qp->lock);
	qp->version = res->ddp_version;
	rnic_qp_set_extensions(qp, res->extensions);
	qp->res = *res;
	qp->started = true;
	atomic_set(&qp->events, 0);
	if (early)
		early->nr = 0;
	qp->rx = (struct rnic_rx_state){
		.send_msn = 1, .read_msn = 1, .atomic_msn = 1,
		.sink.early = early,
		.wait = msecs_to_jiffies(qp->receive_wait == RNIC_QP_WAIT_SETTING ?
					 config[MPA_A_CONFIG_RECEIVE_WAIT] :
					 qp->receive_wait),
	};
	rnic_qp_forget_end(qp);
	qp->tx.send_msn = 1;
	qp->tx.read_msn = 1;
	qp->tx.atomic_msn = 1;
	qp->tx.rtr = res->initiator ? res->rtr : 0;
	qp->tx.whole = qp->sq.fetched;
	qp->tx.taken = qp->sq.fetched;
	r->out_head = r->out_tail;
	r->in_head = r->in_tail;
	r->ird = min_t(u32, res->ird, RNIC_MAX_IRD);
	r->ord = min_t(u32, res->ord, RNIC_MAX_ORD);
}

/* Without memory for it everything is placed in its turn. */
static bool rnic_qp_wants_early(const struct rnic_qp *qp,
				const struct mpa_result *res)
{
	return qp->ep->config.v[MPA_A_CONFIG_EARLY_PLACEMENT] &&
	       res->rx_markers && res->crc;
}

/* Often in softirq, so the memory cgroup of the QP's owner is set. */
static void rnic_qp_prepare_early(struct rnic_qp *qp)
{
	struct mem_cgroup *memcg = rnic_area_memcg(&qp->rings);
	struct mem_cgroup *old = NULL;

	if (memcg)
		old = set_active_memcg(memcg);
	qp->rx.sink.early = rnic_early_create();
	if (memcg)
		set_active_memcg(old);
}

/**
 * rnic_qp_operational() - start the stream in full operation
 * @qp: the bound QP; socket lock held
 * @res: outcome of the startup exchange
 *
 * Return: 0, with the QP in RTS and its sender started; -EINVAL: it left IDLE
 * before (the consumer moved it to ERR), and the stream must end.
 */
int rnic_qp_operational(struct rnic_qp *qp, const struct mpa_result *res)
{
	unsigned long flags;
	bool moved;

	/* A bound QP starts no other stream, and none in ERR. */
	if (rnic_qp_wants_early(qp, res) && !qp->rx.sink.early)
		rnic_qp_prepare_early(qp);
	spin_lock_irqsave(&qp->lock, flags);
	moved = rnic_qp_move(qp, RNIC_QP_RTS);
	if (moved)
		rnic_qp_start(qp, res);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!moved)
		return -EINVAL;
	rnic_qp_kick(qp);
	return 0;
}

/**
 * rnic_qp_writable() - continue sending when the stream can take more
 * @qp: the QP; socket lock held
 */
void rnic_qp_writable(struct rnic_qp *qp)
{
	rnic_qp_kick(qp);
}
