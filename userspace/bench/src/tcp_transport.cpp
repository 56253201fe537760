/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "tcp_transport.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <endian.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/time.h>

#include <linux/mpa.h>

#include "kcm.hpp"

namespace bench {

namespace {

// The first bytes on a connection, in network byte order.
struct TcpIntroduction {
	std::uint64_t cookie;
	std::uint32_t index;
	std::uint32_t reserved;
};
static_assert(sizeof(TcpIntroduction) == 16);

// Value for epoll that is not a connection's number.
constexpr std::uint64_t of_listener = std::uint64_t{1} << 40;
constexpr std::uint64_t of_guest = of_listener + 1;
constexpr std::uint64_t of_other = of_listener + 2;

bool is_direct(const Job &job)
{
	return job.connections == 1 && job.wait == Wait::event &&
		(job.test == Test::latency ||
		 (job.test == Test::stream && !job.bidirectional));
}

// Calls that sleep do so for 100 ms at most.
void set_patience(int fd)
{
	const timeval time{0, 100'000};

	if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) ||
	    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)))
		fail("setsockopt");
}

// Makes a connected socket an MPA socket. The call of a blocking one returns when the
// startup is over, the other one's data waits until then.
void start_mpa(int fd, bool is_client, Milliseconds time)
{
	mpa_sock_params params;
	socklen_t size = sizeof(params);
	const int role = is_client ? MPA_ROLE_INITIATOR : MPA_ROLE_RESPONDER;

	if (::setsockopt(fd, IPPROTO_TCP, TCP_ULP, "mpa", 3))
		fail("TCP_ULP \"mpa\"", Status::unavailable);
	if (::getsockopt(fd, SOL_MPA, MPA_SO_PARAMS, &params, &size))
		fail("MPA_SO_PARAMS");
	params.flags |= MPA_F_AUTO_ACCEPT;
	if (::setsockopt(fd, SOL_MPA, MPA_SO_PARAMS, &params, size))
		fail("MPA_SO_PARAMS");
	if (!::setsockopt(fd, SOL_MPA, MPA_SO_START, &role, sizeof(role)) ||
	    errno == EINPROGRESS)
		return;
	// The startup continues after a signal, unless that has requested the end.
	const int error = errno == EINTR ? finish_connect(fd, time) : errno;
	if (error)
		fail("MPA_SO_START", Status::failed, error);
}

// Reads and drops the kernel's reports on pages that it no longer needs.
void drop_reports(int fd)
{
	std::array<std::byte, 128> control;
	msghdr message{};

	do {
		message.msg_control = control.data();
		message.msg_controllen = control.size();
	} while (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
}

// So many calls at the most before the reports on their pages are read.
constexpr std::uint32_t most_unread = 16;

} // namespace

TcpTransport::TcpTransport(const Job &job, bool is_client, const Address &local)
	: job_(job), is_client_(is_client),
	  sends_(job.test == Test::latency || posts(job, is_client)),
	  takes_(job.test == Test::latency || takes(job, is_client)),
	  direct_(is_direct(job)),
	  tireless_(direct_ || (job.connections == 1 && job.wait != Wait::event)),
	  source_slots_(job, source_slots(job)), local_(local),
	  source_(source_bytes(job), job.send_by == SendBy::splice),
	  sink_(sink_bytes(job)),
	  epoll_(::epoll_create1(EPOLL_CLOEXEC)), connections_(job.connections),
	  ready_(job.connections)
{
	if (epoll_.get() < 0)
		fail("epoll_create1");
	pattern_fill({0, 0, is_client_}, 0, source_.at(0, source_.size()));
}

void TcpTransport::watch(int fd, std::uint64_t data, std::uint32_t events)
{
	epoll_event event{};

	event.events = events;
	event.data.u64 = data;
	if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event))
		fail("epoll_ctl");
}

// Edge-triggered only: connections known to be ready are in ready_.
void TcpTransport::set_up(std::uint32_t index, Fd fd)
{
	auto &one = connections_[index];
	const std::uint32_t events = (takes_ ? EPOLLIN | EPOLLRDHUP : 0U) |
		(sends_ ? EPOLLOUT : 0U) | EPOLLET;

	one = Connection();
	one.fd = std::move(fd);
	one.empty = true;
	set_option(one.fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
	if (job_.send_by == SendBy::zerocopy)
		set_option(one.fd.get(), SOL_SOCKET, SO_ZEROCOPY, 1);
	if (job_.transport == Transport::mpa) {
		// Only the client waits: the server has others to serve.
		set_blocking(one.fd.get(), is_client_);
		start_mpa(one.fd.get(), is_client_, Milliseconds(job_.timeout_ms));
		set_blocking(one.fd.get(), false);
	}
	if (job_.transport == Transport::kcm) {
		one.under = std::move(one.fd);
		one.fd = kcm_over(one.under.get(), job_.size);
	}
	if (direct_) {
		set_blocking(one.fd.get(), true);
		set_patience(one.fd.get());
	}
	if (tireless_) {
		one.empty = false;
		queue(index);
	} else {
		watch(one.fd.get(), index, events);
	}
}

// --- server ------------------------------------------------------------------------------

std::uint16_t TcpTransport::listen(std::uint64_t cookie)
{
	cookie_ = cookie;
	listener_ = listen_at(local_.with_port(0));
	watch(listener_.get(), of_listener, EPOLLIN);
	return Address::local(listener_.get()).port();
}

bool TcpTransport::complete() const noexcept
{
	return complete_ == job_.connections;
}

void TcpTransport::pump()
{
	while (listener_.get() >= 0) {
		Fd fd = accept_from(listener_.get()).fd;

		if (fd.get() < 0)
			break;
		watch(fd.get(), of_guest, EPOLLIN);
		guests_.emplace_back().fd = std::move(fd);
	}
	for (auto guest = guests_.begin(); guest != guests_.end();) {
		const auto next = std::next(guest);

		if (!hear(*guest))
			guests_.erase(guest);
		guest = next;
	}
	if (!complete())
		return;
	// Any other connection would wake a side that waits for data, again and again.
	guests_.clear();
	listener_.reset();
}

// False: no more data will come.
bool TcpTransport::hear(Guest &guest)
{
	std::byte end;
	const bool done = guest.size == guest.said.size();
	const auto got = done
		? ::recv(guest.fd.get(), &end, 1, 0)
		: ::recv(guest.fd.get(), guest.said.data() + guest.size,
			 guest.said.size() - guest.size, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got <= 0 || done)
		return false;
	guest.size += static_cast<std::size_t>(got);
	if (guest.size < guest.said.size())
		return true;
	admit(guest);
	return guest.fd.get() >= 0;
}

// Without the right cookie it is another program's client.
void TcpTransport::admit(Guest &guest)
{
	TcpIntroduction said;

	std::memcpy(&said, guest.said.data(), sizeof(said));
	const auto index = be32toh(said.index);
	if (be64toh(said.cookie) != cookie_ || index >= connections_.size()) {
		guest.fd.reset();
		return;
	}
	accepted_++;
	// In the test of set-up they remain guests until they end.
	if (job_.test == Test::connect)
		return;
	if (connections_[index].fd.get() < 0)
		complete_++;
	::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, guest.fd.get(), nullptr);
	set_up(index, std::move(guest.fd));
}

// --- client ------------------------------------------------------------------------------

void TcpTransport::connect(const Address &server, std::uint64_t cookie,
			   std::uint32_t first, std::uint32_t end, Histogram &times)
{
	for (std::uint32_t index = first; index < end; index++) {
		const TcpIntroduction said{htobe64(cookie), htobe32(index), 0};
		const auto started = Clock::now();
		Fd fd = connect_to(server, Milliseconds(job_.timeout_ms));

		times.add(nanoseconds_since(started));
		if (::send(fd.get(), &said, sizeof(said), MSG_NOSIGNAL) != sizeof(said))
			fail("introduction of a TCP connection");
		set_up(index, std::move(fd));
	}
}

void TcpTransport::disconnect()
{
	for (auto &one : connections_)
		one = Connection();
}

// --- messages ------------------------------------------------------------------------------

void TcpTransport::queue(std::uint32_t connection)
{
	auto &one = connections_[connection];

	if (one.queued)
		return;
	one.queued = true;
	ready_[(ready_first_ + ready_count_++) % ready_.size()] = connection;
}

// Whether it makes sense to try again at once.
bool TcpTransport::work_left(const Connection &one) const noexcept
{
	return tireless_ || (one.pending && !one.full) || (takes_ && !one.empty);
}

void TcpTransport::post(std::uint32_t connection, std::uint32_t n, bool)
{
	auto &one = connections_[connection];

	if (job_.verify)
		for (std::uint32_t i = 0; i < n; i++)
			pattern_fill({connection, one.posted + i, is_client_}, 0,
				     source_.at(source_slots_.offset(connection,
								     one.posted + i),
						job_.size));
	one.posted += n;
	one.outstanding += n;
	one.pending += std::uint64_t{n} * job_.size;
	queue(connection);
}

// The call that job_.send_by names; its result.
ssize_t TcpTransport::give(Connection &one, std::uint64_t at, std::size_t length)
{
	const int fd = one.fd.get();
	auto offset = static_cast<off_t>(at);

	switch (job_.send_by) {
	case SendBy::splice:
		return ::sendfile(fd, source_.file(), &offset, length);
	case SendBy::record:
		return ::send(fd, source_.data() + at, length, MSG_NOSIGNAL | MSG_EOR);
	case SendBy::zerocopy:
		if (++one.unread == most_unread) {
			drop_reports(fd);
			one.unread = 0;
		}
		return ::send(fd, source_.data() + at, length,
			      MSG_NOSIGNAL | MSG_ZEROCOPY);
	case SendBy::copy:
		break;
	}
	return ::send(fd, source_.data() + at, length, MSG_NOSIGNAL);
}

// One send call; returns the number of messages that are with TCP then.
std::uint32_t TcpTransport::push(std::uint32_t connection)
{
	auto &one = connections_[connection];
	// A connection's own buffers in verification, the whole region otherwise.
	const std::uint64_t ring = job_.verify ? std::uint64_t{job_.depth} * job_.size
					       : source_.size();
	const std::uint64_t at = one.sent % ring;
	const std::uint64_t base = job_.verify ? connection * ring : 0;
	const auto length = std::min({one.pending, std::uint64_t{job_.chunk}, ring - at});
	const auto sent = give(one, base + at, length);

	if (sent < 0 && errno == ENOBUFS && job_.send_by == SendBy::zerocopy) {
		drop_reports(one.fd.get());
		one.unread = 0;
		return 0;
	}
	if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
		one.full = errno == EAGAIN;
		return 0;
	}
	if (sent < 0)
		fail(fmt::format("connection {}", connection));
	const auto bytes = static_cast<std::uint64_t>(sent);
	one.full = bytes < length;
	const auto before = one.sent / job_.size;
	one.sent += bytes;
	one.pending -= bytes;
	const auto messages = static_cast<std::uint32_t>(one.sent / job_.size - before);
	one.outstanding -= messages;
	return messages;
}

// One receive call; returns the number of messages that are complete then.
std::uint32_t TcpTransport::pull(std::uint32_t connection)
{
	auto &one = connections_[connection];
	// Whole messages, of which a socket of messages returns one.
	const std::uint64_t ring = by_message(job_.transport)
		? sink_.size() / job_.size * job_.size : sink_.size();
	const std::uint64_t at = one.received % ring;
	const auto length = std::min<std::uint64_t>(receive_chunk(job_), ring - at);
	const auto got = job_.discard
		? ::recv(one.fd.get(), nullptr, length, MSG_TRUNC)
		: ::recv(one.fd.get(), sink_.data() + at, length, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		one.empty = errno == EAGAIN;
		return 0;
	}
	if (got < 0)
		fail(fmt::format("connection {}", connection));
	if (got == 0)
		throw Failure(fmt::format("connection {} was ended by the peer", connection));
	// A short read: there is no more data, and an event will report new
	// data.
	one.empty = static_cast<std::uint64_t>(got) < length;
	const auto before = one.received / job_.size;
	if (job_.verify)
		verify(connection, sink_.at(at, static_cast<std::size_t>(got)));
	one.received += static_cast<std::uint64_t>(got);
	return static_cast<std::uint32_t>(one.received / job_.size - before);
}

void TcpTransport::verify(std::uint32_t connection, std::span<const std::byte> bytes)
{
	std::uint64_t position = connections_[connection].received;

	while (!bytes.empty()) {
		const auto offset = position % job_.size;
		const auto piece = bytes.first(
			std::min<std::size_t>(bytes.size(), job_.size - offset));

		pattern_require({connection, position / job_.size, !is_client_}, offset,
				piece);
		bytes = bytes.subspan(piece.size());
		position += piece.size();
	}
}

// One call in each direction; true: bytes were transferred.
bool TcpTransport::turn(std::uint32_t connection, Completions &completions,
			std::size_t &count)
{
	auto &one = connections_[connection];
	const auto before = one.sent + one.received;

	if (one.pending && !one.full)
		if (const auto n = push(connection))
			completions[count++] = {Completion::Kind::sent, connection, n};
	if (takes_ && !one.empty)
		if (const auto n = pull(connection))
			completions[count++] = {Completion::Kind::received, connection, n};
	// A call that transferred nothing may be tried again.
	if (tireless_)
		one.full = one.empty = false;
	if (work_left(one))
		queue(connection);
	return one.sent + one.received != before;
}

// Gives a turn to each connection that may be able to continue, repeatedly,
// until a message is complete or no bytes are transferred.
std::span<const Completion> TcpTransport::reap(Completions &completions)
{
	std::size_t count = 0;
	bool moved;

	if (!tireless_ && ready_count_ == 0)
		wait_events(0);
	do {
		moved = false;
		for (auto turns = std::min(ready_count_, completions.size() / 2); turns;
		     turns--) {
			const auto connection = ready_[ready_first_];

			ready_first_ = (ready_first_ + 1) % ready_.size();
			ready_count_--;
			connections_[connection].queued = false;
			moved |= turn(connection, completions, count);
		}
	} while (count == 0 && moved);
	return std::span(completions).first(count);
}

void TcpTransport::on_event(std::uint64_t data, std::uint32_t events)
{
	auto &one = connections_[data];

	if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		one.full = false;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP))
		one.empty = false;
	if (work_left(one))
		queue(static_cast<std::uint32_t>(data));
}

Rest TcpTransport::wait_events(int time)
{
	std::array<epoll_event, 64> events;
	bool woken = false, readable = false;
	const int got = ::epoll_wait(epoll_.get(), events.data(),
				     static_cast<int>(events.size()), time);

	if (got < 0 && errno != EINTR)
		fail("epoll_wait");
	for (int i = 0; i < got; i++) {
		const auto &event = events[static_cast<std::size_t>(i)];

		if (event.data.u64 == of_other) {
			readable = true;
		} else if (event.data.u64 < of_listener) {
			on_event(event.data.u64, event.events);
			woken = true;
		}
	}
	return readable ? Rest::readable : woken ? Rest::woken : Rest::late;
}

// If calls may block, they have done the waiting.
Rest TcpTransport::block(int fd)
{
	pollfd one{fd, POLLIN, 0};

	if (direct_) {
		const bool slept = takes_ || connections_[0].pending;

		return ::poll(&one, 1, slept ? 0 : 100) > 0 ? Rest::readable : Rest::late;
	}
	if (watched_ < 0) {
		watch(fd, of_other, EPOLLIN);
		watched_ = fd;
	}
	return wait_events(100);
}

} // namespace bench
