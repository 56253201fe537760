// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: connecting, as Initiator.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "cm_params.h"
#include "compat/memcg.h"
#include "compat/net.h"
#include "connect.h"
#include "device.h"
#include "ep.h"
#include "ep_close.h"
#include "ep_event.h"
#include "ep_stream.h"
#include "ep_work.h"
#include "qp.h"
#include "sock.h"
#include "ulp/mpa.h"

/**
 * struct rnic_attempt - an attempt to connect
 * @cm_id: the core's identifier; has the addresses
 * @qp: the queue pair
 * @config: settings of the connection
 * @params: of the Request
 * @pd: its private data
 * @pd_len: bytes of @pd
 * @uid: the user who connects: for routing by user, and to be shown
 * @any_port: TCP chooses the local port, not the core
 * @ephemeral: the attempt got as far as connecting, and the port that the core has
 *	chosen is one that TCP could assign; set by the attempt
 */
struct rnic_attempt {
	struct iw_cm_id *cm_id;
	struct rnic_qp *qp;
	const struct mpa_config *config;
	const struct mpa_params *params;
	const void *pd;
	u32 pd_len;
	kuid_t uid;
	bool any_port;
	bool ephemeral;
};

/* Starts TCP's handshake; its result is handled by the endpoint's work. */
static int rnic_ep_start_connect(struct rnic_ep *ep, const struct iw_cm_id *cm_id)
{
	struct sockaddr_storage addr = rnic_cm_has_mapper(ep->dev) ?
		cm_id->m_remote_addr : cm_id->remote_addr;
	struct sock *sk = ep->sock->sk;
	int ret;

	rnic_addr_scope(ep->dev, &addr);
	lock_sock(sk);
	rnic_ep_set_state(ep, RNIC_EP_CONNECTING);
	rnic_ep_hook(ep, NULL);
	release_sock(sk);
	rnic_ep_arm(ep, RNIC_CM_CONNECT_MS);
	ret = kernel_connect(ep->sock, (struct mpa_sockaddr *)&addr,
			     rnic_addr_len(&addr), O_NONBLOCK);
	if (!ret)
		rnic_ep_kick(ep, RNIC_EP_DO_TCP);
	return ret == -EINPROGRESS ? 0 : ret;
}

static const struct rnic_ep_role rnic_connect_role;

static struct rnic_ep *rnic_ep_open(struct rnic_dev *dev, struct rnic_attempt *a)
{
	struct socket *sock;
	struct rnic_ep *ep;
	int ret;

	ret = rnic_sock_open(dev, a->cm_id, &sock);
	if (ret)
		return ERR_PTR(ret);
	/* What ss shows, before 6.17, is that of the inode. */
	SOCK_INODE(sock)->i_uid = a->uid;
	WRITE_ONCE(sock->sk->sk_uid, a->uid);
	ret = rnic_sock_bind(dev, sock, a->cm_id, a->any_port);
	if (ret)
		goto err_sock;
	a->ephemeral = rnic_sock_port_ephemeral(sock_net(sock->sk),
						rnic_addr_port(&a->cm_id->local_addr));
	ep = rnic_ep_create(dev, sock, &rnic_connect_role);
	if (!IS_ERR(ep)) {
		/* Nothing is charged yet, so this cannot fail. */
		mpa_sk_set_memcg(sock->sk, ep->memcg);
		return ep;
	}
	ret = PTR_ERR(ep);

err_sock:
	sock_release(sock);
	return ERR_PTR(ret);
}

static int rnic_ep_set_pd(struct rnic_ep *ep, const void *pd, u32 pd_len)
{
	if (!pd_len)
		return 0;
	ep->pd = kmemdup(pd, pd_len, GFP_KERNEL_ACCOUNT);
	ep->pd_len = pd_len;
	return ep->pd ? 0 : -ENOMEM;
}

/*
 * The network device may have moved since that was checked. From now on, the
 * endpoint is listed, and a move ends it.
 */
static bool rnic_ep_still_same_net(const struct rnic_ep *ep,
				   const struct iw_cm_id *cm_id)
{
	return net_eq(sock_net(ep->sock->sk), dev_net(ep->dev->netdev)) &&
	       rnic_cm_same_net(cm_id);
}

static int rnic_ep_attempt(struct rnic_dev *dev, struct rnic_attempt *a)
{
	struct rnic_ep *ep = rnic_ep_open(dev, a);
	int ret;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ep->config = *a->config;
	ep->params = *a->params;
	ret = rnic_ep_still_same_net(ep, a->cm_id) ? 0 : -ENODEV;
	if (!ret)
		ret = rnic_ep_set_pd(ep, a->pd, a->pd_len);
	if (!ret)
		ret = rnic_ep_bind(ep, a->cm_id, a->qp);
	if (!ret)
		ret = rnic_ep_start_connect(ep, a->cm_id);
	if (ret)
		rnic_ep_finish(ep, false, 0);
	else
		ep->reply_due = true;
	rnic_ep_unuse(ep);
	return ret;
}

/*
 * Begins to connect; takes references to @a->cm_id and @a->qp. After an error there
 * is no event: work that was queued meanwhile waits for rnic_ep.lock, and then
 * finds the endpoint DEAD.
 */
static int rnic_ep_connect(struct rnic_dev *dev, struct rnic_attempt *a)
{
	int ret = rnic_ep_attempt(dev, a);

	/*
	 * TCP has a connection from this port to the peer, which the core does not know:
	 * it is still ending, or TCP has chosen its port. Another is as good, see
	 * rnic_sock_bind().
	 */
	if (ret != -EADDRNOTAVAIL || !a->ephemeral)
		return ret;
	a->any_port = true;
	return rnic_ep_attempt(dev, a);
}

/**
 * rnic_iw_connect() - iw_cm: connect
 * @cm_id: the core's identifier
 * @param: QP, depths, private data
 *
 * Never blocks on the peer. Return: 0, CONNECT_REPLY will follow; else a
 * negative error and no event: -EINVAL (no such QP, not idle, or too much
 * private data; any, for a Start Key), -EPERM (the QP of another process),
 * -EISCONN (QP bound already), -ENODEV (the network device is gone, or in another
 * namespace), -EAFNOSUPPORT (addresses of two families), -ENOMEM, or an error of
 * TCP.
 */
int rnic_iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_dev *dev = to_rnic_dev(cm_id->device);
	struct mpa_params params;
	struct mpa_config cfg;
	struct rnic_attempt a = {
		.cm_id = cm_id,
		.config = &cfg,
		.params = &params,
		.pd = param->private_data,
		.pd_len = param->private_data_len,
		.uid = current_fsuid(),
	};
	int ret;

	if (cm_id->local_addr.ss_family != cm_id->remote_addr.ss_family)
		return -EAFNOSUPPORT;
	if (!rnic_cm_same_net(cm_id))
		return -ENODEV;
	ret = rnic_cm_get_config(dev, &cfg);
	if (ret)
		return ret;
	if (param->private_data_len > rnic_cm_pd_max(&cfg))
		return -EINVAL;
	a.qp = rnic_cm_get_qp(cm_id, param->qpn);
	if (IS_ERR(a.qp))
		return PTR_ERR(a.qp);
	rnic_cm_fill_params(&cfg, param->ird, param->ord, &params);
	ret = rnic_ep_connect(dev, &a);
	rnic_qp_put(a.qp);
	return ret;
}

static void rnic_ep_fail(struct rnic_ep *ep, int status)
{
	ep->status = status;
	rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
	rnic_ep_finish(ep, false, 0);
}

/* TCP's handshake succeeded: attach and start the stream. */
static void rnic_ep_connected(struct rnic_ep *ep)
{
	struct sockaddr_storage local, remote;
	int ret = rnic_sock_names(ep->sock, &local, &remote);

	rnic_ep_set_names(ep, &local, &remote);
	if (!ret)
		ret = rnic_ep_attach(ep, RNIC_EP_REQUESTING);
	if (!ret) {
		rnic_ep_tune(ep);
		rnic_ep_disarm(ep);
		ret = mpa_start_initiator(ep->conn, &ep->params, ep->pd,
					  ep->pd_len,
					  ep->config.v[MPA_A_CONFIG_REPLY_TIMEOUT]);
	}
	if (ret)
		rnic_ep_fail(ep, ret == -ENOTCONN ? -ECONNRESET : ret);
}

static void rnic_ep_tcp_connecting(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	int err = 0;

	lock_sock(sk);
	if (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV) {
		release_sock(sk);
		return;
	}
	if (sk->sk_state == TCP_CLOSE)
		err = sock_error(sk) ?: -ECONNRESET;
	rnic_ep_unhook(ep);
	release_sock(sk);
	if (err)
		rnic_ep_fail(ep, err);
	else
		rnic_ep_connected(ep);
}

/*
 * For an older peer the Request is malformed, and it closes TCP (RFC 6581
 * section 10). A peer of revision 0 may answer, but takes the depths for
 * private data. Another endpoint tries again with revision 1, since a socket
 * cannot connect twice. It takes over QP and identifier, and reports the
 * result.
 */
static void rnic_ep_fall_back(struct rnic_ep *ep)
{
	struct mpa_params params = ep->params;
	struct sock *sk = ep->sock->sk;
	struct rnic_attempt a = {
		.config = &ep->config,
		.params = &params,
		.pd = ep->pd,
		.pd_len = ep->pd_len,
		.uid = READ_ONCE(sk->sk_uid),
	};
	int ret;

	rnic_count(ep->dev, RNIC_CNT_CONN_FALLBACK);
	params.rev = MPA_REV_1;
	params.p2p = false;
	params.rtr = 0;

	rnic_ep_detach(ep);
	lock_sock(sk);
	a.qp = ep->qp;
	a.cm_id = ep->cm_id;
	ep->qp = NULL;
	ep->qpn = 0;
	/* rnic_ep_of_id() reads it without the socket lock. */
	WRITE_ONCE(ep->cm_id, NULL);
	ep->reply_due = false;
	/* Both endpoints use the same ports, if they can. */
	rnic_ep_reset_tcp(ep);
	rnic_qp_unbind(a.qp, ep);
	release_sock(sk);
	rnic_ep_forget_id(ep);

	ret = rnic_ep_connect(ep->dev, &a);
	if (ret) {
		rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
		rnic_ep_report_failure(ep, a.cm_id, ret);
	}
	rnic_qp_put(a.qp);
	a.cm_id->rem_ref(a.cm_id);
	rnic_ep_finish(ep, false, 0);
}

/* Can and may the Request be repeated in revision 1? */
static bool rnic_ep_may_fall_back(const struct rnic_ep *ep)
{
	const struct mpa_params *p = &ep->params;

	if (p->rev < MPA_REV_2 || p->rev_min >= MPA_REV_2 || p->plain ||
	    ep->config.v[MPA_A_CONFIG_STARTUP] == MPA_CONFIG_STARTUP_START_KEY)
		return false;
	return ep->status == -ECONNRESET ||
	       (ep->status == -EPROTONOSUPPORT && p->permissive);
}

/*
 * A peer that refused, or has an older revision, will close and gets a FIN. Any
 * other peer gets a RST.
 */
static bool rnic_ep_fails_hard(const struct rnic_ep *ep)
{
	return ep->status != -ECONNREFUSED && ep->status != -EPROTONOSUPPORT;
}

/**
 * rnic_ep_startup_over() - end a connection whose startup exchange has failed
 * @ep: the endpoint of an Initiator, locked, with the error in rnic_ep.status
 */
void rnic_ep_startup_over(struct rnic_ep *ep)
{
	rnic_count(ep->dev, ep->status == -ECONNREFUSED ?
				   RNIC_CNT_CONN_REJECTED :
				   RNIC_CNT_CONN_STARTUP_ERROR);
	rnic_ep_finish(ep, rnic_ep_fails_hard(ep), ep->status);
}

static void rnic_ep_failed(struct rnic_ep *ep)
{
	if (rnic_ep_may_fall_back(ep))
		rnic_ep_fall_back(ep);
	else
		rnic_ep_startup_over(ep);
}

static const struct rnic_ep_role rnic_connect_role = {
	.tcp	= rnic_ep_tcp_connecting,
	.reply	= rnic_ep_report_reply,
	.failed	= rnic_ep_failed,
};
