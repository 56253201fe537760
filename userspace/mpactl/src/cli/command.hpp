/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Commands, their keywords and options, as CLI11 parses them.
//
// A keyword is a word of a command, with or without a value: `phase PHASE` in
// `mpactl conn phase PHASE`. To CLI11 it is a subcommand with a positional
// argument.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>

#include "../../../cli/numbers.hpp"
#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/values.hpp"

namespace mpactl {

// A command that is ready to run, its options bound.
using Run = std::function<Exit(Context &)>;

// The parser, and what CLI11 has no place for.
struct CommandLine {
	CLI::App app;
	// Set by parsing.
	Run chosen;
	// Possible values of options and positional arguments.
	std::map<const CLI::Option *, Values> values;
	// Arguments of a command for the usage line of its help.
	std::map<const CLI::App *, std::string> synopsis;
	// Keywords that exclude each other.
	std::map<const CLI::App *, std::set<const CLI::App *>> excluded;
};

template <typename T> inline constexpr bool is_integer = std::is_integral_v<T>;
template <typename T>
inline constexpr bool is_integer<std::optional<T>> = std::is_integral_v<T>;

// Defines one command. The references to variables must stay valid while the
// command line is used.
class Syntax {
public:
	Syntax(CommandLine &line, CLI::App &command) : line_(line), command_(command)
	{
	}

	// Arguments as the usage line of the help has them.
	void synopsis(const std::string &text);
	// Text at the end of the help.
	void footer(const std::string &text);

	CLI::Option *flag(const std::string &names, bool &target,
			  const std::string &help);
	template <typename T>
	CLI::Option *option(const std::string &names, T &target, Values values,
			    const std::string &help)
	{
		auto *made = complete(command_.add_option(names, target, help),
				      std::move(values));

		if constexpr (is_integer<T>)
			made->check(::cli::decimal);
		return made;
	}
	// A positional argument of the command itself.
	template <typename T>
	CLI::Option *argument(T &target, Values values, const std::string &help)
	{
		return option(values.name, target, values, help);
	}

	// A word without a value that changes nothing: `show`.
	void keyword(const std::string &name, const std::string &help);
	// A word and its value. Keywords of one group are listed together in help.
	CLI::App *keyword(const std::string &name, std::optional<std::string> &target,
			  Values values, const std::string &help,
			  const std::string &group);
	// At most one of the keywords can be given.
	void exclusive(const std::vector<CLI::App *> &keywords);

private:
	CLI::Option *complete(CLI::Option *option, Values values);

	CommandLine &line_;
	CLI::App &command_;
};

// Adds a command: `setup` binds its options, `run` is called with them if the user
// has chosen the command. For the setup_x() of each command's source.
template <typename Options, typename Setup>
void add_command(CommandLine &line, const std::string &name,
		 const std::string &help, Setup setup,
		 Exit (*run)(const Options &, Context &))
{
	auto options = std::make_shared<Options>();
	auto *command = line.app.add_subcommand(name, help)->group("Commands");

	// Any number of keywords.
	command->require_subcommand(0, 0);
	setup(Syntax(line, *command), *options);
	command->callback([&line, options, run] {
		line.chosen = [options, run](Context &context) {
			return run(*options, context);
		};
	});
}

// The option or positional argument's values; nullptr: it has none, as a flag.
const Values *values_of(const CommandLine &line, const CLI::Option *option);
// The positional arguments of a command or keyword.
std::vector<const CLI::Option *> arguments_of(const CLI::App &app);
// "conn phase" for the keyword `phase`; empty for the parser itself.
std::string path_of(const CLI::App &app);

// Keywords that can follow `last`, which is a command or a keyword. `used` returns
// true for keywords that were given already.
std::vector<const CLI::App *>
possible_keywords(const CommandLine &line, const CLI::App &last,
		  const std::function<bool(const CLI::App *)> &used);

} // namespace mpactl
