// SPDX-License-Identifier: GPL-2.0-only
//
// How settings apply to sockets of applications: initial values, values that
// accepted sockets inherit, values that an application sets itself, and the
// effect that peers see.
#include <chrono>
#include <functional>

#include <linux/tcp_framing.h>
#include <netinet/tcp.h>
#include <sys/wait.h>

#include "settings.hpp"
#include "sockets.hpp"

using namespace harness;
using namespace nl;

namespace {

using namespace std::chrono_literals;

struct Value {
	int attr;
	std::uint32_t value;
};

// Settings, and the initial values of a socket under them.
struct Begins {
	const char *name;
	std::vector<Value> settings;
	mpa_sock_params params;
	int packing = 0;
};

const std::array begins{
	Begins{"nothing set", {}, {.rev = MPA_REV_AUTO}},
	Begins{"markers", {{MPA_A_CONFIG_MARKERS, 1}},
	       {.flags = MPA_F_MARKERS, .rev = MPA_REV_AUTO}},
	Begins{"crc off", {{MPA_A_CONFIG_CRC, 0}},
	       {.flags = MPA_F_NO_CRC, .rev = MPA_REV_AUTO}},
	Begins{"permissive", {{MPA_A_CONFIG_PERMISSIVE, 1}},
	       {.flags = MPA_F_PERMISSIVE, .rev = MPA_REV_AUTO}},
	Begins{"revision 0", {{MPA_A_CONFIG_REVISION, 0}}, {.rev = 0}},
	Begins{"revision 1", {{MPA_A_CONFIG_REVISION, 1}}, {.rev = 1}},
	Begins{"revision 2", {{MPA_A_CONFIG_REVISION, 2}},
	       {.rev = 2, .rev_min = 2}},
	Begins{"revision 0, permissive",
	       {{MPA_A_CONFIG_REVISION, 0}, {MPA_A_CONFIG_PERMISSIVE, 1}},
	       {.rev = 0}},
	Begins{"revision 1, permissive",
	       {{MPA_A_CONFIG_REVISION, 1}, {MPA_A_CONFIG_PERMISSIVE, 1}},
	       {.flags = MPA_F_PERMISSIVE, .rev = 1}},
	Begins{"revision 2, permissive",
	       {{MPA_A_CONFIG_REVISION, 2}, {MPA_A_CONFIG_PERMISSIVE, 1}},
	       {.rev = 2, .rev_min = 2}},
	Begins{"rtr", {{MPA_A_CONFIG_RTR, 3}}, {.rev = MPA_REV_AUTO, .rtr = 3}},
	Begins{"rtr, all", {{MPA_A_CONFIG_RTR, 7}}, {.rev = MPA_REV_AUTO}},
	Begins{"packing", {{MPA_A_CONFIG_PACKING, 1}}, {.rev = MPA_REV_AUTO}, 1},
	Begins{"settings that applications cannot see",
	       {{MPA_A_CONFIG_IRD, 1}, {MPA_A_CONFIG_ORD, 1},
		{MPA_A_CONFIG_STARTUP_TIMEOUT, 100},
		{MPA_A_CONFIG_PEER_TO_PEER, 0}, {MPA_A_CONFIG_EXCHANGE, 0},
		{MPA_A_CONFIG_SEGMENTS, 0},
		{MPA_A_CONFIG_FIRST_FPDU_TIMEOUT, 500}},
	       {.rev = MPA_REV_AUTO}},
};

mpa_sock_params params_of(const mpa::socket &socket)
{
	mpa_sock_params params{};
	socklen_t size = sizeof(params);

	must_call(::getsockopt(socket.fd(), SOL_MPA, MPA_SO_PARAMS, &params, &size),
		  "MPA_SO_PARAMS");
	return params;
}

int packing_of(const mpa::socket &socket)
{
	int on = -1;
	socklen_t size = sizeof(on);

	must_call(::getsockopt(socket.fd(), SOL_MPA, MPA_SO_PACKING, &on, &size),
		  "MPA_SO_PACKING");
	return on;
}

Err set_params(const mpa::socket &socket, const mpa_sock_params &params)
{
	return err_of(::setsockopt(socket.fd(), SOL_MPA, MPA_SO_PARAMS, &params,
				   sizeof(params)));
}

void expect(const mpa::socket &socket, const mpa_sock_params &wanted, int packing)
{
	const mpa_sock_params got = params_of(socket);

	is(got.flags, wanted.flags, "flags");
	is(int{got.rev}, int{wanted.rev}, "rev");
	is(int{got.rev_min}, int{wanted.rev_min}, "rev_min");
	is(int{got.rtr}, int{wanted.rtr}, "rtr");
	is(int{got.ird}, int{wanted.ird}, "ird");
	is(int{got.ord}, int{wanted.ord}, "ord");
	is(int{got.ird_max}, int{wanted.ird_max}, "ird_max");
	is(got.timeout_ms, wanted.timeout_ms, "timeout_ms");
	is(packing_of(socket), packing, "packing");
}

void set_all(Client &client, const Object &object,
	     const std::vector<Value> &settings)
{
	for (const Value &one : settings)
		set_one(client, object, one.attr, one.value);
}

Err set_framing(int fd, int mode)
{
	return err_of(::setsockopt(fd, SOL_TCP, TCP_FRAMING_MODE, &mode, sizeof(mode)));
}

// Without any capability.
Err unprivileged(const std::function<Err()> &act)
{
	const pid_t child = must_call(::fork(), "fork");
	int status = 0;

	if (child == 0) {
		try {
			::_exit(::setgid(65534) || ::setuid(65534) ? 255 :
								     act().number);
		} catch (...) {
			::_exit(254);
		}
	}
	must_call(::waitpid(child, &status, 0), "waitpid");
	yes(WIFEXITED(status), "the child ends by itself");
	return {WEXITSTATUS(status)};
}

// The listener of an application that only requests that accepted sockets start
// by themselves.
struct Silent {
	Silent()
	{
		net::Listener listener(net::Path::loopback);

		address = listener.address;
		socket = net::attach(std::move(listener.fd));
		must(socket.start(mpa::role::responder), "start of the listener");
	}

	mpa::socket accept(mpa::descriptor &peer)
	{
		peer = net::connect_to(net::Path::loopback, address);
		return must(socket.accept_connection(), "accept");
	}

	std::uint32_t id(Client &client) const
	{
		const auto *v4 = reinterpret_cast<const sockaddr_in *>(&address.storage);

		for (const Message &one : client.get(dump(MPA_CMD_LISTEN_GET)).replies) {
			const Got got = one.attrs.nest(MPA_A_LISTEN);

			if (got.port(MPA_A_LISTEN_PORT) == ntohs(v4->sin_port))
				return got.u32(MPA_A_LISTEN_ID);
		}
		fail("the listener is not dumped");
	}

	net::Address address;
	mpa::socket socket;
};

} // namespace

CASE("applications: a socket begins with the settings of its namespace")
{
	Client client("h1");

	for (const Begins &row : begins) {
		const Row name(row.name);
		const Restored restored(client, defaults());

		set_all(client, defaults(), row.settings);
		const net::WithWire both(net::Path::ipv4);
		expect(both.ours, row.params, row.packing);

		// Values that were read can be set, even by an unprivileged
		// process.
		const auto same = params_of(both.ours);
		is(unprivileged([&] { return set_params(both.ours, same); }), 0,
		   "the same once more");
		expect(both.ours, row.params, row.packing);
	}
}

CASE("applications: settings that change do not change a socket")
{
	Client client("h1");
	const Restored restored(client, defaults());
	const net::WithWire before(net::Path::ipv4);

	set_all(client, defaults(), {{MPA_A_CONFIG_MARKERS, 1},
				     {MPA_A_CONFIG_CRC, 0},
				     {MPA_A_CONFIG_PACKING, 1}});
	expect(before.ours, {.rev = MPA_REV_AUTO}, 0);
	auto wanted = params_of(before.ours);
	wanted.flags |= MPA_F_NO_CRC;
	is(unprivileged([&] { return set_params(before.ours, wanted); }), EPERM,
	   "no CRCs, without privilege");
}

CASE("applications: anyone may disable CRCs if the administrator allows it")
{
	Client client("h1");
	const Restored restored(client, defaults());

	set_one(client, defaults(), MPA_A_CONFIG_CRC, 0);
	net::WithWire both(net::Path::ipv4);
	const mpa_sock_params with{.rev = 1}, without{.flags = MPA_F_NO_CRC, .rev = 1};

	is(unprivileged([&] { return set_params(both.ours, with); }), 0, "with");
	expect(both.ours, with, 0);
	is(unprivileged([&] { return set_params(both.ours, without); }), 0,
	   "and without again");
	expect(both.ours, without, 0);
}

CASE("applications: accepted sockets begin with the current settings of their listener")
{
	Client client("h1");
	Silent listener;
	const Object node = nl::listener(listener.id(client));
	mpa::descriptor peer;

	for (const Begins &row : begins) {
		const Row name(row.name);

		set_all(client, node, row.settings);
		expect(listener.accept(peer), row.params, row.packing);
		inherit(client, node, ~1u & ((2u << MPA_A_CONFIG_MAX) - 1));
		expect(listener.accept(peer), {.rev = MPA_REV_AUTO}, 0);
	}
	const Restored restored(client, defaults());
	set_one(client, defaults(), MPA_A_CONFIG_MARKERS, 1);
	expect(listener.accept(peer),
	       {.flags = MPA_F_MARKERS, .rev = MPA_REV_AUTO}, 0);
	expect(listener.socket, {.rev = MPA_REV_AUTO}, 0);
}

CASE("applications: options of a listener take precedence over its settings")
{
	Client client("h1");
	Silent listener;
	const Object node = nl::listener(listener.id(client));
	const mpa_sock_params said{.flags = MPA_F_PERMISSIVE, .rev = 2, .ird = 9};
	const int on = 1;
	mpa::descriptor peer;

	set_all(client, node, {{MPA_A_CONFIG_MARKERS, 1}, {MPA_A_CONFIG_RTR, 2}});
	is(set_params(listener.socket, said), 0, "parameters");
	expect(listener.accept(peer), said, 0);
	must_call(::setsockopt(listener.socket.fd(), SOL_MPA, MPA_SO_PACKING, &on,
			       sizeof(on)), "packing");
	expect(listener.accept(peer), said, 1);
	set_one(client, node, MPA_A_CONFIG_PACKING, 0);
	expect(listener.accept(peer), said, 1);
}

CASE("applications: framing that the administrator forbids")
{
	constexpr int both_ways = TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS;
	Client client("h1");
	const Restored restored(client, defaults());
	const net::WithWire before(net::Path::ipv4);

	set_one(client, defaults(), MPA_A_CONFIG_FRAMING, 0);
	const net::WithWire after(net::Path::ipv4);

	for (const int mode : {TCP_FRAMING_SEND_ATOMIC, TCP_FRAMING_SEND_ALIGN,
			       TCP_FRAMING_SEND_MARKERS, TCP_FRAMING_RECV_ALIGN,
			       TCP_FRAMING_RECV_MARKERS, both_ways}) {
		const Row row(mode);

		is(set_framing(after.ours.fd(), mode), EOPNOTSUPP, "mode");
	}
	is(set_framing(after.ours.fd(), 0x40), EINVAL, "a bit without a meaning");
	is(set_framing(after.ours.fd(), 0), 0, "no mode");
	is(set_framing(before.ours.fd(), both_ways), 0, "a socket from before");
	set_one(client, defaults(), MPA_A_CONFIG_FRAMING, 1);
	is(set_framing(after.ours.fd(), both_ways), EOPNOTSUPP, "it keeps its setting");
	is(set_framing(net::WithWire(net::Path::ipv4).ours.fd(), both_ways), 0, "a later one");
}

// The listener has its mode from before. As an ordinary stream the application would take
// framing PDUs for its own bytes, so the connection is dropped.
CASE("applications: framing that is forbidden after the listener has it")
{
	Client client("h1");
	const Restored restored(client, defaults());
	net::Listener listener(net::Path::loopback);
	const net::Address address = listener.address;
	const mpa::socket ours = net::attach(std::move(listener.fd));
	int mode = -1;
	socklen_t size = sizeof(mode);

	is(set_framing(ours.fd(), TCP_FRAMING_SEND_ALIGN), 0, "mode of the listener");
	set_one(client, defaults(), MPA_A_CONFIG_FRAMING, 0);
	net::Wire refused(net::connect_to(net::Path::loopback, address));
	is(err_of(::accept(ours.fd(), nullptr, nullptr)), EOPNOTSUPP,
	   "accept");
	refused.expect_end();
	set_one(client, defaults(), MPA_A_CONFIG_FRAMING, 1);
	const mpa::descriptor peer = net::connect_to(net::Path::loopback, address);
	const mpa::descriptor child(must_call(::accept(ours.fd(), nullptr, nullptr), "accept"));
	must_call(::getsockopt(child.get(), SOL_TCP, TCP_FRAMING_MODE, &mode, &size), "mode");
	is(mode, TCP_FRAMING_SEND_ALIGN, "mode of the child");
}

CASE("applications: Requests follow the settings")
{
	struct Said {
		const char *name;
		std::vector<Value> settings;
		mpa_sock_params params;
		bool replaced;
		unsigned int flags;
		int rev;
		std::uint16_t ird = 0, ord = 0;
	};
	constexpr unsigned int m = 0x80, c = 0x40, s = 0x10;
	const std::array rows{
		Said{"nothing set", {}, {}, false, c, 1},
		Said{"markers", {{MPA_A_CONFIG_MARKERS, 1}}, {}, false, m | c, 1},
		Said{"no crc", {{MPA_A_CONFIG_CRC, 0}}, {}, false, 0, 1},
		Said{"revision 0", {{MPA_A_CONFIG_REVISION, 0}}, {}, false, m | c, 0},
		Said{"revision 2", {{MPA_A_CONFIG_REVISION, 2}}, {}, false, c | s, 2},
		Said{"depths within", {{MPA_A_CONFIG_IRD, 7}, {MPA_A_CONFIG_ORD, 3}},
		     {.rev = 2, .ird = 7, .ord = 3}, true, c | s, 2, 7, 3},
		Said{"depths beyond", {{MPA_A_CONFIG_IRD, 7}, {MPA_A_CONFIG_ORD, 3}},
		     {.rev = 2, .ird = 8, .ord = 4}, true, c | s, 2, 7, 3},
		Said{"replaced", {{MPA_A_CONFIG_MARKERS, 1}, {MPA_A_CONFIG_CRC, 0}},
		     {.rev = 1}, true, c, 1},
	};
	Client client("h1");

	for (const Said &row : rows) {
		const Row name(row.name);
		const Restored restored(client, defaults());

		set_all(client, defaults(), row.settings);
		net::WithWire both(net::Path::ipv4);
		if (row.replaced)
			is(set_params(both.ours, row.params), 0, "parameters");
		must(both.ours.set_blocking(false), "O_NONBLOCK");
		is(err(both.ours.start(mpa::role::initiator)), EINPROGRESS, "start");
		const auto [frame, data] = both.wire.read_frame();
		const auto byte = [&](std::size_t i, const auto &in) {
			return std::to_integer<unsigned int>(in.at(i));
		};
		is(byte(16, frame), row.flags, "flags of the frame");
		is(static_cast<int>(byte(17, frame)), row.rev, "revision of the frame");
		is(data.size(), row.flags & s ? 4u : 0u, "data of the frame");
		if (data.empty())
			continue;
		is(byte(0, data) << 8 | byte(1, data), unsigned{row.ird}, "ird");
		is(byte(2, data) << 8 | byte(3, data), unsigned{row.ord}, "ord");
	}
}

CASE("applications: a Request that does not arrive in time")
{
	Client client("h1");
	const Restored restored(client, defaults());
	const auto wait = [&](std::uint32_t own) {
		net::WithWire both(net::Path::ipv4);
		const auto begun = std::chrono::steady_clock::now();

		is(set_params(both.ours, {.rev = 1, .timeout_ms = own}), 0,
		   "parameters");
		is(err(both.ours.start(mpa::role::responder)), ETIMEDOUT, "start");
		return std::chrono::steady_clock::now() - begun;
	};

	// Each is longer than what it replaces. Timers may be a tick early.
	set_one(client, defaults(), MPA_A_CONFIG_STARTUP_TIMEOUT, 300);
	yes(wait(1000) >= 950ms, "the application's own time, not the setting's");
	set_one(client, defaults(), MPA_A_CONFIG_STARTUP_TIMEOUT, 6000);
	yes(wait(0) >= 5950ms, "the setting's time, not the built-in one");
}
