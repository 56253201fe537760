// SPDX-License-Identifier: GPL-2.0-only
//
// Both modes of TUF, draft-ietf-tsvwg-tcp-ulp-frame-00. A stream, of the bytes of the input
// or as the writers make it of PDUs from the input, is read twice: as a whole, and in
// portions, where units are also cut, read again, and taken in parts. Both must give the
// same bytes, boundaries and errors; what was written must be read back.
// Input: options, interval, key, choices of portions, then the bytes or PDUs.
#include "support.hpp"

extern "C" {
#include "../../kernel/framing/tuf.h"
}

using namespace fuzz;

namespace
{

enum {
	CHOOSE_MARKERS = 1 << 0,
	CHOOSE_WRITTEN = 1 << 1,
	CHOOSE_CHANGED = 1 << 2,
	CHOOSE_LONG_INTERVAL = 1 << 3,
	CHOOSE_NO_INTERVAL = 1 << 4,
};

constexpr std::size_t stream_max = 1000;

struct Setup {
	bool markers;
	u32 interval;
	std::uint8_t key[MPA_TUF_KEY_LEN];
};

// Added in ascending order.
using Places = std::vector<std::size_t>;

bool has(const Places &places, std::size_t one)
{
	return std::binary_search(places.begin(), places.end(), one);
}

// What a reader has found. @ends, @cuts: bytes of PDU before a boundary, or before the
// end of a unit that is none.
struct Found {
	Bytes bytes;
	Places ends;
	Places cuts;
	bool error = false;
	bool within = false;
};

void append(Bytes &to, View from)
{
	to.insert(to.end(), from.begin(), from.end());
}

class Reader
{
public:
	Reader(const Setup &setup, View stream, Sequence *disturb)
		: stream(stream), disturb(disturb)
	{
		if (setup.markers)
			mpa_tuf_reader_markers(&r, setup.interval);
		else
			mpa_tuf_reader_align(&r, setup.key);
	}

	Found run()
	{
		found.bytes.reserve(stream.size());
		while (begin < stream.size() && !found.error && read_unit())
			take_unit();
		if (!found.error)
			found.within = mpa_tuf_within(&r);
		return std::move(found);
	}

private:
	bool one_in(std::uint32_t n) { return disturb && disturb->next() % n == 0; }

	u32 portion()
	{
		const std::size_t left = stream.size() - at;

		if (!disturb)
			return left;
		const u32 most = one_in(2) ? 12 : 3000;
		return std::min<std::size_t>(left, 1 + disturb->next() % most);
	}

	mpa_rx_result feed(View bytes)
	{
		const Edge exact(bytes);
		const u32 need = mpa_tuf_need(&r);
		u32 used = ~0u;
		const mpa_rx_result result = mpa_tuf_feed(&r, exact.data(), exact.size(), &used);

		REQUIRE(used <= exact.size());
		REQUIRE(result <= MPA_RX_FPDU || result == MPA_RX_BAD_MARKER);
		REQUIRE(result != MPA_RX_MORE || used == exact.size());
		// No result comes of fewer bytes.
		REQUIRE(result == MPA_RX_MORE || r.markers || used >= need);
		at += used;
		return result;
	}

	// Returns false if there is no unit: the stream has ended, or is wrong.
	bool read_unit()
	{
		mpa_rx_result result = MPA_RX_MORE;

		at = begin;
		while (result == MPA_RX_MORE && at < stream.size()) {
			result = feed(stream.subspan(at, portion()));
			if (result != MPA_RX_MORE || !r.markers)
				continue;
			if (one_in(8)) {
				mpa_tuf_rewind(&r);
				at = begin;
			} else if (r.len && one_in(8)) {
				break;
			}
		}
		found.error = result == MPA_RX_BAD_MARKER;
		if (result == MPA_RX_MORE && r.markers)
			return mpa_tuf_cut(&r);
		return result == MPA_RX_FPDU;
	}

	// The bytes of PDU, as a second pass finds them.
	Bytes strip() const
	{
		View unit = stream.subspan(begin, at - begin);
		Bytes bytes;
		mpa_strip s;

		bytes.reserve(unit.size());
		mpa_tuf_strip(&r, &s);
		while (!unit.empty()) {
			u32 skip;
			const u32 n = mpa_strip_run(&s, unit.size(), &skip);

			REQUIRE(skip + n <= unit.size());
			if (!skip && !n)
				break;
			append(bytes, unit.subspan(skip, n));
			unit = unit.subspan(skip + n);
		}
		REQUIRE(!s.left && bytes.size() == r.len);
		REQUIRE(r.markers || unit.empty());
		return bytes;
	}

	// The application takes @len bytes; the rest becomes a unit of its own.
	void take_part(const Bytes &unit, u32 len)
	{
		u32 left = len;
		mpa_strip s;

		mpa_tuf_strip(&r, &s);
		mpa_tuf_rewind(&r);
		at = begin;
		while (left) {
			u32 skip;
			const u32 n = mpa_strip_run(&s, left, &skip);

			REQUIRE(skip + n && feed(stream.subspan(at, skip + n)) == MPA_RX_MORE);
			left -= n;
		}
		REQUIRE(r.len == len && mpa_tuf_cut(&r));
		append(found.bytes, View(unit).first(len));
		found.cuts.push_back(found.bytes.size());
		begin = at;
	}

	void take_unit()
	{
		const Bytes unit = strip();

		REQUIRE(r.since_start == at - begin && r.len);
		if (r.markers && r.len > 1 && one_in(3)) {
			take_part(unit, 1 + disturb->next() % (r.len - 1));
			return;
		}
		append(found.bytes, unit);
		(r.whole || !r.markers ? found.ends : found.cuts).push_back(found.bytes.size());
		found.error = r.bad;
		begin = at;
	}

	View stream;
	Sequence *disturb;
	mpa_tuf_reader r;
	std::size_t begin = 0;
	std::size_t at = 0;
	Found found;
};

// No piece of a framing PDU may look whole (section 5.2).
void check_pieces(const Setup &setup, View frame, u32 emss)
{
	for (std::size_t at = 0; at < frame.size();) {
		const u32 left = frame.size() - at;
		const Edge next(frame.subspan(at, std::min(left, emss)));
		const u32 n = mpa_tuf_piece(next.data(), left, emss, setup.key, !at);

		REQUIRE(n && n <= next.size());
		const View piece = frame.subspan(at, n);
		REQUIRE(n == frame.size() || n < 8 || (piece[0] << 8 | piece[1]) != n - 8 ||
			!std::equal(setup.key, setup.key + 6, &piece[2]));
		at += n;
	}
}

void write_align(const Setup &setup, View pdu, Bytes &to, u32 emss)
{
	std::uint8_t header[MPA_TUF_HEADER_LEN];
	Bytes frame;

	frame.reserve(sizeof(header) + pdu.size());
	mpa_tuf_header(header, pdu.size(), setup.key);
	append(frame, header);
	append(frame, pdu);
	check_pieces(setup, frame, emss);
	append(to, frame);
}

void write_marked(mpa_tuf_marks &marks, View pdu, Bytes &to)
{
	const std::size_t want = to.size() + mpa_tuf_marked_len(&marks, pdu.size());

	for (std::size_t at = 0; at < pdu.size();) {
		std::uint8_t marker[MPA_TUF_MARKER_LEN];
		bool due;
		const u32 n = mpa_tuf_marker_next(&marks, pdu.size() - at, !at, marker, &due);

		REQUIRE(n && n <= pdu.size() - at);
		if (due)
			append(to, marker);
		append(to, pdu.subspan(at, n));
		at += n;
	}
	REQUIRE(to.size() == want);
}

// A PDU in which the bytes of the input come again and again, perhaps within a framing
// PDU with the true key. Not thousands of markers: one input would take as long as many
// others.
Bytes next_pdu(const Setup &setup, Input &in)
{
	const std::uint8_t op = in.u8();
	const bool long_ones = !setup.markers || setup.interval >= 512;
	const u32 most = op == 0xff && long_ones ? 60000 : op >= 0xf8 ? 2000 : 500;
	Bytes pdu(1 + (op < 0xc0 ? op : in.u16() % most));
	const View from = in.rest();

	for (std::size_t i = 0; i < pdu.size() && !from.empty(); i++)
		pdu[i] = from[i % from.size()];
	if (op % 3 == 0 && pdu.size() > 8 + op % 64)
		mpa_tuf_header(&pdu[op % 64], pdu.size() - op % 64 - 8, setup.key);
	return pdu;
}

struct Written {
	Bytes stream;
	Bytes bytes;
	Places ends;
};

Written write(const Setup &setup, Input &in)
{
	mpa_tuf_marks marks = {.interval = setup.interval, .gap = 0};
	Written all;

	all.stream.reserve(2 * stream_max);
	all.bytes.reserve(2 * stream_max);
	while (!in.empty() && all.stream.size() < stream_max) {
		const u32 emss = 9 + in.u8() * 8;
		const Bytes pdu = next_pdu(setup, in);

		if (!setup.markers)
			write_align(setup, pdu, all.stream, emss);
		else if (mpa_tuf_marked_len(&marks, pdu.size()) <= MPA_TUF_PDU_MAX)
			write_marked(marks, pdu, all.stream);
		else
			continue;
		append(all.bytes, pdu);
		all.ends.push_back(all.bytes.size());
	}
	return all;
}

void compare_written(const Setup &setup, const Found &found, const Written &written)
{
	REQUIRE(!found.error && !found.within);
	REQUIRE(found.bytes == written.bytes);
	REQUIRE(setup.markers || found.ends == written.ends);
	for (const std::size_t end : found.ends)
		REQUIRE(has(written.ends, end));
}

void compare(const Found &whole, const Found &portions)
{
	REQUIRE(portions.bytes == whole.bytes);
	REQUIRE(portions.error == whole.error && portions.within == whole.within);
	for (const std::size_t end : portions.ends)
		REQUIRE(has(whole.ends, end));
	// That a unit was cut at a boundary may be known only behind it.
	for (const std::size_t end : whole.ends)
		REQUIRE(has(portions.ends, end) || has(portions.cuts, end));
}

Setup setup_of(Input &in, std::uint8_t choice)
{
	Setup setup{};

	setup.markers = choice & CHOOSE_MARKERS;
	setup.interval = 8 + (choice & CHOOSE_LONG_INTERVAL ? in.u16() : in.u8() % 64);
	if (choice & CHOOSE_NO_INTERVAL)
		setup.interval = 0x7fffffff;
	for (std::uint8_t &byte : setup.key)
		byte = in.u8();
	return setup;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
				      std::size_t size)
{
	Input in(data, size);
	const std::uint8_t choice = in.u8();
	const Setup setup = setup_of(in, choice);
	Sequence disturb(in.u8());
	const bool is_written = choice & CHOOSE_WRITTEN;
	const std::uint16_t where = choice & CHOOSE_CHANGED ? in.u16() : 0;
	const std::uint8_t change = choice & CHOOSE_CHANGED ? in.u8() : 0;
	Written written;

	if (is_written)
		written = write(setup, in);
	else
		append(written.stream, in.rest());
	if (change && !written.stream.empty())
		written.stream[where % written.stream.size()] ^= change;

	const Found whole = Reader(setup, written.stream, nullptr).run();
	frames.add(whole.ends.size() + whole.cuts.size());
	if (is_written && !change)
		compare_written(setup, whole, written);
	compare(whole, Reader(setup, written.stream, &disturb).run());
	return 0;
}
