/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// framing.hpp: negotiation, limits, which system call each function makes, and how it
// converts the result.
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpa/framing.hpp>
#include <mpa/mpa.hpp>

#include "fake_kernel.hpp"

namespace {

namespace framing = mpa::framing;
using fake::kernel;
using Pair = fake::PairOf<framing::socket>;
using framing::receive;
using framing::send;
using std::chrono_literals::operator""ms;

template <typename T> std::vector<std::byte> bytes_of(const T &value)
{
	const auto *first = reinterpret_cast<const std::byte *>(&value);

	return {first, first + sizeof(value)};
}

framing::key key_of(int first)
{
	framing::key key;

	for (auto &byte : key.bytes)
		byte = static_cast<std::byte>(first++);
	return key;
}

// --- limits -------------------------------------------------------------------

struct AlignRow {
	std::uint32_t emss, ordinary, emergency;
};

class FramingAlignMax : public testing::TestWithParam<AlignRow> {};

// Section 3 of the draft, and its Reading T-R3: in emergency mode 512 bytes always fit.
TEST_P(FramingAlignMax, is_what_a_segment_has_room_for)
{
	const auto &row = GetParam();

	EXPECT_EQ(framing::align_max(row.emss), row.ordinary);
	EXPECT_EQ(framing::align_max(row.emss, true), row.emergency);
}

INSTANTIATE_TEST_SUITE_P(table, FramingAlignMax,
			 testing::Values(AlignRow{0, 0, 512}, AlignRow{7, 0, 512},
					 AlignRow{8, 0, 512}, AlignRow{9, 1, 512},
					 AlignRow{300, 292, 512},
					 AlignRow{511, 503, 512},
					 AlignRow{512, 504, 512},
					 AlignRow{519, 511, 512},
					 AlignRow{520, 512, 512},
					 AlignRow{521, 513, 513},
					 AlignRow{1420, 1412, 1412},
					 AlignRow{65536, 65528, 65528},
					 AlignRow{65537, 65528, 65528},
					 AlignRow{0xffffffff, 65528, 65528}));

// The markers of a PDU of that length, if one is due right at its beginning.
std::uint64_t with_markers(std::uint64_t length, std::uint64_t interval)
{
	std::uint64_t markers = 0;

	for (std::uint64_t covered = 0; covered < length; covered += interval - 4)
		markers++;
	return length + 4 * markers;
}

TEST(FramingMarkersMax, is_the_longest_that_fits_at_the_worst_phase)
{
	const struct {
		std::uint32_t interval, most;
	} rows[] = {{8, 32764},	   {9, 36404},	   {12, 43684},	  {511, 65012},
		    {512, 65016},  {513, 65016},   {2048, 65400}, {65528, 65524},
		    {65531, 65524}, {65532, 65524}, {65533, 65524},
		    {0x7fffffff, 65524}};

	for (const auto &row : rows) {
		EXPECT_EQ(framing::markers_max(row.interval), row.most)
			<< row.interval;
		EXPECT_LE(with_markers(row.most, row.interval), 65528);
		EXPECT_GT(with_markers(row.most + 1, row.interval), 65528);
	}
	for (const std::uint32_t none : {0u, 1u, 4u, 7u, 0x80000000u, 0xffffffffu})
		EXPECT_EQ(framing::markers_max(none), 0) << none;
}

// --- negotiation ---------------------------------------------------------------

struct NegotiationRow {
	const char *name;
	framing::wish wish;
	framing::offer offer;
	framing::agreement want;
};

framing::agreement align_with(bool pack)
{
	return {.send = send::align,
		.receive = receive::align,
		.key = key_of(1),
		.pack = pack};
}

framing::agreement markers_with(std::uint32_t interval, std::uint32_t longest)
{
	return {.send = send::markers,
		.receive = receive::markers,
		.interval = interval,
		.longest = longest};
}

class FramingNegotiation : public testing::TestWithParam<NegotiationRow> {};

TEST_P(FramingNegotiation, has_one_result)
{
	const auto &row = GetParam();
	const auto got = framing::negotiate(row.wish, row.offer);

	ASSERT_TRUE(got) << got.error().message();
	EXPECT_EQ(got->send, row.want.send);
	EXPECT_EQ(got->receive, row.want.receive);
	EXPECT_EQ(got->pack, row.want.pack);
	EXPECT_EQ(got->interval, row.want.interval);
	EXPECT_EQ(got->longest, row.want.longest);
	EXPECT_EQ(*got, row.want);
}

const framing::offer both{.key = key_of(1)};
const framing::offer no_align{.align = false, .key = key_of(1)};
const framing::offer unpacked{.key = key_of(1), .pack = false};
const framing::offer nothing{.align = false, .markers = false};

INSTANTIATE_TEST_SUITE_P(
	table, FramingNegotiation,
	testing::Values(
		NegotiationRow{"no_wish", {}, both, {}},
		NegotiationRow{"no_wish_no_offer", {}, nothing, {}},
		// TUF-4-3: the receiver asks for it, the sender can: it must.
		NegotiationRow{"align", {.align = true}, both, align_with(true)},
		NegotiationRow{"align_before_markers",
			       {.align = true, .markers = true},
			       both,
			       align_with(true)},
		NegotiationRow{"align_whatever_is_wrong_with_markers",
			       {.align = true, .markers = true, .interval = 3},
			       both,
			       align_with(true)},
		NegotiationRow{"one_pdu_for_the_receiver",
			       {.align = true, .unpacked = true},
			       both,
			       align_with(false)},
		NegotiationRow{"one_pdu_of_the_sender",
			       {.align = true},
			       unpacked,
			       align_with(false)},
		NegotiationRow{"markers_since_the_sender_has_no_align",
			       {.align = true, .markers = true},
			       no_align,
			       markers_with(2048, 65400)},
		NegotiationRow{"markers",
			       {.markers = true},
			       both,
			       markers_with(2048, 65400)},
		NegotiationRow{"period",
			       {.markers = true, .interval = 512},
			       both,
			       markers_with(512, 65016)},
		NegotiationRow{"shortest_period",
			       {.markers = true, .interval = 8},
			       both,
			       markers_with(8, 32764)},
		NegotiationRow{"longest_period",
			       {.markers = true, .interval = 0x7fffffff},
			       both,
			       markers_with(0x7fffffff, 65524)},
		NegotiationRow{"largest_pdu",
			       {.markers = true, .longest = 1000},
			       both,
			       markers_with(2048, 1000)},
		NegotiationRow{"a_pdu_of_one_byte",
			       {.markers = true, .longest = 1},
			       both,
			       markers_with(2048, 1)},
		NegotiationRow{"larger_than_can_be",
			       {.markers = true, .longest = 0xffffffff},
			       both,
			       markers_with(2048, 65400)}),
	[](const auto &row) { return row.param.name; });

TEST(FramingDisagreement, has_an_error)
{
	const auto unsupported = std::errc::operation_not_supported;
	const auto invalid = std::errc::invalid_argument;
	const struct {
		framing::wish wish;
		framing::offer offer;
		std::errc want;
	} rows[] = {
		{{.align = true}, no_align, unsupported},
		{{.align = true}, nothing, unsupported},
		{{.markers = true}, nothing, unsupported},
		{{.align = true, .markers = true}, nothing, unsupported},
		{{.markers = true}, {.markers = false}, unsupported},
		{{.markers = true, .interval = 7}, both, invalid},
		{{.markers = true, .interval = 0}, both, invalid},
		{{.markers = true, .interval = 0x80000000}, both, invalid},
		{{.markers = true, .longest = 0}, both, invalid},
		{{.align = true, .markers = true, .interval = 7}, no_align, invalid},
	};

	for (std::size_t n = 0; n < std::size(rows); n++)
		EXPECT_EQ(framing::negotiate(rows[n].wish, rows[n].offer).error(),
			  rows[n].want)
			<< "row " << n;
}

// --- modes ---------------------------------------------------------------------

const send sends[] = {send::plain, send::atomic, send::align, send::markers};
const receive receives[] = {receive::plain, receive::align, receive::markers};

TEST(FramingModes, are_the_two_halves_of_a_byte)
{
	const int out[] = {0x00, 0x01, 0x02, 0x04}, in[] = {0x00, 0x10, 0x20};

	for (std::size_t a = 0; a < std::size(sends); a++)
		for (std::size_t b = 0; b < std::size(receives); b++) {
			const int mode = framing::to_kernel(sends[a], receives[b]);

			EXPECT_EQ(mode, out[a] | in[b]);
			EXPECT_EQ(framing::from_kernel(
					  static_cast<std::uint32_t>(mode)),
				  (framing::modes{sends[a], receives[b]}));
		}
}

TEST(FramingAttach, names_the_protocol)
{
	kernel() = {};
	auto [near, far] = fake::connected();
	const int fd = near.get();
	const auto socket = framing::socket::attach(std::move(near));

	ASSERT_TRUE(socket);
	EXPECT_EQ(socket->fd(), fd);
	ASSERT_EQ(kernel().set.size(), 1u);
	EXPECT_EQ(kernel().set[0].level, SOL_TCP);
	EXPECT_EQ(kernel().set[0].option, TCP_ULP);
	EXPECT_EQ(mpa::text(kernel().set[0].value), "mpa");
}

TEST(FramingAttach, failure_closes)
{
	kernel() = {};
	kernel().errors[{SOL_TCP, TCP_ULP}] = ENOENT;
	auto [near, far] = fake::connected();
	const int fd = near.get();

	EXPECT_EQ(framing::socket::attach(std::move(near)).error(),
		  std::errc::no_such_file_or_directory);
	EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST(FramingAdopt, takes_only_what_is_attached)
{
	Pair pair;

	EXPECT_EQ(framing::socket::adopt(pair.socket.release()).error(),
		  std::errc::no_protocol_option);
	Pair other;
	kernel().give(TCP_FRAMING_MODE, 0x21);
	const auto taken = framing::socket::adopt(other.socket.release());
	ASSERT_TRUE(taken);
	EXPECT_EQ(taken->modes().value(),
		  (framing::modes{send::atomic, receive::markers}));
}

TEST(FramingEnable, sets_the_mode)
{
	Pair pair;
	std::vector<fake::Call> want;

	for (const auto out : sends)
		for (const auto in : receives) {
			ASSERT_TRUE(pair.socket.enable(out, in));
			want.push_back({SOL_TCP, TCP_FRAMING_MODE,
					bytes_of(framing::to_kernel(out, in))});
		}
	EXPECT_EQ(kernel().set, want);
}

TEST(FramingEnable, errors_come_through)
{
	for (const int error : {EBUSY, EINVAL, EOPNOTSUPP, ENOPROTOOPT, EINTR}) {
		Pair pair;

		kernel().errors[{SOL_TCP, TCP_FRAMING_MODE}] = error;
		EXPECT_EQ(pair.socket.enable(send::align, receive::plain)
				  .error()
				  .value(),
			  error);
	}
}

// What was agreed on is set before the mode, and only what the modes need.
TEST(FramingEnable, sets_what_was_agreed_on)
{
	const auto align = align_with(false);
	const auto markers = markers_with(512, 1000);
	const framing::key other = key_of(7);
	auto from_peer = align;

	from_peer.key = other;
	{
		Pair pair;

		ASSERT_TRUE(pair.socket.enable(align, markers));
		EXPECT_EQ(kernel().set,
			  (std::vector<fake::Call>{
				  {SOL_TCP, TCP_FRAMING_PACK_PDUS, bytes_of(0)},
				  {SOL_TCP, TCP_FRAMING_RECV_INTERVAL, bytes_of(512)},
				  {SOL_TCP, TCP_FRAMING_MODE, bytes_of(0x22)}}));
	}
	{
		Pair pair;

		ASSERT_TRUE(pair.socket.enable(markers, from_peer));
		EXPECT_EQ(kernel().set,
			  (std::vector<fake::Call>{
				  {SOL_TCP, TCP_FRAMING_SEND_INTERVAL, bytes_of(512)},
				  {SOL_TCP, TCP_FRAMING_RECV_KEY, bytes_of(other)},
				  {SOL_TCP, TCP_FRAMING_MODE, bytes_of(0x14)}}));
	}
	{
		Pair pair;

		ASSERT_TRUE(pair.socket.enable(framing::agreement{},
					       framing::agreement{}));
		EXPECT_EQ(kernel().set, (std::vector<fake::Call>{{SOL_TCP, TCP_FRAMING_MODE,
								  bytes_of(0)}}));
	}
}

TEST(FramingEnable, stops_at_the_first_error)
{
	for (const int option : {TCP_FRAMING_SEND_INTERVAL, TCP_FRAMING_RECV_INTERVAL,
				 TCP_FRAMING_PACK_PDUS, TCP_FRAMING_RECV_KEY}) {
		Pair pair;
		const bool sending = option == TCP_FRAMING_SEND_INTERVAL ||
				     option == TCP_FRAMING_RECV_KEY;
		const auto align = align_with(true), markers = markers_with(512, 1);

		kernel().errors[{SOL_TCP, option}] = EPERM;
		EXPECT_EQ((sending ? pair.socket.enable(markers, align)
				   : pair.socket.enable(align, markers))
				  .error()
				  .value(),
			  EPERM);
		for (const auto &call : kernel().set)
			EXPECT_NE(call.option, TCP_FRAMING_MODE);
	}
}

// --- options -------------------------------------------------------------------

TEST(FramingSet, each_option_with_its_value)
{
	Pair pair;
	auto &socket = pair.socket;

	ASSERT_TRUE(socket.peer_key(key_of(3)));
	ASSERT_TRUE(socket.pack(false));
	ASSERT_TRUE(socket.pack(true));
	ASSERT_TRUE(socket.emergency(true));
	ASSERT_TRUE(socket.notice(true));
	ASSERT_TRUE(socket.send_interval(8));
	ASSERT_TRUE(socket.receive_interval(0x7fffffff));
	EXPECT_EQ(kernel().set,
		  (std::vector<fake::Call>{
			  {SOL_TCP, TCP_FRAMING_RECV_KEY, bytes_of(key_of(3))},
			  {SOL_TCP, TCP_FRAMING_PACK_PDUS, bytes_of(0)},
			  {SOL_TCP, TCP_FRAMING_PACK_PDUS, bytes_of(1)},
			  {SOL_TCP, TCP_FRAMING_EMERGENCY, bytes_of(1)},
			  {SOL_TCP, TCP_FRAMING_EMSS_NOTICE, bytes_of(1)},
			  {SOL_TCP, TCP_FRAMING_SEND_INTERVAL, bytes_of(8)},
			  {SOL_TCP, TCP_FRAMING_RECV_INTERVAL, bytes_of(0x7fffffff)},
		  }));
}

// It would be negative for the kernel.
TEST(FramingSet, an_interval_that_cannot_be_is_not_tried)
{
	Pair pair;

	for (const std::uint32_t bytes : {0x80000000u, 0xffffffffu}) {
		EXPECT_EQ(pair.socket.send_interval(bytes).error(),
			  std::errc::invalid_argument);
		EXPECT_EQ(pair.socket.receive_interval(bytes).error(),
			  std::errc::invalid_argument);
	}
	EXPECT_TRUE(kernel().set.empty());
}

TEST(FramingGet, each_option)
{
	Pair pair;
	const auto &socket = pair.socket;

	kernel().give(TCP_FRAMING_MODE, 0x12);
	kernel().give(TCP_SEND_EMSS, 1412);
	kernel().give(TCP_FRAMING_PACK_PDUS, 1);
	kernel().give(TCP_FRAMING_EMERGENCY, 0);
	kernel().give(TCP_FRAMING_EMSS_NOTICE, 1);
	kernel().give(TCP_FRAMING_SEND_INTERVAL, 512);
	kernel().give(TCP_FRAMING_RECV_INTERVAL, 2048);
	kernel().give(TCP_FRAMING_SEND_KEY, key_of(1));
	kernel().give(TCP_FRAMING_RECV_KEY, key_of(2));
	EXPECT_EQ(socket.modes().value(),
		  (framing::modes{send::align, receive::align}));
	EXPECT_EQ(socket.emss().value(), 1412);
	EXPECT_TRUE(socket.pack().value());
	EXPECT_FALSE(socket.emergency().value());
	EXPECT_TRUE(socket.notice().value());
	EXPECT_EQ(socket.send_interval().value(), 512);
	EXPECT_EQ(socket.receive_interval().value(), 2048);
	EXPECT_EQ(socket.key().value(), key_of(1));
	EXPECT_EQ(socket.peer_key().value(), key_of(2));
}

TEST(FramingGet, errors_come_through)
{
	Pair pair;

	kernel().errors[{SOL_TCP, TCP_SEND_EMSS}] = ENOTCONN;
	EXPECT_EQ(pair.socket.emss().error(), std::errc::not_connected);
	EXPECT_EQ(pair.socket.key().error(), std::errc::no_protocol_option);
	EXPECT_EQ(pair.socket.info().error(), std::errc::no_protocol_option);
	EXPECT_EQ(pair.socket.pack().error(), std::errc::no_protocol_option);
	EXPECT_EQ(pair.socket.modes().error(), std::errc::no_protocol_option);
	EXPECT_EQ(pair.socket.send_interval().error(),
		  std::errc::no_protocol_option);
}

TEST(FramingInfo, comes_from_the_kernel_field_by_field)
{
	Pair pair;

	kernel().give(TCP_FRAMING_INFO,
		      tcp_framing_info{.mode = 0x24,
				       .flags = TCP_FRAMING_F_PACK,
				       .emss = 1,
				       .send_interval = 2,
				       .recv_interval = 3,
				       .tx_pdus = 4,
				       .tx_frames = 5,
				       .tx_pieces = 6,
				       .emss_changes = 7,
				       .rx_frames = 8,
				       .rx_aligned = 9,
				       .rx_unaligned = 10,
				       .rx_parted = 11});
	EXPECT_EQ(pair.socket.info().value(),
		  (framing::info{.modes = {send::markers, receive::markers},
				 .pack = true,
				 .emss = 1,
				 .send_interval = 2,
				 .receive_interval = 3,
				 .sent_pdus = 4,
				 .sent_frames = 5,
				 .sent_pieces = 6,
				 .emss_changes = 7,
				 .received_frames = 8,
				 .received_aligned = 9,
				 .received_unaligned = 10,
				 .received_parted = 11}));
	const struct {
		std::uint32_t flag;
		bool framing::info::*field;
	} rows[] = {{TCP_FRAMING_F_PACK, &framing::info::pack},
		    {TCP_FRAMING_F_EMERGENCY, &framing::info::emergency},
		    {TCP_FRAMING_F_RECV_KEY, &framing::info::peer_key},
		    {TCP_FRAMING_F_RECV_ENDED, &framing::info::receive_ended}};

	for (const auto &row : rows)
		for (const auto &flag : rows)
			EXPECT_EQ(framing::from_kernel(tcp_framing_info{
					  .flags = flag.flag}).*row.field,
				  row.flag == flag.flag);
}

// --- the EMSS --------------------------------------------------------------------

TEST(FramingOnEmss, reads_the_new_one)
{
	Pair pair;

	kernel().give(TCP_SEND_EMSS, 1280);
	kernel().events = POLLPRI | POLLOUT;
	EXPECT_EQ(pair.socket.on_emss().value(), 1280);
}

TEST(FramingOnEmss, ends_without_one)
{
	Pair pair;

	kernel().give(TCP_SEND_EMSS, 1280);
	kernel().events = 0;
	EXPECT_EQ(pair.socket.on_emss(1ms).error(), std::errc::timed_out);
	kernel().events = POLLHUP;
	EXPECT_EQ(pair.socket.on_emss().error(), std::errc::not_connected);
}

// --- data ------------------------------------------------------------------------

TEST(FramingSend, one_call_one_pdu)
{
	Pair pair;
	std::array<char, 16> room;

	ASSERT_TRUE(pair.socket.send(mpa::bytes("one")));
	ASSERT_TRUE(pair.socket.send(mpa::bytes("three")));
	EXPECT_EQ(::recv(pair.peer.get(), room.data(), room.size(), 0), 3);
	EXPECT_EQ(::recv(pair.peer.get(), room.data(), room.size(), 0), 5);
}

struct ReceiveRow {
	const char *name;
	std::size_t sent, room;
	int flags;
	framing::received want;
};

class FramingReceive : public testing::TestWithParam<ReceiveRow> {};

TEST_P(FramingReceive, tells_what_became_of_it)
{
	const auto &row = GetParam();
	Pair pair;
	std::vector<std::byte> pdu(row.sent, std::byte{7}), room(row.room);

	if (row.sent)
		ASSERT_EQ(::send(pair.peer.get(), pdu.data(), pdu.size(), 0),
			  static_cast<ssize_t>(row.sent));
	else
		pair.peer.reset();
	kernel().received_flags = row.flags;
	const auto got = pair.socket.receive(room);
	ASSERT_TRUE(got);
	EXPECT_EQ(*got, row.want);
	for (std::size_t i = 0; i < got->size; i++)
		EXPECT_EQ(room[i], std::byte{7});
}

INSTANTIATE_TEST_SUITE_P(
	table, FramingReceive,
	testing::Values(
		ReceiveRow{"a_whole_one", 10, 11, MSG_EOR, {10, true, false, false}},
		ReceiveRow{"it_just_fits", 10, 10, MSG_EOR, {10, true, false, false}},
		ReceiveRow{"no_boundary", 10, 11, 0, {10, false, false, false}},
		ReceiveRow{"cut", 10, 9, 0, {9, false, true, false}},
		ReceiveRow{"no_room", 10, 0, 0, {0, false, true, false}},
		ReceiveRow{"the_end", 0, 10, 0, {0, false, false, true}}),
	[](const auto &row) { return row.param.name; });

TEST(FramingReceive, errors_come_through)
{
	Pair pair;
	std::array<std::byte, 8> room;

	EXPECT_EQ(pair.socket.receive(room, mpa::receive_flags::dont_wait).error(),
		  std::errc::resource_unavailable_try_again);
}

TEST(FramingReason, of_what_is_peculiar_to_framing)
{
	for (const int error : {EPROTO, ECONNABORTED, EMSGSIZE, EBUSY, EOPNOTSUPP,
				ENOPROTOOPT, EINVAL, ENOENT, ENOTCONN})
		EXPECT_NE(framing::reason({error, std::generic_category()}), "")
			<< error;
	EXPECT_EQ(framing::reason({EINTR, std::generic_category()}), "");
	EXPECT_EQ(framing::reason({}), "");
}

} // namespace
