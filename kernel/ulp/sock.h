/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The socket below a stream: functions that take its lock without waiting for
 * an application, and settings of TCP that a stream needs.
 *
 * An application can hold the lock of its socket for any time: TCP copies to
 * and from its memory under the lock, and a page of that memory may be supplied
 * by a program (userfaultfd, FUSE). So code that serves more than one user
 * never sleeps in lock_sock() on the socket of an application.
 */
#ifndef MPA_ULP_SOCK_H
#define MPA_ULP_SOCK_H

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <net/sock.h>

#include "conn.h"

void mpa_lock_wait_init(struct mpa_lock_wait *wait, struct delayed_work *work);
bool mpa_lock_or_defer(struct mpa_conn *conn, struct mpa_lock_wait *wait);
void mpa_lock_wait_cancel(struct mpa_conn *conn, struct mpa_lock_wait *wait);
bool mpa_lock_within(struct sock *sk, long timeo);
void mpa_sock_tune(struct sock *sk, struct mpa_tuned *before);
void mpa_sock_keep_urgent(struct sock *sk);
void mpa_sock_note_setting(struct sock *sk, struct mpa_tuned *before, int name,
			   int value);
void mpa_sock_note_rcvlowat(struct sock *sk, struct mpa_tuned *before, int value);
void mpa_sock_untune(struct sock *sk, const struct mpa_tuned *before);

/**
 * mpa_sock_memcg_enter - charge what is allocated now to the user of a socket
 * @sk: the socket
 *
 * For work, which runs for nobody. Process context.
 *
 * Return: for set_active_memcg() afterwards.
 */
static inline struct mem_cgroup *mpa_sock_memcg_enter(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return set_active_memcg(mem_cgroup_sockets_enabled ? sk->sk_memcg : NULL);
#else
	return NULL;
#endif
}

#endif /* MPA_ULP_SOCK_H */
