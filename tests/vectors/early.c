// SPDX-License-Identifier: GPL-2.0-only
/* kernel/framing/early.c: what is found behind each cut of one stream. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../kernel/framing/early.h"
#include "../../kernel/framing/fpdu.h"
#include "bytes.h"

/*
 * The FPDUs of the stream begin at 0, 112, 724, 772, 820 and 2844, and the last one
 * ends at 2860. Markers are at 0, 512 (FPDU at 112), 1024, 1536, 2048 and 2560 (all
 * four: FPDU at 820). The ULPDUs are zero.
 */
static const u32 cut_ulpdus[] = { 100, 600, 40, 40, 2000, 8 };

enum {
	CUT_END		= 2860,
	/* Low byte of the FPDUPTR of the Marker at 512: 400. */
	CUT_FPDUPTR	= 512 + 3,
	/* In the CRC field of the FPDU that ends at 772. */
	CUT_CRC		= 772 - 1,
};

/**
 * struct vec_cut - a part of the stream, and what is found in it
 * @name: what is special about it
 * @from: offset of its first byte
 * @to: offset behind its last byte
 * @at: byte that is changed; 0: none
 * @xor: how
 * @nr: FPDUs that are found
 * @first: where the first of them begins
 * @last: where the last of them ends
 */
struct vec_cut {
	const char *name;
	u32 from;
	u32 to;
	u32 at;
	u8 xor;
	u32 nr;
	u32 first;
	u32 last;
};

static const struct vec_cut vec_cuts[] = {
	{ "all of it", 0, CUT_END, .nr = 6, .first = 0, .last = CUT_END },
	{ "behind the first byte", 1, CUT_END,
	  .nr = 5, .first = 112, .last = CUT_END },
	{ "from an FPDU on", 112, CUT_END,
	  .nr = 5, .first = 112, .last = CUT_END },
	{ "within its length field", 113, CUT_END,
	  .nr = 2, .first = 820, .last = CUT_END },
	{ "from a Marker on", 512, CUT_END,
	  .nr = 2, .first = 820, .last = CUT_END },
	{ "from the last FPDU with a Marker on", 820, CUT_END,
	  .nr = 2, .first = 820, .last = CUT_END },
	{ "Markers of what began before only", 821, CUT_END },
	{ "no Marker", 2844, CUT_END },
	{ "to the end of a Marker, less one byte", 4, 515 },
	{ "to the end of a Marker", 4, 516 },
	{ "to the end of an FPDU, less one byte", 4, 723 },
	{ "to the end of an FPDU", 4, 724,
	  .nr = 1, .first = 112, .last = 724 },
	{ "one byte more", 4, 725, .nr = 1, .first = 112, .last = 724 },
	{ "to the end of the next one", 4, 772,
	  .nr = 2, .first = 112, .last = 772 },
	/* They do not count, but the CRC covers them. */
	{ "the last two bits of FPDUPTR", 4, CUT_END, CUT_FPDUPTR, 3,
	  .nr = 2, .first = 820, .last = CUT_END },
	/* Offset 128: the length is zero, and so is what should be a CRC. */
	{ "FPDUPTR shows bytes of a ULPDU", 4, CUT_END, CUT_FPDUPTR, 0x10,
	  .nr = 2, .first = 820, .last = CUT_END },
	/* Offset 108: a CRC that looks like a length. */
	{ "FPDUPTR shows what goes on beyond the part", 4, CUT_END,
	  CUT_FPDUPTR, 4 },
	{ "FPDUPTR shows what is missing", 112, CUT_END, CUT_FPDUPTR, 4,
	  .nr = 2, .first = 820, .last = CUT_END },
	{ "a CRC is wrong", 4, CUT_END, CUT_CRC, 1,
	  .nr = 3, .first = 112, .last = CUT_END },
};

VEC_PARAM(cut, vec_cuts);

static struct bytes cut_stream(struct kunit *test)
{
	struct bytes stream = alloc_bytes(test, CUT_END);
	struct mpa_tx_half tx = { .markers = true, .crc = true };
	struct mpa_ulpdu u = {};
	u32 i, at = 0;

	for (i = 0; i < ARRAY_SIZE(cut_ulpdus); i++) {
		struct bytes ulpdu = alloc_bytes(test, cut_ulpdus[i]);
		struct kvec vec = { ulpdu.p, ulpdu.n };

		memset(ulpdu.p, 0, ulpdu.n);
		u.payload = &vec;
		u.nr = 1;
		u.payload_len = ulpdu.n;
		KUNIT_ASSERT_LE(test, at + mpa_fpdu_len(&tx, ulpdu.n), CUT_END);
		at += mpa_fpdu_write(&tx, &u, stream.p + at);
		free_bytes(test, ulpdu);
	}
	KUNIT_ASSERT_EQ(test, at, CUT_END);
	return stream;
}

static bool cut_copy(void *ctx, u32 at, u8 *to, u32 len)
{
	const struct bytes *part = ctx;

	if (at > part->n || len > part->n - at)
		return false;
	memcpy(to, part->p + at, len);
	return true;
}

static enum mpa_rx_result cut_feed(void *ctx, u32 at, struct mpa_reader *r)
{
	const struct bytes *part = ctx;
	u32 used;

	return mpa_reader_feed(r, part->p + at, part->n - at, &used);
}

static void early_cuts(struct kunit *test)
{
	const struct vec_cut *v = test->param_value;
	struct bytes part, stream = cut_stream(test);
	const struct mpa_early_source src = { cut_copy, cut_feed, &part };
	u32 nr = 0, first = 0, last = 0;
	struct mpa_early e;
	struct mpa_reader r;

	if (v->at)
		stream.p[v->at] ^= v->xor;
	/* What is ahead of the part is never read. */
	memset(stream.p, 0xee, v->from);
	part = copy_bytes(test, stream.p, v->to);
	mpa_early_init(&e, v->from);
	while (mpa_early_find(&e, &src, v->to, &r)) {
		last = e.floor;
		if (!nr++)
			first = last - r.since_start;
	}
	KUNIT_EXPECT_EQ(test, nr, v->nr);
	KUNIT_EXPECT_EQ(test, first, v->first);
	KUNIT_EXPECT_EQ(test, last, v->last);
	/* Nothing is found twice. */
	KUNIT_EXPECT_FALSE(test, mpa_early_find(&e, &src, v->to, &r));
}

static struct kunit_case early_cases[] = {
	KUNIT_CASE_PARAM(early_cuts, cut_gen_params),
	{}
};

static struct kunit_suite early_suite = {
	.name = "mpa_framing_early",
	.test_cases = early_cases,
};

kunit_test_suite(early_suite);
