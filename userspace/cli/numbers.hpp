/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Numbers on command lines. CLI11 takes 010 for 8, and "nan" for a number of any range.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace cli {

// A check of an option: returns an error message, or nothing.
inline std::string plain_number(const std::string &text)
{
	std::string_view digits = text;

	if (digits.starts_with('-'))
		digits.remove_prefix(1);
	if (digits.size() > 1 && digits[0] == '0' && digits[1] != '.')
		return "'" + text + "' has a leading zero";
	return digits.find_first_of("nN") == digits.npos ? "" : "'" + text + "' is no number";
}

// All options that are numbers to CLI11, also of the subcommands, have this check.
inline void check_numbers(CLI::App &app)
{
	for (auto *option : app.get_options()) {
		const std::string type = option->get_type_name();

		if (type.starts_with("INT") || type.starts_with("UINT") ||
		    type.starts_with("FLOAT"))
			option->check(plain_number);
	}
	for (auto *command : app.get_subcommands([](CLI::App *) { return true; }))
		check_numbers(*command);
}

} // namespace cli
