/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The command line: options for all, and the subcommands.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "context.hpp"
#include "error.hpp"

namespace mpactl {

// A command that is ready to run, its options bound.
using Run = std::function<Exit(Context &)>;

// Adds a subcommand to the tree: `run` is called with the options that `setup`
// bound, if the user chose it. For setup_x() of each command's source.
template <typename Options, typename Setup>
CLI::App *add_command(CLI::App &app, Run &chosen, const std::string &name,
		      const std::string &help, Setup setup,
		      Exit (*run)(const Options &, Context &))
{
	auto options = std::make_shared<Options>();
	auto *command = app.add_subcommand(name, help);

	setup(*command, *options);
	command->callback([&chosen, options, run] {
		chosen = [options, run](Context &context) {
			return run(*options, context);
		};
	});
	return command;
}

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
