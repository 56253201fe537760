// SPDX-License-Identifier: GPL-2.0-only
//
// The encoder of the test peer (tests/peer/wire.cpp): the bytes shown in RFC 5044
// and those computed from RFC 5040. Also that it and the kernel's reader, which
// share no code, agree on where FPDUs are.
#include "support.hpp"

#include "../peer/wire.hpp"

namespace {

using peer::Fault;
using peer::Framing;
using peer::Bytes;
using peer::Tagged;
using peer::Untagged;

const Bytes send_24 = Untagged{.payload = Bytes(24)}.encode();

TEST(peer_writer, figure_5_of_rfc_5044)
{
	peer::Writer writer(Framing{.markers = true});

	EXPECT_EQ(writer.fpdu(send_24),
		  mpa::unhex("00000000 002a4143 00000000 00000000 00000001 "
			     "00000000 000000000000000000000000 "
			     "000000000000000000000000 52239983"));
}

TEST(peer_writer, the_same_without_markers)
{
	EXPECT_EQ(peer::Writer().fpdu(send_24),
		  mpa::unhex("002a4143 00000000 00000000 00000001 "
			     "00000000 000000000000000000000000 "
			     "000000000000000000000000 b7243ec3"));
}

TEST(peer_writer, ready_to_receive)
{
	EXPECT_EQ(peer::Writer().fpdu(Tagged{}.encode()),
		  mpa::unhex("000ec140 00000000 00000000 00000000 a30572ab"));
	const Untagged read{.control = {.opcode = peer::op_read_request},
			    .qn = 1,
			    .payload = peer::ReadRequest{}.encode()};
	const auto fpdu = peer::Writer().fpdu(read.encode());
	EXPECT_EQ(fpdu.size(), 52u);
	EXPECT_EQ(peer::rest(fpdu, 48), mpa::unhex("f2c6dd3d"));
}

TEST(peer_writer, empty_terminate)
{
	const Untagged t{.control = {.opcode = peer::op_terminate},
			 .qn = 2,
			 .payload = peer::Terminate{.code = {2, 0, 6}}.encode()};

	EXPECT_EQ(peer::Writer().fpdu(t.encode()),
		  mpa::unhex("00164147 00000000 00000002 00000001 00000000 "
			     "20060000 6540fb1b"));
}

TEST(peer_frames, keys_and_enhanced_data)
{
	const peer::Frame request{.flags = peer::flag_crc | peer::flag_enhanced,
				  .rev = 2,
				  .data = peer::Enhanced{.a = true,
							 .c = true,
							 .ird = 4,
							 .ord = 8}
						  .encode()};

	EXPECT_EQ(request.encode(),
		  mpa::unhex("4d504120494420526571204672616d65 50 02 0004 "
			     "8004 8008"));
	EXPECT_EQ(peer::Frame{.key = peer::text(peer::reply_key)}.encode(),
		  mpa::unhex("4d504120494420526570204672616d65 40 01 0000"));
}

// ULPDUs of all lengths modulo four, in each kind of stream.
class peer_streams : public testing::TestWithParam<bool> {};

TEST_P(peer_streams, the_kernel_reads_what_the_peer_writes)
{
	peer::Writer writer(Framing{.markers = GetParam()});
	mpa_reader reader;

	mpa_reader_init(&reader, GetParam(), true);
	for (std::size_t size = 1; size < 3000; size += size < 40 ? 1 : 37) {
		const auto fpdu = writer.fpdu(peer::pattern(size, size));
		u32 used = 0;

		ASSERT_EQ(mpa_reader_feed(&reader, fpdu.data(), fpdu.size(),
					  &used),
			  MPA_RX_FPDU)
			<< size;
		ASSERT_EQ(used, fpdu.size());
		ASSERT_EQ(reader.ulpdu_len, size);
	}
}

TEST_P(peer_streams, the_peer_reads_what_it_writes)
{
	peer::Writer writer(Framing{.markers = GetParam()});
	peer::Reader reader(Framing{.markers = GetParam()});

	for (std::size_t size = 1; size < 3000; size += size < 40 ? 1 : 37) {
		const auto ulpdu = peer::pattern(size, size);
		auto fpdu = writer.fpdu(ulpdu);
		auto half = peer::first(fpdu, fpdu.size() - 1);

		ASSERT_FALSE(reader.next(half));
		ASSERT_EQ(reader.next(fpdu), ulpdu);
		ASSERT_TRUE(fpdu.empty());
	}
}

INSTANTIATE_TEST_SUITE_P(, peer_streams, testing::Bool(),
			 [](const auto &info) {
				 return info.param ? "markers" : "plain";
			 });

struct Wrong {
	const char *name;
	bool markers;
	Fault fault;
	mpa_rx_result result;
};

void PrintTo(const Wrong &row, std::ostream *out)
{
	*out << row.name;
}

class peer_faults : public testing::TestWithParam<Wrong> {};

TEST_P(peer_faults, are_faults_to_both_readers)
{
	const auto &row = GetParam();
	peer::Writer writer(Framing{.markers = row.markers});
	peer::Reader peer_reader(Framing{.markers = row.markers});
	auto fpdu = writer.fpdu(peer::pattern(1000, 1), row.fault);
	mpa_reader reader;
	u32 used = 0;

	mpa_reader_init(&reader, row.markers, true);
	EXPECT_EQ(mpa_reader_feed(&reader, fpdu.data(), fpdu.size(), &used),
		  row.result);
	EXPECT_THROW(peer_reader.next(fpdu), peer::WireError);
}

const Wrong wrongs[] = {
	{"crc", false, {.crc_xor = 1}, MPA_RX_BAD_CRC},
	{"no crc", false, {.crc_zero = true}, MPA_RX_BAD_CRC},
	{"length", false, {.length = 900}, MPA_RX_BAD_CRC},
	{"first marker", true, {.marker = 0, .fpduptr_xor = 4}, MPA_RX_BAD_MARKER},
	{"second marker", true, {.marker = 1, .fpduptr_xor = 8}, MPA_RX_BAD_MARKER},
};

INSTANTIATE_TEST_SUITE_P(, peer_faults, testing::ValuesIn(wrongs),
			 mpa::row_name<Wrong>);

} // namespace
