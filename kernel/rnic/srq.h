/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared receive queues: receives that many queue pairs take from. */
#ifndef MPA_RNIC_SRQ_H
#define MPA_RNIC_SRQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "ring.h"

/**
 * struct rnic_srq - a shared receive queue
 * @ibsrq: the core's part; its protection domain is that of the regions which
 *	entries name
 * @user: it belongs to a user, who shares the ring; else to a kernel consumer;
 *	constant
 * @area: memory of @ring
 * @ring: entries are struct mpa_rqe; written by the consumer
 * @max_sge: limit of mpa_rqe.num_sge; constant
 * @lock: protects @taken, @limit, @events_ahead, @dead, and the producer's side of
 *	kernel consumers. Inside the socket lock of a queue pair that uses the queue, or
 *	alone; no other lock is taken inside it. irq-safe
 * @taken: entries taken by queue pairs; mirrored in ring cons
 * @limit: %IB_EVENT_SRQ_LIMIT_REACHED is raised when fewer entries than this
 *	are left, once; 0: not asked for
 * @events_ahead: such events, less entries taken since
 * @dead: @ring is being freed; checked by details.c
 *
 * An entry belongs to the queue pair that takes it, from the first segment of a
 * message on: it completes there, and with an error if that queue pair ends.
 * Entries that none has taken are never flushed.
 */
struct rnic_srq {
	struct ib_srq ibsrq;
	bool user;
	struct rnic_area area;
	struct rnic_ring ring;
	u32 max_sge;
	spinlock_t lock;	/* see above */
	u32 taken;
	u32 limit;
	u32 events_ahead;
	bool dead;
};

static inline struct rnic_srq *to_rnic_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct rnic_srq, ibsrq);
}

bool rnic_srq_take(struct rnic_srq *srq, struct mpa_rqe *e);
void rnic_srq_set_limit(struct rnic_srq *srq, u32 limit);

#endif /* MPA_RNIC_SRQ_H */
