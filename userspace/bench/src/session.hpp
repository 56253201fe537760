/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The client's and the server's main function.
#pragma once

#include "options.hpp"
#include "report.hpp"

namespace bench {

// Serves clients until it is asked to end, or has served one; throws Failure.
void serve(const ServerOptions &options);

// Does what the options request. Each result is printed as soon as it is known,
// unless all are wanted as JSON. Throws Failure.
Report measure(const ClientOptions &options);

} // namespace bench
