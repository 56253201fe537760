/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Data that says of each byte which it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace bench {

// The message that bytes belong to: of one connection, counted from 0, and
// from which side.
struct MessageId {
	std::uint32_t connection = 0;
	std::uint64_t number = 0;
	bool from_client = true;

	bool operator==(const MessageId &) const = default;
};

// Byte `offset` of the message.
std::byte pattern_byte(const MessageId &id, std::uint64_t offset) noexcept;

// Bytes of the message from `offset` on.
void pattern_fill(const MessageId &id, std::uint64_t offset,
		  std::span<std::byte> bytes) noexcept;

// Where in the message the first wrong byte is.
std::optional<std::uint64_t>
pattern_mismatch(const MessageId &id, std::uint64_t offset,
		 std::span<const std::byte> bytes) noexcept;

// As pattern_mismatch(), but throws Failure with the position and both bytes.
void pattern_require(const MessageId &id, std::uint64_t offset,
		     std::span<const std::byte> bytes);

} // namespace bench
