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
#include <linux/random.h>
#include <linux/slab.h>

#include "compat/mm.h"
#include "device.h"
#include "mr.h"
#include "ring.h"
#include "trace.h"

enum {
	MR_INDEX_BITS	= 24,
	MR_KEY_BITS	= 8,
	/*
	 * Random indices to try. With %RNIC_MAX_MR regions one in 16 is taken:
	 * all of these fail once in 2^64 times.
	 */
	MR_INDEX_TRIES	= 16,
	/* Bytes to place for which it does not pay to look ahead. */
	MR_FEW		= 2048,
	/*
	 * Bytes placed between two looks ahead. Less would break more pieces of
	 * FPDUs where pages adjoin, more would have left a first-level cache again
	 * before it is written to.
	 */
	MR_STRETCH	= 16384,
	MR_ACCESS_REMOTE = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	/*
	 * The atomic and binding rights may be granted, though nothing that
	 * would use them exists. The optional ones are hints.
	 */
	MR_ACCESS_KNOWN	= IB_ACCESS_LOCAL_WRITE | MR_ACCESS_REMOTE |
			  IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND |
			  IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL,
};

static struct rnic_mr *mr_alloc(struct rnic_dev *dev, struct ib_pd *pd,
				enum rnic_mr_kind kind)
{
	struct rnic_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return NULL;
	mr->ibmr.device = &dev->ibdev;
	mr->ibmr.pd = pd;
	mr->dev = dev;
	mr->kind = kind;
	rwlock_init(&mr->lock);
	refcount_set(&mr->refs, 1);
	init_completion(&mr->released);
	return mr;
}

static void mr_free(struct rnic_mr *mr)
{
	ib_umem_release(mr->umem);
	kvfree(mr->pages);
	kfree(mr->next_pages);
	rnic_disown(mr->uctx, RNIC_OWNED_MR);
	/* Lookups may still find it invalid under the lock. */
	kfree_rcu(mr, rcu);
}

/*
 * An unused index at random, so that a peer's guess is most likely wrong and
 * an old STag stays dead for long (RFC 5042 section 6.1.1). Index 0 is that
 * of the reserved STag.
 */
static int mr_insert(struct rnic_mr *mr)
{
	u32 r, index;
	int i, ret = -EBUSY;

	for (i = 0; i < MR_INDEX_TRIES && ret == -EBUSY; i++) {
		r = get_random_u32();
		index = r >> MR_KEY_BITS;
		if (!index)
			continue;
		mr->stag = r;
		mr->ibmr.lkey = r;
		mr->ibmr.rkey = r;
		ret = xa_insert(&mr->dev->mrs, index, mr, GFP_KERNEL_ACCOUNT);
	}
	return ret == -EBUSY ? -ENOMEM : ret;
}

/* Makes a region that is complete known by a new STag; counts it. */
static int mr_publish(struct rnic_mr *mr)
{
	int ret;

	BUILD_BUG_ON(MR_INDEX_BITS + MR_KEY_BITS != 32);
	if (!rnic_dev_take(&mr->dev->nr_mr, RNIC_MAX_MR))
		return -ENOMEM;
	ret = mr_insert(mr);
	if (ret)
		atomic_dec(&mr->dev->nr_mr);
	else
		trace_rnic_mr(&mr->dev->ibdev, mr->stag, RNIC_MR_EVENT_REG,
			     mr->len);
	return ret;
}

static int mr_pin(struct rnic_mr *mr, u64 start, u64 len, int access)
{
	struct sg_page_iter iter;
	size_t nr;

	mr->umem = ib_umem_get(&mr->dev->ibdev, start, len, access);
	if (IS_ERR(mr->umem)) {
		int ret = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return ret;
	}
	nr = ib_umem_num_pages(mr->umem);
	mr->pages = kvmalloc_array(nr, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->pages)
		return -ENOMEM;
	mr->max_pages = nr;

	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0) {
		if (WARN_ON_ONCE(mr->nr_pages == mr->max_pages))
			return -EINVAL;
		mr->pages[mr->nr_pages++] =
			(uintptr_t)page_address(sg_page_iter_page(&iter));
		cond_resched();
	}
	return WARN_ON_ONCE(mr->nr_pages != mr->max_pages) ? -EINVAL : 0;
}

static int mr_init_user(struct rnic_mr *mr, u64 start, u64 len, u64 iova,
			int access)
{
	int ret = mr_pin(mr, start, len, access);

	if (ret)
		return ret;
	mr->iova = iova;
	mr->len = len;
	mr->access = access;
	mr->page_off = ib_umem_offset(mr->umem);
	mr->page_shift = PAGE_SHIFT;
	mr->valid = true;
	return mr_publish(mr);
}

static int mr_respond(const struct rnic_mr *mr, struct ib_udata *udata)
{
	struct mpa_reg_mr_resp resp = { .stag = mr->stag };

	if (!udata)
		return 0;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static int user_mr_check(u64 len, u64 iova, int access,
			 struct ib_udata *udata)
{
	u64 last;

	if (access & ~MR_ACCESS_KNOWN)
		return -EOPNOTSUPP;
	/* kvmalloc() gives no more than INT_MAX bytes for @pages. */
	BUILD_BUG_ON(((RNIC_MAX_MR_SIZE >> 12) + 1) * sizeof(u64) > INT_MAX);
	if (!len || len > RNIC_MAX_MR_SIZE ||
	    check_add_overflow(iova, len - 1, &last))
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct mpa_reg_mr_resp))
		return -EINVAL;
	return rnic_udata_clear(udata) ? 0 : -EINVAL;
}

static struct rnic_mr *user_mr_alloc(struct ib_pd *pd)
{
	struct rnic_ucontext *uctx = to_rnic_pd(pd)->uctx;
	struct rnic_mr *mr;
	int ret = rnic_own(uctx, RNIC_OWNED_MR);

	if (ret)
		return ERR_PTR(ret);
	mr = mr_alloc(to_rnic_dev(pd->device), pd, RNIC_MR_USER);
	if (!mr) {
		rnic_disown(uctx, RNIC_OWNED_MR);
		return ERR_PTR(-ENOMEM);
	}
	mr->uctx = uctx;
	return mr;
}

/**
 * rnic_reg_user_mr() - register memory of the calling process
 * @pd: protection domain
 * @start: its address
 * @len: bytes
 * @iova: tagged offset its first byte is to have
 * @access: IB_ACCESS_*; the core has seen to it that remote writing implies
 *	local writing
 * @udata: room for struct mpa_reg_mr_resp, or NULL
 *
 * Return: the region, or as ERR_PTR: -EOPNOTSUPP: an unknown right, or one
 * that is not to be had (on-demand paging, zero-based); -EINVAL: no bytes or
 * more than %RNIC_MAX_MR_SIZE, @start or @iova wraps, no room for the response, or
 * unknown input of the provider's; -ENOMEM: memory, RLIMIT_MEMLOCK, or
 * %RNIC_MAX_MR regions exist, or as many as its context may have; -EFAULT and others
 * of ib_umem_get().
 */
struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			       int access, struct ib_udata *udata)
{
	struct rnic_mr *mr;
	int ret = user_mr_check(len, iova, access, udata);

	if (ret)
		return ERR_PTR(ret);
	mr = user_mr_alloc(pd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	ret = mr_init_user(mr, start, len, iova, access);
	if (ret) {
		mr_free(mr);
		return ERR_PTR(ret);
	}
	ret = mr_respond(mr, udata);
	if (ret) {
		rnic_dereg_mr(&mr->ibmr, NULL);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

static void mr_set_dma(struct rnic_mr *mr, int access)
{
	mr->len = U64_MAX;
	mr->access = access;
	mr->valid = true;
}

/**
 * rnic_get_dma_mr() - all kernel memory, by kernel address
 * @pd: a kernel consumer's protection domain
 * @access: IB_ACCESS_*
 *
 * Return: the region, or as ERR_PTR: -EOPNOTSUPP: unknown rights; -ENOMEM.
 */
struct ib_mr *rnic_get_dma_mr(struct ib_pd *pd, int access)
{
	struct rnic_mr *mr;
	int ret;

	if (access & ~MR_ACCESS_KNOWN)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_alloc(to_rnic_dev(pd->device), pd, RNIC_MR_DMA);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr_set_dma(mr, access);
	ret = mr_publish(mr);
	if (ret) {
		mr_free(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

/**
 * rnic_mr_local_dma_create() - make the region behind %RNIC_STAG_LOCAL_DMA
 * @dev: the device
 *
 * It is in no table: only lookup by kernel consumers, for local use, knows it.
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_mr_local_dma_create(struct rnic_dev *dev)
{
	dev->local_dma = mr_alloc(dev, NULL, RNIC_MR_DMA);
	if (!dev->local_dma)
		return -ENOMEM;
	mr_set_dma(dev->local_dma, IB_ACCESS_LOCAL_WRITE);
	return 0;
}

/**
 * rnic_mr_local_dma_destroy() - undo rnic_mr_local_dma_create()
 * @dev: the device, which has no QP any more; harmless if it was not done
 */
void rnic_mr_local_dma_destroy(struct rnic_dev *dev)
{
	if (dev->local_dma)
		mr_free(dev->local_dma);
	dev->local_dma = NULL;
}

/**
 * rnic_alloc_mr() - a region for a kernel consumer to register fast
 * @pd: protection domain
 * @type: %IB_MR_TYPE_MEM_REG
 * @max_sg: pages it is to hold at most
 *
 * Return: the region, invalid, or as ERR_PTR: -EOPNOTSUPP: another type;
 * -EINVAL: no pages or more than %RNIC_MAX_FAST_REG_PAGES; -ENOMEM.
 */
struct ib_mr *rnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct rnic_mr *mr;
	int ret = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > RNIC_MAX_FAST_REG_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(to_rnic_dev(pd->device), pd, RNIC_MR_FAST_REG);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pages = kcalloc(max_sg, sizeof(*mr->pages), GFP_KERNEL_ACCOUNT);
	mr->next_pages = kcalloc(max_sg, sizeof(*mr->next_pages),
				 GFP_KERNEL_ACCOUNT);
	if (mr->pages && mr->next_pages) {
		mr->max_pages = max_sg;
		ret = mr_publish(mr);
	}
	if (ret) {
		mr_free(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

static int mr_add_page(struct ib_mr *ibmr, u64 addr)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);

	if (mr->next_nr == mr->max_pages)
		return -ENOMEM;
	mr->next_pages[mr->next_nr++] = addr;
	return 0;
}

/**
 * rnic_map_mr_sg() - give a fast-register region its next pages
 * @ibmr: the region; its page_size is set. It may still be valid with its
 *	present pages: consumers map before they post the invalidation and the
 *	registration that takes the new ones over
 * @sg: mapped for this device, that is, with kernel addresses
 * @nents: entries of @sg
 * @sg_offset: offset into the first; updated
 *
 * Return: how many entries fit; -EINVAL: another kind of region, or nothing
 * to map; -ENOMEM: not even one page fits.
 */
int rnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *sg_offset)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);
	int ret;

	if (mr->kind != RNIC_MR_FAST_REG || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	write_lock_bh(&mr->lock);
	mr->next_nr = 0;
	mr->next_shift = ilog2(ibmr->page_size);
	ret = ib_sg_to_pages(ibmr, sg, nents, sg_offset, mr_add_page);
	write_unlock_bh(&mr->lock);
	return ret;
}

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

/* Takes all rights away. No placement is running on return. */
static void mr_revoke(struct rnic_mr *mr)
{
	write_lock_bh(&mr->lock);
	mr_end_rights(mr);
	write_unlock_bh(&mr->lock);
}

/**
 * rnic_dereg_mr() - deregister a region
 * @ibmr: the region; freed
 * @udata: unused
 *
 * On return nobody reads or writes the memory. What may run meanwhile:
 * placements, fenced by the lock; lookups, which find the STag gone or
 * invalid and end with the RCU grace period that frees the structure; senders,
 * whose references are waited for: they last no longer than one call into TCP,
 * which does not sleep for the peer.
 *
 * Return: 0.
 */
int rnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);
	struct rnic_dev *dev = mr->dev;

	might_sleep();
	trace_rnic_mr(&dev->ibdev, mr->stag, RNIC_MR_EVENT_DEREG, mr->len);
	mr_revoke(mr);
	xa_erase(&dev->mrs, mr->stag >> MR_KEY_BITS);
	rnic_mr_put(mr);
	wait_for_completion(&mr->released);
	mr_free(mr);
	atomic_dec(&dev->nr_mr);
	return 0;
}

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
	return xa_load(&dev->mrs, stag >> MR_KEY_BITS);
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

	if (mr->kind != RNIC_MR_DMA || !(access & MR_ACCESS_REMOTE))
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

/*
 * Remotely only what a kernel consumer has registered for one peer may be
 * invalidated (RFC 5040 section 8.1.1 item 7). The rights outlive the validity,
 * so that who invalidates twice is answered alike.
 */
static bool mr_may_invalidate(const struct rnic_mr *mr, bool remote)
{
	if (remote)
		return mr->kind == RNIC_MR_FAST_REG &&
		       mr->access & MR_ACCESS_REMOTE;
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
	       key >> MR_KEY_BITS == mr->stag >> MR_KEY_BITS &&
	       !(access & ~MR_ACCESS_KNOWN) && ibmr->length &&
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
