// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending FPDUs in batches. Each is divided into TCP segments by mpa_seg_plan()
 * and passed to TCP in one call. RFC 5044 sections 4.5 and 5.1.
 *
 * Each batch ends with MSG_EOR, so that the next begins with a new packet.
 */
#include <net/tcp.h>

#include "scratch.h"
#include "trace.h"
#include "tx_batch.h"
#include "tx_emss.h"
#include "tx_queue.h"

static int tx_may_send(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	if (!conn->tx_open || conn->tx_err || !mpa_tx_tcp_can_send(sk))
		return -EPIPE;
	if (WARN_ON_ONCE(conn->busy)) {
		mpa_conn_kick(conn, 0);
		return -EAGAIN;
	}
	if (conn->tx_blocked)
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

/**
 * mpa_tx_ready - check whether a batch can be opened now
 * @conn: the stream, under lock_sock(), with no batch open; not from within a
 *	callback
 *
 * Return: 0, or -EAGAIN or -EPIPE as for mpa_tx_begin().
 */
int mpa_tx_ready(struct mpa_conn *conn)
{
	int ret;

	mpa_tx_assert_owned(conn);
	mpa_tx_renew_route(conn->sk);
	ret = tx_may_send(conn);
	/* No callback would notify the owner. */
	if (ret == -EAGAIN && conn->tx_blocked &&
	    conn->state != MPA_CONN_OPERATIONAL)
		ret = -EPIPE;
	if (ret)
		conn->want_write = ret == -EAGAIN;
	return ret;
}

/**
 * mpa_tx_begin - open a batch
 * @conn: the stream, under lock_sock(), with no batch open; not from within a
 *	callback
 *
 * Return: 0; -EAGAIN if TCP has no room, or a Responder has not received an
 * FPDU yet: &mpa_ops.writable will be called; -EPIPE if TCP cannot send any
 * more, or a Responder refused the first FPDU; -ENOMEM.
 */
int mpa_tx_begin(struct mpa_conn *conn)
{
	struct mpa_seg_view view;
	bool written;
	int ret;

	mpa_tx_assert_owned(conn);
	if (WARN_ON_ONCE(conn->scratch))
		return -EBUSY;
	ret = mpa_tx_ready(conn);
	if (ret)
		return ret;
	mpa_tx_view_socket(conn, &view);
	mpa_seg_plan(&view, &conn->plan);
	/* Without scatter/gather TCP copies, so pages gain nothing. */
	written = READ_ONCE(mpa_fast_path) &&
		  conn->sk->sk_route_caps & NETIF_F_SG &&
		  conn->plan.seg_len <= MPA_FRAG_BYTES;
	if (conn->atomic && !written)
		return -EAGAIN;
	conn->scratch = mpa_scratch_get(conn->atomic);
	if (!conn->scratch)
		return -ENOMEM;
	conn->scratch->written = written;
	conn->seg_left = conn->plan.seg_len;
	conn->segs = 1;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_begin, MPA_NS);

/**
 * mpa_tx_begin_atomic - open a batch where nothing may sleep
 * @conn: the stream, locked in any way, with no batch open; only within
 *	&mpa_ops.answer
 *
 * The batch is built and sent like any other, but nothing waits for memory, and
 * none is needed to keep what TCP does not take. It takes FPDUs as long as they
 * fit on one fragment; it may take none at all.
 *
 * Return: 0; -EAGAIN, -EPIPE or -ENOMEM as for mpa_tx_begin(), -EAGAIN also if
 * the batch cannot be sent as pages. After an error, use mpa_tx_begin() later.
 */
int mpa_tx_begin_atomic(struct mpa_conn *conn)
{
	int ret;

	mpa_assert_locked(conn);
	/*
	 * Without scatter/gather TCP copies, perhaps into the fragment of a
	 * task.
	 */
	if (conn->rest || !(conn->sk->sk_route_caps & NETIF_F_SG))
		return -EAGAIN;
	conn->atomic = true;
	ret = mpa_tx_begin(conn);
	if (ret)
		conn->atomic = false;
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_begin_atomic, MPA_NS);

/**
 * mpa_tx_workspace - memory for building a batch
 * @conn: the stream, under lock_sock(), with a batch open
 *
 * A stream without an open batch uses no such memory. At first it contains what
 * an earlier batch left there.
 *
 * Return: %MPA_TX_WORKSPACE bytes, aligned to 8, valid until mpa_tx_send().
 */
void *mpa_tx_workspace(struct mpa_conn *conn)
{
	mpa_tx_assert_owned(conn);
	return conn->scratch->workspace;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_workspace, MPA_NS);

/* Finds a fragment with room for the next FPDU, which must fit on one. */
static bool tx_find_frag(struct mpa_conn *conn, u32 ulpdu_len)
{
	u32 len = mpa_fpdu_len(&conn->tx, ulpdu_len);
	struct mpa_scratch *s = conn->scratch;

	if (s->nr_runs && len <= mpa_frag_left(s))
		return true;
	return !(conn->atomic && s->nr_runs) && mpa_frag_begin(s, len);
}

/* Whether the batch has room for a ULPDU of this length. */
static bool tx_batch_has_room(struct mpa_conn *conn, u32 ulpdu_len)
{
	struct mpa_scratch *s = conn->scratch;

	if (s->written && tx_find_frag(conn, ulpdu_len))
		return true;
	if (conn->atomic || (s->written && s->fpdus))
		return false;
	/* No memory for a fragment: the batch is gathered. */
	s->written = false;
	return mpa_scratch_room(s, ulpdu_len);
}

/**
 * mpa_tx_room_for - longest ULPDU that fits in the batch next, if this one does
 * @conn: the stream, under lock_sock(), with a batch open
 * @ulpdu_len: bytes of the next ULPDU, header included
 *
 * What fits in the current segment with the Markers that fall into it: the
 * MULPDU adjusted dynamically (RFC 5044 section 4.5). The next segment begins
 * only after one that is exactly full, because otherwise the batch would lose
 * its alignment. Less than %MPA_MULPDU_MIN is too little for a piece of a
 * message, but may be enough for a complete ULPDU.
 *
 * Return: bytes, header included, at least @ulpdu_len or %MPA_MULPDU_MIN,
 * whichever is less; 0 if the batch is full, which an empty batch never is
 * unless it was opened by mpa_tx_begin_atomic().
 */
u32 mpa_tx_room_for(struct mpa_conn *conn, u32 ulpdu_len)
{
	struct mpa_scratch *s = conn->scratch;
	u32 room;

	mpa_tx_assert_owned(conn);
	if (WARN_ON_ONCE(!s))
		return 0;
	if (!conn->seg_left && conn->segs < conn->plan.segs) {
		conn->segs++;
		conn->seg_left = conn->plan.seg_len;
	}
	room = mpa_ulpdu_fit(&conn->tx, conn->seg_left);
	if (room < min_t(u32, ulpdu_len, MPA_MULPDU_MIN) ||
	    !tx_batch_has_room(conn, room))
		room = 0;
	s->room = room;
	return room;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_room_for, MPA_NS);

/**
 * mpa_tx_room - longest piece of a message that fits in the batch next
 * @conn: the stream, under lock_sock(), with a batch open
 *
 * For an owner that cuts a message into ULPDUs.
 *
 * Return: bytes, header included, at least %MPA_MULPDU_MIN; 0 if the batch is
 * full.
 */
u32 mpa_tx_room(struct mpa_conn *conn)
{
	return mpa_tx_room_for(conn, MPA_MULPDU_MIN);
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_room, MPA_NS);

/**
 * mpa_tx_widen - make an empty batch accept a ULPDU longer than a segment
 * @conn: the stream, under lock_sock(), with an empty batch open
 * @ulpdu_len: bytes, at most %MPA_MULPDU_MAX
 *
 * The EMSS may shrink after a ULPDU was accepted; the ULPDU is sent unchanged,
 * in several segments (RFC 5044 section 4.5).
 */
void mpa_tx_widen(struct mpa_conn *conn, u32 ulpdu_len)
{
	u32 markers = ulpdu_len / (MPA_MARKER_PERIOD - MPA_MARKER_LEN) + 2;

	mpa_tx_assert_owned(conn);
	if (WARN_ON_ONCE(!conn->scratch || conn->scratch->fpdus))
		return;
	trace_mpa_tx_widen(conn, ulpdu_len);
	conn->plan.segs = 1;
	conn->plan.seg_len = ulpdu_len + MPA_FPDU_OVERHEAD + MPA_FPDU_ALIGN +
			     markers * MPA_MARKER_LEN;
	conn->seg_left = conn->plan.seg_len;
	conn->scratch->room = 0;
	/* It may be longer than a fragment. */
	conn->scratch->written = false;
}

static void tx_stage(struct mpa_scratch *s, const void *p, u32 len)
{
	memcpy(s->bytes + MPA_SCRATCH_CTL + s->staged, p, len);
	s->staged += len;
}

/* Copies the payload. Returns false if its length is not @len. */
static bool tx_stage_payload(struct mpa_scratch *s, const struct kvec *payload,
			     unsigned int nr, u32 len)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (payload[i].iov_len > len)
			return false;
		tx_stage(s, payload[i].iov_base, payload[i].iov_len);
		len -= payload[i].iov_len;
	}
	return !len;
}

/*
 * Lists the pieces of the ULPDU whose header was staged. Returns their number.
 */
static int tx_list_pieces(struct mpa_scratch *s, const struct mpa_ulpdu *u,
			  bool copy)
{
	s->ulpdu[0].iov_base = s->bytes + MPA_SCRATCH_CTL + s->staged -
			       u->hdr_len;
	s->ulpdu[0].iov_len = u->hdr_len;
	if (!copy) {
		memcpy(s->ulpdu + 1, u->payload, u->nr * sizeof(*u->payload));
		return u->nr + 1;
	}
	if (!tx_stage_payload(s, u->payload, u->nr, u->payload_len))
		return -EMSGSIZE;
	s->ulpdu[0].iov_len += u->payload_len;
	return 1;
}

static int tx_gather(struct mpa_conn *conn, const struct mpa_ulpdu *u,
		     bool stable)
{
	struct mpa_scratch *s = conn->scratch;
	bool copy = !stable || u->nr >= MPA_SCRATCH_PIECES;
	u32 staged = s->staged;
	int ret;

	tx_stage(s, u->hdr, u->hdr_len);
	ret = tx_list_pieces(s, u, copy);
	if (ret > 0)
		ret = mpa_fpdu_gather(&conn->tx, s->ulpdu, ret,
				      u->hdr_len + u->payload_len, &s->g);
	if (ret < 0)
		s->staged = staged;
	return ret;
}

static int tx_write_into_frag(struct mpa_conn *conn, const struct mpa_ulpdu *u)
{
	struct mpa_scratch *s = conn->scratch;
	int ret = mpa_fpdu_write(&conn->tx, u, mpa_frag_at(s));

	if (ret > 0)
		mpa_frag_wrote(s, ret);
	return ret;
}

/**
 * mpa_tx_add - add a ULPDU to the batch
 * @conn: the stream, under lock_sock(), with a batch open
 * @hdr: first bytes of the ULPDU; copied at once
 * @hdr_len: bytes at @hdr, at most %MPA_TX_HEADER_MAX
 * @payload: pieces of the rest
 * @nr: number of pieces
 * @payload_len: bytes of the rest
 * @stable: the payload stays valid and unchanged until mpa_tx_send() returns.
 *	Otherwise it is copied before this function returns, so that the CRC
 *	matches the bytes that are sent even if the payload changes later.
 *
 * Never sleeps, and allocates memory only if mpa_tx_room() or mpa_tx_room_for() was
 * not called after the last addition.
 *
 * Return: 0; -EMSGSIZE if the ULPDU is longer than mpa_tx_room(), its header is
 * too long or @payload_len is not the sum of the pieces; then nothing was
 * added.
 */
int mpa_tx_add(struct mpa_conn *conn, const void *hdr, u32 hdr_len,
	       const struct kvec *payload, unsigned int nr, u32 payload_len,
	       bool stable)
{
	struct mpa_scratch *s = conn->scratch;
	u32 room = s && s->room ? s->room :
		   mpa_tx_room_for(conn, hdr_len + payload_len);
	struct mpa_ulpdu u = {
		.hdr = hdr, .hdr_len = hdr_len,
		.payload = payload, .nr = nr, .payload_len = payload_len,
	};
	int ret;

	if (!room || hdr_len > MPA_TX_HEADER_MAX || hdr_len > room ||
	    payload_len > room - hdr_len)
		return -EMSGSIZE;
	ret = s->written ? tx_write_into_frag(conn, &u) : tx_gather(conn, &u,
								    stable);
	if (ret < 0)
		return ret;
	conn->seg_left = (conn->seg_left - ret) & conn->plan.shared;
	s->fpdus++;
	s->room = 0;
	s->added = ret;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_add, MPA_NS);

/*
 * How many ULPDUs that fill their segments, with at most @len bytes of payload
 * in total, can be written in one call. In a segment that was begun it is only
 * one, because the ULPDUs behind it have another length.
 */
static u32 tx_series_room(struct mpa_conn *conn, u32 hdr_len, u32 len)
{
	struct mpa_scratch *s = conn->scratch;
	u32 room = s->room ?: mpa_tx_room(conn);
	u32 seg_len = conn->plan.seg_len;
	u32 most;

	if (!s->written || room <= hdr_len || len < room - hdr_len)
		return 0;
	if (conn->seg_left < seg_len)
		return 1;
	/* Another one may have one Marker less than this. */
	most = room - hdr_len + (conn->tx.markers ? MPA_MARKER_LEN : 0);
	return max_t(u32, 1, min3(conn->plan.segs - conn->segs + 1, len / most,
				  mpa_frag_left(s) / seg_len));
}

static void tx_write_series(struct mpa_conn *conn, struct mpa_series *t, u32 nr)
{
	struct mpa_scratch *s = conn->scratch;
	u32 len;

	t->room = conn->seg_left;
	len = mpa_fpdu_write_series(&conn->tx, t, nr, mpa_frag_at(s));
	nr = t->fpdus;
	mpa_frag_wrote(s, len);
	s->added = len;
	/* Only the last may leave a part of its segment free. */
	conn->seg_left = nr * t->room - len;
	conn->segs += nr - 1;
	s->fpdus += nr;
	s->room = 0;
}

/**
 * mpa_tx_add_series - add a series of ULPDUs that fill their segments
 * @conn: the stream, under lock_sock(), with a batch open
 * @hdr: header of the first ULPDU; its last eight bytes are a number in network
 *	byte order that is increased by the payload length of each ULPDU;
 *	changed
 * @hdr_len: bytes at @hdr, 8 to %MPA_TX_HEADER_MAX
 * @payload: pieces of the payload; copied at once
 * @len: bytes of payload; set to the bytes that were added
 *
 * The same as repeated mpa_tx_add() of mpa_tx_room() bytes while there is so
 * much payload, and room in the segment that was begun, or else on the same
 * pages, but with less work for each ULPDU. The caller adds the remainder with
 * these functions. Allocates memory only if mpa_tx_add() would.
 *
 * Return: number of ULPDUs added; may be 0.
 */
unsigned int mpa_tx_add_series(struct mpa_conn *conn, u8 *hdr, u32 hdr_len,
			       const struct kvec *payload, u32 *len)
{
	struct mpa_series t;
	u32 nr;

	mpa_tx_assert_owned(conn);
	mpa_series_init(&t, hdr, hdr_len, payload, *len);
	if (!WARN_ON_ONCE(!conn->scratch || hdr_len < MPA_SERIES_COUNTER ||
			  hdr_len > MPA_TX_HEADER_MAX)) {
		nr = tx_series_room(conn, hdr_len, *len);
		if (nr)
			tx_write_series(conn, &t, nr);
	}
	*len = t.used;
	return t.fpdus;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_add_series, MPA_NS);

/**
 * mpa_tx_undo - remove from the batch what was added last
 * @conn: the stream, under lock_sock(), with a batch open
 * @nr: number of ULPDUs that the last call of mpa_tx_add() or
 *	mpa_tx_add_series() added
 *
 * For an owner that finds out after copying that the payload must not be sent.
 * The batch takes nothing more and must be sent without it.
 */
void mpa_tx_undo(struct mpa_conn *conn, unsigned int nr)
{
	struct mpa_scratch *s = conn->scratch;

	mpa_tx_assert_owned(conn);
	if (WARN_ON_ONCE(!s || s->fpdus < nr))
		return;
	mpa_tx_rewind(&conn->tx, s->added);
	/* Bytes beyond the length stay listed, but are not passed to TCP. */
	if (s->written)
		s->len -= s->added;
	else
		s->g.len -= s->added;
	s->fpdus -= nr;
	s->added = 0;
	s->room = 0;
	conn->seg_left = 0;
	conn->segs = conn->plan.segs;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_undo, MPA_NS);

static void tx_list_runs(struct mpa_scratch *s, struct msghdr *msg)
{
	unsigned int nr = s->nr_runs;

	/* A fragment was begun, but nothing was written on it. */
	if (!s->run[nr - 1].bv_len)
		nr--;
	iov_iter_bvec(&msg->msg_iter, ITER_SOURCE, s->run, nr, s->len);
}

static int tx_send_batch(struct mpa_conn *conn, struct mpa_scratch *s)
{
	struct mpa_gather *g = &s->g;
	struct msghdr msg = {};
	u32 len;
	int ret;

	if (s->written)
		tx_list_runs(s, &msg);
	else
		iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, g->out, g->nr_out,
			      g->len);
	len = msg_data_left(&msg);
	ret = mpa_tx_push_msg(conn, &msg);
	if (ret)
		return ret;
	conn->stats.tx_fpdus += s->fpdus;
	conn->stats.tx_bytes += len;
	conn->stats.tx_batches++;
	return 0;
}

/**
 * mpa_tx_send - pass the batch to TCP and close it
 * @conn: the stream, under lock_sock(), with a batch open
 *
 * What TCP does not take at once is kept and sent before anything else. An
 * empty batch is dropped.
 *
 * Return: 0, or a negative error that ends the sending half: -EPIPE,
 * -ECONNRESET or another error of TCP, -ENOMEM.
 */
int mpa_tx_send(struct mpa_conn *conn)
{
	struct mpa_scratch *s = conn->scratch;
	int ret = 0;

	mpa_tx_assert_owned(conn);
	if (WARN_ON_ONCE(!s))
		return -EINVAL;
	conn->scratch = NULL;
	if (s->fpdus)
		ret = tx_send_batch(conn, s);
	conn->atomic = false;
	mpa_scratch_put(s);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_send, MPA_NS);

/**
 * mpa_tx_uninit - free what sending has allocated
 * @conn: the stream, detached
 */
void mpa_tx_uninit(struct mpa_conn *conn)
{
	mpa_tx_free_rest(conn);
	if (WARN_ON_ONCE(conn->scratch))
		mpa_scratch_put(conn->scratch);
	conn->scratch = NULL;
}
