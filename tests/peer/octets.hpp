// SPDX-License-Identifier: GPL-2.0-only
//
// Runs of octets, most significant first where they are numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace peer {

using Octets = std::vector<std::uint8_t>;

inline void put(Octets &to, std::uint64_t value, int octets)
{
	for (int shift = (octets - 1) * 8; shift >= 0; shift -= 8)
		to.push_back(static_cast<std::uint8_t>(value >> shift));
}

inline std::uint64_t get(const Octets &from, std::size_t at, int octets)
{
	std::uint64_t value = 0;

	for (int i = 0; i < octets; i++)
		value = value << 8 | from.at(at + i);
	return value;
}

template <typename... More> Octets join(Octets all, const More &...more)
{
	(all.insert(all.end(), more.begin(), more.end()), ...);
	return all;
}

inline Octets zeros(std::size_t count, std::uint8_t value = 0)
{
	return Octets(count, value);
}

inline Octets text(std::string_view words)
{
	return Octets(words.begin(), words.end());
}

// Octets that differ from their neighbours, and from those of another seed.
inline Octets pattern(std::size_t count, std::uint32_t seed)
{
	Octets octets(count);
	std::uint32_t state = seed * 2654435761u + 1;

	for (auto &octet : octets) {
		state = state * 1664525 + 1013904223;
		octet = static_cast<std::uint8_t>(state >> 24);
	}
	return octets;
}

inline Octets first(const Octets &octets, std::size_t count)
{
	return Octets(octets.begin(),
		      octets.begin() + std::min(count, octets.size()));
}

inline Octets rest(const Octets &octets, std::size_t from)
{
	return Octets(octets.begin() + std::min(from, octets.size()),
		      octets.end());
}

inline Octets repeat(const Octets &what, std::size_t times)
{
	Octets all;

	all.reserve(what.size() * times);
	for (std::size_t i = 0; i < times; i++)
		all.insert(all.end(), what.begin(), what.end());
	return all;
}

// For people; of long runs the beginning.
std::string hex(const Octets &octets, std::size_t most = 48);

} // namespace peer
