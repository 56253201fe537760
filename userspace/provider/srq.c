// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Shared receive queues. ibv_create_srq_ex(3) of the basic type comes here, too:
 * libibverbs turns it into ibv_create_srq(3), and refuses other types.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "mpa.h"

/*
 * Response of CREATE_SRQ: the RDMA core's part, then the part of this driver. The
 * core's ends in an array without a size, so it cannot be followed by a member of
 * a structure.
 */
union mpa_uverbs_create_srq_resp {
	struct ib_uverbs_create_srq_resp core;
	struct {
		uint8_t skip[sizeof(struct ib_uverbs_create_srq_resp)];
		struct mpa_create_srq_resp drv;
	};
};

static_assert(offsetof(union mpa_uverbs_create_srq_resp, drv) ==
	      sizeof(struct ib_uverbs_create_srq_resp), "create_srq response");

static int map_srq(struct mpa_srq *srq, int fd,
		   const struct mpa_create_srq_resp *drv,
		   const struct ibv_srq_attr *granted)
{
	struct mpa_ring *ring = &srq->rq.ring;
	int ret = mpa_ring_plan(ring, drv->num_rqe, drv->rqe_stride,
				sizeof(struct mpa_rqe), drv->len);

	if (!ret && !ring->entries)
		ret = EPROTO;
	if (!ret)
		ret = mpa_area_map(&srq->area, fd, drv->key, drv->len);
	if (ret)
		return ret;
	mpa_ring_place(ring, &srq->area, 0);
	srq->rq.max_sge = mpa_rq_sges(ring, granted->max_sge);
	return 0;
}

static int srq_command(struct ibv_pd *pd, struct ibv_srq_init_attr *attr,
		       struct mpa_srq *srq)
{
	union mpa_uverbs_create_srq_resp resp = { .drv = { 0 } };
	struct ibv_srq_init_attr core = *attr;
	struct ibv_create_srq cmd = { 0 };
	int ret;

	ret = ibv_cmd_create_srq(pd, &srq->base, &core, &cmd, sizeof(cmd),
				 &resp.core, sizeof(resp));
	if (ret)
		return ret;

	ret = map_srq(srq, pd->context->cmd_fd, &resp.drv, &core.attr);
	if (ret) {
		mpa_err(to_mpa_context(pd->context),
			"cannot map a shared receive queue: error %d", ret);
		ibv_cmd_destroy_srq(&srq->base);
		return ret;
	}
	attr->attr.max_wr = core.attr.max_wr;
	attr->attr.max_sge = core.attr.max_sge;
	return 0;
}

static void srq_free(struct mpa_srq *srq)
{
	mpa_wq_uninit(&srq->rq);
	mpa_area_unmap(&srq->area);
	free(srq);
}

/**
 * mpa_create_srq() - ibv_create_srq(3)
 * @pd: protection domain, also of the regions that receives name
 * @attr: what is wanted; sizes become what was granted, a limit is ignored
 *
 * Return: the queue, or NULL and errno (%EOPNOTSUPP: the modules are of a release
 * that has no shared receive queues).
 */
struct ibv_srq *mpa_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct mpa_srq *srq;
	int ret;

	if (!(to_mpa_context(pd->context)->features & MPA_FEATURE_SRQ)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq) {
		errno = ENOMEM;
		return NULL;
	}
	mpa_wq_init(&srq->rq);

	ret = srq_command(pd, attr, srq);
	if (!ret)
		return &srq->base;

	srq_free(srq);
	errno = ret;
	return NULL;
}

/**
 * mpa_modify_srq() - ibv_modify_srq(3)
 * @ibsrq: the queue
 * @attr: new values
 * @mask: which of them; %IBV_SRQ_MAX_WR is not supported
 *
 * Return: 0 or a positive errno.
 */
int mpa_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd = { 0 };

	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
}

/**
 * mpa_query_srq() - ibv_query_srq(3)
 * @ibsrq: the queue
 * @attr: filled in
 *
 * Return: 0 or a positive errno.
 */
int mpa_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = { 0 };

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

/**
 * mpa_destroy_srq() - ibv_destroy_srq(3)
 * @ibsrq: the queue; gone on success
 *
 * Return: 0 or a positive errno (%EBUSY: queue pairs use it).
 */
int mpa_destroy_srq(struct ibv_srq *ibsrq)
{
	int ret = ibv_cmd_destroy_srq(ibsrq);

	if (ret)
		return ret;
	srq_free(to_mpa_srq(ibsrq));
	return 0;
}
