/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The generic netlink family "mpa", without netlink: the commands see this, the
// kernel is behind it in genl.cpp, the tests have a fake.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "model/model.hpp"

namespace mpactl {

// The multicast group, joined.
class Events {
public:
	virtual ~Events() = default;

	// The next notice, waiting for it. After Stopped there is no other.
	virtual Notice next() = 0;
};

// Every member throws KernelError with the kernel's refusal, its text begun
// with what was to be done. Dumps are repeated a few times if something changed
// meanwhile.
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
	// All changes or none; `check`: only whether it could be done. Returns the
	// kernel's remark, or nothing.
	virtual std::string change(std::span<const Change> changes, bool check) = 0;
	virtual std::unique_ptr<Events> events() = 0;
};

} // namespace mpactl
