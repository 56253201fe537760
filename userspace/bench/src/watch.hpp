/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What a side does while nothing happens: it waits as the job requests, and
// notices a message of the peer, a request to end, and a lack of progress.
#pragma once

#include <cstdint>
#include <optional>

#include <sched.h>

#include "control.hpp"
#include "failure.hpp"
#include "job.hpp"
#include "net.hpp"
#include "transport.hpp"

namespace bench {

class Watch {
public:
	Watch(const Job &job, Control &control)
		: wait_(job.wait), patience_(job.timeout_ms), control_(control)
	{
	}

	// To be called when reap() found nothing; `progress` is any number that
	// changes when something happens. Returns a message of the peer, if
	// any.
	template <typename Transport>
	std::optional<wire::Message> idle(Transport &transport, std::uint64_t progress)
	{
		looked_ = false;
		if (wait_ == Wait::event)
			return asleep(transport, progress);
		if (wait_ == Wait::yield)
			::sched_yield();
		if (++spins_ % (wait_ == Wait::yield ? 64 : 8192))
			return {};
		return look(progress);
	}

	// A message of the peer, if any; throws Failure if it is time to end.
	std::optional<wire::Message> look(std::uint64_t progress)
	{
		const auto now = Clock::now();

		looked_ = true;
		check_stop();
		if (progress != progress_ || last_ == Clock::time_point()) {
			progress_ = progress;
			last_ = now;
		} else if (now - last_ > patience_) {
			throw Failure("no progress for too long: the peer is stuck");
		}
		return control_.poll();
	}

	// The last call of idle() has read the clock.
	bool looked() const noexcept { return looked_; }

private:
	template <typename Transport>
	std::optional<wire::Message> asleep(Transport &transport, std::uint64_t progress)
	{
		const auto rest = transport.block(control_.fd());

		check_stop();
		if (rest == Rest::woken)
			return {};
		return look(progress);
	}

	const Wait wait_;
	const Milliseconds patience_;
	Control &control_;
	bool looked_ = false;
	std::uint64_t spins_ = 0;
	std::uint64_t progress_ = 0;
	Clock::time_point last_{};
};

} // namespace bench
