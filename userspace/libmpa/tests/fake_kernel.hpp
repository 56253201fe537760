/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A fake kernel that knows only the options of sockets with upper-layer protocol
// "mpa": it records the calls and returns what the test has set. Data goes over an
// AF_UNIX socket pair that keeps message boundaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mpa/mpa.hpp>

namespace fake {

struct Call {
	int level;
	int option;
	std::vector<std::byte> value;

	bool operator==(const Call &) const = default;
};

struct Kernel {
	// What setsockopt() was called with, in order.
	std::vector<Call> set;
	// Errors by (level, option), for both directions; otherwise the values
	// below.
	std::map<std::pair<int, int>, int> errors;
	// Likewise, only of setsockopt().
	std::map<std::pair<int, int>, int> set_errors;
	// The values that getsockopt() returns, by option. The numbers of both levels
	// differ.
	std::map<int, std::vector<std::byte>> values;
	// The level that has an option.
	static int level_of(int option);
	// Flags that recvmsg() adds, as a real socket of AF_UNIX has none of them.
	int received_flags = 0;
	// Asked before each send(): the error that it ends with, 0: none.
	std::function<int(mpa::const_buffer)> on_send;
	// Called before each recvmsg().
	std::function<void()> on_receive;
	// Events that poll() reports instead of asking the socket; -1: it asks.
	int events = -1;

	template <typename T> void give(int option, const T &value)
	{
		const auto *first = reinterpret_cast<const std::byte *>(&value);

		values[option].assign(first, first + sizeof(value));
	}
};

// The instance of the running test.
Kernel &kernel();

// A socket of either kind, and the other end.
template <typename Socket> struct PairOf {
	PairOf();

	Socket socket;
	mpa::descriptor peer;
};

// Two connected descriptors.
std::pair<mpa::descriptor, mpa::descriptor> connected();

template <typename Socket> PairOf<Socket>::PairOf()
{
	kernel() = {};
	auto [near, far] = connected();
	peer = std::move(far);
	socket = Socket::attach(std::move(near)).value();
	kernel().set.clear();
}

using Pair = PairOf<mpa::socket>;

} // namespace fake
