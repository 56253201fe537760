/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of queue pairs, for `rdma statistic qp`. */
#ifndef MPA_RNIC_QP_STATS_H
#define MPA_RNIC_QP_STATS_H

#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include "counters.h"
#include "device.h"
#include "qp.h"

/**
 * struct rnic_counter_set - what queue pairs count that are bound to a counter of
 * the core
 * @cpus: the counters
 * @dev: their device; constant
 * @reported: values that the core has added to the history of the port; set when the
 *	counter is released
 * @rcu: delays what follows until nobody adds to @cpus
 */
struct rnic_counter_set {
	struct rnic_counters __percpu *cpus;
	struct rnic_dev *dev;
	u64 reported[RNIC_CNT_COUNT];
	struct rcu_head rcu;
};

void rnic_qp_count_bound(struct rnic_qp *qp, enum rnic_counter c, u64 n);

/**
 * rnic_qp_count_add() - add to a counter of a queue pair
 * @qp: the QP
 * @c: the counter
 * @n: how much
 *
 * Any context.
 */
static inline void rnic_qp_count_add(struct rnic_qp *qp, enum rnic_counter c,
				     u64 n)
{
	if (unlikely(rcu_access_pointer(qp->counters)))
		rnic_qp_count_bound(qp, c, n);
	else
		rnic_count_add(qp->dev, c, n);
}

static inline void rnic_qp_count(struct rnic_qp *qp, enum rnic_counter c)
{
	rnic_qp_count_add(qp, c, 1);
}

int rnic_qp_stats_bind(struct rdma_counter *counter, struct ib_qp *ibqp);
int rnic_qp_stats_unbind(struct ib_qp *ibqp);
struct rdma_hw_stats *rnic_qp_stats_alloc(struct rdma_counter *counter);
int rnic_qp_stats_update(struct rdma_counter *counter);
int rnic_qp_stats_dealloc(struct rdma_counter *counter);

#endif /* MPA_RNIC_QP_STATS_H */
