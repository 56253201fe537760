// SPDX-License-Identifier: GPL-2.0-only
/* kernel/framing/reader.c: FPDUs known byte by byte. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../kernel/framing/reader.h"
#include "bytes.h"
#include "framing.h"

/* All FPDU starts are equal; only the Marker phase differs. */
static struct mpa_reader reader_at(const struct vec_fpdu *v, bool crc)
{
	struct mpa_reader r;

	mpa_reader_init(&r, v->markers, crc);
	r.gap = v->gap;
	r.start_gap = v->gap;
	return r;
}

/* Feeds portions of @size, each in a block of its own. */
static enum mpa_rx_result feed_in(struct kunit *test, struct mpa_reader *r,
				  struct bytes fpdu, u32 size)
{
	enum mpa_rx_result result = MPA_RX_MORE;
	u32 at, used;

	for (at = 0; at < fpdu.n && result == MPA_RX_MORE; at += used) {
		struct bytes part = copy_bytes(test, fpdu.p + at,
					       min(size, fpdu.n - at));

		result = mpa_reader_feed(r, part.p, part.n, &used);
		KUNIT_ASSERT_EQ(test, used, part.n);
		free_bytes(test, part);
	}
	return result;
}

/* The ULPDU of the FPDU just read, in windows of @size. */
static struct bytes stripped(struct kunit *test, const struct mpa_reader *r,
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

VEC_PARAM(read, vec_fpdus);

/* In portions of any size, and at once if it is there as a whole. */
static void reader_known(struct kunit *test)
{
	const struct vec_fpdu *v = test->param_value;
	struct bytes fpdu = unhex(test, v->fpdu);
	struct bytes ulpdu = unhex(test, v->ulpdu);
	struct mpa_reader r;
	u32 i, size;

	for (i = 0; i < 2; i++) {
		for (size = 1; size <= fpdu.n; size++) {
			r = reader_at(v, i);
			KUNIT_ASSERT_EQ(test, feed_in(test, &r, fpdu, size),
					MPA_RX_FPDU);
			KUNIT_EXPECT_EQ(test, r.since_start, fpdu.n);
			expect_same(test, stripped(test, &r, fpdu, size),
				    ulpdu);
		}
		r = reader_at(v, i);
		KUNIT_EXPECT_EQ(test, mpa_reader_take(&r, fpdu.p, fpdu.n - 1),
				0);
		/* In the CRC field, which is looked at only with CRCs. */
		fpdu.p[fpdu.n - 1] ^= i;
		if (i)
			KUNIT_EXPECT_EQ(test,
					mpa_reader_take(&r, fpdu.p, fpdu.n), 0);
		fpdu.p[fpdu.n - 1] ^= i;
		KUNIT_EXPECT_EQ(test, mpa_reader_take(&r, fpdu.p, fpdu.n),
				fpdu.n);
		expect_same(test, stripped(test, &r, fpdu, fpdu.n), ulpdu);
	}
}

/* Whatever follows a length that cannot be, the result stays. */
static void reader_final(struct kunit *test)
{
	static const u8 bytes[] = { 0xff, 0xff, 0, 0 };
	struct mpa_reader r;
	u32 i, used;

	mpa_reader_init(&r, false, false);
	KUNIT_EXPECT_EQ(test, mpa_reader_feed(&r, bytes, 4, &used),
			MPA_RX_BAD_LENGTH);
	KUNIT_EXPECT_EQ(test, used, 2);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, mpa_reader_feed(&r, bytes, 4 * i, &used),
				MPA_RX_BAD_LENGTH);
		KUNIT_EXPECT_EQ(test, used, 0);
		KUNIT_EXPECT_EQ(test, mpa_reader_need(&r), 0);
		KUNIT_EXPECT_EQ(test, mpa_reader_take(&r, bytes, 4), 0);
	}
}

static struct kunit_case reader_cases[] = {
	KUNIT_CASE_PARAM(reader_known, read_gen_params),
	KUNIT_CASE(reader_final),
	{}
};

static struct kunit_suite reader_suite = {
	.name = "mpa_framing_reader",
	.test_cases = reader_cases,
};

kunit_test_suite(reader_suite);
