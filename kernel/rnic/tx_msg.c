// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segmentation: work requests, Read Responses, RTR and Terminate become DDP
 * segments, which are added to the open batch.
 */
#include "ddp/atomic.h"
#include "ddp/check.h"
#include "ddp/header.h"
#include "device.h"
#include "mr.h"
#include "mr_atomic.h"
#include "mr_tx.h"
#include "qp.h"
#include "qp_stats.h"
#include "reads.h"
#include "ring.h"
#include "sq.h"
#include "sq_atomic.h"
#include "tx_msg.h"
#include "ulp/mpa.h"

/*
 * Did the regions grant the payload until it was copied? If not, their owner
 * may have written other data meanwhile (RFC 5042 section 6.2.2). Then the
 * batch is sent without the segments just added, and the next batch continues
 * the message, if it is still granted.
 */
static bool rnic_tx_granted(const struct rnic_tx *tx)
{
	unsigned int i;

	/*
	 * Copy before reading epochs. Pairs with smp_mb() in
	 * rnic_mr_end_rights().
	 */
	smp_rmb();
	for (i = tx->draft->out.first; i < tx->nr_held; i++)
		if (!rnic_mr_unchanged(tx->held[i], tx->draft->epochs[i]))
			return false;
	return true;
}

static int rnic_tx_copy_out(struct mpa_conn *conn, const struct rnic_out *out)
{
	return mpa_tx_add(conn, out->hdr, out->hdr_len, out->kv, out->nr, out->len,
			  false);
}

static noinline int rnic_tx_copy_locked(struct mpa_conn *conn,
					const struct rnic_out *out)
{
	int ret;

	if (!rnic_mr_lock_granted(out->fast_reg, out->epoch))
		return -EAGAIN;
	ret = rnic_tx_copy_out(conn, out);
	rnic_mr_unlock_granted(out->fast_reg);
	return ret;
}

static int rnic_tx_add_out(struct rnic_qp *qp, struct mpa_conn *conn,
			   const struct rnic_out *out)
{
	int ret = likely(!out->fast_reg) ? rnic_tx_copy_out(conn, out) :
					   rnic_tx_copy_locked(conn, out);

	if (!ret && !rnic_tx_granted(&qp->tx)) {
		mpa_tx_undo(conn, 1);
		ret = -EAGAIN;
	}
	if (ret) {
		/* The run was partly used for the segment; look it up again. */
		rnic_run_forget(&qp->tx);
		return ret;
	}
	qp->tx.segments++;
	qp->tx.bytes += out->len;
	return 0;
}

/* Memory ------------------------------------------------------------------- */

static void rnic_tx_hold_one(struct rnic_tx *tx, struct rnic_mr *mr, u32 epoch)
{
	unsigned int n = tx->nr_held++;

	tx->draft->epochs[n] = epoch;
	tx->held[n] = mr;
}

/*
 * Keeps the region for the batch, once for consecutive uses. If it is a window,
 * the region below is kept, too. That one lost no rights before the window was
 * unbound, so its present epoch is the right one, or that of the window differs.
 */
static void rnic_tx_hold(struct rnic_tx *tx, struct rnic_mr *mr)
{
	struct rnic_mr *below = tx->draft->run.below;
	u32 epoch = tx->draft->run.epoch;
	unsigned int n = tx->nr_held;

	if (n && tx->held[n - 1] == mr && tx->draft->epochs[n - 1] == epoch) {
		rnic_mr_put(mr);
		if (below)
			rnic_mr_put(below);
		return;
	}
	if (below)
		rnic_tx_hold_one(tx, below, READ_ONCE(below->epoch));
	rnic_tx_hold_one(tx, mr, epoch);
}

/* Most bytes are in the region that was used last, which needs no lookup. */
static bool rnic_run_again(struct rnic_qp *qp, const struct rnic_source *from)
{
	const struct rnic_tx *tx = &qp->tx;
	unsigned int last = tx->nr_held - 1;

	return tx->nr_held &&
	       rnic_mr_more(tx->held[last], &qp->ibqp, from,
			    tx->draft->epochs[last], &tx->draft->run);
}

/*
 * Gets the next bytes of @from into the run, at most as many as a batch takes;
 * none if the batch holds too many regions. Returns false if their region does not
 * grant them.
 */
static bool rnic_run_get(struct rnic_qp *qp, const struct rnic_source *from,
			 struct ddp_fault *fault)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_mr *mr;

	if (from->sge->lkey == RNIC_STAG_LOCAL_DMA &&
	    rnic_mr_local_dma_run(qp->dev, &qp->ibqp, from, &tx->draft->run))
		return true;
	if (rnic_run_again(qp, from))
		return true;
	/* A window takes two places. */
	if (tx->nr_held > RNIC_TX_HELD - 2)
		return true;
	mr = rnic_mr_get(qp->dev, &qp->ibqp, from, &tx->draft->run, fault);
	if (!mr)
		return false;
	rnic_tx_hold(tx, mr);
	return true;
}

/* Moves up to @want bytes from the run to the segment. */
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
 * Notes the region that is to be locked while the segment is copied. Returns false if
 * that would be a second one, since their locks are not nested, or the run is used up.
 */
static noinline bool rnic_out_accepts(struct rnic_out *out, const struct rnic_run *run)
{
	if (!run->len)
		return false;
	if (out->fast_reg &&
	    (out->fast_reg != run->fast_reg || out->epoch != run->epoch))
		return false;
	out->fast_reg = run->fast_reg;
	out->epoch = run->epoch;
	return true;
}

/*
 * Adds up to @want bytes of @from. Adds fewer without space for more pieces, or at
 * the end of the run, and none if the batch holds too many regions, or the segment
 * another one that is locked. Returns false if their region does not grant them.
 * Inline, since the call would cost 25 instructions of each segment.
 */
static __always_inline bool
rnic_out_region(struct rnic_qp *qp, struct rnic_out *out,
		const struct rnic_source *from, u32 want, u32 *got,
		struct ddp_fault *fault)
{
	struct rnic_run *run = &qp->tx.draft->run;

	*got = 0;
	if (!run->len && out->nr < RNIC_TX_PIECES && !rnic_run_get(qp, from, fault))
		return false;
	if (!run->fast_reg || rnic_out_accepts(out, run))
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

static unsigned int rnic_tx_copy_series(struct mpa_conn *conn, struct rnic_out *out,
					struct rnic_run *run, u32 *len)
{
	struct rnic_mr *fast_reg = run->fast_reg;
	unsigned int nr;

	if (fast_reg && !rnic_mr_lock_granted(fast_reg, run->epoch)) {
		/* A single segment finds out why. */
		run->len = 0;
		return 0;
	}
	nr = mpa_tx_add_series(conn, out->hdr, out->hdr_len, run->kv + run->at,
			       len);
	if (fast_reg)
		rnic_mr_unlock_granted(fast_reg);
	return nr;
}

/*
 * Adds segments that fill their FPDUs, all but the last one of the message.
 * Their headers are that of @out with increasing offsets. Returns the bytes
 * added. On 0 the caller adds a single segment, and gets the error, if there is
 * one.
 */
static u32 rnic_tx_series(struct rnic_qp *qp, struct mpa_conn *conn,
			  struct rnic_out *out, const struct rnic_source *from)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_run *run = &tx->draft->run;
	unsigned int nr;
	u32 len;

	if (!run->len && !rnic_run_get(qp, from, NULL))
		return 0;
	/* The batch holds too many regions. */
	if (!run->len)
		return 0;
	len = min(run->len, tx->len - tx->off - 1);
	nr = rnic_tx_copy_series(conn, out, run, &len);
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

/* Work requests ------------------------------------------------------------ */

/*
 * Inline data is sent from the ring: its slot is not freed before the batch is
 * sent, while a user's private copy is reused earlier.
 */
static void rnic_out_inline(struct rnic_qp *qp, struct rnic_out *out, u32 want)
{
	struct mpa_sqe *e = rnic_ring_at(&qp->sq.ring, qp->sq.fetched - 1);

	out->kv[0].iov_base = (u8 *)e->sge + qp->tx.off;
	out->kv[0].iov_len = want;
	out->nr = want ? 1 : 0;
	out->len = want;
}

/* The payload with which the request in progress continues; it is not inline. */
static struct rnic_source rnic_wr_source(struct rnic_qp *qp)
{
	const struct mpa_sqe *e = qp->sq.cur;
	struct rnic_tx *tx = &qp->tx;

	while (tx->sge_off == e->sge[tx->sge].length) {
		tx->sge++;
		tx->sge_off = 0;
	}
	return (struct rnic_source){
		.sge = &e->sge[tx->sge],
		.nr = e->num_sge - tx->sge,
		.off = tx->sge_off,
		.access = RNIC_MR_LOCAL_READ,
	};
}

/* @len bytes of the payload were added. */
static void rnic_wr_advance(struct rnic_qp *qp, u32 len)
{
	const struct mpa_sqe *e = qp->sq.cur;
	struct rnic_tx *tx = &qp->tx;
	u32 left;

	while (len > (left = e->sge[tx->sge].length - tx->sge_off)) {
		len -= left;
		tx->sge++;
		tx->sge_off = 0;
	}
	tx->sge_off += len;
}

/* Adds payload of the work request in progress, and advances its cursor. */
static bool rnic_out_gather(struct rnic_qp *qp, struct rnic_out *out, u32 want)
{
	struct rnic_source from;
	u32 got;

	if (qp->sq.cur->flags & MPA_SQE_INLINE) {
		rnic_out_inline(qp, out, want);
		return true;
	}
	while (out->len < want) {
		from = rnic_wr_source(qp);
		if (!rnic_out_region(qp, out, &from, want - out->len, &got, NULL))
			return false;
		if (!got)
			break;
		rnic_wr_advance(qp, got);
	}
	return true;
}

/**
 * rnic_tx_wr_header() - write the header of the request in progress
 * @qp: the QP; socket lock held
 * @hdr: where to; %MPA_TX_HEADER_MAX bytes
 * @last: the message ends with this segment
 *
 * Return: bytes written.
 */
u32 rnic_tx_wr_header(const struct rnic_qp *qp, u8 *hdr, bool last)
{
	const struct mpa_sqe *e = qp->sq.cur;
	const struct rnic_wr_info *info = &rnic_wr_infos[e->opcode];
	u8 opcode = e->flags & MPA_SQE_SOLICITED ? info->rdmap_se
						 : info->rdmap;
	u32 inv = e->opcode == MPA_WR_SEND_INV ? e->stag : 0;

	if (info->tagged)
		return ddp_build_tagged(hdr, qp->version, opcode, last, e->stag,
					e->remote_addr + qp->tx.off);
	return ddp_build_untagged(hdr, qp->version, opcode, last, inv,
				  DDP_QN_SEND, qp->tx.send_msn, qp->tx.off);
}

/* Adds as much of the request in progress as rnic_tx_series() takes. */
static bool rnic_wr_series(struct rnic_qp *qp, struct mpa_conn *conn,
			   struct rnic_out *out)
{
	struct rnic_source from;
	u32 len;

	if (qp->sq.cur->flags & MPA_SQE_INLINE)
		return false;
	from = rnic_wr_source(qp);
	out->hdr_len = rnic_tx_wr_header(qp, out->hdr, false);
	len = rnic_tx_series(qp, conn, out, &from);
	rnic_wr_advance(qp, len);
	return len;
}

/**
 * rnic_tx_wr_finish() - the request in progress is in a batch as a whole
 * @qp: the QP; socket lock held
 */
void rnic_tx_wr_finish(struct rnic_qp *qp)
{
	const struct rnic_wr_info *info = &rnic_wr_infos[qp->sq.cur->opcode];

	rnic_qp_count(qp, info->counter);
	if (!info->tagged && !info->read)
		qp->tx.send_msn++;
	qp->tx.kind = RNIC_TX_NONE;
	qp->tx.whole = qp->sq.fetched;
}

static u32 rnic_tx_build_read(const struct rnic_qp *qp, u8 *hdr,
			      const struct rdmap_read *rd)
{
	u32 n = ddp_build_untagged(hdr, qp->version, RDMAP_READ_REQ, true, 0,
				   DDP_QN_READ_REQ, qp->tx.read_msn, 0);

	return n + rdmap_read_build(hdr + n, rd);
}

static u32 rnic_tx_build_atomic(const struct rnic_qp *qp, u8 *hdr)
{
	u32 n = ddp_build_untagged(hdr, qp->version, RDMAP_ATOMIC_REQ, true, 0,
				   DDP_QN_READ_REQ, qp->tx.read_msn, 0);
	struct rdmap_atomic a;

	rnic_sqe_atomic(qp->sq.cur, &a);
	a.id = qp->sq.fetched - 1;
	return n + rdmap_atomic_build(hdr + n, &a);
}

/*
 * What the response to the Read or Atomic Request in progress needs. A Read
 * without a sink reads nothing, and exposes no STag.
 */
static struct rnic_issued rnic_tx_issued(const struct rnic_qp *qp)
{
	const struct mpa_sqe *e = qp->sq.cur;
	struct rnic_issued issued = {
		.index = qp->sq.fetched - 1,
		.left = qp->tx.len,
		.atomic = rnic_wr_infos[e->opcode].atomic,
	};

	if (issued.atomic) {
		issued.stag = e->length;
		issued.to = rnic_sqe_operands(e)->addr;
	} else if (e->num_sge) {
		issued.stag = e->sge[0].lkey;
		issued.to = e->sge[0].addr;
		issued.invalidate = e->opcode == MPA_WR_READ_INV && issued.stag;
	}
	return issued;
}

/**
 * rnic_tx_read_ulpdu() - write the Read or Atomic Request in progress
 * @qp: the QP; socket lock held
 * @hdr: where to; %MPA_TX_HEADER_MAX bytes
 *
 * Return: bytes written: all of the ULPDU.
 */
u32 rnic_tx_read_ulpdu(struct rnic_qp *qp, u8 *hdr)
{
	const struct mpa_sqe *e = qp->sq.cur;
	const struct rnic_issued issued = rnic_tx_issued(qp);
	const struct rdmap_read rd = {
		.sink_stag = issued.stag,
		.sink_to = issued.to,
		.size = issued.left,
		.src_stag = e->stag,
		.src_to = e->remote_addr,
	};

	if (issued.atomic)
		return rnic_tx_build_atomic(qp, hdr);
	return rnic_tx_build_read(qp, hdr, &rd);
}

/**
 * rnic_tx_read_issued() - the Read or Atomic Request in progress is in a batch
 * @qp: the QP; socket lock held
 */
void rnic_tx_read_issued(struct rnic_qp *qp)
{
	const struct rnic_issued issued = rnic_tx_issued(qp);

	rnic_reads_issue(&qp->reads, &issued);
	qp->tx.read_msn++;
	rnic_tx_wr_finish(qp);
}

static int rnic_tx_read(struct rnic_qp *qp, struct mpa_conn *conn,
			struct rnic_out *out)
{
	int ret;

	out->hdr_len = rnic_tx_read_ulpdu(qp, out->hdr);
	ret = rnic_tx_add_out(qp, conn, out);
	if (!ret)
		rnic_tx_read_issued(qp);
	return ret;
}

/*
 * Nothing is sent between the Write and its Immediate Data, so that the peer
 * knows which Write it belongs to.
 */
static int rnic_tx_imm(struct rnic_qp *qp, struct mpa_conn *conn,
		       struct rnic_out *out)
{
	const struct mpa_sqe *e = qp->sq.cur;
	u8 opcode = e->flags & MPA_SQE_SOLICITED ? RDMAP_IMM_SE : RDMAP_IMM;
	int ret;

	out->hdr_len = ddp_build_untagged(out->hdr, qp->version, opcode, true,
					  0, DDP_QN_SEND, qp->tx.send_msn, 0);
	out->hdr_len += rdmap_imm_build(out->hdr + out->hdr_len, e->imm_data);
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret)
		return ret;
	rnic_qp_count(qp, RNIC_CNT_TX_IMM);
	qp->tx.send_msn++;
	rnic_tx_wr_finish(qp);
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
	if (tx->imm_due)
		return rnic_tx_imm(qp, conn, out);
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
	out->hdr_len = rnic_tx_wr_header(qp, out->hdr,
					 tx->off + out->len == tx->len);
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret) {
		tx->sge = sge;
		tx->sge_off = sge_off;
		return ret;
	}
	tx->off += out->len;
	if (tx->off < tx->len)
		return 0;
	tx->imm_due = info->imm;
	if (!tx->imm_due)
		rnic_tx_wr_finish(qp);
	return 0;
}

/* Read Responses ----------------------------------------------------------- */

static void rnic_tx_response_header(struct rnic_qp *qp, struct rnic_out *out,
				    bool last)
{
	const struct rdmap_read *rd = &rnic_response_head(&qp->reads)->read;

	out->hdr_len = ddp_build_tagged(out->hdr, qp->version, RDMAP_READ_RESP,
					last, rd->sink_stag,
					rd->sink_to + qp->tx.off);
}

/* The payload with which the response in progress continues; @sge describes it. */
static struct rnic_source rnic_tx_response_source(struct rnic_qp *qp, struct mpa_sge *sge)
{
	const struct rdmap_read *rd = &rnic_response_head(&qp->reads)->read;

	*sge = (struct mpa_sge){
		.addr = rd->src_to + qp->tx.off,
		.length = qp->tx.len - qp->tx.off,
		.lkey = rd->src_stag,
	};
	return (struct rnic_source){
		.sge = sge,
		.nr = 1,
		.access = IB_ACCESS_REMOTE_READ,
	};
}

/* Adds as much of the response in progress as rnic_tx_series() takes. */
static bool rnic_tx_response_series(struct rnic_qp *qp, struct mpa_conn *conn,
				    struct rnic_out *out)
{
	struct mpa_sge sge;
	const struct rnic_source from = rnic_tx_response_source(qp, &sge);

	rnic_tx_response_header(qp, out, false);
	return rnic_tx_series(qp, conn, out, &from);
}

/* Executes the operation once; later tries send the same value. */
static int rnic_tx_atomic_response(struct rnic_qp *qp, struct mpa_conn *conn,
				   struct rnic_out *out,
				   struct rnic_asked *asked,
				   struct ddp_fault *fault)
{
	int ret;

	if (!asked->executed &&
	    (!rnic_qp_grants_atomic(qp, fault) ||
	     !rnic_mr_atomic(qp->dev, &qp->ibqp, qp->rx.sink.early,
			     &asked->atomic, &asked->value, fault)))
		return -EACCES;
	asked->executed = true;
	out->hdr_len = ddp_build_untagged(out->hdr, qp->version,
					  RDMAP_ATOMIC_RESP, true, 0,
					  DDP_QN_ATOMIC_RESP,
					  qp->tx.atomic_msn, 0);
	out->hdr_len += rdmap_atomic_response_build(out->hdr + out->hdr_len,
						    asked->atomic.id,
						    asked->value);
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret)
		return ret;
	rnic_qp_count(qp, RNIC_CNT_TX_ATOMIC_RESP);
	qp->tx.atomic_msn++;
	rnic_response_done(&qp->reads);
	qp->tx.kind = RNIC_TX_NONE;
	return 0;
}

static int rnic_tx_response(struct rnic_qp *qp, struct mpa_conn *conn,
			    struct rnic_out *out, u32 room,
			    struct ddp_fault *fault)
{
	struct rnic_tx *tx = &qp->tx;
	u32 want = min(tx->len - tx->off, room - DDP_TAGGED_LEN);
	struct rnic_source from;
	struct mpa_sge sge;
	u32 got;
	int ret;

	if (!rnic_qp_grants_read(qp, tx->len, fault))
		return -EACCES;
	if (want < tx->len - tx->off && rnic_tx_response_series(qp, conn, out))
		return 0;
	from = rnic_tx_response_source(qp, &sge);
	if (want && !rnic_out_region(qp, out, &from, want, &got, fault))
		return -EACCES;
	if (want && !out->len)
		return -ENOSPC;
	rnic_tx_response_header(qp, out, tx->off + out->len == tx->len);
	ret = rnic_tx_add_out(qp, conn, out);
	if (ret)
		return ret;
	tx->off += out->len;
	if (tx->off < tx->len)
		return 0;
	rnic_qp_count(qp, RNIC_CNT_TX_READ_RESP);
	rnic_response_done(&qp->reads);
	tx->kind = RNIC_TX_NONE;
	return 0;
}

/* RTR and Terminate -------------------------------------------------------- */

/*
 * Some hardware handles STag 0 specially, so the RTR has another one. The
 * message is empty, so its STag is not checked (RFC 6581 section 9.3).
 */
static int rnic_tx_rtr(struct rnic_qp *qp, struct mpa_conn *conn,
		       struct rnic_out *out)
{
	static const struct rdmap_read nothing = {
		.sink_stag = 1, .src_stag = 1,
	};
	static const struct rnic_issued rtr = { .rtr = true };
	struct rnic_tx *tx = &qp->tx;
	bool read = tx->rtr == MPA_RTR_READ;
	int ret;

	if (read)
		out->hdr_len = rnic_tx_build_read(qp, out->hdr, &nothing);
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
		rnic_reads_issue(&qp->reads, &rtr);
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
	rnic_qp_count(qp, RNIC_CNT_TX_TERMINATE);
	mpa_set_terminate(conn, true, MPA_TERM_VALID | tx->term_cause);
	tx->term_sent = true;
	tx->kind = RNIC_TX_NONE;
	return 0;
}

/* Messages ----------------------------------------------------------------- */

/**
 * rnic_tx_segment() - add a segment of the message in progress to the batch
 * @qp: the QP; socket lock held, a batch is open
 * @conn: its stream
 * @room: bytes that the ULPDU may have
 * @fill: set to the error with -EACCES
 *
 * Return: 0, or a negative error and nothing was added: -EAGAIN, -ENOMEM and
 * -ENOSPC: the batch ends here; -EACCES: the message cannot continue.
 */
int rnic_tx_segment(struct rnic_qp *qp, struct mpa_conn *conn, u32 room,
		    struct rnic_fill *fill)
{
	struct rnic_out *out = &qp->tx.draft->out;
	struct rnic_asked *asked;
	int ret = 0;

	out->nr = 0;
	out->len = 0;
	out->fast_reg = NULL;
	out->first = max(qp->tx.nr_held, 1U) - 1;
	switch (qp->tx.kind) {
	case RNIC_TX_RTR:
		return rnic_tx_rtr(qp, conn, out);
	case RNIC_TX_WR:
		return rnic_tx_wr(qp, conn, out, room, &fill->end);
	case RNIC_TX_RESPONSE:
		asked = rnic_response_head(&qp->reads);
		ret = asked->is_atomic ?
			      rnic_tx_atomic_response(qp, conn, out, asked,
						      &fill->fault) :
			      rnic_tx_response(qp, conn, out, room,
					       &fill->fault);
		fill->refused = ret == -EACCES;
		return ret;
	case RNIC_TX_TERMINATE:
		return rnic_tx_terminate(qp, conn, out);
	case RNIC_TX_NONE:
		break;
	}
	return ret;
}
