/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What an nftables ruleset does to the first segment of a connection from
// elsewhere. Rules that look at what is not known here may fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace mpactl {

struct Segment {
	std::string netdev;
	// Own addresses it may be for.
	std::vector<std::string> addresses;
	// None: a rule for some ports is none for all.
	std::optional<std::uint16_t> port;
};

struct FirewallVerdict {
	enum class Fate {
		passes,
		// A rule that looks at what is not known here may drop it.
		maybe_dropped,
		// It is dropped unless such a rule accepts it.
		maybe_accepted,
		dropped,
	};
	Fate fate = Fate::passes;
	// "rule 4 of table inet filter, chain input"
	std::string where;
};

// `ruleset`: of `nft -j list ruleset`.
FirewallVerdict judge_firewall(const Json &ruleset, const Segment &segment);

} // namespace mpactl
