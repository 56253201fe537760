/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "base/release.hpp"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace mpactl {

namespace {

using Numbers = std::array<unsigned int, 3>;

constexpr std::string_view own_release = MPA_VERSION;

std::optional<Numbers> numbers_of(std::string_view release)
{
	Numbers numbers{};
	const char *at = release.data();
	const char *const end = at + release.size();

	for (std::size_t i = 0; i < numbers.size(); i++) {
		const auto [next, error] = std::from_chars(at, end, numbers[i]);

		if (error != std::errc())
			return std::nullopt;
		at = next;
		if (i + 1 < numbers.size() && (at == end || *at++ != '.'))
			return std::nullopt;
	}
	return numbers;
}

} // namespace

std::string different_release(std::string_view module)
{
	while (module.ends_with('\n'))
		module.remove_suffix(1);

	const auto theirs = numbers_of(module);
	const auto ours = numbers_of(own_release);

	if (!theirs || !ours || *theirs == *ours)
		return {};
	return fmt::format("mpactl is {}, the module mpa {}: upgrade {}", own_release,
			   module,
			   *theirs > *ours ? "mpactl" : "the modules");
}

} // namespace mpactl
