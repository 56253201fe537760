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
	}
}

static struct kunit_case fpdu_cases[] = {
	KUNIT_CASE_PARAM(fpdu_mulpdu, mulpdu_gen_params),
	KUNIT_CASE_PARAM(fpdu_length, fpdu_len_gen_params),
	KUNIT_CASE_PARAM(fpdu_fit, fit_gen_params),
	KUNIT_CASE_PARAM(fpdu_known, known_gen_params),
	{}
};

static struct kunit_suite fpdu_suite = {
	.name = "mpa_framing_fpdu",
	.test_cases = fpdu_cases,
};

kunit_test_suite(fpdu_suite);
