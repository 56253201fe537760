/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* domain.c: protection domains, thread domains, and what other processes made. */
#include "fake_kernel.hpp"

#include <cerrno>

namespace {

using fake::ProviderTest;

class DomainTest : public ProviderTest {
protected:
	ibv_pd *make_pd() { return kernel.ops.alloc_pd(context()); }

	ibv_td *make_td()
	{
		ibv_td_init_attr attr{};

		return kernel.ops.alloc_td(context(), &attr);
	}

	ibv_pd *make_parent(ibv_pd *of, ibv_td *td, std::uint32_t mask = 0)
	{
		ibv_parent_domain_init_attr attr{};

		attr.pd = of;
		attr.td = td;
		attr.comp_mask = mask;
		return kernel.ops.alloc_parent_domain(context(), &attr);
	}

	void dealloc(ibv_pd *p, int want = 0)
	{
		EXPECT_EQ(kernel.ops.dealloc_pd(p), want);
	}
};

TEST_F(DomainTest, parents_keep_what_they_consist_of)
{
	ibv_pd *p = make_pd();
	ibv_td *td = make_td();
	ibv_pd *one = make_parent(p, td), *two = make_parent(p, nullptr);

	ASSERT_NE(one, nullptr);
	ASSERT_NE(two, nullptr);
	EXPECT_EQ(one->handle, p->handle);
	EXPECT_EQ(one->context, context());
	dealloc(p, EBUSY);
	EXPECT_EQ(kernel.ops.dealloc_td(td), EBUSY);
	dealloc(one);
	EXPECT_EQ(kernel.ops.dealloc_td(td), 0);
	dealloc(p, EBUSY);
	dealloc(two);
	dealloc(p);
}

TEST_F(DomainTest, refusals)
{
	ibv_td_init_attr unknown{};
	ibv_pd *p = make_pd();
	ibv_pd *parent = make_parent(p, nullptr);

	unknown.comp_mask = 1;
	EXPECT_EQ(kernel.ops.alloc_td(context(), &unknown), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(make_parent(nullptr, nullptr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(make_parent(parent, nullptr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(make_parent(p, nullptr, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS),
		  nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	kernel.fail_calloc = 1;
	EXPECT_EQ(make_td(), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	kernel.fail_calloc = 1;
	EXPECT_EQ(make_parent(p, nullptr), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	dealloc(parent);
	dealloc(p);
}

/* A completion queue of one thread is polled without a lock. */
TEST_F(DomainTest, queue_in_a_thread_domain)
{
	ibv_pd *p = make_pd();
	ibv_td *td = make_td();
	ibv_pd *parent = make_parent(p, td);
	ibv_cq_init_attr_ex attr{};

	attr.cqe = 4;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	attr.parent_domain = parent;
	ibv_cq_ex *cq_ex = kernel.ops.create_cq_ex(context(), &attr);
	ASSERT_NE(cq_ex, nullptr);
	ibv_cq *cq = ibv_cq_ex_to_cq(cq_ex);
	auto &ring = kernel.cq(cq->handle);
	ibv_poll_cq_attr none{};
	ibv_wc wc;

	ring.hdr().prod = 2;
	ASSERT_EQ(ibv_start_poll(cq_ex, &none), 0);
	/* With a lock this would wait for ever. */
	EXPECT_EQ(kernel.ops.poll_cq(cq, 1, &wc), 1);
	ibv_end_poll(cq_ex);
	destroy(cq);
	dealloc(parent);
	EXPECT_EQ(kernel.ops.dealloc_td(td), 0);
	dealloc(p);
}

TEST_F(DomainTest, queue_needs_a_parent_domain)
{
	ibv_pd *p = make_pd();

	for (ibv_pd *parent : {static_cast<ibv_pd *>(nullptr), p}) {
		ibv_cq_init_attr_ex attr{};

		attr.cqe = 4;
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
		attr.parent_domain = parent;
		errno = 0;
		EXPECT_EQ(kernel.ops.create_cq_ex(context(), &attr), nullptr);
		EXPECT_EQ(errno, EINVAL);
	}
	dealloc(p);
}

TEST_F(DomainTest, imports)
{
	ibv_pd *p = kernel.ops.import_pd(context(), 17);

	ASSERT_NE(p, nullptr);
	EXPECT_EQ(p->handle, 17u);
	EXPECT_EQ(p->context, context());
	ibv_mr *mr = kernel.ops.import_mr(p, 18);
	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(kernel.imported_mr, 18u);
	EXPECT_EQ(mr->lkey, 0x200u);
	kernel.ops.unimport_mr(mr);

	kernel.refuse["query_mr"] = ENOENT;
	EXPECT_EQ(kernel.ops.import_mr(p, 19), nullptr);
	EXPECT_EQ(errno, ENOENT);
	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.import_mr(p, 18), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	kernel.ops.unimport_pd(p);
	kernel.fail_calloc = 1;
	EXPECT_EQ(kernel.ops.import_pd(context(), 17), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(kernel.objects["mr"] + kernel.objects["pd"], 0);
}

TEST_F(DomainTest, imported_device)
{
	static ibv_device public_device{};
	const auto &driver = fake::Kernel::driver();
	verbs_context *imported = driver.import_context(&public_device, 5);

	ASSERT_NE(imported, nullptr);
	EXPECT_EQ(kernel.commands.back(), "query_features");
	kernel.ops.free_context(&imported->context);
	kernel.refuse["query_context"] = EOPNOTSUPP;
	EXPECT_EQ(driver.import_context(&public_device, 5), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	kernel.refuse.clear();
	kernel.refuse["init_context"] = ENOMEM;
	EXPECT_EQ(driver.import_context(&public_device, 5), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	kernel.refuse.clear();
	kernel.refuse["query_features"] = EIO;
	EXPECT_EQ(driver.import_context(&public_device, 5), nullptr);
	EXPECT_EQ(errno, EIO);
	EXPECT_EQ(kernel.objects["context"], 1);
}

/* What the module offers; nothing, if it is too old to say. */
TEST_F(DomainTest, imported_device_has_the_features)
{
	struct {
		std::uint32_t features;
		int refused, want;
	} const rows[] = {
		{ MPA_FEATURE_MW, 0, 0 },
		{ MPA_FEATURE_SRQ, 0, EOPNOTSUPP },
		{ MPA_FEATURE_MW, EPROTONOSUPPORT, EOPNOTSUPP },
	};
	static ibv_device public_device{};

	for (const auto &row : rows) {
		kernel.features = row.features;
		kernel.refuse = { { "query_features", row.refused } };
		verbs_context *imported =
			fake::Kernel::driver().import_context(&public_device, 5);
		ASSERT_NE(imported, nullptr);
		ibv_pd *p = kernel.ops.import_pd(&imported->context, 17);
		ASSERT_NE(p, nullptr);
		errno = 0;
		ibv_mw *mw = kernel.ops.alloc_mw(p, IBV_MW_TYPE_2);
		EXPECT_EQ(errno, row.want);
		if (mw)
			kernel.ops.dealloc_mw(mw);
		kernel.ops.unimport_pd(p);
		kernel.ops.free_context(&imported->context);
	}
}

} // namespace
