/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MPA on the socket of an application: an owner of streams like any other, that
 * stands between the stream and the socket calls. Interface: uapi/linux/mpa.h.
 *
 * Calls reach us through the socket's operations, which are replaced when the
 * protocol is attached; the protocol operations below them stay TCP's. What
 * becomes of a call is decided by the socket's phase.
 *
 * Locking: the socket's lock, as in conn.h. It is held over every look at a
 * struct mpa_usock but those that poll() and inet_diag take, which are marked
 * READ_ONCE(). @work takes it in process context, or waits for it in its queue
 * (sock.h); mpa_usock_detach() waits for @work. No call holds the lock while it
 * copies to or from memory of the application that is not there.
 */
#ifndef MPA_ULP_USOCK_H
#define MPA_ULP_USOCK_H

#include <linux/mpa.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/workqueue.h>

#include "conn.h"

/**
 * enum mpa_usock_phase - where the socket of an application is in its life
 * @MPA_USOCK_STREAMING: plain TCP, not started
 * @MPA_USOCK_LISTENER: attached while listening, for good; the stream is idle, and
 *	what becomes of the socket after shutdown() stays plain TCP
 * @MPA_USOCK_STARTUP: started, the exchange is not over
 * @MPA_USOCK_OPERATIONAL: full operation
 * @MPA_USOCK_ENDED: nothing more is received; sending may go on
 * @MPA_USOCK_FAILED: the exchange came to nothing, TCP is being closed
 * @MPA_USOCK_REJECTED: by the peer's Reply or ours: plain TCP again
 * @MPA_USOCK_NR_PHASES: how many there are
 *
 * &mpa_conn.state says more of the exchange, and of TCP's end.
 */
enum mpa_usock_phase {
	MPA_USOCK_STREAMING,
	MPA_USOCK_LISTENER,
	MPA_USOCK_STARTUP,
	MPA_USOCK_OPERATIONAL,
	MPA_USOCK_ENDED,
	MPA_USOCK_FAILED,
	MPA_USOCK_REJECTED,
	MPA_USOCK_NR_PHASES,
};

/**
 * struct mpa_usock_facts - what a phase means
 * @ours: calls are ours, else TCP's own
 * @full: full operation was reached, there is a result
 * @ended: nothing more will be received, &mpa_usock.err is valid
 * @next: phases that may follow, BIT(enum mpa_usock_phase)
 */
struct mpa_usock_facts {
	bool ours;
	bool full;
	bool ended;
	u8 next;
};

/**
 * struct mpa_pend - ULPDUs taken from the application and not sent yet
 * @buf: each as its length, a u16, and its bytes; NULL at first
 * @size: bytes allocated
 * @head: where the first begins
 * @tail: where the next goes
 */
struct mpa_pend {
	u8 *buf;
	u32 size;
	u32 head;
	u32 tail;
};

/**
 * struct mpa_usock - MPA on the socket of an application
 * @conn: its stream
 * @base: the operations that the socket had; constant
 * @node: listener: where settings for accepted sockets hang; in the registry
 *	while it listens and accepted sockets start by themselves
 * @cfg: settings that were in force when it was attached; constant after that
 * @params: what this side asks
 * @phase: changed by mpa_usock_set_phase() alone, but for a listener's
 * @role: enum mpa_sock_role
 * @child_start: listener: accepted sockets start as Responder
 * @params_set: @params are the application's, else they come from @cfg
 * @packing: small ULPDUs wait for acknowledgements
 * @packing_set: likewise
 * @accept_due: @work is to accept the Request
 * @close_due: @work is to close TCP
 * @code: enum mpa_error that ended receiving, the first one
 * @err: what calls report then, negative; 0 for an orderly end
 * @nr_plain: calls that are within TCP's own operations
 * @pend: kept back for packing
 * @pd: our private data
 * @pd_len: bytes of it
 * @req: Responder: the peer's Request; zero before it came
 * @peer: the peer's private data
 * @peer_len: bytes of it
 * @last: last message of streaming mode, or NULL
 * @last_len: bytes of it
 * @work: what needs process context: sending, accepting, closing
 * @work_wait: @work waits for the lock
 * @reap: frees all this if TCP has destroyed the socket without our release
 * @rcu: delays the freeing for inet_diag
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
	u8 code;
	int err;
	unsigned int nr_plain;
	struct mpa_pend pend;
	u8 pd[MPA_PRIVATE_DATA_MAX];
	u32 pd_len;
	struct mpa_frame req;
	u8 peer[MPA_PRIVATE_DATA_MAX];
	u32 peer_len;
	u8 *last;
	u32 last_len;
	struct delayed_work work;
	struct mpa_lock_wait work_wait;
	struct work_struct reap;
	struct rcu_head rcu;
};

/**
 * mpa_usock_of - what we know of a socket
 * @sk: the socket, whose file is open, or within an RCU read side
 *
 * Return: NULL if nothing: on its way to be attached, or accepted and not adopted
 * for lack of memory. What a clone was given by its listener does not count.
 */
static inline struct mpa_usock *mpa_usock_of(const struct sock *sk)
{
	struct mpa_conn *conn = rcu_dereference_check(inet_csk(sk)->icsk_ulp_data,
						      true);

	return conn && conn->sk == sk && !conn->sock ? conn->priv : NULL;
}

extern const struct mpa_usock_facts mpa_usock_facts[MPA_USOCK_NR_PHASES];

/**
 * mpa_usock_must_answer - is the application to answer the peer's frame?
 * @us: the socket; without its lock the answer may be old
 *
 * Return: true if a Request waits that is not accepted by itself, or a Reply
 * that is reviewed.
 */
static inline bool mpa_usock_must_answer(const struct mpa_usock *us)
{
	enum mpa_conn_state state = READ_ONCE(us->conn->state);

	return state == MPA_CONN_REPLY_SEEN ||
	       (state == MPA_CONN_REQUEST_SEEN &&
		!(us->params.flags & MPA_F_AUTO_ACCEPT));
}

/**
 * mpa_usock_is - what the phase of a socket means
 * @us: the socket; without the lock it may mean something else right after
 *
 * Return: that.
 */
static inline const struct mpa_usock_facts *
mpa_usock_is(const struct mpa_usock *us)
{
	/*
	 * Pairs with mpa_usock_set_phase(): @params are constant once calls are
	 * ours.
	 */
	return &mpa_usock_facts[smp_load_acquire(&us->phase)];
}

/* What a call was waiting for is not ours to wait for any more: plain TCP. */
#define MPA_CALL_AGAIN		(-ENOTSUPP)
/* Memory of the caller has to be brought in first, without the lock. */
#define MPA_FAULT_IN		(-ENOPARAM)

/**
 * struct mpa_usock_ops_copy - operations made from others
 * @ops: ours
 * @base: what they were made from; NULL: a free place
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
void mpa_usock_rejected(struct mpa_usock *us);
int mpa_usock_update_node(struct mpa_usock *us);
bool mpa_usock_enter_plain(struct mpa_usock *us);
void mpa_usock_leave_plain(struct mpa_usock *us);
int mpa_usock_wait(struct mpa_usock *us,
		   int (*ready)(struct mpa_usock *us, size_t len), size_t len,
		   long timeo);
const struct proto_ops *mpa_usock_base_ops(const struct socket *sock);

#endif /* MPA_ULP_USOCK_H */
