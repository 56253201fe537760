// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of MPA on the socket of an application: attached, started, answered,
 * released; and what the stream calls up.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat/sock_ops.h"
#include "netlink.h"
#include "registry.h"
#include "usock.h"

#define NEXT(phase) BIT(MPA_USOCK_##phase)

/* What a phase means for calls, and what may follow it. */
const struct mpa_usock_facts mpa_usock_facts[MPA_USOCK_NR_PHASES] = {
	[MPA_USOCK_STREAMING] = {
		/* An accepted one may find that TCP has ended already. */
		.next = NEXT(STARTUP) | NEXT(FAILED),
	},
	[MPA_USOCK_LISTENER] = {},
	[MPA_USOCK_STARTUP] = {
		.ours = true,
		.next = NEXT(STREAMING) | NEXT(OPERATIONAL) | NEXT(FAILED) |
			NEXT(REJECTED),
	},
	[MPA_USOCK_OPERATIONAL] = {
		.ours = true,
		.full = true,
		/* The Reply may ask for what cannot be done. */
		.next = NEXT(ENDED) | NEXT(FAILED),
	},
	[MPA_USOCK_ENDED] = { .ours = true, .full = true, .ended = true },
	[MPA_USOCK_FAILED] = { .ours = true, .ended = true },
	[MPA_USOCK_REJECTED] = {},
};

/* The one place where a phase changes. */
static void usock_set_phase(struct mpa_usock *us, enum mpa_usock_phase phase)
{
	mpa_assert_locked(us->conn);
	if (WARN_ON_ONCE(!(mpa_usock_is(us)->next & BIT(phase))))
		return;
	/* Pairs with mpa_usock_is(): what the phase stands for is there. */
	smp_store_release(&us->phase, phase);
}

/* Whoever sleeps in a call or polls is to look again. */
static void usock_wake(struct mpa_usock *us)
{
	us->conn->saved.state_change(us->conn->sk);
}

/**
 * mpa_usock_kick - have @work run
 * @us: the socket, locked
 * @delay: not before so many jiffies; 0 overrides a longer one
 */
void mpa_usock_kick(struct mpa_usock *us, unsigned long delay)
{
	mpa_assert_locked(us->conn);
	if (us->conn->gone)
		return;
	if (delay)
		queue_delayed_work(mpa_user_wq, &us->work, delay);
	else
		mod_delayed_work(mpa_user_wq, &us->work, 0);
}

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

/* Receiving is over, with @phase; the first reason is what counts. */
static void usock_end(struct mpa_usock *us, enum mpa_usock_phase phase,
		      enum mpa_error code, int err)
{
	struct sock *sk = us->conn->sk;

	if (mpa_usock_is(us)->ended)
		return;
	us->code = code;
	us->err = err;
	usock_set_phase(us, phase);
	if (phase == MPA_USOCK_FAILED || code == MPA_ERROR_STARTUP) {
		/* As connect(2) tells it; the peer gets no more of us. */
		WRITE_ONCE(sk->sk_err, -err);
		us->close_due = true;
		mpa_usock_kick(us, 0);
	}
	usock_wake(us);
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
	usock_wake(us);
}

static void usock_op_operational(struct mpa_conn *conn,
				 const struct mpa_result *res)
{
	struct mpa_usock *us = mpa_priv(conn);

	usock_set_phase(us, MPA_USOCK_OPERATIONAL);
	usock_wake(us);
}

/* Plain TCP again, with the settings from before. */
static void usock_rejected(struct mpa_usock *us)
{
	usock_set_phase(us, MPA_USOCK_REJECTED);
	mpa_sock_untune(us->conn->sk, &us->conn->tuned);
	usock_wake(us);
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
		usock_rejected(us);
	} else if (status) {
		/* Without RDMAP nobody can say more than that with a FIN. */
		usock_end(us, MPA_USOCK_FAILED, MPA_ERROR_STARTUP, status);
	} else if (!mpa_usock_is(us)->full) {
		/* It is reviewed. */
		usock_wake(us);
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
	usock_end(us, full ? MPA_USOCK_ENDED : MPA_USOCK_FAILED, code, err);
}

static const struct mpa_ops usock_stream_ops = {
	.request	= usock_op_request,
	.operational	= usock_op_operational,
	.reply		= usock_op_reply,
	.ulpdu		= usock_op_ulpdu,
	.writable	= usock_op_writable,
	.ended		= usock_op_ended,
};

/* RFC 5044 section 7.1.2: after an improper frame TCP is closed. */
static void usock_close_tcp(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	us->close_due = false;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SHUTDOWN_MASK);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	usock_wake(us);
}

/* The settings bound what the application says of Read depths. */
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

static void usock_accept_request(struct mpa_usock *us)
{
	struct mpa_params p;
	int ret;

	us->accept_due = false;
	usock_startup_params(us, &p);
	ret = mpa_accept_locked(us->conn, &p, us->pd, us->pd_len);
	/* The application may have been quicker. */
	if (ret && us->conn->state == MPA_CONN_REQUEST_SEEN)
		usock_end(us, MPA_USOCK_FAILED, MPA_ERROR_STARTUP, ret);
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
			usock_accept_request(us);
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

/**
 * mpa_usock_reap - TCP has destroyed the socket, and our release did not come
 * @conn: its stream, unhooked; any context
 *
 * The operations can be taken from a socket under us (IPV6_ADDRFORM, in a race).
 */
void mpa_usock_reap(struct mpa_conn *conn)
{
	struct mpa_usock *us = conn->priv;

	queue_work(mpa_user_wq, &us->reap);
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

/**
 * mpa_usock_update_node - does a socket of ours listen, or has it ceased to?
 * @us: a listener, under lock_sock()
 *
 * It is among the listeners of its namespace if so, and accepted sockets start
 * by themselves.
 *
 * Return: 0, or -ENOMEM.
 */
int mpa_usock_update_node(struct mpa_usock *us)
{
	const struct sock *sk = us->conn->sk;
	bool want = us->child_start && sk->sk_state == TCP_LISTEN;

	mpa_assert_locked(us->conn);
	if (want == mpa_node_listed(&us->node))
		return 0;
	if (want)
		return mpa_node_add(&us->node, sock_net(sk));
	mpa_node_remove(&us->node);
	return 0;
}

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
 * @sk: the socket, under lock_sock(), with a file; established or listening
 *
 * Return: 0; -EOPNOTSUPP a socket of a kind we do not know; -ENOMEM.
 */
int mpa_usock_attach(struct sock *sk)
{
	const struct proto_ops *base = sk->sk_socket->ops;
	const struct proto_ops *ops = mpa_usock_ops_for(base);
	struct mpa_config cfg;
	struct mpa_usock *us;

	if (!ops)
		return -EOPNOTSUPP;
	us = usock_create(sk, base);
	if (!us)
		return -ENOMEM;
	mpa_net_config(sock_net(sk), &cfg);
	usock_bind(us, sk, &cfg);
	/* Whoever comes through them finds us. */
	mpa_usock_set_ops(sk->sk_socket, ops);
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
static void usock_adopt_ulp(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (icsk->icsk_ulp_ops)
		return;
	/* It may have been cloned when its listener was half ours. */
	RCU_INIT_POINTER(icsk->icsk_ulp_data, NULL);
	__module_get(THIS_MODULE);
	icsk->icsk_ulp_ops = &mpa_ulp_ops;
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
	usock_end(us, MPA_USOCK_FAILED, ret == -ECONNRESET ?
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
	usock_adopt_ulp(sk);
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

/**
 * mpa_usock_enter_plain - is a call TCP's own business?
 * @us: the socket, locked
 *
 * Return: true if so: the caller calls TCP's operation without the lock, and
 * then mpa_usock_leave_plain(). The stream cannot be started meanwhile.
 */
bool mpa_usock_enter_plain(struct mpa_usock *us)
{
	mpa_assert_locked(us->conn);
	if (mpa_usock_is(us)->ours)
		return false;
	us->nr_plain++;
	return true;
}

/**
 * mpa_usock_leave_plain - TCP's own operation has returned
 * @us: the socket, not locked
 */
void mpa_usock_leave_plain(struct mpa_usock *us)
{
	lock_sock(us->conn->sk);
	us->nr_plain--;
	release_sock(us->conn->sk);
}

/**
 * mpa_usock_wait - wait until something is ready
 * @us: the socket, under lock_sock(), which is released while sleeping
 * @ready: says -EAGAIN if it is not
 * @len: for @ready
 * @timeo: how long, jiffies; 0: not at all
 *
 * Return: what @ready says, or -EINTR or -ERESTARTSYS for a signal.
 */
int mpa_usock_wait(struct mpa_usock *us,
		   int (*ready)(struct mpa_usock *us, size_t len), size_t len,
		   long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = us->conn->sk;
	int ret;

	add_wait_queue(sk_sleep(sk), &wait);
	while ((ret = ready(us, len)) == -EAGAIN && timeo) {
		if (signal_pending(current)) {
			ret = sock_intr_errno(timeo);
			break;
		}
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return ret;
}

static int usock_start_stream(struct mpa_usock *us)
{
	u32 timeout_ms = us->params.timeout_ms ?:
			 us->cfg.v[MPA_A_CONFIG_STARTUP_TIMEOUT];
	struct mpa_params p;

	if (us->role == MPA_ROLE_RESPONDER)
		return mpa_start_responder(us->conn, us->last, us->last_len,
					   timeout_ms);
	usock_startup_params(us, &p);
	us->conn->review = us->params.flags & MPA_F_REVIEW;
	return mpa_start_initiator(us->conn, &p, us->pd, us->pd_len,
				   timeout_ms);
}

/* A listener that was shut down may listen again, but not what was connected. */
static int usock_check_start_listener(const struct mpa_usock *us, int role)
{
	const int state = us->conn->sk->sk_state;

	if (role != MPA_ROLE_RESPONDER)
		return -EINVAL;
	return state == TCP_LISTEN || state == TCP_CLOSE ? 0 : -EINVAL;
}

static int usock_check_start(const struct mpa_usock *us, int role)
{
	if (role != MPA_ROLE_INITIATOR && role != MPA_ROLE_RESPONDER)
		return -EINVAL;
	if (us->phase == MPA_USOCK_LISTENER)
		return usock_check_start_listener(us, role);
	if (us->phase != MPA_USOCK_STREAMING)
		return -EINVAL;
	return us->nr_plain || tcp_sk(us->conn->sk)->repair ? -EBUSY : 0;
}

static int usock_startup_over(struct mpa_usock *us, size_t unused)
{
	switch (us->phase) {
	case MPA_USOCK_REJECTED:
		WRITE_ONCE(us->conn->sk->sk_err, 0);
		return -ECONNREFUSED;
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

/* Plain TCP as before, unless the last message of streaming mode got stuck. */
static void usock_start_failed(struct mpa_usock *us, int err)
{
	if (us->conn->state == MPA_CONN_EXITED) {
		usock_end(us, MPA_USOCK_FAILED, MPA_ERROR_STARTUP, err);
		return;
	}
	us->role = MPA_ROLE_NONE;
	usock_set_phase(us, MPA_USOCK_STREAMING);
	mpa_sock_untune(us->conn->sk, &us->conn->tuned);
	usock_wake(us);
}

/**
 * mpa_usock_start - begin the startup exchange
 * @us: the socket, not locked; on a listener: of the sockets it will accept
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
	ret = usock_check_start(us, role);
	if (ret)
		goto out;
	if (us->phase == MPA_USOCK_LISTENER) {
		us->child_start = true;
		ret = mpa_usock_update_node(us);
		goto out;
	}
	us->role = role;
	usock_set_phase(us, MPA_USOCK_STARTUP);
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
	/* It goes on, so the call must not be begun anew. */
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

/* No frame follows a Reply, so there is nothing to put private data into. */
static int usock_answer_reply(struct mpa_usock *us, bool accept, u32 len)
{
	if (len)
		return -EINVAL;
	return accept ? mpa_reply_accept(us->conn) :
			mpa_reply_decline(us->conn);
}

/**
 * mpa_usock_answer - answer the peer's Request, or its Reply
 * @us: the socket, not locked
 * @accept: or reject it
 * @pd: private data
 * @len: bytes of it; 0 for a Reply
 *
 * Return: 0; -EINVAL there is nothing to be answered, or private data for a
 * Reply; others as for mpa_accept().
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
		/* Nothing may overtake the Reply. */
		mpa_tx_flush_all(us->conn);
		usock_rejected(us);
		/* What came behind the Request is plain TCP's. */
		us->conn->saved.data_ready(sk);
	}
	release_sock(sk);
	return ret;
}
