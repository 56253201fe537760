// SPDX-License-Identifier: GPL-2.0-only
//
// Readiness: epoll, level and edge triggered, at every step; select(2); SIGIO; io_uring.
#include "net.hpp"
#include "trap.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <liburing.h>

using namespace harness;
using namespace net;

namespace {

using mpa::role;

class Epoll {
public:
	void add(int fd, std::uint32_t events)
	{
		epoll_event event{.events = events, .data = {.fd = fd}};

		must_call(::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
	}

	// Events of the single descriptor within the time; 0: none.
	std::uint32_t wait(std::chrono::milliseconds limit = patience)
	{
		epoll_event event{};

		return must_call(::epoll_wait(fd_.get(), &event, 1,
					      static_cast<int>(limit.count())),
				 "epoll_wait") ? event.events : 0;
	}

	std::uint32_t now() { return wait(std::chrono::milliseconds(0)); }

	// Waits until edges brought these events; they may come one after the
	// other.
	void expect(std::uint32_t wanted, const std::string &what,
		    std::source_location at = std::source_location::current())
	{
		std::uint32_t seen = 0;

		while ((seen & wanted) != wanted) {
			const auto events = wait();

			if (!events)
				fail("no edge: " + what, at);
			seen |= events;
		}
	}

private:
	descriptor fd_{::epoll_create1(EPOLL_CLOEXEC)};
};

// Reads until it is stopped.
std::jthread reads_all(int fd)
{
	return std::jthread([fd](std::stop_token stop) {
		std::array<char, 16384> room;

		while (!stop.stop_requested())
			if (::recv(fd, room.data(), room.size(), MSG_DONTWAIT) < 0)
				::poll(nullptr, 0, 2);
	});
}

constexpr std::uint32_t all = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP;

CASE("epoll: edges of a Responder, from the start to the end")
{
	WithWire pair;
	Epoll epoll;
	const auto frame = request();

	must(pair.ours.set_blocking(false), "O_NONBLOCK");
	epoll.add(pair.ours.fd(), all | EPOLLET);
	epoll.now();
	is(err(pair.ours.start(role::responder)), EINPROGRESS, "start");
	epoll.now();
	pair.wire.send(mpa::const_buffer(frame).first(10));
	is(epoll.wait(moment) & (EPOLLIN | EPOLLPRI), 0u, "half a Request");
	pair.wire.send(mpa::const_buffer(frame).subspan(10));
	epoll.expect(EPOLLIN | EPOLLPRI, "the Request");
	must(pair.ours.accept_request(), "accept");
	epoll.now();
	pair.wire.send(fpdu(mpa::bytes("one")));
	epoll.expect(EPOLLIN | EPOLLOUT, "the first ULPDU");
	expect_ulpdu(pair.ours, mpa::bytes("one"));
	is(epoll.now() & EPOLLIN, 0u, "all was read");
	pair.wire.send(fpdu(mpa::bytes("two")));
	epoll.expect(EPOLLIN, "another ULPDU");
	expect_ulpdu(pair.ours, mpa::bytes("two"));
	epoll.now();
	pair.wire.fin();
	epoll.expect(EPOLLIN | EPOLLRDHUP, "the end");
	expect_end(pair.ours);
	must(pair.ours.shutdown(), "shutdown");
	epoll.expect(EPOLLHUP, "the whole end");
}

CASE("epoll: edges of an Initiator")
{
	WithWire pair;
	Epoll epoll;

	must(pair.ours.set_blocking(false), "O_NONBLOCK");
	epoll.add(pair.ours.fd(), all | EPOLLET);
	epoll.now();
	is(err(pair.ours.start(role::initiator)), EINPROGRESS, "start");
	epoll.now();
	is(epoll.wait(moment), 0u, "edges before the Reply");
	pair.wire.read_frame();
	pair.wire.send(reply());
	epoll.expect(EPOLLOUT, "full operation");
	const auto bytes = pattern(1000);
	await([&] {
		while (pair.ours.send(bytes))
			;
		return epoll.wait(moment) == 0;
	}, "no room after sending for a while");
	auto reading = reads_all(pair.wire.fd());
	epoll.expect(EPOLLOUT, "room again");
	must(pair.ours.send(bytes), "send");
}

CASE("epoll: edges of refusal, failure and reset")
{
	for (const bool refused : {true, false}) {
		const Row row(refused ? "refused" : "failed");
		WithWire pair;
		Epoll epoll;

		epoll.add(pair.ours.fd(), all | EPOLLET);
		begin(pair.ours, role::initiator);
		epoll.now();
		pair.wire.read_frame();
		pair.wire.send(refused ? reply(flag_crc | flag_reject) : pattern(64));
		epoll.expect(refused ? EPOLLERR : EPOLLERR | EPOLLHUP, "the result");
		is(err(pair.ours.pending_error()), refused ? ECONNREFUSED : EPROTO,
		   "SO_ERROR");
	}
	Running running(role::responder);
	Epoll epoll;
	epoll.add(running.ours.fd(), all | EPOLLET);
	epoll.now();
	running.wire.reset();
	epoll.expect(EPOLLHUP | EPOLLERR | EPOLLIN, "RST");
}

CASE("epoll: a level lasts until the event is handled")
{
	Pair pair;
	Epoll epoll;
	std::byte byte;

	epoll.add(pair.far.fd(), EPOLLIN);
	is(epoll.now(), 0u, "nothing");
	for (int n = 0; n < 3; n++)
		must(pair.near.send(pattern(3)), "send");
	for (int n = 0; n < 3; n++) {
		is(epoll.wait(), std::uint32_t{EPOLLIN}, "a ULPDU");
		is(epoll.wait(), std::uint32_t{EPOLLIN}, "it is still there");
		// Receiving a part consumes the whole ULPDU.
		must(pair.far.receive({&byte, 1}), "receive");
	}
	is(epoll.now(), 0u, "nothing is left");
}

CASE("epoll: one shot is one")
{
	Pair pair;
	Epoll epoll;

	epoll.add(pair.far.fd(), EPOLLIN | EPOLLONESHOT);
	must(pair.near.send(mpa::bytes("x")), "send");
	is(epoll.wait(), std::uint32_t{EPOLLIN}, "a ULPDU");
	is(epoll.wait(moment), 0u, "a second time");
}

CASE("epoll: a ULPDU in pieces is ready when it is complete")
{
	Running running(role::responder);
	Epoll epoll;
	const auto bytes = pattern(5000);
	const auto frame = fpdu(bytes);

	epoll.add(running.ours.fd(), EPOLLIN);
	for (std::size_t at = 0; at < frame.size(); at += 999) {
		is(epoll.wait(std::chrono::milliseconds(30)), 0u, "not whole");
		is(must(running.ours.next_length(), "FIONREAD"), 0u, "none is there");
		running.wire.send(mpa::const_buffer(frame).subspan(
			at, std::min<std::size_t>(999, frame.size() - at)));
	}
	is(epoll.wait(), std::uint32_t{EPOLLIN}, "whole");
	expect_ulpdu(running.ours, bytes);
}

CASE("select: readable, writable and exceptional")
{
	WithWire pair;
	const auto ready = [&](int which) {
		fd_set set;
		timeval none{};

		FD_ZERO(&set);
		FD_SET(pair.ours.fd(), &set);
		return must_call(::select(pair.ours.fd() + 1, which == 0 ? &set : nullptr,
					  which == 1 ? &set : nullptr,
					  which == 2 ? &set : nullptr, &none),
				 "select") == 1;
	};

	begin(pair.ours, role::responder);
	yes(!ready(0) && !ready(1) && !ready(2), "nothing");
	pair.wire.send(request());
	await([&] { return ready(0) && ready(2); }, "a Request");
	yes(!ready(1), "no room");
	must(pair.ours.accept_request(), "accept");
	yes(!ready(0) && !ready(2), "answered");
	pair.wire.send(fpdu({}));
	await([&] { return ready(0) && ready(1); }, "a ULPDU, and room");
}

// --- signals --------------------------------------------------------------------

// SIGIO of a socket, to this thread, which has blocked it.
class Signals {
public:
	explicit Signals(int fd) : fd_(fd)
	{
		const f_owner_ex owner{F_OWNER_TID, ::gettid()};

		::sigaddset(&set_, SIGIO);
		::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
		must_call(::fcntl(fd, F_SETOWN_EX, &owner), "F_SETOWN_EX");
		must_call(::fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK), "O_ASYNC");
	}

	~Signals()
	{
		::fcntl(fd_, F_SETFL, O_NONBLOCK);
		forget();
		::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
	}

	Signals(const Signals &) = delete;
	Signals &operator=(const Signals &) = delete;

	bool comes(std::chrono::milliseconds limit = patience)
	{
		const timespec time{limit.count() / 1000, limit.count() % 1000 * 1000000};

		return ::sigtimedwait(&set_, nullptr, &time) == SIGIO;
	}

	void forget()
	{
		while (comes(std::chrono::milliseconds(0)))
			;
	}

private:
	int fd_;
	sigset_t set_{};
};

CASE("SIGIO: a Responder, from the Request to a bad FPDU")
{
	WithWire pair;
	Signals signals(pair.ours.fd());
	const auto bytes = pattern(1000);
	auto bad = fpdu(bytes);

	is(err(pair.ours.start(role::responder)), EINPROGRESS, "start");
	signals.forget();
	pair.wire.send(request());
	yes(signals.comes(), "the Request");
	must(pair.ours.accept_request(), "accept");
	signals.forget();
	pair.wire.send(fpdu(mpa::bytes("one")));
	yes(signals.comes(), "the first ULPDU");
	expect_ulpdu(pair.ours, mpa::bytes("one"));
	await([&] {
		while (pair.ours.send(bytes))
			;
		signals.forget();
		return !signals.comes(moment);
	}, "no room after sending for a while");
	auto reading = reads_all(pair.wire.fd());
	yes(signals.comes(), "room again");
	reading.request_stop();
	reading.join();
	while (signals.comes(moment))
		;
	bad.back() ^= std::byte{1};
	pair.wire.send(bad);
	yes(signals.comes(), "a bad CRC");
}

CASE("SIGIO: an Initiator in full operation")
{
	WithWire pair;
	Signals signals(pair.ours.fd());

	is(err(pair.ours.start(role::initiator)), EINPROGRESS, "start");
	pair.wire.read_frame();
	yes(!signals.comes(moment), "before the Reply");
	pair.wire.send(reply());
	yes(signals.comes(), "full operation");
}

// --- io_uring -------------------------------------------------------------------

class Ring {
public:
	Ring() { is(Err{-::io_uring_queue_init(16, &ring_, 0)}, 0, "io_uring"); }
	~Ring() { ::io_uring_queue_exit(&ring_); }
	Ring(const Ring &) = delete;
	Ring &operator=(const Ring &) = delete;

	// A request that prepare() fills in; done() returns its tag.
	template <typename Prepare>
	void add(std::uint64_t tag, Prepare prepare, unsigned int flags = 0)
	{
		auto *sqe = ::io_uring_get_sqe(&ring_);

		prepare(sqe);
		::io_uring_sqe_set_data64(sqe, tag);
		::io_uring_sqe_set_flags(sqe, flags);
	}

	void submit() { ::io_uring_submit(&ring_); }

	// (tag, result) of the next completed request.
	std::pair<std::uint64_t, int> done(std::chrono::milliseconds limit = patience)
	{
		__kernel_timespec time{.tv_sec = limit.count() / 1000,
				       .tv_nsec = limit.count() % 1000 * 1000000};
		io_uring_cqe *cqe = nullptr;

		if (::io_uring_wait_cqe_timeout(&ring_, &cqe, &time))
			return {0, -ETIME};
		const std::pair result{std::uint64_t{cqe->user_data}, int{cqe->res}};
		::io_uring_cqe_seen(&ring_, cqe);
		return result;
	}

	// Results of two requests, by their tags.
	std::pair<int, int> done_both(std::uint64_t first)
	{
		const auto a = done(), b = done();

		return a.first == first ? std::pair(a.second, b.second)
					: std::pair(b.second, a.second);
	}

private:
	io_uring ring_{};
};

CASE("io_uring: sends and receives")
{
	for (const bool wait : {true, false}) {
		const Row row(wait ? "waiting" : "not waiting");
		Pair pair;
		Ring ring;
		std::array<char, 64> room{};

		ring.add(1, [&](auto *sqe) {
			::io_uring_prep_recv(sqe, pair.far.fd(), room.data(),
					     room.size(), wait ? 0 : MSG_DONTWAIT);
		});
		ring.submit();
		is(Err{-ring.done(moment).second}, wait ? ETIME : EAGAIN, "receive");
		ring.add(2, [&](auto *sqe) {
			::io_uring_prep_send(sqe, pair.near.fd(), "ring", 4, MSG_NOSIGNAL);
		});
		ring.submit();
		if (wait) {
			const auto [received, sent] = ring.done_both(1);
			is(sent, 4, "sent");
			is(received, 4, "received");
			is(std::string_view(room.data(), 4), "ring", "bytes");
		} else {
			is(ring.done().second, 4, "sent");
			expect_ulpdu(pair.far, mpa::bytes("ring"));
		}
	}
}

CASE("io_uring: messages, their flags, and polls")
{
	Pair pair;
	Ring ring;
	char he[] = "he", y[] = "y";
	std::array<iovec, 2> parts{{{he, 2}, {y, 1}}};
	std::array<char, 2> room{};
	iovec small{room.data(), room.size()};
	msghdr out{}, in{};

	out.msg_iov = parts.data(), out.msg_iovlen = 2;
	in.msg_iov = &small, in.msg_iovlen = 1;
	ring.add(1, [&](auto *sqe) {
		::io_uring_prep_poll_add(sqe, pair.far.fd(), POLLIN);
	});
	ring.add(2, [&](auto *sqe) {
		::io_uring_prep_sendmsg(sqe, pair.near.fd(), &out, MSG_NOSIGNAL);
	});
	ring.submit();
	const auto [polled, sent] = ring.done_both(1);
	yes(polled & POLLIN, "polled");
	is(sent, 3, "sent");
	ring.add(3, [&](auto *sqe) {
		::io_uring_prep_recvmsg(sqe, pair.far.fd(), &in, 0);
	});
	ring.submit();
	is(ring.done().second, 2, "received");
	is(in.msg_flags & (MSG_EOR | MSG_TRUNC), MSG_EOR | MSG_TRUNC, "flags");
}

CASE("io_uring: linked, cancelled, and after the end")
{
	Pair pair;
	Ring ring;
	std::array<char, 16> room{};
	const auto receive = [&](auto *sqe) {
		::io_uring_prep_recv(sqe, pair.far.fd(), room.data(), room.size(), 0);
	};

	for (unsigned int n = 1; n <= 3; n++)
		ring.add(n, [&](auto *sqe) {
			::io_uring_prep_send(sqe, pair.near.fd(), "abc", n, MSG_NOSIGNAL);
		}, n < 3 ? IOSQE_IO_LINK : 0);
	ring.submit();
	for (unsigned int n = 1; n <= 3; n++) {
		const auto done = ring.done();

		is(done.first, std::uint64_t{n}, "in order");
		is(done.second, int(n), "sent");
		expect_ulpdu(pair.far, mpa::bytes(std::string_view("abc").substr(0, n)));
	}
	ring.add(7, receive);
	ring.submit();
	is(Err{-ring.done(moment).second}, ETIME, "it waits");
	ring.add(8, [](auto *sqe) { ::io_uring_prep_cancel64(sqe, 7, 0); });
	ring.submit();
	is(Err{-ring.done_both(7).first}, ECANCELED, "the receive");
	must(pair.near.shutdown(), "shutdown");
	await_events(pair.far.fd(), POLLRDHUP, "the end");
	ring.add(9, receive);
	ring.submit();
	is(ring.done().second, 0, "the end");
	ring.add(10, [&](auto *sqe) {
		::io_uring_prep_send(sqe, pair.near.fd(), "x", 1, MSG_NOSIGNAL);
	});
	ring.submit();
	is(Err{-ring.done().second}, EPIPE, "after shutdown");
}

// It waits for an FPDU, which will not come.
CASE("poll: a Responder may send no more if receiving ends before its first FPDU")
{
	for (const bool orderly : {true, false}) {
		const Row row(orderly ? "FIN" : "a bad CRC");
		Running running(role::responder);
		const int fd = running.ours.fd();
		auto bad = fpdu(pattern(10));
		Ring ring;

		bad.back() ^= std::byte{1};
		yes(!(events_of(fd) & POLLOUT), "before");
		ring.add(1, [&](auto *sqe) {
			::io_uring_prep_send(sqe, fd, "x", 1, MSG_NOSIGNAL);
		});
		ring.submit();
		is(Err{-ring.done(moment).second}, ETIME, "it waits");
		if (orderly)
			running.wire.fin();
		else
			running.wire.send(bad);
		await_events(fd, POLLOUT, "the end of waiting");
		is(Err{-ring.done().second}, EPIPE, "the send of io_uring");
		is(err_of(::send(fd, "x", 1, MSG_NOSIGNAL)), EPIPE, "another one");
	}
}

// poll(2) may be called for another program, or by a worker of the kernel.
CASE("poll: while another call holds the lock")
{
	Listener listener;
	const Inside inside(1);
	const descriptor fd = tcp_socket(Path::ipv4, 1);
	std::atomic<short> events{-1};

	must_call(::setsockopt(fd.get(), SOL_TCP, TCP_ULP, "mpa", 3), "TCP_ULP");
	::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
	is(err_of(::connect(fd.get(), listener.address.generic(), listener.address.size)),
	   EINPROGRESS, "connect");
	const descriptor far = accept_from(listener);
	{
		// The lock is taken after the first integer was read.
		LateOption held(fd.get(), SOL_SOCKET, SO_LINGER, Bytes(sizeof(int)),
				sizeof(linger));
		std::thread polls([&] { events = events_of(fd.get(), POLLOUT); });

		await([&] { return events >= 0; }, "the end of poll()");
		polls.join();
		is(events.load(), POLLOUT, "TCP has room");
		is(held.finish(), 0, "SO_LINGER");
	}
	must_call(::send(fd.get(), "text", 4, MSG_NOSIGNAL), "send");
	expect_text(far.get(), "text");
}

} // namespace
