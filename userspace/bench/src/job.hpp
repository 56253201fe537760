/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What the client asks the server to do, and the limits of each value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

// mpa: the messages of an MPA socket, mpa(7); kcm: those of a KCM socket, kcm.hpp.
enum class Transport : std::uint8_t { verbs, tcp, mpa, kcm };
enum class Test : std::uint8_t { stream, latency, connect, memory };
enum class Op : std::uint8_t { write, read, send };
// How a side waits.
enum class Wait : std::uint8_t { poll, yield, event };

// TCP: how data is given to a socket. Record: a call with MSG_EOR; splice: pages of a
// file, by sendfile; zerocopy: the program's own pages.
enum class SendBy : std::uint8_t { copy, record, splice, zerocopy };

std::string_view name(Transport transport) noexcept;
std::string_view name(Test test) noexcept;
std::string_view name(Op op) noexcept;
std::string_view name(Wait wait) noexcept;
std::string_view name(SendBy by) noexcept;

constexpr std::uint32_t max_size = 16 << 20;
// Of a message that KCM receives: it is in the buffer of the TCP socket as a whole.
constexpr std::uint32_t max_kcm_size = 64 << 10;
constexpr std::uint32_t max_depth = 4096;
constexpr std::uint32_t max_connections = 16 << 10;
constexpr std::uint32_t max_inline = 1024;
constexpr std::uint32_t max_timeout_ms = 3'600'000;
// Size of each of the two regions of a side, for all connections together.
constexpr std::uint64_t max_region = std::uint64_t{1} << 30;

struct Job {
	Transport transport = Transport::verbs;
	Test test = Test::stream;
	Op op = Op::write;
	Wait wait = Wait::event;
	bool bidirectional = false;
	// Verify every byte.
	bool verify = false;
	// Bytes of a message.
	std::uint32_t size = 1 << 20;
	// Messages in flight on each connection.
	std::uint32_t depth = 16;
	// Work requests posted in one call.
	std::uint32_t list = 1;
	// Messages per completion.
	std::uint32_t moderation = 1;
	// Sends per wake-up of a sleeping receiver; solicited events of verbs.
	std::uint32_t solicit = 1;
	std::uint32_t connections = 1;
	// Buffers on each side, shared by the messages of a connection.
	std::uint32_t slots = 16;
	// Maximum bytes sent inline.
	std::uint32_t inline_bytes = 0;
	// TCP: bytes per socket call.
	std::uint32_t chunk = 1 << 20;
	SendBy send_by = SendBy::copy;
	// TCP: the receiver takes data without a copy of it.
	bool discard = false;
	// Seconds without progress after which a side gives up.
	std::uint32_t timeout_ms = 10000;

	bool operator==(const Job &) const = default;
};

// The reason why the job is invalid, or nothing. Both sides check; a job that
// passes is safe to run.
std::optional<std::string> complaint(const Job &job);

// --- derived from a job -------------------------------------------------

// The transport is a socket's.
inline bool on_socket(const Job &job) noexcept
{
	return job.transport != Transport::verbs;
}

// Each call of the socket is a message.
constexpr bool by_message(Transport transport) noexcept
{
	return transport == Transport::mpa || transport == Transport::kcm;
}

// Data can only be verified while nothing is in flight.
inline bool rounds(const Job &job) noexcept
{
	return job.verify && job.transport == Transport::verbs &&
		job.test == Test::stream && job.op != Op::send;
}

// The receiver sees messages arrive.
inline bool two_sided(const Job &job) noexcept
{
	return on_socket(job) || job.op == Op::send;
}

// The side that starts messages.
inline bool posts(const Job &job, bool is_client) noexcept
{
	const bool from_server = job.op == Op::read && on_socket(job);

	return job.bidirectional || is_client != from_server;
}

// The side that counts arriving messages.
inline bool takes(const Job &job, bool is_client) noexcept
{
	return two_sided(job) && posts(job, !is_client);
}

// True for a side that only messages with the solicited flag must wake. A side
// that also posts must be notified of its own completions.
inline bool only_solicited(const Job &job, bool is_client) noexcept
{
	return job.transport == Transport::verbs && job.test == Test::stream &&
		job.solicit > 1 && takes(job, is_client) && !posts(job, is_client);
}

// Receives posted for messages; the sender has as many credits.
inline std::uint32_t receive_window(const Job &job) noexcept
{
	return 2 * job.depth;
}

// Receives for credits, at most two of which are in flight, and for greetings.
constexpr std::uint32_t credit_receives = 4;
// Room for sends of credits in the send queue, and for the fence.
constexpr std::uint32_t spare_sends = 5;

// Length of a message that carries credits; the length distinguishes it from
// data.
constexpr std::uint32_t credit_bytes(const Job &job) noexcept
{
	return job.size == 16 ? 24 : 16;
}

// Sockets: maximum bytes of one receive call, which may return one message only.
constexpr std::uint32_t receive_chunk(const Job &job) noexcept
{
	if (by_message(job.transport))
		return job.size;
	return job.chunk < 65536 ? 65536 : job.chunk;
}

// Distance between buffers. TCP requires that there are no gaps.
std::uint64_t stride(const Job &job) noexcept;
// Number of buffers for data that is sent (or read from here), and for data
// that arrives.
std::uint64_t source_slots(const Job &job) noexcept;
std::uint64_t sink_slots(const Job &job) noexcept;
// Size of the two regions in bytes.
std::uint64_t source_bytes(const Job &job) noexcept;
std::uint64_t sink_bytes(const Job &job) noexcept;

} // namespace bench
