// SPDX-License-Identifier: GPL-2.0-only
//
// What must hold for the settings of any object.
#pragma once

#include "settings.hpp"

namespace values {

// Each takes its values, beside which nothing changes, and is what it was when it
// is inherited again.
void every_setting(nl::Client &client, const nl::Object &object);

// What is set above is in force below until something is set there.
void inherited_from(nl::Client &client, const nl::Object &above,
		    const nl::Object &below);

} // namespace values
