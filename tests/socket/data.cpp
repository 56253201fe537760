// SPDX-License-Identifier: GPL-2.0-only
//
// Full operation: one call, one ULPDU.
#include "bpf.hpp"
#include "net.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <future>
#include <random>

#include <linux/errqueue.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>

using namespace harness;
using namespace net;

namespace {

using mpa::receive_flags;
using mpa::send_flags;

// Result of recvmsg(): its return value, an error as a negative number, and the
// fields it sets.
struct Raw {
	long returned;
	int flags;
};

Raw receive_raw(int fd, std::span<std::byte> into, int flags)
{
	iovec part{into.data(), into.size()};
	msghdr message{};

	message.msg_iov = &part;
	message.msg_iovlen = 1;
	const long got = ::recvmsg(fd, &message, flags);
	return {got < 0 ? -errno : got, message.msg_flags};
}

// --- lengths --------------------------------------------------------------------

void lengths_go(mpa::socket &from, mpa::socket &to, const char *way)
{
	// Over loopback it grows with the peer's window.
	const std::size_t most = must(from.mulpdu(), "MULPDU");

	for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2},
				       std::size_t{3}, std::size_t{4}, std::size_t{5},
				       most / 2, most - 1, most}) {
		const Row row(way, size);
		const auto bytes = pattern(size, 3);

		must(from.send(bytes), "send");
		expect_ulpdu(to, bytes);
	}
	for (std::size_t more : {1, 2, 1000, 64769, 65535, 65536, 1 << 20}) {
		more = std::max<std::size_t>(more, must(from.mulpdu(), "MULPDU") +
						   std::min<std::size_t>(more, 1000));
		const Row row(way, more);

		is(err(from.send(pattern(more))), EMSGSIZE, "too long");
	}
	yes(!(events_of(to.fd()) & POLLIN), "nothing was sent of these");
	must(from.send(mpa::bytes("next")), "send");
	expect_ulpdu(to, mpa::bytes("next"));
}

CASE("data: lengths up to the MULPDU and beyond it")
{
	for (const auto path : paths) {
		for (int bits = 0; bits < 4; bits++) {
			const Row row(path, "Markers", bits);
			mpa::params near, far;

			near.markers = bits & 1;
			far.markers = bits & 2;
			Pair pair(path, near, far);
			lengths_go(pair.near, pair.far, "there");
			lengths_go(pair.far, pair.near, "back");
		}
	}
}

CASE("data: every call that sends or receives")
{
	Pair pair;
	const int near = pair.near.fd(), far = pair.far.fd();
	char he[] = "he", l[] = "l", lo[] = "lo", none[] = "";
	iovec parts[] = {{he, 2}, {none, 0}, {l, 1}, {lo, 2}};
	msghdr message{};

	is(must_call(::write(near, "hello", 5), "write"), 5L, "write");
	is(must_call(::send(near, "hello", 5, 0), "send"), 5L, "send");
	is(must_call(::sendto(near, "hello", 5, 0, nullptr, 0), "sendto"), 5L, "sendto");
	is(must_call(::writev(near, parts, 4), "writev"), 5L, "writev");
	message.msg_iov = parts;
	message.msg_iovlen = 4;
	is(must_call(::sendmsg(near, &message, 0), "sendmsg"), 5L, "sendmsg");
	must(pair.near.send_parts(parts), "sendmsg");

	char a[3] = "", b[4] = "";
	iovec room[] = {{a, 2}, {b, 4}};
	char text[8] = "";
	const auto check = [&](long got, const char *what) {
		is(got, 5L, what);
		is(std::string_view(text, 5), "hello", what);
		std::fill(std::begin(text), std::end(text), 0);
	};
	check(::read(far, text, 8), "read");
	check(::recv(far, text, 8, 0), "recv");
	check(::recvfrom(far, text, 8, 0, nullptr, nullptr), "recvfrom");
	is(must_call(::readv(far, room, 2), "readv"), 5L, "readv");
	is(std::string(a) + std::string(b), "hello", "readv");
	message.msg_iov = room;
	message.msg_iovlen = 2;
	is(must_call(::recvmsg(far, &message, 0), "recvmsg"), 5L, "recvmsg");
	is(message.msg_flags & MSG_EOR, int(MSG_EOR), "MSG_EOR");
	mmsghdr many[2]{};
	many[0].msg_hdr = many[1].msg_hdr = message;
	must(pair.near.send(mpa::bytes("x")), "send");
	is(must_call(::recvmmsg(far, many, 2, MSG_WAITFORONE, nullptr), "recvmmsg") > 0,
	   true, "recvmmsg");
	is(many[0].msg_len, 5u, "its first");
}

// --- buffers ----------------------------------------------------------------------

CASE("receive: buffers shorter and longer than the ULPDU")
{
	Pair pair;

	for (const std::size_t size : {0, 1, 2, 100, 1000}) {
		for (const long room : {0L, 1L, long(size) - 1, long(size),
					long(size) + 1, 5000L}) {
			if (room < 0)
				continue;
			for (const int flags : {0, int(MSG_TRUNC), int(MSG_PEEK),
						MSG_PEEK | MSG_TRUNC}) {
				const Row row("size", size, "room", room, "flags", flags);
				Bytes buffer(room + 1, std::byte{0xa5});
				const auto bytes = pattern(size, 9);

				must(pair.near.send(bytes), "send");
				await_events(pair.far.fd(), POLLIN, "a ULPDU");
				const auto fits = std::min<std::size_t>(size, room);
				const auto got = receive_raw(
					pair.far.fd(),
					std::span(buffer).first(room), flags);
				is(got.returned, long(flags & MSG_TRUNC ? size : fits),
				   "returned");
				is(got.flags & MSG_EOR, int(MSG_EOR), "MSG_EOR");
				is(bool(got.flags & MSG_TRUNC), size > fits, "MSG_TRUNC");
				yes(std::equal(bytes.begin(), bytes.begin() + fits,
					       buffer.begin()), "bytes");
				is(std::to_integer<int>(buffer[fits]), 0xa5,
				   "the byte after them");
				if (flags & MSG_PEEK)
					expect_ulpdu(pair.far, bytes);
				yes(!(events_of(pair.far.fd()) & POLLIN),
				    "nothing is left");
			}
		}
	}
}

// Bytes of the stream all the same: TCP must not take the first one away.
CASE("receive: urgent data of the peer, before a ULPDU is complete and behind one")
{
	for (const bool behind : {false, true}) {
		const Row row(behind ? "behind" : "before");
		Running pair(mpa::role::responder);
		const auto ulpdu = pattern(100, 4);
		const auto bytes = fpdu(ulpdu);
		const auto rest = std::span(bytes).subspan(2);

		for (int n = 0; n < 2; n++) {
			pair.wire.send_urgent(bytes[0]);
			if (n && behind)
				expect_ulpdu(pair.ours, ulpdu);
			if (behind)
				pair.wire.send(std::span(bytes).subspan(1, 1));
			else
				pair.wire.send_urgent(bytes[1]);
			pair.wire.send(rest);
			await_events(pair.ours.fd(), POLLIN, "a ULPDU");
			if (!behind)
				expect_ulpdu(pair.ours, ulpdu);
		}
		if (behind)
			expect_ulpdu(pair.ours, ulpdu);
		yes(!(events_of(pair.ours.fd()) & POLLPRI), "nothing is urgent");
	}
}

CASE("receive: an empty ULPDU is not the end")
{
	Pair pair;
	Bytes buffer(8);

	must(pair.near.send({}), "send");
	must(pair.near.send(mpa::bytes("x")), "send");
	must(pair.near.send({}), "send");
	must(pair.near.shutdown(), "shutdown");
	for (const long size : {0L, 1L, 0L}) {
		await_events(pair.far.fd(), POLLIN, "a ULPDU");
		const auto got = receive_raw(pair.far.fd(), buffer, 0);
		is(got.returned, size, "length");
		is(got.flags & MSG_EOR, int(MSG_EOR), "MSG_EOR");
	}
	for (int n = 0; n < 3; n++) {
		const auto got = receive_raw(pair.far.fd(), buffer, 0);
		is(got.returned, 0L, "the end");
		is(got.flags & MSG_EOR, 0, "MSG_EOR");
	}
}

CASE("receive: bad memory leaves the ULPDU in the queue")
{
	Pair pair;
	void *none = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const auto bytes = pattern(600, 4);

	must(pair.near.send(bytes), "send");
	await_events(pair.far.fd(), POLLIN, "a ULPDU");
	for (int n = 0; n < 3; n++)
		is(err_of(::recv(pair.far.fd(), none, 4096, 0)), EFAULT, "receive");
	// A part fits, and the rest does not.
	auto *pages = static_cast<char *>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	must_call(::mprotect(pages + 4096, 4096, PROT_NONE), "mprotect");
	is(err_of(::recv(pair.far.fd(), pages + 4096 - 10, 600, 0)), EFAULT, "partly");
	expect_ulpdu(pair.far, bytes);
	is(err_of(::send(pair.near.fd(), none, 10, MSG_NOSIGNAL)), EFAULT, "send");
	is(err_of(::send(pair.near.fd(), pages + 4096 - 10, 20, MSG_NOSIGNAL)), EFAULT,
	   "send partly");
	must(pair.near.send(mpa::bytes("next")), "send");
	expect_ulpdu(pair.far, mpa::bytes("next"));
	is(must(pair.near.stats(), "counts").tx_fpdus, 3u, "nothing of it was sent");
}

CASE("receive: MSG_WAITALL and SO_RCVLOWAT have no effect")
{
	Pair pair;
	Bytes buffer(1000);
	const int low = 500;

	must_call(::setsockopt(pair.far.fd(), SOL_SOCKET, SO_RCVLOWAT, &low,
			       sizeof(low)), "SO_RCVLOWAT");
	must(pair.near.send(mpa::bytes("short")), "send");
	await_events(pair.far.fd(), POLLIN, "a ULPDU, with SO_RCVLOWAT");
	is(receive_raw(pair.far.fd(), buffer, MSG_WAITALL).returned, 5L, "MSG_WAITALL");
	auto waiting = std::async(std::launch::async, [&] {
		return receive_raw(pair.far.fd(), buffer, MSG_WAITALL).returned;
	});
	yes(waiting.wait_for(moment) == std::future_status::timeout, "it waits");
	must(pair.near.send(mpa::bytes("short")), "send");
	is(waiting.get(), 5L, "one ULPDU");
}

CASE("receive: FIONREAD is the length of the next ULPDU")
{
	Pair pair;
	std::byte byte;

	is(must(pair.far.next_length(), "FIONREAD"), 0u, "none");
	for (const std::size_t size : {0, 7, 1000})
		must(pair.near.send(pattern(size)), "send");
	for (const std::size_t size : {0, 7, 1000}) {
		await_events(pair.far.fd(), POLLIN, "a ULPDU");
		is(must(pair.far.next_length(), "FIONREAD"), size, "length");
		must(pair.far.receive({&byte, 1}), "receive");
	}
	is(must(pair.far.next_length(), "FIONREAD"), 0u, "none is left");
}

// --- waiting ------------------------------------------------------------------------

CASE("wait: a receive waits, or does not")
{
	Pair pair;
	Bytes buffer(16);

	is(receive_raw(pair.far.fd(), buffer, MSG_DONTWAIT).returned, -long(EAGAIN),
	   "MSG_DONTWAIT");
	must(pair.far.set_blocking(false), "O_NONBLOCK");
	is(receive_raw(pair.far.fd(), buffer, 0).returned, -long(EAGAIN), "O_NONBLOCK");
	must(pair.far.set_blocking(true), "blocking");
	auto waiting = std::async(std::launch::async, [&] {
		return receive_raw(pair.far.fd(), buffer, 0).returned;
	});
	yes(waiting.wait_for(moment) == std::future_status::timeout, "it waits");
	must(pair.near.send(mpa::bytes("now")), "send");
	is(waiting.get(), 3L, "received");
}

CASE("wait: SO_RCVTIMEO and SO_SNDTIMEO")
{
	using namespace std::chrono_literals;

	Pair pair;
	const timeval limit{.tv_sec = 0, .tv_usec = 300000};
	Bytes buffer(16);
	auto began = std::chrono::steady_clock::now();

	must_call(::setsockopt(pair.far.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit,
			       sizeof(limit)), "SO_RCVTIMEO");
	is(receive_raw(pair.far.fd(), buffer, 0).returned, -long(EAGAIN), "receive");
	yes(std::chrono::steady_clock::now() - began >= 250ms, "after its time");
	must_call(::setsockopt(pair.near.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit,
			       sizeof(limit)), "SO_SNDTIMEO");
	const auto bytes = pattern(1000);
	Err last{0};
	for (int n = 0; n < 100000 && last == Err{0}; n++) {
		began = std::chrono::steady_clock::now();
		last = err(pair.near.send(bytes));
	}
	is(last, EAGAIN, "send");
	yes(std::chrono::steady_clock::now() - began >= 250ms, "after its time");
}

CASE("wait: a full connection has room again when the peer reads")
{
	Pair pair;
	const auto bytes = pattern(1000, 1);
	unsigned int sent = 0, got = 0;

	must(pair.near.set_blocking(false), "O_NONBLOCK");
	const auto fill = [&] {
		while (pair.near.send(bytes))
			sent++;
	};
	fill();
	await([&] {
		fill();
		return must(pair.near.wait(POLLOUT, moment), "poll") == 0;
	}, "no room after sending for a while");
	auto blocked = std::async(std::launch::async, [&] {
		return must(pair.near.wait(POLLOUT, patience), "poll");
	});
	must(pair.far.set_blocking(false), "O_NONBLOCK");
	Bytes buffer(2000);
	await([&] {
		while (auto one = pair.far.receive(buffer)) {
			is(one->size, 1000u, "length");
			got++;
		}
		return got == sent;
	}, "all that was sent");
	yes(blocked.get() & POLLOUT, "room");
	yes(sent > 20, "a number of ULPDUs");
}

// --- packing --------------------------------------------------------------------------

// The data was sent in so many calls to TCP since the mark.
struct Counted {
	explicit Counted(mpa::socket &socket)
		: socket(socket), before(must(socket.stats(), "counts"))
	{
	}

	std::uint64_t fpdus() const
	{
		return must(socket.stats(), "counts").tx_fpdus - before.tx_fpdus;
	}
	std::uint64_t batches() const
	{
		return must(socket.stats(), "counts").tx_batches - before.tx_batches;
	}

	mpa::socket &socket;
	mpa::stats before;
};

// What is held back is sent after 200 ms: what fails in a round that took nearly that long
// is tried again, for a minute at the most.
void in_time(const std::function<void()> &round)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	for (;;) {
		const auto began = std::chrono::steady_clock::now();

		try {
			return round();
		} catch (const Failed &) {
			const auto now = std::chrono::steady_clock::now();

			if (now - began < std::chrono::milliseconds(150) || now > end)
				throw;
		}
	}
}

CASE("packing: MSG_MORE holds back until a send without it")
{
	for (const bool markers : {false, true}) {
		const Row row("Markers", markers);
		mpa::params far;

		far.markers = markers;
		in_time([&] {
			Pair pair(Path::ipv4, {}, far);
			const Counted counted(pair.near);

			for (unsigned int n = 0; n < 10; n++)
				must(pair.near.send(pattern(20, n), send_flags::more),
				     "send");
			is(counted.fpdus(), 0u, "held back");
			yes(!(events_of(pair.far.fd()) & POLLIN), "nothing came");
			must(pair.near.send(pattern(20, 10)), "send");
			is(counted.fpdus(), 11u, "sent");
			is(counted.batches(), 1u, "in one call to TCP");
			for (unsigned int n = 0; n <= 10; n++)
				expect_ulpdu(pair.far, pattern(20, n));
		});
	}
}

CASE("packing: held back ULPDUs are sent after 200 ms")
{
	std::optional<Pair> pair;
	std::optional<Counted> counted;
	std::chrono::steady_clock::time_point began;

	in_time([&] {
		counted.reset();
		pair.emplace();
		counted.emplace(pair->near);
		began = std::chrono::steady_clock::now();
		must(pair->near.send(mpa::bytes("one"), send_flags::more), "send");
		must(pair->near.send(mpa::bytes("two"), send_flags::more), "send");
		is(counted->fpdus(), 0u, "held back");
	});
	expect_ulpdu(pair->far, mpa::bytes("one"));
	yes(std::chrono::steady_clock::now() - began >=
		    std::chrono::milliseconds(150), "not at once");
	expect_ulpdu(pair->far, mpa::bytes("two"));
	is(counted->batches(), 1u, "in one call to TCP");
}

CASE("packing: SIOCOUTQ and SIOCOUTQNSD count held back ULPDUs")
{
	in_time([] {
		Pair pair;
		const auto queued = [&](unsigned long what) {
			int count = -1;

			must_call(::ioctl(pair.near.fd(), what, &count), "ioctl");
			return count;
		};

		await([&] { return queued(SIOCOUTQ) == 0; }, "nothing at first");
		is(queued(SIOCOUTQNSD), 0, "nothing unsent at first");
		must(pair.near.send(pattern(100, 1), mpa::send_flags::more), "send");
		must(pair.near.send(pattern(50, 2), mpa::send_flags::more), "send");
		// Each ULPDU counts with its length field.
		is(queued(SIOCOUTQ), 154, "not acknowledged");
		is(queued(SIOCOUTQNSD), 154, "not sent");
		must(pair.near.send(pattern(10, 3)), "the last one");
		for (const auto &[size, n] : {std::pair(100, 1), {50, 2}, {10, 3}})
			expect_ulpdu(pair.far, pattern(size, n));
		await([&] { return queued(SIOCOUTQ) == 0; }, "all is acknowledged");
		is(queued(SIOCOUTQNSD), 0, "all is sent");
	});
}

CASE("packing: shutdown and close send what was held back")
{
	for (const bool close : {false, true}) {
		const Row row(close ? "close" : "shutdown");
		Pair pair;

		for (unsigned int n = 0; n < 100; n++)
			must(pair.near.send(pattern(300, n), send_flags::more), "send");
		if (close)
			pair.near.close();
		else
			must(pair.near.shutdown(), "shutdown");
		for (unsigned int n = 0; n < 100; n++)
			expect_ulpdu(pair.far, pattern(300, n));
		expect_end(pair.far);
	}
}

// recvmmsg(2) leaves an error that comes after the first message to the next call.
CASE("packing: an error that waits for the next call loses no ULPDU")
{
	for (const bool ends : {false, true}) {
		const Row row(ends ? "shutdown" : "the next send");
		Pair pair;
		const int near = pair.near.fd();
		std::array<char, 8> room{};
		iovec good{room.data(), room.size()};
		iovec bad{reinterpret_cast<void *>(1), room.size()};
		mmsghdr many[2]{};

		many[0].msg_hdr.msg_iov = &good;
		many[1].msg_hdr.msg_iov = &bad;
		many[0].msg_hdr.msg_iovlen = many[1].msg_hdr.msg_iovlen = 1;
		must(pair.near.send(mpa::bytes("first")), "send");
		expect_ulpdu(pair.far, mpa::bytes("first"));
		must(pair.far.send(mpa::bytes("one")), "send");
		must(pair.far.send(mpa::bytes("two")), "send");
		is(must_call(::send(near, "held", 4, MSG_MORE | MSG_NOSIGNAL), "send"), 4L,
		   "held back");
		is(must_call(::recvmmsg(near, many, 2, 0, nullptr), "recvmmsg"), 1, "one of two");
		if (ends) {
			must(pair.near.shutdown(), "shutdown");
			expect_ulpdu(pair.far, mpa::bytes("held"));
			expect_end(pair.far);
			continue;
		}
		expect_ulpdu(pair.far, mpa::bytes("held"));
		is(err_of(::send(near, "no", 2, MSG_NOSIGNAL)), EFAULT, "the error");
		must(pair.near.send(mpa::bytes("next")), "once");
		expect_ulpdu(pair.far, mpa::bytes("next"));
		expect_ulpdu(pair.near, mpa::bytes("two"));
	}
}

CASE("packing: more than a segment is not held back")
{
	Pair pair;
	const Counted counted(pair.near);
	unsigned int count = 0;

	// 64 KiB and more, so that a batch fills up.
	for (; count < 700; count++)
		must(pair.near.send(pattern(100, count), send_flags::more), "send");
	yes(counted.fpdus() > 0, "some was sent");
	must(pair.near.send(pattern(100, count++)), "send");
	for (unsigned int n = 0; n < count; n++)
		expect_ulpdu(pair.far, pattern(100, n));
	// Not earlier: TCP may have had no room for the last of them at once.
	is(counted.fpdus(), std::uint64_t(count), "all");
	yes(counted.batches() < count / 4, "packed");
}

CASE("packing: sendmmsg packs its messages")
{
	for (const std::size_t count : {1, 2, 20, 64}) {
		const Row row(count);
		Pair pair;
		const Counted counted(pair.near);
		std::vector<Bytes> sent;
		std::vector<mpa::const_buffer> batch;

		for (unsigned int n = 0; n < count; n++)
			sent.push_back(pattern(n % 16, n));
		batch.assign(sent.begin(), sent.end());
		is(must(pair.near.send_batch(batch), "send"), count, "sent");
		for (const auto &one : sent)
			expect_ulpdu(pair.far, one);
		is(counted.fpdus(), std::uint64_t(count), "FPDUs");
		is(counted.batches(), 1u, "calls to TCP");
	}
}

CASE("packing: sendmmsg that stops at a bad message")
{
	Pair pair;
	const auto good = pattern(50), bad = pattern(70000);
	const std::vector<mpa::const_buffer> batch{good, good, bad, good};

	is(must(pair.near.send_batch(batch), "send"), 2u, "sent before it");
	expect_ulpdu(pair.far, good);
	expect_ulpdu(pair.far, good);
	is(err(pair.near.send_batch(std::span(batch).subspan(2))), EMSGSIZE, "the bad one");
	is(must(pair.near.send_batch(std::span(batch).subspan(3)), "send"), 1u,
	   "the last one");
	expect_ulpdu(pair.far, good);
}

CASE("packing: the option packs small ULPDUs while others are in flight")
{
	Pair pair;

	must(pair.near.set_packing(true), "packing");
	const Counted counted(pair.near);
	for (unsigned int n = 0; n < 500; n++)
		must(pair.near.send(pattern(10, n)), "send");
	for (unsigned int n = 0; n < 500; n++)
		expect_ulpdu(pair.far, pattern(10, n));
	is(counted.fpdus(), 500u, "FPDUs");
	yes(counted.batches() < 400, "fewer calls to TCP: " +
				     std::to_string(counted.batches()));
	must(pair.near.set_packing(false), "packing");
	const Counted plain(pair.near);
	for (unsigned int n = 0; n < 50; n++)
		must(pair.near.send(pattern(10, n)), "send");
	is(plain.batches(), 50u, "each by itself");
}

CASE("packing: switched off, it holds nothing back")
{
	Pair pair;

	must(pair.near.set_packing(true), "packing");
	must(pair.near.send(mpa::bytes("one")), "send");
	must(pair.near.send(mpa::bytes("two")), "send");
	must(pair.near.set_packing(false), "packing");
	is(must(pair.near.stats(), "counts").tx_fpdus, 3u, "all was sent");
	expect_ulpdu(pair.far, mpa::bytes("one"));
	expect_ulpdu(pair.far, mpa::bytes("two"));
}

// --- refused ----------------------------------------------------------------------------

CASE("refused: urgent data, MSG_ZEROCOPY, control messages, splice and sendfile")
{
	Pair pair;
	const int near = pair.near.fd(), far = pair.far.fd(), on = 1;
	int pipe[2];
	char byte;

	is(err_of(::send(near, "x", 1, MSG_OOB | MSG_NOSIGNAL)), EOPNOTSUPP, "MSG_OOB");
	is(err_of(::recv(near, &byte, 1, MSG_OOB)), EOPNOTSUPP, "receive MSG_OOB");
	is(err_of(send_with_control(near)), EOPNOTSUPP, "control message");
	::setsockopt(near, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on));
	is(err_of(::send(near, "x", 1, MSG_ZEROCOPY | MSG_NOSIGNAL)), EOPNOTSUPP,
	   "MSG_ZEROCOPY");
	const descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	is(err_of(::sendfile(near, file.get(), nullptr, 10)), EOPNOTSUPP, "sendfile");
	must_call(::pipe2(pipe, O_CLOEXEC | O_NONBLOCK), "pipe");
	const descriptor out(pipe[0]), in(pipe[1]);
	must_call(::write(in.get(), "piped", 5), "write");
	is(err_of(::splice(out.get(), nullptr, near, nullptr, 5, 0)), EOPNOTSUPP,
	   "splice to");
	must(pair.near.send(mpa::bytes("stays")), "send");
	await_events(far, POLLIN, "a ULPDU");
	is(err_of(::splice(far, nullptr, in.get(), nullptr, 5, 0)), EOPNOTSUPP,
	   "splice from");
	expect_ulpdu(pair.far, mpa::bytes("stays"));
	is(must(pair.near.stats(), "counts").tx_fpdus, 2u, "nothing else was sent");
}

CASE("refused: a BPF socket map")
{
	Pair pair;
	bpf_attr update{};
	const int key = 0, value = pair.near.fd();
	const descriptor map = bpf::socket_map();

	update.map_fd = static_cast<std::uint32_t>(map.get());
	update.key = reinterpret_cast<std::uintptr_t>(&key);
	update.value = reinterpret_cast<std::uintptr_t>(&value);
	yes(::syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &update, sizeof(update)) < 0,
	    "the map does not take it");
	must(pair.near.send(mpa::bytes("on")), "send");
	expect_ulpdu(pair.far, mpa::bytes("on"));
}

// A connection gets into a map before its listener is attached. It is refused, and the map
// gives the socket back to TCP.
CASE("refused: a BPF socket map that has a connection before its listener is attached")
{
	const descriptor map = bpf::socket_map();
	const std::array code{
		bpf_insn{BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0},
		bpf_insn{BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1,
			 offsetof(bpf_sock_ops, op), 0},
		bpf_insn{BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 8,
			 BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB},
		bpf_insn{BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0},
		bpf_insn{BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_6, 0, 0},
		// An instruction of two words.
		bpf_insn{BPF_LD | BPF_IMM | BPF_DW, BPF_REG_2, BPF_PSEUDO_MAP_FD, 0,
			 map.get()},
		bpf_insn{},
		bpf_insn{BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_10, 0, 0},
		bpf_insn{BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, 0, 0, -4},
		bpf_insn{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, BPF_ANY},
		bpf_insn{BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_sock_map_update},
		bpf_insn{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1},
		bpf_insn{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
	};
	Listener listener;
	descriptor client;

	{
		const bpf::CgroupProgram adds(BPF_PROG_TYPE_SOCK_OPS, BPF_CGROUP_SOCK_OPS,
					      code);

		client = connect_to(listener);
		await_events(listener.fd.get(), POLLIN, "a connection");
	}
	must_call(::setsockopt(listener.fd.get(), SOL_TCP, TCP_ULP, "mpa", 3), "TCP_ULP");
	is(err_of(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC)), EEXIST,
	   "accept");
	await_events(client.get(), POLLRDHUP, "its end");
	client = connect_to(listener);
	yes(bool(accept_from(listener)), "one that is in no map");
}

// --- ends -----------------------------------------------------------------------------

std::atomic<int> pipes_broken{0};

CASE("end: after shutdown a send is a broken pipe")
{
	Pair pair;

	must_call(::signal(SIGPIPE, [](int) { pipes_broken++; }) == SIG_ERR ? -1 : 0,
		  "signal");
	must(pair.near.shutdown(), "shutdown");
	is(err(pair.near.send(mpa::bytes("x"))), EPIPE, "MSG_NOSIGNAL");
	is(pipes_broken.load(), 0, "signals");
	is(err_of(::send(pair.near.fd(), "x", 1, 0)), EPIPE, "send");
	is(pipes_broken.load(), 1, "signals");
	is(err_of(::write(pair.near.fd(), "x", 1)), EPIPE, "write");
	is(pipes_broken.load(), 2, "signals");
}

CASE("end: one side ends, the other one continues")
{
	for (const bool near_first : {true, false}) {
		const Row row(near_first ? "Initiator first" : "Responder first");
		Pair pair;
		auto &first = near_first ? pair.near : pair.far;
		auto &second = near_first ? pair.far : pair.near;

		must(first.send(mpa::bytes("last")), "send");
		must(first.shutdown(), "shutdown");
		expect_ulpdu(second, mpa::bytes("last"));
		expect_end(second);
		await_events(second.fd(), POLLRDHUP | POLLIN | POLLOUT, "half of it");
		yes(!(events_of(second.fd()) & (POLLHUP | POLLERR)), "only half of it");
		is(name(must(second.info(), "info").state),
		   name(mpa::state::receive_ended), "state");
		is(err(must(second.info(), "info").error), 0, "an orderly end");
		for (unsigned int n = 0; n < 20; n++) {
			must(second.send(pattern(700, n)), "send");
			expect_ulpdu(first, pattern(700, n));
		}
		must(second.shutdown(), "shutdown");
		expect_end(first);
		await_events(first.fd(), POLLHUP, "both halves");
		is(err(first.pending_error()), 0, "SO_ERROR");
	}
}

CASE("end: a waiting receive returns")
{
	Pair pair;
	Bytes buffer(8);
	auto waiting = std::async(std::launch::async, [&] {
		return receive_raw(pair.far.fd(), buffer, 0);
	});

	yes(waiting.wait_for(moment) == std::future_status::timeout, "it waits");
	must(pair.near.shutdown(), "shutdown");
	const auto got = waiting.get();
	is(got.returned, 0L, "the end");
	is(got.flags & MSG_EOR, 0, "MSG_EOR");
}

CASE("end: SHUT_RD by the application")
{
	Pair pair;
	Bytes buffer(8);
	auto waiting = std::async(std::launch::async, [&] {
		return receive_raw(pair.far.fd(), buffer, 0).returned;
	});

	yes(waiting.wait_for(moment) == std::future_status::timeout, "it waits");
	must(pair.far.shutdown(SHUT_RD), "shutdown");
	yes(waiting.wait_for(patience) == std::future_status::ready, "it is woken");
	is(waiting.get(), 0L, "the end");
	must(pair.far.send(mpa::bytes("still")), "send");
	expect_ulpdu(pair.near, mpa::bytes("still"));
}

CASE("end: close with ULPDUs unread resets")
{
	Pair pair;
	Bytes buffer(8);

	must(pair.near.send(mpa::bytes("unread")), "send");
	await_events(pair.far.fd(), POLLIN, "a ULPDU");
	pair.far.close();
	await_events(pair.near.fd(), POLLHUP | POLLERR, "RST");
	is(receive_raw(pair.near.fd(), buffer, 0).returned, -long(ECONNRESET), "receive");
	is(receive_raw(pair.near.fd(), buffer, 0).returned, -long(ECONNRESET), "again");
	// SO_ERROR is reported once.
	(void)pair.near.send(mpa::bytes("x"));
	is(err(pair.near.send(mpa::bytes("x"))), EPIPE, "send");
}

CASE("end: close with everything read is orderly")
{
	Pair pair;

	must(pair.near.send(pattern(1000)), "send");
	pair.near.close();
	expect_ulpdu(pair.far, pattern(1000));
	expect_end(pair.far);
}

// --- volume -----------------------------------------------------------------------

constexpr std::size_t much = 1 << 20;

// Lengths of all kinds; the same at both ends for the same seed.
std::vector<std::size_t> lengths_of(unsigned int seed, std::size_t most)
{
	std::mt19937 random(seed);
	std::vector<std::size_t> lengths;

	for (std::size_t total = 0; total < much;) {
		const auto size = random() % 4 ? random() % (most + 1) : random() % 64;

		lengths.push_back(size);
		total += size;
	}
	return lengths;
}

void send_much(mpa::socket &socket, unsigned int seed, std::size_t most)
{
	unsigned int n = 0;

	for (const auto size : lengths_of(seed, most)) {
		must(socket.send(pattern(size, n), n % 3 ? send_flags::more
							 : send_flags::none), "send");
		n++;
	}
	must(socket.send(mpa::bytes("end")), "send");
}

void receive_much(mpa::socket &socket, unsigned int seed, std::size_t most)
{
	unsigned int n = 0;

	for (const auto size : lengths_of(seed, most))
		expect_ulpdu(socket, pattern(size, n++));
	expect_ulpdu(socket, mpa::bytes("end"));
}

void much_both_ways(Pair &pair)
{
	// Under load the peer's window may make it less than it is now.
	const auto near = must(pair.near.mulpdu(), "MULPDU") / 2;
	const auto far = must(pair.far.mulpdu(), "MULPDU") / 2;
	std::array<std::future<void>, 4> all{
		std::async(std::launch::async, [&] { send_much(pair.near, 1, near); }),
		std::async(std::launch::async, [&] { send_much(pair.far, 2, far); }),
		std::async(std::launch::async, [&] { receive_much(pair.far, 1, near); }),
		std::async(std::launch::async, [&] { receive_much(pair.near, 2, far); }),
	};

	for (auto &one : all)
		one.get();
}

CASE("volume: both ways at once, a thread for each")
{
	for (const auto path : paths) {
		const Row row(path);
		mpa::params asks;

		asks.markers = path == Path::ipv6;
		Pair pair(path, asks, asks);
		much_both_ways(pair);
		const auto stats = must(pair.near.stats(), "counts");
		is(stats.rx_crc_errors + stats.rx_marker_errors + stats.rx_dropped, 0u,
		   "errors");
		is(stats.tx_fpdus, must(pair.far.stats(), "counts").rx_fpdus, "FPDUs");
		is(stats.tx_bytes, must(pair.far.stats(), "counts").rx_bytes, "bytes");
	}
}

CASE("volume: two threads send, two receive, on one socket")
{
	Pair pair;
	constexpr unsigned int each = 400;
	std::atomic<unsigned int> got{0};
	const auto send = [&](unsigned int seed) {
		for (unsigned int n = 0; n < each; n++)
			must(pair.near.send(pattern(100 + seed, seed)), "send");
	};
	const auto receive = [&] {
		Bytes buffer(2000);

		while (got < 2 * each) {
			auto one = pair.far.receive(buffer, receive_flags::dont_wait);
			if (!one) {
				is(err(one), EAGAIN, "receive");
				::poll(nullptr, 0, 1);
				continue;
			}
			const auto seed = static_cast<unsigned int>(one->size - 100);
			yes(std::ranges::equal(mpa::const_buffer(buffer).first(one->size),
					       pattern(one->size, seed)),
			    "a ULPDU is in one piece");
			got++;
		}
	};
	std::array<std::future<void>, 4> all{
		std::async(std::launch::async, send, 1),
		std::async(std::launch::async, send, 2),
		std::async(std::launch::async, receive),
		std::async(std::launch::async, receive),
	};

	for (auto &one : all)
		one.get();
	is(got.load(), 2 * each, "ULPDUs");
}

CASE("volume: the smallest buffers carry the longest ULPDUs")
{
	for (const auto path : {Path::loopback, Path::ipv4}) {
		for (const auto buffers : {Buffers{1, 0}, Buffers{0, 1}, Buffers{1, 1}}) {
			const Row row(path, "SO_SNDBUF", buffers.send, "SO_RCVBUF",
				      buffers.receive);
			Pair pair(path, {}, {}, buffers);
			const auto most = must(pair.near.mulpdu(), "MULPDU");

			auto sent = std::async(std::launch::async, [&] {
				for (unsigned int n = 0; n < 10; n++)
					must(pair.near.send(pattern(most, n)), "send");
			});
			for (unsigned int n = 0; n < 10; n++)
				expect_ulpdu(pair.far, pattern(most, n));
			sent.get();
			must(pair.far.send(pattern(100)), "send");
			expect_ulpdu(pair.near, pattern(100));
		}
	}
}

CASE("volume: the MULPDU of a path with a large MTU")
{
	Pair pair(Path::loopback);
	std::uint32_t most = 0;

	// Half of the peer's window at first, which grows.
	for (unsigned int n = 0; n < 100; n++) {
		most = must(pair.near.mulpdu(), "MULPDU");
		yes(most > 16384 && most <= 64768, "MULPDU is " + std::to_string(most));
		must(pair.near.send(pattern(most, n)), "send");
		expect_ulpdu(pair.far, pattern(most, n));
	}
	yes(most > 60000, "MULPDU is " + std::to_string(most) + " in the end");
}

} // namespace
