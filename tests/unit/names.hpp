// SPDX-License-Identifier: GPL-2.0-only
//
// Names of rows of tables become names of tests.
#pragma once

#include <cctype>
#include <cstddef>
#include <string>

inline std::string name_of_row(const char *text, std::size_t index)
{
	std::string name;

	for (const char *p = text; *p; p++) {
		if (std::isalnum(static_cast<unsigned char>(*p)))
			name += *p;
		else if (!name.empty() && name.back() != '_')
			name += '_';
	}
	return name + "_row" + std::to_string(index);
}
