// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: accepting connections, as Responder.
 */
#include <linux/completion.h>
#include <linux/xarray.h>
#include <net/sock.h>

#include "accept.h"
#include "cm_params.h"
#include "device.h"
#include "ep.h"
#include "ep_close.h"
#include "ep_event.h"
#include "ep_stream.h"
#include "ep_work.h"
#include "listener.h"
#include "plain.h"
#include "qp.h"
#include "ulp/mpa.h"

/*
 * Endpoints that wait for an answer of the core, by rnic_ep.request. The core
 * gets the number, not the pointer: it may drop a Request silently when a
 * listener is destroyed, or answer one after the peer gave up. An identifier of
 * the core keeps the number as long as its user likes, so none is used twice
 * (on a 32-bit machine not before 2^32 Requests).
 */
static DEFINE_XARRAY_FLAGS(rnic_requests, XA_FLAGS_ACCOUNT);
static atomic_long_t rnic_requests_last;

/* The core cannot answer any more. */
static void rnic_ep_forget_request(struct rnic_ep *ep)
{
	if (ep->request)
		xa_erase(&rnic_requests, ep->request);
}

static const struct rnic_ep_role rnic_accept_role = {
	.responder	= true,
	.request	= rnic_ep_report_request,
	.plain		= rnic_ep_leave_plain,
	.gone		= rnic_ep_forget_request,
};

static int rnic_ep_number_request(struct rnic_ep *ep)
{
	unsigned long number;
	int ret = -EBUSY;

	while (ret == -EBUSY) {
		number = atomic_long_inc_return(&rnic_requests_last);
		/* 0 is none. */
		if (number)
			ret = xa_insert(&rnic_requests, number, ep, GFP_KERNEL);
	}
	if (!ret)
		ep->request = number;
	return ret;
}

static int rnic_ep_await(struct rnic_ep *ep)
{
	int ret = rnic_ep_number_request(ep);

	if (!ret)
		ret = rnic_ep_attach(ep, RNIC_EP_AWAITING);
	if (ret)
		return ret;
	if (rnic_plain_wanted(ep->listener))
		mpa_allow_plain(ep->conn);
	return mpa_start_responder(ep->conn, NULL, 0,
				   ep->config.v[MPA_A_CONFIG_STARTUP_TIMEOUT]);
}

/**
 * rnic_ep_take() - take over an accepted connection
 * @dev: its device
 * @l: its listener, whose count of half-open peers includes this one; this
 *	function takes care of the count
 * @cfg: its settings
 * @sock: the connection; taken over in any case
 * @local: its local address
 * @remote: its peer's
 *
 * Process context. Return: 0, or a negative error and the connection has ended.
 */
int rnic_ep_take(struct rnic_dev *dev, struct rnic_listener *l,
		 const struct mpa_config *cfg, struct socket *sock,
		 const struct sockaddr_storage *local,
		 const struct sockaddr_storage *remote)
{
	struct rnic_ep *ep = rnic_ep_create(dev, sock, &rnic_accept_role);
	bool awaiting;
	int ret;

	if (IS_ERR(ep)) {
		rnic_listener_leave(l);
		sock_no_linger(sock->sk);
		sock_release(sock);
		return PTR_ERR(ep);
	}
	rnic_listener_get(l);
	/* Pairs with rnic_ep_orphan_all(): see below. */
	WRITE_ONCE(ep->listener, l);
	rnic_ep_set_names(ep, local, remote);
	ep->config = *cfg;
	rnic_cm_fill_params(cfg, RNIC_MAX_IRD, RNIC_MAX_ORD, &ep->params);

	ret = rnic_ep_await(ep);
	if (ret)
		rnic_count(dev, RNIC_CNT_CONN_STARTUP_ERROR);
	/*
	 * rnic_iw_destroy_listen() marks the listener, then looks for
	 * endpoints. The lock of the listener orders both sides: either the
	 * mark is seen here, or this endpoint is found with its listener.
	 */
	if (!ret && !rnic_listener_alive(l))
		ret = -ECONNABORTED;
	if (ret) {
		awaiting = READ_ONCE(ep->state) != RNIC_EP_IDLE;
		rnic_ep_finish(ep, true, ret);
		if (!awaiting)
			rnic_listener_leave(l);
	}
	rnic_ep_unuse(ep);
	return ret;
}

/**
 * rnic_ep_orphan_all() - a listener is being destroyed
 * @dev: its device
 * @l: the listener, marked dead
 *
 * Half-open peers are dropped. The consumer may still answer a Request that was
 * reported, but the core may also have dropped it silently. So the time for an
 * answer is shortened.
 */
void rnic_ep_orphan_all(struct rnic_dev *dev, const struct rnic_listener *l)
{
	struct rnic_ep *ep;

	mutex_lock(&dev->ep_lock);
	list_for_each_entry(ep, &dev->eps, entry)
		/* One that is new gets its listener at this moment. */
		if (READ_ONCE(ep->listener) == l)
			rnic_ep_kick(ep, RNIC_EP_DO_ORPHAN);
	mutex_unlock(&dev->ep_lock);
}

/* The endpoint of a Request, locked, until rnic_ep_unuse(); or NULL. */
static struct rnic_ep *rnic_ep_use_request(struct iw_cm_id *cm_id)
{
	struct rnic_dev *dev = to_rnic_dev(cm_id->device);
	unsigned long request = (unsigned long)cm_id->provider_data;
	struct rnic_ep *ep;

	xa_lock(&rnic_requests);
	ep = xa_load(&rnic_requests, request);
	if (ep && (ep->dev != dev || !kref_get_unless_zero(&ep->ref)))
		ep = NULL;
	xa_unlock(&rnic_requests);
	if (!ep)
		return NULL;
	mutex_lock(&ep->lock);
	if (READ_ONCE(ep->state) == RNIC_EP_REQUESTED)
		return ep;
	rnic_ep_unuse(ep);
	return NULL;
}

/**
 * struct rnic_established - an ESTABLISHED event that accept waits for
 * @handler: the handler of the core's consumer, which the event is for; NULL: accept
 *	does not wait
 * @taken: completed when the core has moved to its state ESTABLISHED
 */
struct rnic_established {
	iw_cm_handler handler;
	struct completion taken;
};

/* In place of the consumer's handler. The core calls it in its new state. */
static int rnic_established_handler(struct iw_cm_id *cm_id,
				    struct iw_cm_event *event)
{
	struct rnic_established *e = cm_id->provider_data;
	iw_cm_handler handler = e->handler;

	cm_id->cm_handler = handler;
	cm_id->provider_data = NULL;
	complete(&e->taken);
	return handler(cm_id, event);
}

/*
 * Reports ESTABLISHED. The core processes that event later, and until then it
 * takes another accept or reject of the same identifier, whatever its result
 * moves to IDLE, and is at BUG() when the event comes. Two threads of a user can
 * do that, so for users accept returns only when the event has been taken, while
 * the core keeps other calls out. The handlers of kernel consumers, who do no
 * such thing, may accept in the very thread that processes events.
 */
static int rnic_ep_establish(struct rnic_ep *ep, struct iw_cm_id *cm_id,
			     struct rnic_established *e)
{
	void *request = cm_id->provider_data;
	int ret;

	if (ep->qp->user) {
		e->handler = cm_id->cm_handler;
		cm_id->provider_data = e;
		cm_id->cm_handler = rnic_established_handler;
	}
	ret = rnic_ep_report_established(ep);
	if (ret && e->handler) {
		cm_id->cm_handler = e->handler;
		cm_id->provider_data = request;
		e->handler = NULL;
	}
	return ret;
}

static int rnic_ep_accept(struct rnic_ep *ep, struct iw_cm_id *cm_id,
			  const struct iw_cm_conn_param *param,
			  struct rnic_established *e)
{
	struct rnic_qp *qp = rnic_cm_get_qp(cm_id, param->qpn);
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = rnic_ep_bind(ep, cm_id, qp);
	rnic_qp_put(qp);
	if (ret)
		return ret;
	rnic_cm_fill_params(&ep->config, param->ird, param->ord, &ep->params);
	rnic_ep_tune(ep);
	ret = mpa_accept(ep->conn, &ep->params, param->private_data,
			 param->private_data_len);
	if (ret)
		return ret;
	return ep->operational ? rnic_ep_establish(ep, cm_id, e) : -ECONNABORTED;
}

/**
 * rnic_ep_accept_failed() - end a connection whose Request could not be accepted
 * @ep: the endpoint, locked, in REQUESTED; in ESTABLISHED if the core refuses the
 *	event, and a Reply that was sent ends with a reset
 * @err: the error
 *
 * No one will answer the Request again.
 */
void rnic_ep_accept_failed(struct rnic_ep *ep, int err)
{
	rnic_ep_disarm(ep);
	if (mpa_reject(ep->conn, &ep->params, NULL, 0)) {
		/*
		 * The end of TCP and a malformed Request are counted already.
		 */
		if (err != -ECONNRESET && err != -EPROTO)
			rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
		rnic_ep_finish(ep, true, err);
		return;
	}
	rnic_ep_rejected(ep);
}

/**
 * rnic_iw_accept() - iw_cm: accept
 * @cm_id: identifier the core has made for the Request
 * @param: QP, depths, private data
 *
 * Return: 0, after the ESTABLISHED event, which the core has taken if the
 * consumer is a user; else a negative error, no event, and
 * the connection has ended: -ECONNRESET (the peer gave up), -EINVAL (no such
 * QP, or not idle), -EPERM (the QP of another process), -EISCONN (QP bound
 * already), -EMSGSIZE (too much private data; any, in answer to a Start Key),
 * -ECONNABORTED (the QP was moved to ERR meanwhile), -EPROTO (bytes followed the
 * Request), -ENOMEM.
 */
int rnic_iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_ep *ep = rnic_ep_use_request(cm_id);
	struct rnic_established e = {};
	int ret;

	if (!ep)
		return -ECONNRESET;
	init_completion(&e.taken);
	ret = rnic_ep_accept(ep, cm_id, param, &e);
	if (ret) {
		rnic_ep_accept_failed(ep, ret);
	} else {
		rnic_ep_disarm(ep);
		rnic_count(ep->dev, RNIC_CNT_CONN_PASSIVE);
	}
	rnic_ep_unuse(ep);
	/* Destroying the identifier waits for the event in the same way. */
	if (e.handler)
		wait_for_completion(&e.taken);
	return ret;
}

/**
 * rnic_iw_reject() - iw_cm: reject
 * @cm_id: identifier the core has made for the Request
 * @pd: private data
 * @pd_len: bytes of it
 *
 * Return: 0; -ECONNRESET: the peer gave up; or another error of mpa_reject(), and
 * the connection was reset.
 */
int rnic_iw_reject(struct iw_cm_id *cm_id, const void *pd, u8 pd_len)
{
	struct rnic_ep *ep = rnic_ep_use_request(cm_id);
	int ret;

	if (!ep)
		return -ECONNRESET;
	ret = mpa_reject(ep->conn, &ep->params, pd, pd_len);
	/* An answer to a Start Key has no private data. */
	if (ret == -EMSGSIZE)
		ret = mpa_reject(ep->conn, &ep->params, NULL, 0);
	if (ret)
		rnic_ep_abort(ep);
	else
		rnic_ep_rejected(ep);
	rnic_ep_unuse(ep);
	return ret;
}

/**
 * rnic_requests_destroy() - free the table of Requests at module exit; no
 * endpoint is left
 */
void rnic_requests_destroy(void)
{
	unsigned long index = 0;

	/* Without entries it may still have nodes, of an insertion that failed. */
	WARN_ON_ONCE(xa_find(&rnic_requests, &index, ULONG_MAX, XA_PRESENT));
	xa_destroy(&rnic_requests);
}
