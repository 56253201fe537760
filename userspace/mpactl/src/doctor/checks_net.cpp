/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The network: firewall, ports, names and the path to the peer.

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <linux/capability.h>

#include "doctor/checks.hpp"
#include "doctor/firewall.hpp"

namespace mpactl::checks {

namespace {

using Fate = FirewallResult::Fate;

bool is_loopback(const std::string &address)
{
	return address == "::1" || address.starts_with("127.");
}

std::string port_text(const DoctorOrder &order)
{
	return order.port ? fmt::format("TCP port {}", *order.port)
			  : std::string("TCP");
}

// --- firewall -------------------------------------------------------------------

// The ruleset, or the reason why it is unknown.
std::pair<Json, std::string> read_ruleset(Examination &on)
{
	const auto end = on.machine.run({"nft", "-j", "list", "ruleset"});
	auto json = Json::parse(end.out, nullptr, false);

	if (!end.found)
		return {Json(), "the program nft is not installed"};
	if (end.timed_out)
		return {Json(), "nft did not finish"};
	if (end.too_long)
		return {Json(), "they are longer than 4 MiB"};
	if (end.status && !on.machine.capable(CAP_NET_ADMIN))
		return {Json(), "nft is not permitted to read them (root is)"};
	if (end.status)
		return {Json(), "nft has failed: " + end.err.substr(0, end.err.find('\n'))};
	if (json.is_discarded())
		return {Json(), "the output of nft is not JSON"};
	return {std::move(json), {}};
}

Diagnosis check_rules(Examination &on, const Json &ruleset)
{
	const auto &order = on.order;
	const auto remedy = fmt::format(
		"nft insert rule FAMILY TABLE CHAIN tcp dport {} accept; see nft "
		"list ruleset",
		order.port ? std::to_string(*order.port) : "PORT");
	Diagnosis diagnosis = ok();

	for (const auto &device : on.devices_here()) {
		const auto &netdev = *device.netdev;
		const auto result = check_firewall(
			ruleset, {netdev.name, netdev.addresses, order.port});

		if (result.fate == Fate::dropped)
			return fail(fmt::format("{} to {} is dropped by {}",
						port_text(order), netdev.name,
						result.where),
				    remedy);
		if (result.fate == Fate::maybe_accepted)
			diagnosis = warn(
				fmt::format("{} to {} is dropped by {}, unless "
					    "another rule accepts it{}",
					    port_text(order), netdev.name,
					    result.where,
					    order.port ? ""
						       : "; use --port for a "
							 "precise result"),
				remedy);
		if (result.fate == Fate::maybe_dropped &&
		    diagnosis.health == Health::ok)
			diagnosis = ok(result.where + " may drop some packets");
	}
	return diagnosis;
}

// Connects to each local address, which tests at least the rules for lo.
Diagnosis try_loops(Examination &on)
{
	Diagnosis diagnosis = ok();

	for (const auto &device : on.devices_here())
		for (const auto &own : device.netdev->addresses) {
			// A link-local address would need its scope.
			if (own.starts_with("fe80:"))
				continue;
			auto loop = on.machine.loop(own,
						    on.order.port.value_or(0));
			// In use, or below 1024.
			if (loop.end == LoopEnd::not_bound)
				loop = on.machine.loop(own, 0);
			if (loop.end == LoopEnd::connected)
				continue;
			// Such as one of a VRF.
			if (loop.end == LoopEnd::not_bound) {
				diagnosis = ok(fmt::format("no program here can listen at {}: {}",
							   own, loop.why));
				continue;
			}
			return fail(fmt::format("a TCP connection to the local "
						"address {} fails: {}",
						own, loop.why),
				    "see nft list ruleset and iptables-save for "
				    "rules that drop or reject it, and whether lo "
				    "is up");
		}
	return diagnosis;
}

// --- port -----------------------------------------------------------------------

// A line of /proc/net/tcp: "0: 0100007F:1F90 00000000:0000 0A ...".
bool is_listener_at(const std::string &line, std::uint16_t port)
{
	std::istringstream words(line);
	std::string number, local, remote, state;

	words >> number >> local >> remote >> state;
	return state == "0A" && local.ends_with(fmt::format(":{:04X}", port));
}

bool has_listener(Examination &on, std::uint16_t port)
{
	for (const char *path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
		std::istringstream lines(on.machine.read(path).text);
		std::string line;

		while (std::getline(lines, line))
			if (is_listener_at(line, port))
				return true;
	}
	return false;
}

bool device_listens(Examination &on, std::uint16_t port)
{
	auto *mpa = on.machine.mpa();

	if (!mpa)
		return false;
	const auto listing = mpa->listeners();
	return std::any_of(listing.items.begin(), listing.items.end(),
			   [&](const Listener &one) {
				   return one.owner == MPA_OWNER_DEVICE &&
					  one.local.port == port;
			   });
}

// --- names and routes -----------------------------------------------------------

bool is_address_of_device(Examination &on, const std::string &address)
{
	for (const auto &device : on.devices_here())
		for (const auto &own : device.netdev->addresses)
			if (own == without_scope(address))
				return true;
	return false;
}

std::string some_address(Examination &on)
{
	for (const auto &device : on.devices_here())
		for (const auto &own : device.netdev->addresses)
			if (!own.starts_with("fe80:"))
				return own;
	return "ADDRESS";
}

// The network device of the route to the address, from `ip route get`; empty if there
// is no route. For a local address, the network device that has it.
std::string route_to(Examination &on, const std::string &address)
{
	const auto *own = on.netdev_with(address);
	const auto scope = scope_of(address);

	if (own)
		return own->name;
	if (!scope.empty())
		return scope;
	const auto end = on.machine.run({"ip", "-j", "route", "get", address});
	const auto json = Json::parse(end.out, nullptr, false);
	if (!end.good() || !json.is_array() || json.empty() ||
	    !json[0].contains("dev") || !json[0]["dev"].is_string())
		return {};
	return json[0]["dev"];
}

Diagnosis check_route(Examination &on, const std::string &address)
{
	const auto netdev = route_to(on, address);

	if (netdev.empty())
		return fail(fmt::format("there is no route to {}", address),
			    fmt::format("ip route add {} via GATEWAY", address));
	for (const auto &device : on.devices_here())
		if (device.netdev->name == netdev)
			return ok(fmt::format("{} through {} ({})", address,
					      device.name, netdev));
	return fail(fmt::format("the route to {} uses {}, which has no device",
				address, netdev),
		    fmt::format("rdma link add NAME type mpa netdev {}, or add a "
				"route through a network device that has one",
				netdev));
}

} // namespace

Diagnosis firewall(Examination &on)
{
	const auto [ruleset, why] = read_ruleset(on);
	Diagnosis rules = ok("rules are unknown: " + why);

	if (why.empty())
		rules = check_rules(on, ruleset);
	if (rules.health != Health::ok)
		return rules;
	auto loops = try_loops(on);
	return loops.health == Health::ok && !rules.detail.empty() ? rules : loops;
}

Diagnosis port(Examination &on)
{
	if (!on.order.port)
		return skip("no --port given");
	const auto number = *on.order.port;
	if (!has_listener(on, number))
		return ok();
	if (device_listens(on, number))
		return ok("an RDMA program listens there");
	return fail(fmt::format("TCP port {} is used by a listener without RDMA",
				number),
		    fmt::format("ss -ltnp 'sport = :{}' shows the program; stop it, "
				"or use another port",
				number));
}

Diagnosis host_name(Examination &on)
{
	const auto name = on.machine.host_name();
	const auto found = on.resolve(name);
	const auto remedy = fmt::format("in /etc/hosts: {} {}", some_address(on),
					name);

	if (found.empty())
		return warn(fmt::format("the host's name {} has no address", name),
			    remedy);
	if (std::any_of(found.begin(), found.end(), [&](const auto &one) {
		    return is_address_of_device(on, one);
	    }))
		return ok(name);
	const bool loopback =
		std::all_of(found.begin(), found.end(), is_loopback);
	return warn(fmt::format("the host's name {} resolves to {}, {}", name,
				fmt::join(found, ", "),
				loopback ? "which is loopback only"
					 : "which is not an address of a device"),
		    remedy);
}

Diagnosis peer(Examination &on)
{
	if (on.order.peer.empty())
		return skip("no --peer given");
	const auto found = on.resolve(on.order.peer);
	if (found.empty())
		return fail(fmt::format("the name {} has no address", on.order.peer),
			    fmt::format("in /etc/hosts: ADDRESS {}; or add the name "
					"to DNS",
					on.order.peer));
	// Programs use the first address.
	return check_route(on, found.front());
}

Diagnosis path_mtu(Examination &on)
{
	if (on.order.peer.empty())
		return skip("no --peer given");
	const auto found = on.resolve(on.order.peer);
	if (found.empty() || on.netdev_with(found.front()))
		return skip("the peer is this host");
	const auto netdev = route_to(on, found.front());
	const auto &all = on.netdevs();
	const auto out = std::find_if(all.begin(), all.end(), [&](const auto &one) {
		return one.name == netdev;
	});
	if (out == all.end())
		return skip("no such network device: " + netdev);
	const auto path = on.machine.path(found.front(), out->mtu);
	if (path.mtu && path.mtu < out->mtu)
		return warn(fmt::format("the path carries packets of {} bytes, but "
					"{} has an MTU of {}",
					path.mtu, netdev, out->mtu),
			    fmt::format("ip link set {} mtu {}", netdev, path.mtu));
	if (!path.small_answered)
		return skip("the peer does not answer datagrams");
	if (!path.large_answered)
		return fail(fmt::format("packets of {} bytes, the MTU of {}, do not "
					"arrive, but small ones do",
					out->mtu, netdev),
			    "set the same MTU on both hosts and everything between "
			    "them: ip link set NETDEV mtu BYTES");
	return ok();
}

} // namespace mpactl::checks
