/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// tcp_transport.hpp: connections of other programs do not disturb a side that waits.
#include <gtest/gtest.h>

#include "support.hpp"
#include "tcp_transport.hpp"

namespace {

using namespace bench;

constexpr std::uint64_t right_cookie = 0x0123456789abcdef;

// Sleeps in epoll, as the side that receives.
Job receiving_job()
{
	Job job;

	job.transport = Transport::tcp;
	job.test = bench::Test::stream;
	job.op = Op::send;
	job.wait = Wait::event;
	job.connections = 2;
	job.size = 100;
	job.depth = job.slots = 4;
	job.chunk = 100;
	job.timeout_ms = 300;
	return job;
}

class Strangers : public testing::Test {
protected:
	Fd stranger() const { return connect_to(to, test::patience); }

	// How the server's sleep ends, without any data for it.
	Rest sleep() { return server.block(control.server.fd()); }

	const Job job = receiving_job();
	test::Pair control;
	const Address here = Address::local(control.server.fd());
	TcpTransport server{job, false, here};
	const Address to = here.with_port(server.listen(right_cookie));
};

TEST_F(Strangers, do_not_wake_a_side_that_waits)
{
	const auto early = stranger();

	EXPECT_EQ(sleep(), Rest::late);
}

TEST_F(Strangers, are_refused_once_all_connections_are_there)
{
	Job patient = job;
	patient.timeout_ms = static_cast<decltype(patient.timeout_ms)>(test::patience.count());
	TcpTransport client(patient, true, here);
	Histogram times;
	const auto early = stranger();

	client.connect(to, right_cookie, 0, job.connections, times);
	for (int tries = 0; !server.complete() && tries < 6000; tries++) {
		const int fds[] = {server.event_fd()};

		wait_readable(fds, Milliseconds(10));
		server.pump();
	}
	ASSERT_TRUE(server.complete());
	EXPECT_EQ(test::failure_of([&] { stranger(); }).status(), Status::failed);
	// A connection from before then, with an introduction that has just come.
	::send(early.get(), "0123456789abcdef", 16, MSG_NOSIGNAL);
	EXPECT_EQ(sleep(), Rest::late);
	// They have nothing to wait for any more.
	server.pump();
	EXPECT_EQ(server.accepted(), job.connections);
}

} // namespace
