// SPDX-License-Identifier: GPL-2.0-only
//
// Reads in both directions and Terminates: RFC 5040 sections 4.4, 4.8 and 5.2.
// For RNICs only.
#include "cases.hpp"

namespace peer {

namespace {

const std::vector<Code> out_of_bounds{{0, 1, 1}};

Case &row(Table &t, const std::string &name, const std::string &what,
	  std::vector<Step> steps, Outcome outcome, Setup setup = exchanged)
{
	return t.add("rdmap/" + name, what, setup, std::move(steps),
		     std::move(outcome))
		.only(Kind::rnic);
}

using ReadChange = std::function<void(Untagged &, ReadRequest &, Session &)>;

// A correct Read Request, modified by @change.
Aimed reads(const ReadChange &change)
{
	return [change](Session &s) {
		Untagged u{.control = {.opcode = op_read_request},
			   .qn = 1,
			   .msn = s.read_msn};
		ReadRequest r{.sink_stag = 0x51515151,
			      .sink_to = 0x1000,
			      .size = 64,
			      .src_stag = s.aim.rw_stag,
			      .src_to = s.aim.rw_at};
		change(u, r, s);
		if (u.payload.empty())
			u.payload = r.encode();
		return u.encode();
	};
}

Outcome answered(const Bytes &data)
{
	return {"answers it; then a good exchange succeeds", [data](Session &s) {
			s.read_msn++;
			s.receive_response(data);
			s.good_exchange();
		}};
}

void add_sources(Table &t)
{
	struct Source {
		const char *name;
		std::vector<Code> codes;
		std::function<void(ReadRequest &, const Aim &)> aim;
	};
	const std::vector<Source> sources{
		{"stag-zero", {{0, 1, 0}},
		 [](ReadRequest &r, const Aim &) { r.src_stag = 0; }},
		{"stag-ones", {{0, 1, 0}},
		 [](ReadRequest &r, const Aim &) { r.src_stag = 0xffffffff; }},
		{"stag-key", {{0, 1, 0}},
		 [](ReadRequest &r, const Aim &) { r.src_stag ^= 1; }},
		{"stag-index", {{0, 1, 0}},
		 [](ReadRequest &r, const Aim &) { r.src_stag += 0x100; }},
		{"other-domain", {{0, 1, 3}},
		 [](ReadRequest &r, const Aim &a) {
			 r.src_stag = a.other_stag;
			 r.src_to = a.other_at;
		 }},
		{"write-only", {{0, 1, 2}},
		 [](ReadRequest &r, const Aim &a) {
			 r.src_stag = a.wo_stag;
			 r.src_to = a.wo_at;
		 }},
		{"below", out_of_bounds,
		 [](ReadRequest &r, const Aim &) { r.src_to--; }},
		{"beyond", out_of_bounds,
		 [](ReadRequest &r, const Aim &a) {
			 r.src_to += a.rw_length - r.size + 1;
		 }},
		{"at-end", out_of_bounds,
		 [](ReadRequest &r, const Aim &a) {
			 r.src_to += a.rw_length;
			 r.size = 1;
		 }},
		{"one-more", out_of_bounds,
		 [](ReadRequest &r, const Aim &a) { r.size = a.rw_length + 1; }},
		{"all", out_of_bounds,
		 [](ReadRequest &r, const Aim &) { r.size = 0xffffffff; }},
		{"half", out_of_bounds,
		 [](ReadRequest &r, const Aim &) { r.size = 0x80000000; }},
		{"to-zero", out_of_bounds,
		 [](ReadRequest &r, const Aim &) { r.src_to = 0; }},
		{"to-wraps", {{0, 1, 1}, {0, 1, 4}},
		 [](ReadRequest &r, const Aim &) { r.src_to = ~0ull - 3; }},
	};
	for (const auto &[name, codes, aim] : sources)
		row(t, std::string("read-") + name, "a Read of what may not be read",
		    {ulpdu(reads([aim](Untagged &, ReadRequest &r, Session &s) {
			    aim(r, s.aim);
		    }))},
		    terminates(codes));
	row(t, "read-read-only", "a Read where only Reads are allowed",
	    {ulpdu(reads([](Untagged &, ReadRequest &r, Session &s) {
		    r.src_stag = s.aim.ro_stag;
		    r.src_to = s.aim.ro_at;
	    }))},
	    answered(zeros(64)));
	row(t, "read-nothing", "a Read of nothing from nowhere: in order",
	    {ulpdu(reads([](Untagged &, ReadRequest &r, Session &) {
		    r.size = 0;
		    r.src_stag = 0xdeadbeef;
		    r.src_to = ~0ull;
	    }))},
	    answered({}));
	row(t, "read-whole", "a Read of the whole region",
	    {ulpdu(reads([](Untagged &, ReadRequest &r, Session &s) {
		    r.size = s.aim.rw_length;
	    }))},
	    custom("answers it; then a good exchange succeeds", [](Session &s) {
		    s.read_msn++;
		    s.receive_response(s.good_memory(s.aim.rw_length));
		    s.good_exchange();
	    }));
}

void add_read_requests(Table &t)
{
	for (std::size_t size : {0, 1, 27})
		row(t, "read-short-" + std::to_string(size),
		    "a Read Request whose header is too short",
		    {ulpdu([size](Session &s) {
			    return Untagged{.control = {.opcode = op_read_request},
					    .qn = 1,
					    .msn = s.read_msn,
					    .payload = zeros(size)}
				    .encode();
		    })},
		    terminates({{0, 2, 0xff}, {0, 2, 6}}));
	for (std::size_t more : {1, 4, 1000})
		row(t, "read-long-" + std::to_string(more),
		    "a Read Request with bytes behind its header",
		    {ulpdu(reads([more](Untagged &u, ReadRequest &r, Session &) {
			    u.payload = join(r.encode(), zeros(more));
		    }))},
		    terminates({{1, 2, 5}}));
	row(t, "read-without-last", "a Read Request without L",
	    {ulpdu(reads([](Untagged &u, ReadRequest &, Session &) {
		    u.control.last = false;
	    }))},
	    terminates({{0, 2, 0xff}, {0, 2, 6}}));
	for (std::uint32_t mo : {1u, 28u, 0xffffffffu})
		row(t, "read-mo-" + std::to_string(mo), "a Read Request with an MO",
		    {ulpdu(reads([mo](Untagged &u, ReadRequest &, Session &) {
			    u.mo = mo;
		    }))},
		    terminates({{1, 2, 4}}));
	for (std::uint32_t qn : {0u, 2u})
		row(t, "read-qn-" + std::to_string(qn),
		    "a Read Request to another's queue",
		    {ulpdu(reads([qn](Untagged &u, ReadRequest &, Session &) {
			    u.qn = qn;
		    }))},
		    terminates({{0, 2, 6}, {1, 2, 1}}));
	for (std::uint32_t qn : {3u, 0xffffffffu})
		row(t, "read-qn-" + std::to_string(qn),
		    "a Read Request to an unknown queue",
		    {ulpdu(reads([qn](Untagged &u, ReadRequest &, Session &) {
			    u.qn = qn;
		    }))},
		    terminates({{1, 2, 1}}));
	struct Number {
		const char *name;
		int off;
	};
	for (const auto &[name, off] :
	     {Number{"repeated", -1}, {"next", 1}, {"far", 100}})
		row(t, std::string("read-msn-") + name,
		    "a Read Request with another MSN than the next",
		    {ulpdu(reads([off](Untagged &u, ReadRequest &, Session &) {
			    u.msn += off;
		    }))},
		    terminates({{1, 2, 3}}));
	row(t, "read-first-msn-0", "MSN 0 in the first Read Request of all",
	    {ulpdu(reads([](Untagged &u, ReadRequest &, Session &) { u.msn = 0; }))},
	    terminates({{1, 2, 3}}), operational);
}

// As many Read Requests in one segment as requested.
Step burst(std::function<unsigned(const Session &)> count)
{
	return [count](Session &s) {
		const auto number = count(s);
		Bytes all;

		for (unsigned i = 0; i < number; i++) {
			s.suspect = s.read_request(16, s.aim.rw_stag, s.aim.rw_at);
			all = join(all, s.writer.fpdu(s.suspect));
		}
		s.any_suspect = true;
		s.send(all);
	};
}

void add_depths(Table &t)
{
	const auto begin = [](Session &s) {
		const Enhanced e{.ird = 4, .ord = 4};
		const Frame request{.flags = flag_crc | flag_enhanced,
				    .rev = 2,
				    .data = join(e.encode(), Bytes{'E'}),
				    .length = {}};
		s.start(request);
		s.good_exchange();
	};
	const auto ird = [](const Session &s) {
		return unsigned{Enhanced::decode(s.theirs.data).ird};
	};

	row(t, "read-ird", "as many Reads in one go as the Reply allows",
	    {begin, burst(ird)},
	    custom("answers all in order; then a good exchange succeeds",
		   [ird](Session &s) {
			   for (unsigned i = 0; i < ird(s); i++)
				   s.receive_response(s.good_memory(16));
			   s.good_exchange();
		   }),
	    connected)
		.only(Role::initiator);
	row(t, "read-ird-exceeded", "20 Reads in one segment, IRD being 4",
	    {begin, burst([](const Session &) { return 20u; })},
	    terminates({{1, 2, 2}, {1, 2, 3}, {0, 2, 7}}), connected)
		.only(Role::initiator)
		.may_send({op_read_response});
	row(t, "read-many", "300 Reads one after the other",
	    {[](Session &s) {
		    for (unsigned i = 0; i < 300; i++)
			    s.must_hold(s.aim.rw_stag, s.aim.rw_at + i,
					rest(s.good_memory(i + 8), i));
	    }},
	    works());
	row(t, "fault-within-response",
	    "a fault while 128 KiB of Read Response are on their way",
	    {[](Session &s) {
		    s.send_ulpdu(s.read_request(s.aim.rw_length, s.aim.rw_stag,
						s.aim.rw_at));
		    s.send_ulpdu(Untagged{.qn = 99, .payload = {}}.encode());
	    }},
	    terminates({{1, 2, 1}}))
		.may_send({op_read_response});
	row(t, "crc-within-response",
	    "a wrong CRC while 128 KiB of Read Response are on their way",
	    {[](Session &s) {
		    s.send_ulpdu(s.read_request(s.aim.rw_length, s.aim.rw_stag,
						s.aim.rw_at));
		    s.send_ulpdu(Tagged{}.encode(), {.crc_xor = 1});
	    }},
	    terminates({{2, 0, 2}}))
		.may_send({op_read_response});
	row(t, "reset-within-response",
	    "a RST while 128 KiB of Read Response are on their way",
	    {[](Session &s) {
		    s.send_ulpdu(s.read_request(s.aim.rw_length, s.aim.rw_stag,
						s.aim.rw_at));
		    s.socket.reset();
	    }},
	    survives());
}

// Read Responses that were not requested, and to a Read that the target did
// issue.

Aimed responds(std::function<void(Tagged &, Session &)> change)
{
	return [change](Session &s) {
		Tagged r{.control = {.tagged = true, .opcode = op_read_response},
			 .stag = s.aim.rw_stag,
			 .to = s.aim.rw_at,
			 .payload = pattern(reader_size, 21)};
		change(r, s);
		return r.encode();
	};
}

// Receives the target's Read Request; its sink is where responses must go.
Step asked()
{
	return [](Session &s) {
		s.send_ulpdu(Tagged{}.encode());
		const auto ulpdu = s.next_ulpdu("a Read Request");
		const auto u = Untagged::decode(ulpdu);
		if (u.control.opcode != op_read_request || u.qn != 1 ||
		    u.msn != s.their_read_msn || u.mo || !u.control.last)
			throw Mismatch("no Read Request: " + words(ulpdu));
		const auto r = ReadRequest::decode(u.payload);
		if (r.size != reader_size || r.src_stag != reader_stag ||
		    r.src_to != reader_at)
			throw Mismatch("another Read Request: " + hex(u.payload));
		s.aim.rw_stag = r.sink_stag;
		s.aim.rw_at = r.sink_to;
	};
}

Outcome completes()
{
	return {"completes its Read, and sends the bytes back",
		[](Session &s) {
			const auto said = s.receive_message();
			if (said != pattern(reader_size, 21))
				throw Mismatch("the target has read other bytes: " +
					       hex(said));
			s.echo();
		}};
}

void add_responses(Table &t)
{
	const auto keep = [](Tagged &, Session &) {};
	row(t, "response-unasked", "a Read Response that was not requested",
	    {ulpdu(responds(keep))}, terminates({{0, 2, 6}, {1, 0, 0}}));
	row(t, "response-unasked-empty", "an empty Read Response, not requested",
	    {ulpdu(responds([](Tagged &r, Session &) { r.payload.clear(); }))},
	    terminates({{0, 2, 6}, {1, 0, 0}}));

	Setup reader = operational;
	reader.mode = Mode::reader;
	const auto answer = [&](const std::string &name, const std::string &what,
				std::vector<Step> steps,
				Outcome outcome) -> Case & {
		steps.insert(steps.begin(), asked());
		return row(t, "response-" + name, what, std::move(steps),
			   std::move(outcome), reader);
	};
	const std::vector<Code> wrong_stag{{1, 1, 0}}, wrong_place{{1, 1, 1}};

	answer("good", "a Read answered in good order", {ulpdu(responds(keep))},
	       completes());
	answer("crumbs", "a Read answered in segments of 64 bytes",
	       {[](Session &s) {
		       const auto all = pattern(reader_size, 21);
		       for (std::size_t at = 0; at < all.size(); at += 64)
			       s.send_ulpdu(responds([&](Tagged &r, Session &) {
				       r.to += at;
				       r.payload = first(rest(all, at), 64);
				       r.control.last = at + 64 == all.size();
			       })(s));
	       }},
	       completes());
	const auto crumbs = [](std::size_t count) {
		std::vector<Aimed> run;
		for (std::size_t at = 0; at < count * 64; at += 64)
			run.push_back(responds([at](Tagged &r, Session &) {
				r.to += at;
				r.payload = at < reader_size ?
					first(rest(pattern(reader_size, 21), at), 64) :
					pattern(64, 3);
				r.control.last = at + 64 == reader_size;
			}));
		return run;
	};
	static_assert(reader_size % 64 == 0);
	answer("run", "a Read answered in segments of 64 bytes in one go",
	       {in_one_go(crumbs(reader_size / 64))}, completes());
	answer("run-long", "such segments without L beyond the end",
	       {in_one_go([&] {
			auto run = crumbs(reader_size / 64 + 3);
			run[reader_size / 64 - 1] =
				responds([](Tagged &r, Session &) {
					r.to += reader_size - 64;
					r.payload.resize(64);
					r.control.last = false;
				});
			return run;
		}(), reader_size / 64)},
	       terminates(wrong_place));
	answer("stag", "an answer to another STag",
	       {ulpdu(responds([](Tagged &r, Session &) { r.stag ^= 1; }))},
	       terminates(wrong_stag));
	answer("stag-zero", "an answer to STag 0",
	       {ulpdu(responds([](Tagged &r, Session &) { r.stag = 0; }))},
	       terminates(wrong_stag));
	struct Place {
		const char *name;
		int off;
	};
	for (const auto &[name, off] : {Place{"below", -1},
					{"above", 1},
					{"far-below", -4096},
					{"far-above", 4096}})
		answer(std::string("to-") + name, "an answer to another place",
		       {ulpdu(responds([off](Tagged &r, Session &) {
			       r.to += off;
		       }))},
		       terminates(wrong_place));
	answer("long", "an answer one byte too long",
	       {ulpdu(responds([](Tagged &r, Session &) {
		       r.payload.push_back(0);
	       }))},
	       terminates(wrong_place));
	answer("short", "an answer one byte too short",
	       {ulpdu(responds([](Tagged &r, Session &) { r.payload.pop_back(); }))},
	       terminates(wrong_place));
	answer("empty", "an empty answer",
	       {ulpdu(responds([](Tagged &r, Session &) { r.payload.clear(); }))},
	       terminates(wrong_place));
	answer("gap", "an answer with a gap",
	       {ulpdu(responds([](Tagged &r, Session &) {
			r.control.last = false;
			r.payload.resize(64);
		})),
		ulpdu(responds([](Tagged &r, Session &) {
			r.to += 65;
			r.payload.resize(64);
		}))},
	       terminates(wrong_place));
	answer("more-after-all", "a byte more behind an answer without L",
	       {ulpdu(responds([](Tagged &r, Session &) {
			r.control.last = false;
		})),
		ulpdu(responds([](Tagged &r, Session &) {
			r.to += reader_size;
			r.payload.resize(1);
		}))},
	       terminates(wrong_place));
	answer("twice", "two answers to one Read",
	       {ulpdu(responds(keep)), ulpdu(responds(keep))},
	       terminates({{0, 2, 6}, {1, 0, 0}}))
		.may_send({op_send});
	answer("as-write", "a Write in place of the answer: not permitted",
	       {ulpdu(responds([](Tagged &r, Session &) {
		       r.control.opcode = op_write;
	       }))},
	       terminates({{1, 1, 0}, {0, 1, 2}}));
	answer("cut-fin", "half an answer, and a FIN",
	       {ulpdu(responds([](Tagged &r, Session &) {
			r.control.last = false;
			r.payload.resize(2048);
		})),
		fin()},
	       closes());
	answer("terminate", "a Terminate in place of the answer",
	       {ulpdu(Untagged{.control = {.opcode = op_terminate},
			       .qn = 2,
			       .payload = Terminate{.code = {0, 1, 0}}.encode()}
			      .encode())},
	       closes())
		.counts("rx_terminate");
}

// Terminates -----------------------------------------------------------------------

Bytes terminate(std::function<void(Untagged &)> change)
{
	Untagged u{.control = {.opcode = op_terminate},
		   .qn = 2,
		   .payload = Terminate{.code = {0, 2, 6}}.encode()};

	change(u);
	return u.encode();
}

// It is never answered with another Terminate.
Case &ends(Table &t, const std::string &name, const std::string &what,
	   std::vector<Step> steps)
{
	return row(t, "terminate-" + name, what, std::move(steps), closes())
		.counts("rx_terminate");
}

void add_good_terminates(Table &t)
{
	for (const Code code :
	     {Code{0, 0, 0}, {0, 1, 0}, {0, 1, 2}, {0, 1, 9}, {0, 1, 0xff},
	      {0, 2, 5}, {0, 2, 7}, {0, 2, 0xff}, {1, 0, 0}, {1, 1, 0}, {1, 1, 3},
	      {1, 2, 1}, {1, 2, 5}, {2, 0, 1}, {2, 0, 2}, {2, 0, 7}, {1, 3, 9},
	      {3, 0, 0}, {7, 7, 7}, {15, 15, 255}}) {
		Bytes name;
		put(name, code.layer << 12 | code.etype << 8 | code.code, 2);
		ends(t, hex(name), "a Terminate, defined or not, is the end",
		     {ulpdu(terminate([code](Untagged &u) {
			     u.payload = Terminate{.code = code}.encode();
		     }))});
	}
	ends(t, "zero-filled", "M, D and R 0, and zeros behind: some stacks do so",
	     {ulpdu(terminate([](Untagged &u) {
		     u.payload = join(u.payload, zeros(48));
	     }))});
	ends(t, "with-headers", "M, D and R, with headers",
	     {ulpdu(terminate([](Untagged &u) {
		     u.payload = Terminate{.code = {0, 1, 1},
					   .m = true,
					   .d = true,
					   .r = true,
					   .segment_length = 46,
					   .headers = zeros(46)}
					 .encode();
	     }))});
	ends(t, "reserved", "reserved bits set",
	     {ulpdu(terminate([](Untagged &u) {
		     u.payload[2] |= 0x1f;
		     u.payload[3] = 0xff;
	     }))});
	ends(t, "twice", "two Terminates",
	     {ulpdu(terminate([](Untagged &) {})),
	      ulpdu(terminate([](Untagged &u) { u.msn = 2; }))});
	ends(t, "then-more", "a Terminate, and then Sends, Writes and faults",
	     {[](Session &s) {
		     Bytes all = s.writer.fpdu(terminate([](Untagged &) {}));
		     all = join(all, s.writer.fpdu(s.write(0, {1})),
				s.writer.fpdu(Untagged{.msn = s.send_msn}.encode()),
				s.writer.fpdu(Untagged{.qn = 9}.encode()));
		     s.send(all);
	     }});
	ends(t, "then-fin", "a Terminate and a FIN",
	     {ulpdu(terminate([](Untagged &) {})), fin()});
	ends(t, "within-message", "a Terminate between the segments of a Send",
	     {[](Session &s) {
		      Untagged u{.control = {.last = false},
				 .msn = s.send_msn,
				 .payload = {1, 2}};
		      s.send_ulpdu(u.encode());
	      },
	      ulpdu(terminate([](Untagged &) {}))});
	t.add("rdmap/terminate-first", "a Terminate as the very first FPDU",
	      operational, {ulpdu(terminate([](Untagged &) {}))}, closes())
		.only(Kind::rnic)
		.counts("rx_terminate");
}

void add_bad_terminates(Table &t)
{
	for (std::size_t size : {0, 1, 2, 3})
		ends(t, "short-" + std::to_string(size),
		     "a Terminate whose header is too short",
		     {ulpdu(terminate([size](Untagged &u) {
			     u.payload.resize(size);
		     }))});
	ends(t, "long", "a Terminate of 1000 bytes",
	     {ulpdu(terminate([](Untagged &u) { u.payload.resize(1000); }))});
	ends(t, "longest", "a Terminate of 60000 bytes",
	     {ulpdu(terminate([](Untagged &u) { u.payload.resize(60000); }))});
	ends(t, "cut-length", "M without a segment length",
	     {ulpdu(terminate([](Untagged &u) { u.payload[2] = 0x80; }))});
	ends(t, "cut-header", "D with half a header",
	     {ulpdu(terminate([](Untagged &u) {
		     u.payload[2] = 0xc0;
		     u.payload = join(u.payload, zeros(10));
	     }))});
	ends(t, "cut-request", "R with half a Read Request",
	     {ulpdu(terminate([](Untagged &u) {
		     u.payload[2] = 0xe0;
		     u.payload = join(u.payload, zeros(2 + 18 + 27));
	     }))});
	for (int flags : {0x20, 0x40, 0x60, 0xa0})
		ends(t, "flags-" + std::to_string(flags),
		     "flags that contradict each other",
		     {ulpdu(terminate([flags](Untagged &u) {
			     u.payload[2] = static_cast<std::uint8_t>(flags);
			     u.payload = join(u.payload, zeros(48));
		     }))});
	ends(t, "segment-length", "a segment length of 65535",
	     {ulpdu(terminate([](Untagged &u) {
		     u.payload[2] = 0xc0;
		     u.payload = join(u.payload, zeros(2, 0xff), zeros(18));
	     }))});
	for (std::uint32_t msn : {0u, 2u, 0xffffffffu})
		ends(t, "msn-" + std::to_string(msn), "another MSN than 1",
		     {ulpdu(terminate([msn](Untagged &u) { u.msn = msn; }))});
	for (std::uint32_t mo : {1u, 4u, 0xffffffffu})
		ends(t, "mo-" + std::to_string(mo), "an MO",
		     {ulpdu(terminate([mo](Untagged &u) { u.mo = mo; }))});
	for (std::uint32_t qn : {0u, 1u, 3u, 0xffffffffu})
		ends(t, "qn-" + std::to_string(qn), "another queue",
		     {ulpdu(terminate([qn](Untagged &u) { u.qn = qn; }))});
	ends(t, "without-last", "no L",
	     {ulpdu(terminate([](Untagged &u) { u.control.last = false; }))});
	for (int v : {0, 2, 3}) {
		const auto version = static_cast<std::uint8_t>(v);
		ends(t, "ddp-version-" + std::to_string(v), "another DDP version",
		     {ulpdu(terminate([version](Untagged &u) {
			     u.control.dv = version;
		     }))});
		ends(t, "rdmap-version-" + std::to_string(v),
		     "another RDMAP version",
		     {ulpdu(terminate([version](Untagged &u) {
			     u.control.rv = version;
		     }))});
	}
	ends(t, "tagged", "a Terminate in a tagged segment",
	     {ulpdu(Tagged{.control = {.tagged = true, .opcode = op_terminate},
			   .payload = zeros(4)}
			    .encode())});
}

} // namespace

void add_reads(Table &t)
{
	add_sources(t);
	add_read_requests(t);
	add_depths(t);
	add_responses(t);
}

void add_terminates(Table &t)
{
	add_good_terminates(t);
	add_bad_terminates(t);
}

} // namespace peer
