/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Files as a whole; "-" is standard input or output.
#pragma once

#include <string>

namespace mpactl {

// No file of ours is longer.
constexpr std::size_t file_max = 1 << 20;

// IoError if it cannot be read, or is longer than file_max.
std::string read_file(const std::string &path);
// The new file takes the place of the old one at once, or nothing has changed and
// IoError is thrown. What is no ordinary file is written to as it is.
void write_file(const std::string &path, const std::string &text);

} // namespace mpactl
