// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of an application that TCP handles, and the step from a socket that is not
 * connected to one that is.
 */
#include <net/tcp.h>

#include "attach.h"
#include "sock.h"
#include "tuf.h"
#include "usock_plain.h"

/**
 * mpa_usock_catch_up - note that TCP was connected
 * @us: the socket, under lock_sock()
 *
 * A socket that was attached before connect() needs no callback for that: every call
 * comes here first, and what has arrived before waits in TCP's queue.
 */
void mpa_usock_catch_up(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	mpa_assert_locked(us->conn);
	if (us->phase != MPA_USOCK_UNCONNECTED || !mpa_usock_connected(sk))
		return;
	/* Prevents another connect() after a non-blocking one. */
	sk->sk_socket->state = SS_CONNECTED;
	mpa_usock_set_phase(us, MPA_USOCK_STREAMING);
	mpa_conn_hook(us->conn);
	/* That of the idle phase; the stream has another now. */
	sock_put(sk);
	mpa_tuf_apply(us);
}

static bool usock_behind(const struct mpa_usock *us)
{
	return READ_ONCE(us->phase) == MPA_USOCK_UNCONNECTED &&
	       mpa_usock_connected(us->conn->sk);
}

/**
 * mpa_usock_look - mpa_usock_catch_up() for a call that takes no lock itself
 * @us: the socket, not locked
 */
void mpa_usock_look(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	if (!usock_behind(us))
		return;
	lock_sock(sk);
	mpa_usock_catch_up(us);
	release_sock(sk);
}

/**
 * mpa_usock_try_look - mpa_usock_look() that does not wait for the lock
 * @us: the socket, not locked; its file is open
 *
 * poll() may be called for another program, or by a worker of the kernel. If the
 * lock is held, a work item catches up, and wakes who waits for events.
 */
void mpa_usock_try_look(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	if (!usock_behind(us))
		return;
	if (mpa_lock_within(sk, 0)) {
		mpa_usock_catch_up(us);
		release_sock(sk);
	} else {
		queue_delayed_work(mpa_user_wq, &us->work, 0);
	}
}

/**
 * mpa_usock_enter_plain - begin a call that TCP handles
 * @us: the socket, under lock_sock()
 * @dir: the direction of the call
 *
 * Return: true if TCP handles calls: the caller calls TCP's operation without
 * the lock, and then mpa_usock_leave_plain(). Neither MPA nor TUF can start in that
 * direction meanwhile.
 */
bool mpa_usock_enter_plain(struct mpa_usock *us, enum mpa_usock_dir dir)
{
	mpa_usock_catch_up(us);
	if (mpa_usock_ours(us, dir))
		return false;
	us->nr_plain[dir]++;
	return true;
}

/**
 * mpa_usock_leave_plain - end a call that TCP handles
 * @us: the socket, not locked
 * @dir: as for mpa_usock_enter_plain()
 */
void mpa_usock_leave_plain(struct mpa_usock *us, enum mpa_usock_dir dir)
{
	lock_sock(us->conn->sk);
	us->nr_plain[dir]--;
	release_sock(us->conn->sk);
}
