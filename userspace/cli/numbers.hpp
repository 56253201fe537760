/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Numbers on command lines. CLI11 takes 010 for 8, and "nan" for a number of any range.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace cli {

// Checks of an option: they return an error message, or nothing.

inline std::string decimal(const std::string &text)
{
	std::string_view digits = text;

	if (digits.starts_with('-'))
		digits.remove_prefix(1);
	const bool zeros = digits.size() > 1 && digits[0] == '0';

	return zeros || digits.empty() ||
			       digits.find_first_not_of("0123456789") != digits.npos
		       ? "'" + text + "' is not a decimal number" : "";
}

inline std::string finite(const std::string &text)
{
	return text.find_first_of("nN") == text.npos ? "" : "'" + text + "' is not a number";
}

// All options that are numbers to CLI11, also of the subcommands, have these checks.
inline void check_numbers(CLI::App &app)
{
	for (auto *option : app.get_options()) {
		const std::string type = option->get_type_name();

		if (type.starts_with("INT") || type.starts_with("UINT"))
			option->check(decimal);
		else if (type.starts_with("FLOAT"))
			option->check(finite);
	}
	for (auto *command : app.get_subcommands([](CLI::App *) { return true; }))
		check_numbers(*command);
}

} // namespace cli
