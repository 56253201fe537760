/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl conn [show] [id ID] [dev DEVICE] [phase PHASE] [owner socket|device]
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"

namespace mpactl {

// Absent: connections are not filtered by this.
struct ConnOptions {
	std::optional<std::string> id;
	std::optional<std::string> device;
	std::optional<std::string> phase;
	std::optional<std::string> owner;
};

void setup_conn(CommandLine &line);
Exit run_conn(const ConnOptions &options, Context &context);

} // namespace mpactl
