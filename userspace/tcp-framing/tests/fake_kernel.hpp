/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A fake kernel behind libtcp-framing.so: sockets are numbers from FIRST on, other
// descriptors and options are left to the real kernel.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fake {

inline constexpr int FIRST = 1000;

struct Kernel {
	// Each call, as "set 1000 TCP_ULP mpa".
	std::vector<std::string> calls;
	// Sockets that have the upper-layer protocol.
	std::map<int, bool> attached;
	// Errors of attaching; 0: none.
	int attach_error = 0;
	// Errors of options on an attached socket.
	std::map<int, int> errors;
	// The error of these options on a socket without the protocol.
	int plain_error;
	// Runs within the call that attaches, as another thread might.
	std::function<void()> meanwhile;
};

Kernel &kernel();

} // namespace fake
