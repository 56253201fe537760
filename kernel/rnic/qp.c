// SPDX-License-Identifier: GPL-2.0-only
/* Queue pairs: states, references, and the endpoint they are bound to. */
#include <linux/xarray.h>

#include "cq.h"
#include "ddp/check.h"
#include "device.h"
#include "ep.h"
#include "qp.h"
#include "qpn.h"
#include "trace.h"

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

/**
 * rnic_qp_move() - move to another state
 * @qp: the QP; rnic_qp.lock held
 * @to: the new state
 *
 * Return: false if the move is illegal and was not made.
 */
bool rnic_qp_move(struct rnic_qp *qp, enum rnic_qp_state to)
{
	enum rnic_qp_state from = qp->state;

	lockdep_assert_held(&qp->lock);
	if (!rnic_qp_moves[from][to])
		return false;
	/* Also read under the socket lock alone. */
	WRITE_ONCE(qp->state, to);
	trace_rnic_qp_state(&qp->ibqp, from, to);
	return true;
}

/* References --------------------------------------------------------------- */

static void rnic_qp_release(struct kref *ref)
{
	struct rnic_qp *qp = container_of(ref, struct rnic_qp, ref);

	complete(&qp->freed);
}

/**
 * rnic_qp_get() - take a reference
 * @qp: the QP
 */
void rnic_qp_get(struct rnic_qp *qp)
{
	kref_get(&qp->ref);
}

/**
 * rnic_qp_try_get() - take a reference to a QP that may be being destroyed
 * @qp: the QP; its memory stays
 *
 * Return: true, with a reference; false if there was none left.
 */
bool rnic_qp_try_get(struct rnic_qp *qp)
{
	return kref_get_unless_zero(&qp->ref);
}

/**
 * rnic_qp_put() - drop a reference
 * @qp: the QP; may be freed on return
 */
void rnic_qp_put(struct rnic_qp *qp)
{
	kref_put(&qp->ref, rnic_qp_release);
}

/**
 * rnic_qp_find() - look a QP up by its number
 * @dev: the device
 * @qpn: the number
 *
 * Any context. Return: the QP with a reference, or NULL.
 */
struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn)
{
	unsigned long flags;
	struct rnic_qp *qp;

	if (qpn > RNIC_QPN_MASK)
		return NULL;
	/* The core frees a QP without a grace period, so RCU is not enough. */
	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, rnic_qpn_index(&dev->qpn_key, qpn));
	if (qp && !kref_get_unless_zero(&qp->ref))
		qp = NULL;
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

/* Events and work ---------------------------------------------------------- */

/**
 * rnic_qp_notify() - raise the completion events that are due
 * @qp: the QP; rnic_qp.lock not held
 * @due: which ones
 */
void rnic_qp_notify(struct rnic_qp *qp, const struct rnic_due *due)
{
	if (due->scq)
		rnic_cq_notify(qp->scq);
	if (due->rcq)
		rnic_cq_notify(qp->rcq);
}

/*
 * The core keeps the events of a user until they are read, and does not charge
 * them. Without a stream, states can change as often as the user likes.
 */
static bool qp_may_raise_event(struct rnic_qp *qp)
{
	return !qp->user ||
	       atomic_add_unless(&qp->events, 1, RNIC_QP_EVENTS);
}

/**
 * rnic_qp_event() - raise an asynchronous event
 * @qp: the QP; rnic_qp.lock not held
 * @type: enum ib_event_type, or -1 for none
 *
 * Does nothing after %RNIC_QP_EVENTS events of a user without another stream.
 */
void rnic_qp_event(struct rnic_qp *qp, int type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (type >= 0 && qp->ibqp.event_handler && qp_may_raise_event(qp))
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

/**
 * rnic_qp_grants_read() - may the peer of a queue pair read?
 * @qp: the QP
 * @size: bytes to be read
 * @f: set to the fault by rdmap_check_right()
 *
 * Asked when the request arrives, and again when bytes are sent: the consumer may have
 * taken the right away. Any context.
 *
 * Return: true if it may.
 */
bool rnic_qp_grants_read(const struct rnic_qp *qp, u32 size, struct ddp_fault *f)
{
	bool right = READ_ONCE(qp->access) & IB_ACCESS_REMOTE_READ;

	return rdmap_check_right(true, size, right, f);
}

/**
 * rnic_qp_grants_atomic() - may the peer of a queue pair execute atomic operations?
 * @qp: the QP
 * @f: set to the fault by rdmap_check_atomic_right()
 *
 * Asked when the request arrives, and again when it is executed. The core's
 * connection manager gives Read and Write to every queue pair, but never the right of
 * atomic operations, which can do no more than these two. So both together count as
 * well. Any context.
 *
 * Return: true if it may.
 */
bool rnic_qp_grants_atomic(const struct rnic_qp *qp, struct ddp_fault *f)
{
	int access = READ_ONCE(qp->access);

	return rdmap_check_atomic_right(access & IB_ACCESS_REMOTE_ATOMIC ||
					(access & RNIC_QP_ACCESS_DEFAULT) ==
					RNIC_QP_ACCESS_DEFAULT, f);
}

/**
 * rnic_qp_kick() - queue the QP's work, which sends or flushes
 * @qp: the QP; any context
 */
void rnic_qp_kick(struct rnic_qp *qp)
{
	rnic_qp_get(qp);
	if (!queue_work(rnic_tx_wq, &qp->tx_work))
		rnic_qp_put(qp);
}

/* In ERROR there is nothing to end, and such a QP may stay for long. */
static bool qp_lacks_cq(const struct rnic_qp *qp)
{
	return rnic_qp_cq_overflown(qp) && READ_ONCE(qp->state) != RNIC_QP_ERROR;
}

/**
 * rnic_qp_cqs_failed() - work of a device: completion queues have lost entries
 * @work: &rnic_dev.cqs_failed
 *
 * Ends every QP that uses such a queue, each in its own work. A QP that is created
 * or connected later checks its queues itself.
 */
void rnic_qp_cqs_failed(struct work_struct *work)
{
	struct rnic_dev *dev = container_of(work, struct rnic_dev, cqs_failed);
	unsigned long index = 0;
	struct rnic_qp *qp;

	do {
		/* The core frees a QP without a grace period, so RCU is not enough. */
		xa_lock_irq(&dev->qps);
		qp = xa_find(&dev->qps, &index, ULONG_MAX, XA_PRESENT);
		if (qp && qp_lacks_cq(qp) && rnic_qp_try_get(qp)) {
			rnic_qp_kick(qp);
			rnic_qp_put(qp);
		}
		xa_unlock_irq(&dev->qps);
		index++;
		cond_resched();
	} while (qp);
}

/* The endpoint ------------------------------------------------------------- */

/**
 * rnic_qp_ep_get() - get the endpoint of the QP's stream
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

/**
 * rnic_qp_end_ep() - request the end of the stream from the endpoint
 * @qp: the QP; nothing happens if it has no endpoint
 * @how: see &enum rnic_ep_end_how
 *
 * Any context.
 */
void rnic_qp_end_ep(struct rnic_qp *qp, enum rnic_ep_end_how how)
{
	struct rnic_ep *ep = rnic_qp_ep_get(qp);

	if (!ep)
		return;
	rnic_ep_end(ep, how);
	rnic_ep_put(ep);
}

/*
 * Before there is a connection, rdma_init_qp_attr() returns no rights for a
 * user that connects, and librdmacm calls it only once. For accepting and for
 * kernel consumers it returns the default. So a QP without rights gets the
 * default when it is bound; the consumer can remove rights afterwards.
 */
static void rnic_qp_default_access(struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	if (!(qp->access & RNIC_QP_ACCESS_DEFAULT))
		WRITE_ONCE(qp->access, qp->access | RNIC_QP_ACCESS_DEFAULT);
}

/**
 * rnic_qp_cq_overflown() - has a completion queue of the QP lost an entry?
 * @qp: the QP
 *
 * Return: true if so.
 */
bool rnic_qp_cq_overflown(const struct rnic_qp *qp)
{
	return READ_ONCE(qp->scq->overflown) || READ_ONCE(qp->rcq->overflown);
}

/**
 * rnic_qp_may_bind() - would rnic_qp_bind() succeed?
 * @qp: the QP
 *
 * Any context. Return: as rnic_qp_bind(); it may have changed since.
 */
int rnic_qp_may_bind(struct rnic_qp *qp)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state != RNIC_QP_IDLE || rnic_qp_cq_overflown(qp))
		ret = -EINVAL;
	else if (qp->ep)
		ret = -EISCONN;
	spin_unlock_irqrestore(&qp->lock, flags);
	return ret;
}

/**
 * rnic_qp_bind() - bind an idle QP to an endpoint
 * @qp: the QP
 * @ep: the endpoint, which holds a reference to the QP for as long; the QP
 *	takes one to it
 *
 * Process context, before the startup exchange. Return: 0; -EINVAL: not idle,
 * or one of its completion queues has overflown, which moves it to ERROR;
 * -EISCONN: bound already.
 */
int rnic_qp_bind(struct rnic_qp *qp, struct rnic_ep *ep)
{
	unsigned long flags;
	int ret = 0;

	if (rnic_qp_cq_overflown(qp)) {
		rnic_qp_kick(qp);
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state != RNIC_QP_IDLE) {
		ret = -EINVAL;
	} else if (qp->ep) {
		ret = -EISCONN;
	} else {
		rnic_ep_get(ep);
		/* Also read without the lock, to compare. */
		WRITE_ONCE(qp->ep, ep);
		rnic_qp_default_access(qp);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return ret;
}

/**
 * rnic_qp_unbind() - undo rnic_qp_bind() after the stream is detached
 * @qp: the QP
 * @ep: the endpoint; does nothing if another one is bound. Its socket lock is
 *	held, so that &rnic_qp.ep does not change for a thread that holds it
 *
 * The QP must have left RTS, see rnic_qp_closed().
 */
void rnic_qp_unbind(struct rnic_qp *qp, struct rnic_ep *ep)
{
	unsigned long flags;
	bool mine;

	rnic_ep_assert_locked(ep);
	spin_lock_irqsave(&qp->lock, flags);
	mine = qp->ep == ep;
	if (mine) {
		WARN_ON_ONCE(rnic_qp_streaming(qp));
		/* What is still to be flushed needs no stream. */
		WRITE_ONCE(qp->ep, NULL);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!mine)
		return;
	wake_up(&qp->unused);
	rnic_ep_put(ep);
}

/* Identifiers of the connection manager ------------------------------------ */

/**
 * rnic_qp_cm_get() - an identifier of the core's connection manager gets the QP
 * @qp: the QP, with a reference for the identifier
 *
 * Until it is released, the core may move the QP to another state: it destroys
 * an identifier by ERR while it has not processed CLOSE. It says neither that it
 * is the caller of modify_qp, nor which identifier it means.
 *
 * Any context. Return: true, and rnic_qp_cm_put() must follow; false while RESET
 * is in progress, so that it ends.
 */
bool rnic_qp_cm_get(struct rnic_qp *qp)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&qp->lock, flags);
	ok = !qp->discard;
	if (ok)
		qp->cm_ids++;
	spin_unlock_irqrestore(&qp->lock, flags);
	return ok;
}

/**
 * rnic_qp_cm_put() - undo rnic_qp_cm_get(), and drop the reference
 * @qp: the QP; may be freed on return
 *
 * Any context.
 */
void rnic_qp_cm_put(struct rnic_qp *qp)
{
	unsigned long flags;
	bool last;

	spin_lock_irqsave(&qp->lock, flags);
	last = !--qp->cm_ids;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (last)
		wake_up(&qp->unused);
	rnic_qp_put(qp);
}

/**
 * rnic_qp_in_use() - may a connection still act on the QP?
 * @qp: the QP
 *
 * Any context. Return: true while an endpoint is bound to it, or an identifier
 * of the connection manager refers to it.
 */
bool rnic_qp_in_use(struct rnic_qp *qp)
{
	unsigned long flags;
	bool used;

	spin_lock_irqsave(&qp->lock, flags);
	used = qp->ep || qp->cm_ids;
	spin_unlock_irqrestore(&qp->lock, flags);
	return used;
}
