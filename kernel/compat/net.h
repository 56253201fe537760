/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in what sockets offer.
 */
#ifndef MPA_COMPAT_NET_H
#define MPA_COMPAT_NET_H

#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "Linux 6.1 is the oldest kernel supported"
#endif

/**
 * mpa_sk_hold_net - give a kernel socket its own reference to its namespace
 * @sk: TCP socket made by sock_create_kern() or accepted from one that was;
 *	nobody else uses it yet
 *
 * A kernel socket has none of its own, yet its timers run on after it was
 * released and refer to the namespace. With the reference, which goes away
 * with the last of @sk, that is safe. Does nothing if @sk has one already, as
 * sockets have that were accepted from a listener treated so.
 *
 * The shim for kernels without sk_net_refcnt_upgrade() can go when 6.12 is
 * the oldest kernel supported.
 */
static inline void mpa_sk_hold_net(struct sock *sk)
{
	if (sk->sk_net_refcnt)
		return;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	sk_net_refcnt_upgrade(sk);
#else
	sk->sk_net_refcnt = 1;
	get_net_track(sock_net(sk), &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(sock_net(sk), 1);
#endif
}

#endif /* MPA_COMPAT_NET_H */
