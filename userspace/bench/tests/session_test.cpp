/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// control.hpp and the server, with peers other than mpa-bench; then both ends
// together, over TCP.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>

#include <linux/mpa.h>

#include <gtest/gtest.h>

#include "pattern.hpp"
#include "session.hpp"
#include "support.hpp"
#include "usage.hpp"

// The linker redirects these calls to this file (-Wl,--wrap).
static std::atomic<bench::Fd *> closed_behind_getpeername;
static std::atomic<bool> without_ipv6;
// A kernel whose MPA sockets remain those of TCP. A signal interrupts the start of each
// Initiator; the second kind of signal also requests the end.
enum class Start { real, interrupted, stopped };
static std::atomic<Start> start;

extern "C" {
int __real_getpeername(int, sockaddr *, socklen_t *);
int __wrap_getpeername(int, sockaddr *, socklen_t *);
int __real_setsockopt(int, int, int, const void *, socklen_t);
int __wrap_setsockopt(int, int, int, const void *, socklen_t);
int __real_getsockopt(int, int, int, void *, socklen_t *);
int __wrap_getsockopt(int, int, int, void *, socklen_t *);

int __real_socket(int, int, int);
int __wrap_socket(int, int, int);

int __wrap_socket(int family, int type, int protocol)
{
	if (!without_ipv6 || family != AF_INET6)
		return __real_socket(family, type, protocol);
	errno = EAFNOSUPPORT;
	return -1;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	int role;

	if (start == Start::real ||
	    (level != SOL_MPA && (level != IPPROTO_TCP || name != TCP_ULP)))
		return __real_setsockopt(fd, level, name, value, size);
	if (level != SOL_MPA || name != MPA_SO_START)
		return 0;
	std::memcpy(&role, value, sizeof(role));
	if (role != MPA_ROLE_INITIATOR)
		return 0;
	if (start == Start::stopped)
		bench::request_stop(true);
	errno = EINTR;
	return -1;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	if (start == Start::real || level != SOL_MPA)
		return __real_getsockopt(fd, level, name, value, size);
	std::memset(value, 0, *size);
	return 0;
}

int __wrap_getpeername(int fd, sockaddr *address, socklen_t *size)
{
	const int result = __real_getpeername(fd, address, size);

	if (auto *peer = closed_behind_getpeername.exchange(nullptr))
		peer->reset();
	return result;
}
}

namespace {

using namespace bench;
using test::failure_of;

constexpr std::uint16_t port = 7470;

void put(int fd, const std::vector<std::byte> &bytes)
{
	ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
		  static_cast<ssize_t>(bytes.size()));
}

// --- control ------------------------------------------------------------------------

TEST(Control, takes_messages_however_they_are_cut)
{
	test::Pair pair;
	auto bytes = wire::encode(wire::End{1});
	const auto more = wire::encode(wire::Failed{1, std::string(wire::max_text, 'x')});

	for (int n = 2; n < 5; n++) {
		const auto next = wire::encode(wire::End{static_cast<std::uint64_t>(n)});
		bytes.insert(bytes.end(), next.begin(), next.end());
	}
	bytes.insert(bytes.end(), more.begin(), more.end());
	std::uint64_t wanted = 1;
	for (const auto byte : bytes) {
		put(pair.client.fd(), {byte});
		if (wanted == 5)
			continue;
		const int fds[] = {pair.server.fd()};
		ASSERT_TRUE(wait_readable(fds, test::patience));
		if (const auto message = pair.server.poll()) {
			EXPECT_EQ(Control::as<wire::End>(*message).sent, wanted++);
		}
	}
	EXPECT_EQ(wanted, 5);
	const auto failure = failure_of([&] { pair.server.receive(); });
	EXPECT_EQ(failure.what(), "the peer: " + std::string(wire::max_text, 'x'));
	EXPECT_TRUE(pair.server.peer_failed());
}

TEST(Control, refuses_bad_frames)
{
	const auto bytes = [](std::initializer_list<int> values) {
		std::vector<std::byte> all;
		for (const int value : values)
			all.push_back(static_cast<std::byte>(value));
		return all;
	};
	const struct {
		std::vector<std::byte> sent;
		const char *reason;
	} rows[] = {
		{bytes({0, 0, 0, 0}), "does not speak"},
		{bytes({0, 0, 0x10, 1}), "does not speak"},
		{bytes({0xff, 0xff, 0xff, 0xff}), "does not speak"},
		{bytes({0, 0, 0, 1, 99}), "malformed"},
		{bytes({0, 0, 0, 2, 4, 0}), "malformed"},
		{bytes({0, 0, 0, 1, 5}), "malformed"},
	};

	for (const auto &row : rows) {
		test::Pair pair;

		put(pair.client.fd(), row.sent);
		const auto failure = failure_of([&] { pair.server.receive(); });
		EXPECT_NE(std::string(failure.what()).find(row.reason), std::string::npos)
			<< failure.what();
	}
}

TEST(Control, tells_an_end_from_a_loss)
{
	for (const bool whole : {true, false}) {
		auto pair = std::make_unique<test::Pair>();
		const auto frame = wire::encode(wire::Begin{});
		Control server = std::move(pair->server);

		put(pair->client.fd(), {frame.begin(), frame.end() - !whole});
		pair.reset();
		if (whole) {
			EXPECT_TRUE(server.receive_or_end());
			EXPECT_FALSE(server.receive_or_end());
		} else {
			EXPECT_THROW(server.receive_or_end(), Failure);
		}
	}
}

TEST(Control, is_patient_for_a_while)
{
	test::Pair pair;

	pair.client.set_patience(Milliseconds(50));
	EXPECT_STREQ(failure_of([&] { pair.client.receive(); }).what(),
		     "the peer does not answer");
	pair.server.send(wire::Begin{});
	EXPECT_STREQ(failure_of([&] { pair.client.expect<wire::Done>(); }).what(),
		     "unexpected message Begin from the peer");
}

// --- the server -----------------------------------------------------------------------

ServerOptions server_options(bool once = false)
{
	ServerOptions options;

	options.address = "127.0.0.1";
	options.once = once;
	options.quiet = true;
	options.timeout_ms = test::patience.count();
	return options;
}

// Connects once the server listens.
Control to_server()
{
	for (int tries = 0;; tries++) {
		try {
			return Control(connect_to("127.0.0.1", port, test::patience),
				       test::patience);
		} catch (const Failure &) {
			if (tries == 1000)
				throw;
			::usleep(20'000);
		}
	}
}

Control greeted()
{
	auto control = to_server();

	control.send(wire::Hello{wire::magic, wire::version, "elsewhere"});
	EXPECT_EQ(control.expect<wire::Hello>().machine, machine_id());
	return control;
}

Job tcp_job(Milliseconds timeout = test::patience)
{
	Job job;

	job.transport = Transport::tcp;
	job.verify = true;
	job.size = 100;
	job.depth = job.slots = 4;
	job.chunk = 100;
	job.timeout_ms = static_cast<std::uint32_t>(timeout.count());
	return job;
}

struct Misbehaviour {
	const char *what;
	std::function<void(Control &)> act;
	const char *reason;
	Status status = Status::failed;
};

const std::vector<Misbehaviour> &misbehaviours()
{
	static const std::vector<Misbehaviour> rows{
		{"no Start", [](Control &c) { c.send(wire::Begin{}); }, "unexpected"},
		{"a job out of bounds",
		 [](Control &c) {
			 Job job = tcp_job();
			 job.depth = max_depth + 1;
			 c.send(wire::Start{job, {}});
		 },
		 "out of bounds"},
		{"a job for a device that is not there",
		 [](Control &c) {
			 Job job = tcp_job();
			 job.transport = Transport::verbs;
			 c.send(wire::Start{job, {}});
		 },
		 "", Status::unavailable},
		{"no connections",
		 [](Control &c) {
			 c.send(wire::Start{tcp_job(Milliseconds(300)), {}});
			 c.expect<wire::Ready>();
			 c.send(wire::Phase{1});
		 },
		 "not all connections"},
		{"a connection that does not know the cookie",
		 [](Control &c) {
			 c.send(wire::Start{tcp_job(Milliseconds(300)), {}});
			 const auto ready = c.expect<wire::Ready>();
			 const Fd fd = connect_to("127.0.0.1", ready.port, test::patience);
			 put(fd.get(), std::vector<std::byte>(16));
			 c.send(wire::Phase{1});
			 // Held open until the server gives up.
			 c.receive();
		 },
		 "not all connections"},
		{"rounds of what has none",
		 [](Control &c) {
			 c.send(wire::Start{tcp_job(), {}});
			 c.expect<wire::Ready>();
			 c.send(wire::Round{wire::Round::What::fill, 0, 1});
		 },
		 "rounds are for"},
		{"another version",
		 [](Control &c) {
			 c = to_server();
			 c.send(wire::Hello{wire::magic, wire::version + 1, ""});
		 },
		 "speaks version"},
	};

	return rows;
}

TEST(server, listens_on_a_machine_without_ipv6)
{
	without_ipv6 = true;
	const Fd fd = listen_at("", 0);

	without_ipv6 = false;
	EXPECT_EQ(Address::local(fd.get()).get()->sa_family, AF_INET);
	EXPECT_EQ(Address::local(listen_at("", 0).get()).get()->sa_family, AF_INET6);
}

// A client that resets its connection after the server has accepted it.
TEST(server, is_not_ended_by_a_reset)
{
	test::Background server([] { serve(server_options()); });
	const linger at_once{1, 0};
	// The server serves one client after the other: it accepts the next one later.
	auto first = std::make_unique<Control>(greeted());
	Fd next = connect_to("127.0.0.1", port, test::patience);

	ASSERT_EQ(::setsockopt(next.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)),
		  0);
	closed_behind_getpeername = &next;
	first.reset();
	greeted();
	EXPECT_EQ(closed_behind_getpeername, nullptr);
}

// The server reports what is wrong, and accepts the next client.
TEST(server, refuses)
{
	test::Background server([] { serve(server_options()); });

	for (const auto &row : misbehaviours()) {
		auto control = greeted();
		const auto failure = failure_of([&] {
			row.act(control);
			control.receive();
		});

		EXPECT_EQ(failure.status(), row.status) << row.what;
		EXPECT_NE(std::string(failure.what()).find(row.reason), std::string::npos)
			<< row.what << ": " << failure.what();
	}
}

TEST(server, gives_up_a_client_that_stops_within_a_job)
{
	auto options = server_options();
	options.timeout_ms = 1000;
	test::Background server([=] { serve(options); });
	auto control = greeted();

	control.send(wire::Start{tcp_job(Milliseconds(500)), {}});
	control.expect<wire::Ready>();
	const auto failure = failure_of([&] { control.receive(); });
	EXPECT_NE(std::string(failure.what()).find("sends no request"), std::string::npos)
		<< failure.what();
	greeted();
}

// Wrong data that a client sends over a connection.
TEST(server, notices_wrong_data)
{
	test::Background server([] { serve(server_options(true)); });
	auto control = greeted();

	control.send(wire::Start{tcp_job(), {}});
	const auto ready = control.expect<wire::Ready>();
	const Fd fd = connect_to("127.0.0.1", ready.port, test::patience);
	std::vector<std::byte> introduction(16);
	for (std::size_t i = 0; i < 8; i++)
		introduction[i] = static_cast<std::byte>(ready.cookie >> (56 - 8 * i));
	put(fd.get(), introduction);
	control.send(wire::Phase{2});
	control.expect<wire::Begin>();
	std::vector<std::byte> data(200);
	pattern_fill({0, 0, true}, 0, std::span(data).first(100));
	pattern_fill({0, 1, true}, 0, std::span(data).last(100));
	data[142] ^= std::byte{1};
	put(fd.get(), data);
	const auto failure = failure_of([&] { control.receive(); });
	EXPECT_EQ(failure.status(), Status::wrong_data);
	EXPECT_NE(std::string(failure.what()).find("message 1 of the client, byte 42:"),
		  std::string::npos)
		<< failure.what();
	const auto *own = server.join();
	ASSERT_TRUE(own);
	EXPECT_EQ(own->status(), Status::wrong_data);
}

// --- both -----------------------------------------------------------------------------

struct Case {
	const char *command;
	std::vector<const char *> options;
	std::uint64_t messages;
};

ClientOptions client_options(const Case &one)
{
	std::vector<const char *> argv{"mpa-bench", one.command, "-t", "tcp", "-j", "-w", "0",
				       "--timeout", "60"};
	int status = 0;

	argv.insert(argv.end(), one.options.begin(), one.options.end());
	argv.push_back("127.0.0.1");
	return parse_options(static_cast<int>(argv.size()), argv.data(), status)
		.value().client.value();
}

// Everything that TCP supports, in one session after the other.
TEST(session, measures)
{
	const Case cases[] = {
		{"write", {"-n", "30", "-v", "-s", "1,7,4097"}, 30},
		{"write", {"-n", "30", "-v", "-s", "64K", "-q", "3", "-b"}, 180},
		{"read", {"-n", "30", "-v", "-s", "1000", "-q", "2"}, 60},
		{"read", {"-n", "30", "-s", "64K"}, 30},
		{"send", {"-n", "30", "-W", "poll", "-b", "-s", "5"}, 60},
		{"rate", {"-n", "100", "-v", "-W", "yield", "-s", "8"}, 100},
		{"write", {"-n", "20", "-s", "1M", "--write-size", "1000"}, 20},
		{"write", {"-n", "40", "-s", "64K", "--send-by", "splice"}, 40},
		{"write", {"-n", "40", "-s", "64K", "--send-by", "zerocopy", "--discard"}, 40},
		{"read", {"-n", "40", "-s", "64K", "--send-by", "zerocopy", "-q", "2"}, 80},
		{"send", {"-n", "40", "-s", "100", "--discard", "-W", "poll"}, 40},
		{"rate", {"-n", "100", "-v", "--send-by", "record", "-s", "8"}, 100},
		{"latency", {"-n", "20", "-v", "-W", "event", "-s", "1,5000"}, 20},
		{"latency", {"-n", "20", "-v", "-W", "poll"}, 20},
		{"connect", {"-n", "5", "-q", "3"}, 15},
		{"write", {"-n", "3", "-s", "16", "-q", "200"}, 600},
	};
	test::Background server([] { serve(server_options()); });

	to_server();
	for (const auto &one : cases) {
		const auto options = client_options(one);
		const auto report = measure(options);
		const auto json = nlohmann::json::parse(to_json(report));

		EXPECT_TRUE(report.same_machine);
		ASSERT_EQ(report.results.size(), options.sizes.size());
		for (const auto &result : json["results"]) {
			EXPECT_EQ(result["runs"][0]["messages"], one.messages);
			EXPECT_EQ(result["summary"]["messages"]["median"], one.messages);
		}
		EXPECT_FALSE(line(report, report.results[0]).empty());
	}
}

// A signal such as SIGCONT does not end the startup of MPA, in contrast to SIGINT.
TEST(session, survives_signals_that_interrupt_the_startup)
{
	const struct {
		Start how;
		Status wanted;
	} rows[] = {{Start::interrupted, Status::good}, {Start::stopped, Status::interrupted}};

	for (const auto &row : rows) {
		test::Background server([] { serve(server_options()); });
		// One message at a time: TCP does not join it with another one.
		auto options = client_options({"latency", {"-n", "5", "-s", "64"}, 0});

		to_server();
		options.job.transport = Transport::mpa;
		start = row.how;
		const auto failure = failure_of([&] { measure(options); });
		start = Start::real;
		EXPECT_EQ(failure.status(), row.wanted) << failure.what();
	}
}

TEST(session, ends_if_results_cannot_be_printed)
{
	test::Background server([] { serve(server_options()); });
	auto options = client_options({"latency", {"-n", "10", "-s", "1,64"}, 0});

	to_server();
	options.json = false;
	const auto failure = failure_of([&] {
		const test::FullOutput full;

		measure(options);
	});
	EXPECT_EQ(failure.status(), Status::failed);
	EXPECT_STREQ(failure.what(), "standard output: No space left on device");
}

TEST(session, measures_memory)
{
	test::Background server([] { serve(server_options()); });

	to_server();
	const auto report = measure(client_options({"memory", {"-q", "4", "-r", "1"}, 0}));
	ASSERT_EQ(report.results.size(), 1);
	ASSERT_EQ(report.results[0].runs.size(), 1);
	EXPECT_FALSE(report.results[0].runs[0].footprint->tcp_kernel);
}

// The kernel's names of devices are not always UTF-8.
TEST(session, reports_any_name_of_a_device)
{
	Report report;

	report.client_device = "mpa\xff";
	const auto json = nlohmann::json::parse(to_json(report));
	EXPECT_EQ(json["client"]["device"], "mpa\ufffd");
}

TEST(session, needs_a_server)
{
	const auto failure = failure_of([] { measure(client_options({"write", {}, 0})); });

	EXPECT_EQ(failure.status(), Status::unavailable);
	EXPECT_STREQ(failure.what(), "no server at 127.0.0.1 port 7470: Connection refused");
}

} // namespace
