// SPDX-License-Identifier: GPL-2.0-only
//
// Messages of RFC 7306: a Write followed by Immediate Data, and atomic operations.
#include "raw.hpp"

#include <atomic>
#include <cstring>
#include <thread>

#include <poll.h>

using namespace harness;
using namespace verbs;

namespace {

void fill_pattern(Bytes &bytes, std::size_t length, unsigned int seed)
{
	for (std::size_t n = 0; n < length; n++)
		bytes[n] = static_cast<std::byte>(n * 7 + seed);
}

void expect_imm(const ibv_wc &wc, std::uint64_t number, std::uint32_t bytes)
{
	is(wc.wr_id, number, "which receive");
	is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "its status");
	is(int(wc.opcode), int(IBV_WC_RECV_RDMA_WITH_IMM), "its opcode");
	is(unsigned(wc.wc_flags), unsigned(IBV_WC_WITH_IMM), "its flags");
	is(wc.imm_data, immediate, "the data");
	is(wc.byte_len, bytes, "bytes of the Write");
}

constexpr int atomic_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

// Registered words that a peer may change.
struct Words {
	explicit Words(const Device &on, int rights = atomic_rights)
		: region(ibv_reg_mr(on.domain.get(), words, sizeof(words), rights))
	{
		yes(region != nullptr, "there is a region");
	}

	alignas(4096) std::uint64_t words[1024] = {};
	Region region;
};

mpa_atomic &operands_of(mpa_sqe &sqe)
{
	return *reinterpret_cast<mpa_atomic *>(sqe.sge);
}

// The next entry of the ring, not published: on the first word, for the first bytes of
// the near end's memory.
mpa_sqe &atomic_entry(Pair &pair, const Words &at, std::uint8_t opcode)
{
	mpa_sqe &sqe = raw::next_send(pair.near);

	sqe.wr_id = 1;
	sqe.opcode = opcode;
	sqe.flags = MPA_SQE_SIGNALED;
	sqe.length = pair.one.region->lkey;
	sqe.remote_addr = reinterpret_cast<std::uintptr_t>(at.words);
	sqe.stag = at.region->rkey;
	operands_of(sqe).addr =
		reinterpret_cast<std::uintptr_t>(pair.one.memory.data());
	return sqe;
}

struct Operation {
	ibv_wr_opcode opcode;
	std::uint64_t add_or_compare;
	std::uint64_t swap = 0;
};

// One that goes to the beginning of @at plus @offset, with its result in the memory of
// @queue's device, at @result.
ibv_send_wr atomic(const Queue &queue, const Operation &operation, const Words &at,
		   ibv_sge &piece, std::size_t offset = 0, std::size_t result = 0)
{
	ibv_send_wr wr{};

	piece = {.addr = reinterpret_cast<std::uintptr_t>(queue.device.memory.data()) +
			 result,
		 .length = 8,
		 .lkey = queue.device.region->lkey};
	wr.wr_id = 1;
	wr.opcode = operation.opcode;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	wr.wr.atomic.remote_addr = reinterpret_cast<std::uintptr_t>(at.words) + offset;
	wr.wr.atomic.rkey = at.region->rkey;
	wr.wr.atomic.compare_add = operation.add_or_compare;
	wr.wr.atomic.swap = operation.swap;
	return wr;
}

std::uint64_t result_at(const Queue &queue, std::size_t offset = 0)
{
	std::uint64_t value;

	std::memcpy(&value, queue.device.memory.data() + offset, sizeof(value));
	return value;
}

void expect_atomic(const ibv_wc &wc, ibv_wc_opcode opcode)
{
	is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "its status");
	is(int(wc.opcode), int(opcode), "its opcode");
	is(wc.byte_len, 8u, "its bytes");
}

// What a refused operation returns; nothing is posted.
int post_error(Queue &queue, ibv_send_wr &wr)
{
	ibv_send_wr *bad = nullptr;
	const int err = ibv_post_send(queue.qp.get(), &wr, &bad);

	is(bad == &wr, true, "the request is reported");
	return err;
}

// Solicited completions raise an event, others do not.
class Channel {
public:
	explicit Channel(Device &device)
		: channel_(ibv_create_comp_channel(device.context.get()))
	{
		yes(channel_ != nullptr, "there is a channel");
		cq = ibv_create_cq(device.context.get(), 16, nullptr, channel_, 0);
		yes(cq != nullptr, "there is a completion queue");
	}
	~Channel()
	{
		ibv_ack_cq_events(cq, seen_);
		ibv_destroy_cq(cq);
		ibv_destroy_comp_channel(channel_);
	}
	Channel(const Channel &) = delete;
	Channel &operator=(const Channel &) = delete;

	bool event(int ms)
	{
		pollfd poll{.fd = channel_->fd, .events = POLLIN, .revents = 0};
		ibv_cq *of = nullptr;
		void *context = nullptr;

		if (::poll(&poll, 1, ms) <= 0)
			return false;
		must_call(ibv_get_cq_event(channel_, &of, &context), "ibv_get_cq_event");
		seen_++;
		return true;
	}

	ibv_cq *cq = nullptr;

private:
	ibv_comp_channel *channel_;
	unsigned int seen_ = 0;
};

} // namespace

CASE("extensions: a Write with Immediate of every kind of length")
{
	Pair pair;
	unsigned int seed = 1;

	for (const std::uint32_t length :
	     {0u, 1u, 7u, 8u, 63u, 64u, 1024u, 1442u, 1443u, 1500u, 4096u, 65536u}) {
		const Row name(length, "bytes");
		ibv_sge piece;

		fill_pattern(pair.one.memory, length, seed++);
		// Nothing is placed into the receive, which may have no memory.
		pair.far.post_receive(5, 0);
		ibv_send_wr wr = write_imm(pair.near, pair.two, piece, length);
		pair.near.post(wr);
		const ibv_wc sent = pair.near.completion();
		is(status_name(sent.status), status_name(IBV_WC_SUCCESS), "it is sent");
		is(int(sent.opcode), int(IBV_WC_RDMA_WRITE), "as a Write");
		expect_imm(pair.far.completion(), 5, length);
		is(std::memcmp(pair.one.memory.data(), pair.two.memory.data(), length), 0,
		   "the Write was placed before");
	}
}

CASE("extensions: pieces, inline data, no pieces")
{
	Pair pair;
	ibv_sge pieces[2];

	fill_pattern(pair.one.memory, 64, 9);
	pair.far.post_receive(1);
	ibv_send_wr wr = write_imm(pair.near, pair.two, pieces[0], 40);
	pieces[1] = pieces[0];
	pieces[1].addr += 40;
	pieces[1].length = 24;
	wr.num_sge = 2;
	pair.near.post(wr);
	expect_imm(pair.far.completion(), 1, 64);
	is(std::memcmp(pair.one.memory.data(), pair.two.memory.data(), 64), 0, "two pieces");

	fill_pattern(pair.one.memory, 64, 77);
	pair.far.post_receive(2, 0);
	wr.send_flags = IBV_SEND_INLINE;
	pair.near.post(wr);
	expect_imm(pair.far.completion(), 2, 64);
	is(std::memcmp(pair.one.memory.data(), pair.two.memory.data(), 64), 0, "inline");

	pair.far.post_receive(3, 0);
	wr.send_flags = 0;
	wr.num_sge = 0;
	wr.sg_list = nullptr;
	pair.near.post(wr);
	expect_imm(pair.far.completion(), 3, 0);
}

CASE("extensions: the bytes are those of its own Write")
{
	Pair pair;
	ibv_sge piece;

	for (std::uint64_t n = 0; n < 4; n++)
		pair.far.post_receive(n, 64);
	// A Write before, and a Send in between.
	pair.near.transfer(IBV_WR_RDMA_WRITE, pair.two, 500);
	ibv_send_wr wr = write_imm(pair.near, pair.two, piece, 3000);
	pair.near.post(wr);
	pair.near.send(9, 16);
	wr.num_sge = 0;
	pair.near.post(wr);
	pair.near.transfer(IBV_WR_RDMA_READ, pair.two, 100);
	wr.num_sge = 1;
	piece.length = 17;
	pair.near.post(wr);
	expect_imm(pair.far.completion(), 0, 3000);
	const ibv_wc sent = pair.far.completion();
	is(int(sent.opcode), int(IBV_WC_RECV), "a Send");
	is(sent.byte_len, 16u, "its bytes");
	is(unsigned(sent.wc_flags), 0u, "no flags");
	expect_imm(pair.far.completion(), 2, 0);
	expect_imm(pair.far.completion(), 3, 17);
}

CASE("extensions: only a solicited one raises a solicited event")
{
	Device one(1), two(2);
	Channel channel(two);
	Queue near(one), far(two, {}, channel.cq);
	const Connection connection = connect(near, far);
	ibv_sge piece;
	ibv_send_wr wr = write_imm(near, two, piece, 8);

	for (std::uint64_t n = 0; n < 2; n++)
		far.post_receive(n);
	must_call(ibv_req_notify_cq(channel.cq, 1), "ibv_req_notify_cq");
	near.post(wr);
	expect_imm(far.completion(), 0, 8);
	is(channel.event(100), false, "an event of one that is not solicited");
	wr.send_flags = IBV_SEND_SOLICITED;
	near.post(wr);
	yes(channel.event(20000), "an event of one that is");
	expect_imm(far.completion(), 1, 8);
}

CASE("extensions: without a receive the stream ends")
{
	Pair pair;
	ibv_sge piece;
	ibv_send_wr wr = write_imm(pair.near, pair.two, piece, 8);

	pair.near.post_receive(77);
	pair.near.post(wr);
	is(status_name(pair.near.completion().status), status_name(IBV_WC_SUCCESS),
	   "it is sent");
	const ibv_wc flushed = pair.near.completion();
	is(flushed.wr_id, 77u, "the posted receive ends");
	is(flushed.vendor_err, 1u << 12 | 2u << 8 | 2u, "the Terminate's error");
}

CASE("extensions: a Send with Immediate is refused")
{
	Pair pair;
	ibv_sge piece;
	ibv_send_wr wr = write_imm(pair.near, pair.two, piece, 0);

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	is(Err{post_error(pair.near, wr)}, EOPNOTSUPP, "Send with Immediate");
	pair.far.post_receive(1);
	pair.near.send(2);
	is(pair.far.completion().wr_id, 1u, "the stream goes on");
}

namespace {

struct ModeRow {
	const char *near, *far;
	bool near_uses, far_uses;
};

// The near side is the Initiator.
constexpr ModeRow modes[] = {
	{"off", "off", false, false},
	{"off", "negotiate", false, false},
	{"negotiate", "off", false, false},
	{"off", "on", false, true},
	{"on", "off", true, false},
	{"negotiate", "negotiate", true, true},
	{"negotiate", "on", true, true},
	{"on", "on", true, true},
	{"on", "negotiate", true, false},
};

// A Write with Immediate: refused when it is posted, refused by the peer, or good.
void try_imm(Queue &from, Queue &to, bool from_uses, bool to_uses)
{
	ibv_sge piece;
	ibv_send_wr wr = write_imm(from, to.device, piece, 8);

	to.post_receive(5);
	if (!from_uses) {
		is(Err{post_error(from, wr)}, EOPNOTSUPP, "it is refused");
		from.send(2);
		is(int(to.completion().opcode), int(IBV_WC_RECV), "the stream goes on");
		return;
	}
	from.post(wr);
	is(status_name(from.completion().status), status_name(IBV_WC_SUCCESS), "it is sent");
	if (to_uses) {
		expect_imm(to.completion(), 5, 8);
		return;
	}
	// RDMAP, remote operation error, unexpected opcode (RFC 5040 section 4.8).
	from.post_receive(77);
	const ibv_wc flushed = from.completion();
	is(flushed.wr_id, 77u, "the posted receive ends");
	is(flushed.vendor_err, 0u << 12 | 2u << 8 | 6u, "the Terminate's error");
}

} // namespace

CASE("extensions: used if both ends agree, or without asking")
{
	for (const ModeRow &row : modes) {
		const Row name(row.near, row.far);
		const Setting near(1, "rdmap-extensions", row.near);
		const Setting far(2, "rdmap-extensions", row.far);

		Pair there;
		try_imm(there.near, there.far, row.near_uses, row.far_uses);
		Pair back;
		try_imm(back.far, back.near, row.far_uses, row.near_uses);
	}
}

// An application can write the entry all the same.
CASE("extensions: without them the kernel refuses the entry")
{
	const Setting near(1, "rdmap-extensions", "off");
	Pair pair;

	mpa_sqe &sqe = raw::next_send(pair.near);
	sqe.wr_id = 1;
	sqe.opcode = MPA_WR_WRITE_IMM;
	sqe.flags = MPA_SQE_SIGNALED;
	raw::publish_sends(pair.near, 1);
	raw::ring(pair.near);
	is(status_name(pair.near.completion().status), status_name(IBV_WC_LOC_QP_OP_ERR),
	   "its completion");
	is(pair.near.query().qp_state, IBV_QPS_ERR, "the queue pair's state");
}

CASE("extensions: what was agreed on ends with RESET")
{
	Pair pair;
	ibv_sge piece;
	ibv_send_wr wr = write_imm(pair.near, pair.two, piece, 8);

	pair.near.modify(IBV_QPS_RESET);
	is(Err{post_error(pair.near, wr)}, EOPNOTSUPP, "Write with Immediate");
}

CASE("extensions: atomic operations do what they should")
{
	struct Row7306 {
		Operation operation;
		std::uint64_t old, now;
	};
	constexpr std::uint64_t ones = ~std::uint64_t{0};
	const Row7306 rows[] = {
		{{IBV_WR_ATOMIC_FETCH_AND_ADD, 0}, 0x1122334455667788, 0x1122334455667788},
		{{IBV_WR_ATOMIC_FETCH_AND_ADD, 1}, 0xffffffff, 0x100000000},
		{{IBV_WR_ATOMIC_FETCH_AND_ADD, ones}, 5, 4},
		{{IBV_WR_ATOMIC_FETCH_AND_ADD, 2}, ones, 1},
		{{IBV_WR_ATOMIC_CMP_AND_SWP, 7, 9}, 7, 9},
		{{IBV_WR_ATOMIC_CMP_AND_SWP, 7, 9}, 8, 8},
		{{IBV_WR_ATOMIC_CMP_AND_SWP, ones, 0}, ones, 0},
		{{IBV_WR_ATOMIC_CMP_AND_SWP, 0, ones}, 1ull << 63, 1ull << 63},
	};
	Pair pair;
	Words at(pair.two);
	ibv_sge piece;

	for (const Row7306 &row : rows) {
		const Row name(row.old, row.now);
		// The result may have any alignment, and cross a page.
		for (const std::size_t result : {0u, 1u, 4u, 4092u}) {
			at.words[3] = row.old;
			ibv_send_wr wr = atomic(pair.near, row.operation, at, piece, 24,
						result);
			pair.near.post(wr);
			expect_atomic(pair.near.completion(),
				      row.operation.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
					      ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP);
			is(result_at(pair.near, result), row.old, "the value before");
			is(at.words[3], row.now, "the value after");
			is(at.words[2] | at.words[4], 0u, "its neighbours");
		}
	}
}

CASE("extensions: a Swap, which only the rings have")
{
	Pair pair;
	Words at(pair.two);

	at.words[0] = 17;
	mpa_sqe &sqe = atomic_entry(pair, at, MPA_WR_SWAP);
	auto &operands = operands_of(sqe);
	operands.data = 0xfedcba9876543210;
	raw::publish_sends(pair.near, 1);
	raw::ring(pair.near);
	expect_atomic(pair.near.completion(), IBV_WC_COMP_SWAP);
	is(result_at(pair.near), 17u, "the value before");
	is(at.words[0], 0xfedcba9876543210u, "the value after");
}

CASE("extensions: atomic operations and Reads are answered in their order")
{
	Pair pair;
	Words at(pair.two, atomic_rights | IBV_ACCESS_REMOTE_READ);
	ibv_sge piece;

	// More than may be in flight: 4.
	for (std::size_t n = 0; n < 6; n++) {
		ibv_send_wr add = atomic(pair.near, {IBV_WR_ATOMIC_FETCH_AND_ADD, 1}, at,
					 piece, 0, 16 * n);
		pair.near.post(add);
		ibv_send_wr read{};
		piece.addr += 8;
		read.opcode = IBV_WR_RDMA_READ;
		read.sg_list = &piece;
		read.num_sge = 1;
		read.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(at.words);
		read.wr.rdma.rkey = at.region->rkey;
		pair.near.post(read);
	}
	for (std::size_t n = 0; n < 6; n++) {
		expect_atomic(pair.near.completion(), IBV_WC_FETCH_ADD);
		is(int(pair.near.completion().opcode), int(IBV_WC_RDMA_READ), "a Read");
		is(result_at(pair.near, 16 * n), n, "what was added to");
		is(result_at(pair.near, 16 * n + 8), n + 1, "what was read after it");
	}
}

CASE("extensions: a fence waits for an atomic operation")
{
	Pair pair;
	Words at(pair.two);
	ibv_sge piece;

	at.words[0] = 0x4142434445464748;
	ibv_send_wr wr = atomic(pair.near, {IBV_WR_ATOMIC_FETCH_AND_ADD, 1}, at, piece);
	pair.near.post(wr);
	// Sends the result, which must be there before.
	pair.far.post_receive(5);
	ibv_send_wr send{};
	send.opcode = IBV_WR_SEND;
	send.send_flags = IBV_SEND_FENCE;
	send.sg_list = &piece;
	send.num_sge = 1;
	pair.near.post(send);
	is(pair.far.completion().byte_len, 8u, "the Send arrives");
	is(result_at(pair.far), 0x4142434445464748u, "what it carries");
}

CASE("extensions: one counter, two connections and the processor")
{
	constexpr unsigned int times = 400;
	Device one(1), two(2);
	Queue near[] = {Queue(one), Queue(one)}, far[] = {Queue(two), Queue(two)};
	const Connection connections[] = {connect(near[0], far[0]),
					  connect(near[1], far[1])};
	Words at(two);
	ibv_sge piece;
	std::atomic<bool> stop{false};
	std::uint64_t own = 0;
	std::thread local([&] {
		while (!stop) {
			__atomic_fetch_add(&at.words[0], 1, __ATOMIC_RELAXED);
			own++;
		}
	});

	for (unsigned int n = 0; n < times; n += 8) {
		for (Queue &queue : near) {
			ibv_send_wr wr = atomic(queue, {IBV_WR_ATOMIC_FETCH_AND_ADD, 1},
						at, piece, 0, &queue == near ? 0 : 8);
			for (int posted = 0; posted < 8; posted++)
				queue.post(wr);
		}
		for (Queue &queue : near)
			for (int done = 0; done < 8; done++)
				expect_atomic(queue.completion(), IBV_WC_FETCH_ADD);
	}
	stop = true;
	local.join();
	is(at.words[0], own + 2 * times, "the sum");
}

CASE("extensions: what atomic operations may not access")
{
	struct Bad {
		const char *name;
		int rights;
		std::size_t offset;
		unsigned int code;
		ibv_wc_status status;
	};
	// RDMAP, remote protection and remote operation errors.
	const Bad rows[] = {
		{"no right of the region", all_rights, 0, 1u << 8 | 2,
		 IBV_WC_REM_ACCESS_ERR},
		{"beyond the end", atomic_rights, 8192, 1u << 8 | 1, IBV_WC_REM_ACCESS_ERR},
		{"across the end", atomic_rights, 8188, 1u << 8 | 1, IBV_WC_REM_ACCESS_ERR},
		{"not aligned by 1", atomic_rights, 1, 2u << 8 | 7, IBV_WC_REM_OP_ERR},
		{"not aligned by 4", atomic_rights, 4, 2u << 8 | 7, IBV_WC_REM_OP_ERR},
		{"not aligned by 7", atomic_rights, 7, 2u << 8 | 7, IBV_WC_REM_OP_ERR},
	};

	for (const Bad &row : rows) {
		const Row name(row.name);
		Pair pair;
		Words at(pair.two, row.rights);
		ibv_sge piece;

		ibv_send_wr wr = atomic(pair.near, {IBV_WR_ATOMIC_FETCH_AND_ADD, 1}, at,
					piece, row.offset);
		pair.near.post(wr);
		const ibv_wc wc = pair.near.completion();
		is(status_name(wc.status), status_name(row.status), "its status");
		is(wc.vendor_err, row.code, "the Terminate's error");
		for (const std::uint64_t word : at.words)
			is(word, 0u, "the memory");
	}
}

CASE("extensions: the rights of the queue pair for atomic operations")
{
	struct Rights {
		int rights;
		bool good;
	};
	const Rights rows[] = {
		{IBV_ACCESS_REMOTE_ATOMIC, true},
		{IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, true},
		{IBV_ACCESS_REMOTE_READ, false},
		{IBV_ACCESS_REMOTE_WRITE, false},
		{0, false},
	};

	for (const Rights &row : rows) {
		const Row name(row.rights);
		Pair pair;
		Words at(pair.two);
		ibv_sge piece;

		pair.far.modify_rights(row.rights);
		ibv_send_wr wr = atomic(pair.near, {IBV_WR_ATOMIC_FETCH_AND_ADD, 1}, at,
					piece);
		pair.near.post(wr);
		is(status_name(pair.near.completion().status),
		   status_name(row.good ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR),
		   "its status");
		is(at.words[0], row.good ? 1u : 0u, "the memory");
	}
}

CASE("extensions: a result that cannot be stored")
{
	Pair pair;
	Words at(pair.two);
	ibv_sge piece;

	ibv_send_wr wr = atomic(pair.near, {IBV_WR_ATOMIC_FETCH_AND_ADD, 1}, at, piece);
	piece.lkey ^= 1;
	pair.near.post(wr);
	is(status_name(pair.near.completion().status), status_name(IBV_WC_LOC_PROT_ERR),
	   "its status");
	is(at.words[0], 0u, "nothing was executed");
}

CASE("extensions: entries of atomic operations")
{
	struct Changed {
		const char *name;
		void (*change)(mpa_sqe &sqe, mpa_atomic &operands);
		ibv_wc_status status;
	};
	const Changed rows[] = {
		{"valid", [](mpa_sqe &, mpa_atomic &) {}, IBV_WC_SUCCESS},
		{"fenced", [](mpa_sqe &sqe, mpa_atomic &) { sqe.flags |= MPA_SQE_FENCE; },
		 IBV_WC_SUCCESS},
		{"solicited",
		 [](mpa_sqe &sqe, mpa_atomic &) { sqe.flags |= MPA_SQE_SOLICITED; },
		 IBV_WC_LOC_QP_OP_ERR},
		{"inline", [](mpa_sqe &sqe, mpa_atomic &) { sqe.flags |= MPA_SQE_INLINE; },
		 IBV_WC_LOC_QP_OP_ERR},
		{"pieces", [](mpa_sqe &sqe, mpa_atomic &) { sqe.num_sge = 1; },
		 IBV_WC_LOC_QP_OP_ERR},
		{"reserved", [](mpa_sqe &sqe, mpa_atomic &) { sqe.reserved = 1; },
		 IBV_WC_LOC_QP_OP_ERR},
		{"immediate data", [](mpa_sqe &sqe, mpa_atomic &) { sqe.imm_data = 1; },
		 IBV_WC_LOC_QP_OP_ERR},
		{"something to compare",
		 [](mpa_sqe &, mpa_atomic &operands) { operands.compare = 1; },
		 IBV_WC_LOC_QP_OP_ERR},
		// Nor does the provider know them when they complete.
		{"masked FetchAdd",
		 [](mpa_sqe &sqe, mpa_atomic &) { sqe.opcode = MPA_WR_MASKED_FETCH_ADD; },
		 IBV_WC_GENERAL_ERR},
		{"masked CmpSwap",
		 [](mpa_sqe &sqe, mpa_atomic &) { sqe.opcode = MPA_WR_MASKED_CMP_SWAP; },
		 IBV_WC_GENERAL_ERR},
	};

	for (const Changed &row : rows) {
		const Row name(row.name);
		Pair pair;
		Words at(pair.two);

		mpa_sqe &sqe = atomic_entry(pair, at, MPA_WR_FETCH_ADD);
		auto &operands = operands_of(sqe);
		operands.data = 1;
		row.change(sqe, operands);
		raw::publish_sends(pair.near, 1);
		raw::ring(pair.near);
		is(status_name(pair.near.completion().status), status_name(row.status),
		   "its completion");
	}
}

CASE("extensions: the device states what atomic operations are worth")
{
	Device device(1);
	ibv_device_attr attr{};

	is(Err{ibv_query_device(device.context.get(), &attr)}, 0, "ibv_query_device");
	is(int(attr.atomic_cap), int(IBV_ATOMIC_GLOB), "atomic against the processor");
}

// The peer answers nothing while it waits for a receive, so the response to a large Read is
// on its way, and what is behind it has to wait.
CASE("extensions: rights that are taken away before a response")
{
	constexpr std::uint32_t large = 32 << 20;

	for (const bool read : {true, false}) {
		const Row row(read ? "of the Read in progress" : "of an atomic operation");
		const Setting waits(1, "receive-wait", "60s");
		Pair pair;
		Bytes sink(large), source(large);
		const Region to(ibv_reg_mr(pair.one.domain.get(), sink.data(), large,
					   IBV_ACCESS_LOCAL_WRITE));
		const Region from(ibv_reg_mr(pair.two.domain.get(), source.data(), large,
					     IBV_ACCESS_REMOTE_READ));
		const Words at(pair.two);
		ibv_sge piece{}, result{};
		ibv_send_wr wr{};

		yes(to && from, "there are regions");
		pair.far.send(7);
		pair.far.completion();
		piece = {.addr = reinterpret_cast<std::uintptr_t>(sink.data()),
			 .length = large,
			 .lkey = to->lkey};
		wr.wr_id = 2;
		wr.opcode = IBV_WR_RDMA_READ;
		wr.sg_list = &piece;
		wr.num_sge = 1;
		wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(source.data());
		wr.wr.rdma.rkey = from->rkey;
		const std::uint64_t reads = counter(2, "rx_read_req");
		const std::uint64_t atomics = counter(2, "rx_atomic_req");
		pair.near.post(wr);
		ibv_send_wr add =
			atomic(pair.near, {IBV_WR_ATOMIC_FETCH_AND_ADD, 1}, at, result);
		pair.near.post(add);
		await([&] { return counter(2, "rx_read_req") > reads &&
				   counter(2, "rx_atomic_req") > atomics; },
		      "both arrive");
		pair.far.modify_rights(read ? 0 : IBV_ACCESS_REMOTE_READ);
		pair.near.post_receive(8);
		is(pair.near.completion().wr_id, 8u, "the Send is received");
		if (!read)
			is(status_name(pair.near.completion().status),
			   status_name(IBV_WC_SUCCESS), "the Read");
		is(status_name(pair.near.completion().status),
		   status_name(IBV_WC_REM_ACCESS_ERR), "what has lost its right");
		is(at.words[0], 0u, "the operation was not executed");
	}
}
