// SPDX-License-Identifier: GPL-2.0-only
/* Memory that senders copy from. */
#include "mr_access.h"
#include "mr_tx.h"
#include "ulp/mpa.h"

/*
 * Lists the contiguous pieces of [@addr, @addr + @len), as many as @run can
 * hold.
 */
static void mr_list(const struct rnic_mr *mr, u64 addr, u32 len,
		    struct rnic_run *run)
{
	struct kvec *kv = run->kv;
	u32 done = 0;

	for (; kv < run->kv + RNIC_TX_PIECES && done < len; kv++) {
		kv->iov_len = mr_piece(mr, addr + done, len - done,
				       &kv->iov_base);
		done += kv->iov_len;
	}
	run->len = done;
	run->at = 0;
	run->epoch = mr->epoch;
}

/* Senders take references under the lock, and only while the region is valid. */
static bool mr_hold(struct rnic_mr *mr, const struct ib_qp *ibqp, u32 stag,
		    u64 addr, u32 len, int access, struct rnic_run *run,
		    struct ddp_fault *f)
{
	bool ok;

	read_lock_bh(&mr->lock);
	ok = mr_grants(mr, mr_scope_of(ibqp), stag, addr, len, access, f);
	if (ok)
		refcount_inc(&mr->refs);
	if (ok && run) {
		mr_list(mr, addr, len, run);
		run->below = mr->region;
		if (run->below)
			refcount_inc(&run->below->refs);
	}
	read_unlock_bh(&mr->lock);
	return ok;
}

/**
 * rnic_mr_get() - get a region to send from, and the location of its bytes
 * @dev: the device
 * @ibqp: the sender
 * @stag: the region
 * @addr: first byte wanted
 * @len: bytes wanted, at least 1
 * @access: IB_ACCESS_* rights needed, or %RNIC_MR_LOCAL_READ
 * @run: set to the first of them, as many as it can hold; NULL: only check
 *	whether all are granted. Unchanged on failure
 * @fault: set to an RDMAP protection error on failure; may be NULL
 *
 * Any context. The reference keeps the memory in place. Deregistration waits
 * for it: drop it soon. Invalidation does not wait, see rnic_mr_unchanged(). If
 * a window was found, @run->below has a second reference to be dropped.
 *
 * Return: the region with a reference, or NULL.
 */
struct rnic_mr *rnic_mr_get(struct rnic_dev *dev, const struct ib_qp *ibqp,
			    u32 stag, u64 addr, u32 len, int access,
			    struct rnic_run *run, struct ddp_fault *fault)
{
	const struct rdmap_read rd = { .size = len, .src_to = addr };
	const struct ddp_region_view none = {};
	struct ddp_fault f;
	struct rnic_mr *mr;
	bool ok;

	if (WARN_ON_ONCE(!len))
		return NULL;
	rcu_read_lock();
	mr = mr_find_access(dev, mr_scope_of(ibqp), stag, access);
	ok = mr ? mr_hold(mr, ibqp, stag, addr, len, access, run, &f) :
		  rdmap_check_read(&rd, &none, &f);
	rcu_read_unlock();
	if (ok)
		return mr;
	if (fault)
		*fault = f;
	return NULL;
}

static void mr_copy_out(const struct rnic_mr *mr, u64 addr, u32 len, u8 *to)
{
	void *at;
	u32 n;

	for (; len; addr += n, to += n, len -= n) {
		n = mr_piece(mr, addr, len, &at);
		mpa_copy(to, at, n);
	}
}

/**
 * rnic_mr_copy() - copy bytes of a region to be sent
 * @dev: the device
 * @ibqp: the sender
 * @stag: the region
 * @addr: first byte
 * @len: bytes, at least 1, and few: the lock of the region is held meanwhile
 * @to: where to
 *
 * Any context. Unlike after rnic_mr_get(), rights cannot be taken away before the
 * copy is complete.
 *
 * Return: false if the region does not grant them; nothing was copied.
 */
bool rnic_mr_copy(struct rnic_dev *dev, const struct ib_qp *ibqp, u32 stag,
		  u64 addr, u32 len, u8 *to)
{
	const struct mr_scope scope = mr_scope_of(ibqp);
	struct rnic_mr *mr;
	bool ok = false;

	rcu_read_lock();
	mr = mr_find_access(dev, scope, stag, RNIC_MR_LOCAL_READ);
	if (mr) {
		read_lock_bh(&mr->lock);
		ok = !mr_check(mr, scope, stag, addr, len, RNIC_MR_LOCAL_READ);
		if (ok)
			mr_copy_out(mr, addr, len, to);
		read_unlock_bh(&mr->lock);
	}
	rcu_read_unlock();
	return ok;
}

/**
 * rnic_mr_more() - get the location of more bytes of a region
 * @mr: the region, from rnic_mr_get() for other bytes
 * @ibqp: the sender
 * @stag: its STag; not %RNIC_STAG_LOCAL_DMA
 * @addr: first byte
 * @len: bytes wanted, at least 1
 * @access: IB_ACCESS_* rights needed, or %RNIC_MR_LOCAL_READ
 * @epoch: &rnic_run.epoch of the other bytes
 * @run: set to the first of them, as many as it can hold
 *
 * Any context. Checks the rights again: the region may have been invalidated,
 * and registered with other pages, since rnic_mr_get().
 *
 * Return: false, with nothing changed, if this region at this epoch does not
 * grant it. A lookup by rnic_mr_get() may still succeed.
 */
bool rnic_mr_more(struct rnic_mr *mr, const struct ib_qp *ibqp, u32 stag,
		  u64 addr, u32 len, int access, u32 epoch,
		  struct rnic_run *run)
{
	bool ok;

	read_lock_bh(&mr->lock);
	ok = mr->epoch == epoch &&
	     !mr_check(mr, mr_scope_of(ibqp), stag, addr, len, access);
	if (ok)
		mr_list(mr, addr, len, run);
	read_unlock_bh(&mr->lock);
	return ok;
}
