// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving for atomic operations (RFC 7306 section 5): requests of the peer, and
 * responses to local ones. A request is checked when it arrives, and executed in
 * its turn, when its response is sent: after the responses to Reads before it,
 * and before anything is read for those after it.
 */
#include "ddp/atomic.h"
#include "ddp/check.h"
#include "device.h"
#include "mr.h"
#include "mr_atomic.h"
#include "qp.h"
#include "qp_stats.h"
#include "qp_stream.h"
#include "reads.h"
#include "rx_atomic.h"
#include "rx_read.h"
#include "segment.h"
#include "sq.h"
#include "ulp/mpa.h"

/**
 * rnic_rx_atomic_request() - receive an Atomic Request
 * @qp: the QP; socket lock held
 * @seg: the segment
 * @rx: the Atomic Request header
 *
 * Return: 0; -EAGAIN: there is no memory, and it must come again; another
 * negative error and the stream has ended.
 */
int rnic_rx_atomic_request(struct rnic_qp *qp, struct rnic_segment *seg,
			   struct mpa_rx *rx)
{
	struct rnic_reads *r = &qp->reads;
	struct ddp_queue_view q = {
		.msn = qp->rx.read_msn,
		.buffer = r->in_tail - r->in_head < r->ird,
		.buffer_len = RDMAP_ATOMIC_REQ_LEN,
	};
	struct rnic_asked asked = { .is_atomic = true };
	u8 header[RDMAP_ATOMIC_REQ_LEN];
	struct ddp_fault f;

	if (q.buffer && !rnic_reads_room_in(r, rnic_area_memcg(&qp->rings)))
		return -EAGAIN;
	rnic_qp_count(qp, RNIC_CNT_RX_ATOMIC_REQ);
	if (!ddp_check_untagged(&seg->h, &q, &f))
		return rnic_qp_refuse(qp, &f, seg);
	mpa_rx_read(rx, header, sizeof(header));
	rdmap_atomic_decode(header, &asked.atomic);
	/* The rights of the stream first, as for Reads. */
	if (!rnic_qp_grants_atomic(qp, &f) ||
	    !rnic_mr_atomic(qp->dev, &qp->ibqp, NULL, &asked.atomic, NULL,
			    &f))
		return rnic_qp_refuse(qp, &f, seg);
	rnic_reads_add_in(r, &asked);
	qp->rx.read_msn++;
	qp->rx.asked = true;
	return 0;
}

/**
 * rnic_rx_atomic_response() - receive an Atomic Response
 * @qp: the QP; socket lock held
 * @seg: the segment
 * @rx: the Atomic Response header
 *
 * Return: 0, or a negative error and the stream has ended.
 */
int rnic_rx_atomic_response(struct rnic_qp *qp, struct rnic_segment *seg,
			    struct mpa_rx *rx)
{
	const struct rnic_issued *issued = rnic_reads_oldest(&qp->reads);
	struct ddp_atomic_view v = {
		.outstanding = issued && issued->atomic,
		.msn = qp->rx.atomic_msn,
	};
	u8 header[RDMAP_ATOMIC_RESP_LEN];
	struct ddp_fault f;
	u64 value;
	u32 id;

	if (v.outstanding)
		v.id = issued->index;
	mpa_rx_read(rx, header, sizeof(header));
	rdmap_atomic_response_decode(header, &id, &value);
	if (!rdmap_check_atomic_response(&seg->h, &v, id, &f))
		return rnic_qp_refuse(qp, &f, seg);
	if (rnic_mr_store(qp->dev, qp->ibqp.pd, qp->rx.sink.early, issued->stag,
			  issued->to, value))
		return rnic_rx_read_sink_error(qp);
	qp->rx.atomic_msn++;
	return rnic_rx_read_complete(qp, RNIC_CNT_RX_ATOMIC_RESP);
}
