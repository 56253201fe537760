/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "base/words.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "base/error.hpp"

namespace mpactl {

namespace {

// Insertions, removals and replacements that make one of the other.
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

bool Words::take(std::string_view word)
{
	if (done() || words_[next_] != word)
		return false;
	next_++;
	return true;
}

const std::string &Words::need(std::string_view what)
{
	if (done())
		throw UsageError(fmt::format("{} is missing", what));
	return words_[next_++];
}

std::uint32_t Words::need_number(std::string_view what)
{
	return number_of(need(what), what);
}

void Words::expect_end(std::initializer_list<std::string_view> known) const
{
	if (done())
		return;
	const auto &word = words_[next_];
	const auto near = nearest(word, known);

	throw UsageError(near.empty()
				 ? fmt::format("'{}' is not understood here", word)
				 : fmt::format("'{}' is not understood here; "
					       "'{}'?", word, near));
}

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
	// More wrong letters than this make it another word.
	std::size_t least = std::min<std::size_t>(word.size() / 2 + 1, 4);

	// What somebody types is not longer than any of ours by far.
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

} // namespace mpactl
