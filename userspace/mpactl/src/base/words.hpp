/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Words that users type: numbers, and suggestions for misspelled words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mpactl {

// Parses a decimal number of 32 bits. Throws UsageError "what: ..." if the word is
// not such a number.
std::uint32_t number_of(std::string_view word, std::string_view what);

// The known word that is most similar to `word`; empty if none is similar.
std::string_view nearest(std::string_view word,
			 const std::vector<std::string_view> &known);

// "; did you mean 'x'?" with that word, or an empty string.
std::string suggestion(std::string_view word,
		       const std::vector<std::string_view> &known);
// The suggestion, followed by all known words, if there are any.
std::string choices(std::string_view word,
		    const std::vector<std::string_view> &known);

} // namespace mpactl
