/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A network namespace for the tests that has only loopback.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "control.hpp"
#include "failure.hpp"
#include "net.hpp"
#include "options.hpp"

namespace bench::test {

// For what must happen; a machine may be slow.
inline constexpr Milliseconds patience{60'000};

// A server that runs for the lifetime of this object. It may fail: join()
// returns how.
class Background {
public:
	explicit Background(std::function<void()> work)
		: thread_([this, work = std::move(work)] {
			  try {
				  work();
			  } catch (const Failure &failure) {
				  failure_ = std::make_unique<Failure>(failure);
			  }
		  })
	{
	}
	~Background()
	{
		if (!thread_.joinable())
			return;
		request_stop(true);
		thread_.join();
		request_stop(false);
	}

	// Empty: success.
	const Failure *join()
	{
		thread_.join();
		return failure_.get();
	}

private:
	std::unique_ptr<Failure> failure_;
	std::thread thread_;
};

// Standard output is /dev/full for the lifetime of this object.
class FullOutput {
public:
	FullOutput();
	~FullOutput();
	FullOutput(const FullOutput &) = delete;
	FullOutput &operator=(const FullOutput &) = delete;

private:
	Fd before_;
};

// Two ends of a control connection.
struct Pair {
	Pair();

	Control client;
	Control server;

private:
	explicit Pair(std::pair<Fd, Fd> ends);
};

// The exception that a call throws.
template <typename Call> Failure failure_of(Call call)
{
	try {
		call();
	} catch (const Failure &failure) {
		return failure;
	}
	return Failure("did not fail", Status::good);
}

} // namespace bench::test
