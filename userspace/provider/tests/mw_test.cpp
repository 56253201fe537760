/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* mw.c, and binds as posted work requests: memory windows. */
#include "fake_kernel.hpp"

#include <cerrno>

namespace {

using fake::ProviderTest;

class MwTest : public ProviderTest {
protected:
	explicit MwTest(std::uint32_t features = MPA_FEATURE_MW)
		: ProviderTest(features)
	{
		mr.lkey = 0x900;
		kernel.commands.clear();
	}

	ibv_mw *make(ibv_mw_type type)
	{
		ibv_mw *mw = kernel.ops.alloc_mw(&pd, type);

		EXPECT_NE(mw, nullptr);
		return mw;
	}

	ibv_mw_bind_info info(std::uint64_t length = 0x500000000)
	{
		return { .mr = &mr,
			 .addr = 0x7000,
			 .length = length,
			 .mw_access_flags = IBV_ACCESS_REMOTE_READ };
	}

	const mpa_sqe &sqe(ibv_qp *qp, std::uint32_t i)
	{
		return kernel.sq(qp->handle).at<mpa_sqe>(i);
	}

	ibv_mr mr{};
};

/* The entry binds what info() says, and nothing else is in it. */
void expect_bind(const mpa_sqe &e, std::uint32_t key)
{
	EXPECT_EQ(e.opcode, MPA_WR_BIND_MW);
	EXPECT_EQ(e.num_sge, 1);
	EXPECT_EQ(e.reserved, 0);
	EXPECT_EQ(e.length, static_cast<std::uint32_t>(IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ(e.remote_addr, 0x500000000u);
	EXPECT_EQ(e.stag, key);
	EXPECT_EQ(e.imm_data, 0u);
	EXPECT_EQ(e.sge[0].addr, 0x7000u);
	EXPECT_EQ(e.sge[0].length, 0u);
	EXPECT_EQ(e.sge[0].lkey, 0x900u);
}

TEST_F(MwTest, comes_and_goes)
{
	ibv_mw *mw = make(IBV_MW_TYPE_2);

	kernel.refuse["dealloc_mw"] = EBUSY;
	EXPECT_EQ(kernel.ops.dealloc_mw(mw), EBUSY);
	kernel.refuse.clear();
	EXPECT_EQ(kernel.ops.dealloc_mw(mw), 0);
}

TEST_F(MwTest, failures)
{
	kernel.refuse["alloc_mw"] = ENOSPC;
	EXPECT_EQ(kernel.ops.alloc_mw(&pd, IBV_MW_TYPE_1), nullptr);
	EXPECT_EQ(errno, ENOSPC);
	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.alloc_mw(&pd, IBV_MW_TYPE_1), nullptr);
	EXPECT_EQ(errno, ENOMEM);
}

/* The key byte changes with each bind, and wraps; the index does not change. */
TEST_F(MwTest, type_1_gets_another_key_with_each_bind)
{
	ibv_mw *mw = make(IBV_MW_TYPE_1);
	ibv_qp *qp = make_qp();
	ibv_mw_bind bind{ .wr_id = 5,
			  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
			  .bind_info = info() };
	const std::uint32_t keys[] = { 0x7ff, 0x700, 0x701 };

	for (std::uint32_t n = 0; n < 3; n++) {
		EXPECT_EQ(kernel.ops.bind_mw(qp, mw, &bind), 0);
		EXPECT_EQ(mw->rkey, keys[n]);
		expect_bind(sqe(qp, n), keys[n]);
		EXPECT_EQ(sqe(qp, n).wr_id, 5u);
		EXPECT_EQ(sqe(qp, n).flags, MPA_SQE_SIGNALED | MPA_SQE_FENCE);
		EXPECT_EQ(kernel.doorbells.size(), n + 1);
	}
	destroy(qp);
	EXPECT_EQ(kernel.ops.dealloc_mw(mw), 0);
}

TEST_F(MwTest, zero_bytes_say_nothing_about_memory)
{
	ibv_mw *mw = make(IBV_MW_TYPE_1);
	ibv_qp *qp = make_qp();
	ibv_mw_bind bind{ .bind_info = info(0) };

	for (ibv_mr *memory : { &mr, static_cast<ibv_mr *>(nullptr) }) {
		bind.bind_info.mr = memory;
		EXPECT_EQ(kernel.ops.bind_mw(qp, mw, &bind), 0);
		const mpa_sqe &e = sqe(qp, memory ? 0 : 1);

		EXPECT_EQ(e.stag, mw->rkey);
		EXPECT_EQ(e.num_sge, 1);
		EXPECT_EQ(e.length, 0u);
		EXPECT_EQ(e.remote_addr, 0u);
		EXPECT_EQ(e.sge[0].addr, 0u);
		EXPECT_EQ(e.sge[0].lkey, 0u);
	}
	destroy(qp);
	EXPECT_EQ(kernel.ops.dealloc_mw(mw), 0);
}

TEST_F(MwTest, a_failed_bind_keeps_the_key)
{
	ibv_mw *mw = make(IBV_MW_TYPE_1);
	ibv_qp *qp = make_qp();
	ibv_mw_bind bind{ .bind_info = info() };

	bind.send_flags = IBV_SEND_INLINE;
	EXPECT_EQ(kernel.ops.bind_mw(qp, mw, &bind), EINVAL);
	bind.send_flags = 0;
	bind.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND;
	EXPECT_EQ(kernel.ops.bind_mw(qp, mw, &bind), EINVAL);
	bind.bind_info = info();
	bind.bind_info.mr = nullptr;
	EXPECT_EQ(kernel.ops.bind_mw(qp, mw, &bind), EINVAL);
	EXPECT_EQ(kernel.sq(qp->handle).hdr().prod, 0u);
	bind.bind_info = info();
	kernel.write_errors = { EIO };
	EXPECT_EQ(kernel.ops.bind_mw(qp, mw, &bind), EIO);
	EXPECT_EQ(mw->rkey, 0x7feu);
	/* A full ring. */
	for (int n = 0; n < 3; n++)
		EXPECT_EQ(kernel.ops.bind_mw(qp, mw, &bind), 0);
	EXPECT_EQ(kernel.ops.bind_mw(qp, mw, &bind), ENOMEM);
	EXPECT_EQ(mw->rkey, 0x701u);
	destroy(qp);
	EXPECT_EQ(kernel.ops.dealloc_mw(mw), 0);
}

TEST_F(MwTest, type_2_is_posted)
{
	ibv_mw *one = make(IBV_MW_TYPE_1);
	ibv_mw *two = make(IBV_MW_TYPE_2);
	ibv_qp *qp = make_qp();
	ibv_send_wr wr{}, *bad = nullptr;

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw = { .mw = two, .rkey = 0x712, .bind_info = info() };
	EXPECT_EQ(kernel.ops.post_send(qp, &wr, &bad), 0);
	expect_bind(sqe(qp, 0), 0x712);
	wr.bind_mw.rkey = 0x812;
	EXPECT_EQ(kernel.ops.post_send(qp, &wr, &bad), EINVAL);
	wr.bind_mw = { .mw = one, .rkey = 0x712, .bind_info = info() };
	EXPECT_EQ(kernel.ops.post_send(qp, &wr, &bad), EINVAL);
	EXPECT_EQ(bad, &wr);
	EXPECT_EQ(kernel.sq(qp->handle).hdr().prod, 1u);
	destroy(qp);
	EXPECT_EQ(kernel.ops.dealloc_mw(one), 0);
	EXPECT_EQ(kernel.ops.dealloc_mw(two), 0);
}

TEST_F(MwTest, a_local_right_is_that_of_the_region)
{
	ibv_mw *mw = make(IBV_MW_TYPE_2);
	ibv_qp *qp = make_qp();
	ibv_send_wr wr{}, *bad = nullptr;

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw = { .mw = mw, .rkey = 0x7fe, .bind_info = info() };
	wr.bind_mw.bind_info.mw_access_flags =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_ZERO_BASED;
	EXPECT_EQ(kernel.ops.post_send(qp, &wr, &bad), 0);
	EXPECT_EQ(sqe(qp, 0).length,
		  static_cast<std::uint32_t>(IBV_ACCESS_REMOTE_WRITE |
					     IBV_ACCESS_ZERO_BASED));
	destroy(qp);
	EXPECT_EQ(kernel.ops.dealloc_mw(mw), 0);
}

TEST_F(MwTest, the_wr_function_takes_type_2)
{
	ibv_mw *one = make(IBV_MW_TYPE_1);
	ibv_mw *two = make(IBV_MW_TYPE_2);
	ibv_qp *qp = make_qp(true);
	ibv_qp_ex *qpx = &reinterpret_cast<verbs_qp *>(qp)->qp_ex;
	const ibv_mw_bind_info what = info();

	qpx->wr_flags = IBV_SEND_SIGNALED;
	qpx->wr_id = 12;
	ibv_wr_start(qpx);
	ibv_wr_bind_mw(qpx, two, 0x735, &what);
	EXPECT_EQ(ibv_wr_complete(qpx), 0);
	expect_bind(sqe(qp, 0), 0x735);
	EXPECT_EQ(sqe(qp, 0).wr_id, 12u);
	ibv_wr_start(qpx);
	ibv_wr_bind_mw(qpx, one, 0x7fe, &what);
	EXPECT_EQ(ibv_wr_complete(qpx), EINVAL);
	EXPECT_EQ(kernel.sq(qp->handle).hdr().prod, 1u);
	destroy(qp);
	EXPECT_EQ(kernel.ops.dealloc_mw(one), 0);
	EXPECT_EQ(kernel.ops.dealloc_mw(two), 0);
}

/* A module from before there were windows. */
class OldModule : public MwTest {
protected:
	OldModule() : MwTest(0) {}
};

TEST_F(OldModule, has_no_windows)
{
	ibv_qp_init_attr_ex attr{};

	EXPECT_EQ(kernel.ops.alloc_mw(&pd, IBV_MW_TYPE_2), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_TRUE(kernel.commands.empty());
	attr.send_cq = attr.recv_cq = scq = make_cq();
	kernel.commands.clear();
	attr.pd = &pd;
	attr.qp_type = IBV_QPT_RC;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_BIND_MW;
	EXPECT_EQ(kernel.ops.create_qp_ex(context(), &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_TRUE(kernel.commands.empty());
}

} // namespace
