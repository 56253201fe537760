/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What a service that does not speak MPA may be, by the first bytes it sends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mpactl {

// Empty: no idea.
std::string_view guess_service(std::span<const std::uint8_t> bytes);

// "4d 50 41", all of them.
std::string hex(std::span<const std::uint8_t> bytes,
		std::string_view between = " ");

// What is printable as it is, the rest as dots.
std::string printable(std::span<const std::uint8_t> bytes);

} // namespace mpactl
