// SPDX-License-Identifier: GPL-2.0-only
//
// MPA sockets as the family sees them: on the loopback of h1, or between h1 and
// h2, with net.hpp of the tests of sockets.
#pragma once

#include "client.hpp"
#include "net.hpp"

namespace sockets {

// Local and remote port tell one end of a connection from all others on its host.
struct Ports {
	std::uint16_t local;
	std::uint16_t remote;

	auto operator<=>(const Ports &) const = default;
};
std::ostream &operator<<(std::ostream &out, Ports ports);

Ports ports_of(int fd);
Ports ports_of(const nl::Got &conn);

// Takes what comes by itself; of h1 on the loopback, else of h2.
class Listener {
public:
	explicit Listener(net::Path path = net::Path::loopback, int backlog = 1024);

	// Its number, asked of its host.
	std::uint32_t id(nl::Client &client) const;
	std::uint16_t port() const;

	// Plain TCP to it, and what it has accepted.
	mpa::descriptor connect() const;
	mpa::socket accept();

	net::Path path() const { return path_; }
	net::Address address() const { return address_; }

private:
	net::Path path_;
	net::Address address_;
	mpa::socket socket_;
};

// In full operation: near has connected as Initiator, far was accepted.
struct Pair {
	explicit Pair(Listener &listener);

	mpa::socket near;
	mpa::socket far;
};

// The connection at the other end of a descriptor, of all that a dump tells.
nl::Got find(nl::Client &client, Ports ports);
bool dumped(nl::Client &client, Ports ports);

// Goes away with a reset.
void abort(mpa::socket &socket);

// How many connections are many: 10,000, or what NETLINK_TEST_CONNECTIONS says,
// for fewer will do under instruments.
std::size_t many();

} // namespace sockets
