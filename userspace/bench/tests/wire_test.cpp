/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// wire.hpp and job.hpp: what is sent is read back, and nothing else is
// accepted.
#include <functional>
#include <random>
#include <span>

#include <gtest/gtest.h>

#include "wire.hpp"

namespace {

using namespace bench;
using wire::Message;

Job unusual_job()
{
	Job job;

	job.transport = Transport::tcp;
	job.test = bench::Test::stream;
	job.op = Op::send;
	job.wait = Wait::yield;
	job.bidirectional = true;
	job.verify = true;
	job.size = 0x10203;
	job.depth = 77;
	job.list = 5;
	job.moderation = 9;
	job.solicit = 6;
	job.connections = 3;
	job.slots = 11;
	job.inline_bytes = 256;
	job.chunk = 0x40506;
	job.send_by = SendBy::record;
	job.timeout_ms = 123456;
	return job;
}

// One of each type, with no field at its default.
std::vector<Message> messages()
{
	const wire::Regions regions{{0x1122334455667788, 0x99aabbcc},
				    {0x8877665544332211, 0xccbbaa99}};

	return {
		wire::Hello{wire::magic, 7, "some machine"},
		wire::Start{unusual_job(), regions},
		wire::Ready{0x1234, 0xfedcba9876543210, regions, "mpa0"},
		wire::Phase{0x123456789abcdef0},
		wire::Begin{},
		wire::End{0x123456789abcdef1},
		wire::Done{1, 0x1000000000000002, {3, 4, 5, 6}},
		wire::Round{wire::Round::What::check, 0x123456789, max_depth},
		wire::RoundDone{},
		wire::Close{},
		wire::Failed{4, "what is wrong"},
		wire::Measure{},
		wire::Measured{{7, 8, 9}},
	};
}

std::vector<std::byte> body(const Message &message)
{
	const auto frame = wire::encode(message);

	return {frame.begin() + 4, frame.end()};
}

TEST(wire, there_is_one_of_each_type)
{
	const auto all = messages();

	ASSERT_EQ(all.size(), std::variant_size_v<Message>);
	for (std::size_t i = 0; i < all.size(); i++)
		EXPECT_EQ(all[i].index(), i);
}

TEST(wire, is_read_back)
{
	for (const auto &message : messages()) {
		const auto got = wire::decode(body(message));

		ASSERT_TRUE(got) << wire::name(message);
		EXPECT_EQ(*got, message) << wire::name(message);
	}
}

TEST(wire, has_its_length_in_front)
{
	const auto frame = wire::encode(wire::End{0x0102030405060708});
	const std::vector<std::byte> wanted{
		std::byte{0}, std::byte{0}, std::byte{0}, std::byte{9}, std::byte{5},
		std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5},
		std::byte{6}, std::byte{7}, std::byte{8},
	};

	EXPECT_EQ(frame, wanted);
}

TEST(wire, refuses_what_is_cut_short)
{
	for (const auto &message : messages()) {
		const auto bytes = body(message);

		for (std::size_t size = 0; size < bytes.size(); size++)
			EXPECT_FALSE(wire::decode(std::span(bytes).first(size)))
				<< wire::name(message) << " of " << size;
	}
}

TEST(wire, refuses_what_is_too_long)
{
	for (const auto &message : messages()) {
		auto bytes = body(message);

		bytes.push_back(std::byte{0});
		EXPECT_FALSE(wire::decode(bytes)) << wire::name(message);
	}
	EXPECT_FALSE(wire::decode(std::vector<std::byte>(wire::max_frame + 1)));
}

TEST(wire, refuses_unknown_types)
{
	for (std::size_t type = std::variant_size_v<Message>; type < 256; type++)
		EXPECT_FALSE(wire::decode(std::vector{static_cast<std::byte>(type)}));
}

TEST(wire, refuses_other_protocols)
{
	EXPECT_FALSE(wire::decode(body(wire::Hello{wire::magic + 1, 1, ""})));
	EXPECT_TRUE(wire::decode(body(wire::Hello{wire::magic, 1, ""})));
}

TEST(wire, bounds_text)
{
	const std::string longest(wire::max_text, 'x');
	const auto cut = wire::decode(body(wire::Failed{1, longest + "more"}));

	ASSERT_TRUE(cut);
	EXPECT_EQ(std::get<wire::Failed>(*cut).text, longest);
	// A length above the limit, with all of the data present.
	auto bytes = body(wire::Failed{1, longest});
	bytes[5] = std::byte{(wire::max_text + 1) >> 8};
	bytes[6] = std::byte{(wire::max_text + 1) & 0xff};
	bytes.push_back(std::byte{'x'});
	EXPECT_FALSE(wire::decode(bytes));
}

// It is printed, on terminals, too, and in JSON.
TEST(wire, escapes_text)
{
	const std::string sent = "mpa0 ~\x1b]0;x\x07\n\xff\\" + std::string(1, '\0');
	const std::string escaped = R"(mpa0 ~\x1b]0;x\x07\x0a\xff\x5c\x00)";
	const auto failed = wire::decode(body(wire::Failed{1, sent}));
	const auto ready = wire::decode(body(wire::Ready{1, 2, {}, sent}));
	const auto hello = wire::decode(body(wire::Hello{wire::magic, 1, sent}));

	ASSERT_TRUE(failed && ready && hello);
	EXPECT_EQ(std::get<wire::Failed>(*failed).text, escaped);
	EXPECT_EQ(std::get<wire::Ready>(*ready).device, escaped);
	EXPECT_EQ(std::get<wire::Hello>(*hello).machine, escaped);
}

// Bytes of Start: type, four enumerations, two booleans, numbers of 4 bytes.
TEST(wire, refuses_choices_there_are_not)
{
	const struct {
		std::size_t at;
		int last;
	} rows[] = {{1, 1}, {2, 3}, {3, 2}, {4, 2}, {5, 1}, {6, 1}};

	for (const auto &row : rows) {
		auto bytes = body(wire::Start{unusual_job(), {}});

		for (int value = row.last + 1; value < 256; value++) {
			bytes[row.at] = static_cast<std::byte>(value);
			EXPECT_FALSE(wire::decode(bytes)) << row.at << ": " << value;
		}
	}
	auto bytes = body(wire::Round{wire::Round::What::check, 0, 1});
	bytes[1] = std::byte{2};
	EXPECT_FALSE(wire::decode(bytes));
}

TEST(wire, refuses_rounds_of_nothing_or_too_much)
{
	EXPECT_FALSE(wire::decode(body(wire::Round{wire::Round::What::fill, 0, 0})));
	EXPECT_TRUE(wire::decode(body(wire::Round{wire::Round::What::fill, 0, 1})));
	EXPECT_FALSE(wire::decode(
		body(wire::Round{wire::Round::What::fill, 0, max_depth + 1})));
}

// Whatever the bytes are, an accepted message is valid.
TEST(wire, survives_noise)
{
	std::mt19937 random(1);

	for (int turn = 0; turn < 20000; turn++) {
		const auto all = messages();
		auto bytes = body(all[random() % all.size()]);

		for (auto flips = random() % 4 + 1; flips; flips--)
			bytes[random() % bytes.size()] ^=
				static_cast<std::byte>(1 << random() % 8);
		const auto got = wire::decode(bytes);
		if (!got)
			continue;
		// Text that was escaped is longer.
		const auto again = body(*got);
		if (again.size() == bytes.size()) {
			EXPECT_EQ(again, bytes);
		} else {
			EXPECT_GT(again.size(), bytes.size());
		}
		if (const auto *start = std::get_if<wire::Start>(&*got)) {
			EXPECT_FALSE(complaint(start->job));
		}
	}
}

// --- jobs ------------------------------------------------------------------------

TEST(job, the_usual_ones_are_good)
{
	EXPECT_FALSE(complaint(Job{}));
	EXPECT_FALSE(complaint(unusual_job()));
}

struct Change {
	const char *what;
	std::function<void(Job &)> make;
	bool good;
};

// Each change alone, applied to the usual job.
void check(std::span<const Change> rows)
{
	for (const auto &row : rows) {
		Job job;

		row.make(job);
		const auto bad = complaint(job);
		EXPECT_EQ(!bad, row.good) << row.what << ": " << bad.value_or("");
	}
}

TEST(job, is_bounded)
{
	const Change rows[] = {
		{"no size", [](Job &j) { j.size = 0; }, false},
		{"least size", [](Job &j) { j.size = 1; }, true},
		{"largest size", [](Job &j) { j.size = max_size; }, true},
		{"more", [](Job &j) { j.size = max_size + 1; }, false},
		{"no depth", [](Job &j) { j.depth = 0; }, false},
		{"largest depth", [](Job &j) { j.depth = max_depth; }, true},
		{"more depth", [](Job &j) { j.depth = max_depth + 1; }, false},
		{"no list", [](Job &j) { j.list = 0; }, false},
		{"list of the depth", [](Job &j) { j.list = j.depth; }, true},
		{"list above the depth", [](Job &j) { j.list = j.depth + 1; }, false},
		{"no moderation", [](Job &j) { j.moderation = 0; }, false},
		{"moderation of the depth", [](Job &j) { j.moderation = j.depth; }, true},
		{"above", [](Job &j) { j.moderation = j.depth + 1; }, false},
		{"no solicit", [](Job &j) { j.solicit = 0; }, false},
		{"solicit of the depth", [](Job &j) { j.solicit = j.depth; }, true},
		{"solicit above", [](Job &j) { j.solicit = j.depth + 1; }, false},
		{"no connection", [](Job &j) { j.connections = 0; }, false},
		{"all connections", [](Job &j) { j.connections = max_connections; }, true},
		{"one more", [](Job &j) { j.connections = max_connections + 1; }, false},
		{"no slot", [](Job &j) { j.slots = 0; }, false},
		{"inline", [](Job &j) { j.inline_bytes = max_inline; }, true},
		{"more inline", [](Job &j) { j.inline_bytes = max_inline + 1; }, false},
		{"no chunk", [](Job &j) { j.chunk = 0; }, false},
		{"large chunk", [](Job &j) { j.chunk = max_size + 1; }, false},
		{"no time", [](Job &j) { j.timeout_ms = 0; }, false},
		{"too much time", [](Job &j) { j.timeout_ms = max_timeout_ms + 1; }, false},
		{"just enough memory",
		 [](Job &j) { j.size = max_size; j.slots = 64; }, true},
		{"too much memory",
		 [](Job &j) { j.size = max_size; j.slots = 65; }, false},
		{"own buffers for each connection",
		 [](Job &j) { j.verify = true; j.connections = 65; }, false},
		{"their receives",
		 [](Job &j) { j.verify = true; j.connections = 29; j.op = Op::send; },
		 false},
		{"with fewer connections",
		 [](Job &j) { j.verify = true; j.connections = 28; j.op = Op::send; },
		 true},
	};

	check(rows);
}

TEST(job, has_a_meaning)
{
	const auto latency = [](Job &j) {
		j.test = bench::Test::latency;
		j.op = Op::send;
	};
	const Change rows[] = {
		{"latency", latency, true},
		{"latency of write", [&](Job &j) { latency(j); j.op = Op::write; }, false},
		{"latency of read", [&](Job &j) { latency(j); j.op = Op::read; }, true},
		{"of read on TCP",
		 [&](Job &j) { latency(j); j.op = Op::read; j.transport = Transport::tcp; },
		 false},
		{"of read, verified",
		 [&](Job &j) { latency(j); j.op = Op::read; j.verify = true; }, false},
		{"of read, moderated",
		 [&](Job &j) { latency(j); j.op = Op::read; j.moderation = 2; }, false},
		{"of two connections", [&](Job &j) { latency(j); j.connections = 2; }, false},
		{"both ways", [&](Job &j) { latency(j); j.bidirectional = true; }, false},
		{"verified", [&](Job &j) { latency(j); j.verify = true; }, true},
		{"set-up, verified",
		 [](Job &j) { j.test = bench::Test::connect; j.verify = true; }, false},
		{"memory both ways",
		 [](Job &j) { j.test = bench::Test::memory; j.bidirectional = true; }, false},
		{"write, verified both ways",
		 [](Job &j) { j.verify = j.bidirectional = true; }, false},
		{"send, verified both ways",
		 [](Job &j) { j.verify = j.bidirectional = true; j.op = Op::send; }, true},
		{"TCP, verified both ways",
		 [](Job &j) {
			 j.verify = j.bidirectional = true;
			 j.transport = Transport::tcp;
		 },
		 true},
	};

	check(rows);
}

Job uncopied_job(SendBy by, bool discard)
{
	Job job;

	job.transport = Transport::tcp;
	job.send_by = by;
	job.discard = discard;
	return job;
}

TEST(job, copies_or_not)
{
	using enum SendBy;
	const struct {
		SendBy by;
		bool discard;
		// As a stream of TCP; of another transport; in another test; verified.
		std::array<bool, 4> good;
	} rows[] = {
		{copy, false, {true, true, true, true}},
		{record, false, {true, false, false, true}},
		{splice, false, {true, false, false, false}},
		{zerocopy, false, {true, false, false, false}},
		{copy, true, {true, false, false, false}},
		{splice, true, {true, false, false, false}},
	};

	for (const auto &row : rows) {
		std::array<Job, 4> jobs;

		jobs.fill(uncopied_job(row.by, row.discard));
		jobs[1].transport = Transport::verbs;
		jobs[2].test = bench::Test::latency;
		jobs[2].op = Op::send;
		jobs[3].verify = true;
		for (std::size_t i = 0; i < jobs.size(); i++)
			EXPECT_EQ(!complaint(jobs[i]), row.good[i])
				<< name(row.by) << row.discard << " " << i;
	}
}

TEST(job, of_a_socket_of_messages)
{
	const Change rows[] = {
		{"write", [](Job &) {}, true},
		{"send", [](Job &j) { j.op = Op::send; }, true},
		{"latency",
		 [](Job &j) { j.test = bench::Test::latency; j.op = Op::send; }, true},
		{"verified", [](Job &j) { j.verify = true; }, true},
		{"read", [](Job &j) { j.op = Op::read; }, false},
		{"both ways", [](Job &j) { j.bidirectional = true; }, false},
		{"set-up", [](Job &j) { j.test = bench::Test::connect; }, false},
		{"memory", [](Job &j) { j.test = bench::Test::memory; }, false},
		{"several in a call", [](Job &j) { j.chunk = 2 * j.size; }, false},
		{"uncopied", [](Job &j) { j.send_by = SendBy::splice; }, false},
		{"discarded", [](Job &j) { j.discard = true; }, false},
	};

	for (const auto transport : {Transport::mpa, Transport::kcm})
		for (const auto &row : rows) {
			Job job;

			job.transport = transport;
			job.size = job.chunk = 1024;
			row.make(job);
			EXPECT_EQ(!complaint(job), row.good)
				<< name(transport) << " " << row.what;
		}
}

TEST(job, of_kcm_has_a_longest_message)
{
	Job job;

	job.transport = Transport::kcm;
	job.size = job.chunk = bench::max_kcm_size;
	EXPECT_FALSE(complaint(job));
	job.size = job.chunk = bench::max_kcm_size + 1;
	EXPECT_TRUE(complaint(job));
	job.transport = Transport::mpa;
	EXPECT_FALSE(complaint(job));
}

TEST(job, credits_differ_from_data)
{
	Job job;

	for (job.size = 1; job.size < 100; job.size++) {
		EXPECT_NE(credit_bytes(job), job.size);
		EXPECT_LE(credit_bytes(job), stride(job));
		EXPECT_LE(job.size, stride(job));
	}
}

// Which side posts and which receives: {client posts, server posts, client
// receives, server receives}.
TEST(job, has_directions)
{
	using enum Op;
	const auto verbs = Transport::verbs, tcp = Transport::tcp;
	const struct {
		Transport transport;
		Op op;
		bool both;
		std::array<bool, 4> wanted;
	} rows[] = {
		{verbs, write, false, {true, false, false, false}},
		{verbs, read, false, {true, false, false, false}},
		{verbs, send, false, {true, false, false, true}},
		{verbs, write, true, {true, true, false, false}},
		{verbs, send, true, {true, true, true, true}},
		{tcp, write, false, {true, false, false, true}},
		{tcp, send, false, {true, false, false, true}},
		{tcp, read, false, {false, true, true, false}},
		{tcp, read, true, {true, true, true, true}},
	};

	for (const auto &row : rows) {
		Job job;

		job.transport = row.transport;
		job.op = row.op;
		job.bidirectional = row.both;
		const std::array<bool, 4> got{posts(job, true), posts(job, false),
					      takes(job, true), takes(job, false)};
		EXPECT_EQ(got, row.wanted) << name(row.transport) << " " << name(row.op);
		EXPECT_FALSE(only_solicited(job, true) || only_solicited(job, false));
		job.solicit = 2;
		EXPECT_FALSE(only_solicited(job, true));
		EXPECT_EQ(only_solicited(job, false),
			  row.transport == verbs && !row.both && row.wanted[3]);
	}
}

} // namespace
