// SPDX-License-Identifier: GPL-2.0-only
/* Terminate messages of the peer (RFC 5040 section 4.8). */
#include "ddp/terminate.h"
#include "device.h"
#include "ep.h"
#include "qp.h"
#include "qp_stats.h"
#include "qp_stream.h"
#include "segment.h"
#include "terminate.h"
#include "trace.h"
#include "ulp/mpa.h"

/*
 * Status of the oldest unfinished request, from the peer's Terminate: a refused
 * access is an error of the requester.
 */
static u8 rnic_terminate_status(const struct rdmap_terminate *t)
{
	/* Of which type it is, depends on the peer: both have this code. */
	if (t->layer == RDMAP_LAYER_RDMAP && t->code == RDMAP_EC_CANNOT_INVALIDATE &&
	    (t->etype == RDMAP_ET_PROTECTION || t->etype == RDMAP_ET_OPERATION))
		return MPA_WC_REM_INV_REQ_ERR;
	if (t->layer == RDMAP_LAYER_RDMAP && t->etype == RDMAP_ET_PROTECTION)
		return MPA_WC_REM_ACCESS_ERR;
	if (t->layer == RDMAP_LAYER_DDP && t->etype == DDP_ET_TAGGED)
		return MPA_WC_REM_ACCESS_ERR;
	if (t->layer == RDMAP_LAYER_RDMAP || t->layer == RDMAP_LAYER_DDP)
		return MPA_WC_REM_OP_ERR;
	return MPA_WC_WR_FLUSH_ERR;
}

/* The stream being received on is that of the endpoint. Returns the cause of its end. */
static u32 rnic_terminate_received(struct rnic_qp *qp, const struct rdmap_terminate *t)
{
	u32 cause = rnic_cause(t->layer, t->etype, t->code);

	trace_rnic_fault(&qp->ibqp, false, t->layer, t->etype, t->code);
	rnic_qp_count(qp, RNIC_CNT_RX_TERMINATE);
	mpa_set_terminate(qp->ep->conn, false, MPA_TERM_VALID | cause);
	return cause;
}

/**
 * rnic_rx_bad_terminate() - end the stream after a malformed Terminate
 * @qp: the QP; socket lock held
 *
 * The peer has ended the stream, so there is no answer.
 * Return: -ECONNABORTED.
 */
int rnic_rx_bad_terminate(struct rnic_qp *qp)
{
	static const struct rdmap_terminate malformed = {
		.layer = RDMAP_LAYER_RDMAP,
		.etype = RDMAP_ET_OPERATION,
		.code = RDMAP_EC_UNSPECIFIED,
	};
	const struct rnic_end end = {
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.cause = rnic_terminate_received(qp, &malformed),
		.event = IB_EVENT_QP_FATAL,
		.how = RNIC_EP_END_ORDERLY,
	};

	rnic_qp_kill(qp, &end);
	return -ECONNABORTED;
}

/**
 * rnic_rx_terminate() - end the stream after the peer's Terminate
 * @qp: the QP; socket lock held
 * @seg: the segment
 * @rx: the Terminate header
 *
 * A Terminate is never answered with another one.
 * Return: -ECONNABORTED.
 */
int rnic_rx_terminate(struct rnic_qp *qp, struct rnic_segment *seg,
		      struct mpa_rx *rx)
{
	struct rnic_end end = {
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.event = IB_EVENT_QP_FATAL,
		.how = RNIC_EP_END_ORDERLY,
	};
	u32 len = min_t(u32, seg->h.payload_len, RDMAP_TERM_MAX);
	struct rdmap_terminate t;
	u8 buf[RDMAP_TERM_MAX];

	mpa_rx_read(rx, buf, len);
	if (seg->h.msn != 1 || rdmap_terminate_parse(buf, len, &t))
		return rnic_rx_bad_terminate(qp);
	end.cause = rnic_terminate_received(qp, &t);
	end.send_status = rnic_terminate_status(&t);
	if (rnic_etype_access(t.etype))
		end.event = IB_EVENT_QP_REQ_ERR;
	rnic_qp_kill(qp, &end);
	return -ECONNABORTED;
}
