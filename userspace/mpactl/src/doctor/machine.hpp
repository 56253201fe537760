/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The machine as `mpactl doctor` sees it: files, devices, commands, limits. The checks
// use only this interface, so that tests can simulate every fault.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ifaddrs.h>

#include "cli/context.hpp"

namespace mpactl {

struct Netdev {
	std::string name;
	bool up = false;
	// The link is established.
	bool carrier = false;
	bool loopback = false;
	unsigned int mtu = 0;
	// Numerical, without the scope of a link-local address.
	std::vector<std::string> addresses;
	unsigned int index = 0;
};

struct FileText {
	// 0, or an error number.
	int error = 0;
	std::string text;
};

struct CommandEnd {
	bool found = true;
	bool timed_out = false;
	// One of the texts is more than 4 MiB, of which the rest is missing.
	bool too_long = false;
	int status = 0;
	std::string out;
	std::string err;

	bool good() const { return found && !timed_out && !too_long && status == 0; }
};

// The result of a TCP connection from a local address to itself. With not_bound it was
// not tried: this process cannot listen there.
enum class LoopEnd { connected, refused, timeout, not_bound, failed };

struct Loop {
	LoopEnd end = LoopEnd::connected;
	std::string why;
};

// The result of datagrams to a closed port. They are answered with an ICMP error if
// they arrive and the error is not filtered.
struct Path {
	bool small_answered = false;
	bool large_answered = false;
	// Path MTU in the kernel after the large datagram; 0: unknown.
	unsigned int mtu = 0;
	// The reason why not even the small datagram could be sent.
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

	// Reads up to 4 MiB.
	virtual FileText read(const std::string &path) = 0;
	// Names in a directory, sorted; empty if it cannot be read.
	virtual std::vector<std::string> list(const std::string &path) = 0;
	virtual bool exists(const std::string &path) = 0;
	// Returns 0 if this process can read and write the file, or an error number.
	virtual int access(const std::string &path) = 0;

	// Limit of locked memory, in bytes; absent: unlimited.
	virtual std::optional<std::uint64_t> memlock() = 0;
	// Searches the sbin directories, too, after PATH. Kills the program if it takes longer
	// than a few seconds.
	virtual CommandEnd run(const std::vector<std::string> &command) = 0;

	virtual std::vector<Netdev> netdevs() = 0;
	// Visible devices of all drivers; empty without the RDMA core.
	virtual std::vector<RdmaDevice> rdma_devices() = 0;
	// nullptr if the netlink family does not exist.
	virtual Transport *mpa() = 0;

	// Listens at the address and connects to it; port 0: any free port.
	virtual Loop loop(const std::string &address, std::uint16_t port) = 0;
	// `address` may have a scope. `size`: size of an IP packet in bytes, which must not
	// be fragmented.
	virtual Path path(const std::string &address, unsigned int size) = 0;
};

// The network devices of a list of getifaddrs(3), sorted by name, without their MTU.
std::vector<Netdev> netdevs_of(const ifaddrs *list);

std::unique_ptr<Machine> this_machine(Kernel &kernel);

} // namespace mpactl
