// SPDX-License-Identifier: GPL-2.0-only
/* Endpoints: creation, and the work that may sleep. */
#include <linux/file.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/sock.h>

#include "compat/memcg.h"
#include "device.h"
#include "ep.h"
#include "ep_close.h"
#include "ep_stream.h"
#include "ep_work.h"
#include "listener.h"
#include "tx.h"
#include "ulp/mpa.h"

static struct kmem_cache *rnic_ep_cache __ro_after_init;

/* Work --------------------------------------------------------------------- */

/*
 * TCP has ended. If that was the peer's FIN, it still receives a Terminate that is
 * due, which the work of the queue pair may not have sent yet.
 */
static void rnic_ep_closed(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	lock_sock(sk);
	if (ep->qp)
		rnic_tx_run(ep->qp, ep);
	release_sock(sk);
	rnic_ep_finish(ep, false, 0);
}

static void rnic_ep_startup_failed(struct rnic_ep *ep)
{
	if (ep->role->failed)
		ep->role->failed(ep);
}

static void rnic_ep_plain(struct rnic_ep *ep)
{
	if (ep->role->plain)
		ep->role->plain(ep);
}

/* The state of TCP changed while no stream was attached. */
static void rnic_ep_tcp(struct rnic_ep *ep)
{
	enum rnic_ep_state state = READ_ONCE(ep->state);

	if (state == RNIC_EP_CONNECTING && ep->role->tcp)
		ep->role->tcp(ep);
	else if (state == RNIC_EP_LINGERING && rnic_ep_tcp_over(ep->sock->sk))
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
	case RNIC_EP_AWAITING:
	case RNIC_EP_REQUESTED:
		/* Only for a socket that was handed over. */
		if (ep->qp)
			rnic_ep_abort(ep);
		break;
	default:
		/* In LINGERING the QP was released. Other states have no QP. */
		break;
	}
}

static void rnic_ep_refuse(struct rnic_ep *ep)
{
	if (READ_ONCE(ep->state) != RNIC_EP_REQUESTED)
		return;
	if (mpa_reject(ep->conn, &ep->params, NULL, 0)) {
		rnic_count(ep->dev, RNIC_CNT_CONN_REJECTED);
		WRITE_ONCE(ep->status, -EPROTO);
		rnic_ep_abort(ep);
	} else {
		WRITE_ONCE(ep->status, -ECONNREFUSED);
		rnic_ep_rejected(ep);
	}
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
		rnic_ep_check_progress(ep);
		break;
	default:
		break;
	}
}

static void rnic_ep_work(struct work_struct *work)
{
	static void (* const handlers[RNIC_EP_DO_COUNT])(struct rnic_ep *ep) = {
		[RNIC_EP_DO_TIMEOUT]	= rnic_ep_timeout,
		[RNIC_EP_DO_ABORT]	= rnic_ep_abort,
		[RNIC_EP_DO_CLOSED]	= rnic_ep_closed,
		[RNIC_EP_DO_FAILED]	= rnic_ep_startup_failed,
		[RNIC_EP_DO_PLAIN]	= rnic_ep_plain,
		[RNIC_EP_DO_RELEASE]	= rnic_ep_release,
		[RNIC_EP_DO_TCP]	= rnic_ep_tcp,
		[RNIC_EP_DO_REFUSE]	= rnic_ep_refuse,
		[RNIC_EP_DO_ORPHAN]	= rnic_ep_orphan,
		[RNIC_EP_DO_BOUND]	= rnic_ep_end_soon,
		[RNIC_EP_DO_ORDERLY]	= rnic_ep_orderly,
	};
	struct rnic_ep *ep = container_of(work, struct rnic_ep, work);
	struct mem_cgroup *old = set_active_memcg(ep->memcg);
	unsigned long todo;
	unsigned int i;

	mutex_lock(&ep->lock);
	/* Pairs with rnic_ep_kick(). */
	todo = xchg(&ep->todo, 0);
	/* It becomes DEAD only under the lock. */
	for_each_set_bit(i, &todo, RNIC_EP_DO_COUNT)
		if (READ_ONCE(ep->state) != RNIC_EP_DEAD)
			handlers[i](ep);
	set_active_memcg(old);
	rnic_ep_unuse(ep);
}

/* Creating and freeing ----------------------------------------------------- */

static void rnic_ep_timer(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(to_delayed_work(work), struct rnic_ep,
					  timer);

	rnic_ep_kick(ep, RNIC_EP_DO_TIMEOUT);
	rnic_ep_put(ep);
}

static void rnic_ep_free(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(work, struct rnic_ep, free);

	if (ep->file)
		fput(ep->file);
	else if (ep->sock)
		sock_release(ep->sock);
	if (ep->listener)
		rnic_listener_put(ep->listener);
	mutex_destroy(&ep->lock);
	mem_cgroup_put(ep->memcg);
	kfree(ep->pd);
	kfree(ep->reply_pd);
	if (ep->freed)
		complete(ep->freed);
	kmem_cache_free(rnic_ep_cache, ep);
}

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

/**
 * rnic_ep_create() - create an endpoint
 * @dev: its device
 * @sock: its socket; taken over if it succeeds
 * @role: callbacks of its role
 *
 * The endpoint is in the list of its device. The state machine has one
 * reference; the caller has another one and holds rnic_ep.lock, which
 * rnic_ep_unuse() undoes. The endpoint is charged to the memory cgroup that is
 * active.
 *
 * Return: the endpoint, or an ERR_PTR(): -ENOMEM; -ENODEV: the network device
 * is gone.
 */
struct rnic_ep *rnic_ep_create(struct rnic_dev *dev, struct socket *sock,
			       const struct rnic_ep_role *role)
{
	struct rnic_ep *ep = kmem_cache_zalloc(rnic_ep_cache,
					       GFP_KERNEL_ACCOUNT);
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
	/*
	 * Not contended; a caller that falls back holds the lock of another
	 * endpoint.
	 */
	mutex_lock_nested(&ep->lock, SINGLE_DEPTH_NESTING);
	ret = rnic_ep_list_add(ep);
	if (!ret)
		return ep;
	mutex_unlock(&ep->lock);
	mutex_destroy(&ep->lock);
	mem_cgroup_put(ep->memcg);
	kmem_cache_free(rnic_ep_cache, ep);
	return ERR_PTR(ret);
}

/**
 * rnic_ep_init() - create the slab cache of endpoints
 *
 * Return: 0 or -ENOMEM.
 */
int __init rnic_ep_init(void)
{
	rnic_ep_cache = KMEM_CACHE(rnic_ep, 0);
	return rnic_ep_cache ? 0 : -ENOMEM;
}

/**
 * rnic_ep_exit() - destroy the slab cache of endpoints
 *
 * None is left, and the work that frees them is done.
 */
void rnic_ep_exit(void)
{
	kmem_cache_destroy(rnic_ep_cache);
}
