// SPDX-License-Identifier: GPL-2.0-only
//
// Events while the module mpa_hold delays a sender, after it has located its
// payload and before it copies it:
//
//	held ADDRESS PORT send|read|reset BYTES
//
// Connects to itself, twice.
//
// send, read: the region is invalidated by another QP, and overwritten when
// that has completed; nothing written then may reach the peer, and the sender's
// request ends with a local protection error or, with a Read, the peer's with
// an error of its own. "send" posts a Send from the region, with "read" the
// peer reads it.
//
// reset: the peer sends messages, and ends by RST within a further one. The
// complete ones are received, and only then the queues are flushed.

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "rdmacm.hpp"

namespace {

using namespace rdmacm;
using namespace std::chrono_literals;

constexpr std::uint8_t valid_byte = 0x11;
constexpr std::uint8_t stale_byte = 0xee;
constexpr unsigned int queue_depth = 16;
constexpr auto patience = 60s;

using Mr = std::unique_ptr<ibv_mr, Ender<ibv_dereg_mr>>;

void wait_for(const std::function<bool()> &done, const char *what)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (!done()) {
		if (std::chrono::steady_clock::now() > end)
			throw std::runtime_error(std::string(what) + ": too late");
		std::this_thread::sleep_for(5ms);
	}
}

std::string parameter(const char *name)
{
	return std::string("/sys/module/mpa_hold/parameters/") + name;
}

void hold_set(const char *name)
{
	std::ofstream file(parameter(name));

	file << "1" << std::flush;
	if (!file)
		throw std::runtime_error(parameter(name) + ": cannot be written");
}

bool hold_is(const char *name)
{
	int value = 0;

	std::ifstream(parameter(name)) >> value;
	return value;
}

ibv_wc completion(ibv_cq *cq, const char *what)
{
	ibv_wc wc{};

	wait_for([&] {
		const int got = ibv_poll_cq(cq, 1, &wc);

		if (got < 0)
			throw std::runtime_error(std::string(what) + ": ibv_poll_cq");
		return got == 1;
	}, what);
	return wc;
}

void must_be(const ibv_wc &wc, bool good, const char *what)
{
	if (good != (wc.status == IBV_WC_SUCCESS))
		throw std::runtime_error(std::string(what) + ": " +
					 ibv_wc_status_str(wc.status));
}

struct Pair {
	Endpoint active;
	Endpoint passive;
};

Pair connect(rdma_cm_id *listener, rdma_addrinfo *info)
{
	Pair pair;
	rdma_conn_param param{};

	param.responder_resources = param.initiator_depth = 4;
	pair.active = make_endpoint(info, queue_depth);
	auto connected = std::async(std::launch::async, [&] {
		must(rdma_connect(pair.active.get(), &param), "rdma_connect");
	});
	rdma_cm_id *raw = nullptr;
	must(rdma_get_request(listener, &raw), "rdma_get_request");
	pair.passive.reset(raw);
	must(rdma_accept(raw, &param), "rdma_accept");
	connected.get();
	return pair;
}

struct Memory {
	std::vector<std::uint8_t> bytes;
	Mr mr;

	Memory(ibv_pd *pd, std::size_t len, std::uint8_t byte)
		: bytes(len, byte),
		  mr(ibv_reg_mr(pd, bytes.data(), len,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ))
	{
		if (!mr)
			fail("ibv_reg_mr");
	}

	ibv_sge sge() const
	{
		return {reinterpret_cast<std::uintptr_t>(bytes.data()),
			static_cast<std::uint32_t>(bytes.size()), mr->lkey};
	}

	std::ptrdiff_t count(std::uint8_t byte) const
	{
		return std::ranges::count(bytes, byte);
	}
};

void post(rdma_cm_id *id, ibv_send_wr wr, const char *what)
{
	ibv_send_wr *bad = nullptr;

	wr.send_flags = IBV_SEND_SIGNALED;
	const int error = ibv_post_send(id->qp, &wr, &bad);
	if (error) {
		errno = error;
		fail(what);
	}
}

void invalidate(rdma_cm_id *id, const Memory &region)
{
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = region.mr->rkey;
	post(id, wr, "invalidation");
	must_be(completion(id->send_cq, "invalidation"), true, "invalidation");
}

// Starts the delayed transfer: the region's bytes to the sink.
void start(bool read, const Pair &pair, const Memory &region, const Memory &sink)
{
	ibv_send_wr wr{};
	ibv_sge sge = read ? sink.sge() : region.sge();

	wr.sg_list = &sge;
	wr.num_sge = 1;
	if (read) {
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = region.sge().addr;
		wr.wr.rdma.rkey = region.mr->rkey;
		post(pair.passive.get(), wr, "Read");
	} else {
		wr.opcode = IBV_WR_SEND;
		post(pair.active.get(), wr, "Send");
	}
}

void receive_into(const Pair &pair, const Memory &sink)
{
	ibv_sge sge = sink.sge();
	ibv_recv_wr wr{}, *bad = nullptr;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	must(ibv_post_recv(pair.passive->qp, &wr, &bad), "ibv_post_recv");
}

void check_sink(bool read, const Pair &pair, const Memory &sink)
{
	const auto own = completion(read ? pair.passive->send_cq :
					   pair.active->send_cq, "request");

	std::printf("request: %s; peer has %td valid bytes, %td stale ones\n",
		    ibv_wc_status_str(own.status), sink.count(valid_byte),
		    sink.count(stale_byte));
	if (!read)
		must_be(completion(pair.passive->recv_cq, "receive"), false,
			"receive");
	if (sink.count(stale_byte))
		throw std::runtime_error("stale bytes have come to the peer");
	must_be(own, false, "request");
	if (!read && own.status != IBV_WC_LOC_PROT_ERR)
		throw std::runtime_error("the Send failed for another reason");
}

constexpr unsigned int whole_messages = 8;

void post_receives(const Pair &pair, const Memory &room)
{
	for (unsigned int n = 0; n <= whole_messages; n++) {
		ibv_sge sge = room.sge();
		ibv_recv_wr wr{}, *bad = nullptr;

		wr.wr_id = n;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		must(ibv_post_recv(pair.active->qp, &wr, &bad), "ibv_post_recv");
	}
}

// Sends of 16 bytes, and one of which only a part fits into the receiver's
// window.
void send_and_reset(const Pair &pair, const Memory &region)
{
	ibv_sge sge = region.sge();
	ibv_send_wr wr{};
	ibv_qp_attr attr{};

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	for (unsigned int n = 0; n <= whole_messages; n++) {
		sge.length = n < whole_messages ? 16 : region.sge().length;
		post(pair.passive.get(), wr, "Send of the peer");
	}
	// Then TCP has them, and between ends on one host that is the
	// receiver's TCP.
	for (unsigned int n = 0; n < whole_messages; n++)
		must_be(completion(pair.passive->send_cq, "Send of the peer"), true,
			"Send of the peer");
	attr.qp_state = IBV_QPS_ERR;
	must(ibv_modify_qp(pair.passive->qp, &attr, IBV_QP_STATE), "ibv_modify_qp");
	must_be(completion(pair.passive->send_cq, "the last Send"), false,
		"the last Send");
}

void expect_whole_messages(const Pair &pair)
{
	unsigned int whole = 0;
	ibv_wc wc = completion(pair.active->recv_cq, "receive");

	for (; wc.status == IBV_WC_SUCCESS; whole++) {
		if (wc.wr_id != whole || wc.byte_len != 16)
			throw std::runtime_error("another message than was sent");
		wc = completion(pair.active->recv_cq, "receive");
	}
	std::printf("%u messages, then: %s\n", whole, ibv_wc_status_str(wc.status));
	if (whole != whole_messages || wc.status != IBV_WC_WR_FLUSH_ERR)
		throw std::runtime_error("not all complete messages were received");
	completion(pair.active->send_cq, "held request");
}

void run_reset(const Pair &pair, std::size_t len)
{
	Memory region(pair.active->qp->pd, len, valid_byte);
	Memory far(pair.passive->qp->pd, 16 << 20, valid_byte);
	Memory room(pair.active->qp->pd, 16 << 20, 0);

	post_receives(pair, room);
	hold_set("armed");
	auto started = std::async(std::launch::async, [&] {
		start(false, pair, region, region);
	});
	wait_for([] { return hold_is("held"); }, "sender delayed");
	send_and_reset(pair, far);
	hold_set("pass");
	started.get();
	expect_whole_messages(pair);
}

void run(const char *address, const char *port, std::string_view what, std::size_t len)
{
	const auto passive_info = look_up(address, port, RAI_PASSIVE);
	const auto info = look_up(address, port, 0);
	const auto listener = make_endpoint(passive_info.get(), queue_depth);

	must(rdma_listen(listener.get(), 4), "rdma_listen");
	const Pair other = connect(listener.get(), info.get());
	const Pair pair = connect(listener.get(), info.get());
	if (what == "reset") {
		run_reset(pair, len);
		return;
	}

	const bool read = what == "read";
	Memory region(pair.active->qp->pd, len, valid_byte);
	Memory sink(pair.passive->qp->pd, len, 0);

	receive_into(pair, sink);
	hold_set("armed");
	auto started = std::async(std::launch::async, [&] {
		start(read, pair, region, sink);
	});
	wait_for([] { return hold_is("held"); }, "sender delayed");
	invalidate(other.active.get(), region);
	std::ranges::fill(region.bytes, stale_byte);
	hold_set("pass");
	started.get();
	check_sink(read, pair, sink);
}

} // namespace

int main(int argc, char **argv)
{
	std::size_t len = 0;

	if (argc != 5)
		return 2;
	const std::string_view what = argv[3], digits = argv[4];
	if ((what != "send" && what != "read" && what != "reset") ||
	    std::from_chars(digits.begin(), digits.end(), len).ec != std::errc{})
		return 2;
	try {
		run(argv[1], argv[2], what, len);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "held: %s\n", error.what());
		return 1;
	}
	return 0;
}
