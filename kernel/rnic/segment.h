/* SPDX-License-Identifier: GPL-2.0-only */
/* Received DDP segments. */
#ifndef MPA_RNIC_SEGMENT_H
#define MPA_RNIC_SEGMENT_H

#include <linux/string.h>

#include "ddp/check.h"
#include "ddp/header.h"
#include "qp.h"
#include "ulp/mpa.h"

/**
 * struct rnic_segment - a received segment while it is checked
 * @h: its DDP header
 * @image: bytes of its headers as received
 * @image_len: bytes in @image
 * @len: ULPDU_Length
 * @joined: segments that continue it and are checked together with it: @h has
 *	the payload length of all, the rest is of the first
 */
struct rnic_segment {
	struct ddp_hdr h;
	u8 image[RDMAP_READ_REQ_ULPDU];
	u32 image_len;
	u32 len;
	u32 joined;
};

/*
 * Reads the DDP header of a ULPDU. Returns false if it is too short. Sets @seg
 * but for the bytes of the image that were not received.
 */
static inline bool rnic_segment_read(struct rnic_segment *seg, struct mpa_rx *rx,
				     u32 len)
{
	const u8 *p = mpa_rx_peek(rx, DDP_UNTAGGED_LEN);
	u32 hdr_len;

	seg->len = len;
	seg->image_len = 0;
	seg->joined = 0;
	if (p) {
		/*
		 * The longer one of both headers: a copy of constant length is
		 * cheap. Only the copy is used, since a local sender may still
		 * change the page.
		 */
		memcpy(seg->image, p, DDP_UNTAGGED_LEN);
		seg->image_len = ddp_hdr_len(seg->image[0]);
		mpa_rx_skip_peeked(rx, seg->image_len);
		return !ddp_decode(seg->image, len, &seg->h);
	}
	if (len)
		mpa_rx_read(rx, seg->image, 1);
	hdr_len = len ? ddp_hdr_len(seg->image[0]) : 0;
	if (len && len >= hdr_len) {
		mpa_rx_read(rx, seg->image + 1, hdr_len - 1);
		seg->image_len = hdr_len;
	}
	return !ddp_decode(seg->image, len, &seg->h);
}

/*
 * Joins the following segments that only continue @seg, if they have arrived.
 * Segments that were refused together before are not joined again: a peer could
 * cause each of them to be checked repeatedly.
 */
static inline void rnic_segment_join(struct rnic_qp *qp, struct rnic_segment *seg,
				     struct mpa_rx *rx)
{
	const u8 *next;

	if (qp->rx.alone) {
		qp->rx.alone--;
		return;
	}
	while (!seg->h.last && (next = mpa_rx_next(rx, seg->image_len)) &&
	       ddp_continues(seg->image, next, seg->h.payload_len) &&
	       mpa_rx_join(rx, seg->image_len)) {
		seg->h.payload_len = mpa_rx_left(rx);
		seg->joined++;
	}
}

/**
 * rnic_segment_part() - undo rnic_segment_join()
 * @qp: the QP; socket lock held
 * @seg: the segment, refused together with others
 * @rx: its payload, not read yet
 *
 * The others, which are delivered next, will be checked alone as well.
 *
 * Return: true if the segment must be checked again; false if it was alone.
 */
static inline bool rnic_segment_part(struct rnic_qp *qp, struct rnic_segment *seg,
				     struct mpa_rx *rx)
{
	if (!seg->joined)
		return false;
	mpa_rx_part(rx);
	seg->h.payload_len = mpa_rx_left(rx);
	qp->rx.alone = seg->joined;
	seg->joined = 0;
	return true;
}

#endif /* MPA_RNIC_SEGMENT_H */
