// SPDX-License-Identifier: GPL-2.0-only
/*
 * The send queue and everything that goes out: work requests, Read Responses,
 * RTR and Terminate are cut into DDP segments, gathered into batches, and
 * handed to the ULP a batch at a time.
 *
 * A user can change a ring entry at any moment, so each is copied before it
 * is looked at, and only the copy counts. Requests complete strictly in the
 * order in which they were posted.
 */
#include <linux/overflow.h>
#include <net/sock.h>

#include "cm.h"
#include "stream.h"
#include "trace.h"

enum {
	/* Batches sent before the socket lock is given up once. */
	RNIC_TX_BUDGET	= 64,
	/* Bytes to ask a region for at once: what a batch takes. */
	RNIC_TX_RUN	= 65536,
	/* Bytes of Read Responses to be copied in a softirq. */
	RNIC_ANSWER_MAX	= 4096,
	/* Without memory: ms until the next try, twice as long each time. */
	RNIC_TX_RETRY	= 4,
	/* So often at the most: half a second. */
	RNIC_TX_RETRY_DOUBLED = 7,
};

/**
 * struct rnic_wr_info - what a kind of work request is made of
 * @known: the opcode exists
 * @kernel: kernel consumers only
 * @local: executed here, nothing is sent
 * @read: answered by a Read Response
 * @tagged: becomes a tagged message
 * @remote: the entry names a place at the peer
 * @stag: the entry names an STag
 * @flags: MPA_SQE_* that mean something to it
 * @rdmap: RDMAP opcode
 * @rdmap_se: RDMAP opcode with solicited event
 * @counter: what it counts as
 */
struct rnic_wr_info {
	bool known;
	bool kernel;
	bool local;
	bool read;
	bool tagged;
	bool remote;
	bool stag;
	u8 flags;
	u8 rdmap;
	u8 rdmap_se;
	enum rnic_counter counter;
};

enum {
	RNIC_SQE_ANY	= MPA_SQE_SIGNALED | MPA_SQE_FENCE,
};

static const struct rnic_wr_info rnic_wr_infos[MPA_WR_OPCODES] = {
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
		.stag = true, .flags = RNIC_SQE_ANY,
	},
};

static u32 rnic_wr_hdr_len(const struct rnic_wr_info *info)
{
	return info->tagged ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
}

static struct rnic_swr *rnic_swr_at(struct rnic_sq *sq, u32 index)
{
	return &sq->wr[index & (sq->ring.size - 1)];
}

/* Retiring ----------------------------------------------------------------- */

static void rnic_sq_report(struct rnic_qp *qp, const struct rnic_swr *wr,
			   struct rnic_due *due)
{
	struct mpa_cqe cqe = {
		.wr_id = wr->wr_id,
		.qp_num = qp->ibqp.qp_num,
		.byte_len = wr->len,
		.status = wr->status,
		.opcode = wr->opcode,
		.vendor_err = wr->status ? qp->cause : 0,
	};

	if (rnic_cq_push(qp->scq, &cqe, wr->status != MPA_WC_SUCCESS))
		due->scq = true;
}

/* The slot is free before its completion can be seen. */
static void rnic_sq_advance(struct rnic_sq *sq)
{
	sq->retired++;
	/* Pairs with the producer's load-acquire of cons. */
	smp_store_release(&sq->ring.hdr->cons, sq->retired);
}

static void rnic_sq_retire_one(struct rnic_qp *qp, struct rnic_due *due)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swr wr = *rnic_swr_at(sq, sq->retired);

	rnic_sq_advance(sq);
	if (wr.signaled || wr.status)
		rnic_sq_report(qp, &wr, due);
}

/* No more than RNIC_QP_CHUNK. Returns whether others are done. */
static bool rnic_sq_retire_some(struct rnic_qp *qp, struct rnic_due *due)
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
 * rnic_sq_retire - report what is done, in posting order
 * @qp: the QP; socket lock held; rnic_qp.lock not
 * @due: completion events that became due are added
 *
 * One Read may have kept a whole queue of requests waiting: interrupts go on now
 * and then.
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

static u32 rnic_sq_pending(const struct rnic_sq *sq)
{
	u32 room = sq->ring.size - (sq->fetched - sq->retired);

	return min(rnic_ring_pending(&sq->ring, sq->fetched), room);
}

/* Takes a record for the entry after the last one fetched. */
static struct rnic_swr *rnic_swr_take(struct rnic_qp *qp,
				      const struct mpa_sqe *e)
{
	struct rnic_swr *wr = rnic_swr_at(&qp->sq, qp->sq.fetched);

	lockdep_assert_held(&qp->lock);
	*wr = (struct rnic_swr){
		.wr_id = e->wr_id,
		.opcode = e->opcode,
		.read = e->opcode < MPA_WR_OPCODES &&
			rnic_wr_infos[e->opcode].read,
		.signaled = qp->sq.sig_all || (e->flags & MPA_SQE_SIGNALED),
	};
	/* Read under the socket lock alone, too. */
	WRITE_ONCE(qp->sq.fetched, qp->sq.fetched + 1);
	return wr;
}

/**
 * rnic_sq_posted - requests that have not been reported
 * @qp: the QP; rnic_qp.lock held
 *
 * Return: how many; the user may add others at any time.
 */
u32 rnic_sq_posted(const struct rnic_qp *qp)
{
	const struct rnic_sq *sq = &qp->sq;

	lockdep_assert_held(&qp->lock);
	return sq->fetched - sq->retired + rnic_sq_pending(sq);
}

/* A request that was not taken up ends before it has begun. */
static bool rnic_sq_flush_next(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swr *wr;
	struct mpa_sqe e;

	if (!rnic_sq_pending(sq))
		return false;
	rnic_ring_fetch(&sq->ring, sq->fetched, &e, sizeof(e));
	wr = rnic_swr_take(qp, &e);
	wr->done = true;
	wr->status = MPA_WC_WR_FLUSH_ERR;
	return true;
}

/**
 * rnic_sq_flush - complete what is posted, in order, with an error
 * @qp: the QP, in TERMINATE or ERROR; rnic_qp.lock held
 * @first: MPA_WC_* of the oldest request not done yet; set to that of the others
 *	once it is used
 * @n: no more than so many
 * @due: completion events that became due are added
 *
 * Requests that were done keep their success.
 *
 * Return: how many were completed.
 */
u32 rnic_sq_flush(struct rnic_qp *qp, u8 *first, u32 n, struct rnic_due *due)
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
			wr->status = *first;
			*first = MPA_WC_WR_FLUSH_ERR;
		}
		rnic_sq_retire_one(qp, due);
	}
	return done;
}

/**
 * rnic_sq_forget - what is posted, or under way, is posted no more
 * @qp: the QP, in ERROR and without a stream; rnic_qp.lock held
 */
void rnic_sq_forget(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;

	lockdep_assert_held(&qp->lock);
	sq->fetched += rnic_ring_pending(&sq->ring, sq->fetched);
	sq->retired = sq->fetched - 1;
	rnic_sq_advance(sq);
}

/* What comes next has to be asked for. */
static void rnic_run_forget(struct rnic_tx *tx)
{
	if (tx->draft)
		tx->draft->run.len = 0;
}

static void rnic_tx_release(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	while (tx->nr_held)
		rnic_mr_put(tx->held[--tx->nr_held]);
}

/**
 * rnic_sq_stop - forget the message in progress
 * @qp: the QP; socket lock held, or no stream; no batch is open
 */
void rnic_sq_stop(struct rnic_qp *qp)
{
	WARN_ON_ONCE(qp->tx.nr_held);
	qp->tx.kind = RNIC_TX_NONE;
	qp->tx.rtr = 0;
}

/* Taking up a work request ------------------------------------------------- */

/*
 * A request is over at once: executed locally, or failed. It is reported in
 * its turn.
 */
static void rnic_swr_finish(struct rnic_qp *qp, struct rnic_swr *wr, u8 status)
{
	struct rnic_due due = {};
	unsigned long flags;

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

	if (e->flags & MPA_SQE_INLINE)
		return e->length;
	for (i = 0; i < e->num_sge; i++)
		len += e->sge[i].length;
	return len;
}

/* Is all zero that has no meaning for the entry? */
static bool rnic_sqe_clear(const struct rnic_wr_info *info,
			   const struct mpa_sqe *e)
{
	bool inlined = e->flags & MPA_SQE_INLINE;

	return !(e->flags & ~info->flags) && !e->reserved && !e->reserved2 &&
	       (info->remote || !e->remote_addr) && (info->stag || !e->stag) &&
	       (inlined || info->kernel || !e->length) &&
	       (!(inlined || info->local) || !e->num_sge);
}

/* Judges the private copy of an entry by itself. Returns MPA_WC_*. */
static u8 rnic_sqe_check(const struct rnic_qp *qp, const struct mpa_sqe *e)
{
	const struct rnic_wr_info *info;

	if (e->opcode >= MPA_WR_OPCODES)
		return MPA_WC_LOC_QP_OP_ERR;
	info = &rnic_wr_infos[e->opcode];
	if (!info->known || (info->kernel && qp->user) ||
	    !rnic_sqe_clear(info, e))
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
	if (rnic_sqe_len(e) > MPA_MAX_MSG_SIZE)
		return MPA_WC_LOC_LEN_ERR;
	return MPA_WC_SUCCESS;
}

/*
 * Will its memory be asked for at once and as a whole? Within a batch nothing
 * comes in between.
 */
static bool rnic_sqe_asked_once(const struct rnic_qp *qp, const struct mpa_sqe *e)
{
	return qp->tx.draft && !rnic_wr_infos[e->opcode].read &&
	       e->num_sge == 1 && e->sge[0].length <= RNIC_TX_RUN;
}

/* A local protection check of every piece before the first byte is sent. */
static u8 rnic_sqe_check_memory(struct rnic_qp *qp, const struct mpa_sqe *e)
{
	bool read = rnic_wr_infos[e->opcode].read;
	const struct mpa_sge *sge;
	struct rnic_mr *mr;
	u32 i;

	if (e->flags & MPA_SQE_INLINE || rnic_sqe_asked_once(qp, e))
		return MPA_WC_SUCCESS;
	for (i = 0; i < e->num_sge; i++) {
		sge = &e->sge[i];
		if (!sge->length)
			continue;
		mr = rnic_mr_get(qp->dev, qp->ibqp.pd, sge->lkey, sge->addr,
				 sge->length, read ? IB_ACCESS_LOCAL_WRITE : 0,
				NULL, NULL);
		if (!mr)
			return MPA_WC_LOC_PROT_ERR;
		rnic_mr_put(mr);
	}
	return MPA_WC_SUCCESS;
}

/* Must this request wait for Reads to be answered first? */
static bool rnic_sqe_blocked(const struct rnic_qp *qp, const struct mpa_sqe *e)
{
	u32 outstanding = rnic_reads_outstanding(&qp->reads);

	if (e->flags & MPA_SQE_FENCE && outstanding)
		return true;
	return rnic_wr_infos[e->opcode].read && outstanding >= qp->reads.ord;
}

static u8 rnic_local_execute(struct rnic_qp *qp, const struct mpa_sqe *e)
{
	struct ib_mr *mr;
	int ret;

	if (e->opcode == MPA_WR_LOCAL_INV) {
		ret = rnic_mr_invalidate(qp->dev, qp->ibqp.pd, e->stag, false,
					 NULL);
	} else {
		mr = (struct ib_mr *)(uintptr_t)e->remote_addr;
		ret = rnic_mr_fast_reg(qp->ibqp.pd, mr, e->stag, e->length);
	}
	return ret ? MPA_WC_LOC_PROT_ERR : MPA_WC_SUCCESS;
}

/*
 * Takes the next entry up, unless there is none or it has to wait, and says
 * what it is worth by itself: MPA_WC_*.
 */
static struct rnic_swr *rnic_sq_take(struct rnic_qp *qp, u8 *status)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swr *wr = NULL;
	unsigned long flags;

	/* What is posted from now on has its own doorbell. */
	if (!rnic_ring_pending(&sq->ring, READ_ONCE(sq->fetched)))
		return NULL;
	spin_lock_irqsave(&qp->lock, flags);
	if (rnic_qp_streaming(qp) && rnic_sq_pending(sq)) {
		rnic_ring_fetch(&sq->ring, sq->fetched, sq->cur,
				sq->ring.stride);
		*status = rnic_sqe_check(qp, sq->cur);
		if (*status || !rnic_sqe_blocked(qp, sq->cur))
			wr = rnic_swr_take(qp, sq->cur);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return wr;
}

static void rnic_wr_begin(struct rnic_qp *qp, struct rnic_swr *wr)
{
	const struct mpa_sqe *e = qp->sq.cur;
	struct rnic_tx *tx = &qp->tx;

	wr->len = rnic_sqe_len(e);
	tx->kind = RNIC_TX_WR;
	tx->off = 0;
	tx->len = wr->len;
	tx->sge = 0;
	tx->sge_off = 0;
	rnic_run_forget(tx);
	if (!rnic_wr_infos[e->opcode].read)
		return;
	/* A Read without a sink reads nothing; no STag of ours is at risk. */
	wr->stag = e->num_sge ? e->sge[0].lkey : 0;
	wr->to = e->num_sge ? e->sge[0].addr : 0;
	wr->left = wr->len;
}

/*
 * Takes requests up until one has something to send: the message in progress
 * from then on. A request that fails ends the stream in *end.
 */
static bool rnic_sq_next(struct rnic_qp *qp, struct rnic_end *end)
{
	struct rnic_sq *sq = &qp->sq;
	u32 budget = sq->ring.size;
	struct rnic_swr *wr;
	bool local;
	u8 status;

	/* Local requests send nothing, so nothing else limits them. */
	for (; budget; budget--) {
		wr = rnic_sq_take(qp, &status);
		if (!wr)
			return false;
		local = !status && rnic_wr_infos[sq->cur->opcode].local;
		if (local)
			status = rnic_local_execute(qp, sq->cur);
		else if (!status)
			status = rnic_sqe_check_memory(qp, sq->cur);
		if (!status && !local) {
			rnic_wr_begin(qp, wr);
			return true;
		}
		rnic_swr_finish(qp, wr, status);
		if (status) {
			end->fault = &ddp_fault_local;
			return false;
		}
	}
	rnic_tx_kick(qp);
	return false;
}

/* Choosing what to send ------------------------------------------------------ */

static void rnic_tx_begin_response(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	tx->kind = RNIC_TX_RESPONSE;
	tx->off = 0;
	rnic_run_forget(tx);
	tx->len = rnic_response_head(&qp->reads)->size;
}

/* Responses and requests take turns, a message each. */
static bool rnic_tx_choose(struct rnic_qp *qp, struct rnic_end *end)
{
	bool response = rnic_response_pending(&qp->reads);
	struct rnic_tx *tx = &qp->tx;

	if (response && !tx->prefer_wr) {
		tx->prefer_wr = true;
		rnic_tx_begin_response(qp);
		return true;
	}
	tx->prefer_wr = false;
	if (rnic_sq_next(qp, end))
		return true;
	if (!response || end->fault)
		return false;
	rnic_tx_begin_response(qp);
	return true;
}

/* Is there a message to send (the next one, if none is in progress)? */
static bool rnic_tx_next(struct rnic_qp *qp, struct rnic_end *end)
{
	struct rnic_tx *tx = &qp->tx;

	if (tx->kind != RNIC_TX_NONE)
		return true;
	if (tx->term_len && !tx->term_sent) {
		tx->kind = RNIC_TX_TERMINATE;
		return true;
	}
	if (!rnic_qp_streaming(qp))
		return false;
	if (tx->rtr) {
		tx->kind = RNIC_TX_RTR;
		return true;
	}
	return rnic_tx_choose(qp, end);
}

/* Could rnic_tx_next() find a message? It will not if what is posted has to wait. */
static bool rnic_tx_pending(const struct rnic_qp *qp)
{
	const struct rnic_tx *tx = &qp->tx;

	if (tx->kind != RNIC_TX_NONE || (tx->term_len && !tx->term_sent))
		return true;
	return rnic_qp_streaming(qp) &&
	       (tx->rtr || rnic_response_pending(&qp->reads) ||
		rnic_sq_pending(&qp->sq));
}

/* Segments ------------------------------------------------------------------- */

/*
 * Has the payload of what was just added been copied while its regions granted it?
 * Otherwise their owner may have written something else there meanwhile (RFC 5042
 * section 6.2.2): the batch is sent without that, and the message goes on in the next
 * one, if it may.
 */
static bool rnic_tx_granted(const struct rnic_tx *tx)
{
	unsigned int i;

	/* Copied first. Pairs with mr_end_rights(). */
	smp_rmb();
	for (i = tx->draft->out.first; i < tx->nr_held; i++)
		if (!rnic_mr_unchanged(tx->held[i], tx->draft->epochs[i]))
			return false;
	return true;
}

static int rnic_tx_add_out(struct rnic_qp *qp, struct mpa_conn *conn,
			   const struct rnic_out *out)
{
	int ret = mpa_tx_add(conn, out->hdr, out->hdr_len, out->kv, out->nr,
			     out->len, false);

	if (!ret && !rnic_tx_granted(&qp->tx)) {
		mpa_tx_undo(conn, 1);
		ret = -EAGAIN;
	}
	if (ret) {
		/* Some of it was used, and has to be used again. */
		rnic_run_forget(&qp->tx);
		return ret;
	}
	qp->tx.segments++;
	qp->tx.bytes += out->len;
	return 0;
}

/* The batch keeps the region, once for all uses that follow each other. */
static void rnic_tx_hold(struct rnic_tx *tx, struct rnic_mr *mr)
{
	u32 *epochs = tx->draft->epochs, epoch = tx->draft->run.epoch;
	unsigned int n = tx->nr_held;

	if (n && tx->held[n - 1] == mr && epochs[n - 1] == epoch) {
		rnic_mr_put(mr);
		return;
	}
	epochs[n] = epoch;
	tx->held[n] = mr;
	tx->nr_held++;
}

/*
 * Most bytes are of the region that was used last: nothing is looked up. Who
 * may name the reserved STag is asked each time.
 */
static bool rnic_run_again(struct rnic_qp *qp, u32 stag, u64 addr, u32 len,
			   int access)
{
	const struct rnic_tx *tx = &qp->tx;
	unsigned int last = tx->nr_held - 1;

	return tx->nr_held && stag != RNIC_STAG_LOCAL_DMA &&
	       rnic_mr_more(tx->held[last], qp->ibqp.pd, stag, addr, len, access,
			    tx->draft->epochs[last], &tx->draft->run);
}

/*
 * What may be sent of the @len bytes at [@addr] of region @stag, no more than
 * a batch takes; nothing if the batch holds too many regions. False if the
 * region does not grant it.
 */
static bool rnic_run_get(struct rnic_qp *qp, u32 stag, u64 addr, u32 len,
			 int access, struct ddp_fault *fault)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_mr *mr;

	len = min_t(u32, len, RNIC_TX_RUN);
	if (rnic_run_again(qp, stag, addr, len, access))
		return true;
	if (tx->nr_held == RNIC_TX_HELD)
		return true;
	mr = rnic_mr_get(qp->dev, qp->ibqp.pd, stag, addr, len, access,
			 &tx->draft->run, fault);
	if (!mr)
		return false;
	rnic_tx_hold(tx, mr);
	return true;
}

/* Moves bytes from the run to the segment: @want, or as many as there are. */
static u32 rnic_out_take(struct rnic_out *out, struct rnic_run *run, u32 want)
{
	u32 n, got = 0;

	want = min(want, run->len);
	while (got < want && out->nr < RNIC_TX_PIECES) {
		struct kvec *from = &run->kv[run->at];

		n = min_t(size_t, from->iov_len, want - got);
		out->kv[out->nr].iov_base = from->iov_base;
		out->kv[out->nr++].iov_len = n;
		got += n;
		from->iov_base += n;
		from->iov_len -= n;
		if (!from->iov_len)
			run->at++;
	}
	run->len -= got;
	out->len += got;
	return got;
}

/*
 * Up to @want bytes at [@addr] of region @stag, of which the message goes on
 * to use @len. Fewer if there is no room for more pieces; none at all if the
 * batch holds too many regions. False if the region does not grant it.
 */
static bool rnic_out_region(struct rnic_qp *qp, struct rnic_out *out, u32 stag,
			    u64 addr, u32 len, u32 want, int access, u32 *got,
			   struct ddp_fault *fault)
{
	struct rnic_run *run = &qp->tx.draft->run;

	*got = 0;
	if (!run->len && out->nr < RNIC_TX_PIECES &&
	    !rnic_run_get(qp, stag, addr, len, access, fault))
		return false;
	*got = rnic_out_take(out, run, want);
	return true;
}

static void rnic_run_skip(struct rnic_run *run, u32 len)
{
	run->len -= len;
	for (;;) {
		struct kvec *kv = &run->kv[run->at];
		u32 n = min_t(size_t, kv->iov_len, len);

		kv->iov_base += n;
		kv->iov_len -= n;
		len -= n;
		if (kv->iov_len || !run->len)
			return;
		run->at++;
	}
}

/**
 * struct rnic_source - memory that the message in progress goes on with
 * @stag: its region
 * @addr: the next byte
 * @len: bytes of the message that follow there
 * @access: IB_ACCESS_* rights needed, 0 for none
 */
struct rnic_source {
	u32 stag;
	u64 addr;
	u32 len;
	int access;
};

/*
 * Adds segments that fill their FPDUs, all but the last of the message. Their
 * headers are @out's, counted on. Returns bytes sent, perhaps none: whatever
 * stands in the way is found again by who sends a segment by itself.
 */
static u32 rnic_tx_series(struct rnic_qp *qp, struct mpa_conn *conn,
			  struct rnic_out *out, const struct rnic_source *from)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_run *run = &tx->draft->run;
	unsigned int nr;
	u32 len;

	if (!run->len && !rnic_run_get(qp, from->stag, from->addr, from->len,
				       from->access, NULL))
		return 0;
	len = min(run->len, tx->len - tx->off - 1);
	nr = mpa_tx_add_series(conn, out->hdr, out->hdr_len, run->kv + run->at,
			       &len);
	if (!nr)
		return 0;
	if (!rnic_tx_granted(tx)) {
		mpa_tx_undo(conn, nr);
		rnic_run_forget(tx);
		return 0;
	}
	rnic_run_skip(run, len);
	tx->off += len;
	tx->segments += nr;
	tx->bytes += len;
	return len;
}

/*
 * Inline data is referred to where it lies in the ring: its slot is not given
 * back before the batch is sent, and the private copy is reused sooner.
 */
static void rnic_out_inline(struct rnic_qp *qp, struct rnic_out *out, u32 want)
{
	struct mpa_sqe *e = rnic_ring_at(&qp->sq.ring, qp->sq.fetched - 1);

	out->kv[0].iov_base = (u8 *)e->sge + qp->tx.off;
	out->kv[0].iov_len = want;
	out->nr = want ? 1 : 0;
	out->len = want;
}

/* Payload of the work request in progress; moves its cursor. */
static bool rnic_out_gather(struct rnic_qp *qp, struct rnic_out *out, u32 want)
{
	const struct mpa_sqe *e = qp->sq.cur;
	struct rnic_tx *tx = &qp->tx;
	u32 left, n, got;

	if (e->flags & MPA_SQE_INLINE) {
		rnic_out_inline(qp, out, want);
		return true;
	}
	while (out->len < want) {
		const struct mpa_sge *sge = &e->sge[tx->sge];

		left = sge->length - tx->sge_off;
		n = min(want - out->len, left);
		if (n && !rnic_out_region(qp, out, sge->lkey,
					  sge->addr + tx->sge_off, left, n, 0,
					 &got, NULL))
			return false;
		if (n && !got)
			break;
		tx->sge_off += n ? got : 0;
		if (tx->sge_off < sge->length)
			continue;
		tx->sge++;
		tx->sge_off = 0;
	}
	return true;
}

static void rnic_wr_header(struct rnic_qp *qp, struct rnic_out *out, bool last)
{
	const struct mpa_sqe *e = qp->sq.cur;
	const struct rnic_wr_info *info = &rnic_wr_infos[e->opcode];
	u8 opcode = e->flags & MPA_SQE_SOLICITED ? info->rdmap_se
						 : info->rdmap;
	u32 inv = e->opcode == MPA_WR_SEND_INV ? e->stag : 0;

	if (info->tagged)
		out->hdr_len = ddp_build_tagged(out->hdr, qp->version, opcode,
						last, e->stag,
						e->remote_addr + qp->tx.off);
	else
		out->hdr_len = ddp_build_untagged(out->hdr, qp->version,
						  opcode, last, inv,
						  DDP_QN_SEND,
						  qp->tx.send_msn, qp->tx.off);
}

/* As much of the request in progress as rnic_tx_series() takes. */
static bool rnic_wr_series(struct rnic_qp *qp, struct mpa_conn *conn,
			   struct rnic_out *out)
{
	const struct mpa_sqe *e = qp->sq.cur;
	struct rnic_tx *tx = &qp->tx;
	const struct mpa_sge *sge = &e->sge[tx->sge];
	struct rnic_source from;
	u32 len;

	if (e->flags & MPA_SQE_INLINE || tx->sge_off == sge->length)
		return false;
	from = (struct rnic_source){
		.stag = sge->lkey,
		.addr = sge->addr + tx->sge_off,
		.len = sge->length - tx->sge_off,
	};
	rnic_wr_header(qp, out, false);
	len = rnic_tx_series(qp, conn, out, &from);
	tx->sge_off += len;
	return len;
}

static void rnic_wr_finish(struct rnic_qp *qp)
{
	const struct rnic_wr_info *info = &rnic_wr_infos[qp->sq.cur->opcode];

	rnic_count(qp->dev, info->counter);
	if (!info->tagged && !info->read)
		qp->tx.send_msn++;
	qp->tx.kind = RNIC_TX_NONE;
	qp->tx.whole = qp->sq.fetched;
}

static void rnic_read_header(struct rnic_qp *qp, struct rnic_out *out,
			     const struct rdmap_read *rd)
{
	out->hdr_len = ddp_build_untagged(out->hdr, qp->version,
					  RDMAP_READ_REQ, true, 0,
					  DDP_QN_READ_REQ, qp->tx.read_msn, 0);
	out->hdr_len += rdmap_read_build(out->hdr + out->hdr_len, rd);
}

static int rnic_tx_read(struct rnic_qp *qp, struct mpa_conn *conn,
			struct rnic_out *out)
{
	const struct rnic_swr *wr = rnic_swr_at(&qp->sq, qp->sq.fetched - 1);
	const struct mpa_sqe *e = qp->sq.cur;
	struct rdmap_read rd = {
		.sink_stag = wr->stag,
		.sink_to = wr->to,
		.size = wr->len,
		.src_stag = e->stag,
		.src_to = e->remote_addr,
	};
	int ret;

	rnic_read_header(qp, out, &rd);
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret)
		return ret;
	rnic_reads_issue(&qp->reads, qp->sq.fetched - 1);
	qp->tx.read_msn++;
	rnic_wr_finish(qp);
	return 0;
}

static int rnic_tx_wr(struct rnic_qp *qp, struct mpa_conn *conn,
		      struct rnic_out *out, u32 room, struct rnic_end *end)
{
	const struct rnic_wr_info *info = &rnic_wr_infos[qp->sq.cur->opcode];
	struct rnic_tx *tx = &qp->tx;
	u32 hdr = rnic_wr_hdr_len(info);
	u32 want = min(tx->len - tx->off, room - hdr);
	u32 sge = tx->sge, sge_off = tx->sge_off;
	int ret;

	if (info->read)
		return rnic_tx_read(qp, conn, out);
	if (want < tx->len - tx->off && rnic_wr_series(qp, conn, out))
		return 0;
	if (!rnic_out_gather(qp, out, want)) {
		rnic_swr_finish(qp, rnic_swr_at(&qp->sq, qp->sq.fetched - 1),
				MPA_WC_LOC_PROT_ERR);
		end->fault = &ddp_fault_local;
		return -EACCES;
	}
	if (want && !out->len)
		return -ENOSPC;
	rnic_wr_header(qp, out, tx->off + out->len == tx->len);
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret) {
		tx->sge = sge;
		tx->sge_off = sge_off;
		return ret;
	}
	tx->off += out->len;
	if (tx->off == tx->len)
		rnic_wr_finish(qp);
	return 0;
}

/*
 * The region was good when the request came and is not any more: the
 * Terminate names the request as it stands after what was answered.
 */
static void rnic_response_refused(struct rnic_qp *qp, struct rdmap_read rd,
				  const struct ddp_fault *f)
{
	struct rnic_reads *r = &qp->reads;
	struct rnic_segment seg = {};
	u32 msn = qp->rx.read_msn - (r->in_tail - r->in_head);
	u32 n;

	rd.sink_to += qp->tx.off;
	rd.src_to += qp->tx.off;
	rd.size -= qp->tx.off;
	n = ddp_build_untagged(seg.image, qp->version, RDMAP_READ_REQ, true, 0,
			       DDP_QN_READ_REQ, msn, 0);
	seg.image_len = n + rdmap_read_build(seg.image + n, &rd);
	seg.len = seg.image_len;
	rnic_qp_refuse(qp, f, &seg);
}

static void rnic_response_header(struct rnic_qp *qp, struct rnic_out *out,
				 bool last)
{
	const struct rdmap_read *rd = rnic_response_head(&qp->reads);

	out->hdr_len = ddp_build_tagged(out->hdr, qp->version, RDMAP_READ_RESP,
					last, rd->sink_stag,
					rd->sink_to + qp->tx.off);
}

/* As much of the response in progress as rnic_tx_series() takes. */
static bool rnic_response_series(struct rnic_qp *qp, struct mpa_conn *conn,
				 struct rnic_out *out)
{
	const struct rdmap_read *rd = rnic_response_head(&qp->reads);
	const struct rnic_source from = {
		.stag = rd->src_stag,
		.addr = rd->src_to + qp->tx.off,
		.len = qp->tx.len - qp->tx.off,
		.access = IB_ACCESS_REMOTE_READ,
	};

	rnic_response_header(qp, out, false);
	return rnic_tx_series(qp, conn, out, &from);
}

static int rnic_tx_response(struct rnic_qp *qp, struct mpa_conn *conn,
			    struct rnic_out *out, u32 room,
			   struct ddp_fault *fault)
{
	struct rdmap_read *rd = rnic_response_head(&qp->reads);
	struct rnic_tx *tx = &qp->tx;
	u32 want = min(tx->len - tx->off, room - DDP_TAGGED_LEN);
	u32 got;
	int ret;

	if (want < tx->len - tx->off && rnic_response_series(qp, conn, out))
		return 0;
	if (want && !rnic_out_region(qp, out, rd->src_stag,
				     rd->src_to + tx->off, tx->len - tx->off,
				    want, IB_ACCESS_REMOTE_READ, &got,
				    fault))
		return -EACCES;
	if (want && !out->len)
		return -ENOSPC;
	rnic_response_header(qp, out, tx->off + out->len == tx->len);
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret)
		return ret;
	tx->off += out->len;
	if (tx->off < tx->len)
		return 0;
	rnic_count(qp->dev, RNIC_CNT_TX_READ_RESP);
	rnic_response_done(&qp->reads);
	tx->kind = RNIC_TX_NONE;
	return 0;
}

/*
 * Some hardware treats STag 0 specially, so the RTR names another; nobody may
 * look at it, its message being empty (RFC 6581 section 9.3).
 */
static int rnic_tx_rtr(struct rnic_qp *qp, struct mpa_conn *conn,
		       struct rnic_out *out)
{
	static const struct rdmap_read nothing = {
		.sink_stag = 1, .src_stag = 1,
	};
	struct rnic_tx *tx = &qp->tx;
	bool read = tx->rtr == MPA_RTR_READ;
	int ret;

	if (read)
		rnic_read_header(qp, out, &nothing);
	else if (tx->rtr == MPA_RTR_WRITE)
		out->hdr_len = ddp_build_tagged(out->hdr, qp->version,
						RDMAP_WRITE, true, 1, 0);
	else
		out->hdr_len = ddp_build_untagged(out->hdr, qp->version,
						  RDMAP_SEND, true, 0,
						  DDP_QN_SEND, tx->send_msn, 0);
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret)
		return ret;
	if (read) {
		rnic_reads_issue(&qp->reads, RNIC_READ_RTR);
		tx->read_msn++;
	} else if (tx->rtr == MPA_RTR_SEND) {
		tx->send_msn++;
	}
	tx->rtr = 0;
	tx->kind = RNIC_TX_NONE;
	return 0;
}

static int rnic_tx_terminate(struct rnic_qp *qp, struct mpa_conn *conn,
			     struct rnic_out *out)
{
	struct rnic_tx *tx = &qp->tx;
	int ret;

	memcpy(out->hdr, tx->term, tx->term_len);
	out->hdr_len = tx->term_len;
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret)
		return ret;
	rnic_count(qp->dev, RNIC_CNT_TX_TERMINATE);
	mpa_set_terminate(conn, true, MPA_TERM_VALID | tx->term_cause);
	tx->term_sent = true;
	tx->kind = RNIC_TX_NONE;
	return 0;
}

/* Batches -------------------------------------------------------------------- */

/**
 * struct rnic_fill - how the filling of a batch ended
 * @idle: there is nothing left to send, or nothing that could be sent now; also
 *	if a request failed that was just taken up
 * @end: a work request failed: end.fault is set
 * @fault: a Read Response cannot go on
 * @refused: @fault is set
 */
struct rnic_fill {
	bool idle;
	struct rnic_end end;
	struct ddp_fault fault;
	bool refused;
};

static int rnic_tx_segment(struct rnic_qp *qp, struct mpa_conn *conn, u32 room,
			   struct rnic_fill *fill)
{
	struct rnic_out *out = &qp->tx.draft->out;
	int ret = 0;

	out->nr = 0;
	out->len = 0;
	out->first = max(qp->tx.nr_held, 1U) - 1;
	switch (qp->tx.kind) {
	case RNIC_TX_RTR:
		return rnic_tx_rtr(qp, conn, out);
	case RNIC_TX_WR:
		return rnic_tx_wr(qp, conn, out, room, &fill->end);
	case RNIC_TX_RESPONSE:
		ret = rnic_tx_response(qp, conn, out, room, &fill->fault);
		fill->refused = ret == -EACCES;
		return ret;
	case RNIC_TX_TERMINATE:
		return rnic_tx_terminate(qp, conn, out);
	case RNIC_TX_NONE:
		break;
	}
	return ret;
}

/*
 * The next ULPDU's length if nothing has to be cut. Any of 128 bytes or more says
 * that it may have to be.
 */
static u32 rnic_tx_ulpdu_len(const struct rnic_qp *qp)
{
	const struct rnic_tx *tx = &qp->tx;
	u32 left = min_t(u32, tx->len - tx->off, MPA_MULPDU_MIN);
	const struct rnic_wr_info *info;

	if (tx->kind == RNIC_TX_RESPONSE)
		return DDP_TAGGED_LEN + left;
	if (tx->kind != RNIC_TX_WR)
		return MPA_MULPDU_MIN;
	info = &rnic_wr_infos[qp->sq.cur->opcode];
	if (info->read)
		return RDMAP_READ_REQ_ULPDU;
	return rnic_wr_hdr_len(info) + left;
}

static void rnic_tx_fill(struct rnic_qp *qp, struct mpa_conn *conn,
			 struct rnic_fill *fill)
{
	u32 room;

	do {
		room = mpa_tx_room_for(conn, rnic_tx_ulpdu_len(qp));
		if (!room || rnic_tx_segment(qp, conn, room, fill))
			return;
	} while (rnic_tx_next(qp, &fill->end));
	fill->idle = true;
}

/* Marks no more than RNIC_QP_CHUNK. Returns whether there is more to do. */
static bool rnic_tx_taken_some(struct rnic_qp *qp, struct rnic_due *due)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_swr *wr;
	unsigned int n;
	bool more;

	lockdep_assert_held(&qp->lock);
	/* Local requests may have retired ahead; their slots have new tenants. */
	if ((s32)(qp->sq.retired - tx->taken) > 0)
		tx->taken = qp->sq.retired;
	for (n = 0; n < RNIC_QP_CHUNK && (s32)(tx->whole - tx->taken) > 0; n++) {
		wr = rnic_swr_at(&qp->sq, tx->taken++);
		if (!wr->read)
			wr->done = true;
	}
	more = (s32)(tx->whole - tx->taken) > 0;
	return rnic_sq_retire_some(qp, due) || more;
}

/* TCP has taken the batch: what was wholly in it is done, Reads apart. */
static void rnic_tx_taken(struct rnic_qp *qp)
{
	struct rnic_due due = {};
	unsigned long flags;
	bool more;

	do {
		spin_lock_irqsave(&qp->lock, flags);
		more = rnic_tx_taken_some(qp, &due);
		spin_unlock_irqrestore(&qp->lock, flags);
	} while (more);
	rnic_qp_notify(qp, &due);
}

/* After the batch: whatever made its filling stop for good. */
static void rnic_tx_settle(struct rnic_qp *qp, struct rnic_fill *fill)
{
	if (fill->refused) {
		rnic_response_refused(qp, *rnic_response_head(&qp->reads),
				      &fill->fault);
	} else if (fill->end.fault) {
		trace_rnic_fault(&qp->ibqp, true, fill->end.fault->layer,
				fill->end.fault->etype, fill->end.fault->code);
		rnic_qp_kill(qp, &fill->end);
	}
}

/* What the batch is made of counts, whatever TCP does with it. */
static void rnic_tx_count(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	rnic_count_add(qp->dev, RNIC_CNT_TX_SEGMENTS, tx->segments);
	rnic_count_add(qp->dev, RNIC_CNT_TX_BYTES, tx->bytes);
	tx->segments = 0;
	tx->bytes = 0;
}

/* A batch is open: of what is wanted for it nothing is there yet. */
static void rnic_tx_opened(struct rnic_qp *qp, struct mpa_conn *conn)
{
	qp->tx.draft = mpa_tx_workspace(conn);
	rnic_run_forget(&qp->tx);
}

static int rnic_tx_close(struct rnic_qp *qp, struct mpa_conn *conn)
{
	bool empty = !qp->tx.segments;
	int ret;

	qp->tx.draft = NULL;
	rnic_tx_count(qp);
	ret = mpa_tx_send(conn);
	rnic_tx_release(qp);
	if (ret || empty)
		return ret;
	rnic_count(qp->dev, RNIC_CNT_TX_BATCHES);
	rnic_tx_taken(qp);
	return 0;
}

/*
 * Sends a batch. It is open before a request is taken up, whose memory is then
 * asked for once. If it cannot be opened that matters only to what would be sent:
 * local requests are executed, and others judged, in any case.
 */
static int rnic_tx_batch(struct rnic_qp *qp, struct mpa_conn *conn,
			 struct rnic_fill *fill)
{
	int ret = mpa_tx_begin(conn);

	if (!ret)
		rnic_tx_opened(qp, conn);
	fill->idle = !rnic_tx_next(qp, &fill->end);
	if (!ret) {
		if (!fill->idle)
			rnic_tx_fill(qp, conn, fill);
		ret = rnic_tx_close(qp, conn);
	} else if (fill->idle) {
		ret = 0;
	}
	if (!ret)
		rnic_tx_settle(qp, fill);
	return ret;
}

/* What follows when there is nothing left to send. */
static void rnic_sq_idle(struct rnic_qp *qp, struct rnic_ep *ep)
{
	bool drained = READ_ONCE(qp->state) == RNIC_QP_CLOSING &&
		       qp->sq.fetched == qp->sq.retired &&
		       !rnic_sq_pending(&qp->sq);

	if (!qp->tx.term_sent && !drained)
		return;
	qp->tx.fin_asked = true;
	rnic_ep_end(ep, RNIC_EP_END_ORDERLY);
}

/*
 * There is no memory. Whoever has none tries again after a while, and later each
 * time: a worker that tries at once keeps its processor from those who free some.
 */
static void rnic_tx_retry(struct rnic_qp *qp)
{
	unsigned int ms = RNIC_TX_RETRY << qp->tx.starved;

	if (qp->tx.starved < RNIC_TX_RETRY_DOUBLED)
		qp->tx.starved++;
	rnic_qp_get(qp);
	if (!queue_delayed_work(rnic_wq, &qp->tx_retry, msecs_to_jiffies(ms)))
		rnic_qp_put(qp);
}

/*
 * Nothing can be sent any more. If TCP has ended, the stream says so itself, once
 * all that had arrived before is placed and completed: the end may have come up
 * from the backlog while we were sending. After our own FIN it is no error.
 */
static void rnic_tx_failed(struct rnic_qp *qp, struct rnic_ep *ep, int err)
{
	if (ep->sock->sk->sk_state == TCP_CLOSE)
		return;
	rnic_qp_closed(qp, err == -EPIPE && qp->tx.fin_asked ? 0 : err);
}

/**
 * rnic_sq_run - send until there is nothing to send or no room
 * @qp: the QP
 * @ep: its endpoint; lock_sock() held
 *
 * Whoever could not be served is served again by the ULP's writable call-up,
 * by an arriving response, or by a doorbell.
 */
void rnic_sq_run(struct rnic_qp *qp, struct rnic_ep *ep)
{
	int budget = RNIC_TX_BUDGET;
	struct rnic_fill fill;
	int ret;

	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
	if (!ep->conn)
		return;
	while (rnic_tx_pending(qp)) {
		fill = (struct rnic_fill){
			.end = {
				.send_status = MPA_WC_WR_FLUSH_ERR,
				.recv_status = MPA_WC_WR_FLUSH_ERR,
				.event = IB_EVENT_QP_FATAL,
			},
		};
		if (!budget--) {
			rnic_tx_kick(qp);
			return;
		}
		ret = rnic_tx_batch(qp, ep->conn, &fill);
		if (ret == -ENOMEM)
			rnic_tx_retry(qp);
		if (ret == -EAGAIN || ret == -ENOMEM)
			return;
		qp->tx.starved = 0;
		if (ret) {
			rnic_tx_failed(qp, ep, ret);
			return;
		}
		mpa_tx_catch_up(ep->conn);
		/*
		 * A fault may have brought a Terminate, and the backlog a Read
		 * Request, which goes before the end of the stream.
		 */
		if (fill.idle && !fill.end.fault &&
		    !rnic_response_pending(&qp->reads))
			break;
	}
	rnic_sq_idle(qp, ep);
}

/* Answers at once ------------------------------------------------------------ */

/*
 * Is the sender between messages, with nothing that goes before a Read Response,
 * and is one due that is no longer than @left?
 */
static bool rnic_answer_due(struct rnic_qp *qp, u32 left)
{
	return READ_ONCE(qp->state) == RNIC_QP_RTS && !qp->tx.rtr &&
	       qp->tx.kind == RNIC_TX_NONE && rnic_response_pending(&qp->reads) &&
	       rnic_response_head(&qp->reads)->size <= left;
}

static void rnic_answer_fill(struct rnic_qp *qp, struct mpa_conn *conn,
			     struct rnic_fill *fill)
{
	u32 left = RNIC_ANSWER_MAX;
	u32 room;

	while (rnic_answer_due(qp, left)) {
		rnic_tx_begin_response(qp);
		left -= qp->tx.len;
		do {
			room = mpa_tx_room_for(conn, rnic_tx_ulpdu_len(qp));
			if (!room || rnic_tx_segment(qp, conn, room, fill))
				return;
		} while (qp->tx.kind != RNIC_TX_NONE);
		rnic_count(qp->dev, RNIC_CNT_TX_READ_RESP_AT_ONCE);
	}
	/* Now it is for the next request to go first. */
	qp->tx.prefer_wr = true;
}

static void rnic_answer_send(struct rnic_qp *qp, struct mpa_conn *conn)
{
	struct rnic_fill fill = {};
	int ret;

	/* The sender comes upon what is in the way, too. */
	if (mpa_tx_begin_atomic(conn))
		return;
	rnic_tx_opened(qp, conn);
	rnic_answer_fill(qp, conn, &fill);
	ret = rnic_tx_close(qp, conn);
	if (ret)
		rnic_qp_closed(qp, ret);
	else
		rnic_tx_settle(qp, &fill);
}

/**
 * rnic_qp_answer - send Read Responses where their requests have come in
 * @qp: the QP; socket lock held in any way
 * @conn: its stream, within its &mpa_ops.answer
 *
 * A few short ones: no thread has to be woken for those. What is longer, or has
 * to wait, is left to rnic_sq_run().
 */
void rnic_qp_answer(struct rnic_qp *qp, struct mpa_conn *conn)
{
	if (!qp->rx.asked)
		return;
	qp->rx.asked = false;
	if (rnic_answer_due(qp, RNIC_ANSWER_MAX))
		rnic_answer_send(qp, conn);
	if (rnic_response_pending(&qp->reads))
		rnic_tx_kick(qp);
}

/* Kernel consumers ----------------------------------------------------------- */

static int rnic_wr_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		return MPA_WR_WRITE;
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
	default:
		return -EINVAL;
	}
}

/* The peer's event is asked for by Sends; of others it is harmless. */
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
	int i;

	if (wr->num_sge < 0 || wr->num_sge > sq->max_sge)
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
	switch (e->opcode) {
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

/* What of an entry in the making is refused at once. */
static int rnic_sqe_refused(const struct rnic_wr_info *info,
			    const struct mpa_sqe *e)
{
	if (!rnic_sqe_clear(info, e) || rnic_sqe_len(e) > MPA_MAX_MSG_SIZE)
		return -EINVAL;
	return 0;
}

/**
 * rnic_sq_post - put a kernel consumer's request into the ring
 * @qp: the QP; rnic_qp.lock held
 * @wr: the request
 *
 * Return: 0, -EINVAL (malformed, or longer than %MPA_MAX_MSG_SIZE), -ENOMEM (ring
 * full), -ENOTCONN (the QP was never connected).
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
