// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving with TUF. As with MPA, what was read stays in TCP's queue until the
 * application takes it: one unit is held at a time.
 *
 * In marker mode a unit is cut where the queue ends, so the stream never waits for a
 * boundary. While the application has not taken it, it may grow: it is read again from
 * its first byte when the application calls. That is cheap: only markers are looked at.
 */
#include <net/tcp.h>

#include "framing/tuf.h"
#include "queue.h"
#include "registry.h"
#include "tuf_rx.h"

/**
 * mpa_tuf_begin_recv - receive framing PDUs or markers from now on
 * @conn: the stream, locked
 * @reader: at its start; stays valid as long as the stream
 *
 * What is in TCP's queue is framed already (section 4): the caller runs the stream.
 */
void mpa_tuf_begin_recv(struct mpa_conn *conn, struct mpa_tuf_reader *reader)
{
	mpa_assert_locked(conn);
	/* poll() looks at it without the lock. */
	WRITE_ONCE(conn->tuf, reader);
	conn->rx_seq = tcp_sk(conn->sk)->copied_seq;
	/* No FPDU is waited for. */
	conn->rx_begun = true;
	mpa_conn_set_state(conn, MPA_CONN_OPERATIONAL);
}

static void tuf_count_parted(struct mpa_conn *conn)
{
	if (!conn->rx_parted)
		return;
	conn->rx_parted = false;
	conn->stats.rx_parted++;
	mpa_count(mpa_net_of(sock_net(conn->sk)), MPA_COUNT_TUF_PARTED, 1);
}

/* Whether the framing PDU that was just read began a segment, as far as is known. */
static void tuf_count_alignment(struct mpa_conn *conn)
{
	struct mpa_pos pos;

	tuf_count_parted(conn);
	/* Its segments were freed when it was moved. */
	if (conn->stash_len)
		return;
	mpa_pos_queue(&pos, conn->sk, tcp_sk(conn->sk)->copied_seq);
	if (pos.top && !pos.off)
		conn->stats.rx_aligned++;
	else
		conn->stats.rx_unaligned++;
}

static void tuf_hold(struct mpa_conn *conn)
{
	/* poll() reads it without the lock as soon as it is woken. */
	WRITE_ONCE(conn->rx_held, true);
	conn->saved.data_ready(conn->sk);
}

static void tuf_hold_new(struct mpa_conn *conn)
{
	conn->stats.rx_fpdus++;
	conn->stats.rx_bytes += conn->tuf->since_start;
	if (!conn->tuf->markers)
		tuf_count_alignment(conn);
	tuf_hold(conn);
}

/**
 * mpa_tuf_rx_piece - read bytes that have arrived
 * @conn: the stream, locked, receiving with TUF, no unit held
 * @p: the bytes behind &mpa_conn.rx_ahead
 * @len: how many are in one piece of memory
 * @used: set to the bytes that were read: not more than the current unit, which is held
 *	if it is complete
 *
 * Return: as mpa_tuf_feed().
 */
enum mpa_rx_result mpa_tuf_rx_piece(struct mpa_conn *conn, const u8 *p, u32 len,
				    u32 *used)
{
	enum mpa_rx_result result = mpa_tuf_feed(conn->tuf, p, len, used);

	conn->rx_ahead += *used;
	if (result == MPA_RX_FPDU)
		tuf_hold_new(conn);
	return result;
}

/**
 * mpa_tuf_rx_end_of_queue - everything that has arrived was read
 * @conn: the stream, locked, operational, receiving with TUF, no unit held
 *
 * Return: %MPA_RX_FPDU: a unit is held; %MPA_RX_BAD_MARKER: a wrong marker is behind
 * those that the application has taken; else %MPA_RX_MORE.
 */
enum mpa_rx_result mpa_tuf_rx_end_of_queue(struct mpa_conn *conn)
{
	struct mpa_tuf_reader *r = conn->tuf;

	if (r->bad)
		return MPA_RX_BAD_MARKER;
	/* The queue ends where a segment does, also where segments were joined. */
	if (!r->markers && mpa_tuf_within(r))
		conn->rx_parted = true;
	if (!r->markers || r->done || !mpa_tuf_cut(r))
		return MPA_RX_MORE;
	tuf_hold_new(conn);
	return MPA_RX_FPDU;
}

/* Forgets what was read of the current unit; it is read again. */
static void tuf_forget_unit(struct mpa_conn *conn)
{
	if (conn->rx_held) {
		conn->stats.rx_fpdus--;
		conn->stats.rx_bytes -= conn->tuf->since_start;
	}
	WRITE_ONCE(conn->rx_held, false);
	mpa_tuf_rewind(conn->tuf);
	conn->rx_ahead = 0;
}

/**
 * mpa_tuf_rx_may_grow - read the held unit again if more has arrived since
 * @conn: the stream, under lock_sock(), in marker mode, a unit held
 *
 * Only if the unit does not end at a boundary.
 *
 * Return: true: the caller must run the stream; at least the same unit is held then,
 * unless its bytes have changed: a sender of this machine may share the pages, as
 * after sendfile(2).
 */
bool mpa_tuf_rx_may_grow(struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);

	if (conn->tuf->whole || conn->tuf->bad ||
	    mpa_rx_copied_seq_moved(conn) ||
	    tp->rcv_nxt - tp->copied_seq == conn->rx_ahead)
		return false;
	tuf_forget_unit(conn);
	return true;
}

/* Reads bytes of PDU from the start of the unit. Returns bytes of stream. */
static u32 tuf_walk(struct mpa_conn *conn, u32 len)
{
	struct mpa_pos pos;
	struct mpa_strip strip;
	u32 stream = 0;
	u32 n, skip;
	const u8 *p;

	mpa_tuf_strip(conn->tuf, &strip);
	mpa_tuf_rewind(conn->tuf);
	mpa_pos_queue(&pos, conn->sk, tcp_sk(conn->sk)->copied_seq);
	while (len && (p = mpa_pos_map(&pos, &n))) {
		u32 run = mpa_strip_run(&strip, min(n, len), &skip);
		u32 used;

		mpa_tuf_feed(conn->tuf, p, skip + run, &used);
		mpa_pos_unmap(&pos, p);
		mpa_pos_skip(&pos, skip + run);
		stream += skip + run;
		len -= run;
	}
	return stream;
}

/**
 * mpa_tuf_rx_taken - the application has taken bytes of the held unit
 * @conn: the stream, under lock_sock(), in marker mode, a unit held
 * @len: bytes of PDU, at least 1, at most those of the unit
 */
void mpa_tuf_rx_taken(struct mpa_conn *conn, u32 len)
{
	const u32 all = conn->tuf->since_start;
	u32 stream = conn->rx_ahead;

	if (len < conn->tuf->len) {
		stream = tuf_walk(conn, len);
		/* What is left is counted again. */
		conn->stats.rx_bytes -= all - stream;
		/* The rest becomes a unit of its own. */
		mpa_tuf_cut(conn->tuf);
	}
	WRITE_ONCE(conn->rx_held, false);
	mpa_rx_release(conn, stream);
	conn->rx_ahead = 0;
}

/**
 * mpa_tuf_rx_forget_markers - return markers to TCP that have no bytes behind them
 * @conn: the stream, under lock_sock(), being closed
 *
 * The application cannot read them, and TCP would reset the connection for bytes that
 * were not read.
 */
void mpa_tuf_rx_forget_markers(struct mpa_conn *conn)
{
	const struct mpa_tuf_reader *r = conn->tuf;

	mpa_assert_locked(conn);
	if (!r || !r->markers || r->bad || r->len || conn->rx_held ||
	    !conn->rx_ahead || mpa_rx_copied_seq_moved(conn))
		return;
	mpa_rx_release(conn, conn->rx_ahead);
	conn->rx_ahead = 0;
}

/**
 * mpa_tuf_reread - the interval between markers has changed; the caller runs the stream
 * @conn: the stream, under lock_sock(), receiving in marker mode
 * @interval: bytes, from the first byte on that the application has not taken
 */
void mpa_tuf_reread(struct mpa_conn *conn, u32 interval)
{
	conn->tuf->interval = interval;
	if (conn->state != MPA_CONN_OPERATIONAL)
		return;
	/* What precedes a held unit was taken; of another unit nothing was. */
	if (!mpa_rx_copied_seq_moved(conn) && (conn->rx_held || conn->rx_ahead))
		tuf_forget_unit(conn);
}
