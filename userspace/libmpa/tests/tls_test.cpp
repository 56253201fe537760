/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// libmpa-tls: TCP connections of this machine, a fake kernel that has PDUs no longer than
// the EMSS, and OpenSSL as the peer: in this process, and its commands s_server and
// s_client.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpa/tcp.hpp>
#include <mpa/tls.hpp>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/wait.h>

#include "fake_kernel.hpp"
#include "tls/records.hpp"
#include "tls_model.hpp"

namespace {

namespace tls = mpa::tls;
using fake::kernel;
using std::chrono_literals::operator""ms;

// For what must happen; a machine may be slow.
constexpr auto patience = 60000ms;

template <auto Free> struct Freed {
	template <typename T> void operator()(T *one) const { Free(one); }
};
using Ssl = std::unique_ptr<SSL, Freed<::SSL_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<::SSL_CTX_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<::EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<::X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<::X509_EXTENSION_free>>;

// --- a certificate -----------------------------------------------------------------------

struct Identity {
	Key key{EVP_EC_gen("P-256")};
	Certificate certificate{::X509_new()};

	// alternatives: other names and addresses, as of the option subjectAltName.
	explicit Identity(const char *alternatives = nullptr)
	{
		X509 *one = certificate.get();
		X509_NAME *name = ::X509_get_subject_name(one);

		::X509_set_version(one, 2);
		::ASN1_INTEGER_set(::X509_get_serialNumber(one), 1);
		::X509_gmtime_adj(X509_getm_notBefore(one), -60);
		::X509_gmtime_adj(X509_getm_notAfter(one), 3600);
		::X509_NAME_add_entry_by_txt(
			name, "CN", MBSTRING_ASC,
			reinterpret_cast<const unsigned char *>("peer"), -1, -1, 0);
		::X509_set_issuer_name(one, name);
		::X509_set_pubkey(one, key.get());
		if (alternatives) {
			const Extension extension(::X509V3_EXT_conf_nid(
				nullptr, nullptr, NID_subject_alt_name, alternatives));

			::X509_add_ext(one, extension.get(), -1);
		}
		::X509_sign(one, key.get(), ::EVP_sha256());
	}
};

const Identity &identity()
{
	static const Identity one;

	return one;
}

// In files, for commands.
struct Files {
	std::filesystem::path home;

	Files()
	{
		char name[] = "/tmp/mpa-tls-XXXXXX";

		home = ::mkdtemp(name);
		struct Close {
			void operator()(FILE *one) const { ::fclose(one); }
		};
		std::unique_ptr<FILE, Close> file(::fopen(certificate().c_str(), "w"));
		::PEM_write_X509(file.get(), identity().certificate.get());
		file.reset(::fopen(key().c_str(), "w"));
		::PEM_write_PrivateKey(file.get(), identity().key.get(), nullptr, nullptr,
				       0, nullptr, nullptr);
	}
	~Files() { std::filesystem::remove_all(home); }
	Files(const Files &) = delete;
	Files &operator=(const Files &) = delete;

	std::string certificate() const { return home / "certificate.pem"; }
	std::string key() const { return home / "key.pem"; }
};

// --- both ends -----------------------------------------------------------------------------

struct Suite {
	const char *name;
	int version;
	// Of TLS 1.2; "": whatever there is.
	const char *cipher;
	// What a record adds.
	std::uint32_t overhead;
};

Context peer_context(bool server, const Suite &suite)
{
	Context made(::SSL_CTX_new(server ? ::TLS_server_method()
					  : ::TLS_client_method()));

	if (server) {
		::SSL_CTX_use_certificate(made.get(), identity().certificate.get());
		::SSL_CTX_use_PrivateKey(made.get(), identity().key.get());
	}
	SSL_CTX_set_min_proto_version(made.get(), suite.version);
	SSL_CTX_set_max_proto_version(made.get(), suite.version);
	if (*suite.cipher && suite.version == TLS1_2_VERSION)
		::SSL_CTX_set_cipher_list(made.get(), suite.cipher);
	return made;
}

tls::context our_context(bool server)
{
	const Context made(::SSL_CTX_new(server ? ::TLS_server_method()
						: ::TLS_client_method()));

	if (server) {
		::SSL_CTX_use_certificate(made.get(), identity().certificate.get());
		::SSL_CTX_use_PrivateKey(made.get(), identity().key.get());
	}
	return tls::context::share(made.get());
}

std::pair<mpa::descriptor, mpa::descriptor> tcp_pair()
{
	auto listener = mpa::tcp::listen("127.0.0.1", "0").value();
	const auto name = mpa::tcp::name_of(listener.get(), false);
	auto near = mpa::tcp::connect("127.0.0.1", name.substr(name.find(' ') + 1)).value();

	return {std::move(near),
		mpa::descriptor(::accept(listener.get(), nullptr, nullptr))};
}

// The segments of our side, and a kernel that refuses what is longer than the EMSS.
struct Wire {
	std::vector<std::vector<std::byte>> segments;
	std::uint32_t emss = 0;
	// Errors of the next calls.
	std::vector<int> errors;

	explicit Wire(std::uint32_t initial)
	{
		kernel() = {};
		kernel().give(TCP_FRAMING_MODE, 0);
		set(initial);
		kernel().on_send = [this](mpa::const_buffer data) {
			if (!errors.empty()) {
				const int error = errors.front();

				errors.erase(errors.begin());
				return error;
			}
			if (data.size() > emss)
				return EMSGSIZE;
			segments.emplace_back(data.begin(), data.end());
			return 0;
		};
	}

	void set(std::uint32_t now)
	{
		emss = now;
		kernel().give(TCP_SEND_EMSS, static_cast<int>(now));
	}

	// The one segment since the last call.
	std::size_t only()
	{
		EXPECT_EQ(segments.size(), 1u);
		const std::size_t size = segments.empty() ? 0 : segments[0].size();
		segments.clear();
		return size;
	}
};

// A segment that is whole records; returns their number, 0: it is not.
int records_in(mpa::const_buffer segment)
{
	int count = 0;

	for (; !segment.empty(); count++) {
		if (segment.size() < 5 || segment[0] < std::byte{20} ||
		    segment[0] > std::byte{23} || segment[1] != std::byte{3} ||
		    tls::record_size(segment) > segment.size())
			return 0;
		segment = segment.subspan(tls::record_size(segment));
	}
	return count;
}

struct Link {
	Wire wire;
	Ssl peer;
	mpa::descriptor far;
	tls::connection ours;
	mpa::result<void> done;
	int peer_done = 0;

	Link(bool server, const Suite &suite, std::uint32_t emss = 1420)
		: Link(server, peer_context(!server, suite), emss, our_context(server))
	{
	}

	Link(bool server, const Context &peers, std::uint32_t emss,
	     const tls::context &with, const tls::markers *markers = nullptr,
	     const std::string &name = "")
		: wire(emss), peer(::SSL_new(peers.get())),
		  ours(attach(server, with, markers, name))
	{
		::SSL_set_fd(peer.get(), far.get());
		std::thread other([this, server] {
			peer_done = server ? ::SSL_connect(peer.get())
					   : ::SSL_accept(peer.get());
		});
		done = ours.handshake();
		other.join();
	}

	tls::connection attach(bool server, const tls::context &with,
			       const tls::markers *markers, const std::string &name)
	{
		auto [near, end] = tcp_pair();
		auto link = mpa::framing::socket::attach(std::move(near)).value();

		far = std::move(end);
		if (markers)
			return server ? tls::connection::server(std::move(link), with,
								*markers)
						.value()
				      : tls::connection::client(std::move(link), with, name,
								*markers)
						.value();
		return server ? tls::connection::server(std::move(link), with).value()
			      : tls::connection::client(std::move(link), with, name)
					.value();
	}

	// What the peer receives with one call.
	std::string peer_reads()
	{
		std::string text(20000, 0);
		const int got = ::SSL_read(peer.get(), text.data(), text.size());

		text.resize(std::max(got, 0));
		return text;
	}

	std::string reads()
	{
		std::vector<std::byte> room(20000);
		const auto got = ours.receive(room);

		EXPECT_TRUE(got) << got.error().message();
		if (!got)
			return "";
		EXPECT_TRUE(got->end_of_record);
		return std::string(mpa::text(mpa::buffer(room).first(got->size)));
	}
};

std::string text_of(std::size_t size)
{
	std::string text(size, 0);

	for (std::size_t n = 0; n < size; n++)
		text[n] = static_cast<char>('a' + n * 7 % 26);
	return text;
}

struct Row {
	Suite suite;
	bool server;
};

class Tls : public testing::TestWithParam<Row> {
protected:
	const Suite &suite = GetParam().suite;
	const bool server = GetParam().server;
};

// --- sizes and segments ------------------------------------------------------------------

TEST_P(Tls, every_segment_is_a_record)
{
	for (const std::uint32_t emss : {600u, 1420u, 9000u, 16384u, 65483u}) {
		Link link(server, suite, emss);

		ASSERT_TRUE(link.done) << link.done.error().message();
		ASSERT_EQ(link.peer_done, 1);
		EXPECT_GE(link.wire.segments.size(), 2u);
		for (const auto &segment : link.wire.segments)
			EXPECT_EQ(records_in(segment), 1);
		EXPECT_EQ(link.ours.stats().sent_in_pieces, 0u);
		EXPECT_EQ(link.ours.stats().sent_records, link.wire.segments.size());
		EXPECT_EQ(link.ours.stats().sent_segments, link.wire.segments.size());
	}
}

TEST_P(Tls, the_longest_record_fills_the_segment)
{
	for (const std::uint32_t emss : {540u, 1391u, 1420u, 1448u, 8948u}) {
		Link link(server, suite, emss);
		const auto most = link.ours.emss().value();

		EXPECT_EQ(most, emss - suite.overhead);
		link.wire.segments.clear();
		for (const std::size_t size : {std::size_t{1}, std::size_t{most} - 1,
					       std::size_t{most}}) {
			ASSERT_TRUE(link.ours.send(mpa::bytes(text_of(size))));
			EXPECT_EQ(link.wire.only(), size + suite.overhead);
			EXPECT_EQ(link.peer_reads(), text_of(size));
		}
		EXPECT_EQ(link.ours.send(mpa::bytes(text_of(most + 1))).error(),
			  std::errc::message_size);
		EXPECT_TRUE(link.wire.segments.empty());
	}
}

TEST_P(Tls, no_plaintext_is_longer_than_a_record)
{
	Link link(server, suite, 65483);

	EXPECT_EQ(link.ours.emss().value(), 16384u);
	link.wire.segments.clear();
	ASSERT_TRUE(link.ours.send(mpa::bytes(text_of(16384))));
	EXPECT_EQ(link.wire.only(), 16384 + suite.overhead);
	EXPECT_EQ(link.peer_reads(), text_of(16384));
	EXPECT_EQ(link.ours.send(mpa::bytes(text_of(16385))).error(),
		  std::errc::message_size);
}

TEST_P(Tls, an_empty_record_is_refused)
{
	Link link(server, suite);

	link.wire.segments.clear();
	EXPECT_EQ(link.ours.send({}).error(), std::errc::invalid_argument);
	EXPECT_TRUE(link.wire.segments.empty());
}

// Records of every size, one after the other, in both directions.
TEST_P(Tls, many_records)
{
	Link link(server, suite);
	const auto most = link.ours.emss().value();

	link.wire.segments.clear();
	for (std::uint32_t size = 1; size <= most; size += 3) {
		const auto text = text_of(size);

		ASSERT_TRUE(link.ours.send(mpa::bytes(text)));
		ASSERT_EQ(link.wire.only(), size + suite.overhead);
		ASSERT_EQ(link.peer_reads(), text);
		ASSERT_EQ(::SSL_write(link.peer.get(), text.data(), size), size);
		ASSERT_EQ(link.reads(), text);
	}
}

// --- the EMSS changes ----------------------------------------------------------------------

// The record was encrypted before the socket says that it is too long.
TEST_P(Tls, what_is_encrypted_leaves_in_pieces)
{
	Link link(server, suite);
	const auto text = text_of(link.ours.emss().value());

	link.wire.segments.clear();
	link.wire.set(600);
	ASSERT_TRUE(link.ours.send(mpa::bytes(text)));
	ASSERT_EQ(link.wire.segments.size(), 3u);
	EXPECT_EQ(link.wire.segments[0].size(), 600u);
	EXPECT_EQ(link.wire.segments[1].size(), 600u);
	EXPECT_EQ(link.wire.segments[2].size(), 220u);
	EXPECT_EQ(tls::record_size(link.wire.segments[0]), 1420u);
	EXPECT_EQ(link.ours.stats().sent_in_pieces, 1u);
	EXPECT_EQ(link.peer_reads(), text);

	// The next one is a segment again.
	link.wire.segments.clear();
	EXPECT_EQ(link.ours.send(mpa::bytes(text)).error(), std::errc::message_size);
	EXPECT_EQ(link.ours.emss().value(), 600 - suite.overhead);
	ASSERT_TRUE(link.ours.send(mpa::bytes(text_of(600 - suite.overhead))));
	EXPECT_EQ(link.wire.only(), 600u);
	EXPECT_EQ(link.peer_reads(), text_of(600 - suite.overhead));
}

// It falls again while the pieces are sent.
TEST_P(Tls, pieces_follow_the_emss)
{
	Link link(server, suite);
	const auto text = text_of(link.ours.emss().value());

	link.wire.segments.clear();
	link.wire.set(1000);
	kernel().on_send = [&wire = link.wire](mpa::const_buffer data) {
		if (data.size() > wire.emss)
			return EMSGSIZE;
		wire.segments.emplace_back(data.begin(), data.end());
		wire.set(100);
		return 0;
	};
	ASSERT_TRUE(link.ours.send(mpa::bytes(text)));
	ASSERT_EQ(link.wire.segments.size(), 6u);
	EXPECT_EQ(link.wire.segments[0].size(), 1000u);
	EXPECT_EQ(link.wire.segments[1].size(), 100u);
	EXPECT_EQ(link.wire.segments[5].size(), 20u);
	EXPECT_EQ(link.ours.stats().sent_in_pieces, 1u);
	EXPECT_EQ(link.peer_reads(), text);
}

// TCP_FRAMING_EMSS_NOTICE: the record is whole all the same.
TEST_P(Tls, the_notice_of_a_rise_cuts_nothing)
{
	Link link(server, suite, 600);

	link.wire.segments.clear();
	link.wire.set(1420);
	link.wire.errors = {EMSGSIZE};
	ASSERT_TRUE(link.ours.send(mpa::bytes("a record")));
	EXPECT_EQ(link.wire.only(), 8 + suite.overhead);
	EXPECT_EQ(link.peer_reads(), "a record");
	EXPECT_EQ(link.ours.stats().sent_in_pieces, 0u);
	// Longer records than at the handshake.
	const auto text = text_of(1420 - suite.overhead);
	ASSERT_TRUE(link.ours.send(mpa::bytes(text)));
	EXPECT_EQ(link.wire.only(), 1420u);
	EXPECT_EQ(link.peer_reads(), text);
}

TEST_P(Tls, a_socket_that_refuses_everything_is_an_error)
{
	Link link(server, suite);

	link.wire.errors.assign(100, EMSGSIZE);
	ASSERT_TRUE(link.ours.send(mpa::bytes("a record")));
	EXPECT_EQ(link.ours.send(mpa::bytes("another")).error(),
		  std::errc::message_size);
	link.wire.errors.clear();
	ASSERT_TRUE(link.ours.flush());
	EXPECT_EQ(link.peer_reads(), "a record");
}

// A handshake where not even the shortest fragments of OpenSSL fit.
TEST_P(Tls, a_tiny_emss)
{
	Link link(server, suite, 100);

	ASSERT_TRUE(link.done) << link.done.error().message();
	EXPECT_EQ(link.ours.emss().value(), 100 - suite.overhead);
	link.wire.segments.clear();
	ASSERT_TRUE(link.ours.send(mpa::bytes(text_of(100 - suite.overhead))));
	EXPECT_EQ(link.wire.only(), 100u);
	EXPECT_EQ(link.peer_reads(), text_of(100 - suite.overhead));
	link.wire.set(suite.overhead);
	EXPECT_EQ(link.ours.emss().value(), 0u);
	EXPECT_EQ(link.ours.send(mpa::bytes("x")).error(), std::errc::message_size);
}

// --- no room --------------------------------------------------------------------------------

TEST_P(Tls, a_record_without_room_is_sent_later)
{
	Link link(server, suite);

	link.wire.segments.clear();
	link.wire.errors = {EAGAIN};
	EXPECT_EQ(link.ours.events(), POLLIN);
	ASSERT_TRUE(link.ours.send(mpa::bytes("first")));
	EXPECT_TRUE(link.ours.pending());
	EXPECT_EQ(link.ours.events(), POLLOUT);
	link.wire.errors = {EAGAIN, EAGAIN};
	EXPECT_EQ(link.ours.send(mpa::bytes("second")).error(),
		  std::errc::resource_unavailable_try_again);
	EXPECT_EQ(link.ours.flush().error(),
		  std::errc::resource_unavailable_try_again);
	EXPECT_TRUE(link.wire.segments.empty());
	// The peer may wait for us to read before it does.
	std::array<std::byte, 4> room;
	ASSERT_TRUE(link.ours.link().set_blocking(false));
	link.wire.errors.assign(100, EAGAIN);
	EXPECT_EQ(link.ours.receive(room).error(),
		  std::errc::resource_unavailable_try_again);
	EXPECT_EQ(link.ours.events(), POLLIN | POLLOUT);
	EXPECT_TRUE(link.ours.pending());
	link.wire.errors.clear();
	ASSERT_TRUE(link.ours.flush());
	EXPECT_FALSE(link.ours.pending());
	EXPECT_EQ(link.ours.events(), POLLIN);
	ASSERT_TRUE(link.ours.send(mpa::bytes("second")));
	EXPECT_EQ(link.wire.segments.size(), 2u);
	EXPECT_EQ(link.peer_reads(), "first");
	EXPECT_EQ(link.peer_reads(), "second");
}

// Each one is refused with an alert, which the peer does not read.
TEST(TlsFlood, answers_that_are_not_read_are_bounded)
{
	Link link(false, {"tls12", TLS1_2_VERSION, "", 29});
	std::array<std::byte, 4> room;
	const int small = 16384;
	int asked = 0;

	ASSERT_TRUE(link.ours.link().set_blocking(false));
	ASSERT_EQ(::fcntl(link.far.get(), F_SETFL, O_NONBLOCK), 0);
	::setsockopt(link.far.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	::setsockopt(link.ours.link().fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	kernel().on_send = [](mpa::const_buffer) { return EAGAIN; };
	// Until nothing is received any more.
	for (pollfd one{.fd = link.far.get(), .events = POLLOUT, .revents = 0};
	     asked < 40000 && ::poll(&one, 1, 300) == 1;) {
		for (int n = 0; n < 100; n++)
			asked += ::SSL_renegotiate(link.peer.get()) == 1 &&
				 ::SSL_do_handshake(link.peer.get()) == 1;
		ASSERT_EQ(link.ours.receive(room).error(),
			  std::errc::resource_unavailable_try_again);
	}
	EXPECT_GT(asked, 1000);
	EXPECT_LT(asked, 40000);
	EXPECT_EQ(link.ours.events(), POLLOUT);
	EXPECT_TRUE(link.ours.pending());
	// It goes on as soon as they can be sent.
	kernel().on_send = [](mpa::const_buffer) { return 0; };
	std::thread reader([fd = link.far.get()] {
		pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
		char some[4096];

		while (::poll(&one, 1, 5000) == 1 && ::recv(fd, some, sizeof(some), 0) > 0)
			;
	});
	for (int n = 0; n < 10000 && link.ours.events() != POLLIN; n++) {
		EXPECT_EQ(link.ours.receive(room).error(),
			  std::errc::resource_unavailable_try_again);
		if (link.ours.events() != POLLIN) {
			EXPECT_TRUE(link.ours.link().wait(link.ours.events(), patience));
		}
	}
	EXPECT_EQ(link.ours.events(), POLLIN);
	::shutdown(link.ours.link().fd(), SHUT_RDWR);
	reader.join();
}

// It is encrypted by then: who sends it again would send it twice.
TEST_P(Tls, a_record_without_memory_is_sent_later)
{
	for (const int error : {ENOMEM, ENOBUFS}) {
		Link link(server, suite);

		link.wire.segments.clear();
		link.wire.errors = {error, error, error};
		ASSERT_TRUE(link.ours.send(mpa::bytes("first")));
		EXPECT_TRUE(link.ours.pending());
		EXPECT_EQ(link.ours.send(mpa::bytes("second")).error().value(), error);
		EXPECT_EQ(link.ours.flush().error().value(), error);
		ASSERT_TRUE(link.ours.send(mpa::bytes("second")));
		EXPECT_FALSE(link.ours.pending());
		EXPECT_EQ(link.peer_reads(), "first");
		EXPECT_EQ(link.peer_reads(), "second");
	}
}

// The middle of a record that leaves in pieces.
TEST_P(Tls, a_piece_without_room_is_sent_later)
{
	Link link(server, suite);
	const auto text = text_of(link.ours.emss().value());

	link.wire.segments.clear();
	link.wire.set(600);
	kernel().on_send = [&wire = link.wire](mpa::const_buffer data) {
		if (wire.segments.size() == 1 && wire.errors.empty()) {
			wire.errors = {0};
			return EAGAIN;
		}
		if (data.size() > wire.emss)
			return EMSGSIZE;
		wire.segments.emplace_back(data.begin(), data.end());
		return 0;
	};
	ASSERT_TRUE(link.ours.send(mpa::bytes(text)));
	EXPECT_EQ(link.wire.segments.size(), 1u);
	ASSERT_TRUE(link.ours.send(mpa::bytes("next")));
	ASSERT_EQ(link.wire.segments.size(), 4u);
	EXPECT_EQ(link.wire.segments[3].size(), 4 + suite.overhead);
	EXPECT_EQ(records_in(link.wire.segments[3]), 1);
	EXPECT_EQ(link.ours.stats().sent_in_pieces, 1u);
	EXPECT_EQ(link.peer_reads(), text);
	EXPECT_EQ(link.peer_reads(), "next");
}

TEST_P(Tls, errors_of_the_socket_come_through)
{
	for (const int error : {EPIPE, ECONNRESET, ENETUNREACH}) {
		Link link(server, suite);

		link.wire.errors = {error};
		EXPECT_EQ(link.ours.send(mpa::bytes("x")).error().value(), error);
	}
}

TEST_P(Tls, nothing_to_receive)
{
	Link link(server, suite);
	std::array<std::byte, 100> room;

	ASSERT_TRUE(link.ours.link().set_blocking(false));
	EXPECT_EQ(link.ours.receive(room).error(),
		  std::errc::resource_unavailable_try_again);
	ASSERT_EQ(::SSL_write(link.peer.get(), "x", 1), 1);
	EXPECT_EQ(link.ours.link().wait(POLLIN, patience).value(), POLLIN);
	EXPECT_EQ(link.reads(), "x");
}

// --- packing ----------------------------------------------------------------------------------

TEST_P(Tls, packed_records_share_segments)
{
	Link link(server, suite);
	const auto text = text_of(100);

	link.ours.pack(true);
	link.wire.segments.clear();
	for (int n = 0; n < 20; n++)
		ASSERT_TRUE(link.ours.send(mpa::bytes(text), mpa::send_flags::more));
	ASSERT_TRUE(link.ours.send(mpa::bytes("last")));
	EXPECT_FALSE(link.ours.pending());
	int records = 0;
	for (const auto &segment : link.wire.segments) {
		EXPECT_LE(segment.size(), 1420u);
		EXPECT_GT(records_in(segment), 0);
		records += records_in(segment);
	}
	EXPECT_EQ(records, 21);
	EXPECT_EQ(link.wire.segments.size(), 2u);
	for (int n = 0; n < 20; n++)
		EXPECT_EQ(link.peer_reads(), text);
	EXPECT_EQ(link.peer_reads(), "last");
}

// What was sent is not kept, although something waits all the time.
TEST(TlsRecords, are_forgotten_when_they_were_sent)
{
	tls::records waiting;
	model::Bytes record(500);

	record[3] = std::byte{495 >> 8};
	record[4] = std::byte{495 & 0xff};
	waiting.append(record);
	for (int n = 0; n < 1000; n++) {
		waiting.append(record);
		EXPECT_EQ(waiting.sent(500), 1u);
		ASSERT_EQ(waiting.size(), 500u);
		ASSERT_LE(waiting.held(), 1500u);
	}
}

TEST_P(Tls, without_packing_nothing_waits)
{
	Link link(server, suite);

	link.wire.segments.clear();
	ASSERT_TRUE(link.ours.send(mpa::bytes("x"), mpa::send_flags::more));
	EXPECT_EQ(link.wire.only(), 1 + suite.overhead);
}

// --- receiving ----------------------------------------------------------------------------------

TEST_P(Tls, one_receive_is_one_record)
{
	Link link(server, suite);

	for (const char *text : {"one", "three", "x"})
		ASSERT_GT(::SSL_write(link.peer.get(), text, std::strlen(text)), 0);
	EXPECT_EQ(link.reads(), "one");
	EXPECT_EQ(link.reads(), "three");
	EXPECT_EQ(link.reads(), "x");
	EXPECT_EQ(link.ours.stats().received_records, 3u);
}

// They are taken from the socket together, where poll() does not see them any more.
TEST_P(Tls, what_is_in_the_process_is_known)
{
	Link link(server, suite);
	std::array<std::byte, 100> room;

	ASSERT_TRUE(link.ours.link().set_blocking(false));
	// Tickets for later sessions.
	while (link.ours.receive(room))
		;
	EXPECT_FALSE(link.ours.buffered());
	// In one segment.
	::SSL_set0_wbio(link.peer.get(), ::BIO_new(::BIO_s_mem()));
	for (const char *text : {"one", "three", "x"})
		ASSERT_GT(::SSL_write(link.peer.get(), text, std::strlen(text)), 0);
	char *all = nullptr;
	const long size = BIO_get_mem_data(::SSL_get_wbio(link.peer.get()), &all);
	ASSERT_EQ(::send(link.far.get(), all, size, 0), size);
	ASSERT_TRUE(link.ours.link().wait(POLLIN, patience).value());
	EXPECT_FALSE(link.ours.buffered());
	EXPECT_EQ(link.reads(), "one");
	EXPECT_TRUE(link.ours.buffered());
	EXPECT_EQ(link.ours.link().wait(POLLIN, 0ms).value(), 0);
	EXPECT_EQ(link.ours.receive(mpa::buffer(room).first(2)).value().size, 2u);
	EXPECT_TRUE(link.ours.buffered());
	EXPECT_EQ(link.reads(), "ree");
	EXPECT_TRUE(link.ours.buffered());
	EXPECT_EQ(link.reads(), "x");
	EXPECT_FALSE(link.ours.buffered());
	// The beginning of a record is not a reason to call again.
	ASSERT_EQ(::send(link.far.get(), "\x17\x03\x03\x00\x28......", 11, 0), 11);
	ASSERT_TRUE(link.ours.link().wait(POLLIN, patience).value());
	EXPECT_EQ(link.ours.receive(room).error(),
		  std::errc::resource_unavailable_try_again);
	EXPECT_FALSE(link.ours.buffered());
}

TEST_P(Tls, a_small_buffer_gets_parts)
{
	Link link(server, suite);
	std::array<std::byte, 4> room;

	ASSERT_EQ(::SSL_write(link.peer.get(), "ninebytes", 9), 9);
	ASSERT_EQ(::SSL_write(link.peer.get(), "next", 4), 4);
	EXPECT_EQ(link.ours.receive(room).value(), (tls::received{4, false, false}));
	EXPECT_EQ(link.ours.receive(room).value(), (tls::received{4, false, false}));
	EXPECT_EQ(link.ours.receive(room).value(), (tls::received{1, true, false}));
	EXPECT_EQ(room[0], std::byte{'s'});
	EXPECT_EQ(link.ours.receive(room).value(), (tls::received{4, true, false}));
	EXPECT_EQ(link.ours.stats().received_records, 2u);
	EXPECT_EQ(link.ours.receive({}).error(), std::errc::invalid_argument);
}

TEST_P(Tls, an_orderly_end)
{
	Link link(server, suite);
	std::array<std::byte, 4> room;

	::SSL_shutdown(link.peer.get());
	EXPECT_EQ(link.ours.receive(room).value(), (tls::received{0, false, true}));
	ASSERT_TRUE(link.ours.send(mpa::bytes("still")));
	EXPECT_EQ(link.peer_reads(), "still");
	link.wire.segments.clear();
	ASSERT_TRUE(link.ours.close());
	EXPECT_EQ(records_in(link.wire.segments.at(0)), 1);
	EXPECT_EQ(link.peer_reads(), "");
	EXPECT_EQ(::SSL_get_shutdown(link.peer.get()),
		  SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

TEST_P(Tls, an_end_without_a_word)
{
	Link link(server, suite);
	std::array<std::byte, 4> room;

	::shutdown(link.far.get(), SHUT_WR);
	EXPECT_EQ(link.ours.receive(room).error(), std::errc::connection_aborted);
	EXPECT_EQ(link.ours.receive(room).error(), std::errc::connection_aborted);
}

TEST_P(Tls, a_record_that_is_damaged)
{
	Link link(server, suite);
	std::array<std::byte, 4> room;
	const char bad[] = "\x17\x03\x03\x00\x28........................................";

	ASSERT_EQ(::send(link.far.get(), bad, 45, 0), 45);
	const auto got = link.ours.receive(room);
	ASSERT_FALSE(got);
	EXPECT_EQ(got.error().category(), tls::category());
	EXPECT_EQ(ERR_GET_REASON(static_cast<unsigned>(got.error().value())),
		  SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC);
	// The alert, a record of its own.
	EXPECT_EQ(records_in(link.wire.segments.back()), 1);
}

// --- what is agreed on --------------------------------------------------------------------------

TEST_P(Tls, no_compression)
{
	Link link(server, suite);

	EXPECT_EQ(::SSL_get_current_compression(link.ours.native()), nullptr);
	EXPECT_EQ(static_cast<int>(link.ours.version()), suite.version);
}

TEST_P(Tls, no_padding_although_the_application_wants_it)
{
	const Context made(::SSL_CTX_new(server ? ::TLS_server_method()
						: ::TLS_client_method()));

	if (server) {
		::SSL_CTX_use_certificate(made.get(), identity().certificate.get());
		::SSL_CTX_use_PrivateKey(made.get(), identity().key.get());
	}
	::SSL_CTX_set_block_padding(made.get(), 512);
	Link link(server, peer_context(!server, suite), 1420,
		  tls::context::share(made.get()));
	ASSERT_TRUE(link.done);
	link.wire.segments.clear();
	ASSERT_TRUE(link.ours.send(mpa::bytes("x")));
	EXPECT_EQ(link.wire.only(), 1 + suite.overhead);
}

INSTANTIATE_TEST_SUITE_P(
	suites, Tls,
	testing::Values(
		Row{{"tls13", TLS1_3_VERSION, "", 22}, false},
		Row{{"tls13", TLS1_3_VERSION, "", 22}, true},
		Row{{"tls12", TLS1_2_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384", 29}, false},
		Row{{"tls12", TLS1_2_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384", 29}, true},
		Row{{"chacha", TLS1_2_VERSION, "ECDHE-ECDSA-CHACHA20-POLY1305", 21}, false},
		Row{{"chacha", TLS1_2_VERSION, "ECDHE-ECDSA-CHACHA20-POLY1305", 21}, true}),
	[](const auto &row) {
		return std::string(row.param.suite.name) +
		       (row.param.server ? "_server" : "_client");
	});

const Suite tls13{"tls13", TLS1_3_VERSION, "", 22};

// Each side changes its keys, and asks the other one to.
TEST(TlsKeys, change)
{
	Link link(false, tls13);

	for (int round = 0; round < 3; round++) {
		link.wire.segments.clear();
		ASSERT_TRUE(link.ours.update_key(round == 1));
		EXPECT_EQ(link.wire.segments.size(), 1u);
		EXPECT_EQ(records_in(link.wire.segments[0]), 1);
		ASSERT_TRUE(link.ours.send(mpa::bytes("there")));
		EXPECT_EQ(link.peer_reads(), "there");
		::SSL_key_update(link.peer.get(), SSL_KEY_UPDATE_REQUESTED);
		ASSERT_EQ(::SSL_write(link.peer.get(), "back", 4), 4);
		EXPECT_EQ(link.reads(), "back");
		// The answer to the request precedes the next record.
		link.wire.segments.clear();
		ASSERT_TRUE(link.ours.send(mpa::bytes("there")));
		EXPECT_EQ(link.peer_reads(), "there");
		ASSERT_EQ(link.wire.segments.size(), 2u);
		EXPECT_EQ(records_in(link.wire.segments[0]), 1);
		EXPECT_EQ(records_in(link.wire.segments[1]), 1);
	}
}

TEST(TlsKeys, are_not_changed_in_tls12)
{
	Link link(false, {"tls12", TLS1_2_VERSION, "", 29});

	EXPECT_EQ(link.ours.update_key().error().category(), tls::category());
}

// A ticket for later sessions that is longer than a record: the peer has made it, and
// nothing of it is sent yet.
struct Ticket : Link {
	std::vector<std::vector<std::byte>> records;

	Ticket() : Link(false, context(), 1420, our_context(false))
	{
		BIO *memory = ::BIO_new(::BIO_s_mem());
		char *data = nullptr;

		::SSL_set0_wbio(peer.get(), memory);
		SSL_set_max_send_fragment(peer.get(), 512);
		EXPECT_EQ(::SSL_new_session_ticket(peer.get()), 1);
		EXPECT_EQ(::SSL_do_handshake(peer.get()), 1);
		const long size = BIO_get_mem_data(memory, &data);
		mpa::const_buffer all = std::as_bytes(std::span(data, size));
		while (!all.empty()) {
			const auto one = all.first(tls::record_size(all));

			records.emplace_back(one.begin(), one.end());
			all = all.subspan(one.size());
		}
		::SSL_set_wfd(peer.get(), far.get());
	}

	static Context context()
	{
		auto made = peer_context(true, {"tls13", TLS1_3_VERSION, "", 22});

		::SSL_CTX_set_num_tickets(made.get(), 0);
		::SSL_CTX_set_session_ticket_cb(
			made.get(),
			[](SSL *ssl, void *) {
				const std::array<char, 800> some{};

				return ::SSL_SESSION_set1_ticket_appdata(
					::SSL_get_session(ssl), some.data(),
					some.size());
			},
			nullptr, nullptr);
		return made;
	}

	void arrives(std::size_t first, std::size_t end)
	{
		for (std::size_t n = first; n < end; n++)
			ASSERT_EQ(::send(far.get(), records[n].data(), records[n].size(), 0),
				  records[n].size());
	}
};

TEST(TlsTicket, half_of_it_delays_what_is_sent)
{
	using Call = mpa::result<void> (*)(tls::connection &);
	const Call calls[] = {
		[](tls::connection &on) { return on.send(mpa::bytes("there")); },
		[](tls::connection &on) { return on.update_key(); },
		[](tls::connection &on) { return on.close(); },
	};

	for (const auto call : calls) {
		Ticket link;
		std::array<std::byte, 4> room;

		ASSERT_GE(link.records.size(), 2u);
		ASSERT_TRUE(link.ours.link().set_blocking(false));
		link.arrives(0, 1);
		ASSERT_TRUE(link.ours.link().wait(POLLIN, patience).value());
		EXPECT_EQ(link.ours.receive(room).error(),
			  std::errc::resource_unavailable_try_again);
		EXPECT_EQ(call(link.ours).error(),
			  std::errc::resource_unavailable_try_again);
		EXPECT_EQ(link.ours.events(), POLLIN);
		link.arrives(1, link.records.size());
		ASSERT_TRUE(link.ours.link().wait(POLLIN, patience).value());
		auto done = call(link.ours);
		EXPECT_TRUE(done) << done.error().message();
		if (call == calls[1]) {
			EXPECT_TRUE(link.ours.send(mpa::bytes("there")));
		}
		EXPECT_EQ(link.peer_reads(), call == calls[2] ? "" : "there");
		if (call == calls[2]) {
			EXPECT_EQ(::SSL_get_shutdown(link.peer.get()),
				  SSL_RECEIVED_SHUTDOWN);
		}
	}
}

TEST(TlsTicket, a_blocking_socket_waits_for_the_rest)
{
	Ticket link;
	std::array<std::byte, 4> room;

	link.arrives(0, 1);
	ASSERT_TRUE(link.ours.link().set_blocking(false));
	ASSERT_TRUE(link.ours.link().wait(POLLIN, patience).value());
	EXPECT_FALSE(link.ours.receive(room));
	ASSERT_TRUE(link.ours.link().set_blocking(true));
	std::thread other([&] {
		::poll(nullptr, 0, 100);
		link.arrives(1, link.records.size());
	});
	EXPECT_TRUE(link.ours.send(mpa::bytes("there")));
	other.join();
	EXPECT_EQ(link.peer_reads(), "there");
}

// --- the end of TCP's sending half ---------------------------------------------------------

bool ends(int fd)
{
	pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
	char some[4096];
	ssize_t got = 1;

	while (got > 0 && ::poll(&one, 1, 5000) == 1)
		got = ::recv(fd, some, sizeof(some), 0);
	return got == 0;
}

TEST(TlsClose, ends_tcp_after_an_error)
{
	Link link(false, tls13);
	std::array<std::byte, 4> room;
	const char bad[] = "\x17\x03\x03\x00\x28........................................";

	ASSERT_EQ(::send(link.far.get(), bad, 45, 0), 45);
	ASSERT_FALSE(link.ours.receive(room));
	EXPECT_FALSE(link.ours.close());
	EXPECT_TRUE(ends(link.far.get()));
}

TEST(TlsClose, ends_tcp_within_a_ticket)
{
	Ticket link;
	std::array<std::byte, 4> room;

	link.arrives(0, 1);
	::shutdown(link.far.get(), SHUT_WR);
	EXPECT_EQ(link.ours.receive(room).error(), std::errc::connection_aborted);
	EXPECT_EQ(link.ours.close().error(), std::errc::connection_aborted);
	EXPECT_TRUE(ends(link.far.get()));
}

TEST(TlsClose, ends_tcp_before_the_handshake)
{
	Wire wire(1420);
	auto [near, far] = tcp_pair();
	auto link = mpa::framing::socket::attach(std::move(near)).value();
	auto made = tls::connection::client(std::move(link), our_context(false)).value();

	EXPECT_FALSE(made.close());
	EXPECT_TRUE(ends(far.get()));
	EXPECT_TRUE(wire.segments.empty());
}

// --- functions of the application ------------------------------------------------------------

TEST(TlsHandshake, a_function_that_wants_to_be_called_again)
{
	Wire wire(1420);
	auto [near, far] = tcp_pair();
	auto link = mpa::framing::socket::attach(std::move(near)).value();
	const auto with = our_context(true);
	int calls = 0;

	::SSL_CTX_set_cert_cb(
		with.native(),
		[](SSL *, void *count) { return ++*static_cast<int *>(count) < 3 ? -1 : 1; },
		&calls);
	auto made = tls::connection::server(std::move(link), with).value();
	const auto peers = peer_context(false, tls13);
	const Ssl peer(::SSL_new(peers.get()));
	::SSL_set_fd(peer.get(), far.get());
	std::thread other([&] { EXPECT_EQ(::SSL_connect(peer.get()), 1); });
	EXPECT_EQ(made.handshake().error(), std::errc::operation_in_progress);
	EXPECT_EQ(made.handshake().error(), std::errc::operation_in_progress);
	EXPECT_TRUE(made.handshake());
	EXPECT_EQ(calls, 3);
	other.join();
}

// Suites whose records depend on those before are not even offered.
TEST(TlsSuites, cbc_is_refused)
{
	for (const bool server : {false, true}) {
		Link link(server,
			  {"cbc", TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA384", 0});

		ASSERT_FALSE(link.done);
		EXPECT_NE(link.done.error().message(), "");
		EXPECT_NE(link.peer_done, 1);
	}
}

TEST(TlsSuites, a_context_that_has_none)
{
	Wire wire(1420);
	auto [near, far] = tcp_pair();
	const Context made(::SSL_CTX_new(::TLS_client_method()));

	::SSL_CTX_set_cipher_list(made.get(), "ECDHE-ECDSA-AES256-SHA384");
	::SSL_CTX_set_ciphersuites(made.get(), "");
	auto link = mpa::framing::socket::attach(std::move(near)).value();
	const auto got = tls::connection::client(std::move(link),
						 tls::context::share(made.get()));
	ASSERT_FALSE(got);
	EXPECT_EQ(ERR_GET_REASON(static_cast<unsigned>(got.error().value())),
		  SSL_R_NO_CIPHERS_AVAILABLE);
	EXPECT_EQ(got.error().message(), "no ciphers available");
}

// RFC 6066: a client that has little memory.
TEST(TlsSizes, the_peer_may_ask_for_short_records)
{
	auto peers = peer_context(false, tls13);

	::SSL_CTX_set_tlsext_max_fragment_length(peers.get(),
						 TLSEXT_max_fragment_length_1024);
	Link link(true, peers, 1420, our_context(true));
	ASSERT_TRUE(link.done);
	EXPECT_EQ(link.ours.emss().value(), 1024u);
	link.wire.segments.clear();
	ASSERT_TRUE(link.ours.send(mpa::bytes(text_of(1024))));
	EXPECT_EQ(link.wire.only(), 1024 + 22);
	EXPECT_EQ(link.peer_reads(), text_of(1024));
	EXPECT_EQ(link.ours.send(mpa::bytes(text_of(1025))).error(),
		  std::errc::message_size);
}

// --- marker mode, section 7.3.2 ------------------------------------------------------------

struct Marked : Link {
	explicit Marked(bool server, std::uint32_t interval = 512)
		: Marked(server, tls::markers{.records = 1000, .plaintext = interval})
	{
	}

	Marked(bool server, const tls::markers &intervals)
		: Link(server, peer_context(!server, tls13), 1420, our_context(server),
		       &intervals)
	{
	}

	// What the peer has received, markers and all.
	model::Bytes peer_stream(std::size_t size)
	{
		model::Bytes all;

		while (all.size() < size) {
			const auto text = peer_reads();
			const auto bytes = mpa::bytes(text);

			if (text.empty())
				break;
			all.insert(all.end(), bytes.begin(), bytes.end());
		}
		return all;
	}
};

TEST(TlsMarked, the_kernel_marks_records)
{
	Marked link(false);
	const auto &set = kernel().set;
	const auto is = [](const fake::Call &call, int option, int value) {
		int had = 0;

		std::memcpy(&had, call.value.data(), sizeof(had));
		return call.option == option && had == value;
	};

	// Behind TCP_ULP.
	ASSERT_EQ(set.size(), 4u);
	EXPECT_TRUE(is(set[1], TCP_FRAMING_SEND_INTERVAL, 1000));
	EXPECT_TRUE(is(set[2], TCP_FRAMING_RECV_INTERVAL, 1000));
	EXPECT_TRUE(is(set[3], TCP_FRAMING_MODE,
		       TCP_FRAMING_SEND_MARKERS | TCP_FRAMING_RECV_MARKERS));
}

TEST(TlsMarked, the_plaintext_has_markers)
{
	for (const bool server : {false, true}) {
		Marked link(server);
		const model::Lengths pdus{1, 507, 508, 509, 2000, 3, 30000};
		const auto want = model::marked(pdus, 512);
		std::size_t at = 0;

		ASSERT_TRUE(link.done) << link.done.error().message();
		link.wire.emss = 65528;
		link.wire.segments.clear();
		for (const auto length : pdus) {
			ASSERT_TRUE(link.ours.send(model::payload(at, length)));
			at += length;
		}
		EXPECT_EQ(link.peer_stream(want.size()), want);
		// The longest one is two records.
		EXPECT_EQ(link.wire.segments.size(), pdus.size() + 1);
		for (const auto &segment : link.wire.segments)
			EXPECT_EQ(records_in(segment), 1);
	}
}

// With the markers that the kernel adds, what is sent at once is a PDU, too.
TEST(TlsMarked, packed_records_leave_room_for_markers)
{
	for (const std::uint32_t interval : {8u, 512u, 2048u}) {
		Marked link(false, tls::markers{.records = interval, .plaintext = 2048});
		const std::size_t longest = link.ours.emss().value();

		link.wire.emss = mpa::framing::markers_max(interval);
		link.wire.segments.clear();
		link.ours.pack(true);
		ASSERT_TRUE(link.ours.send(model::payload(0, longest))) << interval;
		EXPECT_FALSE(link.ours.pending());
		EXPECT_EQ(link.wire.segments.size(), interval == 8 ? 4u : 2u);
	}
}

TEST(TlsMarked, receiving_removes_them)
{
	for (const bool server : {false, true}) {
		Marked link(server);
		const model::Lengths pdus{600, 1000, 509, 20, 2000};
		const auto stream = model::marked(pdus, 512);
		model::Bytes all, room(50000);
		std::vector<std::size_t> ends;

		for (std::size_t at = 0; at < stream.size(); at += 700)
			ASSERT_GT(::SSL_write(link.peer.get(), stream.data() + at,
					      static_cast<int>(std::min<std::size_t>(
						      700, stream.size() - at))),
				  0);
		while (all.size() < 4129) {
			const auto got = link.ours.receive(room);

			ASSERT_TRUE(got) << got.error().message();
			all.insert(all.end(), room.begin(),
				   room.begin() + static_cast<std::ptrdiff_t>(got->size));
			if (got->end_of_record)
				ends.push_back(all.size());
		}
		EXPECT_EQ(all, model::payload(0, 4129));
		EXPECT_EQ(ends, (std::vector<std::size_t>{600, 1600, 2109, 4129}));
		::SSL_shutdown(link.peer.get());
		EXPECT_TRUE(link.ours.receive(room).value().end);
	}
}

TEST(TlsMarked, what_is_in_the_process_is_known)
{
	Marked link(false);
	const auto stream = model::marked({600, 600}, 512);
	model::Bytes room(5000);

	ASSERT_GT(::SSL_write(link.peer.get(), stream.data(),
			      static_cast<int>(stream.size())), 0);
	EXPECT_EQ(link.ours.receive(room).value(), (tls::received{600, true, false}));
	EXPECT_TRUE(link.ours.buffered());
	EXPECT_EQ(link.ours.receive(room).value().size, 600u);
	EXPECT_FALSE(link.ours.buffered());
}

TEST(TlsMarked, a_wrong_marker)
{
	Marked link(false);
	auto stream = model::marked({2000}, 512);
	model::Bytes room(5000);

	stream[515] ^= std::byte{1};
	ASSERT_GT(::SSL_write(link.peer.get(), stream.data(),
			      static_cast<int>(stream.size())), 0);
	EXPECT_EQ(link.ours.receive(room).value(), (tls::received{508, false, false}));
	EXPECT_EQ(link.ours.receive(room).error(), std::errc::protocol_error);
	EXPECT_EQ(link.ours.receive(room).error(), std::errc::protocol_error);
}

TEST(TlsMarked, the_end_within_a_pdu)
{
	Marked link(false);
	const auto stream = model::marked({2000}, 512);
	model::Bytes room(5000);

	ASSERT_GT(::SSL_write(link.peer.get(), stream.data(), 600), 0);
	::SSL_shutdown(link.peer.get());
	EXPECT_EQ(link.ours.receive(room).value(), (tls::received{592, false, false}));
	EXPECT_EQ(link.ours.receive(room).error(), std::errc::connection_aborted);
}

TEST(TlsMarked, the_longest_pdu)
{
	Marked link(false, 2048);

	EXPECT_EQ(link.ours.emss().value(), 65400u);
	link.wire.segments.clear();
	EXPECT_EQ(link.ours.send(model::payload(0, 65401)).error(),
		  std::errc::message_size);
	EXPECT_EQ(link.ours.send({}).error(), std::errc::invalid_argument);
	EXPECT_TRUE(link.wire.segments.empty());
	link.wire.emss = 65528;
	ASSERT_TRUE(link.ours.send(model::payload(0, 65400)));
	const auto want = model::marked({65400}, 2048);
	EXPECT_EQ(link.peer_stream(want.size()), want);
}

TEST(TlsMarked, intervals_that_cannot_be)
{
	for (const auto &bad : {tls::markers{.records = 7}, tls::markers{.plaintext = 7},
				tls::markers{.records = 0x80000000}}) {
		Wire wire(1420);
		auto [near, far] = tcp_pair();
		auto link = mpa::framing::socket::attach(std::move(near)).value();

		EXPECT_EQ(tls::connection::server(std::move(link), our_context(true), bad)
				  .error(),
			  std::errc::invalid_argument);
	}
}

// --- the socket --------------------------------------------------------------------------------

TEST(TlsSocket, sends_atomically)
{
	Wire wire(1420);
	auto [near, far] = tcp_pair();
	auto link = mpa::framing::socket::attach(std::move(near)).value();

	kernel().set.clear();
	ASSERT_TRUE(tls::connection::client(std::move(link), our_context(false)));
	ASSERT_EQ(kernel().set.size(), 1u);
	EXPECT_EQ(kernel().set[0].option, TCP_FRAMING_MODE);
	EXPECT_EQ(kernel().set[0].value[0], std::byte{TCP_FRAMING_SEND_ATOMIC});
}

TEST(TlsSocket, what_it_cannot_use)
{
	const struct {
		int mode, option, error;
		std::errc want;
	} rows[] = {
		{0x10, 0, 0, std::errc::invalid_argument},
		{0x20, 0, 0, std::errc::invalid_argument},
		{0x02, TCP_FRAMING_MODE, EBUSY, std::errc::device_or_resource_busy},
		{0, TCP_FRAMING_MODE, EOPNOTSUPP, std::errc::operation_not_supported},
	};

	for (const auto &row : rows) {
		Wire wire(1420);
		auto [near, far] = tcp_pair();
		auto link = mpa::framing::socket::attach(std::move(near)).value();

		kernel().give(TCP_FRAMING_MODE, row.mode);
		// Only setting it fails.
		kernel().set_errors[{SOL_TCP, row.option}] = row.error;
		EXPECT_EQ(tls::connection::client(std::move(link), our_context(false))
				  .error(),
			  row.want);
	}
}

TEST(TlsSocket, not_connected_yet)
{
	Wire wire(1420);
	auto [near, far] = tcp_pair();
	auto link = mpa::framing::socket::attach(std::move(near)).value();
	auto made = tls::connection::client(std::move(link), our_context(false)).value();

	kernel().errors[{SOL_TCP, TCP_SEND_EMSS}] = ENOTCONN;
	EXPECT_EQ(made.handshake().error(), std::errc::not_connected);
	EXPECT_EQ(made.emss().error(), std::errc::not_connected);
}

// --- certificates ---------------------------------------------------------------------------

TEST(TlsContext, does_not_trust_everybody)
{
	Link link(false, peer_context(true, tls13), 1420,
		  tls::context::client().value());

	ASSERT_FALSE(link.done);
	EXPECT_EQ(link.done.error().message(), "certificate verify failed");
}

// The application's context verifies nothing, but the name is asked for.
TEST(TlsContext, a_name_is_verified_whatever_the_mode)
{
	for (const bool trusted : {true, false})
		for (const char *name : {"peer", "other", ""}) {
			const Context made(::SSL_CTX_new(::TLS_client_method()));

			::SSL_CTX_set_verify(made.get(), SSL_VERIFY_NONE, nullptr);
			if (trusted)
				::X509_STORE_add_cert(
					::SSL_CTX_get_cert_store(made.get()),
					identity().certificate.get());
			Link link(false, peer_context(true, tls13), 1420,
				  tls::context::share(made.get()), nullptr, name);
			const bool good = !*name ||
					  (trusted && name == std::string("peer"));

			EXPECT_EQ(bool(link.done), good) << name << trusted;
			if (!link.done) {
				EXPECT_EQ(link.done.error().message(),
					  "certificate verify failed");
			}
		}
}

// RFC 6066 section 3: no address is a name for the server to choose a certificate by.
TEST(TlsContext, an_address_is_verified_and_not_sent)
{
	const struct {
		const char *name;
		bool sent;
		bool good;
	} rows[] = {
		{"127.0.0.1", false, true}, {"127.0.0.2", false, false},
		{"::1", false, true},	    {"0:0:0:0:0:0:0:1", false, true},
		{"::2", false, false},	    {"peer", true, true},
		{"127.0.0.1.peer", true, false},
	};
	const Identity known("IP:127.0.0.1,IP:::1,DNS:peer");

	for (const auto &row : rows) {
		const Context made(::SSL_CTX_new(::TLS_client_method()));
		const auto peers = peer_context(true, tls13);
		// The server's, as the certificate may be refused.
		bool sent = false;

		::SSL_CTX_use_certificate(peers.get(), known.certificate.get());
		::SSL_CTX_use_PrivateKey(peers.get(), known.key.get());
		::SSL_CTX_set_tlsext_servername_arg(peers.get(), &sent);
		::SSL_CTX_set_tlsext_servername_callback(
			peers.get(), +[](SSL *ssl, int *, void *to) {
				*static_cast<bool *>(to) = ::SSL_get_servername(
					ssl, TLSEXT_NAMETYPE_host_name);
				return SSL_TLSEXT_ERR_OK;
			});
		::X509_STORE_add_cert(::SSL_CTX_get_cert_store(made.get()),
				      known.certificate.get());
		Link link(false, peers, 1420, tls::context::share(made.get()), nullptr,
			  row.name);

		EXPECT_EQ(bool(link.done), row.good) << row.name;
		EXPECT_EQ(sent, row.sent) << row.name;
	}
}

TEST(TlsContext, names_of_files)
{
	const Files files;

	EXPECT_TRUE(tls::context::server(files.certificate(), files.key()));
	EXPECT_FALSE(tls::context::server(files.certificate(), "/nonexistent"));
	EXPECT_EQ(tls::context::server("/nonexistent", files.key()).error(),
		  std::errc::no_such_file_or_directory);
}

// --- openssl s_server and s_client -----------------------------------------------------------

// A command whose input is what is written to it; ends with this object.
class Command {
public:
	explicit Command(std::vector<std::string> words)
	{
		int in[2], out[2];

		if (::pipe2(in, O_CLOEXEC) || ::pipe2(out, O_CLOEXEC))
			throw std::runtime_error("pipe");
		pid_ = ::fork();
		if (pid_ == 0) {
			std::vector<char *> arguments;

			for (auto &word : words)
				arguments.push_back(word.data());
			arguments.push_back(nullptr);
			::dup2(in[0], 0);
			::dup2(out[1], 1);
			::dup2(out[1], 2);
			::execvp(arguments[0], arguments.data());
			::_exit(127);
		}
		::close(in[0]);
		::close(out[1]);
		to_.reset(in[1]);
		from_.reset(out[0]);
	}
	~Command()
	{
		::kill(pid_, SIGKILL);
		::waitpid(pid_, nullptr, 0);
	}
	Command(const Command &) = delete;
	Command &operator=(const Command &) = delete;

	void write(std::string_view text)
	{
		ASSERT_EQ(::write(to_.get(), text.data(), text.size()), text.size());
	}

	// Its output up to the text.
	bool says(std::string_view text)
	{
		char some[4096];

		while (seen_.find(text) == std::string::npos) {
			pollfd one{.fd = from_.get(), .events = POLLIN, .revents = 0};
			const ssize_t got = ::poll(&one, 1, 10000) == 1
						    ? ::read(one.fd, some, sizeof(some))
						    : 0;

			if (got <= 0)
				return false;
			seen_.append(some, static_cast<std::size_t>(got));
		}
		return true;
	}
	const std::string &seen() const { return seen_; }

private:
	pid_t pid_;
	mpa::descriptor to_, from_;
	std::string seen_;
};

class Openssl : public testing::TestWithParam<const char *> {};

std::string port_of(int listener)
{
	const auto name = mpa::tcp::name_of(listener, false);

	return name.substr(name.find(' ') + 1);
}

TEST_P(Openssl, s_server)
{
	const Files files;
	Wire wire(1420);
	std::string port;
	{
		// Free a moment ago.
		port = port_of(mpa::tcp::listen("127.0.0.1", "0").value().get());
	}
	Command server({"openssl", "s_server", "-accept", "127.0.0.1:" + port, "-cert",
			files.certificate(), "-key", files.key(), GetParam(), "-rev"});
	ASSERT_TRUE(server.says("ACCEPT")) << server.seen();
	auto tcp = mpa::tcp::connect("127.0.0.1", port).value();
	auto link = mpa::framing::socket::attach(std::move(tcp)).value();
	auto ours = tls::connection::client(std::move(link), our_context(false)).value();
	std::vector<std::byte> room(20000);

	ASSERT_TRUE(ours.handshake());
	for (const std::size_t size : {std::size_t{1}, std::size_t{500},
				       std::size_t{*ours.emss()} - 1}) {
		const auto text = text_of(size);

		ASSERT_TRUE(ours.send(mpa::bytes(text + "\n")));
		const auto got = ours.receive(room);
		ASSERT_TRUE(got) << got.error().message();
		EXPECT_EQ(mpa::text(mpa::buffer(room).first(got->size)),
			  std::string(text.rbegin(), text.rend()) + "\n");
	}
	for (const auto &segment : wire.segments)
		EXPECT_EQ(records_in(segment), 1);
	EXPECT_TRUE(ours.close());
}

TEST_P(Openssl, s_client)
{
	Wire wire(1420);
	auto listener = mpa::tcp::listen("127.0.0.1", "0").value();
	Command client({"openssl", "s_client", "-connect",
			"127.0.0.1:" + port_of(listener.get()), GetParam(), "-quiet"});
	mpa::descriptor tcp(::accept(listener.get(), nullptr, nullptr));
	auto link = mpa::framing::socket::attach(std::move(tcp)).value();
	auto ours = tls::connection::server(std::move(link), our_context(true)).value();
	std::vector<std::byte> room(20000);

	ASSERT_TRUE(ours.handshake());
	ASSERT_TRUE(ours.send(mpa::bytes("to the client\n")));
	EXPECT_TRUE(client.says("to the client\n")) << client.seen();
	client.write("to the server\n");
	const auto got = ours.receive(room);
	ASSERT_TRUE(got) << got.error().message();
	EXPECT_EQ(mpa::text(mpa::buffer(room).first(got->size)), "to the server\n");
	for (const auto &segment : wire.segments)
		EXPECT_EQ(records_in(segment), 1);
}

INSTANTIATE_TEST_SUITE_P(versions, Openssl, testing::Values("-tls1_2", "-tls1_3"),
			 [](const auto &row) {
				 return std::string(row.param).substr(1, 6);
			 });

} // namespace
