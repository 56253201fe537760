/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files that make up a QP's stream share: qp, sq, rq, reads. */
#ifndef MPA_RNIC_STREAM_H
#define MPA_RNIC_STREAM_H

#include "ddp/header.h"
#include "ddp/terminate.h"
#include "device.h"
#include "mr.h"
#include "qp.h"

/**
 * struct rnic_segment - a received segment while it is being judged
 * @h: its DDP header
 * @image: bytes of its headers as they came
 * @image_len: how many of @image
 * @len: ULPDU_Length
 * @joined: segments that only go on with it and are judged with it: @h has the
 *	payload of all, the rest is of the first
 */
struct rnic_segment {
	struct ddp_hdr h;
	u8 image[RDMAP_READ_REQ_ULPDU];
	u32 image_len;
	u32 len;
	u32 joined;
};

/**
 * struct rnic_end - why and how a stream ends
 * @fault: what to tell the peer in a Terminate, or NULL
 * @seg: the segment at fault, for the Terminate, or NULL
 * @send_status: MPA_WC_* of the oldest send request; the rest is flushed
 * @recv_status: MPA_WC_* of the receive in use, if one is
 * @cause: for vendor_err, where @fault does not say it
 * @event: enum ib_event_type to raise, or -1
 * @how: how TCP ends where no Terminate is sent
 */
struct rnic_end {
	const struct ddp_fault *fault;
	const struct rnic_segment *seg;
	u8 send_status;
	u8 recv_status;
	u32 cause;
	int event;
	enum rnic_ep_end how;
};

enum {
	/* Entries that are completed while interrupts are off. */
	RNIC_QP_CHUNK	= 16,
};

/* qp.c */
struct rnic_ep *rnic_qp_ep_get(struct rnic_qp *qp);
bool rnic_qp_streaming(const struct rnic_qp *qp);
void rnic_qp_kill(struct rnic_qp *qp, const struct rnic_end *end);
int rnic_qp_refuse(struct rnic_qp *qp, const struct ddp_fault *f,
		   const struct rnic_segment *seg);
void rnic_qp_notify(struct rnic_qp *qp, const struct rnic_due *due);

/* sq.c */
void rnic_sq_run(struct rnic_qp *qp, struct rnic_ep *ep);
void rnic_sq_retire(struct rnic_qp *qp, struct rnic_due *due);
u32 rnic_sq_posted(const struct rnic_qp *qp);
u32 rnic_sq_flush(struct rnic_qp *qp, u8 *first, u32 n, struct rnic_due *due);
void rnic_sq_forget(struct rnic_qp *qp);
void rnic_sq_stop(struct rnic_qp *qp);
void rnic_tx_kick(struct rnic_qp *qp);
void rnic_tx_work(struct work_struct *work);
void rnic_tx_retry_work(struct work_struct *work);
int rnic_sq_post(struct rnic_qp *qp, const struct ib_send_wr *wr);

/* rq.c */
bool rnic_segment_part(struct rnic_qp *qp, struct rnic_segment *seg,
		       struct mpa_rx *rx);
u32 rnic_rq_posted(const struct rnic_qp *qp);
u32 rnic_rq_flush(struct rnic_qp *qp, u8 first, u32 n, struct rnic_due *due);
void rnic_rq_forget(struct rnic_qp *qp);
int rnic_rq_post(struct rnic_qp *qp, const struct ib_recv_wr *wr);

/* reads.c: all under the socket lock */
int rnic_reads_prepare(struct rnic_reads *r, u32 ird, u32 ord);
void rnic_reads_destroy(struct rnic_reads *r);
u32 rnic_reads_outstanding(const struct rnic_reads *r);
void rnic_reads_issue(struct rnic_reads *r, u32 index);
int rnic_rx_read_request(struct rnic_qp *qp, struct rnic_segment *seg,
			 struct mpa_rx *rx);
int rnic_rx_read_response(struct rnic_qp *qp, struct rnic_segment *seg,
			  struct mpa_rx *rx);
bool rnic_response_pending(const struct rnic_reads *r);
struct rdmap_read *rnic_response_head(struct rnic_reads *r);
void rnic_response_done(struct rnic_reads *r);

/* terminate.c */
void rnic_terminate_prepare(struct rnic_qp *qp, const struct ddp_fault *f,
			    const struct rnic_segment *seg);
int rnic_rx_bad_terminate(struct rnic_qp *qp);
int rnic_rx_terminate(struct rnic_qp *qp, struct rnic_segment *seg,
		      struct mpa_rx *rx);

static inline u32 rnic_cause(u8 layer, u8 etype, u8 code)
{
	return layer << 12 | etype << 8 | code;
}

#endif /* MPA_RNIC_STREAM_H */
