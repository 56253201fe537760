/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The table of settings: their names, their possible values and how these are
// written. get, set, save, restore and completion use it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "model/model.hpp"
#include "model/names.hpp"

namespace mpactl {

struct Setting {
	enum class Kind {
		// One of the words.
		word,
		// off, on; false, true in JSON.
		toggle,
		// Words separated by commas; an array in JSON.
		set,
		// A number between min and max.
		number,
		// Milliseconds between min and max, or a number with a unit; in
		// JSON a number of milliseconds.
		duration,
	};

	// MPA_A_CONFIG_*.
	unsigned int key;
	Kind kind;
	// "half-open-max" on command lines, "half_open_max" in JSON.
	std::string name;
	std::string json;
	std::uint32_t min;
	std::uint32_t max;
	// Of words and sets; in a set the number is a bit.
	std::vector<Word> words;
	std::string help;
};

// In the order of the attributes.
std::span<const Setting> settings();
// nullptr if there is no such setting.
const Setting *setting_named(std::string_view name);
const Setting *setting_of(unsigned int key);

// The possible values, for messages: "one of required, off", "0 .. 16382".
std::string values_text(const Setting &setting);

// Parses a value from the command line; UsageError if it is invalid. Bounds are not
// checked, because the kernel refuses such a value with its own message.
std::uint32_t value_from(const Setting &setting, std::string_view text);
// The value as on the command line: "on", "send,read", "5s".
std::string value_text(const Setting &setting, std::uint32_t value);

// Parses a value from a file; UsageError, without the name of the setting, if it is
// invalid or out of bounds. Bounds are checked here, because a file is checked as a
// whole before any change is made.
std::uint32_t value_from_json(const Setting &setting, const Json &json);
Json value_json(const Setting &setting, std::uint32_t value);
// An object with all settings that have a value, in the order of the table.
Json settings_json(const Settings &settings);

// The names in JSON of the settings whose bits are set.
std::vector<std::string> keys_of(std::uint32_t mask);

} // namespace mpactl
