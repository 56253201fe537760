/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FPDUs in a part of the stream that has arrived before the bytes ahead of it.
 * RFC 5044 sections 4.3, 6 and appendix A.4.
 */
#ifndef MPA_FRAMING_EARLY_H
#define MPA_FRAMING_EARLY_H

#include <linux/types.h>

#include "reader.h"

/**
 * struct mpa_early_source - access to the bytes of such a part
 * @copy: copies @len bytes at offset @at, which are there, to @to; returns
 *	whether it could
 * @feed: feeds @r with the bytes from offset @at on, until there is a result or
 *	the part ends; returns the result
 * @ctx: passed to both
 */
struct mpa_early_source {
	bool (*copy)(void *ctx, u32 at, u8 *to, u32 len);
	enum mpa_rx_result (*feed)(void *ctx, u32 at, struct mpa_reader *r);
	void *ctx;
};

/**
 * struct mpa_early - where the FPDUs of a part begin
 * @floor: nothing before this offset is considered: the first byte of the part,
 *	the one behind the last FPDU that was found, or the second byte of what was
 *	none
 * @marker: offset of the next Marker to be looked at, if not @chained
 * @next: @chained: where an FPDU begins
 * @until: until the bytes before this offset are there, nothing can be found
 * @chained: @next is known, from a Marker or from the length of the FPDU before
 *
 * Offsets count from the first byte of full operation, modulo 2^32: there is a
 * Marker at each multiple of %MPA_MARKER_PERIOD.
 */
struct mpa_early {
	u32 floor;
	u32 marker;
	u32 next;
	u32 until;
	bool chained;
};

void mpa_early_init(struct mpa_early *e, u32 from);
bool mpa_early_find(struct mpa_early *e, const struct mpa_early_source *src,
		    u32 end, struct mpa_reader *r);

#endif /* MPA_FRAMING_EARLY_H */
