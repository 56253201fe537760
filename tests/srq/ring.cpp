// SPDX-License-Identifier: GPL-2.0-only
//
// The ring of a shared receive queue, with entries and indices that no provider
// writes.
#include "shared.hpp"

#include <atomic>
#include <thread>

extern "C" {
#include "mpa.h"
}

using namespace harness;
using namespace srq;
using verbs::connect;
using verbs::Connection;

namespace {

mpa_wq &provided(Shared &shared)
{
	return to_mpa_srq(shared.queue.get())->rq;
}

// The next entry, to be filled in and published.
mpa_rqe &next(Shared &shared, std::uint64_t number)
{
	mpa_wq &wq = provided(shared);
	auto *rqe = static_cast<mpa_rqe *>(mpa_ring_slot(&wq.ring, wq.prod));

	std::memset(rqe, 0, wq.ring.stride);
	rqe->wr_id = number;
	rqe->num_sge = 1;
	rqe->sge[0].addr = reinterpret_cast<std::uintptr_t>(shared.device.memory.data());
	rqe->sge[0].length = 64;
	rqe->sge[0].lkey = shared.device.region->lkey;
	return *rqe;
}

void publish(Shared &shared)
{
	mpa_wq &wq = provided(shared);

	wq.next = ++wq.prod;
	mpa_ring_produce(&wq.ring, wq.prod);
}

void set_prod(Shared &shared, std::uint32_t prod)
{
	mpa_ring_produce(&provided(shared).ring, prod);
}

struct EntryRow {
	const char *name;
	void (*spoil)(mpa_rqe &rqe);
	const char *wanted;
};

constexpr EntryRow rows[] = {
	{"valid", [](mpa_rqe &) {}, "3 success"},
	{"no pieces", [](mpa_rqe &rqe) { rqe.num_sge = 0; }, "3 success"},
	{"reserved", [](mpa_rqe &rqe) { rqe.reserved = 1; }, "3 local QP operation error"},
	{"more pieces than granted", [](mpa_rqe &rqe) { rqe.num_sge = 3; },
	 "3 local QP operation error"},
	{"as many pieces as the field can hold",
	 [](mpa_rqe &rqe) { rqe.num_sge = 0xffffffff; }, "3 local QP operation error"},
};

// The last but one goes back, behind what was taken.
constexpr std::uint32_t jumps[] = {17, 1000, 1U << 31, 0xfffffffe, 0};

} // namespace

CASE("ring: entries are checked, and end only the queue pair that takes them")
{
	for (const EntryRow &row : rows) {
		const Row name(row.name);
		Device one(1), two(2);
		Shared shared(two);
		Queue near[] = {Queue(one), Queue(one)};
		Queue far[] = {user_of(shared), user_of(shared)};
		const Connection connections[] = {connect(near[0], far[0]),
						  connect(near[1], far[1])};

		row.spoil(next(shared, 3));
		publish(shared);
		next(shared, 4);
		publish(shared);
		near[0].send(1, 0);
		is(described(far[0].completion()), row.wanted, "its completion");
		near[1].send(1, 0);
		is(described(far[1].completion()), "4 success", "the other queue pair's");
	}
}

// The kernel takes at most as many entries as the ring has, whatever it holds.
CASE("ring: an index that jumps")
{
	for (const std::uint32_t jump : jumps) {
		const Row name("by", jump);
		Device one(1), two(2);
		Shared shared(two);
		Queue near(one, {.send = 64, .recv = 1, .completions = 256});
		Queue far = user_of(shared, {.send = 16, .recv = 1, .completions = 256});
		const Connection connection = connect(near, far);

		next(shared, 3);
		publish(shared);
		set_prod(shared, provided(shared).prod + jump);
		for (std::uint64_t n = 0; n < 40; n++)
			near.send(n, 0);
		is(described(far.completion()), "3 success", "the valid entry");
		// Without a jump, the second message finds none.
		if (!jump)
			await([&] { return near.query().qp_state == IBV_QPS_ERR; },
			      "the end");
		// Back behind what was taken.
		set_prod(shared, provided(shared).prod);
		set_prod(shared, 0);
		is(shared.query().max_wr, 16u, "the size");
		far.qp.reset();
	}
}

// One thread of the program changes entries and the index while messages arrive
// for them. Each ends well, or ends its queue pair; KASAN sees the rest.
CASE("ring: entries that change while they are taken")
{
	Device one(1), two(2);
	Shared shared(two);
	std::atomic<bool> over{false};
	mpa_wq &wq = provided(shared);
	unsigned int taken = 0, ended = 0;
	std::thread spoiler([&] {
		for (std::uint32_t n = 0; !over; n++) {
			auto *rqe = static_cast<mpa_rqe *>(mpa_ring_slot(&wq.ring, n));

			__atomic_store_n(&rqe->num_sge, n % 3 ? n % 4 : 0xffffffff - n,
					 __ATOMIC_RELAXED);
			__atomic_store_n(&rqe->sge[0].length, n * 77, __ATOMIC_RELAXED);
			__atomic_store_n(&rqe->sge[0].lkey,
					 n % 5 ? two.region->lkey : n, __ATOMIC_RELAXED);
			__atomic_store_n(&wq.ring.hdr->prod, wq.ring.hdr->cons + n % 40,
					 __ATOMIC_RELEASE);
		}
	});

	// For three seconds, and then until something has been taken.
	const auto begun = std::chrono::steady_clock::now();
	const auto since = [&] { return std::chrono::steady_clock::now() - begun; };
	while (since() < std::chrono::seconds(3) ||
	       ((ended < 2 || !taken) && since() < patience)) {
		Queue near(one, {.send = 64, .recv = 1, .completions = 256});
		Queue far = user_of(shared, {.send = 1, .recv = 1, .completions = 256});
		const Connection connection = connect(near, far);

		for (std::uint64_t n = 0; n < 64; n++)
			near.send(n, 64);
		await([&] { return near.query().qp_state == IBV_QPS_ERR ||
			    near.drain().size(); }, "progress");
		for (const ibv_wc &wc : far.drain())
			taken += wc.opcode == IBV_WC_RECV;
		ended++;
	}
	over = true;
	spoiler.join();
	yes(ended > 1, "several queue pairs were used");
	yes(taken > 0, "entries were taken");
}
