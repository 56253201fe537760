// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: references, states, timer, callbacks of TCP, lookup. See ep.h for
 * locks and events.
 */
#include <net/tcp.h>

#include "device.h"
#include "ep.h"
#include "listener.h"
#include "trace.h"
#include "ulp/mpa.h"

static const bool rnic_ep_moves[RNIC_EP_STATES][RNIC_EP_STATES] = {
	[RNIC_EP_IDLE] = {
		[RNIC_EP_CONNECTING] = true,
		[RNIC_EP_REQUESTING] = true,
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
 * rnic_ep_state_name() - name of a state
 * @state: the state
 *
 * Return: the name.
 */
const char *rnic_ep_state_name(enum rnic_ep_state state)
{
	return rnic_ep_state_names[state];
}

/* References, states, work ------------------------------------------------- */

/**
 * rnic_ep_get() - take a reference
 * @ep: the endpoint
 *
 * Any context.
 */
void rnic_ep_get(struct rnic_ep *ep)
{
	kref_get(&ep->ref);
}

static void rnic_ep_last_put(struct kref *ref)
{
	struct rnic_ep *ep = container_of(ref, struct rnic_ep, ref);

	/* The last user may be in softirq or hold locks. */
	queue_work(rnic_wq, &ep->free);
}

/**
 * rnic_ep_put() - drop a reference
 * @ep: the endpoint
 *
 * Any context.
 */
void rnic_ep_put(struct rnic_ep *ep)
{
	kref_put(&ep->ref, rnic_ep_last_put);
}

/**
 * rnic_ep_unuse() - unlock and drop a reference
 * @ep: the endpoint
 */
void rnic_ep_unuse(struct rnic_ep *ep)
{
	mutex_unlock(&ep->lock);
	rnic_ep_put(ep);
}

/**
 * rnic_ep_set_state() - move to another state
 * @ep: the endpoint; socket lock held
 * @to: the new state; an illegal move is not made and warns once
 */
void rnic_ep_set_state(struct rnic_ep *ep, enum rnic_ep_state to)
{
	enum rnic_ep_state from = ep->state;

	rnic_ep_assert_locked(ep);
	if (WARN_ON_ONCE(!rnic_ep_moves[from][to]))
		return;
	if (from == RNIC_EP_AWAITING && ep->listener)
		rnic_listener_leave(ep->listener);
	/* Also read under rnic_ep.lock alone. */
	WRITE_ONCE(ep->state, to);
	trace_rnic_ep_state(&ep->dev->ibdev, ep->sock->sk, ep->qpn, from, to);
}

/**
 * rnic_ep_kick() - queue the endpoint's work
 * @ep: the endpoint, on which the caller holds a reference
 * @what: what it has to do
 *
 * Any context.
 */
void rnic_ep_kick(struct rnic_ep *ep, enum rnic_ep_todo what)
{
	/*
	 * queue_work() is a full barrier, also if the work is queued already.
	 * Pairs with xchg() in rnic_ep_work().
	 */
	set_bit(what, &ep->todo);
	rnic_ep_get(ep);
	if (!queue_work(rnic_wq, &ep->work))
		rnic_ep_put(ep);
}

/**
 * rnic_ep_end() - end the stream as its QP requests
 * @ep: the endpoint
 * @how: see &enum rnic_ep_end_how
 *
 * Any context, socket lock held or not. May be called again: a later member of
 * the enum overrides an earlier one. RELEASE and ABORT do not wait for the peer.
 * In the end rnic_qp_closed() is called once, the core gets one CLOSE event, and
 * the endpoint releases QP and identifier.
 */
void rnic_ep_end(struct rnic_ep *ep, enum rnic_ep_end_how how)
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
 * rnic_ep_arm() - start or restart the timer
 * @ep: the endpoint
 * @ms: time until %RNIC_EP_DO_TIMEOUT
 *
 * Any context. Callers are serialized by the state of the endpoint.
 */
void rnic_ep_arm(struct rnic_ep *ep, unsigned int ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	WRITE_ONCE(ep->deadline, jiffies + delay);
	rnic_ep_get(ep);
	/* True if it was pending and has a reference already. */
	if (mod_delayed_work(rnic_wq, &ep->timer, delay))
		rnic_ep_put(ep);
}

/**
 * rnic_ep_disarm() - stop the timer
 * @ep: the endpoint
 *
 * Any context. It may have expired already; rnic_ep_timeout() checks the state.
 */
void rnic_ep_disarm(struct rnic_ep *ep)
{
	if (cancel_delayed_work(&ep->timer))
		rnic_ep_put(ep);
}

/* TCP ---------------------------------------------------------------------- */

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

static int rnic_ep_drop_bytes(read_descriptor_t *desc, struct sk_buff *skb,
			      unsigned int off, size_t len)
{
	return len;
}

/**
 * rnic_ep_drain() - drop received bytes
 * @sk: the socket, locked; also a data_ready callback
 *
 * With unread bytes, closing would send RST in place of FIN, and lose what is
 * queued before it.
 */
void rnic_ep_drain(struct sock *sk)
{
	read_descriptor_t desc = { .count = 1 };

	/* TCP would read up to an urgent byte only. */
	WRITE_ONCE(tcp_sk(sk)->urg_data, 0);
	tcp_read_sock(sk, &desc, rnic_ep_drop_bytes);
}

/**
 * rnic_ep_hook() - have TCP call back while no stream is attached
 * @ep: the endpoint; socket lock held. State changes lead to %RNIC_EP_DO_TCP.
 * @data_ready: callback for received data, or NULL
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
		WRITE_ONCE(sk->sk_data_ready, data_ready);
	write_unlock_bh(&sk->sk_callback_lock);
	ep->hooked = true;
}

/**
 * rnic_ep_unhook() - undo rnic_ep_hook()
 * @ep: the endpoint; socket lock held. Does nothing if it is not hooked.
 */
void rnic_ep_unhook(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_assert_locked(ep);
	if (!ep->hooked)
		return;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_state_change = ep->saved.state_change;
	WRITE_ONCE(sk->sk_data_ready, ep->saved.data_ready);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	ep->hooked = false;
}

/**
 * rnic_ep_detach() - detach the stream and the callbacks of the socket
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
	if (ep->file)
		mpa_give_back(conn);
	else if (ep->plain)
		mpa_detach_plain(conn);
	else
		mpa_detach(conn);
	atomic_dec(&ep->dev->nr_conn);
}

/**
 * rnic_ep_reset_tcp() - reset the connection, which frees the ports
 * @ep: the endpoint; socket lock held
 */
void rnic_ep_reset_tcp(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_assert_locked(ep);
	if (sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, 0);
}

/* Identifiers of the core -------------------------------------------------- */

/**
 * rnic_ep_know_id() - let rnic_ep_of_id() find the endpoint
 * @ep: the endpoint, locked
 * @cm_id: its identifier of the core
 */
void rnic_ep_know_id(struct rnic_ep *ep, const struct iw_cm_id *cm_id)
{
	struct rnic_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	hash_add(dev->ep_ids, &ep->id_entry, (unsigned long)cm_id);
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_ep_forget_id() - undo rnic_ep_know_id()
 * @ep: the endpoint, locked; does nothing without rnic_ep_know_id()
 */
void rnic_ep_forget_id(struct rnic_ep *ep)
{
	struct rnic_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	hash_del(&ep->id_entry);
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_ep_of_id() - find the endpoint of an identifier of the core
 * @dev: its device
 * @cm_id: the identifier, which is not dereferenced and need not exist
 *
 * Process context. Return: the endpoint with a reference, which may have
 * released @cm_id in the meantime, or NULL.
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
