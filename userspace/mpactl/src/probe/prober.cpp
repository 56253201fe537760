/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "probe/prober.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>

#include <mpa/mpa.hpp>
#include <mpa/tcp.hpp>

#include "probe/guess.hpp"

namespace mpactl {

namespace {

using Steady = std::chrono::steady_clock;
using Time = Steady::time_point;
using mpa::descriptor;
using mpa::tcp::addresses;
using startup::Bytes;
using startup::Reading;

// Maximum number of bytes to read.
constexpr std::size_t most_bytes = 1024;
// Maximum number of bytes of another protocol to show.
constexpr std::size_t shown_bytes = 64;

milliseconds until(Time when)
{
	const auto left =
		std::chrono::ceil<milliseconds>(when - Steady::now());

	return std::max(left, milliseconds(0));
}

// Returns true if the descriptor becomes ready before that time. Continues after
// signals.
bool wait(const descriptor &fd, short events, Time when)
{
	pollfd one{.fd = fd.get(), .events = events, .revents = 0};
	int ready;

	do
		ready = ::poll(&one, 1, static_cast<int>(until(when).count()));
	while (ready < 0 && errno == EINTR);
	return ready > 0;
}

// --- the connection -----------------------------------------------------------

std::pair<addresses, std::string> look_up(const std::string &host,
					  const std::string &port, int family,
					  int flags)
{
	addrinfo hints{};
	addrinfo *found = nullptr;

	if (!mpa::tcp::valid_service(port))
		return {nullptr, ::gai_strerror(EAI_SERVICE)};
	hints.ai_family = family;
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = flags;
	const int error = ::getaddrinfo(host.c_str(),
					port.empty() ? nullptr : port.c_str(),
					&hints, &found);
	std::string why;

	if (error)
		why = error == EAI_SYSTEM ? std::generic_category().message(errno)
					  : ::gai_strerror(error);
	return {addresses(found), why};
}

std::string name_of(const addrinfo &one)
{
	char host[NI_MAXHOST];

	if (::getnameinfo(one.ai_addr, one.ai_addrlen, host, sizeof(host),
			  nullptr, 0, NI_NUMERICHOST))
		return "?";
	return host;
}

std::string source_of(const descriptor &fd)
{
	const auto name = mpa::tcp::name_of(fd.get(), false);

	return name.substr(0, name.find(' '));
}

// Binds to the address of the family if one was given.
int bind_source(const descriptor &fd, int family, const std::string &source)
{
	if (source.empty())
		return 0;
	const auto [own, why] = look_up(source, "", family, AI_NUMERICHOST);
	if (!own)
		return EAFNOSUPPORT;
	return ::bind(fd.get(), own->ai_addr, own->ai_addrlen) ? errno : 0;
}

// The connection, or an error number.
std::pair<descriptor, int> connect_to(const addrinfo &to,
				      const ProbeOrder &order)
{
	descriptor fd(::socket(to.ai_family,
			       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int error = 0;
	socklen_t size = sizeof(error);

	if (!fd)
		return {descriptor(), errno};
	error = bind_source(fd, to.ai_family, order.source);
	if (error)
		return {descriptor(), error};
	if (!::connect(fd.get(), to.ai_addr, to.ai_addrlen))
		return {std::move(fd), 0};
	if (errno != EINPROGRESS)
		return {descriptor(), errno};
	if (!wait(fd, POLLOUT, Steady::now() + order.timeout))
		return {descriptor(), ETIMEDOUT};
	if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size))
		error = errno;
	return {error ? descriptor() : std::move(fd), error};
}

ConnectError connect_error_of(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return ConnectError::refused;
	case ETIMEDOUT:
		return ConnectError::timeout;
	default:
		return ConnectError::unreachable;
	}
}

// Connects to the first address that answers, or reports the error of the last one.
std::pair<descriptor, const addrinfo *>
connect_any(const addrinfo *list, const ProbeOrder &order, ProbeReport &report)
{
	for (const auto *to = list; to; to = to->ai_next) {
		auto [fd, error] = connect_to(*to, order);

		report.address = name_of(*to);
		if (!error) {
			report.source = source_of(fd);
			report.connect_error.reset();
			report.why.clear();
			return {std::move(fd), to};
		}
		report.connect_error = connect_error_of(error);
		report.why = std::generic_category().message(error);
	}
	return {descriptor(), nullptr};
}

// --- the exchange -------------------------------------------------------------

enum class Got { bytes, end, reset, nothing };

Got receive(const descriptor &fd, Bytes &to, std::size_t room, Time when)
{
	std::array<std::uint8_t, most_bytes> piece;

	if (!wait(fd, POLLIN, when))
		return Got::nothing;
	const auto size = ::recv(fd.get(), piece.data(),
				 std::min(room, piece.size()), 0);
	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? Got::bytes
							 : Got::reset;
	to.insert(to.end(), piece.begin(), piece.begin() + size);
	return size ? Got::bytes : Got::end;
}

// A Request fits into the send buffer of a socket. Errors are ignored, because the
// answer, or its absence, determines the outcome.
void send(const descriptor &fd, const Bytes &bytes, Time when)
{
	std::size_t sent = 0;

	while (sent < bytes.size() && wait(fd, POLLOUT, when)) {
		const auto size = ::send(fd.get(), bytes.data() + sent,
					 bytes.size() - sent, MSG_NOSIGNAL);
		if (size < 0 && errno != EAGAIN && errno != EINTR)
			return;
		sent += static_cast<std::size_t>(std::max<ssize_t>(size, 0));
	}
}

bool begins_with(const Bytes &whole, const Bytes &part)
{
	return part.size() <= whole.size() &&
	       std::equal(part.begin(), part.end(), whole.begin());
}

// The bytes are not a Reply. Reads more of them to identify the protocol.
void read_other_protocol(const descriptor &fd, const Bytes &request,
			 Bytes &bytes, Time when, milliseconds more)
{
	const auto soon = std::min(when, Steady::now() + more);

	while (bytes.size() < most_bytes) {
		const bool echo = begins_with(request, bytes);

		if (echo && bytes.size() == request.size())
			return;
		if (!echo && bytes.size() >= shown_bytes)
			return;
		if (receive(fd, bytes, most_bytes - bytes.size(),
			    echo ? when : soon) != Got::bytes)
			return;
	}
}

void classify_other(Attempt &attempt, const Bytes &request,
		    const Reading &reading)
{
	using State = Reading::State;
	const auto &bytes = attempt.bytes;
	const auto size = std::min(bytes.size(), request.size());
	const bool echo = size &&
		std::equal(bytes.begin(), bytes.begin() + size,
			   request.begin());

	if (reading.state == State::malformed)
		attempt.outcome = ProbeOutcome::malformed;
	else if (echo && size == request.size())
		attempt.outcome = ProbeOutcome::echo;
	else if (reading.state == State::request && size > 16 &&
		 std::equal(bytes.begin(), bytes.begin() + 16,
			    request.begin()))
		attempt.outcome = ProbeOutcome::initiator;
	else
		attempt.outcome = ProbeOutcome::foreign;
	attempt.why = attempt.outcome == ProbeOutcome::foreign
		? std::string(guess_service(bytes))
		: std::string(reading.why);
	attempt.bytes.resize(std::min(bytes.size(), shown_bytes));
}

void classify_reply(Attempt &attempt, const Reading &reading)
{
	attempt.reply = reading.reply;
	attempt.agreement = startup::conclude(attempt.ask, reading.reply);
	attempt.early = attempt.bytes.size() - reading.used;
	attempt.bytes.clear();
	if (reading.reply.reject)
		attempt.outcome = ProbeOutcome::rejected;
	else if (attempt.agreement.problem.empty())
		attempt.outcome = ProbeOutcome::accepted;
	else
		attempt.outcome = ProbeOutcome::unfit;
	if (attempt.outcome == ProbeOutcome::unfit)
		attempt.why = attempt.agreement.problem;
}

// The stream ended or the time is over before a whole Reply was received.
void classify_end(Attempt &attempt, Got how)
{
	if (!attempt.bytes.empty()) {
		attempt.outcome = ProbeOutcome::malformed;
		attempt.why = how == Got::nothing
				      ? "the rest of the Reply was not received"
				      : "the stream ended within the Reply";
		return;
	}
	attempt.outcome = how == Got::end ? ProbeOutcome::closed
			: how == Got::reset ? ProbeOutcome::reset
					    : ProbeOutcome::silent;
}

void receive_answer(const descriptor &fd, const Bytes &request,
		    Attempt &attempt, Time when, milliseconds more)
{
	for (;;) {
		const auto got = receive(fd, attempt.bytes,
					 most_bytes - attempt.bytes.size(),
					 when);
		if (got != Got::bytes)
			return classify_end(attempt, got);

		const auto reading = startup::read_reply(attempt.bytes);
		if (reading.state == Reading::State::more)
			continue;
		if (reading.state == Reading::State::whole)
			return classify_reply(attempt, reading);
		read_other_protocol(fd, request, attempt.bytes, when, more);
		return classify_other(attempt, request, reading);
	}
}

// Closes the stream without an FPDU. Reads the remaining bytes, because unread bytes
// would cause a reset, and returns the first of them.
Bytes close_stream(const descriptor &fd, milliseconds limit)
{
	const auto when = Steady::now() + limit;
	Bytes rest;

	::shutdown(fd.get(), SHUT_WR);
	while (rest.size() < 65536 &&
	       receive(fd, rest, most_bytes, when) == Got::bytes)
		;
	return rest;
}

// Text protocols wait for the end of a line. They answer when the stream ends, and
// can be identified then.
void classify_late_answer(Attempt &attempt, const Bytes &request, Bytes words)
{
	const auto reading = startup::read_reply(words);

	if (words.empty() || reading.state != Reading::State::foreign)
		return;
	attempt.bytes = std::move(words);
	classify_other(attempt, request, reading);
}

startup::Ask ask_of(const ProbeOrder &order, unsigned int revision)
{
	startup::Ask ask;

	ask.revision = revision;
	ask.markers = order.markers || revision == 0;
	ask.crc = order.crc || revision == 0;
	ask.peer_to_peer = order.peer_to_peer && revision == 2;
	ask.ird = static_cast<std::uint16_t>(order.ird);
	ask.ord = static_cast<std::uint16_t>(order.ord);
	ask.data = order.data;
	return ask;
}

Attempt exchange(const descriptor &fd, const ProbeOrder &order,
		 unsigned int revision)
{
	const auto started = Steady::now();
	const auto when = started + order.timeout;
	Attempt attempt;

	attempt.ask = ask_of(order, revision);
	const auto request = startup::request(attempt.ask);
	send(fd, request, when);
	receive_answer(fd, request, attempt, when, order.more_bytes);
	attempt.took = std::chrono::duration_cast<milliseconds>(Steady::now() -
								started);
	const auto rest = close_stream(fd, order.close);
	if (attempt.outcome == ProbeOutcome::silent)
		classify_late_answer(attempt, request, rest);
	return attempt;
}

// --- which revisions ----------------------------------------------------------

// The revision to try next, or none.
std::optional<unsigned int> next_revision(const ProbeOrder &order,
					  const Attempt &last)
{
	const auto asked = last.ask.revision;

	if (order.revision)
		return {};
	if (order.all)
		return asked ? std::optional(asked - 1) : std::nullopt;
	switch (last.outcome) {
	case ProbeOutcome::closed:
	case ProbeOutcome::reset:
		// RFC 6581 section 10: a peer without revision 2 does this.
		return asked == 2 ? std::optional(1u) : std::nullopt;
	case ProbeOutcome::unfit:
	case ProbeOutcome::rejected:
		if (last.reply->revision < asked)
			return last.reply->revision;
		return {};
	default:
		return {};
	}
}

} // namespace

bool is_reply(ProbeOutcome outcome)
{
	return outcome == ProbeOutcome::accepted ||
	       outcome == ProbeOutcome::rejected ||
	       outcome == ProbeOutcome::unfit;
}

const Attempt *ProbeReport::best() const
{
	const Attempt *best = nullptr;

	// Outcomes are ordered; of equal ones the first attempt is used.
	for (const auto &one : attempts)
		if (!best || one.outcome < best->outcome)
			best = &one;
	return best;
}

bool ProbeReport::uses_mpa() const
{
	return std::any_of(attempts.begin(), attempts.end(), [](const auto &one) {
		return is_reply(one.outcome);
	});
}

std::vector<unsigned int> ProbeReport::revisions() const
{
	std::vector<unsigned int> found;

	for (const auto &one : attempts)
		if (one.reply)
			found.push_back(one.reply->revision);
	std::sort(found.rbegin(), found.rend());
	found.erase(std::unique(found.begin(), found.end()), found.end());
	return found;
}

int family_of(const std::string &address)
{
	const auto [list, why] = look_up(address, "", AF_UNSPEC, AI_NUMERICHOST);

	return list ? list->ai_family : AF_UNSPEC;
}

ProbeReport probe(const ProbeOrder &order)
{
	ProbeReport report{.host = order.host, .port = order.port, .address = {},
			   .source = {}, .attempts = {}, .connect_error = {}, .why = {}};
	const auto family = order.source.empty() ? order.family
						 : family_of(order.source);
	const auto [list, why] = look_up(order.host, order.port, family, 0);
	std::optional<unsigned int> revision = order.revision.value_or(2);

	if (!list) {
		report.connect_error = ConnectError::name;
		report.why = why;
		return report;
	}
	auto [fd, to] = connect_any(list.get(), order, report);
	while (fd) {
		report.attempts.push_back(exchange(fd, order, *revision));
		revision = next_revision(order, report.attempts.back());
		if (!revision)
			break;
		auto [again, error] = connect_to(*to, order);
		if (error) {
			// The port was closed, or the peer refuses a second
			// connection. The attempts so far are valid.
			report.why = "next connection: " +
				std::generic_category().message(error);
			break;
		}
		fd = std::move(again);
	}
	return report;
}

} // namespace mpactl
