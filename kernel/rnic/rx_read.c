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

/**
 * rnic_rx_read_complete() - complete the oldest outstanding request
 * @qp: the QP; socket lock held
 * @counter: counts the response
 *
 * Return: 0, or a negative error and the stream has ended.
 */
int rnic_rx_read_complete(struct rnic_qp *qp, enum rnic_counter counter)
{
	const struct rnic_issued *issued = rnic_reads_oldest(&qp->reads);
	unsigned long flags;

	/* A Read of any length invalidates. */
	if (issued->invalidate &&
	    rnic_mr_invalidate(qp->dev, &qp->ibqp, issued->stag, false, NULL))
		return rnic_rx_read_sink_error(qp);
	qp->reads.out_head++;
	rnic_qp_count(qp, counter);
	spin_lock_irqsave(&qp->lock, flags);
	if (!issued->rtr)
		rnic_swr_at(&qp->sq, issued->index)->done = true;
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
	struct rnic_issued *issued = rnic_reads_oldest(&qp->reads);
	struct ddp_read_view v = {};
	struct ddp_fault f;

	if (issued && !issued->atomic) {
		v.outstanding = true;
		v.stag = issued->stag;
		v.to = issued->to;
		v.left = issued->left;
	}
	while (!rdmap_check_response(&seg->h, &v, &f))
		if (!rnic_segment_part(qp, seg, rx))
			return rnic_qp_refuse(qp, &f, seg);
	/* Refused above unless so much of a Read is left. */
	if (seg->h.payload_len) {
		if (rnic_mr_place(qp->dev, qp->ibqp.pd, &qp->rx.sink,
				  issued->stag, issued->to, seg->h.payload_len,
				  rx))
			return rnic_rx_read_sink_error(qp);
		issued->to += seg->h.payload_len;
		issued->left -= seg->h.payload_len;
	}
	if (!seg->h.last)
		return 0;
	return rnic_rx_read_complete(qp, RNIC_CNT_RX_READ_RESP);
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
	const struct rnic_issued *issued;
	u32 i;

	for (i = r->out_head; i != r->out_tail; i++) {
		issued = &r->out[i & r->out_mask];
		if (!issued->atomic && issued->stag == h->stag &&
		    h->to >= issued->to && h->to - issued->to <= issued->left &&
		    h->payload_len <= issued->left - (h->to - issued->to))
			return true;
	}
	return false;
}

/* Reads of the peer -------------------------------------------------------- */

static bool rnic_rx_read_granted(struct rnic_qp *qp, const struct rdmap_read *rd,
				 struct ddp_fault *f)
{
	const struct ddp_region_view none = {};

	if (!rnic_qp_grants_read(qp, rd->size, f))
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
