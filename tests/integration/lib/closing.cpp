// SPDX-License-Identifier: GPL-2.0-only
//
// How connections end after completed work:
//
//	closing serve ADDRESS PORT CONNECTIONS BYTES
//	closing send  ADDRESS PORT CONNECTIONS GATE COUNT SIZE disconnect|destroy
//	closing read  ADDRESS PORT GATE BYTES
//
// The server accepts connections and prints how many messages each has received
// and how it ended; it has a region of so many bytes to be read. The others
// connect and wait until the file GATE exists. "send" then sends messages,
// waits until all are completed, and ends the connections; "read" posts a Read
// of so many bytes and ends the connection while it is in flight.

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
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

using Clock = std::chrono::steady_clock;
using Mr = std::unique_ptr<ibv_mr, Ender<rdma_dereg_mr>>;

constexpr std::size_t depth = 32;
constexpr std::size_t longest = 16384;

// The server's private data in the reply.
struct Region {
	std::uint64_t address;
	std::uint32_t rkey;
};

template <typename... Args> void print(const char *format, Args... args)
{
	std::printf(format, args...);
	std::fflush(stdout);
}

rdma_conn_param parameters(const void *data = nullptr, std::uint8_t len = 0)
{
	rdma_conn_param param{};

	param.private_data = data;
	param.private_data_len = len;
	param.responder_resources = 1;
	param.initiator_depth = 1;
	return param;
}

Endpoint endpoint(rdma_addrinfo *info)
{
	ibv_qp_init_attr attr = queue_sizes(depth);
	rdma_cm_id *id = nullptr;

	must(rdma_create_ep(&id, info, nullptr, &attr), "rdma_create_ep");
	return Endpoint(id);
}

// The next completion, or none yet; flushed ones count as completions.
bool poll(ibv_cq *cq, ibv_wc &wc)
{
	const int got = ibv_poll_cq(cq, 1, &wc);

	if (got < 0)
		throw std::runtime_error("ibv_poll_cq");
	return got;
}

ibv_wc wait_for(ibv_cq *cq)
{
	ibv_wc wc{};

	while (!poll(cq, wc))
		std::this_thread::sleep_for(1ms);
	return wc;
}

void wait_for_gate(const char *gate)
{
	while (!std::filesystem::exists(gate))
		std::this_thread::sleep_for(20ms);
}

// A connection that is served, and what it received.
class Served {
public:
	Served(rdma_cm_id *listener, const Region &region, std::size_t number)
		: number_(number), room_(depth * longest)
	{
		rdma_cm_id *raw = nullptr;
		auto param = parameters(&region, sizeof(region));

		must(rdma_get_request(listener, &raw), "rdma_get_request");
		id_.reset(raw);
		mr_.reset(rdma_reg_msgs(raw, room_.data(), room_.size()));
		if (!mr_)
			fail("rdma_reg_msgs");
		for (std::size_t n = 0; n < depth; n++)
			post(n);
		must(rdma_accept(raw, &param), "rdma_accept");
	}

	// Handles what has arrived; false once the connection is over.
	bool go_on()
	{
		ibv_wc wc;

		while (!over_ && poll(id_->recv_cq, wc)) {
			over_ = wc.status != IBV_WC_SUCCESS;
			if (over_) {
				print("connection %zu: %zu messages, %zu bytes\n",
				      number_, messages_, bytes_);
				break;
			}
			messages_++;
			bytes_ += wc.byte_len;
			post(wc.wr_id);
		}
		return !over_;
	}

private:
	void post(std::uint64_t n)
	{
		must(rdma_post_recv(id_.get(), reinterpret_cast<void *>(n),
				    room_.data() + n * longest, longest, mr_.get()),
		     "rdma_post_recv");
	}

	std::size_t number_;
	std::vector<std::uint8_t> room_;
	Endpoint id_;
	Mr mr_;
	std::size_t messages_ = 0;
	std::size_t bytes_ = 0;
	bool over_ = false;
};

void serve(rdma_addrinfo *info, std::size_t count, std::size_t bytes)
{
	std::vector<std::uint8_t> memory(bytes, 0x5a);
	const auto listener = endpoint(info);
	std::vector<std::unique_ptr<Served>> all;
	Mr mr(rdma_reg_read(listener.get(), memory.data(), memory.size()));
	bool more = true;

	if (!mr)
		fail("rdma_reg_read");
	const Region region{reinterpret_cast<std::uintptr_t>(memory.data()), mr->rkey};
	must(rdma_listen(listener.get(), 64), "rdma_listen");
	while (all.size() < count)
		all.push_back(std::make_unique<Served>(listener.get(), region,
							   all.size()));
	while (more) {
		more = false;
		for (const auto &one : all)
			more |= one->go_on();
		std::this_thread::sleep_for(5ms);
	}
}

// Ends a connection in the usual way, and waits until it has ended.
void disconnect(rdma_cm_id *id)
{
	const auto start = Clock::now();

	must(rdma_disconnect(id), "rdma_disconnect");
	if (id->event->event != RDMA_CM_EVENT_DISCONNECTED)
		throw std::runtime_error(rdma_event_str(id->event->event));
	const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
		Clock::now() - start);
	print("disconnected after %lld ms\n", static_cast<long long>(took.count()));
}

Endpoint connected(rdma_addrinfo *info)
{
	auto id = endpoint(info);
	auto param = parameters();

	must(rdma_connect(id.get(), &param), "rdma_connect");
	return id;
}

void send_all(rdma_cm_id *id, std::size_t count, std::size_t size)
{
	std::vector<std::uint8_t> data(size, 0xa5);
	const Mr mr(rdma_reg_msgs(id, data.data(), data.size()));

	if (!mr)
		fail("rdma_reg_msgs");
	for (std::size_t n = 0; n < count; n++) {
		must(rdma_post_send(id, nullptr, data.data(), size, mr.get(), 0),
		     "rdma_post_send");
		const auto wc = wait_for(id->send_cq);
		if (wc.status != IBV_WC_SUCCESS)
			throw std::runtime_error(ibv_wc_status_str(wc.status));
	}
	print("completed %zu\n", count);
}

void send(rdma_addrinfo *info, std::size_t connections, const char *gate,
	  std::size_t count, std::size_t size, std::string_view how)
{
	std::vector<Endpoint> ids;

	while (ids.size() < connections)
		ids.push_back(connected(info));
	print("connected\n");
	wait_for_gate(gate);
	for (const auto &id : ids)
		send_all(id.get(), count, size);
	for (auto &id : ids) {
		if (how == "disconnect")
			disconnect(id.get());
		id.reset();
	}
}

void read(rdma_addrinfo *info, const char *gate, std::size_t bytes)
{
	std::vector<std::uint8_t> sink(bytes);
	const auto id = connected(info);
	const Mr mr(rdma_reg_write(id.get(), sink.data(), sink.size()));
	Region region;

	if (!mr)
		fail("rdma_reg_write");
	std::memcpy(&region, id->event->param.conn.private_data, sizeof(region));
	print("connected\n");
	wait_for_gate(gate);
	must(rdma_post_read(id.get(), nullptr, sink.data(), bytes, mr.get(), 0,
			    region.address, region.rkey),
	     "rdma_post_read");
	disconnect(id.get());
	const auto wc = wait_for(id->send_cq);
	if (wc.status != IBV_WC_SUCCESS)
		throw std::runtime_error(ibv_wc_status_str(wc.status));
	for (const auto byte : sink)
		if (byte != 0x5a)
			throw std::runtime_error("other bytes than there are");
	print("read %zu bytes\n", bytes);
}

std::size_t number(std::string_view text)
{
	std::size_t n = 0;
	const auto *end = text.data() + text.size();
	const auto [at, error] = std::from_chars(text.data(), end, n);

	if (error != std::errc() || at != end || !n)
		throw std::runtime_error("not a number: " + std::string(text));
	return n;
}

void run(int argc, char *argv[])
{
	const std::string_view role = argc > 3 ? argv[1] : "";

	if (role == "serve" && argc == 6)
		serve(look_up(argv[2], argv[3], RAI_PASSIVE).get(), number(argv[4]),
		      number(argv[5]));
	else if (role == "send" && argc == 9)
		send(look_up(argv[2], argv[3], 0).get(), number(argv[4]), argv[5],
		     number(argv[6]), number(argv[7]), argv[8]);
	else if (role == "read" && argc == 6)
		read(look_up(argv[2], argv[3], 0).get(), argv[4], number(argv[5]));
	else
		throw std::runtime_error("arguments: see the source");
}

} // namespace

int main(int argc, char *argv[])
{
	try {
		run(argc, argv);
		return 0;
	} catch (const std::exception &error) {
		std::fprintf(stderr, "closing: %s\n", error.what());
		return 1;
	}
}
