// SPDX-License-Identifier: GPL-2.0-only
//
// The objects of a program. Threads share them, and use what others destroy.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

// Objects of a kind: pointers or descriptors. A destroyed one leaves the pool before it
// is destroyed, since libraries free it; the kernel's part is reached by other ways
// (duplicates, raw commands) in spite of that.
template <typename Object>
class Pool
{
public:
	void add(Object object)
	{
		const std::lock_guard hold(lock_);

		if (objects_.size() < 64)
			objects_.push_back(object);
	}
	// One of them; the zero value if there is none.
	Object get(std::uint32_t number) const
	{
		const std::lock_guard hold(lock_);

		return objects_.empty() ? Object{}
					: objects_[number % objects_.size()];
	}
	Object take(std::uint32_t number)
	{
		const std::lock_guard hold(lock_);

		if (objects_.empty())
			return {};
		const auto at = objects_.begin() + number % objects_.size();
		const Object object = *at;
		objects_.erase(at);
		return object;
	}
	// Whether it was still there.
	bool remove(Object object)
	{
		const std::lock_guard hold(lock_);

		return std::erase(objects_, object);
	}
	bool has(Object object) const
	{
		const std::lock_guard hold(lock_);

		return std::find(objects_.begin(), objects_.end(), object) !=
		       objects_.end();
	}
	bool empty() const
	{
		const std::lock_guard hold(lock_);

		return objects_.empty();
	}

private:
	mutable std::mutex lock_;
	std::vector<Object> objects_;
};

// A queue pair of a host, and what it needs.
struct Side {
	ibv_context *context = nullptr;
	ibv_pd *pd = nullptr;
	ibv_mr *mr = nullptr;
	ibv_qp *qp = nullptr;
};

// Two of them that were connected. Their objects may be gone.
struct Pair {
	std::array<Side, 2> sides;
	// Keys of windows that were bound last, for the other side.
	std::array<std::atomic<std::uint32_t>, 2> windows{};
};

struct World {
	static constexpr std::size_t memory_size = 1 << 20;

	World();
	// Whether there are devices and both hosts.
	static bool open_all();

	// Registered, sent, received, shared with children.
	unsigned char *memory;
	// The network namespaces of the hosts, the same for all programs.
	static std::array<int, 2> hosts;
	// The RDMA devices that there were before the first program; the list ends with nullptr.
	static ibv_device **devices;
	// A library's object is used with it shared, destroyed with it exclusively. The
	// kernel's part is destroyed in spite of that, by raw commands and by closing.
	std::shared_mutex libraries;
	Pool<int> fds;
	Pool<int> listeners;
	Pool<ibv_context *> contexts;
	Pool<ibv_pd *> pds;
	Pool<ibv_mr *> mrs;
	Pool<ibv_mw *> mws;
	Pool<ibv_cq *> cqs;
	Pool<ibv_srq *> srqs;
	Pool<ibv_qp *> qps;
	Pool<Pair *> pairs;
	Pool<ibv_comp_channel *> channels;
	Pool<rdma_cm_id *> ids;
	Pool<rdma_event_channel *> events;
	std::atomic<std::uint32_t> keys[8] = {};
	std::atomic<unsigned int> next_key = 0;

	unsigned char *at(std::uint32_t number)
	{
		return memory + number % (memory_size / 2);
	}
	void enter(std::uint32_t host);
	std::uint32_t key(std::uint32_t number) { return keys[number % 8]; }
	void keep_key(std::uint32_t key) { keys[next_key++ % 8] = key; }
};
