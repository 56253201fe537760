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

// --- Atomic operations -----------------------------------------------------------

using Change = std::function<void(Untagged &, AtomicRequest &, Session &)>;

constexpr std::uint32_t request_id = 0xa1b2c3d4;
// A word of the target's region that no good exchange changes: it is zero.
constexpr std::uint64_t word_offset = 65536;

// A FetchAdd of 1 to that word, modified by @change.
Aimed atomic(const Change &change = [](Untagged &, AtomicRequest &, Session &) {})
{
	return [change](Session &s) {
		Untagged u{.control = {.opcode = op_atomic_request},
			   .qn = 1,
			   .msn = s.read_msn++,
			   .payload = {}};
		AtomicRequest a{.id = request_id,
				.stag = s.aim.rw_stag,
				.to = s.aim.rw_at + word_offset,
				.data = 1};
		change(u, a, s);
		if (u.payload.empty())
			u.payload = a.encode();
		return u.encode();
	};
}

// Responses have sequence numbers of their own.
void take_result(Session &s, std::uint32_t msn, std::uint64_t value,
		 std::uint32_t id = request_id)
{
	const auto got = Untagged::decode(s.next_ulpdu("an Atomic Response"));
	Bytes want;

	put(want, id, 4);
	put(want, value, 8);
	if (got.control.opcode != op_atomic_response || !got.control.last ||
	    got.qn != 3 || got.msn != msn || got.mo || got.invalidate ||
	    got.payload != want)
		throw Mismatch("not the response " + hex(want, 12) + ": " +
			       hex(got.encode(), 30));
}

Outcome answered(std::vector<std::uint64_t> values)
{
	return {"answers with the values before; then a good exchange succeeds",
		[values](Session &s) {
			std::uint32_t msn = 1;
			for (const auto value : values)
				take_result(s, msn++, value);
			s.good_exchange();
		}};
}

void add_atomics(Table &t)
{
	row(t, "atomic-add", "three FetchAdds", {ulpdu(atomic()), [](Session &s) {
		    take_result(s, 1, 0);
	    },
	     ulpdu(atomic()), [](Session &s) { take_result(s, 2, 1); },
	     ulpdu(atomic())},
	    custom("answers with the values before", [](Session &s) {
		    take_result(s, 3, 2);
		    s.good_exchange();
	    }));
	row(t, "atomic-reserved", "reserved bits set: to be ignored",
	    {ulpdu(atomic([](Untagged &u, AtomicRequest &a, Session &) {
		    u.control.ddp_reserved = 0xf;
		    u.control.rdmap_reserved = 3;
		    u.invalidate = 0xdeadbeef;
		    a.op |= 0xfffffff0;
	    }))},
	    answered({0}));
	row(t, "atomic-add-mask", "eight adds of bytes at once (X2)",
	    {ulpdu(atomic([](Untagged &, AtomicRequest &a, Session &) {
		    a.data = 0xff00807f01feff10;
	    })),
	     [](Session &s) { take_result(s, 1, 0); },
	     ulpdu(atomic([](Untagged &, AtomicRequest &a, Session &) {
		     a.data = 0x0101808101020110;
		     a.mask = 0x8080808080808080;
	     })),
	     [](Session &s) { take_result(s, 2, 0xff00807f01feff10); },
	     ulpdu(atomic([](Untagged &, AtomicRequest &a, Session &) {
		     a.data = 0;
	     }))},
	    custom("has added each byte alone", [](Session &s) {
		    take_result(s, 3, 0x0001000002000020);
	    }));
	row(t, "atomic-swap-masks", "CmpSwaps of halves (X3)",
	    {ulpdu(atomic([](Untagged &, AtomicRequest &a, Session &) {
		    a.data = 0x1122334455667788;
	    })),
	     [](Session &s) { take_result(s, 1, 0); },
	     ulpdu(atomic([](Untagged &, AtomicRequest &a, Session &) {
		     a.op = 2;
		     a.data = 0xaaaaaaaaaaaaaaaa;
		     a.mask = 0xffffffff;
		     a.compare = 0x1122334400000000;
		     a.compare_mask = 0xffffffff00000000;
	     })),
	     [](Session &s) { take_result(s, 2, 0x1122334455667788); },
	     // Not equal: unchanged.
	     ulpdu(atomic([](Untagged &, AtomicRequest &a, Session &) {
		     a.op = 2;
		     a.data = 0;
		     a.mask = ~std::uint64_t{0};
		     a.compare = 1;
	     })),
	     [](Session &s) { take_result(s, 3, 0x11223344aaaaaaaa); },
	     // Nothing compared: a Swap.
	     ulpdu(atomic([](Untagged &, AtomicRequest &a, Session &) {
		     a.op = 2;
		     a.data = 5;
		     a.mask = ~std::uint64_t{0};
		     a.compare_mask = 0;
	     })),
	     [](Session &s) { take_result(s, 4, 0x11223344aaaaaaaa); },
	     ulpdu(atomic())},
	    custom("swaps what the masks name",
		   [](Session &s) { take_result(s, 5, 5); }));
	row(t, "atomic-and-read", "Reads and FetchAdds in one segment (X11)",
	    {in_one_go({[](Session &s) {
				return s.read_request(16, s.aim.rw_stag, s.aim.rw_at);
			},
			[](Session &s) { return atomic()(s); },
			[](Session &s) {
				return s.read_request(16, s.aim.rw_stag, s.aim.rw_at);
			}})},
	    custom("answers in order", [](Session &s) {
		    s.receive_response(s.good_memory(16));
		    take_result(s, 1, 0);
		    s.receive_response(s.good_memory(16));
		    s.good_exchange();
	    }));
	for (std::uint64_t off = 1; off < 8; off++)
		row(t, "atomic-unaligned-" + std::to_string(off),
		    "TO not aligned (X4)",
		    {ulpdu(atomic([off](Untagged &, AtomicRequest &a, Session &) {
			    a.to += off;
		    }))},
		    terminates({{0, 2, 7}}));
	for (std::uint32_t op : {1u, 3u, 4u, 15u})
		row(t, "atomic-op-" + std::to_string(op), "an unknown AOpCode (X6)",
		    {ulpdu(atomic([op](Untagged &, AtomicRequest &a, Session &) {
			    a.op = op;
		    }))},
		    terminates({{0, 2, 6}}));
	struct Target {
		const char *name;
		Code code;
		std::function<void(AtomicRequest &, const Aim &)> aim;
	};
	const std::vector<Target> targets{
		{"stag-zero", {0, 1, 0}, [](AtomicRequest &a, const Aim &) { a.stag = 0; }},
		{"stag-key", {0, 1, 0}, [](AtomicRequest &a, const Aim &) { a.stag ^= 1; }},
		{"no-right", {0, 1, 2},
		 [](AtomicRequest &a, const Aim &aim) {
			 a.stag = aim.wo_stag;
			 a.to = aim.wo_at;
		 }},
		{"read-only", {0, 1, 2},
		 [](AtomicRequest &a, const Aim &aim) {
			 a.stag = aim.ro_stag;
			 a.to = aim.ro_at;
		 }},
		{"other-domain", {0, 1, 3},
		 [](AtomicRequest &a, const Aim &aim) {
			 a.stag = aim.other_stag;
			 a.to = aim.other_at;
		 }},
		{"before", {0, 1, 1}, [](AtomicRequest &a, const Aim &aim) { a.to = aim.rw_at - 8; }},
		{"beyond", {0, 1, 1},
		 [](AtomicRequest &a, const Aim &aim) { a.to = aim.rw_at + aim.rw_length; }},
		{"across-end", {0, 1, 1},
		 [](AtomicRequest &a, const Aim &aim) { a.to = aim.rw_at + aim.rw_length - 7; }},
		{"far", {0, 1, 1},
		 [](AtomicRequest &a, const Aim &) { a.to = ~std::uint64_t{7}; }},
	};
	for (const auto &target : targets)
		row(t, std::string("atomic-") + target.name, "memory that is not granted (X5)",
		    {ulpdu(atomic([aim = target.aim](Untagged &, AtomicRequest &a,
						     Session &s) { aim(a, s.aim); }))},
		    terminates(std::vector<Code>{target.code}));
	row(t, "atomic-last-word", "the last eight bytes of a region (X5)",
	    {ulpdu(atomic([](Untagged &, AtomicRequest &a, Session &s) {
		    a.to = s.aim.rw_at + s.aim.rw_length - 8;
	    }))},
	    custom("answers", [](Session &s) { take_result(s, 1, 0); }));
	for (std::size_t bytes : {0, 1, 51, 53, 1000})
		row(t, "atomic-bytes-" + std::to_string(bytes),
		    "an Atomic Request of another length (X7)",
		    {ulpdu([bytes](Session &s) {
			    Untagged u{.control = {.opcode = op_atomic_request},
				       .qn = 1,
				       .msn = s.read_msn++,
				       .payload = zeros(bytes)};
			    return u.encode();
		    })},
		    terminates(bad_format));
	row(t, "atomic-not-last", "an Atomic Request without L",
	    {ulpdu(atomic([](Untagged &u, AtomicRequest &, Session &) {
		    u.control.last = false;
	    }))},
	    terminates(bad_format));
	for (std::uint32_t qn : {0u, 2u, 3u})
		row(t, "atomic-qn-" + std::to_string(qn), "on another queue",
		    {ulpdu(atomic([qn](Untagged &u, AtomicRequest &, Session &) {
			    u.qn = qn;
		    }))},
		    terminates({{0, 2, 6}, {1, 2, 1}}));
	row(t, "atomic-msn-repeated", "the same request twice (X14)",
	    {ulpdu(atomic()), [](Session &s) { take_result(s, 1, 0); },
	     ulpdu(atomic([](Untagged &u, AtomicRequest &, Session &) { u.msn--; }))},
	    terminates({{1, 2, 3}}));
	row(t, "atomic-ird-exceeded", "20 of them and Reads in one segment, IRD being 4 (X8)",
	    {[](Session &s) {
		    Bytes all;
		    for (int i = 0; i < 20; i++) {
			    s.suspect = i % 2 ? s.read_request(16, s.aim.rw_stag,
							       s.aim.rw_at)
					      : atomic()(s);
			    all = join(all, s.writer.fpdu(s.suspect));
		    }
		    s.any_suspect = true;
		    s.send(all);
	    }},
	    terminates({{1, 2, 2}, {1, 2, 3}, {0, 2, 7}}))
		.may_send({op_read_response, op_atomic_response});
	row(t, "atomic-response-unasked", "an Atomic Response without a request (X9)",
	    {ulpdu([](Session &) {
		    Untagged u{.control = {.opcode = op_atomic_response},
			       .qn = 3,
			       .payload = zeros(12)};
		    return u.encode();
	    })},
	    terminates({{0, 2, 6}}));
	for (std::size_t bytes : {0, 11, 13})
		row(t, "atomic-response-bytes-" + std::to_string(bytes),
		    "an Atomic Response of another length (X7)",
		    {ulpdu([bytes](Session &) {
			    Untagged u{.control = {.opcode = op_atomic_response},
				       .qn = 3,
				       .payload = zeros(bytes)};
			    return u.encode();
		    })},
		    terminates(bad_format));
	row(t, "atomic-response-to-read", "an Atomic Response where a Read is outstanding",
	    {[](Session &s) {
		    Untagged u{.control = {.opcode = op_atomic_response},
			       .qn = 3,
			       .payload = zeros(12)};
		    // The target may send when it has received an FPDU.
		    write(0)(s);
		    s.next_ulpdu("a Read Request");
		    s.send_ulpdu(u.encode());
	    }},
	    terminates({{0, 2, 6}}), Mode::reader);
}

} // namespace

void add_extensions(Table &t)
{
	add_immediates(t);
	add_atomics(t);
}

} // namespace peer
