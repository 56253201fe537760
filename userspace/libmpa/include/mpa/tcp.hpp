/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The TCP connections that MPA sockets start from: name lookup, connecting with
// a time limit, listening. Nothing here is specific to MPA.
#pragma once

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <netdb.h>

#include "mpa.hpp"

namespace mpa::tcp {

// The errors of getaddrinfo(3) as an error category.
inline const std::error_category &lookup_category() noexcept
{
	class category final : public std::error_category {
		const char *name() const noexcept override { return "lookup"; }

		std::string message(int error) const override
		{
			return ::gai_strerror(error);
		}
	};
	static const category one;

	return one;
}

struct address_deleter {
	void operator()(addrinfo *list) const noexcept { ::freeaddrinfo(list); }
};
using addresses = std::unique_ptr<addrinfo, address_deleter>;

// Whether it may be a service: a port, or a name, which has a letter (RFC 6335 section
// 5.1). getaddrinfo(3) takes any number, with a sign and blanks, and uses its low 16 bits.
inline bool valid_service(std::string_view service) noexcept
{
	const char *const end = service.data() + service.size();
	std::uint16_t port = 0;

	if (service.find_first_not_of("0123456789+- \t\n\v\f\r") != service.npos ||
	    service.empty())
		return true;
	const auto read = std::from_chars(service.data(), end, port);
	return read.ec == std::errc() && read.ptr == end;
}

// host: a name or an address. Empty means every address of this machine (to
// listen) or the machine itself (to connect). service: a port or its name.
inline result<addresses> look_up(const std::string &host,
				 const std::string &service, bool passive)
{
	addrinfo hints{};
	addrinfo *found = nullptr;

	if (!valid_service(service))
		return std::error_code(EAI_SERVICE, lookup_category());
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = passive ? AI_PASSIVE : 0;
	const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
					service.c_str(), &hints, &found);
	if (error == EAI_SYSTEM)
		return last_error();
	if (error)
		return std::error_code(error, lookup_category());
	return addresses(found);
}

// An address of IPv4 that a socket of IPv6 has, ::ffff:192.0.2.1, becomes one of IPv4.
// Returns its size.
inline socklen_t unmap(sockaddr_storage &address, socklen_t size) noexcept
{
	sockaddr_in6 six;
	sockaddr_in four{};

	std::memcpy(&six, &address, sizeof(six));
	if (address.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
		return size;
	four.sin_family = AF_INET;
	four.sin_port = six.sin6_port;
	std::memcpy(&four.sin_addr, &six.sin6_addr.s6_addr[12], sizeof(four.sin_addr));
	std::memcpy(&address, &four, sizeof(four));
	return sizeof(four);
}

// The address and port of a socket's peer, or of the socket, for printing.
inline std::string name_of(int fd, bool peer = true)
{
	sockaddr_storage address{};
	socklen_t size = sizeof(address);
	char host[NI_MAXHOST], port[NI_MAXSERV];
	auto *generic = reinterpret_cast<sockaddr *>(&address);
	const auto ask = peer ? ::getpeername : ::getsockname;

	if (ask(fd, generic, &size) ||
	    ::getnameinfo(generic, unmap(address, size), host, sizeof(host), port, sizeof(port),
			  NI_NUMERICHOST | NI_NUMERICSERV))
		return "?";
	return std::string(host) + " " + port;
}

// Waits until connect(2) has succeeded or failed. Signals do not end the wait.
inline result<void> wait_connected(int fd, std::chrono::milliseconds limit)
{
	using clock = std::chrono::steady_clock;
	const auto begin = clock::now();
	pollfd one{.fd = fd, .events = POLLOUT, .revents = 0};

	for (auto left = limit;;) {
		const int ready = ::poll(&one, 1, poll_time(left));

		if (ready > 0)
			return {};
		if (ready == 0)
			return std::errc::timed_out;
		if (errno != EINTR)
			return last_error();
		if (limit.count() >= 0)
			left = std::max(
				std::chrono::milliseconds(0),
				limit - std::chrono::floor<std::chrono::milliseconds>(
						clock::now() - begin));
	}
}

// Connects to one address within the limit; negative: no limit. The descriptor
// is blocking afterwards.
inline result<descriptor> connect_one(const addrinfo &to,
				      std::chrono::milliseconds limit)
{
	descriptor fd(::socket(to.ai_family,
			       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int error = 0;
	socklen_t size = sizeof(error);

	if (!fd)
		return last_error();
	if (::connect(fd.get(), to.ai_addr, to.ai_addrlen) &&
	    errno != EINPROGRESS)
		return last_error();
	if (auto ready = wait_connected(fd.get(), limit); !ready)
		return ready.error();
	if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size))
		return last_error();
	if (error)
		return std::error_code(error, std::generic_category());
	if (::fcntl(fd.get(), F_SETFL, 0))
		return last_error();
	return fd;
}

// Connects to the first address of the host that answers; the limit applies to
// each address. The result is blocking; the error is that of the last address.
inline result<descriptor>
connect(const std::string &host, const std::string &service,
	std::chrono::milliseconds limit = std::chrono::seconds(10))
{
	auto list = look_up(host, service, false);
	result<descriptor> last = std::errc::address_not_available;

	if (!list)
		return list.error();
	for (const addrinfo *to = list->get(); to; to = to->ai_next) {
		last = connect_one(*to, limit);
		if (last)
			break;
	}
	return last;
}

inline result<descriptor> listen_at(const addrinfo &at, int backlog)
{
	descriptor fd(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	const int on = 1, off = 0;

	if (!fd ||
	    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    // The address of IPv6 that stands for all of them is that of IPv4, too.
	    (at.ai_family == AF_INET6 &&
	     ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) ||
	    ::bind(fd.get(), at.ai_addr, at.ai_addrlen) || ::listen(fd.get(), backlog))
		return last_error();
	return fd;
}

// A TCP socket that listens on the first address that works. For an empty host it is a
// socket of IPv6 that takes connections of IPv4 as well, or of IPv4 if the machine has no
// IPv6.
inline result<descriptor> listen(const std::string &host,
				 const std::string &service,
				 int backlog = SOMAXCONN)
{
	auto list = look_up(host, service, true);
	result<descriptor> last = std::errc::address_not_available;

	if (!list)
		return list.error();
	// With an empty host those of IPv6 come first.
	for (const bool first : {true, false})
		for (const addrinfo *at = list->get(); at; at = at->ai_next) {
			if ((!host.empty() || at->ai_family == AF_INET6) != first)
				continue;
			last = listen_at(*at, backlog);
			if (last)
				return last;
		}
	return last;
}

} // namespace mpa::tcp
