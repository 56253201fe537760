// SPDX-License-Identifier: GPL-2.0-only
//
// Asynchronous events that applications get.
#include "pair.hpp"

#include <cstdlib>

#include <infiniband/mpadv.h>

using namespace harness;
using namespace verbs;

namespace {

std::string named(std::optional<ibv_event_type> event)
{
	return event ? ibv_event_type_str(*event) : "none";
}

// An orderly end by the application.
void drain(Queue &queue, bool with_event)
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = with_event;
	is(Err{ibv_modify_qp(queue.qp.get(), &attr,
			     IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY)},
	   0, "ibv_modify_qp");
}

void in_host(int host, const std::string &command)
{
	const std::string whole =
		"ip netns exec h" + std::to_string(host) + " " + command;

	is(std::system(whole.c_str()), 0, whole);
}

} // namespace

CASE("events: the send queue is empty")
{
	for (const bool asked : {true, false}) {
		const Row row(asked ? "asked for" : "not asked for");
		const Setting waits(2, "receive-wait", "60s");
		Pair pair;

		// The peer does not answer the Read before it has taken the Send.
		pair.near.send(1);
		pair.near.transfer(IBV_WR_RDMA_READ, pair.two, 1024);
		is(pair.near.completion().wr_id, 1u, "the Send");
		drain(pair.near, asked);
		is(named(pair.one.event(moment)), "none", "an event while a Read is in flight");
		is(unsigned{pair.near.query().sq_draining}, 1u, "it is draining");
		pair.far.post_receive(2);
		is(status_name(pair.near.completion().status), status_name(IBV_WC_SUCCESS),
		   "the Read");
		is(named(pair.one.event(asked ? patience : moment)),
		   asked ? ibv_event_type_str(IBV_EVENT_SQ_DRAINED) : "none", "the event");
		is(named(pair.one.event(moment)), "none", "another event");
	}
}

CASE("events: the send queue is empty already")
{
	Pair pair;

	drain(pair.near, true);
	is(unsigned{pair.near.query().sq_draining}, 0u, "it is not draining");
	is(named(pair.one.event(patience)), ibv_event_type_str(IBV_EVENT_SQ_DRAINED),
	   "the event");
}

// The kernel keeps what is not read.
CASE("events: not without a limit")
{
	Device device(1);
	ibv_srq_init_attr attr{};

	attr.attr.max_wr = attr.attr.max_sge = 1;
	const SharedQueue receives(ibv_create_srq(device.domain.get(), &attr));
	yes(receives != nullptr, "there is a shared receive queue");
	Queue queue(device, {}, nullptr, receives.get());

	for (int n = 0; n < 100; n++) {
		queue.modify(IBV_QPS_ERR);
		queue.modify(IBV_QPS_RESET);
	}
	int events = 0;
	while (const auto event = device.event(moment)) {
		is(named(event), ibv_event_type_str(IBV_EVENT_QP_LAST_WQE_REACHED), "which");
		events++;
	}
	is(events, 16, "events");
}

CASE("events: the device goes away")
{
	in_host(1, "rdma link add mpa9 type mpa netdev lo");
	{
		Device device(9);
		Queue queue(device);

		in_host(1, "rdma link delete mpa9");
		is(named(device.event(patience)), ibv_event_type_str(IBV_EVENT_DEVICE_FATAL),
		   "the event");
		is(named(device.event(moment)), "none", "another event");
		ibv_port_attr port{};
		is(Err{ibv_query_port(device.context.get(), 1, &port)}, EIO,
		   "ibv_query_port");
		is(ibv_alloc_pd(device.context.get()) == nullptr, true,
		   "a protection domain is refused");
		is(Err{mpadv_set_receive_wait(queue.qp.get(), 1)}, EIO,
		   "mpadv_set_receive_wait");
		// What there is can be destroyed, at the end of the block.
	}
}
