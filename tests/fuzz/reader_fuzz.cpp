// SPDX-License-Identifier: GPL-2.0-only
//
// The stream reader compared with a model that reads the whole stream by index:
// any bytes, in any portions, must give the results and ULPDUs of the model.
// Input: a byte of options, one for the phase of the Markers, one for the
// portions, then the stream itself or, depending on the options, commands that
// build FPDUs with the sender under test and damage them.
#include "support.hpp"

extern "C" {
#include <linux/crc32c.h>

#include "../../kernel/framing/fpdu.h"
#include "../../kernel/framing/reader.h"
}

using namespace fuzz;

namespace
{

enum {
	OPT_MARKERS = 1 << 0,
	OPT_CRC = 1 << 1,
	OPT_MEND_CRC = 1 << 2,	  // put correct CRCs into the stream
	OPT_MEND_MARKER = 1 << 3, // and correct Markers before that
	OPT_COMMANDS = 1 << 4,
	OPT_TAKE = 1 << 5, // take every other FPDU if it is complete

	STREAM_MAX = 80000, // the longest FPDU and some more
};

// One FPDU in the model, by offsets into the stream.
struct Found {
	std::size_t start = 0;
	std::size_t length_end = 0; // after ULPDU_Length
	std::size_t crc_at = 0;
	std::size_t end = 0;
	mpa_rx_result result = MPA_RX_MORE;
	std::size_t known_at = 0; // bytes after which the result is known
	Bytes ulpdu;
};

// RFC 5044 sections 4.1 to 4.4 and 8, by index.
class Model
{
public:
	Model(bool markers, bool crc, std::uint32_t gap)
		: markers(markers), crc(crc), gap(gap)
	{
	}

	Found look(View s, std::size_t start) const
	{
		Found f;

		f.start = start;
		f.length_end = step(start, 2);
		if (s.size() < f.length_end) {
			judge_early_marker(s, f);
			return f;
		}
		const std::size_t at = step(start, 1) - 1;
		const std::uint32_t length = s[at] << 8 | s[at + 1];

		judge_early_marker(s, f);
		if (f.result != MPA_RX_MORE)
			return f;
		if (!crc && length > 64768) {
			f.result = MPA_RX_BAD_LENGTH;
			f.known_at = f.length_end;
			return f;
		}
		locate_end(f, length);
		set_result(s, f, at);
		if (f.result == MPA_RX_FPDU)
			f.ulpdu = content(s, f, length);
		return f;
	}

	// Makes every FPDU of the stream consistent.
	void mend(Bytes &s, bool mend_markers) const
	{
		std::size_t start = 0;

		for (;;) {
			Found f;

			f.start = start;
			f.length_end = step(start, 2);
			if (s.size() < f.length_end)
				return;
			const std::size_t at = step(start, 1) - 1;
			const std::uint32_t length = s[at] << 8 | s[at + 1];

			locate_end(f, length);
			if (s.size() < f.end)
				return;
			if (mend_markers)
				right_markers(s, f, at);
			put_crc(s, f);
			start = f.end;
		}
	}

private:
	bool is_marker(std::size_t at) const
	{
		return markers && at >= gap && (at - gap) % 512 < 4;
	}

	// Bytes from @at, which is not of a Marker, to the next Marker.
	std::size_t run(std::size_t at) const
	{
		if (!markers)
			return SIZE_MAX;
		return at < gap ? gap - at : 512 - (at - gap) % 512;
	}

	// The offset after @n more bytes that are not of a Marker.
	std::size_t step(std::size_t at, std::size_t n) const
	{
		while (n) {
			if (is_marker(at)) {
				at++;
				continue;
			}
			const std::size_t some = std::min(n, run(at));

			n -= some;
			at += some;
		}
		return at;
	}

	void locate_end(Found &f, std::uint32_t length) const
	{
		const std::size_t body =
			step(f.length_end, (length + 2 + 3) / 4 * 4 - 2);

		f.end = step(body, 4);
		f.crc_at = f.end - 4;
	}

	// Whether the Marker at @at is correct for an FPDU with this length field.
	static bool agrees(View s, std::size_t at, std::size_t length_at)
	{
		const std::uint32_t want = at < length_at ? 0 : at - length_at;

		return ((s[at + 2] << 8 | s[at + 3]) & 0xfffc) == want;
	}

	// Calls @what with each Marker that is completely in [@from, @to).
	template <typename What>
	void each_marker(std::size_t from, std::size_t to, What what) const
	{
		std::size_t at = gap;

		if (!markers)
			return;
		if (from > gap)
			at += (from - gap + 511) / 512 * 512;
		for (; at + 4 <= to; at += 512)
			what(at);
	}

	// Without CRCs a Marker before the length is checked separately.
	void judge_early_marker(View s, Found &f) const
	{
		const std::size_t to = std::min(s.size(), f.start + 4);

		if (crc)
			return;
		each_marker(f.start, to, [&](std::size_t at) {
			if (at == f.start && !agrees(s, at, at + 4)) {
				f.result = MPA_RX_BAD_MARKER;
				f.known_at = at + 4;
			}
		});
	}

	// The first fault counts; with CRCs only after the CRC was checked.
	void set_result(View s, Found &f, std::size_t length_at) const
	{
		const bool too_long =
			(s[length_at] << 8 | s[length_at + 1]) > 64768;
		const std::size_t have = std::min(s.size(), f.end);
		std::size_t first_bad = 0;

		each_marker(f.start, have, [&](std::size_t at) {
			if (!first_bad && !agrees(s, at, length_at))
				first_bad = at + 4;
		});
		if (first_bad && !crc) {
			f.result = MPA_RX_BAD_MARKER;
			f.known_at = first_bad;
		} else if (have == f.end) {
			f.known_at = f.end;
			if (crc && crc_of(s, f) != read_crc(s, f))
				f.result = MPA_RX_BAD_CRC;
			else if (too_long && (!first_bad || first_bad > length_at))
				f.result = MPA_RX_BAD_LENGTH;
			else if (first_bad)
				f.result = MPA_RX_BAD_MARKER;
			else
				f.result = MPA_RX_FPDU;
		}
	}

	static std::uint32_t crc_of(View s, const Found &f)
	{
		return ~crc32c(~0u, s.data() + f.start, f.crc_at - f.start);
	}

	static std::uint32_t read_crc(View s, const Found &f)
	{
		const auto p = s.subspan(f.crc_at, 4);

		return p[0] | p[1] << 8 | p[2] << 16 |
		       static_cast<std::uint32_t>(p[3]) << 24;
	}

	static void put_crc(Bytes &s, const Found &f)
	{
		const std::uint32_t sum = crc_of(s, f);

		for (int i = 0; i < 4; i++)
			s[f.crc_at + i] = sum >> 8 * i;
	}

	void right_markers(Bytes &s, const Found &f,
			   std::size_t length_at) const
	{
		each_marker(f.start, f.end, [&](std::size_t at) {
			const std::uint32_t back =
				at < length_at ? 0 : at - length_at;

			s[at + 2] = back >> 8;
			s[at + 3] = back;
		});
	}

	Bytes content(View s, const Found &f, std::uint32_t length) const
	{
		Bytes ulpdu;

		for (std::size_t at = f.length_end; ulpdu.size() < length;) {
			if (is_marker(at)) {
				at++;
				continue;
			}
			const auto some = s.subspan(
				at, std::min(length - ulpdu.size(), run(at)));

			ulpdu.insert(ulpdu.end(), some.begin(), some.end());
			at += some.size();
		}
		return ulpdu;
	}

	bool markers;
	bool crc;
	std::uint32_t gap;
};

// Builds streams with mpa_fpdu_gather() from commands in the input.
class Builder
{
public:
	Builder(bool markers, bool crc, std::uint32_t gap)
		: tx{gap, markers, crc}
	{
	}

	void run(Input &in)
	{
		while (!in.empty() && stream.size() < STREAM_MAX) {
			const std::uint8_t op = in.u8();

			if (op < 0xc0)
				add_fpdu(op, in);
			else
				damages.push_back({in.u16(), in.u8()});
		}
		for (const auto &[back, change] : damages)
			if (!stream.empty())
				stream[stream.size() - 1 -
				       back % stream.size()] ^= change;
	}

	Bytes stream;

private:
	struct Damage {
		std::uint16_t back;
		std::uint8_t change;
	};

	// Mostly short ones: the longest take a hundred times as long.
	static std::uint32_t wanted_len(std::uint8_t op, Input &in)
	{
		switch (op & 0x70) {
		case 0x70:
			return in.u16();
		case 0x60:
			return in.u16() % 4096;
		default:
			return in.u8();
		}
	}

	void check_fit(std::uint32_t room) const
	{
		const std::uint32_t fit = mpa_ulpdu_fit(&tx, room);

		REQUIRE(fit <= MPA_MULPDU_MAX);
		if (fit)
			REQUIRE(mpa_fpdu_len(&tx, fit) <= room);
		if (fit < MPA_MULPDU_MAX)
			REQUIRE(mpa_fpdu_len(&tx, fit + 1) > room);
	}

	void add_fpdu(std::uint8_t op, Input &in)
	{
		const std::uint32_t len = wanted_len(op, in);
		Bytes ulpdu = Sequence(op ^ len).bytes(len);
		const std::size_t cut = len ? op * 37u % (len + 1) : 0;
		kvec pieces[] = {
			{ulpdu.data(), cut},
			{ulpdu.data() + cut, len - cut},
		};
		std::vector<kvec> out(op % 8 ? 600 : op / 8);
		Bytes ctl(op % 8 == 1 ? op : 2048);
		mpa_gather g = {};
		const mpa_tx_half before = tx;

		g.out = out.data();
		g.max_out = out.size();
		g.ctl = ctl.data();
		g.max_ctl = ctl.size();
		check_fit(len + 8);
		const int want = len <= 64768 ? mpa_fpdu_len(&tx, len) : 0;
		const int ret = mpa_fpdu_gather(&tx, pieces, 2, len, &g);

		if (len > 64768)
			REQUIRE(ret == -EMSGSIZE);
		if (ret < 0) {
			REQUIRE(ret == -EMSGSIZE || ret == -ENOSPC);
			REQUIRE(tx.gap == before.gap && !g.nr_out && !g.len);
			return;
		}
		REQUIRE(ret == want && g.len == static_cast<u32>(want));
		for (unsigned int i = 0; i < g.nr_out; i++) {
			const auto p = static_cast<u8 *>(out[i].iov_base);

			stream.insert(stream.end(), p, p + out[i].iov_len);
		}
		check_write(before, ulpdu, cut, View(stream).last(ret));
	}

	// Writing and gathering give the same bytes.
	void check_write(mpa_tx_half before, const Bytes &ulpdu, std::size_t hdr_len,
			 View want) const
	{
		const kvec rest = {const_cast<u8 *>(ulpdu.data()) + hdr_len,
				   ulpdu.size() - hdr_len};
		const mpa_ulpdu u = {
			.hdr = ulpdu.data(),
			.hdr_len = static_cast<u32>(hdr_len),
			.payload = &rest,
			.nr = 1,
			.payload_len = static_cast<u32>(rest.iov_len),
		};
		Bytes to(want.size());
		const int ret = mpa_fpdu_write(&before, &u, to.data());

		REQUIRE(ret == static_cast<int>(want.size()));
		REQUIRE(std::ranges::equal(to, want) && before.gap == tx.gap);
	}

	mpa_tx_half tx;
	std::vector<Damage> damages;
};

// The reader under test, fed in portions.
class Subject
{
public:
	Subject(bool markers, bool crc, std::uint32_t gap, View stream) : stream(stream)
	{
		mpa_reader_init(&r, markers, crc);
		r.gap = gap;
		r.start_gap = gap;
	}

	// The bytes shown of the next ULPDU are its first ones, for any that would
	// be taken, and only available bytes are used.
	void check_ahead(std::size_t at, const Found &want) const
	{
		const auto rest = stream.rest(at);
		const std::uint32_t len = want.ulpdu.size() / 2;
		const u8 *p = mpa_reader_peek(&r, rest.data(), rest.size(), len);

		if (want.result != MPA_RX_FPDU)
			return;
		REQUIRE(p ? std::equal(want.ulpdu.begin(), want.ulpdu.begin() + len, p)
			  : r.markers || want.ulpdu.empty());
	}

	// Takes a complete FPDU; false: it is incomplete or invalid.
	bool take(std::size_t &at, const Found &want)
	{
		const auto rest = stream.rest(at);
		const bool good = want.result == MPA_RX_FPDU;
		const std::uint32_t len = good ? want.end - at : 0;

		if (good)
			REQUIRE(!mpa_reader_take(&r, rest.data(), len - 1));
		REQUIRE(mpa_reader_take(&r, rest.data(), rest.size()) == len);
		at += len;
		return good;
	}

	// Feeds until a result other than MORE or the end of the stream.
	mpa_rx_result read_one(View s, std::size_t &at, Portions &portions,
			     const Found &want)
	{
		while (at < s.size()) {
			const std::uint32_t n = std::min<std::size_t>(
				portions.next(), s.size() - at);
			const auto part = stream.portion(at, n);
			std::uint32_t used;

			check_need(at, want);
			const auto result =
				mpa_reader_feed(&r, part.data(), n, &used);

			REQUIRE(used <= n);
			at += used;
			if (result != MPA_RX_MORE)
				return result;
			REQUIRE(used == n);
		}
		return MPA_RX_MORE;
	}

	Bytes strip(View fpdu, Portions &portions) const
	{
		Bytes ulpdu;
		std::size_t at = 0;
		mpa_strip s;

		mpa_reader_strip(&r, &s);
		while (at < fpdu.size() && s.left) {
			const std::uint32_t n = std::min<std::size_t>(
				portions.next(), fpdu.size() - at);
			std::uint32_t skip;
			const std::uint32_t run = mpa_strip_run(&s, n, &skip);

			REQUIRE(skip + run <= n && skip + run > 0);
			const auto p = fpdu.subspan(at + skip, run);

			ulpdu.insert(ulpdu.end(), p.begin(), p.end());
			at += skip + run;
		}
		REQUIRE(s.left == 0);
		return ulpdu;
	}

	// A bad result is final.
	void check_final(mpa_rx_result result)
	{
		static const std::uint8_t more[8] = {};
		std::uint32_t used;

		REQUIRE(mpa_reader_feed(&r, more, 8, &used) == result);
		REQUIRE(used == 0 && mpa_reader_need(&r) == 0);
	}

	mpa_reader r;

private:
	Stream stream;

	void check_need(std::size_t at, const Found &want) const
	{
		const std::uint32_t need = mpa_reader_need(&r);

		if (at < want.length_end)
			REQUIRE(need == want.length_end - at);
		else if (want.end)
			REQUIRE(need == want.end - at);
	}
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
				      std::size_t size)
{
	Input in(data, size);
	const std::uint8_t options = in.u8();
	const bool markers = options & OPT_MARKERS, crc = options & OPT_CRC;
	const std::uint32_t gap = in.u8() % 128 * 4 * markers;
	Portions portions(in.u8());
	const Model model(markers, crc, gap);
	Bytes stream;

	if (options & OPT_COMMANDS) {
		Builder builder(markers, crc, gap);

		builder.run(in);
		stream = std::move(builder.stream);
	} else {
		stream.assign(in.rest().begin(), in.rest().end());
	}
	if (crc && options & OPT_MEND_CRC)
		model.mend(stream, options & OPT_MEND_MARKER);

	Subject subject(markers, crc, gap, stream);
	std::size_t at = 0;
	bool in_one = false;

	while (at < stream.size()) {
		const Found want = model.look(stream, at);

		subject.check_ahead(at, want);
		in_one = options & OPT_TAKE && !in_one;
		const auto got = in_one && subject.take(at, want)
			? MPA_RX_FPDU
			: subject.read_one(stream, at, portions, want);

		REQUIRE(got == want.result);
		if (got == MPA_RX_MORE)
			break;
		frames.add(1);
		REQUIRE(at == want.known_at);
		if (got != MPA_RX_FPDU) {
			subject.check_final(got);
			break;
		}
		REQUIRE(subject.r.since_start == want.end - want.start);
		REQUIRE(subject.r.ulpdu_len == want.ulpdu.size());
		const View fpdu(&stream[want.start], want.end - want.start);

		REQUIRE(subject.strip(fpdu, portions) == want.ulpdu);
	}
	return 0;
}
