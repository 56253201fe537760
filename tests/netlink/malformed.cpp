// SPDX-License-Identifier: GPL-2.0-only
//
// Messages with one error each, generated from tables of the places in which
// attributes occur and of the possible errors. Each must be refused with the
// right error, a message and the offset of the attribute if there is one, and
// no setting may change.
#include <algorithm>
#include <iostream>

#include <unistd.h>

#include "settings.hpp"

using namespace harness;
using namespace nl;

namespace {

// An attribute that is valid in a place.
struct Known {
	enum class Kind { u32, mask, name, flag, nest };

	int type;
	Kind kind;
	// u32: valid range. mask: valid bits.
	std::uint32_t min = 0;
	std::uint32_t max = UINT32_MAX;
	Attrs inner{}; // nest: valid content
	bool repeated = false;
};

// A place: how its attributes become a request, and which of them are valid.
struct Place {
	std::string name;
	std::function<Request(const Attrs &)> wrap;
	std::vector<Known> known;
};

struct Bad {
	std::string name;
	Request request;
	int error = EINVAL;
	bool has_message = true;
};

constexpr auto u32 = Known::Kind::u32;
constexpr auto nest = Known::Kind::nest;

Attrs dev_index(std::uint32_t index = 0)
{
	return Attrs().u32(MPA_A_DEV_INDEX, index);
}

Attrs crc(std::uint32_t value = 1)
{
	return Attrs().u32(MPA_A_CONFIG_CRC, value);
}

std::function<Request(const Attrs &)> top(std::uint8_t cmd, std::uint16_t flags = 0)
{
	return [=](const Attrs &attrs) {
		return Request{.cmd = cmd, .attrs = attrs, .flags = flags};
	};
}

std::function<Request(const Attrs &)>
within(const std::function<Request(const Attrs &)> &outer, int type,
       const Attrs &before = {})
{
	return [=](const Attrs &attrs) {
		return outer(Attrs().add(before).nest(type, attrs));
	};
}

std::vector<Known> config_known()
{
	std::vector<Known> known;

	for (const Setting &one : settings)
		known.push_back({one.attr, u32, one.min, one.max});
	return known;
}

std::vector<Place> places()
{
	const std::vector<Known> dev{
		{MPA_A_DEV_INDEX, u32},
		{MPA_A_DEV_NAME, Known::Kind::name},
	};
	const std::vector<Known> listen{{MPA_A_LISTEN_ID, u32, 1}};
	const std::vector<Known> conn{{MPA_A_CONN_ID, u32, 1}};
	const Known dev_nest{.type = MPA_A_DEV, .kind = nest, .inner = dev_index()};
	const Known listen_nest{.type = MPA_A_LISTEN, .kind = nest,
				.inner = Attrs().u32(MPA_A_LISTEN_ID, 1)};
	const Known conn_nest{.type = MPA_A_CONN, .kind = nest,
			      .inner = Attrs().u32(MPA_A_CONN_ID, 1)};
	const Known change{.type = MPA_A_CHANGE, .kind = nest,
			   .inner = Attrs().nest(MPA_A_CONFIG, crc()),
			   .repeated = true};
	const auto in_change = within(top(MPA_CMD_SET), MPA_A_CHANGE);
	const Attrs config = Attrs().nest(MPA_A_CONFIG, crc());

	return {
		{"defaults", top(MPA_CMD_DEFAULTS_GET), {}},
		{"dev", top(MPA_CMD_DEV_GET), {dev_nest}},
		{"dev.dev", within(top(MPA_CMD_DEV_GET), MPA_A_DEV), dev},
		{"listen", top(MPA_CMD_LISTEN_GET), {listen_nest}},
		{"listen.listen", within(top(MPA_CMD_LISTEN_GET), MPA_A_LISTEN), listen},
		{"listen dump", top(MPA_CMD_LISTEN_GET, NLM_F_DUMP), {dev_nest}},
		{"listen dump.dev",
		 within(top(MPA_CMD_LISTEN_GET, NLM_F_DUMP), MPA_A_DEV), dev},
		{"conn", top(MPA_CMD_CONN_GET), {conn_nest}},
		{"conn.conn", within(top(MPA_CMD_CONN_GET), MPA_A_CONN), conn},
		{"conn dump", top(MPA_CMD_CONN_GET, NLM_F_DUMP), {dev_nest}},
		{"conn dump.dev",
		 within(top(MPA_CMD_CONN_GET, NLM_F_DUMP), MPA_A_DEV), dev},
		{"set", top(MPA_CMD_SET), {{MPA_A_CHECK, Known::Kind::flag}, change}},
		{"set.change", in_change,
		 {dev_nest, listen_nest,
		  {.type = MPA_A_CONFIG, .kind = nest, .inner = crc()},
		  {MPA_A_INHERIT, Known::Kind::mask, 0,
		   // Bit n is setting n.
		   static_cast<std::uint32_t>((2ull << MPA_A_CONFIG_MAX) - 2)}}},
		{"set.change.dev", within(in_change, MPA_A_DEV, config), dev},
		{"set.change.listen", within(in_change, MPA_A_LISTEN, config), listen},
		{"set.change.config", within(in_change, MPA_A_CONFIG), config_known()},
	};
}

Bytes good_value(const Known &one)
{
	switch (one.kind) {
	case Known::Kind::name:
		return bytes_of(std::string_view("mpa0\0", 5));
	case Known::Kind::flag:
		return {};
	case Known::Kind::nest:
		return one.inner.bytes();
	case Known::Kind::mask:
		return bytes_of(std::uint32_t{2});
	default:
		return bytes_of(one.min);
	}
}

std::uint16_t good_type(const Known &one)
{
	return one.type | (one.kind == nest ? NLA_F_NESTED : 0);
}

// Invalid contents for an attribute of a kind, and how they are refused.
struct Content {
	std::string name;
	Bytes data;
	int error = EINVAL;
};

std::vector<Content> bad_numbers(const Known &one)
{
	std::vector<Content> all;

	for (const std::size_t size : {0, 1, 2, 3, 5, 8})
		all.push_back({std::to_string(size) + " bytes", Bytes(size)});
	if (one.kind == Known::Kind::mask) {
		all.push_back({"bit 0", bytes_of(std::uint32_t{3})});
		if (const std::uint32_t undefined = ~one.max & ~1u)
			all.push_back({"undefined bits", bytes_of(undefined | 2)});
		return all;
	}
	if (one.min)
		all.push_back({"less than the least", bytes_of(one.min - 1), ERANGE});
	if (one.max != UINT32_MAX) {
		all.push_back({"more than the most", bytes_of(one.max + 1), ERANGE});
		all.push_back({"much too much", bytes_of(UINT32_MAX), ERANGE});
	}
	return all;
}

std::vector<Content> bad_names()
{
	return {
		{"nothing", {}},
		{"no NUL", bytes_of("mpa0")},
		{"empty", bytes_of(std::string_view("\0", 1))},
		{"64 characters", bytes_of(std::string(64, 'a') + '\0')},
		{"1000 characters", bytes_of(std::string(1000, 'a') + '\0')},
		{"bytes behind the NUL", bytes_of(std::string_view("mpa0\0x\0", 7))},
	};
}

std::vector<Content> bad_contents(const Known &one)
{
	switch (one.kind) {
	case Known::Kind::name:
		return bad_names();
	case Known::Kind::flag:
		return {{"1 byte", Bytes(1), ERANGE}, {"4 bytes", Bytes(4), ERANGE}};
	case Known::Kind::nest:
		return {{"1 byte", Bytes(1), ERANGE}, {"3 bytes", Bytes(3), ERANGE}};
	default:
		return bad_numbers(one);
	}
}

// A known attribute in a wrong form.
void add_known(std::vector<Bad> &all, const Place &place, const Known &one)
{
	const std::string name = place.name + ": " + std::to_string(one.type) + ": ";
	const Bytes value = good_value(one);
	const std::uint16_t type = good_type(one);

	for (const Content &bad : bad_contents(one))
		all.push_back({name + bad.name,
			       place.wrap(Attrs().mark().raw(type, bad.data)), bad.error});
	all.push_back({name + "in network byte order",
		       place.wrap(Attrs().mark().raw(type | NLA_F_NET_BYTEORDER, value))});
	all.push_back({name + "with the wrong nest flag",
		       place.wrap(Attrs().mark().raw(type ^ NLA_F_NESTED, value))});
	if (!one.repeated)
		all.push_back({name + "twice", place.wrap(Attrs().raw(type, value)
							  .mark().raw(type, value))});
}

// Unknown attributes, and bytes that are not an attribute.
void add_unknown(std::vector<Bad> &all, const Place &place)
{
	std::vector<int> types{0, 35, 100, 0x3fff};

	for (int type = 1; type <= 20; type++)
		if (std::ranges::find(place.known, type, &Known::type) ==
		    place.known.end())
			types.push_back(type);
	for (const int type : types)
		all.push_back({place.name + ": unknown " + std::to_string(type),
			       place.wrap(Attrs().mark().raw(type, Bytes(4)))});
	// Bytes that are not an attribute have no offset to report.
	for (const std::size_t count : {4, 8, 12})
		all.push_back({place.name + ": junk of " + std::to_string(count),
			       place.wrap(Attrs().junk(count))});
	for (const int length : {0, 3})
		all.push_back({place.name + ": length " + std::to_string(length),
			       place.wrap(Attrs().raw(1, Bytes(4), length))});
}

// Requests that are well formed but invalid.
void add_meanings(std::vector<Bad> &all)
{
	const Attrs unknown = Attrs().mark().string(MPA_A_DEV_NAME, "nobody");
	const Attrs both = dev_index().mark().string(MPA_A_DEV_NAME, "mpa0");
	const Attrs no_index = Attrs().mark().u32(MPA_A_DEV_INDEX, 123456);
	const Attrs no_listener = Attrs().mark().u32(MPA_A_LISTEN_ID, 0x7fffffff);
	const Attrs no_conn = Attrs().mark().u32(MPA_A_CONN_ID, 0x7fffffff);
	const Attrs config = Attrs().nest(MPA_A_CONFIG, crc());
	const auto ask = [&](std::string name, std::uint8_t cmd, Attrs attrs,
			     int error = EINVAL, std::uint16_t flags = 0) {
		all.push_back({std::move(name),
			       {.cmd = cmd, .attrs = std::move(attrs), .flags = flags},
			       error});
	};
	const auto set = [&](std::string name, Attrs inner, int error = EINVAL) {
		Attrs changes;

		changes.nest(MPA_A_CHANGE, inner);
		ask("set: " + name, MPA_CMD_SET, changes, error);
		// The same after a valid one, which must not be applied either.
		ask("set: second, " + name, MPA_CMD_SET, Attrs()
		    .nest(MPA_A_CHANGE, Attrs().nest(MPA_A_CONFIG, crc(0)))
		    .add(changes), error);
	};

	for (const std::uint8_t cmd :
	     {MPA_CMD_DEV_GET, MPA_CMD_LISTEN_GET, MPA_CMD_CONN_GET})
		ask("no selector, " + std::to_string(cmd), cmd, {});
	ask("a device without a selector", MPA_CMD_DEV_GET,
	    Attrs().mark().nest(MPA_A_DEV, {}));
	ask("a device with two selectors", MPA_CMD_DEV_GET,
	    Attrs().nest(MPA_A_DEV, both));
	ask("an unknown device name", MPA_CMD_DEV_GET,
	    Attrs().nest(MPA_A_DEV, unknown), ENODEV);
	ask("an unknown device index", MPA_CMD_DEV_GET,
	    Attrs().nest(MPA_A_DEV, no_index), ENODEV);
	ask("a listener without a selector", MPA_CMD_LISTEN_GET,
	    Attrs().mark().nest(MPA_A_LISTEN, {}));
	ask("an unknown listener", MPA_CMD_LISTEN_GET,
	    Attrs().nest(MPA_A_LISTEN, no_listener), ENOENT);
	ask("a connection without a selector", MPA_CMD_CONN_GET,
	    Attrs().mark().nest(MPA_A_CONN, {}));
	ask("an unknown connection", MPA_CMD_CONN_GET,
	    Attrs().nest(MPA_A_CONN, no_conn), ENOENT);
	ask("a listener by its device", MPA_CMD_LISTEN_GET,
	    Attrs().mark().nest(MPA_A_DEV, dev_index()));
	ask("a connection by its device", MPA_CMD_CONN_GET,
	    Attrs().mark().nest(MPA_A_DEV, dev_index()));
	// The end of a dump reports no attribute.
	ask("a dump of one device", MPA_CMD_DEV_GET,
	    Attrs().nest(MPA_A_DEV, dev_index()), EINVAL, NLM_F_DUMP);
	ask("a dump of one listener", MPA_CMD_LISTEN_GET,
	    Attrs().nest(MPA_A_LISTEN, no_listener), EINVAL, NLM_F_DUMP);
	ask("a dump of one connection", MPA_CMD_CONN_GET,
	    Attrs().nest(MPA_A_CONN, no_conn), EINVAL, NLM_F_DUMP);
	for (const std::uint8_t cmd : {MPA_CMD_LISTEN_GET, MPA_CMD_CONN_GET}) {
		const std::string name = "a dump, " + std::to_string(cmd) + ", ";

		ask(name + "of an unknown device", cmd, Attrs().nest(MPA_A_DEV, unknown), ENODEV,
		    NLM_F_DUMP);
		ask(name + "of a device with two selectors", cmd,
		    Attrs().nest(MPA_A_DEV, both), EINVAL, NLM_F_DUMP);
		ask(name + "of a device without a selector", cmd,
		    Attrs().nest(MPA_A_DEV, {}), EINVAL, NLM_F_DUMP);
	}

	ask("set: nothing", MPA_CMD_SET, {});
	ask("set: only a check", MPA_CMD_SET, Attrs().flag(MPA_A_CHECK));
	all.push_back({"set: an empty change",
		       {.cmd = MPA_CMD_SET,
			.attrs = Attrs().mark().nest(MPA_A_CHANGE, {})}});
	set("a device and a listener", Attrs().nest(MPA_A_DEV, dev_index())
	    .mark().nest(MPA_A_LISTEN, Attrs().u32(MPA_A_LISTEN_ID, 1)).add(config));
	set("the same set and inherited",
	    Attrs().add(config).mark().u32(MPA_A_INHERIT, 1u << MPA_A_CONFIG_CRC));
	set("a device with two selectors", Attrs().nest(MPA_A_DEV, both).add(config));
	set("a device without a selector",
	    Attrs().mark().nest(MPA_A_DEV, {}).add(config));
	set("an unknown device name",
	    Attrs().nest(MPA_A_DEV, unknown).add(config), ENODEV);
	set("an unknown device index",
	    Attrs().nest(MPA_A_DEV, no_index).add(config), ENODEV);
	set("a listener without a selector",
	    Attrs().mark().nest(MPA_A_LISTEN, {}).add(config));
	set("an unknown listener",
	    Attrs().nest(MPA_A_LISTEN, no_listener).add(config), ENOENT);
	set("inherit of an unknown device",
	    Attrs().nest(MPA_A_DEV, unknown).u32(MPA_A_INHERIT, 2), ENODEV);

	Attrs many;
	for (int n = 0; n < 256; n++)
		many.nest(MPA_A_CHANGE, Attrs().nest(MPA_A_CONFIG, crc(0)));
	ask("set: 257 changes", MPA_CMD_SET, Attrs().add(many).mark()
	    .nest(MPA_A_CHANGE, Attrs().nest(MPA_A_CONFIG, crc(0))), E2BIG);
	ask("set: the last of 256 changes is bad", MPA_CMD_SET, Attrs()
	    .add(Attrs(many).nest(MPA_A_CHANGE, Attrs().nest(MPA_A_CONFIG,
		 Attrs().mark().u32(MPA_A_CONFIG_CRC, 2)))), ERANGE);
}

// Values that a device does not support; only if there is a device.
void add_device(std::vector<Bad> &all, const std::string &name)
{
	const Attrs dev = Attrs().string(MPA_A_DEV_NAME, name);
	const auto set = [&](const std::string &what, int attr, std::uint32_t value) {
		all.push_back({"device: " + what, {
			.cmd = MPA_CMD_SET,
			.attrs = Attrs()
				.nest(MPA_A_CHANGE, Attrs().nest(MPA_A_CONFIG, crc(0)))
				.nest(MPA_A_CHANGE, Attrs().nest(MPA_A_DEV, dev)
				      .nest(MPA_A_CONFIG, Attrs()
					    .u32(MPA_A_CONFIG_MARKERS, 1)
					    .mark().u32(attr, value)))}});
	};
	Client client("h1");
	const Got got = client.one(device(name).get()).nest(MPA_A_DEV);
	const std::uint32_t ird = got.u32(MPA_A_DEV_IRD_MAX);
	const std::uint32_t ord = got.u32(MPA_A_DEV_ORD_MAX);

	set("packing", MPA_A_CONFIG_PACKING, 1);
	set("framing", MPA_A_CONFIG_FRAMING, 0);
	if (ird < 16382)
		set("more than it can receive", MPA_A_CONFIG_IRD, ird + 1);
	if (ord < 16382)
		set("more than it can send", MPA_A_CONFIG_ORD, ord + 1);
	for (std::uint32_t rtr = 1; rtr < 7; rtr++)
		if (rtr & ~got.u32(MPA_A_DEV_RTR))
			set("RTR " + std::to_string(rtr), MPA_A_CONFIG_RTR, rtr);
}

std::vector<Bad> all_bad()
{
	std::vector<Bad> all;

	for (const Place &place : places()) {
		for (const Known &one : place.known)
			add_known(all, place, one);
		add_unknown(all, place);
	}
	add_meanings(all);
	return all;
}

void refused(Client &client, const Bad &bad)
{
	const Row row(bad.name);
	const Answer answer = client.ask(bad.request);

	is(Err{answer.error}, bad.error, "error");
	is(answer.replies.size(), 0u, "replies");
	yes(answer.message.empty() != bad.has_message, "a message");
	// The end of a dump has no room for more than that.
	if (answer.done)
		return;
	is(answer.offset.value_or(0), bad.request.offset().value_or(0),
	   "offset of the attribute, " + answer.message);
}

void all_refused(const std::vector<Bad> &all, const std::vector<Object> &objects)
{
	Client client("h1");
	std::vector<State> before;

	for (const Object &object : objects)
		before.push_back(state_of(client, object));
	for (const Bad &bad : all) {
		refused(client, bad);
		for (std::size_t n = 0; n < objects.size(); n++)
			is(state_of(client, objects[n]), before[n],
			   objects[n].name + " after " + bad.name);
	}
	std::cout << "# " << all.size() << " messages refused\n";
}

} // namespace

CASE("malformed: each of hundreds is refused, and changes nothing")
{
	const std::vector<Bad> all = all_bad();

	yes(all.size() >= 200, "200 messages");
	all_refused(all, {defaults()});
}

CASE("malformed: unknown headers")
{
	std::vector<Bad> all;

	for (const std::uint8_t cmd : {MPA_CMD_DEFAULTS_GET, MPA_CMD_DEV_GET,
				       MPA_CMD_LISTEN_GET, MPA_CMD_CONN_GET, MPA_CMD_SET}) {
		const std::string name = "command " + std::to_string(cmd) + ": ";
		const auto add = [&](const std::string &what, Request request) {
			request.cmd = cmd;
			all.push_back({name + what, std::move(request)});
		};

		for (const std::uint8_t version : {0, 2, 255})
			add("version " + std::to_string(version), {.version = version});
		add("reserved", {.reserved = 1});
		for (const std::uint16_t flags : {NLM_F_ROOT, NLM_F_MATCH, NLM_F_ATOMIC,
						  0x1000, 0x8000})
			add("flags " + std::to_string(flags), {.flags = flags});
	}
	for (const std::uint8_t cmd : {MPA_CMD_DEV_GET, MPA_CMD_LISTEN_GET,
				       MPA_CMD_CONN_GET})
		all.push_back({"dump of another version",
			       {.cmd = cmd, .flags = NLM_F_DUMP, .version = 2}});
	all_refused(all, {defaults()});
}

CASE("malformed: what the netlink core refuses without a message")
{
	std::vector<Bad> all;

	for (int cmd = 0; cmd < 256; cmd++)
		if (!cmd || cmd > MPA_CMD_SET)
			all.push_back({"command " + std::to_string(cmd),
				       {.cmd = static_cast<std::uint8_t>(cmd)},
				       EOPNOTSUPP, false});
	for (const std::uint8_t cmd : {MPA_CMD_DEFAULTS_GET, MPA_CMD_SET})
		all.push_back({"dump of " + std::to_string(cmd), dump(cmd), EOPNOTSUPP,
			       false});
	for (std::size_t header = 0; header < GENL_HDRLEN; header++)
		all.push_back({"header of " + std::to_string(header),
			       {.cmd = MPA_CMD_DEFAULTS_GET, .header = header}, EINVAL,
			       false});
	all_refused(all, {defaults()});
}

CASE("device: values that it does not support are refused")
{
	std::vector<Bad> all;

	add_device(all, "mpa1");
	all_refused(all, {defaults(), device("mpa1")});
}

CASE("malformed: an unprivileged process can read everything and set nothing")
{
	Client root("h1");
	const State before = state_of(root, defaults());
	Client client("h1");

	must_call(::setresuid(65534, 65534, 65534), "setresuid");
	Client stranger;
	const auto set_crc = set(change(defaults(), crc(0)));
	for (Client *one : {&client, &stranger}) {
		const Answer answer = one->ask(set_crc);

		is(Err{answer.error}, EPERM, "SET without privilege");
		is(answer.message, "CAP_NET_ADMIN required", "message");
		is(Err{one->ask(set(change(defaults(), crc(0)), true)).error}, EPERM,
		   "CHECK without privilege");
		state_of(*one, defaults());
		one->get(dump(MPA_CMD_DEV_GET));
		one->get(dump(MPA_CMD_LISTEN_GET));
		one->get(dump(MPA_CMD_CONN_GET));
	}
	is(state_of(root, defaults()), before, "settings");
}
