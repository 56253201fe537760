/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Passing bytes of a stream to TCP, and keeping what TCP does not take at once.
 */
#ifndef MPA_ULP_TX_QUEUE_H
#define MPA_ULP_TX_QUEUE_H

#include "conn.h"

enum {
	/* There is no memory, and nothing in flight will trigger a callback. */
	MPA_TX_RETRY_JIFFIES		= HZ / 50 + 1,
};

/**
 * struct mpa_tx_limits - what limits the bytes that TCP takes
 * @sndbuf: sock.sk_sndbuf
 * @notsent_lowat: tcp_sock.notsent_lowat, 0: that of the namespace
 */
struct mpa_tx_limits {
	int sndbuf;
	u32 notsent_lowat;
};

static inline void mpa_tx_assert_owned(const struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	/* bh_lock_sock() is not enough: tcp_sendmsg_locked() may sleep. */
	WARN_ON_ONCE(!conn->atomic &&
		     !sock_owned_by_user_nocheck(conn->sk));
}

int mpa_tx_push_msg(struct mpa_conn *conn, struct msghdr *msg);
int mpa_tx_push(struct mpa_conn *conn, struct kvec *vec, unsigned int nr,
		u32 len);
void mpa_tx_flush(struct mpa_conn *conn);
void mpa_tx_finish(struct mpa_conn *conn);
void mpa_tx_lift_limits(struct sock *sk, struct mpa_tx_limits *old);
void mpa_tx_restore_limits(struct sock *sk, const struct mpa_tx_limits *old);
void mpa_tx_free_rest(struct mpa_conn *conn);
bool mpa_tx_tcp_can_send(const struct sock *sk);
void mpa_tx_check_writable(struct mpa_conn *conn);
void mpa_tx_unblock(struct mpa_conn *conn);

#endif /* MPA_ULP_TX_QUEUE_H */
