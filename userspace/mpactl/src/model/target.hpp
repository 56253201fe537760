/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Objects with settings on the command line: [dev NAME | listen ID].
#pragma once

#include <string>

#include "base/words.hpp"
#include "model/model.hpp"

namespace mpactl {

Target target_from(Words &words);
// "defaults", "device mpa1", "listener 3".
std::string target_text(const Target &target);

} // namespace mpactl
