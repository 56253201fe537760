// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared receive queues: how queue pairs take entries, and the limit below which
 * the consumer wants to know.
 *
 * Queue pairs on other processors take entries at the same time, each under its
 * own socket lock. The lock of the queue is held only while an entry is copied:
 * it is checked afterwards, by its new owner.
 */
#include "rqe.h"
#include "srq.h"

enum {
	SRQ_EVENTS_AHEAD	= 16,
};

static u32 srq_pending(const struct rnic_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	return rnic_ring_pending(&srq->ring, srq->taken);
}

/* Clears the consumer's request for an event if it is due. */
static bool srq_disarm(struct rnic_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	if (!srq->limit || srq_pending(srq) >= srq->limit)
		return false;
	/*
	 * The core keeps all events until they are read: not many more than
	 * entries that were taken. The next one that is taken raises it.
	 */
	if (srq->events_ahead >= SRQ_EVENTS_AHEAD)
		return false;
	srq->events_ahead++;
	/* query_srq reads it without the lock. */
	WRITE_ONCE(srq->limit, 0);
	return true;
}

static void srq_raise_limit(struct rnic_srq *srq)
{
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	lockdep_assert_not_held(&srq->lock);
	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/**
 * rnic_srq_take() - take the next entry
 * @srq: the queue; the caller holds the socket lock of the queue pair that takes
 * @e: room for rnic_rqe_stride() bytes; the entry, not checked
 *
 * May raise %IB_EVENT_SRQ_LIMIT_REACHED.
 *
 * Return: true if there was one.
 */
bool rnic_srq_take(struct rnic_srq *srq, struct mpa_rqe *e)
{
	unsigned long flags;
	bool due = false;
	bool taken;

	spin_lock_irqsave(&srq->lock, flags);
	taken = srq_pending(srq);
	if (taken) {
		rnic_rqe_fetch(&srq->ring, srq->taken, srq->max_sge, e);
		srq->taken++;
		if (srq->events_ahead)
			srq->events_ahead--;
		/*
		 * The entry was read before. Pairs with mpa_ring_room() of the
		 * provider, and with rnic_rqe_post().
		 */
		smp_store_release(&srq->ring.hdr->cons, srq->taken);
		due = srq_disarm(srq);
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (due)
		srq_raise_limit(srq);
	return taken;
}

/**
 * rnic_srq_set_limit() - ask for an event when few entries are left
 * @srq: the queue
 * @limit: fewer than this; 0: withdraw the request
 *
 * If fewer are left already, the event is raised at once: an entry that was
 * taken a moment earlier would not raise it. After %SRQ_EVENTS_AHEAD more events
 * than entries that were taken, the next one that is taken raises it. Any context.
 */
void rnic_srq_set_limit(struct rnic_srq *srq, u32 limit)
{
	unsigned long flags;
	bool due;

	spin_lock_irqsave(&srq->lock, flags);
	WRITE_ONCE(srq->limit, limit);
	due = srq_disarm(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (due)
		srq_raise_limit(srq);
}
