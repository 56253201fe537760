/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stream: the state that the files of the ULP share.
 *
 * Locking. There is one lock: the socket's. It protects everything in struct
 * mpa_conn that is not constant. TCP holds it when it calls back, as
 * bh_lock_sock() in softirq or as lock_sock() from release_sock(). Senders hold
 * it as lock_sock(), because tcp_sendmsg_locked() requires that. Only an atomic
 * batch, which consists of pages that are present, is passed to TCP from TCP's
 * own callbacks.
 *
 * Contexts in which the code of a stream runs, and why none is left after
 * mpa_detach():
 * - TCP's callbacks find the stream through icsk_ulp_data, under the lock;
 *   mpa_detach() clears it and restores the callbacks, under the lock. The core
 *   may call sk_error_report(), and sk_data_ready() of a listener, without it:
 *   these find the stream by RCU, and only call what was there before.
 * - @timer and @run take the lock, or on an application's socket wait in the
 *   queue of the lock, and check @gone; mpa_detach() sets it and then waits for
 *   both to finish.
 * - Calls of the owner: the owner makes sure that none is under way.
 *
 * Callbacks never nest: what TCP reports while a callback or a send of this
 * module is under way (@busy) is noted in @again and handled afterwards, by
 * @run if the caller is not the receiving side.
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

struct mpa_early_hook;
struct mpa_scratch;
struct mpa_tuf_reader;
struct mpa_usock;

/**
 * enum mpa_conn_state - state of a stream
 * @MPA_CONN_ATTACHED: not started
 * @MPA_CONN_WAIT_REPLY: Initiator: the Request was sent
 * @MPA_CONN_WAIT_REQUEST: Responder: waiting for the Request
 * @MPA_CONN_REQUEST_SEEN: Responder: waiting for the owner's answer
 * @MPA_CONN_OPERATIONAL: full operation: FPDUs are sent and received
 * @MPA_CONN_RX_ENDED: received bytes are dropped; FPDUs may still be sent
 * @MPA_CONN_EXITED: MPA has ended and leaves TCP to the owner
 * @MPA_CONN_CLOSED: nothing more can be received
 * @MPA_CONN_REPLY_SEEN: Initiator that reviews the Reply: waiting for the owner
 * @MPA_CONN_NR_STATES: number of states
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
 * struct mpa_startup - state that only the startup exchange needs
 * @exchange: its functions; a Responder that takes several kinds has those of
 *	frames until it knows better
 * @own: Initiator: what this side requests
 * @req: the Request sent or received
 * @early: Initiator: bytes were received before the Request was sent
 * @have: bytes of the peer's frame in @buf
 * @buf: what has arrived of the peer's frame; its bytes stay in TCP's queue
 *	until the frame is complete
 */
struct mpa_startup {
	const struct mpa_exchange *exchange;
	struct mpa_params own;
	struct mpa_frame req;
	bool early;
	u32 have;
	u8 buf[MPA_FRAME_MAX];
};

/**
 * struct mpa_saved - the callbacks that the socket had before
 * @data_ready: sk_data_ready
 * @state_change: sk_state_change
 * @write_space: sk_write_space
 * @error_report: sk_error_report
 */
struct mpa_saved {
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);
};

/**
 * struct mpa_lock_wait - work that waits for a socket's lock without a worker
 * @entry: in the wait queue of the lock while @work waits
 * @work: queued when the lock is released; constant
 *
 * @entry is protected by the lock of that wait queue.
 */
struct mpa_lock_wait {
	wait_queue_entry_t entry;
	struct delayed_work *work;
};

/**
 * struct mpa_tuned - settings of a socket before mpa_sock_tune()
 * @mtu_probing: path MTU probing was on
 * @nodelay: TCP_NODELAY was set
 * @urg_inline: SO_OOBINLINE was set
 * @recverr: reports of soft errors, as for mpa_sk_set_recverr()
 * @rcvlowat: SO_RCVLOWAT, bytes
 * @rcvbuf: receive buffer, bytes
 * @rcvbuf_raised: size that it was raised to, bytes; 0 if it was not
 * @window_clamp: largest window that may be advertised, bytes
 */
struct mpa_tuned {
	bool mtu_probing;
	bool nodelay;
	bool urg_inline;
	unsigned int recverr;
	int rcvlowat;
	int rcvbuf;
	int rcvbuf_raised;
	u32 window_clamp;
};

/**
 * struct mpa_conn - a stream
 * @sk: its socket, with a reference; constant
 * @wq: workqueue of @timer and @run; applications have one of their own, so
 *	that they cannot delay the streams of the kernel; constant
 * @sock: the same socket as its owner in the kernel knows it; NULL for a socket
 *	of an application; constant
 * @us: MPA on the socket of an application; NULL for a socket of the kernel;
 *	constant
 * @ops: callbacks of the owner; constant, unless an application hands its
 *	socket to an owner in the kernel
 * @priv: data of the owner; likewise
 * @saved: callbacks to restore; constant
 * @res: result of the startup exchange; constant once operational
 * @state: changed only by mpa_conn_set_state(); read without the lock by poll()
 *	and inet_diag
 * @busy: a callback or a send is under way
 * @again: TCP called back meanwhile
 * @called: ULPDUs were passed to the owner since @ops->answer
 * @hooked: the callbacks are installed, or were
 * @gone: detached, or TCP has destroyed the socket
 * @tcp_closed: TCP has reported that it is closed; set and read without the lock
 * @end_reported: the end was reported to the owner: @ops->ended is not called
 *	any more
 * @tx_open: full operation was reached; FPDUs may be sent
 * @tx_stream: what is sent has no boundaries that segments should keep
 * @tx_blocked: Responder: no FPDU was received yet, so none may be sent. Read
 *	without the lock by poll().
 * @review: Initiator: a Reply that accepts waits for mpa_reply_accept() or
 *	mpa_reply_decline(); set before startup
 * @plain: Responder: a peer that begins with no startup exchange is left to
 *	@ops->plain; set before startup
 * @start_with: enum mpa_config_startup; set before startup
 * @fpdu_due: Responder: @timer waits for the first FPDU
 * @rx_begun: an FPDU was received, and not too early (RFC 5044 section 7.1.2
 *	rule 4)
 * @rx_parted: a segment has ended within the current framing PDU of TUF
 * @want_write: the owner waits for @ops->writable
 * @reader: state of the incoming half
 * @tuf: that of TUF, which is received instead of FPDUs; NULL: it is not
 * @rx_ahead: bytes in the receive queue, from copied_seq on, that @reader has
 *	read; they belong to an FPDU that is not complete, or held
 * @rx_seq: value that copied_seq must have; a call of an application that was
 *	inside TCP when its socket was attached may have taken bytes from the
 *	queue
 * @rx_held: that FPDU is complete and valid, and its owner will read it later;
 *	no other is read meanwhile, and no end is reported. Read without the
 *	lock by poll().
 * @rx_again: it is passed to its owner, one in the kernel, again
 * @rx_left_at: @rx_again: when it was passed first, jiffies
 * @tcp_err: negative error with which TCP ended before the peer's FIN; 0 if it
 *	did not. Reported when everything that had arrived was read
 * @rx_prompted: TCP reported data, which were not looked at yet
 * @rx_short: TCP ran out of room for the rest of that FPDU
 * @stash: pages with its first bytes, which were moved there from the receive
 *	queue; NULL if there are none
 * @stash_len: bytes in @stash
 * @stash_charged: bytes of sk_forward_alloc that are charged for @stash
 * @early: for FPDUs that arrive before the bytes ahead of them; NULL: not wanted
 * @tx: state of the outgoing half
 * @plan: how the open batch is divided into segments
 * @seg_left: bytes left in the current segment of the open batch
 * @segs: segments of the open batch, the current one included
 * @scratch: the open batch; NULL if there is none
 * @atomic: the open batch was opened by mpa_tx_begin_atomic()
 * @rest: bytes that TCP did not take; NULL if there are none
 * @rest_page: page that contains @rest, with a reference; NULL if @rest is
 *	memory from kvmalloc()
 * @rest_off: bytes of @rest that TCP has taken since
 * @rest_len: length of @rest, bytes
 * @tx_err: negative error that ended sending; 0 if there was none
 * @id: number in the network namespace; constant
 * @since: when it was created, jiffies; constant
 * @label: set by the owner with mpa_attach(), mpa_set_owner(), mpa_set_label()
 * @started: startup was begun
 * @initiator: this side is the Initiator
 * @known: full operation was reached, @res is valid
 * @up: that was reported, and its end was not yet
 * @cause_known: @code and @err are set
 * @single: batches are one segment long
 * @lone: and one FPDU; only with @single
 * @code: enum mpa_error: the first reason for which receiving ended
 * @err: error number for it, positive
 * @term_sent: first Terminate sent, as for mpa_set_terminate(); 0: none
 * @term_received: first Terminate received
 * @stats: counters
 * @startup: NULL when there is no startup exchange under way
 * @timeout: how long the peer may take in startup, jiffies
 * @first_timeout: how long to wait for its first FPDU if not in peer-to-peer
 *	mode, jiffies; 0: no limit
 * @deadline: when @timer is due, jiffies
 * @timer: limits the startup exchange; process context
 * @run: for what needs process context
 * @timer_wait: @timer waits for the lock
 * @run_wait: @run waits for the lock
 * @tuned: settings that the socket had before
 * @zerocopy: the socket could send without a copy by io_uring before; constant
 * @rcu: delays freeing for readers of icsk_ulp_data that do not hold the lock
 *
 * All members are under the socket lock unless constant.
 */
struct mpa_conn {
	struct sock *sk;
	struct workqueue_struct *wq;
	struct socket *sock;
	struct mpa_usock *us;
	const struct mpa_ops *ops;
	void *priv;
	struct mpa_saved saved;
	struct mpa_result res;

	enum mpa_conn_state state;
	bool busy;
	bool again;
	bool called;
	bool hooked;
	bool gone;
	bool tcp_closed;
	bool end_reported;
	bool tx_open;
	bool tx_stream;
	bool tx_blocked;
	bool review;
	bool plain;
	u8 start_with;
	bool fpdu_due;
	bool rx_begun;
	bool rx_parted;
	bool want_write;

	struct mpa_reader reader;
	struct mpa_tuf_reader *tuf;
	u32 rx_ahead;
	u32 rx_seq;
	bool rx_held;
	bool rx_again;
	unsigned long rx_left_at;
	int tcp_err;
	bool rx_prompted;
	bool rx_short;
	struct sk_buff *stash;
	u32 stash_len;
	int stash_charged;
	struct mpa_early_hook *early;

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
	bool lone;
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
	bool zerocopy;
	struct rcu_head rcu;
};

static inline void mpa_assert_locked(const struct mpa_conn *conn)
{
	lockdep_assert(lockdep_sock_is_held(conn->sk));
}

/* Whether the owner is a module of the kernel, not an application. */
static inline bool mpa_conn_owner_is_kernel(const struct mpa_conn *conn)
{
	return !conn->us || READ_ONCE(conn->priv) != conn->us;
}

/* Whether TCP has ended. A socket that it has disconnected may listen by now. */
static inline bool mpa_conn_tcp_closed(const struct mpa_conn *conn)
{
	return conn->sk->sk_state == TCP_CLOSE || READ_ONCE(conn->tcp_closed);
}

/* Whether someone else has taken bytes of the stream from TCP's queue. */
static inline bool mpa_rx_copied_seq_moved(const struct mpa_conn *conn)
{
	return tcp_sk(conn->sk)->copied_seq != conn->rx_seq;
}

/* Returns bytes that were read to TCP. An urgent one among them is not urgent any more. */
static inline void mpa_rx_release(struct mpa_conn *conn, u32 len)
{
	struct tcp_sock *tp = tcp_sk(conn->sk);

	tcp_read_done(conn->sk, len);
	conn->rx_seq = tp->copied_seq;
	if (unlikely(tp->urg_data) && after(tp->copied_seq, tp->urg_seq))
		WRITE_ONCE(tp->urg_data, 0);
}

extern struct workqueue_struct *mpa_wq;
extern struct workqueue_struct *mpa_user_wq;
/* May change at any time: both values are correct for every FPDU. */
extern bool mpa_fast_path;

bool mpa_conn_set_state(struct mpa_conn *conn, enum mpa_conn_state to);
void mpa_conn_kick(struct mpa_conn *conn, unsigned long delay);

#endif /* MPA_ULP_CONN_H */
