// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handing bytes of a stream to TCP, and what TCP does not take at once.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat/net.h"
#include "tx_queue.h"

enum {
	/* TCP lacks memory and nothing is under way whose end would tell. */
	TX_RETRY_JIFFIES		= HZ / 50 + 1,
};

/**
 * mpa_tx_free_rest - free what TCP has not taken
 * @conn: the stream, under lock_sock() or detached
 */
void mpa_tx_free_rest(struct mpa_conn *conn)
{
	if (conn->rest_page)
		put_page(conn->rest_page);
	else
		kvfree(conn->rest);
	conn->rest_page = NULL;
	conn->rest = NULL;
}

/* All that is left lies on one fragment: it stays there. */
static bool tx_keep_page(struct mpa_conn *conn, const struct msghdr *msg)
{
	const struct iov_iter *i = &msg->msg_iter;
	const struct bio_vec *bv = i->bvec;

	if (conn->rest || !iov_iter_is_bvec(i) ||
	    iov_iter_single_seg_count(i) != iov_iter_count(i))
		return false;
	get_page(bv->bv_page);
	conn->rest_page = bv->bv_page;
	conn->rest = page_address(bv->bv_page) + bv->bv_offset + i->iov_offset;
	conn->rest_off = 0;
	conn->rest_len = iov_iter_count(i);
	return true;
}

/* Appends to what is left already, if anything is. */
static int tx_copy_rest(struct mpa_conn *conn, struct msghdr *msg)
{
	u32 before = conn->rest ? conn->rest_len - conn->rest_off : 0;
	u32 len = msg_data_left(msg);
	u8 *rest = kvmalloc(before + len, GFP_NOIO);

	if (!rest)
		return -ENOMEM;
	if (before)
		memcpy(rest, conn->rest + conn->rest_off, before);
	if (WARN_ON_ONCE(!copy_from_iter_full(rest + before, len,
					      &msg->msg_iter))) {
		kvfree(rest);
		return -EFAULT;
	}
	mpa_tx_free_rest(conn);
	conn->rest = rest;
	conn->rest_off = 0;
	conn->rest_len = before + len;
	return 0;
}

static int tx_keep_rest(struct mpa_conn *conn, struct msghdr *msg)
{
	if (tx_keep_page(conn, msg))
		return 0;
	/* An atomic batch lies on one fragment and begins with nothing left. */
	if (WARN_ON_ONCE(conn->atomic))
		return -ENOMEM;
	return tx_copy_rest(conn, msg);
}

/*
 * TCP copies into a page fragment of the task's, but for sockets that may not
 * enter file systems into one of their own: 32 KiB that an idle socket keeps.
 * The scope forbids the same, so the task's can serve the kernel's sockets too.
 * None of its users is interrupted by us: we send from work queues and from
 * system calls, never on the way of a memory allocation or a page fault.
 */
static int tx_send_task_frag(struct sock *sk, struct msghdr *msg, u32 len)
{
	gfp_t allocation = sk->sk_allocation;
	unsigned int noio = memalloc_noio_save();
	int ret;

	sk->sk_allocation = GFP_KERNEL;
	ret = tcp_sendmsg_locked(sk, msg, len);
	sk->sk_allocation = allocation;
	memalloc_noio_restore(noio);
	return ret;
}

/* TCP allocates what it needs to send pages without waiting for memory. */
static int tx_send_atomic(struct sock *sk, struct msghdr *msg)
{
	gfp_t allocation = sk->sk_allocation;
	int ret;

	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;
	ret = mpa_tcp_send_pages(sk, msg);
	sk->sk_allocation = allocation;
	return ret;
}

/* TCP gives its error to who sends. It is the application's: back with it. */
static void tx_return_error(struct sock *sk, int err)
{
	if (sk->sk_state == TCP_CLOSE && err != -EPIPE && !sk->sk_err)
		WRITE_ONCE(sk->sk_err, -err);
}

/* Hands over what TCP takes now: bytes, or a negative error that is final. */
static int tx_give(struct mpa_conn *conn, struct msghdr *msg)
{
	struct sock *sk = conn->sk;
	u32 len = msg_data_left(msg);
	int ret;

	msg->msg_flags = MSG_EOR | MSG_DONTWAIT | MSG_NOSIGNAL;
	/* It may process the backlog on its way. */
	conn->busy = true;
	if (conn->atomic)
		ret = tx_send_atomic(sk, msg);
	else if (iov_iter_is_bvec(&msg->msg_iter))
		ret = mpa_tcp_send_pages(sk, msg);
	else if (conn->sock)
		ret = tx_send_task_frag(sk, msg, len);
	else
		ret = tcp_sendmsg_locked(sk, msg, len);
	conn->busy = false;
	if (conn->again)
		mpa_conn_kick(conn, 0);
	if (ret == -EAGAIN)
		ret = 0;
	if (ret < 0) {
		conn->tx_err = ret;
		tx_return_error(sk, ret);
	} else if (ret < len && tcp_rtx_and_write_queues_empty(sk)) {
		mpa_conn_kick(conn, TX_RETRY_JIFFIES);
	}
	return ret;
}

/**
 * mpa_tx_push_msg - hand the bytes of a message to TCP, all of them
 * @conn: the stream, under lock_sock() or, with an atomic batch, locked in any
 *	way
 * @msg: the bytes
 *
 * What TCP does not take at once is kept. If something is left from before, which
 * only startup brings about, all of @msg is copied and goes behind that.
 *
 * Return: 0, or a negative error that ends the sending half.
 */
int mpa_tx_push_msg(struct mpa_conn *conn, struct msghdr *msg)
{
	u32 len = msg_data_left(msg);
	int ret;

	mpa_tx_assert_owned(conn);
	mpa_tx_flush(conn);
	if (conn->tx_err)
		return conn->tx_err;
	ret = conn->rest ? 0 : tx_give(conn, msg);
	if (ret < 0)
		return ret;
	if (ret == len)
		return 0;
	conn->stats.tx_short++;
	ret = tx_keep_rest(conn, msg);
	if (ret)
		conn->tx_err = ret;
	return ret;
}

/**
 * mpa_tx_push - hand bytes to TCP, all of them
 * @conn: the stream, under lock_sock()
 * @vec: where they are; changed
 * @nr: pieces of @vec
 * @len: bytes together
 *
 * Return: 0, or a negative error that ends the sending half.
 */
int mpa_tx_push(struct mpa_conn *conn, struct kvec *vec, unsigned int nr,
		u32 len)
{
	struct msghdr msg = {};

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, vec, nr, len);
	return mpa_tx_push_msg(conn, &msg);
}

static void tx_flush_rest(struct mpa_conn *conn)
{
	struct msghdr msg = {};
	struct kvec vec;
	int ret;

	vec.iov_base = conn->rest + conn->rest_off;
	vec.iov_len = conn->rest_len - conn->rest_off;
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, vec.iov_len);
	ret = tx_give(conn, &msg);
	if (ret > 0)
		conn->rest_off += ret;
	if (ret < 0 || conn->rest_off == conn->rest_len)
		mpa_tx_free_rest(conn);
}

/**
 * mpa_tx_flush - hand what is left from before to TCP, as far as it takes it
 * @conn: the stream, under lock_sock()
 */
void mpa_tx_flush(struct mpa_conn *conn)
{
	mpa_tx_assert_owned(conn);
	if (conn->rest)
		tx_flush_rest(conn);
}

/**
 * mpa_tx_flush_all - leave nothing behind that was handed over
 * @conn: the stream, under lock_sock(), about to be detached
 *
 * The rest of a batch may overdraw the send buffer, once: cut off in the
 * middle of an FPDU the stream would be broken.
 */
void mpa_tx_flush_all(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	int sndbuf = READ_ONCE(sk->sk_sndbuf);

	if (!conn->rest)
		return;
	WRITE_ONCE(sk->sk_sndbuf, S32_MAX / 2);
	mpa_tx_flush(conn);
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
}

/**
 * mpa_tx_tcp_can_send - is the sending half of TCP open?
 * @sk: TCP socket, locked
 *
 * Return: true if TCP takes bytes now or later.
 */
bool mpa_tx_tcp_can_send(const struct sock *sk)
{
	return !sk->sk_err && !(sk->sk_shutdown & SEND_SHUTDOWN) &&
	       (1 << sk->sk_state) &
	       (TCPF_ESTABLISHED | TCPF_SYN_RECV | TCPF_CLOSE_WAIT);
}

static void tx_call_writable(struct mpa_conn *conn)
{
	bool nested = conn->busy;

	conn->want_write = false;
	conn->busy = true;
	conn->ops->writable(conn);
	conn->busy = nested;
}

/**
 * mpa_tx_check_writable - tell the owner if sending may go on
 * @conn: the stream, locked, in any context
 */
void mpa_tx_check_writable(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	mpa_assert_locked(conn);
	if (conn->busy) {
		conn->again = true;
	} else if (conn->rest) {
		/* Wants lock_sock(). */
		mpa_conn_kick(conn, 0);
	} else if (conn->want_write && !conn->tx_blocked && conn->tx_open &&
		   mpa_tx_tcp_can_send(sk)) {
		if (__sk_stream_is_writeable(sk, 1))
			tx_call_writable(conn);
		else
			set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	}
}

/**
 * mpa_tx_unblock - an FPDU has come: a Responder may send
 * @conn: the stream, locked
 */
void mpa_tx_unblock(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	if (!conn->tx_blocked)
		return;
	WRITE_ONCE(conn->tx_blocked, false);
	tx_call_writable(conn);
}

/**
 * mpa_tx_catch_up - have TCP process what came while the socket was locked
 * @conn: the stream, under lock_sock(), with no batch open; not from within a
 *	call-up. Any call-up may follow from this
 *
 * For a sender of many batches: acknowledgements put aside meanwhile free the
 * pages that were sent, and the next are written where the cache has them still.
 */
void mpa_tx_catch_up(struct mpa_conn *conn)
{
	mpa_tx_assert_owned(conn);
	if (!WARN_ON_ONCE(conn->scratch || conn->busy))
		sk_flush_backlog(conn->sk);
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_catch_up, MPA);

/**
 * mpa_tx_drained - has TCP taken everything?
 * @conn: the stream, locked
 *
 * Return: true if nothing that was handed over is left; not that it was
 * acknowledged.
 */
bool mpa_tx_drained(const struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	return !conn->rest;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_drained, MPA);
