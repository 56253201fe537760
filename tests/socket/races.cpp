// SPDX-License-Identifier: GPL-2.0-only
//
// Applications that do two things at once, or things that no application should
// do to a socket that has MPA. Above all the kernel must stay healthy; the lab
// checks that.

#include <atomic>
#include <csignal>
#include <fstream>
#include <future>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <fcntl.h>
#include <unistd.h>

#include <sched.h>

#include "net.hpp"
#include "trap.hpp"

using namespace harness;
using namespace net;
using mpa::role;

namespace {

Err connect_again(int fd)
{
	sockaddr_in nobody{};

	nobody.sin_family = AF_INET;
	nobody.sin_port = htons(9);
	nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return err_of(::connect(fd, reinterpret_cast<sockaddr *>(&nobody),
				sizeof(nobody)));
}

Err set_one(int fd, int level, int name)
{
	const int one = 1;

	return err_of(::setsockopt(fd, level, name, &one, sizeof(one)));
}

} // namespace

CASE("races: an attached socket does not listen and is not connected again")
{
	Attached both;

	is(connect_again(both.near.fd()), EISCONN, "connect");
	is(err_of(::listen(both.near.fd(), 1)), EINVAL, "listen");
	Pair running;
	is(connect_again(running.far.fd()), EISCONN, "connect, operational");
	is(err_of(::listen(running.far.fd(), 1)), EINVAL, "listen, operational");
}

// What send() has accepted is before the end.
CASE("races: the end of sending, while another thread sends")
{
	for (unsigned int n = 0; n < 50; n++) {
		const Row row("round", n);
		Pair pair;
		std::atomic<unsigned int> accepted{0};

		must(pair.near.set_packing(true), "packing");
		auto sending = std::async(std::launch::async, [&] {
			while (pair.near.send(pattern(10, accepted)))
				accepted++;
		});
		auto reading = std::async(std::launch::async, [&] {
			std::array<std::byte, 16> room;
			unsigned int got = 0;

			while (!must(pair.far.receive(room), "receive").end)
				got++;
			return got;
		});
		await([&] { return accepted > n * 20; }, "ULPDUs");
		must(pair.near.shutdown(), "shutdown");
		sending.get();
		is(reading.get(), accepted.load(), "ULPDUs before an orderly end");
	}
}

// A connect(2) that did not wait leaves its last step to the next call. If TCP
// has ended in the meantime, that call would turn this socket into a new one.
CASE("races: nor is one whose connect() did not wait, after a reset")
{
	Listener listener;
	descriptor fd = tcp_socket(Path::ipv4, 1);

	must_call(::fcntl(fd.get(), F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	is(err_of(::connect(fd.get(), listener.address.generic(),
			    listener.address.size)), EINPROGRESS, "connect");
	await_events(fd.get(), POLLOUT, "a connection");
	mpa::socket ours = attach(std::move(fd));
	Wire(accept_from(listener)).reset();
	await_events(ours.fd(), POLLHUP, "the reset");
	is(connect_again(ours.fd()), EISCONN, "connect");
	is(err_of(::listen(ours.fd(), 1)), EINVAL, "listen");
}

CASE("races: calls that would change the socket under the stream are refused")
{
	Pair pair(Path::ipv6);
	const int fd = pair.near.fd();
	const int family = PF_INET;

	is(err_of(::setsockopt(fd, SOL_IPV6, IPV6_ADDRFORM, &family,
			       sizeof(family))), EOPNOTSUPP, "IPV6_ADDRFORM");
	is(set_one(fd, SOL_IPV6, IPV6_RECVERR), EOPNOTSUPP, "IPV6_RECVERR");
	is(set_one(fd, SOL_IP, IP_RECVERR), EOPNOTSUPP, "IP_RECVERR");
	is(set_one(fd, SOL_TCP, TCP_REPAIR), EOPNOTSUPP, "TCP_REPAIR");
	must(pair.near.send(mpa::bytes("as before")), "send");
	expect_ulpdu(pair.far, mpa::bytes("as before"));
}

// It sleeps within TCP, which does not count such readers, and takes the first
// data once it is woken: the stream ends there with an error.
CASE("races: a reader from before the attachment")
{
	Tcp tcp;
	const descriptor twin(::dup(tcp.near.get()));
	std::atomic<pid_t> reader{0};
	std::array<char, 8> taken{};
	auto reading = std::async(std::launch::async, [&] {
		reader = ::gettid();
		return ::recv(twin.get(), taken.data(), taken.size(), 0);
	});

	await_asleep(reader);
	mpa::socket ours = attach(std::move(tcp.near));
	Wire wire(std::move(tcp.far));
	begin(ours, role::responder);
	wire.send(request());
	await_request(ours);
	must(ours.accept_request(), "accept");
	wire.read_frame();
	wire.send(fpdu(mpa::bytes("meant for this reader")));
	is(reading.get(), 8L, "what the reader took");

	std::array<char, 64> text{};
	for (int i = 0; i < 2; i++)
		is(err_of(::recv(ours.fd(), text.data(), text.size(), 0)), EPROTO,
		   "receive");
}

CASE("races: a thread that waits for full operation gets plain TCP when rejected")
{
	WithWire pair;
	const int fd = pair.ours.fd();
	std::array<char, 16> text{};

	begin(pair.ours, role::initiator);
	pair.wire.read_frame();
	must(pair.ours.set_blocking(true), "blocking");
	std::atomic<pid_t> reader{0};
	auto reading = std::async(std::launch::async, [&] {
		reader = ::gettid();
		return ::recv(fd, text.data(), text.size(), 0);
	});
	await_asleep(reader);
	pair.wire.send(reply(flag_crc | flag_reject) + mpa::bytes("behind it"));
	is(reading.get(), 9L, "data after the Reply");
	is(std::string(text.data()), "behind it", "bytes");
}

CASE("races: a signal does not restart the startup exchange")
{
	WithWire pair;
	struct sigaction action{};
	// Until one comes while it waits.
	const itimerval soon{{0, 100000}, {0, 100000}}, never{};

	action.sa_handler = [](int) {};
	action.sa_flags = SA_RESTART;
	must_call(::sigaction(SIGALRM, &action, nullptr), "sigaction");
	must_call(::setitimer(ITIMER_REAL, &soon, nullptr), "setitimer");
	is(err(pair.ours.start(role::responder)), EINTR, "start");
	must_call(::setitimer(ITIMER_REAL, &never, nullptr), "setitimer");
	pair.wire.send(request());
	await_request(pair.ours);
	must(pair.ours.accept_request(), "accept");
	pair.wire.read_frame();
}

namespace {

// Runs before any other thread that is ready.
void hurry()
{
	const sched_param first{.sched_priority = 1};

	must_call(::sched_setscheduler(0, SCHED_FIFO, &first), "SCHED_FIFO");
}

bool anything_came(int fd)
{
	char byte;

	return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

sockaddr_in6 mapped(const Address &address)
{
	const auto &from = reinterpret_cast<const sockaddr_in &>(address.storage);
	sockaddr_in6 to{};

	to.sin6_family = AF_INET6;
	to.sin6_port = from.sin_port;
	to.sin6_addr.s6_addr16[5] = 0xffff;
	to.sin6_addr.s6_addr32[3] = from.sin_addr.s_addr;
	return to;
}

void connect_mapped(int fd, const Listener &listener)
{
	const sockaddr_in6 to = mapped(listener.address);

	must_call(::connect(fd, reinterpret_cast<const sockaddr *>(&to), sizeof(to)),
		  "connect to an IPv4 address");
}

// An IPv6 socket that becomes one of IPv4, with TCP's operations, when this call, which
// begins before, ends.
LateOption form_later(int fd)
{
	return {fd, SOL_IPV6, IPV6_ADDRFORM, {std::byte{AF_INET}}, sizeof(int)};
}

in_port_t port_of(int fd)
{
	sockaddr_in6 address{};
	socklen_t size = sizeof(address);

	must_call(::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size), "address");
	return address.sin6_port;
}

// Ends a socket, and so a listener, as `ss -K` does.
void destroy_listener(in_port_t port)
{
	struct {
		nlmsghdr header;
		inet_diag_req_v2 request;
	} message{};
	struct {
		nlmsghdr header;
		nlmsgerr error;
	} answer{};
	const descriptor fd(must_call(::socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG),
				      "netlink"));

	message.header = {sizeof(message), SOCK_DESTROY, NLM_F_REQUEST | NLM_F_ACK, 1, 0};
	message.request.sdiag_family = AF_INET6;
	message.request.sdiag_protocol = IPPROTO_TCP;
	message.request.id.idiag_sport = port;
	message.request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	message.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	must_call(::send(fd.get(), &message, sizeof(message), 0), "send");
	must_call(::recv(fd.get(), &answer, sizeof(answer), 0), "receive");
	is(answer.error.error, 0, "SOCK_DESTROY");
}

// Bytes of plain TCP to a listener, as many times; returns the last accepted socket.
descriptor plain_children(int fd, Address address, int count)
{
	descriptor far;

	reinterpret_cast<sockaddr_in *>(address.generic())->sin_addr.s_addr =
		::inet_addr("10.77.0.1");
	for (int n = 0; n < count; n++) {
		const Inside other(2);
		const descriptor near{::socket(AF_INET, SOCK_STREAM, 0)};

		must_call(::connect(near.get(), address.generic(), sizeof(sockaddr_in)),
			  "connect");
		await_events(fd, POLLIN, "a connection");
		far = descriptor(must_call(::accept(fd, nullptr, nullptr), "accept"));
		must_call(::send(near.get(), "plain", 5, MSG_NOSIGNAL), "send");
		expect_text(far.get(), "plain");
	}
	return far;
}

// In the namespace of the thread.
void set_syncookies(const char *value)
{
	std::ofstream file("/proc/sys/net/ipv4/tcp_syncookies");

	yes(bool(file << value << std::flush), "tcp_syncookies");
}

// Makes a socket listen that was connected.
Address listen_instead(int fd)
{
	const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
	Address address = address_of(Path::ipv4);

	must_call(::connect(fd, &nobody, sizeof(nobody)), "disconnect");
	must_call(::listen(fd, 64), "listen");
	must_call(::getsockname(fd, address.generic(), &address.size), "address");
	return address;
}

// If the socket was closed before its Request was accepted, the Request must
// not be accepted afterwards.
bool closed_before_accepted()
{
	Tcp tcp;
	Trap trap;
	descriptor twin(::dup(tcp.near.get()));
	std::atomic<pid_t> reader{0};
	mpa::params params;
	// Woken by the Request, it takes the data after it, and holds the lock
	// while it waits for memory.
	std::thread reading([&, fd = twin.get()] {
		hurry();
		reader = ::gettid();
		::recv(fd, trap.memory(), 16, 0);
	});

	await_asleep(reader);
	mpa::socket ours = attach(std::move(tcp.near));
	params.auto_accept = true;
	must(ours.set_params(params), "parameters");
	begin(ours, role::responder);
	Wire wire(std::move(tcp.far));
	wire.send(request() + pattern(8));
	trap.await_waiting(1);
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	bool accepted = anything_came(wire.fd());
	// The reader's call is the last one to hold the file. With several
	// processors the Request may be accepted between its release of the
	// lock and of the file.
	ours.close();
	twin.reset();
	trap.release();
	reading.join();
	if (!accepted) {
		char byte;
		const long got = ::recv(wire.fd(), &byte, 1, 0);

		accepted = got > 0;
		yes(!accepted || std::thread::hardware_concurrency() > 1,
		    "no Reply of a socket that was closed");
	}
	return !accepted;
}

} // namespace

CASE("races: a socket that is closed while its Request is to be accepted")
{
	int closed = 0;

	// With several processors the acceptance may be faster than the reader.
	for (int n = 0; n < 200 && closed < 3; n++)
		closed += closed_before_accepted();
	yes(closed > 0, "closed before the Request was accepted");
}

// What destroys a listener does not call MPA, and then IPV6_ADDRFORM takes MPA's operations
// from the socket, so its close does not either. The lab checks that no listener is listed.
CASE("addrform: a listener that was destroyed, connected, and closed by TCP")
{
	Listener listener(Path::ipv4);
	const Inside inside(1);
	const int role = MPA_ROLE_RESPONDER;
	descriptor fd{::socket(AF_INET6, SOCK_STREAM, 0)};
	LateOption form = form_later(fd.get());

	must_call(::setsockopt(fd.get(), SOL_TCP, TCP_ULP, "mpa", 3), "TCP_ULP");
	must_call(::listen(fd.get(), 4), "listen");
	must_call(::setsockopt(fd.get(), SOL_MPA, MPA_SO_START, &role, sizeof(role)), "start");
	destroy_listener(port_of(fd.get()));
	connect_mapped(fd.get(), listener);
	is(form.finish(), 0, "IPV6_ADDRFORM");
	Wire(std::move(fd)).reset();
}

// TCP calls a listener for each new connection without its lock. With SYN cookies, a new
// socket does not know its listener.
CASE("addrform: a stream whose socket TCP disconnects, and which listens then")
{
	for (const char *cookies : {"1", "2"}) {
		const Row row("tcp_syncookies", cookies);
		Listener listener(Path::ipv4);
		const Inside inside(1);
		const int role = MPA_ROLE_RESPONDER;
		descriptor fd{::socket(AF_INET6, SOCK_STREAM, 0)};

		set_syncookies(cookies);
		connect_mapped(fd.get(), listener);
		LateOption form = form_later(fd.get());
		must_call(::setsockopt(fd.get(), SOL_TCP, TCP_ULP, "mpa", 3), "TCP_ULP");
		::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
		is(err_of(::setsockopt(fd.get(), SOL_MPA, MPA_SO_START, &role, sizeof(role))),
		   EINPROGRESS, "start");
		is(form.finish(), 0, "IPV6_ADDRFORM");
		descriptor child = plain_children(fd.get(), listen_instead(fd.get()), 20);
		// It has the protocol of its listener, and nothing of it.
		fd.reset();
		plain_children(child.get(), listen_instead(child.get()), 3);
	}
	const Inside inside(1);
	set_syncookies("1");
}
