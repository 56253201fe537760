// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/ddp beyond its tables, which are in ../vectors/ddp.c: full cross
// products and comparison with wide arithmetic. Bytes passed to the code under
// test are in heap blocks of exactly their size, so that ASan detects every read
// beyond their end.
#include "support.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>

extern "C" {
#include "../vectors/ddp.h"
}

using namespace mpa;

namespace {

__extension__ typedef unsigned __int128 Wide;

// A copy of exactly the size: the capacity of a vector may be larger.
class Exact {
public:
	explicit Exact(const Bytes &bytes)
		: bytes_(std::make_unique<u8[]>(bytes.size()))
	{
		std::copy(bytes.begin(), bytes.end(), bytes_.get());
	}
	const u8 *get() const { return bytes_.get(); }

private:
	std::unique_ptr<u8[]> bytes_;
};

std::string hex(const Bytes &bytes)
{
	static const char digits[] = "0123456789ABCDEF";
	std::string text;

	for (const u8 o : bytes) {
		text += digits[o >> 4];
		text += digits[o & 15];
	}
	return text;
}

void put_be(Bytes &to, u64 value, int bytes)
{
	for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
		to.push_back(static_cast<u8>(value >> shift));
}

std::string show(const ddp_want &w)
{
	if (w.ok)
		return "in order";
	char text[64];
	std::snprintf(text, sizeof(text), "%x/%x/%02x hdr %d rdmap %d",
		      w.fault.layer, w.fault.etype, w.fault.code,
		      w.fault.with_hdr, w.fault.with_rdmap);
	return text;
}

// Runs a check on a fault record in which every field is wrong.
template <typename Check>
ddp_want result(Check check)
{
	ddp_want got = { false, { 0xee, 0xee, 0xee, false, false } };
	ddp_want other = { false, { 0xdd, 0xdd, 0xdd, true, true } };

	got.ok = check(&got.fault);
	other.ok = check(&other.fault);
	if (!got.ok) {
		EXPECT_EQ(show(got), show(other)) << "a field is not set";
	}
	return got;
}

template <typename Check>
void expect_result(Check check, const ddp_want &want)
{
	EXPECT_EQ(show(result(check)), show(want));
}

// Decodes and checks as the receive path does.
ddp_want control_result(const Bytes &bytes, u32 ulpdu_len, u8 version = 1,
			bool extensions = false)
{
	const Exact p(bytes);
	ddp_hdr h;
	const bool whole = !ddp_decode(p.get(), ulpdu_len, &h);

	return result([&](ddp_fault *f) {
		return ddp_check_control(&h, whole, version, extensions, f);
	});
}

// Calls a builder with exactly the memory that it should write.
template <typename Build>
Bytes build(u32 room, Build builder)
{
	const auto p = std::make_unique<u8[]>(room);

	std::fill_n(p.get(), room, 0xee);
	EXPECT_EQ(builder(p.get()), room);
	return Bytes(p.get(), p.get() + room);
}

Bytes build_tagged(u8 version, u8 opcode, bool last, u32 stag, u64 to)
{
	return build(14, [&](u8 *p) {
		return ddp_build_tagged(p, version, opcode, last, stag, to);
	});
}

Bytes build_untagged(u8 version, u8 opcode, bool last, u32 inv_stag, u32 qn,
		      u32 msn, u32 mo)
{
	return build(18, [&](u8 *p) {
		return ddp_build_untagged(p, version, opcode, last, inv_stag,
					  qn, msn, mo);
	});
}

// Builds into memory for the longest Terminate; returns the written bytes.
Bytes build_terminate(const ddp_fault &f, const Bytes *seg, u32 seg_len,
		       u8 version = 1)
{
	const auto p = std::make_unique<u8[]>(70);
	const Exact bytes(seg ? *seg : Bytes{});

	std::fill_n(p.get(), 70, 0xee);
	const u32 n = rdmap_terminate_build(p.get(), version, &f,
					    seg ? bytes.get() : nullptr,
					    seg ? seg->size() : 0, seg_len);

	if (n > 70) {
		ADD_FAILURE() << "wrote " << n << " bytes";
		return {};
	}
	return Bytes(p.get(), p.get() + n);
}

constexpr u64 kEdges64[] = {
	0, 1, 2, 3, 7, 8, 0xfff, 0x1000, 0x1001, 0x7fffffff, 0x80000000,
	0xfffffffe, 0xffffffff, 0x100000000, 0x100000001, 0x7fffffffffffffff,
	0x8000000000000000, 0x8000000000000001, 0xfffffffeffffffff,
	0xffffffff00000000, 0xffffffff00000001, 0xfffffffffffffff0,
	0xfffffffffffffffc, 0xfffffffffffffffe, 0xffffffffffffffff,
};

constexpr u32 kEdges32[] = {
	0, 1, 2, 3, 4, 5, 8, 0xff, 0x100, 0x101, 0x7fffffff, 0x80000000,
	0x80000001, 0xfffffff0, 0xfffffffc, 0xfffffffe, 0xffffffff,
};

// ---- header.c ----

TEST(DdpHeader, DecodeReturnsEveryControlBit)
{
	for (u32 word = 0; word < 0x10000; word++) {
		Bytes bytes(18);
		ddp_hdr h;

		bytes[0] = word >> 8;
		bytes[1] = word & 0xff;
		ASSERT_EQ(ddp_decode(bytes.data(), 18, &h), 0);
		ASSERT_EQ(h.tagged, (word & 0x8000) != 0);
		ASSERT_EQ(h.last, (word & 0x4000) != 0);
		ASSERT_EQ(h.ddp_version, (word & 0x0300) >> 8);
		ASSERT_EQ(h.rdmap_version, (word & 0x00c0) >> 6);
		ASSERT_EQ(h.opcode, word & 0x000f);
	}
}

TEST(DdpHeader, BuildersKeepFieldsInTheirBits)
{
	EXPECT_EQ(hex(build_tagged(0xff, 0xff, false, 0, 0)).substr(0, 4),
		  "83CF");
	EXPECT_EQ(hex(build_untagged(0xff, 0xff, true, 0, 0, 0, 0))
			  .substr(0, 4), "43CF");
	EXPECT_EQ(hex(build_untagged(0, 3, false, 0, 0, 1, 0)).substr(0, 4),
		  "0003");
}

// ---- check.c ----

// Only the version of the stream passes, whatever the rest of the header is.
TEST(DdpCheckControl, VersionsComeFirst)
{
	for (u32 word = 0; word < 0x10000; word++) {
		const u8 dv = word >> 8 & 3, rv = word >> 6 & 3;
		Bytes bytes(18);

		bytes[0] = word >> 8;
		bytes[1] = word & 0xff;
		for (u8 version = 0; version < 4; version++) {
			const ddp_want got = control_result(bytes, 46,
							     version);

			if (dv != version)
				ASSERT_EQ(show(got), word & 0x8000 ?
					  show(WANT(1, 1, 4)) :
					  show(WANT(1, 2, 6)));
			else if (rv != version)
				ASSERT_EQ(show(got), show(WANT(0, 2, 5)));
			else
				ASSERT_TRUE(got.ok || got.fault.code > 6 ||
					    show(got) ==
						    show(WANT(0, 2, 6)) ||
					    show(got) == show(WANT(1, 2, 4)))
					<< show(got);
		}
	}
}

TEST(DdpCheckControl, OpcodeBeyondItsFieldIsRefused)
{
	for (int op = 8; op < 256; op++) {
		const ddp_hdr h = {
			.tagged = true, .last = true, .ddp_version = 1,
			.rdmap_version = 1, .opcode = static_cast<u8>(op),
			.hdr_len = 14,
		};

		for (const bool extensions : { false, true })
			expect_result([&](ddp_fault *f) {
				return ddp_check_control(&h, true, 1,
							 extensions, f);
			}, WANT(0, 2, 6));
	}
}

// The conditions of the RFC in arithmetic that cannot wrap.
TEST(DdpCheckUntagged, AgreesWithWideArithmetic)
{
	std::map<std::string, int> seen;

	for (const u32 mo : kEdges32)
	for (const u32 at : kEdges32)
	for (const u32 len : kEdges32)
	for (const u64 room : kEdges64)
	for (const bool buffer : { true, false }) {
		const ddp_hdr h = SEGMENT(9, mo, len);
		const ddp_queue_view q = {
			.msn = 9, .mo = at, .opcode = 3, .mo_open = at != 0,
			.buffer = buffer, .buffer_len = room,
		};
		const Wide end = static_cast<Wide>(mo) + len;
		ddp_want want = WANT_OK;

		if (!buffer)
			want = WANT(1, 2, 2);
		else if (mo != at || mo > room)
			want = WANT(1, 2, 4);
		else if (end > room || end >> 32)
			want = WANT(1, 2, 5);
		const ddp_want got = result([&](ddp_fault *f) {
			return ddp_check_untagged(&h, &q, f);
		});
		ASSERT_EQ(show(got), show(want))
			<< mo << " " << at << " " << len << " " << room;
		seen[show(got)]++;
	}
	EXPECT_EQ(seen.size(), 4U) << "every result occurs";
}

// R5: a message keeps the opcode of its first segment.
TEST(DdpCheckUntagged, EveryOpcodeAfterEveryOther)
{
	for (int first = 0; first < 16; first++)
	for (int next = 0; next < 16; next++)
	for (const bool open : { true, false }) {
		ddp_hdr h = SEGMENT(1, 4, 4);
		ddp_queue_view q = AMID(1, 4, 8);

		h.opcode = next;
		q.opcode = first;
		q.mo_open = open;
		expect_result([&](ddp_fault *f) {
			return ddp_check_untagged(&h, &q, f);
		}, first == next || !open ? ddp_want WANT_OK :
					    ddp_want WANT(0, 2, 6));
	}
}

// A receiver that uses the checks, over the wrap of the MSN.
TEST(DdpCheckUntagged, MessagesOfOneByteSegments)
{
	const u32 bytes = 300;
	u32 messages = 0;
	u32 msn = 0xfffffffe;

	for (; messages < 4; messages++, msn++) {
		ddp_queue_view q = FRESH(msn, bytes);

		while (q.mo < bytes) {
			const ddp_hdr h = SEGMENT(msn, q.mo, 1);
			const ddp_hdr again = SEGMENT(msn, q.mo, 2);
			ddp_fault f;

			ASSERT_TRUE(ddp_check_untagged(&h, &q, &f));
			q.mo++;
			q.mo_open = true;
			q.opcode = 3;
			ASSERT_FALSE(ddp_check_untagged(&again, &q, &f));
		}
		const ddp_hdr more = SEGMENT(msn, bytes, 1);

		expect_result([&](ddp_fault *f) {
			return ddp_check_untagged(&more, &q, f);
		}, WANT(1, 2, 5));
	}
	EXPECT_EQ(msn, 2U);
}

enum class Extent { none, inside, outside, wraps };

// The conditions of the RFC in 128 bits; 1/1/01 if the start is outside.
Extent extent(const ddp_region_view &r, u64 to, u32 len)
{
	const Wide start = to, end = start + len;
	const Wide base = r.base, limit = base + r.len;

	if (!len)
		return Extent::none;
	if (start < base || start >= limit)
		return Extent::outside;
	if (end > static_cast<Wide>(1) << 64)
		return Extent::wraps;
	return end > limit ? Extent::outside : Extent::inside;
}

void expect_extent(const ddp_region_view &r, u64 to, u32 len,
		   std::map<Extent, int> &seen)
{
	static const std::map<Extent, std::array<ddp_want, 2>> wants = {
		{ Extent::none, { { WANT_OK, WANT_OK } } },
		{ Extent::inside, { { WANT_OK, WANT_OK } } },
		{ Extent::outside, { { WANT(1, 1, 1), WANT_READ(1) } } },
		{ Extent::wraps, { { WANT(1, 1, 3), WANT_READ(4) } } },
	};
	const ddp_hdr h = RESPONSE(false, 7, to, len);
	const rdmap_read rd = { 1, 2, len, 7, to };
	const Extent e = extent(r, to, len);
	const auto &want = wants.at(e);

	SCOPED_TRACE(testing::Message() << r.base << "+" << r.len << ": "
					<< to << "+" << len);
	expect_result([&](ddp_fault *f) {
		return ddp_check_tagged(&h, &r, f);
	}, want[0]);
	expect_result([&](ddp_fault *f) {
		return rdmap_check_read(&rd, &r, f);
	}, want[1]);
	seen[e]++;
}

TEST(DdpCheckTagged, EdgesAgreeWithWideArithmetic)
{
	std::map<Extent, int> seen;

	for (const u64 base : kEdges64)
	for (const u64 size : kEdges64)
	for (const u64 to : kEdges64)
	for (const u32 len : kEdges32) {
		// A region never ends beyond 2^64.
		if (size && size - 1 > ~0ULL - base)
			continue;
		expect_extent({ true, true, true, base, size }, to, len, seen);
		ASSERT_FALSE(HasFailure());
	}
	EXPECT_EQ(seen.size(), 4U) << "every kind of extent occurs";
}

TEST(RdmapCheckResponse, EdgesOfLengthAndLast)
{
	for (const u32 left : kEdges32)
	for (const u32 len : kEdges32)
	for (const bool last : { false, true }) {
		const ddp_hdr h = RESPONSE(last, 7, 0x1000, len);
		const ddp_read_view v = DUE(7, 0x1000, left);
		const bool fits = last ? len == left : len <= left;

		expect_result([&](ddp_fault *f) {
			return rdmap_check_response(&h, &v, f);
		}, fits ? ddp_want WANT_OK : ddp_want WANT(1, 1, 1));
	}
}

// ---- atomic.c ----

// FetchAdd, bit by bit as RFC 7306 section 5.1.1 describes it.
u64 add_bit_by_bit(u64 a, u64 b, u64 mask)
{
	u64 sum = 0;
	unsigned int carry = 0;

	for (int bit = 0; bit < 64; bit++) {
		const unsigned int total =
			(a >> bit & 1) + (b >> bit & 1) + carry;

		sum |= u64{total & 1} << bit;
		carry = mask >> bit & 1 ? 0 : total >> 1;
	}
	return sum;
}

TEST(RdmapAtomic, AddsAsBitByBit)
{
	Random random(7306);

	for (int i = 0; i < 20000; i++) {
		const auto word = [&] {
			const Bytes bytes = random.bytes(8);
			u64 value;

			std::memcpy(&value, bytes.data(), 8);
			return i % 3 ? value : kEdges64[value % std::size(kEdges64)];
		};
		const u64 old = word();
		rdmap_atomic a = { .op = 0, .data = word(), .mask = word() };

		if (i % 5 == 0)
			a.mask = 0;
		ASSERT_EQ(rdmap_atomic_result(&a, old),
			  add_bit_by_bit(old, a.data, a.mask));
		if (!a.mask) {
			ASSERT_EQ(rdmap_atomic_result(&a, old), old + a.data);
		}
	}
}

TEST(RdmapAtomic, SwapsWhatTheMasksName)
{
	for (const u64 old : kEdges64)
	for (const u64 compare : kEdges64)
	for (const u64 compare_mask : kEdges64)
	for (const u64 mask : kEdges64) {
		const rdmap_atomic a = {
			.op = 2, .data = 0x5a5a5a5a5a5a5a5a, .mask = mask,
			.compare = compare, .compare_mask = compare_mask,
		};
		u64 want = old;

		if ((old & compare_mask) == (compare & compare_mask))
			for (int bit = 0; bit < 64; bit++)
				if (mask >> bit & 1)
					want = (want & ~(1ULL << bit)) |
					       (a.data & 1ULL << bit);
		ASSERT_EQ(rdmap_atomic_result(&a, old), want);
	}
}

// ---- terminate.c ----

// T1, T2: every code with every combination of headers, every kind of segment
// and every number of its bytes available, compared with bytes built here.
TEST(RdmapTerminate, BuildsEveryCodeWithEveryHeader)
{
	const Bytes read = unhex(A_READ A_READ_TAIL "EEEE");
	const Bytes kinds[] = {
		unhex(A_WRITE), unhex(A_SEND), read, unhex(A_SEND A_READ_TAIL),
		unhex(A_WRITE A_READ_TAIL "EEEEEEEE"),
		unhex("43DF" SEND_TAIL), unhex("FFFF" TAGGED_TAIL),
	};
	std::set<u8> flags_seen;
	int built = 0;

	for (const auto &e : ddp_defined_errors)
	for (const bool with_hdr : { false, true })
	for (const bool with_rdmap : { false, true })
	for (const Bytes &whole : kinds)
	for (size_t at_hand = 0; at_hand <= whole.size(); at_hand++) {
		const ddp_fault f = { e.layer, e.etype, e.code, with_hdr,
				      with_rdmap };
		const Bytes seg(whole.begin(), whole.begin() + at_hand);
		const u32 seg_len = 0x1000 + at_hand;
		const size_t hdr_len = whole[0] & 0x80 ? 14 : 18;
		const bool d = with_hdr && at_hand >= hdr_len;
		const bool r = d && with_rdmap && whole == read &&
			       at_hand >= 46;
		Bytes want = unhex(TERM_HDR);

		want.push_back(e.layer << 4 | e.etype);
		want.push_back(e.code);
		want.push_back((d ? 0xc0 : 0) | (r ? 0x20 : 0));
		want.push_back(0);
		if (d) {
			put_be(want, seg_len, 2);
			want.insert(want.end(), whole.begin(),
				    whole.begin() + (r ? 46 : hdr_len));
		}
		const Bytes got = build_terminate(f, &seg, seg_len);
		ASSERT_EQ(hex(got), hex(want));
		ASSERT_EQ(show(control_result(got, got.size())), "in order");
		flags_seen.insert(got[20]);
		built++;
	}
	EXPECT_EQ(flags_seen, (std::set<u8>{ 0x00, 0xc0, 0xe0 }));
	EXPECT_GT(built, 10000);
}

TEST(RdmapTerminate, CarriesTheVersionAsked)
{
	EXPECT_EQ(hex(build_terminate(ddp_fault_crc, nullptr, 0, 0)),
		  "40070000000000000002000000010000000020020000");
}

// RFC 5040 figure 10, for every fault that a check of the tables returned.
TEST(RdmapTerminate, FaultsAskForTheHeadersOfFigure10)
{
	std::vector<ddp_want> wants;
	std::set<std::tuple<int, int, int>> raised;
	auto add = [&](const auto &cases, auto member) {
		for (const auto &c : cases)
			wants.push_back(c.*member);
	};

	add(ddp_control_cases, &ddp_control_case::want);
	add(ddp_extension_cases, &ddp_control_case::want);
	add(ddp_untagged_cases, &ddp_untagged_case::want);
	add(ddp_region_cases, &ddp_region_case::tagged);
	add(ddp_region_cases, &ddp_region_case::read);
	add(ddp_invalidate_cases, &ddp_invalidate_case::want);
	add(ddp_response_cases, &ddp_response_case::want);
	for (const auto &f : { ddp_fault_crc, ddp_fault_marker,
			       ddp_fault_mpa_local, ddp_fault_ird,
			       ddp_fault_rtr, ddp_fault_local,
			       ddp_fault_stream })
		wants.push_back({ false, f });

	for (const auto &w : wants) {
		const ddp_fault &f = w.fault;

		if (w.ok)
			continue;
		SCOPED_TRACE(show(w));
		raised.insert({ f.layer, f.etype, f.code });
		EXPECT_EQ(f.with_hdr, f.layer == 1 ||
				      (f.layer == 0 && f.etype != 0));
		EXPECT_EQ(f.with_rdmap, f.layer == 0 && f.etype == 1 &&
					f.code != 9);
	}

	// All codes except those that no inbound segment can cause.
	const std::set<std::tuple<int, int, int>> unraised = {
		{ 0, 1, 0xff }, { 0, 2, 8 }, { 1, 0, 0 }, { 2, 0, 1 },
		{ 2, 0, 4 },
	};
	for (const auto &e : ddp_defined_errors) {
		const std::tuple<int, int, int> key{ e.layer, e.etype,
						     e.code };

		EXPECT_NE(raised.count(key), unraised.count(key))
			<< +e.layer << "/" << +e.etype << "/" << +e.code;
	}
}

TEST(RdmapErrorText, KnowsNoMoreThanTheDefinedErrors)
{
	const std::string unknown = rdmap_error_text(9, 9, 9);
	size_t known = 0;

	for (int layer = 0; layer < 16; layer++)
	for (int etype = 0; etype < 16; etype++)
	for (int code = 0; code < 256; code++)
		known += rdmap_error_text(layer, etype, code) != unknown;
	// 0/0 counts once for each of its 256 codes.
	EXPECT_EQ(known, std::size(ddp_defined_errors) + 255);
}

} // namespace
