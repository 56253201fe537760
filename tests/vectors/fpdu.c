// SPDX-License-Identifier: GPL-2.0-only
/* kernel/framing/fpdu.c: lengths, and FPDUs known byte by byte. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../kernel/framing/fpdu.h"
#include "bytes.h"
#include "framing.h"

static void mulpdu_desc(const struct vec_mulpdu *v, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "EMSS %u", v->emss);
}

KUNIT_ARRAY_PARAM(mulpdu, vec_mulpdus, mulpdu_desc);

static void fpdu_mulpdu(struct kunit *test)
{
	const struct vec_mulpdu *v = test->param_value;

	KUNIT_EXPECT_EQ(test, mpa_mulpdu(v->emss, false), v->plain);
	KUNIT_EXPECT_EQ(test, mpa_mulpdu(v->emss, true), v->markers);
}

VEC_PARAM(fpdu_len, vec_fpdu_lens);

static void fpdu_length(struct kunit *test)
{
	const struct vec_fpdu_len *v = test->param_value;
	struct mpa_tx_half tx = { .gap = v->gap, .markers = v->markers };

	KUNIT_EXPECT_EQ(test, mpa_fpdu_len(&tx, v->ulpdu_len), v->want);
}

static void fit_desc(const struct vec_fit *v, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "room %u, %s %u", v->room,
		 v->markers ? "Marker in" : "no Markers", v->gap);
}

KUNIT_ARRAY_PARAM(fit, vec_fits, fit_desc);

static void fpdu_fit(struct kunit *test)
{
	const struct vec_fit *v = test->param_value;
	struct mpa_tx_half tx = { .gap = v->gap, .markers = v->markers };

	KUNIT_EXPECT_EQ(test, mpa_ulpdu_fit(&tx, v->room), v->want);
}

static struct bytes gathered(struct kunit *test, struct mpa_tx_half *tx,
			     struct bytes ulpdu)
{
	struct kvec piece = { ulpdu.p, ulpdu.n }, out[8];
	struct bytes fpdu, ctl = alloc_bytes(test, 32);
	struct mpa_gather g = {
		.out = out, .max_out = ARRAY_SIZE(out),
		.ctl = ctl.p, .max_ctl = ctl.n,
	};
	int len = mpa_fpdu_gather(tx, &piece, 1, ulpdu.n, &g);
	u32 i, at = 0;

	KUNIT_ASSERT_GT(test, len, 0);
	KUNIT_ASSERT_EQ(test, len, g.len);
	fpdu = alloc_bytes(test, len);
	for (i = 0; i < g.nr_out; i++) {
		memcpy(fpdu.p + at, out[i].iov_base, out[i].iov_len);
		at += out[i].iov_len;
	}
	KUNIT_EXPECT_EQ(test, at, fpdu.n);
	return fpdu;
}

static struct bytes written(struct kunit *test, struct mpa_tx_half *tx,
			    struct bytes ulpdu)
{
	struct bytes fpdu = alloc_bytes(test, mpa_fpdu_len(tx, ulpdu.n));
	struct kvec payload = { ulpdu.p + 14, ulpdu.n - 14 };
	const struct mpa_ulpdu u = {
		.hdr = ulpdu.p, .hdr_len = 14, .payload = &payload, .nr = 1,
		.payload_len = payload.iov_len,
	};

	KUNIT_EXPECT_EQ(test, mpa_fpdu_write(tx, &u, fpdu.p), fpdu.n);
	return fpdu;
}

/* The ULPDU is in its place already; without Markers only. */
static struct bytes wrapped(struct kunit *test, struct mpa_tx_half *tx,
			    struct bytes ulpdu)
{
	struct bytes fpdu = alloc_bytes(test, mpa_fpdu_len(tx, ulpdu.n));

	memset(fpdu.p, 0xa5, fpdu.n);
	memcpy(fpdu.p + 2, ulpdu.p, ulpdu.n);
	KUNIT_EXPECT_EQ(test, mpa_fpdu_wrap(tx, fpdu.p, ulpdu.n), fpdu.n);
	return fpdu;
}

VEC_PARAM(known, vec_fpdus);

/* Without CRCs their field is zero. */
static void fpdu_known(struct kunit *test)
{
	const struct vec_fpdu *v = test->param_value;
	struct bytes ulpdu = unhex(test, v->ulpdu);
	struct bytes want = unhex(test, v->fpdu);
	u32 i;

	for (i = 0; i < 4; i++) {
		struct mpa_tx_half tx = {
			.gap = v->gap, .markers = v->markers, .crc = i < 2,
		};

		if (!tx.crc)
			memset(want.p + want.n - 4, 0, 4);
		KUNIT_EXPECT_EQ(test, mpa_fpdu_len(&tx, ulpdu.n), want.n);
		expect_same(test, i & 1 ? written(test, &tx, ulpdu) :
					  gathered(test, &tx, ulpdu), want);
		if (v->markers)
			KUNIT_EXPECT_EQ(test, (tx.gap + want.n - v->gap) % 512,
					0);
		else
			KUNIT_EXPECT_EQ(test, tx.gap, 0);
		if (!v->markers)
			expect_same(test, wrapped(test, &tx, ulpdu), want);
	}
}

/* Lengths of pieces that do not add up to that of the ULPDU, or a ULPDU too long. */
static void fpdu_refuses(struct kunit *test)
{
	static const struct {
		size_t pieces[2];
		u32 nr, len;
	} rows[] = {
		{ { MPA_MULPDU_MAX + 1 }, 1, MPA_MULPDU_MAX + 1 },
		{ { 0xffffffff }, 1, 0xffffffff },
		{ { 4 }, 1, 5 },
		{ { 5 }, 1, 4 },
		{ { 4, 1 }, 2, 4 },
		{ { 0 }, 0, 1 },
		/* These would wrap a sum of 32 bits. */
#if __SIZEOF_SIZE_T__ > 4
		{ { (1ULL << 32) + 4 }, 1, 4 },
#endif
		{ { 8, SIZE_MAX - 3 }, 2, 4 },
	};
	struct mpa_tx_half tx = { .crc = true };
	struct bytes ulpdu = alloc_bytes(test, 8);
	struct bytes ctl = alloc_bytes(test, 64);
	struct kvec out[4];
	struct mpa_gather g = {
		.out = out, .max_out = ARRAY_SIZE(out),
		.ctl = ctl.p, .max_ctl = ctl.n,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct kvec pieces[] = {
			{ ulpdu.p, rows[i].pieces[0] },
			{ ulpdu.p, rows[i].pieces[1] },
		};

		KUNIT_EXPECT_EQ_MSG(test, -EMSGSIZE,
				    mpa_fpdu_gather(&tx, pieces, rows[i].nr,
						    rows[i].len, &g),
				    "row %u", i);
		KUNIT_EXPECT_EQ(test, g.len, 0);
	}
}

/* Too few pieces, or too little room for what is not of the ULPDU. */
static void fpdu_without_room(struct kunit *test)
{
	struct mpa_tx_half tx = { .markers = true, .crc = true };
	struct bytes ulpdu = alloc_bytes(test, 40);
	struct bytes ctl = alloc_bytes(test, 12);
	struct kvec piece = { ulpdu.p, ulpdu.n }, out[3] = {};
	struct mpa_gather g = { .out = out, .ctl = ctl.p };
	u32 pieces, bytes;

	memset(ulpdu.p, 0x5a, ulpdu.n);
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
			KUNIT_EXPECT_EQ(test, tx.gap, 0);
			KUNIT_EXPECT_EQ(test, g.nr_out, 0);
			KUNIT_EXPECT_EQ(test, g.nr_ctl, 0);
			KUNIT_EXPECT_EQ(test, g.len, 0);
		}
	}
	g.max_ctl = 12;
	KUNIT_EXPECT_EQ(test, 52,
			mpa_fpdu_gather(&tx, &piece, 1, ulpdu.n, &g));
	KUNIT_EXPECT_EQ(test, tx.gap, 460);
}

/* The longest ULPDU that mpa_fpdu_write() takes is that of mpa_fpdu_gather(). */
static void fpdu_write_refuses(struct kunit *test)
{
	const struct mpa_ulpdu u = {
		.payload_len = MPA_MULPDU_MAX + 1,
	};
	struct mpa_tx_half tx = { .markers = true };
	u8 none;

	KUNIT_EXPECT_EQ(test, -EMSGSIZE, mpa_fpdu_write(&tx, &u, &none));
	KUNIT_EXPECT_EQ(test, tx.gap, 0);
}

static struct kunit_case fpdu_cases[] = {
	KUNIT_CASE_PARAM(fpdu_mulpdu, mulpdu_gen_params),
	KUNIT_CASE_PARAM(fpdu_length, fpdu_len_gen_params),
	KUNIT_CASE_PARAM(fpdu_fit, fit_gen_params),
	KUNIT_CASE_PARAM(fpdu_known, known_gen_params),
	KUNIT_CASE(fpdu_refuses),
	KUNIT_CASE(fpdu_without_room),
	KUNIT_CASE(fpdu_write_refuses),
	{}
};

static struct kunit_suite fpdu_suite = {
	.name = "mpa_framing_fpdu",
	.test_cases = fpdu_cases,
};

kunit_test_suite(fpdu_suite);
