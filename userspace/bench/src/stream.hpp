/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// One phase of a stream of messages, on either side.
//
// The client leads: it announces the beginning of the phase and, once
// everything it posted is done and its time is over, the end. The server then
// stops, waits for what is still to come, and reports how much it has sent
// itself, which the client waits for in turn. Each side takes the time until
// the last message that it saw arrive; for Writes, until they were placed, and
// for Reads, until they are done.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "control.hpp"
#include "job.hpp"
#include "stats.hpp"
#include "transport.hpp"
#include "usage.hpp"
#include "watch.hpp"

namespace bench {

// Length of a phase: messages of each connection or, if 0, a time.
struct Limit {
	std::uint64_t messages = 0;
	std::uint64_t nanoseconds = 0;
};

// Both directions together.
struct PhaseResult {
	std::uint64_t messages = 0;
	std::uint64_t nanoseconds = 0;
	Usage client;
	Usage server;
};

// When the last message arrived, if that cannot be seen: the arrival of an
// earlier message is known, and the remaining ones are assumed to have arrived
// at the average rate until then.
class Arrival {
public:
	// So many messages are now known to have arrived.
	void known(std::uint64_t messages, std::uint64_t nanoseconds) noexcept
	{
		if (messages != messages_)
			settle(messages, nanoseconds);
	}

	// They had arrived earlier, but only now it is known.
	void settle(std::uint64_t messages, std::uint64_t nanoseconds) noexcept
	{
		messages_ = messages;
		nanoseconds_ = nanoseconds;
	}

	std::uint64_t estimate(std::uint64_t messages, std::uint64_t now) const noexcept
	{
		if (messages <= messages_)
			return nanoseconds_;
		if (messages_ == 0)
			return now;
		const double rest = static_cast<double>(messages - messages_) *
			static_cast<double>(nanoseconds_) /
			static_cast<double>(messages_);
		const double then = static_cast<double>(nanoseconds_) + rest;
		return then < static_cast<double>(now) ? static_cast<std::uint64_t>(then)
						       : now;
	}

private:
	std::uint64_t messages_ = 0;
	std::uint64_t nanoseconds_ = 0;
};

template <typename Transport> class Stream {
public:
	Stream(Transport &transport, Control &control, const Job &job, bool is_client)
		: transport_(transport), control_(control), job_(job),
		  is_client_(is_client), posts_(posts(job, is_client)),
		  takes_(takes(job, is_client)), watch_(job, control),
		  posted_(job.connections)
	{
	}

	// The server has sent Begin.
	PhaseResult lead(const Limit &limit)
	{
		const auto before = usage_now();

		begin(limit);
		while (!(server_ && all_came(server_->sent))) {
			step();
			if (!ended_ && finished())
				finish();
		}
		const auto usage = usage_now() - before;
		return {sent_ + server_->sent,
			std::max(takes_ || !two_sided(job_) ? own_time() : 0,
				 server_->nanoseconds),
			usage, server_->usage};
	}

	// The client has sent Phase.
	void follow(std::uint64_t messages)
	{
		const auto before = usage_now();

		transport_.attend(false);
		control_.send(wire::Begin{});
		begin({messages, 0});
		while (!(client_ && all_came(client_->sent) && finished())) {
			if (passive())
				on_message(control_.await());
			else
				step();
		}
		if (!ended_)
			fences();
		control_.send(wire::Done{sent_, takes_ || posts_ ? own_time() : 0,
					 usage_now() - before});
	}

private:
	// This side neither posts messages nor sees any arrive.
	bool passive() const { return !posts_ && !takes_; }
	// Writes and Reads of the peer are not visible here.
	bool all_came(std::uint64_t sent) const { return !takes_ || received_ >= sent; }
	bool by_time() const { return limit_.messages == 0; }

	// Everything this side had to post is done, or everything it had to
	// receive has arrived.
	bool finished() const
	{
		const auto all = limit_.messages * job_.connections;

		if (posts_ && done_ != sent_)
			return false;
		if (by_time())
			return stopping_;
		return posts_ ? sent_ == all : received_ == all || !is_client_;
	}

	void begin(const Limit &limit)
	{
		limit_ = limit;
		start_ = Clock::now();
		looked_ = 0;
		for (std::uint32_t one = 0; posts_ && one < job_.connections; one++)
			fill(one);
	}

	// Posts as much as fits into the connection's queue, in whole lists. A
	// list is cut only if waiting for more room has no purpose.
	void fill(std::uint32_t connection)
	{
		while (const auto wanted = next_list(connection)) {
			const auto room = transport_.room(connection);
			auto n = wanted;

			if (room < n) {
				if (room == 0 || transport_.outstanding(connection) >
						 transport_.ragged(connection))
					return;
				n = room;
			}
			const auto last = count(connection, n);
			transport_.post(connection, n, last);
			sent_ += n;
		}
	}

	// Number of messages to post next; 0: none now, or no more at all.
	std::uint32_t next_list(std::uint32_t connection) const
	{
		if (by_time()) {
			// Continue until the next message that requests a
			// completion.
			const auto ragged = transport_.ragged(connection);

			if (!stopping_)
				return job_.list;
			return ragged ? std::min(job_.list, job_.moderation - ragged) : 0;
		}
		return static_cast<std::uint32_t>(std::min<std::uint64_t>(
			job_.list, limit_.messages - posted_[connection]));
	}

	// True: these are the last messages of the connection.
	bool count(std::uint32_t connection, std::uint32_t n)
	{
		posted_[connection] += n;
		return posted_[connection] == limit_.messages;
	}

	void step()
	{
		const auto completions = transport_.reap(completions_);

		recent_ = 0;
		for (const auto &one : completions)
			on_completion(one);
		if (!completions.empty()) {
			idle_ = false;
			if (pacer_.count(recent_))
				look();
			return;
		}
		stamp();
		if (auto message = watch_.idle(transport_, sent_ + done_ + received_))
			on_message(*message);
		if (watch_.looked())
			look_at_clock();
	}

	void on_completion(const Completion &one)
	{
		using Kind = Completion::Kind;

		recent_ += one.messages;
		if (one.kind == Kind::received)
			received_ += one.messages;
		else if (one.kind == Kind::fence)
			fences_--;
		else
			done_ += one.kind == Kind::sent ? one.messages : 0;
		if (posts_ && one.kind != Kind::received && one.kind != Kind::fence)
			fill(one.connection);
	}

	// Nothing has arrived since the last check, so this is the arrival
	// time.
	void stamp()
	{
		if (idle_ || !takes_ || !transport_.prompt())
			return;
		idle_ = true;
		arrival_.known(seen(), nanoseconds_since(start_));
	}

	std::uint64_t seen() const { return takes_ ? received_ : done_; }

	// The clock is due: check whether it is time to stop, or whether the
	// peer says so.
	void look()
	{
		look_at_clock();
		if (auto message = watch_.look(sent_ + done_ + received_))
			on_message(*message);
	}

	void look_at_clock()
	{
		const auto now = nanoseconds_since(start_);

		pacer_.looked(now - looked_);
		looked_ = now;
		arrival_.known(seen(), now);
		if (is_client_ && by_time() && !stopping_ && now >= limit_.nanoseconds)
			stop();
	}

	void stop()
	{
		stopping_ = true;
		for (std::uint32_t one = 0; posts_ && one < job_.connections; one++)
			fill(one);
	}

	void on_message(const wire::Message &message)
	{
		if (is_client_) {
			server_ = Control::as<wire::Done>(message);
			return;
		}
		client_ = Control::as<wire::End>(message);
		transport_.attend(true);
		if (by_time())
			stop();
	}

	// The client's part is done.
	void finish()
	{
		fences();
		control_.send(wire::End{sent_});
	}

	// Written data is placed when a Read that follows it has been answered.
	void fences()
	{
		ended_ = true;
		if (posts_ && job_.op == Op::write && !two_sided(job_)) {
			fences_ = job_.connections;
			for (std::uint32_t one = 0; one < job_.connections; one++)
				transport_.fence(one);
			while (fences_)
				step();
		}
		if (!two_sided(job_))
			arrival_.settle(seen(), nanoseconds_since(start_));
	}

	std::uint64_t own_time() const
	{
		return arrival_.estimate(seen(), nanoseconds_since(start_));
	}

	Transport &transport_;
	Control &control_;
	const Job &job_;
	const bool is_client_;
	const bool posts_;
	const bool takes_;
	Watch watch_;
	Limit limit_;
	Clock::time_point start_;
	Completions completions_;
	Pacer pacer_;
	Arrival arrival_;
	std::uint64_t looked_ = 0;
	std::uint64_t recent_ = 0;
	// Messages posted, done, and received, of all connections.
	std::uint64_t sent_ = 0;
	std::uint64_t done_ = 0;
	std::uint64_t received_ = 0;
	std::vector<std::uint64_t> posted_;
	std::uint32_t fences_ = 0;
	bool idle_ = false;
	bool stopping_ = false;
	bool ended_ = false;
	std::optional<wire::End> client_;
	std::optional<wire::Done> server_;
};

} // namespace bench
