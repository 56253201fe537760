// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stash: pages with the first bytes of an FPDU for the rest of which TCP has
 * no room.
 */
#include <net/tcp.h>

#include "framing/tuf.h"
#include "queue.h"
#include "rx_stash.h"

/**
 * mpa_rx_free_stash - free the stash
 * @conn: the stream, locked, or unreachable for anyone else; with a stash
 */
void mpa_rx_free_stash(struct mpa_conn *conn)
{
	sk_mem_uncharge(conn->sk, conn->stash_charged);
	conn->stash_charged = 0;
	kfree_skb(conn->stash);
	conn->stash = NULL;
	conn->stash_len = 0;
}

/* Allocates room for the next @want bytes. Returns how many fit. */
static u32 rx_grow_stash(struct mpa_conn *conn, u32 want)
{
	const gfp_t gfp = sk_gfp_mask(conn->sk, GFP_ATOMIC | __GFP_NOWARN);
	struct sk_buff *skb = conn->stash ?: alloc_skb(0, gfp);
	struct page *page;

	conn->stash = skb;
	while (skb && skb->len - conn->stash_len < want &&
	       skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS) {
		page = alloc_page(gfp);
		if (!page)
			break;
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0,
				PAGE_SIZE, PAGE_SIZE);
	}
	return skb ? min(want, skb->len - conn->stash_len) : 0;
}

/*
 * Charges the memory of the pages in excess of their bytes, if TCP's limits
 * allow it. The amount is negative if packets released less than their bytes.
 * sk_forward_alloc must not be negative on return, because TCP relies on it.
 */
static void rx_charge_stash(struct mpa_conn *conn)
{
	int more = conn->stash->truesize - conn->stash_charged;
	struct sock *sk = conn->sk;

	if (more > sk->sk_forward_alloc)
		__sk_mem_schedule(sk, more - sk->sk_forward_alloc, SK_MEM_RECV);
	more = min(more, sk->sk_forward_alloc);
	sk_mem_charge(sk, more);
	conn->stash_charged += more;
}

/*
 * Moves the first bytes in the queue to the stash, where they do not need
 * window. The socket was charged for them with their packets and stays charged
 * when these are freed, so the charge can neither fail nor exceed a limit. The
 * bytes do not count for the receive buffer, which they would keep full.
 */
static void rx_move_to_stash(struct mpa_conn *conn, u32 len)
{
	u32 seq = tcp_sk(conn->sk)->copied_seq;
	u32 left = len;
	struct mpa_pos pos;
	const u8 *p;
	u32 n;

	mpa_pos_queue(&pos, conn->sk, seq);
	while (left && (p = mpa_pos_map(&pos, &n))) {
		n = min(n, left);
		WARN_ON_ONCE(skb_store_bits(conn->stash, conn->stash_len, p,
					    n));
		mpa_pos_unmap(&pos, p);
		mpa_pos_skip(&pos, n);
		conn->stash_len += n;
		left -= n;
	}
	sk_mem_charge(conn->sk, len);
	conn->stash_charged += len;
	mpa_rx_release(conn, len);
	conn->rx_ahead -= len;
	rx_charge_stash(conn);
}

/*
 * Whether the window is too small for the rest of the FPDU, or for any segment,
 * and TCP will not open it. See __tcp_select_window() for the room that TCP
 * requires.
 */
static bool rx_window_closed(const struct mpa_conn *conn)
{
	const struct sock *sk = conn->sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 window = tcp_receive_window(tp);
	u32 mss = inet_csk(sk)->icsk_ack.rcv_mss;
	int least = max_t(int, tcp_full_space(sk) >> 4, mss);
	u32 need = conn->tuf ? mpa_tuf_need(conn->tuf) :
			       mpa_reader_need(&conn->reader);

	return (window <= mss || window < need) &&
	       tcp_space(sk) < least + (1 << tp->rx_opt.rcv_wscale);
}

/**
 * mpa_rx_make_room - keep an FPDU from filling the receive buffer
 * @conn: the stream, locked; its FPDU is not complete
 * @dropped: TCP has reported data without adding any
 *
 * An FPDU whose first bytes fill the receive buffer would never become
 * complete: the window stays closed until they are read. Many small segments or
 * a small buffer can cause this for any length. If TCP lacks memory, it drops
 * what it receives, unless its queue is empty, and reports data without adding
 * any: @dropped. Once this has happened to an FPDU, the rest of it is handled
 * the same way.
 */
void mpa_rx_make_room(struct mpa_conn *conn, bool dropped)
{
	u32 len;

	/* There is no unit that must be complete: only a part of a marker. */
	if (conn->tuf && conn->tuf->markers)
		return;
	if (dropped || rx_window_closed(conn))
		conn->rx_short = true;
	if (!conn->rx_short)
		return;
	len = rx_grow_stash(conn, conn->rx_ahead);
	if (len)
		rx_move_to_stash(conn, len);
	if (conn->rx_ahead)
		mpa_conn_kick(conn, HZ / 50);
}
