// SPDX-License-Identifier: GPL-2.0-only
//
// One connection to the target while a case runs on it, and what the peer does
// there: mostly correct steps, from which the violations are built.
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

// What was received in place of what was required.
struct Mismatch : std::runtime_error {
	using std::runtime_error::runtime_error;
};

enum class Kind { rnic, socket };
enum class Role { initiator, responder };

// The address of the target, and its properties.
struct Environment {
	Kind kind = Kind::rnic;
	Role role = Role::initiator;
	Address target;
	// The target's control port, see control.hpp.
	Address control;
	// The address on which the peer listens as Responder.
	Address here;
	// The target asks for Markers.
	bool markers = false;
	// The limit for what the target does at once.
	milliseconds patience{30000};
};

// What the target's application exposes, from its private data.
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
	std::uint32_t small_length = 0;	// size of these three
	std::uint32_t receive_size = 0;
	std::uint32_t receives = 0;

	static constexpr std::size_t bytes = 68;
	static Aim decode(const Bytes &data);
};

struct Window {
	std::uint32_t stag = 0;
	std::uint64_t at = 0;
};

// What a target in mode windows has bound, from its first message.
struct Windows {
	Window whole;		// type 2, all rights
	Window read_only;	// type 1
	Window zero_based;	// type 2, all rights
	Window invalid;		// type 2, invalidated by its owner

	static Windows decode(const Bytes &message);
};

// What the target should have counted.
class Tally {
public:
	void add(const std::string &counter, int by = 1);
	std::map<std::string, int> take() const;

private:
	mutable std::mutex lock_;
	std::map<std::string, int> counts_;
};

// Sends a command to the target, which reports on the connection.
class Commands {
public:
	Commands() = default;
	Commands(const Environment &environment, const std::string &command);
	// The next line; empty if none arrives by then.
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

	// TCP only; as Responder also receives the target's Request.
	void open(Mode mode = Mode::echo);
	// As Responder: listens, and makes the target connect.
	void listen();
	void command(std::uint16_t port = 0);
	// As Responder: another connection of the same target, with the same
	// private data.
	void accept_again();
	// The whole startup exchange. As Initiator sends @request.
	void start(const Frame &request);
	void start(Mode mode = Mode::echo);
	// As Responder: a correct answer to the Request.
	Frame good_reply(bool markers = false) const;
	std::uint8_t expected_extensions(const Frame &request) const;
	// Enters full operation, after the frames were exchanged.
	void operate(const Frame &ours, const Frame &theirs);

	void send(const Bytes &bytes);
	// Sends @piece bytes per segment.
	void drip(const Bytes &bytes, milliseconds pause, std::size_t piece = 1);
	void send_ulpdu(const Bytes &ulpdu, const Fault &fault = {});
	// For checks: returns the other side's next FPDU, or throws Mismatch.
	Bytes next_ulpdu(const char *wanted);
	// The same, but returns nothing if the other side ends instead.
	std::optional<Bytes> next_ulpdu_or_end(Time until);
	Frame next_frame();
	// Only the end may arrive, by then.
	void must_end(Time until);
	void must_be_quiet(milliseconds how_long);
	// Receives until the end, or until nothing more arrives.
	void receive_all();
	// Discards what arrives, until the end or by then.
	void drain(milliseconds how_long = milliseconds(5000));
	// Whether the Initiator's first FPDU is an RTR.
	void read_rtr();

	// Correct messages.
	Bytes send_message(const Bytes &payload, std::uint8_t opcode = op_send);
	Bytes receive_message();
	void echo(std::size_t size = 64);
	// The answer of a socket to a ULPDU: the same bytes, in pieces if they
	// are more than its MULPDU.
	void take_echo(const Bytes &ulpdu);
	Bytes write(std::uint64_t offset, const Bytes &payload);
	Bytes read_request(std::uint32_t size, std::uint32_t stag,
			   std::uint64_t at);
	// A whole Read Response with these bytes.
	void receive_response(const Bytes &wanted);
	// By a Read: memory has these bytes.
	void must_hold(std::uint32_t stag, std::uint64_t at, const Bytes &wanted);
	// The same: the payload of a Write is in memory.
	void must_be_placed(const Bytes &write);
	void write_and_read_back(std::size_t size);
	// An exchange that shows that the target works. It ends with a Write of
	// good_write bytes and a Read.
	static constexpr std::uint32_t good_write = 300;
	void good_exchange();
	// So many bytes of the region after good_exchange() and no other Write.
	static Bytes good_memory(std::size_t size);
	// Everything the target has reported of this connection since the last
	// call.
	void must_report(const std::string &word, milliseconds within);

	Time soon() const { return Clock::now() + env.patience; }
	std::string seen() const;

	const Environment &env;
	Tally &tally;
	Mode mode = Mode::echo;
	Socket socket;
	Socket listener;
	std::vector<Socket> more;
	Commands commands;
	Frame theirs;
	Aim aim;
	Windows windows;
	Framing tx_framing;
	Writer writer;
	Reader reader;
	Bytes received;
	std::uint16_t source = 0;	// as Responder: the target's port
	Time opened;			// no later than by the target
	End end = End::none;
	bool operational = false;
	bool too_long = false;		// above 64768 bytes
	bool too_short = false;		// only for its DDP header
	Bytes suspect;			// the faulty ULPDU
	bool any_suspect = false;	// the Terminate may show another ULPDU
	// Opcodes of messages that may come before the Terminate.
	std::vector<std::uint8_t> before_terminate;
	std::uint32_t next_seed = 6;	// of bytes to send
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
