// SPDX-License-Identifier: GPL-2.0-only
//
// Requests to the netlink family without memory. The receiving side of a
// netlink socket reports lack of memory as well, so each attempt has its own
// client.
#include <array>

#include "faults.hpp"
#include "settings.hpp"

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
		} catch (const TransferFailed &failed) {
			return failed.error;
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
	constexpr std::array values{MPA_A_CONFIG_IRD, MPA_A_CONFIG_ORD, MPA_A_CONFIG_LINGER_MAX};
	Client client("h1");
	const std::array objects{defaults(), device("mpa1"), defaults()};
	const Restored restored_defaults(client, defaults());
	const Restored restored_device(client, device("mpa1"));
	std::uint32_t wanted = 100;

	each_allocation([&] {
		std::array<State, objects.size()> before;
		Attrs changes;

		wanted++;
		for (std::size_t n = 0; n < objects.size(); n++) {
			before[n] = state_of(client, objects[n]);
			changes.add(change(objects[n], Attrs().u32(values[n], wanted)));
		}
		// If there is no memory for the answer all may have changed.
		const int error = ask(set(changes));
		const bool all = state_of(client, objects[0]).values[values[0]] == wanted;

		yes(all || error, "without an error all have changed");
		if (error == ENOMEM)
			yes(!all, "with an error of the command none has changed");
		for (std::size_t n = 0; n < objects.size(); n++)
			is(state_of(client, objects[n]).values[values[n]],
			   all ? wanted : before[n].values[values[n]], objects[n].name);
		return error;
	});
}

CASE("netlink: a reader gets the event of a change, or the error that it was lost")
{
	Client client("h1");
	const Restored restored(client, defaults());
	Client reader("h1");
	std::uint32_t wanted = 100;
	int lost = 0;

	reader.subscribe();
	const auto change_one = [&] {
		wanted++;
		const int error = ask(set(change(defaults(),
						 Attrs().u32(MPA_A_CONFIG_IRD, wanted))));

		if (state_of(client, defaults()).values[MPA_A_CONFIG_IRD] != wanted) {
			yes(error, "without an error it has changed");
			return error;
		}
		if (reader.lost()) {
			lost++;
			return error;
		}
		const auto event = reader.event(patience);

		yes(event.has_value(), "an event");
		is(int{event->cmd}, int{MPA_CMD_CONFIG_NTF}, "event");
		is(state_of(event->attrs).values[MPA_A_CONFIG_IRD], wanted, "in the event");
		return error;
	};

	// The kernel's checks allocate memory, too, at times: one round may miss the event.
	for (int round = 0; round < 20 && !lost; round++)
		each_allocation(change_one);
	yes(lost > 0, "some events were lost");
}
