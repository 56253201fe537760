/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// An error that ends a run early, and its exit status.
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace bench {

// Exit statuses, as documented in mpa-bench(1).
enum class Status {
	good = 0,
	failed = 1,
	usage = 2,
	unavailable = 3,
	wrong_data = 4,
	interrupted = 130,
};

class Failure : public std::runtime_error {
public:
	explicit Failure(const std::string &what, Status status = Status::failed)
		: std::runtime_error(what), status_(status)
	{
	}

	Status status() const noexcept { return status_; }

private:
	Status status_;
};

// The error of the system call that has just failed.
[[noreturn]] inline void fail(std::string_view what,
			      Status status = Status::failed, int error = errno)
{
	throw Failure(std::string(what) + ": " +
			      std::generic_category().message(error),
		      status);
}

} // namespace bench
