/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The command line: options for all commands, and the commands.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/context.hpp"

namespace mpactl {

// Output streams of the process.
struct Streams {
	std::ostream &out;
	std::ostream &err;
	// Standard output is a terminal that supports colours, and NO_COLOR is
	// not set.
	bool colour = false;
};

// Runs the program. `arguments` do not include the program's name.
Exit run(const std::vector<std::string> &arguments, Kernel &kernel, Clock &clock,
	 const Streams &streams);

} // namespace mpactl
