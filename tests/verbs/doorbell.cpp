// SPDX-License-Identifier: GPL-2.0-only
//
// Doorbells: MPA_OBJECT_DOORBELL of uapi/rdma/mpa-abi.h.
#include "raw.hpp"

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <sys/ioctl.h>

using namespace harness;
using namespace verbs;
using mpa::descriptor;

namespace {

int doorbell_of(ibv_context *context)
{
	return to_mpa_context(context)->doorbell;
}

std::uint32_t number_of(const Queue &queue)
{
	return to_mpa_qp(queue.qp.get())->doorbell;
}

// errno or 0.
int ring(int fd, unsigned long number, unsigned long request = MPA_DOORBELL_RING)
{
	return ::ioctl(fd, request, number) ? errno : 0;
}

descriptor duplicate(int fd)
{
	return descriptor(must_call(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "F_DUPFD_CLOEXEC"));
}

// A Send that is in the ring, but not posted with the provider's doorbell.
void write_send(Queue &queue, std::uint64_t number)
{
	mpa_sqe &entry = raw::next_send(queue);

	entry.wr_id = number;
	entry.opcode = MPA_WR_SEND;
	entry.flags = MPA_SQE_SIGNALED;
	raw::publish_sends(queue, 1);
}

} // namespace

CASE("doorbell: sends what was posted, and only that of its queue pair")
{
	Pair pair;
	Queue other(pair.one);

	pair.far.post_receive(1);
	write_send(pair.near, 7);
	is(ring(doorbell_of(pair.one.context.get()), number_of(other)), 0, "another one");
	is(pair.near.drain().size(), 0u, "completions");
	is(ring(doorbell_of(pair.one.context.get()), number_of(pair.near)), 0, "its own");
	is(pair.near.completion().wr_id, 7u, "sent");
	is(pair.far.completion().wr_id, 1u, "received");
}

CASE("doorbell: numbers and requests that do not exist")
{
	Device one(1), stranger(1);
	const int fd = doorbell_of(one.context.get());
	std::uint32_t gone;

	yes(fd >= 0, "the context has one");
	{
		Queue queue(one);

		gone = number_of(queue);
		is(ring(fd, gone), 0, "a queue pair that was never connected");
		is(ring(doorbell_of(stranger.context.get()), gone), EINVAL,
		   "a queue pair of another context");
		is(ring(fd, gone, _IO(0x1b, 0xd1)), ENOTTY, "an unknown request");
		is(ring(fd, gone, FIONREAD), ENOTTY, "a request of others");
	}
	for (unsigned long number : { static_cast<unsigned long>(gone), gone + 1ul, 0x7ffffffful,
				      0xfffffffful, 0x100000000ul + gone, ~0ul })
		is(ring(fd, number), EINVAL, "number " + std::to_string(number));
}

CASE("doorbell: outlives its context")
{
	descriptor kept;
	std::uint32_t number;

	{
		Device one(1);
		Queue queue(one);

		kept = duplicate(doorbell_of(one.context.get()));
		number = number_of(queue);
		is(ring(kept.get(), number), 0, "a duplicate");
	}
	is(ring(kept.get(), number), EIO, "after the end of the context");
}

// The queue pair has no stream: what was posted is flushed.
CASE("doorbell: flushes after an error")
{
	Device one(1);
	Queue queue(one);

	queue.modify(IBV_QPS_ERR);
	write_send(queue, 9);
	is(ring(doorbell_of(one.context.get()), number_of(queue)), 0, "ring");
	const ibv_wc wc = queue.completion();

	is(wc.wr_id, 9u, "entry");
	is(status_name(wc.status), "Work Request Flushed Error", "status");
}

CASE("doorbell: rung while queue pairs come and go")
{
	Device one(1);
	const int fd = doorbell_of(one.context.get());
	std::atomic<bool> stop{ false };
	std::atomic<unsigned long> rung{ 0 }, refused{ 0 }, unexpected{ 0 };
	std::vector<std::thread> threads;

	for (int n = 0; n < 3; n++)
		threads.emplace_back([&] {
			for (unsigned long number = 0; !stop; number = (number + 1) % 8)
				switch (ring(fd, number)) {
				case 0:
					rung++;
					break;
				case EINVAL:
					refused++;
					break;
				default:
					unexpected++;
				}
		});
	for (int n = 0; n < 200; n++) {
		Queue first(one), second(one), third(one);

		first.modify(IBV_QPS_ERR);
	}
	stop = true;
	for (auto &thread : threads)
		thread.join();
	yes(rung > 0 && refused > 0, "both happened");
	is(unexpected.load(), 0ul, "other errors");
}

// The same as with POST_SEND, which older providers use.
CASE("doorbell: the command of the core stays")
{
	Pair pair;

	pair.far.post_receive(1);
	write_send(pair.near, 8);
	raw::ring(pair.near);
	is(pair.near.completion().wr_id, 8u, "sent");
	is(pair.far.completion().wr_id, 1u, "received");
}
