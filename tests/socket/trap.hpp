// SPDX-License-Identifier: GPL-2.0-only
//
// Memory that whoever touches it waits for, the kernel on a program's behalf
// included, until it is released: userfaultfd(2), or the lab's module mpa_trap where
// the kernel has none.
#pragma once

#include <atomic>
#include <cstddef>
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
	// How many threads wait for it.
	int waiting();
	// Until so many do.
	void await_waiting(int wanted, std::source_location at =
						std::source_location::current());
	// It is there, all zero.
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

// The lock of a socket that has MPA, held in a call of TCP's from before that: it
// waits for bytes, is given memory that does not come, and has the lock then.
class Held {
public:
	explicit Held(Tcp tcp);
	~Held();
	Held(const Held &) = delete;
	Held &operator=(const Held &) = delete;

	// For the startup exchange; longer than it takes to hold the lock.
	static constexpr std::chrono::milliseconds time_to_start{4000};

	void read_into(Trap &trap);
	// Its peer does not go on with the startup exchange, so the time for that
	// will be over while the lock is held.
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
