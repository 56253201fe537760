/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl dev [show] [NAME]
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct DevOptions {
	std::vector<std::string> words;
};

void setup_dev(CLI::App &app, Run &chosen);
Exit run_dev(const DevOptions &options, Context &context);

} // namespace mpactl
