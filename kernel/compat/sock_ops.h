/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in the operations of sockets.
 */
#ifndef MPA_COMPAT_SOCK_OPS_H
#define MPA_COMPAT_SOCK_OPS_H

#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/ipv6.h>
#include <net/inet_sock.h>
#ifdef MPA_HAVE_RPS_HEADER
#include <net/rps.h>
#endif

/**
 * MPA_ACCEPT_OP - define a &proto_ops.accept
 * @name: the function to define
 * @base_of: function that returns the operations of a socket to call first
 * @then: function called with both sockets after that; returns an error
 */
#ifdef MPA_HAVE_ACCEPT_ARG
#define MPA_ACCEPT_OP(name, base_of, then)				\
static int name(struct socket *sock, struct socket *newsock,		\
		struct proto_accept_arg *arg)				\
{									\
	int ret = base_of(sock)->accept(sock, newsock, arg);		\
									\
	return ret ?: then(sock, newsock);				\
}
#else
#define MPA_ACCEPT_OP(name, base_of, then)				\
static int name(struct socket *sock, struct socket *newsock, int flags,	\
		bool kern)						\
{									\
	int ret = base_of(sock)->accept(sock, newsock, flags, kern);	\
									\
	return ret ?: then(sock, newsock);				\
}
#endif

/**
 * MPA_CLEAR_GETSOCKOPT_ITER - leave only &proto_ops.getsockopt
 * @ops: operations; newer releases would prefer the other one, if it is set
 */
#ifdef MPA_HAVE_GETSOCKOPT_ITER
#define MPA_CLEAR_GETSOCKOPT_ITER(ops)	((ops)->getsockopt_iter = NULL)
#else
#define MPA_CLEAR_GETSOCKOPT_ITER(ops)	do { } while (0)
#endif

/* Soft errors are reported: IP_RECVERR, IPV6_RECVERR. */
#define MPA_RECVERR4	1U
#define MPA_RECVERR6	2U

/**
 * mpa_sk_recverr - which soft errors are reported as errors of the connection
 * @sk: TCP socket, locked
 *
 * Return: MPA_RECVERR* bits.
 */
static inline unsigned int mpa_sk_recverr(const struct sock *sk)
{
#ifdef MPA_HAVE_INET_FLAGS
	return (inet_test_bit(RECVERR, sk) ? MPA_RECVERR4 : 0) |
	       (inet_test_bit(RECVERR6, sk) ? MPA_RECVERR6 : 0);
#else
	return (inet_sk(sk)->recverr ? MPA_RECVERR4 : 0) |
	       (inet6_sk(sk) && inet6_sk(sk)->recverr ? MPA_RECVERR6 : 0);
#endif
}

/**
 * mpa_sk_set_recverr - select the soft errors that are reported
 * @sk: TCP socket, locked
 * @bits: MPA_RECVERR* bits
 */
static inline void mpa_sk_set_recverr(struct sock *sk, unsigned int bits)
{
#ifdef MPA_HAVE_INET_FLAGS
	inet_assign_bit(RECVERR, sk, bits & MPA_RECVERR4);
	inet_assign_bit(RECVERR6, sk, bits & MPA_RECVERR6);
#else
	inet_sk(sk)->recverr = !!(bits & MPA_RECVERR4);
	if (inet6_sk(sk))
		inet6_sk(sk)->recverr = !!(bits & MPA_RECVERR6);
#endif
}

/* sendfile() and splice() to a socket use sendmsg() with this flag ... */
#ifdef MPA_HAVE_SENDPAGE
#define MPA_MSG_SPLICE		0
#else
#define MPA_MSG_SPLICE		MSG_SPLICE_PAGES
#endif

/**
 * MPA_SENDPAGE_OP - define a &proto_ops.sendpage, which they used until 6.5
 * @name: the function to define
 * @enter: function called with the socket before that of @base_of; false: the
 *	socket does not send bytes
 * @leave: function called with the socket after that
 * @base_of: function that returns the operations of a socket to call
 */
#ifdef MPA_HAVE_SENDPAGE
#define MPA_SENDPAGE_OP(name, enter, leave, base_of)			\
static ssize_t name(struct socket *sock, struct page *page, int offset,	\
		    size_t size, int flags)				\
{									\
	ssize_t ret = enter(sock) ? 0 : -EOPNOTSUPP;			\
									\
	if (ret)							\
		return ret;						\
	ret = base_of(sock)->sendpage(sock, page, offset, size, flags);	\
	leave(sock);							\
	return ret;							\
}
#else
#define MPA_SENDPAGE_OP(name, enter, leave, base_of)
#endif

/**
 * MPA_SET_SENDPAGE - use a function of MPA_SENDPAGE_OP()
 * @ops: the operations
 * @name: the function
 */
#ifdef MPA_HAVE_SENDPAGE
#define MPA_SET_SENDPAGE(ops, name)					\
do {									\
	typeof(ops) __ops = (ops);					\
									\
	__ops->sendpage = (name);					\
	__ops->sendpage_locked = NULL;					\
} while (0)
#else
#define MPA_SET_SENDPAGE(ops, name)	do { } while (0)
#endif

/**
 * MPA_DIAG_OPS - define a &tcp_ulp_ops.get_info and its get_info_size
 * @name: of the first function; that of the second ends with _size
 * @fill: function to call with the socket and the message
 * @size: function to call for the size, with the socket
 *
 * What they show is for everybody who may see the socket.
 */
#ifdef MPA_HAVE_ULP_INFO_NET_ADMIN
#define MPA_DIAG_OPS(name, fill, size)					\
static int name(struct sock *sk, struct sk_buff *skb, bool net_admin)	\
{									\
	return fill(sk, skb);						\
}									\
									\
static size_t name##_size(const struct sock *sk, bool net_admin)	\
{									\
	return size(sk);						\
}
#else
#define MPA_DIAG_OPS(name, fill, size)					\
static int name(struct sock *sk, struct sk_buff *skb)			\
{									\
	return fill(sk, skb);						\
}									\
									\
static size_t name##_size(const struct sock *sk)			\
{									\
	return size(sk);						\
}
#endif

#endif /* MPA_COMPAT_SOCK_OPS_H */
