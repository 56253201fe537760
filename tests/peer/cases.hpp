// SPDX-License-Identifier: GPL-2.0-only
//
// The table of protocol violations. A case is a row: its name, what the peer
// does as a list of steps, and the required outcome on the other side.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session.hpp"

namespace peer {

using Step = std::function<void(Session &)>;
// A segment, created when the target's addresses are known.
using Aimed = std::function<Bytes(Session &)>;

struct Outcome {
	std::string text;
	std::function<void(Session &)> check;
};

// State of the connection when the steps of a case begin.
struct Setup {
	enum class Phase {
		nothing,	// as Responder the peer listens
		connected,	// TCP; as Responder the Request is read
		operational,	// the startup exchange is over, nothing sent
		exchanged,	// and each side has received an FPDU
	};
	Phase phase = Phase::connected;
	Mode mode = Mode::echo;
};

inline constexpr Setup nothing{.phase = Setup::Phase::nothing};
inline constexpr Setup connected{};
inline constexpr Setup operational{.phase = Setup::Phase::operational};
inline constexpr Setup exchanged{.phase = Setup::Phase::exchanged};

class Case {
public:
	Case(std::string name, std::string what, Setup setup,
	     std::vector<Step> steps, Outcome outcome)
		: name(std::move(name)), what(std::move(what)), setup(setup),
		  steps(std::move(steps)), outcome(std::move(outcome))
	{
	}

	// The targets it applies to; at first both roles and both kinds.
	Case &only(Role r) { role = r; return *this; }
	Case &only(Kind k) { kind = k; return *this; }
	// Needs a target that asks for Markers; others need one that does not.
	Case &with_markers() { markers = true; return *this; }
	// The required outcome differs for the socket interface.
	Case &on_socket(Outcome other) { socket_outcome = other; return *this; }
	// Counts of an RNIC other than Terminates.
	Case &counts(const std::string &name, int by = 1)
	{
		counters[name] += by;
		return *this;
	}
	// What a Terminate may come after: messages that were asked for, or that are due. Any
	// other one before it is a mismatch.
	Case &may_send(std::vector<std::uint8_t> opcodes)
	{
		before_terminate = std::move(opcodes);
		return *this;
	}
	// No other connection may be open meanwhile.
	Case &by_itself() { alone = true; return *this; }
	// Takes seconds: starts early.
	Case &takes_long() { slow = true; return *this; }

	bool fits(const Environment &env) const;
	const Outcome &required(Kind of) const;

	std::string name;
	std::string what;
	Setup setup;
	std::vector<Step> steps;
	Outcome outcome;
	std::optional<Outcome> socket_outcome;
	std::optional<Role> role;
	std::optional<Kind> kind;
	bool markers = false;
	bool alone = false;
	bool slow = false;
	std::map<std::string, int> counters;
	std::vector<std::uint8_t> before_terminate;
};

// References to rows stay valid.
class Table {
public:
	Case &add(std::string name, std::string what, Setup setup,
		  std::vector<Step> steps, Outcome outcome);
	const std::deque<Case> &rows() const { return rows_; }

private:
	std::deque<Case> rows_;
};

void add_requests(Table &table);
void add_replies(Table &table);
void add_framing(Table &table);
void add_markers(Table &table);
void add_untagged(Table &table);
void add_tagged(Table &table);
void add_reads(Table &table);
void add_terminates(Table &table);
void add_extensions(Table &table);
void add_windows(Table &table);
void add_early(Table &table);
void add_start_keys(Table &table);
const Table &all_cases();

// Steps ------------------------------------------------------------------------

Step send(Bytes bytes);
Step drip(Bytes bytes, milliseconds pause = milliseconds(2), std::size_t piece = 1);
Step wait(milliseconds how_long);
Step fin();
Step reset();
// Sends until the other side takes no more, or all is sent.
Step flood(Bytes what, std::size_t times);
// Correct FPDUs around any ULPDU, or FPDUs with a fault.
Step ulpdu(Aimed make, Fault fault = {});
Step ulpdu(Bytes bytes, Fault fault = {});
// Everything in one segment, as far as TCP can be asked to.
Step in_one_go(std::vector<Aimed> segments, std::size_t at_fault = 0);
Step good();

// Outcomes -----------------------------------------------------------------------

// FIN or RST without another byte.
Outcome closes(milliseconds within = milliseconds(30000));
// The same, but not before so much time has passed.
Outcome closes_late(milliseconds from, milliseconds to);
// One Terminate, right in itself, and the end; before it only what may_send() names.
Outcome terminates(std::vector<Code> allowed);
// An MPA error: RNICs send a Terminate of the LLP layer, sockets close.
Outcome breaks(std::vector<Code> allowed);
// Continues as if nothing had happened.
Outcome works();
// As Initiator: this Reply, and then the outcome.
Outcome replies(const std::string &like,
		std::function<bool(const Frame &)> matches, Outcome then);
Outcome quiet(milliseconds how_long, Outcome then);
// As Responder: what the target's application reports, and then the outcome.
Outcome reports(const std::string &word, Outcome then,
		milliseconds within = milliseconds(15000));
// Any behaviour is allowed: only what comes afterwards counts.
Outcome survives();
Outcome custom(std::string text, std::function<void(Session &)> check);

} // namespace peer
