/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl get [dev DEVICE | listen ID]
#pragma once

#include "cli/command.hpp"
#include "cli/target_options.hpp"

namespace mpactl {

void setup_get(CommandLine &line);
Exit run_get(const TargetOptions &options, Context &context);

} // namespace mpactl
