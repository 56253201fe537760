/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Finds out what a TCP port uses: connects and performs only the startup exchange of
// MPA, as Initiator. Needs neither a module nor privilege.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "probe/startup.hpp"

namespace mpactl {

using std::chrono::milliseconds;

struct ProbeOrder {
	std::string host;
	std::string port;
	// Absent: 2, and then 1 if the peer does not support 2.
	std::optional<unsigned int> revision;
	// Make a connection for each revision.
	bool all = false;
	bool markers = false;
	bool crc = true;
	bool peer_to_peer = true;
	unsigned int ird = 16;
	unsigned int ord = 16;
	startup::Bytes data;
	// Limit for the connection, and again for the answer.
	milliseconds timeout{3000};
	// How long to wait for more bytes of another protocol, and then until the peer
	// closes the connection, too.
	milliseconds more_bytes{200};
	milliseconds close{1000};
	int family = AF_UNSPEC;
	// Local address, or empty.
	std::string source;
};

enum class ProbeOutcome {
	accepted,
	rejected,
	unfit,		// a Reply that does not match the Request
	malformed,	// begins like a Reply, but is not valid
	silent,
	closed,
	reset,
	echo,
	initiator,	// a Request
	foreign,	// not MPA
};

// One established connection.
struct Attempt {
	startup::Ask ask;
	ProbeOutcome outcome = ProbeOutcome::silent;
	// Present if a whole Reply was received.
	std::optional<startup::Reply> reply;
	startup::Agreement agreement;
	// The reason for the outcome; may be empty.
	std::string why;
	// The first bytes of an answer that is not a Reply.
	startup::Bytes bytes;
	// Bytes that were received after the Reply, before an FPDU was sent.
	std::size_t early = 0;
	milliseconds took{0};
};

// Why no connection was established.
enum class ConnectError { name, refused, timeout, unreachable };

struct ProbeReport {
	std::string host;
	std::string port;
	// Numerical address of the connection, or of the last attempt.
	std::string address;
	std::string source;
	std::vector<Attempt> attempts;
	std::optional<ConnectError> connect_error;
	std::string why;

	// The attempt with the most informative outcome.
	const Attempt *best() const;
	// A Reply was received, even one that rejects the connection.
	bool uses_mpa() const;
	// Revisions of the Replies, in descending order.
	std::vector<unsigned int> revisions() const;
};

bool is_reply(ProbeOutcome outcome);

// AF_INET or AF_INET6; AF_UNSPEC if it is not a numerical address.
int family_of(const std::string &address);

ProbeReport probe(const ProbeOrder &order);

} // namespace mpactl
