// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending with TUF: one call, one PDU.
 *
 * What is sent is copied from the application first. In marker mode the markers are
 * put between the bytes then; in the other modes each PDU waits with its length, and
 * is framed when it is passed to TCP. There each framing PDU ends with MSG_EOR, so it
 * is a packet of its own, which TCP does not divide as long as it fits in a segment.
 */
#include <linux/slab.h>
#include <linux/sockios.h>
#include <net/tcp.h>

#include "compat/sock_ops.h"
#include "framing/segment.h"
#include "nofault.h"
#include "registry.h"
#include "sock.h"
#include "trace.h"
#include "tuf_tx.h"
#include "tx_batch.h"
#include "tx_emss.h"
#include "tx_queue.h"

enum {
	/* PDUs that share a framing PDU */
	TUF_PACK_MAX	= 32,
	/* Bytes of a stream with markers that are passed to TCP at once */
	TUF_STREAM_BYTES = 16384,
	/* How long a PDU waits for others, ms; the limit of TCP_CORK */
	TUF_WAIT_MS	= 200,
};

/* ---- EMSS ---- */

/*
 * Whether TCP has computed its segment size for the route that it uses. When a route is
 * replaced, TCP takes the MTU of a device that stands in for that of the old route, 68
 * bytes, until the next segment finds the new one.
 */
static bool tuf_mss_is_current(struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get(sk);

	return dst && READ_ONCE(dst->obsolete) <= 0 &&
	       dst_mtu(dst) == inet_csk(sk)->icsk_pmtu_cookie;
}

/*
 * Bytes of a segment, however many options it needs: a framing PDU of this size is
 * never divided.
 */
static u32 tuf_emss(const struct mpa_conn *conn)
{
	struct mpa_seg_view view;

	mpa_tx_view_socket(conn, &view);
	return view.mss > view.option_room ? view.mss - view.option_room : 1;
}

/* The application may have closed the socket. */
static void tuf_wake_pri(struct sock *sk)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLPRI);
	rcu_read_unlock();
}

/* Has the stream call mpa_tuf_writable() at the next ACK. */
static void tuf_ask_for_ack(struct mpa_conn *conn)
{
	if (!conn->sk->sk_socket)
		return;
	conn->want_write = true;
	set_bit(SOCK_NOSPACE, &conn->sk->sk_socket->flags);
}

/**
 * mpa_tuf_look_at_emss - note a change of the EMSS
 * @us: the socket, locked, connected
 *
 * Section 3: EPOLLPRI reports it to the sender, until that reads %TCP_SEND_EMSS.
 */
void mpa_tuf_look_at_emss(struct mpa_usock *us)
{
	struct mpa_tuf *tuf = &us->tuf;
	u32 emss = tuf_emss(us->conn);
	u32 before = tuf->emss;

	mpa_assert_locked(us->conn);
	if (emss == before || (before && !tuf_mss_is_current(us->conn->sk)))
		return;
	tuf->emss = emss;
	if (!before)
		return;
	tuf->emss_changes++;
	mpa_count(mpa_net_of(sock_net(us->conn->sk)), MPA_COUNT_TUF_EMSS, 1);
	trace_mpa_framing(us->conn, tuf);
	tuf->emss_risen = emss > before;
	WRITE_ONCE(tuf->emss_changed, true);
	tuf_wake_pri(us->conn->sk);
}

/**
 * mpa_tuf_send_emss - %TCP_SEND_EMSS
 * @us: the socket, under lock_sock()
 *
 * Return: bytes, or -ENOTCONN.
 */
int mpa_tuf_send_emss(struct mpa_usock *us)
{
	struct mpa_tuf *tuf = &us->tuf;

	if (us->phase != MPA_USOCK_FRAMED && us->phase != MPA_USOCK_STREAMING)
		return -ENOTCONN;
	mpa_tuf_look_at_emss(us);
	WRITE_ONCE(tuf->emss_changed, false);
	if (tuf->send == TCP_FRAMING_SEND_ALIGN)
		return mpa_tuf_align_max(tuf->emss, false);
	return tuf->emss;
}

/* ---- Passing to TCP ---- */

static void tuf_count(struct mpa_usock *us, u32 pdus, u32 bytes)
{
	us->tuf.tx_pdus += pdus;
	us->tuf.tx_frames++;
	us->conn->stats.tx_fpdus++;
	us->conn->stats.tx_batches++;
	us->conn->stats.tx_bytes += bytes;
}

/* Passes the next piece of a framing PDU that is divided. */
static int tuf_push_piece(struct mpa_usock *us)
{
	struct mpa_tuf_cut *cut = &us->tuf.cut;
	u8 *p = cut->buf + cut->off;
	struct kvec vec = {
		.iov_base = p,
		.iov_len = mpa_tuf_piece(p, cut->len - cut->off, us->tuf.emss,
					 us->tuf.key, !cut->off),
	};
	int ret;

	cut->off += vec.iov_len;
	ret = mpa_tx_push(us->conn, &vec, 1, vec.iov_len);
	if (cut->off < cut->len && !ret)
		return 0;
	kvfree(cut->buf);
	cut->buf = NULL;
	return ret;
}

static void tuf_count_pieces(struct mpa_usock *us)
{
	us->tuf.tx_pieces++;
	mpa_count(mpa_net_of(sock_net(us->conn->sk)), MPA_COUNT_TUF_PIECES, 1);
}

/*
 * Section 5.2: the EMSS has fallen since the PDU was taken, or the application has
 * allowed emergency mode. TCP would cut at any byte.
 */
static int tuf_cut(struct mpa_usock *us, const struct kvec *pdu)
{
	struct mpa_tuf *tuf = &us->tuf;
	u32 len = MPA_TUF_HEADER_LEN + pdu->iov_len;
	struct mem_cgroup *before = mpa_sock_memcg_enter(us->conn->sk);
	u8 *buf = kvmalloc(len, GFP_KERNEL_ACCOUNT);

	set_active_memcg(before);
	if (!buf)
		return -ENOMEM;
	mpa_tuf_header(buf, pdu->iov_len, tuf->key);
	memcpy(buf + MPA_TUF_HEADER_LEN, pdu->iov_base, pdu->iov_len);
	tuf->cut = (struct mpa_tuf_cut){ .buf = buf, .len = len };
	tuf_count_pieces(us);
	tuf_count(us, 1, len);
	return tuf_push_piece(us);
}

/* Lists PDUs that wait and share a framing PDU. Returns their number. */
static u32 tuf_gather(struct mpa_usock *us, struct kvec *vec, u32 *len)
{
	const struct mpa_tuf *tuf = &us->tuf;
	u32 room = mpa_tuf_align_max(tuf->emss, false);
	u32 most = tuf->no_pack ? 1 : TUF_PACK_MAX;
	u32 at = us->pend.head;
	u32 nr = 0;
	u16 n;

	*len = 0;
	while (nr < most && at < us->pend.tail) {
		memcpy(&n, us->pend.buf + at, sizeof(n));
		if (nr && *len + n > room)
			break;
		at += sizeof(n);
		vec[nr++] = (struct kvec){
			.iov_base = us->pend.buf + at, .iov_len = n,
		};
		at += n;
		*len += n;
	}
	return nr;
}

static void tuf_forget(struct mpa_usock *us, u32 len)
{
	us->pend.head += len;
	if (us->pend.head == us->pend.tail)
		mpa_pend_forget(&us->pend);
}

static int tuf_push_align(struct mpa_usock *us)
{
	struct kvec vec[1 + TUF_PACK_MAX];
	u8 hdr[MPA_TUF_HEADER_LEN];
	u32 nr, len;
	int ret;

	nr = tuf_gather(us, vec + 1, &len);
	if (len > mpa_tuf_align_max(us->tuf.emss, false)) {
		ret = tuf_cut(us, vec + 1);
	} else {
		mpa_tuf_header(hdr, len, us->tuf.key);
		vec[0] = (struct kvec){
			.iov_base = hdr, .iov_len = sizeof(hdr),
		};
		tuf_count(us, nr, sizeof(hdr) + len);
		ret = mpa_tx_push(us->conn, vec, 1 + nr, sizeof(hdr) + len);
	}
	if (ret != -ENOMEM)
		tuf_forget(us, nr * sizeof(u16) + len);
	return ret;
}

static int tuf_push_atomic(struct mpa_usock *us)
{
	struct kvec vec;
	u16 len;
	int ret;

	memcpy(&len, us->pend.buf + us->pend.head, sizeof(len));
	vec.iov_base = us->pend.buf + us->pend.head + sizeof(len);
	vec.iov_len = len;
	tuf_count(us, 1, len);
	if (len > us->tuf.emss)
		tuf_count_pieces(us);
	ret = mpa_tx_push(us->conn, &vec, 1, len);
	tuf_forget(us, sizeof(len) + len);
	return ret;
}

static int tuf_push_stream(struct mpa_usock *us)
{
	struct kvec vec = {
		.iov_base = us->pend.buf + us->pend.head,
		.iov_len = min_t(u32, mpa_pend_bytes(&us->pend),
				 TUF_STREAM_BYTES),
	};
	u32 len = vec.iov_len;
	int ret;

	us->conn->stats.tx_batches++;
	us->conn->stats.tx_bytes += len;
	ret = mpa_tx_push(us->conn, &vec, 1, len);
	tuf_forget(us, len);
	return ret;
}

static int tuf_push(struct mpa_usock *us)
{
	if (us->tuf.cut.buf)
		return tuf_push_piece(us);
	switch (us->tuf.send) {
	case TCP_FRAMING_SEND_ALIGN:
		return tuf_push_align(us);
	case TCP_FRAMING_SEND_ATOMIC:
		return tuf_push_atomic(us);
	default:
		return tuf_push_stream(us);
	}
}

/**
 * mpa_tuf_flush - pass the PDUs that wait to TCP, as far as TCP takes them
 * @us: the socket, under lock_sock()
 *
 * If some are left, this is called again later.
 */
void mpa_tuf_flush(struct mpa_usock *us)
{
	int ret = 0;

	mpa_assert_locked(us->conn);
	while ((mpa_pend_bytes(&us->pend) || us->tuf.cut.buf) && !ret) {
		ret = mpa_tx_ready(us->conn);
		if (ret)
			break;
		mpa_tuf_look_at_emss(us);
		ret = tuf_push(us);
	}
	/*
	 * The next ACK calls back, so that a change of the EMSS is seen even if
	 * nothing more is sent.
	 */
	tuf_ask_for_ack(us->conn);
	mpa_tuf_look_at_emss(us);
	mpa_usock_flushed(us, ret);
}

/* ---- Taking from the application ---- */

/* Whether small PDUs wait for an ACK, as RFC 896 has it. */
static bool tuf_must_wait(const struct mpa_usock *us)
{
	const struct mpa_tuf *tuf = &us->tuf;

	return tuf->send == TCP_FRAMING_SEND_ALIGN && !tuf->no_pack &&
	       !tuf->nodelay && tcp_sk(us->conn->sk)->packets_out &&
	       !tuf->cut.buf &&
	       mpa_pend_bytes(&us->pend) < mpa_tuf_align_max(tuf->emss, false);
}

/**
 * mpa_tuf_writable - TCP may take more, or something was acknowledged
 * @us: the socket, locked, in any context
 */
void mpa_tuf_writable(struct mpa_usock *us)
{
	mpa_tuf_look_at_emss(us);
	/* A segment that is in flight may still find a shorter path. */
	if (us->tuf.send && tcp_sk(us->conn->sk)->packets_out)
		tuf_ask_for_ack(us->conn);
	if ((us->tuf.cut.buf || mpa_pend_bytes(&us->pend)) && !tuf_must_wait(us))
		mpa_usock_kick(us, 0);
}

/**
 * mpa_tuf_settle - PDUs were taken: pass them to TCP, or let them wait
 * @us: the socket, under lock_sock()
 * @more: the application will send more at once
 */
void mpa_tuf_settle(struct mpa_usock *us, bool more)
{
	bool packs = us->tuf.send == TCP_FRAMING_SEND_ALIGN && !us->tuf.no_pack;

	if (!mpa_pend_bytes(&us->pend))
		return;
	if ((more && packs) || tuf_must_wait(us)) {
		tuf_ask_for_ack(us->conn);
		mpa_usock_kick(us, msecs_to_jiffies(TUF_WAIT_MS));
	} else {
		mpa_tuf_flush(us);
	}
}

/* Longest PDU that is taken now; marker mode counts the markers. */
static u32 tuf_send_max(const struct mpa_tuf *tuf)
{
	switch (tuf->send) {
	case TCP_FRAMING_SEND_ALIGN:
		return mpa_tuf_align_max(tuf->emss, tuf->emergency);
	case TCP_FRAMING_SEND_ATOMIC:
		return min_t(u32, tuf->emss, MPA_TUF_PDU_MAX);
	default:
		return MPA_TUF_PDU_MAX;
	}
}

static int tuf_check_size(struct mpa_tuf *tuf, size_t len)
{
	if (!len)
		return -EINVAL;
	if (len > tuf_send_max(tuf))
		return -EMSGSIZE;
	if (tuf->send == TCP_FRAMING_SEND_MARKERS &&
	    mpa_tuf_marked_len(&tuf->marks, len) > MPA_TUF_PDU_MAX)
		return -EMSGSIZE;
	/* Appendix A.2: once, if asked for. */
	if (tuf->notice && tuf->emss_risen) {
		tuf->emss_risen = false;
		return -EMSGSIZE;
	}
	tuf->emss_risen = false;
	return 0;
}

static u32 tuf_pend_need(const struct mpa_tuf *tuf, u32 len)
{
	if (tuf->send == TCP_FRAMING_SEND_MARKERS)
		return mpa_tuf_marked_len(&tuf->marks, len);
	return sizeof(u16) + len;
}

static int tuf_send_ready(struct mpa_usock *us, size_t len)
{
	struct mpa_tuf *tuf = &us->tuf;
	int ret;

	if (us->phase == MPA_USOCK_UNCONNECTED)
		return mpa_usock_connecting(us, -EPIPE);
	if (us->phase != MPA_USOCK_FRAMED || !tuf->send)
		return MPA_CALL_AGAIN;
	ret = sock_error(us->conn->sk);
	if (ret)
		return ret;
	ret = mpa_tx_ready(us->conn);
	if (ret)
		return ret;
	mpa_tuf_look_at_emss(us);
	ret = tuf_check_size(tuf, len);
	if (ret)
		return ret;
	if (mpa_pend_bytes(&us->pend) + tuf_pend_need(tuf, len) <=
	    MPA_PEND_MAX)
		return 0;
	mpa_tuf_flush(us);
	if (us->conn->tx_err)
		return -EPIPE;
	return mpa_pend_bytes(&us->pend) ? -EAGAIN : 0;
}

/* Copies @len bytes with the markers that are due. */
static bool tuf_copy_marked(struct mpa_tuf_marks *m, u8 *to, u32 len,
			    struct iov_iter *from)
{
	u32 left = len;
	bool due;
	u32 n;

	while (left) {
		u8 marker[MPA_TUF_MARKER_LEN];

		n = mpa_tuf_marker_next(m, left, left == len, marker, &due);
		if (due) {
			memcpy(to, marker, sizeof(marker));
			to += sizeof(marker);
		}
		if (!copy_from_iter_full(to, n, from)) {
			iov_iter_revert(from, len - left);
			return false;
		}
		to += n;
		left -= n;
	}
	return true;
}

static int tuf_add_marked(struct mpa_usock *us, struct msghdr *msg, u32 len)
{
	struct mpa_tuf_marks m = us->tuf.marks;
	u32 need = mpa_tuf_marked_len(&m, len);
	u8 *to = mpa_pend_reserve(&us->pend, need);
	bool all;

	if (!to)
		return -ENOMEM;
	mpa_nofault_begin();
	all = tuf_copy_marked(&m, to, len, &msg->msg_iter);
	mpa_nofault_end();
	if (!all)
		return MPA_FAULT_IN;
	us->pend.tail += need;
	us->tuf.marks = m;
	us->tuf.tx_pdus++;
	return 0;
}

/**
 * mpa_tuf_send - take a PDU from the application
 * @us: the socket, under lock_sock(), which may be released meanwhile
 * @msg: as for sendmsg(2)
 * @len: bytes
 *
 * Return: @len; %MPA_CALL_AGAIN; %MPA_FAULT_IN; or the errors of tcp-framing(7).
 */
int mpa_tuf_send(struct mpa_usock *us, struct msghdr *msg, size_t len)
{
	bool more = msg->msg_flags & (MSG_MORE | MSG_BATCH);
	struct sock *sk = us->conn->sk;
	int ret;

	if (msg->msg_flags & (MSG_OOB | MSG_ZEROCOPY | MSG_FASTOPEN |
			      MPA_MSG_SPLICE))
		return -EOPNOTSUPP;
	ret = mpa_usock_wait(us, tuf_send_ready, len,
			     sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT));
	if (!ret)
		ret = us->tuf.send == TCP_FRAMING_SEND_MARKERS ?
			tuf_add_marked(us, msg, len) :
			mpa_pend_add(&us->pend, msg, len);
	/* After an error no other PDU may follow. */
	if (ret != MPA_FAULT_IN && us->phase == MPA_USOCK_FRAMED)
		mpa_tuf_settle(us, more && !ret);
	return ret ?: len;
}
