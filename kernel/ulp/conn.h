/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stream, as the files of the ULP see it.
 *
 * Locks. There is one: the socket's. It protects everything in struct
 * mpa_conn that is not constant. TCP holds it when it calls back, as
 * bh_lock_sock() in softirq or as lock_sock() from release_sock(); whoever
 * sends holds it as lock_sock(), since tcp_sendmsg_locked() wants that. Only an
 * atomic batch, of pages that are there, goes to TCP from its own callbacks.
 *
 * Contexts in which a stream's code runs, and why each ends with
 * mpa_detach():
 * - TCP's callbacks find the stream through icsk_ulp_data, under the lock;
 *   mpa_detach() clears it and restores the callbacks, under the lock.
 * - @timer and @run take the lock, or wait for it in its queue if it is that of
 *   an application's socket, and look at @gone; mpa_detach() sets it and then
 *   waits for both to finish.
 * - The owner's own calls: the owner sees to it that none is under way.
 *
 * Call-ups never nest: what TCP reports while a call-up or a send of ours is
 * under way (@busy) is noted in @again and done afterwards, by @run if the
 * caller is not the receiving side.
 */
#ifndef MPA_ULP_CONN_H
#define MPA_ULP_CONN_H

#include <linux/rcupdate.h>
#include <linux/tcp.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "framing/fpdu.h"
#include "framing/reader.h"
#include "framing/segment.h"
#include "framing/startup.h"
#include "mpa.h"

struct mpa_scratch;

/**
 * enum mpa_conn_state - where a stream is in its life
 * @MPA_CONN_ATTACHED: nothing was asked for yet
 * @MPA_CONN_WAIT_REPLY: Initiator: the Request was sent
 * @MPA_CONN_WAIT_REQUEST: Responder: waiting for the Request
 * @MPA_CONN_REQUEST_SEEN: Responder: the owner is to answer
 * @MPA_CONN_OPERATIONAL: FPDUs go both ways
 * @MPA_CONN_RX_ENDED: what comes in is dropped, FPDUs may still go out
 * @MPA_CONN_EXITED: MPA is over, TCP is the owner's business
 * @MPA_CONN_CLOSED: nothing can come any more
 * @MPA_CONN_REPLY_SEEN: Initiator that reviews: the owner is to answer
 * @MPA_CONN_NR_STATES: how many there are
 */
enum mpa_conn_state {
	MPA_CONN_ATTACHED,
	MPA_CONN_WAIT_REPLY,
	MPA_CONN_WAIT_REQUEST,
	MPA_CONN_REQUEST_SEEN,
	MPA_CONN_OPERATIONAL,
	MPA_CONN_RX_ENDED,
	MPA_CONN_EXITED,
	MPA_CONN_CLOSED,
	MPA_CONN_REPLY_SEEN,
	MPA_CONN_NR_STATES,
};

/**
 * struct mpa_startup - what only the startup exchange needs
 * @own: Initiator: what our side asks
 * @req: the Request sent or received
 * @early: Initiator: bytes had come before the Request was sent
 * @have: bytes of the peer's frame in @buf
 * @buf: the peer's frame as far as it has come; its bytes stay in TCP's
 *	queue until it is whole
 */
struct mpa_startup {
	struct mpa_params own;
	struct mpa_frame req;
	bool early;
	u32 have;
	u8 buf[MPA_FRAME_MAX];
};

/**
 * struct mpa_saved - the socket's callbacks from before
 * @data_ready: sk_data_ready
 * @state_change: sk_state_change
 * @write_space: sk_write_space
 */
struct mpa_saved {
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
};

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

/**
 * struct mpa_conn - a stream
 * @sk: its socket, with a reference; constant
 * @wq: where @timer and @run are queued: what applications hold up does not hold
 *	up the kernel's streams; constant
 * @sock: the same, as its owner in the kernel knows it; NULL for a socket of an
 *	application; constant
 * @ops: call-ups; constant
 * @priv: the owner's; constant
 * @saved: callbacks to restore; constant
 * @res: what the startup exchange came to; constant once operational
 * @state: changed by mpa_conn_set_state() alone; read without the lock by poll() and
 *	inet_diag
 * @busy: a call-up or a send is under way
 * @again: TCP had something to tell meanwhile
 * @called: ULPDUs were called up since @ops->answer
 * @gone: detached, or the socket was destroyed under us
 * @end_reported: the end was reported to the owner: no more of @ops->ended
 * @tx_open: full operation was reached; FPDUs may be sent
 * @tx_blocked: Responder: no FPDU has come yet, so none may be sent. Read without
 *	the lock by poll().
 * @review: Initiator: a Reply that accepts waits for mpa_reply_accept() or
 *	mpa_reply_decline(); set before startup
 * @fpdu_due: Responder: @timer waits for the first FPDU
 * @rx_begun: an FPDU has come, and not too soon (RFC 5044 section 7.1.2 rule 4)
 * @want_write: the owner was told to wait for @ops->writable
 * @reader: state of the incoming half
 * @rx_ahead: bytes in the receive queue, from copied_seq on, that @reader
 *	has seen; they belong to an FPDU that is not whole, or held
 * @rx_seq: where copied_seq must be; a call of an application that was within
 *	TCP when its socket was attached may have taken bytes away
 * @rx_held: that FPDU is whole and good, and its owner will come for it; no
 *	other is looked for meanwhile, and no end is reported. Read without the
 *	lock by poll().
 * @tcp_err: TCP has ended before the peer's FIN, with this negative error; 0: it
 *	has not. Reported when everything that had arrived has been read
 * @rx_prompted: TCP has said that there is something to read, and nobody has
 *	looked yet
 * @rx_short: TCP has come to have no room for the rest of that FPDU
 * @stash: pages for its first bytes, taken out of the receive queue then; NULL if
 *	there are none
 * @stash_len: how many bytes
 * @stash_charged: bytes of sk_forward_alloc that are charged for @stash
 * @tx: state of the outgoing half
 * @plan: how the open batch is laid into segments
 * @seg_left: bytes left in the current segment of the open batch
 * @segs: segments of the open batch, the current one included
 * @scratch: the open batch; NULL if there is none
 * @atomic: the open batch was opened by mpa_tx_begin_atomic()
 * @rest: bytes that TCP did not take; NULL if there are none
 * @rest_page: where @rest lies, with a reference; NULL if it was kvmalloc()ed
 * @rest_off: bytes of @rest it took since
 * @rest_len: bytes of @rest
 * @tx_err: sending has failed with this for good; 0 if not
 * @id: number in the namespace; constant
 * @since: when it was made, jiffies; constant
 * @label: what the owner said with mpa_set_label()
 * @started: startup was begun
 * @initiator: our role in it
 * @known: full operation was reached, @res is valid
 * @up: that was told, and no end of it yet
 * @cause_known: @code and @err are set
 * @single: batches are one segment long
 * @code: enum mpa_error: the first thing that ended receiving
 * @err: the error number that went with it, positive
 * @term_sent: the first Terminate sent, as mpa_set_terminate() takes it; 0: none
 * @term_received: the first one received
 * @stats: counters
 * @startup: NULL when there is no startup exchange under way
 * @timeout: how long the peer may take in startup, jiffies
 * @first_timeout: how long to wait for its first FPDU outside of peer-to-peer mode,
 *	jiffies; 0: for ever
 * @deadline: when @timer is due, jiffies
 * @timer: bounds the startup exchange; process context
 * @run: does what must be done in process context
 * @timer_wait: @timer waits for the lock
 * @run_wait: so does @run
 * @tuned: the socket's settings from before
 * @rcu: delays the freeing for those who look at icsk_ulp_data unlocked
 *
 * All under the socket lock unless constant.
 */
struct mpa_conn {
	struct sock *sk;
	struct workqueue_struct *wq;
	struct socket *sock;
	const struct mpa_ops *ops;
	void *priv;
	struct mpa_saved saved;
	struct mpa_result res;

	enum mpa_conn_state state;
	bool busy;
	bool again;
	bool called;
	bool gone;
	bool end_reported;
	bool tx_open;
	bool tx_blocked;
	bool review;
	bool fpdu_due;
	bool rx_begun;
	bool want_write;

	struct mpa_reader reader;
	u32 rx_ahead;
	u32 rx_seq;
	bool rx_held;
	int tcp_err;
	bool rx_prompted;
	bool rx_short;
	struct sk_buff *stash;
	u32 stash_len;
	int stash_charged;

	struct mpa_tx_half tx;
	struct mpa_seg_plan plan;
	u32 seg_left;
	u32 segs;
	struct mpa_scratch *scratch;
	bool atomic;
	u8 *rest;
	struct page *rest_page;
	u32 rest_off;
	u32 rest_len;
	int tx_err;

	u32 id;
	u64 since;
	struct mpa_label label;
	bool started;
	bool initiator;
	bool known;
	bool up;
	bool cause_known;
	bool single;
	u8 code;
	int err;
	u32 term_sent;
	u32 term_received;

	struct mpa_conn_stats stats;

	struct mpa_startup *startup;
	unsigned long timeout;
	unsigned long first_timeout;
	unsigned long deadline;
	struct delayed_work timer;
	struct delayed_work run;
	struct mpa_lock_wait timer_wait;
	struct mpa_lock_wait run_wait;
	struct mpa_tuned tuned;
	struct rcu_head rcu;
};

static inline void mpa_assert_locked(const struct mpa_conn *conn)
{
	lockdep_assert(lockdep_sock_is_held(conn->sk));
}

extern struct workqueue_struct *mpa_wq;
extern struct workqueue_struct *mpa_user_wq;
/* May change at any time; either way is good for any FPDU. */
extern bool mpa_fast_path;

bool mpa_conn_set_state(struct mpa_conn *conn, enum mpa_conn_state to);
void mpa_conn_kick(struct mpa_conn *conn, unsigned long delay);

#endif /* MPA_ULP_CONN_H */
