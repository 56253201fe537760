/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// options.hpp
#include <initializer_list>

#include <gtest/gtest.h>

#include "failure.hpp"
#include "options.hpp"
#include "support.hpp"

namespace {

using namespace bench;

struct Parsed {
	std::optional<Options> options;
	int status = 0;
	std::string said;
};

Parsed parse(std::initializer_list<const char *> words)
{
	std::vector<const char *> argv{"mpa-bench"};
	Parsed parsed;

	argv.insert(argv.end(), words.begin(), words.end());
	testing::internal::CaptureStderr();
	testing::internal::CaptureStdout();
	parsed.options = parse_options(static_cast<int>(argv.size()), argv.data(),
				       parsed.status);
	parsed.said = testing::internal::GetCapturedStderr() +
		testing::internal::GetCapturedStdout();
	return parsed;
}

Job job(std::initializer_list<const char *> words)
{
	const auto parsed = parse(words);

	EXPECT_TRUE(parsed.options && parsed.options->client) << parsed.said;
	if (!parsed.options || !parsed.options->client)
		return {};
	return job_of(*parsed.options->client, parsed.options->client->sizes.at(0));
}

TEST(parse_size, knows_units)
{
	const struct {
		const char *text;
		std::optional<std::uint32_t> wanted;
	} rows[] = {
		{"0", 0},	  {"1", 1},	    {"4096", 4096},
		{"1K", 1024},	  {"64k", 65536},   {"16M", 16 << 20},
		{"1m", 1 << 20},  {"", {}},	    {"K", {}},
		{"1KK", {}},	  {"1 K", {}},	    {"-1", {}},
		{"1G", {}},	  {"0x10", {}},	    {"4294967295", 4294967295},
		{"4294967296", {}}, {"4095M", 4293918720}, {"4096M", {}},
		{"99999999999999999999", {}},
	};

	for (const auto &row : rows)
		EXPECT_EQ(parse_size(row.text), row.wanted) << row.text;
}

TEST(options, have_defaults_by_command)
{
	const struct {
		const char *command;
		bench::Test test;
		Op op;
		std::uint32_t depth, list, moderation, connections;
		Wait wait;
		std::size_t sizes;
		std::uint32_t repeat;
	} rows[] = {
		{"write", bench::Test::stream, Op::write, 16, 1, 1, 1, Wait::event, 1, 1},
		{"read", bench::Test::stream, Op::read, 16, 1, 1, 1, Wait::event, 1, 1},
		{"send", bench::Test::stream, Op::send, 16, 1, 1, 1, Wait::event, 1, 1},
		{"rate", bench::Test::stream, Op::send, 256, 32, 32, 1, Wait::event, 4, 1},
		{"latency", bench::Test::latency, Op::send, 64, 1, 32, 1, Wait::poll, 1, 1},
		{"connect", bench::Test::connect, Op::send, 16, 1, 1, 1, Wait::event, 1, 1},
		{"memory", bench::Test::memory, Op::send, 16, 1, 1, 256, Wait::event, 1, 5},
	};

	for (const auto &row : rows) {
		const auto parsed = parse({row.command, "host"});
		ASSERT_TRUE(parsed.options && parsed.options->client) << row.command;
		const auto &client = *parsed.options->client;
		const Job &got = client.job;

		EXPECT_EQ(client.host, "host");
		EXPECT_EQ(client.command, row.command);
		EXPECT_EQ(got.transport, Transport::verbs);
		EXPECT_EQ(got.test, row.test) << row.command;
		EXPECT_EQ(got.op, row.op) << row.command;
		EXPECT_EQ(got.depth, row.depth) << row.command;
		EXPECT_EQ(got.list, row.list) << row.command;
		EXPECT_EQ(got.moderation, row.moderation) << row.command;
		EXPECT_EQ(got.connections, row.connections) << row.command;
		EXPECT_EQ(got.wait, row.wait) << row.command;
		EXPECT_EQ(client.sizes.size(), row.sizes) << row.command;
		EXPECT_EQ(client.plan.repeat, row.repeat) << row.command;
	}
}

TEST(options, are_understood)
{
	const Job got = job({"send", "-t", "tcp", "-s", "64K", "-d", "40", "-l", "4", "-m",
			     "8", "-q", "3", "-b", "-i", "64", "--slots", "2", "-v", "-W",
			     "yield", "--timeout", "1.5", "--write-size", "5", "h"});

	EXPECT_EQ(got.transport, Transport::tcp);
	EXPECT_EQ(got.size, 65536);
	EXPECT_EQ(got.depth, 40);
	EXPECT_EQ(got.list, 4);
	EXPECT_EQ(got.moderation, 8);
	EXPECT_EQ(got.connections, 3);
	EXPECT_TRUE(got.bidirectional);
	EXPECT_EQ(got.inline_bytes, 64);
	EXPECT_EQ(got.slots, 2);
	EXPECT_TRUE(got.verify);
	EXPECT_EQ(got.wait, Wait::yield);
	EXPECT_EQ(got.timeout_ms, 1500);
	EXPECT_EQ(got.chunk, 5);
}

TEST(options, of_sockets)
{
	const struct {
		const char *word;
		SendBy by;
	} rows[] = {{"copy", SendBy::copy}, {"record", SendBy::record},
		    {"splice", SendBy::splice}, {"zerocopy", SendBy::zerocopy}};

	for (const auto &row : rows) {
		EXPECT_EQ(job({"write", "-t", "tcp", "--send-by", row.word, "h"}).send_by,
			  row.by);
		EXPECT_EQ(name(row.by), row.word);
	}
	EXPECT_TRUE(job({"write", "-t", "tcp", "--discard", "h"}).discard);
	EXPECT_FALSE(job({"write", "-t", "tcp", "h"}).discard);
	const Job mpa = job({"rate", "-t", "mpa", "-s", "64", "h"});
	EXPECT_EQ(mpa.transport, Transport::mpa);
	EXPECT_EQ(mpa.chunk, 64);
	const Job kcm = job({"rate", "-t", "kcm", "-s", "64", "h"});
	EXPECT_EQ(kcm.transport, Transport::kcm);
	EXPECT_EQ(kcm.chunk, 64);
}

TEST(options, follow_from_others)
{
	EXPECT_EQ(job({"rate", "-l", "500", "h"}).depth, 500);
	EXPECT_EQ(job({"rate", "-l", "4", "h"}).moderation, 4);
	EXPECT_EQ(job({"latency", "-d", "1", "h"}).moderation, 1);
	EXPECT_EQ(job({"latency", "h"}).solicit, 1);
	EXPECT_EQ(job({"send", "h"}).solicit, 8);
	EXPECT_EQ(job({"send", "-d", "1", "h"}).solicit, 1);
	EXPECT_EQ(job({"rate", "h"}).solicit, 128);
	EXPECT_EQ(job({"rate", "-d", "40", "h"}).solicit, 32);
	EXPECT_EQ(job({"send", "-S", "3", "h"}).solicit, 3);
	EXPECT_EQ(job({"latency", "-o", "read", "h"}).moderation, 1);
	EXPECT_EQ(job({"send", "-d", "8", "h"}).slots, 8);
	EXPECT_EQ(job({"rate", "-s", "8", "h"}).chunk, 8 * 32);
	EXPECT_EQ(job({"write", "-s", "16M", "-d", "4", "-l", "4", "h"}).chunk, max_size);
}

TEST(options, of_time)
{
	const auto plan = parse({"write", "-n", "10", "--warm-up-count", "3", "-r", "5", "h"})
				  .options->client->plan;

	EXPECT_EQ(plan.messages, 10);
	EXPECT_EQ(plan.warm_up_messages, 3);
	EXPECT_EQ(plan.repeat, 5);
	EXPECT_EQ(parse({"memory", "-r", "1", "h"}).options->client->plan.repeat, 1);
}

// The argument after sizes is the host, not another size.
TEST(options, sizes_end)
{
	const auto client = parse({"rate", "--size", "64,4K", "h"}).options->client;

	EXPECT_EQ(client->host, "h");
	EXPECT_EQ(client->sizes, (std::vector<std::uint32_t>{64, 4096}));
}

TEST(options, of_the_server)
{
	const auto server = parse({"server", "-1", "-p", "99", "--timeout", "2.5", "::1"}).options->server;

	ASSERT_TRUE(server);
	EXPECT_TRUE(server->once);
	EXPECT_EQ(server->port, 99);
	EXPECT_EQ(server->timeout_ms, 2500);
	EXPECT_EQ(server->address, "::1");
}

TEST(options, are_refused)
{
	const std::initializer_list<const char *> rows[] = {
		{},
		{"nonsense", "h"},
		{"write"},
		{"write", "h", "more"},
		{"write", "-s", "0", "h"},
		{"write", "-s", "17M", "h"},
		{"write", "-s", "1,x", "h"},
		{"write", "-s", "1;2", "h"},
		{"write", "-d", "0", "h"},
		{"write", "-d", "010", "h"},
		{"write", "-d", "+010", "h"},
		{"write", "-d", " 010", "h"},
		{"write", "-d", "0x10", "h"},
		{"write", "-T", "nan", "h"},
		{"write", "-d", "5000", "h"},
		{"write", "-l", "20", "-d", "16", "h"},
		{"write", "-n", "0", "h"},
		{"write", "--warm-up-count=-1", "h"},
		{"write", "--warm-up-count", "99999999999999999999", "h"},
		{"write", "-n", "1", "-T", "1", "h"},
		{"write", "-T", "0", "h"},
		{"write", "-w", "1", "--warm-up-count", "1", "h"},
		{"write", "-W", "sleep", "h"},
		{"write", "-t", "udp", "h"},
		{"write", "-o", "send", "h"},
		{"write", "-q", "16385", "h"},
		{"write", "-p", "65536", "h"},
		{"write", "--write-size", "4K", "h"},
		{"write", "-t", "mpa", "--write-size", "4K", "h"},
		{"write", "--send-by", "splice", "h"},
		{"write", "-t", "tcp", "--send-by", "mail", "h"},
		{"write", "-t", "tcp", "--discard", "-v", "h"},
		{"latency", "-t", "tcp", "--send-by", "zerocopy", "h"},
		{"read", "-t", "mpa", "h"},
		{"connect", "-t", "mpa", "h"},
		{"latency", "-t", "tcp", "--write-size", "best", "h"},
		{"latency", "-o", "write", "h"},
		{"latency", "-q", "2", "h"},
		{"memory", "-v", "h"},
		{"server", "-p", "x"},
		{"server", "--timeout", "0"},
	};

	for (const auto &row : rows) {
		const auto parsed = parse(row);
		std::string line;

		for (const auto *word : row)
			line += std::string(" ") + word;
		EXPECT_FALSE(parsed.options) << line;
		EXPECT_EQ(parsed.status, static_cast<int>(Status::usage)) << line;
		EXPECT_FALSE(parsed.said.empty()) << line;
	}
}

TEST(options, help_is_no_failure)
{
	const auto parsed = parse({"write", "--help"});

	EXPECT_FALSE(parsed.options);
	EXPECT_EQ(parsed.status, 0);
	EXPECT_NE(parsed.said.find("--bidirectional"), std::string::npos);
}

TEST(options, help_that_cannot_be_printed_is_a_failure)
{
	for (const auto *option : {"--help", "--version"}) {
		const char *const argv[] = {"mpa-bench", option};
		int status = 0;

		{
			const test::FullOutput full;

			parse_options(2, argv, status);
		}
		EXPECT_EQ(status, static_cast<int>(Status::failed)) << option;
	}
}

} // namespace
