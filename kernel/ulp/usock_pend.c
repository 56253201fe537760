// SPDX-License-Identifier: GPL-2.0-only
/*
 * ULPDUs that an application has sent and that wait: for room in TCP's queue
 * or, with packing, for others that share a segment with them.
 */
#include <net/tcp.h>

#include "tuf_tx.h"
#include "tx_batch.h"
#include "tx_queue.h"
#include "usock_pend.h"

static u16 pend_length(const struct mpa_pend *pend)
{
	u16 len;

	memcpy(&len, pend->buf + pend->head, sizeof(len));
	return len;
}

/* Adds to the open batch as many ULPDUs as fit. */
static void pend_fill(struct mpa_usock *us)
{
	struct mpa_pend *pend = &us->pend;
	struct mpa_conn *conn = us->conn;
	bool first = true;

	while (mpa_pend_bytes(pend)) {
		u16 len = pend_length(pend);
		struct kvec vec = {
			.iov_base = pend->buf + pend->head + sizeof(len),
			.iov_len = len,
		};
		u32 room = mpa_tx_room_for(conn, len);

		if (first && len > room)
			mpa_tx_widen(conn, len);
		else if (!room || len > room)
			break;
		if (WARN_ON_ONCE(mpa_tx_add(conn, NULL, 0, &vec, 1, len, true)))
			break;
		pend->head += sizeof(len) + len;
		first = false;
	}
	if (!mpa_pend_bytes(pend))
		mpa_pend_forget(pend);
}

static int pend_flush_fpdus(struct mpa_usock *us)
{
	int ret = 0;

	while (mpa_pend_bytes(&us->pend) && !ret) {
		ret = mpa_tx_begin(us->conn);
		if (ret)
			break;
		pend_fill(us);
		ret = mpa_tx_send(us->conn);
	}
	return ret;
}

/**
 * mpa_pend_flush - pass the ULPDUs that wait to TCP, as far as TCP takes them
 * @us: the socket, under lock_sock()
 *
 * If some are left, this is called again later, by @work or a callback.
 */
void mpa_pend_flush(struct mpa_usock *us)
{
	mpa_assert_locked(us->conn);
	if (us->phase == MPA_USOCK_FRAMED)
		mpa_tuf_flush(us);
	else
		mpa_usock_flushed(us, pend_flush_fpdus(us));
}

/* Whether TCP has not taken all that was accepted for sending. */
static bool pend_is_left(const struct mpa_usock *us)
{
	return us->conn->rest || us->conn->tx_err || us->tuf.cut.buf ||
	       mpa_pend_bytes(&us->pend);
}

/**
 * mpa_pend_flush_all - pass everything that waits to TCP
 * @us: the socket, under lock_sock()
 *
 * For the end of sending. May exceed the send buffer once.
 *
 * Return: 0, also if TCP can send no more; -ENOBUFS: TCP has no memory for all
 * of it, and a FIN would tell the peer that the stream is complete.
 */
int mpa_pend_flush_all(struct mpa_usock *us)
{
	struct mpa_conn *conn = us->conn;
	struct sock *sk = conn->sk;
	struct mpa_tx_limits limits;

	mpa_tx_lift_limits(sk, &limits);
	mpa_tx_flush(conn);
	if (mpa_usock_is(us)->full || us->phase == MPA_USOCK_FRAMED)
		mpa_pend_flush(us);
	mpa_tx_restore_limits(sk, &limits);
	return pend_is_left(us) && mpa_tx_tcp_can_send(sk) ? -ENOBUFS : 0;
}

/**
 * mpa_pend_must_wait - check whether the ULPDUs must wait for an ACK
 * @us: the socket, locked
 *
 * With packing, small ULPDUs wait while earlier segments are in flight (RFC 896).
 *
 * Return: true if so; mpa_pend_writable() is called for each ACK then.
 */
bool mpa_pend_must_wait(struct mpa_usock *us)
{
	struct sock *sk = us->conn->sk;

	if (!us->packing || !tcp_sk(sk)->packets_out ||
	    mpa_pend_bytes(&us->pend) >= mpa_tx_mulpdu(us->conn))
		return false;
	/* Request a callback for each ACK. */
	us->conn->want_write = true;
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	return true;
}

/**
 * mpa_pend_writable - TCP may take more
 * @us: the socket, locked, in any context
 */
void mpa_pend_writable(struct mpa_usock *us)
{
	if (us->phase == MPA_USOCK_FRAMED) {
		mpa_tuf_writable(us);
		return;
	}
	if (mpa_pend_bytes(&us->pend) && !mpa_pend_must_wait(us))
		mpa_usock_kick(us, 0);
}
