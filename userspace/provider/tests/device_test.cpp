/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* device.c: recognition, contexts, protection domains, memory regions. */
#include "fake_kernel.hpp"

#include <cerrno>
#include <map>

namespace {

using fake::Kernel;
using fake::ProviderTest;

TEST(driver, is_registered_when_loaded)
{
	const auto &driver = Kernel::driver();

	EXPECT_STREQ(driver.name, "mpa");
	EXPECT_EQ(driver.match_min_abi_version, 2u);
	EXPECT_EQ(driver.match_max_abi_version, 2u);
	ASSERT_NE(driver.match_table, nullptr);
	EXPECT_EQ(driver.match_table[0].kind, VERBS_MATCH_SENTINEL);
}

struct MatchRow {
	std::optional<std::string> value;
	bool want;
};

class Match : public testing::TestWithParam<MatchRow> {};

TEST_P(Match, reads_the_attribute)
{
	Kernel kernel;
	verbs_sysfs_dev dev{};

	kernel.sysfs_value = GetParam().value;
	EXPECT_EQ(Kernel::driver().match_device(&dev), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
	table, Match,
	testing::Values(MatchRow{ "2\n", true }, MatchRow{ "2", true },
			MatchRow{ std::nullopt, false }, MatchRow{ "", false },
			MatchRow{ "\n", false }, MatchRow{ "1\n", false },
			MatchRow{ "20\n", false }, MatchRow{ "2x\n", false },
			MatchRow{ "x\n", false }, MatchRow{ "0\n", false },
			MatchRow{ "2222222222222222\n", false }));

TEST(match_device, says_who_must_be_upgraded)
{
	Kernel kernel;
	verbs_sysfs_dev dev{};

	for (const auto &[value, advice] : std::map<std::string, std::string>{
		     { "1", "version 1 of the user ABI, the provider 2: upgrade the modules\n" },
		     { "3", "version 3 of the user ABI, the provider 2: upgrade the provider\n" },
		     { "2", "" },
		     { "x", "" } }) {
		kernel.sysfs_value = value;
		testing::internal::CaptureStderr();
		Kernel::driver().match_device(&dev);
		const auto said = testing::internal::GetCapturedStderr();
		EXPECT_TRUE(said.ends_with(advice)) << said;
		EXPECT_EQ(said.empty(), advice.empty()) << said;
	}
}

TEST(alloc_device, reports_no_memory)
{
	Kernel kernel;

	kernel.fail_calloc = 1;
	EXPECT_EQ(Kernel::driver().alloc_device(nullptr), nullptr);
}

struct ContextRow {
	const char *refused;
	int err;
	std::uint32_t version;
	int want;
};

class Context : public testing::TestWithParam<ContextRow> {};

TEST_P(Context, failure_is_reported_and_undone)
{
	const auto &row = GetParam();
	Kernel kernel;
	ibv_device device{};

	kernel.refuse[row.refused] = row.err;
	kernel.abi_version = row.version;
	errno = 0;
	EXPECT_EQ(Kernel::driver().alloc_context(&device, 0x6d7061, nullptr),
		  nullptr);
	EXPECT_EQ(errno, row.want);
	EXPECT_EQ(kernel.objects["context"], 0);
}

INSTANTIATE_TEST_SUITE_P(
	table, Context,
	testing::Values(ContextRow{ "init_context", ENOMEM, 2, ENOMEM },
			ContextRow{ "get_context", EPERM, 2, EPERM },
			ContextRow{ "nothing", 0, 0, EPROTONOSUPPORT },
			ContextRow{ "nothing", 0, 1, EPROTONOSUPPORT },
			ContextRow{ "nothing", 0, 3, EPROTONOSUPPORT }));

TEST(alloc_context, explains_another_version)
{
	Kernel kernel;
	ibv_device device{};

	kernel.abi_version = 7;
	Kernel::driver().alloc_context(&device, 0x6d7061, nullptr);
	EXPECT_NE(kernel.log.find("version 7 of the user ABI, the provider 2: upgrade the provider"),
		  std::string::npos);
}

/* A module that does not know the messages of RFC 7306 has a zero there. */
TEST(alloc_context, notes_what_the_module_can_do)
{
	for (const std::uint32_t features : { 0u, unsigned{ MPA_FEATURE_RFC7306 } }) {
		Kernel kernel;
		ibv_device device{};
		ibv_cq cq{};
		ibv_pd pd{};
		ibv_qp_init_attr_ex attr{};

		kernel.features = features;
		verbs_context *ctx =
			Kernel::driver().alloc_context(&device, 0x6d7061, nullptr);
		ASSERT_NE(ctx, nullptr);
		attr.pd = &pd;
		attr.send_cq = attr.recv_cq = &cq;
		attr.qp_type = IBV_QPT_RC;
		attr.comp_mask = IBV_QP_INIT_ATTR_PD |
				 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
		/* It gets as far as the command if it is supported. */
		kernel.refuse["create_qp"] = EPERM;
		EXPECT_EQ(kernel.ops.create_qp_ex(&ctx->context, &attr), nullptr);
		EXPECT_EQ(errno, features ? EPERM : EOPNOTSUPP);
		kernel.ops.free_context(&ctx->context);
	}
}

TEST_F(ProviderTest, query_device_formats_the_firmware_version)
{
	ibv_device_attr_ex attr{};

	EXPECT_EQ(kernel.ops.query_device_ex(context(), nullptr, &attr,
					     sizeof(attr)),
		  0);
	EXPECT_STREQ(attr.orig_attr.fw_ver, "1.2.3");

	kernel.refuse["query_device"] = EIO;
	EXPECT_EQ(kernel.ops.query_device_ex(context(), nullptr, &attr,
					     sizeof(attr)),
		  EIO);
}

TEST_F(ProviderTest, query_port_asks_the_kernel)
{
	ibv_port_attr attr{};

	EXPECT_EQ(kernel.ops.query_port(context(), 3, &attr), 0);
	EXPECT_EQ(attr.lid, 3);
	kernel.refuse["query_port"] = EINVAL;
	EXPECT_EQ(kernel.ops.query_port(context(), 3, &attr), EINVAL);
}

TEST_F(ProviderTest, pd_comes_and_goes)
{
	ibv_pd *p = kernel.ops.alloc_pd(context());

	ASSERT_NE(p, nullptr);
	kernel.refuse["dealloc_pd"] = EBUSY;
	EXPECT_EQ(kernel.ops.dealloc_pd(p), EBUSY);
	kernel.refuse.clear();
	EXPECT_EQ(kernel.ops.dealloc_pd(p), 0);
}

TEST_F(ProviderTest, pd_failures)
{
	kernel.refuse["alloc_pd"] = ENOSPC;
	EXPECT_EQ(kernel.ops.alloc_pd(context()), nullptr);
	EXPECT_EQ(errno, ENOSPC);
	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.alloc_pd(context()), nullptr);
	EXPECT_EQ(errno, ENOMEM);
}

TEST_F(ProviderTest, mr_comes_and_goes)
{
	char byte;
	ibv_mr *mr = kernel.ops.reg_mr(&pd, &byte, 1, 0,
				       IBV_ACCESS_REMOTE_READ);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(mr->lkey, 0x100u);
	auto *vmr = reinterpret_cast<verbs_mr *>(mr);

	EXPECT_EQ(vmr->access, IBV_ACCESS_REMOTE_READ);
	kernel.refuse["dereg_mr"] = EBUSY;
	EXPECT_EQ(kernel.ops.dereg_mr(vmr), EBUSY);
	kernel.refuse.clear();
	EXPECT_EQ(kernel.ops.dereg_mr(vmr), 0);
}

TEST_F(ProviderTest, mr_failures)
{
	kernel.refuse["reg_mr"] = EFAULT;
	EXPECT_EQ(kernel.ops.reg_mr(&pd, nullptr, 1, 0, 0), nullptr);
	EXPECT_EQ(errno, EFAULT);
	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.reg_mr(&pd, nullptr, 1, 0, 0), nullptr);
	EXPECT_EQ(errno, ENOMEM);
}

TEST_F(ProviderTest, mr_is_registered_again)
{
	char bytes[12];
	ibv_mr *mr = kernel.ops.reg_mr(&pd, bytes, 1, 0, 0);
	auto *vmr = reinterpret_cast<verbs_mr *>(mr);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(kernel.ops.rereg_mr(vmr, 7, &pd, bytes, 12,
				      IBV_ACCESS_LOCAL_WRITE),
		  0);
	EXPECT_EQ(vmr->access, IBV_ACCESS_LOCAL_WRITE);
	kernel.refuse["rereg_mr"] = EBUSY;
	EXPECT_EQ(kernel.ops.rereg_mr(vmr, 7, &pd, bytes, 12, 0), EBUSY);
	EXPECT_EQ(kernel.ops.dereg_mr(vmr), 0);
}

TEST_F(ProviderTest, mr_of_a_dmabuf)
{
	ibv_mr *mr = kernel.ops.reg_dmabuf_mr(&pd, 1, 2, 3, 4, 0);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(kernel.ops.dereg_mr(reinterpret_cast<verbs_mr *>(mr)), 0);
	kernel.refuse["reg_dmabuf_mr"] = EBADF;
	EXPECT_EQ(kernel.ops.reg_dmabuf_mr(&pd, 1, 2, 3, 4, 0), nullptr);
	EXPECT_EQ(errno, EBADF);
	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.reg_dmabuf_mr(&pd, 1, 2, 3, 4, 0), nullptr);
	EXPECT_EQ(errno, ENOMEM);
}

TEST_F(ProviderTest, advice_is_for_the_kernel)
{
	ibv_sge sge{};

	EXPECT_EQ(kernel.ops.advise_mr(&pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge,
				       1),
		  0);
	kernel.refuse["advise_mr"] = EFAULT;
	EXPECT_EQ(kernel.ops.advise_mr(&pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge,
				       1),
		  EFAULT);
}

/* libibverbs answers EOPNOTSUPP for operations that stay NULL. */
TEST_F(ProviderTest, leaves_the_rest_to_libibverbs)
{
	EXPECT_EQ(kernel.ops.create_srq_ex, nullptr);
	EXPECT_EQ(kernel.ops.get_srq_num, nullptr);
	EXPECT_EQ(kernel.ops.create_wq, nullptr);
	EXPECT_EQ(kernel.ops.create_ah, nullptr);
}

} // namespace
