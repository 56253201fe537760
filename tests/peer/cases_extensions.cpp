// SPDX-License-Identifier: GPL-2.0-only
//
// Messages of RFC 7306 on a stream whose startup exchange has agreed on them, in
// correct FPDUs. Without that agreement they are unexpected opcodes: cases_ddp.cpp.
// For RNICs only; the peer is the Initiator, which asks.
#include "cases.hpp"

namespace peer {

namespace {

const std::vector<Code> bad_format{{0, 2, 0xff}, {1, 2, 5}};

// The startup exchange with both bits, and a good exchange.
Step begin(Mode mode = Mode::echo)
{
	return [mode](Session &s) {
		const Enhanced depths{.ird = 4, .ord = 4};
		s.start(Frame{.flags = flag_crc | flag_enhanced | flag_ext_asked,
			      .rev = 2,
			      .data = join(depths.encode(),
					   Bytes{static_cast<std::uint8_t>(mode)}),
			      .length = {}});
		if (mode == Mode::echo)
			s.good_exchange();
	};
}

Case &row(Table &t, const std::string &name, const std::string &what,
	  std::vector<Step> steps, Outcome outcome, Mode mode = Mode::echo)
{
	steps.insert(steps.begin(), begin(mode));
	return t.add("extensions/" + name, what, connected, std::move(steps),
		     std::move(outcome))
		.only(Kind::rnic)
		.only(Role::initiator);
}

// Immediate Data of eight bytes, modified by @change.
Aimed immediate(std::function<void(Untagged &, Session &)> change =
			[](Untagged &, Session &) {})
{
	return [change](Session &s) {
		Untagged u{.control = {.opcode = op_immediate},
			   .msn = s.send_msn,
			   .payload = pattern(8, 3)};
		change(u, s);
		return u.encode();
	};
}

// The target answers with the data that it has got, and with the bytes of the Write
// before.
void take_immediate(Session &s, std::uint32_t bytes)
{
	Bytes want = first(pattern(8, 3), 4);

	put(want, bytes, 4);
	s.send_msn++;
	const auto got = s.receive_message();
	if (got != want)
		throw Mismatch("got " + hex(got, 16) + ", not " + hex(want, 16));
}

Outcome delivered(std::uint32_t bytes)
{
	return {"delivers it with " + std::to_string(bytes) +
			" bytes of a Write; then a good exchange succeeds",
		[bytes](Session &s) {
			take_immediate(s, bytes);
			s.good_exchange();
		}};
}

Step write(std::size_t bytes, bool last = true)
{
	return [bytes, last](Session &s) {
		Tagged w{.stag = s.aim.rw_stag,
			 .to = s.aim.rw_at,
			 .payload = pattern(bytes, 7)};
		w.control.last = last;
		s.send_ulpdu(w.encode());
	};
}

void add_immediates(Table &t)
{
	row(t, "immediate", "Immediate Data after a good exchange",
	    {ulpdu(immediate())}, delivered(Session::good_write));
	row(t, "immediate-solicited", "Immediate Data with SE",
	    {ulpdu(immediate([](Untagged &u, Session &) {
		    u.control.opcode = op_immediate_se;
	    }))},
	    delivered(Session::good_write));
	row(t, "immediate-reserved", "reserved bits, bytes 2 to 5 not zero: to be ignored",
	    {ulpdu(immediate([](Untagged &u, Session &) {
		    u.control.ddp_reserved = 0xf;
		    u.control.rdmap_reserved = 3;
		    u.invalidate = 0xdeadbeef;
	    }))},
	    delivered(Session::good_write));
	row(t, "immediate-after-write", "Immediate Data after a Write of 700 bytes",
	    {write(700), ulpdu(immediate())}, delivered(700));
	row(t, "immediate-after-segments", "... of two segments",
	    {write(700, false), write(50), ulpdu(immediate())}, delivered(750));
	row(t, "immediate-after-part", "... that has not ended: it is not counted",
	    {write(700), write(8, false), ulpdu(immediate())}, delivered(700));
	row(t, "immediate-after-two", "... after two Writes: the last one counts",
	    {write(700), write(8), ulpdu(immediate())}, delivered(8));
	row(t, "immediate-after-none", "... of no bytes",
	    {write(700), write(0), ulpdu(immediate())}, delivered(0));
	row(t, "immediate-twice", "two after one Write",
	    {write(700), ulpdu(immediate()),
	     [](Session &s) { take_immediate(s, 700); }, ulpdu(immediate())},
	    delivered(0));
	for (std::size_t bytes : {0, 1, 4, 7, 9, 16, 1400})
		for (std::uint8_t op : {op_immediate, op_immediate_se})
			row(t,
			    "immediate-" + std::to_string(op) + "-bytes-" +
				    std::to_string(bytes),
			    "Immediate Data that are not eight bytes",
			    {ulpdu(immediate([bytes, op](Untagged &u, Session &) {
				    u.control.opcode = op;
				    u.payload = pattern(bytes, 3);
			    }))},
			    terminates(bad_format));
	row(t, "immediate-not-last", "Immediate Data without L",
	    {ulpdu(immediate([](Untagged &u, Session &) { u.control.last = false; }))},
	    terminates(bad_format));
	row(t, "immediate-mo", "MO 4",
	    {ulpdu(immediate([](Untagged &u, Session &) { u.mo = 4; }))},
	    terminates({{1, 2, 4}}));
	for (std::uint32_t qn : {1u, 2u})
		row(t, "immediate-qn-" + std::to_string(qn), "on another queue",
		    {ulpdu(immediate([qn](Untagged &u, Session &) { u.qn = qn; }))},
		    terminates({{0, 2, 6}, {1, 2, 1}}));
	row(t, "immediate-tagged", "in a tagged segment",
	    {[](Session &s) {
		    Tagged w{.stag = s.aim.rw_stag, .to = s.aim.rw_at,
			     .payload = pattern(8, 3)};
		    w.control.opcode = op_immediate;
		    s.send_ulpdu(w.encode());
	    }},
	    terminates({{0, 2, 6}, {1, 0, 0}}));
	for (int off : {-1, 1, 1000})
		row(t, "immediate-msn-" + std::to_string(off), "MSN not the next one",
		    {ulpdu(immediate([off](Untagged &u, Session &) {
			    u.msn += static_cast<std::uint32_t>(off);
		    }))},
		    terminates({{1, 2, 3}}));
	row(t, "immediate-within-send", "amid a Send of several segments",
	    {ulpdu([](Session &s) {
		    Untagged u{.msn = s.send_msn, .payload = pattern(8, 1)};
		    u.control.last = false;
		    return u.encode();
	    }),
	     ulpdu(immediate([](Untagged &u, Session &) { u.mo = 8; }))},
	    terminates({{1, 2, 4}}));
	row(t, "immediate-after-empty-segment", "after an empty first segment of a Send",
	    {ulpdu([](Session &s) {
		    Untagged u{.msn = s.send_msn, .payload = {}};
		    u.control.last = false;
		    return u.encode();
	    }),
	     ulpdu(immediate())},
	    terminates({{0, 2, 6}}));
	row(t, "immediate-no-receive", "without a posted receive",
	    {ulpdu(immediate())}, terminates({{1, 2, 2}}), Mode::deaf);
}

} // namespace

void add_extensions(Table &t)
{
	add_immediates(t);
}

} // namespace peer
