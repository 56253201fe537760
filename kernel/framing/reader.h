/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading FPDUs: an incremental reader that takes the stream in portions of any
 * size, processes each byte once and returns what it found, and a second pass
 * that separates ULPDU bytes from Markers.
 */
#ifndef MPA_FRAMING_READER_H
#define MPA_FRAMING_READER_H

#include <linux/types.h>

#include "wire.h"

/**
 * enum mpa_rx_result - result of reading
 * @MPA_RX_MORE: the current FPDU is incomplete; everything was consumed
 * @MPA_RX_FPDU: the current FPDU is complete and valid
 * @MPA_RX_BAD_CRC: complete, but its CRC is wrong (error code 2)
 * @MPA_RX_BAD_MARKER: a Marker and ULPDU_Length disagree (error code 3)
 * @MPA_RX_BAD_LENGTH: ULPDU_Length above %MPA_MULPDU_MAX (error code 3, since
 *	no other code fits)
 *
 * The bad results are final: the reader repeats them and consumes nothing.
 * With CRCs in use the CRC of an FPDU is checked before anything else (RFC 5044
 * sections 4.4 and 8: "in the event that the CRC is valid"): an FPDU of any
 * length is read to its end. The result is BAD_CRC if the CRC is wrong, else
 * the first other fault. Without CRCs a fault is reported at once, because the
 * length that leads to the end of that FPDU cannot be trusted.
 */
enum mpa_rx_result {
	MPA_RX_MORE,
	MPA_RX_FPDU,
	MPA_RX_BAD_CRC,
	MPA_RX_BAD_MARKER,
	MPA_RX_BAD_LENGTH,
};

/**
 * struct mpa_strip - separates ULPDU bytes from Markers
 * @gap: bytes to the next Marker; 1 .. @period, or 0 if a Marker
 *	starts here; unused without Markers
 * @skip: bytes of a Marker or of the length field that are still to be skipped
 * @left: ULPDU bytes still to come
 * @period: bytes from the start of a Marker to that of the next one
 * @markers: Markers are in the stream
 */
struct mpa_strip {
	u32 gap;
	u32 skip;
	u32 left;
	u32 period;
	bool markers;
};

/**
 * struct mpa_reader - state of an incoming half connection
 * @state: the field of the FPDU that the next byte belongs to (private)
 * @nr_field: bytes of @field gathered so far (private)
 * @if_crc_good: the result for this FPDU if its CRC is right or CRCs are not in
 *	use, an enum mpa_rx_result (private)
 * @result: result of the last call, an enum mpa_rx_result (private)
 * @markers: Markers are in the stream and are checked
 * @crc: CRCs are in use and are checked
 * @field: the length, Marker or CRC field being gathered (private)
 * @gap: bytes from the next byte to the next Marker; stays 0 while a Marker
 *	is being gathered and while @markers is false (private)
 * @start_gap: @gap at the first byte of the current FPDU (private)
 * @body_left: bytes of ULPDU and pad still to come (private)
 * @crc_seen: running CRC32c, not yet inverted (private)
 * @since_start: stream bytes of the current FPDU consumed so far, including a
 *	Marker before it; after %MPA_RX_FPDU its total length
 * @ulpdu_len: length of the ULPDU; valid after %MPA_RX_FPDU
 *
 * Only reader.c uses the private fields. Callers read @since_start and
 * @ulpdu_len and may read @markers and @crc.
 */
struct mpa_reader {
	u8 state;
	u8 nr_field;
	u8 if_crc_good;
	u8 result;
	bool markers;
	bool crc;
	u8 field[4];
	u32 gap;
	u32 start_gap;
	u32 body_left;
	u32 crc_seen;
	u32 since_start;
	u32 ulpdu_len;
};

void mpa_reader_init(struct mpa_reader *r, bool markers, bool crc);
void mpa_reader_init_at(struct mpa_reader *r, u32 gap);
enum mpa_rx_result mpa_reader_feed(struct mpa_reader *r, const u8 *p, u32 len,
				   u32 *used);
u32 mpa_reader_take(struct mpa_reader *r, const u8 *p, u32 len);
u32 mpa_reader_ulpdu(const struct mpa_reader *r, u32 *run);
const u8 *mpa_reader_peek(const struct mpa_reader *r, const u8 *p, u32 len,
			  u32 want);
u32 mpa_reader_need(const struct mpa_reader *r);
void mpa_reader_strip(const struct mpa_reader *r, struct mpa_strip *s);
u32 mpa_strip_run(struct mpa_strip *s, u32 len, u32 *skip);

#endif /* MPA_FRAMING_READER_H */
