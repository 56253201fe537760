/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Releases of mpactl and of the modules, which may differ.
#pragma once

#include <string>
#include <string_view>

namespace mpactl {

// Where the module mpa has its release, while it is loaded.
inline constexpr const char *module_release_file = "/sys/module/mpa/version";

// "mpactl is 0.9.0, the module mpa 1.0.0: upgrade mpactl", or empty if they are equal or
// the module's is not known. A new line after a release does not count.
std::string different_release(std::string_view module);

} // namespace mpactl
