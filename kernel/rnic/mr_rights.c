// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rights of regions and windows that come and go as a whole: removal ends them for
 * good, the end of a queue pair unbinds its windows, and fast registration gives
 * a region new ones.
 */
#include <linux/overflow.h>

#include "device.h"
#include "mr.h"
#include "mr_rights.h"
#include "trace.h"

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

	write_lock_bh(&mr->lock);
	if (!mr->nr_windows) {
		mr->dead = true;
		ret = 0;
	}
	write_unlock_bh(&mr->lock);
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

	write_lock_bh(&mr->lock);
	if (mr->nr_windows) {
		write_unlock_bh(&mr->lock);
		return -EBUSY;
	}
	rnic_mr_end_rights(mr);
	mr->dead = true;
	region = rnic_mr_detach(mr);
	write_unlock_bh(&mr->lock);
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
	write_lock_bh(&mw->lock);
	rnic_mr_end_rights(mw);
	mw->only = NULL;
	region = rnic_mr_detach(mw);
	write_unlock_bh(&mw->lock);
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

	write_lock_bh(&mr->lock);
	ok = mr_may_fast_reg(mr, ibqp, key, access);
	if (ok) {
		/* mr_sink() reads both without the lock. */
		WRITE_ONCE(mr->stag, key);
		mr->access = access | RNIC_MR_LOCAL_READ;
		mr_take_over(mr);
		WRITE_ONCE(mr->valid, true);
	}
	write_unlock_bh(&mr->lock);
	if (ok)
		trace_rnic_mr(&mr->dev->ibdev, key, RNIC_MR_EVENT_FAST_REG,
			      ibmr->length);
	return ok ? 0 : -EINVAL;
}
