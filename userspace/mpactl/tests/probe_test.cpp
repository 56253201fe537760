/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl probe with fake peers on loopback, whose bytes were written from RFC 5044 and
// RFC 6581.

#include <atomic>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe/guess.hpp"
#include "probe/probe.hpp"

namespace {

using namespace mpactl;
using namespace std::string_literals;
using startup::Bytes;

Bytes bytes_of(const std::string &text)
{
	return {text.begin(), text.end()};
}

Bytes operator+(Bytes left, const Bytes &right)
{
	left.insert(left.end(), right.begin(), right.end());
	return left;
}

Bytes reply_with(std::uint8_t flags, std::uint8_t revision,
		 const Bytes &body = {})
{
	return bytes_of("MPA ID Rep Frame") +
	       Bytes{flags, revision,
		     static_cast<std::uint8_t>(body.size() >> 8),
		     static_cast<std::uint8_t>(body.size())} +
	       body;
}

// For what must happen; a machine may be slow.
constexpr milliseconds patience{60000};
// For what must not happen.
constexpr milliseconds moment{400};

// A peer on loopback. The script is called for each connection, with its number.
class Peer {
public:
	using Script = std::function<void(int fd, int number)>;

	explicit Peer(Script script, int family = AF_INET)
		: script_(std::move(script)), family_(family)
	{
		listen();
		thread_ = std::thread([this] { serve(); });
	}

	~Peer()
	{
		stop_ = true;
		thread_.join();
		::close(fd_);
	}

	std::string port() const { return std::to_string(port_); }
	int connections() const { return count_; }

private:
	void listen()
	{
		sockaddr_in6 six{};
		sockaddr_in four{};
		auto *address = family_ == AF_INET
			? reinterpret_cast<sockaddr *>(&four)
			: reinterpret_cast<sockaddr *>(&six);
		socklen_t size = family_ == AF_INET ? sizeof(four) : sizeof(six);

		four.sin_family = AF_INET;
		four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		six.sin6_family = AF_INET6;
		six.sin6_addr = in6addr_loopback;
		fd_ = ::socket(family_, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (::bind(fd_, address, size) || ::listen(fd_, 8) ||
		    ::getsockname(fd_, address, &size))
			std::abort();
		port_ = ntohs(family_ == AF_INET ? four.sin_port : six.sin6_port);
	}

	void serve()
	{
		while (!stop_) {
			pollfd one{.fd = fd_, .events = POLLIN, .revents = 0};

			if (::poll(&one, 1, 10) <= 0)
				continue;
			const int fd = ::accept4(fd_, nullptr, nullptr,
						 SOCK_CLOEXEC);
			script_(fd, count_++);
			::close(fd);
		}
	}

	Script script_;
	int family_;
	int fd_ = -1;
	std::uint16_t port_ = 0;
	std::atomic<int> count_ = 0;
	std::atomic<bool> stop_ = false;
	std::thread thread_;
};

// Receives up to `size` bytes; less at the end of the stream.
Bytes take(int fd, std::size_t size)
{
	Bytes got(size);
	std::size_t have = 0;

	while (have < size) {
		pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
		if (::poll(&one, 1, static_cast<int>(patience.count())) <= 0)
			break;
		const auto n = ::recv(fd, got.data() + have, size - have, 0);
		if (n <= 0)
			break;
		have += static_cast<std::size_t>(n);
	}
	got.resize(have);
	return got;
}

Bytes take_request(int fd)
{
	auto request = take(fd, 20);

	if (request.size() == 20)
		request = request + take(fd, request[18] << 8 | request[19]);
	return request;
}

void give(int fd, const Bytes &bytes)
{
	if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0)
		ADD_FAILURE() << "send";
}

void give_singly(int fd, const Bytes &bytes)
{
	const int on = 1;

	::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (std::size_t n = 0; n < bytes.size(); n++) {
		give(fd, {bytes[n]});
		// The other side does not get all of them at once.
		if (n % 16 == 0)
			std::this_thread::sleep_for(milliseconds(1));
	}
}

// Receives until the other side closes, like a Responder that waits for an FPDU.
Bytes until_end(int fd)
{
	return take(fd, 1000);
}

ProbeOrder order_for(const Peer &peer)
{
	ProbeOrder order;

	order.host = "127.0.0.1";
	order.port = peer.port();
	order.timeout = order.close = patience;
	return order;
}

// For peers that do not answer.
ProbeOrder short_order_for(const Peer &peer)
{
	auto order = order_for(peer);

	order.timeout = moment;
	return order;
}

// A, B, C, D of RFC 6581; IRD 4, ORD 8.
const Bytes enhanced_all{0xc0, 0x04, 0xc0, 0x08};

// --- replies ------------------------------------------------------------------

TEST(probe_request, is_of_revision_2_enhanced_and_peer_to_peer)
{
	Bytes request;
	Peer peer([&](int fd, int) {
		request = take_request(fd);
		give(fd, reply_with(0x50, 2, enhanced_all));
		until_end(fd);
	});

	probe(order_for(peer));
	EXPECT_EQ(hex(request, ""), hex(bytes_of("MPA ID Req Frame"), "") +
					    "50020004" "c010c010");
}

TEST(probe_request, has_what_the_options_request)
{
	Bytes request;
	Peer peer([&](int fd, int) {
		request = take_request(fd);
		give(fd, reply_with(0x90, 2, {0, 1, 0, 2}));
		until_end(fd);
	});
	auto order = order_for(peer);

	order.markers = true;
	order.crc = false;
	order.peer_to_peer = false;
	order.ird = 1;
	order.ord = startup::depth_none;
	order.data = bytes_of("hi");
	probe(order);
	EXPECT_EQ(hex(request, ""), hex(bytes_of("MPA ID Req Frame"), "") +
					    "90020006" "00013fff" "6869");
}

TEST(probe_request, ends_without_a_single_byte_of_an_fpdu)
{
	std::string after = "not called";
	Peer peer([&](int fd, int) {
		take_request(fd);
		give(fd, reply_with(0x40, 1));
		after = hex(until_end(fd));
	});
	auto order = order_for(peer);

	order.revision = 1;
	EXPECT_TRUE(probe(order).uses_mpa());
	// The script receives the end of the stream before probe() returns.
	EXPECT_EQ(after, "");
}

struct Answer {
	const char *name;
	unsigned int asked;
	Bytes bytes;
	ProbeOutcome outcome;
	const char *why;
};

void PrintTo(const Answer &row, std::ostream *out)
{
	*out << row.name;
}

const Answer answers[] = {
	{"accept_2", 2, reply_with(0x50, 2, enhanced_all), ProbeOutcome::accepted,
	 ""},
	{"accept_1", 1, reply_with(0x40, 1), ProbeOutcome::accepted, ""},
	{"accept_0", 0, reply_with(0xc0, 0), ProbeOutcome::accepted, ""},
	{"accept_1_by_0", 1, reply_with(0xc0, 0), ProbeOutcome::accepted, ""},
	{"longest", 1, reply_with(0, 1, Bytes(512, 0x41)),
	 ProbeOutcome::accepted, ""},
	{"reject_2", 2, reply_with(0x70, 2, enhanced_all), ProbeOutcome::rejected,
	 ""},
	{"reject_1", 1, reply_with(0x60, 1, bytes_of("no")),
	 ProbeOutcome::rejected, ""},
	{"not_enhanced", 2, reply_with(0x40, 2), ProbeOutcome::unfit,
	 "the Reply does not match the Request"},
	{"no_rtr_in_common", 2, reply_with(0x50, 2, {0x80, 0x04, 0x00, 0x08}),
	 ProbeOutcome::unfit, "no RTR is common to both"},
	{"newer", 1, reply_with(0x50, 2, enhanced_all), ProbeOutcome::unfit,
	 "the Reply does not match the Request"},
	{"revision_3", 2, reply_with(0x40, 3), ProbeOutcome::malformed,
	 "a revision above 2"},
	{"too_long", 2, bytes_of("MPA ID Rep Frame") + Bytes{0x40, 1, 2, 1},
	 ProbeOutcome::malformed, "more than 512 bytes of private data"},
	{"no_room", 2, reply_with(0x50, 2, {0, 0}), ProbeOutcome::malformed,
	 "flags that are not defined in its revision"},
	{"initiator", 2,
	 bytes_of("MPA ID Req Frame") + Bytes{0x40, 1, 0, 2, 7, 7},
	 ProbeOutcome::initiator, "a Request instead of a Reply"},
	{"ssh", 2, bytes_of("SSH-2.0-OpenSSH_9.2p1\r\n"), ProbeOutcome::foreign,
	 "SSH"},
	{"http", 2, bytes_of("HTTP/1.1 400 Bad Request\r\n\r\n"),
	 ProbeOutcome::foreign, "HTTP"},
	{"tls_alert", 2, {0x15, 3, 3, 0, 2, 2, 10}, ProbeOutcome::foreign,
	 "TLS, an alert"},
	{"garbage", 2, {0, 1, 2, 3}, ProbeOutcome::foreign, ""},
	{"one_byte", 2, {0xff}, ProbeOutcome::foreign, ""},
	{"nearly_a_key", 2, bytes_of("MPA ID Rep Frome....."),
	 ProbeOutcome::foreign, "MPA with an unknown key"},
};

class probe_answers
	: public testing::TestWithParam<std::tuple<Answer, bool>> {};

TEST_P(probe_answers, are_classified_whole_and_in_single_bytes)
{
	const auto &[row, singly] = GetParam();
	Peer peer([&, &row = row, singly = singly](int fd, int) {
		take_request(fd);
		(singly ? give_singly : give)(fd, row.bytes);
		::shutdown(fd, SHUT_WR);
		until_end(fd);
	});
	auto order = order_for(peer);

	order.revision = row.asked;
	order.more_bytes = patience;
	const auto report = probe(order);

	ASSERT_EQ(report.attempts.size(), 1u);
	const auto &attempt = report.attempts[0];
	EXPECT_EQ(attempt.outcome, row.outcome);
	EXPECT_EQ(attempt.why, row.why);
	EXPECT_EQ(report.uses_mpa(), is_reply(row.outcome));
	EXPECT_EQ(attempt.reply.has_value(), is_reply(row.outcome));
	EXPECT_FALSE(report.connect_error);
	EXPECT_TRUE(row.outcome != ProbeOutcome::foreign ||
		    attempt.bytes == row.bytes);
}

std::string name_of_answer(
	const testing::TestParamInfo<std::tuple<Answer, bool>> &param)
{
	return std::string(std::get<0>(param.param).name) +
	       (std::get<1>(param.param) ? "_singly" : "");
}

INSTANTIATE_TEST_SUITE_P(, probe_answers,
			 testing::Combine(testing::ValuesIn(answers),
					  testing::Bool()),
			 name_of_answer);

TEST(probe_reply, is_reported_completely)
{
	Peer peer([](int fd, int) {
		take_request(fd);
		give(fd, reply_with(0xd0, 2, enhanced_all + bytes_of("hello")));
		until_end(fd);
	});
	const auto report = probe(order_for(peer));

	ASSERT_TRUE(report.uses_mpa());
	const auto &reply = *report.attempts[0].reply;
	EXPECT_EQ(reply.revision, 2u);
	EXPECT_TRUE(reply.markers);
	EXPECT_TRUE(reply.crc);
	EXPECT_TRUE(reply.enhanced);
	EXPECT_TRUE(reply.peer_to_peer);
	EXPECT_EQ(reply.rtr, startup::rtr_all);
	EXPECT_EQ(reply.ird, 4);
	EXPECT_EQ(reply.ord, 8);
	EXPECT_EQ(reply.data, bytes_of("hello"));
	EXPECT_TRUE(report.attempts[0].agreement.tx_markers);
	EXPECT_FALSE(report.attempts[0].agreement.rx_markers);
	EXPECT_EQ(report.address, "127.0.0.1");
	EXPECT_EQ(report.source, "127.0.0.1");
}

TEST(probe_reply, with_bytes_after_it_is_reported)
{
	Peer peer([](int fd, int) {
		take_request(fd);
		give(fd, reply_with(0x40, 1) + Bytes{1, 2, 3});
		until_end(fd);
	});
	auto order = order_for(peer);

	order.revision = 1;
	const auto report = probe(order);
	EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::accepted);
	EXPECT_EQ(report.attempts[0].early, 3u);
}

// --- revisions ----------------------------------------------------------------

// A peer that closes the connection unless the Request has its revision.
Peer::Script supports_only(std::uint8_t revision)
{
	return [revision](int fd, int) {
		if (take_request(fd)[17] != revision)
			return;
		give(fd, revision == 2 ? reply_with(0x50, 2, enhanced_all)
				       : reply_with(0xc0, revision));
		until_end(fd);
	};
}

std::string outcomes(const ProbeReport &report)
{
	std::string text;

	for (const auto &one : report.attempts)
		text += std::to_string(one.ask.revision) +
			(one.outcome == ProbeOutcome::accepted ? "+" :
			 is_reply(one.outcome)		       ? "!" : "-");
	return text;
}

TEST(probe_revisions, falls_back_to_1_when_2_is_closed)
{
	Peer peer(supports_only(1));

	EXPECT_EQ(outcomes(probe(order_for(peer))), "2-1+");
}

TEST(probe_revisions, does_not_continue_when_2_is_answered)
{
	Peer peer(supports_only(2));

	EXPECT_EQ(outcomes(probe(order_for(peer))), "2+");
}

TEST(probe_revisions, does_not_fall_back_to_0)
{
	Peer peer(supports_only(0));

	EXPECT_EQ(outcomes(probe(order_for(peer))), "2-1-");
}

TEST(probe_revisions, continues_with_the_revision_of_the_reply)
{
	Peer peer([](int fd, int) {
		const auto revision = take_request(fd)[17];

		give(fd, reply_with(revision ? 0xe0 : 0xc0, 0));
		until_end(fd);
	});
	const auto report = probe(order_for(peer));

	EXPECT_EQ(outcomes(report), "2!0+");
	EXPECT_EQ(report.revisions(), std::vector<unsigned int>{0});
}

TEST(probe_revisions, all_of_them)
{
	Peer peer([](int fd, int) {
		const auto revision = take_request(fd)[17];

		give(fd, revision == 2 ? reply_with(0x50, 2, enhanced_all)
				       : reply_with(0xc0, revision));
		until_end(fd);
	});
	auto order = order_for(peer);

	order.all = true;
	const auto report = probe(order);
	EXPECT_EQ(outcomes(report), "2+1+0+");
	EXPECT_EQ(report.revisions(), (std::vector<unsigned int>{2, 1, 0}));
}

TEST(probe_revisions, does_not_continue_after_a_rejection)
{
	Peer peer([](int fd, int) {
		take_request(fd);
		give(fd, reply_with(0x70, 2, enhanced_all));
		until_end(fd);
	});

	EXPECT_EQ(outcomes(probe(order_for(peer))), "2!");
	EXPECT_EQ(peer.connections(), 1);
}

// --- what is not MPA ------------------------------------------------------------

TEST(probe_other_protocols, an_echo_is_recognized)
{
	for (const bool singly : {false, true}) {
		Peer peer([singly](int fd, int) {
			(singly ? give_singly : give)(fd, take_request(fd));
			until_end(fd);
		});
		const auto report = probe(order_for(peer));

		ASSERT_EQ(report.attempts.size(), 1u);
		EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::echo);
		EXPECT_FALSE(report.uses_mpa());
		EXPECT_EQ(probe_status(report), Exit::refused);
	}
}

TEST(probe_other_protocols, a_banner_before_the_request)
{
	Peer peer([](int fd, int) {
		give(fd, bytes_of("220 mail.example ESMTP\r\n"));
		until_end(fd);
	});
	const auto report = probe(order_for(peer));

	EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::foreign);
	EXPECT_EQ(report.attempts[0].why, "SMTP or FTP");
}

TEST(probe_other_protocols, only_the_first_bytes_of_a_flood_are_read)
{
	Peer peer([](int fd, int) {
		const Bytes flood(65536, 'x');

		while (::send(fd, flood.data(), flood.size(), MSG_NOSIGNAL) > 0)
			;
	});
	const auto report = probe(order_for(peer));

	EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::foreign);
	EXPECT_EQ(report.attempts[0].bytes.size(), 64u);
}

TEST(probe_other_protocols, silence)
{
	Peer peer([](int fd, int) {
		take_request(fd);
		until_end(fd);
	});
	const auto report = probe(short_order_for(peer));

	ASSERT_EQ(report.attempts.size(), 1u);
	EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::silent);
	EXPECT_GE(report.attempts[0].took, moment);
}

TEST(probe_other_protocols, an_answer_at_the_end_of_the_stream)
{
	Peer peer([](int fd, int) {
		take_request(fd);
		until_end(fd);
		give(fd, bytes_of("HTTP/1.1 400 Bad request syntax\r\n\r\n"));
	});
	const auto report = probe(short_order_for(peer));

	EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::foreign);
	EXPECT_EQ(report.attempts[0].why, "HTTP");
}

// A Reply after the end of the stream is ignored.
TEST(probe_other_protocols, a_reply_after_the_end)
{
	Peer peer([](int fd, int) {
		take_request(fd);
		until_end(fd);
		give(fd, reply_with(0x50, 2, enhanced_all));
	});
	const auto report = probe(short_order_for(peer));

	EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::silent);
}

TEST(probe_other_protocols, closed_and_reset)
{
	Peer closes([](int fd, int) { take_request(fd); });
	Peer resets([](int fd, int) {
		const linger now{.l_onoff = 1, .l_linger = 0};

		take_request(fd);
		::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	});
	auto report = probe(order_for(closes));

	ASSERT_EQ(report.attempts.size(), 2u);
	EXPECT_EQ(report.best()->outcome, ProbeOutcome::closed);
	report = probe(order_for(resets));
	ASSERT_EQ(report.attempts.size(), 2u);
	EXPECT_EQ(report.best()->outcome, ProbeOutcome::reset);
	EXPECT_EQ(probe_status(report), Exit::refused);
}

TEST(probe_other_protocols, a_reply_that_ends_at_every_byte)
{
	const auto whole = reply_with(0x50, 2, enhanced_all);

	for (std::size_t size = 1; size < whole.size(); size++) {
		Peer peer([&](int fd, int) {
			take_request(fd);
			give(fd, Bytes(whole.begin(), whole.begin() + size));
		});
		const auto report = probe(order_for(peer));

		EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::malformed)
			<< size;
		EXPECT_EQ(report.attempts[0].why, "the stream ended within the Reply");
	}
}

TEST(probe_other_protocols, a_reply_that_hangs)
{
	Peer peer([&](int fd, int) {
		take_request(fd);
		give(fd, bytes_of("MPA ID Rep"));
		until_end(fd);
	});
	auto order = short_order_for(peer);
	auto report = probe(order);

	// The peer may be too slow for a part of the Reply.
	while (report.attempts[0].outcome == ProbeOutcome::silent &&
	       order.timeout < patience) {
		order.timeout *= 2;
		report = probe(order);
	}

	EXPECT_EQ(report.attempts[0].outcome, ProbeOutcome::malformed);
	EXPECT_EQ(report.attempts[0].why, "the rest of the Reply was not received");
}

// --- no connection ---------------------------------------------------------------------

TEST(probe_connect, a_closed_port_is_refused)
{
	std::string port;
	{
		Peer peer([](int, int) {});
		port = peer.port();
	}
	ProbeOrder order;

	order.host = "127.0.0.1";
	order.port = port;
	const auto report = probe(order);
	EXPECT_EQ(report.connect_error, ConnectError::refused);
	EXPECT_EQ(probe_status(report), Exit::io);
}

// A listener with a full queue does not answer a SYN.
TEST(probe_connect, no_answer_to_tcp_is_a_timeout)
{
	sockaddr_in address{};
	socklen_t size = sizeof(address);
	const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	std::vector<int> fillers;

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	auto *generic = reinterpret_cast<sockaddr *>(&address);
	ASSERT_EQ(::bind(listener, generic, size), 0);
	ASSERT_EQ(::listen(listener, 0), 0);
	ASSERT_EQ(::getsockname(listener, generic, &size), 0);
	for (int i = 0; i < 4; i++) {
		fillers.push_back(::socket(
			AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
		::connect(fillers.back(), generic, size);
	}
	ProbeOrder order;
	order.host = "127.0.0.1";
	order.port = std::to_string(ntohs(address.sin_port));
	order.timeout = milliseconds(200);
	const auto report = probe(order);
	EXPECT_EQ(report.connect_error, ConnectError::timeout);
	for (const int fd : fillers)
		::close(fd);
	::close(listener);
}

TEST(probe_connect, an_unknown_name)
{
	ProbeOrder order;

	order.host = "nowhere.invalid";
	order.port = "1";
	const auto report = probe(order);
	EXPECT_EQ(report.connect_error, ConnectError::name);
	EXPECT_EQ(probe_status(report), Exit::io);
	order.host = "127.0.0.1";
	order.port = "no-such-service";
	EXPECT_EQ(probe(order).connect_error, ConnectError::name);
}

// getaddrinfo(3) would use the low 16 bits, of the port where somebody listens here.
TEST(probe_connect, a_number_that_is_no_port)
{
	Peer peer([](int, int) {});
	auto order = order_for(peer);

	order.port = std::to_string(65536 + std::stoi(order.port));
	for (const auto &port : {order.port, std::string("65536"), std::string("-1")}) {
		order.port = port;
		const auto report = probe(order);

		EXPECT_EQ(report.connect_error, ConnectError::name) << port;
		EXPECT_EQ(report.why, ::gai_strerror(EAI_SERVICE)) << port;
		EXPECT_EQ(probe_status(report), Exit::io) << port;
	}
}

TEST(probe_connect, a_source_that_is_not_a_local_address)
{
	Peer peer([](int, int) {});
	auto order = order_for(peer);

	order.source = "192.0.2.77";
	EXPECT_EQ(probe(order).connect_error, ConnectError::unreachable);
}

TEST(probe_families, ipv6_and_source)
{
	Peer peer(supports_only(2), AF_INET6);
	auto order = order_for(peer);

	order.host = "::1";
	order.source = "::1";
	const auto report = probe(order);
	EXPECT_TRUE(report.uses_mpa());
	EXPECT_EQ(report.address, "::1");
	EXPECT_EQ(report.source, "::1");
	order.family = AF_INET;
	order.source.clear();
	EXPECT_EQ(probe(order).connect_error, ConnectError::name);
}

TEST(probe_families, the_next_address_is_tried)
{
	Peer peer(supports_only(2));
	auto order = order_for(peer);

	// Has addresses of both families on most machines; only IPv4 listens.
	order.host = "localhost";
	EXPECT_TRUE(probe(order).uses_mpa());
}

// --- guesses --------------------------------------------------------------------

TEST(probe_guess, needs_all_bytes_of_a_row)
{
	EXPECT_EQ(guess_service(bytes_of("HTTP")), "");
	EXPECT_EQ(guess_service(bytes_of("HTTP/")), "HTTP");
	EXPECT_EQ(guess_service(bytes_of("\x4a\0\0\0\x0a""8.0.35"s)), "MySQL");
	EXPECT_EQ(guess_service({}), "");
	EXPECT_EQ(printable(Bytes{0, 'a', 0x7f, 0x80, ' '}), ".a.. ");
	EXPECT_EQ(hex(Bytes{0, 0xab}), "00 ab");
}

// --- what is printed --------------------------------------------------------------

std::string text_of(const ProbeReport &report)
{
	std::ostringstream out;

	TextSink(out, false).show(ProbeView(report));
	return out.str();
}

TEST(probe_view, of_a_reply)
{
	Peer peer([](int fd, int) {
		take_request(fd);
		give(fd, reply_with(0x50, 2, enhanced_all + bytes_of("hi")));
		until_end(fd);
	});
	const auto report = probe(order_for(peer));
	const auto text = text_of(report);

	for (const char *line :
	     {"uses MPA\n", "2 (RFC 6581)\n", "accepted\n", "requested, in use\n",
	      "not requested\n", "send, write, read\n", "2 bytes: 68 69  |hi|\n"})
		EXPECT_NE(text.find(line), std::string::npos) << line << text;
	const auto json = ProbeView(report).json();
	EXPECT_EQ(json["outcome"], "accepted");
	EXPECT_EQ(json["speaks_mpa"], true);
	EXPECT_EQ(json["revisions"], Json::array({2}));
	const auto &reply = json["attempts"][0]["reply"];
	EXPECT_EQ(reply["rtr"], Json::array({"send", "write", "read"}));
	EXPECT_EQ(reply["ird"], 4);
	EXPECT_EQ(reply["private_data"], "6869");
	EXPECT_EQ(json["attempts"][0]["agreed"]["rtr"], Json::array({"write"}));
}

TEST(probe_view, of_another_protocol)
{
	Peer peer([](int fd, int) {
		give(fd, bytes_of("SSH-2.0-x\r\n\x1b[31m"));
		until_end(fd);
	});
	const auto report = probe(order_for(peer));
	const auto text = text_of(report);

	EXPECT_NE(text.find("does not use MPA"), std::string::npos) << text;
	EXPECT_NE(text.find("|SSH-2.0-x...[31m|"), std::string::npos) << text;
	const auto json = ProbeView(report).json();
	EXPECT_EQ(json["outcome"], "foreign");
	EXPECT_EQ(json["attempts"][0]["guess"], "SSH");
}

TEST(probe_view, without_a_connection)
{
	ProbeReport report;

	report.host = "host";
	report.port = "1";
	report.connect_error = ConnectError::timeout;
	report.why = "Connection timed out";
	EXPECT_NE(text_of(report).find("no answer: the host is down"), std::string::npos);
	EXPECT_EQ(ProbeView(report).json()["outcome"], "timeout");
}

} // namespace
