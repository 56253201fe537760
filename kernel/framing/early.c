// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding FPDUs behind a gap in the stream. RFC 5044 section 6: only what shows
 * beyond doubt where an FPDU begins may be used. That is a Marker, whose place
 * in the stream is known, and the length of an FPDU whose CRC is right. What is
 * found in that way is read to its end, with all of its Markers and its CRC, and
 * only then used.
 */
#include <linux/kernel.h>

#include "../compat/unaligned.h"
#include "early.h"

static_assert(!(MPA_MARKER_PERIOD & (MPA_MARKER_PERIOD - 1)));

/* Bytes from offset @at to the next Marker; 0: it starts there. */
static u32 early_gap(u32 at)
{
	return -at & (MPA_MARKER_PERIOD - 1);
}

/* Is offset @a before @b? They are never 2^31 or more apart. */
static bool early_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/**
 * mpa_early_init - begin with a part of the stream
 * @e: the search
 * @from: offset of the first byte of the part
 */
void mpa_early_init(struct mpa_early *e, u32 from)
{
	*e = (struct mpa_early){
		.floor = from,
		.marker = from + early_gap(from),
		.until = from,
	};
}

/*
 * Where the FPDU begins that the Marker at offset @at is in, or that begins with
 * it. A Marker directly before the length field belongs to the FPDU, too.
 */
static u32 early_start(u32 at, const u8 *marker)
{
	u32 fpduptr = ALIGN_DOWN(get_unaligned_be16(marker + 2), MPA_FPDU_ALIGN);
	u32 start = at - fpduptr;

	if (!early_gap(start - MPA_MARKER_LEN))
		start -= MPA_MARKER_LEN;
	return start;
}

/* Looks at Markers until one shows where an FPDU begins. */
static bool early_look(struct mpa_early *e, const struct mpa_early_source *src,
		       u32 end)
{
	u8 marker[MPA_MARKER_LEN];

	for (;;) {
		e->until = e->marker + MPA_MARKER_LEN;
		if (early_before(end, e->until) ||
		    !src->copy(src->ctx, e->marker, marker, sizeof(marker)))
			return false;
		e->next = early_start(e->marker, marker);
		e->marker += MPA_MARKER_PERIOD;
		if (!early_before(e->next, e->floor))
			return true;
	}
}

/* What was read at @next is no FPDU: Markers behind its first byte may help. */
static void early_unchain(struct mpa_early *e)
{
	u32 marker = e->next + MPA_MARKER_LEN;

	marker += early_gap(marker);
	/* Each Marker is looked at once, or a false one would be again. */
	if (early_before(e->marker, marker))
		e->marker = marker;
	/* All Markers of an FPDU lead to its beginning, which is not tried again. */
	e->floor = e->next + 1;
	e->chained = false;
}

/**
 * mpa_early_find - find the next FPDU that is complete and valid
 * @e: the search; goes on behind that FPDU with the next call
 * @src: the bytes of the part
 * @end: offset behind its last byte, which may have grown since the last call
 * @r: on success, the reader after it has read the FPDU: its length is
 *	&mpa_reader.since_start, and it ends at &mpa_early.floor
 *
 * Return: true if one was found; false if none is complete yet.
 */
bool mpa_early_find(struct mpa_early *e, const struct mpa_early_source *src,
		    u32 end, struct mpa_reader *r)
{
	while (!early_before(end, e->until)) {
		if (!e->chained)
			e->chained = early_look(e, src, end);
		if (!e->chained)
			return false;
		mpa_reader_init_at(r, early_gap(e->next));
		switch (src->feed(src->ctx, e->next, r)) {
		case MPA_RX_FPDU:
			e->next += r->since_start;
			e->floor = e->next;
			e->until = e->next;
			return true;
		case MPA_RX_MORE:
			/* So no FPDU is read more than twice. */
			e->until = e->next + r->since_start +
				   mpa_reader_need(r);
			return false;
		default:
			early_unchain(e);
		}
	}
	return false;
}
