/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl stat [dev NAME | conn ID] [--watch [SECONDS]]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct StatOptions {
	std::vector<std::string> words;
	// Seconds; absent: once.
	std::optional<double> watch;
};

// `--watch` without a number of seconds gets one: CLI11 would take the word behind
// it for the number.
std::vector<std::string> with_interval(std::vector<std::string> arguments);

void setup_stat(CLI::App &app, Run &chosen);
Exit run_stat(const StatOptions &options, Context &context);

} // namespace mpactl
