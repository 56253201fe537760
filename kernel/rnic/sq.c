// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send queues: work requests are started, executed if they are local, and
 * retired.
 *
 * A user can change an entry of its ring at any moment, so it is copied before it
 * is checked, and only the copy is used. A kernel consumer's entries are used
 * where they are. Requests complete strictly in posting order.
 */
#include "cq.h"
#include "ddp/check.h"
#include "mr.h"
#include "mr_rights.h"
#include "mr_tx.h"
#include "mw.h"
#include "qp.h"
#include "reads.h"
#include "ring.h"
#include "sq.h"
#include "sq_atomic.h"

enum {
	RNIC_SQE_ANY	= MPA_SQE_SIGNALED | MPA_SQE_FENCE,
};

#define RNIC_ATOMIC(of_kernel) \
	{ .known = true, .kernel = (of_kernel), .read = true, .atomic = true, \
	  .remote = true, .stag = true, .extension = true, \
	  .flags = RNIC_SQE_ANY, \
	  .rdmap = RDMAP_ATOMIC_REQ, .rdmap_se = RDMAP_ATOMIC_REQ, \
	  .counter = RNIC_CNT_TX_ATOMIC_REQ }

const struct rnic_wr_info rnic_wr_infos[MPA_WR_OPCODES] = {
	[MPA_WR_WRITE] = {
		.known = true, .tagged = true, .remote = true, .stag = true,
		.flags = RNIC_SQE_ANY | MPA_SQE_INLINE,
		.rdmap = RDMAP_WRITE, .rdmap_se = RDMAP_WRITE,
		.counter = RNIC_CNT_TX_WRITE,
	},
	[MPA_WR_SEND] = {
		.known = true,
		.flags = RNIC_SQE_ANY | MPA_SQE_INLINE | MPA_SQE_SOLICITED,
		.rdmap = RDMAP_SEND, .rdmap_se = RDMAP_SEND_SE,
		.counter = RNIC_CNT_TX_SEND,
	},
	[MPA_WR_SEND_INV] = {
		.known = true, .stag = true,
		.flags = RNIC_SQE_ANY | MPA_SQE_INLINE | MPA_SQE_SOLICITED,
		.rdmap = RDMAP_SEND_INV, .rdmap_se = RDMAP_SEND_SE_INV,
		.counter = RNIC_CNT_TX_SEND,
	},
	[MPA_WR_READ] = {
		.known = true, .read = true, .remote = true, .stag = true,
		.flags = RNIC_SQE_ANY,
		.rdmap = RDMAP_READ_REQ, .rdmap_se = RDMAP_READ_REQ,
		.counter = RNIC_CNT_TX_READ_REQ,
	},
	[MPA_WR_READ_INV] = {
		.known = true, .read = true, .remote = true, .stag = true,
		.flags = RNIC_SQE_ANY,
		.rdmap = RDMAP_READ_REQ, .rdmap_se = RDMAP_READ_REQ,
		.counter = RNIC_CNT_TX_READ_REQ,
	},
	[MPA_WR_LOCAL_INV] = {
		.known = true, .local = true, .stag = true,
		.flags = RNIC_SQE_ANY,
	},
	[MPA_WR_REG_MR] = {
		.known = true, .local = true, .kernel = true, .remote = true,
		.access = true, .stag = true, .flags = RNIC_SQE_ANY,
	},
	[MPA_WR_BIND_MW] = {
		.known = true, .local = true, .window = true, .remote = true,
		.access = true, .stag = true, .flags = RNIC_SQE_ANY,
	},
	[MPA_WR_FETCH_ADD] = RNIC_ATOMIC(false),
	[MPA_WR_CMP_SWAP] = RNIC_ATOMIC(false),
	[MPA_WR_SWAP] = RNIC_ATOMIC(false),
	[MPA_WR_MASKED_FETCH_ADD] = RNIC_ATOMIC(true),
	[MPA_WR_MASKED_CMP_SWAP] = RNIC_ATOMIC(true),
	[MPA_WR_WRITE_IMM] = {
		.known = true, .tagged = true, .remote = true, .stag = true,
		.imm = true, .extension = true,
		.flags = RNIC_SQE_ANY | MPA_SQE_INLINE | MPA_SQE_SOLICITED,
		.rdmap = RDMAP_WRITE, .rdmap_se = RDMAP_WRITE,
		.counter = RNIC_CNT_TX_WRITE,
	},
};

/* Retiring ----------------------------------------------------------------- */

static void rnic_sq_report(struct rnic_qp *qp, const struct rnic_swr *wr,
			   struct rnic_due *due)
{
	struct mpa_cqe cqe = {
		.wr_id = wr->wr_id,
		.qp_num = qp->cqe_qp,
		.byte_len = wr->len,
		.status = wr->status,
		.opcode = wr->opcode,
		.vendor_err = wr->status ? qp->cause : 0,
	};

	if (rnic_cq_push(qp->scq, &cqe, wr->status != MPA_WC_SUCCESS))
		due->scq = true;
}

/*
 * Frees the slot before its completion is visible. Its record is not reused
 * before rnic_qp.lock is released.
 */
static void rnic_sq_advance(struct rnic_sq *sq)
{
	sq->retired++;
	/*
	 * The entry and its inline data were read before. Pairs with
	 * mpa_ring_room() of the provider; rnic_sq_post() has the lock.
	 */
	smp_store_release(&sq->ring.hdr->cons, sq->retired);
}

static void rnic_sq_retire_one(struct rnic_qp *qp, struct rnic_due *due)
{
	struct rnic_sq *sq = &qp->sq;
	const struct rnic_swr *wr = rnic_swr_at(sq, sq->retired);

	/* After 2^31 local requests without a message they could not be compared. */
	if (qp->tx.taken == sq->retired)
		qp->tx.taken++;
	rnic_sq_advance(sq);
	if (wr->signaled || wr->status)
		rnic_sq_report(qp, wr, due);
}

/**
 * rnic_sq_retire_some() - report at most %RNIC_QP_CHUNK completed requests
 * @qp: the QP; rnic_qp.lock held
 * @due: completion events that became due are added
 *
 * Return: true if more requests are complete.
 */
bool rnic_sq_retire_some(struct rnic_qp *qp, struct rnic_due *due)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned int n;

	lockdep_assert_held(&qp->lock);
	for (n = 0; sq->retired != sq->fetched; n++) {
		if (!rnic_swr_at(sq, sq->retired)->done)
			return false;
		if (n == RNIC_QP_CHUNK)
			return true;
		rnic_sq_retire_one(qp, due);
	}
	return false;
}

/**
 * rnic_sq_retire() - report completed requests, in posting order
 * @qp: the QP; socket lock held; rnic_qp.lock not
 * @due: completion events that became due are added
 *
 * The whole queue may have waited for one Read, so interrupts are enabled in
 * between.
 */
void rnic_sq_retire(struct rnic_qp *qp, struct rnic_due *due)
{
	unsigned long flags;
	bool more;

	do {
		spin_lock_irqsave(&qp->lock, flags);
		more = rnic_sq_retire_some(qp, due);
		spin_unlock_irqrestore(&qp->lock, flags);
	} while (more);
}

/* Takes the record for the entry after the last one fetched. */
static struct rnic_swr *rnic_swr_take(struct rnic_qp *qp,
				      const struct mpa_sqe *e, u32 len)
{
	struct rnic_swr *wr = rnic_swr_at(&qp->sq, qp->sq.fetched);

	lockdep_assert_held(&qp->lock);
	*wr = (struct rnic_swr){
		.wr_id = e->wr_id,
		.len = len,
		.opcode = e->opcode,
		.read = e->opcode < MPA_WR_OPCODES &&
			rnic_wr_infos[e->opcode].read,
		.signaled = qp->sq.sig_all || (e->flags & MPA_SQE_SIGNALED),
	};
	/* Also read under the socket lock alone. */
	WRITE_ONCE(qp->sq.fetched, qp->sq.fetched + 1);
	return wr;
}

/**
 * rnic_sq_posted() - count the requests that are not reported
 * @qp: the QP; rnic_qp.lock held
 *
 * Return: the number; the user may add more at any time.
 */
u32 rnic_sq_posted(const struct rnic_qp *qp)
{
	const struct rnic_sq *sq = &qp->sq;

	lockdep_assert_held(&qp->lock);
	return sq->fetched - sq->retired + rnic_sq_pending(sq);
}

/* Flushes a request that was not started. */
static bool rnic_sq_flush_next(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swr *wr;
	struct mpa_sqe e;

	if (!rnic_sq_pending(sq))
		return false;
	rnic_ring_fetch(&sq->ring, sq->fetched, 0, &e, sizeof(e));
	wr = rnic_swr_take(qp, &e, 0);
	wr->done = true;
	wr->status = MPA_WC_WR_FLUSH_ERR;
	return true;
}

/**
 * rnic_sq_flush() - complete posted requests in order, with an error
 * @qp: the QP, in TERMINATE or ERROR; rnic_qp.lock held
 * @n: complete at most so many
 * @due: completion events that became due are added
 *
 * Requests that are complete keep their status. The oldest of the others
 * that were taken gets rnic_sq.first_status.
 *
 * Return: the number completed.
 */
u32 rnic_sq_flush(struct rnic_qp *qp, u32 n, struct rnic_due *due)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swr *wr;
	u32 done;

	lockdep_assert_held(&qp->lock);
	for (done = 0; done < n; done++) {
		if (sq->retired == sq->fetched && !rnic_sq_flush_next(qp))
			break;
		wr = rnic_swr_at(sq, sq->retired);
		if (!wr->done) {
			wr->done = true;
			wr->status = sq->first_status;
			sq->first_status = MPA_WC_WR_FLUSH_ERR;
		}
		rnic_sq_retire_one(qp, due);
	}
	return done;
}

/**
 * rnic_sq_forget() - discard what is posted or in progress
 * @qp: the QP, in ERROR and without a stream; rnic_qp.lock held
 */
void rnic_sq_forget(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;

	lockdep_assert_held(&qp->lock);
	sq->fetched += rnic_ring_pending(&sq->ring, sq->fetched);
	sq->retired = sq->fetched - 1;
	rnic_sq_advance(sq);
	qp->tx.taken = sq->retired;
}

/**
 * rnic_sq_stop() - forget the message in progress
 * @qp: the QP; socket lock held, or no stream; no batch is open
 */
void rnic_sq_stop(struct rnic_qp *qp)
{
	WARN_ON_ONCE(qp->tx.nr_held);
	qp->tx.kind = RNIC_TX_NONE;
	qp->tx.rtr = 0;
}

/* Starting a work request -------------------------------------------------- */

/**
 * rnic_swr_finish() - complete a request that was executed locally, or failed
 * @qp: the QP; socket lock held
 * @wr: the request; it is reported in its turn
 * @status: MPA_WC_*
 */
void rnic_swr_finish(struct rnic_qp *qp, struct rnic_swr *wr, u8 status)
{
	struct rnic_due due = {};
	unsigned long flags;

	/* The messages before it are in batches as a whole. */
	qp->tx.whole = qp->sq.fetched;
	spin_lock_irqsave(&qp->lock, flags);
	wr->done = true;
	wr->status = status;
	spin_unlock_irqrestore(&qp->lock, flags);
	rnic_sq_retire(qp, &due);
	rnic_qp_notify(qp, &due);
}

static u64 rnic_sqe_len(const struct mpa_sqe *e)
{
	u64 len = 0;
	u32 i;

	if (rnic_wr_infos[e->opcode].atomic)
		return RDMAP_ATOMIC_BYTES;
	if (e->flags & MPA_SQE_INLINE)
		return e->length;
	for (i = 0; i < e->num_sge; i++)
		len += e->sge[i].length;
	return len;
}

static bool rnic_sqe_pieces_clear(const struct rnic_wr_info *info,
				  const struct mpa_sqe *e)
{
	if (info->window)
		return rnic_mw_entry_clear(e);
	return !(info->local || info->atomic || e->flags & MPA_SQE_INLINE) ||
	       !e->num_sge;
}

/* Are all fields zero that the entry of a user does not use? */
static bool rnic_sqe_clear(const struct rnic_wr_info *info,
			   const struct mpa_sqe *e)
{
	bool inlined = e->flags & MPA_SQE_INLINE;

	if (info->atomic && !rnic_sqe_atomic_clear(e))
		return false;
	return !(e->flags & ~info->flags) && !e->reserved &&
	       (info->imm || !e->imm_data) &&
	       (info->remote || !e->remote_addr) && (info->stag || !e->stag) &&
	       (inlined || info->access || info->atomic || !e->length) &&
	       rnic_sqe_pieces_clear(info, e);
}

/*
 * May a user have posted this entry? Those of a kernel consumer are written by
 * rnic_sq_post().
 */
static bool rnic_sqe_of_user(const struct rnic_wr_info *info,
			     const struct mpa_sqe *e)
{
	return info->known && !info->kernel && rnic_sqe_clear(info, e);
}

/*
 * Checks an entry that was taken, without its memory. Returns MPA_WC_*, and
 * on success the bytes of the message, if there is one.
 */
static u8 rnic_sqe_check(const struct rnic_qp *qp, const struct mpa_sqe *e,
			 u32 *msg_len)
{
	const struct rnic_wr_info *info;
	u64 len;

	if (e->opcode >= MPA_WR_OPCODES)
		return MPA_WC_LOC_QP_OP_ERR;
	info = &rnic_wr_infos[e->opcode];
	if (rnic_wr_foreign(qp, info) ||
	    (qp->user && !rnic_sqe_of_user(info, e)))
		return MPA_WC_LOC_QP_OP_ERR;
	if (info->local)
		return MPA_WC_SUCCESS;
	if (e->flags & MPA_SQE_INLINE) {
		if (e->length > qp->sq.max_inline)
			return MPA_WC_LOC_QP_OP_ERR;
	} else if (e->num_sge > (info->read ? 1 : qp->sq.max_sge)) {
		return MPA_WC_LOC_QP_OP_ERR;
	}
	if (info->read && !qp->reads.ord)
		return MPA_WC_LOC_QP_OP_ERR;
	len = rnic_sqe_len(e);
	if (len > MPA_MAX_MSG_SIZE)
		return MPA_WC_LOC_LEN_ERR;
	*msg_len = len;
	return MPA_WC_SUCCESS;
}

/*
 * Will its memory be looked up once, as a whole, and right away? Within a
 * batch, nothing is sent in between.
 */
static bool rnic_sqe_asked_once(const struct rnic_qp *qp, const struct mpa_sqe *e)
{
	return qp->tx.draft && !rnic_wr_infos[e->opcode].read &&
	       e->num_sge == 1 && e->sge[0].length <= RNIC_TX_RUN;
}

/* Checks local protection of every piece before the first byte is sent. */
static u8 rnic_sqe_check_memory(struct rnic_qp *qp, const struct mpa_sqe *e)
{
	int access = rnic_wr_infos[e->opcode].read ? IB_ACCESS_LOCAL_WRITE :
						     RNIC_MR_LOCAL_READ;
	const struct mpa_sge *sge = e->sge;
	unsigned int nr = e->num_sge;
	struct mpa_sge operand;

	if (rnic_wr_infos[e->opcode].atomic) {
		operand = (struct mpa_sge){
			.addr = rnic_sqe_operands(e)->addr,
			.length = RDMAP_ATOMIC_BYTES,
			.lkey = e->length,
		};
		sge = &operand;
		nr = 1;
	} else if (e->flags & MPA_SQE_INLINE || rnic_sqe_asked_once(qp, e)) {
		return MPA_WC_SUCCESS;
	}
	return rnic_mr_granted(qp->dev, &qp->ibqp, sge, nr, access) ?
		       MPA_WC_SUCCESS : MPA_WC_LOC_PROT_ERR;
}

/* Must this request wait for the end of Reads? */
static bool rnic_sqe_blocked(struct rnic_qp *qp, const struct mpa_sqe *e)
{
	if (e->flags & MPA_SQE_FENCE && rnic_reads_outstanding(&qp->reads))
		return true;
	return rnic_wr_infos[e->opcode].read &&
	       !rnic_reads_room_out(&qp->reads, rnic_area_memcg(&qp->rings));
}

static u8 rnic_sq_execute_local(struct rnic_qp *qp, const struct mpa_sqe *e)
{
	struct ib_mr *mr;
	int ret;

	if (e->opcode == MPA_WR_BIND_MW)
		return rnic_mw_bind(qp, e) ? MPA_WC_MW_BIND_ERR :
					     MPA_WC_SUCCESS;
	if (e->opcode == MPA_WR_LOCAL_INV) {
		ret = rnic_mr_invalidate(qp->dev, &qp->ibqp, e->stag, false,
					 NULL);
	} else {
		mr = (struct ib_mr *)(uintptr_t)e->remote_addr;
		ret = rnic_mr_fast_reg(&qp->ibqp, mr, e->stag, e->length);
	}
	return ret ? MPA_WC_LOC_PROT_ERR : MPA_WC_SUCCESS;
}

/*
 * Bytes of the entry behind its header, except inline data. For all that a user
 * may write, the stride limits them.
 */
static u32 rnic_sqe_body(const struct rnic_sq *sq, const struct mpa_sqe *e)
{
	u32 room = sq->ring.stride - sizeof(*e);

	if (e->opcode < MPA_WR_OPCODES && rnic_wr_infos[e->opcode].atomic)
		return min_t(u32, room, sizeof(struct mpa_atomic) +
					sizeof(struct rnic_atomic_masks));
	if (e->flags & MPA_SQE_INLINE)
		return 0;
	return min_t(u32, e->num_sge, sq->max_sge) * sizeof(e->sge[0]);
}

/*
 * Copies the next entry, as much of it as is used. Inline data stays in the ring
 * until it is sent. A kernel consumer's ring is not shared, and its entry is not
 * overwritten before the request is retired, so it is used where it is.
 */
static void rnic_sq_fetch(const struct rnic_qp *qp, struct rnic_sq *sq)
{
	struct mpa_sqe *e = sq->cur;

	if (!qp->user) {
		sq->cur = rnic_ring_at(&sq->ring, sq->fetched);
		return;
	}
	rnic_ring_fetch(&sq->ring, sq->fetched, 0, e, sizeof(*e));
	rnic_ring_fetch(&sq->ring, sq->fetched, sizeof(*e), e->sge,
			rnic_sqe_body(sq, e));
}

/**
 * rnic_sq_take() - take the next entry, unless there is none or it must wait
 * @qp: the QP; socket lock held
 * @status: set to the result of its check, MPA_WC_*
 *
 * Return: its record, with the entry at &rnic_sq.cur, or NULL.
 */
struct rnic_swr *rnic_sq_take(struct rnic_qp *qp, u8 *status)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swr *wr = NULL;
	unsigned long flags;
	u32 len = 0;

	/* Requests posted from now on have their own doorbell. */
	if (!rnic_ring_pending(&sq->ring, READ_ONCE(sq->fetched)))
		return NULL;
	spin_lock_irqsave(&qp->lock, flags);
	if (rnic_qp_streaming(qp) && rnic_sq_pending(sq)) {
		rnic_sq_fetch(qp, sq);
		*status = rnic_sqe_check(qp, sq->cur, &len);
		if (*status || !rnic_sqe_blocked(qp, sq->cur))
			wr = rnic_swr_take(qp, sq->cur, len);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return wr;
}

static void rnic_wr_begin(struct rnic_qp *qp, const struct rnic_swr *wr)
{
	struct rnic_tx *tx = &qp->tx;

	tx->kind = RNIC_TX_WR;
	tx->off = 0;
	tx->len = wr->len;
	tx->sge = 0;
	tx->sge_off = 0;
	tx->imm_due = false;
	rnic_run_forget(tx);
}

/**
 * rnic_sq_start() - start or execute a request that was taken
 * @qp: the QP; socket lock held
 * @wr: the request
 * @status: MPA_WC_*, from rnic_sq_take()
 * @end: its fault is set if the request failed, which ends the stream
 *
 * Return: true: the request is the message in progress from now on.
 */
bool rnic_sq_start(struct rnic_qp *qp, struct rnic_swr *wr, u8 status,
		   struct rnic_end *end)
{
	const struct mpa_sqe *e = qp->sq.cur;
	bool local = !status && rnic_wr_infos[e->opcode].local;

	if (local)
		status = rnic_sq_execute_local(qp, e);
	else if (!status)
		status = rnic_sqe_check_memory(qp, e);
	if (!status && !local) {
		rnic_wr_begin(qp, wr);
		return true;
	}
	rnic_swr_finish(qp, wr, status);
	if (status)
		end->fault = &ddp_fault_local;
	return false;
}

/**
 * rnic_sq_next() - start requests until one has something to send
 * @qp: the QP; socket lock held
 * @end: its fault is set if a request failed, which ends the stream
 *
 * Return: true: the request is the message in progress from now on.
 */
bool rnic_sq_next(struct rnic_qp *qp, struct rnic_end *end)
{
	struct rnic_sq *sq = &qp->sq;
	u32 budget = sq->ring.size;
	struct rnic_swr *wr;
	u8 status;

	/* Local requests send nothing, so only this limits them. */
	for (; budget; budget--) {
		wr = rnic_sq_take(qp, &status);
		if (!wr)
			return false;
		if (rnic_sq_start(qp, wr, status, end))
			return true;
		if (end->fault)
			return false;
	}
	rnic_qp_kick(qp);
	return false;
}

/* Kernel consumers --------------------------------------------------------- */

static int rnic_wr_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		return MPA_WR_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return MPA_WR_WRITE_IMM;
	case IB_WR_SEND:
		return MPA_WR_SEND;
	case IB_WR_SEND_WITH_INV:
		return MPA_WR_SEND_INV;
	case IB_WR_RDMA_READ:
		return MPA_WR_READ;
	case IB_WR_RDMA_READ_WITH_INV:
		return MPA_WR_READ_INV;
	case IB_WR_LOCAL_INV:
		return MPA_WR_LOCAL_INV;
	case IB_WR_REG_MR:
		return MPA_WR_REG_MR;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return MPA_WR_FETCH_ADD;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return MPA_WR_CMP_SWAP;
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return MPA_WR_MASKED_FETCH_ADD;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
		return MPA_WR_MASKED_CMP_SWAP;
	case IB_WR_SEND_WITH_IMM:
		/* RDMAP has no such message. */
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

/*
 * Only messages that take a receive can request a solicited event; for others
 * the flag is ignored.
 */
static u8 rnic_wr_flags(const struct rnic_wr_info *info, int send_flags)
{
	if (!(info->flags & MPA_SQE_SOLICITED))
		send_flags &= ~IB_SEND_SOLICITED;
	return (send_flags & IB_SEND_SIGNALED ? MPA_SQE_SIGNALED : 0) |
	       (send_flags & IB_SEND_SOLICITED ? MPA_SQE_SOLICITED : 0) |
	       (send_flags & IB_SEND_FENCE ? MPA_SQE_FENCE : 0) |
	       (send_flags & IB_SEND_INLINE ? MPA_SQE_INLINE : 0);
}

static int rnic_sqe_inline(const struct rnic_sq *sq, struct mpa_sqe *e,
			   const struct ib_send_wr *wr)
{
	u8 *to = (u8 *)e->sge;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > sq->max_inline - e->length)
			return -EINVAL;
		memcpy(to + e->length,
		       (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		e->length += wr->sg_list[i].length;
	}
	return 0;
}

static int rnic_sqe_pieces(const struct rnic_sq *sq, struct mpa_sqe *e,
			   const struct ib_send_wr *wr)
{
	int most = rnic_wr_infos[e->opcode].read ? 1 : sq->max_sge;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > most)
		return -EINVAL;
	e->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		e->sge[i].addr = wr->sg_list[i].addr;
		e->sge[i].length = wr->sg_list[i].length;
		e->sge[i].lkey = wr->sg_list[i].lkey;
	}
	return 0;
}

static int rnic_sqe_from(const struct rnic_sq *sq, struct mpa_sqe *e,
			 const struct ib_send_wr *wr)
{
	if (rnic_wr_infos[e->opcode].atomic)
		return rnic_sqe_atomic_from(e, wr);
	switch (e->opcode) {
	case MPA_WR_WRITE_IMM:
		e->imm_data = wr->ex.imm_data;
		fallthrough;
	case MPA_WR_WRITE:
	case MPA_WR_READ:
	case MPA_WR_READ_INV:
		e->remote_addr = rdma_wr(wr)->remote_addr;
		e->stag = rdma_wr(wr)->rkey;
		break;
	case MPA_WR_SEND_INV:
		e->stag = wr->ex.invalidate_rkey;
		break;
	case MPA_WR_LOCAL_INV:
		e->stag = wr->ex.invalidate_rkey;
		return 0;
	case MPA_WR_REG_MR:
		e->remote_addr = (uintptr_t)reg_wr(wr)->mr;
		e->stag = reg_wr(wr)->key;
		e->length = reg_wr(wr)->access;
		return 0;
	}
	if (e->flags & MPA_SQE_INLINE)
		return rnic_sqe_inline(sq, e, wr);
	return rnic_sqe_pieces(sq, e, wr);
}

/* Checks of a new entry that fail when it is posted. */
static int rnic_sqe_refused(const struct rnic_wr_info *info,
			    const struct mpa_sqe *e)
{
	if (e->flags & ~info->flags || rnic_sqe_len(e) > MPA_MAX_MSG_SIZE)
		return -EINVAL;
	return 0;
}

/**
 * rnic_sq_post() - put a kernel consumer's request into the ring
 * @qp: the QP; rnic_qp.lock held
 * @wr: the request
 *
 * Return: 0, -EINVAL (malformed, or longer than %MPA_MAX_MSG_SIZE), -ENOMEM
 * (ring full), -ENOTCONN (the QP was never connected), -EOPNOTSUPP (the stream
 * does not carry such messages).
 */
int rnic_sq_post(struct rnic_qp *qp, const struct ib_send_wr *wr)
{
	struct rnic_ring *ring = &qp->sq.ring;
	u32 prod = ring->hdr->prod;
	int opcode = rnic_wr_opcode(wr->opcode);
	struct mpa_sqe *e = rnic_ring_at(ring, prod);
	int ret;

	lockdep_assert_held(&qp->lock);
	if (qp->state == RNIC_QP_IDLE)
		return -ENOTCONN;
	if (opcode < 0)
		return opcode;
	if (rnic_wr_foreign(qp, &rnic_wr_infos[opcode]))
		return -EOPNOTSUPP;
	if (prod - qp->sq.retired >= ring->size)
		return -ENOMEM;
	*e = (struct mpa_sqe){
		.wr_id = wr->wr_id,
		.opcode = opcode,
		.flags = rnic_wr_flags(&rnic_wr_infos[opcode], wr->send_flags),
	};
	ret = rnic_sqe_from(&qp->sq, e, wr) ?:
	      rnic_sqe_refused(&rnic_wr_infos[opcode], e);
	if (ret)
		return ret;
	/* Pairs with rnic_ring_pending(). */
	smp_store_release(&ring->hdr->prod, prod + 1);
	return 0;
}
