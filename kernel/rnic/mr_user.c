// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions of users: pinned memory and dma-bufs, and how they are changed.
 *
 * There is no paging on demand. Received bytes are placed in softirqs, where a
 * page cannot be brought in, and what a peer has sent cannot wait for it in
 * TCP's queue without holding up every message behind it. So all memory of a
 * region is there as long as the region is, and advice to prefetch it is true
 * already.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "compat/verbs.h"
#include "device.h"
#include "dmabuf.h"
#include "mr.h"
#include "mr_access.h"
#include "mr_user.h"
#include "mr_verbs.h"
#include "pd.h"
#include "trace.h"
#include "ucontext.h"

/**
 * struct mr_spec - what a user's region is to be
 * @start: address of the memory, or offset in the dma-buf
 * @len: bytes
 * @iova: tagged offset of the first byte
 * @access: IB_ACCESS_*
 * @fd: file descriptor of a dma-buf; -1: memory of the process
 */
struct mr_spec {
	u64 start;
	u64 len;
	u64 iova;
	int access;
	int fd;
};

/* The core would take a part of them on a machine of 32 bits. */
static bool mr_spec_fits(const struct mr_spec *spec)
{
	u64 last = spec->start + spec->len - 1;

	return spec->fd >= 0 || ((unsigned long)last == last &&
				 (size_t)spec->len == spec->len);
}

static int mr_spec_check(const struct mr_spec *spec)
{
	u64 last;

	if (spec->access & ~RNIC_MR_ACCESS_USER)
		return -EOPNOTSUPP;
	/* kvmalloc() allocates no more than INT_MAX bytes for the pages. */
	BUILD_BUG_ON(((RNIC_MAX_MR_SIZE >> 12) + 1) * sizeof(u64) > INT_MAX);
	if (!spec->len || spec->len > RNIC_MAX_MR_SIZE ||
	    check_add_overflow(spec->start, spec->len - 1, &last) ||
	    check_add_overflow(spec->iova, spec->len - 1, &last) ||
	    !mr_spec_fits(spec))
		return -EINVAL;
	return 0;
}

/* Memory ------------------------------------------------------------------- */

static int mr_alloc_pages(struct rnic_mr *mr, size_t nr)
{
	mr->pages = kvmalloc_array(nr, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->pages)
		return -ENOMEM;
	mr->max_pages = nr;
	return 0;
}

static int mr_pin(struct rnic_mr *mr, const struct mr_spec *spec)
{
	struct sg_page_iter iter;
	int ret;

	mr->umem = mpa_umem_get(&mr->dev->ibdev, spec->start, spec->len,
				spec->access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		mr->umem = NULL;
		return ret;
	}
	ret = mr_alloc_pages(mr, ib_umem_num_pages(mr->umem));
	if (ret)
		return ret;

	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0) {
		if (WARN_ON_ONCE(mr->nr_pages == mr->max_pages))
			return -EINVAL;
		mr->pages[mr->nr_pages++] =
			(uintptr_t)page_address(sg_page_iter_page(&iter));
		cond_resched();
	}
	mr->page_off = ib_umem_offset(mr->umem);
	return WARN_ON_ONCE(mr->nr_pages != mr->max_pages) ? -EINVAL : 0;
}

/* The addresses of a mapped dma-buf adjoin, whatever its pages do. */
static int mr_map(struct rnic_mr *mr, const struct mr_spec *spec)
{
	size_t nr, i;
	u64 at;
	int ret = rnic_dmabuf_get(&mr->dmabuf, &mr->ibmr.device->dev, spec->fd,
				  spec->start, spec->len);

	if (ret)
		return ret;
	at = (uintptr_t)mr->dmabuf.at + spec->start;
	mr->page_off = offset_in_page(at);
	at -= mr->page_off;
	nr = PAGE_ALIGN(mr->page_off + spec->len) >> PAGE_SHIFT;
	ret = mr_alloc_pages(mr, nr);
	if (ret)
		return ret;
	for (i = 0; i < nr; i++)
		mr->pages[i] = at + i * PAGE_SIZE;
	mr->nr_pages = nr;
	return 0;
}

static int mr_fill(struct rnic_mr *mr, const struct mr_spec *spec)
{
	int ret = spec->fd < 0 ? mr_pin(mr, spec) : mr_map(mr, spec);

	if (ret)
		return ret;
	/* The core sets these for some regions only; nldev shows them. */
	mr->ibmr.iova = spec->iova;
	mr->ibmr.length = spec->len;
	mr->iova = spec->access & IB_ZERO_BASED ? 0 : spec->iova;
	mr->len = spec->len;
	mr->access = spec->access | RNIC_MR_LOCAL_READ;
	mr->page_shift = PAGE_SHIFT;
	mr->valid = true;
	return 0;
}

static struct rnic_mr *mr_user_alloc(struct ib_pd *pd)
{
	struct rnic_ucontext *uctx = to_rnic_pd(pd)->uctx;
	struct rnic_mr *mr;
	int ret = rnic_ucontext_own(uctx, RNIC_OWNED_MR);

	if (ret)
		return ERR_PTR(ret);
	mr = rnic_mr_alloc(to_rnic_dev(pd->device), pd, RNIC_MR_USER);
	if (!mr) {
		rnic_ucontext_disown(uctx, RNIC_OWNED_MR);
		return ERR_PTR(-ENOMEM);
	}
	mr->uctx = uctx;
	return mr;
}

/* A region with its memory, but without an STag. */
static struct rnic_mr *mr_user_create(struct ib_pd *pd,
				      const struct mr_spec *spec)
{
	struct rnic_mr *mr;
	int ret = mr_spec_check(spec);

	if (ret)
		return ERR_PTR(ret);
	mr = mr_user_alloc(pd);
	if (IS_ERR(mr))
		return mr;
	ret = mr_fill(mr, spec);
	if (!ret)
		return mr;
	rnic_mr_free(mr);
	return ERR_PTR(ret);
}

/* Registration ------------------------------------------------------------- */

static int mr_respond(const struct rnic_mr *mr, struct ib_udata *udata)
{
	struct mpa_reg_mr_resp resp = { .stag = mr->stag };

	if (!udata || !udata->outlen)
		return 0;
	return ib_copy_to_udata(udata, &resp,
				min(sizeof(resp), udata->outlen));
}

static struct ib_mr *mr_register(struct ib_pd *pd, const struct mr_spec *spec,
				 struct ib_udata *udata)
{
	struct rnic_mr *mr;
	int ret;

	if (!rnic_udata_clear(udata))
		return ERR_PTR(-EINVAL);
	mr = mr_user_create(pd, spec);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	ret = rnic_mr_publish(mr);
	if (ret) {
		rnic_mr_free(mr);
		return ERR_PTR(ret);
	}
	ret = mr_respond(mr, udata);
	if (ret) {
		WARN_ON_ONCE(rnic_dereg_mr(&mr->ibmr, NULL));
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

/**
 * rnic_reg_user_mr() - register memory of the calling process
 * @pd: protection domain
 * @start: its address
 * @len: bytes
 * @iova: tagged offset of its first byte, unless @access has %IB_ZERO_BASED
 * @access: IB_ACCESS_*; the core has checked that remote writing implies local
 *	writing
 * @udata: room for struct mpa_reg_mr_resp, or NULL
 *
 * Return: the region, or as ERR_PTR: -EOPNOTSUPP: an unknown or unsupported
 * right (on-demand paging); -EINVAL: no bytes or more than %RNIC_MAX_MR_SIZE,
 * @start or @iova wraps, no room for the response, or unknown input of the
 * provider; -ENOMEM: no memory, RLIMIT_MEMLOCK, or the device or the context has
 * reached its limit; -EFAULT and others of ib_umem_get().
 */
struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			       int access, struct ib_udata *udata)
{
	const struct mr_spec spec = {
		.start = start,
		.len = len,
		.iova = iova,
		.access = access,
		.fd = -1,
	};

	if (udata && udata->outlen < sizeof(struct mpa_reg_mr_resp))
		return ERR_PTR(-EINVAL);
	return mr_register(pd, &spec, udata);
}

/**
 * rnic_reg_user_mr_dmabuf() - register a dma-buf
 * @pd: protection domain
 * @offset: first byte in the buffer
 * @len: bytes
 * @iova: tagged offset of the first byte
 * @fd: the calling process' file descriptor of the buffer
 * @access: IB_ACCESS_*
 * @udata: the user's buffers; a response is not needed, since the core has the
 *	keys in its own
 *
 * Return: the region, or as ERR_PTR what rnic_dmabuf_get() and
 * rnic_reg_user_mr() return.
 */
struct ib_mr *rnic_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 len,
				      u64 iova, int fd, int access,
				      struct ib_udata *udata)
{
	const struct mr_spec spec = {
		.start = offset,
		.len = len,
		.iova = iova,
		.access = access,
		.fd = fd,
	};

	if (fd < 0)
		return ERR_PTR(-EBADF);
	return mr_register(pd, &spec, udata);
}

/* Registration again ------------------------------------------------------- */

/* Rights and domain in place; peers that keep their rights notice nothing. */
static int mr_change(struct rnic_mr *mr, const struct ib_pd *pd, int access)
{
	int ret = -EBUSY;

	rnic_mr_write_lock(mr);
	if (!mr->nr_windows) {
		rnic_mr_end_rights(mr);
		mr->pd = pd;
		mr->access = access | RNIC_MR_LOCAL_READ;
		WRITE_ONCE(mr->valid, true);
		ret = 0;
	}
	rnic_mr_write_unlock(mr);
	if (!ret)
		trace_rnic_mr(&mr->dev->ibdev, mr->stag, RNIC_MR_EVENT_REREG,
			      mr->len);
	return ret;
}

/*
 * Other memory is another region under the same STag, so that batches which
 * still read the memory of the first are waited for when the core destroys that
 * one. A lookup finds either of them.
 */
static struct ib_mr *mr_replace(struct rnic_mr *mr, struct ib_pd *pd,
				const struct mr_spec *spec)
{
	struct rnic_mr *new = mr_user_create(pd, spec);
	int ret;

	if (IS_ERR(new))
		return ERR_CAST(new);
	ret = rnic_mr_succeed(new, mr);
	if (ret) {
		rnic_mr_free(new);
		return ERR_PTR(ret);
	}
	return &new->ibmr;
}

/* Was the memory pinned for reading only? */
static bool mr_must_pin(const struct rnic_mr *mr, int access)
{
	return mr->umem && !mr->umem->writable && ib_access_writable(access);
}

static void mr_spec_of(const struct rnic_mr *mr, struct mr_spec *spec)
{
	/* Only the callers of operations change these, and the core lets one in. */
	spec->start = mr->umem ? mr->umem->address : 0;
	spec->len = mr->len;
	spec->iova = mr->iova;
	spec->access = mr->access & ~RNIC_MR_LOCAL_READ;
}

/* Where offsets begin changes with the memory only. */
static void mr_spec_rights(struct mr_spec *spec, int access, bool trans)
{
	if (!trans)
		access = (access & ~IB_ZERO_BASED) |
			 (spec->access & IB_ZERO_BASED);
	spec->access = access;
}

/**
 * rnic_rereg_user_mr() - verbs: rereg_user_mr
 * @ibmr: the region
 * @flags: IB_MR_REREG_*, what changes
 * @start: %IB_MR_REREG_TRANS: address of its new memory
 * @len: %IB_MR_REREG_TRANS: bytes
 * @iova: %IB_MR_REREG_TRANS: tagged offset of the first byte
 * @access: %IB_MR_REREG_ACCESS: new rights
 * @pd: its protection domain from now on
 * @udata: input of the provider, which must be zero
 *
 * The STag remains, also if the memory changes. A peer that accesses the region
 * meanwhile gets what the region grants before or after; nothing is refused that
 * both grant. An invalid region becomes valid.
 *
 * Return: NULL: @ibmr has changed; the region that the core puts in its place;
 * or as ERR_PTR, with @ibmr as before: -EBUSY: windows are bound to it;
 * -EOPNOTSUPP: unknown flags or rights; -EINVAL: a kernel consumer's region, or
 * unknown input of the provider; others of rnic_reg_user_mr().
 */
struct ib_mr *rnic_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 len, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);
	struct mr_spec spec = { .fd = -1 };

	if (flags & ~IB_MR_REREG_SUPPORTED)
		return ERR_PTR(-EOPNOTSUPP);
	if (mr->kind != RNIC_MR_USER || !rnic_udata_clear(udata))
		return ERR_PTR(-EINVAL);
	mr_spec_of(mr, &spec);
	if (flags & IB_MR_REREG_TRANS) {
		spec.start = start;
		spec.len = len;
		spec.iova = iova;
	}
	if (flags & IB_MR_REREG_ACCESS)
		mr_spec_rights(&spec, access, flags & IB_MR_REREG_TRANS);
	if (spec.access & ~RNIC_MR_ACCESS_USER)
		return ERR_PTR(-EOPNOTSUPP);
	if (flags & IB_MR_REREG_TRANS || mr_must_pin(mr, spec.access))
		return mr_replace(mr, pd, &spec);
	return ERR_PTR(mr_change(mr, pd, spec.access));
}

/* Advice ------------------------------------------------------------------- */

static int mr_advice_access(enum ib_uverbs_advise_mr_advice advice)
{
	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		return RNIC_MR_LOCAL_READ;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		return IB_ACCESS_LOCAL_WRITE;
	default:
		return 0;
	}
}

/**
 * rnic_advise_mr() - verbs: advise_mr
 * @pd: protection domain
 * @advice: what is advised: a kind of prefetching
 * @flags: whether to wait for that; no matter, it is done
 * @sg_list: pieces of memory
 * @num_sge: how many
 * @attrs: unused
 *
 * Return: 0; -EOPNOTSUPP: another advice; -ENOENT: an unknown or invalid lkey, or
 * one of another context, of which no user may learn; -EPERM: another protection
 * domain, or memory that may not be written to; -EFAULT: bytes outside of the
 * region.
 */
int rnic_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs)
{
	int access = mr_advice_access(advice);
	int ret = 0;
	u32 i;

	if (!access)
		return -EOPNOTSUPP;
	for (i = 0; !ret && i < num_sge; i++)
		ret = rnic_mr_check_range(pd, &sg_list[i], access);
	return ret;
}
