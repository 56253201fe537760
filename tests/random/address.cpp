// SPDX-License-Identifier: GPL-2.0-only
#include "address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

Address::Address(Kind kind, std::uint32_t host, std::uint16_t port)
{
	const bool second = host % 2;

	if (kind == Kind::ipv6 || kind == Kind::mapped || kind == Kind::any_ipv6) {
		auto &in6 = reinterpret_cast<sockaddr_in6 &>(storage_);

		in6.sin6_family = AF_INET6;
		if (kind == Kind::ipv6)
			::inet_pton(AF_INET6, second ? "fd77::2" : "fd77::1", &in6.sin6_addr);
		else if (kind == Kind::mapped)
			::inet_pton(AF_INET6, second ? "::ffff:10.77.0.2" : "::ffff:10.77.0.1",
				    &in6.sin6_addr);
	} else {
		auto &in = reinterpret_cast<sockaddr_in &>(storage_);

		in.sin_family = AF_INET;
		if (kind == Kind::ipv4)
			::inet_pton(AF_INET, second ? "10.77.0.2" : "10.77.0.1", &in.sin_addr);
		else if (kind == Kind::loopback)
			in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	set_port(port);
}

Address Address::of_socket(int fd)
{
	Address address;
	socklen_t size = sizeof(address.storage_);

	if (::getsockname(fd, address.get(), &size))
		address.storage_.ss_family = AF_UNSPEC;
	return address;
}

// Both families have it at the same place.
void Address::set_port(std::uint16_t port)
{
	reinterpret_cast<sockaddr_in &>(storage_).sin_port = htons(port);
}

socklen_t Address::size() const
{
	return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::uint16_t listener_port(std::uint32_t number)
{
	return static_cast<std::uint16_t>(7100 + number % 4);
}
