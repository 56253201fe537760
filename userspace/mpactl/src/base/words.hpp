/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The words after a subcommand, one after the other, as in `dev NAME phase P`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace mpactl {

class Words {
public:
	explicit Words(const std::vector<std::string> &words) : words_(words) {}

	bool done() const { return next_ == words_.size(); }
	// Takes the next word if it is this one.
	bool take(std::string_view word);
	// The next word; UsageError "what is missing" if there is none.
	const std::string &need(std::string_view what);
	std::uint32_t need_number(std::string_view what);
	// UsageError if words are left; `known` are those that could follow.
	void expect_end(std::initializer_list<std::string_view> known = {}) const;

private:
	const std::vector<std::string> &words_;
	std::size_t next_ = 0;
};

// The whole word as a decimal number of 32 bits; UsageError "what: ..." if not.
std::uint32_t number_of(std::string_view word, std::string_view what);

// The one of `known` that `word` was perhaps meant to be, or empty.
std::string_view nearest(std::string_view word,
			 const std::vector<std::string_view> &known);

} // namespace mpactl
