/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* srq.c, post.c: shared receive queues. */
#include "fake_kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <thread>
#include <vector>

namespace {

using fake::Kernel;
using fake::ProviderTest;

/* Grants of the fixture's queue: 4 entries, 2 pieces. */
class SrqTest : public ProviderTest {
protected:
	~SrqTest() override
	{
		if (srq) {
			EXPECT_EQ(kernel.ops.destroy_srq(srq), 0);
		}
	}

	ibv_srq_init_attr wanted()
	{
		ibv_srq_init_attr attr{};

		attr.attr = { .max_wr = 3, .max_sge = 1, .srq_limit = 2 };
		return attr;
	}

	void open()
	{
		ibv_srq_init_attr attr = wanted();

		srq = kernel.ops.create_srq(&pd, &attr);
		ASSERT_NE(srq, nullptr);
		kernel.commands.clear();
	}

	int post(ibv_recv_wr &wr)
	{
		bad = nullptr;
		return kernel.ops.post_srq_recv(srq, &wr, &bad);
	}

	fake::Ring &ring() { return kernel.srq(srq->handle); }

	ibv_srq *srq = nullptr;
	ibv_recv_wr *bad = nullptr;
};

ibv_recv_wr recv_wr(std::uint64_t id, ibv_recv_wr *next = nullptr)
{
	ibv_recv_wr wr{};

	wr.wr_id = id;
	wr.next = next;
	return wr;
}

TEST_F(SrqTest, reports_what_was_granted)
{
	ibv_srq_init_attr attr = wanted();

	kernel.grant.max_recv_wr = 8;
	kernel.grant.max_recv_sge = 3;
	srq = kernel.ops.create_srq(&pd, &attr);
	ASSERT_NE(srq, nullptr);
	EXPECT_EQ(kernel.srq_attr.attr.max_wr, 3u);
	EXPECT_EQ(kernel.srq_attr.attr.max_sge, 1u);
	EXPECT_EQ(attr.attr.max_wr, 8u);
	EXPECT_EQ(attr.attr.max_sge, 3u);
	EXPECT_EQ(attr.attr.srq_limit, 2u);
}

TEST_F(SrqTest, creation_failures_are_undone)
{
	ibv_srq_init_attr attr = wanted();

	kernel.refuse["create_srq"] = ENOSPC;
	EXPECT_EQ(kernel.ops.create_srq(&pd, &attr), nullptr);
	EXPECT_EQ(errno, ENOSPC);
	kernel.refuse.clear();

	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.create_srq(&pd, &attr), nullptr);
	EXPECT_EQ(errno, ENOMEM);

	kernel.fail_mmap = 1;
	EXPECT_EQ(kernel.ops.create_srq(&pd, &attr), nullptr);
	EXPECT_EQ(errno, EAGAIN);
	EXPECT_EQ(kernel.objects["srq"], 0);
	EXPECT_EQ(attr.attr.max_wr, 3u);
	EXPECT_FALSE(kernel.log.empty());
}

struct RespRow {
	const char *name;
	void (*edit)(mpa_create_srq_resp &);
};

class SrqGeometry : public SrqTest, public testing::WithParamInterface<RespRow> {
};

TEST_P(SrqGeometry, unsound_is_refused)
{
	ibv_srq_init_attr attr = wanted();

	kernel.edit_srq = GetParam().edit;
	EXPECT_EQ(kernel.ops.create_srq(&pd, &attr), nullptr);
	EXPECT_EQ(errno, EPROTO);
	EXPECT_EQ(kernel.commands.back(), "destroy_srq");
	EXPECT_EQ(attr.attr.max_wr, 3u);
}

INSTANTIATE_TEST_SUITE_P(
	table, SrqGeometry,
	testing::Values(
		RespRow{ "no_entries", [](auto &r) { r.num_rqe = 0; } },
		RespRow{ "odd_entries", [](auto &r) { r.num_rqe = 5; } },
		RespRow{ "many_entries", [](auto &r) { r.num_rqe = 1u << 31; } },
		RespRow{ "stride", [](auto &r) { r.rqe_stride = 8; } },
		RespRow{ "odd_stride", [](auto &r) { r.rqe_stride += 4; } },
		RespRow{ "short", [](auto &r) { r.len = 128; } }),
	[](const auto &info) { return std::string(info.param.name); });

/* Modules from before there were any report no features. */
TEST(srq_of_older_modules, is_refused_without_a_command)
{
	Kernel kernel;
	ibv_device device{};
	ibv_srq_init_attr attr{};
	ibv_pd pd{};

	kernel.features = 0;
	verbs_context *ctx =
		Kernel::driver().alloc_context(&device, 0x6d7061, nullptr);
	ASSERT_NE(ctx, nullptr);
	pd.context = &ctx->context;
	kernel.commands.clear();
	attr.attr.max_wr = 1;
	EXPECT_EQ(kernel.ops.create_srq(&pd, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_TRUE(kernel.commands.empty());
	kernel.ops.free_context(&ctx->context);
}

TEST_F(SrqTest, changes_and_queries_ask_the_kernel)
{
	ibv_srq_attr attr{ .max_wr = 0, .max_sge = 0, .srq_limit = 3 };

	open();
	EXPECT_EQ(kernel.ops.modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	EXPECT_EQ(kernel.srq_mask, int{ IBV_SRQ_LIMIT });
	attr.srq_limit = 0;
	EXPECT_EQ(kernel.ops.query_srq(srq, &attr), 0);
	EXPECT_EQ(attr.srq_limit, 3u);

	kernel.refuse = { { "modify_srq", EOPNOTSUPP }, { "query_srq", EIO } };
	EXPECT_EQ(kernel.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	EXPECT_EQ(kernel.ops.query_srq(srq, &attr), EIO);
}

TEST_F(SrqTest, stays_while_it_is_in_use)
{
	open();
	kernel.refuse["destroy_srq"] = EBUSY;
	EXPECT_EQ(kernel.ops.destroy_srq(srq), EBUSY);
	kernel.refuse.clear();
	ibv_recv_wr wr = recv_wr(1);
	EXPECT_EQ(post(wr), 0);
}

TEST_F(SrqTest, receives_are_published_without_a_doorbell)
{
	ibv_sge pieces[2] = { { .addr = 0x1000, .length = 10, .lkey = 7 },
			      { .addr = 0x2000, .length = 20, .lkey = 8 } };
	ibv_recv_wr second = recv_wr(2), first = recv_wr(1, &second);

	open();
	first.sg_list = pieces;
	first.num_sge = 2;
	/* Should modules ask for one, nothing is done. */
	ring().hdr().arm = MPA_ARM_NEXT;
	EXPECT_EQ(post(first), 0);
	EXPECT_EQ(ring().hdr().prod, 2u);
	const auto &rqe = ring().at<mpa_rqe>(0);
	EXPECT_EQ(rqe.wr_id, 1u);
	EXPECT_EQ(rqe.num_sge, 2u);
	EXPECT_EQ(rqe.reserved, 0u);
	EXPECT_EQ(rqe.sge[1].addr, 0x2000u);
	EXPECT_EQ(rqe.sge[1].length, 20u);
	EXPECT_EQ(rqe.sge[1].lkey, 8u);
	EXPECT_EQ(ring().at<mpa_rqe>(1).wr_id, 2u);
	EXPECT_TRUE(kernel.doorbells.empty());
	EXPECT_TRUE(kernel.commands.empty());
}

TEST_F(SrqTest, a_full_queue_takes_what_fits)
{
	ibv_recv_wr wr[6];

	open();
	for (int i = 5; i >= 0; i--)
		wr[i] = recv_wr(i, i < 5 ? &wr[i + 1] : nullptr);
	EXPECT_EQ(post(wr[0]), ENOMEM);
	EXPECT_EQ(bad, &wr[4]);
	EXPECT_EQ(ring().hdr().prod, 4u);
	ring().hdr().cons = 1;
	EXPECT_EQ(post(wr[4]), ENOMEM);
	EXPECT_EQ(bad, &wr[5]);
	EXPECT_EQ(ring().hdr().prod, 5u);
	EXPECT_EQ(ring().at<mpa_rqe>(4).wr_id, 4u);
}

TEST_F(SrqTest, arguments_are_checked)
{
	ibv_sge pieces[3] = {};
	ibv_recv_wr wr = recv_wr(1);

	open();
	wr.sg_list = pieces;
	for (int bad_number : { -1, 3 }) {
		wr.num_sge = bad_number;
		EXPECT_EQ(post(wr), EINVAL) << bad_number;
		EXPECT_EQ(bad, &wr);
	}
	wr.num_sge = 2;
	pieces[0].length = pieces[1].length = 1u << 31;
	EXPECT_EQ(post(wr), EINVAL);
	EXPECT_EQ(ring().hdr().prod, 0u);
}

/* Each request of many threads gets an entry of its own. */
TEST_F(SrqTest, threads_may_post_at_once)
{
	constexpr std::uint64_t each = 64;
	std::vector<std::thread> threads;
	std::vector<std::uint64_t> seen;

	kernel.grant.max_recv_wr = 256;
	open();
	for (std::uint64_t thread = 0; thread < 4; thread++)
		threads.emplace_back([this, thread] {
			for (std::uint64_t i = 0; i < each; i++) {
				ibv_recv_wr wr = recv_wr(thread * each + i);
				ibv_recv_wr *refused;

				EXPECT_EQ(kernel.ops.post_srq_recv(srq, &wr,
								   &refused),
					  0);
			}
		});
	for (auto &thread : threads)
		thread.join();
	ASSERT_EQ(ring().hdr().prod, 4 * each);
	for (std::uint32_t i = 0; i < 4 * each; i++)
		seen.push_back(ring().at<mpa_rqe>(i).wr_id);
	std::sort(seen.begin(), seen.end());
	for (std::uint64_t i = 0; i < 4 * each; i++)
		EXPECT_EQ(seen[i], i);
}

TEST_F(SrqTest, its_queue_pairs_take_no_receives)
{
	ibv_recv_wr wr = recv_wr(1);

	open();
	ibv_qp *qp = make_qp(false, false, srq);
	EXPECT_EQ(kernel.qp_attr.srq, srq);
	EXPECT_EQ(kernel.ops.post_recv(qp, &wr, &bad), EINVAL);
	EXPECT_EQ(bad, &wr);

	/* They send all the same. */
	ibv_send_wr send{}, *bad_send = nullptr;
	send.opcode = IBV_WR_SEND;
	EXPECT_EQ(kernel.ops.post_send(qp, &send, &bad_send), 0);
	EXPECT_EQ(kernel.doorbells.size(), 1u);
	destroy(qp);
}

} // namespace
