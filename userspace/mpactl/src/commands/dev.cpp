/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/dev.hpp"

#include "show/views.hpp"

namespace mpactl {

void setup_dev(CommandLine &line)
{
	add_command<DevOptions>(
		line, "dev", "Show MPA devices",
		[](Syntax command, DevOptions &options) {
			command.synopsis("[show] [DEVICE]");
			command.argument(options.device, device_name(),
					 "show only this device");
			command.keyword("show", "optional, has no effect");
		},
		run_dev);
}

Exit run_dev(const DevOptions &options, Context &context)
{
	if (options.device)
		context.out.show(
			DeviceTable({context.mpa().device(*options.device)}));
	else
		context.out.show(DeviceTable(
			whole(context, context.mpa().devices(), "devices")));
	return Exit::ok;
}

} // namespace mpactl
