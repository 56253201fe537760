/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl get [dev NAME | listen ID]
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct GetOptions {
	std::vector<std::string> words;
};

void setup_get(CLI::App &app, Run &chosen);
Exit run_get(const GetOptions &options, Context &context);

} // namespace mpactl
