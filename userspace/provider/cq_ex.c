// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The polling interface of ibv_create_cq_ex(3), one completion at a time.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "mpa.h"

/* Called with the lock held; 0, ENOENT, or EIO as in mpa_poll_cq(). */
static int cq_next(struct mpa_cq *cq)
{
	struct ibv_cq_ex *cq_ex = &cq->base.cq_ex;
	int64_t ready = mpa_cq_ready(cq);

	if (ready <= 0)
		return ready ? EIO : ENOENT;

	/* Copy the entry, so that the kernel has its place back at once. */
	memcpy(&cq->cur, mpa_ring_slot(&cq->ring, cq->cons), cq->ring.stride);
	mpa_cq_consume(cq, cq->cons + 1);

	cq_ex->wr_id = cq->cur.cqe.wr_id;
	cq_ex->status = mpa_wc_status(&cq->cur.cqe);
	return 0;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct mpa_cq *cq = to_mpa_cq_ex(ibcq);
	int ret;

	if (attr->comp_mask)
		return EINVAL;

	mpa_cq_lock(cq);
	ret = cq_next(cq);
	if (ret)
		mpa_cq_unlock(cq);
	return ret;
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	return cq_next(to_mpa_cq_ex(ibcq));
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
	mpa_cq_unlock(to_mpa_cq_ex(ibcq));
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibcq)
{
	return mpa_wc_opcode(&to_mpa_cq_ex(ibcq)->cur.cqe);
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_mpa_cq_ex(ibcq)->cur.cqe.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_mpa_cq_ex(ibcq)->cur.cqe.byte_len;
}

/* The field is for the invalidated STag, too. */
static __be32 read_imm_data(struct ibv_cq_ex *ibcq)
{
	const struct mpa_cqe *cqe = &to_mpa_cq_ex(ibcq)->cur.cqe;

	if (cqe->opcode == MPA_CQE_RECV_IMM)
		return cqe->imm_data;
	return cqe->flags & MPA_CQE_INVALIDATED ? cqe->inv_stag : 0;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_mpa_cq_ex(ibcq)->cur.cqe.qp_num;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return mpa_wc_flags(&to_mpa_cq_ex(ibcq)->cur.cqe);
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_mpa_cq_ex(ibcq)->cur.time;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* With today's difference of the two clocks, even if it was another then. */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ibcq)
{
	int64_t ahead = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC);

	return to_mpa_cq_ex(ibcq)->cur.time + (uint64_t)ahead;
}

/* The other IBV_WC_STANDARD_FLAGS exist in InfiniBand only. */
static uint32_t read_zero_u32(struct ibv_cq_ex *ibcq)
{
	(void)ibcq;
	return 0;
}

static uint8_t read_zero_u8(struct ibv_cq_ex *ibcq)
{
	(void)ibcq;
	return 0;
}

/**
 * mpa_cq_set_ex_ops() - make a completion queue pollable by ibv_start_poll()
 * @cq: the queue
 */
void mpa_cq_set_ex_ops(struct ibv_cq_ex *cq)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_zero_u32;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_zero_u32;
	cq->read_sl = read_zero_u8;
	cq->read_dlid_path_bits = read_zero_u8;
	if (to_mpa_cq_ex(cq)->timed) {
		cq->read_completion_ts = read_completion_ts;
		cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
	}
}
