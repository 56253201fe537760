/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl complete -- WORD...: what a shell may offer in the place of the last
// word, one to a line, with a tab and a remark where there is one. Not for
// persons; the completions in completion/ call it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mpactl {

struct CompleteOptions {
	// The command line behind "mpactl", up to the cursor.
	std::vector<std::string> words;
};

// In the place of words: the shell is to offer files.
constexpr const char *complete_files = ":files";
// Likewise hosts.
constexpr const char *complete_hosts = ":hosts";

// After all other commands, which it offers.
void setup_complete(CLI::App &app, Run &chosen);

} // namespace mpactl
