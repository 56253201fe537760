/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "session.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

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

constexpr std::uint32_t chunks_to_try[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10,
					   1 << 20};
constexpr double trial_seconds = 0.3;

std::uint64_t in_nanoseconds(double seconds)
{
	return static_cast<std::uint64_t>(seconds * 1e9);
}

std::uint64_t unix_now()
{
	const auto now = std::chrono::system_clock::now().time_since_epoch();

	return static_cast<std::uint64_t>(
		std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

PhaseResult &operator+=(PhaseResult &sum, const PhaseResult &one)
{
	const auto add = [](Usage &to, const Usage &from) {
		to.process_user += from.process_user;
		to.process_system += from.process_system;
		to.machine_busy += from.machine_busy;
		to.machine_softirq += from.machine_softirq;
	};

	sum.messages += one.messages;
	sum.nanoseconds += one.nanoseconds;
	add(sum.client, one.client);
	add(sum.server, one.server);
	return sum;
}

// One job on both sides, run by the client.
template <typename Link> class Leader {
public:
	Leader(Control &control, const Job &job)
		: control_(control), job_(job),
		  transport_(job_, true, Address::local(control.fd()))
	{
		control_.send(wire::Start{job_, transport_.regions()});
		ready_ = control_.expect<wire::Ready>();
		transport_.set_peer(ready_.regions);
	}

	std::string device() const { return transport_.device(); }
	std::string server_device() const { return ready_.device; }
	std::uint32_t inline_bytes() const { return transport_.inline_bytes(); }

	void connect() { connect(0, job_.connections); }

	Run run(const Limit &limit)
	{
		switch (job_.test) {
		case Test::stream:
			return stream(limit);
		case Test::latency:
			return latency(limit);
		case Test::connect:
			return set_up(limit);
		case Test::memory:
			break;
		}
		return {};
	}

	// Memory of both sides with all connections minus that with a quarter
	// of them; the rest use what earlier ones have left in the kernel's
	// caches.
	Footprint footprint(bool same_machine)
	{
		const std::uint32_t first_ones = job_.connections / 4;

		connect(0, first_ones);
		const auto before = memory();
		connect(first_ones, job_.connections);
		control_.send(wire::Phase{0});
		control_.expect<wire::Begin>();
		control_.send(wire::End{job_.connections});
		control_.expect<wire::Done>();
		const auto after = memory();
		const auto grown = [&](std::uint64_t Memory::*which, bool client) {
			const auto &[first, second] = client
				? std::pair(before.first, after.first)
				: std::pair(before.second, after.second);
			return (static_cast<double>(second.*which) -
				static_cast<double>(first.*which)) /
				(job_.connections - first_ones);
		};
		// Each of two machines has one end; a single machine has both.
		const auto both = [&](std::uint64_t Memory::*which) {
			return (grown(which, true) +
				(same_machine ? 0 : grown(which, false))) / 2;
		};
		return {both(&Memory::kernel), both(&Memory::slab),
			grown(&Memory::process, true), grown(&Memory::process, false), {}};
	}

	void close()
	{
		control_.send(wire::Close{});
		control_.expect<wire::Close>();
	}

private:
	void connect(std::uint32_t first, std::uint32_t end)
	{
		transport_.connect(Address::remote(control_.fd()).with_port(ready_.port),
				   ready_.cookie, first, end, times_);
	}

	void begin(std::uint64_t messages)
	{
		control_.send(wire::Phase{messages});
		control_.expect<wire::Begin>();
	}

	Run run_of(const PhaseResult &phase) const
	{
		Run run;

		run.nanoseconds = phase.nanoseconds;
		run.ended = unix_now();
		run.messages = phase.messages;
		run.client = phase.client;
		run.server = phase.server;
		return run;
	}

	Run stream(const Limit &limit)
	{
		const auto phase = rounds(job_) ? verified(limit) : plain(limit);
		auto run = run_of(phase);

		run.bytes = phase.messages * job_.size;
		return run;
	}

	PhaseResult plain(const Limit &limit)
	{
		begin(limit.messages);
		return Stream(transport_, control_, job_, true).lead(limit);
	}

	// Posts as many messages as the depth, verifies all of them, and
	// repeats.
	PhaseResult verified(const Limit &limit)
	{
		const auto end = first_ + limit.messages;
		PhaseResult sum;

		while (limit.messages ? first_ < end : sum.nanoseconds < limit.nanoseconds) {
			const auto count = static_cast<std::uint32_t>(
				limit.messages ? std::min<std::uint64_t>(job_.depth,
									 end - first_)
					       : job_.depth);
			const bool reads = job_.op == Op::read;

			if (reads)
				round(wire::Round::What::fill, count);
			sum += plain({count, 0});
			if (reads)
				transport_.check_round(first_, count);
			else
				round(wire::Round::What::check, count);
			first_ += count;
		}
		return sum;
	}

	void round(wire::Round::What what, std::uint32_t count)
	{
		control_.send(wire::Round{what, first_, count});
		control_.expect<wire::RoundDone>();
	}

	Run latency(const Limit &limit)
	{
		times_.clear();
		begin(limit.messages);
		auto run = run_of(PingPong(transport_, control_, job_).lead(limit, times_));
		run.times = Times::of(times_);
		return run;
	}

	// Makes all connections at once, again and again.
	Run set_up(const Limit &limit)
	{
		PhaseResult phase;

		times_.clear();
		begin(0);
		const auto before = usage_now();
		const auto start = Clock::now();
		while (limit.messages ? phase.messages < limit.messages * job_.connections
				      : phase.nanoseconds < limit.nanoseconds) {
			check_stop();
			connect();
			transport_.disconnect();
			phase.messages += job_.connections;
			phase.nanoseconds = nanoseconds_since(start);
		}
		phase.client = usage_now() - before;
		control_.send(wire::End{phase.messages});
		const auto done = control_.expect<wire::Done>();
		if (done.sent != phase.messages)
			throw Failure(fmt::format("{} connections made, but {} accepted",
						  phase.messages, done.sent));
		phase.server = done.usage;
		auto run = run_of(phase);
		run.times = Times::of(times_);
		return run;
	}

	// The server's reading first: ours then includes the cost of the
	// request.
	std::pair<Memory, Memory> memory()
	{
		control_.send(wire::Measure{});
		const auto theirs = control_.expect<wire::Measured>().memory;

		return {memory_settled(), theirs};
	}

	Control &control_;
	const Job job_;
	Link transport_;
	wire::Ready ready_;
	Histogram times_;
	// For the next round.
	std::uint64_t first_ = 0;
};

class Client {
public:
	explicit Client(const ClientOptions &options)
		: options_(options),
		  control_(connect_to(options.host, options.port, patience()), patience())
	{
		control_.send(wire::Hello{wire::magic, wire::version, machine_id()});
		const int fds[] = {control_.fd()};
		if (!wait_readable(fds, patience()))
			throw Failure("the server does not answer: it may be serving "
				      "another client", Status::unavailable);
		const auto hello = control_.expect<wire::Hello>();
		if (hello.version != wire::version)
			throw Failure("the server speaks another version");
		report_.command = options.command;
		report_.transport = options.job.transport;
		report_.same_machine = hello.machine == machine_id();
	}

	Report run()
	try {
		for (const auto size : options_.sizes) {
			report_.results.push_back(one(job_of(options_, size)));
			tell(report_.results.back());
		}
		return std::move(report_);
	} catch (const Failure &failure) {
		explain(failure);
	}

private:
	Milliseconds patience() const
	{
		return Milliseconds(options_.job.timeout_ms);
	}

	// The peer's message is more useful than the fact that it has gone.
	[[noreturn]] void explain(const Failure &failure)
	{
		if (control_.peer_failed() || failure.status() == Status::interrupted)
			throw;
		control_.set_patience(Milliseconds(1000));
		for (bool more = true; more;) {
			try {
				more = control_.receive_or_end().has_value();
			} catch (const Failure &reason) {
				if (control_.peer_failed())
					throw Failure(fmt::format("{} ({})", failure.what(),
								  reason.what()),
						      std::max(failure.status(),
							       reason.status()));
				more = false;
			}
		}
		throw failure;
	}

	// The flush that follows finds an error, for which fmt::print() would throw.
	static void print(const std::string &text)
	{
		std::fputs((text + "\n").c_str(), stdout);
	}

	void tell(const Result &result) const
	{
		if (options_.json)
			return;
		if (report_.results.size() == 1)
			print(headline(report_, result.job));
		print(line(report_, result));
		if (const auto error = cli::flush_output())
			fail("standard output", Status::failed, error.value());
	}

	Result one(Job job)
	{
		if (options_.best_chunk)
			job.chunk = best_chunk(job);
		if (job.test == Test::memory)
			return memory(job);
		return on_socket(job) ? runs<TcpTransport>(job)
				      : runs<VerbsTransport>(job);
	}

	template <typename Link> void note_devices(const Leader<Link> &leader)
	{
		report_.client_device = leader.device();
		report_.server_device = leader.server_device();
		if (!options_.device.empty() && leader.device() != options_.device)
			throw Failure(fmt::format("the RDMA device is {}, not {}",
						  leader.device(), options_.device),
				      Status::unavailable);
	}

	template <typename Link> Result runs(const Job &job)
	{
		const auto &plan = options_.plan;
		Leader<Link> leader(control_, job);
		Result result{job, 0, {}};

		note_devices(leader);
		if (job.test != Test::connect)
			leader.connect();
		warm_up(leader);
		for (std::uint32_t n = 0; n < plan.repeat; n++)
			result.runs.push_back(leader.run(
				{plan.messages, in_nanoseconds(plan.seconds)}));
		result.inline_bytes = leader.inline_bytes();
		leader.close();
		return result;
	}

	template <typename Link> void warm_up(Leader<Link> &leader)
	{
		const auto &plan = options_.plan;
		const Limit limit{plan.warm_up_messages.value_or(0),
				  plan.warm_up_messages
					  ? 0 : in_nanoseconds(plan.warm_up_seconds)};

		if (limit.messages || limit.nanoseconds)
			leader.run(limit);
	}

	// Finds the fastest by a short run of each.
	std::uint32_t best_chunk(Job job)
	{
		std::uint32_t best = job.chunk;
		double most = 0;

		for (const auto chunk : chunks_to_try) {
			job.chunk = chunk;
			Leader<TcpTransport> leader(control_, job);
			leader.connect();
			leader.run({0, in_nanoseconds(trial_seconds)});
			const auto run = leader.run({0, in_nanoseconds(trial_seconds)});
			leader.close();
			const double rate = static_cast<double>(*run.bytes) /
				static_cast<double>(run.nanoseconds);
			if (rate > most) {
				most = rate;
				best = chunk;
			}
		}
		return best;
	}

	template <typename Link> Footprint footprint(Job job)
	{
		job.transport = std::is_same_v<Link, TcpTransport> ? Transport::tcp
									: Transport::verbs;
		Leader<Link> leader(control_, job);

		if (job.transport == options_.job.transport)
			note_devices(leader);
		const auto result = leader.footprint(report_.same_machine);
		leader.close();
		return result;
	}

	// The first run fills caches, and is not counted.
	Result memory(const Job &job)
	{
		const bool verbs = job.transport == Transport::verbs;
		Result result{job, 0, {}};

		for (std::uint32_t n = 0; n <= options_.plan.repeat; n++) {
			const auto tcp = footprint<TcpTransport>(job);
			auto own = verbs ? footprint<VerbsTransport>(job) : tcp;
			Run run;

			if (verbs)
				own.tcp_kernel = tcp.kernel;
			run.messages = job.connections;
			run.footprint = own;
			if (n)
				result.runs.push_back(run);
		}
		return result;
	}

	const ClientOptions &options_;
	Control control_;
	Report report_;
};

} // namespace

Report measure(const ClientOptions &options)
{
	return Client(options).run();
}

} // namespace bench
