// SPDX-License-Identifier: GPL-2.0-only
//
// Building, reading and the second pass together: the ULPDUs that are sent are
// received, however the stream is cut. MPA_TEST_SEED selects another random
// sequence.
#include "support.hpp"

using namespace mpa;

namespace {

enum class Cut { BYTES, SMALL, SEGMENTS, WHOLE };

using Row = std::tuple<Kind, Cut>;

class RoundTrip : public testing::TestWithParam<Row> {
protected:
	bool markers = std::get<0>(std::get<0>(GetParam()));
	bool crc = std::get<1>(std::get<0>(GetParam()));
	Cut cut = std::get<1>(GetParam());

	std::uint32_t portion(Random &random) const
	{
		switch (cut) {
		case Cut::BYTES:
			return 1;
		case Cut::SMALL:
			return random.between(1, 17);
		case Cut::SEGMENTS:
			return random.between(1, 3000);
		case Cut::WHOLE:
			break;
		}
		return 1u << 30;
	}

	static std::uint32_t ulpdu_len(Random &random)
	{
		switch (random.between(0, 9)) {
		case 0:
			return random.between(0, 8);
		case 1:
			return random.between(495, 515);
		case 2:
			return random.between(1400, 1450);
		case 3:
			return random.one_in(8) ?
				       random.between(64700, MPA_MULPDU_MAX) :
				       random.between(8900, 9000);
		default:
			return random.between(1, 300);
		}
	}

	// Gathers @ulpdus in batches, each from pieces cut at random.
	static Bytes send(mpa_tx_half &tx, std::vector<Bytes> &ulpdus,
			   Random &random)
	{
		Bytes stream;
		std::size_t i = 0;

		while (i < ulpdus.size()) {
			Gather gather(4096, 8192);

			for (auto n = random.between(1, 8);
			     n && i < ulpdus.size(); n--, i++) {
				std::vector<std::size_t> cuts;

				for (auto c = random.between(0, 3); c; c--)
					cuts.push_back(random.between(
						0, ulpdus[i].size()));
				std::sort(cuts.begin(), cuts.end());
				int want = mpa_fpdu_len(&tx, ulpdus[i].size());

				EXPECT_EQ(gather.add(tx, ulpdus[i], cuts),
					  want);
			}
			append(stream, gather.bytes());
			EXPECT_LE(gather.g.nr_out, gather.g.max_out);
		}
		return stream;
	}

	// Reads a stream in portions, each in a separate allocation.
	std::vector<Bytes> receive(const Bytes &stream, Random &random)
	{
		Reader reader(markers, crc);
		std::vector<Bytes> ulpdus;
		std::size_t at = 0, start = 0;

		while (at < stream.size()) {
			auto from = stream.begin() + at;
			std::uint32_t n = std::min<std::size_t>(
				portion(random), stream.size() - at);
			Bytes part(from, from + n);
			std::uint32_t done = 0;

			while (done < n) {
				std::uint32_t need = reader.need();
				Fed fed = reader.feed(&part[done], n - done);

				done += fed.used;
				if (fed.result == MPA_RX_MORE) {
					EXPECT_EQ(done, n);
					break;
				}
				EXPECT_EQ(fed.result, MPA_RX_FPDU);
				if (fed.result != MPA_RX_FPDU)
					return ulpdus;
				EXPECT_LE(need, fed.used);
				std::size_t end = at + done;

				EXPECT_EQ(reader.r.since_start, end - start);
				Bytes fpdu(stream.begin() + start,
					    stream.begin() + end);
				ulpdus.push_back(reader.strip(
					fpdu, portion(random)));
				start = end;
			}
			at += n;
		}
		EXPECT_EQ(start, stream.size());
		return ulpdus;
	}
};

TEST_P(RoundTrip, what_goes_in_comes_out)
{
	for (std::uint64_t run = 0; run < 12; run++) {
		SCOPED_TRACE("seed " + std::to_string(seed()) + " run " +
			     std::to_string(run));
		Random random(1000 + run);
		std::vector<Bytes> ulpdus;

		for (int i = 0; i < 60; i++)
			ulpdus.push_back(random.bytes(ulpdu_len(random)));

		mpa_tx_half tx = { 0, markers, crc };
		Bytes stream = send(tx, ulpdus, random);
		Model model(markers, crc);
		Bytes want;

		for (const auto &ulpdu : ulpdus)
			append(want, model.frame(ulpdu));
		ASSERT_EQ(stream == want, true);
		ASSERT_EQ(tx.gap, model.gap());
		ASSERT_EQ(receive(stream, random) == ulpdus, true);
	}
}

// A corrupted stream delivers the ULPDUs before the corrupted FPDU unchanged, and
// none after it. Without CRCs nothing protects a stream.
class Protected : public RoundTrip {};

TEST_P(Protected, a_flipped_bit_ends_the_stream)
{
	for (std::uint64_t run = 0; run < 300; run++) {
		SCOPED_TRACE("seed " + std::to_string(seed()) + " run " +
			     std::to_string(run));
		Random random(5000 + run);
		Model model(markers, crc);
		std::vector<Bytes> ulpdus;
		std::vector<std::size_t> ends;
		Bytes stream;

		for (int i = 0; i < 8; i++) {
			ulpdus.push_back(random.bytes(random.between(0, 700)));
			append(stream, model.frame(ulpdus.back()));
			ends.push_back(stream.size());
		}
		std::size_t at = random.between(0, stream.size() - 1);

		stream[at] ^= 1 << random.between(0, 7);
		std::size_t corrupted = 0;

		while (ends[corrupted] <= at)
			corrupted++;

		Reader reader(markers, crc);
		std::size_t read = 0, delivered = 0, start = 0;
		Fed fed = { MPA_RX_MORE, 0 };

		while (read < stream.size() && fed.result <= MPA_RX_FPDU) {
			std::uint32_t n = std::min<std::size_t>(
				portion(random), stream.size() - read);

			fed = reader.feed(&stream[read], n);
			read += fed.used;
			if (fed.result != MPA_RX_FPDU)
				continue;
			ASSERT_LT(delivered, corrupted);
			Bytes fpdu(stream.begin() + start,
				    stream.begin() + read);
			ASSERT_EQ(reader.strip(fpdu), ulpdus[delivered]);
			delivered++;
			start = read;
		}
		ASSERT_EQ(delivered, corrupted);
	}
}

// Random bytes: no crash, no endless loop, no read beyond the end.
TEST_P(RoundTrip, noise)
{
	for (std::uint64_t run = 0; run < 300; run++) {
		Random random(9000 + run);
		Bytes noise = random.bytes(random.between(0, 6000));
		Reader reader(markers, crc);
		std::size_t at = 0;

		// Small lengths, so that more than one field is reached
		for (auto &byte : noise)
			if (random.one_in(2))
				byte = 0;
		while (at < noise.size()) {
			std::uint32_t n = std::min<std::size_t>(
				portion(random), noise.size() - at);
			auto from = noise.begin() + at;
			Fed fed = reader.feed(Bytes(from, from + n));

			at += fed.used;
			if (fed.result > MPA_RX_FPDU) {
				ASSERT_EQ(reader.need(), 0u);
				break;
			}
			ASSERT_GT(fed.used, 0u);
			ASSERT_GT(reader.need(), 0u);
			ASSERT_LE(reader.need(), crc ? 66064u : 65288u);
		}
	}
}

std::string round_trip_name(const testing::TestParamInfo<Row> &info)
{
	static const char *const cuts[] = { "bytes", "small", "segments",
					    "whole" };
	auto cut = static_cast<std::size_t>(std::get<1>(info.param));

	return kind_name({ std::get<0>(info.param), 0 }) + "_" + cuts[cut];
}

INSTANTIATE_TEST_SUITE_P(
	all, RoundTrip,
	testing::Combine(testing::Combine(testing::Bool(), testing::Bool()),
			 testing::Values(Cut::BYTES, Cut::SMALL, Cut::SEGMENTS,
					 Cut::WHOLE)),
	round_trip_name);

INSTANTIATE_TEST_SUITE_P(
	crc, Protected,
	testing::Combine(testing::Combine(testing::Bool(),
					  testing::Values(true)),
			 testing::Values(Cut::BYTES, Cut::SMALL, Cut::SEGMENTS,
					 Cut::WHOLE)),
	round_trip_name);

} // namespace
