/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Words for the numbers of <linux/mpa_netlink.h>.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace mpactl {

struct Word {
	std::uint32_t number;
	std::string_view text;
	// Explanation, or empty.
	std::string_view help = {};
};

// By number.
extern const std::vector<Word> phase_words;
extern const std::vector<Word> owner_words;
extern const std::vector<Word> rtr_words;
extern const std::vector<Word> code_words;
extern const std::vector<Word> failure_words;
extern const std::vector<Word> stats_words;
extern const std::vector<Word> framing_send_words;
extern const std::vector<Word> framing_receive_words;
extern const std::vector<Word> framing_stats_words;

// The word, or the number if it is unknown, as with a later kernel.
std::string word_for(const std::vector<Word> &words, std::uint32_t number);
std::optional<std::uint32_t> number_for(const std::vector<Word> &words,
					std::string_view text);
std::vector<std::string_view> texts_of(const std::vector<Word> &words);

// The words of a set's bits, in order; bits without a word as "0x...".
std::vector<std::string> set_words(const std::vector<Word> &words,
				   std::uint32_t set);
std::string set_text(const std::vector<Word> &words, std::uint32_t set);

// 10.0.0.1, fe80::1%eth0.
std::string address_text(const Endpoint &endpoint);
// 10.0.0.1:7000, [fe80::1%eth0]:7000, or "*:7000" for any address.
std::string endpoint_text(const Endpoint &endpoint);

// 950 ms, 12 s, 3 min 5 s, 2 h 4 min, 5 d 1 h.
std::string age_text(std::uint64_t ms);
// 999, 1.2 k, 34 M.
std::string count_text(double value);
// 999 B, 1.2 KiB, 34 MiB.
std::string bytes_text(double bytes);
// ECONNRESET, or the number.
std::string errno_text(std::uint32_t number);

} // namespace mpactl
