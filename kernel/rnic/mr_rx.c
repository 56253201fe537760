// SPDX-License-Identifier: GPL-2.0-only
/* Received payload is placed into memory. */
#include "early.h"
#include "mr_access.h"
#include "mr_rx.h"
#include "ulp/mpa.h"

enum {
	/*
	 * Bytes placed between two prefetches. With less, pieces of FPDUs are
	 * split more often where pages adjoin. With more, prefetched lines
	 * leave the first-level cache before they are written.
	 */
	MR_STRETCH	= 16384,
};

/* Prefetches @len bytes at @addr, which will be written soon. */
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
 * Copies %MR_STRETCH bytes at a time, or less where pages do not adjoin, and
 * prefetches the bytes %MPA_PREFETCH_BYTES later in between.
 */
static void mr_copy_in(const struct rnic_mr *mr, u64 to, u32 len,
		       struct mpa_rx *rx)
{
	u32 ahead = min_t(u32, len, MPA_PREFETCH_BYTES);
	void *at;
	u32 n;

	if (len > MPA_PREFETCH_FEW)
		mr_look_ahead(mr, to, ahead);
	for (; len; to += n, len -= n) {
		n = mr_piece(mr, to, min_t(u32, len, MR_STRETCH), &at);
		if (len > ahead)
			mr_look_ahead(mr, to + ahead, min(n, len - ahead));
		mpa_rx_read(rx, at, n);
	}
}

/*
 * Dma-bufs are accessed through a mapping of their own: comparing addresses does
 * not show that other regions name the same memory.
 */
static bool mr_has_alias(const struct rnic_mr *mr)
{
	return (mr->region ?: mr)->dmabuf.buf;
}

/**
 * rnic_mr_touch() - bytes will be written by something in its turn
 * @mr: the region, locked
 * @addr: tagged offset of the first
 * @len: how many
 * @e: FPDUs placed early, or NULL
 */
void rnic_mr_touch(const struct rnic_mr *mr, u64 addr, u32 len,
		   struct rnic_early *e)
{
	void *at;
	u32 n;

	if (!rnic_early_active(e))
		return;
	if (mr_has_alias(mr)) {
		rnic_early_touch_all(e);
		return;
	}
	for (; len; addr += n, len -= n) {
		n = mr_piece(mr, addr, len, &at);
		rnic_early_touch(e, at, n);
	}
}

/* What is remembered of an FPDU that was placed early, but for the memory. */
static struct rnic_early_place mr_place_of(const struct rnic_mr *mr, u32 stag,
					   u64 to, u32 len)
{
	return (struct rnic_early_place){
		.stag = stag,
		.to = to,
		.serial = mr->serial,
		.epoch = mr->epoch,
		.len = len,
	};
}

/* Apart, because it is rare: has the payload been copied before its turn? */
static noinline bool mr_is_placed(const struct rnic_mr *mr, u32 stag, u64 to,
				  u32 len, struct rnic_early *e)
{
	const struct rnic_early_place p = mr_place_of(mr, stag, to, len);

	if (rnic_early_take(e, &p))
		return true;
	rnic_mr_touch(mr, to, len, e);
	return false;
}

/* Copies the payload of an FPDU in its turn. */
static void mr_receive(const struct rnic_mr *mr, u32 stag, u64 to, u32 len,
		       struct rnic_early *e, struct mpa_rx *rx)
{
	if (unlikely(rnic_early_active(e)) && mr_is_placed(mr, stag, to, len, e))
		mpa_rx_read(rx, NULL, len);
	else
		mr_copy_in(mr, to, len, rx);
}

/*
 * The region of that STag, or NULL. @sink keeps a reference, so that the next
 * segment, which most likely has the same STag, needs no lookup. The caller
 * checks under the lock whether the region is valid. It holds the RCU read lock
 * meanwhile: a region that has a successor stays valid until then.
 */
static struct rnic_mr *mr_sink(struct rnic_dev *dev, struct mr_scope scope,
			       struct rnic_sink *sink, u32 stag, int access)
{
	struct rnic_mr *mr = sink->mr;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "no RCU read lock");
	/* The right to use the reserved STag is checked each time. */
	if (mr && READ_ONCE(mr->stag) == stag && READ_ONCE(mr->valid) &&
	    !READ_ONCE(mr->dead) && stag != RNIC_STAG_LOCAL_DMA)
		return mr;
	rnic_mr_forget(sink);
	mr = mr_find_access(dev, scope, stag, access);
	if (mr && !refcount_inc_not_zero(&mr->refs))
		mr = NULL;
	sink->mr = mr;
	return mr;
}

/**
 * rnic_mr_forget() - drop the reference to the region used last for placement
 * @sink: the region, from rnic_mr_place() and rnic_mr_write()
 *
 * Any context. Deregistration waits for this.
 */
void rnic_mr_forget(struct rnic_sink *sink)
{
	if (sink->mr)
		rnic_mr_put(sink->mr);
	sink->mr = NULL;
}

/**
 * rnic_mr_place() - place received bytes into memory of the local consumer
 * @dev: the device
 * @pd: protection domain of the queue pair, or of the shared receive queue
 * @sink: the region placed into last; see rnic_mr_forget()
 * @stag: the region
 * @to: tagged offset in it
 * @len: the next bytes of @rx; 0 succeeds with any @stag
 * @rx: the ULPDU
 *
 * Softirq or process context, socket lock held. Checks and places under one
 * hold of the region's lock, so that the region stays valid; the reserved STag
 * needs none.
 *
 * Return: 0; -EACCES: refused, nothing was placed.
 */
int rnic_mr_place(struct rnic_dev *dev, const struct ib_pd *pd,
		  struct rnic_sink *sink, u32 stag, u64 to, u32 len,
		  struct mpa_rx *rx)
{
	const struct mr_scope scope = { .pd = pd };
	struct rnic_mr *mr;
	int ret = -EACCES;

	if (!len)
		return 0;
	if (mr_is_local_dma(scope, stag)) {
		mr_receive(dev->local_dma, stag, to, len, sink->early, rx);
		return 0;
	}
	rcu_read_lock();
	mr = mr_sink(dev, scope, sink, stag, IB_ACCESS_LOCAL_WRITE);
	if (mr) {
		rnic_mr_read_lock(mr);
		if (!mr_check(mr, scope, stag, to, len, IB_ACCESS_LOCAL_WRITE)) {
			mr_receive(mr, stag, to, len, sink->early, rx);
			ret = 0;
		}
		rnic_mr_read_unlock(mr);
	}
	rcu_read_unlock();
	return ret;
}

static bool mr_write(struct rnic_mr *mr, const struct ib_qp *ibqp,
		     struct rnic_early *e, const struct ddp_hdr *h,
		     struct mpa_rx *rx, struct ddp_fault *f)
{
	struct ddp_region_view v;
	bool ok;

	mr_view_range(mr, mr_scope_of(ibqp), h->stag, h->to, h->payload_len,
		      IB_ACCESS_REMOTE_WRITE, &v);
	ok = ddp_check_tagged(h, &v, f);
	if (ok) {
		mr_receive(mr, h->stag, h->to, h->payload_len, e, rx);
		atomic64_add(h->payload_len, &mr_traffic(mr)->written);
	}
	return ok;
}

/**
 * rnic_mr_write() - check a segment of a peer's Write and place it
 * @dev: the device
 * @ibqp: the queue pair of the stream
 * @sink: the region placed into last; see rnic_mr_forget()
 * @h: its header, passed by ddp_check_control(); with payload
 * @rx: its payload
 * @f: set to the fault by ddp_check_tagged()
 *
 * Softirq or process context, socket lock held. Checks and places under one
 * hold of the region's lock, so that the region stays valid.
 *
 * Return: true; false if it was refused and nothing was placed.
 */
bool rnic_mr_write(struct rnic_dev *dev, const struct ib_qp *ibqp,
		   struct rnic_sink *sink, const struct ddp_hdr *h,
		   struct mpa_rx *rx, struct ddp_fault *f)
{
	const struct ddp_region_view none = {};
	struct rnic_mr *mr;
	bool ok;

	rcu_read_lock();
	mr = mr_sink(dev, mr_scope_of(ibqp), sink, h->stag, IB_ACCESS_REMOTE_WRITE);
	if (mr) {
		rnic_mr_read_lock(mr);
		ok = mr_write(mr, ibqp, sink->early, h, rx, f);
		rnic_mr_read_unlock(mr);
	} else {
		ok = ddp_check_tagged(h, &none, f);
	}
	rcu_read_unlock();
	return ok;
}

static bool mr_place_early(const struct rnic_mr *mr, struct rnic_early *e,
			   const struct ddp_hdr *h, u32 end, struct mpa_rx *rx)
{
	struct rnic_early_place p = mr_place_of(mr, h->stag, h->to, h->payload_len);
	void *at;

	p.end = end;
	p.first = mr_piece(mr, p.to, p.len, &at);
	p.at[0] = at;
	if (p.first < p.len) {
		u32 rest = p.len - p.first;

		if (mr_piece(mr, p.to + p.first, rest, &at) < rest)
			return false;
		p.at[1] = at;
	}
	if (!rnic_early_add(e, &p))
		return false;
	mr_copy_in(mr, p.to, p.len, rx);
	return true;
}

/**
 * rnic_mr_place_early() - place a tagged segment before its turn
 * @dev: the device
 * @ibqp: the queue pair of the stream
 * @e: FPDUs placed early, to which it is added
 * @h: its header, passed by ddp_check_control(); with payload
 * @access: the right that is needed: %IB_ACCESS_REMOTE_WRITE for a Write,
 *	%IB_ACCESS_LOCAL_WRITE for a Read Response
 * @end: TCP sequence number behind its FPDU
 * @rx: its payload
 *
 * Softirq or process context, socket lock held. The rights are those that it would
 * need in its turn, when they are checked again.
 *
 * Return: true; false if it is left to its turn and nothing was placed.
 */
bool rnic_mr_place_early(struct rnic_dev *dev, const struct ib_qp *ibqp,
			 struct rnic_early *e, const struct ddp_hdr *h,
			 int access, u32 end, struct mpa_rx *rx)
{
	const struct mr_scope scope = {
		.pd = ibqp->pd,
		.ibqp = access & RNIC_MR_ACCESS_REMOTE ? ibqp : NULL,
	};
	struct rnic_mr *mr;
	bool ok = false;

	rcu_read_lock();
	mr = mr_find_access(dev, scope, h->stag, access);
	if (mr) {
		rnic_mr_read_lock(mr);
		ok = !mr_has_alias(mr) &&
		     !mr_check(mr, scope, h->stag, h->to, h->payload_len,
			       access) &&
		     mr_place_early(mr, e, h, end, rx);
		rnic_mr_read_unlock(mr);
	}
	rcu_read_unlock();
	return ok;
}
