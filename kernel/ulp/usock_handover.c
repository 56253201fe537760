// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handing the stream of an application's socket to an owner in the kernel, and
 * giving it back.
 *
 * An owner in the kernel waits for the socket's lock, perhaps on behalf of
 * others. Calls of an application hold that lock while they read or write its
 * memory, which may take any time: setsockopt() with SO_LINGER, getsockopt()
 * with SO_GET_FILTER, most of TCP's operations. So while the stream is handed
 * over, the file of the socket has other operations, and is no socket for the
 * core: no call that begins then reaches the lock.
 *
 * A call that began before has a reference to the file, or is that of a process
 * with one thread, whose file table has one. So the reference of the caller and
 * that of its file table must be the only ones. Later ones do no harm.
 */
#include <linux/file.h>
#include <net/tcp.h>

#include "attach.h"
#include "early.h"
#include "rx.h"
#include "sock.h"
#include "startup.h"
#include "tx_queue.h"
#include "usock_attach.h"
#include "usock_ops.h"

enum {
	/* References to a file that only the caller uses. */
	HANDOVER_FILE_REFS	= 2,
	/* Limit for getting the lock from another thread of the application. */
	HANDOVER_LOCK_TIME	= HZ,
};

static ssize_t handover_io(struct kiocb *iocb, struct iov_iter *iter)
{
	return -EBUSY;
}

static long handover_ioctl(struct file *file, unsigned int cmd,
			   unsigned long arg)
{
	return -EBUSY;
}

/* Nothing can be done with it; whoever waits is woken when it is given back. */
static __poll_t handover_poll(struct file *file,
			      struct poll_table_struct *wait)
{
	sock_poll_wait(file, file->private_data, wait);
	return 0;
}

/* They are never released: the owner of the stream has a reference. */
static const struct file_operations handover_fops = {
	.owner		= THIS_MODULE,
	.read_iter	= handover_io,
	.write_iter	= handover_io,
	.poll		= handover_poll,
	.unlocked_ioctl	= handover_ioctl,
	.compat_ioctl	= handover_ioctl,
};

static int handover_check(const struct mpa_usock *us)
{
	const struct sock *sk = us->conn->sk;

	if (us->nr_plain || tcp_sk(sk)->repair)
		return -EBUSY;
	if (us->phase != MPA_USOCK_STREAMING)
		return -EINVAL;
	return us->conn->state == MPA_CONN_ATTACHED ? 0 : -ENOTCONN;
}

static int handover_mark(struct mpa_usock *us, struct file *file)
{
	const struct file_operations *fops = file->f_op;
	int ret = handover_check(us);

	if (ret)
		return ret;
	if (file_count(file) > HANDOVER_FILE_REFS)
		return -EBUSY;
	/*
	 * Pairs with taking a reference, which is a full barrier, and precedes
	 * the look at the operations in every call.
	 */
	smp_store_mb(file->f_op, &handover_fops);
	if (file_count(file) > HANDOVER_FILE_REFS) {
		WRITE_ONCE(file->f_op, fops);
		return -EBUSY;
	}
	us->fops = fops;
	mpa_usock_set_phase(us, MPA_USOCK_HANDED_OVER);
	mpa_sock_tune(us->conn->sk, &us->conn->tuned);
	return 0;
}

static struct mpa_usock *handover_find(struct file *file, int *err)
{
	struct socket *sock = sock_from_file(file);
	struct mpa_usock *us;

	*err = file->f_op == &handover_fops ? -EBUSY : -ENOTSOCK;
	if (!sock)
		return NULL;
	*err = -EINVAL;
	us = mpa_usock_has_ops(sock) ? mpa_usock_of(sock->sk) : NULL;
	return us && us->phase != MPA_USOCK_LISTENER ? us : NULL;
}

/**
 * mpa_take_file - take the stream of an application's socket
 * @file: the socket, with a reference of the caller that it keeps until after
 *	mpa_give_back(). The protocol is attached, and not started.
 *
 * Process context. The stream has no owner until mpa_set_owner(), and no
 * callback is called. The socket is set up for MPA as by mpa_attach(). Bytes in
 * its receive queue stay there.
 *
 * Return: the stream, for mpa_give_back(); or an ERR_PTR(): -ENOTSOCK; -EINVAL the
 * protocol is not attached, or has been started; -ENOTCONN TCP has ended; -EBUSY
 * the file has other users, or a call is under way.
 */
struct mpa_conn *mpa_take_file(struct file *file)
{
	struct mpa_usock *us;
	int ret;

	us = handover_find(file, &ret);
	if (!us)
		return ERR_PTR(ret);
	if (!mpa_lock_within(us->conn->sk, HANDOVER_LOCK_TIME))
		return ERR_PTR(-EBUSY);
	ret = handover_mark(us, file);
	release_sock(us->conn->sk);
	return ret ? ERR_PTR(ret) : us->conn;
}
EXPORT_SYMBOL_NS_GPL(mpa_take_file, MPA_NS);

/**
 * mpa_set_owner - set the owner of a stream that was taken
 * @conn: the stream, from mpa_take_file(), under lock_sock()
 * @ops: callbacks, as for mpa_attach()
 * @priv: data of the owner, returned by mpa_priv()
 */
void mpa_set_owner(struct mpa_conn *conn, const struct mpa_ops *ops,
		   void *priv)
{
	mpa_assert_locked(conn);
	conn->ops = ops;
	WRITE_ONCE(conn->priv, priv);
}
EXPORT_SYMBOL_NS_GPL(mpa_set_owner, MPA_NS);

/**
 * mpa_stop - receive nothing more, and pass everything to TCP
 * @conn: the stream, under lock_sock(), in any state
 *
 * Process context. In full operation, bytes that have arrived and further ones
 * are dropped; &mpa_ops.ended still reports the end of TCP. Bytes that were
 * handed over for sending are passed to TCP, also beyond its send buffer.
 */
void mpa_stop(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	mpa_tx_flush_all(conn);
	if (conn->state != MPA_CONN_OPERATIONAL)
		return;
	WRITE_ONCE(conn->rx_held, false);
	conn->rx_again = false;
	conn->fpdu_due = false;
	mpa_conn_set_state(conn, MPA_CONN_RX_ENDED);
	mpa_rx_drop(conn);
	/* A FIN may have been behind what was dropped. */
	mpa_conn_kick(conn, 0);
}
EXPORT_SYMBOL_NS_GPL(mpa_stop, MPA_NS);

/* Where the application finds a stream that was in this state. */
static enum mpa_usock_phase handover_phase_after(const struct mpa_conn *conn)
{
	if (conn->known)
		return MPA_USOCK_ENDED;
	if (conn->state == MPA_CONN_ATTACHED)
		return MPA_USOCK_STREAMING;
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
 * @conn: the stream, from mpa_take_file(), in any state; no other call of the
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
	conn->ops = &mpa_usock_stream_ops;
	WRITE_ONCE(conn->priv, us);
	phase = handover_phase_after(conn);
	if (conn->started)
		us->role = conn->initiator ? MPA_ROLE_INITIATOR :
					     MPA_ROLE_RESPONDER;
	switch (phase) {
	case MPA_USOCK_STREAMING:
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
	/* Whoever uses the socket again sees its phase. */
	smp_store_release(&sk->sk_socket->file->f_op, us->fops);
	release_sock(sk);
}
EXPORT_SYMBOL_NS_GPL(mpa_give_back, MPA_NS);
