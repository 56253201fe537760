// SPDX-License-Identifier: GPL-2.0-only
//
// A shared receive queue, and queue pairs that use it.
#pragma once

#include "pair.hpp"

namespace srq {

using verbs::Device;
using verbs::Queue;
using verbs::SharedQueue;

// A queue on a device; receive N lands in place N of the device's memory.
struct Shared {
	static constexpr std::uint32_t place = 1024;

	explicit Shared(Device &on, std::uint32_t entries = 16);

	Device &device;
	SharedQueue queue;

	void post(std::uint64_t number, std::uint32_t length = place);
	void post_range(std::uint64_t first, std::uint64_t last);
	void set_limit(std::uint32_t limit);
	ibv_srq_attr query();
	// Waits until so many are left, and not fewer, which the limit and its
	// event show.
	void expect_left(std::uint32_t number);
};

// A queue pair that takes from it, with a completion queue of its own.
Queue user_of(Shared &shared, verbs::Depth depth = {});

// "4 success" or "local length error", with the number of the request.
std::string described(const ibv_wc &wc);

} // namespace srq
