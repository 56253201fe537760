/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "fake_kernel.hpp"

#include <stdexcept>

#include <linux/tcp_framing.h>

using fake::kernel;

extern "C" {

int __real_setsockopt(int, int, int, const void *, socklen_t);
int __real_getsockopt(int, int, int, void *, socklen_t *);
int __wrap_setsockopt(int, int, int, const void *, socklen_t);
int __wrap_getsockopt(int, int, int, void *, socklen_t *);
ssize_t __real_send(int, const void *, size_t, int);
ssize_t __wrap_send(int, const void *, size_t, int);
ssize_t __real_recvmsg(int, msghdr *, int);
ssize_t __wrap_recvmsg(int, msghdr *, int);
int __real_poll(pollfd *, nfds_t, int);
int __wrap_poll(pollfd *, nfds_t, int);

static bool ours(int level)
{
	return level == SOL_MPA || level == SOL_TCP;
}

static bool refused(const std::map<std::pair<int, int>, int> &errors, int level,
		    int option)
{
	const auto at = errors.find({level, option});

	if (at == errors.end())
		return false;
	errno = at->second;
	return true;
}

int __wrap_setsockopt(int fd, int level, int option, const void *value,
		      socklen_t size)
{
	if (!ours(level))
		return __real_setsockopt(fd, level, option, value, size);
	if (refused(kernel().errors, level, option) ||
	    refused(kernel().set_errors, level, option))
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
	if (refused(kernel().errors, level, option))
		return -1;
	const auto at = kernel().values.find(option);
	if (level != kernel().level_of(option) || at == kernel().values.end()) {
		errno = ENOPROTOOPT;
		return -1;
	}
	*size = std::min<socklen_t>(*size, at->second.size());
	std::copy_n(at->second.data(), *size, static_cast<std::byte *>(value));
	return 0;
}

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
	const int error =
		kernel().on_send
			? kernel().on_send({static_cast<const std::byte *>(data), size})
			: 0;

	if (!error)
		return __real_send(fd, data, size, flags);
	errno = error;
	return -1;
}

ssize_t __wrap_recvmsg(int fd, msghdr *message, int flags)
{
	if (kernel().on_receive)
		kernel().on_receive();
	const ssize_t got = __real_recvmsg(fd, message, flags);

	if (got >= 0)
		message->msg_flags |= kernel().received_flags;
	return got;
}

int __wrap_poll(pollfd *fds, nfds_t count, int timeout)
{
	if (kernel().events < 0)
		return __real_poll(fds, count, timeout);
	fds->revents = static_cast<short>(kernel().events);
	return fds->revents != 0;
}
}

namespace fake {

Kernel &kernel()
{
	static Kernel one;

	return one;
}

int Kernel::level_of(int option)
{
	return option >= TCP_FRAMING_MODE ? SOL_TCP : SOL_MPA;
}

std::pair<mpa::descriptor, mpa::descriptor> connected()
{
	int fds[2];

	if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		throw std::runtime_error("socketpair");
	return {mpa::descriptor(fds[0]), mpa::descriptor(fds[1])};
}

} // namespace fake
