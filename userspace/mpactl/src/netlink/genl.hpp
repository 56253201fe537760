/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The family "mpa" of the running kernel.
#pragma once

#include <memory>

#include "model/transport.hpp"

namespace mpactl {

// Throws Unavailable if the kernel does not have the family and cannot load it.
std::unique_ptr<Transport> open_genl();

} // namespace mpactl
