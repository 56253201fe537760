/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "job.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bench {

namespace {

std::optional<std::string> outside(std::string_view what, std::uint64_t value,
				   std::uint64_t low, std::uint64_t high)
{
	if (value >= low && value <= high)
		return {};
	return fmt::format("{} is {}, not in {} to {}", what, value, low, high);
}

std::optional<std::string> bad_number(const Job &job)
{
	const struct {
		std::string_view what;
		std::uint64_t value, low, high;
	} ranges[] = {
		{"size", job.size, 1, max_size},
		{"depth", job.depth, 1, max_depth},
		{"list", job.list, 1, job.depth},
		{"moderation", job.moderation, 1, job.depth},
		{"solicit", job.solicit, 1, job.depth},
		{"connections", job.connections, 1, max_connections},
		{"slots", job.slots, 1, max_depth},
		{"inline", job.inline_bytes, 0, max_inline},
		{"chunk", job.chunk, 1, max_size},
		{"timeout", job.timeout_ms, 1, max_timeout_ms},
		{"bytes to send from", source_bytes(job), 0, max_region},
		{"bytes to receive into", sink_bytes(job), 0, max_region},
	};

	for (const auto &range : ranges)
		if (auto bad = outside(range.what, range.value, range.low, range.high))
			return bad;
	return {};
}

std::optional<std::string> bad_socket(const Job &job)
{
	const bool special = job.send_by != SendBy::copy || job.discard;
	const bool uncopied = job.discard || job.send_by > SendBy::record;

	if (special && (job.transport != Transport::tcp || job.test != Test::stream))
		return "sending otherwise than by copies, and discarding, is for streams "
		       "of tcp";
	if (uncopied && job.verify)
		return "what is not copied cannot be verified";
	if (!by_message(job.transport))
		return {};
	if (job.chunk != job.size)
		return "a call to a socket of messages is a message";
	if (job.test != Test::stream && job.test != Test::latency)
		return fmt::format("test {} is not for sockets of messages",
				   name(job.test));
	if (job.bidirectional || job.op == Op::read)
		return "on sockets of messages the client sends first, and streams go one "
		       "way";
	if (job.transport == Transport::kcm && job.size > max_kcm_size)
		return fmt::format("a message of KCM has {} bytes at the most",
				   max_kcm_size);
	return {};
}

// Combinations without a meaning.
std::optional<std::string> bad_mixture(const Job &job)
{
	const bool streams = job.test == Test::stream;

	if (job.bidirectional && !streams)
		return "only streams go both ways";
	if (job.verify && !streams && job.test != Test::latency)
		return fmt::format("test {} has no data to verify", name(job.test));
	if (job.bidirectional && rounds(job))
		return "Writes and Reads are verified in one direction";
	if (job.test != Test::latency)
		return {};
	if (job.connections != 1)
		return "latency is measured on one connection";
	if (job.op == Op::write ||
	    (job.op == Op::read && on_socket(job)))
		return "latency is that of send, or on verbs of read";
	if (job.op == Op::read && job.moderation != 1)
		return "round trips of read need a completion each";
	if (job.op == Op::read && job.verify)
		return "latency of read has no verification: use test read";
	return {};
}

// Every connection has its own.
std::uint64_t own_slots(const Job &job, std::uint64_t each) noexcept
{
	return each * job.connections;
}

} // namespace

std::string_view name(Transport transport) noexcept
{
	switch (transport) {
	case Transport::verbs:
		return "verbs";
	case Transport::tcp:
		return "tcp";
	case Transport::mpa:
		return "mpa";
	case Transport::kcm:
		return "kcm";
	}
	return "?";
}

std::string_view name(Test test) noexcept
{
	switch (test) {
	case Test::stream:
		return "stream";
	case Test::latency:
		return "latency";
	case Test::connect:
		return "connect";
	case Test::memory:
		return "memory";
	}
	return "?";
}

std::string_view name(Op op) noexcept
{
	switch (op) {
	case Op::write:
		return "write";
	case Op::read:
		return "read";
	case Op::send:
		return "send";
	}
	return "?";
}

std::string_view name(Wait wait) noexcept
{
	switch (wait) {
	case Wait::poll:
		return "poll";
	case Wait::yield:
		return "yield";
	case Wait::event:
		return "event";
	}
	return "?";
}

std::string_view name(SendBy by) noexcept
{
	switch (by) {
	case SendBy::copy:
		return "copy";
	case SendBy::record:
		return "record";
	case SendBy::splice:
		return "splice";
	case SendBy::zerocopy:
		return "zerocopy";
	}
	return "?";
}

std::optional<std::string> complaint(const Job &job)
{
	for (const auto rule : {bad_number, bad_mixture, bad_socket})
		if (auto bad = rule(job))
			return bad;
	return {};
}

std::uint64_t stride(const Job &job) noexcept
{
	if (on_socket(job))
		return job.size;
	// Credits are received in the same buffers.
	return (std::max<std::uint64_t>(job.size, 32) + 63) / 64 * 64;
}

std::uint64_t source_slots(const Job &job) noexcept
{
	return job.verify ? own_slots(job, job.depth) : job.slots;
}

std::uint64_t sink_slots(const Job &job) noexcept
{
	if (!job.verify || on_socket(job))
		return job.slots;
	if (job.op == Op::send)
		return own_slots(job, receive_window(job) + credit_receives);
	return own_slots(job, job.depth);
}

std::uint64_t source_bytes(const Job &job) noexcept
{
	const auto bytes = source_slots(job) * stride(job);

	// Without counters, one socket call may return more than a message.
	if (on_socket(job) && !job.verify)
		return std::max<std::uint64_t>(bytes, job.chunk);
	return bytes;
}

std::uint64_t sink_bytes(const Job &job) noexcept
{
	const auto bytes = sink_slots(job) * stride(job);

	return on_socket(job)
		? std::max<std::uint64_t>(bytes, receive_chunk(job))
		: bytes;
}

} // namespace bench
