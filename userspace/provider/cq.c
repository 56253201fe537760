// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Completion queues.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpa.h"

/*
 * Responses of CREATE_CQ and RESIZE_CQ: the RDMA core's part, then the part of
 * this driver. The core's may end in an array without a size, so it cannot be
 * followed by a member of a structure.
 */
struct mpa_uverbs_create_cq_resp {
	struct ib_uverbs_ex_create_cq_resp core;
	struct mpa_create_cq_resp drv;
};

union mpa_uverbs_resize_cq_resp {
	struct ib_uverbs_resize_cq_resp core;
	struct {
		uint8_t skip[sizeof(struct ib_uverbs_resize_cq_resp)];
		struct mpa_create_cq_resp drv;
	};
};

static_assert(offsetof(struct mpa_uverbs_create_cq_resp, drv) ==
	      sizeof(struct ib_uverbs_ex_create_cq_resp), "create_cq response");
static_assert(offsetof(union mpa_uverbs_resize_cq_resp, drv) ==
	      sizeof(struct ib_uverbs_resize_cq_resp), "resize_cq response");

static uint32_t cq_stride(const struct mpa_cq *cq)
{
	return cq->timed ? sizeof(struct mpa_cqe_timed) : sizeof(struct mpa_cqe);
}

/* Maps a new ring, whose memory may have been reserved. */
static int cq_map(const struct mpa_cq *cq, struct mpa_area *area,
		  struct mpa_ring *ring, int fd,
		  const struct mpa_create_cq_resp *drv)
{
	uint32_t stride = cq_stride(cq);
	int ret = mpa_ring_plan(ring, drv->num_cqe, stride, stride, drv->ring_len);

	if (!ret && !ring->entries)
		ret = EPROTO;
	if (!ret)
		ret = mpa_area_map(area, fd, drv->cq_key, drv->ring_len);
	if (!ret)
		mpa_ring_place(ring, area, 0);
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

	ret = cq_map(cq, &cq->area, &cq->ring, ibctx->cmd_fd, &resp.drv);
	if (ret) {
		mpa_err(to_mpa_context(ibctx),
			"cannot map a completion queue: error %d", ret);
		ibv_cmd_destroy_cq(&cq->base.cq);
	}
	return ret;
}

static struct mpa_cq *cq_create(struct ibv_context *ibctx,
				const struct ibv_cq_init_attr_ex *attr,
				bool timed)
{
	struct mpa_cq *cq = calloc(1, sizeof(*cq));
	int ret;

	if (!cq) {
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_init(&cq->lock, NULL);
	cq->timed = timed;

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
	cq = cq_create(ibctx, &attr, false);
	return cq ? &cq->base.cq : NULL;
}

#define CQ_TIMES ((uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |	\
		  (uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define CQ_FLAGS (IBV_CREATE_CQ_ATTR_SINGLE_THREADED |		\
		  IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)

/**
 * mpa_create_cq_ex() - ibv_create_cq_ex(3)
 * @ibctx: open device
 * @attr: what is wanted
 *
 * Return: the queue, or NULL and errno (%EOPNOTSUPP if something is not supported,
 * %EINVAL if there should be a parent domain, and it is not one).
 */
struct ibv_cq_ex *mpa_create_cq_ex(struct ibv_context *ibctx,
				   struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_init_attr_ex core = *attr;
	uint32_t flags = 0;
	struct mpa_cq *cq;

	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		flags = attr->flags;
	if (attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS |
				IBV_CQ_INIT_ATTR_MASK_PD) ||
	    attr->wc_flags & ~(IBV_WC_STANDARD_FLAGS | CQ_TIMES) ||
	    flags & ~CQ_FLAGS) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    !mpa_pd_is_parent(attr->parent_domain)) {
		errno = EINVAL;
		return NULL;
	}

	/* What concerns user space alone is not for the kernel. */
	core.flags = flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	core.comp_mask = core.flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0;
	cq = cq_create(ibctx, &core, attr->wc_flags & CQ_TIMES);
	if (!cq)
		return NULL;
	cq->unlocked = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED ||
		       (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
			mpa_pd_one_thread(attr->parent_domain));
	mpa_cq_set_ex_ops(&cq->base.cq_ex);
	return &cq->base.cq_ex;
}

/* Bytes that the kernel's memory for a ring of so many entries has. */
static size_t cq_ring_len(const struct mpa_cq *cq, uint32_t cqe)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), entries = 1;

	while (entries < cqe)
		entries *= 2;
	return (MPA_RING_HDR_LEN + entries * cq_stride(cq) + page - 1) / page * page;
}

/* Maps the ring that the kernel uses; *area is then the memory before it. */
static int cq_replace(struct mpa_cq *cq, struct mpa_area *area,
		      const struct mpa_create_cq_resp *drv)
{
	int fd = cq->base.cq.context->cmd_fd;
	struct mpa_area old = cq->resized;
	struct mpa_ring ring;
	int ret;

	ret = cq_map(cq, area, &ring, fd, drv);
	if (ret)
		return ret;
	cq->resized = *area;
	cq->ring.slots = ring.slots;
	cq->ring.entries = ring.entries;
	*area = old;
	return 0;
}

static int cq_resize(struct mpa_cq *cq, int cqe, struct mpa_area *area)
{
	union mpa_uverbs_resize_cq_resp resp = { .drv = { 0 } };
	struct ibv_resize_cq cmd = { 0 };
	int ret;

	ret = ibv_cmd_resize_cq(&cq->base.cq, cqe, &cmd, sizeof(cmd),
				&resp.core, sizeof(resp));
	if (ret)
		return ret;
	ret = cq_replace(cq, area, &resp.drv);
	if (ret) {
		/* The kernel uses the new ring: the old one must not be read. */
		cq->ring.entries = 0;
		/* What is not as expected is not mapped later, either. */
		cq->unmapped = ret == EPROTO ? (struct mpa_create_cq_resp){ 0 } :
					       resp.drv;
	}
	return ret;
}

/**
 * mpa_cq_map_again() - map a ring for which there was no memory
 * @cq: a queue whose ring has no entries; its lock is held
 *
 * The kernel has put all completions into it, so none is lost. If there is still no
 * memory, the ring stays without entries.
 */
void mpa_cq_map_again(struct mpa_cq *cq)
{
	struct mpa_area area = { 0 };

	if (!cq_replace(cq, &area, &cq->unmapped))
		mpa_area_unmap(&area);
}

/**
 * mpa_resize_cq() - ibv_resize_cq(3)
 * @ibcq: the queue; its completions stay in it
 * @cqe: entries wanted
 *
 * The header of the ring stays where it is: threads look at it and ask for
 * events without the lock.
 *
 * Return: 0, or a positive errno; %EINVAL if completions in the queue do not fit.
 * If there is no memory to map the new ring, the queue has its new size all the same,
 * and polling fails until the ring can be mapped.
 */
int mpa_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct mpa_cq *cq = to_mpa_cq(ibcq);
	struct mpa_area area;
	int ret;

	if (cqe <= 0)
		return EINVAL;
	ret = mpa_area_reserve(&area, cq_ring_len(cq, (uint32_t)cqe));
	if (ret)
		return ret;
	mpa_cq_lock(cq);
	ret = cq_resize(cq, cqe, &area);
	mpa_cq_unlock(cq);
	mpa_area_unmap(&area);
	return ret;
}

/**
 * mpa_modify_cq() - ibv_modify_cq(3)
 * @ibcq: the queue
 * @attr: how many completions raise an event together, and after which time
 *	fewer do
 *
 * Return: 0 or a positive errno.
 */
int mpa_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = { 0 };

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
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
	mpa_area_unmap(&cq->resized);
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
 * Return: completions found, or -EIO if the shared ring is out of order or not mapped.
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
	if (mpa_ring_empty(cq->ring.hdr,
			   __atomic_load_n(&cq->cons, __ATOMIC_RELAXED)))
		return 0;

	mpa_cq_lock(cq);
	ready = mpa_cq_ready(cq);
	for (; found < num_entries && found < ready; found++)
		mpa_wc_fill(mpa_ring_slot(&cq->ring, cq->cons + (uint32_t)found),
			    wc + found);
	if (found)
		mpa_cq_consume(cq, cq->cons + (uint32_t)found);
	mpa_cq_unlock(cq);

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
	mpa_ring_arm(to_mpa_cq(ibcq)->ring.hdr,
		     solicited_only ? MPA_ARM_SOLICITED : MPA_ARM_NEXT);
	return 0;
}

/**
 * mpa_cq_purge() - forget the completions of a queue pair
 * @cq: a completion queue of it
 * @qp_num: number of the queue pair; the kernel produces no more entries for it
 *
 * Not if its ring could not be mapped, see mpa_cq_map_again(): then a later poll
 * finds them. The published entries belong to this side until it gives them back, so the
 * others can be moved towards the producer, over those that go.
 */
void mpa_cq_purge(struct mpa_cq *cq, uint32_t qp_num)
{
	int64_t ready;
	uint32_t keep, i;

	mpa_cq_lock(cq);
	ready = mpa_cq_ready(cq);
	if (ready <= 0)
		goto unlock;

	i = cq->cons + (uint32_t)ready;
	keep = i;
	while (i != cq->cons) {
		const struct mpa_cqe *cqe = mpa_ring_slot(&cq->ring, --i);

		if (cqe->qp_num == qp_num)
			continue;
		if (--keep != i)
			memcpy(mpa_ring_slot(&cq->ring, keep), cqe,
			       cq->ring.stride);
	}
	mpa_cq_consume(cq, keep);
unlock:
	mpa_cq_unlock(cq);
}
