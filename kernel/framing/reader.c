// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading FPDUs from the stream, in portions of any size.
 * RFC 5044 sections 4.1 to 4.4, 6 and 8.
 *
 * The CRC covers all of an FPDU except the CRC field, including the Markers. So
 * each portion is walked once from field to field and then checksummed in a
 * single call.
 *
 * Fields are gathered in one small buffer. One is enough: FPDUs start and end
 * at multiples of four bytes from the first Marker, so a Marker never splits a
 * length or CRC field.
 */
#include <linux/build_bug.h>
#include <linux/crc32c.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <asm/byteorder.h>

#include "../compat/unaligned.h"
#include "fpdu.h"
#include "reader.h"

/* The fields of an FPDU in stream order; a Marker can be within any. */
enum {
	IN_LENGTH,
	IN_BODY,
	IN_CRC,
};

static_assert(sizeof_field(struct mpa_reader, field) >= MPA_MARKER_LEN);
static_assert(sizeof_field(struct mpa_reader, field) >= MPA_CRC_FIELD);

static bool reader_marker_due(const struct mpa_reader *r)
{
	return r->markers && !r->gap;
}

static void reader_begin_fpdu(struct mpa_reader *r)
{
	r->state = IN_LENGTH;
	r->nr_field = 0;
	r->if_crc_good = MPA_RX_FPDU;
	r->result = MPA_RX_MORE;
	r->start_gap = r->gap;
	r->crc_seen = ~0;
	r->since_start = 0;
}

/**
 * mpa_reader_init - start reading at the first byte of full operation
 * @r: the reader; its previous state is discarded
 * @markers: the peer inserts Markers; the first one comes next
 * @crc: CRCs are in use
 */
void mpa_reader_init(struct mpa_reader *r, bool markers, bool crc)
{
	*r = (struct mpa_reader){ .markers = markers, .crc = crc };
	reader_begin_fpdu(r);
}

/**
 * mpa_reader_init_at - start reading at the first byte of a later FPDU
 * @r: the reader; its previous state is discarded
 * @gap: bytes to the next Marker, less than %MPA_MARKER_PERIOD; 0: a Marker comes
 *	before its length field
 *
 * For streams with Markers and CRCs.
 */
void mpa_reader_init_at(struct mpa_reader *r, u32 gap)
{
	*r = (struct mpa_reader){ .markers = true, .crc = true, .gap = gap };
	reader_begin_fpdu(r);
}

static u32 reader_gather_field(struct mpa_reader *r, const u8 *p, u32 len,
			       u32 size)
{
	u32 n = min(len, size - r->nr_field);

	memcpy(r->field + r->nr_field, p, n);
	r->nr_field += n;
	r->since_start += n;
	return n;
}

/* Consumes @n bytes that are not part of a Marker. */
static void reader_advance(struct mpa_reader *r, u32 n)
{
	if (r->markers)
		r->gap -= n;
}

/*
 * Records a fault of the FPDU. With CRCs in use it is reported only if the CRC
 * is right, and of several faults the first is reported.
 */
static void reader_set_fault(struct mpa_reader *r, enum mpa_rx_result fault)
{
	if (!r->crc)
		r->result = fault;
	else if (r->if_crc_good == MPA_RX_FPDU)
		r->if_crc_good = fault;
}

static bool reader_marker_valid(const struct mpa_reader *r)
{
	u32 fpduptr = (r->field[2] << 8 | r->field[3]) & ~(MPA_FPDU_ALIGN - 1);
	u32 lead = r->start_gap ? 0 : MPA_MARKER_LEN;

	if (r->state == IN_LENGTH)
		return fpduptr == 0;
	return fpduptr == r->since_start - MPA_MARKER_LEN - lead;
}

static u32 reader_read_marker(struct mpa_reader *r, const u8 *p, u32 len)
{
	u32 n = reader_gather_field(r, p, len, MPA_MARKER_LEN);

	if (r->nr_field < MPA_MARKER_LEN)
		return n;
	r->nr_field = 0;
	r->gap = MPA_MARKER_PERIOD - MPA_MARKER_LEN;
	if (!reader_marker_valid(r))
		reader_set_fault(r, MPA_RX_BAD_MARKER);
	return n;
}

static u32 reader_read_length(struct mpa_reader *r, const u8 *p, u32 len)
{
	u32 n = reader_gather_field(r, p, len, MPA_LENGTH_FIELD);

	reader_advance(r, n);
	if (r->nr_field < MPA_LENGTH_FIELD)
		return n;
	r->nr_field = 0;
	r->ulpdu_len = r->field[0] << 8 | r->field[1];
	if (r->ulpdu_len > MPA_MULPDU_MAX)
		reader_set_fault(r, MPA_RX_BAD_LENGTH);
	r->body_left = ALIGN(MPA_LENGTH_FIELD + r->ulpdu_len, MPA_FPDU_ALIGN) -
		       MPA_LENGTH_FIELD;
	r->state = IN_BODY;
	return n;
}

static u32 reader_read_body(struct mpa_reader *r, u32 len)
{
	u32 n = min(len, r->body_left);

	if (r->markers)
		n = min(n, r->gap);
	r->since_start += n;
	reader_advance(r, n);
	r->body_left -= n;
	if (!r->body_left)
		r->state = IN_CRC;
	return n;
}

/* Walks the bytes covered by the CRC, up to the CRC field or a bad result. */
static u32 reader_walk_covered(struct mpa_reader *r, const u8 *p, u32 len)
{
	u32 done = 0;

	while (done < len && r->result == MPA_RX_MORE) {
		if (reader_marker_due(r))
			done += reader_read_marker(r, p + done, len - done);
		else if (r->state == IN_LENGTH)
			done += reader_read_length(r, p + done, len - done);
		else if (r->state == IN_BODY)
			done += reader_read_body(r, len - done);
		else
			break;
	}
	return done;
}

static bool reader_crc_valid(const struct mpa_reader *r)
{
	const __le32 want = cpu_to_le32(~r->crc_seen);

	return !memcmp(r->field, &want, sizeof(want));
}

static u32 reader_read_crc(struct mpa_reader *r, const u8 *p, u32 len)
{
	u32 n = reader_gather_field(r, p, len, MPA_CRC_FIELD);

	reader_advance(r, n);
	if (r->nr_field < MPA_CRC_FIELD)
		return n;
	r->nr_field = 0;
	r->result = r->if_crc_good;
	if (r->crc && !reader_crc_valid(r))
		r->result = MPA_RX_BAD_CRC;
	return n;
}

/**
 * mpa_reader_feed - read up to the end of the current FPDU
 * @r: the reader
 * @p: the next bytes of the stream
 * @len: bytes at @p
 * @used: set to the bytes consumed; never goes beyond the current FPDU
 *
 * Call again with the bytes that were not consumed. The first call with at
 * least one byte after %MPA_RX_FPDU starts the next FPDU; until then the reader
 * describes the last one.
 *
 * Return: %MPA_RX_MORE if all of @len was consumed and the FPDU is incomplete;
 * %MPA_RX_FPDU if it is complete; any other result is final.
 */
enum mpa_rx_result mpa_reader_feed(struct mpa_reader *r, const u8 *p, u32 len,
				   u32 *used)
{
	*used = 0;
	if (r->result > MPA_RX_FPDU)
		return r->result;
	if (!len)
		return MPA_RX_MORE;
	if (r->result == MPA_RX_FPDU)
		reader_begin_fpdu(r);

	*used = reader_walk_covered(r, p, len);
	if (r->result != MPA_RX_MORE)
		return r->result;
	if (r->crc && *used)
		r->crc_seen = crc32c(r->crc_seen, p, *used);
	if (*used < len)
		*used += reader_read_crc(r, p + *used, len - *used);
	return r->result;
}

/* The next byte is the first of an FPDU or of the Marker before one. */
static bool reader_at_start(const struct mpa_reader *r)
{
	return r->result == MPA_RX_FPDU ||
	       (r->result == MPA_RX_MORE && !r->since_start);
}

/* Bytes of stream of an FPDU that begins at the current position. */
static u32 reader_fpdu_len(const struct mpa_reader *r, u32 ulpdu_len)
{
	u32 content = ALIGN(MPA_LENGTH_FIELD + ulpdu_len, MPA_FPDU_ALIGN) +
		      MPA_CRC_FIELD;

	if (!r->markers)
		return content;
	return content + MPA_MARKER_LEN * mpa_markers_within(r->gap, content);
}

/*
 * Checks all Markers of the FPDU of @total bytes at @p. @lead is the length of
 * the Marker that precedes it, or 0.
 */
static bool reader_markers_valid(const struct mpa_reader *r, const u8 *p,
				 u32 lead, u32 total)
{
	u32 at = r->gap;

	if (!r->markers)
		return true;
	for (; at < total; at += MPA_MARKER_PERIOD) {
		u32 fpduptr = get_unaligned_be16(p + at + 2);

		if (ALIGN_DOWN(fpduptr, MPA_FPDU_ALIGN) != (at ? at - lead : 0))
			return false;
	}
	return true;
}

/* Checks the CRC of the @total bytes at @p, if CRCs are in use. */
static bool reader_trailer_valid(const struct mpa_reader *r, const u8 *p,
				 u32 total)
{
	u32 covered = total - MPA_CRC_FIELD;

	return !r->crc ||
	       ~crc32c(~0, p, covered) == get_unaligned_le32(p + covered);
}

/**
 * mpa_reader_take - read an FPDU that is complete and contiguous
 * @r: the reader
 * @p: the next bytes of the stream
 * @len: bytes at @p
 *
 * Fast path with the same result as mpa_reader_feed(), for an FPDU of which all
 * bytes are available. Anything that is not valid is left to mpa_reader_feed().
 *
 * Return: bytes of the FPDU including its Markers, with the same state as after
 * %MPA_RX_FPDU; 0 if nothing was done.
 */
u32 mpa_reader_take(struct mpa_reader *r, const u8 *p, u32 len)
{
	u32 lead = reader_marker_due(r) ? MPA_MARKER_LEN : 0;
	u32 ulpdu_len, total;

	if (len < lead + MPA_LENGTH_FIELD || !reader_at_start(r))
		return 0;
	ulpdu_len = get_unaligned_be16(p + lead);
	total = reader_fpdu_len(r, ulpdu_len);
	if (ulpdu_len > MPA_MULPDU_MAX || total > len ||
	    !reader_markers_valid(r, p, lead, total) ||
	    !reader_trailer_valid(r, p, total))
		return 0;
	r->ulpdu_len = ulpdu_len;
	r->since_start = total;
	r->start_gap = r->gap;
	if (r->markers)
		r->gap = (r->gap - total) % MPA_MARKER_PERIOD;
	r->result = MPA_RX_FPDU;
	return total;
}

/*
 * Returns the offset of the ULPDU in an FPDU that starts @gap bytes before the
 * next Marker; sets @run to the bytes from there to the next Marker.
 */
static u32 reader_ulpdu_offset(const struct mpa_reader *r, u32 gap, u32 *run)
{
	u32 offset = MPA_LENGTH_FIELD;

	*run = U32_MAX;
	if (!r->markers)
		return offset;
	if (!gap) {
		offset += MPA_MARKER_LEN;
		gap = MPA_MARKER_PERIOD;
	}
	*run = gap - offset;
	return offset;
}

/**
 * mpa_reader_ulpdu - offset of the ULPDU in the FPDU just read
 * @r: a reader that has just returned %MPA_RX_FPDU, or bytes from
 *	mpa_reader_take()
 * @run: set to the bytes of stream from there to the next Marker; longer than
 *	any ULPDU if there are no Markers
 *
 * Return: offset in bytes from the first byte of that FPDU.
 */
u32 mpa_reader_ulpdu(const struct mpa_reader *r, u32 *run)
{
	return reader_ulpdu_offset(r, r->start_gap, run);
}

/**
 * mpa_reader_peek - look at the first bytes of the next ULPDU
 * @r: the reader
 * @p: the next bytes of the stream
 * @len: bytes at @p
 * @want: bytes of the ULPDU needed
 *
 * Nothing is checked, not even whether the rest of the FPDU is available:
 * mpa_reader_take() does both.
 *
 * Return: address of these bytes; NULL if not all of them are available, the
 * ULPDU is not longer than @want, there is a Marker in between, or @r is within
 * an FPDU.
 */
const u8 *mpa_reader_peek(const struct mpa_reader *r, const u8 *p, u32 len,
			  u32 want)
{
	u32 run;
	u32 offset = reader_ulpdu_offset(r, r->gap, &run);

	if (!reader_at_start(r) || run < want || len < offset ||
	    len - offset < want)
		return NULL;
	p += offset;
	return get_unaligned_be16(p - MPA_LENGTH_FIELD) > want ? p : NULL;
}

/**
 * mpa_reader_need - bytes that must arrive before there can be a new result
 * @r: the reader
 *
 * Return: bytes missing to the end of the current FPDU once its length has been
 * read, else to the end of the length field; after %MPA_RX_FPDU, of the next
 * FPDU. 0 after a bad result. Without CRCs in use a bad Marker (see &enum
 * mpa_rx_result) is the only result that can come earlier.
 */
u32 mpa_reader_need(const struct mpa_reader *r)
{
	u32 content;

	if (r->result > MPA_RX_FPDU)
		return 0;
	if (r->result == MPA_RX_FPDU || r->state == IN_LENGTH)
		content = MPA_LENGTH_FIELD;
	else
		content = r->body_left + MPA_CRC_FIELD;
	if (reader_marker_due(r))
		return content - r->nr_field +
		       MPA_MARKER_LEN * mpa_markers_within(0, content);
	content -= r->nr_field;
	if (r->markers)
		content += MPA_MARKER_LEN *
			   mpa_markers_within(r->gap, content);
	return content;
}

/**
 * mpa_reader_strip - prepare a second pass over an FPDU
 * @r: a reader that has just returned %MPA_RX_FPDU
 * @s: set to the first stream byte of that FPDU, which is @r->since_start bytes
 *	before the current position
 */
void mpa_reader_strip(const struct mpa_reader *r, struct mpa_strip *s)
{
	*s = (struct mpa_strip){
		.gap = r->start_gap,
		.skip = MPA_LENGTH_FIELD,
		.left = r->ulpdu_len,
		.period = MPA_MARKER_PERIOD,
		.markers = r->markers,
	};
}

/**
 * mpa_strip_run - find the next run of ULPDU bytes
 * @s: state of the second pass; moved behind the run
 * @len: stream bytes available
 * @skip: set to the bytes before the run that belong to a Marker or to the
 *	length field
 *
 * Call again with @len reduced by both numbers.
 *
 * Return: bytes in the run, which starts *@skip bytes after the current
 * position; may be 0 if @len ends before it. After the end of the ULPDU both
 * numbers are 0: the rest of the FPDU is pad, CRC and perhaps a Marker.
 */
u32 mpa_strip_run(struct mpa_strip *s, u32 len, u32 *skip)
{
	u32 n;

	*skip = 0;
	if (!s->left)
		return 0;
	if (s->markers && !s->gap) {
		s->skip += MPA_MARKER_LEN;
		s->gap = s->period;
	}
	*skip = min(len, s->skip);
	s->skip -= *skip;
	n = min(len - *skip, s->left);
	if (s->markers) {
		s->gap -= *skip;
		n = min(n, s->gap);
		s->gap -= n;
	}
	s->left -= n;
	return n;
}
