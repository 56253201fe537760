// SPDX-License-Identifier: GPL-2.0-only
//
// A TCP socket in use goes to a queue pair: mpadv_modify_qp_from_socket().
#include "pair.hpp"

#include <csignal>
#include <atomic>
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

	// Returns errno or 0.
	Err run(const Queue &queue, int fd)
	{
		mpadv_socket_attr attr{};

		peer.assign(300, '\0');
		attr.fd = fd;
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

void expect_text(int fd, std::string_view wanted)
{
	std::string text(wanted.size(), '\0');
	std::size_t had = 0;

	while (had < wanted.size()) {
		net::await_events(fd, POLLIN, "bytes");
		const auto got = must_call(::recv(fd, &text[had], wanted.size() - had, 0),
					   "recv");
		yes(got > 0, "not the end");
		had += static_cast<std::size_t>(got);
	}
	is(text, std::string(wanted), "bytes");
}

void expect_plain(int one, int two)
{
	send_text(one, "from one");
	expect_text(two, "from one");
	send_text(two, "and from two");
	expect_text(one, "and from two");
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
			return passive.run(far, tcp.far.get());
		});

		if (!passive.last.empty())
			expect_text(tcp.near.get(), passive.last);
		is(active.run(near, tcp.near.get()), 0, "the Initiator");
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

// What the file of a socket says once a connection in full operation is over.
void expect_ended(int fd, int error)
{
	char byte;

	net::await_events(fd, POLLIN, "the end");
	is(err_of(::recv(fd, &byte, 1, 0)), error, "recv");
}

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

CASE("handover: from a dialogue to RDMA and back to nothing")
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
		expect_ended(ends.tcp.near.get(), 0);
		expect_ended(ends.tcp.far.get(), 0);
		is(state_of(ends.far), "ERR", "state");
	}
}

CASE("handover: the end that has accepted may be the Initiator")
{
	Ends ends;
	HandOver active = initiator(), passive = responder("begin\n");
	auto other = std::async(std::launch::async, [&] {
		return passive.run(ends.near, ends.tcp.near.get());
	});

	expect_text(ends.tcp.far.get(), "begin\n");
	is(active.run(ends.far, ends.tcp.far.get()), 0, "the Initiator");
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

	is(how.run(pair.queue, pair.fd.get()), 0, "hand-over");
	is(how.peer, "early", "private data");
	is(pair.wire.read_frame().second.size(), 0u, "private data of the Reply");
	pair.queue.post_receive(1);
	pair.wire.send(ddp_send("hello"));
	expect_good(pair.queue.completion(), 1);
	is(mpa::text({pair.device.memory.data(), 5}), "hello", "the message");
	pair.wire.fin();
	expect_ended(pair.fd.get(), 0);
	pair.wire.expect_end();
}

CASE("handover: what the Responder sends first comes behind its Reply")
{
	const Simple setting;
	WithWire pair;
	HandOver how = initiator();
	auto call = std::async(std::launch::async,
			       [&] { return how.run(pair.queue, pair.fd.get()); });

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
		auto call = std::async(std::launch::async, [&] {
			return how.run(pair.queue, pair.fd.get());
		});
		int on = 1;
		socklen_t size = sizeof(on);

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
		is(state_of(pair.queue), "INIT", "state");
		is(how.run(pair.queue, pair.fd.get()), EINVAL, "once more");
		expect_plain(pair.fd.get(), pair.wire.fd());
	}
}

struct BadRow {
	const char *what;
	int error;
	std::function<Err(Ends &)> call;
};

Err run(Ends &ends, int fd, HandOver how = initiator())
{
	return how.run(ends.near, fd);
}

Err run_flags(Ends &ends, std::uint32_t flags)
{
	mpadv_socket_attr attr{};

	attr.fd = ends.tcp.near.get();
	attr.flags = flags;
	return Err{mpadv_modify_qp_from_socket(ends.near.qp.get(), &attr)};
}

const BadRow bad_rows[] = {
	{"no file", EBADF, [](Ends &ends) { return run(ends, -1); }},
	{"no socket", ENOTSOCK,
	 [](Ends &ends) { return run(ends, ends.near.qp->context->cmd_fd); }},
	{"a socket that is not TCP", EOPNOTSUPP,
	 [](Ends &ends) {
		 const descriptor udp(::socket(AF_UNIX, SOCK_STREAM, 0));

		 return run(ends, udp.get());
	 }},
	{"not connected", ENOTCONN,
	 [](Ends &ends) { return run(ends, net::tcp_socket(Path::ipv4, 1).get()); }},
	{"a listener", EINVAL,
	 [](Ends &ends) { return run(ends, net::Listener().fd.get()); }},
	{"another namespace", ENODEV,
	 [](Ends &ends) { return run(ends, ends.tcp.far.get()); }},
	{"another network device", EADDRNOTAVAIL,
	 [](Ends &ends) { return run(ends, Tcp(Path::loopback).near.get()); }},
	{"another descriptor", EBUSY,
	 [](Ends &ends) {
		 const descriptor copy(::dup(ends.tcp.near.get()));

		 return run(ends, ends.tcp.near.get());
	 }},
	{"another process", EBUSY,
	 [](Ends &ends) {
		 const pid_t child = ::fork();

		 if (!child)
			 ::pause();
		 const Err result = run(ends, ends.tcp.near.get());

		 ::kill(child, SIGKILL);
		 ::waitpid(child, nullptr, 0);
		 return result;
	 }},
	{"a queue pair in ERR", EINVAL,
	 [](Ends &ends) {
		 Queue other(ends.one);
		 HandOver how = initiator();

		 other.modify(IBV_QPS_ERR);
		 return how.run(other, ends.tcp.near.get());
	 }},
	{"a connected queue pair", EINVAL,
	 [](Ends &ends) {
		 Queue near(ends.one), far(ends.two);
		 const Connection connection = connect(near, far);
		 HandOver how = initiator();

		 return how.run(near, ends.tcp.near.get());
	 }},
	{"a last message of the Initiator", EINVAL,
	 [](Ends &ends) {
		 HandOver how = initiator();

		 how.last = "last";
		 return how.run(ends.near, ends.tcp.near.get());
	 }},
	{"a last message that is too long", EMSGSIZE,
	 [](Ends &ends) {
		 return run(ends, ends.tcp.near.get(),
			    responder(std::string(MPA_MAX_LAST_MESSAGE + 1, 'x')));
	 }},
	{"private data that are too long", EMSGSIZE,
	 [](Ends &ends) {
		 HandOver how = initiator();

		 how.data.assign(MPA_MAX_SOCKET_PD + 1, 'x');
		 return how.run(ends.near, ends.tcp.near.get());
	 }},
	{"an unknown flag", EINVAL, [](Ends &ends) { return run_flags(ends, 2); }},
};

CASE("handover: what is refused changes nothing")
{
	Ends ends;

	for (const BadRow &bad : bad_rows) {
		const Row row(bad.what);

		is(bad.call(ends), bad.error, "hand-over");
		expect_plain(ends.tcp.near.get(), ends.tcp.far.get());
	}
	send_text(ends.tcp.far.get(), "unread");
	net::await_events(ends.tcp.near.get(), POLLIN, "bytes");
	is(run(ends, ends.tcp.near.get()), ENOTEMPTY, "unread bytes");
	expect_text(ends.tcp.near.get(), "unread");
	ends.hand_over();
	ends.exchange();
}

struct CallRow {
	const char *what;
	int error;
	std::function<long(int)> call;
};

const CallRow call_rows[] = {
	{"send", ENOTSOCK, [](int fd) { return ::send(fd, "x", 1, 0); }},
	{"recv", ENOTSOCK,
	 [](int fd) {
		 char byte;

		 return ::recv(fd, &byte, 1, MSG_DONTWAIT);
	 }},
	{"shutdown", ENOTSOCK, [](int fd) { return ::shutdown(fd, SHUT_RDWR); }},
	{"SO_LINGER", ENOTSOCK,
	 [](int fd) {
		 const linger none{};

		 return ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	 }},
	{"SO_TYPE", ENOTSOCK,
	 [](int fd) {
		 socklen_t size = sizeof(int);
		 int type;

		 return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
	 }},
	{"write", EBUSY, [](int fd) { return ::write(fd, "x", 1); }},
	{"read", EBUSY,
	 [](int fd) {
		 char byte;

		 return ::read(fd, &byte, 1);
	 }},
	{"FIONREAD", EBUSY,
	 [](int fd) {
		 int size;

		 return ::ioctl(fd, FIONREAD, &size);
	 }},
	{"O_NONBLOCK", 0, [](int fd) { return ::fcntl(fd, F_SETFL, O_NONBLOCK); }},
	{"O_ASYNC", 0, [](int fd) { return ::fcntl(fd, F_SETFL, O_ASYNC); }},
};

CASE("handover: the file is no socket meanwhile")
{
	Ends ends;
	const descriptor epoll(::epoll_create1(0));
	epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP, .data = {}};
	const int fd = ends.tcp.near.get();

	must_call(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
	is(must_call(::epoll_wait(epoll.get(), &event, 1, 1000), "epoll_wait"), 1L,
	   "writable before");
	ends.hand_over();
	for (const CallRow &row : call_rows) {
		const Row name(row.what);

		is(err_of(row.call(fd)), row.error, "the call");
	}
	is(net::events_of(fd), 0, "poll");
	is(must_call(::epoll_wait(epoll.get(), &event, 1, 0), "epoll_wait"), 0L, "epoll");
	ends.exchange();

	// New references do no harm.
	const descriptor copy(::dup(fd));
	const pid_t child = ::fork();

	if (!child)
		::pause();
	ends.exchange();
	ends.far.qp.reset();
	is(must_call(::epoll_wait(epoll.get(), &event, 1, 60000), "epoll_wait"), 1L,
	   "it is over");
	expect_ended(copy.get(), 0);
	expect_ended(fd, 0);
	::kill(child, SIGKILL);
	::waitpid(child, nullptr, 0);
}

CASE("handover: the descriptor may be closed")
{
	Ends ends;

	ends.hand_over();
	ends.tcp.near.reset();
	ends.tcp.far.reset();
	ends.exchange();
	ends.one.memory[0] = std::byte{42};
	// What was sent arrives, although the queue pair is destroyed.
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
			       [&] { return how.run(pair.queue, pair.fd.get()); });

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
	is(net::events_of(pair.fd.get()), 0, "not over yet");
	pair.wire.fin();
	expect_ended(pair.fd.get(), 0);
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
	const Setting reply(1, "reply-timeout", "300ms");
	const Setting request(1, "startup-timeout", "300ms");

	for (const StartRow &bad : start_rows) {
		const Row row(bad.what, bad.responder ? "to a Responder" : "");
		WithWire pair;
		HandOver how = bad.responder ? responder() : initiator();
		std::atomic<pid_t> id{0};
		auto call = std::async(std::launch::async, [&] {
			id = ::gettid();
			return how.run(pair.queue, pair.fd.get());
		});
		char byte;

		if (bad.responder)
			net::await_asleep(id);
		else
			pair.wire.read_frame();
		bad.peer(pair.wire);
		is(call.get(), bad.error, "hand-over");
		net::await_events(pair.fd.get(), POLLIN, "it is over");
		yes(::recv(pair.fd.get(), &byte, 1, 0) < 1, "no bytes");
		is(state_of(pair.queue), "INIT", "state");
	}
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
			return how.run(pair.queue, pair.fd.get());
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

CASE("handover: a process that waits can be killed")
{
	for (const bool as_responder : {false, true}) {
		const Row row(as_responder ? "Responder" : "Initiator");
		Tcp tcp;
		Wire wire(std::move(tcp.far));
		const pid_t child = ::fork();

		if (!child) {
			Device device(1);
			Queue queue(device);
			HandOver how = as_responder ? responder() : initiator();

			how.run(queue, tcp.near.get());
			::_exit(0);
		}
		tcp.near.reset();
		if (as_responder)
			std::this_thread::sleep_for(moment);
		else
			wire.read_frame();
		::kill(child, SIGKILL);
		::waitpid(child, nullptr, 0);
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
			return how.run(pair.queue, pair.fd.get());
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
		net::await_events(pair.fd.get(), POLLIN, "it is over");
		pair.wire.expect_end();
		is(std::system("rdma link add mpa1 type mpa netdev eth0"), 0,
		   "the device comes back");
	}
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

CASE("handover: a socket of another process")
{
	Ends ends;
	int pair[2];

	must_call(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	const pid_t child = ::fork();

	if (!child) {
		// It talks, and passes the socket on.
		send_text(ends.tcp.near.get(), "hello");
		send_descriptor(pair[1], ends.tcp.near.get());
		::_exit(0);
	}
	ends.tcp.near.reset();
	expect_text(ends.tcp.far.get(), "hello");
	ends.tcp.near = receive_descriptor(pair[0]);
	::waitpid(child, nullptr, 0);
	ends.hand_over();
	ends.exchange();
}

CASE("handover: many at once, beside calls, copies and descriptors that are closed")
{
	Device one{1}, two{2};

	for (int round = 0; round < 40; round++) {
		const Row row(round);
		Tcp tcp;
		Queue near(one), far(two);
		HandOver active = initiator(), passive = responder();
		std::atomic<bool> over{false};
		const int fd = tcp.near.get();
		// Whatever these calls return: nothing else may happen.
		std::thread rival([&] {
			while (!over) {
				char byte;
				const linger none{};
				const int copy = ::dup(fd);

				::setsockopt(copy, SOL_SOCKET, SO_LINGER, &none,
					     sizeof(none));
				::recv(copy, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
				net::events_of(copy);
				::close(copy);
			}
		});
		auto other = std::async(std::launch::async, [&] {
			return passive.run(far, tcp.far.get());
		});
		Err result{EBUSY};

		while (result == Err{EBUSY})
			result = active.run(near, fd);
		is(result, 0, "the Initiator");
		is(other.get(), 0, "the Responder");
		far.post_receive(1);
		near.send(2);
		expect_good(far.completion(), 1);
		if (round & 1)
			near.qp.reset();
		else
			tcp.far.reset();
		over = true;
		rival.join();
	}
}

} // namespace
