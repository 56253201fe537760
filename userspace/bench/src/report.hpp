/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Results of measurements, and how they are printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job.hpp"
#include "stats.hpp"
#include "usage.hpp"

namespace bench {

// Of samples in nanoseconds.
struct Times {
	std::uint64_t min = 0;
	std::uint64_t median = 0;
	std::uint64_t p99 = 0;
	std::uint64_t p999 = 0;
	std::uint64_t max = 0;
	double mean = 0;

	static Times of(const Histogram &histogram);
	bool operator==(const Times &) const = default;
};

// Bytes for one end of a connection.
struct Footprint {
	double kernel = 0;
	double slab = 0;
	double client_process = 0;
	double server_process = 0;
	// The TCP connections that were open in addition.
	std::optional<double> tcp_kernel;
};

// One run; members that the test does not have are empty.
struct Run {
	std::uint64_t nanoseconds = 0;
	// Since 1970, by the client's clock.
	std::uint64_t ended = 0;
	std::uint64_t messages = 0;
	// Of streams.
	std::optional<std::uint64_t> bytes;
	std::optional<Usage> client;
	std::optional<Usage> server;
	std::optional<Times> times;
	std::optional<Footprint> footprint;
};

// All runs of one size.
struct Result {
	Job job;
	std::uint32_t inline_bytes = 0;
	std::vector<Run> runs;
};

struct Report {
	std::string command;
	Transport transport = Transport::verbs;
	bool same_machine = false;
	std::string client_device;
	std::string server_device;
	std::vector<Result> results;
};

// As documented in mpa-bench(1).
std::string to_json(const Report &report);

// Lines for people: what all results have in common, and one line for each.
std::string headline(const Report &report, const Job &job);
std::string line(const Report &report, const Result &result);

} // namespace bench
