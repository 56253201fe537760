/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The one table of settings: what they are called, which values they have and
// how these are written. get, set, save, restore and completion go by it.
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
		// Words with commas between; an array in JSON.
		set,
		// A number between min and max.
		number,
		// Milliseconds between min and max, or with a unit; a number of
		// them in JSON.
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
	// Of words and sets; a set's number is its bit.
	std::vector<Word> words;
	std::string help;
};

// In the order of the attributes.
std::span<const Setting> settings();
// nullptr: there is none of that name.
const Setting *setting_named(std::string_view name);
const Setting *setting_of(unsigned int key);

// What a user may write, for messages: "required or off", "0 .. 16382".
std::string values_of(const Setting &setting);

// A value from the command line, or UsageError if it is none. Bounds are left to
// the kernel, whose no has words of its own.
std::uint32_t value_from(const Setting &setting, std::string_view text);
// As it would be written there: "on", "send,read", "5 s".
std::string value_text(const Setting &setting, std::uint32_t value);

// From a file: UsageError with what is wrong, without the key's name, also if it
// is out of bounds: files are read as a whole before anything is done.
std::uint32_t value_from_json(const Setting &setting, const Json &json);
Json value_json(const Setting &setting, std::uint32_t value);
// An object of all that is there, in the table's order.
Json settings_json(const Settings &settings);

// Keys, by their names in JSON, of the bits.
std::vector<std::string> keys_of(std::uint32_t mask);

} // namespace mpactl
