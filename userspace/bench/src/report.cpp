/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "report.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bench {

namespace {

// Members keep the order in which they are documented.
using Json = nlohmann::ordered_json;

double seconds(std::uint64_t nanoseconds)
{
	return static_cast<double>(nanoseconds) / 1e9;
}

double ratio(double above, double below)
{
	return below > 0 ? above / below : 0;
}

std::string upper_case(std::string_view text)
{
	std::string upper(text);

	std::transform(upper.begin(), upper.end(), upper.begin(),
		       [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
	return upper;
}

// --- JSON --------------------------------------------------------------------------

Json json_of(const Usage &usage)
{
	return {
		{"process_user", seconds(usage.process_user)},
		{"process_system", seconds(usage.process_system)},
		{"machine_busy", seconds(usage.machine_busy)},
		{"machine_softirq", seconds(usage.machine_softirq)},
	};
}

Json json_of(const Times &times)
{
	return {
		{"min", times.min}, {"median", times.median}, {"p99", times.p99},
		{"p999", times.p999}, {"max", times.max}, {"mean", times.mean},
	};
}

double process_seconds(const Usage &usage)
{
	return seconds(usage.process_user + usage.process_system);
}

// A single machine is counted once.
double machine_seconds(const Report &report, const Run &run)
{
	return seconds(run.client->machine_busy +
		       (report.same_machine ? 0 : run.server->machine_busy));
}

Json per_gigabyte(const Report &report, const Run &run)
{
	const double gigabytes = static_cast<double>(*run.bytes) / 1e9;

	return {
		{"client_process", ratio(process_seconds(*run.client), gigabytes)},
		{"server_process", ratio(process_seconds(*run.server), gigabytes)},
		{"machine", ratio(machine_seconds(report, run), gigabytes)},
	};
}

double messages_per_second(const Run &run)
{
	return ratio(static_cast<double>(run.messages), seconds(run.nanoseconds));
}

double bits_per_second(const Run &run)
{
	return ratio(static_cast<double>(*run.bytes) * 8, seconds(run.nanoseconds));
}

Json json_of(const Footprint &footprint, const Job &job)
{
	Json json{
		{"connections", job.connections},
		{"kernel_bytes", footprint.kernel},
		{"slab_bytes", footprint.slab},
		{"client_process_bytes", footprint.client_process},
		{"server_process_bytes", footprint.server_process},
	};

	if (footprint.tcp_kernel) {
		json["tcp_kernel_bytes"] = *footprint.tcp_kernel;
		json["above_tcp_bytes"] = footprint.kernel - *footprint.tcp_kernel;
	}
	return json;
}

Json json_of(const Report &report, const Run &run, const Job &job)
{
	if (run.footprint)
		return json_of(*run.footprint, job);
	Json json{
		{"seconds", seconds(run.nanoseconds)},
		{"ended", seconds(run.ended)},
		{"messages", run.messages},
		{"messages_per_second", messages_per_second(run)},
	};
	if (run.bytes) {
		json["bytes"] = *run.bytes;
		json["bits_per_second"] = bits_per_second(run);
	}
	if (run.client && run.server)
		json["cpu"] = {{"client", json_of(*run.client)},
			       {"server", json_of(*run.server)}};
	if (run.bytes && run.client && run.server)
		json["cpu_seconds_per_gigabyte"] = per_gigabyte(report, run);
	if (run.times)
		json["nanoseconds"] = json_of(*run.times);
	return json;
}

// The same members as a run has, over all runs.
Json summary_of(const std::vector<Json> &runs)
{
	if (runs.empty())
		return Json::object();
	if (runs.front().is_object()) {
		Json all = Json::object();

		for (const auto &[key, value] : runs.front().items()) {
			std::vector<Json> members;

			for (const auto &run : runs)
				members.push_back(run.at(key));
			all[key] = summary_of(members);
		}
		return all;
	}
	std::vector<double> values;
	for (const auto &run : runs)
		values.push_back(run.get<double>());
	const auto summary = summarize(std::move(values));
	return {{"median", summary.median}, {"min", summary.min},
		{"max", summary.max}, {"spread", summary.spread}};
}

Json json_of(const Report &report, const Result &result)
{
	const Job &job = result.job;
	std::vector<Json> runs;

	for (const auto &run : result.runs)
		runs.push_back(json_of(report, run, job));
	return {
		{"size", job.size},
		{"test", name(job.test)},
		{"op", name(job.op)},
		{"wait", name(job.wait)},
		{"depth", job.depth},
		{"list", job.list},
		{"moderation", job.moderation},
		{"solicit", job.solicit},
		{"connections", job.connections},
		{"slots", job.slots},
		{"inline", result.inline_bytes},
		{"chunk", on_socket(job) ? job.chunk : 0},
		{"send_by", name(job.send_by)},
		{"discard", job.discard},
		{"bidirectional", job.bidirectional},
		{"verify", job.verify},
		{"runs", runs},
		{"summary", summary_of(runs)},
	};
}

// --- text --------------------------------------------------------------------------

template <typename Value> Summary over(const Result &result, Value value)
{
	std::vector<double> values;

	for (const auto &run : result.runs)
		values.push_back(value(run));
	return summarize(std::move(values));
}

std::string spread(const Result &result, const Summary &summary)
{
	return result.runs.size() > 1
		? fmt::format(" +-{:.1f}%", summary.spread * 50) : std::string();
}

std::string stream_line(const Report &report, const Result &result)
{
	const auto bits = over(result, bits_per_second);
	const auto rate = over(result, messages_per_second);
	const auto machine = over(result, [&](const Run &run) {
		return ratio(machine_seconds(report, run),
			     static_cast<double>(*run.bytes) / 1e9);
	});
	const auto client = over(result, [](const Run &run) {
		return ratio(process_seconds(*run.client),
			     static_cast<double>(*run.bytes) / 1e9);
	});
	const auto server = over(result, [](const Run &run) {
		return ratio(process_seconds(*run.server),
			     static_cast<double>(*run.bytes) / 1e9);
	});

	return fmt::format("{:>9} bytes  {:>8.3f} Gbit/s{}  {:>11.0f} messages/s  "
			   "CPU s/GB: client {:.3f}, server {:.3f}, machine {:.3f}",
			   result.job.size, bits.median / 1e9, spread(result, bits),
			   rate.median, client.median, server.median, machine.median);
}

std::string times_text(const Result &result)
{
	const auto microseconds = [&](std::uint64_t Times::*which) {
		return over(result, [&](const Run &run) {
			       return static_cast<double>(*run.times.*which);
		       }).median / 1e3;
	};

	return fmt::format("us: min {:.1f}, median {:.1f}, 99% {:.1f}, 99.9% {:.1f}, "
			   "max {:.1f}",
			   microseconds(&Times::min), microseconds(&Times::median),
			   microseconds(&Times::p99), microseconds(&Times::p999),
			   microseconds(&Times::max));
}

std::string memory_line(const Result &result)
{
	const auto kibi = [&](auto value) { return over(result, value).median / 1024; };
	auto text = fmt::format(
		"{} connections  KiB for one end: kernel {:.2f}, of that slab {:.2f}",
		result.job.connections,
		kibi([](const Run &run) { return run.footprint->kernel; }),
		kibi([](const Run &run) { return run.footprint->slab; }));

	if (!result.runs.empty() && result.runs.front().footprint->tcp_kernel)
		text += fmt::format(
			"; plain TCP {:.2f}, above it {:.2f}",
			kibi([](const Run &run) { return *run.footprint->tcp_kernel; }),
			kibi([](const Run &run) {
				return run.footprint->kernel -
					*run.footprint->tcp_kernel;
			}));
	return text;
}

} // namespace

Times Times::of(const Histogram &histogram)
{
	return {histogram.min(), histogram.percentile(500'000),
		histogram.percentile(990'000), histogram.percentile(999'000),
		histogram.max(), histogram.mean()};
}

std::string to_json(const Report &report)
{
	Json results = Json::array();

	for (const auto &result : report.results)
		results.push_back(json_of(report, result));
	const Json json{
		{"mpa-bench", 1},
		{"command", report.command},
		{"transport", name(report.transport)},
		{"same_machine", report.same_machine},
		{"client", {{"device", report.client_device}}},
		{"server", {{"device", report.server_device}}},
		{"results", results},
	};
	return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string headline(const Report &report, const Job &job)
{
	const auto devices = report.transport != Transport::verbs
		? upper_case(name(report.transport))
		: fmt::format("{} to {}", report.client_device, report.server_device);

	const bool telling = job.test == Test::latency || report.command == "rate";

	return fmt::format("{}{}{}{}: {}, {} deep, lists of {}, a completion for {}, {}{}",
			   report.command,
			   telling ? fmt::format(" of {}", name(job.op)) : "",
			   job.bidirectional ? " both ways" : "",
			   job.verify ? ", verified" : "", devices, job.depth, job.list,
			   job.moderation, name(job.wait),
			   report.same_machine ? ", one machine" : "");
}

std::string line(const Report &report, const Result &result)
{
	switch (result.job.test) {
	case Test::stream:
		return stream_line(report, result);
	case Test::latency:
		return fmt::format("{:>9} bytes  round trip {}", result.job.size,
				   times_text(result));
	case Test::connect:
		return fmt::format("{} at a time  {:.0f} connections/s, set-up {}",
				   result.job.connections,
				   over(result, messages_per_second).median,
				   times_text(result));
	case Test::memory:
		return memory_line(result);
	}
	return {};
}

} // namespace bench
