// SPDX-License-Identifier: GPL-2.0-only
/*
 * The socket below a stream: see sock.h.
 */
#include <linux/list.h>
#include <linux/sched.h>
#include <net/tcp.h>

#include "compat/sock_ops.h"
#include "sock.h"

/* ---- Lock ---- */

/*
 * As lock_sock(), but called with the inner spinlock held, which is released.
 */
static void sock_take_lock(struct sock *sk)
	__releases(&sk->sk_lock.slock)
{
	sk->sk_lock.owned = 1;
	spin_unlock_bh(&sk->sk_lock.slock);
	mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
}

/* The lock was released; another user may have taken it when the work runs. */
static int sock_lock_released(wait_queue_entry_t *entry, unsigned int mode,
			      int flags, void *key)
{
	struct mpa_lock_wait *wait = container_of(entry, struct mpa_lock_wait,
						  entry);

	list_del_init(&entry->entry);
	mod_delayed_work(mpa_user_wq, wait->work, 0);
	return 0;
}

/**
 * mpa_lock_wait_init - prepare work for mpa_lock_or_defer()
 * @wait: initialized here
 * @work: the work, queued to &mpa_conn.wq
 */
void mpa_lock_wait_init(struct mpa_lock_wait *wait, struct delayed_work *work)
{
	init_waitqueue_func_entry(&wait->entry, sock_lock_released);
	INIT_LIST_HEAD(&wait->entry.entry);
	wait->work = work;
}

/**
 * mpa_lock_or_defer - lock a stream, or run the work again when it is unlocked
 * @conn: the stream
 * @wait: of the work that calls this
 *
 * Process context. Waits for the lock of a stream of the kernel. Does not wait
 * while an application holds the lock, because workers are few and shared by
 * all users: the work is queued when the lock is released, unless the stream is
 * detached by then.
 *
 * Return: true: lock_sock() is held; false: the work must return.
 */
bool mpa_lock_or_defer(struct mpa_conn *conn, struct mpa_lock_wait *wait)
{
	struct sock *sk = conn->sk;

	if (conn->sock) {
		lock_sock(sk);
		return true;
	}
	might_sleep();
	spin_lock_bh(&sk->sk_lock.slock);
	if (!sock_owned_by_user_nocheck(sk)) {
		sock_take_lock(sk);
		return true;
	}
	/*
	 * mpa_detach() sets @gone under the lock and wakes this work when it
	 * releases the lock; after that @gone is seen here.
	 */
	if (!READ_ONCE(conn->gone) && list_empty(&wait->entry.entry))
		add_wait_queue(&sk->sk_lock.wq, &wait->entry);
	spin_unlock_bh(&sk->sk_lock.slock);
	return false;
}

/**
 * mpa_lock_wait_cancel - cancel work that may run or wait for the lock
 * @conn: the stream, detached; not locked
 * @wait: of the work
 *
 * Process context.
 */
void mpa_lock_wait_cancel(struct mpa_conn *conn, struct mpa_lock_wait *wait)
{
	wait_queue_head_t *queue = &conn->sk->sk_lock.wq;

	spin_lock_irq(&queue->lock);
	list_del_init(&wait->entry.entry);
	spin_unlock_irq(&queue->lock);
	cancel_delayed_work_sync(wait->work);
}

/**
 * mpa_lock_within - lock a socket within a limited time
 * @sk: the socket
 * @timeo: limit, jiffies
 *
 * Process context; a fatal signal ends the wait.
 *
 * Return: whether lock_sock() is held.
 */
bool mpa_lock_within(struct sock *sk, long timeo)
{
	DEFINE_WAIT(wait);
	bool free;

	might_sleep();
	spin_lock_bh(&sk->sk_lock.slock);
	while (sock_owned_by_user_nocheck(sk) && timeo > 0 &&
	       !fatal_signal_pending(current)) {
		prepare_to_wait_exclusive(&sk->sk_lock.wq, &wait,
					  TASK_KILLABLE);
		spin_unlock_bh(&sk->sk_lock.slock);
		timeo = schedule_timeout(timeo);
		spin_lock_bh(&sk->sk_lock.slock);
	}
	/*
	 * If it was woken, the current holder of the lock wakes the next
	 * waiter.
	 */
	finish_wait(&sk->sk_lock.wq, &wait);
	free = !sock_owned_by_user_nocheck(sk);
	if (free)
		sock_take_lock(sk);
	else
		spin_unlock_bh(&sk->sk_lock.slock);
	return free;
}

/* ---- Settings ---- */

/*
 * The receive window must have room for the longest FPDU and as much again, or
 * each FPDU would stall. Autotuning continues from there, unless the owner
 * fixed the size. The administrator's limit for all sockets applies.
 */
static void sock_raise_rcvbuf(struct sock *sk, struct mpa_tuned *before)
{
	int most = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_rmem[2]);
	int want = 2 * 65536;
	int space;

	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK)
		return;
	for (space = want; tcp_win_from_space(sk, space) < want; space *= 2)
		if (space > S32_MAX / 4)
			return;
	space = min(space, most);
	if (space <= sk->sk_rcvbuf)
		return;
	before->rcvbuf_raised = space;
	WRITE_ONCE(sk->sk_rcvbuf, space);
	tcp_sk(sk)->window_clamp = max_t(u32, tcp_sk(sk)->window_clamp,
					 tcp_win_from_space(sk, space));
}

/* TCP's segments have the size that it would probe from. */
static void sock_end_probing(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (!icsk->icsk_mtup.enabled)
		return;
	icsk->icsk_mtup.enabled = 0;
	/* 0: not connected. */
	if (icsk->icsk_pmtu_cookie)
		icsk->icsk_sync_mss(sk, icsk->icsk_pmtu_cookie);
}

/**
 * mpa_sock_tune - change settings of a socket for MPA
 * @sk: TCP socket, under lock_sock()
 * @before: set to the previous settings
 */
void mpa_sock_tune(struct sock *sk, struct mpa_tuned *before)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	lockdep_assert(lockdep_sock_is_held(sk));
	*before = (struct mpa_tuned){
		.mtu_probing = icsk->icsk_mtup.enabled,
		.nodelay = tp->nonagle & TCP_NAGLE_OFF,
		.urg_inline = sock_flag(sk, SOCK_URGINLINE),
		.recverr = mpa_sk_recverr(sk),
		.rcvlowat = sk->sk_rcvlowat,
		.rcvbuf = sk->sk_rcvbuf,
		.window_clamp = tp->window_clamp,
	};
	/* A probe would not end at the end of an FPDU. */
	sock_end_probing(sk);
	/* Nagle would delay the last FPDU of a message. */
	tp->nonagle |= TCP_NAGLE_OFF;
	/* Soft errors would look like the end of TCP. */
	mpa_sk_set_recverr(sk, 0);
	/* With more, TCP would not report a shorter ULPDU. */
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	sock_raise_rcvbuf(sk, before);
}

/**
 * mpa_sock_keep_urgent - have TCP leave urgent data among the bytes of the stream
 * @sk: TCP socket, tuned, under lock_sock(); from now on what arrives is framed
 *
 * Otherwise the next urgent byte would make TCP remove an earlier one that was not read.
 */
void mpa_sock_keep_urgent(struct sock *sk)
{
	lockdep_assert(lockdep_sock_is_held(sk));
	sock_set_flag(sk, SOCK_URGINLINE);
}

/**
 * mpa_sock_note_setting - an application sets an option that mpa_sock_tune() overrides
 * @sk: TCP socket, under lock_sock()
 * @before: the settings before mpa_sock_tune(), or not valid yet; changed, so that
 *	mpa_sock_untune() sets the option to this value
 * @name: %TCP_NODELAY or %TCP_WINDOW_CLAMP
 * @value: the value
 */
void mpa_sock_note_setting(struct sock *sk, struct mpa_tuned *before, int name,
			   int value)
{
	lockdep_assert(lockdep_sock_is_held(sk));
	if (name == TCP_NODELAY)
		before->nodelay = value;
	else if (value)
		/* As TCP does. It takes 0 only where there is no stream. */
		before->window_clamp = max_t(int, value, SOCK_MIN_RCVBUF / 2);
}

/**
 * mpa_sock_note_rcvlowat - an application sets SO_RCVLOWAT, which mpa_sock_tune()
 * overrides
 * @sk: TCP socket, under lock_sock()
 * @before: the settings before mpa_sock_tune(); changed, so that mpa_sock_untune()
 *	sets the option to this value
 * @value: the value; TCP would not report that more than half of the receive buffer
 *	has arrived
 */
void mpa_sock_note_rcvlowat(struct sock *sk, struct mpa_tuned *before, int value)
{
	int buffer = before->rcvbuf_raised ? before->rcvbuf : sk->sk_rcvbuf;

	lockdep_assert(lockdep_sock_is_held(sk));
	before->rcvlowat = clamp(value, 1, buffer / 2);
}

/**
 * mpa_sock_untune - restore the settings of a socket
 * @sk: TCP socket, locked
 * @before: the previous settings
 *
 * A receive buffer that TCP has changed since is left alone.
 */
void mpa_sock_untune(struct sock *sk, const struct mpa_tuned *before)
{
	struct tcp_sock *tp = tcp_sk(sk);

	lockdep_assert(lockdep_sock_is_held(sk));
	inet_csk(sk)->icsk_mtup.enabled = before->mtu_probing;
	if (!before->nodelay)
		tp->nonagle &= ~TCP_NAGLE_OFF;
	if (!before->urg_inline)
		sock_reset_flag(sk, SOCK_URGINLINE);
	mpa_sk_set_recverr(sk, before->recverr);
	WRITE_ONCE(sk->sk_rcvlowat, before->rcvlowat);
	if (!before->rcvbuf_raised || sk->sk_rcvbuf != before->rcvbuf_raised)
		return;
	WRITE_ONCE(sk->sk_rcvbuf, before->rcvbuf);
	tp->window_clamp = before->window_clamp;
}
