/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Guesses which service a peer without MPA is, from the first bytes that it sends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mpactl {

// Empty if the service is unknown.
std::string_view guess_service(std::span<const std::uint8_t> bytes);

// "4d 50 41".
std::string hex(std::span<const std::uint8_t> bytes,
		std::string_view between = " ");

// Printable characters, and dots for all others.
std::string printable(std::span<const std::uint8_t> bytes);

} // namespace mpactl
