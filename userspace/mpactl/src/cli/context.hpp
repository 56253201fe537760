/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The interfaces through which a command reaches the kernel, the clock and its
// output. Tests provide fakes.
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

// Time, and sleep that a signal interrupts.
class Clock {
public:
	virtual ~Clock() = default;

	// For output.
	virtual std::chrono::system_clock::time_point wall() = 0;
	// For intervals.
	virtual std::chrono::steady_clock::time_point steady() = 0;
	// Sleeps until then. Returns false if SIGINT or SIGTERM was received before.
	virtual bool sleep_until(std::chrono::steady_clock::time_point when) = 0;
};

// Connections to the kernel. They are opened at first use, so that commands that do
// not need the modules work without them.
class Kernel {
public:
	virtual ~Kernel() = default;

	// The family "mpa"; throws Unavailable if it does not exist.
	virtual Transport &mpa() = 0;
	// RDMA devices through NETLINK_RDMA; throws Unavailable if it does not exist.
	virtual Rdma &rdma() = 0;
	// Contents of module_release_file, or empty.
	virtual std::string module_release() = 0;
};

struct Context {
	Kernel &kernel;
	Clock &clock;
	Sink &out;
	// Warnings; see warn().
	std::ostream &err;

	Transport &mpa() const { return kernel.mpa(); }
	Rdma &rdma() const { return kernel.rdma(); }
	// Writes "mpactl: text" to err.
	void warn(const std::string &text) const;
};

void warn_interrupted(const Context &context, std::string_view what);

// Returns the items of a dump, and writes a warning if the dump is inconsistent.
template <typename T>
std::vector<T> whole(const Context &context, Listing<T> listing,
		     std::string_view what)
{
	if (listing.interrupted)
		warn_interrupted(context, what);
	return std::move(listing.items);
}

} // namespace mpactl
