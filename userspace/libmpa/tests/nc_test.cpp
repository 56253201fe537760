/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpa-nc, between its standard streams and a socket.
#include "programs.hpp"

#define main mpa_nc_main
#include "tools/mpa-nc.cpp"
#undef main

#include "fake_kernel.hpp"

namespace {

// Whenever it has received everything, there is more.
TEST(nc, sends_while_the_peer_keeps_sending)
{
	constexpr int most = 2000;
	fake::Pair pair;
	Options options;
	int received = 0, first_answer = most;
	std::byte some[16];

	fake::kernel().received_flags = MSG_EOR;
	fake::kernel().on_receive = [&] {
		if (::recv(pair.peer.get(), some, sizeof(some), MSG_DONTWAIT) > 0)
			first_answer = std::min(first_answer, received);
		if (received++ < most) {
			::send(pair.peer.get(), "x", 1, 0);
		} else {
			fake::kernel().received_flags = 0;
			::shutdown(pair.peer.get(), SHUT_WR);
		}
	};
	::send(pair.peer.get(), "x", 1, 0);
	test::Streams streams("hello\n");
	Talk(pair.socket, options).run();
	EXPECT_EQ(streams.output().size(), 2u * (most + 1));
	EXPECT_LT(first_answer, 200);
	// It refers to what is gone then.
	fake::kernel() = {};
}

} // namespace
