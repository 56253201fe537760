// SPDX-License-Identifier: GPL-2.0-only
#include "harness.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <string_view>
#include <thread>

#include <fnmatch.h>
#include <sys/wait.h>
#include <unistd.h>

namespace harness {

// Limit for a whole case, in multiples of the patience.
static constexpr int case_limit = 6;

std::vector<Case> &cases()
{
	static std::vector<Case> all;

	return all;
}

void await(const std::function<bool()> &so, const std::string &what,
	   std::source_location at)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (!so()) {
		if (std::chrono::steady_clock::now() > end)
			fail("waited without success: " + what, at);
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
}

static std::mutex last_failure_lock;
static std::string last_failure;

void note_failure(const std::string &text)
{
	const std::lock_guard held(last_failure_lock);

	last_failure = text;
}

// A failure that nothing catches has its reason printed all the same.
[[noreturn]] static void end_uncaught()
{
	const std::lock_guard held(last_failure_lock);

	std::cout << "# not caught; the last failure: " << last_failure << std::endl;
	std::abort();
}

static int run_here(const Case &one)
{
	std::set_terminate(end_uncaught);
	try {
		one.run();
		return 0;
	} catch (const Failed &failed) {
		std::cout << "# " << failed.what << std::endl;
	} catch (const std::exception &error) {
		std::cout << "# " << error.what() << std::endl;
	}
	return 1;
}

// Status of the child, or -1 if it had to be killed.
static int wait_for(pid_t child)
{
	const auto end = std::chrono::steady_clock::now() + case_limit * patience;
	int status = -1;

	while (::waitpid(child, &status, WNOHANG) == 0) {
		if (std::chrono::steady_clock::now() > end) {
			::kill(-child, SIGKILL);
			::waitpid(child, &status, 0);
			return -1;
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
	}
	// Kills all processes that it left behind.
	::kill(-child, SIGKILL);
	return status;
}

static bool run(const Case &one)
{
	std::cout.flush();
	const pid_t child = must_call(::fork(), "fork");
	if (child == 0) {
		::setpgid(0, 0);
		const int status = run_here(one);
		// Threads of a failed case may still wait for something.
		std::cout.flush();
		::_exit(status);
	}
	const int status = wait_for(child);
	if (status == -1)
		std::cout << "# killed: it took too long\n";
	else if (WIFSIGNALED(status))
		std::cout << "# ended by signal " << WTERMSIG(status) << '\n';
	return status == 0;
}

static bool matches(const std::string &glob, const Case &one)
{
	return ::fnmatch(glob.c_str(), one.name.c_str(), 0) == 0;
}

static bool chosen(const Case &one, const std::vector<std::string> &globs)
{
	return globs.empty() ||
	       std::ranges::any_of(globs, [&](const auto &glob) {
		       return matches(glob, one);
	       });
}

static bool matches_none(const std::string &glob)
{
	return std::ranges::none_of(cases(), [&](const Case &one) {
		return matches(glob, one);
	});
}

int main(int argc, char **argv)
{
	std::vector<std::string> globs;
	bool list = false;
	int count = 0, failed = 0;

	for (int n = 1; n < argc; n++) {
		const std::string_view word = argv[n];

		if (word == "--list")
			list = true;
		else
			globs.emplace_back(word);
	}
	std::ranges::stable_sort(cases(), {}, [](const Case &one) {
		return one.name.substr(0, one.name.find(':'));
	});
	// An error of the caller's, whatever the other globs choose.
	for (const std::string &glob : globs) {
		if (!matches_none(glob))
			continue;
		failed++;
		if (list)
			std::cerr << "no case matches " << glob << std::endl;
		else
			std::cout << "not ok " << ++count << " - a case matches "
				  << glob << std::endl;
	}
	for (const Case &one : cases()) {
		if (!chosen(one, globs))
			continue;
		count++;
		if (list) {
			std::cout << one.name << '\n';
			continue;
		}
		const bool good = run(one);
		failed += !good;
		std::cout << (good ? "ok " : "not ok ") << count << " - "
			  << one.name << std::endl;
	}
	if (!list)
		std::cout << "1.." << count << std::endl;
	return failed || !count ? 1 : 0;
}

} // namespace harness

int main(int argc, char **argv)
{
	return harness::main(argc, argv);
}
