/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to regions and windows: lookup by STag, rights, and where the bytes are.
 * What every segment needs is inline.
 */
#ifndef MPA_RNIC_MR_ACCESS_H
#define MPA_RNIC_MR_ACCESS_H

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>

#include "ddp/check.h"
#include "device.h"
#include "mr.h"
#include "pd.h"

int rnic_mr_check_range(const struct ib_pd *pd, const struct ib_sge *sge,
			int access);
bool rnic_mr_read_granted(struct rnic_dev *dev, const struct ib_qp *ibqp,
			  const struct rdmap_read *rd, struct ddp_fault *f);
bool rnic_mr_dma_mapped(u64 addr, u64 len);

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

/**
 * mr_scope_of() - what the STag of an access by a queue pair must belong to
 * @ibqp: the queue pair
 *
 * Return: its protection domain and itself.
 */
static inline struct mr_scope mr_scope_of(const struct ib_qp *ibqp)
{
	return (struct mr_scope){ .pd = ibqp->pd, .ibqp = ibqp };
}

/**
 * mr_is_local_dma() - is it the reserved STag of a consumer in the kernel?
 * @scope: who asks
 * @stag: the STag
 *
 * Its region never changes and grants all that the consumer may ask for. So it needs
 * neither a lock nor a reference, which all processors would take at the same place.
 *
 * Return: true if so.
 */
static inline bool mr_is_local_dma(struct mr_scope scope, u32 stag)
{
	return stag == RNIC_STAG_LOCAL_DMA && !to_rnic_pd(scope.pd)->uctx;
}

/**
 * mr_find() - find the region or window of an STag
 * @dev: the device
 * @scope: who asks
 * @stag: the STag; the caller compares its key under &rnic_mr.lock
 * @local: the owner asks, not its peer: it may use the reserved STag if it is in
 *	the kernel
 *
 * Any context, under the RCU read lock.
 *
 * Return: the region or window, or NULL.
 */
static inline struct rnic_mr *mr_find(struct rnic_dev *dev, struct mr_scope scope,
				      u32 stag, bool local)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "no RCU read lock");
	if (stag == RNIC_STAG_LOCAL_DMA)
		return local && mr_is_local_dma(scope, stag) ? dev->local_dma : NULL;
	return xa_load(&dev->mrs, stag >> RNIC_MR_KEY_BITS);
}

/**
 * mr_find_access() - find the region or window for an access
 * @dev: as for mr_find()
 * @scope: as there
 * @stag: as there
 * @access: the rights that will be needed, which show whether the owner asks
 *
 * Return: as there.
 */
static inline struct rnic_mr *mr_find_access(struct rnic_dev *dev,
					     struct mr_scope scope, u32 stag,
					     int access)
{
	return mr_find(dev, scope, stag, !(access & ~RNIC_MR_ACCESS_LOCAL));
}

/**
 * mr_in_scope() - is an STag for such an access?
 * @mr: the region or window, locked
 * @scope: who asks; for the reserved STag, mr_find() has decided that
 *
 * Return: true if so.
 */
static inline bool mr_in_scope(const struct rnic_mr *mr, struct mr_scope scope)
{
	lockdep_assert_held(&mr->lock);
	return (mr->pd == scope.pd && (!mr->only || mr->only == scope.ibqp)) ||
	       mr == mr->dev->local_dma;
}

/**
 * mr_view() - describe a region for the checks of ddp/check.h
 * @mr: the region or window, locked
 * @scope: who asks
 * @stag: the STag
 * @access: the rights needed
 * @v: set to what they get
 */
static inline void mr_view(const struct rnic_mr *mr, struct mr_scope scope,
			   u32 stag, int access, struct ddp_region_view *v)
{
	lockdep_assert_held(&mr->lock);
	v->found = mr->valid && mr->stag == stag;
	v->same_pd = mr_in_scope(mr, scope);
	v->allowed = (mr->access & access) == access;
	v->base = mr->iova;
	v->len = mr->len;
}

/**
 * mr_mapped() - are the addresses of a peer mapped memory?
 * @mr: the region or window, locked
 * @addr: the first
 * @len: bytes
 * @access: the rights needed, which show whether it is a peer's access
 *
 * Return: true, unless they are kernel addresses from a peer that are not.
 */
static inline bool mr_mapped(const struct rnic_mr *mr, u64 addr, u64 len, int access)
{
	return mr->kind != RNIC_MR_DMA || !(access & RNIC_MR_ACCESS_REMOTE) ||
	       rnic_mr_dma_mapped(addr, len);
}

/**
 * mr_check() - does the region grant an access?
 * @mr: the region or window, locked
 * @scope: who asks
 * @stag: the STag
 * @addr: first byte
 * @len: bytes
 * @access: the rights needed
 *
 * The same as the checks of ddp/check.c, which also find the fault to report to a
 * peer.
 *
 * Return: as for rnic_mr_check_range().
 */
static inline int mr_check(const struct rnic_mr *mr, struct mr_scope scope, u32 stag,
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
 * mr_view_range() - as mr_view(), before an access to some bytes
 * @mr: as there
 * @scope: as there
 * @stag: as there
 * @addr: first byte
 * @len: bytes
 * @access: as there
 * @v: set; of no length if the bytes are not mapped
 */
static inline void mr_view_range(const struct rnic_mr *mr, struct mr_scope scope,
				 u32 stag, u64 addr, u32 len, int access,
				 struct ddp_region_view *v)
{
	mr_view(mr, scope, stag, access, v);
	if (v->found && !mr_mapped(mr, addr, len, access))
		v->len = 0;
}

/**
 * mr_grants() - does the region grant an access, and if not, what is the fault?
 * @mr: the region or window, locked
 * @scope: who asks
 * @stag: the STag
 * @addr: first byte
 * @len: bytes, not 0
 * @access: the rights needed
 * @f: set to the fault, by the rules for the source of a Read
 *
 * Return: true if it does.
 */
static inline bool mr_grants(const struct rnic_mr *mr, struct mr_scope scope,
			     u32 stag, u64 addr, u32 len, int access,
			     struct ddp_fault *f)
{
	const struct rdmap_read rd = { .size = len, .src_to = addr };
	struct ddp_region_view v;

	mr_view_range(mr, scope, stag, addr, len, access, &v);
	return rdmap_check_read(&rd, &v, f);
}

/**
 * mr_traffic() - counters of what peers do with a region, also below a window
 * @mr: the region or window, locked
 *
 * Return: the counters of the region.
 */
static inline struct rnic_mr_traffic *mr_traffic(struct rnic_mr *mr)
{
	lockdep_assert_held(&mr->lock);
	return mr->region ? &mr->region->traffic : &mr->traffic;
}

/**
 * mr_piece() - find where bytes of a region are
 * @mr: the region or window, locked, with these bytes
 * @addr: tagged offset of the first
 * @len: bytes, not 0
 * @at: set to the memory
 *
 * Return: how many are there in one piece, at most @len.
 */
static inline u32 mr_piece(const struct rnic_mr *mr, u64 addr, u32 len, void **at)
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

#endif /* MPA_RNIC_MR_ACCESS_H */
