/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MPA on the socket of an application: an owner of streams that connects a
 * stream with socket calls. Interface: uapi/linux/mpa.h. Instead of MPA, each
 * direction may use TUF (tuf.h).
 *
 * Calls come through the operations of the socket (struct proto_ops), which are
 * replaced when the protocol is attached; the protocol operations below (struct
 * proto) remain those of TCP. The phase of the socket decides how a call is
 * handled.
 *
 * Locking: the socket's lock, as in conn.h. It protects struct mpa_usock; only
 * poll() and inet_diag read without it, with READ_ONCE(). @work takes the lock
 * in process context, or waits in its wait queue (sock.h); mpa_usock_detach()
 * waits for @work. No call holds the lock while it copies to or from memory of
 * the application that is not present.
 */
#ifndef MPA_ULP_USOCK_H
#define MPA_ULP_USOCK_H

#include <linux/mpa.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/workqueue.h>

#include "conn.h"
#include "pend.h"
#include "tuf_state.h"

/**
 * enum mpa_usock_phase - phase of the socket of an application
 * @MPA_USOCK_STREAMING: plain TCP, not started
 * @MPA_USOCK_LISTENER: attached while listening; never changes. The stream is
 *	not used, and after shutdown() the socket stays plain TCP
 * @MPA_USOCK_STARTUP: started; the startup exchange is under way
 * @MPA_USOCK_OPERATIONAL: full operation
 * @MPA_USOCK_ENDED: nothing more is received; sending may continue
 * @MPA_USOCK_FAILED: the startup exchange failed, TCP is being closed
 * @MPA_USOCK_REJECTED: rejected by a Reply of either side: plain TCP again
 * @MPA_USOCK_PLAIN: the peer does not use MPA: plain TCP
 * @MPA_USOCK_HANDED_OVER: an owner in the kernel has the stream and the only
 *	reference to the file, so there are no calls
 * @MPA_USOCK_UNCONNECTED: attached before connect() or listen(). The stream is not
 *	used; mpa_usock_catch_up() moves on when TCP is connected
 * @MPA_USOCK_FRAMED: connected; TUF is in force in one or both directions
 * @MPA_USOCK_NR_PHASES: number of phases
 *
 * &mpa_conn.state has the details of the startup exchange and of the end of
 * TCP.
 */
enum mpa_usock_phase {
	MPA_USOCK_STREAMING,
	MPA_USOCK_LISTENER,
	MPA_USOCK_STARTUP,
	MPA_USOCK_OPERATIONAL,
	MPA_USOCK_ENDED,
	MPA_USOCK_FAILED,
	MPA_USOCK_REJECTED,
	MPA_USOCK_PLAIN,
	MPA_USOCK_HANDED_OVER,
	MPA_USOCK_UNCONNECTED,
	MPA_USOCK_FRAMED,
	MPA_USOCK_NR_PHASES,
};

/* The directions of a connection. */
enum mpa_usock_dir {
	MPA_USOCK_SEND,
	MPA_USOCK_RECV,
	MPA_USOCK_NR_DIRS,
};

/**
 * struct mpa_usock_facts - properties of a phase
 * @ours: MPA handles calls, else TCP; with TUF, see mpa_usock_ours()
 * @idle: the stream is not used: it has no callbacks
 * @full: full operation was reached; there is a result
 * @ended: nothing more will be received; &mpa_usock.err is valid
 * @next: phases that may follow, BIT(enum mpa_usock_phase)
 */
struct mpa_usock_facts {
	bool ours;
	bool idle;
	bool full;
	bool ended;
	u16 next;
};

/**
 * struct mpa_usock - MPA on the socket of an application
 * @conn: its stream
 * @base: the operations that the socket had before; constant
 * @linger: SO_LINGER was set when the stream was handed over
 * @listen_id: &mpa_label.listen_id then
 * @node: listener: node for the settings of accepted sockets; in the registry
 *	while it listens and accepted sockets are started automatically
 * @cfg: settings that were in force when it was attached; constant after that
 * @params: what this side requests
 * @phase: changed only by mpa_usock_set_phase(); set directly for a listener
 * @role: enum mpa_sock_role
 * @child_start: listener: accepted sockets are started as Responder
 * @params_set: the application has set @params; else they are from @cfg
 * @packing: small ULPDUs wait for ACKs
 * @packing_set: the application has set @packing; else it is from @cfg
 * @accept_due: @work must accept the Request
 * @close_due: @work must close TCP
 * @refused: a send did not find room since SIGIO reported some
 * @code: enum mpa_error: the first reason for which receiving ended
 * @err: negative error that calls return then; 0 for an orderly end
 * @nr_plain: calls that are inside TCP's own operations, by enum mpa_usock_dir
 * @pend: ULPDUs that wait to be sent, or PDUs of TUF
 * @tuf: TUF
 * @pd: private data of this side, or NULL
 * @pd_len: bytes of it
 * @req: Responder: the peer's Request; zero before it was received
 * @peer: the peer's private data; %MPA_PRIVATE_DATA_MAX bytes from the start of the
 *	exchange on, NULL if there turned out to be none
 * @peer_len: bytes of it
 * @last: last message of streaming mode, or NULL
 * @last_len: bytes of it
 * @work: for what needs process context: sending, accepting, closing
 * @work_wait: @work waits for the lock
 * @reap: frees everything if TCP has destroyed the socket and
 *	&proto_ops.release was not called
 * @rcu: delays freeing for inet_diag
 */
struct mpa_usock {
	struct mpa_conn *conn;
	const struct proto_ops *base;
	struct mpa_node node;
	struct mpa_config cfg;
	struct mpa_sock_params params;
	enum mpa_usock_phase phase;
	u8 role;
	bool child_start;
	bool params_set;
	bool packing;
	bool packing_set;
	bool accept_due;
	bool close_due;
	bool refused;
	bool linger;
	u8 code;
	int err;
	u32 listen_id;
	unsigned int nr_plain[MPA_USOCK_NR_DIRS];
	struct mpa_pend pend;
	struct mpa_tuf tuf;
	u8 *pd;
	u32 pd_len;
	struct mpa_frame req;
	u8 *peer;
	u32 peer_len;
	u8 *last;
	u32 last_len;
	struct delayed_work work;
	struct mpa_lock_wait work_wait;
	struct work_struct reap;
	struct rcu_head rcu;
};

/**
 * mpa_usock_of - the MPA state of a socket
 * @sk: the socket; its file is open, or the caller is in an RCU read-side
 *	section
 *
 * Return: the state; NULL if there is none: the socket is being attached, or
 * was accepted and not attached for lack of memory. A pointer that a clone has
 * inherited from its listener does not count.
 */
static inline struct mpa_usock *mpa_usock_of(const struct sock *sk)
{
	struct mpa_conn *conn = rcu_dereference_check(inet_csk(sk)->icsk_ulp_data,
						      true);

	if (!conn) {
		/*
		 * Pairs with usock_set_ops(): a call that came through the
		 * operations set there finds the pointer set before them.
		 */
		smp_rmb();
		conn = rcu_dereference_check(inet_csk(sk)->icsk_ulp_data, true);
	}
	return conn && conn->sk == sk ? conn->us : NULL;
}

extern const struct mpa_usock_facts mpa_usock_facts[MPA_USOCK_NR_PHASES];

/**
 * mpa_usock_must_answer - check whether the application must answer the peer
 * @us: the socket; without its lock the result may be outdated
 *
 * Return: true if a Request waits that is not accepted automatically, or a
 * Reply that is reviewed.
 */
static inline bool mpa_usock_must_answer(const struct mpa_usock *us)
{
	enum mpa_conn_state state = READ_ONCE(us->conn->state);

	return state == MPA_CONN_REPLY_SEEN ||
	       (state == MPA_CONN_REQUEST_SEEN &&
		!(us->params.flags & MPA_F_AUTO_ACCEPT));
}

/**
 * mpa_usock_is - properties of the current phase of a socket
 * @us: the socket; without its lock the result may be outdated
 *
 * Return: the properties.
 */
static inline const struct mpa_usock_facts *
mpa_usock_is(const struct mpa_usock *us)
{
	/*
	 * Pairs with mpa_usock_set_phase(): @params are constant once MPA
	 * handles calls.
	 */
	return &mpa_usock_facts[smp_load_acquire(&us->phase)];
}

/*
 * Whether TCP is connected, or was, and what has arrived was not read. Without the lock
 * the result may be outdated.
 */
static inline bool mpa_usock_connected(const struct sock *sk)
{
	int state = inet_sk_state_load(sk);

	if (state == TCP_CLOSE)
		return !skb_queue_empty_lockless(&sk->sk_receive_queue);
	return !((1 << state) & (TCPF_LISTEN | TCPF_SYN_SENT | TCPF_SYN_RECV));
}

/**
 * mpa_usock_ours - does MPA or TUF handle the calls of a direction?
 * @us: the socket; without its lock the result may be outdated
 * @dir: the direction
 *
 * Return: true if so; false: TCP does.
 */
static inline bool mpa_usock_ours(const struct mpa_usock *us,
				  enum mpa_usock_dir dir)
{
	const u32 modes = dir == MPA_USOCK_SEND ? MPA_TUF_SEND_MODES :
						  MPA_TUF_RECV_MODES;

	switch (READ_ONCE(us->phase)) {
	case MPA_USOCK_UNCONNECTED:
	case MPA_USOCK_FRAMED:
		return READ_ONCE(us->tuf.mode) & modes;
	default:
		return mpa_usock_is(us)->ours;
	}
}

/*
 * The call must be repeated: the phase has changed, or memory was brought in.
 */
#define MPA_CALL_AGAIN		(-EOPENSTALE)

/**
 * struct mpa_usock_ops_copy - socket operations derived from others
 * @ops: the operations with MPA
 * @base: the operations they were derived from; NULL: not used yet
 */
struct mpa_usock_ops_copy {
	struct proto_ops ops;
	const struct proto_ops *base;
};

void mpa_usock_set_phase(struct mpa_usock *us, enum mpa_usock_phase phase);
void mpa_usock_wake(struct mpa_usock *us);
void mpa_usock_kick(struct mpa_usock *us, unsigned long delay);
void mpa_usock_end(struct mpa_usock *us, enum mpa_usock_phase phase,
		   enum mpa_error code, int err);
void mpa_usock_flushed(struct mpa_usock *us, int ret);
void mpa_usock_rejected(struct mpa_usock *us);
void mpa_usock_plain(struct mpa_usock *us);
int mpa_usock_update_node(struct mpa_usock *us);
int mpa_usock_connecting(const struct mpa_usock *us, int unconnected);
int mpa_usock_wait(struct mpa_usock *us,
		   int (*ready)(struct mpa_usock *us, size_t len), size_t len,
		   long timeo);
const struct proto_ops *mpa_usock_base_ops(const struct socket *sock);

#endif /* MPA_ULP_USOCK_H */
