/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl(8) on the running kernel.

#include <cstdlib>
#include <iostream>
#include <string_view>

#include <unistd.h>

#include "app.hpp"
#include "system.hpp"

#include "../../cli/streams.hpp"

namespace {

bool colour_wanted()
{
	const char *no = std::getenv("NO_COLOR");
	const char *terminal = std::getenv("TERM");

	return ::isatty(STDOUT_FILENO) && (!no || !*no) && terminal &&
	       std::string_view(terminal) != "dumb";
}

} // namespace

int main(int argc, char **argv)
{
	if (const auto error = cli::reserve_standard_descriptors()) {
		cli::print_error("mpactl", "/dev/null: " + error.message());
		return static_cast<int>(mpactl::Exit::io);
	}
	mpactl::SystemKernel kernel;
	mpactl::SystemClock clock;

	std::ios::sync_with_stdio(false);
	return static_cast<int>(mpactl::run({argv + 1, argv + argc}, kernel, clock,
					    {std::cout, std::cerr, colour_wanted()}));
}
