// SPDX-License-Identifier: GPL-2.0-only
//
// Programs whose memory does not come: a call that waits for memory blocks only
// its own program, and a program that holds the locks of its sockets in this
// way blocks no other program.

#include <atomic>
#include <future>
#include <iostream>
#include <memory>
#include <thread>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "net.hpp"
#include "trap.hpp"

using namespace harness;
using namespace net;
using mpa::role;

namespace {

// Calls that take the lock of a socket return.
void lock_is_free(const mpa::socket &socket,
		  std::source_location at = std::source_location::current())
{
	auto asked = std::async(std::launch::async, [&] { return socket.info(); });

	if (asked.wait_for(patience) != std::future_status::ready) {
		// A thread that waits for its end would wait forever.
		std::cout << "# " << at.line() << ": the socket's lock is held\n";
		std::cout.flush();
		::_exit(1);
	}
	must(asked.get(), "info", at);
}

void raise_limit()
{
	const rlimit limit{4096, 4096};

	must_call(::setrlimit(RLIMIT_NOFILE, &limit), "RLIMIT_NOFILE");
}

} // namespace

CASE("hostile: a send waits for its memory without the lock")
{
	Pair pair;
	Trap trap(2);
	auto sent = std::async(std::launch::async, [&] {
		return ::send(pair.near.fd(), trap.memory(), 1000, 0);
	});

	trap.await_waiting(1);
	lock_is_free(pair.near);
	// Other threads continue, in both directions.
	must(pair.near.send(mpa::bytes("before it")), "another send");
	expect_ulpdu(pair.far, mpa::bytes("before it"));
	must(pair.far.send(mpa::bytes("back")), "the other way");
	expect_ulpdu(pair.near, mpa::bytes("back"));
	trap.release();
	is(sent.get(), 1000L, "what was sent");
	expect_ulpdu(pair.far, Bytes(1000));
	is(must(pair.near.stats(), "counts").tx_fpdus, 3u, "FPDUs sent");
}

CASE("hostile: a receive waits for its memory without the lock")
{
	Pair pair;
	Trap trap;
	auto received = std::async(std::launch::async, [&] {
		return ::recv(pair.near.fd(), trap.memory(), 4096, 0);
	});

	must(pair.far.send(pattern(700, 1)), "send");
	trap.await_waiting(1);
	lock_is_free(pair.near);
	must(pair.near.send(mpa::bytes("on")), "the other way");
	expect_ulpdu(pair.far, mpa::bytes("on"));
	trap.release();
	is(received.get(), 700L, "what was received");
	yes(!std::memcmp(trap.memory(), pattern(700, 1).data(), 700), "bytes");
}

// Another thread may read in the meantime what this one was about to read.
CASE("hostile: a receive that waited for its memory takes what is queued then")
{
	Pair pair;
	Trap trap;

	must(pair.far.send(mpa::bytes("first")), "send");
	must(pair.far.send(mpa::bytes("second")), "send");
	auto received = std::async(std::launch::async, [&] {
		return ::recv(pair.near.fd(), trap.memory(), 4096, 0);
	});
	trap.await_waiting(1);
	expect_ulpdu(pair.near, mpa::bytes("first"));
	trap.release();
	is(received.get(), 6L, "what was received");
	is(std::string(trap.memory(), 6), "second", "bytes");
}

CASE("hostile: a send with bad memory sends nothing, and held back data is sent")
{
	Pair pair;
	std::array<char, 64> text{};

	must(pair.near.send(mpa::bytes("kept back"), mpa::send_flags::more), "send");
	is(err_of(::send(pair.near.fd(), nullptr, 10, MSG_MORE)), EFAULT, "bad memory");
	is(must_call(::recv(pair.far.fd(), text.data(), text.size(), 0), "recv"), 9L,
	   "what was kept back");
	must(pair.near.send(mpa::bytes("after it")), "send");
	expect_ulpdu(pair.far, mpa::bytes("after it"));
	is(must(pair.near.stats(), "counts").tx_fpdus, 3u, "FPDUs sent");
}

namespace {

// More than there are workers for the sockets of all users.
constexpr int many = 300;

void hold_many(const descriptor &tell, const descriptor &end)
{
	std::vector<Tcp> tcp(many);
	Trap trap;
	std::vector<std::unique_ptr<Held>> held;
	char byte;

	must_call(::setuid(65534), "setuid");
	for (auto &one : tcp)
		held.push_back(std::make_unique<Held>(std::move(one)));
	for (auto &one : held) {
		one->read_into(trap);
		one->start();
	}
	trap.await_waiting(many);
	// The last of the startup timers.
	std::this_thread::sleep_for(Held::time_to_start);
	must_call(::write(tell.get(), "x", 1), "tell");
	must_call(::read(end.get(), &byte, 1), "the end");
	trap.release();
}

} // namespace

CASE("hostile: a user who holds many locks does not block others")
{
	int ready[2], end[2];
	char byte;

	raise_limit();
	must_call(::pipe2(ready, O_CLOEXEC), "pipe");
	must_call(::pipe2(end, O_CLOEXEC), "pipe");
	descriptor ready_out(ready[0]), ready_in(ready[1]);
	descriptor end_out(end[0]), end_in(end[1]);
	const pid_t child = must_call(::fork(), "fork");
	if (child == 0) {
		int status = 1;

		try {
			hold_many(ready_in, end_out);
			status = 0;
		} catch (const Failed &failed) {
			std::cout << "# holder: " << failed.what << std::endl;
		}
		::_exit(status);
	}
	ready_in.reset();
	is(must_call(::read(ready_out.get(), &byte, 1), "read"), 1L, "locks are held");

	Attached both;
	mpa::params params;
	params.auto_accept = true;
	// What waits for the holder waits until its end, below.
	params.timeout = 2 * patience;
	must(both.near.set_params(params), "parameters");
	must(both.far.set_params(params), "parameters");
	begin(both.far, role::responder);
	auto started = std::async(std::launch::async,
				  [&] { return err(both.near.start(role::initiator)); });
	if (started.wait_for(patience) != std::future_status::ready) {
		std::cout << "# not started" << std::endl;
		::_exit(1);
	}
	is(started.get(), 0, "start");
	// Held back data is also sent by a timer.
	must(both.near.set_blocking(true), "blocking");
	must(both.near.send(mpa::bytes("kept"), mpa::send_flags::more), "send");
	must(both.far.set_blocking(true), "blocking");
	expect_ulpdu(both.far, mpa::bytes("kept"));

	int status = -1;
	must_call(::write(end_in.get(), "x", 1), "end");
	must_call(::waitpid(child, &status, 0), "waitpid");
	is(status, 0, "the holder");
}
