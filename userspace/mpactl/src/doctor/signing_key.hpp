/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Whether the kernel accepts signatures of the key that signed a module.
#pragma once

#include <string>

#include "doctor/examination.hpp"

namespace mpactl {

enum class Enrolled {
	yes,
	// At the next boot, if someone confirms it at the console.
	requested,
	no,
	unknown,
};

struct SigningKey {
	Enrolled enrolled = Enrolled::unknown;
	// File of its certificate, or an empty string.
	std::string certificate;
};

// `serial`: the serial number of the key's certificate, which modinfo(8) calls sig_key.
SigningKey find_signing_key(Examination &on, const std::string &serial);

} // namespace mpactl
