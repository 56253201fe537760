/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl set [dev NAME | listen ID] KEY VALUE... [--check]
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct SetOptions {
	std::vector<std::string> words;
	bool check = false;
};

void setup_set(CLI::App &app, Run &chosen);
Exit run_set(const SetOptions &options, Context &context);

} // namespace mpactl
