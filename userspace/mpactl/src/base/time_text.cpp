/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "base/time_text.hpp"

#include <ctime>

#include <fmt/format.h>

namespace mpactl {

double unix_seconds(std::chrono::system_clock::time_point when)
{
	const auto us = std::chrono::floor<std::chrono::microseconds>(
		when.time_since_epoch());

	return static_cast<double>(us.count()) / 1e6;
}

std::string clock_text(std::chrono::system_clock::time_point when)
{
	const auto ms = std::chrono::floor<std::chrono::milliseconds>(
				when.time_since_epoch())
				.count();
	const auto seconds = static_cast<std::time_t>(ms / 1000);
	std::tm local{};

	::localtime_r(&seconds, &local);
	return fmt::format("{:02}:{:02}:{:02}.{:03}", local.tm_hour, local.tm_min,
			   local.tm_sec, ms % 1000);
}

} // namespace mpactl
