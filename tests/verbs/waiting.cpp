// SPDX-License-Identifier: GPL-2.0-only
//
// The setting receive-wait, and the time of a queue pair's own: a message that finds no
// receive waits for one.
#include "pair.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <infiniband/mpadv.h>

using namespace harness;
using namespace verbs;

namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds since(Clock::time_point start)
{
	return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

// The longest time that can be set.
constexpr std::chrono::milliseconds longest{MPA_MAX_RECEIVE_WAIT};

// A pair whose far end waits for its receives.
struct WaitingPair {
	explicit WaitingPair(const std::string &time) : setting(2, "receive-wait", time) {}

	// Messages that waited since the pair is there, and those that waited too long.
	std::uint64_t waited() const { return counter(2, "rx_receive_wait") - waited_; }
	std::uint64_t late() const { return counter(2, "rx_receive_late") - late_; }

	void await_waiting(std::uint64_t number) const
	{
		await([&] { return waited() == number; },
		      std::to_string(number) + " messages wait");
	}

	Setting setting;
	Pair pair;

	// Of the receiving queue pair, in place of the setting.
	void set_own(std::uint32_t milliseconds)
	{
		is(Err{mpadv_set_receive_wait(pair.far.qp.get(), milliseconds)}, 0,
		   "mpadv_set_receive_wait");
	}

private:
	std::uint64_t waited_ = counter(2, "rx_receive_wait");
	std::uint64_t late_ = counter(2, "rx_receive_late");
};

void fill(Bytes &bytes, std::byte with)
{
	std::fill(bytes.begin(), bytes.end(), with);
}

bool filled(const Bytes &bytes, std::size_t length, std::byte with)
{
	return std::all_of(bytes.begin(), bytes.begin() + static_cast<long>(length),
			   [&](std::byte one) { return one == with; });
}

void expect_good(const ibv_wc &wc, std::uint64_t number)
{
	is(wc.wr_id, number, "which request");
	is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "its status");
}

struct LengthRow {
	const char *what;
	std::uint32_t length;
};

// One segment, several, and more than the receive buffer of a new connection.
constexpr LengthRow lengths[] = {
	{"no bytes", 0}, {"short", 64}, {"two segments", 2000}, {"long", 65536},
};

} // namespace

CASE("waiting: a Send waits for its receive")
{
	WaitingPair waiting("60s");
	Pair &pair = waiting.pair;
	std::uint64_t number = 0;

	for (const auto &row : lengths) {
		const Row named(row.what);
		const std::uint64_t sends = counter(2, "rx_send");

		fill(pair.one.memory, std::byte{0x5a});
		fill(pair.two.memory, std::byte{0});
		pair.near.send(1, row.length);
		waiting.await_waiting(++number);
		std::this_thread::sleep_for(moment);
		is(pair.far.drain().size(), 0u, "completions before there is a receive");
		pair.far.post_receive(2, 65536);
		const ibv_wc received = pair.far.completion();
		expect_good(received, 2);
		is(received.byte_len, row.length, "its bytes");
		yes(filled(pair.two.memory, row.length, std::byte{0x5a}), "its data");
		expect_good(pair.near.completion(), 1);
		is(waiting.waited(), number, "messages that waited");
		is(counter(2, "rx_send"), sends + 1, "messages received");
	}
	is(waiting.late(), 0u, "messages that waited too long");
	pair.far.post_receive(3);
	pair.near.send(4);
	expect_good(pair.far.completion(), 3);
}

CASE("waiting: Immediate Data waits for its receive")
{
	WaitingPair waiting("60s");
	Pair &pair = waiting.pair;

	fill(pair.one.memory, std::byte{0x5a});
	ibv_sge piece;
	ibv_send_wr wr = write_imm(pair.near, pair.two, piece, 512);
	pair.near.post(wr);
	waiting.await_waiting(1);
	await([&] { return filled(pair.two.memory, 512, std::byte{0x5a}); },
	      "the Write before it is placed");
	std::this_thread::sleep_for(moment);
	is(pair.far.drain().size(), 0u, "completions before there is a receive");
	pair.far.post_receive(2);
	const ibv_wc received = pair.far.completion();
	expect_good(received, 2);
	is(received.imm_data, immediate, "the data");
	is(received.byte_len, 512u, "bytes of the Write");
}

CASE("waiting: what follows waits, too, and keeps its order")
{
	WaitingPair waiting("60s");
	Pair &pair = waiting.pair;

	fill(pair.one.memory, std::byte{0x5a});
	for (std::uint64_t number = 1; number <= 4; number++)
		pair.near.send(number, 16);
	pair.near.transfer(IBV_WR_RDMA_WRITE, pair.two, 4096);
	pair.near.transfer(IBV_WR_RDMA_READ, pair.two, 4096);
	waiting.await_waiting(1);
	std::this_thread::sleep_for(moment);
	yes(filled(pair.two.memory, 4096, std::byte{0}), "the Write is not placed yet");
	for (std::uint64_t number = 11; number <= 14; number++) {
		pair.far.post_receive(number);
		expect_good(pair.far.completion(), number);
	}
	// The last of them is the Read.
	for (int number = 0; number < 6; number++)
		is(status_name(pair.near.completion().status),
		   status_name(IBV_WC_SUCCESS), "a request of the sender");
	yes(filled(pair.two.memory, 4096, std::byte{0x5a}), "the Write is placed");
}

CASE("waiting: the peer's close waits, too")
{
	WaitingPair waiting("60s");
	Pair &pair = waiting.pair;

	pair.near.send(1);
	expect_good(pair.near.completion(), 1);
	waiting.await_waiting(1);
	// It returns when the connection has ended.
	int closed = -1;
	std::jthread closes([&] { closed = rdma_disconnect(pair.connection.active.get()); });
	std::this_thread::sleep_for(moment);
	is(int(pair.far.query().qp_state), int(IBV_QPS_RTS), "the state of the receiver");
	pair.far.post_receive(2);
	expect_good(pair.far.completion(), 2);
	await([&] { return pair.far.query().qp_state != IBV_QPS_RTS; },
	      "the receiver notices the end");
	closes.join();
	is(closed, 0, "rdma_disconnect");
	is(waiting.late(), 0u, "messages that waited too long");
}

CASE("waiting: the stream ends when the time is up")
{
	constexpr std::chrono::milliseconds time{300};
	WaitingPair waiting("300ms");
	Pair &pair = waiting.pair;
	const Clock::time_point start = Clock::now();

	pair.near.post_receive(9);
	pair.near.send(1);
	expect_good(pair.near.completion(), 1);
	const ibv_wc flushed = pair.near.completion();
	yes(since(start) >= time, "not before the time");
	is(flushed.wr_id, 9u, "the receive that ends");
	// DDP, untagged buffer error, no buffer available (RFC 5041 section 8).
	is(flushed.vendor_err, 0x1202u, "the error that the peer has sent");
	is(int(pair.far.query().qp_state), int(IBV_QPS_ERR), "the state of the receiver");
	is(waiting.waited(), 1u, "messages that waited");
	is(waiting.late(), 1u, "messages that waited too long");
}

CASE("waiting: a queue pair has a time of its own")
{
	WaitingPair waiting("0");
	Pair &pair = waiting.pair;

	for (const auto &[time, error] :
	     {std::pair{std::uint32_t{MPA_MAX_RECEIVE_WAIT} + 1, EINVAL},
	      {UINT32_MAX, EINVAL},
	      {std::uint32_t{MPA_MAX_RECEIVE_WAIT}, 0}}) {
		const Row row(time);

		is(Err{mpadv_set_receive_wait(pair.far.qp.get(), time)}, error,
		   "mpadv_set_receive_wait");
	}
	pair.near.send(1);
	waiting.await_waiting(1);
	pair.far.post_receive(2);
	expect_good(pair.far.completion(), 2);
	expect_good(pair.near.completion(), 1);

	is(waiting.waited(), 1u, "messages that waited");
	is(waiting.late(), 0u, "messages that waited too long");
}

CASE("waiting: another time applies to a message that waits already")
{
	WaitingPair waiting("60s");
	Pair &pair = waiting.pair;
	const Clock::time_point start = Clock::now();

	pair.near.post_receive(9);
	pair.near.send(1);
	expect_good(pair.near.completion(), 1);
	waiting.await_waiting(1);
	waiting.set_own(0);
	is(pair.near.completion().vendor_err, 0x1202u, "the error that the peer has sent");
	yes(since(start) < longest, "it does not wait to the end");
	is(waiting.late(), 0u, "messages that waited too long");
}

CASE("waiting: the time of a queue pair stays when it is reset")
{
	WaitingPair waiting("0");
	Pair &pair = waiting.pair;

	waiting.set_own(MPA_MAX_RECEIVE_WAIT);
	is(rdma_disconnect(pair.connection.active.get()), 0, "rdma_disconnect");
	for (Queue *queue : {&pair.near, &pair.far}) {
		await([&] { return queue->query().qp_state == IBV_QPS_ERR; }, "it ends");
		queue->modify(IBV_QPS_RESET);
		queue->modify(IBV_QPS_INIT);
	}
	const Connection again = connect(pair.near, pair.far);
	pair.near.send(1);
	waiting.await_waiting(1);
	pair.far.post_receive(2);
	expect_good(pair.far.completion(), 2);
}

CASE("waiting: other connections go on")
{
	WaitingPair waiting("60s");
	Pair &pair = waiting.pair;
	Queue near(pair.one), far(pair.two);
	const Connection other = connect(near, far);
	const Clock::time_point start = Clock::now();

	pair.near.send(1);
	waiting.await_waiting(1);
	for (std::uint64_t number = 1; number <= 200; number++) {
		far.post_receive(number);
		near.send(number);
		expect_good(far.completion(), number);
		expect_good(near.completion(), number);
	}
	yes(since(start) < longest, "before the other has waited enough");
	is(pair.far.drain().size(), 0u, "completions of the one that waits");
}

CASE("waiting: a queue pair that waits can be disconnected and destroyed")
{
	for (const bool disconnects : {true, false}) {
		const Row named(disconnects ? "disconnect" : "destroy");
		Clock::time_point start;
		{
			WaitingPair waiting("60s");
			Pair &pair = waiting.pair;

			start = Clock::now();
			pair.near.send(1);
			waiting.await_waiting(1);
			if (disconnects) {
				must_call(rdma_disconnect(pair.connection.passive.get()),
					  "rdma_disconnect");
				await([&] {
					return pair.far.query().qp_state == IBV_QPS_ERR;
				}, "the queue pair ends");
			}
		}
		yes(since(start) < longest, "it does not wait to the end");
	}
}

CASE("waiting: a shared receive queue")
{
	WaitingPair waiting("60s");
	Device &one = waiting.pair.one, &two = waiting.pair.two;
	ibv_srq_init_attr attr{};

	attr.attr.max_wr = 16;
	attr.attr.max_sge = 1;
	SharedQueue shared(ibv_create_srq(two.domain.get(), &attr));
	yes(shared != nullptr, "there is a shared receive queue");
	Queue near(one), far(two, {}, nullptr, shared.get());
	Queue near2(one), far2(two, {}, nullptr, shared.get());
	const Connection first = connect(near, far), second = connect(near2, far2);

	near.send(1);
	near2.send(2);
	waiting.await_waiting(2);
	for (std::uint64_t number = 11; number <= 12; number++) {
		ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(two.memory.data()),
			      .length = 1024,
			      .lkey = two.region->lkey};
		ibv_recv_wr wr{}, *bad = nullptr;

		wr.wr_id = number;
		wr.sg_list = &piece;
		wr.num_sge = 1;
		is(Err{ibv_post_srq_recv(shared.get(), &wr, &bad)}, 0,
		   "ibv_post_srq_recv");
	}
	is(status_name(far.completion().status), status_name(IBV_WC_SUCCESS), "the first");
	is(status_name(far2.completion().status), status_name(IBV_WC_SUCCESS), "the second");
}
