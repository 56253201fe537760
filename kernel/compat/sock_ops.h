/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in the operations of sockets.
 */
#ifndef MPA_COMPAT_SOCK_OPS_H
#define MPA_COMPAT_SOCK_OPS_H

#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/ipv6.h>
#include <linux/version.h>
#include <net/inet_sock.h>

/**
 * MPA_ACCEPT_OP - define a &proto_ops.accept
 * @name: the function to define
 * @base_of: function that returns the operations of a socket to call first
 * @then: function called with both sockets after that; returns an error
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
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
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
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
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	inet_assign_bit(RECVERR, sk, bits & MPA_RECVERR4);
	inet_assign_bit(RECVERR6, sk, bits & MPA_RECVERR6);
#else
	inet_sk(sk)->recverr = !!(bits & MPA_RECVERR4);
	if (inet6_sk(sk))
		inet6_sk(sk)->recverr = !!(bits & MPA_RECVERR6);
#endif
}

/* Until 6.5 sendfile() and splice() to a socket used &proto_ops.sendpage ... */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define MPA_HAVE_SENDPAGE	1
#define MPA_MSG_SPLICE		0
#else
#define MPA_HAVE_SENDPAGE	0
/* ... and since then they use sendmsg() with this flag. */
#define MPA_MSG_SPLICE		MSG_SPLICE_PAGES
#endif

/**
 * MPA_DIAG_OP - define a &tcp_ulp_ops.get_info
 * @name: the function to define
 * @fill: function to call with the socket and the message
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define MPA_DIAG_OP(name, fill)						\
static int name(struct sock *sk, struct sk_buff *skb, bool net_admin)	\
{									\
	return fill(sk, skb);						\
}
#else
#define MPA_DIAG_OP(name, fill)						\
static int name(struct sock *sk, struct sk_buff *skb)			\
{									\
	return fill(sk, skb);						\
}
#endif

#endif /* MPA_COMPAT_SOCK_OPS_H */
