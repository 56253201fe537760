/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Stands in for the kernel and libibverbs: the rings are plain memory, the
 * commands are answered here, and each of them can be made to fail.
 */
#ifndef MPA_PROVIDER_FAKE_KERNEL_HPP
#define MPA_PROVIDER_FAKE_KERNEL_HPP

#include "../provider_abi.h"
#include "../ring.h"

#include <gtest/gtest.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fake {

/*
 * A ring as the kernel sees it; those of a queue pair share their memory. The header
 * of a completion queue that was resized is in the memory it had first.
 */
struct Ring {
	std::shared_ptr<void> memory;
	std::shared_ptr<void> header;
	std::uint32_t offset = 0;
	std::uint32_t entries = 0;
	std::uint32_t stride = 0;
	std::uint32_t len = 0;
	void *mapped = nullptr;	/* where the provider has it */

	mpa_ring_hdr &hdr() const
	{
		return *reinterpret_cast<mpa_ring_hdr *>(
			header ? header.get() : bytes());
	}

	std::uint8_t *bytes() const
	{
		return static_cast<std::uint8_t *>(memory.get()) + offset;
	}

	/* The entry at an index. */
	template <typename Entry> Entry &at(std::uint32_t index) const
	{
		return *reinterpret_cast<Entry *>(
			bytes() + MPA_RING_HDR_LEN +
			std::size_t{ index % entries } * stride);
	}

	/* Sets both indices, as if the ring had been in use for a long time. */
	void start_at(std::uint32_t index) const
	{
		hdr().prod = index;
		hdr().cons = index;
	}
};

/* A doorbell as it was written. */
struct Doorbell {
	ib_uverbs_cmd_hdr hdr;
	ib_uverbs_post_send cmd;
};

class Kernel {
public:
	Kernel();
	~Kernel();
	Kernel(const Kernel &) = delete;
	Kernel &operator=(const Kernel &) = delete;

	static Kernel &current();
	static const verbs_device_ops &driver();

	/* Settings, each of which lasts until it is changed. */
	std::map<std::string, int> refuse;	/* command: errno */
	std::optional<std::string> sysfs_value;
	std::uint32_t abi_version = MPA_ABI_VERSION;
	/* Of the next context: all, but its doorbell is the command of the core. */
	std::uint32_t features = ~unsigned{ MPA_FEATURE_DOORBELL };
	std::function<void(mpa_create_cq_resp &)> edit_cq = [](auto &) {};
	std::function<void(mpa_create_qp_resp &)> edit_qp = [](auto &) {};
	std::function<void(mpa_create_srq_resp &)> edit_srq = [](auto &) {};
	ibv_qp_cap grant{ 4, 4, 2, 2, 64 };	/* of the next queue pair */
	int fail_calloc = 0;			/* the n-th call from now on */
	bool other_qp_ex = false;		/* libibverbs has another struct ibv_qp_ex */
	int fail_mmap = 0;			/* of rings */
	bool fail_reserve = false;
	std::deque<int> write_errors;		/* 0: the correct value */
	std::deque<int> ring_errors;		/* likewise */
	std::optional<std::size_t> write_short;

	/* What was observed. */
	std::vector<std::string> commands;
	std::vector<Doorbell> doorbells;	/* by write() */
	std::vector<std::uint32_t> rung;	/* by MPA_OBJECT_DOORBELL */
	int doorbell_fd = -1;
	std::string log;
	std::map<std::string, int> objects;	/* existing objects, by kind */
	verbs_context_ops ops{};
	ibv_cq_init_attr_ex cq_attr{};
	ibv_moderate_cq moderation{};
	std::uint32_t imported_mr = 0;		/* handle */
	ibv_qp_init_attr_ex qp_attr{};
	ibv_srq_init_attr srq_attr{};
	int srq_mask = 0;			/* of the last change */
	std::uint32_t srq_limit = 0;

	/* Rings, by the handle of their owner. */
	Ring &cq(std::uint32_t handle) { return rings.at(handle << 4); }
	Ring &sq(std::uint32_t handle) { return rings.at(handle << 4 | 1); }
	Ring &rq(std::uint32_t handle) { return rings.at(handle << 4 | 2); }
	Ring &srq(std::uint32_t handle) { return rings.at(handle << 4 | 3); }

	/* For the functions of the fake. */
	int command(const std::string &name);
	int object(const std::string &kind, int delta);
	std::uint32_t new_handle() { return next_handle++; }
	Ring &make_ring(std::uint64_t key, std::uint32_t entries,
			std::uint32_t stride);
	mpa_create_cq_resp make_cq_ring(std::uint32_t handle,
					std::uint32_t entries,
					std::uint32_t stride);
	std::map<std::uint64_t, Ring> rings;

private:
	std::uint32_t next_handle = 1;
	std::uint32_t replaced = 0;
};

/* A test with an open device; nothing may be left over at its end. */
class ProviderTest : public testing::Test {
protected:
	explicit ProviderTest(std::uint32_t features = ~unsigned{ MPA_FEATURE_DOORBELL });
	~ProviderTest() override;

	ibv_context *context() { return &vctx->context; }
	ibv_cq *make_cq(int cqe = 4);
	ibv_qp *make_qp(bool ex = false, bool sig_all = false,
			ibv_srq *srq = nullptr);
	void destroy(ibv_qp *qp) { EXPECT_EQ(kernel.ops.destroy_qp(qp), 0); }
	void destroy(ibv_cq *cq) { EXPECT_EQ(kernel.ops.destroy_cq(cq), 0); }

	Kernel kernel;
	ibv_pd pd{};
	ibv_cq *scq = nullptr;	/* of make_qp(), created when first used */
	ibv_cq *rcq = nullptr;

private:
	verbs_device *device;
	verbs_context *vctx;
};

/*
 * Waits until a thread sleeps, or sets @over. It first reports its id, and then
 * waits for nothing but what the test is about.
 */
bool falls_asleep(const std::atomic<pid_t> &thread, const std::atomic<bool> &over);

} // namespace fake

#endif /* MPA_PROVIDER_FAKE_KERNEL_HPP */
