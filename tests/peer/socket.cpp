// SPDX-License-Identifier: GPL-2.0-only
#include "socket.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace peer {

namespace {

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

template <typename Value>
void set_option(int fd, int level, int name, const Value &value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		fail("setsockopt");
}

template <typename Value>
Value option(int fd, int level, int name)
{
	Value value{};
	socklen_t length = sizeof(value);

	if (getsockopt(fd, level, name, &value, &length))
		fail("getsockopt");
	return value;
}

// What another socket needs to go on with a connection (TCP_REPAIR).
class Repair {
public:
	explicit Repair(int fd)
	{
		set_option(fd, IPPROTO_TCP, TCP_REPAIR, int{TCP_REPAIR_ON});
		sent_ = queue_end(fd, TCP_SEND_QUEUE);
		received_ = queue_end(fd, TCP_RECV_QUEUE);
		window_ = option<tcp_repair_window>(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW);
		stamp_ = option<std::uint32_t>(fd, IPPROTO_TCP, TCP_TIMESTAMP);
		info_ = option<tcp_info>(fd, IPPROTO_TCP, TCP_INFO);
		mss_ = option<std::uint32_t>(fd, IPPROTO_TCP, TCP_MAXSEG);
	}

	// @fd is a new socket; sends from @by bytes later on.
	void resume(int fd, const Address &from, const Address &to, std::int32_t by)
	{
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
		set_option(fd, IPPROTO_TCP, TCP_REPAIR, int{TCP_REPAIR_ON});
		if (bind(fd, from.raw(), from.length()))
			fail("bind");
		set_queue_end(fd, TCP_SEND_QUEUE, sent_ + static_cast<std::uint32_t>(by));
		set_queue_end(fd, TCP_RECV_QUEUE, received_);
		if (::connect(fd, to.raw(), to.length()))
			fail("connect");
		set_options(fd);
		window_.snd_wl1 = received_;
		set_option(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, window_);
		set_option(fd, IPPROTO_TCP, TCP_REPAIR, int{TCP_REPAIR_OFF_NO_WP});
	}

private:
	static std::uint32_t queue_end(int fd, int queue)
	{
		set_option(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, queue);
		return option<std::uint32_t>(fd, IPPROTO_TCP, TCP_QUEUE_SEQ);
	}

	static void set_queue_end(int fd, int queue, std::uint32_t end)
	{
		set_option(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, queue);
		set_option(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, end);
	}

	// Those that both sides had agreed on; numbers of TCP's options.
	void set_options(int fd) const
	{
		std::vector<tcp_repair_opt> all{{.opt_code = 2, .opt_val = mss_}};

		const std::uint32_t send_scale = info_.tcpi_snd_wscale;
		const std::uint32_t receive_scale = info_.tcpi_rcv_wscale;

		if (info_.tcpi_options & TCPI_OPT_WSCALE)
			all.push_back({.opt_code = 3,
				       .opt_val = send_scale | receive_scale << 16U});
		if (info_.tcpi_options & TCPI_OPT_SACK)
			all.push_back({.opt_code = 4, .opt_val = 0});
		if (info_.tcpi_options & TCPI_OPT_TIMESTAMPS)
			all.push_back({.opt_code = 8, .opt_val = 0});
		if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_OPTIONS, all.data(),
			       all.size() * sizeof(all[0])))
			fail("TCP_REPAIR_OPTIONS");
		set_option(fd, IPPROTO_TCP, TCP_TIMESTAMP, stamp_);
	}

	std::uint32_t sent_, received_, stamp_, mss_;
	tcp_repair_window window_;
	tcp_info info_;
};

} // namespace

Address Address::parse(const std::string &text)
{
	const auto colon = text.rfind(':');
	addrinfo hints{}, *found = nullptr;
	Address address;

	if (colon == std::string::npos)
		throw std::invalid_argument(text + " is not ADDR:PORT");
	auto host = text.substr(0, colon);
	if (host.size() > 2 && host.front() == '[')
		host = host.substr(1, host.size() - 2);
	hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(host.c_str(), text.substr(colon + 1).c_str(), &hints,
			&found))
		throw std::invalid_argument(text + " is not ADDR:PORT");
	std::copy_n(reinterpret_cast<const char *>(found->ai_addr),
		    found->ai_addrlen,
		    reinterpret_cast<char *>(&address.storage_));
	freeaddrinfo(found);
	return address;
}

const sockaddr *Address::raw() const
{
	return reinterpret_cast<const sockaddr *>(&storage_);
}

socklen_t Address::length() const
{
	return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

// At the same offset in both families.
std::uint16_t Address::port() const
{
	return ntohs(reinterpret_cast<const sockaddr_in *>(&storage_)->sin_port);
}

Address Address::with_port(std::uint16_t port) const
{
	Address other = *this;

	reinterpret_cast<sockaddr_in *>(&other.storage_)->sin_port = htons(port);
	return other;
}

std::string Address::host() const
{
	std::array<char, NI_MAXHOST> name{};

	getnameinfo(raw(), length(), name.data(), name.size(), nullptr, 0,
		    NI_NUMERICHOST);
	return name.data();
}

bool Socket::ready(short events, Time until) const
{
	pollfd one{.fd = fd_, .events = events, .revents = 0};

	for (;;) {
		const auto left = std::chrono::ceil<milliseconds>(
			until - Clock::now()).count();
		const int n = poll(&one, 1, left > 0 ? static_cast<int>(left) : 0);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			fail("poll");
		if (n == 0 && Clock::now() >= until)
			return false;
	}
}

Socket Socket::connect(const Address &to, Time until)
{
	Socket s(socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0));
	socklen_t length = sizeof(errno);
	int error = 0;

	if (!s.open())
		fail("socket");
	if (::connect(s.fd_, to.raw(), to.length()) && errno != EINPROGRESS)
		fail("connect");
	if (!s.ready(POLLOUT, until)) {
		errno = ETIMEDOUT;
		fail("connect");
	}
	getsockopt(s.fd_, SOL_SOCKET, SO_ERROR, &error, &length);
	if (error) {
		errno = error;
		fail("connect");
	}
	// Each send() must become a segment.
	set_option(s.fd_, IPPROTO_TCP, TCP_NODELAY, 1);
	return s;
}

Socket Socket::listen(const Address &at)
{
	Socket s(socket(at.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0));

	if (!s.open())
		fail("socket");
	set_option(s.fd_, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(s.fd_, at.raw(), at.length()))
		fail("bind");
	if (::listen(s.fd_, 16))
		fail("listen");
	return s;
}

bool Socket::asked(Time until) const
{
	return ready(POLLIN, until);
}

Socket Socket::accept(Time until) const
{
	if (!ready(POLLIN, until)) {
		errno = ETIMEDOUT;
		fail("accept");
	}
	Socket s(accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
	if (!s.open())
		fail("accept");
	set_option(s.fd_, IPPROTO_TCP, TCP_NODELAY, 1);
	return s;
}

std::size_t Socket::send(const Bytes &bytes, Time until)
{
	std::size_t done = 0;

	while (done < bytes.size() && ready(POLLOUT, until)) {
		const auto n = ::send(fd_, bytes.data() + done,
				      bytes.size() - done, MSG_NOSIGNAL);

		if (n > 0)
			done += n;
		else if (errno == EPIPE || errno == ECONNRESET)
			break;
		else if (errno != EAGAIN && errno != EINTR)
			fail("send");
	}
	return done;
}

End Socket::receive(Bytes &to, Time until)
{
	std::array<std::uint8_t, 65536> some;

	for (;;) {
		if (!ready(POLLIN, until))
			return End::none;
		const auto n = recv(fd_, some.data(), some.size(), 0);
		if (n > 0) {
			to.insert(to.end(), some.begin(), some.begin() + n);
			return End::none;
		}
		if (!n)
			return End::fin;
		// EPIPE: a RST found our own half closed already.
		if (errno == ECONNRESET || errno == EPIPE)
			return End::reset;
		if (errno != EAGAIN && errno != EINTR)
			fail("recv");
	}
}

void Socket::shift(std::int32_t by)
{
	const Address from = local(), to = remote();
	Repair state(fd_);

	// Without a packet.
	close();
	fd_ = socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!open())
		fail("socket");
	state.resume(fd_, from, to, by);
	fcntl(fd_, F_SETFL, O_NONBLOCK);
	set_option(fd_, IPPROTO_TCP, TCP_NODELAY, 1);
}

void Socket::fin()
{
	shutdown(fd_, SHUT_WR);
}

void Socket::reset()
{
	const linger now{.l_onoff = 1, .l_linger = 0};

	setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close();
}

void Socket::close()
{
	if (fd_ >= 0)
		::close(fd_);
	fd_ = -1;
}

Address Socket::local() const
{
	Address address;
	socklen_t length = sizeof(address.storage_);

	getsockname(fd_, reinterpret_cast<sockaddr *>(&address.storage_),
		    &length);
	return address;
}

Address Socket::remote() const
{
	Address address;
	socklen_t length = sizeof(address.storage_);

	getpeername(fd_, reinterpret_cast<sockaddr *>(&address.storage_),
		    &length);
	return address;
}

} // namespace peer
