/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Bytes of a peer that are printed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cli {

// As text that is safe to print on a terminal. A backslash is escaped, too, so that bytes
// which differ do so afterwards.
inline std::string printable(std::span<const std::byte> bytes)
{
	constexpr std::string_view digits = "0123456789abcdef";
	std::string text;

	for (const auto byte : bytes) {
		const auto c = std::to_integer<unsigned char>(byte);

		if (c >= 0x20 && c <= 0x7e && c != '\\') {
			text += static_cast<char>(c);
		} else {
			text += "\\x";
			text += digits[c >> 4];
			text += digits[c & 15];
		}
	}
	return text;
}

} // namespace cli
