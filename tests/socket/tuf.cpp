// SPDX-License-Identifier: GPL-2.0-only
//
// The framing protocol of draft-ietf-tsvwg-tcp-ulp-frame-00 on sockets, by system calls
// alone.
#include "net.hpp"

#include <linux/tcp_framing.h>

#include <algorithm>
#include <arpa/inet.h>
#include <fcntl.h>
#include <fstream>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

using namespace harness;
using namespace net;
using namespace std::chrono_literals;

namespace {

constexpr int send_modes[] = {TCP_FRAMING_SEND_ATOMIC, TCP_FRAMING_SEND_ALIGN,
			      TCP_FRAMING_SEND_MARKERS};
constexpr std::size_t header_size = 8;

int set(int fd, int name, int value)
{
	return ::setsockopt(fd, SOL_TCP, name, &value, sizeof(value));
}

int get(int fd, int name, std::source_location at = std::source_location::current())
{
	int value = -1;
	socklen_t size = sizeof(value);

	must_call(::getsockopt(fd, SOL_TCP, name, &value, &size), "getsockopt", at);
	is(size, sizeof(value), "size of the value", at);
	return value;
}

int get_fails(int fd, int name)
{
	int value;
	socklen_t size = sizeof(value);

	return ::getsockopt(fd, SOL_TCP, name, &value, &size);
}

using Key = std::array<std::byte, TCP_FRAMING_KEY_LEN>;

Key key_of(int fd, int name = TCP_FRAMING_SEND_KEY)
{
	Key key{};
	socklen_t size = key.size();

	must_call(::getsockopt(fd, SOL_TCP, name, key.data(), &size), "read the key");
	is(size, key.size(), "size of the key");
	return key;
}

void give_key(int fd, const Key &key)
{
	must_call(::setsockopt(fd, SOL_TCP, TCP_FRAMING_RECV_KEY, key.data(), key.size()),
		  "set the peer's key");
}

tcp_framing_info info_of(int fd)
{
	tcp_framing_info info{};
	socklen_t size = sizeof(info);

	must_call(::getsockopt(fd, SOL_TCP, TCP_FRAMING_INFO, &info, &size), "info");
	is(size, sizeof(info), "size of the info");
	return info;
}

struct DataSegments {
	std::uint32_t in, out;
};

// Members of struct tcp_info that the C library does not have.
DataSegments data_segments(int fd)
{
	std::array<std::uint32_t, 40> info{};
	socklen_t size = sizeof(info);

	must_call(::getsockopt(fd, SOL_TCP, TCP_INFO, info.data(), &size), "TCP_INFO");
	return {info[38], info[39]};
}

void attach_to(int fd)
{
	must_call(::setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3), "attach");
}

void enable(int fd, int mode, std::source_location at = std::source_location::current())
{
	must_call(set(fd, TCP_FRAMING_MODE, mode), "mode", at);
}

// One receive: the bytes and the flags of the message.
struct Received {
	Bytes bytes;
	int flags = 0;
};

Received receive(int fd, std::size_t room = 70000, int flags = 0,
		 std::source_location at = std::source_location::current())
{
	Received got;
	msghdr msg{};
	iovec vec{};

	got.bytes.resize(room);
	vec = {got.bytes.data(), room};
	msg.msg_iov = &vec;
	msg.msg_iovlen = 1;
	got.bytes.resize(must_call(::recvmsg(fd, &msg, flags), "receive", at));
	got.flags = msg.msg_flags;
	return got;
}

// Bytes up to so many, whatever the boundaries are.
Bytes receive_all(int fd, std::size_t count,
		  std::source_location at = std::source_location::current())
{
	Bytes all;

	while (all.size() < count) {
		const Received got = receive(fd, count - all.size(), 0, at);

		if (got.bytes.empty())
			fail("the stream has ended", at);
		all.insert(all.end(), got.bytes.begin(), got.bytes.end());
	}
	return all;
}

void expect_pdu(int fd, const Bytes &wanted,
		std::source_location at = std::source_location::current())
{
	const Received got = receive(fd, 70000, 0, at);

	is(got.bytes.size(), wanted.size(), "length of the PDU", at);
	yes(got.bytes == wanted, "bytes of the PDU", at);
	is(got.flags & (MSG_EOR | MSG_TRUNC), int(MSG_EOR), "flags", at);
}

void push(int fd, const Bytes &pdu, int flags = 0,
	  std::source_location at = std::source_location::current())
{
	is(must_call(::send(fd, pdu.data(), pdu.size(), flags), "send", at), long(pdu.size()),
	   "bytes sent", at);
}

int push_fails(int fd, std::size_t size, int flags = 0)
{
	const Bytes pdu(size);

	return ::send(fd, pdu.data(), pdu.size(), flags | MSG_NOSIGNAL);
}

Bytes frame(const Key &key, const Bytes &pdus)
{
	Bytes out{std::byte(pdus.size() >> 8), std::byte(pdus.size())};

	out.insert(out.end(), key.begin(), key.end());
	return std::move(out) + pdus;
}

// Markers between bytes, from the draft; the distances are to the ends of the PDUs.
Bytes marked(const std::vector<Bytes> &pdus, std::size_t interval)
{
	std::vector<std::size_t> begins, markers;
	std::size_t next = 0;
	Bytes out;

	for (const Bytes &pdu : pdus)
		for (std::size_t i = 0; i < pdu.size(); i++) {
			if (out.size() == next) {
				markers.push_back(next);
				out.insert(out.end(), 4, std::byte{});
				next += interval;
			}
			if (!i)
				begins.push_back(out.size());
			out.push_back(pdu[i]);
		}
	begins.push_back(out.size() + (out.size() == next ? 4 : 0));
	for (const std::size_t at : markers) {
		const auto to = std::lower_bound(begins.begin(), begins.end(), at + 4);

		for (const int half : {0, 2}) {
			out[at + half] = std::byte((*to - at - 4) >> 8);
			out[at + half + 1] = std::byte(*to - at - 4);
		}
	}
	return out;
}

// Connected, attached on both ends, no mode set.
struct Ends : Tcp {
	explicit Ends(Path path = Path::ipv4, Buffers buffers = {}) : Tcp(path, buffers)
	{
		attach_to(near.get());
		attach_to(far.get());
	}

	// Alignment mode from near to far, markers or nothing added back.
	void align(int back_send = 0, int back_receive = 0)
	{
		enable(near.get(), TCP_FRAMING_SEND_ALIGN | back_receive);
		enable(far.get(), back_send | TCP_FRAMING_RECV_ALIGN);
		give_key(far.get(), key_of(near.get()));
	}

	void markers(int interval = 2048)
	{
		must_call(set(near.get(), TCP_FRAMING_SEND_INTERVAL, interval), "interval");
		must_call(set(far.get(), TCP_FRAMING_RECV_INTERVAL, interval), "interval");
		enable(near.get(), TCP_FRAMING_SEND_MARKERS);
		enable(far.get(), TCP_FRAMING_RECV_MARKERS);
	}
};

// Attached, and the bytes of its peer.
struct Alone : Tcp {
	explicit Alone(int mode, Path path = Path::ipv4) : Tcp(path), wire(std::move(far))
	{
		attach_to(fd());
		enable(fd(), mode);
	}
	int fd() const { return near.get(); }

	Wire wire;
};

const Key some_key{std::byte{1}, std::byte{2}, std::byte{3},
		   std::byte{4}, std::byte{5}, std::byte{0xff}};

// The MTU of the path from host 1, IPv4, for the lifetime of this object. IPv6 would lose
// its addresses if the device had one below 1280.
class Mtu {
public:
	Mtu() = default;
	~Mtu() { run(""); }
	Mtu(const Mtu &) = delete;
	Mtu &operator=(const Mtu &) = delete;

	void set(int mtu) const { replace(" mtu lock " + std::to_string(mtu)); }

	// With other properties of the route.
	void replace(const std::string &properties) const
	{
		is(run(properties), 0, "change the route");
	}

private:
	static int run(const std::string &metric)
	{
		const std::string route = "ip -n h1 route replace 10.77.0.0/24 dev eth0 proto "
					  "kernel scope link src 10.77.0.1";

		return std::system((route + metric).c_str());
	}
};

// What a host's device does to packets that it sends, for the lifetime of this object.
class Queue {
public:
	Queue(int host, const std::string &kind)
		: where_("tc -n h" + std::to_string(host) + " qdisc ")
	{
		is(std::system((where_ + "replace dev eth0 root " + kind).c_str()), 0, "tc");
	}
	~Queue() { (void)!std::system((where_ + "del dev eth0 root").c_str()); }
	Queue(const Queue &) = delete;
	Queue &operator=(const Queue &) = delete;

private:
	std::string where_;
};

// ---- Options ----

CASE("tuf: options have their default values")
{
	Ends ends;
	const int fd = ends.near.get();

	is(get(fd, TCP_FRAMING_MODE), 0, "mode");
	is(get(fd, TCP_FRAMING_PACK_PDUS), 1, "packing");
	is(get(fd, TCP_FRAMING_EMERGENCY), 0, "emergency");
	is(get(fd, TCP_FRAMING_EMSS_NOTICE), 0, "notice");
	is(get(fd, TCP_FRAMING_SEND_INTERVAL), 2048, "sending interval");
	is(get(fd, TCP_FRAMING_RECV_INTERVAL), 2048, "receiving interval");
	is(get(fd, TCP_SEND_EMSS), 1420, "EMSS");
	yes(key_of(fd) != Key{}, "a key that can be told the peer");
	is(err_of(get_fails(fd, TCP_FRAMING_RECV_KEY)), ENODATA, "no key of the peer");
}

CASE("tuf: options refuse wrong values")
{
	Ends ends;
	const int fd = ends.near.get();
	const struct {
		int name;
		int value;
		int error;
	} rows[] = {
		{TCP_FRAMING_MODE, 0x03, EINVAL},
		{TCP_FRAMING_MODE, 0x06, EINVAL},
		{TCP_FRAMING_MODE, 0x30, EINVAL},
		{TCP_FRAMING_MODE, 0x08, EINVAL},
		{TCP_FRAMING_MODE, 0x40, EINVAL},
		{TCP_FRAMING_MODE, -1, EINVAL},
		{TCP_FRAMING_PACK_PDUS, 2, EINVAL},
		{TCP_FRAMING_PACK_PDUS, -1, EINVAL},
		{TCP_FRAMING_EMERGENCY, 2, EINVAL},
		{TCP_FRAMING_EMSS_NOTICE, 2, EINVAL},
		{TCP_FRAMING_SEND_INTERVAL, 7, EINVAL},
		{TCP_FRAMING_SEND_INTERVAL, 0, EINVAL},
		{TCP_FRAMING_SEND_INTERVAL, -1, EINVAL},
		{TCP_FRAMING_SEND_INTERVAL, 8, 0},
		{TCP_FRAMING_SEND_INTERVAL, 0x7fffffff, 0},
		{TCP_FRAMING_RECV_INTERVAL, 7, EINVAL},
		{TCP_FRAMING_RECV_INTERVAL, 8, 0},
		{TCP_FRAMING_RECV_INTERVAL, 0x7fffffff, 0},
		{TCP_SEND_EMSS, 1, ENOPROTOOPT},
		{TCP_FRAMING_SEND_KEY, 1, ENOPROTOOPT},
		{TCP_FRAMING_RECV_KEY, 1, EINVAL},
		{TCP_FRAMING_INFO, 1, ENOPROTOOPT},
		{TCP_FRAMING_INFO + 1, 1, ENOPROTOOPT},
		{TCP_FRAMING_MODE - 1, 1, ENOPROTOOPT},
	};

	for (const auto &[name, value, error] : rows) {
		const Row row(name, value);

		is(err_of(set(fd, name, value)), error, "set");
	}
	is(get(fd, TCP_FRAMING_MODE), 0, "mode");
}

CASE("tuf: options refuse wrong lengths, levels and addresses")
{
	Ends ends;
	const int fd = ends.near.get();
	char bytes[512] = {1};
	socklen_t size;

	for (int name = TCP_FRAMING_MODE; name <= TCP_FRAMING_INFO; name++) {
		const Row row(name);
		const bool settable = name != TCP_SEND_EMSS && name != TCP_FRAMING_SEND_KEY &&
				      name != TCP_FRAMING_INFO;

		for (const socklen_t length : {0, 1, 3, 5, 7, 8, 512})
			is(err_of(::setsockopt(fd, SOL_TCP, name, bytes, length)),
			   settable ? EINVAL : ENOPROTOOPT, "set");
		if (settable)
			is(err_of(::setsockopt(fd, SOL_TCP, name, nullptr,
					       name == TCP_FRAMING_RECV_KEY ? 6 : 4)),
			   EFAULT, "set from nowhere");
		is(err_of(::setsockopt(fd, SOL_SOCKET, name, bytes, 4)), ENOPROTOOPT,
		   "level of sockets");
		size = -1;
		is(err_of(::getsockopt(fd, SOL_TCP, name, bytes, &size)), EINVAL,
		   "negative size");
		is(err_of(::getsockopt(fd, SOL_TCP, name, bytes, nullptr)), EFAULT,
		   "no size");
	}
	// Part of an int or of the info, as with other options of TCP.
	size = 2;
	must_call(::getsockopt(fd, SOL_TCP, TCP_FRAMING_SEND_INTERVAL, bytes, &size), "part");
	is(size, 2u, "size");
	size = 300;
	must_call(::getsockopt(fd, SOL_TCP, TCP_FRAMING_INFO, bytes, &size), "more room");
	is(size, sizeof(tcp_framing_info), "size");
	enable(fd, TCP_FRAMING_SEND_ALIGN);
	size = 5;
	is(err_of(::getsockopt(fd, SOL_TCP, TCP_FRAMING_SEND_KEY, bytes, &size)), ERANGE,
	   "part of a key");
}

CASE("tuf: options need the protocol")
{
	Tcp tcp;

	is(err_of(set(tcp.near.get(), TCP_FRAMING_MODE, TCP_FRAMING_SEND_ALIGN)), ENOPROTOOPT,
	   "plain TCP");
}

CASE("tuf: a direction is framed once, and the other one later")
{
	Ends ends;
	const int fd = ends.near.get();

	enable(fd, TCP_FRAMING_SEND_ALIGN);
	is(err_of(set(fd, TCP_FRAMING_MODE, TCP_FRAMING_SEND_ATOMIC)), EBUSY, "another mode");
	is(err_of(set(fd, TCP_FRAMING_MODE, 0)), EBUSY, "no mode");
	is(err_of(set(fd, TCP_FRAMING_MODE, TCP_FRAMING_RECV_ALIGN)), EBUSY, "only the other");
	enable(fd, TCP_FRAMING_SEND_ALIGN);
	enable(fd, TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS);
	is(get(fd, TCP_FRAMING_MODE), 0x22, "mode");
}

CASE("tuf: MPA and TUF exclude each other")
{
	Attached both;
	const int near = both.near.fd();

	enable(near, TCP_FRAMING_RECV_MARKERS);
	is(err(both.near.start(mpa::role::initiator)), EINVAL, "start");
	state_is(both.near, mpa::state::framed);
	begin(both.far, mpa::role::responder);
	is(err_of(set(both.far.fd(), TCP_FRAMING_MODE, TCP_FRAMING_SEND_ALIGN)), EBUSY, "mode");

	Pair pair;
	is(err_of(set(pair.near.fd(), TCP_FRAMING_MODE, TCP_FRAMING_SEND_ALIGN)), EBUSY,
	   "full operation");

	Listener listener;
	attach_to(listener.fd.get());
	const int role = MPA_ROLE_RESPONDER;
	enable(listener.fd.get(), TCP_FRAMING_SEND_ATOMIC);
	is(err_of(::setsockopt(listener.fd.get(), SOL_MPA, MPA_SO_START, &role, sizeof(role))),
	   EBUSY, "start of a listener");
	enable(listener.fd.get(), 0);
	must_call(::setsockopt(listener.fd.get(), SOL_MPA, MPA_SO_START, &role, sizeof(role)),
		  "start of a listener");
	is(err_of(set(listener.fd.get(), TCP_FRAMING_MODE, TCP_FRAMING_SEND_ATOMIC)), EBUSY,
	   "mode of a listener");
}

// ---- Modes ----

// What a receiver without framing sees of three PDUs.
Bytes on_the_wire(int fd, int mode, const std::vector<Bytes> &pdus, int interval)
{
	Bytes all;

	if (mode == TCP_FRAMING_SEND_MARKERS)
		return marked(pdus, interval);
	for (const Bytes &pdu : pdus)
		all = std::move(all) +
		      (mode == TCP_FRAMING_SEND_ALIGN ? frame(key_of(fd), pdu) : pdu);
	return all;
}

CASE("tuf: what each mode sends")
{
	const std::vector<Bytes> pdus{pattern(1, 1), pattern(700, 2), pattern(1412, 3)};

	for (const Path path : {Path::ipv4, Path::ipv6})
		for (const int mode : send_modes) {
			const Row row(path, mode);
			const std::vector<Bytes> some{
				pdus.begin(), pdus.end() - (path == Path::ipv6)};
			Alone alone(mode, path);

			must_call(set(alone.fd(), TCP_NODELAY, 1), "no delay");
			for (const Bytes &pdu : some)
				push(alone.fd(), pdu);
			const Bytes want = on_the_wire(alone.fd(), mode, some, 2048);
			yes(alone.wire.read(want.size()) == want, "bytes on the wire");
			const tcp_framing_info info = info_of(alone.fd());
			is(info.tx_pdus, some.size(), "PDUs");
			is(info.tx_frames, mode == TCP_FRAMING_SEND_MARKERS ? 0 : some.size(),
			   "framing PDUs");
			is(info.tx_pieces, 0u, "pieces");
			is(info.emss_changes, 0u, "changes of the EMSS");
		}
}

CASE("tuf: what each mode receives")
{
	const std::vector<Bytes> pdus{pattern(1, 1), pattern(700, 2), pattern(3000, 3)};
	Alone align(TCP_FRAMING_RECV_ALIGN);

	give_key(align.fd(), some_key);
	for (const Bytes &pdu : pdus)
		align.wire.send(frame(some_key, pdu));
	for (const Bytes &pdu : pdus)
		expect_pdu(align.fd(), pdu);
	is(info_of(align.fd()).rx_frames, 3u, "framing PDUs");

	Alone markers(TCP_FRAMING_RECV_MARKERS);

	markers.wire.send(marked(pdus, 2048));
	Bytes all;
	for (const Bytes &pdu : pdus)
		all = std::move(all) + pdu;
	yes(receive_all(markers.fd(), all.size()) == all, "bytes without markers");
}

// Each direction for itself: four senders, three receivers.
CASE("tuf: every pair of modes")
{
	for (const int send : {0, 1, 2, 4})
		for (const int recv : {0, 0x10, 0x20}) {
			const Row row(send, recv);
			Ends ends;
			const int fd = ends.near.get();
			// The peer has the matching modes.
			const int peer = (recv == 0x10   ? TCP_FRAMING_SEND_ALIGN
					  : recv == 0x20 ? TCP_FRAMING_SEND_MARKERS
							 : 0) |
					 (send == 2   ? TCP_FRAMING_RECV_ALIGN
					  : send == 4 ? TCP_FRAMING_RECV_MARKERS
						      : 0);

			enable(fd, send | recv);
			enable(ends.far.get(), peer);
			if (send == 2)
				give_key(ends.far.get(), key_of(fd));
			if (recv == 0x10)
				give_key(fd, key_of(ends.far.get()));
			for (int i = 0; i < 20; i++) {
				const Bytes there = pattern(1 + 70 * i, i), back = pattern(1300, i);

				push(fd, there);
				push(ends.far.get(), back);
				if (send == 2)
					expect_pdu(ends.far.get(), there);
				else
					yes(receive_all(ends.far.get(), there.size()) == there,
					    "there");
				if (recv == 0x10)
					expect_pdu(fd, back);
				else
					yes(receive_all(fd, back.size()) == back, "back");
			}
			is(get(fd, TCP_FRAMING_MODE), send | recv, "mode");
		}
}

CASE("tuf: enabled after a dialogue")
{
	Ends ends;
	char text[8] = {};

	must_call(::send(ends.near.get(), "TUF?", 4, 0), "send");
	must_call(::recv(ends.far.get(), text, 4, 0), "receive");
	enable(ends.far.get(), TCP_FRAMING_RECV_ALIGN);
	must_call(::send(ends.far.get(), "yes", 3, 0), "answer");
	must_call(::recv(ends.near.get(), text, 3, 0), "receive the answer");
	enable(ends.near.get(), TCP_FRAMING_SEND_ALIGN);
	// The key comes later than the first framing PDU: that waits.
	push(ends.near.get(), pattern(10));
	std::this_thread::sleep_for(moment);
	is(events_of(ends.far.get(), POLLIN), 0, "nothing to read without the key");
	is(err_of(::recv(ends.far.get(), text, 8, MSG_DONTWAIT)), EAGAIN, "nothing to read");
	give_key(ends.far.get(), key_of(ends.near.get()));
	expect_pdu(ends.far.get(), pattern(10));
	must_call(::send(ends.far.get(), "plain", 5, 0), "the other direction");
	expect_text(ends.near.get(), "plain");
}

// ---- Keys ----

CASE("tuf: keys")
{
	Ends ends;
	const int near = ends.near.get(), far = ends.far.get();
	Key key = some_key;

	enable(near, TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_ALIGN);
	enable(far, TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_ALIGN);
	yes(key_of(near) != key_of(far), "keys differ");
	yes(key_of(near) == key_of(near), "and stay");
	give_key(near, key);
	yes(key_of(near, TCP_FRAMING_RECV_KEY) == key, "key of the peer");
	is(err_of(::setsockopt(near, SOL_TCP, TCP_FRAMING_RECV_KEY, key.data(), key.size())),
	   EBUSY, "another key");
	yes(info_of(near).flags & TCP_FRAMING_F_RECV_KEY, "flag of the key");
	yes(!(info_of(far).flags & TCP_FRAMING_F_RECV_KEY), "no key there");
	push(far, pattern(4));
	char bytes[8];
	is(err_of(::recv(near, bytes, 8, 0)), EPROTO, "wrong key");
	is(err_of(::recv(near, bytes, 8, 0)), EPROTO, "for ever");
	yes(info_of(near).flags & TCP_FRAMING_F_RECV_ENDED, "flag of the end");
	yes(events_of(near) & POLLIN, "to be read");
	// The other direction goes on.
	give_key(far, key_of(near));
	push(near, pattern(9));
	expect_pdu(far, pattern(9));
}

// ---- Sizes ----

CASE("tuf: lengths of PDUs")
{
	const struct {
		int mode;
		int emss;
		std::size_t longest;
	} rows[] = {
		{TCP_FRAMING_SEND_ATOMIC, 1420, 1420},
		{TCP_FRAMING_SEND_ALIGN, 1412, 1412},
		// Markers at 0, 2048 .. count.
		{TCP_FRAMING_SEND_MARKERS, 1420, 65400},
	};

	for (const auto &[mode, emss, longest] : rows) {
		const Row row(mode);
		Alone alone(mode);

		is(get(alone.fd(), TCP_SEND_EMSS), emss, "EMSS");
		is(err_of(push_fails(alone.fd(), 0)), EINVAL, "nothing");
		is(err_of(push_fails(alone.fd(), longest + 1)), EMSGSIZE, "one too many");
		is(err_of(push_fails(alone.fd(), 1 << 20)), EMSGSIZE, "a megabyte");
		push(alone.fd(), Bytes(longest));
		const std::size_t size = on_the_wire(alone.fd(), mode, {Bytes(longest)}, 2048)
						 .size();
		is(alone.wire.read(size).size(), size, "sent as a whole, nothing else");
		is(info_of(alone.fd()).tx_pdus, 1u, "PDUs");
	}
}

CASE("tuf: emergency mode")
{
	const struct {
		int mtu;
		int emss;
	} rows[] = {{680, 600}, {600, 520}, {599, 519}, {592, 512}, {591, 511}, {576, 496}};
	const Mtu mtu_of_path;

	for (const auto &[mtu, emss] : rows) {
		const Row row(mtu, emss);

		mtu_of_path.set(mtu);
		Alone alone(TCP_FRAMING_SEND_ALIGN);
		const std::size_t fits = emss - header_size, most = std::max<int>(512, fits);

		must_call(set(alone.fd(), TCP_NODELAY, 1), "no delay");
		is(std::size_t(get(alone.fd(), TCP_SEND_EMSS)), fits, "EMSS");
		is(err_of(push_fails(alone.fd(), fits + 1)), EMSGSIZE, "too long");
		must_call(set(alone.fd(), TCP_FRAMING_EMERGENCY, 1), "emergency");
		is(std::size_t(get(alone.fd(), TCP_SEND_EMSS)), fits, "EMSS");
		is(err_of(push_fails(alone.fd(), most + 1)), EMSGSIZE, "too long");
		push(alone.fd(), pattern(most));
		push(alone.fd(), pattern(fits));
		const Bytes want = frame(key_of(alone.fd()), pattern(most)) +
				   frame(key_of(alone.fd()), pattern(fits));
		yes(alone.wire.read(want.size()) == want, "bytes");
		is(info_of(alone.fd()).tx_pieces, most > fits ? 1u : 0u, "in pieces");
		must_call(set(alone.fd(), TCP_FRAMING_EMERGENCY, 0), "no emergency");
		is(err_of(push_fails(alone.fd(), fits + 1)), EMSGSIZE, "too long again");
	}
}

CASE("tuf: the EMSS falls and rises")
{
	const Mtu mtu;
	Ends ends;
	const int fd = ends.near.get();

	ends.align();
	must_call(set(fd, TCP_NODELAY, 1), "no delay");
	push(fd, pattern(1412));
	expect_pdu(ends.far.get(), pattern(1412));
	is(events_of(fd, POLLPRI), 0, "no change");
	// The route is looked at when something is sent, and the EMSS is when the next is.
	const auto changes = [&] {
		for (int i = 0; i < 2; i++) {
			push(fd, pattern(10));
			expect_pdu(ends.far.get(), pattern(10));
		}
	};
	mtu.set(1000);
	changes();
	await_events(fd, POLLPRI, "a fall is reported");
	is(err_of(push_fails(fd, 913)), EMSGSIZE, "too long now");
	is(get(fd, TCP_SEND_EMSS), 912, "EMSS");
	is(events_of(fd, POLLPRI), 0, "read");
	push(fd, pattern(912));
	expect_pdu(ends.far.get(), pattern(912));
	must_call(set(fd, TCP_FRAMING_EMSS_NOTICE, 1), "notice");
	mtu.set(1400);
	int sent = 0;
	while (push_fails(fd, 10) == 10 && sent < 3) {
		expect_pdu(ends.far.get(), Bytes(10));
		sent++;
	}
	is(err_of(sent < 3 ? -1 : 0), EMSGSIZE, "a notice");
	await_events(fd, POLLPRI, "a rise is reported");
	push(fd, pattern(1312));
	expect_pdu(ends.far.get(), pattern(1312));
	is(get(fd, TCP_SEND_EMSS), 1312, "EMSS");
	is(info_of(fd).emss_changes, 2u, "changes");
}

// What a side would probe from is smaller.
CASE("tuf: the EMSS of a side that does not probe any more")
{
	const std::string command = "ip netns exec h1 sysctl -q -w net.ipv4.tcp_mtu_probing=";

	is(std::system((command + "2").c_str()), 0, "probing");
	Ends ends;
	is(std::system((command + "0").c_str()), 0, "no probing");
	ends.align();
	is(get(ends.near.get(), TCP_SEND_EMSS), 1412, "EMSS");
	push(ends.near.get(), pattern(1412));
	expect_pdu(ends.far.get(), pattern(1412));
	is(info_of(ends.near.get()).emss_changes, 0u, "changes");
}

// TCP has the MTU of another device until it looks for a route again.
CASE("tuf: a route is replaced by one with the same MTU")
{
	const Mtu mtu;
	Ends ends;
	const int fd = ends.near.get();

	ends.align();
	push(fd, pattern(1000));
	expect_pdu(ends.far.get(), pattern(1000));
	const std::uint32_t before = data_segments(fd).out;
	mtu.replace(" initrwnd 10");
	// The kernel forgets the other one after a while.
	std::this_thread::sleep_for(moment);
	push(fd, pattern(1000));
	expect_pdu(ends.far.get(), pattern(1000));
	is(data_segments(fd).out - before, 1u, "segments");
	is(info_of(fd).emss_changes, 0u, "changes");
}

// ---- Packing ----

CASE("tuf: PDUs share a framing PDU")
{
	Ends ends;
	const int fd = ends.near.get(), far = ends.far.get();

	ends.align();
	must_call(set(fd, TCP_NODELAY, 1), "no delay");
	push(fd, pattern(100, 1), MSG_MORE);
	push(fd, pattern(200, 2), MSG_MORE);
	push(fd, pattern(300, 3));
	expect_pdu(far, pattern(100, 1) + pattern(200, 2) + pattern(300, 3));
	// What does not fit begins another one.
	push(fd, pattern(1000, 1), MSG_MORE);
	push(fd, pattern(413, 2));
	expect_pdu(far, pattern(1000, 1));
	expect_pdu(far, pattern(413, 2));
	push(fd, pattern(1000, 1), MSG_MORE);
	push(fd, pattern(412, 2));
	expect_pdu(far, pattern(1000, 1) + pattern(412, 2));
	// sendmmsg(2)
	Bytes bytes[3]{pattern(10, 1), pattern(20, 2), pattern(30, 3)};
	iovec vecs[3];
	mmsghdr messages[3]{};
	for (int i = 0; i < 3; i++) {
		vecs[i] = {bytes[i].data(), bytes[i].size()};
		messages[i].msg_hdr.msg_iov = &vecs[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	is(must_call(::sendmmsg(fd, messages, 3, 0), "sendmmsg"), 3, "messages");
	expect_pdu(far, bytes[0] + bytes[1] + bytes[2]);
	// MSG_MORE without more: not for ever.
	push(fd, pattern(5), MSG_MORE);
	expect_pdu(far, pattern(5));
	const tcp_framing_info info = info_of(fd);
	is(info.tx_pdus, 3u + 2 + 2 + 3 + 1, "PDUs");
	is(info.tx_frames, 1u + 2 + 1 + 1 + 1, "framing PDUs");
	must_call(set(fd, TCP_FRAMING_PACK_PDUS, 0), "no packing");
	push(fd, pattern(100, 1), MSG_MORE);
	push(fd, pattern(200, 2));
	is(must_call(::sendmmsg(fd, messages, 3, 0), "sendmmsg"), 3, "messages");
	expect_pdu(far, pattern(100, 1));
	expect_pdu(far, pattern(200, 2));
	for (const Bytes &one : bytes)
		expect_pdu(far, one);
}

CASE("tuf: small PDUs wait for an acknowledgement, unless TCP_NODELAY is set")
{
	Ends ends;
	const int fd = ends.near.get(), far = ends.far.get();

	is(get(fd, TCP_NODELAY), 0, "before");
	ends.align();
	is(get(fd, TCP_NODELAY), 0, "as the application has it");
	for (int i = 0; i < 100; i++)
		push(fd, pattern(10, i));
	Bytes all, got;
	for (int i = 0; i < 100; i++)
		all = std::move(all) + pattern(10, i);
	std::size_t frames = 0;
	for (; got.size() < all.size(); frames++)
		got = std::move(got) + receive(far).bytes;
	yes(got == all, "bytes");
	yes(frames < 100, "some have shared a framing PDU");
	is(info_of(fd).tx_frames, frames, "framing PDUs");
	must_call(set(fd, TCP_NODELAY, 1), "no delay");
	is(get(fd, TCP_NODELAY), 1, "as set");
	for (int i = 0; i < 100; i++)
		push(fd, pattern(10, i));
	for (int i = 0; i < 100; i++)
		expect_pdu(far, pattern(10, i));
}

// ---- Markers ----

CASE("tuf: markers at any interval")
{
	for (const int interval : {8, 9, 12, 511, 512, 513, 2048, 65536, 0x7fffffff}) {
		const Row row(interval);
		Ends ends;
		std::mt19937 random(interval);
		std::vector<Bytes> pdus;
		Bytes all;

		ends.markers(interval);
		for (int i = 0; i < 60; i++) {
			const std::size_t most = std::min<std::size_t>(3 * std::size_t(interval),
								       9000);

			pdus.push_back(pattern(1 + random() % most, i));
			all = std::move(all) + pdus.back();
		}
		std::thread sender([&] {
			for (const Bytes &pdu : pdus)
				push(ends.near.get(), pdu);
		});
		std::vector<std::size_t> ends_of;
		Bytes got;
		while (got.size() < all.size()) {
			const Received one = receive(ends.far.get(), 1 + random() % 20000);

			yes(!one.bytes.empty(), "the stream has not ended");
			is(one.flags & MSG_TRUNC, 0, "nothing is lost");
			got = std::move(got) + one.bytes;
			if (one.flags & MSG_EOR)
				ends_of.push_back(got.size());
		}
		sender.join();
		yes(got == all, "bytes");
		std::size_t end = 0;
		std::vector<std::size_t> boundaries;
		for (const Bytes &pdu : pdus)
			boundaries.push_back(end += pdu.size());
		for (const std::size_t at : ends_of)
			yes(std::binary_search(boundaries.begin(), boundaries.end(), at),
			    "MSG_EOR only where a PDU ends");
		if (interval <= 2048)
			yes(ends_of.size() > 10, "boundaries are known");
	}
}

CASE("tuf: a part of a unit stays for the next call")
{
	Alone alone(TCP_FRAMING_RECV_MARKERS);
	const std::vector<Bytes> pdus{pattern(3000, 1), pattern(5000, 2), pattern(1, 3)};
	const Bytes stream = marked(pdus, 2048);

	alone.wire.send(stream);
	await([&] {
		int waiting = 0;

		must_call(::ioctl(alone.fd(), SIOCINQ, &waiting), "ioctl");
		return waiting == 3000;
	}, "the first PDU is there");
	Received got = receive(alone.fd(), 100, MSG_PEEK);
	yes(got.bytes == Bytes(pdus[0].begin(), pdus[0].begin() + 100), "peeked at");
	is(got.flags & (MSG_EOR | MSG_TRUNC), 0, "flags");
	for (std::size_t at = 0; at < 3000; at += 100) {
		got = receive(alone.fd(), 100);
		yes(got.bytes == Bytes(pdus[0].begin() + at, pdus[0].begin() + at + 100), "part");
		is(got.flags & (MSG_EOR | MSG_TRUNC), at == 2900 ? int(MSG_EOR) : 0, "flags");
	}
	expect_pdu(alone.fd(), pdus[1]);
	// Its end is not known yet.
	got = receive(alone.fd());
	yes(got.bytes == pdus[2], "the last one");
	is(got.flags & MSG_EOR, 0, "flags");
	alone.wire.fin();
	is(receive(alone.fd()).bytes.size(), 0u, "the end");
}

// With sendfile() the queue of a receiver on the same machine has pages of the file.
CASE("tuf: a sender changes bytes that have been read")
{
	Alone alone(TCP_FRAMING_RECV_MARKERS);
	const descriptor file(must_call(::memfd_create("shared", 0), "memfd_create"));
	const Bytes stream = marked({pattern(1, 1)}, 2048);
	const Bytes wrong{std::byte{0}, std::byte{1}, std::byte{0}, std::byte{2}};
	off_t at = 0;
	char byte;

	must_call(::write(file.get(), stream.data(), stream.size()), "write");
	is(must_call(::sendfile(alone.wire.fd(), file.get(), &at, stream.size()), "sendfile"),
	   static_cast<ssize_t>(stream.size()), "sent");
	yes(receive(alone.fd(), 1, MSG_PEEK).bytes == pattern(1, 1), "the byte");
	must_call(::pwrite(file.get(), wrong.data(), wrong.size(), 0), "change the marker");
	// More of the unit: it is read again.
	alone.wire.send(pattern(1, 2));
	await([&] {
		return ::recv(alone.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
		       errno == EPROTO;
	}, "the error");
}

CASE("tuf: markers byte by byte")
{
	Alone alone(TCP_FRAMING_RECV_MARKERS);
	const std::vector<Bytes> pdus{pattern(5, 1), pattern(20, 2), pattern(4, 3), pattern(8, 4)};
	Bytes all, got;

	must_call(set(alone.fd(), TCP_FRAMING_RECV_INTERVAL, 12), "interval");
	for (const Bytes &pdu : pdus)
		all = std::move(all) + pdu;
	for (const std::byte one : marked(pdus, 12)) {
		alone.wire.send(mpa::const_buffer(&one, 1));
		std::this_thread::sleep_for(1ms);
		char byte;
		const ssize_t n = ::recv(alone.fd(), &byte, 1, MSG_DONTWAIT);
		if (n == 1)
			got.push_back(std::byte(byte));
	}
	while (got.size() < all.size())
		got = std::move(got) + receive(alone.fd()).bytes;
	yes(got == all, "bytes");
}

CASE("tuf: the interval changes between PDUs")
{
	Ends ends;
	const int near = ends.near.get(), far = ends.far.get();

	// The next marker is due, and stays where it is.
	ends.markers(100);
	push(near, pattern(96, 1));
	yes(receive_all(far, 96) == pattern(96, 1), "before");
	must_call(set(far, TCP_FRAMING_RECV_INTERVAL, 50), "interval");
	must_call(set(near, TCP_FRAMING_SEND_INTERVAL, 50), "interval");
	push(near, pattern(200, 2));
	push(near, pattern(300, 3));
	expect_pdu(far, pattern(200, 2));
	yes(receive_all(far, 300) == pattern(300, 3), "after");
}

CASE("tuf: the interval of the receiver holds for what was not read")
{
	Alone alone(TCP_FRAMING_RECV_MARKERS);
	const std::vector<Bytes> pdus{pattern(300, 1), pattern(500, 2)};

	// With the default interval, a marker within would be taken for data.
	alone.wire.send(marked(pdus, 64));
	std::this_thread::sleep_for(moment);
	must_call(set(alone.fd(), TCP_FRAMING_RECV_INTERVAL, 64), "interval");
	expect_pdu(alone.fd(), pdus[0]);
	yes(receive_all(alone.fd(), 500) == pdus[1], "bytes");
}

// ---- Ends and errors ----

struct Bad {
	std::string name;
	int mode;
	Bytes bytes;
	bool fin;
	int error;
};

CASE("tuf: what ends receiving")
{
	const Bytes good = frame(some_key, pattern(7));
	Key other = some_key;
	other[5] ^= std::byte{1};
	const Bytes zero(4);
	const Bad rows[] = {
		{"a wrong key", TCP_FRAMING_RECV_ALIGN, frame(other, pattern(7)), false, EPROTO},
		{"length 0", TCP_FRAMING_RECV_ALIGN, frame(some_key, {}), false, EPROTO},
		{"FIN within a header", TCP_FRAMING_RECV_ALIGN, Bytes(good.begin(), good.begin() + 3),
		 true, ECONNABORTED},
		{"FIN within a PDU", TCP_FRAMING_RECV_ALIGN, Bytes(good.begin(), good.end() - 1), true,
		 ECONNABORTED},
		{"FIN", TCP_FRAMING_RECV_ALIGN, {}, true, 0},
		{"the first marker is not 0", TCP_FRAMING_RECV_MARKERS, pattern(4, 1), false, EPROTO},
		{"FIN within a marker", TCP_FRAMING_RECV_MARKERS, Bytes(3), true, ECONNABORTED},
		{"FIN behind a marker", TCP_FRAMING_RECV_MARKERS, zero, true, 0},
		{"no marker", TCP_FRAMING_RECV_MARKERS, {}, true, 0},
	};

	for (const Bad &bad : rows) {
		const Row row(bad.name);
		Alone alone(bad.mode);
		char bytes[100];

		give_key(alone.fd(), some_key);
		if (bad.mode == TCP_FRAMING_RECV_ALIGN)
			alone.wire.send(good);
		alone.wire.send(bad.bytes);
		if (bad.fin)
			alone.wire.fin();
		if (bad.mode == TCP_FRAMING_RECV_ALIGN)
			expect_pdu(alone.fd(), pattern(7));
		for (int i = 0; i < 2; i++)
			is(err_of(::recv(alone.fd(), bytes, sizeof(bytes), 0)), bad.error,
			   "receive");
		await_events(alone.fd(), POLLIN, "poll");
		is(info_of(alone.fd()).flags & TCP_FRAMING_F_RECV_ENDED ? 1 : 0,
		   bad.error ? 1 : 0, "flag");
		// Sending is not affected.
		must_call(::send(alone.fd(), "on", 2, 0), "send");
		expect_text(alone.wire.fd(), "on");
	}
}

CASE("tuf: every wrong bit of a key")
{
	const Bytes pdu = pattern(7);
	const Bytes good = frame(some_key, pdu);

	for (int bit = 0; bit < 48; bit++) {
		const Row row(bit);
		Alone alone(TCP_FRAMING_RECV_ALIGN);
		char bytes[100];
		Bytes bad = good;

		give_key(alone.fd(), some_key);
		bad[2 + bit / 8] ^= std::byte(1 << bit % 8);
		// What follows the wrong one is good, and not received.
		alone.wire.send(good + bad + good);
		expect_pdu(alone.fd(), pdu);
		is(err_of(::recv(alone.fd(), bytes, sizeof(bytes), 0)), EPROTO, "receive");
	}
}

// A length that is wrong makes the next key wrong, or waits for bytes that do not come.
CASE("tuf: every wrong bit of a length")
{
	const Bytes good = frame(some_key, pattern(7));

	for (int bit = 0; bit < 16; bit++) {
		const Row row(bit);
		Alone alone(TCP_FRAMING_RECV_ALIGN);
		Bytes stream = good + good;
		char bytes[100];

		give_key(alone.fd(), some_key);
		stream[1 - bit / 8] ^= std::byte(1 << bit % 8);
		alone.wire.send(stream);
		alone.wire.fin();
		if (const std::size_t len = 7 ^ 1 << bit; len + 8 <= stream.size()) {
			expect_pdu(alone.fd(), Bytes(stream.begin() + 8,
						     stream.begin() + 8 + len));
			is(err_of(::recv(alone.fd(), bytes, sizeof(bytes), 0)),
			   stream.size() - len - 8 < 8 ? ECONNABORTED : EPROTO, "receive");
		} else {
			is(err_of(::recv(alone.fd(), bytes, sizeof(bytes), 0)), ECONNABORTED,
			   "receive");
		}
	}
}

// What a receiver with an interval of 32 bytes has got when a marker is wrong.
void expect_wrong_marker(Bytes stream, std::size_t before)
{
	Alone alone(TCP_FRAMING_RECV_MARKERS);
	Bytes good = pattern(100, 1);
	char bytes[200];

	must_call(set(alone.fd(), TCP_FRAMING_RECV_INTERVAL, 32), "interval");
	alone.wire.send(stream);
	good.resize(before);
	yes(receive_all(alone.fd(), before) == good, "bytes before");
	is(err_of(::recv(alone.fd(), bytes, sizeof(bytes), 0)), EPROTO, "then the error");
	// Sending is not affected.
	must_call(::send(alone.fd(), "on", 2, 0), "send");
	expect_text(alone.wire.fd(), "on");
}

CASE("tuf: what precedes a wrong marker is received")
{
	const Bytes stream = marked({pattern(100, 1), pattern(40, 2)}, 32);
	struct Wrong {
		const char *name;
		std::size_t at;
		int distance;
	};
	const Wrong wrong[] = {
		{"beyond the longest PDU", 32, 65529},
		{"to the second byte of a marker", 32, 29},
		{"to the last byte of a marker", 32, 31},
		{"a byte before the boundary that is known", 64, 47},
		{"a byte behind it", 64, 49},
		{"no boundary, where one is known", 64, 0},
	};

	for (int bit = 0; bit < 32; bit++) {
		const Row row(bit);
		Bytes bad = stream;

		bad[32 + bit / 8] ^= std::byte(1 << bit % 8);
		expect_wrong_marker(bad, 28);
	}
	for (const Wrong &one : wrong) {
		const Row row(one.name);
		Bytes bad = stream;

		for (const int half : {0, 2}) {
			bad[one.at + half] = std::byte(one.distance >> 8);
			bad[one.at + half + 1] = std::byte(one.distance);
		}
		expect_wrong_marker(bad, one.at / 32 * 28);
	}
}

CASE("tuf: a reset")
{
	for (const int mode : {TCP_FRAMING_RECV_ALIGN, TCP_FRAMING_RECV_MARKERS}) {
		const Row row(mode);
		Alone alone(mode | TCP_FRAMING_SEND_ALIGN);
		char bytes[8];

		give_key(alone.fd(), some_key);
		alone.wire.reset();
		is(err_of(::recv(alone.fd(), bytes, sizeof(bytes), 0)), ECONNRESET, "receive");
		// The first call that sends takes the error off the socket, as with MPA.
		is(err_of(push_fails(alone.fd(), 10)), ECONNRESET, "send");
		is(err_of(push_fails(alone.fd(), 10)), EPIPE, "send again");
		is(err_of(::recv(alone.fd(), bytes, sizeof(bytes), 0)), ECONNRESET, "receive");
		yes(events_of(alone.fd()) & POLLHUP, "hang-up");
	}
}

CASE("tuf: everything is sent before the end")
{
	for (const int mode : send_modes)
		for (const bool shut : {false, true}) {
			const Row row(mode, shut);
			Tcp tcp;
			Wire wire(std::move(tcp.far));
			const std::vector<Bytes> pdus{pattern(100, 1), pattern(50, 2)};

			attach_to(tcp.near.get());
			enable(tcp.near.get(), mode);
			must_call(set(tcp.near.get(), TCP_FRAMING_PACK_PDUS, 1), "packing");
			push(tcp.near.get(), pdus[0]);
			push(tcp.near.get(), pdus[1], MSG_MORE);
			const Bytes want = on_the_wire(tcp.near.get(), mode, pdus, 2048);
			if (shut)
				must_call(::shutdown(tcp.near.get(), SHUT_WR), "shutdown");
			else
				tcp.near.reset();
			yes(wire.read(want.size()) == want, "bytes");
			wire.expect_end();
		}
}

// The option limits what waits in TCP, and the end may not wait.
CASE("tuf: everything is sent before the end, with TCP_NOTSENT_LOWAT")
{
	for (const bool shut : {false, true}) {
		const Row row(shut);
		Tcp tcp;
		Wire wire(std::move(tcp.far));
		const Bytes pdu = pattern(60000);

		attach_to(tcp.near.get());
		must_call(set(tcp.near.get(), TCP_NOTSENT_LOWAT, 1), "limit");
		enable(tcp.near.get(), TCP_FRAMING_SEND_MARKERS);
		push(tcp.near.get(), pdu, MSG_DONTWAIT);
		if (shut) {
			must_call(::shutdown(tcp.near.get(), SHUT_WR), "shutdown");
			is(get(tcp.near.get(), TCP_NOTSENT_LOWAT), 1, "limit");
		} else {
			tcp.near.reset();
		}
		const Bytes want = marked({pdu}, 2048);
		yes(wire.read(want.size()) == want, "bytes");
		wire.expect_end();
	}
}

CASE("tuf: calls that are refused")
{
	Ends ends;
	const int fd = ends.near.get();
	int pipes[2];

	ends.align();
	enable(ends.far.get(), TCP_FRAMING_RECV_ALIGN | TCP_FRAMING_SEND_MARKERS);
	enable(fd, TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS);
	must_call(::pipe(pipes), "pipe");
	const descriptor in(pipes[0]), out(pipes[1]);
	must_call(::write(out.get(), "12345678", 8), "write");
	is(err_of(push_fails(fd, 10, MSG_OOB)), EOPNOTSUPP, "urgent");
	is(err_of(send_with_control(fd)), EOPNOTSUPP, "control message");
	is(err_of(push_fails(fd, 10, MSG_ZEROCOPY)), EOPNOTSUPP, "zero copy");
	is(err_of(push_fails(fd, 10, MSG_FASTOPEN)), EOPNOTSUPP, "fast open");
	is(err_of(::splice(in.get(), nullptr, fd, nullptr, 8, 0)), EOPNOTSUPP, "splice to it");
	is(err_of(::splice(fd, nullptr, out.get(), nullptr, 8, SPLICE_F_NONBLOCK)), EOPNOTSUPP,
	   "splice from it");
	char byte;
	is(err_of(::recv(fd, &byte, 1, MSG_OOB)), EOPNOTSUPP, "urgent data");
	const int on = 1;
	is(err_of(::setsockopt(fd, SOL_TCP, TCP_REPAIR, &on, sizeof(on))), EOPNOTSUPP, "repair");
	is(err_of(::setsockopt(fd, SOL_IP, IP_RECVERR, &on, sizeof(on))), EOPNOTSUPP, "errors");
	const struct sockaddr none{AF_UNSPEC, {}};
	is(err_of(::connect(fd, &none, sizeof(none))), EOPNOTSUPP, "disconnect");
	is(err_of(::listen(fd, 1)), EINVAL, "listen");
	Address address = address_of(Path::ipv4);
	is(err_of(::connect(fd, address.generic(), address.size)), EISCONN, "connect");
}

// ---- Before the connection ----

CASE("tuf: set before connect")
{
	for (const Path path : paths) {
		const Row row(path);
		Listener listener(path);
		const descriptor near = tcp_socket(path, 1);

		attach_to(near.get());
		enable(near.get(), TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS);
		const Key key = key_of(near.get());
		is(err_of(get_fails(near.get(), TCP_SEND_EMSS)), ENOTCONN, "EMSS");
		is(err_of(push_fails(near.get(), 10)), EPIPE, "send");
		char byte;
		is(err_of(::recv(near.get(), &byte, 1, 0)), ENOTCONN, "receive");
		must_call(::connect(near.get(), listener.address.generic(), listener.address.size),
			  "connect");
		Wire wire(accept_from(listener));
		must_call(set(near.get(), TCP_NODELAY, 1), "no delay");
		push(near.get(), pattern(10));
		yes(wire.read(18) == frame(key, pattern(10)), "a framing PDU");
		wire.send(marked({pattern(5)}, 2048));
		yes(receive_all(near.get(), 5) == pattern(5), "bytes");
		is(err_of(::connect(near.get(), listener.address.generic(),
				    listener.address.size)), EISCONN, "connect again");
	}
}

CASE("tuf: set before a connect that does not block")
{
	Listener listener;
	const descriptor near = tcp_socket(Path::ipv4, 1);

	attach_to(near.get());
	enable(near.get(), TCP_FRAMING_SEND_ATOMIC | TCP_FRAMING_RECV_ALIGN);
	must_call(::fcntl(near.get(), F_SETFL, O_NONBLOCK), "non-blocking");
	is(err_of(::connect(near.get(), listener.address.generic(), listener.address.size)),
	   EINPROGRESS, "connect");
	await_events(near.get(), POLLOUT, "connected");
	Wire wire(accept_from(listener));
	push(near.get(), pattern(1420));
	is(err_of(push_fails(near.get(), 1421)), EMSGSIZE, "the mode is in force");
	yes(wire.read(1420) == pattern(1420), "bytes");
	wire.send(frame(some_key, pattern(3)));
	give_key(near.get(), some_key);
	await_events(near.get(), POLLIN, "to be read");
	expect_pdu(near.get(), pattern(3));
}

// The connection is made by connect() where no call of TCP would do it later.
CASE("tuf: set before a connect that is deferred")
{
	for (const bool late : {false, true}) {
		const Row row(late);
		Listener listener;
		const descriptor near = tcp_socket(Path::ipv4, 1);

		attach_to(near.get());
		must_call(set(near.get(), TCP_FASTOPEN_CONNECT, 1), "fast open");
		must_call(set(near.get(), TCP_FASTOPEN_NO_COOKIE, 1), "no cookie");
		if (!late)
			enable(near.get(), TCP_FRAMING_SEND_ATOMIC);
		must_call(::connect(near.get(), listener.address.generic(), listener.address.size),
			  "connect");
		if (late) {
			enable(near.get(), TCP_FRAMING_SEND_ATOMIC);
			is(err_of(push_fails(near.get(), 10, MSG_DONTWAIT)), EPIPE, "deferred");
			continue;
		}
		Wire wire(accept_from(listener));
		push(near.get(), pattern(10), MSG_DONTWAIT);
		yes(wire.read(10) == pattern(10), "bytes");
	}
}

CASE("tuf: what has arrived before a reset is received by the first call")
{
	Listener listener;
	const descriptor near = tcp_socket(Path::ipv4, 1);
	char byte;

	attach_to(near.get());
	enable(near.get(), TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS);
	must_call(::fcntl(near.get(), F_SETFL, O_NONBLOCK), "non-blocking");
	is(err_of(::connect(near.get(), listener.address.generic(), listener.address.size)),
	   EINPROGRESS, "connect");
	Wire wire(accept_from(listener));
	wire.send(marked({pattern(300)}, 2048));
	std::this_thread::sleep_for(moment);
	wire.reset();
	std::this_thread::sleep_for(moment);
	yes(receive_all(near.get(), 300) == pattern(300), "bytes");
	is(err_of(::recv(near.get(), &byte, 1, 0)), ECONNRESET, "receive");
}

CASE("tuf: no mode in repair mode")
{
	const descriptor near = tcp_socket(Path::ipv4, 1);

	attach_to(near.get());
	must_call(set(near.get(), TCP_REPAIR, 1), "repair");
	is(err_of(set(near.get(), TCP_FRAMING_MODE, TCP_FRAMING_SEND_ALIGN)), EBUSY, "mode");
	must_call(set(near.get(), TCP_REPAIR, 0), "no repair");
	enable(near.get(), TCP_FRAMING_SEND_ALIGN);
}

CASE("tuf: a call waits for the connection")
{
	// A connection that nobody accepts: the next SYN is dropped, and repeated later.
	Listener listener(Path::ipv4, 0);
	const descriptor first = connect_to(listener);
	const descriptor near = tcp_socket(Path::ipv4, 1);
	std::atomic<pid_t> sender_id{0}, reader_id{0};

	attach_to(near.get());
	enable(near.get(), TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_ALIGN);
	give_key(near.get(), some_key);
	must_call(::fcntl(near.get(), F_SETFL, O_NONBLOCK), "non-blocking");
	is(err_of(::connect(near.get(), listener.address.generic(), listener.address.size)),
	   EINPROGRESS, "connect");
	is(err_of(push_fails(near.get(), 4)), EAGAIN, "send");
	char byte;
	is(err_of(::recv(near.get(), &byte, 1, 0)), EAGAIN, "receive");
	must_call(::fcntl(near.get(), F_SETFL, 0), "blocking");
	std::thread sender([&] {
		sender_id = ::gettid();
		push(near.get(), pattern(4));
	});
	std::thread reader([&] {
		reader_id = ::gettid();
		expect_pdu(near.get(), pattern(6));
	});
	await_asleep(sender_id);
	await_asleep(reader_id);
	const descriptor queued = accept_from(listener);
	Wire wire(accept_from(listener));
	yes(wire.read(12) == frame(key_of(near.get()), pattern(4)), "framed");
	wire.send(frame(some_key, pattern(6)));
	sender.join();
	reader.join();
}

CASE("tuf: a connection that fails can be tried again")
{
	Listener listener;
	const descriptor near = tcp_socket(Path::ipv4, 1);
	Address nobody = listener.address;

	attach_to(near.get());
	enable(near.get(), TCP_FRAMING_SEND_ATOMIC);
	reinterpret_cast<sockaddr_in *>(nobody.generic())->sin_port = htons(1);
	is(err_of(::connect(near.get(), nobody.generic(), nobody.size)), ECONNREFUSED, "refused");
	must_call(::connect(near.get(), listener.address.generic(), listener.address.size),
		  "connect");
	Wire wire(accept_from(listener));
	push(near.get(), pattern(10));
	yes(wire.read(10) == pattern(10), "bytes");
}

CASE("tuf: unconnected, and closed again")
{
	const descriptor near = tcp_socket(Path::ipv4, 1);

	attach_to(near.get());
	enable(near.get(), TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_ALIGN);
	const int role = MPA_ROLE_INITIATOR;
	is(err_of(::setsockopt(near.get(), SOL_MPA, MPA_SO_START, &role, sizeof(role))), ENOTCONN,
	   "MPA");
	is(events_of(near.get()) & POLLHUP, int(POLLHUP), "as TCP has it");
}

CASE("tuf: accepted sockets inherit")
{
	for (const bool late : {false, true}) {
		const Row row(late);
		const descriptor fd = tcp_socket(Path::ipv4, 2);
		Address address = address_of(Path::ipv4);

		must_call(::bind(fd.get(), address.generic(), address.size), "bind");
		if (late)
			must_call(::listen(fd.get(), 4), "listen");
		attach_to(fd.get());
		enable(fd.get(), TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS);
		must_call(set(fd.get(), TCP_FRAMING_RECV_INTERVAL, 100), "interval");
		must_call(set(fd.get(), TCP_FRAMING_EMERGENCY, 1), "emergency");
		if (!late)
			must_call(::listen(fd.get(), 4), "listen");
		must_call(::getsockname(fd.get(), address.generic(), &address.size), "address");
		Wire wire[2]{Wire(connect_to(Path::ipv4, address)),
			     Wire(connect_to(Path::ipv4, address))};
		descriptor child[2];
		for (int i = 0; i < 2; i++)
			child[i].reset(must_call(::accept(fd.get(), nullptr, nullptr), "accept"));
		yes(key_of(child[0].get()) != key_of(child[1].get()), "keys differ");
		is(err_of(get_fails(fd.get(), TCP_FRAMING_SEND_KEY)), ENODATA,
		   "a listener has no key");
		for (int i = 0; i < 2; i++) {
			is(get(child[i].get(), TCP_FRAMING_MODE), 0x22, "mode");
			is(get(child[i].get(), TCP_FRAMING_RECV_INTERVAL), 100, "interval");
			is(get(child[i].get(), TCP_FRAMING_EMERGENCY), 1, "emergency");
			push(child[i].get(), pattern(20));
			yes(wire[i].read(28) == frame(key_of(child[i].get()), pattern(20)), "sent");
			wire[i].send(marked({pattern(300)}, 100));
			yes(receive_all(child[i].get(), 300) == pattern(300), "received");
		}
	}
}

// ---- Waiting ----

CASE("tuf: a framing PDU is to be read when it is complete")
{
	Alone alone(TCP_FRAMING_RECV_ALIGN);
	const Bytes all = frame(some_key, pattern(100));
	int waiting = -1;

	give_key(alone.fd(), some_key);
	alone.wire.send(mpa::const_buffer(all).first(107));
	std::this_thread::sleep_for(moment);
	is(events_of(alone.fd(), POLLIN), 0, "not yet");
	must_call(::ioctl(alone.fd(), SIOCINQ, &waiting), "ioctl");
	is(waiting, 0, "nothing to read");
	alone.wire.send(mpa::const_buffer(all).last(1));
	await_events(alone.fd(), POLLIN, "now");
	must_call(::ioctl(alone.fd(), SIOCINQ, &waiting), "ioctl");
	is(waiting, 100, "bytes to read");
	const Received got = receive(alone.fd(), 10);
	is(got.bytes.size(), 10u, "bytes");
	is(got.flags & (MSG_EOR | MSG_TRUNC), MSG_EOR | MSG_TRUNC, "cut off");
}

CASE("tuf: a direction is not framed while a call is inside TCP")
{
	Ends ends;
	const int fd = ends.near.get();
	std::atomic<pid_t> thread{0};
	char byte;

	std::thread reader([&] {
		thread = ::gettid();
		is(must_call(::recv(fd, &byte, 1, 0), "receive"), 1, "bytes");
	});
	await_asleep(thread);
	is(err_of(set(fd, TCP_FRAMING_MODE, TCP_FRAMING_RECV_MARKERS)), EBUSY, "receiving");
	enable(fd, TCP_FRAMING_SEND_MARKERS);
	must_call(::send(ends.far.get(), "x", 1, 0), "send");
	reader.join();
	enable(fd, TCP_FRAMING_SEND_MARKERS | TCP_FRAMING_RECV_MARKERS);
}

CASE("tuf: a full queue")
{
	for (const int mode : send_modes) {
		const Row row(mode);
		Tcp tcp(Path::ipv4, {.send = 8192, .receive = 8192});
		Wire wire(std::move(tcp.far));
		const int fd = tcp.near.get();
		std::vector<Bytes> pdus;

		attach_to(fd);
		enable(fd, mode);
		must_call(set(fd, TCP_NODELAY, 1), "no delay");
		for (;;) {
			const Bytes pdu = pattern(500, pdus.size());

			if (::send(fd, pdu.data(), pdu.size(), MSG_DONTWAIT) < 0)
				break;
			pdus.push_back(pdu);
		}
		is(err_of(-1), EAGAIN, "full");
		int unsent = 0;
		must_call(::ioctl(fd, SIOCOUTQ, &unsent), "ioctl");
		yes(unsent > 1000, "bytes in the queue");
		is(events_of(fd, POLLOUT), 0, "not writable");
		const Bytes want = on_the_wire(fd, mode, pdus, 2048);
		yes(wire.read(want.size()) == want, "bytes");
		await_events(fd, POLLOUT, "writable again");
		await([&] {
			must_call(::ioctl(fd, SIOCOUTQ, &unsent), "ioctl");
			return !unsent;
		}, "the queue is empty");
	}
}

CASE("tuf: a framing PDU that is longer than the receive buffer")
{
	Tcp tcp(Path::ipv4, {.receive = 4096});
	Wire wire(std::move(tcp.near));
	const int fd = tcp.far.get();
	const Bytes pdu = pattern(65528);

	attach_to(fd);
	enable(fd, TCP_FRAMING_RECV_ALIGN);
	give_key(fd, some_key);
	std::thread sender([&] {
		for (int i = 0; i < 3; i++)
			wire.send(frame(some_key, pdu));
	});
	for (int i = 0; i < 3; i++)
		expect_pdu(fd, pdu);
	sender.join();
	is(info_of(fd).rx_frames, 3u, "framing PDUs");
}

// Unaligned framing PDUs are counted, and received all the same.
CASE("tuf: alignment is counted")
{
	Alone alone(TCP_FRAMING_RECV_ALIGN);
	const Bytes one = frame(some_key, pattern(92));

	give_key(alone.fd(), some_key);
	const int on = 1;
	must_call(::setsockopt(alone.wire.fd(), SOL_TCP, TCP_NODELAY, &on, sizeof(on)),
		  "no delay");
	for (int i = 0; i < 5; i++) {
		alone.wire.send(one);
		expect_pdu(alone.fd(), pattern(92));
	}
	is(info_of(alone.fd()).rx_aligned, 5u, "aligned");
	is(info_of(alone.fd()).rx_unaligned, 0u, "none unaligned");
	is(info_of(alone.fd()).rx_parted, 0u, "none in parts");
	// Two and a half in a segment.
	alone.wire.send(mpa::const_buffer(one + one + one).first(250));
	expect_pdu(alone.fd(), pattern(92));
	expect_pdu(alone.fd(), pattern(92));
	alone.wire.send(mpa::const_buffer(one).last(50));
	expect_pdu(alone.fd(), pattern(92));
	is(info_of(alone.fd()).rx_aligned, 6u, "aligned");
	is(info_of(alone.fd()).rx_unaligned, 2u, "unaligned");
	is(info_of(alone.fd()).rx_parted, 1u, "in parts");
}

CASE("tuf: without the key of the peer, the end of TCP is seen")
{
	for (const bool reset : {false, true}) {
		const Row row(reset);
		Alone alone(TCP_FRAMING_RECV_ALIGN);
		char byte;

		is(events_of(alone.fd(), POLLIN), 0, "nothing yet");
		if (reset)
			alone.wire.reset();
		else
			alone.wire.fin();
		await_events(alone.fd(), POLLIN, "the end");
		is(err_of(::recv(alone.fd(), &byte, 1, 0)), reset ? ECONNRESET : 0, "receive");
	}
	// What has arrived waits for the key all the same.
	for (const bool reset : {false, true}) {
		const Row row("late", reset);
		Alone late(TCP_FRAMING_RECV_ALIGN);
		char bytes[8];

		late.wire.send(frame(some_key, pattern(5)));
		std::this_thread::sleep_for(moment);
		if (reset)
			late.wire.reset();
		else
			late.wire.fin();
		await_events(late.fd(), POLLRDHUP, "the end");
		is(events_of(late.fd(), POLLIN) & POLLIN, 0, "nothing to be read");
		is(err_of(::recv(late.fd(), bytes, 8, MSG_DONTWAIT)), EAGAIN, "before the key");
		give_key(late.fd(), some_key);
		expect_pdu(late.fd(), pattern(5));
		is(err_of(::recv(late.fd(), bytes, 8, 0)), reset ? ECONNRESET : 0, "the end");
	}
}

CASE("tuf: markers without bytes behind them")
{
	for (const bool fin : {false, true}) {
		const Row row(fin);
		Alone alone(TCP_FRAMING_RECV_MARKERS | TCP_FRAMING_SEND_ATOMIC);

		// The first one, of a PDU that does not come.
		alone.wire.send(Bytes(4));
		std::this_thread::sleep_for(moment);
		is(events_of(alone.fd(), POLLIN), 0, "nothing to be read");
		if (fin) {
			alone.wire.fin();
			await_events(alone.fd(), POLLIN, "the end");
		}
		push(alone.fd(), pattern(10));
		alone.near.reset();
		yes(alone.wire.read(10) == pattern(10), "what was sent");
		char byte;
		is(err_of(::recv(alone.wire.fd(), &byte, 1, 0)), 0, "the end, no reset");
	}
}

CASE("tuf: SO_RCVLOWAT is for a direction that is not framed")
{
	Alone alone(TCP_FRAMING_SEND_ALIGN);
	const int low = 4096;
	int now = 0;
	socklen_t size = sizeof(now);

	must_call(::setsockopt(alone.fd(), SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)), "set");
	must_call(::getsockopt(alone.fd(), SOL_SOCKET, SO_RCVLOWAT, &now, &size), "get");
	is(now, low, "as it was set");
	enable(alone.fd(), TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS);
	alone.wire.send(marked({pattern(100)}, 2048));
	await_events(alone.fd(), POLLIN, "less than that is reported");
	yes(receive_all(alone.fd(), 100) == pattern(100), "bytes");
}

CASE("tuf: plain bytes before the first framing PDU have segments of their own")
{
	for (const int mode : {TCP_FRAMING_SEND_ATOMIC, TCP_FRAMING_SEND_ALIGN}) {
		const Row row(mode);
		Ends ends;
		const int fd = ends.near.get();

		enable(ends.far.get(), TCP_FRAMING_RECV_ALIGN);
		give_key(ends.far.get(), key_of(fd));
		// Nagle's rule holds the second piece back until the first is acknowledged.
		push(fd, frame(key_of(fd), pattern(30, 1)));
		push(fd, frame(key_of(fd), pattern(30, 2)));
		enable(fd, mode);
		push(fd, mode == TCP_FRAMING_SEND_ALIGN ? pattern(40, 3)
							 : frame(key_of(fd), pattern(40, 3)));
		expect_pdu(ends.far.get(), pattern(30, 1));
		expect_pdu(ends.far.get(), pattern(30, 2));
		expect_pdu(ends.far.get(), pattern(40, 3));
	}
}

// Plain bytes and a framing PDU that are both lost are sent again, each in its own segment.
CASE("tuf: plain bytes are not sent again with the first framing PDU")
{
	Ends ends;
	const int fd = ends.near.get(), far = ends.far.get();

	enable(far, TCP_FRAMING_RECV_ALIGN);
	give_key(far, key_of(fd));
	{
		const Queue lost(1, "netem loss 100%");

		push(fd, frame(key_of(fd), pattern(30, 1)));
		enable(fd, TCP_FRAMING_SEND_ALIGN);
		must_call(set(fd, TCP_NODELAY, 1), "no delay");
		push(fd, pattern(40, 2));
	}
	expect_pdu(far, pattern(30, 1));
	expect_pdu(far, pattern(40, 2));
	is(data_segments(far).in, 2u, "segments with data");
}

// Each of several acknowledgements, not only the first one.
CASE("tuf: small PDUs go with the last of several acknowledgements")
{
	const Queue slow(2, "netem delay 20ms");
	Ends ends;
	const int fd = ends.near.get(), far = ends.far.get();

	ends.align();
	// Other rounds may be slow because the machine is.
	const auto end = std::chrono::steady_clock::now() + patience;
	while (std::chrono::steady_clock::now() < end) {
		const auto begun = std::chrono::steady_clock::now();

		for (const int size : {1412, 1412, 1412, 1412, 10})
			push(fd, pattern(size, size));
		for (const int size : {1412, 1412, 1412, 1412, 10})
			expect_pdu(far, pattern(size, size));
		if (std::chrono::steady_clock::now() - begun < 150ms)
			return;
	}
	fail("they wait for the time limit");
}

// An acknowledgement, not the time limit of 200 ms, lets them go.
CASE("tuf: small PDUs go with the last acknowledgement")
{
	Ends ends;
	const int fd = ends.near.get(), far = ends.far.get();

	ends.align();
	// Other rounds may be slow because the machine is.
	const auto end = std::chrono::steady_clock::now() + patience;
	while (std::chrono::steady_clock::now() < end) {
		const auto begun = std::chrono::steady_clock::now();

		for (const int size : {1412, 1412, 10})
			push(fd, pattern(size, size));
		for (const int size : {1412, 1412, 10})
			expect_pdu(far, pattern(size, size));
		if (std::chrono::steady_clock::now() - begun < 150ms)
			return;
	}
	fail("they wait for the time limit");
}

// An accepted socket may be closed by the peer before it is attached.
CASE("tuf: a client that resets before it is accepted")
{
	const descriptor fd = tcp_socket(Path::ipv4, 2);
	Address address = address_of(Path::ipv4);

	must_call(::bind(fd.get(), address.generic(), address.size), "bind");
	attach_to(fd.get());
	enable(fd.get(), TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS);
	must_call(::listen(fd.get(), 4), "listen");
	must_call(::getsockname(fd.get(), address.generic(), &address.size), "address");
	Wire(connect_to(Path::ipv4, address)).reset();
	std::this_thread::sleep_for(moment);
	const descriptor child(must_call(::accept(fd.get(), nullptr, nullptr), "accept"));
	char byte;
	is(err_of(::recv(child.get(), &byte, 1, 0)), ECONNRESET, "receive");
	is(err_of(push_fails(child.get(), 10)), ECONNRESET, "send");
}

// IPV6_ADDRFORM takes the operations of MPA from a socket: its release is noticed later.
CASE("addrform: the operations of an unconnected socket are taken from it")
{
	for (int round = 0; round < 200; round++) {
		Listener listener(Path::ipv4);
		const Inside inside(1);
		const descriptor fd{::socket(AF_INET6, SOCK_STREAM, 0)};
		sockaddr_in6 mapped{};

		mapped.sin6_family = AF_INET6;
		mapped.sin6_port = reinterpret_cast<sockaddr_in *>(listener.address.generic())
					   ->sin_port;
		::inet_pton(AF_INET6, "::ffff:10.77.0.2", &mapped.sin6_addr);
		std::atomic<bool> stop{false};
		std::thread form([&] {
			const int family = AF_INET;

			while (!stop)
				::setsockopt(fd.get(), SOL_IPV6, IPV6_ADDRFORM, &family,
					     sizeof(family));
		});
		::setsockopt(fd.get(), SOL_TCP, TCP_ULP, "mpa", 3);
		set(fd.get(), TCP_FRAMING_MODE, TCP_FRAMING_SEND_ALIGN);
		::connect(fd.get(), reinterpret_cast<sockaddr *>(&mapped), sizeof(mapped));
		push_fails(fd.get(), 10, MSG_MORE);
		stop = true;
		form.join();
	}
}

// ---- Volume and races ----

CASE("tuf: volume in both directions")
{
	for (const int interval : {8, 2048}) {
		Ends ends;
		const int near = ends.near.get(), far = ends.far.get();
		constexpr int count = 4000;

		must_call(set(far, TCP_FRAMING_SEND_INTERVAL, interval), "interval");
		must_call(set(near, TCP_FRAMING_RECV_INTERVAL, interval), "interval");
		ends.align(TCP_FRAMING_SEND_MARKERS, TCP_FRAMING_RECV_MARKERS);
		const auto size = [](int i) { return std::size_t(1 + i * 37 % 1400); };
		std::thread there([&] {
			for (int i = 0; i < count; i++)
				push(near, pattern(size(i), i), i % 5 ? 0 : MSG_MORE);
		});
		std::thread back([&] {
			for (int i = 0; i < count; i++)
				push(far, pattern(size(i), i));
		});
		std::thread at_near([&] {
			for (int i = 0; i < count; i++)
				yes(receive_all(near, size(i)) == pattern(size(i), i), "back");
		});
		Bytes waiting;
		for (int i = 0; i < count; i++) {
			const Bytes want = pattern(size(i), i);

			if (waiting.empty())
				waiting = receive(far).bytes;
			yes(waiting.size() >= want.size() &&
			    std::equal(want.begin(), want.end(), waiting.begin()), "there");
			waiting.erase(waiting.begin(), waiting.begin() + want.size());
		}
		yes(waiting.empty(), "framing PDUs end with a PDU");
		there.join();
		back.join();
		at_near.join();
		is(info_of(near).tx_pdus, std::uint64_t(count), "PDUs");
		is(info_of(near).tx_frames, info_of(far).rx_frames, "framing PDUs");
	}
}

CASE("tuf: modes, keys and traffic while the socket is closed")
{
	for (int round = 0; round < 60; round++) {
		Ends ends;
		const int near = ends.near.get();
		std::atomic<bool> stop{false};
		std::thread options([&] {
			while (!stop) {
				set(near, TCP_FRAMING_MODE, round % 2 ? 0x22 : 0x14);
				set(near, TCP_FRAMING_RECV_INTERVAL, 8 + round);
				set(near, TCP_FRAMING_SEND_INTERVAL, 8 + round);
				::setsockopt(near, SOL_TCP, TCP_FRAMING_RECV_KEY, some_key.data(), 6);
				set(near, TCP_FRAMING_PACK_PDUS, round % 2);
				get_fails(near, TCP_FRAMING_INFO);
			}
		});
		std::thread traffic([&] {
			char bytes[3000] = {};

			while (!stop) {
				::send(near, bytes, 1 + round * 20, MSG_DONTWAIT | MSG_NOSIGNAL);
				::recv(near, bytes, sizeof(bytes), MSG_DONTWAIT);
				pollfd one{near, POLLIN | POLLOUT | POLLPRI, 0};
				::poll(&one, 1, 0);
			}
		});
		Wire wire(std::move(ends.far));
		for (int i = 0; i < 20; i++) {
			const Bytes bytes = pattern(100, i);
			if (::send(wire.fd(), bytes.data(), bytes.size(),
				   MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
				break;
		}
		if (round % 3 == 0)
			wire.reset();
		else
			::shutdown(near, SHUT_RDWR);
		stop = true;
		options.join();
		traffic.join();
	}
}

} // namespace

namespace {

// Since the start of the machine, of all processors, in units of 10 ms.
long idle_time()
{
	std::ifstream file("/proc/stat");
	std::string word;
	long user = 0, nice = 0, system = 0, idle = 0;

	yes(bool(file >> word >> user >> nice >> system >> idle), "/proc/stat");
	return idle;
}

} // namespace

// TCP has taken a part of a PDU, and takes the rest when the peer reads.
CASE("tuf: a full connection does not keep the processor busy")
{
	Attached both(Path::ipv4, {.send = 4500, .receive = 20000});
	const int fd = both.near.fd();
	const auto pdu = pattern(12000);

	enable(fd, TCP_FRAMING_SEND_MARKERS);
	for (int n = 0; n < 4; n++) {
		while (::send(fd, pdu.data(), pdu.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			;
		is(Err{errno}, EAGAIN, "it is full");
		std::this_thread::sleep_for(moment);
	}
	const long before = idle_time();
	std::this_thread::sleep_for(2s);
	// Of 200 for each, even if this machine is a slow one.
	const long all = 200L * ::sysconf(_SC_NPROCESSORS_ONLN);
	yes(idle_time() - before > all - 150, "all of them are idle");
}
