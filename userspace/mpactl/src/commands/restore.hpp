/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl restore FILE [--dry-run] [--defaults | --netdev NAME] [--present]
#pragma once

#include <string>

#include "cli/command.hpp"

namespace mpactl {

struct RestoreOptions {
	std::string file;
	bool dry_run = false;
	// Of file and kernel only the namespace's defaults, ...
	bool defaults = false;
	// ... only the devices at this network device; empty: all.
	std::string netdev;
	// Devices whose network device is not there are left out.
	bool present = false;
};

void setup_restore(CLI::App &app, Run &chosen);
Exit run_restore(const RestoreOptions &options, Context &context);

} // namespace mpactl
