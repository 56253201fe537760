/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/listen.hpp"

#include "base/words.hpp"
#include "show/views.hpp"

namespace mpactl {

void setup_listen(CLI::App &app, Run &chosen)
{
	add_command<ListenOptions>(
		app, chosen, "listen", "Listeners: [show] [ID]",
		[](CLI::App &command, ListenOptions &options) {
			command.add_option("words", options.words, "[show] [ID]");
		},
		run_listen);
}

Exit run_listen(const ListenOptions &options, Context &context)
{
	Words words(options.words);
	std::vector<Listener> listeners;

	words.take("show");
	if (words.done()) {
		listeners = whole(context, context.mpa().listeners(), "listeners");
	} else {
		const auto id = words.need_number("id");

		words.expect_end();
		listeners.push_back(context.mpa().listener(id));
	}
	context.out.show(ListenerTable(
		std::move(listeners), names_of(context.mpa().devices().items)));
	return Exit::ok;
}

} // namespace mpactl
