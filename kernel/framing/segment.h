/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layout of FPDUs in TCP segments. It is decided only here, from values
 * that the caller reads from its socket.
 */
#ifndef MPA_FRAMING_SEGMENT_H
#define MPA_FRAMING_SEGMENT_H

#include <linux/types.h>

#include "wire.h"

/**
 * struct mpa_seg_view - input of mpa_seg_plan()
 * @mss: bytes that TCP puts into a full segment now (mss_cache)
 * @option_room: bytes by which options of TCP, as SACK, could still shorten a segment
 * @options_pending: such options will be sent with the next segments
 * @strict: the peer asked for Markers and so benefits from alignment: do not
 *	risk it
 * @single: use one segment per batch
 * @lone: put one FPDU into a segment; only with @single
 * @packet: most bytes that TCP puts into one packet; of a batch that needs two
 *	packets it may accept only a part, cut anywhere. 0: no known limit
 * @unsent: bytes queued in TCP and not yet sent
 * @window: bytes of the peer's window that queued data does not use yet
 * @cwnd: segments that the congestion window still allows to send
 */
struct mpa_seg_view {
	u32 mss;
	u32 option_room;
	bool options_pending;
	bool strict;
	bool single;
	bool lone;
	u32 packet;
	u32 unsent;
	u32 window;
	u32 cwnd;
};

/**
 * struct mpa_seg_plan - layout of the next batch
 * @seg_len: bytes of stream per segment; the EMSS of RFC 5044 section 4.5
 * @segs: most segments in the batch, at least 1
 * @shared: mask of the bytes that an FPDU leaves of its segment: all ones, or 0
 *	if no other FPDU may use them
 */
struct mpa_seg_plan {
	u32 seg_len;
	u32 segs;
	u32 shared;
};

enum {
	/* Most bytes of a batch: 64 KiB of stream, TCP's largest packet. */
	MPA_BATCH_BYTES	= 65536,
};

void mpa_seg_plan(const struct mpa_seg_view *v, struct mpa_seg_plan *p);

#endif /* MPA_FRAMING_SEGMENT_H */
