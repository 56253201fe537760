// SPDX-License-Identifier: GPL-2.0-only
//
// A model of two connected queue pairs: what is posted, in which order it completes, with
// which result, and what memory contains. Random schedules are run on the devices, and each
// completion is compared with the next one of the model.
//
// Only what has one outcome is scheduled: a Send where a receive is posted, a Write after a
// Read or an atomic operation with a fence, a window while it is bound. A third of the requests
// have no completion of their own. Each schedule may end with one request that
// must fail, after which everything is flushed.
//
// MODEL_SEED: the first schedule, else any; MODEL_SCHEDULES: how many.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>

#include "pair.hpp"

using namespace harness;
using namespace verbs;

namespace
{

using Window = std::unique_ptr<ibv_mw, Ender<ibv_dealloc_mw>>;
using Chance = std::mt19937_64;

// The memory of a device: what it sends, what its peer uses, what it reads, what it
// receives.
constexpr std::uint32_t source = 0, open = 16384, sinks = 32768,
			buffers = 49152;
constexpr std::uint32_t part = 16384, slot = 256, slots = part / slot;
constexpr unsigned int depth = 16;

std::uint32_t below(Chance &chance, std::uint32_t limit)
{
	return std::uniform_int_distribution<std::uint32_t>(0,
							    limit - 1)(chance);
}

struct Wanted {
	std::uint64_t number;
	ibv_wc_status status;
	ibv_wc_opcode opcode;
	// Of receives, Reads and atomic operations; else not compared.
	std::optional<std::uint32_t> length;
	// Of a receive: the key that the peer has invalidated, or 0.
	std::uint32_t invalidated = 0;
	// What this changes in the memory of the queue that completes.
	std::uint32_t where = 0;
	Bytes content = {};
	// Not signaled: there is no completion if it succeeds; the next one shows that.
	bool quiet = false;
};

// One end, and what the model knows of it.
struct End {
	End(Queue &queue, Queue &peer, ibv_srq *shared)
		: queue(queue), peer(peer), shared(shared)
	{
	}

	Queue &queue, &peer;
	// Its receives, if it has no queue of its own for them.
	ibv_srq *shared;
	// As it must be, up to what is compared last.
	Bytes memory;
	// Completions that have not come, in the order of each queue.
	std::deque<Wanted> sends, receives;
	// Receives that no Send has been posted for.
	struct Receive {
		std::uint64_t number;
		std::uint32_t where, length;
	};
	std::deque<Receive> posted;
	std::uint64_t next = 1;
	std::uint32_t next_slot = 0;
	// Reads and atomic operations since the last fence: the peer executes them when it
	// answers, and what is placed behind them does not wait.
	bool reading = false;
	// This end's window on its open memory, for the peer; and whether it is bound, and
	// whether the peer uses it.
	Window window;
	bool bound = false;
};

struct Model {
	Model(Pair &pair, Chance &chance);

	void step();
	void finish();
	void fail_once();

private:
	End &any() { return ends_[below(chance_, 2)]; }
	End &other(const End &end)
	{
		return &end == &ends_[0] ? ends_[1] : ends_[0];
	}
	std::uint64_t address(const End &end, std::uint32_t offset) const
	{
		return reinterpret_cast<std::uintptr_t>(
			       end.queue.device.memory.data()) +
		       offset;
	}
	std::uint32_t piece_length(std::uint32_t most)
	{
		return below(chance_, most + 1);
	}
	void post_receives(End &end);
	void post(End &end, ibv_send_wr &wr, std::uint32_t where,
		  std::uint32_t length, bool quiet = false);
	bool may_be_quiet() { return below(chance_, 3) == 0; }
	bool post_send(End &end);
	void post_transfer(End &end);
	void post_atomic(End &end);
	void post_bind(End &end);
	void post_invalidate(End &end);
	void settle(End &end);
	void placed(End &end, const Wanted &wanted);
	void complete_sends(End &end);
	bool poll(End &end);
	void compare(End &end, const ibv_wc &wc);
	void drain();
	std::uint32_t key_of(End &target);

	Chance &chance_;
	std::array<End, 2> ends_;
};

Model::Model(Pair &pair, Chance &chance)
	: chance_(chance), ends_{End(pair.near, pair.far, pair.near_receives.get()),
				 End(pair.far, pair.near, pair.far_receives.get())}
{
	for (End &end : ends_) {
		for (std::byte &byte : end.queue.device.memory)
			byte = static_cast<std::byte>(below(chance, 256));
		end.memory = end.queue.device.memory;
		// Regions of the pair cannot be bound: another one on the same memory.
		end.window.reset(ibv_alloc_mw(end.queue.device.domain.get(),
					      IBV_MW_TYPE_2));
		yes(end.window != nullptr, "there is a window");
	}
}

void Model::post_receives(End &end)
{
	for (std::uint32_t n = below(chance_, 4); n; n--) {
		if (end.posted.size() + end.receives.size() >= depth)
			return;
		const std::uint32_t length =
			below(chance_, 4) ? slot : below(chance_, slot);
		const std::uint32_t where =
			buffers + end.next_slot++ % slots * slot;
		ibv_sge piece{address(end, where), length,
			      end.queue.device.region->lkey};
		ibv_recv_wr wr{}, *bad = nullptr;

		wr.wr_id = end.next++;
		wr.sg_list = &piece;
		wr.num_sge = 1;
		is(Err{end.shared ? ibv_post_srq_recv(end.shared, &wr, &bad)
				  : ibv_post_recv(end.queue.qp.get(), &wr, &bad)},
		   0, "a receive is posted");
		end.posted.push_back({wr.wr_id, where, length});
	}
}

void Model::post(End &end, ibv_send_wr &wr, std::uint32_t where,
		 std::uint32_t length, bool quiet)
{
	ibv_sge piece{address(end, where), length,
		      end.queue.device.region->lkey};

	wr.wr_id = end.next++;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	if (!quiet)
		wr.send_flags |= IBV_SEND_SIGNALED;
	const bool answered = wr.opcode == IBV_WR_RDMA_READ ||
			      wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
			      wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	if (end.reading && !answered) {
		wr.send_flags |= IBV_SEND_FENCE;
		end.reading = false;
	}
	end.reading |= answered;
	end.queue.post(wr);
}

// The peer receives it in the buffer that was posted first. False: there is none.
bool Model::post_send(End &end)
{
	End &peer = other(end);
	if (peer.posted.empty())
		return false;
	const End::Receive into = peer.posted.front();
	const std::uint32_t length = piece_length(into.length);
	const std::uint32_t from = source + below(chance_, part - slot);
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_SEND;
	if (peer.bound && below(chance_, 3) == 0) {
		wr.opcode = IBV_WR_SEND_WITH_INV;
		wr.invalidate_rkey = peer.window->rkey;
		peer.bound = false;
	}
	peer.posted.pop_front();
	const bool quiet = may_be_quiet();
	post(end, wr, from, length, quiet);
	end.sends.push_back({wr.wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, {}});
	end.sends.back().quiet = quiet;
	peer.receives.push_back({into.number, IBV_WC_SUCCESS, IBV_WC_RECV,
				 length, wr.invalidate_rkey, into.where,
				 Bytes(end.memory.begin() + from,
				       end.memory.begin() + from + length)});
	return true;
}

std::uint32_t Model::key_of(End &target)
{
	return target.bound && below(chance_, 2)
		       ? target.window->rkey
		       : target.queue.device.region->rkey;
}

// A Write or a Read of the open memory. The model is ahead: its memory is as it will be
// when everything posted so far is done.
void Model::post_transfer(End &end)
{
	End &peer = other(end);
	const std::uint32_t there = open + below(chance_, part - slot);
	const std::uint32_t length = piece_length(slot);
	const bool quiet = may_be_quiet();
	ibv_send_wr wr{};

	wr.wr.rdma = {address(peer, there), key_of(peer)};
	if (below(chance_, 2)) {
		const std::uint32_t from = source + below(chance_, part - slot);

		wr.opcode = IBV_WR_RDMA_WRITE;
		post(end, wr, from, length, quiet);
		std::copy_n(end.memory.begin() + from, length,
			    peer.memory.begin() + there);
		end.sends.push_back(
			{wr.wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, {}});
	} else {
		const std::uint32_t into =
			sinks + end.next_slot++ % slots * slot;

		wr.opcode = IBV_WR_RDMA_READ;
		post(end, wr, into, length, quiet);
		end.sends.push_back(
			{wr.wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_READ, length, 0,
			 into,
			 Bytes(peer.memory.begin() + there,
			       peer.memory.begin() + there + length)});
	}
	end.sends.back().quiet = quiet;
}

void Model::post_atomic(End &end)
{
	End &peer = other(end);
	const std::uint32_t there = open + below(chance_, part / 8) * 8;
	const std::uint32_t into = sinks + end.next_slot++ % slots * slot;
	const bool add = below(chance_, 2);
	std::uint64_t value = 0;
	ibv_send_wr wr{};

	std::memcpy(&value, peer.memory.data() + there, sizeof(value));
	wr.opcode =
		add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic = {address(peer, there),
			below(chance_, 2) ? value : chance_(), chance_(),
			peer.queue.device.region->rkey};
	const bool quiet = may_be_quiet();
	post(end, wr, into, 8, quiet);
	Bytes before(sizeof(value));
	std::memcpy(before.data(), &value, sizeof(value));
	end.sends.push_back({wr.wr_id, IBV_WC_SUCCESS,
			     add ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP, 8, 0,
			     into, before});
	end.sends.back().quiet = quiet;
	if (add)
		value += wr.wr.atomic.compare_add;
	else if (value == wr.wr.atomic.compare_add)
		value = wr.wr.atomic.swap;
	std::memcpy(peer.memory.data() + there, &value, sizeof(value));
}

// Binds the window of this end again. The peer learns its key when that is complete, and what
// it has invalidated before has arrived.
void Model::post_bind(End &end)
{
	if (end.bound || !end.receives.empty())
		return;
	ibv_send_wr wr{};
	ibv_mr *const region = end.queue.device.region.get();

	wr.opcode = IBV_WR_BIND_MW;
	wr.wr_id = end.next++;
	wr.bind_mw = {end.window.get(),
		      ibv_inc_rkey(end.window->rkey),
		      {region, address(end, open), part,
		       IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ}};
	wr.send_flags = IBV_SEND_SIGNALED;
	end.queue.post(wr);
	end.window->rkey = wr.bind_mw.rkey;
	end.sends.push_back({wr.wr_id, IBV_WC_SUCCESS, IBV_WC_BIND_MW, {}});
	complete_sends(end);
	end.bound = true;
}

// Invalidates it by a request of its own end, when no request of the peer uses it any more. It
// needs no completion: what follows in the queue is executed later.
void Model::post_invalidate(End &end)
{
	if (!end.bound)
		return;
	complete_sends(other(end));
	// A Send of the peer may have invalidated it, which it knows itself.
	if (!end.bound)
		return;
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_LOCAL_INV;
	wr.wr_id = end.next++;
	wr.invalidate_rkey = end.window->rkey;
	const bool quiet = may_be_quiet();
	wr.send_flags = quiet ? 0 : IBV_SEND_SIGNALED;
	end.queue.post(wr);
	end.sends.push_back({wr.wr_id, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV, {}});
	end.sends.back().quiet = quiet;
	end.bound = false;
}

// The last request of a queue is one that shows that those before it are complete.
void Model::settle(End &end)
{
	if (end.sends.empty() || !end.sends.back().quiet)
		return;
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma = {address(other(end), open),
		      other(end).queue.device.region->rkey};
	post(end, wr, source, 0);
	end.sends.push_back({wr.wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, {}});
}

void Model::complete_sends(End &end)
{
	settle(end);
	while (!end.sends.empty())
		if (!poll(end))
			compare(end, end.queue.completion());
}

void Model::compare(End &end, const ibv_wc &wc)
{
	const Row at(&end == &ends_[0] ? "near" : "far", "request", wc.wr_id);
	// What was flushed has no valid opcode.
	const bool receive =
		wc.status == IBV_WC_SUCCESS
			? (wc.opcode & IBV_WC_RECV) != 0
			: !end.receives.empty() &&
				  end.receives.front().number == wc.wr_id;
	std::deque<Wanted> &queue = receive ? end.receives : end.sends;

	while (!queue.empty() && queue.front().quiet &&
	       queue.front().number != wc.wr_id) {
		placed(end, queue.front());
		queue.pop_front();
	}
	yes(!queue.empty(), "a completion is expected");
	const Wanted wanted = queue.front();
	queue.pop_front();
	is(wc.wr_id, wanted.number, "the next one of its queue");
	is(status_name(wc.status), status_name(wanted.status), "its result");
	if (wc.status != IBV_WC_SUCCESS)
		return;
	yes(!wanted.quiet, "a completion was asked for");
	is(int(wc.opcode), int(wanted.opcode), "its kind");
	if (wanted.length)
		is(wc.byte_len, *wanted.length, "its bytes");
	if (receive) {
		is(bool(wc.wc_flags & IBV_WC_WITH_INV), wanted.invalidated != 0,
		   "whether a key was invalidated");
		if (wanted.invalidated)
			is(wc.invalidated_rkey, wanted.invalidated, "the key");
	}
	placed(end, wanted);
}

void Model::placed(End &end, const Wanted &wanted)
{
	const Bytes &memory = end.queue.device.memory;
	const auto [got, differs] = std::mismatch(
		memory.begin() + wanted.where,
		memory.begin() + wanted.where + wanted.content.size(),
		wanted.content.begin());
	if (differs != wanted.content.end())
		fail("byte " +
		     std::to_string(differs - wanted.content.begin()) + " of " +
		     std::to_string(wanted.content.size()) +
		     " that operation " + std::to_string(int(wanted.opcode)) +
		     " has placed: got " + std::to_string(int(*got)) +
		     ", wanted " + std::to_string(int(*differs)));
	std::copy(wanted.content.begin(), wanted.content.end(),
		  end.memory.begin() + wanted.where);
}

bool Model::poll(End &end)
{
	ibv_wc wc[4];
	const int count =
		ibv_poll_cq(end.queue.completions,
			    static_cast<int>(1 + below(chance_, 4)), wc);

	yes(count >= 0, "ibv_poll_cq");
	for (int n = 0; n < count; n++)
		compare(end, wc[n]);
	return count > 0;
}

void Model::drain()
{
	for (End &end : ends_)
		settle(end);
	for (End &end : ends_)
		while (!end.sends.empty() || !end.receives.empty())
			if (!poll(end))
				compare(end, end.queue.completion());
}

void Model::step()
{
	End &end = any();

	switch (below(chance_, 8)) {
	case 0:
	case 1:
		post_receives(end);
		break;
	case 2:
		poll(end);
		break;
	case 3:
		if (below(chance_, 3))
			post_bind(end);
		else
			post_invalidate(end);
		break;
	default:
		for (std::uint32_t n = 1 + below(chance_, 6);
		     n && end.sends.size() < depth - 1; n--) {
			const std::uint32_t kind = below(chance_, 6);

			if (kind == 0)
				post_atomic(end);
			else if (kind < 3 || !post_send(end))
				post_transfer(end);
		}
	}
	if (end.sends.size() >= depth - 1)
		complete_sends(end);
}

// Everything has arrived when a Read behind it is complete.
void Model::finish()
{
	drain();
	for (End &end : ends_) {
		ibv_send_wr wr{};

		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma = {address(other(end), open),
			      other(end).queue.device.region->rkey};
		post(end, wr, sinks, 0);
		end.sends.push_back(
			{wr.wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_READ, 0});
	}
	drain();
	for (const End &end : ends_)
		yes(end.memory == end.queue.device.memory,
		    "the memory of an end is that of the model");
}

// One end sends, one request is refused by the other, more follow.
void Model::fail_once()
{
	End &end = any(), &peer = other(end);
	ibv_send_wr wr{};
	std::uint32_t length = 64;

	for (std::uint32_t n = below(chance_, 4); n; n--)
		if (!post_send(end))
			post_transfer(end);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma = {address(peer, open), peer.queue.device.region->rkey};
	switch (below(chance_, 3)) {
	case 0:
		// A key that was invalidated, or was never valid.
		wr.wr.rdma.rkey =
			peer.bound ? peer.window->rkey + 1 : peer.window->rkey;
		break;
	case 1:
		wr.wr.rdma.remote_addr = address(peer, 65536 - 63);
		break;
	default:
		wr.wr.rdma.remote_addr = address(peer, 0) - 1;
	}
	post(end, wr, sinks, length);
	end.sends.push_back(
		{wr.wr_id, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_READ, {}});
	for (std::uint32_t n = below(chance_, 4); n; n--) {
		ibv_send_wr late{};

		late.opcode = IBV_WR_SEND;
		post(end, late, source, length);
		end.sends.push_back(
			{late.wr_id, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, {}});
	}
	// Receives that nothing has filled; a shared queue keeps them.
	for (End *one : {&end, &peer}) {
		if (one->shared)
			one->posted.clear();
		for (const End::Receive &each : one->posted)
			one->receives.push_back({each.number,
						 IBV_WC_WR_FLUSH_ERR,
						 IBV_WC_RECV,
						 {}});
		one->posted.clear();
	}
	drain();
}

std::uint64_t number_of(const char *name, std::uint64_t otherwise)
{
	const char *const text = std::getenv(name);

	return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

} // namespace

CASE("model: random schedules complete as the model says")
{
	const std::uint64_t first =
		number_of("MODEL_SEED", std::random_device{}());
	const std::uint64_t count = number_of("MODEL_SCHEDULES", 40);

	std::cout << "# MODEL_SEED=" << first << std::endl;
	for (std::uint64_t seed = first; seed < first + count; seed++) {
		const Row at("MODEL_SEED", seed);
		Chance chance(seed);
		Pair pair({.send = depth,
			   .recv = depth,
			   .completions = 4 * depth,
			   .all_signaled = false,
			   .shared = seed % 3 == 0});

		// Windows are bound to it.
		for (Device *device : {&pair.one, &pair.two}) {
			device->region.reset(ibv_reg_mr(
				device->domain.get(), device->memory.data(),
				device->memory.size(),
				all_rights | IBV_ACCESS_REMOTE_ATOMIC |
					IBV_ACCESS_MW_BIND));
			yes(device->region != nullptr, "there is a region");
		}
		Model model(pair, chance);

		for (std::uint32_t n = 20 + below(chance, 60); n; n--)
			model.step();
		model.finish();
		if (below(chance, 2))
			model.fail_once();
	}
}
