/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/stat.hpp"

#include <cctype>

#include "base/words.hpp"
#include "model/names.hpp"
#include "show/stat_view.hpp"
#include "show/views.hpp"

namespace mpactl {

namespace {

constexpr double longest_interval = 86400;
constexpr double shortest_interval = 0.01;

// The object whose counters are shown.
struct Object {
	std::optional<std::string> device;
	std::optional<std::uint32_t> connection;
};

Object object_from(const StatOptions &options)
{
	Object object{options.device, std::nullopt};

	if (options.connection)
		object.connection = number_of(*options.connection, "conn");
	return object;
}

Counted counted_device(const Device &device)
{
	return {Counted::Kind::device, device.name, 0, device.counters};
}

Counted counted_connection(const Connection &connection)
{
	Counted counted{Counted::Kind::connection, {}, connection.id, {}};

	for (const auto &[type, value] : connection.stats)
		counted.counters.push_back({word_for(stats_words, type), value});
	return counted;
}

std::vector<Counted> counted(const Object &object, Context &context)
{
	auto &mpa = context.mpa();
	std::vector<Counted> all;

	if (object.connection)
		return {counted_connection(mpa.connection(*object.connection))};
	if (object.device)
		return {counted_device(mpa.device(*object.device))};
	all.push_back({Counted::Kind::defaults, {}, 0, mpa.defaults().counters});
	for (const auto &device : whole(context, mpa.devices(), "devices"))
		all.push_back(counted_device(device));
	return all;
}

void check_interval(double seconds)
{
	if (!(seconds >= shortest_interval && seconds <= longest_interval))
		throw UsageError("--watch: the interval must be 0.01 .. 86400 "
				 "seconds");
}

// Until interrupted.
void watch(const Object &object, double seconds, Context &context)
{
	const auto interval =
		std::chrono::duration_cast<std::chrono::steady_clock::duration>(
			std::chrono::duration<double>(seconds));
	auto then = context.clock.steady();
	auto before = counted(object, context);

	// The next interval starts when the counters are read, so that it is not
	// shorter if this one took longer.
	while (context.clock.sleep_until(then + interval)) {
		const auto now = context.clock.steady();
		auto after = counted(object, context);

		context.out.stream(RateView(std::move(before), after, now - then,
					    context.clock.wall()));
		before = std::move(after);
		then = now;
	}
}

bool starts_number(const std::string &word)
{
	return !word.empty() && (std::isdigit(static_cast<unsigned char>(word[0])) ||
				 word[0] == '.');
}

} // namespace

std::vector<std::string> with_interval(std::vector<std::string> arguments)
{
	for (std::size_t i = 0; i < arguments.size(); i++) {
		const bool last = i + 1 == arguments.size();

		if ((arguments[i] == "--watch" || arguments[i] == "-w") &&
		    (last || !starts_number(arguments[i + 1])))
			arguments[i] = "--watch=1";
	}
	return arguments;
}

void setup_stat(CommandLine &line)
{
	add_command<StatOptions>(
		line, "stat", "Show counters",
		[](Syntax command, StatOptions &options) {
			constexpr const char *group =
				"Object, if not the namespace and all devices";

			command.synopsis("[dev DEVICE | conn ID]");
			command.option("-w,--watch", options.watch,
				       any("[SECONDS]"),
				       "show rates every SECONDS, or every second, "
				       "until interrupted");
			auto *dev = command.keyword("dev", options.device,
						    device_name(),
						    "the counters of a device",
						    group);
			auto *conn = command.keyword("conn", options.connection,
						     connection_id(),
						     "the counters of a connection",
						     group);

			command.exclusive({dev, conn});
		},
		run_stat);
}

Exit run_stat(const StatOptions &options, Context &context)
{
	const auto object = object_from(options);

	if (!options.watch) {
		context.out.show(StatView(counted(object, context)));
		return Exit::ok;
	}
	check_interval(*options.watch);
	watch(object, *options.watch, context);
	return Exit::ok;
}

} // namespace mpactl
