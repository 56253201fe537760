// SPDX-License-Identifier: GPL-2.0-only
//
// A target of mpa-peer: an application on the socket interface that serves any
// number of connections, however they end.
//
//	socket-target [--markers] ADDR PORT CONTROL_PORT
//
// It accepts on ADDR:PORT, and takes commands on CONTROL_PORT (control.hpp).
//
// The last byte of a Request's private data, or MODE, selects what to do (see
// Mode in target.hpp). A ULPDU is answered by the same bytes, in pieces if they
// are more than MULPDU. It also checks that an error stays the same each time
// it is read, that MPA_SO_INFO has the same reason, and that no byte is
// received twice or lost.
//
// One thread, epoll and non-blocking sockets: a connection holds one ULPDU.

#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/epoll.h>

#include <mpa/mpa.hpp>
#include <mpa/tcp.hpp>

#include "control.hpp"

namespace {

using namespace peer;
using std::chrono::milliseconds;
using target::Controller;
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

constexpr std::size_t refusal_size = 100;
constexpr auto thinking_time = milliseconds(1000);

target::Complaints complaints;

std::string name_of(std::error_code error)
{
	const char *name = ::strerrorname_np(error.value());

	return name ? name : std::to_string(error.value());
}

bool would_wait(std::error_code error)
{
	return error == std::errc::resource_unavailable_try_again;
}

// Without descriptors or memory there is nothing left to test.
template <typename T> T must(mpa::result<T> got, const char *what)
{
	if (!got)
		throw std::system_error(got.error(), what);
	return *std::move(got);
}

void must(const mpa::result<void> &done, const char *what)
{
	if (!done)
		throw std::system_error(done.error(), what);
}

// The reason that MPA_SO_INFO must report for the result of a call.
bool fits(mpa::error_kind kind, std::error_code error)
{
	if (error == std::errc::bad_message)
		return kind == mpa::error_kind::crc;
	if (error == std::errc::protocol_error)
		return kind == mpa::error_kind::marker;
	return kind == mpa::error_kind::tcp;
}

// A connection, from the beginning of TCP to its end.
class Connection {
public:
	// The next event to wait for; gone: it is over.
	enum class Next { nothing, connected, started, readable, writable, gone };

	// A connection accepted from the listener.
	Connection(mpa::socket socket, unsigned long number)
		: number_(number), socket_(std::move(socket))
	{
	}

	// A connection made by a command: TCP is being established.
	Connection(mpa::descriptor tcp, unsigned long number, Mode mode,
		   const mpa::params &params, std::shared_ptr<Controller> controller)
		: number_(number), tcp_(std::move(tcp)), mode_(mode),
		  params_(params), controller_(std::move(controller)),
		  next_(Next::connected)
	{
	}

	int fd() const { return tcp_ ? tcp_.get() : socket_.fd(); }
	Next next() const { return next_; }
	// When to answer a Request, if the mode delays that.
	std::optional<Time> due() const { return due_; }

	void handle(std::uint32_t events)
	{
		switch (next_) {
		case Next::connected:
			next_ = connected();
			break;
		case Next::started:
			next_ = started(events);
			break;
		case Next::readable:
			next_ = read();
			break;
		case Next::writable:
			next_ = flush();
			break;
		case Next::nothing:
			next_ = ended_meanwhile(events);
			break;
		case Next::gone:
			break;
		}
	}

	void think_over()
	{
		due_.reset();
		next_ = accept();
	}

private:
	// Fairness: ULPDUs of one connection before the next one's turn.
	static constexpr int turn = 64;

	void tell(const std::string &event) const
	{
		std::printf("%lu %s\n", number_, event.c_str());
		if (controller_)
			controller_->tell(event);
	}

	void complain(const std::string &what) const
	{
		complaints.add(std::to_string(number_) + " " + what);
	}

	Next failed(std::error_code error)
	{
		tell("failed " + name_of(error));
		return Next::gone;
	}

	Next connected()
	{
		int error = 0;
		socklen_t size = sizeof(error);

		if (::getsockopt(tcp_.get(), SOL_SOCKET, SO_ERROR, &error, &size))
			return failed(mpa::last_error());
		if (error)
			return failed({error, std::generic_category()});
		auto attached = mpa::socket::attach(std::move(tcp_));
		if (!attached)
			return failed(attached.error());
		socket_ = *std::move(attached);
		if (auto set = socket_.set_params(params_); !set)
			return failed(set.error());
		// The answer may be faster than the call.
		auto done = socket_.start(mpa::role::initiator);
		if (done)
			return operational();
		if (done.error() != std::errc::operation_in_progress)
			return not_started(done.error());
		return Next::started;
	}

	// The startup exchange has made progress.
	Next started(std::uint32_t events)
	{
		if (auto error = socket_.pending_error())
			return not_started(error);
		if (events & EPOLLPRI)
			return answer();
		if (controller_ && events & EPOLLOUT)
			return operational();
		// A peer that had gone before it was accepted has no Request.
		auto got = socket_.receive(buffer_);
		if (got)
			complain("a ULPDU before there is a Request");
		else if (would_wait(got.error()))
			return Next::started;
		return failed(got.error());
	}

	Next not_started(std::error_code error)
	{
		const auto info = socket_.info();

		// SO_ERROR is TCP's too: it reports a RST that follows.
		if (info && error == std::errc::connection_reset) {
			if (info->state == mpa::state::rejected)
				error = make_error_code(
					std::errc::connection_refused);
			else if (info->error)
				error = info->error;
		}
		const bool rejected = error == std::errc::connection_refused;
		const auto wanted = rejected ? mpa::state::rejected
					     : mpa::state::failed;

		// As with connect(2), the end may follow success so closely
		// that only the end is reported.
		if (!info)
			complain("no MPA_SO_INFO after " + name_of(error));
		else if (info->state != wanted &&
			 (rejected || info->error != error ||
			  !fits(info->kind, error)))
			complain(name_of(error) + " in state " +
				 std::string(mpa::name(info->state)));
		if (!rejected) {
			check_sticky(error);
			return failed(error);
		}
		tell("rejected " + std::to_string(-error.value()) + " " +
		     std::to_string(info ? info->peer_data_size : 0));
		return Next::gone;
	}

	Next answer()
	{
		const auto data = socket_.peer_data();

		if (!data)
			return failed(data.error());
		if (!data->empty())
			mode_ = static_cast<Mode>(data->view().back());
		if (mode_ == Mode::reject)
			return reject();
		if (mode_ != Mode::slow)
			return accept();
		due_ = Clock::now() + thinking_time;
		return Next::nothing;
	}

	Next accept()
	{
		if (auto done = socket_.accept_request(); !done)
			return failed(done.error());
		return operational();
	}

	Next reject()
	{
		std::array<std::byte, refusal_size> why;

		why.fill(std::byte{0x4a});
		if (auto done = socket_.reject_request(why); !done)
			return failed(done.error());
		tell("refused");
		return Next::gone;
	}

	Next operational()
	{
		tell("established");
		if (mode_ == Mode::deaf)
			return Next::nothing;
		if (mode_ != Mode::speak)
			return read();
		const auto words = mpa::bytes("I speak first");
		std::ranges::copy(words, buffer_.begin());
		pending_ = mpa::const_buffer(buffer_).first(words.size());
		return flush();
	}

	Next ended_meanwhile(std::uint32_t events)
	{
		if (!(events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)))
			return Next::nothing;
		// An application that has not answered the Request yet sees the
		// end when it answers.
		if (due_ && !(events & (EPOLLERR | EPOLLHUP)))
			return Next::nothing;
		tell("disconnected");
		return Next::gone;
	}

	Next read()
	{
		for (int n = 0; n < turn; n++) {
			const auto got = socket_.receive(buffer_);

			if (!got && would_wait(got.error()))
				return Next::readable;
			if (!got || got->end)
				return over(got.error());
			if (got->truncated)
				complain("a ULPDU longer than there can be");
			pending_ = mpa::const_buffer(buffer_).first(got->size);
			if (const auto next = flush_some(); next != Next::readable)
				return next;
		}
		return Next::readable;
	}

	// Nothing more will be received; @error 0: an orderly end.
	Next over(std::error_code error)
	{
		const auto info = socket_.info();

		if (!info)
			complain("no MPA_SO_INFO after " + name_of(error));
		else if (error && (info->error != error ||
				   !fits(info->kind, error)))
			complain("MPA_SO_INFO does not tell of " + name_of(error));
		check_sticky(error);
		std::printf("%lu ended: %s\n", number_, name_of(error).c_str());
		tell("disconnected");
		return Next::gone;
	}

	void check_sticky(std::error_code error)
	{
		const auto again = socket_.receive(buffer_);

		if (again.error() != error || (again && !again->end))
			complain("first " + name_of(error) + ", then " +
				 (again ? "a ULPDU" : name_of(again.error())));
	}

	// Data waiting to be sent goes first, before more is read.
	Next flush()
	{
		const auto next = flush_some();

		return next == Next::readable ? read() : next;
	}

	Next flush_some()
	{
		while (pending_) {
			const std::size_t most = socket_.mulpdu().value_or(0);
			const auto piece = pending_->first(
				std::min(pending_->size(), most ? most : 1));
			const auto sent = socket_.send(piece);

			if (!sent && would_wait(sent.error()))
				return Next::writable;
			// The path MTU may have shrunk in the meantime.
			if (!sent && sent.error() == std::errc::message_size &&
			    socket_.mulpdu().value_or(most) < most)
				continue;
			if (!sent)
				return cut_off(sent.error());
			pending_ = pending_->subspan(piece.size());
			if (pending_->empty())
				pending_.reset();
		}
		return Next::readable;
	}

	// The peer does not receive its echo any more.
	Next cut_off(std::error_code error)
	{
		if (error != std::errc::broken_pipe &&
		    error != std::errc::connection_reset)
			complain("sending fails: " + name_of(error));
		std::printf("%lu cut off: %s\n", number_, name_of(error).c_str());
		tell("disconnected");
		return Next::gone;
	}

	unsigned long number_;
	mpa::descriptor tcp_;	// until it is attached
	mpa::socket socket_;
	Mode mode_ = Mode::echo;
	mpa::params params_;
	std::shared_ptr<Controller> controller_;
	Next next_ = Next::started;
	std::optional<Time> due_;
	std::vector<std::byte> buffer_{mpa::ulpdu_max};
	std::optional<mpa::const_buffer> pending_; // part of buffer_
};

class Target {
public:
	Target(const std::string &address, const std::string &port,
	       const std::string &control_port, const mpa::params &params);
	void run();

private:
	void watch(int how, int fd, std::uint32_t events);
	void listen_again();
	void handle(const epoll_event &event);
	void accept();
	void new_customer();
	void serve(int fd);
	void command(const std::shared_ptr<Controller> &controller,
		     const target::Command &command);
	void connect(const std::shared_ptr<Controller> &controller,
		     const target::Command &command);
	void add(std::unique_ptr<Connection> connection);
	void go_on(int fd, std::uint32_t events);
	void answer_late();
	static std::uint32_t events_of(Connection::Next next);

	mpa::params params_;
	mpa::descriptor poll_;
	mpa::socket listener_;
	target::Fd control_;
	bool full_ = false;
	unsigned long number_ = 0;
	std::map<int, std::unique_ptr<Connection>> connections_;
	std::map<int, std::shared_ptr<Controller>> controllers_;
};

Target::Target(const std::string &address, const std::string &port,
	       const std::string &control_port, const mpa::params &params)
	: params_(params), poll_(::epoll_create1(EPOLL_CLOEXEC)),
	  listener_(must(mpa::socket::attach(
				 must(mpa::tcp::listen(address, port), "listen")),
			 "attach"))
{
	must(listener_.set_params(params), "set_params");
	must(listener_.set_blocking(false), "set_blocking");
	must(listener_.start(mpa::role::responder), "start");
	// A client that can send commands can rely on all of the above.
	control_ = target::listen_for_orders({address, control_port});
	watch(EPOLL_CTL_ADD, listener_.fd(), EPOLLIN);
	watch(EPOLL_CTL_ADD, control_.get(), EPOLLIN);
	std::printf("ready\n");
}

void Target::watch(int how, int fd, std::uint32_t events)
{
	epoll_event event{.events = events, .data = {.fd = fd}};

	if (::epoll_ctl(poll_.get(), how, fd, &event))
		throw std::system_error(mpa::last_error(), "epoll_ctl");
}

void Target::run()
{
	for (;;) {
		std::array<epoll_event, 64> events;
		const int count = ::epoll_wait(poll_.get(), events.data(),
					       events.size(), 50);

		if (count < 0 && errno != EINTR)
			throw std::system_error(mpa::last_error(), "epoll_wait");
		if (full_)
			listen_again();
		answer_late();
		for (int n = 0; n < count; n++)
			handle(events[n]);
		std::fflush(stdout);
	}
}

void Target::listen_again()
{
	watch(EPOLL_CTL_MOD, listener_.fd(), EPOLLIN);
	full_ = false;
}

void Target::handle(const epoll_event &event)
{
	const int fd = event.data.fd;

	if (fd == listener_.fd())
		accept();
	else if (fd == control_.get())
		new_customer();
	else if (controllers_.contains(fd))
		serve(fd);
	else if (connections_.contains(fd))
		go_on(fd, event.events);
}

// One at a time: a flood of connections must not starve the others.
void Target::accept()
{
	auto fresh = listener_.accept_connection(SOCK_NONBLOCK);

	if (fresh) {
		add(std::make_unique<Connection>(*std::move(fresh), ++number_));
		return;
	}
	if (would_wait(fresh.error()) ||
	    fresh.error() == std::errc::connection_aborted)
		return;
	// No descriptor left: one will be free soon.
	std::printf("accept: %s\n", name_of(fresh.error()).c_str());
	watch(EPOLL_CTL_MOD, listener_.fd(), 0);
	full_ = true;
}

std::uint32_t Target::events_of(Connection::Next next)
{
	switch (next) {
	case Connection::Next::connected:
		return EPOLLOUT;
	case Connection::Next::started:
		return EPOLLIN | EPOLLPRI | EPOLLOUT;
	case Connection::Next::readable:
		return EPOLLIN;
	case Connection::Next::writable:
		return EPOLLOUT;
	default:
		return EPOLLRDHUP;
	}
}

void Target::add(std::unique_ptr<Connection> connection)
{
	const int fd = connection->fd();

	watch(EPOLL_CTL_ADD, fd, events_of(connection->next()));
	connections_[fd] = std::move(connection);
}

void Target::go_on(int fd, std::uint32_t events)
{
	auto &connection = *connections_.at(fd);

	connection.handle(events);
	if (connection.next() == Connection::Next::gone)
		connections_.erase(fd);
	else
		watch(EPOLL_CTL_MOD, fd, connection.due()
						 ? 0
						 : events_of(connection.next()));
}

void Target::answer_late()
{
	const auto now = Clock::now();

	for (auto at = connections_.begin(); at != connections_.end();) {
		const auto here = at++;
		auto &connection = *here->second;

		if (!connection.due() || *connection.due() > now)
			continue;
		connection.think_over();
		go_on(here->first, 0);
	}
}

void Target::new_customer()
{
	auto fresh = Controller::accept(control_.get());

	if (!fresh)
		return;
	const auto controller = std::make_shared<Controller>(*std::move(fresh));
	watch(EPOLL_CTL_ADD, controller->fd(), EPOLLIN);
	controllers_[controller->fd()] = controller;
}

void Target::serve(int fd)
{
	const auto controller = controllers_.at(fd);
	const auto commands = controller->commands();

	// A connection made by a command may still have something to report.
	if (!commands) {
		::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
		controllers_.erase(fd);
		return;
	}
	for (const auto &one : *commands)
		command(controller, one);
}

void Target::command(const std::shared_ptr<Controller> &controller,
		     const target::Command &command)
{
	switch (command.kind) {
	case target::Command::Kind::check:
		controller->tell(complaints.answer(connections_.size()));
		break;
	case target::Command::Kind::complain:
		complaints.add(command.text);
		break;
	case target::Command::Kind::connect:
		connect(controller, command);
		break;
	case target::Command::Kind::unknown:
		controller->tell("what?");
		break;
	}
}

void Target::connect(const std::shared_ptr<Controller> &controller,
		     const target::Command &command)
{
	target::Endpoint to(command.host, command.port);
	mpa::descriptor tcp(::socket(to.family(),
				     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				     0));

	if (!tcp || (::connect(tcp.get(), to.raw(), to.length()) &&
		     errno != EINPROGRESS)) {
		controller->tell("failed " + name_of(mpa::last_error()));
		return;
	}
	add(std::make_unique<Connection>(std::move(tcp), ++number_, command.mode,
					 params_, controller));
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::string> words(argv + 1, argv + argc);
	mpa::params params;

	if (!words.empty() && words.front() == "--markers") {
		params.markers = true;
		words.erase(words.begin());
	}
	if (words.size() != 3) {
		std::fprintf(stderr,
			     "usage: %s [--markers] ADDR PORT CONTROL_PORT\n",
			     argv[0]);
		return 2;
	}
	try {
		Target target(words[0], words[1], words[2], params);

		std::fflush(stdout);
		target.run();
	} catch (const std::exception &error) {
		std::fprintf(stderr, "socket-target: %s\n", error.what());
		return 1;
	}
}
