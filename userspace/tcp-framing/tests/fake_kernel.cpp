/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "fake_kernel.hpp"

#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <linux/tcp_framing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

using fake::kernel;

namespace {

template <typename Function> Function *real(const char *name)
{
	return reinterpret_cast<Function *>(::dlsym(RTLD_NEXT, name));
}

int failed(int error)
{
	errno = error;
	return -1;
}

int option_of(int fd, int option)
{
	if (!kernel().attached[fd])
		return failed(kernel().plain_error);
	const auto at = kernel().errors.find(option);

	return at == kernel().errors.end() ? 0 : failed(at->second);
}

int attach(int fd)
{
	if (kernel().meanwhile)
		kernel().meanwhile();
	if (kernel().attach_error)
		return failed(kernel().attach_error);
	if (kernel().attached[fd])
		return failed(EEXIST);
	kernel().attached[fd] = true;
	return 0;
}

bool ours(int fd, int level, int option)
{
	return fd >= fake::FIRST && level == SOL_TCP &&
	       (option == TCP_ULP || option == TCP_NODELAY ||
		option >= TCP_FRAMING_MODE - 1);
}

} // namespace

namespace fake {

Kernel &kernel()
{
	static Kernel one;

	return one;
}

} // namespace fake

extern "C" {

__attribute__((visibility("default"))) int
setsockopt(int fd, int level, int option, const void *value, socklen_t length) noexcept
{
	if (!ours(fd, level, option))
		return real<decltype(setsockopt)>("setsockopt")(fd, level, option, value,
								length);
	kernel().calls.push_back("set " + std::to_string(fd) + " " +
				 std::to_string(option) + " " + std::to_string(length));
	if (option == TCP_ULP)
		return length == 3 && !std::memcmp(value, "mpa", 3) ? attach(fd)
								    : failed(EINVAL);
	return option == TCP_NODELAY ? 0 : option_of(fd, option);
}

__attribute__((visibility("default"))) int
getsockopt(int fd, int level, int option, void *value, socklen_t *length) noexcept
{
	if (!ours(fd, level, option))
		return real<decltype(getsockopt)>("getsockopt")(fd, level, option, value,
								length);
	kernel().calls.push_back("get " + std::to_string(fd) + " " +
				 std::to_string(option));
	if (const int ret = option == TCP_NODELAY ? 0 : option_of(fd, option))
		return ret;
	std::memset(value, 7, *length);
	return 0;
}
}
