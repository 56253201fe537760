// SPDX-License-Identifier: GPL-2.0-only

#include "control.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <netdb.h>

namespace target {

namespace {

// An answer is one line of text.
constexpr std::size_t complaints_max = 4096;
constexpr int customers_waiting = 128;

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

Endpoint::Endpoint(const std::string &host, const std::string &port)
{
	addrinfo hints{}, *found = nullptr;

	hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
	hints.ai_socktype = SOCK_STREAM;
	if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
		throw std::invalid_argument(host + " " + port +
					    " is not ADDR PORT");
	length_ = found->ai_addrlen;
	std::copy_n(reinterpret_cast<const char *>(found->ai_addr), length_,
		    reinterpret_cast<char *>(&storage_));
	::freeaddrinfo(found);
}

Command parse_command(const std::string &line)
{
	std::istringstream words(line);
	std::string verb;
	Command command;
	char mode = 0;

	words >> verb;
	if (verb == "check") {
		command.kind = Command::Kind::check;
	} else if (verb == "complain" && std::getline(words >> std::ws, command.text)) {
		command.kind = Command::Kind::complain;
	} else if (verb == "connect" && words >> command.host >> command.port >> mode) {
		command.kind = Command::Kind::connect;
		command.mode = static_cast<Mode>(mode);
	}
	return command;
}

Fd listen_for_orders(Endpoint at)
{
	Fd fd(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	const int on = 1;

	if (fd.get() < 0 ||
	    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    ::bind(fd.get(), at.raw(), at.length()) ||
	    ::listen(fd.get(), customers_waiting))
		fail("the port for commands");
	return fd;
}

std::optional<Controller> Controller::accept(int port)
{
	Fd fd(::accept4(port, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));

	if (fd.get() < 0)
		return std::nullopt;
	return Controller(std::move(fd));
}

void Controller::tell(const std::string &line) const
{
	const auto words = line + "\n";

	// A connection that has gone needs no answer.
	(void)!::send(fd_.get(), words.data(), words.size(), MSG_NOSIGNAL);
}

std::optional<std::vector<Command>> Controller::commands()
{
	std::array<char, 256> some;
	std::vector<Command> all;
	const auto got = ::recv(fd_.get(), some.data(), some.size(), 0);

	if (got <= 0)
		return std::nullopt;
	received_.append(some.data(), static_cast<std::size_t>(got));
	for (std::size_t end; (end = received_.find('\n')) != std::string::npos;) {
		all.push_back(parse_command(received_.substr(0, end)));
		received_.erase(0, end + 1);
	}
	return all;
}

void Complaints::add(const std::string &what)
{
	std::printf("BAD %s\n", what.c_str());
	if (all_.size() < complaints_max)
		all_ += " " + what + ";";
}

std::string Complaints::answer(std::size_t open)
{
	const auto all = std::exchange(all_, {});

	return all.empty() ? "ok " + std::to_string(open) + " open" : "bad" + all;
}

} // namespace target
