/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// One phase of round trips: the client sends, the server answers; or the client
// reads.
#pragma once

#include <cstdint>
#include <optional>

#include "control.hpp"
#include "job.hpp"
#include "stats.hpp"
#include "stream.hpp"
#include "transport.hpp"
#include "usage.hpp"
#include "watch.hpp"

namespace bench {

template <typename Transport> class PingPong {
public:
	PingPong(Transport &transport, Control &control, const Job &job)
		: transport_(transport), control_(control), job_(job),
		  answered_(two_sided(job)), watch_(job, control)
	{
	}

	// The server has sent Begin.
	PhaseResult lead(const Limit &limit, Histogram &times)
	{
		const auto before = usage_now();
		const auto start = Clock::now();
		auto last = start;
		std::uint64_t trips = 0, elapsed = 0;

		while (limit.messages ? trips < limit.messages
				      : elapsed < limit.nanoseconds) {
			send();
			await(++trips);
			const auto now = Clock::now();
			times.add(nanoseconds(now - last));
			elapsed = nanoseconds(now - start);
			last = now;
			if (pacer_.count(1))
				look(elapsed);
		}
		const auto usage = usage_now() - before;
		control_.send(wire::End{trips});
		const auto done = control_.expect<wire::Done>();
		return {trips, elapsed, usage, done.usage};
	}

	// The client has sent Phase.
	void follow()
	{
		const auto before = usage_now();

		control_.send(wire::Begin{});
		if (!answered_)
			end_ = Control::as<wire::End>(control_.await());
		while (answered_ && !(end_ && answers_ >= end_->sent)) {
			step();
			for (; answers_ < come_; answers_++)
				send();
		}
		drain();
		control_.send(wire::Done{answers_, 0, usage_now() - before});
	}

private:
	static std::uint64_t nanoseconds(Clock::duration time)
	{
		return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
	}

	void send()
	{
		while (transport_.room(0) == 0)
			step();
		transport_.post(0, 1, false);
	}

	void await(std::uint64_t trips)
	{
		while (come_ < trips)
			step();
	}

	// TCP may not have accepted the last answer yet.
	void drain()
	{
		while (answered_ && transport_.outstanding(0) > transport_.ragged(0))
			step();
	}

	void step()
	{
		using Kind = Completion::Kind;
		const auto completions = transport_.reap(completions_);
		const auto counted = answered_ ? Kind::received : Kind::sent;

		for (const auto &one : completions)
			come_ += one.kind == counted ? one.messages : 0;
		if (!completions.empty())
			return;
		if (auto message = watch_.idle(transport_, come_))
			end_ = Control::as<wire::End>(*message);
	}

	void look(std::uint64_t elapsed)
	{
		pacer_.looked(elapsed - looked_);
		looked_ = elapsed;
		if (auto message = watch_.look(come_))
			Control::refuse(*message);
	}

	Transport &transport_;
	Control &control_;
	const Job &job_;
	// By a message, rather than by the completion of a Read.
	const bool answered_;
	Watch watch_;
	Completions completions_;
	Pacer pacer_;
	std::uint64_t looked_ = 0;
	std::uint64_t come_ = 0;
	std::uint64_t answers_ = 0;
	std::optional<wire::End> end_;
};

} // namespace bench
