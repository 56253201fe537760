/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory regions and windows. */
#ifndef MPA_RNIC_MR_H
#define MPA_RNIC_MR_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "dmabuf.h"

struct rnic_dev;
struct rnic_early;
struct rnic_ucontext;

enum {
	/* Low bits of an STag, chosen by the consumer. */
	RNIC_MR_KEY_BITS	= 8,
	RNIC_MR_ACCESS_REMOTE	= IB_ACCESS_REMOTE_READ |
				  IB_ACCESS_REMOTE_WRITE |
				  IB_ACCESS_REMOTE_ATOMIC,
	/* The optional ones are hints. */
	RNIC_MR_ACCESS_KNOWN	= IB_ACCESS_LOCAL_WRITE | RNIC_MR_ACCESS_REMOTE |
				  IB_ACCESS_MW_BIND | IB_ACCESS_HUGETLB |
				  IB_ACCESS_OPTIONAL,
	/* Users' regions may begin at tagged offset 0, whatever their address. */
	RNIC_MR_ACCESS_USER	= RNIC_MR_ACCESS_KNOWN | IB_ZERO_BASED,
	/*
	 * The right of local consumers to send from a region, which each region
	 * grants. No value of IB_ACCESS_*.
	 */
	RNIC_MR_LOCAL_READ	= 1 << 30,
	RNIC_MR_ACCESS_LOCAL	= IB_ACCESS_LOCAL_WRITE | RNIC_MR_LOCAL_READ,
};

static_assert(!(RNIC_MR_LOCAL_READ & RNIC_MR_ACCESS_USER));

enum {
	/* Pieces of memory in one segment, or granted at once. */
	RNIC_TX_PIECES	= 40,
	/* Bytes to get from a region at once, as many as a batch can have. */
	RNIC_TX_RUN	= 65536,
};

/* What memory a region names. */
enum rnic_mr_kind {
	RNIC_MR_USER,		/* pinned user pages, or a dma-buf */
	RNIC_MR_DMA,		/* all kernel memory, by kernel address */
	RNIC_MR_FAST_REG,	/* a kernel consumer's page list */
	RNIC_MR_WINDOW,		/* part of a user's region, for peers */
};

/**
 * struct rnic_source - memory with which a message continues
 * @sge: its pieces; the first one has the next byte
 * @nr: how many, at least 1
 * @off: offset of that byte in the first one
 * @access: IB_ACCESS_* rights needed, or %RNIC_MR_LOCAL_READ
 */
struct rnic_source {
	const struct mpa_sge *sge;
	unsigned int nr;
	u32 off;
	int access;
};

/**
 * struct rnic_run - memory of a region that was granted for sending
 * @len: bytes left, the next of the message in progress
 * @epoch: &rnic_mr.epoch of their region when they were granted
 * @nr: pieces
 * @at: index of the first piece that is not used up
 * @below: the region that their window is bound to, with a reference that
 *	rnic_mr_get() took; NULL if they are not from a window
 * @fast_reg: the region if it is %RNIC_MR_FAST_REG, else NULL. Its bytes may be
 *	copied only under rnic_mr_lock_granted()
 * @kv: the pieces
 *
 * Valid for one message and one batch, which holds a reference to the region.
 * Invalidation does not wait for the batch: bytes copied from here may be sent
 * only if rnic_mr_unchanged() returns true after copying.
 */
struct rnic_run {
	u32 len;
	u32 epoch;
	unsigned int nr;
	unsigned int at;
	struct rnic_mr *below;
	struct rnic_mr *fast_reg;
	struct kvec kv[RNIC_TX_PIECES];
};

enum {
	/*
	 * Reserved STag: all kernel memory, for local use by kernel consumers
	 * (ib_device.local_dma_lkey). Peers and users cannot use it.
	 */
	RNIC_STAG_LOCAL_DMA	= 0,
};

/**
 * struct rnic_mr_traffic - what peers have done with a region, also through its
 * windows
 * @written: bytes of their Writes placed in it
 * @read: bytes of it that they requested to read
 * @atomics: operations of theirs executed on it
 */
struct rnic_mr_traffic {
	atomic64_t written;
	atomic64_t read;
	atomic64_t atomics;
};

/**
 * struct rnic_mr - a memory region or window
 * @ibmr: the core's part; its lkey and rkey equal @stag. Unused by windows
 * @dev: device it belongs to; constant
 * @serial: no other region or window of the device has it, or had it; constant
 * @uctx: the context it is counted for, or NULL with a kernel consumer;
 *	constant
 * @pd: protection domain; NULL for the reserved STag; under @lock
 * @only: %RNIC_MR_WINDOW of type 2: the queue pair it was bound on last, the
 *	only one that may use it; NULL if there is none, and for everything
 *	else; under @lock
 * @qp_num: %RNIC_MR_FAST_REG: number of the queue pair that registered it last:
 *	a peer may invalidate it only there (also a later peer, after RESET); under
 *	@lock
 * @kind: constant
 * @stag: 24 bits of index, 8 of key; the key of a fast-register region or a
 *	window changes under @lock
 * @lock: read-locked for placement, and while senders copy from a kernel
 *	consumer's region; write-locked to invalidate, register or remove, so
 *	that neither is running afterwards (RFC 5042 section 6.2.2). Taken by
 *	rnic_mr_read_lock() and rnic_mr_write_lock() only
 * @writers: how many wait for @lock to write
 * @writes: how many had it; written under @lock, read without it
 * @valid: the STag may be used; a window is bound; under @lock
 * @epoch: incremented when rights are taken away; written under @lock, read by
 *	senders without it, see rnic_mr_unchanged()
 * @access: IB_ACCESS_* and %RNIC_MR_LOCAL_READ; under @lock
 * @iova: tagged offset of the first byte; under @lock
 * @len: bytes; under @lock
 * @page_off: offset of the first byte within the first page; under @lock
 * @page_shift: log2 of the page size of @pages
 * @nr_pages: pages in @pages
 * @max_pages: room in @pages; constant
 * @pages: kernel addresses of the pages; those of @region with a window
 * @region: %RNIC_MR_WINDOW: what it is bound to, one of its @nr_windows; NULL
 *	unless @valid; under @lock
 * @next_pages: %RNIC_MR_FAST_REG: pages for the next registration; room for
 *	@max_pages
 * @next_nr: pages in @next_pages; 0: the next registration uses @pages
 * @next_shift: log2 of the page size of @next_pages
 * @umem: %RNIC_MR_USER: the pinned pages, or NULL
 * @dmabuf: %RNIC_MR_USER: the buffer, if it is one
 * @nr_windows: windows that are bound to the region, which keep it valid;
 *	under @lock
 * @type2: %RNIC_MR_WINDOW of type 2: for one queue pair; constant
 * @follows: %RNIC_MR_USER: has the STag of a region before it, and &ib_mr.uobject
 *	of that one, which the core has freed; constant
 * @dead: being removed: no window can be bound to it, nor it itself; written under
 *	@lock, read without it by mr_sink()
 * @traffic: for `rdma statistic mr`; not used with windows
 * @qp_entry: %RNIC_MR_WINDOW: in &rnic_qp.windows of @only; under
 *	&rnic_dev.windows_lock
 * @refs: one of the owner, one of every sender that reads the memory without
 *	@lock, through a window or not, one of every receiver in whose
 *	&rnic_rx_state.sink it is
 * @released: completed when @refs falls to zero
 * @rcu: frees the structure after the last lookup is over
 */
struct rnic_mr {
	struct ib_mr ibmr;
	struct rnic_dev *dev;
	u64 serial;
	struct rnic_ucontext *uctx;
	const struct ib_pd *pd;
	const struct ib_qp *only;
	u32 qp_num;
	enum rnic_mr_kind kind;
	u32 stag;
	rwlock_t lock;
	atomic_t writers;
	u32 writes;
	bool valid;
	bool dead;
	u32 epoch;
	int access;
	u64 iova;
	u64 len;
	u32 page_off;
	u32 page_shift;
	u32 nr_pages;
	u32 max_pages;
	u64 *pages;
	struct rnic_mr *region;
	u64 *next_pages;
	u32 next_nr;
	u32 next_shift;
	struct ib_umem *umem;
	struct rnic_dmabuf dmabuf;
	u32 nr_windows;
	bool type2;
	bool follows;
	struct rnic_mr_traffic traffic;
	struct list_head qp_entry;
	refcount_t refs;
	struct completion released;
	struct rcu_head rcu;
};

/**
 * rnic_mr_read_lock() - lock a region or window for placement, or to look at it
 * @mr: the region or window; released by rnic_mr_read_unlock()
 *
 * Process context or softirq; not within another lock of this kind. With softirqs
 * off, an rwlock_t lets readers pass writers that wait, so that readers on many
 * processors could keep them out for ever. Here, each lets one writer go first,
 * and no more, since writers can be as many.
 */
static inline void rnic_mr_read_lock(struct rnic_mr *mr)
{
	u32 writes;

	read_lock_bh(&mr->lock);
	/* With PREEMPT_RT a writer may be preempted, by one who would wait for it here. */
	if (likely(!atomic_read(&mr->writers)) || IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	writes = mr->writes;
	read_unlock_bh(&mr->lock);
	while (atomic_read(&mr->writers) && READ_ONCE(mr->writes) == writes)
		cpu_relax();
	read_lock_bh(&mr->lock);
}

static inline void rnic_mr_read_unlock(struct rnic_mr *mr)
{
	read_unlock_bh(&mr->lock);
}

/**
 * rnic_mr_write_lock() - lock a region or window to change its rights
 * @mr: the region or window; released by rnic_mr_write_unlock()
 *
 * Process context or softirq; not within another lock of this kind.
 */
static inline void rnic_mr_write_lock(struct rnic_mr *mr)
{
	/* First: a softirq on this processor would wait for this writer. */
	local_bh_disable();
	atomic_inc(&mr->writers);
	write_lock(&mr->lock);
	WRITE_ONCE(mr->writes, mr->writes + 1);
	atomic_dec(&mr->writers);
}

static inline void rnic_mr_write_unlock(struct rnic_mr *mr)
{
	write_unlock_bh(&mr->lock);
}

/**
 * struct rnic_sink - what is remembered between the FPDUs of a stream; socket lock
 * @mr: region that was placed into last, with a reference, or NULL; see
 *	rnic_mr_forget()
 * @early: FPDUs that were placed early; NULL if the stream does not do that
 */
struct rnic_sink {
	struct rnic_mr *mr;
	struct rnic_early *early;
};

static inline struct rnic_mr *to_rnic_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rnic_mr, ibmr);
}

/**
 * rnic_mr_put() - drop a reference
 * @mr: the region
 *
 * Any context.
 */
static inline void rnic_mr_put(struct rnic_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->released);
}

/**
 * rnic_mr_unchanged() - were copied bytes granted until now?
 * @mr: the region, held
 * @epoch: &rnic_run.epoch of the bytes; smp_rmb() follows copying
 *
 * Any context. Taking rights away changes the epoch before it completes. So a
 * sender that read bytes written after that sees another epoch here.
 *
 * Return: true if no rights were taken away since the bytes were granted.
 */
static inline bool rnic_mr_unchanged(const struct rnic_mr *mr, u32 epoch)
{
	return READ_ONCE(mr->epoch) == epoch;
}

/**
 * rnic_mr_end_rights() - take all rights away
 * @mr: the region or window; its lock is held for writing
 *
 * From here on nothing is granted, and a sender does not send bytes that it
 * copies later.
 */
static inline void rnic_mr_end_rights(struct rnic_mr *mr)
{
	lockdep_assert_held_write(&mr->lock);
	WRITE_ONCE(mr->valid, false);
	WRITE_ONCE(mr->epoch, mr->epoch + 1);
	/*
	 * Pairs with smp_rmb() in rnic_tx_granted(): a sender that copies what
	 * the consumer writes after the completion sees the new epoch. Not only
	 * a release, because that is ordered with the writes of a third
	 * processor only if that one has a release of its own in between.
	 */
	smp_mb();
}

#endif /* MPA_RNIC_MR_H */
