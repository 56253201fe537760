// SPDX-License-Identifier: GPL-2.0-only
/* Received payload is placed into memory. */
#include "mr_access.h"
#include "mr_rx.h"
#include "ulp/mpa.h"

enum {
	/* Up to so many bytes, prefetching costs more than it saves. */
	MR_FEW		= 2048,
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
 * The region of that STag, or NULL. *@sink keeps a reference, so that the next
 * segment, which most likely has the same STag, needs no lookup. The caller
 * checks under the lock whether the region is valid.
 */
static struct rnic_mr *mr_sink(struct rnic_dev *dev, struct mr_scope scope,
			       struct rnic_mr **sink, u32 stag, int access)
{
	struct rnic_mr *mr = *sink;

	/* The right to use the reserved STag is checked each time. */
	if (mr && READ_ONCE(mr->stag) == stag && READ_ONCE(mr->valid) &&
	    stag != RNIC_STAG_LOCAL_DMA)
		return mr;
	rnic_mr_forget(sink);
	rcu_read_lock();
	mr = mr_find_access(dev, scope, stag, access);
	if (mr && !refcount_inc_not_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	*sink = mr;
	return mr;
}

/**
 * rnic_mr_forget() - drop the reference to the region used last for placement
 * @sink: the region, from rnic_mr_place() and rnic_mr_write(); set to NULL
 *
 * Any context. Deregistration waits for this.
 */
void rnic_mr_forget(struct rnic_mr **sink)
{
	if (*sink)
		rnic_mr_put(*sink);
	*sink = NULL;
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
 * hold of the region's lock, so that the region stays valid.
 *
 * Return: 0; -EACCES: refused, nothing was placed.
 */
int rnic_mr_place(struct rnic_dev *dev, const struct ib_pd *pd,
		  struct rnic_mr **sink, u32 stag, u64 to, u32 len,
		  struct mpa_rx *rx)
{
	const struct mr_scope scope = { .pd = pd };
	struct rnic_mr *mr;
	int ret = -EACCES;

	if (!len)
		return 0;
	mr = mr_sink(dev, scope, sink, stag, IB_ACCESS_LOCAL_WRITE);
	if (!mr)
		return ret;
	read_lock_bh(&mr->lock);
	if (!mr_check(mr, scope, stag, to, len, IB_ACCESS_LOCAL_WRITE)) {
		mr_copy_in(mr, to, len, rx);
		ret = 0;
	}
	read_unlock_bh(&mr->lock);
	return ret;
}

static bool mr_write(struct rnic_mr *mr, const struct ib_qp *ibqp,
		     const struct ddp_hdr *h, struct mpa_rx *rx,
		     struct ddp_fault *f)
{
	struct ddp_region_view v;
	bool ok;

	mr_view_range(mr, mr_scope_of(ibqp), h->stag, h->to, h->payload_len,
		      IB_ACCESS_REMOTE_WRITE, &v);
	ok = ddp_check_tagged(h, &v, f);
	if (ok) {
		mr_copy_in(mr, h->to, h->payload_len, rx);
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
		   struct rnic_mr **sink, const struct ddp_hdr *h,
		   struct mpa_rx *rx, struct ddp_fault *f)
{
	const struct ddp_region_view none = {};
	struct rnic_mr *mr;
	bool ok;

	mr = mr_sink(dev, mr_scope_of(ibqp), sink, h->stag, IB_ACCESS_REMOTE_WRITE);
	if (!mr)
		return ddp_check_tagged(h, &none, f);
	read_lock_bh(&mr->lock);
	ok = mr_write(mr, ibqp, h, rx, f);
	read_unlock_bh(&mr->lock);
	return ok;
}
