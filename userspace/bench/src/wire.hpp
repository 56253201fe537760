/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The control protocol: messages between client and server over a TCP
// connection separate from the measured one. A frame is 4 bytes of length, 1 of
// type, and fields in network byte order. Everything that is decoded is
// bounded; a frame that is too short, too long or has a value out of range is
// refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "job.hpp"
#include "usage.hpp"

namespace bench::wire {

constexpr std::uint64_t magic = 0x6d70612d62656e63; // "mpa-benc"
constexpr std::uint32_t version = 3;
// Length of the body of a frame, with its type.
constexpr std::size_t max_frame = 4096;
constexpr std::size_t max_text = 1024;

// The first message of both sides. Sides with the same `machine` run on the
// same one.
struct Hello {
	std::uint64_t magic = wire::magic;
	std::uint32_t version = wire::version;
	std::string machine;
	bool operator==(const Hello &) const = default;
};

// Memory that the other side may access.
struct Region {
	std::uint64_t address = 0;
	std::uint32_t key = 0;
	bool operator==(const Region &) const = default;
};

// The regions that messages are sent from and received into.
struct Regions {
	Region source;
	Region sink;
	bool operator==(const Regions &) const = default;
};

// Client: prepare for this job.
struct Start {
	Job job;
	Regions regions;
	bool operator==(const Start &) const = default;
};

// Server: connect to this port, and send the cookie on TCP connections.
struct Ready {
	std::uint16_t port = 0;
	std::uint64_t cookie = 0;
	Regions regions;
	std::string device;
	bool operator==(const Ready &) const = default;
};

// Client: all connections are established, and in use from now on. `messages`
// of each connection, or 0: until it is asked to stop.
struct Phase {
	std::uint64_t messages = 0;
	bool operator==(const Phase &) const = default;
};

// Server: go.
struct Begin {
	bool operator==(const Begin &) const = default;
};

// Client: no more messages follow; number of messages sent in this phase.
struct End {
	std::uint64_t sent = 0;
	bool operator==(const End &) const = default;
};

// Server: everything has arrived; number of messages sent, and arrival time of
// the last one.
struct Done {
	std::uint64_t sent = 0;
	std::uint64_t nanoseconds = 0;
	Usage usage;
	bool operator==(const Done &) const = default;
};

// Client: fill the source with messages from this one on, or verify that they
// are in the sink; for every connection.
struct Round {
	enum class What : std::uint8_t { fill, check };
	What what = What::fill;
	std::uint64_t first = 0;
	std::uint32_t count = 0;
	bool operator==(const Round &) const = default;
};

// Server: done.
struct RoundDone {
	bool operator==(const RoundDone &) const = default;
};

// Client: this job is over. Server: nothing of it is left.
struct Close {
	bool operator==(const Close &) const = default;
};

// Either side: gives up, with the reason.
struct Failed {
	std::uint32_t status = 1;
	std::string text;
	bool operator==(const Failed &) const = default;
};

// Client: asks how much memory is in use.
struct Measure {
	bool operator==(const Measure &) const = default;
};

struct Measured {
	Memory memory;
	bool operator==(const Measured &) const = default;
};

// The order is that of the types on the wire.
using Message = std::variant<Hello, Start, Ready, Phase, Begin, End, Done, Round,
			     RoundDone, Close, Failed, Measure, Measured>;

// The whole frame.
std::vector<std::byte> encode(const Message &message);

// Decodes a frame without its length. Empty: it is refused. Text is escaped
// (cli::printable()), so it may be longer than max_text.
std::optional<Message> decode(std::span<const std::byte> body);

// The name of a message, for error messages.
const char *name(const Message &message) noexcept;

} // namespace bench::wire
