/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* cq.c, cq_ex.c, wc.c: completions on their way to the program. */
#include "fake_kernel.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <future>

#include <unistd.h>

namespace {

using fake::ProviderTest;

class CqTest : public ProviderTest {
protected:
	/* The kernel reports a completion. */
	void push(ibv_cq *cq, const mpa_cqe &cqe)
	{
		auto &ring = kernel.cq(cq->handle);

		ring.at<mpa_cqe>(ring.hdr().prod) = cqe;
		__atomic_store_n(&ring.hdr().prod, ring.hdr().prod + 1,
				 __ATOMIC_RELEASE);
	}

	void push(ibv_cq *cq, std::uint64_t wr_id, std::uint32_t qp_num = 1)
	{
		mpa_cqe cqe{};

		cqe.wr_id = wr_id;
		cqe.qp_num = qp_num;
		cqe.opcode = MPA_CQE_RECV;
		push(cq, cqe);
	}

	int poll(ibv_cq *cq, int n, ibv_wc *wc)
	{
		return kernel.ops.poll_cq(cq, n, wc);
	}

	/* wr_ids of all completions that are ready. */
	std::vector<std::uint64_t> drain(ibv_cq *cq)
	{
		std::vector<std::uint64_t> ids;
		ibv_wc wc;

		while (poll(cq, 1, &wc) == 1)
			ids.push_back(wc.wr_id);
		return ids;
	}

	ibv_cq_ex *make_cq_ex(int cqe = 4, std::uint32_t flags = 0)
	{
		ibv_cq_init_attr_ex attr{};

		attr.cqe = cqe;
		attr.wc_flags = IBV_WC_STANDARD_FLAGS;
		attr.comp_mask = flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0;
		attr.flags = flags;
		return kernel.ops.create_cq_ex(context(), &attr);
	}
};

TEST_F(CqTest, creation_passes_the_arguments_on)
{
	ibv_comp_channel channel{};
	ibv_cq *cq = kernel.ops.create_cq(context(), 8, &channel, 2);

	ASSERT_NE(cq, nullptr);
	EXPECT_EQ(kernel.cq_attr.cqe, 8u);
	EXPECT_EQ(kernel.cq_attr.channel, &channel);
	EXPECT_EQ(kernel.cq_attr.comp_vector, 2u);
	destroy(cq);
}

TEST_F(CqTest, creation_refuses_negative_numbers)
{
	EXPECT_EQ(kernel.ops.create_cq(context(), -1, nullptr, 0), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(kernel.ops.create_cq(context(), 1, nullptr, -1), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_TRUE(kernel.commands.empty());
}

struct GeometryRow {
	std::uint32_t entries;	/* 0: as created */
	std::uint32_t len;
	bool no_entries;
};

class Geometry : public CqTest,
		 public testing::WithParamInterface<GeometryRow> {};

TEST_P(Geometry, unsound_is_refused)
{
	const auto &row = GetParam();

	kernel.edit_cq = [&](mpa_create_cq_resp &resp) {
		if (row.entries || row.no_entries)
			resp.num_cqe = row.entries;
		if (row.len)
			resp.ring_len = row.len;
	};
	EXPECT_EQ(kernel.ops.create_cq(context(), 4, nullptr, 0), nullptr);
	EXPECT_EQ(errno, EPROTO);
	EXPECT_EQ(kernel.commands.back(), "destroy_cq");
	EXPECT_FALSE(kernel.log.empty());
}

INSTANTIATE_TEST_SUITE_P(
	table, Geometry,
	testing::Values(GeometryRow{ 0, 0, true }, GeometryRow{ 3, 0, false },
			GeometryRow{ 4, 255, false },
			GeometryRow{ 0x80000000, 0, false }));

TEST_F(CqTest, creation_failures_are_undone)
{
	kernel.refuse["create_cq"] = ENOSPC;
	EXPECT_EQ(kernel.ops.create_cq(context(), 4, nullptr, 0), nullptr);
	EXPECT_EQ(errno, ENOSPC);
	kernel.refuse.clear();

	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.create_cq(context(), 4, nullptr, 0), nullptr);
	EXPECT_EQ(errno, ENOMEM);

	kernel.fail_mmap = 1;
	EXPECT_EQ(kernel.ops.create_cq(context(), 4, nullptr, 0), nullptr);
	EXPECT_EQ(errno, EAGAIN);
	EXPECT_EQ(kernel.commands.back(), "destroy_cq");
}

TEST_F(CqTest, refused_destruction_keeps_the_queue)
{
	ibv_cq *cq = make_cq();

	kernel.refuse["destroy_cq"] = EBUSY;
	EXPECT_EQ(kernel.ops.destroy_cq(cq), EBUSY);
	push(cq, 9);
	EXPECT_EQ(drain(cq), (std::vector<std::uint64_t>{ 9 }));
	kernel.refuse.clear();
	destroy(cq);
}

/* Every status and every opcode that a byte can hold. */

TEST_F(CqTest, every_status_is_translated)
{
	const std::map<int, ibv_wc_status> known{
		{ 0, IBV_WC_SUCCESS },
		{ 1, IBV_WC_LOC_LEN_ERR },
		{ 2, IBV_WC_LOC_QP_OP_ERR },
		{ 4, IBV_WC_LOC_PROT_ERR },
		{ 5, IBV_WC_WR_FLUSH_ERR },
		{ 6, IBV_WC_MW_BIND_ERR },
		{ 8, IBV_WC_LOC_ACCESS_ERR },
		{ 9, IBV_WC_REM_INV_REQ_ERR },
		{ 10, IBV_WC_REM_ACCESS_ERR },
		{ 11, IBV_WC_REM_OP_ERR },
		{ 19, IBV_WC_FATAL_ERR },
		{ 21, IBV_WC_GENERAL_ERR },
	};
	ibv_cq *cq = make_cq();

	for (int status = 0; status < 256; status++) {
		mpa_cqe cqe{};
		ibv_wc wc;

		cqe.status = static_cast<std::uint8_t>(status);
		cqe.opcode = MPA_WR_SEND;
		push(cq, cqe);
		ASSERT_EQ(poll(cq, 1, &wc), 1);
		auto found = known.find(status);
		EXPECT_EQ(wc.status, found == known.end() ?
					     IBV_WC_GENERAL_ERR :
					     found->second)
			<< status;
	}
	destroy(cq);
}

TEST_F(CqTest, every_opcode_is_translated)
{
	const std::map<int, ibv_wc_opcode> known{
		{ MPA_WR_WRITE, IBV_WC_RDMA_WRITE },
		{ MPA_WR_SEND, IBV_WC_SEND },
		{ MPA_WR_SEND_INV, IBV_WC_SEND },
		{ MPA_WR_READ, IBV_WC_RDMA_READ },
		{ MPA_WR_READ_INV, IBV_WC_RDMA_READ },
		{ MPA_WR_LOCAL_INV, IBV_WC_LOCAL_INV },
		{ MPA_WR_BIND_MW, IBV_WC_BIND_MW },
		{ MPA_CQE_RECV, IBV_WC_RECV },
		{ MPA_WR_WRITE_IMM, IBV_WC_RDMA_WRITE },
		{ MPA_WR_FETCH_ADD, IBV_WC_FETCH_ADD },
		{ MPA_WR_CMP_SWAP, IBV_WC_COMP_SWAP },
		{ MPA_WR_SWAP, IBV_WC_COMP_SWAP },
		{ MPA_CQE_RECV_IMM, IBV_WC_RECV_RDMA_WITH_IMM },
	};
	ibv_cq *cq = make_cq();

	for (int opcode = 0; opcode < 256; opcode++) {
		mpa_cqe cqe{};
		ibv_wc wc;

		cqe.opcode = static_cast<std::uint8_t>(opcode);
		push(cq, cqe);
		ASSERT_EQ(poll(cq, 1, &wc), 1);
		auto found = known.find(opcode);
		if (found != known.end()) {
			EXPECT_EQ(wc.opcode, found->second) << opcode;
			EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << opcode;
		} else {
			EXPECT_EQ(wc.opcode, IBV_WC_DRIVER1) << opcode;
			EXPECT_EQ(wc.status, IBV_WC_GENERAL_ERR) << opcode;
		}
	}
	destroy(cq);
}

TEST_F(CqTest, every_field_arrives)
{
	ibv_cq *cq = make_cq();
	mpa_cqe cqe{};
	ibv_wc wc;

	cqe.wr_id = 0x1122334455667788;
	cqe.qp_num = 77;
	cqe.byte_len = 4097;
	cqe.inv_stag = 0xabcdef00;
	cqe.opcode = MPA_CQE_RECV;
	cqe.flags = MPA_CQE_INVALIDATED | MPA_CQE_SOLICITED;
	cqe.vendor_err = 0x1205;
	push(cq, cqe);
	std::memset(&wc, 0xff, sizeof(wc));
	ASSERT_EQ(poll(cq, 1, &wc), 1);
	EXPECT_EQ(wc.wr_id, 0x1122334455667788u);
	EXPECT_EQ(wc.qp_num, 77u);
	EXPECT_EQ(wc.byte_len, 4097u);
	EXPECT_EQ(wc.vendor_err, 0x1205u);
	EXPECT_EQ(wc.wc_flags, unsigned{ IBV_WC_WITH_INV });
	EXPECT_EQ(wc.invalidated_rkey, 0xabcdef00u);
	EXPECT_EQ(wc.src_qp, 0u);
	EXPECT_EQ(wc.pkey_index, 0u);
	EXPECT_EQ(wc.slid, 0u);

	/* Without the flag there is no STag. */
	cqe.flags = MPA_CQE_SOLICITED;
	push(cq, cqe);
	ASSERT_EQ(poll(cq, 1, &wc), 1);
	EXPECT_EQ(wc.wc_flags, 0u);
	EXPECT_EQ(wc.invalidated_rkey, 0u);
	destroy(cq);
}

TEST_F(CqTest, polls_no_more_than_asked)
{
	ibv_cq *cq = make_cq(4);
	std::array<ibv_wc, 8> wc;

	EXPECT_EQ(poll(cq, 8, wc.data()), 0);
	for (std::uint64_t id = 1; id <= 4; id++)
		push(cq, id);
	EXPECT_EQ(poll(cq, 0, wc.data()), 0);
	EXPECT_EQ(poll(cq, 3, wc.data()), 3);
	EXPECT_EQ(kernel.cq(cq->handle).hdr().cons, 3u);
	EXPECT_EQ(wc[2].wr_id, 3u);
	EXPECT_EQ(poll(cq, 8, wc.data()), 1);
	EXPECT_EQ(wc[0].wr_id, 4u);
	EXPECT_EQ(poll(cq, 8, wc.data()), 0);
	EXPECT_EQ(kernel.cq(cq->handle).hdr().cons, 4u);
	destroy(cq);
}

TEST_F(CqTest, goes_round_many_times)
{
	ibv_cq *cq = make_cq(4);
	ibv_wc wc[3];
	std::uint64_t in = 0, out = 0;

	for (int round = 0; round < 1000; round++) {
		for (int i = 0; i < 3; i++)
			push(cq, in++);
		ASSERT_EQ(poll(cq, 3, wc), 3);
		for (const auto &w : wc)
			ASSERT_EQ(w.wr_id, out++);
	}
	destroy(cq);
}

/* The memory of a removed device reads as zeros. */
TEST_F(CqTest, senseless_index_is_an_error)
{
	ibv_cq *cq = make_cq(4);
	ibv_wc wc;

	push(cq, 1);
	ASSERT_EQ(poll(cq, 1, &wc), 1);
	kernel.cq(cq->handle).hdr().prod = 0;
	EXPECT_EQ(poll(cq, 1, &wc), -EIO);
	kernel.cq(cq->handle).hdr().prod = 6;
	EXPECT_EQ(poll(cq, 1, &wc), -EIO);
	kernel.cq(cq->handle).hdr().prod = 5;
	EXPECT_EQ(poll(cq, 1, &wc), 1);
	destroy(cq);
}

TEST_F(CqTest, arming_needs_no_command)
{
	ibv_cq *cq = make_cq();
	auto &arm = kernel.cq(cq->handle).hdr().arm;

	kernel.commands.clear();
	EXPECT_EQ(kernel.ops.req_notify_cq(cq, 1), 0);
	EXPECT_EQ(arm, std::uint32_t{ MPA_ARM_SOLICITED });
	EXPECT_EQ(kernel.ops.req_notify_cq(cq, 0), 0);
	EXPECT_EQ(arm, std::uint32_t{ MPA_ARM_NEXT });
	EXPECT_EQ(kernel.ops.req_notify_cq(cq, 1), 0);
	EXPECT_EQ(arm, std::uint32_t{ MPA_ARM_NEXT });
	/* The kernel takes the request; the next one starts from zero. */
	arm = MPA_ARM_NONE;
	EXPECT_EQ(kernel.ops.req_notify_cq(cq, 1), 0);
	EXPECT_EQ(arm, std::uint32_t{ MPA_ARM_SOLICITED });
	EXPECT_TRUE(kernel.commands.empty());
	EXPECT_TRUE(kernel.doorbells.empty());
	destroy(cq);
}

/* Another size. */

TEST_F(CqTest, resizing_goes_on_where_it_was)
{
	ibv_cq *cq = make_cq(4);

	push(cq, 1);
	push(cq, 2);
	push(cq, 3);
	ibv_wc wc;
	ASSERT_EQ(poll(cq, 1, &wc), 1);
	EXPECT_EQ(kernel.ops.resize_cq(cq, 16), 0);
	for (std::uint64_t id = 4; id <= 12; id++)
		push(cq, id);
	EXPECT_EQ(drain(cq),
		  (std::vector<std::uint64_t>{ 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }));
	EXPECT_EQ(kernel.cq(cq->handle).hdr().cons, 12u);
	/* Again, and smaller. */
	push(cq, 13);
	EXPECT_EQ(kernel.ops.resize_cq(cq, 2), 0);
	push(cq, 14);
	EXPECT_EQ(drain(cq), (std::vector<std::uint64_t>{ 13, 14 }));
	destroy(cq);
}

TEST_F(CqTest, refused_resizing_changes_nothing)
{
	ibv_cq *cq = make_cq(4);

	push(cq, 1);
	kernel.refuse["resize_cq"] = EINVAL;
	EXPECT_EQ(kernel.ops.resize_cq(cq, 1), EINVAL);
	EXPECT_EQ(drain(cq), (std::vector<std::uint64_t>{ 1 }));
	push(cq, 2);
	EXPECT_EQ(drain(cq), (std::vector<std::uint64_t>{ 2 }));
	destroy(cq);
}

/* The header stays where it is, so that a request needs no lock. */
TEST_F(CqTest, resizing_keeps_the_request_for_an_event)
{
	ibv_cq *cq = make_cq(4);
	const auto &arm = kernel.cq(cq->handle).hdr().arm;

	EXPECT_EQ(kernel.ops.req_notify_cq(cq, 1), 0);
	for (int cqe : { 8, 16, 2 }) {
		EXPECT_EQ(kernel.ops.resize_cq(cq, cqe), 0);
		EXPECT_EQ(&kernel.cq(cq->handle).hdr().arm, &arm);
		EXPECT_EQ(arm, std::uint32_t{ MPA_ARM_SOLICITED });
	}
	EXPECT_EQ(kernel.ops.req_notify_cq(cq, 0), 0);
	EXPECT_EQ(arm, std::uint32_t{ MPA_ARM_NEXT });
	destroy(cq);
}

TEST_F(CqTest, resizing_keeps_two_mappings_at_the_most)
{
	ibv_cq *cq = make_cq(4);

	for (int n = 0; n < 20; n++) {
		EXPECT_EQ(kernel.ops.resize_cq(cq, n % 2 ? 4 : 1024), 0);
		EXPECT_EQ(kernel.objects["mapping"], 2);
	}
	destroy(cq);
}

/* Without addresses the kernel is not asked: the ring could not be mapped. */
TEST_F(CqTest, resizing_reserves_addresses_first)
{
	ibv_cq *cq = make_cq(4);

	push(cq, 1);
	kernel.commands.clear();
	kernel.fail_reserve = true;
	EXPECT_EQ(kernel.ops.resize_cq(cq, 8), ENOMEM);
	EXPECT_TRUE(kernel.commands.empty());
	kernel.fail_reserve = false;
	EXPECT_EQ(kernel.ops.resize_cq(cq, 0), EINVAL);
	EXPECT_EQ(kernel.ops.resize_cq(cq, -1), EINVAL);
	EXPECT_EQ(drain(cq), (std::vector<std::uint64_t>{ 1 }));
	/* A ring of another length than both sides compute. */
	kernel.edit_cq = [](mpa_create_cq_resp &drv) { drv.ring_len += 4096; };
	EXPECT_EQ(kernel.ops.resize_cq(cq, 8), EPROTO);
	/* The kernel has left the old one, whose entries are not completions any more. */
	ibv_wc wc;
	push(cq, 2);
	EXPECT_EQ(kernel.ops.poll_cq(cq, 1, &wc), -EIO);
	destroy(cq);
}

/* Without memory for it the ring is mapped later: the kernel has put all into it. */
TEST_F(CqTest, resizing_maps_again_what_had_no_memory)
{
	ibv_cq *cq = make_cq(4);
	ibv_wc wc;

	push(cq, 1);
	kernel.fail_mmap = 1;
	EXPECT_EQ(kernel.ops.resize_cq(cq, 8), EAGAIN);
	kernel.fail_mmap = 1;
	EXPECT_EQ(kernel.ops.poll_cq(cq, 1, &wc), -EIO);
	push(cq, 2);
	EXPECT_EQ(drain(cq), (std::vector<std::uint64_t>{ 1, 2 }));
	EXPECT_EQ(kernel.objects["mapping"], 2);
	destroy(cq);
}

TEST_F(CqTest, moderation_is_passed_on)
{
	ibv_cq *cq = make_cq();
	ibv_modify_cq_attr attr{};

	attr.attr_mask = IBV_CQ_ATTR_MODERATE;
	attr.moderate = { 16, 100 };
	EXPECT_EQ(kernel.ops.modify_cq(cq, &attr), 0);
	EXPECT_EQ(kernel.moderation.cq_count, 16u);
	EXPECT_EQ(kernel.moderation.cq_period, 100u);
	kernel.refuse["modify_cq"] = EOPNOTSUPP;
	EXPECT_EQ(kernel.ops.modify_cq(cq, &attr), EOPNOTSUPP);
	destroy(cq);
}

/* The extended interface. */

struct ExRow {
	std::uint64_t wc_flags;
	std::uint32_t comp_mask, flags;
	bool want;
};

constexpr std::uint32_t mask_flags = IBV_CQ_INIT_ATTR_MASK_FLAGS;

class CreateEx : public CqTest, public testing::WithParamInterface<ExRow> {};

TEST_P(CreateEx, refuses_what_there_is_not)
{
	const auto &row = GetParam();
	ibv_cq_init_attr_ex attr{};

	attr.cqe = 4;
	attr.wc_flags = row.wc_flags;
	attr.comp_mask = row.comp_mask;
	attr.flags = row.flags;
	ibv_cq_ex *cq = kernel.ops.create_cq_ex(context(), &attr);

	if (row.want) {
		ASSERT_NE(cq, nullptr);
		/* The only flag that the kernel sees. */
		std::uint32_t flags = row.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ?
			row.flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN : 0;
		EXPECT_EQ(kernel.cq_attr.flags, flags);
		EXPECT_EQ(kernel.cq_attr.comp_mask,
			  flags ? mask_flags : 0u);
		destroy(ibv_cq_ex_to_cq(cq));
	} else {
		EXPECT_EQ(cq, nullptr);
		EXPECT_EQ(errno, EOPNOTSUPP);
		EXPECT_TRUE(kernel.commands.empty());
	}
}

INSTANTIATE_TEST_SUITE_P(
	table, CreateEx,
	testing::Values(
		ExRow{ 0, 0, 0, true },
		ExRow{ IBV_WC_STANDARD_FLAGS, 0, 0, true },
		ExRow{ IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, 0, 0, true },
		ExRow{ IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, 0, 0,
		       true },
		ExRow{ IBV_WC_EX_WITH_CVLAN, 0, 0, false },
		ExRow{ IBV_WC_EX_WITH_FLOW_TAG, 0, 0, false },
		ExRow{ IBV_WC_EX_WITH_TM_INFO, 0, 0, false },
		ExRow{ 1ull << 40, 0, 0, false },
		ExRow{ 0, mask_flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
		       true },
		ExRow{ 0, mask_flags, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
		       true },
		ExRow{ 0, mask_flags, 1u << 7, false },
		/* Flags are valid only if the mask includes them. */
		ExRow{ 0, 0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN, true },
		ExRow{ 0, 1u << 9, 0, false }));

TEST_F(CqTest, time_stamps)
{
	ibv_cq_init_attr_ex attr{};

	attr.cqe = 4;
	attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	ibv_cq_ex *cq_ex = kernel.ops.create_cq_ex(context(), &attr);
	ASSERT_NE(cq_ex, nullptr);
	ibv_cq *cq = ibv_cq_ex_to_cq(cq_ex);
	ibv_poll_cq_attr none{};
	ibv_values_ex values{};

	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK | 1u << 9;
	ASSERT_EQ(kernel.ops.query_rt_values(context(), &values), 0);
	EXPECT_EQ(values.comp_mask, unsigned{ IBV_VALUES_MASK_RAW_CLOCK });
	std::uint64_t now = std::uint64_t(values.raw_clock.tv_sec) * 1000000000 +
			    values.raw_clock.tv_nsec;
	timespec wall;
	clock_gettime(CLOCK_REALTIME, &wall);

	/* Twice around the ring. */
	for (std::uint64_t i = 0; i < 8; i++) {
		auto &ring = kernel.cq(cq->handle);

		ring.at<mpa_cqe_timed>(ring.hdr().prod) = {
			.cqe = { .wr_id = i, .qp_num = 1 }, .time = now + i
		};
		ring.hdr().prod++;
		ASSERT_EQ(ibv_start_poll(cq_ex, &none), 0);
		EXPECT_EQ(cq_ex->wr_id, i);
		EXPECT_EQ(ibv_wc_read_completion_ts(cq_ex), now + i);
		EXPECT_NEAR(double(ibv_wc_read_completion_wallclock_ns(cq_ex)) / 1e9,
			    double(wall.tv_sec), 30.0);
		ibv_end_poll(cq_ex);
	}
	destroy(cq);
}

TEST_F(CqTest, queue_without_time_stamps_does_not_read_them)
{
	ibv_cq_ex *cq_ex = make_cq_ex();

	EXPECT_EQ(cq_ex->read_completion_ts, nullptr);
	EXPECT_EQ(cq_ex->read_completion_wallclock_ns, nullptr);
	destroy(ibv_cq_ex_to_cq(cq_ex));
}

class PollEx : public CqTest, public testing::WithParamInterface<bool> {};

TEST_P(PollEx, one_at_a_time)
{
	ibv_cq_ex *cq_ex = make_cq_ex(
		4, GetParam() ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0);

	ASSERT_NE(cq_ex, nullptr);
	ibv_cq *cq = ibv_cq_ex_to_cq(cq_ex);
	ibv_poll_cq_attr none{};

	EXPECT_EQ(ibv_start_poll(cq_ex, &none), ENOENT);

	mpa_cqe cqe{};
	cqe.wr_id = 5;
	cqe.qp_num = 6;
	cqe.byte_len = 7;
	cqe.inv_stag = 8;
	cqe.status = MPA_WC_LOC_LEN_ERR;
	cqe.opcode = MPA_CQE_RECV;
	cqe.flags = MPA_CQE_INVALIDATED;
	cqe.vendor_err = 9;
	push(cq, cqe);
	push(cq, 10);

	ASSERT_EQ(ibv_start_poll(cq_ex, &none), 0);
	EXPECT_EQ(cq_ex->wr_id, 5u);
	EXPECT_EQ(cq_ex->status, IBV_WC_LOC_LEN_ERR);
	EXPECT_EQ(ibv_wc_read_qp_num(cq_ex), 6u);
	EXPECT_EQ(ibv_wc_read_byte_len(cq_ex), 7u);
	EXPECT_EQ(ibv_wc_read_opcode(cq_ex), IBV_WC_RECV);
	EXPECT_EQ(ibv_wc_read_vendor_err(cq_ex), 9u);
	EXPECT_EQ(ibv_wc_read_wc_flags(cq_ex), unsigned{ IBV_WC_WITH_INV });
	EXPECT_EQ(ibv_wc_read_invalidated_rkey(cq_ex), 8u);
	EXPECT_EQ(ibv_wc_read_src_qp(cq_ex), 0u);
	EXPECT_EQ(ibv_wc_read_slid(cq_ex), 0u);
	EXPECT_EQ(ibv_wc_read_sl(cq_ex), 0u);
	EXPECT_EQ(ibv_wc_read_dlid_path_bits(cq_ex), 0u);

	ASSERT_EQ(ibv_next_poll(cq_ex), 0);
	EXPECT_EQ(cq_ex->wr_id, 10u);
	EXPECT_EQ(cq_ex->status, IBV_WC_SUCCESS);
	EXPECT_EQ(ibv_wc_read_wc_flags(cq_ex), 0u);
	EXPECT_EQ(ibv_wc_read_invalidated_rkey(cq_ex), 0u);
	EXPECT_EQ(ibv_next_poll(cq_ex), ENOENT);
	ibv_end_poll(cq_ex);
	EXPECT_EQ(kernel.cq(cq->handle).hdr().cons, 2u);

	/* Both ways of polling continue from there; no lock was left held. */
	push(cq, 11);
	EXPECT_EQ(drain(cq), (std::vector<std::uint64_t>{ 11 }));
	push(cq, 12);
	ASSERT_EQ(ibv_start_poll(cq_ex, &none), 0);
	EXPECT_EQ(cq_ex->wr_id, 12u);
	ibv_end_poll(cq_ex);
	EXPECT_TRUE(drain(cq).empty());
	destroy(cq);
}

TEST_P(PollEx, immediate_data)
{
	ibv_cq_ex *cq_ex = make_cq_ex(
		4, GetParam() ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0);
	ibv_cq *cq = ibv_cq_ex_to_cq(cq_ex);
	ibv_poll_cq_attr none{};
	ibv_wc wc{};
	mpa_cqe cqe{};

	cqe.byte_len = 7;
	cqe.inv_stag = 8;
	cqe.opcode = MPA_CQE_RECV_IMM;
	cqe.imm_data = 0x04030201;
	push(cq, cqe);
	push(cq, cqe);
	ASSERT_EQ(ibv_start_poll(cq_ex, &none), 0);
	EXPECT_EQ(ibv_wc_read_opcode(cq_ex), IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(ibv_wc_read_wc_flags(cq_ex), unsigned{ IBV_WC_WITH_IMM });
	EXPECT_EQ(ibv_wc_read_imm_data(cq_ex), 0x04030201u);
	EXPECT_EQ(ibv_wc_read_byte_len(cq_ex), 7u);
	ibv_end_poll(cq_ex);
	ASSERT_EQ(poll(cq, 1, &wc), 1);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(wc.wc_flags, unsigned{ IBV_WC_WITH_IMM });
	EXPECT_EQ(wc.imm_data, 0x04030201u);
	EXPECT_EQ(wc.byte_len, 7u);
	destroy(cq);
}

INSTANTIATE_TEST_SUITE_P(locking, PollEx, testing::Bool());

/* Whether a second poller can poll between start_poll and end_poll. */
TEST_P(PollEx, locks_unless_told_not_to)
{
	const bool unlocked = GetParam();
	ibv_cq_ex *cq_ex = make_cq_ex(
		4, unlocked ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0);
	ibv_cq *cq = ibv_cq_ex_to_cq(cq_ex);
	ibv_poll_cq_attr none{};
	ibv_wc wc{};

	push(cq, 1);
	push(cq, 2);
	ASSERT_EQ(ibv_start_poll(cq_ex, &none), 0);
	std::atomic<pid_t> id{ 0 };
	std::atomic<bool> over{ false };
	auto other = std::async(std::launch::async, [&] {
		id = ::gettid();
		const int got = poll(cq, 1, &wc);
		over = true;
		return got;
	});
	EXPECT_EQ(fake::falls_asleep(id, over), !unlocked);
	ibv_end_poll(cq_ex);
	EXPECT_EQ(other.get(), 1);
	EXPECT_EQ(wc.wr_id, 2u);
	destroy(cq);
}

TEST_F(CqTest, ex_polling_errors_leave_no_lock)
{
	ibv_cq_ex *cq_ex = make_cq_ex();
	ibv_cq *cq = ibv_cq_ex_to_cq(cq_ex);
	ibv_poll_cq_attr unknown{ .comp_mask = 1 }, none{};

	EXPECT_EQ(ibv_start_poll(cq_ex, &unknown), EINVAL);
	kernel.cq(cq->handle).hdr().prod = 99;
	EXPECT_EQ(ibv_start_poll(cq_ex, &none), EIO);
	kernel.cq(cq->handle).hdr().prod = 0;
	EXPECT_EQ(ibv_start_poll(cq_ex, &none), ENOENT);
	destroy(cq);
}

/* Completions of a queue pair that is destroyed. */

struct PurgeRow {
	const char *queue;	/* 'x': of the queue pair that is destroyed */
	const char *want;
};

class Purge : public CqTest,
	      public testing::WithParamInterface<
		      std::tuple<PurgeRow, std::uint32_t>> {};

TEST_P(Purge, keeps_the_others_in_order)
{
	const auto &[row, first] = GetParam();
	ibv_qp *qp = make_qp();
	ibv_cq *cq = rcq;
	const auto &ring = kernel.cq(cq->handle);

	/* Advance both sides to where the test starts. */
	for (std::uint32_t i = 0; i < first; i++) {
		push(cq, i);
		drain(cq);
	}
	for (const char *c = row.queue; *c; c++)
		push(cq, *c, *c == 'x' ? qp->qp_num : 1);
	std::uint32_t prod = ring.hdr().prod;

	destroy(qp);
	EXPECT_EQ(ring.hdr().prod, prod) << "the kernel's index";
	std::string left;
	for (auto id : drain(cq))
		left.push_back(static_cast<char>(id));
	EXPECT_EQ(left, row.want);
	EXPECT_EQ(ring.hdr().cons, prod);
}

INSTANTIATE_TEST_SUITE_P(
	table, Purge,
	testing::Combine(
		testing::Values(PurgeRow{ "", "" }, PurgeRow{ "x", "" },
				PurgeRow{ "a", "a" }, PurgeRow{ "xa", "a" },
				PurgeRow{ "ax", "a" },
				PurgeRow{ "axbxc", "abc" },
				PurgeRow{ "xxabxx", "ab" },
				PurgeRow{ "abcd", "abcd" },
				PurgeRow{ "xxxx", "" },
				PurgeRow{ "xaxbxcxdxexfxgxh", "abcdefgh" },
				PurgeRow{ "abcdefghijklmnop",
					  "abcdefghijklmnop" }),
		testing::Values(0u, 1u, 13u, 15u, 16u)));

TEST_F(CqTest, purge_reaches_both_queues)
{
	ibv_qp *qp = make_qp();

	push(scq, 1, qp->qp_num);
	push(scq, 2, 1);
	push(rcq, 3, 1);
	push(rcq, 4, qp->qp_num);
	destroy(qp);
	EXPECT_EQ(drain(scq), (std::vector<std::uint64_t>{ 2 }));
	EXPECT_EQ(drain(rcq), (std::vector<std::uint64_t>{ 3 }));
}

TEST_F(CqTest, nothing_is_purged_if_destruction_is_refused)
{
	ibv_qp *qp = make_qp();

	push(scq, 1, qp->qp_num);
	kernel.refuse["destroy_qp"] = EBUSY;
	EXPECT_EQ(kernel.ops.destroy_qp(qp), EBUSY);
	EXPECT_EQ(drain(scq), (std::vector<std::uint64_t>{ 1 }));
	kernel.refuse.clear();
	destroy(qp);
}

TEST_F(CqTest, purge_leaves_a_senseless_ring_alone)
{
	ibv_qp *qp = make_qp();
	auto &hdr = kernel.cq(scq->handle).hdr();

	hdr.prod = 1000;
	destroy(qp);
	EXPECT_EQ(hdr.cons, 0u);
	EXPECT_EQ(hdr.prod, 1000u);
}

TEST_F(CqTest, reset_purges_and_other_states_do_not)
{
	ibv_qp *qp = make_qp();
	ibv_qp_attr attr{};

	push(scq, 1, qp->qp_num);
	attr.qp_state = IBV_QPS_ERR;
	EXPECT_EQ(kernel.ops.modify_qp(qp, &attr, IBV_QP_STATE), 0);
	EXPECT_EQ(kernel.cq(scq->handle).hdr().cons, 0u);

	attr.qp_state = IBV_QPS_RESET;
	EXPECT_EQ(kernel.ops.modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	EXPECT_EQ(kernel.cq(scq->handle).hdr().cons, 0u);

	kernel.refuse["modify_qp"] = EINVAL;
	EXPECT_EQ(kernel.ops.modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	EXPECT_EQ(kernel.cq(scq->handle).hdr().cons, 0u);

	kernel.refuse.clear();
	EXPECT_EQ(kernel.ops.modify_qp(qp, &attr, IBV_QP_STATE), 0);
	EXPECT_EQ(kernel.cq(scq->handle).hdr().cons, 1u);
	destroy(qp);
}

} // namespace
