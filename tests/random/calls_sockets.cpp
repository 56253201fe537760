// SPDX-License-Identifier: GPL-2.0-only
//
// TCP sockets, with the protocol mpa and without, and what peers write into them.
#include "address.hpp"
#include "calls.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/mpa.h>
#include <linux/sockios.h>
#include <linux/tcp_framing.h>

namespace calls
{

namespace
{

void set_int(int fd, int level, int name, int value)
{
	::setsockopt(fd, level, name, &value, sizeof(value));
}

// One in 32 is not mapped.
unsigned char *buffer(World &world, std::uint32_t number)
{
	return number % 32 == 31 ? reinterpret_cast<unsigned char *>(4096) : world.at(number);
}

// Of a host, or of its loopback device; of IPv6 at times, also for IPv4.
Address address_of(std::uint32_t host, std::uint32_t kind, std::uint16_t port)
{
	const Address::Kind of = kind % 16 == 0	 ? Address::Kind::mapped
				 : kind % 4 == 0 ? Address::Kind::ipv6
				 : kind % 4 == 1 ? Address::Kind::loopback
						 : Address::Kind::ipv4;

	return {of, host, port};
}

void listen_tcp(World &world, const Args &args)
{
	world.enter(args[0]);
	// At times where a listener of the connection manager wants to be.
	const bool shared = args[2] / 16 % 8 == 0;
	Address address = address_of(args[0], args[1], shared ? listener_port(args[2]) : 0);
	const int fd = ::socket(address.family(),
				SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, shared);
	if (args[3] % 4 == 0)
		::setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3);
	if (::bind(fd, address.get(), address.size()) ||
	    ::listen(fd, static_cast<int>(args[2] % 9)))
		::close(fd);
	else
		world.listeners.add(fd);
}

// From either host to a listener, wherever it is.
void connect_tcp(World &world, const Args &args)
{
	Address address = Address::of_socket(world.listeners.get(args[0]));

	if (address.family() == AF_UNSPEC)
		return;
	world.enter(args[1]);
	const int fd = ::socket(address.family(),
				SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (args[2] % 4 == 0)
		::setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3);
	// Nobody has this address.
	if (args[2] / 4 % 16 == 0 && address.family() == AF_INET)
		reinterpret_cast<sockaddr_in *>(address.get())->sin_addr.s_addr =
			htonl(0x0a4d0009);
	::connect(fd, address.get(), address.size());
	// Before it is connected, perhaps.
	if (args[3] % 4 == 0) {
		pollfd one{fd, POLLIN | POLLOUT, 0};

		if (args[3] / 4 % 4 == 0)
			set_int(fd, SOL_TCP, TCP_FRAMING_MODE,
				TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_ALIGN);
		(void)!::send(fd, world.memory, args[3] % 100, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)!::recv(fd, world.memory, 100, MSG_DONTWAIT);
		::poll(&one, 1, 0);
	}
	world.fds.add(fd);
}

void accept_tcp(World &world, const Args &args)
{
	const int listener = world.listeners.get(args[0]);
	pollfd one{listener, POLLIN, 0};

	::poll(&one, 1, 5);
	const int fd = ::accept4(listener, nullptr, nullptr,
				 args[1] % 8 ? SOCK_NONBLOCK : 0);
	if (fd >= 0)
		world.fds.add(fd);
}

void attach(World &world, const Args &args)
{
	const int fd = args[1] % 16 ? world.fds.get(args[0])
				    : world.listeners.get(args[0]);
	static constexpr std::array<std::string_view, 3> others{"mptcp", "tls", "smc"};
	const std::string_view name =
		args[2] % 8 ? "mpa" : others[args[2] / 8 % others.size()];

	::setsockopt(fd, SOL_TCP, TCP_ULP, name.data(),
		     static_cast<socklen_t>(name.size()));
}

// TCP's framing protocol: what one end sends is what the other one expects.
void frame_pair(int near, int far, std::uint32_t number)
{
	struct Way {
		int send, receive;
	};
	static constexpr std::array<Way, 3> ways{
		{{TCP_FRAMING_SEND_ALIGN, TCP_FRAMING_RECV_ALIGN},
		 {TCP_FRAMING_SEND_MARKERS, TCP_FRAMING_RECV_MARKERS},
		 {TCP_FRAMING_SEND_ATOMIC, 0}}};
	const Way &there = ways[number % 3], &back = ways[number / 3 % 3];
	const int interval = number / 9 % 3 ? 8 << number / 27 % 9
					    : static_cast<int>(number / 27);

	if (number / 9 % 2) {
		set_int(near, SOL_TCP, TCP_FRAMING_SEND_INTERVAL, interval);
		set_int(far, SOL_TCP, TCP_FRAMING_RECV_INTERVAL, interval);
	}
	set_int(near, SOL_TCP, TCP_FRAMING_PACK_PDUS, number / 18 % 2);
	set_int(near, SOL_TCP, TCP_FRAMING_EMERGENCY, number / 36 % 2);
	set_int(near, SOL_TCP, TCP_FRAMING_EMSS_NOTICE, number / 72 % 2);
	set_int(near, SOL_TCP, TCP_FRAMING_MODE, there.send | back.receive);
	set_int(far, SOL_TCP, TCP_FRAMING_MODE, back.send | there.receive);
	unsigned char key[TCP_FRAMING_KEY_LEN];
	socklen_t size = sizeof(key);
	if (!::getsockopt(near, SOL_TCP, TCP_FRAMING_SEND_KEY, key, &size))
		::setsockopt(far, SOL_TCP, TCP_FRAMING_RECV_KEY, key, size);
	if (!::getsockopt(far, SOL_TCP, TCP_FRAMING_SEND_KEY, key, &size))
		::setsockopt(near, SOL_TCP, TCP_FRAMING_RECV_KEY, key, size);
}

// Both ends, attached or in operation.
void pair(World &world, const Args &args)
{
	const std::uint32_t host = args[0];

	world.enter(host);
	Address address = address_of(host, args[1], 0);
	const int listener =
		::socket(address.family(), SOCK_STREAM, 0);
	// What one end has sent does not fit at the other one.
	if (args[1] / 4 % 4 == 0)
		set_int(listener, SOL_SOCKET, SO_RCVBUF, static_cast<int>(args[1] / 16 % 8192));
	if (args[2] / 4 % 8 == 0)
		set_int(listener, SOL_TCP, TCP_MAXSEG, static_cast<int>(88 + args[2] / 32 % 500));
	// It starts those that it accepts, or not.
	const bool starts = args[0] / 2 % 4 == 0;
	if (starts) {
		::setsockopt(listener, SOL_TCP, TCP_ULP, "mpa", 3);
		mpa_sock_params params{};
		params.flags = args[0] & (MPA_F_MARKERS | MPA_F_AUTO_ACCEPT | MPA_F_PLAIN);
		params.startup = static_cast<std::uint8_t>(args[0] / 8 % 3);
		::setsockopt(listener, SOL_MPA, MPA_SO_PARAMS, &params, sizeof(params));
		if (args[0] / 8 % 4)
			set_int(listener, SOL_MPA, MPA_SO_START, MPA_ROLE_RESPONDER);
	}
	if (::bind(listener, address.get(), address.size()) ||
	    ::listen(listener, 4)) {
		::close(listener);
		return;
	}
	address = Address::of_socket(listener);
	if (args[1] % 4 != 1)
		world.enter(host + 1);
	const int near = ::socket(address.family(),
				  SOCK_STREAM | SOCK_NONBLOCK, 0);
	::connect(near, address.get(), address.size());
	pollfd one{listener, POLLIN, 0};
	::poll(&one, 1, 200);
	::fcntl(listener, F_SETFL, O_NONBLOCK);
	const int far = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
	::close(listener);
	if (far < 0) {
		::close(near);
		return;
	}
	world.fds.add(near);
	world.fds.add(far);
	if (args[2] % 4 == 0)
		return;
	mpa_sock_params params{};

	params.flags = (args[3] % 2 ? std::uint32_t{MPA_F_MARKERS} : 0) |
		       (args[3] % 4 ? std::uint32_t{MPA_F_AUTO_ACCEPT} : 0) |
		       (args[3] % 5 ? 0 : std::uint32_t{MPA_F_NO_CRC});
	params.rev = args[3] % 3 ? MPA_REV_AUTO : 1;
	params.startup = static_cast<std::uint8_t>(args[3] / 8 % 4 ? 0 : args[3] / 32 % 3);
	for (int fd : {near, far}) {
		::setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3);
		::setsockopt(fd, SOL_MPA, MPA_SO_PARAMS, &params,
			     sizeof(params));
	}
	if (args[2] % 4 == 1) {
		frame_pair(near, far, args[3]);
		return;
	}
	// It answers a Reply.
	if (args[3] / 64 % 4 == 0) {
		params.flags |= MPA_F_REVIEW;
		::setsockopt(near, SOL_MPA, MPA_SO_PARAMS, &params, sizeof(params));
	}
	set_int(near, SOL_MPA, MPA_SO_START, MPA_ROLE_INITIATOR);
	set_int(far, SOL_MPA, MPA_SO_START, MPA_ROLE_RESPONDER);
	if (args[2] % 4 == 2) {
		one = {near, POLLOUT, 0};
		::poll(&one, 1, 20);
		(void)!::send(near, "first", 5, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

void start(World &world, const Args &args)
{
	const int role =
		static_cast<int>(args[1] % 8 ? 1 + args[1] % 2 : args[1]);

	::setsockopt(args[2] % 8 ? world.fds.get(args[0])
				 : world.listeners.get(args[0]),
		     SOL_MPA, MPA_SO_START, &role, sizeof(role));
}

// What streaming mode has sent is still there, or it can send no more.
void start_full(World &world, const Args &args)
{
	const int fd = world.fds.get(args[0]);

	set_int(fd, SOL_SOCKET, SO_SNDBUF, static_cast<int>(args[1] % 16384));
	for (int n = 0; n < 64; n++)
		if (::send(fd, world.memory, 4096, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
	::setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3);
	if (args[2] % 2)
		::setsockopt(fd, SOL_MPA, MPA_SO_LAST_MESSAGE, world.memory, args[2] % 512);
	if (args[2] / 2 % 4 == 0)
		::shutdown(fd, SHUT_WR);
	if (args[3] % 8)
		set_int(fd, SOL_MPA, MPA_SO_START,
			args[3] / 8 % 2 ? MPA_ROLE_INITIATOR : MPA_ROLE_RESPONDER);
	else
		set_int(fd, SOL_TCP, TCP_FRAMING_MODE, TCP_FRAMING_SEND_ALIGN);
}

void set_params(World &world, const Args &args)
{
	mpa_sock_params params{};

	params.flags = args[1] % 4 ? args[1] & 0x19f : args[1];
	params.rev = static_cast<std::uint8_t>(args[2] % 4 ? MPA_REV_AUTO
							   : args[2] / 4 % 4);
	params.ird = static_cast<std::uint16_t>(args[2] % 64);
	params.ord = static_cast<std::uint16_t>(args[3] % 64);
	params.timeout_ms = args[3];
	params.startup = static_cast<std::uint8_t>(args[3] % 3);
	::setsockopt(args[0] % 8 ? world.fds.get(args[0])
				 : world.listeners.get(args[0]),
		     SOL_MPA, MPA_SO_PARAMS, &params, sizeof(params));
}

void answer(World &world, const Args &args)
{
	::setsockopt(world.fds.get(args[0]), SOL_MPA,
		     args[1] % 4 ? MPA_SO_ACCEPT : MPA_SO_REJECT,
		     buffer(world, args[2]), args[3] % 4 == 0   ? args[3]
		     : args[3] % 4 == 1 ? 0
					: args[3] % 64);
}

void set_option(World &world, const Args &args)
{
	::setsockopt(args[0] % 8 ? world.fds.get(args[0]) : world.listeners.get(args[0]), SOL_MPA,
		     static_cast<int>(args[1] % 13), buffer(world, args[2]),
		     args[3] % 4 == 0   ? args[3]
		     : args[3] % 4 == 1 ? args[3] / 4 % 200
					: 4);
}

void get_option(World &world, const Args &args)
{
	socklen_t size = args[3];

	::getsockopt(world.fds.get(args[0]), SOL_MPA,
		     static_cast<int>(args[1] % 13), buffer(world, args[2]), &size);
}

void framing(World &world, const Args &args)
{
	static constexpr int modes[]{
		TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_ALIGN,
		TCP_FRAMING_SEND_MARKERS | TCP_FRAMING_RECV_MARKERS,
		TCP_FRAMING_SEND_ATOMIC, TCP_FRAMING_SEND_ALIGN,
		TCP_FRAMING_RECV_MARKERS};
	const int fd = world.fds.get(args[0]);
	const int option = TCP_FRAMING_MODE + static_cast<int>(args[1] % 11);
	int value = static_cast<int>(args[2]);
	socklen_t size = sizeof(value);

	if (option == TCP_FRAMING_MODE && args[3] % 8)
		value = modes[args[2] % 5];
	if (args[3] % 4 == 0)
		::getsockopt(fd, SOL_TCP, option, buffer(world, args[2]), &size);
	else if (option == TCP_FRAMING_RECV_KEY)
		::setsockopt(fd, SOL_TCP, option, buffer(world, args[2]),
			     TCP_FRAMING_KEY_LEN);
	else
		::setsockopt(fd, SOL_TCP, option, &value, sizeof(value));
}

// Options of TCP, IP and sockets that work on the stream underneath.
void other_option(World &world, const Args &args)
{
	struct Option {
		int level, name;
	};
	static constexpr Option options[]{
		{SOL_TCP, TCP_NODELAY},	    {SOL_TCP, TCP_CORK},
		{SOL_TCP, TCP_MAXSEG},	    {SOL_TCP, TCP_USER_TIMEOUT},
		{SOL_TCP, TCP_REPAIR},	    {SOL_TCP, TCP_WINDOW_CLAMP},
		{SOL_TCP, TCP_QUICKACK},    {SOL_TCP, TCP_KEEPIDLE},
		{SOL_TCP, TCP_LINGER2},	    {SOL_TCP, TCP_NOTSENT_LOWAT},
		{SOL_TCP, TCP_INQ},	    {SOL_TCP, TCP_TX_DELAY},
		{SOL_SOCKET, SO_SNDBUF},    {SOL_SOCKET, SO_RCVBUF},
		{SOL_SOCKET, SO_RCVLOWAT},  {SOL_SOCKET, SO_KEEPALIVE},
		{SOL_SOCKET, SO_OOBINLINE}, {SOL_SOCKET, SO_ZEROCOPY},
		{SOL_SOCKET, SO_PRIORITY},  {SOL_SOCKET, SO_MARK},
		{SOL_SOCKET, SO_TIMESTAMP}, {SOL_SOCKET, SO_BUSY_POLL},
		{SOL_SOCKET, SO_PEEK_OFF},  {SOL_IP, IP_TOS},
		{SOL_IP, IP_RECVERR},	    {SOL_IPV6, IPV6_ADDRFORM},
		{SOL_IPV6, IPV6_V6ONLY}};
	const Option &one =
		options[args[1] % (sizeof(options) / sizeof(*options))];
	const int fd = world.fds.get(args[0]);
	int value = static_cast<int>(args[2]);
	socklen_t size = sizeof(value);

	if (one.name == IPV6_ADDRFORM && one.level == SOL_IPV6)
		value = AF_INET;
	if (args[3] % 4)
		::setsockopt(fd, one.level, one.name, &value, sizeof(value));
	else
		::getsockopt(fd, one.level, one.name, &value, &size);
}

int message_flags(std::uint32_t number)
{
	return static_cast<int>(
		(number & (MSG_MORE | MSG_OOB | MSG_PEEK | MSG_TRUNC |
			   MSG_WAITALL | MSG_ZEROCOPY | MSG_EOR)) |
		MSG_DONTWAIT | MSG_NOSIGNAL);
}

void send_some(World &world, const Args &args)
{
	const int fd = world.fds.get(args[0]);
	const std::size_t size =
		args[1] % 8 ? args[1] % 3000 : args[1] % 200000;
	const int flags = message_flags(args[3] % 4 ? 0 : args[2]);

	if (args[3] % 3 == 0) {
		iovec parts[3]{{buffer(world, args[2]), size},
			       {buffer(world, args[1]), size % 7},
			       {world.memory, args[2] % 600}};
		msghdr message{};

		message.msg_iov = parts;
		message.msg_iovlen = 1 + args[2] % 3;
		::sendmsg(fd, &message, flags);
	} else {
		(void)!::send(fd, buffer(world, args[2]), size, flags);
	}
}

void receive_some(World &world, const Args &args)
{
	const int fd = world.fds.get(args[0]);
	const std::size_t size = args[1] % 8 ? 4096 : args[1] % 70000;
	int flags = message_flags(args[3] % 4 ? 0 : args[2]) & ~MSG_MORE;

	// It sleeps meanwhile.
	if (args[2] / 64 % 16 == 0) {
		const timeval time{0, 20000};

		::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
		::fcntl(fd, F_SETFL, 0);
		flags &= ~MSG_DONTWAIT;
	}
	if (args[3] % 3 == 0) {
		iovec parts[2]{{buffer(world, args[2]), size},
			       {buffer(world, args[1]), size % 77}};
		msghdr message{};

		message.msg_iov = parts;
		message.msg_iovlen = 1 + args[2] % 2;
		::recvmsg(fd, &message, flags);
	} else {
		(void)!::recv(fd, buffer(world, args[2]), size, flags);
	}
}

// More than TCP takes.
void flood(World &world, const Args &args)
{
	const int fd = world.fds.get(args[0]);
	const std::size_t size = args[1] % 4 ? args[1] % 700 : args[1] % 60000;
	const int more = args[2] % 3 ? 0 : int{MSG_MORE};

	for (std::uint32_t n = args[2] % 256; n; n--)
		if (::send(fd, world.at(args[3]), size, MSG_DONTWAIT | MSG_NOSIGNAL | more) < 0)
			break;
}

void splice_some(World &world, const Args &args)
{
	const int fd = world.fds.get(args[0]);
	int ends[2];

	if (::pipe2(ends, O_NONBLOCK))
		return;
	if (args[1] % 3 == 0) {
		(void)!::splice(fd, nullptr, ends[1], nullptr, args[2] % 70000,
				SPLICE_F_NONBLOCK);
	} else if (args[1] % 3 == 1) {
		(void)!::write(ends[1], world.memory, args[2] % 5000);
		(void)!::splice(ends[0], nullptr, fd, nullptr, args[2] % 5000,
				SPLICE_F_NONBLOCK |
					(args[3] % 2 ? SPLICE_F_MORE : 0));
	} else if (const int file = ::open("/proc/self/exe", O_RDONLY);
		   file >= 0) {
		::fcntl(fd, F_SETFL, O_NONBLOCK);
		(void)!::sendfile(fd, file, nullptr, args[2] % 9000);
		::close(file);
	}
	::close(ends[0]);
	::close(ends[1]);
}

// Frames and FPDUs as a peer could write them, mostly nearly right.
void write_wire(World &world, const Args &args)
{
	static constexpr char keys[3][17]{
		"MPA ID Req Frame", "MPA ID Rep Frame", "MPA Start Key..."};
	programs::Random random(args[1]);
	unsigned char bytes[2048];
	std::size_t size = 20;

	if (args[2] % 2) {
		std::memcpy(bytes, keys[args[2] / 2 % 3], 16);
		bytes[16] = static_cast<unsigned char>(
			random.one_in(4) ? random.next()
					 : 0x40 | (random.next() & 0x90));
		bytes[17] = static_cast<unsigned char>(random.below(3));
		bytes[18] = random.one_in(8);
		bytes[19] = static_cast<unsigned char>(random.below(32));
		for (; size < 20u + bytes[18] * 256u + bytes[19]; size++)
			bytes[size] = static_cast<unsigned char>(random.next());
	} else {
		const std::uint32_t length = random.below(200);

		bytes[0] = 0;
		bytes[1] = static_cast<unsigned char>(length);
		for (size = 2; size < length + 8u; size++)
			bytes[size] = static_cast<unsigned char>(
				random.one_in(2) ? 0 : random.next());
		// A DDP header: tagged or not, last or not.
		bytes[2] = static_cast<unsigned char>(random.next() & 0xc1);
		bytes[3] = static_cast<unsigned char>(0x40 | random.below(16));
	}
	if (random.one_in(4))
		size = random.below(static_cast<std::uint32_t>(size)) + 1;
	(void)!::send(world.fds.get(args[0]), bytes, size,
		      MSG_DONTWAIT | MSG_NOSIGNAL);
}

void wait_for(World &world, const Args &args)
{
	pollfd some[4];

	for (std::uint32_t n = 0; n < 4; n++)
		some[n] = {world.fds.get(args[0] + n),
			   static_cast<short>(args[1] % 2 ? POLLIN | POLLPRI
							  : args[1]),
			   0};
	::poll(some, 4, static_cast<int>(args[2] % 8));
}

void epoll(World &world, const Args &args)
{
	const int set = ::epoll_create1(0);
	epoll_event event{};

	event.events = args[1] % 2 ? EPOLLIN | EPOLLOUT | EPOLLET : args[1];
	::epoll_ctl(set, EPOLL_CTL_ADD, world.fds.get(args[0]), &event);
	::epoll_wait(set, &event, 1, static_cast<int>(args[2] % 4));
	// Some stay, and hold the socket.
	if (args[3] % 4)
		::close(set);
}

void shut(World &world, const Args &args)
{
	::shutdown(args[2] % 16 ? world.fds.get(args[0])
				: world.listeners.get(args[0]),
		   static_cast<int>(args[1] % 3));
}

// The socket forgets its peer, or listens.
void again(World &world, const Args &args)
{
	const int fd = args[2] % 4 ? world.fds.get(args[0])
				   : world.listeners.get(args[0]);
	sockaddr none{};

	if (args[1] % 2)
		::connect(fd, &none, sizeof(none));
	else
		::listen(fd, 4);
}

void end(World &world, const Args &args)
{
	if (args[2] % 3 == 0) {
		const linger at_once{1, 0};

		::setsockopt(world.fds.get(args[0]), SOL_SOCKET, SO_LINGER,
			     &at_once, sizeof(at_once));
	}
	const int fd = args[1] % 8 ? world.fds.take(args[0])
				   : world.listeners.take(args[0]);
	if (fd > 2)
		::close(fd);
}

void queue_lengths(World &world, const Args &args)
{
	int value;

	::ioctl(world.fds.get(args[0]),
		args[1] % 4 == 0   ? SIOCINQ
		: args[1] % 4 == 1 ? SIOCOUTQ
		: args[1] % 4 == 2 ? SIOCOUTQNSD
				   : SIOCATMARK,
		&value);
	::fcntl(world.fds.get(args[0]), F_SETFL, args[2] % 8 ? O_NONBLOCK : 0);
}

} // namespace

std::vector<Kind> of_sockets()
{
	return {{"listen_tcp", 3, listen_tcp},
		{"connect_tcp", 8, connect_tcp},
		{"accept_tcp", 8, accept_tcp},
		{"attach", 8, attach},
		{"pair", 12, pair},
		{"start", 8, start},
		{"start_full", 3, start_full},
		{"set_params", 8, set_params},
		{"answer", 5, answer},
		{"set_option", 6, set_option},
		{"get_option", 6, get_option},
		{"framing", 8, framing},
		{"other_option", 8, other_option},
		{"send_some", 20, send_some},
		{"receive_some", 20, receive_some},
		{"flood", 2, flood},
		{"splice_some", 4, splice_some},
		{"write_wire", 10, write_wire},
		{"wait_for", 4, wait_for},
		{"epoll", 2, epoll},
		{"shut", 4, shut},
		{"again", 2, again},
		{"end", 6, end},
		{"queue_lengths", 2, queue_lengths}};
}

} // namespace calls
