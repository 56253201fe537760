// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/framing/startup.c: the codec, and the negotiation of RFC 5044
// section 7.1 and RFC 6581, swept. Its tables are in ../vectors/startup.c. "M1" and
// the like name the cases of the project's list of startup tests.
#include "support.hpp"

#include <cstring>

using namespace mpa;

namespace {

struct Parsed {
	int ret;
	mpa_frame frame;
	Bytes pd;
};

// Parses bytes in a block of exactly their size.
Parsed parse(const Bytes &bytes, bool reply)
{
	Parsed parsed = { 0, {}, {} };
	Bytes exact(bytes);
	const u8 *pd = nullptr;

	exact.shrink_to_fit();
	std::memset(&parsed.frame, 0xee, sizeof(parsed.frame));
	const mpa_frame untouched = parsed.frame;

	parsed.ret = mpa_frame_parse(exact.data(), exact.size(), reply,
				     &parsed.frame, &pd);
	if (parsed.ret <= 0) {
		EXPECT_EQ(pd, nullptr);
		EXPECT_EQ(std::memcmp(&parsed.frame, &untouched,
				      sizeof(untouched)), 0);
	} else {
		EXPECT_GE(pd, exact.data());
		EXPECT_LE(pd + parsed.frame.pd_len, exact.data() + parsed.ret);
		parsed.pd.assign(pd, pd + parsed.frame.pd_len);
	}
	return parsed;
}

void expect_same(const mpa_frame &a, const mpa_frame &b)
{
	EXPECT_EQ(a.reply, b.reply);
	EXPECT_EQ(a.markers, b.markers);
	EXPECT_EQ(a.crc, b.crc);
	EXPECT_EQ(a.reject, b.reject);
	EXPECT_EQ(a.enhanced, b.enhanced);
	EXPECT_EQ(a.p2p, b.p2p);
	EXPECT_EQ(a.extensions, b.extensions);
	EXPECT_EQ(a.rev, b.rev);
	EXPECT_EQ(a.rtr, b.rtr);
	EXPECT_EQ(a.ird, b.ird);
	EXPECT_EQ(a.ord, b.ord);
	EXPECT_EQ(a.pd_len, b.pd_len);
}

Bytes encode(const mpa_frame &frame, const Bytes &pd = {})
{
	Bytes bytes(MPA_FRAME_MAX);
	int ret = mpa_frame_build(bytes.data(), bytes.size(), &frame,
				  pd.data());

	EXPECT_GT(ret, 0);
	bytes.resize(std::max(ret, 0));
	return bytes;
}

void check_pd_length(bool reply, bool bit_0x10, int rev, std::uint32_t len)
{
	Bytes bytes = unhex(reply ? VEC_REP : VEC_REQ);
	const std::uint32_t least = bit_0x10 && rev == 2 ? 4 : 0;

	append(bytes, { std::uint8_t(bit_0x10 ? 0xd0 : 0xc0),
			 std::uint8_t(rev), std::uint8_t(len >> 8),
			 std::uint8_t(len) });
	if (len > 512) {
		ASSERT_EQ(parse(bytes, reply).ret, -EMSGSIZE);
		return;
	}
	if (len < least) {
		ASSERT_EQ(parse(bytes, reply).ret, -EINVAL);
		return;
	}
	bytes.resize(20 + len, 0x11);
	Parsed parsed = parse(bytes, reply);

	ASSERT_EQ(parsed.ret, static_cast<int>(20 + len));
	ASSERT_EQ(parsed.frame.pd_len, len - least);
	ASSERT_EQ(parsed.pd, Bytes(len - least, 0x11));
	if (!len)
		return;
	bytes.pop_back();
	ASSERT_EQ(parse(bytes, reply).ret, 0);
}

TEST(mpa_frame_parse, every_pd_length) // M7
{
	for (bool bit_0x10 : { false, true }) {
		for (std::uint32_t len = 0; len <= 0xffff; len++)
			for (bool reply : { false, true })
				for (int rev = 0; rev < 3; rev++)
					check_pd_length(reply, bit_0x10, rev,
							len);
	}
}

TEST(mpa_frame_parse, every_flag_byte_and_revision)
{
	for (bool reply : { false, true }) {
		for (int flags = 0; flags < 256; flags++) {
			for (int rev = 0; rev < 256; rev++) {
				Bytes bytes =
					unhex(reply ? VEC_REP : VEC_REQ);
				// Before revision 2 that bit is reserved.
				const bool enhanced = flags & 0x10 && rev == 2;
				// An answer counts only without the question.
				const bool extensions =
					reply ? (flags & 3) == 2 : flags & 1;
				int want = 24;

				append(bytes, { std::uint8_t(flags),
						 std::uint8_t(rev), 0, 4, 0, 0,
						 0, 0 });
				if (rev > 2)
					want = -EPROTONOSUPPORT;
				Parsed parsed = parse(bytes, reply);

				ASSERT_EQ(parsed.ret, want);
				if (want < 0)
					continue;
				expect_same(parsed.frame,
					    { .reply = reply,
					      .markers = bool(flags & 0x80),
					      .crc = bool(flags & 0x40),
					      .reject = reply && flags & 0x20,
					      .enhanced = enhanced,
					      .p2p = false,
					      .extensions = enhanced && extensions,
					      .rev = u8(rev),
					      .rtr = 0,
					      .ird = 0,
					      .ord = 0,
					      .pd_len = u16(enhanced ? 0 : 4) });
			}
		}
	}
}

TEST(mpa_frame_parse, every_word_of_the_enhanced_data)
{
	for (std::uint32_t word = 0; word <= 0xffff; word++) {
		Bytes bytes = unhex(VEC_REQ "50 02 0004");
		const std::uint16_t other = ~word;
		const bool a = word & 0x8000;

		append(bytes, { std::uint8_t(word >> 8), std::uint8_t(word),
				 std::uint8_t(other >> 8),
				 std::uint8_t(other) });
		Parsed parsed = parse(bytes, false);

		ASSERT_EQ(parsed.ret, 24);
		ASSERT_EQ(parsed.frame.p2p, a);
		ASSERT_EQ(parsed.frame.ird, word & 0x3fff);
		ASSERT_EQ(parsed.frame.ord, other & 0x3fff);
		ASSERT_EQ(parsed.frame.rtr,
			  !a ? 0 :
			  (word & 0x4000 ? MPA_RTR_SEND : 0) |
				  (other & 0x8000 ? MPA_RTR_WRITE : 0) |
				  (other & 0x4000 ? MPA_RTR_READ : 0));
	}
}

TEST(mpa_frame_build, private_data_limits)
{
	Bytes pd(600, 0x77);

	for (bool enhanced : { false, true }) {
		const int limit = enhanced ? 508 : 512;

		for (int len = 0; len <= 600; len++) {
			mpa_frame frame = { .crc = true,
					    .enhanced = enhanced,
					    .rev = 2,
					    .pd_len = u16(len) };
			Bytes bytes(MPA_FRAME_MAX + 1, 0xaa);
			int ret = mpa_frame_build(bytes.data(), MPA_FRAME_MAX,
						  &frame, pd.data());

			if (len > limit) {
				EXPECT_EQ(ret, -EMSGSIZE) << len;
				continue;
			}
			EXPECT_EQ(ret, 20 + (enhanced ? 4 : 0) + len);
			EXPECT_EQ(bytes[ret], 0xaa);
			bytes.resize(ret);
			Parsed parsed = parse(bytes, false);

			EXPECT_EQ(parsed.ret, ret);
			EXPECT_EQ(parsed.pd, Bytes(len, 0x77));
		}
	}
	mpa_frame huge = { .rev = 1, .pd_len = 65535 };
	Bytes bytes(MPA_FRAME_MAX);

	EXPECT_EQ(mpa_frame_build(bytes.data(), bytes.size(), &huge,
				  pd.data()),
		  -EMSGSIZE);
}

TEST(mpa_frame_build, sends_no_reserved_bit)
{
	// R in a Request; B, C, D without A; depths of more than 14 bits
	mpa_frame frame = { .reject = true, .enhanced = true, .rev = 2,
			    .rtr = 7, .ird = 0xffff, .ord = 0xffff };

	EXPECT_EQ(encode(frame), unhex(VEC_REQ "10 02 0004 3fff 3fff"));
}

// The bits of extensions are only in enhanced frames.
TEST(mpa_frame_build, extensions)
{
	mpa_frame frame = { .enhanced = true, .extensions = true, .rev = 2 };

	EXPECT_EQ(encode(frame), unhex(VEC_REQ "11 02 0004 0000 0000"));
	frame.reply = true;
	EXPECT_EQ(encode(frame), unhex(VEC_REP "12 02 0004 0000 0000"));
	frame.enhanced = false;
	EXPECT_EQ(encode(frame), unhex(VEC_REP "00 02 0000"));
	frame.reply = false;
	EXPECT_EQ(encode(frame), unhex(VEC_REQ "00 02 0000"));
}

TEST(mpa_frame_build, round_trip_of_random_frames)
{
	Random random(50);

	for (int i = 0; i < 20000; i++) {
		const bool reply = random.one_in(2);
		const bool enhanced = random.one_in(2);
		const bool p2p = enhanced && random.one_in(2);
		const u8 rev = enhanced ? 2 : random.between(0, 2);
		mpa_frame frame = {
			.reply = reply,
			.markers = random.one_in(2),
			.crc = random.one_in(2),
			.reject = reply && random.one_in(2),
			.enhanced = enhanced,
			.p2p = p2p,
			.extensions = enhanced && random.one_in(2),
			.rev = rev,
			.rtr = u8(p2p ? random.between(0, 7) : 0),
			.ird = u16(enhanced ? random.between(0, 0x3fff) : 0),
			.ord = u16(enhanced ? random.between(0, 0x3fff) : 0),
			.pd_len = u16(random.between(0, enhanced ? 508 : 512)),
		};
		Bytes pd = random.bytes(frame.pd_len);
		Bytes bytes = encode(frame, pd);
		Parsed parsed = parse(bytes, reply);

		ASSERT_EQ(parsed.ret, static_cast<int>(bytes.size()));
		expect_same(parsed.frame, frame);
		ASSERT_EQ(parsed.pd, pd);
	}
}

TEST(mpa_frame_parse, noise)
{
	Random random(51);

	for (int i = 0; i < 200000; i++) {
		Bytes bytes = unhex(random.one_in(2) ? VEC_REQ : VEC_REP);

		append(bytes, random.bytes(random.between(0, 64)));
		if (random.one_in(4))
			bytes[random.between(0, bytes.size() - 1)] ^=
				1 << random.between(0, 7);
		if (bytes.size() > 18 && random.one_in(2))
			bytes[18] = random.between(0, 2);
		Parsed parsed = parse(bytes, random.one_in(2));

		ASSERT_LE(parsed.ret, static_cast<int>(bytes.size()));
	}
}

// Negotiation

mpa_params params(u8 rev, u16 ird = 4, u16 ord = 4, u16 ird_max = 4,
		  u8 rtr = VEC_W)
{
	return { .crc = true, .rev = rev,
		 .rtr = rtr, .ird = ird, .ord = ord, .ird_max = ird_max };
}

TEST(mpa_request_from, revision_1)
{
	mpa_params own = params(MPA_REV_1);
	mpa_frame req;

	own.p2p = true;
	mpa_request_from(&own, &req);
	expect_same(req, { .crc = true, .rev = 1 });
	EXPECT_EQ(encode(req), unhex(VEC_REQ "40 01 0000")); // M1
}

TEST(mpa_request_from, revision_0)
{
	for (unsigned int bits = 0; bits < 32; bits++) {
		mpa_params own = params(MPA_REV_RDMAC);
		mpa_frame req;

		own.markers = bits & 1;
		own.crc = bits & 2;
		own.p2p = bits & 4;
		own.permissive = bits & 8;
		own.plain = bits & 16;
		mpa_request_from(&own, &req);
		expect_same(req, { .markers = true, .crc = true });
		EXPECT_EQ(encode(req), unhex(VEC_REQ "c0 00 0000"));
	}
}

TEST(mpa_request_from, revision_2)
{
	for (bool p2p : { false, true }) {
		for (u8 rtr = 0; rtr < 8; rtr++) {
			mpa_params own = params(MPA_REV_2, 4, 8, 16, rtr);
			const bool a = p2p && rtr;
			mpa_frame req;

			own.p2p = p2p;
			own.markers = true;
			mpa_request_from(&own, &req);
			expect_same(req, { .markers = true, .crc = true,
					   .enhanced = true, .p2p = a,
					   .rev = 2, .rtr = u8(a ? rtr : 0),
					   .ird = 4, .ord = 8 });
		}
	}
}

TEST(mpa_request_from, depths_that_do_not_fit)
{
	for (std::uint32_t depth : { 0u, 1u, 0x3ffeu, 0x3fffu, 0x4000u,
				     0xffffu }) {
		mpa_params own = params(MPA_REV_2, depth, depth);
		mpa_frame req;

		mpa_request_from(&own, &req);
		EXPECT_EQ(req.ird, std::min(depth, 0x3ffeu));
		EXPECT_EQ(req.ord, std::min(depth, 0x3ffeu));
	}
}

TEST(mpa_answer, unenhanced_requests_get_unenhanced_replies) // M1, M3
{
	for (u8 own_rev : { 1, 2 }) {
		for (u8 rev = 1; rev <= own_rev; rev++) {
			for (bool reject : { false, true }) {
				mpa_params own = params(own_rev, 3, 5, 9);
				mpa_frame req = { .crc = true, .rev = rev,
						  .pd_len = 4 };
				mpa_frame rep;
				mpa_result res;

				mpa_answer(&own, &req, reject, &rep, &res);
				expect_same(rep, { .reply = true, .crc = true,
						   .reject = reject,
						   .rev = rev });
				EXPECT_EQ(res.rev, rev);
				EXPECT_FALSE(res.enhanced);
				EXPECT_FALSE(res.p2p);
				EXPECT_EQ(res.ird, 3);
				EXPECT_EQ(res.ord, 5);
				EXPECT_EQ(res.peer_ird, 0);
				EXPECT_EQ(res.peer_ord, 0);
			}
		}
	}
}

TEST(mpa_conclude, every_mismatch_of_revision_and_kind)
{
	for (u8 own_rev : { 1, 2 }) {
		for (u8 rev : { 1, 2 }) {
			for (bool enhanced : { false, true }) {
				for (bool reject : { false, true }) {
					mpa_params own = params(own_rev);
					mpa_frame rep = {
						.reply = true,
						.reject = reject,
						.enhanced = enhanced,
						.rev = rev,
						.ird = 4,
						.ord = 4,
					};
					int want = 0;
					mpa_frame req;
					mpa_result res;

					if (reject)
						want = -ECONNREFUSED;
					else if (rev > own_rev ||
						 enhanced != (own_rev == 2))
						want = -EPROTO;
					mpa_request_from(&own, &req);
					EXPECT_EQ(mpa_conclude(&own, &req, &rep,
							       &res), want);
					EXPECT_EQ(res.rev, rev);
					EXPECT_EQ(res.peer_ird,
						  enhanced && own_rev == 2 ?
							  4 : 0);
				}
			}
		}
	}
}

// M13, M14: all combinations of M and C, with every revision of the two
TEST(negotiation, markers_and_crc)
{
	for (unsigned int bits = 0; bits < 64; bits++) {
		auto bit = [bits](int n) { return bool(bits >> n & 1); };
		mpa_params a = params(bit(4) ? 2 : 1), b = params(2);
		mpa_frame req, rep;
		mpa_result ra, rb;

		a.markers = bit(0);
		a.crc = bit(1);
		b.markers = bit(2);
		b.crc = bit(3);
		b.rev = a.rev == 2 || bit(5) ? 2 : 1;
		mpa_request_from(&a, &req);
		EXPECT_EQ(req.markers, a.markers);
		EXPECT_EQ(req.crc, a.crc);
		mpa_answer(&b, &req, false, &rep, &rb);
		ASSERT_EQ(mpa_conclude(&a, &req, &rep, &ra), 0);

		EXPECT_EQ(ra.rx_markers, a.markers);
		EXPECT_EQ(ra.tx_markers, b.markers);
		EXPECT_EQ(rb.rx_markers, b.markers);
		EXPECT_EQ(rb.tx_markers, a.markers);
		EXPECT_EQ(ra.crc, a.crc || b.crc);
		EXPECT_EQ(rb.crc, a.crc || b.crc);
		EXPECT_EQ(ra.rev, a.rev);
		EXPECT_EQ(rb.rev, a.rev);

		// A Responder that states only its own preference
		rep.crc = b.crc;
		ASSERT_EQ(mpa_conclude(&a, &req, &rep, &ra), 0);
		EXPECT_EQ(ra.crc, a.crc || b.crc);
	}
}

// Result of an exchange through the codec: 0 or an error, on both sides.
struct Outcome {
	int initiator;
	int responder;
	mpa_frame req;
	mpa_frame rep;
	mpa_result ri;
	mpa_result rr;
};

Outcome exchange(const mpa_params &a, const mpa_params &b)
{
	Outcome o = {};

	mpa_request_from(&a, &o.req);
	o.req = parse(encode(o.req), false).frame;
	o.responder = mpa_answer(&b, &o.req, false, &o.rep, &o.rr);
	if (o.responder) {
		EXPECT_EQ(mpa_answer(&b, &o.req, true, &o.rep, &o.rr), 0);
	}
	o.rep = parse(encode(o.rep), true).frame;
	o.initiator = mpa_conclude(&a, &o.req, &o.rep, &o.ri);
	return o;
}

class Figure : public testing::TestWithParam<vec_figure> {};

void check_cell(const vec_figure &v, const mpa_params &a, const mpa_params &b)
{
	Outcome o = exchange(a, b);

	if (v.version < 0) {
		EXPECT_LT(o.initiator, 0);
		// C.2.1: an RDMAC Initiator is answered in revision 1.
		EXPECT_EQ(o.responder, v.initiator == VEC_RDMAC ?
					       -EPROTONOSUPPORT : 0);
		EXPECT_EQ(o.rep.rev, v.initiator == VEC_RDMAC ? 1 : 0);
		// C.2.2: the revision of an RDMAC Responder is not supported.
		if (v.responder == VEC_RDMAC) {
			EXPECT_EQ(o.initiator, -EPROTONOSUPPORT);
		}
		return;
	}
	ASSERT_EQ(o.initiator, 0);
	ASSERT_EQ(o.responder, 0);
	EXPECT_EQ(o.ri.ddp_version, v.version);
	EXPECT_EQ(o.rr.ddp_version, v.version);
	EXPECT_EQ(o.ri.rx_markers, v.to_initiator);
	EXPECT_EQ(o.rr.tx_markers, v.to_initiator);
	EXPECT_EQ(o.ri.tx_markers, v.to_responder);
	EXPECT_EQ(o.rr.rx_markers, v.to_responder);
	EXPECT_EQ(o.rep.markers, v.to_responder);
	EXPECT_EQ(o.ri.crc, o.rr.crc);
	// C.1: with an RDMAC peer CRCs are always in use.
	EXPECT_EQ(o.ri.crc, a.crc || b.crc || !v.version);
	if (v.version)
		return;
	EXPECT_EQ(o.rep.rev, 0);
	EXPECT_TRUE(o.rep.crc);
	EXPECT_FALSE(o.ri.enhanced);
	EXPECT_FALSE(o.rr.enhanced);
}

TEST_P(Figure, of_appendix_C)
{
	const auto &v = GetParam();

	for (unsigned int bits = 0; bits < 32; bits++) {
		mpa_params a = vec_kind_params(v.initiator, v.initiator_m,
					       bits & 1 ? 2 : 1);
		mpa_params b = vec_kind_params(v.responder, v.responder_m,
					       bits & 2 ? 2 : 1);

		a.crc = bits & 4;
		b.crc = bits & 8;
		// The figures do not cover RFC 6581: ask plainly, or both sides
		// support it.
		a.plain = a.rev == 2 && (bits & 16 || b.rev < 2);
		SCOPED_TRACE(bits);
		check_cell(v, a, b);
	}
}

INSTANTIATE_TEST_SUITE_P(table, Figure, testing::ValuesIn(vec_figures),
			 row_name<vec_figure>);

// With a peer of revision 0 both are in use whatever M and C are.
TEST(negotiation, revision_0_has_markers_and_crc)
{
	for (unsigned int bits = 0; bits < 8; bits++) {
		mpa_params own = vec_kind_params(VEC_PERMISSIVE, bits & 1, 1);
		mpa_frame req = { .markers = bool(bits & 4),
				  .crc = bool(bits & 2) };
		mpa_frame rep;
		mpa_result res;

		own.crc = bits & 4;
		ASSERT_EQ(parse(encode(req), false).ret, 20);
		req = parse(encode(req), false).frame;
		ASSERT_EQ(mpa_answer(&own, &req, false, &rep, &res), 0);
		EXPECT_TRUE(rep.markers && rep.crc);
		EXPECT_TRUE(res.tx_markers && res.rx_markers && res.crc);
		EXPECT_EQ(res.ddp_version, 0);

		rep.crc = bits & 2;
		rep.markers = bits & 4;
		ASSERT_EQ(parse(encode(rep), true).ret, 20);
		rep = parse(encode(rep), true).frame;
		mpa_request_from(&own, &req);
		EXPECT_EQ(req.markers, bool(bits & 1));
		EXPECT_EQ(req.crc, bool(bits & 4));
		ASSERT_EQ(mpa_conclude(&own, &req, &rep, &res), 0);
		EXPECT_TRUE(res.tx_markers && res.rx_markers && res.crc);
		EXPECT_EQ(res.ddp_version, 0);
	}
}

// Without the permissive mode the revision is refused, not M.
TEST(negotiation, revision_0_without_markers_and_no_permission)
{
	for (bool markers : { false, true }) {
		mpa_params own = params(MPA_REV_1);
		mpa_frame req = { .markers = markers, .crc = true };
		mpa_frame rep = req;
		mpa_result res;

		ASSERT_EQ(parse(encode(req), false).ret, 20);
		EXPECT_EQ(mpa_answer(&own, &req, false, &rep, &res),
			  -EPROTONOSUPPORT);
		ASSERT_EQ(mpa_answer(&own, &req, true, &rep, &res), 0);
		EXPECT_EQ(encode(rep), unhex(VEC_REP "60 01 0000"));

		rep = { .reply = true, .markers = markers, .crc = true };
		mpa_request_from(&own, &req);
		ASSERT_EQ(parse(encode(rep), true).ret, 20);
		EXPECT_EQ(mpa_conclude(&own, &req, &rep, &res),
			  -EPROTONOSUPPORT);
	}
}

// Extensions of RFC 7306: every mode of either side, in every kind of exchange.
TEST(negotiation, extensions)
{
	int used = 0;

	for (unsigned int i = 0; i < 3 * 3 * 4; i++) {
		mpa_params a = params(2), b = params(2);
		const bool on_a = i % 3 == MPA_EXTENSIONS_ON;
		const bool on_b = i / 3 % 3 == MPA_EXTENSIONS_ON;
		const unsigned int kind = i / 9;

		SCOPED_TRACE(i);
		a.extensions = i % 3;
		b.extensions = i / 3 % 3;
		a.plain = kind == 1;
		if (kind == 2)
			a.rev = 1;
		if (kind == 3) {
			a.rev = 0;
			b.permissive = true;
		}
		Outcome o = exchange(a, b);
		const bool asks = a.extensions == MPA_EXTENSIONS_NEGOTIATE &&
				  !kind;
		const bool agreed = asks && b.extensions;

		ASSERT_EQ(o.initiator, 0);
		ASSERT_EQ(o.responder, 0);
		EXPECT_EQ(o.req.extensions, asks);
		EXPECT_EQ(o.rep.extensions, agreed);
		EXPECT_EQ(o.ri.extensions, kind < 3 && (agreed || on_a));
		EXPECT_EQ(o.rr.extensions, kind < 3 && (agreed || on_b));
		used += o.ri.extensions && o.rr.extensions;
	}
	EXPECT_EQ(used, 2 + 3);
}

// A Responder that copies the flags, and one that answers without being asked.
TEST(negotiation, extensions_are_not_granted_by_a_copy)
{
	mpa_params own = params(2);
	mpa_frame req, rep;
	mpa_result res;

	own.extensions = MPA_EXTENSIONS_NEGOTIATE;
	mpa_request_from(&own, &req);
	Bytes copy = encode(req);
	const Bytes key = unhex(VEC_REP);

	std::copy(key.begin(), key.end(), copy.begin());
	for (int bits : { 1, 3, 5, 0xd }) {
		copy[16] = (copy[16] & 0xf0) | bits;
		rep = parse(copy, true).frame;
		ASSERT_EQ(mpa_conclude(&own, &req, &rep, &res), 0);
		EXPECT_FALSE(res.extensions) << bits;
	}
	copy[16] = (copy[16] & 0xf0) | 2;
	rep = parse(copy, true).frame;
	ASSERT_EQ(mpa_conclude(&own, &req, &rep, &res), 0);
	EXPECT_TRUE(res.extensions);
	own.extensions = MPA_EXTENSIONS_OFF;
	mpa_request_from(&own, &req);
	ASSERT_EQ(mpa_conclude(&own, &req, &rep, &res), 0);
	EXPECT_FALSE(res.extensions);
}

// A Reply that rejects grants nothing.
TEST(mpa_answer, rejects_without_extensions)
{
	mpa_params own = params(2);
	mpa_frame req = { .enhanced = true, .extensions = true, .rev = 2 };
	mpa_frame rep;
	mpa_result res;

	own.extensions = MPA_EXTENSIONS_NEGOTIATE;
	ASSERT_EQ(mpa_answer(&own, &req, true, &rep, &res), 0);
	EXPECT_FALSE(rep.extensions);
}

// Both sides of every exchange, through the codec: they must follow RFC 6581
// section 9 and agree.
TEST(negotiation, both_ends_agree)
{
	const u16 depths[] = { 0, 1, 2, 4, 0x3ffe, 0x3fff, 0xffff };
	Random random(52);

	auto any = [&] {
		return depths[random.between(0, std::size(depths) - 1)];
	};
	int good = 0, no_rtr = 0;

	for (int i = 0; i < 200000; i++) {
		mpa_params a = params(2, any(), any(), any(),
				      random.between(0, 7));
		mpa_params b = params(2, any(), any(), any(),
				      random.between(1, 7));
		mpa_frame req, rep;
		mpa_result ra, rb;

		a.p2p = random.one_in(2);
		mpa_request_from(&a, &req);
		req = parse(encode(req), false).frame;
		mpa_answer(&b, &req, false, &rep, &rb);
		rep = parse(encode(rep), true).frame;
		int ret = mpa_conclude(&a, &req, &rep, &ra);

		// A correct Responder never requests more than was offered.
		ASSERT_NE(ret, -ENOSPC);
		ASSERT_NE(ret, -EPROTO);
		ASSERT_EQ(ra.peer_ird, rep.ird);
		ASSERT_EQ(rb.peer_ord, req.ord);
		if (ret == -EOPNOTSUPP) {
			const u8 common = a.rtr & b.rtr;

			ASSERT_TRUE(a.p2p);
			ASSERT_EQ(common, 0);
			no_rtr++;
			continue;
		}
		ASSERT_EQ(ret, 0);
		good++;
		ASSERT_LE(ra.ord, rb.ird);
		ASSERT_LE(rb.ord, ra.ird);
		ASSERT_EQ(ra.p2p, rb.p2p);
		ASSERT_EQ(ra.p2p, a.p2p && a.rtr);
		if (!ra.p2p) {
			ASSERT_EQ(ra.rtr | rb.rtr, 0);
			continue;
		}
		ASSERT_EQ(ra.rtr & (ra.rtr - 1), 0) << "one kind";
		ASSERT_NE(ra.rtr & a.rtr & rb.rtr, 0);
		if (ra.rtr == MPA_RTR_READ) {
			ASSERT_GE(ra.ord, 1);
			ASSERT_GE(rb.ird, 1);
		}
	}
	EXPECT_GT(good, 1000);
	EXPECT_GT(no_rtr, 1000);
}

} // namespace
