// SPDX-License-Identifier: GPL-2.0-only
/*
  * KUnit suites of kernel/framing: the tables of tests/vectors/framing.h and short
 * sweeps, run in the kernel with its own CRC32c. The sources under test are
 * compiled into this module, so that nothing needs to be exported. Bytes passed
 * to them are in blocks of exactly their size, so that KASAN detects every
 * access beyond their end.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../kernel/framing/fpdu.c"
#include "../../kernel/framing/reader.c"
#include "../../kernel/framing/segment.c"
#include "../../kernel/framing/startup.c"
#include "../vectors/framing.h"

enum {
	ROOM		= 1024,	/* bytes of any frame in the tables */
	PIECES		= 64,	/* of any FPDU built here */
	LONG_ULPDU	= 1201,	/* spans two or three Markers */
};

#define DESC(type)							\
static void type##_desc(const struct type *v, char *desc)		\
{									\
	strscpy(desc, v->name, KUNIT_PARAM_DESC_SIZE);			\
}

struct bytes {
	u8 *p;
	u32 n;
};

static struct bytes alloc_bytes(struct kunit *test, u32 n)
{
	struct bytes o = { kunit_kzalloc(test, n, GFP_KERNEL), n };

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, o.p);
	return o;
}

static struct bytes unhex(struct kunit *test, const char *hex)
{
	struct bytes all = alloc_bytes(test, ROOM);
	struct bytes exact = alloc_bytes(test,
					   vec_unhex(hex, all.p, all.n));

	KUNIT_ASSERT_LT(test, exact.n, (u32)ROOM);
	memcpy(exact.p, all.p, exact.n);
	kunit_kfree(test, all.p);
	return exact;
}

static void free_bytes(struct kunit *test, struct bytes o)
{
	kunit_kfree(test, o.p);
}

static void expect_same(struct kunit *test, struct bytes got,
			struct bytes want)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, got.n, want.n);
	for (i = 0; i < got.n && got.p[i] == want.p[i]; i++)
		;
	KUNIT_EXPECT_EQ_MSG(test, i, got.n, "first wrong byte");
}

/* Bytes with a long period. */
static struct bytes any_bytes(struct kunit *test, u32 n)
{
	struct bytes o = alloc_bytes(test, n);
	u32 i;

	for (i = 0; i < n; i++)
		o.p[i] = i * 167 + (i >> 8) * 29 + 13;
	return o;
}

/* One FPDU as the code under test builds it, in a block of exactly its size. */
static struct bytes build(struct kunit *test, struct mpa_tx_half *tx,
			   struct bytes ulpdu)
{
	struct kvec *out = kunit_kcalloc(test, PIECES, sizeof(*out),
					 GFP_KERNEL);
	struct bytes ctl = alloc_bytes(test, ROOM);
	struct kvec piece = { ulpdu.p, ulpdu.n };
	struct mpa_gather g = {
		.out = out, .max_out = PIECES, .ctl = ctl.p, .max_ctl = ctl.n,
	};
	struct bytes fpdu;
	int len;
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, out);
	len = mpa_fpdu_gather(tx, &piece, 1, ulpdu.n, &g);
	KUNIT_ASSERT_GT(test, len, 0);
	KUNIT_ASSERT_EQ(test, (u32)len, g.len);
	fpdu = alloc_bytes(test, len);
	for (i = 0, len = 0; i < g.nr_out; i++) {
		memcpy(fpdu.p + len, out[i].iov_base, out[i].iov_len);
		len += out[i].iov_len;
	}
	KUNIT_ASSERT_EQ(test, (u32)len, g.len);
	free_bytes(test, ctl);
	kunit_kfree(test, out);
	return fpdu;
}

/* All FPDU starts are equal; only the Marker phase differs. */
static void reader_at(struct mpa_reader *r, bool markers, bool crc, u32 gap)
{
	mpa_reader_init(r, markers, crc);
	r->gap = gap;
	r->start_gap = gap;
}

/* Feeds portions of @size, each in a separate block. */
static enum mpa_rx_result feed_in(struct kunit *test, struct mpa_reader *r,
				struct bytes o, u32 size)
{
	enum mpa_rx_result result = MPA_RX_MORE;
	u32 at, used;

	for (at = 0; at < o.n && result == MPA_RX_MORE; at += used) {
		u32 n = min(size, o.n - at);
		u8 *part = kmemdup(o.p + at, n, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, part);
		result = mpa_reader_feed(r, part, n, &used);
		kfree(part);
		if (result == MPA_RX_MORE)
			KUNIT_EXPECT_EQ(test, used, n);
	}
	return result;
}

static struct bytes strip(struct kunit *test, const struct mpa_reader *r,
			   struct bytes fpdu, u32 size)
{
	struct bytes ulpdu = alloc_bytes(test, r->ulpdu_len);
	u32 at = 0, to = 0, skip, run;
	struct mpa_strip s;

	mpa_reader_strip(r, &s);
	while (at < fpdu.n) {
		run = mpa_strip_run(&s, min(size, fpdu.n - at), &skip);
		if (!skip && !run)
			break;
		at += skip;
		KUNIT_ASSERT_LE(test, to + run, ulpdu.n);
		memcpy(ulpdu.p + to, fpdu.p + at, run);
		at += run;
		to += run;
	}
	KUNIT_EXPECT_EQ(test, to, ulpdu.n);
	return ulpdu;
}

/* Lengths and building */

static void vec_mulpdu_desc(const struct vec_mulpdu *v, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "EMSS %u", v->emss);
}

KUNIT_ARRAY_PARAM(mulpdu, vec_mulpdus, vec_mulpdu_desc);

static void fpdu_mulpdu(struct kunit *test)
{
	const struct vec_mulpdu *v = test->param_value;

	KUNIT_EXPECT_EQ(test, mpa_mulpdu(v->emss, false), v->plain);
	KUNIT_EXPECT_EQ(test, mpa_mulpdu(v->emss, true), v->markers);
}

DESC(vec_fpdu_len)
KUNIT_ARRAY_PARAM(fpdu_len, vec_fpdu_lens, vec_fpdu_len_desc);

static void fpdu_length(struct kunit *test)
{
	const struct vec_fpdu_len *v = test->param_value;
	struct mpa_tx_half tx = { .gap = v->gap, .markers = v->markers };

	KUNIT_EXPECT_EQ(test, mpa_fpdu_len(&tx, v->ulpdu_len), v->want);
}

static void vec_fit_desc(const struct vec_fit *v, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "room %u, %s %u", v->room,
		 v->markers ? "Marker in" : "no Markers", v->gap);
}

KUNIT_ARRAY_PARAM(fit, vec_fits, vec_fit_desc);

static void fpdu_fit(struct kunit *test)
{
	const struct vec_fit *v = test->param_value;
	struct mpa_tx_half tx = { .gap = v->gap, .markers = v->markers };

	KUNIT_EXPECT_EQ(test, mpa_ulpdu_fit(&tx, v->room), v->want);
}

DESC(vec_fpdu)
KUNIT_ARRAY_PARAM(fpdu, vec_fpdus, vec_fpdu_desc);

static void fpdu_known(struct kunit *test)
{
	const struct vec_fpdu *v = test->param_value;
	struct mpa_tx_half tx = {
		.gap = v->gap, .markers = v->markers, .crc = true,
	};

	expect_same(test, build(test, &tx, unhex(test, v->ulpdu)),
		    unhex(test, v->fpdu));
}

static void fpdu_refuses(struct kunit *test)
{
	struct bytes ulpdu = any_bytes(test, 40);
	struct bytes ctl = alloc_bytes(test, 16);
	struct mpa_tx_half tx = { .markers = true, .crc = true };
	struct kvec piece = { ulpdu.p, ulpdu.n }, out[3] = {};
	struct mpa_gather g = { .out = out, .ctl = ctl.p };
	u32 pieces, bytes;

	KUNIT_EXPECT_EQ(test, mpa_fpdu_gather(&tx, &piece, 1, 39, &g),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, mpa_fpdu_gather(&tx, &piece, 1, 41, &g),
			-EMSGSIZE);
	piece.iov_len = MPA_MULPDU_MAX + 1;
	KUNIT_EXPECT_EQ(test, mpa_fpdu_gather(&tx, &piece, 1,
					      MPA_MULPDU_MAX + 1, &g),
			-EMSGSIZE);
	piece.iov_len = ulpdu.n;
	/* Marker, length | ULPDU | pad, CRC: 3 pieces, 12 bytes */
	for (pieces = 0; pieces <= 3; pieces++) {
		for (bytes = 0; bytes <= 12; bytes++) {
			if (pieces == 3 && bytes == 12)
				break;
			g.max_out = pieces;
			g.max_ctl = bytes;
			KUNIT_EXPECT_EQ(test, -ENOSPC,
					mpa_fpdu_gather(&tx, &piece, 1,
							ulpdu.n, &g));
			KUNIT_EXPECT_EQ(test, tx.gap, 0u);
			KUNIT_EXPECT_EQ(test, g.nr_out, 0u);
			KUNIT_EXPECT_EQ(test, g.nr_ctl, 0u);
			KUNIT_EXPECT_EQ(test, g.len, 0u);
		}
	}
	g.max_ctl = 12;
	KUNIT_EXPECT_EQ(test, mpa_fpdu_gather(&tx, &piece, 1, ulpdu.n, &g),
			52);
	KUNIT_EXPECT_EQ(test, tx.gap, 460u);
}

/* The FPDU that mpa_fpdu_write() writes for @ulpdu, in a block of its size. */
static struct bytes write_fpdu(struct kunit *test, struct mpa_tx_half *tx,
				struct bytes ulpdu)
{
	struct bytes fpdu = alloc_bytes(test, mpa_fpdu_len(tx, ulpdu.n));
	u32 hdr_len = min(ulpdu.n, 14u);
	struct kvec piece = { ulpdu.p + hdr_len, ulpdu.n - hdr_len };
	const struct mpa_ulpdu u = {
		.hdr = ulpdu.p, .hdr_len = hdr_len, .payload = &piece, .nr = 1,
		.payload_len = piece.iov_len,
	};

	KUNIT_ASSERT_EQ(test, (int)fpdu.n, mpa_fpdu_write(tx, &u, fpdu.p));
	return fpdu;
}

/* Writing and gathering give the same bytes at any phase; the reader takes them. */
static void fpdu_written(struct kunit *test)
{
	u32 kind, len;

	for (kind = 0; kind < 4; kind++) {
		bool crc = kind & 1, markers = kind & 2;
		struct mpa_tx_half tx = { .markers = markers, .crc = crc };
		struct mpa_reader r;

		mpa_reader_init(&r, markers, crc);
		for (len = 0; len <= 300; len++) {
			struct mpa_tx_half general = tx;
			struct bytes ulpdu = any_bytes(test, len);
			struct bytes want = build(test, &general, ulpdu);
			struct bytes got = write_fpdu(test, &tx, ulpdu);

			expect_same(test, got, want);
			KUNIT_EXPECT_EQ(test, tx.gap, general.gap);
			KUNIT_EXPECT_EQ(test, 0u,
					mpa_reader_take(&r, got.p, got.n - 1));
			/* In the CRC field, which is checked only with CRCs. */
			got.p[got.n - 1] ^= 1;
			if (crc)
				KUNIT_EXPECT_EQ(test, 0u,
						mpa_reader_take(&r, got.p,
								got.n));
			got.p[got.n - 1] ^= 1;
			KUNIT_EXPECT_EQ(test, got.n,
					mpa_reader_take(&r, got.p, got.n));
			KUNIT_EXPECT_EQ(test, r.ulpdu_len, len);
			free_bytes(test, got);
			free_bytes(test, want);
			free_bytes(test, ulpdu);
		}
	}
}

/* A series equals single FPDUs; each is seen after another one, and taken. */
static void fpdu_series(struct kunit *test)
{
	static const u32 rooms[] = { 28, 29, 36, 512, 516, 1448 };
	enum { NR = 3, HDR = 14 };
	u32 i, n, run;

	for (i = 0; i < 4 * ARRAY_SIZE(rooms); i++) {
		struct mpa_tx_half tx = { .crc = i & 1, .markers = i & 2 };
		struct mpa_tx_half one = tx;
		u32 room = rooms[i / 4];
		struct bytes hdr = any_bytes(test, HDR);
		struct bytes all = any_bytes(test, NR * room);
		struct bytes ulpdu = any_bytes(test, room);
		struct bytes got = alloc_bytes(test, NR * room);
		struct kvec piece = { all.p, all.n };
		struct mpa_reader r;
		struct mpa_series t;
		u8 *p = got.p;
		u32 len, used = 0;

		memcpy(ulpdu.p, hdr.p, HDR);
		mpa_series_init(&t, hdr.p, HDR, &piece, all.n);
		t.room = room;
		len = mpa_fpdu_write_series(&tx, &t, NR, got.p);
		mpa_reader_init(&r, tx.markers, tx.crc);
		for (n = 0; n < t.fpdus; n++) {
			struct bytes want, part;
			const u8 *seen;
			u32 each;

			ulpdu.n = mpa_ulpdu_fit(&one, room);
			each = ulpdu.n - HDR;
			memcpy(ulpdu.p + HDR, all.p + used, each);
			used += each;
			want = write_fpdu(test, &one, ulpdu);
			part = (struct bytes){ p, want.n };
			expect_same(test, part, want);
			seen = mpa_reader_peek(&r, p, want.n, HDR);
			KUNIT_ASSERT_NOT_NULL(test, seen);
			KUNIT_EXPECT_NULL(test, mpa_reader_peek(&r, p, seen -
								 p + HDR - 1,
								 HDR));
			KUNIT_EXPECT_EQ(test, want.n,
					mpa_reader_take(&r, p, want.n));
			KUNIT_EXPECT_PTR_EQ(test, seen,
					    (const u8 *)p +
					    mpa_reader_ulpdu(&r, &run));
			put_unaligned_be64(get_unaligned_be64(ulpdu.p + 6) +
					   each, ulpdu.p + 6);
			p += want.n;
			free_bytes(test, want);
		}
		KUNIT_EXPECT_PTR_EQ(test, got.p + len, p);
		/* In 516 bytes a Marker would be the last word. */
		KUNIT_EXPECT_EQ(test, t.fpdus,
				tx.markers && room == 516 ? 1 : NR);
		KUNIT_EXPECT_EQ(test, used, t.used);
		KUNIT_EXPECT_EQ(test, one.gap, tx.gap);
		expect_same(test, hdr, (struct bytes){ ulpdu.p, HDR });
		free_bytes(test, got);
		free_bytes(test, ulpdu);
		free_bytes(test, all);
		free_bytes(test, hdr);
	}
}

/* With Markers, consecutive FPDUs, so that they are at all positions. */
static void fpdu_taken(struct kunit *test)
{
	struct mpa_tx_half tx = { .markers = true, .crc = true };
	struct mpa_reader r;
	u32 len;

	mpa_reader_init(&r, true, true);
	for (len = 0; len <= 1100; len++) {
		struct bytes ulpdu = any_bytes(test, len);
		struct bytes fpdu = build(test, &tx, ulpdu);

		/* In the CRC field. */
		fpdu.p[fpdu.n - 1] ^= 1;
		KUNIT_EXPECT_EQ(test, 0u, mpa_reader_take(&r, fpdu.p, fpdu.n));
		fpdu.p[fpdu.n - 1] ^= 1;
		KUNIT_EXPECT_EQ(test, 0u,
				mpa_reader_take(&r, fpdu.p, fpdu.n - 1));
		KUNIT_EXPECT_EQ(test, fpdu.n,
				mpa_reader_take(&r, fpdu.p, fpdu.n));
		KUNIT_EXPECT_EQ(test, r.ulpdu_len, len);
		KUNIT_EXPECT_EQ(test, r.gap, tx.gap);
		free_bytes(test, fpdu);
		free_bytes(test, ulpdu);
	}
}

static struct kunit_case fpdu_cases[] = {
	KUNIT_CASE_PARAM(fpdu_mulpdu, mulpdu_gen_params),
	KUNIT_CASE_PARAM(fpdu_length, fpdu_len_gen_params),
	KUNIT_CASE_PARAM(fpdu_fit, fit_gen_params),
	KUNIT_CASE_PARAM(fpdu_known, fpdu_gen_params),
	KUNIT_CASE(fpdu_refuses),
	KUNIT_CASE(fpdu_written),
	KUNIT_CASE(fpdu_series),
	KUNIT_CASE(fpdu_taken),
	{}
};

static struct kunit_suite fpdu_suite = {
	.name = "mpa_framing_fpdu",
	.test_cases = fpdu_cases,
};

/* Reading */

static void reader_known(struct kunit *test)
{
	const struct vec_fpdu *v = test->param_value;
	struct bytes fpdu = unhex(test, v->fpdu);
	struct bytes ulpdu = unhex(test, v->ulpdu);
	struct mpa_reader r;
	u32 size;

	for (size = 1; size <= fpdu.n; size++) {
		reader_at(&r, v->markers, true, v->gap);
		KUNIT_ASSERT_EQ(test, feed_in(test, &r, fpdu, size),
				MPA_RX_FPDU);
		KUNIT_EXPECT_EQ(test, r.since_start, fpdu.n);
		expect_same(test, strip(test, &r, fpdu, size), ulpdu);
	}
}

static void reader_truncated(struct kunit *test)
{
	const struct vec_fpdu *v = test->param_value;
	struct bytes fpdu = unhex(test, v->fpdu);
	u32 length_end = v->markers && !v->gap ? 6 : 2;
	struct mpa_reader r;
	u32 seen, used;

	reader_at(&r, v->markers, true, v->gap);
	for (seen = 0; seen < fpdu.n; seen++) {
		u32 end = seen < length_end ? length_end : fpdu.n;

		KUNIT_EXPECT_EQ(test, mpa_reader_need(&r), end - seen);
		KUNIT_EXPECT_EQ(test,
				mpa_reader_feed(&r, fpdu.p + seen, 1, &used),
				seen + 1 < fpdu.n ? MPA_RX_MORE : MPA_RX_FPDU);
		KUNIT_EXPECT_EQ(test, used, 1u);
	}
}

/* With CRCs every single flipped bit is detected. */
static void reader_flipped(struct kunit *test)
{
	const struct vec_fpdu *v = test->param_value;
	struct bytes fpdu = unhex(test, v->fpdu);
	u32 at = v->markers && !v->gap ? 4 : 0;
	u32 ulpdu_len, bit;

	for (bit = 0; bit < 8 * fpdu.n; bit++) {
		struct mpa_tx_half tx = { .gap = v->gap, .markers = v->markers };
		enum mpa_rx_result want = MPA_RX_BAD_CRC;
		struct mpa_reader r;

		fpdu.p[bit / 8] ^= 1 << bit % 8;
		ulpdu_len = fpdu.p[at] << 8 | fpdu.p[at + 1];
		if (mpa_fpdu_len(&tx, ulpdu_len) > fpdu.n)
			want = MPA_RX_MORE;
		reader_at(&r, v->markers, true, v->gap);
		KUNIT_EXPECT_EQ_MSG(test, feed_in(test, &r, fpdu, fpdu.n),
				    want, "bit %u", bit);
		fpdu.p[bit / 8] ^= 1 << bit % 8;
	}
}

static void reader_phases(struct kunit *test)
{
	struct bytes ulpdu = any_bytes(test, LONG_ULPDU);
	static const u32 sizes[] = { 7, 500, 65536 };
	struct mpa_reader r;
	u32 gap, i;

	for (gap = 0; gap < MPA_MARKER_PERIOD; gap += MPA_FPDU_ALIGN) {
		struct mpa_tx_half tx = {
			.gap = gap, .markers = true, .crc = gap & 4,
		};
		struct bytes got, fpdu = build(test, &tx, ulpdu);

		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			reader_at(&r, true, gap & 4, gap);
			KUNIT_ASSERT_EQ(test,
					feed_in(test, &r, fpdu, sizes[i]),
					MPA_RX_FPDU);
			KUNIT_EXPECT_EQ(test, r.gap, tx.gap);
			got = strip(test, &r, fpdu, sizes[i]);
			expect_same(test, got, ulpdu);
			free_bytes(test, got);
		}
		free_bytes(test, fpdu);
	}
}

/* A Marker with a wrong pointer, with a valid CRC or without CRCs. */
static void reader_bad_marker(struct kunit *test)
{
	struct bytes ulpdu = any_bytes(test, 42);
	u32 bit, used;

	for (bit = 0; bit < 64; bit++) {
		/* Reserved, and the two bits to be taken as zero */
		bool harmless = bit % 32 >= 16 || bit % 32 < 2;
		struct mpa_tx_half tx = { .gap = 20, .markers = true };
		struct bytes fpdu = build(test, &tx, ulpdu);
		bool crc = bit >= 32;
		struct mpa_reader r;
		__le32 sum;

		fpdu.p[20 + 3 - bit % 32 / 8] ^= 1 << bit % 8;
		sum = cpu_to_le32(~crc32c(~0, fpdu.p, fpdu.n - 4));
		if (crc)
			memcpy(fpdu.p + fpdu.n - 4, &sum, 4);
		reader_at(&r, true, crc, 20);
		KUNIT_EXPECT_EQ_MSG(test,
				    mpa_reader_feed(&r, fpdu.p, fpdu.n, &used),
				    harmless ? MPA_RX_FPDU : MPA_RX_BAD_MARKER,
				    "bit %u", bit);
		KUNIT_EXPECT_EQ(test, used, harmless || crc ? fpdu.n : 24);
		free_bytes(test, fpdu);
	}
}

/* Without CRCs the end of such an FPDU cannot be trusted. */
static void reader_length_limits(struct kunit *test)
{
	struct mpa_reader r;
	u32 len, used;

	for (len = 0; len <= U16_MAX; len++) {
		u8 field[2] = { len >> 8, len };
		bool good = len <= MPA_MULPDU_MAX;

		mpa_reader_init(&r, false, true);
		KUNIT_ASSERT_EQ(test, mpa_reader_feed(&r, field, 2, &used),
				MPA_RX_MORE);
		KUNIT_ASSERT_EQ(test, mpa_reader_need(&r),
				(u32)ALIGN(len + 2, 4) + 4 - 2);
		mpa_reader_init(&r, false, false);
		KUNIT_ASSERT_EQ(test, mpa_reader_feed(&r, field, 2, &used),
				good ? MPA_RX_MORE : MPA_RX_BAD_LENGTH);
		if (good)
			continue;
		/* The result is final. */
		KUNIT_ASSERT_EQ(test, mpa_reader_feed(&r, field, 2, &used),
				MPA_RX_BAD_LENGTH);
		KUNIT_ASSERT_EQ(test, used, 0u);
		KUNIT_ASSERT_EQ(test, mpa_reader_need(&r), 0u);
	}
}

/* With CRCs it is read to its end: the CRC is checked before anything else. */
static void reader_too_long(struct kunit *test)
{
	struct bytes fpdu = alloc_bytes(test, 2 + U16_MAX + 3 + 4);
	struct mpa_reader r;
	u32 len, used, end;
	__le32 sum;

	for (len = MPA_MULPDU_MAX + 1; len <= U16_MAX; len += 383) {
		fpdu.p[0] = len >> 8;
		fpdu.p[1] = len;
		end = ALIGN(len + 2, 4);
		sum = cpu_to_le32(~crc32c(~0, fpdu.p, end));
		memcpy(fpdu.p + end, &sum, 4);
		mpa_reader_init(&r, false, true);
		KUNIT_ASSERT_EQ(test, mpa_reader_take(&r, fpdu.p, fpdu.n), 0u);
		KUNIT_ASSERT_EQ(test, mpa_reader_feed(&r, fpdu.p, fpdu.n, &used),
				MPA_RX_BAD_LENGTH);
		KUNIT_ASSERT_EQ(test, used, end + 4);
		fpdu.p[end] ^= 1;
		mpa_reader_init(&r, false, true);
		KUNIT_ASSERT_EQ(test, mpa_reader_feed(&r, fpdu.p, fpdu.n, &used),
				MPA_RX_BAD_CRC);
		KUNIT_ASSERT_EQ(test, used, end + 4);
	}
}

static struct kunit_case reader_cases[] = {
	KUNIT_CASE_PARAM(reader_known, fpdu_gen_params),
	KUNIT_CASE_PARAM(reader_truncated, fpdu_gen_params),
	KUNIT_CASE_PARAM(reader_flipped, fpdu_gen_params),
	KUNIT_CASE(reader_phases),
	KUNIT_CASE(reader_bad_marker),
	KUNIT_CASE(reader_length_limits),
	KUNIT_CASE(reader_too_long),
	{}
};

static struct kunit_suite reader_suite = {
	.name = "mpa_framing_reader",
	.test_cases = reader_cases,
};

/* Startup frames */

static void expect_frame(struct kunit *test, const struct mpa_frame *got,
			 const struct mpa_frame *want)
{
	KUNIT_EXPECT_EQ(test, got->reply, want->reply);
	KUNIT_EXPECT_EQ(test, got->markers, want->markers);
	KUNIT_EXPECT_EQ(test, got->crc, want->crc);
	KUNIT_EXPECT_EQ(test, got->reject, want->reject);
	KUNIT_EXPECT_EQ(test, got->enhanced, want->enhanced);
	KUNIT_EXPECT_EQ(test, got->p2p, want->p2p);
	KUNIT_EXPECT_EQ(test, got->rev, want->rev);
	KUNIT_EXPECT_EQ(test, got->rtr, want->rtr);
	KUNIT_EXPECT_EQ(test, got->ird, want->ird);
	KUNIT_EXPECT_EQ(test, got->ord, want->ord);
	KUNIT_EXPECT_EQ(test, got->pd_len, want->pd_len);
}

/* Parses the first @len bytes, in a block that ends with them. */
static int parse_first(struct kunit *test, struct bytes o, u32 len, bool reply)
{
	struct bytes part = alloc_bytes(test, len);
	struct mpa_frame frame;
	const u8 *pd;
	int ret;

	memcpy(part.p, o.p, len);
	ret = mpa_frame_parse(part.p, len, reply, &frame, &pd);
	free_bytes(test, part);
	return ret;
}

DESC(vec_frame)
KUNIT_ARRAY_PARAM(frame, vec_frames, vec_frame_desc);
KUNIT_ARRAY_PARAM(sloppy_frame, vec_sloppy_frames, vec_frame_desc);

static void startup_parse(struct kunit *test)
{
	const struct vec_frame *v = test->param_value;
	struct bytes want_pd = unhex(test, v->pd);
	struct bytes o = unhex(test, v->hex);
	struct mpa_frame frame;
	const u8 *pd;
	u32 len;

	for (len = 0; len < o.n; len++)
		KUNIT_EXPECT_EQ(test, parse_first(test, o, len,
						  v->frame.reply), 0);
	KUNIT_ASSERT_EQ(test, (u32)mpa_frame_parse(o.p, o.n, v->frame.reply,
						   &frame, &pd), o.n);
	expect_frame(test, &frame, &v->frame);
	KUNIT_EXPECT_EQ(test, memcmp(pd, want_pd.p, want_pd.n), 0);
}

static void startup_build(struct kunit *test)
{
	const struct vec_frame *v = test->param_value;
	struct bytes pd = unhex(test, v->pd);
	struct bytes want = unhex(test, v->hex);
	struct bytes got = alloc_bytes(test, want.n);
	u32 room;

	for (room = 0; room < want.n; room++)
		KUNIT_EXPECT_EQ(test, mpa_frame_build(got.p, room, &v->frame,
						      pd.p), -ENOSPC);
	KUNIT_EXPECT_EQ(test, (u32)mpa_frame_build(got.p, got.n, &v->frame,
						   pd.p), want.n);
	expect_same(test, got, want);
}

static void startup_wrong_key(struct kunit *test)
{
	const struct vec_frame *v = test->param_value;
	struct bytes o = unhex(test, v->hex);
	u32 bit;

	for (bit = 0; bit < 8 * MPA_KEY_LEN; bit++) {
		/* 'p' and 'q' differ in one bit, which gives the other key. */
		bool other = bit == 8 * 9 && v->frame.reply;
		int want = other ? -EALREADY : -EPROTO;
		u32 seen = bit / 8 + 1;

		o.p[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_EQ(test, parse_first(test, o, o.n,
						  v->frame.reply), want);
		KUNIT_EXPECT_EQ(test, parse_first(test, o, seen,
						  v->frame.reply), want);
		KUNIT_EXPECT_EQ(test, parse_first(test, o, seen - 1,
						  v->frame.reply), 0);
		o.p[bit / 8] ^= 1 << bit % 8;
	}
}

DESC(vec_bad_frame)
KUNIT_ARRAY_PARAM(bad_frame, vec_bad_frames, vec_bad_frame_desc);

static void startup_refused(struct kunit *test)
{
	const struct vec_bad_frame *v = test->param_value;
	struct bytes o = unhex(test, v->hex);
	u32 len;

	for (len = 0; len <= o.n; len++)
		KUNIT_EXPECT_EQ_MSG(test, parse_first(test, o, len,
						      v->expect_reply),
				    len < v->seen ? 0 : v->want,
				    "%u bytes", len);
}

DESC(vec_answer)
KUNIT_ARRAY_PARAM(answer, vec_answers, vec_answer_desc);

static void startup_answer(struct kunit *test)
{
	const struct vec_answer *v = test->param_value;
	const struct mpa_params own = {
		.crc = true, .rev = MPA_REV_2, .rtr = v->own.rtr,
		.ird = v->own.ird, .ord = v->own.ord,
		.ird_max = v->own.ird_max,
	};
	const struct mpa_frame req = {
		.crc = true, .enhanced = true, .p2p = v->req.p2p,
		.rev = MPA_REV_2, .rtr = v->req.rtr, .ird = v->req.ird,
		.ord = v->req.ord,
	};
	const struct mpa_frame want = {
		.reply = true, .crc = true, .reject = v->reject,
		.enhanced = true, .p2p = v->req.p2p, .rev = MPA_REV_2,
		.rtr = v->rep.rtr, .ird = v->rep.ird, .ord = v->rep.ord,
	};
	struct mpa_frame rep;
	struct mpa_result res;

	mpa_answer(&own, &req, v->reject, &rep, &res);
	expect_frame(test, &rep, &want);
	KUNIT_EXPECT_FALSE(test, res.initiator);
	KUNIT_EXPECT_EQ(test, res.p2p, v->req.p2p);
	KUNIT_EXPECT_EQ(test, res.rtr, v->rep.rtr);
	KUNIT_EXPECT_EQ(test, res.ird, v->res.ird);
	KUNIT_EXPECT_EQ(test, res.ord, v->res.ord);
	KUNIT_EXPECT_EQ(test, res.peer_ird, v->req.ird);
	KUNIT_EXPECT_EQ(test, res.peer_ord, v->req.ord);
}

DESC(vec_conclude)
KUNIT_ARRAY_PARAM(conclusion, vec_conclusions, vec_conclude_desc);

static void startup_conclude(struct kunit *test)
{
	const struct vec_conclude *v = test->param_value;
	const struct mpa_params own = {
		.crc = true, .p2p = v->p2p, .rev = MPA_REV_2,
		.rtr = v->own.rtr, .ird = v->own.ird, .ord = v->own.ord,
		.ird_max = v->own.ird_max,
	};
	struct mpa_frame rep = {
		.reply = true, .crc = true, .enhanced = true,
		.p2p = v->rep.p2p, .rev = MPA_REV_2, .rtr = v->rep.rtr,
		.ird = v->rep.ird, .ord = v->rep.ord,
	};
	struct mpa_result res;
	struct mpa_frame req;

	mpa_request_from(&own, &req);
	if (v->ird_none)
		req.ird = MPA_ENH_DEPTH_NONE;
	if (v->ord_none)
		req.ord = MPA_ENH_DEPTH_NONE;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&own, &req, &rep, &res), v->want);
	KUNIT_EXPECT_TRUE(test, res.initiator);
	KUNIT_EXPECT_EQ(test, res.ird, v->res.ird);
	KUNIT_EXPECT_EQ(test, res.ord, v->res.ord);
	KUNIT_EXPECT_EQ(test, res.rtr, v->res.rtr);

	rep.reject = true;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&own, &req, &rep, &res),
			-ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, res.peer_ird, v->rep.ird);
	KUNIT_EXPECT_EQ(test, res.peer_ord, v->rep.ord);
}

static void startup_markers_and_crc(struct kunit *test)
{
	u32 bits;

	for (bits = 0; bits < 16; bits++) {
		const struct mpa_params a = {
			.markers = bits & 1, .crc = bits & 2, .rev = MPA_REV_2,
			.rtr = MPA_RTR_WRITE,
		};
		const struct mpa_params b = {
			.markers = bits & 4, .crc = bits & 8, .rev = MPA_REV_2,
			.rtr = MPA_RTR_WRITE,
		};
		struct mpa_result ra, rb;
		struct mpa_frame req, rep;

		mpa_request_from(&a, &req);
		mpa_answer(&b, &req, false, &rep, &rb);
		KUNIT_EXPECT_EQ(test, mpa_conclude(&a, &req, &rep, &ra), 0);
		KUNIT_EXPECT_EQ(test, ra.rx_markers, a.markers);
		KUNIT_EXPECT_EQ(test, ra.tx_markers, b.markers);
		KUNIT_EXPECT_EQ(test, rb.rx_markers, b.markers);
		KUNIT_EXPECT_EQ(test, rb.tx_markers, a.markers);
		KUNIT_EXPECT_EQ(test, ra.crc, a.crc || b.crc);
		KUNIT_EXPECT_EQ(test, rb.crc, a.crc || b.crc);
	}
}

DESC(vec_figure)
KUNIT_ARRAY_PARAM(figure, vec_figures, vec_figure_desc);

/* Appendix C, cell by cell: the result on both sides. */
static void startup_figure(struct kunit *test)
{
	const struct vec_figure *v = test->param_value;
	const struct mpa_params a = vec_kind_params(v->initiator,
						    v->initiator_m, MPA_REV_1);
	const struct mpa_params b = vec_kind_params(v->responder,
						    v->responder_m, MPA_REV_1);
	bool refused = v->version < 0 && v->initiator == VEC_RDMAC;
	struct mpa_result ra, rb;
	struct mpa_frame req, rep;
	int ret;

	mpa_request_from(&a, &req);
	KUNIT_EXPECT_EQ(test, mpa_answer(&b, &req, false, &rep, &rb),
			refused ? -EPROTONOSUPPORT : 0);
	if (refused)
		KUNIT_EXPECT_EQ(test, mpa_answer(&b, &req, true, &rep, &rb), 0);
	ret = mpa_conclude(&a, &req, &rep, &ra);
	if (v->version < 0) {
		KUNIT_EXPECT_EQ(test, ret, refused ? -ECONNREFUSED :
						     -EPROTONOSUPPORT);
		return;
	}
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, (int)ra.ddp_version, v->version);
	KUNIT_EXPECT_EQ(test, (int)rb.ddp_version, v->version);
	KUNIT_EXPECT_EQ(test, ra.rx_markers, v->to_initiator);
	KUNIT_EXPECT_EQ(test, rb.tx_markers, v->to_initiator);
	KUNIT_EXPECT_EQ(test, ra.tx_markers, v->to_responder);
	KUNIT_EXPECT_EQ(test, rb.rx_markers, v->to_responder);
	KUNIT_EXPECT_EQ(test, ra.crc, !v->version);
	KUNIT_EXPECT_EQ(test, rb.crc, !v->version);
}

DESC(vec_server)
KUNIT_ARRAY_PARAM(server, vec_servers, vec_server_desc);

static void startup_rev_supported(struct kunit *test)
{
	const struct vec_server *v = test->param_value;
	const struct mpa_params own = {
		.permissive = v->permissive, .rev = v->rev,
		.rev_min = v->rev_min, .rtr = MPA_RTR_WRITE,
	};
	struct mpa_result res;
	struct mpa_frame rep;
	int i;

	for (i = 0; i < 6; i++) {
		bool reject = i & 1;
		u8 rev = i / 2;
		int want = reject ? v->reject[rev] : v->accept[rev];
		const struct mpa_frame req = { .markers = !rev, .rev = rev };
		int ret = mpa_answer(&own, &req, reject, &rep, &res);

		KUNIT_EXPECT_EQ(test, mpa_rev_supported(&own, rev),
				v->accept[rev] >= 0);
		KUNIT_EXPECT_EQ(test, ret, want < 0 ? -EPROTONOSUPPORT : 0);
		if (ret)
			continue;
		KUNIT_EXPECT_EQ(test, (int)rep.rev, want);
		KUNIT_EXPECT_EQ(test, rep.reject, reject);
		KUNIT_EXPECT_EQ(test, rep.markers, !want);
		KUNIT_EXPECT_EQ(test, (int)res.ddp_version, !!want);
	}
}

DESC(vec_asker)
KUNIT_ARRAY_PARAM(asker, vec_askers, vec_asker_desc);

static void startup_asks(struct kunit *test)
{
	const struct vec_asker *v = test->param_value;
	const struct mpa_params own = {
		.permissive = v->permissive, .plain = v->plain, .rev = v->rev,
		.rev_min = v->rev_min,
	};
	struct mpa_frame req, rep = { .reply = true, .markers = true };
	struct mpa_result res;

	mpa_request_from(&own, &req);
	KUNIT_EXPECT_EQ(test, req.rev, v->asks);
	KUNIT_EXPECT_EQ(test, req.enhanced, v->enhanced);
	for (rep.rev = 0; rep.rev <= MPA_REV_2; rep.rev++) {
		KUNIT_EXPECT_EQ(test, mpa_conclude(&own, &req, &rep, &res),
				v->want[rep.rev]);
		KUNIT_EXPECT_EQ(test, (int)res.ddp_version, !!rep.rev);
	}
	rep.rev = MPA_REV_2;
	rep.enhanced = true;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&own, &req, &rep, &res),
			v->want_enhanced);
}

static struct kunit_case startup_cases[] = {
	KUNIT_CASE_PARAM(startup_parse, frame_gen_params),
	KUNIT_CASE_PARAM(startup_parse, sloppy_frame_gen_params),
	KUNIT_CASE_PARAM(startup_build, frame_gen_params),
	KUNIT_CASE_PARAM(startup_wrong_key, frame_gen_params),
	KUNIT_CASE_PARAM(startup_refused, bad_frame_gen_params),
	KUNIT_CASE_PARAM(startup_answer, answer_gen_params),
	KUNIT_CASE_PARAM(startup_conclude, conclusion_gen_params),
	KUNIT_CASE(startup_markers_and_crc),
	KUNIT_CASE_PARAM(startup_figure, figure_gen_params),
	KUNIT_CASE_PARAM(startup_rev_supported, server_gen_params),
	KUNIT_CASE_PARAM(startup_asks, asker_gen_params),
	{}
};

static struct kunit_suite startup_suite = {
	.name = "mpa_framing_startup",
	.test_cases = startup_cases,
};

/* Segments */

DESC(vec_seg)
KUNIT_ARRAY_PARAM(seg, vec_segs, vec_seg_desc);

static void segment_plan(struct kunit *test)
{
	const struct vec_seg *v = test->param_value;
	struct mpa_seg_plan plan;

	mpa_seg_plan(&v->view, &plan);
	KUNIT_EXPECT_EQ(test, plan.seg_len, v->seg_len);
	KUNIT_EXPECT_EQ(test, plan.segs, v->segs);
}

static struct kunit_case segment_cases[] = {
	KUNIT_CASE_PARAM(segment_plan, seg_gen_params),
	{}
};

static struct kunit_suite segment_suite = {
	.name = "mpa_framing_segment",
	.test_cases = segment_cases,
};

kunit_test_suites(&fpdu_suite, &reader_suite, &startup_suite, &segment_suite);

MODULE_DESCRIPTION("KUnit suites of the MPA framing");
MODULE_LICENSE("GPL");
