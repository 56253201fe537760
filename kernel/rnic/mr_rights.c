// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rights of regions and windows that come and go as a whole: invalidation ends
 * them until the next registration or bind, removal for good; the end of a queue
 * pair unbinds its windows; fast registration gives a region new ones.
 */
#include <linux/overflow.h>

#include "mr_access.h"
#include "mr_rights.h"
#include "trace.h"

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
	rnic_mr_write_lock(region);
	WARN_ON_ONCE(!region->nr_windows);
	region->nr_windows--;
	rnic_mr_write_unlock(region);
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

/* All queue pairs of a domain may use a region, also those of other peers. */
static bool mr_is_of_stream(const struct rnic_mr *mr, const struct ib_qp *ibqp,
			    bool remote)
{
	if (remote && mr->kind == RNIC_MR_FAST_REG &&
	    mr->qp_num != ibqp->qp_num)
		return false;
	return mr_in_scope(mr, mr_scope_of(ibqp));
}

static bool mr_invalidate(struct rnic_mr *mr, const struct ib_qp *ibqp, u32 stag,
			  bool remote, struct ddp_fault *f)
{
	struct rnic_mr *region = NULL;
	struct ddp_region_view v = {};
	bool ok;

	rnic_mr_write_lock(mr);
	v.same_pd = mr_is_of_stream(mr, ibqp, remote);
	v.found = mr->stag == stag;
	v.allowed = mr_may_invalidate(mr, remote);
	ok = rdmap_check_invalidate(&v, f);
	if (ok) {
		rnic_mr_end_rights(mr);
		region = rnic_mr_detach(mr);
	}
	rnic_mr_write_unlock(mr);
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
 *	with remote rights that was registered on @ibqp, or a window of type 2 that
 *	was bound on it
 * @fault: set to the error on failure, %RDMAP_EC_CANNOT_INVALIDATE; may be NULL
 *
 * Any context. On return no placement is running, and bytes that are copied
 * later are not sent: senders may still be reading memory of a user, but check
 * rnic_mr_unchanged() before they send (RFC 5042 section 6.2.2). Nobody reads
 * memory of a kernel consumer any more, see rnic_mr_lock_granted().
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

/* The end ------------------------------------------------------------------ */

/**
 * rnic_mr_retire() - let no more windows be bound to a region
 * @mr: the region, whose rights remain until rnic_mr_revoke()
 *
 * Process context or softirq.
 *
 * Return: 0; -EBUSY: windows are bound to it, nothing has changed.
 */
int rnic_mr_retire(struct rnic_mr *mr)
{
	int ret = -EBUSY;

	rnic_mr_write_lock(mr);
	if (!mr->nr_windows) {
		WRITE_ONCE(mr->dead, true);
		ret = 0;
	}
	rnic_mr_write_unlock(mr);
	return ret;
}

/**
 * rnic_mr_revoke() - take all rights away for good
 * @mr: the region or window
 *
 * No placement is running on return. Process context or softirq.
 *
 * Return: 0; -EBUSY: windows are bound to the region, nothing has changed.
 */
int rnic_mr_revoke(struct rnic_mr *mr)
{
	struct rnic_mr *region;

	rnic_mr_write_lock(mr);
	if (mr->nr_windows) {
		rnic_mr_write_unlock(mr);
		return -EBUSY;
	}
	rnic_mr_end_rights(mr);
	WRITE_ONCE(mr->dead, true);
	region = rnic_mr_detach(mr);
	rnic_mr_write_unlock(mr);
	if (region)
		rnic_mr_drop_window(region);
	return 0;
}

/**
 * rnic_mr_unbind() - unbind a window whose queue pair has ended
 * @mw: the window, of type 2; &rnic_dev.windows_lock held
 *
 * It can be bound again, on any queue pair of its protection domain.
 */
void rnic_mr_unbind(struct rnic_mr *mw)
{
	struct rnic_mr *region;

	lockdep_assert_held(&mw->dev->windows_lock);
	rnic_mr_write_lock(mw);
	rnic_mr_end_rights(mw);
	mw->only = NULL;
	region = rnic_mr_detach(mw);
	rnic_mr_write_unlock(mw);
	if (region)
		rnic_mr_drop_window(region);
}

/* Fast registration -------------------------------------------------------- */

/* Are the pages for the next registration enough for the mapped bytes? */
static bool mr_pages_cover(const struct rnic_mr *mr)
{
	const struct ib_mr *ibmr = &mr->ibmr;
	u32 shift = mr->next_nr ? mr->next_shift : mr->page_shift;
	u64 nr = mr->next_nr ?: mr->nr_pages;
	u64 off = ibmr->iova & (BIT_ULL(shift) - 1);

	return off + ibmr->length <= nr << shift;
}

static bool mr_may_fast_reg(const struct rnic_mr *mr, const struct ib_qp *ibqp,
			    u32 key, int access)
{
	const struct ib_mr *ibmr = &mr->ibmr;
	u64 last;

	lockdep_assert_held(&mr->lock);
	return mr->kind == RNIC_MR_FAST_REG && mr->pd == ibqp->pd && !mr->valid &&
	       key >> RNIC_MR_KEY_BITS == mr->stag >> RNIC_MR_KEY_BITS &&
	       !(access & ~RNIC_MR_ACCESS_KNOWN) && ibmr->length &&
	       !check_add_overflow(ibmr->iova, ibmr->length - 1, &last) &&
	       mr_pages_cover(mr);
}

/* Makes the pages that were mapped last those of the region. */
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
 * @ibqp: the queue pair
 * @ibmr: the region; its iova and length are taken over
 * @key: its new STag, which may differ in the low byte
 * @access: IB_ACCESS_*
 *
 * Any context.
 *
 * Return: 0; -EINVAL: another protection domain or kind, not mapped, still
 * valid, unknown rights, or the STag of another region.
 */
int rnic_mr_fast_reg(const struct ib_qp *ibqp, struct ib_mr *ibmr, u32 key,
		     int access)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);
	bool ok;

	rnic_mr_write_lock(mr);
	ok = mr_may_fast_reg(mr, ibqp, key, access);
	if (ok) {
		/* mr_sink() reads both without the lock. */
		WRITE_ONCE(mr->stag, key);
		mr->qp_num = ibqp->qp_num;
		mr->access = access | RNIC_MR_LOCAL_READ;
		mr_take_over(mr);
		WRITE_ONCE(mr->valid, true);
	}
	rnic_mr_write_unlock(mr);
	if (ok)
		trace_rnic_mr(&mr->dev->ibdev, key, RNIC_MR_EVENT_FAST_REG,
			      ibmr->length);
	return ok ? 0 : -EINVAL;
}
