// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of MPA on the socket of an application: attached, with or by its
 * listener, and released; and what the stream calls back.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "attach.h"
#include "registry.h"
#include "sock.h"
#include "usock_attach.h"
#include "usock_pend.h"
#include "usock_start.h"
#include "view.h"

/* ---- What the stream calls back ---- */

/* What calls are to report; see mpa_ops.ended for @err. */
static int usock_error(enum mpa_error code, int err)
{
	switch (code) {
	case MPA_ERROR_CRC:
		return -EBADMSG;
	case MPA_ERROR_MARKER:
		return -EPROTO;
	default:
		return err;
	}
}

static void usock_op_request(struct mpa_conn *conn, const struct mpa_frame *req,
			     const void *pd, u32 pd_len)
{
	struct mpa_usock *us = mpa_priv(conn);

	us->req = *req;
	memcpy(us->peer, pd, pd_len);
	us->peer_len = pd_len;
	if (us->params.flags & MPA_F_AUTO_ACCEPT) {
		us->accept_due = true;
		mpa_usock_kick(us, 0);
	}
	mpa_usock_wake(us);
}

static void usock_op_operational(struct mpa_conn *conn,
				 const struct mpa_result *res)
{
	struct mpa_usock *us = mpa_priv(conn);

	mpa_usock_set_phase(us, MPA_USOCK_OPERATIONAL);
	mpa_usock_wake(us);
}

static void usock_op_reply(struct mpa_conn *conn, int status,
			   const struct mpa_result *res, const void *pd,
			   u32 pd_len)
{
	struct mpa_usock *us = mpa_priv(conn);

	if (pd_len)
		memcpy(us->peer, pd, pd_len);
	us->peer_len = pd_len;
	if (status == -ECONNREFUSED) {
		WRITE_ONCE(conn->sk->sk_err, ECONNREFUSED);
		mpa_usock_rejected(us);
	} else if (status) {
		/* Without RDMAP nobody can say more than that with a FIN. */
		mpa_usock_end(us, MPA_USOCK_FAILED, MPA_ERROR_STARTUP, status);
	} else if (!mpa_usock_is(us)->full) {
		/* It is reviewed. */
		mpa_usock_wake(us);
	}
}

/* It stays where it is until the application comes for it. */
static int usock_op_ulpdu(struct mpa_conn *conn, struct mpa_rx *rx, u32 len)
{
	conn->saved.data_ready(conn->sk);
	return -EAGAIN;
}

static void usock_op_writable(struct mpa_conn *conn)
{
	mpa_pend_writable(mpa_priv(conn));
	conn->saved.write_space(conn->sk);
}

static void usock_op_ended(struct mpa_conn *conn, enum mpa_error code, int err)
{
	struct mpa_usock *us = mpa_priv(conn);
	bool full = mpa_usock_is(us)->full;

	err = usock_error(code, err);
	/* Before full operation no end is an orderly one, wherever it comes. */
	if (!full && (!err || err == -ECONNABORTED))
		err = -ECONNRESET;
	mpa_usock_end(us, full ? MPA_USOCK_ENDED : MPA_USOCK_FAILED, code, err);
}

/*
 * TCP has destroyed the socket without our release: the operations can be taken
 * from a socket under us (IPV6_ADDRFORM, in a race).
 */
static void usock_op_released(struct mpa_conn *conn)
{
	struct mpa_usock *us = mpa_priv(conn);

	queue_work(mpa_user_wq, &us->reap);
}

static const struct mpa_ops usock_stream_ops = {
	.request	= usock_op_request,
	.operational	= usock_op_operational,
	.reply		= usock_op_reply,
	.ulpdu		= usock_op_ulpdu,
	.writable	= usock_op_writable,
	.ended		= usock_op_ended,
	.released	= usock_op_released,
};

/* ---- Work ---- */

/* RFC 5044 section 7.1.2: after an improper frame TCP is closed. */
static void usock_close_tcp(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	us->close_due = false;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SHUTDOWN_MASK);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	mpa_usock_wake(us);
}

/* The application closes: mpa_usock_detach() has seen to everything. */
static void usock_work(struct work_struct *work)
{
	struct mpa_usock *us = container_of(to_delayed_work(work),
					    struct mpa_usock, work);

	if (!mpa_lock_or_defer(us->conn, &us->work_wait))
		return;
	if (!us->conn->gone) {
		if (us->accept_due)
			mpa_usock_accept_request(us);
		if (us->close_due)
			usock_close_tcp(us);
		else
			mpa_pend_flush(us);
	}
	release_sock(us->conn->sk);
}

static void usock_free(struct mpa_usock *us)
{
	kvfree(us->pend.buf);
	kfree(us->last);
	kfree_rcu(us, rcu);
}

static void usock_reap_work(struct work_struct *work)
{
	struct mpa_usock *us = container_of(work, struct mpa_usock, reap);

	mpa_lock_wait_cancel(us->conn, &us->work_wait);
	mpa_detach(us->conn);
	usock_free(us);
}

/* ---- Settings ---- */

/* What a revision setting is for an application. */
static const struct {
	u8 rev;
	u8 rev_min;
} usock_revisions[] = {
	[MPA_REVISION_0]	= { MPA_REV_RDMAC, MPA_REV_RDMAC },
	[MPA_REVISION_1]	= { MPA_REV_1, MPA_REV_RDMAC },
	[MPA_REVISION_2]	= { MPA_REV_2, MPA_REV_2 },
	[MPA_REVISION_AUTO]	= { MPA_REV_AUTO, MPA_REV_RDMAC },
};

/* As an application would say what the administrator has set. */
static void usock_default_params(const struct mpa_config *cfg,
				 struct mpa_sock_params *p)
{
	const u32 *v = cfg->v;
	u32 rev = v[MPA_A_CONFIG_REVISION];

	*p = (struct mpa_sock_params){
		.rev = usock_revisions[rev].rev,
		.rev_min = usock_revisions[rev].rev_min,
	};
	if (v[MPA_A_CONFIG_MARKERS])
		p->flags |= MPA_F_MARKERS;
	if (v[MPA_A_CONFIG_CRC] != MPA_CONFIG_CRC_REQUIRED)
		p->flags |= MPA_F_NO_CRC;
	if (v[MPA_A_CONFIG_PERMISSIVE] && rev != MPA_REVISION_0 &&
	    rev != MPA_REVISION_2)
		p->flags |= MPA_F_PERMISSIVE;
	/* All is what it is unless something else was set. */
	if (v[MPA_A_CONFIG_RTR] != mpa_config_bounds[MPA_A_CONFIG_RTR].max)
		p->rtr = v[MPA_A_CONFIG_RTR];
}

/* For what the application has not set itself. */
static void usock_take_config(struct mpa_usock *us,
			      const struct mpa_config *cfg)
{
	us->cfg = *cfg;
	if (!us->params_set)
		usock_default_params(cfg, &us->params);
	if (!us->packing_set)
		us->packing = cfg->v[MPA_A_CONFIG_PACKING];
}

static void usock_view_listener(const struct mpa_node *node,
				struct mpa_node_view *v)
{
	const struct mpa_usock *us = container_of(node, struct mpa_usock, node);
	const struct sock *sk = us->conn->sk;

	lockdep_assert_held(&mpa_registry_lock);
	v->owner = MPA_OWNER_SOCKET;
	v->backlog = READ_ONCE(sk->sk_max_ack_backlog);
	v->uid = READ_ONCE(sk->sk_uid);
	mpa_addr_local(sk, &v->addr);
}

static const struct mpa_node_ops usock_node_ops = {
	.view	= usock_view_listener,
};

/* ---- Attaching ---- */

static struct mpa_usock *usock_create(struct sock *sk,
				      const struct proto_ops *base)
{
	struct mpa_usock *us = kzalloc(sizeof(*us), GFP_KERNEL_ACCOUNT);

	if (!us)
		return NULL;
	us->conn = mpa_conn_alloc(sk, NULL, &usock_stream_ops, us);
	if (!us->conn) {
		kfree(us);
		return NULL;
	}
	us->base = base;
	us->node.kind = MPA_NODE_LISTENER;
	us->node.ops = &usock_node_ops;
	INIT_DELAYED_WORK(&us->work, usock_work);
	mpa_lock_wait_init(&us->work_wait, &us->work);
	INIT_WORK(&us->reap, usock_reap_work);
	return us;
}

/* Others that want to take a socket over look at its sk_user_data. */
static void usock_set_user_data(struct sock *sk, struct mpa_conn *conn)
{
	write_lock_bh(&sk->sk_callback_lock);
	__rcu_assign_sk_user_data_with_flags(sk, conn, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void usock_bind(struct mpa_usock *us, struct sock *sk,
		       const struct mpa_config *cfg)
{
	usock_take_config(us, cfg);
	mpa_set_config(us->conn, cfg);
	usock_set_user_data(sk, us->conn);
	if (sk->sk_state == TCP_LISTEN) {
		us->phase = MPA_USOCK_LISTENER;
		rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, us->conn);
		return;
	}
	/* Nobody is to connect it once more after a non-blocking connect(). */
	sk->sk_socket->state = SS_CONNECTED;
	mpa_conn_hook(us->conn);
}

/**
 * mpa_usock_attach - attach to the socket of an application
 * @sk: the socket, under lock_sock(), with a file; established or listening;
 *	its operations are TCP's still
 *
 * Return: 0 or -ENOMEM.
 */
int mpa_usock_attach(struct sock *sk)
{
	struct mpa_usock *us = usock_create(sk, sk->sk_socket->ops);
	struct mpa_config cfg;

	if (!us)
		return -ENOMEM;
	mpa_net_config(sock_net(sk), &cfg);
	usock_bind(us, sk, &cfg);
	return 0;
}

/*
 * What the listener's application has set, and what is in force there now: 0, or
 * -ENOMEM. Without its last message a Responder would wait for a Request that
 * nobody was asked for.
 */
static int usock_inherit(struct mpa_usock *us, const struct mpa_usock *from,
			 struct mpa_config *cfg)
{
	struct sock *parent = from->conn->sk;
	struct mpa_label label = {};

	mpa_assert_locked(from->conn);
	if (mpa_node_listed(&from->node)) {
		mpa_node_config(&from->node, cfg);
		label.listen_id = from->node.id;
		us->conn->label = label;
	} else {
		mpa_net_config(sock_net(parent), cfg);
	}
	us->params = from->params;
	us->params_set = from->params_set;
	us->packing = from->packing;
	us->packing_set = from->packing_set;
	us->pd_len = from->pd_len;
	memcpy(us->pd, from->pd, from->pd_len);
	if (!from->last)
		return 0;
	us->last = kmemdup(from->last, from->last_len, GFP_KERNEL_ACCOUNT);
	if (!us->last)
		return -ENOMEM;
	us->last_len = from->last_len;
	return 0;
}

/* Was it in the queue before its listener became ours? */
static void usock_adopt_ulp(struct sock *sk, const struct sock *parent)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (icsk->icsk_ulp_ops)
		return;
	/* It may have been cloned when its listener was half ours. */
	RCU_INIT_POINTER(icsk->icsk_ulp_data, NULL);
	__module_get(THIS_MODULE);
	icsk->icsk_ulp_ops = inet_csk(parent)->icsk_ulp_ops;
}

/*
 * Nobody is there to be told that TCP has ended already, so it must stay told:
 * as plain TCP the peer's bytes would pass for ULPDUs.
 */
static void usock_start_child(struct mpa_usock *us)
{
	int ret = mpa_usock_start(us, MPA_ROLE_RESPONDER, false);
	struct sock *sk = us->conn->sk;

	if (!ret || ret == -EINPROGRESS)
		return;
	lock_sock(sk);
	us->role = MPA_ROLE_RESPONDER;
	mpa_usock_end(us, MPA_USOCK_FAILED, ret == -ECONNRESET ?
		  MPA_ERROR_CLOSED : MPA_ERROR_STARTUP, ret);
	/* The start may have taken it, as for a caller. */
	WRITE_ONCE(sk->sk_err, -ret);
	release_sock(sk);
}

/**
 * mpa_usock_attach_child - a connection of a listener of ours is being accepted
 * @from: the listener
 * @sock: the new socket, already with our operations
 *
 * Process context, no lock held.
 *
 * Return: 0, or -ENOMEM, or -EEXIST if somebody else has the socket in use: the
 * connection is to be dropped.
 */
int mpa_usock_attach_child(struct mpa_usock *from, struct socket *sock)
{
	struct sock *parent = from->conn->sk, *sk = sock->sk;
	struct mpa_usock *us = usock_create(sk, from->base);
	struct mpa_config cfg;
	int ret = 0;
	bool start;

	lock_sock(sk);
	usock_adopt_ulp(sk, parent);
	if (rcu_access_pointer(__sk_user_data((sk))))
		ret = -EEXIST;
	release_sock(sk);
	if (!us)
		return -ENOMEM;
	if (!ret) {
		lock_sock(parent);
		ret = usock_inherit(us, from, &cfg);
		start = from->child_start;
		release_sock(parent);
	}
	if (ret) {
		mpa_conn_free(us->conn);
		kfree(us);
		return ret;
	}
	lock_sock(sk);
	usock_bind(us, sk, &cfg);
	release_sock(sk);
	if (start)
		usock_start_child(us);
	return 0;
}

/**
 * mpa_usock_detach - the last descriptor of a socket was closed
 * @sk: the socket, not locked
 *
 * What was kept back goes to TCP; then the socket is TCP's again, which is to
 * close it.
 */
void mpa_usock_detach(struct sock *sk)
{
	struct mpa_usock *us = mpa_usock_of(sk);
	struct mpa_conn *conn;

	if (!us)
		return;
	conn = us->conn;
	lock_sock(sk);
	usock_set_user_data(sk, NULL);
	if (us->phase == MPA_USOCK_LISTENER) {
		mpa_node_remove(&us->node);
		RCU_INIT_POINTER(inet_csk(sk)->icsk_ulp_data, NULL);
	} else {
		mpa_pend_flush_all(us);
		mpa_conn_unhook(conn);
	}
	release_sock(sk);

	/* Nobody queues it any more: all who did looked at @gone. */
	mpa_lock_wait_cancel(conn, &us->work_wait);
	if (us->phase == MPA_USOCK_LISTENER)
		mpa_conn_free(conn);
	else
		mpa_detach(conn);
	usock_free(us);
}
