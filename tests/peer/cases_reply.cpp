// SPDX-License-Identifier: GPL-2.0-only
//
// Startup with the peer as Responder: answers to a Request. A target that uses
// revision 2 tries once more with revision 1 if TCP ends before there is a
// Reply (RFC 6581 section 10).
#include "cases.hpp"

#include <cerrno>

namespace peer {

namespace {

using Change = std::function<void(Frame &)>;
using EnhancedChange = std::function<void(Enhanced &)>;

// The target sends one at once when it has accepted the Reply.
const std::vector<std::uint8_t> rtr{op_write, op_read_request};

Step answer(const Change &change)
{
	return [change](Session &s) {
		auto reply = s.good_reply();

		change(reply);
		s.send(reply.encode());
		s.operate(reply, s.theirs);
	};
}

Step answer_enhanced(const EnhancedChange &change)
{
	return answer([change](Frame &reply) {
		auto e = Enhanced::decode(reply.data);

		change(e);
		reply.data = e.encode();
	});
}

// For peers of any revision: the bytes of a good Reply, and a function to
// modify them.
Step with_reply(const std::function<void(Session &, const Bytes &)> &use)
{
	return [use](Session &s) { use(s, s.good_reply().encode()); };
}

Outcome opens()
{
	return {"sends its RTR, and a good exchange succeeds", [](Session &s) {
			s.read_rtr();
			s.good_exchange();
		}};
}

Outcome fails(Outcome how = closes())
{
	return reports("failed", std::move(how), milliseconds(40000));
}

// The error of an RNIC, and no private data.
Outcome fails_by(int error, Outcome how = closes())
{
	return reports("failed " + std::to_string(-error) + " 0",
		       std::move(how), milliseconds(40000));
}

Outcome never_completes()
{
	return fails_by(ETIMEDOUT,
			closes_late(milliseconds(20000), milliseconds(45000)));
}

// TCP ends early; the target connects again, with revision 1.
Outcome falls_back()
{
	return {"connects once more, with revision 1, and then works",
		[](Session &s) {
			s.accept_again();
			if (s.theirs.rev != 1 || s.theirs.flags != flag_crc)
				throw Mismatch(s.theirs.words());
			const auto reply = s.good_reply();
			s.send(reply.encode());
			s.operate(reply, s.theirs);
			s.good_exchange();
		}};
}

Case &reply(Table &t, const std::string &name, const std::string &what,
	    std::vector<Step> steps, Outcome outcome)
{
	return t.add("reply/" + name, what, connected, std::move(steps),
		     std::move(outcome))
		.only(Role::responder);
}

Case &refused(Table &t, const std::string &name, const std::string &what,
	      std::vector<Step> steps, Outcome outcome = fails())
{
	return reply(t, name, what, std::move(steps), std::move(outcome))
		.counts("conn_startup_error");
}

void add_frames(Table &t)
{
	for (std::size_t at = 0; at < 16; at++)
		refused(t, "key-byte-" + std::to_string(at),
			"one bit of the key's byte " + std::to_string(at) +
				" is wrong",
			{answer([at](Frame &f) { f.key[at] ^= 0x20; })});
	refused(t, "is-a-request", "a Request: both ends are Initiators",
		{answer([](Frame &f) { f.key = text(request_key); })});
	refused(t, "reflected", "the target's own Request comes back",
		{[](Session &s) { s.send(s.theirs.encode()); }});
	for (int rev : {0, 1, 3, 4, 127, 128, 255})
		refused(t, "revision-" + std::to_string(rev),
			"a Reply of another revision, with S as in the Request",
			{answer([rev](Frame &f) {
				f.rev = static_cast<std::uint8_t>(rev);
			})})
			.only(Kind::rnic);
	refused(t, "revision-1-plain",
		"a plain Reply of revision 1 to an enhanced Request",
		{answer([](Frame &f) { f = {.key = f.key, .data = {}, .length = {}}; })})
		.only(Kind::rnic);
	refused(t, "revision-2-plain",
		"a plain Reply of revision 2 to an enhanced Request",
		{answer([](Frame &f) {
			f = {.key = f.key, .rev = 2, .data = {}, .length = {}};
		})})
		.only(Kind::rnic);
	for (int flags : {0x40, 0xc0})
		refused(t, "revision-0-plain-" + std::to_string(flags),
			"a plain Reply of revision 0 to an enhanced Request",
			{answer([flags](Frame &f) {
				f = {.key = f.key,
				     .flags = static_cast<std::uint8_t>(flags),
				     .rev = 0,
				     .data = {},
				     .length = {}};
			})})
			.only(Kind::rnic);
	for (int bit : {0x01, 0x02, 0x04, 0x08, 0x0f})
		reply(t, "reserved-" + std::to_string(bit),
		      "reserved bits of the flags are set: to be ignored",
		      {answer([bit](Frame &f) { f.flags |= bit; })}, opens());
	// A socket uses revision 1, where this bit is reserved, too.
	for (int bit : {0x10, 0x1f})
		reply(t, "reserved-" + std::to_string(bit),
		      "reserved bits of the flags are set: to be ignored",
		      {answer([bit](Frame &f) { f.flags |= bit; })}, opens())
			.only(Kind::socket);
	reply(t, "no-crc", "C is 0: CRCs are in use if the target asks for them",
	      {answer([](Frame &f) { f.flags &= ~flag_crc; })}, opens());
	reply(t, "markers", "M is 1: the target must insert Markers",
	      {[](Session &s) {
		      const auto frame = s.good_reply(true);
		      s.send(frame.encode());
		      s.operate(frame, s.theirs);
	      }},
	      opens());
}

void add_lengths(Table &t)
{
	for (int length : {513, 514, 1024, 0x8000, 0xffff})
		refused(t, "length-" + std::to_string(length),
			"PD_Length is more than there can be",
			{answer([length](Frame &f) { f.length = length; })});
	for (int length : {0, 1, 2, 3})
		refused(t, "enhanced-short-" + std::to_string(length),
			"S, but only " + std::to_string(length) +
				" bytes of private data",
			{answer([length](Frame &f) {
				f.data.resize(length);
			 })},
			fails())
			.only(Kind::rnic);
	refused(t, "length-streamed",
		"4 MiB of private data behind a PD_Length of 65535",
		{answer([](Frame &f) { f.length = 0xffff; }),
		 flood(pattern(65536, 3), 64)});
	reply(t, "private-data-255",
	      "as much private data as an RNIC's connection manager has room for",
	      {answer([](Frame &f) { f.data.resize(4 + 255); })}, opens());
	for (std::size_t bytes : {256, 508})
		refused(t, "private-data-" + std::to_string(bytes),
			"more private data than that",
			{answer([bytes](Frame &f) { f.data.resize(4 + bytes); })},
			fails_by(EMSGSIZE))
			.on_socket(opens());
	reply(t, "length-one-less",
	      "PD_Length is one less than what comes: FPDUs begin with the last "
	      "byte, and the CRC of the first, 65280 bytes long, is wrong",
	      {answer([](Frame &f) {
		      f.length = static_cast<std::uint16_t>(f.data.size());
		      f.data.push_back(0xff);
	      }),
	       send(zeros(1 << 17))},
	      breaks({{2, 0, 2}}))
		.may_send(rtr);
	reply(t, "length-one-more-fin",
	      "PD_Length is one more than what comes, then FIN",
	      {answer([](Frame &f) {
		      f.length = static_cast<std::uint16_t>(f.data.size() + 1);
	      }),
	       fin()},
	      falls_back())
		.only(Kind::rnic)
		.counts("conn_fallback");
	refused(t, "length-one-more-silence",
		"PD_Length is one more than what comes, then silence",
		{answer([](Frame &f) {
			f.length = static_cast<std::uint16_t>(f.data.size() + 1);
		})},
		never_completes())
		.only(Kind::rnic)
		.takes_long();
}

void add_truncations(Table &t)
{
	for (std::size_t at = 0; at < 24; at++) {
		const auto label = std::to_string(at);
		reply(t, "cut-" + label + "-fin",
		      "a Reply that ends by FIN after " + label + " bytes",
		      {with_reply([at](Session &s, const Bytes &whole) {
			      s.send(first(whole, at));
			      s.socket.fin();
		      })},
		      falls_back())
			.only(Kind::rnic)
			.counts("conn_fallback");
		reply(t, "cut-" + label + "-reset",
		      "a Reply that ends by RST after " + label + " bytes",
		      {with_reply([at](Session &s, const Bytes &whole) {
			      s.send(first(whole, at));
			      s.socket.reset();
		      })},
		      falls_back())
			.only(Kind::rnic)
			.counts("conn_fallback");
	}
	for (std::size_t at : {0, 1, 15, 16, 17, 19, 20, 23})
		refused(t, "cut-" + std::to_string(at) + "-silence",
			"a Reply that goes no further than " +
				std::to_string(at) + " bytes",
			{with_reply([at](Session &s, const Bytes &whole) {
				s.send(first(whole, at));
			})},
			never_completes())
			.only(Kind::rnic)
			.takes_long();
	// A socket uses revision 1, where no fallback follows.
	for (std::size_t at = 0; at < 20; at++) {
		const auto label = std::to_string(at);
		const auto part = with_reply([at](Session &s, const Bytes &whole) {
			s.send(first(whole, at));
		});
		reply(t, "short-" + label + "-fin",
		      "a plain Reply that ends by FIN after " + label + " bytes",
		      {part, fin()}, fails())
			.only(Kind::socket);
		reply(t, "short-" + label + "-reset",
		      "a plain Reply that ends by RST after " + label + " bytes",
		      {part, reset()}, fails(survives()))
			.only(Kind::socket);
		reply(t, "short-" + label + "-silence",
		      "a plain Reply that goes no further than " + label +
			      " bytes",
		      {part},
		      fails(closes_late(milliseconds(3500),
					milliseconds(15000))))
			.only(Kind::socket)
			.takes_long();
	}
	reply(t, "closed-twice",
	      "TCP ends before the Reply, and once more in revision 1",
	      {fin(), [](Session &s) {
		       s.accept_again();
		       s.socket.fin();
	       }},
	      fails())
		.only(Kind::rnic)
		.counts("conn_fallback")
		.counts("conn_startup_error");
	reply(t, "dripped", "a Reply byte by byte",
	      {with_reply([](Session &s, const Bytes &whole) {
		      s.drip(whole, milliseconds(2));
		      s.operate(Frame::decode(whole), s.theirs);
	      })},
	      opens());
}

void add_rejections(Table &t)
{
	const auto reject = [](std::size_t bytes, std::uint8_t rev) {
		return answer([bytes, rev](Frame &f) {
			f.flags |= flag_reject;
			f.data = join(f.data, pattern(bytes, 9));
			f.rev = rev;
		});
	};
	const auto refused_by_us = [&](const std::string &name,
				       const std::string &what,
				       std::vector<Step> steps) -> Case & {
		return reply(t, name, what, std::move(steps),
			     reports("rejected", closes()))
			.only(Kind::rnic)
			.counts("conn_rejected");
	};

	const auto refused_plain = [&](const std::string &name,
				       const std::string &what, std::size_t bytes,
				       std::vector<Step> more = {}) {
		more.insert(more.begin(), reject(bytes, 1));
		reply(t, "plain-" + name, what, std::move(more),
		      reports("rejected -" + std::to_string(ECONNREFUSED) + " " +
				   std::to_string(bytes),
			   closes()))
			.only(Kind::socket);
	};

	refused_plain("rejects-0", "R, and no private data", 0);
	refused_plain("rejects-512", "R, and all private data there can be", 512);
	refused_plain("rejects-goes-on", "R, and then FPDUs all the same", 4,
		      {ulpdu(Tagged{}.encode()), ulpdu(Untagged{}.encode())});
	refused_plain("rejects-megabytes", "R, and then 4 MiB of garbage", 4,
		      {flood(pattern(65536, 1), 64)});
	refused_plain("rejects-fin", "R, and a FIN", 4, {fin()});
	refused_by_us("rejects", "R, and 100 bytes of private data",
		      {reject(100, 2)});
	refused_by_us("rejects-255",
		      "R, and as much private data as there is room for",
		      {reject(255, 2)});
	for (std::size_t bytes : {256, 508})
		refused(t, "rejects-" + std::to_string(bytes),
			"R, and more private data than that", {reject(bytes, 2)},
			fails_by(EMSGSIZE))
			.only(Kind::rnic);
	// The same in the Reply to the second, plain Request.
	for (std::size_t bytes : {256, 512})
		for (const int flags : {0, int{flag_reject}})
			refused(t, (flags ? "fallback-rejects-" : "fallback-data-") +
					   std::to_string(bytes),
				"more private data than that, of revision 1",
				{fin(), [](Session &s) { s.accept_again(); },
				 answer([bytes, flags](Frame &f) {
					 f.flags |= flags;
					 f.data = pattern(bytes, 9);
				 })},
				fails_by(EMSGSIZE))
				.only(Kind::rnic)
				.counts("conn_fallback");
	refused_by_us("rejects-plain",
		      "R in a plain Reply of revision 1 to an enhanced Request",
		      {answer([](Frame &f) {
			      f = {.key = f.key,
				   .flags = flag_reject,
				   .data = {},
				   .length = {}};
		      })});
	refused_by_us("rejects-goes-on", "R, and then FPDUs all the same",
		      {reject(4, 2), ulpdu(Tagged{}.encode()),
		       ulpdu(Untagged{}.encode())});
	refused_by_us("rejects-megabytes", "R, and then 4 MiB of garbage",
		      {reject(4, 2), flood(pattern(65536, 1), 64)});
}

void add_negotiations(Table &t)
{
	refused(t, "a-not-echoed", "A is 0 where the Request has 1",
		{answer_enhanced([](Enhanced &e) { e.a = false; })})
		.only(Kind::rnic);
	for (int kinds : {0, 4}) {
		refused(t, kinds ? "rtr-send-only" : "rtr-none",
			"no RTR kind that the Request had",
			{answer_enhanced([kinds](Enhanced &e) {
				 e.b = kinds & 4;
				 e.c = e.d = false;
			 })},
			fails(terminates({{2, 0, 7}})))
			.only(Kind::rnic);
	}
	for (int kinds : {1, 2, 3, 7})
		reply(t, "rtr-" + std::to_string(kinds),
		      "some of the RTR kinds, as the bits B, C, D",
		      {answer_enhanced([kinds](Enhanced &e) {
			      e.b = kinds & 4;
			      e.c = kinds & 2;
			      e.d = kinds & 1;
		      })},
		      opens())
			.only(Kind::rnic);
	refused(t, "rtr-read-without-ird",
		"only a Read as RTR, and IRD 0: there is none that can be sent",
		{answer_enhanced([](Enhanced &e) {
			 e.c = false;
			 e.d = true;
			 e.ird = 0;
		 })},
		fails(terminates({{2, 0, 7}})))
		.only(Kind::rnic);
	for (int ord : {129, 1000, 0x3ffe})
		refused(t, "ord-" + std::to_string(ord),
			"ORD is more than any IRD of ours can be",
			{answer_enhanced([ord](Enhanced &e) { e.ord = ord; })},
			fails(terminates({{2, 0, 6}})))
			.only(Kind::rnic);
	for (int ord : {0, 128, 0x3fff})
		reply(t, "ord-" + std::to_string(ord), "ORD at its limits",
		      {answer_enhanced([ord](Enhanced &e) { e.ord = ord; })},
		      opens())
			.only(Kind::rnic);
	for (int ird : {0, 1, 128, 129, 0x3ffe, 0x3fff})
		reply(t, "ird-" + std::to_string(ird), "IRD at its limits",
		      {answer_enhanced([ird](Enhanced &e) { e.ird = ird; })},
		      opens())
			.only(Kind::rnic);
}

void add_phases(Table &t)
{
	refused(t, "fpdu-first", "an FPDU in place of the Reply",
		{[](Session &s) { s.send(Writer().fpdu(Tagged{}.encode())); }});
	reply(t, "fpdu-behind",
	      "an FPDU in the same segment as the Reply, before the target's RTR",
	      {with_reply([](Session &s, const Bytes &whole) {
		      const auto fpdu = Writer().fpdu(Tagged{}.encode());
		      s.send(join(whole, fpdu));
		      s.operate(Frame::decode(whole), s.theirs);
	      })},
	      opens())
		.only(Kind::rnic);
	reply(t, "twice", "a second Reply right behind the first, and more",
	      {with_reply([](Session &s, const Bytes &whole) {
		      s.send(join(whole, whole));
		      s.operate(Frame::decode(whole), s.theirs);
	      }),
	       flood(zeros(1024), 20)},
	      breaks({{2, 0, 2}}))
		.may_send(rtr);
	reply(t, "twice-fin", "a second Reply right behind the first, FIN",
	      {with_reply([](Session &s, const Bytes &whole) {
		      s.send(join(whole, whole));
		      s.operate(Frame::decode(whole), s.theirs);
		      s.socket.fin();
	      })},
	      custom("sends its RTR at most, and closes", [](Session &s) {
		      while (s.next_ulpdu_or_end(s.soon()))
			      ;
	      }));
	reply(t, "fin-behind", "a FIN right behind the Reply",
	      {with_reply([](Session &s, const Bytes &whole) {
		      s.send(whole);
		      s.operate(Frame::decode(whole), s.theirs);
		      s.socket.fin();
	      })},
	      reports("disconnected",
		      custom("sends its RTR at most, and closes", [](Session &s) {
			   while (s.next_ulpdu_or_end(s.soon()))
				   ;
		   })));
	reply(t, "reset-behind", "a RST right behind the Reply",
	      {with_reply([](Session &s, const Bytes &whole) {
		      s.send(whole);
		      s.socket.reset();
	      })},
	      survives());
	const std::vector<std::pair<std::string, Bytes>> rubbish{
		{"zeros", zeros(24)},
		{"ones", zeros(24, 0xff)},
		{"random", pattern(532, 2)},
		{"http", text("HTTP/1.1 400 Bad Request\r\n\r\n")},
		{"megabytes", pattern(1 << 20, 5)},
		{"one-byte", {0}},
	};
	for (const auto &[name, bytes] : rubbish)
		refused(t, "garbage-" + name,
			"no Reply at all but " + std::to_string(bytes.size()) +
				" other bytes",
			{send(bytes)});
}

// The frame is sent as soon as TCP is established. Whether that is before the
// Request is a race; a good Reply may win it.
Step unasked(const Frame &frame)
{
	return [frame](Session &s) {
		s.command();
		s.socket = s.listener.accept(s.soon());
		s.send(frame.encode());
	};
}

Outcome reports_either()
{
	return custom("its application reports success or failure",
		      [](Session &s) {
			      const auto line = s.commands.line(s.soon());
			      if (line.starts_with("failed"))
				      s.tally.add("conn_startup_error");
			      else if (line != "established")
				      throw Mismatch("the target reported: " + line);
			      s.drain(milliseconds(200));
		      });
}

void add_unasked(Table &t)
{
	const Frame plain{.key = text(reply_key), .data = {}, .length = {}};
	const Frame good{.key = text(reply_key),
			 .flags = flag_crc | flag_enhanced,
			 .rev = 2,
			 .data = Enhanced{.a = true, .c = true, .ird = 4, .ord = 4}
					 .encode(),
			 .length = {}};

	t.add("reply/unasked-plain",
	      "a plain Reply as soon as TCP is there, before the Request", nothing,
	      {unasked(plain)},
	      reports("failed", custom("sends its Request at most, and closes",
				       [](Session &s) {
					    s.drain();
					    s.must_end(s.soon());
				    })))
		.only(Role::responder)
		.on_socket(reports_either())
		.counts("conn_startup_error");
	t.add("reply/unasked-good",
	      "a good Reply as soon as TCP is there, before the Request", nothing,
	      {unasked(good)}, reports_either())
		.only(Role::responder)
		.only(Kind::rnic);
	t.add("reply/no-listener", "no listener: TCP refuses the connection",
	      nothing,
	      {[](Session &s) {
		      const auto port = s.listener.local().port();
		      s.listener.close();
		      s.command(port);
	      }},
	      reports("rejected", survives()))
		.only(Role::responder)
		.on_socket(reports("failed ECONNREFUSED", survives()))
		.counts("conn_startup_error");
}

} // namespace

void add_replies(Table &t)
{
	add_frames(t);
	add_lengths(t);
	add_truncations(t);
	add_rejections(t);
	add_negotiations(t);
	add_phases(t);
	add_unasked(t);
}

} // namespace peer
