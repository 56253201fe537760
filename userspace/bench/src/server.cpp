/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "session.hpp"

#include <algorithm>
#include <new>
#include <random>

#include <fmt/format.h>

#include "control.hpp"
#include "failure.hpp"
#include "ping_pong.hpp"
#include "stream.hpp"
#include "tcp_transport.hpp"
#include "verbs_transport.hpp"

#include "../../cli/streams.hpp"

namespace bench {

namespace {

std::uint64_t random_cookie()
{
	std::random_device device;

	return static_cast<std::uint64_t>(device()) << 32 | device();
}

// One job: serves the client until it closes the job.
template <typename Link> class Follower {
public:
	// patience: how long the client may do nothing.
	Follower(Control &control, const wire::Start &start, Milliseconds patience)
		: control_(control), job_(start.job), patience_(patience),
		  transport_(job_, false, Address::local(control.fd()))
	{
		const auto cookie = random_cookie();

		transport_.set_peer(start.regions);
		control_.send(wire::Ready{transport_.listen(cookie), cookie,
					  transport_.regions(), transport_.device()});
	}

	void run()
	{
		for (;;) {
			const auto message = next();

			if (std::holds_alternative<wire::Close>(message))
				return;
			if (const auto *phase = std::get_if<wire::Phase>(&message))
				follow(*phase);
			else if (const auto *round = std::get_if<wire::Round>(&message))
				do_round(*round);
			else if (std::holds_alternative<wire::Measure>(message))
				control_.send(wire::Measured{memory_settled()});
			else
				Control::refuse(message);
		}
	}

private:
	// The client's next message; connections come and go in the meantime.
	wire::Message next()
	{
		const int fds[] = {control_.fd(), transport_.event_fd()};
		// After this, TCP's connections are no longer checked there.
		const bool both = job_.test == Test::connect || !transport_.complete();
		auto accepted = transport_.accepted();
		auto end = Clock::now() + patience_;

		for (;;) {
			if (auto message = control_.poll())
				return *std::move(message);
			if (Clock::now() > end)
				throw Failure("the client sends no request");
			wait_readable(std::span(fds).first(both ? 2 : 1),
				      std::min(patience_, Milliseconds(1000)));
			if (both)
				transport_.pump();
			if (transport_.accepted() != accepted) {
				accepted = transport_.accepted();
				end = Clock::now() + patience_;
			}
		}
	}

	// The client's ends are all established, and the server's follow soon.
	void complete()
	{
		const auto end = Clock::now() + Milliseconds(job_.timeout_ms);
		const int fds[] = {transport_.event_fd()};

		while (!transport_.complete()) {
			if (Clock::now() > end)
				throw Failure("not all connections have come");
			transport_.pump();
			if (!transport_.complete())
				wait_readable(fds, Milliseconds(1));
		}
	}

	void follow(const wire::Phase &phase)
	{
		if (job_.test != Test::connect)
			complete();
		if (job_.test == Test::stream)
			Stream(transport_, control_, job_, false).follow(phase.messages);
		else if (job_.test == Test::latency)
			PingPong(transport_, control_, job_).follow();
		else
			watch_connections();
	}

	// Connections come and go, or just stay, until the client has finished.
	void watch_connections()
	{
		const auto before = usage_now();
		const auto had = transport_.accepted();

		control_.send(wire::Begin{});
		const auto asked = Control::as<wire::End>(next()).sent;
		const auto end = Clock::now() + Milliseconds(job_.timeout_ms);
		while (job_.test == Test::connect &&
		       transport_.accepted() - had < asked && Clock::now() < end) {
			const int fds[] = {transport_.event_fd()};

			transport_.pump();
			wait_readable(fds, Milliseconds(1));
		}
		control_.send(wire::Done{transport_.accepted() - had, 0,
					 usage_now() - before});
	}

	void do_round(const wire::Round &round)
	{
		if (!rounds(job_))
			throw Failure("rounds are for verified Writes and Reads");
		if (round.what == wire::Round::What::fill)
			transport_.fill_round(round.first, round.count);
		else
			transport_.check_round(round.first, round.count);
		control_.send(wire::RoundDone{});
	}

	Control &control_;
	const Job job_;
	const Milliseconds patience_;
	Link transport_;
};

// Nothing of the job is left when the client is notified that it is closed.
template <typename Link>
void follow(Control &control, const wire::Start &start, Milliseconds patience)
{
	Follower<Link>(control, start, patience).run();
}

class Server {
public:
	explicit Server(const ServerOptions &options)
		: options_(options), listener_(listen_at(options.address, options.port))
	{
	}

	void run()
	{
		const int fds[] = {listener_.get()};

		tell(fmt::format("listening at port {}",
				 Address::local(listener_.get()).port()));
		for (;;) {
			if (!wait_readable(fds, Milliseconds(60'000)))
				continue;
			Accepted accepted = accept_from(listener_.get());
			if (accepted.fd.get() < 0)
				continue;
			client(std::move(accepted));
			if (options_.once)
				return;
		}
	}

private:
	void tell(const std::string &text) const
	{
		if (!options_.quiet)
			cli::print_error("mpa-bench", text);
	}

	// A failing client is not a failure of the server, unless it serves
	// only one.
	void client(Accepted accepted)
	{
		const auto who = accepted.peer.text();
		Control control(std::move(accepted.fd), Milliseconds(options_.timeout_ms));

		tell(fmt::format("client {}", who));
		try {
			converse(control);
			tell(fmt::format("client {}: done", who));
		} catch (const Failure &failure) {
			tell(fmt::format("client {}: {}", who, failure.what()));
			complain(control, failure);
			if (options_.once || failure.status() == Status::interrupted)
				throw;
		} catch (const std::bad_alloc &) {
			const Failure failure("out of memory", Status::unavailable);

			tell(fmt::format("client {}: {}", who, failure.what()));
			complain(control, failure);
			if (options_.once)
				throw failure;
		}
	}

	static void complain(Control &control, const Failure &failure)
	{
		if (control.peer_failed())
			return;
		try {
			control.send(wire::Failed{
				static_cast<std::uint32_t>(failure.status()),
				failure.what()});
		} catch (const Failure &) {
			// The client has gone: no one waits for the report.
		}
	}

	void converse(Control &control)
	{
		const auto hello = control.expect<wire::Hello>();

		if (hello.version != wire::version)
			throw Failure(fmt::format("the server speaks version {}, the client "
						  "version {}", wire::version, hello.version));
		control.send(wire::Hello{wire::magic, wire::version, machine_id()});
		while (const auto message = control.receive_or_end()) {
			const auto start = Control::as<wire::Start>(*message);
			const Milliseconds patience(
				std::max(options_.timeout_ms, start.job.timeout_ms));

			if (on_socket(start.job))
				follow<TcpTransport>(control, start, patience);
			else
				follow<VerbsTransport>(control, start, patience);
			control.send(wire::Close{});
		}
	}

	const ServerOptions &options_;
	Fd listener_;
};

} // namespace

void serve(const ServerOptions &options)
{
	Server(options).run();
}

} // namespace bench
