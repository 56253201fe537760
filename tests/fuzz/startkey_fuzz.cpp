// SPDX-License-Identifier: GPL-2.0-only
//
// Start Keys of draft-culley-iwarp-mpa-03, and frames of RFC 5044 with the same bytes. Input:
// a byte of options, then bytes of a peer: parsed in every portion, compared with figure 7 of
// the draft, and answered.
#include "support.hpp"

extern "C" {
#include "../../kernel/framing/startkey.h"
}

using namespace fuzz;

namespace
{

enum {
	CHOOSE_MARKERS = 1 << 0,
	CHOOSE_CRC = 1 << 1,
	CHOOSE_REPLY = 1 << 2,
};

// What the figure says about so many bytes.
int wanted(View bytes)
{
	static const char text[] = "MPA ident frame";

	for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 15); i++)
		if (bytes[i] != text[i])
			return -EPROTO;
	if (bytes.size() < 16)
		return 0;
	return bytes[15] & 15 ? -EPROTONOSUPPORT : 16;
}

int parse(View bytes, bool reply, mpa_frame &frame)
{
	const Exact exact(bytes);
	const std::uint8_t *pd = nullptr;
	const int ret = mpa_key_parse(exact.data(), exact.size(), reply, &frame, &pd);

	REQUIRE((ret > 0) == (pd != nullptr));
	if (ret > 0)
		REQUIRE(pd == exact.data() + 16);
	return ret;
}

void check_kind(View bytes, int ret)
{
	const Exact exact(bytes);
	const std::uint8_t *pd;
	mpa_frame frame;
	const int other = mpa_frame_parse(exact.data(), exact.size(), false, &frame, &pd);

	// No bytes that tell the two apart are good for both.
	if (bytes.size() > 4)
		REQUIRE(ret < 0 || other < 0);
	REQUIRE(!mpa_is_start_key(exact.data(), exact.size()) || other < 0);
	REQUIRE(ret <= 0 || mpa_is_start_key(exact.data(), exact.size()));
}

void answer(const mpa_frame &key, unsigned int choice)
{
	mpa_params own{};
	mpa_frame rep, again;
	mpa_result res;
	std::uint8_t out[16];

	own.markers = choice & CHOOSE_MARKERS;
	own.crc = choice & CHOOSE_CRC;
	REQUIRE(!mpa_exchange_start_key.answer(&own, &key, false, &rep, &res));
	REQUIRE(res.tx_markers == key.markers && res.rx_markers == own.markers);
	REQUIRE(res.crc == (own.crc || key.crc) && !res.ddp_version && res.start_key);
	REQUIRE(mpa_exchange_start_key.build(out, sizeof(out), &rep, nullptr) == 16);
	REQUIRE(parse(View(out, 16), true, again) == 16);
	REQUIRE(again.markers == own.markers && again.crc == own.crc && again.reply);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
				      std::size_t size)
{
	Input in(data, size);
	const std::uint8_t choice = in.u8();
	const View bytes = in.rest().first(std::min<std::size_t>(in.rest().size(), 64));

	for (std::size_t n = 0; n <= bytes.size(); n++) {
		mpa_frame frame;
		const int ret = parse(bytes.first(n), choice & CHOOSE_REPLY, frame);

		REQUIRE(ret == wanted(bytes.first(n)));
		check_kind(bytes.first(n), ret);
		if (ret > 0)
			answer(frame, choice);
	}
	frames.add(wanted(bytes) != 0);
	return 0;
}
