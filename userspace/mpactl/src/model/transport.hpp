/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The generic netlink family "mpa" as an interface for the commands. genl.cpp
// implements it with the running kernel, and the tests with a fake.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "model/model.hpp"

namespace mpactl {

// A membership in the multicast group.
class Events {
public:
	virtual ~Events() = default;

	// Waits for the next notice. Stopped is the last one.
	virtual Notice next() = 0;
};

// Every member throws KernelError if the kernel refuses the request; its text begins
// with the object or the action. Dumps are repeated a few times if objects were added
// or removed during the dump.
class Transport {
public:
	virtual ~Transport() = default;

	virtual Defaults defaults() = 0;
	virtual Device device(const std::string &name) = 0;
	virtual Listing<Device> devices() = 0;
	virtual Listener listener(std::uint32_t id) = 0;
	virtual Listing<Listener> listeners() = 0;
	virtual Connection connection(std::uint32_t id) = 0;
	virtual Listing<Connection> connections() = 0;
	// Makes all changes or none; with `check` only asks the kernel whether it
	// would accept them. Returns the kernel's message, or an empty string.
	virtual std::string change(std::span<const Change> changes, bool check) = 0;
	virtual std::unique_ptr<Events> events() = 0;
};

} // namespace mpactl
