/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// usage.hpp: text of /proc, including text that no kernel writes.
#include <gtest/gtest.h>

#include "usage.hpp"

namespace {

using bench::Usage;

TEST(parse_stat, adds_what_is_not_idle)
{
	const auto usage = bench::parse_stat(
		"cpu  1 20 300 4000 50000 600000 7000000 80000000 9 9\ncpu0 1\n", 10);

	ASSERT_TRUE(usage);
	EXPECT_EQ(usage->machine_busy, 10 * (1 + 20 + 300 + 600000 + 7000000 + 80000000));
	EXPECT_EQ(usage->machine_softirq, 70000000);
	EXPECT_EQ(usage->process_user, 0);
}

TEST(parse_stat, refuses_what_it_does_not_know)
{
	for (const auto *text : {"", "cpu", "cpu ", "cpu0 1 2 3 4 5 6 7 8",
				 "cpu  1 2 3 4 5 6 7", "cpu  1 2 x 4 5 6 7 8",
				 "cpu  1 2 -3 4 5 6 7 8", "intr 1 2 3 4 5 6 7 8",
				 "cpu  1 2 3 4 5 6 7 99999999999999999999999"})
		EXPECT_FALSE(bench::parse_stat(text, 1)) << text;
}

TEST(parse_kilobytes, finds_the_line)
{
	const auto *text = "MemTotal:  2048 kB\nMemFree:\t7 kB\nSlabs: 1 kB\nSlab: 3 kB";

	EXPECT_EQ(bench::parse_kilobytes(text, "MemTotal"), 2048 * 1024);
	EXPECT_EQ(bench::parse_kilobytes(text, "MemFree"), 7 * 1024);
	EXPECT_EQ(bench::parse_kilobytes(text, "Slab"), 3 * 1024);
	EXPECT_FALSE(bench::parse_kilobytes(text, "Mem"));
	EXPECT_FALSE(bench::parse_kilobytes(text, "Cached"));
}

TEST(parse_kilobytes, refuses_other_units)
{
	for (const auto *text : {"A: 1", "A: 1 MB", "A: kB", "A:", "A: 1 kB x", "A: -1 kB"})
		EXPECT_FALSE(bench::parse_kilobytes(text, "A")) << text;
}

constexpr auto *meminfo = "MemTotal: 1000 kB\nMemFree: 400 kB\nBuffers: 10 kB\n"
			  "Cached: 90 kB\nAnonPages: 200 kB\nSlab: 50 kB\n";

TEST(parse_meminfo, is_what_remains)
{
	const auto memory = bench::parse_meminfo(meminfo);

	ASSERT_TRUE(memory);
	EXPECT_EQ(memory->kernel, 300 * 1024);
	EXPECT_EQ(memory->slab, 50 * 1024);
}

TEST(parse_meminfo, needs_every_line)
{
	for (const std::string_view line : {"MemTotal", "MemFree", "Buffers", "Cached",
					    "AnonPages", "Slab"}) {
		std::string text = meminfo;

		text[text.find(line)] = '-';
		EXPECT_FALSE(bench::parse_meminfo(text)) << line;
	}
	std::string text = meminfo;
	text.replace(text.find("1000"), 4, "0699");
	EXPECT_FALSE(bench::parse_meminfo(text)) << "more parts than there is in all";
}

constexpr auto *zoneinfo = "Node 0, zone      DMA\n  pages free     3840\n"
			   "  pagesets\n    cpu: 0\n              count: 3\n"
			   "              high:  0\n    cpu: 1\n              count: 40\n"
			   "Node 0, zone   Normal\n  pagesets\n    cpu: 0\n"
			   "              count: 500\n  start_pfn:           1\n";

TEST(parse_zoneinfo, adds_up_what_processors_keep)
{
	EXPECT_EQ(bench::parse_zoneinfo(zoneinfo), 543);
	EXPECT_EQ(bench::parse_zoneinfo("count: 7"), 7);
}

TEST(parse_zoneinfo, needs_a_count)
{
	for (const auto *text : {"", "pages free 3840\n", "  count:\n", "  count: x\n",
				 "  count: 1\n  count: -1\n", "  count 3\n"})
		EXPECT_FALSE(bench::parse_zoneinfo(text)) << text;
}

TEST(usage, never_goes_backwards)
{
	const Usage earlier{10, 20, 30, 40}, later{15, 19, 33, 40};

	EXPECT_EQ(later - earlier, (Usage{5, 0, 3, 0}));
}

TEST(usage, is_there)
{
	const auto before = bench::usage_now();
	const auto usage = bench::usage_now();

	EXPECT_GE(usage.machine_busy, before.machine_busy);
	EXPECT_GT(usage.machine_busy, 0);
	EXPECT_GT(bench::memory_now().kernel, 0);
	EXPECT_GT(bench::memory_now().process, 0);
	EXPECT_EQ(bench::machine_id(), bench::machine_id());
	EXPECT_FALSE(bench::machine_id().empty());
}

} // namespace
