/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory regions, STags, and every byte moved in or out of them. */
#ifndef MPA_RNIC_MR_H
#define MPA_RNIC_MR_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "ddp/check.h"
#include "ulp/mpa.h"

struct rnic_dev;
struct rnic_ucontext;

enum {
	/* Of an STag: the low bits, which a consumer chooses. */
	RNIC_MR_KEY_BITS	= 8,
	RNIC_MR_ACCESS_REMOTE	= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	/*
	 * The atomic and binding rights may be granted, though nothing that
	 * would use them exists. The optional ones are hints.
	 */
	RNIC_MR_ACCESS_KNOWN	= IB_ACCESS_LOCAL_WRITE | RNIC_MR_ACCESS_REMOTE |
				  IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND |
				  IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL,
};

enum {
	/* Pieces of memory in one segment, or granted at once. */
	RNIC_TX_PIECES	= 40,
};

/* What memory a region names. */
enum rnic_mr_kind {
	RNIC_MR_USER,		/* pinned user pages */
	RNIC_MR_DMA,		/* all kernel memory, by kernel address */
	RNIC_MR_FAST_REG,	/* a kernel consumer's page list */
};

/**
 * struct rnic_run - bytes that may be sent without asking for them again
 * @len: how many are left; they are the next of the message in progress
 * @epoch: &rnic_mr.epoch of their region when they were granted
 * @at: the first piece not yet wholly used
 * @kv: where they lie
 *
 * Good for one message and one batch, which holds the region. Whoever invalidates
 * the region meanwhile does not wait: what is copied from here may be sent only if
 * rnic_mr_unchanged() says so after that.
 */
struct rnic_run {
	u32 len;
	u32 epoch;
	unsigned int at;
	struct kvec kv[RNIC_TX_PIECES];
};

enum {
	/*
	 * Reserved STag: all kernel memory, for local use by kernel consumers
	 * (ib_device.local_dma_lkey). No peer and no user can use it.
	 */
	RNIC_STAG_LOCAL_DMA	= 0,
};

/**
 * struct rnic_mr - a memory region
 * @ibmr: what the core sees; its lkey and rkey equal @stag
 * @dev: device it belongs to; constant
 * @uctx: the context that it counts for, or NULL with a kernel consumer; constant
 * @kind: constant
 * @stag: 24 bits of index, 8 of key; the key of a fast-register region
 *	changes under @lock
 * @lock: placements hold it for reading; whoever invalidates, registers or
 *	removes holds it for writing: once that returns no placement is
 *	running (RFC 5042 section 6.2.2). Taken in softirq: use _bh elsewhere
 * @valid: the STag may be used; under @lock
 * @epoch: grows when rights are taken away; written under @lock, read by senders
 *	without it, see rnic_mr_unchanged()
 * @access: IB_ACCESS_*; under @lock
 * @iova: tagged offset of the first byte; under @lock
 * @len: bytes; under @lock
 * @page_off: offset of the first byte within the first page; under @lock
 * @page_shift: log2 of the page size of @pages
 * @nr_pages: pages in @pages now
 * @max_pages: room in @pages; constant
 * @pages: kernel addresses of the pages
 * @next_pages: %RNIC_MR_FAST_REG: the pages that the next registration takes
 *	over; room for @max_pages
 * @next_nr: pages in @next_pages; 0: registering again takes @pages as before
 * @next_shift: log2 of the page size of @next_pages
 * @umem: the pinned pages, %RNIC_MR_USER only
 * @refs: one of the owner's, one of every sender that reads the memory
 *	without @lock, one of every receiver that may soon place more there
 * @released: completed when @refs falls to zero
 * @rcu: frees the structure after the last lookup is over
 */
struct rnic_mr {
	struct ib_mr ibmr;
	struct rnic_dev *dev;
	struct rnic_ucontext *uctx;
	enum rnic_mr_kind kind;
	u32 stag;
	rwlock_t lock;
	bool valid;
	u32 epoch;
	int access;
	u64 iova;
	u64 len;
	u32 page_off;
	u32 page_shift;
	u32 nr_pages;
	u32 max_pages;
	u64 *pages;
	u64 *next_pages;
	u32 next_nr;
	u32 next_shift;
	struct ib_umem *umem;
	refcount_t refs;
	struct completion released;
	struct rcu_head rcu;
};

static inline struct rnic_mr *to_rnic_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rnic_mr, ibmr);
}

void rnic_mr_view(struct rnic_dev *dev, struct ib_pd *pd, u32 stag, int access,
		  struct ddp_region_view *v);
void rnic_mr_forget(struct rnic_mr **sink);
int rnic_mr_place(struct rnic_dev *dev, struct ib_pd *pd, struct rnic_mr **sink,
		  u32 stag, u64 to, u32 len, struct mpa_rx *rx);
bool rnic_mr_write(struct rnic_dev *dev, struct ib_pd *pd,
		   struct rnic_mr **sink, const struct ddp_hdr *h,
		   struct mpa_rx *rx, struct ddp_fault *f);
struct rnic_mr *rnic_mr_get(struct rnic_dev *dev, struct ib_pd *pd, u32 stag,
			    u64 addr, u32 len, int access, struct rnic_run *run,
			    struct ddp_fault *fault);
bool rnic_mr_more(struct rnic_mr *mr, const struct ib_pd *pd, u32 stag,
		  u64 addr, u32 len, int access, u32 epoch,
		  struct rnic_run *run);
void rnic_mr_put(struct rnic_mr *mr);
void rnic_mr_revoke(struct rnic_mr *mr);
int rnic_mr_invalidate(struct rnic_dev *dev, struct ib_pd *pd, u32 stag,
		       bool remote, struct ddp_fault *fault);
int rnic_mr_fast_reg(struct ib_pd *pd, struct ib_mr *ibmr, u32 key, int access);

/**
 * rnic_mr_unchanged() - was all that was copied before this still granted then?
 * @mr: the region, held
 * @epoch: &rnic_run.epoch of what was copied; smp_rmb() has followed the copying
 *
 * Any context. The counterpart of taking rights away, which changes the epoch before
 * it is completed: whoever has read what was written into the memory after that sees
 * another epoch here.
 *
 * Return: true if nobody took rights away since the bytes were granted.
 */
static inline bool rnic_mr_unchanged(const struct rnic_mr *mr, u32 epoch)
{
	return READ_ONCE(mr->epoch) == epoch;
}

#endif /* MPA_RNIC_MR_H */
