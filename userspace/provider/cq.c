// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Completion queues.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "mpa.h"

/* Response of CREATE_CQ: the RDMA core's part, then the part of this driver. */
struct mpa_uverbs_create_cq_resp {
	struct ib_uverbs_ex_create_cq_resp core;
	struct mpa_create_cq_resp drv;
};

static_assert(offsetof(struct mpa_uverbs_create_cq_resp, drv) ==
	      sizeof(struct ib_uverbs_ex_create_cq_resp), "create_cq response");

static int map_queue(struct mpa_cq *cq, int fd,
		     const struct mpa_create_cq_resp *drv)
{
	int ret = mpa_ring_plan(&cq->ring, drv->num_cqe, sizeof(struct mpa_cqe),
				sizeof(struct mpa_cqe), drv->ring_len);

	if (!ret && !cq->ring.entries)
		ret = EPROTO;
	if (!ret)
		ret = mpa_area_map(&cq->area, fd, drv->cq_key, drv->ring_len);
	if (!ret)
		mpa_ring_place(&cq->ring, &cq->area, 0);
	return ret;
}

static int cq_command(struct ibv_context *ibctx,
		      const struct ibv_cq_init_attr_ex *attr, struct mpa_cq *cq)
{
	struct mpa_uverbs_create_cq_resp resp = { 0 };
	struct ibv_create_cq_ex cmd = { 0 };
	int ret;

	ret = mpa_cmd_create_cq(ibctx, attr, &cq->base, &cmd, sizeof(cmd),
				&resp.core, sizeof(resp));
	if (ret)
		return ret;

	ret = map_queue(cq, ibctx->cmd_fd, &resp.drv);
	if (ret) {
		mpa_err(to_mpa_context(ibctx),
			"cannot map a completion queue: error %d", ret);
		ibv_cmd_destroy_cq(&cq->base.cq);
	}
	return ret;
}

static struct mpa_cq *cq_create(struct ibv_context *ibctx,
				const struct ibv_cq_init_attr_ex *attr)
{
	struct mpa_cq *cq = calloc(1, sizeof(*cq));
	int ret;

	if (!cq) {
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_init(&cq->lock, NULL);

	ret = cq_command(ibctx, attr, cq);
	if (!ret)
		return cq;

	pthread_mutex_destroy(&cq->lock);
	free(cq);
	errno = ret;
	return NULL;
}

/**
 * mpa_create_cq() - ibv_create_cq(3)
 * @ibctx: open device
 * @cqe: entries wanted
 * @channel: where events go, or NULL
 * @comp_vector: interrupt vector, ignored
 *
 * Return: the queue, or NULL and errno.
 */
struct ibv_cq *mpa_create_cq(struct ibv_context *ibctx, int cqe,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe < 0 ? 0 : (uint32_t)cqe,
		.channel = channel,
		.comp_vector = comp_vector < 0 ? 0 : (uint32_t)comp_vector,
	};
	struct mpa_cq *cq;

	if (cqe < 0 || comp_vector < 0) {
		errno = EINVAL;
		return NULL;
	}
	cq = cq_create(ibctx, &attr);
	return cq ? &cq->base.cq : NULL;
}

/**
 * mpa_create_cq_ex() - ibv_create_cq_ex(3)
 * @ibctx: open device
 * @attr: what is wanted; no time stamps, no ignored overruns
 *
 * Return: the queue, or NULL and errno (%EOPNOTSUPP if something is not supported).
 */
struct ibv_cq_ex *mpa_create_cq_ex(struct ibv_context *ibctx,
				   struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_init_attr_ex core = *attr;
	uint32_t flags = 0;
	struct mpa_cq *cq;

	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		flags = attr->flags;
	if (attr->comp_mask & ~IBV_CQ_INIT_ATTR_MASK_FLAGS ||
	    attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS ||
	    flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	/* The only supported flag concerns user space alone. */
	core.comp_mask = 0;
	core.flags = 0;
	cq = cq_create(ibctx, &core);
	if (!cq)
		return NULL;
	cq->unlocked = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	mpa_cq_set_ex_ops(&cq->base.cq_ex);
	return &cq->base.cq_ex;
}

/**
 * mpa_destroy_cq() - ibv_destroy_cq(3)
 * @ibcq: the queue; gone on success
 *
 * Return: 0 or a positive errno.
 */
int mpa_destroy_cq(struct ibv_cq *ibcq)
{
	struct mpa_cq *cq = to_mpa_cq(ibcq);
	int ret = ibv_cmd_destroy_cq(ibcq);

	if (ret)
		return ret;
	mpa_area_unmap(&cq->area);
	pthread_mutex_destroy(&cq->lock);
	free(cq);
	return 0;
}

/**
 * mpa_poll_cq() - ibv_poll_cq(3)
 * @ibcq: the queue
 * @num_entries: room in @wc
 * @wc: filled in
 *
 * Return: completions found, or -EIO if the shared ring is out of order.
 */
int mpa_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct mpa_cq *cq = to_mpa_cq(ibcq);
	int64_t ready;
	int found = 0;

	/*
	 * A program that polls for a completion finds the ring empty most of
	 * the time. Other threads may be ahead of both indices; if these are
	 * equal, every completion before prod was taken all the same.
	 */
	if (!mpa_ring_ready(&cq->ring, __atomic_load_n(&cq->cons,
						       __ATOMIC_RELAXED)))
		return 0;

	pthread_mutex_lock(&cq->lock);
	ready = mpa_ring_ready(&cq->ring, cq->cons);
	for (; found < num_entries && found < ready; found++)
		mpa_wc_fill(mpa_ring_slot(&cq->ring, cq->cons + (uint32_t)found),
			    wc + found);
	if (found)
		mpa_cq_consume(cq, cq->cons + (uint32_t)found);
	pthread_mutex_unlock(&cq->lock);

	return ready < 0 ? -EIO : found;
}

/**
 * mpa_req_notify_cq() - ibv_req_notify_cq(3)
 * @ibcq: the queue
 * @solicited_only: whether only solicited completions and errors count
 *
 * Return: 0.
 */
int mpa_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	mpa_ring_arm(&to_mpa_cq(ibcq)->ring,
		     solicited_only ? MPA_ARM_SOLICITED : MPA_ARM_NEXT);
	return 0;
}

/**
 * mpa_cq_purge() - forget the completions of a queue pair
 * @cq: a completion queue of it
 * @qp_num: number of the queue pair; the kernel produces no more entries for it
 *
 * The published entries belong to this side until it gives them back, so the
 * others can be moved towards the producer, over those that go.
 */
void mpa_cq_purge(struct mpa_cq *cq, uint32_t qp_num)
{
	int64_t ready;
	uint32_t keep, i;

	pthread_mutex_lock(&cq->lock);
	ready = mpa_ring_ready(&cq->ring, cq->cons);
	if (ready <= 0)
		goto unlock;

	i = cq->cons + (uint32_t)ready;
	keep = i;
	while (i != cq->cons) {
		const struct mpa_cqe *cqe = mpa_ring_slot(&cq->ring, --i);

		if (cqe->qp_num == qp_num)
			continue;
		if (--keep != i)
			*(struct mpa_cqe *)mpa_ring_slot(&cq->ring, keep) = *cqe;
	}
	mpa_cq_consume(cq, keep);
unlock:
	pthread_mutex_unlock(&cq->lock);
}
