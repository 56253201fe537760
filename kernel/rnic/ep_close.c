// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: the end of a connection, at once or in order.
 *
 * TCP decides how long an orderly end takes. While sent bytes are not
 * acknowledged, TCP retransmits them or probes the window, and gives up as on
 * any socket (net.ipv4.tcp_retries2; without a QP after the number of retries
 * for a socket without an application, net.ipv4.tcp_orphan_retries). When all
 * is acknowledged, the endpoint waits for further data of the peer and its FIN.
 * TCP has no timer for that, so the endpoint ends if nothing new arrives for as
 * long as TCP waits for a FIN (net.ipv4.tcp_fin_timeout). The setting
 * close-timeout limits the whole end, and linger-max the number of LINGERING
 * endpoints of a device.
 *
 * rnic_ep.timer checks progress at intervals. If TCP itself ends the
 * connection, its callbacks report that.
 */
#include <net/tcp.h>

#include "device.h"
#include "ep.h"
#include "ep_close.h"
#include "ep_event.h"
#include "qp.h"
#include "qp_stream.h"
#include "tx.h"
#include "ulp/mpa.h"

enum {
	/* Checks of progress during the longest silence allowed. */
	EP_CHECKS		= 8,
	EP_CHECK_MIN		= HZ / 10 + 1,
	EP_CHECK_MAX		= 5 * HZ,
	/* What TCP uses if tcp_orphan_retries is 0. */
	EP_ORPHAN_RETRIES	= 8,
};

/**
 * rnic_ep_tcp_over() - will TCP receive nothing more?
 * @sk: the socket; without its lock the answer may be old
 *
 * Return: true if so.
 */
bool rnic_ep_tcp_over(const struct sock *sk)
{
	return READ_ONCE(sk->sk_state) == TCP_CLOSE ||
	       READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN;
}

/* At once ------------------------------------------------------------------ */

static struct rnic_lingering *rnic_ep_lingering(struct rnic_ep *ep)
{
	lockdep_assert_held(&ep->dev->ep_lock);
	return &ep->dev->lingering[ep->operational];
}

/**
 * rnic_ep_unlinger() - stop counting the endpoint as lingering
 * @ep: the endpoint; rnic_dev.ep_lock held. Does nothing if it is not counted.
 */
static void rnic_ep_unlinger(struct rnic_ep *ep)
{
	if (list_empty(&ep->linger_entry))
		return;
	list_del_init(&ep->linger_entry);
	rnic_ep_lingering(ep)->nr--;
}

static void rnic_ep_list_del(struct rnic_ep *ep)
{
	struct rnic_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	list_del_init(&ep->entry);
	rnic_ep_unlinger(ep);
	/*
	 * The list is empty before wake_up_var() looks for a sleeper. Pairs
	 * with set_current_state() within wait_var_event() in rnic_cm_stop(),
	 * between queueing itself and looking at the list.
	 */
	smp_mb();
	/*
	 * The device may be freed once the lock is released, for which
	 * rnic_cm_stop() waits.
	 */
	wake_up_var(&dev->eps);
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_ep_release_refs() - release the QP and the identifier
 * @ep: the endpoint, locked
 * @err: for the QP, unless the end was reported to it before
 *
 * The core gets its last event. The stream is detached, or its callbacks see no QP
 * any more. The QP is free for another connection before the failure
 * is reported to the core.
 */
static void rnic_ep_release_refs(struct rnic_ep *ep, int err)
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
	if (qp && ep->operational)
		rnic_qp_closed(qp, err);
	ep->must_close = qp && qp->tx.term_len;
	ep->qp = NULL;
	ep->qpn = 0;
	/* rnic_ep_of_id() reads it without the socket lock. */
	WRITE_ONCE(ep->cm_id, NULL);
	ep->reply_due = false;
	ep->open = false;
	if (qp)
		rnic_qp_unbind(qp, ep);
	release_sock(sk);
	rnic_ep_forget_id(ep);

	if (qp)
		rnic_qp_put(qp);
	if (ep->role->released)
		ep->role->released(ep);
	if (!cm_id)
		return;
	if (failed)
		rnic_ep_report_failure(ep, cm_id, ep->status ?: -ECONNABORTED);
	if (open)
		rnic_ep_report_close(ep, cm_id);
	cm_id->rem_ref(cm_id);
}

/**
 * rnic_ep_finish() - move to DEAD from any state and release everything
 * @ep: the endpoint, locked; only the caller's own reference keeps it
 * @abort: send RST; else releasing the socket ends TCP
 * @err: for the QP, unless the end was reported to it before
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
 * rnic_ep_abort() - end the connection at once
 * @ep: the endpoint, locked
 *
 * The socket of an application whose startup exchange was rejected already is
 * plain TCP again instead.
 */
void rnic_ep_abort(struct rnic_ep *ep)
{
	bool plain = ep->file && READ_ONCE(ep->status) == -ECONNREFUSED;

	rnic_ep_finish(ep, !plain, -ECONNABORTED);
}

/* In order ----------------------------------------------------------------- */

/*
 * Does the peer send nothing of value any more? It was refused; or a Terminate has
 * ended the stream, and RFC 5040 requires it to close.
 */
static bool rnic_ep_peer_must_close(const struct rnic_ep *ep)
{
	return !ep->operational ||
	       (ep->qp ? !rnic_qp_streaming(ep->qp) : ep->must_close);
}

/* How long a peer that acknowledged everything may send nothing of value. */
static unsigned long rnic_ep_silence_max(const struct rnic_ep *ep)
{
	if (rnic_ep_peer_must_close(ep))
		return msecs_to_jiffies(RNIC_CM_CLOSE_MS);
	return tcp_fin_time(ep->sock->sk);
}

/* Did TCP transfer anything of value since the last check, in either direction? */
static bool rnic_ep_progressed(struct rnic_ep *ep)
{
	const struct tcp_sock *tp = tcp_sk(ep->sock->sk);
	bool moved = ep->snd_una != tp->snd_una ||
		     (!rnic_ep_peer_must_close(ep) && ep->rcv_nxt != tp->rcv_nxt);

	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
	ep->snd_una = tp->snd_una;
	ep->rcv_nxt = tp->rcv_nxt;
	return moved;
}

/* Without an application TCP would have given up by now. */
static bool rnic_ep_tcp_gave_up(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	int most = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_orphan_retries);

	return max(icsk->icsk_retransmits, icsk->icsk_probes_out) >
	       (most ?: EP_ORPHAN_RETRIES);
}

static bool rnic_ep_may_go_on(const struct rnic_ep *ep)
{
	const struct sock *sk = ep->sock->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_una != tp->write_seq)
		return ep->state != RNIC_EP_LINGERING || !rnic_ep_tcp_gave_up(sk);
	return time_before(jiffies, ep->moved_at + rnic_ep_silence_max(ep));
}

/* Arms the next check; the last one is at the end of close-timeout. */
static void rnic_ep_arm_check(struct rnic_ep *ep)
{
	unsigned long look = clamp_t(unsigned long, rnic_ep_silence_max(ep) / EP_CHECKS,
				     EP_CHECK_MIN, EP_CHECK_MAX);
	unsigned long now = jiffies;

	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
	if (time_after(now + look, ep->close_by))
		look = time_after(ep->close_by, now) ? ep->close_by - now : 1;
	rnic_ep_arm(ep, jiffies_to_msecs(look));
}

/**
 * rnic_ep_start_closing() - limit the time of the end from now on
 * @ep: the endpoint; socket lock held. If called again, close-timeout continues
 *	from the first call.
 *
 * Any context.
 */
void rnic_ep_start_closing(struct rnic_ep *ep)
{
	if (!ep->bounded) {
		ep->bounded = true;
		ep->close_by = jiffies +
			msecs_to_jiffies(ep->config.v[MPA_A_CONFIG_CLOSE_TIMEOUT]);
	}
	rnic_ep_progressed(ep);
	ep->moved_at = jiffies;
	rnic_ep_arm_check(ep);
}

/*
 * QP and core get an error if they still wait for the end. If they do not, TCP
 * may finish by itself, unless close-timeout is over.
 */
static void rnic_ep_give_up(struct rnic_ep *ep, bool late)
{
	bool waiting = ep->state != RNIC_EP_LINGERING;

	if (late)
		rnic_count(ep->dev, RNIC_CNT_CONN_CLOSE_TIMEOUT);
	rnic_ep_finish(ep, late || waiting, waiting ? -ETIMEDOUT : 0);
}

/**
 * rnic_ep_check_progress() - the timer of an ending connection expired
 * @ep: the endpoint, locked; ESTABLISHED, CLOSING or LINGERING
 */
void rnic_ep_check_progress(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	bool late, go_on;

	lock_sock(sk);
	if (!ep->bounded) {
		release_sock(sk);
		return;
	}
	if (rnic_ep_progressed(ep))
		ep->moved_at = jiffies;
	late = time_after_eq(jiffies, ep->close_by);
	go_on = !late && rnic_ep_may_go_on(ep);
	if (go_on)
		rnic_ep_arm_check(ep);
	release_sock(sk);
	if (!go_on)
		rnic_ep_give_up(ep, late);
}

/*
 * Counts one more lingering endpoint; the oldest ones are aborted if there are
 * too many. Anyone can connect to be refused, which must not end the connections of
 * others: there may be as many of each kind.
 */
static void rnic_ep_start_linger(struct rnic_ep *ep)
{
	struct rnic_dev *dev = ep->dev;
	struct rnic_lingering *all;
	struct rnic_ep *oldest;

	mutex_lock(&dev->ep_lock);
	all = rnic_ep_lingering(ep);
	list_add_tail(&ep->linger_entry, &all->eps);
	all->nr++;
	while (all->nr > ep->config.v[MPA_A_CONFIG_LINGER_MAX]) {
		oldest = list_first_entry(&all->eps, struct rnic_ep, linger_entry);
		rnic_ep_unlinger(oldest);
		rnic_count(dev, RNIC_CNT_CONN_LINGER_DROP);
		rnic_ep_kick(oldest, RNIC_EP_DO_ABORT);
	}
	mutex_unlock(&dev->ep_lock);
}

/*
 * As shutdown(2), but not through the operations of the socket, which an
 * application may not call while its socket is handed over.
 */
static void rnic_ep_send_fin(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_assert_locked(ep);
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
}

/*
 * What the peer still sends is dropped: by callbacks of the endpoint, or by the
 * stream if it must go back to an application in the end.
 */
static void rnic_ep_drop_rest(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	rnic_ep_assert_locked(ep);
	if (ep->file) {
		mpa_stop(ep->conn);
		return;
	}
	rnic_ep_hook(ep, rnic_ep_drain);
	rnic_ep_drain(sk);
}

/**
 * rnic_ep_linger() - release QP and core now, and let TCP finish
 * @ep: the endpoint, locked
 *
 * The socket of an application that was refused is plain TCP again instead.
 */
void rnic_ep_linger(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	bool over;

	if (ep->file && READ_ONCE(ep->state) == RNIC_EP_REQUESTED) {
		rnic_ep_finish(ep, false, 0);
		return;
	}
	if (!ep->file)
		rnic_ep_detach(ep);
	lock_sock(sk);
	rnic_ep_set_state(ep, RNIC_EP_LINGERING);
	/* It is sent now, even if the QP requested it before. */
	WRITE_ONCE(ep->fin_due, false);
	rnic_ep_drop_rest(ep);
	over = rnic_ep_tcp_over(sk);
	if (!over)
		rnic_ep_send_fin(ep);
	release_sock(sk);
	if (over) {
		rnic_ep_finish(ep, false, 0);
		return;
	}
	rnic_ep_release_refs(ep, 0);
	lock_sock(sk);
	rnic_ep_start_closing(ep);
	release_sock(sk);
	rnic_ep_start_linger(ep);
}

/*
 * Has the ULP handed everything to TCP, so that FIN can be sent? If not, its
 * writable callback will follow.
 */
static bool rnic_ep_drained(struct rnic_ep *ep)
{
	int ret;

	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
	if (!ep->conn || mpa_tx_drained(ep->conn))
		return true;
	ret = mpa_tx_begin(ep->conn);
	if (!ret)
		mpa_tx_send(ep->conn);
	return ret != -EAGAIN;
}

/**
 * rnic_ep_orderly() - send FIN after all data, then wait for that of the peer
 * @ep: the endpoint, locked
 */
void rnic_ep_orderly(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	bool fin;

	if (READ_ONCE(ep->state) != RNIC_EP_ESTABLISHED &&
	    !READ_ONCE(ep->fin_due))
		return;
	/*
	 * After a failed startup the stream does not report the FIN of the
	 * peer.
	 */
	if (READ_ONCE(ep->status)) {
		rnic_ep_linger(ep);
		return;
	}
	lock_sock(sk);
	if (ep->state == RNIC_EP_ESTABLISHED)
		rnic_ep_set_state(ep, RNIC_EP_CLOSING);
	/*
	 * A Read Request may have arrived since the QP had nothing more to send. FIN
	 * waits for the answer once: there may always be another one.
	 */
	fin = (ep->fin_due || !ep->qp || !rnic_tx_answering(ep->qp)) &&
	      rnic_ep_drained(ep);
	WRITE_ONCE(ep->fin_due, !fin);
	rnic_ep_start_closing(ep);
	if (fin)
		rnic_ep_send_fin(ep);
	release_sock(sk);
}

/**
 * rnic_ep_end_soon() - limit the time for a Terminate, or for the send queue to
 * drain
 * @ep: the endpoint, locked
 */
void rnic_ep_end_soon(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	if (READ_ONCE(ep->state) != RNIC_EP_ESTABLISHED)
		return;
	lock_sock(sk);
	if (!ep->bounded)
		rnic_ep_start_closing(ep);
	release_sock(sk);
}
