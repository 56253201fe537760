// SPDX-License-Identifier: GPL-2.0-only
//
// MPA sockets as seen by the family: on the loopback of h1, or between h1 and
// h2, with net.hpp of the socket tests.
#pragma once

#include "client.hpp"
#include "net.hpp"

namespace sockets {

// Local and remote port identify one end of a connection on its host.
struct Ports {
	std::uint16_t local;
	std::uint16_t remote;

	auto operator<=>(const Ports &) const = default;
};
std::ostream &operator<<(std::ostream &out, Ports ports);

Ports ports_of(int fd);
Ports ports_of(const nl::Got &conn);

// A listener that starts by itself; on the loopback of h1, or on h2.
class Listener {
public:
	explicit Listener(net::Path path = net::Path::loopback, int backlog = 1024);

	// Its id, by a dump on its host.
	std::uint32_t id(nl::Client &client) const;
	std::uint16_t port() const;

	// A plain TCP connection to it, and the accepted socket.
	mpa::descriptor connect() const;
	mpa::socket accept();

	net::Path path() const { return path_; }
	net::Address address() const { return address_; }

private:
	net::Path path_;
	net::Address address_;
	mpa::socket socket_;
};

// In full operation: near is the Initiator, far was accepted.
struct Pair {
	explicit Pair(Listener &listener);

	mpa::socket near;
	mpa::socket far;
};

// The connection that belongs to a descriptor, from a dump.
nl::Got find(nl::Client &client, Ports ports);
bool dumped(nl::Client &client, Ports ports);

// Closes with a reset.
void abort(mpa::socket &socket);

// The number of many connections: 10,000, or NETLINK_TEST_CONNECTIONS, since
// instrumented kernels need fewer.
std::size_t many();

} // namespace sockets
