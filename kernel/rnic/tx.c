// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending: the next message is selected, and its segments are collected in
 * batches, which are passed to the ULP one at a time.
 */
#include <net/sock.h>

#include "ddp/header.h"
#include "device.h"
#include "ep.h"
#include "mr.h"
#include "mr_tx.h"
#include "qp.h"
#include "qp_stats.h"
#include "qp_stream.h"
#include "reads.h"
#include "ring.h"
#include "segment.h"
#include "sq.h"
#include "tx.h"
#include "tx_msg.h"
#include "ulp/mpa.h"

enum {
	/* Batches sent before the socket lock is released once. */
	RNIC_TX_BUDGET	= 64,
	/* Bytes of a message that is sent without a batch. */
	RNIC_TX_ONE_MAX	= 1024,
	/* Bytes of Read Responses that may be copied in softirq. */
	RNIC_ANSWER_MAX	= 4096,
	/* Without memory: ms until the next try, doubled each time. */
	RNIC_TX_RETRY	= 4,
	/* Limit of doubling: half a second. */
	RNIC_TX_RETRY_DOUBLED = 7,
};

/* Selecting the next message ----------------------------------------------- */

static void rnic_tx_begin_response(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	tx->kind = RNIC_TX_RESPONSE;
	tx->off = 0;
	rnic_run_forget(tx);
	tx->len = rnic_asked_len(rnic_response_head(&qp->reads));
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

/*
 * Can rnic_tx_next() find a message? It does not if what is posted must wait.
 */
static bool rnic_tx_pending(const struct rnic_qp *qp)
{
	const struct rnic_tx *tx = &qp->tx;

	if (tx->kind != RNIC_TX_NONE || (tx->term_len && !tx->term_sent))
		return true;
	return rnic_qp_streaming(qp) &&
	       (tx->rtr || rnic_response_pending(&qp->reads) ||
		rnic_sq_pending(&qp->sq));
}

/* Batches ------------------------------------------------------------------ */

/*
 * Length of the next ULPDU if its message is not segmented. A result of 128
 * bytes or more means that it may be.
 */
static u32 rnic_tx_ulpdu_len(struct rnic_qp *qp)
{
	const struct rnic_tx *tx = &qp->tx;
	u32 left = min_t(u32, tx->len - tx->off, MPA_MULPDU_MIN);
	const struct rnic_wr_info *info;

	if (tx->kind == RNIC_TX_RESPONSE)
		return rnic_response_head(&qp->reads)->is_atomic ?
			       RDMAP_ATOMIC_RESP_ULPDU : DDP_TAGGED_LEN + left;
	if (tx->kind != RNIC_TX_WR)
		return MPA_MULPDU_MIN;
	info = &rnic_wr_infos[qp->sq.cur->opcode];
	if (info->read)
		return info->atomic ? RDMAP_ATOMIC_REQ_ULPDU :
				      RDMAP_READ_REQ_ULPDU;
	if (tx->imm_due)
		return RDMAP_IMM_ULPDU;
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

/*
 * Is the message after rnic_tx.taken in batches as a whole? Flushed requests leave
 * rnic_tx.whole behind, by more than half of all numbers in the end.
 */
static bool rnic_tx_more_taken(const struct rnic_qp *qp)
{
	const struct rnic_tx *tx = &qp->tx;

	return tx->whole - tx->taken - 1 < qp->sq.fetched - tx->taken;
}

/* Marks at most RNIC_QP_CHUNK. Returns true if there is more to do. */
static bool rnic_tx_taken_some(struct rnic_qp *qp, struct rnic_due *due)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_swr *wr;
	unsigned int n;
	bool more;

	lockdep_assert_held(&qp->lock);
	/* What falls behind could not be compared any more, in the end. */
	WARN_ON_ONCE(tx->taken - qp->sq.retired > qp->sq.ring.size);
	for (n = 0; n < RNIC_QP_CHUNK && rnic_tx_more_taken(qp); n++) {
		wr = rnic_swr_at(&qp->sq, tx->taken++);
		if (!wr->read)
			wr->done = true;
	}
	more = rnic_tx_more_taken(qp);
	return rnic_sq_retire_some(qp, due) || more;
}

/*
 * TCP has taken the batch: messages that are wholly in it are complete, except
 * Reads.
 */
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

/* Headers of a Read Request for the part that was not answered. */
static void rnic_tx_read_image(struct rnic_qp *qp, struct rdmap_read rd, u32 msn,
			       struct rnic_segment *seg)
{
	u32 n;

	rd.sink_to += qp->tx.off;
	rd.src_to += qp->tx.off;
	rd.size -= qp->tx.off;
	n = ddp_build_untagged(seg->image, qp->version, RDMAP_READ_REQ, true, 0,
			       DDP_QN_READ_REQ, msn, 0);
	seg->image_len = n + rdmap_read_build(seg->image + n, &rd);
	seg->len = seg->image_len;
}

/*
 * The region granted the request when it arrived, but does not any more. The
 * Terminate contains its header; of an Atomic Request only the DDP header.
 */
static void rnic_tx_refuse_response(struct rnic_qp *qp,
				    const struct rnic_asked *asked,
				    const struct ddp_fault *f)
{
	struct rnic_reads *r = &qp->reads;
	u32 msn = qp->rx.read_msn - (r->in_tail - r->in_head);
	struct rnic_segment seg = {};

	if (!asked->is_atomic) {
		rnic_tx_read_image(qp, asked->read, msn, &seg);
	} else {
		seg.image_len = ddp_build_untagged(seg.image, qp->version,
						   RDMAP_ATOMIC_REQ, true, 0,
						   DDP_QN_READ_REQ, msn, 0);
		seg.len = RDMAP_ATOMIC_REQ_ULPDU;
	}
	rnic_qp_refuse(qp, f, &seg);
}

/* Handles after the batch the error that stopped filling it. */
static void rnic_tx_settle(struct rnic_qp *qp, struct rnic_fill *fill)
{
	if (fill->refused) {
		rnic_tx_refuse_response(qp, rnic_response_head(&qp->reads),
					&fill->fault);
	} else if (fill->end.fault) {
		rnic_qp_kill(qp, &fill->end);
	}
}

/* Segments of a batch are counted even if TCP does not take it. */
static void rnic_tx_count(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	rnic_qp_count_add(qp, RNIC_CNT_TX_SEGMENTS, tx->segments);
	rnic_qp_count_add(qp, RNIC_CNT_TX_BYTES, tx->bytes);
	tx->segments = 0;
	tx->bytes = 0;
}

/* Initializes the state of a batch that was just opened. */
static void rnic_tx_opened(struct rnic_qp *qp, struct mpa_conn *conn)
{
	qp->tx.draft = mpa_tx_workspace(conn);
	rnic_run_forget(&qp->tx);
}

static void rnic_tx_release(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	while (tx->nr_held)
		rnic_mr_put(tx->held[--tx->nr_held]);
}

/*
 * Opening a batch can be tried again if there is no memory. An error of passing one to
 * TCP ends the sending half, whatever it is.
 */
static int rnic_tx_final(int ret)
{
	return ret == -ENOMEM ? -ENOBUFS : ret;
}

static int rnic_tx_close(struct rnic_qp *qp, struct mpa_conn *conn)
{
	bool empty = !qp->tx.segments;
	int ret;

	qp->tx.draft = NULL;
	rnic_tx_count(qp);
	ret = rnic_tx_final(mpa_tx_send(conn));
	rnic_tx_release(qp);
	if (ret || empty)
		return ret;
	rnic_qp_count(qp, RNIC_CNT_TX_BATCHES);
	rnic_tx_taken(qp);
	return 0;
}

/*
 * Sends a batch. It is opened before a request is started, so that the memory
 * of the request is looked up only once. If it cannot be opened, local requests
 * are still executed, and others checked.
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

/* One short message -------------------------------------------------------- */

/* Is a single request posted, and nothing goes before it? */
static bool rnic_tx_one_due(const struct rnic_qp *qp)
{
	return READ_ONCE(qp->state) == RNIC_QP_RTS &&
	       qp->tx.kind == RNIC_TX_NONE && !qp->tx.rtr &&
	       !rnic_response_pending(&qp->reads) &&
	       rnic_sq_pending(&qp->sq) == 1;
}

/*
 * Bytes of the ULPDU that an entry becomes if it is a Read, or a short Send or Write;
 * else 0. Of an entry in the ring it is only a guess: the user may change it.
 */
static u32 rnic_tx_one_len(const struct mpa_sqe *e)
{
	u8 opcode = READ_ONCE(e->opcode);
	u32 len;

	if (opcode == MPA_WR_READ)
		return RDMAP_READ_REQ_ULPDU;
	if (opcode > MPA_WR_SEND_INV)
		return 0;
	if (READ_ONCE(e->flags) & MPA_SQE_INLINE)
		len = READ_ONCE(e->length);
	else if (READ_ONCE(e->num_sge) == 1)
		len = READ_ONCE(e->sge[0].length);
	else
		return 0;
	if (!len || len > RNIC_TX_ONE_MAX)
		return 0;
	return rnic_wr_hdr_len(&rnic_wr_infos[opcode]) + len;
}

/* Copies the payload of the entry that was taken; false: it is not granted. */
static bool rnic_tx_one_copy(struct rnic_qp *qp, u8 *to, u32 len)
{
	const struct mpa_sqe *e = qp->sq.cur;

	if (!(e->flags & MPA_SQE_INLINE))
		return rnic_mr_copy(qp->dev, &qp->ibqp, e->sge[0].lkey,
				    e->sge[0].addr, len, to);
	e = rnic_ring_at(&qp->sq.ring, qp->sq.fetched - 1);
	memcpy(to, e->sge, len);
	return true;
}

/* Writes the ULPDU of a Send or Write; false: the payload is not granted. */
static bool rnic_tx_one_write(struct rnic_qp *qp, u8 *at, u32 len)
{
	u32 hdr_len;

	qp->tx.off = 0;
	hdr_len = rnic_tx_wr_header(qp, at, true);
	if (!rnic_tx_one_copy(qp, at + hdr_len, len - hdr_len))
		return false;
	qp->tx.bytes = len - hdr_len;
	rnic_tx_wr_finish(qp);
	return true;
}

/* Writes the ULPDU of a Read; false: its sink is not granted, and it has failed. */
static bool rnic_tx_one_read(struct rnic_qp *qp, struct rnic_swr *wr, u8 *at,
			     struct rnic_end *end)
{
	if (!rnic_sq_start(qp, wr, MPA_WC_SUCCESS, end))
		return false;
	rnic_tx_read_ulpdu(qp, at);
	rnic_tx_read_issued(qp);
	return true;
}

static int rnic_tx_one_send(struct rnic_qp *qp, struct mpa_conn *conn, u32 len)
{
	int ret;

	qp->tx.segments = 1;
	rnic_tx_count(qp);
	ret = rnic_tx_final(mpa_tx_one_send(conn, len));
	if (ret)
		return ret;
	rnic_qp_count(qp, RNIC_CNT_TX_BATCHES);
	rnic_tx_taken(qp);
	return 0;
}

/* The entry that was taken is written at @at and sent, or handled as usual. */
static int rnic_tx_one_taken(struct rnic_qp *qp, struct mpa_conn *conn,
			     struct rnic_swr *wr, u8 status, u8 *at, u32 len,
			     struct rnic_fill *fill)
{
	/* It may be another one than that in the ring was. */
	bool same = !status && rnic_tx_one_len(qp->sq.cur) == len;
	bool read = same && wr->read;

	if (read ? rnic_tx_one_read(qp, wr, at, &fill->end) :
		   same && rnic_tx_one_write(qp, at, len))
		return rnic_tx_one_send(qp, conn, len);
	if (!read)
		rnic_sq_start(qp, wr, status, &fill->end);
	rnic_tx_settle(qp, fill);
	return 0;
}

/*
 * Sends the only request that is posted without a batch, if it becomes one short
 * FPDU. Returns -EAGAIN if nothing was taken.
 */
static int rnic_tx_one(struct rnic_qp *qp, struct mpa_conn *conn,
		       struct rnic_fill *fill)
{
	struct rnic_swr *wr;
	u8 status, *at;
	u32 len;

	if (!rnic_tx_one_due(qp))
		return -EAGAIN;
	len = rnic_tx_one_len(rnic_ring_at(&qp->sq.ring, qp->sq.fetched));
	at = len ? mpa_tx_one(conn, len) : NULL;
	wr = at ? rnic_sq_take(qp, &status) : NULL;
	if (!wr)
		return -EAGAIN;
	return rnic_tx_one_taken(qp, conn, wr, status, at, len, fill);
}

/* The sender --------------------------------------------------------------- */

/* The event is raised once for each request for it. */
static void rnic_tx_drained(struct rnic_qp *qp)
{
	unsigned long flags;
	bool due;

	spin_lock_irqsave(&qp->lock, flags);
	due = qp->drain_event;
	qp->drain_event = false;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (due)
		rnic_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/* Requests the end of the stream when nothing is left to send before it. */
static void rnic_tx_idle(struct rnic_qp *qp, struct rnic_ep *ep)
{
	bool drained = READ_ONCE(qp->state) == RNIC_QP_CLOSING &&
		       rnic_sq_drained(&qp->sq);

	if (!qp->tx.term_sent && !drained)
		return;
	if (drained)
		rnic_tx_drained(qp);
	qp->tx.fin_asked = true;
	rnic_ep_end(ep, RNIC_EP_END_ORDERLY);
}

/*
 * Tries again later after a lack of memory, with increasing delays: a worker
 * that tries at once would keep the processor from tasks that free memory.
 */
static void rnic_tx_retry(struct rnic_qp *qp)
{
	unsigned int ms = RNIC_TX_RETRY << qp->tx.starved;

	if (qp->tx.starved < RNIC_TX_RETRY_DOUBLED)
		qp->tx.starved++;
	rnic_qp_get(qp);
	if (!queue_delayed_work(rnic_tx_wq, &qp->tx_retry, msecs_to_jiffies(ms)))
		rnic_qp_put(qp);
}

/*
 * Nothing can be sent any more. If TCP has ended, the stream reports that
 * itself after all that arrived before is placed and completed: the end may
 * have been processed from the backlog during sending. After the local FIN it
 * is not an error.
 */
static void rnic_tx_failed(struct rnic_qp *qp, struct rnic_ep *ep, int err)
{
	if (ep->sock->sk->sk_state == TCP_CLOSE) {
		/* A stream whose startup failed reports nothing more. */
		if (ep->status)
			rnic_ep_kick(ep, RNIC_EP_DO_CLOSED);
		return;
	}
	rnic_qp_closed(qp, err == -EPIPE && qp->tx.fin_asked ? 0 : err);
}

/* Field by field: done for each message. @fault is valid with @refused only. */
static void rnic_tx_fill_begin(struct rnic_fill *fill)
{
	fill->idle = false;
	fill->refused = false;
	fill->end.fault = NULL;
	fill->end.seg = NULL;
	fill->end.send_status = MPA_WC_WR_FLUSH_ERR;
	fill->end.recv_status = MPA_WC_WR_FLUSH_ERR;
	fill->end.cause = 0;
	fill->end.event = IB_EVENT_QP_FATAL;
	fill->end.how = RNIC_EP_END_SOON;
}

/**
 * rnic_tx_run() - send until nothing is left to send, or no buffer space
 * @qp: the QP
 * @ep: its endpoint, or one that it had until now; lock_sock() held
 *
 * What could not be sent is tried again after the writable callback of the ULP,
 * the end of a Read, or a doorbell.
 */
void rnic_tx_run(struct rnic_qp *qp, struct rnic_ep *ep)
{
	int budget = RNIC_TX_BUDGET;
	/* Set for each batch. */
	struct rnic_fill fill __uninitialized;
	int ret;

	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
	if (!ep->conn || ep->qp != qp)
		return;
	while (rnic_tx_pending(qp)) {
		rnic_tx_fill_begin(&fill);
		if (!budget--) {
			rnic_qp_kick(qp);
			return;
		}
		ret = rnic_tx_one(qp, ep->conn, &fill);
		if (ret == -EAGAIN)
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
		 * A fault may have added a Terminate, and the backlog a Read
		 * Request, which is answered before the end of the stream.
		 */
		if (fill.idle && !fill.end.fault &&
		    !rnic_response_pending(&qp->reads))
			break;
	}
	rnic_tx_idle(qp, ep);
}

/**
 * rnic_tx_answering() - is a Read of the peer still to be answered?
 * @qp: the QP; socket lock held
 *
 * Return: true if so; rnic_tx_run() requests the end of the stream once more after
 * that.
 */
bool rnic_tx_answering(const struct rnic_qp *qp)
{
	return rnic_qp_streaming(qp) && rnic_response_pending(&qp->reads);
}

/* Responses in the context of the request ---------------------------------- */

/*
 * Is the sender between messages, without anything to send before a Read
 * Response, and is the next response no longer than @left?
 */
static bool rnic_tx_answer_due(struct rnic_qp *qp, u32 left)
{
	return READ_ONCE(qp->state) == RNIC_QP_RTS && !qp->tx.rtr &&
	       qp->tx.kind == RNIC_TX_NONE && rnic_response_pending(&qp->reads) &&
	       rnic_asked_len(rnic_response_head(&qp->reads)) <= left;
}

static void rnic_tx_answer_fill(struct rnic_qp *qp, struct mpa_conn *conn,
				struct rnic_fill *fill)
{
	u32 left = RNIC_ANSWER_MAX;
	u32 room;

	while (rnic_tx_answer_due(qp, left)) {
		rnic_tx_begin_response(qp);
		left -= qp->tx.len;
		do {
			room = mpa_tx_room_for(conn, rnic_tx_ulpdu_len(qp));
			if (!room || rnic_tx_segment(qp, conn, room, fill))
				return;
		} while (qp->tx.kind != RNIC_TX_NONE);
		rnic_qp_count(qp, RNIC_CNT_TX_READ_RESP_AT_ONCE);
	}
	/* The next request goes first now. */
	qp->tx.prefer_wr = true;
}

static void rnic_tx_answer_send(struct rnic_qp *qp, struct mpa_conn *conn)
{
	struct rnic_fill fill = {};
	int ret;

	/* The sender handles the error. */
	if (mpa_tx_begin_atomic(conn))
		return;
	rnic_tx_opened(qp, conn);
	rnic_tx_answer_fill(qp, conn, &fill);
	ret = rnic_tx_close(qp, conn);
	if (ret)
		rnic_qp_closed(qp, ret);
	else
		rnic_tx_settle(qp, &fill);
}

/**
 * rnic_tx_answer() - send short Read Responses in the context that received the
 * requests
 * @qp: the QP; socket lock held in any way
 * @conn: its stream, within its &mpa_ops.answer
 *
 * This needs no wakeup of a thread. Longer responses, and those that must wait,
 * are sent by rnic_tx_run().
 */
void rnic_tx_answer(struct rnic_qp *qp, struct mpa_conn *conn)
{
	if (!qp->rx.asked)
		return;
	qp->rx.asked = false;
	if (rnic_tx_answer_due(qp, RNIC_ANSWER_MAX))
		rnic_tx_answer_send(qp, conn);
	if (rnic_response_pending(&qp->reads))
		rnic_qp_kick(qp);
}

/* Doorbell ----------------------------------------------------------------- */

/*
 * Before full operation nothing can be sent, and rnic_qp_operational() calls again.
 * So nobody waits for the lock of a socket that its application is about to get
 * back.
 */
static bool rnic_tx_too_early(const struct rnic_qp *qp, const struct rnic_ep *ep)
{
	return ep->file && !rnic_qp_streaming(qp) && !READ_ONCE(ep->operational);
}

/**
 * rnic_tx_doorbell() - send posted requests, or flush them
 * @qp: the QP
 *
 * Process context; takes the socket lock.
 */
void rnic_tx_doorbell(struct rnic_qp *qp)
{
	struct rnic_ep *ep = rnic_qp_ep_get(qp);

	if (ep && rnic_tx_too_early(qp, ep)) {
		rnic_ep_put(ep);
		ep = NULL;
	}
	if (!ep) {
		rnic_qp_check_cqs(qp, NULL);
		rnic_qp_flush(qp);
		return;
	}
	lock_sock(ep->sock->sk);
	rnic_qp_check_cqs(qp, ep);
	rnic_tx_run(qp, ep);
	if (!rnic_qp_streaming(qp))
		rnic_qp_flush(qp);
	release_sock(ep->sock->sk);
	rnic_ep_put(ep);
}

/**
 * rnic_tx_work() - send or flush later
 * @work: rnic_qp.tx_work; owns a reference to the QP
 */
void rnic_tx_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, tx_work);

	rnic_tx_doorbell(qp);
	rnic_qp_put(qp);
}

/**
 * rnic_tx_retry_work() - send again after a lack of memory
 * @work: of rnic_qp.tx_retry; owns a reference to the QP
 */
void rnic_tx_retry_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(to_delayed_work(work), struct rnic_qp,
					  tx_retry);

	rnic_tx_doorbell(qp);
	rnic_qp_put(qp);
}
