// SPDX-License-Identifier: GPL-2.0-only
/* kernel/framing/segment.c: every clause of the plan. */
#include <kunit/test.h>

#include "../../kernel/framing/segment.h"
#include "bytes.h"
#include "framing.h"

VEC_PARAM(segment, vec_segs);

static void segment_plan(struct kunit *test)
{
	const struct vec_seg *v = test->param_value;
	struct mpa_seg_plan plan;

	mpa_seg_plan(&v->view, &plan);
	KUNIT_EXPECT_EQ(test, plan.seg_len, v->seg_len);
	KUNIT_EXPECT_EQ(test, plan.segs, v->segs);
	KUNIT_EXPECT_EQ(test, plan.shared, v->alone ? 0 : ~0U);
}

static struct kunit_case segment_cases[] = {
	KUNIT_CASE_PARAM(segment_plan, segment_gen_params),
	{}
};

static struct kunit_suite segment_suite = {
	.name = "mpa_framing_segment",
	.test_cases = segment_cases,
};

kunit_test_suite(segment_suite);
