/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "fake_kernel.hpp"

#include <stdexcept>

using fake::kernel;

extern "C" {

int __real_setsockopt(int, int, int, const void *, socklen_t);
int __real_getsockopt(int, int, int, void *, socklen_t *);
int __wrap_setsockopt(int, int, int, const void *, socklen_t);
int __wrap_getsockopt(int, int, int, void *, socklen_t *);

static bool ours(int level)
{
	return level == SOL_MPA || level == SOL_TCP;
}

static bool refused(int level, int option)
{
	const auto at = kernel().errors.find({level, option});

	if (at == kernel().errors.end())
		return false;
	errno = at->second;
	return true;
}

int __wrap_setsockopt(int fd, int level, int option, const void *value,
		      socklen_t size)
{
	if (!ours(level))
		return __real_setsockopt(fd, level, option, value, size);
	if (refused(level, option))
		return -1;
	const auto *first = static_cast<const std::byte *>(value);
	kernel().set.push_back({level, option, {first, first + size}});
	return 0;
}

int __wrap_getsockopt(int fd, int level, int option, void *value,
		      socklen_t *size)
{
	if (!ours(level))
		return __real_getsockopt(fd, level, option, value, size);
	if (refused(level, option))
		return -1;
	const auto at = kernel().values.find(option);
	if (level != SOL_MPA || at == kernel().values.end()) {
		errno = ENOPROTOOPT;
		return -1;
	}
	*size = std::min<socklen_t>(*size, at->second.size());
	std::copy_n(at->second.data(), *size, static_cast<std::byte *>(value));
	return 0;
}
}

namespace fake {

Kernel &kernel()
{
	static Kernel one;

	return one;
}

Pair::Pair()
{
	int fds[2];

	kernel() = {};
	if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		throw std::runtime_error("socketpair");
	peer.reset(fds[1]);
	socket = mpa::socket::attach(mpa::descriptor(fds[0])).value();
	kernel().set.clear();
}

} // namespace fake
