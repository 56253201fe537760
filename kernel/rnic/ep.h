/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Endpoints: connections for the iWARP connection manager of the RDMA core, or
 * from sockets that applications hand over (handover.c). An endpoint has one TCP
 * socket, its MPA stream and its QP.
 *
 * Locks, outermost first:
 *
 *  1. rnic_ep.lock: serializes what may sleep: the endpoint's work, and
 *     connect, accept and reject of the core;
 *  2. the socket lock: state, stream, QP, CM identifier. Callbacks of the ULP
 *     hold it, and never take rnic_ep.lock;
 *  3. rnic_qp.lock and what nests in it; rnic_listener.lock, which protects the
 *     listener's CM identifier.
 *
 * rnic_ports_lock (port.c) is held while work that takes rnic_ep.lock is waited
 * for, so it must not be taken under that. rnic_dev.ep_lock may be taken under
 * rnic_ep.lock, but not while the socket of an endpoint is locked.
 *
 * The core BUG()s on an event that does not fit its own state. So each
 * identifier gets: as Initiator one CONNECT_REPLY, unless connect returned an
 * error; as Responder one ESTABLISHED, unless accept returned an error; and one
 * CLOSE after an ESTABLISHED or a CONNECT_REPLY without error. They are sent by
 * rnic_ep_report_reply(), rnic_ep_fall_back(), rnic_iw_accept() and
 * rnic_ep_release_refs().
 */
#ifndef MPA_RNIC_EP_H
#define MPA_RNIC_EP_H

#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <rdma/iw_cm.h>

#include "states.h"
#include "ulp/mpa.h"

struct mem_cgroup;
struct rnic_dev;
struct rnic_handover;
struct rnic_listener;
struct rnic_qp;

/* Time limits that are not settings, ms. */
enum {
	/* Initiator: TCP's handshake. */
	RNIC_CM_CONNECT_MS	= 20000,
	/* Responder: the answer of the local consumer to a Request. */
	RNIC_CM_ANSWER_MS	= 60000,
	/*
	 * The same when its listener is destroyed: the core may have dropped
	 * the event, so that no answer will come.
	 */
	RNIC_CM_ORPHAN_MS	= 10000,
	/* The peer's FIN, after it acknowledged a refusal or a Terminate. */
	RNIC_CM_CLOSE_MS	= 5000,
};

enum {
	/* Maximum of private data in an event of the core, bytes. */
	RNIC_EP_PD_MAX	= U8_MAX,
};

/* What rnic_ep.work has to do, in this order. */
enum rnic_ep_todo {
	RNIC_EP_DO_TIMEOUT,	/* the timer has expired */
	RNIC_EP_DO_ABORT,	/* the QP or the device requests an immediate end */
	RNIC_EP_DO_CLOSED,	/* the stream has ended with TCP */
	RNIC_EP_DO_FAILED,	/* the Initiator's startup has failed */
	RNIC_EP_DO_PLAIN,	/* the peer does not use MPA */
	RNIC_EP_DO_RELEASE,	/* the QP waits to be released */
	RNIC_EP_DO_TCP,		/* TCP has changed, without a stream attached */
	RNIC_EP_DO_REFUSE,	/* the core could not take the Request */
	RNIC_EP_DO_ORPHAN,	/* the listener is gone */
	RNIC_EP_DO_BOUND,	/* the QP sends its last messages */
	RNIC_EP_DO_ORDERLY,	/* the QP requests an orderly end */
	RNIC_EP_DO_COUNT
};

/* How a QP asks for the end of its stream. */
enum rnic_ep_end_how {
	RNIC_EP_END_SOON,	/* it sends its last messages: limit the time */
	RNIC_EP_END_ORDERLY,	/* FIN after what TCP holds; wait for that of the peer */
	RNIC_EP_END_RELEASE,	/* FIN likewise, but leave the rest to TCP */
	RNIC_EP_END_ABORT,	/* RST at once */
};

/**
 * struct rnic_ep_saved - callbacks of a socket that has no stream attached
 * @state_change: saved sk_state_change
 * @data_ready: saved sk_data_ready
 */
struct rnic_ep_saved {
	void (*state_change)(struct sock *sk);
	void (*data_ready)(struct sock *sk);
};

struct rnic_ep;

/**
 * struct rnic_ep_role - an Initiator or a Responder, and who waits for it
 * @responder: it is a Responder
 * @tcp: the state of TCP changed in CONNECTING; optional
 * @request: Responder: a Request has arrived, with @pd_len bytes of private data
 *	at @pd; an error refuses it. The socket lock is held.
 * @reply: Initiator: success, with @pd_len bytes of private data at @pd; an error
 *	ends the connection with a Terminate. The socket lock is held.
 * @failed: Initiator: the startup exchange failed, rnic_ep.status is the error
 * @plain: Responder: the peer does not use MPA; optional
 * @released: QP and identifier were released; optional
 * @gone: the endpoint is DEAD; optional
 *
 * Unless it says otherwise, rnic_ep.lock is held.
 */
struct rnic_ep_role {
	bool responder;
	void (*tcp)(struct rnic_ep *ep);
	int (*request)(struct rnic_ep *ep, const struct mpa_frame *req,
		       const void *pd, u32 pd_len);
	int (*reply)(struct rnic_ep *ep, const void *pd, u32 pd_len);
	void (*failed)(struct rnic_ep *ep);
	void (*plain)(struct rnic_ep *ep);
	void (*released)(struct rnic_ep *ep);
	void (*gone)(struct rnic_ep *ep);
};

/**
 * struct rnic_ep - an endpoint
 * @ref: one of the state machine until %RNIC_EP_DEAD, one of every queued work,
 *	one of the QP, short ones of users
 * @qpn: number of @qp, 0 without one; under the socket lock
 * @lock: see above
 * @dev: device; constant; not valid in %RNIC_EP_DEAD
 * @memcg: memory cgroup to charge, with a reference: that of the connecting
 *	consumer or of the listener; NULL without memory cgroups; constant
 * @sock: TCP socket; constant, released with the last reference; NULL if the user
 *	has got it, in %RNIC_EP_DEAD
 * @file: its file, with a reference, if it is the socket of an application; NULL
 *	if the kernel owns it; constant
 * @freed: completed when @file was released, or NULL; under @lock
 * @conn: MPA stream, NULL when not attached; under the socket lock; changed
 *	only with @lock held, too
 * @state: changed under the socket lock; read under @lock alone with
 *	READ_ONCE(), since callbacks may change it then
 * @request: passive: number of the Request for the core; constant
 * @role: callbacks of its role; constant
 * @qp: bound QP, with a reference; under the socket lock
 * @cm_id: the core's connection identifier, with a reference; NULL for a socket
 *	that was handed over; under the socket lock
 * @id_entry: in rnic_dev.ep_ids while @cm_id is set, under rnic_dev.ep_lock
 * @listener: passive: its listener, with a reference; constant
 * @handover: the call that hands the socket over, while it waits; under the
 *	socket lock
 * @saved: callbacks to restore; under the socket lock
 * @pd: active: private data of the Request; constant
 * @reply_pd: active: private data of a refusal; NULL if there is none; under the
 *	socket lock
 * @pd_len: active: bytes of @pd; constant
 * @status: error with which startup failed, or 0; under the socket lock, or @lock
 *	while there is no stream; read under @lock alone with READ_ONCE()
 * @config: settings at the start of the connection; constant
 * @params: parameters for the startup exchange, from @config and the consumer;
 *	active: constant; passive: @lock
 * @local: local address, IPv4 (a struct sockaddr_in) or IPv6, IPv4 never mapped
 *	to IPv6; set before the stream starts
 * @remote: peer's address, likewise
 * @plain: detaching leaves an ordinary TCP socket; @lock
 * @hooked: the callbacks of the socket are replaced; under the socket lock, like
 *	all below
 * @ird: inbound Read depth; after a refusal the one offered
 * @ord: outbound Read depth; likewise
 * @reply_pd_len: bytes of @reply_pd
 * @reply_due: the core waits for CONNECT_REPLY
 * @open: success was reported to the core, which waits for CLOSE
 * @operational: rnic_qp_operational() was called and succeeded
 * @fin_due: FIN waits for the stream to drain, or for an answer of the QP; read like
 *	@status
 * @must_close: a Terminate has ended the stream of the QP, which is released
 * @bounded: the connection is ending: @timer checks its progress, @close_by
 *	limits it
 * @snd_una: tcp_sock.snd_una at the last check of progress
 * @rcv_nxt: tcp_sock.rcv_nxt then
 * @moved_at: time of the check that last found one of them changed, jiffies
 * @close_by: end of close-timeout, jiffies
 * @deadline: when @timer is due, jiffies; an earlier expiry is ignored
 * @todo: bits of &enum rnic_ep_todo for @work; atomic
 * @work: everything that may sleep: attach, start, detach, close
 * @timer: limits CONNECTING, REQUESTED, CLOSING, LINGERING, and an ESTABLISHED
 *	that is ending
 * @free: releases the socket and the memory
 * @entry: in rnic_dev.eps, under rnic_dev.ep_lock
 * @linger_entry: in rnic_dev.lingering, likewise
 *
 * Fields are in an order that leaves no holes: there is one for each connection.
 * QPs use only @sock, @conn and the functions below.
 */
struct rnic_ep {
	struct kref ref;
	u32 qpn;
	struct mutex lock;		/* see above */
	struct rnic_dev *dev;
	struct mem_cgroup *memcg;
	struct socket *sock;
	struct file *file;
	struct completion *freed;
	struct mpa_conn *conn;
	enum rnic_ep_state state;
	unsigned long request;
	const struct rnic_ep_role *role;
	struct rnic_qp *qp;
	struct iw_cm_id *cm_id;
	struct hlist_node id_entry;
	struct rnic_listener *listener;
	struct rnic_handover *handover;
	struct rnic_ep_saved saved;
	void *pd;
	u8 *reply_pd;
	u32 pd_len;
	int status;
	struct mpa_config config;
	struct mpa_params params;
	struct sockaddr_in6 local;
	struct sockaddr_in6 remote;
	bool plain;
	bool hooked;
	u8 ird;
	u8 ord;
	u8 reply_pd_len;
	bool reply_due;
	bool open;
	bool operational;
	bool fin_due;
	bool must_close;
	bool bounded;
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

/**
 * rnic_ep_set_names() - set both addresses of an endpoint
 * @ep: the endpoint, whose stream has not started
 * @local: its own address
 * @remote: that of its peer
 */
static inline void rnic_ep_set_names(struct rnic_ep *ep,
				     const struct sockaddr_storage *local,
				     const struct sockaddr_storage *remote)
{
	memcpy(&ep->local, local, sizeof(ep->local));
	memcpy(&ep->remote, remote, sizeof(ep->remote));
}

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
void rnic_ep_end(struct rnic_ep *ep, enum rnic_ep_end_how how);
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
