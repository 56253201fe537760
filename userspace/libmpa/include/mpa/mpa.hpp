/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// MPA (RFC 5044) on a TCP socket, for C++20. mpa(7) has the full description.
// Nothing is allocated, no function throws, and the only state is the
// descriptor: every function is one system call on it.
//
//	auto tcp = mpa::tcp::connect("192.0.2.7", "7000");	// mpa/tcp.hpp
//	auto link = mpa::socket::attach(*std::move(tcp));
//	if (auto done = link->start(mpa::role::initiator); !done)
//		return mpa::reason(done.error());
//	link->send(mpa::bytes("hello"));
//	std::array<std::byte, 2048> buffer;
//	auto got = link->receive(buffer);
//
// Errors are std::error_code in std::generic_category(): compare them with
// std::errc, ask reason() for words. EINTR is handed through like any other.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include <linux/mpa.h>

#include "endpoint.hpp"

namespace mpa {

// Longest private data of a frame (RFC 5044 section 7.1.1). Revision 2 uses 4
// bytes of it (RFC 6581 section 4).
inline constexpr std::size_t private_data_max = 512;
// Longest last message of streaming mode.
inline constexpr std::size_t last_message_max = 4096;
// Longest ULPDU that a peer may send (RFC 5044 section 3 leaves room for the
// rest of its FPDU): a buffer of this size never truncates.
inline constexpr std::size_t ulpdu_max = 64768;

enum class role : std::uint8_t {
	none = MPA_ROLE_NONE,
	initiator = MPA_ROLE_INITIATOR,
	responder = MPA_ROLE_RESPONDER,
};

enum class state : std::uint8_t {
	streaming = MPA_STATE_STREAMING,
	listening = MPA_STATE_LISTENING,
	wait_reply = MPA_STATE_WAIT_REPLY,
	wait_request = MPA_STATE_WAIT_REQUEST,
	requested = MPA_STATE_REQUESTED,
	operational = MPA_STATE_OPERATIONAL,
	receive_ended = MPA_STATE_RECEIVE_ENDED,
	rejected = MPA_STATE_REJECTED,
	failed = MPA_STATE_FAILED,
	closed = MPA_STATE_CLOSED,
	replied = MPA_STATE_REPLIED,
	plain = MPA_STATE_PLAIN,
	handed_over = MPA_STATE_HANDED_OVER,
	framed = MPA_STATE_FRAMED, // see framing.hpp
};

inline std::string_view name(state value) noexcept
{
	constexpr std::array<std::string_view, 14> names{
		"streaming", "listening", "waiting for the Reply",
		"waiting for a Request", "a Request waits", "operational",
		"receiving has ended", "rejected", "failed", "closed",
		"a Reply waits", "ordinary TCP", "handed over",
		"framed without MPA",
	};
	const auto index = static_cast<std::size_t>(value);

	return index < names.size() ? names[index] : "unknown";
}

// What ended receiving, named as in RFC 5044 section 8.
enum class error_kind : std::uint32_t {
	none = MPA_CODE_NONE,
	tcp = MPA_CODE_TCP,
	crc = MPA_CODE_CRC,
	marker = MPA_CODE_MARKER,
	startup = MPA_CODE_STARTUP,
};

// 0: the RDMA Consortium's protocols (RFC 5044 appendix C); 1: RFC 5044; 2: RFC
// 6581; automatic: an Initiator sends 1, a Responder accepts any of them.
enum class revision : std::uint8_t {
	zero = 0,
	one = 1,
	two = 2,
	automatic = MPA_REV_AUTO,
};

// What a connection begins with: frames of RFC 5044, or Start Keys of the draft before
// it; a Responder may take either.
enum class startup : std::uint8_t {
	frames = MPA_STARTUP_FRAMES,
	start_key = MPA_STARTUP_START_KEY,
	either = MPA_STARTUP_EITHER,
};

// What this side asks of a connection; struct mpa_sock_params has the details.
struct params {
	bool markers = false;
	bool no_crc = false;
	bool peer_to_peer = false;
	bool auto_accept = false;
	bool permissive = false;
	// Initiator: a Reply waits for accept_reply() or decline_reply().
	bool review = false;
	// Responder: a peer that does not begin with a Request is a client of ordinary
	// TCP, see state::plain.
	bool plain = false;
	revision rev = revision::automatic;
	// At most rev. Without permissive, zero has the same effect as one.
	revision rev_min = revision::zero;
	// Kind of the startup exchange.
	enum startup startup = startup::frames;
	std::uint8_t rtr = 0;
	std::uint16_t ird = 0;
	std::uint16_t ord = 0;
	std::uint16_t ird_max = 0;
	// How long to wait for the peer's frame; 0: the kernel's default of 5
	// s.
	std::chrono::milliseconds timeout{0};

	bool operator==(const params &) const = default;
};

// result_out_of_range: the timeout is negative or longer than 24 days.
inline result<mpa_sock_params> to_kernel(const params &from) noexcept
{
	mpa_sock_params to{};

	if (from.timeout.count() < 0 ||
	    from.timeout.count() > std::numeric_limits<std::int32_t>::max())
		return std::errc::result_out_of_range;
	to.flags = (from.markers ? std::uint32_t{MPA_F_MARKERS} : 0) |
		   (from.no_crc ? std::uint32_t{MPA_F_NO_CRC} : 0) |
		   (from.peer_to_peer ? std::uint32_t{MPA_F_PEER_TO_PEER} : 0) |
		   (from.auto_accept ? std::uint32_t{MPA_F_AUTO_ACCEPT} : 0) |
		   (from.permissive ? std::uint32_t{MPA_F_PERMISSIVE} : 0) |
		   (from.review ? std::uint32_t{MPA_F_REVIEW} : 0) |
		   (from.plain ? std::uint32_t{MPA_F_PLAIN} : 0);
	to.rev = static_cast<std::uint8_t>(from.rev);
	to.rev_min = static_cast<std::uint8_t>(from.rev_min);
	to.startup = static_cast<std::uint8_t>(from.startup);
	to.rtr = from.rtr;
	to.ird = from.ird;
	to.ord = from.ord;
	to.ird_max = from.ird_max;
	to.timeout_ms = static_cast<std::uint32_t>(from.timeout.count());
	return to;
}

inline params from_kernel(const mpa_sock_params &from) noexcept
{
	params to;

	to.markers = from.flags & MPA_F_MARKERS;
	to.no_crc = from.flags & MPA_F_NO_CRC;
	to.peer_to_peer = from.flags & MPA_F_PEER_TO_PEER;
	to.auto_accept = from.flags & MPA_F_AUTO_ACCEPT;
	to.permissive = from.flags & MPA_F_PERMISSIVE;
	to.review = from.flags & MPA_F_REVIEW;
	to.plain = from.flags & MPA_F_PLAIN;
	to.rev = static_cast<revision>(from.rev);
	to.rev_min = static_cast<revision>(from.rev_min);
	to.startup = static_cast<enum startup>(from.startup);
	to.rtr = from.rtr;
	to.ird = from.ird;
	to.ord = from.ord;
	to.ird_max = from.ird_max;
	to.timeout = std::chrono::milliseconds(from.timeout_ms);
	return to;
}

// State of a connection or, while a Request waits, the contents of the Request;
// struct mpa_sock_info has the details.
struct info {
	mpa::state state = state::streaming;
	mpa::role role = role::none;
	std::uint8_t rev = 0;
	std::uint8_t rtr = 0;
	error_kind kind = error_kind::none;
	// Error that ended receiving; 0: none, or an orderly end.
	std::error_code error;
	bool rx_markers = false; // the peer inserts Markers
	bool tx_markers = false; // this side inserts Markers
	bool crc = true;
	bool peer_to_peer = false;
	bool enhanced = false;	   // RFC 6581's data was exchanged
	bool start_key = false;	   // Start Keys were exchanged, not frames
	std::uint32_t mulpdu = 0;  // bytes; 0 before full operation
	std::uint16_t ird = 0;
	std::uint16_t ord = 0;
	std::uint16_t peer_ird = 0;
	std::uint16_t peer_ord = 0;
	std::uint32_t peer_data_size = 0; // bytes
	std::uint8_t ddp_version = 0; // result of the negotiation of DDP

	bool operator==(const info &) const = default;
};

inline info from_kernel(const mpa_sock_info &from) noexcept
{
	info to;

	to.state = static_cast<mpa::state>(from.state);
	to.role = static_cast<mpa::role>(from.role);
	to.rev = from.rev;
	to.rtr = from.rtr;
	to.kind = static_cast<error_kind>(from.error);
	to.error = {static_cast<int>(from.err), std::generic_category()};
	to.rx_markers = from.flags & MPA_F_MARKERS;
	to.tx_markers = from.flags & MPA_F_TX_MARKERS;
	to.crc = !(from.flags & MPA_F_NO_CRC);
	to.peer_to_peer = from.flags & MPA_F_PEER_TO_PEER;
	to.enhanced = from.flags & MPA_F_ENHANCED;
	to.start_key = from.flags & MPA_F_START_KEY;
	to.mulpdu = from.mulpdu;
	to.ird = from.ird;
	to.ord = from.ord;
	to.peer_ird = from.peer_ird;
	to.peer_ord = from.peer_ord;
	to.peer_data_size = from.peer_data_len;
	to.ddp_version = from.ddp_version;
	return to;
}

using stats = mpa_sock_stats;

// A few bytes stored in the object: private data or a last message.
template <std::size_t Max> class short_bytes {
public:
	static constexpr std::size_t max_size = Max;

	std::size_t size() const noexcept { return size_; }
	bool empty() const noexcept { return size_ == 0; }
	const_buffer view() const noexcept
	{
		return const_buffer(data_).first(size_);
	}
	operator const_buffer() const noexcept { return view(); }

	// For the code that fills it: the whole buffer, and then how much was
	// used.
	buffer room() noexcept { return data_; }
	void used(std::size_t size) noexcept { size_ = std::min(size, Max); }

private:
	std::array<std::byte, Max> data_{};
	std::size_t size_ = 0;
};

using private_data = short_bytes<private_data_max>;
using last_message = short_bytes<last_message_max>;

// Result of one receive.
struct received {
	std::size_t size = 0;	 // bytes now in the buffer
	std::size_t length = 0;	 // of the ULPDU, with receive_flags::true_length;
				 // otherwise the same as size
	bool truncated = false;	 // the rest of the ULPDU is lost, unless peeked
	bool end = false;	 // no ULPDU: the peer has closed in good order

	bool operator==(const received &) const = default;
};

// An MPA socket. Sending, waiting, closing and the descriptor itself are those of
// endpoint.hpp. A message is a ULPDU; an empty one is valid.
class socket : public endpoint {
public:
	socket() noexcept = default;

	// Takes a TCP socket: unconnected, connected or listening. enotconn: it is closed;
	// file_exists: it has an upper-layer protocol; enoent: the kernel has no
	// module mpa, or may not load it for us. The TCP socket is closed then.
	static result<socket> attach(descriptor tcp) noexcept
	{
		auto fd = attached(std::move(tcp));

		if (!fd)
			return fd.error();
		return socket(*std::move(fd));
	}

	// Takes a socket that is attached already: accepted from a listening
	// one, inherited, or passed from another process. An error if it is not
	// attached.
	static result<socket> adopt(descriptor fd) noexcept
	{
		socket taken(std::move(fd));

		if (auto known = taken.info(); !known)
			return known.error();
		return taken;
	}

	// --- before the start -------------------------------------------------

	// device_or_resource_busy: it has started; permission_denied or
	// operation_not_permitted: no_crc without CAP_NET_ADMIN.
	result<void> set_params(const mpa::params &wanted) noexcept
	{
		auto kernel = to_kernel(wanted);

		return kernel ? set(MPA_SO_PARAMS, *kernel) : kernel.error();
	}

	result<mpa::params> params() const noexcept
	{
		auto got = get<mpa_sock_params>(MPA_SO_PARAMS);

		if (!got)
			return got.error();
		return from_kernel(*got);
	}

	// For the next Request, or for the Reply of auto_accept; at most
	// private_data_max bytes.
	result<void> set_private_data(const_buffer data) noexcept
	{
		return set_bytes(MPA_SO_PRIVATE_DATA, data);
	}

	result<mpa::private_data> private_data() const noexcept
	{
		return get_bytes<private_data_max>(MPA_SO_PRIVATE_DATA);
	}

	// Responder: the last bytes of streaming mode. They are sent once MPA
	// is ready for the Request that answers them; at most last_message_max
	// bytes.
	result<void> set_last_message(const_buffer data) noexcept
	{
		return set_bytes(MPA_SO_LAST_MESSAGE, data);
	}

	result<mpa::last_message> last_message() const noexcept
	{
		return get_bytes<last_message_max>(MPA_SO_LAST_MESSAGE);
	}

	// --- the startup exchange, RFC 5044 section 7.1 ------------------------

	// A blocking socket waits: an Initiator for the end of the exchange
	// (connection_refused: rejected, see peer_data()) or with params.review
	// for a Reply, a Responder for a Request. A non-blocking one gets
	// operation_in_progress; wait for POLLOUT (Initiator) or POLLPRI
	// (Responder, or params.review), then see pending_error().
	// On a listening socket, as Responder: connections accepted from now on
	// start by themselves, with the parameters, private data and packing
	// that are set here.
	result<void> start(role as) noexcept
	{
		return set(MPA_SO_START, static_cast<int>(as));
	}

	// The next connection of a listening socket. flags: SOCK_NONBLOCK or 0.
	result<socket> accept_connection(int flags = 0) noexcept
	{
		auto fd = accepted(flags);

		if (!fd)
			return fd.error();
		return socket(*std::move(fd));
	}

	// Answers a Request. invalid_argument: none is waiting.
	result<void> accept_request(const_buffer data = {}) noexcept
	{
		return set_bytes(MPA_SO_ACCEPT, data);
	}

	result<void> reject_request(const_buffer data = {}) noexcept
	{
		return set_bytes(MPA_SO_REJECT, data);
	}

	// Answers a Reply that waits because of params.review; see peer_data()
	// and info(). Accepting enters full operation. Declining makes the
	// socket ordinary TCP again; nothing is sent, so the peer, which is in
	// full operation, takes every byte for part of an FPDU. Usually the
	// connection is closed then. invalid_argument: none is waiting.
	result<void> accept_reply() noexcept { return set_bytes(MPA_SO_ACCEPT, {}); }
	result<void> decline_reply() noexcept { return set_bytes(MPA_SO_REJECT, {}); }

	// The private data of the peer's Request or Reply.
	result<mpa::private_data> peer_data() const noexcept
	{
		return get_bytes<private_data_max>(MPA_SO_PEER_DATA);
	}

	// --- full operation ----------------------------------------------------

	// Receives one ULPDU. bad_message: a CRC is wrong; protocol_error: a
	// Marker or length is wrong; connection_aborted: the peer ended within
	// an FPDU. Each of these is returned again by every later call.
	result<received> receive(buffer into, receive_flags flags = {}) noexcept
	{
		const auto got = receive_message(into, flags);

		if (!got)
			return got.error();
		return received{
			.size = std::min(got->length, into.size()),
			.length = got->length,
			.truncated = (got->flags & MSG_TRUNC) != 0,
			.end = got->length == 0 &&
			       !(got->flags & (MSG_EOR | MSG_TRUNC)),
		};
	}

	// The longest ULPDU that can be sent now, in bytes. It follows the path
	// MTU.
	result<std::uint32_t> mulpdu() const noexcept
	{
		return get<std::uint32_t>(MPA_SO_MULPDU);
	}

	// Whether small ULPDUs are held back to be packed together while
	// earlier ones are not acknowledged.
	result<void> set_packing(bool on) noexcept
	{
		return set(MPA_SO_PACKING, static_cast<int>(on));
	}

	result<bool> packing() const noexcept
	{
		auto got = get<int>(MPA_SO_PACKING);

		if (!got)
			return got.error();
		return *got != 0;
	}

	// --- at any time -------------------------------------------------------

	result<mpa::info> info() const noexcept
	{
		auto got = get<mpa_sock_info>(MPA_SO_INFO);

		if (!got)
			return got.error();
		return from_kernel(*got);
	}

	result<mpa::stats> stats() const noexcept
	{
		return get<mpa_sock_stats>(MPA_SO_STATS);
	}

private:
	explicit socket(descriptor fd) noexcept : endpoint(std::move(fd)) {}

	template <typename T> result<void> set(int option, const T &value) noexcept
	{
		return set_value(SOL_MPA, option, value);
	}

	result<void> set_bytes(int option, const_buffer data) noexcept
	{
		return set_option(SOL_MPA, option, data);
	}

	template <typename T> result<T> get(int option) const noexcept
	{
		return get_value<T>(SOL_MPA, option);
	}

	template <std::size_t Max>
	result<short_bytes<Max>> get_bytes(int option) const noexcept
	{
		short_bytes<Max> value;
		auto size = get_option(SOL_MPA, option, value.room());

		if (!size)
			return size.error();
		value.used(*size);
		return value;
	}
};

// The meaning of an error of start(), send() or receive() on an MPA socket.
// Empty for errors that have their usual meaning.
inline std::string_view reason(std::error_code error) noexcept
{
	struct row {
		std::errc code;
		std::string_view words;
	};
	constexpr std::array<row, 14> rows{{
		{std::errc::bad_message, "the CRC of an FPDU is wrong"},
		{std::errc::protocol_error,
		 "improper startup frame, or a Marker or length of an FPDU is wrong"},
		{std::errc::protocol_not_supported,
		 "the peer speaks another revision, or asks what we do not offer"},
		{std::errc::connection_refused, "the peer rejected the Request"},
		{std::errc::connection_already_in_progress,
		 "both sides are Initiators"},
		{std::errc::connection_aborted, "the peer ended within an FPDU"},
		{std::errc::connection_reset, "the peer reset the connection"},
		{std::errc::timed_out, "nothing came from the peer in time"},
		{std::errc::no_space_on_device,
		 "the Reply asks for more Reads at once than ird_max"},
		{std::errc::operation_not_supported,
		 "the Reply accepts no ready-to-receive message that this side can send"},
		{std::errc::message_size,
		 "longer than the MULPDU or the limit of private data"},
		{std::errc::broken_pipe, "sending has ended"},
		{std::errc::not_connected,
		 "not in full operation, or a Request waits for its answer"},
		{std::errc::no_such_file_or_directory,
		 "the kernel has no module mpa loaded"},
	}};

	for (const row &one : rows)
		if (error == one.code)
			return one.words;
	return {};
}

} // namespace mpa
