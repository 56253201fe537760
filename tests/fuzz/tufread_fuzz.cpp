// SPDX-License-Identifier: GPL-2.0-only
//
// The readers and the pieces of TUF on short streams: fast, so that many are tried. What
// the readers find is compared with what draft-ietf-tsvwg-tcp-ulp-frame-00 says of the
// stream as a whole, also if units are cut, read again as they grow, and taken in parts;
// tuf_fuzz.cpp has long streams and writers.
// Input: a byte of options, interval or EMSS, where portions end, then the stream, in which
// the key is "tufkey". No memory is allocated.
#include "support.hpp"

#include <sanitizer/asan_interface.h>

extern "C" {
#include "../../kernel/framing/tuf.h"
}

using namespace fuzz;

namespace
{

enum {
	CHOOSE_MARKERS = 1 << 0,
	CHOOSE_PIECES = 1 << 1,
	CHOOSE_BYTES = 1 << 2,
	CHOOSE_CUTS = 1 << 3,
};

constexpr std::size_t stream_max = 96;
constexpr std::uint8_t key[MPA_TUF_KEY_LEN] = {'t', 'u', 'f', 'k', 'e', 'y'};

// A unit: bytes of PDU, and of stream, up to its end.
struct Unit {
	u32 bytes;
	u32 stream;
	// It ends at no boundary that is known.
	bool cut = false;

	bool operator==(const Unit &) const = default;
};

// The end of a stream, or where an error makes it end.
struct Units {
	Unit at[stream_max];
	std::size_t count = 0;
	bool error = false;
	bool within = false;

	void add(u32 bytes, u32 stream, bool cut = false)
	{
		REQUIRE(count < stream_max);
		at[count++] = {bytes, stream, cut};
	}

	bool operator==(const Units &other) const
	{
		return error == other.error && within == other.within &&
		       std::equal(at, at + count, other.at, other.at + other.count);
	}
};

u32 be16(View at)
{
	return at[0] << 8 | at[1];
}

// ---- What the draft says ----

// Section 5.
Units expect_align(View stream)
{
	Units units;
	u32 bytes = 0;

	for (std::size_t at = 0; at < stream.size();) {
		const View rest = stream.subspan(at);

		if (rest.size() < 8) {
			units.within = true;
			break;
		}
		const u32 len = be16(rest);
		units.error = !len || !std::equal(key, key + 6, rest.begin() + 2);
		units.within = !units.error && rest.size() < 8 + len;
		if (units.error || units.within)
			break;
		at += 8 + len;
		units.add(bytes += len, at);
	}
	return units;
}

// Bytes of PDU among the first @n bytes of the stream. A marker begins at each multiple of
// the interval.
u32 pdu_bytes(u32 n, u32 interval)
{
	const u32 rest = n % interval;

	return n / interval * (interval - 4) + (rest > 4 ? rest - 4 : 0);
}

// The boundary a marker at @at names, in bytes of PDU; -1: the marker is wrong.
std::int64_t boundary_of(View stream, u32 at, u32 interval)
{
	const u32 distance = be16(stream.subspan(at));
	const u32 behind = (at + 4 + distance) % interval;

	if (distance != be16(stream.subspan(at + 2)) || distance > 65528)
		return -1;
	// From the start of a marker to its end, which is the same place, but not within.
	if (behind > 0 && behind < 4)
		return -1;
	return pdu_bytes(at + 4 + distance, interval);
}

// Section 6.
Units expect_markers(View stream, u32 interval)
{
	std::int64_t boundary = 0;
	u32 taken = 0;
	Units units;
	u32 at = 0;

	for (; at < stream.size() && !units.error; at += interval) {
		const u32 here = pdu_bytes(at, interval);

		if (stream.size() - at < 4) {
			units.within = true;
			break;
		}
		const std::int64_t next = boundary_of(stream, at, interval);
		units.error = next < 0 || (boundary >= here && next != boundary);
		if (units.error)
			break;
		boundary = next;
		const u32 end = pdu_bytes(std::min<std::size_t>(at + interval, stream.size()),
					  interval);
		// Where a unit ends before this marker, it is complete without it.
		if (boundary > taken && boundary <= end && boundary > here) {
			const u32 into = boundary - here;

			units.add(boundary, at + 4 + into);
			taken = boundary;
		} else if (boundary == here && here > taken) {
			// The marker says that the PDU has ended before it.
			units.add(here, at + 4);
			taken = here;
		}
	}
	const u32 all = pdu_bytes(std::min<std::size_t>(at, stream.size()), interval);
	if (units.error && all > taken)
		units.add(all, at + 4, true);
	if (!units.error)
		units.within |= boundary > pdu_bytes(stream.size(), interval);
	return units;
}

// ---- What the reader does ----

// The bytes of PDU of a unit, as a second pass finds them.
void check_strip(const mpa_tuf_reader &r)
{
	u32 left = r.since_start;
	u32 bytes = 0;
	mpa_strip s;

	mpa_tuf_strip(&r, &s);
	while (left) {
		u32 skip;
		const u32 n = mpa_strip_run(&s, left, &skip);

		REQUIRE(skip + n <= left);
		if (!skip && !n)
			break;
		bytes += n;
		left -= skip + n;
	}
	REQUIRE(!s.left && bytes == r.len);
	REQUIRE(r.markers || !left);
}

class Reader
{
public:
	Reader(bool markers, u32 interval)
	{
		if (markers)
			mpa_tuf_reader_markers(&r, interval);
		else
			mpa_tuf_reader_align(&r, key);
	}

	// The stream in portions of @most bytes, which are all that may be read.
	Units run(View from, u32 most)
	{
		alignas(8) static std::uint8_t stream[stream_max];

		std::copy(from.begin(), from.end(), stream);
		ASAN_POISON_MEMORY_REGION(stream, sizeof(stream));
		for (std::size_t at = 0; at < from.size() && !units.error;) {
			const u32 len = std::min<std::size_t>(most, from.size() - at);

			ASAN_UNPOISON_MEMORY_REGION(stream, at + len);
			at = take(stream, at, at + len);
		}
		ASAN_UNPOISON_MEMORY_REGION(stream, sizeof(stream));
		if (!units.error)
			units.within = mpa_tuf_within(&r);
		return units;
	}

private:
	// Everything up to @end. Returns how far it came.
	std::size_t take(const std::uint8_t *stream, std::size_t at, std::size_t end)
	{
		while (at < end && !units.error) {
			const u32 need = mpa_tuf_need(&r);
			u32 used = ~0u;
			const mpa_rx_result result =
				mpa_tuf_feed(&r, stream + at, end - at, &used);

			REQUIRE(used <= end - at);
			REQUIRE(result != MPA_RX_MORE || used == end - at);
			REQUIRE(result == MPA_RX_MORE || r.markers || used >= need);
			at += used;
			if (result == MPA_RX_FPDU)
				took_unit(at);
			else
				units.error = result != MPA_RX_MORE;
		}
		return at;
	}

	void took_unit(std::size_t at)
	{
		REQUIRE(r.len);
		bytes += r.len;
		REQUIRE(r.whole == (r.markers && !r.bad));
		check_strip(r);
		units.add(bytes, at, r.bad);
		units.error = r.bad;
	}

	mpa_tuf_reader r;
	Units units;
	u32 bytes = 0;
};

// A reader in marker mode, used as the socket does it: what the queue has is a unit, which
// is read again while it grows, and of which the application takes a part.
class Taken
{
public:
	Taken(u32 interval, u32 seed) : chance(seed)
	{
		mpa_tuf_reader_markers(&r, interval);
	}

	Units run(View from, u32 most)
	{
		stream = from;
		while (begin < stream.size() && !units.error && read_unit(most))
			take();
		if (!units.error)
			units.within = mpa_tuf_within(&r);
		return units;
	}

private:
	u32 next(u32 n)
	{
		chance = chance * 1103515245 + 12345;
		return (chance >> 16) % n;
	}

	mpa_rx_result feed(u32 len)
	{
		u32 used = ~0u;
		const mpa_rx_result result = mpa_tuf_feed(&r, &stream[at], len, &used);

		REQUIRE(used <= len && (result != MPA_RX_MORE || used == len));
		at += used;
		return result;
	}

	void rewind()
	{
		mpa_tuf_rewind(&r);
		at = begin;
	}

	bool read_unit(u32 most)
	{
		mpa_rx_result result = MPA_RX_MORE;

		at = begin;
		while (result == MPA_RX_MORE && at < stream.size()) {
			result = feed(std::min<std::size_t>(1 + next(most), stream.size() - at));
			if (result != MPA_RX_MORE)
				break;
			const u32 what = next(8);
			if (!what)
				rewind();
			else if (what == 1 && r.len)
				break;
		}
		units.error = result == MPA_RX_BAD_MARKER;
		return result == MPA_RX_MORE ? mpa_tuf_cut(&r) : result == MPA_RX_FPDU;
	}

	// The application takes @len bytes; the rest becomes a unit of its own.
	void take_part(u32 len)
	{
		mpa_strip s;

		mpa_tuf_strip(&r, &s);
		rewind();
		for (u32 left = len; left;) {
			u32 skip;
			const u32 n = mpa_strip_run(&s, left, &skip);

			REQUIRE(skip + n && feed(skip + n) == MPA_RX_MORE);
			left -= n;
		}
		REQUIRE(r.len == len && mpa_tuf_cut(&r));
	}

	void take()
	{
		REQUIRE(r.len && r.since_start == at - begin);
		check_strip(r);
		const bool part = r.len > 1 && !next(3);

		if (part)
			take_part(1 + next(r.len - 1));
		bytes += r.len;
		units.add(bytes, at, part || !r.whole);
		units.error = !part && r.bad;
		begin = at;
	}

	mpa_tuf_reader r;
	Units units;
	View stream;
	u32 chance;
	u32 begin = 0;
	u32 at = 0;
	u32 bytes = 0;
};

bool has_end(const Units &units, u32 bytes, bool also_cuts)
{
	return std::any_of(units.at, units.at + units.count, [&](const Unit &one) {
		return one.bytes == bytes && (also_cuts || !one.cut);
	});
}

// It has the boundaries and errors of the whole stream. That a unit was cut at a boundary
// may be known only behind it.
void check_taken(const Units &taken, const Units &wanted)
{
	REQUIRE(taken.error == wanted.error && taken.within == wanted.within);
	for (const Unit &one : std::span(taken.at, taken.count))
		REQUIRE(one.cut || has_end(wanted, one.bytes, false));
	for (const Unit &one : std::span(wanted.at, wanted.count))
		REQUIRE(has_end(taken, one.bytes, true));
	if (wanted.error && wanted.count)
		REQUIRE(taken.at[taken.count - 1].bytes == wanted.at[wanted.count - 1].bytes);
}

// Section 5.2: no piece looks like a whole framing PDU.
void check_pieces(View frame, u32 emss)
{
	for (std::size_t at = 0; at < frame.size();) {
		const u32 left = frame.size() - at;
		const u32 n = mpa_tuf_piece(&frame[at], left, emss, key, !at);
		const View piece = frame.subspan(at, n);

		REQUIRE(n && n <= std::min(left, emss));
		REQUIRE(!at || n < 8 || be16(piece) != n - 8 ||
			!std::equal(key, key + 6, piece.begin() + 2));
		at += n;
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
				      std::size_t size)
{
	Input in(data, size);
	const std::uint8_t options = in.u8();
	const std::uint8_t figure = in.u8();
	const u32 most = 1 + in.u8() % 24;
	const bool markers = options & CHOOSE_MARKERS;
	const u32 interval = MPA_TUF_INTERVAL_MIN + figure % 64;
	const View stream = in.rest().first(std::min(in.rest().size(), stream_max));

	if (options & CHOOSE_PIECES) {
		check_pieces(stream, 9 + figure % 64);
		return 0;
	}
	const Units wanted = markers ? expect_markers(stream, interval) : expect_align(stream);

	frames.add(wanted.count);
	REQUIRE(Reader(markers, interval).run(stream, stream_max) == wanted);
	if (markers && options & CHOOSE_CUTS)
		check_taken(Taken(interval, options >> 4 | most << 4).run(stream, most), wanted);
	else
		REQUIRE(Reader(markers, interval).run(stream, options & CHOOSE_BYTES ? 1 : most) ==
			wanted);
	return 0;
}
