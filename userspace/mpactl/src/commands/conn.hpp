/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl conn [show] [id N] [dev NAME] [phase P] [owner socket|device]
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct ConnOptions {
	std::vector<std::string> words;
};

void setup_conn(CLI::App &app, Run &chosen);
Exit run_conn(const ConnOptions &options, Context &context);

} // namespace mpactl
