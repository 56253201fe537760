// SPDX-License-Identifier: GPL-2.0-only
//
// Runs random programs until a time is over.
//
//	random_calls [--seconds N] [--count N] [--seed N] [--faults] [--disturb]
//	             [--limit MS] [--log FILE] [--reached FILE]
//	             [--program NAME [--repeat N] [--trace] [--list]]
//
// Each program is a process of its own, which is killed when it takes too long. Programs
// that reach blocks of the modules for the first time are kept, and changed later. The name
// of each is in the log before it begins, so that the last one of a guest that has stopped
// is known, and can be run again.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.hpp"
#include "program.hpp"
#include "reached.hpp"
#include "world.hpp"

namespace
{

using namespace std::chrono_literals;
using std::chrono::steady_clock;

struct Options {
	std::chrono::seconds seconds{10};
	std::uint64_t count = ~0ull;
	std::uint64_t seed = std::random_device{}();
	bool faults = false;
	std::string log, reached;
	programs::Name program;
	unsigned int repeat = 1;
	bool list = false;
};

// Prints calls before they are made.
bool trace;

// How long a program may take before it is killed.
std::chrono::milliseconds limit = 1s;

struct Counts {
	std::uint64_t programs = 0, calls = 0, killed = 0, crashed = 0;
};

[[noreturn]] void usage()
{
	std::cerr
		<< "usage: random_calls [--seconds N] [--count N] [--seed N] "
		   "[--faults] "
		   "[--disturb]\n\t[--limit MS] [--log FILE] [--reached FILE] "
		   "[--program NAME [--repeat N] [--trace] [--list]]\n";
	std::exit(2);
}

Options options_of(int argc, char **argv)
{
	Options options;

	for (int n = 1; n < argc; n++) {
		const std::string word = argv[n];
		const auto value = [&] {
			return ++n < argc ? argv[n] : (usage(), "");
		};

		if (word == "--faults") {
			options.faults = true;
		} else if (word == "--disturb") {
			calls::allow_disturbance();
		} else if (word == "--limit") {
			limit = std::chrono::milliseconds(
				std::strtoul(value(), nullptr, 0));
		} else if (word == "--trace") {
			trace = true;
		} else if (word == "--list") {
			options.list = true;
		} else if (word == "--seconds") {
			options.seconds = std::chrono::seconds(
				std::strtoul(value(), nullptr, 0));
		} else if (word == "--count") {
			options.count = std::strtoull(value(), nullptr, 0);
		} else if (word == "--seed") {
			options.seed = std::strtoull(value(), nullptr, 0);
		} else if (word == "--repeat") {
			options.repeat = static_cast<unsigned int>(
				std::strtoul(value(), nullptr, 0));
		} else if (word == "--log") {
			options.log = value();
		} else if (word == "--reached") {
			options.reached = value();
		} else if (word == "--program") {
			const auto name = programs::from_string(value());

			name ? (void)(options.program = *name) : usage();
		} else {
			usage();
		}
	}
	return options;
}

// An allocation of the calling thread fails.
void fail_nth(unsigned int nth)
{
	const std::string text = std::to_string(nth);
	const int fd =
		::open("/proc/thread-self/fail-nth", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!::write(fd, text.data(), text.size());
	::close(fd);
}

void run_thread(World &world, const programs::Program &program,
		unsigned int thread, bool faults,
		std::atomic<unsigned int> &ready)
{
	// Threads begin at the same time.
	ready++;
	while (ready < program.threads)
		std::this_thread::yield();
	for (const programs::Call &call : program.calls) {
		if (call.thread != thread)
			continue;
		if (trace)
			std::fprintf(stderr, "%u %s\n", thread,
				     calls::all()[call.kind].name);
		if (faults && call.fault)
			fail_nth(call.fault);
		calls::all()[call.kind].run(world, call.args);
		if (faults && call.fault)
			fail_nth(0);
	}
}

[[noreturn]] void run_child(const programs::Program &program, bool faults)
{
	const rlimit none{0, 0}, memory{1ul << 28, 1ul << 28};
	std::vector<std::thread> threads;
	std::atomic<unsigned int> ready = 0;

	::setpgid(0, 0);
	::prctl(PR_SET_PDEATHSIG, SIGKILL);
	::setrlimit(RLIMIT_CORE, &none);
	::setrlimit(RLIMIT_MEMLOCK, &memory);
	// Libraries complain of what was done to their files.
	if (!trace) {
		const int null = ::open("/dev/null", O_RDWR);

		::dup2(null, 1);
		::dup2(null, 2);
	}
	World &world = *new World;
	for (unsigned int n = 1; n < program.threads; n++)
		threads.emplace_back([&, n] {
			run_thread(world, program, n, faults, ready);
		});
	run_thread(world, program, 0, faults, ready);
	for (std::thread &one : threads)
		one.join();
	// Everything is left to the kernel.
	::_exit(0);
}

// Waits with a limit. A process that a kill does not end within a minute has stopped in
// the kernel: 2.
int end_of(pid_t child, Counts &counts)
{
	const auto began = steady_clock::now();
	bool killed = false;
	int status = 0;

	while (::waitpid(child, &status, WNOHANG) == 0) {
		const auto took = steady_clock::now() - began;

		if (took > limit && !killed) {
			::kill(-child, SIGKILL);
			::kill(child, SIGKILL);
			killed = true;
		}
		if (took > 62s)
			return 2;
		std::this_thread::sleep_for(took < 20ms ? 1ms : 5ms);
	}
	// Children of it.
	::kill(-child, SIGKILL);
	counts.killed += killed;
	counts.crashed += !killed && WIFSIGNALED(status);
	return 0;
}

int run(const programs::Name &name, const Options &options, int log,
	Counts &counts)
{
	const programs::Program program = programs::make(name);
	std::string text = programs::to_string(name);

	text.resize(255, ' ');
	text += '\n';
	// In place of the last one.
	if (log >= 0)
		(void)!::pwrite(log, text.data(), text.size(), 0);
	const pid_t child = ::fork();
	if (child < 0) {
		std::perror("fork");
		return 1;
	}
	if (child == 0)
		run_child(program, options.faults);
	counts.programs++;
	counts.calls += program.calls.size();
	if (const int bad = end_of(child, counts)) {
		std::cout << "not killed: " << programs::to_string(name)
			  << std::endl;
		return bad;
	}
	return 0;
}

void print(const programs::Name &name)
{
	const programs::Program program = programs::make(name);

	std::cout << program.threads << " threads\n";
	for (const programs::Call &call : program.calls) {
		std::cout << call.thread << ' ' << calls::all()[call.kind].name;
		for (std::uint32_t arg : call.args)
			std::cout << ' ' << arg;
		if (call.fault)
			std::cout << " fault " << call.fault;
		std::cout << '\n';
	}
}

// A fresh program, or a change of one that has reached something.
programs::Name next_name(programs::Random &random,
			 const std::vector<programs::Name> &kept)
{
	// Short numbers are enough, and read better.
	const std::uint64_t seed = random.next() >> 24;

	if (kept.empty() || random.one_in(3))
		return {seed};
	// The newest ones more often.
	const std::uint32_t size = static_cast<std::uint32_t>(kept.size());
	programs::Name name =
		kept[size - 1 -
		     (random.one_in(2) ? random.below(size)
				       : random.below(1 + size / 8))];
	if (name.size() >= 12)
		return {seed};
	name.push_back(seed);
	return name;
}

int search(const Options &options, int log)
{
	const auto began = steady_clock::now();
	auto shown = began;
	programs::Random random(options.seed);
	std::vector<programs::Name> kept;
	Counts counts;
	Reached reached;
	int bad = 0;

	std::cout << "seed " << options.seed << (reached ? "" : ", no coverage")
		  << std::endl;
	const auto show = [&] {
		const auto took = std::chrono::duration<double>(
			steady_clock::now() - began);

		std::cout << counts.programs << " programs, " << counts.calls
			  << " calls, " << reached.total() << " blocks, "
			  << kept.size() << " kept, " << counts.killed
			  << " killed, " << counts.crashed << " crashed, "
			  << static_cast<int>(took.count()) << " s"
			  << std::endl;
	};
	while (!bad && counts.programs < options.count &&
	       steady_clock::now() - began < options.seconds) {
		const programs::Name name = next_name(random, kept);

		bad = run(name, options, log, counts);
		if (reached.fresh())
			kept.push_back(name);
		if (steady_clock::now() - shown > 30s) {
			shown = steady_clock::now();
			show();
		}
	}
	show();
	if (!options.reached.empty())
		reached.write(options.reached);
	return bad;
}

} // namespace

int main(int argc, char **argv)
{
	const Options options = options_of(argc, argv);
	const int log = options.log.empty()
				? -1
				: ::open(options.log.c_str(),
					 O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	Counts counts;
	int bad = 0;

	::signal(SIGPIPE, SIG_IGN);
	if (options.program.empty())
		return search(options, log);
	if (options.list) {
		print(options.program);
		return 0;
	}
	for (unsigned int n = 0; n < options.repeat && !bad; n++)
		bad = run(options.program, options, log, counts);
	std::cout << counts.programs << " programs, " << counts.killed
		  << " killed, " << counts.crashed << " crashed" << std::endl;
	return bad;
}
