// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory windows: a part of a user's region under an STag of its own, with
 * rights for peers that can be given and taken away without a system call.
 *
 * Type 1 is for all queue pairs of its protection domain; a bind replaces the
 * one before, and one of zero bytes unbinds. Type 2 (2B: associated with the
 * queue pair and the protection domain) is for the queue pair on which it was
 * bound; it must be invalidated, by this end or by the peer, before it is bound
 * again. Only users have windows: the RDMA core offers none to consumers in the
 * kernel, which register by work requests.
 */
#include "device.h"
#include "mr.h"
#include "mr_rights.h"
#include "mr_verbs.h"
#include "mw.h"
#include "pd.h"
#include "qp.h"
#include "qp_stats.h"
#include "trace.h"
#include "ucontext.h"

enum {
	/* Rights that a window can grant. */
	MW_ACCESS_RIGHTS	= RNIC_MR_ACCESS_REMOTE | IB_ACCESS_REMOTE_ATOMIC,
	MW_ACCESS_KNOWN		= MW_ACCESS_RIGHTS | IB_ZERO_BASED,
	/* Of these, those for which the region must be writable. */
	MW_ACCESS_WRITES	= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC,
};

/* Allocation --------------------------------------------------------------- */

static struct rnic_mr *mw_alloc(struct ib_mw *ibmw)
{
	struct rnic_dev *dev = to_rnic_dev(ibmw->device);
	struct rnic_mr *mr = rnic_mr_alloc(dev, ibmw->pd, RNIC_MR_WINDOW);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->type2 = ibmw->type == IB_MW_TYPE_2;
	ret = rnic_mr_publish(mr);
	if (!ret)
		return mr;
	rnic_mr_free(mr);
	return ERR_PTR(ret);
}

/**
 * rnic_alloc_mw() - verbs: alloc_mw
 * @ibmw: the window, zeroed but for device, domain and type; its rkey is set
 * @udata: the user's buffers
 *
 * Windows of a context count like regions.
 *
 * Return: 0; -EINVAL: unknown input of the provider; -ENOMEM: no memory, or the
 * device or the context has reached its limit.
 */
int rnic_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct rnic_ucontext *uctx = to_rnic_pd(ibmw->pd)->uctx;
	struct rnic_mr *mr;
	int ret;

	if (!rnic_udata_clear(udata))
		return -EINVAL;
	ret = rnic_ucontext_own(uctx, RNIC_OWNED_MR);
	if (ret)
		return ret;
	mr = mw_alloc(ibmw);
	if (IS_ERR(mr)) {
		rnic_ucontext_disown(uctx, RNIC_OWNED_MR);
		return PTR_ERR(mr);
	}
	mr->uctx = uctx;
	to_rnic_mw(ibmw)->mr = mr;
	ibmw->rkey = mr->stag;
	return 0;
}

/**
 * rnic_dealloc_mw() - verbs: dealloc_mw
 * @ibmw: the window; the core frees it
 *
 * Bound or not. On return nothing is accessed through it any more.
 *
 * Return: 0.
 */
int rnic_dealloc_mw(struct ib_mw *ibmw)
{
	struct rnic_mr *mr = to_rnic_mw(ibmw)->mr;
	struct rnic_dev *dev = mr->dev;

	/* A bind that is running finds it dead, or is undone by this. */
	rnic_mr_revoke(mr);
	spin_lock_bh(&dev->windows_lock);
	list_del_init(&mr->qp_entry);
	spin_unlock_bh(&dev->windows_lock);
	trace_rnic_mr(&dev->ibdev, mr->stag, RNIC_MR_EVENT_DEALLOC_WINDOW,
		      mr->len);
	rnic_mr_withdraw(mr);
	return 0;
}

/* Binding ------------------------------------------------------------------ */

/**
 * struct mw_part - part of a region, for a window
 * @region: the region, of which the window is one of &rnic_mr.nr_windows; NULL
 *	to unbind
 * @access: rights of the window
 * @iova: tagged offset of its first byte
 * @len: bytes
 * @page_off: offset of the first byte within the first page
 * @page_shift: log2 of the page size
 * @nr_pages: pages in @pages
 * @pages: kernel addresses of the pages, in the list of the region
 */
struct mw_part {
	struct rnic_mr *region;
	int access;
	u64 iova;
	u64 len;
	u32 page_off;
	u32 page_shift;
	u32 nr_pages;
	u64 *pages;
};

/* What entries of %MPA_WR_BIND_MW say; see struct mpa_sqe. */
static u64 mw_entry_len(const struct mpa_sqe *e)
{
	return e->remote_addr;
}

static u32 mw_entry_access(const struct mpa_sqe *e)
{
	return e->length;
}

/**
 * rnic_mw_entry_clear() - are fields zero that a bind does not use?
 * @e: private copy of the entry
 *
 * Return: true if they are, and it names one piece of memory.
 */
bool rnic_mw_entry_clear(const struct mpa_sqe *e)
{
	if (e->num_sge != 1 || e->sge[0].length)
		return false;
	return mw_entry_len(e) ||
	       (!e->sge[0].addr && !e->sge[0].lkey && !mw_entry_access(e));
}

/*
 * The core lists a region at the end of its registration. Before that the registration may
 * fail, though the user has read the STag; and with a window the region could not be removed.
 */
static bool mw_region_registered(const struct rnic_mr *region)
{
	const struct ib_uobject *uobj;

	lockdep_assert_held(&region->lock);
	/* The core cannot fail any more when it has got such a one. */
	if (region->follows)
		return true;
	uobj = READ_ONCE(region->ibmr.uobject);
	/* Once it is in a list, it stays there until after rnic_dereg_mr(). */
	return uobj && !data_race(list_empty(&uobj->list));
}

static bool mw_region_grants(const struct rnic_mr *region,
			     const struct rnic_qp *qp, const struct mpa_sqe *e)
{
	u64 off = e->sge[0].addr - region->iova;
	u64 len = mw_entry_len(e);

	lockdep_assert_held(&region->lock);
	if (!region->valid || region->dead || !mw_region_registered(region) ||
	    region->stag != e->sge[0].lkey || region->pd != qp->ibqp.pd ||
	    !(region->access & IB_ACCESS_MW_BIND))
		return false;
	if (mw_entry_access(e) & MW_ACCESS_WRITES &&
	    !(region->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	return e->sge[0].addr >= region->iova && off < region->len &&
	       len <= region->len - off;
}

static void mw_part_set(struct mw_part *part, struct rnic_mr *region,
			const struct mpa_sqe *e)
{
	u64 off = e->sge[0].addr - region->iova + region->page_off;
	u64 first = off >> region->page_shift;

	lockdep_assert_held(&region->lock);
	off &= BIT_ULL(region->page_shift) - 1;
	*part = (struct mw_part){
		.region = region,
		.access = mw_entry_access(e) & MW_ACCESS_RIGHTS,
		.iova = mw_entry_access(e) & IB_ZERO_BASED ? 0 : e->sge[0].addr,
		.len = mw_entry_len(e),
		.page_off = off,
		.page_shift = region->page_shift,
		.nr_pages = ((off + mw_entry_len(e) - 1) >> region->page_shift) + 1,
		.pages = region->pages + first,
	};
}

/* Returns false if the window must not have that part of the region. */
static bool mw_part_get(struct mw_part *part, const struct rnic_qp *qp,
			const struct mpa_sqe *e)
{
	struct rnic_mr *region;
	bool ok;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "no RCU read lock");
	region = xa_load(&qp->dev->mrs, e->sge[0].lkey >> RNIC_MR_KEY_BITS);
	if (!region || region->kind != RNIC_MR_USER)
		return false;
	rnic_mr_write_lock(region);
	ok = mw_region_grants(region, qp, e);
	if (ok) {
		region->nr_windows++;
		mw_part_set(part, region, e);
	}
	rnic_mr_write_unlock(region);
	return ok;
}

static bool mw_may_bind(const struct rnic_mr *mw, const struct rnic_qp *qp,
			const struct mw_part *part)
{
	lockdep_assert_held(&mw->lock);
	if (mw->dead || mw->pd != qp->ibqp.pd)
		return false;
	return !mw->type2 || (!mw->valid && part->region);
}

/* Returns the region that the window was bound to. */
static struct rnic_mr *mw_rebind(struct rnic_mr *mw, u32 stag,
				 const struct mw_part *part)
{
	struct rnic_mr *before = mw->region;

	lockdep_assert_held_write(&mw->lock);
	if (mw->valid)
		rnic_mr_end_rights(mw);
	/* mr_sink() reads both without the lock. */
	WRITE_ONCE(mw->stag, stag);
	mw->region = part->region;
	mw->access = part->access;
	mw->iova = part->iova;
	mw->len = part->len;
	mw->page_off = part->page_off;
	mw->page_shift = part->page_shift;
	mw->nr_pages = part->nr_pages;
	mw->pages = part->pages;
	WRITE_ONCE(mw->valid, part->region);
	return before;
}

/*
 * Binds the window to the part. *@drop is set to the region that the caller informs:
 * the one before, or that of the part on failure.
 */
static bool mw_bind(struct rnic_mr *mw, struct rnic_qp *qp, u32 stag,
		    const struct mw_part *part, struct rnic_mr **drop)
{
	bool ok;

	*drop = part->region;
	rnic_mr_write_lock(mw);
	ok = mw_may_bind(mw, qp, part);
	if (ok) {
		*drop = mw_rebind(mw, stag, part);
		if (mw->type2)
			mw->only = &qp->ibqp;
	}
	rnic_mr_write_unlock(mw);
	return ok;
}

/* As mw_bind(), for a window that the queue pair remembers. */
static bool mw_bind_type2(struct rnic_mr *mw, struct rnic_qp *qp, u32 stag,
			  const struct mw_part *part, struct rnic_mr **drop)
{
	bool ok;

	spin_lock_bh(&qp->dev->windows_lock);
	ok = mw_bind(mw, qp, stag, part, drop);
	if (ok)
		list_move(&mw->qp_entry, &qp->windows);
	spin_unlock_bh(&qp->dev->windows_lock);
	return ok;
}

static bool mw_execute(struct rnic_mr *mw, struct rnic_qp *qp,
		       const struct mpa_sqe *e)
{
	struct mw_part part = {};
	struct rnic_mr *drop;
	bool ok;

	if (mw_entry_len(e) && !mw_part_get(&part, qp, e))
		return false;
	ok = mw->type2 ? mw_bind_type2(mw, qp, e->stag, &part, &drop) :
			 mw_bind(mw, qp, e->stag, &part, &drop);
	if (drop)
		rnic_mr_drop_window(drop);
	return ok;
}

/**
 * rnic_mw_bind() - execute a bind
 * @qp: the queue pair; socket lock held
 * @e: private copy of the entry, passed by rnic_mw_entry_clear()
 *
 * On return a window of type 1 does not lead to the memory of an earlier bind
 * any more, as after rnic_mr_invalidate().
 *
 * Return: 0; -EINVAL and nothing has changed: no such window or region, another
 * protection domain, a window of type 2 that is bound or without bytes, unknown
 * rights, a region without the right to bind or to write, or bytes outside.
 */
int rnic_mw_bind(struct rnic_qp *qp, const struct mpa_sqe *e)
{
	struct rnic_dev *dev = qp->dev;
	struct rnic_mr *mw;
	bool ok = false;

	if (mw_entry_access(e) & ~MW_ACCESS_KNOWN)
		return -EINVAL;
	rcu_read_lock();
	mw = xa_load(&dev->mrs, e->stag >> RNIC_MR_KEY_BITS);
	if (mw && mw->kind == RNIC_MR_WINDOW)
		ok = mw_execute(mw, qp, e);
	rcu_read_unlock();
	if (!ok)
		return -EINVAL;
	rnic_qp_count(qp, RNIC_CNT_MW_BIND);
	trace_rnic_mr(&dev->ibdev, e->stag, mw_entry_len(e) ?
		      RNIC_MR_EVENT_BIND : RNIC_MR_EVENT_UNBIND,
		      mw_entry_len(e));
	return 0;
}

static bool mw_leave_one(struct rnic_qp *qp)
{
	struct rnic_mr *mw;

	spin_lock_bh(&qp->dev->windows_lock);
	mw = list_first_entry_or_null(&qp->windows, struct rnic_mr, qp_entry);
	if (mw) {
		list_del_init(&mw->qp_entry);
		rnic_mr_unbind(mw);
	}
	spin_unlock_bh(&qp->dev->windows_lock);
	return mw;
}

/**
 * rnic_mw_leave() - unbind the windows of type 2 of a queue pair
 * @qp: the queue pair, without a stream, and with no request being executed
 *
 * They would only keep their regions from being deregistered. Process context.
 */
void rnic_mw_leave(struct rnic_qp *qp)
{
	while (mw_leave_one(qp))
		cond_resched();
}
