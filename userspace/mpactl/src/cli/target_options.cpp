/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "cli/target_options.hpp"

#include "base/words.hpp"

namespace mpactl {

void setup_target(Syntax &command, TargetOptions &options)
{
	constexpr const char *group = "Object, if not the network namespace";
	auto *dev = command.keyword("dev", options.device, device_name(),
				    "the settings of a device", group);
	auto *listen = command.keyword("listen", options.listener, listener_id(),
				       "the settings of a listener", group);

	command.exclusive({dev, listen});
}

Target target_from(const TargetOptions &options)
{
	if (options.device)
		return Target::device(*options.device);
	if (options.listener)
		return Target::listener(number_of(*options.listener, "listen"));
	return {};
}

} // namespace mpactl
