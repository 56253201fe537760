// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending FPDUs in batches, each laid into TCP segments as mpa_seg_plan()
 * says and handed over in one call. RFC 5044 sections 4.5 and 5.1.
 *
 * Each batch ends with MSG_EOR, so the next begins with a packet of its own.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "conn.h"
#include "scratch.h"

enum {
	/* TCP lacks memory and nothing is under way whose end would tell. */
	RETRY_JIFFIES		= HZ / 50 + 1,
};

static void assert_owned(const struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	/* A softirq's lock will not do: tcp_sendmsg_locked() may sleep. */
	WARN_ON_ONCE(!sock_owned_by_user_nocheck(conn->sk));
}

static void forget_rest(struct mpa_conn *conn)
{
	kvfree(conn->rest);
	conn->rest = NULL;
}

/* Appends to what is left already, if anything is. */
static int keep_rest(struct mpa_conn *conn, struct msghdr *msg)
{
	u32 before = conn->rest ? conn->rest_len - conn->rest_off : 0;
	u32 len = msg_data_left(msg);
	u8 *rest = kvmalloc(before + len, GFP_NOIO);

	if (!rest)
		return -ENOMEM;
	if (before)
		memcpy(rest, conn->rest + conn->rest_off, before);
	if (WARN_ON_ONCE(!copy_from_iter_full(rest + before, len,
					      &msg->msg_iter))) {
		kvfree(rest);
		return -EFAULT;
	}
	forget_rest(conn);
	conn->rest = rest;
	conn->rest_off = 0;
	conn->rest_len = before + len;
	return 0;
}

/* Hands over what TCP takes now: octets, or a negative error that is final. */
static int give(struct mpa_conn *conn, struct msghdr *msg)
{
	struct sock *sk = conn->sk;
	u32 len = msg_data_left(msg);
	int ret;

	msg->msg_flags = MSG_EOR | MSG_DONTWAIT | MSG_NOSIGNAL;
	/* It may process the backlog on its way. */
	conn->busy = true;
	ret = tcp_sendmsg_locked(sk, msg, len);
	conn->busy = false;
	if (conn->again)
		mpa_kick(conn, 0);
	if (ret == -EAGAIN)
		ret = 0;
	if (ret < 0)
		conn->tx_err = ret;
	else if (ret < len && tcp_rtx_and_write_queues_empty(sk))
		mpa_kick(conn, RETRY_JIFFIES);
	return ret;
}

/**
 * mpa_tx_push - hand octets to TCP, all of them
 * @conn: the stream, under lock_sock()
 * @vec: where they are; changed
 * @nr: pieces of @vec
 * @len: octets together
 *
 * What TCP does not take at once is copied. If something is left from before,
 * which only startup brings about, all of it is, to go behind that.
 *
 * Return: 0, or a negative error that ends the sending half.
 */
int mpa_tx_push(struct mpa_conn *conn, struct kvec *vec, unsigned int nr,
		u32 len)
{
	struct msghdr msg = {};
	int ret;

	assert_owned(conn);
	mpa_tx_flush(conn);
	if (conn->tx_err)
		return conn->tx_err;
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, vec, nr, len);
	ret = conn->rest ? 0 : give(conn, &msg);
	if (ret < 0)
		return ret;
	if (ret == len)
		return 0;
	conn->stats.tx_short++;
	ret = keep_rest(conn, &msg);
	if (ret)
		conn->tx_err = ret;
	return ret;
}

/**
 * mpa_tx_flush - hand what is left from before to TCP, as far as it takes it
 * @conn: the stream, under lock_sock()
 */
void mpa_tx_flush(struct mpa_conn *conn)
{
	struct msghdr msg = {};
	struct kvec vec;
	int ret;

	assert_owned(conn);
	if (!conn->rest)
		return;
	vec.iov_base = conn->rest + conn->rest_off;
	vec.iov_len = conn->rest_len - conn->rest_off;
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, vec.iov_len);
	ret = give(conn, &msg);
	if (ret > 0)
		conn->rest_off += ret;
	if (ret < 0 || conn->rest_off == conn->rest_len)
		forget_rest(conn);
}

/**
 * mpa_tx_last - leave nothing behind that was handed over
 * @conn: the stream, under lock_sock(), about to be detached
 *
 * The rest of a batch may overdraw the send buffer, once: cut off in the
 * middle of an FPDU the stream would be broken.
 */
void mpa_tx_last(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	int sndbuf = READ_ONCE(sk->sk_sndbuf);

	if (!conn->rest)
		return;
	WRITE_ONCE(sk->sk_sndbuf, S32_MAX / 2);
	mpa_tx_flush(conn);
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
}

/**
 * mpa_tx_uninit - let go of what sending has allocated
 * @conn: the stream, detached
 */
void mpa_tx_uninit(struct mpa_conn *conn)
{
	forget_rest(conn);
	if (WARN_ON_ONCE(conn->scratch))
		mpa_scratch_put(conn->scratch);
	conn->scratch = NULL;
}

static bool tcp_can_send(const struct sock *sk)
{
	return !sk->sk_err && !(sk->sk_shutdown & SEND_SHUTDOWN) &&
	       (1 << sk->sk_state) &
	       (TCPF_ESTABLISHED | TCPF_SYN_RECV | TCPF_CLOSE_WAIT);
}

static void call_writable(struct mpa_conn *conn)
{
	bool nested = conn->busy;

	conn->want_write = false;
	conn->busy = true;
	conn->ops->writable(conn);
	conn->busy = nested;
}

/**
 * mpa_tx_check_writable - tell the owner if sending may go on
 * @conn: the stream, locked, in any context
 */
void mpa_tx_check_writable(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	mpa_assert_locked(conn);
	if (conn->busy) {
		conn->again = true;
	} else if (conn->rest) {
		/* Wants lock_sock(). */
		mpa_kick(conn, 0);
	} else if (conn->want_write && !conn->tx_barred && conn->tx_open &&
		   tcp_can_send(sk)) {
		if (__sk_stream_is_writeable(sk, 1))
			call_writable(conn);
		else
			set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	}
}

/**
 * mpa_tx_unbar - an FPDU has come: a Responder may send
 * @conn: the stream, locked
 */
void mpa_tx_unbar(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	if (!conn->tx_barred)
		return;
	conn->tx_barred = false;
	call_writable(conn);
}

static int may_send(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	if (!conn->tx_open || conn->tx_err || !tcp_can_send(sk))
		return -EPIPE;
	if (WARN_ON_ONCE(conn->busy)) {
		mpa_kick(conn, 0);
		return -EAGAIN;
	}
	if (conn->tx_barred)
		return -EAGAIN;
	mpa_tx_flush(conn);
	if (conn->tx_err)
		return -EPIPE;
	if (conn->rest)
		return -EAGAIN;
	if (sk_stream_memory_free(sk))
		return 0;
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	return -EAGAIN;
}

/* What tcp_sendmsg() fills before it wants a new packet. */
static u32 packet_size(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 mss = tp->mss_cache;
	u32 segs;

	if (!sk_can_gso(sk) || !mss)
		return mss;
	segs = tcp_bound_to_half_wnd(tp, sk->sk_gso_max_size) / mss;
	return max_t(u32, min_t(u32, segs, sk->sk_gso_max_segs), 1) * mss;
}

static void look_at_socket(const struct mpa_conn *conn, struct mpa_seg_view *v)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	int options = tp->tcp_header_len - sizeof(struct tcphdr);
	s32 window = tcp_wnd_end(tp) - tp->write_seq;
	int cwnd = tcp_snd_cwnd(tp) - tcp_packets_in_flight(tp);

	*v = (struct mpa_seg_view){
		.mss = tp->mss_cache,
		.sack_pending = tp->rx_opt.num_sacks || tp->rx_opt.dsack,
		.strict = conn->tx.markers,
		.packet = packet_size(conn->sk),
		.unsent = tp->write_seq - tp->snd_nxt,
		.window = max(window, 0),
		.cwnd = max(cwnd, 0),
	};
	if (tcp_is_sack(tp) && options < MAX_TCP_OPTION_SPACE)
		v->sack_room = MAX_TCP_OPTION_SPACE - options;
}

/**
 * mpa_tx_ready - could a batch be opened now?
 * @conn: the stream, under lock_sock(), with no batch open; not from within a
 *	call-up
 *
 * Return: 0, or -EAGAIN or -EPIPE as mpa_tx_begin().
 */
int mpa_tx_ready(struct mpa_conn *conn)
{
	int ret = may_send(conn);

	assert_owned(conn);
	/* Nobody would tell the owner to try again. */
	if (ret == -EAGAIN && conn->tx_barred &&
	    conn->state != MPA_CONN_OPERATIONAL)
		ret = -EPIPE;
	if (ret)
		conn->want_write = ret == -EAGAIN;
	return ret;
}

/**
 * mpa_tx_begin - open a batch
 * @conn: the stream, under lock_sock(), with no batch open; not from within a
 *	call-up
 *
 * Return: 0; -EAGAIN if TCP has no room or, with a Responder, no FPDU has come
 * yet: &mpa_ops.writable will follow; -EPIPE if TCP cannot send any more, or a
 * Responder refused the first FPDU; -ENOMEM.
 */
int mpa_tx_begin(struct mpa_conn *conn)
{
	struct mpa_seg_view view;
	int ret;

	assert_owned(conn);
	if (WARN_ON_ONCE(conn->scratch))
		return -EBUSY;
	ret = mpa_tx_ready(conn);
	if (ret)
		return ret;
	conn->scratch = mpa_scratch_get();
	if (!conn->scratch)
		return -ENOMEM;
	look_at_socket(conn, &view);
	mpa_seg_plan(&view, &conn->plan);
	conn->seg_left = conn->plan.seg_len;
	conn->segs = 1;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_begin, MPA);

/**
 * mpa_tx_mulpdu - longest ULPDU a segment takes
 * @conn: the stream, locked
 *
 * Follows the EMSS and nothing else that TCP is busy with: mpa_tx_room() may
 * offer some octets more where no SACK options are due.
 *
 * Return: MULPDU (RFC 5044 section 4.5), octets.
 */
u32 mpa_tx_mulpdu(struct mpa_conn *conn)
{
	struct mpa_seg_view view;
	struct mpa_seg_plan plan;

	mpa_assert_locked(conn);
	look_at_socket(conn, &view);
	view.sack_pending = true;
	mpa_seg_plan(&view, &plan);
	return mpa_mulpdu(plan.seg_len, conn->tx.markers);
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_mulpdu, MPA);

/**
 * mpa_tx_room - longest ULPDU the batch takes next
 * @conn: the stream, under lock_sock(), with a batch open
 *
 * What fits into the current segment: another one follows only on one that is
 * exactly full, since a batch keeps its alignment only that way.
 *
 * Return: octets, header included, at least %MPA_MULPDU_MIN; 0 if the batch is
 * full, which an empty one never is.
 */
u32 mpa_tx_room(struct mpa_conn *conn)
{
	struct mpa_scratch *s = conn->scratch;
	u32 room;

	assert_owned(conn);
	if (WARN_ON_ONCE(!s))
		return 0;
	if (!conn->seg_left && conn->segs < conn->plan.segs) {
		conn->segs++;
		conn->seg_left = conn->plan.seg_len;
	}
	room = min(mpa_ulpdu_fit(&conn->tx, conn->seg_left),
		   mpa_mulpdu(conn->plan.seg_len, conn->tx.markers));
	if (room < MPA_MULPDU_MIN || !mpa_scratch_room(s, room, 1))
		return 0;
	return room;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_room, MPA);

/**
 * mpa_tx_widen - make an empty batch take a ULPDU that has grown too long
 * @conn: the stream, under lock_sock(), with an empty batch open
 * @ulpdu_len: octets, at most %MPA_MULPDU_MAX
 *
 * The EMSS may shrink after a ULPDU was accepted; it is sent as it is, over
 * several segments (RFC 5044 section 4.5).
 */
void mpa_tx_widen(struct mpa_conn *conn, u32 ulpdu_len)
{
	u32 markers = ulpdu_len / (MPA_MARKER_PERIOD - MPA_MARKER_LEN) + 2;

	assert_owned(conn);
	if (WARN_ON_ONCE(!conn->scratch || conn->scratch->fpdus))
		return;
	conn->plan.segs = 1;
	conn->plan.seg_len = ulpdu_len + MPA_FPDU_OVERHEAD + MPA_FPDU_ALIGN +
			     markers * MPA_MARKER_LEN;
	conn->seg_left = conn->plan.seg_len;
}

static void stage(struct mpa_scratch *s, const void *p, u32 len)
{
	memcpy(s->staging + s->staged, p, len);
	s->staged += len;
}

/* Copies the payload; false if it is not @len octets. */
static bool stage_payload(struct mpa_scratch *s, const struct kvec *payload,
			  unsigned int nr, u32 len)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (payload[i].iov_len > len)
			return false;
		stage(s, payload[i].iov_base, payload[i].iov_len);
		len -= payload[i].iov_len;
	}
	return !len;
}

/* Lists the pieces of the ULPDU whose header was staged; returns how many. */
static int list_pieces(struct mpa_scratch *s, u32 hdr_len,
		       const struct kvec *payload, unsigned int nr,
		       u32 payload_len, bool in_place)
{
	s->ulpdu[0].iov_base = s->staging + s->staged - hdr_len;
	s->ulpdu[0].iov_len = hdr_len;
	if (in_place && nr < MPA_SCRATCH_PIECES &&
	    mpa_scratch_room(s, hdr_len + payload_len, nr + 1)) {
		memcpy(s->ulpdu + 1, payload, nr * sizeof(*payload));
		return nr + 1;
	}
	if (!stage_payload(s, payload, nr, payload_len))
		return -EMSGSIZE;
	s->ulpdu[0].iov_len += payload_len;
	return 1;
}

/**
 * mpa_tx_add - add a ULPDU to the batch
 * @conn: the stream, under lock_sock(), with a batch open
 * @hdr: first octets of the ULPDU; copied at once
 * @hdr_len: how many, at most %MPA_TX_HEADER_MAX
 * @payload: pieces of the rest
 * @nr: how many
 * @payload_len: octets of the rest; they must stay until mpa_tx_send() returns
 * @stable: nobody can change the payload meanwhile. Otherwise, with CRCs in
 *	use, it is copied at once, so that the CRC and the octets sent agree
 *	whatever the application writes.
 *
 * Return: 0; -EMSGSIZE if the ULPDU is longer than mpa_tx_room(), its header
 * too long or @payload_len not the sum of the pieces; nothing was added then.
 */
int mpa_tx_add(struct mpa_conn *conn, const void *hdr, u32 hdr_len,
	       const struct kvec *payload, unsigned int nr, u32 payload_len,
	       bool stable)
{
	u32 room = mpa_tx_room(conn);
	struct mpa_scratch *s = conn->scratch;
	u32 staged;
	int ret;

	if (hdr_len > MPA_TX_HEADER_MAX || hdr_len > room ||
	    payload_len > room - hdr_len)
		return -EMSGSIZE;
	staged = s->staged;
	stage(s, hdr, hdr_len);
	ret = list_pieces(s, hdr_len, payload, nr, payload_len,
			  stable || !conn->tx.crc);
	if (ret > 0)
		ret = mpa_fpdu_gather(&conn->tx, s->ulpdu, ret,
				      hdr_len + payload_len, &s->g);
	if (ret < 0) {
		s->staged = staged;
		return ret;
	}
	conn->seg_left -= ret;
	s->fpdus++;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_add, MPA);

static int send_batch(struct mpa_conn *conn, struct mpa_scratch *s)
{
	int ret = mpa_tx_push(conn, s->g.out, s->g.nr_out, s->g.len);

	if (ret)
		return ret;
	conn->stats.tx_fpdus += s->fpdus;
	conn->stats.tx_octets += s->g.len;
	conn->stats.tx_batches++;
	return 0;
}

/**
 * mpa_tx_send - hand the batch to TCP and close it
 * @conn: the stream, under lock_sock(), with a batch open
 *
 * What TCP does not take at once is kept and goes before anything else. An
 * empty batch is dropped.
 *
 * Return: 0, or a negative error that ends the sending half: -EPIPE,
 * -ECONNRESET or another of TCP's, -ENOMEM.
 */
int mpa_tx_send(struct mpa_conn *conn)
{
	struct mpa_scratch *s = conn->scratch;
	int ret = 0;

	assert_owned(conn);
	if (WARN_ON_ONCE(!s))
		return -EINVAL;
	conn->scratch = NULL;
	if (s->g.len)
		ret = send_batch(conn, s);
	mpa_scratch_put(s);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_send, MPA);

/**
 * mpa_tx_drained - has TCP taken everything?
 * @conn: the stream, locked
 *
 * Return: true if nothing that was handed over is left; not that it was
 * acknowledged.
 */
bool mpa_tx_drained(const struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	return !conn->rest;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_drained, MPA);
