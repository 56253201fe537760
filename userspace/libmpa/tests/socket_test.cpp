/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpa.hpp: which system call each function makes, and how it converts the
// result.
#include <atomic>
#include <chrono>
#include <climits>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpa/tcp.hpp>
#include <sys/time.h>

#include "fake_kernel.hpp"

namespace {

using fake::kernel;
using fake::Pair;
using namespace std::chrono_literals;

std::vector<std::byte> bytes_of(std::string_view text)
{
	const auto view = mpa::bytes(text);

	return {view.begin(), view.end()};
}

template <typename T> std::vector<std::byte> bytes_of(const T &value)
	requires std::is_trivially_copyable_v<T> && (!std::is_convertible_v<T, std::string_view>)
{
	const auto *first = reinterpret_cast<const std::byte *>(&value);

	return {first, first + sizeof(value)};
}

// --- conversions ------------------------------------------------------------

struct FlagRow {
	const char *name;
	bool mpa::params::*field;
	std::uint32_t bit;
};

class ParamFlags : public testing::TestWithParam<FlagRow> {};

TEST_P(ParamFlags, go_both_ways)
{
	const auto &row = GetParam();
	mpa::params params;

	params.*row.field = true;
	const auto there = mpa::to_kernel(params);
	ASSERT_TRUE(there);
	EXPECT_EQ(there->flags, row.bit);
	EXPECT_EQ(mpa::from_kernel(*there), params);
}

INSTANTIATE_TEST_SUITE_P(
	table, ParamFlags,
	testing::Values(FlagRow{"markers", &mpa::params::markers, 1},
			FlagRow{"no_crc", &mpa::params::no_crc, 2},
			FlagRow{"peer_to_peer", &mpa::params::peer_to_peer, 4},
			FlagRow{"auto_accept", &mpa::params::auto_accept, 8},
			FlagRow{"permissive", &mpa::params::permissive, 16},
			FlagRow{"review", &mpa::params::review, 128},
			FlagRow{"plain", &mpa::params::plain, 256}),
	[](const auto &row) { return row.param.name; });

TEST(params, numbers_go_both_ways)
{
	mpa::params params;

	params.rev = mpa::revision::two;
	params.rev_min = mpa::revision::one;
	params.rtr = 5;
	params.ird = 1;
	params.ord = 2;
	params.ird_max = 16382;
	params.timeout = 1234ms;
	const auto there = mpa::to_kernel(params);
	ASSERT_TRUE(there);
	EXPECT_EQ(there->rev, 2);
	EXPECT_EQ(there->rev_min, 1);
	EXPECT_EQ(there->rtr, 5);
	EXPECT_EQ(there->ird, 1);
	EXPECT_EQ(there->ord, 2);
	EXPECT_EQ(there->ird_max, 16382);
	EXPECT_EQ(there->timeout_ms, 1234);
	EXPECT_EQ(mpa::from_kernel(*there), params);
}

TEST(params, timeouts_are_bounded)
{
	const struct {
		std::int64_t ms;
		bool good;
	} rows[] = {{-1, false}, {0, true}, {1, true}, {INT_MAX, true},
		    {INT_MAX + 1LL, false}, {0x100000000, false}};

	for (const auto &row : rows) {
		mpa::params params;

		params.timeout = std::chrono::milliseconds(row.ms);
		EXPECT_EQ(mpa::to_kernel(params).has_value(), row.good) << row.ms;
	}
}

TEST(info, comes_from_the_kernel_field_by_field)
{
	const mpa_sock_info raw{.state = MPA_STATE_RECEIVE_ENDED,
				.role = MPA_ROLE_RESPONDER,
				.rev = 2,
				.rtr = 4,
				.error = MPA_CODE_CRC,
				.err = EBADMSG,
				.flags = MPA_F_TX_MARKERS | MPA_F_ENHANCED,
				.mulpdu = 1420,
				.ird = 1,
				.ord = 2,
				.peer_ird = 3,
				.peer_ord = 4,
				.peer_data_len = 512,
				.ddp_version = 1};
	const auto info = mpa::from_kernel(raw);

	EXPECT_EQ(info.state, mpa::state::receive_ended);
	EXPECT_EQ(info.role, mpa::role::responder);
	EXPECT_EQ(info.rev, 2);
	EXPECT_EQ(info.rtr, 4);
	EXPECT_EQ(info.kind, mpa::error_kind::crc);
	EXPECT_EQ(info.error, std::errc::bad_message);
	EXPECT_TRUE(info.tx_markers && info.enhanced && info.crc);
	EXPECT_FALSE(info.rx_markers || info.peer_to_peer);
	EXPECT_EQ(info.mulpdu, 1420);
	EXPECT_EQ(info.ird, 1);
	EXPECT_EQ(info.ord, 2);
	EXPECT_EQ(info.peer_ird, 3);
	EXPECT_EQ(info.peer_ord, 4);
	EXPECT_EQ(info.peer_data_size, 512);
	EXPECT_EQ(info.ddp_version, 1);
	EXPECT_FALSE(mpa::from_kernel(mpa_sock_info{.flags = MPA_F_NO_CRC}).crc);
	EXPECT_TRUE(mpa::from_kernel(mpa_sock_info{.flags = MPA_F_MARKERS})
			    .rx_markers);
}

TEST(names, every_state_has_one)
{
	for (int value = MPA_STATE_STREAMING; value <= MPA_STATE_FRAMED; value++)
		EXPECT_NE(name(static_cast<mpa::state>(value)), "unknown");
	EXPECT_EQ(name(static_cast<mpa::state>(MPA_STATE_FRAMED + 1)), "unknown");
	EXPECT_EQ(name(mpa::state::failed), "failed");
	EXPECT_EQ(name(mpa::state::replied), "a Reply waits");
}

TEST(reason, of_what_is_peculiar_to_mpa)
{
	EXPECT_NE(mpa::reason(make_error_code(std::errc::bad_message)), "");
	EXPECT_NE(mpa::reason({EPROTO, std::generic_category()}), "");
	EXPECT_NE(mpa::reason({ENOSPC, std::generic_category()}), "");
	EXPECT_NE(mpa::reason({EOPNOTSUPP, std::generic_category()}), "");
	EXPECT_EQ(mpa::reason({EINTR, std::generic_category()}), "");
	EXPECT_EQ(mpa::reason({}), "");
}

// --- options ------------------------------------------------------------------

TEST(attach, names_the_protocol)
{
	int fds[2];

	kernel() = {};
	ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	mpa::descriptor peer(fds[1]);
	auto socket = mpa::socket::attach(mpa::descriptor(fds[0]));
	ASSERT_TRUE(socket);
	EXPECT_EQ(socket->fd(), fds[0]);
	EXPECT_EQ(kernel().set,
		  (std::vector<fake::Call>{{SOL_TCP, TCP_ULP, bytes_of("mpa")}}));
}

TEST(attach, failure_closes)
{
	int fds[2];

	kernel() = {};
	kernel().errors[{SOL_TCP, TCP_ULP}] = ENOTCONN;
	ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	mpa::descriptor peer(fds[1]);
	EXPECT_EQ(mpa::socket::attach(mpa::descriptor(fds[0])).error(),
		  std::errc::not_connected);
	EXPECT_EQ(::fcntl(fds[0], F_GETFD), -1);
}

TEST(adopt, takes_only_what_is_attached)
{
	Pair pair;

	EXPECT_EQ(mpa::socket::adopt(pair.socket.release()).error(),
		  std::errc::no_protocol_option);
	Pair other;
	kernel().give(MPA_SO_INFO, mpa_sock_info{});
	EXPECT_TRUE(mpa::socket::adopt(other.socket.release()));
}

TEST(set, each_option_with_its_value)
{
	Pair pair;
	mpa::params params;
	const int initiator = MPA_ROLE_INITIATOR, on = 1, off = 0;

	params.markers = true;
	ASSERT_TRUE(pair.socket.set_params(params));
	ASSERT_TRUE(pair.socket.set_private_data(mpa::bytes("data")));
	ASSERT_TRUE(pair.socket.set_last_message(mpa::bytes("last")));
	ASSERT_TRUE(pair.socket.set_packing(true));
	ASSERT_TRUE(pair.socket.set_packing(false));
	ASSERT_TRUE(pair.socket.start(mpa::role::initiator));
	ASSERT_TRUE(pair.socket.accept_request(mpa::bytes("yes")));
	ASSERT_TRUE(pair.socket.accept_request());
	ASSERT_TRUE(pair.socket.reject_request(mpa::bytes("no")));
	ASSERT_TRUE(pair.socket.accept_reply());
	ASSERT_TRUE(pair.socket.decline_reply());
	EXPECT_EQ(kernel().set,
		  (std::vector<fake::Call>{
			  {SOL_MPA, MPA_SO_PARAMS,
			   bytes_of(*mpa::to_kernel(params))},
			  {SOL_MPA, MPA_SO_PRIVATE_DATA, bytes_of("data")},
			  {SOL_MPA, MPA_SO_LAST_MESSAGE, bytes_of("last")},
			  {SOL_MPA, MPA_SO_PACKING, bytes_of(on)},
			  {SOL_MPA, MPA_SO_PACKING, bytes_of(off)},
			  {SOL_MPA, MPA_SO_START, bytes_of(initiator)},
			  {SOL_MPA, MPA_SO_ACCEPT, bytes_of("yes")},
			  {SOL_MPA, MPA_SO_ACCEPT, {}},
			  {SOL_MPA, MPA_SO_REJECT, bytes_of("no")},
			  {SOL_MPA, MPA_SO_ACCEPT, {}},
			  {SOL_MPA, MPA_SO_REJECT, {}},
		  }));
}

TEST(set, errors_come_through)
{
	const int errors[] = {EBUSY,	EINPROGRESS,	 ECONNREFUSED, EPROTO,
			      EALREADY, EPROTONOSUPPORT, EMSGSIZE,     EINTR};

	for (const int error : errors) {
		Pair pair;

		kernel().errors[{SOL_MPA, MPA_SO_START}] = error;
		EXPECT_EQ(pair.socket.start(mpa::role::responder).error().value(),
			  error);
	}
}

TEST(set, params_that_cannot_be_are_not_tried)
{
	Pair pair;
	mpa::params params;

	for (const auto timeout : {-1ms, 2147483648ms}) {
		params.timeout = timeout;
		EXPECT_EQ(pair.socket.set_params(params).error(),
			  std::errc::result_out_of_range);
	}
	EXPECT_TRUE(kernel().set.empty());
}

TEST(get, each_option)
{
	Pair pair;
	mpa_sock_params params{.flags = MPA_F_AUTO_ACCEPT, .rev = 2};

	kernel().give(MPA_SO_PARAMS, params);
	kernel().give(MPA_SO_MULPDU, std::uint32_t{1420});
	kernel().give(MPA_SO_PACKING, 2);
	kernel().give(MPA_SO_STATS, mpa_sock_stats{.tx_fpdus = 5, .rx_dropped = 6});
	kernel().give(MPA_SO_INFO, mpa_sock_info{.state = MPA_STATE_REJECTED});
	kernel().values[MPA_SO_PRIVATE_DATA] = bytes_of("private");
	kernel().values[MPA_SO_LAST_MESSAGE] = bytes_of("last");
	kernel().values[MPA_SO_PEER_DATA] = {};
	EXPECT_TRUE(pair.socket.params().value().auto_accept);
	EXPECT_EQ(pair.socket.mulpdu().value(), 1420);
	EXPECT_TRUE(pair.socket.packing().value());
	EXPECT_EQ(pair.socket.stats().value().tx_fpdus, 5);
	EXPECT_EQ(pair.socket.stats().value().rx_dropped, 6);
	EXPECT_EQ(pair.socket.info().value().state, mpa::state::rejected);
	EXPECT_EQ(mpa::text(pair.socket.private_data().value()), "private");
	EXPECT_EQ(mpa::text(pair.socket.last_message().value()), "last");
	EXPECT_TRUE(pair.socket.peer_data().value().empty());
}

// Fields of a structure that an older kernel does not know are zero.
TEST(get, a_shorter_structure)
{
	Pair pair;
	mpa_sock_stats stats{.tx_fpdus = 1, .tx_batches = 2, .tx_bytes = 3};

	kernel().give(MPA_SO_STATS, stats);
	kernel().values[MPA_SO_STATS].resize(2 * sizeof(std::uint64_t));
	EXPECT_EQ(pair.socket.stats().value().tx_batches, 2);
	EXPECT_EQ(pair.socket.stats().value().tx_bytes, 0);
}

TEST(get, errors_come_through)
{
	Pair pair;

	EXPECT_EQ(pair.socket.info().error(), std::errc::no_protocol_option);
	EXPECT_EQ(pair.socket.stats().error(), std::errc::no_protocol_option);
	EXPECT_EQ(pair.socket.params().error(), std::errc::no_protocol_option);
	EXPECT_EQ(pair.socket.packing().error(), std::errc::no_protocol_option);
	EXPECT_EQ(pair.socket.peer_data().error(), std::errc::no_protocol_option);
}

// --- data ---------------------------------------------------------------------

struct Received {
	std::string text;
	bool truncated;
};

Received read_peer(const Pair &pair, std::size_t room = 100)
{
	std::string text(room, 0);
	iovec part{text.data(), text.size()};
	msghdr message{};

	message.msg_iov = &part;
	message.msg_iovlen = 1;
	const ssize_t got = ::recvmsg(pair.peer.get(), &message, MSG_DONTWAIT);
	text.resize(got < 0 ? 0 : got);
	return {got < 0 ? "nothing" : text, bool(message.msg_flags & MSG_TRUNC)};
}

TEST(send, one_call_one_message)
{
	Pair pair;
	char he[] = "he", llo[] = "llo";
	const iovec parts[] = {{he, 2}, {llo, 3}};

	ASSERT_TRUE(pair.socket.send(mpa::bytes("one")));
	ASSERT_TRUE(pair.socket.send_parts(parts));
	EXPECT_EQ(read_peer(pair).text, "one");
	EXPECT_EQ(read_peer(pair).text, "hello");
	EXPECT_EQ(read_peer(pair).text, "nothing");
}

// SIGPIPE would end the program.
TEST(send, to_nobody_is_an_error_only)
{
	Pair pair;
	const auto one = mpa::bytes("x");
	const mpa::const_buffer batch[] = {one};
	char x[] = "x";
	const iovec parts[] = {{x, 1}};

	pair.peer.reset();
	EXPECT_EQ(pair.socket.send(one).error(), std::errc::broken_pipe);
	EXPECT_EQ(pair.socket.send_parts(parts).error(), std::errc::broken_pipe);
	EXPECT_EQ(pair.socket.send_batch(batch).error(), std::errc::broken_pipe);
}

class Batch : public testing::TestWithParam<std::size_t> {};

TEST_P(Batch, arrives_in_order)
{
	Pair pair;
	std::vector<std::string> texts;
	std::vector<mpa::const_buffer> batch;
	const int room = 1 << 20;

	::setsockopt(pair.socket.fd(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	for (std::size_t n = 0; n < GetParam(); n++)
		texts.push_back(std::to_string(n));
	for (const auto &text : texts)
		batch.push_back(mpa::bytes(text));
	std::size_t done = 0;
	for (std::size_t read = 0; done < batch.size();) {
		const auto some = pair.socket.send_batch(
			std::span(batch).subspan(done), mpa::send_flags::dont_wait);

		ASSERT_TRUE(some);
		ASSERT_GT(*some, 0);
		done += *some;
		for (; read < done; read++)
			EXPECT_EQ(read_peer(pair).text, texts[read]);
	}
	EXPECT_EQ(done, GetParam());
	EXPECT_EQ(read_peer(pair).text, "nothing");
}

INSTANTIATE_TEST_SUITE_P(table, Batch,
			 testing::Values(1, 2, mpa::batch_max - 1, mpa::batch_max,
					 mpa::batch_max + 1,
					 3 * mpa::batch_max + 1));

TEST(send_batch, of_nothing)
{
	Pair pair;

	EXPECT_EQ(pair.socket.send_batch({}).value(), 0);
}

TEST(send_batch, tells_how_far_it_came)
{
	Pair pair;
	const std::vector<std::byte> big(4096);
	const std::vector<mpa::const_buffer> batch(1000, big);

	const auto done =
		pair.socket.send_batch(batch, mpa::send_flags::dont_wait);
	ASSERT_TRUE(done);
	EXPECT_GT(*done, 0);
	EXPECT_LT(*done, batch.size());
	EXPECT_EQ(pair.socket.send_batch(batch, mpa::send_flags::dont_wait).error(),
		  std::errc::resource_unavailable_try_again);
}

struct ReceiveRow {
	std::size_t sent, room;
	bool true_length;
	mpa::received want;
};

class Receive : public testing::TestWithParam<ReceiveRow> {};

TEST_P(Receive, tells_what_became_of_it)
{
	const auto &row = GetParam();
	Pair pair;
	std::vector<std::byte> ulpdu(row.sent, std::byte{7}), room(row.room);

	ASSERT_EQ(::send(pair.peer.get(), ulpdu.data(), ulpdu.size(), 0),
		  ulpdu.size());
	const auto got = pair.socket.receive(
		room, row.true_length ? mpa::receive_flags::true_length
				      : mpa::receive_flags::none);
	ASSERT_TRUE(got);
	EXPECT_EQ(*got, row.want);
	for (std::size_t i = 0; i < got->size; i++)
		EXPECT_EQ(room[i], std::byte{7});
}

INSTANTIATE_TEST_SUITE_P(
	table, Receive,
	testing::Values(ReceiveRow{10, 11, false, {10, 10, false, false}},
			ReceiveRow{10, 10, false, {10, 10, false, false}},
			ReceiveRow{10, 9, false, {9, 9, true, false}},
			ReceiveRow{10, 1, false, {1, 1, true, false}},
			ReceiveRow{10, 0, false, {0, 0, true, false}},
			ReceiveRow{10, 11, true, {10, 10, false, false}},
			ReceiveRow{10, 9, true, {9, 10, true, false}},
			ReceiveRow{10, 0, true, {0, 10, true, false}}));

TEST(receive, peek_leaves_it)
{
	Pair pair;
	std::array<std::byte, 8> room;

	ASSERT_EQ(::send(pair.peer.get(), "abc", 3, 0), 3);
	for (int n = 0; n < 2; n++)
		EXPECT_EQ(pair.socket.receive(room, mpa::receive_flags::peek).value().size, 3);
	EXPECT_EQ(pair.socket.receive(room).value().size, 3);
	EXPECT_EQ(pair.socket.receive(room, mpa::receive_flags::dont_wait).error(),
		  std::errc::resource_unavailable_try_again);
}

TEST(receive, the_end_is_no_ulpdu)
{
	Pair pair;
	std::array<std::byte, 8> room;

	pair.peer.reset();
	const auto got = pair.socket.receive(room);
	ASSERT_TRUE(got);
	EXPECT_TRUE(got->end);
	EXPECT_EQ(got->size, 0);
}

TEST(flags, combine)
{
	using S = mpa::send_flags;
	using R = mpa::receive_flags;

	EXPECT_EQ(static_cast<int>(S::more | S::dont_wait), MSG_MORE | MSG_DONTWAIT);
	EXPECT_EQ(static_cast<int>(R::peek | R::true_length), MSG_PEEK | MSG_TRUNC);
}

// --- the rest -------------------------------------------------------------------

TEST(wait, limits_as_poll_takes_them)
{
	const struct {
		std::chrono::milliseconds limit;
		int time;
	} rows[] = {
		{0ms, 0},
		{1ms, 1},
		{-1ms, -1},
		{-2ms, -1},
		{std::chrono::milliseconds::min(), -1},
		{std::chrono::milliseconds(INT_MIN) - 1ms, -1},
		{std::chrono::milliseconds(INT_MAX), INT_MAX},
		{std::chrono::milliseconds(INT_MAX) + 1ms, INT_MAX},
		{std::chrono::milliseconds(1LL << 32), INT_MAX},
		{std::chrono::milliseconds::max(), INT_MAX},
	};

	for (const auto &row : rows)
		EXPECT_EQ(mpa::poll_time(row.limit), row.time);
}

// A listener with a full queue does not answer: signals do not end the wait.
TEST(tcp, no_host_is_every_address)
{
	auto listener = mpa::tcp::listen("", "0").value();
	const auto own = mpa::tcp::name_of(listener.get(), false);
	const auto port = own.substr(own.find(' '));
	bool six = false;

	for (const char *host : {"127.0.0.1", "::1"}) {
		const bool is_six = host == std::string("::1");
		if (is_six && !mpa::tcp::listen(host, "0"))
			GTEST_SKIP() << "no IPv6";
		auto near = mpa::tcp::connect(host, port.substr(1)).value();
		const mpa::descriptor far(::accept(listener.get(), nullptr, nullptr));
		ASSERT_TRUE(far);
		// The socket of IPv6 has a mapped address of IPv4.
		EXPECT_EQ(mpa::tcp::name_of(far.get(), false), host + port);
		EXPECT_EQ(mpa::tcp::name_of(far.get()),
			  mpa::tcp::name_of(near.get(), false));
		six |= is_six;
	}
	EXPECT_EQ(own.substr(0, own.find(' ')), six ? "::" : "0.0.0.0");
}

// getaddrinfo(3) would use the low 16 bits.
TEST(tcp, a_number_that_is_no_port_is_no_service)
{
	for (const char *service : {"65536", "70000", "4294967297", "18446744073709551617",
				    "-1", "+1", " 1", "1 "}) {
		const std::error_code unknown(EAI_SERVICE, mpa::tcp::lookup_category());

		EXPECT_EQ(mpa::tcp::listen("127.0.0.1", service).error(), unknown) << service;
		EXPECT_EQ(mpa::tcp::connect("127.0.0.1", service, 200ms).error(), unknown)
			<< service;
	}
}

TEST(tcp, signals_do_not_end_connecting)
{
	auto listener = mpa::tcp::listen("127.0.0.1", "0", 0).value();
	const auto name = mpa::tcp::name_of(listener.get(), false);
	const auto port = name.substr(name.find(' ') + 1);
	std::vector<mpa::descriptor> queued;
	struct sigaction action{}, before{};
	const itimerval often{{0, 10000}, {0, 10000}}, never{};
	static std::atomic<int> signals;

	for (;;) {
		auto one = mpa::tcp::connect("127.0.0.1", port, 200ms);

		if (!one)
			break;
		queued.push_back(*std::move(one));
		ASSERT_LT(queued.size(), 16u);
	}
	action.sa_handler = [](int) { ++signals; };
	::sigaction(SIGALRM, &action, &before);
	::setitimer(ITIMER_REAL, &often, nullptr);
	const auto last = mpa::tcp::connect("127.0.0.1", port, 200ms);
	::setitimer(ITIMER_REAL, &never, nullptr);
	::sigaction(SIGALRM, &before, nullptr);
	EXPECT_EQ(last.error(), std::errc::timed_out);
	EXPECT_GT(signals, 0);
}

TEST(wait, for_events_and_in_vain)
{
	Pair pair;

	EXPECT_EQ(pair.socket.wait(POLLIN, 1ms).value(), 0);
	ASSERT_EQ(::send(pair.peer.get(), "x", 1, 0), 1);
	EXPECT_EQ(pair.socket.wait(POLLIN).value(), POLLIN);
	EXPECT_EQ(pair.socket.wait(POLLIN, 1000h * 24 * 365).value(), POLLIN);
	pair.peer.reset();
	EXPECT_TRUE(pair.socket.wait(POLLIN).value() & POLLHUP);
}

TEST(blocking, on_and_off)
{
	Pair pair;
	std::array<std::byte, 1> room;

	ASSERT_TRUE(pair.socket.set_blocking(false));
	EXPECT_EQ(pair.socket.receive(room).error(),
		  std::errc::resource_unavailable_try_again);
	ASSERT_TRUE(pair.socket.set_blocking(true));
	EXPECT_EQ(::fcntl(pair.socket.fd(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(pending_error, none)
{
	Pair pair;

	EXPECT_FALSE(pair.socket.pending_error());
	pair.socket.close();
	EXPECT_EQ(pair.socket.pending_error(), std::errc::bad_file_descriptor);
}

TEST(accept_connection, takes_flags)
{
	kernel() = {};
	mpa::descriptor tcp(::socket(AF_INET, SOCK_STREAM, 0));
	sockaddr_in at{.sin_family = AF_INET, .sin_port = 0,
		       .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
	socklen_t size = sizeof(at);
	auto *address = reinterpret_cast<sockaddr *>(&at);

	ASSERT_EQ(::bind(tcp.get(), address, size), 0);
	ASSERT_EQ(::listen(tcp.get(), 4), 0);
	ASSERT_EQ(::getsockname(tcp.get(), address, &size), 0);
	auto listener = mpa::socket::attach(std::move(tcp)).value();
	mpa::descriptor client(::socket(AF_INET, SOCK_STREAM, 0));
	ASSERT_EQ(::connect(client.get(), address, size), 0);
	auto socket = listener.accept_connection(SOCK_NONBLOCK).value();
	EXPECT_TRUE(::fcntl(socket.fd(), F_GETFL) & O_NONBLOCK);
	EXPECT_TRUE(::fcntl(socket.fd(), F_GETFD) & FD_CLOEXEC);
	ASSERT_TRUE(listener.set_blocking(false));
	EXPECT_EQ(listener.accept_connection().error(),
		  std::errc::resource_unavailable_try_again);
}

} // namespace
