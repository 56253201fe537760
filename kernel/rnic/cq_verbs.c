// SPDX-License-Identifier: GPL-2.0-only
/* Completion queues: creation, destruction, and polling by kernel consumers. */
#include <rdma/uverbs_ioctl.h>

#include "cq.h"
#include "cq_verbs.h"
#include "device.h"
#include "qp.h"
#include "ring.h"
#include "ucontext.h"

static const enum ib_wc_opcode cq_opcodes[] = {
	[MPA_WR_WRITE]		= IB_WC_RDMA_WRITE,
	[MPA_WR_SEND]		= IB_WC_SEND,
	[MPA_WR_SEND_INV]	= IB_WC_SEND,
	[MPA_WR_READ]		= IB_WC_RDMA_READ,
	[MPA_WR_READ_INV]	= IB_WC_RDMA_READ,
	[MPA_WR_LOCAL_INV]	= IB_WC_LOCAL_INV,
	[MPA_WR_REG_MR]		= IB_WC_REG_MR,
};

static_assert(ARRAY_SIZE(cq_opcodes) == MPA_WR_OPCODES);

static int cq_respond(const struct rnic_cq *cq, struct ib_udata *udata)
{
	struct mpa_create_cq_resp resp = {
		.cq_key = rnic_area_key(&cq->area),
		.num_cqe = cq->ring.size,
		.ring_len = cq->area.len,
	};

	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void cq_failed(struct work_struct *work)
{
	struct rnic_cq *cq = container_of(work, struct rnic_cq, failed);

	rnic_qp_cq_failed(rnic_cq_dev(cq), cq);
}

static int cq_init(struct rnic_cq *cq, u32 cqe, struct ib_udata *udata)
{
	struct rnic_ucontext *uctx = NULL;
	u64 len;
	int ret;

	if (udata)
		uctx = rdma_udata_to_drv_context(udata, struct rnic_ucontext,
						 ibuctx);
	spin_lock_init(&cq->lock);
	INIT_WORK(&cq->failed, cq_failed);
	len = rnic_ring_plan(&cq->ring, cqe, sizeof(struct mpa_cqe));
	ret = rnic_area_create(&cq->area, RNIC_OWNED_CQ,
			       uctx ? &uctx->ibuctx : NULL, len);
	if (ret)
		return ret;
	rnic_ring_place(&cq->ring, &cq->area, 0);
	cq->ibcq.cqe = cq->ring.size;
	if (udata) {
		ret = cq_respond(cq, udata);
		if (ret)
			rnic_area_destroy(&cq->area);
	}
	return ret;
}

/**
 * rnic_create_cq() - verbs: create_cq
 * @ibcq: the queue, zeroed but for what the core has filled in
 * @attr: how many entries; no flags are known
 * @udata: room for struct mpa_create_cq_resp, or NULL: kernel consumer
 *
 * Return: 0; -EINVAL: no entries or more than %RNIC_MAX_CQE, no room for the
 * response, or unknown input of the provider; -EOPNOTSUPP: flags; -ENOMEM: no
 * memory, or the device or the context has reached its limit; -EFAULT.
 */
int rnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct rnic_dev *dev = to_rnic_dev(ibcq->device);
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RNIC_MAX_CQE)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct mpa_create_cq_resp))
		return -EINVAL;
	if (!rnic_udata_clear(udata))
		return -EINVAL;
	if (!rnic_dev_reserve(&dev->nr_cq, RNIC_MAX_CQ))
		return -ENOMEM;

	ret = cq_init(to_rnic_cq(ibcq), attr->cqe, udata);
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

	/* Only QPs queue it, and none is left. */
	cancel_work_sync(&cq->failed);
	spin_lock_irqsave(&cq->lock, flags);
	cq->dead = true;
	spin_unlock_irqrestore(&cq->lock, flags);
	rnic_area_destroy(&cq->area);
	atomic_dec(&rnic_cq_dev(cq)->nr_cq);
	return 0;
}

/*
 * The next entry, false if there is none. *ibqp is NULL for entries of QPs that
 * were destroyed or reset, which the caller skips.
 */
static bool cq_take(struct rnic_cq *cq, struct mpa_cqe *e, struct ib_qp **ibqp)
{
	struct mpa_ring_hdr *hdr = cq->ring.hdr;
	struct rnic_qp *qp = NULL;

	lockdep_assert_held(&cq->lock);
	if (hdr->cons == cq->prod)
		return false;
	*e = *rnic_cq_entry(cq, hdr->cons);
	hdr->cons++;
	if (e->qp_num != RNIC_CQ_NOBODY)
		qp = xa_load(&rnic_cq_dev(cq)->qps, e->qp_num);
	/* *qp is not read: it may be being freed. */
	*ibqp = qp ? &qp->ibqp : NULL;
	return true;
}

static void cq_translate(const struct mpa_cqe *e, struct ib_qp *ibqp,
			 struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = e->wr_id;
	wc->status = e->status;
	wc->opcode = e->opcode == MPA_CQE_RECV ? IB_WC_RECV :
						 cq_opcodes[e->opcode];
	wc->vendor_err = e->vendor_err;
	wc->byte_len = e->byte_len;
	wc->qp = ibqp;
	wc->port_num = 1;
	if (e->flags & MPA_CQE_INVALIDATED) {
		wc->ex.invalidate_rkey = e->inv_stag;
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
	}
}

/*
 * Polls up to @n entries, looking at %RNIC_CQ_CHUNK at most; *@more: there may
 * be others.
 */
static int cq_poll_some(struct rnic_cq *cq, int n, struct ib_wc *wc, bool *more)
{
	struct mpa_cqe e;
	struct ib_qp *ibqp;
	unsigned long irq;
	int seen, i = 0;

	spin_lock_irqsave(&cq->lock, irq);
	*more = true;
	for (seen = 0; seen < RNIC_CQ_CHUNK && i < n && *more; seen++) {
		*more = cq_take(cq, &e, &ibqp);
		if (*more && ibqp)
			cq_translate(&e, ibqp, wc + i++);
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
		 READ_ONCE(hdr->cons) != cq->prod;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}
