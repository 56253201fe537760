/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The settings of a namespace as a file has them, and the way from one such
// state to another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "cli/context.hpp"
#include "model/model.hpp"

namespace mpactl {

// A device and what was set at it.
struct SavedDevice {
	std::string name;
	std::string netdev;
	Settings own;

	bool operator==(const SavedDevice &) const = default;
};

// Only what was set; all else is inherited.
struct State {
	Settings defaults;
	// By name.
	std::vector<SavedDevice> devices;

	bool operator==(const State &) const = default;
};

// With a warning if devices came or went meanwhile.
State current_state(const Context &context);

Json state_json(const State &state);
// The text of a file; UsageError with the file's name, and the line or the field
// that is wrong.
State state_from(std::string_view text, const std::string &file);

// The namespace's defaults alone, or the devices at one network device alone.
State defaults_of(const State &state);
State devices_at(const State &state, const std::string &netdev);

// One difference between two states.
struct Difference {
	enum class What {
		// A device is to be made.
		made,
		// A setting that was inherited.
		added,
		// It has another value.
		changed,
		// It is to be inherited again.
		reset,
	};

	Target target;
	What what;
	// Of a device that is to be made.
	std::string netdev;
	// Else: MPA_A_CONFIG_*.
	unsigned int key = 0;
	std::uint32_t before = 0;
	std::uint32_t after = 0;

	bool operator==(const Difference &) const = default;
};

// What is to be done, in this order: namespace, then devices. A device that is not
// in `to` stays, with nothing set. Throws Error if a device is at another network
// device than it should.
std::vector<Difference> differences(const State &from, const State &to);
// The changes among them, one for each object.
std::vector<Change> changes_of(const std::vector<Difference> &differences);

} // namespace mpactl
