/* SPDX-License-Identifier: GPL-2.0-only */
// Startup frames as values. startup.cpp encodes and decodes them with
// kernel/framing/startup.c, which is GPL-2.0-only, so a program that is linked with it
// is GPL-2.0-only, too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mpactl::startup {

using Bytes = std::vector<std::uint8_t>;

// Ways to open a peer-to-peer stream (RFC 6581 section 9.2), as a set.
enum Rtr : std::uint8_t { rtr_send = 1, rtr_write = 2, rtr_read = 4, rtr_all = 7 };

// Bytes of private data that a Request has room for.
constexpr std::size_t room_for_data(unsigned int revision)
{
	return revision == 2 ? 508 : 512;
}

constexpr unsigned int depth_max = 0x3ffe;
// The depth is not to be negotiated.
constexpr unsigned int depth_none = 0x3fff;

// A Request. With revision 2 it is always enhanced.
struct Ask {
	unsigned int revision = 2;
	bool markers = false;
	bool crc = true;
	bool peer_to_peer = true;
	std::uint8_t rtr = rtr_all;
	std::uint16_t ird = 16;
	std::uint16_t ord = 16;
	Bytes data;
};

struct Reply {
	unsigned int revision = 0;
	bool markers = false;
	bool crc = false;
	bool reject = false;
	bool enhanced = false;
	bool peer_to_peer = false;
	std::uint8_t rtr = 0;
	std::uint16_t ird = 0;
	std::uint16_t ord = 0;
	Bytes data;
};

// The result of parsing the bytes received so far: the beginning of a Reply, a
// whole Reply, or something else and the reason.
struct Reading {
	enum class State { more, whole, request, foreign, malformed };
	State state = State::more;
	Reply reply;
	std::size_t used = 0;
	std::string_view why;
};

// The parameters of the connection after this Reply. If there would be no connection,
// `problem` is the reason.
struct Agreement {
	std::string_view problem;
	bool crc = false;
	bool tx_markers = false;
	bool rx_markers = false;
	std::uint8_t rtr = 0;
	unsigned int ird = 0;
	unsigned int ord = 0;
};

// Throws std::length_error if the private data is too long.
Bytes request(const Ask &ask);
Reading read_reply(std::span<const std::uint8_t> bytes);
Agreement conclude(const Ask &ask, const Reply &reply);

} // namespace mpactl::startup
