// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving for RDMA Reads: responses to local ones, and requests of the peer.
 */
#include "ddp/check.h"
#include "ddp/header.h"
#include "device.h"
#include "mr.h"
#include "mr_access.h"
#include "mr_rights.h"
#include "mr_rx.h"
#include "qp.h"
#include "qp_stats.h"
#include "qp_stream.h"
#include "reads.h"
#include "ring.h"
#include "rx_read.h"
#include "segment.h"
#include "sq.h"
#include "ulp/mpa.h"

/* Local Reads -------------------------------------------------------------- */

/**
 * rnic_rx_read_head() - the request whose response is expected next
 * @qp: the QP; socket lock held
 *
 * Return: its record, NULL if there is none, or for an RTR.
 */
struct rnic_swr *rnic_rx_read_head(struct rnic_qp *qp)
{
	struct rnic_reads *r = &qp->reads;
	u32 index;

	if (!rnic_reads_outstanding(r))
		return NULL;
	index = rnic_reads_oldest(r);
	if (index == RNIC_READ_RTR)
		return NULL;
	return &qp->sq.wr[index & (qp->sq.ring.size - 1)];
}

/* May something wait for the end of a Read: ORD, a fence, or an orderly end? */
static bool rnic_rx_read_awaited(const struct rnic_qp *qp)
{
	return READ_ONCE(qp->state) != RNIC_QP_RTS ||
	       rnic_ring_pending(&qp->sq.ring, READ_ONCE(qp->sq.fetched));
}

/**
 * rnic_rx_read_sink_error() - end the stream: a response cannot be placed
 * @qp: the QP; socket lock held
 *
 * Return: -EACCES.
 */
int rnic_rx_read_sink_error(struct rnic_qp *qp)
{
	struct rnic_end end = {
		.fault = &ddp_fault_local,
		.send_status = MPA_WC_LOC_PROT_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.event = IB_EVENT_QP_FATAL,
	};

	rnic_qp_kill(qp, &end);
	return -EACCES;
}

/* A Read of any length invalidates; without a sink there is no STag. */
static bool rnic_rx_read_invalidates(const struct rnic_swr *wr)
{
	return wr && wr->opcode == MPA_WR_READ_INV && wr->stag;
}

/**
 * rnic_rx_read_complete() - complete the oldest outstanding request
 * @qp: the QP; socket lock held
 * @wr: its record, or NULL: an RTR
 * @counter: counts the response
 *
 * Return: 0, or a negative error and the stream has ended.
 */
int rnic_rx_read_complete(struct rnic_qp *qp, struct rnic_swr *wr,
			  enum rnic_counter counter)
{
	unsigned long flags;

	if (rnic_rx_read_invalidates(wr) &&
	    rnic_mr_invalidate(qp->dev, &qp->ibqp, wr->stag, false, NULL))
		return rnic_rx_read_sink_error(qp);
	qp->reads.out_head++;
	rnic_qp_count(qp, counter);
	spin_lock_irqsave(&qp->lock, flags);
	if (wr)
		wr->done = true;
	spin_unlock_irqrestore(&qp->lock, flags);
	rnic_sq_retire(qp, &qp->rx.due);
	/* Requests posted later have their own doorbell. */
	if (rnic_rx_read_awaited(qp))
		rnic_qp_kick(qp);
	return 0;
}

/**
 * rnic_rx_read_response() - receive a segment of a Read Response
 * @qp: the QP; socket lock held
 * @seg: the segment
 * @rx: its payload
 *
 * Return: 0, or a negative error and the stream has ended.
 */
int rnic_rx_read_response(struct rnic_qp *qp, struct rnic_segment *seg,
			  struct mpa_rx *rx)
{
	struct rnic_swr *wr = rnic_rx_read_head(qp);
	struct ddp_read_view v = {
		.outstanding = rnic_reads_outstanding(&qp->reads),
	};
	struct ddp_fault f;

	if (wr && rnic_wr_infos[wr->opcode].atomic) {
		v.outstanding = false;
	} else if (wr) {
		v.stag = wr->stag;
		v.to = wr->to;
		v.left = wr->left;
	}
	while (!rdmap_check_response(&seg->h, &v, &f))
		if (!rnic_segment_part(qp, seg, rx))
			return rnic_qp_refuse(qp, &f, seg);
	if (wr && seg->h.payload_len) {
		if (rnic_mr_place(qp->dev, qp->ibqp.pd, &qp->rx.sink, wr->stag,
				  wr->to, seg->h.payload_len, rx))
			return rnic_rx_read_sink_error(qp);
		wr->to += seg->h.payload_len;
		wr->left -= seg->h.payload_len;
	}
	if (!seg->h.last)
		return 0;
	return rnic_rx_read_complete(qp, wr, RNIC_CNT_RX_READ_RESP);
}

/**
 * rnic_rx_read_expects() - may a segment be of the response to a local Read?
 * @qp: the QP; socket lock held
 * @h: its header, of a Read Response with payload, which is not the next
 *
 * Return: true if all of its payload is for the sink of a Read that is outstanding,
 * and has not arrived yet.
 */
bool rnic_rx_read_expects(const struct rnic_qp *qp, const struct ddp_hdr *h)
{
	const struct rnic_reads *r = &qp->reads;
	const struct rnic_swr *wr;
	u32 i, index;

	for (i = r->out_head; i != r->out_tail; i++) {
		index = r->out[i & r->out_mask];
		if (index == RNIC_READ_RTR)
			continue;
		wr = &qp->sq.wr[index & (qp->sq.ring.size - 1)];
		if (!rnic_wr_infos[wr->opcode].atomic && wr->stag == h->stag &&
		    h->to >= wr->to && h->to - wr->to <= wr->left &&
		    h->payload_len <= wr->left - (h->to - wr->to))
			return true;
	}
	return false;
}

/* Reads of the peer -------------------------------------------------------- */

static bool rnic_rx_read_granted(struct rnic_qp *qp, const struct rdmap_read *rd,
				 struct ddp_fault *f)
{
	bool right = READ_ONCE(qp->access) & IB_ACCESS_REMOTE_READ;
	const struct ddp_region_view none = {};

	if (!rdmap_check_right(true, rd->size, right, f))
		return false;
	if (!rd->size)
		return rdmap_check_read(rd, &none, f);
	return rnic_mr_read_granted(qp->dev, &qp->ibqp, rd, f);
}

/**
 * rnic_rx_read_request() - receive a Read Request
 * @qp: the QP; socket lock held
 * @seg: the segment
 * @rx: the Read Request header
 *
 * Return: 0; -EAGAIN: there is no memory, and it must come again; another
 * negative error and the stream has ended.
 */
int rnic_rx_read_request(struct rnic_qp *qp, struct rnic_segment *seg,
			 struct mpa_rx *rx)
{
	struct rnic_reads *r = &qp->reads;
	struct ddp_queue_view q = {
		.msn = qp->rx.read_msn,
		.buffer = r->in_tail - r->in_head < r->ird,
		.buffer_len = RDMAP_READ_REQ_LEN,
	};
	struct rnic_asked asked = { .is_atomic = false };
	struct ddp_fault f;

	if (q.buffer && !rnic_reads_room_in(r, rnic_area_memcg(&qp->rings)))
		return -EAGAIN;
	rnic_qp_count(qp, RNIC_CNT_RX_READ_REQ);
	mpa_rx_read(rx, seg->image + seg->image_len, RDMAP_READ_REQ_LEN);
	if (!ddp_check_untagged(&seg->h, &q, &f)) {
		seg->image_len += RDMAP_READ_REQ_LEN;
		return rnic_qp_refuse(qp, &f, seg);
	}
	rdmap_read_decode(seg->image + seg->image_len, &asked.read);
	seg->image_len += RDMAP_READ_REQ_LEN;
	/*
	 * Check the rights of the stream first, so that without them a peer
	 * cannot probe STags.
	 */
	if (!rnic_rx_read_granted(qp, &asked.read, &f))
		return rnic_qp_refuse(qp, &f, seg);
	rnic_reads_add_in(r, &asked);
	qp->rx.read_msn++;
	qp->rx.asked = true;
	return 0;
}
