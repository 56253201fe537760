/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl restore FILE [--dry-run] [--defaults | --netdev NAME] [--present]
#pragma once

#include <string>

#include "cli/command.hpp"

namespace mpactl {

struct RestoreOptions {
	std::string file;
	bool dry_run = false;
	// Only the defaults of the namespace, in the file and in the kernel.
	bool defaults = false;
	// Only the devices at this network device; empty: all.
	std::string netdev;
	// Skip devices whose network device does not exist.
	bool present = false;
};

void setup_restore(CommandLine &line);
Exit run_restore(const RestoreOptions &options, Context &context);

} // namespace mpactl
