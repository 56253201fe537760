// SPDX-License-Identifier: GPL-2.0-only
/*
 * How FPDUs are laid into TCP segments. RFC 5044 sections 4.5 and 5.1.
 *
 * TCP cuts a packet it is given at multiples of the segment size that holds
 * when it is sent. One FPDU to a packet therefore stays aligned as long as it
 * is not longer than a segment turns out to be; several FPDUs to a packet stay
 * aligned only if each is exactly one segment long, then and still at a
 * retransmission.
 */
#include <linux/kernel.h>

#include "fpdu.h"
#include "segment.h"

/* Segments of the current size that may go out in one packet; 1 if unsure. */
static u32 segment_batch_max(const struct mpa_seg_view *v)
{
	u32 packet = min_t(u32, v->packet ?: MPA_BATCH_BYTES, MPA_BATCH_BYTES);
	u32 segs = packet / v->mss;

	if (v->single || v->mss % MPA_FPDU_ALIGN || v->sack_pending)
		return 1;
	if (!v->strict)
		return segs;
	/*
	 * What waits in the send queue is cut at sizes yet unknown, and a
	 * window too small for the batch cuts it at its own edge.
	 */
	if (v->unsent)
		return 1;
	return min3(segs, v->window / v->mss, v->cwnd);
}

/**
 * mpa_seg_plan - decide how the next batch is laid into segments
 * @v: what the socket says now
 * @p: the plan
 *
 * Base policy: one segment, short enough that no SACK option can push the end
 * of its FPDU into the next. Fast policy: several segments of exactly
 * @v->mss, taken unless @v->single, when that is a multiple of four, no SACK is
 * pending and, where @v->strict, nothing is unsent and the batch fits both
 * windows. A batch never needs more than one of TCP's packets.
 *
 * @p->seg_len is a multiple of four, never less than a ULPDU of
 * %MPA_MULPDU_MIN bytes may take at any Marker phase, even if that is more
 * than a segment (RFC 5044 section 4.5), and never more than a ULPDU of
 * %MPA_MULPDU_MAX bytes may take.
 */
void mpa_seg_plan(const struct mpa_seg_view *v, struct mpa_seg_plan *p)
{
	const struct mpa_tx_half worst = { .markers = v->strict };
	u32 shortest = mpa_fpdu_len(&worst, MPA_MULPDU_MIN);
	u32 longest = mpa_fpdu_len(&worst, MPA_MULPDU_MAX);
	u32 safe = v->mss > v->sack_room ? v->mss - v->sack_room : 0;

	p->segs = 1;
	if (v->mss >= shortest)
		p->segs = max_t(u32, segment_batch_max(v), 1);
	p->seg_len = p->segs > 1 ? v->mss : ALIGN_DOWN(safe, MPA_FPDU_ALIGN);
	p->seg_len = clamp(p->seg_len, shortest, longest);
}
