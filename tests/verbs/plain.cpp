// SPDX-License-Identifier: GPL-2.0-only
//
// Plain TCP on the port of an rdma_cm listener: mpadv_create_plain(),
// mpadv_accept_plain().
#include "pair.hpp"

#include <future>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mpadv.h>

using namespace harness;
using namespace verbs;
using mpa::descriptor;
using net::Address;
using net::Path;
using net::Wire;
using net::expect_text;

namespace {

// Its queue of plain TCP connections.
struct Plain {
	Plain(const Device &device, Listening &listening, unsigned int backlog = 8)
		: context(device.context.get())
	{
		int made = -1;

		is(mpadv_create_plain(context, listening.own.generic(), backlog, &made),
		   0, "mpadv_create_plain");
		fd.reset(made);
	}

	// errno or 0.
	int try_accept(descriptor &to, int flags = SOCK_CLOEXEC)
	{
		int made = -1;
		const int ret = mpadv_accept_plain(context, fd.get(), flags, &made);

		to.reset(made);
		return ret;
	}

	descriptor accept(int flags = SOCK_CLOEXEC)
	{
		descriptor made;

		net::await_events(fd.get(), POLLIN, "a connection");
		is(try_accept(made, flags), 0, "mpadv_accept_plain");
		return made;
	}

	ibv_context *context;
	descriptor fd;
};

// What the counters of host 2 say of connections, from the beginning of a case.
struct Counts {
	std::uint64_t plain = counter(2, "conn_plain");
	std::uint64_t error = counter(2, "conn_startup_error");

	void are(std::uint64_t more_plain, std::uint64_t more_errors) const
	{
		await([&] { return counter(2, "conn_plain") == plain + more_plain; },
		      "conn_plain");
		await([&] { return counter(2, "conn_startup_error") == error + more_errors; },
		      "conn_startup_error");
	}
};

void say(int fd, std::string_view text)
{
	is(must_call(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), "send"),
	   static_cast<long>(text.size()), "sent");
}

int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	must_call(::getsockopt(fd, level, name, &value, &size), "getsockopt");
	return value;
}

// As the listener of any program would return it.
void expect_ordinary(int fd)
{
	char ulp[16] = {};
	socklen_t size = sizeof(ulp);
	struct stat about{};

	is(option(fd, IPPROTO_TCP, TCP_NODELAY), 0, "TCP_NODELAY");
	is(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0, "SO_KEEPALIVE");
	is(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0, "TCP_USER_TIMEOUT");
	is(option(fd, SOL_SOCKET, SO_RCVLOWAT), 1, "SO_RCVLOWAT");
	must_call(::getsockopt(fd, IPPROTO_TCP, TCP_ULP, ulp, &size), "TCP_ULP");
	is(size, 0u, "no upper layer protocol");
	// It is for sockets of the kernel; a kernel without MPTCP does not know it.
	is(::setsockopt(fd, IPPROTO_TCP, TCP_ULP, "mptcp", 6), -1, "the protocol mptcp");
	yes(errno == EOPNOTSUPP || errno == ENOENT, "why not");
	must_call(::fstat(fd, &about), "fstat");
	is(about.st_uid, ::geteuid(), "its user");
}

struct FirstRow {
	const char *name;
	std::string_view bytes;
	bool fin;
};

constexpr FirstRow first_rows[] = {
	{"a line", "GET / HTTP/1.1\r\n", false},
	{"one byte", "\n", false},
	{"the key, but for its last byte", "MPA ID Req Fram.", false},
	{"the key of a Reply", "MPA ID Rep Frame", false},
	{"a part of the key, and the end", "MPA ID", true},
	{"the end", "", true},
};

CASE("plain: what does not begin with a Request goes to the user")
{
	Device two(2);

	for (const Path path : {Path::ipv4, Path::ipv6}) {
		Listening listening(path);
		Plain plain(two, listening);

		for (const FirstRow &first : first_rows) {
			const Row row(first.name);
			const Counts counts;
			descriptor near = listening.connect();

			if (!first.bytes.empty())
				say(near.get(), first.bytes);
			if (first.fin)
				must_call(::shutdown(near.get(), SHUT_WR), "shutdown");
			descriptor far = plain.accept();

			expect_ordinary(far.get());
			expect_text(far.get(), first.bytes);
			say(far.get(), "welcome");
			expect_text(near.get(), "welcome");
			counts.are(1, 0);
		}
	}
}

CASE("plain: a peer that waits for the server's first words gets them")
{
	const Setting timeout{2, "startup-timeout", "200"};
	const Setting watched{2, "peer-timeout", "30000"};
	Device two(2);
	Listening listening;
	Plain plain(two, listening);
	descriptor near = listening.connect();
	descriptor far = plain.accept(SOCK_NONBLOCK);

	expect_ordinary(far.get());
	is(::fcntl(far.get(), F_GETFL) & O_NONBLOCK, O_NONBLOCK, "O_NONBLOCK");
	is(::fcntl(far.get(), F_GETFD), 0, "FD_CLOEXEC");
	say(far.get(), "220 ready\r\n");
	expect_text(near.get(), "220 ready\r\n");
	say(near.get(), "QUIT\r\n");
	expect_text(far.get(), "QUIT\r\n");
}

CASE("plain: the listener at the unspecified address, too")
{
	Device two(2);

	for (const Path path : {Path::ipv4, Path::ipv6}) {
		Listening listening(path, true);
		Plain plain(two, listening);
		descriptor near = listening.connect();

		say(near.get(), "hello");
		expect_text(plain.accept().get(), "hello");
	}
}

// Both kinds of clients at a time; and a plain one goes to RDMA later.
CASE("plain: RDMA on the same port")
{
	Device one(1), two(2);
	Listening listening;
	Plain plain(two, listening);
	const Counts counts;
	Queue active(one), passive(two);
	descriptor near = listening.connect();

	say(near.get(), "text");
	descriptor far = plain.accept();

	auto server = std::async(std::launch::async, [&] {
		rdma_cm_id *id = nullptr;
		rdma_conn_param param = parameters(passive);

		must_call(rdma_get_request(listening.id.get(), &id), "rdma_get_request");
		rdmacm::Endpoint accepted(id);
		must_call(rdma_accept(id, &param), "rdma_accept");
		return accepted;
	});
	rdma_conn_param param = parameters(active);
	const rdmacm::Endpoint client = bare_endpoint("10.77.0.2", listening.port(), 0);

	must_call(rdma_connect(client.get(), &param), "rdma_connect");
	const rdmacm::Endpoint accepted = server.get();

	passive.post_receive(1);
	active.send(2);
	is(passive.completion().wr_id, 1u, "a Send arrives");
	is(active.completion().wr_id, 2u, "it is sent");
	expect_text(far.get(), "text");

	Queue near_queue(one), far_queue(two);
	mpadv_socket_attr to{}, from{};

	to.fd = near.release();
	from.fd = far.release();
	from.flags = MPADV_SOCKET_RESPONDER;
	auto other = std::async(std::launch::async, [&] {
		return mpadv_modify_qp_from_socket(far_queue.qp.get(), &from);
	});

	is(mpadv_modify_qp_from_socket(near_queue.qp.get(), &to), 0, "the Initiator");
	is(other.get(), 0, "the Responder");
	far_queue.post_receive(3);
	near_queue.send(4);
	is(far_queue.completion().wr_id, 3u, "a Send arrives");
	counts.are(1, 0);
}

CASE("plain: who may ask, and for what")
{
	Device one(1), two(2);
	Listening listening;
	Address elsewhere = listening.own;
	int fd = -1;

	reinterpret_cast<sockaddr_in *>(&elsewhere.storage)->sin_port = htons(1);
	is(mpadv_create_plain(two.context.get(), elsewhere.generic(), 8, &fd), ENOENT,
	   "another port");
	is(mpadv_create_plain(one.context.get(), listening.own.generic(), 8, &fd), ENOENT,
	   "another device");
	elsewhere = listening.own;
	reinterpret_cast<sockaddr_in *>(&elsewhere.storage)->sin_addr.s_addr = 0;
	is(mpadv_create_plain(two.context.get(), elsewhere.generic(), 8, &fd), ENOENT,
	   "another address");
	elsewhere.storage.ss_family = AF_INET6;
	is(mpadv_create_plain(two.context.get(), elsewhere.generic(), 8, &fd), ENOENT,
	   "another family");
	elsewhere.storage.ss_family = AF_UNIX;
	is(mpadv_create_plain(two.context.get(), elsewhere.generic(), 8, &fd), EAFNOSUPPORT,
	   "no family of IP");
	is(mpadv_create_plain(two.context.get(), listening.own.generic(), 0, &fd), EINVAL,
	   "no room");
	is(fd, -1, "no descriptor");
	{
		Plain plain(two, listening);
		descriptor none;

		is(mpadv_create_plain(two.context.get(), listening.own.generic(), 8, &fd),
		   EADDRINUSE, "twice");
		is(plain.try_accept(none), EAGAIN, "nothing there");
		is(plain.try_accept(none, SOCK_STREAM), EINVAL, "flags");
		is(mpadv_accept_plain(two.context.get(), two.context->async_fd, 0, &fd),
		   EBADF, "another file");
		is(mpadv_accept_plain(one.context.get(), plain.fd.get(), 0, &fd), EBADF,
		   "another context");
		is(net::events_of(plain.fd.get()), 0, "events");
	}
	// Closed: it may be asked for again.
	Plain again(two, listening);
}

CASE("plain: not for another user")
{
	Device two(2);
	Listening listening;
	const pid_t child = must_call(::fork(), "fork");

	if (!child) {
		int fd = -1;

		::_exit(::setgid(65534) || ::setuid(65534) ? 255 :
			mpadv_create_plain(two.context.get(), listening.own.generic(), 8,
					   &fd));
	}
	int status = 0;

	must_call(::waitpid(child, &status, 0), "waitpid");
	yes(WIFEXITED(status), "the process ends");
	is(WEXITSTATUS(status), EACCES, "the answer");
}

void expect_reset(int fd)
{
	char byte;

	net::await_events(fd, POLLHUP, "the reset");
	is(::recv(fd, &byte, 1, MSG_DONTWAIT), -1, "recv");
	is(errno, ECONNRESET, "the error");
}

CASE("plain: what nobody fetches is reset")
{
	Device two(2);
	Listening listening;
	const Counts counts;
	std::vector<descriptor> near;
	const auto knock = [&] {
		near.push_back(listening.connect());
		say(near.back().get(), "knock");
	};
	{
		Plain plain(two, listening, 1);

		knock();
		net::await_events(plain.fd.get(), POLLIN, "a connection");
		// There is no more room.
		knock();
		expect_reset(near[1].get());
		counts.are(1, 1);
		descriptor far = plain.accept();

		expect_text(far.get(), "knock");
		knock();
		net::await_events(plain.fd.get(), POLLIN, "a connection");
		counts.are(2, 1);
	}
	expect_reset(near[2].get());
	// As if it had never been asked for.
	knock();
	expect_reset(near[3].get());
	counts.are(2, 2);
}

CASE("plain: the listener ends")
{
	Device two(2);
	Listening listening;
	Plain plain(two, listening);
	descriptor near = listening.connect(), none;

	say(near.get(), "before");
	net::await_events(plain.fd.get(), POLLIN, "a connection");
	listening.id.reset();
	net::await_events(plain.fd.get(), POLLHUP, "the end of the listener");
	is(net::events_of(plain.fd.get(), POLLIN), POLLIN | POLLHUP, "events");
	descriptor far = plain.accept();

	expect_text(far.get(), "before");
	say(far.get(), "after");
	expect_text(near.get(), "after");
	is(plain.try_accept(none), EINVAL, "no more");
	is(net::events_of(plain.fd.get(), POLLIN), POLLHUP, "events");
}

CASE("plain: the peer ends before it is fetched")
{
	Device two(2);
	Listening listening;
	Plain plain(two, listening);
	Wire wire(listening.connect());

	wire.send(mpa::bytes("bye"));
	net::await_events(plain.fd.get(), POLLIN, "a connection");
	wire.reset();
	descriptor far = plain.accept();
	char byte;

	net::await_events(far.get(), POLLHUP, "the reset");
	expect_text(far.get(), "bye");
	is(::recv(far.get(), &byte, 1, 0), -1, "recv");
	is(errno, ECONNRESET, "the error");
}

// Fetching, closing and peers at the same time.
CASE("plain: races")
{
	Device two(2);
	const Setting more{2, "half-open-max", "1000"};

	for (int round = 0; round < 20; round++) {
		Listening listening;
		std::atomic<bool> over{false};
		auto peers = std::async(std::launch::async, [&] {
			while (!over) {
				descriptor near = listening.connect();

				::send(near.get(), "x", 1, MSG_NOSIGNAL);
			}
		});
		int seen = 0;
		{
			Plain plain(two, listening, 4);
			auto helper = std::async(std::launch::async, [&] {
				for (int i = 0; i < 20; i++) {
					descriptor far;

					plain.try_accept(far);
				}
			});

			while (seen < 20) {
				descriptor far;

				if (!plain.try_accept(far))
					seen++;
			}
			helper.get();
		}
		over = true;
		peers.get();
		is(seen, 20, "connections");
	}
}

} // namespace
