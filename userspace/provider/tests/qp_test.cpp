/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* qp.c: creating, querying and destroying queue pairs. */
#include "fake_kernel.hpp"

#include <cerrno>

namespace {

using fake::ProviderTest;

class QpTest : public ProviderTest {
protected:
	ibv_qp_init_attr_ex good_attr()
	{
		if (!scq) {
			scq = make_cq(16);
			rcq = make_cq(16);
		}
		kernel.commands.clear();

		ibv_qp_init_attr_ex attr{};
		attr.pd = &pd;
		attr.send_cq = scq;
		attr.recv_cq = rcq;
		attr.cap = { 1, 1, 1, 1, 0 };
		attr.qp_type = IBV_QPT_RC;
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
		return attr;
	}
};

using Edit = void (*)(ibv_qp_init_attr_ex &);

struct AttrRow {
	const char *name;
	Edit edit;
	int want;
};

class CreateQp : public QpTest, public testing::WithParamInterface<AttrRow> {
};

TEST_P(CreateQp, refuses_what_there_is_not)
{
	auto attr = good_attr();

	GetParam().edit(attr);
	ibv_qp *qp = kernel.ops.create_qp_ex(context(), &attr);

	if (!GetParam().want) {
		ASSERT_NE(qp, nullptr);
		destroy(qp);
		return;
	}
	EXPECT_EQ(qp, nullptr);
	EXPECT_EQ(errno, GetParam().want);
	EXPECT_TRUE(kernel.commands.empty());
}

ibv_srq some_srq;

template <unsigned Bits> void send_ops(ibv_qp_init_attr_ex &attr)
{
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = Bits;
}

template <ibv_qp_type Type> void type(ibv_qp_init_attr_ex &attr)
{
	attr.qp_type = Type;
}

template <std::uint32_t Mask> void also(ibv_qp_init_attr_ex &attr)
{
	attr.comp_mask |= Mask;
}

INSTANTIATE_TEST_SUITE_P(
	table, CreateQp,
	testing::Values(
		AttrRow{ "plain", [](auto &) {}, 0 },
		AttrRow{ "ud", type<IBV_QPT_UD>, EOPNOTSUPP },
		AttrRow{ "uc", type<IBV_QPT_UC>, EOPNOTSUPP },
		AttrRow{ "raw", type<IBV_QPT_RAW_PACKET>, EOPNOTSUPP },
		AttrRow{ "xrc", type<IBV_QPT_XRC_SEND>, EOPNOTSUPP },
		AttrRow{ "driver", type<IBV_QPT_DRIVER>, EOPNOTSUPP },
		AttrRow{ "srq", [](auto &a) { a.srq = &some_srq; }, 0 },
		AttrRow{ "no_pd", [](auto &a) { a.comp_mask = 0; }, EINVAL },
		AttrRow{ "no_send_cq", [](auto &a) { a.send_cq = nullptr; },
			 EINVAL },
		AttrRow{ "no_recv_cq", [](auto &a) { a.recv_cq = nullptr; },
			 EINVAL },
		AttrRow{ "no_flags", also<IBV_QP_INIT_ATTR_CREATE_FLAGS>, 0 },
		AttrRow{ "flags",
			 [](auto &a) {
				 a.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
				 a.create_flags =
					 IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
			 },
			 EOPNOTSUPP },
		AttrRow{ "xrcd", also<IBV_QP_INIT_ATTR_XRCD>, EOPNOTSUPP },
		AttrRow{ "tso", also<IBV_QP_INIT_ATTR_MAX_TSO_HEADER>,
			 EOPNOTSUPP },
		AttrRow{ "table", also<IBV_QP_INIT_ATTR_IND_TABLE>,
			 EOPNOTSUPP },
		AttrRow{ "all_ops",
			 send_ops<IBV_QP_EX_WITH_SEND |
				  IBV_QP_EX_WITH_SEND_WITH_INV |
				  IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_LOCAL_INV>,
			 0 },
		AttrRow{ "no_ops", send_ops<0>, 0 },
		AttrRow{ "write_imm", send_ops<IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM>,
			 0 },
		AttrRow{ "send_imm", send_ops<IBV_QP_EX_WITH_SEND_WITH_IMM>,
			 EOPNOTSUPP },
		AttrRow{ "cmp", send_ops<IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP>,
			 0 },
		AttrRow{ "add", send_ops<IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD>,
			 0 },
		AttrRow{ "send_tso", send_ops<IBV_QP_EX_WITH_TSO>,
			 EOPNOTSUPP }),
	[](const auto &info) { return std::string(info.param.name); });

TEST_F(QpTest, reports_what_was_granted)
{
	ibv_qp_init_attr attr{};

	good_attr();
	kernel.grant = { 8, 16, 3, 4, 96 };
	attr.send_cq = scq;
	attr.recv_cq = rcq;
	attr.cap = { 5, 9, 3, 4, 90 };
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	ibv_qp *qp = kernel.ops.create_qp(&pd, &attr);

	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(kernel.qp_attr.cap.max_send_wr, 5u);
	EXPECT_EQ(kernel.qp_attr.sq_sig_all, 1);
	EXPECT_EQ(kernel.qp_attr.pd, &pd);
	EXPECT_EQ(attr.cap.max_send_wr, 8u);
	EXPECT_EQ(attr.cap.max_recv_wr, 16u);
	EXPECT_EQ(attr.cap.max_send_sge, 3u);
	EXPECT_EQ(attr.cap.max_recv_sge, 4u);
	EXPECT_EQ(attr.cap.max_inline_data, 96u);
	EXPECT_EQ(reinterpret_cast<verbs_qp *>(qp)->comp_mask, 0u);
	destroy(qp);
}

TEST_F(QpTest, has_the_extended_interface_if_asked)
{
	ibv_qp *qp = make_qp(true);

	EXPECT_EQ(reinterpret_cast<verbs_qp *>(qp)->comp_mask,
		  std::uint32_t{ VERBS_QP_EX });
	destroy(qp);
}

TEST_F(QpTest, another_struct_of_extended_ones_is_refused)
{
	auto attr = good_attr();

	kernel.other_qp_ex = true;
	send_ops<IBV_QP_EX_WITH_SEND>(attr);
	EXPECT_EQ(kernel.ops.create_qp_ex(context(), &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(kernel.commands.back(), "destroy_qp");
	EXPECT_EQ(kernel.objects["mapping"], 2);
	EXPECT_FALSE(kernel.log.empty());
	/* Others work. */
	destroy(make_qp());
}

using EditResp = void (*)(mpa_create_qp_resp &);

struct RespRow {
	const char *name;
	EditResp edit;
};

class QpGeometry : public QpTest,
		   public testing::WithParamInterface<RespRow> {};

TEST_P(QpGeometry, unsound_is_refused)
{
	auto attr = good_attr();

	kernel.edit_qp = GetParam().edit;
	EXPECT_EQ(kernel.ops.create_qp_ex(context(), &attr), nullptr);
	EXPECT_EQ(errno, EPROTO);
	EXPECT_EQ(kernel.commands.back(), "destroy_qp");
	EXPECT_FALSE(kernel.log.empty());
	/* Nothing is reported as granted that was not. */
	EXPECT_EQ(attr.cap.max_send_wr, 1u);
}

INSTANTIATE_TEST_SUITE_P(
	table, QpGeometry,
	testing::Values(
		RespRow{ "sq_entries", [](auto &r) { r.num_sqe = 3; } },
		RespRow{ "rq_entries", [](auto &r) { r.num_rqe = 5; } },
		RespRow{ "sq_stride", [](auto &r) { r.sqe_stride = 24; } },
		RespRow{ "rq_stride", [](auto &r) { r.rqe_stride = 8; } },
		RespRow{ "sq_odd_stride", [](auto &r) { r.sqe_stride += 4; } },
		RespRow{ "sq_short", [](auto &r) { r.rq_offset = 128; } },
		RespRow{ "rq_short", [](auto &r) { r.len = r.rq_offset + 128; } },
		RespRow{ "rq_odd", [](auto &r) { r.rq_offset += 8; } },
		RespRow{ "rq_beyond", [](auto &r) { r.rq_offset = r.len + 64; } },
		RespRow{ "sq_many", [](auto &r) { r.num_sqe = 1u << 31; } }),
	[](const auto &info) { return std::string(info.param.name); });

TEST_F(QpTest, creation_failures_are_undone)
{
	auto attr = good_attr();

	kernel.refuse["create_qp"] = ENOSPC;
	EXPECT_EQ(kernel.ops.create_qp_ex(context(), &attr), nullptr);
	EXPECT_EQ(errno, ENOSPC);
	kernel.refuse.clear();

	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.create_qp_ex(context(), &attr), nullptr);
	EXPECT_EQ(errno, ENOMEM);

	kernel.fail_mmap = 1;
	EXPECT_EQ(kernel.ops.create_qp_ex(context(), &attr), nullptr);
	EXPECT_EQ(errno, EAGAIN);
	EXPECT_EQ(kernel.objects["mapping"], 2);

	ibv_qp_init_attr plain{};

	kernel.refuse["create_qp"] = EPERM;
	plain.send_cq = scq;
	plain.recv_cq = rcq;
	plain.cap = { 3, 1, 1, 1, 0 };
	plain.qp_type = IBV_QPT_RC;
	EXPECT_EQ(kernel.ops.create_qp(&pd, &plain), nullptr);
	EXPECT_EQ(errno, EPERM);
	EXPECT_EQ(plain.cap.max_send_wr, 3u);
}

TEST_F(QpTest, query_asks_the_kernel)
{
	ibv_qp *qp = make_qp();
	ibv_qp_init_attr init{};
	ibv_qp_attr attr{};

	EXPECT_EQ(kernel.ops.query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
	kernel.refuse["query_qp"] = EIO;
	EXPECT_EQ(kernel.ops.query_qp(qp, &attr, IBV_QP_STATE, &init), EIO);
	destroy(qp);
}

/* A queue of no entries is legal; nothing fits into it. */
TEST_F(QpTest, empty_queues_are_always_full)
{
	kernel.edit_qp = [](mpa_create_qp_resp &r) {
		r.num_sqe = 0;
		r.num_rqe = 0;
	};
	ibv_qp *qp = make_qp();
	ibv_send_wr swr{}, *bad_swr = nullptr;
	ibv_recv_wr rwr{}, *bad_rwr = nullptr;

	swr.opcode = IBV_WR_SEND;
	EXPECT_EQ(kernel.ops.post_send(qp, &swr, &bad_swr), ENOMEM);
	EXPECT_EQ(bad_swr, &swr);
	EXPECT_EQ(kernel.ops.post_recv(qp, &rwr, &bad_rwr), ENOMEM);
	EXPECT_EQ(bad_rwr, &rwr);
	EXPECT_TRUE(kernel.doorbells.empty());
	destroy(qp);
}

} // namespace
