/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl complete -- WORD...: prints the words that a shell can offer in place of
// the last one, one per line, each with a tab and a remark if there is one. It is
// called by the scripts in completion/.
#pragma once

#include "cli/command.hpp"

namespace mpactl {

// To be called after the setup of all other commands.
void setup_complete(CommandLine &line);

} // namespace mpactl
