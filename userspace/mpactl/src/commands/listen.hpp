/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl listen [show] [ID]
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct ListenOptions {
	std::vector<std::string> words;
};

void setup_listen(CLI::App &app, Run &chosen);
Exit run_listen(const ListenOptions &options, Context &context);

} // namespace mpactl
