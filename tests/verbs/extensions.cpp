// SPDX-License-Identifier: GPL-2.0-only
//
// Messages of RFC 7306: a Write followed by Immediate Data.
#include "raw.hpp"

#include <cstdlib>
#include <cstring>

#include <poll.h>

using namespace harness;
using namespace verbs;

namespace {

constexpr std::uint32_t value = 0xc0ffee42;

ibv_send_wr write_imm(Queue &queue, const Device &peer, ibv_sge &piece,
		      std::uint32_t length)
{
	ibv_send_wr wr{};

	piece = {.addr = reinterpret_cast<std::uintptr_t>(queue.device.memory.data()),
		 .length = length,
		 .lkey = queue.device.region->lkey};
	wr.wr_id = 1;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	wr.imm_data = value;
	wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(peer.memory.data());
	wr.wr.rdma.rkey = peer.region->rkey;
	return wr;
}

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
	is(wc.imm_data, value, "the data");
	is(wc.byte_len, bytes, "bytes of the Write");
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

// A device's setting, until the end of the case.
class Setting {
public:
	Setting(int host, const std::string &mode) : host_(host) { set(mode); }
	~Setting() { set("inherit"); }
	Setting(const Setting &) = delete;
	Setting &operator=(const Setting &) = delete;

private:
	void set(const std::string &mode)
	{
		const std::string host = std::to_string(host_);
		const std::string command =
			"ip netns exec h" + host +
			" \"$MPA_REPO/build/bin/mpactl\" set dev mpa" + host +
			" rdmap-extensions " + mode + " >/dev/null 2>&1";

		is(std::system(command.c_str()), 0, command);
	}

	int host_;
};

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
		const Setting near(1, row.near), far(2, row.far);

		Pair there;
		try_imm(there.near, there.far, row.near_uses, row.far_uses);
		Pair back;
		try_imm(back.far, back.near, row.far_uses, row.near_uses);
	}
}

// An application can write the entry all the same.
CASE("extensions: without them the kernel refuses the entry")
{
	const Setting near(1, "off");
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
