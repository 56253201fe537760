/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* post.c, sqe.c: work requests on their way to the kernel. */
#include "fake_kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <pthread.h>

namespace {

using fake::ProviderTest;

/* Grants of the fixture's queue pair: 4 entries, 2 pieces, 64 bytes. */
class PostTest : public ProviderTest {
protected:
	~PostTest() override
	{
		if (qp)
			destroy(qp);
	}

	void open(bool sig_all = false)
	{
		qp = make_qp(false, sig_all);
		kernel.commands.clear();
	}

	fake::Ring &sq() { return kernel.sq(qp->handle); }
	fake::Ring &rq() { return kernel.rq(qp->handle); }
	const mpa_sqe &sqe(std::uint32_t i) { return sq().at<mpa_sqe>(i); }
	const mpa_rqe &rqe(std::uint32_t i) { return rq().at<mpa_rqe>(i); }

	int post(ibv_send_wr &wr)
	{
		bad = nullptr;
		return kernel.ops.post_send(qp, &wr, &bad);
	}

	int post(ibv_recv_wr &wr)
	{
		bad_recv = nullptr;
		return kernel.ops.post_recv(qp, &wr, &bad_recv);
	}

	/* The kernel has processed what is in the ring. */
	void consume(fake::Ring &ring)
	{
		__atomic_store_n(&ring.hdr().cons, ring.hdr().prod,
				 __ATOMIC_RELEASE);
	}

	ibv_qp *qp = nullptr;
	ibv_send_wr *bad = nullptr;
	ibv_recv_wr *bad_recv = nullptr;
};

ibv_send_wr send_wr(std::uint64_t id, ibv_send_wr *next = nullptr)
{
	ibv_send_wr wr{};

	wr.wr_id = id;
	wr.next = next;
	wr.opcode = IBV_WR_SEND;
	return wr;
}

/* Every opcode there is, and some invalid ones. */
TEST_F(PostTest, knows_six_opcodes)
{
	const std::map<int, int> known{
		{ IBV_WR_RDMA_WRITE, MPA_WR_WRITE },
		{ IBV_WR_SEND, MPA_WR_SEND },
		{ IBV_WR_SEND_WITH_INV, MPA_WR_SEND_INV },
		{ IBV_WR_RDMA_READ, MPA_WR_READ },
		{ IBV_WR_LOCAL_INV, MPA_WR_LOCAL_INV },
		{ IBV_WR_BIND_MW, MPA_WR_BIND_MW },
	};
	ibv_mw mw{ .type = IBV_MW_TYPE_2 };
	/* RDMAP has no such message, or the connection does not carry it. */
	const std::set<int> foreign{ IBV_WR_SEND_WITH_IMM,
				     IBV_WR_RDMA_WRITE_WITH_IMM,
				     IBV_WR_ATOMIC_CMP_AND_SWP,
				     IBV_WR_ATOMIC_FETCH_AND_ADD };
	std::uint32_t posted = 0;

	open();
	for (int opcode = -1; opcode < 40; opcode++) {
		ibv_send_wr wr = send_wr(1);
		auto found = known.find(opcode);

		wr.opcode = static_cast<ibv_wr_opcode>(opcode);
		wr.bind_mw.mw = &mw;
		if (found == known.end()) {
			EXPECT_EQ(post(wr), foreign.count(opcode) ? EOPNOTSUPP :
								    EINVAL)
				<< opcode;
			EXPECT_EQ(bad, &wr) << opcode;
		} else {
			EXPECT_EQ(post(wr), 0) << opcode;
			EXPECT_EQ(sqe(posted++).opcode, found->second);
			consume(sq());
		}
		EXPECT_EQ(sq().hdr().prod, posted) << opcode;
		EXPECT_EQ(kernel.doorbells.size(), posted) << opcode;
	}
}

/* As soon as the kernel says that the stream carries it, and no longer. */
TEST_F(PostTest, a_write_with_immediate)
{
	ibv_send_wr wr = send_wr(1);

	open();
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	wr.imm_data = 0x04030201;
	wr.wr.rdma.remote_addr = 0x1234567890;
	wr.wr.rdma.rkey = 0x88;
	for (std::uint32_t carries : { 0u, ~1u }) {
		sq().hdr().carries = carries;
		EXPECT_EQ(post(wr), EOPNOTSUPP);
		EXPECT_EQ(sq().hdr().prod, 0u);
	}
	sq().hdr().carries = MPA_CARRIES_RFC7306;
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(0).opcode, MPA_WR_WRITE_IMM);
	EXPECT_EQ(sqe(0).flags, MPA_SQE_SIGNALED | MPA_SQE_SOLICITED);
	EXPECT_EQ(sqe(0).imm_data, 0x04030201u);
	EXPECT_EQ(sqe(0).stag, 0x88u);
	EXPECT_EQ(sqe(0).remote_addr, 0x1234567890u);
	wr.opcode = IBV_WR_RDMA_WRITE;
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(1).imm_data, 0u);
}

/* The result needs one piece of eight bytes. */
TEST_F(PostTest, atomic_operations)
{
	ibv_send_wr wr = send_wr(1);
	ibv_sge sges[2] = { { 0x1000, 8, 11 }, { 0x2000, 8, 12 } };

	open();
	sq().hdr().carries = MPA_CARRIES_RFC7306;
	wr.send_flags = IBV_SEND_FENCE;
	wr.wr.atomic.remote_addr = 0x1234567890;
	wr.wr.atomic.rkey = 0x88;
	wr.wr.atomic.compare_add = 0x1122334455667788;
	wr.wr.atomic.swap = 0x99aabbccddeeff00;
	std::uint32_t posted = 0;

	for (auto opcode : { IBV_WR_ATOMIC_FETCH_AND_ADD,
			     IBV_WR_ATOMIC_CMP_AND_SWP }) {
		const bool add = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

		wr.opcode = opcode;
		wr.sg_list = sges;
		wr.num_sge = 1;
		EXPECT_EQ(post(wr), 0);
		const mpa_sqe &entry = sqe(posted++);
		const auto &operands =
			*reinterpret_cast<const mpa_atomic *>(entry.sge);

		EXPECT_EQ(entry.opcode, add ? MPA_WR_FETCH_ADD : MPA_WR_CMP_SWAP);
		EXPECT_EQ(entry.flags, MPA_SQE_FENCE);
		EXPECT_EQ(entry.num_sge, 0);
		EXPECT_EQ(entry.length, 11u);
		EXPECT_EQ(entry.stag, 0x88u);
		EXPECT_EQ(entry.remote_addr, 0x1234567890u);
		EXPECT_EQ(operands.addr, 0x1000u);
		EXPECT_EQ(operands.data, add ? 0x1122334455667788u :
					       0x99aabbccddeeff00u);
		EXPECT_EQ(operands.compare, add ? 0u : 0x1122334455667788u);

		for (int pieces : { 0, 2, -1 }) {
			wr.num_sge = pieces;
			EXPECT_EQ(post(wr), EINVAL) << pieces;
		}
		wr.num_sge = 1;
		wr.sg_list = nullptr;
		EXPECT_EQ(post(wr), EINVAL);
		for (std::uint32_t length : { 0u, 7u, 9u, 16u }) {
			ibv_sge odd{ 0x1000, length, 11 };

			wr.sg_list = &odd;
			EXPECT_EQ(post(wr), EINVAL) << length;
		}
		wr.sg_list = sges;
		wr.send_flags |= IBV_SEND_INLINE;
		EXPECT_EQ(post(wr), EINVAL);
		wr.send_flags = IBV_SEND_FENCE;
		EXPECT_EQ(sq().hdr().prod, posted);
	}
}

struct FlagRow {
	ibv_wr_opcode opcode;
	unsigned int flags;
	bool sig_all;
	int ret;
	unsigned int want;
};

class Flags : public PostTest, public testing::WithParamInterface<FlagRow> {};

TEST_P(Flags, are_translated)
{
	const auto &row = GetParam();
	ibv_send_wr wr = send_wr(1);

	open(row.sig_all);
	wr.opcode = row.opcode;
	wr.send_flags = row.flags;
	EXPECT_EQ(post(wr), row.ret);
	if (!row.ret) {
		EXPECT_EQ(sqe(0).flags, row.want);
	}
	EXPECT_EQ(sq().hdr().prod, row.ret ? 0u : 1u);
}

INSTANTIATE_TEST_SUITE_P(
	table, Flags,
	testing::Values(
		FlagRow{ IBV_WR_SEND, 0, false, 0, 0 },
		FlagRow{ IBV_WR_SEND, 0, true, 0, MPA_SQE_SIGNALED },
		FlagRow{ IBV_WR_SEND, IBV_SEND_SIGNALED, false, 0,
			 MPA_SQE_SIGNALED },
		FlagRow{ IBV_WR_SEND, IBV_SEND_SIGNALED, true, 0,
			 MPA_SQE_SIGNALED },
		FlagRow{ IBV_WR_SEND, IBV_SEND_FENCE, false, 0,
			 MPA_SQE_FENCE },
		FlagRow{ IBV_WR_SEND, IBV_SEND_SOLICITED, false, 0,
			 MPA_SQE_SOLICITED },
		FlagRow{ IBV_WR_SEND_WITH_INV, IBV_SEND_SOLICITED, false, 0,
			 MPA_SQE_SOLICITED },
		/* These raise no event; the flag is dropped. */
		FlagRow{ IBV_WR_RDMA_WRITE, IBV_SEND_SOLICITED, false, 0, 0 },
		FlagRow{ IBV_WR_RDMA_READ, IBV_SEND_SOLICITED, false, 0, 0 },
		FlagRow{ IBV_WR_LOCAL_INV, IBV_SEND_SOLICITED, false, 0, 0 },
		FlagRow{ IBV_WR_RDMA_READ, IBV_SEND_FENCE | IBV_SEND_SIGNALED,
			 false, 0, MPA_SQE_FENCE | MPA_SQE_SIGNALED },
		FlagRow{ IBV_WR_LOCAL_INV, IBV_SEND_FENCE, false, 0,
			 MPA_SQE_FENCE },
		FlagRow{ IBV_WR_SEND, IBV_SEND_INLINE, false, 0,
			 MPA_SQE_INLINE },
		FlagRow{ IBV_WR_SEND_WITH_INV, IBV_SEND_INLINE, false, 0,
			 MPA_SQE_INLINE },
		FlagRow{ IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, false, 0,
			 MPA_SQE_INLINE },
		FlagRow{ IBV_WR_RDMA_READ, IBV_SEND_INLINE, false, EINVAL, 0 },
		FlagRow{ IBV_WR_LOCAL_INV, IBV_SEND_INLINE, false, EINVAL, 0 },
		FlagRow{ IBV_WR_SEND, IBV_SEND_IP_CSUM, false, EINVAL, 0 },
		FlagRow{ IBV_WR_SEND, 1u << 5, false, EINVAL, 0 },
		FlagRow{ IBV_WR_SEND, 1u << 31, false, EINVAL, 0 }));

TEST_F(PostTest, fills_a_write)
{
	ibv_sge sges[2] = { { 0x1000, 10, 7 }, { 0x2000, 20, 8 } };
	ibv_send_wr wr = send_wr(0xfeed);

	open();
	/* Left-overs from the last use of the slot must not show. */
	std::memset(static_cast<void *>(&sq().at<mpa_sqe>(0)), 0xff,
		    sq().stride);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.sg_list = sges;
	wr.num_sge = 2;
	wr.wr.rdma.remote_addr = 0x123456789abcdef0;
	wr.wr.rdma.rkey = 0xaabbcc00;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(0).wr_id, 0xfeedu);
	EXPECT_EQ(sqe(0).num_sge, 2);
	EXPECT_EQ(sqe(0).reserved, 0);
	EXPECT_EQ(sqe(0).length, 0u);
	EXPECT_EQ(sqe(0).remote_addr, 0x123456789abcdef0u);
	EXPECT_EQ(sqe(0).stag, 0xaabbcc00u);
	EXPECT_EQ(sqe(0).imm_data, 0u);
	EXPECT_EQ(sqe(0).sge[0].addr, 0x1000u);
	EXPECT_EQ(sqe(0).sge[1].addr, 0x2000u);
	EXPECT_EQ(sqe(0).sge[1].length, 20u);
	EXPECT_EQ(sqe(0).sge[1].lkey, 8u);
}

TEST_F(PostTest, fills_the_stag_of_invalidations)
{
	ibv_sge sges[3] = {};

	open();
	for (auto opcode : { IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV }) {
		ibv_send_wr wr = send_wr(1);

		wr.opcode = opcode;
		wr.invalidate_rkey = 0x5500 + opcode;
		ASSERT_EQ(post(wr), 0);
		EXPECT_EQ(sqe(sq().hdr().prod - 1).stag, 0x5500u + opcode);
	}

	/* A local invalidation has no buffers; any given are not read. */
	ibv_send_wr wr = send_wr(1);

	wr.opcode = IBV_WR_LOCAL_INV;
	wr.sg_list = sges;
	wr.num_sge = 3;
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(sqe(2).num_sge, 0);
}

struct SgeRow {
	ibv_wr_opcode opcode;
	int num_sge;
	bool list;
	std::uint32_t length;	/* of each */
	int ret;
};

class Sges : public PostTest, public testing::WithParamInterface<SgeRow> {};

TEST_P(Sges, are_checked)
{
	const auto &row = GetParam();
	ibv_sge sges[4] = { { 0, row.length, 1 }, { 0, row.length, 1 },
			    { 0, row.length, 1 }, { 0, row.length, 1 } };
	ibv_send_wr wr = send_wr(1);

	open();
	wr.opcode = row.opcode;
	wr.num_sge = row.num_sge;
	wr.sg_list = row.list ? sges : nullptr;
	EXPECT_EQ(post(wr), row.ret);
	EXPECT_EQ(bad, row.ret ? &wr : nullptr);
	EXPECT_EQ(sq().hdr().prod, row.ret ? 0u : 1u);
	EXPECT_EQ(kernel.doorbells.size(), row.ret ? 0u : 1u);
}

INSTANTIATE_TEST_SUITE_P(
	table, Sges,
	testing::Values(SgeRow{ IBV_WR_SEND, 0, false, 0, 0 },
			SgeRow{ IBV_WR_SEND, 1, true, 0, 0 },
			SgeRow{ IBV_WR_SEND, 2, true, 100, 0 },
			SgeRow{ IBV_WR_SEND, 3, true, 100, EINVAL },
			SgeRow{ IBV_WR_SEND, -1, true, 100, EINVAL },
			SgeRow{ IBV_WR_SEND, INT32_MIN, true, 100, EINVAL },
			SgeRow{ IBV_WR_SEND, INT32_MAX, true, 100, EINVAL },
			SgeRow{ IBV_WR_SEND, 1, false, 100, EINVAL },
			/* No message is longer than the port's limit. */
			SgeRow{ IBV_WR_SEND, 1, true, MPA_MAX_MSG_SIZE, 0 },
			SgeRow{ IBV_WR_SEND, 1, true, MPA_MAX_MSG_SIZE + 1,
				EINVAL },
			SgeRow{ IBV_WR_SEND, 1, true, 0xffffffff, EINVAL },
			SgeRow{ IBV_WR_SEND, 2, true, MPA_MAX_MSG_SIZE / 2, 0 },
			SgeRow{ IBV_WR_SEND, 2, true, MPA_MAX_MSG_SIZE / 2 + 1,
				EINVAL },
			SgeRow{ IBV_WR_SEND, 2, true, 0x80000000, EINVAL },
			SgeRow{ IBV_WR_RDMA_WRITE, 1, true,
				MPA_MAX_MSG_SIZE + 1, EINVAL },
			SgeRow{ IBV_WR_RDMA_READ, 1, true, MPA_MAX_MSG_SIZE,
				0 },
			SgeRow{ IBV_WR_RDMA_READ, 1, true,
				MPA_MAX_MSG_SIZE + 1, EINVAL },
			SgeRow{ IBV_WR_RDMA_WRITE, 2, true, 8, 0 },
			SgeRow{ IBV_WR_RDMA_WRITE, 3, true, 8, EINVAL },
			SgeRow{ IBV_WR_SEND_WITH_INV, 2, true, 8, 0 },
			SgeRow{ IBV_WR_SEND_WITH_INV, 3, true, 8, EINVAL },
			SgeRow{ IBV_WR_RDMA_READ, 0, false, 0, 0 },
			SgeRow{ IBV_WR_RDMA_READ, 1, true, 8, 0 },
			SgeRow{ IBV_WR_RDMA_READ, 2, true, 8, EINVAL }));

struct InlineRow {
	std::vector<std::uint32_t> pieces;
	int ret;
};

class Inline : public PostTest,
	       public testing::WithParamInterface<InlineRow> {};

TEST_P(Inline, gathers_up_to_the_limit)
{
	const auto &row = GetParam();
	std::vector<std::uint8_t> source(256);
	std::vector<ibv_sge> sges;
	std::uint32_t total = 0;

	open();
	for (std::size_t i = 0; i < source.size(); i++)
		source[i] = static_cast<std::uint8_t>(i + 1);
	for (auto length : row.pieces) {
		sges.push_back({ reinterpret_cast<std::uintptr_t>(
					 source.data() + total),
				 length, 0 });
		total += length;
	}
	ibv_send_wr wr = send_wr(1);
	wr.send_flags = IBV_SEND_INLINE;
	wr.sg_list = sges.data();
	wr.num_sge = static_cast<int>(sges.size());
	ASSERT_EQ(post(wr), row.ret);
	if (row.ret) {
		EXPECT_EQ(sq().hdr().prod, 0u);
		return;
	}
	/* The buffer belongs to the program again. */
	auto want = source;
	std::fill(source.begin(), source.end(), 0);
	EXPECT_EQ(sqe(0).length, total);
	EXPECT_EQ(sqe(0).num_sge, 0);
	EXPECT_EQ(std::memcmp(sqe(0).sge, want.data(), total), 0);
}

INSTANTIATE_TEST_SUITE_P(
	table, Inline,
	testing::Values(InlineRow{ {}, 0 }, InlineRow{ { 0 }, 0 },
			InlineRow{ { 1 }, 0 }, InlineRow{ { 64 }, 0 },
			InlineRow{ { 65 }, EINVAL },
			InlineRow{ { 63, 1 }, 0 },
			InlineRow{ { 32, 33 }, EINVAL },
			InlineRow{ { 64, 0 }, 0 },
			InlineRow{ { 1, 1, 1 }, EINVAL }));

TEST_F(PostTest, inline_survives_bad_lists)
{
	ibv_send_wr wr = send_wr(1);
	ibv_sge huge[2] = { { 0x10, 0xffffffff, 0 }, { 0x10, 0xffffffff, 0 } };
	ibv_sge null[1] = { { 0, 1, 0 } };

	open();
	wr.send_flags = IBV_SEND_INLINE;
	wr.num_sge = 1;
	EXPECT_EQ(post(wr), EINVAL) << "no list";
	wr.sg_list = null;
	EXPECT_EQ(post(wr), EINVAL) << "no buffer";
	wr.sg_list = huge;
	wr.num_sge = 2;
	EXPECT_EQ(post(wr), EINVAL) << "much too long";
	EXPECT_EQ(sq().hdr().prod, 0u);
}

TEST_F(PostTest, limits_are_those_an_entry_has_room_for)
{
	kernel.edit_qp = [](mpa_create_qp_resp &r) {
		r.sqe_stride = sizeof(mpa_sqe) + sizeof(mpa_sge);
		r.rqe_stride = sizeof(mpa_rqe) + sizeof(mpa_sge);
	};
	open();
	ibv_sge sges[2] = {};
	ibv_send_wr wr = send_wr(1);
	ibv_recv_wr rwr{};
	std::uint8_t data[64] = {};

	wr.sg_list = sges;
	wr.num_sge = 2;
	EXPECT_EQ(post(wr), EINVAL);
	wr.num_sge = 1;
	EXPECT_EQ(post(wr), 0);
	sges[0] = { reinterpret_cast<std::uintptr_t>(data), 17, 0 };
	wr.send_flags = IBV_SEND_INLINE;
	EXPECT_EQ(post(wr), EINVAL);
	sges[0].length = 16;
	EXPECT_EQ(post(wr), 0);
	rwr.sg_list = sges;
	rwr.num_sge = 2;
	EXPECT_EQ(post(rwr), EINVAL);
}

/* The queue, the list, the doorbell. */

TEST_F(PostTest, full_queue_is_enomem)
{
	ibv_send_wr wr[6];

	open();
	for (int i = 5; i >= 0; i--)
		wr[i] = send_wr(i, i < 5 ? &wr[i + 1] : nullptr);
	EXPECT_EQ(post(wr[0]), ENOMEM);
	EXPECT_EQ(bad, &wr[4]);
	EXPECT_EQ(sq().hdr().prod, 4u);
	EXPECT_EQ(kernel.doorbells.size(), 1u);

	/* Nothing fits, so the kernel is not called. */
	EXPECT_EQ(post(wr[5]), ENOMEM);
	EXPECT_EQ(bad, &wr[5]);
	EXPECT_EQ(kernel.doorbells.size(), 1u);

	sq().hdr().cons = 1;
	EXPECT_EQ(post(wr[4]), ENOMEM);
	EXPECT_EQ(bad, &wr[5]);
	EXPECT_EQ(sqe(4).wr_id, 4u);
	EXPECT_EQ(sq().hdr().prod, 5u);
}

TEST_F(PostTest, goes_round_many_times)
{
	open();
	for (std::uint64_t i = 0; i < 1000; i++) {
		ibv_send_wr second = send_wr(2 * i + 1);
		ibv_send_wr first = send_wr(2 * i, &second);

		ASSERT_EQ(post(first), 0);
		for (std::uint32_t j = 0; j < 2; j++)
			ASSERT_EQ(sqe(2 * i + j).wr_id, 2 * i + j);
		consume(sq());
	}
	EXPECT_EQ(kernel.doorbells.size(), 1000u);
}

TEST_F(PostTest, senseless_consumer_leaves_no_room)
{
	ibv_send_wr wr = send_wr(1);

	open();
	sq().hdr().cons = 17;
	EXPECT_EQ(post(wr), ENOMEM);
}

TEST_F(PostTest, stops_at_the_first_bad_request)
{
	ibv_send_wr wr[3];

	open();
	wr[2] = send_wr(2);
	wr[1] = send_wr(1, &wr[2]);
	wr[0] = send_wr(0, &wr[1]);
	wr[1].opcode = IBV_WR_TSO;
	EXPECT_EQ(post(wr[0]), EINVAL);
	EXPECT_EQ(bad, &wr[1]);
	EXPECT_EQ(sq().hdr().prod, 1u);
	EXPECT_EQ(kernel.doorbells.size(), 1u);

	/* The slot of the refused request is used for the next one. */
	wr[1].opcode = IBV_WR_SEND;
	EXPECT_EQ(post(wr[1]), 0);
	EXPECT_EQ(sq().hdr().prod, 3u);
	EXPECT_EQ(sqe(1).wr_id, 1u);
	EXPECT_EQ(sqe(2).wr_id, 2u);
}

TEST_F(PostTest, one_doorbell_for_a_list)
{
	ibv_send_wr wr[3];

	open();
	wr[2] = send_wr(2);
	wr[1] = send_wr(1, &wr[2]);
	wr[0] = send_wr(0, &wr[1]);
	EXPECT_EQ(post(wr[0]), 0);
	ASSERT_EQ(kernel.doorbells.size(), 1u);

	const auto &bell = kernel.doorbells[0];
	EXPECT_EQ(bell.hdr.command, unsigned{ IB_USER_VERBS_CMD_POST_SEND });
	EXPECT_EQ(bell.hdr.in_words, 8);
	EXPECT_EQ(bell.hdr.out_words, 1);
	EXPECT_EQ(bell.cmd.qp_handle, qp->handle);
	EXPECT_EQ(bell.cmd.wr_count, 0u);
	EXPECT_EQ(bell.cmd.sge_count, 0u);
	EXPECT_EQ(bell.cmd.wqe_size, sizeof(ib_uverbs_send_wr));
	EXPECT_NE(bell.cmd.response, 0u);
}

TEST_F(PostTest, refused_doorbell_is_an_error)
{
	ibv_send_wr second = send_wr(2), first = send_wr(1, &second);

	open();
	for (int err : { EIO, ENODEV, ENOENT, EINVAL }) {
		kernel.write_errors = { err };
		EXPECT_EQ(post(first), err);
		EXPECT_EQ(bad, &first);
		consume(sq());
	}
	kernel.write_short = 16;
	EXPECT_EQ(post(first), EIO);
	/* Indices only grow. */
	EXPECT_EQ(sq().hdr().prod, 10u);
}

TEST_F(PostTest, refused_doorbell_comes_before_a_bad_request)
{
	ibv_send_wr second = send_wr(2), first = send_wr(1, &second);

	open();
	second.opcode = IBV_WR_TSO;
	kernel.write_errors = { EIO };
	EXPECT_EQ(post(first), EIO);
	EXPECT_EQ(bad, &first);
}

TEST_F(PostTest, interrupted_doorbell_is_rung_again)
{
	ibv_send_wr wr = send_wr(1);

	open();
	kernel.write_errors = { EINTR, ENOMEM, 0 };
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(kernel.doorbells.size(), 1u);
	EXPECT_TRUE(kernel.write_errors.empty());
	EXPECT_EQ(sq().hdr().prod, 1u);
}

/* A process that changed its credentials after it opened the device. */
TEST_F(PostTest, denied_write_leads_to_the_other_way)
{
	ibv_send_wr wr = send_wr(1);

	open();
	kernel.write_errors = { EACCES, EIO };
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(kernel.commands, (std::vector<std::string>{ "post_send" }));
	/* write() is not tried again. */
	EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(kernel.write_errors.size(), 1u);
	EXPECT_EQ(kernel.commands.size(), 2u);

	kernel.refuse["post_send"] = ENODEV;
	EXPECT_EQ(post(wr), ENODEV);
	EXPECT_EQ(bad, &wr);
}

TEST_F(PostTest, a_cancelled_thread_posts_and_leaves_no_lock)
{
	bool sent = false, received = false;

	open();
	rq().hdr().arm = MPA_ARM_NEXT;
	std::thread thread([&] {
		ibv_send_wr send = send_wr(1);
		ibv_recv_wr recv = {};

		pthread_cancel(pthread_self());
		sent = !post(send);
		received = !post(recv);
		pthread_testcancel();
	});
	thread.join();
	ASSERT_TRUE(sent && received);
	EXPECT_EQ(kernel.doorbells.size(), 2u);

	/* Its locks are free. */
	ibv_send_wr send = send_wr(2);
	ibv_recv_wr recv = {};

	EXPECT_EQ(post(send), 0);
	EXPECT_EQ(post(recv), 0);
}

TEST_F(PostTest, threads_do_not_lose_each_others_requests)
{
	constexpr int threads = 4, each = 2000;
	std::vector<std::thread> posters;
	std::vector<int> seen(threads * each);
	int refused = 0;

	open();
	for (int t = 0; t < threads; t++) {
		posters.emplace_back([&, t] {
			for (int i = 0; i < each;) {
				ibv_send_wr wr = send_wr(t * each + i), *b;
				int ret = kernel.ops.post_send(qp, &wr, &b);

				if (!ret)
					i++;
				else if (ret != ENOMEM)
					__atomic_add_fetch(&refused, 1,
							   __ATOMIC_RELAXED);
				if (ret)
					std::this_thread::yield();
			}
		});
	}
	for (std::uint32_t cons = 0; cons != threads * each;) {
		if (__atomic_load_n(&sq().hdr().prod, __ATOMIC_ACQUIRE) ==
		    cons) {
			std::this_thread::yield();
			continue;
		}
		seen.at(sqe(cons++).wr_id)++;
		__atomic_store_n(&sq().hdr().cons, cons, __ATOMIC_RELEASE);
	}
	for (auto &poster : posters)
		poster.join();
	EXPECT_EQ(refused, 0);
	EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), threads * each);
	EXPECT_EQ(kernel.doorbells.size(), std::size_t{ threads * each });
}

/* Receives. */

ibv_recv_wr recv_wr(std::uint64_t id, ibv_recv_wr *next = nullptr)
{
	ibv_recv_wr wr{};

	wr.wr_id = id;
	wr.next = next;
	return wr;
}

TEST_F(PostTest, recv_fills_the_entry)
{
	ibv_sge sges[2] = { { 0x1000, 10, 7 }, { 0x2000, 20, 8 } };
	ibv_recv_wr wr = recv_wr(0xbeef);

	open();
	std::memset(static_cast<void *>(&rq().at<mpa_rqe>(0)), 0xff,
		    rq().stride);
	wr.sg_list = sges;
	wr.num_sge = 2;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(rqe(0).wr_id, 0xbeefu);
	EXPECT_EQ(rqe(0).num_sge, 2u);
	EXPECT_EQ(rqe(0).reserved, 0u);
	EXPECT_EQ(rqe(0).sge[1].addr, 0x2000u);
	EXPECT_EQ(rqe(0).sge[1].length, 20u);
	EXPECT_EQ(rqe(0).sge[1].lkey, 8u);
	EXPECT_EQ(rq().hdr().prod, 1u);
	EXPECT_TRUE(kernel.doorbells.empty());
	EXPECT_TRUE(kernel.commands.empty());
}

TEST_F(PostTest, recv_arguments_are_checked)
{
	ibv_sge sges[3] = { { 0, 0x80000000, 1 }, { 0, 0x80000000, 1 } };
	const struct {
		int num_sge;
		ibv_sge *list;
		int ret;
	} rows[] = {
		{ 0, nullptr, 0 },	   { 1, sges, 0 },
		{ 1, nullptr, EINVAL },	   { 3, sges, EINVAL },
		{ -1, sges, EINVAL },	   { 2, sges, EINVAL },
		{ INT32_MIN, sges, EINVAL }, { INT32_MAX, sges, EINVAL },
	};
	std::uint32_t posted = 0;

	open();
	for (const auto &row : rows) {
		ibv_recv_wr wr = recv_wr(1);

		wr.num_sge = row.num_sge;
		wr.sg_list = row.list;
		EXPECT_EQ(post(wr), row.ret) << row.num_sge;
		EXPECT_EQ(bad_recv, row.ret ? &wr : nullptr);
		posted += !row.ret;
		EXPECT_EQ(rq().hdr().prod, posted);
	}
}

TEST_F(PostTest, full_receive_queue_is_enomem)
{
	ibv_recv_wr wr[6];

	open();
	for (int i = 5; i >= 0; i--)
		wr[i] = recv_wr(i, i < 5 ? &wr[i + 1] : nullptr);
	EXPECT_EQ(post(wr[0]), ENOMEM);
	EXPECT_EQ(bad_recv, &wr[4]);
	EXPECT_EQ(rq().hdr().prod, 4u);
	consume(rq());
	EXPECT_EQ(post(wr[4]), 0);
	EXPECT_EQ(rq().hdr().prod, 6u);
	EXPECT_EQ(rqe(4).wr_id, 4u);
}

/* After the end of a stream the kernel must be notified of every receive. */
TEST_F(PostTest, recv_rings_if_the_kernel_asked)
{
	ibv_recv_wr second = recv_wr(2), first = recv_wr(1, &second);

	open();
	rq().hdr().arm = MPA_ARM_NEXT;
	EXPECT_EQ(post(first), 0);
	EXPECT_EQ(kernel.doorbells.size(), 1u);
	EXPECT_EQ(kernel.doorbells[0].cmd.qp_handle, qp->handle);
	EXPECT_EQ(kernel.doorbells[0].cmd.wr_count, 0u);

	/* Nothing posted, so the kernel is not called. */
	second.num_sge = -1;
	EXPECT_EQ(post(second), EINVAL);
	EXPECT_EQ(kernel.doorbells.size(), 1u);

	consume(rq());
	second.num_sge = 0;
	kernel.write_errors = { ENODEV };
	EXPECT_EQ(post(first), ENODEV);
	EXPECT_EQ(bad_recv, &first);

	consume(rq());
	rq().hdr().arm = MPA_ARM_NONE;
	EXPECT_EQ(post(first), 0);
	EXPECT_EQ(kernel.doorbells.size(), 1u);
}

/* The module has doorbells. */
class DoorbellTest : public ProviderTest {
protected:
	DoorbellTest() : ProviderTest(~0u) {}
	~DoorbellTest() override
	{
		if (qp)
			destroy(qp);
	}

	int send()
	{
		ibv_send_wr wr = send_wr(1), *bad;

		return kernel.ops.post_send(qp, &wr, &bad);
	}

	ibv_qp *qp = nullptr;
};

TEST_F(DoorbellTest, is_rung_with_the_number_of_the_queue_pair)
{
	ibv_recv_wr receive{}, *bad;

	qp = make_qp();
	EXPECT_EQ(send(), 0);
	EXPECT_EQ(kernel.rung, (std::vector<std::uint32_t>{ qp->handle << 4 }));

	/* The receive queue asks for it after the end of a stream. */
	EXPECT_EQ(kernel.ops.post_recv(qp, &receive, &bad), 0);
	EXPECT_EQ(kernel.rung.size(), 1u);
	kernel.rq(qp->handle).hdr().arm = MPA_ARM_NEXT;
	EXPECT_EQ(kernel.ops.post_recv(qp, &receive, &bad), 0);
	EXPECT_EQ(kernel.rung.size(), 2u);
	EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(DoorbellTest, is_not_rung_for_a_queue_pair_that_it_does_not_serve)
{
	kernel.edit_qp = [](mpa_create_qp_resp &drv) { drv.doorbell = MPA_NO_DOORBELL; };
	qp = make_qp();
	EXPECT_EQ(send(), 0);
	EXPECT_TRUE(kernel.rung.empty());
	EXPECT_EQ(kernel.doorbells.size(), 1u);
}

/* There is no other way then: the device or the queue pair is gone. */
TEST_F(DoorbellTest, errors_are_those_of_posting)
{
	qp = make_qp();
	for (int err : { EIO, EINVAL, ENODEV }) {
		kernel.ring_errors = { err };
		EXPECT_EQ(send(), err);
	}
	EXPECT_TRUE(kernel.doorbells.empty());
	EXPECT_EQ(kernel.sq(qp->handle).hdr().prod, 3u);
}

TEST(Doorbell, is_made_and_closed_with_the_context)
{
	/* Features of the module, error of the command, whether there is one. */
	const struct {
		std::uint32_t features;
		int error;
		bool made;
	} rows[] = {
		{ 0, 0, false },
		{ MPA_FEATURE_SRQ, 0, false },
		{ MPA_FEATURE_DOORBELL, 0, true },
		/* The program has no descriptor left. */
		{ MPA_FEATURE_DOORBELL, EMFILE, false },
	};

	for (const auto &row : rows) {
		fake::Kernel kernel;
		ibv_device device{};

		kernel.features = row.features;
		if (row.error)
			kernel.refuse["create_doorbell"] = row.error;
		verbs_context *ctx = fake::Kernel::driver().alloc_context(
			&device, 0x6d7061, nullptr);
		ASSERT_NE(ctx, nullptr);
		const int fd = kernel.doorbell_fd;

		EXPECT_EQ(fd >= 0, row.made);
		kernel.ops.free_context(&ctx->context);
		EXPECT_TRUE(!row.made || ::fcntl(fd, F_GETFD) == -1);
	}
}

} // namespace
