/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The two ends of a conversation.
#pragma once

#include "options.hpp"
#include "report.hpp"

namespace bench {

// Serves clients until it is told to end, or has served one; throws Failure.
void serve(const ServerOptions &options);

// Does what the options say; each result is told when it is there unless all are
// wanted as JSON. Throws Failure.
Report measure(const ClientOptions &options);

} // namespace bench
