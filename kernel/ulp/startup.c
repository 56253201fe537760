// SPDX-License-Identifier: GPL-2.0-only
/*
 * The startup exchange on a socket: RFC 5044 section 7.1, RFC 6581.
 *
 * There is one timer. It runs while this side waits for the peer's frame and,
 * on a Responder in peer-to-peer mode or with a setting for that, until the
 * first FPDU is received. It does not run while the owner decides about a
 * Request.
 *
 * Bytes stay in TCP's queue until they are known to belong to a frame. So bytes
 * that arrived before the stream was started, or directly behind a frame, are
 * not lost: FPDUs behind a Reply, streaming mode behind a rejection. Behind a
 * Request that is accepted, bytes are an error. This also makes the last
 * streaming message of a Responder safe (RFC 5044 section 7.1.5): when it is
 * sent, the stream already waits for the Request.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "../framing/startkey.h"
#include "early.h"
#include "queue.h"
#include "rx.h"
#include "sock.h"
#include "startup.h"
#include "trace.h"
#include "tx_queue.h"
#include "view.h"

static void startup_arm_timer(struct mpa_conn *conn, unsigned long timeout)
{
	conn->deadline = jiffies + timeout;
	mod_delayed_work(conn->wq, &conn->timer, timeout);
}

static void startup_cancel_timer(struct mpa_conn *conn)
{
	/*
	 * If it is running already, it finds a state in which it does nothing.
	 */
	cancel_delayed_work(&conn->timer);
}

/**
 * mpa_startup_done - free the memory of the startup exchange
 * @conn: the stream, locked, or unreachable for anyone else
 */
void mpa_startup_done(struct mpa_conn *conn)
{
	kfree(conn->startup);
	conn->startup = NULL;
}

static void startup_fail(struct mpa_conn *conn, int err)
{
	bool initiator = conn->state == MPA_CONN_WAIT_REPLY;

	startup_cancel_timer(conn);
	if (!mpa_conn_set_state(conn, MPA_CONN_EXITED))
		return;
	mpa_startup_done(conn);
	if (!initiator) {
		mpa_conn_report_end(conn, MPA_ERROR_STARTUP, err);
		return;
	}
	mpa_conn_failure(conn, MPA_ERROR_STARTUP, err);
	conn->end_reported = true;
	conn->ops->reply(conn, err, NULL, NULL, 0);
}

/* The peer uses ordinary TCP. Its bytes are in the queue, and none was sent. */
static void startup_leave_plain(struct mpa_conn *conn)
{
	startup_cancel_timer(conn);
	if (!mpa_conn_set_state(conn, MPA_CONN_EXITED))
		return;
	mpa_startup_done(conn);
	conn->end_reported = true;
	conn->ops->plain(conn);
}

/* Nothing more of a Request will come, and what came may be anything. */
static bool startup_may_be_plain(const struct mpa_conn *conn)
{
	return conn->plain && conn->state == MPA_CONN_WAIT_REQUEST &&
	       conn->startup->have < MPA_KEY_LEN;
}

/**
 * mpa_startup_closed - TCP has ended before full operation
 * @conn: the stream, locked, waiting for a frame or for its owner's answer
 * @err: 0 for a FIN, else the error of TCP
 *
 * Bytes behind a Request are not used before it is answered, so a FIN behind
 * them is as orderly as one without them. A FIN behind a Reply that is being
 * reviewed is handled later, in full operation or by plain TCP.
 */
void mpa_startup_closed(struct mpa_conn *conn, int err)
{
	if (conn->state == MPA_CONN_WAIT_REPLY) {
		startup_fail(conn, err == -ETIMEDOUT ? err : -ECONNRESET);
		return;
	}
	if (!err && conn->state == MPA_CONN_REPLY_SEEN)
		return;
	if (!err && startup_may_be_plain(conn)) {
		startup_leave_plain(conn);
		return;
	}
	if (!err && conn->state == MPA_CONN_WAIT_REQUEST && conn->startup->have)
		err = -ECONNABORTED;
	startup_cancel_timer(conn);
	mpa_conn_set_state(conn, MPA_CONN_CLOSED);
	mpa_startup_done(conn);
	mpa_conn_report_end(conn, MPA_ERROR_CLOSED, err);
}

/**
 * mpa_startup_cancel - end a startup exchange that the owner has given up
 * @conn: the stream, locked, in any state
 *
 * Nothing is sent, and no callback follows.
 */
void mpa_startup_cancel(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	if (!conn->startup)
		return;
	startup_cancel_timer(conn);
	mpa_conn_set_state(conn, MPA_CONN_EXITED);
	mpa_startup_done(conn);
	conn->end_reported = true;
}

static void startup_enter_operation(struct mpa_conn *conn)
{
	const struct mpa_result *res = &conn->res;

	if (!mpa_conn_set_state(conn, MPA_CONN_OPERATIONAL))
		return;
	mpa_reader_init(&conn->reader, res->rx_markers, res->crc);
	mpa_early_begin(conn);
	conn->tx = (struct mpa_tx_half){
		.markers = res->tx_markers,
		.crc = res->crc,
	};
	WRITE_ONCE(conn->tx_blocked, !res->initiator);
	conn->tx_open = true;
	mpa_conn_up(conn);
	trace_mpa_agreed(conn, res);
	conn->ops->operational(conn, res);
}

static void startup_got_request(struct mpa_conn *conn,
				const struct mpa_frame *f,
			const u8 *pd)
{
	struct mpa_startup *su = conn->startup;

	startup_cancel_timer(conn);
	su->req = *f;
	if (mpa_conn_set_state(conn, MPA_CONN_REQUEST_SEEN))
		conn->ops->request(conn, &su->req, pd, f->pd_len);
}

/* Lets the owner decide whether the private data are acceptable. */
static void startup_review_reply(struct mpa_conn *conn,
				 const struct mpa_frame *f,
			 const u8 *pd)
{
	if (!mpa_conn_set_state(conn, MPA_CONN_REPLY_SEEN))
		return;
	conn->ops->reply(conn, 0, &conn->res, pd, f->pd_len);
	mpa_startup_done(conn);
}

static void startup_got_reply(struct mpa_conn *conn, const struct mpa_frame *f,
			      const u8 *pd)
{
	struct mpa_startup *su = conn->startup;
	int status = su->exchange->conclude(&su->own, &su->req, f, &conn->res);
	/*
	 * Both are reported to the peer by a Terminate Message, which is an
	 * FPDU.
	 */
	bool terminate = status == -ENOSPC || status == -EOPNOTSUPP;

	if (status == -EPROTO) {
		startup_fail(conn, status);
		return;
	}
	startup_cancel_timer(conn);
	if (!status && conn->review) {
		startup_review_reply(conn, f, pd);
		return;
	}
	if (!status || terminate)
		startup_enter_operation(conn);
	else
		mpa_conn_set_state(conn, MPA_CONN_EXITED);
	if (terminate)
		mpa_conn_set_state(conn, MPA_CONN_RX_ENDED);
	if (status)
		mpa_conn_failure(conn, status == -ECONNREFUSED ?
				 MPA_ERROR_NONE : MPA_ERROR_STARTUP, status);
	conn->end_reported = status;
	conn->ops->reply(conn, status, &conn->res, pd, f->pd_len);
	mpa_startup_done(conn);
}

static void startup_gather_frame(struct mpa_conn *conn)
{
	struct mpa_startup *su = conn->startup;
	struct mpa_pos pos;
	const u8 *p;
	u32 n;

	mpa_pos_queue(&pos, conn->sk, tcp_sk(conn->sk)->copied_seq + su->have);
	while (su->have < sizeof(su->buf) && (p = mpa_pos_map(&pos, &n))) {
		n = min_t(u32, n, sizeof(su->buf) - su->have);
		memcpy(su->buf + su->have, p, n);
		mpa_pos_unmap(&pos, p);
		mpa_pos_skip(&pos, n);
		su->have += n;
	}
}

/* Whether the owner has room for the private data of a complete frame. */
static bool startup_pd_fits(const struct mpa_conn *conn,
			    const struct mpa_frame *f)
{
	return !conn->ops->pd_max || f->pd_len <= conn->ops->pd_max;
}

/* A Responder of both kinds learns from the first bytes which one its peer uses. */
static void startup_choose_exchange(const struct mpa_conn *conn)
{
	struct mpa_startup *su = conn->startup;

	if (conn->start_with == MPA_CONFIG_STARTUP_EITHER &&
	    conn->state == MPA_CONN_WAIT_REQUEST &&
	    mpa_is_start_key(su->buf, su->have))
		su->exchange = &mpa_exchange_start_key;
}

/* The peer uses MPA, but not the exchange that this side takes. */
static bool startup_is_other(const struct mpa_startup *su)
{
	return su->exchange == &mpa_exchange_frames ?
		       mpa_is_start_key(su->buf, su->have) :
		       mpa_is_request(su->buf, su->have);
}

/**
 * mpa_startup_rx - read the peer's frame from the receive queue
 * @conn: the stream, locked, waiting for it
 *
 * Takes only the bytes of the frame out of the queue: FPDUs follow.
 */
void mpa_startup_rx(struct mpa_conn *conn)
{
	bool reply = conn->state == MPA_CONN_WAIT_REPLY;
	struct mpa_startup *su = conn->startup;
	struct mpa_frame f;
	const u8 *pd;
	int ret;

	if (mpa_rx_copied_seq_moved(conn)) {
		startup_fail(conn, -EPROTO);
		return;
	}
	startup_gather_frame(conn);
	startup_choose_exchange(conn);
	ret = su->exchange->parse(su->buf, su->have, reply, &f, &pd);
	/* It has another key, and not that of another startup exchange. */
	if (ret == -EPROTO && conn->plain && !reply && !startup_is_other(su)) {
		startup_leave_plain(conn);
		return;
	}
	/* Bytes received before the Request was sent cannot be its Reply. */
	if (su->early && ret != -EALREADY)
		ret = -EPROTO;
	if (ret > 0 && !startup_pd_fits(conn, &f))
		ret = -EMSGSIZE;
	if (ret < 0)
		startup_fail(conn, ret);
	if (ret <= 0)
		return;

	trace_mpa_frame(conn, false, &f);
	mpa_rx_release(conn, ret);
	if (reply)
		startup_got_reply(conn, &f, pd);
	else
		startup_got_request(conn, &f, pd);
}

/*
 * Uses the buffer of the peer's frame, which must not be needed any more. If there is
 * no memory and nothing of the frame was sent, it can be sent again. Otherwise
 * &mpa_conn.tx_err is set.
 */
static int startup_send_frame(struct mpa_conn *conn, struct mpa_frame *f,
			      const void *pd, u32 pd_len)
{
	struct mpa_startup *su = conn->startup;
	struct kvec vec = { .iov_base = su->buf };
	u32 before = tcp_sk(conn->sk)->write_seq;
	int ret;

	if (pd_len > MPA_PRIVATE_DATA_MAX)
		return -EMSGSIZE;
	if (conn->tx_err)
		return -ECONNRESET;
	f->pd_len = pd_len;
	ret = su->exchange->build(su->buf, sizeof(su->buf), f, pd);
	if (ret < 0)
		return ret;
	vec.iov_len = ret;
	trace_mpa_frame(conn, true, f);
	ret = mpa_tx_push(conn, &vec, 1, vec.iov_len);
	if (ret == -ENOMEM && tcp_sk(conn->sk)->write_seq == before)
		conn->tx_err = 0;
	return !ret || ret == -ENOMEM ? ret : -ECONNRESET;
}

static int startup_check_state(const struct mpa_conn *conn,
			       enum mpa_conn_state want)
{
	/* The socket was closed while work was pending. */
	if (conn->gone)
		return -ECONNRESET;
	if (conn->state == want)
		return 0;
	return conn->state == MPA_CONN_CLOSED ? -ECONNRESET : -EINVAL;
}

/* A peer without MPA may have ended its half already, and wait for an answer. */
static bool startup_is_half_closed(const struct mpa_conn *conn,
				   enum mpa_conn_state wait)
{
	return conn->plain && wait == MPA_CONN_WAIT_REQUEST && !conn->gone &&
	       !conn->started && conn->state == MPA_CONN_CLOSED &&
	       conn->sk->sk_state == TCP_CLOSE_WAIT;
}

/*
 * If there is no memory for the rest of a Request, a part of which the peer gets,
 * the socket is not of use any more. Before that nothing has happened.
 */
static int startup_send_request(struct mpa_conn *conn, struct mpa_startup *su,
				const void *pd, u32 pd_len)
{
	int ret = startup_send_frame(conn, &su->req, pd, pd_len);

	if (ret == -ENOMEM && conn->tx_err) {
		mpa_conn_set_state(conn, MPA_CONN_EXITED);
		conn->end_reported = true;
	}
	return ret;
}

/* Takes ownership of @su, also on errors. */
static int startup_begin(struct mpa_conn *conn, struct mpa_startup *su,
			 enum mpa_conn_state wait, unsigned int timeout_ms,
		 const void *pd, u32 pd_len)
{
	int ret = startup_check_state(conn, MPA_CONN_ATTACHED);

	if (ret && !startup_is_half_closed(conn, wait)) {
		kfree(su);
		return ret;
	}
	conn->startup = su;
	mpa_sock_keep_urgent(conn->sk);
	conn->rx_seq = tcp_sk(conn->sk)->copied_seq;
	conn->timeout = msecs_to_jiffies(timeout_ms ?: MPA_STARTUP_TIMEOUT_MS);
	ret = wait == MPA_CONN_WAIT_REPLY ?
		startup_send_request(conn, su, pd, pd_len) : 0;
	if (ret) {
		mpa_startup_done(conn);
		return ret;
	}
	conn->started = true;
	conn->initiator = wait == MPA_CONN_WAIT_REPLY;
	mpa_conn_set_state(conn, wait);
	startup_arm_timer(conn, conn->timeout);
	/*
	 * Bytes or a FIN may have arrived already; the caller is not ready for
	 * callbacks.
	 */
	mpa_conn_kick(conn, 0);
	return 0;
}

static const struct mpa_exchange *startup_exchange(const struct mpa_conn *conn)
{
	return conn->start_with == MPA_CONFIG_STARTUP_START_KEY ?
		       &mpa_exchange_start_key : &mpa_exchange_frames;
}

/**
 * mpa_start_initiator - send a Request Frame and wait for the Reply
 * @conn: the stream, attached and not started
 * @own: what this side requests
 * @pd: private data
 * @pd_len: bytes of it; at most %MPA_PRIVATE_DATA_MAX, less
 *	%MPA_ENHANCED_LEN if @own speaks revision 2
 * @timeout_ms: how long to wait for the Reply; 0: %MPA_STARTUP_TIMEOUT_MS
 *
 * Process context; takes the lock. Callbacks follow, but none before the lock
 * is released.
 *
 * Return: 0; -ECONNRESET if TCP has ended; -EMSGSIZE too much private data;
 * -EINVAL started already; -ENOMEM. After an error no callback is called.
 */
int mpa_start_initiator(struct mpa_conn *conn, const struct mpa_params *own,
			const void *pd, u32 pd_len, unsigned int timeout_ms)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	struct mpa_startup *su = kzalloc(sizeof(*su), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!su)
		return -ENOMEM;
	su->exchange = startup_exchange(conn);
	su->own = *own;
	su->exchange->request_from(own, &su->req);

	lock_sock(conn->sk);
	su->early = tp->rcv_nxt != tp->copied_seq;
	ret = startup_begin(conn, su, MPA_CONN_WAIT_REPLY, timeout_ms, pd,
			    pd_len);
	release_sock(conn->sk);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mpa_start_initiator, MPA_NS);

/* A part may already have been sent when it fails, so it is not tried again. */
static int startup_send_last_message(struct mpa_conn *conn, const void *last,
				     u32 len)
{
	struct kvec vec = { .iov_base = (void *)last, .iov_len = len };
	int ret;

	if (!len)
		return 0;
	ret = mpa_tx_push(conn, &vec, 1, len);
	if (!ret)
		return 0;
	startup_cancel_timer(conn);
	mpa_conn_set_state(conn, MPA_CONN_EXITED);
	mpa_startup_done(conn);
	conn->end_reported = true;
	return ret == -ENOMEM ? ret : -ECONNRESET;
}

/**
 * mpa_allow_plain - let a Responder accept that its peer does not use MPA
 * @conn: the stream, attached and not started, of an owner with &mpa_ops.plain
 */
void mpa_allow_plain(struct mpa_conn *conn)
{
	if (!WARN_ON_ONCE(conn->started || !conn->ops->plain))
		conn->plain = true;
}
EXPORT_SYMBOL_NS_GPL(mpa_allow_plain, MPA_NS);

/**
 * mpa_start_responder - wait for a Request Frame
 * @conn: the stream, attached and not started
 * @last: last streaming message, which informs the peer that it may send its
 *	Request (RFC 5044 sections 7.1.3 and 7.1.5)
 * @last_len: bytes of it, at most %MPA_LAST_MESSAGE_MAX; 0 if there is none
 * @timeout_ms: limit; 0: %MPA_STARTUP_TIMEOUT_MS. Also limits the wait for the
 *	first FPDU in peer-to-peer mode.
 *
 * Process context; takes the lock. Without releasing it, the stream first
 * begins to wait and then sends @last, so that no Request can come too early.
 * Bytes that TCP has queued already, and those received before @last was sent,
 * are the beginning of the Request. Callbacks follow, but none before the lock
 * is released.
 *
 * Return: 0; -EMSGSIZE @last is too long; -EINVAL started already; -ECONNRESET
 * if TCP has ended; -ENOMEM. If @last could not be sent, only mpa_detach() is
 * possible. After an error no callback is called.
 */
int mpa_start_responder(struct mpa_conn *conn, const void *last, u32 last_len,
			unsigned int timeout_ms)
{
	struct mpa_startup *su;
	int ret;

	if (last_len > MPA_LAST_MESSAGE_MAX)
		return -EMSGSIZE;
	su = kzalloc(sizeof(*su), GFP_KERNEL_ACCOUNT);
	if (!su)
		return -ENOMEM;
	su->exchange = startup_exchange(conn);
	lock_sock(conn->sk);
	ret = startup_begin(conn, su, MPA_CONN_WAIT_REQUEST, timeout_ms, NULL,
			    0);
	if (!ret)
		ret = startup_send_last_message(conn, last, last_len);
	release_sock(conn->sk);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mpa_start_responder, MPA_NS);

/*
 * An Initiator does not know before the Reply whether its FPDUs need Markers,
 * so the bytes cannot be FPDUs; as private data they would contradict PD_Length
 * (RFC 5044 sections 7.1.1 and 7.1.2 rule 2).
 */
static bool startup_more_than_request(const struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);

	return tp->rcv_nxt != tp->copied_seq;
}

static int startup_answer(struct mpa_conn *conn, const struct mpa_params *own,
			  bool reject, const void *pd, u32 pd_len)
{
	struct mpa_frame rep;
	int ret = startup_check_state(conn, MPA_CONN_REQUEST_SEEN);

	if (ret)
		return ret;
	ret = conn->startup->exchange->answer(own, &conn->startup->req, reject,
					      &rep, &conn->res);
	if (ret)
		return ret;
	if (!reject && startup_more_than_request(conn)) {
		startup_fail(conn, -EPROTO);
		return -EPROTO;
	}
	/* Only the end of TCP rejects a Start Key. */
	if (rep.start_key && reject)
		return pd_len ? -EMSGSIZE : 0;
	ret = startup_send_frame(conn, &rep, pd, pd_len);
	/* The peer waits for the rest of the Reply. */
	if (ret == -ENOMEM && conn->tx_err && !reject)
		startup_fail(conn, ret);
	return ret;
}

static void startup_accepted(struct mpa_conn *conn)
{
	unsigned long timeout = conn->res.p2p ? conn->timeout :
						conn->first_timeout;

	startup_enter_operation(conn);
	mpa_startup_done(conn);
	conn->fpdu_due = timeout;
	if (conn->fpdu_due)
		startup_arm_timer(conn, timeout);
	/* TCP may have received FPDUs while it sent the Reply. */
	mpa_conn_kick(conn, 0);
}

/**
 * mpa_accept_locked - mpa_accept() for callers that hold the lock
 * @conn: the stream, under lock_sock()
 * @own: as there
 * @pd: as there
 * @pd_len: as there
 *
 * Return: as there.
 */
int mpa_accept_locked(struct mpa_conn *conn, const struct mpa_params *own,
		      const void *pd, u32 pd_len)
{
	int ret;

	mpa_assert_locked(conn);
	ret = startup_answer(conn, own, false, pd, pd_len);
	if (!ret)
		startup_accepted(conn);
	return ret;
}

/**
 * mpa_accept - answer a Request with a Reply and enter full operation
 * @conn: the stream, after &mpa_ops.request
 * @own: what this side requests
 * @pd: private data
 * @pd_len: bytes of it; at most %MPA_PRIVATE_DATA_MAX, less
 *	%MPA_ENHANCED_LEN if the Request was enhanced
 *
 * Process context; takes the lock. Calls &mpa_ops.operational. Nothing can be
 * sent before the first FPDU was received (RFC 5044 section 7.1.2 rule 4). The
 * timer waits for it in peer-to-peer mode, and otherwise if
 * %MPA_A_CONFIG_FIRST_FPDU_TIMEOUT is set; if it does not come in time,
 * &mpa_ops.ended is called with STARTUP and -ETIMEDOUT.
 *
 * Return: 0; -ECONNRESET if the stream ended meanwhile; -EMSGSIZE too much
 * private data; -EPROTONOSUPPORT @own does not support the revision of the
 * Request: close TCP, for an older revision after mpa_reject(); -EPROTO bytes
 * were received behind the Request, which makes it improper: &mpa_ops.ended was
 * called with STARTUP; -EINVAL there is no Request to answer; -ENOMEM: nothing was
 * sent, or &mpa_ops.ended was called likewise.
 */
int mpa_accept(struct mpa_conn *conn, const struct mpa_params *own,
	       const void *pd, u32 pd_len)
{
	int ret;

	lock_sock(conn->sk);
	ret = mpa_accept_locked(conn, own, pd, pd_len);
	release_sock(conn->sk);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mpa_accept, MPA_NS);

/**
 * mpa_reject_locked - mpa_reject() for callers that hold the lock
 * @conn: the stream, under lock_sock()
 * @own: as there
 * @pd: as there
 * @pd_len: as there
 *
 * Return: as there.
 */
int mpa_reject_locked(struct mpa_conn *conn, const struct mpa_params *own,
		      const void *pd, u32 pd_len)
{
	int ret;

	mpa_assert_locked(conn);
	ret = startup_answer(conn, own, true, pd, pd_len);
	if (ret)
		return ret;
	mpa_conn_set_state(conn, MPA_CONN_EXITED);
	mpa_conn_failure(conn, MPA_ERROR_NONE, -ECONNREFUSED);
	mpa_startup_done(conn);
	conn->end_reported = true;
	return 0;
}

/**
 * mpa_reject - answer a Request with a Reply that rejects the connection
 * @conn: the stream, after &mpa_ops.request
 * @own: what this side would have requested
 * @pd: private data
 * @pd_len: bytes of it, see mpa_accept()
 *
 * Process context; takes the lock. This ends MPA and leaves TCP open (RFC 5044
 * section 7.1.2 rule 2); no callback follows. Bytes behind the Request stay in
 * TCP's queue. A Request of a revision older than those of @own can be rejected
 * too: the Reply then contains the revision that is required (appendix C.2.1).
 *
 * For a Start Key there is no such answer: nothing is sent, and the peer learns of
 * it when TCP ends.
 *
 * Return: as for mpa_accept(), -EMSGSIZE also for private data in answer to a
 * Start Key, -EPROTONOSUPPORT only for newer revisions, and
 * never -EPROTO.
 */
int mpa_reject(struct mpa_conn *conn, const struct mpa_params *own,
	       const void *pd, u32 pd_len)
{
	int ret;

	lock_sock(conn->sk);
	ret = mpa_reject_locked(conn, own, pd, pd_len);
	release_sock(conn->sk);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mpa_reject, MPA_NS);

/**
 * mpa_reply_accept - accept a Reply and enter full operation
 * @conn: the stream of an Initiator that reviews, after &mpa_ops.reply with 0;
 *	under lock_sock()
 *
 * Process context. Calls &mpa_ops.operational.
 *
 * Return: 0; -ECONNRESET if the stream ended meanwhile; -EINVAL there is no
 * Reply to answer.
 */
int mpa_reply_accept(struct mpa_conn *conn)
{
	int ret = startup_check_state(conn, MPA_CONN_REPLY_SEEN);

	mpa_assert_locked(conn);
	if (ret)
		return ret;
	startup_enter_operation(conn);
	/* FPDUs or a FIN may have been received meanwhile. */
	mpa_conn_kick(conn, 0);
	return 0;
}

/**
 * mpa_reply_decline - decline a Reply because of its private data
 * @conn: the stream of an Initiator that reviews, after &mpa_ops.reply with 0;
 *	under lock_sock()
 *
 * Process context. This ends MPA and leaves TCP open (RFC 5044 section 7.1.2
 * rule 3). No frame informs the peer, and what it sent behind the Reply is in
 * the receive queue. No callback follows.
 *
 * Return: as for mpa_reply_accept().
 */
int mpa_reply_decline(struct mpa_conn *conn)
{
	int ret = startup_check_state(conn, MPA_CONN_REPLY_SEEN);

	mpa_assert_locked(conn);
	if (ret)
		return ret;
	mpa_conn_set_state(conn, MPA_CONN_EXITED);
	mpa_conn_failure(conn, MPA_ERROR_NONE, -ECONNREFUSED);
	conn->end_reported = true;
	return 0;
}

/* For the peer's frame, or for its first FPDU. */
static bool startup_waits(const struct mpa_conn *conn)
{
	return conn->state == MPA_CONN_WAIT_REPLY ||
	       conn->state == MPA_CONN_WAIT_REQUEST ||
	       (conn->state == MPA_CONN_OPERATIONAL && conn->fpdu_due);
}

static void startup_expire(struct mpa_conn *conn)
{
	if (conn->state == MPA_CONN_OPERATIONAL) {
		conn->fpdu_due = false;
		conn->tx_open = false;
		mpa_conn_set_state(conn, MPA_CONN_EXITED);
		mpa_conn_report_end(conn, MPA_ERROR_STARTUP, -ETIMEDOUT);
	} else if (startup_may_be_plain(conn)) {
		startup_leave_plain(conn);
	} else {
		startup_fail(conn, -ETIMEDOUT);
	}
}

/**
 * mpa_startup_timer - handle a timeout of the peer
 * @work: mpa_conn.timer
 *
 * Process context; takes the lock.
 */
void mpa_startup_timer(struct work_struct *work)
{
	struct mpa_conn *conn = container_of(to_delayed_work(work),
					     struct mpa_conn, timer);
	long left;

	if (!mpa_lock_or_defer(conn, &conn->timer_wait))
		return;
	if (!conn->gone && startup_waits(conn)) {
		left = conn->deadline - jiffies;
		/* It was armed again meanwhile, or a timer cannot be as long. */
		if (left > 0)
			mod_delayed_work(conn->wq, &conn->timer, left);
		else
			startup_expire(conn);
	}
	release_sock(conn->sk);
}
