/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What a command may use of the world. Tests put fakes in.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/rdma.hpp"
#include "model/transport.hpp"
#include "show/output.hpp"

namespace mpactl {

// Time, and the wish of the user to end.
class Clock {
public:
	virtual ~Clock() = default;

	// For persons and files.
	virtual std::chrono::system_clock::time_point wall() = 0;
	// For intervals.
	virtual std::chrono::steady_clock::time_point steady() = 0;
	// Sleeps until then; false: SIGINT or SIGTERM came first.
	virtual bool sleep_until(std::chrono::steady_clock::time_point when) = 0;
};

// How the kernel is reached: opened at first use, so that commands that need no
// kernel work without one.
class Kernel {
public:
	virtual ~Kernel() = default;

	// The family "mpa"; Unavailable if it is not there.
	virtual Transport &mpa() = 0;
	// RDMA devices over NETLINK_RDMA; Unavailable likewise.
	virtual Rdma &rdma() = 0;
};

struct Context {
	Kernel &kernel;
	Clock &clock;
	Sink &out;
	// Remarks and warnings; see warn().
	std::ostream &err;

	Transport &mpa() const { return kernel.mpa(); }
	Rdma &rdma() const { return kernel.rdma(); }
	// "mpactl: text", to err.
	void warn(const std::string &text) const;
};

void warn_interrupted(const Context &context, std::string_view what);

// The items of a dump; with a warning if it is not of one moment.
template <typename T>
std::vector<T> whole(const Context &context, Listing<T> listing,
		     std::string_view what)
{
	if (listing.interrupted)
		warn_interrupted(context, what);
	return std::move(listing.items);
}

} // namespace mpactl
