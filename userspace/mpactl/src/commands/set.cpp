/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/set.hpp"

#include <fmt/format.h>

#include "base/words.hpp"
#include "model/settings.hpp"
#include "model/target.hpp"

namespace mpactl {

namespace {

constexpr const char *inherit = "inherit";

const Setting &need_setting(Words &words)
{
	const auto &name = words.need("setting");
	std::vector<std::string_view> names{"dev", "listen"};

	if (const auto *setting = setting_named(name))
		return *setting;
	for (const auto &setting : settings())
		names.push_back(setting.name);
	const auto near = nearest(name, names);

	if (near.empty())
		throw UsageError(fmt::format("there is no setting '{}'; 'mpactl "
					     "get' shows all", name));
	throw UsageError(fmt::format("there is no setting '{}'; '{}'?", name,
				     near));
}

Change change_from(Words &words)
{
	Change change{target_from(words), {}, 0};

	do {
		const auto &setting = need_setting(words);
		const auto &value = words.need("value of " + setting.name);

		if (change.to.has(setting.key) ||
		    change.inherit & Settings::bit(setting.key))
			throw UsageError(setting.name + " is there twice");
		if (value == inherit)
			change.inherit |= Settings::bit(setting.key);
		else
			change.to.set(setting.key, value_from(setting, value));
	} while (!words.done());
	return change;
}

} // namespace

void setup_set(CLI::App &app, Run &chosen)
{
	add_command<SetOptions>(
		app, chosen, "set",
		"Change settings: [dev NAME | listen ID] KEY VALUE|inherit...",
		[](CLI::App &command, SetOptions &options) {
			command.add_option("words", options.words,
					   "[dev NAME | listen ID] KEY VALUE...");
			command.add_flag("--check", options.check,
					 "only ask whether it could be done");
		},
		run_set);
}

Exit run_set(const SetOptions &options, Context &context)
{
	Words words(options.words);
	const auto change = change_from(words);
	const auto remark = context.mpa().change({&change, 1}, options.check);

	if (!remark.empty())
		context.warn(remark);
	return Exit::ok;
}

} // namespace mpactl
