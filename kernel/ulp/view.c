// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports about connections: views for dumps, events when they enter full
 * operation and end, counters and failures.
 *
 * A connection gets a number, and an entry in the array of its namespace, when
 * it is created. The entry points to it from mpa_conn_hook() until
 * mpa_detach(), which removes it before it drops the reference to the socket. A
 * reader that finds it under RCU takes a reference to the socket, then its
 * lock, and checks that the stream is still attached: so a stream is read under
 * the lock that protects it, and detaching waits.
 *
 * An application may hold that lock for any time (sock.h). After a short time a
 * stream is read without it, under RCU, which keeps its memory valid: its
 * numbers may be inconsistent, and the view is marked so.
 */
#include <linux/jiffies.h>
#include <linux/kcsan-checks.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "netlink/ulp.h"
#include "registry.h"
#include "sock.h"
#include "trace.h"
#include "tx_emss.h"
#include "view.h"

static struct mpa_net *view_net(const struct mpa_conn *conn)
{
	return mpa_net_of(sock_net(conn->sk));
}

/* ---- Adding and removing ---- */

/**
 * mpa_conn_alloc_id - allocate the number of a stream
 * @conn: the stream, not hooked yet
 *
 * Process context.
 *
 * Return: 0, or -ENOMEM.
 */
int mpa_conn_alloc_id(struct mpa_conn *conn)
{
	struct mpa_net *mn = view_net(conn);
	int ret;

	conn->since = get_jiffies_64();
	/* NULL reserves the entry and is not found. */
	ret = xa_alloc_cyclic_bh(&mn->conns, &conn->id, NULL,
				 XA_LIMIT(1, MPA_ID_MAX), &mn->next_conn,
				 GFP_KERNEL_ACCOUNT);
	return min(ret, 0);
}

/**
 * mpa_conn_free_id - free the number of a stream
 * @conn: the stream, not hooked; its socket still exists
 *
 * Process context.
 */
void mpa_conn_free_id(struct mpa_conn *conn)
{
	xa_erase_bh(&view_net(conn)->conns, conn->id);
}

/**
 * mpa_conn_publish - make a stream visible to dumps
 * @conn: the stream, under lock_sock(), with a reference to its socket
 */
void mpa_conn_publish(struct mpa_conn *conn)
{
	struct mpa_net *mn = view_net(conn);

	mpa_assert_locked(conn);
	/* The entry was reserved: nothing is allocated. */
	WARN_ON_ONCE(xa_err(xa_store_bh(&mn->conns, conn->id, conn,
					GFP_KERNEL)));
	mpa_count(mn, MPA_COUNT_CONNS, 1);
	/* Pairs with mpa_conn_generation(). */
	atomic_fetch_inc_release(&mn->conn_generation);
}

/**
 * mpa_conn_unpublish - hide a stream from dumps
 * @conn: the stream, unhooked, still with a reference to its socket; not locked
 *
 * Process context. Readers that have found it before may still wait for the
 * lock.
 */
void mpa_conn_unpublish(struct mpa_conn *conn)
{
	struct mpa_net *mn = view_net(conn);

	mpa_conn_free_id(conn);
	mpa_count(mn, MPA_COUNT_CONNS, -1);
	/* Pairs with mpa_conn_generation(). */
	atomic_fetch_inc_release(&mn->conn_generation);
}

/**
 * mpa_conn_generation - detect that connections were added or removed
 * @net: namespace
 *
 * Any context.
 *
 * Return: a number that changes then.
 */
u32 mpa_conn_generation(struct net *net)
{
	/*
	 * A reader of a new number also sees what has changed. Pairs with
	 * mpa_conn_publish() and mpa_conn_unpublish().
	 */
	return atomic_read_acquire(&mpa_net_of(net)->conn_generation);
}

/* ---- Views ---- */

static void view_fill_ipv4(struct mpa_addr *to, __be32 addr)
{
	to->len = sizeof(addr);
	memcpy(to->bytes, &addr, sizeof(addr));
}

#if IS_ENABLED(CONFIG_IPV6)
static void view_fill_ipv6(const struct sock *sk, const struct in6_addr *addr,
			   struct mpa_addr *to)
{
	if (ipv6_addr_v4mapped(addr)) {
		view_fill_ipv4(to, addr->s6_addr32[3]);
		return;
	}
	to->len = sizeof(*addr);
	memcpy(to->bytes, addr, sizeof(*addr));
	if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		to->scope = READ_ONCE(sk->sk_bound_dev_if);
}
#endif

/**
 * mpa_addr_local - local address of a socket
 * @sk: TCP socket
 * @to: set to its local address and port
 *
 * Any context.
 */
void mpa_addr_local(const struct sock *sk, struct mpa_addr *to)
{
	const struct inet_sock *inet = inet_sk(sk);

	*to = (struct mpa_addr){ .port = inet->inet_sport };
	if (sk->sk_family == AF_INET)
		view_fill_ipv4(to, inet->inet_rcv_saddr);
#if IS_ENABLED(CONFIG_IPV6)
	else
		view_fill_ipv6(sk, &sk->sk_v6_rcv_saddr, to);
#endif
}

static void view_addr_remote(const struct sock *sk, struct mpa_addr *to)
{
	const struct inet_sock *inet = inet_sk(sk);

	*to = (struct mpa_addr){ .port = inet->inet_dport };
	if (sk->sk_family == AF_INET)
		view_fill_ipv4(to, inet->inet_daddr);
#if IS_ENABLED(CONFIG_IPV6)
	else
		view_fill_ipv6(sk, &sk->sk_v6_daddr, to);
#endif
}

static u64 view_inode(struct sock *sk)
{
	u64 inode = 0;

	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket)
		inode = SOCK_INODE(sk->sk_socket)->i_ino;
	read_unlock_bh(&sk->sk_callback_lock);
	return inode;
}

static enum mpa_conn_phase view_phase(const struct mpa_conn *conn)
{
	static const u8 phases[MPA_CONN_NR_STATES] = {
		[MPA_CONN_ATTACHED]	= MPA_PHASE_ATTACHED,
		[MPA_CONN_WAIT_REPLY]	= MPA_PHASE_WAIT_REPLY,
		[MPA_CONN_WAIT_REQUEST]	= MPA_PHASE_WAIT_REQUEST,
		[MPA_CONN_REQUEST_SEEN]	= MPA_PHASE_REQUESTED,
		[MPA_CONN_OPERATIONAL]	= MPA_PHASE_OPERATIONAL,
		[MPA_CONN_RX_ENDED]	= MPA_PHASE_RX_ENDED,
		[MPA_CONN_EXITED]	= MPA_PHASE_EXITED,
		[MPA_CONN_CLOSED]	= MPA_PHASE_CLOSED,
		[MPA_CONN_REPLY_SEEN]	= MPA_PHASE_REPLIED,
	};

	return phases[READ_ONCE(conn->state)];
}

/* The stream is locked, or no one else can reach it. Omits MULPDU and EMSS. */
static void view_conn(const struct mpa_conn *conn, struct mpa_conn_view *v)
{
	/* A hand-over may change them meanwhile. */
	const struct mpa_ops *ops = READ_ONCE(conn->ops);
	struct sock *sk = conn->sk;

	*v = (struct mpa_conn_view){
		.id = conn->id,
		.owner = mpa_conn_owner_is_kernel(conn) ? MPA_OWNER_DEVICE :
							  MPA_OWNER_SOCKET,
		.label = conn->label,
		.listen_id = conn->label.listen_id,
		.uid = READ_ONCE(sk->sk_uid),
		.phase = view_phase(conn),
		.started = conn->started,
		.initiator = conn->initiator,
		.age_ms = jiffies64_to_msecs(get_jiffies_64() - conn->since),
		.known = conn->known,
		.code = conn->code,
		.err = conn->err,
		.term_sent = conn->term_sent,
		.term_received = conn->term_received,
		.stats = conn->stats,
	};
	if (conn->known)
		v->res = conn->res;
	if (ops->framing)
		v->framed = ops->framing(conn, &v->framing);
	mpa_addr_local(sk, &v->local);
	view_addr_remote(sk, &v->remote);
	if (!conn->sock)
		v->inode = view_inode(sk);
}

static void view_tx_room(struct mpa_conn *conn, struct mpa_conn_view *v)
{
	mpa_assert_locked(conn);
	if (!conn->tx_open)
		return;
	v->mulpdu = mpa_tx_mulpdu(conn);
	v->emss = mpa_tx_emss(conn);
}

/* Finds the next stream from @id on and takes a reference to its socket. */
static struct sock *view_find_conn(struct mpa_net *mn, unsigned long *id,
				   struct mpa_conn **found)
{
	struct mpa_conn *conn;
	struct sock *sk = NULL;

	rcu_read_lock();
	conn = xa_find(&mn->conns, id, MPA_ID_MAX, XA_PRESENT);
	while (conn) {
		/*
		 * Sockets are freed without a grace period, but their memory
		 * stays type-safe.
		 */
		if (refcount_inc_not_zero(&conn->sk->sk_refcnt)) {
			sk = conn->sk;
			break;
		}
		conn = xa_find_after(&mn->conns, id, MPA_ID_MAX, XA_PRESENT);
	}
	rcu_read_unlock();
	*found = conn;
	return sk;
}

/*
 * Whether the stream found under RCU is still attached. The memory of @conn and
 * of the socket may have been reused, so @conn is valid only if the socket
 * points to it.
 */
static bool view_still_attached(const struct mpa_conn *conn, u32 id,
				const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_ulp_ops *ulp = icsk->icsk_ulp_ops;

	return ulp && ulp->owner == THIS_MODULE &&
	       rcu_dereference_protected(icsk->icsk_ulp_data,
					 lockdep_sock_is_held(sk)) == conn &&
	       conn->sk == sk && conn->id == id;
}

/*
 * How long to wait for the lock of a socket. After a timeout no lock is waited
 * for during one second, because a program may hold the locks of many sockets.
 */
static long view_lock_timeout(const struct mpa_net *mn)
{
	unsigned long left = READ_ONCE(mn->no_waiting_until) - jiffies;

	/* It may be so long ago that the difference has wrapped. */
	return left && left <= HZ ? 0 : HZ / 10 + 1;
}

static bool view_conn_locked(struct mpa_conn *conn, u32 id, struct sock *sk,
			     struct mpa_conn_view *v)
{
	bool there = view_still_attached(conn, id, sk);

	if (there) {
		view_conn(conn, v);
		view_tx_room(conn, v);
	}
	release_sock(sk);
	return there;
}

/* Changes may or may not be seen. The caller holds a reference to @sk. */
static bool view_conn_unlocked(struct mpa_net *mn, const struct mpa_conn *conn,
			       u32 id,
		      const struct sock *sk, struct mpa_conn_view *v)
{
	bool there;

	rcu_read_lock();
	there = xa_load(&mn->conns, id) == conn && conn->sk == sk;
	if (there) {
		kcsan_disable_current();
		view_conn(conn, v);
		kcsan_enable_current();
		v->busy = true;
	}
	rcu_read_unlock();
	return there;
}

/**
 * mpa_view_next_conn - read the next connection
 * @net: its namespace
 * @from: lowest number
 * @v: the first with that number or a greater one
 *
 * Process context; takes the lock of its socket, unless that would take too
 * long.
 *
 * Return: 0; -ENOENT there are no more; -EINTR a fatal signal.
 */
int mpa_view_next_conn(struct net *net, u32 from, struct mpa_conn_view *v)
{
	struct mpa_net *mn = mpa_net_of(net);
	unsigned long id = from;
	bool there = false;

	might_sleep();
	for (; !there; id++) {
		struct mpa_conn *conn;
		struct sock *sk = view_find_conn(mn, &id, &conn);
		long timeo = view_lock_timeout(mn);

		if (!sk)
			return -ENOENT;
		if (mpa_lock_within(sk, timeo)) {
			there = view_conn_locked(conn, id, sk, v);
		} else {
			if (timeo)
				WRITE_ONCE(mn->no_waiting_until, jiffies + HZ);
			there = view_conn_unlocked(mn, conn, id, sk, v);
		}
		sock_put(sk);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

/* ---- Events ---- */

static void view_notify(struct mpa_conn *conn, enum mpa_cmd cmd)
{
	struct net *net = sock_net(conn->sk);
	struct mpa_conn_view v;

	if (!mpa_netlink_has_listeners(net))
		return;
	view_conn(conn, &v);
	if (cmd == MPA_CMD_CONN_UP_NTF)
		view_tx_room(conn, &v);
	mpa_notify_conn(net, cmd, &v);
}

/**
 * mpa_conn_up - a stream has entered full operation
 * @conn: the stream, locked
 */
void mpa_conn_up(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	conn->known = true;
	conn->up = true;
	mpa_count(view_net(conn), MPA_COUNT_CONNS_UP, 1);
	mpa_count(view_net(conn), MPA_COUNT_OPENED, 1);
	view_notify(conn, MPA_CMD_CONN_UP_NTF);
}

/**
 * mpa_conn_down - a stream has left full operation, if it was in it
 * @conn: the stream, locked, or unreachable for anyone else
 *
 * Called when both halves have ended and when the stream is detached; reports
 * only once.
 */
void mpa_conn_down(struct mpa_conn *conn)
{
	if (!conn->up)
		return;
	conn->up = false;
	mpa_count(view_net(conn), MPA_COUNT_CONNS_UP, -1);
	view_notify(conn, MPA_CMD_CONN_DOWN_NTF);
}

/**
 * mpa_conn_count_too_soon - count FPDUs that were received too early
 * @conn: the stream, locked
 * @fpdus: number of FPDUs
 */
void mpa_conn_count_too_soon(struct mpa_conn *conn, u32 fpdus)
{
	mpa_assert_locked(conn);
	mpa_count(view_net(conn), MPA_COUNT_TOO_SOON, fpdus);
}

static void view_notify_failure(struct mpa_conn *conn,
				struct mpa_failure_view *failure)
{
	struct net *net = sock_net(conn->sk);
	struct mpa_conn_view v;

	if (!mpa_netlink_has_listeners(net) ||
	    !mpa_failure_due(view_net(conn), &failure->suppressed))
		return;
	view_conn(conn, &v);
	view_tx_room(conn, &v);
	failure->conn = &v;
	mpa_notify_failure(net, failure);
}

static const u8 view_failure_counters[] = {
	[MPA_FAILURE_TCP]		= MPA_COUNT_TCP,
	[MPA_FAILURE_CRC]		= MPA_COUNT_CRC,
	[MPA_FAILURE_MARKER]		= MPA_COUNT_MARKER,
	[MPA_FAILURE_STARTUP]		= MPA_COUNT_STARTUP,
	[MPA_FAILURE_REJECTED]		= MPA_COUNT_REJECTED,
	[MPA_FAILURE_TERM_SENT]		= MPA_COUNT_TERM_SENT,
	[MPA_FAILURE_TERM_RECEIVED]	= MPA_COUNT_TERM_RECEIVED,
	[MPA_FAILURE_LENGTH]		= MPA_COUNT_LENGTH,
};

static void view_count_failure(struct mpa_conn *conn,
			       enum mpa_failure_kind kind,
			  int err, u32 term)
{
	struct mpa_failure_view v = {
		.kind = kind,
		.err = err,
		.term = term,
	};

	mpa_count(view_net(conn), view_failure_counters[kind], 1);
	view_notify_failure(conn, &v);
}

/*
 * Returns 0 for an orderly end, or for an end of TCP after a reported failure.
 */
static enum mpa_failure_kind view_failure_kind(const struct mpa_conn *conn,
					       enum mpa_error code, int err)
{
	switch (code) {
	case MPA_ERROR_NONE:
		return MPA_FAILURE_REJECTED;
	case MPA_ERROR_CRC:
		return MPA_FAILURE_CRC;
	case MPA_ERROR_MARKER:
		return err == -EMSGSIZE ? MPA_FAILURE_LENGTH :
					  MPA_FAILURE_MARKER;
	case MPA_ERROR_STARTUP:
		return MPA_FAILURE_STARTUP;
	case MPA_ERROR_CLOSED:
		break;
	}
	if (conn->cause_known)
		return 0;
	if (err)
		return MPA_FAILURE_TCP;
	return conn->started && !conn->known ? MPA_FAILURE_STARTUP : 0;
}

/**
 * mpa_conn_failure - receiving or startup of a stream has ended
 * @conn: the stream, locked
 * @code: RFC 5044 section 8; %MPA_ERROR_NONE: rejected
 * @err: negative error, or 0
 *
 * Traces it, stores it if it is the first, counts it, and sends a notification if
 * it is not an orderly end.
 */
void mpa_conn_failure(struct mpa_conn *conn, enum mpa_error code, int err)
{
	enum mpa_failure_kind kind = view_failure_kind(conn, code, err);

	mpa_assert_locked(conn);
	trace_mpa_failure(conn, code, err);
	if (!conn->cause_known) {
		conn->cause_known = true;
		conn->code = code;
		conn->err = -err;
	}
	if (kind)
		view_count_failure(conn, kind, -err, 0);
}

/**
 * mpa_conn_report_end - notify the owner that nothing more will be received
 * @conn: the stream, locked, already in its new state
 * @code: RFC 5044 section 8
 * @err: as for &mpa_ops.ended
 */
void mpa_conn_report_end(struct mpa_conn *conn, enum mpa_error code, int err)
{
	mpa_assert_locked(conn);
	mpa_conn_failure(conn, code, err);
	if (conn->state == MPA_CONN_CLOSED || conn->state == MPA_CONN_EXITED)
		mpa_conn_down(conn);
	if (conn->end_reported)
		return;
	/* After CRC and MARKER the end of TCP must still be reported. */
	if (code == MPA_ERROR_CLOSED || code == MPA_ERROR_STARTUP)
		conn->end_reported = true;
	conn->ops->ended(conn, code, err);
}

/* ---- Set by the owner ---- */

/**
 * mpa_set_label - set the owner of a stream that is shown to user space
 * @conn: the stream, locked
 * @label: copied; replaces an earlier label
 */
void mpa_set_label(struct mpa_conn *conn, const struct mpa_label *label)
{
	mpa_assert_locked(conn);
	conn->label = *label;
}
EXPORT_SYMBOL_NS_GPL(mpa_set_label, MPA_NS);

/**
 * mpa_set_terminate - record a Terminate Message that ends a stream
 * @conn: the stream, locked
 * @sent: sent by this side; else received
 * @term: layer << 12 | type << 8 | code
 *
 * Called once for each; only the first of each direction is stored.
 */
void mpa_set_terminate(struct mpa_conn *conn, bool sent, u32 term)
{
	u32 *to = sent ? &conn->term_sent : &conn->term_received;

	mpa_assert_locked(conn);
	term |= MPA_TERM_VALID;
	if (!*to)
		*to = term;
	view_count_failure(conn, sent ? MPA_FAILURE_TERM_SENT :
				   MPA_FAILURE_TERM_RECEIVED, 0, term);
}
EXPORT_SYMBOL_NS_GPL(mpa_set_terminate, MPA_NS);

/**
 * mpa_set_config - set what a stream uses in addition to &struct mpa_params
 * @conn: the stream, locked, before startup
 * @cfg: settings in force
 *
 * That is how FPDUs are divided into segments, how long a Responder waits for the
 * first FPDU, and the kind of the startup exchange. The default is the built-in
 * values.
 */
void mpa_set_config(struct mpa_conn *conn, const struct mpa_config *cfg)
{
	mpa_assert_locked(conn);
	conn->single = cfg->v[MPA_A_CONFIG_SEGMENTS] != MPA_SEGMENTS_AUTO;
	conn->lone = cfg->v[MPA_A_CONFIG_SEGMENTS] == MPA_SEGMENTS_LONE;
	conn->first_timeout =
		msecs_to_jiffies(cfg->v[MPA_A_CONFIG_FIRST_FPDU_TIMEOUT]);
	conn->start_with = cfg->v[MPA_A_CONFIG_STARTUP];
}
EXPORT_SYMBOL_NS_GPL(mpa_set_config, MPA_NS);
