/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

#include <nlohmann/json.hpp>

namespace mpactl {

// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

} // namespace mpactl
