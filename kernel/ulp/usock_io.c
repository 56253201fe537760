// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending and receiving on the socket of an application: one call, one ULPDU.
 *
 * What is sent is copied from the application first, then framed and passed to
 * TCP: an application may change its memory at any time, and the CRC must match
 * what is sent. What is received and verified stays in TCP's queue until the
 * application reads it, so the window of the peer limits it.
 *
 * Under the socket's lock only memory that is present is read and written.
 * Other pages, which may take any time, are brought in without the lock, and
 * the call is repeated.
 */
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <linux/uaccess.h>
#include <net/tcp.h>

#include <asm/ioctls.h>

#include "attach.h"
#include "compat/sock_ops.h"
#include "nofault.h"
#include "rx.h"
#include "tuf_rx.h"
#include "tuf_tx.h"
#include "tx_batch.h"
#include "usock_io.h"
#include "usock_pend.h"
#include "usock_plain.h"

enum {
	/*
	 * How often pages are brought in for one call. More than once means
	 * that they were removed again at once.
	 */
	FAULT_IN_MAX	= 64,
	/* How long a ULPDU waits with packing, ms; the limit of TCP_CORK */
	PEND_MS		= 200,
};

static bool usock_uses_tuf(const struct mpa_usock *us)
{
	return us->phase == MPA_USOCK_FRAMED ||
	       us->phase == MPA_USOCK_UNCONNECTED;
}

/* ---- Sending ---- */

/* 0 if a ULPDU may be sent; -EAGAIN to wait for the peer; another error. */
static int usock_send_phase_error(const struct mpa_usock *us)
{
	switch (us->phase) {
	case MPA_USOCK_STARTUP:
		return mpa_usock_must_answer(us) ? -ENOTCONN : -EAGAIN;
	case MPA_USOCK_OPERATIONAL:
	case MPA_USOCK_ENDED:
		return 0;
	case MPA_USOCK_FAILED:
		return us->err;
	default:
		return MPA_CALL_AGAIN;
	}
}

static int usock_send_ready(struct mpa_usock *us, size_t len)
{
	int ret = usock_send_phase_error(us);

	if (ret)
		return ret;
	ret = sock_error(us->conn->sk);
	if (ret)
		return ret;
	/* Those that speak Start Keys may take only "between one and 64768". */
	if (!len && us->conn->res.start_key)
		return -EINVAL;
	ret = mpa_tx_ready(us->conn);
	if (ret)
		return ret;
	if (len > mpa_tx_mulpdu(us->conn))
		return -EMSGSIZE;
	if (mpa_pend_bytes(&us->pend) + sizeof(u16) + len <= MPA_PEND_MAX)
		return 0;
	mpa_pend_flush(us);
	if (us->conn->tx_err)
		return -EPIPE;
	return mpa_pend_bytes(&us->pend) ? -EAGAIN : 0;
}

static void usock_send_settle(struct mpa_usock *us, bool more)
{
	if (!mpa_pend_bytes(&us->pend))
		return;
	if (more || mpa_pend_must_wait(us))
		mpa_usock_kick(us, msecs_to_jiffies(PEND_MS));
	else
		mpa_pend_flush(us);
}

static int usock_send_ulpdu(struct mpa_usock *us, struct msghdr *msg,
			    size_t len)
{
	struct sock *sk = us->conn->sk;
	bool more = msg->msg_flags & (MSG_MORE | MSG_BATCH);
	int ret;

	if (msg->msg_flags & (MSG_OOB | MSG_ZEROCOPY | MPA_MSG_SPLICE))
		return -EOPNOTSUPP;
	ret = mpa_usock_wait(us, usock_send_ready, len,
			     sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT));
	if (!ret)
		ret = mpa_pend_add(&us->pend, msg, len);
	/* After an error no other ULPDU may follow. */
	if (ret != MPA_FAULT_IN && mpa_usock_is(us)->full)
		usock_send_settle(us, more && !ret);
	return ret ?: len;
}

/* Not locked. All of the memory is needed: a ULPDU is sent as a whole. */
static int usock_send_fault_in(const struct msghdr *msg, size_t len,
			       unsigned int *tries)
{
	const struct iov_iter *from = &msg->msg_iter;

	if (!user_backed_iter(from) || iov_iter_count(from) < len ||
	    ++*tries > FAULT_IN_MAX)
		return -EFAULT;
	return fault_in_iov_iter_readable(from, len) ? -EFAULT : 0;
}

/* Memory of the caller is bad: send the ULPDUs that were taken before. */
static void usock_send_give_up(struct mpa_usock *us)
{
	lock_sock(us->conn->sk);
	if (us->phase == MPA_USOCK_FRAMED)
		mpa_tuf_settle(us, false);
	else if (mpa_usock_is(us)->full)
		usock_send_settle(us, false);
	release_sock(us->conn->sk);
}

/**
 * mpa_usock_sendmsg - &proto_ops.sendmsg
 * @sock: the socket
 * @msg: as for sendmsg(2)
 * @len: bytes
 *
 * Return: @len: one ULPDU was taken, or one PDU of TUF; or the errors of mpa(7) and
 * tcp-framing(7).
 */
int mpa_usock_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	struct mpa_usock *us = mpa_usock_of(sk);
	unsigned int tries = 0;
	int ret;

	if (!us)
		return -ENOMEM;
	sock_rps_record_flow(sk);
again:
	lock_sock(sk);
	if (mpa_usock_enter_plain(us, MPA_USOCK_SEND)) {
		release_sock(sk);
		ret = mpa_usock_base_ops(sock)->sendmsg(sock, msg, len);
		mpa_usock_leave_plain(us, MPA_USOCK_SEND);
		return ret;
	}
	/* FPDUs are sent later, with others: nothing of it would hold. */
	if (msg->msg_controllen)
		ret = -EOPNOTSUPP;
	else
		ret = usock_uses_tuf(us) ? mpa_tuf_send(us, msg, len) :
					   usock_send_ulpdu(us, msg, len);
	if (ret < 0 && ret != MPA_CALL_AGAIN && ret != MPA_FAULT_IN)
		ret = sk_stream_error(sk, msg->msg_flags, ret);
	if (ret == -EAGAIN)
		us->refused = true;
	release_sock(sk);
	if (ret == MPA_FAULT_IN) {
		ret = usock_send_fault_in(msg, len, &tries) ?: MPA_CALL_AGAIN;
		if (ret == -EFAULT)
			usock_send_give_up(us);
	}
	if (ret == MPA_CALL_AGAIN)
		goto again;
	return ret;
}

/* ---- Receiving ---- */

/*
 * Framing PDUs are to be received, but the key was not set, and will not be needed:
 * nothing has arrived, and TCP has ended. Without the lock the result may be outdated.
 */
static bool usock_ended_without_key(const struct mpa_usock *us)
{
	const struct tcp_sock *tp = tcp_sk(us->conn->sk);

	if (READ_ONCE(us->phase) != MPA_USOCK_FRAMED ||
	    READ_ONCE(us->conn->tuf) ||
	    READ_ONCE(us->conn->state) != MPA_CONN_CLOSED)
		return false;
	/* A FIN counts as a byte. */
	return READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq) <= 1;
}

/*
 * Returns 1: there is a ULPDU; 0: nothing more will be received; -EAGAIN: wait.
 */
static int usock_recv_ready(struct mpa_usock *us, size_t unused)
{
	if (us->phase == MPA_USOCK_UNCONNECTED)
		return mpa_usock_connecting(us, -ENOTCONN);
	if (!mpa_usock_ours(us, MPA_USOCK_RECV))
		return MPA_CALL_AGAIN;
	if (us->conn->rx_held)
		return 1;
	if (mpa_usock_is(us)->ended || us->tuf.recv_ended)
		return us->err;
	if (usock_ended_without_key(us))
		return us->conn->tcp_err;
	return mpa_usock_must_answer(us) ? -ENOTCONN : -EAGAIN;
}

static int usock_recv_copy(struct mpa_conn *conn, struct iov_iter *to, u32 len)
{
	size_t room = iov_iter_count(to);
	int ret;

	mpa_nofault_begin();
	ret = mpa_rx_held_read(conn, to, len);
	mpa_nofault_end();
	if (ret != -EFAULT)
		return ret;
	iov_iter_revert(to, room - iov_iter_count(to));
	return MPA_FAULT_IN;
}

/* After MPA_FAULT_IN, @want is the number of bytes to bring in. */
static int usock_recv_ulpdu(struct mpa_usock *us, struct msghdr *msg,
			    size_t len,
		      int flags, size_t *want)
{
	struct mpa_conn *conn = us->conn;
	u32 ulpdu_len = mpa_rx_held_len(conn);
	u32 n = min_t(size_t, len, ulpdu_len);
	int ret = usock_recv_copy(conn, &msg->msg_iter, n);

	*want = n;
	if (ret)
		return ret;
	msg->msg_flags |= MSG_EOR;
	if (n < ulpdu_len)
		msg->msg_flags |= MSG_TRUNC;
	if (!(flags & MSG_PEEK)) {
		mpa_rx_held_done(conn);
		mpa_conn_run(conn);
	}
	return flags & MSG_TRUNC ? ulpdu_len : n;
}

/* As usock_recv_ulpdu(): nothing is cut off, a part of the unit stays for the next. */
static int usock_recv_marked(struct mpa_usock *us, struct msghdr *msg,
			     size_t len, int flags, size_t *want)
{
	struct mpa_conn *conn = us->conn;
	int ret;

	if (mpa_tuf_rx_may_grow(conn))
		mpa_conn_run(conn);
	/* Not if a sender of this machine has changed what was read before. */
	if (!conn->rx_held)
		return MPA_CALL_AGAIN;
	*want = min_t(size_t, len, conn->tuf->len);
	ret = usock_recv_copy(conn, &msg->msg_iter, *want);
	if (ret)
		return ret;
	if (conn->tuf->whole && *want == conn->tuf->len)
		msg->msg_flags |= MSG_EOR;
	if (*want && !(flags & MSG_PEEK)) {
		mpa_tuf_rx_taken(conn, *want);
		mpa_conn_run(conn);
	}
	return *want;
}

/* Not locked. The next ULPDU may be another one, which needs more memory. */
static int usock_recv_fault_in(const struct msghdr *msg, size_t len,
			       unsigned int *tries)
{
	const struct iov_iter *to = &msg->msg_iter;

	if (!user_backed_iter(to) || iov_iter_count(to) < len ||
	    ++*tries > FAULT_IN_MAX)
		return -EFAULT;
	return fault_in_iov_iter_writeable(to, len) ? -EFAULT : 0;
}

/**
 * mpa_usock_recvmsg - &proto_ops.recvmsg
 * @sock: the socket
 * @msg: as for recvmsg(2)
 * @len: room for data, bytes
 * @flags: as for recvmsg(2)
 *
 * Return: bytes of one ULPDU, with %MSG_EOR set in @msg; 0 without %MSG_EOR at
 * the end; or the errors of mpa(7).
 */
int mpa_usock_recvmsg(struct socket *sock, struct msghdr *msg, size_t len,
		      int flags)
{
	struct sock *sk = sock->sk;
	struct mpa_usock *us = mpa_usock_of(sk);
	unsigned int tries = 0;
	size_t want = 0;
	int ret;

	if (!us)
		return -ENOMEM;
	if (!(flags & MSG_ERRQUEUE))
		sock_rps_record_flow(sk);
again:
	lock_sock(sk);
	if (flags & MSG_ERRQUEUE || mpa_usock_enter_plain(us, MPA_USOCK_RECV)) {
		release_sock(sk);
		ret = mpa_usock_base_ops(sock)->recvmsg(sock, msg, len, flags);
		if (!(flags & MSG_ERRQUEUE))
			mpa_usock_leave_plain(us, MPA_USOCK_RECV);
		return ret;
	}
	ret = flags & MSG_OOB ? -EOPNOTSUPP :
		mpa_usock_wait(us, usock_recv_ready, 0,
			       sock_rcvtimeo(sk, flags & MSG_DONTWAIT));
	if (ret > 0)
		ret = us->conn->tuf && us->conn->tuf->markers ?
			usock_recv_marked(us, msg, len, flags, &want) :
			usock_recv_ulpdu(us, msg, len, flags, &want);
	release_sock(sk);
	if (ret == MPA_FAULT_IN)
		ret = usock_recv_fault_in(msg, want, &tries) ?: MPA_CALL_AGAIN;
	if (ret == MPA_CALL_AGAIN)
		goto again;
	return ret;
}

/* ---- Waiting ---- */

static bool usock_writable(struct mpa_usock *us)
{
	const struct mpa_conn *conn = us->conn;

	if (!mpa_usock_is(us)->full)
		return false;
	/* What a Responder waits for will not come: a send would fail. */
	if (READ_ONCE(conn->tx_blocked))
		return READ_ONCE(conn->state) != MPA_CONN_OPERATIONAL;
	return __sk_stream_is_writeable(conn->sk, 1);
}

static __poll_t usock_poll_out(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	/* A send would fail, not block. */
	if (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN || usock_writable(us))
		return EPOLLOUT | EPOLLWRNORM;
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	/*
	 * Pairs with the barrier in tcp_check_space(): room freed just before
	 * may not be reported.
	 */
	smp_mb__after_atomic();
	return usock_writable(us) ? EPOLLOUT | EPOLLWRNORM : 0;
}

static __poll_t usock_poll_in(const struct mpa_usock *us)
{
	if (mpa_usock_must_answer(us))
		return EPOLLIN | EPOLLRDNORM | EPOLLPRI;
	if (READ_ONCE(us->conn->rx_held) || mpa_usock_is(us)->ended)
		return EPOLLIN | EPOLLRDNORM;
	return 0;
}

static bool usock_framed_in(const struct mpa_usock *us)
{
	return READ_ONCE(us->conn->rx_held) || READ_ONCE(us->tuf.recv_ended) ||
	       usock_ended_without_key(us);
}

/* What TCP says, but for what it cannot know. */
static __poll_t usock_poll_framed(struct mpa_usock *us, struct file *file,
				  struct socket *sock,
				  struct poll_table_struct *wait)
{
	__poll_t mask = mpa_usock_base_ops(sock)->poll(file, sock, wait);

	if (mpa_usock_ours(us, MPA_USOCK_RECV)) {
		/* Urgent data cannot be received: it would be there for ever. */
		mask &= ~(EPOLLIN | EPOLLRDNORM | EPOLLPRI);
		if (usock_framed_in(us))
			mask |= EPOLLIN | EPOLLRDNORM;
	}
	if (READ_ONCE(us->tuf.emss_changed))
		mask |= EPOLLPRI;
	return mask;
}

/**
 * mpa_usock_poll - &proto_ops.poll
 * @file: file of the socket
 * @sock: the socket
 * @wait: poll table
 *
 * Return: events that are ready, see mpa(7).
 */
__poll_t mpa_usock_poll(struct file *file, struct socket *sock,
			struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	struct mpa_usock *us = mpa_usock_of(sk);
	enum mpa_usock_phase phase;
	u8 shutdown;
	__poll_t mask;

	if (us)
		mpa_usock_try_look(us);
	/* Read once: another thread may enable TUF. Pairs with mpa_usock_set_phase(). */
	phase = us ? smp_load_acquire(&us->phase) : MPA_USOCK_STREAMING;
	if (phase == MPA_USOCK_FRAMED)
		return usock_poll_framed(us, file, sock, wait);
	if (!mpa_usock_facts[phase].ours)
		return mpa_usock_base_ops(sock)->poll(file, sock, wait);
	sock_poll_wait(file, sock, wait);
	mask = usock_poll_in(us) | usock_poll_out(us);
	shutdown = READ_ONCE(sk->sk_shutdown);
	if (shutdown == SHUTDOWN_MASK || inet_sk_state_load(sk) == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shutdown & RCV_SHUTDOWN)
		mask |= EPOLLRDHUP;
	/* Pairs with smp_wmb() of TCP: the error is set before the state. */
	smp_rmb();
	if (READ_ONCE(sk->sk_err) ||
	    !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

static int usock_unread(const struct mpa_usock *us)
{
	return us->conn->rx_held ? mpa_rx_held_len(us->conn) : 0;
}

/*
 * Bytes in TCP's queue from sequence number @from on, and those not passed to
 * TCP yet.
 */
static int usock_unsent(const struct mpa_usock *us, u32 from)
{
	const struct mpa_conn *conn = us->conn;
	const struct mpa_tuf_cut *cut = &us->tuf.cut;
	u32 rest = conn->rest ? conn->rest_len - conn->rest_off : 0;

	if (cut->buf)
		rest += cut->len - cut->off;

	return tcp_sk(conn->sk)->write_seq - from + rest +
	       mpa_pend_bytes(&us->pend);
}

static int usock_ioctl_value(const struct mpa_usock *us, unsigned int cmd)
{
	const struct tcp_sock *tp = tcp_sk(us->conn->sk);

	mpa_assert_locked(us->conn);
	switch (cmd) {
	case SIOCINQ:
		return usock_unread(us);
	case SIOCOUTQ:
		return usock_unsent(us, tp->snd_una);
	default:
		return usock_unsent(us, tp->snd_nxt);
	}
}

/**
 * mpa_usock_ioctl - &proto_ops.ioctl
 * @sock: the socket
 * @cmd: what to do
 * @arg: with what
 *
 * Return: as ioctl(2). %SIOCINQ returns the length of the next ULPDU; %SIOCOUTQ
 * and %SIOCOUTQNSD include the ULPDUs that wait.
 */
int mpa_usock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	enum mpa_usock_dir dir = cmd == SIOCINQ ? MPA_USOCK_RECV :
						  MPA_USOCK_SEND;
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	int len;

	if (us)
		mpa_usock_look(us);
	if ((cmd != SIOCINQ && cmd != SIOCOUTQ && cmd != SIOCOUTQNSD) || !us ||
	    !mpa_usock_ours(us, dir) || mpa_usock_is(us)->idle)
		return mpa_usock_base_ops(sock)->ioctl(sock, cmd, arg);
	lock_sock(sock->sk);
	len = usock_ioctl_value(us, cmd);
	release_sock(sock->sk);
	return put_user(len, (int __user *)arg);
}
