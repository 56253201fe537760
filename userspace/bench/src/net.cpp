/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "net.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>

#include "failure.hpp"

namespace bench {

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int)
{
	stop = true;
}

struct InfoDeleter {
	void operator()(addrinfo *info) const { ::freeaddrinfo(info); }
};
using Info = std::unique_ptr<addrinfo, InfoDeleter>;

Info look_up(const char *host, std::uint16_t port, int flags)
{
	addrinfo hints{};
	addrinfo *found = nullptr;

	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = flags | AI_NUMERICSERV;
	const int error = ::getaddrinfo(host, std::to_string(port).c_str(), &hints,
					&found);
	if (error)
		throw Failure(fmt::format("{}: {}", host ? host : "any address",
					  ::gai_strerror(error)),
			      Status::unavailable);
	return Info(found);
}

Fd new_socket(int family)
{
	Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (fd.get() < 0)
		fail("socket");
	return fd;
}

Fd listening(const sockaddr *address, socklen_t size)
{
	Fd fd = new_socket(address->sa_family);

	set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
	if (address->sa_family == AF_INET6)
		set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (::bind(fd.get(), address, size))
		fail("bind");
	if (::listen(fd.get(), 1024))
		fail("listen");
	return fd;
}

// 0, or the error.
int try_connect(Fd &fd, const sockaddr *address, socklen_t size, Milliseconds time)
{
	fd = new_socket(address->sa_family);
	if (!::connect(fd.get(), address, size))
		return 0;
	return errno == EINPROGRESS ? finish_connect(fd.get(), time) : errno;
}

} // namespace

// --- addresses -------------------------------------------------------------------

socklen_t Address::size() const noexcept
{
	return storage_.ss_family == AF_INET6 ? sizeof(sockaddr_in6)
					      : sizeof(sockaddr_in);
}

namespace {

// RDMA does not know IPv4 addresses mapped into IPv6.
void unmap(sockaddr_storage &storage)
{
	sockaddr_in6 six;
	sockaddr_in four{};

	std::memcpy(&six, &storage, sizeof(six));
	if (six.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
		return;
	four.sin_family = AF_INET;
	four.sin_port = six.sin6_port;
	std::memcpy(&four.sin_addr, &six.sin6_addr.s6_addr[12], 4);
	storage = {};
	std::memcpy(&storage, &four, sizeof(four));
}

} // namespace

Address Address::local(int fd)
{
	Address address;
	socklen_t size = sizeof(address.storage_);

	if (::getsockname(fd, address.get(), &size))
		fail("getsockname");
	unmap(address.storage_);
	return address;
}

std::optional<Address> Address::peer_of(int fd)
{
	Address address;
	socklen_t size = sizeof(address.storage_);

	if (::getpeername(fd, address.get(), &size))
		return {};
	unmap(address.storage_);
	return address;
}

Address Address::remote(int fd)
{
	const auto address = peer_of(fd);

	if (!address)
		fail("getpeername");
	return *address;
}

// The port is at the same offset in both families.
Address Address::with_port(std::uint16_t port) const
{
	static_assert(offsetof(sockaddr_in, sin_port) ==
		      offsetof(sockaddr_in6, sin6_port));
	Address address = *this;
	const std::uint16_t bytes = htons(port);

	std::memcpy(reinterpret_cast<char *>(&address.storage_) +
			    offsetof(sockaddr_in, sin_port),
		    &bytes, sizeof(bytes));
	return address;
}

std::uint16_t Address::port() const
{
	std::uint16_t bytes;

	std::memcpy(&bytes,
		    reinterpret_cast<const char *>(&storage_) +
			    offsetof(sockaddr_in, sin_port),
		    sizeof(bytes));
	return ntohs(bytes);
}

std::string Address::text() const
{
	std::array<char, NI_MAXHOST> host{};

	if (::getnameinfo(get(), size(), host.data(), host.size(), nullptr, 0,
			  NI_NUMERICHOST))
		return "?";
	return host.data();
}

void allow_descriptors() noexcept
{
	rlimit limit{};

	if (::getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	::setrlimit(RLIMIT_NOFILE, &limit);
}

// --- waiting ---------------------------------------------------------------------

void catch_signals()
{
	struct sigaction action{};

	// Without SA_RESTART: a thread that sleeps must wake up.
	action.sa_handler = on_signal;
	::sigaction(SIGINT, &action, nullptr);
	::sigaction(SIGTERM, &action, nullptr);
	::signal(SIGPIPE, SIG_IGN);
}

bool stop_requested() noexcept
{
	return stop;
}

void request_stop(bool value) noexcept
{
	stop = value;
}

void check_stop()
{
	if (stop)
		throw Failure("interrupted", Status::interrupted);
}

// Wait in slices: a signal may arrive just before the system call.
bool wait_readable(std::span<const int> fds, Milliseconds time)
{
	const auto end = Clock::now() + time;
	std::array<pollfd, 4> polls{};

	for (std::size_t i = 0; i < fds.size(); i++)
		polls[i] = {fds[i], POLLIN, 0};
	for (;;) {
		const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
		const auto slice = std::clamp(left, Milliseconds(0), Milliseconds(100));

		check_stop();
		const int ready = ::poll(polls.data(), fds.size(),
					 static_cast<int>(slice.count()));
		if (ready < 0 && errno != EINTR)
			fail("poll");
		if (ready > 0)
			return true;
		if (left <= slice) {
			check_stop();
			return false;
		}
	}
}

// --- TCP -------------------------------------------------------------------------

int finish_connect(int fd, Milliseconds time)
{
	const auto end = Clock::now() + time;
	int error = 0;
	socklen_t size = sizeof(error);

	for (;;) {
		pollfd one{fd, POLLOUT, 0};

		check_stop();
		if (::poll(&one, 1, 100) > 0)
			break;
		if (Clock::now() >= end)
			return ETIMEDOUT;
	}
	if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
		return errno;
	return error;
}

void set_option(int fd, int level, int option, int value)
{
	if (::setsockopt(fd, level, option, &value, sizeof(value)))
		fail("setsockopt");
}

void set_blocking(int fd, bool blocking)
{
	const int flags = ::fcntl(fd, F_GETFL);

	if (flags < 0 || ::fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK
						       : flags | O_NONBLOCK))
		fail("fcntl");
}

Fd listen_at(const std::string &address, std::uint16_t port)
{
	const auto info = look_up(address.empty() ? nullptr : address.c_str(), port,
				  AI_PASSIVE);
	const addrinfo *chosen = info.get();

	// "::" also takes IPv4, if there is IPv6 at all. It is found in any case.
	if (address.empty()) {
		const Fd probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
		const int family = probe.get() < 0 ? AF_INET : AF_INET6;

		for (const auto *one = info.get(); one; one = one->ai_next)
			if (one->ai_family == family)
				chosen = one;
	}
	return listening(chosen->ai_addr, chosen->ai_addrlen);
}

Fd listen_at(const Address &address)
{
	return listening(address.get(), address.size());
}

// Errors of a connection that was not accepted, as accept(2) lists them.
static bool of_connection(int error)
{
	switch (error) {
	case EAGAIN:
	case ECONNABORTED:
	case EINTR:
	case ENETDOWN:
	case EPROTO:
	case ENOPROTOOPT:
	case EHOSTDOWN:
	case ENONET:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return true;
	default:
		return false;
	}
}

Accepted accept_from(int listener)
{
	Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));

	if (fd.get() < 0) {
		if (!of_connection(errno))
			fail("accept");
		return {};
	}
	// Linux also returns connections that the peer has reset.
	const auto peer = Address::peer_of(fd.get());
	if (!peer)
		return {};
	return {std::move(fd), *peer};
}

Fd connect_to(const std::string &host, std::uint16_t port, Milliseconds time)
{
	const auto info = look_up(host.c_str(), port, 0);
	int error = 0;

	for (const auto *one = info.get(); one; one = one->ai_next) {
		Fd fd;

		error = try_connect(fd, one->ai_addr, one->ai_addrlen, time);
		if (!error)
			return fd;
	}
	fail(fmt::format("no server at {} port {}", host, port), Status::unavailable,
	     error);
}

Fd connect_to(const Address &address, Milliseconds time)
{
	Fd fd;

	if (const int error = try_connect(fd, address.get(), address.size(), time))
		fail(fmt::format("connection to {} port {}", address.text(),
				 address.port()),
		     Status::failed, error);
	return fd;
}

} // namespace bench
