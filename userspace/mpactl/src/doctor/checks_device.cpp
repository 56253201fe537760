/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Devices, their nodes, their network devices and their settings.

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "doctor/checks.hpp"
#include "model/settings.hpp"

namespace mpactl::checks {

namespace {

constexpr const char *nodes = "/dev/infiniband/";

// The name of a suitable network device, for a remedy.
std::string some_netdev(Examination &on)
{
	for (const auto &one : on.netdevs())
		if (one.up && !one.loopback)
			return one.name;
	return "NETDEV";
}

// "exclusive", "shared", or nothing.
std::string netns_mode(Examination &on)
{
	const auto end = on.machine.run({"rdma", "system", "show"});

	for (const char *mode : {"exclusive", "shared"})
		if (end.good() && end.out.find(std::string("netns ") + mode) !=
					  std::string::npos)
			return mode;
	return {};
}

std::string node_of(Examination &on, const std::string &device)
{
	const std::string dir = "/sys/class/infiniband_verbs";

	for (const auto &name : on.machine.list(dir)) {
		const auto file = on.machine.read(dir + "/" + name + "/ibdev");

		if (file.text.substr(0, file.text.find('\n')) == device)
			return name;
	}
	return {};
}

Diagnosis can_open(Examination &on, const std::string &path)
{
	const int error = on.machine.access(path);

	if (!error)
		return ok(path);
	if (error == ENOENT)
		return fail(path + " does not exist",
			    "mount a devtmpfs at /dev, or make /dev/infiniband "
			    "available in the container; udevadm trigger");
	return fail(fmt::format("{}: {}", path,
				std::generic_category().message(error)),
		    fmt::format("chmod 666 {}; permanently: install the udev "
				"rules of rdma-core, or add the user to the group "
				"of the node",
				path));
}

bool is_link_local(const std::string &address)
{
	return address.starts_with("fe80:") || address.starts_with("169.254.");
}

// Checks the network device of each device and returns the worst result.
Diagnosis each_netdev(Examination &on, Diagnosis (*check)(const Netdev &))
{
	Diagnosis worst = ok();

	for (const auto &device : on.devices_here()) {
		auto one = check(*device.netdev);

		if (one.health == Health::ok || worst.health == Health::fail)
			continue;
		one.detail = fmt::format("{} of {} {}", device.netdev->name,
					 device.name, one.detail);
		worst = std::move(one);
	}
	return worst;
}

Diagnosis judge_netdev(const Netdev &netdev)
{
	if (!netdev.up)
		return fail("is down", "ip link set " + netdev.name + " up");
	if (!netdev.carrier)
		return fail("has no carrier",
			    "connect the cable, or enable the other end");
	return ok();
}

Diagnosis judge_address(const Netdev &netdev)
{
	const auto remedy = fmt::format("ip address add ADDRESS/LENGTH dev {}",
					netdev.name);

	if (netdev.addresses.empty())
		return fail("has no IP address", remedy);
	if (std::all_of(netdev.addresses.begin(), netdev.addresses.end(),
			is_link_local))
		return warn("has link-local addresses only", remedy);
	return ok();
}

Diagnosis judge_mtu(const Netdev &netdev)
{
	// RFC 5044 section 3 requires ULPDUs of 128 bytes. The headers are those of
	// the FPDU, of TCP with timestamps, and of IPv4.
	static constexpr unsigned int least = 128 + 8 + 32 + 20;
	static constexpr unsigned int ipv6 = 1280;
	const auto remedy = fmt::format("ip link set {} mtu 1500, or 9000 if the "
					"whole network has that",
					netdev.name);

	if (netdev.mtu >= ipv6)
		return ok();
	if (netdev.mtu < least)
		return fail(fmt::format("has an MTU of {}, which is too small for "
					"FPDUs",
					netdev.mtu),
			    remedy);
	return warn(fmt::format("has an MTU of {}: no IPv6, and FPDUs are small",
				netdev.mtu),
		    remedy);
}

// --- settings -------------------------------------------------------------------

struct Suspect {
	unsigned int key;
	bool (*is_bad)(std::uint32_t value);
	const char *effect;
};

constexpr Suspect suspects[] = {
	{MPA_A_CONFIG_REVISION, [](std::uint32_t value) {
		 return value == MPA_REVISION_0;
	 }, "refuses all peers but those of revision 0"},
	{MPA_A_CONFIG_REVISION, [](std::uint32_t value) {
		 return value == MPA_REVISION_2;
	 }, "refuses peers of revision 1"},
	{MPA_A_CONFIG_HALF_OPEN_MAX, [](std::uint32_t value) {
		 return value < 8;
	 }, "refuses peers if several connect at the same time"},
	{MPA_A_CONFIG_STARTUP_TIMEOUT, [](std::uint32_t value) {
		 return value < 1000;
	 }, "is too short for peers that are slow or lose a packet"},
	{MPA_A_CONFIG_REPLY_TIMEOUT, [](std::uint32_t value) {
		 return value < 1000;
	 }, "is too short for servers that are slow or lose a packet"},
	{MPA_A_CONFIG_IRD, [](std::uint32_t value) {
		 return value == 0;
	 }, "prevents RDMA Reads by peers"},
	{MPA_A_CONFIG_ORD, [](std::uint32_t value) {
		 return value == 0;
	 }, "prevents RDMA Reads by programs on this host"},
};

// "dev mpa1 revision 2: " and its effect.
Diagnosis judge_settings(const std::string &object, const Config &config)
{
	for (const auto &one : suspects) {
		const auto *setting = setting_of(one.key);

		if (!setting || !config.in_force.has(one.key) ||
		    !one.is_bad(config.in_force.at(one.key)))
			continue;
		return warn(fmt::format("{}{} {}: {}", object, setting->name,
					value_text(*setting,
						   config.in_force.at(one.key)),
					one.effect),
			    fmt::format("mpactl set {}{} inherit", object,
					setting->name));
	}
	return ok();
}

bool crc_is_off(const Config &config)
{
	return config.in_force.has(MPA_A_CONFIG_CRC) &&
	       config.in_force.at(MPA_A_CONFIG_CRC) ==
		       MPA_CONFIG_CRC_PREFERRED_OFF;
}

} // namespace

Diagnosis device(Examination &on)
{
	const bool exclusive = netns_mode(on) == "exclusive";

	if (!on.devices().empty())
		return ok();
	return fail(exclusive ? "no device of type mpa in this network namespace; "
				"the RDMA core hides those of other namespaces"
			      : "there is no device of type mpa",
		    fmt::format("rdma link add mpa0 type mpa netdev {}{}",
				some_netdev(on),
				exclusive ? "; or move one here: rdma dev set "
					    "NAME netns NAMESPACE"
					  : ""));
}

Diagnosis netns(Examination &on)
{
	std::vector<std::string> names;

	if (!on.devices_here().empty())
		return ok();
	for (const auto &one : on.devices())
		names.push_back(one.name);
	return fail(fmt::format("{}: the device is visible, because the RDMA core "
				"shares devices, but its network device is in "
				"another namespace",
				fmt::join(names, ", ")),
		    fmt::format("run the program in that namespace (ip netns "
				"exec), or create a device here: rdma link add "
				"NAME type mpa netdev {}",
				some_netdev(on)));
}

Diagnosis uverbs_node(Examination &on)
{
	Diagnosis last = ok();

	for (const auto &one : on.devices()) {
		const auto node = node_of(on, one.name);

		last = node.empty() ? fail(one.name + " has no uverbs node",
					   "modprobe -r ib_uverbs; modprobe "
					   "ib_uverbs")
				    : can_open(on, nodes + node);
		if (last.health != Health::ok)
			return last;
	}
	return last;
}

Diagnosis rdma_cm_node(Examination &on)
{
	return can_open(on, std::string(nodes) + "rdma_cm");
}

Diagnosis netdev(Examination &on)
{
	return each_netdev(on, judge_netdev);
}

Diagnosis address(Examination &on)
{
	return each_netdev(on, judge_address);
}

Diagnosis mtu(Examination &on)
{
	return each_netdev(on, judge_mtu);
}

Diagnosis other_rdma(Examination &on)
{
	for (const auto &mpa_device : on.devices_here())
		for (const auto &one : on.rdma_devices()) {
			const auto type = on.machine.read(
				"/sys/class/infiniband/" + one.name + "/node_type");

			// Only iWARP devices use TCP ports, too.
			if (one.netdev != mpa_device.netdev->name ||
			    one.name == mpa_device.name || !type.text.starts_with('4'))
				continue;
			return fail(fmt::format("{} is at {}, too: both use the "
						"same TCP ports, so programs that "
						"listen at any address fail",
						one.name, one.netdev),
				    "rdma link delete " + one.name);
		}
	return ok();
}

Diagnosis settings(Examination &on)
{
	auto *mpa = on.machine.mpa();
	std::string crc_off;

	if (!mpa)
		return skip("the netlink family is not available");
	const auto defaults = mpa->defaults();
	auto worst = judge_settings("", defaults.config);
	if (worst.health != Health::ok)
		return worst;
	for (const auto &one : mpa->devices().items) {
		worst = judge_settings("dev " + one.name + " ", one.config);
		if (worst.health != Health::ok)
			return worst;
		if (crc_is_off(one.config))
			crc_off += (crc_off.empty() ? "" : ", ") + one.name;
	}
	return crc_off.empty()
		? ok()
		: ok(fmt::format("hint: {} prefers no CRCs; if the peer does, too, "
				 "corrupted data is not detected",
				 crc_off));
}

} // namespace mpactl::checks
