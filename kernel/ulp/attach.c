// SPDX-License-Identifier: GPL-2.0-only
/* A stream on its socket: attaching, TCP's callbacks, detaching. */
#include <linux/slab.h>
#include <net/tcp.h>

#include "attach.h"
#include "early.h"
#include "rx.h"
#include "rx_stash.h"
#include "sock.h"
#include "startup.h"
#include "trace.h"
#include "tx_batch.h"
#include "tx_queue.h"
#include "view.h"

static struct kmem_cache *conn_cache __ro_after_init;
/* Those of every socket of an application before it has a stream. */
static struct mpa_saved conn_tcp_callbacks __ro_after_init;

static struct mpa_saved conn_callbacks_of(const struct sock *sk)
{
	return (struct mpa_saved){
		.data_ready	= sk->sk_data_ready,
		.state_change	= sk->sk_state_change,
		.write_space	= sk->sk_write_space,
		.error_report	= sk->sk_error_report,
	};
}

/**
 * mpa_attach_init - create the slab cache of streams
 *
 * Return: 0 or a negative error.
 */
int __init mpa_attach_init(void)
{
	struct socket *sock;
	int ret = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);

	if (ret)
		return ret;
	conn_tcp_callbacks = conn_callbacks_of(sock->sk);
	sock_release(sock);
	/* Each FPDU writes to it, on the processor of its connection. */
	conn_cache = KMEM_CACHE(mpa_conn, SLAB_HWCACHE_ALIGN);
	return conn_cache ? 0 : -ENOMEM;
}

/**
 * mpa_attach_exit - destroy the slab cache of streams
 *
 * No stream is left, but some may wait for the end of a grace period.
 */
void mpa_attach_exit(void)
{
	rcu_barrier();
	kmem_cache_destroy(conn_cache);
}

static void conn_receive(struct mpa_conn *conn)
{
	static void (* const handlers[MPA_CONN_NR_STATES])(struct mpa_conn *) = {
		[MPA_CONN_WAIT_REPLY]	= mpa_startup_rx,
		[MPA_CONN_WAIT_REQUEST]	= mpa_startup_rx,
		[MPA_CONN_OPERATIONAL]	= mpa_rx_fpdus,
		[MPA_CONN_RX_ENDED]	= mpa_rx_drop,
	};
	enum mpa_conn_state before;

	do {
		before = conn->state;
		if (handlers[before])
			handlers[before](conn);
	} while (conn->state != before);
}

/*
 * Keeps the error with which TCP ended: before everything that arrived is read,
 * getsockopt(SO_ERROR) or a send may clear it on the socket. Only tcp_fin()
 * sets SOCK_DONE; without a call of the application, such as a disconnect, only
 * tcp_done() changes to CLOSE. After the peer's FIN
 * nothing more can be received, so an error of the sending half, as EPIPE for a
 * reset, is not kept.
 */
static void conn_note_tcp_error(struct mpa_conn *conn)
{
	const struct sock *sk = conn->sk;

	if (conn->tcp_err || !mpa_conn_tcp_closed(conn) || sock_flag(sk, SOCK_DONE))
		return;
	WRITE_ONCE(conn->tcp_err, -READ_ONCE(sk->sk_err) ?: -ECONNABORTED);
}

static bool conn_tcp_ended(const struct mpa_conn *conn)
{
	return mpa_conn_tcp_closed(conn) || conn->sk->sk_shutdown & RCV_SHUTDOWN;
}

static void conn_close_rx(struct mpa_conn *conn)
{
	int err = conn->tcp_err;

	/* A local shutdown(SHUT_RD) is allowed within an FPDU, a FIN is not. */
	if (!err && mpa_rx_within_fpdu(conn) && sock_flag(conn->sk, SOCK_DONE))
		err = -ECONNABORTED;
	conn->fpdu_due = false;
	cancel_delayed_work(&conn->timer);
	mpa_conn_set_state(conn, MPA_CONN_CLOSED);
	mpa_conn_report_end(conn, MPA_ERROR_CLOSED, err);
}

static void conn_check_closed(struct mpa_conn *conn)
{
	conn_note_tcp_error(conn);
	/* Complete ULPDUs are read before any end is reported, as in TCP. */
	if (!conn_tcp_ended(conn) || conn->rx_held)
		return;
	switch (conn->state) {
	case MPA_CONN_ATTACHED:
		/* Starting the stream will return the error. */
		mpa_conn_set_state(conn, MPA_CONN_CLOSED);
		/* For poll(): TCP's own wake-up was before that. */
		conn->saved.state_change(conn->sk);
		break;
	case MPA_CONN_WAIT_REPLY:
	case MPA_CONN_WAIT_REQUEST:
	case MPA_CONN_REQUEST_SEEN:
	case MPA_CONN_REPLY_SEEN:
		mpa_startup_closed(conn, conn->tcp_err);
		break;
	case MPA_CONN_OPERATIONAL:
	case MPA_CONN_RX_ENDED:
		conn_close_rx(conn);
		break;
	case MPA_CONN_EXITED:
	case MPA_CONN_CLOSED:
	case MPA_CONN_NR_STATES:
		break;
	}
}

/* Sending is allowed here, because nothing else is under way. */
static void conn_answer(struct mpa_conn *conn)
{
	conn->called = false;
	if (conn->ops->answer)
		conn->ops->answer(conn);
}

/**
 * mpa_conn_run - receive, and check whether TCP has ended
 * @conn: the stream, locked
 */
void mpa_conn_run(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	if (conn->busy) {
		conn->again = true;
		return;
	}
	conn->busy = true;
	do {
		conn->again = false;
		conn_receive(conn);
		conn_check_closed(conn);
	} while (conn->again);
	conn->busy = false;
	if (conn->early)
		mpa_early_look(conn);
	if (conn->called)
		conn_answer(conn);
}

static void conn_run_work(struct work_struct *work)
{
	struct mpa_conn *conn = container_of(to_delayed_work(work),
					     struct mpa_conn, run);

	if (!mpa_lock_or_defer(conn, &conn->run_wait))
		return;
	if (!conn->gone) {
		mpa_tx_flush(conn);
		mpa_conn_run(conn);
		/* TCP calls back when it takes more of what is left. */
		if (!conn->rest)
			mpa_tx_check_writable(conn);
	}
	release_sock(conn->sk);
}

/**
 * mpa_stop - receive nothing more, and pass everything to TCP
 * @conn: the stream, under lock_sock(), in any state
 *
 * Process context. In full operation, bytes that have arrived and further ones
 * are dropped; &mpa_ops.ended still reports the end of TCP. Bytes that were
 * handed over for sending are passed to TCP, also beyond its send buffer.
 */
void mpa_stop(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	mpa_tx_finish(conn);
	if (conn->state == MPA_CONN_OPERATIONAL)
		mpa_conn_set_state(conn, MPA_CONN_RX_ENDED);
	if (conn->state != MPA_CONN_RX_ENDED)
		return;
	WRITE_ONCE(conn->rx_held, false);
	conn->rx_again = false;
	conn->fpdu_due = false;
	/* It is set if the Reply has requested what is not possible. */
	conn->end_reported = false;
	mpa_rx_drop(conn);
	/* A FIN may have been behind what was dropped. */
	mpa_conn_kick(conn, 0);
}
EXPORT_SYMBOL_NS_GPL(mpa_stop, MPA_NS);

static struct mpa_conn *conn_of_sock(const struct sock *sk)
{
	return rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data,
					 lockdep_sock_is_held(sk));
}

static void conn_prompt(struct mpa_conn *conn)
{
	conn->rx_prompted = true;
	mpa_conn_run(conn);
}

/*
 * A listener's callback is called under the lock of the new socket only. One
 * with a stream exists if a call of TCP, which began before the stream, has
 * disconnected the socket, and made it listen. The stream, which that has ended,
 * may be detached meanwhile.
 */
static void conn_new_child(struct sock *sk)
{
	struct mpa_conn *conn;

	rcu_read_lock();
	conn = rcu_dereference(inet_csk(sk)->icsk_ulp_data);
	if (conn) {
		/* Pairs with smp_wmb() in mpa_conn_hook(). */
		smp_rmb();
		conn->saved.data_ready(sk);
	}
	rcu_read_unlock();
}

static void conn_data_ready(struct sock *sk)
{
	struct mpa_conn *conn;
	bool closed;

	rcu_read_lock();
	conn = rcu_dereference(inet_csk(sk)->icsk_ulp_data);
	closed = !conn || READ_ONCE(conn->tcp_closed);
	rcu_read_unlock();
	if (unlikely(closed)) {
		conn_new_child(sk);
		return;
	}
	/* Streaming mode, before or after MPA: the owner reads from TCP. */
	if (conn->state == MPA_CONN_ATTACHED || conn->state == MPA_CONN_EXITED)
		conn->saved.data_ready(sk);
	else
		conn_prompt(conn);
}

/*
 * Called for FIN, RST and every failure of TCP: all of them pass through
 * tcp_fin() or tcp_done().
 */
static void conn_state_change(struct sock *sk)
{
	struct mpa_conn *conn = conn_of_sock(sk);

	conn->saved.state_change(sk);
	/* A send that is under way would clear it. */
	conn_note_tcp_error(conn);
	mpa_conn_run(conn);
}

static void conn_write_space(struct sock *sk)
{
	struct mpa_conn *conn = conn_of_sock(sk);

	conn->saved.write_space(sk);
	mpa_tx_check_writable(conn);
}

/*
 * tcp_disconnect() calls no other: see conn_new_child(). The core may call this
 * without the lock, so the rest is left to mpa_conn_check_disconnected().
 */
static void conn_error_report(struct sock *sk)
{
	struct mpa_conn *conn;

	rcu_read_lock();
	conn = rcu_dereference(inet_csk(sk)->icsk_ulp_data);
	if (conn) {
		if (inet_sk_state_load(sk) == TCP_CLOSE)
			WRITE_ONCE(conn->tcp_closed, true);
		/* Pairs with smp_wmb() in mpa_conn_hook(). */
		smp_rmb();
		conn->saved.error_report(sk);
	}
	rcu_read_unlock();
}

/**
 * mpa_conn_check_disconnected - see the end of TCP of which no callback is sure
 * @conn: the stream, locked
 */
void mpa_conn_check_disconnected(struct mpa_conn *conn)
{
	if (unlikely(READ_ONCE(conn->tcp_closed)))
		mpa_conn_run(conn);
}

/**
 * mpa_conn_hook - install the callbacks of a stream
 * @conn: the stream, under lock_sock()
 *
 * Takes a reference to the socket. A socket of the kernel is tuned for MPA; a
 * socket of an application is not until the stream is started. Also checks
 * whether TCP has already ended.
 */
void mpa_conn_hook(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	mpa_assert_locked(conn);
	sock_hold(sk);
	conn->hooked = true;
	if (conn->sock) {
		mpa_sock_tune(sk, &conn->tuned);
		/* Memory reclaim may depend on what the kernel sends. */
		sk->sk_allocation = GFP_NOIO;
	}
	write_lock_bh(&sk->sk_callback_lock);
	conn->saved = conn_callbacks_of(sk);
	rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, conn);
	/*
	 * Some callbacks are called without the lock, and that of an application's
	 * socket was assigned before. Pairs with smp_rmb() in those.
	 */
	smp_wmb();
	WRITE_ONCE(sk->sk_data_ready, conn_data_ready);
	sk->sk_state_change = conn_state_change;
	WRITE_ONCE(sk->sk_write_space, conn_write_space);
	WRITE_ONCE(sk->sk_error_report, conn_error_report);
	write_unlock_bh(&sk->sk_callback_lock);
	mpa_conn_publish(conn);
	conn_check_closed(conn);
}

/**
 * mpa_conn_unclone - undo mpa_conn_hook() on a socket cloned from a listener
 * @newsk: the new socket, which no one else can reach yet; softirq
 *
 * The listener has callbacks of a stream only if a race made it listen after it
 * was attached. The new socket gets the callbacks from before. It was copied
 * without the lock, so the stream may be detached, or about to be; only an
 * application's socket can be such a listener.
 */
void mpa_conn_unclone(struct sock *newsk)
{
	const struct mpa_conn *conn =
		rcu_dereference_protected(inet_csk(newsk)->icsk_ulp_data, 1);
	const struct mpa_saved *from = &conn_tcp_callbacks;

	RCU_INIT_POINTER(inet_csk(newsk)->icsk_ulp_data, NULL);
	if (conn && newsk->sk_state_change == conn_state_change) {
		/* Pairs with smp_wmb() in mpa_conn_hook(). */
		smp_rmb();
		from = &conn->saved;
	}
	if (newsk->sk_data_ready == conn_data_ready)
		newsk->sk_data_ready = from->data_ready;
	if (newsk->sk_state_change == conn_state_change)
		newsk->sk_state_change = from->state_change;
	if (newsk->sk_write_space == conn_write_space)
		newsk->sk_write_space = from->write_space;
	if (newsk->sk_error_report == conn_error_report)
		newsk->sk_error_report = from->error_report;
}

/**
 * mpa_conn_unhook - remove the callbacks of a stream
 * @conn: the stream, under lock_sock() or unreachable for anyone else
 */
void mpa_conn_unhook(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	/* An end behind data that were not read is counted too. */
	if (conn->rx_held && conn->tcp_err)
		mpa_conn_failure(conn, MPA_ERROR_CLOSED, conn->tcp_err);
	mpa_conn_down(conn);
	trace_mpa_detach(conn);
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, conn->saved.data_ready);
	WRITE_ONCE(sk->sk_state_change, conn->saved.state_change);
	WRITE_ONCE(sk->sk_write_space, conn->saved.write_space);
	WRITE_ONCE(sk->sk_error_report, conn->saved.error_report);
	write_unlock_bh(&sk->sk_callback_lock);
	/* The socket is charged for this memory. */
	mpa_rx_empty_stash(conn);
	mpa_early_end(conn);
	RCU_INIT_POINTER(inet_csk(sk)->icsk_ulp_data, NULL);
	WRITE_ONCE(conn->gone, true);
}

/**
 * mpa_conn_released - the socket of a stream is being destroyed
 * @sk: the socket
 *
 * Comes after mpa_detach() unless the owner has released the socket first; then
 * the stream stays, without its socket, until mpa_detach() is called, and the
 * owner is notified by &mpa_ops.released.
 */
void mpa_conn_released(struct sock *sk)
{
	struct mpa_conn *conn =
		rcu_dereference_protected(inet_csk(sk)->icsk_ulp_data, 1);

	/* Copied from the listener: this socket has no stream. */
	if (!conn || conn->sk != sk)
		return;
	if (conn->hooked) {
		mpa_conn_unhook(conn);
	} else {
		RCU_INIT_POINTER(inet_csk(sk)->icsk_ulp_data, NULL);
		WRITE_ONCE(conn->gone, true);
	}
	if (conn->ops->released)
		conn->ops->released(conn);
}

static int conn_take_socket(struct mpa_conn *conn, struct socket *sock)
{
	char name[] = "mpa";

	/*
	 * On an application's socket this would attach it for the application:
	 * see usock_ops.c.
	 */
	if (!sock->sk->sk_kern_sock)
		return -EOPNOTSUPP;
	/* The core clears it. */
	conn->zerocopy = test_bit(SOCK_SUPPORT_ZC, &sock->flags);
	return sock->ops->setsockopt(sock, SOL_TCP, TCP_ULP,
				     KERNEL_SOCKPTR(name), strlen(name));
}

/*
 * Undoes conn_take_socket(). The core does the same when it destroys a socket:
 * a reader that has found the protocol before must not need it for long.
 */
static void conn_leave_socket(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	if (conn->zerocopy)
		set_bit(SOCK_SUPPORT_ZC, &conn->sock->flags);
	WRITE_ONCE(inet_csk(sk)->icsk_ulp_ops, NULL);
	module_put(THIS_MODULE);
}

/**
 * mpa_conn_alloc - allocate a stream, without callbacks yet
 * @sk: the socket
 * @sock: the same as a kernel owner knows it; NULL for an application's socket
 * @ops: callbacks
 * @priv: data of the owner, returned by mpa_priv()
 *
 * Process context.
 *
 * Return: the stream, for mpa_conn_hook() or mpa_conn_free(); NULL if there is
 * no memory.
 */
struct mpa_conn *mpa_conn_alloc(struct sock *sk, struct socket *sock,
				const struct mpa_ops *ops, void *priv)
{
	struct mpa_conn *conn = kmem_cache_zalloc(conn_cache,
						  GFP_KERNEL_ACCOUNT);

	if (!conn)
		return NULL;
	conn->sk = sk;
	conn->sock = sock;
	conn->wq = sock ? mpa_wq : mpa_user_wq;
	conn->ops = ops;
	conn->priv = priv;
	INIT_DELAYED_WORK(&conn->timer, mpa_startup_timer);
	INIT_DELAYED_WORK(&conn->run, conn_run_work);
	mpa_lock_wait_init(&conn->timer_wait, &conn->timer);
	mpa_lock_wait_init(&conn->run_wait, &conn->run);
	if (mpa_conn_alloc_id(conn)) {
		kmem_cache_free(conn_cache, conn);
		return NULL;
	}
	return conn;
}

static void conn_free_rcu(struct rcu_head *rcu)
{
	kmem_cache_free(conn_cache, container_of(rcu, struct mpa_conn, rcu));
}

/**
 * mpa_conn_free - free a stream that was never used
 * @conn: the stream, never hooked; its socket still exists
 *
 * Process context.
 */
void mpa_conn_free(struct mpa_conn *conn)
{
	mpa_conn_free_id(conn);
	call_rcu(&conn->rcu, conn_free_rcu);
}

/**
 * mpa_attach - put MPA on a TCP socket
 * @sock: a kernel socket, established, with neither upper layer protocol nor
 *	sk_user_data. The owner must not enable timestamps or soft errors on it
 *	(SO_TIMESTAMPING, IP_RECVERR), and makes sure that the network namespace
 *	lives until mpa_detach().
 * @ops: callbacks; only those documented as optional may be NULL
 * @priv: data of the owner, returned by mpa_priv()
 * @label: copied; dumps show the stream with it from the start. mpa_set_label()
 *	replaces it
 *
 * Process context; takes the socket lock. Sets TCP_NODELAY, switches path MTU
 * probing off and raises a receive buffer that is too small for the longest
 * FPDU. The protocol stays linked to @sock until it is released or
 * mpa_detach_plain() is called, so a socket can be attached once.
 *
 * Return: the stream, or an ERR_PTR(): -EOPNOTSUPP not a kernel socket;
 * -ENOTCONN not established; -EEXIST in use by something else; -EINVAL: encrypted by
 * PSP; -ENOMEM.
 */
struct mpa_conn *mpa_attach(struct socket *sock, const struct mpa_ops *ops,
			    void *priv, const struct mpa_label *label)
{
	struct mpa_conn *conn = mpa_conn_alloc(sock->sk, sock, ops, priv);
	int ret;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	conn->label = *label;
	ret = conn_take_socket(conn, sock);
	if (ret) {
		mpa_conn_free(conn);
		return ERR_PTR(ret);
	}
	lock_sock(conn->sk);
	mpa_conn_hook(conn);
	release_sock(conn->sk);
	return conn;
}
EXPORT_SYMBOL_NS_GPL(mpa_attach, MPA_NS);

/* Frees a stream without callbacks; its socket is left to the owner. */
static void conn_destroy(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	/* They are not queued any more: all that queue them, or their callers, check @gone. */
	mpa_lock_wait_cancel(conn, &conn->run_wait);
	mpa_lock_wait_cancel(conn, &conn->timer_wait);
	mpa_startup_done(conn);
	mpa_tx_uninit(conn);
	mpa_conn_unpublish(conn);
	sock_put(sk);
	call_rcu(&conn->rcu, conn_free_rcu);
}

/**
 * mpa_detach - remove MPA from a socket
 * @conn: the stream, in any state; no other call of the owner may be under way
 *
 * Process context; takes the socket lock. On return no callback of the owner runs
 * or will run, and @conn is freed; the socket is left to its owner. Bytes that were
 * handed over for sending are passed to TCP first.
 */
void mpa_detach(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	lock_sock(sk);
	if (!conn->gone) {
		mpa_tx_finish(conn);
		mpa_conn_unhook(conn);
	}
	release_sock(sk);
	conn_destroy(conn);
}
EXPORT_SYMBOL_NS_GPL(mpa_detach, MPA_NS);

/**
 * mpa_detach_plain - remove MPA from a socket that will be used without it
 * @conn: the stream of a kernel socket, after &mpa_ops.plain or not started; no
 *	other call of the owner may be under way
 *
 * As mpa_detach(). In addition, the socket has its previous settings again, and
 * no upper layer protocol.
 */
void mpa_detach_plain(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	lock_sock(sk);
	if (!conn->gone) {
		mpa_conn_unhook(conn);
		mpa_sock_untune(sk, &conn->tuned);
		sk->sk_allocation = GFP_KERNEL;
		conn_leave_socket(conn);
	}
	release_sock(sk);
	conn_destroy(conn);
}
EXPORT_SYMBOL_NS_GPL(mpa_detach_plain, MPA_NS);
