/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A fake kernel that knows only the options of MPA sockets: it records the
// calls and returns what the test has set. Data goes over an AF_UNIX socket
// pair that keeps message boundaries.
#pragma once

#include <cstddef>
#include <cstdint>
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
	// The values that getsockopt() returns, by option.
	std::map<int, std::vector<std::byte>> values;

	template <typename T> void give(int option, const T &value)
	{
		const auto *first = reinterpret_cast<const std::byte *>(&value);

		values[option].assign(first, first + sizeof(value));
	}
};

// The instance of the running test.
Kernel &kernel();

struct Pair {
	Pair();

	mpa::socket socket;
	mpa::descriptor peer;
};

} // namespace fake
