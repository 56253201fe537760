// SPDX-License-Identifier: GPL-2.0-only
//
// What an application can check before it answers: a Responder the Request (RFC
// 5044 section 7.1.1), and an Initiator that asked for it the Reply, which it
// may then decline (section 7.1.2 rule 3).
#include "net.hpp"

#include <future>

using namespace harness;
using namespace net;

namespace {

using mpa::role;
using mpa::state;

// In the order of the structure: values that were requested, or agreed on.
struct Terms {
	int rev;
	bool tx_markers, crc, enhanced, peer_to_peer;
	int rtr, peer_ird, peer_ord;
};

void expect_terms(const mpa::info &info, const Terms &wanted)
{
	is(int(info.rev), wanted.rev, "revision");
	is(info.tx_markers, wanted.tx_markers, "Markers for the peer");
	is(info.crc, wanted.crc, "CRCs");
	is(info.enhanced, wanted.enhanced, "enhanced");
	is(info.peer_to_peer, wanted.peer_to_peer, "peer-to-peer");
	is(int(info.rtr), wanted.rtr, "RTR kinds");
	is(info.peer_ird, wanted.peer_ird, "the peer's IRD");
	is(info.peer_ord, wanted.peer_ord, "the peer's ORD");
}

Bytes words(unsigned int first, unsigned int second)
{
	Bytes bytes;

	for (const auto word : {first, second}) {
		bytes.push_back(static_cast<std::byte>(word >> 8));
		bytes.push_back(static_cast<std::byte>(word));
	}
	return bytes;
}

mpa::params reviewing(mpa::revision rev = mpa::revision::automatic)
{
	mpa::params params;

	params.review = true;
	params.rev = rev;
	return params;
}

// An Initiator whose Reply has arrived, possibly with data after it.
struct Reviewed : WithWire {
	explicit Reviewed(const Bytes &answer = reply(flag_crc, 1,
						      mpa::bytes("data")),
			  mpa::params params = reviewing())
	{
		must(ours.set_params(params), "parameters");
		begin(ours, role::initiator);
		wire.read_frame();
		wire.send(answer);
		await_events(ours.fd(), POLLPRI | POLLIN, "the Reply");
		is(name(must(ours.info(), "info").state), name(state::replied),
		   "state");
	}
};

CASE("review: a Responder sees the contents of the Request")
{
	const struct {
		const char *what;
		Bytes frame;
		Terms terms;
	} rows[] = {
		{"CRCs", request(), {1, false, true, false, false, 0, 0, 0}},
		{"nothing", request(0), {1, false, false, false, false, 0, 0, 0}},
		{"Markers", request(flag_markers, 1, mpa::bytes("data")),
		 {1, true, false, false, false, 0, 0, 0}},
		{"revision 2", request(flag_crc, 2),
		 {2, false, true, false, false, 0, 0, 0}},
		{"depths", request(flag_crc | flag_enhanced, 2, words(7, 16382)),
		 {2, false, true, true, false, 0, 7, 16382}},
		{"peer-to-peer",
		 request(flag_markers | flag_enhanced, 2,
			 words(0x8000 | 0x4000 | 3, 0x4000 | 4)),
		 {2, true, false, true, true, 1 | 4, 3, 4}},
	};

	for (const auto &row : rows) {
		const Row name(row.what);
		WithWire pair;

		begin(pair.ours, role::responder);
		expect_terms(must(pair.ours.info(), "info"),
			     {0, false, true, false, false, 0, 0, 0});
		pair.wire.send(row.frame);
		await_request(pair.ours);
		auto info = must(pair.ours.info(), "info");
		expect_terms(info, row.terms);
		is(info.mulpdu, 0u, "MULPDU");
		is(int(info.ddp_version), 0, "DDP's version");
		is(info.ird + info.ord, 0, "our depths");
		yes(!info.rx_markers, "nothing is agreed on");
		must(pair.ours.accept_request(), "accept");
		pair.wire.read_frame();
		info = must(pair.ours.info(), "info");
		// From here on, the values that both sides agreed on: our side
		// prefers CRCs.
		yes(info.crc, "CRCs are in use");
		is(info.tx_markers, row.terms.tx_markers, "Markers in use");
		is(int(info.ddp_version), 1, "DDP's version");
	}
}

CASE("review: a Responder sees a Request of revision 0")
{
	WithWire pair;
	mpa::params params;

	params.permissive = true;
	must(pair.ours.set_params(params), "parameters");
	begin(pair.ours, role::responder);
	pair.wire.send(request(flag_markers | flag_crc, 0));
	await_request(pair.ours);
	expect_terms(must(pair.ours.info(), "info"),
		     {0, true, true, false, false, 0, 0, 0});
	must(pair.ours.reject_request(), "reject");
	pair.wire.read_frame();
}

CASE("review: an Initiator accepts the Reply")
{
	for (const bool wait : {false, true}) {
		const Row row(wait ? "blocking" : "non-blocking");
		Attached both;

		must(both.near.set_params(reviewing()), "parameters");
		yes(must(both.near.params(), "parameters").review, "flag");
		begin(both.far, role::responder);
		std::future<Err> near;
		if (wait)
			near = std::async(std::launch::async, [&] {
				return err(both.near.start(role::initiator));
			});
		else
			begin(both.near, role::initiator);
		await_request(both.far);
		must(both.far.accept_request(mpa::bytes("welcome")), "accept");
		if (wait)
			is(near.get(), 0, "start, when the Reply waits");
		await_events(both.near.fd(), POLLIN | POLLPRI, "the Reply");
		yes(!(events_of(both.near.fd()) & (POLLOUT | POLLERR)),
		    "no room before the answer");
		is(mpa::text(must(both.near.peer_data(), "data")), "welcome",
		   "private data");
		auto info = must(both.near.info(), "info");
		is(name(info.state), name(state::replied), "state");
		is(int(info.rev), 1, "revision");
		is(info.mulpdu, 0u, "MULPDU");
		is(err(both.near.send(mpa::bytes("x"))), ENOTCONN, "send");
		std::byte byte;
		is(err(both.near.receive({&byte, 1})), ENOTCONN, "receive");
		must(both.near.accept_reply(), "accept");
		is(name(must(both.near.info(), "info").state),
		   name(state::operational), "state");
		await_events(both.near.fd(), POLLOUT, "room");
		yes(!(events_of(both.near.fd()) & POLLPRI), "it is answered");
		is(err(both.near.pending_error()), 0, "SO_ERROR");
		is(err(both.near.accept_reply()), EINVAL, "once more");
		is(err(both.near.decline_reply()), EINVAL, "too late");
		must(both.near.send(mpa::bytes("ping")), "send");
		expect_ulpdu(both.far, mpa::bytes("ping"));
		must(both.far.send(mpa::bytes("pong")), "send back");
		expect_ulpdu(both.near, mpa::bytes("pong"));
	}
}

CASE("review: an Initiator declines the Reply and keeps TCP")
{
	Reviewed pair(reply(flag_crc, 1, mpa::bytes("data")) +
		      mpa::bytes("behind it"));
	char text[16] = "";

	is(err_of(::setsockopt(pair.ours.fd(), SOL_MPA, MPA_SO_REJECT, "no", 2)),
	   EINVAL, "there is no frame to put data into");
	must(pair.ours.decline_reply(), "decline");
	const auto info = must(pair.ours.info(), "info");
	is(name(info.state), name(state::rejected), "state");
	is(int(info.kind), MPA_CODE_NONE, "no error");
	is(err(pair.ours.pending_error()), 0, "SO_ERROR");
	is(mpa::text(must(pair.ours.peer_data(), "data")), "data", "private data");
	// Nothing was sent, nothing is lost, and both directions are open.
	await_events(pair.ours.fd(), POLLIN | POLLOUT, "what followed");
	is(must_call(::recv(pair.ours.fd(), text, 16, 0), "recv"), 9L, "length");
	is(std::string(text), "behind it", "bytes");
	must_call(::send(pair.ours.fd(), "plain", 5, 0), "send");
	is(mpa::text(pair.wire.read(5)), "plain", "what the peer gets first");
	pair.wire.send(mpa::bytes("too"));
	await_events(pair.ours.fd(), POLLIN, "an answer");
	is(must_call(::recv(pair.ours.fd(), text, 16, 0), "recv"), 3L, "length");
	is(err(pair.ours.decline_reply()), EINVAL, "once more");
	is(err(pair.ours.accept_reply()), EINVAL, "too late");
	must(pair.ours.shutdown(), "shutdown");
	pair.wire.expect_end();
}

CASE("review: a socket that is closed without an answer")
{
	Reviewed pair;

	pair.ours.close();
	pair.wire.expect_end();
}

CASE("review: the peer resets meanwhile")
{
	for (const bool accept : {false, true}) {
		const Row row(accept ? "accept" : "decline");
		Reviewed pair;

		pair.wire.reset();
		await_events(pair.ours.fd(), POLLHUP | POLLERR, "RST");
		is(err(accept ? pair.ours.accept_reply()
			      : pair.ours.decline_reply()),
		   ECONNRESET, "answer");
		expect_failed(pair.ours, ECONNRESET);
	}
}

CASE("review: the peer ends its half meanwhile")
{
	Reviewed accepted, declined;
	std::byte byte;

	for (auto *pair : {&accepted, &declined}) {
		pair->wire.fin();
		await_events(pair->ours.fd(), POLLRDHUP, "FIN");
		is(name(must(pair->ours.info(), "info").state),
		   name(state::replied), "state");
	}
	must(accepted.ours.accept_reply(), "accept");
	expect_end(accepted.ours);
	must(accepted.ours.send(mpa::bytes("still")), "send");
	is(mpa::text(accepted.wire.read_fpdu()), "still", "our half is open");
	must(declined.ours.decline_reply(), "decline");
	is(must(declined.ours.receive({&byte, 1}), "receive").size, 0u, "the end");
	must_call(::send(declined.ours.fd(), "plain", 5, 0), "send");
	is(mpa::text(declined.wire.read(5)), "plain", "our half is open");
}

CASE("review: the Reply waits without a time limit")
{
	auto params = reviewing();

	params.timeout = std::chrono::seconds(2);
	Reviewed pair(reply(), params);
	std::this_thread::sleep_for(params.timeout + moment);
	must(pair.ours.accept_reply(), "accept");
	must(pair.ours.send(mpa::bytes("late")), "send");
	is(mpa::text(pair.wire.read_fpdu()), "late", "bytes");
}

CASE("review: revision 2 reports the values that will apply")
{
	auto params = reviewing(mpa::revision::two);

	params.ird = 3, params.ord = 9;
	Reviewed pair(reply(flag_markers | flag_crc | flag_enhanced, 2,
			    words(5, 2)), params);
	auto info = must(pair.ours.info(), "info");
	expect_terms(info, {2, true, true, true, false, 0, 5, 2});
	is(info.ird, 3, "our IRD");
	is(info.ord, 5, "our ORD");
	is(int(info.ddp_version), 1, "DDP's version");
	must(pair.ours.accept_reply(), "accept");
	const auto now = must(pair.ours.info(), "info");
	info.state = now.state;
	info.mulpdu = now.mulpdu;
	yes(info == now, "nothing else changes");
}

CASE("review: only a Reply that accepts waits")
{
	WithWire rejected, improper, unasked;

	for (auto *pair : {&rejected, &improper})
		must(pair->ours.set_params(reviewing()), "parameters");
	for (auto *pair : {&rejected, &improper, &unasked}) {
		begin(pair->ours, role::initiator);
		pair->wire.read_frame();
	}
	rejected.wire.send(reply(flag_crc | flag_reject, 1, mpa::bytes("no")));
	await_events(rejected.ours.fd(), POLLERR, "the refusal");
	is(err(rejected.ours.pending_error()), ECONNREFUSED, "SO_ERROR");
	is(name(must(rejected.ours.info(), "info").state), name(state::rejected),
	   "state");
	improper.wire.send(reply(flag_crc, 3));
	expect_failed(improper.ours, EPROTONOSUPPORT);
	improper.wire.expect_end();
	unasked.wire.send(reply());
	await_operational(unasked.ours);
}

CASE("review: a Responder ignores the flag")
{
	Pair pair(Path::ipv4, {}, reviewing());
}

} // namespace
