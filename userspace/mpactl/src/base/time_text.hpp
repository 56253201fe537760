/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Points in time as text and as numbers.
#pragma once

#include <chrono>
#include <string>

namespace mpactl {

// Seconds since 1970, with microseconds.
double unix_seconds(std::chrono::system_clock::time_point when);
// Local time of day, 17:03:05.123.
std::string clock_text(std::chrono::system_clock::time_point when);

} // namespace mpactl
