// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: being connected to, as Responder.
 */
#include <linux/xarray.h>
#include <net/sock.h>

#include "device.h"
#include "ep.h"
#include "qp.h"

/*
 * Endpoints that wait for an answer of the core's, by mpa_ep.request. The core
 * gets the number, not the pointer: it may drop a Request without a word when
 * a listener goes away, or answer one whose peer has given up.
 */
static DEFINE_XARRAY_ALLOC1(mpa_requests);
static u32 mpa_requests_next;

/**
 * mpa_ep_forget_request - the core can answer no more
 * @ep: the endpoint, locked
 */
void mpa_ep_forget_request(struct mpa_ep *ep)
{
	if (ep->request)
		xa_erase(&mpa_requests, ep->request);
}

static int mpa_ep_number(struct mpa_ep *ep)
{
	int ret = xa_alloc_cyclic(&mpa_requests, &ep->request, ep,
				  xa_limit_31b, &mpa_requests_next,
				  GFP_KERNEL);

	return min(ret, 0);
}

static int mpa_ep_await(struct mpa_ep *ep)
{
	int ret = mpa_ep_number(ep);

	if (!ret)
		ret = mpa_ep_attach(ep, MPA_EP_AWAITING);
	if (!ret)
		ret = mpa_start_responder(ep->conn, NULL, 0,
					  ep->config.v[MPA_A_CONFIG_STARTUP_TIMEOUT]);
	return ret;
}

/**
 * mpa_ep_take - take over an accepted connection
 * @dev: device it is for
 * @l: listener it is for; its count of half-open peers includes this one, and
 *	is settled here in any case
 * @cfg: settings for it
 * @sock: the connection; taken over in any case
 * @local: its local address
 * @remote: its peer's
 *
 * Process context. Return: 0, or a negative error if it came to nothing.
 */
int mpa_ep_take(struct mpa_dev *dev, struct mpa_listener *l,
		const struct mpa_config *cfg, struct socket *sock,
		const struct sockaddr_storage *local,
		const struct sockaddr_storage *remote)
{
	struct mpa_ep *ep = mpa_ep_create(dev, sock);
	bool awaiting;
	int ret;

	if (IS_ERR(ep)) {
		mpa_listener_leave(l);
		sock_no_linger(sock->sk);
		sock_release(sock);
		return PTR_ERR(ep);
	}
	mpa_listener_get(l);
	ep->listener = l;
	ep->local = *local;
	ep->remote = *remote;
	ep->config = *cfg;
	mpa_cm_params(cfg, MPA_MAX_IRD, MPA_MAX_ORD, &ep->params);

	ret = mpa_ep_await(ep);
	if (ret)
		mpa_count(dev, MPA_CNT_CONN_STARTUP_ERROR);
	/* Whoever destroys the listener looks for us after it is marked. */
	if (!ret && !mpa_listener_alive(l))
		ret = -ECONNABORTED;
	if (ret) {
		awaiting = READ_ONCE(ep->state) != MPA_EP_IDLE;
		mpa_ep_finish(ep, true, ret);
		if (!awaiting)
			mpa_listener_leave(l);
	}
	mpa_ep_unuse(ep);
	return ret;
}

/**
 * mpa_ep_orphan_all - a listener goes away
 * @dev: its device
 * @l: the listener, marked dead
 *
 * Half-open peers are dropped. A Request the core knows of may be in the
 * consumer's hands, who still may answer it; or the core forgets it without a
 * word, so it gets less time.
 */
void mpa_ep_orphan_all(struct mpa_dev *dev, const struct mpa_listener *l)
{
	struct mpa_ep *ep;

	mutex_lock(&dev->ep_lock);
	list_for_each_entry(ep, &dev->eps, entry)
		if (ep->listener == l)
			mpa_ep_kick(ep, MPA_EP_DO_ORPHAN);
	mutex_unlock(&dev->ep_lock);
}

/* The endpoint a Request belongs to, until mpa_ep_unuse(), or NULL. */
static struct mpa_ep *mpa_ep_use_request(struct iw_cm_id *cm_id)
{
	struct mpa_dev *dev = to_mpa_dev(cm_id->device);
	unsigned long request = (unsigned long)cm_id->provider_data;
	struct mpa_ep *ep;

	xa_lock(&mpa_requests);
	ep = xa_load(&mpa_requests, request);
	if (ep && (ep->dev != dev || !kref_get_unless_zero(&ep->ref)))
		ep = NULL;
	xa_unlock(&mpa_requests);
	if (!ep)
		return NULL;
	mutex_lock(&ep->lock);
	if (READ_ONCE(ep->state) == MPA_EP_REQUESTED)
		return ep;
	mpa_ep_unuse(ep);
	return NULL;
}

static int mpa_ep_accept(struct mpa_ep *ep, struct iw_cm_id *cm_id,
			 const struct iw_cm_conn_param *param)
{
	struct mpa_qp *qp = mpa_cm_get_qp(cm_id, param->qpn);
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = mpa_ep_bind(ep, cm_id, qp);
	mpa_qp_put(qp);
	if (ret)
		return ret;
	mpa_cm_params(&ep->config, param->ird, param->ord, &ep->params);
	ret = mpa_accept(ep->conn, &ep->params, param->private_data,
			 param->private_data_len);
	if (ret)
		return ret;
	return ep->operational ? mpa_ep_tell_established(ep) : -ECONNABORTED;
}

/* The core takes no other answer after an accept that failed. */
static void mpa_ep_accept_failed(struct mpa_ep *ep, int err)
{
	mpa_ep_disarm(ep);
	if (mpa_reject(ep->conn, &ep->params, NULL, 0)) {
		/* Counted when it came: the end of TCP, or what is no Request. */
		if (err != -ECONNRESET && err != -EPROTO)
			mpa_count(ep->dev, MPA_CNT_CONN_STARTUP_ERROR);
		mpa_ep_finish(ep, true, err);
		return;
	}
	mpa_count(ep->dev, MPA_CNT_CONN_REJECTED);
	mpa_ep_linger(ep);
}

/**
 * mpa_iw_accept - iw_cm: accept
 * @cm_id: identifier the core has made for the Request
 * @param: QP, depths, private data
 *
 * Return: 0, after the ESTABLISHED event; else a negative error, no event, and
 * the connection is at its end: -ECONNRESET (the peer has given up), -EINVAL
 * (no such QP, or not idle), -EPERM (somebody else's QP), -EISCONN (QP bound
 * already), -EMSGSIZE (too much private data), -ECONNABORTED (the QP was moved
 * to ERR meanwhile), -EPROTO (something came behind the Request), -ENOMEM.
 */
int mpa_iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct mpa_ep *ep = mpa_ep_use_request(cm_id);
	int ret;

	if (!ep)
		return -ECONNRESET;
	ret = mpa_ep_accept(ep, cm_id, param);
	if (ret) {
		mpa_ep_accept_failed(ep, ret);
	} else {
		mpa_ep_disarm(ep);
		mpa_count(ep->dev, MPA_CNT_CONN_PASSIVE);
	}
	mpa_ep_unuse(ep);
	return ret;
}

/**
 * mpa_iw_reject - iw_cm: reject
 * @cm_id: identifier the core has made for the Request
 * @pd: private data
 * @pd_len: bytes of it
 *
 * Return: 0, or -ECONNRESET if the peer has given up.
 */
int mpa_iw_reject(struct iw_cm_id *cm_id, const void *pd, u8 pd_len)
{
	struct mpa_ep *ep = mpa_ep_use_request(cm_id);
	int ret;

	if (!ep)
		return -ECONNRESET;
	ret = mpa_reject(ep->conn, &ep->params, pd, pd_len);
	if (ret) {
		mpa_ep_abort(ep);
	} else {
		mpa_count(ep->dev, MPA_CNT_CONN_REJECTED);
		mpa_ep_linger(ep);
	}
	mpa_ep_unuse(ep);
	return ret;
}

/**
 * mpa_requests_destroy - at module exit; no endpoint is left
 */
void mpa_requests_destroy(void)
{
	WARN_ON_ONCE(!xa_empty(&mpa_requests));
	xa_destroy(&mpa_requests);
}
