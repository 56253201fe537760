/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What is at a TCP port: connects, performs the startup exchange of MPA as
// Initiator and nothing else. Needs neither module nor privilege.
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
	// None: 2, and 1 if that is not understood.
	std::optional<unsigned int> revision;
	// A connection for each of the revisions.
	bool all = false;
	bool markers = false;
	bool crc = true;
	bool peer_to_peer = true;
	unsigned int ird = 16;
	unsigned int ord = 16;
	startup::Bytes data;
	// For each step: the connection, and what the peer says.
	milliseconds timeout{3000};
	int family = AF_UNSPEC;
	// Own address, or empty.
	std::string source;
};

enum class ProbeOutcome {
	accepted,
	rejected,
	unfit,		// a Reply that does not answer the Request
	malformed,	// begins as a Reply and is none
	silent,
	closed,
	reset,
	echo,
	initiator,	// a Request of its own
	foreign,	// something that is not MPA
};

// One connection that came about.
struct Attempt {
	startup::Ask ask;
	ProbeOutcome outcome = ProbeOutcome::silent;
	// If there was a whole Reply.
	std::optional<startup::Reply> reply;
	startup::Agreement agreement;
	// Why not, in words; may be empty.
	std::string why;
	// The first bytes of what is not a Reply.
	startup::Bytes bytes;
	// Bytes that came with the Reply, before any FPDU of ours.
	std::size_t early = 0;
	milliseconds took{0};
};

// Why there was no connection at all.
enum class NoWay { name, refused, timeout, unreachable };

struct ProbeReport {
	std::string host;
	std::string port;
	// Numerical, of the connection; of the last try if there was none.
	std::string address;
	std::string source;
	std::vector<Attempt> attempts;
	std::optional<NoWay> no_way;
	std::string why;

	// The attempt that says most.
	const Attempt *best() const;
	// A Reply came, if only to say no.
	bool speaks() const;
	// Revisions of the Replies, the highest first.
	std::vector<unsigned int> revisions() const;
};

bool is_reply(ProbeOutcome outcome);

// AF_INET, AF_INET6, or AF_UNSPEC for what is no numerical address.
int family_of(const std::string &address);

ProbeReport probe(const ProbeOrder &order);

} // namespace mpactl
