/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How FPDUs are laid into TCP segments: the one place where it is decided,
 * from numbers the caller reads off its socket.
 */
#ifndef MPA_FRAMING_SEGMENT_H
#define MPA_FRAMING_SEGMENT_H

#include <linux/types.h>

#include "wire.h"

/**
 * struct mpa_seg_view - what the decision depends on
 * @mss: bytes TCP puts into a full segment now (mss_cache)
 * @sack_room: bytes by which SACK options could still shorten a segment
 * @sack_pending: SACK or D-SACK blocks will ride on our next segments
 * @strict: the peer asked for Markers, so it gains by alignment: take no
 *	chance with it
 * @single: one segment to a batch is wanted
 * @packet: bytes TCP puts into one packet at the most; it may take only a part
 *	of a batch that needs two, cut anywhere. 0: no limit known
 * @unsent: bytes queued in TCP and not yet sent
 * @window: bytes of the peer's window not yet used by what is queued
 * @cwnd: segments the congestion window would still let out
 */
struct mpa_seg_view {
	u32 mss;
	u32 sack_room;
	bool sack_pending;
	bool strict;
	bool single;
	u32 packet;
	u32 unsent;
	u32 window;
	u32 cwnd;
};

/**
 * struct mpa_seg_plan - how the next batch is laid out
 * @seg_len: bytes of stream to a segment; the EMSS of RFC 5044 section 4.5
 * @segs: segments in the batch at the most, at least 1
 */
struct mpa_seg_plan {
	u32 seg_len;
	u32 segs;
};

enum {
	/* Segments of a batch: 64 KiB of stream, TCP's own largest packet. */
	MPA_BATCH_BYTES	= 65536,
};

void mpa_seg_plan(const struct mpa_seg_view *v, struct mpa_seg_plan *p);

#endif /* MPA_FRAMING_SEGMENT_H */
