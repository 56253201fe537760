/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/get.hpp"

#include "show/settings_view.hpp"

namespace mpactl {

namespace {

// The object, followed by the objects from which it inherits.
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

void setup_get(CommandLine &line)
{
	add_command<TargetOptions>(
		line, "get", "Show the settings in use and where each was set",
		[](Syntax command, TargetOptions &options) {
			command.synopsis("[dev DEVICE | listen ID]");
			setup_target(command, options);
		},
		run_get);
}

Exit run_get(const TargetOptions &options, Context &context)
{
	context.out.show(SettingsView(
		sources_of(target_from(options), context.mpa())));
	return Exit::ok;
}

} // namespace mpactl
