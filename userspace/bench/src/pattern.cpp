/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "pattern.hpp"

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "failure.hpp"

namespace bench {

namespace {

using Word = std::array<std::byte, 8>;

// The values of neighbours in each coordinate differ in about half of their
// bits, so that both shifted data and data of an older message are noticed.
std::uint64_t mix(std::uint64_t value) noexcept
{
	value ^= value >> 31;
	value *= 0x7fb5d329728ea185;
	value ^= value >> 27;
	value *= 0x81dadef4bc2dd44d;
	return value ^ (value >> 33);
}

std::uint64_t seed_of(const MessageId &id) noexcept
{
	return mix(mix(id.number + 1) + id.connection * 2 + id.from_client);
}

// The bytes do not depend on the byte order of the machine.
Word word_at(std::uint64_t seed, std::uint64_t index) noexcept
{
	const std::uint64_t value = mix(seed + index);
	Word word;

	for (std::size_t i = 0; i < word.size(); i++)
		word[i] = static_cast<std::byte>(value >> (8 * i));
	return word;
}

// Calls visit(position in the span, pattern there) for each piece that lies
// within one word of the pattern; stops when that returns false.
template <typename Visit>
void each_piece(const MessageId &id, std::uint64_t offset, std::size_t size,
		Visit visit) noexcept
{
	const std::uint64_t seed = seed_of(id);

	for (std::size_t at = 0; at < size;) {
		const Word word = word_at(seed, (offset + at) / 8);
		const std::size_t skip = (offset + at) % 8;
		const std::size_t length = std::min(word.size() - skip, size - at);

		if (!visit(at, std::span(word).subspan(skip, length)))
			return;
		at += length;
	}
}

} // namespace

std::byte pattern_byte(const MessageId &id, std::uint64_t offset) noexcept
{
	return word_at(seed_of(id), offset / 8)[offset % 8];
}

void pattern_fill(const MessageId &id, std::uint64_t offset,
		  std::span<std::byte> bytes) noexcept
{
	each_piece(id, offset, bytes.size(),
		   [&](std::size_t at, std::span<const std::byte> piece) {
			   std::memcpy(&bytes[at], piece.data(), piece.size());
			   return true;
		   });
}

std::optional<std::uint64_t>
pattern_mismatch(const MessageId &id, std::uint64_t offset,
		 std::span<const std::byte> bytes) noexcept
{
	std::optional<std::uint64_t> wrong;

	each_piece(id, offset, bytes.size(),
		   [&](std::size_t at, std::span<const std::byte> piece) {
			   for (std::size_t i = 0; i < piece.size() && !wrong; i++)
				   if (bytes[at + i] != piece[i])
					   wrong = offset + at + i;
			   return !wrong;
		   });
	return wrong;
}

void pattern_require(const MessageId &id, std::uint64_t offset,
		     std::span<const std::byte> bytes)
{
	const auto wrong = pattern_mismatch(id, offset, bytes);

	if (!wrong)
		return;
	throw Failure(fmt::format("wrong data: connection {}, message {} of the {}, "
				  "byte {}: {:#04x}, expected {:#04x}",
				  id.connection, id.number,
				  id.from_client ? "client" : "server", *wrong,
				  std::to_integer<int>(bytes[*wrong - offset]),
				  std::to_integer<int>(pattern_byte(id, *wrong))),
		      Status::wrong_data);
}

} // namespace bench
