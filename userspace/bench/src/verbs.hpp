/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// RAII wrappers for objects of libibverbs and librdmacm.
#pragma once

#include <memory>
#include <string>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "net.hpp"

namespace bench::verbs {

template <auto destroy> struct Destroy {
	template <typename T> void operator()(T *object) const { destroy(object); }
};

// Identifiers are declared before the queue pairs that depend on them.
struct DestroyId {
	void operator()(rdma_cm_id *id) const
	{
		if (id->qp)
			rdma_destroy_qp(id);
		rdma_destroy_id(id);
	}
};

using Channel = std::unique_ptr<rdma_event_channel, Destroy<rdma_destroy_event_channel>>;
using Id = std::unique_ptr<rdma_cm_id, DestroyId>;
using Pd = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using Mr = std::unique_ptr<ibv_mr, Destroy<ibv_dereg_mr>>;
using CompletionChannel =
	std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using Cq = std::unique_ptr<ibv_cq, Destroy<ibv_destroy_cq>>;
using Event = std::unique_ptr<rdma_cm_event, Destroy<rdma_ack_cm_event>>;

Channel make_channel();
Id make_id(rdma_event_channel *channel, void *context);
// An identifier bound to the address; throws "unavailable" if no device has it.
Id bind(rdma_event_channel *channel, const Address &address);
Pd make_pd(ibv_context *context);
Mr register_memory(ibv_pd *pd, void *address, std::size_t size);
CompletionChannel make_completion_channel(ibv_context *context);
Cq make_cq(ibv_context *context, int entries, ibv_comp_channel *channel);
// The next event of the channel, which must be non-blocking.
Event next_event(rdma_event_channel *channel);
ibv_device_attr attributes(ibv_context *context);

} // namespace bench::verbs
