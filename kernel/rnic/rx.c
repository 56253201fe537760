// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving: every verified ULPDU is checked (kernel/ddp), its payload is
 * placed, and its message is completed when it is whole.
 */
#include "cq.h"
#include "ddp/check.h"
#include "device.h"
#include "early.h"
#include "mr.h"
#include "mr_rights.h"
#include "mr_rx.h"
#include "qp.h"
#include "qp_stats.h"
#include "qp_stream.h"
#include "ring.h"
#include "rq.h"
#include "rqe.h"
#include "rx.h"
#include "rx_atomic.h"
#include "rx_read.h"
#include "segment.h"
#include "srq.h"
#include "terminate.h"

/* Sends and Immediate Data ------------------------------------------------- */

static bool rnic_rx_send_invalidates(u8 opcode)
{
	return opcode == RDMAP_SEND_INV || opcode == RDMAP_SEND_SE_INV;
}

static bool rnic_rx_send_solicited(u8 opcode)
{
	return opcode == RDMAP_SEND_SE || opcode == RDMAP_SEND_SE_INV;
}

/*
 * Takes the next entry, if there is one. A user's is copied before it is checked,
 * and one of a shared queue because it is given back at once. That of a kernel
 * consumer's own ring is used where it is. The ring is not flushed meanwhile, since
 * that needs the socket lock, too.
 */
static bool rnic_rx_rq_next(const struct rnic_qp *qp, struct rnic_rq *rq)
{
	if (rq->srq)
		return rnic_srq_take(rq->srq, rq->cur);
	if (!rnic_ring_pending(&rq->ring, rq->taken))
		return false;
	if (qp->user)
		rnic_rqe_fetch(&rq->ring, rq->taken, rq->max_sge, rq->cur);
	else
		rq->cur = rnic_ring_at(&rq->ring, rq->taken);
	/* nldev reads it without the socket lock. */
	WRITE_ONCE(rq->taken, rq->taken + 1);
	return true;
}

/*
 * A message takes an entry when its first segment arrives, from a shared queue
 * as well, so that the messages of a QP complete in the order of their MSNs (RFC
 * 5041 section 5.3). With -EINVAL the entry is invalid, but in use all the same.
 */
static int rnic_rx_rq_take(const struct rnic_qp *qp, struct rnic_rq *rq)
{
	const struct mpa_rqe *e;
	u32 i;

	if (!rnic_rx_rq_next(qp, rq))
		return 0;
	e = rq->cur;
	rq->busy = true;
	rq->cur_len = 0;
	if (e->num_sge > rq->max_sge || e->reserved)
		return -EINVAL;
	for (i = 0; i < e->num_sge; i++)
		rq->cur_len += e->sge[i].length;
	return 0;
}

/*
 * Places a segment's payload into the pieces of the receive, from byte @mo on.
 */
static int rnic_rx_rq_place(struct rnic_qp *qp, u32 mo, u32 len, struct mpa_rx *rx)
{
	const struct mpa_rqe *e = qp->rq.cur;
	u32 i, n;
	int ret;

	for (i = 0; len && i < e->num_sge; i++) {
		if (mo >= e->sge[i].length) {
			mo -= e->sge[i].length;
			continue;
		}
		n = min(len, e->sge[i].length - mo);
		ret = rnic_mr_place(qp->dev, qp->rq.pd, &qp->rx.sink,
				    e->sge[i].lkey, e->sge[i].addr + mo, n, rx);
		if (ret)
			return ret;
		len -= n;
		mo = 0;
	}
	return 0;
}

/* Reports the receive in use, and expects the next message. */
static void rnic_rx_rq_complete(struct rnic_qp *qp, const struct mpa_cqe *cqe,
				bool solicited)
{
	struct rnic_rq *rq = &qp->rq;

	rq->busy = false;
	qp->rx.waiting = false;
	rnic_rq_give_back(rq);
	if (rnic_cq_push(qp->rcq, cqe, solicited))
		qp->rx.due.rcq = true;
	qp->rx.send_msn++;
	qp->rx.send_mo = 0;
	qp->rx.wrote = 0;
}

static void rnic_rx_send_complete(struct rnic_qp *qp, const struct rnic_segment *seg)
{
	struct rnic_rq *rq = &qp->rq;
	u8 opcode = seg->h.opcode;
	struct mpa_cqe cqe = {
		.wr_id = rq->cur->wr_id,
		.qp_num = qp->cqe_qp,
		.byte_len = qp->rx.send_mo,
		.status = MPA_WC_SUCCESS,
		.opcode = MPA_CQE_RECV,
	};

	if (rnic_rx_send_invalidates(opcode)) {
		cqe.flags |= MPA_CQE_INVALIDATED;
		cqe.inv_stag = seg->h.stag;
	}
	if (rnic_rx_send_solicited(opcode))
		cqe.flags |= MPA_CQE_SOLICITED;

	rnic_rx_rq_complete(qp, &cqe, rnic_rx_send_solicited(opcode));
	rnic_qp_count(qp, RNIC_CNT_RX_SEND);
}

static int rnic_rx_local_error(struct rnic_qp *qp, u8 status)
{
	struct rnic_end end = {
		.fault = &ddp_fault_local,
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = status,
		.event = IB_EVENT_QP_FATAL,
	};

	rnic_qp_kill(qp, &end);
	return -EACCES;
}

/* Delivers a message that is placed as a whole (RFC 5040 section 5.3). */
static int rnic_rx_send_deliver(struct rnic_qp *qp, struct rnic_segment *seg)
{
	struct ddp_fault f;

	if (rnic_rx_send_invalidates(seg->h.opcode) &&
	    rnic_mr_invalidate(qp->dev, &qp->ibqp, seg->h.stag, true, &f))
		return rnic_qp_refuse(qp, &f, seg);
	rnic_rx_send_complete(qp, seg);
	return 0;
}

/*
 * With InfiniBand the completion states the bytes of the Write that carried the
 * data. Here these are two messages. A peer that sends both for one request
 * sends nothing between them, so the Write is the last one, after any other
 * message that took a receive.
 */
static void rnic_rx_imm_complete(struct rnic_qp *qp, u8 opcode, __be32 imm)
{
	bool solicited = opcode == RDMAP_IMM_SE;
	const struct mpa_cqe cqe = {
		.wr_id = qp->rq.cur->wr_id,
		.qp_num = qp->cqe_qp,
		.byte_len = min_t(u64, qp->rx.wrote, U32_MAX),
		.status = MPA_WC_SUCCESS,
		.opcode = MPA_CQE_RECV_IMM,
		.flags = solicited ? MPA_CQE_SOLICITED : 0,
		.imm_data = imm,
	};

	rnic_rx_rq_complete(qp, &cqe, solicited);
	rnic_qp_count(qp, RNIC_CNT_RX_IMM);
}

/* Nothing is placed into the memory of the receive. */
static int rnic_rx_imm(struct rnic_qp *qp, const struct rnic_segment *seg,
		       struct mpa_rx *rx)
{
	u8 data[RDMAP_IMM_LEN];

	mpa_rx_read(rx, data, sizeof(data));
	rnic_rx_imm_complete(qp, seg->h.opcode, rdmap_imm_decode(data));
	return 0;
}

static bool rnic_rx_is_imm(u8 opcode)
{
	return opcode == RDMAP_IMM || opcode == RDMAP_IMM_SE;
}

/*
 * Without a receive the stream ends (RFC 5041 section 7.1), unless the setting
 * receive-wait, or the QP's own time, lets the message wait for one. Then TCP
 * holds back what follows. A consumer that disconnects posts none any more.
 */
static bool rnic_rx_waits(struct rnic_qp *qp, const struct ddp_fault *f)
{
	struct rnic_rx_state *rx = &qp->rx;
	unsigned long wait = READ_ONCE(rx->wait);

	if (!wait || READ_ONCE(qp->state) != RNIC_QP_RTS ||
	    f->code != DDP_EC_UNTAGGED_NO_BUFFER)
		return false;
	if (!rx->waiting) {
		rx->waiting = true;
		rx->waits_since = jiffies;
		rnic_qp_count(qp, RNIC_CNT_RX_RECEIVE_WAIT);
	} else if (time_after(jiffies, rx->waits_since + wait)) {
		rnic_qp_count(qp, RNIC_CNT_RX_RECEIVE_LATE);
		return false;
	}
	return true;
}

/* Also Immediate Data: it takes a receive, too (RFC 7306 section 6). */
static int rnic_rx_send(struct rnic_qp *qp, struct rnic_segment *seg,
			struct mpa_rx *rx)
{
	bool imm = rnic_rx_is_imm(seg->h.opcode);
	struct rnic_rq *rq = &qp->rq;
	struct ddp_queue_view v = {
		.msn = qp->rx.send_msn,
		.mo = qp->rx.send_mo,
		.opcode = qp->rx.send_opcode,
		.mo_open = rq->busy,
	};
	struct ddp_fault f;

	if (!rq->busy && rnic_rx_rq_take(qp, rq))
		return rnic_rx_local_error(qp, MPA_WC_LOC_QP_OP_ERR);
	v.buffer = rq->busy;
	v.buffer_len = imm ? RDMAP_IMM_LEN : rq->cur_len;
	while (!ddp_check_untagged(&seg->h, &v, &f)) {
		if (rnic_segment_part(qp, seg, rx))
			continue;
		if (!v.buffer && rnic_rx_waits(qp, &f))
			return -EAGAIN;
		return rnic_qp_refuse(qp, &f, seg);
	}
	if (imm)
		return rnic_rx_imm(qp, seg, rx);
	qp->rx.send_opcode = seg->h.opcode;
	if (rnic_rx_rq_place(qp, qp->rx.send_mo, seg->h.payload_len, rx))
		return rnic_rx_local_error(qp, MPA_WC_LOC_PROT_ERR);
	qp->rx.send_mo += seg->h.payload_len;
	return seg->h.last ? rnic_rx_send_deliver(qp, seg) : 0;
}

/* Writes ------------------------------------------------------------------- */

static int rnic_rx_write(struct rnic_qp *qp, struct rnic_segment *seg,
			 struct mpa_rx *rx)
{
	const struct ddp_hdr *h = &seg->h;
	struct ddp_fault f;

	if (!rdmap_check_right(false, h->payload_len,
			       READ_ONCE(qp->access) & IB_ACCESS_REMOTE_WRITE,
			       &f))
		return rnic_qp_refuse(qp, &f, seg);
	/* Without payload the STag is not checked (RFC 5041 section 5.2). */
	while (h->payload_len &&
	       !rnic_mr_write(qp->dev, &qp->ibqp, &qp->rx.sink, h, rx, &f))
		if (!rnic_segment_part(qp, seg, rx))
			return rnic_qp_refuse(qp, &f, seg);
	qp->rx.write_len += h->payload_len;
	qp->rx.writing = !h->last;
	if (!h->last)
		return 0;
	qp->rx.wrote = qp->rx.write_len;
	qp->rx.write_len = 0;
	rnic_qp_count(qp, RNIC_CNT_RX_WRITE);
	return 0;
}

/* Segments ----------------------------------------------------------------- */

typedef int (*rnic_rx_fn)(struct rnic_qp *qp, struct rnic_segment *seg,
			  struct mpa_rx *rx);

/* By RDMAP opcode; ddp_check_control() refuses others. */
static const rnic_rx_fn rnic_rx_fns[] = {
	[RDMAP_WRITE] = rnic_rx_write,
	[RDMAP_READ_REQ] = rnic_rx_read_request,
	[RDMAP_READ_RESP] = rnic_rx_read_response,
	[RDMAP_SEND] = rnic_rx_send,
	[RDMAP_SEND_INV] = rnic_rx_send,
	[RDMAP_SEND_SE] = rnic_rx_send,
	[RDMAP_SEND_SE_INV] = rnic_rx_send,
	[RDMAP_TERMINATE] = rnic_rx_terminate,
	[RDMAP_IMM] = rnic_rx_send,
	[RDMAP_IMM_SE] = rnic_rx_send,
	[RDMAP_ATOMIC_REQ] = rnic_rx_atomic_request,
	[RDMAP_ATOMIC_RESP] = rnic_rx_atomic_response,
};

/**
 * rnic_rx_ulpdu() - receive a verified ULPDU
 * @qp: the QP; socket lock held
 * @conn: its stream
 * @rx: its bytes
 * @len: how many
 *
 * For &mpa_ops.ulpdu. Return: 0; -EAGAIN: it waits for a receive; another
 * negative error if it and all that follow are refused.
 */
int rnic_rx_ulpdu(struct rnic_qp *qp, const struct mpa_conn *conn,
		  struct mpa_rx *rx, u32 len)
{
	/* While something is remembered, each FPDU is compared with it. */
	const bool early = rnic_early_active(qp->rx.sink.early);
	/* Read below as a whole. The compiler would zero it for every FPDU. */
	struct rnic_segment seg __uninitialized;
	struct ddp_fault f;
	bool whole;
	int ret;

	if (!rnic_qp_streaming(qp))
		return -ECONNABORTED;
	whole = rnic_segment_read(&seg, rx, len);
	if (!ddp_check_control(&seg.h, whole, qp->version, qp->extensions, &f)) {
		if (whole && seg.h.opcode == RDMAP_TERMINATE)
			return rnic_rx_bad_terminate(qp);
		/*
		 * Reported as an error of MPA, so rnic_qp_refuse() does not
		 * count it.
		 */
		if (!whole)
			rnic_qp_count(qp, RNIC_CNT_RX_DDP_ERROR);
		return rnic_qp_refuse(qp, &f, whole ? &seg : NULL);
	}
	if (unlikely(early))
		rnic_early_begin(qp->rx.sink.early, mpa_rx_end(conn),
				 seg.h.tagged);
	else
		rnic_segment_join(qp, &seg, rx);
	ret = rnic_rx_fns[seg.h.opcode](qp, &seg, rx);
	if (unlikely(ret == -EAGAIN))
		return ret;
	if (unlikely(early))
		rnic_early_pass(qp->rx.sink.early);
	qp->rx.segments += 1 + seg.joined;
	qp->rx.bytes += seg.h.payload_len;
	return ret;
}

/* The right that a tagged segment needs, as in its turn; 0: it has none. */
static int rnic_rx_early_access(struct rnic_qp *qp, const struct ddp_hdr *h)
{
	if (h->opcode == RDMAP_WRITE)
		return READ_ONCE(qp->access) & IB_ACCESS_REMOTE_WRITE;
	if (h->opcode == RDMAP_READ_RESP && rnic_rx_read_expects(qp, h))
		return IB_ACCESS_LOCAL_WRITE;
	return 0;
}

static bool rnic_rx_early_place(struct rnic_qp *qp, struct mpa_rx *rx, u32 len,
				u32 end)
{
	struct rnic_segment seg __uninitialized;
	struct ddp_fault f;
	int access;

	if (!rnic_segment_read(&seg, rx, len) ||
	    !ddp_check_control(&seg.h, true, qp->version, qp->extensions, &f) ||
	    !seg.h.payload_len)
		return false;
	access = rnic_rx_early_access(qp, &seg.h);
	return access && rnic_mr_place_early(qp->dev, &qp->ibqp,
					     qp->rx.sink.early, &seg.h, access,
					     end, rx);
}

/**
 * rnic_rx_early() - receive a verified ULPDU before its turn
 * @qp: the QP; socket lock held
 * @rx: its bytes
 * @len: how many
 * @end: TCP sequence number behind its FPDU
 *
 * For &mpa_ops.early. Only payload of Writes and Read Responses is placed, and
 * nothing but that is done; whatever is not in order with it is left to its turn.
 *
 * Return: false if there is no room for more.
 */
bool rnic_rx_early(struct rnic_qp *qp, struct mpa_rx *rx, u32 len, u32 end)
{
	struct rnic_early *e = qp->rx.sink.early;

	if (!e || e->nr == RNIC_EARLY_MAX || !rnic_qp_streaming(qp))
		return false;
	if (!rnic_early_knows(e, end))
		rnic_qp_count(qp, rnic_rx_early_place(qp, rx, len, end) ?
				  RNIC_CNT_RX_EARLY : RNIC_CNT_RX_EARLY_LEFT);
	return true;
}

static void rnic_rx_count_early(struct rnic_qp *qp, struct rnic_early *e)
{
	rnic_qp_count_add(qp, RNIC_CNT_RX_EARLY_USED, e->used);
	rnic_qp_count_add(qp, RNIC_CNT_RX_EARLY_REDONE, e->redone);
	e->used = 0;
	e->redone = 0;
}

/**
 * rnic_rx_settled() - all ULPDUs that arrived are processed
 * @qp: the QP; socket lock held
 *
 * For &mpa_ops.settled: counts, and raises completion events.
 */
void rnic_rx_settled(struct rnic_qp *qp)
{
	struct rnic_rx_state *rx = &qp->rx;
	const struct rnic_due due = rx->due;

	rnic_mr_forget(&rx->sink);
	if (rx->sink.early)
		rnic_rx_count_early(qp, rx->sink.early);
	rnic_qp_count_add(qp, RNIC_CNT_RX_SEGMENTS, rx->segments);
	rnic_qp_count_add(qp, RNIC_CNT_RX_BYTES, rx->bytes);
	rx->segments = 0;
	rx->bytes = 0;
	rx->due = (struct rnic_due){};
	rnic_qp_notify(qp, &due);
}
