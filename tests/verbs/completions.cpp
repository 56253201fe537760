// SPDX-License-Identifier: GPL-2.0-only
//
// Completion queues: a queue that is full, and many entries that end at once.
#include "raw.hpp"

#include <fstream>
#include <iostream>

using namespace harness;
using namespace verbs;

namespace {

constexpr unsigned int small = 8;

void fill(Queue &queue)
{
	for (std::uint64_t n = 0; n < small + 4; n++)
		queue.send(n, 0);
}

void expect_full(Queue &queue)
{
	const std::vector<ibv_wc> seen = queue.drain();

	is(seen.size(), std::size_t{small}, "completions that there was room for");
	for (std::size_t n = 0; n < seen.size(); n++)
		is(seen[n].wr_id, n, "which, in order");
}

unsigned long parameter(const std::string &name)
{
	std::ifstream file("/sys/module/mpa_irqoff/parameters/" + name);
	unsigned long value = 0;

	yes(bool(file >> value), "there is " + name);
	return value;
}

// All entries of both rings, for a queue pair that has ended.
void publish_all(Queue &queue)
{
	for (std::uint32_t n = 0; n < raw::send_entries(queue); n++) {
		raw::next_send(queue).wr_id = n;
		raw::publish_sends(queue, 1);
	}
	for (std::uint32_t n = 0; n < raw::receive_entries(queue); n++) {
		raw::next_receive(queue).wr_id = n;
		raw::publish_receives(queue, 1);
	}
}

} // namespace

CASE("full: every queue pair that uses the queue ends with an event")
{
	Device one(1), two(2);
	const Completions shared(
		ibv_create_cq(one.context.get(), small, nullptr, nullptr, 0));
	Depth depth{.send = 32, .recv = 32, .completions = 128};
	Queue culprit(one, depth, shared.get()), victim(one, depth, shared.get());
	Queue idle(one, depth, shared.get()), bystander(one, depth);
	Queue peers[] = {Queue(two, depth), Queue(two, depth), Queue(two, depth)};
	const Connection connections[] = {connect(culprit, peers[0]),
					  connect(victim, peers[1]),
					  connect(bystander, peers[2])};

	for (auto &peer : peers)
		for (std::uint64_t n = 0; n < 2 * small; n++)
			peer.post_receive(n);
	fill(culprit);
	is(one.events(4), "1 CQ error, 3 local work queue catastrophic error", "events");
	for (Queue *queue : {&culprit, &victim, &idle})
		is(queue->query().qp_state, IBV_QPS_ERR, "the state of one that used it");
	expect_full(culprit);
	await([&] { return peers[1].query().qp_state == IBV_QPS_ERR; },
	      "the peer learns of it");
	is(one.event(moment).has_value(), false, "there is another event");

	// Queue pairs that use another queue are not affected.
	bystander.send(5);
	is(status_name(bystander.completion().status), status_name(IBV_WC_SUCCESS),
	   "a queue pair with another queue");
}

CASE("full: a queue pair that uses such a queue is not connected again")
{
	Device one(1), two(2);
	const Completions shared(
		ibv_create_cq(one.context.get(), small, nullptr, nullptr, 0));
	Depth depth{.send = 32, .recv = 32, .completions = 128};
	Queue culprit(one, depth, shared.get());
	Queue peer(two, depth), another(one, depth);

	const Connection connection = connect(culprit, peer);
	for (std::uint64_t n = 0; n < 2 * small; n++)
		peer.post_receive(n);
	fill(culprit);
	is(one.events(2), "1 CQ error, 1 local work queue catastrophic error", "events");
	culprit.modify(IBV_QPS_RESET);
	is(connect_error(culprit, two), EINVAL, "rdma_connect");
	is(connect_error(another, two), ECONNREFUSED, "rdma_connect of another");
	is(one.events(1), "1 local work queue catastrophic error", "events after RESET");
	is(culprit.query().qp_state, IBV_QPS_ERR, "the state");
}

CASE("full: not by what a queue pair has posted that is destroyed")
{
	Device one{1}, two{2};
	Queue near(one, {.completions = 16});
	Queue far(two);
	Queue other(one, {.recv = 64}, near.completions);
	const Connection connection = connect(near, far);

	for (unsigned int n = 0; n < 64; n++)
		other.post_receive(100 + n);
	other.qp.reset();
	yes(near.drain().empty(), "no completions");
	far.post_receive(1);
	near.send(2);
	const ibv_wc wc = near.completion();
	is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "status");
	is(wc.wr_id, 2u, "which request");
	is(one.event(moment).has_value(), false, "there is an event");
	is(near.query().qp_state, IBV_QPS_RTS, "state");
}

CASE("full: by receives")
{
	Device one(1), two(2);
	const Completions shared(
		ibv_create_cq(one.context.get(), small, nullptr, nullptr, 0));
	Depth depth{.send = 32, .recv = 32, .completions = 128};
	Queue culprit(one, depth, shared.get()), peer(two, depth);

	for (std::uint64_t n = 0; n < 2 * small; n++)
		culprit.post_receive(n);
	const Connection connection = connect(culprit, peer);
	for (std::uint64_t n = 0; n < small + 4; n++)
		peer.send(n, 0);
	is(one.events(2), "1 CQ error, 1 local work queue catastrophic error", "events");
	is(culprit.query().qp_state, IBV_QPS_ERR, "the state");
	expect_full(culprit);
}

CASE("many: everything posted completes in order")
{
	Device device(1);
	Queue queue(device, {.send = 1000, .recv = 1000, .completions = 4096});
	std::uint64_t sends = 0, receives = 0;

	queue.modify(IBV_QPS_ERR);
	for (unsigned int round = 0; round < 3; round++) {
		publish_all(queue);
		raw::ring(queue);
		sends = receives = 0;
		for (const ibv_wc &wc : queue.drain()) {
			is(status_name(wc.status), status_name(IBV_WC_WR_FLUSH_ERR),
			   "how it ends");
			if (wc.opcode & IBV_WC_RECV)
				is(wc.wr_id, receives++, "which receive");
			else
				is(wc.wr_id, sends++, "which send");
		}
		is(sends, raw::send_entries(queue), "sends");
		is(receives, raw::receive_entries(queue), "receives");
	}
}

// More than are flushed where the stream ends: work flushes the others.
CASE("many: a stream ends, and the event follows the last completion")
{
	constexpr std::uint64_t posted = 4000;
	constexpr std::uint32_t refused = 1u << 12 | 1u << 8;
	Device one(1), two(2);
	Queue near(one, {.send = 16, .recv = posted, .completions = 2 * posted}), far(two);

	for (std::uint64_t n = 0; n < posted; n++)
		near.post_receive(n);
	const Connection connection = connect(near, far);
	// No region has this key.
	far.access(IBV_WR_RDMA_WRITE, 0, 0, 64);
	is(one.events(1), "1 local access violation work queue error", "the event");
	const std::vector<ibv_wc> seen = near.drain();
	is(seen.size(), posted, "completions before it");
	for (std::uint64_t n = 0; n < posted; n++) {
		is(seen[n].wr_id, n, "which, in order");
		is(status_name(seen[n].status), status_name(IBV_WC_WR_FLUSH_ERR),
		   "how it ends");
		is(seen[n].vendor_err, refused, "why");
	}
	is(one.event(moment).has_value(), false, "another event");
}

// Needs a module of the lab. A section ends at most 16 entries, so there are as
// many sections as that takes. Time may be the host's, which stops the machine
// now and then: nine sections of ten must be shorter than the limit of the module,
// and the longest is only reported.
CASE("interrupts: disabled only briefly while 65,536 entries end")
{
	constexpr unsigned long entries = 65536, at_once = 16;
	Device device(1);
	Queue queue(device, {.send = entries / 2, .recv = entries / 2,
			     .completions = entries});

	const std::string limit = std::to_string(parameter("limit")) + " us";

	queue.modify(IBV_QPS_ERR);
	for (unsigned int round = 0; round < 3; round++) {
		publish_all(queue);
		for (const char *name : {"longest", "longer", "sections"})
			std::ofstream("/sys/module/mpa_irqoff/parameters/" +
				      std::string(name)) << 0;
		raw::ring(queue);
		const unsigned long sections = parameter("sections");
		const unsigned long longer = parameter("longer");
		std::cout << "# interrupts off " << sections << " times, " << longer
			  << " of them for more than " << limit << ", "
			  << parameter("longest") / 1000.0 << " us at most\n";
		is(queue.drain().size(), std::size_t{entries}, "completions");
		yes(sections >= entries / at_once,
		    "no more than 16 entries per section, but " +
			    std::to_string(sections) + " sections");
		yes(longer * 10 <= sections,
		    "nine in ten shorter than " + limit + ", but not " +
			    std::to_string(longer));
	}
}
