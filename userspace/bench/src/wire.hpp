/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The control protocol: what client and server tell each other over a TCP
// connection besides the one that is measured. A frame is 4 bytes of length, 1
// of type, and fields in network byte order. Everything that is decoded is
// bounded; what is too short, too long or out of range is refused.
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
constexpr std::uint32_t version = 2;
// Of the body of a frame, with its type.
constexpr std::size_t max_frame = 4096;
constexpr std::size_t max_text = 1024;

// Both sides' first word. Who has the same `machine` runs on the same one.
struct Hello {
	std::uint64_t magic = wire::magic;
	std::uint32_t version = wire::version;
	std::string machine;
	bool operator==(const Hello &) const = default;
};

// Memory that the other side may use.
struct Region {
	std::uint64_t address = 0;
	std::uint32_t key = 0;
	bool operator==(const Region &) const = default;
};

// What messages come from and go to.
struct Regions {
	Region source;
	Region sink;
	bool operator==(const Regions &) const = default;
};

// Client: prepare for this.
struct Start {
	Job job;
	Regions regions;
	bool operator==(const Start &) const = default;
};

// Server: connect to that port, and say the cookie on TCP connections.
struct Ready {
	std::uint16_t port = 0;
	std::uint64_t cookie = 0;
	Regions regions;
	std::string device;
	bool operator==(const Ready &) const = default;
};

// Client: all connections are there, and in use from now on. `messages` of each
// connection, or 0: until it is told to stop.
struct Phase {
	std::uint64_t messages = 0;
	bool operator==(const Phase &) const = default;
};

// Server: go.
struct Begin {
	bool operator==(const Begin &) const = default;
};

// Client: no more messages come, so many have been sent in this phase.
struct End {
	std::uint64_t sent = 0;
	bool operator==(const End &) const = default;
};

// Server: all has come; so many were sent, and the last came so late.
struct Done {
	std::uint64_t sent = 0;
	std::uint64_t nanoseconds = 0;
	Usage usage;
	bool operator==(const Done &) const = default;
};

// Client: fill the source with messages from this one on, or look whether they
// are in the sink; of every connection.
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

// Either side: I give up, and this is why.
struct Failed {
	std::uint32_t status = 1;
	std::string text;
	bool operator==(const Failed &) const = default;
};

// Client: tell me how much memory is in use.
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

// A frame without its length. None: it is refused.
std::optional<Message> decode(std::span<const std::byte> body);

// The name of a message, for complaints.
const char *name(const Message &message) noexcept;

} // namespace bench::wire
