/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// An echo server and its client over MPA sockets.
//
//	mpa-echo --server [HOST] PORT		runs until killed
//	mpa-echo --client HOST PORT		sends ULPDUs, compares the answers
//	mpa-echo --client HOST PORT --commands	does so for every line "connect
//						[ULPDUS [SIZE]]" of its input
//
// Both print one line per event. The server serves any number of connections in
// one thread, with epoll and non-blocking sockets, in bounded memory: it reads
// the next ULPDU of a connection once the answer to the last one is on its way.
// One that is too long to go back at once goes back in pieces.

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <getopt.h>
#include <sys/epoll.h>

#include <mpa/mpa.hpp>
#include <mpa/tcp.hpp>

namespace {

struct Options {
	bool server = false;
	bool client = false;
	bool commands = false;
	bool reject = false;
	bool verbose = false;
	mpa::params params;
	std::string host;
	std::string port;
};

void say(const std::string &line)
{
	std::puts(line.c_str());
	std::fflush(stdout);
}

// "EBADMSG: the CRC of an FPDU is wrong"
std::string words(std::error_code error)
{
	const auto reason = mpa::reason(error);
	const char *name = error.category() == std::generic_category()
				   ? ::strerrorname_np(error.value())
				   : error.category().name();

	return std::string(name ? name : "?") + ": " +
	       (reason.empty() ? error.message() : std::string(reason));
}

bool would_wait(std::error_code error)
{
	return error == std::errc::resource_unavailable_try_again;
}

// --- server ---------------------------------------------------------------

// What to do with a connection after an event.
enum class Next { read, write, gone };

// One connection of the server.
class Echo {
public:
	Echo(mpa::socket socket, unsigned long number, const Options &options)
		: socket_(std::move(socket)), number_(number), options_(options)
	{
		tell("connected " + mpa::tcp::name_of(socket_.fd()));
	}

	int fd() const { return socket_.fd(); }

	Next handle(std::uint32_t events)
	{
		if (events & EPOLLERR) {
			if (auto error = socket_.pending_error()) {
				fail(operational_ ? "error" : "failed", error);
				return Next::gone;
			}
		}
		if (events & EPOLLPRI && !answer())
			return Next::gone;
		if (pending_ && !flush())
			return Next::gone;
		return pending_ ? Next::write : read();
	}

private:
	// Fairness: ULPDUs handled for one connection before the next one's
	// turn.
	static constexpr int turn = 64;

	void tell(const std::string &event) const
	{
		say(std::to_string(number_) + " " + event);
	}

	bool fail(const char *what, std::error_code error) const
	{
		tell(std::string(what) + " " + words(error));
		return false;
	}

	// A Request is waiting; its private data is sent back with the answer.
	bool answer()
	{
		auto data = socket_.peer_data();
		const auto echoed = data ? data->view() : mpa::const_buffer{};

		tell("request with " + std::to_string(echoed.size()) +
		     " bytes of private data");
		if (options_.reject) {
			auto done = socket_.reject_request(echoed);

			return done ? (tell("rejected"), false)
				    : fail("failed", done.error());
		}
		if (auto done = socket_.accept_request(echoed); !done)
			return fail("failed", done.error());
		operational_ = true;
		tell("operational, MULPDU " +
		     std::to_string(socket_.mulpdu().value_or(0)));
		return true;
	}

	Next read()
	{
		for (int n = 0; n < turn; n++) {
			auto got = socket_.receive(buffer_);

			if (!got && would_wait(got.error()))
				return Next::read;
			if (!got) {
				fail("error", got.error());
				return Next::gone;
			}
			if (got->end) {
				tell("ended after " + std::to_string(ulpdus_) +
				     " ULPDUs, " + std::to_string(bytes_) +
				     " bytes");
				return Next::gone;
			}
			take(got->size);
			if (!flush())
				return Next::gone;
			if (pending_)
				return Next::write;
		}
		return Next::read;
	}

	void take(std::size_t size)
	{
		if (options_.verbose)
			tell("ULPDU of " + std::to_string(size));
		ulpdus_++;
		bytes_ += size;
		pending_ = mpa::const_buffer(buffer_).first(size);
	}

	// Sends as much of the answer as fits. False: the connection has ended.
	bool flush()
	{
		while (pending_) {
			const std::size_t most = socket_.mulpdu().value_or(0);
			const auto piece = pending_->first(
				std::min(pending_->size(), most ? most : 1));
			auto sent = socket_.send(piece);

			if (!sent && would_wait(sent.error()))
				return true;
			// The path MTU may have shrunk in the meantime.
			if (!sent && narrower_than(piece.size()))
				continue;
			if (!sent)
				return fail("error", sent.error());
			pending_ = pending_->subspan(piece.size());
			if (pending_->empty())
				pending_.reset();
		}
		return true;
	}

	bool narrower_than(std::size_t size) const
	{
		const auto most = socket_.mulpdu().value_or(0);

		return most && most < size;
	}

	mpa::socket socket_;
	unsigned long number_;
	const Options &options_;
	bool operational_ = false;
	unsigned long ulpdus_ = 0;
	unsigned long bytes_ = 0;
	std::vector<std::byte> buffer_{mpa::ulpdu_max};
	std::optional<mpa::const_buffer> pending_; // part of buffer_ not yet sent
};

class Server {
public:
	explicit Server(const Options &options) : options_(options) {}

	// Returns only if it cannot serve.
	std::error_code run()
	{
		if (auto ready = prepare(); !ready)
			return ready.error();
		say("listening " + mpa::tcp::name_of(listener_.fd(), false));
		for (;;) {
			std::array<epoll_event, 64> events;
			// No descriptors left: try again a little later.
			const int count = ::epoll_wait(poll_.get(), events.data(),
						       events.size(),
						       full_ ? 100 : -1);

			if (count < 0 && errno != EINTR)
				return mpa::last_error();
			if (full_)
				listen_again();
			for (int n = 0; n < count; n++)
				handle(events[n]);
		}
	}

private:
	mpa::result<void> prepare()
	{
		auto tcp = mpa::tcp::listen(options_.host, options_.port);

		if (!tcp)
			return tcp.error();
		auto listener = mpa::socket::attach(*std::move(tcp));
		if (!listener)
			return listener.error();
		listener_ = *std::move(listener);
		if (auto set = listener_.set_params(options_.params); !set)
			return set;
		if (auto set = listener_.set_blocking(false); !set)
			return set;
		if (auto set = listener_.start(mpa::role::responder); !set)
			return set;
		poll_ = mpa::descriptor(::epoll_create1(EPOLL_CLOEXEC));
		if (!poll_)
			return mpa::last_error();
		return control(EPOLL_CTL_ADD, listener_.fd(), EPOLLIN);
	}

	mpa::result<void> control(int how, int fd, std::uint32_t events)
	{
		epoll_event event{.events = events, .data = {.fd = fd}};

		return ::epoll_ctl(poll_.get(), how, fd, &event)
			       ? mpa::last_error()
			       : std::error_code{};
	}

	void listen_again()
	{
		full_ = !control(EPOLL_CTL_MOD, listener_.fd(), EPOLLIN);
	}

	void accept()
	{
		auto fresh = listener_.accept_connection(SOCK_NONBLOCK);

		if (!fresh) {
			// A connection that was closed before accept() is not
			// an event.
			if (would_wait(fresh.error()) ||
			    fresh.error() == std::errc::connection_aborted)
				return;
			say("accept: " + words(fresh.error()));
			full_ = control(EPOLL_CTL_MOD, listener_.fd(), 0)
					.has_value();
			return;
		}
		const int fd = fresh->fd();
		auto [at, _] = echoes_.emplace(
			std::piecewise_construct, std::forward_as_tuple(fd),
			std::forward_as_tuple(*std::move(fresh), ++number_,
					      options_));
		if (!control(EPOLL_CTL_ADD, fd, wanted(Next::read)))
			echoes_.erase(at);
	}

	static std::uint32_t wanted(Next next)
	{
		return next == Next::write ? EPOLLOUT : EPOLLIN | EPOLLPRI;
	}

	void handle(const epoll_event &event)
	{
		if (event.data.fd == listener_.fd())
			return accept();
		auto at = echoes_.find(event.data.fd);
		if (at == echoes_.end())
			return;
		const Next next = at->second.handle(event.events);
		if (next == Next::gone ||
		    !control(EPOLL_CTL_MOD, at->first, wanted(next)))
			echoes_.erase(at);
	}

	const Options &options_;
	mpa::socket listener_;
	mpa::descriptor poll_;
	bool full_ = false;
	unsigned long number_ = 0;
	std::unordered_map<int, Echo> echoes_;
};

// --- client ---------------------------------------------------------------

// The bytes of ULPDU number n.
std::vector<std::byte> ulpdu_of(unsigned long n, std::size_t size)
{
	std::vector<std::byte> bytes(size);

	for (std::size_t i = 0; i < size; i++)
		bytes[i] = static_cast<std::byte>(n * 31 + i * 7 + (i >> 8));
	return bytes;
}

class Client {
public:
	explicit Client(const Options &options) : options_(options) {}

	// One connection. size: length of each ULPDU; if absent, all possible
	// lengths. Prints what happened; returns false if it was not as
	// expected.
	bool talk(unsigned long ulpdus, std::optional<std::size_t> size)
	{
		number_++;
		auto tcp = mpa::tcp::connect(options_.host, options_.port);
		if (!tcp)
			return tell("failed to connect: " + tcp.error().message()),
			       false;
		if (auto error = open(*std::move(tcp)))
			return tell("failed " + words(error)), false;
		tell("operational, MULPDU " + std::to_string(most_));
		for (unsigned long n = 0; n < ulpdus;) {
			auto done = exchange(n, ulpdus, size);

			if (!done)
				return tell("error " + words(done.error())),
				       false;
			if (!*done)
				return tell("error other bytes came back"),
				       false;
			n += *done;
		}
		if (auto error = end())
			return tell("error " + words(error)), false;
		return tell("ended after " + std::to_string(ulpdus) + " ULPDUs"),
		       true;
	}

private:
	void tell(const std::string &event) const
	{
		say(std::to_string(number_) + " " + event);
	}

	std::error_code open(mpa::descriptor tcp)
	{
		const auto greeting = mpa::bytes("mpa-echo");

		tell("connected " + mpa::tcp::name_of(tcp.get()));
		auto socket = mpa::socket::attach(std::move(tcp));
		if (!socket)
			return socket.error();
		socket_ = *std::move(socket);
		if (auto set = socket_.set_params(options_.params); !set)
			return set.error();
		if (!start_key()) {
			if (auto set = socket_.set_private_data(greeting); !set)
				return set.error();
		}
		if (auto done = socket_.start(mpa::role::initiator); !done)
			return done.error();
		auto data = socket_.peer_data();
		if (!data)
			return data.error();
		if (!start_key() && !std::ranges::equal(data->view(), greeting))
			tell("other private data came back");
		auto most = socket_.mulpdu();
		if (!most)
			return most.error();
		most_ = *most;
		return {};
	}

	// With it there are neither private data nor empty ULPDUs.
	bool start_key() const
	{
		return options_.params.startup == mpa::startup::start_key;
	}

	// Lengths 0, 1, 2, ... and the longest ones.
	std::size_t size_of(unsigned long n) const
	{
		const std::size_t size = n % 2 ? most_ - (n / 2) % (most_ + 1)
					       : (n / 2) % (most_ + 1);

		return size || !start_key() ? size : 1;
	}

	// Sends a few ULPDUs and reads them back. Returns how many, or 0 if the
	// bytes differ. The number is small enough that the two sides never
	// both wait for the other to read.
	mpa::result<std::size_t> exchange(unsigned long first, unsigned long end,
					  std::optional<std::size_t> size)
	{
		std::vector<std::vector<std::byte>> sent;
		std::vector<mpa::const_buffer> batch;
		std::size_t total = 0;

		for (auto n = first; n < end && n < first + 8 && total < 16384; n++) {
			sent.push_back(ulpdu_of(n, size.value_or(size_of(n))));
			total += sent.back().size();
		}
		batch.assign(sent.begin(), sent.end());
		for (std::size_t done = 0; done < batch.size();) {
			auto some = socket_.send_batch(
				std::span(batch).subspan(done));

			if (!some)
				return some;
			done += *some;
		}
		for (const auto &wanted : sent) {
			auto got = socket_.receive(buffer_);

			if (!got)
				return got.error();
			if (got->end || !std::ranges::equal(
						mpa::const_buffer(buffer_).first(got->size),
						wanted))
				return std::size_t{0};
		}
		return sent.size();
	}

	// Both sides end the connection, the peer last.
	std::error_code end()
	{
		if (auto done = socket_.shutdown(); !done)
			return done.error();
		auto got = socket_.receive(buffer_);
		if (!got)
			return got.error();
		return got->end ? std::error_code{}
				: make_error_code(std::errc::bad_message);
	}

	const Options &options_;
	mpa::socket socket_;
	std::uint32_t most_ = 0;
	unsigned long number_ = 0;
	std::vector<std::byte> buffer_{mpa::ulpdu_max};
};

constexpr unsigned long usual_count = 200;

struct Command {
	unsigned long ulpdus = usual_count;
	std::optional<std::size_t> size;
};

// The whole word must be a number; streams take -1 for the largest one, and 5x for 5.
template <typename T> std::optional<T> number_in(const std::string &word)
{
	const char *const end = word.data() + word.size();
	T number = 0;
	const auto read = std::from_chars(word.data(), end, number);

	if (read.ec != std::errc() || read.ptr != end)
		return {};
	return number;
}

// Nothing: the line is not a command.
std::optional<Command> command_in(const std::string &line)
{
	std::istringstream words(line);
	std::string word;
	Command command;

	if (!(words >> word) || word != "connect")
		return {};
	if (!(words >> word))
		return command;
	const auto ulpdus = number_in<unsigned long>(word);
	if (!ulpdus)
		return {};
	command.ulpdus = *ulpdus;
	if (!(words >> word))
		return command;
	command.size = number_in<std::size_t>(word);
	if (!command.size || *command.size > mpa::ulpdu_max || words >> word)
		return {};
	return command;
}

bool run_commands(Client &client)
{
	std::string line;
	bool good = true;

	while (std::getline(std::cin, line)) {
		const auto command = command_in(line);

		if (!command)
			say("commands: connect [ULPDUS [SIZE]]");
		good &= command && client.talk(command->ulpdus, command->size);
	}
	return good;
}

// --- command line ----------------------------------------------------------

constexpr const char *usage =
	"usage: mpa-echo --server [OPTION...] [HOST] PORT\n"
	"       mpa-echo --client [OPTION...] HOST PORT\n"
	"  -c, --commands   client: a connection for each line \"connect [ULPDUS\n"
	"                   [SIZE]]\" of standard input\n"
	"  -m, --markers    ask the peer for Markers\n"
	"  -2, --rev2       speak revision 2 (RFC 6581)\n"
	"  -k, --start-key  begin with a Start Key; server: or with frames\n"
	"  -x, --reject     server: reject every Request\n"
	"  -v, --verbose    server: a line for every ULPDU\n";

// Returns false if the command line is not valid.
bool parse(int argc, char **argv, Options &options)
{
	const std::array<option, 9> known{{
		{"server", no_argument, nullptr, 's'},
		{"client", no_argument, nullptr, 'C'},
		{"commands", no_argument, nullptr, 'c'},
		{"markers", no_argument, nullptr, 'm'},
		{"rev2", no_argument, nullptr, '2'},
		{"start-key", no_argument, nullptr, 'k'},
		{"reject", no_argument, nullptr, 'x'},
		{"verbose", no_argument, nullptr, 'v'},
		{},
	}};

	for (int c; (c = ::getopt_long(argc, argv, "sCcm2kxv", known.data(),
				       nullptr)) != -1;) {
		switch (c) {
		case 's': options.server = true; break;
		case 'C': options.client = true; break;
		case 'c': options.commands = true; break;
		case 'm': options.params.markers = true; break;
		case '2': options.params.rev = mpa::revision::two; break;
		case 'k': options.params.startup = mpa::startup::start_key; break;
		case 'x': options.reject = true; break;
		case 'v': options.verbose = true; break;
		default: return false;
		}
	}
	if (options.server && options.params.startup == mpa::startup::start_key)
		options.params.startup = mpa::startup::either;
	const int left = argc - optind;
	if (options.server == options.client || left < 1 || left > 2 ||
	    (options.client && left != 2))
		return false;
	options.host = left == 2 ? argv[optind] : "";
	options.port = argv[argc - 1];
	return true;
}

} // namespace

int main(int argc, char **argv)
{
	Options options;

	if (!parse(argc, argv, options)) {
		std::fputs(usage, stderr);
		return 2;
	}
	if (options.server) {
		Server server(options);

		say("cannot serve: " + words(server.run()));
		return 1;
	}
	Client client(options);
	const bool good = options.commands ? run_commands(client)
					   : client.talk(usual_count, {});

	return good ? 0 : 1;
}
