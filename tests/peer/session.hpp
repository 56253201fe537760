// SPDX-License-Identifier: GPL-2.0-only
//
// One connection to the target while a case runs on it, and what the peer does
// there: well-behaved things mostly, from which the misbehaviours are made.
#pragma once

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "socket.hpp"
#include "target.hpp"
#include "wire.hpp"

namespace peer {

// What was seen instead of what was required.
struct Mismatch : std::runtime_error {
	using std::runtime_error::runtime_error;
};

enum class Kind { rnic, socket };
enum class Role { initiator, responder };

// Where the target is, and what is known of it.
struct Environment {
	Kind kind = Kind::rnic;
	Role role = Role::initiator;
	Address target;
	// Where the target takes orders, see control.hpp.
	Address control;
	// Where we listen as Responder.
	Address here;
	// The target asks for Markers.
	bool markers = false;
	// How long the target may take for what it does at once.
	milliseconds patience{30000};
};

// What the target's application exposes: its private data.
struct Aim {
	std::uint32_t rw_stag = 0;	// all rights; guarded on both sides
	std::uint64_t rw_at = 0;
	std::uint32_t rw_length = 0;
	std::uint32_t ro_stag = 0;	// remote read only
	std::uint64_t ro_at = 0;
	std::uint32_t wo_stag = 0;	// remote write only
	std::uint64_t wo_at = 0;
	std::uint32_t other_stag = 0;	// of another protection domain
	std::uint64_t other_at = 0;
	std::uint32_t small_length = 0;	// of these three
	std::uint32_t receive_size = 0;
	std::uint32_t receives = 0;

	static constexpr std::size_t bytes = 68;
	static Aim decode(const Bytes &data);
};

// What the target ought to have counted.
class Tally {
public:
	void add(const std::string &counter, int by = 1);
	std::map<std::string, int> take() const;

private:
	mutable std::mutex lock_;
	std::map<std::string, int> counts_;
};

// An order to the target, and what it says of the connection.
class Orders {
public:
	Orders() = default;
	Orders(const Environment &environment, const std::string &order);
	// The next line; empty if none comes by then.
	std::string line(Time until);

private:
	Socket socket_;
	Bytes received_;
};

class Session {
public:
	Session(const Environment &environment, Tally &tally)
		: env(environment), tally(tally)
	{
	}

	// TCP only; as Responder also the target's Request.
	void open(Mode mode = Mode::echo);
	// As Responder: listen, and have the target connect.
	void listen();
	void order(std::uint16_t port = 0);
	// As Responder: another connection of the same target.
	void accept_again();
	// The whole startup exchange. As Initiator sends @request.
	void start(const Frame &request);
	void start(Mode mode = Mode::echo);
	// As Responder: what answers the Request in good order.
	Frame good_reply(bool markers = false) const;
	// Full operation, the frames having been exchanged.
	void operate(const Frame &ours, const Frame &theirs);

	void send(const Bytes &bytes);
	// One byte to a segment.
	void drip(const Bytes &bytes, milliseconds pause);
	void send_ulpdu(const Bytes &ulpdu, const Fault &fault = {});
	// For checks: the other side's next FPDU, or Mismatch.
	Bytes next_ulpdu(const char *wanted);
	// The same, but nothing if the other side ends instead.
	std::optional<Bytes> next_ulpdu_or_end(Time until);
	Frame next_frame();
	// Nothing but the end may come, by then.
	void must_end(Time until);
	void must_be_quiet(milliseconds how_long);
	// Receives until the end, or until nothing comes any more.
	void receive_all();
	// Takes whatever comes, until the end or by then.
	void drain(milliseconds how_long = milliseconds(5000));
	// Whether an RTR is what the Initiator's first FPDU is.
	void read_rtr();

	// Messages in good order.
	Bytes send_message(const Bytes &payload, std::uint8_t opcode = op_send);
	Bytes receive_message();
	void echo(std::size_t size = 64);
	// What a socket sends back for a ULPDU: the same bytes, in pieces if
	// they are more than its MULPDU.
	void take_echo(const Bytes &ulpdu);
	Bytes write(std::uint64_t offset, const Bytes &payload);
	Bytes read_request(std::uint32_t size, std::uint32_t stag,
			    std::uint64_t at);
	Bytes receive_response(std::size_t size);
	void write_and_read_back(std::size_t size);
	// What tells that the target is in good order.
	void good_exchange();
	// All the target has said of this connection since the last call.
	void must_hear(const std::string &word, milliseconds within);

	Time soon() const { return Clock::now() + env.patience; }
	std::string seen() const;

	const Environment &env;
	Tally &tally;
	Mode mode = Mode::echo;
	Socket socket;
	Socket listener;
	std::vector<Socket> more;
	Orders orders;
	Frame theirs;
	Aim aim;
	Framing tx_framing;
	Writer writer;
	Reader reader;
	Bytes received;
	End end = End::none;
	bool operational = false;
	bool too_long = false;		// above 64768 bytes
	bool too_short = false;		// for its DDP header, that is
	Bytes suspect;			// the ULPDU that is at fault
	bool any_suspect = false;	// the Terminate may show another one
	std::uint32_t send_msn = 1;
	std::uint32_t read_msn = 1;
	std::uint32_t their_msn = 1;
	std::uint32_t their_read_msn = 1;

private:
	bool receive_some(Time until);
	void aim_from(const Frame &frame);
	Socket accept();
};

} // namespace peer
