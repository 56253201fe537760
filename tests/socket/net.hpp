// SPDX-License-Identifier: GPL-2.0-only
//
// Sockets for the cases: TCP between the hosts h1 and h2 of the lab, MPA on it,
// and a plain TCP peer that writes MPA byte by byte.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace net {

using Bytes = std::vector<std::byte>;
using mpa::descriptor;

enum class Path { ipv4, ipv6, loopback };
inline constexpr std::array paths{Path::ipv4, Path::ipv6, Path::loopback};
std::ostream &operator<<(std::ostream &out, Path path);

// Moves the thread into the namespace of a host for the lifetime of this
// object.
class Inside {
public:
	explicit Inside(int host);
	~Inside();
	Inside(const Inside &) = delete;
	Inside &operator=(const Inside &) = delete;

private:
	descriptor home_;
};

// A TCP socket in the namespace of host 1 or 2, for either end of a path.
descriptor tcp_socket(Path path, int host);

// The address of the listening end, port 0.
struct Address {
	sockaddr_storage storage{};
	socklen_t size = 0;

	sockaddr *generic() { return reinterpret_cast<sockaddr *>(&storage); }
};
Address address_of(Path path);

// A listening TCP socket, and its address.
struct Listener {
	explicit Listener(Path path = Path::ipv4, int backlog = 64);

	Path path;
	descriptor fd;
	Address address;
};

// Buffer sizes are set before the handshake, where they matter.
struct Buffers {
	int send = 0;
	int receive = 0;
};

descriptor connect_to(const Listener &listener, Buffers buffers = {});
descriptor connect_to(Path path, Address address, Buffers buffers = {});
descriptor accept_from(const Listener &listener);

// Both ends of a TCP connection; near is on h1, far on h2.
struct Tcp {
	explicit Tcp(Path path = Path::ipv4, Buffers buffers = {});

	descriptor near;
	descriptor far;
};

mpa::socket attach(descriptor fd);

// Attached on both ends, not started.
struct Attached {
	explicit Attached(Path path = Path::ipv4, Buffers buffers = {});
	Attached(descriptor near, descriptor far);

	mpa::socket near;
	mpa::socket far;
};

// In full operation, near is the Initiator. Its first ULPDU has been read, so
// that both may send. Blocking.
struct Pair : Attached {
	explicit Pair(Path path = Path::ipv4, mpa::params near = {},
		      mpa::params far = {}, Buffers buffers = {});
	Pair(descriptor near, descriptor far);

private:
	void run(const mpa::params &near_params, const mpa::params &far_params);
};

// Starts without blocking, and waits for the Request, or the end of the
// exchange.
void begin(mpa::socket &socket, mpa::role role);
void await_request(mpa::socket &socket);
void await_operational(mpa::socket &socket);

void state_is(mpa::socket &socket, mpa::state wanted,
	      std::source_location at = std::source_location::current());

// A pattern that depends on the number.
Bytes pattern(std::size_t size, unsigned int number = 0);

// One receive that must return this complete ULPDU.
void expect_ulpdu(mpa::socket &socket, mpa::const_buffer wanted,
		  std::source_location at = std::source_location::current());
void expect_end(mpa::socket &socket,
		std::source_location at = std::source_location::current());

// The state of a failed connection: error, hang-up, the same result from every
// call.
void expect_failed(mpa::socket &socket, int error,
		   std::source_location at = std::source_location::current());

// poll(2) events now, or once they contain these.
short events_of(int fd, short asked = POLLIN | POLLPRI | POLLOUT | POLLRDHUP);
void await_events(int fd, short wanted, const std::string &what,
		  std::source_location at = std::source_location::current());

// sendmsg(2) with a control message that TCP takes.
long send_with_control(int fd);

// Bytes of ordinary TCP, in as many calls as it takes.
void expect_text(int fd, std::string_view wanted);

// Waits until a thread, which first reports its id, sleeps in a system call.
void await_asleep(const std::atomic<pid_t> &thread);

// --- byte by byte ---------------------------------------------------------

enum : unsigned char {
	flag_markers = 0x80,
	flag_crc = 0x40,
	flag_reject = 0x20,
	flag_enhanced = 0x10,
};

std::uint32_t crc32c(mpa::const_buffer bytes);
Bytes operator+(Bytes left, mpa::const_buffer right);
Bytes request(unsigned char flags = flag_crc, unsigned char rev = 1,
	      mpa::const_buffer data = {}, int length = -1);
Bytes reply(unsigned char flags = flag_crc, unsigned char rev = 1,
	    mpa::const_buffer data = {}, int length = -1);
// An FPDU without Markers.
Bytes fpdu(mpa::const_buffer ulpdu);

// FPDUs with Markers; position counts from the startup frame's end.
class MarkedStream {
public:
	// wrong: added to every FPDUPTR.
	Bytes fpdu(mpa::const_buffer ulpdu, int wrong = 0);

private:
	void put(Bytes &out, std::byte byte);
	void put_marker(Bytes &out);

	std::size_t position_ = 0;
	std::size_t header_ = 0;
	int wrong_ = 0;
};

// A plain TCP peer.
class Wire {
public:
	Wire() = default;
	explicit Wire(descriptor fd) : fd_(std::move(fd)) {}

	int fd() const { return fd_.get(); }
	void send(mpa::const_buffer bytes);
	// Until the other end has it.
	void send_urgent(std::byte byte);
	Bytes read(std::size_t count);
	// A startup frame: (its 20 bytes, its private data).
	std::pair<Bytes, Bytes> read_frame();
	Bytes read_fpdu();
	void expect_end();
	void fin() { ::shutdown(fd_.get(), SHUT_WR); }
	void reset();
	void close() { fd_.reset(); }

private:
	descriptor fd_;
};

// An attached socket, and a Wire as the other end.
struct WithWire {
	explicit WithWire(Path path = Path::ipv4, Buffers buffers = {});

	mpa::socket ours;
	Wire wire;
};

// In full operation with a Wire in the other role; the Reply has these flags
// (Initiator), or the Request (Responder). Our socket is blocking.
struct Running : WithWire {
	explicit Running(mpa::role ours, mpa::params params = {},
			 unsigned char flags = flag_crc, Buffers buffers = {});
};

} // namespace net
