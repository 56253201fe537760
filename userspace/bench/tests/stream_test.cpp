/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// stream.hpp over a fake transport that records what is posted, and when, and
// checks that both sides reach their end.
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "stream.hpp"
#include "support.hpp"

namespace {

using namespace bench;

// One-sided: posted messages complete in order, a group at a time and later
// than they might; each call of reap() completes at most one group.
class Ledger {
public:
	explicit Ledger(const Job &job) : job_(job), flows_(job.connections) {}

	struct Flow {
		std::uint32_t outstanding = 0;
		std::uint32_t unsignaled = 0;
		std::uint64_t posted = 0;
		std::uint32_t fences = 0;
	};

	std::uint32_t room(std::uint32_t c) const { return job_.depth - flows_[c].outstanding; }
	std::uint32_t outstanding(std::uint32_t c) const { return flows_[c].outstanding; }
	std::uint32_t ragged(std::uint32_t c) const { return flows_[c].unsignaled; }
	bool prompt() const { return true; }
	void attend(bool all) { attends_.push_back(all); }
	const std::vector<bool> &attends() const { return attends_; }

	void post(std::uint32_t c, std::uint32_t n, bool last)
	{
		auto &flow = flows_[c];

		EXPECT_GE(n, 1);
		EXPECT_LE(n, job_.list);
		EXPECT_LE(n, room(c));
		EXPECT_EQ(flow.fences, 0) << "posted after the end";
		flow.outstanding += n;
		flow.posted += n;
		for (std::uint32_t i = 1; i <= n; i++)
			if (++flow.unsignaled == job_.moderation || (last && i == n)) {
				due_.push_back({Completion::Kind::sent, c,
						flow.unsignaled});
				flow.unsignaled = 0;
			}
	}

	void fence(std::uint32_t c)
	{
		EXPECT_EQ(flows_[c].outstanding, 0) << "a fence before the end";
		flows_[c].fences++;
		due_.push_back({Completion::Kind::fence, c, 0});
	}

	std::span<const Completion> reap(Completions &completions)
	{
		if (due_.empty() || ++calls_ % 3 == 0)
			return {};
		completions[0] = due_.front();
		due_.pop_front();
		flows_[completions[0].connection].outstanding -= completions[0].messages;
		return std::span(completions).first(1);
	}

	Rest block(int fd)
	{
		const int fds[] = {fd};

		if (!due_.empty())
			return Rest::woken;
		return wait_readable(fds, Milliseconds(100)) ? Rest::readable : Rest::late;
	}

	const std::vector<Flow> &flows() const { return flows_; }

private:
	const Job &job_;
	std::vector<Flow> flows_;
	std::deque<Completion> due_;
	std::vector<bool> attends_;
	std::uint64_t calls_ = 0;
};

struct Shape {
	std::uint32_t depth, list, moderation, connections;
	std::uint64_t messages;
};

Job job_of(const Shape &shape, Op op)
{
	Job job;

	job.op = op;
	job.size = 8;
	job.depth = shape.depth;
	job.list = shape.list;
	job.moderation = shape.moderation;
	job.connections = shape.connections;
	job.timeout_ms = test::patience.count();
	return job;
}

// The client's phase, with a server that follows in its own thread.
PhaseResult run(const Job &job, const Limit &limit, Ledger &client, Ledger &server)
{
	test::Pair pair;
	test::Background background([&] {
		const auto phase = pair.server.expect<wire::Phase>();

		Stream(server, pair.server, job, false).follow(phase.messages);
	});

	pair.client.send(wire::Phase{limit.messages});
	pair.client.expect<wire::Begin>();
	const auto result = Stream(client, pair.client, job, true).lead(limit);
	const auto *failure = background.join();
	EXPECT_FALSE(failure) << failure->what();
	return result;
}

constexpr Shape shapes[] = {
	{1, 1, 1, 1, 1},     {1, 1, 1, 1, 10},    {16, 1, 1, 1, 100},
	{16, 16, 16, 1, 100}, {16, 4, 1, 3, 50},  {16, 1, 16, 2, 17},
	{32, 20, 32, 1, 99}, {32, 7, 5, 4, 33},   {5, 3, 4, 2, 1},
	{8, 8, 3, 64, 21},   {4, 3, 2, 1024, 2},
};

TEST(Stream, posts_so_many_messages)
{
	for (const auto &shape : shapes)
		for (const Op op : {Op::write, Op::read}) {
			const Job job = job_of(shape, op);
			Ledger client(job), server(job);
			const auto result = run(job, {shape.messages, 0}, client, server);

			EXPECT_EQ(result.messages, shape.messages * shape.connections);
			EXPECT_GT(result.nanoseconds, 0);
			for (const auto &flow : client.flows()) {
				EXPECT_EQ(flow.posted, shape.messages);
				EXPECT_EQ(flow.outstanding, 0);
				EXPECT_EQ(flow.unsignaled, 0);
				EXPECT_EQ(flow.fences, op == Op::write ? 1 : 0);
			}
			for (const auto &flow : server.flows())
				EXPECT_EQ(flow.posted, 0);
			// The client waits for everything that is still to come
			// once it has ended.
			EXPECT_EQ(server.attends(), (std::vector{false, true}));
			EXPECT_TRUE(client.attends().empty());
		}
}

TEST(Stream, ends_with_the_time)
{
	for (const auto &shape : shapes) {
		const Job job = job_of(shape, Op::write);
		Ledger client(job), server(job);
		const auto result = run(job, {0, 2'000'000}, client, server);
		std::uint64_t posted = 0;

		EXPECT_GE(result.nanoseconds, 2'000'000);
		for (const auto &flow : client.flows()) {
			posted += flow.posted;
			EXPECT_EQ(flow.outstanding, 0);
			EXPECT_EQ(flow.posted % job.moderation, 0);
		}
		EXPECT_EQ(result.messages, posted);
	}
}

TEST(Stream, goes_both_ways)
{
	for (const auto &shape : shapes) {
		Job job = job_of(shape, Op::write);
		job.bidirectional = true;
		for (const Limit limit : {Limit{shape.messages, 0}, Limit{0, 2'000'000}}) {
			Ledger client(job), server(job);
			const auto result = run(job, limit, client, server);
			std::uint64_t posted = 0;

			for (const auto *side : {&client, &server})
				for (const auto &flow : side->flows()) {
					posted += flow.posted;
					EXPECT_EQ(flow.outstanding, 0);
					EXPECT_EQ(flow.fences, 1);
				}
			EXPECT_EQ(result.messages, posted);
			if (limit.messages) {
				EXPECT_EQ(posted, 2 * limit.messages * job.connections);
			}
		}
	}
}

TEST(Stream, does_not_wait_for_ever)
{
	Job job = job_of({4, 1, 4, 1, 100}, Op::write);
	job.timeout_ms = 300;
	job.moderation = 4;
	// Nothing ever completes.
	class Stuck : public Ledger {
	public:
		using Ledger::Ledger;
		std::span<const Completion> reap(Completions &) { return {}; }
		Rest block(int) { return Rest::late; }
	} stuck(job);
	test::Pair pair;

	for (const Wait wait : {Wait::event, Wait::yield, Wait::poll}) {
		job.wait = wait;
		const auto failure = test::failure_of([&] {
			Stuck again(job);
			Stream(again, pair.client, job, true).lead({100, 0});
		});
		EXPECT_NE(std::string(failure.what()).find("no progress"), std::string::npos)
			<< failure.what();
	}
}

TEST(Stream, ends_when_it_is_told_to)
{
	const Job job = job_of({4, 1, 1, 1, 100}, Op::write);
	Ledger ledger(job);
	test::Pair pair;

	request_stop(true);
	const auto failure = test::failure_of([&] {
		Stream(ledger, pair.client, job, true).lead({0, 1'000'000'000'000});
	});
	request_stop(false);
	EXPECT_EQ(failure.status(), Status::interrupted);
}

TEST(Stream, ends_with_the_peer)
{
	const Job job = job_of({4, 1, 1, 1, 100}, Op::write);
	Ledger ledger(job);
	auto pair = std::make_unique<test::Pair>();

	pair->server.send(wire::Failed{4, "wrong data"});
	const auto failure = test::failure_of([&] {
		Stream(ledger, pair->client, job, true).lead({0, 1'000'000'000'000});
	});
	EXPECT_EQ(failure.status(), Status::wrong_data);
	EXPECT_STREQ(failure.what(), "the peer: wrong data");
}

} // namespace
