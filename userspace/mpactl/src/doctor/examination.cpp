/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "doctor/examination.hpp"

#include <algorithm>
#include <sstream>

namespace mpactl {

std::string without_scope(const std::string &address)
{
	return address.substr(0, address.find('%'));
}

std::string scope_of(const std::string &address)
{
	const auto at = address.find('%');

	return at == std::string::npos ? std::string() : address.substr(at + 1);
}

const std::vector<Netdev> &Examination::netdevs()
{
	if (!netdevs_)
		netdevs_ = machine.netdevs();
	return *netdevs_;
}

const std::vector<RdmaDevice> &Examination::rdma_devices()
{
	if (!rdma_devices_)
		rdma_devices_ = machine.rdma_devices();
	return *rdma_devices_;
}

// The administrator chooses the names, so mpa devices are recognized by an attribute
// that only they have.
const std::vector<Examination::MpaDevice> &Examination::devices()
{
	std::vector<MpaDevice> found;

	if (devices_)
		return *devices_;
	for (const auto &one : rdma_devices()) {
		MpaDevice device{one.name, one.index, nullptr};

		if (!machine.exists("/sys/class/infiniband/" + one.name +
				    "/mpa_abi_version"))
			continue;
		for (const auto &netdev : netdevs())
			if (netdev.name == one.netdev)
				device.netdev = &netdev;
		found.push_back(device);
	}
	return devices_.emplace(std::move(found));
}

std::vector<Examination::MpaDevice> Examination::devices_here()
{
	auto here = devices();

	std::erase_if(here, [](const auto &one) { return !one.netdev; });
	return here;
}

const Netdev *Examination::netdev_with(const std::string &address)
{
	const auto scope = scope_of(address);

	for (const auto &one : netdevs())
		if ((scope.empty() || one.name == scope) &&
		    std::find(one.addresses.begin(), one.addresses.end(),
			      without_scope(address)) != one.addresses.end())
			return &one;
	return nullptr;
}

// getent(1) shows the number of the network device.
std::string Examination::with_name(const std::string &address)
{
	const auto scope = scope_of(address);

	for (const auto &one : netdevs())
		if (std::to_string(one.index) == scope)
			return without_scope(address) + "%" + one.name;
	return address;
}

// Runs a program, because it can be killed if no name server answers.
std::vector<std::string> Examination::resolve(const std::string &name)
{
	const auto end = machine.run({"getent", "ahosts", "--", name});
	std::istringstream lines(end.good() ? end.out : std::string());
	std::vector<std::string> found;
	std::string line;

	while (std::getline(lines, line)) {
		const auto address = with_name(line.substr(0, line.find_first_of(" \t")));

		if (!address.empty() && std::find(found.begin(), found.end(),
						  address) == found.end())
			found.push_back(address);
	}
	return found;
}

bool Examination::is_packaged()
{
	return machine.exists("/usr/share/doc/linux-mpa-dkms/copyright") ||
	       machine.exists("/usr/share/doc/mpactl/copyright");
}

// They may be there without a package, by `dkms add`.
std::string Examination::dkms_version()
{
	static constexpr std::string_view prefix = "linux-mpa-";
	const std::string sources = "/usr/src/";
	std::string version;

	for (const auto &name : machine.list("/usr/src"))
		if (name.starts_with(prefix) && machine.exists(sources + name + "/dkms.conf"))
			version = name.substr(prefix.size());
	return version;
}

} // namespace mpactl
