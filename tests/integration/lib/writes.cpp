// SPDX-License-Identifier: GPL-2.0-only
//
// Short messages, posted at once, for tests of how FPDUs share segments:
//
//	writes server ADDRESS PORT
//	writes client ADDRESS PORT write|send BYTES COUNT...
//
// The client posts COUNT requests of BYTES in one call, waits until the last has
// completed, and does so for each COUNT, with a pause between. The server accepts one
// connection after the other until it is killed.

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
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

constexpr unsigned int most_requests = 16384;
// Receives of the server; only Sends need them.
constexpr unsigned int most_receives = 4096;
constexpr std::size_t most_bytes = 65536;

using Mr = std::unique_ptr<ibv_mr, Ender<ibv_dereg_mr>>;

// Where the client may write; the private data of the answer.
struct Target {
	std::uint64_t address;
	std::uint32_t key;
} __attribute__((packed));

struct Memory {
	std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(most_bytes, 0x5a);
	Mr mr;

	explicit Memory(ibv_pd *pd)
		: mr(ibv_reg_mr(pd, bytes.data(), bytes.size(),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE))
	{
		if (!mr)
			fail("ibv_reg_mr");
	}

	std::uint64_t address() const
	{
		return reinterpret_cast<std::uintptr_t>(bytes.data());
	}
};

// Requests complete only where they ask for it.
ibv_qp_init_attr queue_attributes(unsigned int sends, unsigned int receives)
{
	ibv_qp_init_attr attr = queue_sizes(1);

	attr.cap.max_send_wr = sends;
	attr.cap.max_recv_wr = receives;
	attr.sq_sig_all = 0;
	return attr;
}

void wait_for_completion(rdma_cm_id *id)
{
	ibv_wc wc{};
	int got;

	while (!(got = ibv_poll_cq(id->send_cq, 1, &wc)))
		std::this_thread::sleep_for(1ms);
	if (got < 0)
		throw std::runtime_error("ibv_poll_cq");
	if (wc.status != IBV_WC_SUCCESS)
		throw std::runtime_error(ibv_wc_status_str(wc.status));
}

void post(rdma_cm_id *id, const Memory &memory, const Target &target,
	  ibv_wr_opcode opcode, std::uint32_t length, unsigned int count)
{
	ibv_sge piece{memory.address(), length, memory.mr->lkey};
	std::vector<ibv_send_wr> requests(count);
	ibv_send_wr *bad = nullptr;

	for (unsigned int i = 0; i < count; i++) {
		ibv_send_wr &wr = requests[i];

		wr.next = i + 1 < count ? &requests[i + 1] : nullptr;
		wr.sg_list = &piece;
		wr.num_sge = 1;
		wr.opcode = opcode;
		wr.wr.rdma.remote_addr = target.address;
		wr.wr.rdma.rkey = target.key;
	}
	requests.back().send_flags = IBV_SEND_SIGNALED;
	must(ibv_post_send(id->qp, requests.data(), &bad), "ibv_post_send");
	wait_for_completion(id);
}

unsigned int number(std::string_view text, unsigned int most)
{
	unsigned int value = 0;
	const auto [end, error] =
		std::from_chars(text.data(), text.data() + text.size(), value);

	if (error != std::errc() || end != text.data() + text.size() || !value ||
	    value > most)
		throw std::runtime_error("not a number from 1 to " +
					 std::to_string(most) + ": " + std::string(text));
	return value;
}

void client(const char *address, const char *port, std::string_view operation,
	    std::uint32_t length, const std::vector<unsigned int> &counts)
{
	ibv_qp_init_attr attr = queue_attributes(most_requests, 1);
	const Address info = look_up(address, port, 0);
	rdma_conn_param param{};
	rdma_cm_id *raw = nullptr;
	Target target{};

	must(rdma_create_ep(&raw, info.get(), nullptr, &attr), "rdma_create_ep");
	const Endpoint id(raw);
	const Memory memory(id->pd);
	must(rdma_connect(id.get(), &param), "rdma_connect");
	const rdma_conn_param &answer = id->event->param.conn;
	if (answer.private_data_len < sizeof(target))
		throw std::runtime_error("the server told no address");
	std::memcpy(&target, answer.private_data, sizeof(target));
	for (const unsigned int count : counts) {
		// Delayed acknowledgements of what was before are over.
		std::this_thread::sleep_for(300ms);
		post(id.get(), memory, target,
		     operation == "send" ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, length, count);
	}
	rdma_disconnect(id.get());
}

void serve(rdma_cm_id *id)
{
	const Memory memory(id->pd);
	const Target target{memory.address(), memory.mr->rkey};
	rdma_cm_event *event = nullptr;
	rdma_conn_param param{};

	for (unsigned int i = 0; i < most_receives; i++)
		must(rdma_post_recv(id, nullptr, const_cast<std::uint8_t *>(
							 memory.bytes.data()),
				    memory.bytes.size(), memory.mr.get()),
		     "rdma_post_recv");
	param.private_data = &target;
	param.private_data_len = sizeof(target);
	must(rdma_accept(id, &param), "rdma_accept");
	must(rdma_get_cm_event(id->channel, &event), "rdma_get_cm_event");
	const bool ended = event->event == RDMA_CM_EVENT_DISCONNECTED;
	rdma_ack_cm_event(event);
	if (!ended)
		throw std::runtime_error("not the end of a connection");
}

void server(const char *address, const char *port)
{
	ibv_qp_init_attr attr = queue_attributes(16, most_receives);
	const Address info = look_up(address, port, RAI_PASSIVE);
	rdma_cm_id *raw = nullptr;

	must(rdma_create_ep(&raw, info.get(), nullptr, &attr), "rdma_create_ep");
	const Endpoint listener(raw);
	must(rdma_listen(listener.get(), 4), "rdma_listen");
	for (;;) {
		must(rdma_get_request(listener.get(), &raw), "rdma_get_request");
		const Endpoint id(raw);
		serve(id.get());
	}
}

} // namespace

int main(int argc, char **argv)
{
	const std::vector<std::string_view> words(argv + 1, argv + argc);

	try {
		if (words.size() == 3 && words[0] == "server") {
			server(argv[2], argv[3]);
		} else if (words.size() >= 6 && words[0] == "client" &&
			   (words[3] == "write" || words[3] == "send")) {
			std::vector<unsigned int> counts;

			for (std::size_t i = 5; i < words.size(); i++)
				counts.push_back(number(words[i], most_requests));
			client(argv[2], argv[3], words[3], number(words[4], most_bytes),
			       counts);
		} else {
			std::fputs("usage: writes server ADDRESS PORT\n"
				   "       writes client ADDRESS PORT write|send BYTES "
				   "COUNT...\n",
				   stderr);
			return 2;
		}
	} catch (const std::exception &error) {
		std::fprintf(stderr, "writes: %s\n", error.what());
		return 1;
	}
	return 0;
}
