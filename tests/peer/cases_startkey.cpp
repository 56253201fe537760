// SPDX-License-Identifier: GPL-2.0-only
//
// Start Keys (draft-culley-iwarp-mpa-03 section 8.1) with the peer as Initiator, at a target
// that takes frames, too (startup either): what is sent in place of a good one.
#include "cases.hpp"

namespace peer {

namespace {

constexpr std::string_view key_text = "MPA ident frame";

Bytes start_key(int last = flag_crc)
{
	auto key = text(key_text);

	key.push_back(static_cast<std::uint8_t>(last));
	return key;
}

Bytes wrong_at(std::size_t at)
{
	auto key = start_key();

	key[at] ^= 0x01;
	return key;
}

Case &refused(Table &t, const std::string &name, const std::string &what,
	      std::vector<Step> steps)
{
	return t.add("startkey/" + name, what, connected, std::move(steps), closes())
		.only(Role::initiator)
		.only(Kind::rnic)
		.counts("conn_startup_error");
}

} // namespace

void add_start_keys(Table &t)
{
	for (std::size_t at = 0; at < key_text.size(); at++) {
		const auto number = std::to_string(at);

		refused(t, "byte-" + number, "one bit of byte " + number + " is wrong",
			{send(wrong_at(at))});
		refused(t, "byte-" + number + "-dripped", "the same, byte by byte",
			{drip(first(wrong_at(at), at + 1))});
		refused(t, "end-after-" + number, "a FIN after " + number + " bytes",
			{send(first(start_key(), at)), fin()});
	}
	for (int rev = 1; rev < 16; rev++)
		refused(t, "rev-" + std::to_string(rev), "a revision that is not 0",
			{send(start_key(flag_crc | rev))});
}

} // namespace peer
