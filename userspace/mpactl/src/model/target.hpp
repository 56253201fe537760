/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Names of objects with settings, for messages and tables.
#pragma once

#include <string>

#include "model/model.hpp"

namespace mpactl {

// "defaults", "device mpa1", "listener 3".
std::string target_text(const Target &target);

} // namespace mpactl
