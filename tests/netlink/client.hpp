// SPDX-License-Identifier: GPL-2.0-only
//
// A netlink socket in a network namespace, and the answers of the family.
#pragma once

#include <chrono>

#include <mpa/mpa.hpp>

#include "harness.hpp"
#include "message.hpp"

namespace nl {

struct Answer {
	int error = 0; // positive
	bool done = false; // of the message that ends a dump
	bool interrupted = false; // NLM_F_DUMP_INTR in any message
	std::string message; // of the extended acknowledgement
	std::optional<std::uint32_t> offset;
	std::optional<std::uint32_t> missing;
	std::vector<Message> replies;
};

// A call that sends or receives has failed with this error number.
struct TransferFailed : harness::Failed {
	int error;
};

class Client {
public:
	// host: h1, h2, ..., or empty for the current namespace. room: bytes
	// per receive, and per message of a dump, which takes more messages if
	// it is small.
	explicit Client(const std::string &host = "", std::size_t room = 32768);

	Answer ask(const Request &request);
	// Must succeed.
	Answer get(const Request &request,
		   std::source_location at = std::source_location::current());
	// The single reply of a get that must succeed.
	Got one(const Request &request,
		std::source_location at = std::source_location::current());
	// Continues a dump: reads one datagram. True at its end.
	void send(const Request &request);
	bool more(Answer &answer);

	// Joins the multicast group. Receives up to this many bytes, which
	// needs a privilege, or the default of unprivileged sockets.
	void subscribe(int buffer = 1 << 20);
	// The next event, or nothing if none comes within the time.
	std::optional<Message> event(std::chrono::milliseconds patience);
	// Waits for the next event and leaves it to event(). True if recv(2) reports
	// ENOBUFS in its place: events were lost.
	bool lost();

private:
	void read_ack(Answer &answer, const Bytes &bytes, const nlmsghdr &header,
		      std::size_t skip);
	bool receive(Bytes &bytes, int flags);
	void find_family();

	mpa::descriptor fd_;
	std::uint16_t family_ = 0;
	std::uint32_t group_ = 0;
	std::uint32_t seq_ = 0;
	std::size_t room_;
	// Events of a datagram that were not consumed yet.
	std::vector<Message> waiting_;
};

} // namespace nl
