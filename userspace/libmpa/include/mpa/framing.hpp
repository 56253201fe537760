/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The framing protocol for TCP of draft-ietf-tsvwg-tcp-ulp-frame-00 on a TCP socket,
// for C++20. tcp-framing(7) has the full description.
// Nothing is allocated, no function throws, and the only state is the descriptor:
// every function is one system call on it.
//
//	using namespace mpa;
//	auto tcp = tcp::connect("192.0.2.7", "7000");	// mpa/tcp.hpp
//	... both sides tell each other what they want, in messages of their own ...
//	const auto out = framing::negotiate(theirs, mine);
//	const auto in = framing::negotiate(my_wish, their_offer);
//	auto link = framing::socket::attach(*std::move(tcp));
//	if (auto done = link->enable(*out, *in); !done)
//		return framing::reason(done.error());
//	link->send(bytes("hello"));
//
// Errors are std::error_code in std::generic_category(): compare them with std::errc,
// ask reason() for words. EINTR is handed through like any other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <linux/tcp_framing.h>

#include "endpoint.hpp"

namespace mpa::framing {

// How this side sends.
enum class send : std::uint8_t {
	plain = 0, // an ordinary stream
	atomic = TCP_FRAMING_SEND_ATOMIC,
	align = TCP_FRAMING_SEND_ALIGN,
	markers = TCP_FRAMING_SEND_MARKERS,
};

// What this side expects from the peer.
enum class receive : std::uint8_t {
	plain = 0,
	align = TCP_FRAMING_RECV_ALIGN,
	markers = TCP_FRAMING_RECV_MARKERS,
};

// The value of TCP_FRAMING_MODE.
constexpr int to_kernel(send out, receive in) noexcept
{
	return static_cast<int>(out) | static_cast<int>(in);
}

// Length of the header of a framing PDU, bytes.
inline constexpr std::uint32_t header_size = 8;
// Length of a marker, bytes.
inline constexpr std::uint32_t marker_size = 4;
// Most bytes of a PDU in any mode, without its header or together with its markers
// (section 3).
inline constexpr std::uint32_t pdu_max = 65528;
// PDUs up to this length are always taken in emergency mode, bytes.
inline constexpr std::uint32_t emergency_size = 512;
// Bytes of stream from one marker to the next.
inline constexpr std::uint32_t interval_min = 8;
inline constexpr std::uint32_t interval_max = 0x7fffffff;
inline constexpr std::uint32_t interval_default = 2048;

// What a framing PDU carries, so that a receiver can tell it from other bytes.
struct key {
	std::array<std::byte, TCP_FRAMING_KEY_LEN> bytes{};

	bool operator==(const key &) const = default;
};
static_assert(sizeof(key) == TCP_FRAMING_KEY_LEN);

// The longest PDU in PDU alignment mode, if segments have at most emss bytes.
constexpr std::uint32_t align_max(std::uint32_t emss,
				  bool emergency = false) noexcept
{
	const std::uint32_t fits = emss > header_size ? emss - header_size : 0;

	return std::min(std::max(fits, emergency ? emergency_size : 0), pdu_max);
}

// The longest PDU that marker mode takes wherever in an interval it begins. 0: there is
// no such interval.
constexpr std::uint32_t markers_max(std::uint32_t interval) noexcept
{
	if (interval < interval_min || interval > interval_max)
		return 0;
	// At worst a marker is due at once. Of the whole intervals all but the
	// marker is the PDU's; of what is left, too.
	const std::uint32_t whole = pdu_max / interval, rest = pdu_max % interval;

	return whole * (interval - marker_size) +
	       (rest > marker_size ? rest - marker_size : 0);
}

// --- negotiation, section 4 of the draft ---------------------------------------------

// What a receiver asks of its peer, for one direction.
struct wish {
	// The modes that it takes. Both: PDU alignment mode if the sender has it.
	// None: an ordinary stream.
	bool align = false;
	bool markers = false;
	// In PDU alignment mode, each framing PDU has one PDU.
	bool unpacked = false;
	// In marker mode: bytes from one marker to the next, and the longest PDU.
	std::uint32_t interval = interval_default;
	std::uint32_t longest = pdu_max;

	bool operator==(const wish &) const = default;
};

// What a sender can do, for one direction.
struct offer {
	// A sender that implements the protocol has marker mode, and PDU alignment mode
	// if its TCP is framing-aware (section 2); that of linux-mpa is.
	bool align = true;
	bool markers = true;
	// Of its framing PDUs: socket::key().
	framing::key key;
	// Whether it would pack.
	bool pack = true;

	bool operator==(const offer &) const = default;
};

// What both sides do in that direction.
struct agreement {
	framing::send send = send::plain;	   // of the sender
	framing::receive receive = receive::plain; // of the receiver
	// PDU alignment mode.
	framing::key key;
	bool pack = true;
	// Marker mode: the interval in bytes.
	std::uint32_t interval = interval_default;
	// No PDU may be longer, bytes. In PDU alignment mode, the EMSS is another
	// limit, which changes.
	std::uint32_t longest = pdu_max;

	bool operator==(const agreement &) const = default;
};

// The result for one direction. Both sides come to the same one if they know the
// receiver's wish and the sender's offer. operation_not_supported: the sender has none
// of the modes that the receiver takes. invalid_argument: marker mode, with an interval
// or a longest PDU that cannot be.
inline result<agreement> negotiate(const wish &from_receiver,
				   const offer &of_sender) noexcept
{
	agreement agreed;

	if (!from_receiver.align && !from_receiver.markers)
		return agreed;
	// Section 4: the sender must, if it can.
	if (from_receiver.align && of_sender.align) {
		agreed.send = send::align;
		agreed.receive = receive::align;
		agreed.key = of_sender.key;
		agreed.pack = of_sender.pack && !from_receiver.unpacked;
		return agreed;
	}
	if (!from_receiver.markers || !of_sender.markers)
		return std::errc::operation_not_supported;
	const std::uint32_t most = markers_max(from_receiver.interval);

	if (most == 0 || from_receiver.longest == 0)
		return std::errc::invalid_argument;
	agreed.send = send::markers;
	agreed.receive = receive::markers;
	agreed.interval = from_receiver.interval;
	agreed.longest = std::min(from_receiver.longest, most);
	return agreed;
}

// --- the socket ------------------------------------------------------------------------

// TCP_FRAMING_MODE.
struct modes {
	framing::send send = send::plain;
	framing::receive receive = receive::plain;

	bool operator==(const modes &) const = default;
};

constexpr modes from_kernel(std::uint32_t mode) noexcept
{
	return {static_cast<send>(mode & 0x0f), static_cast<receive>(mode & 0xf0)};
}

// State of a socket; struct tcp_framing_info has the details.
struct info {
	framing::modes modes;
	bool pack = true;
	bool emergency = false;
	bool peer_key = false;	     // it was set
	bool receive_ended = false;  // with an error
	std::uint32_t emss = 0;	     // bytes; 0 before the socket is connected
	std::uint32_t send_interval = 0;    // bytes
	std::uint32_t receive_interval = 0; // bytes
	std::uint64_t sent_pdus = 0;
	std::uint64_t sent_frames = 0;	// framing PDUs, or segments of send::atomic
	std::uint64_t sent_pieces = 0;	// framing PDUs that were sent in pieces
	std::uint64_t emss_changes = 0;
	std::uint64_t received_frames = 0; // or runs of bytes up to a boundary
	std::uint64_t received_aligned = 0; // framing PDUs that began a segment
	std::uint64_t received_unaligned = 0;
	std::uint64_t received_parted = 0; // a part of them came before the rest

	bool operator==(const info &) const = default;
};

inline info from_kernel(const tcp_framing_info &from) noexcept
{
	info to;

	to.modes = from_kernel(from.mode);
	to.pack = from.flags & TCP_FRAMING_F_PACK;
	to.emergency = from.flags & TCP_FRAMING_F_EMERGENCY;
	to.peer_key = from.flags & TCP_FRAMING_F_RECV_KEY;
	to.receive_ended = from.flags & TCP_FRAMING_F_RECV_ENDED;
	to.emss = from.emss;
	to.send_interval = from.send_interval;
	to.receive_interval = from.recv_interval;
	to.sent_pdus = from.tx_pdus;
	to.sent_frames = from.tx_frames;
	to.sent_pieces = from.tx_pieces;
	to.emss_changes = from.emss_changes;
	to.received_frames = from.rx_frames;
	to.received_aligned = from.rx_aligned;
	to.received_unaligned = from.rx_unaligned;
	to.received_parted = from.rx_parted;
	return to;
}

// Result of one receive.
struct received {
	std::size_t size = 0;	    // bytes now in the buffer
	bool end_of_record = false; // they end where a framing PDU, or with markers
				    // some PDU, ends
	bool truncated = false;	    // the rest of the framing PDU is lost, unless
				    // peeked
	bool end = false;	    // nothing: the peer has closed in good order

	bool operator==(const received &) const = default;
};

// A TCP socket whose directions may be framed. Sending, waiting, closing and the
// descriptor itself are those of endpoint.hpp: one send is one PDU.
class socket : public endpoint {
public:
	socket() noexcept = default;

	// Takes a TCP socket: unconnected, connected or listening. It is an ordinary
	// stream until enable(). file_exists: it has an upper-layer protocol;
	// no_such_file_or_directory: the kernel has no module mpa, or may not load it
	// for us. The TCP socket is closed then.
	static result<socket> attach(descriptor tcp) noexcept
	{
		auto fd = attached(std::move(tcp));

		if (!fd)
			return fd.error();
		return socket(*std::move(fd));
	}

	// Takes a socket that is attached already. An error if it is not.
	static result<socket> adopt(descriptor fd) noexcept
	{
		socket taken(std::move(fd));

		if (auto known = taken.modes(); !known)
			return known.error();
		return taken;
	}

	// The next connection of a listening socket, with the modes and settings that
	// are set there. flags: SOCK_NONBLOCK or 0.
	result<socket> accept_connection(int flags = 0) noexcept
	{
		auto fd = accepted(flags);

		if (!fd)
			return fd.error();
		return socket(*std::move(fd));
	}

	// --- modes -------------------------------------------------------------

	// Frames the directions, at once or when the socket is connected. On a
	// listening socket: those that it accepts. The peer may not send framed bytes
	// before it knows that this side expects them. device_or_resource_busy: a
	// direction is framed already, or MPA was started.
	result<void> enable(framing::send out, framing::receive in) noexcept
	{
		return set(TCP_FRAMING_MODE, to_kernel(out, in));
	}

	// Likewise, and first what else the sides have agreed on.
	result<void> enable(const agreement &out, const agreement &in) noexcept
	{
		result<void> done;

		if (out.send == framing::send::align)
			done = pack(out.pack);
		if (done && out.send == framing::send::markers)
			done = send_interval(out.interval);
		if (done && in.receive == framing::receive::align)
			done = peer_key(in.key);
		if (done && in.receive == framing::receive::markers)
			done = receive_interval(in.interval);
		return done ? enable(out.send, in.receive) : done;
	}

	result<framing::modes> modes() const noexcept
	{
		auto got = get<int>(TCP_FRAMING_MODE);

		if (!got)
			return got.error();
		return from_kernel(static_cast<std::uint32_t>(*got));
	}

	// --- keys of PDU alignment mode ----------------------------------------

	// Of the framing PDUs that this side sends. It is random, and for the peer.
	result<framing::key> key() const noexcept
	{
		return get<framing::key>(TCP_FRAMING_SEND_KEY);
	}

	// Of those that the peer sends. Nothing is received before it is set.
	result<void> peer_key(const framing::key &of_peer) noexcept
	{
		return set(TCP_FRAMING_RECV_KEY, of_peer);
	}

	result<framing::key> peer_key() const noexcept
	{
		return get<framing::key>(TCP_FRAMING_RECV_KEY);
	}

	// --- segments ----------------------------------------------------------

	// Most bytes of one send that is not divided; in PDU alignment mode without the
	// header. It follows the path MTU. not_connected: not yet.
	result<std::uint32_t> emss() const noexcept
	{
		auto got = get<int>(TCP_SEND_EMSS);

		if (!got)
			return got.error();
		return static_cast<std::uint32_t>(*got);
	}

	// Waits until the EMSS is another than emss() has returned last; returns it.
	// timed_out: it is the same. A negative time is no limit.
	result<std::uint32_t>
	on_emss(std::chrono::milliseconds limit =
			std::chrono::milliseconds(-1)) const noexcept
	{
		const auto events = wait(POLLPRI, limit);

		if (!events)
			return events.error();
		if (*events == 0)
			return std::errc::timed_out;
		if (!(*events & POLLPRI))
			return std::errc::not_connected;
		return emss();
	}

	// Whether the first send after a rise of the EMSS fails with message_size,
	// once.
	result<void> notice(bool on) noexcept
	{
		return set(TCP_FRAMING_EMSS_NOTICE, int{on});
	}
	result<bool> notice() const noexcept
	{
		return get_bool(TCP_FRAMING_EMSS_NOTICE);
	}

	// Whether PDUs may share a framing PDU.
	result<void> pack(bool on) noexcept
	{
		return set(TCP_FRAMING_PACK_PDUS, int{on});
	}
	result<bool> pack() const noexcept
	{
		return get_bool(TCP_FRAMING_PACK_PDUS);
	}

	// Whether PDUs of up to emergency_size are taken that do not fit in a segment.
	result<void> emergency(bool on) noexcept
	{
		return set(TCP_FRAMING_EMERGENCY, int{on});
	}
	result<bool> emergency() const noexcept
	{
		return get_bool(TCP_FRAMING_EMERGENCY);
	}

	// --- markers -----------------------------------------------------------

	// Bytes of stream from one marker to the next. If a direction has markers
	// already, the one that is due stays where it is: both sides change the interval
	// at the same byte.
	result<void> send_interval(std::uint32_t bytes) noexcept
	{
		return set_interval(TCP_FRAMING_SEND_INTERVAL, bytes);
	}
	result<std::uint32_t> send_interval() const noexcept
	{
		return get<std::uint32_t>(TCP_FRAMING_SEND_INTERVAL);
	}

	result<void> receive_interval(std::uint32_t bytes) noexcept
	{
		return set_interval(TCP_FRAMING_RECV_INTERVAL, bytes);
	}
	result<std::uint32_t> receive_interval() const noexcept
	{
		return get<std::uint32_t>(TCP_FRAMING_RECV_INTERVAL);
	}

	// --- data --------------------------------------------------------------

	// Receives, without headers and markers: in receive::align one framing PDU, in
	// receive::markers bytes up to the next boundary of PDUs that is known or to
	// the end of what has arrived, in receive::plain bytes of the stream.
	// protocol_error: not what is expected; every later call returns it again.
	// connection_aborted: the peer ended within a framing PDU.
	result<received> receive(buffer into, receive_flags flags = {}) noexcept
	{
		const auto got = receive_message(into, flags);

		if (!got)
			return got.error();
		return received{
			.size = std::min(got->length, into.size()),
			.end_of_record = (got->flags & MSG_EOR) != 0,
			.truncated = (got->flags & MSG_TRUNC) != 0,
			.end = got->length == 0 && !into.empty() &&
			       !(got->flags & (MSG_EOR | MSG_TRUNC)),
		};
	}

	result<framing::info> info() const noexcept
	{
		auto got = get<tcp_framing_info>(TCP_FRAMING_INFO);

		if (!got)
			return got.error();
		return from_kernel(*got);
	}

private:
	explicit socket(descriptor fd) noexcept : endpoint(std::move(fd)) {}

	template <typename T> result<void> set(int option, const T &value) noexcept
	{
		return set_value(SOL_TCP, option, value);
	}

	template <typename T> result<T> get(int option) const noexcept
	{
		return get_value<T>(SOL_TCP, option);
	}

	result<bool> get_bool(int option) const noexcept
	{
		auto got = get<int>(option);

		if (!got)
			return got.error();
		return *got != 0;
	}

	// The kernel has an int.
	result<void> set_interval(int option, std::uint32_t bytes) noexcept
	{
		if (bytes > interval_max)
			return std::errc::invalid_argument;
		return set(option, static_cast<int>(bytes));
	}
};

// The meaning of an error of enable(), send() or receive() on such a socket. Empty for
// errors that have their usual meaning.
inline std::string_view reason(std::error_code error) noexcept
{
	struct row {
		std::errc code;
		std::string_view words;
	};
	constexpr std::array<row, 9> rows{{
		{std::errc::protocol_error,
		 "the key or length of a framing PDU, or a marker, is wrong"},
		{std::errc::connection_aborted,
		 "the peer ended within a framing PDU"},
		{std::errc::message_size,
		 "longer than the EMSS or the limit of markers, or the EMSS has risen"},
		{std::errc::invalid_argument,
		 "two modes of a direction, a wrong value, or an empty PDU"},
		{std::errc::device_or_resource_busy,
		 "MPA was started, or the direction is framed already"},
		{std::errc::operation_not_supported,
		 "this mode or call is not supported, or not allowed"},
		{std::errc::no_protocol_option,
		 "upper-layer protocol mpa is not attached"},
		{std::errc::not_connected, "the socket is not connected"},
		{std::errc::no_such_file_or_directory,
		 "the kernel has no module mpa loaded"},
	}};

	for (const row &one : rows)
		if (error == one.code)
			return one.words;
	return {};
}

} // namespace mpa::framing
