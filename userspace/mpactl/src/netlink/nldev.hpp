/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// NETLINK_RDMA of the running kernel.
#pragma once

#include <memory>

#include "model/rdma.hpp"
#include "netlink/netlink.hpp"

namespace mpactl {

// Unavailable if the kernel has no RDMA core and cannot load it.
std::unique_ptr<Rdma> open_nldev();
// The same with requests to `channel`.
std::unique_ptr<Rdma> nldev_over(std::unique_ptr<netlink::Channel> channel);

} // namespace mpactl
