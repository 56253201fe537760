// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handing the stream of an application's socket to an owner in the kernel, and
 * giving it back.
 *
 * An owner in the kernel waits for the socket's lock, perhaps on behalf of
 * others. Calls of an application hold that lock while they read or write its
 * memory, which may take any time: setsockopt() with SO_LINGER, getsockopt()
 * with SO_GET_FILTER, most of TCP's operations. So the owner gets the only
 * reference to the file, and no call can reach the socket any more: its
 * descriptor is closed. A copy of the descriptor, a call that is under way in
 * another thread, one in io_uring, and a message with SCM_RIGHTS have references
 * of their own; a set of epoll has none, but is known.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <net/tcp.h>

#include "attach.h"
#include "compat/file.h"
#include "early.h"
#include "sock.h"
#include "startup.h"
#include "usock_attach.h"
#include "usock_ops.h"
#include "usock_plain.h"

/* Without the lock the result may be outdated. */
static int handover_check(const struct mpa_usock *us)
{
	enum mpa_usock_phase phase = READ_ONCE(us->phase);

	/* Once it is the only reference, handover_mark() catches up. */
	if (phase == MPA_USOCK_UNCONNECTED)
		return mpa_usock_connected(us->conn->sk) ? 0 : -ENOTCONN;
	if (phase != MPA_USOCK_STREAMING)
		return -EINVAL;
	return READ_ONCE(us->conn->state) == MPA_CONN_ATTACHED ? 0 : -ENOTCONN;
}

/* No call is under way. */
static int handover_mark(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;
	int ret;

	mpa_usock_catch_up(us);
	ret = handover_check(us);
	if (ret)
		return ret;
	if (tcp_sk(sk)->repair)
		return -EBUSY;
	WARN_ON_ONCE(us->nr_plain[MPA_USOCK_SEND] ||
		     us->nr_plain[MPA_USOCK_RECV]);
	mpa_usock_set_phase(us, MPA_USOCK_HANDED_OVER);
	mpa_sock_tune(sk, &us->conn->tuned);
	us->listen_id = us->conn->label.listen_id;
	/* Work that releases the file must not wait for the peer. */
	us->linger = sock_flag(sk, SOCK_LINGER);
	sock_reset_flag(sk, SOCK_LINGER);
	return 0;
}

/* The MPA state of a socket whose protocol is attached, by its file. */
static struct mpa_usock *handover_find(struct file *file, int *err)
{
	struct socket *sock = sock_from_file(file);
	struct mpa_usock *us;

	*err = -ENOTSOCK;
	if (!sock)
		return NULL;
	us = mpa_usock_has_ops(sock) ? mpa_usock_of(sock->sk) : NULL;
	*err = us ? handover_check(us) : -EINVAL;
	return *err ? NULL : us;
}

/* Whether a file has so many references, and no other users. */
static bool handover_is_alone(struct file *file, long refs)
{
	if (file_count(file) != refs)
		return false;
	/*
	 * A call that adds it to a set has a reference. Pairs with dropping that,
	 * which is a full barrier.
	 */
	smp_rmb();
	return !mpa_file_in_epoll(file);
}

/*
 * Closes the descriptor, so that the reference of the caller is the only one.
 * Nothing else can lead to the socket then, so its lock is free.
 */
static int handover_seize(struct mpa_usock *us, struct file *file, int *fd)
{
	struct sock *sk = us->conn->sk;
	int ret;

	if (!handover_is_alone(file, 2))
		return -EBUSY;
	ret = close_fd(*fd);
	if (ret)
		return ret;
	*fd = -1;
	/* Another thread may have got a reference in between. */
	if (!handover_is_alone(file, 1))
		return -EBUSY;
	lock_sock(sk);
	ret = handover_mark(us);
	release_sock(sk);
	return ret;
}

/**
 * mpa_give_fd - make a descriptor of the caller for a file
 * @file: the file; the reference is taken over
 *
 * Process context. It is the lowest one that is free, and closed by exec().
 *
 * Return: the descriptor, or a negative error.
 */
int mpa_give_fd(struct file *file)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		fput(file);
	else
		fd_install(fd, file);
	return fd;
}
EXPORT_SYMBOL_NS_GPL(mpa_give_fd, MPA_NS);

/**
 * mpa_take_fd - take the stream of an application's socket
 * @fd: its descriptor, which must be the only user of the socket; the protocol is
 *	attached, and not started. Set to -1: it was closed; after an error it may
 *	be another one.
 * @file: set to the file, with a reference that the caller drops after
 *	mpa_give_back()
 *
 * Process context. The stream has no owner until mpa_set_owner(), and no
 * callback is called. The socket is set up for MPA as by mpa_attach(). Bytes in
 * its receive queue stay there.
 *
 * Return: the stream, for mpa_give_back(); or an ERR_PTR(): -EBADF; -ENOTSOCK;
 * -EINVAL the protocol is not attached, or was started; -ENOTCONN TCP has ended;
 * -EBUSY the socket has other users.
 */
struct mpa_conn *mpa_take_fd(int *fd, struct file **file)
{
	struct file *found = fget(*fd);
	struct mpa_usock *us;
	int ret;

	if (!found)
		return ERR_PTR(-EBADF);
	us = handover_find(found, &ret);
	if (us)
		ret = handover_seize(us, found, fd);
	if (!ret) {
		*file = found;
		return us->conn;
	}
	if (*fd < 0)
		*fd = mpa_give_fd(found);
	else
		fput(found);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_NS_GPL(mpa_take_fd, MPA_NS);

/**
 * mpa_set_owner - set the owner of a stream that was taken
 * @conn: the stream, from mpa_take_fd(), under lock_sock()
 * @ops: callbacks, as for mpa_attach()
 * @priv: data of the owner, returned by mpa_priv()
 * @label: as for mpa_attach()
 */
void mpa_set_owner(struct mpa_conn *conn, const struct mpa_ops *ops,
		   void *priv, const struct mpa_label *label)
{
	mpa_assert_locked(conn);
	conn->label = *label;
	WRITE_ONCE(conn->ops, ops);
	WRITE_ONCE(conn->priv, priv);
	/* Left over from a start that failed. */
	conn->plain = false;
	conn->review = false;
}
EXPORT_SYMBOL_NS_GPL(mpa_set_owner, MPA_NS);

/* Where the application finds a stream that was in this state. */
static enum mpa_usock_phase handover_phase_after(const struct mpa_conn *conn)
{
	if (conn->known)
		return MPA_USOCK_ENDED;
	/*
	 * TCP may have ended meanwhile: the application finds that as before. But
	 * the peer may have a part of a Request.
	 */
	if (!conn->started)
		return conn->state == MPA_CONN_EXITED ? MPA_USOCK_FAILED : MPA_USOCK_STREAMING;
	if (conn->state == MPA_CONN_EXITED && conn->err == ECONNREFUSED)
		return MPA_USOCK_REJECTED;
	return MPA_USOCK_FAILED;
}

static void handover_end(struct mpa_usock *us, enum mpa_usock_phase phase)
{
	struct mpa_conn *conn = us->conn;
	enum mpa_error code = conn->code;
	int err = -conn->err;

	if (phase == MPA_USOCK_FAILED) {
		mpa_startup_cancel(conn);
		code = code ?: MPA_ERROR_STARTUP;
		err = err ?: -ECONNABORTED;
	}
	mpa_usock_end(us, phase, code, err);
	/* The application may keep the socket. */
	us->close_due = true;
	mpa_usock_kick(us, 0);
}

/**
 * mpa_give_back - give a stream that was taken back to the application
 * @conn: the stream, from mpa_take_fd(), in any state; no other call of the
 *	owner may be under way
 *
 * Process context; takes the socket lock. On return no callback runs or will
 * run, and @conn is not the caller's any more. Bytes that were handed over for
 * sending are passed to TCP first. The socket is plain TCP again if the stream
 * was not started, or was rejected; otherwise the application finds that the
 * stream has ended, and TCP is being closed.
 */
void mpa_give_back(struct mpa_conn *conn)
{
	struct mpa_usock *us = conn->us;
	enum mpa_usock_phase phase;
	struct sock *sk = conn->sk;

	lock_sock(sk);
	mpa_stop(conn);
	mpa_early_end(conn);
	WRITE_ONCE(conn->ops, &mpa_usock_stream_ops);
	WRITE_ONCE(conn->priv, us);
	conn->label = (struct mpa_label){ .listen_id = us->listen_id };
	phase = handover_phase_after(conn);
	if (us->linger && phase != MPA_USOCK_ENDED)
		sock_set_flag(sk, SOCK_LINGER);
	if (conn->started)
		us->role = conn->initiator ? MPA_ROLE_INITIATOR :
					     MPA_ROLE_RESPONDER;
	switch (phase) {
	case MPA_USOCK_STREAMING:
		mpa_set_config(conn, &us->cfg);
		mpa_usock_set_phase(us, phase);
		mpa_sock_untune(sk, &conn->tuned);
		break;
	case MPA_USOCK_REJECTED:
		mpa_usock_rejected(us);
		/* What was received behind the frame is for plain TCP. */
		conn->saved.data_ready(sk);
		break;
	default:
		handover_end(us, phase);
		break;
	}
	release_sock(sk);
}
EXPORT_SYMBOL_NS_GPL(mpa_give_back, MPA_NS);
