// SPDX-License-Identifier: GPL-2.0-only
//
// RESET from every state: it succeeds, and nothing posted before is left.
#include <array>
#include <atomic>
#include <fstream>
#include <future>

#include <unistd.h>

#include "raw.hpp"

using namespace harness;
using namespace verbs;

namespace {

// Numbers of receives before RESET; those after it have other numbers.
constexpr std::uint64_t old_number = 100, new_number = 200;

void post_old(Queue &queue)
{
	for (std::uint64_t n = 0; n < 4; n++)
		queue.post_receive(old_number + n);
}

// Connects the queue pair to another one and receives a message.
void expect_new_life(Queue &queue, const std::string &state_before)
{
	const Row row("after RESET from", state_before);
	Device other(2);
	Queue peer(other);

	is(queue.query().qp_state, IBV_QPS_INIT, "the state");
	is(queue.drain().size(), 0u, "completions left");
	queue.post_receive(new_number);
	const Connection connection = connect(queue, peer);
	peer.send(1);
	const ibv_wc wc = queue.completion();
	is(wc.wr_id, new_number, "the receive that the first message takes");
	is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "its status");
	peer.post_receive(2);
	queue.send(3);
	is(queue.completion().wr_id, 3u, "the first Send's completion");
	is(peer.completion().wr_id, 1u, "the peer's Send");
	is(peer.completion().wr_id, 2u, "the peer's receive");
}

// The connection manager processes no event until the end of its life: the module
// mpa_late is the listener that it asks about a request.
class Late {
public:
	Late()
	{
		rdma_conn_param param = parameters(queue_);

		// rdma_connect() does not wait for the answer.
		must_call(rdma_migrate_id(id_.get(), channel_.get()), "rdma_migrate_id");
		must_call(rdma_connect(id_.get(), &param), "rdma_connect");
		await([] { return held(); }, "the connection manager is delayed");
	}

	~Late() { pass(); }
	Late(const Late &) = delete;
	Late &operator=(const Late &) = delete;

	static void pass() { std::ofstream(parameter("pass")) << "1" << std::flush; }

	static bool held()
	{
		int value = 0;

		std::ifstream(parameter("held")) >> value;
		return value;
	}

private:
	static std::string parameter(const std::string &name)
	{
		return "/sys/module/mpa_late/parameters/" + name;
	}

	using Channel =
		std::unique_ptr<rdma_event_channel, Ender<rdma_destroy_event_channel>>;

	Device device_{1};
	Queue queue_{device_};
	Channel channel_{rdma_create_event_channel()};
	rdmacm::Endpoint id_ = bare_endpoint("10.77.0.2", "7398", 0);
};

} // namespace

CASE("reset: of a queue pair that was never connected")
{
	Device device(1);
	Queue queue(device);

	post_old(queue);
	queue.modify(IBV_QPS_RESET);
	expect_new_life(queue, "INIT");
}

CASE("reset: while it is connected")
{
	Pair pair;

	post_old(pair.near);
	pair.far.post_receive(1);
	pair.near.modify(IBV_QPS_RESET);
	is(status_name(pair.far.completion().status), status_name(IBV_WC_WR_FLUSH_ERR),
	   "the peer's receive");
	expect_new_life(pair.near, "RTS");
	is(pair.one.event(moment).has_value(), false, "there is an event");
}

CASE("reset: in the middle of sending")
{
	Pair pair({.send = 256, .recv = 256, .completions = 1024});

	// Nothing is posted there, so the peer's Terminate may arrive at any
	// time, too.
	for (std::uint64_t n = 0; n < 200; n++)
		pair.near.send(n, 1024);
	post_old(pair.near);
	pair.near.modify(IBV_QPS_RESET);
	expect_new_life(pair.near, "RTS, sending");
}

CASE("reset: during an orderly close")
{
	Pair pair;

	post_old(pair.near);
	pair.near.modify(IBV_QPS_SQD);
	pair.near.modify(IBV_QPS_RESET);
	expect_new_life(pair.near, "SQD");
}

CASE("reset: after an error, with completions that were not polled")
{
	Pair pair;

	post_old(pair.near);
	pair.near.modify(IBV_QPS_ERR);
	pair.near.post_receive(old_number + 10);
	pair.near.send(old_number + 11);
	pair.near.modify(IBV_QPS_RESET);
	expect_new_life(pair.near, "ERR");
}

CASE("reset: after the peer's end")
{
	Pair pair;

	post_old(pair.near);
	pair.far.modify(IBV_QPS_ERR);
	await([&] { return pair.near.query().qp_state == IBV_QPS_ERR; }, "it has ended");
	pair.near.modify(IBV_QPS_RESET);
	expect_new_life(pair.near, "ERR");
}

CASE("reset: repeatedly")
{
	Device one(1);
	Queue queue(one);

	for (unsigned int n = 0; n < 20; n++) {
		Device two(2);
		Queue peer(two);

		const Connection connection = connect(queue, peer);
		queue.post_receive(old_number);
		peer.send(1);
		queue.modify(IBV_QPS_RESET);
		is(queue.drain().size(), 0u, "completions left");
	}
	expect_new_life(queue, "RTS");
}

// The connection manager ends the queue pair of an identifier that is destroyed, if it has
// not seen the end of the connection by then. That must not be the next connection.
CASE("reset: while the connection manager is late")
{
	Pair pair;

	post_old(pair.near);
	{
		std::atomic<pid_t> id{0};
		std::future<void> reset;
		const Late late;

		reset = std::async(std::launch::async, [&] {
			id = ::gettid();
			pair.near.modify(IBV_QPS_RESET);
			pair.connection.active.reset();
		});
		// One of the two waits for the connection manager.
		net::await_asleep(id);
		yes(reset.wait_for(moment) == std::future_status::timeout, "it waits");
		Late::pass();
		reset.get();
	}
	expect_new_life(pair.near, "RTS");
}

// Both are in RESET before either can end: one after the other, neither waits for the
// connection that is made when both have ended.
CASE("reset: by two threads at a time")
{
	Pair pair;

	post_old(pair.near);
	{
		std::array<std::atomic<pid_t>, 2> ids{};
		std::array<std::future<void>, 2> resets;
		const Late late;

		for (std::size_t n = 0; n < resets.size(); n++)
			resets[n] = std::async(std::launch::async, [&, n] {
				ids[n] = ::gettid();
				pair.near.modify(IBV_QPS_RESET);
			});
		for (const auto &id : ids)
			net::await_asleep(id);
		for (auto &one : resets)
			is(one.wait_for(moment / 2) == std::future_status::timeout, true,
			   "it waits for the connection manager");
		auto destroyed = std::async(std::launch::async,
					    [&] { pair.connection.active.reset(); });
		Late::pass();
		destroyed.get();
		for (auto &one : resets)
			one.get();
	}
	expect_new_life(pair.near, "RTS");
}

// Entries that are published without a doorbell are posted as well.
CASE("reset: of entries that the kernel has not read")
{
	Device device(1);
	Queue queue(device);

	for (std::uint32_t n = 0; n < 3; n++) {
		raw::next_send(queue).wr_id = old_number;
		raw::publish_sends(queue, 1);
		raw::next_receive(queue).wr_id = old_number;
		raw::publish_receives(queue, 1);
	}
	queue.modify(IBV_QPS_RESET);
	expect_new_life(queue, "INIT");
}
