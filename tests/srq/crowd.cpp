// SPDX-License-Identifier: GPL-2.0-only
//
// Many queue pairs on one shared receive queue.
#include "shared.hpp"

#include <map>
#include <thread>

#include <sys/resource.h>

using namespace harness;
using namespace srq;
using net::Bytes;
using verbs::Completions;
using verbs::Depth;

namespace {

constexpr std::uint32_t pairs = 1024, each = 2, rounds = 5, place = 2048;
constexpr std::uint32_t entries = pairs * each;
// Queue pairs that end in the middle.
constexpr std::uint32_t victims = 8;

// What a message begins with; the rest is a pattern.
struct Head {
	std::uint32_t pair;
	std::uint32_t number;
	std::uint32_t length;
};

std::byte pattern(const Head &head, std::uint32_t at)
{
	return std::byte(head.pair * 31 + head.number * 7 + at);
}

// One segment, or two.
std::uint32_t length_of(std::uint32_t pair, std::uint32_t number)
{
	return (pair + number) % 2 ? 64 : place - pair % 256;
}

void compose(std::byte *to, std::uint32_t pair, std::uint32_t number)
{
	const Head head{pair, number, length_of(pair, number)};

	for (std::uint32_t at = sizeof(head); at < head.length; at++)
		to[at] = pattern(head, at);
	std::memcpy(to, &head, sizeof(head));
}

// Memory for so many messages, and its region.
struct Places {
	explicit Places(Device &device)
		: bytes(std::size_t{entries} * place),
		  region(ibv_reg_mr(device.domain.get(), bytes.data(), bytes.size(),
				    verbs::all_rights))
	{
		yes(region != nullptr, "there is a region");
	}

	std::byte *at(std::uint64_t number) { return bytes.data() + number * place; }

	ibv_sge piece(std::uint64_t number, std::uint32_t length)
	{
		return {.addr = reinterpret_cast<std::uintptr_t>(at(number)),
			.length = length,
			.lkey = region->lkey};
	}

	Bytes bytes;
	verbs::Region region;
};

struct Crowd {
	Crowd()
		: arrived(ibv_create_cq(two.context.get(), 2 * entries, nullptr, nullptr,
					0)),
		  sent(ibv_create_cq(one.context.get(), 2 * entries, nullptr, nullptr, 0))
	{
		yes(arrived && sent, "there are completion queues");
		for (std::uint32_t n = 0; n < pairs; n++) {
			near.emplace_back(one, Depth{.send = each, .recv = 1}, sent.get());
			far.emplace_back(two, Depth{.send = 1, .recv = 1}, arrived.get(),
					 shared.queue.get());
			numbers[far[n].qp->qp_num] = n;
		}
		for (std::uint32_t n = 0; n < entries; n++)
			post(n);
	}

	void connect()
	{
		for (std::uint32_t n = 0; n < pairs; n++)
			connections.push_back(verbs::connect(near[n], far[n]));
	}

	void post(std::uint64_t number)
	{
		ibv_sge piece = room.piece(number, place);
		ibv_recv_wr wr{}, *bad = nullptr;

		wr.wr_id = number;
		wr.sg_list = &piece;
		wr.num_sge = 1;
		is(Err{ibv_post_srq_recv(shared.queue.get(), &wr, &bad)}, 0,
		   "ibv_post_srq_recv");
		posted[number] = true;
	}

	void send(std::uint32_t pair, std::uint32_t number)
	{
		const std::uint32_t where = pair * each + number % each;
		ibv_sge piece = source.piece(where, length_of(pair, number));
		ibv_send_wr wr{};

		compose(source.at(where), pair, number);
		wr.wr_id = pair;
		wr.opcode = IBV_WR_SEND;
		wr.sg_list = &piece;
		wr.num_sge = 1;
		near[pair].post(wr);
	}

	// Checks a receive, and posts it again.
	void receive(const ibv_wc &wc)
	{
		Head head{};

		yes(wc.status == IBV_WC_SUCCESS, described(wc));
		yes(posted.at(wc.wr_id), "it was posted, and is used once");
		posted[wc.wr_id] = false;
		std::memcpy(&head, room.at(wc.wr_id), sizeof(head));
		is(head.pair, numbers.at(wc.qp_num), "whose");
		is(head.number, expected[head.pair]++, "which message of the queue pair");
		is(wc.byte_len, length_of(head.pair, head.number), "its length");
		for (std::uint32_t at = sizeof(head); at < wc.byte_len; at++)
			if (room.at(wc.wr_id)[at] != pattern(head, at))
				fail("its data, byte " + std::to_string(at));
		post(wc.wr_id);
	}

	void poll(ibv_cq *cq, std::uint32_t count, const std::function<void(const ibv_wc &)> &use)
	{
		const auto end = std::chrono::steady_clock::now() + patience;
		ibv_wc wc[64];

		while (count) {
			const int got = ibv_poll_cq(cq, 64, wc);

			yes(got >= 0, "ibv_poll_cq");
			for (int n = 0; n < got; n++)
				use(wc[n]);
			count -= static_cast<std::uint32_t>(got);
			yes(std::chrono::steady_clock::now() < end, "all have arrived");
			if (!got)
				std::this_thread::yield();
		}
	}

	// As many messages as there are entries, so that none is ever missing.
	void round(std::uint32_t first, std::uint32_t number)
	{
		for (std::uint32_t n = 0; n < each; n++)
			for (std::uint32_t pair = first; pair < pairs; pair++)
				send(pair, number + n);
		poll(arrived.get(), (pairs - first) * each,
		     [&](const ibv_wc &wc) { receive(wc); });
		poll(sent.get(), (pairs - first) * each, [](const ibv_wc &wc) {
			yes(wc.status == IBV_WC_SUCCESS, "a Send: " + described(wc));
		});
	}

	Device one{1}, two{2};
	Shared shared{two, entries};
	Places source{one}, room{two};
	Completions arrived, sent;
	std::vector<Queue> near, far;
	std::vector<verbs::Connection> connections;
	std::map<std::uint32_t, std::uint32_t> numbers;	// by qp_num
	std::vector<std::uint32_t> expected = std::vector<std::uint32_t>(pairs);
	std::vector<bool> posted = std::vector<bool>(entries);
};

} // namespace

CASE("crowd: 1,024 queue pairs, and some that end")
{
	const rlimit files{16384, 16384};

	must_call(::setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	Crowd crowd;
	crowd.connect();
	std::uint32_t number = 0;

	for (std::uint32_t n = 0; n < rounds; n++, number += each)
		crowd.round(0, number);
	for (std::uint32_t n = 0; n < victims; n++)
		crowd.far[n].modify(IBV_QPS_ERR);
	is(crowd.two.events(victims), std::to_string(victims) + " last WQE reached",
	   "events");
	crowd.round(victims, number);
	// Nothing was taken from it without a completion.
	crowd.shared.set_limit(entries);
	is(crowd.shared.query().srq_limit, entries, "entries left, at least");
}
