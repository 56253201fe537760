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
 * mpa_ep.timer looks after that now and then. What TCP itself ends is told by its
 * callbacks.
 */
#include <net/tcp.h>

#include "device.h"
#include "ep.h"
#include "stream.h"

enum {
	/* Looks in the time that TCP awaits a FIN; no more of them than this. */
	EP_LOOKS		= 8,
	EP_LOOK_MIN		= HZ / 10 + 1,
	EP_LOOK_MAX		= 5 * HZ,
	/* TCP's own number, where tcp_orphan_retries is 0. */
	EP_ORPHAN_RETRIES	= 8,
};

/**
 * mpa_tcp_over - has TCP received all it ever will?
 * @sk: the socket; without its lock the answer may be old
 *
 * Return: true if so.
 */
bool mpa_tcp_over(const struct sock *sk)
{
	return READ_ONCE(sk->sk_state) == TCP_CLOSE ||
	       READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN;
}

/* How long the peer may be silent that has acknowledged all there is. */
static unsigned long ep_silence(const struct mpa_ep *ep)
{
	/*
	 * It was refused, and has nothing of value; or it has had our Terminate,
	 * and RFC 5040 wants it to close.
	 */
	if (!ep->operational || (ep->qp && !mpa_qp_streaming(ep->qp)))
		return msecs_to_jiffies(MPA_CM_CLOSE_MS);
	return tcp_fin_time(ep->sock->sk);
}

/* Has TCP got anything across since the last look, either way? */
static bool ep_moved(struct mpa_ep *ep)
{
	const struct tcp_sock *tp = tcp_sk(ep->sock->sk);
	bool moved = ep->snd_una != tp->snd_una || ep->rcv_nxt != tp->rcv_nxt;

	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
	ep->snd_una = tp->snd_una;
	ep->rcv_nxt = tp->rcv_nxt;
	return moved;
}

/* Without an application TCP would have given up by now. */
static bool ep_tcp_tired(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	int most = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_orphan_retries);

	return max(icsk->icsk_retransmits, icsk->icsk_probes_out) >
	       (most ?: EP_ORPHAN_RETRIES);
}

static bool ep_may_go_on(const struct mpa_ep *ep)
{
	const struct sock *sk = ep->sock->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_una != tp->write_seq)
		return ep->state != MPA_EP_LINGERING || !ep_tcp_tired(sk);
	return time_before(jiffies, ep->moved_at + ep_silence(ep));
}

/* The next look; the last one is when close-timeout is over. */
static void ep_arm_look(struct mpa_ep *ep)
{
	unsigned long look = clamp_t(unsigned long, ep_silence(ep) / EP_LOOKS,
				     EP_LOOK_MIN, EP_LOOK_MAX);
	unsigned long now = jiffies;

	lockdep_assert(lockdep_sock_is_held(ep->sock->sk));
	if (time_after(now + look, ep->close_by))
		look = time_after(ep->close_by, now) ? ep->close_by - now : 1;
	mpa_ep_arm(ep, jiffies_to_msecs(look));
}

/**
 * mpa_ep_bound - the connection is ending: from now on that is bounded
 * @ep: the endpoint; socket lock held. Again, it goes on counting from the first
 *	time.
 *
 * Any context.
 */
void mpa_ep_bound(struct mpa_ep *ep)
{
	if (!ep->bounded) {
		ep->bounded = true;
		ep->close_by = jiffies +
			msecs_to_jiffies(ep->config.v[MPA_A_CONFIG_CLOSE_TIMEOUT]);
	}
	ep_moved(ep);
	ep->moved_at = jiffies;
	ep_arm_look(ep);
}

/*
 * Who waits for the end is told that it was none; without anybody TCP may do for
 * itself what it still wants to do.
 */
static void ep_give_up(struct mpa_ep *ep, bool late)
{
	bool waiting = ep->state != MPA_EP_LINGERING;

	if (late)
		mpa_count(ep->dev, MPA_CNT_CONN_CLOSE_TIMEOUT);
	mpa_ep_finish(ep, late || waiting, waiting ? -ETIMEDOUT : 0);
}

/**
 * mpa_ep_look - the timer of an endpoint that ends has expired
 * @ep: the endpoint, locked; ESTABLISHED, CLOSING or LINGERING
 */
void mpa_ep_look(struct mpa_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	bool late, go_on;

	lock_sock(sk);
	if (!ep->bounded) {
		release_sock(sk);
		return;
	}
	if (ep_moved(ep))
		ep->moved_at = jiffies;
	late = time_after_eq(jiffies, ep->close_by);
	go_on = !late && ep_may_go_on(ep);
	if (go_on)
		ep_arm_look(ep);
	release_sock(sk);
	if (!go_on)
		ep_give_up(ep, late);
}

/* One more lingers; the oldest ones, which have had the most time, give way. */
static void ep_start_linger(struct mpa_ep *ep)
{
	struct mpa_dev *dev = ep->dev;
	struct mpa_ep *oldest;

	mutex_lock(&dev->ep_lock);
	list_add_tail(&ep->linger_entry, &dev->lingering);
	dev->nr_lingering++;
	while (dev->nr_lingering > ep->config.v[MPA_A_CONFIG_LINGER_MAX]) {
		oldest = list_first_entry(&dev->lingering, struct mpa_ep,
					  linger_entry);
		mpa_ep_unlinger(oldest);
		mpa_count(dev, MPA_CNT_CONN_LINGER_DROP);
		mpa_ep_kick(oldest, MPA_EP_DO_ABORT);
	}
	mutex_unlock(&dev->ep_lock);
}

/**
 * mpa_ep_unlinger - the endpoint counts no more as one that lingers
 * @ep: the endpoint; mpa_dev.ep_lock held. Harmless if it has not counted.
 */
void mpa_ep_unlinger(struct mpa_ep *ep)
{
	lockdep_assert_held(&ep->dev->ep_lock);
	if (list_empty(&ep->linger_entry))
		return;
	list_del_init(&ep->linger_entry);
	ep->dev->nr_lingering--;
}

/**
 * mpa_ep_linger - QP and core are told now, TCP has its time
 * @ep: the endpoint, locked
 */
void mpa_ep_linger(struct mpa_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	bool over;

	mpa_ep_detach(ep);
	lock_sock(sk);
	mpa_ep_set_state(ep, MPA_EP_LINGERING);
	/* It goes out below, however often the QP has asked for it. */
	WRITE_ONCE(ep->fin_due, false);
	mpa_ep_hook(ep, mpa_ep_drain);
	mpa_ep_drain(sk);
	over = mpa_tcp_over(sk);
	release_sock(sk);
	if (over) {
		mpa_ep_finish(ep, false, 0);
		return;
	}
	kernel_sock_shutdown(ep->sock, SHUT_WR);
	mpa_ep_release_refs(ep, 0);
	lock_sock(sk);
	mpa_ep_bound(ep);
	release_sock(sk);
	ep_start_linger(ep);
}

/*
 * May FIN go out without cutting off what the ULP still holds? If not, its
 * writable call-up will follow.
 */
static bool ep_drained(struct mpa_ep *ep)
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
 * mpa_ep_orderly - FIN once all is with TCP, then the peer's is awaited
 * @ep: the endpoint, locked
 */
void mpa_ep_orderly(struct mpa_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	bool fin;

	if (READ_ONCE(ep->state) != MPA_EP_ESTABLISHED &&
	    !READ_ONCE(ep->fin_due))
		return;
	/* After a failed startup the stream would not tell of the peer's FIN. */
	if (READ_ONCE(ep->status)) {
		mpa_ep_linger(ep);
		return;
	}
	lock_sock(sk);
	if (ep->state == MPA_EP_ESTABLISHED)
		mpa_ep_set_state(ep, MPA_EP_CLOSING);
	fin = ep_drained(ep);
	WRITE_ONCE(ep->fin_due, !fin);
	mpa_ep_bound(ep);
	release_sock(sk);
	if (fin)
		kernel_sock_shutdown(ep->sock, SHUT_WR);
}

/**
 * mpa_ep_soon - a Terminate is owed, or the send queue drains
 * @ep: the endpoint, locked
 */
void mpa_ep_soon(struct mpa_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	if (READ_ONCE(ep->state) != MPA_EP_ESTABLISHED)
		return;
	lock_sock(sk);
	if (!ep->bounded)
		mpa_ep_bound(ep);
	release_sock(sk);
}
