// SPDX-License-Identifier: GPL-2.0-only
//
// Requests of connected queue pairs that mostly are as they should be, so that what comes after
// the first fault is reached as well.
#include "calls.hpp"

#include <algorithm>

#include <unistd.h>

namespace calls
{

namespace
{

using Shared = std::shared_lock<std::shared_mutex>;
using Exclusive = std::unique_lock<std::shared_mutex>;

// A side of a pair, and the other one, none of which has lost what is used here.
struct Ends {
	Pair *pair;
	std::uint32_t near;

	const Side &mine() const { return pair->sides[near]; }
	const Side &theirs() const { return pair->sides[1 - near]; }
	std::atomic<std::uint32_t> &window(std::uint32_t side) const
	{
		return pair->windows[side];
	}
};

bool whole(const World &world, const Side &side)
{
	return world.qps.has(side.qp) && world.mrs.has(side.mr) &&
	       world.pds.has(side.pd);
}

Ends ends_of(const World &world, std::uint32_t number)
{
	Pair *const pair = world.pairs.get(number / 2);

	if (!pair || !whole(world, pair->sides[0]) ||
	    !whole(world, pair->sides[1]))
		return {};
	return {pair, number % 2};
}

std::uint64_t address_in(const ibv_mr *mr, std::uint32_t offset)
{
	return reinterpret_cast<std::uintptr_t>(mr->addr) + offset;
}

// Of pieces and of what they are read from or written to; regions have 64 KiB.
std::uint32_t length_of(Random &random)
{
	static constexpr std::array<std::uint32_t, 12> lengths{
		0, 1, 8, 64, 300, 1428, 1429, 4096, 4097, 9000, 20000, 32768};

	return lengths[random.below(lengths.size())];
}

std::uint32_t offset_of(Random &random)
{
	return random.one_in(3) ? random.below(32768)
	       : random.one_in(2) ? 4096 * random.below(8)
				  : 0;
}

// One in so many requests has a wrong key, address or length.
constexpr unsigned int faults = 24;

std::uint32_t key_of(Random &random, std::uint32_t key)
{
	return random.one_in(faults) ? key ^ (1u << random.below(32)) : key;
}

// A request, with its pieces and a window.
struct Request {
	ibv_send_wr wr{};
	std::array<ibv_sge, 4> pieces;
};

// In up to four pieces.
void fill_pieces(Random &random, const Side &side, Request &request,
		 std::uint32_t length)
{
	const std::uint32_t count = 1 + random.below(4);
	std::uint32_t left = length;

	for (std::uint32_t n = 0; n < count; n++) {
		const std::uint32_t some = n + 1 == count ? left
							  : random.below(left + 1);

		// At times behind the one before it.
		const bool next = n && random.one_in(4);
		const std::uint64_t address =
			next ? request.pieces[n - 1].addr + request.pieces[n - 1].length
			     : address_in(side.mr, offset_of(random));

		request.pieces[n] = {address, some,
				     random.one_in(4 * faults) ? 0 : key_of(random, side.mr->lkey)};
		left -= some;
	}
	request.wr.sg_list = request.pieces.data();
	request.wr.num_sge = static_cast<int>(count);
}

// The other side's region, or the window that it has bound.
void fill_remote(Random &random, const Ends &ends, Request &request)
{
	const ibv_mr *const target = ends.theirs().mr;
	const std::uint32_t window = ends.window(1 - ends.near);

	request.wr.wr.rdma = {
		address_in(target, random.one_in(faults) ? 65535
							 : offset_of(random)),
		key_of(random, window && random.one_in(2) ? window
							  : target->rkey)};
}

void fill_atomic(Random &random, const Ends &ends, Request &request)
{
	request.pieces[0] = {address_in(ends.mine().mr, 8 * random.below(64)),
			     8, key_of(random, ends.mine().mr->lkey)};
	request.wr.sg_list = request.pieces.data();
	request.wr.num_sge = 1;
	request.wr.wr.atomic = {
		address_in(ends.theirs().mr, random.one_in(faults)
						     ? 4
						     : 8 * random.below(64)),
		random.next(), random.next(),
		key_of(random, ends.theirs().mr->rkey)};
}

// Reads go to one piece, in a region that may be written.
void fill_read(Random &random, const Ends &ends, Request &request)
{
	fill_pieces(random, ends.mine(), request, length_of(random));
	request.pieces[0].length = length_of(random);
	request.wr.num_sge = random.one_in(faults) ? request.wr.num_sge : 1;
	fill_remote(random, ends, request);
}

// The next key of a window, which the other side uses from now on.
bool fill_bind(World &world, Random &random, const Ends &ends, Request &request)
{
	ibv_mw *const mw = world.mws.get(random.number());
	const std::uint32_t offset = 4096 * random.below(8);

	if (!mw || mw->pd != ends.mine().pd)
		return false;
	request.wr.bind_mw = {
		mw,
		ibv_inc_rkey(mw->rkey),
		{ends.mine().mr, address_in(ends.mine().mr, offset),
		 random.one_in(faults) ? 65536u : 1 + random.below(32768),
		 random.one_in(faults)
			 ? random.number() % 64
			 : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   (random.one_in(3) ? IBV_ACCESS_REMOTE_ATOMIC
						     : 0)}};
	mw->rkey = request.wr.bind_mw.rkey;
	ends.window(ends.near) = mw->rkey;
	world.keep_key(mw->rkey);
	return true;
}

bool fill(World &world, Random &random, const Ends &ends, Request &request)
{
	static constexpr std::array<ibv_wr_opcode, 12> opcodes{
		IBV_WR_SEND,		   IBV_WR_SEND,
		IBV_WR_RDMA_WRITE,	   IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,	   IBV_WR_RDMA_READ,
		IBV_WR_SEND_WITH_IMM,	   IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_BIND_MW,		   IBV_WR_SEND_WITH_INV};
	const std::uint32_t window = ends.window(1 - ends.near);

	request.wr.opcode = random.one_in(16)
				    ? IBV_WR_LOCAL_INV
				    : opcodes[random.below(opcodes.size())];
	request.wr.send_flags =
		(random.one_in(2) ? std::uint32_t{IBV_SEND_SIGNALED} : 0) |
		(random.one_in(8) ? std::uint32_t{IBV_SEND_FENCE} : 0) |
		(random.one_in(4) ? std::uint32_t{IBV_SEND_SOLICITED} : 0);
	switch (request.wr.opcode) {
	case IBV_WR_RDMA_READ:
		fill_read(random, ends, request);
		return true;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		fill_atomic(random, ends, request);
		return true;
	case IBV_WR_BIND_MW:
		return fill_bind(world, random, ends, request);
	case IBV_WR_LOCAL_INV:
		request.wr.invalidate_rkey = ends.window(ends.near).exchange(0);
		return request.wr.invalidate_rkey;
	case IBV_WR_SEND_WITH_INV:
		request.wr.invalidate_rkey =
			key_of(random, window ? window : world.key(random.number()));
		ends.window(1 - ends.near) = 0;
		break;
	default:
		fill_remote(random, ends, request);
	}
	if (random.one_in(4)) {
		request.wr.send_flags |= IBV_SEND_INLINE;
		fill_pieces(random, ends.mine(), request, random.below(65));
	} else {
		fill_pieces(random, ends.mine(), request, length_of(random));
	}
	return true;
}

// A list of requests on one side.
void use_pair(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const Ends ends = ends_of(world, args[0]);
	Random random(args[3] + (std::uint64_t{args[2]} << 32) + args[1]);
	std::array<Request, 6> requests{};
	std::uint32_t count = 0;
	ibv_send_wr *bad;

	if (!ends.pair)
		return;
	for (std::uint32_t n = 1 + random.below(requests.size()); n; n--)
		if (fill(world, random, ends, requests[count]))
			count++;
	for (std::uint32_t n = 0; n + 1 < count; n++)
		requests[n].wr.next = &requests[n + 1].wr;
	if (count)
		ibv_post_send(ends.mine().qp, &requests[0].wr, &bad);
}

// More Reads and atomic operations at the same time than there is memory for at first.
void read_many(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const Ends ends = ends_of(world, args[0]);
	Random random(args[3] + (std::uint64_t{args[2]} << 32) + args[1]);
	std::array<Request, 16> requests{};
	const std::uint32_t count = 5 + random.below(12);
	ibv_send_wr *bad;

	if (!ends.pair)
		return;
	for (std::uint32_t n = 0; n < count; n++) {
		Request &request = requests[n];

		if (random.one_in(3)) {
			request.wr.opcode = random.one_in(2)
						    ? IBV_WR_ATOMIC_CMP_AND_SWP
						    : IBV_WR_ATOMIC_FETCH_AND_ADD;
			fill_atomic(random, ends, request);
		} else {
			request.wr.opcode = IBV_WR_RDMA_READ;
			fill_read(random, ends, request);
		}
		if (n)
			requests[n - 1].wr.next = &request.wr;
	}
	ibv_post_send(ends.mine().qp, &requests[0].wr, &bad);
}

// Long Reads, whose source or sink is deregistered while they are on their way.
void read_and_lose(World &world, const Args &args)
{
	const Exclusive hold(world.libraries);
	const Ends ends = ends_of(world, args[0]);
	ibv_send_wr wr{}, *bad;

	if (!ends.pair)
		return;
	ibv_mr *const sink = ends.mine().mr, *const source = ends.theirs().mr;
	ibv_mr *const lost = args[1] % 2 ? sink : source;
	ibv_sge piece{address_in(sink, 0), 65536, sink->lkey};
	wr.opcode = IBV_WR_RDMA_READ;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	wr.wr.rdma = {address_in(source, 0), source->rkey};
	for (std::uint32_t n = 1 + args[2] % 8; n; n--)
		ibv_post_send(ends.mine().qp, &wr, &bad);
	if (args[3] % 4 == 0)
		::usleep(args[3] / 4 % 500);
	if (world.mrs.remove(lost))
		ibv_dereg_mr(lost);
}

// Receives on one side.
void feed_pair(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const Ends ends = ends_of(world, args[0]);
	Random random(args[3] + (std::uint64_t{args[2]} << 32) + args[1]);
	ibv_recv_wr wr{}, *bad;

	if (!ends.pair)
		return;
	for (std::uint32_t n = 1 + random.below(8); n; n--) {
		Request pieces;

		fill_pieces(random, ends.mine(), pieces, 32768);
		wr.sg_list = pieces.wr.sg_list;
		wr.num_sge = std::min(pieces.wr.num_sge, 2);
		if (ends.mine().qp->srq)
			ibv_post_srq_recv(ends.mine().qp->srq, &wr, &bad);
		else
			ibv_post_recv(ends.mine().qp, &wr, &bad);
	}
}

// Windows of both types in the domains of a pair; one of type 1 is bound.
void windows(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const Ends ends = ends_of(world, args[0]);

	if (!ends.pair)
		return;
	ibv_mw *const mw =
		ibv_alloc_mw(ends.mine().pd, args[1] % 3 ? IBV_MW_TYPE_2
							 : IBV_MW_TYPE_1);
	if (!mw)
		return;
	world.mws.add(mw);
	if (args[1] % 3)
		return;
	ibv_mw_bind bind{};
	bind.bind_info = {ends.mine().mr, address_in(ends.mine().mr, 0),
			  1 + args[2] % 65536,
			  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
	bind.send_flags = IBV_SEND_SIGNALED;
	if (!ibv_bind_mw(ends.mine().qp, mw, &bind))
		ends.window(ends.near) = mw->rkey;
}

} // namespace

std::vector<Kind> of_pairs()
{
	return {{"use_pair", 50, use_pair},
		{"read_many", 10, read_many},
		{"read_and_lose", 4, read_and_lose},
		{"feed_pair", 25, feed_pair},
		{"windows", 8, windows}};
}

} // namespace calls
