/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl monitor [--kinds KIND,...]
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct MonitorOptions {
	// Empty: all.
	std::vector<std::string> kinds;
};

void setup_monitor(CommandLine &line);
Exit run_monitor(const MonitorOptions &options, Context &context);

} // namespace mpactl
