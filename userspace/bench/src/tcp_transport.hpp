/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Messages as fixed lengths of TCP streams, or as those of MPA or KCM sockets, by one
// thread.
//
// With one connection that carries data one way at a time, a thread sleeps in
// the call that sends or receives, which is cheapest. Otherwise it sleeps in
// epoll.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "job.hpp"
#include "net.hpp"
#include "stats.hpp"
#include "transport.hpp"
#include "wire.hpp"

namespace bench {

class TcpTransport {
public:
	TcpTransport(const Job &job, bool is_client, const Address &local);
	TcpTransport(const TcpTransport &) = delete;
	TcpTransport &operator=(const TcpTransport &) = delete;

	// --- set-up and end, as of VerbsTransport ------------------------------------

	std::string device() const { return {}; }
	std::uint32_t inline_bytes() const noexcept { return 0; }
	wire::Regions regions() const { return {}; }
	void set_peer(const wire::Regions &) {}
	std::uint16_t listen(std::uint64_t cookie);
	int event_fd() const noexcept { return epoll_.get(); }
	void pump();
	bool complete() const noexcept;
	std::uint64_t accepted() const noexcept { return accepted_; }
	void connect(const Address &server, std::uint64_t cookie, std::uint32_t first,
		     std::uint32_t end, Histogram &times);
	void disconnect();

	// --- messages; transport.hpp ---------------------------------------------------

	std::uint32_t room(std::uint32_t connection) const noexcept
	{
		return job_.depth - connections_[connection].outstanding;
	}
	std::uint32_t outstanding(std::uint32_t connection) const noexcept
	{
		return connections_[connection].outstanding;
	}
	std::uint32_t ragged(std::uint32_t) const noexcept { return 0; }
	bool prompt() const noexcept { return !direct_; }
	void attend(bool) const noexcept {}
	void post(std::uint32_t connection, std::uint32_t n, bool last);
	// The receiver sees messages arrive.
	void fence(std::uint32_t) {}
	std::span<const Completion> reap(Completions &completions);
	Rest block(int fd);
	void fill_round(std::uint64_t, std::uint32_t) {}
	void check_round(std::uint64_t, std::uint32_t) {}

private:
	struct Connection {
		Fd fd;
		// The TCP socket below a KCM socket.
		Fd under;
		// Posted, in messages and bytes, not yet taken by TCP.
		std::uint32_t outstanding = 0;
		std::uint64_t pending = 0;
		// Total bytes sent and received.
		std::uint64_t sent = 0;
		std::uint64_t received = 0;
		// Total messages posted.
		std::uint64_t posted = 0;
		// In the queue ready_.
		bool queued = false;
		// TCP had no room, or no data, at the last call.
		bool full = false;
		// Calls since the kernel's reports on pages were read.
		std::uint32_t unread = 0;
		bool empty = false;
	};

	// A connection that has not sent its whole introduction yet.
	struct Guest {
		Fd fd;
		std::array<std::byte, 16> said{};
		std::size_t size = 0;
	};

	void set_up(std::uint32_t index, Fd fd);
	void watch(int fd, std::uint64_t data, std::uint32_t events);
	void admit(Guest &guest);
	bool hear(Guest &guest);
	void queue(std::uint32_t connection);
	bool work_left(const Connection &one) const noexcept;
	ssize_t give(Connection &one, std::uint64_t at, std::size_t length);
	std::uint32_t push(std::uint32_t connection);
	std::uint32_t pull(std::uint32_t connection);
	bool turn(std::uint32_t connection, Completions &completions, std::size_t &count);
	void on_event(std::uint64_t data, std::uint32_t events);
	Rest wait_events(int time);
	void verify(std::uint32_t connection, std::span<const std::byte> bytes);

	const Job job_;
	const bool is_client_;
	const bool sends_;
	const bool takes_;
	// Calls may block.
	const bool direct_;
	// Make calls even if they are not known to succeed.
	const bool tireless_;
	const Slots source_slots_;
	const Address local_;
	Buffer source_;
	Buffer sink_;
	std::uint64_t cookie_ = 0;

	Fd epoll_;
	Fd listener_;
	int watched_ = -1;
	std::vector<Connection> connections_;
	std::list<Guest> guests_;
	std::uint32_t complete_ = 0;
	std::uint64_t accepted_ = 0;
	// Connections with something to do, as a ring.
	std::vector<std::uint32_t> ready_;
	std::size_t ready_first_ = 0;
	std::size_t ready_count_ = 0;
};

} // namespace bench
