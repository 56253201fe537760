/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl dev [show] [DEVICE]
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"

namespace mpactl {

struct DevOptions {
	// Absent: all devices.
	std::optional<std::string> device;
};

void setup_dev(CommandLine &line);
Exit run_dev(const DevOptions &options, Context &context);

} // namespace mpactl
