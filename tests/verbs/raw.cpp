// SPDX-License-Identifier: GPL-2.0-only
#include "raw.hpp"

#include <unistd.h>

namespace raw {

using namespace harness;

namespace {

mpa_qp &provided(Queue &queue)
{
	return *to_mpa_qp(queue.qp.get());
}

void publish(mpa_wq &wq, std::uint32_t number)
{
	wq.prod += number;
	wq.next = wq.prod;
	__atomic_store_n(&wq.ring.hdr->prod, wq.prod, __ATOMIC_RELEASE);
}

template <typename Entry> Entry &cleared(mpa_wq &wq)
{
	void *slot = mpa_ring_slot(&wq.ring, wq.prod);

	std::memset(slot, 0, wq.ring.stride);
	return *static_cast<Entry *>(slot);
}

} // namespace

mpa_sqe &next_send(Queue &queue)
{
	return cleared<mpa_sqe>(provided(queue).sq);
}

mpa_rqe &next_receive(Queue &queue)
{
	return cleared<mpa_rqe>(provided(queue).rq);
}

void publish_sends(Queue &queue, std::uint32_t number)
{
	publish(provided(queue).sq, number);
}

void publish_receives(Queue &queue, std::uint32_t number)
{
	publish(provided(queue).rq, number);
}

void ring(Queue &queue)
{
	ib_uverbs_post_send_resp resp{};
	mpa_doorbell bell{};

	bell.hdr.command = IB_USER_VERBS_CMD_POST_SEND;
	bell.hdr.in_words = sizeof(bell) / 4;
	bell.hdr.out_words = sizeof(resp) / 4;
	bell.cmd.response = reinterpret_cast<std::uintptr_t>(&resp);
	bell.cmd.qp_handle = queue.qp->handle;
	bell.cmd.wqe_size = sizeof(ib_uverbs_send_wr);
	must_call(::write(queue.qp->context->cmd_fd, &bell, sizeof(bell)), "doorbell");
}

std::uint32_t send_entries(Queue &queue)
{
	return provided(queue).sq.ring.entries;
}

std::uint32_t receive_entries(Queue &queue)
{
	return provided(queue).rq.ring.entries;
}

} // namespace raw
