/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Reads and writes whole files.
#pragma once

#include <string>

namespace mpactl {

// Longest file that is read.
constexpr std::size_t file_max = 1 << 20;

// "-" is standard input. Throws IoError if the file cannot be read or is longer than
// file_max.
std::string read_file(const std::string &path);
// Replaces the file atomically, or throws IoError and changes nothing. A file that
// is not a regular file is opened and written.
void write_file(const std::string &path, const std::string &text);

} // namespace mpactl
