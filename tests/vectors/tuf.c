// SPDX-License-Identifier: GPL-2.0-only
/*
 * kernel/framing/tuf_align.c and tuf_marker.c: expected values were derived by hand from
 * draft-ietf-tsvwg-tcp-ulp-frame-00.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../kernel/framing/tuf.h"
#include "bytes.h"
#include "framing.h"

#define VEC_TUF_KEY	"0a0b0c0d0e0f"

static const u8 tuf_vec_key[MPA_TUF_KEY_LEN] = { 10, 11, 12, 13, 14, 15 };

/* ---- PDU alignment mode ---- */

/* Section 3: what fits with a header of 8, at most 65528, 512 in emergency mode */
struct vec_tuf_max {
	const char *name;
	u32 emss;
	u32 fits;
	u32 emergency;
};

static const struct vec_tuf_max vec_tuf_maxima[] = {
	{ "no room for a header", 7, 0, 512 },
	{ "a header only", 8, 0, 512 },
	{ "one byte", 9, 1, 512 },
	{ "300", 300, 292, 512 },
	{ "511", 511, 503, 512 },
	{ "512", 512, 504, 512 },
	{ "519", 519, 511, 512 },
	{ "520", 520, 512, 512 },
	{ "521", 521, 513, 513 },
	{ "MTU 1500", 1420, 1412, 1412 },
	{ "just below the limit", 65535, 65527, 65527 },
	{ "the limit", 65536, 65528, 65528 },
	{ "above the limit", 65537, 65528, 65528 },
	{ "no limit", 0xffffffff, 65528, 65528 },
};

VEC_PARAM(tuf_max, vec_tuf_maxima);

static void tuf_longest(struct kunit *test)
{
	const struct vec_tuf_max *v = test->param_value;

	KUNIT_EXPECT_EQ(test, mpa_tuf_align_max(v->emss, false), v->fits);
	KUNIT_EXPECT_EQ(test, mpa_tuf_align_max(v->emss, true), v->emergency);
}

/* Section 5: 16 bits of length without the header, 48 bits of key */
struct vec_tuf_frame {
	const char *name;
	const char *frame;
	u32 len;
};

static const struct vec_tuf_frame vec_tuf_frames[] = {
	{ "one byte", "0001" VEC_TUF_KEY "55", 1 },
	{ "five bytes", "0005" VEC_TUF_KEY "0102030405", 5 },
	{ "its PDU looks like a framing PDU",
	  "0009" VEC_TUF_KEY "0001" VEC_TUF_KEY "55", 9 },
	{ "256 in the high byte",
	  "0100" VEC_TUF_KEY VEC_Z24 VEC_Z24 VEC_Z24 VEC_Z24 VEC_Z24 VEC_Z24
	  VEC_Z24 VEC_Z24 VEC_Z24 VEC_Z24 VEC_Z4 VEC_Z4 VEC_Z4 VEC_Z4, 256 },
};

VEC_PARAM(tuf_frame, vec_tuf_frames);

static void tuf_header_known(struct kunit *test)
{
	const struct vec_tuf_frame *v = test->param_value;
	struct bytes frame = unhex(test, v->frame);
	u8 hdr[MPA_TUF_HEADER_LEN];

	mpa_tuf_header(hdr, v->len, tuf_vec_key);
	KUNIT_EXPECT_EQ(test, memcmp(hdr, frame.p, sizeof(hdr)), 0);
	KUNIT_EXPECT_EQ(test, frame.n, 8 + v->len);
}

/* Feeds @b in two parts, from memory of just their size. Returns bytes used. */
static u32 tuf_feed_split(struct kunit *test, struct mpa_tuf_reader *r,
			  struct bytes b, u32 at, enum mpa_rx_result *result)
{
	struct bytes one = copy_bytes(test, b.p, at);
	struct bytes two = copy_bytes(test, b.p + at, b.n - at);
	u32 used, more = 0;

	*result = mpa_tuf_feed(r, one.p, one.n, &used);
	if (*result == MPA_RX_MORE) {
		KUNIT_EXPECT_EQ(test, used, at);
		*result = mpa_tuf_feed(r, two.p, two.n, &more);
	}
	free_bytes(test, one);
	free_bytes(test, two);
	return used + more;
}

static void tuf_frame_read(struct kunit *test)
{
	const struct vec_tuf_frame *v = test->param_value;
	struct bytes frame = unhex(test, v->frame);
	struct mpa_tuf_reader r;
	enum mpa_rx_result result;
	struct mpa_strip s;
	u32 at, skip;

	mpa_tuf_reader_align(&r, tuf_vec_key);
	KUNIT_EXPECT_FALSE(test, mpa_tuf_within(&r));
	KUNIT_EXPECT_EQ(test, mpa_tuf_need(&r), 8);
	for (at = 0; at <= frame.n; at++) {
		KUNIT_ASSERT_EQ(test, tuf_feed_split(test, &r, frame, at,
						     &result), frame.n);
		KUNIT_ASSERT_EQ(test, result, MPA_RX_FPDU);
		KUNIT_ASSERT_EQ(test, r.len, v->len);
		KUNIT_ASSERT_EQ(test, r.since_start, frame.n);
		KUNIT_ASSERT_FALSE(test, mpa_tuf_within(&r));
		KUNIT_ASSERT_EQ(test, mpa_tuf_need(&r), 8);
	}
	mpa_tuf_strip(&r, &s);
	KUNIT_EXPECT_EQ(test, mpa_strip_run(&s, frame.n, &skip), v->len);
	KUNIT_EXPECT_EQ(test, skip, 8);
	KUNIT_EXPECT_EQ(test, mpa_strip_run(&s, 100, &skip), 0);
}

/* How many bytes are missing, at each cut. */
static void tuf_frame_need(struct kunit *test)
{
	struct bytes frame = unhex(test, "0005" VEC_TUF_KEY "0102030405");
	struct mpa_tuf_reader r;
	u32 at, used;

	for (at = 1; at < frame.n; at++) {
		mpa_tuf_reader_align(&r, tuf_vec_key);
		KUNIT_EXPECT_EQ(test, mpa_tuf_feed(&r, frame.p, at, &used),
				MPA_RX_MORE);
		KUNIT_EXPECT_EQ(test, mpa_tuf_need(&r),
				at < 8 ? 8 - at : 13 - at);
		KUNIT_EXPECT_TRUE(test, mpa_tuf_within(&r));
	}
}

/* T-R6: every bit of the key, and a length of 0 */
static void tuf_frame_wrong(struct kunit *test)
{
	struct bytes good = unhex(test, "0001" VEC_TUF_KEY "55");
	struct bytes empty = unhex(test, "0000" VEC_TUF_KEY "55");
	enum mpa_rx_result result;
	struct mpa_tuf_reader r;
	u32 bit, at;

	for (bit = 0; bit < 48; bit++) {
		struct bytes bad = copy_bytes(test, good.p, good.n);

		bad.p[2 + bit / 8] ^= 1 << bit % 8;
		for (at = 0; at < 8; at++) {
			mpa_tuf_reader_align(&r, tuf_vec_key);
			KUNIT_ASSERT_EQ(test, tuf_feed_split(test, &r, bad, at,
							     &result), 8);
			KUNIT_ASSERT_EQ(test, result, MPA_RX_BAD_MARKER);
		}
		free_bytes(test, bad);
	}
	mpa_tuf_reader_align(&r, tuf_vec_key);
	KUNIT_EXPECT_EQ(test, tuf_feed_split(test, &r, empty, 3, &result), 8);
	KUNIT_EXPECT_EQ(test, result, MPA_RX_BAD_MARKER);
}

/* A piece of @n bytes, as a receiver of section 5.2 would judge it */
static bool tuf_vec_whole(const u8 *p, u32 n)
{
	return n >= 8 && (u32)(p[0] << 8 | p[1]) + 8 == n &&
	       !memcmp(p + 2, tuf_vec_key, 6);
}

/*
 * Section 5.2: a PDU made of what looks like framing PDUs with the true key, of every
 * length, divided for every EMSS: no piece looks whole.
 */
static void tuf_pieces(struct kunit *test)
{
	struct bytes b = alloc_bytes(test, 520);
	u32 emss, len, at, n, pieces;

	for (emss = 9; emss <= 600; emss++) {
		/* Every piece is made to look whole. */
		for (len = emss + 1; len <= b.n; len += 7) {
			mpa_tuf_header(b.p, len - 8, tuf_vec_key);
			for (at = 8; at < len; at++)
				b.p[at] = at;
			for (at = emss; at + 8 <= len; at += emss)
				mpa_tuf_header(b.p + at,
					       min(len - at, emss) - 8,
					       tuf_vec_key);
			pieces = 0;
			for (at = 0; at < len; at += n) {
				n = mpa_tuf_piece(b.p + at, len - at, emss,
						  tuf_vec_key, !at);
				KUNIT_ASSERT_GE(test, n, 1);
				KUNIT_ASSERT_LE(test, n, emss);
				KUNIT_ASSERT_LE(test, n, len - at);
				KUNIT_ASSERT_FALSE(test, tuf_vec_whole(b.p + at,
								       n));
				pieces++;
			}
			KUNIT_ASSERT_EQ(test, at, len);
			KUNIT_ASSERT_LE(test, pieces, len / (emss - 1) + 2);
		}
	}
}

/* The cut moves by one byte, and only where it must. */
static void tuf_piece_moved(struct kunit *test)
{
	struct bytes whole = unhex(test, "0005" VEC_TUF_KEY "0102030405 77");
	struct bytes key = unhex(test, "0005" "0a0b0c0d0e0e" "0102030405 77");
	struct bytes length = unhex(test, "0006" VEC_TUF_KEY "0102030405 77");

	KUNIT_EXPECT_EQ(test, mpa_tuf_piece(whole.p, 14, 13, tuf_vec_key,
					    false), 12);
	KUNIT_EXPECT_EQ(test, mpa_tuf_piece(whole.p, 14, 13, tuf_vec_key, true),
			13);
	KUNIT_EXPECT_EQ(test, mpa_tuf_piece(key.p, 14, 13, tuf_vec_key, false),
			13);
	KUNIT_EXPECT_EQ(test, mpa_tuf_piece(length.p, 14, 13, tuf_vec_key,
					    false), 13);
	/* What is left looks whole, too. */
	KUNIT_EXPECT_EQ(test, mpa_tuf_piece(length.p, 14, 20, tuf_vec_key,
					    false), 13);
	KUNIT_EXPECT_EQ(test, mpa_tuf_piece(whole.p, 7, 20, tuf_vec_key, false),
			7);
}

/* ---- Marker mode ---- */

/*
 * Section 6: bytes 01, 02, 03 .. in PDUs of some lengths, and the units of a receiver:
 * only the first boundary behind each marker is known
 */
struct vec_tuf_stream {
	const char *name;
	u32 interval;
	u32 pdus[5];
	const char *stream;
	u32 units[5];
	/* bit n: unit n ends at a boundary */
	u32 whole;
};

static const struct vec_tuf_stream vec_tuf_streams[] = {
	{
		.name = "a PDU before the first interval ends",
		.interval = 2048, .pdus = { 3 },
		.stream = "00000000 010203",
		.units = { 3 },
	}, {
		.name = "it ends where a marker is due",
		.interval = 8, .pdus = { 4, 1 },
		.stream = "00000000 01020304 00000000 05",
		.units = { 4, 1 }, .whole = 1,
	}, {
		.name = "one byte more",
		.interval = 8, .pdus = { 5, 1 },
		.stream = "00000000 01020304 00010001 05 06",
		.units = { 5, 1 }, .whole = 1,
	}, {
		.name = "one byte less: two PDUs cannot be told apart",
		.interval = 8, .pdus = { 3, 2 },
		.stream = "00000000 010203 04 00010001 05",
		.units = { 5 }, .whole = 1,
	}, {
		.name = "several markers in a PDU",
		.interval = 8, .pdus = { 10 },
		.stream = "00000000 01020304 000a000a 05060708 00020002 090a",
		.units = { 10 }, .whole = 1,
	}, {
		.name = "a marker between PDUs counts for the one before it",
		.interval = 8, .pdus = { 8, 1 },
		.stream = "00000000 01020304 00080008 05060708 00000000 09",
		.units = { 8, 1 }, .whole = 1,
	}, {
		.name = "three PDUs up to a marker",
		.interval = 16, .pdus = { 3, 4, 5, 2 },
		.stream = "00000000 010203 04050607 08090a0b0c 00000000 0d0e",
		.units = { 12, 2 }, .whole = 1,
	}, {
		.name = "an odd interval",
		.interval = 9, .pdus = { 6 },
		.stream = "00000000 0102030405 00010001 06",
		.units = { 6 }, .whole = 1,
	},
};

VEC_PARAM(tuf_stream, vec_tuf_streams);

/* Returns the length of the stream that was written. */
static u32 tuf_write(const struct vec_tuf_stream *v, u8 *to)
{
	struct mpa_tuf_marks m = { .interval = v->interval };
	u32 i, left, n, k, want;
	u8 byte = 1, marker[4];
	u32 len = 0, bad = 0;
	bool due;

	for (i = 0; i < ARRAY_SIZE(v->pdus) && v->pdus[i]; i++) {
		want = len + mpa_tuf_marked_len(&m, v->pdus[i]);
		for (left = v->pdus[i]; left; left -= n) {
			n = mpa_tuf_marker_next(&m, left, left == v->pdus[i],
						marker, &due);
			if (due) {
				memcpy(to + len, marker, 4);
				len += 4;
			}
			for (k = 0; k < n; k++)
				to[len++] = byte++;
		}
		bad += len != want;
	}
	return bad ? 0 : len;
}

static void tuf_stream_written(struct kunit *test)
{
	const struct vec_tuf_stream *v = test->param_value;
	struct bytes want = unhex(test, v->stream);
	struct bytes got = alloc_bytes(test, 256);

	got.n = tuf_write(v, got.p);
	expect_same(test, got, want);
}

/*
 * Reads a stream @step bytes at a time; before each step after the first, cuts the
 * unit and reads it again, as a call of the application that takes nothing does.
 */
static void tuf_stream_read(struct kunit *test)
{
	const struct vec_tuf_stream *v = test->param_value;
	struct bytes all = unhex(test, v->stream);
	u32 step, at, used, unit, skip, run;
	enum mpa_rx_result result;
	struct mpa_tuf_reader r;
	struct mpa_strip s;
	u8 byte;

	for (step = 1; step <= all.n; step++) {
		mpa_tuf_reader_markers(&r, v->interval);
		unit = 0;
		byte = 1;
		for (at = 0; at < all.n; at += r.since_start) {
			u32 len = 0;

			do {
				struct bytes b;

				if (len) {
					KUNIT_ASSERT_EQ(test, mpa_tuf_cut(&r),
							r.len > 0);
					mpa_tuf_rewind(&r);
				}
				len = min(len + step, all.n - at);
				b = copy_bytes(test, all.p + at, len);
				result = mpa_tuf_feed(&r, b.p, len, &used);
				free_bytes(test, b);
			} while (result == MPA_RX_MORE && at + len < all.n);
			KUNIT_ASSERT_LE(test, result, MPA_RX_FPDU);
			KUNIT_ASSERT_EQ(test, r.whole, result == MPA_RX_FPDU);
			KUNIT_ASSERT_TRUE(test, r.whole || mpa_tuf_cut(&r));
			KUNIT_ASSERT_LT(test, unit, ARRAY_SIZE(v->units));
			KUNIT_ASSERT_EQ(test, r.len, v->units[unit]);
			KUNIT_ASSERT_EQ(test, r.whole, v->whole >> unit & 1);
			unit++;
			/* A second pass finds the bytes of PDU. */
			mpa_tuf_strip(&r, &s);
			for (used = 0; used < r.since_start;) {
				run = mpa_strip_run(&s, r.since_start - used,
						    &skip);
				used += skip;
				if (!skip && !run)
					break;
				for (; run; run--, used++)
					KUNIT_ASSERT_EQ(test, all.p[at + used],
							byte++);
			}
			KUNIT_ASSERT_EQ(test, s.left, 0);
		}
		KUNIT_ASSERT_FALSE(test, mpa_tuf_within(&r));
	}
}

/* Markers that cannot be right, behind some bytes that are good */
struct vec_tuf_wrong {
	const char *name;
	u32 interval;
	const char *stream;
	u32 good;
};

static const struct vec_tuf_wrong vec_tuf_wrongs[] = {
	{ "the first one is not 0", 8, "00010001", 0 },
	{ "its copies differ", 8, "00000001", 0 },
	{ "the second one's copies differ", 8, "00000000 01020304 00010002", 4 },
	{ "within the next marker", 8, "00000000 01020304 00050005", 4 },
	{ "the last byte of the next marker", 8,
	  "00000000 01020304 00070007", 4 },
	{ "beyond the longest PDU", 32768, "0000fff9", 0 },
	{ "another boundary than told before, nearer", 8,
	  "00000000 01020304 000a000a 05060708 00010001", 8 },
	{ "another boundary than told before, farther", 8,
	  "00000000 01020304 000a000a 05060708 00030003", 8 },
	{ "no boundary where one was told", 8,
	  "00000000 01020304 00080008 05060708 00010001", 8 },
};

VEC_PARAM(tuf_wrong, vec_tuf_wrongs);

static void tuf_stream_wrong(struct kunit *test)
{
	const struct vec_tuf_wrong *v = test->param_value;
	struct bytes all = unhex(test, v->stream);
	struct mpa_tuf_reader r;
	enum mpa_rx_result result;
	u32 at, used;
	u32 good = 0;

	mpa_tuf_reader_markers(&r, v->interval);
	for (at = 0; at < all.n; at += used) {
		result = mpa_tuf_feed(&r, all.p + at, all.n - at, &used);
		if (result != MPA_RX_FPDU)
			break;
		good += r.len;
	}
	/* What was good is a unit; the same is found when it is read again. */
	if (r.bad && r.len) {
		mpa_tuf_rewind(&r);
		KUNIT_EXPECT_FALSE(test, r.bad);
		mpa_tuf_feed(&r, all.p, all.n, &used);
	}
	KUNIT_EXPECT_EQ(test, good, v->good);
	KUNIT_EXPECT_TRUE(test, r.bad);
	KUNIT_EXPECT_EQ(test, mpa_tuf_feed(&r, all.p, 1, &used),
			MPA_RX_BAD_MARKER);
	KUNIT_EXPECT_EQ(test, used, 0);
}

/*
 * Appendix A can be read as the distance to the end of the PDU: if that is where a
 * marker is due, without that marker. Both mean the same boundary.
 */
static void tuf_marker_both_readings(struct kunit *test)
{
	static const char * const streams[] = {
		"00000000 01020304 00080008 05060708",
		"00000000 01020304 00040004 05060708",
		"00000000 01020304 00100010 05060708 00080008 090a0b0c",
		"00000000 01020304 000c000c 05060708 00040004 090a0b0c",
	};
	struct mpa_tuf_reader r;
	u32 i, used;

	for (i = 0; i < ARRAY_SIZE(streams); i++) {
		struct bytes all = unhex(test, streams[i]);

		mpa_tuf_reader_markers(&r, 8);
		KUNIT_EXPECT_EQ(test, mpa_tuf_feed(&r, all.p, all.n, &used),
				MPA_RX_FPDU);
		KUNIT_EXPECT_EQ(test, used, all.n);
		KUNIT_EXPECT_EQ(test, r.len, i < 2 ? 8 : 12);
	}
}

/* A marker that is read in two parts belongs to two units. */
static void tuf_marker_divided(struct kunit *test)
{
	struct bytes all = unhex(test, "00000000 01020304 00020002 0506");
	struct mpa_tuf_reader r;
	struct mpa_strip s;
	u32 at, used, skip;

	for (at = 9; at < 12; at++) {
		mpa_tuf_reader_markers(&r, 8);
		KUNIT_ASSERT_EQ(test, mpa_tuf_feed(&r, all.p, at, &used),
				MPA_RX_MORE);
		KUNIT_ASSERT_TRUE(test, mpa_tuf_cut(&r));
		KUNIT_ASSERT_EQ(test, r.len, 4);
		KUNIT_ASSERT_TRUE(test, mpa_tuf_within(&r));
		KUNIT_ASSERT_EQ(test, mpa_tuf_feed(&r, all.p + at, all.n - at,
						   &used), MPA_RX_FPDU);
		KUNIT_ASSERT_EQ(test, r.len, 2);
		mpa_tuf_strip(&r, &s);
		KUNIT_ASSERT_EQ(test, mpa_strip_run(&s, all.n - at, &skip), 2);
		KUNIT_ASSERT_EQ(test, skip, 12 - at);
	}
}

/* Section 3: bytes of stream at the limit, at the worst phase and the best */
static void tuf_marked_lengths(struct kunit *test)
{
	static const struct {
		u32 interval;
		u32 gap;
		u32 len;
	} rows[] = {
		{ 512, 0, 65016 },
		{ 2048, 0, 65400 },
		{ 65532, 0, 65524 },
		{ 0x7fffffff, 0, 65524 },
		{ 65536, 65528, 65528 },
		{ 8, 0, 32764 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mpa_tuf_marks m = {
			.interval = rows[i].interval, .gap = rows[i].gap,
		};

		KUNIT_EXPECT_LE(test, mpa_tuf_marked_len(&m, rows[i].len),
				MPA_TUF_PDU_MAX);
		KUNIT_EXPECT_GT(test, mpa_tuf_marked_len(&m, rows[i].len + 1),
				MPA_TUF_PDU_MAX);
	}
}

static struct kunit_case tuf_cases[] = {
	KUNIT_CASE_PARAM(tuf_longest, tuf_max_gen_params),
	KUNIT_CASE_PARAM(tuf_header_known, tuf_frame_gen_params),
	KUNIT_CASE_PARAM(tuf_frame_read, tuf_frame_gen_params),
	KUNIT_CASE(tuf_frame_need),
	KUNIT_CASE(tuf_frame_wrong),
	KUNIT_CASE(tuf_pieces),
	KUNIT_CASE(tuf_piece_moved),
	KUNIT_CASE_PARAM(tuf_stream_written, tuf_stream_gen_params),
	KUNIT_CASE_PARAM(tuf_stream_read, tuf_stream_gen_params),
	KUNIT_CASE_PARAM(tuf_stream_wrong, tuf_wrong_gen_params),
	KUNIT_CASE(tuf_marker_both_readings),
	KUNIT_CASE(tuf_marker_divided),
	KUNIT_CASE(tuf_marked_lengths),
	{}
};

static struct kunit_suite tuf_suite = {
	.name = "mpa_framing_tuf",
	.test_cases = tuf_cases,
};

kunit_test_suite(tuf_suite);
