// SPDX-License-Identifier: GPL-2.0-only
/* Shared receive queues: create, modify, query, destroy, post. */
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "ring.h"
#include "rqe.h"
#include "srq.h"
#include "srq_verbs.h"
#include "ucontext.h"

static int srq_check(const struct ib_srq_init_attr *attr)
{
	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr || attr->attr.max_wr > RNIC_MAX_SRQ_WR ||
	    attr->attr.max_sge > MPA_MAX_SGE)
		return -EINVAL;
	return 0;
}

static int srq_respond(const struct rnic_srq *srq, struct ib_udata *udata)
{
	struct mpa_create_srq_resp resp = {
		.key = rnic_area_key(&srq->area),
		.len = srq->area.len,
		.num_rqe = srq->ring.size,
		.rqe_stride = srq->ring.stride,
	};

	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static int srq_init(struct rnic_srq *srq, const struct ib_srq_attr *attr,
		    struct ib_udata *udata)
{
	struct rnic_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct rnic_ucontext, ibuctx);
	u64 len;
	int ret;

	srq->user = udata;
	srq->max_sge = max_t(u32, attr->max_sge, 1);
	spin_lock_init(&srq->lock);
	len = rnic_ring_plan(&srq->ring, attr->max_wr,
			     rnic_rqe_stride(srq->max_sge));
	ret = rnic_area_create(&srq->area, RNIC_OWNED_QP,
			       uctx ? &uctx->ibuctx : NULL, len);
	if (ret)
		return ret;
	rnic_ring_place(&srq->ring, &srq->area, 0);
	if (udata) {
		ret = srq_respond(srq, udata);
		if (ret)
			rnic_area_destroy(&srq->area);
	}
	return ret;
}

/**
 * rnic_create_srq() - verbs: create_srq
 * @ibsrq: the queue, zeroed but for what the core has filled in
 * @attr: how many entries and pieces; these are set to those granted. A limit is
 *	ignored: it is set with modify_srq, when there are entries
 * @udata: room for struct mpa_create_srq_resp, or NULL: kernel consumer
 *
 * A user's queue counts as a queue pair (setting user-qp-max).
 *
 * Return: 0; -EOPNOTSUPP: not of the basic type; -EINVAL: no entries, or beyond
 * the limits, no room for the response, or unknown input of the provider;
 * -ENOMEM: no memory, or the device or the context has reached its limit;
 * -EFAULT.
 */
int rnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata)
{
	struct rnic_dev *dev = to_rnic_dev(ibsrq->device);
	struct rnic_srq *srq = to_rnic_srq(ibsrq);
	int ret;

	ret = srq_check(attr);
	if (ret)
		return ret;
	if (udata && udata->outlen < sizeof(struct mpa_create_srq_resp))
		return -EINVAL;
	if (!rnic_udata_clear(udata))
		return -EINVAL;
	if (!rnic_dev_reserve(&dev->nr_srq, RNIC_MAX_SRQ))
		return -ENOMEM;
	ret = srq_init(srq, &attr->attr, udata);
	if (ret) {
		atomic_dec(&dev->nr_srq);
		return ret;
	}
	attr->attr.max_wr = srq->ring.size;
	attr->attr.max_sge = srq->max_sge;
	return 0;
}

/**
 * rnic_modify_srq() - verbs: modify_srq
 * @ibsrq: the queue
 * @attr: new attributes
 * @mask: which ones
 * @udata: input of the provider, which must be zero; NULL for kernel consumers
 *
 * Return: 0; -EOPNOTSUPP: another size (%IB_SRQ_MAX_WR), or unknown attributes;
 * -EINVAL: a limit above the size, or unknown input of the provider.
 */
int rnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rnic_srq *srq = to_rnic_srq(ibsrq);

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!rnic_udata_clear(udata))
		return -EINVAL;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->ring.size)
		return -EINVAL;
	rnic_srq_set_limit(srq, attr->srq_limit);
	return 0;
}

/**
 * rnic_query_srq() - verbs: query_srq
 * @ibsrq: the queue
 * @attr: filled in; a limit that was reached is 0
 *
 * Return: 0.
 */
int rnic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct rnic_srq *srq = to_rnic_srq(ibsrq);

	attr->max_wr = srq->ring.size;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

/**
 * rnic_destroy_srq() - verbs: destroy_srq
 * @ibsrq: the queue; the core has checked that no queue pair uses it any more
 * @udata: unused
 *
 * Return: 0.
 */
int rnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct rnic_srq *srq = to_rnic_srq(ibsrq);
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	srq->dead = true;
	spin_unlock_irqrestore(&srq->lock, flags);
	rnic_area_destroy(&srq->area);
	atomic_dec(&to_rnic_dev(ibsrq->device)->nr_srq);
	return 0;
}

/**
 * rnic_post_srq_recv() - verbs: post_srq_recv of kernel consumers
 * @ibsrq: the queue
 * @wr: work requests
 * @bad: the first request refused
 *
 * Any context.
 *
 * Return: 0, -EINVAL (malformed, or a call of a user), -ENOMEM (queue full).
 */
int rnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct rnic_srq *srq = to_rnic_srq(ibsrq);
	unsigned long flags;
	int ret = 0;

	if (srq->user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&srq->lock, flags);
	for (; wr; wr = wr->next) {
		ret = rnic_rqe_post(&srq->ring, srq->max_sge, wr);
		if (ret) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return ret;
}
