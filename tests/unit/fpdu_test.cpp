// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/framing/fpdu.c: lengths, Markers, pads and CRCs of outgoing FPDUs, swept
// and compared with the model. Its tables are in ../vectors/fpdu.c.
#include "support.hpp"

#include <linux/crc32c.h>

#include <cstring>
#include <numeric>

using namespace mpa;

namespace {

// The other tests depend on the CRC of the shim, so it is tested too.

struct CrcVector {
	const char *name;
	Bytes bytes;
	std::uint32_t want;
};

Bytes counting(std::size_t n)
{
	Bytes bytes(n);

	std::iota(bytes.begin(), bytes.end(), 0);
	return bytes;
}

class Crc32c : public testing::TestWithParam<CrcVector> {};

TEST_P(Crc32c, matches_known_value)
{
	const auto &v = GetParam();

	EXPECT_EQ(~crc32c(~0u, v.bytes.data(), v.bytes.size()), v.want);
	EXPECT_EQ(model_crc(v.bytes), v.want);
}

// RFC 3720 appendix B.4, as numbers; and the common check value.
INSTANTIATE_TEST_SUITE_P(
	rfc3720, Crc32c,
	testing::Values(CrcVector{ "empty", {}, 0 },
			CrcVector{ "zeros", Bytes(32, 0), 0x8a9136aa },
			CrcVector{ "ones", Bytes(32, 0xff), 0x62a8ab43 },
			CrcVector{ "counting", counting(32), 0x46dd794e },
			CrcVector{ "digits", unhex("313233343536373839"),
				   0xe3069283 }),
	row_name<CrcVector>);

TEST(mpa_mulpdu, formula_for_every_emss)
{
	for (std::int64_t emss = 0; emss <= 70000; emss++) {
		std::int64_t plain = emss - (6 + emss % 4);
		std::int64_t markers = plain - 4 * ((emss + 511) / 512);

		ASSERT_EQ(mpa_mulpdu(emss, false),
			  std::clamp<std::int64_t>(plain, 128, 64768));
		ASSERT_EQ(mpa_mulpdu(emss, true),
			  std::clamp<std::int64_t>(markers, 128, 64768));
	}
}

TEST(mpa_mulpdu, fits_a_segment_at_every_phase)
{
	for (std::uint32_t emss = 140; emss <= 9000; emss += 7) {
		for (std::uint32_t gap = 0; gap < 512; gap += 4) {
			mpa_tx_half tx = { gap, true, true };

			ASSERT_LE(mpa_fpdu_len(&tx, mpa_mulpdu(emss, true)),
				  emss)
				<< "gap " << gap;
		}
	}
}

TEST(mpa_fpdu_len, equals_the_model_at_every_phase)
{
	for (std::uint32_t gap = 0; gap < 512; gap += 4) {
		for (std::uint32_t len = 0; len < 1050; len++) {
			mpa_tx_half tx = { gap, true, true };
			auto model = Model::at_gap(true, false, gap);

			ASSERT_EQ(mpa_fpdu_len(&tx, len),
				  model.frame(Bytes(len)).size())
				<< "gap " << gap << " ULPDU " << len;
		}
	}
}

// After a rewind the next FPDU is the same as if the other was never built.
TEST(mpa_tx_rewind, goes_back_over_every_fpdu)
{
	Bytes ulpdu(1050), ctl(4096);
	std::vector<kvec> pieces(64);

	for (bool markers : { false, true }) {
		for (std::uint32_t gap = 0; gap < (markers ? 512u : 1u); gap += 4) {
			for (std::uint32_t len = 0; len < 1050; len += 7) {
				mpa_tx_half tx = { gap, markers, true };
				mpa_gather g = { pieces.data(), 0, 64, ctl.data(), 0,
						 4096, 0 };
				kvec piece = { ulpdu.data(), len };
				int n = mpa_fpdu_gather(&tx, &piece, 1, len, &g);

				ASSERT_GT(n, 0);
				mpa_tx_rewind(&tx, n);
				ASSERT_EQ(tx.gap, gap) << "ULPDU " << len;
			}
		}
	}
}

// The FPDU of the longest ULPDU fits, that of one byte more does not.
void expect_longest(const mpa_tx_half &tx, std::uint32_t room)
{
	std::uint32_t fit = mpa_ulpdu_fit(&tx, room);

	if (fit)
		ASSERT_LE(mpa_fpdu_len(&tx, fit), room)
			<< "gap " << tx.gap << " room " << room;
	if (fit < MPA_MULPDU_MAX)
		ASSERT_GT(mpa_fpdu_len(&tx, fit + 1), room)
			<< "gap " << tx.gap << " room " << room;
}

TEST(mpa_ulpdu_fit, is_the_longest_at_every_phase)
{
	for (std::uint32_t gap = 0; gap < 512; gap += 4) {
		for (std::uint32_t room = 0; room < 1600; room++)
			expect_longest({ gap, true, true }, room);
		for (std::uint32_t room = 64700; room < 65536; room++)
			expect_longest({ gap, true, true }, room);
	}
	for (std::uint32_t room = 0; room < 65536; room++)
		expect_longest({ 0, false, true }, room);
}

class GatherOf : public testing::TestWithParam<Kind> {};

TEST_P(GatherOf, every_phase_and_pad_equals_the_model)
{
	auto [markers, crc] = GetParam();
	Random random(1);

	for (std::uint32_t gap = 0; gap < (markers ? 512 : 4); gap += 4) {
		for (std::uint32_t len : { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 42,
					   128, 499, 500, 501, 502, 503, 504,
					   505, 506, 507, 508, 509, 510, 1010,
					   1011, 1430, 1442, 64768 }) {
			Bytes ulpdu = random.bytes(len);
			auto model = Model::at_gap(markers, crc, gap);
			mpa_tx_half tx = { gap, markers, crc };
			Bytes bytes = build(tx, ulpdu);

			ASSERT_EQ(bytes, model.frame(ulpdu))
				<< "gap " << gap << " ULPDU " << len;
			ASSERT_EQ(tx.gap, model.gap());
		}
	}
}

TEST_P(GatherOf, pieces_of_the_ulpdu_may_end_anywhere)
{
	auto [markers, crc] = GetParam();
	Random random(3);
	const std::uint32_t gap = markers ? 16 : 0;
	Bytes ulpdu = random.bytes(45);
	Bytes want = Model::at_gap(markers, crc, gap).frame(ulpdu);

	for (std::size_t a = 0; a <= ulpdu.size(); a++) {
		for (std::size_t b = a; b <= ulpdu.size(); b++) {
			mpa_tx_half tx = { gap, markers, crc };
			Gather gather;

			ASSERT_EQ(gather.add(tx, ulpdu, { a, b }),
				  static_cast<int>(want.size()));
			ASSERT_EQ(gather.bytes(), want) << a << ' ' << b;
			ASSERT_EQ(gather.g.len, want.size());
		}
	}
}

TEST_P(GatherOf, running_out_of_room_changes_nothing)
{
	auto [markers, crc] = GetParam();
	Random random(4);
	Bytes first = random.bytes(37);
	Bytes second = random.bytes(600);
	const mpa_tx_half start = { markers ? 24u : 0, markers, crc };
	mpa_tx_half tx = start;
	Gather enough;

	ASSERT_GT(enough.add(tx, first), 0);
	ASSERT_GT(enough.add(tx, second, { 100 }), 0);

	auto attempt = [&](unsigned int max_out, unsigned int max_ctl) {
		mpa_tx_half tx = start;
		Gather gather(max_out, max_ctl);

		if (gather.add(tx, first) < 0) {
			EXPECT_EQ(std::memcmp(&tx, &start, sizeof(tx)), 0);
			EXPECT_EQ(gather.g.nr_out, 0u);
			EXPECT_EQ(gather.g.nr_ctl, 0u);
			EXPECT_EQ(gather.g.len, 0u);
			return -ENOSPC;
		}
		const Bytes before = gather.bytes();
		const mpa_tx_half tx_before = tx;
		const mpa_gather g_before = gather.g;
		int ret = gather.add(tx, second, { 100 });

		if (ret < 0) {
			EXPECT_EQ(gather.bytes(), before);
			EXPECT_EQ(tx.gap, tx_before.gap);
			EXPECT_EQ(std::memcmp(&gather.g, &g_before,
					      sizeof(g_before)), 0);
		} else {
			EXPECT_EQ(gather.bytes(), enough.bytes());
		}
		return ret;
	};
	const unsigned int out = enough.g.nr_out;
	const unsigned int ctl = enough.g.nr_ctl;

	EXPECT_GT(attempt(out, ctl), 0);
	for (unsigned int less = 0; less < out; less++)
		EXPECT_EQ(attempt(less, ctl), -ENOSPC) << less << " pieces";
	for (unsigned int less = 0; less < ctl; less++)
		EXPECT_EQ(attempt(out, less), -ENOSPC) << less << " bytes";
}

INSTANTIATE_TEST_SUITE_P(kinds, GatherOf,
			 testing::Combine(testing::Bool(), testing::Bool()),
			 kind_name);

TEST(mpa_fpdu_gather, control_bytes_that_adjoin_share_a_piece)
{
	mpa_tx_half tx = { 0, false, true };
	Bytes one(6, 1), two(5, 2);
	Gather gather;

	ASSERT_EQ(gather.add(tx, one), 12);
	ASSERT_EQ(gather.g.nr_out, 3u);
	ASSERT_EQ(gather.add(tx, two), 12);
	// length | one | CRC, length | two | pad, CRC
	ASSERT_EQ(gather.g.nr_out, 5u);
	EXPECT_EQ(gather.out[2].iov_len, 6u);
	EXPECT_EQ(gather.out[3].iov_base, two.data());
	EXPECT_EQ(gather.out[4].iov_len, 5u);
	EXPECT_EQ(gather.g.len, 24u);
	EXPECT_EQ(gather.g.nr_ctl, 13u);
}

TEST(mpa_fpdu_gather, ulpdu_bytes_stay_where_they_are)
{
	mpa_tx_half tx = { 0, true, true };
	Bytes ulpdu(506 - 4, 7);
	Gather gather;

	// Marker, length | ULPDU | CRC; the next Marker is of the next FPDU.
	ASSERT_EQ(gather.add(tx, ulpdu), 512);
	ASSERT_EQ(gather.g.nr_out, 3u);
	EXPECT_EQ(gather.out[1].iov_base, ulpdu.data());
	EXPECT_EQ(gather.out[1].iov_len, ulpdu.size());
	EXPECT_EQ(tx.gap, 0u);
}

TEST(mpa_fpdu_gather, empty_pieces_leave_no_trace)
{
	Bytes ulpdu = { 1, 2 };
	mpa_tx_half tx = { 0, false, true };
	Gather gather;

	ASSERT_EQ(gather.add(tx, ulpdu, { 0, 0, 2, 2 }), 8);
	EXPECT_EQ(gather.g.nr_out, 3u);
}

// Markers or none; CRCs in use or not.
class Written : public testing::TestWithParam<std::tuple<bool, bool>> {};

// Headers of DDP, none, and others.
constexpr std::size_t headers[] = { 0, 1, 14, 18, 46, 80 };

TEST_P(Written, every_length_equals_what_is_gathered)
{
	auto [markers, crc] = GetParam();
	mpa_tx_half tx = { 0, markers, crc };
	Random random(5);

	for (std::size_t len = 0; len <= 2000; len++) {
		const Bytes ulpdu = random.bytes(len);

		// Continues where the last one ended, so at any phase.
		for (auto hdr : headers) {
			mpa_tx_half general = tx;

			if (hdr > len)
				break;
			ASSERT_EQ(write(tx, ulpdu, hdr), build(general, ulpdu))
				<< len << " of them header " << hdr;
			ASSERT_EQ(tx.gap, general.gap);
		}
	}
}

TEST_P(Written, longest_ulpdu_and_one_more)
{
	auto [markers, crc] = GetParam();
	const mpa_tx_half start = { 0, markers, crc };
	Bytes ulpdu = Random(6).bytes(MPA_MULPDU_MAX + 1);
	std::uint8_t to = 0xdd;

	for (auto hdr : headers) {
		mpa_tx_half tx = start;
		kvec piece = { ulpdu.data() + hdr, ulpdu.size() - hdr };
		const mpa_ulpdu u = {
			.hdr = ulpdu.data(),
			.hdr_len = static_cast<std::uint32_t>(hdr),
			.payload = &piece,
			.nr = 1,
			.payload_len = static_cast<std::uint32_t>(piece.iov_len),
		};

		EXPECT_EQ(mpa_fpdu_write(&tx, &u, &to), -EMSGSIZE);
		EXPECT_EQ(tx.gap, start.gap);
	}
	EXPECT_EQ(to, 0xdd);
	ulpdu.pop_back();
	mpa_tx_half tx = start;
	EXPECT_EQ(write(tx, ulpdu, 14), Model(markers, crc).frame(ulpdu));
}

TEST_P(Written, pieces_may_end_anywhere)
{
	auto [markers, crc] = GetParam();
	const mpa_tx_half start = { markers ? 16u : 0u, markers, crc };
	const Bytes ulpdu = Random(7).bytes(45);
	mpa_tx_half general = start;
	const Bytes want = build(general, ulpdu);

	for (std::size_t hdr = 0; hdr <= ulpdu.size(); hdr++) {
		for (std::size_t a = hdr; a <= ulpdu.size(); a++) {
			for (std::size_t b = a; b <= ulpdu.size(); b++) {
				mpa_tx_half tx = start;

				ASSERT_EQ(write(tx, ulpdu, hdr, { a, b }), want)
					<< hdr << ' ' << a << ' ' << b;
			}
		}
	}
}

TEST_P(Written, mixes_with_what_is_gathered)
{
	auto [markers, crc] = GetParam();
	mpa_tx_half tx = { 0, markers, crc };
	Model model(markers, crc);
	Random random(8);

	for (int i = 0; i < 200; i++) {
		Bytes ulpdu = random.bytes(random.between(14, 1500));

		ASSERT_EQ(i % 3 ? write(tx, ulpdu, 14, { 14 }) : build(tx, ulpdu),
			  model.frame(ulpdu));
	}
}

INSTANTIATE_TEST_SUITE_P(kinds, Written,
			 testing::Combine(testing::Bool(), testing::Bool()));

class Series : public testing::TestWithParam<std::tuple<bool, bool>> {
protected:
	// Series that begin at any phase
	mpa_tx_half tx = { 0, std::get<0>(GetParam()), std::get<1>(GetParam()) };
};

// A header that ends with @count in network byte order.
Bytes counted(std::size_t len, std::uint64_t count)
{
	Bytes header = Random(9).bytes(len);

	for (std::size_t i = 1; i <= 8; i++, count >>= 8)
		header[len - i] = count;
	return header;
}

// Payload in pieces of any length, empty ones among them.
std::vector<kvec> pieces_of(Bytes &payload, Random &random)
{
	std::vector<kvec> pieces;
	std::size_t at = 0;

	while (at < payload.size()) {
		const auto n = std::min<std::size_t>(random.between(0, 700),
						     payload.size() - at);

		pieces.push_back({ payload.data() + at, n });
		at += n;
	}
	return pieces;
}

// Whole words and others
constexpr std::size_t series_rooms[] = { 28, 29, 36, 104, 108, 256, 511, 512, 516,
					520, 1024, 1028, 1446, 1448, 1460, 8948,
					8950, 70000 };

TEST_P(Series, equals_ulpdus_written_one_by_one)
{
	// Also near the end of 32 and of 64 bits, where the counter wraps.
	constexpr std::uint64_t counts[] = { 0, 0xfffffffe, 0x1234fffffff0,
					     0xfffffffffffffffd };
	Random random(21);

	for (std::size_t hdr_len : { 8, 14, 18, 80 }) {
		for (std::size_t room : series_rooms) {
			// No payload would be left next to a Marker.
			if (room < hdr_len + 14)
				continue;
			for (unsigned int nr : { 1, 2, 3, 22 }) {
				auto count = counts[random.between(0, 3)];
				Bytes header = counted(hdr_len, count);
				Bytes payload = random.bytes(nr * room);
				auto pieces = pieces_of(payload, random);
				auto half = tx;
				mpa_series t;
				Bytes got(nr * room);

				mpa_series_init(&t, header.data(), hdr_len,
					       pieces.data(), payload.size());
				t.room = room;
				// In two calls, so the first must leave a valid state.
				auto n = mpa_fpdu_write_series(&tx, &t, (nr + 1) / 2,
							      got.data());
				if (nr > 1)
					n += mpa_fpdu_write_series(&tx, &t, nr / 2,
								  got.data() + n);
				got.resize(n);

				Bytes want;
				std::size_t used = 0;

				for (unsigned int i = 0; i < t.fpdus; i++) {
					const auto each = mpa_ulpdu_fit(&half, room) -
							  hdr_len;
					Bytes ulpdu = counted(hdr_len, count + used);
					auto from = payload.begin() + used;

					append(ulpdu, Bytes(from, from + each));
					append(want, write(half, ulpdu, hdr_len));
					used += each;
				}
				ASSERT_EQ(got, want) << hdr_len << ' ' << room
						     << ' ' << nr;
				ASSERT_EQ(t.used, used);
				ASSERT_EQ(tx.gap, half.gap);
				ASSERT_EQ(header, counted(hdr_len, count + used));
			}
		}
	}
}

TEST_P(Series, ends_behind_an_fpdu_that_does_not_fill_its_room)
{
	constexpr unsigned int nr = 40;
	constexpr std::size_t hdr_len = 14;
	Random random(22);

	for (std::size_t room : series_rooms) {
		Bytes header = counted(hdr_len, 0);
		Bytes payload = random.bytes(nr * room);
		auto pieces = pieces_of(payload, random);
		Bytes got(nr * room);
		mpa_tx_half at = tx, half = tx;
		unsigned int want = 0;
		std::uint32_t len;
		mpa_series t;

		do {
			const auto before = half;

			write(half, random.bytes(mpa_ulpdu_fit(&half, room)), 0);
			len = mpa_fpdu_len(&before, mpa_ulpdu_fit(&before, room));
		} while (++want < nr && room - len < 4);
		mpa_series_init(&t, header.data(), hdr_len, pieces.data(),
			       payload.size());
		t.room = room;
		mpa_fpdu_write_series(&at, &t, nr, got.data());
		EXPECT_EQ(t.fpdus, want) << room;
		// Above the longest ULPDU, or a Marker would be the last word.
		if (room == 70000 || (tx.markers && room % 512 == 4))
			EXPECT_EQ(t.fpdus, 1u) << room;
		if (!tx.markers && room < 65536)
			EXPECT_EQ(t.fpdus, nr) << room;
	}
}

// There may be less payload left than is prefetched at a time.
TEST_P(Series, looks_no_further_than_there_is_payload)
{
	for (std::size_t len : { 100, 101, 4096, 4097, 8191, 8192, 8193, 8400, 20000 }) {
		// MPA_PREFETCH_BYTES and MPA_PREFETCH_FEW of framing/copy.h.
		const std::size_t longest = 100, ahead = 8192, few = 4096;
		Random random(len);
		Bytes header = counted(14, 0);
		Bytes payload = random.bytes(len);
		auto pieces = pieces_of(payload, random);
		Bytes got(256);
		mpa_series t;

		pieces.shrink_to_fit();
		mpa_series_init(&t, header.data(), 14, pieces.data(), len);
		EXPECT_EQ(t.left, len > few ? len : 0);
		for (t.room = longest; len - t.used >= longest;) {
			mpa_fpdu_write_series(&tx, &t, 1, got.data());
			ASSERT_EQ(t.left, len > few ? len - std::min(len, ahead + t.used) : 0);
		}
		EXPECT_EQ(t.left, 0u);
	}
}

INSTANTIATE_TEST_SUITE_P(kinds, Series,
			 testing::Combine(testing::Bool(), testing::Bool()));

TEST(mpa_fpdu_write, refuses_a_wrong_total_length)
{
	struct Row {
		std::uint32_t hdr_len;
		std::vector<std::size_t> pieces;
		std::uint32_t payload_len;
		int want;
	};
	static const Row rows[] = {
		{ 0, {}, 0, 8 },
		{ 0, {}, 1, -EMSGSIZE },
		{ 4, { 4 }, 5, -EMSGSIZE },
		{ 4, { 5 }, 4, -EMSGSIZE },
		{ 4, { 4, 1 }, 4, -EMSGSIZE },
		{ 4, { 4, 0, 0 }, 4, 16 },
		{ 0, { 64769 }, 64769, -EMSGSIZE },
		{ 1, { 64768 }, 64768, -EMSGSIZE },
		{ 64769, {}, 0, -EMSGSIZE },
		// Lengths that would wrap a 32-bit sum
		{ 0xffffffff, { 4 }, 4, -EMSGSIZE },
		{ 4, { 0xffffffff }, 0xffffffff, -EMSGSIZE },
		{ 4, { (1ull << 32) + 4 }, 4, -EMSGSIZE },
		{ 4, { 8, ~std::size_t(0) - 3 }, 4, -EMSGSIZE },
		{ 0, { 64768 }, 64768, 64776 },
	};
	Bytes memory(64770);

	for (const auto &row : rows) {
		mpa_tx_half tx = { 0, false, true };
		Bytes to(64776, 0xdd);
		std::vector<kvec> pieces;

		for (auto n : row.pieces)
			pieces.push_back({ memory.data(), n });
		const mpa_ulpdu u = {
			.hdr = memory.data(),
			.hdr_len = row.hdr_len,
			.payload = pieces.data(),
			.nr = static_cast<unsigned int>(pieces.size()),
			.payload_len = row.payload_len,
		};
		EXPECT_EQ(mpa_fpdu_write(&tx, &u, to.data()), row.want)
			<< row.hdr_len << ' ' << row.payload_len;
		if (row.want < 0)
			EXPECT_EQ(to, Bytes(64776, 0xdd));
	}
}

} // namespace
