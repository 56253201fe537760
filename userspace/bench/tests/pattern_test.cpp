/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// pattern.hpp
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "failure.hpp"
#include "pattern.hpp"

namespace {

using bench::MessageId;

std::vector<std::byte> filled(const MessageId &id, std::uint64_t offset, std::size_t size)
{
	std::vector<std::byte> bytes(size);

	bench::pattern_fill(id, offset, bytes);
	return bytes;
}

// However a message is split, its bytes are the same.
TEST(pattern, does_not_depend_on_pieces)
{
	const MessageId id{3, 77, true};
	const auto whole = filled(id, 0, 64);

	for (std::size_t offset = 0; offset < 20; offset++)
		for (std::size_t size = 0; size < 20; size++) {
			const auto piece = filled(id, offset, size);

			EXPECT_TRUE(std::equal(piece.begin(), piece.end(),
					       whole.begin() + offset));
			EXPECT_FALSE(bench::pattern_mismatch(id, offset, piece));
		}
	for (std::size_t offset = 0; offset < whole.size(); offset++)
		EXPECT_EQ(bench::pattern_byte(id, offset), whole[offset]);
}

TEST(pattern, tells_messages_apart)
{
	const MessageId ids[] = {
		{0, 0, true}, {0, 0, false}, {1, 0, true}, {0, 1, true}, {1, 1, true},
		{1, 0, false}, {2, 0, true}, {0, 2, true}, {0, std::uint64_t{1} << 32, true},
	};
	std::set<std::vector<std::byte>> seen;

	for (const auto &id : ids)
		EXPECT_TRUE(seen.insert(filled(id, 0, 16)).second);
	EXPECT_NE(filled(ids[0], 0, 8), filled(ids[0], 8, 8));
}

// Zeros and old data are not taken for the pattern.
TEST(pattern, notices_what_never_came)
{
	const MessageId id{0, 5, true};
	const std::vector<std::byte> zeros(64);

	EXPECT_TRUE(bench::pattern_mismatch(id, 0, zeros));
	EXPECT_TRUE(bench::pattern_mismatch(id, 0, filled({0, 4, true}, 0, 64)));
	EXPECT_TRUE(bench::pattern_mismatch(id, 0, filled(id, 1, 64)));
}

TEST(pattern, notices_each_byte)
{
	const MessageId id{9, 1234, false};

	for (const std::uint64_t offset : {0, 1, 7, 8, 1000}) {
		auto bytes = filled(id, offset, 33);

		for (std::size_t at = 0; at < bytes.size(); at++) {
			bytes[at] ^= std::byte{0x10};
			EXPECT_EQ(bench::pattern_mismatch(id, offset, bytes), offset + at);
			bytes[at] ^= std::byte{0x10};
		}
	}
}

TEST(pattern, says_where_and_what)
{
	const MessageId id{2, 40, true};
	auto bytes = filled(id, 100, 50);

	EXPECT_NO_THROW(bench::pattern_require(id, 100, bytes));
	bytes[7] = ~bytes[7];
	bytes[9] = ~bytes[9];
	try {
		bench::pattern_require(id, 100, bytes);
		FAIL();
	} catch (const bench::Failure &failure) {
		EXPECT_EQ(failure.status(), bench::Status::wrong_data);
		EXPECT_NE(std::string(failure.what())
				  .find("connection 2, message 40 of the client, byte 107"),
			  std::string::npos)
			<< failure.what();
	}
}

} // namespace
