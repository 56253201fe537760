/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "base/words.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "base/error.hpp"

namespace mpactl {

namespace {

// Number of insertions, removals and replacements that convert one to the other.
std::size_t distance(std::string_view from, std::string_view to)
{
	std::vector<std::size_t> row(to.size() + 1);

	std::iota(row.begin(), row.end(), 0u);
	for (std::size_t i = 0; i < from.size(); i++) {
		auto diagonal = row[0]++;

		for (std::size_t j = 0; j < to.size(); j++) {
			const auto replaced = diagonal + (from[i] != to[j]);

			diagonal = row[j + 1];
			row[j + 1] = std::min({replaced, row[j] + 1,
					       row[j + 1] + 1});
		}
	}
	return row.back();
}

} // namespace

std::uint32_t number_of(std::string_view word, std::string_view what)
{
	std::uint32_t value = 0;
	const auto *end = word.data() + word.size();
	const auto got = std::from_chars(word.data(), end, value);

	if (word.empty() || got.ec != std::errc{} || got.ptr != end)
		throw UsageError(fmt::format("{}: '{}' is not a number of 0 .. "
					     "4294967295", what, word));
	return value;
}

std::string_view nearest(std::string_view word,
			 const std::vector<std::string_view> &known)
{
	std::string_view best;
	// With this many wrong letters the word is not similar.
	std::size_t least = std::min<std::size_t>(word.size() / 2 + 1, 4);

	// Longer than any known word.
	if (word.size() > 64)
		return best;
	for (const auto one : known) {
		if (word.size() >= 3 && one.starts_with(word))
			return one;
		if (const auto far = distance(word, one); far < least) {
			best = one;
			least = far;
		}
	}
	return best;
}

std::string suggestion(std::string_view word,
		       const std::vector<std::string_view> &known)
{
	const auto near = nearest(word, known);

	return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

std::string choices(std::string_view word,
		    const std::vector<std::string_view> &known)
{
	const auto near = suggestion(word, known);

	if (known.empty())
		return near;
	return fmt::format("{}{}ossible: {}", near, near.empty() ? "; p" : " P",
			   fmt::join(known, ", "));
}

} // namespace mpactl
