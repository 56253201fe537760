/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Test data in which every byte depends on its position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace bench {

// The message that bytes belong to: its connection, its number counted from 0,
// and the side that sends it.
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

// Position of the first wrong byte in the message.
std::optional<std::uint64_t>
pattern_mismatch(const MessageId &id, std::uint64_t offset,
		 std::span<const std::byte> bytes) noexcept;

// As pattern_mismatch(), but throws Failure with the position and both bytes.
void pattern_require(const MessageId &id, std::uint64_t offset,
		     std::span<const std::byte> bytes);

} // namespace bench
