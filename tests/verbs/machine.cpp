// SPDX-License-Identifier: GPL-2.0-only
//
// What not every machine has: huge pages, BPF programs of cgroups. Cases with the same
// prefix are in other files, too.
#include <algorithm>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mpadv.h>

#include "bpf.hpp"
#include "pair.hpp"

using namespace harness;
using namespace verbs;

namespace {

struct Unmap {
	std::size_t length;
	void operator()(std::byte *at) const { ::munmap(at, length); }
};

using Mapping = std::unique_ptr<std::byte, Unmap>;

Mapping map(int fd, std::size_t length, int flags)
{
	void *at = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		fail(std::string("mmap: ") + std::strerror(errno));
	return {static_cast<std::byte *>(at), Unmap{length}};
}

// A peer writes the whole region piece by piece, and reads them back.
void serves_all(Pair &pair, std::uint32_t key, std::uint64_t address, std::byte *memory,
		std::size_t length)
{
	constexpr std::size_t most = 30000;
	Bytes &here = pair.one.memory;
	unsigned int next = 1;

	for (std::size_t at = 0; at < length; at += most) {
		const auto size = static_cast<std::uint32_t>(std::min(most, length - at));
		const auto byte = std::byte(next++ % 255 + 1);

		std::fill_n(here.begin(), size, byte);
		for (const bool read : {false, true}) {
			ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(here.data()) +
					      (read ? 32768 : 0),
				      .length = size,
				      .lkey = pair.one.region->lkey};
			ibv_send_wr wr{};

			wr.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
			wr.sg_list = &piece;
			wr.num_sge = 1;
			wr.wr.rdma.remote_addr = address + at;
			wr.wr.rdma.rkey = key;
			pair.near.post(wr);
			is(status_name(pair.near.completion().status),
			   status_name(IBV_WC_SUCCESS), read ? "a Read" : "a Write");
		}
		yes(std::all_of(memory + at, memory + at + size,
				[byte](std::byte one) { return one == byte; }),
		    "the Write is placed");
		yes(std::equal(here.begin(), here.begin() + size, here.begin() + 32768),
		    "it is read back");
	}
}

// A cgroup whose processes may make no sockets.
class NoSockets {
public:
	// The calling process is in it from now on; false: it could not.
	bool enter() const
	{
		std::ofstream processes(refuses_.processes());

		return bool(processes << 0 << std::flush);
	}

private:
	static constexpr std::array code_{
		bpf_insn{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
		bpf_insn{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
	};
	const bpf::CgroupProgram refuses_{BPF_PROG_TYPE_CGROUP_SOCK,
					  BPF_CGROUP_INET_SOCK_CREATE, code_, "no-sockets"};
};

} // namespace

CASE("machine: plain connections only for who may make sockets")
{
	Device two(2);
	Listening listening;
	const NoSockets none;
	const pid_t child = must_call(::fork(), "fork");

	if (!child) {
		int fd = -1;

		::_exit(!none.enter() || ::socket(AF_INET, SOCK_STREAM, 0) >= 0 ?
			255 : mpadv_create_plain(two.context.get(),
						 listening.own.generic(), 8, &fd));
	}
	int status = 0, fd = -1;

	must_call(::waitpid(child, &status, 0), "waitpid");
	yes(WIFEXITED(status), "the process ends");
	is(WEXITSTATUS(status), EPERM, "the answer");
	is(mpadv_create_plain(two.context.get(), listening.own.generic(), 8, &fd), 0,
	   "outside of the cgroup");
	::close(fd);
}

CASE("machine: a region of huge pages")
{
	constexpr std::size_t length = 4 << 20;
	Pair pair;
	const Mapping memory = map(-1, length, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);

	for (const int hint : {0, int(IBV_ACCESS_HUGETLB)}) {
		// Not from the beginning of a page.
		std::byte *const at = memory.get() + 12345;
		const Region region(ibv_reg_mr(pair.two.domain.get(), at, length - 12345,
					       all_rights | hint));

		yes(region != nullptr, "it is registered");
		serves_all(pair, region->rkey, reinterpret_cast<std::uintptr_t>(at), at,
			   length - 12345);
	}
}

CASE("machine: a region of a file in hugetlbfs that processes share")
{
	constexpr std::size_t length = 2 << 20;
	Pair pair;
	const int fd = ::memfd_create("regions", MFD_HUGETLB);

	must_call(fd, "memfd_create");
	must_call(::ftruncate(fd, length), "ftruncate");
	const Mapping one = map(fd, length, MAP_SHARED), two = map(fd, length, MAP_SHARED);
	const Region region(ibv_reg_mr(pair.two.domain.get(), one.get(), length, all_rights));

	yes(region != nullptr, "it is registered");
	serves_all(pair, region->rkey, reinterpret_cast<std::uintptr_t>(one.get()), two.get(),
		   length);
	::close(fd);
}
