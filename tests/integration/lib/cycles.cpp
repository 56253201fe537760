// SPDX-License-Identifier: GPL-2.0-only
//
// Makes and ends many RDMA connections one after the other, each in one of the
// possible ways, and checks the events on both ends:
//
//	cycles listen  ADDRESS PORT COUNT
//	cycles connect ADDRESS PORT COUNT
//
// The private data of a request contain the number of the cycle and how it must
// end. If a connection is established, one message is sent in each direction.

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "rdmacm.hpp"

namespace {

using namespace rdmacm;

enum class Ending : std::uint32_t {
	initiator_disconnects,
	responder_disconnects,
	initiator_aborts,
	responder_aborts,
	responder_rejects,
	count,
};

// Private data of requests, replies and refusals, in network byte order.
struct Cycle {
	std::uint32_t number;
	std::uint32_t ending;

	static Cycle of(std::uint32_t number)
	{
		return {htonl(number),
			htonl(number % static_cast<std::uint32_t>(Ending::count))};
	}

	Ending how() const { return static_cast<Ending>(ntohl(ending)); }
	bool operator==(const Cycle &) const = default;
};

using Message = std::array<std::uint8_t, 256>;

Message message_of(Cycle cycle, std::uint8_t salt)
{
	Message message;
	for (std::size_t i = 0; i < message.size(); i++)
		message[i] = static_cast<std::uint8_t>(ntohl(cycle.number) * 31 +
						       i * 7 + salt);
	return message;
}

constexpr std::uint8_t request_salt = 1;
constexpr std::uint8_t reply_salt = 2;

[[noreturn]] void wrong(Cycle cycle, const std::string &what)
{
	throw std::runtime_error("cycle " + std::to_string(ntohl(cycle.number)) +
				 ": " + what);
}

using Mr = std::unique_ptr<ibv_mr, Ender<rdma_dereg_mr>>;

rdma_conn_param parameters(const Cycle &cycle)
{
	rdma_conn_param param{};

	param.private_data = &cycle;
	param.private_data_len = sizeof(cycle);
	param.responder_resources = 1;
	param.initiator_depth = 1;
	return param;
}

// Private data of the other side in the event that the identifier holds.
Cycle cycle_of(const rdma_cm_id &id)
{
	const auto &param = id.event->param.conn;
	Cycle cycle;

	if (!param.private_data || param.private_data_len < sizeof(cycle))
		throw std::runtime_error("private data of " +
					 std::to_string(param.private_data_len) +
					 " bytes");
	std::memcpy(&cycle, param.private_data, sizeof(cycle));
	return cycle;
}

void check_event(Cycle cycle, rdma_cm_event_type got, rdma_cm_event_type wanted)
{
	if (got != wanted)
		wrong(cycle, std::string("event ") + rdma_event_str(got) +
				     ", expected " + rdma_event_str(wanted));
}

// Waits for the next event of a connection, which must be this one.
void expect_event(Cycle cycle, rdma_cm_id &id, rdma_cm_event_type wanted)
{
	rdma_cm_event *event = nullptr;

	must(rdma_get_cm_event(id.channel, &event), "rdma_get_cm_event");
	const auto got = event->event;
	rdma_ack_cm_event(event);
	check_event(cycle, got, wanted);
}

// One connection with the buffers of its two messages.
class Talk {
public:
	Talk(Cycle cycle, rdma_cm_id &id)
		: cycle_(cycle), id_(id),
		  in_mr_(rdma_reg_msgs(&id, in_.data(), in_.size())),
		  out_mr_(rdma_reg_msgs(&id, out_.data(), out_.size()))
	{
		if (!in_mr_ || !out_mr_)
			fail("rdma_reg_msgs");
		must(rdma_post_recv(&id_, nullptr, in_.data(), in_.size(),
				    in_mr_.get()),
		     "rdma_post_recv");
	}

	void send(std::uint8_t salt)
	{
		ibv_wc wc;

		out_ = message_of(cycle_, salt);
		must(rdma_post_send(&id_, nullptr, out_.data(), out_.size(),
				    out_mr_.get(), 0),
		     "rdma_post_send");
		if (rdma_get_send_comp(&id_, &wc) != 1)
			fail("rdma_get_send_comp");
		if (wc.status != IBV_WC_SUCCESS)
			wrong(cycle_, std::string("send: ") +
					      ibv_wc_status_str(wc.status));
	}

	void receive(std::uint8_t salt)
	{
		ibv_wc wc;

		if (rdma_get_recv_comp(&id_, &wc) != 1)
			fail("rdma_get_recv_comp");
		if (wc.status != IBV_WC_SUCCESS)
			wrong(cycle_, std::string("receive: ") +
					      ibv_wc_status_str(wc.status));
		if (wc.byte_len != in_.size() || in_ != message_of(cycle_, salt))
			wrong(cycle_, "message is not what was sent");
	}

private:
	Cycle cycle_;
	rdma_cm_id &id_;
	Message in_{};
	Message out_{};
	Mr in_mr_;
	Mr out_mr_;
};

// Sends the last message of a connection, or receives it on the other side.
void end(Cycle cycle, rdma_cm_id &id, Ending own_disconnect, Ending own_abort)
{
	if (cycle.how() == own_abort)
		return;
	if (cycle.how() == own_disconnect) {
		// Waits for the event itself, and keeps it.
		must(rdma_disconnect(&id), "rdma_disconnect");
		check_event(cycle, id.event->event, RDMA_CM_EVENT_DISCONNECTED);
	} else {
		expect_event(cycle, id, RDMA_CM_EVENT_DISCONNECTED);
	}
}

void connect_once(rdma_addrinfo *info, std::uint32_t number)
{
	const auto cycle = Cycle::of(number);
	auto id = make_endpoint(info);
	Talk talk(cycle, *id);
	auto param = parameters(cycle);
	const int result = rdma_connect(id.get(), &param);

	if (cycle.how() == Ending::responder_rejects) {
		if (!result || errno != ECONNREFUSED)
			wrong(cycle, "was not refused");
		if (cycle_of(*id) != cycle)
			wrong(cycle, "other private data in the refusal");
		return;
	}
	must(result, "rdma_connect");
	if (cycle_of(*id) != cycle)
		wrong(cycle, "other private data in the reply");
	talk.send(request_salt);
	talk.receive(reply_salt);
	end(cycle, *id, Ending::initiator_disconnects, Ending::initiator_aborts);
}

void accept_once(rdma_cm_id *listener, std::uint32_t number)
{
	rdma_cm_id *raw = nullptr;

	must(rdma_get_request(listener, &raw), "rdma_get_request");
	Endpoint id(raw);
	const auto cycle = cycle_of(*id);
	if (cycle != Cycle::of(number))
		wrong(cycle, "expected cycle " + std::to_string(number));
	if (cycle.how() == Ending::responder_rejects) {
		must(rdma_reject(id.get(), &cycle, sizeof(cycle)), "rdma_reject");
		return;
	}
	Talk talk(cycle, *id);
	auto param = parameters(cycle);
	must(rdma_accept(id.get(), &param), "rdma_accept");
	talk.receive(request_salt);
	talk.send(reply_salt);
	end(cycle, *id, Ending::responder_disconnects, Ending::responder_aborts);
}

// A log that ends early must show where.
void say_progress(std::uint32_t done)
{
	if (done % 50 == 0) {
		std::printf("%u cycles\n", done);
		std::fflush(stdout);
	}
}

void run(std::string_view role, const char *address, const char *port,
	 std::uint32_t count)
{
	if (role == "listen") {
		const auto info = look_up(address, port, RAI_PASSIVE);
		const auto listener = make_endpoint(info.get());

		must(rdma_listen(listener.get(), 16), "rdma_listen");
		for (std::uint32_t n = 0; n < count; n++) {
			accept_once(listener.get(), n);
			say_progress(n + 1);
		}
	} else {
		const auto info = look_up(address, port, 0);

		for (std::uint32_t n = 0; n < count; n++) {
			connect_once(info.get(), n);
			say_progress(n + 1);
		}
	}
}

} // namespace

int main(int argc, char **argv)
{
	std::uint32_t count = 0;

	if (argc != 5 || (std::string_view(argv[1]) != "listen" &&
			  std::string_view(argv[1]) != "connect")) {
		std::fprintf(stderr,
			     "usage: %s listen|connect ADDRESS PORT COUNT\n",
			     argv[0]);
		return 2;
	}
	const std::string_view digits = argv[4];
	if (std::from_chars(digits.begin(), digits.end(), count).ec != std::errc{})
		return 2;
	try {
		run(argv[1], argv[2], argv[3], count);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "cycles: %s: %s\n", argv[1], error.what());
		return 1;
	}
	std::printf("all %u cycles\n", count);
	return 0;
}
