// SPDX-License-Identifier: GPL-2.0-only
//
// In a part of a stream that is as it was built, each FPDU from the first one with a Marker on
// is found, once. In one with changed bytes, what is found was built there, or has changes.
// Input: where the part begins and how it grows, then commands that build the stream:
// FPDUs of any length, whose payload is from the input, and changes to some bytes.
#include "support.hpp"

#include <map>
#include <set>

extern "C" {
#include "../../kernel/framing/early.h"
#include "../../kernel/framing/fpdu.h"
}

using namespace fuzz;

namespace
{

constexpr std::size_t stream_max = 20000;

// A stream, where its FPDUs begin and how long they are, and which bytes differ.
struct Built {
	Bytes stream;
	std::map<std::uint32_t, std::uint32_t> fpdus;
	std::set<std::uint32_t> changed;

	void add_fpdu(mpa_tx_half &tx, Bytes ulpdu);
	void change(std::uint32_t at, std::uint8_t bits);
	bool changed_within(std::uint32_t from, std::uint32_t to) const;
	bool changed_marker() const;
};

void Built::add_fpdu(mpa_tx_half &tx, Bytes ulpdu)
{
	const mpa_ulpdu u = {
		.hdr = ulpdu.data(),
		.hdr_len = static_cast<u32>(ulpdu.size()),
		.payload = nullptr,
		.nr = 0,
		.payload_len = 0,
	};
	Bytes to(mpa_fpdu_len(&tx, ulpdu.size()));

	REQUIRE(mpa_fpdu_write(&tx, &u, to.data()) == static_cast<int>(to.size()));
	fpdus[stream.size()] = to.size();
	stream.insert(stream.end(), to.begin(), to.end());
}

void Built::change(std::uint32_t at, std::uint8_t bits)
{
	at %= stream.size();
	stream[at] ^= bits;
	changed.insert(at);
}

bool Built::changed_within(std::uint32_t from, std::uint32_t to) const
{
	const auto first = changed.lower_bound(from);

	return first != changed.end() && *first < to;
}

bool Built::changed_marker() const
{
	return std::any_of(changed.begin(), changed.end(), [](std::uint32_t at) {
		return at % MPA_MARKER_PERIOD < MPA_MARKER_LEN;
	});
}

// Payload in which the bytes of the input come again and again.
Bytes payload(Input &in, std::size_t length)
{
	const View from = in.rest();
	Bytes ulpdu(length);

	for (std::size_t i = 0; i < length && !from.empty(); i++)
		ulpdu[i] = from[i % from.size()];
	return ulpdu;
}

Built build(Input &in)
{
	mpa_tx_half tx = {.gap = 0, .markers = true, .crc = true};
	Built built;

	while (!in.empty() && built.stream.size() < stream_max) {
		const std::uint8_t op = in.u8();

		if (op < 0xe0) {
			const std::size_t length = op < 0x80 ? op : in.u16() % 3000;

			built.add_fpdu(tx, payload(in, length));
		} else if (!built.stream.empty()) {
			const std::uint16_t at = in.u16();

			built.change(at, in.u8());
		}
	}
	return built;
}

// Where the first FPDU that begins in the part and has a Marker begins.
std::uint32_t first_marked(const Built &built, std::uint32_t from)
{
	for (const auto &[start, length] : built.fpdus)
		if (start >= from && -start % MPA_MARKER_PERIOD < length)
			return start;
	return built.stream.size();
}

struct Part {
	View stream;
	std::uint32_t end;
	Portions portions;
};

bool copy(void *ctx, u32 at, u8 *to, u32 len)
{
	const auto &part = *static_cast<Part *>(ctx);

	REQUIRE(at <= part.end && len <= part.end - at);
	std::copy_n(part.stream.begin() + at, len, to);
	return true;
}

mpa_rx_result feed(void *ctx, u32 at, mpa_reader *r)
{
	auto &part = *static_cast<Part *>(ctx);
	auto result = MPA_RX_MORE;

	REQUIRE(at <= part.end);
	while (result == MPA_RX_MORE && at < part.end) {
		const auto some = std::min(part.end - at, part.portions.next());
		const Exact piece(part.stream.subspan(at, some));
		std::uint32_t used;

		result = mpa_reader_feed(r, piece.data(), piece.size(), &used);
		at += used;
	}
	return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	Input in(data, size);
	const std::uint16_t begin = in.u16(), step = in.u16();
	const std::uint8_t choice = in.u8();
	const Built built = build(in);
	const auto length = static_cast<std::uint32_t>(built.stream.size());
	const std::uint32_t from = length ? begin % length : 0;
	Part part{built.stream, from, Portions(choice)};
	const mpa_early_source source = {copy, feed, &part};
	std::map<std::uint32_t, std::uint32_t> found;
	std::uint32_t behind = from;
	mpa_early e;
	mpa_reader r;

	mpa_early_init(&e, from);
	while (part.end < length) {
		part.end = std::min(length, part.end + 1 + step % 3000);
		while (mpa_early_find(&e, &source, part.end, &r)) {
			const std::uint32_t start = e.floor - r.since_start;

			REQUIRE(start >= behind && e.floor <= part.end);
			// A Marker directly before the length belongs to the FPDU.
			REQUIRE(start % MPA_MARKER_PERIOD != MPA_MARKER_LEN);
			behind = e.floor;
			found[start] = r.since_start;
		}
	}
	frames.add(found.size());
	if (built.changed.empty()) {
		const auto first = built.fpdus.lower_bound(first_marked(built, from));

		REQUIRE(std::equal(first, built.fpdus.end(), found.begin(), found.end()));
		return 0;
	}
	for (const auto &[start, bytes] : found) {
		const auto same = built.fpdus.find(start);

		REQUIRE((same != built.fpdus.end() && same->second == bytes) ||
			built.changed_within(start, start + bytes) || built.changed_marker());
	}
	return 0;
}
