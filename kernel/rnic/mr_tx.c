// SPDX-License-Identifier: GPL-2.0-only
/* Memory that senders copy from. */
#include "mr_access.h"
#include "mr_tx.h"
#include "ulp/mpa.h"

/*
 * Adds [@addr, @addr + @len) to the run, in contiguous pieces. Returns false if it
 * has no room for all of them.
 */
static bool mr_list(const struct rnic_mr *mr, u64 addr, u32 len, struct rnic_run *run)
{
	struct kvec *kv;
	void *at;
	u32 n;

	for (; len; addr += n, len -= n) {
		n = mr_piece(mr, addr, len, &at);
		kv = &run->kv[run->nr];
		if (run->nr && kv[-1].iov_base + kv[-1].iov_len == at) {
			kv[-1].iov_len += n;
		} else if (run->nr < RNIC_TX_PIECES) {
			kv->iov_base = at;
			kv->iov_len = n;
			run->nr++;
		} else {
			return false;
		}
		run->len += n;
	}
	return true;
}

/* Bytes of a piece from @off on that are granted at once. */
static u32 mr_source_len(const struct mpa_sge *sge, u32 off, const struct rnic_run *run)
{
	return min_t(u32, sge->length - off, RNIC_TX_RUN - (run ? run->len : 0));
}

static void mr_run_begin(struct rnic_run *run, struct rnic_mr *mr)
{
	run->len = 0;
	run->nr = 0;
	run->at = 0;
	run->epoch = mr->epoch;
	run->below = NULL;
	run->fast_reg = mr->kind == RNIC_MR_FAST_REG ? mr : NULL;
}

/*
 * Lists what the first piece of @from has, which was granted, and the pieces behind
 * it, as far as they are in the same region, granted, and there is room for them.
 */
static void mr_list_source(struct rnic_mr *mr, struct mr_scope scope,
			   const struct rnic_source *from, struct rnic_run *run)
{
	const struct mpa_sge *sge = from->sge;
	const struct mpa_sge *end = sge + from->nr;
	u32 off = from->off;
	u32 len;

	lockdep_assert_held(&mr->lock);
	mr_run_begin(run, mr);
	do {
		len = mr_source_len(sge, off, run);
		if (sge != from->sge && len &&
		    mr_check(mr, scope, sge->lkey, sge->addr, len, from->access))
			return;
		if (!mr_list(mr, sge->addr + off, len, run))
			return;
		off = 0;
	} while (++sge < end && sge->lkey == from->sge->lkey &&
		 run->len < RNIC_TX_RUN);
}

/**
 * rnic_mr_local_dma_run() - get the location of memory of a consumer in the kernel
 * @dev: the device
 * @ibqp: the sender
 * @from: the memory wanted
 * @run: set as by rnic_mr_get(), without a reference to a region
 *
 * Any context.
 *
 * Return: false, with nothing changed, if its first piece does not have the reserved
 * STag, or the sender is a user.
 */
bool rnic_mr_local_dma_run(struct rnic_dev *dev, const struct ib_qp *ibqp,
			   const struct rnic_source *from, struct rnic_run *run)
{
	const struct mpa_sge *sge = from->sge;
	const struct mpa_sge *end = sge + from->nr;
	u32 off = from->off;

	if (from->access & RNIC_MR_ACCESS_REMOTE ||
	    !mr_is_local_dma(mr_scope_of(ibqp), sge->lkey))
		return false;
	mr_run_begin(run, dev->local_dma);
	do {
		if (!mr_list(dev->local_dma, sge->addr + off,
			     mr_source_len(sge, off, run), run))
			break;
		off = 0;
	} while (++sge < end && sge->lkey == RNIC_STAG_LOCAL_DMA &&
		 run->len < RNIC_TX_RUN);
	return true;
}

/* Senders take references under the lock, and only while the region is valid. */
static bool mr_hold(struct rnic_mr *mr, struct mr_scope scope,
		    const struct rnic_source *from, struct rnic_run *run,
		    struct ddp_fault *f)
{
	const struct mpa_sge *sge = from->sge;
	bool ok;

	rnic_mr_read_lock(mr);
	ok = mr_grants(mr, scope, sge->lkey, sge->addr + from->off,
		       mr_source_len(sge, from->off, NULL), from->access, f);
	if (ok) {
		refcount_inc(&mr->refs);
		mr_list_source(mr, scope, from, run);
		run->below = mr->region;
		if (run->below)
			refcount_inc(&run->below->refs);
	}
	rnic_mr_read_unlock(mr);
	return ok;
}

/**
 * rnic_mr_get() - get a region to send from, and the location of its bytes
 * @dev: the device
 * @ibqp: the sender
 * @from: the memory wanted; its first piece has at least one byte
 * @run: set to the first bytes of it that are in the region of the first piece, as
 *	many as it can hold, at least one. Unchanged on failure
 * @fault: set to an RDMAP protection error on failure; may be NULL
 *
 * Any context. The reference keeps the memory in place. Deregistration waits
 * for it: drop it soon. Invalidation does not wait, see rnic_mr_unchanged(). If
 * a window was found, @run->below has a second reference to be dropped.
 *
 * Return: the region with a reference, or NULL.
 */
struct rnic_mr *rnic_mr_get(struct rnic_dev *dev, const struct ib_qp *ibqp,
			    const struct rnic_source *from, struct rnic_run *run,
			    struct ddp_fault *fault)
{
	const struct mr_scope scope = mr_scope_of(ibqp);
	const struct rdmap_read rd = {
		.size = mr_source_len(from->sge, from->off, NULL),
		.src_to = from->sge->addr + from->off,
	};
	const struct ddp_region_view none = {};
	struct ddp_fault f;
	struct rnic_mr *mr;
	bool ok;

	if (WARN_ON_ONCE(!rd.size))
		return NULL;
	rcu_read_lock();
	mr = mr_find_access(dev, scope, from->sge->lkey, from->access);
	ok = mr ? mr_hold(mr, scope, from, run, &f) :
		  rdmap_check_read(&rd, &none, &f);
	rcu_read_unlock();
	if (ok)
		return mr;
	if (fault)
		*fault = f;
	return NULL;
}

/* Are the pieces from @sge on in @mr granted? Returns the first in another region. */
static const struct mpa_sge *mr_granted_some(struct rnic_mr *mr, struct mr_scope scope,
					     const struct mpa_sge *sge,
					     const struct mpa_sge *end, int access,
					     bool *ok)
{
	u32 lkey = sge->lkey;

	rnic_mr_read_lock(mr);
	do {
		*ok = !sge->length || !mr_check(mr, scope, lkey, sge->addr,
						sge->length, access);
	} while (*ok && ++sge < end && (!sge->length || sge->lkey == lkey));
	rnic_mr_read_unlock(mr);
	return sge;
}

/**
 * rnic_mr_granted() - are all pieces of a message granted to its sender?
 * @dev: the device
 * @ibqp: the sender
 * @sge: the pieces; those of no bytes may name any region
 * @nr: how many
 * @access: IB_ACCESS_* rights needed, or %RNIC_MR_LOCAL_READ
 *
 * Any context. The result may be outdated on return; rnic_mr_get() checks again.
 *
 * Return: true if they are.
 */
bool rnic_mr_granted(struct rnic_dev *dev, const struct ib_qp *ibqp,
		     const struct mpa_sge *sge, unsigned int nr, int access)
{
	const struct mr_scope scope = mr_scope_of(ibqp);
	const struct mpa_sge *end = sge + nr;
	struct rnic_mr *mr;
	bool ok = true;

	rcu_read_lock();
	while (ok && sge < end) {
		if (!sge->length || mr_is_local_dma(scope, sge->lkey)) {
			sge++;
			continue;
		}
		mr = mr_find_access(dev, scope, sge->lkey, access);
		if (mr)
			sge = mr_granted_some(mr, scope, sge, end, access, &ok);
		else
			ok = false;
	}
	rcu_read_unlock();
	return ok;
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

	if (mr_is_local_dma(scope, stag)) {
		mr_copy_out(dev->local_dma, addr, len, to);
		return true;
	}
	rcu_read_lock();
	mr = mr_find_access(dev, scope, stag, RNIC_MR_LOCAL_READ);
	if (mr) {
		rnic_mr_read_lock(mr);
		ok = !mr_check(mr, scope, stag, addr, len, RNIC_MR_LOCAL_READ);
		if (ok)
			mr_copy_out(mr, addr, len, to);
		rnic_mr_read_unlock(mr);
	}
	rcu_read_unlock();
	return ok;
}

/**
 * rnic_mr_more() - get the location of more bytes of a region
 * @mr: the region, from rnic_mr_get() for other bytes
 * @ibqp: the sender
 * @from: the memory wanted; not in %RNIC_STAG_LOCAL_DMA
 * @epoch: &rnic_run.epoch of the other bytes
 * @run: as for rnic_mr_get()
 *
 * Any context. Checks the rights again: the region may have been invalidated,
 * and registered with other pages, since rnic_mr_get().
 *
 * Return: false, with nothing changed, if this region at this epoch does not
 * grant it. A lookup by rnic_mr_get() may still succeed.
 */
bool rnic_mr_more(struct rnic_mr *mr, const struct ib_qp *ibqp,
		  const struct rnic_source *from, u32 epoch, struct rnic_run *run)
{
	const struct mr_scope scope = mr_scope_of(ibqp);
	const struct mpa_sge *sge = from->sge;
	bool ok;

	rnic_mr_read_lock(mr);
	/* Another region may have its STag by now, see rnic_mr_succeed(). */
	ok = mr->epoch == epoch && !mr->dead &&
	     !mr_check(mr, scope, sge->lkey, sge->addr + from->off,
		       mr_source_len(sge, from->off, NULL), from->access);
	if (ok)
		mr_list_source(mr, scope, from, run);
	rnic_mr_read_unlock(mr);
	return ok;
}

/**
 * rnic_mr_lock_granted() - keep memory granted while bytes of it are copied
 * @mr: a region, held by the batch; no other region or window is locked
 * @epoch: &rnic_run.epoch of the bytes
 *
 * For kernel consumers' regions: the pages belong to the consumer again when the
 * region has been invalidated, on whatever queue pair, and may be freed then. Those
 * of users stay while a batch holds them. Any context.
 *
 * Return: true with the region locked, until rnic_mr_unlock_granted(); false if
 * rights were taken away since the bytes were granted.
 */
bool rnic_mr_lock_granted(struct rnic_mr *mr, u32 epoch)
{
	rnic_mr_read_lock(mr);
	if (rnic_mr_unchanged(mr, epoch)) {
		/* For sparse, which wants each way out of a function to be the same. */
		__release(&mr->lock);
		return true;
	}
	rnic_mr_read_unlock(mr);
	return false;
}

/**
 * rnic_mr_unlock_granted() - let rights to memory be taken away again
 * @mr: the region, locked by rnic_mr_lock_granted()
 */
void rnic_mr_unlock_granted(struct rnic_mr *mr)
	__releases(&mr->lock)
{
	rnic_mr_read_unlock(mr);
}
