// SPDX-License-Identifier: GPL-2.0-only
/* MPA on the socket of an application: its phase, and waiting. */
#include <linux/sched/signal.h>
#include <net/tcp.h>

#include "attach.h"
#include "compat/net.h"
#include "registry.h"
#include "sock.h"
#include "tx_queue.h"
#include "usock.h"

#define NEXT(phase) BIT(MPA_USOCK_##phase)

/* Properties of each phase, and the phases that may follow it. */
const struct mpa_usock_facts mpa_usock_facts[MPA_USOCK_NR_PHASES] = {
	[MPA_USOCK_STREAMING] = {
		/* For an accepted socket TCP may have ended already. */
		.next = NEXT(STARTUP) | NEXT(FAILED) | NEXT(HANDED_OVER) |
			NEXT(FRAMED),
	},
	[MPA_USOCK_LISTENER] = { .idle = true },
	[MPA_USOCK_UNCONNECTED] = {
		.idle = true,
		.next = NEXT(LISTENER) | NEXT(STREAMING),
	},
	[MPA_USOCK_FRAMED] = { .ours = true },
	[MPA_USOCK_STARTUP] = {
		.ours = true,
		.next = NEXT(STREAMING) | NEXT(OPERATIONAL) | NEXT(FAILED) |
			NEXT(REJECTED) | NEXT(PLAIN),
	},
	[MPA_USOCK_OPERATIONAL] = {
		.ours = true,
		.full = true,
		/* The Reply may request what is not possible. */
		.next = NEXT(ENDED) | NEXT(FAILED),
	},
	[MPA_USOCK_ENDED] = { .ours = true, .full = true, .ended = true },
	[MPA_USOCK_FAILED] = { .ours = true, .ended = true },
	[MPA_USOCK_REJECTED] = {},
	[MPA_USOCK_PLAIN] = {},
	[MPA_USOCK_HANDED_OVER] = {
		.ours = true,
		.next = NEXT(STREAMING) | NEXT(ENDED) | NEXT(FAILED) |
			NEXT(REJECTED),
	},
};

/**
 * mpa_usock_set_phase - move a socket to another phase
 * @us: the socket, locked
 * @phase: the new phase; a move that is not legal warns and changes nothing
 *
 * No other function changes &mpa_usock.phase after the socket was attached.
 */
void mpa_usock_set_phase(struct mpa_usock *us, enum mpa_usock_phase phase)
{
	mpa_assert_locked(us->conn);
	if (WARN_ON_ONCE(!(mpa_usock_is(us)->next & BIT(phase))))
		return;
	/* Pairs with mpa_usock_is(): what belongs to the phase is set. */
	smp_store_release(&us->phase, phase);
}

/**
 * mpa_usock_wake - wake all threads that sleep in a call or in poll(), and send SIGIO
 * @us: the socket, locked
 */
void mpa_usock_wake(struct mpa_usock *us)
{
	bool connected = us->phase == MPA_USOCK_OPERATIONAL;
	struct sock *sk = us->conn->sk;

	us->conn->saved.state_change(sk);
	/* As TCP does: POLL_OUT after connect(2), else there is something to read. */
	sk_wake_async(sk, SOCK_WAKE_IO, connected ? POLL_OUT : POLL_IN);
}

/**
 * mpa_usock_kick - queue &mpa_usock.work
 * @us: the socket, locked
 * @delay: minimum delay, jiffies; 0 overrides a longer one
 */
void mpa_usock_kick(struct mpa_usock *us, unsigned long delay)
{
	mpa_assert_locked(us->conn);
	if (us->conn->gone)
		return;
	if (delay)
		queue_delayed_work(mpa_user_wq, &us->work, delay);
	else
		mod_delayed_work(mpa_user_wq, &us->work, 0);
}

/**
 * mpa_usock_end - receiving has ended
 * @us: the socket, locked
 * @phase: %MPA_USOCK_ENDED or %MPA_USOCK_FAILED
 * @code: RFC 5044 section 8
 * @err: negative error that calls return from now on; 0 for an orderly end
 *
 * Only the first call has an effect.
 */
void mpa_usock_end(struct mpa_usock *us, enum mpa_usock_phase phase,
		   enum mpa_error code, int err)
{
	struct sock *sk = us->conn->sk;

	if (mpa_usock_is(us)->ended)
		return;
	us->code = code;
	us->err = err;
	mpa_usock_set_phase(us, phase);
	if (phase == MPA_USOCK_FAILED || code == MPA_ERROR_STARTUP) {
		/*
		 * Reported as for connect(2); nothing more is sent to the peer.
		 */
		WRITE_ONCE(sk->sk_err, -err);
		us->close_due = true;
		mpa_usock_kick(us, 0);
	}
	mpa_usock_wake(us);
}

/*
 * There was no memory for the rest of what TCP has taken a part of. The peer would wait
 * for it, and the application, whose call has succeeded, for an answer.
 */
static void usock_break(struct mpa_usock *us)
{
	struct mpa_conn *conn = us->conn;
	int err = conn->tx_err;

	if (!mpa_tx_tcp_can_send(conn->sk))
		return;
	WRITE_ONCE(conn->tcp_err, err);
	/* Either resets the connection. */
	if (conn->state == MPA_CONN_OPERATIONAL)
		mpa_stop(conn);
	else
		mpa_tx_finish(conn);
	/* It was not the peer. */
	WRITE_ONCE(conn->sk->sk_err, -err);
}

/**
 * mpa_usock_flushed - what waited was passed to TCP, or some of it
 * @us: the socket, locked
 * @ret: 0, or the negative error that has stopped it
 *
 * If only a part of an FPDU can be sent, the connection is reset.
 */
void mpa_usock_flushed(struct mpa_usock *us, int ret)
{
	struct mpa_conn *conn = us->conn;

	if (ret == -ENOMEM && !conn->tx_err) {
		/* Later &mpa_ops.writable tries again, and wakes a sender. */
		conn->want_write = true;
		mpa_conn_kick(conn, MPA_TX_RETRY_JIFFIES);
	} else if (ret && ret != -EAGAIN) {
		mpa_pend_forget(&us->pend);
		if (conn->tx_err)
			usock_break(us);
	}
}

/* The socket is plain TCP again, with the settings from before. */
static void usock_leave(struct mpa_usock *us, enum mpa_usock_phase phase)
{
	mpa_usock_set_phase(us, phase);
	mpa_sock_untune(us->conn->sk, &us->conn->tuned);
	mpa_usock_wake(us);
}

/**
 * mpa_usock_rejected - a Reply has rejected the connection
 * @us: the socket, locked
 */
void mpa_usock_rejected(struct mpa_usock *us)
{
	usock_leave(us, MPA_USOCK_REJECTED);
}

/**
 * mpa_usock_plain - the peer does not use MPA
 * @us: the socket, locked
 */
void mpa_usock_plain(struct mpa_usock *us)
{
	usock_leave(us, MPA_USOCK_PLAIN);
}

/**
 * mpa_usock_update_node - register a listener that began or stopped listening
 * @us: a listener, under lock_sock()
 *
 * It is among the listeners of its namespace while it listens and accepted
 * sockets are started automatically.
 *
 * Return: 0, or -ENOMEM.
 */
int mpa_usock_update_node(struct mpa_usock *us)
{
	const struct sock *sk = us->conn->sk;
	bool want = us->child_start && sk->sk_state == TCP_LISTEN;

	mpa_assert_locked(us->conn);
	if (want == mpa_node_listed(&us->node))
		return 0;
	if (want)
		return mpa_node_add(&us->node, sock_net(sk));
	mpa_node_remove(&us->node);
	return 0;
}

/**
 * mpa_usock_connecting - what a call returns before TCP is connected
 * @us: the socket, locked, unconnected
 * @unconnected: error if there is no connect() under way
 *
 * Return: -EAGAIN to wait; %MPA_CALL_AGAIN if TCP is connected meanwhile; else
 * @unconnected.
 */
int mpa_usock_connecting(const struct mpa_usock *us, int unconnected)
{
	const struct sock *sk = us->conn->sk;
	int err;

	if (mpa_usock_connected(sk))
		return MPA_CALL_AGAIN;
	/* Once: SO_ERROR takes it without the lock, and 0 would mean ready. */
	err = READ_ONCE(sk->sk_err);
	if (err)
		return -err;
	/* No call of MPA would make the connection. */
	if (us->tuf.mode & MPA_TUF_SEND_MODES && mpa_sk_connect_deferred(sk))
		return unconnected;
	return (1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV) ?
		-EAGAIN : unconnected;
}

/**
 * mpa_usock_wait - wait until something is ready
 * @us: the socket, under lock_sock(), which is released while sleeping
 * @ready: returns -EAGAIN to continue waiting
 * @len: argument of @ready
 * @timeo: timeout, jiffies; 0: do not wait
 *
 * Return: the result of @ready, or -EINTR or -ERESTARTSYS for a signal.
 */
int mpa_usock_wait(struct mpa_usock *us,
		   int (*ready)(struct mpa_usock *us, size_t len), size_t len,
		   long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = us->conn->sk;
	int ret;

	add_wait_queue(sk_sleep(sk), &wait);
	mpa_conn_check_disconnected(us->conn);
	while ((ret = ready(us, len)) == -EAGAIN && timeo) {
		if (signal_pending(current)) {
			ret = sock_intr_errno(timeo);
			break;
		}
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
		mpa_conn_check_disconnected(us->conn);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return ret;
}

/**
 * mpa_usock_base_ops - TCP's own operations of a socket with MPA
 * @sock: the socket, whose file is open
 *
 * Return: the operations. They are not looked up by the current ones of @sock
 * if possible, because these may change.
 */
const struct proto_ops *mpa_usock_base_ops(const struct socket *sock)
{
	const struct mpa_usock *us = mpa_usock_of(sock->sk);

	if (us)
		return us->base;
	return container_of(sock->ops, struct mpa_usock_ops_copy, ops)->base;
}
