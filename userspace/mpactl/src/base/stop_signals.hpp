/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// SIGINT and SIGTERM: as a request to stop, or delayed.
#pragma once

#include <csignal>

namespace mpactl {

// The first object installs the handlers for the rest of the process. The first
// SIGINT or SIGTERM only requests a stop. The next one of either kind ends the
// process, even if it is blocked, for example in a write to a full pipe.
class StopSignals {
public:
	StopSignals();

	// Readable once a stop was requested.
	int fd() const;
	bool pending() const;
};

// Blocks both signals, and SIGHUP, for its lifetime, for changes that must not be left
// incomplete: what undoes them on an error does not run if a signal ends the process.
class BlockedStopSignals {
public:
	BlockedStopSignals() noexcept;
	~BlockedStopSignals();
	BlockedStopSignals(const BlockedStopSignals &) = delete;
	BlockedStopSignals &operator=(const BlockedStopSignals &) = delete;

private:
	sigset_t before_;
};

} // namespace mpactl
