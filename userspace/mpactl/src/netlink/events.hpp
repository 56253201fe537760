/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Notices from a socket that is a member of multicast groups. Apart from the socket, so
// that tests can replace it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/transport.hpp"

namespace mpactl::netlink {

class EventSocket {
public:
	virtual ~EventSocket() = default;

	// Like Socket::receive(), without waiting: EAGAIN if there is no datagram.
	virtual std::vector<std::byte> receive(int &error) = 0;
	// Messages that were dropped since the socket was created.
	virtual std::uint32_t dropped() const = 0;
	// The user has requested a stop.
	virtual bool stopping() const = 0;
	// Waits for a datagram or a request to stop.
	virtual void wait() const = 0;
};

// Events of the family with that number. Throws Unavailable when the family is
// removed, if the socket is also a member of nlctrl's group "notify".
std::unique_ptr<Events> read_events(std::unique_ptr<EventSocket> socket, int family);

} // namespace mpactl::netlink
