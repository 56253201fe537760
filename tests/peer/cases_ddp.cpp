// SPDX-License-Identifier: GPL-2.0-only
//
// Segments in correct FPDUs with wrong DDP or RDMAP headers: RFC 5041 section
// 7.1, RFC 5040 section 7. For RNICs only.
#include "cases.hpp"

namespace peer {

namespace {

const std::vector<Code> bad_opcode{{0, 2, 6}};
// The RFCs define no code for an opcode on the wrong kind of buffer or queue.
const std::vector<Code> misplaced{{0, 2, 6}, {1, 2, 1}, {1, 0, 0}};
const std::vector<Code> bad_msn{{1, 2, 3}};
const std::vector<Code> no_buffer{{1, 2, 2}};
const std::vector<Code> no_invalidate{{0, 2, 9}, {0, 1, 9}};

std::string label(const std::string &name, unsigned long number)
{
	return name + "-" + std::to_string(number);
}

Case &row(Table &t, const std::string &name, const std::string &what,
	  std::vector<Step> steps, Outcome outcome, Setup setup = exchanged)
{
	return t.add("ddp/" + name, what, setup, std::move(steps),
		     std::move(outcome))
		.only(Kind::rnic);
}

// A correct Send, modified by @change.
Aimed sends(std::function<void(Untagged &, Session &)> change)
{
	return [change](Session &s) {
		Untagged u{.msn = s.send_msn, .payload = pattern(32, 5)};
		change(u, s);
		return u.encode();
	};
}

// A Write of eight bytes, likewise.
Aimed writes(std::function<void(Tagged &, Session &)> change)
{
	return [change](Session &s) {
		Tagged w{.stag = s.aim.rw_stag,
			 .to = s.aim.rw_at,
			 .payload = pattern(8, 5)};
		change(w, s);
		return w.encode();
	};
}

// The payloads of Writes are in memory.
Outcome placed(std::vector<Aimed> writes)
{
	return {"places it; then a good exchange succeeds", [writes](Session &s) {
			for (const auto &write : writes)
				s.must_be_placed(write(s));
			s.good_exchange();
		}};
}

Case &placed_row(Table &t, const std::string &name, const std::string &what, Aimed write)
{
	return row(t, name, what, {ulpdu(write)}, placed({write}));
}

// Counts as one of the peer's messages; its echo was received.
Outcome delivered()
{
	return {"delivers it; then a good exchange succeeds", [](Session &s) {
			s.send_msn++;
			s.receive_message();
			s.good_exchange();
		}};
}

void add_control(Table &t)
{
	for (int dv : {0, 2, 3}) {
		const auto v = static_cast<std::uint8_t>(dv);
		row(t, label("tagged-version", dv), "DDP version in a Write",
		    {ulpdu(writes([v](Tagged &w, Session &) { w.control.dv = v; }))},
		    terminates({{1, 1, 4}}));
		row(t, label("untagged-version", dv), "DDP version in a Send",
		    {ulpdu(sends([v](Untagged &u, Session &) { u.control.dv = v; }))},
		    terminates({{1, 2, 6}}));
		row(t, label("tagged-rdmap-version", dv),
		    "RDMAP version in a Write",
		    {ulpdu(writes([v](Tagged &w, Session &) { w.control.rv = v; }))},
		    terminates({{0, 2, 5}}));
		row(t, label("untagged-rdmap-version", dv),
		    "RDMAP version in a Send",
		    {ulpdu(sends([v](Untagged &u, Session &) { u.control.rv = v; }))},
		    terminates({{0, 2, 5}}));
	}
	for (int bits : {1, 2, 4, 8, 15}) {
		const auto v = static_cast<std::uint8_t>(bits);
		placed_row(t, label("tagged-reserved", bits),
			   "reserved bits of DDP in a Write: to be ignored",
			   writes([v](Tagged &w, Session &) {
				   w.control.ddp_reserved = v;
			   }));
		row(t, label("untagged-reserved", bits),
		    "reserved bits of DDP in a Send: to be ignored",
		    {ulpdu(sends([v](Untagged &u, Session &) {
			    u.control.ddp_reserved = v;
		    }))},
		    delivered());
	}
	for (int bits : {1, 2, 3}) {
		const auto v = static_cast<std::uint8_t>(bits);
		placed_row(t, label("tagged-rdmap-reserved", bits),
			   "reserved bits of RDMAP in a Write: to be ignored",
			   writes([v](Tagged &w, Session &) {
				   w.control.rdmap_reserved = v;
			   }));
		row(t, label("untagged-rdmap-reserved", bits),
		    "reserved bits of RDMAP in a Send: to be ignored",
		    {ulpdu(sends([v](Untagged &u, Session &) {
			    u.control.rdmap_reserved = v;
		    }))},
		    delivered());
	}
	row(t, "invalidate-field-unused",
	    "an Invalidate STag in a Send that invalidates nothing: to be ignored",
	    {ulpdu(sends([](Untagged &u, Session &s) {
		    u.invalidate = s.aim.rw_stag;
	    }))},
	    delivered());
}

void add_opcodes(Table &t)
{
	for (std::uint8_t op = 8; op < 16; op++) {
		row(t, label("untagged-opcode", op),
		    "an opcode unknown or not agreed on (immediate data, atomics)",
		    {ulpdu(sends([op](Untagged &u, Session &) {
			    u.control.opcode = op;
		    }))},
		    terminates(bad_opcode));
		row(t, label("tagged-opcode", op),
		    "an opcode unknown or not agreed on, in a tagged segment",
		    {ulpdu(writes([op](Tagged &w, Session &) {
			    w.control.opcode = op;
		    }))},
		    terminates(bad_opcode));
	}
	for (std::uint8_t op : {op_write, op_read_response})
		row(t, label("untagged-opcode", op), "a tagged message untagged",
		    {ulpdu(sends([op](Untagged &u, Session &) {
			    u.control.opcode = op;
		    }))},
		    terminates(misplaced));
	for (std::uint8_t op : {op_read_request, op_send, op_send_inv, op_send_se,
				op_send_se_inv})
		row(t, label("tagged-opcode", op), "an untagged message tagged",
		    {ulpdu(writes([op](Tagged &w, Session &) {
			    w.control.opcode = op;
		    }))},
		    terminates(misplaced));
	row(t, "atomic-request", "a whole Atomic Request that was not agreed on",
	    {ulpdu(sends([](Untagged &u, Session &s) {
		    u.control.opcode = 0xa;
		    u.qn = 1;
		    u.msn = s.read_msn;
		    u.payload = zeros(52);
	    }))},
	    terminates(bad_opcode));
	row(t, "atomic-response", "a whole Atomic Response that was not requested",
	    {ulpdu(sends([](Untagged &u, Session &) {
		    u.control.opcode = 0xb;
		    u.qn = 3;
		    u.msn = 1;
		    u.payload = zeros(12);
	    }))},
	    terminates({{0, 2, 6}, {1, 2, 1}}));
	row(t, "immediate", "eight bytes of Immediate Data that were not agreed on",
	    {ulpdu(sends([](Untagged &u, Session &) {
		    u.control.opcode = 8;
		    u.payload = zeros(8);
	    }))},
	    terminates(bad_opcode));
}

void add_queues(Table &t)
{
	for (std::uint32_t qn : {3u, 4u, 0x100u, 0x10000u, 0x80000000u, 0xffffffffu})
		row(t, label("send-qn", qn), "a Send to an unknown queue",
		    {ulpdu(sends([qn](Untagged &u, Session &) { u.qn = qn; }))},
		    terminates({{1, 2, 1}}));
	for (std::uint32_t qn : {1u, 2u})
		row(t, label("send-qn", qn), "a Send to another's queue",
		    {ulpdu(sends([qn](Untagged &u, Session &) { u.qn = qn; }))},
		    terminates(misplaced));
}

void add_sequence(Table &t)
{
	struct Number {
		const char *name;
		std::int64_t off;
	};
	for (const auto &[name, off] :
	     {Number{"repeated", -1}, {"before", -2}, {"next", 1}, {"far", 1000},
	      {"half-way", 0x80000000}, {"just-below-half", 0x7fffffff}})
		row(t, std::string("send-msn-") + name,
		    "a Send with another MSN than the next",
		    {ulpdu(sends([off](Untagged &u, Session &) {
			    u.msn = static_cast<std::uint32_t>(u.msn + off);
		    }))},
		    terminates({{1, 2, 3}, {1, 2, 2}}));
	for (std::uint32_t msn : {0u, 0xffffffffu})
		row(t, label("send-msn", msn), "a Send with an extreme MSN",
		    {ulpdu(sends([msn](Untagged &u, Session &) { u.msn = msn; }))},
		    terminates(bad_msn));
	row(t, "send-first-msn-0", "MSN 0 in the first Send of all",
	    {ulpdu(sends([](Untagged &u, Session &) { u.msn = 0; }))},
	    terminates(bad_msn), operational);
	row(t, "send-first-msn-2", "MSN 2 in the first Send of all",
	    {ulpdu(sends([](Untagged &u, Session &) { u.msn = 2; }))},
	    terminates(bad_msn), operational);
	Setup deaf = operational;
	deaf.mode = Mode::deaf;
	for (std::size_t size : {0, 1, 1000})
		row(t, label("send-no-receive", size),
		    "a Send where no receive is posted",
		    {ulpdu(sends([size](Untagged &u, Session &) {
			    u.payload = zeros(size);
		    }))},
		    terminates(no_buffer), deaf);
	row(t, "send-too-many",
	    "50 Sends in one go, more than there are receives",
	    {[](Session &s) {
		    Bytes all;
		    for (int i = 0; i < 50; i++) {
			    s.suspect = Untagged{.msn = s.send_msn + i,
						 .payload = {1}}
						.encode();
			    all = join(all, s.writer.fpdu(s.suspect));
		    }
		    s.any_suspect = true;
		    s.send(all);
	    }},
	    terminates(no_buffer))
		.may_send({op_send});
}

Aimed piece(std::uint32_t mo, std::size_t size, bool last)
{
	return sends([=](Untagged &u, Session &) {
		u.mo = mo;
		u.payload = pattern(size, 3);
		u.control.last = last;
	});
}

void add_offsets(Table &t)
{
	for (std::uint32_t mo : {1u, 32u, 0x80000000u, 0xffffffffu})
		row(t, label("send-mo", mo), "a first segment that is not the first",
		    {ulpdu(piece(mo, 32, true))}, terminates({{1, 2, 4}}));
	row(t, "send-mo-wraps", "MO and length pass 2^32",
	    {ulpdu(piece(0xfffffff0, 32, true))}, terminates({{1, 2, 4}, {1, 2, 5}}));
	row(t, "send-mo-gap", "a gap before the second segment",
	    {ulpdu(piece(0, 32, false)), ulpdu(piece(33, 32, true))},
	    terminates({{1, 2, 4}}));
	row(t, "send-mo-overlap", "a second segment that overlaps the first",
	    {ulpdu(piece(0, 32, false)), ulpdu(piece(31, 32, true))},
	    terminates({{1, 2, 4}}));
	row(t, "send-mo-again", "the first segment twice",
	    {ulpdu(piece(0, 32, false)), ulpdu(piece(0, 32, true))},
	    terminates({{1, 2, 4}}));
	const auto sized = [](int off) {
		return sends([off](Untagged &u, Session &s) {
			u.payload = pattern(s.aim.receive_size + off, 3);
		});
	};
	row(t, "send-full", "a Send that fills its receive", {ulpdu(sized(0))},
	    delivered());
	row(t, "send-one-too-long", "a Send one byte longer than its receive",
	    {ulpdu(sized(1))}, terminates({{1, 2, 5}}));
	row(t, "send-much-too-long", "a Send of 60000 bytes",
	    {ulpdu(piece(0, 60000, true))}, terminates({{1, 2, 5}}));
	row(t, "send-too-long-later", "a second segment beyond the receive",
	    {ulpdu(piece(0, 32, false)), ulpdu(sends([](Untagged &u, Session &s) {
		     u.mo = 32;
		     u.payload = pattern(s.aim.receive_size - 31, 3);
	     }))},
	    terminates({{1, 2, 5}}));
	row(t, "send-second-opcode", "another opcode in the second segment",
	    {ulpdu(piece(0, 32, false)), ulpdu(sends([](Untagged &u, Session &) {
		     u.mo = 32;
		     u.control.opcode = op_send_se;
	     }))},
	    terminates({{0, 2, 6}}));
	row(t, "send-second-msn", "the next MSN in the second segment",
	    {ulpdu(piece(0, 32, false)), ulpdu(sends([](Untagged &u, Session &) {
		     u.mo = 32;
		     u.msn++;
	     }))},
	    terminates({{1, 2, 3}}));
	row(t, "send-second-qn", "another queue in the second segment",
	    {ulpdu(piece(0, 32, false)), ulpdu(sends([](Untagged &u, Session &) {
		     u.mo = 32;
		     u.qn = 1;
	     }))},
	    terminates(misplaced));
	row(t, "send-unfinished-fin", "a FIN between the segments of a message",
	    {ulpdu(piece(0, 32, false)), fin()}, closes());
	row(t, "send-unfinished-reset", "a RST between the segments of a message",
	    {ulpdu(piece(0, 32, false)), reset()}, survives())
		.counts("conn_reset");
	row(t, "send-unfinished-write",
	    "a Write between the segments of a Send: placed as it comes",
	    {ulpdu(piece(0, 16, false)), ulpdu(writes([](Tagged &, Session &) {})),
	     ulpdu(piece(16, 16, true))},
	    delivered());
	row(t, "send-crumbs", "a message in 1000 segments of one byte",
	    {[](Session &s) {
		    Bytes all;
		    for (std::uint32_t mo = 0; mo < 1000; mo++)
			    all = join(all, s.writer.fpdu(
						    piece(mo, 1, mo == 999)(s)));
		    s.send(all);
	    }},
	    delivered());
	row(t, "send-empty-segments",
	    "a message with empty segments before, within and behind",
	    {ulpdu(piece(0, 0, false)), ulpdu(piece(0, 8, false)),
	     ulpdu(piece(8, 0, false)), ulpdu(piece(8, 8, false)),
	     ulpdu(piece(16, 0, true))},
	    delivered());
	row(t, "send-empty", "a Send of nothing", {ulpdu(piece(0, 0, true))},
	    delivered());
}

void add_invalidations(Table &t)
{
	const auto naming = [](std::uint8_t op,
			       std::function<std::uint32_t(const Aim &)> stag) {
		return sends([op, stag](Untagged &u, Session &s) {
			u.control.opcode = op;
			u.invalidate = stag(s.aim);
		});
	};

	for (std::uint8_t op : {op_send_inv, op_send_se_inv}) {
		row(t, label("invalidate-unknown", op), "an unknown STag",
		    {ulpdu(naming(op, [](const Aim &a) { return a.rw_stag ^ 0x5500; }))},
		    terminates(no_invalidate));
		row(t, label("invalidate-zero", op), "STag 0",
		    {ulpdu(naming(op, [](const Aim &) { return 0u; }))},
		    terminates(no_invalidate));
		row(t, label("invalidate-stale", op),
		    "a STag with another key than the region has",
		    {ulpdu(naming(op, [](const Aim &a) { return a.rw_stag ^ 1; }))},
		    terminates(no_invalidate));
		row(t, label("invalidate-user-region", op),
		    "a region that a peer may not invalidate",
		    {ulpdu(naming(op, [](const Aim &a) { return a.rw_stag; }))},
		    terminates(no_invalidate));
		row(t, label("invalidate-other-domain", op),
		    "a region of another protection domain",
		    {ulpdu(naming(op, [](const Aim &a) { return a.other_stag; }))},
		    terminates(no_invalidate));
	}
	row(t, "solicited", "a Send with solicited event",
	    {ulpdu(sends([](Untagged &u, Session &) {
		    u.control.opcode = op_send_se;
	    }))},
	    delivered());
}

// Tagged buffers -----------------------------------------------------------------

void add_stags(Table &t)
{
	struct Other {
		const char *name;
		std::function<std::uint32_t(const Aim &)> stag;
	};
	const std::vector<Other> others{
		{"zero", [](const Aim &) { return 0u; }},
		{"ones", [](const Aim &) { return 0xffffffffu; }},
		{"key", [](const Aim &a) { return a.rw_stag ^ 1; }},
		{"key-high", [](const Aim &a) { return a.rw_stag ^ 0x80; }},
		{"index", [](const Aim &a) { return a.rw_stag + 0x100; }},
		{"index-below", [](const Aim &a) { return a.rw_stag - 0x100; }},
		{"swapped",
		 [](const Aim &a) { return __builtin_bswap32(a.rw_stag); }},
	};
	for (const auto &[name, stag] : others)
		row(t, std::string("write-stag-") + name,
		    "a Write to an unknown STag",
		    {ulpdu(writes([stag](Tagged &w, Session &s) {
			    w.stag = stag(s.aim);
		    }))},
		    terminates({{1, 1, 0}}));
	row(t, "write-other-domain", "a Write to a STag of another domain",
	    {ulpdu(writes([](Tagged &w, Session &s) {
		    w.stag = s.aim.other_stag;
		    w.to = s.aim.other_at;
	    }))},
	    terminates({{1, 1, 2}, {0, 1, 3}}));
	row(t, "write-read-only", "a Write where only Reads are allowed",
	    {ulpdu(writes([](Tagged &w, Session &s) {
		    w.stag = s.aim.ro_stag;
		    w.to = s.aim.ro_at;
	    }))},
	    terminates({{1, 1, 0}, {0, 1, 2}}));
	row(t, "write-write-only", "a Write where only Writes are allowed",
	    {ulpdu(writes([](Tagged &w, Session &s) {
		    w.stag = s.aim.wo_stag;
		    w.to = s.aim.wo_at;
	    }))},
	    works());
}

void add_bounds(Table &t)
{
	struct Place {
		const char *name;
		bool from_end;
		std::int64_t at;
		std::size_t size;
	};
	const std::vector<Place> outside{
		{"below", false, -1, 8},	{"just-below", false, -8, 8},
		{"far-below", false, -(1 << 30), 8}, {"beyond", true, -7, 8},
		{"at-end", true, 0, 1},		{"far-beyond", true, 1 << 30, 8},
		{"larger", true, -8, 60000},
	};
	for (const auto &p : outside)
		row(t, std::string("write-") + p.name, "a Write out of bounds",
		    {ulpdu(writes([p](Tagged &w, Session &s) {
			    w.to += p.at + (p.from_end ? s.aim.rw_length : 0);
			    w.payload = pattern(p.size, 3);
		    }))},
		    terminates({{1, 1, 1}}));
	const std::vector<Place> inside{{"first", false, 0, 1},
					{"last", true, -1, 1},
					{"last-many", true, -60000, 60000}};
	for (const auto &p : inside)
		placed_row(t, std::string("write-") + p.name, "a Write just within bounds",
			   writes([p](Tagged &w, Session &s) {
				   w.to += p.at + (p.from_end ? s.aim.rw_length : 0);
				   w.payload = pattern(p.size, 3);
			   }));
	for (std::uint64_t to : {std::uint64_t{0}, ~std::uint64_t{0},
				 ~std::uint64_t{0} - 3, std::uint64_t{1} << 63})
		row(t, "write-to-" + std::to_string(to), "a Write to an extreme TO",
		    {ulpdu(writes([to](Tagged &w, Session &) { w.to = to; }))},
		    terminates({{1, 1, 1}, {1, 1, 3}}));
	row(t, "write-empty-anywhere", "a Write of nothing to nowhere: in order",
	    {ulpdu(Tagged{.stag = 0xdeadbeef, .to = ~std::uint64_t{0}}.encode())},
	    works());
	row(t, "write-second-segment",
	    "a good first segment, and a second one out of bounds",
	    {ulpdu(writes([](Tagged &w, Session &) { w.control.last = false; })),
	     ulpdu(writes([](Tagged &w, Session &s) {
		     w.to += s.aim.rw_length;
	     }))},
	    terminates({{1, 1, 1}}));
	row(t, "write-second-stag", "another STag in the second segment",
	    {ulpdu(writes([](Tagged &w, Session &) { w.control.last = false; })),
	     ulpdu(writes([](Tagged &w, Session &) { w.stag ^= 0xff00; }))},
	    terminates({{1, 1, 0}}));
	row(t, "write-then-nothing",
	    "good Sends and Writes in one go after a faulty one: not processed",
	    {[](Session &s) {
		    const auto bad = writes([](Tagged &w, Session &) {
			    w.stag ^= 1;
		    })(s);
		    Bytes all = s.writer.fpdu(bad);
		    for (int i = 0; i < 10; i++)
			    all = join(all, s.writer.fpdu(piece(0, 4, true)(s)));
		    s.suspect = bad;
		    s.send(all);
	    }},
	    custom("sends Terminate 1/1/00, no echo, and closes",
		   [](Session &s) {
			   const auto ulpdu = s.next_ulpdu("a Terminate");
			   if (!is_terminate(ulpdu) ||
			       Terminate::decode(ulpdu).code != Code{1, 1, 0})
				   throw Mismatch(words(ulpdu));
			   s.tally.add("tx_terminate");
			   s.tally.add("rx_ddp_error");
			   s.must_end(s.soon());
		   }));
	row(t, "two-faults", "two faults in one go: the first one counts",
	    {[](Session &s) {
		    const auto one = writes([](Tagged &w, Session &) {
			    w.control.dv = 2;
		    })(s);
		    const auto two = sends([](Untagged &u, Session &) {
			    u.qn = 77;
		    })(s);
		    s.send(join(s.writer.fpdu(one), s.writer.fpdu(two)));
		    s.suspect = one;
	    }},
	    terminates({{1, 1, 4}}));
	row(t, "fault-and-crc", "a fault of DDP's and then a wrong CRC",
	    {[](Session &s) {
		    const auto one = sends([](Untagged &u, Session &) {
			    u.qn = 77;
		    })(s);
		    s.send(join(s.writer.fpdu(one),
				s.writer.fpdu(one, {.crc_xor = 1})));
		    s.suspect = one;
	    }},
	    terminates({{1, 2, 1}}));
	// Whether the Terminate still counts as sent is a race.
	t.add("race/fault-and-reset", "a fault, and a RST before it is reported",
	      exchanged,
	      {ulpdu(writes([](Tagged &w, Session &) { w.stag ^= 1; })), reset()},
	      survives())
		.only(Kind::rnic);
	row(t, "never-closes",
	    "a fault; then the peer neither reads nor closes, but sends",
	    {ulpdu(writes([](Tagged &w, Session &) { w.stag ^= 1; })),
	     flood(zeros(1000), 100)},
	    terminates({{1, 1, 0}}));
}

} // namespace

void add_untagged(Table &t)
{
	add_control(t);
	add_opcodes(t);
	add_queues(t);
	add_sequence(t);
	add_offsets(t);
	add_invalidations(t);
}

// Segments that only continue the first one, which a receiver may process
// together with it: each @size bytes after the one before, all but the last
// without L.

std::vector<Aimed> write_run(std::size_t count, std::size_t size, bool to_end,
			     std::function<void(Tagged &, std::size_t)> change = {})
{
	std::vector<Aimed> run;
	for (std::size_t i = 0; i < count; i++)
		run.push_back(writes([=](Tagged &w, Session &s) {
			if (to_end)
				w.to += s.aim.rw_length - 100;
			w.to += i * size;
			w.payload = pattern(size, static_cast<std::uint32_t>(i));
			w.control.last = i + 1 == count;
			if (change)
				change(w, i);
		}));
	return run;
}

std::vector<Aimed> send_run(std::size_t count,
			    std::function<void(Untagged &, std::size_t)> change = {})
{
	std::vector<Aimed> run;
	for (std::size_t i = 0; i < count; i++)
		run.push_back(sends([=](Untagged &u, Session &s) {
			const auto size = s.aim.receive_size / 5;
			u.mo = i * size;
			u.payload = pattern(size, 3);
			u.control.last = i + 1 == count;
			if (change)
				change(u, i);
		}));
	return run;
}

// A Write in segments of all lengths from 1 byte on.
constexpr std::size_t unequal_bytes = 60 * 61 / 2;

std::vector<Aimed> unequal_run()
{
	std::vector<Aimed> run;
	for (std::size_t at = 0, size = 1; at < unequal_bytes; at += size++)
		run.push_back(writes([=](Tagged &w, Session &) {
			w.to += at;
			w.payload = first(rest(pattern(unequal_bytes, 7), at), size);
			w.control.last = at + size == unequal_bytes;
		}));
	return run;
}

void add_runs(Table &table, bool marked)
{
	const auto row = [&](const std::string &name, const std::string &what,
			     std::vector<Step> steps, Outcome outcome) {
		auto &added = peer::row(table, marked ? name + "-markers" : name,
					what, std::move(steps),
					std::move(outcome));
		if (marked)
			added.with_markers();
	};

	const auto placed_run = [&](const std::string &name, const std::string &what,
				    const std::vector<Aimed> &run) {
		row(name, what, {in_one_go(run)}, placed(run));
	};

	placed_run("run-write", "a Write in 20 equal segments in one go",
		   write_run(20, 40, false));
	placed_run("run-write-unequal", "a Write in segments of 1 to 60 bytes in one go",
		   unequal_run());
	row("run-write-beyond", "the third of them passes the region's end",
	    {in_one_go(write_run(6, 40, true), 2)}, terminates({{1, 1, 1}}));
	row("run-write-first-beyond", "the first of them passes the region's end",
	    {in_one_go(write_run(6, 101, true), 0)}, terminates({{1, 1, 1}}));
	row("run-write-stag", "the third of them has another STag",
	    {in_one_go(write_run(6, 40, false,
				 [](Tagged &w, std::size_t i) {
					 w.stag ^= i == 2;
				 }),
		       2)},
	    terminates({{1, 1, 0}}));
	placed_run("run-write-elsewhere", "the third of them goes elsewhere: in order",
		   write_run(6, 40, false, [](Tagged &w, std::size_t i) {
			   w.to += i == 2 ? 1000 : 0;
		   }));
	row("run-send-too-long", "the sixth segment passes the receive's end",
	    {in_one_go(send_run(9), 5)}, terminates({{1, 2, 5}}));
	row("run-send-gap", "a gap before the third segment",
	    {in_one_go(send_run(5,
				[](Untagged &u, std::size_t i) {
					u.mo += i >= 2;
				}),
		       2)},
	    terminates({{1, 2, 4}}));
	row("run-send-msn", "the next MSN in the third segment",
	    {in_one_go(send_run(5,
				[](Untagged &u, std::size_t i) {
					u.msn += i == 2;
				}),
		       2)},
	    terminates({{1, 2, 3}}));
}

void add_tagged(Table &t)
{
	add_stags(t);
	add_bounds(t);
	for (bool marked : {false, true})
		add_runs(t, marked);
}

} // namespace peer
