// SPDX-License-Identifier: GPL-2.0-only
//
// Attaching, and streaming mode.
#include "net.hpp"

#include <arpa/inet.h>
#include <sys/sendfile.h>

using namespace harness;
using namespace net;

namespace {

Err attach_err(int fd)
{
	return err_of(::setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3));
}

std::string ulp_of(int fd)
{
	char name[16] = "";
	socklen_t size = sizeof(name);

	must_call(::getsockopt(fd, SOL_TCP, TCP_ULP, name, &size), "TCP_ULP");
	return name;
}

CASE("attach: to a connected socket, once")
{
	for (const auto path : paths) {
		const Row row(path);
		Tcp tcp(path);

		for (const int fd : {tcp.near.get(), tcp.far.get()}) {
			is(attach_err(fd), 0, "first");
			is(attach_err(fd), EEXIST, "second");
			is(ulp_of(fd), "mpa", "name");
		}
	}
}

CASE("attach: to a listening socket, once")
{
	for (const auto path : paths) {
		const Row row(path);
		const Listener listener(path);

		is(attach_err(listener.fd.get()), 0, "first");
		is(attach_err(listener.fd.get()), EEXIST, "second");
		is(ulp_of(listener.fd.get()), "mpa", "name");
	}
}

CASE("attach: before connect, but in no other state")
{
	auto fresh = tcp_socket(Path::ipv4, 1);
	is(attach_err(fresh.get()), 0, "fresh");

	auto bound = tcp_socket(Path::ipv4, 2);
	auto address = address_of(Path::ipv4);
	must_call(::bind(bound.get(), address.generic(), address.size), "bind");
	is(attach_err(bound.get()), 0, "bound");

	// No host answers there.
	auto connecting = tcp_socket(Path::ipv4, 1);
	auto *v4 = reinterpret_cast<sockaddr_in *>(&address.storage);
	::inet_pton(AF_INET, "10.77.0.99", &v4->sin_addr);
	v4->sin_port = htons(9);
	must_call(::fcntl(connecting.get(), F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	is(err_of(::connect(connecting.get(), address.generic(), address.size)),
	   EINPROGRESS, "connect");
	is(attach_err(connecting.get()), ENOTCONN, "SYN_SENT");

	Tcp closing;
	::shutdown(closing.near.get(), SHUT_WR);
	await_events(closing.far.get(), POLLRDHUP, "FIN");
	is(attach_err(closing.near.get()), ENOTCONN, "FIN_WAIT");
	// Data that the peer sent before its end can still be MPA.
	is(attach_err(closing.far.get()), 0, "CLOSE_WAIT");

	Tcp reset;
	Wire(std::move(reset.far)).reset();
	await_events(reset.near.get(), POLLHUP, "RST");
	is(attach_err(reset.near.get()), ENOTCONN, "CLOSE");
}

CASE("attach: the options are unknown before it")
{
	Tcp tcp;
	mpa_sock_info info{};
	socklen_t size = sizeof(info);
	const int role = MPA_ROLE_INITIATOR;

	yes(::getsockopt(tcp.near.get(), SOL_MPA, MPA_SO_INFO, &info, &size) < 0, "get");
	is(err_of(::setsockopt(tcp.near.get(), SOL_MPA, MPA_SO_START, &role,
			       sizeof(role))), ENOPROTOOPT, "set");
	const Listener listener;
	yes(::getsockopt(listener.fd.get(), SOL_MPA, MPA_SO_INFO, &info, &size) < 0,
	    "get of a listening socket");
}

std::string read_text(int fd, int flags = 0)
{
	std::string text(64, 0);

	await_events(fd, POLLIN, "bytes");
	text.resize(static_cast<std::size_t>(must_call(
		::recv(fd, text.data(), text.size(), flags), "recv")));
	return text;
}

void streaming_is_tcp(int from, int to)
{
	int queued = 0;
	char rest[8] = "";

	is(must_call(::send(from, "abc", 3, 0), "send"), 3L, "sent");
	is(must_call(::write(from, "defg", 4), "write"), 4L, "written");
	await([&] { return !::ioctl(to, FIONREAD, &queued) && queued == 7; },
	      "both, as one stream");
	is(read_text(to, MSG_PEEK), "abcdefg", "peeked");
	is(must_call(::recv(to, rest, 2, 0), "recv"), 2L, "a part");
	is(must_call(::recv(to, rest, 5, MSG_WAITALL), "recv"), 5L, "the rest");
	is(std::string(rest), "cdefg", "the rest");
	yes(!(events_of(to) & POLLIN), "nothing is left");
	yes(events_of(from) & POLLOUT, "there is room");
}

CASE("streaming: reads and writes are plain TCP's")
{
	for (const auto path : paths) {
		const Row row(path);
		Attached both(path);

		streaming_is_tcp(both.near.fd(), both.far.fd());
		streaming_is_tcp(both.far.fd(), both.near.fd());
		is(name(must(both.near.info(), "info").state),
		   name(mpa::state::streaming), "state");
	}
}

CASE("streaming: splice, sendfile and urgent data are plain TCP's")
{
	Attached both;
	int pipe[2];
	char text[8] = "";

	must_call(::pipe2(pipe, O_CLOEXEC), "pipe");
	const descriptor out(pipe[0]), in(pipe[1]);
	must_call(::write(in.get(), "piped", 5), "write");
	is(must_call(::splice(out.get(), nullptr, both.near.fd(), nullptr, 5, 0),
		     "splice to"), 5L, "spliced to");
	is(read_text(both.far.fd()), "piped", "bytes");

	must_call(::send(both.far.fd(), "back", 4, 0), "send");
	await_events(both.near.fd(), POLLIN, "bytes");
	is(must_call(::splice(both.near.fd(), nullptr, in.get(), nullptr, 4, 0),
		     "splice from"), 4L, "spliced from");
	is(must_call(::read(out.get(), text, sizeof(text)), "read"), 4L, "bytes");

	const descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	is(must_call(::sendfile(both.near.fd(), file.get(), nullptr, 32),
		     "sendfile"), 32L, "sent of a file");
	is(read_text(both.far.fd()).substr(0, 4), "\x7f" "ELF", "bytes");

	must_call(::send(both.near.fd(), "!", 1, MSG_OOB), "urgent");
	await_events(both.far.fd(), POLLPRI, "urgent data");
	is(must_call(::recv(both.far.fd(), text, 1, MSG_OOB), "urgent"), 1L, "byte");
}

CASE("streaming: shutdown, end and reset are plain TCP's")
{
	Attached both;
	char byte;

	must_call(::shutdown(both.near.fd(), SHUT_WR), "shutdown");
	await_events(both.far.fd(), POLLRDHUP | POLLIN, "the end");
	is(must_call(::recv(both.far.fd(), &byte, 1, 0), "recv"), 0L, "end");
	must_call(::send(both.far.fd(), "on", 2, 0), "the other way");
	is(read_text(both.near.fd()), "on", "the other way");
	is(err_of(::send(both.near.fd(), "x", 1, MSG_NOSIGNAL)), EPIPE, "our way");

	WithWire reset;
	reset.wire.reset();
	await_events(reset.ours.fd(), POLLERR | POLLHUP, "RST");
	is(err_of(::recv(reset.ours.fd(), &byte, 1, 0)), ECONNRESET, "recv");
}

CASE("streaming: TCP's own options still work")
{
	Attached both;
	const int on = 1;
	tcp_info info{};
	socklen_t size = sizeof(info);

	must_call(::setsockopt(both.near.fd(), SOL_TCP, TCP_NODELAY, &on,
			       sizeof(on)), "TCP_NODELAY");
	must_call(::getsockopt(both.near.fd(), SOL_TCP, TCP_INFO, &info, &size),
		  "TCP_INFO");
	is(static_cast<int>(info.tcpi_state), TCP_ESTABLISHED, "state of TCP");
}

void what_breaks_the_stream(int fd, const std::string &when)
{
	const Row row(when);
	char value[64] = "";
	socklen_t size = sizeof(value);
	sockaddr nowhere{};

	nowhere.sa_family = AF_UNSPEC;
	is(err_of(::getsockopt(fd, SOL_TCP, TCP_ZEROCOPY_RECEIVE, value, &size)),
	   EOPNOTSUPP, "TCP_ZEROCOPY_RECEIVE");
	yes(::connect(fd, &nowhere, sizeof(nowhere)) < 0, "no connect(AF_UNSPEC)");
	is(attach_err(fd), EEXIST, "attaching again");
}

Err repair(int fd, int how)
{
	return err_of(::setsockopt(fd, SOL_TCP, TCP_REPAIR, &how, sizeof(how)));
}

// A connection that a checkpoint has frozen is continued with the same option.
CASE("streaming: MPA does not start in repair mode")
{
	for (const bool before : {false, true}) {
		const Row row(before ? "before the attachment" : "after it");
		Tcp tcp;

		if (before)
			is(repair(tcp.near.get(), 1), 0, "repair mode");
		mpa::socket near = attach(std::move(tcp.near));
		if (!before)
			is(repair(near.fd(), 1), 0, "repair mode");
		must(near.set_blocking(false), "O_NONBLOCK");
		is(err(near.start(mpa::role::initiator)), EBUSY, "start");
		is(name(must(near.info(), "info").state),
		   name(mpa::state::streaming), "state");
		is(repair(near.fd(), 0), 0, "it is left");
		streaming_is_tcp(near.fd(), tcp.far.get());
		is(err(near.start(mpa::role::initiator)), EINPROGRESS, "start");
		is(repair(near.fd(), 1), EOPNOTSUPP, "repair mode, started");
		is(repair(near.fd(), 0), EOPNOTSUPP, "leaving it, started");
	}
}

CASE("streaming: calls that would break the stream are refused")
{
	Attached both;
	Pair pair;

	what_breaks_the_stream(both.near.fd(), "streaming");
	streaming_is_tcp(both.near.fd(), both.far.fd());
	what_breaks_the_stream(pair.near.fd(), "operational");
	must(pair.near.send(mpa::bytes("on")), "send");
	expect_ulpdu(pair.far, mpa::bytes("on"));
}

} // namespace
