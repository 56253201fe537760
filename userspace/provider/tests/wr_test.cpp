/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* wr.c: work requests built by the ibv_wr functions. */
#include "fake_kernel.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include <unistd.h>

namespace {

using fake::ProviderTest;

/* Grants of the fixture's queue pair: 4 entries, 2 pieces, 64 bytes. */
class WrTest : public ProviderTest {
protected:
	WrTest()
	{
		qp = make_qp(true);
		qpx = &reinterpret_cast<verbs_qp *>(qp)->qp_ex;
		qpx->wr_flags = 0;
		kernel.commands.clear();
	}

	~WrTest() override { destroy(qp); }

	fake::Ring &sq() { return kernel.sq(qp->handle); }
	const mpa_sqe &sqe(std::uint32_t i) { return sq().at<mpa_sqe>(i); }

	void nothing_happened()
	{
		EXPECT_EQ(sq().hdr().prod, 0u);
		EXPECT_TRUE(kernel.doorbells.empty());
	}

	ibv_qp *qp;
	ibv_qp_ex *qpx;
};

TEST_F(WrTest, a_batch_of_everything)
{
	char text[] = "in line";
	ibv_sge sges[2] = { { 0x1000, 1, 11 }, { 0x2000, 2, 12 } };

	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	ibv_wr_send(qpx);
	ibv_wr_set_sge_list(qpx, 2, sges);
	qpx->wr_id = 2;
	ibv_wr_send_inv(qpx, 0x77);
	ibv_wr_set_inline_data(qpx, text, sizeof(text));
	qpx->wr_id = 3;
	qpx->wr_flags = IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	ibv_wr_rdma_write(qpx, 0x88, 0x1234567890);
	ibv_wr_set_sge(qpx, 13, 0x3000, 3);
	qpx->wr_id = 4;
	qpx->wr_flags = 0;
	ibv_wr_rdma_read(qpx, 0x99, 0x0987654321);
	ibv_wr_set_sge(qpx, 14, 0x4000, 4);
	nothing_happened();
	EXPECT_EQ(ibv_wr_complete(qpx), 0);

	EXPECT_EQ(sq().hdr().prod, 4u);
	EXPECT_EQ(kernel.doorbells.size(), 1u);

	EXPECT_EQ(sqe(0).wr_id, 1u);
	EXPECT_EQ(sqe(0).opcode, MPA_WR_SEND);
	EXPECT_EQ(sqe(0).flags, MPA_SQE_SIGNALED | MPA_SQE_SOLICITED);
	EXPECT_EQ(sqe(0).num_sge, 2);
	EXPECT_EQ(sqe(0).sge[1].addr, 0x2000u);
	EXPECT_EQ(sqe(0).sge[1].length, 2u);
	EXPECT_EQ(sqe(0).sge[1].lkey, 12u);

	EXPECT_EQ(sqe(1).wr_id, 2u);
	EXPECT_EQ(sqe(1).opcode, MPA_WR_SEND_INV);
	EXPECT_EQ(sqe(1).flags, MPA_SQE_SIGNALED | MPA_SQE_SOLICITED |
					MPA_SQE_INLINE);
	EXPECT_EQ(sqe(1).stag, 0x77u);
	EXPECT_EQ(sqe(1).length, sizeof(text));
	EXPECT_EQ(sqe(1).num_sge, 0);
	EXPECT_EQ(std::memcmp(sqe(1).sge, "in line", 8), 0);

	EXPECT_EQ(sqe(2).opcode, MPA_WR_WRITE);
	EXPECT_EQ(sqe(2).flags, MPA_SQE_FENCE);
	EXPECT_EQ(sqe(2).stag, 0x88u);
	EXPECT_EQ(sqe(2).remote_addr, 0x1234567890u);
	EXPECT_EQ(sqe(2).sge[0].lkey, 13u);

	EXPECT_EQ(sqe(3).opcode, MPA_WR_READ);
	EXPECT_EQ(sqe(3).flags, 0);
	EXPECT_EQ(sqe(3).stag, 0x99u);
	EXPECT_EQ(sqe(3).remote_addr, 0x0987654321u);
	EXPECT_EQ(sqe(3).sge[0].length, 4u);
}

TEST_F(WrTest, local_invalidation_and_empty_messages)
{
	ibv_wr_start(qpx);
	ibv_wr_local_inv(qpx, 0x55);
	ibv_wr_send(qpx);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	EXPECT_EQ(sqe(0).opcode, MPA_WR_LOCAL_INV);
	EXPECT_EQ(sqe(0).stag, 0x55u);
	EXPECT_EQ(sqe(1).opcode, MPA_WR_SEND);
	EXPECT_EQ(sqe(1).num_sge, 0);
	EXPECT_EQ(sqe(1).length, 0u);
}

TEST_F(WrTest, a_write_with_immediate)
{
	ibv_wr_start(qpx);
	ibv_wr_rdma_write_imm(qpx, 0x88, 0x1234567890, 0x04030201);
	EXPECT_EQ(ibv_wr_complete(qpx), EOPNOTSUPP);
	nothing_happened();

	sq().hdr().carries = MPA_CARRIES_RFC7306;
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SOLICITED;
	ibv_wr_rdma_write_imm(qpx, 0x88, 0x1234567890, 0x04030201);
	ibv_wr_set_sge(qpx, 13, 0x3000, 3);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	EXPECT_EQ(sqe(0).wr_id, 1u);
	EXPECT_EQ(sqe(0).opcode, MPA_WR_WRITE_IMM);
	EXPECT_EQ(sqe(0).flags, MPA_SQE_SOLICITED);
	EXPECT_EQ(sqe(0).imm_data, 0x04030201u);
	EXPECT_EQ(sqe(0).stag, 0x88u);
	EXPECT_EQ(sqe(0).remote_addr, 0x1234567890u);
	EXPECT_EQ(sqe(0).sge[0].length, 3u);
}

TEST_F(WrTest, atomic_operations)
{
	sq().hdr().carries = MPA_CARRIES_RFC7306;
	ibv_wr_start(qpx);
	ibv_wr_atomic_fetch_add(qpx, 0x88, 0x1234567890, 5);
	ibv_wr_set_sge(qpx, 13, 0x3000, 8);
	ibv_wr_atomic_cmp_swp(qpx, 0x99, 0x0987654321, 6, 7);
	ibv_wr_set_sge(qpx, 14, 0x4000, 8);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	for (std::uint32_t n = 0; n < 2; n++) {
		const auto &operands =
			*reinterpret_cast<const mpa_atomic *>(sqe(n).sge);

		EXPECT_EQ(sqe(n).opcode, n ? MPA_WR_CMP_SWAP : MPA_WR_FETCH_ADD);
		EXPECT_EQ(sqe(n).stag, n ? 0x99u : 0x88u);
		EXPECT_EQ(sqe(n).remote_addr, n ? 0x0987654321u : 0x1234567890u);
		EXPECT_EQ(sqe(n).length, n ? 14u : 13u);
		EXPECT_EQ(operands.addr, n ? 0x4000u : 0x3000u);
		EXPECT_EQ(operands.data, n ? 7u : 5u);
		EXPECT_EQ(operands.compare, n ? 6u : 0u);
	}
	ibv_wr_start(qpx);
	ibv_wr_atomic_fetch_add(qpx, 0x88, 0x1234567890, 5);
	ibv_wr_set_sge(qpx, 13, 0x3000, 4);
	EXPECT_EQ(ibv_wr_complete(qpx), EINVAL);
	EXPECT_EQ(sq().hdr().prod, 2u);
}

TEST_F(WrTest, empty_batch_says_nothing)
{
	ibv_wr_start(qpx);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	nothing_happened();
}

TEST_F(WrTest, abort_leaves_no_trace)
{
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	ibv_wr_send(qpx);
	ibv_wr_send(qpx);
	ibv_wr_abort(qpx);
	nothing_happened();

	ibv_wr_start(qpx);
	qpx->wr_id = 2;
	ibv_wr_send(qpx);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	EXPECT_EQ(sq().hdr().prod, 1u);
	EXPECT_EQ(sqe(0).wr_id, 2u);
}

TEST_F(WrTest, inline_list_is_gathered)
{
	char a[40], b[24], c = 'c';
	ibv_data_buf bufs[3] = { { a, sizeof(a) }, { b, sizeof(b) },
				 { nullptr, 0 } };

	std::memset(a, 'a', sizeof(a));
	std::memset(b, 'b', sizeof(b));
	ibv_wr_start(qpx);
	ibv_wr_rdma_write(qpx, 1, 2);
	ibv_wr_set_inline_data_list(qpx, 3, bufs);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	EXPECT_EQ(sqe(0).length, 64u);
	const char *data = reinterpret_cast<const char *>(sqe(0).sge);
	EXPECT_EQ(std::string(data, 64),
		  std::string(40, 'a') + std::string(24, 'b'));

	bufs[2] = { &c, 1 };
	ibv_wr_start(qpx);
	ibv_wr_rdma_write(qpx, 1, 2);
	ibv_wr_set_inline_data_list(qpx, 3, bufs);
	EXPECT_EQ(ibv_wr_complete(qpx), EINVAL);
	EXPECT_EQ(sq().hdr().prod, 1u);
}

/* perftest sets the flag as well as calling the setter. */
TEST_F(WrTest, inline_flag_alone_means_nothing)
{
	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_INLINE;
	ibv_wr_rdma_read(qpx, 1, 2);
	ibv_wr_set_sge(qpx, 3, 4, 5);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	EXPECT_EQ(sqe(0).flags, 0);
	EXPECT_EQ(sqe(0).num_sge, 1);
}

TEST_F(WrTest, the_last_setter_counts)
{
	char data[8] = {};

	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, data, 8);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ibv_wr_set_inline_data(qpx, data, 8);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	EXPECT_EQ(sqe(0).flags, 0);
	EXPECT_EQ(sqe(0).num_sge, 1);
	EXPECT_EQ(sqe(0).length, 0u);
	EXPECT_EQ(sqe(1).flags, MPA_SQE_INLINE);
	EXPECT_EQ(sqe(1).num_sge, 0);
	EXPECT_EQ(sqe(1).length, 8u);
}

using Build = void (*)(ibv_qp_ex *);

struct ErrorRow {
	const char *name;
	Build build;
	int want;
};

class WrError : public WrTest, public testing::WithParamInterface<ErrorRow> {
};

/* One bad request undoes the batch, wherever it is in it. */
TEST_P(WrError, undoes_the_batch)
{
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	GetParam().build(qpx);
	qpx->wr_flags = 0;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	EXPECT_EQ(ibv_wr_complete(qpx), GetParam().want);
	nothing_happened();

	ibv_wr_start(qpx);
	qpx->wr_id = 42;
	ibv_wr_send(qpx);
	EXPECT_EQ(ibv_wr_complete(qpx), 0) << "the error is forgotten";
	EXPECT_EQ(sq().hdr().prod, 1u);
	EXPECT_EQ(sqe(0).wr_id, 42u);
}

ibv_sge three[3];
char too_long[65];

INSTANTIATE_TEST_SUITE_P(
	table, WrError,
	testing::Values(
		ErrorRow{ "sges",
			  [](ibv_qp_ex *q) {
				  ibv_wr_send(q);
				  ibv_wr_set_sge_list(q, 3, three);
			  },
			  EINVAL },
		ErrorRow{ "no_list",
			  [](ibv_qp_ex *q) {
				  ibv_wr_send(q);
				  ibv_wr_set_sge_list(q, 1, nullptr);
			  },
			  EINVAL },
		ErrorRow{ "read_sges",
			  [](ibv_qp_ex *q) {
				  ibv_wr_rdma_read(q, 1, 2);
				  ibv_wr_set_sge_list(q, 2, three);
			  },
			  EINVAL },
		ErrorRow{ "read_inline",
			  [](ibv_qp_ex *q) {
				  ibv_wr_rdma_read(q, 1, 2);
				  ibv_wr_set_inline_data(q, too_long, 1);
			  },
			  EINVAL },
		ErrorRow{ "inv_sge",
			  [](ibv_qp_ex *q) {
				  ibv_wr_local_inv(q, 1);
				  ibv_wr_set_sge(q, 1, 2, 3);
			  },
			  EINVAL },
		ErrorRow{ "inv_inline",
			  [](ibv_qp_ex *q) {
				  ibv_wr_local_inv(q, 1);
				  ibv_wr_set_inline_data(q, too_long, 1);
			  },
			  EINVAL },
		ErrorRow{ "inline_length",
			  [](ibv_qp_ex *q) {
				  ibv_wr_send(q);
				  ibv_wr_set_inline_data(q, too_long, 65);
			  },
			  EINVAL },
		ErrorRow{ "inline_size_max",
			  [](ibv_qp_ex *q) {
				  ibv_wr_send(q);
				  ibv_wr_set_inline_data(q, too_long,
							 SIZE_MAX);
			  },
			  EINVAL },
		ErrorRow{ "flags",
			  [](ibv_qp_ex *q) {
				  q->wr_flags = IBV_SEND_IP_CSUM;
				  ibv_wr_send(q);
			  },
			  EINVAL },
		ErrorRow{ "full",
			  [](ibv_qp_ex *q) {
				  for (int i = 0; i < 4; i++)
					  ibv_wr_send(q);
			  },
			  ENOMEM },
		/* The first error is the one reported. */
		ErrorRow{ "two",
			  [](ibv_qp_ex *q) {
				  ibv_wr_send(q);
				  ibv_wr_set_sge_list(q, 3, three);
				  for (int i = 0; i < 9; i++)
					  ibv_wr_send(q);
			  },
			  EINVAL }),
	[](const auto &info) { return std::string(info.param.name); });

TEST_F(WrTest, setter_without_request_does_nothing)
{
	ibv_wr_start(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ibv_wr_set_inline_data(qpx, too_long, 1);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	nothing_happened();
}

TEST_F(WrTest, refused_doorbell_is_reported)
{
	kernel.write_errors = { ENODEV };
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	EXPECT_EQ(ibv_wr_complete(qpx), ENODEV);
	/* The lock is free again. */
	ibv_wr_start(qpx);
	ibv_wr_abort(qpx);
}

TEST_F(WrTest, keeps_other_posters_out)
{
	ibv_send_wr wr{}, *bad;
	std::atomic<pid_t> id{ 0 };
	std::atomic<bool> over{ false };
	int ret = -1;

	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	ibv_wr_send(qpx);
	std::thread other([&] {
		wr.wr_id = 3;
		wr.opcode = IBV_WR_SEND;
		id = ::gettid();
		ret = kernel.ops.post_send(qp, &wr, &bad);
		over = true;
	});
	EXPECT_TRUE(fake::falls_asleep(id, over));
	nothing_happened();
	qpx->wr_id = 2;
	ibv_wr_send(qpx);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	other.join();
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(sq().hdr().prod, 3u);
	for (std::uint32_t i = 0; i < 3; i++)
		EXPECT_EQ(sqe(i).wr_id, i + 1);
}

} // namespace
