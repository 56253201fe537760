/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The example mpa-echo: which lines are commands.
#include "programs.hpp"

#define main mpa_echo_main
#include "examples/echo.cpp"
#undef main

#include "fake_kernel.hpp"

namespace {

// What the client prints, with a port where nothing listens.
std::string answers_to(std::string_view line)
{
	fake::kernel() = {};
	const auto bound = mpa::tcp::listen("127.0.0.1", "0").value();
	const auto name = mpa::tcp::name_of(bound.get(), false);
	Options options;
	// As a pipe, std::cin would remember its end.
	std::istringstream input(std::string(line) + "\n");
	auto *const before = std::cin.rdbuf(input.rdbuf());

	options.host = "127.0.0.1";
	options.port = name.substr(name.find(' ') + 1);
	::shutdown(bound.get(), SHUT_RDWR);
	test::Streams streams("");
	Client client(options);
	const bool good = run_commands(client);
	std::cin.rdbuf(before);
	std::cin.clear();
	const auto output = streams.output();
	EXPECT_FALSE(good) << line;
	return output;
}

TEST(echo, commands)
{
	for (const char *line : {"connect", "connect 5", "connect 0 0", "connect 5 64768",
				 "  connect\t5  7 ", "connect 18446744073709551615"})
		EXPECT_EQ(answers_to(line), "1 failed to connect: Connection refused\n")
			<< line;
}

TEST(echo, lines_that_are_no_commands)
{
	for (const char *line :
	     {"", "connects", "connect -1", "connect 5x", "connect x", "connect 5 -1",
	      "connect 5 1x", "connect 5 64769", "connect 5 18446744073709551615",
	      "connect 18446744073709551616", "connect +5", "connect 5 7 9"})
		EXPECT_EQ(answers_to(line), "commands: connect [ULPDUS [SIZE]]\n") << line;
}

} // namespace
