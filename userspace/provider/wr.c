// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The ibv_wr functions: work requests built in place.
 *
 * The lock of the send queue is held from wr_start() to wr_complete() or
 * wr_abort(). The first error is kept; it undoes the whole batch.
 */
#include <errno.h>

#include "mpa.h"

static void wr_fail(struct mpa_qp *qp, int err)
{
	if (err && !qp->wr_err)
		qp->wr_err = err;
}

/*
 * The entry that was begun, or NULL, in which case the setters do nothing
 * either.
 */
static struct mpa_sqe *wr_begin(struct ibv_qp_ex *ibqp,
				enum ibv_wr_opcode opcode)
{
	struct mpa_qp *qp = to_mpa_qp_ex(ibqp);
	/* A setter does the inlining; the flag has no further effect. */
	unsigned int flags = ibqp->wr_flags & ~(unsigned int)IBV_SEND_INLINE;

	qp->wr_sqe = NULL;
	if (qp->wr_err)
		return NULL;
	wr_fail(qp, mpa_sqe_start(qp, opcode, flags, &qp->wr_sqe));
	if (qp->wr_sqe) {
		qp->wr_sqe->wr_id = ibqp->wr_id;
		qp->sq.next++;
	}
	return qp->wr_sqe;
}

static void wr_send(struct ibv_qp_ex *ibqp)
{
	wr_begin(ibqp, IBV_WR_SEND);
}

static void wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	struct mpa_sqe *sqe = wr_begin(ibqp, IBV_WR_SEND_WITH_INV);

	if (sqe)
		mpa_sqe_set_stag(sqe, invalidate_rkey);
}

static void wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	struct mpa_sqe *sqe = wr_begin(ibqp, IBV_WR_LOCAL_INV);

	if (sqe)
		mpa_sqe_set_stag(sqe, invalidate_rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct mpa_sqe *sqe = wr_begin(ibqp, IBV_WR_BIND_MW);

	if (!sqe)
		return;
	wr_fail(to_mpa_qp_ex(ibqp), mw->type == IBV_MW_TYPE_2 ?
		mpa_sqe_set_bind(sqe, mw, rkey, info) : EINVAL);
}

static void wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
			  uint64_t remote_addr)
{
	struct mpa_sqe *sqe = wr_begin(ibqp, IBV_WR_RDMA_WRITE);

	if (sqe)
		mpa_sqe_set_remote(sqe, remote_addr, rkey);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	struct mpa_sqe *sqe = wr_begin(ibqp, IBV_WR_RDMA_WRITE_WITH_IMM);

	if (!sqe)
		return;
	mpa_sqe_set_remote(sqe, remote_addr, rkey);
	mpa_sqe_set_imm(sqe, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
			 uint64_t remote_addr)
{
	struct mpa_sqe *sqe = wr_begin(ibqp, IBV_WR_RDMA_READ);

	if (sqe)
		mpa_sqe_set_remote(sqe, remote_addr, rkey);
}

static void wr_atomic(struct ibv_qp_ex *ibqp, enum ibv_wr_opcode opcode,
		      uint32_t rkey, uint64_t remote_addr, uint64_t data,
		      uint64_t compare)
{
	struct mpa_sqe *sqe = wr_begin(ibqp, opcode);

	if (!sqe)
		return;
	mpa_sqe_set_remote(sqe, remote_addr, rkey);
	mpa_sqe_set_atomic(sqe, data, compare);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	wr_atomic(ibqp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, swap,
		  compare);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	wr_atomic(ibqp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
			    const struct ibv_sge *sges)
{
	struct mpa_qp *qp = to_mpa_qp_ex(ibqp);

	if (qp->wr_sqe)
		wr_fail(qp, mpa_sqe_set_sges(qp, qp->wr_sqe, num_sge, sges));
}

static void wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	wr_set_sge_list(ibqp, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t num_buf,
				    const struct ibv_data_buf *bufs)
{
	struct mpa_qp *qp = to_mpa_qp_ex(ibqp);

	if (qp->wr_sqe)
		wr_fail(qp, mpa_sqe_set_inline(qp, qp->wr_sqe, num_buf, bufs));
}

static void wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
			       size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ibqp, 1, &buf);
}

static void wr_start(struct ibv_qp_ex *ibqp)
{
	struct mpa_qp *qp = to_mpa_qp_ex(ibqp);

	pthread_mutex_lock(&qp->sq.lock);
	qp->wr_sqe = NULL;
	qp->wr_err = 0;
}

static void wr_abort(struct ibv_qp_ex *ibqp)
{
	struct mpa_qp *qp = to_mpa_qp_ex(ibqp);

	qp->wr_sqe = NULL;
	qp->sq.next = qp->sq.prod;
	pthread_mutex_unlock(&qp->sq.lock);
}

static int wr_complete(struct ibv_qp_ex *ibqp)
{
	struct mpa_qp *qp = to_mpa_qp_ex(ibqp);
	int ret = qp->wr_err;

	if (!ret)
		ret = mpa_sq_submit(qp);
	wr_abort(ibqp);
	return ret;
}

/**
 * mpa_qp_check_wr_ops() - whether some operations are supported
 * @ctx: the device
 * @send_ops_flags: IBV_QP_EX_WITH_*
 *
 * Return: 0, or %EOPNOTSUPP if one of them is not.
 */
int mpa_qp_check_wr_ops(const struct mpa_context *ctx, uint64_t send_ops_flags)
{
	uint64_t known = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV |
			 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
			 IBV_QP_EX_WITH_LOCAL_INV;

	if (ctx->features & MPA_FEATURE_MW)
		known |= IBV_QP_EX_WITH_BIND_MW;
	if (ctx->features & MPA_FEATURE_RFC7306)
		known |= IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	return send_ops_flags & ~known ? EOPNOTSUPP : 0;
}

/**
 * mpa_qp_set_wr_ops() - give a queue pair the ibv_wr functions
 * @qp: the queue pair
 */
void mpa_qp_set_wr_ops(struct ibv_qp_ex *qp)
{
	qp->wr_send = wr_send;
	qp->wr_send_inv = wr_send_inv;
	qp->wr_local_inv = wr_local_inv;
	qp->wr_bind_mw = wr_bind_mw;
	qp->wr_rdma_write = wr_rdma_write;
	qp->wr_rdma_write_imm = wr_rdma_write_imm;
	qp->wr_rdma_read = wr_rdma_read;
	qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp->wr_set_sge = wr_set_sge;
	qp->wr_set_sge_list = wr_set_sge_list;
	qp->wr_set_inline_data = wr_set_inline_data;
	qp->wr_set_inline_data_list = wr_set_inline_data_list;
	qp->wr_start = wr_start;
	qp->wr_complete = wr_complete;
	qp->wr_abort = wr_abort;
}
