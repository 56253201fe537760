// SPDX-License-Identifier: GPL-2.0-only
/* A stream: its state, and what its owner can query. */
#include <net/tcp.h>

#include "conn.h"
#include "trace.h"

/* Workqueues for the sockets of the kernel and for those of applications. */
struct workqueue_struct *mpa_wq;
struct workqueue_struct *mpa_user_wq;

/* Switched off only to look for a bug, or by tests. */
bool mpa_fast_path = true;

#define MOVE(to) BIT(MPA_CONN_##to)

static const u16 conn_moves[MPA_CONN_NR_STATES] = {
	/* A framing without startup begins at once. */
	[MPA_CONN_ATTACHED]	= MOVE(WAIT_REPLY) | MOVE(WAIT_REQUEST) |
				  MOVE(OPERATIONAL) | MOVE(EXITED) |
				  MOVE(CLOSED),
	[MPA_CONN_WAIT_REPLY]	= MOVE(REPLY_SEEN) | MOVE(OPERATIONAL) |
				  MOVE(EXITED),
	[MPA_CONN_WAIT_REQUEST]	= MOVE(REQUEST_SEEN) | MOVE(EXITED) |
				  MOVE(CLOSED),
	[MPA_CONN_REQUEST_SEEN]	= MOVE(OPERATIONAL) | MOVE(EXITED) |
				  MOVE(CLOSED),
	[MPA_CONN_OPERATIONAL]	= MOVE(RX_ENDED) | MOVE(EXITED) | MOVE(CLOSED),
	[MPA_CONN_RX_ENDED]	= MOVE(CLOSED),
	[MPA_CONN_EXITED]	= 0,
	/*
	 * If the FIN came before the start, and the peer may be plain TCP, or what
	 * is in the queue is framed.
	 */
	[MPA_CONN_CLOSED]	= MOVE(WAIT_REQUEST) | MOVE(OPERATIONAL),
	[MPA_CONN_REPLY_SEEN]	= MOVE(OPERATIONAL) | MOVE(EXITED) |
				  MOVE(CLOSED),
};

/**
 * mpa_conn_set_state - move a stream to another state
 * @conn: the stream, locked
 * @to: the new state
 *
 * Return: whether the move is legal; an illegal one is traced and not made.
 */
bool mpa_conn_set_state(struct mpa_conn *conn, enum mpa_conn_state to)
{
	bool legal = conn_moves[conn->state] & BIT(to) &&
		     (conn->state != MPA_CONN_CLOSED || conn->plain ||
		      conn->tuf);

	mpa_assert_locked(conn);
	trace_mpa_state(conn, to, legal);
	if (WARN_ON_ONCE(!legal))
		return false;
	/*
	 * poll() and inet_diag read it without the lock. Pairs with
	 * opt_has_result().
	 */
	smp_store_release(&conn->state, to);
	return true;
}

/**
 * mpa_conn_kick - queue the work that looks at everything in process context
 * @conn: the stream, locked
 * @delay: minimum delay, jiffies
 */
void mpa_conn_kick(struct mpa_conn *conn, unsigned long delay)
{
	mpa_assert_locked(conn);
	if (conn->gone)
		return;
	if (delay)
		queue_delayed_work(conn->wq, &conn->run, delay);
	else
		mod_delayed_work(conn->wq, &conn->run, 0);
}

/**
 * mpa_priv - return the owner's data
 * @conn: the stream
 *
 * Any context.
 *
 * Return: @priv of mpa_attach().
 */
void *mpa_priv(const struct mpa_conn *conn)
{
	return conn->priv;
}
EXPORT_SYMBOL_NS_GPL(mpa_priv, MPA_NS);

/**
 * mpa_socket - return the socket that a stream was attached to
 * @conn: the stream
 *
 * Any context.
 *
 * Return: @sock of mpa_attach(), or the socket that mpa_take_fd() took.
 */
struct socket *mpa_socket(const struct mpa_conn *conn)
{
	return conn->us ? conn->sk->sk_socket : conn->sock;
}
EXPORT_SYMBOL_NS_GPL(mpa_socket, MPA_NS);

/**
 * mpa_conn_stats - read a stream's counters
 * @conn: the stream; without the lock the numbers may be inconsistent
 * @st: set to the counters
 */
void mpa_conn_stats(const struct mpa_conn *conn, struct mpa_conn_stats *st)
{
	/*
	 * Without the lock, each number is right by itself; on a 32-bit machine it
	 * may be wrong by 2^32 at the moment it passes a multiple of that.
	 */
	data_race(*st = conn->stats);
}
EXPORT_SYMBOL_NS_GPL(mpa_conn_stats, MPA_NS);
