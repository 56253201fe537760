// SPDX-License-Identifier: GPL-2.0-only
//
// Programs and maps of BPF, without a library: only kernels of distributions have them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.hpp"

namespace bpf {

inline int call(int command, bpf_attr &what)
{
	return static_cast<int>(harness::must_call(
		::syscall(SYS_bpf, command, &what, sizeof(what)), "bpf"));
}

// A map of one socket.
inline mpa::descriptor socket_map()
{
	bpf_attr create{};

	create.map_type = BPF_MAP_TYPE_SOCKMAP;
	create.key_size = create.value_size = 4;
	create.max_entries = 1;
	return mpa::descriptor(call(BPF_MAP_CREATE, create));
}

// A program that runs for all processes of the hierarchy of cgroups, or of a group in it,
// until this object ends. The hierarchy is mounted for as long.
class CgroupProgram {
public:
	CgroupProgram(bpf_prog_type type, bpf_attach_type where,
		      std::span<const bpf_insn> code, const char *group = "")
		: group_(*group ? root_ / group : root_), where_(where)
	{
		bpf_attr load{};

		std::filesystem::create_directory(root_);
		harness::must_call(::mount("none", root_.c_str(), "cgroup2", 0, nullptr),
				   "cgroup2");
		std::filesystem::create_directory(group_);
		load.prog_type = type;
		load.expected_attach_type = where;
		load.insns = reinterpret_cast<std::uintptr_t>(code.data());
		load.insn_cnt = static_cast<std::uint32_t>(code.size());
		load.license = reinterpret_cast<std::uintptr_t>("GPL");
		program_ = mpa::descriptor(call(BPF_PROG_LOAD, load));
		directory_ = mpa::descriptor(static_cast<int>(harness::must_call(
			::open(group_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			"the cgroup")));
		bpf_attr attach = attachment();
		call(BPF_PROG_ATTACH, attach);
	}
	~CgroupProgram()
	{
		bpf_attr attach = attachment();

		::syscall(SYS_bpf, BPF_PROG_DETACH, &attach, sizeof(attach));
		directory_.reset();
		if (group_ != root_)
			::rmdir(group_.c_str());
		::umount2(root_.c_str(), MNT_DETACH);
		::rmdir(root_.c_str());
	}
	CgroupProgram(const CgroupProgram &) = delete;
	CgroupProgram &operator=(const CgroupProgram &) = delete;

	// Of the group, where processes are entered.
	std::filesystem::path processes() const { return group_ / "cgroup.procs"; }

private:
	bpf_attr attachment() const
	{
		bpf_attr attach{};

		attach.target_fd = static_cast<std::uint32_t>(directory_.get());
		attach.attach_bpf_fd = static_cast<std::uint32_t>(program_.get());
		attach.attach_type = where_;
		return attach;
	}

	const std::filesystem::path root_ = "/tmp/cgroups", group_;
	const bpf_attach_type where_;
	mpa::descriptor program_, directory_;
};

} // namespace bpf
