/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/get.hpp"

#include "base/words.hpp"
#include "model/target.hpp"
#include "show/settings_view.hpp"

namespace mpactl {

namespace {

// What an object has, and what it may inherit from, nearest first.
std::vector<Source> sources_of(const Target &target, Transport &mpa)
{
	std::vector<Source> sources;
	std::optional<std::uint32_t> parent;

	if (target.kind == Target::Kind::listener) {
		const auto listener = mpa.listener(target.id);

		sources.push_back({target, listener.config});
		parent = listener.dev_index;
	}
	if (target.kind == Target::Kind::device)
		sources.push_back({target, mpa.device(target.name).config});
	if (parent)
		for (const auto &device : mpa.devices().items)
			if (device.index == *parent)
				sources.push_back({Target::device(device.name),
						   device.config});
	sources.push_back({{}, mpa.defaults().config});
	return sources;
}

} // namespace

void setup_get(CLI::App &app, Run &chosen)
{
	add_command<GetOptions>(
		app, chosen, "get",
		"Settings in force, and their origin: [dev NAME | listen ID]",
		[](CLI::App &command, GetOptions &options) {
			command.add_option("words", options.words,
					   "[dev NAME | listen ID]");
		},
		run_get);
}

Exit run_get(const GetOptions &options, Context &context)
{
	Words words(options.words);
	const auto target = target_from(words);

	words.expect_end({"dev", "listen"});
	context.out.show(SettingsView(sources_of(target, context.mpa())));
	return Exit::ok;
}

} // namespace mpactl
