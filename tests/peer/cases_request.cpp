// SPDX-License-Identifier: GPL-2.0-only
//
// Startup with the peer as Initiator: Requests and what is sent in place of
// one.
#include "cases.hpp"

#include <cerrno>
#include <memory>
#include <system_error>

namespace peer {

namespace {

constexpr auto echo_mode = static_cast<std::uint8_t>(Mode::echo);

Frame request(Bytes data = {echo_mode})
{
	return {.data = std::move(data), .length = {}};
}

Frame enhanced(const Enhanced &depths, Bytes data = {echo_mode})
{
	return {.flags = flag_crc | flag_enhanced,
		.rev = 2,
		.data = join(depths.encode(), data),
		.length = {}};
}

Bytes key_wrong_at(std::size_t at)
{
	auto frame = request();

	frame.key[at] ^= 0x20;
	return frame.encode();
}

// The exchange continues by itself once the frame is sent.
Outcome accepts(const Frame &frame, Outcome then = works())
{
	return {"accepts; then " + then.text, [frame, then](Session &s) {
			s.operate(frame, s.next_frame());
			then.check(s);
		}};
}

Outcome answers(const Frame &frame, const std::string &like,
		std::function<bool(const Enhanced &)> right,
		Outcome then = works())
{
	return {"sends a Reply with " + like + "; then " + then.text,
		[frame, right, then](Session &s) {
			s.operate(frame, s.next_frame());
			if (!right(Enhanced::decode(s.theirs.data)))
				throw Mismatch(s.theirs.words());
			then.check(s);
		}};
}

// A FIN may arrive before the application has answered: then the Request is no
// longer reported.
Outcome gives_up()
{
	return {"sends a Reply, or none, and closes TCP", [](Session &s) {
			s.receive_all();
			const auto length = Frame::length_of(s.received);
			if (s.received.empty())
				s.tally.add("conn_startup_error");
			if (length && s.received.size() == *length)
				s.received.clear();
			s.must_end(s.soon());
		}};
}

Case &refused(Table &t, const std::string &name, const std::string &what,
	      std::vector<Step> steps, Outcome outcome = closes())
{
	return t.add("request/" + name, what, connected, std::move(steps),
		     std::move(outcome))
		.only(Role::initiator)
		.counts("conn_startup_error");
}

// An RNIC's connection manager has room for 255 bytes of private data: a frame
// with more is an improper one (RFC 5044 section 7.1.2 rule 9).
Case &taken(Table &t, const std::string &name, const std::string &what,
	    const Frame &frame, std::optional<Step> how = {})
{
	const bool too_much = frame.consumer_data().size() > 255;
	auto &row = t.add("request/" + name, what, connected,
			  {how ? *how : send(frame.encode())},
			  too_much ? closes() : accepts(frame))
			    .only(Role::initiator);

	return too_much ? row.on_socket(accepts(frame))
				  .counts("conn_startup_error") : row;
}

void add_keys(Table &t)
{
	for (std::size_t at = 0; at < 16; at++)
		refused(t, "key-byte-" + std::to_string(at),
			"one bit of the key's byte " + std::to_string(at) +
				" is wrong",
			{send(key_wrong_at(at))});
	auto reply = request();
	reply.key = text(reply_key);
	refused(t, "is-a-reply", "a Reply in place of the Request",
		{send(reply.encode())});
	auto lower = request();
	lower.key = text("mpa id req frame");
	refused(t, "key-lower-case", "the key in lower case",
		{send(lower.encode())});
}

void add_revisions(Table &t)
{
	for (int rev : {3, 4, 15, 16, 127, 128, 254, 255}) {
		auto frame = request();
		frame.rev = static_cast<std::uint8_t>(rev);
		refused(t, "revision-" + std::to_string(rev),
			"a Request of an unknown revision",
			{send(frame.encode())});
	}
	// RFC 5044 appendix C.2.1: the Reply has the highest supported
	// revision.
	for (int flags : {0, 0x40, 0x80, 0xc0, 0xd0, 0xdf}) {
		auto frame = request();
		frame.rev = 0;
		frame.flags = static_cast<std::uint8_t>(flags);
		t.add("request/revision-0-flags-" + std::to_string(flags),
		      "a Request of revision 0, to a target that does not speak it",
		      connected, {send(frame.encode())},
		      replies("R, of revision 1",
			      [](const Frame &f) {
				      return f.has(flag_reject) && f.rev == 1 &&
					     !f.has(flag_enhanced);
			      },
			      closes()))
			.only(Role::initiator)
			.on_socket(closes())
			.counts("conn_rejected");
	}
	t.add("request/revisions-all",
	      "253 connections with a Request of each revision but 0, 1 and 2",
	      nothing,
	      {[](Session &s) {
		      auto frame = request();
		      for (int rev = 3; rev < 256; rev++) {
			      Session one(s.env, s.tally);
			      frame.rev = static_cast<std::uint8_t>(rev);
			      one.open();
			      one.send(frame.encode());
			      one.must_end(one.soon());
		      }
	      }},
	      custom("closes each without another byte", [](Session &) {}))
		.only(Role::initiator)
		.counts("conn_startup_error", 253)
		.takes_long();
}

void add_flags(Table &t)
{
	for (int bit : {0x01, 0x02, 0x04, 0x08, 0x0f, 0x10, 0x1f}) {
		auto frame = request();
		frame.flags |= bit;
		taken(t, "reserved-" + std::to_string(bit),
		      "reserved bits of the flags are set: to be ignored", frame);
	}
	for (int bit : {0x01, 0x02, 0x03, 0x04, 0x08, 0x0e, 0x0f}) {
		auto frame = enhanced({.ird = 4, .ord = 4});
		frame.flags |= bit;
		taken(t, "enhanced-reserved-" + std::to_string(bit),
		      "reserved bits in an enhanced Request: to be ignored, except the one "
		      "that asks for extensions",
		      frame).only(Kind::rnic);
	}
	auto frame = request();
	frame.flags |= flag_reject;
	taken(t, "reject-bit", "the R bit in a Request: to be ignored", frame);
	frame = request();
	frame.flags = 0;
	taken(t, "no-crc-asked", "C is 0: CRCs are in use if the target asks for them",
	      frame);
	frame = request();
	frame.flags |= flag_markers;
	taken(t, "markers-asked", "M is 1: the target must insert Markers", frame);
	// Bytes that would be A and all kinds of RTR if the bit were S.
	for (std::size_t bytes : {1, 3, 4, 8, 512}) {
		frame = request(join(zeros(bytes - 1, 0xff), Bytes{echo_mode}));
		frame.flags |= flag_enhanced;
		taken(t, "enhanced-revision-1-" + std::to_string(bytes),
		      "bit 0x10 in revision 1, where it is reserved, with " +
			      std::to_string(bytes) +
			      " bytes of private data",
		      frame);
	}
	t.add("request/flags-all",
	      "256 connections with a Request of each flag byte, of revision 1",
	      nothing,
	      {[](Session &s) {
		      auto asked = request();
		      for (int flags = 0; flags < 256; flags++) {
			      Session one(s.env, s.tally);
			      asked.flags = static_cast<std::uint8_t>(flags);
			      one.start(asked);
			      one.good_exchange();
			      one.socket.fin();
			      one.drain();
		      }
	      }},
	      custom("takes each for a plain one", [](Session &) {}))
		.only(Role::initiator)
		.takes_long();
	for (std::size_t bytes : {0, 1, 2, 3}) {
		frame = request(zeros(bytes));
		frame.flags |= flag_enhanced;
		frame.rev = 2;
		refused(t, "enhanced-short-" + std::to_string(bytes),
			"S, but only " + std::to_string(bytes) +
				" bytes of private data",
			{send(frame.encode())});
	}
	frame = request();
	frame.rev = 2;
	taken(t, "revision-2-plain", "revision 2 without S: a plain Reply is due",
	      frame);
}

void add_lengths(Table &t)
{
	for (int length : {513, 514, 768, 1024, 0x7fff, 0x8000, 0xfffe, 0xffff}) {
		auto frame = request();
		frame.length = length;
		refused(t, "length-" + std::to_string(length),
			"PD_Length is more than there can be",
			{send(frame.encode())});
	}
	auto frame = request();
	frame.length = 0xffff;
	refused(t, "length-streamed",
		"4 MiB of private data behind a PD_Length of 65535",
		{send(frame.encode()), flood(pattern(65536, 3), 64)});
	taken(t, "private-data-0", "no private data", request({}));
	for (std::size_t bytes : {255, 256, 508, 512}) {
		const auto data = join(zeros(bytes - 1), Bytes{echo_mode});
		const auto name = "private-data-" + std::to_string(bytes);

		taken(t, name, "private data at the limits", request(data));
		if (bytes <= 508)
			taken(t, name + "-enhanced",
			      "the same behind the four bytes of revision 2",
			      enhanced({.ird = 4, .ord = 4}, data));
	}

	frame = request();
	frame.length = 2;
	refused(t, "length-one-more-fin",
		"PD_Length is one more than what comes, then FIN",
		{send(frame.encode()), fin()});
	refused(t, "length-one-more-silence",
		"PD_Length is one more than what comes, then silence",
		{send(frame.encode())},
		closes_late(milliseconds(3500), milliseconds(15000)))
		.takes_long();
	for (int extra : {0xff, 0x00}) {
		frame = request({echo_mode, static_cast<std::uint8_t>(extra)});
		frame.length = 1;
		refused(t, "length-one-less-" + std::to_string(extra),
			"PD_Length is one less than what comes",
			{send(frame.encode())});
	}
}

void add_truncations(Table &t)
{
	const auto whole = enhanced({.ird = 4, .ord = 4}).encode();

	for (std::size_t at = 0; at < whole.size(); at++) {
		const auto part = first(whole, at);
		const auto label = std::to_string(at);

		refused(t, "cut-" + label + "-fin",
			"a Request that ends by FIN after " + label + " bytes",
			{send(part), fin()});
		refused(t, "cut-" + label + "-reset",
			"a Request that ends by RST after " + label + " bytes",
			{send(part), reset()}, survives());
		refused(t, "cut-" + label + "-silence",
			"a Request that goes no further than " + label +
				" bytes",
			{send(part)},
			closes_late(milliseconds(3500), milliseconds(15000)))
			.takes_long();
	}
	refused(t, "slow-loris",
		"a Request one byte every 400 ms: there is one limit for the whole",
		{drip(first(whole, 16), milliseconds(400))}, closes())
		.takes_long();
}

void add_portions(Table &t)
{
	const auto frame = enhanced({.ird = 4, .ord = 4});
	const auto whole = frame.encode();

	t.add("request/dripped", "a Request byte by byte", connected,
	      {drip(whole, milliseconds(0))}, accepts(frame))
		.only(Role::initiator);
	// All within the target's limit for a startup exchange, on a slow machine, too.
	for (std::size_t bytes : {255, 512}) {
		const auto full =
			request(join(zeros(bytes - 1), Bytes{echo_mode}));

		taken(t, "dripped-" + std::to_string(bytes),
		      std::to_string(bytes) + " bytes of private data in small pieces",
		      full, drip(full.encode(), milliseconds(0), 7));
	}
	// Before the Reply no one can know whether they need Markers, so these
	// are not FPDUs (RFC 5044 section 7.1.2 rule 2).
	const auto eager = [](Bytes more) {
		return send(join(request().encode(), more));
	};
	const auto write = Writer().fpdu(Tagged{}.encode());
	refused(t, "with-byte", "one byte in the same segment as the Request",
		{eager({0})});
	refused(t, "with-fpdu",
		"the first FPDU in the same segment as the Request",
		{eager(write)});
	refused(t, "with-fpdus-and-fin",
		"Request, two FPDUs and a FIN in one go",
		{eager(join(write, write)), fin()});
	refused(t, "twice", "a second Request right behind the first",
		{eager(request().encode())});
	refused(t, "twice-fin", "a second Request right behind the first, FIN",
		{eager(request().encode()), fin()});
	t.add("request/twice-later", "a second Request once the Reply is there",
	      operational, {send(request().encode()), flood(zeros(1024), 20)},
	      closes(milliseconds(15000)))
		.only(Role::initiator)
		.counts("rx_crc_error")
		.takes_long();
}

void add_garbage(Table &t)
{
	const std::vector<std::pair<std::string, Bytes>> rubbish{
		{"zeros-20", zeros(20)},
		{"ones-20", zeros(20, 0xff)},
		{"random-20", pattern(20, 1)},
		{"random-532", pattern(532, 2)},
		{"random-65536", pattern(65536, 3)},
		{"http", text("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"tls", join(Bytes{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
			     pattern(506, 4))},
		{"ssh", text("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")},
		{"fpdu", Writer().fpdu(Tagged{}.encode())},
		{"one-byte", Bytes{0}},
		{"megabytes", pattern(1 << 20, 5)},
	};

	for (const auto &[name, bytes] : rubbish)
		refused(t, "garbage-" + name, "no Request at all but " +
						      std::to_string(bytes.size()) +
						      " other bytes",
			{send(bytes)});
}

void add_rtr(Table &t)
{
	for (int kinds = 0; kinds < 8; kinds++) {
		const Enhanced e{.a = true,
				 .b = (kinds & 4) != 0,
				 .c = (kinds & 2) != 0,
				 .d = (kinds & 1) != 0,
				 .ird = 4,
				 .ord = 4};
		const std::string label = std::string(e.b ? "b" : "") +
					  (e.c ? "c" : "") + (e.d ? "d" : "");
		const auto right = [e](const Enhanced &r) {
			const bool common = (r.b && e.b) || (r.c && e.c) ||
					    (r.d && e.d);
			const bool asked = e.b || e.c || e.d;
			return r.a && (r.b || r.c || r.d) &&
			       (common || !asked || !(e.c || e.d));
		};
		t.add("request/p2p-" + (label.empty() ? "none" : label),
		      "peer-to-peer with RTR kinds {" + label +
			      "}; opened by a zero-length Write all the same",
		      connected,
		      {send(enhanced(e).encode())},
		      answers(enhanced(e), "A and a kind in common, if there is one",
			      right,
			      custom("takes the RTR, and a good exchange succeeds",
				     [](Session &s) {
					     s.must_be_quiet(milliseconds(100));
					     s.send_ulpdu(Tagged{}.encode());
					     s.good_exchange();
				     })))
			.only(Role::initiator)
			.only(Kind::rnic);
	}
	const Enhanced none{.b = true, .c = true, .d = true, .ird = 4, .ord = 4};
	t.add("request/rtr-without-p2p",
	      "B, C and D without A: to be ignored, and not to be echoed",
	      connected, {send(enhanced(none).encode())},
	      answers(enhanced(none), "A, B, C and D 0",
		      [](const Enhanced &r) { return !r.a && !r.b && !r.c && !r.d; }))
		.only(Role::initiator);

	const Enhanced p2p{.a = true, .c = true, .d = true, .ird = 4, .ord = 4};
	const auto agreed = [](const Enhanced &r) { return r.a && r.c && r.d; };
	t.add("request/p2p-read-rtr", "a zero-length Read as RTR", connected,
	      {send(enhanced(p2p).encode())},
	      answers(enhanced(p2p), "A, C and D", agreed,
		      custom("answers the Read, and a good exchange succeeds",
			     [](Session &s) {
				     s.must_hold(0, 0, {});
				     s.good_exchange();
			     })))
		.only(Role::initiator)
		.only(Kind::rnic);
	t.add("request/p2p-send-first", "no RTR but a Send opens the stream",
	      connected, {send(enhanced(p2p).encode())},
	      answers(enhanced(p2p), "A, C and D", agreed))
		.only(Role::initiator)
		.only(Kind::rnic);
	t.add("request/p2p-no-rtr",
	      "peer-to-peer, and then no FPDU at all: silence", connected,
	      {send(enhanced(p2p).encode())},
	      answers(enhanced(p2p), "A, C and D", agreed,
		      closes_late(milliseconds(3500), milliseconds(15000))))
		.only(Role::initiator)
		.only(Kind::rnic)
		.counts("conn_startup_error")
		.takes_long();
	t.add("request/p2p-gives-up",
	      "a Terminate 2/0/07 in place of the RTR", connected,
	      {send(enhanced(p2p).encode())},
	      answers(enhanced(p2p), "A, C and D", agreed,
		      custom("closes TCP without an answer", [](Session &s) {
			      s.send_ulpdu(Untagged{
				      .control = {.opcode = op_terminate},
				      .qn = 2,
				      .payload = Terminate{.code = {2, 0, 7},
							   .headers = {}}
							 .encode()}
						   .encode());
			      s.must_end(s.soon());
		      })))
		.only(Role::initiator)
		.only(Kind::rnic)
		.counts("rx_terminate");
}

void add_depths(Table &t)
{
	struct Depth {
		std::uint16_t ird, ord;
	};

	for (const auto [ird, ord] : {Depth{0, 0}, {1, 1}, {128, 128}, {129, 129},
				      {0x3ffe, 0x3ffe}, {0x3fff, 0x3fff},
				      {0, 0x3fff}, {0x3fff, 0}, {0x3ffe, 0}}) {
		const Enhanced e{.ird = ird, .ord = ord};
		t.add("request/depths-" + std::to_string(ird) + "-" +
			      std::to_string(ord),
		      "extremes of IRD and ORD", connected,
		      {send(enhanced(e).encode())},
		      answers(enhanced(e),
			      "ORD within our IRD, and 0x3fff where we set it",
			      [e](const Enhanced &r) {
				      if ((e.ord == no_depth) !=
					  (r.ird == no_depth))
					      return false;
				      return e.ird == no_depth
						     ? r.ord == no_depth
						     : r.ord <= e.ird;
			      },
			      // Even if our Read queue has no entries, the
			      // target's memory can still be read.
			      custom("a good exchange succeeds", [](Session &s) {
				      s.good_exchange();
			      })))
			.only(Role::initiator)
			.only(Kind::rnic);
	}
}

void add_application(Table &t)
{
	Setup late = connected;
	late.mode = Mode::slow;
	const auto slow = request({static_cast<std::uint8_t>(Mode::slow)});
	t.add("request/fin-before-answer",
	      "a FIN before the application answers the Request", late,
	      {send(slow.encode()), wait(milliseconds(100)), fin()},
	      gives_up())
		.only(Role::initiator);
	t.add("request/reset-before-answer",
	      "a RST before the application answers the Request", late,
	      {send(slow.encode()), wait(milliseconds(100)), reset(),
	       wait(milliseconds(1500))},
	      survives())
		.only(Role::initiator)
		.counts("conn_startup_error");
	t.add("request/garbage-before-answer",
	      "bytes before the application answers the Request", late,
	      {send(slow.encode()), wait(milliseconds(100)),
	       send(zeros(64, 0xff))},
	      closes())
		.only(Role::initiator)
		.counts("conn_startup_error");
	const Bytes reject{static_cast<std::uint8_t>(Mode::reject)};
	const auto rejected = request(reject);
	const auto refusal = [](const Frame &f) {
		return f.flags == (flag_crc | flag_reject) && f.rev == 1 &&
		       f.data == zeros(100, 0x4a);
	};
	t.add("request/rejected", "a Request the application refuses", connected,
	      {send(rejected.encode())},
	      replies("R and 100 bytes of private data", refusal, closes()))
		.only(Role::initiator)
		.counts("conn_rejected");
	t.add("request/rejected-enhanced",
	      "an enhanced Request the application refuses", connected,
	      {send(enhanced({.ird = 4, .ord = 8}, reject).encode())},
	      replies("R, S and 100 bytes of private data",
		      [](const Frame &f) {
			      return f.flags == (flag_crc | flag_reject |
						 flag_enhanced) &&
				     f.rev == 2 &&
				     f.consumer_data() == zeros(100, 0x4a);
		      },
		      closes()))
		.only(Role::initiator)
		.counts("conn_rejected");
	// What follows a refused Request belongs to TCP, and thus to the
	// application.
	t.add("request/rejected-with-more",
	      "an FPDU in the same segment as a Request the application refuses",
	      connected,
	      {send(join(rejected.encode(), Writer().fpdu(Tagged{}.encode())))},
	      replies("R and 100 bytes of private data", refusal, closes()))
		.only(Role::initiator)
		.counts("conn_rejected");
	t.add("request/rejected-goes-on",
	      "FPDUs and another Request after a refusal", connected,
	      {send(rejected.encode()), [](Session &s) {
		       s.theirs = s.next_frame();
		       s.operational = true;
		       s.send_ulpdu(Tagged{}.encode());
		       s.send(request().encode());
	       }},
	      replies("R and 100 bytes of private data", refusal, closes()))
		.only(Role::initiator)
		.counts("conn_rejected");
	Setup speak = operational;
	speak.mode = Mode::speak;
	t.add("request/first-word",
	      "no FPDU for a while, though the target has a message to send",
	      speak, {},
	      quiet(milliseconds(1500),
		    custom("sends it after our first FPDU", [](Session &s) {
			    s.send_ulpdu(Tagged{}.encode());
			    if (s.receive_message() != text("I speak first"))
				    throw Mismatch("another message");
			    s.good_exchange();
		    })))
		.only(Role::initiator)
		.on_socket(quiet(
			milliseconds(1500),
			custom("sends it after our first ULPDU, and echoes that",
			       [](Session &s) {
				       const auto ulpdu = pattern(20, 3);
				       s.send_ulpdu(ulpdu);
				       s.take_echo(text("I speak first"));
				       s.take_echo(ulpdu);
				       s.good_exchange();
			       })));
	t.add("request/idle", "nothing for a while, once started", operational,
	      {wait(milliseconds(6500))}, works())
		.only(Role::initiator)
		.takes_long();
	t.add("race/reset-at-once", "a RST right behind the Request", connected,
	      {send(request().encode()), reset()}, survives())
		.only(Role::initiator);
	t.add("request/fin-at-once", "a FIN right behind the Reply", operational,
	      {fin()}, closes())
		.only(Role::initiator);
}

// A connection that is refused may be reported before connect() has returned.
Socket connect_or_not(Session &s)
{
	try {
		return Socket::connect(s.env.target, s.soon());
	} catch (const std::system_error &error) {
		if (error.code().value() != ECONNRESET)
			throw;
		return {};
	}
}

// The RNIC allows 128 half-open connections per listener and refuses more. The
// target's device must wait for Requests longer than it takes to connect all of
// them.
void add_floods(Table &t)
{
	t.add("flood/half-open",
	      "160 connections more that send nothing",
	      connected,
	      {[](Session &s) {
		      for (int i = 0; i < 160; i++)
			      s.more.push_back(connect_or_not(s));
	      }},
	      custom("refuses 33 (this one is half-open too) and keeps the "
		     "others until they time out",
		     [](Session &s) {
			     const auto early = Clock::now() + milliseconds(3500);
			     int closed = 0;
			     Bytes bytes;

			     for (auto &one : s.more)
				     closed += !one.open() ||
					       one.receive(bytes, early) !=
						       End::none;
			     if (closed != 33 || !bytes.empty())
				     throw Mismatch(std::to_string(closed) +
						    " refused, bytes " +
						    hex(bytes));
			     s.must_end(s.soon());
			     for (auto &one : s.more)
				     if (one.open() &&
					 one.receive(bytes, s.soon()) ==
						 End::none)
					     throw Mismatch("one is still open");
		     }))
		.only(Role::initiator)
		.only(Kind::rnic)
		.counts("conn_half_open_drop", 33)
		.counts("conn_startup_error", 128)
		.by_itself();
	// How many the limit refuses depends on the target's speed.
	t.add("race/flood-reset",
	      "500 connections, each reset after half a Request; then a good one",
	      nothing,
	      {[](Session &s) {
		       for (int i = 0; i < 500; i++) {
			       auto one = connect_or_not(s);
			       if (!one.open())
				       continue;
			       one.send(first(request().encode(), 10), s.soon());
			       one.reset();
		       }
		       s.open();
	       },
	       send(request().encode())},
	      accepts(request()))
		.only(Role::initiator)
		.by_itself();
}

} // namespace

void add_requests(Table &t)
{
	add_keys(t);
	add_revisions(t);
	add_flags(t);
	add_lengths(t);
	add_truncations(t);
	add_portions(t);
	add_garbage(t);
	add_rtr(t);
	add_depths(t);
	add_application(t);
	add_floods(t);
}

} // namespace peer
