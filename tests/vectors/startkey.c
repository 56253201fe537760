// SPDX-License-Identifier: GPL-2.0-only
/* kernel/framing/startkey.c: Start Keys bit by bit, and the result of two. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../kernel/framing/startkey.h"
#include "bytes.h"
#include "framing.h"

#define VEC_KEY	"4d504120 6964656e 74206672 616d65"

/* draft-culley-iwarp-mpa-03 figure 7 */
struct vec_key {
	const char *name;
	const char *hex;
	bool markers;
	bool crc;
};

static const struct vec_key vec_keys[] = {
	{ "nothing asked", VEC_KEY "00", false, false },
	{ "Markers", VEC_KEY "80", true, false },
	{ "CRC", VEC_KEY "40", false, true },
	{ "Markers and CRC", VEC_KEY "c0", true, true },
};

VEC_PARAM(key, vec_keys);

/* What is received must be @key; also with bytes behind it. */
static void expect_key(struct kunit *test, struct bytes bytes,
		       const struct vec_key *key, bool reply)
{
	struct mpa_frame f;
	const u8 *pd;

	memset(&f, 0xee, sizeof(f));
	KUNIT_ASSERT_EQ(test, mpa_key_parse(bytes.p, bytes.n, reply, &f, &pd),
			16);
	KUNIT_EXPECT_PTR_EQ(test, pd, (const u8 *)bytes.p + 16);
	KUNIT_EXPECT_TRUE(test, f.start_key);
	KUNIT_EXPECT_EQ(test, f.reply, reply);
	KUNIT_EXPECT_EQ(test, f.markers, key->markers);
	KUNIT_EXPECT_EQ(test, f.crc, key->crc);
	KUNIT_EXPECT_FALSE(test, f.reject);
	KUNIT_EXPECT_FALSE(test, f.enhanced);
	KUNIT_EXPECT_EQ(test, f.rev, 0);
	KUNIT_EXPECT_EQ(test, f.pd_len, 0);
}

/* The result for the first @len bytes, in memory of just that size. */
static int parse_part(struct kunit *test, struct bytes bytes, u32 len)
{
	struct bytes part = copy_bytes(test, bytes.p, len);
	struct mpa_frame f, untouched;
	const u8 *pd = NULL;
	int ret;

	memset(&f, 0xee, sizeof(f));
	memcpy(&untouched, &f, sizeof(f));
	ret = mpa_key_parse(part.p, part.n, false, &f, &pd);
	if (ret <= 0) {
		KUNIT_EXPECT_EQ(test, memcmp(&f, &untouched, sizeof(f)), 0);
		KUNIT_EXPECT_PTR_EQ(test, pd, (const u8 *)NULL);
	}
	free_bytes(test, part);
	return ret;
}

static void key_known(struct kunit *test)
{
	const struct vec_key *v = test->param_value;
	struct bytes key = unhex(test, v->hex);
	struct bytes more = alloc_bytes(test, key.n + 100);
	u32 len;

	for (len = 0; len < key.n; len++)
		KUNIT_EXPECT_EQ(test, parse_part(test, key, len), 0);
	expect_key(test, key, v, false);
	expect_key(test, key, v, true);
	memcpy(more.p, key.p, key.n);
	expect_key(test, more, v, false);
}

/* Nothing is written if there is too little room, or something does not fit. */
static void key_build(struct kunit *test)
{
	const struct vec_key *v = test->param_value;
	const struct mpa_params own = { .markers = v->markers, .crc = v->crc,
					.rev = MPA_REV_2, .p2p = true, .rtr = 7,
					.ird = 9, .ord = 9 };
	struct bytes want = unhex(test, v->hex);
	struct mpa_frame f;
	struct bytes got;
	u32 room;

	mpa_exchange_start_key.request_from(&own, &f);
	KUNIT_EXPECT_TRUE(test, f.start_key);
	for (room = 0; room < want.n; room++) {
		got = alloc_bytes(test, room);
		KUNIT_EXPECT_EQ(test, mpa_exchange_start_key.build(got.p, room,
								   &f, NULL),
				-ENOSPC);
		expect_same(test, got, alloc_bytes(test, room));
	}
	got = alloc_bytes(test, want.n);
	KUNIT_EXPECT_EQ(test, mpa_exchange_start_key.build(got.p, got.n, &f,
							   NULL), want.n);
	expect_same(test, got, want);
	f.pd_len = 1;
	KUNIT_EXPECT_EQ(test, mpa_exchange_start_key.build(got.p, got.n, &f,
							   "x"), -EMSGSIZE);
}

/* 120 bits of text; a wrong one is noticed with its byte and not before. */
static void key_every_wrong_bit(struct kunit *test)
{
	struct bytes key = unhex(test, VEC_KEY "00");
	u32 bit, len;

	for (bit = 0; bit < 8 * 15; bit++) {
		key.p[bit / 8] ^= 1 << bit % 8;
		for (len = 0; len <= key.n; len++)
			KUNIT_EXPECT_EQ(test, parse_part(test, key, len),
					len > bit / 8 ? -EPROTO : 0);
		key.p[bit / 8] ^= 1 << bit % 8;
	}
}

/* Reserved bits are not looked at, the revision must be 0. */
static void key_every_flag_octet(struct kunit *test)
{
	struct bytes key = unhex(test, VEC_KEY "00");
	u32 octet;

	for (octet = 0; octet < 256; octet++) {
		const struct vec_key want = { .markers = octet & 0x80,
					      .crc = octet & 0x40 };

		key.p[15] = octet;
		KUNIT_EXPECT_EQ(test, parse_part(test, key, 15), 0);
		if (octet & 0x0f)
			KUNIT_EXPECT_EQ(test, parse_part(test, key, 16),
					-EPROTONOSUPPORT);
		else
			expect_key(test, key, &want, octet & 0x10);
	}
}

/* Each kind of first bytes, whole and in part. */
static void key_told_apart(struct kunit *test)
{
	static const char * const others[] = { MPA_KEY_REQUEST, MPA_KEY_REPLY,
					       "MPA Ident frame\0" };
	struct bytes key = unhex(test, VEC_KEY "c0");
	struct bytes part;
	u32 i, len;

	for (len = 0; len <= key.n; len++) {
		part = copy_bytes(test, key.p, len);
		KUNIT_EXPECT_EQ(test, mpa_is_start_key(part.p, len), len > 4);
		KUNIT_EXPECT_FALSE(test, mpa_is_request(part.p, len));
		for (i = 0; i < ARRAY_SIZE(others); i++) {
			part = copy_bytes(test, (const u8 *)others[i], len);
			KUNIT_EXPECT_FALSE(test, mpa_is_start_key(part.p, len));
			KUNIT_EXPECT_EQ(test, mpa_is_request(part.p, len), len > 4);
		}
	}
}

static void expect_result(struct kunit *test, const struct mpa_result *res,
			  const struct mpa_params *own,
			  const struct mpa_params *peer, bool initiator)
{
	KUNIT_EXPECT_TRUE(test, res->start_key);
	KUNIT_EXPECT_EQ(test, res->initiator, initiator);
	KUNIT_EXPECT_EQ(test, res->tx_markers, peer->markers);
	KUNIT_EXPECT_EQ(test, res->rx_markers, own->markers);
	KUNIT_EXPECT_EQ(test, res->crc, own->crc || peer->crc);
	KUNIT_EXPECT_EQ(test, res->rev, 0);
	KUNIT_EXPECT_EQ(test, res->ddp_version, 0);
	KUNIT_EXPECT_FALSE(test, res->enhanced);
	KUNIT_EXPECT_FALSE(test, res->p2p);
	KUNIT_EXPECT_FALSE(test, res->extensions);
	KUNIT_EXPECT_EQ(test, res->ird, own->ird);
	KUNIT_EXPECT_EQ(test, res->ord, own->ord);
}

static struct mpa_params side(u32 bits, u16 ird)
{
	return (struct mpa_params){
		.markers = bits & 2, .crc = bits & 1, .rev = MPA_REV_2,
		.extensions = MPA_EXTENSIONS_ON, .ird = ird, .ord = ird + 1,
	};
}

/* M and C of both sides: 16 pairs, and what each makes of them. */
static void key_negotiation(struct kunit *test)
{
	const struct mpa_exchange *x = &mpa_exchange_start_key;
	struct mpa_frame req, rep;
	struct mpa_result res;
	u32 pair;

	for (pair = 0; pair < 16; pair++) {
		struct mpa_params one = side(pair & 3, 5);
		struct mpa_params two = side(pair >> 2, 7);

		x->request_from(&one, &req);
		KUNIT_ASSERT_EQ(test, x->answer(&two, &req, false, &rep, &res),
				0);
		expect_result(test, &res, &two, &one, false);
		KUNIT_EXPECT_EQ(test, rep.markers, two.markers);
		KUNIT_EXPECT_EQ(test, rep.crc, two.crc);
		KUNIT_ASSERT_EQ(test, x->conclude(&one, &req, &rep, &res), 0);
		expect_result(test, &res, &one, &two, true);
		KUNIT_EXPECT_TRUE(test, mpa_request_supported(&two, &req));
		memset(&res, 0xee, sizeof(res));
		KUNIT_EXPECT_EQ(test, x->answer(&two, &req, true, &rep, &res),
				0);
		KUNIT_EXPECT_TRUE(test, rep.reject);
		expect_result(test, &res, &two, &one, false);
	}
}

static struct kunit_case startkey_cases[] = {
	KUNIT_CASE_PARAM(key_known, key_gen_params),
	KUNIT_CASE_PARAM(key_build, key_gen_params),
	KUNIT_CASE(key_every_wrong_bit),
	KUNIT_CASE(key_every_flag_octet),
	KUNIT_CASE(key_told_apart),
	KUNIT_CASE(key_negotiation),
	{}
};

static struct kunit_suite startkey_suite = {
	.name = "mpa_framing_startkey",
	.test_cases = startkey_cases,
};

kunit_test_suite(startkey_suite);
