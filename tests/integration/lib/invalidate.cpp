// SPDX-License-Identifier: GPL-2.0-only
//
// Invalidates a region by one QP while another one sends from it, held up by the
// module mpa_hold between finding out where the payload lies and copying it:
//
//	invalidate ADDRESS PORT send|read OCTETS
//
// Connects to itself, twice. When the invalidation has completed the region is
// written over; none of what is written then may come to the peer, and the sender's
// request ends with a local protection error or, with a Read, the peer's with an
// error of its own. "send" posts a Send from the region, with "read" the peer reads it.

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

constexpr std::uint8_t valid_octet = 0x11;
constexpr std::uint8_t stale_octet = 0xee;
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

	wait_for([&] { return ibv_poll_cq(cq, 1, &wc) == 1; }, what);
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
	pair.active = make_endpoint(info);
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
	std::vector<std::uint8_t> octets;
	Mr mr;

	Memory(ibv_pd *pd, std::size_t len, std::uint8_t octet)
		: octets(len, octet),
		  mr(ibv_reg_mr(pd, octets.data(), len,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ))
	{
		if (!mr)
			fail("ibv_reg_mr");
	}

	ibv_sge sge() const
	{
		return {reinterpret_cast<std::uintptr_t>(octets.data()),
			static_cast<std::uint32_t>(octets.size()), mr->lkey};
	}

	std::ptrdiff_t count(std::uint8_t octet) const
	{
		return std::ranges::count(octets, octet);
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

// Starts what is to be held up: the region's octets on their way to the sink.
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

void judge(bool read, const Pair &pair, const Memory &sink)
{
	const auto own = completion(read ? pair.passive->send_cq :
					   pair.active->send_cq, "request");

	std::printf("request: %s; peer has %td valid octets, %td stale ones\n",
		    ibv_wc_status_str(own.status), sink.count(valid_octet),
		    sink.count(stale_octet));
	if (!read)
		must_be(completion(pair.passive->recv_cq, "receive"), false,
			"receive");
	if (sink.count(stale_octet))
		throw std::runtime_error("stale octets have come to the peer");
	must_be(own, false, "request");
	if (!read && own.status != IBV_WC_LOC_PROT_ERR)
		throw std::runtime_error("the Send failed for another reason");
}

void run(const char *address, const char *port, bool read, std::size_t len)
{
	const auto passive_info = look_up(address, port, RAI_PASSIVE);
	const auto info = look_up(address, port, 0);
	const auto listener = make_endpoint(passive_info.get());

	must(rdma_listen(listener.get(), 4), "rdma_listen");
	const Pair other = connect(listener.get(), info.get());
	const Pair pair = connect(listener.get(), info.get());
	Memory region(pair.active->qp->pd, len, valid_octet);
	Memory sink(pair.passive->qp->pd, len, 0);

	receive_into(pair, sink);
	hold_set("armed");
	auto started = std::async(std::launch::async, [&] {
		start(read, pair, region, sink);
	});
	wait_for([] { return hold_is("held"); }, "sender held up");
	invalidate(other.active.get(), region);
	std::ranges::fill(region.octets, stale_octet);
	hold_set("pass");
	started.get();
	judge(read, pair, sink);
}

} // namespace

int main(int argc, char **argv)
{
	std::size_t len = 0;

	if (argc != 5 || (std::string_view(argv[3]) != "send" &&
			  std::string_view(argv[3]) != "read"))
		return 2;
	const std::string_view digits = argv[4];
	if (std::from_chars(digits.begin(), digits.end(), len).ec != std::errc{})
		return 2;
	try {
		run(argv[1], argv[2], std::string_view(argv[3]) == "read", len);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "invalidate: %s\n", error.what());
		return 1;
	}
	return 0;
}
