// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Queue pairs: creation, state, destruction.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "mpa.h"

/* Response of CREATE_QP: the RDMA core's part, then the part of this driver. */
struct mpa_uverbs_create_qp_resp {
	struct ib_uverbs_create_qp_resp core;
	struct mpa_create_qp_resp drv;
};

static_assert(offsetof(struct mpa_uverbs_create_qp_resp, drv) ==
	      sizeof(struct ib_uverbs_create_qp_resp), "create_qp response");

static uint32_t least_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The send ring ends where the receive ring begins. */
static int plan_rings(struct mpa_qp *qp, const struct mpa_create_qp_resp *drv)
{
	int ret;

	if (drv->rq_offset > drv->len || drv->rq_offset % MPA_RING_ALIGN)
		return EPROTO;
	ret = mpa_ring_plan(&qp->sq.ring, drv->num_sqe, drv->sqe_stride,
			    sizeof(struct mpa_sqe), drv->rq_offset);
	if (ret)
		return ret;
	return mpa_ring_plan(&qp->rq.ring, drv->num_rqe, drv->rqe_stride,
			     sizeof(struct mpa_rqe),
			     drv->len - drv->rq_offset);
}

static int map_queues(struct mpa_qp *qp, int fd,
		      const struct mpa_create_qp_resp *drv,
		      const struct ibv_qp_cap *cap)
{
	uint32_t sq_room;
	int ret;

	ret = plan_rings(qp, drv);
	if (ret)
		return ret;
	ret = mpa_area_map(&qp->rings, fd, drv->key, drv->len);
	if (ret)
		return ret;
	mpa_ring_place(&qp->sq.ring, &qp->rings, 0);
	mpa_ring_place(&qp->rq.ring, &qp->rings, drv->rq_offset);

	/* What is granted must also fit into an entry. */
	sq_room = qp->sq.ring.entries ?
		  drv->sqe_stride - sizeof(struct mpa_sqe) : 0;
	qp->sq.max_sge = least_u32(cap->max_send_sge,
				   sq_room / sizeof(struct mpa_sge));
	qp->rq.max_sge = mpa_rq_sges(&qp->rq.ring, cap->max_recv_sge);
	qp->max_inline = least_u32(drv->max_inline, sq_room);
	qp->doorbell = drv->doorbell;
	return 0;
}

static int qp_command(struct mpa_context *ctx, struct ibv_qp_init_attr_ex *attr,
		      struct mpa_qp *qp)
{
	struct ibv_context *ibctx = &ctx->base.context;
	struct mpa_uverbs_create_qp_resp resp = { 0 };
	struct ibv_qp_init_attr_ex core = *attr;
	struct ibv_create_qp cmd = { 0 };
	int ret;

	core.comp_mask = IBV_QP_INIT_ATTR_PD;
	ret = ibv_cmd_create_qp_ex(ibctx, &qp->base, &core, &cmd, sizeof(cmd),
				   &resp.core, sizeof(resp));
	if (ret)
		return ret;

	ret = map_queues(qp, ibctx->cmd_fd, &resp.drv, &core.cap);
	if (ret) {
		mpa_err(ctx, "cannot map a queue pair: error %d", ret);
		ibv_cmd_destroy_qp(&qp->base.qp);
		return ret;
	}
	attr->cap = core.cap;
	return 0;
}

static void qp_free(struct mpa_qp *qp)
{
	mpa_wq_uninit(&qp->rq);
	mpa_wq_uninit(&qp->sq);
	mpa_area_unmap(&qp->rings);
	free(qp);
}

static struct mpa_qp *qp_create(struct mpa_context *ctx,
				struct ibv_qp_init_attr_ex *attr)
{
	struct mpa_qp *qp = calloc(1, sizeof(*qp));
	int ret;

	if (!qp) {
		errno = ENOMEM;
		return NULL;
	}
	mpa_wq_init(&qp->sq);
	mpa_wq_init(&qp->rq);
	qp->sq_sig_all = attr->sq_sig_all;

	ret = qp_command(ctx, attr, qp);
	if (!ret)
		return qp;

	qp_free(qp);
	errno = ret;
	return NULL;
}

/*
 * Some releases of rdma-core with the same private ABI differ in the functions of
 * struct ibv_qp_ex. libibverbs of another one does not find the mask that says that
 * there is an extended interface.
 */
static int qp_extend(struct mpa_context *ctx, struct mpa_qp *qp)
{
	mpa_qp_set_wr_ops(&qp->base.qp_ex);
	qp->base.comp_mask |= VERBS_QP_EX;
	if (ibv_qp_to_qp_ex(&qp->base.qp) == &qp->base.qp_ex)
		return 0;
	mpa_err(ctx, "no extended queue pairs: built for another release of rdma-core");
	return EOPNOTSUPP;
}

/* Refuse what no iWARP device supports before the kernel is called. */
static int check_attr(const struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->send_cq ||
	    !attr->recv_cq)
		return EINVAL;
	if (attr->comp_mask & ~(IBV_QP_INIT_ATTR_PD |
				IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
				IBV_QP_INIT_ATTR_CREATE_FLAGS) ||
	    attr->qp_type != IBV_QPT_RC)
		return EOPNOTSUPP;
	/* A field with no flag set has the same meaning as an absent field. */
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	    attr->create_flags)
		return EOPNOTSUPP;
	return 0;
}

/**
 * mpa_create_qp_ex() - ibv_create_qp_ex(3)
 * @ibctx: open device
 * @attr: what is wanted; the capabilities become what was granted
 *
 * Return: the queue pair, or NULL and errno (%EOPNOTSUPP if something is not
 * supported).
 */
struct ibv_qp *mpa_create_qp_ex(struct ibv_context *ibctx,
				struct ibv_qp_init_attr_ex *attr)
{
	bool ex = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct mpa_qp *qp;
	int ret = check_attr(attr);

	if (!ret && ex)
		ret = mpa_qp_check_wr_ops(to_mpa_context(ibctx),
					  attr->send_ops_flags);
	if (ret) {
		errno = ret;
		return NULL;
	}

	qp = qp_create(to_mpa_context(ibctx), attr);
	if (!qp)
		return NULL;
	ret = ex ? qp_extend(to_mpa_context(ibctx), qp) : 0;
	if (ret) {
		ibv_cmd_destroy_qp(&qp->base.qp);
		qp_free(qp);
		errno = ret;
		return NULL;
	}
	return &qp->base.qp;
}

/**
 * mpa_create_qp() - ibv_create_qp(3)
 * @pd: protection domain
 * @attr: what is wanted; the capabilities become what was granted
 *
 * Return: the queue pair, or NULL and errno.
 */
struct ibv_qp *mpa_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = mpa_create_qp_ex(pd->context, &attr_ex);

	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

static void purge_completions(struct ibv_qp *ibqp)
{
	mpa_cq_purge(to_mpa_cq(ibqp->recv_cq), ibqp->qp_num);
	if (ibqp->send_cq != ibqp->recv_cq)
		mpa_cq_purge(to_mpa_cq(ibqp->send_cq), ibqp->qp_num);
}

/**
 * mpa_modify_qp() - ibv_modify_qp(3)
 * @ibqp: the queue pair
 * @attr: new values
 * @mask: which of them
 *
 * Return: 0 or a positive errno.
 */
int mpa_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = { 0 };
	int ret = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));

	if (!ret && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		purge_completions(ibqp);
	return ret;
}

/**
 * mpa_query_qp() - ibv_query_qp(3)
 * @ibqp: the queue pair
 * @attr: filled in
 * @mask: what the caller needs at least
 * @init_attr: filled in
 *
 * Return: 0 or a positive errno.
 */
int mpa_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = { 0 };

	return ibv_cmd_query_qp(ibqp, attr, mask, init_attr, &cmd, sizeof(cmd));
}

/**
 * mpa_destroy_qp() - ibv_destroy_qp(3)
 * @ibqp: the queue pair; gone on success, with its completions
 *
 * No lock prevents another thread from creating a queue pair between the two
 * steps: the first step waits until the program has acknowledged all events,
 * and holding a lock could stop it from doing so. The kernel hands out numbers
 * in turn, so a number that was just freed is not reused soon.
 *
 * Return: 0 or a positive errno.
 */
int mpa_destroy_qp(struct ibv_qp *ibqp)
{
	int ret = ibv_cmd_destroy_qp(ibqp);

	if (ret)
		return ret;
	purge_completions(ibqp);
	qp_free(to_mpa_qp(ibqp));
	return 0;
}
