// SPDX-License-Identifier: GPL-2.0-only
//
// Full operation: FPDUs, their CRCs, lengths, padding and Markers.
#include "cases.hpp"

#include <thread>

namespace peer {

namespace {

const std::vector<Code> bad_crc{{2, 0, 2}};
const std::vector<Code> bad_length{{2, 0, 3}};
const std::vector<Code> bad_either{{2, 0, 2}, {2, 0, 3}};

// An FPDU of a certain size that every kind of target accepts: a Write, or a
// ULPDU to be echoed. Each has other bytes.
Bytes any_ulpdu(Session &s, std::size_t payload)
{
	const auto seed = s.next_seed++;

	return s.env.kind == Kind::rnic ? s.write(0, pattern(payload, seed))
					: pattern(payload + 14, seed);
}

// It was accepted: it is in memory, or sent back.
void must_arrive(Session &s, const Bytes &ulpdu)
{
	if (s.env.kind == Kind::socket)
		s.take_echo(ulpdu);
	else
		s.must_be_placed(ulpdu);
}

Step whole(std::size_t payload, const Fault &fault = {})
{
	return [payload, fault](Session &s) {
		const auto ulpdu = any_ulpdu(s, payload);
		s.send_ulpdu(ulpdu, fault);
		must_arrive(s, ulpdu);
	};
}

// Passes the bytes of an FPDU on the wire to a function.
Step bytes_of(std::size_t payload,
	      std::function<void(Session &, const Bytes &)> use)
{
	return [payload, use](Session &s) {
		const auto ulpdu = any_ulpdu(s, payload);
		use(s, s.writer.fpdu(ulpdu));
	};
}

Case &broken(Table &t, const std::string &name, const std::string &what,
	     std::vector<Step> steps, const std::vector<Code> &codes)
{
	return t.add("fpdu/" + name, what, exchanged, std::move(steps),
		     breaks(codes));
}

Case &fine(Table &t, const std::string &name, const std::string &what,
	   std::vector<Step> steps)
{
	return t.add("fpdu/" + name, what, exchanged, std::move(steps), works());
}

Case &cut(Table &t, const std::string &name, const std::string &what,
	  std::vector<Step> steps, Outcome outcome)
{
	return t.add("fpdu/" + name, what, exchanged, std::move(steps),
		     std::move(outcome))
		.counts("conn_reset");
}

Bytes flipped(Bytes bytes, std::size_t at, std::uint8_t mask = 1)
{
	bytes.at(at) ^= mask;
	return bytes;
}

void add_crc(Table &t)
{
	for (int byte = 0; byte < 4; byte++)
		broken(t, "crc-byte-" + std::to_string(byte),
		       "one bit of the CRC is wrong",
		       {[byte](Session &s) {
			       s.send_ulpdu(any_ulpdu(s, 64),
					    {.crc_xor = 1u << (byte * 8)});
		       }},
		       bad_crc);
	broken(t, "crc-zero", "a CRC of zero, as without CRCs",
	       {[](Session &s) {
		       s.send_ulpdu(any_ulpdu(s, 64), {.crc_zero = true});
	       }},
	       bad_crc);
	broken(t, "crc-complement", "the CRC not complemented",
	       {[](Session &s) {
		       s.send_ulpdu(any_ulpdu(s, 64), {.crc_xor = 0xffffffff});
	       }},
	       bad_crc);
	broken(t, "crc-byte-order", "the CRC in the other byte order",
	       {bytes_of(64, [](Session &s, const Bytes &fpdu) {
		       auto wrong = fpdu;
		       std::reverse(wrong.end() - 4, wrong.end());
		       s.send(wrong);
	       })},
	       bad_crc);
	// Payload 61: length 2, header 14, payload, pad 3, CRC 4.
	const std::vector<std::pair<std::string, std::size_t>> regions{
		{"ddp-control", 2},    {"rdmap-control", 3}, {"header", 9},
		{"payload-first", 16}, {"payload-middle", 40},
		{"payload-last", 76},  {"pad-first", 77},    {"pad-last", 79}};
	for (const auto &[name, at] : regions)
		broken(t, "flip-" + name,
		       "one bit flips on the way in byte " + std::to_string(at) +
			       " of an FPDU",
		       {bytes_of(61, [at](Session &s, const Bytes &fpdu) {
			       s.send(flipped(fpdu, at));
		       })},
		       bad_crc);
	broken(t, "crc-large", "a wrong CRC behind 60000 bytes",
	       {[](Session &s) {
		       s.send_ulpdu(any_ulpdu(s, 60000), {.crc_xor = 1});
	       }},
	       bad_crc);
	broken(t, "crc-then-good",
	       "a wrong CRC, with good FPDUs before and behind it in one go",
	       {[](Session &s) {
		       const auto good = any_ulpdu(s, 10);
		       const auto one = s.writer.fpdu(good);
		       const auto bad = s.writer.fpdu(good, {.crc_xor = 1});
		       const auto two = s.writer.fpdu(good);
		       s.send(join(one, bad, two, two));
		       // Of an RNIC nothing can be read any more.
		       if (s.env.kind == Kind::socket)
			       s.take_echo(good);
	       }},
	       bad_crc);
	t.add("fpdu/crc-first",
	      "a wrong CRC in the very first FPDU: nothing may be sent before a "
	      "good one (RFC 5044 section 7.1.2 rule 4)",
	      operational,
	      {ulpdu(Tagged{}.encode(), {.crc_xor = 1})},
	      closes(milliseconds(15000)))
		.only(Role::initiator)
		.counts("rx_crc_error")
		.takes_long();
	t.add("fpdu/length-first", "a ULPDU_Length of 65535 in the very first FPDU",
	      operational, {ulpdu(pattern(65535, 7))},
	      closes(milliseconds(15000)))
		.only(Role::initiator)
		.counts("rx_length_error")
		.takes_long();
	const auto no_crc = [](Fault fault) -> Step {
		return [fault](Session &s) {
			const Frame request{.flags = 0,
					    .data = {'E'},
					    .length = {}};
			s.send(request.encode());
			s.operate(request, s.next_frame());
			whole(4)(s);
			s.send_ulpdu(any_ulpdu(s, 4), fault);
		};
	};
	t.add("fpdu/crc-off-one-side",
	      "C is 0 in our Request only, and then CRCs of zero", connected,
	      {no_crc({.crc_zero = true})}, breaks(bad_crc))
		.only(Role::initiator);
}

void add_pads(Table &t)
{
	for (std::size_t pad = 1; pad < 4; pad++)
		fine(t, "pad-" + std::to_string(pad) + "-not-zero",
		     "a pad that is not zero, but covered by the CRC",
		     {whole(62 + 4 - pad, {.pad = 0xa5})});
}

void add_lengths(Table &t)
{
	for (std::size_t length : {64769, 64770, 65000, 65534, 65535}) {
		const auto label = "length-" + std::to_string(length);

		broken(t, label, "a ULPDU above 64768 bytes, its CRC being right",
		       {[length](Session &s) {
			       s.too_long = true;
			       s.send_ulpdu(any_ulpdu(s, length - 14));
		       }},
		       bad_length);
		broken(t, label + "-crc", "the same with a wrong CRC",
		       {[length](Session &s) {
			       s.send_ulpdu(any_ulpdu(s, length - 14),
					    {.crc_xor = 1});
		       }},
		       bad_crc);
	}
	cut(t, "length-65535-fin", "a ULPDU_Length of 65535, and a FIN",
	    {send(zeros(2, 0xff)), fin()}, closes());
	fine(t, "length-64768", "the longest FPDU there can be",
	     {whole(64768 - 14)});
	fine(t, "length-64765", "one whose pad makes it as long",
	     {whole(64765 - 14)});
	for (std::size_t length : {0, 1, 2, 3, 4, 13})
		t.add("fpdu/tagged-" + std::to_string(length),
		      "a ULPDU shorter than a tagged header", exchanged,
		      {[length](Session &s) {
			      s.too_short = true;
			      s.send_ulpdu(first(Tagged{}.encode(), length));
		      }},
		      terminates({{2, 0, 3}, {1, 0, 0}}))
			.only(Kind::rnic);
	for (std::size_t length : {1, 2, 13, 14, 17})
		t.add("fpdu/untagged-" + std::to_string(length),
		      "a ULPDU shorter than an untagged header", exchanged,
		      {[length](Session &s) {
			      s.too_short = true;
			      s.send_ulpdu(first(Untagged{}.encode(), length));
		      }},
		      terminates({{2, 0, 3}, {1, 0, 0}}))
			.only(Kind::rnic);
	for (std::size_t length : {0, 1, 2, 3, 4, 5, 64768})
		t.add("fpdu/ulpdu-" + std::to_string(length),
		      "a ULPDU of any length is a record", exchanged,
		      {[length](Session &s) {
			      const auto bytes = pattern(length, 8);
			      s.send_ulpdu(bytes);
			      s.take_echo(bytes);
		      }},
		      works())
			.only(Kind::socket);

	t.add("fpdu/ulpdus-in-turn",
	      "600 ULPDUs, each when the last one's echo is there: none may be "
	      "overlooked by who polls",
	      exchanged,
	      {[](Session &s) {
		      for (int i = 0; i < 600; i++)
			      s.echo(i % 9);
	      }},
	      works())
		.only(Kind::socket)
		.takes_long();

	// A wrong length that only changes the pad would have no effect.
	struct Lie {
		const char *name;
		std::size_t payload;
		int by;
	};
	for (const auto &[name, payload, by] : {Lie{"one-more", 64, 1},
						{"four-more", 64, 4},
						{"many-more", 64, 1000},
						{"one-less", 65, -1},
						{"four-less", 64, -4},
						{"half", 64, -39},
						{"all", 64, -78}})
		broken(t, std::string("length-lie-") + name,
		       "ULPDU_Length differs from the length of the FPDU, and "
		       "more bytes follow",
		       {[payload, by](Session &s) {
			       const auto ulpdu = any_ulpdu(s, payload);
			       s.send_ulpdu(ulpdu, {.length = ulpdu.size() + by});
			       s.send(zeros(2048));
		       }},
		       bad_either);
}

void add_ends(Table &t)
{
	for (std::size_t at : {1, 2, 3, 4, 15, 16, 17, 60, 80, 83}) {
		const auto label = std::to_string(at);
		const auto part = [at](Session &s, const Bytes &fpdu) {
			s.send(first(fpdu, at));
		};
		cut(t, "cut-" + label + "-fin",
		    "an FPDU that ends by FIN after " + label + " bytes",
		    {bytes_of(64, part), fin()}, closes());
		cut(t, "cut-" + label + "-reset",
		    "an FPDU that ends by RST after " + label + " bytes",
		    {bytes_of(64, part), reset()}, survives());
		fine(t, "cut-" + label + "-later",
		     "an FPDU of which the rest comes a second later",
		     {[at](Session &s) {
			     const auto ulpdu = any_ulpdu(s, 64);
			     const auto fpdu = s.writer.fpdu(ulpdu);
			     s.send(first(fpdu, at));
			     std::this_thread::sleep_for(milliseconds(1000));
			     s.send(rest(fpdu, at));
			     must_arrive(s, ulpdu);
		     }});
	}
	t.add("fpdu/fin", "a FIN between FPDUs", exchanged, {fin()}, closes());
	t.add("fpdu/reset", "a RST between FPDUs", exchanged, {reset()}, survives())
		.counts("conn_reset");
	t.add("fpdu/fin-behind",
	      "a FIN in the same go as a last FPDU", exchanged,
	      {[](Session &s) {
		      s.send_ulpdu(any_ulpdu(s, 100));
		      s.socket.fin();
	      }},
	      custom("closes, with its echo or without", [](Session &s) {
		      while (s.next_ulpdu_or_end(s.soon()))
			      ;
	      }));
	t.add("fpdu/long-cut-fin", "60000 bytes of an FPDU, then FIN", exchanged,
	      {bytes_of(64000, [](Session &s, const Bytes &fpdu) {
		       s.send(first(fpdu, 60000));
	       }),
	       fin()},
	      closes())
		.counts("conn_reset");
}

void add_portions(Table &t)
{
	fine(t, "dripped", "an FPDU byte by byte",
	     {[](Session &s) {
		     const auto ulpdu = any_ulpdu(s, 64);
		     s.drip(s.writer.fpdu(ulpdu), milliseconds(2));
		     must_arrive(s, ulpdu);
	     }});
	fine(t, "dripped-three", "three FPDUs byte by byte",
	     {[](Session &s) {
		     for (int i = 0; i < 3; i++) {
			     const auto ulpdu = any_ulpdu(s, i);
			     s.drip(s.writer.fpdu(ulpdu), milliseconds(1));
			     must_arrive(s, ulpdu);
		     }
	     }});
	fine(t, "dripped-long", "4000 bytes of FPDU in segments of one byte",
	     {[](Session &s) {
		     const auto ulpdu = any_ulpdu(s, 4000);
		     s.drip(s.writer.fpdu(ulpdu), milliseconds(0));
		     must_arrive(s, ulpdu);
	     }});
	for (std::size_t at = 1; at < 28; at += at < 20 ? 1 : 3)
		fine(t, "split-" + std::to_string(at),
		     "an FPDU in two segments, cut at byte " + std::to_string(at),
		     {[at](Session &s) {
			     const auto ulpdu = any_ulpdu(s, 8);
			     const auto fpdu = s.writer.fpdu(ulpdu);
			     s.send(first(fpdu, at));
			     std::this_thread::sleep_for(milliseconds(5));
			     s.send(rest(fpdu, at));
			     must_arrive(s, ulpdu);
		     }});
	fine(t, "many-in-one", "70 FPDUs in one segment",
	     {[](Session &s) {
		     const auto data = pattern(70, 2);
		     Bytes all;
		     for (std::size_t i = 0; i < data.size(); i++)
			     all = join(all, s.writer.fpdu(s.write(i, {data[i]})));
		     s.send(all);
		     s.must_be_placed(s.write(0, data));
	     }})
		.only(Kind::rnic);
	fine(t, "crossing", "FPDUs that all cross segments of 7 bytes",
	     {[](Session &s) {
		     const auto data = pattern(30, 2);
		     Bytes all;
		     for (std::size_t i = 0; i < data.size(); i += 3)
			     all = join(all, s.writer.fpdu(s.write(
						     i, first(rest(data, i), 3))));
		     for (std::size_t i = 0; i < all.size(); i += 7)
			     s.send(first(rest(all, i), 7));
		     s.must_be_placed(s.write(0, data));
	     }})
		.only(Kind::rnic);
}

void add_floods(Table &t)
{
	// Each byte of memory is written once, or none.
	const auto writes = [](std::size_t payload) -> Step {
		return [payload](Session &s) {
			const auto data = pattern(4000 * payload, 2);
			Bytes all;
			for (std::size_t i = 0; i < 4000; i++)
				all = join(all, s.writer.fpdu(s.write(
							i, first(rest(data, i * payload),
								 payload))));
			s.send(all);
			s.must_be_placed(s.write(0, data));
		};
	};
	fine(t, "flood-empty", "4000 Writes of nothing", {writes(0)})
		.only(Kind::rnic)
		.counts("rx_write", 4000);
	fine(t, "flood-tiny", "4000 Writes of one byte", {writes(1)})
		.only(Kind::rnic)
		.counts("rx_write", 4000);
	fine(t, "flood-large", "200 Writes of 60000 bytes",
	     {[](Session &s) {
		     const auto data = pattern(60199, 2);
		     for (std::size_t i = 0; i < 200; i++)
			     s.send_ulpdu(s.write(i, first(rest(data, i), 60000)));
		     s.must_be_placed(s.write(0, data));
	     }})
		.only(Kind::rnic)
		.counts("rx_write", 200);
	const std::vector<std::pair<std::string, Bytes>> rubbish{
		{"zeros", zeros(1 << 16)},
		// An invalid length is not checked before the CRC.
		{"ones", zeros(1 << 17, 0xff)},
		{"random", pattern(1 << 16, 11)},
		{"random-more", pattern(1 << 20, 12)},
		{"http", join(text("POST / HTTP/1.1\r\nContent-Length: 65536\r\n"),
			      zeros(1 << 16, 'x'))},
		{"request", join(Frame{.data = {}, .length = {}}.encode(),
				 zeros(1 << 16))},
		{"reply", join(Frame{.key = text(reply_key),
				     .data = {},
				     .length = {}}
				       .encode(),
			       zeros(1 << 16))},
	};
	for (const auto &[name, bytes] : rubbish) {
		broken(t, "garbage-" + name,
		       "garbage in place of FPDUs, in full operation",
		       {send(bytes)}, bad_either);
	}
	for (std::uint32_t seed = 20; seed < 28; seed++)
		broken(t, "garbage-seed-" + std::to_string(seed),
		       "random bytes in place of FPDUs",
		       {send(pattern(1 << 17, seed))}, bad_either);
	broken(t, "markers-unasked",
	       "Markers although the target asked for none",
	       {[](Session &s) {
		       Writer marked(Framing{.markers = true});
		       s.send(join(marked.fpdu(any_ulpdu(s, 1000)), zeros(64)));
	       }},
	       bad_either);
	t.add("fpdu/markers-asked",
	      "M is 1: an echo and 64 KiB of Read Responses with Markers",
	      connected,
	      {[](Session &s) {
		      s.start(Frame{.flags = flag_crc | flag_markers,
				    .data = {'E'},
				    .length = {}});
		      s.echo(2000);
		      s.write_and_read_back(64000);
	      }},
	      works())
		.only(Role::initiator)
		.only(Kind::rnic);
}

} // namespace

void add_framing(Table &t)
{
	add_crc(t);
	add_pads(t);
	add_lengths(t);
	add_ends(t);
	add_portions(t);
	add_floods(t);
}

// With a target that asks for Markers ------------------------------------------

void add_markers(Table &t)
{
	const auto wrong = [&](const std::string &name, const std::string &what,
			       std::size_t payload, const Fault &fault) {
		t.add("marker/" + name, what, exchanged,
		      {[payload, fault](Session &s) {
			      s.send_ulpdu(any_ulpdu(s, payload), fault);
			      s.send(zeros(2048));
		      }},
		      breaks(bad_either))
			.with_markers();
	};
	const auto right = [&](const std::string &name, const std::string &what,
			       std::vector<Step> steps) {
		t.add("marker/" + name, what, exchanged, std::move(steps), works())
			.with_markers();
	};

	t.add("marker/first-pointer",
	      "the very first Marker is wrong: no FPDU is good yet",
	      operational,
	      {ulpdu(Tagged{}.encode(), {.marker = 0, .fpduptr_xor = 4})},
	      closes(milliseconds(15000)))
		.with_markers()
		.only(Role::initiator)
		.counts("rx_marker_error")
		.takes_long();
	// Zeros, so that what is taken for a length does not require more data.
	t.add("marker/none", "no Markers at all", operational,
	      {[](Session &s) {
		       s.writer = Writer();
		       s.send_ulpdu(Tagged{}.encode());
	       },
	       send(zeros(2048))},
	      closes(milliseconds(15000)))
		.with_markers()
		.only(Role::initiator)
		.counts("rx_crc_error")
		.takes_long();
	for (int value : {4, 8, 0x40, 0x100, 0x8000, 0xfffc})
		wrong("pointer-xor-" + std::to_string(value),
		      "FPDUPTR of a Marker within an FPDU is wrong", 1500,
		      {.marker = 1, .fpduptr_xor = static_cast<std::uint16_t>(value)});
	wrong("pointer-third", "FPDUPTR of the third Marker of an FPDU is wrong",
	      3000, {.marker = 2, .fpduptr_xor = 16});
	wrong("missing", "a Marker is missing", 1500,
	      {.marker = 1, .no_marker = true});
	wrong("crc-with-markers", "a wrong CRC, the Markers being right", 1500,
	      {.crc_xor = 0x100});
	for (int bits : {1, 2, 3})
		right("pointer-low-bits-" + std::to_string(bits),
		      "the two low bits of FPDUPTR: to be taken for zero",
		      {whole(1500,
			     {.marker = 1,
			      .fpduptr_xor = static_cast<std::uint16_t>(bits)})});
	for (int value : {1, 0x8000, 0xffff})
		right("reserved-" + std::to_string(value),
		      "the reserved half of a Marker: to be ignored",
		      {whole(1500,
			     {.marker = 1,
			      .reserved = static_cast<std::uint16_t>(value)})});
	right("long", "the longest FPDU there can be, with its Markers",
	      {whole(64768 - 14)});
	right("dripped", "1500 bytes with Markers in segments of one byte",
	      {[](Session &s) {
		      const auto ulpdu = any_ulpdu(s, 1500);
		      s.drip(s.writer.fpdu(ulpdu), milliseconds(0));
		      must_arrive(s, ulpdu);
	      }});
	right("every-place",
	      "FPDUs of 16 bytes until Markers have fallen everywhere",
	      {[](Session &s) {
		      for (int i = 0; i < 300; i++) {
			      const auto ulpdu = any_ulpdu(s, i % 5);
			      s.send_ulpdu(ulpdu);
			      must_arrive(s, ulpdu);
		      }
	      }});
	for (std::size_t at : {1, 2, 3, 4, 5, 6})
		t.add("marker/cut-" + std::to_string(at) + "-fin",
		      "a FIN " + std::to_string(at) +
			      " bytes into what begins with a Marker",
		      exchanged,
		      {[at](Session &s) {
			      // Up to the position of a Marker.
			      Bytes fpdu;
			      do {
				      const auto ulpdu = any_ulpdu(s, 2);
				      fpdu = s.writer.fpdu(ulpdu);
				      if (get(fpdu, 0, 4) == 0)
					      break;
				      s.send(fpdu);
				      must_arrive(s, ulpdu);
			      } while (true);
			      s.send(first(fpdu, at));
			      s.socket.fin();
		      }},
		      closes())
			.with_markers()
			.counts("conn_reset");
}

} // namespace peer
