/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Sockets of KCM, the kernel connection multiplexor, which divides the stream of a TCP
// connection into messages.
#pragma once

#include <cstdint>

#include "net.hpp"

namespace bench {

// A socket of messages of so many bytes over a connected TCP socket, which stays open, but
// is not read or written any more. Throws Failure "unavailable" if the kernel has no KCM
// or no BPF, or does not permit it.
Fd kcm_over(int tcp, std::uint32_t bytes);

} // namespace bench
