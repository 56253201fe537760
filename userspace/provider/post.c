// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Posting of work requests, and the doorbell.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "mpa.h"

static_assert(sizeof(struct mpa_doorbell) == 32, "doorbell");

static int write_doorbell(const struct mpa_qp *qp, int fd)
{
	struct ib_uverbs_post_send_resp resp = { 0 };
	const struct mpa_doorbell bell = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(bell) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.qp_handle = qp->base.qp.handle,
			.wqe_size = sizeof(struct ib_uverbs_send_wr),
		},
	};
	const ssize_t n = write(fd, &bell, sizeof(bell));

	if (n < 0)
		return errno;
	return n == sizeof(bell) ? 0 : EIO;
}

/*
 * Without a doorbell. Of the two ways of the core write() is the
 * cheaper one, but the kernel refuses it to processes whose credentials have
 * changed since they opened the device, such as a daemon that drops its
 * privileges.
 */
static int post_nothing_by_either(struct mpa_qp *qp)
{
	struct mpa_context *ctx = to_mpa_context(qp->base.qp.context);
	struct ibv_send_wr *bad_wr;
	int ret;

	if (!__atomic_load_n(&ctx->doorbell_ioctl, __ATOMIC_RELAXED)) {
		ret = write_doorbell(qp, ctx->base.context.cmd_fd);
		if (ret != EACCES)
			return ret;
		__atomic_store_n(&ctx->doorbell_ioctl, true, __ATOMIC_RELAXED);
	}
	return ibv_cmd_post_send(&qp->base.qp, NULL, &bad_wr);
}

/*
 * write() is a cancellation point. A thread that ended here would leave the lock of the
 * queue behind, and entries without a doorbell. The core allocates memory for both ways:
 * without it they are tried again, since a caller takes ENOMEM for a full queue, and would
 * post the same requests twice.
 */
static int post_nothing(struct mpa_qp *qp)
{
	int state;
	int ret;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	do
		ret = post_nothing_by_either(qp);
	while (ret == EINTR || ret == ENOMEM);
	pthread_setcancelstate(state, &state);
	return ret;
}

static int ring_doorbell(struct mpa_qp *qp)
{
	int fd = to_mpa_context(qp->base.qp.context)->doorbell;

	if (fd < 0 || qp->doorbell == MPA_NO_DOORBELL)
		return post_nothing(qp);
	return ioctl(fd, MPA_DOORBELL_RING, qp->doorbell) ? errno : 0;
}

/**
 * mpa_sq_submit() - publish the entries between sq.prod and sq.next
 * @qp: queue pair; sq.lock is held
 *
 * An index never moves back, not even if the doorbell is refused: the kernel
 * may have seen it for another reason. A refusal means that the device or the
 * queue pair is gone, and that nothing will read the entries.
 *
 * Return: 0, or a positive errno if the doorbell was refused.
 */
int mpa_sq_submit(struct mpa_qp *qp)
{
	struct mpa_wq *sq = &qp->sq;

	if (sq->prod == sq->next)
		return 0;
	sq->prod = sq->next;
	mpa_ring_produce(&sq->ring, sq->prod);
	return ring_doorbell(qp);
}

/* Writes one entry; sq.lock is held. */
static int put_send(struct mpa_qp *qp, const struct ibv_send_wr *wr)
{
	struct mpa_sqe *sqe;
	int ret;

	ret = mpa_sqe_start(qp, wr->opcode, wr->send_flags, &sqe);
	if (ret)
		return ret;
	sqe->wr_id = wr->wr_id;

	switch (wr->opcode) {
	case IBV_WR_BIND_MW:
		if (wr->bind_mw.mw->type != IBV_MW_TYPE_2)
			return EINVAL;
		return mpa_sqe_set_bind(sqe, wr->bind_mw.mw, wr->bind_mw.rkey,
					&wr->bind_mw.bind_info);
	case IBV_WR_LOCAL_INV:
		mpa_sqe_set_stag(sqe, wr->invalidate_rkey);
		return 0;
	case IBV_WR_SEND_WITH_INV:
		mpa_sqe_set_stag(sqe, wr->invalidate_rkey);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		mpa_sqe_set_imm(sqe, wr->imm_data);
		mpa_sqe_set_remote(sqe, wr->wr.rdma.remote_addr,
				   wr->wr.rdma.rkey);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		mpa_sqe_set_atomic(sqe, wr->wr.atomic.compare_add, 0);
		mpa_sqe_set_remote(sqe, wr->wr.atomic.remote_addr,
				   wr->wr.atomic.rkey);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		mpa_sqe_set_atomic(sqe, wr->wr.atomic.swap,
				   wr->wr.atomic.compare_add);
		mpa_sqe_set_remote(sqe, wr->wr.atomic.remote_addr,
				   wr->wr.atomic.rkey);
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		mpa_sqe_set_remote(sqe, wr->wr.rdma.remote_addr,
				   wr->wr.rdma.rkey);
		break;
	default:
		break;
	}

	/* A negative number becomes one that is above every limit. */
	if (wr->send_flags & IBV_SEND_INLINE)
		return mpa_sqe_set_inline_sges(qp, sqe, (size_t)wr->num_sge,
					       wr->sg_list);
	return mpa_sqe_set_sges(qp, sqe, (size_t)wr->num_sge, wr->sg_list);
}

/**
 * mpa_post_send() - ibv_post_send(3)
 * @ibqp: the queue pair
 * @wr: list of work requests
 * @bad_wr: on error, the first one that was not posted
 *
 * Return: 0, %EINVAL for an invalid request, %EOPNOTSUPP for one that the
 * connection does not carry, %ENOMEM if the queue is full, or the positive errno
 * with which the kernel refused the doorbell.
 */
int mpa_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct mpa_qp *qp = to_mpa_qp(ibqp);
	struct ibv_send_wr *first = wr;
	int ret = 0, refused;

	pthread_mutex_lock(&qp->sq.lock);
	for (; wr; wr = wr->next) {
		ret = put_send(qp, wr);
		if (ret)
			break;
		qp->sq.next++;
	}
	refused = mpa_sq_submit(qp);
	pthread_mutex_unlock(&qp->sq.lock);

	if (refused) {
		ret = refused;
		wr = first;
	}
	if (ret)
		*bad_wr = wr;
	return ret;
}

/* Writes one entry; rq.lock is held. */
static int put_recv(struct mpa_wq *rq, const struct ibv_recv_wr *wr)
{
	struct mpa_rqe *rqe;
	uint64_t total = 0;
	int i;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge ||
	    (wr->num_sge && !wr->sg_list))
		return EINVAL;
	if (!mpa_ring_room(&rq->ring, rq->next))
		return ENOMEM;

	rqe = mpa_ring_slot(&rq->ring, rq->next);
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = (uint32_t)wr->num_sge;
	rqe->reserved = 0;
	for (i = 0; i < wr->num_sge; i++) {
		total += wr->sg_list[i].length;
		rqe->sge[i] = (struct mpa_sge){
			.addr = wr->sg_list[i].addr,
			.length = wr->sg_list[i].length,
			.lkey = wr->sg_list[i].lkey,
		};
	}
	return total > UINT32_MAX ? EINVAL : 0;
}

/* Writes entries until one is refused, whose request *wr becomes; rq.lock held. */
static int put_recvs(struct mpa_wq *rq, struct ibv_recv_wr **wr)
{
	int ret = 0;

	for (; *wr; *wr = (*wr)->next) {
		ret = put_recv(rq, *wr);
		if (ret)
			break;
		rq->next++;
	}
	return ret;
}

/*
 * Publishes the entries between rq.prod and rq.next; rq.lock is held. Returns
 * whether there were any.
 */
static bool publish_recvs(struct mpa_wq *rq)
{
	if (rq->prod == rq->next)
		return false;
	rq->prod = rq->next;
	mpa_ring_produce(&rq->ring, rq->prod);
	return true;
}

/**
 * mpa_post_recv() - ibv_post_recv(3)
 * @ibqp: the queue pair
 * @wr: list of work requests
 * @bad_wr: on error, the first one that was not posted
 *
 * The kernel is called only if it has asked for this, see mpa_ring_armed().
 *
 * Return: 0, %EINVAL for an invalid request or a queue pair with a shared receive
 * queue, %ENOMEM if the queue is full, or the positive errno with which the kernel
 * refused to be called.
 */
int mpa_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct mpa_qp *qp = to_mpa_qp(ibqp);
	struct mpa_wq *rq = &qp->rq;
	struct ibv_recv_wr *first = wr;
	int ret, refused = 0;

	if (ibqp->srq) {
		*bad_wr = wr;
		return EINVAL;
	}
	pthread_mutex_lock(&rq->lock);
	ret = put_recvs(rq, &wr);
	if (publish_recvs(rq) && mpa_ring_armed(&rq->ring))
		refused = ring_doorbell(qp);
	pthread_mutex_unlock(&rq->lock);

	if (refused) {
		ret = refused;
		wr = first;
	}
	if (ret)
		*bad_wr = wr;
	return ret;
}

/**
 * mpa_post_srq_recv() - ibv_post_srq_recv(3)
 * @ibsrq: the shared receive queue
 * @wr: list of work requests
 * @bad_wr: on error, the first one that was not posted
 *
 * The kernel is never called: it looks at the ring when a message arrives.
 *
 * Return: 0, %EINVAL for an invalid request, %ENOMEM if the queue is full.
 */
int mpa_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct mpa_wq *rq = &to_mpa_srq(ibsrq)->rq;
	int ret;

	pthread_mutex_lock(&rq->lock);
	ret = put_recvs(rq, &wr);
	publish_recvs(rq);
	pthread_mutex_unlock(&rq->lock);
	if (ret)
		*bad_wr = wr;
	return ret;
}
