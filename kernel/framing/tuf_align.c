// SPDX-License-Identifier: GPL-2.0-only
/*
 * PDU alignment mode of TUF: draft-ietf-tsvwg-tcp-ulp-frame-00 section 5. Also what
 * the readers of both modes share.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "../compat/unaligned.h"
#include "tuf.h"

/**
 * mpa_tuf_header - write the header of a framing PDU
 * @hdr: %MPA_TUF_HEADER_LEN bytes
 * @len: bytes of PDUs behind it
 * @key: %MPA_TUF_KEY_LEN bytes
 */
void mpa_tuf_header(u8 *hdr, u16 len, const u8 *key)
{
	put_unaligned_be16(len, hdr);
	memcpy(hdr + MPA_TUF_LENGTH_FIELD, key, MPA_TUF_KEY_LEN);
}

/**
 * mpa_tuf_align_max - longest PDU in alignment mode
 * @emss: bytes of a TCP segment
 * @emergency: emergency mode is allowed
 *
 * Section 3: what fits in a segment with the header. Section 3 also requires that 512
 * bytes are taken in emergency mode "if the EMSS goes below 512". An EMSS of 512 to
 * 519 has room for less than that, so it is included here.
 *
 * Return: bytes; 0: no PDU can be sent.
 */
u32 mpa_tuf_align_max(u32 emss, bool emergency)
{
	u32 fits = emss > MPA_TUF_HEADER_LEN ? emss - MPA_TUF_HEADER_LEN : 0;

	if (emergency)
		fits = max_t(u32, fits, MPA_TUF_EMERGENCY_MAX);
	return min_t(u32, fits, MPA_TUF_PDU_MAX);
}

/* Whether a receiver could take a segment for a whole framing PDU. */
static bool tuf_looks_whole(const u8 *p, u32 n, const u8 *key)
{
	return n >= MPA_TUF_HEADER_LEN &&
	       get_unaligned_be16(p) == n - MPA_TUF_HEADER_LEN &&
	       !memcmp(p + MPA_TUF_LENGTH_FIELD, key, MPA_TUF_KEY_LEN);
}

/**
 * mpa_tuf_piece - length of the next piece of a framing PDU that is divided
 * @p: the bytes that are left of it
 * @left: how many
 * @emss: bytes of a TCP segment, at least 1
 * @key: the key of this direction
 * @first: @p is the header
 *
 * Section 5.2: no piece may look like a whole framing PDU. The first one does not,
 * since its length field counts more than the piece has. Another one that would is
 * made a byte shorter: its length field is wrong then.
 *
 * Return: bytes, 1 .. @left.
 */
u32 mpa_tuf_piece(const u8 *p, u32 left, u32 emss, const u8 *key, bool first)
{
	u32 n = min(left, emss);

	if (!first && tuf_looks_whole(p, n, key))
		n--;
	return n;
}

/**
 * mpa_tuf_reader_align - start reading framing PDUs
 * @r: the reader; its previous state is discarded
 * @key: the key of the peer, %MPA_TUF_KEY_LEN bytes
 */
void mpa_tuf_reader_align(struct mpa_tuf_reader *r, const u8 *key)
{
	*r = (struct mpa_tuf_reader){};
	memcpy(r->key, key, MPA_TUF_KEY_LEN);
}

static void tuf_begin_frame(struct mpa_tuf_reader *r)
{
	r->done = false;
	r->nr_field = 0;
	r->len = 0;
	r->since_start = 0;
}

/* Gathers the header. Returns false if it is complete and not valid. */
static bool tuf_read_header(struct mpa_tuf_reader *r, const u8 *p, u32 len,
			    u32 *used)
{
	u32 n = min_t(u32, len, MPA_TUF_HEADER_LEN - r->nr_field);

	memcpy(r->field + r->nr_field, p, n);
	r->nr_field += n;
	*used = n;
	if (r->nr_field < MPA_TUF_HEADER_LEN)
		return true;
	r->len = get_unaligned_be16(r->field);
	r->body_left = r->len;
	return r->len && !memcmp(r->field + MPA_TUF_LENGTH_FIELD, r->key,
				 MPA_TUF_KEY_LEN);
}

static enum mpa_rx_result tuf_feed_align(struct mpa_tuf_reader *r, const u8 *p,
					 u32 len, u32 *used)
{
	bool valid = true;
	u32 n;

	if (r->done)
		tuf_begin_frame(r);
	if (r->nr_field < MPA_TUF_HEADER_LEN)
		valid = tuf_read_header(r, p, len, used);
	if (valid && r->nr_field == MPA_TUF_HEADER_LEN) {
		n = min(len - *used, r->body_left);
		r->body_left -= n;
		*used += n;
		r->done = !r->body_left;
	}
	r->since_start += *used;
	if (!valid)
		return MPA_RX_BAD_MARKER;
	return r->done ? MPA_RX_FPDU : MPA_RX_MORE;
}

/**
 * mpa_tuf_feed - read up to the end of the current unit
 * @r: the reader
 * @p: the next bytes of the stream
 * @len: bytes at @p
 * @used: set to the bytes that were read; never beyond the unit
 *
 * Call again with the bytes that were not used. The first call with at least one byte
 * after %MPA_RX_FPDU starts the next unit.
 *
 * Return: %MPA_RX_MORE if all of @len was used and the unit is not complete;
 * %MPA_RX_FPDU if it is; %MPA_RX_BAD_MARKER for a wrong key, a length of 0, or a marker
 * that cannot be right: the caller must not continue.
 */
enum mpa_rx_result mpa_tuf_feed(struct mpa_tuf_reader *r, const u8 *p, u32 len,
				u32 *used)
{
	*used = 0;
	if (!len)
		return MPA_RX_MORE;
	return r->markers ? mpa_tuf_feed_markers(r, p, len, used) :
			    tuf_feed_align(r, p, len, used);
}

/**
 * mpa_tuf_within - whether a unit or PDU was begun that is not complete
 * @r: the reader
 *
 * Return: true if so: the stream must not end here.
 */
bool mpa_tuf_within(const struct mpa_tuf_reader *r)
{
	if (r->markers)
		return r->at.nr_field || (r->at.known && r->at.left);
	return r->since_start && !r->done;
}

/**
 * mpa_tuf_need - bytes that must arrive before there can be a new result
 * @r: the reader
 *
 * Return: bytes missing to the end of the header or of the framing PDU. In marker mode
 * every byte of PDU is a result.
 */
u32 mpa_tuf_need(const struct mpa_tuf_reader *r)
{
	if (r->markers)
		return 1;
	if (r->done)
		return MPA_TUF_HEADER_LEN;
	if (r->nr_field < MPA_TUF_HEADER_LEN)
		return MPA_TUF_HEADER_LEN - r->nr_field;
	return r->body_left;
}

/**
 * mpa_tuf_strip - prepare a second pass over the current unit
 * @r: the reader
 * @s: set to the first byte of stream of the unit
 */
void mpa_tuf_strip(const struct mpa_tuf_reader *r, struct mpa_strip *s)
{
	*s = (struct mpa_strip){
		.left = r->len,
		.markers = r->markers,
		.period = r->interval,
		.skip = MPA_TUF_HEADER_LEN,
	};
	if (!r->markers)
		return;
	s->gap = r->start.gap;
	s->skip = 0;
	/* The unit begins within a marker. */
	if (r->start.nr_field) {
		s->skip = MPA_TUF_MARKER_LEN - r->start.nr_field;
		s->gap = r->interval - r->start.nr_field;
	}
}
