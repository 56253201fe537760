// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs: their life, their states, and the one way in which a stream
 * ends. The locks are described in qp.h.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/sock.h>
#include <rdma/uverbs_ioctl.h>

#include "cm.h"
#include "stream.h"
#include "trace.h"

enum {
	/* Of a QP number, two halves; and rounds that scramble it. */
	QP_HALF_BITS	= 12,
	QP_HALF_MASK	= (1 << QP_HALF_BITS) - 1,
	QP_ROUNDS	= 8,
};

/* Legal moves: from (row) to (column). */
static const bool rnic_qp_moves[RNIC_QP_STATES][RNIC_QP_STATES] = {
	[RNIC_QP_IDLE] = {
		[RNIC_QP_RTS] = true,
		[RNIC_QP_ERROR] = true,
	},
	[RNIC_QP_RTS] = {
		[RNIC_QP_CLOSING] = true,
		[RNIC_QP_TERMINATE] = true,
		[RNIC_QP_ERROR] = true,
	},
	[RNIC_QP_CLOSING] = {
		[RNIC_QP_TERMINATE] = true,
		[RNIC_QP_ERROR] = true,
	},
	[RNIC_QP_TERMINATE] = {
		[RNIC_QP_ERROR] = true,
	},
	[RNIC_QP_ERROR] = {
		[RNIC_QP_IDLE] = true,
	},
};

enum {
	/* What the core's connection manager gives every queue pair. */
	RNIC_QP_ACCESS_DEFAULT	= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	/* What may be given; there are no atomic operations and no windows yet. */
	RNIC_QP_ACCESS_KNOWN	= RNIC_QP_ACCESS_DEFAULT | IB_ACCESS_LOCAL_WRITE |
				  IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND,
};

static bool rnic_qp_move(struct rnic_qp *qp, enum rnic_qp_state to)
{
	enum rnic_qp_state from = qp->state;

	lockdep_assert_held(&qp->lock);
	if (!rnic_qp_moves[from][to])
		return false;
	/* Read under the socket lock alone where only that has to last. */
	WRITE_ONCE(qp->state, to);
	trace_rnic_qp_state(&qp->ibqp, from, to);
	return true;
}

/**
 * rnic_qp_streaming - does the QP still take part in its stream?
 * @qp: the QP; its socket lock is held, so that the answer lasts
 *
 * Return: true in RTS and CLOSING.
 */
bool rnic_qp_streaming(const struct rnic_qp *qp)
{
	enum rnic_qp_state state = READ_ONCE(qp->state);

	return state == RNIC_QP_RTS || state == RNIC_QP_CLOSING;
}

/* References ------------------------------------------------------------- */

static void rnic_qp_release(struct kref *ref)
{
	struct rnic_qp *qp = container_of(ref, struct rnic_qp, ref);

	complete(&qp->freed);
}

/**
 * rnic_qp_get - take a reference
 * @qp: the QP
 */
void rnic_qp_get(struct rnic_qp *qp)
{
	kref_get(&qp->ref);
}

/**
 * rnic_qp_try_get - take a reference to a QP that may be about to go
 * @qp: the QP, whose memory the caller knows to stay
 *
 * Return: true, with a reference, unless rnic_destroy_qp() has been waiting for
 * the last one.
 */
bool rnic_qp_try_get(struct rnic_qp *qp)
{
	return kref_get_unless_zero(&qp->ref);
}

/**
 * rnic_qp_put - drop a reference
 * @qp: the QP; may be gone on return
 */
void rnic_qp_put(struct rnic_qp *qp)
{
	kref_put(&qp->ref, rnic_qp_release);
}

/**
 * rnic_qp_find - look a QP up by its number
 * @dev: the device
 * @qpn: the number
 *
 * Any context. Return: the QP with a reference, or NULL.
 */
struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn)
{
	unsigned long flags;
	struct rnic_qp *qp;

	/* The core frees a QP without a grace period: the lock stands in. */
	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp && !kref_get_unless_zero(&qp->ref))
		qp = NULL;
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

/**
 * rnic_qp_ep_get - the endpoint of the QP's stream
 * @qp: the QP
 *
 * Any context. Return: the endpoint with a reference, or NULL.
 */
struct rnic_ep *rnic_qp_ep_get(struct rnic_qp *qp)
{
	struct rnic_ep *ep;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	ep = qp->ep;
	if (ep)
		rnic_ep_get(ep);
	spin_unlock_irqrestore(&qp->lock, flags);
	return ep;
}

static void rnic_qp_end_ep(struct rnic_qp *qp, enum rnic_ep_end how)
{
	struct rnic_ep *ep = rnic_qp_ep_get(qp);

	if (!ep)
		return;
	rnic_ep_end(ep, how);
	rnic_ep_put(ep);
}

/* The end of a stream ---------------------------------------------------- */

/**
 * rnic_qp_notify - raise the completion events that are due
 * @qp: the QP; rnic_qp.lock not held
 * @due: which
 */
void rnic_qp_notify(struct rnic_qp *qp, const struct rnic_due *due)
{
	if (due->scq)
		rnic_cq_notify(qp->scq);
	if (due->rcq)
		rnic_cq_notify(qp->rcq);
}

static void rnic_qp_event(struct rnic_qp *qp, int type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (type >= 0 && qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

/*
 * A user's receive queue has no doorbell in normal operation. From now on
 * every posted entry must be flushed, so ask for one.
 */
static void rnic_qp_want_doorbell(struct rnic_qp *qp)
{
	if (!qp->user)
		return;
	WRITE_ONCE(qp->rq.ring.hdr->arm, MPA_ARM_NEXT);
	/* Pairs with the provider's fence between prod and arm. */
	smp_mb();
}

/**
 * struct rnic_flush - the flushing of both queues
 * @send_status: MPA_WC_* of the oldest request that is not done
 * @recv_status: MPA_WC_* of the receive in use
 * @sends: requests to be completed yet
 * @receives: receives to be completed yet
 * @due: completion events that became due
 */
struct rnic_flush {
	u8 send_status;
	u8 recv_status;
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

/* Counted once: what the user adds meanwhile has its own doorbell. */
static void rnic_qp_flush_begin(struct rnic_qp *qp, struct rnic_flush *f)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (rnic_qp_flushes(qp)) {
		f->sends = rnic_sq_posted(qp);
		f->receives = rnic_rq_posted(qp);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* Whoever flushes at the same time takes what comes next: the order is the same. */
static void rnic_qp_flush_some(struct rnic_qp *qp, struct rnic_flush *f)
{
	u32 sends = min_t(u32, f->sends, RNIC_QP_CHUNK);
	u32 receives = min_t(u32, f->receives, RNIC_QP_CHUNK - sends);
	unsigned long flags;
	bool on;

	spin_lock_irqsave(&qp->lock, flags);
	on = rnic_qp_flushes(qp);
	if (on && rnic_sq_flush(qp, &f->send_status, sends, &f->due) < sends)
		f->sends = sends;
	if (on && rnic_rq_flush(qp, f->recv_status, receives, &f->due) < receives)
		f->receives = receives;
	spin_unlock_irqrestore(&qp->lock, flags);
	f->sends = on ? f->sends - sends : 0;
	f->receives = on ? f->receives - receives : 0;
}

/* Interrupts are off for no more than RNIC_QP_CHUNK entries at a time. */
static void rnic_qp_flush(struct rnic_qp *qp, u8 send_status, u8 recv_status)
{
	struct rnic_flush f = {
		.send_status = send_status,
		.recv_status = recv_status,
	};

	rnic_qp_flush_begin(qp, &f);
	while (f.sends || f.receives)
		rnic_qp_flush_some(qp, &f);
	rnic_qp_notify(qp, &f.due);
}

/*
 * Leaves the stream for TERMINATE (if a Terminate is owed and can be sent) or
 * ERROR. Returns the state entered, or IDLE if the stream was over before.
 */
static enum rnic_qp_state rnic_qp_leave(struct rnic_qp *qp,
					const struct rnic_end *end)
{
	enum rnic_qp_state to = RNIC_QP_ERROR;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (end->fault && rnic_qp_streaming(qp))
		to = RNIC_QP_TERMINATE;
	else if (qp->state == RNIC_QP_TERMINATE && end->fault)
		to = RNIC_QP_IDLE;
	if (to != RNIC_QP_IDLE && !rnic_qp_move(qp, to))
		to = RNIC_QP_IDLE;
	if (to != RNIC_QP_IDLE && !qp->cause)
		qp->cause = end->fault ? rnic_cause(end->fault->layer,
						   end->fault->etype,
						   end->fault->code)
				       : end->cause;
	spin_unlock_irqrestore(&qp->lock, flags);
	return to;
}

/**
 * rnic_qp_kill - the one way a stream ends
 * @qp: the QP; its socket lock is held, unless it has no stream
 * @end: why and how
 *
 * The first reason counts; later ones find the stream over and change
 * nothing. Both queues are flushed in order, the peer gets its Terminate, the
 * consumer its event, the endpoint is told to close TCP.
 */
void rnic_qp_kill(struct rnic_qp *qp, const struct rnic_end *end)
{
	enum rnic_qp_state entered = rnic_qp_leave(qp, end);

	if (entered == RNIC_QP_IDLE)
		return;
	if (entered == RNIC_QP_TERMINATE)
		rnic_terminate_prepare(qp, end->fault, end->seg);
	rnic_sq_stop(qp);
	rnic_qp_want_doorbell(qp);
	rnic_qp_flush(qp, end->send_status, end->recv_status);
	rnic_qp_event(qp, end->event);
	if (entered == RNIC_QP_TERMINATE)
		rnic_tx_kick(qp);
	rnic_qp_end_ep(qp, entered == RNIC_QP_TERMINATE ? RNIC_EP_END_SOON :
						       end->how);
}

/**
 * rnic_qp_refuse - end the stream for a fault in what the peer sent
 * @qp: the QP; socket lock held
 * @f: the fault
 * @seg: the segment at fault, or NULL
 *
 * Return: -EPROTO, for the ULP's call-up.
 */
int rnic_qp_refuse(struct rnic_qp *qp, const struct ddp_fault *f,
		   const struct rnic_segment *seg)
{
	struct rnic_end end = {
		.fault = f,
		.seg = seg,
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.event = f->etype == 1 ? IB_EVENT_QP_ACCESS_ERR
				       : IB_EVENT_QP_FATAL,
	};

	trace_rnic_fault(&qp->ibqp, true, f->layer, f->etype, f->code);
	if (f->layer == 1 && f->etype == 2 && f->code == 5)
		end.recv_status = MPA_WC_LOC_LEN_ERR;
	if (f->layer == 0)
		rnic_count(qp->dev, RNIC_CNT_RX_RDMAP_ERROR);
	else if (f->layer == 1)
		rnic_count(qp->dev, RNIC_CNT_RX_DDP_ERROR);
	rnic_qp_kill(qp, &end);
	return -EPROTO;
}

/* For the connection manager ---------------------------------------------- */

/*
 * Before there is a connection, rdma_init_qp_attr() tells who will connect to give the
 * QP no rights, and librdmacm asks only once. Who accepts, and kernel consumers, are
 * told the default. So no rights at that time are no choice: it is made afterwards.
 */
static void qp_default_access(struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	if (!(qp->access & RNIC_QP_ACCESS_DEFAULT))
		WRITE_ONCE(qp->access, qp->access | RNIC_QP_ACCESS_DEFAULT);
}

static bool rnic_qp_cq_overflown(const struct rnic_qp *qp)
{
	return READ_ONCE(qp->scq->overflown) || READ_ONCE(qp->rcq->overflown);
}

/**
 * rnic_qp_bind - tie an idle QP to an endpoint
 * @qp: the QP
 * @ep: the endpoint; the QP takes a reference
 *
 * Process context. Return: 0; -EINVAL: not idle, or a completion queue of it
 * has overflown, which moves it to ERROR; -EISCONN: bound already.
 */
int rnic_qp_bind(struct rnic_qp *qp, struct rnic_ep *ep)
{
	unsigned long flags;
	int ret = 0;

	if (rnic_qp_cq_overflown(qp)) {
		rnic_tx_kick(qp);
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state != RNIC_QP_IDLE) {
		ret = -EINVAL;
	} else if (qp->ep) {
		ret = -EISCONN;
	} else {
		rnic_ep_get(ep);
		qp->ep = ep;
		qp_default_access(qp);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return ret;
}

/**
 * rnic_qp_unbind - drop an endpoint whose stream is detached
 * @qp: the QP
 * @ep: the endpoint; another one is left alone
 */
void rnic_qp_unbind(struct rnic_qp *qp, struct rnic_ep *ep)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&qp->lock, flags);
	mine = qp->ep == ep;
	if (mine) {
		WARN_ON_ONCE(rnic_qp_streaming(qp));
		qp->ep = NULL;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!mine)
		return;
	wake_up(&qp->unbound);
	rnic_ep_put(ep);
}

/* Nothing of one stream may leak into the next. */
static void rnic_qp_forget_end(struct rnic_qp *qp)
{
	qp->tx.kind = RNIC_TX_NONE;
	qp->tx.term_len = 0;
	qp->tx.term_sent = false;
	qp->tx.fin_asked = false;
}

static void rnic_qp_start(struct rnic_qp *qp, const struct mpa_result *res)
{
	struct rnic_reads *r = &qp->reads;

	qp->version = res->ddp_version;
	qp->res = *res;
	qp->started = true;
	qp->cause = 0;
	qp->rx = (struct rnic_rx_state){ .send_msn = 1, .read_msn = 1 };
	rnic_qp_forget_end(qp);
	qp->tx.send_msn = 1;
	qp->tx.read_msn = 1;
	qp->tx.rtr = res->initiator ? res->rtr : 0;
	qp->tx.whole = qp->sq.fetched;
	qp->tx.taken = qp->sq.fetched;
	r->out_head = r->out_tail;
	r->in_head = r->in_tail;
	r->ird = min_t(u32, res->ird, RNIC_MAX_IRD);
	r->ord = min_t(u32, res->ord, RNIC_MAX_ORD);
}

/* Often in a softirq: charged to the QP's owner all the same. */
static int rnic_qp_prepare_reads(struct rnic_qp *qp, const struct mpa_result *res)
{
	struct mem_cgroup *memcg = rnic_area_memcg(&qp->rings);
	struct mem_cgroup *old = NULL;
	int ret;

	if (memcg)
		old = set_active_memcg(memcg);
	ret = rnic_reads_prepare(&qp->reads, min_t(u32, res->ird, RNIC_MAX_IRD),
				 min_t(u32, res->ord, RNIC_MAX_ORD));
	if (memcg)
		set_active_memcg(old);
	return ret;
}

/**
 * rnic_qp_operational - the stream is in full operation
 * @qp: the bound QP; socket lock held
 * @res: outcome of the startup exchange
 *
 * Return: 0, with the QP in RTS and its sender started; -EINVAL: it has left
 * IDLE otherwise, -ENOMEM: no room for the Reads that were negotiated; in
 * either case the stream must end.
 */
int rnic_qp_operational(struct rnic_qp *qp, const struct mpa_result *res)
{
	unsigned long flags;
	bool moved;
	int ret;

	/* Bound, it begins no other stream; moved to ERR, it begins none. */
	ret = rnic_qp_prepare_reads(qp, res);
	if (ret)
		return ret;
	spin_lock_irqsave(&qp->lock, flags);
	moved = rnic_qp_move(qp, RNIC_QP_RTS);
	if (moved)
		rnic_qp_start(qp, res);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!moved)
		return -EINVAL;
	rnic_tx_kick(qp);
	return 0;
}

/**
 * rnic_qp_writable - the stream can take more
 * @qp: the QP; socket lock held
 */
void rnic_qp_writable(struct rnic_qp *qp)
{
	rnic_tx_kick(qp);
}

/**
 * rnic_qp_stream_error - MPA refused an FPDU
 * @qp: the QP; socket lock held
 * @code: %MPA_ERROR_CRC or %MPA_ERROR_MARKER
 * @err: as for &mpa_ops.ended
 */
void rnic_qp_stream_error(struct rnic_qp *qp, enum mpa_error code, int err)
{
	bool crc = code == MPA_ERROR_CRC;

	rnic_count(qp->dev, crc ? RNIC_CNT_RX_CRC_ERROR :
			   err == -EMSGSIZE ? RNIC_CNT_RX_LENGTH_ERROR :
					      RNIC_CNT_RX_MARKER_ERROR);
	rnic_qp_refuse(qp, crc ? &ddp_fault_crc : &ddp_fault_marker, NULL);
}

/**
 * rnic_qp_startup_fault - the Initiator cannot honour what was negotiated
 * @qp: the QP, in RTS; socket lock held
 * @f: &ddp_fault_ird, &ddp_fault_rtr or &ddp_fault_mpa_local
 */
void rnic_qp_startup_fault(struct rnic_qp *qp, const struct ddp_fault *f)
{
	rnic_qp_refuse(qp, f, NULL);
}

/**
 * rnic_qp_closed - TCP has ended
 * @qp: the QP; socket lock held, or no stream left
 * @err: 0 for an orderly end, else a negative error
 *
 * Idempotent. A message that was still in progress makes any end an error.
 */
void rnic_qp_closed(struct rnic_qp *qp, int err)
{
	struct rnic_end end = {
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.cause = rnic_cause(2, 0, 1),
		.event = -1,
		.how = RNIC_EP_END_RELEASE,
	};

	if (rnic_qp_streaming(qp)) {
		if (err)
			rnic_count(qp->dev, RNIC_CNT_CONN_RESET);
		if (err || qp->rq.busy)
			end.event = IB_EVENT_QP_FATAL;
	}
	rnic_qp_kill(qp, &end);
}

/* Verbs: modify and query --------------------------------------------------- */

static int rnic_qp_to_idle(struct rnic_qp *qp, enum ib_qp_state to)
{
	lockdep_assert_held(&qp->lock);
	if (qp->state != RNIC_QP_IDLE)
		return -EINVAL;
	qp->ib_state = to;
	return 0;
}

/* To RTS only the connection manager moves a QP; once there, it is no move. */
static int rnic_qp_to_rts(struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	return qp->state == RNIC_QP_RTS ? 0 : -EINVAL;
}

/* An orderly end. A stream that is ending anyway needs no more. */
static int rnic_qp_to_sqd(struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	if (qp->state == RNIC_QP_IDLE)
		return -EINVAL;
	rnic_qp_move(qp, RNIC_QP_CLOSING);
	return 0;
}

static int rnic_qp_set_locked(struct rnic_qp *qp, enum ib_qp_state to)
{
	switch (to) {
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		return rnic_qp_to_idle(qp, to);
	case IB_QPS_RTS:
		return rnic_qp_to_rts(qp);
	case IB_QPS_SQD:
		return rnic_qp_to_sqd(qp);
	case IB_QPS_ERR:
		return 0;
	default:
		return -EINVAL;
	}
}

static bool rnic_qp_quiet(const struct rnic_qp *qp)
{
	const struct rnic_tx *tx = &qp->tx;
	/* A Read Response that was taken up and found no room. */
	bool unsent = tx->kind == RNIC_TX_RESPONSE && !tx->off;

	return (tx->kind == RNIC_TX_NONE || unsent) && !qp->rq.busy &&
	       qp->sq.fetched == qp->sq.retired &&
	       !rnic_ring_pending(&qp->sq.ring, qp->sq.fetched);
}

/*
 * The consumer wants out. What TCP has taken is delivered if nothing was
 * under way; a message cut short is better reported by a reset.
 */
static void rnic_qp_to_error(struct rnic_qp *qp)
{
	struct rnic_end end = {
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.event = -1,
		.how = rnic_qp_quiet(qp) ? RNIC_EP_END_RELEASE
					: RNIC_EP_END_ABORT,
	};

	rnic_qp_kill(qp, &end);
}

/*
 * Moves a QP whose endpoint is @ep (or that has none). -EAGAIN if it has
 * another one meanwhile, whose lock would have to be held instead.
 */
static int rnic_qp_set(struct rnic_qp *qp, struct rnic_ep *ep,
		       enum ib_qp_state to)
{
	unsigned long flags;
	int ret = -EAGAIN;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->ep == ep)
		ret = rnic_qp_set_locked(qp, to);
	/* Idle it could be bound anew at any time, but not from here on. */
	if (!ret && to == IB_QPS_ERR && qp->state == RNIC_QP_IDLE)
		rnic_qp_move(qp, RNIC_QP_ERROR);
	spin_unlock_irqrestore(&qp->lock, flags);
	return ret;
}

/* What follows a move, under the same lock. */
static void rnic_qp_follow(struct rnic_qp *qp, enum ib_qp_state to)
{
	if (to == IB_QPS_SQD) {
		rnic_tx_kick(qp);
		rnic_qp_end_ep(qp, RNIC_EP_END_SOON);
	} else if (to == IB_QPS_ERR) {
		rnic_qp_to_error(qp);
		/* For those it found at the end already. */
		rnic_qp_want_doorbell(qp);
		rnic_qp_flush(qp, MPA_WC_WR_FLUSH_ERR, MPA_WC_WR_FLUSH_ERR);
		rnic_qp_end_ep(qp, RNIC_EP_END_RELEASE);
	}
}

static int rnic_qp_try_state(struct rnic_qp *qp, enum ib_qp_state to)
{
	struct rnic_ep *ep = rnic_qp_ep_get(qp);
	int ret;

	if (ep)
		lock_sock(ep->sock->sk);
	/* A Terminate that is owed goes first. */
	if (ep && READ_ONCE(qp->state) == RNIC_QP_TERMINATE)
		rnic_sq_run(qp, ep);
	ret = rnic_qp_set(qp, ep, to);
	if (!ret)
		rnic_qp_follow(qp, to);
	if (ep) {
		release_sock(ep->sock->sk);
		rnic_ep_put(ep);
	}
	return ret;
}

static int rnic_qp_set_state(struct rnic_qp *qp, enum ib_qp_state to)
{
	int ret;

	/* A QP changes its endpoint a few times in its life at the most. */
	do {
		ret = rnic_qp_try_state(qp, to);
	} while (ret == -EAGAIN);
	return ret;
}

/* From ERROR, without a stream. False if the QP is not there, or not any more. */
static bool rnic_qp_begin_again(struct rnic_qp *qp)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&qp->lock, flags);
	idle = !qp->ep && rnic_qp_move(qp, RNIC_QP_IDLE);
	if (idle) {
		rnic_sq_forget(qp);
		rnic_rq_forget(qp);
		WRITE_ONCE(qp->rq.ring.hdr->arm, MPA_ARM_NONE);
		rnic_qp_forget_end(qp);
		qp->started = false;
		qp->ib_state = IB_QPS_INIT;
		qp->access = RNIC_QP_ACCESS_DEFAULT;
		qp->discard = false;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return idle;
}

static void rnic_qp_discard(struct rnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	qp->discard = true;
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* A kernel consumer's completions; a user's are in the hands of the provider. */
static void rnic_qp_forget_completions(struct rnic_qp *qp)
{
	if (qp->user)
		return;
	rnic_cq_forget(qp->scq, qp->ibqp.qp_num);
	if (qp->rcq != qp->scq)
		rnic_cq_forget(qp->rcq, qp->ibqp.qp_num);
}

/*
 * RESET, from any state: a stream ends at once, and so that nothing of it is left the
 * endpoint is waited for, which waits for no peer.
 */
static int rnic_qp_reset(struct rnic_qp *qp)
{
	do {
		rnic_qp_discard(qp);
		rnic_qp_set_state(qp, IB_QPS_ERR);
		wait_event(qp->unbound, !READ_ONCE(qp->ep));
		/* The number's completions end here, not those of the next life. */
		rnic_qp_forget_completions(qp);
	} while (!rnic_qp_begin_again(qp));
	return 0;
}

/**
 * rnic_modify_qp - verbs: modify_qp
 * @ibqp: the QP
 * @attr: new attributes
 * @mask: which; all but state and access rights are the stream's business and
 *	are accepted without effect
 * @udata: what the provider hands over: nothing so far; NULL for kernel consumers
 *
 * RESET is legal in every state: it ends the stream, waits for that, and discards
 * what is posted, and a kernel consumer's completions that were not polled. Sleeps.
 *
 * Return: 0, -EOPNOTSUPP (unknown attributes), -EINVAL (illegal move, unknown rights,
 * unknown input of the provider's).
 */
int rnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (!rnic_udata_clear(udata))
		return -EINVAL;
	if (mask & IB_QP_ACCESS_FLAGS &&
	    attr->qp_access_flags & ~RNIC_QP_ACCESS_KNOWN)
		return -EINVAL;
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		return rnic_qp_reset(qp);
	if (mask & IB_QP_ACCESS_FLAGS) {
		spin_lock_irqsave(&qp->lock, flags);
		WRITE_ONCE(qp->access, attr->qp_access_flags);
		spin_unlock_irqrestore(&qp->lock, flags);
	}
	if (!(mask & IB_QP_STATE))
		return 0;
	return rnic_qp_set_state(qp, attr->qp_state);
}

static enum ib_qp_state rnic_qp_ib_state(const struct rnic_qp *qp)
{
	switch (qp->state) {
	case RNIC_QP_IDLE:
		return qp->ib_state;
	case RNIC_QP_RTS:
		return IB_QPS_RTS;
	case RNIC_QP_CLOSING:
		return IB_QPS_SQD;
	default:
		return IB_QPS_ERR;
	}
}

/**
 * rnic_query_qp - verbs: query_qp
 * @ibqp: the QP
 * @attr: filled in; what an iWARP QP does not have is 0
 * @mask: ignored, everything known is reported
 * @init: filled in likewise
 *
 * Return: 0.
 */
int rnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;

	/* The core hands all of it to users, and has cleared none of it. */
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	spin_lock_irqsave(&qp->lock, flags);
	attr->qp_state = rnic_qp_ib_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->qp_access_flags = qp->access;
	attr->max_rd_atomic = qp->reads.ord;
	attr->max_dest_rd_atomic = qp->reads.ird;
	attr->sq_draining = qp->state == RNIC_QP_CLOSING;
	spin_unlock_irqrestore(&qp->lock, flags);

	attr->path_mtu = ib_mtu_int_to_enum(qp->dev->netdev->mtu);
	attr->port_num = 1;
	attr->cap.max_send_wr = qp->sq.ring.size;
	attr->cap.max_recv_wr = qp->rq.ring.size;
	attr->cap.max_send_sge = qp->sq.max_sge;
	attr->cap.max_recv_sge = qp->rq.max_sge;
	attr->cap.max_inline_data = qp->sq.max_inline;

	init->qp_type = ibqp->qp_type;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR;
	init->cap = attr->cap;
	return 0;
}

/* Verbs: create and destroy ------------------------------------------------- */

static int rnic_qp_check(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags || attr->srq)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > RNIC_MAX_QP_WR ||
	    cap->max_recv_wr > RNIC_MAX_QP_WR ||
	    cap->max_send_sge > MPA_MAX_SGE ||
	    cap->max_recv_sge > MPA_MAX_SGE ||
	    cap->max_inline_data > MPA_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static u32 rnic_sqe_stride(u32 sges, u32 inlined)
{
	u32 room = max_t(u32, sges * sizeof(struct mpa_sge), inlined);

	return round_up(sizeof(struct mpa_sqe) + room, 32);
}

/* Returns bytes of the ring. */
static u64 rnic_sq_plan(struct rnic_sq *sq, const struct ib_qp_init_attr *attr)
{
	u32 sges = max_t(u32, attr->cap.max_send_sge, 1);
	u32 stride = rnic_sqe_stride(sges, attr->cap.max_inline_data);

	sq->max_sge = sges;
	sq->max_inline = min_t(u32, stride - sizeof(struct mpa_sqe),
			       MPA_MAX_INLINE);
	sq->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	return rnic_ring_plan(&sq->ring, max_t(u32, attr->cap.max_send_wr, 1),
			     stride);
}

static u64 rnic_rq_plan(struct rnic_rq *rq, const struct ib_qp_init_attr *attr)
{
	u32 stride;

	rq->max_sge = max_t(u32, attr->cap.max_recv_sge, 1);
	stride = round_up(struct_size(rq->cur, sge, rq->max_sge), 32);
	return rnic_ring_plan(&rq->ring, max_t(u32, attr->cap.max_recv_wr, 1),
			     stride);
}

static int rnic_qp_respond(struct rnic_qp *qp, struct ib_udata *udata)
{
	struct mpa_create_qp_resp resp = {
		.key = rnic_area_key(&qp->rings),
		.len = qp->rings.len,
		.rq_offset = (u8 *)qp->rq.ring.hdr - (u8 *)qp->rings.mem,
		.num_sqe = qp->sq.ring.size,
		.num_rqe = qp->rq.ring.size,
		.sqe_stride = qp->sq.ring.stride,
		.rqe_stride = qp->rq.ring.stride,
		.max_inline = qp->sq.max_inline,
		.qp_num = qp->ibqp.qp_num,
	};

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/*
 * The 24-bit numbers in an order that only the key tells: a Feistel network, which
 * maps no two of them to the same one.
 */
static u32 qp_scramble(const siphash_key_t *key, u32 n)
{
	u32 left = n >> QP_HALF_BITS & QP_HALF_MASK;
	u32 right = n & QP_HALF_MASK;
	u32 round, next;

	for (round = 0; round < QP_ROUNDS; round++) {
		next = left ^ (siphash_2u32(round, right, key) & QP_HALF_MASK);
		left = right;
		right = next;
	}
	return left << QP_HALF_BITS | right;
}

/*
 * Reserves a number; nobody finds the QP by it yet. No number tells of another
 * one, and each comes back after all others have had their turn. 0 and 1 mean
 * special QPs to the core. It ends: of 2^24 numbers RNIC_MAX_QP are taken at most.
 */
static int rnic_qp_number(struct rnic_qp *qp)
{
	struct rnic_dev *dev = qp->dev;
	u32 qpn;
	int ret;

	do {
		qpn = qp_scramble(&dev->qpn_key,
				  atomic_inc_return(&dev->next_qpn));
		ret = qpn < 2 ? -EBUSY : xa_insert_irq(&dev->qps, qpn, NULL,
						       GFP_KERNEL_ACCOUNT);
	} while (ret == -EBUSY);
	if (!ret)
		qp->ibqp.qp_num = qpn;
	return ret;
}

static void rnic_qp_free_queues(struct rnic_qp *qp)
{
	rnic_reads_destroy(&qp->reads);
	kfree(qp->rq.cur);
	kfree(qp->sq.cur);
	kvfree(qp->sq.wr);
	rnic_area_destroy(&qp->rings);
}

/* Small rings fit into one page. */
static int rnic_qp_alloc_queues(struct rnic_qp *qp, struct ib_qp_init_attr *attr,
				struct ib_ucontext *uctx)
{
	u64 sq_len = rnic_sq_plan(&qp->sq, attr);
	u64 rq_len = rnic_rq_plan(&qp->rq, attr);
	int ret;

	ret = rnic_area_create(&qp->rings, RNIC_OWNED_QP, uctx, sq_len + rq_len);
	if (ret)
		return ret;
	rnic_ring_place(&qp->sq.ring, &qp->rings, 0);
	rnic_ring_place(&qp->rq.ring, &qp->rings, sq_len);
	qp->sq.wr = kvcalloc(qp->sq.ring.size, sizeof(*qp->sq.wr),
			     GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
			     __GFP_RETRY_MAYFAIL);
	qp->sq.cur = kzalloc(qp->sq.ring.stride, GFP_KERNEL_ACCOUNT);
	qp->rq.cur = kzalloc(qp->rq.ring.stride, GFP_KERNEL_ACCOUNT);
	if (qp->sq.wr && qp->sq.cur && qp->rq.cur)
		return 0;
	rnic_qp_free_queues(qp);
	return -ENOMEM;
}

static void rnic_qp_init(struct rnic_qp *qp, struct rnic_dev *dev, bool user,
			 struct ib_qp_init_attr *attr)
{
	qp->dev = dev;
	qp->user = user;
	qp->state = RNIC_QP_IDLE;
	qp->ib_state = IB_QPS_INIT;
	qp->access = RNIC_QP_ACCESS_DEFAULT;
	init_waitqueue_head(&qp->unbound);
	qp->scq = to_rnic_cq(attr->send_cq);
	qp->rcq = to_rnic_cq(attr->recv_cq);
	kref_init(&qp->ref);
	init_completion(&qp->freed);
	spin_lock_init(&qp->lock);
	INIT_WORK(&qp->tx_work, rnic_tx_work);
	INIT_DELAYED_WORK(&qp->tx_retry, rnic_tx_retry_work);
}

static void rnic_qp_report_cap(const struct rnic_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.ring.size;
	cap->max_recv_wr = qp->rq.ring.size;
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_recv_sge = qp->rq.max_sge;
	cap->max_inline_data = qp->sq.max_inline;
}

/**
 * rnic_create_qp - verbs: create_qp
 * @ibqp: to be made a QP
 * @attr: what the consumer asks; its capabilities are updated to what it gets
 * @udata: the user's response buffer, NULL for kernel consumers
 *
 * Return: 0, -EOPNOTSUPP (not RC, SRQ, flags), -EINVAL (beyond the limits, unknown
 * input of the provider's), -ENOMEM (memory, or the device or the context has as
 * many as it may), -EFAULT.
 */
int rnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata)
{
	struct rnic_ucontext *uctx = rdma_udata_to_drv_context(udata,
					struct rnic_ucontext, ibuctx);
	struct rnic_dev *dev = to_rnic_dev(ibqp->device);
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	int ret;

	ret = rnic_qp_check(attr);
	if (ret)
		return ret;
	if (!rnic_udata_clear(udata))
		return -EINVAL;
	if (atomic_inc_return(&dev->nr_qp) > RNIC_MAX_QP) {
		ret = -ENOMEM;
		goto err_count;
	}
	rnic_qp_init(qp, dev, udata, attr);
	ret = rnic_qp_alloc_queues(qp, attr, uctx ? &uctx->ibuctx : NULL);
	if (ret)
		goto err_count;
	ret = rnic_qp_number(qp);
	if (ret)
		goto err_queues;
	if (uctx) {
		ret = rnic_qp_respond(qp, udata);
		if (ret)
			goto err_number;
	}
	rnic_qp_report_cap(qp, &attr->cap);
	/* Last, for it can be connected from now on. The place is reserved. */
	WARN_ON(xa_err(xa_store_irq(&dev->qps, ibqp->qp_num, qp, GFP_KERNEL)));
	return 0;

err_number:
	xa_erase_irq(&dev->qps, ibqp->qp_num);
err_queues:
	rnic_qp_free_queues(qp);
err_count:
	atomic_dec(&dev->nr_qp);
	return ret;
}

/**
 * rnic_destroy_qp - verbs: destroy_qp
 * @ibqp: the QP; its stream, if any, ends, at once for the consumer
 * @udata: unused
 *
 * Waits for the endpoint and the connection manager to release it, which depends
 * on no peer. Return: 0.
 */
int rnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);

	rnic_qp_set_state(qp, IB_QPS_ERR);
	/* Who finds it by its number holds it before the lock of the table is free. */
	xa_erase_irq(&qp->dev->qps, ibqp->qp_num);
	if (cancel_delayed_work(&qp->tx_retry))
		rnic_qp_put(qp);
	rnic_qp_put(qp);
	wait_for_completion(&qp->freed);
	rnic_qp_forget_completions(qp);
	rnic_qp_free_queues(qp);
	atomic_dec(&qp->dev->nr_qp);
	return 0;
}

/* Verbs: post -------------------------------------------------------------- */

/* No stream, and none is about to begin: the QP is not let into one. */
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

/*
 * A completion queue that has lost an entry takes no more: what the QP did from now
 * on nobody would learn of. @ep: its endpoint, whose socket is locked, or NULL.
 */
static void rnic_qp_check_cqs(struct rnic_qp *qp, struct rnic_ep *ep)
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

/**
 * rnic_qps_of_cq_failed - a completion queue has lost an entry
 * @dev: the device
 * @cq: the queue
 *
 * Ends every QP that uses it, each in its own work. One that is made, or that
 * connects, later looks for itself. Process context.
 */
void rnic_qps_of_cq_failed(struct rnic_dev *dev, const struct rnic_cq *cq)
{
	unsigned long qpn = 0;
	struct rnic_qp *qp;

	might_sleep();
	do {
		/* The core frees a QP without a grace period: the lock stands in. */
		xa_lock_irq(&dev->qps);
		qp = xa_find(&dev->qps, &qpn, ULONG_MAX, XA_PRESENT);
		if (qp && (qp->scq == cq || qp->rcq == cq) && rnic_qp_try_get(qp)) {
			rnic_tx_kick(qp);
			rnic_qp_put(qp);
		}
		xa_unlock_irq(&dev->qps);
		qpn++;
		cond_resched();
	} while (qp);
}

static void rnic_doorbell(struct rnic_qp *qp)
{
	struct rnic_ep *ep = rnic_qp_ep_get(qp);

	if (!ep) {
		rnic_qp_check_cqs(qp, NULL);
		rnic_qp_flush(qp, MPA_WC_WR_FLUSH_ERR, MPA_WC_WR_FLUSH_ERR);
		return;
	}
	lock_sock(ep->sock->sk);
	rnic_qp_check_cqs(qp, ep);
	rnic_sq_run(qp, ep);
	if (!rnic_qp_streaming(qp))
		rnic_qp_flush(qp, MPA_WC_WR_FLUSH_ERR, MPA_WC_WR_FLUSH_ERR);
	release_sock(ep->sock->sk);
	rnic_ep_put(ep);
}

/**
 * rnic_tx_work - send, or flush, what could not be done at once
 * @work: rnic_qp.tx_work; owns a reference to the QP
 */
void rnic_tx_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, tx_work);

	rnic_doorbell(qp);
	rnic_qp_put(qp);
}

/**
 * rnic_tx_retry_work - send where there was no memory
 * @work: of rnic_qp.tx_retry; owns a reference to the QP
 */
void rnic_tx_retry_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(to_delayed_work(work), struct rnic_qp,
					 tx_retry);

	rnic_doorbell(qp);
	rnic_qp_put(qp);
}

/**
 * rnic_tx_kick - have the sender run soon
 * @qp: the QP; any context
 */
void rnic_tx_kick(struct rnic_qp *qp)
{
	rnic_qp_get(qp);
	if (!queue_work(rnic_wq, &qp->tx_work))
		rnic_qp_put(qp);
}

/**
 * rnic_post_send - verbs: post_send, and the doorbell of user rings
 * @ibqp: the QP
 * @wr: work requests of a kernel consumer; NULL is a user's doorbell
 * @bad: the first request refused
 *
 * Return: 0, -EINVAL (malformed, or a user tried the slow path), -ENOMEM
 * (queue full), -ENOTCONN (never connected).
 */
int rnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;
	int ret = 0;

	if (qp->user) {
		if (wr) {
			*bad = wr;
			return -EINVAL;
		}
		rnic_doorbell(qp);
		return 0;
	}
	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		ret = rnic_sq_post(qp, wr);
		if (ret) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	rnic_tx_kick(qp);
	return ret;
}

/**
 * rnic_post_recv - verbs: post_recv of kernel consumers
 * @ibqp: the QP
 * @wr: work requests
 * @bad: the first request refused
 *
 * Return: 0, -EINVAL (malformed, or a user tried), -ENOMEM (queue full).
 */
int rnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;
	bool flush;
	int ret = 0;

	if (qp->user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		ret = rnic_rq_post(qp, wr);
		if (ret) {
			*bad = wr;
			break;
		}
	}
	flush = qp->state == RNIC_QP_TERMINATE || qp->state == RNIC_QP_ERROR;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (flush)
		rnic_tx_kick(qp);
	return ret;
}
