/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "cli/context.hpp"

#include <ostream>

#include <fmt/format.h>

namespace mpactl {

void Context::warn(const std::string &text) const
{
	err << "mpactl: " << text << "\n" << std::flush;
}

void warn_interrupted(const Context &context, std::string_view what)
{
	context.warn(fmt::format("{} were added or removed while they were listed; "
				 "the list may be inconsistent", what));
}

} // namespace mpactl
