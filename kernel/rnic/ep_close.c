// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: the end of a connection that is given its time.
 *
 * How long it takes is TCP's affair: while anything of ours is not acknowledged,
 * TCP sends it again, or asks for room, and gives up when it would give up on any
 * socket (net.ipv4.tcp_retries2; once there is no QP any more, after as many
 * times as it would try without an application, net.ipv4.tcp_orphan_retries).
 * With all of ours acknowledged, whatever the peer still sends is waited for, then
 * its FIN; TCP has no timer for that, so nothing new for as long as TCP awaits a
 * FIN (net.ipv4.tcp_fin_timeout) is an end. The setting close-timeout bounds all of
 * it, whatever the peer does, and linger-max how many endpoints of a device may be
 * at it with nobody to wait for them.
 *
 * rnic_ep.timer looks after that now and then. What TCP itself ends is told by its
 * callbacks.
 */
#include <net/tcp.h>

#include "device.h"
#include "ep.h"
#include "ep_close.h"
#include "ep_event.h"
#include "qp.h"
#include "qp_stream.h"
#include "ulp/mpa.h"

enum {
	/* Looks in the time that TCP awaits a FIN; no more of them than this. */
	EP_CHECKS		= 8,
	EP_CHECK_MIN		= HZ / 10 + 1,
	EP_CHECK_MAX		= 5 * HZ,
	/* TCP's own number, where tcp_orphan_retries is 0. */
	EP_ORPHAN_RETRIES	= 8,
};

/**
 * rnic_ep_tcp_over - has TCP received all it ever will?
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

/**
 * rnic_ep_unlinger - the endpoint counts no more as one that lingers
 * @ep: the endpoint; rnic_dev.ep_lock held. Harmless if it has not counted.
 */
static void rnic_ep_unlinger(struct rnic_ep *ep)
{
	lockdep_assert_held(&ep->dev->ep_lock);
	if (list_empty(&ep->linger_entry))
		return;
	list_del_init(&ep->linger_entry);
	ep->dev->nr_lingering--;
}

static void rnic_ep_list_del(struct rnic_ep *ep)
{
	struct rnic_dev *dev = ep->dev;

	mutex_lock(&dev->ep_lock);
	list_del_init(&ep->entry);
	rnic_ep_unlinger(ep);
	/* Afterwards the device may go; only its address is used for this. */
	wake_up_var(&dev->eps);
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_ep_release_refs - release the QP and the identifier
 * @ep: the endpoint, locked
 * @err: for the QP, unless the end was reported to it before
 *
 * The core gets its last event. Either the stream is detached, or its callbacks
 * have yet to find a QP. The QP is free for another connection before the core
 * hears that this one has failed.
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
	ep->qp = NULL;
	ep->qpn = 0;
	/* rnic_ep_of_id() looks at it without the socket lock. */
	WRITE_ONCE(ep->cm_id, NULL);
	ep->reply_due = false;
	ep->open = false;
	release_sock(sk);
	rnic_ep_forget_id(ep);

	if (qp && ep->operational)
		rnic_qp_closed(qp, err);
	if (qp) {
		rnic_qp_unbind(qp, ep);
		rnic_qp_put(qp);
	}
	if (!cm_id)
		return;
	if (failed)
		rnic_ep_report_failure(ep, cm_id, ep->status ?: -ECONNABORTED);
	if (open)
		rnic_ep_report_close(ep, cm_id);
	cm_id->rem_ref(cm_id);
}

/**
 * rnic_ep_finish - to DEAD from anywhere, without further ado
 * @ep: the endpoint, locked; only the caller's own reference keeps it
 * @abort: with a RST, else with what releasing the socket brings
 * @err: for the QP, if nobody has told it yet
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
 * rnic_ep_abort - end it at once
 * @ep: the endpoint, locked
 */
void rnic_ep_abort(struct rnic_ep *ep)
{
	rnic_ep_finish(ep, true, -ECONNABORTED);
}

/* In time ------------------------------------------------------------------ */

/* How long the peer may be silent that has acknowledged all there is. */
static unsigned long rnic_ep_silence_max(const struct rnic_ep *ep)
{
	/*
	 * It was refused, and has nothing of value; or it has had our Terminate,
	 * and RFC 5040 wants it to close.
	 */
	if (!ep->operational || (ep->qp && !rnic_qp_streaming(ep->qp)))
		return msecs_to_jiffies(RNIC_CM_CLOSE_MS);
	return tcp_fin_time(ep->sock->sk);
}

/* Has TCP got anything across since the last look, either way? */
static bool rnic_ep_progressed(struct rnic_ep *ep)
{
	const struct tcp_sock *tp = tcp_sk(ep->sock->sk);
	bool moved = ep->snd_una != tp->snd_una || ep->rcv_nxt != tp->rcv_nxt;

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

/* The next look; the last one is when close-timeout is over. */
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
 * rnic_ep_start_closing - the connection is ending: from now on that is bounded
 * @ep: the endpoint; socket lock held. Again, it goes on counting from the first
 *	time.
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
 * Who waits for the end is told that it was none; without anybody TCP may do for
 * itself what it still wants to do.
 */
static void rnic_ep_give_up(struct rnic_ep *ep, bool late)
{
	bool waiting = ep->state != RNIC_EP_LINGERING;

	if (late)
		rnic_count(ep->dev, RNIC_CNT_CONN_CLOSE_TIMEOUT);
	rnic_ep_finish(ep, late || waiting, waiting ? -ETIMEDOUT : 0);
}

/**
 * rnic_ep_check_progress - the timer of an endpoint that ends has expired
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

/* One more lingers; the oldest ones, which have had the most time, give way. */
static void rnic_ep_start_linger(struct rnic_ep *ep)
{
	struct rnic_dev *dev = ep->dev;
	struct rnic_ep *oldest;

	mutex_lock(&dev->ep_lock);
	list_add_tail(&ep->linger_entry, &dev->lingering);
	dev->nr_lingering++;
	while (dev->nr_lingering > ep->config.v[MPA_A_CONFIG_LINGER_MAX]) {
		oldest = list_first_entry(&dev->lingering, struct rnic_ep,
					  linger_entry);
		rnic_ep_unlinger(oldest);
		rnic_count(dev, RNIC_CNT_CONN_LINGER_DROP);
		rnic_ep_kick(oldest, RNIC_EP_DO_ABORT);
	}
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_ep_linger - QP and core are told now, TCP has its time
 * @ep: the endpoint, locked
 */
void rnic_ep_linger(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	bool over;

	rnic_ep_detach(ep);
	lock_sock(sk);
	rnic_ep_set_state(ep, RNIC_EP_LINGERING);
	/* It goes out below, however often the QP has asked for it. */
	WRITE_ONCE(ep->fin_due, false);
	rnic_ep_hook(ep, rnic_ep_drain);
	rnic_ep_drain(sk);
	over = rnic_ep_tcp_over(sk);
	release_sock(sk);
	if (over) {
		rnic_ep_finish(ep, false, 0);
		return;
	}
	kernel_sock_shutdown(ep->sock, SHUT_WR);
	rnic_ep_release_refs(ep, 0);
	lock_sock(sk);
	rnic_ep_start_closing(ep);
	release_sock(sk);
	rnic_ep_start_linger(ep);
}

/*
 * May FIN go out without cutting off what the ULP still holds? If not, its
 * writable call-up will follow.
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
 * rnic_ep_orderly - FIN once all is with TCP, then the peer's is awaited
 * @ep: the endpoint, locked
 */
void rnic_ep_orderly(struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	bool fin;

	if (READ_ONCE(ep->state) != RNIC_EP_ESTABLISHED &&
	    !READ_ONCE(ep->fin_due))
		return;
	/* After a failed startup the stream would not tell of the peer's FIN. */
	if (READ_ONCE(ep->status)) {
		rnic_ep_linger(ep);
		return;
	}
	lock_sock(sk);
	if (ep->state == RNIC_EP_ESTABLISHED)
		rnic_ep_set_state(ep, RNIC_EP_CLOSING);
	fin = rnic_ep_drained(ep);
	WRITE_ONCE(ep->fin_due, !fin);
	rnic_ep_start_closing(ep);
	release_sock(sk);
	if (fin)
		kernel_sock_shutdown(ep->sock, SHUT_WR);
}

/**
 * rnic_ep_end_soon - a Terminate is owed, or the send queue drains
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
