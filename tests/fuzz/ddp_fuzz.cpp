// SPDX-License-Identifier: GPL-2.0-only
//
// DDP and RDMAP headers as a peer may send them. Input: the state of the
// receiver (a queue, a region, an outstanding Read or atomic operation), then the
// bytes of a ULPDU.
// The results are compared with rules in wide arithmetic.
#include "support.hpp"

extern "C" {
#include "../../kernel/ddp/atomic.h"
#include "../../kernel/ddp/check.h"
#include "../../kernel/ddp/header.h"
#include "../../kernel/ddp/terminate.h"
}

using namespace fuzz;

namespace
{

__extension__ typedef unsigned __int128 Wide;

struct Known {
	std::uint32_t ulpdu_len;
	bool extensions;
	ddp_queue_view queue = {};
	ddp_region_view region = {};
	ddp_read_view read = {};
	ddp_atomic_view atomic = {};

	// The available bytes, or a longer segment that starts with them.
	Known(Input &in)
	{
		const std::uint8_t flags = in.u8();

		ulpdu_len = in.u16();
		queue.buffer = flags & 1;
		queue.mo_open = flags & 2;
		region.found = flags & 4;
		region.same_pd = flags & 8;
		region.allowed = flags & 16;
		read.outstanding = flags & 32;
		extensions = flags & 64;
		queue.msn = in.u32();
		queue.mo = in.u32();
		queue.opcode = in.u8() & 15;
		queue.buffer_len = in.u64();
		region.base = in.u64();
		region.len = in.u64();
		read.stag = in.u32();
		read.to = in.u64();
		read.left = in.u32();
		atomic.outstanding = read.outstanding;
		atomic.msn = queue.msn;
		atomic.id = read.stag;
	}
};

std::uint64_t be(View bytes, std::size_t at, std::size_t n)
{
	std::uint64_t value = 0;

	for (std::size_t i = 0; i < n; i++)
		value = value << 8 | bytes[at + i];
	return value;
}

bool is_fault(const ddp_fault &f, int layer, int etype, int code)
{
	return f.layer == layer && f.etype == etype && f.code == code;
}

// All @len bytes at @to are in the region; @wrap: their end is beyond 2^64.
bool inside(const ddp_region_view &r, std::uint64_t to, std::uint64_t len,
	    bool &wrap)
{
	const Wide end = static_cast<Wide>(to) + len;
	const Wide region_end = static_cast<Wide>(r.base) + r.len;

	wrap = end > static_cast<Wide>(1) << 64;
	return !wrap && to >= r.base && end <= region_end;
}

void check_decode(View bytes, const ddp_hdr &h)
{
	const bool tagged = bytes[0] & 0x80;

	REQUIRE(h.tagged == tagged && h.last == !!(bytes[0] & 0x40));
	REQUIRE(h.ddp_version == (bytes[0] & 3));
	REQUIRE(h.rdmap_version == bytes[1] >> 6);
	REQUIRE(h.opcode == (bytes[1] & 15));
	REQUIRE(h.hdr_len == (tagged ? 14u : 18u));
	REQUIRE(h.stag == be(bytes, 2, 4));
	REQUIRE(h.to == (tagged ? be(bytes, 6, 8) : 0));
	REQUIRE(h.qn == (tagged ? 0 : be(bytes, 6, 4)));
	REQUIRE(h.msn == (tagged ? 0 : be(bytes, 10, 4)));
	REQUIRE(h.mo == (tagged ? 0 : be(bytes, 14, 4)));
}

// A header built from its fields has the bytes it was read from.
void check_rebuild(View bytes, const ddp_hdr &h)
{
	Bytes built(h.hdr_len),
		want(bytes.begin(), bytes.begin() + h.hdr_len);

	if (h.ddp_version != h.rdmap_version)
		return;
	want[0] &= 0xc3;
	want[1] &= 0xcf;
	if (h.tagged)
		ddp_build_tagged(built.data(), h.ddp_version, h.opcode, h.last,
				 h.stag, h.to);
	else
		ddp_build_untagged(built.data(), h.ddp_version, h.opcode,
				   h.last, h.stag, h.qn, h.msn, h.mo);
	REQUIRE(built == want);
}

// RFC 5041 section 7.1, RFC 5040 section 4, RFC 7306 section 4: header alone.
bool control_passes(const ddp_hdr &h, bool extensions)
{
	static const int queue_of[] = {-1, 1, -1, 0, 0, 0, 0, 2,
					 0, 0, 1, 3};

	if (h.ddp_version != 1 || h.rdmap_version != 1 ||
	    h.opcode > (extensions ? 11 : 7))
		return false;
	if (h.tagged != (queue_of[h.opcode] < 0))
		return false;
	if (h.tagged)
		return true;
	if (h.qn != static_cast<std::uint32_t>(queue_of[h.opcode]))
		return false;
	if (h.opcode == 1)
		return h.last && !h.mo && h.payload_len == 28;
	if (h.opcode == 7)
		return h.last && !h.mo && h.payload_len >= 4 &&
		       h.payload_len <= 52;
	if (h.opcode >= 8)
		return h.last && !h.mo &&
		       h.payload_len == (h.opcode == 10 ? 52u :
					 h.opcode == 11 ? 12u : 8u);
	return true;
}

void check_untagged(const ddp_hdr &h, const ddp_queue_view &q)
{
	const Wide end = static_cast<Wide>(h.mo) + h.payload_len;
	const bool want = h.msn == q.msn && q.buffer && h.mo == q.mo &&
			  end <= q.buffer_len && end <= 0xffffffff &&
			  (!q.mo_open || h.opcode == q.opcode);
	ddp_fault f = {};

	REQUIRE(ddp_check_untagged(&h, &q, &f) == want);
	if (h.msn != q.msn)
		REQUIRE(is_fault(f, 1, 2, 3));
	else if (!q.buffer)
		REQUIRE(is_fault(f, 1, 2, 2));
}

void check_tagged(const ddp_hdr &h, const ddp_region_view &r)
{
	bool wrap;
	const bool in = inside(r, h.to, h.payload_len, wrap);
	const bool may = r.found && r.same_pd && r.allowed;
	ddp_fault f = {};

	REQUIRE(ddp_check_tagged(&h, &r, &f) ==
		(!h.payload_len || (may && in)));
	if (!h.payload_len || in)
		return;
	if (may)
		REQUIRE(is_fault(f, 1, 1, 1) || (wrap && is_fault(f, 1, 1, 3)));
}

void check_response(const ddp_hdr &h, const ddp_read_view &v)
{
	const bool due =
		h.last ? h.payload_len == v.left : h.payload_len <= v.left;
	const bool place = !h.payload_len || (h.stag == v.stag && h.to == v.to);
	ddp_fault f = {};

	REQUIRE(rdmap_check_response(&h, &v, &f) ==
		(v.outstanding && due && place));
}

void check_invalidate(const ddp_region_view &r)
{
	ddp_fault f = {};

	REQUIRE(rdmap_check_invalidate(&r, &f) ==
		(r.found && r.same_pd && r.allowed));
}

// A receiver can parse the Terminate for @f.
void check_terminate(const ddp_fault &f, const Exact &seg, std::uint32_t len)
{
	Bytes ulpdu(RDMAP_TERM_ULPDU_MAX);
	const u32 n = rdmap_terminate_build(ulpdu.data(), RDMAP_VERSION, &f,
					    seg.data(), seg.size(), len);
	rdmap_terminate t;
	ddp_hdr h;
	ddp_fault own;

	REQUIRE(n <= ulpdu.size());
	const Exact exact(View(ulpdu).first(n));

	REQUIRE(!ddp_decode(exact.data(), n, &h));
	REQUIRE(ddp_check_control(&h, true, RDMAP_VERSION, false, &own));
	REQUIRE(!rdmap_terminate_parse(exact.data() + 18, n - 18, &t));
	REQUIRE(is_fault(f, t.layer, t.etype, t.code));
	REQUIRE(t.has_len == t.has_ddp && (!t.has_rdmap || t.has_ddp));
	REQUIRE(!t.has_ddp || f.with_hdr);
	REQUIRE(!t.has_len || t.seg_len == len);
}

// @bytes: the ULPDU of a Read Request, with nothing after it.
void check_read(View bytes, const ddp_region_view &r)
{
	const View body = bytes.subspan(18);
	rdmap_read rd;
	ddp_fault f = {};
	bool wrap;
	Bytes built(28);

	rdmap_read_decode(Exact(body).data(), &rd);
	rdmap_read_build(built.data(), &rd);
	REQUIRE(built == Bytes(body.begin(), body.end()));
	REQUIRE(rd.size == be(body, 12, 4) && rd.src_to == be(body, 20, 8));
	const bool in = inside(r, rd.src_to, rd.size, wrap);
	const bool may = r.found && r.same_pd && r.allowed;
	const bool passes = rdmap_check_read(&rd, &r, &f);

	REQUIRE(passes == (!rd.size || (may && in)));
	if (passes)
		return;
	if (may)
		REQUIRE(is_fault(f, 0, 1, 1) || (wrap && is_fault(f, 0, 1, 4)));
	check_terminate(f, Exact(bytes), bytes.size());
}

// What an operation makes of a value, bit by bit: RFC 7306 sections 5.1.1, 5.1.2.
std::uint64_t result_by_bits(const rdmap_atomic &a, std::uint64_t old)
{
	std::uint64_t result = 0;
	bool carry = false, equal = true;

	for (int n = 0; n < 64; n++) {
		const auto bit = [n](std::uint64_t of) { return of >> n & 1; };
		const auto sum = bit(old) + bit(a.data) + carry;

		if (a.op == RDMAP_FETCH_ADD)
			result |= (sum & 1) << n;
		else
			result |= bit(bit(a.mask) ? a.data : old) << n;
		carry = sum > 1 && !bit(a.mask);
		equal = equal && (!bit(a.compare_mask) || bit(a.compare) == bit(old));
	}
	return a.op == RDMAP_FETCH_ADD || equal ? result : old;
}

// @bytes: the ULPDU of an Atomic Request, with nothing after it.
void check_atomic(View bytes, const Known &known)
{
	const ddp_region_view &r = known.region;
	const View body = bytes.subspan(18);
	rdmap_atomic a;
	ddp_fault f = {};
	bool wrap;
	Bytes built(RDMAP_ATOMIC_REQ_LEN), want(body.begin(), body.end());

	rdmap_atomic_decode(Exact(body).data(), &a);
	REQUIRE(a.op == (be(body, 0, 4) & 15) && a.id == be(body, 4, 4));
	REQUIRE(a.stag == be(body, 8, 4) && a.to == be(body, 12, 8));
	REQUIRE(a.data == be(body, 20, 8) && a.mask == be(body, 28, 8));
	REQUIRE(a.compare == be(body, 36, 8) && a.compare_mask == be(body, 44, 8));
	// Reserved bits are written as zero.
	std::fill(want.begin(), want.begin() + 3, 0);
	want[3] &= 15;
	REQUIRE(rdmap_atomic_build(built.data(), &a) == built.size() && built == want);

	const bool in = inside(r, a.to, 8, wrap);
	const bool known_op = a.op == 0 || a.op == 2;
	const bool may = r.found && r.same_pd && r.allowed;
	const bool passes = rdmap_check_atomic(&a, &r, &f);

	REQUIRE(passes == (known_op && may && in));
	if (passes) {
		REQUIRE(rdmap_atomic_result(&a, known.read.to) ==
			result_by_bits(a, known.read.to));
		return;
	}
	if (!known_op)
		REQUIRE(is_fault(f, 0, 2, 6));
	else if (may)
		REQUIRE(is_fault(f, 0, 1, 1) || (wrap && is_fault(f, 0, 1, 4)));
	check_terminate(f, Exact(bytes), bytes.size());
}

// @body: the 12 bytes behind the DDP header of an Atomic Response.
void check_atomic_response(const ddp_hdr &h, View body, const ddp_atomic_view &v)
{
	const Exact exact(body);
	Bytes built(RDMAP_ATOMIC_RESP_LEN);
	ddp_fault f = {};
	u32 id;
	u64 value;

	rdmap_atomic_response_decode(exact.data(), &id, &value);
	REQUIRE(id == be(body, 0, 4) && value == be(body, 4, 8));
	REQUIRE(rdmap_atomic_response_build(built.data(), id, value) == built.size());
	REQUIRE(built == Bytes(body.begin(), body.end()));
	REQUIRE(rdmap_check_atomic_response(&h, &v, id, &f) ==
		(v.outstanding && h.msn == v.msn && id == v.id));
	if (!v.outstanding)
		REQUIRE(is_fault(f, 0, 2, 6));
	else if (h.msn != v.msn)
		REQUIRE(is_fault(f, 1, 2, 3));
	else if (id != v.id)
		REQUIRE(is_fault(f, 0, 2, 0xff));
}

// @body: the eight bytes of Immediate Data, of which verbs have the first four.
void check_immediate(View body)
{
	Bytes built(RDMAP_IMM_LEN, 0xff), want(body.begin(), body.begin() + 4);

	want.resize(RDMAP_IMM_LEN);
	REQUIRE(rdmap_imm_build(built.data(), rdmap_imm_decode(Exact(body).data())) ==
		built.size());
	REQUIRE(built == want);
}

// Any bytes as a Terminate: no field is set without its bytes.
void check_parse(View bytes)
{
	const Exact exact(bytes);
	rdmap_terminate t;
	const int ret = rdmap_terminate_parse(exact.data(), exact.size(), &t);

	REQUIRE(ret == 0 || ret == -EPROTO);
	REQUIRE(rdmap_error_text(t.layer, t.etype, t.code));
	if (ret) {
		REQUIRE(!t.has_len && !t.has_ddp && !t.has_rdmap);
		return;
	}
	REQUIRE(t.layer == bytes[0] >> 4 && t.etype == (bytes[0] & 15));
	REQUIRE(t.code == bytes[1]);
	std::size_t need = 4 + 2 * t.has_len + 28 * t.has_rdmap;

	if (t.has_ddp)
		need += bytes[6] & 0x80 ? 14 : 18;
	REQUIRE(bytes.size() >= need);
}

void check_segment(const Known &known, View bytes, const ddp_hdr &h)
{
	ddp_fault f = {};
	const bool passes = ddp_check_control(&h, true, RDMAP_VERSION,
					      known.extensions, &f);

	REQUIRE(passes == control_passes(h, known.extensions));
	if (!passes) {
		check_terminate(f, Exact(bytes.first(h.hdr_len)),
				known.ulpdu_len);
		return;
	}
	if (h.tagged) {
		check_tagged(h, known.region);
		check_response(h, known.read);
		return;
	}
	check_untagged(h, known.queue);
	check_invalidate(known.region);
	// The whole ULPDU has the length of its kind; the input may have less.
	if (bytes.size() < 18 + h.payload_len)
		return;
	bytes = bytes.first(18 + h.payload_len);
	switch (h.opcode) {
	case RDMAP_READ_REQ:
		check_read(bytes, known.region);
		break;
	case RDMAP_ATOMIC_REQ:
		check_atomic(bytes, known);
		break;
	case RDMAP_ATOMIC_RESP:
		check_atomic_response(h, bytes.subspan(18), known.atomic);
		break;
	case RDMAP_IMM:
	case RDMAP_IMM_SE:
		check_immediate(bytes.subspan(18));
		break;
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
				      std::size_t size)
{
	Input in(data, size);
	Known known(in);
	const View bytes = in.rest();
	ddp_hdr h;
	ddp_fault f = {};

	known.ulpdu_len =
		std::max<std::uint32_t>(known.ulpdu_len, bytes.size());
	check_parse(bytes);
	if (bytes.size() < 18)
		known.ulpdu_len = bytes.size();
	const Exact exact(
		bytes.first(std::min<std::size_t>(bytes.size(), 18)));
	const bool whole = !ddp_decode(exact.data(), known.ulpdu_len, &h);
	const bool enough = bytes.size() >= 2 &&
			    bytes.size() >= (bytes[0] & 0x80 ? 14u : 18u);

	REQUIRE(whole == enough);
	if (!whole) {
		REQUIRE(!ddp_check_control(&h, false, RDMAP_VERSION,
					   known.extensions, &f));
		REQUIRE(is_fault(f, 2, 0, 3));
		check_terminate(f, exact, known.ulpdu_len);
		return 0;
	}
	frames.add(1);
	REQUIRE(h.payload_len == known.ulpdu_len - h.hdr_len);
	check_decode(bytes, h);
	check_rebuild(bytes, h);
	check_segment(known, bytes, h);
	return 0;
}
