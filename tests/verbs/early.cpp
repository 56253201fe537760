// SPDX-License-Identifier: GPL-2.0-only
//
// Over a link that loses and reorders packets, with the settings markers and
// early-placement, all set by the caller: whatever arrives when, memory and completions
// end as if all of it had arrived in order.
#include "pair.hpp"

#include <cstdint>
#include <cstring>
#include <random>

using namespace harness;
using namespace verbs;

namespace {

constexpr int operations = 1500;
// So many of a queue pair's entries are in use at the most.
constexpr unsigned int in_flight = 32;
constexpr Depth depth{.send = 64, .recv = 64, .completions = 256};

class Random {
public:
	std::uint32_t between(std::uint32_t low, std::uint32_t high)
	{
		return std::uniform_int_distribution<std::uint32_t>(low, high)(engine_);
	}

	void fill(Bytes &bytes)
	{
		for (auto &byte : bytes)
			byte = std::byte(between(0, 255));
	}

	// Mostly of a segment or a few, sometimes long.
	std::uint32_t length(std::uint32_t most)
	{
		return between(1, between(0, 7) ? std::min(most, 6000U) : most);
	}

private:
	std::mt19937 engine_{5044};
};

void copy(Bytes &to, std::uint32_t at, const Bytes &from, std::uint32_t offset,
	  std::uint32_t length)
{
	std::memcpy(to.data() + at, from.data() + offset, length);
}

std::uint64_t address_of(const Bytes &memory, std::uint32_t offset)
{
	return reinterpret_cast<std::uintptr_t>(memory.data()) + offset;
}

// Waits until no more than so many requests of the queue pair are in flight.
void settle(Queue &queue, unsigned int &pending, unsigned int most)
{
	for (; pending > most; pending--)
		is(status_name(queue.completion().status), status_name(IBV_WC_SUCCESS),
		   "a request");
}

} // namespace

CASE("early: overlapping Writes and Sends end as in order")
{
	Pair pair(depth);
	Device &one = pair.one, &two = pair.two;
	// A second STag for the same memory.
	const Region again{ibv_reg_mr(two.domain.get(), two.memory.data(), two.memory.size(),
				      all_rights)};
	yes(again != nullptr, "another region for the same memory");
	const auto size = static_cast<std::uint32_t>(two.memory.size());
	constexpr std::uint32_t longest_send = 9000;
	constexpr std::uint64_t ahead = 16;
	unsigned int pending = 0;
	std::uint64_t sent = 0, received = 0;
	Random random;

	random.fill(one.memory);
	random.fill(two.memory);
	Bytes model = two.memory;
	const auto receive = [&](std::uint64_t until) {
		for (; received < until; received++) {
			const ibv_wc wc = pair.far.completion();
			is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "a receive");
			is(wc.wr_id, received, "receives in their order");
			pair.far.post_receive(received + ahead, longest_send);
		}
	};

	for (std::uint64_t number = 0; number < ahead; number++)
		pair.far.post_receive(number, longest_send);
	for (int i = 0; i < operations; i++) {
		settle(pair.near, pending, in_flight);
		if (random.between(0, 9) == 0) {
			const auto length = random.between(0, longest_send);
			pair.near.send(i, length);
			copy(model, 0, one.memory, 0, length);
			receive(++sent < ahead ? 0 : sent - ahead + 1);
		} else {
			const auto length = random.length(size);
			const auto to = random.between(0, size - length);
			const auto from = random.between(0, size - length);
			pair.near.access(IBV_WR_RDMA_WRITE,
					 random.between(0, 1) ? again->rkey : two.region->rkey,
					 address_of(two.memory, to), length, from);
			copy(model, to, one.memory, from, length);
		}
		pending++;
	}
	pair.near.send(operations, 0);
	pending++;
	settle(pair.near, pending, 0);
	receive(sent + 1);
	yes(two.memory == model, "the memory");
}

CASE("early: overlapping Reads end as in order")
{
	Pair pair(depth);
	Device &one = pair.one, &two = pair.two;
	const auto size = static_cast<std::uint32_t>(two.memory.size());
	unsigned int pending = 0;
	Random random;

	random.fill(one.memory);
	random.fill(two.memory);
	Bytes model = one.memory;
	for (int i = 0; i < operations; i++) {
		const auto length = random.length(size);
		const auto to = random.between(0, size - length);
		const auto from = random.between(0, size - length);
		settle(pair.near, pending, in_flight);
		pair.near.access(IBV_WR_RDMA_READ, two.region->rkey,
				 address_of(two.memory, from), length, to);
		copy(model, to, two.memory, from, length);
		pending++;
	}
	settle(pair.near, pending, 0);
	yes(one.memory == model, "the memory");
}
