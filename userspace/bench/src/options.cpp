/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "options.hpp"

#include <charconv>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "../../cli/numbers.hpp"
#include "../../cli/streams.hpp"
#include "failure.hpp"

namespace bench {

namespace {

// The values that CLI11 fills in, as text if they are more than a number.
struct Raw {
	std::vector<std::string> sizes;
	std::string transport = "verbs";
	std::string op;
	std::string wait;
	std::string chunk;
	std::string send_by;
	std::optional<std::uint32_t> depth, list, moderation, solicit, connections;
};

// The commands, and how their defaults differ.
struct Command {
	const char *name;
	const char *what;
	Test test;
	Op op;
	std::uint32_t depth;
	std::uint32_t list;
	Wait wait;
	std::vector<std::uint32_t> sizes;
	std::uint32_t connections;
	std::uint32_t repeat;
};

const std::vector<Command> &commands()
{
	constexpr std::uint32_t mebi = 1 << 20;
	static const std::vector<Command> all{
		{"write", "bandwidth of RDMA Write", Test::stream, Op::write, 16, 1,
		 Wait::event, {mebi}, 1, 1},
		{"read", "bandwidth of RDMA Read", Test::stream, Op::read, 16, 1,
		 Wait::event, {mebi}, 1, 1},
		{"send", "bandwidth of Send", Test::stream, Op::send, 16, 1,
		 Wait::event, {mebi}, 1, 1},
		{"rate", "small messages in lists, a completion each", Test::stream,
		 Op::send, 256, 32, Wait::event, {8, 64, 512, 4096}, 1, 1},
		{"latency", "round trips", Test::latency, Op::send, 64, 1, Wait::poll,
		 {64}, 1, 1},
		{"connect", "set-up of connections", Test::connect, Op::send, 16, 1,
		 Wait::event, {64}, 1, 1},
		{"memory", "kernel memory of idle connections", Test::memory, Op::send,
		 16, 1, Wait::event, {64}, 256, 5},
	};

	return all;
}

void describe_timeout(CLI::App &app, std::uint32_t &timeout_ms, const char *what)
{
	app.add_option_function<double>(
		   "--timeout",
		   [&timeout_ms](double seconds) {
			   timeout_ms = static_cast<std::uint32_t>(seconds * 1000);
		   },
		   what)
		->check(CLI::Range(0.1, max_timeout_ms / 1000.0));
}

void describe_server(CLI::App &app, ServerOptions &options)
{
	app.add_option("address", options.address, "local address (default: all)");
	app.add_option("-p,--port", options.port, "TCP port of the control connection")
		->capture_default_str();
	app.add_flag("-1,--once", options.once, "end after one client");
	app.add_flag("--quiet", options.quiet, "print no progress");
	describe_timeout(app, options.timeout_ms,
			 "seconds without a request after which to give a client up "
			 "(default: 10)");
}

void describe_length(CLI::App &app, Plan &plan)
{
	auto *seconds = app.add_option("-T,--time", plan.seconds, "seconds of a run")
		->check(CLI::Range(0.001, 86400.0))->capture_default_str();
	app.add_option("-n,--count", plan.messages,
		       "messages of each connection, instead of a time")
		->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
		->excludes(seconds);
	auto *warm_up = app.add_option("-w,--warm-up", plan.warm_up_seconds,
				       "seconds before the first run")
		->check(CLI::Range(0.0, 3600.0))->capture_default_str();
	app.add_option("--warm-up-count", plan.warm_up_messages,
		       "messages of each connection before the first run")
		->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40))
		->excludes(warm_up);
	app.add_option("-r,--repeat", plan.repeat, "runs of each size")
		->check(CLI::Range(1, 10000))->capture_default_str();
}

// Options that shape the traffic.
void describe_traffic(CLI::App &app, ClientOptions &options, Raw &raw)
{
	app.add_option("-s,--size", raw.sizes,
		       "bytes of a message, also 64K or 1M; several by commas")
		->delimiter(',')->allow_extra_args(false);
	app.add_option("-d,--depth", raw.depth, "messages in flight, of a connection");
	app.add_option("-l,--list", raw.list, "work requests posted at once");
	app.add_option("-m,--moderation", raw.moderation,
		       "messages to a completion (default: a list)");
	app.add_option("-S,--solicit", raw.solicit,
		       "Sends to a wake-up of the receiver (default: half the depth, "
		       "and a list)");
	app.add_option("-q,--qps", raw.connections, "connections");
	app.add_flag("-b,--bidirectional", options.job.bidirectional, "both ways at once");
	app.add_option("-o,--op", raw.op, "operation of rate and latency")
		->check(CLI::IsMember({"write", "read", "send"}));
	app.add_option("-i,--inline", options.job.inline_bytes,
		       "send messages of up to so many bytes inline")
		->check(CLI::Range(0U, max_inline));
	app.add_option("--slots", options.slots,
		       "buffers that messages use in turn (default: the depth)");
	app.add_option("--write-size", raw.chunk,
		       "TCP: bytes of a socket call, or \"best\" to look for them");
	app.add_option("--send-by", raw.send_by,
		       "TCP: copy, record (MSG_EOR), splice or zerocopy (default: copy)")
		->check(CLI::IsMember({"copy", "record", "splice", "zerocopy"}));
	app.add_flag("--discard", options.job.discard,
		     "TCP: receive without copying what arrives");
	app.add_flag("-v,--verify", options.job.verify, "look at every byte");
}

void describe_client(CLI::App &app, ClientOptions &options, Raw &raw)
{
	app.add_option("host", options.host, "where the server is")->required();
	app.add_option("-p,--port", options.port, "its port")->capture_default_str();
	app.add_option("-t,--transport", raw.transport, "verbs, tcp, mpa or kcm")
		->check(CLI::IsMember({"verbs", "tcp", "mpa", "kcm"}))->capture_default_str();
	app.add_option("-D,--device", options.device,
		       "fail unless the RDMA device has this name");
	app.add_option("-W,--wait", raw.wait, "how to wait: poll, yield or event")
		->check(CLI::IsMember({"poll", "yield", "event"}));
	describe_timeout(app, options.job.timeout_ms,
			 "seconds without progress after which to give up (default: 10)");
	app.add_flag("-j,--json", options.json, "results as JSON");
	describe_length(app, options.plan);
	describe_traffic(app, options, raw);
}

std::uint32_t need_size(const std::string &text, const char *option)
{
	const auto size = parse_size(text);

	if (!size || *size == 0 || *size > max_size)
		throw CLI::ValidationError(option, text + " is not in 1 to 16M");
	return *size;
}

template <typename T> T choice(const std::string &text, std::initializer_list<T> all,
			       T otherwise)
{
	for (const T one : all)
		if (name(one) == text)
			return one;
	return otherwise;
}

void finish_chunk(ClientOptions &options, const Raw &raw)
{
	if (raw.chunk.empty())
		return;
	if (options.job.transport != Transport::tcp)
		throw CLI::ValidationError("--write-size", "is for --transport tcp");
	options.best_chunk = raw.chunk == "best";
	if (!options.best_chunk)
		options.chunk = need_size(raw.chunk, "--write-size");
	else if (options.job.test != Test::stream)
		throw CLI::ValidationError("--write-size", "best is for bandwidth");
}

// Options that were given override the defaults of the command.
void finish_client(ClientOptions &options, const Raw &raw, const Command &command,
		   bool repeat_given)
{
	Job &job = options.job;

	options.command = command.name;
	job.test = command.test;
	job.transport = choice(raw.transport,
			       {Transport::tcp, Transport::mpa, Transport::kcm},
			       Transport::verbs);
	job.send_by = choice(raw.send_by,
			     {SendBy::record, SendBy::splice, SendBy::zerocopy},
			     SendBy::copy);
	job.wait = choice(raw.wait, {Wait::poll, Wait::yield, Wait::event}, command.wait);
	job.op = choice(raw.op, {Op::write, Op::read, Op::send}, command.op);
	if (!raw.op.empty() && options.command != "rate" && options.command != "latency")
		throw CLI::ValidationError("--op", "is for rate and latency");
	job.list = raw.list.value_or(command.list);
	job.depth = raw.depth.value_or(std::max(command.depth, job.list));
	job.moderation = raw.moderation.value_or(
		job.test == Test::latency ? (job.op == Op::read ? 1 : 32) : job.list);
	if (!raw.moderation)
		job.moderation = std::min(job.moderation, job.depth);
	job.solicit = raw.solicit.value_or(
		job.test == Test::stream ? std::max(job.depth / 2, job.list) : 1);
	job.connections = raw.connections.value_or(command.connections);
	if (!repeat_given)
		options.plan.repeat = command.repeat;
	for (const auto &size : raw.sizes)
		options.sizes.push_back(need_size(size, "--size"));
	if (options.sizes.empty())
		options.sizes = command.sizes;
	finish_chunk(options, raw);
	for (const auto size : options.sizes)
		if (const auto bad = complaint(job_of(options, size)))
			throw CLI::ValidationError(*bad);
}

// Prints the message. Help and version are exceptions to CLI11, too.
Status refused(const CLI::App &app, const CLI::ParseError &error)
{
	if (app.exit(error))
		return Status::usage;
	if (const auto bad = cli::flush_output()) {
		cli::print_error("mpa-bench", "standard output: " + bad.message());
		return Status::failed;
	}
	return Status::good;
}

} // namespace

std::optional<std::uint32_t> parse_size(const std::string &text)
{
	std::uint64_t value = 0;
	const char *end = text.data() + text.size();
	auto [at, error] = std::from_chars(text.data(), end, value);
	std::uint64_t unit = 1;

	if (error != std::errc{})
		return {};
	if (at != end && (*at == 'K' || *at == 'k'))
		unit = 1 << 10;
	else if (at != end && (*at == 'M' || *at == 'm'))
		unit = 1 << 20;
	at += unit != 1;
	if (at != end || value > std::numeric_limits<std::uint32_t>::max() / unit)
		return {};
	return static_cast<std::uint32_t>(value * unit);
}

Job job_of(const ClientOptions &options, std::uint32_t size)
{
	Job job = options.job;
	const std::uint64_t list = std::uint64_t{size} * job.list;

	job.size = size;
	job.slots = options.slots.value_or(job.depth);
	if (by_message(job.transport))
		job.chunk = size;
	else
		job.chunk = options.chunk.value_or(static_cast<std::uint32_t>(
		std::min<std::uint64_t>(list, max_size)));
	return job;
}

std::optional<Options> parse_options(int argc, const char *const *argv, int &status)
{
	CLI::App app("Measures RDMA devices and TCP; mpa-bench(1)");
	Options options;
	ServerOptions server;
	ClientOptions client;
	Raw raw;

	app.set_version_flag("--version", "mpa-bench " MPA_VERSION,
			     "show the version and exit");
	app.require_subcommand(1);
	describe_server(*app.add_subcommand("server", "serve clients, one after the other"),
			server);
	for (const auto &command : commands())
		describe_client(*app.add_subcommand(command.name, command.what),
				client, raw);
	cli::check_numbers(app);
	try {
		app.parse(argc, argv);
		if (app.got_subcommand("server"))
			options.server = server;
		for (const auto &command : commands()) {
			const auto *sub = app.get_subcommand(command.name);

			if (!sub->parsed())
				continue;
			finish_client(client, raw, command, sub->count("--repeat") > 0);
			options.client = client;
		}
	} catch (const CLI::ParseError &error) {
		status = static_cast<int>(refused(app, error));
		return {};
	}
	return options;
}

} // namespace bench
