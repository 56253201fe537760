/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "app.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <ostream>

#include <fmt/format.h>

#include "base/release.hpp"
#include "base/words.hpp"
#include "cli/help.hpp"
#include "commands/complete.hpp"
#include "commands/conn.hpp"
#include "commands/dev.hpp"
#include "commands/get.hpp"
#include "commands/listen.hpp"
#include "commands/monitor.hpp"
#include "commands/restore.hpp"
#include "commands/save.hpp"
#include "commands/set.hpp"
#include "commands/stat.hpp"
#include "doctor/doctor.hpp"
#include "probe/probe.hpp"
#include "show/output.hpp"

namespace mpactl {

namespace {

struct Globals {
	bool json = false;
	std::string colour = "auto";
};

constexpr const char *footer =
	"'mpactl COMMAND --help' shows the arguments of a command; see also mpactl(8).\n"
	"\n"
	"Exit status: 0 success; 1 refused by the kernel or a peer, or a problem was\n"
	"found; 2 usage error; 3 the module or a device does not exist; 4 unreachable\n"
	"host or input/output error.";

void setup_globals(CommandLine &line, Globals &globals)
{
	auto &app = line.app;
	Syntax all(line, app);

	app.name("mpactl");
	app.description("Shows and configures MPA (RFC 5044) in this network "
			"namespace");
	app.formatter(std::make_shared<Help>(line));
	app.set_help_flag("-h,--help", "show this help and exit");
	all.flag("-j,--json", globals.json,
		 "write JSON, which is described in mpactl(8)");
	all.option("--color", globals.colour,
		   one_of({{"auto", "if standard output is a terminal"},
			   {"always", ""},
			   {"never", ""}}),
		   "use of colours");
	app.set_version_flag("--version", "mpactl " MPA_VERSION, "show the version and exit");
	// Keywords of a command are not commands themselves.
	app.require_subcommand(1);
	app.fallthrough();
}

void setup_commands(CommandLine &line)
{
	setup_dev(line);
	setup_conn(line);
	setup_listen(line);
	setup_stat(line);
	setup_get(line);
	setup_set(line);
	setup_monitor(line);
	setup_save(line);
	setup_restore(line);
	setup_probe(line);
	setup_doctor(line);
	setup_complete(line);
	// Later than the commands, which would inherit it.
	line.app.footer(footer);
}

std::unique_ptr<Sink> sink_for(const Globals &globals, const Streams &streams)
{
	if (globals.json)
		return std::make_unique<JsonSink>(streams.out);
	return std::make_unique<TextSink>(
		streams.out, globals.colour == "always" ||
				     (globals.colour == "auto" && streams.colour));
}

// --- messages about wrong command lines ---------------------------------------

// The last command or keyword that was parsed.
const CLI::App &last_parsed(const CLI::App &app)
{
	const auto parsed = app.get_subcommands();

	return parsed.empty() ? app : last_parsed(*parsed.back());
}

// "conn phase: " for a message about the command line that ends there.
std::string prefix_of(const CLI::App &last)
{
	const auto path = path_of(last);

	return path.empty() ? path : path + ": ";
}

bool was_given(const CLI::App *keyword)
{
	return keyword->count() > 0;
}

std::vector<std::string_view> possible_words(const CommandLine &line,
					     const CLI::App &last)
{
	std::vector<std::string_view> names;

	if (&last == &line.app) {
		for (const auto *one : line.app.get_subcommands(nullptr))
			if (!one->get_group().empty())
				names.push_back(one->get_name());
		return names;
	}
	// Behind an argument of the command no keyword follows.
	for (const auto *one : arguments_of(last))
		if (one->count() && !one->get_required())
			return names;
	for (const auto *one : possible_keywords(line, last, was_given))
		names.push_back(one->get_name());
	return names;
}

std::vector<std::string> option_names(const CLI::App &app)
{
	std::vector<std::string> names;

	for (const auto *one = &app; one; one = one->get_parent())
		for (const auto *option : one->get_options())
			for (const auto &name : option->get_lnames())
				if (std::find(names.begin(), names.end(),
					      "--" + name) == names.end())
					names.push_back("--" + name);
	return names;
}

std::string unknown_option(const CLI::App &last, const std::string &word)
{
	const auto names = option_names(last);
	std::vector<std::string_view> bare;

	for (const auto &name : names)
		bare.push_back(std::string_view(name).substr(2));
	// Without the dashes, which would make all options similar.
	const auto near = nearest(word.substr(std::min(word.size(),
						       word.find_first_not_of('-'))),
				  bare);

	return fmt::format("{}unknown option '{}'{}ossible: {}", prefix_of(last),
			   word,
			   near.empty() ? "; p"
					: fmt::format("; did you mean '--{}'? P",
						      near),
			   fmt::join(names, ", "));
}

std::string unknown_word(const CommandLine &line, const CLI::App &last,
			 const std::string &word)
{
	const auto known = possible_words(line, last);
	const auto *command = &last;

	while (command->get_parent() && command->get_parent() != &line.app)
		command = command->get_parent();
	for (const auto *one : command->get_subcommands(nullptr))
		if (command != &line.app && one->get_name() == word &&
		    was_given(one))
			return fmt::format("{}: '{}' is given twice",
					   command->get_name(), word);
	if (command == &line.app)
		return fmt::format("unknown command '{}'{}", word,
				   choices(word, known));
	return fmt::format("{}: unexpected argument '{}'{}", command->get_name(),
			   word, choices(word, known));
}

// The first required argument that has no value, or the command.
std::string missing_argument(const CommandLine &line, const CLI::App &last)
{
	for (const auto *one : arguments_of(last)) {
		const auto *values = values_of(line, one);

		if (one->count() || !one->get_required() || !values)
			continue;
		return prefix_of(last) +
		       (values->words.empty()
				? fmt::format("{} is missing", values->name)
				: fmt::format("a value is missing; possible: {}",
					      values->text()));
	}
	return fmt::format("a command is missing; possible: {}",
			   fmt::join(possible_words(line, last), ", "));
}

std::string parse_message(const CommandLine &line, const CLI::ParseError &error)
{
	const auto &last = last_parsed(line.app);
	const auto left = line.app.remaining(true);

	const bool missing = dynamic_cast<const CLI::RequiredError *>(&error);

	if (!missing && !dynamic_cast<const CLI::ExtrasError *>(&error))
		return prefix_of(last) + error.what();
	if (left.empty())
		return missing_argument(line, last);
	return left.front().starts_with('-')
		       ? unknown_option(last, left.front())
		       : unknown_word(line, last, left.front());
}

Exit usage_failed(const CommandLine &line, const std::string &message,
		  const Streams &streams)
{
	const auto commands = line.app.get_subcommands();

	streams.err << "mpactl: " << message << "\nTry 'mpactl "
		    << (commands.empty() ? "" : commands.front()->get_name() + " ")
		    << "--help'.\n";
	return Exit::usage;
}

// Help and version are exceptions to CLI11.
Exit parse_failed(const CommandLine &line, const CLI::ParseError &error,
		  const Streams &streams)
{
	if (error.get_exit_code() != 0)
		return usage_failed(line, parse_message(line, error), streams);
	line.app.exit(error, streams.out, streams.err);
	try {
		flush(streams.out);
	} catch (const Error &failure) {
		streams.err << "mpactl: " << failure.what() << "\n";
		return failure.status();
	}
	return Exit::ok;
}

// --- running ------------------------------------------------------------------

// Output that was written before comes before the message.
Exit failed(const Context &context, const Streams &streams, const std::string &why,
	    Exit status)
{
	streams.out.flush();
	context.warn(why);
	return status;
}

// What one release asks for, the other may not know.
Exit refused(const Context &context, const Streams &streams, const KernelError &error)
{
	const auto status = failed(context, streams, error.what(), error.status());
	const auto difference = different_release(context.kernel.module_release());

	if (!difference.empty())
		context.warn(difference);
	return status;
}

Exit run_chosen(const Run &chosen, Context &context, const Streams &streams)
try {
	const auto status = chosen(context);

	flush(streams.out);
	return status;
} catch (const KernelError &error) {
	return refused(context, streams, error);
} catch (const Error &error) {
	return failed(context, streams, error.what(), error.status());
} catch (const std::bad_alloc &) {
	return failed(context, streams, "out of memory", Exit::io);
} catch (const std::exception &error) {
	return failed(context, streams,
		      fmt::format("internal error: {}", error.what()), Exit::io);
}

} // namespace

Exit run(const std::vector<std::string> &arguments, Kernel &kernel, Clock &clock,
	 const Streams &streams)
{
	CommandLine line;
	Globals globals;

	setup_globals(line, globals);
	setup_commands(line);
	try {
		auto words = with_interval(arguments);

		// CLI11 takes them from the end.
		std::reverse(words.begin(), words.end());
		line.app.parse(words);
	} catch (const CLI::ParseError &error) {
		return parse_failed(line, error, streams);
	} catch (const UsageError &error) {
		return usage_failed(line, error.what(), streams);
	}
	const auto sink = sink_for(globals, streams);
	Context context{kernel, clock, *sink, streams.err};

	return run_chosen(line.chosen, context, streams);
}

} // namespace mpactl
