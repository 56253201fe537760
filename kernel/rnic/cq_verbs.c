// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues: creation, changes, destruction, and polling by kernel
 * consumers.
 */
#include <linux/time_namespace.h>

#include <rdma/uverbs_ioctl.h>

#include "cq.h"
#include "cq_verbs.h"
#include "device.h"
#include "qp.h"
#include "ring.h"
#include "ucontext.h"

#define RNIC_CQ_FLAGS	(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |	\
			 IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)

static const enum ib_wc_opcode cq_opcodes[] = {
	[MPA_WR_WRITE]		= IB_WC_RDMA_WRITE,
	[MPA_WR_SEND]		= IB_WC_SEND,
	[MPA_WR_SEND_INV]	= IB_WC_SEND,
	[MPA_WR_READ]		= IB_WC_RDMA_READ,
	[MPA_WR_READ_INV]	= IB_WC_RDMA_READ,
	[MPA_WR_LOCAL_INV]	= IB_WC_LOCAL_INV,
	[MPA_WR_REG_MR]		= IB_WC_REG_MR,
	[MPA_WR_BIND_MW]	= IB_WC_BIND_MW,
	[MPA_WR_WRITE_IMM]	= IB_WC_RDMA_WRITE,
	[MPA_WR_FETCH_ADD]	= IB_WC_FETCH_ADD,
	[MPA_WR_CMP_SWAP]	= IB_WC_COMP_SWAP,
	[MPA_WR_SWAP]		= IB_WC_COMP_SWAP,
	[MPA_WR_MASKED_FETCH_ADD] = IB_WC_MASKED_FETCH_ADD,
	[MPA_WR_MASKED_CMP_SWAP] = IB_WC_MASKED_COMP_SWAP,
};

static_assert(ARRAY_SIZE(cq_opcodes) == MPA_WR_OPCODES);

static int cq_respond(const struct rnic_area *area, const struct rnic_ring *ring,
		      struct ib_udata *udata)
{
	struct mpa_create_cq_resp resp = {
		.cq_key = rnic_area_key(area),
		.num_cqe = ring->size,
		.ring_len = area->len,
	};

	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/*
 * Makes memory for a ring of @cqe entries, and tells its user where it is. The
 * area is zeroed if it fails.
 */
static int cq_make_ring(const struct rnic_cq *cq, enum rnic_owned kind, u32 cqe,
			struct rnic_area *area, struct rnic_ring *ring,
			struct ib_udata *udata)
{
	struct rnic_ucontext *uctx = NULL;
	u64 len;
	int ret;

	if (udata)
		uctx = rdma_udata_to_drv_context(udata, struct rnic_ucontext,
						 ibuctx);
	len = rnic_ring_plan(ring, cqe, cq->timed ? sizeof(struct mpa_cqe_timed) :
						    sizeof(struct mpa_cqe));
	ret = rnic_area_create(area, kind, uctx ? &uctx->ibuctx : NULL, len);
	if (ret)
		return ret;
	rnic_ring_place(ring, area, 0);
	if (udata) {
		ret = cq_respond(area, ring, udata);
		if (ret)
			rnic_area_destroy(area);
	}
	return ret;
}

/* Programs compare time stamps with the clock that they can read. */
static s64 cq_ns_ahead(void)
{
	struct timespec64 ahead = { 0 };

	timens_add_monotonic(&ahead);
	return timespec64_to_ns(&ahead);
}

static int cq_init(struct rnic_cq *cq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata)
{
	int ret;

	spin_lock_init(&cq->lock);
	rnic_cq_moderation_init(cq);
	cq->timed = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	if (cq->timed)
		cq->ns_ahead = cq_ns_ahead();
	cq->lossy = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	ret = cq_make_ring(cq, RNIC_OWNED_CQ, attr->cqe, &cq->area, &cq->ring, udata);
	if (!ret)
		cq->ibcq.cqe = cq->ring.size;
	return ret;
}

/* Checks the size of a queue, and what comes with the request for it. */
static int cq_check_request(u32 cqe, struct ib_udata *udata)
{
	if (!cqe || cqe > RNIC_MAX_CQE)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct mpa_create_cq_resp))
		return -EINVAL;
	return rnic_udata_clear(udata) ? 0 : -EINVAL;
}

/**
 * rnic_create_cq() - verbs: create_cq
 * @ibcq: the queue, zeroed but for what the core has filled in
 * @attr: how many entries; flags: time stamps, overruns are ignored
 * @udata: room for struct mpa_create_cq_resp, or NULL: kernel consumer
 *
 * Return: 0; -EINVAL: no entries or more than %RNIC_MAX_CQE, no room for the
 * response, or unknown input of the provider; -EOPNOTSUPP: other flags; -ENOMEM: no
 * memory, or the device or the context has reached its limit; -EFAULT.
 */
int rnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct rnic_dev *dev = to_rnic_dev(ibcq->device);
	int ret;

	if (attr->flags & ~RNIC_CQ_FLAGS)
		return -EOPNOTSUPP;
	ret = cq_check_request(attr->cqe, udata);
	if (ret)
		return ret;
	if (!rnic_dev_reserve(&dev->nr_cq, RNIC_MAX_CQ))
		return -ENOMEM;

	ret = cq_init(to_rnic_cq(ibcq), attr, udata);
	if (ret)
		atomic_dec(&dev->nr_cq);
	return ret;
}

/**
 * rnic_destroy_cq() - verbs: destroy_cq
 * @ibcq: the queue; the core has checked that no QP uses it any more
 * @udata: unused
 *
 * Return: 0.
 */
int rnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->dead = true;
	spin_unlock_irqrestore(&cq->lock, flags);
	rnic_area_destroy(&cq->resized);
	rnic_area_destroy(&cq->area);
	atomic_dec(&rnic_cq_dev(cq)->nr_cq);
	return 0;
}

/**
 * rnic_modify_cq() - verbs: modify_cq
 * @ibcq: the queue
 * @count: completions that raise an event together
 * @period: microseconds after which fewer of them raise it
 *
 * If one of the two is 0 or @count is 1, each completion that meets the
 * consumer's request raises an event, as for a new queue. A completion whose
 * event waits keeps waiting as long as it would have. Any context.
 *
 * Return: 0.
 */
int rnic_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	cq->max_held = period ? count : 0;
	cq->max_held_us = count ? period : 0;
	spin_unlock_irqrestore(&cq->lock, irq);
	return 0;
}

static void cq_copy_entry(struct rnic_ring *to, const struct rnic_ring *from,
			  u32 index)
{
	memcpy(rnic_ring_at(to, index), rnic_ring_at(from, index), from->stride);
}

/*
 * Replaces the entries and their memory, which is left in @area. The header
 * stays: a consumer looks at it, and asks for events in it, at any time.
 */
static void cq_replace_entries(struct rnic_cq *cq, struct rnic_area *area,
			       const struct rnic_ring *ring)
{
	lockdep_assert_held(&cq->lock);
	swap(cq->resized, *area);
	cq->ring.entries = ring->entries;
	cq->ring.size = ring->size;
	cq->ibcq.cqe = cq->ring.size;
}

/*
 * Copies some entries from *@at on to the new ring, and if these were the last
 * ones, puts it in place. Returns 0 if it did, -EAGAIN if there are more,
 * -EINVAL if the new ring is too small for them.
 */
static int cq_move_some(struct rnic_cq *cq, u32 *at, struct rnic_area *area,
			struct rnic_ring *ring)
{
	u32 cons, seen;

	lockdep_assert_held(&cq->lock);
	cons = rnic_cq_consumed(cq);
	/* A user may write any index; then these are no entries of ours. */
	if (cq->prod - cons > ring->size)
		return -EINVAL;
	/*
	 * A consumer in the kernel may have polled meanwhile. That of a user may
	 * have written another index, also one ahead of all entries.
	 */
	if (cq->prod - *at > cq->prod - cons)
		*at = cons;
	for (seen = 0; seen < RNIC_CQ_CHUNK && *at != cq->prod; seen++, (*at)++)
		cq_copy_entry(ring, &cq->ring, *at);
	if (*at != cq->prod)
		return -EAGAIN;
	cq_replace_entries(cq, area, ring);
	return 0;
}

/*
 * Completions may be appended meanwhile, but not as fast as they are copied.
 * @area is to be freed afterwards.
 */
static int cq_move(struct rnic_cq *cq, struct rnic_area *area,
		   struct rnic_ring *ring)
{
	u32 at = rnic_cq_consumed(cq);
	u32 forgotten = 0;
	unsigned long irq;
	int ret;

	do {
		spin_lock_irqsave(&cq->lock, irq);
		/* What is discarded meanwhile may have been copied. At first nothing was. */
		if (cq->forgotten != forgotten)
			at = rnic_cq_consumed(cq);
		forgotten = cq->forgotten;
		ret = cq_move_some(cq, &at, area, ring);
		spin_unlock_irqrestore(&cq->lock, irq);
		cond_resched();
	} while (ret == -EAGAIN);
	return ret;
}

/**
 * rnic_resize_cq() - verbs: resize_cq
 * @ibcq: the queue
 * @cqe: how many entries it is to have at least
 * @udata: room for struct mpa_create_cq_resp, or NULL: kernel consumer
 *
 * Completions that are in the queue stay in it. The memory that the queue was
 * created with is freed with the queue, other memory when it is replaced.
 * Process context.
 *
 * Return: 0; -EINVAL: no entries, more than %RNIC_MAX_CQE, fewer than
 * completions in the queue, no room for the response, or unknown input of the
 * provider; -ENOMEM: no memory, or the context has reached its limit; -EFAULT.
 * If it fails, the queue is as before.
 */
int rnic_resize_cq(struct ib_cq *ibcq, u32 cqe, struct ib_udata *udata)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	struct rnic_area area;
	struct rnic_ring ring;
	int ret;

	ret = cq_check_request(cqe, udata);
	if (ret)
		return ret;
	ret = cq_make_ring(cq, RNIC_OWNED_PART, cqe, &area, &ring, udata);
	if (ret)
		return ret;
	ret = cq_move(cq, &area, &ring);
	rnic_area_destroy(&area);
	return ret;
}

/* A QP that entries were found for, while the lock of their queue is held. */
struct cq_found {
	u32 qp_num;
	struct ib_qp *ibqp;
};

/*
 * The QP of an entry, or NULL if it was destroyed or reset. If that happens after
 * the QP was found, its entries count as polled before.
 */
static struct ib_qp *cq_find_qp(const struct rnic_cq *cq, const struct mpa_cqe *e,
				struct cq_found *found)
{
	struct rnic_qp *qp;

	lockdep_assert_held(&cq->lock);
	if (e->qp_num == found->qp_num)
		return found->ibqp;
	qp = xa_load(&rnic_cq_dev(cq)->qps, e->qp_num);
	found->qp_num = e->qp_num;
	/* *qp is not read: it may be being freed. */
	found->ibqp = qp ? &qp->ibqp : NULL;
	return found->ibqp;
}

/* The next entry, or NULL. */
static const struct mpa_cqe *cq_take(struct rnic_cq *cq)
{
	struct mpa_ring_hdr *hdr = cq->ring.hdr;

	lockdep_assert_held(&cq->lock);
	return hdr->cons == cq->prod ? NULL : rnic_cq_entry(cq, hdr->cons++);
}

static enum ib_wc_opcode cq_opcode(u8 opcode)
{
	switch (opcode) {
	case MPA_CQE_RECV:
		return IB_WC_RECV;
	case MPA_CQE_RECV_IMM:
		return IB_WC_RECV_RDMA_WITH_IMM;
	default:
		return cq_opcodes[opcode];
	}
}

static void cq_translate(const struct mpa_cqe *e, struct ib_qp *ibqp,
			 struct ib_wc *wc)
{
	*wc = (struct ib_wc){
		.wr_id = e->wr_id,
		.status = e->status,
		.opcode = cq_opcode(e->opcode),
		.vendor_err = e->vendor_err,
		.byte_len = e->byte_len,
		.qp = ibqp,
		.port_num = 1,
	};
	if (e->flags & MPA_CQE_INVALIDATED) {
		wc->ex.invalidate_rkey = e->inv_stag;
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
	}
	if (e->opcode == MPA_CQE_RECV_IMM) {
		wc->ex.imm_data = e->imm_data;
		wc->wc_flags = IB_WC_WITH_IMM;
	}
}

/*
 * Polls up to @n entries, looking at %RNIC_CQ_CHUNK at most; *@more: there may
 * be others.
 */
static int cq_poll_some(struct rnic_cq *cq, int n, struct ib_wc *wc, bool *more)
{
	struct cq_found found = { .qp_num = RNIC_CQ_NOBODY };
	const struct mpa_cqe *e;
	struct ib_qp *ibqp;
	unsigned long irq;
	int seen, i = 0;

	spin_lock_irqsave(&cq->lock, irq);
	*more = true;
	for (seen = 0; seen < RNIC_CQ_CHUNK && i < n && *more; seen++) {
		e = cq_take(cq);
		ibqp = e ? cq_find_qp(cq, e, &found) : NULL;
		if (ibqp)
			cq_translate(e, ibqp, wc + i++);
		*more = e;
	}
	spin_unlock_irqrestore(&cq->lock, irq);
	return i;
}

/**
 * rnic_poll_cq() - a kernel consumer takes completions
 * @ibcq: the queue
 * @n: entries of @wc
 * @wc: filled in
 *
 * Any context.
 *
 * Return: number of completions.
 */
int rnic_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	bool more = true;
	int i = 0;

	while (i < n && more)
		i += cq_poll_some(cq, n - i, wc + i, &more);
	return i;
}

/**
 * rnic_req_notify_cq() - a kernel consumer asks for an event
 * @ibcq: the queue
 * @flags: which completion raises it. A request for any completion is not
 *	weakened by a later one for solicited ones.
 *
 * Any context.
 *
 * Return: 1 if %IB_CQ_REPORT_MISSED_EVENTS is set and there are completions
 * that will raise no event; else 0.
 */
int rnic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	struct mpa_ring_hdr *hdr = cq->ring.hdr;
	unsigned long irq;
	int missed;

	spin_lock_irqsave(&cq->lock, irq);
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED)
		cmpxchg(&hdr->arm, MPA_ARM_NONE, MPA_ARM_SOLICITED);
	else
		WRITE_ONCE(hdr->arm, MPA_ARM_NEXT);
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS &&
		 rnic_cq_consumed(cq) != cq->prod;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}
