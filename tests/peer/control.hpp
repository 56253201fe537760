// SPDX-License-Identifier: GPL-2.0-only
//
// The control port of a target, for all kinds of targets:
//
// connect ADDR PORT MODE  connects; lines report the result:
// "established", "rejected ERR BYTES",
// "failed ERR" (an RNIC: "failed ERR BYTES"), "disconnected"
// check                   answers "ok N open", or "bad" and the
// complaints since the last check
// complain TEXT           adds a complaint: shows that they arrive
//
// A command is a line.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "target.hpp"

namespace target {

using peer::Mode;

class Fd {
public:
	explicit Fd(int fd = -1) : fd_(fd) {}
	~Fd()
	{
		if (fd_ >= 0)
			::close(fd_);
	}
	Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
	Fd &operator=(Fd &&other) noexcept
	{
		std::swap(fd_, other.fd_);
		return *this;
	}
	int get() const { return fd_; }

private:
	int fd_;
};

// A numeric address and port; an exception if it is none.
class Endpoint {
public:
	Endpoint(const std::string &host, const std::string &port);
	sockaddr *raw() { return reinterpret_cast<sockaddr *>(&storage_); }
	socklen_t length() const { return length_; }
	int family() const { return storage_.ss_family; }

private:
	sockaddr_storage storage_{};
	socklen_t length_ = 0;
};

struct Command {
	enum class Kind { unknown, check, complain, connect };

	Kind kind = Kind::unknown;
	std::string text;		// of complain
	std::string host, port;		// of connect
	Mode mode = Mode::echo;
};

Command parse_command(const std::string &line);

// A non-blocking listening socket for commands.
Fd listen_for_orders(Endpoint at);

// A client that sends commands and reads the results.
class Controller {
public:
	explicit Controller(Fd fd) : fd_(std::move(fd)) {}

	// Accepts the next waiting client, if there is one.
	static std::optional<Controller> accept(int port);

	int fd() const { return fd_.get(); }
	void tell(const std::string &line) const;
	// The commands that arrived with one read; empty: the client has gone.
	std::optional<std::vector<Command>> commands();

private:
	Fd fd_;
	std::string received_;
};

// Complaints, collected until a check.
class Complaints {
public:
	void add(const std::string &what);
	// The answer to a check; the complaints are cleared.
	std::string answer(std::size_t open);

private:
	std::string all_;
};

} // namespace target
