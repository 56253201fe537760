// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of queue pairs, for `rdma statistic qp`.
 *
 * The core has counters that queue pairs are bound to, by hand or by the process
 * that owns them. It shows what these counted, and adds that to what the device
 * reports, also after they are gone. So what a bound queue pair counts must not
 * be among the device's, see &rnic_dev.bound.
 */
#include "qp_stats.h"
#include "stats.h"

enum {
	/* Counters of the core that a device can have at a time. */
	QP_STATS_MAX	= 1 << 16,
};

/**
 * rnic_qp_count_bound() - add to a counter of a queue pair that is, or was a
 * moment ago, bound to a counter of the core
 * @qp: the QP
 * @c: the counter
 * @n: how much
 *
 * Any context.
 */
void rnic_qp_count_bound(struct rnic_qp *qp, enum rnic_counter c, u64 n)
{
	struct rnic_counter_set *set;

	rcu_read_lock();
	set = rcu_dereference(qp->counters);
	if (set) {
		rnic_counters_add(set->cpus, c, n);
		rnic_counters_add(qp->dev->bound, c, n);
	} else {
		rnic_count_add(qp->dev, c, n);
	}
	rcu_read_unlock();
}

/*
 * NULL: it is being released. Older kernels list a counter until after
 * rnic_qp_stats_dealloc(), and read it meanwhile.
 */
static struct rnic_counter_set *qp_stats_set(struct rdma_counter *counter)
{
	return xa_load(&to_rnic_dev(counter->device)->counter_sets, counter->id);
}

static void qp_stats_free(struct rnic_counter_set *set)
{
	free_percpu(set->cpus);
	kfree(set);
}

/*
 * The first bind creates the set of @counter. Its number is not used again soon,
 * since older kernels list a counter by it until after rnic_qp_stats_dealloc().
 */
static struct rnic_counter_set *qp_stats_create(struct rdma_counter *counter)
{
	struct rnic_dev *dev = to_rnic_dev(counter->device);
	struct rnic_counter_set *set;
	int ret = -ENOMEM;

	set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);
	if (!set)
		return ERR_PTR(ret);
	set->dev = dev;
	set->cpus = rnic_stats_new();
	if (set->cpus)
		ret = xa_alloc_cyclic_irq(&dev->counter_sets, &counter->id, set,
					  XA_LIMIT(1, QP_STATS_MAX),
					  &dev->counter_next, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		qp_stats_free(set);
		return ERR_PTR(ret);
	}
	return set;
}

/**
 * rnic_qp_stats_bind() - verbs: counter_bind_qp
 * @counter: the counter; its lock is held
 * @ibqp: the QP
 *
 * What the QP counts from now on belongs to the counter.
 *
 * Return: 0; -EINVAL: it is bound already; -ENOMEM; -EBUSY: too many counters.
 */
int rnic_qp_stats_bind(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	struct rnic_counter_set *set;
	int ret = 0;

	mutex_lock(&qp->dev->bind_lock);
	if (ibqp->counter) {
		ret = -EINVAL;
		goto unlock;
	}
	set = counter->id ? qp_stats_set(counter) : qp_stats_create(counter);
	if (IS_ERR(set)) {
		ret = PTR_ERR(set);
		goto unlock;
	}
	rcu_assign_pointer(qp->counters, set);
	ibqp->counter = counter;
unlock:
	mutex_unlock(&qp->dev->bind_lock);
	return ret;
}

/**
 * rnic_qp_stats_unbind() - verbs: counter_unbind_qp
 * @ibqp: the QP
 *
 * Does not wait for counts that are being added.
 *
 * Return: 0; -EINVAL: it is not bound.
 */
int rnic_qp_stats_unbind(struct ib_qp *ibqp)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	int ret = -EINVAL;

	mutex_lock(&qp->dev->bind_lock);
	if (ibqp->counter) {
		RCU_INIT_POINTER(qp->counters, NULL);
		ibqp->counter = NULL;
		ret = 0;
	}
	mutex_unlock(&qp->dev->bind_lock);
	return ret;
}

/**
 * rnic_qp_stats_alloc() - verbs: counter_alloc_stats
 * @counter: the counter
 *
 * Return: names of the counters, with memory for values; NULL: no memory. All
 * counters of the device are among them: the core wants the same indexes.
 */
struct rdma_hw_stats *rnic_qp_stats_alloc(struct rdma_counter *counter)
{
	return rnic_stats_alloc(counter->device, counter->port);
}

/**
 * rnic_qp_stats_update() - verbs: counter_update_stats
 * @counter: the counter; its lock is held
 *
 * Return: 0, and the values are up to date; -ENOENT: it is being released, and its
 * values are in the history of the port already.
 */
int rnic_qp_stats_update(struct rdma_counter *counter)
{
	const struct rnic_counter_set *set;
	int i;

	rcu_read_lock();
	set = qp_stats_set(counter);
	for (i = 0; set && i < RNIC_CNT_COUNT; i++)
		counter->stats->value[i] = rnic_stats_sum(set->cpus, i);
	rcu_read_unlock();
	return set ? 0 : -ENOENT;
}

/* Counts that were added after the core has read them belong to the device. */
static void qp_stats_return_rest(const struct rnic_counter_set *set)
{
	u64 rest;
	int i;

	for (i = 0; i < RNIC_CNT_COUNT; i++) {
		rest = rnic_stats_sum(set->cpus, i) - set->reported[i];
		rnic_count_add(set->dev, i, rest);
		rnic_counters_add(set->dev->bound, i, -rest);
	}
}

static void qp_stats_release(struct rcu_head *rcu)
{
	struct rnic_counter_set *set = container_of(rcu, struct rnic_counter_set,
						    rcu);

	qp_stats_return_rest(set);
	qp_stats_free(set);
}

/**
 * rnic_qp_stats_dealloc() - verbs: counter_dealloc
 * @counter: the counter; no QP is bound to it any more
 *
 * Does not wait for counts that are being added: they reach the device after a
 * grace period, before the device goes.
 *
 * Return: 0.
 */
int rnic_qp_stats_dealloc(struct rdma_counter *counter)
{
	struct rnic_dev *dev = to_rnic_dev(counter->device);
	struct rnic_counter_set *set;

	set = xa_erase_irq(&dev->counter_sets, counter->id);
	memcpy(set->reported, counter->stats->value, sizeof(set->reported));
	WRITE_ONCE(dev->counted, true);
	call_rcu(&set->rcu, qp_stats_release);
	return 0;
}
