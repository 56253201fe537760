/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// NETLINK_RDMA of the running kernel.
#pragma once

#include <memory>

#include "model/rdma.hpp"

namespace mpactl {

// Unavailable if the kernel has no RDMA core and cannot load it.
std::unique_ptr<Rdma> open_nldev();

} // namespace mpactl
