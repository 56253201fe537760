// SPDX-License-Identifier: GPL-2.0-only
//
// Byte sequences; numbers in them have the most significant byte first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace peer {

using Bytes = std::vector<std::uint8_t>;

inline void put(Bytes &to, std::uint64_t value, int bytes)
{
	for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
		to.push_back(static_cast<std::uint8_t>(value >> shift));
}

inline std::uint64_t get(const Bytes &from, std::size_t at, int bytes)
{
	std::uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value = value << 8 | from.at(at + i);
	return value;
}

template <typename... More> Bytes join(Bytes all, const More &...more)
{
	(all.insert(all.end(), more.begin(), more.end()), ...);
	return all;
}

inline Bytes zeros(std::size_t count, std::uint8_t value = 0)
{
	return Bytes(count, value);
}

inline Bytes text(std::string_view words)
{
	return Bytes(words.begin(), words.end());
}

// Bytes that differ from their neighbours, and from those of another seed.
inline Bytes pattern(std::size_t count, std::uint32_t seed)
{
	Bytes bytes(count);
	std::uint32_t state = seed * 2654435761u + 1;

	for (auto &byte : bytes) {
		state = state * 1664525 + 1013904223;
		byte = static_cast<std::uint8_t>(state >> 24);
	}
	return bytes;
}

inline Bytes first(const Bytes &bytes, std::size_t count)
{
	return Bytes(bytes.begin(),
		     bytes.begin() + std::min(count, bytes.size()));
}

inline Bytes rest(const Bytes &bytes, std::size_t from)
{
	return Bytes(bytes.begin() + std::min(from, bytes.size()),
		     bytes.end());
}

inline Bytes repeat(const Bytes &what, std::size_t times)
{
	Bytes all;

	all.reserve(what.size() * times);
	for (std::size_t i = 0; i < times; i++)
		all.insert(all.end(), what.begin(), what.end());
	return all;
}

// Text for people; of long sequences only the beginning.
std::string hex(const Bytes &bytes, std::size_t most = 48);

} // namespace peer
