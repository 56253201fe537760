// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: their life, from a socket to its release. See cm.h for locks and
 * events.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/tcp.h>

#include "compat/memcg.h"
#include "ddp/check.h"
#include "device.h"
#include "ep.h"
#include "qp.h"
#include "trace.h"

static const bool rnic_ep_moves[RNIC_EP_STATES][RNIC_EP_STATES] = {
	[RNIC_EP_IDLE] = {
		[RNIC_EP_CONNECTING] = true,
		[RNIC_EP_AWAITING] = true,
		[RNIC_EP_DEAD] = true,
	},
	[RNIC_EP_CONNECTING] = {
		[RNIC_EP_REQUESTING] = true,
		[RNIC_EP_DEAD] = true,
	},
	[RNIC_EP_REQUESTING] = {
		[RNIC_EP_ESTABLISHED] = true,
		[RNIC_EP_DEAD] = true,
	},
	[RNIC_EP_AWAITING] = {
		[RNIC_EP_REQUESTED] = true,
		[RNIC_EP_DEAD] = true,
	},
	[RNIC_EP_REQUESTED] = {
		[RNIC_EP_ESTABLISHED] = true,
		[RNIC_EP_LINGERING] = true,
		[RNIC_EP_DEAD] = true,
	},
	[RNIC_EP_ESTABLISHED] = {
		[RNIC_EP_CLOSING] = true,
		[RNIC_EP_LINGERING] = true,
		[RNIC_EP_DEAD] = true,
	},
	[RNIC_EP_CLOSING] = {
		[RNIC_EP_LINGERING] = true,
		[RNIC_EP_DEAD] = true,
	},
	[RNIC_EP_LINGERING] = {
		[RNIC_EP_DEAD] = true,
	},
};

static const char * const rnic_ep_state_names[] = {
	[RNIC_EP_IDLE]		= "idle",
	[RNIC_EP_CONNECTING]	= "connecting",
	[RNIC_EP_REQUESTING]	= "requesting",
	[RNIC_EP_AWAITING]	= "awaiting",
	[RNIC_EP_REQUESTED]	= "requested",
	[RNIC_EP_ESTABLISHED]	= "established",
	[RNIC_EP_CLOSING]	= "closing",
	[RNIC_EP_LINGERING]	= "lingering",
	[RNIC_EP_DEAD]		= "dead",
};

static_assert(ARRAY_SIZE(rnic_ep_state_names) == RNIC_EP_STATES);

/**
 * rnic_ep_state_name - a state in a word
 * @state: the state
 *
 * Return: the word.
 */
const char *rnic_ep_state_name(enum rnic_ep_state state)
{
	return rnic_ep_state_names[state];
}

/* References, states, work --------------------------------------------------- */

/**
 * rnic_ep_get - take a reference
 * @ep: the endpoint
 *
 * Any context.
 */
void rnic_ep_get(struct rnic_ep *ep)
{
	kref_get(&ep->ref);
}

static void rnic_ep_free(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(work, struct rnic_ep, free);

	sock_release(ep->sock);
	if (ep->listener)
		rnic_listener_put(ep->listener);
	mutex_destroy(&ep->lock);
	mem_cgroup_put(ep->memcg);
	kfree(ep->pd);
	kfree(ep);
}

static void rnic_ep_last_put(struct kref *ref)
{
	struct rnic_ep *ep = container_of(ref, struct rnic_ep, ref);

	/* The last user may be in softirq or hold locks. */
	queue_work(rnic_wq, &ep->free);
}

/**
 * rnic_ep_put - drop a reference
 * @ep: the endpoint
 *
 * Any context.
 */
void rnic_ep_put(struct rnic_ep *ep)
{
	kref_put(&ep->ref, rnic_ep_last_put);
}

static inline void rnic_ep_assert_locked(const struct rnic_ep *ep)
{
	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
}

/**
 * rnic_ep_set_state - move to another state
 * @ep: the endpoint; socket lock held
 * @to: the new state; an illegal move is not made and warns once
 */
void rnic_ep_set_state(struct rnic_ep *ep, enum rnic_ep_state to)
{
	enum rnic_ep_state from = ep->state;

	rnic_ep_assert_locked(ep);
	if (WARN_ON_ONCE(!rnic_ep_moves[from][to]))
		return;
	if (from == RNIC_EP_AWAITING)
		rnic_listener_leave(ep->listener);
	/* Read by who holds rnic_ep.lock alone, too. */
	WRITE_ONCE(ep->state, to);
	trace_rnic_ep_state(&ep->dev->ibdev, ep->sock->sk, ep->qpn, from, to);
}

/**
 * rnic_ep_kick - have something done by the endpoint's work
 * @ep: the endpoint; the caller's own reference keeps the put from being the
 *	last
 * @what: what
 *
 * Any context.
 */
void rnic_ep_kick(struct rnic_ep *ep, enum rnic_ep_todo what)
{
	set_bit(what, &ep->todo);
	rnic_ep_get(ep);
	if (!queue_work(rnic_wq, &ep->work))
		rnic_ep_put(ep);
}

/**
 * rnic_ep_end - end the stream, as its QP wants it
 * @ep: the endpoint
 * @how: see &enum rnic_ep_end
 *
 * Any context.
 */
void rnic_ep_end(struct rnic_ep *ep, enum rnic_ep_end how)
{
	static const enum rnic_ep_todo todo[] = {
		[RNIC_EP_END_SOON] = RNIC_EP_DO_BOUND,
		[RNIC_EP_END_ORDERLY] = RNIC_EP_DO_ORDERLY,
		[RNIC_EP_END_RELEASE] = RNIC_EP_DO_RELEASE,
		[RNIC_EP_END_ABORT] = RNIC_EP_DO_ABORT,
	};

	rnic_ep_kick(ep, todo[how]);
}

/**
 * rnic_ep_arm - start the timer, or start it anew
 * @ep: the endpoint
 * @ms: when %RNIC_EP_DO_TIMEOUT is due
 *
 * Any context, but two must not do it at once: states see to that.
 */
void rnic_ep_arm(struct rnic_ep *ep, unsigned int ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	WRITE_ONCE(ep->deadline, jiffies + delay);
	rnic_ep_get(ep);
	/* True if it was pending, with a reference of its own. */
	if (mod_delayed_work(rnic_wq, &ep->timer, delay))
		rnic_ep_put(ep);
}

/**
 * rnic_ep_disarm - stop the timer
 * @ep: the endpoint
 *
 * Any context. It may have expired already; whoever handles that looks at the
 * state.
 */
void rnic_ep_disarm(struct rnic_ep *ep)
{
	if (cancel_delayed_work(&ep->timer))
		rnic_ep_put(ep);
}

static void rnic_ep_timer(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(to_delayed_work(work), struct rnic_ep,
					 timer);

	rnic_ep_kick(ep, RNIC_EP_DO_TIMEOUT);
	rnic_ep_put(ep);
}

/* Making and unmaking -------------------------------------------------------- */

static void rnic_ep_work(struct work_struct *work);

static int rnic_ep_list_add(struct rnic_ep *ep)
{
	struct rnic_dev *dev = ep->dev;
	int ret = 0;

	mutex_lock(&dev->ep_lock);
	if (dev->cm_gone)
		ret = -ENODEV;
	else
		list_add_tail(&ep->entry, &dev->eps);
	mutex_unlock(&dev->ep_lock);
	return ret;
}

static void rnic_ep_list_del(struct rnic_ep *ep)
{
	struct rnic_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	list_del_init(&ep->entry);
	rnic_ep_unlinger(ep);
	/* Afterwards the device may go; only its address is used for this. */
	wake_up_var(&dev->eps);
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_ep_create - make an endpoint
 * @dev: its device
 * @sock: its socket; taken over if it succeeds
 * @role: what differs between Initiator and Responder
 *
 * It comes listed, with the state machine's reference, and for the caller with
 * one of its own and rnic_ep.lock held, both of which rnic_ep_unuse() undoes. It is
 * charged to the memory cgroup that is charged when it is made.
 *
 * Return: the endpoint, or an ERR_PTR(): -ENOMEM; -ENODEV the network device
 * is gone.
 */
struct rnic_ep *rnic_ep_create(struct rnic_dev *dev, struct socket *sock,
			       const struct rnic_ep_role *role)
{
	struct rnic_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!ep)
		return ERR_PTR(-ENOMEM);
	kref_init(&ep->ref);
	mutex_init(&ep->lock);
	ep->dev = dev;
	ep->sock = sock;
	ep->role = role;
	ep->deadline = jiffies;
	ep->memcg = mpa_memcg_get();
	INIT_WORK(&ep->work, rnic_ep_work);
	INIT_DELAYED_WORK(&ep->timer, rnic_ep_timer);
	INIT_WORK(&ep->free, rnic_ep_free);
	INIT_LIST_HEAD(&ep->linger_entry);

	rnic_ep_get(ep);
	/* Nobody else has it; a falling back caller holds another one's. */
	mutex_lock_nested(&ep->lock, SINGLE_DEPTH_NESTING);
	ret = rnic_ep_list_add(ep);
	if (!ret)
		return ep;
	mutex_unlock(&ep->lock);
	mutex_destroy(&ep->lock);
	mem_cgroup_put(ep->memcg);
	kfree(ep);
	return ERR_PTR(ret);
}

/**
 * rnic_ep_unuse - unlock and drop a reference
 * @ep: the endpoint
 */
void rnic_ep_unuse(struct rnic_ep *ep)
{
	mutex_unlock(&ep->lock);
	rnic_ep_put(ep);
}

static void rnic_ep_state_change(struct sock *sk)
{
	struct rnic_ep *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = __locked_read_sk_user_data_with_flags(sk, 0);
	if (ep) {
		ep->saved.state_change(sk);
		rnic_ep_kick(ep, RNIC_EP_DO_TCP);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static int rnic_drop(read_descriptor_t *desc, struct sk_buff *skb,
		     unsigned int off, size_t len)
{
	return len;
}

/**
 * rnic_ep_drain - drop what has come
 * @sk: the socket, locked; also a data_ready callback
 *
 * Unread bytes would turn our FIN into a RST and so lose what is before it.
 */
void rnic_ep_drain(struct sock *sk)
{
	read_descriptor_t desc = { .count = 1 };

	tcp_read_sock(sk, &desc, rnic_drop);
}

/**
 * rnic_ep_hook - have TCP call back while no stream is attached
 * @ep: the endpoint; socket lock held. State changes lead to %RNIC_EP_DO_TCP.
 * @data_ready: what to do with data, or NULL for nothing
 */
void rnic_ep_hook(struct rnic_ep *ep, void (*data_ready)(struct sock *sk))
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_assert_locked(ep);
	write_lock_bh(&sk->sk_callback_lock);
	ep->saved = (struct rnic_ep_saved){
		.state_change = sk->sk_state_change,
		.data_ready = sk->sk_data_ready,
	};
	rcu_assign_sk_user_data(sk, ep);
	sk->sk_state_change = rnic_ep_state_change;
	if (data_ready)
		sk->sk_data_ready = data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	ep->hooked = true;
}

/**
 * rnic_ep_unhook - undo rnic_ep_hook()
 * @ep: the endpoint; socket lock held. Harmless without.
 */
void rnic_ep_unhook(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_assert_locked(ep);
	if (!ep->hooked)
		return;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_state_change = ep->saved.state_change;
	sk->sk_data_ready = ep->saved.data_ready;
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	ep->hooked = false;
}

/**
 * rnic_ep_detach - cut every connection from the socket's callbacks to @ep
 * @ep: the endpoint, locked
 *
 * Process context; takes the socket lock.
 */
void rnic_ep_detach(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct mpa_conn *conn;

	lockdep_assert_held(&ep->lock);
	lock_sock(sk);
	conn = ep->conn;
	ep->conn = NULL;
	rnic_ep_unhook(ep);
	release_sock(sk);
	if (!conn)
		return;
	mpa_detach(conn);
	atomic_dec(&ep->dev->nr_conn);
}

/* Events --------------------------------------------------------------------- */

static int rnic_ep_send_event(const struct rnic_ep *ep, struct iw_cm_id *cm_id,
			      struct iw_cm_event *event)
{
	trace_rnic_cm_event(&ep->dev->ibdev, ep->sock->sk, event->event,
			    event->status);
	return cm_id->event_handler(cm_id, event);
}

/*
 * The core's depths are seen from its own side: ird is how many Reads it may
 * have under way, ord how many the peer may.
 */
static void rnic_ep_fill_depths(const struct rnic_ep *ep,
				struct iw_cm_event *event)
{
	event->ird = ep->ord;
	event->ord = ep->ird;
}

/* No more than rnic_ep_ops.pd_max: the core carries so much. */
static void rnic_event_set_pd(struct iw_cm_event *event, const void *pd,
			      u32 pd_len)
{
	/* The core copies it. */
	event->private_data = (void *)pd;
	event->private_data_len = pd_len;
}

/**
 * rnic_ep_tell_established - the Responder's success
 * @ep: the endpoint, locked
 *
 * Return: 0, or an error of the core's.
 */
int rnic_ep_tell_established(struct rnic_ep *ep)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_ESTABLISHED,
	};
	struct sock *sk = ep->sock->sk;
	int ret;

	lock_sock(sk);
	rnic_ep_fill_depths(ep, &event);
	ret = rnic_ep_send_event(ep, ep->cm_id, &event);
	ep->open = !ret;
	release_sock(sk);
	return ret;
}

/* The Initiator's success. */
static int rnic_ep_announce(struct rnic_ep *ep, const void *pd, u32 pd_len)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
	};
	int ret;

	rnic_ep_assert_locked(ep);
	rnic_ep_fill_depths(ep, &event);
	rnic_event_set_pd(&event, pd, pd_len);
	ret = rnic_ep_send_event(ep, ep->cm_id, &event);
	if (ret)
		return ret;
	ep->reply_due = false;
	ep->open = true;
	rnic_count(ep->dev, RNIC_CNT_CONN_ACTIVE);
	return 0;
}

/**
 * rnic_ep_tell_failure - the Initiator's failure
 * @ep: the endpoint
 * @cm_id: the core's identifier
 * @status: a negative error
 */
void rnic_ep_tell_failure(const struct rnic_ep *ep, struct iw_cm_id *cm_id,
			  int status)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
	};

	if (status == -ECONNREFUSED) {
		rnic_ep_fill_depths(ep, &event);
		rnic_event_set_pd(&event, ep->reply_pd, ep->reply_pd_len);
	}
	if (!rnic_ep_send_event(ep, cm_id, &event))
		return;
	/* No memory for the private data; without, the core cannot fail. */
	rnic_event_set_pd(&event, NULL, 0);
	WARN_ON_ONCE(rnic_ep_send_event(ep, cm_id, &event));
}

static void rnic_ep_tell_close(const struct rnic_ep *ep, struct iw_cm_id *cm_id)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CLOSE,
	};

	WARN_ON_ONCE(rnic_ep_send_event(ep, cm_id, &event));
}

/**
 * rnic_ep_release_refs - release the QP and the identifier
 * @ep: the endpoint, locked
 * @err: for the QP, unless the end was reported to it before
 *
 * The core gets its last event. Either the stream is detached, or its callbacks
 * have yet to find a QP. The QP is free for another connection before the core
 * hears that this one has failed.
 */
void rnic_ep_release_refs(struct rnic_ep *ep, int err)
{
	struct sock *sk = ep->sock->sk;
	struct iw_cm_id *cm_id;
	struct rnic_qp *qp;
	bool failed, open;

	lockdep_assert_held(&ep->lock);
	lock_sock(sk);
	qp = ep->qp;
	cm_id = ep->cm_id;
	failed = ep->reply_due;
	open = ep->open;
	ep->qp = NULL;
	ep->qpn = 0;
	/* rnic_ep_of_id() looks at it without the socket lock. */
	WRITE_ONCE(ep->cm_id, NULL);
	ep->reply_due = false;
	ep->open = false;
	release_sock(sk);
	rnic_ep_forget_id(ep);

	if (qp && ep->operational)
		rnic_qp_closed(qp, err);
	if (qp) {
		rnic_qp_unbind(qp, ep);
		rnic_qp_put(qp);
	}
	if (!cm_id)
		return;
	if (failed)
		rnic_ep_tell_failure(ep, cm_id, ep->status ?: -ECONNABORTED);
	if (open)
		rnic_ep_tell_close(ep, cm_id);
	cm_id->rem_ref(cm_id);
}

/* The ends ------------------------------------------------------------------- */

/**
 * rnic_ep_reset_tcp - RST, and the ports are free
 * @ep: the endpoint; socket lock held
 */
void rnic_ep_reset_tcp(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_assert_locked(ep);
	if (sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, 0);
}

/**
 * rnic_ep_finish - to DEAD from anywhere, without further ado
 * @ep: the endpoint, locked; only the caller's own reference keeps it
 * @abort: with a RST, else with what releasing the socket brings
 * @err: for the QP, if nobody has told it yet
 */
void rnic_ep_finish(struct rnic_ep *ep, bool abort, int err)
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_detach(ep);
	lock_sock(sk);
	rnic_ep_set_state(ep, RNIC_EP_DEAD);
	if (abort)
		rnic_ep_reset_tcp(ep);
	release_sock(sk);
	rnic_ep_release_refs(ep, err);
	rnic_ep_disarm(ep);
	if (ep->role->gone)
		ep->role->gone(ep);
	rnic_ep_list_del(ep);
	rnic_ep_put(ep);
}

/**
 * rnic_ep_abort - end it at once
 * @ep: the endpoint, locked
 */
void rnic_ep_abort(struct rnic_ep *ep)
{
	rnic_ep_finish(ep, true, -ECONNABORTED);
}

static void rnic_ep_closed(struct rnic_ep *ep)
{
	rnic_ep_finish(ep, false, 0);
}

static void rnic_ep_startup_failed(struct rnic_ep *ep)
{
	if (ep->role->failed)
		ep->role->failed(ep);
}

/* TCP has changed while no stream was attached. */
static void rnic_ep_tcp(struct rnic_ep *ep)
{
	enum rnic_ep_state state = READ_ONCE(ep->state);

	if (state == RNIC_EP_CONNECTING && ep->role->tcp)
		ep->role->tcp(ep);
	else if (state == RNIC_EP_LINGERING && rnic_tcp_over(ep->sock->sk))
		rnic_ep_finish(ep, false, 0);
}

static void rnic_ep_release(struct rnic_ep *ep)
{
	switch (READ_ONCE(ep->state)) {
	case RNIC_EP_ESTABLISHED:
	case RNIC_EP_CLOSING:
		rnic_ep_linger(ep);
		break;
	case RNIC_EP_CONNECTING:
	case RNIC_EP_REQUESTING:
		rnic_ep_abort(ep);
		break;
	default:
		/* LINGERING: the QP was released. The rest has no QP. */
		break;
	}
}

static void rnic_ep_refuse(struct rnic_ep *ep)
{
	if (READ_ONCE(ep->state) != RNIC_EP_REQUESTED)
		return;
	rnic_count(ep->dev, RNIC_CNT_CONN_REJECTED);
	if (mpa_reject(ep->conn, &ep->params, NULL, 0))
		rnic_ep_abort(ep);
	else
		rnic_ep_linger(ep);
}

static void rnic_ep_orphan(struct rnic_ep *ep)
{
	enum rnic_ep_state state = READ_ONCE(ep->state);

	if (state == RNIC_EP_AWAITING)
		rnic_ep_abort(ep);
	else if (state == RNIC_EP_REQUESTED)
		rnic_ep_arm(ep, RNIC_CM_ORPHAN_MS);
}

static void rnic_ep_timeout(struct rnic_ep *ep)
{
	if (time_before(jiffies, READ_ONCE(ep->deadline)))
		return;
	switch (READ_ONCE(ep->state)) {
	case RNIC_EP_CONNECTING:
		ep->status = -ETIMEDOUT;
		rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
		rnic_ep_abort(ep);
		break;
	case RNIC_EP_REQUESTED:
		rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
		rnic_ep_abort(ep);
		break;
	case RNIC_EP_ESTABLISHED:
	case RNIC_EP_CLOSING:
	case RNIC_EP_LINGERING:
		rnic_ep_look(ep);
		break;
	default:
		break;
	}
}

/* Call-ups of the stream: socket lock held, nothing may sleep ---------------- */

static void rnic_op_request(struct mpa_conn *conn, const struct mpa_frame *req,
			    const void *pd, u32 pd_len)
{
	struct rnic_ep *ep = mpa_priv(conn);
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
		.provider_data = (void *)(unsigned long)ep->request,
	};

	if (ep->state != RNIC_EP_AWAITING)
		return;
	rnic_ep_set_state(ep, RNIC_EP_REQUESTED);
	rnic_ep_arm(ep, RNIC_CM_ANSWER_MS);
	/* No answer of the consumer's could make a connection of it. */
	if (!mpa_rev_supported(&ep->params, req->rev)) {
		rnic_ep_kick(ep, RNIC_EP_DO_REFUSE);
		return;
	}
	/* Without the enhanced exchange nothing limits the consumer but us. */
	event.ird = ep->params.ord;
	event.ord = ep->params.ird;
	if (req->enhanced) {
		event.ird = min_t(u16, req->ird, event.ird);
		event.ord = min_t(u16, req->ord, event.ord);
	}
	rnic_event_set_pd(&event, pd, pd_len);
	trace_rnic_cm_event(&ep->dev->ibdev, ep->sock->sk, event.event,
			    event.status);
	if (rnic_listener_event(ep->listener, &event))
		rnic_ep_kick(ep, RNIC_EP_DO_REFUSE);
}

static void rnic_op_operational(struct mpa_conn *conn,
				const struct mpa_result *res)
{
	struct rnic_ep *ep = mpa_priv(conn);

	ep->ird = min_t(u16, res->ird, RNIC_MAX_IRD);
	ep->ord = min_t(u16, res->ord, RNIC_MAX_ORD);
	if (WARN_ON_ONCE(!ep->qp))
		return;
	/* If the consumer has spoilt the QP, the caller will see to it. */
	if (rnic_qp_operational(ep->qp, res))
		return;
	ep->operational = true;
	rnic_ep_set_state(ep, RNIC_EP_ESTABLISHED);
}

static void rnic_ep_refused(struct rnic_ep *ep, const struct mpa_result *res,
			    const void *pd, u32 pd_len)
{
	ep->ird = min_t(u16, res->peer_ord, RNIC_MAX_IRD);
	ep->ord = min_t(u16, res->peer_ird, RNIC_MAX_ORD);
	ep->reply_pd_len = pd_len;
	memcpy(ep->reply_pd, pd, ep->reply_pd_len);
}

/* The QP tells the peer with a Terminate, then asks for an orderly end. */
static void rnic_ep_startup_fault(struct rnic_ep *ep, const struct ddp_fault *f)
{
	rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
	rnic_ep_set_state(ep, RNIC_EP_CLOSING);
	/* rnic_ep_orderly() reads both without the socket lock. */
	WRITE_ONCE(ep->fin_due, true);
	rnic_ep_bound(ep);
	rnic_qp_startup_fault(ep->qp, f);
}

static void rnic_op_reply(struct mpa_conn *conn, int status,
			  const struct mpa_result *res, const void *pd,
			 u32 pd_len)
{
	struct rnic_ep *ep = mpa_priv(conn);
	const struct ddp_fault *f = &ddp_fault_mpa_local;

	if (status == -ENOSPC)
		f = &ddp_fault_ird;
	else if (status == -EOPNOTSUPP)
		f = &ddp_fault_rtr;
	if (!status && !ep->operational)
		status = -ECONNABORTED;
	/* If the core fails, the peer is owed a word too (RFC 6581 section 8). */
	if (!status)
		status = rnic_ep_announce(ep, pd, pd_len);
	if (!status)
		return;
	WRITE_ONCE(ep->status, status);
	if (status == -ECONNREFUSED && res)
		rnic_ep_refused(ep, res, pd, pd_len);
	if (ep->operational)
		rnic_ep_startup_fault(ep, f);
	else
		rnic_ep_kick(ep, RNIC_EP_DO_FAILED);
}

static int rnic_op_ulpdu(struct mpa_conn *conn, struct mpa_rx *rx, u32 len)
{
	struct rnic_ep *ep = mpa_priv(conn);

	/* What comes while the stream is being cut off is for nobody. */
	return ep->conn && ep->qp ? rnic_qp_ulpdu(ep->qp, rx, len) : -EPIPE;
}

static void rnic_op_settled(struct mpa_conn *conn)
{
	struct rnic_ep *ep = mpa_priv(conn);

	if (ep->qp)
		rnic_qp_settled(ep->qp);
}

static void rnic_op_answer(struct mpa_conn *conn)
{
	struct rnic_ep *ep = mpa_priv(conn);

	if (ep->conn && ep->qp)
		rnic_qp_answer(ep->qp, conn);
}

static void rnic_op_writable(struct mpa_conn *conn)
{
	struct rnic_ep *ep = mpa_priv(conn);

	if (ep->fin_due && !ep->status)
		rnic_ep_kick(ep, RNIC_EP_DO_ORDERLY);
	if (ep->qp)
		rnic_qp_writable(ep->qp);
}

static void rnic_op_ended(struct mpa_conn *conn, enum mpa_error code, int err)
{
	struct rnic_ep *ep = mpa_priv(conn);

	if (code == MPA_ERROR_CRC || code == MPA_ERROR_MARKER) {
		if (ep->qp)
			rnic_qp_stream_error(ep->qp, code, err);
		return;
	}
	if (code == MPA_ERROR_STARTUP || ep->state == RNIC_EP_AWAITING ||
	    ep->state == RNIC_EP_REQUESTED)
		rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
	if (ep->qp && ep->operational)
		rnic_qp_closed(ep->qp, err);
	rnic_ep_kick(ep, RNIC_EP_DO_CLOSED);
}

static const struct mpa_ops rnic_ep_ops = {
	.request	= rnic_op_request,
	.operational	= rnic_op_operational,
	.reply		= rnic_op_reply,
	.ulpdu		= rnic_op_ulpdu,
	.settled	= rnic_op_settled,
	.answer		= rnic_op_answer,
	.writable	= rnic_op_writable,
	.ended		= rnic_op_ended,
	.pd_max		= RNIC_EP_PD_MAX,
};

/* Whose the stream is, as far as is known. */
static void rnic_ep_label(struct rnic_ep *ep)
{
	const struct mpa_label label = {
		.dev_index = ep->dev->ibdev.index,
		.qpn = ep->qpn,
		.listen_id = ep->listener ? rnic_listener_id(ep->listener) : 0,
	};

	rnic_ep_assert_locked(ep);
	if (ep->conn)
		mpa_set_label(ep->conn, &label);
}

/**
 * rnic_ep_attach - put a stream on the socket
 * @ep: the endpoint, locked
 * @to: state to move to
 *
 * Return: 0 or an error of mpa_attach().
 */
int rnic_ep_attach(struct rnic_ep *ep, enum rnic_ep_state to)
{
	struct sock *sk = ep->sock->sk;
	struct mpa_conn *conn = mpa_attach(ep->sock, &rnic_ep_ops, ep);

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	/* An idle QP would not find out by itself that its peer is gone. */
	if (ep->config.v[MPA_A_CONFIG_KEEPALIVE])
		sock_set_keepalive(sk);
	atomic_inc(&ep->dev->nr_conn);
	lock_sock(sk);
	ep->conn = conn;
	rnic_ep_set_state(ep, to);
	mpa_set_config(conn, &ep->config);
	rnic_ep_label(ep);
	release_sock(sk);
	return 0;
}

static void rnic_ep_know_id(struct rnic_ep *ep, const struct iw_cm_id *cm_id)
{
	struct rnic_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	hash_add(dev->ep_ids, &ep->id_entry, (unsigned long)cm_id);
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_ep_forget_id - rnic_ep_of_id() is to find the endpoint no more
 * @ep: the endpoint, locked; harmless if it was never to be found
 */
void rnic_ep_forget_id(struct rnic_ep *ep)
{
	struct rnic_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	hash_del(&ep->id_entry);
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_ep_of_id - the endpoint that has an identifier of the core's
 * @dev: its device
 * @cm_id: the identifier, which is not looked at and need not exist
 *
 * Process context. Return: the endpoint with a reference, which may have released
 * @cm_id in the meantime, or NULL.
 */
struct rnic_ep *rnic_ep_of_id(struct rnic_dev *dev, const struct iw_cm_id *cm_id)
{
	struct rnic_ep *ep, *found = NULL;

	mutex_lock(&dev->ep_lock);
	hash_for_each_possible(dev->ep_ids, ep, id_entry, (unsigned long)cm_id)
		if (READ_ONCE(ep->cm_id) == cm_id) {
			found = ep;
			rnic_ep_get(found);
			break;
		}
	mutex_unlock(&dev->ep_lock);
	return found;
}

/**
 * rnic_ep_bind - tie the endpoint to a QP and an identifier of the core's
 * @ep: the endpoint, locked; gets references of its own
 * @cm_id: the identifier
 * @qp: the QP
 *
 * Return: 0 or an error of rnic_qp_bind().
 */
int rnic_ep_bind(struct rnic_ep *ep, struct iw_cm_id *cm_id, struct rnic_qp *qp)
{
	struct sock *sk = ep->sock->sk;
	int ret = rnic_qp_bind(qp, ep);

	if (ret)
		return ret;
	rnic_qp_get(qp);
	cm_id->add_ref(cm_id);
	lock_sock(sk);
	ep->qp = qp;
	ep->qpn = qp->ibqp.qp_num;
	ep->cm_id = cm_id;
	rnic_ep_label(ep);
	release_sock(sk);
	rnic_ep_know_id(ep, cm_id);
	return 0;
}

/* Work ---------------------------------------------------------------------- */

static void rnic_ep_work(struct work_struct *work)
{
	static void (* const handlers[RNIC_EP_DO_COUNT])(struct rnic_ep *ep) = {
		[RNIC_EP_DO_TIMEOUT]	= rnic_ep_timeout,
		[RNIC_EP_DO_ABORT]	= rnic_ep_abort,
		[RNIC_EP_DO_CLOSED]	= rnic_ep_closed,
		[RNIC_EP_DO_FAILED]	= rnic_ep_startup_failed,
		[RNIC_EP_DO_RELEASE]	= rnic_ep_release,
		[RNIC_EP_DO_TCP]		= rnic_ep_tcp,
		[RNIC_EP_DO_REFUSE]	= rnic_ep_refuse,
		[RNIC_EP_DO_ORPHAN]	= rnic_ep_orphan,
		[RNIC_EP_DO_BOUND]	= rnic_ep_soon,
		[RNIC_EP_DO_ORDERLY]	= rnic_ep_orderly,
	};
	struct rnic_ep *ep = container_of(work, struct rnic_ep, work);
	struct mem_cgroup *old = set_active_memcg(ep->memcg);
	unsigned long todo;
	unsigned int i;

	mutex_lock(&ep->lock);
	todo = xchg(&ep->todo, 0);
	/* It dies under the lock only. */
	for_each_set_bit(i, &todo, RNIC_EP_DO_COUNT)
		if (READ_ONCE(ep->state) != RNIC_EP_DEAD)
			handlers[i](ep);
	set_active_memcg(old);
	rnic_ep_unuse(ep);
}

