// SPDX-License-Identifier: GPL-2.0-only
/* Endpoints: the MPA stream, whose callbacks lead to the QP and to the core. */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>

#include "ddp/check.h"
#include "device.h"
#include "ep.h"
#include "ep_close.h"
#include "ep_stream.h"
#include "listener.h"
#include "qp.h"
#include "qp_stream.h"
#include "rx.h"
#include "tx.h"
#include "ulp/mpa.h"

/* Callbacks of the stream: socket lock held, nothing may sleep ------------- */

static void rnic_ep_op_request(struct mpa_conn *conn, const struct mpa_frame *req,
			       const void *pd, u32 pd_len)
{
	struct rnic_ep *ep = mpa_priv(conn);

	if (ep->state != RNIC_EP_AWAITING)
		return;
	rnic_ep_set_state(ep, RNIC_EP_REQUESTED);
	rnic_ep_arm(ep, RNIC_CM_ANSWER_MS);
	/* No answer of the consumer could establish the connection. */
	if (!mpa_request_supported(&ep->params, req) ||
	    ep->role->request(ep, req, pd, pd_len))
		rnic_ep_kick(ep, RNIC_EP_DO_REFUSE);
}

static void rnic_ep_op_operational(struct mpa_conn *conn,
				   const struct mpa_result *res)
{
	struct rnic_ep *ep = mpa_priv(conn);

	ep->ird = min_t(u16, res->ird, RNIC_MAX_IRD);
	ep->ord = min_t(u16, res->ord, RNIC_MAX_ORD);
	if (WARN_ON_ONCE(!ep->qp))
		return;
	/* If the consumer moved the QP to ERR, the caller ends the stream. */
	if (rnic_qp_operational(ep->qp, res))
		return;
	/* rnic_tx_doorbell() reads it without the lock. */
	WRITE_ONCE(ep->operational, true);
	rnic_ep_set_state(ep, RNIC_EP_ESTABLISHED);
}

static void rnic_ep_refused(struct rnic_ep *ep, const struct mpa_result *res,
			    const void *pd, u32 pd_len)
{
	struct mem_cgroup *old = set_active_memcg(ep->memcg);

	/* Often in softirq. Without memory, the consumer gets no private data. */
	if (pd_len)
		ep->reply_pd = kmemdup(pd, pd_len, GFP_ATOMIC | __GFP_ACCOUNT |
						   __GFP_NOWARN);
	set_active_memcg(old);
	ep->reply_pd_len = ep->reply_pd ? pd_len : 0;
	ep->ird = min_t(u16, res->peer_ord, RNIC_MAX_IRD);
	ep->ord = min_t(u16, res->peer_ird, RNIC_MAX_ORD);
}

/* The QP sends a Terminate, then requests an orderly end. */
static void rnic_ep_startup_fault(struct rnic_ep *ep, const struct ddp_fault *f)
{
	rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
	rnic_ep_set_state(ep, RNIC_EP_CLOSING);
	/* rnic_ep_orderly() reads both without the socket lock. */
	WRITE_ONCE(ep->fin_due, true);
	rnic_ep_start_closing(ep);
	rnic_qp_startup_fault(ep->qp, f);
}

static void rnic_ep_op_reply(struct mpa_conn *conn, int status,
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
	/*
	 * If the core fails, the peer must get a Terminate, too (RFC 6581
	 * section 8).
	 */
	if (!status)
		status = ep->role->reply(ep, pd, pd_len);
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

static int rnic_ep_op_ulpdu(struct mpa_conn *conn, struct mpa_rx *rx, u32 len)
{
	struct rnic_ep *ep = mpa_priv(conn);

	/* Bytes that arrive during detaching are refused. */
	return ep->conn && ep->qp ? rnic_rx_ulpdu(ep->qp, conn, rx, len) : -EPIPE;
}

static bool rnic_ep_op_early(struct mpa_conn *conn, struct mpa_rx *rx, u32 len,
			     u32 end)
{
	struct rnic_ep *ep = mpa_priv(conn);

	return ep->conn && ep->qp && rnic_rx_early(ep->qp, rx, len, end);
}

static void rnic_ep_op_settled(struct mpa_conn *conn)
{
	struct rnic_ep *ep = mpa_priv(conn);

	if (ep->qp)
		rnic_rx_settled(ep->qp);
}

static void rnic_ep_op_answer(struct mpa_conn *conn)
{
	struct rnic_ep *ep = mpa_priv(conn);

	if (ep->conn && ep->qp)
		rnic_tx_answer(ep->qp, conn);
}

static void rnic_ep_op_writable(struct mpa_conn *conn)
{
	struct rnic_ep *ep = mpa_priv(conn);

	/* After an answer, the QP itself requests the end once more. */
	if (ep->fin_due && !ep->status &&
	    !(ep->qp && rnic_tx_answering(ep->qp)))
		rnic_ep_kick(ep, RNIC_EP_DO_ORDERLY);
	if (ep->qp)
		rnic_qp_writable(ep->qp);
}

static void rnic_ep_op_ended(struct mpa_conn *conn, enum mpa_error code, int err)
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
	if (!ep->operational && !ep->status)
		WRITE_ONCE(ep->status, err ?: -ECONNRESET);
	if (ep->qp && ep->operational)
		rnic_qp_closed(ep->qp, err);
	rnic_ep_kick(ep, RNIC_EP_DO_CLOSED);
}

static void rnic_ep_op_plain(struct mpa_conn *conn)
{
	rnic_ep_kick(mpa_priv(conn), RNIC_EP_DO_PLAIN);
}

static const struct mpa_ops rnic_ep_ops = {
	.request	= rnic_ep_op_request,
	.operational	= rnic_ep_op_operational,
	.reply		= rnic_ep_op_reply,
	.ulpdu		= rnic_ep_op_ulpdu,
	.early		= rnic_ep_op_early,
	.settled	= rnic_ep_op_settled,
	.answer		= rnic_ep_op_answer,
	.writable	= rnic_ep_op_writable,
	.ended		= rnic_ep_op_ended,
	.plain		= rnic_ep_op_plain,
	.pd_max		= RNIC_EP_PD_MAX,
};

/* Attaching and binding ---------------------------------------------------- */

/* The owner of the stream that netlink shows. */
static struct mpa_label rnic_ep_label(const struct rnic_ep *ep)
{
	return (struct mpa_label){
		.dev_index = ep->dev->ibdev.index,
		.qpn = ep->qpn,
		.listen_id = ep->listener ? rnic_listener_id(ep->listener) : 0,
	};
}

/*
 * TCP finds out that the peer is gone. Without keepalive an idle QP would not
 * notice it. The setting peer-timeout covers unacknowledged data, too: the last
 * of a few probes, of which TCP has times in seconds, is sent at its end.
 */
static void rnic_ep_watch_peer(const struct rnic_ep *ep, struct sock *sk)
{
	u32 ms = ep->config.v[MPA_A_CONFIG_PEER_TIMEOUT];
	u32 total = max(DIV_ROUND_UP(ms, MSEC_PER_SEC), 2U);
	u32 interval = max(total / 4, 1U);
	u32 probes = min(total - 1, 3U);

	if (ms) {
		tcp_sock_set_user_timeout(sk, total * MSEC_PER_SEC);
		tcp_sock_set_keepidle(sk, total - probes * interval);
		tcp_sock_set_keepintvl(sk, interval);
	}
	if (ms || ep->config.v[MPA_A_CONFIG_KEEPALIVE])
		sock_set_keepalive(sk);
}

/*
 * What is lost with nothing behind it waits for TCP's timer, whose least time is
 * long for a local network. The two ticks are the least of TCP itself
 * (TCP_TIMEOUT_MIN). A peer with the same setting must have its acknowledgements
 * by then.
 */
static void rnic_ep_set_rto_min(const struct rnic_ep *ep, struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	unsigned long ms = ep->config.v[MPA_A_CONFIG_RTO_MIN];
	u32 least = max(msecs_to_jiffies(ms), 2UL);

	rnic_ep_assert_locked(ep);
	if (!ms)
		return;
	WRITE_ONCE(icsk->icsk_rto_min, least);
	WRITE_ONCE(icsk->icsk_delack_max, least / 2);
}

/**
 * rnic_ep_tune() - set up TCP as the settings of the device say
 * @ep: the endpoint, locked, with a stream
 *
 * Process context; takes the socket lock.
 */
void rnic_ep_tune(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_watch_peer(ep, sk);
	lock_sock(sk);
	rnic_ep_set_rto_min(ep, sk);
	release_sock(sk);
}

/**
 * rnic_ep_rejected() - end a connection that was rejected
 * @ep: the endpoint of a Responder, locked
 *
 * Until now the socket could have become plain TCP; that of an application does.
 */
void rnic_ep_rejected(struct rnic_ep *ep)
{
	rnic_count(ep->dev, RNIC_CNT_CONN_REJECTED);
	if (!ep->file)
		rnic_ep_tune(ep);
	rnic_ep_linger(ep);
}

static void rnic_ep_use(struct rnic_ep *ep, struct mpa_conn *conn,
			enum rnic_ep_state to)
{
	rnic_ep_assert_locked(ep);
	atomic_inc(&ep->dev->nr_conn);
	ep->conn = conn;
	rnic_ep_set_state(ep, to);
	mpa_set_config(conn, &ep->config);
	if (ep->config.v[MPA_A_CONFIG_EARLY_PLACEMENT])
		mpa_want_early(conn);
}

/**
 * rnic_ep_attach() - attach a stream to the socket
 * @ep: the endpoint, locked
 * @to: state to move to
 *
 * rnic_ep_tune() is to follow, once the socket cannot become plain TCP any more.
 *
 * Return: 0 or an error of mpa_attach().
 */
int rnic_ep_attach(struct rnic_ep *ep, enum rnic_ep_state to)
{
	const struct mpa_label label = rnic_ep_label(ep);
	struct sock *sk = ep->sock->sk;
	struct mpa_conn *conn;

	conn = mpa_attach(ep->sock, &rnic_ep_ops, ep, &label);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	lock_sock(sk);
	rnic_ep_use(ep, conn, to);
	release_sock(sk);
	return 0;
}

/**
 * rnic_ep_adopt() - use the stream of a socket that was handed over
 * @ep: the endpoint, locked
 * @conn: the stream, from mpa_take_fd()
 * @to: state to move to
 *
 * rnic_ep_tune() is not called: the socket may still become plain TCP again.
 */
void rnic_ep_adopt(struct rnic_ep *ep, struct mpa_conn *conn,
		   enum rnic_ep_state to)
{
	const struct mpa_label label = rnic_ep_label(ep);
	struct sock *sk = ep->sock->sk;

	lock_sock(sk);
	mpa_set_owner(conn, &rnic_ep_ops, ep, &label);
	rnic_ep_use(ep, conn, to);
	release_sock(sk);
}

/**
 * rnic_ep_bind() - bind the endpoint to a QP and an identifier of the core
 * @ep: the endpoint, locked; takes references
 * @cm_id: the identifier; NULL for a socket that was handed over
 * @qp: the QP
 *
 * Return: 0 or an error of rnic_qp_bind().
 */
int rnic_ep_bind(struct rnic_ep *ep, struct iw_cm_id *cm_id, struct rnic_qp *qp)
{
	struct sock *sk = ep->sock->sk;
	int ret = rnic_qp_bind(qp, ep);
	struct mpa_label label;

	if (ret)
		return ret;
	rnic_qp_get(qp);
	if (cm_id)
		cm_id->add_ref(cm_id);
	lock_sock(sk);
	ep->qp = qp;
	ep->qpn = qp->ibqp.qp_num;
	ep->cm_id = cm_id;
	label = rnic_ep_label(ep);
	/* An Initiator has none yet. */
	if (ep->conn)
		mpa_set_label(ep->conn, &label);
	release_sock(sk);
	if (cm_id)
		rnic_ep_know_id(ep, cm_id);
	return 0;
}
