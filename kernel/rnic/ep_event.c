// SPDX-License-Identifier: GPL-2.0-only
/* Endpoints: events for the connection manager of the core. */
#include <rdma/iw_cm.h>

#include "device.h"
#include "ep.h"
#include "ep_event.h"
#include "listener.h"
#include "qp.h"
#include "trace.h"

static int rnic_ep_send_event(const struct rnic_ep *ep, struct iw_cm_id *cm_id,
			      struct iw_cm_event *event)
{
	trace_rnic_cm_event(&ep->dev->ibdev, ep->sock->sk, event->event,
			    event->status);
	return cm_id->event_handler(cm_id, event);
}

/*
 * The core counts depths from its own side: ird is the number of Reads it may
 * issue, ord the number the peer may issue. Other iWARP devices report the
 * reverse for a connection. Programs do not know that, but SMB Direct corrects it
 * for all iWARP devices.
 */
static void rnic_ep_fill_depths(const struct rnic_ep *ep,
				struct iw_cm_event *event)
{
	bool kernel = ep->qp && !ep->qp->user;

	event->ird = kernel ? ep->ird : ep->ord;
	event->ord = kernel ? ep->ord : ep->ird;
}

static void rnic_ep_fill_names(const struct rnic_ep *ep,
			       struct iw_cm_event *event)
{
	memcpy(&event->local_addr, &ep->local, sizeof(ep->local));
	memcpy(&event->remote_addr, &ep->remote, sizeof(ep->remote));
}

/**
 * rnic_ep_event_set_pd() - put private data into an event
 * @event: the event
 * @pd: private data, which the core copies
 * @pd_len: bytes of it, at most the pd_max of the endpoint's &struct mpa_ops
 */
void rnic_ep_event_set_pd(struct iw_cm_event *event, const void *pd, u32 pd_len)
{
	/* The core copies it, but passes the pointer on if there is nothing to copy. */
	event->private_data = pd_len ? (void *)pd : NULL;
	event->private_data_len = pd_len;
}

/**
 * rnic_ep_report_request() - report a Request to the listener
 * @ep: the endpoint; socket lock held
 * @req: the Request
 * @pd: its private data
 * @pd_len: bytes of it
 *
 * Return: 0, or an error of the core.
 */
int rnic_ep_report_request(struct rnic_ep *ep, const struct mpa_frame *req,
			   const void *pd, u32 pd_len)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)ep->request,
		/*
		 * Without the enhanced exchange only the settings limit the
		 * consumer.
		 */
		.ird = ep->params.ord,
		.ord = ep->params.ird,
	};

	rnic_ep_assert_locked(ep);
	rnic_ep_fill_names(ep, &event);
	if (req->enhanced) {
		event.ird = min_t(u16, req->ird, event.ird);
		event.ord = min_t(u16, req->ord, event.ord);
	}
	rnic_ep_event_set_pd(&event, pd, pd_len);
	trace_rnic_cm_event(&ep->dev->ibdev, ep->sock->sk, event.event,
			    event.status);
	return rnic_listener_event(ep->listener, &event);
}

/**
 * rnic_ep_report_established() - report the Responder's success
 * @ep: the endpoint, locked
 *
 * Return: 0, or an error of the core.
 */
int rnic_ep_report_established(struct rnic_ep *ep)
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

/**
 * rnic_ep_report_reply() - report the Initiator's success
 * @ep: the endpoint; socket lock held
 * @pd: private data of the Reply
 * @pd_len: bytes of it
 *
 * Return: 0, or an error of the core.
 */
int rnic_ep_report_reply(struct rnic_ep *ep, const void *pd, u32 pd_len)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
	};
	int ret;

	rnic_ep_assert_locked(ep);
	rnic_ep_fill_names(ep, &event);
	/*
	 * The core looks for the mapping by this address when it destroys the
	 * identifier, and keeps the mapping for ever if it is another one.
	 */
	if (ep->cm_id->mapped)
		event.local_addr = ep->cm_id->m_local_addr;
	rnic_ep_fill_depths(ep, &event);
	rnic_ep_event_set_pd(&event, pd, pd_len);
	ret = rnic_ep_send_event(ep, ep->cm_id, &event);
	if (ret)
		return ret;
	ep->reply_due = false;
	ep->open = true;
	rnic_count(ep->dev, RNIC_CNT_CONN_ACTIVE);
	return 0;
}

/**
 * rnic_ep_report_failure() - report the Initiator's failure
 * @ep: the endpoint
 * @cm_id: the core's identifier
 * @status: a negative error
 */
void rnic_ep_report_failure(const struct rnic_ep *ep, struct iw_cm_id *cm_id,
			    int status)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
	};

	rnic_ep_fill_names(ep, &event);
	if (status == -ECONNREFUSED) {
		rnic_ep_fill_depths(ep, &event);
		rnic_ep_event_set_pd(&event, ep->reply_pd, ep->reply_pd_len);
	}
	if (!rnic_ep_send_event(ep, cm_id, &event))
		return;
	/* No memory for the private data. Without it, the core cannot fail. */
	rnic_ep_event_set_pd(&event, NULL, 0);
	WARN_ON_ONCE(rnic_ep_send_event(ep, cm_id, &event));
}

/**
 * rnic_ep_report_close() - report the end of a connection
 * @ep: the endpoint
 * @cm_id: the core's identifier
 */
void rnic_ep_report_close(const struct rnic_ep *ep, struct iw_cm_id *cm_id)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CLOSE,
	};

	WARN_ON_ONCE(rnic_ep_send_event(ep, cm_id, &event));
}
