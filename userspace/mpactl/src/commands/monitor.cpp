/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/monitor.hpp"

#include <algorithm>

#include "show/event_view.hpp"

namespace mpactl {

namespace {

Values kind_values()
{
	Candidates words;

	for (const auto &one : event_kinds())
		words.push_back({std::string(one.name), std::string(one.help)});
	auto values = one_of(std::move(words), "KIND,...");

	values.list = true;
	return values;
}

bool wanted(const std::vector<std::string> &kinds, const Event &event)
{
	const auto *name = event_named(event.command);

	return kinds.empty() ||
	       (name && std::find(kinds.begin(), kinds.end(), name->kind) !=
				kinds.end());
}

// A connection has the index of its device. The name comes with events of devices.
void learn(DeviceNames &names, const Event &event)
{
	if (event.device && event.command != MPA_CMD_DEV_DEL_NTF)
		names[event.device->index] = event.device->name;
}

// Events of devices may be among those that were lost. If the kernel is short of memory,
// which is why they may have been, the names stay as they are.
void list_again(DeviceNames &names, Transport &mpa)
{
	try {
		names = names_of(mpa.devices().items);
	} catch (const Unavailable &) {
		throw;
	} catch (const Error &) {
	}
}

} // namespace

void setup_monitor(CommandLine &line)
{
	add_command<MonitorOptions>(
		line, "monitor", "Show events until interrupted",
		[](Syntax command, MonitorOptions &options) {
			command.option("--kinds", options.kinds, kind_values(),
				       "only events of these kinds")
				->delimiter(',')
				->allow_extra_args(false);
		},
		run_monitor);
}

Exit run_monitor(const MonitorOptions &options, Context &context)
{
	const auto events = context.mpa().events();
	auto names = names_of(context.mpa().devices().items);

	for (;;) {
		const auto notice = events->next();
		const auto now = context.clock.wall();

		if (std::holds_alternative<Stopped>(notice))
			return Exit::ok;
		if (const auto *lost = std::get_if<Lost>(&notice)) {
			context.out.stream(LostView(*lost, now));
			list_again(names, context.mpa());
			continue;
		}
		const auto &event = std::get<Event>(notice);

		learn(names, event);
		if (wanted(options.kinds, event))
			context.out.stream(EventView(event, names, now));
	}
}

} // namespace mpactl
