/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Descriptors, addresses, TCP connections, and the request to end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace bench {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

inline std::uint64_t nanoseconds_since(Clock::time_point start) noexcept
{
	return static_cast<std::uint64_t>(
		std::chrono::nanoseconds(Clock::now() - start).count());
}

// From here on this process may have as many descriptors as it may permit itself: each
// connection of TCP needs one.
void allow_descriptors() noexcept;

class Fd {
public:
	Fd() = default;
	explicit Fd(int fd) noexcept : fd_(fd) {}
	Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
	Fd &operator=(Fd &&other) noexcept
	{
		std::swap(fd_, other.fd_);
		return *this;
	}
	~Fd()
	{
		if (fd_ >= 0)
			::close(fd_);
	}

	int get() const noexcept { return fd_; }
	void reset() noexcept { *this = Fd(); }

private:
	int fd_ = -1;
};

// An IPv4 or IPv6 address with a port.
class Address {
public:
	// The address of this end of a socket, or of the other one. The address
	// of an IPv4 connection is an IPv4 one even if the socket is IPv6.
	static Address local(int fd);
	static Address remote(int fd);
	// Empty: the connection has been reset.
	static std::optional<Address> peer_of(int fd);

	Address with_port(std::uint16_t port) const;
	std::uint16_t port() const;
	// Without the port.
	std::string text() const;

	sockaddr *get() noexcept { return reinterpret_cast<sockaddr *>(&storage_); }
	const sockaddr *get() const noexcept
	{
		return reinterpret_cast<const sockaddr *>(&storage_);
	}
	socklen_t size() const noexcept;

private:
	sockaddr_storage storage_{};
};

// --- waiting --------------------------------------------------------------------

// From here on SIGINT and SIGTERM only request the end.
void catch_signals();
bool stop_requested() noexcept;
// For tests.
void request_stop(bool stop) noexcept;
// Throws Failure if the end was requested.
void check_stop();

// Sleeps until one of the descriptors is readable or has an error; false: none
// was in time. Throws if the process is to end.
bool wait_readable(std::span<const int> fds, Milliseconds time);

// --- TCP ------------------------------------------------------------------------

// Listens on a port of the address, or of all addresses if that is empty; port
// 0: any.
Fd listen_at(const std::string &address, std::uint16_t port);
Fd listen_at(const Address &address);

// A connection, and its peer's address: the connection may be reset at any time, and has
// no such address then.
struct Accepted {
	Fd fd;
	Address peer;
};

// Accepts a waiting connection; without one, the descriptor is -1.
Accepted accept_from(int listener);
// Throws Failure "unavailable" if no server listens there or the host does not
// answer.
Fd connect_to(const std::string &host, std::uint16_t port, Milliseconds time);
Fd connect_to(const Address &address, Milliseconds time);
// Waits for the end of an attempt to connect, or of the startup of MPA: 0, or the error.
int finish_connect(int fd, Milliseconds time);

void set_blocking(int fd, bool blocking);
void set_option(int fd, int level, int option, int value);

} // namespace bench
