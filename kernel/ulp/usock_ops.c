// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations of an application's socket with MPA: replaced where MPA
 * differs from TCP, TCP's for the rest.
 *
 * TCP's protocol operations (sk_prot) are not replaced: a socket in TIME_WAIT,
 * or one accepted from a listener, could refer to them after this module is
 * unloaded.
 */
#include <linux/mutex.h>
#include <net/tcp.h>

#include "compat/net.h"
#include "compat/sock_ops.h"
#include "sock.h"
#include "tx_queue.h"
#include "usock_attach.h"
#include "usock_io.h"
#include "usock_ops.h"
#include "usock_opt.h"
#include "usock_pend.h"
#include "usock_plain.h"

/* For IPv4 and IPv6. Written once, under the lock, and constant after that. */
static struct mpa_usock_ops_copy usock_ops_copies[2];
static DEFINE_MUTEX(usock_ops_lock);

/* The stream ends before TCP closes the socket. */
static int usock_release(struct socket *sock)
{
	const struct proto_ops *base;

	if (!sock->sk)
		return 0;
	base = mpa_usock_base_ops(sock);
	mpa_usock_detach(sock->sk);
	return base->release(sock);
}

/*
 * Sets the operations of a socket. They stay until it is released; then the
 * core drops the reference to their owner.
 */
static void usock_set_ops(struct socket *sock, const struct proto_ops *ops)
{
	struct module *before = sock->ops->owner;

	__module_get(ops->owner);
	/*
	 * Whatever calls the operations also sees the MPA state. Pairs with
	 * smp_rmb() in mpa_usock_of().
	 */
	smp_store_release(&sock->ops, ops);
	module_put(before);
}

/*
 * The new socket has the operations that its listener had earlier, or none:
 * kernel_accept() sets them, and takes the reference, after this function has
 * succeeded. If it fails, it must release the accepted socket itself then.
 */
static int usock_accepted(struct socket *sock, struct socket *newsock)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	int ret;

	if (newsock->ops && newsock->ops != sock->ops)
		usock_set_ops(newsock, sock->ops);
	ret = us ? mpa_usock_attach_child(us, newsock) : -EINVAL;
	if (ret && !newsock->ops)
		mpa_usock_base_ops(sock)->release(newsock);
	return ret;
}

MPA_ACCEPT_OP(usock_accept, mpa_usock_base_ops, usock_accepted)

/*
 * With TCP_FASTOPEN_CONNECT, the connection would be made by the first call of TCP that
 * sends, but there is none where TUF takes what is sent.
 */
static void usock_no_deferral(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	lock_sock(sk);
	if (us->tuf.mode & MPA_TUF_SEND_MODES)
		tcp_sk(sk)->fastopen_connect = 0;
	release_sock(sk);
}

/*
 * A socket with a stream is connected; connect() with AF_UNSPEC would disconnect it.
 */
static int usock_connect(struct socket *sock, struct mpa_sockaddr *addr, int len,
			 int flags)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	int ret;

	if (len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC)
		return -EOPNOTSUPP;
	if (us && !mpa_usock_is(us)->idle)
		return -EISCONN;
	if (us)
		usock_no_deferral(us);
	ret = mpa_usock_base_ops(sock)->connect(sock, addr, len, flags);
	if (us && !ret)
		mpa_usock_look(us);
	return ret;
}

/* A listener began or stopped listening. */
static int usock_update_listener(struct mpa_usock *us)
{
	int ret;

	if (!us || !mpa_usock_is(us)->idle)
		return 0;
	lock_sock(us->conn->sk);
	if (us->phase == MPA_USOCK_UNCONNECTED &&
	    us->conn->sk->sk_state == TCP_LISTEN)
		mpa_usock_set_phase(us, MPA_USOCK_LISTENER);
	ret = mpa_usock_update_node(us);
	release_sock(us->conn->sk);
	return ret;
}

/* A socket that had a stream cannot listen. */
static int usock_listen(struct socket *sock, int backlog)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	int ret;

	if (us && !mpa_usock_is(us)->idle)
		return -EINVAL;
	ret = mpa_usock_base_ops(sock)->listen(sock, backlog);
	return ret ?: usock_update_listener(us);
}

/* ULPDUs that wait are sent before the FIN. If they cannot be, nothing is shut down. */
static int usock_shutdown_flush(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;
	int ret;

	lock_sock(sk);
	ret = mpa_pend_flush_all(us);
	/* No ULPDU of another thread is taken between here and the FIN. */
	if (!ret && mpa_tx_tcp_can_send(sk))
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	release_sock(sk);
	return ret;
}

static int usock_shutdown(struct socket *sock, int how)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	int ret = 0;

	if (us && (how == SHUT_WR || how == SHUT_RDWR))
		ret = usock_shutdown_flush(us);
	if (ret)
		return ret;
	ret = mpa_usock_base_ops(sock)->shutdown(sock, how);
	usock_update_listener(us);
	return ret;
}

/*
 * Bytes of the stream have no meaning for a receiver of ULPDUs. The value holds if the
 * socket becomes plain TCP again.
 */
static int usock_set_rcvlowat(struct sock *sk, int val)
{
	struct mpa_usock *us = mpa_usock_of(sk);

	if (us && mpa_usock_ours(us, MPA_USOCK_RECV)) {
		mpa_sock_note_rcvlowat(sk, &us->conn->tuned, val);
		return 0;
	}
	return mpa_usock_base_ops(sk->sk_socket)->set_rcvlowat(sk, val);
}

/* Begins a call that TCP handles; false: the socket has no such calls now. */
static bool usock_enter_plain(struct socket *sock, enum mpa_usock_dir dir)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	bool plain;

	if (!us)
		return false;
	lock_sock(sock->sk);
	plain = mpa_usock_enter_plain(us, dir);
	release_sock(sock->sk);
	return plain;
}

static void usock_leave_plain(struct socket *sock, enum mpa_usock_dir dir)
{
	mpa_usock_leave_plain(mpa_usock_of(sock->sk), dir);
}

static ssize_t usock_splice_read(struct socket *sock, loff_t *ppos,
				 struct pipe_inode_info *pipe, size_t len,
				 unsigned int flags)
{
	ssize_t ret;

	if (!usock_enter_plain(sock, MPA_USOCK_RECV))
		return -EOPNOTSUPP;
	ret = mpa_usock_base_ops(sock)->splice_read(sock, ppos, pipe, len,
						    flags);
	usock_leave_plain(sock, MPA_USOCK_RECV);
	return ret;
}

/* For sendpage(), which later kernels do not have. */
static bool __maybe_unused usock_enter_send(struct socket *sock)
{
	return usock_enter_plain(sock, MPA_USOCK_SEND);
}

static void __maybe_unused usock_leave_send(struct socket *sock)
{
	usock_leave_plain(sock, MPA_USOCK_SEND);
}

MPA_SENDPAGE_OP(usock_sendpage, usock_enter_send, usock_leave_send,
		mpa_usock_base_ops)

static void usock_ops_fill(struct mpa_usock_ops_copy *copy,
			   const struct proto_ops *base)
{
	struct proto_ops *ops = &copy->ops;

	*ops = *base;
	/* A socket holds the module until its release has returned. */
	ops->owner = THIS_MODULE;
	ops->release = usock_release;
	ops->accept = usock_accept;
	ops->connect = usock_connect;
	ops->listen = usock_listen;
	ops->shutdown = usock_shutdown;
	ops->poll = mpa_usock_poll;
	ops->ioctl = mpa_usock_ioctl;
	ops->setsockopt = mpa_usock_setsockopt;
	ops->getsockopt = mpa_usock_getsockopt;
	MPA_CLEAR_GETSOCKOPT_ITER(ops);
	ops->set_rcvlowat = usock_set_rcvlowat;
	ops->sendmsg = mpa_usock_sendmsg;
	ops->recvmsg = mpa_usock_recvmsg;
	ops->splice_read = usock_splice_read;
	MPA_SET_SENDPAGE(ops, usock_sendpage);
	/* Other users in the kernel must not bypass these calls. */
	ops->mmap = sock_no_mmap;
	ops->sendmsg_locked = NULL;
	ops->read_sock = NULL;
	ops->peek_len = NULL;
	copy->base = base;
}

static struct mpa_usock_ops_copy *usock_ops_find(const struct proto_ops *base)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(usock_ops_copies); i++) {
		if (!usock_ops_copies[i].base)
			usock_ops_fill(&usock_ops_copies[i], base);
		if (usock_ops_copies[i].base == base)
			return &usock_ops_copies[i];
	}
	return NULL;
}

/*
 * The operations for a socket that has @base; NULL if @base is neither IPv4's
 * nor IPv6's.
 */
static const struct proto_ops *usock_ops_for(const struct proto_ops *base)
{
	struct mpa_usock_ops_copy *copy;

	mutex_lock(&usock_ops_lock);
	copy = usock_ops_find(base);
	mutex_unlock(&usock_ops_lock);
	return copy ? &copy->ops : NULL;
}

/**
 * mpa_usock_init - attach to the socket of an application
 * @sk: the socket, under lock_sock(), with a file; established, listening or not
 *	connected
 *
 * Return: 0; -EOPNOTSUPP unknown kind of socket; -EEXIST in use by something else;
 * -ENOMEM.
 */
int mpa_usock_init(struct sock *sk)
{
	const struct proto_ops *ops = usock_ops_for(sk->sk_socket->ops);
	int ret;

	if (!ops)
		return -EOPNOTSUPP;
	ret = mpa_usock_attach(sk);
	/* From here on calls reach these operations. */
	if (!ret)
		usock_set_ops(sk->sk_socket, ops);
	return ret;
}

/**
 * mpa_usock_has_ops - does a socket have the operations of MPA?
 * @sock: any socket
 *
 * Return: true if so: mpa_usock_of() may be called.
 */
bool mpa_usock_has_ops(const struct socket *sock)
{
	const struct proto_ops *ops = READ_ONCE(sock->ops);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(usock_ops_copies); i++)
		if (ops == &usock_ops_copies[i].ops)
			return true;
	return false;
}
