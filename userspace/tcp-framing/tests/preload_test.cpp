/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What libtcp-framing.so does before and after the calls of a program, with a fake
// kernel behind it; and the command that preloads it, with the real one.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/tcp_framing.h>
#include <mpa/endpoint.hpp>

#include "fake_kernel.hpp"

namespace {

using fake::FIRST;
using fake::kernel;
using Calls = std::vector<std::string>;

std::string set(int option, int length = 4)
{
	return "set " + std::to_string(FIRST) + " " + std::to_string(option) + " " +
	       std::to_string(length);
}

std::string get(int option)
{
	return "get " + std::to_string(FIRST) + " " + std::to_string(option);
}

class Preload : public testing::TestWithParam<int> {
protected:
	Preload()
	{
		kernel() = {};
		kernel().plain_error = ENOPROTOOPT;
	}
};

struct Status {
	int ret, error;

	bool operator==(const Status &) const = default;
};

Status set_option(int option, int fd = FIRST, int level = SOL_TCP)
{
	const int value = 1;

	errno = 0;
	const int ret = ::setsockopt(fd, level, option, &value, sizeof(value));
	return {ret, errno};
}

Status get_option(int option, int fd = FIRST)
{
	int value = 0;
	socklen_t length = sizeof(value);

	errno = 0;
	const int ret = ::getsockopt(fd, SOL_TCP, option, &value, &length);
	EXPECT_EQ(value, ret ? 0 : 0x07070707);
	return {ret, errno};
}

const Status good{0, 0};

TEST_P(Preload, attaches_at_the_first_set)
{
	const int option = GetParam();

	EXPECT_EQ(set_option(option), good);
	EXPECT_EQ(kernel().calls, (Calls{set(option), set(TCP_ULP, 3), set(option)}));
	kernel().calls.clear();
	EXPECT_EQ(set_option(option), good);
	EXPECT_EQ(get_option(option), good);
	EXPECT_EQ(kernel().calls, (Calls{set(option), get(option)}));
}

TEST_P(Preload, attaches_at_the_first_get)
{
	const int option = GetParam();

	EXPECT_EQ(get_option(option), good);
	EXPECT_EQ(kernel().calls, (Calls{get(option), set(TCP_ULP, 3), get(option)}));
}

TEST_P(Preload, no_module_is_no_such_option)
{
	const int option = GetParam();

	for (const int error : {ENOENT, EPERM, ENOTCONN, EINVAL, EOPNOTSUPP}) {
		kernel().attach_error = error;
		EXPECT_EQ(set_option(option), (Status{-1, ENOPROTOOPT}));
		EXPECT_EQ(get_option(option), (Status{-1, ENOPROTOOPT}));
	}
}

TEST_P(Preload, shortness_of_memory_is_told)
{
	for (const int error : {ENOMEM, ENOBUFS, EINTR}) {
		kernel().attach_error = error;
		EXPECT_EQ(set_option(GetParam()), (Status{-1, error}));
		EXPECT_EQ(get_option(GetParam()), (Status{-1, error}));
	}
}

TEST_P(Preload, errors_of_the_option_come_through)
{
	for (const int error : {EINVAL, EBUSY, EOPNOTSUPP, ENOTCONN}) {
		kernel().errors[GetParam()] = error;
		EXPECT_EQ(set_option(GetParam()), (Status{-1, error}));
		EXPECT_EQ(get_option(GetParam()), (Status{-1, error}));
	}
}

// Another protocol has the socket: the second attempt has TCP's own error.
TEST_P(Preload, another_protocol)
{
	kernel().attach_error = EEXIST;
	EXPECT_EQ(set_option(GetParam()), (Status{-1, ENOPROTOOPT}));
	EXPECT_EQ(kernel().calls.size(), 3u);
}

TEST_P(Preload, another_thread_attaches_meanwhile)
{
	kernel().meanwhile = [] { kernel().attached[FIRST] = true; };
	EXPECT_EQ(set_option(GetParam()), good);
}

// A socket that is not TCP, no socket, a wrong length: nothing is attached.
TEST_P(Preload, other_errors_are_not_a_reason)
{
	for (const int error : {EINVAL, EFAULT, EBADF, ENOTSOCK, EOPNOTSUPP}) {
		kernel() = {};
		kernel().plain_error = error;
		EXPECT_EQ(set_option(GetParam()), (Status{-1, error}));
		EXPECT_EQ(get_option(GetParam()), (Status{-1, error}));
		EXPECT_EQ(kernel().calls, (Calls{set(GetParam()), get(GetParam())}));
	}
}

INSTANTIATE_TEST_SUITE_P(options, Preload,
			 testing::Range(TCP_FRAMING_MODE, TCP_FRAMING_INFO + 1));

TEST_F(Preload, passes_everything_else_on)
{
	EXPECT_EQ(set_option(TCP_NODELAY), good);
	EXPECT_EQ(get_option(TCP_NODELAY), good);
	for (const int option : {TCP_FRAMING_MODE - 1, TCP_FRAMING_INFO + 1}) {
		EXPECT_EQ(set_option(option), (Status{-1, ENOPROTOOPT}));
		EXPECT_EQ(get_option(option), (Status{-1, ENOPROTOOPT}));
	}
	EXPECT_EQ(kernel().calls,
		  (Calls{set(TCP_NODELAY), get(TCP_NODELAY),
			 set(TCP_FRAMING_MODE - 1), get(TCP_FRAMING_MODE - 1),
			 set(TCP_FRAMING_INFO + 1), get(TCP_FRAMING_INFO + 1)}));
	EXPECT_FALSE(kernel().attached[FIRST]);
}

TEST_F(Preload, the_same_number_at_another_level)
{
	mpa::descriptor tcp(::socket(AF_INET, SOCK_STREAM, 0));

	EXPECT_EQ(set_option(TCP_FRAMING_MODE, tcp.get(), SOL_SOCKET),
		  (Status{-1, ENOPROTOOPT}));
	EXPECT_TRUE(kernel().calls.empty());
}

TEST_F(Preload, a_success_leaves_errno)
{
	const int value = 1;

	errno = E2BIG;
	ASSERT_EQ(::setsockopt(FIRST, SOL_TCP, TCP_FRAMING_MODE, &value, sizeof(value)),
		  0);
	EXPECT_EQ(errno, E2BIG);
}

// --- the command ---------------------------------------------------------------------

struct Output {
	int status;
	std::string text;
};

Output run(const std::string &command)
{
	struct Close {
		void operator()(FILE *pipe) const { ::pclose(pipe); }
	};
	std::unique_ptr<FILE, Close> pipe(::popen((command + " 2>&1").c_str(), "r"));
	Output out{};
	char line[256];

	while (std::fgets(line, sizeof(line), pipe.get()))
		out.text += line;
	const int ended = ::pclose(pipe.release());
	// As a shell has it: 0 only for a command that has succeeded.
	out.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
	return out;
}

const std::string command = TCP_FRAMING;

TEST(Command, preloads_the_library)
{
	const auto out = run(command + " cat /proc/self/maps");

	EXPECT_EQ(out.status, 0);
	EXPECT_NE(out.text.find("/libtcp-framing.so"), std::string::npos);
}

TEST(Command, keeps_what_is_preloaded_already)
{
	const auto out = run("LD_PRELOAD=libdl.so.2 " + command +
			     " sh -c 'echo $LD_PRELOAD'");

	EXPECT_EQ(out.status, 0);
	EXPECT_NE(out.text.find("/libtcp-framing.so:libdl.so.2\n"), std::string::npos);
}

TEST(Command, has_the_status_of_the_program)
{
	EXPECT_EQ(run(command + " sh -c 'exit 7'").status, 7);
	EXPECT_EQ(run(command + " /nonexistent/program").status, 127);
}

TEST(Command, explains_its_use)
{
	for (const char *arguments : {"", " -x", " --help"}) {
		const auto out = run(command + arguments);

		EXPECT_EQ(out.status, 2);
		EXPECT_EQ(out.text, "usage: tcp-framing COMMAND [ARGUMENT...]\n");
	}
	EXPECT_EQ(run(command + " --version").status, 0);
	EXPECT_EQ(run(command + " --version").text.find("tcp-framing "), 0u);
}

} // namespace
