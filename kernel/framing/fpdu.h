/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building FPDUs: lengths, markers, pad and CRC32c of an outgoing half
 * connection. Pure functions on bytes; the caller owns all memory and all
 * locking.
 */
#ifndef MPA_FRAMING_FPDU_H
#define MPA_FRAMING_FPDU_H

#include <linux/types.h>
#include <linux/uio.h>

#include "wire.h"

/**
 * struct mpa_tx_half - framing state of an outgoing half connection
 * @gap: bytes from the current stream position to the next Marker,
 *	0 .. %MPA_MARKER_PERIOD - 1; 0 at the start of full operation and
 *	kept at 0 while @markers is false
 * @markers: the peer asked for Markers (RFC 5044 section 4.3)
 * @crc: CRCs are in use; otherwise the field is sent as zero
 */
struct mpa_tx_half {
	u32 gap;
	bool markers;
	bool crc;
};

/**
 * struct mpa_gather - the bytes of a batch of FPDUs, as a list of pieces
 * @out: pieces in stream order: control bytes out of @ctl, ULPDU bytes
 *	where the caller has them
 * @nr_out: pieces used
 * @max_out: room in @out
 * @ctl: control bytes: length fields, Markers, pads and CRCs
 * @nr_ctl: bytes of @ctl used
 * @max_ctl: room in @ctl, bytes
 * @len: bytes of stream described by @out
 *
 * Neighbouring control bytes share one piece: the CRC of one FPDU and the
 * length of the next are contiguous in @ctl.
 */
struct mpa_gather {
	struct kvec *out;
	unsigned int nr_out;
	unsigned int max_out;
	u8 *ctl;
	unsigned int nr_ctl;
	unsigned int max_ctl;
	u32 len;
};

/**
 * struct mpa_ulpdu - a ULPDU to be sent
 * @hdr: its first bytes
 * @hdr_len: how many
 * @payload: pieces of the rest, in order; empty pieces are allowed
 * @nr: how many
 * @payload_len: what they measure together, bytes
 */
struct mpa_ulpdu {
	const void *hdr;
	u32 hdr_len;
	const struct kvec *payload;
	unsigned int nr;
	u32 payload_len;
};

/**
 * struct mpa_cursor - a place in a list of pieces
 * @at: the piece
 * @off: bytes of it that have been passed
 */
struct mpa_cursor {
	const struct kvec *at;
	size_t off;
};

/**
 * struct mpa_series - ULPDUs whose headers only count on
 * @hdr: header of the next; its last %MPA_SERIES_COUNTER bytes are a number in
 *	network order that grows from one ULPDU to the next by the bytes of
 *	payload
 * @hdr_len: bytes of it, at least %MPA_SERIES_COUNTER
 * @payload: where the payload of the next begins
 * @ahead: up to where payload has been asked for from memory
 * @left: bytes of payload from @ahead on
 * @room: bytes of stream that each FPDU is to fill, see mpa_ulpdu_fit(); more
 *	than the header takes
 * @fpdus: FPDUs written
 * @used: bytes of their payload
 */
struct mpa_series {
	u8 *hdr;
	u32 hdr_len;
	struct mpa_cursor payload;
	struct mpa_cursor ahead;
	u32 left;
	u32 room;
	u32 fpdus;
	u32 used;
};

enum {
	MPA_SERIES_COUNTER	= 8,
};

/**
 * mpa_markers_within - count the Markers that fall into a stretch of stream
 * @gap: bytes from the start of the stretch to the next Marker
 * @content: bytes of the stretch that are not Marker bytes
 *
 * A Marker right behind the last byte of content is not counted: it belongs
 * to the FPDU that follows (RFC 5044 section 4.3).
 *
 * Return: Markers needed to carry @content bytes from here.
 */
static inline u32 mpa_markers_within(u32 gap, u32 content)
{
	const u32 between = MPA_MARKER_PERIOD - MPA_MARKER_LEN;

	return content > gap ? 1 + (content - gap - 1) / between : 0;
}

/**
 * mpa_tx_rewind - go back over bytes that were built and will not be sent
 * @tx: where the stream stands
 * @len: bytes of stream, Markers included
 */
static inline void mpa_tx_rewind(struct mpa_tx_half *tx, u32 len)
{
	if (tx->markers)
		tx->gap = (tx->gap + len) % MPA_MARKER_PERIOD;
}

u32 mpa_mulpdu(u32 emss, bool markers);
u32 mpa_fpdu_len(const struct mpa_tx_half *tx, u32 ulpdu_len);
u32 mpa_ulpdu_fit(const struct mpa_tx_half *tx, u32 room);
int mpa_fpdu_gather(struct mpa_tx_half *tx, const struct kvec *ulpdu,
		    unsigned int nr_ulpdu, u32 ulpdu_len,
		    struct mpa_gather *g);
int mpa_fpdu_write(struct mpa_tx_half *tx, const struct mpa_ulpdu *u, u8 *to);
void mpa_series_init(struct mpa_series *t, u8 *hdr, u32 hdr_len,
		     const struct kvec *payload, u32 len);
u32 mpa_fpdu_write_series(struct mpa_tx_half *tx, struct mpa_series *t,
			  unsigned int nr, u8 *to);

#endif /* MPA_FRAMING_FPDU_H */
