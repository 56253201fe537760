// SPDX-License-Identifier: GPL-2.0-only
//
// Valid settings: set, read back and reset on each kind of object; checked
// without being applied; applied all together or not at all.
#include "sockets.hpp"
#include "values.hpp"

using namespace harness;
using namespace nl;

namespace {

std::vector<std::uint32_t> between(std::uint32_t least, std::uint32_t most)
{
	std::vector<std::uint32_t> values;

	for (const std::uint32_t value : {least, least + 1, (least + most) / 2, most})
		if (value <= most)
			values.push_back(value);
	return values;
}

// Range of a setting on an object: a device has its own limits.
std::vector<std::uint32_t> values_of(Client &client, const Object &object,
				     const Setting &one)
{
	if (object.limited.empty())
		return between(one.min, one.max);
	const Got dev = client.one(device(object.limited).get()).nest(MPA_A_DEV);
	const std::uint32_t rtr = dev.u32(MPA_A_DEV_RTR);
	std::vector<std::uint32_t> kinds;

	switch (one.attr) {
	case MPA_A_CONFIG_IRD:
		return between(0, dev.u32(MPA_A_DEV_IRD_MAX));
	case MPA_A_CONFIG_ORD:
		return between(0, dev.u32(MPA_A_DEV_ORD_MAX));
	case MPA_A_CONFIG_RTR:
		for (std::uint32_t set = 1; set <= one.max; set++)
			if (!(set & ~rtr))
				kinds.push_back(set);
		return kinds;
	default:
		return between(one.min, one.max);
	}
}

} // namespace

namespace values {

void every_setting(Client &client, const Object &object)
{
	const Restored restored(client, object);
	const State before = state_of(client, object);

	is(before.own, 0u, "own settings at first");
	for (const Setting &one : settings) {
		const Row row(object.name, one.name);

		if (!one.devices && !object.limited.empty())
			continue;
		if (!one.listeners && object.nest == MPA_A_LISTEN)
			continue;
		for (const auto value : values_of(client, object, one)) {
			State wanted = before;

			wanted.own = 1u << one.attr;
			wanted.values[one.attr] = value;
			set_one(client, object, one.attr, value);
			is(state_of(client, object), wanted, "after setting");
		}
		inherit(client, object, 1u << one.attr);
		is(state_of(client, object), before, "after inheriting");
	}
}

void inherited_from(Client &client, const Object &above, const Object &below)
{
	const Restored restored_above(client, above);
	const Restored restored_below(client, below);

	for (const Setting &one : settings) {
		const Row row(above.name, below.name, one.name);
		const auto in_force = [&] {
			return state_of(client, below).values[one.attr];
		};

		// Inherited values of these are cut to the device's limits.
		if (!below.limited.empty() &&
		    (!one.devices || one.attr == MPA_A_CONFIG_RTR))
			continue;
		if (!one.listeners && below.nest == MPA_A_LISTEN)
			continue;
		const std::uint32_t builtin = in_force();
		const std::uint32_t other = builtin == one.min ? one.min + 1 : one.min;
		set_one(client, above, one.attr, other);
		is(in_force(), other, "inherited");
		is(state_of(client, below).own, 0u, "nothing of its own");
		set_one(client, below, one.attr, builtin);
		is(in_force(), builtin, "its own");
		set_one(client, above, one.attr, builtin);
		set_one(client, below, one.attr, other);
		is(in_force(), other, "still its own");
		inherit(client, below, 1u << one.attr);
		is(in_force(), builtin, "inherited again");
		inherit(client, above, 1u << one.attr);
	}
}

} // namespace values

CASE("settings: built-in values")
{
	Client client("h1");
	const State state = state_of(client, defaults());

	is(state.own, 0u, "own settings");
	for (const Setting &one : settings)
		is(state.values[one.attr], one.builtin, one.name);
}

CASE("settings: each is set, read back and reset, namespace")
{
	Client client("h1");

	values::every_setting(client, defaults());
}

CASE("settings: each is set, read back and reset, socket's listener")
{
	Client client("h1");
	const sockets::Listener socket;

	values::every_setting(client, listener(socket.id(client)));
	values::inherited_from(client, defaults(), listener(socket.id(client)));
}

CASE("settings: a check returns the result without applying it")
{
	Client client("h1");
	const State before = state_of(client, defaults());

	for (const Setting &one : settings) {
		const Row row(one.name);
		const Attrs good = Attrs().u32(one.attr, one.min);
		const Answer answer = client.get(set(change(defaults(), good), true));

		is(answer.message, "", "message");
		is(state_of(client, defaults()), before, "after a check");
		const Attrs bad = Attrs().u32(one.attr, one.max + 1);
		is(Err{client.ask(set(change(defaults(), bad), true)).error}, ERANGE,
		   "check of a bad value");
	}
}

CASE("settings: a list is applied completely or not at all")
{
	Client client("h1");
	const sockets::Listener socket;
	const Object below = listener(socket.id(client));
	const Restored restored_defaults(client, defaults());
	const Restored restored_listener(client, below);
	const State before = state_of(client, defaults());
	const Attrs good = Attrs()
		.add(change(defaults(), Attrs().u32(MPA_A_CONFIG_CRC, 0)
						.u32(MPA_A_CONFIG_STARTUP_TIMEOUT, 777)))
		.add(change(below, Attrs().u32(MPA_A_CONFIG_MARKERS, 1)));

	// An unknown object is found only after all changes were parsed.
	const Answer answer = client.ask(set(Attrs().add(good).add(
		change(listener(0x7ffffffe), Attrs().u32(MPA_A_CONFIG_CRC, 0)))));
	is(Err{answer.error}, ENOENT, "a list with a bad end");
	is(state_of(client, defaults()), before, "namespace");
	is(state_of(client, below), before, "listener");

	client.get(set(good));
	State wanted = before;
	wanted.values[MPA_A_CONFIG_CRC] = 0;
	wanted.values[MPA_A_CONFIG_STARTUP_TIMEOUT] = 777;
	State above = wanted;
	above.own = 1u << MPA_A_CONFIG_CRC | 1u << MPA_A_CONFIG_STARTUP_TIMEOUT;
	is(state_of(client, defaults()), above, "namespace, all applied");
	wanted.values[MPA_A_CONFIG_MARKERS] = 1;
	wanted.own = 1u << MPA_A_CONFIG_MARKERS;
	is(state_of(client, below), wanted, "listener, all applied");
}

CASE("settings: the last change of a setting wins")
{
	Client client("h1");
	const Restored restored(client, defaults());
	Attrs changes;

	for (std::uint32_t n = 0; n < 256; n++)
		changes.add(change(defaults(),
				   Attrs().u32(MPA_A_CONFIG_HALF_OPEN_MAX, n + 1)));
	client.get(set(changes));
	is(state_of(client, defaults()).values[MPA_A_CONFIG_HALF_OPEN_MAX], 256u,
	   "the last of 256");
	client.get(set(Attrs()
		.add(change(defaults(), Attrs().u32(MPA_A_CONFIG_HALF_OPEN_MAX, 5)))
		.add(change(defaults(), {}, 1u << MPA_A_CONFIG_HALF_OPEN_MAX))));
	is(state_of(client, defaults()).values[MPA_A_CONFIG_HALF_OPEN_MAX], 128u,
	   "reset in the end");
}
