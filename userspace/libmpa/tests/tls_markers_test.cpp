/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The inner markers of TLS in marker mode against a model that lays out the whole stream
// first, as section 6 of the draft describes it.
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tls/markers.hpp"
#include "tls_model.hpp"

namespace {

namespace tls = mpa::tls;
using model::Bytes;
using model::Lengths;

Bytes written(const Lengths &pdus, std::uint32_t interval)
{
	tls::marker_writer writer(interval);
	Bytes stream;
	std::size_t at = 0;

	for (const auto length : pdus) {
		writer.write(model::payload(at, length), stream);
		at += length;
	}
	return stream;
}

struct Read {
	Bytes bytes;
	// Positions in the bytes where a PDU was told to end.
	std::vector<std::size_t> ends;
	bool valid = true;
};

// In pieces of so many bytes, into a buffer of so many.
Read read_back(const Bytes &stream, std::uint32_t interval, std::size_t piece,
	       std::size_t room)
{
	tls::marker_reader reader(interval);
	Bytes buffer(room);
	Read all;

	for (std::size_t at = 0; at < stream.size();) {
		const auto part = mpa::const_buffer(stream).subspan(
			at, std::min(piece, stream.size() - at));
		const auto done = reader.read(part, buffer);

		at += done.used;
		all.bytes.insert(all.bytes.end(), buffer.begin(),
				 buffer.begin() + static_cast<std::ptrdiff_t>(done.made));
		if (done.boundary)
			all.ends.push_back(all.bytes.size());
		if (!done.valid) {
			all.valid = false;
			break;
		}
	}
	return all;
}

const std::uint32_t intervals[] = {8, 9, 12, 511, 512, 513, 2048};

TEST(TlsMarkers, first)
{
	EXPECT_EQ(written({1}, 8), (Bytes{std::byte{0}, std::byte{0}, std::byte{0},
					   std::byte{0}, std::byte{0}}));
}

// One PDU of each length up to three intervals, and another one behind it.
TEST(TlsMarkers, are_those_of_the_model)
{
	for (const auto interval : intervals)
		for (std::size_t length = 1; length <= 3 * interval;
		     length += 1 + length / 40)
			ASSERT_EQ(written({length, 5, length}, interval),
				  model::marked({length, 5, length}, interval))
				<< interval << " " << length;
}

TEST(TlsMarkers, of_many_pdus_are_those_of_the_model)
{
	std::mt19937 random(1);

	for (const auto interval : intervals) {
		Lengths pdus(200);

		for (auto &length : pdus)
			length = 1 + random() % (random() % 2 ? 2 * interval : 20);
		const auto stream = model::marked(pdus, interval);
		const auto total = std::accumulate(pdus.begin(), pdus.end(), std::size_t{0});
		ASSERT_EQ(written(pdus, interval), stream) << interval;
		for (const std::size_t piece : {std::size_t{1}, std::size_t{3},
						std::size_t{1000}, stream.size()})
			for (const std::size_t room : {std::size_t{1}, std::size_t{7},
						       total}) {
				const auto got = read_back(stream, interval, piece, room);

				ASSERT_TRUE(got.valid);
				ASSERT_EQ(got.bytes, model::payload(0, total));
				ASSERT_TRUE(model::all_are_ends(pdus, got.ends));
			}
	}
}

// PDUs that are longer than the interval: each end is known.
TEST(TlsMarkers, ends_of_long_pdus_are_known)
{
	const Lengths pdus{600, 1000, 509, 2000, 508};
	const auto got = read_back(model::marked(pdus, 512), 512, 100000, 100000);

	EXPECT_EQ(got.ends, (std::vector<std::size_t>{600, 1600, 2109, 4109, 4617}));
}

// A marker may say where a PDU ends without the marker that is due there, as appendix A
// of the draft can be read.
TEST(TlsMarkers, either_reading_of_a_boundary_at_a_marker)
{
	for (const auto end : {508u, 512u}) {
		Bytes stream = model::marked({1016, 10}, 512);

		// The second marker: the PDU has 508 bytes to come, and then a marker is
		// due.
		ASSERT_EQ(stream[514], std::byte{512 >> 8});
		for (const std::size_t at : {512u, 514u}) {
			stream[at] = static_cast<std::byte>(end >> 8);
			stream[at + 1] = static_cast<std::byte>(end);
		}
		const auto got = read_back(stream, 512, 100000, 100000);
		EXPECT_TRUE(got.valid);
		ASSERT_FALSE(got.ends.empty());
		EXPECT_EQ(got.ends[0], 1016u);
	}
}

TEST(TlsMarkers, that_are_wrong)
{
	const Lengths pdus{2000, 700};
	const auto good = model::marked(pdus, 512);
	const struct {
		std::size_t at;
		std::vector<int> marker;
	} rows[] = {
		{0, {0, 0, 0, 1}},	     // the copies differ
		{0, {0, 1, 0, 0}},
		{0, {0, 1, 0, 1}},	     // a PDU must begin here
		{512, {0xff, 0xf9, 0xff, 0xf9}}, // leads too far
		{512, {0x01, 0xfd, 0x01, 0xfd}}, // into the next marker
		{1024, {0, 5, 0, 5}},	     // contradicts the one before
	};

	ASSERT_TRUE(read_back(good, 512, 10000, 10000).valid);
	for (const auto &row : rows) {
		auto bad = good;

		for (std::size_t n = 0; n < 4; n++)
			bad[row.at + n] = static_cast<std::byte>(row.marker[n]);
		const auto got = read_back(bad, 512, 10000, 10000);
		EXPECT_FALSE(got.valid) << row.at << " " << row.marker[1];
		// What came before it is good.
		EXPECT_EQ(got.bytes.size(), row.at / 512 * 508);
	}
}

TEST(TlsMarkers, where_a_stream_may_end)
{
	const auto stream = model::marked({600}, 512);

	for (std::size_t length = 0; length <= stream.size(); length++) {
		tls::marker_reader reader(512);
		Bytes buffer(1000);
		auto left = mpa::const_buffer(stream).first(length);

		while (!left.empty())
			left = left.subspan(reader.read(left, buffer).used);
		// Before the second marker nobody knows how long the PDU is.
		EXPECT_EQ(reader.may_end(), length == 0 || length == stream.size() ||
						    (length >= 4 && length <= 512))
			<< length;
	}
}

} // namespace
