// SPDX-License-Identifier: GPL-2.0-only
//
// Memory whose access blocks, in the kernel on behalf of a program as well,
// until it is released: userfaultfd(2), or the lab's module mpa_trap where the
// kernel does not have that.
#pragma once

#include <atomic>
#include <cstddef>
#include <future>
#include <thread>

#include "net.hpp"

namespace net {

class Trap {
public:
	explicit Trap(std::size_t pages = 1);
	~Trap();
	Trap(const Trap &) = delete;
	Trap &operator=(const Trap &) = delete;

	char *memory() const { return memory_; }
	std::size_t size() const { return size_; }
	// Number of threads that wait for it.
	int waiting();
	// Waits until there are so many.
	void await_waiting(int wanted, std::source_location at =
						std::source_location::current());
	// Releases the memory, all zero.
	void release();

private:
	bool by_userfaultfd();
	void by_module();

	mpa::descriptor fd_;
	char *memory_ = nullptr;
	std::size_t size_;
	bool module_ = false;
	int seen_ = 0;
};

// Begins setsockopt(2) with a value that blocks after its first bytes, until it is finished;
// the others are zero.
class LateOption {
public:
	LateOption(int fd, int level, int name, const Bytes &first, std::size_t size);
	LateOption(const LateOption &) = delete;
	LateOption &operator=(const LateOption &) = delete;

	// The result of the call.
	harness::Err finish();

private:
	Trap trap_;
	std::future<harness::Err> call_;
};

// Holds the lock of a socket that has MPA, in a call of TCP that began before:
// the call waits for bytes, gets memory whose access blocks, and then holds the
// lock.
class Held {
public:
	explicit Held(Tcp tcp);
	~Held();
	Held(const Held &) = delete;
	Held &operator=(const Held &) = delete;

	// Limit of the startup exchange; longer than it takes to hold the lock.
	static constexpr std::chrono::milliseconds time_to_start{15000};

	void read_into(Trap &trap);
	// The peer does not continue the startup exchange, so its limit expires
	// while the lock is held.
	void start();
	int fd() const { return twin_.get(); }

private:
	Tcp tcp_;
	descriptor twin_;
	std::atomic<pid_t> id_{0};
	std::thread thread_;
	mpa::socket ours_;
};

} // namespace net
