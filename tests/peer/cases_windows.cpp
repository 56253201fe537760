// SPDX-License-Identifier: GPL-2.0-only
//
// Memory windows of the target's application, used as they may be and as they
// may not. The target binds them and sends where they are. For RNICs only.
#include "cases.hpp"

namespace peer {

namespace {

constexpr Setup windowed{.phase = Setup::Phase::operational, .mode = Mode::windows};

constexpr std::uint32_t size = window_size;

// Receives the target's windows. Its first message waits for our first FPDU.
Step learn()
{
	return [](Session &s) {
		s.send_ulpdu(Tagged{}.encode());
		s.windows = Windows::decode(s.receive_message());
	};
}

using Choice = Window Windows::*;

Bytes write_to(const Window &window, std::int64_t offset, std::size_t length)
{
	return Tagged{.stag = window.stag,
		      .to = window.at + static_cast<std::uint64_t>(offset),
		      .payload = pattern(length, 7)}
		.encode();
}

Aimed writes(Choice which, std::int64_t offset, std::size_t length)
{
	return [=](Session &s) { return write_to(s.windows.*which, offset, length); };
}

Aimed reads(Choice which, std::int64_t offset, std::uint32_t length)
{
	return [=](Session &s) {
		return s.read_request(length, (s.windows.*which).stag,
				      (s.windows.*which).at +
					      static_cast<std::uint64_t>(offset));
	};
}

// A Send with Invalidate, or a segment of one.
Aimed invalidates(Choice which, std::uint32_t mo = 0, bool last = true)
{
	return [=](Session &s) {
		Untagged u{.msn = s.send_msn, .mo = mo, .payload = pattern(16, 5)};

		u.control.opcode = op_send_inv;
		u.control.last = last;
		u.invalidate = (s.windows.*which).stag;
		return u.encode();
	};
}

// The Send before was delivered: its echo comes back.
Step delivered()
{
	return [](Session &s) {
		s.send_msn++;
		s.receive_message();
	};
}

Outcome answers(Choice which, std::int64_t offset, std::uint32_t length)
{
	return {"answers; then a good exchange succeeds", [=](Session &s) {
			s.must_be_placed(writes(which, offset, length)(s));
			s.good_exchange();
		}};
}

Case &row(Table &t, const std::string &name, const std::string &what,
	  std::vector<Step> steps, Outcome outcome)
{
	steps.insert(steps.begin(), learn());
	return t.add("windows/" + name, what, windowed, std::move(steps),
		     std::move(outcome))
		.only(Kind::rnic);
}

void add_bounds(Table &t)
{
	struct Place {
		const char *name;
		std::int64_t at;
		std::uint32_t length;
		bool inside;
	};
	constexpr Place places[] = {
		{"all", 0, size, true},		{"first", 0, 1, true},
		{"last", size - 1, 1, true},	{"below", -1, 8, false},
		{"far-below", -4096, 8, false}, {"beyond", size - 7, 8, false},
		{"behind", size, 1, false},	{"larger", 0, size + 1, false},
	};

	for (const Place &p : places)
		for (const bool zero : {false, true}) {
			const Choice which = zero ? &Windows::zero_based : &Windows::whole;
			const std::string suffix = std::string(p.name) +
						   (zero ? "-zero-based" : "");

			if (p.inside) {
				row(t, "use-" + suffix, "a Write and a Read within",
				    {ulpdu(writes(which, p.at, p.length))},
				    answers(which, p.at, p.length));
				continue;
			}
			row(t, "write-" + suffix, "a Write out of bounds",
			    {ulpdu(writes(which, p.at, p.length))},
			    terminates({{1, 1, 1}}));
			row(t, "read-" + suffix, "a Read out of bounds",
			    {ulpdu(reads(which, p.at, p.length))},
			    terminates({{0, 1, 1}}));
		}
	row(t, "write-address-zero-based",
	    "a Write to the address of a window that begins at 0",
	    {ulpdu([](Session &s) {
		    return write_to({s.windows.zero_based.stag, s.windows.whole.at}, 0, 8);
	    })},
	    terminates({{1, 1, 1}}));
}

void add_rights(Table &t)
{
	row(t, "read-only-write", "a Write to a window only for Reads",
	    {ulpdu(writes(&Windows::read_only, 0, 8))}, terminates({{1, 1, 0}}));
	row(t, "read-only-read", "a Read of it",
	    {[](Session &s) {
		    s.must_hold(s.windows.read_only.stag, s.windows.read_only.at,
				zeros(size));
	    }},
	    works());
	row(t, "key", "a Write with another key",
	    {ulpdu([](Session &s) {
		    return write_to({s.windows.whole.stag ^ 1, s.windows.whole.at}, 0, 8);
	    })},
	    terminates({{1, 1, 0}}));
	row(t, "invalid-write", "a Write to a window that its owner has invalidated",
	    {ulpdu(writes(&Windows::invalid, 0, 8))}, terminates({{1, 1, 0}}));
	row(t, "invalid-read", "a Read of it", {ulpdu(reads(&Windows::invalid, 0, 8))},
	    terminates({{0, 1, 0}}));
	row(t, "invalid-nothing", "a Write of nothing to it",
	    {ulpdu(writes(&Windows::invalid, 0, 0))}, works());
}

void add_invalidations(Table &t)
{
	const Choice whole = &Windows::whole;

	row(t, "invalidate", "a Send that invalidates a window",
	    {ulpdu(invalidates(whole)), delivered()}, works());
	row(t, "invalidate-twice", "two of them",
	    {ulpdu(invalidates(whole)), delivered(), ulpdu(invalidates(whole)),
	     delivered()},
	    works());
	row(t, "invalidate-invalid", "a Send that invalidates an invalid window",
	    {ulpdu(invalidates(&Windows::invalid)), delivered()}, works());
	row(t, "invalidate-write", "a Write after it",
	    {ulpdu(invalidates(whole)), delivered(), ulpdu(writes(whole, 0, 8))},
	    terminates({{1, 1, 0}}));
	row(t, "invalidate-read", "a Read after it",
	    {ulpdu(invalidates(whole)), delivered(), ulpdu(reads(whole, 0, 8))},
	    terminates({{0, 1, 0}}));
	row(t, "invalidate-type-1", "a Send that invalidates a window of type 1",
	    {ulpdu(invalidates(&Windows::read_only))}, terminates({{0, 2, 9}}));
	row(t, "invalidate-key", "a Send that invalidates another key",
	    {ulpdu([](Session &s) {
		    s.windows.whole.stag ^= 1;
		    return invalidates(&Windows::whole)(s);
	    })},
	    terminates({{0, 2, 9}}));
	// RFC 5040 section 5.3: when the message is delivered, not before.
	row(t, "invalidate-not-yet", "a Write between the segments of such a Send",
	    {ulpdu(invalidates(whole, 0, false)), ulpdu(writes(whole, 0, 64)),
	     ulpdu(invalidates(whole, 16, true)), delivered(),
	     [](Session &s) {
		     s.must_hold(s.aim.rw_stag, s.windows.whole.at, pattern(64, 7));
	     }},
	    works());
	row(t, "invalidate-within-write",
	    "such a Send between the segments of a Write",
	    {ulpdu([](Session &s) {
		     Tagged w{.stag = s.windows.whole.stag,
			      .to = s.windows.whole.at,
			      .payload = pattern(8, 7)};
		     w.control.last = false;
		     return w.encode();
	     }),
	     ulpdu(invalidates(whole)), delivered(), ulpdu(writes(whole, 8, 8))},
	    terminates({{1, 1, 0}}));
	row(t, "invalidate-and-write-at-once", "such a Send and a Write in one segment",
	    {in_one_go({invalidates(whole), writes(whole, 0, 8)}, 1)},
	    terminates({{1, 1, 0}}))
		.may_send({op_send});
}

} // namespace

void add_windows(Table &t)
{
	add_bounds(t);
	add_rights(t);
	add_invalidations(t);
}

} // namespace peer
