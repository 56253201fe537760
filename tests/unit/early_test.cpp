// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/framing/early.c: which FPDUs are found in a part of a stream whose
// beginning is missing. The streams come from the model in support.hpp.
#include "support.hpp"

extern "C" {
#include "../../kernel/framing/early.h"
}

#include <cstring>
#include <map>

using namespace mpa;

namespace {

// ULPDUs by the offset of their FPDU.
using Ulpdus = std::map<std::uint32_t, Bytes>;

// A stream of FPDUs with Markers and CRCs, and what is in it.
struct Stream {
	explicit Stream(std::uint32_t origin = 0) : origin(origin), model(true, true, origin)
	{
	}

	void add(const Bytes &ulpdu, const Twist &twist = {})
	{
		starts.push_back(end());
		ulpdus[end()] = ulpdu;
		append(bytes, model.frame(ulpdu, twist));
	}

	std::uint32_t end() const
	{
		return origin + static_cast<std::uint32_t>(bytes.size());
	}

	// Offset of the first byte, a multiple of the period of Markers.
	std::uint32_t origin;
	Model model;
	Bytes bytes;
	std::vector<std::uint32_t> starts;
	Ulpdus ulpdus;
};

// The bytes of a stream from one offset to another, in pieces.
class Part {
public:
	Part(const Stream &s, std::uint32_t from, std::uint32_t to, Random &random)
		: s(s), to(to), random(random)
	{
		mpa_early_init(&e, from);
	}

	// Finds what there is to be found.
	void search()
	{
		const mpa_early_source source = { copy, feed, this };
		mpa_reader r;

		while (mpa_early_find(&e, &source, to, &r)) {
			const auto start = e.floor - r.since_start;
			const auto *p = at(start);
			Reader reader(true, true);

			reader.r = r;
			ASSERT_EQ(found.count(start), 0u) << "found twice";
			found[start] = reader.strip(Bytes(p, p + r.since_start));
		}
	}

	void grow(std::uint32_t end)
	{
		to = end;
	}

	Ulpdus found;
	// How often an FPDU was begun to be read.
	std::size_t fed = 0;

private:
	const std::uint8_t *at(std::uint32_t offset) const
	{
		return s.bytes.data() + (offset - s.origin);
	}

	static bool copy(void *ctx, std::uint32_t at, std::uint8_t *to, std::uint32_t len)
	{
		auto &part = *static_cast<Part *>(ctx);

		EXPECT_LE(at - part.s.origin + len, part.to - part.s.origin);
		std::memcpy(to, part.at(at), len);
		return true;
	}

	static mpa_rx_result feed(void *ctx, std::uint32_t at, mpa_reader *r)
	{
		auto &part = *static_cast<Part *>(ctx);
		auto result = MPA_RX_MORE;

		part.fed++;
		while (result == MPA_RX_MORE && at != part.to) {
			const auto n = std::min(part.to - at, part.random.between(1, 900));
			// A read beyond the piece is detected.
			const Bytes piece(part.at(at), part.at(at) + n);
			std::uint32_t used;

			result = mpa_reader_feed(r, piece.data(), n, &used);
			at += used;
		}
		return result;
	}

	const Stream &s;
	std::uint32_t to;
	Random &random;
	mpa_early e;
};

// What a part must show: all FPDUs in it from the first one that a Marker in it leads to.
Ulpdus expected(const Stream &s, std::uint32_t from, std::uint32_t to)
{
	const auto within = [&](std::uint32_t x) { return x - s.origin; };
	Ulpdus all;
	bool led = false;

	for (std::size_t i = 0; i < s.starts.size(); i++) {
		const auto start = s.starts[i];
		const auto end = i + 1 < s.starts.size() ? s.starts[i + 1] : s.end();
		const auto marker = start + (512 - start % 512) % 512;

		if (within(start) < within(from))
			continue;
		if (within(marker) < within(end) && within(marker) + 4 <= within(to))
			led = true;
		if (led && within(end) <= within(to))
			all[start] = s.ulpdus.at(start);
	}
	return all;
}

Stream random_stream(Random &random, std::uint32_t origin, int fpdus)
{
	Stream s(origin);

	for (int i = 0; i < fpdus; i++)
		s.add(random.bytes(random.one_in(4) ? random.between(0, 40) :
						      random.between(41, 3000)));
	return s;
}

TEST(Early, every_cut_of_a_stream)
{
	Random random(1);
	const auto s = random_stream(random, 0, 12);

	for (std::uint32_t from = 0; from < s.end(); from++) {
		const auto to = random.between(from, s.end());
		Part part(s, from, to, random);

		part.search();
		ASSERT_EQ(part.found, expected(s, from, to)) << from << " to " << to;
	}
}

// A part that grows shows what it would have shown at once.
TEST(Early, a_part_grows)
{
	Random random(2);

	for (int round = 0; round < 300; round++) {
		// Offsets wrap in some of them.
		const auto s = random_stream(random, -512u * random.between(0, 30), 12);
		const auto from = s.origin + random.between(0, s.bytes.size() / 2);
		auto to = from;
		Part part(s, from, from, random);

		while (to != s.end()) {
			to += std::min(s.end() - to, random.between(1, 2000));
			part.grow(to);
			part.search();
			ASSERT_EQ(part.found, expected(s, from, to)) << "round " << round;
		}
		// Each once for its length, and once as a whole.
		ASSERT_LE(part.fed, 2 * part.found.size() + 2);
	}
}

// The FPDU of a Marker with a false pointer is never used, and no other is invented.
TEST(Early, every_false_pointer)
{
	Random random(3);
	const auto first = random.bytes(462), second = random.bytes(90);

	for (std::uint32_t flip = 1; flip < 0x10000; flip++) {
		Stream s;

		s.add(first);
		s.add(second, { .marker = 0, .marker_xor = flip });
		Part part(s, 4, s.end(), random);

		part.search();
		// The lowest two bits do not count.
		if (flip > 3)
			ASSERT_EQ(part.found.count(s.starts[1]), 0u) << flip;
		for (const auto &[start, ulpdu] : part.found)
			ASSERT_EQ(ulpdu, s.ulpdus.at(start)) << flip;
	}
}

// What looks like a length at a false place is read to its end, at most 64 KiB later; then
// the next Marker leads on.
TEST(Early, behind_a_false_pointer)
{
	Random random(8);

	for (int round = 0; round < 100; round++) {
		Stream s;

		s.add(random.bytes(700), { .marker = 1, .marker_xor = random.between(4, 0xffff) });
		while (s.bytes.size() < 70000)
			s.add(random.bytes(1400));
		Part part(s, 4, s.end(), random);

		part.search();
		ASSERT_EQ(part.found.count(s.starts.back()), 1u) << round;
	}
}

// Payload that has whole FPDUs with CRCs, and Markers of its own, in any phase.
TEST(Early, a_forged_fpdu_in_the_payload)
{
	Random random(4);

	for (std::uint32_t phase = 0; phase < 512; phase++) {
		Stream forged(0);
		Stream s(0);

		for (int i = 0; i < 6; i++)
			forged.add(random.bytes(random.between(1, 900)));
		Bytes payload(phase, 0x00);
		append(payload, forged.bytes);
		s.add(payload);
		s.add(random.bytes(10));
		for (std::uint32_t from : { 0u, 4u, phase + 2, 700u, 1500u }) {
			Part part(s, from, s.end(), random);

			part.search();
			ASSERT_EQ(part.found, expected(s, from, s.end())) << phase;
		}
	}
}

// A wrong CRC ends the chain; the search goes on at the next Marker.
TEST(Early, a_wrong_crc)
{
	Random random(5);
	Stream s;

	s.add(random.bytes(100));
	s.add(random.bytes(600));
	s.add(random.bytes(40), { .crc_xor = 1 });
	s.add(random.bytes(40));
	s.add(random.bytes(2000));
	s.add(random.bytes(8));
	Part part(s, 4, s.end(), random);

	part.search();
	ASSERT_EQ(part.found.size(), 3u);
	for (int i : { 1, 4, 5 })
		ASSERT_EQ(part.found.count(s.starts[i]), 1u) << i;
}

// It is read once, although each of its Markers leads to its beginning again.
TEST(Early, a_wrong_crc_of_the_longest_fpdu)
{
	Random random(9);
	Stream s;

	s.add(random.bytes(600));
	s.add(random.bytes(64768), { .crc_xor = 1 });
	s.add(random.bytes(600));
	Part part(s, s.starts[1], s.end(), random);

	part.search();
	ASSERT_EQ(part.found.count(s.starts[2]), 1u);
	// That one, the one behind it, and what comes after both.
	ASSERT_EQ(part.fed, 3u);
}

// Without a Marker in it a part shows nothing, whatever it has.
TEST(Early, no_marker)
{
	Random random(6);
	Stream s;

	for (int i = 0; i < 8; i++)
		s.add(random.bytes(20));
	Part part(s, s.starts[1], s.end(), random);

	ASSERT_LT(s.end(), 512u);
	part.search();
	ASSERT_TRUE(part.found.empty());
}

// Random bytes show nothing: there is no CRC that fits.
TEST(Early, noise)
{
	Random random(7);
	Stream s;

	s.bytes = random.bytes(200000);
	Part part(s, 1, s.end(), random);

	part.search();
	ASSERT_TRUE(part.found.empty());
}

} // namespace
