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
 * struct mpa_segment - a received segment while it is being judged
 * @h: its DDP header
 * @image: bytes of its headers as they came
 * @image_len: how many of @image
 * @len: ULPDU_Length
 * @joined: segments that only go on with it and are judged with it: @h has the
 *	payload of all, the rest is of the first
 */
struct mpa_segment {
	struct ddp_hdr h;
	u8 image[RDMAP_READ_REQ_ULPDU];
	u32 image_len;
	u32 len;
	u32 joined;
};

/**
 * struct mpa_end - why and how a stream ends
 * @fault: what to tell the peer in a Terminate, or NULL
 * @seg: the segment at fault, for the Terminate, or NULL
 * @send_status: MPA_WC_* of the oldest send request; the rest is flushed
 * @recv_status: MPA_WC_* of the receive in use, if one is
 * @cause: for vendor_err, where @fault does not say it
 * @event: enum ib_event_type to raise, or -1
 * @how: how TCP ends where no Terminate is sent
 */
struct mpa_end {
	const struct ddp_fault *fault;
	const struct mpa_segment *seg;
	u8 send_status;
	u8 recv_status;
	u32 cause;
	int event;
	enum mpa_ep_end how;
};

enum {
	/* Entries that are completed while interrupts are off. */
	MPA_QP_CHUNK	= 16,
};

/* qp.c */
struct mpa_ep *mpa_qp_ep_get(struct mpa_qp *qp);
bool mpa_qp_streaming(const struct mpa_qp *qp);
void mpa_qp_kill(struct mpa_qp *qp, const struct mpa_end *end);
int mpa_qp_refuse(struct mpa_qp *qp, const struct ddp_fault *f,
		  const struct mpa_segment *seg);
void mpa_qp_notify(struct mpa_qp *qp, const struct mpa_due *due);

/* sq.c */
void mpa_sq_run(struct mpa_qp *qp, struct mpa_ep *ep);
void mpa_sq_retire(struct mpa_qp *qp, struct mpa_due *due);
u32 mpa_sq_posted(const struct mpa_qp *qp);
u32 mpa_sq_flush(struct mpa_qp *qp, u8 *first, u32 n, struct mpa_due *due);
void mpa_sq_forget(struct mpa_qp *qp);
void mpa_sq_stop(struct mpa_qp *qp);
void mpa_tx_kick(struct mpa_qp *qp);
void mpa_tx_work(struct work_struct *work);
void mpa_tx_retry_work(struct work_struct *work);
int mpa_sq_post(struct mpa_qp *qp, const struct ib_send_wr *wr);

/* rq.c */
bool mpa_segment_part(struct mpa_qp *qp, struct mpa_segment *seg,
		      struct mpa_rx *rx);
u32 mpa_rq_posted(const struct mpa_qp *qp);
u32 mpa_rq_flush(struct mpa_qp *qp, u8 first, u32 n, struct mpa_due *due);
void mpa_rq_forget(struct mpa_qp *qp);
int mpa_rq_post(struct mpa_qp *qp, const struct ib_recv_wr *wr);

/* reads.c: all under the socket lock */
int mpa_reads_prepare(struct mpa_reads *r, u32 ird, u32 ord);
void mpa_reads_destroy(struct mpa_reads *r);
u32 mpa_reads_outstanding(const struct mpa_reads *r);
void mpa_read_issued(struct mpa_qp *qp, u32 index);
int mpa_rx_read_request(struct mpa_qp *qp, struct mpa_segment *seg,
			struct mpa_rx *rx);
int mpa_rx_read_response(struct mpa_qp *qp, struct mpa_segment *seg,
			 struct mpa_rx *rx);
bool mpa_response_pending(const struct mpa_reads *r);
struct rdmap_read *mpa_response_head(struct mpa_reads *r);
void mpa_response_done(struct mpa_reads *r);

/* terminate.c */
void mpa_terminate_prepare(struct mpa_qp *qp, const struct ddp_fault *f,
			   const struct mpa_segment *seg);
int mpa_rx_bad_terminate(struct mpa_qp *qp);
int mpa_rx_terminate(struct mpa_qp *qp, struct mpa_segment *seg,
		     struct mpa_rx *rx);

static inline u32 mpa_cause(u8 layer, u8 etype, u8 code)
{
	return layer << 12 | etype << 8 | code;
}

#endif /* MPA_RNIC_STREAM_H */
