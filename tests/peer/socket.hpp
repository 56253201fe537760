// SPDX-License-Identifier: GPL-2.0-only
//
// Plain TCP, with deadlines instead of blocking.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <netinet/in.h>

#include "bytes.hpp"

namespace peer {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using std::chrono::milliseconds;

class Address {
public:
	// ADDR:PORT, [ADDR6]:PORT
	static Address parse(const std::string &text);
	const sockaddr *raw() const;
	socklen_t length() const;
	int family() const { return storage_.ss_family; }
	std::uint16_t port() const;
	Address with_port(std::uint16_t port) const;
	std::string host() const;

private:
	friend class Socket;
	sockaddr_storage storage_{};
};

// How the other side has ended its direction of the connection.
enum class End { none, fin, reset };

class Socket {
public:
	Socket() = default;
	~Socket() { close(); }
	Socket(Socket &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
	Socket &operator=(Socket &&other) noexcept
	{
		close();
		fd_ = std::exchange(other.fd_, -1);
		return *this;
	}

	static Socket connect(const Address &to, Time until);
	// Port 0: any.
	static Socket listen(const Address &at);
	Socket accept(Time until) const;
	// Whether a peer has connected by then.
	bool asked(Time until) const;

	// Less than all if the other side takes no more by then, or has closed.
	std::size_t send(const Bytes &bytes, Time until);
	// Appends the bytes that arrive first, if any do by then.
	End receive(Bytes &to, Time until);
	// Moves the position in the stream at which the next bytes are sent: what
	// is left out arrives too late, or again. All bytes received were read, and
	// all sent so far are acknowledged, or not to be sent again by TCP. Needs
	// CAP_NET_ADMIN.
	void shift(std::int32_t by);
	void fin();
	void reset();
	void close();
	bool open() const { return fd_ >= 0; }
	Address local() const;
	Address remote() const;

private:
	explicit Socket(int fd) : fd_(fd) {}
	bool ready(short events, Time until) const;

	int fd_ = -1;
};

} // namespace peer
