/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/listen.hpp"

#include "base/words.hpp"
#include "show/views.hpp"

namespace mpactl {

void setup_listen(CommandLine &line)
{
	add_command<ListenOptions>(
		line, "listen", "Show listeners",
		[](Syntax command, ListenOptions &options) {
			command.synopsis("[show] [ID]");
			command.argument(options.id, listener_id(),
					 "show only the listener with this id");
			command.keyword("show", "optional, has no effect");
		},
		run_listen);
}

Exit run_listen(const ListenOptions &options, Context &context)
{
	std::vector<Listener> listeners;

	if (options.id)
		listeners.push_back(
			context.mpa().listener(number_of(*options.id, "id")));
	else
		listeners = whole(context, context.mpa().listeners(), "listeners");
	context.out.show(ListenerTable(
		std::move(listeners), names_of(context.mpa().devices().items)));
	return Exit::ok;
}

} // namespace mpactl
