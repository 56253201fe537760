// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions and windows: the only place where application memory is
 * touched.
 *
 * A region is found by its STag under RCU and used under its own lock. The lock
 * is held for writing to take its rights away, so that no placement is running
 * afterwards (RFC 5042 section 6.2.2). Senders get the location of bytes under
 * the lock and copy them without it: they hold a reference, which
 * deregistration waits for, and after copying check that the epoch of the
 * region has not changed, before any byte goes to TCP.
 *
 * A window is found and used like a region. While it is bound, the region below
 * it can neither be invalidated nor removed, so the window refers to its pages.
 * Senders hold both: once the window is unbound, only their own reference keeps
 * the region.
 */
#include <linux/atomic.h>
#include <linux/mm.h>

#include "compat/mm.h"
#include "ddp/atomic.h"
#include "ddp/check.h"
#include "device.h"
#include "mr.h"
#include "pd.h"
#include "trace.h"
#include "ulp/mpa.h"

enum {
	/* Up to so many bytes, prefetching costs more than it saves. */
	MR_FEW		= 2048,
	/*
	 * Bytes placed between two prefetches. With less, pieces of FPDUs are
	 * split more often where pages adjoin. With more, prefetched lines
	 * leave the first-level cache before they are written.
	 */
	MR_STRETCH	= 16384,
};

/* Lookup and rights -------------------------------------------------------- */

/**
 * struct mr_scope - what the STag of an access must belong to
 * @pd: a protection domain
 * @ibqp: the queue pair, which windows may be for; NULL: for entries of a
 *	receive queue, which name regions only
 */
struct mr_scope {
	const struct ib_pd *pd;
	const struct ib_qp *ibqp;
};

static struct mr_scope mr_scope_of(const struct ib_qp *ibqp)
{
	return (struct mr_scope){ .pd = ibqp->pd, .ibqp = ibqp };
}

/*
 * The region of that index; the caller checks the key under its lock. @local:
 * the owner asks, not its peer.
 */
static struct rnic_mr *mr_find(struct rnic_dev *dev, struct mr_scope scope,
			       u32 stag, bool local)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "no RCU read lock");
	if (stag == RNIC_STAG_LOCAL_DMA)
		return local && !to_rnic_pd(scope.pd)->uctx ? dev->local_dma : NULL;
	return xa_load(&dev->mrs, stag >> RNIC_MR_KEY_BITS);
}

static struct rnic_mr *mr_find_access(struct rnic_dev *dev,
				      struct mr_scope scope, u32 stag,
				      int access)
{
	return mr_find(dev, scope, stag, !(access & ~RNIC_MR_ACCESS_LOCAL));
}

/* Is its STag for such an access? mr_find() knows who may use the reserved one. */
static bool mr_in_scope(const struct rnic_mr *mr, struct mr_scope scope)
{
	lockdep_assert_held(&mr->lock);
	return (mr->pd == scope.pd && (!mr->only || mr->only == scope.ibqp)) ||
	       mr == mr->dev->local_dma;
}

static void mr_view(const struct rnic_mr *mr, struct mr_scope scope,
		    u32 stag, int access, struct ddp_region_view *v)
{
	lockdep_assert_held(&mr->lock);
	v->found = mr->valid && mr->stag == stag;
	v->same_pd = mr_in_scope(mr, scope);
	v->allowed = (mr->access & access) == access;
	v->base = mr->iova;
	v->len = mr->len;
}

/* Apart, so that the checks of other regions need no stack frame. */
static noinline bool mr_dma_mapped(u64 addr, u64 len)
{
	u64 at = addr & PAGE_MASK;

	for (; at - (addr & PAGE_MASK) < offset_in_page(addr) + len;
	     at += PAGE_SIZE)
		if (!virt_addr_valid((void *)(uintptr_t)at))
			return false;
	return true;
}

/* Kernel addresses from a peer must at least be mapped memory. */
static bool mr_mapped(const struct rnic_mr *mr, u64 addr, u64 len, int access)
{
	return mr->kind != RNIC_MR_DMA || !(access & RNIC_MR_ACCESS_REMOTE) ||
	       mr_dma_mapped(addr, len);
}

/*
 * Does the region grant @access to [@addr, @addr + @len)? The same as the checks
 * of ddp/check.c, which also find the fault to report to a peer. Returns an error
 * of rnic_mr_check_range().
 */
static int mr_check(const struct rnic_mr *mr, struct mr_scope scope, u32 stag,
		    u64 addr, u32 len, int access)
{
	u64 off = addr - mr->iova;

	lockdep_assert_held(&mr->lock);
	if (!mr->valid || mr->stag != stag)
		return -ENOENT;
	if (!mr_in_scope(mr, scope) || (mr->access & access) != access)
		return -EPERM;
	if (addr < mr->iova || off > mr->len || len > mr->len - off ||
	    !mr_mapped(mr, addr, len, access))
		return -EFAULT;
	return 0;
}

/**
 * rnic_mr_check_range() - is a piece of memory the caller's?
 * @pd: the caller's protection domain
 * @sge: the piece
 * @access: IB_ACCESS_* rights needed, or %RNIC_MR_LOCAL_READ
 *
 * Any context.
 *
 * Return: 0; -ENOENT: an unknown or invalid lkey; -EPERM: another domain, or
 * without the right; -EFAULT: bytes outside of the region.
 */
int rnic_mr_check_range(const struct ib_pd *pd, const struct ib_sge *sge,
			int access)
{
	struct rnic_dev *dev = to_rnic_dev(pd->device);
	const struct mr_scope scope = { .pd = pd };
	struct rnic_mr *mr;
	int ret = -ENOENT;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, sge->lkey >> RNIC_MR_KEY_BITS);
	if (mr) {
		read_lock_bh(&mr->lock);
		ret = mr_check(mr, scope, sge->lkey, sge->addr, sge->length,
			       access);
		read_unlock_bh(&mr->lock);
	}
	rcu_read_unlock();
	return ret;
}

/* As mr_view(), before an access to [@addr, @addr + @len). */
static void mr_view_range(const struct rnic_mr *mr, struct mr_scope scope,
			  u32 stag, u64 addr, u32 len, int access,
			  struct ddp_region_view *v)
{
	mr_view(mr, scope, stag, access, v);
	if (v->found && !mr_mapped(mr, addr, len, access))
		v->len = 0;
}

/*
 * Does the region grant @access to [@addr, @addr + @len)? @len is not 0. Rules
 * and faults are those for the source of a Read.
 */
static bool mr_grants(const struct rnic_mr *mr, struct mr_scope scope,
		      u32 stag, u64 addr, u32 len, int access,
		      struct ddp_fault *f)
{
	const struct rdmap_read rd = { .size = len, .src_to = addr };
	struct ddp_region_view v;

	mr_view_range(mr, scope, stag, addr, len, access, &v);
	return rdmap_check_read(&rd, &v, f);
}

/* What peers do with the memory below a window is counted for its region. */
static struct rnic_mr_traffic *mr_traffic(struct rnic_mr *mr)
{
	lockdep_assert_held(&mr->lock);
	return mr->region ? &mr->region->traffic : &mr->traffic;
}

static bool mr_read_granted(struct rnic_mr *mr, const struct ib_qp *ibqp,
			    const struct rdmap_read *rd, struct ddp_fault *f)
{
	struct ddp_region_view v;
	bool ok;

	mr_view(mr, mr_scope_of(ibqp), rd->src_stag, IB_ACCESS_REMOTE_READ, &v);
	ok = rdmap_check_read(rd, &v, f);
	if (ok)
		atomic64_add(rd->size, &mr_traffic(mr)->read);
	return ok;
}

/**
 * rnic_mr_read_granted() - may a peer read memory?
 * @dev: the device
 * @ibqp: the queue pair of the stream
 * @rd: what it asks for; not of 0 bytes
 * @f: set to the fault by rdmap_check_read()
 *
 * Any context. The result may be outdated on return; rnic_mr_get() checks
 * again.
 *
 * Return: true if the region grants it.
 */
bool rnic_mr_read_granted(struct rnic_dev *dev, const struct ib_qp *ibqp,
			  const struct rdmap_read *rd, struct ddp_fault *f)
{
	const struct ddp_region_view none = {};
	struct rnic_mr *mr;
	bool ok;

	rcu_read_lock();
	mr = mr_find_access(dev, mr_scope_of(ibqp), rd->src_stag,
			    IB_ACCESS_REMOTE_READ);
	if (mr) {
		read_lock_bh(&mr->lock);
		ok = mr_read_granted(mr, ibqp, rd, f);
		read_unlock_bh(&mr->lock);
	} else {
		ok = rdmap_check_read(rd, &none, f);
	}
	rcu_read_unlock();
	return ok;
}

/* Receiving ---------------------------------------------------------------- */

/* The contiguous piece at @addr, at most @len bytes of it. */
static u32 mr_piece(const struct rnic_mr *mr, u64 addr, u32 len, void **at)
{
	u64 size, off, page, run;

	if (mr->kind == RNIC_MR_DMA) {
		*at = (void *)(uintptr_t)addr;
		return len;
	}
	size = BIT_ULL(mr->page_shift);
	off = addr - mr->iova + mr->page_off;
	page = off >> mr->page_shift;
	off &= size - 1;
	*at = (void *)(uintptr_t)(mr->pages[page] + off);
	for (run = size - off; run < len; run += size, page++)
		if (mr->pages[page + 1] != mr->pages[page] + size)
			break;
	return min_t(u64, run, len);
}

/* Prefetches @len bytes at @addr, which will be written soon. */
static void mr_look_ahead(const struct rnic_mr *mr, u64 addr, u32 len)
{
	void *at;
	u32 n;

	for (; len; addr += n, len -= n) {
		n = mr_piece(mr, addr, len, &at);
		mpa_prefetch_write(at, n);
	}
}

/*
 * Copies %MR_STRETCH bytes at a time, or less where pages do not adjoin, and
 * prefetches the bytes %MPA_PREFETCH_BYTES later in between.
 */
static void mr_copy_in(const struct rnic_mr *mr, u64 to, u32 len,
		       struct mpa_rx *rx)
{
	u32 ahead = min_t(u32, len, MPA_PREFETCH_BYTES);
	void *at;
	u32 n;

	if (len > MR_FEW)
		mr_look_ahead(mr, to, ahead);
	for (; len; to += n, len -= n) {
		n = mr_piece(mr, to, min_t(u32, len, MR_STRETCH), &at);
		if (len > ahead)
			mr_look_ahead(mr, to + ahead, min(n, len - ahead));
		mpa_rx_read(rx, at, n);
	}
}

/*
 * The region of that STag, or NULL. *@sink keeps a reference, so that the next
 * segment, which most likely has the same STag, needs no lookup. The caller
 * checks under the lock whether the region is valid.
 */
static struct rnic_mr *mr_sink(struct rnic_dev *dev, struct mr_scope scope,
			       struct rnic_mr **sink, u32 stag, int access)
{
	struct rnic_mr *mr = *sink;

	/* The right to use the reserved STag is checked each time. */
	if (mr && READ_ONCE(mr->stag) == stag && READ_ONCE(mr->valid) &&
	    stag != RNIC_STAG_LOCAL_DMA)
		return mr;
	rnic_mr_forget(sink);
	rcu_read_lock();
	mr = mr_find_access(dev, scope, stag, access);
	if (mr && !refcount_inc_not_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	*sink = mr;
	return mr;
}

/**
 * rnic_mr_forget() - drop the reference to the region used last for placement
 * @sink: the region, from rnic_mr_place() and rnic_mr_write(); set to NULL
 *
 * Any context. Deregistration waits for this.
 */
void rnic_mr_forget(struct rnic_mr **sink)
{
	if (*sink)
		rnic_mr_put(*sink);
	*sink = NULL;
}

/**
 * rnic_mr_place() - place received bytes into memory of the local consumer
 * @dev: the device
 * @pd: protection domain of the queue pair, or of the shared receive queue
 * @sink: the region placed into last; see rnic_mr_forget()
 * @stag: the region
 * @to: tagged offset in it
 * @len: the next bytes of @rx; 0 succeeds with any @stag
 * @rx: the ULPDU
 *
 * Softirq or process context, socket lock held. Checks and places under one
 * hold of the region's lock, so that the region stays valid.
 *
 * Return: 0; -EACCES: refused, nothing was placed.
 */
int rnic_mr_place(struct rnic_dev *dev, const struct ib_pd *pd,
		  struct rnic_mr **sink, u32 stag, u64 to, u32 len,
		  struct mpa_rx *rx)
{
	const struct mr_scope scope = { .pd = pd };
	struct rnic_mr *mr;
	int ret = -EACCES;

	if (!len)
		return 0;
	mr = mr_sink(dev, scope, sink, stag, IB_ACCESS_LOCAL_WRITE);
	if (!mr)
		return ret;
	read_lock_bh(&mr->lock);
	if (!mr_check(mr, scope, stag, to, len, IB_ACCESS_LOCAL_WRITE)) {
		mr_copy_in(mr, to, len, rx);
		ret = 0;
	}
	read_unlock_bh(&mr->lock);
	return ret;
}

static bool mr_write(struct rnic_mr *mr, const struct ib_qp *ibqp,
		     const struct ddp_hdr *h, struct mpa_rx *rx,
		     struct ddp_fault *f)
{
	struct ddp_region_view v;
	bool ok;

	mr_view_range(mr, mr_scope_of(ibqp), h->stag, h->to, h->payload_len,
		      IB_ACCESS_REMOTE_WRITE, &v);
	ok = ddp_check_tagged(h, &v, f);
	if (ok) {
		mr_copy_in(mr, h->to, h->payload_len, rx);
		atomic64_add(h->payload_len, &mr_traffic(mr)->written);
	}
	return ok;
}

/**
 * rnic_mr_write() - check a segment of a peer's Write and place it
 * @dev: the device
 * @ibqp: the queue pair of the stream
 * @sink: the region placed into last; see rnic_mr_forget()
 * @h: its header, passed by ddp_check_control(); with payload
 * @rx: its payload
 * @f: set to the fault by ddp_check_tagged()
 *
 * Softirq or process context, socket lock held. Checks and places under one
 * hold of the region's lock, so that the region stays valid.
 *
 * Return: true; false if it was refused and nothing was placed.
 */
bool rnic_mr_write(struct rnic_dev *dev, const struct ib_qp *ibqp,
		   struct rnic_mr **sink, const struct ddp_hdr *h,
		   struct mpa_rx *rx, struct ddp_fault *f)
{
	const struct ddp_region_view none = {};
	struct rnic_mr *mr;
	bool ok;

	mr = mr_sink(dev, mr_scope_of(ibqp), sink, h->stag, IB_ACCESS_REMOTE_WRITE);
	if (!mr)
		return ddp_check_tagged(h, &none, f);
	read_lock_bh(&mr->lock);
	ok = mr_write(mr, ibqp, h, rx, f);
	read_unlock_bh(&mr->lock);
	return ok;
}

/* Atomic operations --------------------------------------------------------- */

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
 * @stag: the region
 * @to: tagged offset in it, of any alignment
 * @value: stored in the byte order of the machine
 *
 * Softirq or process context, socket lock held. Return: 0; -EACCES: refused.
 */
int rnic_mr_store(struct rnic_dev *dev, const struct ib_pd *pd, u32 stag, u64 to,
		  u64 value)
{
	const struct mr_scope scope = { .pd = pd };
	struct rnic_mr *mr;
	int ret = -EACCES;

	rcu_read_lock();
	mr = mr_find_access(dev, scope, stag, IB_ACCESS_LOCAL_WRITE);
	if (!mr)
		goto unlock;
	read_lock_bh(&mr->lock);
	if (!mr_check(mr, scope, stag, to, sizeof(value), IB_ACCESS_LOCAL_WRITE)) {
		mr_put_value(mr, to, value);
		ret = 0;
	}
	read_unlock_bh(&mr->lock);
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
		      const struct rdmap_atomic *a, u64 *old,
		      struct ddp_fault *f)
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
		*old = mr_execute(at, a);
		atomic64_inc(&mr_traffic(mr)->atomics);
	}
	return true;
}

/**
 * rnic_mr_atomic() - check a peer's atomic operation, and execute it
 * @dev: the device
 * @ibqp: the queue pair of the stream
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
		    const struct rdmap_atomic *a, u64 *old, struct ddp_fault *f)
{
	const struct ddp_region_view none = {};
	struct rnic_mr *mr;
	bool ok;

	rcu_read_lock();
	mr = mr_find_access(dev, mr_scope_of(ibqp), a->stag, IB_ACCESS_REMOTE_ATOMIC);
	if (mr) {
		read_lock_bh(&mr->lock);
		ok = mr_atomic(mr, ibqp, a, old, f);
		read_unlock_bh(&mr->lock);
	} else {
		ok = rdmap_check_atomic(a, &none, f);
	}
	rcu_read_unlock();
	return ok;
}

/* Sending ------------------------------------------------------------------ */

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

/**
 * rnic_mr_put() - drop a reference
 * @mr: the region
 *
 * Any context.
 */
void rnic_mr_put(struct rnic_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->released);
}

/* Invalidation ------------------------------------------------------------- */

/**
 * rnic_mr_drop_window() - count one window of a region less
 * @region: the region, which may be removed from now on; no lock of a region
 *	or window is held
 *
 * Process context or softirq.
 */
void rnic_mr_drop_window(struct rnic_mr *region)
{
	/* The structure must outlive the unlocking. */
	rcu_read_lock();
	write_lock_bh(&region->lock);
	WARN_ON_ONCE(!region->nr_windows);
	region->nr_windows--;
	write_unlock_bh(&region->lock);
	rcu_read_unlock();
}

/**
 * rnic_mr_detach() - end what binds a window to its region
 * @mr: the window, or a region; its lock is held for writing
 *
 * Return: the region it was bound to, for rnic_mr_drop_window(), or NULL.
 */
struct rnic_mr *rnic_mr_detach(struct rnic_mr *mr)
{
	struct rnic_mr *region = mr->region;

	lockdep_assert_held_write(&mr->lock);
	mr->region = NULL;
	return region;
}

/*
 * A peer may invalidate only what was registered or bound for it alone (RFC
 * 5040 section 8.1.1 item 7): a kernel consumer's region, or a window of type 2.
 * One of type 1 is unbound by its owner, with another bind. Rights, and the
 * queue pair of a window, are kept after invalidation, so that invalidating
 * twice gives the same result.
 */
static bool mr_may_invalidate(const struct rnic_mr *mr, bool remote)
{
	if (mr->kind == RNIC_MR_WINDOW)
		return mr->only;
	if (remote)
		return mr->kind == RNIC_MR_FAST_REG &&
		       mr->access & RNIC_MR_ACCESS_REMOTE;
	return mr->kind != RNIC_MR_DMA && !mr->nr_windows;
}

static bool mr_invalidate(struct rnic_mr *mr, const struct ib_qp *ibqp, u32 stag,
			  bool remote, struct ddp_fault *f)
{
	struct rnic_mr *region = NULL;
	struct ddp_region_view v = {};
	bool ok;

	write_lock_bh(&mr->lock);
	v.same_pd = mr_in_scope(mr, mr_scope_of(ibqp));
	v.found = mr->stag == stag;
	v.allowed = mr_may_invalidate(mr, remote);
	ok = rdmap_check_invalidate(&v, f);
	if (ok) {
		rnic_mr_end_rights(mr);
		region = rnic_mr_detach(mr);
	}
	write_unlock_bh(&mr->lock);
	if (region)
		rnic_mr_drop_window(region);
	if (ok)
		trace_rnic_mr(&mr->dev->ibdev, stag,
			      remote ? RNIC_MR_EVENT_REMOTE_INVALIDATE :
				      RNIC_MR_EVENT_INVALIDATE, mr->len);
	return ok;
}

/**
 * rnic_mr_invalidate() - invalidate an STag
 * @dev: the device
 * @ibqp: the queue pair
 * @stag: the region
 * @remote: requested by the peer, which may name only a fast-register region
 *	with remote rights, or a window of type 2 that was bound on @ibqp
 * @fault: set to the error on failure, %RDMAP_EC_CANNOT_INVALIDATE; may be NULL
 *
 * Any context. On return no placement is running, and bytes that are copied
 * later are not sent: senders may still be reading, but check
 * rnic_mr_unchanged() before they send (RFC 5042 section 6.2.2).
 *
 * Return: 0, also if the STag of a known region is invalid already; -EINVAL,
 * also if windows are bound to the region.
 */
int rnic_mr_invalidate(struct rnic_dev *dev, const struct ib_qp *ibqp, u32 stag,
		       bool remote, struct ddp_fault *fault)
{
	const struct ddp_region_view none = {};
	struct ddp_fault f;
	struct rnic_mr *mr;
	bool ok;

	rcu_read_lock();
	mr = mr_find(dev, mr_scope_of(ibqp), stag, false);
	ok = mr ? mr_invalidate(mr, ibqp, stag, remote, &f) :
		  rdmap_check_invalidate(&none, &f);
	rcu_read_unlock();
	if (!ok && fault)
		*fault = f;
	return ok ? 0 : -EINVAL;
}
