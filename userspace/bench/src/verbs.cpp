/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "verbs.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/resource.h>

#include "failure.hpp"

namespace bench::verbs {

namespace {

template <typename Owner> Owner made(typename Owner::pointer object, const char *what)
{
	if (!object)
		fail(what);
	return Owner(object);
}

std::string memlock()
{
	rlimit limit{};

	::getrlimit(RLIMIT_MEMLOCK, &limit);
	return limit.rlim_cur == RLIM_INFINITY
		? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

} // namespace

// Without the kernel's module there is no channel.
Channel make_channel()
{
	Channel channel(rdma_create_event_channel());

	if (!channel)
		fail("no RDMA on this machine (are ib_uverbs and rdma_ucm loaded?)",
		     Status::unavailable);
	set_blocking(channel->fd, false);
	return channel;
}

Id make_id(rdma_event_channel *channel, void *context)
{
	rdma_cm_id *id = nullptr;

	if (rdma_create_id(channel, &id, context, RDMA_PS_TCP))
		fail("rdma_create_id");
	return Id(id);
}

Id bind(rdma_event_channel *channel, const Address &address)
{
	Address any = address.with_port(0);
	Id id = make_id(channel, nullptr);
	const int error = rdma_bind_addr(id.get(), any.get()) ? errno : 0;

	if (error && error != ENODEV && error != EADDRNOTAVAIL)
		fail("rdma_bind_addr", Status::failed, error);
	if (error || !id->verbs)
		throw Failure(fmt::format("no RDMA device has the address {}: see "
					  "rdma link", address.text()),
			      Status::unavailable);
	return id;
}

Pd make_pd(ibv_context *context)
{
	return made<Pd>(ibv_alloc_pd(context), "ibv_alloc_pd");
}

Mr register_memory(ibv_pd *pd, void *address, std::size_t size)
{
	Mr mr(ibv_reg_mr(pd, address, size,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_READ));

	if (!mr)
		fail(fmt::format("{} bytes cannot be registered (RLIMIT_MEMLOCK is {}: "
				 "ulimit -l unlimited, or less depth, size or slots)",
				 size, memlock()),
		     Status::unavailable);
	return mr;
}

CompletionChannel make_completion_channel(ibv_context *context)
{
	return made<CompletionChannel>(ibv_create_comp_channel(context),
				       "ibv_create_comp_channel");
}

Cq make_cq(ibv_context *context, int entries, ibv_comp_channel *channel)
{
	return made<Cq>(ibv_create_cq(context, entries, nullptr, channel, 0),
			"ibv_create_cq");
}

Event next_event(rdma_event_channel *channel)
{
	rdma_cm_event *event = nullptr;

	if (rdma_get_cm_event(channel, &event)) {
		if (errno == EAGAIN || errno == EINTR)
			return {};
		fail("rdma_get_cm_event");
	}
	return Event(event);
}

ibv_device_attr attributes(ibv_context *context)
{
	ibv_device_attr attr{};

	if (const int error = ibv_query_device(context, &attr))
		fail("ibv_query_device", Status::failed, error);
	return attr;
}

} // namespace bench::verbs
