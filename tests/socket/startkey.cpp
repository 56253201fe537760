// SPDX-License-Identifier: GPL-2.0-only
//
// The startup exchange of draft-culley-iwarp-mpa-03: Start Keys in place of frames.
#include "net.hpp"

#include <algorithm>

using namespace harness;
using namespace net;
using namespace std::chrono_literals;

namespace {

using mpa::role;
using mpa::startup;
using mpa::state;

constexpr std::string_view text = "MPA ident frame";

mpa::params with(startup kind, bool markers = false, bool crc = true)
{
	mpa::params params;

	params.startup = kind;
	params.markers = markers;
	params.no_crc = !crc;
	return params;
}

const mpa::params keys = with(startup::start_key);

Bytes start_key(unsigned char last = flag_crc)
{
	Bytes key = Bytes{} + mpa::bytes(text);

	key.push_back(std::byte{last});
	return key;
}

// Attached on both ends, and both speak Start Keys.
struct Both : Attached {
	explicit Both(Path path = Path::ipv4) : Attached(path)
	{
		must(near.set_params(keys), "parameters");
		must(far.set_params(keys), "parameters");
	}

	void operate()
	{
		await_request(far);
		must(far.accept_request(), "accept");
		await_operational(near);
		await_operational(far);
		for (mpa::socket *socket : {&near, &far})
			must(socket->set_blocking(true), "blocking");
		must(near.send(mpa::bytes("first")), "first ULPDU");
		expect_ulpdu(far, mpa::bytes("first"));
		must(far.send(mpa::bytes("answer")), "answer");
		expect_ulpdu(near, mpa::bytes("answer"));
	}
};

// A socket that has started with Start Keys, and the bytes of its peer.
struct Waiting : WithWire {
	explicit Waiting(role as, mpa::params params = keys)
	{
		must(ours.set_params(params), "parameters");
		begin(ours, as);
		if (as == role::initiator && params.startup == startup::start_key)
			yes(wire.read(16) == start_key(), "our key");
	}

	// In full operation.
	void operate(role as, unsigned char last = flag_crc)
	{
		wire.send(start_key(last));
		if (as == role::responder) {
			await_request(ours);
			must(ours.accept_request(), "accept");
			yes(wire.read(16) == start_key(), "our key");
		}
		await_operational(ours);
		must(ours.set_blocking(true), "blocking");
	}
};

void expect_result(mpa::socket &socket, bool markers, bool tx_markers, bool crc)
{
	const mpa::info info = must(socket.info(), "info");

	yes(info.start_key, "Start Keys");
	is(info.rx_markers, markers, "Markers of the peer");
	is(info.tx_markers, tx_markers, "Markers for the peer");
	is(info.crc, crc, "CRC");
	is(int(info.rev), 0, "revision");
	is(int(info.ddp_version), 0, "version of DDP");
	yes(!info.enhanced && !info.peer_to_peer, "nothing else");
}

CASE("startkey: at once")
{
	for (const Path path : paths) {
		const Row row(path);
		Both both(path);

		begin(both.near, role::initiator);
		begin(both.far, role::responder);
		both.operate();
		expect_result(both.near, false, false, true);
		expect_result(both.far, false, false, true);
		const mpa::info request = must(both.far.info(), "info");
		is(request.peer_data_size, 0u, "private data");
	}
}

CASE("startkey: after a dialogue")
{
	Both both;

	must_call(::send(both.near.fd(), "MPA?", 4, 0), "send");
	expect_text(both.far.fd(), "MPA?");
	must_call(::send(both.far.fd(), "yes", 3, 0), "send");
	expect_text(both.near.fd(), "yes");
	begin(both.far, role::responder);
	begin(both.near, role::initiator);
	both.operate();
}

CASE("startkey: the last message")
{
	Both both;

	must(both.far.set_last_message(mpa::bytes("go ahead\r\n")), "last message");
	begin(both.far, role::responder);
	expect_text(both.near.fd(), "go ahead\r\n");
	begin(both.near, role::initiator);
	both.operate();
}

CASE("startkey: all Markers and CRCs")
{
	for (unsigned int bits = 0; bits < 16; bits++) {
		const Row row(bits);
		const bool near_m = bits & 1, near_c = bits & 2;
		const bool far_m = bits & 4, far_c = bits & 8;
		Pair pair(Path::ipv4, with(startup::start_key, near_m, near_c),
			  with(startup::start_key, far_m, far_c));

		expect_result(pair.near, near_m, far_m, near_c || far_c);
		expect_result(pair.far, far_m, near_m, near_c || far_c);
		for (const std::size_t size : {1, 500, 1371}) {
			must(pair.near.send(pattern(size, bits)), "send");
			expect_ulpdu(pair.far, pattern(size, bits));
			must(pair.far.send(pattern(size, bits)), "send");
			expect_ulpdu(pair.near, pattern(size, bits));
		}
	}
}

// One that takes either, in all portions of the first bytes.
CASE("startkey: a Responder of both kinds")
{
	for (const bool with_key : {false, true}) {
		for (const std::size_t first : {1, 4, 5, 15}) {
			const Row row(with_key ? "key" : "frame", first);
			const Bytes bytes = with_key ? start_key() : request();
			Waiting pair(role::responder, with(startup::either));

			pair.wire.send(mpa::const_buffer(bytes.data(), first));
			state_is(pair.ours, state::wait_request);
			pair.wire.send(mpa::const_buffer(bytes.data() + first,
							 bytes.size() - first));
			await_request(pair.ours);
			is(must(pair.ours.info(), "info").start_key, with_key, "what it was");
			must(pair.ours.accept_request(), "accept");
			if (with_key)
				yes(pair.wire.read(16) == start_key(), "our key");
			else
				pair.wire.read_frame();
			await_operational(pair.ours);
			pair.wire.send(fpdu(mpa::bytes("hello")));
			expect_ulpdu(pair.ours, mpa::bytes("hello"));
			is(must(pair.ours.info(), "info").start_key, with_key, "what it is");
		}
	}
	// An Initiator sends frames then.
	Waiting pair(role::initiator, with(startup::either));

	is(mpa::text(pair.wire.read_frame().first).substr(0, 16), "MPA ID Req Frame",
	   "the frame");
}

CASE("startkey: no FPDU before the key")
{
	Waiting pair(role::responder);

	pair.wire.send(start_key());
	await_request(pair.ours);
	is(err(pair.ours.send(mpa::bytes("early"))), ENOTCONN, "send");
	must(pair.ours.accept_request(), "accept");
	yes(pair.wire.read(16) == start_key(), "our key, and nothing before it");

	Waiting active(role::initiator);

	is(err(active.ours.send(mpa::bytes("early"))), EAGAIN, "send");
	active.operate(role::initiator);
	must(active.ours.send(mpa::bytes("now")), "send");
	yes(active.wire.read_fpdu() == Bytes{} + mpa::bytes("now"), "the first FPDU");
}

CASE("startkey: nothing is sent before the first FPDU")
{
	Waiting pair(role::responder);

	pair.operate(role::responder);
	must(pair.ours.set_blocking(false), "O_NONBLOCK");
	is(err(pair.ours.send(mpa::bytes("early"))), EAGAIN, "send");
	yes(!(events_of(pair.ours.fd()) & POLLOUT), "not writable");
	pair.wire.send(fpdu(mpa::bytes("now")));
	expect_ulpdu(pair.ours, mpa::bytes("now"));
	await_events(pair.ours.fd(), POLLOUT, "room");
	must(pair.ours.send(mpa::bytes("later")), "send");
	yes(pair.wire.read_fpdu() == Bytes{} + mpa::bytes("later"), "the FPDU");
}

CASE("startkey: what lies behind a key")
{
	// Before our own key is out it is an error; nobody knows of Markers yet.
	Waiting passive(role::responder);

	passive.wire.send(start_key() + fpdu(mpa::bytes("too early")));
	await_request(passive.ours);
	await_events(passive.ours.fd(), POLLIN | POLLPRI, "the key");
	is(err(passive.ours.accept_request()), EPROTO, "accept");
	state_is(passive.ours, state::failed);

	// Behind the answer it is counted and read.
	Waiting active(role::initiator);

	active.wire.send(start_key() + fpdu(mpa::bytes("soon")));
	await_operational(active.ours);
	expect_ulpdu(active.ours, mpa::bytes("soon"));
	is(must(active.ours.stats(), "counts").rx_too_soon, 1u, "too soon");
}

// Each byte of the text, and as soon as it is there.
CASE("startkey: an improper key")
{
	for (const role as : {role::initiator, role::responder}) {
		for (std::size_t at = 0; at < text.size(); at++) {
			const Row row(as == role::initiator ? "active" : "passive", at);
			Waiting pair(as);
			Bytes key = start_key();

			key[at] ^= std::byte{1};
			pair.wire.send(mpa::const_buffer(key.data(), at + 1));
			expect_failed(pair.ours, EPROTO);
			pair.wire.expect_end();
		}
	}
	// A Request is none, nor is a key where a Request is wanted.
	Waiting frame(role::responder);

	frame.wire.send(request());
	expect_failed(frame.ours, EPROTO);
	Waiting key(role::responder, with(startup::frames));

	key.wire.send(start_key());
	expect_failed(key.ours, EPROTO);
}

CASE("startkey: a later revision")
{
	for (const role as : {role::initiator, role::responder}) {
		for (unsigned char rev = 1; rev < 16; rev++) {
			const Row row(as == role::initiator ? "active" : "passive", int(rev));
			Waiting pair(as);

			pair.wire.send(start_key(flag_crc | rev));
			expect_failed(pair.ours, EPROTONOSUPPORT);
			pair.wire.expect_end();
		}
		// Reserved bits do not matter.
		Waiting pair(as);

		pair.operate(as, 0x30 | flag_crc);
		expect_result(pair.ours, false, false, true);
	}
}

CASE("startkey: time limits")
{
	mpa::params params = keys;

	params.timeout = 200ms;
	for (const role as : {role::initiator, role::responder}) {
		for (const std::size_t sent : {0, 4, 15}) {
			const Row row(as == role::initiator ? "active" : "passive", sent);
			Waiting pair(as, params);

			pair.wire.send(mpa::const_buffer(start_key().data(), sent));
			expect_failed(pair.ours, ETIMEDOUT);
		}
	}
}

CASE("startkey: no rejection, no private data")
{
	{
		Both both;

		must(both.near.set_private_data(mpa::bytes("x")), "private data");
		is(err(both.near.start(role::initiator)), EMSGSIZE, "start");
		must(both.near.set_private_data({}), "private data");
	}
	Waiting pair(role::responder);

	pair.wire.send(start_key());
	await_request(pair.ours);
	is(err(pair.ours.accept_request(mpa::bytes("x"))), EMSGSIZE, "accept");
	is(err(pair.ours.reject_request(mpa::bytes("x"))), EMSGSIZE, "reject");
	must(pair.ours.reject_request(), "reject");
	state_is(pair.ours, state::rejected);
	expect_result(pair.ours, false, false, true);
	// Nothing says so to the peer but the end of TCP.
	yes(!(events_of(pair.wire.fd(), POLLIN) & POLLIN), "nothing is sent");
	const mpa::descriptor end(pair.ours.release());

	must_call(::shutdown(end.get(), SHUT_WR), "shutdown");
	pair.wire.expect_end();
}

CASE("startkey: an answer by itself has none either")
{
	mpa::params params = with(startup::either);

	params.auto_accept = true;
	for (const bool data : {false, true}) {
		const Row row(data);
		WithWire pair;

		must(pair.ours.set_params(params), "parameters");
		if (data)
			must(pair.ours.set_private_data(mpa::bytes("x")), "private data");
		begin(pair.ours, role::responder);
		pair.wire.send(start_key());
		if (data) {
			expect_failed(pair.ours, EMSGSIZE);
			is(err(pair.ours.reject_request()), EINVAL, "no answer any more");
			is(err(pair.ours.accept_request()), EINVAL, "none at all");
		} else {
			yes(pair.wire.read(16) == start_key(), "our key");
		}
	}
}

// The peer uses MPA, but what this side does not take; anything else is ordinary TCP.
CASE("startkey: plain TCP on the same port")
{
	struct {
		startup kind;
		Bytes bytes;
		int error;
	} const rows[] = {
		{startup::frames, start_key(), EPROTO},
		{startup::start_key, request(), EPROTO},
		{startup::frames, Bytes{} + mpa::bytes("MPA?"), 0},
		{startup::start_key, Bytes{} + mpa::bytes("MPA?"), 0},
		{startup::either, Bytes{} + mpa::bytes("MPA?"), 0},
		{startup::either, Bytes{} + mpa::bytes("MPA idea"), 0},
		{startup::start_key, Bytes{} + mpa::bytes("MPA idea"), 0},
		{startup::either, Bytes{} + mpa::bytes("MPA IDEA"), 0},
		{startup::either, start_key(flag_crc | 1), EPROTONOSUPPORT},
	};

	for (const auto &first : rows) {
		const Row row(mpa::text(first.bytes).substr(0, 8));
		mpa::params params = with(first.kind);

		params.plain = true;
		Waiting pair(role::responder, params);

		pair.wire.send(first.bytes);
		if (first.error) {
			expect_failed(pair.ours, first.error);
			continue;
		}
		await([&] { return must(pair.ours.info(), "info").state == state::plain; },
		      "ordinary TCP");
		expect_text(pair.ours.fd(), mpa::text(first.bytes));
	}
}

CASE("startkey: an empty ULPDU")
{
	Both both;

	begin(both.near, role::initiator);
	begin(both.far, role::responder);
	both.operate();
	is(err(both.near.send({})), EINVAL, "send");
	must(both.near.send(mpa::bytes("x")), "send");
	expect_ulpdu(both.far, mpa::bytes("x"));

	// Of a peer it is taken.
	Waiting pair(role::initiator);

	pair.operate(role::initiator);
	must(pair.ours.send(mpa::bytes("first")), "send");
	pair.wire.send(fpdu({}));
	expect_ulpdu(pair.ours, {});
}

CASE("startkey: the end")
{
	for (const role as : {role::initiator, role::responder}) {
		for (const std::size_t sent : {0, 1, 15}) {
			for (const bool reset : {false, true}) {
				const Row row(as == role::initiator ? "active" : "passive",
					      sent, reset ? "reset" : "FIN");
				Waiting pair(as);

				pair.wire.send(mpa::const_buffer(start_key().data(), sent));
				if (reset)
					pair.wire.reset();
				else
					pair.wire.fin();
				await([&] {
					const state now = must(pair.ours.info(), "info").state;

					return now == state::failed || now == state::closed;
				}, "the end");
			}
		}
	}
	Both both;

	begin(both.near, role::initiator);
	begin(both.far, role::responder);
	both.operate();
	must(both.near.shutdown(), "shutdown");
	expect_end(both.far);
	must(both.far.shutdown(), "shutdown");
	expect_end(both.near);
}

} // namespace
