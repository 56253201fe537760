/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// TLS whose records are segments: section 7.3.1 of
// draft-ietf-tsvwg-tcp-ulp-frame-00. A record is a message of TLS itself, so it needs no
// framing header: each one is sent by one call in framing::send::atomic, and a receiver
// finds a record in each TCP segment. Marker mode is there, too (section 7.3.2).
// tcp-framing(7) describes the socket.
//
//	auto tcp = mpa::tcp::connect("server", "7000");	// mpa/tcp.hpp
//	auto link = mpa::framing::socket::attach(*std::move(tcp));
//	auto tls = mpa::tls::connection::client(
//		*std::move(link), *mpa::tls::context::client(), "server");
//	if (auto done = tls->handshake(); !done)
//		return done.error().message();
//	tls->send(mpa::bytes("one record"));
//	auto got = tls->receive(buffer);
//
// The peer is any TLS 1.2 or 1.3 over TCP. This is a library, -lmpa-tls, on OpenSSL 3;
// errors are std::error_code, in std::generic_category() or tls::category(). Nothing
// throws but std::bad_alloc. One thread at a time may use a connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include "framing.hpp"

// OpenSSL's SSL_CTX and SSL.
struct ssl_ctx_st;
struct ssl_st;

#define MPA_TLS_API __attribute__((visibility("default")))

namespace mpa::tls {

// Longest plaintext of a record, bytes (RFC 8446 section 5.1).
inline constexpr std::uint32_t plaintext_max = 16384;
// Length of the header of a record, bytes.
inline constexpr std::uint32_t record_header_size = 5;

enum class version : std::uint16_t { none = 0, tls12 = 0x0303, tls13 = 0x0304 };

// Errors of OpenSSL; their message is OpenSSL's.
MPA_TLS_API const std::error_category &category() noexcept;

// Certificates, keys and the like, for any number of connections.
class context {
public:
	// Of clients that trust the system's certificate authorities.
	MPA_TLS_API static result<context> client();
	// Of servers, with a chain of certificates and its key, files in PEM.
	MPA_TLS_API static result<context> server(const std::string &chain_file,
						  const std::string &key_file);
	// One that the application has made; shared with it.
	MPA_TLS_API static context share(ssl_ctx_st *made) noexcept;

	// For OpenSSL's functions.
	ssl_ctx_st *native() const noexcept { return owned_.get(); }

private:
	struct deleter {
		MPA_TLS_API void operator()(ssl_ctx_st *one) const noexcept;
	};

	explicit context(ssl_ctx_st *one) noexcept : owned_(one) {}

	std::unique_ptr<ssl_ctx_st, deleter> owned_;
};

// Result of one receive.
struct received {
	std::size_t size = 0;	    // bytes now in the buffer
	bool end_of_record = false; // they end where a record ends; otherwise the next
				    // receive has the rest of it
	bool end = false;	    // nothing: the peer has closed in good order

	bool operator==(const received &) const = default;
};

// Marker mode (section 7.3.2), for both directions, which both ends agree on. In bytes
// from one marker to the next.
struct markers {
	// In the stream of records: the kernel's, which point to records.
	std::uint32_t records = framing::interval_default;
	// In the plaintext: these point to PDUs of the application.
	std::uint32_t plaintext = framing::interval_default;

	bool operator==(const markers &) const = default;
};

struct stats {
	std::uint64_t sent_records = 0;	 // also those of the handshake
	std::uint64_t sent_segments = 0; // calls that sent them
	std::uint64_t sent_in_pieces = 0; // records that were longer than the EMSS
	std::uint64_t received_records = 0; // of the application, whole

	bool operator==(const stats &) const = default;
};

// A TLS connection. Only cipher suites with authenticated encryption are used, because
// their records do not depend on each other; no compression, no renegotiation.
class connection {
public:
	// Takes an attached socket, connected, and makes it framing::send::atomic.
	// invalid_argument: what it receives is framed; device_or_resource_busy: what it
	// sends is framed in another way; an error of category(), "no ciphers
	// available": the context has no suite that can be used. name: of the server,
	// or its address, which is not sent to it; the certificate must be valid and
	// have it, also if the context verifies none; "": any.
	MPA_TLS_API static result<connection> client(framing::socket link,
						     const context &with,
						     const std::string &name = "");
	MPA_TLS_API static result<connection> server(framing::socket link,
						     const context &with);
	// Likewise in marker mode, with another end that is in marker mode. TCP's
	// segments are not changed then. One send is one PDU, which may be several
	// records; a receive has bytes up to the next boundary of PDUs that is known,
	// or what has arrived, as with framing::receive::markers. invalid_argument: no
	// such interval.
	MPA_TLS_API static result<connection> client(framing::socket link,
						     const context &with,
						     const std::string &name,
						     const markers &intervals);
	MPA_TLS_API static result<connection> server(framing::socket link,
						     const context &with,
						     const markers &intervals);

	MPA_TLS_API connection(connection &&) noexcept;
	MPA_TLS_API connection &operator=(connection &&) noexcept;
	MPA_TLS_API ~connection();

	// With a non-blocking socket each of the following may return
	// resource_unavailable_try_again: wait for events(), then call it again.

	// The first call of send(), receive() or update_key() does it, too.
	// operation_in_progress: a function of the context, such as that of
	// SSL_CTX_set_cert_cb(), wants to be called again: repeat the call when it is
	// ready.
	MPA_TLS_API result<void> handshake();

	// Sends one record, which is one segment. message_size: it is longer than
	// emss(); invalid_argument: it is empty. Nothing was sent then. If the EMSS
	// falls while the record is sent, it leaves in pieces: it is never encrypted
	// again. Once encrypted, a record that the socket does not take, for want of
	// room or memory or since not even a piece fits, is sent by a later call, see
	// pending(): an error of the socket that lasts is then returned by that call,
	// which has taken nothing. Other errors are the end of the connection.
	// While a message for the handshake, such as a ticket for later sessions, has
	// arrived in part, it waits for the rest of it, as do update_key() and close().
	// send_flags::more: with pack(true), it may wait for the next one.
	MPA_TLS_API result<void> send(const_buffer plaintext, send_flags flags = {});

	// Receives one record, or the next part of one that is longer than the buffer.
	// connection_aborted: the peer has ended without saying so, which may be the
	// work of an attacker. protocol_error: a record that is not one.
	// Several records may arrive at once, and poll(2) does not see those that were
	// taken from the socket: repeat the call until
	// resource_unavailable_try_again before waiting, or while buffered().
	MPA_TLS_API result<received> receive(buffer into);
	// Whether something that has arrived was taken from the socket, by receive() or
	// by a call that waited for the peer, and not read yet. It may be a part of a
	// record, or nothing for the application.
	MPA_TLS_API bool buffered() const noexcept;

	// The longest plaintext of one send, bytes: what a segment has room for, but not
	// more than a record, or than the peer has asked for by a TLS extension. It
	// follows the path MTU. Before the handshake: that of TLS 1.2. In marker mode:
	// the longest PDU.
	MPA_TLS_API result<std::uint32_t> emss();

	// Whether records that wait share a segment, as many as it has room for;
	// default: each one has its own.
	MPA_TLS_API void pack(bool on) noexcept;

	// TLS 1.3: new keys for sending; with the argument, the peer changes its keys,
	// too.
	MPA_TLS_API result<void> update_key(bool of_peer_too = false);

	// Whether records wait; flush() sends them.
	MPA_TLS_API bool pending() const noexcept;
	MPA_TLS_API result<void> flush();

	// Says to the peer that nothing more is sent, then ends TCP's sending half. The
	// latter also if the former is not possible, before the handshake or after an
	// error, which is returned then. While pending(), or after
	// resource_unavailable_try_again, nothing has ended: call it again.
	MPA_TLS_API result<void> close();

	// For poll(2), what the last call waits for: POLLOUT while records wait, POLLIN
	// if none do; after receive(), which sends them, too, both. If the peer asks for
	// more and more answers, such as alerts, and does not read them, receive() waits
	// for POLLOUT alone.
	MPA_TLS_API short events() const noexcept;

	MPA_TLS_API enum version version() const noexcept;
	MPA_TLS_API tls::stats stats() const noexcept;
	// The socket, for waiting, its counters and settings.
	MPA_TLS_API framing::socket &link() noexcept;
	// For OpenSSL's functions that ask.
	MPA_TLS_API ssl_st *native() noexcept;

private:
	class state;

	explicit connection(std::unique_ptr<state> made) noexcept;

	std::unique_ptr<state> state_;
};

} // namespace mpa::tls
