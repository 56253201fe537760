/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The framing protocol for TCP of draft-ietf-tsvwg-tcp-ulp-frame-00, "TUF": wire
 * format and limits of its two modes, and reading and writing them. Pure functions on
 * bytes; memory and locking are the caller's.
 *
 * PDU alignment mode (section 5): each TCP segment is a framing PDU: a header with
 * length and key, and one or more PDUs of the application.
 *
 * Marker mode (section 6): a marker at regular intervals tells twice how far it is
 * from its end to the next PDU. PDUs have no header. So not every boundary is known
 * to the receiver, only the first one behind each marker.
 */
#ifndef MPA_FRAMING_TUF_H
#define MPA_FRAMING_TUF_H

#include <linux/types.h>

#include "reader.h"

enum {
	/* Framing PDU: Length without the header, Key (section 5) */
	MPA_TUF_LENGTH_FIELD	= 2,
	MPA_TUF_KEY_LEN		= 6,
	MPA_TUF_HEADER_LEN	= MPA_TUF_LENGTH_FIELD + MPA_TUF_KEY_LEN,

	/* Longest PDU; in marker mode with the markers in it (section 3) */
	MPA_TUF_PDU_MAX		= 65528,
	/* PDUs up to this length are taken in emergency mode (section 3) */
	MPA_TUF_EMERGENCY_MAX	= 512,

	/* Marker: the distance to the next PDU, twice (section 6) */
	MPA_TUF_MARKER_LEN	= 4,
	MPA_TUF_INTERVAL_MIN	= 8,
	/* The only figure of the draft (appendix A.6) */
	MPA_TUF_INTERVAL_DEFAULT = 2048,
};

/**
 * struct mpa_tuf_marks - position of a stream with markers
 * @interval: bytes from the start of a marker to that of the next one
 * @gap: bytes to the next marker; 0: it comes next
 */
struct mpa_tuf_marks {
	u32 interval;
	u32 gap;
};

/**
 * struct mpa_tuf_place - where a reader of markers is
 * @gap: bytes to the next marker; 0 also while a marker is being gathered
 * @left: bytes of PDU to the next boundary, if @known
 * @known: a marker has told where the next boundary is
 * @at_boundary: the next byte of PDU is the first of one
 * @nr_field: bytes of @field
 * @field: the marker being gathered
 */
struct mpa_tuf_place {
	u32 gap;
	u32 left;
	bool known;
	bool at_boundary;
	u8 nr_field;
	u8 field[MPA_TUF_MARKER_LEN];
};

/**
 * struct mpa_tuf_reader - state of an incoming half connection
 * @markers: marker mode, else PDU alignment mode
 * @done: mpa_tuf_feed() has returned another result than %MPA_RX_MORE; or, in marker
 *	mode, the unit was cut
 * @whole: marker mode: the unit ends at a boundary
 * @bad: marker mode: the marker behind the unit is wrong
 * @len: bytes of PDU in the current unit
 * @since_start: bytes of stream of the current unit that were read
 * @key: alignment mode: the key of the peer
 * @nr_field: alignment mode: bytes of @field
 * @field: alignment mode: the header being gathered
 * @body_left: alignment mode: bytes that are missing to the end of the framing PDU,
 *	once its header has been read
 * @interval: marker mode: as in &struct mpa_tuf_marks
 * @at: marker mode: the current position
 * @start: marker mode: @at at the first byte of the unit
 *
 * A unit is what the application receives with one call: in alignment mode a
 * framing PDU; in marker mode the bytes up to the next known boundary, or those that
 * have arrived.
 */
struct mpa_tuf_reader {
	bool markers;
	bool done;
	bool whole;
	bool bad;
	u32 len;
	u32 since_start;
	u8 key[MPA_TUF_KEY_LEN];
	u8 nr_field;
	u8 field[MPA_TUF_HEADER_LEN];
	u32 body_left;
	u32 interval;
	struct mpa_tuf_place at;
	struct mpa_tuf_place start;
};

void mpa_tuf_header(u8 *hdr, u16 len, const u8 *key);
u32 mpa_tuf_align_max(u32 emss, bool emergency);
u32 mpa_tuf_piece(const u8 *p, u32 left, u32 emss, const u8 *key, bool first);

u32 mpa_tuf_marked_len(const struct mpa_tuf_marks *m, u32 len);
u32 mpa_tuf_marker_next(struct mpa_tuf_marks *m, u32 left, bool first,
			u8 *marker, bool *due);

void mpa_tuf_reader_align(struct mpa_tuf_reader *r, const u8 *key);
void mpa_tuf_reader_markers(struct mpa_tuf_reader *r, u32 interval);
enum mpa_rx_result mpa_tuf_feed(struct mpa_tuf_reader *r, const u8 *p, u32 len,
				u32 *used);
enum mpa_rx_result mpa_tuf_feed_markers(struct mpa_tuf_reader *r, const u8 *p,
					u32 len, u32 *used);
bool mpa_tuf_cut(struct mpa_tuf_reader *r);
void mpa_tuf_rewind(struct mpa_tuf_reader *r);
bool mpa_tuf_within(const struct mpa_tuf_reader *r);
u32 mpa_tuf_need(const struct mpa_tuf_reader *r);
void mpa_tuf_strip(const struct mpa_tuf_reader *r, struct mpa_strip *s);

#endif /* MPA_FRAMING_TUF_H */
