/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion queues. */
#ifndef MPA_RNIC_CQ_H
#define MPA_RNIC_CQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "compat/hrtimer.h"
#include "device.h"
#include "ring.h"

enum {
	/* Entries looked at while interrupts are off. */
	RNIC_CQ_CHUNK	= 64,
	/* mpa_cqe.qp_num of a discarded entry. */
	RNIC_CQ_NOBODY	= 0,
};

/**
 * struct rnic_cq - a completion queue
 * @ibcq: the core's part
 * @area: memory of the header of @ring, and of its entries until the queue is
 *	resized; constant
 * @resized: memory of the entries since then; the header at its start is not
 *	used
 * @ring: entries are struct mpa_cqe, or struct mpa_cqe_timed if @timed; all but
 *	the header is replaced under @lock by rnic_resize_cq()
 * @lock: protects @resized, @ring, @prod, @forgotten, @overflown, @dead, @held, @max_held,
 *	@max_held_us and the consumer's side of kernel consumers; innermost lock
 *	of all, irq-safe
 * @prod: entries produced; the shared copy is written, never read
 * @forgotten: changes when entries of @ring are discarded
 * @held: completions since the last event that meet the consumer's request,
 *	whose event waits for others
 * @max_held: number of completions that raise an event; up to 1: each does
 * @max_held_us: microseconds after which the event is raised for fewer
 * @timer: runs while @held is not 0; raises the event
 * @timed: entries have time stamps; constant
 * @ns_ahead: if @timed: ns by which CLOCK_MONOTONIC of the time namespace that the
 *	queue was created in is ahead of the machine's; constant
 * @lossy: entries that find no room are dropped, and nothing else happens;
 *	constant
 * @overflown: an entry was lost; reported once by IB_EVENT_CQ_ERR. No more is
 *	appended, and every QP that uses the queue ends; written under @lock
 * @dead: @ring is being freed; checked by details.c
 * @due: events that rnic_cq_notify() must raise, RNIC_CQ_DUE_* bits; atomic
 */
struct rnic_cq {
	struct ib_cq ibcq;
	struct rnic_area area;
	struct rnic_area resized;
	struct rnic_ring ring;
	spinlock_t lock;	/* innermost of all */
	u32 prod;
	u32 forgotten;
	u32 held;
	u16 max_held;
	u16 max_held_us;
	struct hrtimer timer;
	s64 ns_ahead;
	bool timed;
	bool lossy;
	bool overflown;
	bool dead;
	unsigned long due;
};

static inline struct rnic_cq *to_rnic_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct rnic_cq, ibcq);
}

static inline struct rnic_dev *rnic_cq_dev(const struct rnic_cq *cq)
{
	return to_rnic_dev(cq->ibcq.device);
}

static inline struct mpa_cqe *rnic_cq_entry(const struct rnic_cq *cq, u32 index)
{
	return rnic_ring_at(&cq->ring, index);
}

/* Entries that the consumer has taken; a user may have written any number. */
static inline u32 rnic_cq_consumed(const struct rnic_cq *cq)
{
	return READ_ONCE(cq->ring.hdr->cons);
}

void rnic_cq_moderation_init(struct rnic_cq *cq);
void rnic_cq_hold_no_more(struct rnic_cq *cq);
bool rnic_cq_push(struct rnic_cq *cq, const struct mpa_cqe *e, bool solicited);
void rnic_cq_notify(struct rnic_cq *cq);
void rnic_cq_forget(struct rnic_cq *cq, u32 cqe_qp);

#endif /* MPA_RNIC_CQ_H */
