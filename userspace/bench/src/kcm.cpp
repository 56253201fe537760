/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "kcm.hpp"

#include <array>

#include <linux/bpf.h>
#include <linux/kcm.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "failure.hpp"

namespace bench {

namespace {

// The program that tells KCM how long the message is that begins there: always the same,
// which is the least work that such a program can have.
Fd length_program(std::uint32_t bytes)
{
	const auto length = static_cast<std::int32_t>(bytes);
	const std::array<bpf_insn, 2> code{{
		{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, length},
		{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
	}};
	bpf_attr attr{};

	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insn_cnt = static_cast<std::uint32_t>(code.size());
	attr.insns = reinterpret_cast<std::uintptr_t>(code.data());
	attr.license = reinterpret_cast<std::uintptr_t>("Dual BSD/GPL");
	Fd program(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr))));
	if (program.get() < 0)
		fail("BPF program", Status::unavailable);
	return program;
}

} // namespace

Fd kcm_over(int tcp, std::uint32_t bytes)
{
	// A call is a message, without MSG_EOR.
	Fd fd(::socket(AF_KCM, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       KCMPROTO_CONNECTED));
	if (fd.get() < 0)
		fail("AF_KCM", Status::unavailable);
	const auto program = length_program(bytes);
	kcm_attach attach{tcp, program.get()};
	if (::ioctl(fd.get(), SIOCKCMATTACH, &attach))
		fail("SIOCKCMATTACH", Status::unavailable);
	return fd;
}

} // namespace bench
