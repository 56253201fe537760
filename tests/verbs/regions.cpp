// SPDX-License-Identifier: GPL-2.0-only
//
// Regions: registered again, of memory of all kinds, and what is said about them.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pair.hpp"

using namespace harness;
using namespace verbs;

namespace {

constexpr int access_flag = IBV_REREG_MR_CHANGE_ACCESS;
constexpr int domain_flag = IBV_REREG_MR_CHANGE_PD;
constexpr int memory_flag = IBV_REREG_MR_CHANGE_TRANSLATION;
constexpr std::size_t size = 3 * 4096 + 100;

constexpr unsigned int write_stag = 1 << 12 | 1 << 8 | 0;
constexpr unsigned int write_stream = 1 << 12 | 1 << 8 | 2;

struct Memory {
	explicit Memory(std::byte fill = std::byte{0}, std::size_t bytes = size)
		: bytes(bytes, fill)
	{
	}

	std::uint64_t at(std::uint64_t offset = 0) const
	{
		return reinterpret_cast<std::uintptr_t>(bytes.data()) + offset;
	}

	Bytes bytes;
};

Region register_at(ibv_pd *domain, void *at, std::size_t length, int rights = all_rights)
{
	Region region(ibv_reg_mr(domain, at, length, rights));

	yes(region != nullptr, "it is registered");
	return region;
}

Region register_it(Device &device, Memory &memory, int rights = all_rights)
{
	return register_at(device.domain.get(), memory.bytes.data(), memory.bytes.size(),
			   rights);
}

void succeeds(Queue &queue, const std::string &what)
{
	is(status_name(queue.completion().status), status_name(IBV_WC_SUCCESS), what);
}

// What a peer writes arrives at @memory, and what it reads comes from there.
void serves(Queue &near, std::uint32_t key, std::uint64_t address,
	    std::byte *memory, std::uint32_t length)
{
	static unsigned int next = 1;
	const auto byte = std::byte(next++ % 255 + 1);
	Bytes &here = near.device.memory;

	std::fill_n(here.begin(), length, byte);
	near.access(IBV_WR_RDMA_WRITE, key, address, length);
	// The Read arrives after the Write, and does not overtake it.
	near.access(IBV_WR_RDMA_READ, key, address, length, 32768);
	succeeds(near, "a Write");
	succeeds(near, "a Read");
	yes(std::all_of(memory, memory + length,
			[byte](std::byte one) { return one == byte; }),
	    "the Write is placed");
	yes(std::equal(here.begin(), here.begin() + length, here.begin() + 32768),
	    "it is read back");
}

void refuses_write(Queue &near, std::uint32_t key, std::uint64_t address,
		   unsigned int error)
{
	near.post_receive(77);
	near.access(IBV_WR_RDMA_WRITE, key, address, 8);
	succeeds(near, "a Write");
	const ibv_wc flushed = near.completion();
	is(flushed.wr_id, 77u, "the posted receive ends");
	is(flushed.vendor_err, error, "the Terminate's error");
}

int rereg(ibv_mr *region, int flags, ibv_pd *domain, Memory *memory, int rights)
{
	// libibverbs wants what does not change to be 0.
	return ibv_rereg_mr(region, flags, domain, memory ? memory->bytes.data() : nullptr,
			    memory ? memory->bytes.size() : 0,
			    flags & access_flag ? rights : 0);
}

} // namespace

// Registered again ---------------------------------------------------------------

CASE("regions: each combination of rights, domain and memory is changed")
{
	for (int flags = 1; flags < 8; flags++) {
		const Row name((flags & access_flag ? std::string("rights ") : "") +
			       (flags & domain_flag ? "domain " : "") +
			       (flags & memory_flag ? "memory" : ""));
		Device one(1), two(2);
		const Domain spare(ibv_alloc_pd(two.context.get()));
		Memory before, after;
		const Region region = register_it(two, before);
		const std::uint32_t key = region->rkey;
		Queue near(one), far(two);
		Queue near2(one), far2(two, {}, nullptr, nullptr, spare.get());
		const Connection first = connect(near, far);
		const Connection second = connect(near2, far2);
		Memory &now = flags & memory_flag ? after : before;
		Queue &user = flags & domain_flag ? near2 : near;
		Queue &other = flags & domain_flag ? near : near2;

		serves(near, key, before.at(), before.bytes.data(), size);
		is(rereg(region.get(), flags, spare.get(), &after,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
		   0, "ibv_rereg_mr");
		is(region->rkey, key, "the key");
		is(region->lkey, key, "the local key");
		now.bytes[9] = std::byte{0x99};
		user.access(IBV_WR_RDMA_READ, key, now.at(9), 1);
		succeeds(user, "a Read");
		is(int(one.memory[0]), 0x99, "what it brings");
		if (!(flags & access_flag))
			serves(user, key, now.at(), now.bytes.data(), size);
		else
			refuses_write(user, key, now.at(), write_stag);
		refuses_write(other, key, now.at(), write_stream);
	}
}

CASE("regions: memory only read from becomes writable, and back")
{
	Pair pair;
	Memory memory;
	const Region region = register_it(pair.two, memory, IBV_ACCESS_REMOTE_READ);
	const std::uint32_t key = region->rkey;

	is(rereg(region.get(), access_flag, nullptr, nullptr, all_rights), 0, "writable");
	is(region->rkey, key, "the key");
	serves(pair.near, key, memory.at(), memory.bytes.data(), size);
	is(rereg(region.get(), access_flag, nullptr, nullptr, IBV_ACCESS_REMOTE_READ), 0,
	   "only to be read");
	pair.near.access(IBV_WR_RDMA_READ, key, memory.at(), 64);
	succeeds(pair.near, "a Read");
	refuses_write(pair.near, key, memory.at(), write_stag);
}

CASE("regions: one that was invalidated becomes valid again")
{
	for (const int flags : {access_flag, memory_flag}) {
		const Row name(flags == access_flag ? "rights" : "memory");
		Pair pair;
		Memory memory;
		const Region region = register_it(pair.two, memory);
		ibv_send_wr wr{};

		wr.opcode = IBV_WR_LOCAL_INV;
		wr.invalidate_rkey = region->rkey;
		pair.far.post(wr);
		succeeds(pair.far, "the invalidation");
		is(rereg(region.get(), flags, nullptr, &memory, all_rights), 0, "again");
		serves(pair.near, region->rkey, memory.at(), memory.bytes.data(), size);
	}
}

CASE("regions: a registration that fails changes nothing")
{
	Pair pair;
	Memory memory;
	const Region region = register_it(pair.two, memory);
	const std::uint32_t key = region->rkey;
	auto *nowhere = reinterpret_cast<void *>(4096);

	is(ibv_rereg_mr(region.get(), memory_flag, nullptr, nowhere, 4096, 0),
	   int(IBV_REREG_MR_ERR_CMD), "memory that is not there");
	is(errno, EFAULT, "its errno");
	is(ibv_rereg_mr(region.get(), 0, nullptr, nullptr, 0, 0),
	   int(IBV_REREG_MR_ERR_CMD), "nothing");
	is(ibv_rereg_mr(region.get(), access_flag, nullptr, nullptr, 0,
			IBV_ACCESS_REMOTE_WRITE),
	   int(IBV_REREG_MR_ERR_CMD), "remote writing without local");
	is(ibv_rereg_mr(region.get(), access_flag, nullptr, nullptr, 0,
			IBV_ACCESS_ON_DEMAND),
	   int(IBV_REREG_MR_ERR_CMD), "paged on demand");
	is(region->rkey, key, "the key");
	serves(pair.near, key, memory.at(), memory.bytes.data(), size);
}

CASE("regions: one with bound windows is not registered again")
{
	for (const int flags : {access_flag, domain_flag, memory_flag}) {
		const Row name(flags);
		Pair pair;
		const Domain spare(ibv_alloc_pd(pair.two.context.get()));
		Memory memory, other;
		const Region region =
			register_it(pair.two, memory, all_rights | IBV_ACCESS_MW_BIND);
		ibv_mw *window = ibv_alloc_mw(pair.two.domain.get(), IBV_MW_TYPE_1);
		ibv_mw_bind bind{};

		bind.bind_info = {region.get(), memory.at(), 64, IBV_ACCESS_REMOTE_WRITE};
		is(Err{ibv_bind_mw(pair.far.qp.get(), window, &bind)}, 0, "a bind");
		succeeds(pair.far, "the bind");
		is(rereg(region.get(), flags, spare.get(), &other, all_rights),
		   int(IBV_REREG_MR_ERR_CMD), "it fails");
		is(errno, EBUSY, "its errno");
		pair.near.access(IBV_WR_RDMA_WRITE, window->rkey, memory.at(), 64);
		succeeds(pair.near, "a Write through the window");
		serves(pair.near, region->rkey, memory.at(), memory.bytes.data(), size);
		is(Err{ibv_dealloc_mw(window)}, 0, "ibv_dealloc_mw");
		is(rereg(region.get(), flags, spare.get(), &other, all_rights), 0,
		   "without a window");
	}
}

// Peers access it all the time: nothing is refused, and nothing is accessed that was
// freed.
CASE("regions: registered again while peers use them")
{
	Pair pair;
	auto memory = std::make_unique<Memory>();
	// Offset 0 whatever the memory.
	const Region region = register_it(pair.two, *memory,
					  all_rights | IBV_ACCESS_ZERO_BASED);
	const std::uint32_t key = region->rkey;
	std::atomic<bool> over{false};
	std::string what;
	unsigned int times = 0;
	std::thread peer([&] {
		try {
			const net::Inside inside(1);

			for (; !over; times++) {
				pair.near.access(IBV_WR_RDMA_WRITE, key, 0, 8192);
				pair.near.access(IBV_WR_RDMA_READ, key, 0, 8192, 32768);
				succeeds(pair.near, "a Write");
				succeeds(pair.near, "a Read");
			}
		} catch (const Failed &failed) {
			what = failed.what;
		}
	});

	for (int n = 0; n < 300; n++) {
		auto next = std::make_unique<Memory>();

		if (n % 3)
			is(rereg(region.get(), access_flag, nullptr, nullptr, all_rights), 0,
			   "rights");
		else
			is(ibv_rereg_mr(region.get(), memory_flag | access_flag, nullptr,
					next->bytes.data(), 8192,
					all_rights | IBV_ACCESS_ZERO_BASED),
			   0, "memory");
		if (n % 3 == 0)
			memory = std::move(next);
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	over = true;
	peer.join();
	is(what, std::string(), "the peer");
	yes(times > 10, "it was busy");
}

// Kinds of rights and memory ---------------------------------------------------------

CASE("regions: optional and other rights")
{
	struct {
		const char *name;
		int rights;
		bool accepted;
	} const rows[] = {
		{"relaxed ordering", all_rights | IBV_ACCESS_RELAXED_ORDERING, true},
		{"huge pages", all_rights | IBV_ACCESS_HUGETLB, true},
		{"atomics", all_rights | IBV_ACCESS_REMOTE_ATOMIC, true},
		{"windows", all_rights | IBV_ACCESS_MW_BIND, true},
		{"every hint", all_rights | 0x3ff << 20, true},
		{"on demand", all_rights | IBV_ACCESS_ON_DEMAND, false},
		{"global flush", all_rights | 1 << 8, false},
	};

	for (const auto &row : rows) {
		const Row name(row.name);
		Pair pair;
		Memory memory;
		const Region region(ibv_reg_mr(pair.two.domain.get(), memory.bytes.data(),
					       size, row.rights));

		is(region != nullptr, row.accepted, "accepted");
		if (region)
			serves(pair.near, region->rkey, memory.at(), memory.bytes.data(),
			       size);
	}
}

CASE("regions: zero-based")
{
	Pair pair;
	Memory memory;
	const Region region = register_it(pair.two, memory,
					  all_rights | IBV_ACCESS_ZERO_BASED);

	serves(pair.near, region->rkey, 0, memory.bytes.data(), size);
	serves(pair.near, region->rkey, 4090, memory.bytes.data() + 4090, 50);
	refuses_write(pair.near, region->rkey, memory.at(), 1 << 12 | 1 << 8 | 1);
}

CASE("regions: memory that processes share")
{
	Pair pair;
	const int fd = ::memfd_create("regions", 0);
	constexpr std::size_t length = 65536;

	is(Err{::ftruncate(fd, length)}, 0, "ftruncate");
	void *one = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *two = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	{
		const Region region = register_at(pair.two.domain.get(), one, length);

		// Seen in the other mapping.
		serves(pair.near, region->rkey, reinterpret_cast<std::uintptr_t>(one),
		       static_cast<std::byte *>(two), 30000);
		// The region keeps the memory when its mapping is gone.
		::munmap(one, length);
		serves(pair.near, region->rkey, reinterpret_cast<std::uintptr_t>(one),
		       static_cast<std::byte *>(two), 30000);
	}
	::munmap(two, length);
	::close(fd);
}

CASE("regions: advice to prefetch")
{
	Device device(1);
	const Domain spare(ibv_alloc_pd(device.context.get()));
	Memory memory;
	const Region region = register_it(device, memory);
	const Region fixed = register_it(device, memory, 0);
	const auto advice = [&](ibv_pd *domain, ibv_advise_mr_advice what, std::uint32_t key,
				std::uint64_t at, std::uint32_t length) {
		ibv_sge piece[2] = {{memory.at(), 8, region->lkey}, {at, length, key}};

		return Err{ibv_advise_mr(domain, what, IBV_ADVISE_MR_FLAG_FLUSH, piece, 2)};
	};
	ibv_pd *const mine = device.domain.get();
	const auto fetch = IBV_ADVISE_MR_ADVICE_PREFETCH;

	is(advice(mine, fetch, region->lkey, memory.at(), size), 0, "all of it");
	is(advice(mine, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, region->lkey, memory.at(),
		  size),
	   0, "to be written");
	is(advice(mine, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, region->lkey, memory.at(9),
		  1),
	   0, "without faults");
	is(advice(mine, fetch, fixed->lkey, memory.at(), size), 0, "of a fixed region");
	is(advice(mine, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, fixed->lkey, memory.at(), size),
	   EPERM, "to be written, what is not");
	is(advice(mine, fetch, region->lkey, memory.at(), size + 1), EFAULT, "too much");
	is(advice(mine, fetch, region->lkey, memory.at() - 1, 8), EFAULT, "before it");
	is(advice(mine, fetch, region->lkey ^ 1, memory.at(), 8), ENOENT, "a stale key");
	is(advice(mine, fetch, 0, memory.at(), 8), ENOENT, "key 0");
	is(advice(spare.get(), fetch, region->lkey, memory.at(), 8), EPERM,
	   "another domain");
	Device other(1);
	Memory theirs;
	const Region foreign = register_it(other, theirs);
	is(advice(mine, fetch, foreign->lkey, theirs.at(), 8), ENOENT, "another context");
	is(advice(mine, static_cast<ibv_advise_mr_advice>(77), region->lkey, memory.at(), 8),
	   EOPNOTSUPP, "unknown advice");
}

// dma-bufs ------------------------------------------------------------------------

namespace {

enum Kind : std::uint32_t {
	plain, registers, busy, no_mapping, map_fails, no_device, movable, stuck
};

// A buffer of the lab's exporter.
class Buffer {
public:
	explicit Buffer(std::uint32_t pages, Kind kind = plain)
		: length_(pages * 4096), fd_(make(pages, kind))
	{
		if (kind == no_mapping)
			return;
		void *at = ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
				  0);
		if (kind == plain || kind == movable)
			yes(at != MAP_FAILED, "the buffer is mapped");
		memory_ = at == MAP_FAILED ? nullptr : static_cast<std::byte *>(at);
	}

	~Buffer()
	{
		if (memory_)
			::munmap(memory_, length_);
		::close(fd_);
	}

	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;

	int fd() const { return fd_; }
	std::byte *memory() const { return memory_; }

private:
	static int make(std::uint32_t pages, Kind kind)
	{
		const int device = ::open("/dev/mpa_dmabuf", O_RDWR);
		const std::uint32_t wanted[2] = {pages, kind};
		int fd = -1;

		must_call(device, "/dev/mpa_dmabuf");
		is(::write(device, wanted, sizeof(wanted)), ssize_t{8}, "a buffer is made");
		is(::read(device, &fd, sizeof(fd)), ssize_t{4}, "its descriptor");
		::close(device);
		return fd;
	}

	std::size_t length_;
	int fd_;
	std::byte *memory_ = nullptr;
};

int exporter(const char *parameter)
{
	std::ifstream file(std::string("/sys/module/mpa_dmabuf/parameters/") + parameter);
	int value = -1;

	file >> value;
	return value;
}

Region register_buffer(Device &device, int fd, std::uint64_t offset, std::size_t length,
		       std::uint64_t iova, int rights = all_rights)
{
	return Region(ibv_reg_dmabuf_mr(device.domain.get(), offset, length, iova, fd,
					rights));
}

} // namespace

CASE("dma-bufs: a peer reads and writes them")
{
	struct {
		std::uint64_t offset;
		std::uint32_t length;
		std::uint64_t iova;
	} const rows[] = {
		{0, 8 * 4096, 0},
		{0, 8 * 4096, 0x123456000},
		{100, 5000, 100},
		{4095, 2, 0xfff},
		{4096, 4096, 0x7000},
		{8 * 4096 - 1, 1, 4095},
	};

	for (const auto &row : rows) {
		const Row name(row.offset, row.length, row.iova);
		Pair pair;
		const Buffer buffer(8);
		{
			const Region region = register_buffer(pair.two, buffer.fd(), row.offset,
							      row.length, row.iova);

			yes(region != nullptr, "it is registered");
			is(exporter("mapped"), 1, "it is mapped");
			is(exporter("begun"), 1, "the access has begun");
			serves(pair.near, region->rkey, row.iova,
			       buffer.memory() + row.offset, std::min(row.length, 30000u));
			refuses_write(pair.near, region->rkey, row.iova + row.length,
				      1 << 12 | 1 << 8 | 1);
		}
		is(exporter("mapped"), 0, "it is mapped after the end");
		is(exporter("begun"), 0, "the access after the end");
	}
}

// The memory of some buffers moves unless a device is attached, that of others unless it
// is pinned as well.
CASE("dma-bufs: the memory of a region stays in its place")
{
	Device device(1);

	for (const Kind kind : {plain, movable}) {
		const Row name(kind == movable ? "pinned" : "attached");
		const Buffer buffer(1, kind);
		{
			const Region region = register_buffer(device, buffer.fd(), 0, 4096, 0);

			yes(region != nullptr, "it is registered");
			is(exporter("attached"), 1, "attachments");
			is(exporter("pinned"), int(kind == movable), "pinned");
		}
		is(exporter("attached"), 0, "attachments after the end");
		is(exporter("pinned"), 0, "pinned after the end");
	}
}

CASE("dma-bufs: a region keeps the buffer")
{
	Pair pair;
	auto buffer = std::make_unique<Buffer>(4);
	const Region region = register_buffer(pair.two, buffer->fd(), 0, 16384, 0);

	yes(region != nullptr, "it is registered");
	std::memset(buffer->memory(), 0x31, 16384);
	buffer.reset();
	pair.near.access(IBV_WR_RDMA_READ, region->rkey, 0, 16384);
	succeeds(pair.near, "a Read");
	is(int(pair.one.memory[16383]), 0x31, "what it brings");
}

CASE("dma-bufs: local memory of messages")
{
	Pair pair;
	const Buffer buffer(2);
	const Region region = register_buffer(pair.one, buffer.fd(), 0, 8192, 0);
	ibv_sge piece{.addr = 10, .length = 100, .lkey = region->lkey};
	ibv_send_wr wr{};

	std::memset(buffer.memory(), 0x41, 8192);
	pair.far.post_receive(5);
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	pair.near.post(wr);
	succeeds(pair.near, "a Send");
	is(pair.far.completion().byte_len, 100u, "what arrives");
	is(int(pair.two.memory[99]), 0x41, "the last byte");
}

CASE("dma-bufs: what cannot be registered")
{
	Device device(1);
	const Buffer good(4);
	const Buffer in_registers(1, registers), is_busy(1, busy), unmapped(1, no_mapping);
	const Buffer fails(1, map_fails), alone(1, no_device), is_stuck(1, stuck);
	const int file = ::open("/dev/null", O_RDWR);
	struct {
		const char *name;
		int fd;
		std::uint64_t offset;
		std::size_t length;
		std::uint64_t iova;
		int rights;
		int error;
	} const rows[] = {
		{"a descriptor that is not open", 1000, 0, 4096, 0, all_rights, EBADF},
		{"no descriptor", -1, 0, 4096, 0, all_rights, EBADF},
		{"another file", file, 0, 4096, 0, all_rights, EINVAL},
		{"no bytes", good.fd(), 0, 0, 0, all_rights, EINVAL},
		{"more bytes than there are", good.fd(), 0, 16385, 0, all_rights, EINVAL},
		{"behind its end", good.fd(), 16384, 1, 0, all_rights, EINVAL},
		{"offsets that wrap", good.fd(), ~0ULL - 4095, 8192, 0, all_rights, EINVAL},
		{"tagged offsets that wrap", good.fd(), 0, 8192, ~0ULL - 4095, all_rights,
		 EINVAL},
		{"another offset in the page", good.fd(), 8, 8, 0, all_rights, EINVAL},
		{"remote writing without local", good.fd(), 0, 8, 0,
		 IBV_ACCESS_REMOTE_WRITE, EINVAL},
		{"registers of a device", in_registers.fd(), 0, 4096, 0, all_rights,
		 EOPNOTSUPP},
		{"an exporter without mappings", unmapped.fd(), 0, 4096, 0, all_rights,
		 EOPNOTSUPP},
		{"an exporter whose mapping fails", fails.fd(), 0, 4096, 0, all_rights,
		 EOPNOTSUPP},
		{"one that refuses the device", alone.fd(), 0, 4096, 0, all_rights, ENXIO},
		{"memory that cannot be pinned", is_stuck.fd(), 0, 4096, 0, all_rights, EBUSY},
		{"one that is busy", is_busy.fd(), 0, 4096, 0, all_rights, EIO},
	};

	for (const auto &row : rows) {
		const Row name(row.name);

		errno = 0;
		yes(!register_buffer(device, row.fd, row.offset, row.length, row.iova,
				     row.rights),
		    "it fails");
		is(Err{errno}, row.error, "its errno");
	}
	::close(file);
	is(exporter("mapped"), 0, "nothing is mapped");
	is(exporter("begun"), 0, "nothing has begun");
	is(exporter("attached"), 0, "nothing is attached");
	is(exporter("pinned"), 0, "nothing is pinned");
}
