// SPDX-License-Identifier: GPL-2.0-only
//
// Runs random programs until a time is over.
//
//	random_calls [--seconds N] [--count N] [--seed N] [--faults] [--disturb]
//	             [--jobs N] [--limit MS] [--log FILE] [--reached FILE]
//	             [--program NAME [--repeat N] [--trace] [--list]]
//
// Each program is a process of its own, which is killed when it takes too long; N run at the
// same time. Programs that reach blocks of the modules for the first time are kept, and
// changed later. The name of each is in the log before it begins, so that the last one of a
// guest that has stopped is known, and can be run again.
#include <algorithm>
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
	unsigned int repeat = 1, jobs = 1;
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
		   "[--disturb]\n\t[--jobs N] [--limit MS] [--log FILE] [--reached FILE] "
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
		} else if (word == "--jobs") {
			options.jobs = std::max(
				1u, static_cast<unsigned int>(
					    std::strtoul(value(), nullptr, 0)));
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

// Programs that run at the same time. A guest of one processor is idle otherwise while they
// wait.
class Running
{
public:
	Running(const Options &options, Counts &counts)
		: options_(options), counts_(counts), all_(options.jobs),
		  log_(options.log.empty()
			       ? -1
			       : ::open(options.log.c_str(),
					O_WRONLY | O_CREAT | O_CLOEXEC, 0644))
	{
		::sigemptyset(&ended_);
		::sigaddset(&ended_, SIGCHLD);
		::sigprocmask(SIG_BLOCK, &ended_, nullptr);
	}

	bool any() const
	{
		for (const One &one : all_)
			if (one.child)
				return true;
		return false;
	}
	bool room() const
	{
		for (const One &one : all_)
			if (!one.child)
				return true;
		return false;
	}
	// There is room.
	void start(const programs::Name &name)
	{
		std::size_t at = 0;

		while (all_[at].child)
			at++;
		const programs::Program program = programs::make(name);
		std::string text = programs::to_string(name);

		text.resize(255, ' ');
		text += '\n';
		// In place of the one before it.
		if (log_ >= 0)
			(void)!::pwrite(log_, text.data(), text.size(),
					static_cast<off_t>(at * text.size()));
		const pid_t child = ::fork();
		if (child < 0) {
			std::perror("fork");
			std::exit(1);
		}
		if (child == 0) {
			::sigprocmask(SIG_UNBLOCK, &ended_, nullptr);
			run_child(program, options_.faults);
		}
		all_[at] = {child, false, steady_clock::now(), name};
		counts_.programs++;
		counts_.calls += program.calls.size();
	}
	// Waits until some have ended, and returns them. One that a kill does not end within
	// a minute has stopped in the kernel: stuck() is true then.
	std::vector<programs::Name> wait()
	{
		const timespec soon{0, 20'000'000};
		std::vector<programs::Name> ended;

		::sigtimedwait(&ended_, nullptr, &soon);
		for (One &one : all_) {
			int status = 0;

			if (!one.child)
				continue;
			if (::waitpid(one.child, &status, WNOHANG) == one.child) {
				// Children of it.
				::kill(-one.child, SIGKILL);
				counts_.killed += one.killed;
				counts_.crashed += !one.killed && WIFSIGNALED(status);
				ended.push_back(one.name);
				one.child = 0;
				continue;
			}
			const auto took = steady_clock::now() - one.began;
			if (took > limit && !one.killed) {
				::kill(-one.child, SIGKILL);
				::kill(one.child, SIGKILL);
				one.killed = true;
			}
			if (took > limit + 60s) {
				std::cout << "not killed: "
					  << programs::to_string(one.name)
					  << std::endl;
				stuck_ = true;
			}
		}
		return ended;
	}
	bool stuck() const { return stuck_; }

private:
	struct One {
		pid_t child = 0;
		bool killed = false;
		steady_clock::time_point began;
		programs::Name name;
	};

	const Options &options_;
	Counts &counts_;
	std::vector<One> all_;
	int log_;
	sigset_t ended_;
	bool stuck_ = false;
};

// Loads what each program needs of the libraries: they read /sys and open a dozen providers,
// which takes longer than most programs.
void load_libraries()
{
	int count = 0;

	if (ibv_device **list = ibv_get_device_list(&count))
		ibv_free_device_list(list);
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

int search(const Options &options)
{
	const auto began = steady_clock::now();
	auto shown = began;
	programs::Random random(options.seed);
	std::vector<programs::Name> kept;
	Counts counts;
	Reached reached;
	Running running(options, counts);

	std::cout << "seed " << options.seed << (reached ? "" : ", no coverage")
		  << std::endl;
	const auto show = [&] {
		const auto took = std::chrono::duration<double>(
			steady_clock::now() - began);
		rusage children{};

		::getrusage(RUSAGE_CHILDREN, &children);
		std::cout << counts.programs << " programs, " << counts.calls
			  << " calls, " << reached.total() << " blocks, "
			  << kept.size() << " kept, " << counts.killed
			  << " killed, " << counts.crashed << " crashed, "
			  << static_cast<int>(took.count()) << " s, "
			  << children.ru_utime.tv_sec << " user, "
			  << children.ru_stime.tv_sec << " system"
			  << std::endl;
	};
	const auto more = [&] {
		return counts.programs < options.count &&
		       steady_clock::now() - began < options.seconds;
	};
	while (!running.stuck() && (more() || running.any())) {
		while (running.room() && more())
			running.start(next_name(random, kept));
		const std::vector<programs::Name> ended = running.wait();

		// Of several programs, any may have reached it.
		if (!ended.empty() && reached.fresh())
			kept.insert(kept.end(), ended.begin(), ended.end());
		if (steady_clock::now() - shown > 30s) {
			shown = steady_clock::now();
			show();
		}
	}
	show();
	if (!options.reached.empty())
		reached.write(options.reached);
	return running.stuck() ? 2 : 0;
}

int repeat(const Options &options)
{
	Counts counts;
	Running running(options, counts);

	while (!running.stuck() &&
	       (counts.programs < options.repeat || running.any())) {
		while (running.room() && counts.programs < options.repeat)
			running.start(options.program);
		running.wait();
	}
	std::cout << counts.programs << " programs, " << counts.killed
		  << " killed, " << counts.crashed << " crashed" << std::endl;
	return running.stuck() ? 2 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	const Options options = options_of(argc, argv);

	::signal(SIGPIPE, SIG_IGN);
	if (options.list) {
		print(options.program);
		return 0;
	}
	load_libraries();
	return options.program.empty() ? search(options) : repeat(options);
}
