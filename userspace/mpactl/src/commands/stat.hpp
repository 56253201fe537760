/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl stat [dev DEVICE | conn ID] [--watch [SECONDS]]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct StatOptions {
	// At most one of them; none: the namespace and all devices.
	std::optional<std::string> device;
	std::optional<std::string> connection;
	// Seconds between two outputs; absent: only one output.
	std::optional<double> watch;
};

// Adds the number of seconds to a `--watch` without one. Otherwise CLI11 would use
// the next word as the number.
std::vector<std::string> with_interval(std::vector<std::string> arguments);

void setup_stat(CommandLine &line);
Exit run_stat(const StatOptions &options, Context &context);

} // namespace mpactl
