/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * libtcp-framing.so: for programs that are written to the letter of appendix A of
 * draft-ietf-tsvwg-tcp-ulp-frame-00. They set options of TCP's framing protocol on a
 * plain TCP socket. Linux has these options in the upper-layer protocol "mpa", so this
 * library attaches it at the first of them. tcp-framing(1) preloads the library.
 *
 * Nothing is remembered about descriptors: a socket without the protocol is one whose
 * options end with ENOPROTOOPT.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include <linux/tcp_framing.h>

typedef int (*set_function)(int, int, int, const void *, socklen_t);
typedef int (*get_function)(int, int, int, void *, socklen_t *);

static set_function next_set;
static get_function next_get;

/*
 * Other libraries' constructors may set options before this one has run, so each call
 * makes sure of it; a thread that comes at the same time stores the same.
 */
__attribute__((constructor)) static void find_next(void)
{
	if (!__atomic_load_n(&next_set, __ATOMIC_ACQUIRE))
		__atomic_store_n(&next_set,
				 (set_function)dlsym(RTLD_NEXT, "setsockopt"),
				 __ATOMIC_RELEASE);
	if (!__atomic_load_n(&next_get, __ATOMIC_ACQUIRE))
		__atomic_store_n(&next_get,
				 (get_function)dlsym(RTLD_NEXT, "getsockopt"),
				 __ATOMIC_RELEASE);
}

static bool is_framing(int level, int option)
{
	return level == SOL_TCP && option >= TCP_FRAMING_MODE &&
	       option <= TCP_FRAMING_INFO;
}

/*
 * After a call has failed: whether to repeat it, because the socket has the protocol
 * now. Another thread may have attached it meanwhile: EEXIST. Whatever else the reason,
 * the option does not exist for the caller, unless memory is short.
 */
static bool attach(int fd)
{
	if (errno != ENOPROTOOPT)
		return false;
	if (!next_set(fd, SOL_TCP, TCP_ULP, "mpa", 3) || errno == EEXIST)
		return true;
	if (errno != ENOMEM && errno != ENOBUFS && errno != EINTR)
		errno = ENOPROTOOPT;
	return false;
}

/* The first attempt leaves no trace in errno if the second one succeeds. */
#define WITH_PROTOCOL(fd, call)					\
	({							\
		int before_ = errno;				\
		int ret_ = (call);				\
								\
		if (ret_ < 0 && attach(fd)) {			\
			errno = before_;			\
			ret_ = (call);				\
		}						\
		ret_;						\
	})

__attribute__((visibility("default"))) int
setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	find_next();
	if (!is_framing(level, option))
		return next_set(fd, level, option, value, length);
	return WITH_PROTOCOL(fd, next_set(fd, level, option, value, length));
}

__attribute__((visibility("default"))) int
getsockopt(int fd, int level, int option, void *restrict value,
	   socklen_t *restrict length)
{
	find_next();
	if (!is_framing(level, option))
		return next_get(fd, level, option, value, length);
	return WITH_PROTOCOL(fd, next_get(fd, level, option, value, length));
}
