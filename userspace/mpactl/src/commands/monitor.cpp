/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/monitor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/words.hpp"
#include "show/event_view.hpp"

namespace mpactl {

namespace {

void check_kinds(const std::vector<std::string> &kinds)
{
	const auto known = event_kinds();

	for (const auto &kind : kinds)
		if (std::find(known.begin(), known.end(), kind) == known.end())
			throw UsageError(fmt::format(
				"--kinds: '{}' is not one of {}", kind,
				fmt::join(known, ", ")));
}

bool wanted(const std::vector<std::string> &kinds, const Event &event)
{
	const auto *name = event_named(event.command);

	return kinds.empty() ||
	       (name && std::find(kinds.begin(), kinds.end(), name->kind) !=
				kinds.end());
}

// Connections are known by their device's index; its name comes by events.
void learn(DeviceNames &names, const Event &event)
{
	if (event.device && event.command != MPA_CMD_DEV_DEL_NTF)
		names[event.device->index] = event.device->name;
}

} // namespace

void setup_monitor(CLI::App &app, Run &chosen)
{
	add_command<MonitorOptions>(
		app, chosen, "monitor", "Events, until interrupted",
		[](CLI::App &command, MonitorOptions &options) {
			command.add_option("--kinds", options.kinds,
					   "only these: conn, dev, listen, "
					   "config, failure")
				->delimiter(',')
				->type_name("KIND,...");
		},
		run_monitor);
}

Exit run_monitor(const MonitorOptions &options, Context &context)
{
	check_kinds(options.kinds);
	const auto events = context.mpa().events();
	auto names = names_of(context.mpa().devices().items);

	for (;;) {
		const auto notice = events->next();
		const auto now = context.clock.wall();

		if (std::holds_alternative<Stopped>(notice))
			return Exit::ok;
		if (const auto *lost = std::get_if<Lost>(&notice)) {
			context.out.stream(LostView(*lost, now));
			continue;
		}
		const auto &event = std::get<Event>(notice);

		learn(names, event);
		if (wanted(options.kinds, event))
			context.out.stream(EventView(event, names, now));
	}
}

} // namespace mpactl
