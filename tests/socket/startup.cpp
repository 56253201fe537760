// SPDX-License-Identifier: GPL-2.0-only
//
// The startup exchange: RFC 5044 section 7.1, RFC 6581, and its interface to
// applications.
#include "net.hpp"

#include <future>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>

using namespace harness;
using namespace net;

namespace {

using mpa::role;
using mpa::state;

// A blocking start in a separate thread.
std::future<Err> start_in_thread(mpa::socket &socket, role as)
{
	return std::async(std::launch::async,
			  [&socket, as] { return err(socket.start(as)); });
}

Err outcome(std::future<Err> &future,
	    std::source_location at = std::source_location::current())
{
	if (future.wait_for(patience) != std::future_status::ready)
		fail("the call does not return", at);
	return future.get();
}

// In both directions, including an empty ULPDU.
void works(mpa::socket &near, mpa::socket &far)
{
	must(near.set_blocking(true), "blocking");
	must(far.set_blocking(true), "blocking");
	for (const auto *text : {"ping", "", "pong"}) {
		must(near.send(mpa::bytes(text)), "send");
		expect_ulpdu(far, mpa::bytes(text));
		must(far.send(mpa::bytes(text)), "send back");
		expect_ulpdu(near, mpa::bytes(text));
	}
}

CASE("start: both sides wait")
{
	for (const auto path : paths) {
		const Row row(path);
		Attached both(path);
		auto far = start_in_thread(both.far, role::responder);
		auto near = start_in_thread(both.near, role::initiator);

		is(outcome(far), 0, "Responder, when the Request waits");
		state_is(both.far, state::requested);
		state_is(both.near, state::wait_reply);
		must(both.far.accept_request(), "accept");
		is(outcome(near), 0, "Initiator, when it was accepted");
		works(both.near, both.far);
	}
}

CASE("start: neither side waits")
{
	for (const auto path : paths) {
		const Row row(path);
		Attached both(path);

		begin(both.far, role::responder);
		state_is(both.far, state::wait_request);
		yes(!(events_of(both.far.fd()) & (POLLIN | POLLPRI | POLLOUT)),
		    "the Responder has nothing to do");
		begin(both.near, role::initiator);
		yes(!(events_of(both.near.fd()) & POLLIN), "nothing for the Initiator");
		await_events(both.far.fd(), POLLPRI | POLLIN, "the Request");
		yes(!(events_of(both.far.fd()) & POLLOUT), "no room before the answer");
		yes(!(events_of(both.near.fd()) & POLLOUT), "no room before the Reply");
		must(both.far.accept_request(), "accept");
		yes(!(events_of(both.far.fd()) & POLLPRI), "the Request is answered");
		await_events(both.near.fd(), POLLOUT, "room");
		is(err(both.near.pending_error()), 0, "SO_ERROR");
		works(both.near, both.far);
	}
}

CASE("start: Markers in each direction, as reported on both sides")
{
	for (int bits = 0; bits < 4; bits++) {
		const Row row("near asks", bits & 1, "far asks", bits >> 1);
		mpa::params near, far;

		near.markers = bits & 1;
		far.markers = bits & 2;
		Pair pair(Path::ipv4, near, far);
		const auto a = must(pair.near.info(), "info");
		const auto b = must(pair.far.info(), "info");
		is(a.rx_markers, near.markers, "near receives them");
		is(a.tx_markers, far.markers, "near sends them");
		is(b.rx_markers, far.markers, "far receives them");
		is(b.tx_markers, near.markers, "far sends them");
		yes(a.role == role::initiator && b.role == role::responder, "roles");
		yes(a.crc && b.crc, "CRCs");
		is(int(a.rev), 1, "revision");
		is(int(b.rev), 1, "revision");
		yes(a.mulpdu >= 128 && a.mulpdu <= 64768, "MULPDU");
		is(a.mulpdu, must(pair.near.mulpdu(), "MULPDU"), "MULPDU");
		works(pair.near, pair.far);
	}
}

CASE("start: CRCs are off only if both prefer so")
{
	for (int bits = 0; bits < 4; bits++) {
		const Row row("near", bits & 1, "far", bits >> 1);
		mpa::params near, far;

		near.no_crc = bits & 1;
		far.no_crc = bits & 2;
		Pair pair(Path::ipv4, near, far);
		is(must(pair.near.info(), "info").crc, bits != 3, "near");
		is(must(pair.far.info(), "info").crc, bits != 3, "far");
		works(pair.near, pair.far);
	}
}

CASE("start: private data of every size goes both ways")
{
	for (const std::size_t size : {0, 1, 2, 3, 4, 5, 255, 256, 511, 512}) {
		const Row row(size);
		Attached both;
		const auto there = pattern(size, 1), back = pattern(512 - size, 2);

		must(both.near.set_private_data(there), "private data");
		begin(both.far, role::responder);
		begin(both.near, role::initiator);
		await_request(both.far);
		auto got = must(both.far.peer_data(), "peer's data");
		yes(std::ranges::equal(got.view(), there), "of the Request");
		is(must(both.far.info(), "info").peer_data_size, size, "its size");
		must(both.far.accept_request(back), "accept");
		await_operational(both.near);
		got = must(both.near.peer_data(), "peer's data");
		yes(std::ranges::equal(got.view(), back), "of the Reply");
		is(must(both.near.info(), "info").peer_data_size, 512 - size, "its size");
	}
}

CASE("start: too much private data leaves the Request waiting")
{
	Attached both;

	begin(both.far, role::responder);
	begin(both.near, role::initiator);
	await_request(both.far);
	is(err(both.far.accept_request(pattern(513))), EMSGSIZE, "accept");
	is(err(both.far.reject_request(pattern(513))), EMSGSIZE, "reject");
	state_is(both.far, state::requested);
	must(both.far.accept_request(pattern(512)), "accept");
	await_operational(both.near);
	is(err(both.far.accept_request()), EINVAL, "a second answer");
	works(both.near, both.far);
}

CASE("start: a Responder that accepts by itself")
{
	for (const bool wait : {false, true}) {
		const Row row(wait ? "blocking" : "non-blocking");
		Attached both;
		mpa::params params;

		params.auto_accept = true;
		must(both.far.set_params(params), "parameters");
		must(both.far.set_private_data(mpa::bytes("welcome")), "private data");
		must(both.near.set_private_data(mpa::bytes("hello")), "private data");
		if (wait) {
			auto far = start_in_thread(both.far, role::responder);
			is(err(both.near.start(role::initiator)), 0, "Initiator");
			is(outcome(far), 0, "Responder");
		} else {
			begin(both.far, role::responder);
			is(err(both.near.start(role::initiator)), 0, "Initiator");
			await_operational(both.far);
			yes(!(events_of(both.far.fd()) & POLLPRI),
			    "there is nothing to answer");
		}
		state_is(both.far, state::operational);
		is(mpa::text(must(both.near.peer_data(), "data")), "welcome", "Reply");
		is(mpa::text(must(both.far.peer_data(), "data")), "hello", "Request");
		works(both.near, both.far);
	}
}

CASE("start: revision 2 exchanges Read depths")
{
	struct {
		const char *what;
		mpa::revision near, far;
		int rev;
	} const rows[] = {
		{"both 2", mpa::revision::two, mpa::revision::two, 2},
		{"Responder automatic", mpa::revision::two, mpa::revision::automatic, 2},
		{"Initiator automatic", mpa::revision::automatic, mpa::revision::two, 1},
		{"both 1", mpa::revision::one, mpa::revision::one, 1},
	};

	for (const auto &row : rows) {
		const Row name(row.what);
		mpa::params near, far;

		near.rev = row.near;
		far.rev = row.far;
		near.ird = 3, near.ord = 4;
		far.ird = 5, far.ord = 2;
		Pair pair(Path::ipv4, near, far);
		const auto a = must(pair.near.info(), "info");
		const auto b = must(pair.far.info(), "info");
		is(int(a.rev), row.rev, "revision");
		is(int(b.rev), row.rev, "revision");
		is(a.enhanced, row.rev == 2, "enhanced");
		is(b.enhanced, row.rev == 2, "enhanced");
		is(b.peer_ird, row.rev == 2 ? 3 : 0, "the Initiator's IRD");
		is(b.peer_ord, row.rev == 2 ? 4 : 0, "the Initiator's ORD");
		works(pair.near, pair.far);
	}
}

CASE("start: revision 2 leaves 508 bytes of private data")
{
	for (const std::size_t size : {507, 508, 509, 512}) {
		const Row row(size);
		Attached both;
		mpa::params params;

		params.rev = mpa::revision::two;
		must(both.near.set_params(params), "parameters");
		must(both.near.set_private_data(pattern(size)), "private data");
		begin(both.far, role::responder);
		must(both.near.set_blocking(false), "O_NONBLOCK");
		const auto started = err(both.near.start(role::initiator));
		is(started, size > 508 ? EMSGSIZE : EINPROGRESS, "start");
		if (size > 508)
			continue;
		await_request(both.far);
		is(must(both.far.peer_data(), "data").size(), size, "of the Request");
		is(err(both.far.accept_request(pattern(509))), EMSGSIZE, "Reply");
		must(both.far.accept_request(pattern(508)), "accept");
		await_operational(both.near);
		is(must(both.near.peer_data(), "data").size(), 508u, "of the Reply");
	}
}

CASE("start: a second start, and starts in the wrong state")
{
	Attached both;
	Listener plain;
	auto listener = attach(std::move(plain.fd));

	is(err(listener.start(role::initiator)), EINVAL, "Initiator that listens");
	begin(both.far, role::responder);
	is(err(both.far.start(role::responder)), EINVAL, "a second time");
	is(err(both.far.start(role::initiator)), EINVAL, "in the other role");
	state_is(both.far, state::wait_request);
}

CASE("start: not while another thread is in a call of plain TCP")
{
	Attached both;
	std::atomic<pid_t> reader{0};
	char byte;
	auto reading = std::async(std::launch::async, [&] {
		reader = ::gettid();
		return ::recv(both.near.fd(), &byte, 1, 0);
	});

	await_asleep(reader);
	is(err(both.near.start(role::initiator)), EBUSY, "a reader waits");
	is(err(both.near.start(role::responder)), EBUSY, "a reader waits");
	state_is(both.near, state::streaming);
	must_call(::send(both.far.fd(), "x", 1, 0), "send");
	is(reading.get(), 1L, "the reader's byte");

	std::atomic<bool> full{false};
	auto writing = std::async(std::launch::async, [&] {
		const auto much = pattern(1 << 16);

		for (;;) {
			if (::send(both.near.fd(), much.data(), much.size(),
				   MSG_NOSIGNAL | (full ? 0 : MSG_DONTWAIT)) < 0) {
				if (errno != EAGAIN)
					return errno;
				full = true;
			}
		}
	});
	await([&] { return full && !(events_of(both.near.fd()) & POLLOUT); },
	      "a full send buffer");
	await([&] {
		return err(both.near.start(role::responder)) == Err{EBUSY};
	}, "a writer that waits");
	must_call(::shutdown(both.near.fd(), SHUT_RDWR), "shutdown");
	is(Err{writing.get()}, EPIPE, "the writer");
}

CASE("start: an Initiator must have read all earlier data")
{
	WithWire pair;

	pair.wire.send(mpa::bytes("unread"));
	await_events(pair.ours.fd(), POLLIN, "bytes");
	is(err(pair.ours.start(role::initiator)), EPROTO, "start");
	state_is(pair.ours, state::failed);
	// The Request may have been sent.
	await_events(pair.wire.fd(), POLLRDHUP, "the end");
}

CASE("start: a signal interrupts the wait, not the exchange")
{
	struct sigaction action{};

	action.sa_handler = [](int) {};
	must_call(::sigaction(SIGUSR1, &action, nullptr), "sigaction");
	for (const auto as : {role::initiator, role::responder}) {
		const Row row(as == role::initiator ? "Initiator" : "Responder");
		WithWire pair;
		std::atomic<pthread_t> thread{0};
		auto started = std::async(std::launch::async, [&] {
			thread = ::pthread_self();
			return err(pair.ours.start(as));
		});

		await([&] { return thread && must(pair.ours.info(), "info").state !=
						     state::streaming; }, "the start");
		while (started.wait_for(std::chrono::milliseconds(20)) !=
		       std::future_status::ready)
			::pthread_kill(thread, SIGUSR1);
		is(started.get(), EINTR, "start");
		if (as == role::initiator) {
			pair.wire.read_frame();
			pair.wire.send(reply());
			await_events(pair.ours.fd(), POLLOUT, "the exchange goes on");
		} else {
			pair.wire.send(request());
			await_request(pair.ours);
			must(pair.ours.accept_request(), "accept");
		}
		is(err(pair.ours.pending_error()), 0, "SO_ERROR");
		state_is(pair.ours, state::operational);
	}
}

// --- rejecting ------------------------------------------------------------------

void plain_both_ways(int a, int b)
{
	char text[8] = "";

	for (const auto &[from, to] : {std::pair(a, b), std::pair(b, a)}) {
		is(must_call(::send(from, "plain", 5, 0), "send"), 5L, "sent");
		await_events(to, POLLIN, "bytes");
		is(must_call(::recv(to, text, 2, 0), "recv"), 2L, "a part");
		is(must_call(::recv(to, text + 2, 6, 0), "recv"), 3L, "the rest");
		is(std::string_view(text, 5), "plain", "bytes");
	}
}

CASE("reject: both sides are plain TCP again")
{
	for (const bool wait : {false, true}) {
		const Row row(wait ? "blocking" : "non-blocking");
		Attached both;
		std::future<Err> near;

		must(both.near.set_private_data(mpa::bytes("please")), "data");
		begin(both.far, role::responder);
		if (wait)
			near = start_in_thread(both.near, role::initiator);
		else
			begin(both.near, role::initiator);
		await_request(both.far);
		must(both.far.reject_request(mpa::bytes("no, thanks")), "reject");
		state_is(both.far, state::rejected);
		if (wait) {
			is(outcome(near), ECONNREFUSED, "start");
		} else {
			await_events(both.near.fd(), POLLERR, "the refusal");
			is(err(both.near.pending_error()), ECONNREFUSED, "SO_ERROR");
		}
		state_is(both.near, state::rejected);
		is(mpa::text(must(both.near.peer_data(), "data")), "no, thanks",
		   "of the Reply");
		is(mpa::text(must(both.far.peer_data(), "data")), "please",
		   "of the Request");
		must(both.near.set_blocking(true), "blocking");
		must(both.far.set_blocking(true), "blocking");
		plain_both_ways(both.near.fd(), both.far.fd());
		must(both.near.shutdown(), "shutdown");
		await_events(both.far.fd(), POLLRDHUP | POLLIN, "the end");
	}
}

// Settings that a stream requires to be different.
struct Settings {
	int nodelay, rcvlowat, recverr, rcvbuf;

	bool operator==(const Settings &) const = default;
	friend std::ostream &operator<<(std::ostream &out, const Settings &one)
	{
		return out << "TCP_NODELAY " << one.nodelay << ", SO_RCVLOWAT "
			   << one.rcvlowat << ", RECVERR " << one.recverr
			   << ", SO_RCVBUF " << one.rcvbuf;
	}
};

int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	must_call(::getsockopt(fd, level, name, &value, &size), "getsockopt");
	return value;
}

void set_option(int fd, int level, int name, int value)
{
	must_call(::setsockopt(fd, level, name, &value, sizeof(value)), "setsockopt");
}

Settings settings_of(int fd, Path path)
{
	const bool v6 = path == Path::ipv6;

	return {option(fd, SOL_TCP, TCP_NODELAY), option(fd, SOL_SOCKET, SO_RCVLOWAT),
		option(fd, v6 ? SOL_IPV6 : SOL_IP, v6 ? IPV6_RECVERR : IP_RECVERR),
		option(fd, SOL_SOCKET, SO_RCVBUF)};
}

void change_settings(int fd, Path path)
{
	const bool v6 = path == Path::ipv6;

	set_option(fd, SOL_SOCKET, SO_RCVLOWAT, 7);
	set_option(fd, v6 ? SOL_IPV6 : SOL_IP, v6 ? IPV6_RECVERR : IP_RECVERR, 1);
}

CASE("reject: the sockets have the settings they had")
{
	for (const auto path : paths) {
		const Row row(path);
		Tcp tcp(path);
		Settings near, far;

		change_settings(tcp.near.get(), path);
		near = settings_of(tcp.near.get(), path);
		is(near.rcvlowat, 7, "SO_RCVLOWAT");
		is(near.recverr, 1, "RECVERR");
		Attached both(std::move(tcp.near), std::move(tcp.far));
		is(settings_of(both.near.fd(), path), near, "near, attached");
		// Still plain TCP.
		change_settings(both.far.fd(), path);
		far = settings_of(both.far.fd(), path);
		begin(both.far, role::responder);
		begin(both.near, role::initiator);
		for (const int fd : {both.near.fd(), both.far.fd()}) {
			const Settings now = settings_of(fd, path);

			is(now.nodelay, 1, "TCP_NODELAY of a stream");
			is(now.recverr, 0, "RECVERR of a stream");
		}
		await_request(both.far);
		must(both.far.reject_request(), "reject");
		await_events(both.near.fd(), POLLERR, "the refusal");
		is(settings_of(both.near.fd(), path), near, "near, rejected");
		is(settings_of(both.far.fd(), path), far, "far, rejected");
		change_settings(both.near.fd(), path);
	}
}

CASE("reject: what was set during startup holds")
{
	const Row row(Path::ipv4);
	Tcp tcp(Path::ipv4);

	change_settings(tcp.near.get(), Path::ipv4);
	Attached both(std::move(tcp.near), std::move(tcp.far));
	begin(both.far, role::responder);
	begin(both.near, role::initiator);
	set_option(both.near.fd(), SOL_TCP, TCP_NODELAY, 0);
	is(option(both.near.fd(), SOL_TCP, TCP_NODELAY), 1, "of a stream");
	set_option(both.near.fd(), SOL_TCP, TCP_NODELAY, 1);
	set_option(both.far.fd(), SOL_TCP, TCP_NODELAY, 0);
	set_option(both.near.fd(), SOL_TCP, TCP_WINDOW_CLAMP, 9000);
	set_option(both.near.fd(), SOL_SOCKET, SO_RCVLOWAT, 5);
	is(option(both.near.fd(), SOL_SOCKET, SO_RCVLOWAT), 1, "of a stream");
	await_request(both.far);
	must(both.far.reject_request(), "reject");
	await_events(both.near.fd(), POLLERR, "the refusal");
	is(option(both.near.fd(), SOL_TCP, TCP_NODELAY), 1, "TCP_NODELAY");
	is(option(both.near.fd(), SOL_TCP, TCP_WINDOW_CLAMP), 9000, "TCP_WINDOW_CLAMP");
	is(option(both.near.fd(), SOL_SOCKET, SO_RCVLOWAT), 5, "SO_RCVLOWAT");
	is(option(both.far.fd(), SOL_TCP, TCP_NODELAY), 0, "TCP_NODELAY of the other");
}

CASE("reject: a failed start leaves the settings unchanged")
{
	Tcp tcp;

	change_settings(tcp.near.get(), Path::ipv4);
	const Settings before = settings_of(tcp.near.get(), Path::ipv4);
	mpa::socket near = attach(std::move(tcp.near));
	// Revision 2 has no room for that.
	must(near.set_params({.rev = mpa::revision::two}), "parameters");
	must(near.set_private_data(pattern(512)), "private data");
	is(err(near.start(role::initiator)), EMSGSIZE, "start");
	state_is(near, state::streaming);
	is(settings_of(near.fd(), Path::ipv4), before, "settings");
}

CASE("start: the receive buffer respects the administrator's limit")
{
	const auto limit = [](const std::string &text) {
		const Inside inside(1);
		const descriptor file(::open("/proc/sys/net/ipv4/tcp_rmem", O_RDWR));
		std::array<char, 64> before{};

		must_call(::read(file.get(), before.data(), 60), "tcp_rmem");
		must_call(::pwrite(file.get(), text.data(), text.size(), 0), "tcp_rmem");
		return std::string(before.data());
	};
	const std::string before = limit("4096 16384 49152");
	Attached both;

	begin(both.near, role::initiator);
	const int buffer = option(both.near.fd(), SOL_SOCKET, SO_RCVBUF);
	limit(before);
	is(buffer, 49152, "SO_RCVBUF");
	// The Request may have arrived already, or not yet.
	if (const auto started = both.far.start(role::responder); !started)
		yes(started.error() == std::errc::operation_in_progress, "start");
	await_request(both.far);
	must(both.far.accept_request(), "accept");
	await_operational(both.near);
	works(both.near, both.far);
	is(option(both.far.fd(), SOL_SOCKET, SO_RCVBUF) > 131072, true,
	   "the other buffer was raised");
}

CASE("reject: nothing is lost of what followed the Reply")
{
	for (const std::size_t size : {0, 1, 20, 512}) {
		const Row row(size);
		WithWire pair;
		const auto data = pattern(size);

		begin(pair.ours, role::initiator);
		pair.wire.read_frame();
		pair.wire.send(reply(flag_crc | flag_reject, 1, data) +
			       mpa::bytes("behind it"));
		await_events(pair.ours.fd(), POLLERR | POLLIN, "the refusal");
		is(err(pair.ours.pending_error()), ECONNREFUSED, "SO_ERROR");
		char text[16] = "";
		is(must_call(::recv(pair.ours.fd(), text, 16, 0), "recv"), 9L, "length");
		is(std::string(text), "behind it", "bytes");
		plain_both_ways(pair.ours.fd(), pair.wire.fd());
	}
}

CASE("reject: nothing is lost of what followed the Request")
{
	WithWire pair;
	char text[16] = "";

	begin(pair.ours, role::responder);
	pair.wire.send(request(flag_crc, 1, mpa::bytes("data")) +
		       mpa::bytes("behind it"));
	await_request(pair.ours);
	must(pair.ours.reject_request(mpa::bytes("no")), "reject");
	const auto [head, data] = pair.wire.read_frame();
	is(std::to_integer<int>(head[16]) & flag_reject, int(flag_reject), "R bit");
	is(mpa::text(data), "no", "private data");
	await_events(pair.ours.fd(), POLLIN, "what followed");
	is(must_call(::recv(pair.ours.fd(), text, 16, 0), "recv"), 9L, "length");
	is(std::string(text), "behind it", "bytes");
	plain_both_ways(pair.ours.fd(), pair.wire.fd());
}

// --- failing ----------------------------------------------------------------------

struct Improper {
	const char *what;
	Bytes frame;
	int error;
};

Bytes with_key(std::string_view key)
{
	return Bytes{} + mpa::bytes(key) + pattern(4) + pattern(60);
}

CASE("fail: improper Replies")
{
	const Improper rows[] = {
		{"another key", with_key("MPA ID Rep Fraud"), EPROTO},
		{"plain text", with_key("HTTP/1.1 400 Bad"), EPROTO},
		{"a Request", request(), EALREADY},
		{"revision 3", reply(flag_crc, 3), EPROTONOSUPPORT},
		{"revision 255", reply(flag_crc, 255), EPROTONOSUPPORT},
		{"513 bytes of data", reply(flag_crc, 1, pattern(513)), EMSGSIZE},
		{"65535 bytes of data", reply(flag_crc, 1, pattern(100), 65535),
		 EMSGSIZE},
	};

	for (const auto &row : rows) {
		const Row name(row.what);
		WithWire waiting, polling;

		begin(polling.ours, role::initiator);
		polling.wire.read_frame();
		polling.wire.send(row.frame);
		expect_failed(polling.ours, row.error);
		polling.wire.expect_end();

		auto started = start_in_thread(waiting.ours, role::initiator);
		waiting.wire.read_frame();
		waiting.wire.send(row.frame);
		is(outcome(started), row.error, "blocking start");
		state_is(waiting.ours, state::failed);
		waiting.wire.expect_end();
	}
}

CASE("fail: improper Requests")
{
	const Improper rows[] = {
		{"another key", with_key("MPA ID Req Fraud"), EPROTO},
		{"plain text", with_key("GET / HTTP/1.1\r\n"), EPROTO},
		{"a Reply", reply(), EPROTO},
		{"revision 3", request(flag_crc, 3), EPROTONOSUPPORT},
		{"513 bytes of data", request(flag_crc, 1, pattern(513)), EMSGSIZE},
		{"65535 bytes of data", request(flag_crc, 1, pattern(9), 65535),
		 EMSGSIZE},
	};

	for (const auto &row : rows) {
		const Row name(row.what);
		WithWire waiting, polling;

		begin(polling.ours, role::responder);
		polling.wire.send(row.frame);
		expect_failed(polling.ours, row.error);
		polling.wire.expect_end();

		auto started = start_in_thread(waiting.ours, role::responder);
		waiting.wire.send(row.frame);
		is(outcome(started), row.error, "blocking start");
		state_is(waiting.ours, state::failed);
		waiting.wire.expect_end();
	}
}

CASE("fail: the peer resets or ends at any byte of its frame")
{
	for (const auto as : {role::initiator, role::responder}) {
		const auto frame = as == role::initiator
					   ? reply(flag_crc, 1, pattern(8))
					   : request(flag_crc, 1, pattern(8));

		for (const std::size_t cut : {0, 1, 15, 16, 19, 20, 21, 27}) {
			for (const bool reset : {false, true}) {
				const Row row(as == role::initiator ? "Initiator"
								    : "Responder",
					      cut, reset ? "RST" : "FIN");
				WithWire pair;

				begin(pair.ours, as);
				if (as == role::initiator)
					pair.wire.read_frame();
				pair.wire.send(mpa::const_buffer(frame).first(cut));
				if (reset)
					pair.wire.reset();
				else
					pair.wire.fin();
				expect_failed(pair.ours, ECONNRESET);
			}
		}
	}
}

CASE("fail: a frame that does not come in time")
{
	using namespace std::chrono_literals;

	for (const auto as : {role::initiator, role::responder}) {
		const auto frame = as == role::initiator
					   ? reply(flag_crc, 1, pattern(1))
					   : request(flag_crc, 1, pattern(1));

		for (const std::size_t sent : {0, 10, 20}) {
			const Row row(as == role::initiator ? "Initiator"
							    : "Responder", sent);
			WithWire pair;
			mpa::params params;
			const auto began = std::chrono::steady_clock::now();

			params.timeout = 1000ms;
			must(pair.ours.set_params(params), "parameters");
			begin(pair.ours, as);
			if (as == role::initiator)
				pair.wire.read_frame();
			pair.wire.send(mpa::const_buffer(frame).first(sent));
			expect_failed(pair.ours, ETIMEDOUT);
			yes(std::chrono::steady_clock::now() - began >= 990ms,
			    "not too early");
			pair.wire.expect_end();
		}
		WithWire waiting;
		mpa::params params;

		params.timeout = 1ms;
		must(waiting.ours.set_params(params), "parameters");
		is(err(waiting.ours.start(as)), ETIMEDOUT, "blocking start");
		state_is(waiting.ours, state::failed);
	}
}

CASE("fail: both sides are Initiators")
{
	Attached both;

	begin(both.near, role::initiator);
	await([&] {
		must(both.far.set_blocking(false), "O_NONBLOCK");
		const auto got = err(both.far.start(role::initiator));
		// The other side's Request may have arrived earlier, as unread
		// bytes.
		return got == Err{EINPROGRESS} || got == Err{EPROTO} ||
		       got == Err{EALREADY};
	}, "both start");
	await_events(both.near.fd(), POLLERR | POLLHUP, "failure");
	const auto got = err(both.near.pending_error());
	yes(got == Err{EALREADY} || got == Err{ECONNRESET}, "near's error");
}

CASE("fail: the peer has gone before the answer")
{
	for (const bool reject : {false, true}) {
		const Row row(reject ? "reject" : "accept");
		WithWire pair;

		begin(pair.ours, role::responder);
		pair.wire.send(request());
		await_request(pair.ours);
		pair.wire.reset();
		await_events(pair.ours.fd(), POLLHUP, "RST");
		is(err(reject ? pair.ours.reject_request()
			      : pair.ours.accept_request()),
		   ECONNRESET, "answer");
	}
}

// --- sending and receiving around it ------------------------------------------------

CASE("early: sends wait for full operation")
{
	WithWire pair;

	begin(pair.ours, role::initiator);
	is(err(pair.ours.send(mpa::bytes("x"))), EAGAIN, "without waiting");
	std::byte byte;
	is(err(pair.ours.receive({&byte, 1})), EAGAIN, "receive");
	must(pair.ours.set_blocking(true), "blocking");
	auto sent = std::async(std::launch::async, [&] {
		return err(pair.ours.send(mpa::bytes("early")));
	});
	yes(sent.wait_for(moment) == std::future_status::timeout, "it waits");
	pair.wire.read_frame();
	pair.wire.send(reply());
	is(outcome(sent), 0, "send");
	is(mpa::text(pair.wire.read_fpdu()), "early", "bytes");
}

CASE("early: nothing can be sent while a Request waits for the answer")
{
	WithWire pair;
	std::byte byte;

	begin(pair.ours, role::responder);
	is(err(pair.ours.send(mpa::bytes("x"))), EAGAIN, "before the Request");
	pair.wire.send(request());
	await_request(pair.ours);
	must(pair.ours.set_blocking(true), "blocking");
	is(err(pair.ours.send(mpa::bytes("x"))), ENOTCONN, "send");
	is(err(pair.ours.receive({&byte, 1})), ENOTCONN, "receive");
}

CASE("early: a Responder waits for the first FPDU")
{
	Running running(role::responder);

	is(err(running.ours.send(mpa::bytes("x"), mpa::send_flags::dont_wait)),
	   EAGAIN, "without waiting");
	yes(!(events_of(running.ours.fd()) & POLLOUT), "no room");
	auto sent = std::async(std::launch::async, [&] {
		return err(running.ours.send(mpa::bytes("late")));
	});
	yes(sent.wait_for(moment) == std::future_status::timeout, "it waits");
	running.wire.send(fpdu({}));
	is(outcome(sent), 0, "send");
	is(mpa::text(running.wire.read_fpdu()), "late", "bytes");
	expect_ulpdu(running.ours, {});
	await_events(running.ours.fd(), POLLOUT, "room");
}

// RFC 5044 section 7.1.2 rule 4 lets a Responder send only after our first FPDU.
CASE("early: data right after the Reply is kept, and counted")
{
	WithWire pair;

	begin(pair.ours, role::initiator);
	pair.wire.read_frame();
	pair.wire.send(reply(flag_crc, 1, mpa::bytes("data")) +
		       fpdu(mpa::bytes("one")) + fpdu(mpa::bytes("two")));
	expect_ulpdu(pair.ours, mpa::bytes("one"));
	expect_ulpdu(pair.ours, mpa::bytes("two"));
	is(must(pair.ours.stats(), "counts").rx_too_soon, 2u, "too soon");
	must(pair.ours.send(mpa::bytes("first")), "send");
	is(mpa::text(pair.wire.read_fpdu()), "first", "bytes");
	pair.wire.send(fpdu(mpa::bytes("three")));
	expect_ulpdu(pair.ours, mpa::bytes("three"));
	is(must(pair.ours.stats(), "counts").rx_too_soon, 2u, "too soon, later");
}

// Rule 2: no data is allowed yet, whether the application answers or the
// kernel.
CASE("early: data right after the Request is an error")
{
	for (const bool automatic : {false, true}) {
		for (const Bytes &more :
		     {Bytes{} + mpa::bytes("x"), fpdu(mpa::bytes("eager"))}) {
			const Row row(automatic, more.size());
			WithWire pair;
			mpa::params params;

			params.auto_accept = automatic;
			must(pair.ours.set_params(params), "params");
			begin(pair.ours, role::responder);
			pair.wire.send(request() + more);
			if (!automatic) {
				await_request(pair.ours);
				is(err(pair.ours.accept_request()), EPROTO,
				   "accept");
			}
			expect_failed(pair.ours, EPROTO);
			// There is no Reply.
			pair.wire.expect_end();
		}
	}
}

CASE("early: the Request may come before the start")
{
	WithWire pair;

	pair.wire.send(request(flag_crc, 1, mpa::bytes("early")));
	await_events(pair.ours.fd(), POLLIN, "bytes");
	must(pair.ours.start(role::responder), "start");
	is(mpa::text(must(pair.ours.peer_data(), "data")), "early", "private data");
	must(pair.ours.accept_request(), "accept");
	pair.wire.read_frame();
}

CASE("early: the last message of streaming mode leaves first")
{
	for (const std::size_t size : {1, 100, 4096}) {
		const Row row(size);
		WithWire pair;
		const auto last = pattern(size);

		must_call(::send(pair.ours.fd(), "now ", 4, 0), "streaming");
		must(pair.ours.set_last_message(last), "last message");
		begin(pair.ours, role::responder);
		is(mpa::text(pair.wire.read(4)), "now ", "what was written before");
		yes(pair.wire.read(size) == last, "the last message");
		pair.wire.send(request());
		await_request(pair.ours);
		must(pair.ours.accept_request(), "accept");
		pair.wire.read_frame();
		pair.wire.send(fpdu(mpa::bytes("go")));
		expect_ulpdu(pair.ours, mpa::bytes("go"));
	}
}

// --- listening sockets ----------------------------------------------------------------

struct Server {
	explicit Server(Path path = Path::ipv4) : plain(path)
	{
		socket = attach(descriptor(::fcntl(plain.fd.get(), F_DUPFD_CLOEXEC, 0)));
	}

	mpa::socket next()
	{
		return must(socket.accept_connection(), "accept");
	}

	Listener plain;
	mpa::socket socket;
};

CASE("listen: accepted sockets inherit everything and start by themselves")
{
	for (const auto path : {Path::ipv4, Path::ipv6, Path::loopback}) {
		const Row row(path);
		Server server(path);
		mpa::params params;

		params.markers = true;
		params.timeout = patience;
		must(server.socket.set_params(params), "parameters");
		must(server.socket.set_private_data(mpa::bytes("all")), "data");
		must(server.socket.set_packing(true), "packing");
		must(server.socket.start(role::responder), "start");
		state_is(server.socket, state::listening);
		auto near = attach(connect_to(server.plain));
		auto far = server.next();
		state_is(far, state::wait_request);
		yes(must(far.params(), "parameters") == params, "parameters");
		is(mpa::text(must(far.private_data(), "data")), "all", "private data");
		yes(must(far.packing(), "packing"), "packing");
		begin(near, role::initiator);
		await_request(far);
		must(far.accept_request(), "accept");
		await_operational(near);
		yes(must(near.info(), "info").tx_markers, "they asked for Markers");
		works(near, far);
	}
}

CASE("listen: accepted by itself")
{
	Server server;
	mpa::params params;

	params.auto_accept = true;
	must(server.socket.set_params(params), "parameters");
	must(server.socket.set_private_data(mpa::bytes("welcome")), "data");
	must(server.socket.start(role::responder), "start");
	auto near = attach(connect_to(server.plain));
	// Not accept(2)ed yet: the Request waits in the queue.
	begin(near, role::initiator);
	auto far = server.next();
	await_operational(near);
	is(mpa::text(must(near.peer_data(), "data")), "welcome", "private data");
	works(near, far);
}

CASE("listen: connections made before the start are in streaming mode")
{
	Server server;

	must(server.socket.set_private_data(mpa::bytes("all")), "data");
	auto near = connect_to(server.plain);
	auto far = server.next();
	state_is(far, state::streaming);
	is(mpa::text(must(far.private_data(), "data")), "all", "private data");
	plain_both_ways(near.get(), far.fd());
}

CASE("listen: the start applies by the time of accept, not of the connection")
{
	for (const bool asked : {false, true}) {
		const Row row(asked ? "with its Request" : "without a Request");
		Listener plain;
		auto near = attach(connect_to(plain));

		if (asked)
			begin(near, role::initiator);
		await_events(plain.fd.get(), POLLIN, "a connection");
		auto socket = attach(descriptor(
			::fcntl(plain.fd.get(), F_DUPFD_CLOEXEC, 0)));
		must(socket.start(role::responder), "start");
		auto far = must(socket.accept_connection(), "accept");
		if (!asked)
			begin(near, role::initiator);
		await_request(far);
		must(far.accept_request(), "accept");
		await_operational(near);
		works(near, far);
	}
}

CASE("listen: a plain peer, a silent one and one that has gone")
{
	Server server;
	mpa::params params;

	params.timeout = patience;
	must(server.socket.set_params(params), "parameters");
	must(server.socket.start(role::responder), "start");
	Wire plain(connect_to(server.plain));
	auto first = server.next();
	plain.send(mpa::bytes("GET / HTTP/1.1\r\n\r\n and more"));
	expect_failed(first, EPROTO);
	plain.expect_end();

	params.timeout = std::chrono::milliseconds(300);
	must(server.socket.set_params(params), "parameters");
	Wire silent(connect_to(server.plain));
	auto second = server.next();
	expect_failed(second, ETIMEDOUT);
	silent.expect_end();

	Wire gone(connect_to(server.plain));
	gone.reset();
	must(server.socket.set_blocking(false), "O_NONBLOCK");
	await([&] {
		auto third = server.socket.accept_connection();
		if (!third)
			return third.error() == std::errc::resource_unavailable_try_again;
		// TCP had ended before MPA began.
		await_events(third->fd(), POLLHUP, "its end");
		return true;
	}, "the one that has gone");
}

CASE("listen: a former listener that is connected now does not start")
{
	Server server;
	const Listener other;
	const int fd = server.socket.fd();

	must(server.socket.start(role::responder), "start");
	must_call(::shutdown(fd, SHUT_RDWR), "shutdown");
	must(server.socket.start(role::responder), "start of what may listen again");
	state_is(server.socket, state::listening);
	auto address = other.address;
	must_call(::connect(fd, address.generic(), address.size), "connect");
	const descriptor peer = accept_from(other);
	state_is(server.socket, state::streaming);
	is(err(server.socket.start(role::responder)), EINVAL, "start as Responder");
	is(err(server.socket.start(role::initiator)), EINVAL, "start as Initiator");
	plain_both_ways(fd, peer.get());
}

CASE("listen: many at once, and those never accepted")
{
	Server server;
	mpa::params params;
	std::vector<mpa::socket> near, far;

	params.auto_accept = true;
	must(server.socket.set_params(params), "parameters");
	must(server.socket.start(role::responder), "start");
	for (int n = 0; n < 40; n++) {
		near.push_back(attach(connect_to(server.plain)));
		begin(near.back(), role::initiator);
	}
	for (int n = 0; n < 30; n++)
		far.push_back(server.next());
	for (int n = 0; n < 30; n++) {
		await_operational(near[n]);
		works(near[n], far[n]);
	}
	// Ten stay in the queue and are closed with it.
	server.socket.close();
	server.plain.fd.reset();
	for (int n = 30; n < 40; n++)
		await_events(near[n].fd(), POLLHUP, "the end of the unaccepted");
}

} // namespace
