/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections as the iWARP connection manager of the RDMA core wants them:
 * endpoints (one TCP socket, its MPA stream, its QP) and listeners.
 *
 * Locks, outermost first:
 *
 *  1. rnic_ep.lock: whatever may sleep is done to an endpoint by one at a
 *     time: its work, or the core's accept and reject;
 *  2. the socket lock: state, stream, QP, CM identifier. Call-ups of the ULP
 *     hold it, and never take rnic_ep.lock;
 *  3. rnic_qp.lock and what nests in it; rnic_listener.lock, which protects the
 *     listener's CM identifier.
 *
 * rnic_ports_lock (listen.c) and rnic_dev.ep_lock are leaves for endpoints: taken
 * under rnic_ep.lock at most, with no socket of an endpoint locked.
 *
 * The core BUG()s on an event that does not fit its own state. So each
 * identifier sees: as Initiator one CONNECT_REPLY, unless connect has returned
 * an error; as Responder one ESTABLISHED, unless accept has; and one CLOSE
 * after a CONNECT_REPLY without error or an ESTABLISHED. All come from
 * rnic_ep_report_reply(), rnic_iw_accept() and rnic_ep_release_refs().
 */
#ifndef MPA_RNIC_EP_H
#define MPA_RNIC_EP_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <rdma/iw_cm.h>

#include "states.h"
#include "ulp/mpa.h"

struct mem_cgroup;
struct rnic_dev;
struct rnic_listener;
struct rnic_qp;

/* How long things may take that are no setting, ms. */
enum {
	/* Initiator: TCP's handshake. */
	RNIC_CM_CONNECT_MS	= 20000,
	/* Responder: our consumer, with its answer to a Request. */
	RNIC_CM_ANSWER_MS	= 60000,
	/*
	 * The same once its listener is gone: the core may have dropped the
	 * event, and nobody will ever answer.
	 */
	RNIC_CM_ORPHAN_MS	= 10000,
	/* The peer's FIN, after a refusal or Terminate it has acknowledged. */
	RNIC_CM_CLOSE_MS		= 5000,
};

enum {
	/* Bytes of private data that an event of the core can carry. */
	RNIC_EP_PD_MAX	= U8_MAX,
};

/* What rnic_ep.work is to do; handled in this order. */
enum rnic_ep_todo {
	RNIC_EP_DO_TIMEOUT,	/* the timer has expired */
	RNIC_EP_DO_ABORT,	/* the QP or the device wants an end at once */
	RNIC_EP_DO_CLOSED,	/* the stream has heard the last of TCP */
	RNIC_EP_DO_FAILED,	/* the Initiator's startup has failed */
	RNIC_EP_DO_RELEASE,	/* the QP waits to be released */
	RNIC_EP_DO_TCP,		/* TCP has changed, without a stream attached */
	RNIC_EP_DO_REFUSE,	/* the core could not take the Request */
	RNIC_EP_DO_ORPHAN,	/* the listener is gone */
	RNIC_EP_DO_BOUND,	/* the QP has last things to send */
	RNIC_EP_DO_ORDERLY,	/* the QP wants an orderly end */
	RNIC_EP_DO_COUNT
};

/* How a QP asks for the end of its stream. */
enum rnic_ep_end {
	RNIC_EP_END_SOON,	/* it has last things to send: bound that */
	RNIC_EP_END_ORDERLY,	/* FIN after what TCP holds; await the peer's */
	RNIC_EP_END_RELEASE,	/* FIN likewise, but leave the rest to TCP */
	RNIC_EP_END_ABORT,	/* RST at once */
};

/**
 * struct rnic_ep_saved - callbacks of a socket that has no stream attached
 * @state_change: sk_state_change from before
 * @data_ready: sk_data_ready from before
 */
struct rnic_ep_saved {
	void (*state_change)(struct sock *sk);
	void (*data_ready)(struct sock *sk);
};

struct rnic_ep;

/**
 * struct rnic_ep_role - what endpoints of one role do in their work
 * @tcp: TCP has changed in CONNECTING; NULL: not a state of this role
 * @failed: the startup exchange has failed, rnic_ep.status says why; NULL: the role
 *	has no such case
 * @gone: the endpoint is DEAD; NULL: nothing to do
 *
 * All are called with rnic_ep.lock held.
 */
struct rnic_ep_role {
	void (*tcp)(struct rnic_ep *ep);
	void (*failed)(struct rnic_ep *ep);
	void (*gone)(struct rnic_ep *ep);
};

/**
 * struct rnic_ep - an endpoint
 * @ref: one of the state machine's until %RNIC_EP_DEAD, one of every queued
 *	work, one of the QP's pointer, short ones of users
 * @lock: see above
 * @dev: device; constant; not to be used once %RNIC_EP_DEAD
 * @memcg: memory cgroup to charge, with a reference: the connecting consumer's, or the
 *	listener's; NULL: there are none; constant
 * @sock: TCP socket; constant, released with the last reference
 * @conn: MPA stream, NULL when not attached; under the socket lock; changes
 *	only with @lock held, too
 * @state: changed under the socket lock; read under @lock alone with READ_ONCE(),
 *	since call-ups may change it then
 * @role: what differs between Initiator and Responder; constant
 * @qp: bound QP, with a reference; under the socket lock
 * @qpn: its number, 0 without one; likewise
 * @cm_id: the core's connection identifier, with a reference; under the
 *	socket lock
 * @id_entry: in rnic_dev.ep_ids while there is @cm_id, under rnic_dev.ep_lock
 * @listener: passive: where it came from, with a reference; constant
 * @request: passive: what the core knows the Request by; constant
 * @saved: callbacks to restore; under the socket lock
 * @hooked: the socket has our callbacks; under the socket lock
 * @config: settings in force when the connection began; constant
 * @params: what follows from them, and from the consumer: what we ask the peer;
 *	active: constant; passive: @lock
 * @pd: active: private data of the Request; constant
 * @pd_len: active: bytes of @pd; constant
 * @local: local address, IPv4 never mapped; set before the stream starts
 * @remote: peer's address, likewise
 * @ird: our inbound Read depth; with a refusal what the peer would have had;
 *	under the socket lock, as the rest
 * @ord: our outbound Read depth; likewise
 * @status: active: why the connection failed, a negative error; 0 so far; as
 *	@fin_due read under @lock alone with READ_ONCE()
 * @reply_due: the core waits for CONNECT_REPLY
 * @open: the core was told of success and waits for CLOSE
 * @operational: the QP has heard rnic_qp_operational()
 * @fin_due: FIN waits for the stream to drain
 * @bounded: the connection is ending: @timer looks after it, @close_by bounds it
 * @reply_pd_len: bytes of @reply_pd
 * @reply_pd: active: private data of a refusal
 * @snd_una: what the peer had acknowledged at the last look at a @bounded one
 * @rcv_nxt: what had been received from it then
 * @moved_at: when one of them was last seen to have grown, jiffies
 * @close_by: when the end must be over, jiffies
 * @deadline: when @timer is really due, jiffies; stale expiries see it
 * @todo: bits of &enum rnic_ep_todo for @work; atomic
 * @work: everything that may sleep: attach, start, detach, close
 * @timer: bounds CONNECTING, REQUESTED, CLOSING, LINGERING, and the end of
 *	ESTABLISHED
 * @free: releases the socket and the memory
 * @entry: in rnic_dev.eps, under rnic_dev.ep_lock
 * @linger_entry: in rnic_dev.lingering, likewise
 *
 * Private to who includes ep.h but for @dev, @sock, @conn, @qp and the
 * functions below.
 */
struct rnic_ep {
	struct kref ref;
	struct mutex lock;		/* see above */
	struct rnic_dev *dev;
	struct mem_cgroup *memcg;
	struct socket *sock;
	struct mpa_conn *conn;
	enum rnic_ep_state state;
	const struct rnic_ep_role *role;
	struct rnic_qp *qp;
	u32 qpn;
	struct iw_cm_id *cm_id;
	struct hlist_node id_entry;
	struct rnic_listener *listener;
	u32 request;
	struct rnic_ep_saved saved;
	bool hooked;
	struct mpa_config config;
	struct mpa_params params;
	void *pd;
	u32 pd_len;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u8 ird;
	u8 ord;
	int status;
	bool reply_due;
	bool open;
	bool operational;
	bool fin_due;
	bool bounded;
	u8 reply_pd_len;
	u8 reply_pd[RNIC_EP_PD_MAX];
	u32 snd_una;
	u32 rcv_nxt;
	unsigned long moved_at;
	unsigned long close_by;
	unsigned long deadline;
	unsigned long todo;
	struct work_struct work;
	struct delayed_work timer;
	struct work_struct free;
	struct list_head entry;
	struct list_head linger_entry;
};

static inline void rnic_ep_assert_locked(const struct rnic_ep *ep)
{
	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
}

const char *rnic_ep_state_name(enum rnic_ep_state state);
void rnic_ep_get(struct rnic_ep *ep);
void rnic_ep_put(struct rnic_ep *ep);
void rnic_ep_unuse(struct rnic_ep *ep);
void rnic_ep_set_state(struct rnic_ep *ep, enum rnic_ep_state to);
void rnic_ep_kick(struct rnic_ep *ep, enum rnic_ep_todo what);
void rnic_ep_end(struct rnic_ep *ep, enum rnic_ep_end how);
void rnic_ep_arm(struct rnic_ep *ep, unsigned int ms);
void rnic_ep_disarm(struct rnic_ep *ep);
void rnic_ep_drain(struct sock *sk);
void rnic_ep_hook(struct rnic_ep *ep, void (*data_ready)(struct sock *sk));
void rnic_ep_unhook(struct rnic_ep *ep);
void rnic_ep_detach(struct rnic_ep *ep);
void rnic_ep_reset_tcp(struct rnic_ep *ep);
void rnic_ep_know_id(struct rnic_ep *ep, const struct iw_cm_id *cm_id);
void rnic_ep_forget_id(struct rnic_ep *ep);
struct rnic_ep *rnic_ep_of_id(struct rnic_dev *dev,
			      const struct iw_cm_id *cm_id);

#endif /* MPA_RNIC_EP_H */
