/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl listen [show] [ID]
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"

namespace mpactl {

struct ListenOptions {
	// Absent: all listeners.
	std::optional<std::string> id;
};

void setup_listen(CommandLine &line);
Exit run_listen(const ListenOptions &options, Context &context);

} // namespace mpactl
