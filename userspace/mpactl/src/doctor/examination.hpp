/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A check of `mpactl doctor`: its parameters and its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/machine.hpp"

namespace mpactl {

struct DoctorOrder {
	// Port of the verbs program that does not work.
	std::optional<std::uint16_t> port;
	// Name or address of the other host, or empty.
	std::string peer;
	// Ids of the selected checks; empty: all.
	std::vector<std::string> only;
};

enum class Health { ok, warn, fail, skip };

// The result of a check. With skip, `detail` is the reason why it was not done.
struct Diagnosis {
	Health health = Health::ok;
	std::string detail;
	// What to do; only with warn and fail.
	std::string remedy;
};

// The parts of a numerical address; the scope is a network device, or empty.
std::string without_scope(const std::string &address);
std::string scope_of(const std::string &address);

// One run of the doctor. Data that several checks need is read once.
class Examination {
public:
	Examination(Machine &at, const DoctorOrder &what) : machine(at), order(what)
	{
	}

	// An mpa device that is visible here.
	struct MpaDevice {
		std::string name;
		std::uint32_t index = 0;
		// nullptr: its network device is in another namespace.
		const Netdev *netdev = nullptr;
	};

	const std::vector<Netdev> &netdevs();
	const std::vector<RdmaDevice> &rdma_devices();
	const std::vector<MpaDevice> &devices();
	// The devices whose network device is in this namespace.
	std::vector<MpaDevice> devices_here();
	const Netdev *netdev_with(const std::string &address);
	// Addresses of a name; link-local ones with their scope, fe80::1%eth0, if the name
	// has it. The time is limited.
	std::vector<std::string> resolve(const std::string &name);
	// Whether linux-mpa has come here as Debian packages.
	bool is_packaged();
	// The version of the modules' sources that DKMS builds; empty: it has none.
	std::string dkms_version();

	Machine &machine;
	const DoctorOrder &order;

private:
	std::string with_name(const std::string &address);

	std::optional<std::vector<Netdev>> netdevs_;
	std::optional<std::vector<RdmaDevice>> rdma_devices_;
	std::optional<std::vector<MpaDevice>> devices_;
};

struct Check {
	// Argument of --check. Scripts depend on it, so it does not change.
	const char *id;
	const char *title;
	// Ids of earlier checks, separated by blanks. If one of them fails, this
	// check is skipped.
	std::string_view needs;
	Diagnosis (*perform)(Examination &);
};

} // namespace mpactl
