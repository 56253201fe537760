// SPDX-License-Identifier: GPL-2.0-only
#include <charconv>

#include "program.hpp"

namespace programs
{

std::string to_string(const Name &name)
{
	std::string text;

	for (std::uint64_t seed : name)
		text += (text.empty() ? "" : ".") + std::to_string(seed);
	return text;
}

std::optional<Name> from_string(const std::string &text)
{
	const char *at = text.data(), *const end = at + text.size();
	Name name;

	while (at < end) {
		std::uint64_t seed = 0;
		const auto [next, error] = std::from_chars(at, end, seed);

		if (error != std::errc{} || (next < end && *next != '.'))
			return {};
		name.push_back(seed);
		at = next + 1;
	}
	if (name.empty())
		return {};
	return name;
}

} // namespace programs
