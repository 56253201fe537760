// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions: the only place where application memory is touched.
 *
 * A region is found by its STag under RCU and used under its own lock. Whoever
 * takes its rights away holds that lock for writing, so that no placement is
 * running once they are gone (RFC 5042 section 6.2.2). Senders find out under the
 * lock where bytes lie, and copy them without it: they hold a reference, which
 * deregistration waits for, and look whether the region's epoch is still the same
 * when they have copied, before any of it goes to TCP.
 */
#include <linux/mm.h>
#include <linux/overflow.h>

#include "compat/mm.h"
#include "ddp/check.h"
#include "device.h"
#include "mr.h"
#include "pd.h"
#include "trace.h"
#include "ulp/mpa.h"

enum {
	/* Bytes to place for which it does not pay to look ahead. */
	MR_FEW		= 2048,
	/*
	 * Bytes placed between two looks ahead. Less would break more pieces of
	 * FPDUs where pages adjoin, more would have left a first-level cache again
	 * before it is written to.
	 */
	MR_STRETCH	= 16384,
};

/* Lookup and rights -------------------------------------------------------- */

/*
 * The region of that index; the caller judges the key, under its lock. @local:
 * asked for by a local consumer of @pd.
 */
static struct rnic_mr *mr_find(struct rnic_dev *dev, const struct ib_pd *pd,
			       u32 stag, bool local)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "no RCU read lock");
	if (stag == RNIC_STAG_LOCAL_DMA)
		return local && !to_rnic_pd(pd)->uctx ? dev->local_dma : NULL;
	return xa_load(&dev->mrs, stag >> RNIC_MR_KEY_BITS);
}

static struct rnic_mr *mr_find_access(struct rnic_dev *dev,
				      const struct ib_pd *pd, u32 stag,
				     int access)
{
	return mr_find(dev, pd, stag, !(access & ~IB_ACCESS_LOCAL_WRITE));
}

static void mr_view(const struct rnic_mr *mr, const struct ib_pd *pd, u32 stag,
		    int access, struct ddp_region_view *v)
{
	lockdep_assert_held(&mr->lock);
	v->found = mr->valid && mr->stag == stag;
	v->same_pd = mr->ibmr.pd == pd || mr == mr->dev->local_dma;
	v->allowed = (mr->access & access) == access;
	v->base = mr->iova;
	v->len = mr->len;
}

/**
 * rnic_mr_view() - what ddp_check_*() want to know of an STag
 * @dev: the device
 * @pd: the stream's protection domain
 * @stag: the STag
 * @access: IB_ACCESS_* rights needed, 0 for none
 * @v: gets the answer; not found for unknown or invalid STags, stale keys
 *	included
 *
 * Any context. The answer may be outdated at once; rnic_mr_get() asks again.
 */
void rnic_mr_view(struct rnic_dev *dev, struct ib_pd *pd, u32 stag, int access,
		  struct ddp_region_view *v)
{
	struct rnic_mr *mr;

	memset(v, 0, sizeof(*v));
	rcu_read_lock();
	mr = mr_find_access(dev, pd, stag, access);
	if (mr) {
		read_lock_bh(&mr->lock);
		mr_view(mr, pd, stag, access, v);
		read_unlock_bh(&mr->lock);
	}
	rcu_read_unlock();
}

/* Kernel addresses a peer names must at least be memory. */
static bool mr_mapped(const struct rnic_mr *mr, u64 addr, u64 len, int access)
{
	u64 at = addr & PAGE_MASK;

	if (mr->kind != RNIC_MR_DMA || !(access & RNIC_MR_ACCESS_REMOTE))
		return true;
	for (; at - (addr & PAGE_MASK) < offset_in_page(addr) + len;
	     at += PAGE_SIZE)
		if (!virt_addr_valid((void *)(uintptr_t)at))
			return false;
	return true;
}

/* As mr_view(), of [@addr, @addr + @len), for who is going to touch it. */
static void mr_view_range(const struct rnic_mr *mr, const struct ib_pd *pd,
			  u32 stag, u64 addr, u32 len, int access,
			  struct ddp_region_view *v)
{
	mr_view(mr, pd, stag, access, v);
	if (v->found && !mr_mapped(mr, addr, len, access))
		v->len = 0;
}

/*
 * May [@addr, @addr + @len) of the region be used like that? @len is not 0.
 * The rules are those for the source of a Read, and so are the faults.
 */
static bool mr_grants(const struct rnic_mr *mr, const struct ib_pd *pd,
		      u32 stag, u64 addr, u32 len, int access,
		      struct ddp_fault *f)
{
	const struct rdmap_read rd = { .size = len, .src_to = addr };
	struct ddp_region_view v;

	mr_view_range(mr, pd, stag, addr, len, access, &v);
	return rdmap_check_read(&rd, &v, f);
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

/* @len bytes at @addr will be placed into soon. */
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
 * A stretch at a time, so that what comes %MPA_PREFETCH_BYTES bytes later can be asked
 * for from memory in between; less where the pages do not adjoin.
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
 * The region of that STag, or NULL. It is held in *@sink, so that the next
 * segment, which most likely goes there too, need not look it up again. Whether
 * it is valid is to be asked under its lock.
 */
static struct rnic_mr *mr_sink(struct rnic_dev *dev, const struct ib_pd *pd,
			       struct rnic_mr **sink, u32 stag, int access)
{
	struct rnic_mr *mr = *sink;

	/* Who may name the reserved STag is asked each time. */
	if (mr && READ_ONCE(mr->stag) == stag && READ_ONCE(mr->valid) &&
	    stag != RNIC_STAG_LOCAL_DMA)
		return mr;
	rnic_mr_forget(sink);
	rcu_read_lock();
	mr = mr_find_access(dev, pd, stag, access);
	if (mr && !refcount_inc_not_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	*sink = mr;
	return mr;
}

/**
 * rnic_mr_forget() - drop the reference to the region that was placed into last
 * @sink: where rnic_mr_place() and rnic_mr_write() keep it
 *
 * Any context. Whoever deregisters it waits for this.
 */
void rnic_mr_forget(struct rnic_mr **sink)
{
	if (*sink)
		rnic_mr_put(*sink);
	*sink = NULL;
}

/**
 * rnic_mr_place() - place received bytes into memory of our own consumer
 * @dev: the device
 * @pd: the stream's protection domain
 * @sink: the region placed into last; see rnic_mr_forget()
 * @stag: where to
 * @to: tagged offset there
 * @len: the next bytes of @rx; 0 is in order whatever @stag says
 * @rx: the ULPDU
 *
 * Softirq or process context, socket lock held. Checks and places under the
 * region's lock, so that the region cannot go in between.
 *
 * Return: 0; -EACCES: refused, nothing was placed.
 */
int rnic_mr_place(struct rnic_dev *dev, struct ib_pd *pd, struct rnic_mr **sink,
		  u32 stag, u64 to, u32 len, struct mpa_rx *rx)
{
	struct ddp_fault f;
	struct rnic_mr *mr;
	int ret = -EACCES;

	if (!len)
		return 0;
	mr = mr_sink(dev, pd, sink, stag, IB_ACCESS_LOCAL_WRITE);
	if (!mr)
		return ret;
	read_lock_bh(&mr->lock);
	if (mr_grants(mr, pd, stag, to, len, IB_ACCESS_LOCAL_WRITE, &f)) {
		mr_copy_in(mr, to, len, rx);
		ret = 0;
	}
	read_unlock_bh(&mr->lock);
	return ret;
}

static bool mr_write(const struct rnic_mr *mr, const struct ib_pd *pd,
		     const struct ddp_hdr *h, struct mpa_rx *rx,
		     struct ddp_fault *f)
{
	struct ddp_region_view v;
	bool ok;

	mr_view_range(mr, pd, h->stag, h->to, h->payload_len,
		      IB_ACCESS_REMOTE_WRITE, &v);
	ok = ddp_check_tagged(h, &v, f);
	if (ok)
		mr_copy_in(mr, h->to, h->payload_len, rx);
	return ok;
}

/**
 * rnic_mr_write() - judge a segment of a peer's Write, and place it
 * @dev: the device
 * @pd: the stream's protection domain
 * @sink: the region placed into last; see rnic_mr_forget()
 * @h: its header, passed by ddp_check_control(); with payload
 * @rx: its payload
 * @f: gets the fault, as ddp_check_tagged() says it
 *
 * Softirq or process context, socket lock held. Both under the region's lock,
 * so that the region cannot go in between.
 *
 * Return: true; false if it is refused: nothing was placed.
 */
bool rnic_mr_write(struct rnic_dev *dev, struct ib_pd *pd, struct rnic_mr **sink,
		   const struct ddp_hdr *h, struct mpa_rx *rx,
		  struct ddp_fault *f)
{
	const struct ddp_region_view none = {};
	struct rnic_mr *mr;
	bool ok;

	mr = mr_sink(dev, pd, sink, h->stag, IB_ACCESS_REMOTE_WRITE);
	if (!mr)
		return ddp_check_tagged(h, &none, f);
	read_lock_bh(&mr->lock);
	ok = mr_write(mr, pd, h, rx, f);
	read_unlock_bh(&mr->lock);
	return ok;
}

/* Sending ------------------------------------------------------------------ */

/* Lists the contiguous pieces of [@addr, @addr + @len), as many as @run takes. */
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
static bool mr_hold(struct rnic_mr *mr, const struct ib_pd *pd, u32 stag,
		    u64 addr, u32 len, int access, struct rnic_run *run,
		    struct ddp_fault *f)
{
	bool ok;

	read_lock_bh(&mr->lock);
	ok = mr_grants(mr, pd, stag, addr, len, access, f);
	if (ok) {
		refcount_inc(&mr->refs);
		if (run)
			mr_list(mr, addr, len, run);
	}
	read_unlock_bh(&mr->lock);
	return ok;
}

/**
 * rnic_mr_get() - a region to send from, and where its bytes lie
 * @dev: the device
 * @pd: the sender's protection domain
 * @stag: the region
 * @addr: first byte wanted
 * @len: bytes wanted, at least 1
 * @access: IB_ACCESS_* rights needed, 0 for none
 * @run: gets the first of them, as many as there is room for; NULL to know no more
 *	than whether all are granted. Unchanged if they are not
 * @fault: gets the reason in RDMAP's terms (0/1/xx) when refused; may be NULL
 *
 * Any context. The reference keeps the memory in place; its owner waits for
 * it: drop it soon. Invalidation does not wait, see rnic_mr_unchanged().
 *
 * Return: the region with a reference, or NULL.
 */
struct rnic_mr *rnic_mr_get(struct rnic_dev *dev, struct ib_pd *pd, u32 stag,
			    u64 addr, u32 len, int access, struct rnic_run *run,
			  struct ddp_fault *fault)
{
	const struct rdmap_read rd = { .size = len, .src_to = addr };
	const struct ddp_region_view none = {};
	struct ddp_fault f;
	struct rnic_mr *mr;
	bool ok;

	if (WARN_ON_ONCE(!len))
		return NULL;
	rcu_read_lock();
	mr = mr_find_access(dev, pd, stag, access);
	ok = mr ? mr_hold(mr, pd, stag, addr, len, access, run, &f) :
		  rdmap_check_read(&rd, &none, &f);
	rcu_read_unlock();
	if (ok)
		return mr;
	if (fault)
		*fault = f;
	return NULL;
}

/**
 * rnic_mr_more() - where more bytes of a region lie
 * @mr: the region, held: got from rnic_mr_get() for other bytes
 * @pd: the sender's protection domain
 * @stag: the region as it is named for these; not %RNIC_STAG_LOCAL_DMA
 * @addr: first byte
 * @len: bytes wanted, at least 1
 * @access: IB_ACCESS_* rights needed, 0 for none
 * @epoch: &rnic_run.epoch of those it was got for
 * @run: gets the first of them, as many as there is room for
 *
 * Any context. Asks again whether the region grants it: it may have been
 * invalidated, and registered with other bytes, since it was got.
 *
 * Return: false if this region does not grant it, which another one of that STag
 * might, or this one of another epoch; nothing has changed then.
 */
bool rnic_mr_more(struct rnic_mr *mr, const struct ib_pd *pd, u32 stag, u64 addr,
		  u32 len, int access, u32 epoch, struct rnic_run *run)
{
	struct ddp_fault f;
	bool ok;

	read_lock_bh(&mr->lock);
	ok = mr->epoch == epoch &&
	     mr_grants(mr, pd, stag, addr, len, access, &f);
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

/* Invalidation and fast registration --------------------------------------- */

/*
 * Nothing is granted any more, and what a sender has not copied yet is not sent: the
 * lock's release orders this before whatever tells that it is done. Pairs with the
 * smp_rmb() before rnic_mr_unchanged().
 */
static void mr_end_rights(struct rnic_mr *mr)
{
	lockdep_assert_held_write(&mr->lock);
	WRITE_ONCE(mr->valid, false);
	WRITE_ONCE(mr->epoch, mr->epoch + 1);
}

/**
 * rnic_mr_revoke() - take all rights away
 * @mr: the region
 *
 * No placement is running on return. Process context or softirq.
 */
void rnic_mr_revoke(struct rnic_mr *mr)
{
	write_lock_bh(&mr->lock);
	mr_end_rights(mr);
	write_unlock_bh(&mr->lock);
}

/*
 * Remotely only what a kernel consumer has registered for one peer may be
 * invalidated (RFC 5040 section 8.1.1 item 7). The rights outlive the validity,
 * so that who invalidates twice is answered alike.
 */
static bool mr_may_invalidate(const struct rnic_mr *mr, bool remote)
{
	if (remote)
		return mr->kind == RNIC_MR_FAST_REG &&
		       mr->access & RNIC_MR_ACCESS_REMOTE;
	return mr->kind != RNIC_MR_DMA;
}

static bool mr_invalidate(struct rnic_mr *mr, const struct ib_pd *pd, u32 stag,
			  bool remote, struct ddp_fault *f)
{
	struct ddp_region_view v = {
		.same_pd = mr->ibmr.pd == pd,
	};
	bool ok;

	write_lock_bh(&mr->lock);
	v.found = mr->stag == stag;
	v.allowed = mr_may_invalidate(mr, remote);
	ok = rdmap_check_invalidate(&v, f);
	if (ok)
		mr_end_rights(mr);
	write_unlock_bh(&mr->lock);
	if (ok)
		trace_rnic_mr(&mr->dev->ibdev, stag,
			      remote ? RNIC_MR_EVENT_REMOTE_INVALIDATE :
				      RNIC_MR_EVENT_INVALIDATE, mr->len);
	return ok;
}

/**
 * rnic_mr_invalidate() - take the rights of an STag away
 * @dev: the device
 * @pd: protection domain of who asks
 * @stag: the region
 * @remote: asked for by the peer, which may name only a fast-register region
 *	with remote rights
 * @fault: gets the reason when refused, 0/1/09 or 0/2/09; may be NULL
 *
 * Any context. On return no placement is running, and no byte of the region is sent
 * that was not copied before: senders may still be reading, but look whether they may
 * send what they have read (RFC 5042 section 6.2.2).
 *
 * Return: 0, also if the STag of a known region is invalid already; -EINVAL.
 */
int rnic_mr_invalidate(struct rnic_dev *dev, struct ib_pd *pd, u32 stag,
		       bool remote, struct ddp_fault *fault)
{
	const struct ddp_region_view none = {};
	struct ddp_fault f;
	struct rnic_mr *mr;
	bool ok;

	rcu_read_lock();
	mr = mr_find(dev, pd, stag, false);
	ok = mr ? mr_invalidate(mr, pd, stag, remote, &f) :
		  rdmap_check_invalidate(&none, &f);
	rcu_read_unlock();
	if (!ok && fault)
		*fault = f;
	return ok ? 0 : -EINVAL;
}

/* Do the pages that a registration would take hold the mapped bytes? */
static bool mr_pages_cover(const struct rnic_mr *mr)
{
	const struct ib_mr *ibmr = &mr->ibmr;
	u32 shift = mr->next_nr ? mr->next_shift : mr->page_shift;
	u64 nr = mr->next_nr ?: mr->nr_pages;
	u64 off = ibmr->iova & (BIT_ULL(shift) - 1);

	return off + ibmr->length <= nr << shift;
}

static bool mr_may_fast_reg(const struct rnic_mr *mr, const struct ib_pd *pd,
			    u32 key, int access)
{
	const struct ib_mr *ibmr = &mr->ibmr;
	u64 last;

	lockdep_assert_held(&mr->lock);
	return mr->kind == RNIC_MR_FAST_REG && ibmr->pd == pd && !mr->valid &&
	       key >> RNIC_MR_KEY_BITS == mr->stag >> RNIC_MR_KEY_BITS &&
	       !(access & ~RNIC_MR_ACCESS_KNOWN) && ibmr->length &&
	       !check_add_overflow(ibmr->iova, ibmr->length - 1, &last) &&
	       mr_pages_cover(mr);
}

/* The pages mapped last become those of the region. */
static void mr_take_over(struct rnic_mr *mr)
{
	lockdep_assert_held_write(&mr->lock);
	if (mr->next_nr) {
		swap(mr->pages, mr->next_pages);
		mr->nr_pages = mr->next_nr;
		mr->page_shift = mr->next_shift;
		mr->next_nr = 0;
	}
	mr->iova = mr->ibmr.iova;
	mr->len = mr->ibmr.length;
	mr->page_off = mr->iova & (BIT_ULL(mr->page_shift) - 1);
}

/**
 * rnic_mr_fast_reg() - make a fast-register region valid
 * @pd: protection domain of the QP
 * @ibmr: the region; its iova and length are taken over
 * @key: the STag it is to have: another low byte at most
 * @access: IB_ACCESS_*
 *
 * Any context.
 *
 * Return: 0; -EINVAL: of another protection domain or kind, not mapped, still
 * valid, unknown rights, or the STag of another region.
 */
int rnic_mr_fast_reg(struct ib_pd *pd, struct ib_mr *ibmr, u32 key, int access)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);
	bool ok;

	write_lock_bh(&mr->lock);
	ok = mr_may_fast_reg(mr, pd, key, access);
	if (ok) {
		/* mr_sink() looks at both without the lock. */
		WRITE_ONCE(mr->stag, key);
		mr->access = access;
		mr_take_over(mr);
		WRITE_ONCE(mr->valid, true);
	}
	write_unlock_bh(&mr->lock);
	if (ok)
		trace_rnic_mr(&mr->dev->ibdev, key, RNIC_MR_EVENT_FAST_REG,
			      ibmr->length);
	return ok ? 0 : -EINVAL;
}
