/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What the client tells the server to do: a value, and what may be in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

enum class Transport : std::uint8_t { verbs, tcp };
enum class Test : std::uint8_t { stream, latency, connect, memory };
enum class Op : std::uint8_t { write, read, send };
// How a side that expects something awaits it.
enum class Wait : std::uint8_t { poll, yield, event };

std::string_view name(Transport transport) noexcept;
std::string_view name(Test test) noexcept;
std::string_view name(Op op) noexcept;
std::string_view name(Wait wait) noexcept;

constexpr std::uint32_t max_size = 16 << 20;
constexpr std::uint32_t max_depth = 4096;
constexpr std::uint32_t max_connections = 1024;
constexpr std::uint32_t max_inline = 1024;
constexpr std::uint32_t max_timeout_ms = 3'600'000;
// Of each of the two regions of a side, all connections together.
constexpr std::uint64_t max_region = std::uint64_t{1} << 30;

struct Job {
	Transport transport = Transport::verbs;
	Test test = Test::stream;
	Op op = Op::write;
	Wait wait = Wait::event;
	bool bidirectional = false;
	// Every byte is looked at.
	bool verify = false;
	// Bytes of a message.
	std::uint32_t size = 1 << 20;
	// Messages in flight, of a connection.
	std::uint32_t depth = 16;
	// Work requests posted at once.
	std::uint32_t list = 1;
	// Messages to a completion.
	std::uint32_t moderation = 1;
	// Sends to a wake-up of a receiver that sleeps; solicited events of verbs.
	std::uint32_t solicit = 1;
	std::uint32_t connections = 1;
	// Buffers on each side, which connections share.
	std::uint32_t slots = 16;
	// Bytes to be sent inline at most.
	std::uint32_t inline_bytes = 0;
	// TCP: bytes of a socket call.
	std::uint32_t chunk = 1 << 20;
	// Without progress for so long, a side gives up.
	std::uint32_t timeout_ms = 10000;

	bool operator==(const Job &) const = default;
};

// Why it cannot be done, if so. Both sides ask; what passes is safe to run.
std::optional<std::string> complaint(const Job &job);

// --- what follows from a job -------------------------------------------------

// Data can only be looked at while nothing is in flight.
inline bool rounds(const Job &job) noexcept
{
	return job.verify && job.transport == Transport::verbs &&
		job.test == Test::stream && job.op != Op::send;
}

// Messages are seen by whom they come to.
inline bool two_sided(const Job &job) noexcept
{
	return job.transport == Transport::tcp || job.op == Op::send;
}

// Which side starts messages.
inline bool posts(const Job &job, bool is_client) noexcept
{
	const bool from_server =
		job.op == Op::read && job.transport == Transport::tcp;

	return job.bidirectional || is_client != from_server;
}

// Which side counts messages that come.
inline bool takes(const Job &job, bool is_client) noexcept
{
	return two_sided(job) && posts(job, !is_client);
}

// A side that is only to be woken by messages that ask for it. Who posts as well must
// hear of its own completions.
inline bool only_solicited(const Job &job, bool is_client) noexcept
{
	return job.transport == Transport::verbs && job.test == Test::stream &&
		job.solicit > 1 && takes(job, is_client) && !posts(job, is_client);
}

// Receives that are posted for messages; the sender has as many credits.
inline std::uint32_t receive_window(const Job &job) noexcept
{
	return 2 * job.depth;
}

// Receives for credits, of which two are in flight at most, and for greetings.
constexpr std::uint32_t credit_receives = 4;
// Room for sends of credits in the send queue, and for the fence.
constexpr std::uint32_t spare_sends = 5;

// Bytes of a message that carries credits, told from data by its length.
constexpr std::uint32_t credit_bytes(const Job &job) noexcept
{
	return job.size == 16 ? 24 : 16;
}

// TCP: bytes that a call to receive takes at most.
constexpr std::uint32_t receive_chunk(const Job &job) noexcept
{
	return job.chunk < 65536 ? 65536 : job.chunk;
}

// From a buffer to the next one. TCP needs them without gaps.
std::uint64_t stride(const Job &job) noexcept;
// Buffers for what is sent (or read from here), and for what comes.
std::uint64_t source_slots(const Job &job) noexcept;
std::uint64_t sink_slots(const Job &job) noexcept;
// Bytes of the two regions.
std::uint64_t source_bytes(const Job &job) noexcept;
std::uint64_t sink_bytes(const Job &job) noexcept;

} // namespace bench
