/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Sends lines or blocks of standard input as ULPDUs over an MPA connection, and
// writes received ULPDUs to standard output; see mpa-nc(1).

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <linux/sockios.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <mpa/mpa.hpp>
#include <mpa/tcp.hpp>

#include "../../cli/numbers.hpp"
#include "../../cli/printable.hpp"
#include "../../cli/streams.hpp"

namespace {

// Exit statuses, as documented in mpa-nc(1).
enum Status { good = 0, failed = 1, usage = 2, rejected = 3 };

struct Options {
	bool listen = false;
	bool keep = false;
	bool reject = false;
	bool close = false;
	bool packing = false;
	bool verbose = false;
	std::optional<unsigned int> revision;
	bool start_key = false;
	double timeout = 5;
	std::optional<std::size_t> block;
	std::vector<std::byte> data;
	mpa::params params;
	std::vector<std::string> where;
};

// Text for an error that ends a connection.
class Failure : public std::runtime_error {
public:
	Failure(std::string_view what, std::error_code error, Status status = failed)
		: std::runtime_error(explain(what, error)), status_(status)
	{
	}

	Status status() const { return status_; }

private:
	static std::string explain(std::string_view what, std::error_code error)
	{
		const auto reason = mpa::reason(error);

		return fmt::format("{}: {}", what,
				   reason.empty() ? error.message() : reason);
	}

	Status status_;
};

template <typename T> T must(mpa::result<T> result, std::string_view what)
{
	if (!result)
		throw Failure(what, result.error());
	if constexpr (!std::is_void_v<T>)
		return *std::move(result);
}

template <typename... Args>
void note(const Options &options, fmt::format_string<Args...> format,
	  Args &&...args)
{
	if (options.verbose)
		cli::print_error("mpa-nc", fmt::format(format, std::forward<Args>(args)...));
}

// --- startup ----------------------------------------------------------------

void set_up(mpa::socket &socket, const Options &options)
{
	must(socket.set_params(options.params), "parameters");
	must(socket.set_packing(options.packing), "packing");
}

void tell_result(mpa::socket &socket, const Options &options)
{
	const auto info = must(socket.info(), "result");
	const auto data = must(socket.peer_data(), "private data");

	note(options, "{}: revision {}{}, CRC {}, Markers sent: {}, received: {}, "
	     "MULPDU {}", name(info.state), info.rev,
	     info.start_key ? " (Start Key)" : "", info.crc ? "on" : "off",
	     info.tx_markers ? "yes" : "no", info.rx_markers ? "yes" : "no",
	     info.mulpdu);
	if (info.enhanced)
		note(options, "peer's IRD {}, ORD {}; ours {}, {}{}",
		     info.peer_ird, info.peer_ord, info.ird, info.ord,
		     info.peer_to_peer ? "; peer-to-peer" : "");
	if (!data.empty())
		note(options, "private data of the peer, {} bytes: {}",
		     data.size(), cli::printable(data));
}

// Starts as Initiator and waits until the exchange is over. If a signal, such as SIGCONT,
// interrupts the call, the exchange continues, and the call cannot be repeated.
std::error_code start(mpa::socket &socket)
{
	const auto done = socket.start(mpa::role::initiator);

	if (done)
		return {};
	if (done.error() != std::errc::interrupted)
		return done.error();
	must(socket.wait(POLLOUT), "wait");
	return socket.pending_error();
}

mpa::socket connect(const Options &options)
{
	auto tcp = mpa::tcp::connect(options.where[0], options.where[1],
				     options.params.timeout);

	// Not described in MPA's terms, where the same error numbers mean
	// something else.
	if (!tcp)
		throw std::runtime_error("connect: " + tcp.error().message());
	note(options, "connected to {}", mpa::tcp::name_of(tcp->get()));
	auto socket = must(mpa::socket::attach(*std::move(tcp)), "attach");

	set_up(socket, options);
	must(socket.set_private_data(options.data), "private data");
	if (const auto error = start(socket)) {
		const bool refused = error == std::errc::connection_refused;

		if (refused)
			tell_result(socket, options);
		throw Failure("start", error, refused ? rejected : failed);
	}
	return socket;
}

mpa::socket listen(const Options &options)
{
	auto tcp = must(mpa::tcp::listen(options.where.size() == 2
						 ? options.where[0] : "",
					 options.where.back()),
			"listen");
	note(options, "listening at {}", mpa::tcp::name_of(tcp.get(), false));
	auto listener = must(mpa::socket::attach(std::move(tcp)), "attach");

	set_up(listener, options);
	must(listener.start(mpa::role::responder), "start");
	return listener;
}

// Errors that accept(2) returns for the new connection, not for the listener.
bool peer_gone(std::error_code error)
{
	for (const auto one : {std::errc::connection_aborted, std::errc::connection_reset,
			       std::errc::protocol_error, std::errc::timed_out,
			       std::errc::interrupted})
		if (error == one)
			return true;
	return false;
}

// The next connection. An error of the listener, such as no free descriptor, is
// returned by every later call, so it ends the program, with -k as well.
mpa::socket accept(mpa::socket &listener)
{
	for (;;) {
		auto socket = listener.accept_connection();

		if (socket)
			return *std::move(socket);
		if (!peer_gone(socket.error()))
			throw std::runtime_error("accept: " +
						 socket.error().message());
	}
}

// The next connection, after its Request was answered.
mpa::socket serve(mpa::socket &listener, const Options &options)
{
	auto socket = accept(listener);

	note(options, "connection from {}", mpa::tcp::name_of(socket.fd()));
	must(socket.wait(POLLPRI), "wait");
	if (auto error = socket.pending_error())
		throw Failure("start", error);
	must(options.reject ? socket.reject_request(options.data)
			    : socket.accept_request(options.data),
	     "answer");
	return socket;
}

// --- full operation -----------------------------------------------------------

// Standard input, split into ULPDUs.
class Input {
public:
	explicit Input(std::optional<std::size_t> block) : block_(block) {}

	bool ended() const { return ended_; }

	// Reads once and returns the complete ULPDUs; they are valid until the
	// next call.
	std::vector<mpa::const_buffer> read()
	{
		std::array<char, 65536> fresh;
		const ssize_t got = ::read(STDIN_FILENO, fresh.data(), fresh.size());

		if (got < 0)
			throw std::runtime_error("standard input: " +
						 mpa::last_error().message());
		ended_ = got == 0;
		held_.erase(0, used_);
		held_.append(fresh.data(), static_cast<std::size_t>(got));
		return cut();
	}

private:
	std::vector<mpa::const_buffer> cut()
	{
		std::vector<mpa::const_buffer> ulpdus;
		std::string_view rest = held_;

		while (!rest.empty()) {
			const auto end = block_ ? *block_ : rest.find('\n');
			const auto size = std::min(end, rest.size());

			if (end > rest.size() && !ended_ &&
			    rest.size() <= mpa::ulpdu_max)
				break;
			ulpdus.push_back(mpa::bytes(rest.substr(0, size)));
			rest.remove_prefix(std::min(size + !block_, rest.size()));
		}
		used_ = held_.size() - rest.size();
		return ulpdus;
	}

	std::optional<std::size_t> block_;
	std::string held_;
	std::size_t used_ = 0;
	bool ended_ = false;
};

class Talk {
public:
	Talk(mpa::socket &socket, const Options &options)
		: socket_(socket), options_(options),
		  input_(block_of(socket, options))
	{
	}

	void run()
	{
		must(socket_.set_blocking(false), "socket");
		while (!done()) {
			std::array<pollfd, 2> polls{{
				{socket_.fd(), events(), 0},
				{reading() ? STDIN_FILENO : -1, POLLIN, 0},
			}};

			if (::poll(polls.data(), polls.size(), -1) < 0)
				throw Failure("poll", mpa::last_error());
			if (polls[1].revents)
				pending_ = input_.read();
			if (polls[0].revents & ~POLLOUT)
				receive();
			// Otherwise both directions have ended in good order.
			if (peer_ended_ && !shut_ &&
			    polls[0].revents & (POLLERR | POLLHUP))
				throw Failure("send", lost());
			send();
		}
		if (!peer_ended_)
			see_off();
	}

private:
	static std::optional<std::size_t> block_of(const mpa::socket &socket,
						   const Options &options)
	{
		if (options.block && *options.block == 0)
			return must(socket.mulpdu(), "MULPDU");
		return options.block;
	}

	bool reading() const { return pending_.empty() && !input_.ended(); }
	bool done() const { return shut_ && (peer_ended_ || options_.close); }

	short events() const
	{
		return static_cast<short>((peer_ended_ ? 0 : POLLIN) |
					  (pending_.empty() ? 0 : POLLOUT));
	}

	// Why nothing more can be sent: the peer has closed the connection
	// before all input was sent.
	std::error_code lost()
	{
		const auto error = socket_.pending_error();

		return error ? error : std::make_error_code(std::errc::broken_pipe);
	}

	// ULPDUs received before the input has its turn: a peer may send them without end.
	static constexpr int turn = 64;

	// Receives what has arrived, one ULPDU after the other.
	void receive()
	{
		for (int n = 0; n < turn; n++) {
			auto got = socket_.receive(buffer_);

			if (!got && got.error() ==
				    std::errc::resource_unavailable_try_again)
				break;
			const auto one = must(std::move(got), "receive");
			if (one.end) {
				peer_ended_ = true;
				break;
			}
			write(one.size);
		}
		if (std::fflush(stdout))
			output_failed();
	}

	// Whether bytes, or the end behind them, are not acknowledged.
	bool unacknowledged() const
	{
		int bytes = 0;

		if (::ioctl(socket_.fd(), SIOCOUTQ, &bytes))
			throw Failure("SIOCOUTQ", mpa::last_error());
		return bytes > 0;
	}

	// -c: closing with unread input makes TCP reset the connection, which loses what
	// is on its way. Discards input until the peer has everything.
	void see_off()
	{
		using clock = std::chrono::steady_clock;
		const auto limit = clock::now() + options_.params.timeout;

		while (!peer_ended_ && unacknowledged()) {
			const auto got = socket_.receive(buffer_);
			const bool none = !got && got.error() ==
				std::errc::resource_unavailable_try_again;

			if (clock::now() > limit)
				throw Failure("close",
					      std::make_error_code(std::errc::timed_out));
			// There is no event for an acknowledgement.
			if (none)
				must(socket_.wait(POLLIN, std::chrono::milliseconds(5)),
				     "wait");
			else
				peer_ended_ = must(got, "receive").end;
		}
	}

	// Writes the bytes of the buffer as a line or a block. stdio loses the
	// error of a write; errno keeps it.
	void write(std::size_t size)
	{
		if (std::fwrite(buffer_.data(), 1, size, stdout) != size)
			output_failed();
		if (!options_.block && std::fputc('\n', stdout) == EOF)
			output_failed();
	}

	// The output is of no use for any further connection either.
	[[noreturn]] static void output_failed()
	{
		throw std::runtime_error("standard output: " +
					 mpa::last_error().message());
	}

	void send()
	{
		if (!pending_.empty()) {
			auto sent = socket_.send_batch(pending_);

			if (!sent && sent.error() ==
				     std::errc::resource_unavailable_try_again)
				return;
			if (!sent && divide())
				return;
			const auto count = must(std::move(sent), "send");
			pending_.erase(pending_.begin(), pending_.begin() + count);
		}
		if (pending_.empty() && input_.ended() && !shut_) {
			must(socket_.shutdown(), "shutdown");
			shut_ = true;
		}
	}

	// Blocks of maximum length when the path MTU has shrunk: the next block
	// is sent in two ULPDUs.
	bool divide()
	{
		const std::size_t most = socket_.mulpdu().value_or(0);
		const auto next = pending_.front();

		if (options_.block != 0 || most == 0 || next.size() <= most)
			return false;
		pending_.front() = next.subspan(most);
		pending_.insert(pending_.begin(), next.first(most));
		return true;
	}

	mpa::socket &socket_;
	const Options &options_;
	Input input_;
	std::vector<mpa::const_buffer> pending_;
	std::vector<std::byte> buffer_{mpa::ulpdu_max};
	bool shut_ = false;
	bool peer_ended_ = false;
};

void tell_counts(mpa::socket &socket, const Options &options)
{
	const auto stats = must(socket.stats(), "statistics");

	note(options, "sent {} FPDUs in {} calls to TCP, {} bytes; received {} "
	     "FPDUs, {} bytes; {} CRC errors, {} Marker errors, {} too long, {} too "
	     "soon",
	     stats.tx_fpdus, stats.tx_batches, stats.tx_bytes, stats.rx_fpdus,
	     stats.rx_bytes, stats.rx_crc_errors, stats.rx_marker_errors,
	     stats.rx_length_errors, stats.rx_too_soon);
}

Status talk(mpa::socket socket, const Options &options)
{
	tell_result(socket, options);
	if (options.reject)
		return good;
	Talk(socket, options).run();
	tell_counts(socket, options);
	return good;
}

// Serves one connection; prints errors.
template <typename Open> Status one(Open open, const Options &options)
{
	try {
		return talk(open(), options);
	} catch (const Failure &failure) {
		cli::print_error("mpa-nc", failure.what());
		return failure.status();
	}
}

Status run(const Options &options)
{
	if (!options.listen)
		return one([&] { return connect(options); }, options);
	auto listener = listen(options);
	Status status;
	do
		status = one([&] { return serve(listener, options); }, options);
	while (options.keep);
	return status;
}

// --- command line -------------------------------------------------------------

std::vector<std::byte> unhex(const std::string &digits)
{
	std::vector<std::byte> bytes;

	for (std::size_t at = 0; at < digits.size(); at += 2) {
		const char *begin = digits.data() + at;
		unsigned int value = 0;

		if (digits.size() - at < 2 ||
		    std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2)
			throw CLI::ValidationError("--data-hex",
						   "not pairs of hex digits");
		bytes.push_back(static_cast<std::byte>(value));
	}
	return bytes;
}

void describe(CLI::App &app, Options &options)
{
	app.add_option("where", options.where, "HOST PORT, or with -l [HOST] PORT")
		->required()->expected(1, 2);
	app.add_flag("-l,--listen", options.listen, "wait for a connection");
	app.add_flag("-k,--keep-open", options.keep,
		     "with -l: serve one connection after the other");
	app.add_option("-b,--block", options.block,
		       "ULPDUs of so many bytes, not lines; 0: as many as fit")
		->check(CLI::Range(0, 65535));
	auto *text = app.add_option_function<std::string>(
		"-d,--data",
		[&](const std::string &value) {
			const auto bytes = mpa::bytes(value);
			options.data.assign(bytes.begin(), bytes.end());
		},
		"private data of the Request or of the answer");
	app.add_option_function<std::string>(
		   "--data-hex",
		   [&](const std::string &value) { options.data = unhex(value); },
		   "likewise, in hexadecimal")->excludes(text);
	app.add_flag("-m,--markers", options.params.markers,
		     "ask the peer for Markers");
	app.add_flag("-n,--no-crc", options.params.no_crc, "prefer no CRCs");
	app.add_option("-r,--revision", options.revision,
		       "highest revision: 0, 1 or 2")->check(CLI::Range(0, 2));
	app.add_flag("-s,--start-key", options.start_key,
		     "begin with a Start Key, not with frames");
	app.add_flag("-z,--permissive", options.params.permissive,
		     "also use the RDMA Consortium's protocols with such a peer");
	app.add_flag("-p,--peer-to-peer", options.params.peer_to_peer,
		     "ask for peer-to-peer mode (revision 2)");
	app.add_option("-w,--timeout", options.timeout,
		       "seconds to wait for the connection, the peer's frame, or with -c "
		       "until the peer has everything")
		->check(CLI::Range(0.001, 1e6));
	app.add_flag("-P,--packing", options.packing,
		     "let small ULPDUs wait for company");
	app.add_flag("-x,--reject", options.reject, "with -l: reject the Request");
	app.add_flag("-c,--close", options.close,
		     "do not wait for the peer's end after the end of the input");
	app.add_flag("-v,--verbose", options.verbose, "print what happens");
	app.set_version_flag("--version", "mpa-nc " MPA_VERSION,
			     "show the version and exit");
	cli::check_numbers(app);
}

// Prints the message. Help and version are exceptions to CLI11, too.
Status refused(const CLI::App &app, const CLI::ParseError &error)
{
	if (app.exit(error))
		return usage;
	if (const auto bad = cli::flush_output()) {
		cli::print_error("mpa-nc", "standard output: " + bad.message());
		return failed;
	}
	return good;
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("ULPDUs of MPA (RFC 5044) from and to standard input and output");
	Options options;

	if (const auto error = cli::reserve_standard_descriptors()) {
		cli::print_error("mpa-nc", "/dev/null: " + error.message());
		return failed;
	}
	describe(app, options);
	try {
		app.parse(argc, argv);
		if (!options.listen && (options.where.size() != 2 ||
					options.keep || options.reject))
			throw CLI::ValidationError(
				"HOST PORT are required; -k and -x need -l");
	} catch (const CLI::ParseError &error) {
		return refused(app, error);
	}
	options.params.timeout = std::chrono::milliseconds(
		static_cast<long>(options.timeout * 1000));
	if (options.start_key)
		options.params.startup = mpa::startup::start_key;
	if (options.revision)
		options.params.rev = static_cast<mpa::revision>(*options.revision);
	try {
		return run(options);
	} catch (const std::exception &failure) {
		cli::print_error("mpa-nc", failure.what());
		return failed;
	}
}
