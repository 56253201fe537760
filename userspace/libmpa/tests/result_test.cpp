/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// result.hpp, and the class that owns a descriptor.
#include <memory>

#include <gtest/gtest.h>

#include <mpa/mpa.hpp>

namespace {

TEST(result, has_a_value)
{
	mpa::result<int> result = 7;

	EXPECT_TRUE(result);
	EXPECT_EQ(*result, 7);
	EXPECT_FALSE(result.error());
	EXPECT_EQ(result.value_or(8), 7);
	*result = 9;
	EXPECT_EQ(std::move(result).value(), 9);
}

TEST(result, has_an_error)
{
	mpa::result<int> result = std::errc::message_size;

	EXPECT_FALSE(result);
	EXPECT_EQ(result.error(), std::errc::message_size);
	EXPECT_EQ(result.value_or(8), 8);
	EXPECT_THROW(std::move(result).value(), std::system_error);
}

TEST(result, moves_what_cannot_be_copied)
{
	mpa::result<std::unique_ptr<int>> result = std::make_unique<int>(5);
	const auto taken = *std::move(result);

	EXPECT_EQ(*taken, 5);
}

TEST(result, of_nothing)
{
	EXPECT_TRUE(mpa::result<void>());
	EXPECT_TRUE(mpa::result<void>(std::error_code{}));
	mpa::result<void> result = std::errc::not_connected;
	EXPECT_FALSE(result);
	EXPECT_EQ(result.error(), std::errc::not_connected);
	EXPECT_THROW(result.value(), std::system_error);
	EXPECT_NO_THROW(mpa::result<void>().value());
}

bool is_open(int fd)
{
	return ::fcntl(fd, F_GETFD) >= 0;
}

int open_one()
{
	return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST(descriptor, closes_once)
{
	const int fd = open_one();
	{
		mpa::descriptor first(fd);
		mpa::descriptor second(std::move(first));

		EXPECT_FALSE(first);
		EXPECT_EQ(first.get(), -1);
		EXPECT_EQ(second.get(), fd);
		EXPECT_TRUE(is_open(fd));
	}
	EXPECT_FALSE(is_open(fd));
}

TEST(descriptor, assignment_closes_the_old_one)
{
	const int old = open_one(), fresh = open_one();
	mpa::descriptor one(old);

	one = mpa::descriptor(fresh);
	EXPECT_FALSE(is_open(old));
	EXPECT_TRUE(is_open(fresh));
	auto &same = one;
	one = std::move(same);
	EXPECT_TRUE(is_open(fresh));
}

TEST(descriptor, release_leaves_it_open)
{
	const int fd = open_one();
	mpa::descriptor one(fd);

	EXPECT_EQ(one.release(), fd);
	EXPECT_FALSE(one);
	EXPECT_TRUE(is_open(fd));
	one.reset(fd);
	one.reset();
	EXPECT_FALSE(is_open(fd));
}

} // namespace
