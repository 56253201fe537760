/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The effect of an nftables ruleset on the first segment of an incoming connection.
// A rule that depends on unknown properties of the segment may match.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace mpactl {

struct Segment {
	std::string netdev;
	// Possible destination addresses.
	std::vector<std::string> addresses;
	// Absent: any port; a rule for some ports does not match all of them.
	std::optional<std::uint16_t> port;
};

struct FirewallResult {
	enum class Fate {
		passes,
		// A rule that depends on unknown properties may drop it.
		maybe_dropped,
		// It is dropped unless such a rule accepts it.
		maybe_accepted,
		dropped,
	};
	Fate fate = Fate::passes;
	// "rule 4 of table inet filter, chain input"
	std::string where;
};

// `ruleset`: the output of `nft -j list ruleset`.
FirewallResult check_firewall(const Json &ruleset, const Segment &segment);

} // namespace mpactl
