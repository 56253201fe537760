/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What every subcommand needs: options bound to a struct, and a function to run.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "cli/context.hpp"

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

} // namespace mpactl
