// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving FPDUs. RFC 5044 sections 6 and 8.
 *
 * Bytes are read in place, in TCP's queue: once for the CRC when they arrive
 * (twice if the owner joined FPDUs and undid that), and once more by the owner
 * when the FPDU is complete. They leave the queue with their FPDU, so the
 * window of the peer limits memory. Only when TCP has no room for the rest of
 * an FPDU are its first bytes moved to a stash, pages that the socket is
 * charged for.
 */
#include <net/tcp.h>

#include "compat/unaligned.h"
#include "queue.h"
#include "rx.h"
#include "rx_stash.h"
#include "trace.h"
#include "tuf_rx.h"
#include "tx_queue.h"
#include "view.h"

enum {
	/* Return bytes to TCP at least this often within one run. */
	RX_RELEASE_BYTES		= 128 * 1024,
	/*
	 * ULPDUs joined with one: as many as fit a fragment at the usual MTU.
	 */
	RX_JOINED_MAX		= 24,
	/*
	 * Marker, length, a ULPDU of the longest length that the field can
	 * hold, pad, CRC and Markers in between: a ULPDU that is too long is
	 * still read up to its CRC.
	 */
	RX_FPDU_MAX		= U16_MAX + MPA_FPDU_OVERHEAD +
				  MPA_FPDU_ALIGN + MPA_MARKER_LEN *
				  (U16_MAX / MPA_MARKER_PERIOD + 3),
};

static_assert(MAX_SKB_FRAGS * PAGE_SIZE >= RX_FPDU_MAX);

/**
 * struct mpa_rx_joined - a ULPDU that was joined with another
 * @at: offset from &mpa_rx.base, bytes
 * @len: bytes of it
 * @run: bytes of stream from there to the next Marker
 */
struct mpa_rx_joined {
	u32 at;
	u16 len;
	u16 run;
};

static_assert(MPA_MULPDU_MAX <= U16_MAX);

/**
 * struct mpa_rx - a ULPDU that is being passed to its owner
 * @left: bytes not read yet, joined ULPDUs included
 * @at: the next byte, or a Marker before it, if the FPDU is in one piece of
 *	memory; else NULL
 * @run: bytes of ULPDU at @at before a Marker or the end
 * @more: bytes of the same ULPDU behind that Marker
 * @base: start of the FPDU
 * @next: start of the FPDU behind it and those that were joined
 * @end: end of the piece of memory
 * @reader: reader of the stream, which has read everything before @next
 * @first: state of @reader before anything was joined
 * @part: ULPDUs that were joined; rx_next_run() reads one more, but does not
 *	use it
 * @joined: number of ULPDUs in @part
 * @passed: number of these that the owner has begun to read
 * @pos: if @at is NULL: the next byte, or a Marker or the length field before
 *	it
 * @strip: if @at is NULL: finds the ULPDU bytes at @pos
 *
 * Lengths are stored: a sender on this machine may still change the page.
 *
 * Many kernels initialize variables. Here that would be done for every packet, and
 * cost as much as reading a small one: functions that begin a ULPDU set all but
 * @first, @part, and what @at decides about.
 */
struct mpa_rx {
	u32 left;
	const u8 *at;
	u32 run;
	u32 more;
	const u8 *base;
	const u8 *next;
	const u8 *end;
	struct mpa_reader *reader;
	struct mpa_reader first;
	struct mpa_rx_joined part[RX_JOINED_MAX + 1];
	u32 joined;
	u32 passed;
	struct mpa_pos pos;
	struct mpa_strip strip;
};

/**
 * struct mpa_rx_run - one pass through the receive queue
 * @done: bytes of the FPDUs that the owner has taken; the rest of
 *	&mpa_conn.rx_ahead belongs to the current FPDU
 * @pos: the piece of the queue that is read
 * @start: where the current FPDU begins, if it is not whole in one piece and
 *	@started is set
 * @started: @start is valid
 */
struct mpa_rx_run {
	u32 done;
	struct mpa_pos pos;
	struct mpa_pos start;
	bool started;
};

/* The next bytes are the @len at @at, with a Marker behind @run of them. */
static void rx_begin_run(struct mpa_rx *rx, const u8 *at, u32 len, u32 run)
{
	rx->at = at;
	rx->run = min(len, run);
	rx->more = len - rx->run;
}

/*
 * Continues behind a Marker or with the next ULPDU. Both are computed, because
 * a branch would be predicted badly.
 */
static void rx_next_run(struct mpa_rx *rx)
{
	const struct mpa_rx_joined *part = &rx->part[rx->passed];
	const u32 more = rx->more;
	const u8 *at = rx->at + MPA_MARKER_LEN;
	const u8 *next = rx->base + part->at;

	rx->passed += !more;
	rx_begin_run(rx, more ? at : next, more ?: part->len,
		     more ? MPA_MARKER_PERIOD - MPA_MARKER_LEN : part->run);
}

static void rx_read_piece(struct mpa_rx *rx, void *to, u32 len)
{
	u32 n;

	for (; len; len -= n) {
		if (!rx->run)
			rx_next_run(rx);
		n = min(len, rx->run);
		if (to) {
			mpa_copy(to, rx->at, n);
			to += n;
		}
		rx->at += n;
		rx->run -= n;
	}
}

/**
 * mpa_rx_read - read the next bytes of a ULPDU
 * @rx: the ULPDU; only within &mpa_ops.ulpdu
 * @to: destination; NULL: skip the bytes
 * @len: bytes; more than mpa_rx_left() is a bug of the caller: copies nothing
 *	and warns once
 */
void mpa_rx_read(struct mpa_rx *rx, void *to, u32 len)
{
	if (WARN_ON_ONCE(len > rx->left))
		return;
	rx->left -= len;
	if (rx->at) {
		rx_read_piece(rx, to, len);
		return;
	}
	while (len) {
		u32 n, run, skip;
		const u8 *p = mpa_pos_map(&rx->pos, &n);

		if (WARN_ON_ONCE(!p))
			return;
		run = mpa_strip_run(&rx->strip, min(n, len), &skip);
		if (to) {
			mpa_copy(to, p + skip, run);
			to += run;
		}
		mpa_pos_unmap(&rx->pos, p);
		mpa_pos_skip(&rx->pos, skip + run);
		len -= run;
	}
}
EXPORT_SYMBOL_NS_GPL(mpa_rx_read, MPA_NS);

/**
 * mpa_rx_peek - access the next bytes of a ULPDU in place
 * @rx: the ULPDU; only within &mpa_ops.ulpdu
 * @len: bytes of it
 *
 * Return: the bytes, valid until @ulpdu returns; NULL if they are not in one
 * piece of memory or fewer are left: then use mpa_rx_read().
 */
const u8 *mpa_rx_peek(const struct mpa_rx *rx, u32 len)
{
	return rx->at && len <= rx->run ? rx->at : NULL;
}
EXPORT_SYMBOL_NS_GPL(mpa_rx_peek, MPA_NS);

/**
 * mpa_rx_skip_peeked - skip bytes of a ULPDU that were accessed in place
 * @rx: the ULPDU; only within &mpa_ops.ulpdu
 * @len: bytes, at most as many as mpa_rx_peek() has just given access to
 */
void mpa_rx_skip_peeked(struct mpa_rx *rx, u32 len)
{
	rx->left -= len;
	rx->at += len;
	rx->run -= len;
}
EXPORT_SYMBOL_NS_GPL(mpa_rx_skip_peeked, MPA_NS);

/**
 * mpa_rx_left - bytes of a ULPDU that are left
 * @rx: the ULPDU; only within &mpa_ops.ulpdu
 *
 * Return: bytes not read yet.
 */
u32 mpa_rx_left(const struct mpa_rx *rx)
{
	return rx->left;
}
EXPORT_SYMBOL_NS_GPL(mpa_rx_left, MPA_NS);

/**
 * mpa_rx_next - access the first bytes of the next ULPDU, if it can be joined
 * @rx: the ULPDU; only within &mpa_ops.ulpdu
 * @len: bytes to access
 *
 * The bytes were not verified: use them only to decide whether to call
 * mpa_rx_join().
 *
 * Return: the bytes; NULL if the next ULPDU has not arrived or is not longer
 * than @len, if the bytes are not in one piece of memory with the current ULPDU
 * and free of Markers, or if enough ULPDUs were joined.
 */
const u8 *mpa_rx_next(const struct mpa_rx *rx, u32 len)
{
	if (!rx->at || rx->joined == RX_JOINED_MAX)
		return NULL;
	return mpa_reader_peek(rx->reader, rx->next, rx->end - rx->next, len);
}
EXPORT_SYMBOL_NS_GPL(mpa_rx_next, MPA_NS);

/* Adds the FPDU read at @next without the first @skip bytes of its ULPDU. */
static bool rx_add_part(struct mpa_rx *rx, u32 skip)
{
	const struct mpa_reader *r = rx->reader;
	struct mpa_rx_joined *part = &rx->part[rx->joined];
	u32 run;
	u32 offset = mpa_reader_ulpdu(r, &run);

	if (skip > run || skip > r->ulpdu_len)
		return false;
	part->at = rx->next - rx->base + offset + skip;
	part->len = r->ulpdu_len - skip;
	part->run = min_t(u32, run - skip, U16_MAX);
	rx->left += part->len;
	return true;
}

/**
 * mpa_rx_join - append the next ULPDU to the current one
 * @rx: the ULPDU; only within &mpa_ops.ulpdu, and after mpa_rx_next() has shown
 *	its first bytes. An owner that has joined ULPDUs takes them all: @ulpdu
 *	must not return -EAGAIN then
 * @skip: bytes to leave out at its beginning, at most those that were accessed
 *
 * The bytes of both ULPDUs can then be read as if they were one, so that the
 * owner can check and place them together. The next FPDU is verified here as
 * the first one was.
 *
 * Return: true if it was appended to the bytes that are left; false if it is
 * not complete or not valid: it is handled later, after this ULPDU.
 */
bool mpa_rx_join(struct mpa_rx *rx, u32 skip)
{
	const struct mpa_reader before = *rx->reader;
	u32 n = mpa_reader_take(rx->reader, rx->next, rx->end - rx->next);

	if (!n)
		return false;
	if (!rx_add_part(rx, skip)) {
		*rx->reader = before;
		return false;
	}
	if (!rx->joined++)
		rx->first = before;
	rx->next += n;
	return true;
}
EXPORT_SYMBOL_NS_GPL(mpa_rx_join, MPA_NS);

/**
 * mpa_rx_part - undo all mpa_rx_join()
 * @rx: the ULPDU; nothing was read since the first of them
 *
 * The others will be passed to the owner one by one.
 */
void mpa_rx_part(struct mpa_rx *rx)
{
	if (!rx->joined)
		return;
	*rx->reader = rx->first;
	rx->joined = 0;
	rx->next = rx->base + rx->first.since_start;
	rx->left = rx->run + rx->more;
}
EXPORT_SYMBOL_NS_GPL(mpa_rx_part, MPA_NS);

/**
 * mpa_rx_within_fpdu - check whether a part of an FPDU was received
 * @conn: the stream, locked
 *
 * Return: true if so.
 */
bool mpa_rx_within_fpdu(const struct mpa_conn *conn)
{
	if (conn->tuf)
		return mpa_tuf_within(conn->tuf);
	return conn->rx_ahead || conn->stash_len;
}

static void rx_cancel_timer(struct mpa_conn *conn)
{
	if (!conn->fpdu_due)
		return;
	conn->fpdu_due = false;
	cancel_delayed_work(&conn->timer);
}

/*
 * RFC 5044 section 7.1.2 rule 4: a Responder sends nothing before it has
 * received an FPDU. A Responder that does breaks that rule, but no data are
 * lost.
 */
static void rx_count_too_soon(struct mpa_conn *conn, u32 fpdus)
{
	conn->stats.rx_too_soon += fpdus;
	mpa_conn_count_too_soon(conn, fpdus);
}

/* An FPDU was received while @rx_begun was not set. */
static void rx_first_fpdu(struct mpa_conn *conn)
{
	if (conn->initiator && !conn->stats.tx_fpdus) {
		rx_count_too_soon(conn, 1);
		return;
	}
	conn->rx_begun = true;
	rx_cancel_timer(conn);
}

/*
 * An owner in the kernel is called again: at once when TCP reports anything, and
 * otherwise the later, the longer it has left the FPDU.
 */
static void rx_call_again_later(struct mpa_conn *conn)
{
	unsigned long since;

	if (!mpa_conn_owner_is_kernel(conn))
		return;
	if (!conn->rx_again) {
		conn->rx_again = true;
		conn->rx_left_at = jiffies;
	}
	since = jiffies - conn->rx_left_at;
	mpa_conn_kick(conn, clamp(since / 16, 1UL, (unsigned long)HZ / 10));
}

/* Passes an FPDU to the owner; false if the owner reads it later. */
static bool rx_call_owner(struct mpa_conn *conn, struct mpa_rx *rx)
{
	int ret;

	/* poll() reads it without the lock as soon as the owner wakes it. */
	WRITE_ONCE(conn->rx_held, true);
	ret = conn->ops->ulpdu(conn, rx, conn->reader.ulpdu_len);
	if (unlikely(ret == -EAGAIN)) {
		rx_call_again_later(conn);
		mpa_tx_unblock(conn);
		return false;
	}
	WRITE_ONCE(conn->rx_held, false);
	mpa_rx_empty_stash(conn);
	if (ret < 0)
		mpa_conn_set_state(conn, MPA_CONN_RX_ENDED);
	mpa_tx_unblock(conn);
	return true;
}

/* As rx_call_owner(), for the FPDU that was just read. */
static bool rx_call_owner_first(struct mpa_conn *conn, struct mpa_rx *rx)
{
	if (unlikely(!conn->rx_begun))
		rx_first_fpdu(conn);
	conn->stats.rx_fpdus++;
	conn->stats.rx_bytes += conn->reader.since_start;
	return rx_call_owner(conn, rx);
}

static void rx_refuse(struct mpa_conn *conn, enum mpa_rx_result result)
{
	rx_cancel_timer(conn);
	mpa_conn_set_state(conn, MPA_CONN_RX_ENDED);
	if (result == MPA_RX_BAD_CRC) {
		conn->stats.rx_crc_errors++;
		mpa_conn_report_end(conn, MPA_ERROR_CRC, -EBADMSG);
	} else if (result == MPA_RX_BAD_LENGTH) {
		conn->stats.rx_length_errors++;
		mpa_conn_report_end(conn, MPA_ERROR_MARKER, -EMSGSIZE);
	} else {
		conn->stats.rx_marker_errors++;
		mpa_conn_report_end(conn, MPA_ERROR_MARKER, -EBADMSG);
	}
}

static void rx_fpdu_start(struct mpa_conn *conn, struct mpa_pos *start)
{
	u32 seq = tcp_sk(conn->sk)->copied_seq;

	if (conn->stash_len)
		mpa_pos_stash(start, conn->sk, conn->stash, conn->stash_len,
			      seq);
	else
		mpa_pos_queue(start, conn->sk, seq);
}

/* Sequence number behind the bytes that the reader has read. */
static u32 rx_seen(const struct mpa_conn *conn)
{
	return tcp_sk(conn->sk)->copied_seq + conn->rx_ahead;
}

static bool rx_may_read_on(const struct mpa_conn *conn, u32 done)
{
	return conn->state == MPA_CONN_OPERATIONAL && !conn->rx_held &&
	       done < RX_RELEASE_BYTES;
}

/* The FPDU just read is complete at @p, in a piece that ends at @end. */
static void rx_begin_whole(struct mpa_conn *conn, struct mpa_rx *rx,
			   const u8 *p, const u8 *end)
{
	struct mpa_reader *r = &conn->reader;
	u32 run;
	u32 offset = mpa_reader_ulpdu(r, &run);

	rx->left = r->ulpdu_len;
	rx_begin_run(rx, p + offset, rx->left, run);
	rx->base = p;
	rx->next = p + r->since_start;
	rx->end = end;
	rx->reader = r;
	rx->joined = 0;
	rx->passed = 0;
}

/* The FPDU that @r has read begins at @start and may be in several pieces. */
static void rx_begin_scattered(struct mpa_reader *r, struct mpa_rx *rx,
			       const struct mpa_pos *start)
{
	rx->left = r->ulpdu_len;
	rx->at = NULL;
	rx->run = 0;
	rx->more = 0;
	rx->base = NULL;
	rx->next = NULL;
	rx->end = NULL;
	rx->reader = r;
	rx->joined = 0;
	rx->passed = 0;
	rx->pos = *start;
	mpa_reader_strip(r, &rx->strip);
}

/*
 * The FPDU that is read next begins, or has begun, in a piece of which @off bytes
 * were read. For the first one of a run it is where the queue or the stash begins.
 */
static void rx_note_start(struct mpa_conn *conn, struct mpa_rx_run *run, u32 off)
{
	if (run->done && run->done == conn->rx_ahead)
		mpa_pos_copy(&run->start, &run->pos, off);
	else if (!run->started)
		rx_fpdu_start(conn, &run->start);
	run->started = true;
}

/*
 * Reads the next FPDU, or as much of it as has arrived, from the piece of @len
 * bytes at @p, of which @off were read. After MPA_RX_FPDU @rx is ready for the
 * owner.
 */
static enum mpa_rx_result rx_read_fpdu(struct mpa_conn *conn,
				       struct mpa_rx_run *run, const u8 *p,
				       u32 off, u32 len, struct mpa_rx *rx)
{
	enum mpa_rx_result result;
	u32 used;

	/* Fast path: all of the FPDU is in this piece. */
	if (READ_ONCE(mpa_fast_path)) {
		used = mpa_reader_take(&conn->reader, p + off, len - off);
		if (used) {
			conn->rx_ahead += used;
			rx_begin_whole(conn, rx, p + off, p + len);
			return MPA_RX_FPDU;
		}
	}
	rx_note_start(conn, run, off);
	result = mpa_reader_feed(&conn->reader, p + off, len - off, &used);
	conn->rx_ahead += used;
	if (result == MPA_RX_FPDU)
		rx_begin_scattered(&conn->reader, rx, &run->start);
	return result;
}

/* Counts the FPDUs that the owner has joined with the one passed to it. */
static void rx_count_joined(struct mpa_conn *conn, const struct mpa_rx *rx)
{
	u32 len;

	if (!rx->joined)
		return;
	if (!conn->rx_begun)
		rx_count_too_soon(conn, rx->joined);
	len = rx->next - rx->base - rx->first.since_start;
	conn->rx_ahead += len;
	conn->stats.rx_fpdus += rx->joined;
	conn->stats.rx_bytes += len;
}

static void rx_refuse_bad(struct mpa_conn *conn, enum mpa_rx_result result)
{
	if (result > MPA_RX_FPDU)
		rx_refuse(conn, result);
}

static u32 rx_tuf_piece(struct mpa_conn *conn, const u8 *p, u32 len)
{
	u32 used;

	rx_refuse_bad(conn, mpa_tuf_rx_piece(conn, p, len, &used));
	return used;
}

/* Passes to the owner the FPDUs that end in this piece. Returns bytes read. */
static u32 rx_run_piece(struct mpa_conn *conn, struct mpa_rx_run *run,
			const u8 *p, u32 len)
{
	const u32 before = conn->rx_ahead;
	enum mpa_rx_result result;
	struct mpa_rx rx __uninitialized;
	u32 off = 0;

	if (unlikely(conn->tuf))
		return rx_tuf_piece(conn, p, len);
	while (off < len && rx_may_read_on(conn, run->done)) {
		result = rx_read_fpdu(conn, run, p, off, len, &rx);
		if (result > MPA_RX_FPDU) {
			rx_refuse(conn, result);
		} else if (result == MPA_RX_FPDU &&
			   rx_call_owner_first(conn, &rx)) {
			rx_count_joined(conn, &rx);
			run->done = conn->rx_ahead;
		}
		off = conn->rx_ahead - before;
	}
	return off;
}

/* The owner has taken the FPDUs in the next @done bytes. */
static void rx_settle(struct mpa_conn *conn, u32 done)
{
	conn->called = true;
	if (conn->ops->settled)
		conn->ops->settled(conn);
	conn->rx_ahead -= done;
	mpa_rx_release(conn, done);
}

/*
 * Someone else has taken bytes of the stream, or a network device keeps them in its
 * memory: the rest is not usable.
 */
static void rx_lose(struct mpa_conn *conn)
{
	rx_cancel_timer(conn);
	conn->rx_again = false;
	WRITE_ONCE(conn->rx_held, false);
	mpa_conn_set_state(conn, MPA_CONN_RX_ENDED);
	mpa_conn_report_end(conn, MPA_ERROR_MARKER, -EBADMSG);
}

/* Returns whether there may be more to do. */
static bool rx_run_queue(struct mpa_conn *conn)
{
	struct tcp_sock *tp = tcp_sk(conn->sk);
	struct mpa_rx_run run __uninitialized;
	const u8 *p;
	u32 len;

	run.done = 0;
	run.started = false;
	mpa_pos_queue(&run.pos, conn->sk, rx_seen(conn));
	while (rx_may_read_on(conn, run.done) &&
	       (p = mpa_pos_map(&run.pos, &len))) {
		len = rx_run_piece(conn, &run, p, len);
		mpa_pos_unmap(&run.pos, p);
		/* Mostly there is one piece: no need to look for another. */
		if (rx_seen(conn) == tp->rcv_nxt)
			break;
		mpa_pos_skip(&run.pos, len);
	}
	if (unlikely(conn->tuf) && rx_may_read_on(conn, 0))
		rx_refuse_bad(conn, mpa_tuf_rx_end_of_queue(conn));
	if (run.done)
		rx_settle(conn, run.done);
	if (unlikely(run.pos.unreadable) && rx_may_read_on(conn, 0))
		rx_lose(conn);
	return run.done >= RX_RELEASE_BYTES &&
	       conn->state == MPA_CONN_OPERATIONAL;
}

/* Passes the FPDU that the owner has left to it once more. */
static void rx_call_again(struct mpa_conn *conn)
{
	struct mpa_pos start;
	struct mpa_rx rx;

	rx_fpdu_start(conn, &start);
	rx_begin_scattered(&conn->reader, &rx, &start);
	if (!rx_call_owner(conn, &rx))
		return;
	conn->rx_again = false;
	rx_settle(conn, conn->rx_ahead);
}

/**
 * mpa_rx_fpdus - pass all complete FPDUs to the owner
 * @conn: the stream, locked, operational
 */
void mpa_rx_fpdus(struct mpa_conn *conn)
{
	bool prompted = conn->rx_prompted;
	u32 before;

	conn->rx_prompted = false;
	if (mpa_rx_copied_seq_moved(conn)) {
		rx_lose(conn);
		return;
	}
	if (conn->rx_again)
		rx_call_again(conn);
	before = rx_seen(conn);
	while (!conn->rx_held && rx_run_queue(conn))
		;
	if (conn->state == MPA_CONN_OPERATIONAL && !conn->rx_held &&
	    conn->rx_ahead)
		mpa_rx_make_room(conn, prompted && before == rx_seen(conn));
}

/**
 * mpa_rx_held_read - copy from the held ULPDU
 * @conn: the stream, under lock_sock(), its @rx_held set
 * @to: destination; advanced
 * @len: bytes, from the first on; at most the length of the ULPDU
 *
 * May sleep. The ULPDU stays held until mpa_rx_held_done().
 *
 * Return: 0; -EFAULT; -EPROTO if its bytes were taken by someone else: the
 * receiving half has ended then.
 */
int mpa_rx_held_read(struct mpa_conn *conn, struct iov_iter *to, u32 len)
{
	struct mpa_rx rx __uninitialized;

	mpa_assert_locked(conn);
	if (WARN_ON_ONCE(!conn->rx_held || len > mpa_rx_held_len(conn)))
		return -EFAULT;
	if (mpa_rx_copied_seq_moved(conn)) {
		rx_lose(conn);
		return -EPROTO;
	}
	rx_fpdu_start(conn, &rx.pos);
	if (conn->tuf)
		mpa_tuf_strip(conn->tuf, &rx.strip);
	else
		mpa_reader_strip(&conn->reader, &rx.strip);
	while (len) {
		u32 n, run, skip;
		const u8 *p = mpa_pos_map(&rx.pos, &n);
		size_t copied;

		if (WARN_ON_ONCE(!p))
			return -EFAULT;
		run = mpa_strip_run(&rx.strip, min(n, len), &skip);
		copied = copy_to_iter(p + skip, run, to);
		mpa_pos_unmap(&rx.pos, p);
		if (copied != run)
			return -EFAULT;
		mpa_pos_skip(&rx.pos, skip + run);
		len -= run;
	}
	return 0;
}

/**
 * mpa_rx_held_done - the held ULPDU was read
 * @conn: the stream, under lock_sock(), its @rx_held set
 *
 * Returns its bytes to TCP; the next one may be read.
 */
void mpa_rx_held_done(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	WRITE_ONCE(conn->rx_held, false);
	mpa_rx_empty_stash(conn);
	mpa_rx_release(conn, conn->rx_ahead);
	conn->rx_ahead = 0;
}

/**
 * mpa_rx_end - TCP sequence number behind the FPDU that is passed to the owner
 * @conn: the stream; only within &mpa_ops.ulpdu, and if nothing was joined
 *
 * Return: the number, by which an FPDU of &mpa_ops.early is known again.
 */
u32 mpa_rx_end(const struct mpa_conn *conn)
{
	return rx_seen(conn);
}
EXPORT_SYMBOL_NS_GPL(mpa_rx_end, MPA_NS);

/**
 * mpa_rx_offer_early - pass an FPDU to the owner before its turn
 * @conn: the stream, locked, of an owner with &mpa_ops.early
 * @r: the reader that has read it
 * @start: its first byte
 * @end: TCP sequence number behind it
 *
 * Return: false if the owner wants no more at the moment.
 */
bool mpa_rx_offer_early(struct mpa_conn *conn, struct mpa_reader *r,
			const struct mpa_pos *start, u32 end)
{
	struct mpa_rx rx __uninitialized;
	bool more;

	mpa_assert_locked(conn);
	rx_begin_scattered(r, &rx, start);
	more = conn->ops->early(conn, &rx, r->ulpdu_len, end);
	trace_mpa_early(conn, end, r->ulpdu_len, more);
	return more;
}

/**
 * mpa_rx_drop - drop everything received
 * @conn: the stream, locked, its receiving half ended
 *
 * TCP continues, so that the peer's FIN is received.
 */
void mpa_rx_drop(struct mpa_conn *conn)
{
	u32 from = tcp_sk(conn->sk)->copied_seq;
	struct mpa_pos pos;
	u32 len;

	mpa_pos_queue(&pos, conn->sk, from);
	mpa_pos_skip(&pos, U32_MAX);
	len = pos.seq - from;
	conn->stats.rx_dropped += conn->stash_len + len;
	conn->rx_ahead = 0;
	mpa_rx_empty_stash(conn);
	if (len)
		mpa_rx_release(conn, len);
}
