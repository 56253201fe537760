// SPDX-License-Identifier: GPL-2.0-only
//
// Addresses of the two hosts, as sockets and the connection manager take them.
#pragma once

#include <cstdint>

#include <sys/socket.h>

class Address
{
public:
	enum class Kind {
		ipv4,
		ipv6,
		// IPv4 of a socket of IPv6.
		mapped,
		loopback,
		any_ipv4,
		any_ipv6,
	};

	Address(Kind kind, std::uint32_t host, std::uint16_t port);
	// Where a socket is bound; of family AF_UNSPEC if it is none.
	static Address of_socket(int fd);

	void set_port(std::uint16_t port);
	int family() const { return storage_.ss_family; }
	sockaddr *get() { return reinterpret_cast<sockaddr *>(&storage_); }
	socklen_t size() const;

private:
	Address() = default;

	sockaddr_storage storage_{};
};

// One of the four ports that listeners of the connection manager use.
std::uint16_t listener_port(std::uint32_t number);
