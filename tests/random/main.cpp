// SPDX-License-Identifier: GPL-2.0-only
//
// Runs random programs until a time is over.
//
//	random_calls [--seconds N] [--count N] [--seed N] [--faults] [--disturb]
//	             [--jobs N] [--limit MS] [--log FILE] [--history FILE]
//	             [--reached FILE]
//	             [--program NAME [--repeat N] [--trace] [--list]]
//
// Each program is a process of its own, which is killed when it takes too long; N run at the
// same time. Programs that reach blocks of the modules for the first time are kept, and
// changed later. The name of each is in the log before it begins, so that the last one of a
// guest that has stopped is known, and can be run again. The history has all of them, with the
// milliseconds since the start of the kernel at which each began: kmemleak reports when a leaked
// object was allocated.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
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
	std::string log, history, reached;
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
		} else if (word == "--history") {
			options.history = value();
		} else if (word == "--reached") {
			options.reached = value();
		} else if (word == "--program") {
			const auto name = programs::from_string(value());

			name && programs::to_string(*name).size() < 255
				? (void)(options.program = *name)
				: usage();
		} else {
			usage();
		}
	}
	return options;
}

// What all processes count.
struct Shared {
	std::atomic<std::uint64_t> calls{0}, faults{0};
};

Shared &shared()
{
	static Shared &all = [] () -> Shared & {
		void *at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED) {
			std::perror("mmap");
			std::exit(1);
		}
		return *new (at) Shared;
	}();

	return all;
}

constexpr const char *fail_nth = "/proc/thread-self/fail-nth";

// The nth allocation of the calling thread fails, if it comes to that.
class Fault
{
public:
	explicit Fault(unsigned int nth) : fd_(::open(fail_nth, O_RDWR | O_CLOEXEC))
	{
		set(nth);
	}
	~Fault()
	{
		char left[16] = {};

		// Those that are left until the one that fails.
		if (::pread(fd_, left, sizeof(left) - 1, 0) > 0 &&
		    std::strtoul(left, nullptr, 10) == 0)
			shared().faults++;
		set(0);
		::close(fd_);
	}
	Fault(const Fault &) = delete;
	Fault &operator=(const Fault &) = delete;

private:
	void set(unsigned int nth)
	{
		const std::string text = std::to_string(nth);

		(void)!::write(fd_, text.data(), text.size());
	}

	const int fd_;
};

void run_thread(World &world, const programs::Program &program,
		unsigned int thread, bool faults, pthread_barrier_t &begin)
{
	// Threads begin at the same time.
	if (program.threads > 1)
		::pthread_barrier_wait(&begin);
	for (const programs::Call &call : program.calls) {
		if (call.thread != thread)
			continue;
		if (trace)
			std::fprintf(stderr, "%u %s\n", thread,
				     calls::all()[call.kind].name);
		std::optional<Fault> fault;
		if (faults && call.fault)
			fault.emplace(call.fault);
		calls::all()[call.kind].run(world, call.args);
		shared().calls++;
	}
}

// What is the same for all programs: it is inherited.
void prepare_programs()
{
	const rlimit none{0, 0}, memory{1ul << 28, 1ul << 28};

	::setrlimit(RLIMIT_CORE, &none);
	::setrlimit(RLIMIT_MEMLOCK, &memory);
	if (!World::open_all()) {
		std::cerr << "no RDMA devices, or no namespaces h1 and h2" << std::endl;
		::_exit(1);
	}
	// Libraries complain of what was done to their files.
	if (!trace) {
		const int null = ::open("/dev/null", O_RDWR);

		::dup2(null, 1);
		::dup2(null, 2);
	}
}

[[noreturn]] void run_child(const programs::Program &program, bool faults)
{
	std::vector<std::thread> threads;
	pthread_barrier_t begin;

	::setpgid(0, 0);
	::prctl(PR_SET_PDEATHSIG, SIGKILL);
	::pthread_barrier_init(&begin, nullptr, program.threads);
	World &world = *new World;
	for (unsigned int n = 1; n < program.threads; n++)
		threads.emplace_back([&, n] {
			run_thread(world, program, n, faults, begin);
		});
	run_thread(world, program, 0, faults, begin);
	for (std::thread &one : threads)
		one.join();
	// Everything is left to the kernel.
	::_exit(0);
}

// How a program has ended.
struct Ended {
	enum class How : unsigned char { by_itself, killed, crashed, not_at_all };

	programs::Name name;
	How how;
};

// Runs programs for another process, which it receives the names from: a fork takes time for
// all memory of a process, and this one has little.
class Starter
{
public:
	Starter(const Options &options, int channel)
		: options_(options), channel_(channel), all_(options.jobs),
		  log_(open_log(options.log, 0)),
		  history_(open_log(options.history, O_TRUNC | O_APPEND))
	{
		sigset_t ended;

		::sigemptyset(&ended);
		::sigaddset(&ended, SIGCHLD);
		::sigprocmask(SIG_BLOCK, &ended, &before_);
		signals_ = ::signalfd(-1, &ended, SFD_NONBLOCK | SFD_CLOEXEC);
		prepare_programs();
	}

	// Until the other process closes the channel. It asks for no more programs than there
	// is room for.
	void run()
	{
		pollfd ready[2]{{channel_, POLLIN, 0}, {signals_, POLLIN, 0}};

		for (;;) {
			::poll(ready, 2, 50);
			if (ready[1].revents) {
				signalfd_siginfo ignored;

				(void)!::read(signals_, &ignored, sizeof(ignored));
				reap();
			}
			if (ready[0].revents && !receive())
				return;
			limit_time();
		}
	}

private:
	struct One {
		pid_t child = 0;
		bool killed = false;
		steady_clock::time_point began;
		programs::Name name;
	};

	static int open_log(const std::string &file, int flags)
	{
		return file.empty() ? -1
				    : ::open(file.c_str(),
					     O_WRONLY | O_CREAT | O_CLOEXEC | flags,
					     0644);
	}
	bool receive()
	{
		char text[256];
		const ssize_t size =
			::recv(channel_, text, sizeof(text), MSG_DONTWAIT);

		if (size > 0)
			start(*programs::from_string(
				std::string(text, static_cast<std::size_t>(size))));
		return size != 0;
	}
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
		if (history_ >= 0)
			remember(name);
		const pid_t child = ::fork();
		if (child < 0)
			std::abort();
		if (child == 0) {
			::close(channel_);
			::close(signals_);
			::sigprocmask(SIG_SETMASK, &before_, nullptr);
			run_child(program, options_.faults);
		}
		all_[at] = {child, false, steady_clock::now(), name};
	}
	void remember(const programs::Name &name)
	{
		timespec now{};
		std::string text;

		// Of the same clock as the kernel's jiffies.
		::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
		text = std::to_string(now.tv_sec * 1000 + now.tv_nsec / 1000000) +
		       ' ' + programs::to_string(name) + '\n';
		(void)!::write(history_, text.data(), text.size());
	}
	void report(const One &one, Ended::How how)
	{
		const std::string text = static_cast<char>(how) +
					 programs::to_string(one.name);

		(void)!::send(channel_, text.data(), text.size(), MSG_NOSIGNAL);
	}
	void reap()
	{
		int status = 0;

		for (;;) {
			const pid_t child = ::waitpid(-1, &status, WNOHANG);

			if (child <= 0)
				return;
			for (One &one : all_) {
				if (one.child != child)
					continue;
				// Children of it.
				::kill(-child, SIGKILL);
				one.child = 0;
				report(one, one.killed ? Ended::How::killed
					    : WIFSIGNALED(status)
						    ? Ended::How::crashed
						    : Ended::How::by_itself);
			}
		}
	}
	// One that a kill does not end within a minute has stopped in the kernel.
	void limit_time()
	{
		const auto now = steady_clock::now();

		for (One &one : all_) {
			if (!one.child || now - one.began <= limit)
				continue;
			if (!one.killed) {
				::kill(-one.child, SIGKILL);
				::kill(one.child, SIGKILL);
				one.killed = true;
			} else if (now - one.began > limit + 60s) {
				report(one, Ended::How::not_at_all);
				one.began = now;
			}
		}
	}

	const Options &options_;
	const int channel_;
	std::vector<One> all_;
	const int log_, history_;
	int signals_;
	sigset_t before_;
};

// Programs that run at the same time. A guest of one processor is idle otherwise while they
// wait.
class Running
{
public:
	Running(const Options &options, Counts &counts)
		: room_(options.jobs), jobs_(options.jobs), counts_(counts)
	{
		int ends[2];

		if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
			std::perror("socketpair");
			std::exit(1);
		}
		channel_ = ends[0];
		starter_ = ::fork();
		if (starter_ == 0) {
			::close(ends[0]);
			::prctl(PR_SET_PDEATHSIG, SIGKILL);
			Starter(options, ends[1]).run();
			::_exit(0);
		}
		::close(ends[1]);
	}
	~Running()
	{
		::close(channel_);
		::waitpid(starter_, nullptr, 0);
	}
	Running(const Running &) = delete;
	Running &operator=(const Running &) = delete;

	bool any() const { return room_ < jobs_; }
	bool room() const { return room_; }
	bool stuck() const { return stuck_; }
	// There is room.
	void start(const programs::Name &name)
	{
		const std::string text = programs::to_string(name);

		(void)!::send(channel_, text.data(), text.size(), MSG_NOSIGNAL);
		room_--;
		counts_.programs++;
		counts_.calls += programs::make(name).calls.size();
	}
	// Waits until one has ended.
	programs::Name wait()
	{
		char text[256];
		const ssize_t size = ::recv(channel_, text, sizeof(text), 0);

		if (size <= 1) {
			std::cout << "no more programs can be started" << std::endl;
			stuck_ = true;
			return {};
		}
		const Ended ended{
			*programs::from_string(std::string(
				text + 1, static_cast<std::size_t>(size - 1))),
			static_cast<Ended::How>(text[0])};
		if (ended.how == Ended::How::not_at_all) {
			std::cout << "not killed: "
				  << programs::to_string(ended.name) << std::endl;
			stuck_ = true;
			return {};
		}
		room_++;
		counts_.killed += ended.how == Ended::How::killed;
		counts_.crashed += ended.how == Ended::How::crashed;
		return ended.name;
	}

private:
	unsigned int room_;
	const unsigned int jobs_;
	Counts &counts_;
	int channel_;
	pid_t starter_;
	bool stuck_ = false;
};

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

// Programs crash by what they do to their memory, and some wait for what does not come, but
// most calls return.
bool did_enough(const Options &options, const Counts &counts)
{
	const bool ran = shared().calls > counts.calls / 4 &&
			 (counts.programs < 20 || counts.crashed <= counts.programs / 5);
	const bool failed = !options.faults || shared().faults > 0;

	if (!ran)
		std::cout << shared().calls << " calls have returned, " << counts.crashed
			  << " programs crashed" << std::endl;
	if (!failed)
		std::cout << "no allocation has failed" << std::endl;
	return ran && failed;
}

int search(const Options &options)
{
	const auto began = steady_clock::now();
	auto shown = began;
	programs::Random random(options.seed);
	std::vector<programs::Name> kept;
	Counts counts;
	Running running(options, counts);
	Reached reached;

	std::cout << "seed " << options.seed << (reached ? "" : ", no coverage")
		  << std::endl;
	const auto show = [&] {
		const auto took = std::chrono::duration<double>(
			steady_clock::now() - began);
		std::cout << counts.programs << " programs, " << counts.calls
			  << " calls, " << reached.total() << " blocks, "
			  << kept.size() << " kept, " << counts.killed
			  << " killed, " << counts.crashed << " crashed, "
			  << shared().faults << " failed allocations, "
			  << static_cast<int>(took.count()) << " s"
			  << std::endl;
	};
	const auto more = [&] {
		return counts.programs < options.count &&
		       steady_clock::now() - began < options.seconds;
	};
	while (!running.stuck() && (more() || running.any())) {
		while (running.room() && more())
			running.start(next_name(random, kept));
		const programs::Name ended = running.wait();

		// Of several programs, any may have reached it.
		if (!ended.empty() && reached.fresh())
			kept.push_back(ended);
		if (steady_clock::now() - shown > 30s) {
			shown = steady_clock::now();
			show();
		}
	}
	show();
	if (!options.reached.empty())
		reached.write(options.reached);
	return running.stuck() ? 2 : did_enough(options, counts) ? 0 : 1;
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
		  << " killed, " << counts.crashed << " crashed, " << shared().faults
		  << " failed allocations" << std::endl;
	return running.stuck() ? 2 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	const Options options = options_of(argc, argv);

	::signal(SIGPIPE, SIG_IGN);
	// Before there are other processes.
	shared();
	if (options.list) {
		print(options.program);
		return 0;
	}
	return options.program.empty() ? search(options) : repeat(options);
}
