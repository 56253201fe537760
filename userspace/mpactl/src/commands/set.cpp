/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/set.hpp"

#include <fmt/format.h>

#include "model/settings.hpp"

namespace mpactl {

namespace {

constexpr const char *inherit = "inherit";
constexpr const char *set_footer =
	"'inherit' removes the value that was set at the object, which then uses the\n"
	"value of its device or of the namespace. TIME is a number with one of the units\n"
	"ms, s, min and h; without a unit it is in milliseconds. Either all settings of\n"
	"a command are changed, or none.";

Values values_for(const Setting &setting)
{
	const Candidate inherited{inherit, "remove the value that was set here"};
	auto words = candidates_of(setting.words);

	switch (setting.kind) {
	case Setting::Kind::word:
	case Setting::Kind::toggle:
		words.push_back(inherited);
		return one_of(std::move(words));
	case Setting::Kind::set:
		return {.name = fmt::format("{}|all|inherit",
					    fmt::join(texts_of(setting.words), ",")),
			.words = std::move(words),
			.list = true,
			.alone = {{"all", ""}, inherited}};
	case Setting::Kind::number:
		return {.name = "NUMBER|inherit", .alone = {inherited}};
	case Setting::Kind::duration:
		return {.name = "TIME|inherit", .alone = {inherited}};
	}
	return any("VALUE");
}

std::string help_for(const Setting &setting)
{
	const bool numeric = setting.kind == Setting::Kind::number ||
			     setting.kind == Setting::Kind::duration;

	return numeric ? fmt::format("{} ({})", setting.help,
				     values_text(setting))
		       : setting.help;
}

Change change_from(const SetOptions &options)
{
	Change change{target_from(options.target), {}, 0};

	for (const auto &setting : settings()) {
		const auto &value = options.values.at(setting.key);

		if (!value)
			continue;
		if (*value == inherit)
			change.inherit |= Settings::bit(setting.key);
		else
			change.to.set(setting.key, value_from(setting, *value));
	}
	return change;
}

void check_not_empty(const Change &change)
{
	std::vector<std::string_view> names;

	if (change.inherit || !change.to.empty())
		return;
	for (const auto &setting : settings())
		names.push_back(setting.name);
	throw UsageError(fmt::format("set: a setting is missing; possible: {}",
				     fmt::join(names, ", ")));
}

} // namespace

void setup_set(CommandLine &line)
{
	add_command<SetOptions>(
		line, "set", "Change settings for new connections",
		[](Syntax command, SetOptions &options) {
			command.synopsis("[dev DEVICE | listen ID] "
					 "SETTING VALUE [SETTING VALUE...]");
			command.flag("--check", options.check,
				     "only ask the kernel whether it would accept "
				     "the change");
			setup_target(command, options.target);
			for (const auto &setting : settings())
				command.keyword(setting.name,
						options.values[setting.key],
						values_for(setting),
						help_for(setting), "Settings");
			command.footer(set_footer);
		},
		run_set);
}

Exit run_set(const SetOptions &options, Context &context)
{
	const auto change = change_from(options);

	check_not_empty(change);
	const auto remark = context.mpa().change({&change, 1}, options.check);

	if (!remark.empty())
		context.warn(remark);
	return Exit::ok;
}

} // namespace mpactl
