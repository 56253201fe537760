// SPDX-License-Identifier: GPL-2.0-only
//
// Shared by the tests of the framing: a slow model of MPA written from RFC 5044,
// one byte at a time and without the code under test, and value types around the
// C interfaces.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

extern "C" {
#include "../../kernel/framing/fpdu.h"
#include "../../kernel/framing/reader.h"
#include "../../kernel/framing/segment.h"
#include "../../kernel/framing/startup.h"
}
#include "../vectors/framing.h"
#include "names.hpp"

namespace mpa {

using Bytes = std::vector<std::uint8_t>;

inline Bytes unhex(const char *hex)
{
	Bytes bytes(2048);

	bytes.resize(vec_unhex(hex, bytes.data(), bytes.size()));
	return bytes;
}

inline void append(Bytes &to, const Bytes &more)
{
	to.insert(to.end(), more.begin(), more.end());
}

template <typename Row>
std::string row_name(const testing::TestParamInfo<Row> &info)
{
	return name_of_row(info.param.name, info.index);
}

// Markers in the stream or not; CRCs in use or not.
using Kind = std::tuple<bool, bool>;

inline std::string crc_name(const testing::TestParamInfo<bool> &info)
{
	return info.param ? "crc" : "nocrc";
}

inline std::string kind_name(const testing::TestParamInfo<Kind> &info)
{
	auto [markers, crc] = info.param;

	return std::string(markers ? "markers" : "plain") +
	       (crc ? "_crc" : "_nocrc");
}

// One seed per run: fixed, unless the environment has another.
inline std::uint64_t seed()
{
	const char *wanted = std::getenv("MPA_TEST_SEED");

	return wanted ? std::strtoull(wanted, nullptr, 0) : 5044;
}

class Random {
public:
	explicit Random(std::uint64_t stream) : engine(seed() * 1000003 + stream)
	{
	}

	// Including both limits.
	std::uint32_t between(std::uint32_t low, std::uint32_t high)
	{
		return std::uniform_int_distribution<std::uint32_t>(low, high)(
			engine);
	}

	bool one_in(std::uint32_t n)
	{
		return between(1, n) == 1;
	}

	Bytes bytes(std::size_t n)
	{
		Bytes result(n);

		for (auto &byte : result)
			byte = static_cast<std::uint8_t>(engine());
		return result;
	}

private:
	std::mt19937_64 engine;
};

// CRC32c bit by bit: RFC 3720 section 12.1, see RFC 5044 section 4.4.
inline std::uint32_t model_crc(const Bytes &bytes)
{
	std::uint32_t crc = 0xffffffff;

	for (auto byte : bytes) {
		crc ^= byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

// Faults the model can build into an FPDU, with a CRC that covers them.
struct Twist {
	int marker = -1; // which Marker of the FPDU
	std::uint32_t marker_xor = 0; // changed in it
	std::uint8_t pad_fill = 0;
	std::uint32_t crc_xor = 0;
};

class Model {
public:
	Model(bool markers, bool crc, std::uint64_t position = 0)
		: markers(markers), crc(crc), position(position)
	{
	}

	static constexpr std::uint64_t period = 512;

	// A model at a position @gap bytes before the next Marker.
	static Model at_gap(bool markers, bool crc, std::uint32_t gap)
	{
		return Model(markers, crc, markers ? period - gap : 0);
	}

	std::uint32_t gap() const
	{
		return markers ? (period - position % period) % period : 0;
	}

	Bytes frame(const Bytes &ulpdu, const Twist &twist = {})
	{
		Bytes out;
		const std::uint64_t start = position;
		std::uint64_t length_at = 0;
		bool length_seen = false;
		int nr_marker = 0;

		auto put = [&](std::uint8_t byte) {
			if (markers && position % period == 0) {
				std::uint32_t marker =
					length_seen ? position - length_at : 0;

				if (nr_marker++ == twist.marker)
					marker ^= twist.marker_xor;
				for (int shift = 24; shift >= 0; shift -= 8)
					out.push_back(marker >> shift);
				position += 4;
			}
			if (!length_seen) {
				length_seen = true;
				length_at = position;
			}
			out.push_back(byte);
			position++;
		};

		put(ulpdu.size() >> 8);
		put(ulpdu.size() & 0xff);
		for (auto byte : ulpdu)
			put(byte);
		for (auto n = ulpdu.size() + 2; n % 4; n++)
			put(twist.pad_fill);
		// A Marker between pad and CRC is covered by that CRC.
		if (markers && position % period == 0) {
			put(0);
			out.pop_back();
			position--;
		}
		std::uint32_t sum = crc ? model_crc(out) : 0;

		sum ^= twist.crc_xor;
		for (int shift = 0; shift < 32; shift += 8)
			put(sum >> shift);
		nr_markers = nr_marker;
		EXPECT_EQ(position - start, out.size());
		return out;
	}

	// Markers in the last frame.
	int nr_markers = 0;

private:
	bool markers;
	bool crc;
	std::uint64_t position;
};

// The gather list of the code under test, with its memory.
class Gather {
public:
	explicit Gather(unsigned int max_out = 1024, unsigned int max_ctl = 4096)
		: out(max_out), ctl(max_ctl)
	{
		g.out = out.data();
		g.max_out = max_out;
		g.ctl = ctl.data();
		g.max_ctl = max_ctl;
	}

	Gather(const Gather &) = delete;
	Gather &operator=(const Gather &) = delete;

	// The ULPDU is passed in pieces that end at @cuts.
	int add(mpa_tx_half &tx, Bytes &ulpdu,
		const std::vector<std::size_t> &cuts = {})
	{
		std::vector<kvec> pieces;
		std::size_t from = 0;

		for (auto cut : cuts) {
			pieces.push_back({ ulpdu.data() + from, cut - from });
			from = cut;
		}
		pieces.push_back({ ulpdu.data() + from, ulpdu.size() - from });
		return mpa_fpdu_gather(&tx, pieces.data(), pieces.size(),
				       ulpdu.size(), &g);
	}

	Bytes bytes() const
	{
		Bytes all;

		for (unsigned int i = 0; i < g.nr_out; i++) {
			auto p = static_cast<const std::uint8_t *>(
				out[i].iov_base);

			all.insert(all.end(), p, p + out[i].iov_len);
		}
		return all;
	}

	mpa_gather g = {};
	std::vector<kvec> out;

private:
	Bytes ctl;
};

// What the code under test writes for a ULPDU. Its first @hdr_len bytes are the
// header, the rest is in pieces that end at @cuts. No later byte changes.
inline Bytes write(mpa_tx_half &tx, const Bytes &ulpdu, std::size_t hdr_len,
		    const std::vector<std::size_t> &cuts = {})
{
	constexpr std::uint8_t untouched = 0xdd;
	Bytes payload(ulpdu.begin() + hdr_len, ulpdu.end());
	std::vector<kvec> pieces;
	std::size_t from = 0;

	for (auto cut : cuts) {
		pieces.push_back({ payload.data() + from, cut - hdr_len - from });
		from = cut - hdr_len;
	}
	pieces.push_back({ payload.data() + from, payload.size() - from });
	const mpa_ulpdu u = {
		.hdr = ulpdu.data(),
		.hdr_len = static_cast<std::uint32_t>(hdr_len),
		.payload = pieces.data(),
		.nr = static_cast<unsigned int>(pieces.size()),
		.payload_len = static_cast<std::uint32_t>(payload.size()),
	};
	const auto len = mpa_fpdu_len(&tx, static_cast<std::uint32_t>(ulpdu.size()));
	Bytes to(len + 8, untouched);

	EXPECT_EQ(mpa_fpdu_write(&tx, &u, to.data()), static_cast<int>(len));
	EXPECT_EQ(Bytes(to.begin() + len, to.end()), Bytes(8, untouched));
	to.resize(len);
	return to;
}

inline Bytes build(mpa_tx_half &tx, Bytes ulpdu)
{
	Gather gather;
	int ret = gather.add(tx, ulpdu);
	Bytes bytes = gather.bytes();

	EXPECT_EQ(ret, static_cast<int>(bytes.size()));
	return bytes;
}

struct Fed {
	mpa_rx_result result;
	std::uint32_t used;
};

class Reader {
public:
	Reader(bool markers, bool crc, std::uint32_t gap = 0)
	{
		mpa_reader_init(&r, markers, crc);
		// All FPDU starts are equal; only the phase differs.
		r.gap = gap;
		r.start_gap = gap;
	}

	Fed feed(const std::uint8_t *p, std::uint32_t len)
	{
		Fed fed;

		fed.result = mpa_reader_feed(&r, p, len, &fed.used);
		EXPECT_LE(fed.used, len);
		return fed;
	}

	Fed feed(const Bytes &bytes)
	{
		return feed(bytes.data(), bytes.size());
	}

	// Passes bytes in portions of @size, each in a separate allocation, so
	// that a read beyond the portion is detected.
	Fed feed_in(const Bytes &bytes, std::uint32_t size)
	{
		Fed all = { MPA_RX_MORE, 0 };

		while (all.result == MPA_RX_MORE && all.used < bytes.size()) {
			auto from = bytes.begin() + all.used;
			std::uint32_t n = std::min<std::size_t>(
				size, bytes.size() - all.used);
			Fed fed = feed(Bytes(from, from + n));

			if (fed.result == MPA_RX_MORE)
				EXPECT_EQ(fed.used, n);
			all.result = fed.result;
			all.used += fed.used;
		}
		return all;
	}

	std::uint32_t take(const Bytes &bytes)
	{
		return mpa_reader_take(&r, bytes.data(), bytes.size());
	}

	std::uint32_t need() const
	{
		return mpa_reader_need(&r);
	}

	// The ULPDU of the FPDU just read, in windows of @size.
	Bytes strip(const Bytes &fpdu, std::uint32_t size = 1 << 20) const
	{
		mpa_strip s;
		Bytes ulpdu;
		std::size_t at = 0;

		mpa_reader_strip(&r, &s);
		while (at < fpdu.size()) {
			std::uint32_t n = std::min<std::size_t>(
				size, fpdu.size() - at);
			std::uint32_t skip;
			std::uint32_t run = mpa_strip_run(&s, n, &skip);

			EXPECT_LE(skip + run, n);
			if (!skip && !run)
				break;
			at += skip;
			ulpdu.insert(ulpdu.end(), fpdu.begin() + at,
				     fpdu.begin() + at + run);
			at += run;
		}
		EXPECT_EQ(s.left, 0u);
		return ulpdu;
	}

	mpa_reader r;
};

} // namespace mpa

inline void PrintTo(mpa_rx_result result, std::ostream *os)
{
	static const char *const names[] = {
		"MORE", "FPDU", "BAD_CRC", "BAD_MARKER", "BAD_LENGTH",
	};

	*os << (result <= MPA_RX_BAD_LENGTH ? names[result] : "?");
}
