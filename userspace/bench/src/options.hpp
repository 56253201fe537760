/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The command line, as documented in mpa-bench(1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job.hpp"

namespace bench {

constexpr std::uint16_t default_port = 7470;

struct ServerOptions {
	// Empty: every address.
	std::string address;
	std::uint16_t port = default_port;
	// End after one client.
	bool once = false;
	bool quiet = false;
	// Milliseconds that a client has for each of its requests.
	std::uint32_t timeout_ms = 10'000;
};

// Duration and number of runs.
struct Plan {
	// Seconds, unless `messages` is given.
	double seconds = 2;
	// Of each connection; 0: by time.
	std::uint64_t messages = 0;
	double warm_up_seconds = 0.5;
	// Instead of seconds.
	std::optional<std::uint64_t> warm_up_messages;
	std::uint32_t repeat = 1;
};

struct ClientOptions {
	std::string host;
	std::uint16_t port = default_port;
	// The name of the command: write, read, send, rate, latency, ...
	std::string command;
	// Everything but the size and the values that depend on it.
	Job job;
	std::vector<std::uint32_t> sizes;
	Plan plan;
	// The client's RDMA device must have this name.
	std::string device;
	// Empty: the size of a list of messages.
	std::optional<std::uint32_t> chunk;
	// Find the fastest size.
	bool best_chunk = false;
	std::optional<std::uint32_t> slots;
	bool json = false;
};

struct Options {
	// Exactly one of the two is set.
	std::optional<ServerOptions> server;
	std::optional<ClientOptions> client;
};

// Empty: exit with `status`; every message has been printed.
std::optional<Options> parse_options(int argc, const char *const *argv, int &status);

// The job for messages of one size.
Job job_of(const ClientOptions &options, std::uint32_t size);

// "4096", "64K", "1M": bytes. Empty: not a number, or too large.
std::optional<std::uint32_t> parse_size(const std::string &text);

} // namespace bench
