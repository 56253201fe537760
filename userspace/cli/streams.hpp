/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Standard input, output and error of a tool.
#pragma once

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace cli {

// Gives the numbers 0 to 2 to /dev/null where they are not open, for the first line of
// main(): a socket with one of them would receive what is meant for a standard stream.
// Reads and writes of the stream still fail with EBADF.
inline std::error_code reserve_standard_descriptors() noexcept
{
	for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
		if (::fcntl(wanted, F_GETFD) >= 0)
			continue;
		// open(2) returns the lowest number that is free.
		if (::open("/dev/null", wanted == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return {errno, std::generic_category()};
	}
	return {};
}

// Writes "program: text" and the end of the line to standard error. An error of that is
// ignored, because nothing is left where it could be reported: fmt::print() would throw.
inline void print_error(std::string_view program, std::string_view text) noexcept
{
	std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(program.size()), program.data(),
		     static_cast<int>(text.size()), text.data());
}

// Flushes standard output. Also reports a write or a flush that has failed before: stdio
// drops what it could not write, so that this flush may succeed.
inline std::error_code flush_output() noexcept
{
	if (std::fflush(stdout))
		return {errno, std::generic_category()};
	return std::ferror(stdout) ? make_error_code(std::errc::io_error) : std::error_code();
}

} // namespace cli
