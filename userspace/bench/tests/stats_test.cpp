/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// stats.hpp: summaries, percentiles at their boundaries, buckets, the pacer.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "stats.hpp"
#include "stream.hpp"

namespace {

using bench::Arrival;
using bench::Histogram;
using bench::Pacer;
using bench::summarize;
using bench::Summary;

constexpr auto largest = std::numeric_limits<std::uint64_t>::max();

TEST(summarize, of_so_many_values)
{
	const struct {
		std::vector<double> values;
		Summary wanted;
	} rows[] = {
		{{}, {0, 0, 0, 0}},
		{{7}, {7, 7, 7, 0}},
		{{4, 2}, {3, 2, 4, 2.0 / 3}},
		{{9, 1, 5}, {5, 1, 9, 1.6}},
		{{4, 1, 3, 2}, {2.5, 1, 4, 1.2}},
		{{0, 0, 0}, {0, 0, 0, 0}},
		{{-1, 0, 1}, {0, -1, 1, 0}},
		{{-4, -2}, {-3, -4, -2, -2.0 / 3}},
	};

	for (const auto &row : rows)
		EXPECT_EQ(summarize(row.values), row.wanted);
}

// Each bucket begins where the one before it ends.
TEST(Histogram, buckets_have_no_gap)
{
	for (std::size_t bucket = 0; bucket + 1 < Histogram::buckets; bucket++) {
		const auto top = Histogram::top_of(bucket);

		ASSERT_EQ(Histogram::bucket_of(top), bucket);
		ASSERT_EQ(Histogram::bucket_of(top + 1), bucket + 1);
	}
	EXPECT_EQ(Histogram::bucket_of(0), 0);
	EXPECT_EQ(Histogram::bucket_of(largest), Histogram::buckets - 1);
	EXPECT_EQ(Histogram::top_of(Histogram::buckets - 1), largest);
}

TEST(Histogram, buckets_are_narrow)
{
	for (std::size_t bucket = 1; bucket < Histogram::buckets; bucket++) {
		const auto low = Histogram::top_of(bucket - 1) + 1;
		const auto width = Histogram::top_of(bucket) - low + 1;

		ASSERT_LE(width, std::max<std::uint64_t>(low / 128, 1)) << bucket;
	}
}

TEST(Histogram, is_empty)
{
	const Histogram histogram;

	EXPECT_EQ(histogram.count(), 0);
	EXPECT_EQ(histogram.min(), 0);
	EXPECT_EQ(histogram.max(), 0);
	EXPECT_EQ(histogram.mean(), 0);
	EXPECT_EQ(histogram.percentile(0), 0);
	EXPECT_EQ(histogram.percentile(1'000'000), 0);
}

TEST(Histogram, has_one_sample)
{
	for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1},
					  std::uint64_t{255}, std::uint64_t{256},
					  std::uint64_t{1'000'001}, largest}) {
		Histogram histogram;

		histogram.add(value);
		for (const auto p : {0U, 1U, 500'000U, 999'999U, 1'000'000U})
			EXPECT_EQ(histogram.percentile(p), value);
		EXPECT_EQ(histogram.min(), value);
		EXPECT_EQ(histogram.max(), value);
		EXPECT_DOUBLE_EQ(histogram.mean(), static_cast<double>(value));
	}
}

// Of the samples 1 to n, the p-th percentile by nearest rank is ceil(n * p).
TEST(Histogram, percentiles_at_their_boundaries)
{
	const struct {
		std::uint64_t samples;
		std::uint32_t millionths;
		std::uint64_t wanted;
	} rows[] = {
		{2, 500'000, 1},     {2, 500'001, 2},     {3, 500'000, 2},
		{4, 500'000, 2},     {4, 750'000, 3},     {4, 750'001, 4},
		{100, 990'000, 99},  {100, 990'001, 100}, {101, 990'000, 100},
		{100, 0, 1},         {100, 10'000, 1},    {100, 10'001, 2},
		{99, 990'000, 99},   {200, 990'000, 198}, {200, 999'000, 200},
		{255, 1'000'000, 255},
	};

	for (const auto &row : rows) {
		Histogram histogram;

		for (std::uint64_t value = row.samples; value; value--)
			histogram.add(value);
		EXPECT_EQ(histogram.percentile(row.millionths), row.wanted)
			<< row.samples << " samples, " << row.millionths;
	}
}

TEST(Histogram, the_thousandth_sample_counts)
{
	Histogram histogram;

	for (int i = 0; i < 999; i++)
		histogram.add(10);
	histogram.add(200);
	EXPECT_EQ(histogram.percentile(999'000), 10);
	EXPECT_EQ(histogram.percentile(999'001), 200);
	histogram.add(200);
	EXPECT_EQ(histogram.percentile(999'000), 200);
}

// Compared with the exact answer, for numbers of all magnitudes.
TEST(Histogram, agrees_with_sorting)
{
	std::mt19937_64 random(1);
	std::vector<std::uint64_t> values;
	Histogram histogram;

	for (int i = 0; i < 5000; i++) {
		values.push_back(random() >> random() % 64);
		histogram.add(values.back());
	}
	std::sort(values.begin(), values.end());
	for (const std::uint32_t p : {1U, 1000U, 250'000U, 500'000U, 990'000U, 999'000U,
				      1'000'000U}) {
		const auto rank = (std::uint64_t{p} * 5000 + 999'999) / 1'000'000;
		const auto exact = values[rank - 1];
		const auto got = histogram.percentile(p);

		EXPECT_GE(got, exact) << p;
		EXPECT_LE(got - exact, exact / 128) << p;
	}
}

TEST(Histogram, is_cleared)
{
	Histogram histogram;

	histogram.add(5);
	histogram.clear();
	EXPECT_EQ(histogram.count(), 0);
	EXPECT_EQ(histogram.max(), 0);
	histogram.add(3);
	EXPECT_EQ(histogram.min(), 3);
	EXPECT_EQ(histogram.percentile(1'000'000), 3);
}

TEST(Pacer, looks_at_the_clock_with_the_first_message)
{
	Pacer pacer;

	EXPECT_TRUE(pacer.count(1));
}

TEST(Pacer, finds_its_stride)
{
	const struct {
		std::uint64_t since;
		std::uint64_t from;
		std::uint64_t to;
	} rows[] = {
		{0, 1, 2},          {999'999, 1, 2}, {1'000'000, 1, 1},
		{4'000'000, 8, 8},  {4'000'001, 8, 4}, {4'000'001, 1, 1},
		{0, Pacer::max_stride, Pacer::max_stride},
	};

	for (const auto &row : rows) {
		Pacer pacer;

		while (pacer.stride() < row.from)
			pacer.looked(0);
		pacer.looked(row.since);
		EXPECT_EQ(pacer.stride(), row.to) << row.since << " from " << row.from;
	}
}

TEST(Pacer, counts_down)
{
	Pacer pacer;

	pacer.looked(0);
	pacer.looked(0);
	EXPECT_FALSE(pacer.count(0));
	EXPECT_FALSE(pacer.count(3));
	EXPECT_TRUE(pacer.count(1));
	EXPECT_TRUE(pacer.count(1)) << "due until the clock was read";
	pacer.looked(2'000'000);
	EXPECT_TRUE(pacer.count(100));
}

TEST(Arrival, is_estimated_where_it_was_not_seen)
{
	const struct {
		std::uint64_t known, at, messages, now, wanted;
	} rows[] = {
		{0, 0, 0, 50, 0},      {0, 0, 10, 50, 50},     {10, 100, 10, 900, 100},
		{10, 100, 9, 900, 100}, {10, 100, 11, 900, 110}, {10, 100, 20, 900, 200},
		{10, 100, 20, 150, 150},
	};

	for (const auto &row : rows) {
		Arrival arrival;

		arrival.known(row.known, row.at);
		EXPECT_EQ(arrival.estimate(row.messages, row.now), row.wanted);
	}
}

TEST(Arrival, what_is_known_stays)
{
	Arrival arrival;

	arrival.known(5, 100);
	arrival.known(5, 200);
	EXPECT_EQ(arrival.estimate(5, 300), 100);
	arrival.settle(5, 250);
	EXPECT_EQ(arrival.estimate(5, 300), 250);
}

} // namespace
