// SPDX-License-Identifier: GPL-2.0-only
/* kernel/framing/startup.c: the tables of the codec and of the negotiation. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "../../kernel/framing/startup.h"
#include "bytes.h"
#include "framing.h"

static void expect_frame(struct kunit *test, const struct mpa_frame *got,
			 const struct mpa_frame *want)
{
	KUNIT_EXPECT_EQ(test, got->reply, want->reply);
	KUNIT_EXPECT_EQ(test, got->markers, want->markers);
	KUNIT_EXPECT_EQ(test, got->crc, want->crc);
	KUNIT_EXPECT_EQ(test, got->reject, want->reject);
	KUNIT_EXPECT_EQ(test, got->enhanced, want->enhanced);
	KUNIT_EXPECT_EQ(test, got->p2p, want->p2p);
	KUNIT_EXPECT_EQ(test, got->extensions, want->extensions);
	KUNIT_EXPECT_EQ(test, got->rev, want->rev);
	KUNIT_EXPECT_EQ(test, got->rtr, want->rtr);
	KUNIT_EXPECT_EQ(test, got->ird, want->ird);
	KUNIT_EXPECT_EQ(test, got->ord, want->ord);
	KUNIT_EXPECT_EQ(test, got->pd_len, want->pd_len);
}

/* Nothing is changed unless the result is a length. */
static int parse(struct kunit *test, struct bytes bytes, bool reply,
		 struct mpa_frame *frame, struct bytes *pd)
{
	const u8 *data = NULL;
	struct mpa_frame untouched;
	int ret;

	memset(frame, 0xee, sizeof(*frame));
	memcpy(&untouched, frame, sizeof(untouched));
	ret = mpa_frame_parse(bytes.p, bytes.n, reply, frame, &data);
	if (ret > 0) {
		KUNIT_ASSERT_GE(test, ret, frame->pd_len);
		KUNIT_ASSERT_PTR_EQ(test, data,
				    (const u8 *)bytes.p + ret - frame->pd_len);
		*pd = copy_bytes(test, data, frame->pd_len);
	} else {
		KUNIT_EXPECT_PTR_EQ(test, data, (const u8 *)NULL);
		KUNIT_EXPECT_EQ(test, memcmp(frame, &untouched, sizeof(*frame)),
				0);
	}
	return ret;
}

/* The result for the first @len bytes, which is not a length. */
static int refused(struct kunit *test, struct bytes bytes, u32 len, bool reply)
{
	struct bytes pd, part = copy_bytes(test, bytes.p, len);
	struct mpa_frame frame;
	int ret = parse(test, part, reply, &frame, &pd);

	KUNIT_EXPECT_LE(test, ret, 0);
	free_bytes(test, part);
	return ret;
}

VEC_PARAM(frame, vec_frames);
VEC_PARAM(sloppy_frame, vec_sloppy_frames);

/* No byte is missing, and what follows is left alone. */
static void startup_parse(struct kunit *test)
{
	static const u32 behind[] = { 0, 1, 100 };
	const struct vec_frame *v = test->param_value;
	struct bytes want_pd = unhex(test, v->pd);
	struct bytes bytes = unhex(test, v->hex);
	struct mpa_frame frame;
	struct bytes pd;
	u32 i, len;

	for (len = 0; len < bytes.n; len++)
		KUNIT_EXPECT_EQ(test, refused(test, bytes, len, v->frame.reply),
				0);
	for (i = 0; i < ARRAY_SIZE(behind); i++) {
		struct bytes more = alloc_bytes(test, bytes.n + behind[i]);

		memcpy(more.p, bytes.p, bytes.n);
		KUNIT_ASSERT_EQ(test, parse(test, more, v->frame.reply, &frame,
					    &pd), bytes.n);
		expect_frame(test, &frame, &v->frame);
		expect_same(test, pd, want_pd);
	}
}

/* Nothing is written if there is too little room. */
static void startup_build(struct kunit *test)
{
	const struct vec_frame *v = test->param_value;
	struct bytes pd = unhex(test, v->pd);
	struct bytes want = unhex(test, v->hex);
	struct bytes got;
	u32 room;

	for (room = 0; room < want.n; room++) {
		got = alloc_bytes(test, room);
		KUNIT_EXPECT_EQ(test, mpa_frame_build(got.p, room, &v->frame,
						      pd.p), -ENOSPC);
		expect_same(test, got, alloc_bytes(test, room));
	}
	got = alloc_bytes(test, want.n);
	KUNIT_EXPECT_EQ(test, mpa_frame_build(got.p, got.n, &v->frame, pd.p),
			want.n);
	expect_same(test, got, want);
}

static void startup_wrong_key(struct kunit *test)
{
	const struct vec_frame *v = test->param_value;
	struct bytes bytes = unhex(test, v->hex);
	u32 bit, len;

	for (bit = 0; bit < 8 * MPA_KEY_LEN; bit++) {
		/* 'p' and 'q' differ in one bit, which gives the other key. */
		bool other = bit == 8 * 9 && v->frame.reply;
		int want = other ? -EALREADY : -EPROTO;

		bytes.p[bit / 8] ^= 1 << bit % 8;
		for (len = 0; len <= bytes.n; len++)
			KUNIT_EXPECT_EQ_MSG(test, refused(test, bytes, len,
							  v->frame.reply),
					    len <= bit / 8 ? 0 : want,
					    "bit %u, %u bytes", bit, len);
		bytes.p[bit / 8] ^= 1 << bit % 8;
	}
}

VEC_PARAM(bad_frame, vec_bad_frames);

/* As early as the bytes allow. */
static void startup_refused(struct kunit *test)
{
	const struct vec_bad_frame *v = test->param_value;
	struct bytes bytes = unhex(test, v->hex);
	u32 len;

	for (len = 0; len <= bytes.n; len++)
		KUNIT_EXPECT_EQ_MSG(test, refused(test, bytes, len,
						  v->expect_reply),
				    len < v->seen ? 0 : v->want,
				    "%u bytes", len);
}

VEC_PARAM(answer, vec_answers);

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
		.ord = v->req.ord, .pd_len = 9,
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
	KUNIT_EXPECT_EQ(test, res.rev, MPA_REV_2);
	KUNIT_EXPECT_TRUE(test, res.enhanced);
	KUNIT_EXPECT_EQ(test, res.p2p, v->req.p2p);
	KUNIT_EXPECT_EQ(test, res.rtr, v->rep.rtr);
	KUNIT_EXPECT_TRUE(test, res.crc);
	KUNIT_EXPECT_EQ(test, res.ird, v->res.ird);
	KUNIT_EXPECT_EQ(test, res.ord, v->res.ord);
	KUNIT_EXPECT_EQ(test, res.peer_ird, v->req.ird);
	KUNIT_EXPECT_EQ(test, res.peer_ord, v->req.ord);
}

VEC_PARAM(conclusion, vec_conclusions);

/* A rejection has priority over anything wrong with the Reply. */
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
	KUNIT_EXPECT_EQ(test, res.rev, MPA_REV_2);
	KUNIT_EXPECT_TRUE(test, res.enhanced);
	KUNIT_EXPECT_EQ(test, res.p2p, v->p2p);
	KUNIT_EXPECT_EQ(test, res.ird, v->res.ird);
	KUNIT_EXPECT_EQ(test, res.ord, v->res.ord);
	KUNIT_EXPECT_EQ(test, res.rtr, v->res.rtr);
	KUNIT_EXPECT_EQ(test, res.peer_ird, v->rep.ird);
	KUNIT_EXPECT_EQ(test, res.peer_ord, v->rep.ord);

	rep.crc = false;
	rep.reject = true;
	rep.pd_len = 100;
	mpa_request_from(&own, &req);
	KUNIT_EXPECT_EQ(test, mpa_conclude(&own, &req, &rep, &res),
			-ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, res.peer_ird, v->rep.ird);
	KUNIT_EXPECT_EQ(test, res.peer_ord, v->rep.ord);
}

VEC_PARAM(server, vec_servers);

static void startup_responder(struct kunit *test)
{
	const struct vec_server *v = test->param_value;
	const struct mpa_params own = {
		.crc = true, .permissive = v->permissive, .rev = v->rev,
		.rev_min = v->rev_min, .rtr = MPA_RTR_WRITE,
	};
	u32 i;

	for (i = 0; i <= U8_MAX; i++)
		KUNIT_EXPECT_EQ(test, mpa_rev_supported(&own, i),
				i <= MPA_REV_2 && v->accept[i] >= 0);
	for (i = 0; i < 6; i++) {
		bool reject = i & 1;
		u8 rev = i / 2;
		int want = reject ? v->reject[rev] : v->accept[rev];
		const struct mpa_frame req = {
			.markers = !rev, .crc = !rev, .rev = rev,
		};
		const struct mpa_frame want_rep = {
			.reply = true, .markers = !want, .crc = true,
			.reject = reject, .rev = want,
		};
		struct mpa_frame rep = { .rev = 0xee };
		struct mpa_result res = { .rev = 0xee };
		int ret = mpa_answer(&own, &req, reject, &rep, &res);

		if (want < 0) {
			KUNIT_EXPECT_EQ(test, ret, -EPROTONOSUPPORT);
			KUNIT_EXPECT_EQ(test, rep.rev, 0xee);
			KUNIT_EXPECT_EQ(test, res.rev, 0xee);
			continue;
		}
		KUNIT_EXPECT_EQ(test, ret, 0);
		expect_frame(test, &rep, &want_rep);
		KUNIT_EXPECT_EQ(test, res.rev, want);
		KUNIT_EXPECT_EQ(test, res.ddp_version, !!want);
	}
}

VEC_PARAM(asker, vec_askers);

static void startup_initiator(struct kunit *test)
{
	const struct vec_asker *v = test->param_value;
	const struct mpa_params own = {
		.crc = true, .permissive = v->permissive, .plain = v->plain,
		.rev = v->rev, .rev_min = v->rev_min, .rtr = MPA_RTR_WRITE,
		.ird = 4, .ord = 4, .ird_max = 4,
	};
	const struct mpa_frame enhanced = {
		.reply = true, .enhanced = true, .rev = MPA_REV_2, .ird = 4,
		.ord = 4,
	};
	struct mpa_result res;
	struct mpa_frame req;
	u8 rev;

	mpa_request_from(&own, &req);
	KUNIT_EXPECT_EQ(test, req.rev, v->asks);
	KUNIT_EXPECT_EQ(test, req.enhanced, v->enhanced);
	for (rev = 0; rev <= MPA_REV_2; rev++) {
		struct mpa_frame rep = {
			.reply = true, .markers = !rev, .rev = rev,
		};

		KUNIT_EXPECT_EQ(test, mpa_conclude(&own, &req, &rep, &res),
				v->want[rev]);
		KUNIT_EXPECT_EQ(test, res.rev, rev);
		KUNIT_EXPECT_EQ(test, res.ddp_version, !!rev);
		rep.reject = true;
		KUNIT_EXPECT_EQ(test, mpa_conclude(&own, &req, &rep, &res),
				-ECONNREFUSED);
	}
	KUNIT_EXPECT_EQ(test, mpa_conclude(&own, &req, &enhanced, &res),
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
	KUNIT_CASE_PARAM(startup_responder, server_gen_params),
	KUNIT_CASE_PARAM(startup_initiator, asker_gen_params),
	{}
};

static struct kunit_suite startup_suite = {
	.name = "mpa_framing_startup",
	.test_cases = startup_cases,
};

kunit_test_suite(startup_suite);
