/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// RDMA devices as the RDMA core has them: made, removed, listed by NETLINK_RDMA.
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

// Every member throws KernelError with the kernel's refusal.
class Rdma {
public:
	virtual ~Rdma() = default;

	// Devices of every driver that are visible here, by index.
	virtual std::vector<RdmaDevice> devices() = 0;
	// Makes a device of the type "mpa".
	virtual void add(const std::string &name, const std::string &netdev) = 0;
	virtual void remove(const std::string &name) = 0;
};

} // namespace mpactl
