// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending one short FPDU without a batch: most of the work of a batch is to find out
 * how many FPDUs it can have, which one that fits any segment need not know.
 *
 * The FPDU is written on the page fragment of the task, as tcp_sendmsg() would do,
 * and TCP gets the page. Nothing that uses this fragment runs in between, see
 * tx_queue.c.
 */
#include <linux/sched.h>
#include <net/tcp.h>

#include "compat/net.h"
#include "framing/wire.h"
#include "tx_batch.h"
#include "tx_queue.h"

enum {
	/* Bytes of an FPDU, so that it is on one page. */
	TX_ONE_MAX	= 4096,
};

static_assert(TX_ONE_MAX <= PAGE_SIZE);

/* Whatever options TCP adds, the segment has room for it. */
static bool tx_one_fits(const struct mpa_conn *conn, u32 len)
{
	return len <= TX_ONE_MAX &&
	       len + MAX_TCP_OPTION_SPACE <= tcp_sk(conn->sk)->mss_cache;
}

/**
 * mpa_tx_one - begin to send one short ULPDU
 * @conn: the stream, under lock_sock(), with no batch open; not from within a
 *	callback
 * @ulpdu_len: bytes of the ULPDU, header included
 *
 * The caller writes the ULPDU, and calls mpa_tx_one_send(); it need not do so, and
 * must not sleep in between.
 *
 * Return: memory for the ULPDU; NULL if it cannot be sent this way or not now: use
 * mpa_tx_begin(), which says why.
 */
u8 *mpa_tx_one(struct mpa_conn *conn, u32 ulpdu_len)
{
	struct page_frag *frag = &current->task_frag;
	u32 len = mpa_fpdu_len(&conn->tx, ulpdu_len);

	mpa_tx_assert_owned(conn);
	if (conn->tx.markers || !tx_one_fits(conn, len) ||
	    !READ_ONCE(mpa_fast_path) ||
	    !(conn->sk->sk_route_caps & NETIF_F_SG) || mpa_tx_ready(conn) ||
	    !skb_page_frag_refill(len, frag, GFP_NOIO | __GFP_NOWARN))
		return NULL;
	return page_address(frag->page) + frag->offset + MPA_LENGTH_FIELD;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_one, MPA_NS);

/**
 * mpa_tx_one_send - send the ULPDU that was written after mpa_tx_one()
 * @conn: the stream, still locked
 * @ulpdu_len: as there
 *
 * Return: 0, or a negative error that ends the sending half, as for mpa_tx_send().
 */
int mpa_tx_one_send(struct mpa_conn *conn, u32 ulpdu_len)
{
	struct page_frag *frag = &current->task_frag;
	u8 *fpdu = page_address(frag->page) + frag->offset;
	struct bio_vec piece = {
		.bv_page = frag->page,
		.bv_offset = frag->offset,
		.bv_len = mpa_fpdu_wrap(&conn->tx, fpdu, ulpdu_len),
	};
	u32 len = piece.bv_len;
	struct msghdr msg = {};
	int ret;

	frag->offset += len;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &piece, 1, len);
	ret = mpa_tx_push_msg(conn, &msg);
	if (ret)
		return ret;
	conn->stats.tx_fpdus++;
	conn->stats.tx_bytes += len;
	conn->stats.tx_batches++;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_one_send, MPA_NS);
