// SPDX-License-Identifier: GPL-2.0-only
//
// Memory windows: what a peer may do through one, who may bind it, where and
// when, and what keeps a region.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "raw.hpp"

using namespace harness;
using namespace verbs;

namespace {

using Window = std::unique_ptr<ibv_mw, Ender<ibv_dealloc_mw>>;

constexpr int both_rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// Errors of a Terminate, layer << 12 | type << 8 | code.
constexpr unsigned int write_stag = 1 << 12 | 1 << 8 | 0;
constexpr unsigned int write_bounds = 1 << 12 | 1 << 8 | 1;
constexpr unsigned int write_stream = 1 << 12 | 1 << 8 | 2;
constexpr unsigned int read_stag = 0 << 12 | 1 << 8 | 0;
constexpr unsigned int read_bounds = 0 << 12 | 1 << 8 | 1;
constexpr unsigned int read_access = 0 << 12 | 1 << 8 | 2;
constexpr unsigned int read_stream = 0 << 12 | 1 << 8 | 3;
constexpr unsigned int cannot_invalidate = 0 << 12 | 2 << 8 | 9;
constexpr unsigned int other_invalidate = 0 << 12 | 1 << 8 | 9;

// Memory to which windows are bound.
struct Ground {
	explicit Ground(ibv_pd *domain, int rights = all_rights | IBV_ACCESS_MW_BIND)
		: region(ibv_reg_mr(domain, memory.data(), memory.size(), rights))
	{
		yes(region != nullptr, "there is ground");
	}

	explicit Ground(Device &device) : Ground(device.domain.get()) {}

	std::uint64_t at(std::uint64_t offset = 0) const
	{
		return reinterpret_cast<std::uintptr_t>(memory.data()) + offset;
	}

	Bytes memory = Bytes(16384);
	Region region;
};

Window make(ibv_pd *domain, ibv_mw_type type)
{
	Window window(ibv_alloc_mw(domain, type));

	yes(window != nullptr, "there is a window");
	return window;
}

Window make(Device &device, ibv_mw_type type)
{
	return make(device.domain.get(), type);
}

ibv_mw_bind_info part(const Ground &ground, std::uint64_t offset,
		      std::uint64_t length, unsigned int rights = both_rights)
{
	return {.mr = ground.region.get(),
		.addr = ground.at(offset),
		.length = length,
		.mw_access_flags = rights};
}

// Posts a bind in the way of the window's type. One of type 2 gets the next key.
int post_bind(Queue &queue, ibv_mw *window, const ibv_mw_bind_info &info)
{
	if (window->type == IBV_MW_TYPE_1) {
		ibv_mw_bind bind{};

		bind.wr_id = 40;
		bind.bind_info = info;
		return ibv_bind_mw(queue.qp.get(), window, &bind);
	}
	ibv_send_wr wr{}, *bad = nullptr;

	wr.wr_id = 40;
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = window;
	wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
	wr.bind_mw.bind_info = info;
	const int error = ibv_post_send(queue.qp.get(), &wr, &bad);

	if (!error)
		window->rkey = wr.bind_mw.rkey;
	return error;
}

void bind(Queue &queue, ibv_mw *window, const ibv_mw_bind_info &info)
{
	is(Err{post_bind(queue, window, info)}, 0, "a bind is posted");
	const ibv_wc wc = queue.completion();

	is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "the bind");
	is(wc.wr_id, 40u, "its number");
	is(int(wc.opcode), int(IBV_WC_BIND_MW), "its opcode");
}

void unbind(Queue &queue, ibv_mw *window)
{
	bind(queue, window, {});
}

void invalidate(Queue &queue, std::uint32_t key,
		ibv_wc_status wanted = IBV_WC_SUCCESS)
{
	ibv_send_wr wr{};

	wr.wr_id = 41;
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = key;
	queue.post(wr);
	is(status_name(queue.completion().status), status_name(wanted),
	   "the invalidation");
}

// What the queue pair sent before has arrived.
void settle(Queue &from, Queue &to)
{
	to.post_receive(5, 0);
	from.send(2, 0);
	is(status_name(from.completion().status), status_name(IBV_WC_SUCCESS), "a Send");
	is(to.completion().wr_id, 5u, "it arrives");
}

// The peer's memory was written to through the key.
void writes(Queue &from, Queue &to, std::uint32_t key, std::uint64_t address,
	    const Ground &ground, std::uint64_t offset, std::uint32_t length)
{
	static unsigned int next = 1;
	const auto byte = std::byte(next++ % 255 + 1);

	std::fill_n(from.device.memory.begin(), length, byte);
	from.access(IBV_WR_RDMA_WRITE, key, address, length);
	is(status_name(from.completion().status), status_name(IBV_WC_SUCCESS),
	   "a Write");
	settle(from, to);
	yes(std::all_of(ground.memory.begin() + offset,
			ground.memory.begin() + offset + length,
			[byte](std::byte one) { return one == byte; }),
	    "the Write is placed");
}

void reads(Queue &from, std::uint32_t key, std::uint64_t address, Ground &ground,
	   std::uint64_t offset, std::uint32_t length)
{
	static unsigned int next = 101;
	const auto byte = std::byte(next++ % 255 + 1);

	std::fill_n(ground.memory.begin() + offset, length, byte);
	from.access(IBV_WR_RDMA_READ, key, address, length);
	is(status_name(from.completion().status), status_name(IBV_WC_SUCCESS), "a Read");
	yes(std::all_of(from.device.memory.begin(), from.device.memory.begin() + length,
			[byte](std::byte one) { return one == byte; }),
	    "what it brought");
}

// An access that the peer refuses ends the stream with that error.
void refused(Queue &from, Queue &to, ibv_wr_opcode opcode, std::uint32_t key,
	     std::uint64_t address, std::uint32_t length, unsigned int error)
{
	from.post_receive(77);
	from.access(opcode, key, address, length);
	const ibv_wc wc = from.completion();
	if (opcode == IBV_WR_RDMA_READ)
		is(status_name(wc.status), status_name(IBV_WC_REM_ACCESS_ERR), "the Read");
	else
		is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "the Write");
	const ibv_wc flushed = from.completion();
	is(flushed.wr_id, 77u, "the posted receive ends");
	is(flushed.vendor_err, error, "the Terminate's error");
	is(to.query().qp_state, IBV_QPS_ERR, "the other end's state");
}

std::uint64_t counter(int host, const char *name)
{
	const std::string command = "rdma statistic show link mpa" + std::to_string(host) +
				    "/1 | tr ' ' '\\n' | sed -n '/^" + name +
				    "$/{n;p}'";
	const std::unique_ptr<FILE, Ender<::pclose>> pipe(::popen(command.c_str(), "r"));
	std::uint64_t value = 0;

	yes(pipe && std::fscanf(pipe.get(), "%lu", &value) == 1,
	    std::string("counter ") + name);
	return value;
}

const char *type_name(ibv_mw_type type)
{
	return type == IBV_MW_TYPE_1 ? "type 1" : "type 2";
}

constexpr ibv_mw_type types[] = {IBV_MW_TYPE_1, IBV_MW_TYPE_2};

} // namespace

CASE("windows: the device reports them")
{
	Device device(1);
	ibv_device_attr attr{};

	is(Err{ibv_query_device(device.context.get(), &attr)}, 0, "ibv_query_device");
	const unsigned int flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				   IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	is(attr.device_cap_flags & flags,
	   unsigned(IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B),
	   "types 1 and 2B");
	is(attr.max_mw, 1 << 20, "how many");
}

CASE("windows: keys are random, neither those of others nor reused soon")
{
	Device device(1);
	std::set<std::uint32_t> indices{device.region->rkey >> 8};

	for (int n = 0; n < 200; n++)
		indices.insert(make(device, types[n % 2])->rkey >> 8);
	// Of 2^24, two are the same in one run of 800.
	yes(indices.size() >= 200, "200 of 201 indices are different");
}

namespace {

struct AccessRow {
	const char *name;
	unsigned int rights;
	ibv_wr_opcode opcode;
	std::int64_t offset;
	std::uint32_t length;
	unsigned int error;	// 0: none
};

// The window has 5000 bytes, from byte 4000 of its ground on.
constexpr std::uint64_t begin = 4000;
constexpr std::uint64_t size = 5000;

constexpr AccessRow accesses[] = {
	{"all of it written", both_rights, IBV_WR_RDMA_WRITE, 0, 5000, 0},
	{"all of it read", both_rights, IBV_WR_RDMA_READ, 0, 5000, 0},
	{"its last byte written", both_rights, IBV_WR_RDMA_WRITE, 4999, 1, 0},
	{"its last byte read", both_rights, IBV_WR_RDMA_READ, 4999, 1, 0},
	{"across pages", both_rights, IBV_WR_RDMA_WRITE, 90, 200, 0},
	{"a byte too low written", both_rights, IBV_WR_RDMA_WRITE, -1, 8, write_bounds},
	{"a byte too low read", both_rights, IBV_WR_RDMA_READ, -1, 8, read_bounds},
	{"a byte too high written", both_rights, IBV_WR_RDMA_WRITE, 4993, 8,
	 write_bounds},
	{"a byte too high read", both_rights, IBV_WR_RDMA_READ, 4993, 8, read_bounds},
	{"behind it written", both_rights, IBV_WR_RDMA_WRITE, 5000, 1, write_bounds},
	{"only to be read, read", IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_READ, 8, 8, 0},
	{"only to be read, written", IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_WRITE, 8, 8,
	 write_stag},
	{"only to be written, written", IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_WRITE, 8, 8,
	 0},
	{"only to be written, read", IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_READ, 8, 8,
	 read_access},
	{"without rights, written", 0, IBV_WR_RDMA_WRITE, 8, 8, write_stag},
	{"without rights, read", 0, IBV_WR_RDMA_READ, 8, 8, read_access},
	// Rights of this end are those of the region.
	{"local rights, written", IBV_ACCESS_LOCAL_WRITE, IBV_WR_RDMA_WRITE, 8, 8,
	 write_stag},
};

void check_access(const AccessRow &row, ibv_mw_type type, bool zero_based)
{
	const Row name(type_name(type), zero_based ? "from 0" : "by address", row.name);
	Pair pair;
	Ground ground(pair.two);
	const Window window = make(pair.two, type);
	const std::uint64_t base = zero_based ? 0 : ground.at(begin);
	const std::uint64_t to = base + static_cast<std::uint64_t>(row.offset);
	const std::uint64_t offset = begin + static_cast<std::uint64_t>(row.offset);

	bind(pair.far, window.get(),
	     part(ground, begin, size,
		  row.rights | (zero_based ? IBV_ACCESS_ZERO_BASED : 0)));
	if (row.error)
		refused(pair.near, pair.far, row.opcode, window->rkey, to, row.length,
			row.error);
	else if (row.opcode == IBV_WR_RDMA_WRITE)
		writes(pair.near, pair.far, window->rkey, to, ground, offset, row.length);
	else
		reads(pair.near, window->rkey, to, ground, offset, row.length);
	if (row.error || row.opcode == IBV_WR_RDMA_READ)
		return;
	is(int(ground.memory[offset - 1]), 0, "the byte before");
	is(int(ground.memory[offset + row.length]), 0, "the byte behind");
}

} // namespace

CASE("windows: a peer has their rights within their bounds")
{
	for (const auto type : types)
		for (const AccessRow &row : accesses)
			check_access(row, type, false);
	for (const AccessRow &row : accesses)
		check_access(row, IBV_MW_TYPE_2, true);
}

// The region grants peers nothing: that is what windows are for.
CASE("windows: rights do not depend on remote rights of the region")
{
	for (const auto type : types) {
		const Row name(type_name(type));
		Pair pair;
		Ground ground(pair.two.domain.get(),
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
		const Window window = make(pair.two, type);

		bind(pair.far, window.get(), part(ground, 0, 16384));
		writes(pair.near, pair.far, window->rkey, ground.at(0), ground, 0, 16384);
		reads(pair.near, window->rkey, ground.at(9), ground, 9, 8000);
		refused(pair.near, pair.far, IBV_WR_RDMA_READ, ground.region->rkey,
			ground.at(0), 8, read_access);
	}
}

CASE("windows: type 1 is bound again, and unbound with zero bytes")
{
	for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
		for (const bool again : {true, false}) {
			const Row name(opcode == IBV_WR_RDMA_READ ? "Read" : "Write",
				       again ? "bound again" : "unbound");
			Pair pair;
			Ground ground(pair.two), other(pair.two);
			const Window window = make(pair.two, IBV_MW_TYPE_1);
			const std::uint32_t fresh = window->rkey;

			bind(pair.far, window.get(), part(ground, 0, 4096));
			const std::uint32_t first = window->rkey;
			yes(first != fresh, "another key");
			is(first >> 8, fresh >> 8, "of the same index");
			writes(pair.near, pair.far, first, ground.at(0), ground, 0, 8);
			if (again) {
				bind(pair.far, window.get(), part(other, 0, 4096));
				writes(pair.near, pair.far, window->rkey, other.at(0),
				       other, 0, 8);
			} else {
				unbind(pair.far, window.get());
			}
			refused(pair.near, pair.far, opcode, first, ground.at(0), 8,
				opcode == IBV_WR_RDMA_READ ? read_stag : write_stag);
		}
}

// The core may not have completed a registration yet. One that got other memory is complete.
CASE("windows: bound to a region that has got other memory")
{
	for (const auto type : types)
		for (int times = 1; times <= 2; times++) {
			const Row name(type_name(type), times);
			Pair pair;
			Ground ground(pair.two);
			const Window window = make(pair.two, type);

			for (int n = 0; n < times; n++) {
				ground.memory = Bytes(16384);
				is(ibv_rereg_mr(ground.region.get(),
						IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
						ground.memory.data(), ground.memory.size(),
						0),
				   0, "ibv_rereg_mr");
			}
			bind(pair.far, window.get(), part(ground, 0, 4096));
			writes(pair.near, pair.far, window->rkey, ground.at(0), ground, 0,
			       8);
		}
}

CASE("windows: an unbound one grants nothing under its new key either")
{
	Pair pair;
	Ground ground(pair.two);
	const Window window = make(pair.two, IBV_MW_TYPE_1);

	bind(pair.far, window.get(), part(ground, 0, 4096));
	unbind(pair.far, window.get());
	refused(pair.near, pair.far, IBV_WR_RDMA_WRITE, window->rkey, ground.at(0), 8,
		write_stag);
}

CASE("windows: one that was never bound grants nothing")
{
	for (const auto type : types) {
		const Row name(type_name(type));
		Pair pair;
		const Window window = make(pair.two, type);

		refused(pair.near, pair.far, IBV_WR_RDMA_READ, window->rkey, 0, 8,
			read_stag);
	}
}

CASE("windows: type 2 is invalidated by its owner, twice if he likes")
{
	for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		const Row name(opcode == IBV_WR_RDMA_READ ? "Read" : "Write");
		Pair pair;
		Ground ground(pair.two);
		const Window window = make(pair.two, IBV_MW_TYPE_2);

		bind(pair.far, window.get(), part(ground, 0, 4096));
		writes(pair.near, pair.far, window->rkey, ground.at(0), ground, 0, 8);
		invalidate(pair.far, window->rkey);
		invalidate(pair.far, window->rkey);
		refused(pair.near, pair.far, opcode, window->rkey, ground.at(0), 8,
			opcode == IBV_WR_RDMA_READ ? read_stag : write_stag);
	}
}

CASE("windows: type 2 with another key after each invalidation")
{
	Pair pair;
	Ground ground(pair.two);
	const Window window = make(pair.two, IBV_MW_TYPE_2);
	const std::uint64_t before = counter(2, "mw_bind");

	// The key byte wraps.
	for (int n = 0; n < 300; n++) {
		const std::uint64_t offset = static_cast<std::uint64_t>(n) * 16;

		bind(pair.far, window.get(), part(ground, offset, 16));
		writes(pair.near, pair.far, window->rkey, ground.at(offset), ground,
		       offset, 16);
		invalidate(pair.far, window->rkey);
	}
	is(counter(2, "mw_bind") - before, 300u, "binds counted");
	bind(pair.far, window.get(), part(ground, 0, 16));
	refused(pair.near, pair.far, IBV_WR_RDMA_WRITE, window->rkey - 1, ground.at(0), 8,
		write_stag);
}

CASE("windows: a peer invalidates type 2 with a Send")
{
	for (const bool solicited : {false, true}) {
		const Row name(solicited ? "solicited" : "not solicited");
		Pair pair;
		Ground ground(pair.two);
		const Window window = make(pair.two, IBV_MW_TYPE_2);
		ibv_send_wr wr{};

		bind(pair.far, window.get(), part(ground, 0, 4096));
		writes(pair.near, pair.far, window->rkey, ground.at(0), ground, 0, 8);
		for (int n = 0; n < 2; n++) {
			pair.far.post_receive(6);
			wr.opcode = IBV_WR_SEND_WITH_INV;
			wr.send_flags = solicited ? IBV_SEND_SOLICITED : 0;
			wr.invalidate_rkey = window->rkey;
			pair.near.post(wr);
			is(status_name(pair.near.completion().status),
			   status_name(IBV_WC_SUCCESS), "the Send");
			const ibv_wc wc = pair.far.completion();
			is(wc.wr_id, 6u, "it arrives");
			is(wc.wc_flags & IBV_WC_WITH_INV, unsigned(IBV_WC_WITH_INV),
			   "it says that it has invalidated");
			is(wc.invalidated_rkey, window->rkey, "what");
		}
		// Its owner may bind it again at once.
		bind(pair.far, window.get(), part(ground, 4096, 4096));
		writes(pair.near, pair.far, window->rkey, ground.at(4096), ground, 4096, 8);
		refused(pair.near, pair.far, IBV_WR_RDMA_WRITE, window->rkey,
			ground.at(0), 8, write_bounds);
	}
}

namespace {

// A Send of @from that must not invalidate ends the stream with that error. It is complete
// when TCP has it: the Read behind it says what was wrong.
void cannot(Queue &from, Queue &to, std::uint32_t key, unsigned int error)
{
	ibv_sge piece{reinterpret_cast<std::uintptr_t>(from.device.memory.data()), 8,
		      from.device.region->lkey};
	ibv_send_wr wr{}, read{};

	from.post_receive(77);
	to.post_receive(6);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = key;
	wr.next = &read;
	read.opcode = IBV_WR_RDMA_READ;
	read.sg_list = &piece;
	read.num_sge = 1;
	read.wr.rdma.rkey = to.device.region->rkey;
	read.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(to.device.memory.data());
	from.post(wr);
	is(status_name(from.completion().status), status_name(IBV_WC_SUCCESS),
	   "the Send is sent");
	is(status_name(from.completion().status), status_name(IBV_WC_REM_INV_REQ_ERR),
	   "the Read");
	const ibv_wc flushed = from.completion();
	is(flushed.wr_id, 77u, "the posted receive ends");
	is(flushed.vendor_err, error, "the Terminate's error");
	is(status_name(to.completion().status), status_name(IBV_WC_WR_FLUSH_ERR),
	   "the Send is not delivered");
}

} // namespace

CASE("windows: what a peer must not invalidate")
{
	for (const char *what : {"type 1", "never bound", "stale key", "the region"}) {
		const Row name(what);
		Pair pair;
		Ground ground(pair.two);
		const bool type1 = what == std::string("type 1");
		const Window window =
			make(pair.two, type1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		std::uint32_t key = window->rkey;

		if (what != std::string("never bound")) {
			bind(pair.far, window.get(), part(ground, 0, 4096));
			if (type1)
				key = window->rkey;
		}
		if (what == std::string("the region"))
			key = ground.region->rkey;
		cannot(pair.near, pair.far, key, cannot_invalidate);
	}
}

CASE("windows: type 2 is for the queue pair on which it was bound, type 1 for all")
{
	for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
		for (const auto type : types) {
			const Row name(type_name(type),
				       opcode == IBV_WR_RDMA_READ ? "Read" : "Write");
			Device one(1), two(2);
			Queue near(one), far(two), near2(one), far2(two);
			const Connection first = connect(near, far);
			const Connection second = connect(near2, far2);
			Ground ground(two);
			const Window window = make(two, type);

			bind(far, window.get(), part(ground, 0, 4096));
			writes(near, far, window->rkey, ground.at(0), ground, 0, 8);
			if (type == IBV_MW_TYPE_1) {
				writes(near2, far2, window->rkey, ground.at(0), ground, 0,
				       8);
				reads(near2, window->rkey, ground.at(0), ground, 0, 8);
				continue;
			}
			refused(near2, far2, opcode, window->rkey, ground.at(0), 8,
				opcode == IBV_WR_RDMA_READ ? read_stream : write_stream);
			writes(near, far, window->rkey, ground.at(0), ground, 0, 8);
		}
}

CASE("windows: only the queue pair's peer and owner invalidate type 2")
{
	for (const bool remote : {false, true}) {
		const Row name(remote ? "by the peer" : "by the owner");
		Device one(1), two(2);
		Queue near(one), far(two), near2(one), far2(two);
		const Connection first = connect(near, far);
		const Connection second = connect(near2, far2);
		Ground ground(two);
		const Window window = make(two, IBV_MW_TYPE_2);

		bind(far, window.get(), part(ground, 0, 4096));
		if (remote)
			cannot(near2, far2, window->rkey, other_invalidate);
		else
			invalidate(far2, window->rkey, IBV_WC_LOC_PROT_ERR);
		writes(near, far, window->rkey, ground.at(0), ground, 0, 8);
		// Free again, it is bound on another queue pair.
		invalidate(far, window->rkey);
		Queue near3(one), far3(two);
		const Connection third = connect(near3, far3);
		bind(far3, window.get(), part(ground, 0, 4096));
		writes(near3, far3, window->rkey, ground.at(0), ground, 0, 8);
		refused(near, far, IBV_WR_RDMA_WRITE, window->rkey, ground.at(0), 8,
			write_stream);
	}
}

CASE("windows: a queue pair of another protection domain has no use of them")
{
	for (const auto type : types) {
		const Row name(type_name(type));
		Device one(1), two(2);
		const Domain spare(ibv_alloc_pd(two.context.get()));
		Queue near(one), far(two);
		Queue near2(one), far2(two, {}, nullptr, nullptr, spare.get());
		const Connection first = connect(near, far);
		const Connection second = connect(near2, far2);
		Ground ground(spare.get());
		const Window window = make(spare.get(), type);

		bind(far2, window.get(), part(ground, 0, 4096));
		writes(near2, far2, window->rkey, ground.at(0), ground, 0, 8);
		refused(near, far, IBV_WR_RDMA_READ, window->rkey, ground.at(0), 8,
			read_stream);
	}
}

namespace {

// A bind that must fail, with the queue pair.
struct BadBind {
	const char *name;
	int region_rights;
	std::int64_t offset;
	std::uint64_t length;
	unsigned int rights;
	bool only_type2;
	void (*prepare)(Pair &pair, Ground &ground, ibv_mw *window,
			ibv_mw_bind_info &info);
};

void nothing(Pair &, Ground &, ibv_mw *, ibv_mw_bind_info &)
{
}

constexpr int ground_rights = all_rights | IBV_ACCESS_MW_BIND;

constexpr BadBind bad_binds[] = {
	{"a region without the right to bind", all_rights, 0, 64, both_rights, false,
	 nothing},
	{"to be written, a region that is not", IBV_ACCESS_MW_BIND, 0, 64,
	 IBV_ACCESS_REMOTE_WRITE, false, nothing},
	{"for atomics, a region that is not written to",
	 IBV_ACCESS_MW_BIND, 0, 64, IBV_ACCESS_REMOTE_ATOMIC, false, nothing},
	{"before the region", ground_rights, -1, 64, both_rights, false, nothing},
	{"behind the region", ground_rights, 16384, 1, both_rights, false, nothing},
	{"across its end", ground_rights, 16380, 5, both_rights, false, nothing},
	{"more bytes than there are", ground_rights, 0, 16385, both_rights, false, nothing},
	{"as many bytes as can be", ground_rights, 0, ~0ULL, both_rights, false, nothing},
	{"an unknown region", ground_rights, 0, 64, both_rights, false,
	 [](Pair &, Ground &ground, ibv_mw *, ibv_mw_bind_info &) {
		 ground.region->lkey += 0x100;
	 }},
	{"a stale key of the region", ground_rights, 0, 64, both_rights, false,
	 [](Pair &, Ground &ground, ibv_mw *, ibv_mw_bind_info &) {
		 ground.region->lkey ^= 1;
	 }},
	{"the reserved STag", ground_rights, 0, 64, both_rights, false,
	 [](Pair &, Ground &ground, ibv_mw *, ibv_mw_bind_info &) {
		 ground.region->lkey = 0;
	 }},
	{"a window in place of a region", ground_rights, 0, 64, both_rights, false,
	 [](Pair &, Ground &ground, ibv_mw *window, ibv_mw_bind_info &) {
		 ground.region->lkey = window->rkey;
	 }},
	{"an invalid region", ground_rights, 0, 64, both_rights, false,
	 [](Pair &pair, Ground &ground, ibv_mw *, ibv_mw_bind_info &) {
		 invalidate(pair.far, ground.region->lkey);
	 }},
	{"a bound window", ground_rights, 0, 64, both_rights, true,
	 [](Pair &pair, Ground &ground, ibv_mw *window, ibv_mw_bind_info &) {
		 bind(pair.far, window, part(ground, 0, 8));
	 }},
	{"nothing", ground_rights, 0, 0, 0, true,
	 [](Pair &, Ground &, ibv_mw *, ibv_mw_bind_info &info) { info = {}; }},
};

void check_bad_bind(const BadBind &row, ibv_mw_type type)
{
	const Row name(type_name(type), row.name);
	Pair pair;
	Ground ground(pair.two.domain.get(), row.region_rights);
	const std::uint32_t lkey = ground.region->lkey;
	const Window window = make(pair.two, type);
	ibv_mw_bind_info info = part(ground, static_cast<std::uint64_t>(row.offset),
				     row.length, row.rights);

	row.prepare(pair, ground, window.get(), info);
	const std::uint64_t before = counter(2, "mw_bind");
	is(Err{post_bind(pair.far, window.get(), info)}, 0, "it is posted");
	const ibv_wc wc = pair.far.completion();
	is(status_name(wc.status), status_name(IBV_WC_MW_BIND_ERR), "its completion");
	is(wc.wr_id, 40u, "its number");
	is(pair.far.query().qp_state, IBV_QPS_ERR, "the queue pair's state");
	is(counter(2, "mw_bind"), before, "binds counted");
	ground.region->lkey = lkey;
}

} // namespace

CASE("windows: what cannot be bound")
{
	for (const auto type : types)
		for (const BadBind &row : bad_binds)
			if (!row.only_type2 || type == IBV_MW_TYPE_2)
				check_bad_bind(row, type);
}

CASE("windows: those of another protection domain cannot be bound")
{
	for (const auto type : types)
		for (const bool other_window : {true, false}) {
			const Row name(type_name(type),
				       other_window ? "the window" : "the region");
			Pair pair;
			const Domain spare(ibv_alloc_pd(pair.two.context.get()));
			Ground ground(other_window ? pair.two.domain.get() : spare.get());
			const Window window = make(
				other_window ? spare.get() : pair.two.domain.get(), type);
			const ibv_mw_bind_info info = part(ground, 0, 64);

			// libibverbs refuses what it sees.
			ground.region->pd = window->pd;
			is(Err{post_bind(pair.far, window.get(), info)}, 0, "it is posted");
			ground.region->pd =
				other_window ? pair.two.domain.get() : spare.get();
			is(status_name(pair.far.completion().status),
			   status_name(IBV_WC_MW_BIND_ERR), "its completion");
		}
}

CASE("windows: what the provider refuses at once")
{
	Pair pair;
	Ground ground(pair.two);
	const Window one = make(pair.two, IBV_MW_TYPE_1);
	const Window two = make(pair.two, IBV_MW_TYPE_2);
	ibv_send_wr wr{}, *bad = nullptr;
	ibv_mw_bind type1{};

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = one.get();
	wr.bind_mw.rkey = one->rkey;
	wr.bind_mw.bind_info = part(ground, 0, 64);
	is(Err{ibv_post_send(pair.far.qp.get(), &wr, &bad)}, EINVAL,
	   "a request for type 1");
	wr.bind_mw.mw = two.get();
	is(Err{ibv_post_send(pair.far.qp.get(), &wr, &bad)}, EINVAL,
	   "the key of another window");
	wr.bind_mw.rkey = two->rkey;
	wr.bind_mw.bind_info.mw_access_flags = 1 << 7;
	is(Err{ibv_post_send(pair.far.qp.get(), &wr, &bad)}, EINVAL, "an unknown right");
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND;
	is(Err{ibv_post_send(pair.far.qp.get(), &wr, &bad)}, EINVAL,
	   "the right to bind to it");
	type1.bind_info = part(ground, 0, 64);
	is(Err{ibv_bind_mw(pair.far.qp.get(), two.get(), &type1)}, EINVAL,
	   "ibv_bind_mw() of type 2");
	yes(!ibv_alloc_mw(pair.two.domain.get(), static_cast<ibv_mw_type>(3)),
	    "there is no type 3");
	// None of it was posted.
	settle(pair.near, pair.far);
}

CASE("windows: a bind and the Send that tells its key, in one list")
{
	Pair pair;
	Ground ground(pair.two);
	const Window window = make(pair.two, IBV_MW_TYPE_2);
	ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(pair.two.memory.data()),
		      .length = 4,
		      .lkey = pair.two.region->lkey};
	ibv_send_wr bind_wr{}, send_wr{}, *bad = nullptr;
	std::uint32_t key = ibv_inc_rkey(window->rkey);

	pair.near.post_receive(9);
	std::memcpy(pair.two.memory.data(), &key, sizeof(key));
	bind_wr.opcode = IBV_WR_BIND_MW;
	bind_wr.bind_mw.mw = window.get();
	bind_wr.bind_mw.rkey = key;
	bind_wr.bind_mw.bind_info = part(ground, 0, 16384);
	bind_wr.next = &send_wr;
	send_wr.opcode = IBV_WR_SEND;
	send_wr.sg_list = &piece;
	send_wr.num_sge = 1;
	is(Err{ibv_post_send(pair.far.qp.get(), &bind_wr, &bad)}, 0, "the list is posted");
	is(status_name(pair.near.completion().status), status_name(IBV_WC_SUCCESS),
	   "the Send arrives");
	pair.far.completion();
	pair.far.completion();
	std::memcpy(&key, pair.one.memory.data(), sizeof(key));
	writes(pair.near, pair.far, key, ground.at(0), ground, 0, 16384);
}

CASE("windows: bound with ibv_wr_bind_mw()")
{
	Device one(1), two(2);
	Queue near(one), far(two, {}, nullptr, nullptr, nullptr, IBV_QP_EX_WITH_BIND_MW |
			IBV_QP_EX_WITH_LOCAL_INV);
	const Connection connection = connect(near, far);
	Ground ground(two);
	const Window window = make(two, IBV_MW_TYPE_2);
	const ibv_mw_bind_info info = part(ground, 100, 1000);
	const std::uint32_t key = ibv_inc_rkey(window->rkey);
	ibv_qp_ex *qp = ibv_qp_to_qp_ex(far.qp.get());

	ibv_wr_start(qp);
	qp->wr_id = 8;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(qp, window.get(), key, &info);
	is(Err{ibv_wr_complete(qp)}, 0, "ibv_wr_complete");
	const ibv_wc wc = far.completion();
	is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "the bind");
	is(wc.wr_id, 8u, "its number");
	writes(near, far, key, ground.at(100), ground, 100, 1000);
	const Window type1 = make(two, IBV_MW_TYPE_1);
	ibv_wr_start(qp);
	ibv_wr_bind_mw(qp, type1.get(), type1->rkey, &info);
	is(Err{ibv_wr_complete(qp)}, EINVAL, "a window of type 1");
}

// Regions ------------------------------------------------------------------------

CASE("windows: a region with bound windows stays")
{
	for (const auto type : types) {
		const Row name(type_name(type));
		Pair pair;
		auto ground = std::make_unique<Ground>(pair.two);
		const Window first = make(pair.two, type), second = make(pair.two, type);

		bind(pair.far, first.get(), part(*ground, 0, 64));
		bind(pair.far, second.get(), part(*ground, 32, 64));
		is(Err{ibv_dereg_mr(ground->region.get())}, EBUSY, "with two windows");
		writes(pair.near, pair.far, first->rkey, ground->at(0), *ground, 0, 64);
		if (type == IBV_MW_TYPE_1)
			unbind(pair.far, first.get());
		else
			invalidate(pair.far, first->rkey);
		is(Err{ibv_dereg_mr(ground->region.get())}, EBUSY, "with one");
		writes(pair.near, pair.far, second->rkey, ground->at(32), *ground, 32, 64);
		is(Err{ibv_dealloc_mw(const_cast<Window &>(second).release())}, 0,
		   "a bound window is deallocated");
		is(Err{ibv_dereg_mr(ground->region.release())}, 0, "without any");
		refused(pair.near, pair.far, IBV_WR_RDMA_READ, first->rkey, ground->at(0),
			8, read_stag);
	}
}

CASE("windows: a region with bound windows is not invalidated")
{
	for (const auto type : types) {
		const Row name(type_name(type));
		Pair pair;
		Ground ground(pair.two);
		const Window window = make(pair.two, type);

		bind(pair.far, window.get(), part(ground, 0, 64));
		invalidate(pair.far, ground.region->lkey, IBV_WC_LOC_PROT_ERR);
	}
}

CASE("windows: another bind of type 1 releases the region of the first")
{
	Pair pair;
	Ground ground(pair.two), other(pair.two);
	const Window window = make(pair.two, IBV_MW_TYPE_1);

	bind(pair.far, window.get(), part(ground, 0, 64));
	bind(pair.far, window.get(), part(other, 0, 64));
	is(Err{ibv_dereg_mr(ground.region.release())}, 0, "the first");
	is(Err{ibv_dereg_mr(other.region.get())}, EBUSY, "the second");
}

CASE("windows: type 2 ends with its queue pair, or its RESET")
{
	for (const bool reset : {false, true}) {
		const Row name(reset ? "RESET" : "destroyed");
		Device one(1), two(2);
		Ground ground(two);
		const Window window = make(two, IBV_MW_TYPE_2);
		Queue near(one);
		auto far = std::make_unique<Queue>(two);
		{
			const Connection connection = connect(near, *far);

			bind(*far, window.get(), part(ground, 0, 64));
			writes(near, *far, window->rkey, ground.at(0), ground, 0, 64);
		}
		is(Err{ibv_dereg_mr(ground.region.get())}, EBUSY, "before");
		if (reset)
			far->modify(IBV_QPS_RESET);
		else
			far.reset();
		is(Err{ibv_dereg_mr(ground.region.release())}, 0, "after");
		// It can be bound again elsewhere.
		Ground next(two);
		Queue near2(one), far2(two);
		const Connection connection = connect(near2, far2);
		bind(far2, window.get(), part(next, 0, 64));
		writes(near2, far2, window->rkey, next.at(0), next, 0, 64);
	}
}

CASE("windows: type 1 outlives the queue pair on which it was bound")
{
	Device one(1), two(2);
	Ground ground(two);
	const Window window = make(two, IBV_MW_TYPE_1);
	{
		Queue near(one), far(two);
		const Connection connection = connect(near, far);

		bind(far, window.get(), part(ground, 0, 64));
	}
	Queue near(one), far(two);
	const Connection connection = connect(near, far);
	writes(near, far, window->rkey, ground.at(0), ground, 0, 64);
}

CASE("windows: not for local use")
{
	for (const auto type : types)
		for (const bool send : {true, false}) {
			const Row name(type_name(type), send ? "sent from" : "read into");
			Pair pair;
			Ground ground(pair.two);
			const Window window = make(pair.two, type);
			ibv_sge piece{.addr = ground.at(0), .length = 8, .lkey = 0};
			ibv_send_wr wr{};

			bind(pair.far, window.get(), part(ground, 0, 64));
			pair.near.post_receive(3);
			piece.lkey = window->rkey;
			wr.opcode = send ? IBV_WR_SEND : IBV_WR_RDMA_READ;
			wr.wr.rdma.rkey = pair.one.region->rkey;
			wr.wr.rdma.remote_addr =
				reinterpret_cast<std::uintptr_t>(pair.one.memory.data());
			wr.sg_list = &piece;
			wr.num_sge = 1;
			pair.far.post(wr);
			is(status_name(pair.far.completion().status),
			   status_name(IBV_WC_LOC_PROT_ERR), "its completion");
		}
	// A message for a receive into a window ends the receiver's queue pair.
	Pair pair;
	Ground ground(pair.two);
	const Window window = make(pair.two, IBV_MW_TYPE_1);
	ibv_sge piece{.addr = ground.at(0), .length = 8, .lkey = 0};
	ibv_recv_wr wr{}, *bad = nullptr;

	bind(pair.far, window.get(), part(ground, 0, 64));
	piece.lkey = window->rkey;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	is(Err{ibv_post_recv(pair.far.qp.get(), &wr, &bad)}, 0, "a receive is posted");
	pair.near.send(2, 8);
	is(status_name(pair.far.completion().status), status_name(IBV_WC_LOC_PROT_ERR),
	   "the receive");
}

// Memory that a response is being read from must stay until it is sent, or not
// be sent. KASAN finds an access to what is freed.
CASE("windows: regions go while peers read through windows")
{
	constexpr std::uint32_t length = 60000;

	for (int n = 0; n < 24; n++) {
		const auto type = types[n % 2];
		const Row name(type_name(type), n);
		Pair pair;
		auto memory = std::make_unique<Bytes>(1 << 20, std::byte(0x11));
		Region region(ibv_reg_mr(pair.two.domain.get(), memory->data(),
					 memory->size(), ground_rights));
		const Window window = make(pair.two, type);
		const auto at = reinterpret_cast<std::uintptr_t>(memory->data());

		bind(pair.far, window.get(),
		     {region.get(), at, memory->size(), IBV_ACCESS_REMOTE_READ});
		const std::uint32_t key = window->rkey;
		for (int i = 0; i < 8; i++)
			pair.near.access(IBV_WR_RDMA_READ, key,
			       at + static_cast<std::uint64_t>(i) * length, length);
		int done = n % 5;

		for (int i = 0; i < done; i++)
			pair.near.completion();
		if (type == IBV_MW_TYPE_1)
			unbind(pair.far, window.get());
		else
			invalidate(pair.far, key);
		is(Err{ibv_dereg_mr(region.release())}, 0, "the region goes");
		// Nothing of this may be read any more.
		std::fill(memory->begin(), memory->end(), std::byte(0x77));
		memory.reset();
		for (; done < 8; done++)
			pair.near.completion();
		yes(std::none_of(pair.one.memory.begin(), pair.one.memory.end(),
				 [](std::byte one) { return one == std::byte(0x77); }),
		    "nothing was read after the invalidation");
	}
}

CASE("windows: threads bind, invalidate and deallocate at the same time")
{
	Pair pair;
	Ground ground(pair.two);
	std::atomic<bool> over{false};
	// Windows of its own come and go, and keep the lists of others busy.
	std::thread other([&] {
		const net::Inside inside(2);

		while (!over)
			make(pair.two, IBV_MW_TYPE_2);
	});

	for (int n = 0; n < 400; n++) {
		const Window one = make(pair.two, IBV_MW_TYPE_2);
		const Window two = make(pair.two, IBV_MW_TYPE_1);

		bind(pair.far, one.get(), part(ground, 0, 64));
		bind(pair.far, two.get(), part(ground, 0, 64));
		// Deallocated bound or not.
		if (n % 2)
			invalidate(pair.far, one->rkey);
	}
	over = true;
	other.join();
	is(Err{ibv_dereg_mr(ground.region.release())}, 0, "the region is free");
}

// The core destroys what was made last first: here the region before the window
// that is bound to it. It must come back to the region.
CASE("windows: a process ends with a bound window")
{
	for (const auto type : types) {
		const Row name(type_name(type));
		const pid_t child = must_call(::fork(), "fork");

		if (!child) {
			auto *pair = new Pair;
			auto *window = new Window(make(pair->two, type));
			auto *ground = new Ground(pair->two);

			bind(pair->far, window->get(), part(*ground, 0, 64));
			::_exit(0);
		}
		int status = 1;
		is(::waitpid(child, &status, 0), child, "waitpid");
		is(status, 0, "the process has bound it");
	}
}

// Entries that no provider writes --------------------------------------------------

namespace {

struct EntryRow {
	const char *name;
	void (*spoil)(mpa_sqe &sqe);
	ibv_wc_status status;
};

constexpr EntryRow entry_rows[] = {
	{"valid", [](mpa_sqe &) {}, IBV_WC_SUCCESS},
	{"fenced", [](mpa_sqe &sqe) { sqe.flags |= MPA_SQE_FENCE; }, IBV_WC_SUCCESS},
	{"inline", [](mpa_sqe &sqe) { sqe.flags |= MPA_SQE_INLINE; }, IBV_WC_LOC_QP_OP_ERR},
	{"solicited", [](mpa_sqe &sqe) { sqe.flags |= MPA_SQE_SOLICITED; },
	 IBV_WC_LOC_QP_OP_ERR},
	{"an unknown flag", [](mpa_sqe &sqe) { sqe.flags |= 1 << 6; },
	 IBV_WC_LOC_QP_OP_ERR},
	{"no piece", [](mpa_sqe &sqe) { sqe.num_sge = 0; }, IBV_WC_LOC_QP_OP_ERR},
	{"two pieces", [](mpa_sqe &sqe) { sqe.num_sge = 2; }, IBV_WC_LOC_QP_OP_ERR},
	{"255 pieces", [](mpa_sqe &sqe) { sqe.num_sge = 255; }, IBV_WC_LOC_QP_OP_ERR},
	{"a length of its piece", [](mpa_sqe &sqe) { sqe.sge[0].length = 1; },
	 IBV_WC_LOC_QP_OP_ERR},
	{"reserved", [](mpa_sqe &sqe) { sqe.reserved = 1; }, IBV_WC_LOC_QP_OP_ERR},
	{"imm_data", [](mpa_sqe &sqe) { sqe.imm_data = 1; }, IBV_WC_LOC_QP_OP_ERR},
	{"nothing, but an address", [](mpa_sqe &sqe) {
		 sqe.remote_addr = 0;
		 sqe.length = 0;
		 sqe.sge[0].lkey = 0;
	 },
	 IBV_WC_LOC_QP_OP_ERR},
	{"nothing, but a region", [](mpa_sqe &sqe) {
		 sqe.remote_addr = 0;
		 sqe.length = 0;
		 sqe.sge[0].addr = 0;
	 },
	 IBV_WC_LOC_QP_OP_ERR},
	{"nothing, but rights", [](mpa_sqe &sqe) {
		 sqe.remote_addr = 0;
		 sqe.sge[0] = {};
	 },
	 IBV_WC_LOC_QP_OP_ERR},
	{"nothing at all", [](mpa_sqe &sqe) {
		 sqe.remote_addr = 0;
		 sqe.length = 0;
		 sqe.sge[0] = {};
	 },
	 IBV_WC_MW_BIND_ERR},
	{"a local right", [](mpa_sqe &sqe) { sqe.length |= IBV_ACCESS_LOCAL_WRITE; },
	 IBV_WC_MW_BIND_ERR},
	{"an unknown right", [](mpa_sqe &sqe) { sqe.length |= 1 << 30; },
	 IBV_WC_MW_BIND_ERR},
	{"a relaxed right", [](mpa_sqe &sqe) { sqe.length |= 1 << 20; },
	 IBV_WC_MW_BIND_ERR},
	{"STag 0", [](mpa_sqe &sqe) { sqe.stag = 0; }, IBV_WC_MW_BIND_ERR},
	{"the STag of the region", [](mpa_sqe &sqe) { sqe.stag = sqe.sge[0].lkey; },
	 IBV_WC_MW_BIND_ERR},
	{"an unknown STag", [](mpa_sqe &sqe) { sqe.stag += 0x100; }, IBV_WC_MW_BIND_ERR},
	{"all ones", [](mpa_sqe &sqe) {
		 sqe.remote_addr = ~0ULL;
		 sqe.sge[0].addr = ~0ULL;
	 },
	 IBV_WC_MW_BIND_ERR},
	{"bytes to the end of all addresses", [](mpa_sqe &sqe) {
		 sqe.remote_addr = -sqe.sge[0].addr;
	 },
	 IBV_WC_MW_BIND_ERR},
};

} // namespace

CASE("windows: entries of the ring")
{
	for (const EntryRow &row : entry_rows) {
		const Row name(row.name);
		Pair pair;
		Ground ground(pair.two);
		const Window window = make(pair.two, IBV_MW_TYPE_2);
		mpa_sqe &sqe = raw::next_send(pair.far);

		sqe.wr_id = 1;
		sqe.opcode = MPA_WR_BIND_MW;
		sqe.flags = MPA_SQE_SIGNALED;
		sqe.num_sge = 1;
		sqe.stag = window->rkey;
		sqe.length = both_rights;
		sqe.remote_addr = 64;
		sqe.sge[0].addr = ground.at(0);
		sqe.sge[0].lkey = ground.region->lkey;
		row.spoil(sqe);
		raw::publish_sends(pair.far, 1);
		raw::ring(pair.far);
		const ibv_wc wc = pair.far.completion();
		is(status_name(wc.status), status_name(row.status), "its completion");
		is(wc.wr_id, 1u, "whose");
		if (row.status != IBV_WC_SUCCESS)
			is(pair.far.query().qp_state, IBV_QPS_ERR, "the state");
		else
			writes(pair.near, pair.far, window->rkey, ground.at(0), ground, 0,
			       64);
	}
}
