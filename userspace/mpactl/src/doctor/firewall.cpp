/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "doctor/firewall.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace mpactl {

namespace {

using Fate = FirewallResult::Fate;

enum class Fit { no, maybe, yes };

// The result of a chain; none: the next chain is evaluated.
enum class End { none, accept, drop };

struct Outcome {
	End end = End::none;
	// The result of rules that may match.
	bool maybe_accepted = false;
	bool maybe_dropped = false;
	std::string where;
};

Fit opposite(Fit fit)
{
	return fit == Fit::maybe ? Fit::maybe : fit == Fit::yes ? Fit::no : Fit::yes;
}

bool has(const Json &json, const char *key)
{
	return json.is_object() && json.contains(key);
}

std::string text_at(const Json &json, const char *key)
{
	return has(json, key) && json[key].is_string()
		? json[key].get<std::string>() : std::string();
}

// --- matches ------------------------------------------------------------------

// Applies `one` to a value, or to all elements of a set, and returns the best match.
template <typename One> Fit any_of(const Json &right, One one)
{
	const auto *list = &right;
	auto fit = Fit::no;

	if (has(right, "set"))
		list = &right["set"];
	if (!list->is_array())
		return one(*list);
	for (const auto &element : *list)
		fit = std::max(fit, one(element));
	return fit;
}

Fit holds_word(const Json &right, const std::vector<std::string> &words)
{
	return any_of(right, [&](const Json &one) {
		if (!one.is_string())
			return Fit::maybe;
		const auto text = one.get<std::string>();

		// A named set; its elements are not in the rule.
		if (text.starts_with('@'))
			return Fit::maybe;
		return std::find(words.begin(), words.end(), text) != words.end()
			? Fit::yes : Fit::no;
	});
}

Fit holds_protocol(const Json &right)
{
	return any_of(right, [](const Json &one) {
		if (one.is_number())
			return one == 6 ? Fit::yes : Fit::no;
		return holds_word(one, {"tcp"});
	});
}

Fit holds_port(const Json &right, std::optional<std::uint16_t> port)
{
	return any_of(right, [&](const Json &one) {
		if (has(one, "range") && one["range"].size() == 2 &&
		    one["range"][0].is_number() && one["range"][1].is_number()) {
			const int low = one["range"][0], high = one["range"][1];

			if (!port)
				return low <= 1 && high == 65535 ? Fit::yes
								 : Fit::maybe;
			return low <= *port && *port <= high ? Fit::yes : Fit::no;
		}
		if (!one.is_number())
			return Fit::maybe;
		if (!port)
			return Fit::maybe;
		return one == *port ? Fit::yes : Fit::no;
	});
}

// Whether the segment can be of this family, as far as the addresses are known.
bool may_be(const std::string &family, const Segment &segment)
{
	const auto is_six = [](const std::string &one) { return one.find(':') != one.npos; };
	const auto &all = segment.addresses;

	if (all.empty() || (family != "ip" && family != "ip6"))
		return true;
	return std::count_if(all.begin(), all.end(), is_six) !=
	       (family == "ip" ? std::ssize(all) : 0);
}

// A field of another protocol: the segment does not have it, so that it neither equals
// a value nor differs from one.
bool is_foreign(const Json &payload, const Segment &segment)
{
	const auto protocol = text_at(payload, "protocol");

	for (const char *other : {"udp", "udplite", "icmp", "icmpv6", "igmp", "sctp",
				  "dccp", "arp", "ah", "esp", "comp", "gre"})
		if (protocol == other)
			return true;
	return !may_be(protocol, segment);
}

Fit fits_payload(const Json &payload, const Json &right, const Segment &segment)
{
	const auto protocol = text_at(payload, "protocol");
	const auto field = text_at(payload, "field");

	if ((protocol == "tcp" || protocol == "th") && field == "dport")
		return holds_port(right, segment.port);
	if ((protocol == "ip" && field == "protocol") ||
	    (protocol == "ip6" && field == "nexthdr"))
		return holds_protocol(right);
	if (field == "daddr" && segment.addresses.size() == 1)
		return holds_word(right, segment.addresses);
	return Fit::maybe;
}

// Whether the network device has this name, which may end with an asterisk.
bool is_named(const std::string &netdev, const std::string &name)
{
	return name.ends_with('*')
		? netdev.starts_with(name.substr(0, name.size() - 1))
		: netdev == name;
}

Fit fits_meta(const std::string &key, const Json &right, const Segment &segment)
{
	if (key == "l4proto")
		return holds_protocol(right);
	if (key == "nfproto" || key == "protocol")
		return Fit::maybe;
	if (key != "iifname" && key != "iif")
		return Fit::maybe;
	return any_of(right, [&](const Json &one) {
		// A named set, or an index.
		if (!one.is_string() || one.get<std::string>().starts_with('@'))
			return Fit::maybe;
		return is_named(segment.netdev, one) ? Fit::yes : Fit::no;
	});
}

Fit fits_match(const Json &match, const Segment &segment)
{
	const Json nothing;
	const auto &left = has(match, "left") ? match["left"] : nothing;
	const auto &right = has(match, "right") ? match["right"] : nothing;
	auto fit = Fit::maybe;

	if (has(left, "payload") && is_foreign(left["payload"], segment))
		return Fit::no;
	if (has(left, "payload"))
		fit = fits_payload(left["payload"], right, segment);
	else if (has(left, "meta"))
		fit = fits_meta(text_at(left["meta"], "key"), right, segment);
	else if (has(left, "ct") && text_at(left["ct"], "key") == "state")
		fit = holds_word(right, {"new"});
	return text_at(match, "op") == "!=" ? opposite(fit) : fit;
}

// --- rules and chains ------------------------------------------------------------

class Ruleset {
public:
	explicit Ruleset(const Json &json)
	{
		if (!has(json, "nftables") || !json["nftables"].is_array())
			return;
		for (const auto &one : json["nftables"]) {
			if (has(one, "chain"))
				chains_[key_of(one["chain"], "name")].chain =
					&one["chain"];
			else if (has(one, "rule"))
				chains_[key_of(one["rule"], "chain")]
					.rules.push_back(&one["rule"]);
		}
	}

	// All base chains are evaluated; a packet is dropped if one drops it.
	FirewallResult check(const Segment &segment) const
	{
		FirewallResult result;

		for (const auto &[key, one] : chains_) {
			if (!one.chain || !is_incoming(*one.chain) ||
			    !sees(*one.chain, segment))
				continue;
			const auto outcome = base(key, one, segment);
			const auto fate = outcome.end == End::drop
				? (outcome.maybe_accepted ? Fate::maybe_accepted
							  : Fate::dropped)
				: (outcome.maybe_dropped ? Fate::maybe_dropped
							 : Fate::passes);
			if (fate > result.fate)
				result = {fate, outcome.where};
		}
		return result;
	}

private:
	struct Chain {
		const Json *chain = nullptr;
		std::vector<const Json *> rules;
	};

	// Limit for nested jumps, in case of a cycle.
	static constexpr int deepest = 16;

	static std::string key_of(const Json &json, const char *name)
	{
		return fmt::format("{} {}, chain {}", text_at(json, "family"),
				   text_at(json, "table"), text_at(json, name));
	}

	static bool is_incoming(const Json &chain)
	{
		const auto hook = text_at(chain, "hook");
		const auto type = text_at(chain, "type");

		return type == "filter" &&
		       (hook == "input" || hook == "prerouting" ||
			hook == "ingress");
	}

	// Whether such segments of the network device come to a base chain. Those that
	// a bridge passes on are no segments of its own.
	static bool sees(const Json &chain, const Segment &segment)
	{
		const auto family = text_at(chain, "family");

		if (family == "arp" || family == "bridge" || !may_be(family, segment))
			return false;
		if (!has(chain, "dev"))
			return true;
		return any_of(chain["dev"], [&](const Json &one) {
			return !one.is_string() || is_named(segment.netdev, one)
				? Fit::yes : Fit::no;
		}) == Fit::yes;
	}

	Outcome base(const std::string &key, const Chain &chain,
		     const Segment &segment) const
	{
		Outcome outcome;

		walk(key, chain, segment, true, 0, outcome);
		if (outcome.end == End::none &&
		    text_at(*chain.chain, "policy") == "drop") {
			outcome.end = End::drop;
			outcome.where = "the policy of table " + key;
		}
		return outcome;
	}

	// `sure`: the packet certainly reaches this chain.
	void walk(const std::string &key, const Chain &chain,
		  const Segment &segment, bool sure, int depth,
		  Outcome &outcome) const
	{
		int number = 0;

		for (const auto *rule : chain.rules) {
			number++;
			if (!has(*rule, "expr"))
				continue;
			const auto where = fmt::format("rule {} of table {}",
						       number, key);
			if (!apply(*rule, where, segment, sure, depth, outcome))
				return;
		}
	}

	// Returns false if the following rules are not evaluated.
	bool apply(const Json &rule, const std::string &where,
		   const Segment &segment, bool sure, int depth,
		   Outcome &outcome) const
	{
		auto fit = sure ? Fit::yes : Fit::maybe;

		for (const auto &one : rule["expr"]) {
			if (has(one, "match"))
				fit = std::min(fit,
					       fits_match(one["match"], segment));
			else if (has(one, "limit") || has(one, "xt") ||
				 has(one, "vmap"))
				fit = std::min(fit, Fit::maybe);
			if (fit == Fit::no)
				return true;
			if (!decide(one, rule, where, segment, fit, depth, outcome))
				return false;
		}
		return true;
	}

	bool decide(const Json &one, const Json &rule, const std::string &where,
		    const Segment &segment, Fit fit, int depth,
		    Outcome &outcome) const
	{
		const bool sure = fit == Fit::yes;

		if (has(one, "drop") || has(one, "reject"))
			return settle(outcome, End::drop, sure, where);
		if (has(one, "accept"))
			return settle(outcome, End::accept, sure, where);
		if (has(one, "return"))
			return !sure;
		// Verdicts of a map are not followed: it may have either.
		if (has(one, "vmap")) {
			settle(outcome, End::accept, false, where);
			settle(outcome, End::drop, false, where);
		}
		for (const char *kind : {"jump", "goto"}) {
			if (!has(one, kind) || depth >= deepest)
				continue;
			call(rule, text_at(one[kind], "target"), segment, sure,
			     depth, outcome);
			if (outcome.end != End::none)
				return false;
			if (sure && has(one, "goto"))
				return false;
		}
		return true;
	}

	void call(const Json &rule, const std::string &target,
		  const Segment &segment, bool sure, int depth,
		  Outcome &outcome) const
	{
		auto json = rule;

		json["chain"] = target;
		const auto key = key_of(json, "chain");
		const auto found = chains_.find(key);
		if (found != chains_.end())
			walk(key, found->second, segment, sure, depth + 1, outcome);
	}

	static bool settle(Outcome &outcome, End end, bool sure,
			   const std::string &where)
	{
		if (sure) {
			outcome.end = end;
			if (end == End::drop)
				outcome.where = where;
			return false;
		}
		if (end == End::accept)
			outcome.maybe_accepted = true;
		else if (!outcome.maybe_dropped) {
			outcome.maybe_dropped = true;
			outcome.where = where;
		}
		return true;
	}

	std::map<std::string, Chain> chains_;
};

} // namespace

FirewallResult check_firewall(const Json &ruleset, const Segment &segment)
{
	return Ruleset(ruleset).check(segment);
}

} // namespace mpactl
