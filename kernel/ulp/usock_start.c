// SPDX-License-Identifier: GPL-2.0-only
/*
 * The startup exchange on the socket of an application: starting and answering.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "sock.h"
#include "startup.h"
#include "tx_queue.h"
#include "usock_plain.h"
#include "usock_start.h"
#include "view.h"

/* The settings limit the Read depths that the application requests. */
static u16 usock_depth(const struct mpa_usock *us, unsigned int attr, u16 asked)
{
	return min_t(u32, asked, us->cfg.v[attr]);
}

static void usock_startup_params(const struct mpa_usock *us,
				 struct mpa_params *p)
{
	const struct mpa_sock_params *sp = &us->params;
	bool initiator = us->role == MPA_ROLE_INITIATOR;

	*p = (struct mpa_params){
		.markers = sp->flags & MPA_F_MARKERS,
		.crc = !(sp->flags & MPA_F_NO_CRC),
		.p2p = sp->flags & MPA_F_PEER_TO_PEER,
		.permissive = sp->flags & MPA_F_PERMISSIVE,
		.rev = sp->rev,
		.rev_min = sp->rev_min,
		.rtr = sp->rtr ?: MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
		.ird = usock_depth(us, MPA_A_CONFIG_IRD, sp->ird),
		.ord = usock_depth(us, MPA_A_CONFIG_ORD, sp->ord),
		.ird_max = usock_depth(us, MPA_A_CONFIG_IRD,
				 max(sp->ird, sp->ird_max)),
	};
	if (sp->rev == MPA_REV_AUTO)
		p->rev = initiator ? MPA_REV_1 : MPA_REV_2;
}

/**
 * mpa_usock_accept_request - accept the peer's Request without the application
 * @us: the socket, under lock_sock()
 *
 * For %MPA_F_AUTO_ACCEPT. If that fails, startup has failed.
 */
void mpa_usock_accept_request(struct mpa_usock *us)
{
	struct mpa_params p;
	int ret;

	us->accept_due = false;
	usock_startup_params(us, &p);
	ret = mpa_accept_locked(us->conn, &p, us->pd, us->pd_len);
	/* The application may have answered first. */
	if (!ret || us->conn->state != MPA_CONN_REQUEST_SEEN)
		return;
	/* It cannot answer any more. */
	mpa_conn_failure(us->conn, MPA_ERROR_STARTUP, ret);
	mpa_startup_cancel(us->conn);
	mpa_usock_end(us, MPA_USOCK_FAILED, MPA_ERROR_STARTUP, ret);
}

static int usock_start_stream(struct mpa_usock *us)
{
	u32 timeout_ms = us->params.timeout_ms ?:
			 us->cfg.v[MPA_A_CONFIG_STARTUP_TIMEOUT];
	struct mpa_params p;

	/* They arrive in a softirq, where an allocation could fail. */
	if (!us->peer)
		us->peer = kmalloc(MPA_PRIVATE_DATA_MAX, GFP_KERNEL_ACCOUNT);
	if (!us->peer)
		return -ENOMEM;
	us->conn->plain = us->params.flags & MPA_F_PLAIN;
	us->conn->start_with = us->params.startup;
	if (us->role == MPA_ROLE_RESPONDER)
		return mpa_start_responder(us->conn, us->last, us->last_len,
					   timeout_ms);
	usock_startup_params(us, &p);
	us->conn->review = us->params.flags & MPA_F_REVIEW;
	return mpa_start_initiator(us->conn, &p, us->pd, us->pd_len,
				   timeout_ms);
}

/*
 * A listener that was shut down may listen again; a connected socket may not.
 */
static int usock_check_start_listener(const struct mpa_usock *us, int role)
{
	const int state = us->conn->sk->sk_state;

	if (role != MPA_ROLE_RESPONDER)
		return -EINVAL;
	if (us->tuf.mode)
		return -EBUSY;
	return state == TCP_LISTEN || state == TCP_CLOSE ? 0 : -EINVAL;
}

static int usock_check_start(const struct mpa_usock *us, int role)
{
	if (role != MPA_ROLE_INITIATOR && role != MPA_ROLE_RESPONDER)
		return -EINVAL;
	/* It follows a dialogue, and the peer has asked for MPA there. */
	if (role == MPA_ROLE_RESPONDER && us->last &&
	    us->params.flags & MPA_F_PLAIN)
		return -EINVAL;
	if (us->phase == MPA_USOCK_LISTENER)
		return usock_check_start_listener(us, role);
	if (us->phase == MPA_USOCK_UNCONNECTED)
		return -ENOTCONN;
	if (us->phase != MPA_USOCK_STREAMING)
		return -EINVAL;
	if (us->nr_plain[MPA_USOCK_SEND] || us->nr_plain[MPA_USOCK_RECV])
		return -EBUSY;
	return tcp_sk(us->conn->sk)->repair ? -EBUSY : 0;
}

static int usock_startup_over(struct mpa_usock *us, size_t unused)
{
	switch (us->phase) {
	case MPA_USOCK_REJECTED:
		WRITE_ONCE(us->conn->sk->sk_err, 0);
		return -ECONNREFUSED;
	case MPA_USOCK_PLAIN:
		return -EPROTONOSUPPORT;
	case MPA_USOCK_ENDED:
	case MPA_USOCK_FAILED:
		WRITE_ONCE(us->conn->sk->sk_err, 0);
		return us->err;
	case MPA_USOCK_OPERATIONAL:
		return 0;
	default:
		return mpa_usock_must_answer(us) ? 0 : -EAGAIN;
	}
}

/*
 * Plain TCP as before, unless sending the last streaming message, or the rest of
 * the Request, failed.
 */
static void usock_start_failed(struct mpa_usock *us, int err)
{
	if (us->conn->state == MPA_CONN_EXITED) {
		mpa_usock_end(us, MPA_USOCK_FAILED, MPA_ERROR_STARTUP, err);
		return;
	}
	us->role = MPA_ROLE_NONE;
	mpa_usock_set_phase(us, MPA_USOCK_STREAMING);
	mpa_sock_untune(us->conn->sk, &us->conn->tuned);
	mpa_usock_wake(us);
}

/* Starts the streams of sockets that will be accepted, or changes nothing. */
static int usock_start_children(struct mpa_usock *us)
{
	bool before = us->child_start;
	int ret;

	us->child_start = true;
	ret = mpa_usock_update_node(us);
	if (ret)
		us->child_start = before;
	return ret;
}

/**
 * mpa_usock_start - begin the startup exchange
 * @us: the socket, not locked; if it is a listener, its accepted sockets will
 *	be started
 * @role: enum mpa_sock_role
 * @block: wait until it is over
 *
 * Return: as for %MPA_SO_START.
 */
int mpa_usock_start(struct mpa_usock *us, int role, bool block)
{
	struct sock *sk = us->conn->sk;
	int ret;

	lock_sock(sk);
	mpa_usock_catch_up(us);
	ret = usock_check_start(us, role);
	if (ret)
		goto out;
	if (us->phase == MPA_USOCK_LISTENER) {
		ret = usock_start_children(us);
		goto out;
	}
	us->role = role;
	mpa_usock_set_phase(us, MPA_USOCK_STARTUP);
	mpa_sock_tune(sk, &us->conn->tuned);
	release_sock(sk);
	ret = usock_start_stream(us);
	lock_sock(sk);
	if (ret) {
		usock_start_failed(us, ret);
		goto out;
	}
	ret = mpa_usock_wait(us, usock_startup_over, 0,
			     block ? MAX_SCHEDULE_TIMEOUT : 0);
	/* The exchange continues, so the call must not be restarted. */
	if (ret == -ERESTARTSYS)
		ret = -EINTR;
	if (ret == -EAGAIN)
		ret = -EINPROGRESS;
out:
	release_sock(sk);
	return ret;
}

static int usock_answer_request(struct mpa_usock *us, bool accept, const u8 *pd,
				u32 len)
{
	struct mpa_params p;

	usock_startup_params(us, &p);
	return accept ? mpa_accept_locked(us->conn, &p, pd, len) :
			mpa_reject_locked(us->conn, &p, pd, len);
}

/* No frame follows a Reply, so no private data can be sent. */
static int usock_answer_reply(struct mpa_usock *us, bool accept, u32 len)
{
	if (len)
		return -EINVAL;
	return accept ? mpa_reply_accept(us->conn) :
			mpa_reply_decline(us->conn);
}

/**
 * mpa_usock_answer - answer the peer's Request or Reply
 * @us: the socket, not locked
 * @accept: accept it; else reject it
 * @pd: private data
 * @len: bytes of it; 0 for a Reply
 *
 * Return: 0; -EINVAL there is nothing to answer, or private data for a Reply;
 * others as for mpa_accept().
 */
int mpa_usock_answer(struct mpa_usock *us, bool accept, const u8 *pd, u32 len)
{
	struct sock *sk = us->conn->sk;
	int ret;

	lock_sock(sk);
	if (us->phase == MPA_USOCK_LISTENER)
		ret = -EINVAL;
	else if (us->role == MPA_ROLE_INITIATOR)
		ret = usock_answer_reply(us, accept, len);
	else
		ret = usock_answer_request(us, accept, pd, len);
	if (!ret && !accept) {
		/* Nothing may be sent before the Reply. */
		mpa_tx_finish(us->conn);
		mpa_usock_rejected(us);
		/* What was received behind the Request is for plain TCP. */
		us->conn->saved.data_ready(sk);
	}
	release_sock(sk);
	return ret;
}
