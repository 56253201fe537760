// SPDX-License-Identifier: GPL-2.0-only
//
// The end of a connection while ULPDUs are unread. As with the bytes of TCP,
// everything that arrived completely is read first, and then the cause of the
// end.
#include "net.hpp"

#include <cstdlib>
#include <memory>

#include <linux/sockios.h>
#include <sys/ioctl.h>

using namespace harness;
using namespace net;

namespace {

using mpa::role;

// How a connection ends, from the receiver's side.
enum class End {
	fin,
	rst,		// while both halves are open
	fin_rst,	// RST after the peer's FIN: CLOSE_WAIT
	fin_reply,	// likewise, in answer to data sent to a peer that has gone
	rst_half,	// RST after our own FIN: FIN_WAIT2
	shut_rd,	// our own SHUT_RD
	silence,	// TCP_USER_TIMEOUT
	keepalive,
	fin_silence,	// the peer's FIN, then TCP_USER_TIMEOUT: CLOSE_WAIT
};

struct Kind {
	End end;
	const char *name;
	// The error of receive between FPDUs, and within one.
	int between;
	int within;
};

constexpr std::array here{
	Kind{End::fin, "FIN", 0, ECONNABORTED},
	Kind{End::rst, "RST", ECONNRESET, ECONNRESET},
	Kind{End::fin_rst, "FIN, RST", 0, ECONNABORTED},
	Kind{End::fin_reply, "FIN, RST as an answer", 0, ECONNABORTED},
	Kind{End::rst_half, "our FIN, RST", ECONNRESET, ECONNRESET},
	Kind{End::shut_rd, "SHUT_RD", 0, 0},
};

constexpr std::array lost{
	Kind{End::silence, "silence", ETIMEDOUT, ETIMEDOUT},
	Kind{End::keepalive, "keepalive", ETIMEDOUT, ETIMEDOUT},
	Kind{End::fin_silence, "FIN, silence", 0, ECONNABORTED},
};

// How the application reads the ULPDUs that are left.
enum class Reading { plain, peek, short_buffer, error_first };

constexpr std::array readings{
	std::pair{Reading::plain, "plain"},
	std::pair{Reading::peek, "peeks first"},
	std::pair{Reading::short_buffer, "short buffer first"},
	std::pair{Reading::error_first, "SO_ERROR first"},
};

std::size_t size_of(unsigned int number)
{
	return number % 7 * 211;
}

// Complete FPDUs, and so many bytes of another one, all in our receive queue.
void fill(Running &running, unsigned int whole, std::size_t part)
{
	Bytes stream;

	for (unsigned int n = 0; n < whole; n++)
		stream = stream + fpdu(pattern(size_of(n), n));
	running.wire.send(stream + mpa::const_buffer(fpdu(pattern(100))).first(part));
	await([&] {
		int unsent;

		must_call(::ioctl(running.wire.fd(), SIOCOUTQ, &unsent), "SIOCOUTQ");
		return unsent == 0;
	}, "acknowledgement of all bytes");
}

void await_closed(Running &running)
{
	await_events(running.ours.fd(), POLLHUP | POLLRDHUP, "TCP's end");
}

void set(int fd, int level, int name, int value)
{
	must_call(::setsockopt(fd, level, name, &value, sizeof(value)), "setsockopt");
}

void end_here(Running &running, End end)
{
	switch (end) {
	case End::fin:
		running.wire.fin();
		await_events(running.ours.fd(), POLLRDHUP, "FIN");
		return;
	case End::fin_rst:
		running.wire.fin();
		await_events(running.ours.fd(), POLLRDHUP, "FIN");
		running.wire.reset();
		break;
	case End::fin_reply:
		running.wire.close();
		await_events(running.ours.fd(), POLLRDHUP, "FIN");
		must(running.ours.send(mpa::bytes("reply")), "send");
		break;
	case End::rst_half:
		must(running.ours.shutdown(), "shutdown");
		running.wire.expect_end();
		running.wire.reset();
		break;
	case End::shut_rd:
		must(running.ours.shutdown(SHUT_RD), "shutdown");
		return;
	default:
		running.wire.reset();
		break;
	}
	await_closed(running);
}

// Reads one ULPDU in such a way.
void read_one(mpa::socket &socket, const Bytes &wanted, Reading reading)
{
	Bytes buffer(4096);

	if (reading == Reading::peek)
		for (int n = 0; n < 2; n++) {
			const auto got = must(socket.receive(
				buffer, mpa::receive_flags::peek |
						mpa::receive_flags::dont_wait), "peek");
			is(got.size, wanted.size(), "length peeked");
		}
	if (reading == Reading::short_buffer) {
		const auto got = must(socket.receive(
			std::span(buffer).first(3), mpa::receive_flags::peek |
							    mpa::receive_flags::true_length),
			"peek at three bytes");
		is(got.length, wanted.size(), "true length");
	}
	const auto got = must(socket.receive(buffer, mpa::receive_flags::dont_wait),
			      "receive");
	yes(!got.end, "it is not the end");
	is(got.size, wanted.size(), "length of the ULPDU");
	yes(std::ranges::equal(mpa::const_buffer(buffer).first(got.size), wanted),
	    "its bytes");
}

// Every call reports this end and nothing else.
void expect_over(mpa::socket &socket, int error)
{
	Bytes buffer(64);

	for (int n = 0; n < 3; n++) {
		for (const auto flags : {mpa::receive_flags::none,
					 mpa::receive_flags::peek}) {
			const auto got = socket.receive(
				buffer, flags | mpa::receive_flags::dont_wait);

			is(err(got ? std::error_code{} : got.error()), error,
			   "receive at the end");
			if (got)
				yes(got->end, "the end");
		}
	}
	const auto info = must(socket.info(), "info");
	is(int(info.kind), int(mpa::error_kind::tcp), "kind of the end");
	is(err(info.error), error, "error of the state");
	yes(events_of(socket.fd()) & POLLIN, "it stays readable");
}

void expect_all(Running &running, unsigned int whole, int error, Reading reading)
{
	const auto before = must(running.ours.info(), "info");

	if (whole) {
		is(err(before.error), 0, "error while ULPDUs are unread");
		is(int(before.kind), int(mpa::error_kind::none),
		   "kind while ULPDUs are unread");
	}
	if (reading == Reading::error_first)
		(void)running.ours.pending_error();
	for (unsigned int n = 0; n < whole; n++) {
		const Row row("ULPDU", n);

		yes(events_of(running.ours.fd()) & POLLIN, "readable");
		read_one(running.ours, pattern(size_of(n), n), reading);
	}
	expect_over(running.ours, error);
	const auto stats = must(running.ours.stats(), "counts");
	is(stats.rx_fpdus, std::uint64_t{whole}, "FPDUs counted");
	is(stats.rx_crc_errors + stats.rx_marker_errors, 0u, "errors counted");
}

int error_of(const Kind &kind, std::size_t part)
{
	return part ? kind.within : kind.between;
}

constexpr std::array<unsigned int, 3> wholes{0, 1, 40};
constexpr std::array<std::size_t, 3> parts{0, 1, 60};

CASE("unread: all whole ULPDUs come before the end")
{
	for (const auto &kind : here)
		for (const auto whole : wholes)
			for (const auto part : parts) {
				const Row row(kind.name, "after", whole, "and", part);
				Running running(role::initiator);

				fill(running, whole, part);
				end_here(running, kind.end);
				expect_all(running, whole, error_of(kind, part),
					   Reading::plain);
			}
}

CASE("unread: however they are read")
{
	for (const auto &[reading, name] : readings)
		for (const auto &kind : here)
			for (const std::size_t part : {0, 60}) {
				const Row row(kind.name, "and", part, name);
				Running running(role::responder);

				fill(running, 9, part);
				end_here(running, kind.end);
				expect_all(running, 9, error_of(kind, part), reading);
			}
}

// The link goes down, for all of them at once.
CASE("unread: all whole ULPDUs come before TCP gives up")
{
	struct One {
		Running running{role::initiator};
		const Kind *kind;
		unsigned int whole;
		std::size_t part;
	};
	std::vector<std::unique_ptr<One>> all;

	for (const auto &kind : lost)
		for (const auto whole : wholes)
			for (const auto part : parts) {
				auto one = std::make_unique<One>();
				const int fd = one->running.ours.fd();

				one->kind = &kind;
				one->whole = whole;
				one->part = part;
				fill(one->running, whole, part);
				if (kind.end == End::fin_silence) {
					one->running.wire.fin();
					await_events(fd, POLLRDHUP, "FIN");
				}
				if (kind.end == End::keepalive) {
					set(fd, SOL_TCP, TCP_KEEPCNT, 1);
					set(fd, SOL_TCP, TCP_KEEPINTVL, 1);
					set(fd, SOL_TCP, TCP_KEEPIDLE, 1);
				} else {
					set(fd, SOL_TCP, TCP_USER_TIMEOUT, 1000);
				}
				all.push_back(std::move(one));
			}
	is(::system("ip -n h2 link set eth0 down"), 0, "the link goes down");
	for (auto &one : all) {
		if (one->kind->end == End::keepalive)
			set(one->running.ours.fd(), SOL_SOCKET, SO_KEEPALIVE, 1);
		else
			must(one->running.ours.send(mpa::bytes("anybody?")), "send");
	}
	for (auto &one : all)
		await_closed(one->running);
	is(::system("ip -n h2 link set eth0 up && "
		    "ip -n h2 addr replace fd77::2/64 dev eth0 nodad"), 0,
	   "the link comes back");
	for (auto &one : all) {
		const Row row(one->kind->name, "after", one->whole, "and", one->part);

		expect_all(one->running, one->whole, error_of(*one->kind, one->part),
			   Reading::plain);
	}
}

// Longer than the receive buffer: its first bytes were taken out of TCP's
// queue.
CASE("unread: a ULPDU that filled the receive buffer")
{
	for (const bool whole : {true, false}) {
		const Row row(whole ? "whole" : "a part");
		Running running(role::initiator, {}, flag_crc, Buffers{0, 4096});
		const auto longest = pattern(60000);
		const auto frame = fpdu(longest);

		running.wire.send(mpa::const_buffer(frame).first(
			whole ? frame.size() : frame.size() - 1));
		if (whole)
			await_events(running.ours.fd(), POLLIN, "a ULPDU");
		running.wire.reset();
		await_closed(running);
		if (whole)
			expect_ulpdu(running.ours, longest);
		expect_over(running.ours, ECONNRESET);
	}
}

CASE("unread: a waiting receive gets the data that came before the RST")
{
	Running running(role::initiator);
	Bytes buffer(4096);
	std::vector<std::size_t> sizes;
	Err last{0};
	std::atomic<pid_t> thread{0};
	std::jthread waiting([&] {
		thread = ::gettid();
		for (;;) {
			const auto got = running.ours.receive(buffer);

			if (!got || got->end) {
				last = err(got ? std::error_code{} : got.error());
				return;
			}
			sizes.push_back(got->size);
		}
	});

	await_asleep(thread);
	running.wire.send(fpdu(pattern(10)) + fpdu(pattern(20)) + fpdu(pattern(30)));
	running.wire.reset();
	waiting.join();
	is(sizes.size(), 3u, "ULPDUs received");
	is(last, ECONNRESET, "then");
}

// Data that TCP did not take at once meets the reset, and takes the error off
// the socket.
CASE("unread: SO_ERROR reports a reset while data is left to send")
{
	Running running(role::initiator, {}, flag_crc, Buffers{4096, 4096});
	std::vector<mpa::const_buffer> batch;
	const auto bytes = pattern(1000);

	must(running.ours.set_blocking(false), "O_NONBLOCK");
	batch.assign(mpa::batch_max, bytes);
	while (running.ours.send_batch(batch))
		;
	running.wire.reset();
	await_closed(running);
	::poll(nullptr, 0, static_cast<int>(moment.count()));
	yes(events_of(running.ours.fd()) & POLLERR, "POLLERR");
	is(err(running.ours.pending_error()), ECONNRESET, "SO_ERROR");
	expect_over(running.ours, ECONNRESET);
}

} // namespace
