/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A stream of PDUs with markers, laid out as a whole: each position in it is a byte of a
// marker or of a PDU, and a marker is the distance to the next position where a PDU
// begins.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace model {

using Bytes = std::vector<std::byte>;
using Lengths = std::vector<std::size_t>;

// Bytes of PDUs from a position on.
inline Bytes payload(std::size_t at, std::size_t length)
{
	Bytes bytes(length);

	for (std::size_t n = 0; n < length; n++)
		bytes[n] = static_cast<std::byte>((at + n) * 31 >> 3);
	return bytes;
}

inline Bytes marked(const Lengths &pdus, std::size_t interval)
{
	std::vector<std::size_t> starts, places;
	std::size_t position = 0;
	const auto skip = [&] {
		while (position % interval < 4)
			position++;
	};

	for (const auto length : pdus)
		for (std::size_t n = 0; n < length; n++) {
			skip();
			if (n == 0)
				starts.push_back(position);
			places.push_back(position++);
		}
	Bytes stream(places.back() + 1);
	// Where the next PDU would begin.
	skip();
	starts.push_back(position);
	const auto bytes = payload(0, places.size());
	for (std::size_t n = 0; n < places.size(); n++)
		stream[places[n]] = bytes[n];
	for (std::size_t at = 0; at + 4 <= stream.size(); at += interval) {
		const auto distance =
			*std::lower_bound(starts.begin(), starts.end(), at + 4) - at - 4;

		for (const std::size_t copy : {0, 2}) {
			stream[at + copy] = static_cast<std::byte>(distance >> 8);
			stream[at + copy + 1] = static_cast<std::byte>(distance);
		}
	}
	return stream;
}

// Whether PDUs end at all these positions of their bytes.
inline bool all_are_ends(const Lengths &pdus, const std::vector<std::size_t> &ends)
{
	std::vector<std::size_t> known;
	std::size_t at = 0;

	for (const auto length : pdus)
		known.push_back(at += length);
	return std::all_of(ends.begin(), ends.end(), [&](std::size_t end) {
		return std::binary_search(known.begin(), known.end(), end);
	});
}

} // namespace model
