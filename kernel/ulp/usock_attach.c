// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaching MPA to the socket of an application, directly or through its
 * listener, and detaching; the callbacks of the stream.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "attach.h"
#include "registry.h"
#include "sock.h"
#include "tuf.h"
#include "tuf_rx.h"
#include "usock_attach.h"
#include "usock_pend.h"
#include "usock_plain.h"
#include "usock_start.h"
#include "view.h"

/* ---- Callbacks of the stream ---- */

/* The error that calls return; see mpa_ops.ended for @err. */
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

/* Few peers send private data. */
static void usock_take_peer_data(struct mpa_usock *us, const void *pd, u32 pd_len)
{
	us->peer_len = pd_len;
	if (pd_len) {
		memcpy(us->peer, pd, pd_len);
		return;
	}
	kfree(us->peer);
	us->peer = NULL;
}

static void usock_op_request(struct mpa_conn *conn, const struct mpa_frame *req,
			     const void *pd, u32 pd_len)
{
	struct mpa_usock *us = mpa_priv(conn);

	us->req = *req;
	usock_take_peer_data(us, pd, pd_len);
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

	usock_take_peer_data(us, pd, pd_len);
	if (status == -ECONNREFUSED) {
		WRITE_ONCE(conn->sk->sk_err, ECONNREFUSED);
		mpa_usock_rejected(us);
	} else if (status) {
		/* Without RDMAP, only a FIN can report that to the peer. */
		mpa_usock_end(us, MPA_USOCK_FAILED, MPA_ERROR_STARTUP, status);
	} else if (!mpa_usock_is(us)->full) {
		/* The Reply is reviewed. */
		mpa_usock_wake(us);
	}
}

/* The ULPDU stays in the queue until the application reads it. */
static int usock_op_ulpdu(struct mpa_conn *conn, struct mpa_rx *rx, u32 len)
{
	conn->saved.data_ready(conn->sk);
	return -EAGAIN;
}

static void usock_op_writable(struct mpa_conn *conn)
{
	struct mpa_usock *us = mpa_priv(conn);

	/* TCP may not know of it: it forgets with whatever is sent later. */
	if (us->refused)
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, conn->sk);
	us->refused = false;
	/* TCP's own stops the calls for each ACK, which the other may ask for. */
	conn->saved.write_space(conn->sk);
	mpa_pend_writable(us);
}

static void usock_op_ended(struct mpa_conn *conn, enum mpa_error code, int err)
{
	struct mpa_usock *us = mpa_priv(conn);
	bool full = mpa_usock_is(us)->full;

	err = usock_error(code, err);
	if (us->phase == MPA_USOCK_FRAMED) {
		mpa_tuf_ended(us, code, err);
		return;
	}
	/* Before full operation no end is orderly. */
	if (!full && (!err || err == -ECONNABORTED))
		err = -ECONNRESET;
	mpa_usock_end(us, full ? MPA_USOCK_ENDED : MPA_USOCK_FAILED, code, err);
}

static void usock_op_plain(struct mpa_conn *conn)
{
	mpa_usock_plain(mpa_priv(conn));
	conn->saved.data_ready(conn->sk);
}

/*
 * TCP has destroyed the socket without a call of usock_release(): a race with
 * IPV6_ADDRFORM can replace the operations of a socket.
 */
static void usock_op_released(struct mpa_conn *conn)
{
	struct mpa_usock *us = mpa_priv(conn);

	/* TCP may have stopped listening without a call of this module. */
	mpa_node_remove(&us->node);
	queue_work(mpa_user_wq, &us->reap);
}

static bool usock_op_framing(const struct mpa_conn *conn,
			     struct tcp_framing_info *info)
{
	/* The data of the owner change when it is handed over. */
	const struct mpa_usock *us = conn->us;

	if (!READ_ONCE(us->tuf.mode))
		return false;
	mpa_tuf_fill_info(us, info);
	return true;
}

const struct mpa_ops mpa_usock_stream_ops = {
	.framing	= usock_op_framing,
	.request	= usock_op_request,
	.operational	= usock_op_operational,
	.reply		= usock_op_reply,
	.ulpdu		= usock_op_ulpdu,
	.writable	= usock_op_writable,
	.ended		= usock_op_ended,
	.plain		= usock_op_plain,
	.released	= usock_op_released,
};

/* ---- Work ---- */

/* RFC 5044 section 7.1.2: TCP is closed after an improper frame. */
static void usock_close_tcp(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	us->close_due = false;
	/* A socket that TCP has disconnected may listen by now, and children inherit this. */
	if (!mpa_conn_tcp_closed(us->conn)) {
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SHUTDOWN_MASK);
		sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	}
	mpa_usock_wake(us);
}

/* For mpa_usock_try_look(), which may have to leave it. */
static void usock_work_catch_up(struct mpa_usock *us)
{
	/* None: TCP is closing the socket. */
	if (us->phase != MPA_USOCK_UNCONNECTED || !us->conn->sk->sk_socket)
		return;
	mpa_usock_catch_up(us);
	if (us->phase != MPA_USOCK_UNCONNECTED)
		mpa_usock_wake(us);
}

/* After mpa_usock_detach() there is nothing left to do. */
static void usock_work(struct work_struct *work)
{
	struct mpa_usock *us = container_of(to_delayed_work(work),
					    struct mpa_usock, work);

	if (!mpa_lock_or_defer(us->conn, &us->work_wait))
		return;
	if (!us->conn->gone) {
		usock_work_catch_up(us);
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
	mpa_tuf_free(&us->tuf);
	kfree(us->pd);
	kfree(us->peer);
	kfree(us->last);
	kfree_rcu(us, rcu);
}

/* The stream of an idle socket was never used, but holds the socket. */
static void usock_drop_conn(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	if (!mpa_usock_is(us)->idle) {
		mpa_detach(us->conn);
		return;
	}
	mpa_conn_free(us->conn);
	sock_put(sk);
}

static void usock_reap_work(struct work_struct *work)
{
	struct mpa_usock *us = container_of(work, struct mpa_usock, reap);

	mpa_lock_wait_cancel(us->conn, &us->work_wait);
	usock_drop_conn(us);
	usock_free(us);
	/*
	 * The core drops the reference for the operations that the socket had at the
	 * end, which were not those of this module. Unloading waits for this work.
	 */
	module_put(THIS_MODULE);
}

/* ---- Settings ---- */

/* Revisions that an application uses, by the revision setting. */
static const struct {
	u8 rev;
	u8 rev_min;
} usock_revisions[] = {
	[MPA_REVISION_0]	= { MPA_REV_RDMAC, MPA_REV_RDMAC },
	[MPA_REVISION_1]	= { MPA_REV_1, MPA_REV_RDMAC },
	[MPA_REVISION_2]	= { MPA_REV_2, MPA_REV_2 },
	[MPA_REVISION_AUTO]	= { MPA_REV_AUTO, MPA_REV_RDMAC },
};

/* Parameters of an application that the administrator's settings mean. */
static void usock_default_params(const struct mpa_config *cfg,
				 struct mpa_sock_params *p)
{
	const u32 *v = cfg->v;
	u32 rev = v[MPA_A_CONFIG_REVISION];

	*p = (struct mpa_sock_params){
		.rev = usock_revisions[rev].rev,
		.rev_min = usock_revisions[rev].rev_min,
		.startup = v[MPA_A_CONFIG_STARTUP],
	};
	if (v[MPA_A_CONFIG_MARKERS])
		p->flags |= MPA_F_MARKERS;
	if (v[MPA_A_CONFIG_CRC] != MPA_CONFIG_CRC_REQUIRED)
		p->flags |= MPA_F_NO_CRC;
	if (v[MPA_A_CONFIG_PERMISSIVE] && rev != MPA_REVISION_0 &&
	    rev != MPA_REVISION_2)
		p->flags |= MPA_F_PERMISSIVE;
	/* All kinds is the default and needs no explicit value. */
	if (v[MPA_A_CONFIG_RTR] != mpa_config_bounds[MPA_A_CONFIG_RTR].max)
		p->rtr = v[MPA_A_CONFIG_RTR];
}

/* Sets everything that the application has not set itself. */
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
	us->conn = mpa_conn_alloc(sk, NULL, &mpa_usock_stream_ops, us);
	if (!us->conn) {
		kfree(us);
		return NULL;
	}
	us->conn->us = us;
	us->base = base;
	us->node.kind = MPA_NODE_LISTENER;
	us->node.ops = &usock_node_ops;
	mpa_tuf_init(&us->tuf);
	INIT_DELAYED_WORK(&us->work, usock_work);
	mpa_lock_wait_init(&us->work_wait, &us->work);
	INIT_WORK(&us->reap, usock_reap_work);
	return us;
}

/* It was never bound. */
static void usock_discard(struct mpa_usock *us)
{
	mpa_conn_free(us->conn);
	usock_free(us);
}

/*
 * Other users that take over sockets check sk_user_data. BPF programs update a sockmap without
 * lock_sock(), so this lock makes one of a check and what follows from it.
 */
static bool usock_is_unused(const struct sock *sk)
{
	lockdep_assert_held_write(&sk->sk_callback_lock);
	return !rcu_access_pointer(__sk_user_data((sk)));
}

static int usock_claim(struct sock *sk, struct mpa_conn *conn)
{
	int ret = -EEXIST;

	write_lock_bh(&sk->sk_callback_lock);
	if (usock_is_unused(sk)) {
		__rcu_assign_sk_user_data_with_flags(sk, conn, SK_USER_DATA_NOCOPY);
		ret = 0;
	}
	write_unlock_bh(&sk->sk_callback_lock);
	return ret;
}

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
	if (sk->sk_state == TCP_LISTEN ||
	    sk->sk_socket->state == SS_UNCONNECTED) {
		us->phase = sk->sk_state == TCP_LISTEN ? MPA_USOCK_LISTENER :
							 MPA_USOCK_UNCONNECTED;
		sock_hold(sk);
		rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, us->conn);
		return;
	}
	/* Prevents another connect() after a non-blocking one. */
	sk->sk_socket->state = SS_CONNECTED;
	mpa_conn_hook(us->conn);
}

/**
 * mpa_usock_attach - attach to the socket of an application
 * @sk: the socket, under lock_sock(), with a file; established, listening or not
 *	connected; still with TCP's operations
 *
 * Return: 0, -ENOMEM, or -EEXIST if the socket is in use by something else.
 */
int mpa_usock_attach(struct sock *sk)
{
	struct mpa_usock *us = usock_create(sk, sk->sk_socket->ops);
	struct mpa_config cfg;
	int ret;

	if (!us)
		return -ENOMEM;
	ret = usock_claim(sk, us->conn);
	if (ret) {
		usock_discard(us);
		return ret;
	}
	mpa_net_config(sock_net(sk), &cfg);
	usock_bind(us, sk, &cfg);
	return 0;
}

static int usock_inherit_bytes(u8 **to, u32 *to_len, const u8 *from, u32 len)
{
	if (!from)
		return 0;
	*to = kmemdup(from, len, GFP_KERNEL_ACCOUNT);
	if (!*to)
		return -ENOMEM;
	*to_len = len;
	return 0;
}

/*
 * Copies what the application has set on the listener, and gets the settings in
 * force there. Fails with -ENOMEM if it cannot copy private data, or the last
 * streaming message: without it the Responder would wait for a Request that the
 * peer does not send; with -EOPNOTSUPP if the settings forbid the framing of the
 * listener.
 */
static int usock_inherit(struct mpa_usock *us, const struct mpa_usock *from,
			 struct mpa_config *cfg)
{
	struct sock *parent = from->conn->sk;
	struct mpa_label label = {};
	int ret;

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
	ret = mpa_tuf_inherit(&us->tuf, &from->tuf, cfg);
	if (ret)
		return ret;
	ret = usock_inherit_bytes(&us->pd, &us->pd_len, from->pd, from->pd_len);
	if (ret)
		return ret;
	return usock_inherit_bytes(&us->last, &us->last_len, from->last,
				   from->last_len);
}

/*
 * The socket may have been in the queue before its listener was attached, and have got another
 * user there. A sockmap gives it back to TCP only if it has no upper layer protocol then. Under
 * lock_sock().
 */
static int usock_adopt_ulp(struct sock *sk, const struct sock *parent)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	int ret = -EEXIST;

	write_lock_bh(&sk->sk_callback_lock);
	/* It may have been cloned while its listener was partly attached. */
	if (!icsk->icsk_ulp_ops)
		RCU_INIT_POINTER(icsk->icsk_ulp_data, NULL);
	if (!usock_is_unused(sk))
		goto out;
	ret = 0;
	if (icsk->icsk_ulp_ops)
		goto out;
	__module_get(THIS_MODULE);
	/* Set: accept() took the parent's lock after it saw the parent attached. */
	icsk->icsk_ulp_ops = inet_csk(parent)->icsk_ulp_ops;
out:
	write_unlock_bh(&sk->sk_callback_lock);
	return ret;
}

/*
 * There is no caller to which an error can be returned, so it stays on the
 * socket. As plain TCP, the application would take the peer's bytes for ULPDUs.
 */
static void usock_start_child(struct mpa_usock *us)
{
	int ret = mpa_usock_start(us, MPA_ROLE_RESPONDER, false);
	struct sock *sk = us->conn->sk;

	if (!ret || ret == -EINPROGRESS)
		return;
	lock_sock(sk);
	/* The peer may have been that fast. */
	if (us->phase == MPA_USOCK_PLAIN)
		goto out;
	us->role = MPA_ROLE_RESPONDER;
	mpa_usock_end(us, MPA_USOCK_FAILED, ret == -ECONNRESET ?
		  MPA_ERROR_CLOSED : MPA_ERROR_STARTUP, ret);
	/* The start may have cleared it, as for a caller. */
	WRITE_ONCE(sk->sk_err, -ret);
out:
	release_sock(sk);
}

/**
 * mpa_usock_attach_child - attach to a socket accepted from a listener with MPA
 * @from: the listener
 * @sock: the new socket; from accept(2) already with the operations of usock_ops.c,
 *	from kernel_accept() with none yet
 *
 * Process context, no lock held.
 *
 * Return: 0; -ENOMEM; -EEXIST if the socket is in use by something else; -EOPNOTSUPP
 * if the listener has framing, which the settings forbid by now. After an error the
 * connection must be dropped.
 */
int mpa_usock_attach_child(struct mpa_usock *from, struct socket *sock)
{
	struct sock *parent = from->conn->sk, *sk = sock->sk;
	struct mpa_usock *us = usock_create(sk, from->base);
	struct mpa_config cfg;
	bool start;
	int ret;

	lock_sock(sk);
	ret = usock_adopt_ulp(sk, parent);
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
		usock_discard(us);
		return ret;
	}
	lock_sock(sk);
	usock_set_user_data(sk, us->conn);
	usock_bind(us, sk, &cfg);
	mpa_tuf_apply(us);
	release_sock(sk);
	if (start)
		usock_start_child(us);
	return 0;
}

/**
 * mpa_usock_detach - remove MPA from a socket that is being closed
 * @sk: the socket, not locked
 *
 * Passes ULPDUs that wait to TCP; if it cannot take them, the connection is
 * reset. TCP must close the socket afterwards.
 */
void mpa_usock_detach(struct sock *sk)
{
	struct mpa_usock *us = mpa_usock_of(sk);
	struct mpa_conn *conn;
	int err;

	if (!us)
		return;
	conn = us->conn;
	lock_sock(sk);
	usock_set_user_data(sk, NULL);
	if (mpa_usock_is(us)->idle) {
		mpa_node_remove(&us->node);
		RCU_INIT_POINTER(inet_csk(sk)->icsk_ulp_data, NULL);
		/* For mpa_lock_or_defer(): poll() may have queued the work. */
		WRITE_ONCE(conn->gone, true);
	} else {
		err = mpa_pend_flush_all(us);
		mpa_tuf_rx_forget_markers(conn);
		mpa_conn_unhook(conn);
		if (err)
			sk->sk_prot->disconnect(sk, 0);
	}
	release_sock(sk);

	/*
	 * It is not queued any more: what can still happen to the socket checks
	 * @gone, and calls of the application need its file.
	 */
	mpa_lock_wait_cancel(conn, &us->work_wait);
	usock_drop_conn(us);
	usock_free(us);
}
