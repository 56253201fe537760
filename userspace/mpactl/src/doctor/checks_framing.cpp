/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// TUF: whether each segment that arrives is a framing PDU. See sections 5.2 of
// draft-ietf-tsvwg-tcp-ulp-frame-00.

#include <fmt/format.h>

#include "doctor/checks.hpp"
#include "model/names.hpp"

namespace mpactl::checks {

namespace {

// A change of the EMSS divides what is queued at the sender, but not what follows. So the
// number of divided framing PDUs, and their share of those that are known to be divided or
// to begin a segment, must both be so large before anything is said. Of a receiver that
// does not keep up most are neither.
constexpr std::uint64_t parted_least = 64;
constexpr std::uint64_t parted_share = 8;

std::uint64_t count_of(const Framing &framing, unsigned int attribute)
{
	for (const auto &[key, value] : framing.stats)
		if (key == attribute)
			return value;
	return 0;
}

bool receives_frames(const Connection &conn)
{
	return conn.framing && conn.framing->mode & TCP_FRAMING_RECV_ALIGN;
}

bool is_resegmented(const Framing &framing)
{
	const auto parted = count_of(framing, MPA_A_FRAMING_RX_PARTED);

	return parted >= parted_least &&
	       parted * parted_share >=
		       parted + count_of(framing, MPA_A_FRAMING_RX_ALIGNED);
}

// Most framing PDUs were in one buffer with what came before them.
bool is_joined(const Framing &framing)
{
	const auto behind = count_of(framing, MPA_A_FRAMING_RX_UNALIGNED);

	return behind >= parted_least && behind > count_of(framing, MPA_A_FRAMING_RX_ALIGNED);
}

std::string capture_advice(const Connection &conn)
{
	return fmt::format("With \"ethtool -K NETDEV gro off\", this prints segments that are "
			   "not a framing PDU: tcpdump -ni any '{}'",
			   unframed_segments(conn));
}

Diagnosis resegmented(const Connection &conn)
{
	return warn(fmt::format("of {} framing PDUs from {}, {} or more arrived in several "
				"segments (connection {})",
				count_of(*conn.framing, MPA_A_FRAMING_RX_FRAMES),
				endpoint_text(conn.remote),
				count_of(*conn.framing, MPA_A_FRAMING_RX_PARTED), conn.id),
		    "mpactl conn show ID at the sender: if tx_pieces rises, its PDUs are too "
		    "long for the EMSS; else something on the way divides the stream "
		    "differently: the programs should use markers, or no framing. " +
			    capture_advice(conn));
}

// Joined segments hide where each began.
std::string capture_hint(const Connection &conn)
{
	return fmt::format("hint: the kernel has joined segments from {} (connection {}), so "
			   "it is not known whether each is a framing PDU. {}",
			   endpoint_text(conn.remote), conn.id, capture_advice(conn));
}

} // namespace

std::string unframed_segments(const Connection &conn)
{
	const bool ipv6 = conn.remote.bytes.size() == 16;
	const std::string header = ipv6 ? "((ip6[52]&240)>>2)" : "((tcp[12]&240)>>2)";
	const std::string length =
		ipv6 ? "ip6[4:2]-" + header : "ip[2:2]-((ip[0]&15)<<2)-" + header;
	const std::string payload =
		ipv6 ? "ip6[40+" + header + ":2]" : "tcp[" + header + ":2]";

	return fmt::format("src host {} and tcp src port {} and dst port {} and {}>0 and "
			   "{}!={}-8",
			   address_text(Endpoint{conn.remote.bytes, 0, 0}), conn.remote.port,
			   conn.local.port, length, payload, length);
}

Diagnosis framing(Examination &on)
{
	auto *mpa = on.machine.mpa();
	Diagnosis found = ok();

	if (!mpa)
		return skip("the netlink family is not available");
	for (const auto &conn : mpa->connections().items) {
		if (!receives_frames(conn))
			continue;
		if (is_resegmented(*conn.framing))
			return resegmented(conn);
		if (found.detail.empty() && is_joined(*conn.framing))
			found = ok(capture_hint(conn));
	}
	return found;
}

} // namespace mpactl::checks
