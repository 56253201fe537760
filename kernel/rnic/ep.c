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

static const bool mpa_ep_moves[MPA_EP_STATES][MPA_EP_STATES] = {
	[MPA_EP_IDLE] = {
		[MPA_EP_CONNECTING] = true,
		[MPA_EP_AWAITING] = true,
		[MPA_EP_DEAD] = true,
	},
	[MPA_EP_CONNECTING] = {
		[MPA_EP_REQUESTING] = true,
		[MPA_EP_DEAD] = true,
	},
	[MPA_EP_REQUESTING] = {
		[MPA_EP_ESTABLISHED] = true,
		[MPA_EP_DEAD] = true,
	},
	[MPA_EP_AWAITING] = {
		[MPA_EP_REQUESTED] = true,
		[MPA_EP_DEAD] = true,
	},
	[MPA_EP_REQUESTED] = {
		[MPA_EP_ESTABLISHED] = true,
		[MPA_EP_LINGERING] = true,
		[MPA_EP_DEAD] = true,
	},
	[MPA_EP_ESTABLISHED] = {
		[MPA_EP_CLOSING] = true,
		[MPA_EP_LINGERING] = true,
		[MPA_EP_DEAD] = true,
	},
	[MPA_EP_CLOSING] = {
		[MPA_EP_LINGERING] = true,
		[MPA_EP_DEAD] = true,
	},
	[MPA_EP_LINGERING] = {
		[MPA_EP_DEAD] = true,
	},
};

static const char * const mpa_ep_state_names[] = {
	[MPA_EP_IDLE]		= "idle",
	[MPA_EP_CONNECTING]	= "connecting",
	[MPA_EP_REQUESTING]	= "requesting",
	[MPA_EP_AWAITING]	= "awaiting",
	[MPA_EP_REQUESTED]	= "requested",
	[MPA_EP_ESTABLISHED]	= "established",
	[MPA_EP_CLOSING]	= "closing",
	[MPA_EP_LINGERING]	= "lingering",
	[MPA_EP_DEAD]		= "dead",
};

static_assert(ARRAY_SIZE(mpa_ep_state_names) == MPA_EP_STATES);

/**
 * mpa_ep_state_name - a state in a word
 * @state: the state
 *
 * Return: the word.
 */
const char *mpa_ep_state_name(enum mpa_ep_state state)
{
	return mpa_ep_state_names[state];
}

/* References, states, work --------------------------------------------------- */

/**
 * mpa_ep_get - take a reference
 * @ep: the endpoint
 *
 * Any context.
 */
void mpa_ep_get(struct mpa_ep *ep)
{
	kref_get(&ep->ref);
}

static void mpa_ep_free(struct work_struct *work)
{
	struct mpa_ep *ep = container_of(work, struct mpa_ep, free);

	sock_release(ep->sock);
	if (ep->listener)
		mpa_listener_put(ep->listener);
	mutex_destroy(&ep->lock);
	mem_cgroup_put(ep->memcg);
	kfree(ep->pd);
	kfree(ep);
}

static void mpa_ep_last_put(struct kref *ref)
{
	struct mpa_ep *ep = container_of(ref, struct mpa_ep, ref);

	/* The last user may be in softirq or hold locks. */
	queue_work(mpa_rnic_wq, &ep->free);
}

/**
 * mpa_ep_put - drop a reference
 * @ep: the endpoint
 *
 * Any context.
 */
void mpa_ep_put(struct mpa_ep *ep)
{
	kref_put(&ep->ref, mpa_ep_last_put);
}

static inline void mpa_ep_assert_locked(const struct mpa_ep *ep)
{
	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
}

/**
 * mpa_ep_set_state - move to another state
 * @ep: the endpoint; socket lock held
 * @to: the new state; an illegal move is not made and warns once
 */
void mpa_ep_set_state(struct mpa_ep *ep, enum mpa_ep_state to)
{
	enum mpa_ep_state from = ep->state;

	mpa_ep_assert_locked(ep);
	if (WARN_ON_ONCE(!mpa_ep_moves[from][to]))
		return;
	if (from == MPA_EP_AWAITING)
		mpa_listener_leave(ep->listener);
	/* Read by who holds mpa_ep.lock alone, too. */
	WRITE_ONCE(ep->state, to);
	trace_mpa_ep_state(ep, from, to);
}

/**
 * mpa_ep_kick - have something done by the endpoint's work
 * @ep: the endpoint; the caller's own reference keeps the put from being the
 *	last
 * @what: what
 *
 * Any context.
 */
void mpa_ep_kick(struct mpa_ep *ep, enum mpa_ep_todo what)
{
	set_bit(what, &ep->todo);
	mpa_ep_get(ep);
	if (!queue_work(mpa_rnic_wq, &ep->work))
		mpa_ep_put(ep);
}

/**
 * mpa_ep_end - end the stream, as its QP wants it
 * @ep: the endpoint
 * @how: see &enum mpa_ep_end
 *
 * Any context.
 */
void mpa_ep_end(struct mpa_ep *ep, enum mpa_ep_end how)
{
	static const enum mpa_ep_todo todo[] = {
		[MPA_EP_END_SOON] = MPA_EP_DO_BOUND,
		[MPA_EP_END_ORDERLY] = MPA_EP_DO_ORDERLY,
		[MPA_EP_END_RELEASE] = MPA_EP_DO_RELEASE,
		[MPA_EP_END_ABORT] = MPA_EP_DO_ABORT,
	};

	mpa_ep_kick(ep, todo[how]);
}

/**
 * mpa_ep_arm - start the timer, or start it anew
 * @ep: the endpoint
 * @ms: when %MPA_EP_DO_TIMEOUT is due
 *
 * Any context, but two must not do it at once: states see to that.
 */
void mpa_ep_arm(struct mpa_ep *ep, unsigned int ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	WRITE_ONCE(ep->deadline, jiffies + delay);
	mpa_ep_get(ep);
	/* True if it was pending, with a reference of its own. */
	if (mod_delayed_work(mpa_rnic_wq, &ep->timer, delay))
		mpa_ep_put(ep);
}

/**
 * mpa_ep_disarm - stop the timer
 * @ep: the endpoint
 *
 * Any context. It may have expired already; whoever handles that looks at the
 * state.
 */
void mpa_ep_disarm(struct mpa_ep *ep)
{
	if (cancel_delayed_work(&ep->timer))
		mpa_ep_put(ep);
}

static void mpa_ep_timer(struct work_struct *work)
{
	struct mpa_ep *ep = container_of(to_delayed_work(work), struct mpa_ep,
					 timer);

	mpa_ep_kick(ep, MPA_EP_DO_TIMEOUT);
	mpa_ep_put(ep);
}

/* Making and unmaking -------------------------------------------------------- */

static void mpa_ep_work(struct work_struct *work);

static int mpa_ep_list_add(struct mpa_ep *ep)
{
	struct mpa_dev *dev = ep->dev;
	int ret = 0;

	mutex_lock(&dev->ep_lock);
	if (dev->cm_gone)
		ret = -ENODEV;
	else
		list_add_tail(&ep->entry, &dev->eps);
	mutex_unlock(&dev->ep_lock);
	return ret;
}

static void mpa_ep_list_del(struct mpa_ep *ep)
{
	struct mpa_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	list_del_init(&ep->entry);
	mpa_ep_unlinger(ep);
	/* Afterwards the device may go; only its address is used for this. */
	wake_up_var(&dev->eps);
	mutex_unlock(&dev->ep_lock);
}

/**
 * mpa_ep_create - make an endpoint
 * @dev: its device
 * @sock: its socket; taken over if it succeeds
 *
 * It comes listed, with the state machine's reference, and for the caller with
 * one of its own and mpa_ep.lock held, both of which mpa_ep_unuse() undoes. It is
 * charged to the memory cgroup that is charged when it is made.
 *
 * Return: the endpoint, or an ERR_PTR(): -ENOMEM; -ENODEV the network device
 * is gone.
 */
struct mpa_ep *mpa_ep_create(struct mpa_dev *dev, struct socket *sock)
{
	struct mpa_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!ep)
		return ERR_PTR(-ENOMEM);
	kref_init(&ep->ref);
	mutex_init(&ep->lock);
	ep->dev = dev;
	ep->sock = sock;
	ep->deadline = jiffies;
	ep->memcg = mpa_memcg_get();
	INIT_WORK(&ep->work, mpa_ep_work);
	INIT_DELAYED_WORK(&ep->timer, mpa_ep_timer);
	INIT_WORK(&ep->free, mpa_ep_free);
	INIT_LIST_HEAD(&ep->linger_entry);

	mpa_ep_get(ep);
	/* Nobody else has it; a falling back caller holds another one's. */
	mutex_lock_nested(&ep->lock, SINGLE_DEPTH_NESTING);
	ret = mpa_ep_list_add(ep);
	if (!ret)
		return ep;
	mutex_unlock(&ep->lock);
	mutex_destroy(&ep->lock);
	mem_cgroup_put(ep->memcg);
	kfree(ep);
	return ERR_PTR(ret);
}

/**
 * mpa_ep_unuse - unlock and drop a reference
 * @ep: the endpoint
 */
void mpa_ep_unuse(struct mpa_ep *ep)
{
	mutex_unlock(&ep->lock);
	mpa_ep_put(ep);
}

static void mpa_ep_state_change(struct sock *sk)
{
	struct mpa_ep *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = __locked_read_sk_user_data_with_flags(sk, 0);
	if (ep) {
		ep->saved.state_change(sk);
		mpa_ep_kick(ep, MPA_EP_DO_TCP);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static int mpa_drop(read_descriptor_t *desc, struct sk_buff *skb,
		    unsigned int off, size_t len)
{
	return len;
}

/**
 * mpa_ep_drain - drop what has come
 * @sk: the socket, locked; also a data_ready callback
 *
 * Unread bytes would turn our FIN into a RST and so lose what is before it.
 */
void mpa_ep_drain(struct sock *sk)
{
	read_descriptor_t desc = { .count = 1 };

	tcp_read_sock(sk, &desc, mpa_drop);
}

/**
 * mpa_ep_hook - have TCP call back while no stream is attached
 * @ep: the endpoint; socket lock held. State changes lead to %MPA_EP_DO_TCP.
 * @data_ready: what to do with data, or NULL for nothing
 */
void mpa_ep_hook(struct mpa_ep *ep, void (*data_ready)(struct sock *sk))
{
	struct sock *sk = ep->sock->sk;

	mpa_ep_assert_locked(ep);
	write_lock_bh(&sk->sk_callback_lock);
	ep->saved = (struct mpa_ep_saved){
		.state_change = sk->sk_state_change,
		.data_ready = sk->sk_data_ready,
	};
	rcu_assign_sk_user_data(sk, ep);
	sk->sk_state_change = mpa_ep_state_change;
	if (data_ready)
		sk->sk_data_ready = data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	ep->hooked = true;
}

/**
 * mpa_ep_unhook - undo mpa_ep_hook()
 * @ep: the endpoint; socket lock held. Harmless without.
 */
void mpa_ep_unhook(struct mpa_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	mpa_ep_assert_locked(ep);
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
 * mpa_ep_detach - cut every connection from the socket's callbacks to @ep
 * @ep: the endpoint, locked
 *
 * Process context; takes the socket lock.
 */
void mpa_ep_detach(struct mpa_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct mpa_conn *conn;

	lockdep_assert_held(&ep->lock);
	lock_sock(sk);
	conn = ep->conn;
	ep->conn = NULL;
	mpa_ep_unhook(ep);
	release_sock(sk);
	if (!conn)
		return;
	mpa_detach(conn);
	atomic_dec(&ep->dev->nr_conn);
}

/* Events --------------------------------------------------------------------- */

static int mpa_ep_send_event(const struct mpa_ep *ep, struct iw_cm_id *cm_id,
			     struct iw_cm_event *event)
{
	trace_mpa_cm_event(ep, event->event, event->status);
	return cm_id->event_handler(cm_id, event);
}

/*
 * The core's depths are seen from its own side: ird is how many Reads it may
 * have under way, ord how many the peer may.
 */
static void mpa_ep_fill_depths(const struct mpa_ep *ep,
			       struct iw_cm_event *event)
{
	event->ird = ep->ord;
	event->ord = ep->ird;
}

/* No more than mpa_ep_ops.pd_max: the core carries so much. */
static void mpa_event_set_pd(struct iw_cm_event *event, const void *pd,
			     u32 pd_len)
{
	/* The core copies it. */
	event->private_data = (void *)pd;
	event->private_data_len = pd_len;
}

/**
 * mpa_ep_tell_established - the Responder's success
 * @ep: the endpoint, locked
 *
 * Return: 0, or an error of the core's.
 */
int mpa_ep_tell_established(struct mpa_ep *ep)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_ESTABLISHED,
	};
	struct sock *sk = ep->sock->sk;
	int ret;

	lock_sock(sk);
	mpa_ep_fill_depths(ep, &event);
	ret = mpa_ep_send_event(ep, ep->cm_id, &event);
	ep->open = !ret;
	release_sock(sk);
	return ret;
}

/* The Initiator's success. */
static int mpa_ep_announce(struct mpa_ep *ep, const void *pd, u32 pd_len)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
	};
	int ret;

	mpa_ep_assert_locked(ep);
	mpa_ep_fill_depths(ep, &event);
	mpa_event_set_pd(&event, pd, pd_len);
	ret = mpa_ep_send_event(ep, ep->cm_id, &event);
	if (ret)
		return ret;
	ep->reply_due = false;
	ep->open = true;
	mpa_count(ep->dev, MPA_CNT_CONN_ACTIVE);
	return 0;
}

/**
 * mpa_ep_tell_failure - the Initiator's failure
 * @ep: the endpoint
 * @cm_id: the core's identifier
 * @status: a negative error
 */
void mpa_ep_tell_failure(const struct mpa_ep *ep, struct iw_cm_id *cm_id,
			 int status)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
	};

	if (status == -ECONNREFUSED) {
		mpa_ep_fill_depths(ep, &event);
		mpa_event_set_pd(&event, ep->reply_pd, ep->reply_pd_len);
	}
	if (!mpa_ep_send_event(ep, cm_id, &event))
		return;
	/* No memory for the private data; without, the core cannot fail. */
	mpa_event_set_pd(&event, NULL, 0);
	WARN_ON_ONCE(mpa_ep_send_event(ep, cm_id, &event));
}

static void mpa_ep_tell_close(const struct mpa_ep *ep, struct iw_cm_id *cm_id)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CLOSE,
	};

	WARN_ON_ONCE(mpa_ep_send_event(ep, cm_id, &event));
}

/**
 * mpa_ep_release_refs - release the QP and the identifier
 * @ep: the endpoint, locked
 * @err: for the QP, unless the end was reported to it before
 *
 * The core gets its last event. Either the stream is detached, or its callbacks
 * have yet to find a QP. The QP is free for another connection before the core
 * hears that this one has failed.
 */
void mpa_ep_release_refs(struct mpa_ep *ep, int err)
{
	struct sock *sk = ep->sock->sk;
	struct iw_cm_id *cm_id;
	struct mpa_qp *qp;
	bool failed, open;

	lockdep_assert_held(&ep->lock);
	lock_sock(sk);
	qp = ep->qp;
	cm_id = ep->cm_id;
	failed = ep->reply_due;
	open = ep->open;
	ep->qp = NULL;
	/* mpa_ep_of_id() looks at it without the socket lock. */
	WRITE_ONCE(ep->cm_id, NULL);
	ep->reply_due = false;
	ep->open = false;
	release_sock(sk);
	mpa_ep_forget_id(ep);

	if (qp && ep->operational)
		mpa_qp_closed(qp, err);
	if (qp) {
		mpa_qp_unbind(qp, ep);
		mpa_qp_put(qp);
	}
	if (!cm_id)
		return;
	if (failed)
		mpa_ep_tell_failure(ep, cm_id, ep->status ?: -ECONNABORTED);
	if (open)
		mpa_ep_tell_close(ep, cm_id);
	cm_id->rem_ref(cm_id);
}

/* The ends ------------------------------------------------------------------- */

/**
 * mpa_ep_reset_tcp - RST, and the ports are free
 * @ep: the endpoint; socket lock held
 */
void mpa_ep_reset_tcp(struct mpa_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	mpa_ep_assert_locked(ep);
	if (sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, 0);
}

/**
 * mpa_ep_finish - to DEAD from anywhere, without further ado
 * @ep: the endpoint, locked; only the caller's own reference keeps it
 * @abort: with a RST, else with what releasing the socket brings
 * @err: for the QP, if nobody has told it yet
 */
void mpa_ep_finish(struct mpa_ep *ep, bool abort, int err)
{
	struct sock *sk = ep->sock->sk;

	mpa_ep_detach(ep);
	lock_sock(sk);
	mpa_ep_set_state(ep, MPA_EP_DEAD);
	if (abort)
		mpa_ep_reset_tcp(ep);
	release_sock(sk);
	mpa_ep_release_refs(ep, err);
	mpa_ep_disarm(ep);
	mpa_ep_forget_request(ep);
	mpa_ep_list_del(ep);
	mpa_ep_put(ep);
}

/**
 * mpa_ep_abort - end it at once
 * @ep: the endpoint, locked
 */
void mpa_ep_abort(struct mpa_ep *ep)
{
	mpa_ep_finish(ep, true, -ECONNABORTED);
}

static void mpa_ep_closed(struct mpa_ep *ep)
{
	mpa_ep_finish(ep, false, 0);
}

static void mpa_ep_release(struct mpa_ep *ep)
{
	switch (READ_ONCE(ep->state)) {
	case MPA_EP_ESTABLISHED:
	case MPA_EP_CLOSING:
		mpa_ep_linger(ep);
		break;
	case MPA_EP_CONNECTING:
	case MPA_EP_REQUESTING:
		mpa_ep_abort(ep);
		break;
	default:
		/* LINGERING: the QP was released. The rest has no QP. */
		break;
	}
}

static void mpa_ep_refuse(struct mpa_ep *ep)
{
	if (READ_ONCE(ep->state) != MPA_EP_REQUESTED)
		return;
	mpa_count(ep->dev, MPA_CNT_CONN_REJECTED);
	if (mpa_reject(ep->conn, &ep->params, NULL, 0))
		mpa_ep_abort(ep);
	else
		mpa_ep_linger(ep);
}

static void mpa_ep_orphan(struct mpa_ep *ep)
{
	enum mpa_ep_state state = READ_ONCE(ep->state);

	if (state == MPA_EP_AWAITING)
		mpa_ep_abort(ep);
	else if (state == MPA_EP_REQUESTED)
		mpa_ep_arm(ep, MPA_CM_ORPHAN_MS);
}

static void mpa_ep_timeout(struct mpa_ep *ep)
{
	if (time_before(jiffies, READ_ONCE(ep->deadline)))
		return;
	switch (READ_ONCE(ep->state)) {
	case MPA_EP_CONNECTING:
		ep->status = -ETIMEDOUT;
		mpa_count(ep->dev, MPA_CNT_CONN_STARTUP_ERROR);
		mpa_ep_abort(ep);
		break;
	case MPA_EP_REQUESTED:
		mpa_count(ep->dev, MPA_CNT_CONN_STARTUP_ERROR);
		mpa_ep_abort(ep);
		break;
	case MPA_EP_ESTABLISHED:
	case MPA_EP_CLOSING:
	case MPA_EP_LINGERING:
		mpa_ep_look(ep);
		break;
	default:
		break;
	}
}

/* Call-ups of the stream: socket lock held, nothing may sleep ---------------- */

static void mpa_op_request(struct mpa_conn *conn, const struct mpa_frame *req,
			   const void *pd, u32 pd_len)
{
	struct mpa_ep *ep = mpa_priv(conn);
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
		.provider_data = (void *)(unsigned long)ep->request,
	};

	if (ep->state != MPA_EP_AWAITING)
		return;
	mpa_ep_set_state(ep, MPA_EP_REQUESTED);
	mpa_ep_arm(ep, MPA_CM_ANSWER_MS);
	/* No answer of the consumer's could make a connection of it. */
	if (!mpa_serves(&ep->params, req->rev)) {
		mpa_ep_kick(ep, MPA_EP_DO_REFUSE);
		return;
	}
	/* Without the enhanced exchange nothing limits the consumer but us. */
	event.ird = ep->params.ord;
	event.ord = ep->params.ird;
	if (req->enhanced) {
		event.ird = min_t(u16, req->ird, event.ird);
		event.ord = min_t(u16, req->ord, event.ord);
	}
	mpa_event_set_pd(&event, pd, pd_len);
	trace_mpa_cm_event(ep, event.event, event.status);
	if (mpa_listener_event(ep->listener, &event))
		mpa_ep_kick(ep, MPA_EP_DO_REFUSE);
}

static void mpa_op_operational(struct mpa_conn *conn,
			       const struct mpa_result *res)
{
	struct mpa_ep *ep = mpa_priv(conn);

	ep->ird = min_t(u16, res->ird, MPA_MAX_IRD);
	ep->ord = min_t(u16, res->ord, MPA_MAX_ORD);
	if (WARN_ON_ONCE(!ep->qp))
		return;
	/* If the consumer has spoilt the QP, the caller will see to it. */
	if (mpa_qp_operational(ep->qp, res))
		return;
	ep->operational = true;
	mpa_ep_set_state(ep, MPA_EP_ESTABLISHED);
}

static void mpa_ep_refused(struct mpa_ep *ep, const struct mpa_result *res,
			   const void *pd, u32 pd_len)
{
	ep->ird = min_t(u16, res->peer_ord, MPA_MAX_IRD);
	ep->ord = min_t(u16, res->peer_ird, MPA_MAX_ORD);
	ep->reply_pd_len = pd_len;
	memcpy(ep->reply_pd, pd, ep->reply_pd_len);
}

/* The QP tells the peer with a Terminate, then asks for an orderly end. */
static void mpa_ep_startup_fault(struct mpa_ep *ep, const struct ddp_fault *f)
{
	mpa_count(ep->dev, MPA_CNT_CONN_STARTUP_ERROR);
	mpa_ep_set_state(ep, MPA_EP_CLOSING);
	/* mpa_ep_orderly() reads both without the socket lock. */
	WRITE_ONCE(ep->fin_due, true);
	mpa_ep_bound(ep);
	mpa_qp_startup_fault(ep->qp, f);
}

static void mpa_op_reply(struct mpa_conn *conn, int status,
			 const struct mpa_result *res, const void *pd,
			 u32 pd_len)
{
	struct mpa_ep *ep = mpa_priv(conn);
	const struct ddp_fault *f = &ddp_fault_mpa_local;

	if (status == -ENOSPC)
		f = &ddp_fault_ird;
	else if (status == -EOPNOTSUPP)
		f = &ddp_fault_rtr;
	if (!status && !ep->operational)
		status = -ECONNABORTED;
	/* If the core fails, the peer is owed a word too (RFC 6581 section 8). */
	if (!status)
		status = mpa_ep_announce(ep, pd, pd_len);
	if (!status)
		return;
	WRITE_ONCE(ep->status, status);
	if (status == -ECONNREFUSED && res)
		mpa_ep_refused(ep, res, pd, pd_len);
	if (ep->operational)
		mpa_ep_startup_fault(ep, f);
	else
		mpa_ep_kick(ep, MPA_EP_DO_FAILED);
}

static int mpa_op_ulpdu(struct mpa_conn *conn, struct mpa_rx *rx, u32 len)
{
	struct mpa_ep *ep = mpa_priv(conn);

	/* What comes while the stream is being cut off is for nobody. */
	return ep->conn && ep->qp ? mpa_qp_ulpdu(ep->qp, rx, len) : -EPIPE;
}

static void mpa_op_settled(struct mpa_conn *conn)
{
	struct mpa_ep *ep = mpa_priv(conn);

	if (ep->qp)
		mpa_qp_settled(ep->qp);
}

static void mpa_op_answer(struct mpa_conn *conn)
{
	struct mpa_ep *ep = mpa_priv(conn);

	if (ep->conn && ep->qp)
		mpa_qp_answer(ep->qp, conn);
}

static void mpa_op_writable(struct mpa_conn *conn)
{
	struct mpa_ep *ep = mpa_priv(conn);

	if (ep->fin_due && !ep->status)
		mpa_ep_kick(ep, MPA_EP_DO_ORDERLY);
	if (ep->qp)
		mpa_qp_writable(ep->qp);
}

static void mpa_op_ended(struct mpa_conn *conn, enum mpa_error code, int err)
{
	struct mpa_ep *ep = mpa_priv(conn);

	if (code == MPA_ERROR_CRC || code == MPA_ERROR_MARKER) {
		if (ep->qp)
			mpa_qp_stream_error(ep->qp, code, err);
		return;
	}
	if (code == MPA_ERROR_STARTUP || ep->state == MPA_EP_AWAITING ||
	    ep->state == MPA_EP_REQUESTED)
		mpa_count(ep->dev, MPA_CNT_CONN_STARTUP_ERROR);
	if (ep->qp && ep->operational)
		mpa_qp_closed(ep->qp, err);
	mpa_ep_kick(ep, MPA_EP_DO_CLOSED);
}

static const struct mpa_ops mpa_ep_ops = {
	.request	= mpa_op_request,
	.operational	= mpa_op_operational,
	.reply		= mpa_op_reply,
	.ulpdu		= mpa_op_ulpdu,
	.settled	= mpa_op_settled,
	.answer		= mpa_op_answer,
	.writable	= mpa_op_writable,
	.ended		= mpa_op_ended,
	.pd_max		= MPA_EP_PD_MAX,
};

/* Whose the stream is, as far as is known. */
static void mpa_ep_label(struct mpa_ep *ep)
{
	const struct mpa_label label = {
		.dev_index = ep->dev->ibdev.index,
		.qpn = ep->qp ? ep->qp->ibqp.qp_num : 0,
		.listen_id = ep->listener ? mpa_listener_id(ep->listener) : 0,
	};

	mpa_ep_assert_locked(ep);
	if (ep->conn)
		mpa_set_label(ep->conn, &label);
}

/**
 * mpa_ep_attach - put a stream on the socket
 * @ep: the endpoint, locked
 * @to: state to move to
 *
 * Return: 0 or an error of mpa_attach().
 */
int mpa_ep_attach(struct mpa_ep *ep, enum mpa_ep_state to)
{
	struct sock *sk = ep->sock->sk;
	struct mpa_conn *conn = mpa_attach(ep->sock, &mpa_ep_ops, ep);

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	/* An idle QP would not find out by itself that its peer is gone. */
	if (ep->config.v[MPA_A_CONFIG_KEEPALIVE])
		sock_set_keepalive(sk);
	atomic_inc(&ep->dev->nr_conn);
	lock_sock(sk);
	ep->conn = conn;
	mpa_ep_set_state(ep, to);
	mpa_set_config(conn, &ep->config);
	mpa_ep_label(ep);
	release_sock(sk);
	return 0;
}

static void mpa_ep_know_id(struct mpa_ep *ep, const struct iw_cm_id *cm_id)
{
	struct mpa_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	hash_add(dev->ep_ids, &ep->id_entry, (unsigned long)cm_id);
	mutex_unlock(&dev->ep_lock);
}

/**
 * mpa_ep_forget_id - mpa_ep_of_id() is to find the endpoint no more
 * @ep: the endpoint, locked; harmless if it was never to be found
 */
void mpa_ep_forget_id(struct mpa_ep *ep)
{
	struct mpa_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	hash_del(&ep->id_entry);
	mutex_unlock(&dev->ep_lock);
}

/**
 * mpa_ep_of_id - the endpoint that has an identifier of the core's
 * @dev: its device
 * @cm_id: the identifier, which is not looked at and need not exist
 *
 * Process context. Return: the endpoint with a reference, which may have released
 * @cm_id in the meantime, or NULL.
 */
struct mpa_ep *mpa_ep_of_id(struct mpa_dev *dev, const struct iw_cm_id *cm_id)
{
	struct mpa_ep *ep, *found = NULL;

	mutex_lock(&dev->ep_lock);
	hash_for_each_possible(dev->ep_ids, ep, id_entry, (unsigned long)cm_id)
		if (READ_ONCE(ep->cm_id) == cm_id) {
			found = ep;
			mpa_ep_get(found);
			break;
		}
	mutex_unlock(&dev->ep_lock);
	return found;
}

/**
 * mpa_ep_bind - tie the endpoint to a QP and an identifier of the core's
 * @ep: the endpoint, locked; gets references of its own
 * @cm_id: the identifier
 * @qp: the QP
 *
 * Return: 0 or an error of mpa_qp_bind().
 */
int mpa_ep_bind(struct mpa_ep *ep, struct iw_cm_id *cm_id, struct mpa_qp *qp)
{
	struct sock *sk = ep->sock->sk;
	int ret = mpa_qp_bind(qp, ep);

	if (ret)
		return ret;
	mpa_qp_get(qp);
	cm_id->add_ref(cm_id);
	lock_sock(sk);
	ep->qp = qp;
	ep->cm_id = cm_id;
	mpa_ep_label(ep);
	release_sock(sk);
	mpa_ep_know_id(ep, cm_id);
	return 0;
}

/* Work ---------------------------------------------------------------------- */

static void mpa_ep_work(struct work_struct *work)
{
	static void (* const handlers[MPA_EP_DO_COUNT])(struct mpa_ep *ep) = {
		[MPA_EP_DO_TIMEOUT]	= mpa_ep_timeout,
		[MPA_EP_DO_ABORT]	= mpa_ep_abort,
		[MPA_EP_DO_CLOSED]	= mpa_ep_closed,
		[MPA_EP_DO_FAILED]	= mpa_ep_failed,
		[MPA_EP_DO_RELEASE]	= mpa_ep_release,
		[MPA_EP_DO_TCP]		= mpa_ep_tcp,
		[MPA_EP_DO_REFUSE]	= mpa_ep_refuse,
		[MPA_EP_DO_ORPHAN]	= mpa_ep_orphan,
		[MPA_EP_DO_BOUND]	= mpa_ep_soon,
		[MPA_EP_DO_ORDERLY]	= mpa_ep_orderly,
	};
	struct mpa_ep *ep = container_of(work, struct mpa_ep, work);
	struct mem_cgroup *old = set_active_memcg(ep->memcg);
	unsigned long todo;
	unsigned int i;

	mutex_lock(&ep->lock);
	todo = xchg(&ep->todo, 0);
	/* It dies under the lock only. */
	for_each_set_bit(i, &todo, MPA_EP_DO_COUNT)
		if (READ_ONCE(ep->state) != MPA_EP_DEAD)
			handlers[i](ep);
	set_active_memcg(old);
	mpa_ep_unuse(ep);
}

