// SPDX-License-Identifier: GPL-2.0-only
//
// Requests to the netlink family without memory. The receiving side of a
// netlink socket reports lack of memory as well, so each attempt has its own
// client.
#include "faults.hpp"
#include "client.hpp"

using namespace harness;
using namespace nl;
using faults::each_allocation;
using faults::with_fault;

namespace {

int ask(const Request &request)
{
	Client client("h1");

	return with_fault([&] {
		try {
			return client.ask(request).error;
		} catch (const Failed &) {
			return ENOBUFS;
		}
	});
}

} // namespace

CASE("netlink: settings are read")
{
	each_allocation([] { return ask({.cmd = MPA_CMD_DEFAULTS_GET}); });
}

CASE("netlink: devices are listed")
{
	each_allocation([] { return ask(dump(MPA_CMD_DEV_GET)); });
}

CASE("netlink: a list of settings is applied completely or not at all")
{
	Client client("h1");
	bool on = false;
	const auto now = [&] {
		return client.one({.cmd = MPA_CMD_DEFAULTS_GET}).nest(MPA_A_CONFIG)
			       .u32(MPA_A_CONFIG_IRD);
	};

	each_allocation([&] {
		const std::uint32_t before = now(), wanted = on ? 8 : 9;
		Attrs config;

		on = !on;
		config.u32(MPA_A_CONFIG_IRD, wanted);
		const int error = ask({.cmd = MPA_CMD_SET,
				       .attrs = Attrs().nest(MPA_A_CHANGE,
					       Attrs().nest(MPA_A_CONFIG, config))});
		if (error != ENOBUFS)
			is(now(), error ? before : wanted, "the setting");
		return error;
	});
}
