/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// RDMA devices of the RDMA core, which lists, creates and removes them through
// NETLINK_RDMA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpactl {

struct RdmaDevice {
	std::uint32_t index = 0;
	std::string name;
	// Name of the network device below; empty if it is in another namespace.
	std::string netdev;

	bool operator==(const RdmaDevice &) const = default;
};

// Every member throws KernelError if the kernel refuses the request.
class Rdma {
public:
	virtual ~Rdma() = default;

	// Devices of all drivers that are visible in this namespace, sorted by index.
	virtual std::vector<RdmaDevice> devices() = 0;
	// Whether this namespace has a network device of that name, for add().
	virtual bool has_netdev(const std::string &name) = 0;
	// Creates a device of the type "mpa".
	virtual void add(const std::string &name, const std::string &netdev) = 0;
	virtual void remove(const std::string &name) = 0;
};

} // namespace mpactl
