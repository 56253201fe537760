/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "cli/help.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace mpactl {

namespace {

constexpr std::size_t line_width = 80;
// Where explanations begin.
constexpr std::size_t column = 26;
constexpr std::size_t usage_indent = 13;

// The text in lines that begin at `column`, all but the first one indented.
std::string wrapped(const std::string &text)
{
	std::string lines;
	std::size_t width = 0;

	for (std::size_t at = 0; at < text.size();) {
		const auto end = std::min(text.find(' ', at), text.size());
		const auto size = end - at;

		if (width && column + width + 1 + size > line_width) {
			lines += "\n" + std::string(column, ' ');
			width = 0;
		}
		if (width) {
			lines += ' ';
			width++;
		}
		lines.append(text, at, size);
		width += size;
		at = end + 1;
	}
	return lines;
}

std::string row_of(const std::string &name, const std::string &text)
{
	// Two blanks at least between the columns.
	if (name.size() + 4 > column)
		return fmt::format("  {}\n{:{}}{}\n", name, "", column,
				   wrapped(text));
	return fmt::format("  {:<{}}{}\n", name, column - 2, wrapped(text));
}

// The line, followed by the arguments, in lines that are not too long. A part in
// brackets stays in one line.
std::string usage_lines(std::string line, const std::string &arguments)
{
	std::string lines;
	std::size_t begin = 0;
	int depth = 0;

	for (std::size_t at = 0; at <= arguments.size(); at++) {
		const char c = at < arguments.size() ? arguments[at] : ' ';

		depth += (c == '[') - (c == ']');
		if (c != ' ' || depth || at == begin)
			continue;
		if (line.size() + 1 + at - begin > line_width) {
			lines += line + "\n";
			line = std::string(usage_indent, ' ');
		}
		line += " " + arguments.substr(begin, at - begin);
		begin = at + 1;
	}
	return lines + line + "\n";
}

// The explanation, and the possible words if the name of the value is none of
// them.
std::string explained(const std::string &help, const Values *values)
{
	if (!values || values->words.empty() ||
	    values->name.find(values->words.front().word) != std::string::npos)
		return help;
	return fmt::format("{}: {}", help, values->text());
}

} // namespace

std::string Help::row(const CLI::Option *option, bool is_positional) const
{
	const auto *values = values_of(line_, option);
	auto name = is_positional ? values ? values->name : option->get_name()
				  : option->get_name(false, true);
	auto help = explained(option->get_description(), values);

	if (!is_positional && values)
		name += " " + values->name;
	if (!option->get_default_str().empty())
		help += fmt::format(" (default: {})", option->get_default_str());
	return row_of(name, help);
}

std::string Help::row(const CLI::App *keyword) const
{
	const auto arguments = arguments_of(*keyword);
	auto name = keyword->get_name();
	auto help = keyword->get_description();

	if (keyword->get_parent() == &line_.app)
		return row_of(name, help);
	for (const auto *one : arguments) {
		const auto *values = values_of(line_, one);

		name += " " + (values ? values->name : one->get_name());
		help = explained(help, values);
	}
	return row_of(name, help);
}

std::string Help::make_usage(const CLI::App *app, std::string) const
{
	const auto found = line_.synopsis.find(app);
	const auto path = path_of(*app);
	std::string arguments;

	if (found != line_.synopsis.end())
		arguments = found->second;
	else if (app == &line_.app)
		arguments = "COMMAND [ARGUMENT...]";
	else
		for (const auto *one : arguments_of(*app))
			if (const auto *values = values_of(line_, one))
				arguments += (arguments.empty() ? "" : " ") +
					     values->name;
	return "\n" + usage_lines(fmt::format("Usage: mpactl{}{} [OPTIONS]",
					      path.empty() ? "" : " ", path),
				  arguments);
}

// The arguments, and the values of each if these have explanations.
std::string Help::make_positionals(const CLI::App *app) const
{
	std::string rows, values_rows;

	for (const auto *one : arguments_of(*app)) {
		const auto *values = values_of(line_, one);

		rows += row(one, true);
		if (!values)
			continue;
		for (const auto *words : {&values->words, &values->alone})
			for (const auto &[word, remark] : *words)
				if (!remark.empty())
					values_rows += row_of(word, remark);
	}
	if (rows.empty())
		return rows;
	if (!values_rows.empty())
		values_rows = "\nValues:\n" + values_rows;
	return "\nArguments:\n" + rows + values_rows;
}

std::string Help::make_group(std::string group, bool is_positional,
			     std::vector<const CLI::Option *> options) const
{
	auto text = "\n" + group + ":\n";

	for (const auto *one : options)
		text += row(one, is_positional);
	return text;
}

std::string Help::make_subcommands(const CLI::App *app, CLI::AppFormatMode) const
{
	const auto all = app->get_subcommands(
		[](const CLI::App *one) { return !one->get_group().empty(); });
	std::vector<std::string> groups;
	std::string text;

	for (const auto *one : all)
		if (std::find(groups.begin(), groups.end(), one->get_group()) ==
		    groups.end())
			groups.push_back(one->get_group());
	for (const auto &group : groups) {
		text += "\n" + group + ":\n";
		for (const auto *one : all)
			if (one->get_group() == group)
				text += row(one);
	}
	return text;
}

std::string Help::make_footer(const CLI::App *app) const
{
	auto text = app->get_footer();

	if (app == &line_.app)
		return text + "\n";
	if (!text.empty())
		text += "\n\n";
	return text + "Options of all commands: see 'mpactl --help'.\n";
}

} // namespace mpactl
