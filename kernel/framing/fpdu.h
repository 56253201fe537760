/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building FPDUs: length fields, Markers, pad and CRC32c of an outgoing half
 * connection. Pure functions on bytes; memory and locking are the caller's.
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
 * struct mpa_gather - the bytes of a batch of FPDUs as a list of pieces
 * @out: pieces in stream order: control bytes in @ctl, ULPDU bytes in the
 *	memory of the caller
 * @nr_out: pieces used
 * @max_out: pieces available in @out
 * @ctl: control bytes: length fields, Markers, pads and CRCs
 * @nr_ctl: bytes of @ctl used
 * @max_ctl: bytes available in @ctl
 * @len: bytes of stream described by @out
 *
 * Adjacent control bytes share one piece: the CRC of one FPDU and the length
 * field of the next are contiguous in @ctl.
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
 * @hdr_len: bytes at @hdr
 * @payload: pieces of the rest, in order; empty pieces are allowed
 * @nr: number of pieces
 * @payload_len: total length of the pieces, bytes
 */
struct mpa_ulpdu {
	const void *hdr;
	u32 hdr_len;
	const struct kvec *payload;
	unsigned int nr;
	u32 payload_len;
};

/**
 * struct mpa_cursor - a position in a list of pieces
 * @at: current piece
 * @off: bytes of @at that are already consumed
 */
struct mpa_cursor {
	const struct kvec *at;
	size_t off;
};

/**
 * struct mpa_series - ULPDUs whose headers differ only in a counter
 * @hdr: header of the next ULPDU. Its last %MPA_SERIES_COUNTER bytes are a
 *	counter in network byte order; from one ULPDU to the next it grows by
 *	the number of payload bytes
 * @hdr_len: bytes at @hdr, at least %MPA_SERIES_COUNTER
 * @payload: position of the payload of the next ULPDU
 * @ahead: position up to which payload is prefetched
 * @left: bytes of payload from @ahead on; 0 if %MPA_PREFETCH_FEW or fewer in all
 * @room: bytes of stream that each FPDU fills, see mpa_ulpdu_fit(); more than
 *	the header needs
 * @fpdus: FPDUs written
 * @used: bytes of payload in them
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
 * mpa_markers_within - count the Markers within a range of the stream
 * @gap: bytes from the start of the range to the next Marker
 * @content: bytes of the range that are not Marker bytes
 *
 * A Marker directly after the last byte of content is not counted: it belongs
 * to the next FPDU (RFC 5044 section 4.3).
 *
 * Return: number of Markers needed to carry @content bytes.
 */
static inline u32 mpa_markers_within(u32 gap, u32 content)
{
	const u32 between = MPA_MARKER_PERIOD - MPA_MARKER_LEN;

	return content > gap ? 1 + (content - gap - 1) / between : 0;
}

/**
 * mpa_tx_rewind - go back over bytes that were built and will not be sent
 * @tx: transmit state
 * @len: bytes of stream, including Markers
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
u32 mpa_fpdu_wrap(const struct mpa_tx_half *tx, u8 *fpdu, u32 ulpdu_len);
void mpa_series_init(struct mpa_series *t, u8 *hdr, u32 hdr_len,
		     const struct kvec *payload, u32 len);
u32 mpa_fpdu_write_series(struct mpa_tx_half *tx, struct mpa_series *t,
			  unsigned int nr, u8 *to);

#endif /* MPA_FRAMING_FPDU_H */
