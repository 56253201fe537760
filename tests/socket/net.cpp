// SPDX-License-Identifier: GPL-2.0-only
#include "net.hpp"

#include <fcntl.h>
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>

namespace net {

using namespace harness;

std::ostream &operator<<(std::ostream &out, Path path)
{
	constexpr std::array names{"IPv4", "IPv6", "loopback"};

	return out << names[static_cast<std::size_t>(path)];
}

static int family_of(Path path)
{
	return path == Path::ipv6 ? AF_INET6 : AF_INET;
}

Inside::Inside(int host)
	: home_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
{
	const std::string name = "/run/netns/h" + std::to_string(host);
	const descriptor there(::open(name.c_str(), O_RDONLY | O_CLOEXEC));

	must_call(there.get(), name);
	must_call(::setns(there.get(), CLONE_NEWNET), "setns");
}

Inside::~Inside()
{
	::setns(home_.get(), CLONE_NEWNET);
}

descriptor tcp_socket(Path path, int host)
{
	const Inside inside(path == Path::loopback ? 1 : host);

	return descriptor(static_cast<int>(must_call(
		::socket(family_of(path), SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")));
}

Address address_of(Path path)
{
	Address address;

	if (path == Path::ipv6) {
		auto *v6 = reinterpret_cast<sockaddr_in6 *>(&address.storage);

		v6->sin6_family = AF_INET6;
		::inet_pton(AF_INET6, "fd77::2", &v6->sin6_addr);
		address.size = sizeof(*v6);
	} else {
		auto *v4 = reinterpret_cast<sockaddr_in *>(&address.storage);
		const char *text = path == Path::ipv4 ? "10.77.0.2" : "127.0.0.1";

		v4->sin_family = AF_INET;
		::inet_pton(AF_INET, text, &v4->sin_addr);
		address.size = sizeof(*v4);
	}
	return address;
}

Listener::Listener(Path path, int backlog)
	: path(path), fd(tcp_socket(path, 2)), address(address_of(path))
{
	must_call(::bind(fd.get(), address.generic(), address.size), "bind");
	must_call(::listen(fd.get(), backlog), "listen");
	must_call(::getsockname(fd.get(), address.generic(), &address.size),
		  "getsockname");
}

static void set_buffers(int fd, Buffers buffers)
{
	if (buffers.send)
		must_call(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffers.send,
				       sizeof(int)), "SO_SNDBUF");
	if (buffers.receive)
		must_call(::setsockopt(fd, SOL_SOCKET, SO_RCVBUF,
				       &buffers.receive, sizeof(int)),
			  "SO_RCVBUF");
}

descriptor connect_to(Path path, Address address, Buffers buffers)
{
	descriptor fd = tcp_socket(path, 1);

	set_buffers(fd.get(), buffers);
	must_call(::connect(fd.get(), address.generic(), address.size), "connect");
	return fd;
}

descriptor connect_to(const Listener &listener, Buffers buffers)
{
	return connect_to(listener.path, listener.address, buffers);
}

descriptor accept_from(const Listener &listener)
{
	return descriptor(static_cast<int>(must_call(
		::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC),
		"accept")));
}

Tcp::Tcp(Path path, Buffers buffers)
{
	const Listener listener(path);

	set_buffers(listener.fd.get(), buffers);
	near = connect_to(listener, buffers);
	far = accept_from(listener);
}

mpa::socket attach(descriptor fd)
{
	return must(mpa::socket::attach(std::move(fd)), "attach");
}

Attached::Attached(descriptor near, descriptor far)
	: near(attach(std::move(near))), far(attach(std::move(far)))
{
}

static Attached attach_both(Tcp tcp)
{
	return {std::move(tcp.near), std::move(tcp.far)};
}

Attached::Attached(Path path, Buffers buffers)
	: Attached(attach_both(Tcp(path, buffers)))
{
}

void begin(mpa::socket &socket, mpa::role role)
{
	must(socket.set_blocking(false), "O_NONBLOCK");
	const Err started = err(socket.start(role));

	// A peer that is fast enough may have answered before the call returns.
	if (started != Err{0})
		is(started, EINPROGRESS, "start");
}

void expect_text(int fd, std::string_view wanted)
{
	std::string text(wanted.size(), '\0');
	std::size_t had = 0;

	while (had < wanted.size()) {
		await_events(fd, POLLIN, "bytes");
		const auto got = must_call(::recv(fd, &text[had], wanted.size() - had, 0),
					   "recv");
		yes(got > 0, "not the end");
		had += static_cast<std::size_t>(got);
	}
	is(text, std::string(wanted), "bytes");
}

void await_asleep(const std::atomic<pid_t> &thread)
{
	await([&] {
		const std::string path = "/proc/self/task/" +
					 std::to_string(thread.load()) + "/wchan";
		char words[64] = "";
		const descriptor file(::open(path.c_str(), O_RDONLY));

		return file && ::read(file.get(), words, 60) > 1;
	}, "a thread that waits");
}

void state_is(mpa::socket &socket, mpa::state wanted, std::source_location at)
{
	is(name(must(socket.info(), "info").state), name(wanted), "state", at);
}

void await_request(mpa::socket &socket)
{
	await_events(socket.fd(), POLLPRI | POLLIN, "a Request");
}

void await_operational(mpa::socket &socket)
{
	await([&] { return must(socket.info(), "info").state ==
			   mpa::state::operational; }, "full operation");
}

Pair::Pair(Path path, mpa::params near, mpa::params far, Buffers buffers)
	: Attached(path, buffers)
{
	run(near, far);
}

Pair::Pair(descriptor near, descriptor far)
	: Attached(std::move(near), std::move(far))
{
	run({}, {});
}

void Pair::run(const mpa::params &near_params, const mpa::params &far_params)
{
	must(near.set_params(near_params), "parameters");
	must(far.set_params(far_params), "parameters");
	begin(far, mpa::role::responder);
	begin(near, mpa::role::initiator);
	if (!far_params.auto_accept) {
		await_request(far);
		must(far.accept_request(), "accept");
	}
	await_operational(near);
	await_operational(far);
	must(near.set_blocking(true), "blocking");
	must(far.set_blocking(true), "blocking");
	must(near.send(mpa::bytes("first")), "first ULPDU");
	expect_ulpdu(far, mpa::bytes("first"));
}

Bytes pattern(std::size_t size, unsigned int number)
{
	Bytes bytes(size);

	for (std::size_t i = 0; i < size; i++)
		bytes[i] = static_cast<std::byte>(number * 37 + i * 5 + (i >> 8));
	return bytes;
}

void expect_ulpdu(mpa::socket &socket, mpa::const_buffer wanted,
		  std::source_location at)
{
	Bytes buffer(mpa::ulpdu_max);
	const auto ready = must(socket.wait(POLLIN, patience), "poll", at);

	yes(ready & POLLIN, "a ULPDU comes", at);
	const auto got = must(socket.receive(buffer), "receive", at);
	yes(!got.end, "it is not the end", at);
	is(got.size, wanted.size(), "length of the ULPDU", at);
	yes(!got.truncated, "it is whole", at);
	yes(std::ranges::equal(mpa::const_buffer(buffer).first(got.size), wanted),
	    "its bytes", at);
}

void expect_end(mpa::socket &socket, std::source_location at)
{
	Bytes buffer(16);

	yes(must(socket.wait(POLLIN, patience), "poll", at) & POLLIN,
	    "the end comes", at);
	for (int n = 0; n < 2; n++)
		yes(must(socket.receive(buffer), "receive", at).end,
		    "it is the end", at);
}

void expect_failed(mpa::socket &socket, int error, std::source_location at)
{
	Bytes buffer(16);

	await_events(socket.fd(), POLLERR | POLLHUP, "failure", at);
	is(err(socket.pending_error()), error, "SO_ERROR", at);
	for (int n = 0; n < 2; n++) {
		is(err(socket.receive(buffer)), error, "receive", at);
		is(err(socket.send(mpa::bytes("x"))), error, "send", at);
	}
	const auto info = must(socket.info(), "info", at);
	is(name(info.state), name(mpa::state::failed), "state", at);
	is(err(info.error), error, "error of the state", at);
}

short events_of(int fd, short asked)
{
	pollfd one{.fd = fd, .events = asked, .revents = 0};

	must_call(::poll(&one, 1, 0), "poll");
	return one.revents;
}

void await_events(int fd, short wanted, const std::string &what,
		  std::source_location at)
{
	await([&] { return (events_of(fd) & wanted) == wanted; }, what, at);
}

// --- byte by byte ---------------------------------------------------------

std::uint32_t crc32c(mpa::const_buffer bytes)
{
	std::uint32_t crc = 0xffffffff;

	for (const auto byte : bytes) {
		crc ^= std::to_integer<std::uint32_t>(byte);
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

Bytes operator+(Bytes left, mpa::const_buffer right)
{
	left.insert(left.end(), right.begin(), right.end());
	return left;
}

static void put16(Bytes &out, unsigned int value)
{
	out.push_back(static_cast<std::byte>(value >> 8));
	out.push_back(static_cast<std::byte>(value));
}

// As in the stream: the lowest byte first.
static void put_crc(Bytes &out, std::uint32_t crc)
{
	for (int n = 0; n < 4; n++)
		out.push_back(static_cast<std::byte>(crc >> (8 * n)));
}

static Bytes frame(std::string_view key, unsigned char flags, unsigned char rev,
		   mpa::const_buffer data, int length)
{
	Bytes out = Bytes{} + mpa::bytes(key);

	out.push_back(std::byte{flags});
	out.push_back(std::byte{rev});
	put16(out, length < 0 ? static_cast<unsigned int>(data.size())
			      : static_cast<unsigned int>(length));
	return out + data;
}

Bytes request(unsigned char flags, unsigned char rev, mpa::const_buffer data,
	      int length)
{
	return frame("MPA ID Req Frame", flags, rev, data, length);
}

Bytes reply(unsigned char flags, unsigned char rev, mpa::const_buffer data,
	    int length)
{
	return frame("MPA ID Rep Frame", flags, rev, data, length);
}

Bytes fpdu(mpa::const_buffer ulpdu)
{
	Bytes out;

	put16(out, static_cast<unsigned int>(ulpdu.size()));
	out = std::move(out) + ulpdu;
	while (out.size() % 4)
		out.push_back(std::byte{0});
	put_crc(out, crc32c(out));
	return out;
}

void MarkedStream::put_marker(Bytes &out)
{
	const auto pointer = position_ > header_ ? position_ - header_ : 0;

	put16(out, 0);
	put16(out, static_cast<unsigned int>(static_cast<int>(pointer) + wrong_));
	position_ += 4;
}

void MarkedStream::put(Bytes &out, std::byte byte)
{
	if (position_ % 512 == 0)
		put_marker(out);
	out.push_back(byte);
	position_++;
}

Bytes MarkedStream::fpdu(mpa::const_buffer ulpdu, int wrong)
{
	Bytes plain = net::fpdu(ulpdu), out;

	wrong_ = wrong;
	header_ = position_ % 512 ? position_ : position_ + 4;
	plain.resize(plain.size() - 4);
	for (const auto byte : plain)
		put(out, byte);
	// The CRC also covers a Marker between the ULPDU's end and the CRC.
	if (position_ % 512 == 0)
		put_marker(out);
	Bytes crc;
	put_crc(crc, crc32c(out));
	for (const auto byte : crc)
		put(out, byte);
	return out;
}

void Wire::send(mpa::const_buffer bytes)
{
	while (!bytes.empty()) {
		const auto sent = must_call(::send(fd_.get(), bytes.data(),
						   bytes.size(), MSG_NOSIGNAL),
					    "send of the plain peer");
		bytes = bytes.subspan(static_cast<std::size_t>(sent));
	}
}

void Wire::send_urgent(std::byte byte)
{
	is(must_call(::send(fd_.get(), &byte, 1, MSG_OOB | MSG_NOSIGNAL), "urgent"), 1L,
	   "urgent data");
	await([&] {
		int left = 0;

		must_call(::ioctl(fd_.get(), SIOCOUTQ, &left), "SIOCOUTQ");
		return left == 0;
	}, "urgent data has arrived");
}

Bytes Wire::read(std::size_t count)
{
	Bytes bytes(count);

	for (std::size_t have = 0; have < count;) {
		await_events(fd_.get(), POLLIN, "bytes for the plain peer");
		const auto got = must_call(::recv(fd_.get(), bytes.data() + have,
						  count - have, 0),
					   "receive of the plain peer");
		yes(got > 0, "the plain peer gets " + std::to_string(count) +
				     " bytes");
		have += static_cast<std::size_t>(got);
	}
	return bytes;
}

static std::size_t get16(mpa::const_buffer at)
{
	return std::to_integer<std::size_t>(at[0]) << 8 |
	       std::to_integer<std::size_t>(at[1]);
}

std::pair<Bytes, Bytes> Wire::read_frame()
{
	Bytes head = read(20);
	Bytes data = read(get16(mpa::const_buffer(head).subspan(18)));

	return {std::move(head), std::move(data)};
}

Bytes Wire::read_fpdu()
{
	Bytes all = read(2);
	const std::size_t length = get16(all);
	const std::size_t padded = (2 + length + 3) / 4 * 4;

	all = std::move(all) + read(padded - 2 + 4);
	yes(std::ranges::equal(all, fpdu(mpa::const_buffer(all).subspan(2, length))),
	    "an FPDU is correct");
	return {all.begin() + 2, all.begin() + 2 + static_cast<long>(length)};
}

void Wire::expect_end()
{
	char byte;

	await_events(fd_.get(), POLLIN, "the end for the plain peer");
	const auto got = ::recv(fd_.get(), &byte, 1, 0);
	yes(got == 0 || (got < 0 && errno == ECONNRESET),
	    "the connection ends without another byte");
}

void Wire::reset()
{
	const linger now{.l_onoff = 1, .l_linger = 0};

	must_call(::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now,
			       sizeof(now)), "SO_LINGER");
	fd_.reset();
}

WithWire::WithWire(Path path, Buffers buffers)
{
	Tcp tcp(path, buffers);

	ours = attach(std::move(tcp.near));
	wire = Wire(std::move(tcp.far));
}

Running::Running(mpa::role role, mpa::params params, unsigned char flags,
		 Buffers buffers)
	: WithWire(Path::ipv4, buffers)
{
	must(ours.set_params(params), "parameters");
	begin(ours, role);
	if (role == mpa::role::initiator) {
		wire.read_frame();
		wire.send(reply(flags));
	} else {
		wire.send(request(flags));
		await_request(ours);
		must(ours.accept_request(), "accept");
		wire.read_frame();
	}
	await_operational(ours);
	must(ours.set_blocking(true), "blocking");
}

long send_with_control(int fd)
{
	alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint32_t))> control{};
	char byte = 'x';
	iovec data{&byte, 1};
	msghdr message{};

	message.msg_iov = &data;
	message.msg_iovlen = 1;
	message.msg_control = control.data();
	message.msg_controllen = control.size();
	cmsghdr *const one = CMSG_FIRSTHDR(&message);
	one->cmsg_level = SOL_SOCKET;
	one->cmsg_type = SO_TIMESTAMPING;
	one->cmsg_len = CMSG_LEN(sizeof(std::uint32_t));
	return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

} // namespace net
