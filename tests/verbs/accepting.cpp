// SPDX-License-Identifier: GPL-2.0-only
//
// A request that a program answers more than once, from several threads: the core
// reports a connection to itself by an event, and in the meantime it takes another answer
// as well. It must not get one.
#include "pair.hpp"

#include <thread>
#include <utility>

using namespace harness;
using namespace verbs;

namespace {

constexpr int rounds = 40;

// Runs both at the same time; returns how many of them return true.
int at_once(const std::function<bool()> &one, const std::function<bool()> &two)
{
	std::atomic<int> ready{0}, succeeded{0};
	const auto run = [&](const std::function<bool()> &call) {
		ready++;
		while (ready < 2)
			std::this_thread::yield();
		succeeded += call();
	};
	std::thread thread(run, two);

	run(one);
	thread.join();
	return succeeded;
}

void ping(Queue &from, Queue &to)
{
	to.post_receive(2);
	from.send(1);
	is(status_name(from.completion().status), status_name(IBV_WC_SUCCESS), "the Send");
	is(to.completion().wr_id, 2u, "the receive");
}

// A request that is answered by @answer; returns whether it was accepted.
bool connects(Queue &active, Queue &passive, const Answer &answer, Connection &connection)
{
	rdma_conn_param param = parameters(active);
	bool accepted = false;

	connection.passive = accept_from(
		passive,
		[&](const std::string &address, const std::string &port) {
			connection.active = bare_endpoint(address, port, 0);
			accepted = !rdma_connect(connection.active.get(), &param);
		},
		answer);
	return accepted;
}

} // namespace

CASE("accept: twice at once")
{
	Device one(1), two(2);

	for (const bool same : {true, false})
		for (int i = 0; i < rounds; i++) {
			const Row row(same ? "for one queue pair" : "for two");
			Queue near(one), far(two), other(two);
			Connection connection;
			std::atomic<int> first{0};

			yes(connects(near, far,
				     [&](rdma_cm_id *id, rdma_conn_param &param) {
					     rdma_conn_param second =
						     parameters(same ? far : other);

					     is(at_once(
							[&] {
								first = !rdma_accept(
									id, &param);
								return first.load();
							},
							[&] {
								return !rdma_accept(
									id, &second);
							}),
						1, "accepted");
				     },
				     connection),
			    "connected");
			ping(near, first || same ? far : other);
		}
}

CASE("accept: and reject at once")
{
	Device one(1), two(2);

	for (int i = 0; i < rounds; i++) {
		Queue near(one), far(two);
		Connection connection;
		std::atomic<int> accepted{0};
		const bool connected = connects(
			near, far,
			[&](rdma_cm_id *id, rdma_conn_param &param) {
				is(at_once(
					   [&] {
						   accepted = !rdma_accept(id, &param);
						   return accepted.load();
					   },
					   [&] { return !rdma_reject(id, nullptr, 0); }),
				   1, "answers");
				// Only rdma_accept() does that, and the listener waits for it.
				if (!accepted)
					rdma_ack_cm_event(std::exchange(id->event, nullptr));
			},
			connection);

		is(connected, accepted, "connected");
		if (connected)
			ping(near, far);
	}
}
