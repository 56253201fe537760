/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in sockets and TCP.
 */
#ifndef MPA_COMPAT_NET_H
#define MPA_COMPAT_NET_H

#include <linux/version.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "Linux 6.1 is the oldest kernel supported"
#endif

/* Socket addresses of any length, as in the operations of sockets. */
#ifdef MPA_HAVE_SOCKADDR_UNSIZED
#define mpa_sockaddr sockaddr_unsized
#else
#define mpa_sockaddr sockaddr
#endif

/**
 * mpa_sk_hold_net - give a kernel socket a reference to its namespace
 * @sk: TCP socket made by sock_create_kern(), or accepted from such a socket;
 *	not in use by other code yet
 *
 * A kernel socket holds no reference to its namespace, but its timers use the
 * namespace even after the socket was released. The reference makes that safe;
 * it is dropped when @sk is freed. Does nothing if @sk already has one, like
 * sockets accepted from a listener to which this function was applied.
 */
static inline void mpa_sk_hold_net(struct sock *sk)
{
	if (sk->sk_net_refcnt)
		return;
#ifdef MPA_HAVE_NET_REFCNT_UPGRADE
	sk_net_refcnt_upgrade(sk);
#else
	/* Until 6.14. */
#ifdef MPA_HAVE_NETNS_TRACKER_FREE
	/* It is tracked as one without a reference. */
	__netns_tracker_free(sock_net(sk), &sk->ns_tracker, false);
#endif
	sk->sk_net_refcnt = 1;
	get_net_track(sock_net(sk), &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(sock_net(sk), 1);
#endif
}

/**
 * mpa_skb_frags_readable - check whether the fragments are in memory
 * @skb: a received packet
 *
 * Return: false if they are in the memory of a device.
 */
static inline bool mpa_skb_frags_readable(const struct sk_buff *skb)
{
#ifdef MPA_HAVE_SKB_FRAGS_READABLE
	return skb_frags_readable(skb);
#else
	/* Until 6.11. */
	return true;
#endif
}

/**
 * mpa_sk_connect_deferred - check whether connect() has only been prepared
 * @sk: TCP socket, locked
 *
 * With %TCP_FASTOPEN_CONNECT, the first call of TCP that sends makes the connection.
 *
 * Return: true if there was no such call yet.
 */
static inline bool mpa_sk_connect_deferred(const struct sock *sk)
{
#ifdef MPA_HAVE_INET_FLAGS
	return inet_test_bit(DEFER_CONNECT, sk);
#else
	return inet_sk(sk)->defer_connect;
#endif
}

/**
 * mpa_tcp_has_listener - check whether a socket gets the connections to an address
 * @net: the namespace
 * @addr: IPv4 or IPv6 address, and port
 * @vrf: index of the VRF of the address, or 0
 *
 * Any context. Return: true if a socket listens at the address, or at the port of
 * any address.
 */
static inline bool mpa_tcp_has_listener(struct net *net, struct sockaddr_storage *addr,
					int vrf)
{
	struct sockaddr_in6 __maybe_unused *sin6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *sin = (struct sockaddr_in *)addr;
	int port = ntohs(sin->sin_port);
	bool has = false;

	rcu_read_lock();
#ifdef MPA_HAVE_TCP_TABLE_ARG
	if (addr->ss_family == AF_INET)
		has = __inet_lookup_listener(net, net->ipv4.tcp_death_row.hashinfo,
					     NULL, 0, 0, 0, sin->sin_addr.s_addr,
					     port, 0, vrf);
#if IS_ENABLED(CONFIG_IPV6)
	else
		has = inet6_lookup_listener(net, net->ipv4.tcp_death_row.hashinfo,
					    NULL, 0, &in6addr_any, 0,
					    &sin6->sin6_addr, port,
					    sin6->sin6_scope_id, vrf);
#endif
#else
	if (addr->ss_family == AF_INET)
		has = __inet_lookup_listener(net, NULL, 0, 0, 0,
					     sin->sin_addr.s_addr, port, 0, vrf);
#if IS_ENABLED(CONFIG_IPV6)
	else
		has = inet6_lookup_listener(net, NULL, 0, &in6addr_any, 0,
					    &sin6->sin6_addr, port,
					    sin6->sin6_scope_id, vrf);
#endif
#endif
	rcu_read_unlock();
	return has;
}

/**
 * mpa_tcp_adds_options - may TCP add options to each segment?
 * @sk: TCP socket
 *
 * Those of SACK are not meant.
 *
 * Return: true with accurate ECN, and if a BPF program writes options.
 */
static inline bool mpa_tcp_adds_options(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

#ifdef MPA_HAVE_ACCECN
	if (tcp_ecn_mode_accecn(tp))
		return true;
#endif
	return BPF_SOCK_OPS_TEST_FLAG(tp, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

/**
 * mpa_sk_set_task_frag - set whether TCP may copy into the page fragment of the task
 * @sk: TCP socket, locked
 * @may: false in softirqs, which may have interrupted a user of it. Earlier releases
 *	conclude that from the allocation mask
 *
 * Return: what was set before.
 */
static inline bool mpa_sk_set_task_frag(struct sock *sk, bool may)
{
#ifdef MPA_HAVE_USE_TASK_FRAG
	swap(sk->sk_use_task_frag, may);
#endif
	return may;
}

/**
 * mpa_tcp_end_record - end the last packet, sent or not
 * @sk: TCP socket, locked; also in a callback of TCP, which must not sleep
 *
 * No later data is added to it, also when it is sent again.
 */
static inline void mpa_tcp_end_record(struct sock *sk)
{
	struct sk_buff *skb = tcp_write_queue_tail(sk) ?: tcp_rtx_queue_tail(sk);

	if (skb)
		TCP_SKB_CB(skb)->eor = 1;
}

#ifdef MPA_HAVE_SENDPAGE
/* Until 6.4 one call sends one piece, and records have no ends. */

/*
 * Bytes of a fragment of a packet at most: each piece of memory that is sent is
 * one. A receiver on the same machine gets the same fragments.
 */
#define MPA_TCP_FRAG_MAX	U16_MAX

/*
 * Sends as much of the first piece of the iterator as TCP accepts. If the route
 * has no scatter-gather, which can change with each call, all the rest is
 * copied instead.
 */
static inline int mpa_tcp_send_piece(struct sock *sk, struct msghdr *msg)
{
	const struct bio_vec *bv = msg->msg_iter.bvec;
	size_t off = msg->msg_iter.iov_offset;
	size_t n = min(bv->bv_len - off, msg_data_left(msg));
	int flags = msg->msg_flags | MSG_NO_SHARED_FRAGS;
	int ret;

	/*
	 * In this case tcp_sendpage_locked() would call
	 * &proto_ops.sendmsg_locked, which the socket of an application may not
	 * have.
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
#else
/* Each page that is sent is a fragment of its own. */
#define MPA_TCP_FRAG_MAX	PAGE_SIZE
#endif

/**
 * mpa_tcp_send_pages - send pages without copying them
 * @sk: TCP socket, locked; in a callback of TCP its allocation mask is %GFP_ATOMIC,
 *	and nothing here may sleep
 * @msg: the pages as &struct bio_vec, and flags, which include %MSG_DONTWAIT;
 *	with %MSG_EOR no later data is added to the last packet. The pages must
 *	not be written to while TCP holds them
 *
 * TCP copies the data if the route has no scatter-gather. It then uses a page
 * fragment of the task, unless mpa_sk_set_task_frag() forbids that.
 *
 * Return: bytes that TCP accepted, with @msg advanced by as many; a negative
 * error if none.
 */
static inline int mpa_tcp_send_pages(struct sock *sk, struct msghdr *msg)
{
#ifndef MPA_HAVE_SENDPAGE
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
