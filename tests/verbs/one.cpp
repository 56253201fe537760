// SPDX-License-Identifier: GPL-2.0-only
//
// A single short request, which is sent without a batch: lengths around the limits
// of that, requests that are refused, entries that change while they are read.
#include "raw.hpp"

#include <atomic>
#include <thread>

using namespace harness;
using namespace verbs;

namespace {

constexpr std::uint32_t far_offset = 4096;

// A request with bytes of the memory of the device, or with its own copy of them.
struct Way {
	const char *name;
	ibv_wr_opcode opcode;
	unsigned int flags;
	// Messages of this length only, at most.
	std::uint32_t most;
};

constexpr Way ways[] = {
	{"Send", IBV_WR_SEND, 0, 9000},
	{"Send, inline", IBV_WR_SEND, IBV_SEND_INLINE, 64},
	{"Write", IBV_WR_RDMA_WRITE, 0, 9000},
	{"Write, inline", IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 64},
	{"Read", IBV_WR_RDMA_READ, 0, 9000},
};

void number(net::Bytes &bytes, std::uint32_t length, std::uint8_t first)
{
	for (std::uint32_t n = 0; n < length; n++)
		bytes[n] = std::byte(static_cast<std::uint8_t>(first + n));
}

struct Connected {
	Device one{1}, two{2};
	Queue near{one}, far{two};
	Connection connection;

	Connected() : connection(connect(near, far)) {}
};

void transfer(Connected &pair, const Way &way, std::uint32_t length, std::uint8_t first)
{
	const bool read = way.opcode == IBV_WR_RDMA_READ;
	const bool send = way.opcode == IBV_WR_SEND;
	net::Bytes &from = read ? pair.two.memory : pair.one.memory;
	net::Bytes &to = read ? pair.one.memory : pair.two.memory;
	const std::size_t at = send ? 0 : far_offset;
	ibv_sge piece{ reinterpret_cast<std::uintptr_t>(pair.one.memory.data()) +
			       (read ? far_offset : 0),
		       length, pair.one.region->lkey };
	ibv_send_wr wr{};

	std::fill(to.begin(), to.end(), std::byte{ 0 });
	number(from, length, first);
	wr.wr_id = first;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	wr.opcode = way.opcode;
	wr.send_flags = IBV_SEND_SIGNALED | way.flags;
	wr.wr.rdma.remote_addr =
		reinterpret_cast<std::uintptr_t>(pair.two.memory.data()) +
		(read ? 0 : far_offset);
	wr.wr.rdma.rkey = pair.two.region->rkey;
	if (send)
		pair.far.post_receive(first, 16384);
	pair.near.post(wr);
	const ibv_wc sent = pair.near.completion();

	is(sent.wr_id, std::uint64_t{ first }, "the request");
	is(status_name(sent.status), "success", "its status");
	if (send)
		is(pair.far.completion().byte_len, length, "bytes received");
	else
		await([&] { return !std::memcmp(to.data() + at, from.data(), length); },
		      "the last byte");
	yes(!std::memcmp(to.data() + at, from.data(), length), "the bytes");
	yes(to[at + length] == std::byte{ 0 }, "the byte behind");
}

} // namespace

CASE("one: every length and kind of request arrives as it was")
{
	Connected pair;
	std::uint8_t first = 1;

	for (const Way &way : ways)
		for (std::uint32_t length : { 1u, 2u, 3u, 4u, 63u, 64u, 255u, 256u, 257u, 511u, 512u,
					      1023u, 1024u, 1025u, 1400u, 1500u, 4096u, 9000u }) {
			if (length > way.most)
				continue;
			const std::uint64_t messages = counter(1, "tx_batches");

			transfer(pair, way, length, first++);
			yes(counter(1, "tx_batches") > messages, "counted");
		}
}

CASE("one: a message is counted as with a batch")
{
	Pair pair;
	const std::uint64_t batches = counter(1, "tx_batches"), sends = counter(1, "tx_send"),
			    segments = counter(1, "tx_segments"), bytes = counter(1, "tx_bytes");

	for (std::uint64_t n = 0; n < 10; n++) {
		pair.far.post_receive(n);
		pair.near.send(n, 64);
		is(pair.near.completion().wr_id, n, "sent");
		is(pair.far.completion().wr_id, n, "received");
	}
	is(counter(1, "tx_batches") - batches, 10u, "batches");
	is(counter(1, "tx_send") - sends, 10u, "Sends");
	is(counter(1, "tx_segments") - segments, 10u, "segments");
	is(counter(1, "tx_bytes") - bytes, 640u, "bytes");
}

CASE("one: memory that is not granted ends the stream")
{
	struct {
		const char *name;
		void (*spoil)(mpa_sqe &entry);
	} static constexpr rows[] = {
		{"an unknown STag", [](mpa_sqe &entry) { entry.sge[0].lkey ^= 0x5500; }},
		{"the key of another", [](mpa_sqe &entry) { entry.sge[0].lkey ^= 1; }},
		{"a byte before", [](mpa_sqe &entry) { entry.sge[0].addr--; }},
		{"a byte behind", [](mpa_sqe &entry) { entry.sge[0].addr += 65536 - 63; }},
		{"an end of all memory", [](mpa_sqe &entry) { entry.sge[0].addr = -32ull; }},
	};

	for (const auto &row : rows) {
		for (const std::uint8_t opcode : { MPA_WR_SEND, MPA_WR_WRITE, MPA_WR_READ }) {
			Pair pair;
			mpa_sqe &entry = raw::next_send(pair.near);

			entry.opcode = opcode;
			entry.num_sge = 1;
			entry.sge[0] = { reinterpret_cast<std::uintptr_t>(pair.one.memory.data()), 64,
					 pair.one.region->lkey };
			if (opcode != MPA_WR_SEND) {
				entry.stag = pair.two.region->rkey;
				entry.remote_addr =
					reinterpret_cast<std::uintptr_t>(pair.two.memory.data());
			}
			row.spoil(entry);
			raw::publish_sends(pair.near, 1);
			raw::ring(pair.near);
			is(status_name(pair.near.completion().status), "local protection error",
			   row.name);
			await([&] { return pair.near.query().qp_state == IBV_QPS_ERR; },
			      "the end of the stream");
		}
	}
}

// What the kernel sees at first may be another entry than the one that it takes.
CASE("one: an entry that changes while it is read")
{
	Pair pair;
	const auto memory = reinterpret_cast<std::uintptr_t>(pair.one.memory.data());
	std::atomic<mpa_sqe *> shown{ nullptr };
	std::atomic<bool> stop{ false };
	std::thread changer([&] {
		for (std::uint32_t n = 0; !stop; n++)
			if (mpa_sqe *entry = shown) {
				/* Inline, short and long in turns, each of them valid. */
				__atomic_store_n(&entry->sge[0].length, n % 3 ? 40 : 3000,
						 __ATOMIC_RELAXED);
			}
	});

	for (std::uint64_t n = 0; n < 3000; n++) {
		mpa_sqe &entry = raw::next_send(pair.near);

		pair.far.post_receive(n, 4096);
		entry.wr_id = n;
		entry.opcode = MPA_WR_SEND;
		entry.flags = MPA_SQE_SIGNALED;
		entry.num_sge = 1;
		entry.sge[0] = { memory, 40, pair.one.region->lkey };
		shown = &entry;
		raw::publish_sends(pair.near, 1);
		raw::ring(pair.near);
		const ibv_wc sent = pair.near.completion(), received = pair.far.completion();

		shown = nullptr;
		is(status_name(sent.status), "success", "status");
		is(received.wr_id, n, "in order");
		yes(received.byte_len == 40 || received.byte_len == 3000, "one of the lengths");
	}
	stop = true;
	changer.join();
}
