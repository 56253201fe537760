// SPDX-License-Identifier: GPL-2.0-only
/*
 * Marker mode of TUF: draft-ietf-tsvwg-tcp-ulp-frame-00 section 6.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "../compat/unaligned.h"
#include "tuf.h"

/* ---- Writing ---- */

/**
 * mpa_tuf_marked_len - length of a PDU with the markers in it
 * @m: position of the stream
 * @len: bytes of PDU, at least 1
 *
 * A marker that is due behind its last byte is sent with the next PDU.
 *
 * Return: bytes of stream.
 */
u32 mpa_tuf_marked_len(const struct mpa_tuf_marks *m, u32 len)
{
	const u32 between = m->interval - MPA_TUF_MARKER_LEN;

	if (len <= m->gap)
		return len;
	return len + MPA_TUF_MARKER_LEN * (1 + (len - m->gap - 1) / between);
}

/*
 * Distance from the end of a marker to the next PDU, with @left bytes of the current
 * one to come. If the PDU ends just where a marker is due, that marker is before the
 * next PDU, so it counts.
 */
static u32 tuf_marker_distance(u32 left, u32 interval)
{
	const u32 between = interval - MPA_TUF_MARKER_LEN;

	return left + MPA_TUF_MARKER_LEN * (left / between);
}

/**
 * mpa_tuf_marker_next - the next bytes of a PDU that is written
 * @m: position of the stream; moved behind them
 * @left: bytes of the PDU that are left, at least 1
 * @first: none of it was written yet
 * @marker: %MPA_TUF_MARKER_LEN bytes, set to the marker that comes before them
 * @due: set: whether there is one
 *
 * A marker before the first byte of a PDU points to that.
 *
 * Return: bytes of PDU behind it and before the next marker.
 */
u32 mpa_tuf_marker_next(struct mpa_tuf_marks *m, u32 left, bool first,
			u8 *marker, bool *due)
{
	u32 n;

	*due = !m->gap;
	if (*due) {
		n = first ? 0 : tuf_marker_distance(left, m->interval);
		put_unaligned_be16(n, marker);
		put_unaligned_be16(n, marker + 2);
		m->gap = m->interval - MPA_TUF_MARKER_LEN;
	}
	n = min(left, m->gap);
	m->gap -= n;
	return n;
}

/* ---- Reading ---- */

/**
 * mpa_tuf_reader_markers - start reading a stream with markers
 * @r: the reader; its previous state is discarded
 * @interval: bytes from one marker to the next; the first one comes first
 */
void mpa_tuf_reader_markers(struct mpa_tuf_reader *r, u32 interval)
{
	*r = (struct mpa_tuf_reader){
		.markers = true,
		.interval = interval,
		.at.at_boundary = true,
		.start.at_boundary = true,
	};
}

/*
 * Converts the distance in a marker to bytes of PDU. For a PDU that ends just where a
 * marker is due, appendix A of the draft can be read as the distance to the end of the
 * PDU, without that marker: it means the same boundary. Returns false if the distance
 * ends within a marker.
 */
static bool tuf_marker_bytes(u32 distance, u32 interval, u32 *bytes)
{
	const u32 between = interval - MPA_TUF_MARKER_LEN;
	u32 markers = distance / interval;
	u32 behind = distance % interval;

	*bytes = markers * between + behind;
	return behind <= between;
}

/* A marker was gathered. Returns whether it can be right. */
static bool tuf_take_marker(struct mpa_tuf_reader *r)
{
	struct mpa_tuf_place *at = &r->at;
	u32 distance = get_unaligned_be16(at->field);
	u32 bytes;

	at->nr_field = 0;
	at->gap = r->interval - MPA_TUF_MARKER_LEN;
	if (distance != get_unaligned_be16(at->field + 2) ||
	    distance > MPA_TUF_PDU_MAX ||
	    !tuf_marker_bytes(distance, r->interval, &bytes))
		return false;
	/* A second marker has the same boundary. */
	if (at->at_boundary || (at->known && at->left))
		return bytes == (at->at_boundary ? 0 : at->left);
	at->known = bytes;
	at->left = bytes;
	at->at_boundary = !bytes;
	return true;
}

static u32 tuf_read_marker(struct mpa_tuf_reader *r, const u8 *p, u32 len)
{
	struct mpa_tuf_place *at = &r->at;
	u32 n = min_t(u32, len, MPA_TUF_MARKER_LEN - at->nr_field);

	memcpy(at->field + at->nr_field, p, n);
	at->nr_field += n;
	return n;
}

static u32 tuf_read_bytes(struct mpa_tuf_reader *r, u32 len)
{
	struct mpa_tuf_place *at = &r->at;
	u32 n = min(len, at->gap);

	if (at->known)
		n = min(n, at->left);
	at->gap -= n;
	at->at_boundary = false;
	r->len += n;
	if (!at->known)
		return n;
	at->left -= n;
	at->known = at->left;
	at->at_boundary = !at->left;
	return n;
}

static void tuf_begin_unit(struct mpa_tuf_reader *r)
{
	r->done = false;
	r->whole = false;
	r->bad = false;
	r->len = 0;
	r->since_start = 0;
	r->start = r->at;
}

/**
 * mpa_tuf_cut - make a unit of what was read
 * @r: a reader in marker mode, after %MPA_RX_MORE
 *
 * The stream need not wait for the next boundary. mpa_tuf_feed() begins a new unit
 * then, unless mpa_tuf_rewind() comes first.
 *
 * Return: false if there are no bytes of PDU.
 */
bool mpa_tuf_cut(struct mpa_tuf_reader *r)
{
	if (r->len)
		r->done = true;
	return r->len;
}

/**
 * mpa_tuf_feed_markers - mpa_tuf_feed() for marker mode
 * @r: the reader
 * @p: the next bytes of the stream
 * @len: bytes at @p, at least 1
 * @used: set to the bytes that were read
 *
 * Bytes of PDU before a wrong marker are a unit; what follows it is %MPA_RX_BAD_MARKER.
 *
 * Return: as mpa_tuf_feed().
 */
enum mpa_rx_result mpa_tuf_feed_markers(struct mpa_tuf_reader *r, const u8 *p,
					u32 len, u32 *used)
{
	bool valid = true;
	u32 done = 0;

	*used = 0;
	if (r->bad)
		return MPA_RX_BAD_MARKER;
	if (r->done)
		tuf_begin_unit(r);
	while (done < len && valid && !r->done) {
		if (!r->at.gap) {
			done += tuf_read_marker(r, p + done, len - done);
			if (r->at.nr_field == MPA_TUF_MARKER_LEN)
				valid = tuf_take_marker(r);
		} else {
			done += tuf_read_bytes(r, len - done);
		}
		r->done = r->len && r->at.at_boundary;
	}
	r->since_start += done;
	r->whole = r->done;
	r->bad = !valid;
	*used = done;
	/* What came before the marker is good. */
	if (r->bad && !mpa_tuf_cut(r))
		return MPA_RX_BAD_MARKER;
	return r->done ? MPA_RX_FPDU : MPA_RX_MORE;
}

/**
 * mpa_tuf_rewind - read the current unit again
 * @r: a reader in marker mode
 *
 * From its first byte, perhaps with another @interval: the marker that is due next
 * stays where it is.
 */
void mpa_tuf_rewind(struct mpa_tuf_reader *r)
{
	r->at = r->start;
	tuf_begin_unit(r);
}
