/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "doctor/checks.hpp"

namespace mpactl {

namespace {

// What others need comes first.
constexpr Check checks_in_order[] = {
	{"module-files", "modules are installed for this kernel", "",
	 checks::module_files},
	{"module-version", "modules are built for this kernel", "module-files",
	 checks::module_version},
	{"module-signature", "this kernel loads modules that are not signed",
	 "module-files module-version", checks::module_signature},
	{"module-loaded", "mpa and mpa_rnic are loaded",
	 "module-files module-version module-signature", checks::module_loaded},
	{"family", "the modules are of this tool's time", "module-loaded",
	 checks::family},
	// Where rdma-core is installed, these come with the first device.
	{"ib-uverbs", "verbs are open to programs", "module-loaded",
	 checks::uverbs_module},
	{"rdma-ucm", "rdma_cm is open to programs", "module-loaded",
	 checks::rdma_cm_module},
	{"rdma-core", "libibverbs and librdmacm are installed", "",
	 checks::rdma_core},
	{"provider", "libibverbs finds our provider", "rdma-core",
	 checks::provider},
	{"driver-file", "libibverbs is told of our provider", "rdma-core",
	 checks::driver_file},
	{"device", "there is a device", "module-loaded", checks::device},
	{"netns", "a device's network device is in this namespace",
	 "module-loaded device", checks::netns},
	{"uverbs-node", "the device can be opened",
	 "module-loaded device ib-uverbs", checks::uverbs_node},
	{"rdma-cm-node", "rdma_cm can be opened", "rdma-ucm",
	 checks::rdma_cm_node},
	{"netdev", "network devices are up", "device netns", checks::netdev},
	{"address", "network devices have an IP address", "device netns netdev",
	 checks::address},
	{"mtu", "the MTU has room for FPDUs", "device netns", checks::mtu},
	{"other-rdma", "no other RDMA device shares the network device",
	 "device netns", checks::other_rdma},
	{"memlock", "memory may be locked", "", checks::memlock},
	{"settings", "settings let peers in", "module-loaded family",
	 checks::settings},
	{"port", "the port is free", "", checks::port},
	{"firewall", "no firewall keeps peers out", "device netns address",
	 checks::firewall},
	{"host-name", "the host's name leads to a device",
	 "device netns address", checks::host_name},
	{"peer", "the peer is found and reached through a device",
	 "device netns address", checks::peer},
	{"path-mtu", "the path to the peer carries whole packets",
	 "device netns address mtu peer", checks::path_mtu},
};

} // namespace

std::span<const Check> all_checks()
{
	return checks_in_order;
}

} // namespace mpactl
