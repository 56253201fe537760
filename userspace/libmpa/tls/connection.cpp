/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// OpenSSL reads from and writes to memory; what it has written is cut at the headers of
// its records, each of which is one call of the socket.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <arpa/inet.h>
#include <mpa/tls.hpp>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/ssl.h>

#include "error.hpp"
#include "markers.hpp"
#include "records.hpp"

namespace mpa::tls {

namespace {

// The bytes that encryption adds to a plaintext.
// TLS 1.3: header, type of the content, tag (RFC 8446 section 5.2).
constexpr std::uint32_t overhead_13 = record_header_size + 1 + 16;
// TLS 1.2: header, explicit nonce, tag (RFC 5288 section 3).
constexpr std::uint32_t overhead_12 = record_header_size + 8 + 16;
// TLS 1.2 with ChaCha20-Poly1305: its nonce is implicit (RFC 7905 section 2).
constexpr std::uint32_t overhead_12_chacha = record_header_size + 16;
// OpenSSL does not make fragments smaller than this.
constexpr std::uint32_t fragment_min = 512;
// Nothing more is received while so many bytes wait to be sent. Sending stays below it,
// but for keys that are changed again and again.
constexpr std::size_t most_waiting = 4 << 16;
// How often the EMSS may change while a segment is sent.
constexpr int most_tries = 8;

struct ssl_deleter {
	void operator()(SSL *one) const noexcept { ::SSL_free(one); }
};
using owned_ssl = std::unique_ptr<SSL, ssl_deleter>;

struct stack_deleter {
	void operator()(STACK_OF(SSL_CIPHER) *one) const noexcept
	{
		sk_SSL_CIPHER_free(one);
	}
};
using ciphers = std::unique_ptr<STACK_OF(SSL_CIPHER), stack_deleter>;

bool later(std::error_code error) noexcept
{
	return error == std::errc::resource_unavailable_try_again ||
	       error == std::errc::operation_would_block ||
	       error == std::errc::interrupted;
}

// A record that has been encrypted is kept for a later call: there is no room, or no
// memory, or the path has become too narrow for even a piece of it.
bool keeps(std::error_code error) noexcept
{
	return later(error) || error == std::errc::not_enough_memory ||
	       error == std::errc::no_buffer_space || error == std::errc::message_size;
}

// The names of the suites with authenticated encryption that the application allows,
// in its order, separated by colons.
struct suites {
	std::string tls12, tls13;
};

suites usable_suites(const SSL *ssl)
{
	const STACK_OF(SSL_CIPHER) *all = ::SSL_get_ciphers(ssl);
	suites found;

	for (int n = 0; n < sk_SSL_CIPHER_num(all); n++) {
		const SSL_CIPHER *one = sk_SSL_CIPHER_value(all, n);
		const bool tls13 =
			::SSL_CIPHER_get_protocol_id(one) >> 8 == 0x13;
		std::string &to = tls13 ? found.tls13 : found.tls12;

		if (!::SSL_CIPHER_is_aead(one))
			continue;
		to += (to.empty() ? "" : ":") + std::string(::SSL_CIPHER_get_name(one));
	}
	return found;
}

bool restrict_suites(SSL *ssl)
{
	const auto found = usable_suites(ssl);
	int least = ::SSL_get_min_proto_version(ssl);

	least = std::max(least, TLS1_2_VERSION);
	if (found.tls12.empty())
		least = TLS1_3_VERSION;
	if (found.tls12.empty() && found.tls13.empty()) {
		ERR_raise(ERR_LIB_SSL, SSL_R_NO_CIPHERS_AVAILABLE);
		return false;
	}
	return ::SSL_set_min_proto_version(ssl, least) &&
	       (found.tls12.empty() ||
		::SSL_set_cipher_list(ssl, found.tls12.c_str())) &&
	       ::SSL_set_ciphersuites(ssl, found.tls13.c_str());
}

// What makes a record another length than its plaintext suggests is off.
bool prepare(SSL *ssl)
{
	BIO *in = ::BIO_new(::BIO_s_mem()), *out = ::BIO_new(::BIO_s_mem());

	if (!in || !out) {
		::BIO_free(in);
		::BIO_free(out);
		return false;
	}
	// -1: an empty one is not the end of the stream.
	BIO_set_mem_eof_return(in, -1);
	::SSL_set_bio(ssl, in, out);
	::SSL_set_options(ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	::SSL_clear_options(ssl, SSL_OP_ENABLE_KTLS);
	// The buffer of writes follows the size of fragments only if it is released.
	// A read that wants more has read all that it was given.
	SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
	// Or it would take records that nobody sees any more.
	::SSL_set_read_ahead(ssl, 0);
	::SSL_set_record_padding_callback(ssl, nullptr);
	return ::SSL_set_block_padding(ssl, 0) && SSL_set_max_pipelines(ssl, 1) &&
	       restrict_suites(ssl);
}

} // namespace

class connection::state {
public:
	static result<connection> make(framing::socket link, result<owned_ssl> ssl,
				       const std::optional<markers> &intervals);

	state(framing::socket link, owned_ssl ssl,
	      const std::optional<markers> &intervals) noexcept
		: link_(std::move(link)), ssl_(std::move(ssl))
	{
		if (intervals)
			inner_.emplace(*intervals);
	}

	result<void> handshake();
	result<void> send(const_buffer plaintext, send_flags flags);
	result<received> receive(buffer into);
	result<void> update_key(bool of_peer_too);
	result<void> close();
	result<void> flush(bool more);
	bool buffered() const noexcept;

	result<std::uint32_t> emss()
	{
		auto known = look_at_emss();

		return known ? result(longest()) : known.error();
	}

	framing::socket link_;
	owned_ssl ssl_;
	records out_;
	tls::stats stats_;
	bool pack_ = false;
	// The last call, which may have returned EAGAIN, was receive().
	bool receiving_ = false;

	// So much waits to be sent that nothing is received.
	bool crowded() const noexcept { return out_.size() > most_waiting; }

private:
	std::uint32_t overhead() const noexcept;
	std::uint32_t limit() const noexcept;
	std::uint32_t longest() const noexcept;
	result<void> look_at_emss();
	result<void> write(const_buffer plaintext);
	result<void> write_marked(const_buffer pdu);
	result<received> read_record(buffer into);
	result<received> read_marked(buffer into);
	result<void> send_next(bool &cut);
	void drain();
	result<void> fill();
	result<void> settle();
	std::error_code failure(int why) const noexcept;
	result<void> shake_hands();
	result<void> say_end();

	// What marker mode needs.
	struct inner {
		explicit inner(const markers &intervals) noexcept
			: longest(framing::markers_max(intervals.plaintext)),
			  packed(framing::markers_max(intervals.records)),
			  writer(intervals.plaintext), reader(intervals.plaintext)
		{
		}

		std::uint32_t longest;
		// Records of one send.
		std::uint32_t packed;
		marker_writer writer;
		marker_reader reader;
		// Plaintext with markers, of which some was read.
		std::vector<std::byte> plaintext;
		std::size_t at = 0;
		bool bad = false;
	};

	std::optional<inner> inner_;
	std::uint32_t emss_ = 0;
	// OpenSSL has read all that it was given.
	bool dry_ = true;
};

// --- sizes -----------------------------------------------------------------------------

std::uint32_t connection::state::overhead() const noexcept
{
	const SSL_CIPHER *used = ::SSL_get_current_cipher(ssl_.get());

	if (!used || ::SSL_in_init(ssl_.get()))
		return overhead_12;
	if (::SSL_version(ssl_.get()) == TLS1_3_VERSION)
		return overhead_13;
	return ::SSL_CIPHER_get_cipher_nid(used) == NID_chacha20_poly1305
		       ? overhead_12_chacha
		       : overhead_12;
}

std::uint32_t connection::state::limit() const noexcept
{
	const SSL_SESSION *session = ::SSL_get_session(ssl_.get());
	// RFC 6066 section 4: 1 is 512 bytes, each following number twice as many.
	const unsigned asked =
		session ? ::SSL_SESSION_get_max_fragment_length(session) : 0;
	const std::uint32_t most = asked ? 256u << asked : plaintext_max;

	return emss_ > overhead() ? std::min(emss_ - overhead(), most) : 0;
}

std::uint32_t connection::state::longest() const noexcept
{
	return inner_ ? inner_->longest : limit();
}

// A record of the handshake is a fragment of this length, too. In marker mode records
// need not fit in segments.
result<void> connection::state::look_at_emss()
{
	const auto got = link_.emss();

	if (!got)
		return got.error();
	emss_ = inner_ ? inner_->packed : *got;
	const std::uint32_t fragment = std::max(limit(), fragment_min);

	// The latter follows the former down, but not up.
	SSL_set_max_send_fragment(ssl_.get(), fragment);
	SSL_set_split_send_fragment(ssl_.get(), fragment);
	return {};
}

// --- sending ---------------------------------------------------------------------------

// Takes what OpenSSL has written.
void connection::state::drain()
{
	BIO *from = ::SSL_get_wbio(ssl_.get());
	char *data = nullptr;
	const long size = BIO_get_mem_data(from, &data);

	if (size <= 0)
		return;
	out_.append(std::as_bytes(std::span(data, static_cast<std::size_t>(size))));
	BIO_reset(from);
}

// Sends the bytes of one segment. cut: the record that they are of is longer than the
// EMSS.
result<void> connection::state::send_next(bool &cut)
{
	result<void> sent;

	// The socket refuses what is too long, and once what would fit, to tell that the
	// EMSS has risen.
	for (int tries = 0; tries < most_tries; tries++) {
		auto next = out_.next(emss_, pack_);

		if (cut)
			next = next.first(std::min<std::size_t>(next.size(), emss_));
		sent = link_.send(next);
		if (sent) {
			stats_.sent_segments++;
			stats_.sent_records += out_.sent(next.size());
			cut = out_.within_record();
			return {};
		}
		if (sent.error() != std::errc::message_size)
			return sent;
		if (auto known = look_at_emss(); !known)
			return known;
		if (emss_ == 0)
			return sent;
		if (!cut && out_.next(emss_, pack_).size() > emss_) {
			cut = true;
			stats_.sent_in_pieces++;
		}
	}
	return sent;
}

// Sends the records that wait; more: as long as one does not fill a segment, they may
// wait.
result<void> connection::state::flush(bool more)
{
	bool cut = out_.within_record();

	if (!emss_)
		if (auto known = look_at_emss(); !known)
			return known;
	while (!out_.empty() && !(more && pack_ && out_.size() < emss_))
		if (auto sent = send_next(cut); !sent)
			return sent;
	return {};
}

// Sends what OpenSSL has written.
result<void> connection::state::settle()
{
	drain();
	return flush(false);
}

// Encrypts, as one record.
result<void> connection::state::write(const_buffer plaintext)
{
	std::size_t written = 0;

	::ERR_clear_error();
	if (!::SSL_write_ex(ssl_.get(), plaintext.data(), plaintext.size(), &written))
		return openssl_error();
	drain();
	return {};
}

// As many records as it takes.
result<void> connection::state::write_marked(const_buffer pdu)
{
	std::vector<std::byte> marked;

	inner_->writer.write(pdu, marked);
	for (const_buffer left = marked; !left.empty();) {
		const auto next = left.first(std::min<std::size_t>(left.size(), limit()));

		if (auto done = write(next); !done)
			return done;
		left = left.subspan(next.size());
	}
	return {};
}

result<void> connection::state::send(const_buffer plaintext, send_flags flags)
{
	const bool more = static_cast<int>(flags) & MSG_MORE;

	if (plaintext.empty())
		return std::errc::invalid_argument;
	if (auto sent = flush(pack_); !sent)
		return sent;
	if (auto done = shake_hands(); !done)
		return done;
	if (plaintext.size() > longest())
		if (auto known = look_at_emss(); !known)
			return known;
	if (plaintext.size() > longest())
		return std::errc::message_size;
	if (auto done = inner_ ? write_marked(plaintext) : write(plaintext); !done)
		return done;
	auto sent = flush(more);
	return keeps(sent.error()) ? result<void>() : sent;
}

// --- receiving -------------------------------------------------------------------------

// Gives OpenSSL what has arrived; waits for it if the socket does.
result<void> connection::state::fill()
{
	std::array<std::byte, 18432> room;
	const auto got = link_.receive(room);

	dry_ = !got || got->end;
	if (!got)
		return got.error();
	if (got->end)
		return std::errc::connection_aborted;
	const int kept = ::BIO_write(::SSL_get_rbio(ssl_.get()), room.data(),
				     static_cast<int>(got->size));
	return kept == static_cast<int>(got->size)
		       ? result<void>()
		       : std::errc::not_enough_memory;
}

// The error of a call of OpenSSL; none: it waits for the peer, or has met its end.
std::error_code connection::state::failure(int why) const noexcept
{
	switch (why) {
	case SSL_ERROR_NONE:
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_ZERO_RETURN:
		return {};
	case SSL_ERROR_SSL:
	case SSL_ERROR_SYSCALL:
		return openssl_error();
	default:
		// A function of the application wants to be called again.
		return std::make_error_code(std::errc::operation_in_progress);
	}
}

result<received> connection::state::read_record(buffer into)
{
	for (;;) {
		std::size_t size = 0;
		const bool began = ::SSL_in_init(ssl_.get());

		::ERR_clear_error();
		const int ret = ::SSL_read_ex(ssl_.get(), into.data(), into.size(),
					      &size);
		const int why = ret ? SSL_ERROR_NONE : ::SSL_get_error(ssl_.get(), ret);
		const auto error = failure(why);
		// An answer to a change of keys, or an alert. If it cannot be sent,
		// sending says so later, or receiving if there are very many.
		const auto sent = settle();
		// After the handshake the limit is another.
		if (began && !::SSL_in_init(ssl_.get()))
			(void)look_at_emss();
		if (ret) {
			const bool whole = ::SSL_pending(ssl_.get()) == 0;

			stats_.received_records += whole;
			return received{.size = size, .end_of_record = whole};
		}
		if (why == SSL_ERROR_ZERO_RETURN)
			return received{.end = true};
		if (error)
			return error;
		dry_ = true;
		if (crowded())
			return sent.error();
		if (auto filled = fill(); !filled)
			return filled.error();
	}
}

bool connection::state::buffered() const noexcept
{
	return ::SSL_pending(ssl_.get()) > 0 ||
	       (!dry_ && BIO_pending(::SSL_get_rbio(ssl_.get())) > 0) ||
	       (inner_ && inner_->at < inner_->plaintext.size());
}

result<received> connection::state::read_marked(buffer into)
{
	while (!inner_->bad) {
		const auto waiting = const_buffer(inner_->plaintext).subspan(inner_->at);
		const auto done = inner_->reader.read(waiting, into);

		inner_->at += done.used;
		inner_->bad = !done.valid;
		// What has not arrived is not waited for.
		if (done.made)
			return received{.size = done.made, .end_of_record = done.boundary};
		if (inner_->bad)
			break;
		inner_->at = 0;
		inner_->plaintext.resize(plaintext_max);
		auto got = read_record(inner_->plaintext);
		inner_->plaintext.resize(got ? got->size : 0);
		if (!got)
			return got;
		if (got->end && !inner_->reader.may_end())
			return std::errc::connection_aborted;
		if (got->end)
			return got;
	}
	return std::errc::protocol_error;
}

result<received> connection::state::receive(buffer into)
{
	if (into.empty())
		return std::errc::invalid_argument;
	return inner_ ? read_marked(into) : read_record(into);
}

// --- the rest ------------------------------------------------------------------------

result<void> connection::state::handshake()
{
	for (;;) {
		if (auto known = look_at_emss(); !known)
			return known;
		::ERR_clear_error();
		const int ret = ::SSL_do_handshake(ssl_.get());
		const int why = ::SSL_get_error(ssl_.get(), ret);
		const auto error = failure(why);
		auto sent = settle();
		if (error)
			return error;
		if (!sent)
			return sent;
		// The limit is known now.
		if (ret == 1)
			return look_at_emss();
		if (why == SSL_ERROR_ZERO_RETURN)
			return std::errc::connection_aborted;
		if (auto filled = fill(); !filled)
			return filled;
	}
}

// OpenSSL encrypts nothing while a message of a handshake has arrived in part, such as a
// ticket for later sessions.
result<void> connection::state::shake_hands()
{
	return ::SSL_in_init(ssl_.get()) ? handshake() : result<void>();
}

result<void> connection::state::update_key(bool of_peer_too)
{
	if (auto done = shake_hands(); !done)
		return done;
	::ERR_clear_error();
	if (!::SSL_key_update(ssl_.get(), of_peer_too ? SSL_KEY_UPDATE_REQUESTED
						      : SSL_KEY_UPDATE_NOT_REQUESTED) ||
	    ::SSL_do_handshake(ssl_.get()) != 1)
		return openssl_error();
	// What was encrypted is taken: whether it can be sent at once does not matter.
	auto sent = settle();
	return keeps(sent.error()) ? result<void>() : sent;
}

// The alert close_notify.
result<void> connection::state::say_end()
{
	std::byte some;

	if (::SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN)
		return flush(false);
	// The first handshake is not done for that.
	if (::SSL_get_peer_finished(ssl_.get(), &some, sizeof(some)))
		if (auto done = shake_hands(); !done)
			return done;
	::ERR_clear_error();
	if (::SSL_shutdown(ssl_.get()) < 0)
		return openssl_error();
	return settle();
}

result<void> connection::state::close()
{
	auto said = say_end();

	if (keeps(said.error()))
		return said;
	// After an error, what waits goes first all the same.
	if (auto sent = flush(false); keeps(sent.error()))
		return sent;
	auto ended = link_.shutdown();
	return said ? ended : said;
}

namespace {

result<void> enable(framing::socket &link, const std::optional<markers> &intervals)
{
	const auto modes = link.modes();

	if (!modes)
		return modes.error();
	if (!intervals)
		return modes->receive == framing::receive::plain
			       ? link.enable(framing::send::atomic,
					     framing::receive::plain)
			       : std::errc::invalid_argument;
	if (!framing::markers_max(intervals->plaintext) ||
	    !framing::markers_max(intervals->records))
		return std::errc::invalid_argument;
	auto done = link.send_interval(intervals->records);
	if (done)
		done = link.receive_interval(intervals->records);
	return done ? link.enable(framing::send::markers, framing::receive::markers)
		    : done;
}

result<owned_ssl> make_ssl(const context &with)
{
	::ERR_clear_error();
	owned_ssl ssl(::SSL_new(with.native()));

	if (!ssl || !prepare(ssl.get()))
		return openssl_error();
	return ssl;
}

// RFC 6066 section 3: a client does not send an address as the server's name, and servers may
// refuse one.
bool is_address(const std::string &name)
{
	in6_addr ignored;

	return ::inet_pton(AF_INET, name.c_str(), &ignored) == 1 ||
	       ::inet_pton(AF_INET6, name.c_str(), &ignored) == 1;
}

result<owned_ssl> make_client(const context &with, const std::string &name)
{
	auto ssl = make_ssl(with);

	if (!ssl)
		return ssl;
	::SSL_set_connect_state(ssl->get());
	if (name.empty())
		return ssl;
	if (!is_address(name) && !SSL_set_tlsext_host_name(ssl->get(), name.c_str()))
		return openssl_error();
	// An address is looked for among those of the certificate.
	if (!::SSL_set1_host(ssl->get(), name.c_str()))
		return openssl_error();
	// Without this mode neither the certificate nor the name in it counts.
	::SSL_set_verify(ssl->get(), ::SSL_get_verify_mode(ssl->get()) | SSL_VERIFY_PEER,
			 ::SSL_get_verify_callback(ssl->get()));
	return ssl;
}

result<owned_ssl> make_server(const context &with)
{
	auto ssl = make_ssl(with);

	if (ssl)
		::SSL_set_accept_state(ssl->get());
	return ssl;
}

} // namespace

result<connection> connection::state::make(framing::socket link, result<owned_ssl> ssl,
					   const std::optional<markers> &intervals)
{
	if (!ssl)
		return ssl.error();
	if (auto done = enable(link, intervals); !done)
		return done.error();
	return connection(std::make_unique<state>(std::move(link), *std::move(ssl),
						  intervals));
}

result<connection> connection::client(framing::socket link, const context &with,
				      const std::string &name)
{
	return state::make(std::move(link), make_client(with, name), std::nullopt);
}

result<connection> connection::client(framing::socket link, const context &with,
				      const std::string &name, const markers &intervals)
{
	return state::make(std::move(link), make_client(with, name), intervals);
}

result<connection> connection::server(framing::socket link, const context &with)
{
	return state::make(std::move(link), make_server(with), std::nullopt);
}

result<connection> connection::server(framing::socket link, const context &with,
				      const markers &intervals)
{
	return state::make(std::move(link), make_server(with), intervals);
}

connection::connection(std::unique_ptr<state> made) noexcept : state_(std::move(made))
{
}

connection::connection(connection &&) noexcept = default;
connection &connection::operator=(connection &&) noexcept = default;
connection::~connection() = default;

result<void> connection::handshake()
{
	state_->receiving_ = false;
	return state_->handshake();
}

result<void> connection::send(const_buffer plaintext, send_flags flags)
{
	state_->receiving_ = false;
	return state_->send(plaintext, flags);
}

result<received> connection::receive(buffer into)
{
	state_->receiving_ = true;
	return state_->receive(into);
}

result<std::uint32_t> connection::emss()
{
	return state_->emss();
}

void connection::pack(bool on) noexcept
{
	state_->pack_ = on;
}

result<void> connection::update_key(bool of_peer_too)
{
	state_->receiving_ = false;
	return state_->update_key(of_peer_too);
}

bool connection::pending() const noexcept
{
	return !state_->out_.empty();
}

bool connection::buffered() const noexcept
{
	return state_->buffered();
}

result<void> connection::flush()
{
	state_->receiving_ = false;
	return state_->flush(false);
}

result<void> connection::close()
{
	state_->receiving_ = false;
	return state_->close();
}

short connection::events() const noexcept
{
	if (!pending())
		return POLLIN;
	return state_->receiving_ && !state_->crowded() ? POLLIN | POLLOUT : POLLOUT;
}

enum version connection::version() const noexcept
{
	return ::SSL_in_init(state_->ssl_.get())
		       ? version::none
		       : static_cast<enum version>(::SSL_version(state_->ssl_.get()));
}

tls::stats connection::stats() const noexcept
{
	return state_->stats_;
}

framing::socket &connection::link() noexcept
{
	return state_->link_;
}

ssl_st *connection::native() noexcept
{
	return state_->ssl_.get();
}

} // namespace mpa::tls
