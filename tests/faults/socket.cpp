// SPDX-License-Identifier: GPL-2.0-only
//
// Socket calls without memory.
#include "faults.hpp"
#include "net.hpp"

#include <thread>

#include <fcntl.h>
#include <linux/tcp_framing.h>
#include <netinet/tcp.h>

using namespace harness;
using namespace net;
using faults::each_allocation;
using faults::with_fault;

namespace {

// TCP does not take at once what is sent.
constexpr Buffers small{.send = 9000, .receive = 20000};

// Fills the queues of both ends with plain bytes.
std::size_t fill(int fd)
{
	const Bytes some(1000);
	std::size_t sent = 0, before;

	do {
		long now;

		before = sent;
		while ((now = ::send(fd, some.data(), some.size(),
				     MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
			sent += static_cast<std::size_t>(now);
		is(Err{errno}, EAGAIN, "the queue is full");
		// The other end takes what it has room for.
		std::this_thread::sleep_for(moment);
	} while (sent > before);
	return sent;
}

// TCP still works.
void expect_plain(const Tcp &tcp)
{
	char byte = 'x';

	must_call(::send(tcp.near.get(), &byte, 1, MSG_NOSIGNAL), "send on TCP");
	is(must_call(::recv(tcp.far.get(), &byte, 1, 0), "receive on TCP"), 1,
	   "bytes over TCP");
}

} // namespace

CASE("socket: TCP becomes MPA, or stays TCP")
{
	each_allocation([] {
		const Tcp tcp;
		const int error = with_fault([&] {
			return ::setsockopt(tcp.near.get(), SOL_TCP, TCP_ULP, "mpa", 3) ?
				       errno : 0;
		});

		if (error)
			expect_plain(tcp);
		return error;
	});
}

CASE("socket: the Initiator starts, or reports the error")
{
	each_allocation([] {
		Attached both;

		begin(both.far, mpa::role::responder);
		must(both.near.set_blocking(false), "O_NONBLOCK");
		const int error = with_fault([&] {
			const int now = err(both.near.start(mpa::role::initiator)).number;

			return now == EINPROGRESS ? 0 : now;
		});
		if (!error) {
			await_request(both.far);
			must(both.far.accept_request(), "accept");
			await_operational(both.near);
		}
		return error;
	});
}

CASE("socket: behind a full queue the Responder accepts, or can accept again")
{
	unsigned int errors = 0;

	each_allocation([&] {
		WithWire both(Path::ipv4, small);
		const std::size_t before = fill(both.ours.fd());

		begin(both.ours, mpa::role::responder);
		both.wire.send(request());
		await_request(both.ours);
		const int error = with_fault([&] {
			return err(both.ours.accept_request()).number;
		});
		if (error) {
			errors++;
			must(both.ours.accept_request(), "again");
		}
		both.wire.read(before);
		both.wire.read_frame();
		await_operational(both.ours);
		return error;
	});
	yes(errors > 0, "that has happened");
}

CASE("socket: the Responder accepts, or reports the error")
{
	each_allocation([] {
		Attached both;

		begin(both.far, mpa::role::responder);
		begin(both.near, mpa::role::initiator);
		await_request(both.far);
		const int error = with_fault([&] {
			return err(both.far.accept_request()).number;
		});
		if (!error)
			await_operational(both.near);
		return error;
	});
}

namespace {

// Or the connection has failed with an error.
bool is_started(const mpa::socket &socket)
{
	return must(socket.info(), "info").state == mpa::state::wait_request;
}

// As many as fit into one segment.
Bytes longest(const mpa::socket &socket, unsigned int number)
{
	return pattern(must(socket.mulpdu(), "MULPDU"), number);
}

// A ULPDU is sent completely or not at all, and the next one is intact.
int send_one(Pair pair)
{
	const Bytes first = longest(pair.near, 1), second = pattern(100, 2);
	const int error = with_fault([&] {
		return err(pair.near.send(first)).number;
	});

	must(pair.near.send(second), "the next one");
	if (!error)
		expect_ulpdu(pair.far, first);
	expect_ulpdu(pair.far, second);
	return error;
}

} // namespace

CASE("socket: a ULPDU is sent completely or not at all")
{
	each_allocation([] { return send_one(Pair()); });
}

CASE("socket: with Markers a ULPDU is sent completely or not at all")
{
	each_allocation([] { return send_one(Pair(Path::ipv4, {}, {.markers = true})); });
}

CASE("socket: a batch is sent in complete ULPDUs")
{
	each_allocation([] {
		Pair pair;
		std::vector<Bytes> ulpdus;

		for (unsigned int n = 0; n < 20; n++)
			ulpdus.push_back(longest(pair.near, n));
		const std::vector<mpa::const_buffer> batch(ulpdus.begin(), ulpdus.end());
		std::size_t sent = 0;
		const int error = with_fault([&] {
			const auto result = pair.near.send_batch(batch);

			sent = result ? *result : 0;
			return err(result).number;
		});
		const Bytes last = pattern(10, 3);

		must(pair.near.send(last), "the next one");
		for (std::size_t n = 0; n < sent; n++)
			expect_ulpdu(pair.far, ulpdus[n]);
		expect_ulpdu(pair.far, last);
		return error;
	});
}

// It may be refused, but it does not start without the message that asks for
// the Request.
CASE("socket: an accepted socket has the last message of its listener")
{
	bool started = false;

	each_allocation([&] {
		net::Listener plain;
		mpa::socket listener = attach(
			descriptor(::fcntl(plain.fd.get(), F_DUPFD_CLOEXEC, 0)));
		must(listener.set_last_message(mpa::bytes("go on")), "last message");
		must(listener.start(mpa::role::responder), "start");
		const descriptor near = connect_to(plain);
		await_events(listener.fd(), POLLIN, "a connection");
		mpa::result<mpa::socket> far = std::errc::not_enough_memory;
		const int error = with_fault([&] {
			far = listener.accept_connection();
			return err(far).number;
		});
		char text[8] = "";

		started = !error && is_started(*far);
		if (started) {
			is(must_call(::recv(near.get(), text, 5, MSG_WAITALL), "recv"), 5L,
			   "bytes of the last message");
			is(std::string(text), "go on", "last message");
		}
		return error;
	});
	// That was without a fault.
	yes(started, "the last one has started");
}

namespace {

void tuf_option(int fd, int name, int value)
{
	must_call(::setsockopt(fd, SOL_TCP, name, &value, sizeof(value)), "option of TUF");
}

// As send_one(), with a framing without startup: near sends, far receives.
int tuf_send_one(int send, int receive, std::size_t size, bool emergency = false)
{
	Attached both;
	const int near = both.near.fd(), far = both.far.fd();
	const Bytes first = pattern(size, 1), second = pattern(50, 2);
	std::byte key[TCP_FRAMING_KEY_LEN];
	socklen_t key_size = sizeof(key);

	must_call(::getsockopt(near, SOL_TCP, TCP_FRAMING_SEND_KEY, key, &key_size), "key");
	must_call(::setsockopt(far, SOL_TCP, TCP_FRAMING_RECV_KEY, key, key_size), "key");
	tuf_option(near, TCP_FRAMING_PACK_PDUS, 0);
	tuf_option(near, TCP_FRAMING_EMERGENCY, emergency);
	tuf_option(near, TCP_FRAMING_MODE, send);
	tuf_option(far, TCP_FRAMING_MODE, receive);
	const int error = with_fault([&] {
		return ::send(near, first.data(), first.size(), MSG_NOSIGNAL) < 0 ? errno : 0;
	});

	must_call(::send(near, second.data(), second.size(), MSG_NOSIGNAL), "the next one");
	const Bytes want = error ? second : first + second;
	Bytes got(want.size());
	for (std::size_t at = 0; at < got.size();)
		at += must_call(::recv(far, got.data() + at, got.size() - at, 0), "receive");
	yes(got == want, "bytes");
	return error;
}

} // namespace

CASE("socket: a framing PDU is sent completely or not at all")
{
	each_allocation([] {
		return tuf_send_one(TCP_FRAMING_SEND_ALIGN, TCP_FRAMING_RECV_ALIGN, 1412);
	});
}

CASE("socket: a PDU in marker mode is sent completely or not at all")
{
	each_allocation([] {
		return tuf_send_one(TCP_FRAMING_SEND_MARKERS, TCP_FRAMING_RECV_MARKERS, 30000);
	});
}

CASE("socket: a PDU in pieces is sent completely or not at all")
{
	const auto route = [](const char *metric) {
		const std::string text = "ip -n h1 route replace 10.77.0.0/24 dev eth0 proto "
					 "kernel scope link src 10.77.0.1 ";

		is(std::system((text + metric).c_str()), 0, "change the route");
	};

	route("mtu lock 560");
	each_allocation([] {
		return tuf_send_one(TCP_FRAMING_SEND_ALIGN, TCP_FRAMING_RECV_ALIGN, 512, true);
	});
	route("");
}
