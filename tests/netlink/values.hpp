// SPDX-License-Identifier: GPL-2.0-only
//
// Checks for the settings of any object.
#pragma once

#include "settings.hpp"

namespace values {

// Each setting takes its values, which changes nothing else, and returns to the
// old value when it is reset.
void every_setting(nl::Client &client, const nl::Object &object);

// A value set at the upper object applies to the lower one until that has its
// own.
void inherited_from(nl::Client &client, const nl::Object &above,
		    const nl::Object &below);

} // namespace values
