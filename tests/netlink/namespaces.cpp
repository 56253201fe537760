// SPDX-License-Identifier: GPL-2.0-only
//
// A network namespace shows and changes only its own objects.
#include <cstdlib>

#include <sched.h>

#include "settings.hpp"
#include "sockets.hpp"

using namespace harness;
using namespace nl;
using sockets::Listener;
using sockets::Pair;

namespace {

void run(const std::string &command)
{
	is(std::system(command.c_str()), 0, command);
}

// All ids of a dump.
std::vector<std::uint32_t> numbers(Client &client, std::uint8_t cmd, int nest, int attr)
{
	std::vector<std::uint32_t> all;

	for (const Message &one : client.get(dump(cmd)).replies)
		all.push_back(one.attrs.nest(nest).u32(attr));
	return all;
}

std::size_t listeners(Client &client)
{
	return numbers(client, MPA_CMD_LISTEN_GET, MPA_A_LISTEN, MPA_A_LISTEN_ID).size();
}

} // namespace

CASE("namespaces: each has its own settings")
{
	Client one("h1"), two("h2");
	const Restored restored_one(one, defaults());
	const Restored restored_two(two, defaults());
	const State before = state_of(two, defaults());

	for (const Setting &setting : settings)
		set_one(one, defaults(), setting.attr,
			setting.builtin == setting.min ? setting.max : setting.min);
	is(state_of(two, defaults()), before, "of the other");
	set_one(two, defaults(), MPA_A_CONFIG_HALF_OPEN_MAX, 7);
	is(state_of(one, defaults()).values[MPA_A_CONFIG_HALF_OPEN_MAX], 1u, "of the one");
}

CASE("namespaces: a new one has the built-in settings and takes its own along")
{
	for (int round = 0; round < 2; round++) {
		run("ip netns add fresh");
		{
			Client client("fresh");
			const State state = state_of(client, defaults());

			is(state.own, 0u, "own settings");
			set_one(client, defaults(), MPA_A_CONFIG_CRC, 0);
			is(state_of(client, defaults()).values[MPA_A_CONFIG_CRC], 0u,
			   "crc");
		}
		run("ip netns del fresh");
	}
}

CASE("namespaces: listeners and connections are dumped in their namespace only")
{
	Client one("h1"), two("h2");
	const std::size_t before_one = listeners(one), before_two = listeners(two);
	Listener listener(net::Path::ipv4);
	const Pair pair(listener);
	const sockets::Ports near = sockets::ports_of(pair.near.fd());
	const sockets::Ports far = sockets::ports_of(pair.far.fd());

	is(listeners(one), before_one, "listeners of the one");
	is(listeners(two), before_two + 1, "listeners of the other");
	yes(sockets::dumped(one, near) && !sockets::dumped(one, far), "near end");
	yes(sockets::dumped(two, far) && !sockets::dumped(two, near), "far end");

	// Objects selected by id must be in the namespace, too.
	const Object foreign = nl::listener(listener.id(two));
	if (!before_one) {
		is(Err{one.ask(foreign.get()).error}, ENOENT, "the other's listener");
		is(Err{one.ask(set(change(foreign, Attrs()
			.u32(MPA_A_CONFIG_CRC, 0)))).error}, ENOENT,
		   "setting at the other's listener");
	}
	is(state_of(two, foreign).own, 0u, "its settings");
}

CASE("namespaces: events are sent in their namespace only")
{
	Client one("h1"), two("h2"), elsewhere;
	int heard_one = 0, heard_two = 0;

	for (Client *client : {&one, &two, &elsewhere})
		client->subscribe();
	{
		Listener listener(net::Path::ipv4);
		const Pair pair(listener);
	}
	const auto listen = [&](const Message &event) {
		return event.cmd == MPA_CMD_LISTEN_ADD_NTF ||
		       event.cmd == MPA_CMD_LISTEN_DEL_NTF;
	};
	while (const auto event = one.event(heard_one < 2 ? patience : moment)) {
		yes(!listen(*event), "the other's listener");
		heard_one++;
	}
	while (const auto event = two.event(heard_two < 2 ? patience : moment))
		heard_two += listen(*event) ? 0 : 1;
	yes(!elsewhere.event(moment), "a third one receives nothing");
	is(heard_one, 2, "the near end, up and down");
	is(heard_two, 2, "the far end, up and down");
}

CASE("namespaces: the owner of one may set there and nowhere else")
{
	Client root("h1");

	must_call(::setresgid(65534, 65534, 65534), "setresgid");
	must_call(::setresuid(65534, 65534, 65534), "setresuid");
	must_call(::unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
	Client own;
	set_one(own, defaults(), MPA_A_CONFIG_CRC, 0);
	is(state_of(own, defaults()).values[MPA_A_CONFIG_CRC], 0u, "crc");
	is(Err{root.ask(set(change(defaults(), Attrs()
		.u32(MPA_A_CONFIG_CRC, 0)))).error}, EPERM, "elsewhere");
	is(state_of(root, defaults()).values[MPA_A_CONFIG_CRC], 1u, "crc elsewhere");
}
