// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions: those of the kernel, and what those of users have in common
 * with them. Windows: their STags.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "device.h"
#include "dmabuf.h"
#include "mr.h"
#include "mr_rights.h"
#include "mr_verbs.h"
#include "trace.h"
#include "ucontext.h"

enum {
	MR_INDEX_BITS	= 24,
	/*
	 * Random indices to try. With %RNIC_MAX_MR regions and %RNIC_MAX_MW
	 * windows one in 8 is in use: all tries fail with a probability of
	 * 2^-48.
	 */
	MR_INDEX_TRIES	= 16,
};

/**
 * rnic_mr_alloc() - allocate a region or window
 * @dev: the device
 * @pd: its protection domain, or NULL
 * @kind: what it is
 *
 * Return: it, not valid and without an STag, or NULL.
 */
struct rnic_mr *rnic_mr_alloc(struct rnic_dev *dev, struct ib_pd *pd,
			      enum rnic_mr_kind kind)
{
	struct rnic_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return NULL;
	mr->ibmr.device = &dev->ibdev;
	mr->ibmr.pd = pd;
	mr->pd = pd;
	mr->dev = dev;
	mr->serial = atomic64_inc_return(&dev->mr_serial);
	mr->kind = kind;
	rwlock_init(&mr->lock);
	atomic_set(&mr->writers, 0);
	refcount_set(&mr->refs, 1);
	init_completion(&mr->released);
	INIT_LIST_HEAD(&mr->qp_entry);
	return mr;
}

/**
 * rnic_mr_free() - free a region or window
 * @mr: it, without an STag
 */
void rnic_mr_free(struct rnic_mr *mr)
{
	ib_umem_release(mr->umem);
	rnic_dmabuf_put(&mr->dmabuf);
	/* Those of a window belong to the region. */
	if (mr->kind != RNIC_MR_WINDOW)
		kvfree(mr->pages);
	kfree(mr->next_pages);
	rnic_ucontext_disown(mr->uctx, RNIC_OWNED_MR);
	/* Lookups may still find it invalid under the lock. */
	kfree_rcu(mr, rcu);
}

/*
 * Picks an unused index at random, so that a peer most likely guesses wrong,
 * and an old STag is not reused soon (RFC 5042 section 6.1.1). Index 0 belongs
 * to the reserved STag.
 */
static int mr_insert(struct rnic_mr *mr)
{
	u32 r, index;
	int i, ret = -EBUSY;

	for (i = 0; i < MR_INDEX_TRIES && ret == -EBUSY; i++) {
		r = get_random_u32();
		index = r >> RNIC_MR_KEY_BITS;
		if (!index)
			continue;
		mr->stag = r;
		mr->ibmr.lkey = r;
		mr->ibmr.rkey = r;
		ret = xa_insert(&mr->dev->mrs, index, mr, GFP_KERNEL_ACCOUNT);
	}
	return ret == -EBUSY ? -ENOMEM : ret;
}

/**
 * rnic_mr_publish() - give a region or window an STag, and count it
 * @mr: it, complete
 *
 * Process context.
 *
 * Return: 0; -ENOMEM: no memory, or the device has reached its limit.
 */
int rnic_mr_publish(struct rnic_mr *mr)
{
	bool window = mr->kind == RNIC_MR_WINDOW;
	atomic_t *nr = window ? &mr->dev->nr_mw : &mr->dev->nr_mr;
	int ret;

	BUILD_BUG_ON(MR_INDEX_BITS + RNIC_MR_KEY_BITS != 32);
	if (!rnic_dev_reserve(nr, window ? RNIC_MAX_MW : RNIC_MAX_MR))
		return -ENOMEM;
	ret = mr_insert(mr);
	if (ret)
		atomic_dec(nr);
	else
		trace_rnic_mr(&mr->dev->ibdev, mr->stag,
			      window ? RNIC_MR_EVENT_ALLOC_WINDOW :
				       RNIC_MR_EVENT_REG, mr->len);
	return ret;
}

/**
 * rnic_mr_succeed() - give a region the STag of another one, and count it
 * @mr: the region, complete
 * @old: the other one, which is to be deregistered soon; not valid any more
 *
 * Process context. A lookup finds one or the other at any time.
 *
 * Return: 0, or nothing has changed: -EBUSY: windows are bound to @old; -ENOMEM:
 * the device has reached its limit.
 */
int rnic_mr_succeed(struct rnic_mr *mr, struct rnic_mr *old)
{
	struct rnic_dev *dev = mr->dev;
	int ret;

	if (!rnic_dev_reserve(&dev->nr_mr, RNIC_MAX_MR))
		return -ENOMEM;
	ret = rnic_mr_retire(old);
	if (ret) {
		atomic_dec(&dev->nr_mr);
		return ret;
	}
	mr->follows = true;
	mr->stag = old->stag;
	mr->ibmr.lkey = old->stag;
	mr->ibmr.rkey = old->stag;
	/* Cannot fail, since there is an entry. */
	WARN_ON_ONCE(xa_is_err(xa_store(&dev->mrs, mr->stag >> RNIC_MR_KEY_BITS,
					mr, GFP_KERNEL)));
	/*
	 * Accesses that have found @old complete with it: none is refused. Not
	 * expedited, which a user could make interrupt all processors all the time.
	 */
	synchronize_rcu();
	rnic_mr_revoke(old);
	trace_rnic_mr(&dev->ibdev, mr->stag, RNIC_MR_EVENT_REG, mr->len);
	return 0;
}

/**
 * rnic_mr_withdraw() - undo rnic_mr_publish() and free
 * @mr: a region or window after rnic_mr_revoke()
 *
 * On return the memory is not accessed any more. These may run meanwhile:
 * placements, excluded by the lock; lookups, which do not find the STag or find
 * it invalid, and end within the RCU grace period after which the structure is
 * freed; senders and streams that have placed into it, whose references are waited
 * for. A sender's lasts no longer than one call into TCP, which does not wait for
 * the peer; a stream's until it has read what has arrived (rnic_rx_settled()).
 */
void rnic_mr_withdraw(struct rnic_mr *mr)
{
	struct rnic_dev *dev = mr->dev;
	atomic_t *nr = mr->kind == RNIC_MR_WINDOW ? &dev->nr_mw : &dev->nr_mr;

	might_sleep();
	/* Unless another region has its STag, see rnic_mr_succeed(). */
	xa_cmpxchg(&dev->mrs, mr->stag >> RNIC_MR_KEY_BITS, mr, NULL,
		   GFP_KERNEL);
	rnic_mr_put(mr);
	wait_for_completion(&mr->released);
	rnic_mr_free(mr);
	atomic_dec(nr);
}

/* Kernel memory ------------------------------------------------------------ */

static void mr_set_dma(struct rnic_mr *mr, int access)
{
	/* An address beyond would be another one, as a pointer. */
	mr->len = ULONG_MAX;
	mr->access = access | RNIC_MR_LOCAL_READ;
	mr->valid = true;
}

/**
 * rnic_get_dma_mr() - register all kernel memory, by kernel address
 * @pd: a kernel consumer's protection domain
 * @access: IB_ACCESS_*
 *
 * Return: the region, or as ERR_PTR: -EOPNOTSUPP: unknown rights; -ENOMEM.
 */
struct ib_mr *rnic_get_dma_mr(struct ib_pd *pd, int access)
{
	struct rnic_mr *mr;
	int ret;

	if (access & ~RNIC_MR_ACCESS_KNOWN)
		return ERR_PTR(-EOPNOTSUPP);
	mr = rnic_mr_alloc(to_rnic_dev(pd->device), pd, RNIC_MR_DMA);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr_set_dma(mr, access);
	ret = rnic_mr_publish(mr);
	if (ret) {
		rnic_mr_free(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

/**
 * rnic_mr_local_dma_create() - make the region behind %RNIC_STAG_LOCAL_DMA
 * @dev: the device
 *
 * It is not in rnic_dev.mrs: only mr_find() for local use by kernel consumers
 * returns it.
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_mr_local_dma_create(struct rnic_dev *dev)
{
	dev->local_dma = rnic_mr_alloc(dev, NULL, RNIC_MR_DMA);
	if (!dev->local_dma)
		return -ENOMEM;
	mr_set_dma(dev->local_dma, IB_ACCESS_LOCAL_WRITE);
	return 0;
}

/**
 * rnic_mr_local_dma_destroy() - undo rnic_mr_local_dma_create()
 * @dev: the device, without QPs; does nothing if there is no such region
 */
void rnic_mr_local_dma_destroy(struct rnic_dev *dev)
{
	if (dev->local_dma)
		rnic_mr_free(dev->local_dma);
	dev->local_dma = NULL;
}

/**
 * rnic_alloc_mr() - allocate a region for fast registration by a kernel
 * consumer
 * @pd: protection domain
 * @type: %IB_MR_TYPE_MEM_REG
 * @max_sg: pages it can hold
 *
 * Return: the region, not valid yet, or as ERR_PTR: -EOPNOTSUPP: another type;
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
	mr = rnic_mr_alloc(to_rnic_dev(pd->device), pd, RNIC_MR_FAST_REG);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pages = kcalloc(max_sg, sizeof(*mr->pages), GFP_KERNEL_ACCOUNT);
	mr->next_pages = kcalloc(max_sg, sizeof(*mr->next_pages),
				 GFP_KERNEL_ACCOUNT);
	if (mr->pages && mr->next_pages) {
		mr->max_pages = max_sg;
		ret = rnic_mr_publish(mr);
	}
	if (ret) {
		rnic_mr_free(mr);
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
 * rnic_map_mr_sg() - set the pages for the next fast registration
 * @ibmr: the region; its page_size is set. It may still be valid with its
 *	present pages: consumers map before they post the invalidation and the
 *	registration
 * @sg: mapped for this device, that is, with kernel addresses
 * @nents: entries of @sg
 * @sg_offset: offset into the first; updated
 *
 * Return: entries mapped; -EINVAL: another kind of region, or nothing to map;
 * -ENOMEM: not even one page fits.
 */
int rnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *sg_offset)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);
	int ret;

	if (mr->kind != RNIC_MR_FAST_REG || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	rnic_mr_write_lock(mr);
	mr->next_nr = 0;
	mr->next_shift = ilog2(ibmr->page_size);
	ret = ib_sg_to_pages(ibmr, sg, nents, sg_offset, mr_add_page);
	rnic_mr_write_unlock(mr);
	return ret;
}

/* Deregistration ----------------------------------------------------------- */

/**
 * rnic_dereg_mr() - deregister a region
 * @ibmr: the region; freed
 * @udata: unused
 *
 * On return the memory is not accessed any more. The core may not try again
 * after a failure unless it destroys windows before: so do a user, and the end
 * of a context.
 *
 * Return: 0; -EBUSY: windows are bound to it, nothing has changed.
 */
int rnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rnic_mr *mr = to_rnic_mr(ibmr);
	int ret = rnic_mr_revoke(mr);

	if (ret)
		return ret;
	trace_rnic_mr(&mr->dev->ibdev, mr->stag, RNIC_MR_EVENT_DEREG, mr->len);
	rnic_mr_withdraw(mr);
	return 0;
}
