/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "app.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <ostream>

#include <fmt/format.h>

#include "base/words.hpp"
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

namespace mpactl {

namespace {

struct Globals {
	bool json = false;
	std::string colour = "auto";
};

constexpr const char *footer =
	"Exit status: 0 done, 1 refused or found wrong, 2 usage, 3 module or "
	"device not there,\n4 unreachable or input/output. See mpactl(8).";

void setup_globals(CLI::App &app, Globals &globals)
{
	app.add_flag("-j,--json", globals.json, "JSON, as mpactl(8) describes it");
	app.add_option("--color", globals.colour, "auto, always or never")
		->check(CLI::IsMember({"auto", "always", "never"}))
		->type_name("WHEN");
	app.set_version_flag("--version", "mpactl 1");
	// Words of a command are not commands themselves.
	app.require_subcommand(1);
	app.fallthrough();
	app.footer(footer);
}

void setup_commands(CLI::App &app, Run &chosen)
{
	setup_dev(app, chosen);
	setup_conn(app, chosen);
	setup_listen(app, chosen);
	setup_stat(app, chosen);
	setup_get(app, chosen);
	setup_set(app, chosen);
	setup_monitor(app, chosen);
	setup_save(app, chosen);
	setup_restore(app, chosen);
	setup_probe(app, chosen);
	setup_doctor(app, chosen);
	setup_complete(app, chosen);
}

std::unique_ptr<Sink> sink_for(const Globals &globals, const Streams &streams)
{
	if (globals.json)
		return std::make_unique<JsonSink>(streams.out);
	return std::make_unique<TextSink>(
		streams.out, globals.colour == "always" ||
				     (globals.colour == "auto" && streams.colour));
}

// CLI11 misses a command where there is one that it does not know.
std::string parse_message(const CLI::App &app, const CLI::ParseError &error)
{
	std::vector<std::string_view> commands;

	if (!app.get_subcommands().empty() || app.remaining_size() == 0)
		return error.what();
	for (const auto *command : app.get_subcommands(nullptr))
		if (!command->get_group().empty())
			commands.push_back(command->get_name());
	const auto word = app.remaining().front();
	const auto near = nearest(word, commands);

	return near.empty() ? fmt::format("there is no command '{}'", word)
			    : fmt::format("there is no command '{}'; '{}'?", word,
					  near);
}

// Help and version are exceptions to CLI11.
Exit parse_failed(const CLI::App &app, const CLI::ParseError &error,
		  const Streams &streams)
{
	if (error.get_exit_code() == 0) {
		app.exit(error, streams.out, streams.err);
		return Exit::ok;
	}
	streams.err << "mpactl: " << parse_message(app, error) << "\n"
		    << "Try 'mpactl --help'.\n";
	return Exit::usage;
}

// Output that was written before comes before the message.
Exit failed(const Context &context, const Streams &streams, const std::string &why,
	    Exit status)
{
	streams.out.flush();
	context.warn(why);
	return status;
}

Exit run_chosen(const Run &chosen, Context &context, const Streams &streams)
try {
	const auto status = chosen(context);

	if (!streams.out.flush())
		throw IoError("standard output: cannot be written");
	return status;
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
	CLI::App app("Shows and configures MPA (RFC 5044) in this network namespace",
		     "mpactl");
	Globals globals;
	Run chosen;

	setup_globals(app, globals);
	setup_commands(app, chosen);
	try {
		auto words = with_interval(arguments);

		// CLI11 takes them from the end.
		std::reverse(words.begin(), words.end());
		app.parse(words);
	} catch (const CLI::ParseError &error) {
		return parse_failed(app, error, streams);
	}
	const auto sink = sink_for(globals, streams);
	Context context{kernel, clock, *sink, streams.err};

	return run_chosen(chosen, context, streams);
}

} // namespace mpactl
