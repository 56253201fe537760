// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/framing/reader.c with valid and corrupted streams. The streams come
// from the model in support.hpp, not from the code that builds FPDUs. FPDUs known
// byte by byte are in ../vectors/reader.c.
#include "support.hpp"

using namespace mpa;

namespace {

std::uint32_t fpdu_len(bool markers, std::uint32_t gap, std::uint32_t ulpdu_len)
{
	mpa_tx_half tx = { gap, markers, false };

	return mpa_fpdu_len(&tx, ulpdu_len);
}

class ReaderOf : public testing::TestWithParam<Kind> {
protected:
	bool markers = std::get<0>(GetParam());
	bool crc = std::get<1>(GetParam());
	std::uint32_t nr_gaps = markers ? 512 : 4;

	// ULPDUs whose FPDUs have every pad, and Markers everywhere; and
	// the longest.
	static std::vector<std::uint32_t> lengths()
	{
		return { 0, 1, 2, 3, 4, 5, 6, 7, 14, 45, 46, 500, 501, 502,
			 503, 504, 506, 507, 1010, 1011, MPA_MULPDU_MAX };
	}
};

// What follows an FPDU is left alone, and its pad is only covered by the CRC.
TEST_P(ReaderOf, every_phase_and_pad)
{
	Random random(10);

	for (std::uint32_t gap = 0; gap < nr_gaps; gap += 4) {
		for (auto len : lengths()) {
			Bytes ulpdu = random.bytes(len);
			auto model = Model::at_gap(markers, crc, gap);
			Bytes fpdu = model.frame(ulpdu, { .pad_fill = 0xa5 });
			Bytes more = fpdu;
			Reader reader(markers, crc, gap);
			Reader taken(markers, crc, gap);

			append(more, Bytes(20, 0xff));
			Fed fed = reader.feed_in(more, random.one_in(4) ?
						 1u << 20 : random.between(1, 700));

			ASSERT_EQ(fed.result, MPA_RX_FPDU)
				<< "gap " << gap << " ULPDU " << len;
			ASSERT_EQ(fed.used, fpdu.size());
			ASSERT_EQ(reader.r.ulpdu_len, len);
			ASSERT_EQ(reader.r.gap, model.gap());
			ASSERT_EQ(reader.strip(fpdu), ulpdu);
			ASSERT_EQ(reader.strip(fpdu, random.between(1, 9)),
				  ulpdu);
			ASSERT_EQ(taken.take(fpdu), fpdu.size());
			ASSERT_EQ(taken.r.ulpdu_len, len);
			ASSERT_EQ(taken.r.gap, model.gap());
			ASSERT_EQ(taken.strip(fpdu), ulpdu);
		}
	}
}

// One of the two parts may be empty, which changes nothing.
TEST_P(ReaderOf, every_cut_in_two)
{
	Random random(11);

	for (std::uint32_t gap : { 0, 4, 8, 12, 16, 20, 44, 48, 52, 508 }) {
		std::uint32_t phase = markers ? gap : 0;
		Bytes ulpdu = random.bytes(543);
		Bytes fpdu = Model::at_gap(markers, crc, phase).frame(ulpdu);

		for (std::size_t cut = 0; cut <= fpdu.size(); cut++) {
			Reader reader(markers, crc, phase);
			Fed one = reader.feed(cut ? fpdu.data() : nullptr, cut);
			Fed two = reader.feed(fpdu.data() + one.used,
					      fpdu.size() - one.used);
			bool whole = cut == fpdu.size();

			ASSERT_EQ(one.used, cut);
			ASSERT_EQ(one.result,
				  whole ? MPA_RX_FPDU : MPA_RX_MORE);
			ASSERT_EQ(two.result,
				  whole ? MPA_RX_MORE : MPA_RX_FPDU);
			ASSERT_EQ(one.used + two.used, fpdu.size());
			ASSERT_EQ(reader.r.since_start, fpdu.size());
			ASSERT_EQ(reader.strip(fpdu), ulpdu);
		}
	}
}

TEST_P(ReaderOf, truncation_means_more_and_says_how_much)
{
	Random random(12);

	for (std::uint32_t gap = 0; gap < nr_gaps; gap += 4) {
		Bytes fpdu = Model::at_gap(markers, crc, gap)
				      .frame(random.bytes(1021));
		std::size_t length_end = markers && !gap ? 6 : 2;
		Reader reader(markers, crc, gap);

		for (std::size_t seen = 0; seen < fpdu.size(); seen++) {
			std::size_t end = seen < length_end ? length_end :
							      fpdu.size();

			ASSERT_EQ(reader.need(), end - seen) << seen;
			ASSERT_EQ(reader.feed(&fpdu[seen], 1).result,
				  seen + 1 < fpdu.size() ? MPA_RX_MORE :
							   MPA_RX_FPDU);
			ASSERT_EQ(reader.r.since_start, seen + 1);
		}
		// Those of the next FPDU now
		ASSERT_EQ(reader.need(), reader.r.gap || !markers ? 2u : 6u);
	}
}

// RFC 5044 section 4.4: a CRC is checked before anything else.
TEST_P(ReaderOf, every_length_field)
{
	for (std::uint32_t len = 0; len <= 0xffff; len++) {
		Bytes head = markers ? Bytes(4) : Bytes();
		Reader reader(markers, crc);
		bool more = crc || len <= MPA_MULPDU_MAX;

		head.push_back(len >> 8);
		head.push_back(len & 0xff);
		Fed fed = reader.feed_in(head, 1);

		ASSERT_EQ(fed.result, more ? MPA_RX_MORE : MPA_RX_BAD_LENGTH)
			<< len;
		ASSERT_EQ(fed.used, head.size());
		ASSERT_EQ(reader.need(),
			  more ? fpdu_len(markers, 0, len) - head.size() : 0);
	}
}

// A bad result is repeated and nothing more is used, not even a right FPDU.
void expect_final(Reader &reader, mpa_rx_result result)
{
	const Bytes good = Model(reader.r.markers, reader.r.crc).frame(Bytes(20));

	for (const Bytes &bytes : { good, Bytes(), good }) {
		const Fed again = reader.feed(bytes);

		ASSERT_EQ(again.result, result);
		ASSERT_EQ(again.used, 0u);
		ASSERT_EQ(reader.take(bytes), 0u);
		ASSERT_EQ(reader.need(), 0u);
	}
}

struct TooLong {
	const char *name;
	Twist twist;
	mpa_rx_result with_crc;
};

// And for good, whatever follows.
TEST_P(ReaderOf, too_long_is_reported_after_its_crc)
{
	const TooLong rows[] = {
		{ "right CRC", {}, MPA_RX_BAD_LENGTH },
		{ "wrong CRC", { .crc_xor = 0x80000000 }, MPA_RX_BAD_CRC },
		{ "wrong pad", { .pad_fill = 0x5a }, MPA_RX_BAD_LENGTH },
		{ "wrong last Marker, right CRC",
		  { .marker = 127, .marker_xor = 4 }, MPA_RX_BAD_LENGTH },
		{ "wrong last Marker, wrong CRC",
		  { .marker = 127, .marker_xor = 4, .crc_xor = 1 },
		  MPA_RX_BAD_CRC },
	};

	for (std::uint32_t len : { 64769, 64770, 65001, 65534, 65535 }) {
		const Bytes ulpdu = Random(len).bytes(len);

		for (const auto &row : rows)
			for (std::uint32_t gap : { 0, 4, 508 }) {
				const std::uint32_t phase = markers ? gap : 0;
				Bytes fpdu = Model::at_gap(markers, crc, phase)
						      .frame(ulpdu, row.twist);

				for (std::uint32_t size : { 1448u, 1u << 20 }) {
					Reader reader(markers, crc, phase);
					Bytes more = fpdu;

					ASSERT_EQ(reader.take(fpdu), 0u);
					append(more, Bytes(100));
					Fed fed = reader.feed_in(more, size);

					ASSERT_EQ(fed.result,
						  crc ? row.with_crc :
							MPA_RX_BAD_LENGTH)
						<< len << ' ' << row.name;
					ASSERT_EQ(fed.used,
						  crc ? fpdu.size() :
						  markers && !phase ? 6u : 2u);
					expect_final(reader, fed.result);
				}
			}
	}
}

INSTANTIATE_TEST_SUITE_P(kinds, ReaderOf,
			 testing::Combine(testing::Bool(), testing::Bool()),
			 kind_name);

// Markers

class MarkersOf : public testing::TestWithParam<bool> {
protected:
	bool crc = GetParam();
};

// Where the @index-th Marker of an FPDU ends, counted from its first byte.
std::uint32_t marker_end(std::uint32_t gap, int index)
{
	return gap + 512 * index + 4;
}

TEST_P(MarkersOf, each_wrong_bit_in_each_marker)
{
	Random random(20);

	for (std::uint32_t gap = 0; gap < 512; gap += 4) {
		Bytes ulpdu = random.bytes(1530);
		Model counter = Model::at_gap(true, crc, gap);

		counter.frame(ulpdu);
		ASSERT_GE(counter.nr_markers, 3);
		for (int index = 0; index < counter.nr_markers; index++) {
			for (int bit = 0; bit < 32; bit++) {
				// Reserved, and the two bits to be taken as 0
				bool harmless = bit >= 16 || bit < 2;
				Bytes fpdu = Model::at_gap(true, crc, gap).frame(
					ulpdu, { .marker = index,
						 .marker_xor = 1u << bit });
				Reader reader(true, crc, gap);
				Reader taken(true, crc, gap);
				Fed fed = reader.feed(fpdu);

				ASSERT_EQ(taken.take(fpdu),
					  harmless ? fpdu.size() : 0u);
				ASSERT_EQ(fed.result,
					  harmless ? MPA_RX_FPDU :
						     MPA_RX_BAD_MARKER)
					<< "gap " << gap << " Marker " << index
					<< " bit " << bit;
				ASSERT_EQ(fed.used,
					  harmless || crc ?
						  fpdu.size() :
						  marker_end(gap, index));
				if (harmless)
					ASSERT_EQ(reader.strip(fpdu), ulpdu);
				else
					expect_final(reader, fed.result);
			}
		}
	}
}

TEST(mpa_reader_feed, marker_pointing_elsewhere)
{
	// The first Marker is @gap bytes behind the start, where it points.
	for (std::uint32_t gap : { 0, 4, 8, 256, 508 }) {
		for (std::uint32_t points = 0; points < 0x10000; points += 4) {
			Bytes fpdu = Model::at_gap(true, false, gap)
					      .frame(Bytes(600),
						     { .marker = 0,
						       .marker_xor = gap ^ points });
			Reader reader(true, false, gap);

			ASSERT_EQ(reader.feed(fpdu).result,
				  points == gap ? MPA_RX_FPDU :
						  MPA_RX_BAD_MARKER);
		}
	}
}

INSTANTIATE_TEST_SUITE_P(crc, MarkersOf, testing::Bool(), crc_name);

// Single-bit corruption

struct Flip {
	std::uint32_t gap;
	std::uint32_t ulpdu_len;
};

class Flips : public testing::TestWithParam<std::tuple<Kind, Flip>> {
protected:
	bool markers = std::get<0>(std::get<0>(GetParam()));
	bool crc = std::get<1>(std::get<0>(GetParam()));
	std::uint32_t gap = markers ? std::get<1>(GetParam()).gap : 0;
	std::uint32_t ulpdu_len = std::get<1>(GetParam()).ulpdu_len;

	enum Field { LENGTH, MARKER, ULPDU, PAD, CRC };

	// Which field each byte of the FPDU belongs to.
	std::vector<Field> fields(std::size_t size) const
	{
		std::vector<Field> all;
		std::uint32_t content = 0;

		for (std::size_t at = 0; at < size; at++) {
			if (markers && (at + 512 - gap) % 512 < 4) {
				all.push_back(MARKER);
				continue;
			}
			all.push_back(content < 2 ? LENGTH :
				      content < 2 + ulpdu_len ? ULPDU :
				      size - at > 4 ? PAD : CRC);
			content++;
		}
		return all;
	}
};

// With CRCs a wrong Marker is BAD_CRC: it counts only "in the event that the CRC
// is valid".
TEST_P(Flips, every_bit_of_an_fpdu)
{
	Random random(30);
	Bytes ulpdu = random.bytes(ulpdu_len);
	Bytes more = random.bytes(4096);
	auto model = Model::at_gap(markers, crc, gap);
	Bytes fpdu = model.frame(ulpdu);
	auto field = fields(fpdu.size());
	std::size_t length_at = markers && !gap ? 4 : 0;

	for (std::size_t bit = 0; bit < 8 * fpdu.size(); bit++) {
		std::size_t at = bit / 8;
		Bytes bad = fpdu;

		bad[at] ^= 1 << bit % 8;
		std::uint32_t len = bad[length_at] << 8 | bad[length_at + 1];
		bool at_once = !crc && len > MPA_MULPDU_MAX;
		std::size_t size = at_once ? length_at + 2 :
					     fpdu_len(markers, gap, len);
		mpa_rx_result want = crc ? MPA_RX_BAD_CRC : MPA_RX_FPDU;

		if (field[at] == LENGTH && at_once)
			want = MPA_RX_BAD_LENGTH;
		else if (field[at] == LENGTH && size > bad.size())
			want = MPA_RX_MORE;
		else if (field[at] == MARKER && !crc) {
			std::size_t in_marker = (at + 512 - gap) % 512;

			if (in_marker == 2 ||
			    (in_marker == 3 && bit % 8 >= 2))
				want = MPA_RX_BAD_MARKER;
		}
		for (std::uint32_t portion : { 1u << 20, 1u, 3u }) {
			Reader reader(markers, crc, gap);
			Fed fed = reader.feed_in(bad, portion);

			ASSERT_EQ(fed.result, want)
				<< "byte " << at << " bit " << bit % 8;
			if (want == MPA_RX_MORE)
				ASSERT_EQ(reader.need(), size - bad.size());
			else if (want != MPA_RX_BAD_MARKER)
				ASSERT_EQ(fed.used, size);
		}
		Reader taken(markers, crc, gap);

		ASSERT_EQ(taken.take(bad), want == MPA_RX_FPDU ? size : 0u);
		if (!crc)
			continue;
		// Such an FPDU never passes, however much follows.
		append(bad, more);
		Reader reader(markers, crc, gap);
		Fed fed = reader.feed(bad);

		ASSERT_NE(fed.result, MPA_RX_FPDU);
		if (want == MPA_RX_MORE && size <= bad.size())
			ASSERT_EQ(fed.result, MPA_RX_BAD_CRC);
	}
}

INSTANTIATE_TEST_SUITE_P(
	all, Flips,
	testing::Combine(testing::Combine(testing::Bool(), testing::Bool()),
			 testing::Values(Flip{ 0, 42 }, Flip{ 20, 42 },
					 Flip{ 8, 5 }, Flip{ 4, 1 },
					 Flip{ 508, 0 }, Flip{ 300, 700 },
					 Flip{ 0, 507 })),
	[](const auto &info) {
		const Flip &flip = std::get<1>(info.param);

		return kind_name({ std::get<0>(info.param), 0 }) + "_gap" +
		       std::to_string(flip.gap) + "_ulpdu" +
		       std::to_string(flip.ulpdu_len);
	});

// The second pass

TEST(mpa_strip_run, one_call_per_run)
{
	Bytes ulpdu(2000, 6);
	Bytes fpdu = Model::at_gap(true, true, 100).frame(ulpdu);
	Reader reader(true, true, 100);
	const struct {
		std::uint32_t skip, run;
	} rows[] = {
		{ 2, 98 }, { 4, 508 }, { 4, 508 }, { 4, 508 }, { 4, 378 },
		{ 0, 0 }, { 0, 0 },
	};
	std::uint32_t left = fpdu.size();
	mpa_strip s;

	ASSERT_EQ(reader.feed(fpdu).result, MPA_RX_FPDU);
	mpa_reader_strip(&reader.r, &s);
	for (const auto &row : rows) {
		std::uint32_t skip;
		std::uint32_t run = mpa_strip_run(&s, left, &skip);

		EXPECT_EQ(skip, row.skip);
		EXPECT_EQ(run, row.run);
		left -= skip + run;
	}
	// Pad of 2 and CRC
	EXPECT_EQ(left, 6u);
}

TEST(mpa_strip_run, without_bytes_does_not_move)
{
	for (bool markers : { false, true }) {
		Bytes fpdu = Model(markers, true).frame(Bytes(9, 1));
		Reader reader(markers, true);
		std::uint32_t skip;
		mpa_strip s;

		ASSERT_EQ(reader.feed(fpdu).result, MPA_RX_FPDU);
		mpa_reader_strip(&reader.r, &s);
		for (int again = 0; again < 3; again++) {
			EXPECT_EQ(mpa_strip_run(&s, 0, &skip), 0u);
			EXPECT_EQ(skip, 0u);
		}
		EXPECT_EQ(mpa_strip_run(&s, 100, &skip), 9u);
		EXPECT_EQ(skip, markers ? 6u : 2u);
	}
}

TEST(mpa_strip_run, an_empty_ulpdu_has_no_run)
{
	Bytes fpdu = Model(true, true).frame({});
	Reader reader(true, true);
	std::uint32_t skip;
	mpa_strip s;

	ASSERT_EQ(reader.feed(fpdu).result, MPA_RX_FPDU);
	mpa_reader_strip(&reader.r, &s);
	EXPECT_EQ(mpa_strip_run(&s, fpdu.size(), &skip), 0u);
	EXPECT_EQ(skip, 0u);
}

// The phase of both halves must survive any wrap of a 32-bit stream position.
TEST(mpa_reader_feed, phase_over_more_than_2_32_bytes)
{
	Bytes body(MPA_MULPDU_MAX);
	mpa_tx_half tx = { 0, true, false };
	Reader reader(true, false);
	std::uint64_t position = 0;
	std::uint32_t len = MPA_MULPDU_MAX;

	while (position < (1ull << 32) + (1u << 20)) {
		Gather gather(300, 1024);
		kvec ulpdu = { body.data(), len };
		Fed fed = { MPA_RX_MORE, 0 };

		const int ret = mpa_fpdu_gather(&tx, &ulpdu, 1, len, &gather.g);

		ASSERT_GT(ret, 0);
		ASSERT_EQ(gather.g.len, static_cast<std::uint32_t>(ret));
		for (unsigned int i = 0; i < gather.g.nr_out; i++) {
			const kvec &piece = gather.out[i];

			ASSERT_EQ(fed.result, MPA_RX_MORE);
			fed = reader.feed(
				static_cast<std::uint8_t *>(piece.iov_base),
				piece.iov_len);
			ASSERT_EQ(fed.used, piece.iov_len);
		}
		ASSERT_EQ(fed.result, MPA_RX_FPDU);
		ASSERT_EQ(reader.r.since_start, gather.g.len);
		ASSERT_EQ(reader.r.ulpdu_len, len);
		position += gather.g.len;
		ASSERT_EQ(tx.gap, (512 - position % 512) % 512);
		ASSERT_EQ(reader.r.gap, tx.gap);
		// Change the phase sometimes, with odd lengths as well.
		len = MPA_MULPDU_MAX - position / 512 % 61;
	}
}

// A stream of FPDUs of every length up to @most, and the ends of each.
struct Stream {
	Stream(const Kind &kind, std::uint32_t most)
	{
		Model model(std::get<0>(kind), std::get<1>(kind));
		Random random(77);

		for (std::uint32_t len = 0; len <= most; len++) {
			append(bytes, model.frame(random.bytes(len)));
			ends.push_back(bytes.size());
		}
	}

	Bytes bytes;
	std::vector<std::size_t> ends;
};

class TakenFrom : public testing::TestWithParam<Kind> {
protected:
	bool markers = std::get<0>(GetParam());
	bool crc = std::get<1>(GetParam());
	std::uint32_t nr_gaps = markers ? 512 : 4;
};

TEST_P(TakenFrom, every_length_as_if_it_had_been_fed)
{
	Stream stream(GetParam(), 2100);
	Reader taken(markers, crc), fed(markers, crc);
	std::size_t at = 0;

	for (auto end : stream.ends) {
		// In a separate allocation: no byte beyond it is read.
		const Bytes fpdu(stream.bytes.begin() + at,
				  stream.bytes.begin() + end);

		ASSERT_EQ(taken.take(fpdu), fpdu.size());
		ASSERT_EQ(fed.feed(fpdu).result, MPA_RX_FPDU);
		ASSERT_EQ(taken.r.ulpdu_len, fed.r.ulpdu_len);
		ASSERT_EQ(taken.r.since_start, fed.r.since_start);
		ASSERT_EQ(taken.r.start_gap, fed.r.start_gap);
		ASSERT_EQ(taken.r.gap, fed.r.gap);
		ASSERT_EQ(taken.need(), fed.need());
		ASSERT_EQ(taken.strip(fpdu), fed.strip(fpdu));
		at = end;
	}
}

TEST_P(TakenFrom, and_fed_in_turns)
{
	Stream stream(GetParam(), 300);
	Reader reader(markers, crc);
	std::size_t at = 0, n = 0;

	for (auto end : stream.ends) {
		const Bytes fpdu(stream.bytes.begin() + at,
				  stream.bytes.begin() + end);

		if (n++ % 3)
			ASSERT_EQ(reader.feed_in(fpdu, n).result, MPA_RX_FPDU);
		else
			ASSERT_EQ(reader.take(fpdu), fpdu.size());
		ASSERT_EQ(reader.r.since_start, fpdu.size());
		at = end;
	}
}

TEST_P(TakenFrom, nothing_that_is_not_whole)
{
	for (std::uint32_t gap : { 0, 4, 8, 60, 508 }) {
		const std::uint32_t phase = markers ? gap : 0;
		Bytes fpdu = Model::at_gap(markers, crc, phase)
				      .frame(Random(3).bytes(61));

		for (std::size_t len = 0; len < fpdu.size(); len++) {
			Reader reader(markers, crc, phase);
			const Bytes part(fpdu.begin(), fpdu.begin() + len);

			ASSERT_EQ(reader.take(part), 0u) << len;
			ASSERT_EQ(reader.feed(part).result, MPA_RX_MORE);
			// The rest of a partly read FPDU is not an FPDU.
			const Bytes rest(fpdu.begin() + len, fpdu.end());

			if (len)
				ASSERT_EQ(reader.take(rest), 0u) << len;
			ASSERT_EQ(reader.feed(rest).result, MPA_RX_FPDU);
		}
	}
}

TEST_P(TakenFrom, where_the_ulpdu_begins)
{
	for (std::uint32_t gap = 0; gap < nr_gaps; gap += 4) {
		const Bytes ulpdu = Random(gap).bytes(1100);
		const Bytes fpdu = Model::at_gap(markers, crc, gap).frame(ulpdu);
		Reader reader(markers, crc, gap);
		std::uint32_t run;

		ASSERT_EQ(reader.take(fpdu), fpdu.size());
		const auto at = mpa_reader_ulpdu(&reader.r, &run);

		ASSERT_EQ(at, markers && !gap ? 6 : 2);
		if (!markers) {
			ASSERT_GT(run, MPA_MULPDU_MAX);
			run = ulpdu.size();
		}
		ASSERT_TRUE(std::equal(ulpdu.begin(), ulpdu.begin() + run,
				       fpdu.begin() + at)) << gap;
		// With Markers, one is directly after that.
		if (markers)
			ASSERT_EQ(at + run, gap ? gap : 512u);
	}
}

// Two FPDUs; a reader has taken the first.
struct Two {
	Two(bool markers, bool crc, std::uint32_t gap, std::uint32_t len)
		: reader(markers, crc, gap)
	{
		Model model = Model::at_gap(markers, crc, gap);

		EXPECT_GT(reader.take(model.frame(random.bytes(45))), 0u);
		phase = model.gap();
		ulpdu = random.bytes(len);
		next = model.frame(ulpdu);
	}

	// Offset of @want bytes of the second, with @len bytes of it available.
	[[nodiscard]] std::optional<std::size_t> ahead(std::uint32_t want,
						       std::size_t len) const
	{
		// In a separate block, so that ASan detects reads beyond it.
		const Bytes part(next.begin(), next.begin() + len);
		const auto *p = mpa_reader_peek(&reader.r, part.data(),
						 part.size(), want);

		if (!p)
			return {};
		return p - part.data();
	}

	Random random{ 31 };
	Reader reader;
	std::uint32_t phase;
	Bytes ulpdu;
	Bytes next;
};

TEST_P(TakenFrom, what_comes_next_is_seen)
{
	for (std::uint32_t gap = 0; gap < nr_gaps; gap += 4) {
		const Two two(markers, crc, gap, 61);
		const std::size_t at = markers && !two.phase ? 6 : 2;
		// Bytes before a Marker
		const std::size_t run = !markers ? 61 :
			(two.phase ? two.phase : 512) - at;

		for (std::uint32_t want : { 0, 1, 8, 14, 18, 60, 61, 62 }) {
			const auto seen = two.ahead(want, two.next.size());

			ASSERT_EQ(seen.has_value(), want < 61 && want <= run)
				<< gap << ' ' << want;
			if (seen)
				ASSERT_EQ(*seen, at);
		}
	}
}

TEST_P(TakenFrom, what_comes_next_is_seen_as_soon_as_it_is_there)
{
	for (std::uint32_t gap : { 0, 4, 8, 60, 508 })
		for (std::uint32_t len : { 15, 16, 17, 18, 1442 }) {
			const Two two(markers, crc, markers ? gap : 0, len);
			const auto at = two.ahead(14, two.next.size());

			for (std::size_t n = 0; n < two.next.size(); n++)
				ASSERT_EQ(two.ahead(14, n),
					  at && n >= *at + 14 ? at : std::nullopt)
					<< len << ' ' << n;
			ASSERT_TRUE(at || markers);
		}
}

TEST_P(TakenFrom, what_comes_next_may_have_any_length_field)
{
	for (std::uint32_t len : { 0, 8, 9, 60, 61, 62, 0xfd00, 0xfd01, 0xffff }) {
		Two two(markers, crc, 0, 61);
		const std::size_t at = two.phase || !markers ? 0 : 4;

		two.next[at] = len >> 8;
		two.next[at + 1] = len;
		ASSERT_EQ(two.ahead(8, two.next.size()).has_value(), len > 8) << len;
	}
}

INSTANTIATE_TEST_SUITE_P(kinds, TakenFrom,
			 testing::Combine(testing::Bool(), testing::Bool()),
			 [](const auto &info) { return kind_name(info); });

} // namespace
