// SPDX-License-Identifier: GPL-2.0-only
//
// Descriptors and processes that are created and end, namespaces, and
// inet_diag.
#include "net.hpp"

#include <cstdio>
#include <cstdlib>
#include <future>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp_framing.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#ifndef INET_ULP_INFO_NAME
#define INET_ULP_INFO_NAME 1
#endif

using namespace harness;
using namespace net;

namespace {

using mpa::role;

void works(mpa::socket &near, mpa::socket &far)
{
	for (unsigned int n = 0; n < 3; n++) {
		must(near.send(pattern(100, n)), "send");
		expect_ulpdu(far, pattern(100, n));
		must(far.send(pattern(50, n)), "send back");
		expect_ulpdu(near, pattern(50, n));
	}
}

// --- descriptors -------------------------------------------------------------------

CASE("life: a duplicate is the same socket")
{
	Pair pair;
	auto other = must(mpa::socket::adopt(descriptor(::dup(pair.far.fd()))), "adopt");

	must(pair.near.send(mpa::bytes("one")), "send");
	must(pair.near.send(mpa::bytes("two")), "send");
	expect_ulpdu(pair.far, mpa::bytes("one"));
	expect_ulpdu(other, mpa::bytes("two"));
	pair.far.close();
	yes(!(events_of(pair.near.fd()) & POLLRDHUP), "one is left");
	works(pair.near, other);
	other.close();
	expect_end(pair.near);
}

CASE("life: a child process has the same socket")
{
	Pair pair;
	const pid_t child = must_call(::fork(), "fork");

	if (child == 0) {
		pair.near.close();
		expect_ulpdu(pair.far, mpa::bytes("to the child"));
		must(pair.far.send(mpa::bytes("from the child")), "send");
		::_exit(0);
	}
	pair.far.close();
	must(pair.near.send(mpa::bytes("to the child")), "send");
	expect_ulpdu(pair.near, mpa::bytes("from the child"));
	int status = -1;
	must_call(::waitpid(child, &status, 0), "waitpid");
	is(status, 0, "the child");
	expect_end(pair.near);
}

CASE("life: a socket that is passed over AF_UNIX")
{
	Pair pair;
	int both[2];
	alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
	char byte = 0;
	iovec part{&byte, 1};
	msghdr message{};

	must_call(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), "pair");
	const descriptor in(both[0]), out(both[1]);
	message.msg_iov = &part, message.msg_iovlen = 1;
	message.msg_control = control.data(), message.msg_controllen = control.size();
	auto *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	const int sent = pair.far.fd();
	std::memcpy(CMSG_DATA(head), &sent, sizeof(sent));
	must_call(::sendmsg(in.get(), &message, 0), "send");
	// In the queue only the message owns it.
	pair.far.close();
	must(pair.near.send(mpa::bytes("meanwhile")), "send");
	must_call(::recvmsg(out.get(), &message, MSG_CMSG_CLOEXEC), "receive");
	int received = -1;
	std::memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(received));
	auto passed = must(mpa::socket::adopt(descriptor(received)), "adopt");
	expect_ulpdu(passed, mpa::bytes("meanwhile"));
	works(pair.near, passed);
}

CASE("life: a socket that is lost in AF_UNIX")
{
	Pair pair;
	int both[2];
	alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
	char byte = 0;
	iovec part{&byte, 1};
	msghdr message{};

	must_call(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), "pair");
	descriptor in(both[0]), out(both[1]);
	message.msg_iov = &part, message.msg_iovlen = 1;
	message.msg_control = control.data(), message.msg_controllen = control.size();
	auto *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	const int sent = pair.far.fd();
	std::memcpy(CMSG_DATA(head), &sent, sizeof(sent));
	must_call(::sendmsg(in.get(), &message, 0), "send");
	pair.far.close();
	in.reset();
	out.reset();
	expect_end(pair.near);
}

// --- processes ------------------------------------------------------------------------

CASE("life: the peer is killed")
{
	for (const bool unread : {false, true}) {
		const Row row(unread ? "with ULPDUs unread" : "with all read");
		Pair pair;
		const pid_t child = must_call(::fork(), "fork");
		int status = 0;

		if (child == 0) {
			pair.near.close();
			for (;;)
				::pause();
		}
		pair.far.close();
		if (unread) {
			int left = 0;

			must(pair.near.send(pattern(100)), "send");
			await([&] { return !::ioctl(pair.near.fd(), SIOCOUTQ, &left) && !left; },
			      "it arrives");
		}
		must_call(::kill(child, SIGKILL), "kill");
		must_call(::waitpid(child, &status, 0), "waitpid");
		is(status, SIGKILL, "how the child ends");
		await_events(pair.near.fd(), POLLIN | POLLRDHUP, "the end");
		Bytes buffer(8);
		const auto got = pair.near.receive(buffer);
		if (unread)
			is(err(got), ECONNRESET, "receive");
		else
			yes(must(got, "receive").end, "an orderly end");
	}
}

CASE("life: killed in the middle of everything")
{
	for (const auto what : {"start", "send", "receive", "poll"}) {
		const Row row(what);
		const std::string_view word = what;
		Attached idle;
		Pair pair;
		auto &used = word == "start" ? idle : pair;
		const pid_t child = must_call(::fork(), "fork");
		int status = 0;

		if (child == 0) {
			Bytes buffer(64);

			used.near.close();
			if (word == "start")
				(void)used.far.start(role::responder);
			while (word == "send")
				(void)used.far.send(pattern(1000));
			if (word == "receive")
				(void)used.far.receive(buffer);
			for (;;)
				(void)used.far.wait(POLLPRI);
		}
		used.far.close();
		::poll(nullptr, 0, 100);
		must_call(::kill(child, SIGKILL), "kill");
		must_call(::waitpid(child, &status, 0), "waitpid");
		is(status, SIGKILL, "how the child ends");
		// The end comes after everything that was sent.
		Bytes buffer(2000);
		await([&] {
			if (events_of(used.near.fd()) & POLLRDHUP)
				return true;
			(void)used.near.receive(buffer, mpa::receive_flags::dont_wait);
			return false;
		}, "the end");
	}
}

CASE("life: closed in every state, by dozens")
{
	for (int n = 0; n < 12; n++) {
		const Row row(n);
		{
			Attached streaming;
		}
		{
			WithWire waiting;
			begin(waiting.ours, n % 2 ? role::initiator : role::responder);
		}
		{
			WithWire requested;
			begin(requested.ours, role::responder);
			requested.wire.send(request());
			await_request(requested.ours);
		}
		{
			Pair running(n % 2 ? Path::ipv4 : Path::loopback);
			(void)running.near.send(pattern(100), mpa::send_flags::more);
			(void)running.far.send(pattern(100));
		}
		{
			Running broken(role::initiator);
			auto bad = fpdu(pattern(10));
			bad.back() ^= std::byte{1};
			broken.wire.send(bad);
		}
		{
			Listener listener;
			auto socket = attach(std::move(listener.fd));
			must(socket.start(role::responder), "start");
		}
	}
}

CASE("life: another thread closes while one receives")
{
	Pair pair;
	const int fd = pair.far.fd();
	Bytes buffer(16);
	auto waiting = std::async(std::launch::async, [&] {
		return ::recv(fd, buffer.data(), buffer.size(), 0);
	});

	yes(waiting.wait_for(moment) == std::future_status::timeout, "it waits");
	// The call holds the socket: it returns only when the connection ends.
	pair.far.close();
	must(pair.near.send(mpa::bytes("late")), "send");
	yes(waiting.wait_for(patience) == std::future_status::ready, "it returns");
	is(waiting.get(), 4L, "received");
}

// --- namespaces -------------------------------------------------------------------------

// A connection over the loopback device of a namespace without a name.
Pair in_nameless_namespace()
{
	return std::async(std::launch::async, [] {
		must_call(::unshare(CLONE_NEWNET), "unshare");
		is(::system("ip link set lo up"), 0, "loopback");
		// Sockets of the thread's own namespace.
		const descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
		descriptor near(::socket(AF_INET, SOCK_STREAM, 0));
		auto address = address_of(Path::loopback);
		must_call(::bind(listener.get(), address.generic(), address.size), "bind");
		must_call(::listen(listener.get(), 1), "listen");
		must_call(::getsockname(listener.get(), address.generic(), &address.size),
			  "getsockname");
		must_call(::connect(near.get(), address.generic(), address.size),
			  "connect");
		return Pair(std::move(near),
			    descriptor(::accept(listener.get(), nullptr, nullptr)));
	}).get();
}

CASE("life: sockets outlive the name of their namespace")
{
	auto pair = in_nameless_namespace();

	works(pair.near, pair.far);
	must(pair.near.shutdown(), "shutdown");
	expect_end(pair.far);
}

CASE("life: namespaces are deleted with their sockets, by dozens")
{
	for (int n = 0; n < 12; n++) {
		auto pair = in_nameless_namespace();

		must(pair.near.send(pattern(500)), "send");
		must(pair.far.send(pattern(500), mpa::send_flags::more), "send");
	}
}

// --- inet_diag ------------------------------------------------------------------------------

std::string output_of(const std::string &command)
{
	std::string text;
	char line[512];
	auto *pipe = ::popen(command.c_str(), "r");

	while (std::fgets(line, sizeof(line), pipe))
		text += line;
	::pclose(pipe);
	return text;
}

unsigned int port_of(int fd)
{
	Address address;

	address.size = sizeof(address.storage);
	must_call(::getsockname(fd, address.generic(), &address.size), "getsockname");
	return ntohs(reinterpret_cast<sockaddr_in *>(&address.storage)->sin_port);
}

CASE("diag: ss shows attached sockets")
{
	Attached streaming;
	Pair pair;
	Listener listener;
	const auto port = std::to_string(port_of(listener.fd.get()));
	auto socket = attach(std::move(listener.fd));

	for (auto *one : {&streaming, static_cast<Attached *>(&pair)}) {
		const auto text = output_of("ip netns exec h1 ss -Htin sport = :" +
					    std::to_string(port_of(one->near.fd())));
		yes(text.find("tcp-ulp-mpa") != std::string::npos, "ss: " + text);
	}
	const auto text = output_of("ip netns exec h2 ss -Hltin sport = :" + port);
	yes(text.find(port) != std::string::npos, "a listening socket: " + text);
}

// The attributes after a header, by type.
template <typename Visit>
void each_attribute(const void *first, std::size_t left, Visit visit)
{
	const auto *at = static_cast<const char *>(first);

	while (left >= sizeof(nlattr)) {
		nlattr attr;

		std::memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < sizeof(attr) || attr.nla_len > left)
			return;
		visit(attr.nla_type & NLA_TYPE_MASK, at + NLA_HDRLEN,
		      attr.nla_len - sizeof(attr));
		const auto whole = std::min<std::size_t>(NLA_ALIGN(attr.nla_len), left);
		at += whole;
		left -= whole;
	}
}

struct Diag {
	std::string name;
	std::optional<mpa_sock_info> info;
	std::optional<mpa_sock_stats> stats;
	std::optional<tcp_framing_info> framing;
};

template <typename T> std::optional<T> taken(const char *data, std::size_t size)
{
	T value{};

	is(size, sizeof(T), "bytes of the structure");
	std::memcpy(&value, data, sizeof(T));
	return value;
}

// Ports do not tell sockets apart: connections to two listeners may leave from
// one port.
std::uint64_t cookie_of(const mpa::socket &socket)
{
	std::uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	must_call(::getsockopt(socket.fd(), SOL_SOCKET, SO_COOKIE, &cookie, &size),
		  "SO_COOKIE");
	return cookie;
}

// Data of the kernel on the socket of host h1 with this cookie.
Diag diag_of(std::uint64_t cookie)
{
	struct {
		nlmsghdr head;
		inet_diag_req_v2 body;
	} ask{};
	std::array<char, 65536> answer;
	const descriptor here(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
	const descriptor h1(::open("/run/netns/h1", O_RDONLY | O_CLOEXEC));
	Diag diag;

	must_call(::setns(h1.get(), CLONE_NEWNET), "setns");
	const descriptor fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				     NETLINK_SOCK_DIAG));
	must_call(::setns(here.get(), CLONE_NEWNET), "setns");
	ask.head = {.nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
	ask.body.sdiag_family = AF_INET;
	ask.body.sdiag_protocol = IPPROTO_TCP;
	ask.body.idiag_states = ~0u;
	ask.body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
	must_call(::send(fd.get(), &ask, sizeof(ask), 0), "request");
	for (;;) {
		auto left = static_cast<unsigned int>(
			must_call(::recv(fd.get(), answer.data(), answer.size(), 0),
				  "answer"));
		for (auto *head = reinterpret_cast<nlmsghdr *>(answer.data());
		     NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
			if (head->nlmsg_type == NLMSG_DONE)
				return diag;
			if (head->nlmsg_type == NLMSG_ERROR)
				fail("inet_diag refuses");
			auto *body = static_cast<inet_diag_msg *>(NLMSG_DATA(head));
			if ((std::uint64_t{body->id.idiag_cookie[1]} << 32 |
			     body->id.idiag_cookie[0]) != cookie)
				continue;
			const auto mpa = [&](int type, const char *data, std::size_t size) {
				if (type == MPA_DIAG_INFO)
					diag.info = taken<mpa_sock_info>(data, size);
				if (type == MPA_DIAG_STATS)
					diag.stats = taken<mpa_sock_stats>(data, size);
				if (type == MPA_DIAG_FRAMING)
					diag.framing = taken<tcp_framing_info>(data, size);
			};
			const auto ulp = [&](int type, const char *data, std::size_t size) {
				if (type == INET_ULP_INFO_NAME)
					diag.name = data;
				if (type == INET_ULP_INFO_MPA)
					each_attribute(data, size, mpa);
			};
			each_attribute(body + 1,
				       head->nlmsg_len - NLMSG_SPACE(sizeof(*body)),
				       [&](int type, const char *data, std::size_t size) {
				if (type == INET_DIAG_ULP_INFO)
					each_attribute(data, size, ulp);
			});
		}
	}
}

CASE("diag: netlink reports the same as the options")
{
	Attached streaming;
	Pair pair;

	works(pair.near, pair.far);
	auto diag = diag_of(cookie_of(pair.near));
	is(diag.name, "mpa", "name");
	yes(diag.info && diag.stats, "both structures are there");
	auto reported = must(pair.near.info(), "info");
	// inet_diag does not take the lock that the MULPDU needs.
	const auto known = mpa::from_kernel(*diag.info);
	is(name(known.state), name(reported.state), "state");
	yes(known.role == reported.role && known.rev == reported.rev && known.crc == reported.crc,
	    "result");
	const auto counts = must(pair.near.stats(), "counts");
	is(diag.stats->tx_fpdus, counts.tx_fpdus, "FPDUs sent");
	is(diag.stats->rx_bytes, counts.rx_bytes, "bytes received");

	diag = diag_of(cookie_of(streaming.near));
	is(diag.name, "mpa", "name");
	yes(diag.info && mpa::from_kernel(*diag.info).state == mpa::state::streaming,
	    "streaming mode");
	yes(!diag.framing, "no other framing");

	const int mode = TCP_FRAMING_SEND_ALIGN;
	tcp_framing_info info{};
	socklen_t size = sizeof(info);
	must_call(::setsockopt(streaming.near.fd(), SOL_TCP, TCP_FRAMING_MODE, &mode,
			       sizeof(mode)), "mode");
	must_call(::getsockopt(streaming.near.fd(), SOL_TCP, TCP_FRAMING_INFO, &info, &size),
		  "info");
	diag = diag_of(cookie_of(streaming.near));
	yes(diag.info && diag.info->state == MPA_STATE_FRAMED, "state");
	yes(diag.framing && !std::memcmp(&*diag.framing, &info, sizeof(info)), "framing");
}

CASE("diag: sockets that come and go during a dump")
{
	std::jthread looking([](std::stop_token stop) {
		while (!stop.stop_requested())
			(void)diag_of(0);
	});

	for (int n = 0; n < 40; n++) {
		Pair pair;

		must(pair.near.send(pattern(100)), "send");
	}
}

} // namespace
