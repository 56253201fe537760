/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The text of --help: like CLI11's, with keywords, their possible values, and
// lines of at most 80 characters.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

class Help : public CLI::Formatter {
public:
	explicit Help(const CommandLine &line) : line_(line) {}

	std::string make_usage(const CLI::App *app, std::string name) const override;
	std::string make_positionals(const CLI::App *app) const override;
	std::string
	make_group(std::string group, bool is_positional,
		   std::vector<const CLI::Option *> options) const override;
	std::string make_subcommands(const CLI::App *app,
				     CLI::AppFormatMode mode) const override;
	std::string make_footer(const CLI::App *app) const override;

private:
	std::string row(const CLI::Option *option, bool is_positional) const;
	std::string row(const CLI::App *keyword) const;

	const CommandLine &line_;
};

} // namespace mpactl
