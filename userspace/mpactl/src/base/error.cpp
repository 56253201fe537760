/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "base/error.hpp"

#include <system_error>

#include <fmt/format.h>

namespace mpactl {

std::string explain(const Refusal &refusal)
{
	std::string text = refusal.message;
	std::string about;

	if (text.empty())
		text = std::generic_category().message(refusal.number);
	if (!refusal.attribute.empty())
		about = "attribute " + refusal.attribute;
	if (refusal.range)
		about += fmt::format("{}{} .. {}", about.empty() ? "" : ", ",
				     refusal.range->first,
				     refusal.range->second);
	return about.empty() ? text : fmt::format("{} ({})", text, about);
}

} // namespace mpactl
