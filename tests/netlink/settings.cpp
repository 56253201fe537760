// SPDX-License-Identifier: GPL-2.0-only
#include "settings.hpp"

namespace nl {

using namespace harness;

static constexpr std::uint32_t every = ((1u << MPA_A_CONFIG_MAX) - 1) << 1;

Request Object::get() const
{
	Request request{.cmd = MPA_CMD_DEFAULTS_GET};

	if (!nest)
		return request;
	request.cmd = nest == MPA_A_DEV ? MPA_CMD_DEV_GET : MPA_CMD_LISTEN_GET;
	request.attrs.nest(nest, selector);
	return request;
}

Object defaults()
{
	return {.name = "namespace"};
}

Object device(const std::string &name)
{
	return {"device", MPA_A_DEV, Attrs().string(MPA_A_DEV_NAME, name), name};
}

Object listener(std::uint32_t id, const std::string &device)
{
	return {"listener", MPA_A_LISTEN, Attrs().u32(MPA_A_LISTEN_ID, id), device};
}

Attrs change(const Object &object, const Attrs &config, std::uint32_t inherit)
{
	Attrs inner, outer;

	if (object.nest)
		inner.nest(object.nest, object.selector);
	if (!config.bytes().empty())
		inner.nest(MPA_A_CONFIG, config);
	if (inherit)
		inner.u32(MPA_A_INHERIT, inherit);
	return outer.nest(MPA_A_CHANGE, inner);
}

Request set(const Attrs &changes, bool check)
{
	Request request{.cmd = MPA_CMD_SET};

	if (check)
		request.attrs.flag(MPA_A_CHECK);
	request.attrs.add(changes);
	return request;
}

std::ostream &operator<<(std::ostream &out, const State &state)
{
	for (const Setting &one : settings)
		out << one.name << (state.own & 1u << one.attr ? "*=" : "=")
		    << state.values[one.attr] << ' ';
	return out;
}

State state_of(const Got &got)
{
	const Got config = got.nest(MPA_A_CONFIG);
	State state{.own = got.u32(MPA_A_OWN)};

	for (const Setting &one : settings)
		state.values[one.attr] = config.u32(one.attr);
	return state;
}

State state_of(Client &client, const Object &object)
{
	return state_of(client.one(object.get()));
}

static void must_set(Client &client, const Attrs &changes)
{
	const Answer answer = client.get(set(changes));

	is(answer.message, "settings are for new connections only", "warning");
}

void set_one(Client &client, const Object &object, int attr, std::uint32_t value)
{
	must_set(client, change(object, Attrs().u32(attr, value)));
}

void inherit(Client &client, const Object &object, std::uint32_t bits)
{
	must_set(client, change(object, {}, bits));
}

Restored::Restored(Client &client, Object object)
	: client_(client), object_(std::move(object))
{
	inherit(client_, object_, every);
}

Restored::~Restored()
{
	client_.ask(set(change(object_, {}, every)));
}

} // namespace nl
