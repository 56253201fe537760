/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "cli/command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/words.hpp"

namespace mpactl {

namespace {

// Throws UsageError if the word is not one of the possible ones.
void check(const Values &values, const std::string &what, const std::string &word)
{
	std::vector<std::string_view> known;

	for (const auto &one : values.words)
		known.push_back(one.word);
	if (std::find(known.begin(), known.end(), word) != known.end())
		return;
	throw UsageError(fmt::format("{}: '{}' is not one of {}{}", what, word,
				     values.text(), suggestion(word, known)));
}

bool is_available(const CommandLine &line, const CLI::App *keyword,
		  const std::function<bool(const CLI::App *)> &used)
{
	const auto found = line.excluded.find(keyword);

	return !used(keyword) &&
	       (found == line.excluded.end() ||
		std::none_of(found->second.begin(), found->second.end(), used));
}

} // namespace

void Syntax::synopsis(const std::string &text)
{
	line_.synopsis[&command_] = text;
}

void Syntax::footer(const std::string &text)
{
	command_.footer(text);
}

CLI::Option *Syntax::flag(const std::string &names, bool &target,
			  const std::string &help)
{
	return command_.add_flag(names, target, help);
}

void Syntax::keyword(const std::string &name, const std::string &help)
{
	command_.add_subcommand(name, help)->group("Keywords");
}

CLI::App *Syntax::keyword(const std::string &name,
			  std::optional<std::string> &target, Values values,
			  const std::string &help, const std::string &group)
{
	auto *word = command_.add_subcommand(name, help)->group(group);
	auto *value = word->add_option("VALUE", target, help)->required();

	if (values.closed)
		value->check([values, name](const std::string &text) {
			check(values, name, text);
			return std::string();
		});
	value->type_name(values.name);
	line_.values.emplace(value, std::move(values));
	return word;
}

void Syntax::exclusive(const std::vector<CLI::App *> &keywords)
{
	for (auto *one : keywords)
		for (auto *other : keywords)
			if (one != other) {
				one->excludes(other);
				line_.excluded[one].insert(other);
			}
}

CLI::Option *Syntax::complete(CLI::Option *option, Values values)
{
	if (values.closed)
		option->check([values, name = option->get_name()](
				      const std::string &text) {
			check(values, name, text);
			return std::string();
		});
	option->type_name(values.name);
	line_.values.emplace(option, std::move(values));
	return option;
}

const Values *values_of(const CommandLine &line, const CLI::Option *option)
{
	const auto found = line.values.find(option);

	return found == line.values.end() ? nullptr : &found->second;
}

std::vector<const CLI::Option *> arguments_of(const CLI::App &app)
{
	return app.get_options([](const CLI::Option *option) {
		return option->get_positional();
	});
}

std::string path_of(const CLI::App &app)
{
	if (!app.get_parent())
		return {};
	const auto before = path_of(*app.get_parent());

	return before.empty() ? app.get_name() : before + " " + app.get_name();
}

std::vector<const CLI::App *>
possible_keywords(const CommandLine &line, const CLI::App &last,
		  const std::function<bool(const CLI::App *)> &used)
{
	std::vector<const CLI::App *> found;
	const auto *command = &last;

	while (command->get_parent() != &line.app && command->get_parent())
		command = command->get_parent();
	for (const auto *one : command->get_subcommands(nullptr)) {
		// A keyword without a value can only follow the command itself.
		if (arguments_of(*one).empty() && &last != command)
			continue;
		if (is_available(line, one, used))
			found.push_back(one);
	}
	return found;
}

} // namespace mpactl
