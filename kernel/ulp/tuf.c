// SPDX-License-Identifier: GPL-2.0-only
/*
 * TUF on the socket of an application: its modes, and when they begin.
 */
#include <linux/bitops.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "attach.h"
#include "compat/net.h"
#include "sock.h"
#include "trace.h"
#include "tuf.h"
#include "tuf_rx.h"
#include "tuf_tx.h"
#include "usock.h"

/**
 * mpa_tuf_init - the state of a socket without TUF
 * @tuf: zeroed
 */
void mpa_tuf_init(struct mpa_tuf *tuf)
{
	tuf->marks.interval = MPA_TUF_INTERVAL_DEFAULT;
	tuf->recv_interval = MPA_TUF_INTERVAL_DEFAULT;
}

/**
 * mpa_tuf_make_key - make the key of this side, if there is none yet
 * @tuf: of a socket that is locked; wait_for_random_bytes() has returned once
 */
void mpa_tuf_make_key(struct mpa_tuf *tuf)
{
	if (tuf->keyed)
		return;
	get_random_bytes(tuf->key, sizeof(tuf->key));
	tuf->keyed = true;
}

/* Whether the administrator permits the modes. */
static bool tuf_is_permitted(const struct mpa_config *cfg, u32 mode)
{
	return !mode || cfg->v[MPA_A_CONFIG_FRAMING];
}

/**
 * mpa_tuf_inherit - an accepted socket gets the options of its listener
 * @tuf: of the accepted socket
 * @from: of the listener, locked
 * @cfg: settings in force for the accepted socket
 *
 * It gets a key of its own when it needs one.
 *
 * Return: 0; -EOPNOTSUPP: the listener has a mode, and the settings forbid it by
 * now. As an ordinary stream the application would misunderstand it.
 */
int mpa_tuf_inherit(struct mpa_tuf *tuf, const struct mpa_tuf *from,
		    const struct mpa_config *cfg)
{
	if (!tuf_is_permitted(cfg, from->mode))
		return -EOPNOTSUPP;
	WRITE_ONCE(tuf->mode, from->mode);
	tuf->no_pack = from->no_pack;
	tuf->emergency = from->emergency;
	tuf->notice = from->notice;
	tuf->marks.interval = from->marks.interval;
	tuf->recv_interval = from->recv_interval;
	tuf->peer_keyed = from->peer_keyed;
	memcpy(tuf->peer_key, from->peer_key, sizeof(tuf->peer_key));
	return 0;
}

/**
 * mpa_tuf_free - free what sending has left
 * @tuf: of a socket that is detached
 */
void mpa_tuf_free(struct mpa_tuf *tuf)
{
	kvfree(tuf->cut.buf);
}

/* Whether a direction may have the modes @to, with @is in force. */
static int tuf_check_direction(const struct mpa_usock *us,
			       enum mpa_usock_dir dir, u32 to, u32 is)
{
	if (to & (to - 1))
		return -EINVAL;
	if (is)
		return to == is ? 0 : -EBUSY;
	/* A call that is inside TCP would not see the change. */
	return to && us->nr_plain[dir] ? -EBUSY : 0;
}

static int tuf_check_mode(const struct mpa_usock *us, u32 mode)
{
	const struct mpa_tuf *tuf = &us->tuf;
	int ret;

	mpa_assert_locked(us->conn);
	if (mode & ~(MPA_TUF_SEND_MODES | MPA_TUF_RECV_MODES))
		return -EINVAL;
	if (!tuf_is_permitted(&us->cfg, mode))
		return -EOPNOTSUPP;
	ret = tuf_check_direction(us, MPA_USOCK_SEND, mode & MPA_TUF_SEND_MODES,
				  tuf->send);
	if (!ret)
		ret = tuf_check_direction(us, MPA_USOCK_RECV,
					  mode & MPA_TUF_RECV_MODES, tuf->recv);
	if (ret)
		return ret;
	switch (us->phase) {
	case MPA_USOCK_LISTENER:
		return us->child_start ? -EBUSY : 0;
	case MPA_USOCK_UNCONNECTED:
	case MPA_USOCK_STREAMING:
	case MPA_USOCK_FRAMED:
		return tcp_sk(us->conn->sk)->repair ? -EBUSY : 0;
	default:
		return -EBUSY;
	}
}

/**
 * mpa_tuf_set_mode - set the modes of both directions
 * @us: the socket, not locked
 * @mode: as for %TCP_FRAMING_MODE
 *
 * They are in force at once, or when the socket is connected.
 *
 * Return: 0; -EINVAL a bit that has no meaning, or two modes for a direction;
 * -EOPNOTSUPP the setting framing forbids it; -EBUSY MPA was started, the direction is
 * framed already, or another thread is within a call of that direction; -ERESTARTSYS.
 */
int mpa_tuf_set_mode(struct mpa_usock *us, u32 mode)
{
	struct sock *sk = us->conn->sk;
	/* Section 5: the generator must be a good one, also for accepted sockets. */
	int ret = wait_for_random_bytes();

	if (ret)
		return ret;
	lock_sock(sk);
	ret = tuf_check_mode(us, mode);
	if (!ret) {
		WRITE_ONCE(us->tuf.mode, mode);
		mpa_tuf_apply(us);
	}
	release_sock(sk);
	return ret;
}

/**
 * mpa_tuf_tracks_nodelay - whether TUF handles TCP_NODELAY
 * @us: the socket
 *
 * Where each segment is a framing PDU, TCP must not hold it back.
 *
 * Return: true if so.
 */
bool mpa_tuf_tracks_nodelay(const struct mpa_usock *us)
{
	return READ_ONCE(us->tuf.send) &
	       (TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_SEND_ATOMIC);
}

static void tuf_begin_send(struct mpa_usock *us, u32 mode)
{
	struct mpa_conn *conn = us->conn;
	struct tcp_sock *tp = tcp_sk(conn->sk);

	us->tuf.nodelay = tp->nonagle & TCP_NAGLE_OFF;
	mpa_tuf_make_key(&us->tuf);
	conn->tx_open = true;
	conn->tx_stream = mode == TCP_FRAMING_SEND_MARKERS;
	WRITE_ONCE(us->tuf.send, mode);
	mpa_tuf_look_at_emss(us);
	trace_mpa_framing(conn, &us->tuf);
	if (!mpa_tuf_tracks_nodelay(us))
		return;
	tp->nonagle |= TCP_NAGLE_OFF;
	/*
	 * Bytes of the stream are in segments of their own, also those that TCP
	 * sends again.
	 */
	mpa_tcp_end_record(conn->sk);
}

static void tuf_begin_recv(struct mpa_usock *us)
{
	struct mpa_tuf *tuf = &us->tuf;

	if (tuf->recv == TCP_FRAMING_RECV_ALIGN)
		mpa_tuf_reader_align(&tuf->reader, tuf->peer_key);
	else
		mpa_tuf_reader_markers(&tuf->reader, tuf->recv_interval);
	/* With more, TCP would not report a shorter unit. */
	WRITE_ONCE(us->conn->sk->sk_rcvlowat, 1);
	mpa_tuf_begin_recv(us->conn, &tuf->reader);
	trace_mpa_framing(us->conn, tuf);
	mpa_conn_run(us->conn);
}

/**
 * mpa_tuf_apply - put in force what was set, as far as that is possible
 * @us: the socket, locked
 *
 * Receiving in alignment mode waits for the key of the peer: until then everything
 * stays in TCP's queue.
 */
void mpa_tuf_apply(struct mpa_usock *us)
{
	struct mpa_tuf *tuf = &us->tuf;
	struct sock *sk = us->conn->sk;
	u32 send = tuf->mode & MPA_TUF_SEND_MODES;
	u32 recv = tuf->mode & MPA_TUF_RECV_MODES;

	mpa_assert_locked(us->conn);
	if (us->phase == MPA_USOCK_STREAMING && tuf->mode) {
		mpa_sock_tune(sk, &us->conn->tuned);
		/* These are for a direction, which may not be framed. */
		if (!us->conn->tuned.nodelay)
			tcp_sk(sk)->nonagle &= ~TCP_NAGLE_OFF;
		WRITE_ONCE(sk->sk_rcvlowat, us->conn->tuned.rcvlowat);
		mpa_usock_set_phase(us, MPA_USOCK_FRAMED);
	}
	if (us->phase != MPA_USOCK_FRAMED)
		return;
	if (send && !tuf->send)
		tuf_begin_send(us, send);
	if (recv && !tuf->recv) {
		mpa_sock_keep_urgent(sk);
		WRITE_ONCE(tuf->recv, recv);
	}
	if (recv && !us->conn->tuf &&
	    (recv == TCP_FRAMING_RECV_MARKERS || tuf->peer_keyed))
		tuf_begin_recv(us);
	/* Calls that wait look again. */
	mpa_usock_wake(us);
}

/**
 * mpa_tuf_set_recv_interval - set %TCP_FRAMING_RECV_INTERVAL
 * @us: the socket, locked
 * @interval: bytes, valid
 *
 * The unit that was read ahead is read again.
 */
void mpa_tuf_set_recv_interval(struct mpa_usock *us, u32 interval)
{
	us->tuf.recv_interval = interval;
	if (!us->conn->tuf || !us->conn->tuf->markers)
		return;
	mpa_tuf_reread(us->conn, interval);
	mpa_conn_run(us->conn);
}

/**
 * mpa_tuf_ended - receiving has ended
 * @us: the socket, locked
 * @code: enum mpa_error
 * @err: negative error that calls return from now on; 0 for an orderly end
 *
 * Sending may continue. Only the first call has an effect.
 */
void mpa_tuf_ended(struct mpa_usock *us, u8 code, int err)
{
	if (us->tuf.recv_ended)
		return;
	us->code = code;
	us->err = err;
	/* poll() reads it without the lock. */
	WRITE_ONCE(us->tuf.recv_ended, true);
	mpa_usock_wake(us);
}

/**
 * mpa_tuf_fill_info - %TCP_FRAMING_INFO
 * @us: the socket; without its lock the numbers may be inconsistent
 * @info: set
 */
void mpa_tuf_fill_info(const struct mpa_usock *us,
		       struct tcp_framing_info *info)
{
	/* Race with inet_diag, which only displays it. */
	const struct mpa_tuf tuf = data_race(us->tuf);
	/* Likewise. */
	const int err = data_race(us->err);
	struct mpa_conn_stats st;

	mpa_conn_stats(us->conn, &st);
	*info = (struct tcp_framing_info){
		.mode = tuf.mode,
		.flags = (tuf.no_pack ? 0 : TCP_FRAMING_F_PACK) |
			 (tuf.emergency ? TCP_FRAMING_F_EMERGENCY : 0) |
			 (tuf.peer_keyed ? TCP_FRAMING_F_RECV_KEY : 0) |
			 (tuf.recv_ended && err ?
			  TCP_FRAMING_F_RECV_ENDED : 0),
		.emss = tuf.send == TCP_FRAMING_SEND_ALIGN ?
			mpa_tuf_align_max(tuf.emss, false) : tuf.emss,
		.send_interval = tuf.marks.interval,
		.recv_interval = tuf.recv_interval,
		.tx_pdus = tuf.tx_pdus,
		.tx_frames = tuf.tx_frames,
		.tx_pieces = tuf.tx_pieces,
		.emss_changes = tuf.emss_changes,
		.rx_frames = tuf.recv ? st.rx_fpdus : 0,
		.rx_aligned = st.rx_aligned,
		.rx_unaligned = st.rx_unaligned,
		.rx_parted = st.rx_parted,
	};
}
