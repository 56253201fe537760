// SPDX-License-Identifier: GPL-2.0-only
//
// Whatever is found in a part of a stream is an FPDU of the whole stream as the reader
// finds it in order, with the same ULPDU bytes; and none is found twice.
// Input: where the part begins and how it grows, then commands that build the stream:
// FPDUs of any length, whose payload is from the input, and changes to some bytes.
#include "support.hpp"

#include <map>

extern "C" {
#include "../../kernel/framing/early.h"
#include "../../kernel/framing/fpdu.h"
}

using namespace fuzz;

namespace
{

constexpr std::size_t stream_max = 20000;

void add_fpdu(mpa_tx_half &tx, Bytes &stream, Bytes ulpdu)
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
	stream.insert(stream.end(), to.begin(), to.end());
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

Bytes build(Input &in)
{
	mpa_tx_half tx = {.gap = 0, .markers = true, .crc = true};
	Bytes stream;

	while (!in.empty() && stream.size() < stream_max) {
		const std::uint8_t op = in.u8();

		if (op < 0xe0)
			add_fpdu(tx, stream, payload(in, op < 0x80 ? op : in.u16() % 3000));
		else if (!stream.empty())
			stream[in.u16() % stream.size()] ^= in.u8();
	}
	return stream;
}

// Lengths of the FPDUs of the whole stream, by their offsets, up to the first fault.
std::map<std::uint32_t, std::uint32_t> in_order(View stream)
{
	std::map<std::uint32_t, std::uint32_t> found;
	mpa_reader r;
	std::uint32_t at = 0, used = 0;

	mpa_reader_init(&r, true, true);
	while (at < stream.size() &&
	       mpa_reader_feed(&r, stream.data() + at, stream.size() - at, &used) ==
		       MPA_RX_FPDU) {
		found[at] = used;
		at += used;
	}
	return found;
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
	const Bytes stream = build(in);
	const auto known = in_order(stream);
	const auto length = static_cast<std::uint32_t>(stream.size());
	Part part{stream, length ? begin % length : 0, Portions(choice)};
	const mpa_early_source source = {copy, feed, &part};
	std::uint32_t behind = part.end;
	mpa_early e;
	mpa_reader r;

	// Behind a fault the reader stops, but a part may begin there.
	const std::uint32_t good = known.empty() ? 0 : known.rbegin()->first +
						       known.rbegin()->second;
	mpa_early_init(&e, part.end);
	while (part.end < length) {
		part.end = std::min(length, part.end + 1 + step % 3000);
		while (mpa_early_find(&e, &source, part.end, &r)) {
			const std::uint32_t start = e.floor - r.since_start;

			REQUIRE(start >= behind && e.floor <= part.end);
			behind = e.floor;
			if (e.floor > good)
				continue;
			const auto same = known.find(start);
			REQUIRE(same != known.end() && same->second == r.since_start);
		}
	}
	return 0;
}
