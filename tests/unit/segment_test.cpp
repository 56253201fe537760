// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/framing/segment.c. Its table is in ../vectors/segment.c.
#include "support.hpp"

using namespace mpa;

namespace {

struct mpa_seg_plan plan_for(const mpa_seg_view &view)
{
	struct mpa_seg_plan plan;

	mpa_seg_plan(&view, &plan);
	return plan;
}

// Properties of every plan, on which the sender relies.
TEST(mpa_seg_plan, invariants_for_random_views)
{
	Random random(40);

	for (int i = 0; i < 2000000; i++) {
		mpa_seg_view view = {
			.mss = random.one_in(50) ? random.between(0, ~0u) :
						   random.between(0, 66000),
			.option_room = random.between(0, 9) * 4,
			.options_pending = random.one_in(3),
			.strict = random.one_in(2),
			.single = random.one_in(8),
			.lone = random.one_in(2),
			.packet = random.one_in(2) ? 0 :
						     random.between(1, 70000),
			.unsent = random.one_in(2) ? 0 : random.between(0, 99),
			.window = random.between(0, 200000),
			.cwnd = random.between(0, 100),
		};
		view.lone = view.lone && view.single;
		auto plan = plan_for(view);
		const mpa_tx_half worst = { 0, view.strict, true };

		ASSERT_GE(plan.segs, 1u);
		ASSERT_EQ(plan.seg_len % 4, 0u);
		ASSERT_EQ(plan.shared, view.lone ? 0 : ~0u);
		ASSERT_GE(mpa_ulpdu_fit(&worst, plan.seg_len), 128u);
		ASSERT_LE(plan.seg_len, mpa_fpdu_len(&worst, MPA_MULPDU_MAX));
		if (plan.segs > 1) {
			ASSERT_EQ(plan.seg_len, view.mss);
			ASSERT_LE(plan.segs * plan.seg_len, MPA_BATCH_BYTES);
			ASSERT_FALSE(view.options_pending);
			ASSERT_FALSE(view.single);
			if (view.packet)
				ASSERT_LE(plan.segs * plan.seg_len,
					  view.packet);
		} else if (plan.seg_len > 140) {
			ASSERT_LE(plan.seg_len, view.mss - view.option_room);
		}
		if (plan.segs > 1 && view.strict) {
			ASSERT_EQ(view.unsent, 0u);
			ASSERT_LE(plan.segs * plan.seg_len, view.window);
			ASSERT_LE(plan.segs, view.cwnd);
		}
	}
}

} // namespace
