// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues: a ring that the kernel fills and the consumer empties.
 *
 * A user's queue is polled and armed in the process itself, through the shared
 * ring; kernel consumers call cq_verbs.c for both. What a user writes into the
 * ring affects only its own completions.
 */
#include "cq.h"
#include "device.h"

/* rnic_cq.due */
enum {
	RNIC_CQ_DUE_COMP,	/* a completion event */
	RNIC_CQ_DUE_ERR,	/* IB_EVENT_CQ_ERR */
};

/* Whether the consumer asked for an event of such a completion. */
static bool cq_armed(const struct rnic_cq *cq, bool solicited)
{
	u32 arm = READ_ONCE(cq->ring.hdr->arm);

	return arm == MPA_ARM_NEXT || (arm == MPA_ARM_SOLICITED && solicited);
}

/*
 * Makes the event due and clears the consumer's request for it. A request that
 * a user makes at this moment is cleared together with the older one: the event
 * follows both.
 */
static void cq_disarm(struct rnic_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	cq->held = 0;
	xchg(&cq->ring.hdr->arm, MPA_ARM_NONE);
	/*
	 * The xchg() was a full barrier: the thread that takes the bit raises
	 * its event after the entry is visible. Pairs with test_and_clear_bit()
	 * in rnic_cq_notify().
	 */
	set_bit(RNIC_CQ_DUE_COMP, &cq->due);
}

/*
 * Whether the event of a completion waits for others. The timer is left alone
 * when enough of them are there: it finds nothing held, or holds the first ones
 * of the next event for a shorter time.
 */
static bool cq_hold(struct rnic_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (cq->max_held <= 1 || ++cq->held >= cq->max_held)
		return false;
	if (!hrtimer_is_queued(&cq->timer))
		hrtimer_start(&cq->timer,
			      ns_to_ktime(cq->max_held_us * (u64)NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

static void cq_raise_held(struct rnic_cq *cq)
{
	unsigned long irq;
	bool due;

	spin_lock_irqsave(&cq->lock, irq);
	due = cq->held;
	if (due)
		cq_disarm(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	if (due)
		rnic_cq_notify(cq);
}

static enum hrtimer_restart cq_held_too_long(struct hrtimer *timer)
{
	cq_raise_held(container_of(timer, struct rnic_cq, timer));
	return HRTIMER_NORESTART;
}

/**
 * rnic_cq_hold_no_more() - raise the event that waits for more completions, if any
 * @cq: the queue, of a queue pair that is being destroyed and appends nothing more
 *
 * Only queue pairs start the timer; others that use the queue may start it again. When the
 * last one is gone it does not run: the core ends the work that an event has queued before it
 * calls destroy_cq, and none may follow. Process context, no lock held.
 */
void rnic_cq_hold_no_more(struct rnic_cq *cq)
{
	hrtimer_cancel(&cq->timer);
	cq_raise_held(cq);
}

/**
 * rnic_cq_moderation_init() - prepare for rnic_modify_cq()
 * @cq: the queue; its events are not moderated yet
 */
void rnic_cq_moderation_init(struct rnic_cq *cq)
{
	hrtimer_setup(&cq->timer, cq_held_too_long, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

static bool cq_full(const struct rnic_cq *cq)
{
	/*
	 * Pairs with mpa_ring_consume() of the provider: the slot may be
	 * written only when its reader is done with it. A user's cons that is
	 * ahead of prod makes the difference huge, which counts as full.
	 */
	return cq->prod - smp_load_acquire(&cq->ring.hdr->cons) >=
	       cq->ring.size;
}

static bool cq_lose(struct rnic_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	rnic_count(rnic_cq_dev(cq), RNIC_CNT_CQ_OVERFLOW);
	if (cq->overflown || cq->lossy)
		return false;
	WRITE_ONCE(cq->overflown, true);
	/*
	 * Any thread may take the bit, and queues work that looks at
	 * @overflown. Pairs with test_and_clear_bit() in rnic_cq_notify().
	 */
	smp_mb__before_atomic();
	set_bit(RNIC_CQ_DUE_ERR, &cq->due);
	return true;
}

static bool cq_append(struct rnic_cq *cq, const struct mpa_cqe *e,
		      bool solicited)
{
	lockdep_assert_held(&cq->lock);
	*rnic_cq_entry(cq, cq->prod) = *e;
	if (cq->timed)
		((struct mpa_cqe_timed *)rnic_cq_entry(cq, cq->prod))->time =
			ktime_get_ns() + cq->ns_ahead;
	cq->prod++;
	/*
	 * The entry is written before the index. Pairs with mpa_ring_ready() of
	 * the provider; rnic_poll_cq() has the lock.
	 */
	smp_store_release(&cq->ring.hdr->prod, cq->prod);
	/*
	 * prod is written before arm is read. Pairs with the full barrier in
	 * mpa_ring_arm() of the provider, between its store to arm and the next
	 * read of prod: either the request is seen here, or that read sees the
	 * completion.
	 */
	smp_mb();
	if (!cq_armed(cq, solicited) || cq_hold(cq))
		return false;
	cq_disarm(cq);
	return true;
}

/**
 * rnic_cq_push() - append a completion
 * @cq: the queue
 * @e: the completion
 * @solicited: for a Send with solicited event, or an error
 *
 * Any context; the caller may hold a QP lock. If the queue is full, this
 * completion and all later ones are lost and counted, so that those in the
 * queue have no gap. IB_EVENT_CQ_ERR is raised once, and every QP that uses the
 * queue ends. A queue that was created to ignore that only drops completions
 * until there is room.
 *
 * Return: true if an event is due: call rnic_cq_notify() when no lock but that
 * of the socket is held.
 */
bool rnic_cq_push(struct rnic_cq *cq, const struct mpa_cqe *e, bool solicited)
{
	unsigned long irq;
	bool due;

	spin_lock_irqsave(&cq->lock, irq);
	due = cq->overflown || cq_full(cq) ? cq_lose(cq) :
					     cq_append(cq, e, solicited);
	spin_unlock_irqrestore(&cq->lock, irq);
	return due;
}

/**
 * rnic_cq_notify() - raise the events that rnic_cq_push() found due
 * @cq: the queue
 *
 * Any context, but of the locks of this module only the socket lock and
 * rnic_ep.lock may be held: a consumer may poll and post in its handler. An event
 * that became due twice is raised once.
 */
void rnic_cq_notify(struct rnic_cq *cq)
{
	struct ib_cq *ibcq = &cq->ibcq;
	struct ib_event event = {
		.device = ibcq->device,
		.element.cq = ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	lockdep_assert_not_held(&cq->lock);
	if (test_and_clear_bit(RNIC_CQ_DUE_ERR, &cq->due)) {
		if (ibcq->event_handler)
			ibcq->event_handler(&event, ibcq->cq_context);
		queue_work(rnic_wq, &rnic_cq_dev(cq)->cqs_failed);
	}
	if (test_and_clear_bit(RNIC_CQ_DUE_COMP, &cq->due) && ibcq->comp_handler)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/*
 * Discards some entries of a QP, from @from on but not beyond @to. Returns the
 * index to continue with.
 */
static u32 cq_forget_some(struct rnic_cq *cq, u32 cqe_qp, u32 from, u32 to)
{
	struct mpa_ring_hdr *hdr = cq->ring.hdr;
	unsigned long irq;
	int seen;

	spin_lock_irqsave(&cq->lock, irq);
	/* The consumer may have polled meanwhile. */
	if ((s32)(hdr->cons - from) > 0)
		from = hdr->cons;
	cq->forgotten++;
	for (seen = 0; seen < RNIC_CQ_CHUNK && (s32)(to - from) > 0; seen++, from++)
		if (rnic_cq_entry(cq, from)->qp_num == cqe_qp)
			rnic_cq_entry(cq, from)->qp_num = RNIC_CQ_NOBODY;
	spin_unlock_irqrestore(&cq->lock, irq);
	return from;
}

/**
 * rnic_cq_forget() - discard the completions of a QP
 * @cq: the queue of a kernel consumer
 * @cqe_qp: &rnic_qp.cqe_qp of the QP, which appends nothing meanwhile
 *
 * Completions appended before are not polled any more: the QP was reset or is
 * being destroyed, and its index may be reused. For a user, the provider does
 * the same. Process context.
 */
void rnic_cq_forget(struct rnic_cq *cq, u32 cqe_qp)
{
	u32 at = rnic_cq_consumed(cq);
	u32 end = READ_ONCE(cq->prod);

	might_sleep();
	while ((s32)(end - at) > 0) {
		at = cq_forget_some(cq, cqe_qp, at, end);
		cond_resched();
	}
}
