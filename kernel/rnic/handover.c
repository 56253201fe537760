// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: sockets that applications hand over to queue pairs (RFC 5044
 * section 7.1.5 and appendix B.3).
 *
 * The call waits for the end of the startup exchange, so there is no identifier
 * of the core. The endpoint holds a reference to the file of the socket, whose
 * descriptor is closed. If the endpoint is DEAD when the call ends, the
 * application gets a descriptor again: for plain TCP if the startup exchange
 * ended with a rejection or did not begin, else for a stream that has ended.
 */
#include <linux/file.h>
#include <net/tcp.h>

#include "accept.h"
#include "cm_params.h"
#include "connect.h"
#include "device.h"
#include "ep_close.h"
#include "ep_stream.h"
#include "ep_work.h"
#include "handover.h"
#include "qp.h"
#include "sock.h"
#include "ulp/mpa.h"

/* What the peer has sent; the socket lock is held. */
static void rnic_handover_note(struct rnic_ep *ep, const void *pd, u32 pd_len)
{
	struct rnic_handover *h = ep->handover;

	rnic_ep_assert_locked(ep);
	if (!h)
		return;
	h->peer_pd_len = pd_len;
	memcpy(h->peer_pd, pd, pd_len);
}

static void rnic_handover_note_depths(struct rnic_ep *ep)
{
	struct rnic_handover *h = ep->handover;

	rnic_ep_assert_locked(ep);
	h->ird = ep->ird;
	h->ord = ep->ord;
}

static int rnic_handover_request(struct rnic_ep *ep, const struct mpa_frame *req,
				 const void *pd, u32 pd_len)
{
	rnic_handover_note(ep, pd, pd_len);
	if (ep->handover)
		complete(&ep->handover->done);
	return 0;
}

static int rnic_handover_reply(struct rnic_ep *ep, const void *pd, u32 pd_len)
{
	struct rnic_handover *h = ep->handover;

	/* The caller was killed, and aborts. */
	if (!h)
		return -ECONNABORTED;
	rnic_handover_note(ep, pd, pd_len);
	rnic_handover_note_depths(ep);
	h->open = true;
	rnic_count(ep->dev, RNIC_CNT_CONN_ACTIVE);
	complete(&h->done);
	return 0;
}

static void rnic_handover_released(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct rnic_handover *h;

	lock_sock(sk);
	h = ep->handover;
	if (h && !h->open) {
		h->status = ep->status ?: -ECONNABORTED;
		if (h->status == -ECONNREFUSED) {
			rnic_handover_note(ep, ep->reply_pd, ep->reply_pd_len);
			rnic_handover_note_depths(ep);
		}
		complete(&h->done);
	}
	release_sock(sk);
}

static const struct rnic_ep_role rnic_handover_initiator = {
	.reply		= rnic_handover_reply,
	.failed		= rnic_ep_startup_over,
	.released	= rnic_handover_released,
};

static const struct rnic_ep_role rnic_handover_responder = {
	.responder	= true,
	.request	= rnic_handover_request,
	.released	= rnic_handover_released,
};

/*
 * The socket must be one that rdma_cm could have made for the device. An
 * Initiator sends the last message of streaming mode by itself, and what came
 * before the Request cannot be its Reply.
 */
static int rnic_handover_check(struct rnic_dev *dev, struct socket *sock,
			       const struct rnic_handover *h)
{
	struct sockaddr_storage local, remote;
	struct sock *sk = sock->sk;
	bool unread;
	int ret;

	if (!net_eq(sock_net(sk), dev_net(dev->netdev)))
		return -ENODEV;
	ret = rnic_sock_names(sock, &local, &remote);
	if (ret)
		return ret;
	if (!rnic_addr_on_netdev(dev->netdev, &local))
		return -EADDRNOTAVAIL;
	lock_sock(sk);
	unread = tcp_sk(sk)->rcv_nxt != tcp_sk(sk)->copied_seq;
	release_sock(sk);
	return unread && !h->responder ? -ENOTEMPTY : 0;
}

static int rnic_handover_start(struct rnic_ep *ep, const struct rnic_handover *h)
{
	const u32 *v = ep->config.v;

	if (h->responder)
		return mpa_start_responder(ep->conn, h->last, h->last_len,
					   v[MPA_A_CONFIG_STARTUP_TIMEOUT]);
	return mpa_start_initiator(ep->conn, &ep->params, h->pd, h->pd_len,
				   v[MPA_A_CONFIG_REPLY_TIMEOUT]);
}

/*
 * Returns the endpoint with a reference, its startup exchange begun; or an error,
 * and @conn was given back.
 */
static struct rnic_ep *rnic_handover_begin(struct rnic_dev *dev,
					   struct rnic_qp *qp, struct file *file,
					   struct mpa_conn *conn,
					   const struct mpa_config *cfg,
					   struct rnic_handover *h)
{
	struct sockaddr_storage local, remote;
	struct socket *sock = mpa_socket(conn);
	struct rnic_ep *ep;
	int ret;

	ep = rnic_ep_create(dev, sock, h->responder ? &rnic_handover_responder :
						      &rnic_handover_initiator);
	if (IS_ERR(ep)) {
		mpa_give_back(conn);
		return ep;
	}
	ep->file = get_file(file);
	ep->freed = &h->freed;
	h->has_ep = true;
	ep->config = *cfg;
	rnic_cm_fill_params(cfg, h->ird, h->ord, &ep->params);
	ep->handover = h;
	rnic_sock_names(sock, &local, &remote);
	rnic_ep_set_names(ep, &local, &remote);
	rnic_ep_adopt(ep, conn, h->responder ? RNIC_EP_AWAITING :
					       RNIC_EP_REQUESTING);
	/* From now on the endpoint is aborted if the network device moves. */
	ret = net_eq(sock_net(sock->sk), dev_net(dev->netdev)) ? 0 : -ENODEV;
	if (!ret)
		ret = rnic_ep_bind(ep, NULL, qp);
	if (!ret)
		ret = rnic_handover_start(ep, h);
	if (!ret) {
		mutex_unlock(&ep->lock);
		return ep;
	}
	rnic_ep_finish(ep, false, 0);
	rnic_ep_unuse(ep);
	return ERR_PTR(ret);
}

/* The Request has come. */
static void rnic_handover_accept(struct rnic_ep *ep, struct rnic_handover *h)
{
	struct sock *sk = ep->sock->sk;
	int ret;

	ret = mpa_accept(ep->conn, &ep->params, h->pd, h->pd_len);
	if (!ret && !ep->operational)
		ret = -ECONNABORTED;
	if (ret) {
		WRITE_ONCE(ep->status, ret);
		/* Private data for a Start Key: only the end tells the peer. */
		if (ret == -EMSGSIZE)
			rnic_ep_abort(ep);
		else
			rnic_ep_accept_failed(ep, ret);
		return;
	}
	rnic_ep_disarm(ep);
	rnic_count(ep->dev, RNIC_CNT_CONN_PASSIVE);
	lock_sock(sk);
	rnic_handover_note_depths(ep);
	h->open = true;
	release_sock(sk);
}

static bool rnic_handover_starting(const struct rnic_ep *ep)
{
	enum rnic_ep_state state = READ_ONCE(ep->state);

	return state == RNIC_EP_REQUESTING || state == RNIC_EP_AWAITING ||
	       state == RNIC_EP_REQUESTED;
}

/*
 * Drops the reference of rnic_handover_begin(). The wait has the limits of the
 * settings. A startup exchange cannot be resumed, so only a signal that kills
 * ends it.
 */
static int rnic_handover_finish(struct rnic_ep *ep, struct rnic_handover *h,
				bool *free)
{
	/* The machine may be suspended meanwhile; the core holds a lock for reading. */
	bool killed = wait_for_completion_state(&h->done, TASK_KILLABLE |
						TASK_FREEZABLE_UNSAFE);
	struct sock *sk = ep->sock->sk;
	int ret;

	mutex_lock(&ep->lock);
	if (killed && rnic_handover_starting(ep)) {
		WRITE_ONCE(ep->status, -EINTR);
		rnic_ep_abort(ep);
	} else if (READ_ONCE(ep->state) == RNIC_EP_REQUESTED) {
		rnic_handover_accept(ep, h);
	}
	lock_sock(sk);
	ep->handover = NULL;
	release_sock(sk);
	if (READ_ONCE(ep->state) == RNIC_EP_ESTABLISHED)
		rnic_ep_tune(ep);
	ret = h->open ? 0 : h->status;
	/* It may have been open, and have ended. */
	*free = ret && READ_ONCE(ep->state) == RNIC_EP_DEAD;
	if (!*free)
		ep->freed = NULL;
	rnic_ep_unuse(ep);
	return ret;
}

/*
 * Runs the startup exchange. @free: set if it has failed and the stream was given
 * back, so that the application may have the socket again.
 */
static int rnic_handover_run(struct rnic_qp *qp, struct file *file,
			     struct mpa_conn *conn, const struct mpa_config *cfg,
			     struct rnic_handover *h, bool *free)
{
	struct rnic_dev *dev = to_rnic_dev(qp->ibqp.device);
	int ret = rnic_handover_check(dev, mpa_socket(conn), h);
	struct rnic_ep *ep;

	*free = true;
	if (ret) {
		mpa_give_back(conn);
		return ret;
	}
	init_completion(&h->done);
	init_completion(&h->freed);
	ep = rnic_handover_begin(dev, qp, file, conn, cfg, h);
	return IS_ERR(ep) ? PTR_ERR(ep) : rnic_handover_finish(ep, h, free);
}

/**
 * rnic_qp_from_socket() - connect a QP by the socket of an application
 * @qp: the QP, in IDLE; of the caller
 * @h: the socket, TCP with the protocol mpa attached and not started, and how;
 *	results are set, also after a refusal
 *
 * Process context; waits for the peer. What the startup exchange agrees on is
 * limited by the settings of the device, as for rdma_cm.
 *
 * Return: 0, and the QP is in RTS; else the socket is plain TCP as before, with
 * errors of mpa_take_fd() or -ENODEV (connections are disabled, or the socket is
 * in another namespace), -EADDRNOTAVAIL (its address is not one of the device),
 * -ENOTEMPTY (Initiator with unread bytes), -EMSGSIZE (private data for a Start
 * Key), -EINVAL or -EISCONN (the QP), -ENOMEM (or the connection has ended, if a part
 * of the Request was sent), -ECONNREFUSED (the peer has
 * rejected); or the connection has ended, with errors of &mpa_ops.reply,
 * &mpa_ops.ended or mpa_accept(), or -EINTR (killed), or -ECONNABORTED: QP or
 * device have ended it.
 */
int rnic_qp_from_socket(struct rnic_qp *qp, struct rnic_handover *h)
{
	struct mpa_config cfg;
	struct mpa_conn *conn;
	struct file *file;
	bool free;
	int ret;

	ret = rnic_cm_get_config(to_rnic_dev(qp->ibqp.device), &cfg);
	if (!ret && h->pd_len > rnic_cm_pd_max(&cfg))
		ret = -EMSGSIZE;
	/*
	 * Binding checks it again. By then the endpoint has a reference to the
	 * file, which it drops later: the caller could not try again at once.
	 */
	if (!ret)
		ret = rnic_qp_may_bind(qp);
	if (ret)
		return ret;
	conn = mpa_take_fd(&h->fd, &file);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ret = rnic_handover_run(qp, file, conn, &cfg, h, &free);
	if (free) {
		/*
		 * Once the application has the descriptor, it can hold the lock of
		 * the socket for any time, for which others may wait who have
		 * references to the endpoint; and that of the endpoint to the file
		 * may be the last one, whose work waits for the peer (SO_LINGER).
		 */
		if (h->has_ep)
			wait_for_completion(&h->freed);
		h->fd = mpa_give_fd(file);
	} else {
		fput(file);
	}
	return ret;
}
