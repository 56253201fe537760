// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/framing/tuf_*.c: the cases are in ../vectors/tuf.c. Here, marker mode against a
// model of the draft that writes one byte at a time and knows every boundary.
#include "support.hpp"

extern "C" {
#include "../../kernel/framing/tuf.h"
}

using mpa::Bytes;
using mpa::Random;

namespace {

// Section 6, from the draft: where markers are, and what they say.
struct Model {
	explicit Model(std::vector<u32> intervals) : intervals_(std::move(intervals)) {}

	// The stream, and the positions in the payload at which a PDU begins.
	Bytes write(const std::vector<u32> &pdus)
	{
		// First where everything lies, then what the markers say.
		std::vector<std::size_t> begins;
		std::vector<std::size_t> markers;
		Bytes stream;
		std::size_t next = 0;
		u8 byte = 0;

		for (std::size_t pdu = 0; pdu < pdus.size(); pdu++) {
			for (u32 i = 0; i < pdus[pdu]; i++) {
				if (stream.size() == next) {
					markers.push_back(next);
					stream.insert(stream.end(), 4, 0);
					next += interval(pdu);
				}
				if (!i)
					begins.push_back(stream.size());
				stream.push_back(byte++);
			}
		}
		// The end of the last PDU, behind a marker that is due there.
		begins.push_back(stream.size() + (stream.size() == next ? 4 : 0));
		for (const std::size_t at : markers) {
			const auto to = std::lower_bound(begins.begin(), begins.end(), at + 4);
			const std::size_t offset = *to - (at + 4);

			for (const int half : {0, 2}) {
				stream[at + half] = offset >> 8;
				stream[at + half + 1] = offset;
			}
		}
		return stream;
	}

	u32 interval(std::size_t pdu) const
	{
		return intervals_[pdu % intervals_.size()];
	}

private:
	std::vector<u32> intervals_;
};

Bytes written(const Model &model, const std::vector<u32> &pdus)
{
	struct mpa_tuf_marks m = {model.interval(0), 0};
	Bytes stream;
	u8 byte = 0;

	for (std::size_t pdu = 0; pdu < pdus.size(); pdu++) {
		m.interval = model.interval(pdu);
		for (u32 left = pdus[pdu]; left;) {
			u8 marker[4];
			bool due;
			const u32 n = mpa_tuf_marker_next(&m, left, left == pdus[pdu], marker,
							  &due);

			if (due)
				stream.insert(stream.end(), marker, marker + 4);
			for (u32 i = 0; i < n; i++)
				stream.push_back(byte++);
			left -= n;
		}
	}
	return stream;
}

std::vector<u32> some_pdus(Random &random, u32 interval)
{
	std::vector<u32> pdus(random.between(1, 30));

	for (u32 &pdu : pdus)
		pdu = random.between(1, std::min(3 * interval, 5000u));
	return pdus;
}

TEST(mpa_tuf_marker_next, writes_what_the_model_writes)
{
	for (const u32 interval : {8, 9, 12, 511, 512, 513, 2048, 65536}) {
		Random random(interval);

		for (int i = 0; i < 60; i++) {
			Model model({interval});
			const std::vector<u32> pdus = some_pdus(random, interval);

			ASSERT_EQ(written(model, pdus), model.write(pdus)) << interval;
		}
	}
}

// Every length of a PDU up to three intervals, at every phase.
TEST(mpa_tuf_marker_next, every_length_and_phase)
{
	for (const u32 interval : {8, 9, 12, 13, 64}) {
		Model model({interval});

		for (u32 phase = 1; phase <= interval; phase++)
			for (u32 len = 1; len <= 3 * interval; len++) {
				const std::vector<u32> pdus{phase, len, 1};

				ASSERT_EQ(written(model, pdus), model.write(pdus))
					<< interval << ' ' << phase << ' ' << len;
			}
	}
}

// The interval changes between PDUs: the marker that is due stays where it is.
TEST(mpa_tuf_marker_next, the_interval_changes)
{
	Random random(3);

	for (int i = 0; i < 200; i++) {
		// Longer than a PDU, so that no marker is counted with another interval.
		Model model({random.between(6000, 8000), random.between(6000, 8000)});
		std::vector<u32> pdus(20);

		for (u32 &pdu : pdus)
			pdu = random.between(1, 3000);
		Bytes stream = written(model, pdus);
		Bytes want = model.write(pdus);

		ASSERT_EQ(stream.size(), want.size());
		ASSERT_EQ(stream, want);
	}
}

// A reader that takes any number of bytes at a time, and of units, gives all bytes of
// PDU, and a boundary only where there is one.
TEST(mpa_tuf_feed, markers_in_any_portions)
{
	Random random(11);

	for (int i = 0; i < 3000; i++) {
		const u32 interval = random.between(8, random.one_in(2) ? 40 : 3000);
		Model model({interval});
		const std::vector<u32> pdus = some_pdus(random, interval);
		const Bytes stream = model.write(pdus);
		std::vector<std::size_t> ends;
		struct mpa_tuf_reader r;
		std::size_t begin = 0, payload = 0, total = 0;

		for (const u32 pdu : pdus)
			ends.push_back(total += pdu);
		mpa_tuf_reader_markers(&r, interval);
		while (begin < stream.size()) {
			std::size_t at = begin;
			enum mpa_rx_result result = MPA_RX_MORE;

			while (result == MPA_RX_MORE && at < stream.size()) {
				const u32 len = random.between(
					1, std::min<u32>(stream.size() - at, 2 * interval));
				const Bytes part(stream.begin() + at, stream.begin() + at + len);
				u32 used;

				result = mpa_tuf_feed(&r, part.data(), len, &used);
				ASSERT_LE(result, MPA_RX_FPDU);
				at += used;
				if (result == MPA_RX_MORE) {
					ASSERT_EQ(used, len);
					if (random.one_in(4) && r.len)
						break;
					if (random.one_in(8)) {
						mpa_tuf_rewind(&r);
						at = begin;
					}
				}
			}
			if (result == MPA_RX_MORE)
				ASSERT_TRUE(mpa_tuf_cut(&r) || at == stream.size());
			ASSERT_EQ(r.since_start, at - begin);
			struct mpa_strip s;
			u32 off = 0;

			mpa_tuf_strip(&r, &s);
			for (u32 left = r.len; left;) {
				u32 skip;
				u32 run = mpa_strip_run(&s, at - begin - off, &skip);

				off += skip;
				left -= run;
				for (; run; run--)
					ASSERT_EQ(stream[begin + off++], u8(payload++));
			}
			if (r.whole)
				ASSERT_TRUE(std::binary_search(ends.begin(), ends.end(), payload));
			begin = at;
		}
		ASSERT_EQ(payload, total);
		ASSERT_FALSE(mpa_tuf_within(&r));
	}
}

} // namespace
