// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/framing/startkey.c: its cases are in ../vectors/startkey.c. Here, that no first
// bytes are good for both kinds of startup exchange.
#include "support.hpp"

extern "C" {
#include "../../kernel/framing/startkey.h"
}

using mpa::Random;

namespace {

TEST(mpa_is_start_key, no_bytes_are_good_for_both)
{
	Random random(7);

	for (int i = 0; i < 1000000; i++) {
		std::vector<u8> bytes(24);

		bytes.resize(random.between(0, 24));
		const char *like = random.one_in(2) ? MPA_START_KEY : MPA_KEY_REQUEST;
		struct mpa_frame f;
		const u8 *pd;

		for (std::size_t at = 0; at < bytes.size(); at++)
			bytes[at] = at < 15 && !random.one_in(40) ? like[at] :
								    random.between(0, 255);
		const u32 n = bytes.size();
		const int key = mpa_key_parse(bytes.data(), n, false, &f, &pd);
		const int frame = mpa_frame_parse(bytes.data(), n, false, &f, &pd);

		ASSERT_TRUE(key < 0 || frame < 0 || n <= 4);
		if (mpa_is_start_key(bytes.data(), n))
			ASSERT_LT(frame, 0);
		else if (n > 4)
			ASSERT_LT(key, 0);
	}
}

} // namespace
