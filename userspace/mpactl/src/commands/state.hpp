/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The settings of a namespace as they are saved in a file, and the changes from one
// such state to another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "cli/context.hpp"
#include "model/model.hpp"

namespace mpactl {

// A device and the settings that were set at it.
struct SavedDevice {
	std::string name;
	std::string netdev;
	Settings own;

	bool operator==(const SavedDevice &) const = default;
};

// Only settings that were set; all others are inherited.
struct State {
	Settings defaults;
	// Sorted by name.
	std::vector<SavedDevice> devices;

	bool operator==(const State &) const = default;
};

// Writes a warning if devices were added or removed during the dump.
State current_state(const Context &context);

Json state_json(const State &state);
// Parses the text of a file. UsageError has the name of the file, and the line or the
// field of the error.
State state_from(std::string_view text, const std::string &file);

// The namespace's defaults alone, or the devices at one network device alone.
State defaults_of(const State &state);
State devices_at(const State &state, const std::string &netdev);

// One difference between two states.
struct Difference {
	enum class What {
		// A device that does not exist yet.
		created,
		// A setting that was inherited before.
		added,
		// A setting with another value.
		changed,
		// A setting that is inherited again.
		reset,
	};

	Target target;
	What what;
	// Network device of a device to create.
	std::string netdev;
	// Otherwise MPA_A_CONFIG_*.
	unsigned int key = 0;
	std::uint32_t before = 0;
	std::uint32_t after = 0;

	bool operator==(const Difference &) const = default;
};

// The changes to make, first those of the namespace, then those of devices. A device
// that is not in `to` is kept, but its settings are reset. Throws Error if a device is
// at another network device than in `to`.
std::vector<Difference> differences(const State &from, const State &to);
// The changes of settings among them, one Change for each object.
std::vector<Change> changes_of(const std::vector<Difference> &differences);

} // namespace mpactl
