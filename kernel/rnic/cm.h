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
 * rnic_ep_announce(), rnic_iw_accept() and rnic_ep_release_refs().
 */
#ifndef MPA_RNIC_CM_H
#define MPA_RNIC_CM_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "states.h"
#include "ulp/mpa.h"

struct mem_cgroup;
struct rnic_dev;
struct rnic_listener;
struct rnic_qp;

enum {
	/* Bytes of private data that an event of the core can carry. */
	RNIC_EP_PD_MAX	= U8_MAX,
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

void rnic_ep_get(struct rnic_ep *ep);
void rnic_ep_put(struct rnic_ep *ep);

/* How a QP asks for the end of its stream. */
enum rnic_ep_end {
	RNIC_EP_END_SOON,	/* it has last things to send: bound that */
	RNIC_EP_END_ORDERLY,	/* FIN after what TCP holds; await the peer's */
	RNIC_EP_END_RELEASE,	/* FIN likewise, but leave the rest to TCP */
	RNIC_EP_END_ABORT,	/* RST at once */
};

/*
 * rnic_ep_end: any context, socket lock held or not, never sleeps: queues
 *	@work. May be called repeatedly; a later member of the list overrides an
 *	earlier one. RELEASE and ABORT wait for nothing from the peer. In the end
 *	the QP hears rnic_qp_closed() exactly once, the core one CLOSE event, and
 *	the endpoint lets go of both.
 */
void rnic_ep_end(struct rnic_ep *ep, enum rnic_ep_end how);

/* iw_cm provider operations */
int rnic_iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int rnic_iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int rnic_iw_reject(struct iw_cm_id *cm_id, const void *pd, u8 pd_len);
int rnic_iw_create_listen(struct iw_cm_id *cm_id, int backlog);
int rnic_iw_destroy_listen(struct iw_cm_id *cm_id);
void rnic_iw_add_ref(struct ib_qp *ibqp);
void rnic_iw_rem_ref(struct ib_qp *ibqp);
struct ib_qp *rnic_iw_get_qp(struct ib_device *ibdev, int qpn);

/*
 * rnic_cm_init, rnic_cm_exit: at module init and exit.
 * rnic_cm_dev_init: @dev is new: admits nothing yet.
 * rnic_cm_dev_enable: the core knows @dev, whose name is taken: admits
 *	connections, and shows @dev in its namespace; sleeps.
 * rnic_cm_dev_changed: @dev or its network device has another name, or its port
 *	has come or gone; sleeps.
 * rnic_cm_netdev_gone: kills every endpoint of @dev, closes every listening
 *	socket, admits nothing new, and takes @dev out of its namespace; sleeps,
 *	waits for no user.
 * rnic_cm_netdev_back: the network device is in another namespace now: admits
 *	again, shows @dev there, and opens the listeners that belong there;
 *	sleeps.
 */
int rnic_cm_init(void);
void rnic_cm_exit(void);
void rnic_cm_dev_init(struct rnic_dev *dev);
int rnic_cm_dev_enable(struct rnic_dev *dev);
void rnic_cm_dev_changed(struct rnic_dev *dev);
void rnic_cm_netdev_gone(struct rnic_dev *dev);
void rnic_cm_netdev_back(struct rnic_dev *dev);

#endif /* MPA_RNIC_CM_H */
