/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The machine as `mpactl doctor` looks at it: files, devices, commands, limits.
// The checks see only this, so that tests can have every fault.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.hpp"

namespace mpactl {

struct Netdev {
	std::string name;
	bool up = false;
	// There is a cable with something at its other end.
	bool carrier = false;
	bool loopback = false;
	unsigned int mtu = 0;
	// Numerical, without a scope.
	std::vector<std::string> addresses;
};

struct FileText {
	// 0, or an error number.
	int error = 0;
	std::string text;
};

struct CommandEnd {
	bool found = true;
	bool timed_out = false;
	int status = 0;
	std::string out;
	std::string err;

	bool good() const { return found && !timed_out && status == 0; }
};

// How a TCP connection from an own address to itself went.
enum class LoopEnd { connected, refused, timeout, port_in_use, failed };

struct Loop {
	LoopEnd end = LoopEnd::connected;
	std::string why;
};

// What became of a datagram to a port where nobody is: it is answered with an
// error message if it gets there and nobody filters that.
struct Path {
	bool small_answered = false;
	bool large_answered = false;
	// As the kernel knows it after the large one; 0: unknown.
	unsigned int mtu = 0;
	// Not even the small one could be sent: why.
	std::string why;
};

class Machine {
public:
	virtual ~Machine() = default;

	virtual std::string release() = 0;
	virtual std::string host_name() = 0;
	virtual unsigned int uid() = 0;
	// A CAP_* of <linux/capability.h>, in effect.
	virtual bool capable(unsigned int capability) = 0;
	virtual std::string environment(const std::string &name) = 0;

	// Up to four million bytes.
	virtual FileText read(const std::string &path) = 0;
	// Names in a directory, sorted; none if it cannot be read.
	virtual std::vector<std::string> list(const std::string &path) = 0;
	virtual bool exists(const std::string &path) = 0;
	// Whether it can be read and written by this process: 0 or an error number.
	virtual int access(const std::string &path) = 0;

	// Bytes of memory that may be locked; nothing: any number.
	virtual std::optional<std::uint64_t> memlock() = 0;
	// Ended by force when it takes longer than a few seconds.
	virtual CommandEnd run(const std::vector<std::string> &command) = 0;

	virtual std::vector<Netdev> netdevs() = 0;
	// Of every driver, as far as visible; none without RDMA core.
	virtual std::vector<RdmaDevice> rdma_devices() = 0;
	// nullptr: the family is not there.
	virtual Transport *mpa() = 0;

	// Listens at the address and connects to it; port 0: any that is free.
	virtual Loop loop(const std::string &address, std::uint16_t port) = 0;
	// size: bytes of an IP packet that may not be fragmented.
	virtual Path path(const std::string &address, unsigned int size) = 0;
};

std::unique_ptr<Machine> this_machine(Kernel &kernel);

} // namespace mpactl
