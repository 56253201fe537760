// SPDX-License-Identifier: GPL-2.0-only
/* Atomic operations of peers, and where the results of local ones are stored. */
#include <linux/atomic.h>

#include "ddp/atomic.h"
#include "mr_access.h"
#include "mr_atomic.h"
#include "mr_rx.h"

static void mr_put_value(const struct rnic_mr *mr, u64 to, u64 value)
{
	const u8 *from = (const u8 *)&value;
	u32 left = sizeof(value);
	void *at;
	u32 n;

	for (; left; to += n, from += n, left -= n) {
		n = mr_piece(mr, to, left, &at);
		memcpy(at, from, n);
	}
}

/**
 * rnic_mr_store() - store the result of an atomic operation in memory of the
 * local consumer
 * @dev: the device
 * @pd: the stream's protection domain
 * @e: FPDUs placed early, or NULL
 * @stag: the region
 * @to: tagged offset in it, of any alignment
 * @value: stored in the byte order of the machine
 *
 * Softirq or process context, socket lock held. Return: 0; -EACCES: refused.
 */
int rnic_mr_store(struct rnic_dev *dev, const struct ib_pd *pd,
		  struct rnic_early *e, u32 stag, u64 to, u64 value)
{
	const struct mr_scope scope = { .pd = pd };
	struct rnic_mr *mr;
	int ret = -EACCES;

	rcu_read_lock();
	mr = mr_find_access(dev, scope, stag, IB_ACCESS_LOCAL_WRITE);
	if (!mr)
		goto unlock;
	rnic_mr_read_lock(mr);
	if (!mr_check(mr, scope, stag, to, sizeof(value), IB_ACCESS_LOCAL_WRITE)) {
		rnic_mr_touch(mr, to, sizeof(value), e);
		mr_put_value(mr, to, value);
		ret = 0;
	}
	rnic_mr_read_unlock(mr);
unlock:
	rcu_read_unlock();
	return ret;
}

/*
 * Atomic also against the processors: programs and the kernel access the same
 * page with the same kind of instruction. A program that changes the value all
 * the time could keep a loop busy, so there is one only if the processor has no
 * such instruction.
 */
static u64 mr_execute(atomic64_t *at, const struct rdmap_atomic *a)
{
	s64 old, new;

	if (a->op == RDMAP_FETCH_ADD && !(a->mask << 1))
		return atomic64_fetch_add(a->data, at);
	if (a->op == RDMAP_CMP_SWAP && a->mask == U64_MAX && !a->compare_mask)
		return atomic64_xchg(at, a->data);
	if (a->op == RDMAP_CMP_SWAP && a->mask == U64_MAX &&
	    a->compare_mask == U64_MAX)
		return atomic64_cmpxchg(at, a->compare, a->data);
	old = atomic64_read(at);
	do {
		new = rdmap_atomic_result(a, old);
	} while (new != old && !atomic64_try_cmpxchg(at, &old, new));
	return old;
}

/*
 * The memory must be aligned, which the tagged offset need not show. An aligned
 * operand does not cross the end of a page.
 */
static bool mr_atomic(struct rnic_mr *mr, const struct ib_qp *ibqp,
		      struct rnic_early *e, const struct rdmap_atomic *a,
		      u64 *old, struct ddp_fault *f)
{
	struct ddp_region_view v;
	void *at;

	mr_view_range(mr, mr_scope_of(ibqp), a->stag, a->to, RDMAP_ATOMIC_BYTES,
		      IB_ACCESS_REMOTE_ATOMIC, &v);
	if (!rdmap_check_atomic(a, &v, f))
		return false;
	mr_piece(mr, a->to, RDMAP_ATOMIC_BYTES, &at);
	if (!IS_ALIGNED((uintptr_t)at, RDMAP_ATOMIC_BYTES)) {
		*f = ddp_fault_stream;
		return false;
	}
	if (old) {
		rnic_mr_touch(mr, a->to, RDMAP_ATOMIC_BYTES, e);
		*old = mr_execute(at, a);
		atomic64_inc(&mr_traffic(mr)->atomics);
	}
	return true;
}

/**
 * rnic_mr_atomic() - check a peer's atomic operation, and execute it
 * @dev: the device
 * @ibqp: the queue pair of the stream
 * @e: FPDUs placed early, or NULL
 * @a: the operation
 * @old: set to the value before it; NULL: only check
 * @f: set to the fault by rdmap_check_atomic(), or to &ddp_fault_stream if the
 *	memory is not aligned (RFC 7306 section 8.2)
 *
 * Softirq or process context, socket lock held. Checks and executes under one
 * hold of the region's lock, so that the region stays valid.
 *
 * Return: true; false if it was refused and the memory was not changed.
 */
bool rnic_mr_atomic(struct rnic_dev *dev, const struct ib_qp *ibqp,
		    struct rnic_early *e, const struct rdmap_atomic *a, u64 *old,
		    struct ddp_fault *f)
{
	const struct ddp_region_view none = {};
	struct rnic_mr *mr;
	bool ok;

	rcu_read_lock();
	mr = mr_find_access(dev, mr_scope_of(ibqp), a->stag, IB_ACCESS_REMOTE_ATOMIC);
	if (mr) {
		rnic_mr_read_lock(mr);
		ok = mr_atomic(mr, ibqp, e, a, old, f);
		rnic_mr_read_unlock(mr);
	} else {
		ok = rdmap_check_atomic(a, &none, f);
	}
	rcu_read_unlock();
	return ok;
}
