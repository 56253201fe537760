// SPDX-License-Identifier: GPL-2.0-only
/*
 * Building FPDUs: lengths, Markers, pad and CRC32c of an outgoing half
 * connection. RFC 5044 sections 4.1 to 4.5.
 */
#include <linux/build_bug.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include <asm/byteorder.h>

#include "../compat/unaligned.h"
#include "copy.h"
#include "fpdu.h"

static_assert(sizeof(struct mpa_marker) == MPA_MARKER_LEN);
/* FPDUPTR has 16 bits: the longest FPDU, including its Markers, must fit. */
static_assert(MPA_MULPDU_MAX + MPA_FPDU_OVERHEAD + MPA_FPDU_ALIGN +
	      (MPA_MULPDU_MAX / MPA_MARKER_PERIOD + 2) * MPA_MARKER_LEN <=
	      U16_MAX);

/*
 * struct fpdu_builder - state while one FPDU is added to a gather list
 *
 * @tx is a copy of the transmit state. It replaces the original only after
 * the whole FPDU has been added.
 */
struct fpdu_builder {
	struct mpa_gather *g;
	struct mpa_tx_half tx;
	u32 crc;
	u32 from_length;
};

/**
 * mpa_mulpdu - longest ULPDU whose FPDU always fits into a TCP segment
 * @emss: bytes of stream per segment
 * @markers: Markers are sent
 *
 * Both formulas of RFC 5044 section 4.5. With Markers the worst case of their
 * phase is assumed.
 *
 * Return: bytes, from %MPA_MULPDU_MIN to %MPA_MULPDU_MAX.
 */
u32 mpa_mulpdu(u32 emss, bool markers)
{
	u32 overhead = MPA_FPDU_OVERHEAD + emss % MPA_FPDU_ALIGN;

	/* More than an IP datagram can carry. The sums below stay small. */
	if (emss > U16_MAX)
		return MPA_MULPDU_MAX;
	if (markers)
		overhead += MPA_MARKER_LEN *
			    DIV_ROUND_UP(emss, MPA_MARKER_PERIOD);
	if (emss < overhead)
		return MPA_MULPDU_MIN;
	return clamp_t(u32, emss - overhead, MPA_MULPDU_MIN, MPA_MULPDU_MAX);
}

/**
 * mpa_fpdu_len - length of the next FPDU
 * @tx: transmit state
 * @ulpdu_len: bytes of ULPDU, at most %MPA_MULPDU_MAX
 *
 * Return: bytes of stream from the current position to the end of the FPDU's
 * CRC, including Markers.
 */
u32 mpa_fpdu_len(const struct mpa_tx_half *tx, u32 ulpdu_len)
{
	u32 content = ALIGN(MPA_LENGTH_FIELD + ulpdu_len, MPA_FPDU_ALIGN) +
		      MPA_CRC_FIELD;

	if (!tx->markers)
		return content;
	return content +
	       MPA_MARKER_LEN * mpa_markers_within(tx->gap, content);
}

/**
 * mpa_ulpdu_fit - longest ULPDU that fits into a given space
 * @tx: transmit state
 * @room: bytes of stream available for the FPDU
 *
 * The FPDU of such a ULPDU fills all whole words of @room, with two
 * exceptions: the ULPDU is limited to %MPA_MULPDU_MAX, and a last word of @room
 * that would be a Marker stays empty because that Marker belongs to the next
 * FPDU (RFC 5044 section 4.3).
 *
 * Return: bytes of ULPDU, at most %MPA_MULPDU_MAX; 0 if nothing fits.
 */
u32 mpa_ulpdu_fit(const struct mpa_tx_half *tx, u32 room)
{
	u32 content = ALIGN_DOWN(room, MPA_FPDU_ALIGN);

	if (tx->markers && content > tx->gap)
		content -= MPA_MARKER_LEN *
			   (1 + (content - tx->gap - 1) / MPA_MARKER_PERIOD);
	if (content < MPA_FPDU_OVERHEAD)
		return 0;
	return min_t(u32, content - MPA_FPDU_OVERHEAD, MPA_MULPDU_MAX);
}

/* Adds @n bytes at @base, to the last piece if they are adjacent to it. */
static int fpdu_add_piece(struct mpa_gather *g, void *base, u32 n)
{
	struct kvec *last = g->nr_out ? &g->out[g->nr_out - 1] : NULL;

	if (last && last->iov_base + last->iov_len == base) {
		last->iov_len += n;
		return 0;
	}
	if (g->nr_out == g->max_out)
		return -ENOSPC;
	g->out[g->nr_out++] = (struct kvec){ .iov_base = base, .iov_len = n };
	return 0;
}

static int fpdu_add_bytes(struct fpdu_builder *b, void *p, u32 n)
{
	int ret = fpdu_add_piece(b->g, p, n);

	if (ret)
		return ret;
	b->g->len += n;
	b->from_length += n;
	if (b->tx.markers)
		b->tx.gap -= n;
	return 0;
}

static int fpdu_add_ctl(struct fpdu_builder *b, const void *field, u32 n)
{
	struct mpa_gather *g = b->g;
	void *to;

	if (n > g->max_ctl - g->nr_ctl)
		return -ENOSPC;
	to = g->ctl + g->nr_ctl;
	memcpy(to, field, n);
	g->nr_ctl += n;
	return fpdu_add_bytes(b, to, n);
}

static void fpdu_crc_update(struct fpdu_builder *b, const void *p, u32 n)
{
	if (b->tx.crc)
		b->crc = crc32c(b->crc, p, n);
}

static int fpdu_add_marker_if_due(struct fpdu_builder *b)
{
	struct mpa_marker marker = {};

	if (!b->tx.markers || b->tx.gap)
		return 0;
	marker.fpduptr = cpu_to_be16(b->from_length);
	fpdu_crc_update(b, &marker, sizeof(marker));
	b->tx.gap = MPA_MARKER_PERIOD;
	return fpdu_add_ctl(b, &marker, sizeof(marker));
}

static int fpdu_add_length(struct fpdu_builder *b, u32 ulpdu_len)
{
	const __be16 length = cpu_to_be16(ulpdu_len);
	int ret = fpdu_add_marker_if_due(b);

	if (ret)
		return ret;
	b->from_length = 0;
	fpdu_crc_update(b, &length, sizeof(length));
	return fpdu_add_ctl(b, &length, sizeof(length));
}

static int fpdu_add_ulpdu_piece(struct fpdu_builder *b,
				const struct kvec *piece)
{
	u32 left = piece->iov_len;
	void *p = piece->iov_base;
	int ret;

	while (left) {
		u32 n = left;

		ret = fpdu_add_marker_if_due(b);
		if (ret)
			return ret;
		if (b->tx.markers)
			n = min(n, b->tx.gap);
		fpdu_crc_update(b, p, n);
		ret = fpdu_add_bytes(b, p, n);
		if (ret)
			return ret;
		p += n;
		left -= n;
	}
	return 0;
}

/*
 * Markers are at multiples of four bytes from the start of any FPDU. So no
 * Marker can be before or within the pad, nor within the CRC: only between pad
 * and CRC.
 */
static int fpdu_add_trailer(struct fpdu_builder *b, u32 ulpdu_len)
{
	static const u8 zeros[MPA_FPDU_ALIGN];
	u32 pad = -(MPA_LENGTH_FIELD + ulpdu_len) % MPA_FPDU_ALIGN;
	__le32 crc = 0;
	int ret = 0;

	if (pad) {
		fpdu_crc_update(b, zeros, pad);
		ret = fpdu_add_ctl(b, zeros, pad);
	}
	if (!ret)
		ret = fpdu_add_marker_if_due(b);
	if (ret)
		return ret;
	if (b->tx.crc)
		crc = cpu_to_le32(~b->crc);
	return fpdu_add_ctl(b, &crc, sizeof(crc));
}

static int fpdu_add(struct fpdu_builder *b, const struct kvec *ulpdu,
		    unsigned int nr_ulpdu, u32 ulpdu_len)
{
	unsigned int i;
	int ret = fpdu_add_length(b, ulpdu_len);

	for (i = 0; i < nr_ulpdu && !ret; i++)
		ret = fpdu_add_ulpdu_piece(b, &ulpdu[i]);
	return ret ?: fpdu_add_trailer(b, ulpdu_len);
}

static bool fpdu_len_matches(const struct kvec *piece, unsigned int nr, u32 len)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (piece[i].iov_len > len)
			return false;
		len -= piece[i].iov_len;
	}
	return !len;
}

/**
 * mpa_fpdu_gather - append one FPDU to a gather list
 * @tx: transmit state; moved behind the FPDU
 * @ulpdu: the pieces of the ULPDU, in order; empty pieces are allowed
 * @nr_ulpdu: number of pieces
 * @ulpdu_len: total length of the pieces, bytes
 * @g: the list. Its pieces point into the memory of @ulpdu, which must not
 *	change until they have been sent
 *
 * Return: bytes of stream appended; -EMSGSIZE if @ulpdu_len is above
 * %MPA_MULPDU_MAX or is not the sum of the pieces; -ENOSPC if @g does not have
 * enough pieces or control bytes left. On error @tx and @g are unchanged.
 */
int mpa_fpdu_gather(struct mpa_tx_half *tx, const struct kvec *ulpdu,
		    unsigned int nr_ulpdu, u32 ulpdu_len,
		    struct mpa_gather *g)
{
	const struct mpa_gather old = *g;
	struct kvec *last = g->nr_out ? &g->out[g->nr_out - 1] : NULL;
	const size_t last_len = last ? last->iov_len : 0;
	struct fpdu_builder b = { .g = g, .tx = *tx, .crc = ~0 };
	int ret;

	if (ulpdu_len > MPA_MULPDU_MAX ||
	    !fpdu_len_matches(ulpdu, nr_ulpdu, ulpdu_len))
		return -EMSGSIZE;
	ret = fpdu_add(&b, ulpdu, nr_ulpdu, ulpdu_len);
	if (ret) {
		*g = old;
		if (last)
			last->iov_len = last_len;
		return ret;
	}
	*tx = b.tx;
	return g->len - old.len;
}

/*
 * struct fpdu_writer - state while one FPDU with Markers is written to memory
 *
 * @gap is 0 if a Marker is due before the next byte.
 */
struct fpdu_writer {
	u8 *to;
	u8 *length_at;
	u32 gap;
};

/* A Marker: 16 reserved bits, which are zero, and 16 bits of FPDUPTR. */
static void fpdu_write_marker(struct fpdu_writer *w)
{
	/* Before the length field is written FPDUPTR is zero. */
	put_unaligned_be32(w->length_at ? w->to - w->length_at : 0, w->to);
	w->to += MPA_MARKER_LEN;
	w->gap = MPA_MARKER_PERIOD - MPA_MARKER_LEN;
}

static void fpdu_write_marker_if_due(struct fpdu_writer *w)
{
	if (!w->gap)
		fpdu_write_marker(w);
}

/* @n bytes were written, with no Marker in between. */
static void fpdu_advance(struct fpdu_writer *w, u32 n)
{
	w->to += n;
	w->gap -= n;
}

static u8 *fpdu_copy(u8 *to, const void *p, u32 len)
{
	/* @p may be NULL if @len is 0. */
	if (len)
		mpa_copy(to, p, len);
	return to + len;
}

/* Writes no Marker after the last byte: it may belong to the next FPDU. */
static void fpdu_write_bytes(struct fpdu_writer *w, const void *p, u32 len)
{
	u32 n;

	while (len > w->gap) {
		n = w->gap;
		mpa_copy(w->to, p, n);
		fpdu_advance(w, n);
		fpdu_write_marker(w);
		p += n;
		len -= n;
	}
	fpdu_copy(w->to, p, len);
	fpdu_advance(w, len);
}

static void fpdu_write_length(struct fpdu_writer *w, u32 ulpdu_len)
{
	fpdu_write_marker_if_due(w);
	w->length_at = w->to;
	put_unaligned_be16(ulpdu_len, w->to);
	fpdu_advance(w, MPA_LENGTH_FIELD);
}

/*
 * Writes the pad after a ULPDU, and then the CRC of everything from @start on,
 * or zero in its place. A Marker is possible only between the two, see
 * fpdu_add_trailer().
 */
static void fpdu_write_trailer(struct fpdu_writer *w, const u8 *start,
			       u32 ulpdu_len, bool use_crc)
{
	u32 pad = -(MPA_LENGTH_FIELD + ulpdu_len) % MPA_FPDU_ALIGN;
	u32 crc = 0;

	if (pad) {
		memset(w->to, 0, pad);
		fpdu_advance(w, pad);
	}
	fpdu_write_marker_if_due(w);
	if (use_crc)
		crc = ~crc32c(~0, start, w->to - start);
	put_unaligned_le32(crc, w->to);
	fpdu_advance(w, MPA_CRC_FIELD);
}

/* Writes pad and CRC of an FPDU without Markers at @to. Returns its end. */
static u8 *fpdu_write_plain_trailer(u8 *start, u8 *to, u32 ulpdu_len,
				    bool use_crc)
{
	u32 crc = 0;

	/* Four zero bytes cover the pad; the CRC overwrites the others. */
	put_unaligned_le32(0, to);
	to += -(MPA_LENGTH_FIELD + ulpdu_len) % MPA_FPDU_ALIGN;
	if (use_crc)
		crc = ~crc32c(~0, start, to - start);
	put_unaligned_le32(crc, to);
	return to + MPA_CRC_FIELD;
}

/* Consumes up to @want contiguous bytes, sets @p to them, returns how many. */
static u32 fpdu_next_piece(struct mpa_cursor *c, u32 want, const u8 **p)
{
	u32 n = min_t(size_t, want, c->at->iov_len - c->off);

	*p = c->at->iov_base + c->off;
	c->off += n;
	if (c->off == c->at->iov_len) {
		c->at++;
		c->off = 0;
	}
	return n;
}

/* Prefetches the next @len bytes of payload, or those that are left. */
static void fpdu_prefetch(struct mpa_series *t, u32 len)
{
	const u8 *p;
	u32 n;

	len = min(len, t->left);
	t->left -= len;
	for (; len; len -= n) {
		n = fpdu_next_piece(&t->ahead, len, &p);
		mpa_prefetch_read(p, n);
	}
}

/*
 * struct fpdu_source - the ULPDU of an FPDU to be written
 *
 * @payload is moved behind the @payload_len bytes of this ULPDU.
 */
struct fpdu_source {
	const void *hdr;
	u32 hdr_len;
	struct mpa_cursor *payload;
	u32 payload_len;
};

/* An FPDU without Markers. Returns its end. */
static u8 *fpdu_write_plain(const struct fpdu_source *s, bool use_crc,
			    u8 *start)
{
	u32 ulpdu_len = s->hdr_len + s->payload_len;
	u8 *to = start + MPA_LENGTH_FIELD;
	const u8 *p;
	u32 left, n;

	put_unaligned_be16(ulpdu_len, start);
	to = fpdu_copy(to, s->hdr, s->hdr_len);
	for (left = s->payload_len; left; left -= n) {
		n = fpdu_next_piece(s->payload, left, &p);
		to = fpdu_copy(to, p, n);
	}
	return fpdu_write_plain_trailer(start, to, ulpdu_len, use_crc);
}

/* An FPDU with Markers. Returns its end. */
static u8 *fpdu_write_marked(struct mpa_tx_half *tx,
			     const struct fpdu_source *s, u8 *start)
{
	u32 ulpdu_len = s->hdr_len + s->payload_len;
	struct fpdu_writer w = { .to = start, .gap = tx->gap };
	const u8 *p;
	u32 left, n;

	fpdu_write_length(&w, ulpdu_len);
	fpdu_write_bytes(&w, s->hdr, s->hdr_len);
	for (left = s->payload_len; left; left -= n) {
		n = fpdu_next_piece(s->payload, left, &p);
		fpdu_write_bytes(&w, p, n);
	}
	fpdu_write_trailer(&w, start, ulpdu_len, tx->crc);
	tx->gap = w.gap;
	return w.to;
}

/* Writes an FPDU. Returns its end. */
static u8 *fpdu_write_next(struct mpa_tx_half *tx, const struct fpdu_source *s,
			   u8 *start)
{
	return tx->markers ? fpdu_write_marked(tx, s, start) :
			     fpdu_write_plain(s, tx->crc, start);
}

/**
 * mpa_fpdu_write - write one FPDU to memory
 * @tx: transmit state; moved behind the FPDU
 * @u: the ULPDU
 * @to: mpa_fpdu_len() bytes
 *
 * Writes the bytes that mpa_fpdu_gather() would list, in one piece. Each byte
 * is copied once and the CRC is computed over the copy: a payload that changes
 * meanwhile cannot make the two differ.
 *
 * Return: bytes written; -EMSGSIZE under the same conditions as
 * mpa_fpdu_gather(), with @tx unchanged.
 */
int mpa_fpdu_write(struct mpa_tx_half *tx, const struct mpa_ulpdu *u, u8 *to)
{
	struct mpa_cursor payload = { .at = u->payload };
	const struct fpdu_source s = {
		.hdr = u->hdr,
		.hdr_len = u->hdr_len,
		.payload = &payload,
		.payload_len = u->payload_len,
	};

	if (u->hdr_len > MPA_MULPDU_MAX || u->payload_len > MPA_MULPDU_MAX ||
	    u->hdr_len + u->payload_len > MPA_MULPDU_MAX ||
	    !fpdu_len_matches(u->payload, u->nr, u->payload_len))
		return -EMSGSIZE;
	return fpdu_write_next(tx, &s, to) - to;
}

/**
 * mpa_fpdu_wrap - make an FPDU of a ULPDU that is in its place already
 * @tx: transmit state, without Markers
 * @fpdu: room for the FPDU, as many bytes as mpa_fpdu_len() returns; the ULPDU is
 *	%MPA_LENGTH_FIELD bytes behind its start
 * @ulpdu_len: bytes of the ULPDU, at most %MPA_MULPDU_MAX
 *
 * Return: bytes of the FPDU.
 */
u32 mpa_fpdu_wrap(const struct mpa_tx_half *tx, u8 *fpdu, u32 ulpdu_len)
{
	put_unaligned_be16(ulpdu_len, fpdu);
	return fpdu_write_plain_trailer(fpdu, fpdu + MPA_LENGTH_FIELD + ulpdu_len,
					ulpdu_len, tx->crc) - fpdu;
}

/**
 * mpa_series_init - begin a series
 * @t: the series; the caller sets its @room
 * @hdr: header of the first ULPDU, see &mpa_series.hdr
 * @hdr_len: bytes at @hdr
 * @payload: pieces of the payload, which must not change while @t is in use
 * @len: total length of the pieces, bytes; not all of them need to be used
 */
void mpa_series_init(struct mpa_series *t, u8 *hdr, u32 hdr_len,
		     const struct kvec *payload, u32 len)
{
	*t = (struct mpa_series){
		.hdr = hdr,
		.hdr_len = hdr_len,
		.payload.at = payload,
		.ahead.at = payload,
		.left = len > MPA_PREFETCH_FEW ? len : 0,
	};
}

/**
 * mpa_fpdu_write_series - write consecutive FPDUs to memory
 * @tx: transmit state; moved behind the FPDUs
 * @t: the ULPDUs, with enough payload for all of them; moved behind those
 *	written, with the counter of the header advanced
 * @nr: most FPDUs to write, each as long as fits &mpa_series.room
 * @to: @nr times &mpa_series.room bytes
 *
 * Writes the same bytes as calls of mpa_fpdu_write(). Ends before @nr after an
 * FPDU that leaves a word of its room empty, because the next one would not
 * begin at the right place.
 *
 * Return: bytes written.
 */
u32 mpa_fpdu_write_series(struct mpa_tx_half *tx, struct mpa_series *t,
			  unsigned int nr, u8 *to)
{
	u8 *counter = t->hdr + t->hdr_len - MPA_SERIES_COUNTER;
	u64 count = get_unaligned_be64(counter);
	struct fpdu_source s = {
		.hdr = t->hdr,
		.hdr_len = t->hdr_len,
		.payload = &t->payload,
	};
	u8 *start, *at = to;

	do {
		start = at;
		s.payload_len = mpa_ulpdu_fit(tx, t->room) - t->hdr_len;
		fpdu_prefetch(t, s.payload_len +
			      (t->fpdus ? 0 : MPA_PREFETCH_BYTES));
		at = fpdu_write_next(tx, &s, start);
		count += s.payload_len;
		put_unaligned_be64(count, counter);
		t->used += s.payload_len;
		t->fpdus++;
	} while (--nr && at - start + MPA_FPDU_ALIGN > t->room);
	return at - to;
}
