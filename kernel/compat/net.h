/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in what sockets offer.
 */
#ifndef MPA_COMPAT_NET_H
#define MPA_COMPAT_NET_H

#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

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

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
/*
 * The pages of the iterator's first piece, as far as TCP takes them; or all that is
 * left is copied, where the route has no scatter and gather (any more: sending the
 * piece before may have found another route).
 */
static inline int mpa_tcp_send_piece(struct sock *sk, struct msghdr *msg)
{
	const struct bio_vec *bv = msg->msg_iter.bvec;
	size_t off = msg->msg_iter.iov_offset;
	size_t n = min(bv->bv_len - off, msg_data_left(msg));
	int flags = msg->msg_flags | MSG_NO_SHARED_FRAGS;
	int ret;

	/*
	 * tcp_sendpage_locked() would go on to &proto_ops.sendmsg_locked, which an
	 * application's socket may not have.
	 */
	if (!(sk->sk_route_caps & NETIF_F_SG))
		return tcp_sendmsg_locked(sk, msg, msg_data_left(msg));
	if (n < msg_data_left(msg))
		flags |= MSG_SENDPAGE_NOTLAST;
	ret = tcp_sendpage_locked(sk, bv->bv_page, bv->bv_offset + off, n,
				  flags);
	if (ret > 0)
		iov_iter_advance(&msg->msg_iter, ret);
	return ret;
}

/* What was handed over last ends a packet, sent or not: nothing joins it. */
static inline void mpa_tcp_end_record(struct sock *sk)
{
	struct sk_buff *skb = tcp_write_queue_tail(sk) ?: tcp_rtx_queue_tail(sk);

	if (skb)
		TCP_SKB_CB(skb)->eor = 1;
}
#endif

/**
 * mpa_tcp_send_pages - have TCP send pages as they are
 * @sk: TCP socket, under lock_sock()
 * @msg: where they are, as &struct bio_vec, and flags, %MSG_DONTWAIT among
 *	them; with %MSG_EOR nothing later joins the last packet. Nobody writes
 *	to them while TCP has them
 *
 * TCP copies them if the route has no scatter and gather, and then takes a page
 * fragment of the task's, unless the socket's allocation mask forbids that.
 *
 * Pages came as tcp_sendpage_locked() until 6.5, a piece to a call and without
 * ends of records; the shim can go when that is the oldest kernel supported.
 *
 * Return: bytes that TCP took, @msg is moved behind them; a negative error if
 * none.
 */
static inline int mpa_tcp_send_pages(struct sock *sk, struct msghdr *msg)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	msg->msg_flags |= MSG_SPLICE_PAGES;
	return tcp_sendmsg_locked(sk, msg, msg_data_left(msg));
#else
	int sent = 0;
	int ret;

	while (msg_data_left(msg)) {
		ret = mpa_tcp_send_piece(sk, msg);
		if (ret <= 0)
			return sent ?: ret;
		sent += ret;
	}
	if (msg->msg_flags & MSG_EOR)
		mpa_tcp_end_record(sk);
	return sent;
#endif
}

#endif /* MPA_COMPAT_NET_H */
