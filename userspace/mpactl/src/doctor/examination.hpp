/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What a check of `mpactl doctor` is, gets and returns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/machine.hpp"

namespace mpactl {

struct DoctorOrder {
	// Of the verbs program that does not work.
	std::optional<std::uint16_t> port;
	// Name or address of the other side, or empty.
	std::string peer;
	// Ids; none: all.
	std::vector<std::string> only;
};

enum class Health { ok, warn, fail, skip };

// What a check has found. skip: could not look, detail says why.
struct Diagnosis {
	Health health = Health::ok;
	std::string detail;
	// What to do; of warn and fail.
	std::string remedy;
};

// One run of the doctor: what several checks need is looked up once.
class Examination {
public:
	Examination(Machine &at, const DoctorOrder &what) : machine(at), order(what)
	{
	}

	// A device of ours that is visible here.
	struct OurDevice {
		std::string name;
		std::uint32_t index = 0;
		// nullptr: its network device is in another namespace.
		const Netdev *netdev = nullptr;
	};

	const std::vector<Netdev> &netdevs();
	const std::vector<RdmaDevice> &rdma_devices();
	const std::vector<OurDevice> &devices();
	// Those of them whose network device is here.
	std::vector<OurDevice> devices_here();
	const Netdev *netdev_with(const std::string &address);
	// Addresses of a name, in a bounded time; none if there are none.
	std::vector<std::string> resolve(const std::string &name);

	Machine &machine;
	const DoctorOrder &order;

private:
	std::optional<std::vector<Netdev>> netdevs_;
	std::optional<std::vector<RdmaDevice>> rdma_devices_;
	std::optional<std::vector<OurDevice>> devices_;
};

struct Check {
	// For --check, and stable for scripts.
	const char *id;
	const char *title;
	// Ids, with blanks between, of earlier checks: when one of them fails, so
	// would this one, and it is not done.
	std::string_view needs;
	Diagnosis (*look)(Examination &);
};

} // namespace mpactl
