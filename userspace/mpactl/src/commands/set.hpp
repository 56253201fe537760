/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl set [dev DEVICE | listen ID] SETTING VALUE... [--check]
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/target_options.hpp"

namespace mpactl {

struct SetOptions {
	TargetOptions target;
	// By MPA_A_CONFIG_*; absent: not to be changed.
	std::map<unsigned int, std::optional<std::string>> values;
	bool check = false;
};

void setup_set(CommandLine &line);
Exit run_set(const SetOptions &options, Context &context);

} // namespace mpactl
