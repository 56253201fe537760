/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The socket below a stream: ways to its lock that do not wait for an
 * application, and settings of TCP that a stream needs.
 *
 * An application can hold the lock of its socket for as long as it likes: TCP
 * copies to and from its memory under it, and a page of that may be supplied by a
 * program (userfaultfd, FUSE). So what serves more than one user never sleeps in
 * lock_sock() on the socket of an application.
 */
#ifndef MPA_ULP_SOCK_H
#define MPA_ULP_SOCK_H

#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sock.h>

struct mpa_conn;

/**
 * struct mpa_lock_wait - work that waits for a socket's lock without a worker
 * @entry: in the queue of those who wait for the lock, while @work does
 * @work: what is queued when the lock is released; constant
 *
 * @entry is under that queue's lock.
 */
struct mpa_lock_wait {
	wait_queue_entry_t entry;
	struct delayed_work *work;
};

/**
 * struct mpa_tuned - settings of a socket from before mpa_sock_tune()
 * @mtu_probing: path MTU probing was on
 * @nodelay: so was TCP_NODELAY
 * @recverr: reports of soft errors: as mpa_sk_set_recverr() takes it
 * @rcvlowat: SO_RCVLOWAT, bytes
 * @rcvbuf: receive buffer, bytes
 * @rcvbuf_raised: what it was raised to; 0 if it was not
 * @window_clamp: most that may be advertised, bytes
 */
struct mpa_tuned {
	bool mtu_probing;
	bool nodelay;
	unsigned int recverr;
	int rcvlowat;
	int rcvbuf;
	int rcvbuf_raised;
	u32 window_clamp;
};

void mpa_lock_wait_init(struct mpa_lock_wait *wait, struct delayed_work *work);
bool mpa_lock_or_defer(struct mpa_conn *conn, struct mpa_lock_wait *wait);
void mpa_lock_wait_cancel(struct mpa_conn *conn, struct mpa_lock_wait *wait);
bool mpa_lock_within(struct sock *sk, long timeo);
void mpa_sock_tune(struct sock *sk, struct mpa_tuned *before);
void mpa_sock_untune(struct sock *sk, const struct mpa_tuned *before);

#endif /* MPA_ULP_SOCK_H */
