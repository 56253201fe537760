// SPDX-License-Identifier: GPL-2.0-only
/*
 * FPDUs that arrive before the bytes ahead of them. RFC 5044 sections 1.2 and 6,
 * appendices A.3 and A.4.
 *
 * TCP keeps segments behind a gap in a queue of its own and reports nothing. But
 * it answers each of them at once with a duplicate ACK, after it has queued it, and
 * under the socket lock. So a stream that wants such segments has a copy of the
 * address family's operations with a queue_xmit of its own, which looks at that
 * queue after it has passed the packet on. What is in the queue was checked like
 * anything TCP delivers: checksum, window, timestamps.
 *
 * Where FPDUs begin is found in framing/early.c. The owner may use them early, and
 * gets all of them once more in their turn: TCP may drop what it has not
 * acknowledged, and only in order can the owner complete anything.
 *
 * The parts of the stream behind gaps are those that TCP reports to the peer as
 * SACK blocks.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "conn.h"
#include "early.h"
#include "framing/early.h"
#include "queue.h"
#include "rx.h"

enum {
	/* Blocks that TCP keeps. */
	EARLY_PARTS = ARRAY_SIZE(((struct tcp_sock *)0)->selective_acks),
	/*
	 * How often a byte is read here, on average. An FPDU is read twice at the
	 * most; a search begins again if TCP reports its block again, which a peer
	 * that leaves more gaps than there are blocks can bring about.
	 */
	EARLY_READS = 4,
	/* A Marker that is looked at costs as much as so many bytes. */
	EARLY_MARKER = 64,
};

/**
 * struct mpa_early_hook - what a stream needs to see early segments
 * @ops: the operations of the socket, with another queue_xmit
 * @saved: operations to restore; NULL while @ops are not installed
 * @conn: the stream; constant
 * @origin: sequence number of the first byte of full operation
 * @part: searches in the parts behind gaps
 * @nr_parts: how many
 * @received: bytes that TCP had received in order when they were searched last
 * @read: bytes that the searches have read, and %EARLY_MARKER for each Marker; at
 *	least as many as they could have, but for the receive buffer: what they do
 *	not need is not saved up
 * @rcu: the core reads icsk_af_ops without the lock
 *
 * Under the socket lock.
 */
struct mpa_early_hook {
	struct inet_connection_sock_af_ops ops;
	const struct inet_connection_sock_af_ops *saved;
	struct mpa_conn *conn;
	u32 origin;
	struct mpa_early part[EARLY_PARTS];
	unsigned int nr_parts;
	u64 received;
	u64 read;
	struct rcu_head rcu;
};

/* Bytes behind gaps are not in TCP's number yet; the buffer limits them. */
static bool early_may_read(const struct mpa_early_hook *h)
{
	const struct sock *sk = h->conn->sk;

	return h->read / EARLY_READS <= tcp_sk(sk)->bytes_received +
					READ_ONCE(sk->sk_rcvbuf);
}

static bool early_copy(void *ctx, u32 at, u8 *to, u32 len)
{
	struct mpa_early_hook *h = ctx;
	struct mpa_pos pos;
	const u8 *p;
	u32 n;

	if (!early_may_read(h))
		return false;
	h->read += EARLY_MARKER;
	mpa_pos_early(&pos, h->conn->sk, h->origin + at);
	for (; len; len -= n, to += n) {
		p = mpa_pos_map(&pos, &n);
		if (!p)
			return false;
		n = min(n, len);
		memcpy(to, p, n);
		mpa_pos_unmap(&pos, p);
		mpa_pos_skip(&pos, n);
	}
	return true;
}

static enum mpa_rx_result early_feed(void *ctx, u32 at, struct mpa_reader *r)
{
	struct mpa_early_hook *h = ctx;
	enum mpa_rx_result result = MPA_RX_MORE;
	struct mpa_pos pos;
	u32 len, used;
	const u8 *p;

	mpa_pos_early(&pos, h->conn->sk, h->origin + at);
	while (result == MPA_RX_MORE && (p = mpa_pos_map(&pos, &len))) {
		result = mpa_reader_feed(r, p, len, &used);
		mpa_pos_unmap(&pos, p);
		mpa_pos_skip(&pos, used);
		h->read += used;
	}
	return result;
}

/* Returns false if the owner wants no more. */
static bool early_search(struct mpa_early_hook *h, struct mpa_early *e, u32 end)
{
	const struct mpa_early_source src = {
		.copy = early_copy,
		.feed = early_feed,
		.ctx = h,
	};
	struct mpa_reader r;
	struct mpa_pos pos;

	while (early_may_read(h) && mpa_early_find(e, &src, end, &r)) {
		u32 seq = h->origin + e->floor;

		mpa_pos_early(&pos, h->conn->sk, seq - r.since_start);
		if (!mpa_rx_offer_early(h->conn, &r, &pos, seq))
			return false;
	}
	return true;
}

/*
 * The search that was begun in the part from @from to @end. If the gap between two
 * parts was closed, that is the one that is less far.
 */
static struct mpa_early *early_part(struct mpa_early_hook *h, u32 from, u32 end)
{
	struct mpa_early *found = NULL;
	struct mpa_early *e;

	for (e = h->part; e < h->part + h->nr_parts; e++)
		if (e->floor - from <= end - from &&
		    (!found || e->floor - from < found->floor - from))
			found = e;
	return found;
}

static void early_look(struct mpa_early_hook *h)
{
	const struct tcp_sock *tp = tcp_sk(h->conn->sk);
	struct mpa_early part[EARLY_PARTS];
	bool wanted = true;
	unsigned int i;

	/* Offsets are modulo 2^32: one of long ago could be in a part of today. */
	if (tp->bytes_received - h->received > S32_MAX)
		h->nr_parts = 0;
	h->received = tp->bytes_received;
	h->read = max(h->read, EARLY_READS * h->received);
	for (i = 0; wanted && i < tp->rx_opt.num_sacks; i++) {
		u32 from = tp->selective_acks[i].start_seq - h->origin;
		u32 end = tp->selective_acks[i].end_seq - h->origin;
		const struct mpa_early *before = early_part(h, from, end);

		if (before)
			part[i] = *before;
		else
			mpa_early_init(&part[i], from);
		wanted = early_search(h, &part[i], end);
	}
	h->nr_parts = i;
	memcpy(h->part, part, i * sizeof(part[0]));
}

/**
 * mpa_early_look - pass FPDUs behind gaps to the owner
 * @conn: the stream, locked
 *
 * Does nothing if the stream does not want them, if there is no gap, or while a
 * callback is under way: the next segment behind the gap leads here again.
 */
void mpa_early_look(struct mpa_conn *conn)
{
	struct mpa_early_hook *h = conn->early;

	mpa_assert_locked(conn);
	if (!h || !h->saved || conn->state != MPA_CONN_OPERATIONAL)
		return;
	if (conn->busy || RB_EMPTY_ROOT(&tcp_sk(conn->sk)->out_of_order_queue))
		return;
	conn->busy = true;
	early_look(h);
	conn->busy = false;
}

static int early_queue_xmit(struct sock *sk, struct sk_buff *skb,
			    struct flowi *fl)
{
	struct mpa_early_hook *h =
		container_of(inet_csk(sk)->icsk_af_ops, struct mpa_early_hook,
			     ops);
	int ret = h->saved->queue_xmit(sk, skb, fl);

	if (unlikely(!RB_EMPTY_ROOT(&tcp_sk(sk)->out_of_order_queue))) {
		/* Or TCP would delay, and join, the ACKs that lead here. */
		tcp_sk(sk)->dup_ack_counter = 0;
		mpa_early_look(h->conn);
	}
	return ret;
}

/**
 * mpa_want_early - let a stream pass FPDUs to its owner that arrive early
 * @conn: the stream, under lock_sock(), before startup, of an owner with
 *	&mpa_ops.early
 *
 * Without memory, or if the stream will not have Markers and CRCs in the
 * direction of reception, it passes none.
 */
void mpa_want_early(struct mpa_conn *conn)
{
	mpa_assert_locked(conn);
	if (WARN_ON_ONCE(conn->early || !conn->ops->early))
		return;
	conn->early = kzalloc(sizeof(*conn->early), GFP_KERNEL_ACCOUNT);
	if (conn->early)
		conn->early->conn = conn;
}
EXPORT_SYMBOL_NS_GPL(mpa_want_early, MPA_NS);

/**
 * mpa_early_begin - a stream has entered full operation
 * @conn: the stream, locked; its next byte in the receive queue is the first one
 *	of full operation
 */
void mpa_early_begin(struct mpa_conn *conn)
{
	struct inet_connection_sock *icsk = inet_csk(conn->sk);
	struct mpa_early_hook *h = conn->early;

	mpa_assert_locked(conn);
	if (!h || !conn->res.rx_markers || !conn->res.crc)
		return;
	h->origin = tcp_sk(conn->sk)->copied_seq;
	h->ops = *icsk->icsk_af_ops;
	h->ops.queue_xmit = early_queue_xmit;
	h->saved = icsk->icsk_af_ops;
	WRITE_ONCE(icsk->icsk_af_ops, &h->ops);
}

/**
 * mpa_early_end - undo mpa_want_early() and mpa_early_begin()
 * @conn: the stream, locked or unreachable for anyone else
 */
void mpa_early_end(struct mpa_conn *conn)
{
	struct mpa_early_hook *h = conn->early;

	if (!h)
		return;
	if (h->saved)
		WRITE_ONCE(inet_csk(conn->sk)->icsk_af_ops, h->saved);
	conn->early = NULL;
	kfree_rcu(h, rcu);
}
