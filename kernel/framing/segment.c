// SPDX-License-Identifier: GPL-2.0-only
/*
 * The layout of FPDUs in TCP segments. RFC 5044 sections 4.5 and 5.1.
 *
 * TCP cuts a packet at multiples of the segment size that is valid when the
 * packet is sent. One FPDU per packet therefore stays aligned as long as it is
 * not longer than that segment size. Several FPDUs per packet stay aligned only
 * if each of them is exactly one segment long, both at the first transmission
 * and at a retransmission.
 */
#include <linux/kernel.h>

#include "fpdu.h"
#include "segment.h"

/* Segments of the current size that one packet may carry; 1 if unsure. */
static u32 segment_batch_max(const struct mpa_seg_view *v)
{
	u32 packet = min_t(u32, v->packet ?: MPA_BATCH_BYTES, MPA_BATCH_BYTES);
	u32 segs = packet / v->mss;

	if (v->single || v->mss % MPA_FPDU_ALIGN || v->options_pending)
		return 1;
	if (!v->strict)
		return segs;
	/*
	 * Data in the send queue will be cut at sizes that are not known yet,
	 * and a window smaller than the batch cuts it at the window's edge.
	 */
	if (v->unsent)
		return 1;
	return min3(segs, v->window / v->mss, v->cwnd);
}

/**
 * mpa_seg_plan - decide the layout of the next batch
 * @v: current state of the socket
 * @p: the plan
 *
 * Base policy: one segment, short enough that no option of TCP can push the end
 * of its FPDU into the next segment. Fast policy: several segments of exactly
 * @v->mss. It is used unless @v->single is set, if @v->mss is a multiple of
 * four, no such option is pending and, with @v->strict, nothing is unsent and the
 * batch fits both windows. A batch never needs more than one packet of TCP.
 * With @v->lone FPDUs do not share segments, and a batch is one FPDU.
 *
 * @p->seg_len is a multiple of four. It is at least the length of an FPDU with
 * a ULPDU of %MPA_MULPDU_MIN bytes at any Marker phase, even if that is more
 * than a segment (RFC 5044 section 4.5), and at most that of an FPDU with a
 * ULPDU of %MPA_MULPDU_MAX bytes.
 */
void mpa_seg_plan(const struct mpa_seg_view *v, struct mpa_seg_plan *p)
{
	const struct mpa_tx_half worst = { .markers = v->strict };
	u32 shortest = mpa_fpdu_len(&worst, MPA_MULPDU_MIN);
	u32 longest = mpa_fpdu_len(&worst, MPA_MULPDU_MAX);
	u32 safe = v->mss > v->option_room ? v->mss - v->option_room : 0;

	p->segs = 1;
	p->shared = v->lone ? 0 : ~0U;
	if (v->mss >= shortest)
		p->segs = max_t(u32, segment_batch_max(v), 1);
	p->seg_len = p->segs > 1 ? v->mss : ALIGN_DOWN(safe, MPA_FPDU_ALIGN);
	p->seg_len = clamp(p->seg_len, shortest, longest);
}
