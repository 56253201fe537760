/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "netlink/codec.hpp"

#include <array>
#include <bit>

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>

#include "model/settings.hpp"

namespace mpactl::codec {

namespace {

using netlink::AttributeName;
using netlink::fits;

// --- parsing ------------------------------------------------------------------

// The largest enumeration of the family.
constexpr int type_max = MPA_A_CONN_MAX;

// The attributes of one level, by type.
class Attributes {
public:
	explicit Attributes(const nlattr *nest)
		: Attributes(static_cast<const nlattr *>(nla_data(nest)),
			     nla_len(nest))
	{
	}

	Attributes(const nlattr *first, int bytes)
	{
		if (nla_parse(table_.data(), type_max,
			      const_cast<nlattr *>(first), bytes, nullptr) < 0)
			throw bad();
	}

	const nlattr *operator[](int type) const
	{
		return table_[static_cast<std::size_t>(type)];
	}

	bool has(int type) const { return (*this)[type]; }

	std::uint32_t u32(int type) const { return maybe_u32(type).value_or(0); }
	bool flag(int type) const { return u32(type) != 0; }

	std::optional<std::uint32_t> maybe_u32(int type) const
	{
		return maybe<std::uint32_t>(type, nla_get_u32);
	}

	std::optional<std::uint64_t> maybe_u64(int type) const
	{
		return maybe<std::uint64_t>(type, nla_get_u64);
	}

	std::uint16_t port(int type) const
	{
		return ntohs(maybe<std::uint16_t>(type, nla_get_u16).value_or(0));
	}

	std::string text(int type) const
	{
		if (!has(type))
			return {};
		const auto *data = static_cast<const char *>(
			nla_data((*this)[type]));

		return {data, ::strnlen(data, size_of(type))};
	}

	std::vector<std::uint8_t> bytes(int type) const
	{
		if (!has(type))
			return {};
		const auto *data = static_cast<const std::uint8_t *>(
			nla_data((*this)[type]));

		return {data, data + size_of(type)};
	}

	std::optional<Terminate> terminate(int type) const
	{
		const auto packed = maybe_u32(type);

		return packed ? std::optional(terminate_of(*packed)) : std::nullopt;
	}

	static IoError bad()
	{
		return IoError("the format of the kernel's answer differs from "
			       "<linux/mpa_netlink.h>");
	}

private:
	std::size_t size_of(int type) const
	{
		return static_cast<std::size_t>(nla_len((*this)[type]));
	}

	template <typename T, typename Get>
	std::optional<T> maybe(int type, Get get) const
	{
		if (!has(type))
			return std::nullopt;
		if (size_of(type) < sizeof(T))
			throw bad();
		return get((*this)[type]);
	}

	std::array<nlattr *, type_max + 1> table_{};
};

struct Body {
	const nlattr *first;
	int bytes;
};

Body body_of(const nlmsghdr *message)
{
	const int bytes = nlmsg_datalen(message) - GENL_HDRLEN;

	if (bytes < 0)
		throw Attributes::bad();
	return {reinterpret_cast<const nlattr *>(
			static_cast<const char *>(
				nlmsg_data(const_cast<nlmsghdr *>(message))) +
			GENL_HDRLEN),
		bytes};
}

Attributes top_of(const nlmsghdr *message)
{
	const auto body = body_of(message);

	return Attributes(body.first, body.bytes);
}

Settings settings_in(const nlattr *nest)
{
	const Attributes values(nest);
	Settings settings;

	for (unsigned int key = 1; key <= MPA_A_CONFIG_MAX; key++)
		if (const auto value = values.maybe_u32(static_cast<int>(key)))
			settings.set(key, *value);
	return settings;
}

Config config_of(const Attributes &top)
{
	Config config;

	config.own = top.u32(MPA_A_OWN);
	if (top.has(MPA_A_CONFIG))
		config.in_force = settings_in(top[MPA_A_CONFIG]);
	if (top.has(MPA_A_OWN_CONFIG))
		config.as_set = settings_in(top[MPA_A_OWN_CONFIG]);
	return config;
}

// The attribute is repeated; a table by type would have only one of them.
std::vector<Counter> counters_of(const nlmsghdr *message)
{
	const auto body = body_of(message);
	std::vector<Counter> counters;
	int left = body.bytes;

	for (const auto *one = body.first; nla_ok(one, left);
	     one = nla_next(one, &left)) {
		if (nla_type(one) != MPA_A_COUNTER)
			continue;
		const Attributes counter(one);

		counters.push_back(
			{counter.text(MPA_A_COUNTER_NAME),
			 counter.maybe_u64(MPA_A_COUNTER_VALUE).value_or(0)});
	}
	return counters;
}

Device device_in(const nlattr *nest)
{
	const Attributes dev(nest);

	return {.index = dev.u32(MPA_A_DEV_INDEX),
		.name = dev.text(MPA_A_DEV_NAME),
		.ifindex = dev.u32(MPA_A_DEV_IFINDEX),
		.ifname = dev.text(MPA_A_DEV_IFNAME),
		.active = dev.flag(MPA_A_DEV_ACTIVE),
		.ird_max = dev.u32(MPA_A_DEV_IRD_MAX),
		.ord_max = dev.u32(MPA_A_DEV_ORD_MAX),
		.rtr = dev.u32(MPA_A_DEV_RTR),
		.conns = dev.u32(MPA_A_DEV_CONNS),
		.listeners = dev.u32(MPA_A_DEV_LISTENERS),
		.config = {},
		.counters = {}};
}

Listener listener_in(const nlattr *nest)
{
	const Attributes listen(nest);

	return {.id = listen.u32(MPA_A_LISTEN_ID),
		.owner = listen.u32(MPA_A_LISTEN_OWNER),
		.dev_index = listen.maybe_u32(MPA_A_LISTEN_DEV_INDEX),
		.local = {listen.bytes(MPA_A_LISTEN_ADDR),
			  listen.port(MPA_A_LISTEN_PORT),
			  listen.u32(MPA_A_LISTEN_SCOPE)},
		.backlog = listen.u32(MPA_A_LISTEN_BACKLOG),
		.half_open = listen.maybe_u32(MPA_A_LISTEN_HALF_OPEN),
		.uid = listen.maybe_u32(MPA_A_LISTEN_UID),
		.config = {}};
}

Agreement agreement_in(const Attributes &conn)
{
	return {.revision = conn.u32(MPA_A_CONN_REVISION),
		.ddp_version = conn.u32(MPA_A_CONN_DDP_VERSION),
		.enhanced = conn.flag(MPA_A_CONN_ENHANCED),
		.peer_to_peer = conn.flag(MPA_A_CONN_PEER_TO_PEER),
		.rtr = conn.u32(MPA_A_CONN_RTR),
		.tx_markers = conn.flag(MPA_A_CONN_TX_MARKERS),
		.rx_markers = conn.flag(MPA_A_CONN_RX_MARKERS),
		.crc = conn.flag(MPA_A_CONN_CRC),
		.ird = conn.u32(MPA_A_CONN_IRD),
		.ord = conn.u32(MPA_A_CONN_ORD),
		.peer_ird = conn.u32(MPA_A_CONN_PEER_IRD),
		.peer_ord = conn.u32(MPA_A_CONN_PEER_ORD),
		.rdmap_extensions = conn.flag(MPA_A_CONN_RDMAP_EXTENSIONS),
		.start_key = conn.flag(MPA_A_CONN_START_KEY)};
}

Framing framing_in(const nlattr *nest)
{
	const Attributes framing(nest);
	Framing one{.mode = framing.u32(MPA_A_FRAMING_MODE),
		    .flags = framing.u32(MPA_A_FRAMING_FLAGS),
		    .emss = framing.u32(MPA_A_FRAMING_EMSS),
		    .send_interval = framing.u32(MPA_A_FRAMING_SEND_INTERVAL),
		    .recv_interval = framing.u32(MPA_A_FRAMING_RECV_INTERVAL),
		    .stats = {}};

	for (int type = MPA_A_FRAMING_TX_PDUS; type <= MPA_A_FRAMING_MAX; type++)
		if (const auto value = framing.maybe_u64(type))
			one.stats.emplace_back(type, *value);
	return one;
}

// In the order of enum mpa_attr_conn_stats.
std::vector<std::pair<unsigned int, std::uint64_t>> stats_in(const nlattr *nest)
{
	const Attributes stats(nest);
	std::vector<std::pair<unsigned int, std::uint64_t>> values;

	for (int type = MPA_A_CONN_STATS_PAD + 1; type <= MPA_A_CONN_STATS_MAX;
	     type++)
		if (const auto value = stats.maybe_u64(type))
			values.emplace_back(type, *value);
	return values;
}

Connection connection_in(const nlattr *nest)
{
	const Attributes conn(nest);
	Connection one{
		.id = conn.u32(MPA_A_CONN_ID),
		.owner = conn.u32(MPA_A_CONN_OWNER),
		.dev_index = conn.maybe_u32(MPA_A_CONN_DEV_INDEX),
		.qpn = conn.maybe_u32(MPA_A_CONN_QPN),
		.listen_id = conn.maybe_u32(MPA_A_CONN_LISTEN_ID),
		.uid = conn.maybe_u32(MPA_A_CONN_UID),
		.inode = conn.maybe_u64(MPA_A_CONN_INODE),
		.local = {conn.bytes(MPA_A_CONN_LOCAL_ADDR),
			  conn.port(MPA_A_CONN_LOCAL_PORT),
			  conn.u32(MPA_A_CONN_LOCAL_SCOPE)},
		.remote = {conn.bytes(MPA_A_CONN_REMOTE_ADDR),
			   conn.port(MPA_A_CONN_REMOTE_PORT),
			   conn.u32(MPA_A_CONN_REMOTE_SCOPE)},
		.phase = conn.u32(MPA_A_CONN_PHASE),
		.initiator = {},
		.age_ms = conn.maybe_u64(MPA_A_CONN_AGE).value_or(0),
		.agreed = {},
		.framing = {},
		.mulpdu = conn.maybe_u32(MPA_A_CONN_MULPDU),
		.emss = conn.maybe_u32(MPA_A_CONN_EMSS),
		.code = conn.maybe_u32(MPA_A_CONN_CODE),
		.err = conn.maybe_u32(MPA_A_CONN_ERR),
		.term_sent = conn.terminate(MPA_A_CONN_TERM_SENT),
		.term_received = conn.terminate(MPA_A_CONN_TERM_RECEIVED),
		.stats = {}};

	// Without the lock of the socket, these are not known.
	one.busy = conn.has(MPA_A_CONN_BUSY);
	if (one.busy) {
		one.mulpdu.reset();
		one.emss.reset();
	}
	if (conn.has(MPA_A_CONN_INITIATOR))
		one.initiator = conn.flag(MPA_A_CONN_INITIATOR);
	if (conn.has(MPA_A_CONN_REVISION))
		one.agreed = agreement_in(conn);
	if (conn.has(MPA_A_CONN_FRAMING))
		one.framing = framing_in(conn[MPA_A_CONN_FRAMING]);
	if (conn.has(MPA_A_CONN_STATS))
		one.stats = stats_in(conn[MPA_A_CONN_STATS]);
	return one;
}

Failure failure_in(const nlattr *nest)
{
	const Attributes failure(nest);

	return {.kind = failure.u32(MPA_A_FAILURE_KIND),
		.err = failure.u32(MPA_A_FAILURE_ERR),
		.term = failure.terminate(MPA_A_FAILURE_TERM),
		.suppressed = failure.u32(MPA_A_FAILURE_SUPPRESSED)};
}

const nlattr *need(const Attributes &top, int type)
{
	if (!top.has(type))
		throw Attributes::bad();
	return top[type];
}

// --- building -----------------------------------------------------------------

std::vector<AttributeName> config_names()
{
	std::vector<AttributeName> names;

	for (const auto &setting : settings())
		names.push_back({static_cast<int>(setting.key), setting.json.c_str()});
	return names;
}

} // namespace

const std::vector<AttributeName> &request_names()
{
	static const std::vector<AttributeName> config = config_names();
	static const std::vector<AttributeName> dev = {
		{MPA_A_DEV_INDEX, "index"},
		{MPA_A_DEV_NAME, "name"},
	};
	static const std::vector<AttributeName> listen = {{MPA_A_LISTEN_ID, "id"}};
	static const std::vector<AttributeName> conn = {{MPA_A_CONN_ID, "id"}};
	static const std::vector<AttributeName> change = {
		{MPA_A_DEV, "dev", &dev},
		{MPA_A_LISTEN, "listen", &listen},
		{MPA_A_CONFIG, "config", &config},
		{MPA_A_INHERIT, "inherit"},
	};
	static const std::vector<AttributeName> names = {
		{MPA_A_DEV, "dev", &dev},
		{MPA_A_LISTEN, "listen", &listen},
		{MPA_A_CONN, "conn", &conn},
		{MPA_A_CHECK, "check"},
		{MPA_A_CHANGE, "change", &change},
	};

	return names;
}

void put_device(nl_msg *message, const std::string &name)
{
	const netlink::Nest nest(message, MPA_A_DEV);

	fits(nla_put_string(message, MPA_A_DEV_NAME, name.c_str()));
}

void put_listener(nl_msg *message, std::uint32_t id)
{
	const netlink::Nest nest(message, MPA_A_LISTEN);

	fits(nla_put_u32(message, MPA_A_LISTEN_ID, id));
}

void put_connection(nl_msg *message, std::uint32_t id)
{
	const netlink::Nest nest(message, MPA_A_CONN);

	fits(nla_put_u32(message, MPA_A_CONN_ID, id));
}

void put_change(nl_msg *message, const Change &change)
{
	const netlink::Nest nest(message, MPA_A_CHANGE);

	if (change.target.kind == Target::Kind::device)
		put_device(message, change.target.name);
	if (change.target.kind == Target::Kind::listener)
		put_listener(message, change.target.id);
	if (!change.to.empty()) {
		const netlink::Nest config(message, MPA_A_CONFIG);

		for (unsigned int key = 1; key <= MPA_A_CONFIG_MAX; key++)
			if (change.to.has(key))
				fits(nla_put_u32(message, static_cast<int>(key),
						 change.to.at(key)));
	}
	if (change.inherit)
		fits(nla_put_u32(message, MPA_A_INHERIT, change.inherit));
}

void put_check(nl_msg *message)
{
	fits(nla_put_flag(message, MPA_A_CHECK));
}

std::size_t room_for(std::span<const Change> changes)
{
	// Headers, then nests, a name and all settings.
	std::size_t bytes = 64;

	for (const auto &change : changes)
		bytes += 64 + NLA_ALIGN(change.target.name.size()) +
			  MPA_A_CONFIG_MAX * 8;
	return bytes;
}

Defaults defaults_of(const nlmsghdr *message)
{
	return {config_of(top_of(message)), counters_of(message)};
}

Device device_of(const nlmsghdr *message)
{
	const auto top = top_of(message);
	auto device = device_in(need(top, MPA_A_DEV));

	device.config = config_of(top);
	device.counters = counters_of(message);
	return device;
}

Listener listener_of(const nlmsghdr *message)
{
	const auto top = top_of(message);
	auto listener = listener_in(need(top, MPA_A_LISTEN));

	listener.config = config_of(top);
	return listener;
}

Connection connection_of(const nlmsghdr *message)
{
	return connection_in(need(top_of(message), MPA_A_CONN));
}

Event event_of(const nlmsghdr *message)
{
	const auto top = top_of(message);
	const auto *header = static_cast<const genlmsghdr *>(
		nlmsg_data(const_cast<nlmsghdr *>(message)));
	Event event;

	event.command = header->cmd;
	if (top.has(MPA_A_DEV)) {
		event.device = device_in(top[MPA_A_DEV]);
		event.device->config = config_of(top);
	}
	if (top.has(MPA_A_LISTEN)) {
		event.listener = listener_in(top[MPA_A_LISTEN]);
		event.listener->config = config_of(top);
	}
	if (top.has(MPA_A_CONN))
		event.connection = connection_in(top[MPA_A_CONN]);
	if (top.has(MPA_A_CONFIG) && !event.device && !event.listener)
		event.config = config_of(top);
	if (top.has(MPA_A_FAILURE))
		event.failure = failure_in(top[MPA_A_FAILURE]);
	return event;
}

} // namespace mpactl::codec
