/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// userspace/cli/streams.hpp, of which each tool uses what it needs.
#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "support.hpp"

#include "../../cli/streams.hpp"

namespace {

using bench::Fd;
using bench::test::FullOutput;

TEST(flush_output, reports_an_error)
{
	const auto flush = [](const char *text) {
		const FullOutput full;

		std::fputs(text, stdout);
		return cli::flush_output();
	};

	EXPECT_EQ(flush(""), std::error_code());
	EXPECT_EQ(flush("lost"), std::errc::no_space_on_device);
}

// stdio has dropped the text: there is nothing left to flush.
TEST(flush_output, reports_an_earlier_error)
{
	const auto flush_again = [] {
		const FullOutput full;

		std::fputs("lost", stdout);
		std::fflush(stdout);
		return cli::flush_output();
	};

	EXPECT_EQ(flush_again(), std::errc::io_error);
}

TEST(print_error, is_one_line)
{
	testing::internal::CaptureStderr();
	cli::print_error("tool", "what is wrong");
	EXPECT_EQ(testing::internal::GetCapturedStderr(), "tool: what is wrong\n");
}

TEST(print_error, ignores_errors)
{
	const Fd before(::dup(STDERR_FILENO));
	const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));

	::dup2(full.get(), STDERR_FILENO);
	EXPECT_NO_THROW(cli::print_error("tool", "lost"));
	::dup2(before.get(), STDERR_FILENO);
	EXPECT_TRUE(std::ferror(stderr));
	std::clearerr(stderr);
}

// Whether a read or write of the descriptor fails as if it were not open.
bool seems_closed(int fd)
{
	char byte = 0;
	const auto done = fd == STDIN_FILENO ? ::read(fd, &byte, 1) : ::write(fd, &byte, 1);

	return done < 0 && errno == EBADF;
}

// Closes the standard descriptors that are set in `closed`, in this process of its own.
[[noreturn]] void reserve(unsigned int closed)
{
	for (int fd = 0; fd < 3; fd++)
		if (closed & 1U << fd)
			::close(fd);
	if (cli::reserve_standard_descriptors())
		std::_Exit(1);
	for (int fd = 0; fd < 3; fd++)
		if (::fcntl(fd, F_GETFD) < 0 || ((closed & 1U << fd) && !seems_closed(fd)))
			std::_Exit(2);
	std::_Exit(::open("/dev/null", O_RDONLY) > 2 ? 0 : 3);
}

TEST(reserve_standard_descriptors, leaves_none_to_sockets)
{
	testing::FLAGS_gtest_death_test_style = "threadsafe";
	for (unsigned int closed = 0; closed < 8; closed++)
		EXPECT_EXIT(reserve(closed), testing::ExitedWithCode(0), "") << closed;
}

} // namespace
