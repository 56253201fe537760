// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations of an application's socket while it has MPA: ours where they
 * matter, TCP's for the rest.
 *
 * TCP's protocol operations (sk_prot) stay in place: a socket in TIME_WAIT, or
 * one accepted from a listener, would refer to ours longer than this module
 * can be sure to live.
 */
#include <linux/mutex.h>
#include <net/tcp.h>

#include "compat/sock_ops.h"
#include "usock.h"

/**
 * struct mpa_ops_copy - operations made from others
 * @ops: ours
 * @base: what they were made from; NULL: a free place
 */
struct mpa_ops_copy {
	struct proto_ops ops;
	const struct proto_ops *base;
};

/* Those of IPv4 and of IPv6. Written once, under the lock, never again. */
static struct mpa_ops_copy copies[2];
static DEFINE_MUTEX(copies_lock);

/**
 * mpa_usock_base_ops - TCP's own operations of a socket of ours
 * @sock: the socket
 *
 * Return: them.
 */
const struct proto_ops *mpa_usock_base_ops(const struct socket *sock)
{
	return container_of(sock->ops, struct mpa_ops_copy, ops)->base;
}

/* The stream ends before TCP's socket does. */
static int usock_release(struct socket *sock)
{
	if (sock->sk)
		mpa_usock_release(sock->sk);
	return mpa_usock_base_ops(sock)->release(sock);
}

static int usock_adopt(struct socket *sock, struct socket *newsock)
{
	return mpa_usock_adopt(mpa_usock_of(sock->sk), newsock);
}

MPA_ACCEPT_OP(usock_accept, mpa_usock_base_ops, usock_adopt)

/* connect() of a connected socket tells so; of AF_UNSPEC it would undo it. */
static int usock_connect(struct socket *sock, struct sockaddr *addr, int len,
			 int flags)
{
	if (len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC)
		return -EOPNOTSUPP;
	return mpa_usock_base_ops(sock)->connect(sock, addr, len, flags);
}

/* What was kept back goes before the FIN. */
static int usock_shutdown(struct socket *sock, int how)
{
	lock_sock(sock->sk);
	if (how == SHUT_WR || how == SHUT_RDWR)
		mpa_pend_last(mpa_usock_of(sock->sk));
	release_sock(sock->sk);
	return mpa_usock_base_ops(sock)->shutdown(sock, how);
}

/* Octets of the stream mean nothing to who receives ULPDUs. */
static int usock_set_rcvlowat(struct sock *sk, int val)
{
	struct mpa_usock *us = mpa_usock_of(sk);

	if (us && us->on)
		return 0;
	return mpa_usock_base_ops(sk->sk_socket)->set_rcvlowat(sk, val);
}

static bool enter_plain(struct mpa_usock *us)
{
	bool plain;

	lock_sock(us->conn->sk);
	plain = mpa_usock_enter_plain(us);
	release_sock(us->conn->sk);
	return plain;
}

static ssize_t usock_splice_read(struct socket *sock, loff_t *ppos,
				 struct pipe_inode_info *pipe, size_t len,
				 unsigned int flags)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	ssize_t ret;

	if (!enter_plain(us))
		return -EOPNOTSUPP;
	ret = mpa_usock_base_ops(sock)->splice_read(sock, ppos, pipe, len,
						    flags);
	mpa_usock_leave_plain(us);
	return ret;
}

#if MPA_HAVE_SENDPAGE
static ssize_t usock_sendpage(struct socket *sock, struct page *page,
			      int offset, size_t size, int flags)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	ssize_t ret;

	if (!enter_plain(us))
		return -EOPNOTSUPP;
	ret = mpa_usock_base_ops(sock)->sendpage(sock, page, offset, size,
						 flags);
	mpa_usock_leave_plain(us);
	return ret;
}
#endif

static void fill(struct mpa_ops_copy *copy, const struct proto_ops *base)
{
	struct proto_ops *ops = &copy->ops;

	*ops = *base;
	ops->release = usock_release;
	ops->accept = usock_accept;
	ops->connect = usock_connect;
	ops->shutdown = usock_shutdown;
	ops->poll = mpa_usock_poll;
	ops->ioctl = mpa_usock_ioctl;
	ops->setsockopt = mpa_usock_setsockopt;
	ops->getsockopt = mpa_usock_getsockopt;
	ops->set_rcvlowat = usock_set_rcvlowat;
	ops->sendmsg = mpa_usock_sendmsg;
	ops->recvmsg = mpa_usock_recvmsg;
	ops->splice_read = usock_splice_read;
#if MPA_HAVE_SENDPAGE
	ops->sendpage = usock_sendpage;
	ops->sendpage_locked = NULL;
#endif
	/* Ways past the calls, for others in the kernel. */
	ops->mmap = sock_no_mmap;
	ops->sendmsg_locked = NULL;
	ops->read_sock = NULL;
	ops->peek_len = NULL;
	copy->base = base;
}

static struct mpa_ops_copy *find(const struct proto_ops *base)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(copies); i++) {
		if (!copies[i].base)
			fill(&copies[i], base);
		if (copies[i].base == base)
			return &copies[i];
	}
	return NULL;
}

/**
 * mpa_usock_take_ops - put our operations on a socket
 * @sock: a TCP socket of an application, locked
 *
 * They stay until it is released.
 *
 * Return: 0; -EOPNOTSUPP if its own are neither IPv4's nor IPv6's.
 */
int mpa_usock_take_ops(struct socket *sock)
{
	struct mpa_ops_copy *copy;

	mutex_lock(&copies_lock);
	copy = find(sock->ops);
	mutex_unlock(&copies_lock);
	if (!copy)
		return -EOPNOTSUPP;
	WRITE_ONCE(sock->ops, &copy->ops);
	return 0;
}
