/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "model/target.hpp"

#include <fmt/format.h>

namespace mpactl {

std::string target_text(const Target &target)
{
	switch (target.kind) {
	case Target::Kind::device:
		return "device " + target.name;
	case Target::Kind::listener:
		return fmt::format("listener {}", target.id);
	case Target::Kind::defaults:
		break;
	}
	return "defaults";
}

} // namespace mpactl
