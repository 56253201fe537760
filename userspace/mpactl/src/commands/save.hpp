/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl save [FILE]
#pragma once

#include <string>

#include "cli/command.hpp"

namespace mpactl {

struct SaveOptions {
	std::string file = "-";
};

void setup_save(CommandLine &line);
Exit run_save(const SaveOptions &options, Context &context);

} // namespace mpactl
