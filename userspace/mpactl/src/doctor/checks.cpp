/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "doctor/checks.hpp"

namespace mpactl {

namespace {

// A check is behind the checks that it needs.
constexpr Check checks_in_order[] = {
	{"module-files", "modules are installed for this kernel", "",
	 checks::module_files},
	{"module-version", "modules are built for this kernel", "module-files",
	 checks::module_version},
	{"module-signature", "this kernel permits the modules' signatures",
	 "module-files module-version", checks::module_signature},
	{"module-loaded", "mpa and mpa_rnic are loaded",
	 "module-files module-version module-signature", checks::module_loaded},
	{"family", "mpa has the netlink family of this tool", "module-loaded",
	 checks::family},
	{"release", "mpactl and the modules are of one release", "module-loaded",
	 checks::release},
	// If rdma-core is installed, these are loaded with the first device.
	{"ib-uverbs", "the module for verbs is loaded", "module-loaded",
	 checks::uverbs_module},
	{"rdma-ucm", "the module for rdma_cm is loaded", "module-loaded",
	 checks::rdma_cm_module},
	{"rdma-core", "libibverbs and librdmacm are installed", "",
	 checks::rdma_core},
	{"provider", "libibverbs finds the mpa provider", "rdma-core",
	 checks::provider},
	{"driver-file", "libibverbs is configured to load the mpa provider",
	 "rdma-core", checks::driver_file},
	{"device", "there is a device", "module-loaded", checks::device},
	{"netns", "the network device is in this namespace",
	 "module-loaded device", checks::netns},
	{"uverbs-node", "the device node can be opened",
	 "module-loaded device ib-uverbs", checks::uverbs_node},
	{"rdma-cm-node", "the rdma_cm node can be opened", "rdma-ucm",
	 checks::rdma_cm_node},
	{"netdev", "network devices are up", "device netns", checks::netdev},
	{"address", "network devices have an IP address", "device netns netdev",
	 checks::address},
	{"mtu", "the MTU is large enough for FPDUs", "device netns", checks::mtu},
	{"other-rdma", "no other iWARP device uses the network device",
	 "device netns", checks::other_rdma},
	{"memlock", "enough memory can be locked", "", checks::memlock},
	{"settings", "no setting prevents connections", "module-loaded family",
	 checks::settings},
	{"framing", "framing PDUs arrive in one segment each", "", checks::framing},
	{"port", "the port is free", "", checks::port},
	{"firewall", "no firewall drops connections", "device netns address",
	 checks::firewall},
	{"host-name", "the host's name resolves to a device",
	 "device netns address", checks::host_name},
	{"peer", "the route to the peer uses a device",
	 "device netns address", checks::peer},
	{"path-mtu", "packets of the MTU's size reach the peer",
	 "device netns address mtu peer", checks::path_mtu},
};

} // namespace

std::span<const Check> all_checks()
{
	return checks_in_order;
}

} // namespace mpactl
