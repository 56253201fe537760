/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/dev.hpp"

#include "base/words.hpp"
#include "show/views.hpp"

namespace mpactl {

void setup_dev(CLI::App &app, Run &chosen)
{
	add_command<DevOptions>(
		app, chosen, "dev", "Devices: [show] [NAME]",
		[](CLI::App &command, DevOptions &options) {
			command.add_option("words", options.words,
					   "[show] [NAME]");
		},
		run_dev);
}

Exit run_dev(const DevOptions &options, Context &context)
{
	Words words(options.words);

	words.take("show");
	if (words.done()) {
		context.out.show(DeviceTable(
			whole(context, context.mpa().devices(), "devices")));
		return Exit::ok;
	}
	const auto name = words.need("name");

	words.expect_end();
	context.out.show(DeviceTable({context.mpa().device(name)}));
	return Exit::ok;
}

} // namespace mpactl
