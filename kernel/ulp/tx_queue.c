// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passing bytes of a stream to TCP, and keeping what TCP does not take at once.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat/net.h"
#include "sock.h"
#include "tx_emss.h"
#include "tx_queue.h"

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

/* If all that is left is on one fragment, it stays there. */
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

/* Appends to what was already left, if any. */
static int tx_copy_rest(struct mpa_conn *conn, struct msghdr *msg)
{
	u32 before = conn->rest ? conn->rest_len - conn->rest_off : 0;
	u32 len = msg_data_left(msg);
	struct mem_cgroup *active;
	u8 *rest;

	active = mpa_sock_memcg_enter(conn->sk);
	rest = kvmalloc(before + len, GFP_NOIO | __GFP_ACCOUNT);
	set_active_memcg(active);
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
	/* An atomic batch is on one fragment and begins with nothing left. */
	if (WARN_ON_ONCE(conn->atomic))
		return -ENOMEM;
	return tx_copy_rest(conn, msg);
}

/*
 * TCP copies into the page fragment of the task; but, in earlier releases, into one
 * of its own, 32 KiB that an idle socket keeps, if the socket may not enter file
 * systems. The NOIO scope forbids the same, so sockets of the kernel can use the
 * fragment of the task too. No user of that fragment is interrupted: this code sends
 * from work queues and system calls, never from within a memory allocation or a page
 * fault.
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

/*
 * Makes TCP allocate what it needs to send pages without sleeping. If it must copy
 * after all, since the route has changed, the fragment of the task may be in use: by
 * what a softirq has interrupted.
 */
static int tx_send_atomic(struct sock *sk, struct msghdr *msg)
{
	bool task_frag = mpa_sk_set_task_frag(sk, false);
	gfp_t allocation = sk->sk_allocation;
	int ret;

	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;
	ret = mpa_tcp_send_pages(sk, msg);
	sk->sk_allocation = allocation;
	mpa_sk_set_task_frag(sk, task_frag);
	return ret;
}

/*
 * A send takes the error off the socket. It is for the application: put it back.
 * @hidden: from tx_hide_error()
 */
static void tx_return_error(struct sock *sk, int err, int hidden)
{
	if (sk->sk_state == TCP_CLOSE && err < 0 && err != -EPIPE)
		hidden = -err;
	if (hidden && !sk->sk_err)
		WRITE_ONCE(sk->sk_err, hidden);
}

/* An error for the next call of the application does not fail this one. */
static int tx_hide_error(struct sock *sk)
{
	if (likely(!READ_ONCE(sk->sk_err)) || sk->sk_state == TCP_CLOSE)
		return 0;
	return xchg(&sk->sk_err, 0);
}

static int tx_send(const struct mpa_conn *conn, struct msghdr *msg, u32 len)
{
	struct sock *sk = conn->sk;

	if (conn->atomic)
		return tx_send_atomic(sk, msg);
	if (iov_iter_is_bvec(&msg->msg_iter))
		return mpa_tcp_send_pages(sk, msg);
	if (conn->sock)
		return tx_send_task_frag(sk, msg, len);
	return tcp_sendmsg_locked(sk, msg, len);
}

/* Passes to TCP what it takes now. Returns bytes, or a final negative error. */
static int tx_give(struct mpa_conn *conn, struct msghdr *msg)
{
	struct sock *sk = conn->sk;
	u32 len = msg_data_left(msg);
	int hidden = tx_hide_error(sk);
	int ret;

	mpa_tx_renew_route(sk);
	msg->msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL |
			 (conn->tx_stream ? 0 : MSG_EOR);
	/* The call may process the backlog. */
	conn->busy = true;
	ret = tx_send(conn, msg, len);
	if (unlikely(ret < 0) && ret != -EAGAIN && mpa_tx_tcp_can_send(sk)) {
		/* Perhaps another one that was not for this call: TCP has taken nothing. */
		if (ret != -EPIPE)
			hidden = -ret;
		ret = tx_send(conn, msg, len);
	}
	conn->busy = false;
	if (ret == -EAGAIN)
		ret = 0;
	if (ret < 0)
		conn->tx_err = ret;
	tx_return_error(sk, ret, hidden);
	/* There is no memory: TCP calls back at once, and would again. */
	if (ret >= 0 && ret < len && tcp_rtx_and_write_queues_empty(sk))
		mpa_conn_kick(conn, MPA_TX_RETRY_JIFFIES);
	else if (conn->again)
		mpa_conn_kick(conn, 0);
	return ret;
}

/**
 * mpa_tx_push_msg - pass all bytes of a message to TCP
 * @conn: the stream, under lock_sock() or, with an atomic batch, locked in any
 *	way
 * @msg: the bytes
 *
 * What TCP does not take at once is kept. If bytes are left from before, which
 * only startup can cause, all of @msg is copied and appended to them.
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
 * mpa_tx_push - pass bytes to TCP, all of them
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
 * mpa_tx_flush - pass what is left from before to TCP, as far as TCP takes it
 * @conn: the stream, under lock_sock()
 */
void mpa_tx_flush(struct mpa_conn *conn)
{
	mpa_tx_assert_owned(conn);
	if (conn->rest)
		tx_flush_rest(conn);
}

/**
 * mpa_tx_lift_limits - have TCP take all that is passed to it
 * @sk: TCP socket, under lock_sock()
 * @old: set to its limits, for mpa_tx_restore_limits() before it is unlocked
 */
void mpa_tx_lift_limits(struct sock *sk, struct mpa_tx_limits *old)
{
	old->sndbuf = READ_ONCE(sk->sk_sndbuf);
	old->notsent_lowat = READ_ONCE(tcp_sk(sk)->notsent_lowat);
	WRITE_ONCE(sk->sk_sndbuf, S32_MAX / 2);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, U32_MAX);
}

/**
 * mpa_tx_restore_limits - undo mpa_tx_lift_limits()
 * @sk: TCP socket, under lock_sock()
 * @old: its limits
 */
void mpa_tx_restore_limits(struct sock *sk, const struct mpa_tx_limits *old)
{
	WRITE_ONCE(sk->sk_sndbuf, old->sndbuf);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, old->notsent_lowat);
}

/**
 * mpa_tx_finish - pass everything that is left to TCP, or reset the connection
 * @conn: the stream, under lock_sock(), about to end
 *
 * The rest of a batch may exceed the send buffer once. If TCP has no memory for
 * it, the peer must not take the FIN that follows for the end of a complete
 * stream.
 */
void mpa_tx_finish(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	struct mpa_tx_limits limits;

	mpa_tx_assert_owned(conn);
	if (conn->rest) {
		mpa_tx_lift_limits(sk, &limits);
		mpa_tx_flush(conn);
		mpa_tx_restore_limits(sk, &limits);
	}
	if ((conn->rest || conn->tx_err) && mpa_tx_tcp_can_send(sk))
		sk->sk_prot->disconnect(sk, 0);
}

/**
 * mpa_tx_tcp_can_send - is the sending half of TCP open?
 * @sk: TCP socket, locked
 *
 * An error of the socket does not end TCP: recvmmsg(2) leaves one for the next call.
 *
 * Return: true if TCP takes bytes now or later.
 */
bool mpa_tx_tcp_can_send(const struct sock *sk)
{
	return !(sk->sk_shutdown & SEND_SHUTDOWN) &&
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
 * mpa_tx_check_writable - notify the owner if sending may continue
 * @conn: the stream, locked, in any context
 */
void mpa_tx_check_writable(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	mpa_assert_locked(conn);
	if (conn->busy) {
		conn->again = true;
	} else if (conn->rest) {
		/* Needs lock_sock(). */
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
 * mpa_tx_unblock - an FPDU was received: a Responder may send
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
 * mpa_tx_catch_up - let TCP process its backlog
 * @conn: the stream, under lock_sock(), with no batch open; not from within a
 *	callback. Any callback may run in this function
 *
 * For a sender of many batches: ACKs in the backlog free the pages that were
 * sent, and the next batches are written to pages that are still in the cache.
 */
void mpa_tx_catch_up(struct mpa_conn *conn)
{
	mpa_tx_assert_owned(conn);
	if (!WARN_ON_ONCE(conn->scratch || conn->busy))
		sk_flush_backlog(conn->sk);
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_catch_up, MPA_NS);

/**
 * mpa_tx_drained - check whether TCP has taken everything
 * @conn: the stream, locked
 *
 * Return: true if nothing is left; the bytes need not be acknowledged yet.
 */
bool mpa_tx_drained(const struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	return !conn->rest;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_drained, MPA_NS);
