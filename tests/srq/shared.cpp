// SPDX-License-Identifier: GPL-2.0-only
#include "shared.hpp"

namespace srq {

using namespace harness;

Shared::Shared(Device &on, std::uint32_t entries)
	: device(on)
{
	ibv_srq_init_attr attr{};

	attr.attr.max_wr = entries;
	attr.attr.max_sge = 2;
	queue.reset(ibv_create_srq(on.domain.get(), &attr));
	yes(queue != nullptr, "there is a shared receive queue");
}

void Shared::post(std::uint64_t number, std::uint32_t length)
{
	ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(device.memory.data() +
							       number * place),
		      .length = length,
		      .lkey = device.region->lkey};
	ibv_recv_wr wr{}, *bad = nullptr;

	wr.wr_id = number;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	is(Err{ibv_post_srq_recv(queue.get(), &wr, &bad)}, 0, "ibv_post_srq_recv");
}

void Shared::post_range(std::uint64_t first, std::uint64_t last)
{
	for (; first <= last; first++)
		post(first);
}

void Shared::set_limit(std::uint32_t limit)
{
	ibv_srq_attr attr{};

	attr.srq_limit = limit;
	is(Err{ibv_modify_srq(queue.get(), &attr, IBV_SRQ_LIMIT)}, 0, "ibv_modify_srq");
}

ibv_srq_attr Shared::query()
{
	ibv_srq_attr attr{};

	is(Err{ibv_query_srq(queue.get(), &attr)}, 0, "ibv_query_srq");
	return attr;
}

// The limit is 0 once fewer entries were left.
void Shared::expect_left(std::uint32_t number)
{
	set_limit(number + 1);
	await([&] { return !query().srq_limit; },
	      "not more than " + std::to_string(number) + " are left");
	is(device.events(1), "1 SRQ limit reached", "the event of that");
	set_limit(number);
	is(query().srq_limit, number, "entries left, at least");
	set_limit(0);
}

Queue user_of(Shared &shared, verbs::Depth depth)
{
	return Queue(shared.device, depth, nullptr, shared.queue.get());
}

std::string described(const ibv_wc &wc)
{
	return std::to_string(wc.wr_id) + " " + ibv_wc_status_str(wc.status);
}

} // namespace srq
