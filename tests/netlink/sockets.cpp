// SPDX-License-Identifier: GPL-2.0-only
#include "sockets.hpp"

#include <algorithm>
#include <cstdlib>

#include <arpa/inet.h>

namespace sockets {

using namespace harness;
using namespace nl;

static std::uint16_t port_of(const sockaddr_storage &address)
{
	// At the same offset for both families.
	return ntohs(reinterpret_cast<const sockaddr_in &>(address).sin_port);
}

std::ostream &operator<<(std::ostream &out, Ports ports)
{
	return out << ports.local << "->" << ports.remote;
}

Ports ports_of(int fd)
{
	sockaddr_storage local{}, remote{};
	socklen_t size = sizeof(local);

	must_call(::getsockname(fd, reinterpret_cast<sockaddr *>(&local), &size),
		  "getsockname");
	size = sizeof(remote);
	must_call(::getpeername(fd, reinterpret_cast<sockaddr *>(&remote), &size),
		  "getpeername");
	return {port_of(local), port_of(remote)};
}

Ports ports_of(const Got &conn)
{
	return {conn.port(MPA_A_CONN_LOCAL_PORT), conn.port(MPA_A_CONN_REMOTE_PORT)};
}

Listener::Listener(net::Path path, int backlog) : path_(path)
{
	net::Listener listener(path, backlog);

	address_ = listener.address;
	socket_ = net::attach(std::move(listener.fd));
	must(socket_.set_params({.auto_accept = true}), "parameters");
	must(socket_.start(mpa::role::responder), "start of the listener");
}

std::uint16_t Listener::port() const
{
	return port_of(address_.storage);
}

std::uint32_t Listener::id(Client &client) const
{
	for (const Message &one : client.get(dump(MPA_CMD_LISTEN_GET)).replies) {
		const Got got = one.attrs.nest(MPA_A_LISTEN);

		if (got.port(MPA_A_LISTEN_PORT) == port())
			return got.u32(MPA_A_LISTEN_ID);
	}
	fail("the listener is not dumped");
}

mpa::descriptor Listener::connect() const
{
	return net::connect_to(path_, address_);
}

mpa::socket Listener::accept()
{
	return must(socket_.accept_connection(), "accept");
}

Pair::Pair(Listener &listener)
	: near(net::attach(listener.connect())), far(listener.accept())
{
	must(near.start(mpa::role::initiator), "start");
	net::await_operational(far);
}

Got find(Client &client, Ports ports)
{
	for (const Message &one : client.get(dump(MPA_CMD_CONN_GET)).replies) {
		Got got = one.attrs.nest(MPA_A_CONN);

		if (ports_of(got) == ports)
			return got;
	}
	fail("the connection is not dumped");
}

bool dumped(Client &client, Ports ports)
{
	const Answer answer = client.get(dump(MPA_CMD_CONN_GET));

	return std::ranges::any_of(answer.replies, [&](const Message &one) {
		return ports_of(one.attrs.nest(MPA_A_CONN)) == ports;
	});
}

void abort(mpa::socket &socket)
{
	const linger now{.l_onoff = 1, .l_linger = 0};

	must_call(::setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now)),
		  "SO_LINGER");
	socket.close();
}

std::size_t many()
{
	const char *said = std::getenv("NETLINK_TEST_CONNECTIONS");

	return said ? std::strtoul(said, nullptr, 10) : 10000;
}

} // namespace sockets
