// SPDX-License-Identifier: GPL-2.0-only
//
// A TCP socket in use goes to a queue pair: mpadv_modify_qp_from_socket().
#include "pair.hpp"

#include <csignal>
#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mpadv.h>

using namespace harness;
using namespace verbs;
using namespace std::chrono_literals;
using mpa::descriptor;
using net::Path;
using net::Tcp;
using net::Wire;
using net::expect_text;
using net::operator+;

namespace {

constexpr std::string_view answer = "HTTP/1.1 101 Switching Protocols\r\n\r\n";

// One end of a hand-over, and its results.
struct HandOver {
	bool responder = false;
	std::string last;
	std::string data;
	std::uint32_t ird = 4;
	std::uint32_t ord = 4;
	std::string peer;

	// Returns errno or 0. After an error @fd is the socket again.
	Err run(const Queue &queue, descriptor &fd)
	{
		mpadv_socket_attr attr{};

		peer.assign(300, '\0');
		attr.fd = fd.release();
		attr.flags = responder ? std::uint32_t{MPADV_SOCKET_RESPONDER} : 0;
		attr.last_message = last.data();
		attr.last_message_len = static_cast<std::uint32_t>(last.size());
		attr.private_data = data.data();
		attr.private_data_len = static_cast<std::uint32_t>(data.size());
		attr.ird = ird;
		attr.ord = ord;
		attr.peer_data = peer.data();
		attr.peer_data_len = static_cast<std::uint32_t>(peer.size());
		const Err result{mpadv_modify_qp_from_socket(queue.qp.get(), &attr)};

		fd.reset(attr.fd);
		yes(!fd || result != Err{0}, "no descriptor after success");
		peer.resize(result == Err{0} || result == Err{ECONNREFUSED} ?
				    attr.peer_data_len : 0);
		ird = attr.ird;
		ord = attr.ord;
		return result;
	}
};

HandOver initiator()
{
	return {};
}

HandOver responder(std::string last = {})
{
	HandOver how;

	how.responder = true;
	how.last = std::move(last);
	return how;
}

void send_text(int fd, std::string_view text)
{
	is(must_call(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), "send"),
	   static_cast<long>(text.size()), "sent");
}

void expect_plain(int one, int two)
{
	send_text(one, "from one");
	expect_text(two, "from one");
	send_text(two, "and from two");
	expect_text(one, "and from two");
}

void send_descriptor(int to, int fd)
{
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = {};
	char byte = 0;
	iovec piece{&byte, 1};
	msghdr message{};

	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	must_call(::sendmsg(to, &message, 0), "sendmsg");
}

descriptor receive_descriptor(int from)
{
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
	char byte;
	iovec piece{&byte, 1};
	msghdr message{};
	int fd = -1;

	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	must_call(::recvmsg(from, &message, 0), "recvmsg");
	yes(CMSG_FIRSTHDR(&message) != nullptr, "a descriptor");
	std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return descriptor(fd);
}

void expect_good(const ibv_wc &wc, std::uint64_t number)
{
	is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "status");
	is(wc.wr_id, number, "which request");
}

std::string state_of(Queue &queue)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS",
					    "SQD", "SQE", "ERR"};

	return names[queue.query().qp_state];
}

// Two devices with a queue pair each, and a connection between them. The near end is that
// of host 1.
struct Ends {
	explicit Ends(Path path = Path::ipv4) : tcp(path), near(one), far(two) {}

	Device one{1}, two{2};
	Tcp tcp;
	Queue near, far;

	// Both hand over, the near end as the Initiator after the answer.
	void hand_over(HandOver &active, HandOver &passive)
	{
		auto other = std::async(std::launch::async, [&] {
			return passive.run(far, tcp.far);
		});

		if (!passive.last.empty())
			expect_text(tcp.near.get(), passive.last);
		is(active.run(near, tcp.near), 0, "the Initiator");
		is(other.get(), 0, "the Responder");
	}

	void hand_over()
	{
		HandOver active = initiator(), passive = responder();

		hand_over(active, passive);
	}

	// A Send in both directions; the Initiator's is first.
	void exchange()
	{
		far.post_receive(1);
		near.post_receive(2);
		near.send(3);
		expect_good(far.completion(), 1);
		expect_good(near.completion(), 3);
		far.send(4);
		expect_good(near.completion(), 2);
		expect_good(far.completion(), 4);
	}
};

// A socket with a queue pair, and the other end byte by byte.
struct WithWire {
	explicit WithWire(int host = 1) : device(host), queue(device)
	{
		Tcp tcp;

		fd = std::move(host == 1 ? tcp.near : tcp.far);
		wire = Wire(std::move(host == 1 ? tcp.far : tcp.near));
	}

	Device device;
	Queue queue;
	descriptor fd;
	Wire wire;
};

net::Bytes ddp_send(std::string_view text)
{
	net::Bytes ulpdu(18);

	ulpdu[0] = std::byte{0x41};
	ulpdu[1] = std::byte{0x43};
	ulpdu[13] = std::byte{1};
	return net::fpdu(ulpdu + mpa::bytes(text));
}

// That of a Responder to an Initiator that negotiates depths, 4 of each, but not what it
// sends first: see below.
struct Simple {
	const Setting peer_to_peer{1, "peer-to-peer", "off"};
};

net::Bytes enhanced_reply(std::string_view text = {})
{
	net::Bytes data(4);

	data[1] = data[3] = std::byte{4};
	return net::reply(net::flag_crc | net::flag_enhanced, 2,
			  data + mpa::bytes(text));
}

CASE("handover: from a dialogue to RDMA")
{
	for (const Path path : {Path::ipv4, Path::ipv6}) {
		const Row row(path);
		Ends ends(path);
		HandOver active = initiator(), passive = responder(std::string(answer));

		send_text(ends.tcp.near.get(), "GET / HTTP/1.1\r\nUpgrade: rdma\r\n\r\n");
		expect_text(ends.tcp.far.get(), "GET / HTTP/1.1\r\nUpgrade: rdma\r\n\r\n");
		active.data = "a request";
		active.ird = 3;
		active.ord = 2;
		passive.data = "a reply";
		ends.hand_over(active, passive);
		is(active.peer, "a reply", "private data");
		is(passive.peer, "a request", "private data");
		is(active.ird, 3u, "inbound depth");
		is(active.ord, 2u, "outbound depth");
		is(passive.ird, 4u, "inbound depth");
		is(passive.ord, 3u, "outbound depth");
		is(state_of(ends.near), "RTS", "state");
		is(state_of(ends.far), "RTS", "state");
		ends.exchange();
		ends.one.memory.assign(ends.one.memory.size(), std::byte{1});
		ends.two.memory.assign(ends.two.memory.size(), std::byte{2});
		ends.near.transfer(IBV_WR_RDMA_WRITE, ends.two, 5000);
		expect_good(ends.near.completion(), 1);
		ends.near.transfer(IBV_WR_RDMA_READ, ends.two, 10000);
		expect_good(ends.near.completion(), 1);
		yes(ends.one.memory[4999] == std::byte{1}, "written and read back");
		yes(ends.one.memory[5000] == std::byte{2}, "read");

		ends.near.qp.reset();
		await([&] { return state_of(ends.far) == "ERR"; }, "the end");
	}
}

CASE("handover: the end that has accepted may be the Initiator")
{
	Ends ends;
	HandOver active = initiator(), passive = responder("begin\n");
	auto other = std::async(std::launch::async, [&] {
		return passive.run(ends.near, ends.tcp.near);
	});

	expect_text(ends.tcp.far.get(), "begin\n");
	is(active.run(ends.far, ends.tcp.far), 0, "the Initiator");
	is(other.get(), 0, "the Responder");
	ends.near.post_receive(1);
	ends.far.send(2);
	expect_good(ends.near.completion(), 1);
	expect_good(ends.far.completion(), 2);
}

CASE("handover: what the Initiator sends first may be there before the call")
{
	WithWire pair(2);

	pair.wire.send(net::request(net::flag_crc, 1, mpa::bytes("early")));
	net::await_events(pair.fd.get(), POLLIN, "the Request");
	HandOver how = responder();

	is(how.run(pair.queue, pair.fd), 0, "hand-over");
	is(how.peer, "early", "private data");
	is(pair.wire.read_frame().second.size(), 0u, "private data of the Reply");
	pair.queue.post_receive(1);
	pair.wire.send(ddp_send("hello"));
	expect_good(pair.queue.completion(), 1);
	is(mpa::text({pair.device.memory.data(), 5}), "hello", "the message");
	pair.wire.fin();
	pair.wire.expect_end();
}

// With a peer whose bytes the test chooses, and the queue pair in RTS.
struct Operational : WithWire {
	Operational() : WithWire(2)
	{
		HandOver how = responder();

		wire.send(net::request());
		is(how.run(queue, fd), 0, "hand-over");
		wire.read_frame();
		queue.post_receive(1);
	}

	// A segment of a Write.
	net::Bytes ddp_write(std::uint32_t stag, bool last, std::string_view text) const
	{
		auto to = reinterpret_cast<std::uintptr_t>(device.memory.data());
		net::Bytes ulpdu(14);

		ulpdu[0] = std::byte(last ? 0xc1 : 0x81);
		ulpdu[1] = std::byte{0x40};
		for (int i = 5; i >= 2; i--, stag >>= 8)
			ulpdu[i] = std::byte(stag & 0xff);
		for (int i = 13; i >= 6; i--, to >>= 8)
			ulpdu[i] = std::byte(to & 0xff);
		return net::fpdu(ulpdu + mpa::bytes(text));
	}
};

CASE("handover: urgent data of the peer are bytes of the stream")
{
	Operational pair;
	const auto bytes = ddp_send("hello");

	pair.wire.send_urgent(bytes[0]);
	pair.wire.send_urgent(bytes[1]);
	pair.wire.send(std::span(bytes).subspan(2));
	expect_good(pair.queue.completion(), 1);
	is(mpa::text({pair.device.memory.data(), 5}), "hello", "the message");
}

CASE("handover: a Write that is cut short is an error of the queue pair")
{
	for (const bool last : {false, true}) {
		const Row row(last ? "whole" : "cut short");
		Operational pair;

		pair.wire.send(pair.ddp_write(pair.device.region->rkey, last, "text"));
		pair.wire.fin();
		pair.wire.expect_end();
		is(pair.queue.completion().wr_id, 1u, "the receive ends");
		is(mpa::text({pair.device.memory.data(), 4}), "text", "placed");
		const auto event = pair.device.event(last ? 0ms : patience);
		is(event ? ibv_event_type_str(*event) : "none",
		   last ? "none" : ibv_event_type_str(IBV_EVENT_QP_FATAL), "the event");
	}
}

// It acknowledges the Terminate, and sends a byte now and then for ever.
CASE("handover: a peer that does not end after a Terminate")
{
	for (const bool destroyed : {false, true}) {
		const Row row(destroyed ? "queue pair destroyed" : "queue pair bound");
		Operational pair;

		pair.wire.send(pair.ddp_write(0, true, "text"));
		yes((pair.wire.read_fpdu()[1] & std::byte{0x0f}) == std::byte{7},
		    "a Terminate");
		pair.wire.expect_end();
		if (destroyed)
			pair.queue.qp.reset();
		await([&] { return ::send(pair.wire.fd(), "x", 1, MSG_NOSIGNAL) < 0; },
		      "the reset");
	}
}

CASE("handover: what the Responder sends first comes behind its Reply")
{
	const Simple setting;
	WithWire pair;
	HandOver how = initiator();
	auto call = std::async(std::launch::async,
			       [&] { return how.run(pair.queue, pair.fd); });

	pair.queue.post_receive(1);
	pair.wire.read_frame();
	pair.wire.send(enhanced_reply("yes"));
	is(call.get(), 0, "hand-over");
	is(how.peer, "yes", "private data");
	pair.queue.send(2, 8);
	expect_good(pair.queue.completion(), 2);
	pair.wire.read_fpdu();
	pair.wire.send(ddp_send("hello"));
	expect_good(pair.queue.completion(), 1);
	is(mpa::text({pair.device.memory.data(), 5}), "hello", "the message");
}

CASE("handover: after a refusal the socket is plain TCP")
{
	for (const std::string_view behind : {"", "220 welcome"}) {
		const Row row(behind);
		WithWire pair;
		HandOver how = initiator();
		linger wait{1, 77};
		int on = 1;
		socklen_t size = sizeof(on);

		must_call(::setsockopt(pair.fd.get(), SOL_SOCKET, SO_LINGER, &wait,
				       sizeof(wait)),
			  "SO_LINGER");
		auto call = std::async(std::launch::async, [&] {
			return how.run(pair.queue, pair.fd);
		});

		pair.wire.read_frame();
		pair.wire.send(net::reply(net::flag_crc | net::flag_reject, 1,
					  mpa::bytes("no")) + mpa::bytes(behind));
		is(call.get(), ECONNREFUSED, "hand-over");
		is(how.peer, "no", "private data");
		expect_text(pair.fd.get(), behind);
		expect_plain(pair.fd.get(), pair.wire.fd());
		must_call(::getsockopt(pair.fd.get(), SOL_TCP, TCP_NODELAY, &on, &size),
			  "TCP_NODELAY");
		is(on, 0, "TCP_NODELAY");
		must_call(::getsockopt(pair.fd.get(), SOL_SOCKET, SO_OOBINLINE, &on, &size),
			  "SO_OOBINLINE");
		is(on, 0, "SO_OOBINLINE");
		size = sizeof(wait);
		must_call(::getsockopt(pair.fd.get(), SOL_SOCKET, SO_LINGER, &wait, &size),
			  "SO_LINGER");
		is(wait.l_onoff, 1, "SO_LINGER");
		is(wait.l_linger, 77, "SO_LINGER");
		is(state_of(pair.queue), "INIT", "state");
		is(how.run(pair.queue, pair.fd), EINVAL, "once more");
		expect_plain(pair.fd.get(), pair.wire.fd());
	}
}

CASE("handover: a Request of a revision that the settings exclude is refused")
{
	const Setting revision(1, "revision", "2");
	WithWire pair;
	HandOver how = responder();

	pair.wire.send(net::request());
	is(how.run(pair.queue, pair.fd), ECONNREFUSED, "hand-over");
	yes((pair.wire.read_frame().first[16] & std::byte{net::flag_reject}) != std::byte{},
	    "the Reply rejects");
	expect_plain(pair.fd.get(), pair.wire.fd());
}

CASE("handover: a Reply that asks for too much is answered with a Terminate")
{
	WithWire pair;
	HandOver how = initiator();
	const Simple setting;
	net::Bytes depths(4, std::byte{0});
	auto call = std::async(std::launch::async,
			       [&] { return how.run(pair.queue, pair.fd); });

	// 16,000 Reads of the peer at a time.
	depths[2] = std::byte{0x3e};
	depths[3] = std::byte{0x80};
	pair.wire.read_frame();
	pair.wire.send(net::reply(net::flag_crc | net::flag_enhanced, 2, depths));
	is(call.get(), ENOSPC, "hand-over");
	yes(!pair.fd, "the kernel uses the socket");
	yes((pair.wire.read_fpdu()[1] & std::byte{0x0f}) == std::byte{7}, "a Terminate");
	pair.wire.expect_end();
	pair.wire.fin();
}

// A start that failed has left the socket ordinary TCP.
CASE("handover: what an earlier start was to do is forgotten")
{
	for (const bool review : {false, true}) {
		const Row row(review ? "review" : "plain");
		Tcp tcp;
		Device device(1);
		Queue queue(device);
		mpa::socket socket = net::attach(std::move(tcp.near));
		Wire wire(std::move(tcp.far));
		HandOver how = responder();
		mpa::params params;

		params.plain = !review;
		params.review = review;
		params.rev = mpa::revision::two;
		must(socket.set_params(params), "parameters");
		must(socket.set_private_data(net::Bytes(512)), "private data");
		is(err(socket.start(mpa::role::initiator)), EMSGSIZE, "start");
		descriptor fd = socket.release();

		if (review) {
			const Simple setting;
			HandOver active = initiator();
			auto call = std::async(std::launch::async, [&] {
				return active.run(queue, fd);
			});

			wire.read_frame();
			wire.send(enhanced_reply());
			is(call.get(), 0, "hand-over");
			continue;
		}
		wire.send(mpa::bytes("GET / HTTP/1.1\r\n\r\n"));
		is(how.run(queue, fd), EPROTO, "hand-over");
	}
}

struct BadRow {
	const char *what;
	int error;
	std::function<Err(Ends &)> call;
};

Err run(Ends &ends, descriptor &fd, HandOver how = initiator())
{
	const int number = fd.get();
	const Err result = how.run(ends.near, fd);

	is(fd.get(), number, "number of the descriptor");
	return result;
}

Err run_other(Ends &ends, int fd)
{
	descriptor other(fd);

	return run(ends, other);
}

Err run_flags(Ends &ends, std::uint32_t flags)
{
	mpadv_socket_attr attr{};

	attr.fd = ends.tcp.near.get();
	attr.flags = flags;
	return Err{mpadv_modify_qp_from_socket(ends.near.qp.get(), &attr)};
}

const BadRow bad_rows[] = {
	{"no file", EBADF, [](Ends &ends) { return run_other(ends, -1); }},
	{"no socket", ENOTSOCK,
	 [](Ends &ends) { return run_other(ends, ::dup(ends.near.qp->context->cmd_fd)); }},
	{"a socket that is not TCP", EOPNOTSUPP,
	 [](Ends &ends) { return run_other(ends, ::socket(AF_UNIX, SOCK_STREAM, 0)); }},
	{"not connected", ENOTCONN,
	 [](Ends &ends) {
		 return run_other(ends, net::tcp_socket(Path::ipv4, 1).release());
	 }},
	{"a listener", EINVAL,
	 [](Ends &ends) {
		 net::Listener listener;

		 return run(ends, listener.fd);
	 }},
	{"another namespace", ENODEV,
	 [](Ends &ends) { return run(ends, ends.tcp.far); }},
	{"another network device", EADDRNOTAVAIL,
	 [](Ends &ends) {
		 Tcp local(Path::loopback);

		 return run(ends, local.near);
	 }},
	{"another descriptor", EBUSY,
	 [](Ends &ends) {
		 const descriptor copy(::dup(ends.tcp.near.get()));

		 return run(ends, ends.tcp.near);
	 }},
	{"another process", EBUSY,
	 [](Ends &ends) {
		 const pid_t child = must_call(::fork(), "fork");

		 if (!child)
			 ::pause();
		 const Err result = run(ends, ends.tcp.near);

		 ::kill(child, SIGKILL);
		 ::waitpid(child, nullptr, 0);
		 return result;
	 }},
	{"in a set of epoll", EBUSY,
	 [](Ends &ends) {
		 const descriptor epoll(::epoll_create1(0));
		 epoll_event event{.events = EPOLLIN, .data = {}};

		 must_call(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, ends.tcp.near.get(),
				       &event),
			   "epoll_ctl");
		 return run(ends, ends.tcp.near);
	 }},
	{"on its way to another process", EBUSY,
	 [](Ends &ends) {
		 int pair[2];

		 must_call(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
		 const descriptor one(pair[0]), two(pair[1]);

		 send_descriptor(pair[0], ends.tcp.near.get());
		 return run(ends, ends.tcp.near);
	 }},
	{"a call that waits", EBUSY,
	 [](Ends &ends) {
		 std::atomic<pid_t> id{0};
		 std::thread reader([&, fd = ends.tcp.near.get()] {
			 char byte;

			 id = ::gettid();
			 ::recv(fd, &byte, 1, 0);
		 });

		 net::await_asleep(id);
		 const Err result = run(ends, ends.tcp.near);

		 send_text(ends.tcp.far.get(), "x");
		 reader.join();
		 return result;
	 }},
	{"a queue pair in ERR", EINVAL,
	 [](Ends &ends) {
		 Queue other(ends.one);
		 HandOver how = initiator();

		 other.modify(IBV_QPS_ERR);
		 return how.run(other, ends.tcp.near);
	 }},
	{"a connected queue pair", EINVAL,
	 [](Ends &ends) {
		 Queue near(ends.one), far(ends.two);
		 const Connection connection = connect(near, far);
		 HandOver how = initiator();

		 return how.run(near, ends.tcp.near);
	 }},
	{"a last message of the Initiator", EINVAL,
	 [](Ends &ends) {
		 HandOver how = initiator();

		 how.last = "last";
		 return run(ends, ends.tcp.near, how);
	 }},
	{"a last message that is too long", EMSGSIZE,
	 [](Ends &ends) {
		 return run(ends, ends.tcp.near,
			    responder(std::string(MPA_MAX_LAST_MESSAGE + 1, 'x')));
	 }},
	{"private data that are too long", EMSGSIZE,
	 [](Ends &ends) {
		 HandOver how = initiator();

		 how.data.assign(MPA_MAX_SOCKET_PD + 1, 'x');
		 return run(ends, ends.tcp.near, how);
	 }},
	{"an unknown flag", EINVAL, [](Ends &ends) { return run_flags(ends, 2); }},
};

CASE("handover: what is refused changes nothing")
{
	Ends ends;

	for (const int flags : {0, FD_CLOEXEC}) {
		must_call(::fcntl(ends.tcp.near.get(), F_SETFD, flags), "F_SETFD");
		for (const BadRow &bad : bad_rows) {
			const Row row(bad.what);

			is(bad.call(ends), bad.error, "hand-over");
			expect_plain(ends.tcp.near.get(), ends.tcp.far.get());
			is(::fcntl(ends.tcp.near.get(), F_GETFD), flags, "F_GETFD");
		}
	}
	send_text(ends.tcp.far.get(), "unread");
	net::await_events(ends.tcp.near.get(), POLLIN, "bytes");
	is(run(ends, ends.tcp.near), ENOTEMPTY, "unread bytes");
	expect_text(ends.tcp.near.get(), "unread");
	ends.hand_over();
	ends.exchange();
}

CASE("handover: what was sent arrives, although the queue pair is destroyed")
{
	Ends ends;

	ends.hand_over();
	ends.exchange();
	for (std::uint64_t number = 0; number < 8; number++) {
		ends.far.post_receive(number);
		ends.near.send(number + 10);
	}
	ends.near.qp.reset();
	for (std::uint64_t number = 0; number < 8; number++)
		expect_good(ends.far.completion(), number);
	await([&] { return state_of(ends.far) == "ERR"; }, "the end");
}

CASE("handover: the queue pair leaves the connection while the peer sends")
{
	const Simple setting;
	WithWire pair;
	HandOver how = initiator();
	auto call = std::async(std::launch::async,
			       [&] { return how.run(pair.queue, pair.fd); });

	pair.wire.read_frame();
	pair.wire.send(enhanced_reply());
	is(call.get(), 0, "hand-over");
	pair.queue.send(1, 8);
	expect_good(pair.queue.completion(), 1);
	pair.wire.read_fpdu();
	pair.queue.qp.reset();
	pair.wire.expect_end();
	// It is dropped: no RST, which would lose what was sent before.
	for (int number = 0; number < 100; number++)
		pair.wire.send(ddp_send(std::string(1000, 'x')));
	pair.wire.fin();
	is(net::events_of(pair.wire.fd()) & (POLLERR | POLLHUP), POLLHUP, "a FIN");
}

struct StartRow {
	const char *what;
	bool responder;
	std::function<void(Wire &)> peer;
	int error;
};

const StartRow start_rows[] = {
	{"garbage in place of a Reply", false,
	 [](Wire &wire) { wire.send(mpa::bytes("HTTP/1.1 400 Bad Request\r\n\r\n")); },
	 EPROTO},
	{"the end", false, [](Wire &wire) { wire.fin(); }, ECONNRESET},
	{"the end in a Reply", false,
	 [](Wire &wire) {
		 wire.send(mpa::bytes("MPA ID Rep Frame"));
		 wire.fin();
	 },
	 ECONNRESET},
	{"a reset", false, [](Wire &wire) { wire.reset(); }, ECONNRESET},
	{"no Reply", false, [](Wire &) {}, ETIMEDOUT},
	{"garbage in place of a Request", true,
	 [](Wire &wire) { wire.send(mpa::bytes("GET / HTTP/1.1\r\n\r\n    ")); }, EPROTO},
	{"the end", true, [](Wire &wire) { wire.fin(); }, ECONNRESET},
	{"the end in a Request", true,
	 [](Wire &wire) {
		 wire.send(mpa::bytes("MPA ID Req Frame"));
		 wire.fin();
	 },
	 ECONNABORTED},
	{"a reset", true, [](Wire &wire) { wire.reset(); }, ECONNRESET},
	{"bytes behind the Request", true,
	 [](Wire &wire) { wire.send(net::request() + mpa::bytes("and more")); }, EPROTO},
	{"an unknown revision", true,
	 [](Wire &wire) { wire.send(net::request(net::flag_crc, 9)); }, EPROTO},
	{"no Request", true, [](Wire &) {}, ETIMEDOUT},
};

CASE("handover: a peer that does not do as it should")
{
	for (const StartRow &bad : start_rows) {
		const Row row(bad.what, bad.responder ? "to a Responder" : "");
		const bool late = bad.error == ETIMEDOUT;
		const Setting limit(1, bad.responder ? "startup-timeout" : "reply-timeout",
				    late ? "300ms" : "60s");
		WithWire pair;
		HandOver how = bad.responder ? responder() : initiator();
		std::atomic<pid_t> id{0};
		auto call = std::async(std::launch::async, [&] {
			id = ::gettid();
			return how.run(pair.queue, pair.fd);
		});
		char byte;

		if (!bad.responder)
			pair.wire.read_frame();
		else if (!late)
			net::await_asleep(id);
		bad.peer(pair.wire);
		is(call.get(), bad.error, "hand-over");
		net::await_events(pair.fd.get(), POLLIN, "it is over");
		yes(::recv(pair.fd.get(), &byte, 1, 0) < 1, "no bytes");
		is(state_of(pair.queue), "INIT", "state");
	}
}

CASE("handover: a connection that ends before the call returns")
{
	const Simple setting;
	int opened = 0;

	for (int round = 0; round < 50; round++) {
		WithWire pair;
		HandOver how = initiator();
		auto call = std::async(std::launch::async,
				       [&] { return how.run(pair.queue, pair.fd); });

		pair.wire.read_frame();
		pair.wire.send(net::reply(net::flag_crc | net::flag_enhanced, 2,
					  net::Bytes(4, std::byte{0})));
		pair.wire.reset();
		const int result = call.get().number;
		yes(result == 0 || result == ECONNRESET,
		    "hand-over: " + std::to_string(result));
		opened += result == 0;
	}
	yes(opened > 0, "some were open");
}

CASE("handover: a call that waits can be ended")
{
	for (const bool as_responder : {false, true}) {
		const Row row(as_responder ? "Responder" : "Initiator");
		WithWire pair;
		HandOver how = as_responder ? responder() : initiator();
		std::atomic<pid_t> id{0};
		std::atomic<pthread_t> thread{};
		struct sigaction action{};

		action.sa_handler = [](int) {};
		::sigaction(SIGUSR1, &action, nullptr);
		auto call = std::async(std::launch::async, [&] {
			thread = ::pthread_self();
			id = ::gettid();
			return how.run(pair.queue, pair.fd);
		});

		if (!as_responder)
			pair.wire.read_frame();
		net::await_asleep(id);
		::pthread_kill(thread, SIGUSR1);
		yes(call.wait_for(moment) == std::future_status::timeout,
		    "a signal is no end");
		pair.queue.modify(IBV_QPS_ERR);
		is(call.get(), ECONNABORTED, "hand-over");
		net::await_events(pair.fd.get(), POLLIN, "it is over");
		pair.wire.expect_end();
	}
}

// Only the first step of suspending, which CONFIG_PM_DEBUG offers: all tasks are frozen, and
// thawed again.
CASE("machine: a hand-over that waits does not keep the machine from suspending")
{
	const auto write = [](const char *path, const char *value) {
		std::ofstream file(path);

		yes(bool(file << value << std::flush), path);
	};
	WithWire pair;
	HandOver how = initiator();
	std::atomic<pid_t> id{0};
	auto call = std::async(std::launch::async, [&] {
		id = ::gettid();
		return how.run(pair.queue, pair.fd);
	});

	pair.wire.read_frame();
	net::await_asleep(id);
	write("/sys/module/suspend/parameters/pm_test_delay", "0");
	write("/sys/power/pm_test", "freezer");
	write("/sys/power/state", "freeze");
	yes(call.wait_for(moment) == std::future_status::timeout, "the call waits");
	pair.queue.modify(IBV_QPS_ERR);
	is(call.get(), ECONNABORTED, "hand-over");
	net::await_events(pair.fd.get(), POLLIN, "it is over");
	pair.wire.expect_end();
}

CASE("handover: a process that waits can be killed")
{
	for (const bool as_responder : {false, true}) {
		const Row row(as_responder ? "Responder" : "Initiator");
		Tcp tcp;
		Wire wire(std::move(tcp.far));
		const pid_t child = must_call(::fork(), "fork");
		int status = 0;

		if (!child) {
			Device device(1);
			Queue queue(device);
			HandOver how = as_responder ? responder("go") : initiator();

			how.run(queue, tcp.near);
			::_exit(0);
		}
		tcp.near.reset();
		if (as_responder)
			wire.read(2);
		else
			wire.read_frame();
		::kill(child, SIGKILL);
		must_call(::waitpid(child, &status, 0), "waitpid");
		is(status, SIGKILL, "how it ends");
		wire.expect_end();
	}
}

CASE("handover: the device goes away")
{
	for (const bool established : {false, true}) {
		const Row row(established ? "RTS" : "startup");
		std::optional<Simple> setting(std::in_place);
		WithWire pair;
		HandOver how = initiator();
		auto call = std::async(std::launch::async, [&] {
			return how.run(pair.queue, pair.fd);
		});

		pair.wire.read_frame();
		if (established) {
			pair.wire.send(enhanced_reply());
			is(call.get(), 0, "hand-over");
		}
		setting.reset();
		is(std::system("rdma link delete mpa1"), 0, "the device is removed");
		if (!established)
			is(call.get(), ECONNABORTED, "hand-over");
		pair.wire.expect_end();
		is(std::system("rdma link add mpa1 type mpa netdev eth0"), 0,
		   "the device comes back");
	}
}

CASE("handover: a socket of another process")
{
	Ends ends;
	int pair[2];

	must_call(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	const pid_t child = must_call(::fork(), "fork");
	int status = -1;

	if (!child) {
		// It talks, and passes the socket on.
		send_text(ends.tcp.near.get(), "hello");
		send_descriptor(pair[1], ends.tcp.near.get());
		::_exit(0);
	}
	ends.tcp.near.reset();
	expect_text(ends.tcp.far.get(), "hello");
	ends.tcp.near = receive_descriptor(pair[0]);
	must_call(::waitpid(child, &status, 0), "waitpid");
	is(status, 0, "the other process");
	ends.hand_over();
	ends.exchange();
}

CASE("handover: many, while another thread calls, copies and polls")
{
	Device one{1}, two{2};

	for (int round = 0; round < 40; round++) {
		const Row row(round);
		Tcp tcp;
		Queue near(one), far(two);
		HandOver active = initiator(), passive = responder();
		std::atomic<bool> over{false};
		std::atomic<int> fd{tcp.near.get()};
		// Whatever these calls return: nothing else may happen.
		std::thread rival([&] {
			const auto calls = [&] {
				char byte;
				const linger none{};
				// A set of its own: with another number by then, the
				// descriptor could not be removed from it.
				const descriptor epoll(::epoll_create1(0));
				const descriptor copy(::dup(fd));
				epoll_event event{.events = EPOLLIN, .data = {}};

				::setsockopt(copy.get(), SOL_SOCKET, SO_LINGER, &none,
					     sizeof(none));
				::recv(copy.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
				::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event);
				::epoll_wait(epoll.get(), &event, 1, 0);
			};

			// The call must find a moment without users.
			for (; !over; std::this_thread::sleep_for(1ms))
				calls();
		});
		auto other = std::async(std::launch::async, [&] {
			return passive.run(far, tcp.far);
		});
		Err result{EBUSY};

		while (result == Err{EBUSY}) {
			result = active.run(near, tcp.near);
			fd = tcp.near.get();
		}
		is(result, 0, "the Initiator");
		is(other.get(), 0, "the Responder");
		far.post_receive(1);
		near.send(2);
		expect_good(far.completion(), 1);
		if (round & 1)
			near.qp.reset();
		over = true;
		rival.join();
	}
}

} // namespace
