/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The object of a command that reads or changes settings: [dev DEVICE | listen ID].
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"
#include "model/model.hpp"

namespace mpactl {

// At most one is present; none: the network namespace.
struct TargetOptions {
	std::optional<std::string> device;
	std::optional<std::string> listener;
};

// Adds the two keywords.
void setup_target(Syntax &command, TargetOptions &options);
Target target_from(const TargetOptions &options);

} // namespace mpactl
