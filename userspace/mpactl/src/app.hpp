/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The command line: options for all commands, and the commands.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/context.hpp"

namespace mpactl {

// What the process itself gives.
struct Streams {
	std::ostream &out;
	std::ostream &err;
	// Standard output is a terminal that knows colours, and nobody forbids
	// them.
	bool colour = false;
};

// Everything from the arguments, without the program's name, to the exit
// status.
Exit run(const std::vector<std::string> &arguments, Kernel &kernel, Clock &clock,
	 const Streams &streams);

} // namespace mpactl
