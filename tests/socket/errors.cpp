// SPDX-License-Identifier: GPL-2.0-only
//
// What a peer can do to the stream, and the errors that the application gets.
#include "net.hpp"

#include <cstdlib>

using namespace harness;
using namespace net;

namespace {

using mpa::role;

constexpr std::array roles{role::initiator, role::responder};

std::string name_of(role as)
{
	return as == role::initiator ? "Initiator" : "Responder";
}

// Every call returns the error.
void expect_error(mpa::socket &socket, int error, mpa::error_kind kind,
		  std::source_location at = std::source_location::current())
{
	Bytes buffer(64);

	await_events(socket.fd(), POLLIN, "the error", at);
	for (int n = 0; n < 3; n++) {
		is(err(socket.receive(buffer)), error, "receive", at);
		is(err(socket.receive(buffer, mpa::receive_flags::dont_wait |
						      mpa::receive_flags::peek)),
		   error, "peek", at);
	}
	yes(events_of(socket.fd()) & POLLIN, "it stays readable", at);
	const auto info = must(socket.info(), "info", at);
	is(int(info.kind), int(kind), "kind of the error", at);
	is(err(info.error), error, "error of the state", at);
}

void last_word(Running &running)
{
	must(running.ours.send(mpa::bytes("last word")), "send");
	is(mpa::text(running.wire.read_fpdu()), "last word", "a last word");
}

CASE("errors: a wrong CRC, after good FPDUs")
{
	for (const auto as : roles) {
		for (const unsigned int good : {0u, 1u, 5u}) {
			const Row row(name_of(as), "after", good);
			Running running(as);
			Bytes stream;

			for (unsigned int n = 0; n < good; n++)
				stream = stream + fpdu(pattern(10 + n, n));
			auto bad = fpdu(pattern(100));
			bad.back() ^= std::byte{0x80};
			// The data that follows is not read.
			running.wire.send(stream + bad + fpdu(pattern(50)));
			for (unsigned int n = 0; n < good; n++)
				expect_ulpdu(running.ours, pattern(10 + n, n));
			expect_error(running.ours, EBADMSG, mpa::error_kind::crc);
			const auto stats = must(running.ours.stats(), "counts");
			is(stats.rx_fpdus, std::uint64_t{good}, "good ones");
			is(stats.rx_crc_errors, 1u, "bad ones");
			is(name(must(running.ours.info(), "info").state),
			   name(mpa::state::receive_ended), "state");
			yes(!(events_of(running.ours.fd()) & POLLHUP), "TCP lives");
			if (as == role::initiator || good)
				last_word(running);
			must(running.ours.shutdown(), "shutdown");
			running.wire.expect_end();
		}
	}
}

CASE("errors: a bit anywhere in an FPDU")
{
	// Length, payload, padding, CRC. A greater length only makes the
	// receiver wait if too few bytes follow.
	for (const std::size_t at : {1, 2, 3, 10, 18, 19, 20, 21, 22, 23}) {
		const Row row("byte", at);
		Running running(role::initiator);
		auto bad = fpdu(pattern(17));

		bad[at] ^= std::byte{1};
		running.wire.send(bad + fpdu(pattern(100)));
		expect_error(running.ours, EBADMSG, mpa::error_kind::crc);
	}
}

CASE("errors: CRCs are not checked when none are in use")
{
	mpa::params params;

	params.no_crc = true;
	Running running(role::initiator, params, 0);
	auto odd = fpdu(pattern(30));

	odd.back() ^= std::byte{1};
	running.wire.send(odd);
	expect_ulpdu(running.ours, pattern(30));
	yes(!must(running.ours.info(), "info").crc, "none are in use");
}

mpa::params with_markers()
{
	mpa::params params;

	params.markers = true;
	return params;
}

CASE("errors: Markers in the right places")
{
	for (const auto as : roles) {
		const Row row(name_of(as));
		Running running(as, with_markers());
		MarkedStream stream;

		for (const std::size_t size : {0, 1, 497, 498, 499, 500, 501, 502, 503,
					       504, 505, 1000, 1400}) {
			const Row length(size);

			running.wire.send(stream.fpdu(pattern(size)));
			expect_ulpdu(running.ours, pattern(size));
		}
	}
}

CASE("errors: a wrong Marker, after good FPDUs")
{
	for (const auto as : roles) {
		for (const int wrong : {4, -4, 1000}) {
			const Row row(name_of(as), "FPDUPTR", wrong);
			Running running(as, with_markers());
			MarkedStream stream;

			auto bytes = stream.fpdu(pattern(100));
			bytes = bytes + stream.fpdu(pattern(1000), wrong);
			bytes = bytes + stream.fpdu(pattern(10));
			running.wire.send(bytes);
			expect_ulpdu(running.ours, pattern(100));
			expect_error(running.ours, EPROTO, mpa::error_kind::marker);
			is(must(running.ours.stats(), "counts").rx_marker_errors, 1u,
			   "Marker errors");
			last_word(running);
		}
	}
}

// RFC 5044 section 4.3: the receiver ignores the lowest two bits.
CASE("errors: the lowest bits of a Marker are ignored")
{
	for (const int bits : {1, 2, 3}) {
		const Row row(bits);
		Running running(role::initiator, with_markers());
		MarkedStream stream;

		running.wire.send(stream.fpdu(pattern(1000), bits));
		expect_ulpdu(running.ours, pattern(1000));
	}
}

CASE("errors: the peer ends at any byte of an FPDU")
{
	const auto frame = fpdu(pattern(9));

	for (const auto as : roles) {
		for (std::size_t cut = 0; cut <= frame.size(); cut++) {
			const Row row(name_of(as), "after", cut);
			Running running(as);

			running.wire.send(fpdu(mpa::bytes("good")) +
					  mpa::const_buffer(frame).first(cut));
			running.wire.fin();
			expect_ulpdu(running.ours, mpa::bytes("good"));
			if (cut == frame.size())
				expect_ulpdu(running.ours, pattern(9));
			if (cut == 0 || cut == frame.size())
				expect_end(running.ours);
			else
				expect_error(running.ours, ECONNABORTED,
					     mpa::error_kind::tcp);
		}
	}
}

CASE("errors: the peer resets, after good FPDUs")
{
	for (const auto as : roles) {
		for (const bool within : {false, true}) {
			const Row row(name_of(as), within ? "within an FPDU" : "between");
			Running running(as);
			const auto frame = fpdu(pattern(100));

			running.wire.send(fpdu(mpa::bytes("good")));
			expect_ulpdu(running.ours, mpa::bytes("good"));
			running.wire.send(mpa::const_buffer(frame).first(within ? 50 : 0));
			running.wire.reset();
			await_events(running.ours.fd(), POLLHUP | POLLIN, "RST");
			expect_error(running.ours, ECONNRESET, mpa::error_kind::tcp);
			// SO_ERROR is reported once.
			(void)running.ours.send(mpa::bytes("x"));
			is(err(running.ours.send(mpa::bytes("x"))), EPIPE, "send");
		}
	}
}

CASE("errors: the first reason stays")
{
	Running running(role::initiator);
	auto bad = fpdu(pattern(100));

	bad.back() ^= std::byte{1};
	running.wire.send(bad);
	expect_error(running.ours, EBADMSG, mpa::error_kind::crc);
	running.wire.reset();
	await_events(running.ours.fd(), POLLHUP, "RST");
	expect_error(running.ours, EBADMSG, mpa::error_kind::crc);
}

CASE("errors: a waiting receive returns the error")
{
	for (const int error : {EBADMSG, ECONNABORTED, ECONNRESET}) {
		const Row row(Err{error});
		Running running(role::initiator);
		Bytes buffer(64);
		Err got{0};
		std::atomic<pid_t> thread{0};
		std::jthread waiting([&] {
			thread = ::gettid();
			got = err(running.ours.receive(buffer));
		});

		await_asleep(thread);
		auto frame = fpdu(pattern(20));
		frame.back() ^= std::byte{1};
		running.wire.send(mpa::const_buffer(frame).first(
			error == EBADMSG ? frame.size() : 10));
		if (error == ECONNABORTED)
			running.wire.fin();
		if (error == ECONNRESET)
			running.wire.reset();
		waiting.join();
		is(got, error, "receive");
	}
}

CASE("errors: a waiting send returns the error")
{
	Running running(role::initiator);
	Err got{0};
	const auto bytes = pattern(1000);
	std::atomic<pid_t> thread{0};
	std::jthread waiting([&] {
		thread = ::gettid();
		while (got == Err{0})
			got = err(running.ours.send(bytes));
	});

	await([&] { return !(events_of(running.ours.fd()) & POLLOUT); }, "no room");
	await_asleep(thread);
	running.wire.reset();
	waiting.join();
	yes(got == Err{EPIPE} || got == Err{ECONNRESET}, "send");
}

CASE("errors: the peer is silent for too long")
{
	Running running(role::initiator);
	const int limit = 1000;
	Bytes buffer(8);

	must_call(::setsockopt(running.ours.fd(), SOL_TCP, TCP_USER_TIMEOUT, &limit,
			       sizeof(limit)), "TCP_USER_TIMEOUT");
	is(::system("ip -n h2 link set eth0 down"), 0, "the link goes down");
	must(running.ours.send(mpa::bytes("anybody?")), "send");
	const auto ready = must(running.ours.wait(0, 2 * patience), "poll");
	is(::system("ip -n h2 link set eth0 up && "
		    "ip -n h2 addr replace fd77::2/64 dev eth0 nodad"), 0,
	   "the link comes back");
	yes(ready & POLLHUP, "TCP gives up");
	expect_error(running.ours, ETIMEDOUT, mpa::error_kind::tcp);
}

CASE("errors: a length beyond the longest ULPDU")
{
	for (const std::size_t size : {64769, 65535}) {
		for (const bool right : {true, false}) {
			const Row row(size, "CRC", right);
			Running running(role::initiator);
			auto bytes = fpdu(pattern(size));

			if (!right)
				bytes.back() ^= std::byte{1};
			running.wire.send(bytes);
			expect_error(running.ours, right ? EPROTO : EBADMSG,
				     right ? mpa::error_kind::marker :
					     mpa::error_kind::crc);
			const auto stats = must(running.ours.stats(), "counts");
			is(stats.rx_length_errors, right, "length errors");
			is(stats.rx_crc_errors, !right, "CRC errors");
			is(stats.rx_marker_errors, 0u, "Marker errors");
			last_word(running);
		}
	}
}

CASE("errors: a length beyond the longest ULPDU, and no CRCs")
{
	mpa::params params;

	params.no_crc = true;
	Running running(role::initiator, params, 0);
	running.wire.send(mpa::const_buffer(fpdu(pattern(64769))).first(2));
	expect_error(running.ours, EPROTO, mpa::error_kind::marker);
	is(must(running.ours.stats(), "counts").rx_length_errors, 1u,
	   "length errors");
	must(running.ours.send(mpa::bytes("last word")), "send");
	// Length, ULPDU and pad, and four arbitrary bytes.
	const auto last = running.wire.read(2 + 9 + 1 + 4);
	is(mpa::text(mpa::const_buffer(last).subspan(2, 9)), "last word", "a last word");
}

CASE("errors: the longest ULPDU, in any receive buffer")
{
	for (const auto buffers : {Buffers{}, Buffers{0, 4096}}) {
		const Row row("SO_RCVBUF", buffers.receive);
		Running running(role::initiator, {}, flag_crc, buffers);
		const auto longest = pattern(64768);
		std::jthread sending([&] {
			running.wire.send(fpdu(longest) + fpdu(mpa::bytes("next")));
		});

		expect_ulpdu(running.ours, longest);
		expect_ulpdu(running.ours, mpa::bytes("next"));
	}
}

} // namespace
