/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the ULP: changes of a stream's state, startup frames, the
 * result of startup, framings without one, FPDUs behind a gap, failures and
 * counters.
 *
 * Every event identifies the stream by its socket (skaddr, as in the core's TCP
 * events, so that one key works for all of them), by its number in the
 * namespace (as in mpactl), and by its addresses and ports; IPv4 addresses are
 * mapped.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mpa

#if !defined(MPA_ULP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MPA_ULP_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>

#include "conn.h"
#include "tuf_state.h"

TRACE_DEFINE_ENUM(MPA_CONN_ATTACHED);
TRACE_DEFINE_ENUM(MPA_CONN_WAIT_REPLY);
TRACE_DEFINE_ENUM(MPA_CONN_WAIT_REQUEST);
TRACE_DEFINE_ENUM(MPA_CONN_REQUEST_SEEN);
TRACE_DEFINE_ENUM(MPA_CONN_OPERATIONAL);
TRACE_DEFINE_ENUM(MPA_CONN_RX_ENDED);
TRACE_DEFINE_ENUM(MPA_CONN_EXITED);
TRACE_DEFINE_ENUM(MPA_CONN_CLOSED);
TRACE_DEFINE_ENUM(MPA_CONN_REPLY_SEEN);

#define mpa_show_state(state)						\
	__print_symbolic(state,						\
			 { MPA_CONN_ATTACHED, "attached" },		\
			 { MPA_CONN_WAIT_REPLY, "wait-reply" },		\
			 { MPA_CONN_WAIT_REQUEST, "wait-request" },	\
			 { MPA_CONN_REQUEST_SEEN, "request-seen" },	\
			 { MPA_CONN_OPERATIONAL, "operational" },	\
			 { MPA_CONN_RX_ENDED, "rx-ended" },		\
			 { MPA_CONN_EXITED, "exited" },			\
			 { MPA_CONN_CLOSED, "closed" },			\
			 { MPA_CONN_REPLY_SEEN, "reply-seen" })

TRACE_DEFINE_ENUM(MPA_ERROR_NONE);
TRACE_DEFINE_ENUM(MPA_ERROR_CLOSED);
TRACE_DEFINE_ENUM(MPA_ERROR_CRC);
TRACE_DEFINE_ENUM(MPA_ERROR_MARKER);
TRACE_DEFINE_ENUM(MPA_ERROR_STARTUP);

#define mpa_show_error(code)						\
	__print_symbolic(code,						\
			 { MPA_ERROR_NONE, "none" },			\
			 { MPA_ERROR_CLOSED, "closed" },		\
			 { MPA_ERROR_CRC, "crc" },			\
			 { MPA_ERROR_MARKER, "marker" },		\
			 { MPA_ERROR_STARTUP, "startup" })

#define MPA_TRACE_STREAM_ASSIGN(conn)					\
	do {								\
		const struct mpa_conn *stream = (conn);			\
		const struct sock *sk = stream->sk;			\
									\
		__entry->skaddr = sk;					\
		__entry->id = stream->id;				\
		mpa_trace_addresses(sk, __entry->laddr, __entry->raddr);	\
		__entry->lport = inet_sk(sk)->inet_num;			\
		__entry->rport = ntohs(inet_sk(sk)->inet_dport);	\
	} while (0)

#define MPA_TRACE_STREAM_FORMAT						\
	"skaddr=%p id=%u laddr=%pI6c lport=%u raddr=%pI6c rport=%u"

#ifndef MPA_ULP_TRACE_ADDRESSES
#define MPA_ULP_TRACE_ADDRESSES
/* 16 bytes each. The lock is not needed, because a stream is never rebound. */
static inline void mpa_trace_addresses(const struct sock *sk, u8 *local,
				       u8 *remote)
{
	struct in6_addr l, r;

	ipv6_addr_set_v4mapped(sk->sk_rcv_saddr, &l);
	ipv6_addr_set_v4mapped(sk->sk_daddr, &r);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		l = sk->sk_v6_rcv_saddr;
		r = sk->sk_v6_daddr;
	}
#endif
	memcpy(local, &l, sizeof(l));
	memcpy(remote, &r, sizeof(r));
}
#endif

/* A stream changes its state; or an illegal change was refused. */
TRACE_EVENT(mpa_state,
	    TP_PROTO(const struct mpa_conn *conn, enum mpa_conn_state to,
		     bool legal),
	    TP_ARGS(conn, to, legal),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, id)
			     __array(u8, laddr, 16)
			     __array(u8, raddr, 16)
			     __field(u16, lport)
			     __field(u16, rport)
			     __field(int, from)
			     __field(int, to)
			     __field(bool, legal)),
	    TP_fast_assign(MPA_TRACE_STREAM_ASSIGN(conn);
			   __entry->from = conn->state;
			   __entry->to = to;
			   __entry->legal = legal;),
	    TP_printk(MPA_TRACE_STREAM_FORMAT " from=%s to=%s%s",
		      __entry->skaddr, __entry->id, __entry->laddr,
		      __entry->lport, __entry->raddr, __entry->rport,
		      mpa_show_state(__entry->from), mpa_show_state(__entry->to),
		      __entry->legal ? "" : " refused"));

/* A startup frame was sent, or received complete and well-formed. */
TRACE_EVENT(mpa_frame,
	    TP_PROTO(const struct mpa_conn *conn, bool sent,
		     const struct mpa_frame *f),
	    TP_ARGS(conn, sent, f),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, id)
			     __array(u8, laddr, 16)
			     __array(u8, raddr, 16)
			     __field(u16, lport)
			     __field(u16, rport)
			     __field(bool, sent)
			     __field(bool, start_key)
			     __field(bool, reply)
			     __field(bool, markers)
			     __field(bool, crc)
			     __field(bool, reject)
			     __field(bool, enhanced)
			     __field(bool, p2p)
			     __field(u8, rev)
			     __field(u8, rtr)
			     __field(u16, ird)
			     __field(u16, ord)
			     __field(u16, pd_len)),
	    TP_fast_assign(MPA_TRACE_STREAM_ASSIGN(conn);
			   __entry->sent = sent;
			   __entry->start_key = f->start_key;
			   __entry->reply = f->reply;
			   __entry->markers = f->markers;
			   __entry->crc = f->crc;
			   __entry->reject = f->reject;
			   __entry->enhanced = f->enhanced;
			   __entry->p2p = f->p2p;
			   __entry->rev = f->rev;
			   __entry->rtr = f->rtr;
			   __entry->ird = f->ird;
			   __entry->ord = f->ord;
			   __entry->pd_len = f->pd_len;),
	    TP_printk(MPA_TRACE_STREAM_FORMAT " %s %s rev=%u M=%d C=%d R=%d S=%d A=%d rtr=%#x ird=%u ord=%u pd_len=%u",
		      __entry->skaddr, __entry->id, __entry->laddr,
		      __entry->lport, __entry->raddr, __entry->rport,
		      __entry->sent ? "sent" : "received",
		      __entry->start_key ? "start-key" :
		      __entry->reply ? "reply" : "request", __entry->rev,
		      __entry->markers, __entry->crc, __entry->reject,
		      __entry->enhanced, __entry->p2p, __entry->rtr,
		      __entry->ird, __entry->ord, __entry->pd_len));

/* The startup exchange has led to full operation with this result. */
TRACE_EVENT(mpa_agreed,
	    TP_PROTO(const struct mpa_conn *conn, const struct mpa_result *res),
	    TP_ARGS(conn, res),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, id)
			     __array(u8, laddr, 16)
			     __array(u8, raddr, 16)
			     __field(u16, lport)
			     __field(u16, rport)
			     __field(bool, initiator)
			     __field(bool, start_key)
			     __field(bool, enhanced)
			     __field(bool, tx_markers)
			     __field(bool, rx_markers)
			     __field(bool, crc)
			     __field(u8, rev)
			     __field(u8, rtr)
			     __field(u16, ird)
			     __field(u16, ord)),
	    TP_fast_assign(MPA_TRACE_STREAM_ASSIGN(conn);
			   __entry->initiator = res->initiator;
			   __entry->start_key = res->start_key;
			   __entry->enhanced = res->enhanced;
			   __entry->tx_markers = res->tx_markers;
			   __entry->rx_markers = res->rx_markers;
			   __entry->crc = res->crc;
			   __entry->rev = res->rev;
			   __entry->rtr = res->rtr;
			   __entry->ird = res->ird;
			   __entry->ord = res->ord;),
	    TP_printk(MPA_TRACE_STREAM_FORMAT " %s rev=%u start_key=%d enhanced=%d crc=%d tx_markers=%d rx_markers=%d rtr=%#x ird=%u ord=%u",
		      __entry->skaddr, __entry->id, __entry->laddr,
		      __entry->lport, __entry->raddr, __entry->rport,
		      __entry->initiator ? "initiator" : "responder",
		      __entry->rev, __entry->start_key, __entry->enhanced,
		      __entry->crc, __entry->tx_markers, __entry->rx_markers, __entry->rtr,
		      __entry->ird, __entry->ord));

#define mpa_show_framing(mode)						\
	__print_symbolic(mode,						\
			 { 0, "plain" },				\
			 { TCP_FRAMING_SEND_ATOMIC, "atomic" },		\
			 { TCP_FRAMING_SEND_ALIGN, "align" },		\
			 { TCP_FRAMING_SEND_MARKERS, "markers" },	\
			 { TCP_FRAMING_RECV_ALIGN, "align" },		\
			 { TCP_FRAMING_RECV_MARKERS, "markers" })

/*
 * A direction is framed from here on, or the EMSS has changed.
 * @emss: 0 if nothing that is framed is sent
 */
TRACE_EVENT(mpa_framing,
	    TP_PROTO(const struct mpa_conn *conn, const struct mpa_tuf *tuf),
	    TP_ARGS(conn, tuf),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, id)
			     __array(u8, laddr, 16)
			     __array(u8, raddr, 16)
			     __field(u16, lport)
			     __field(u16, rport)
			     __field(u32, send)
			     __field(u32, recv)
			     __field(u32, send_interval)
			     __field(u32, recv_interval)
			     __field(u32, emss)),
	    TP_fast_assign(MPA_TRACE_STREAM_ASSIGN(conn);
			   __entry->send = tuf->send;
			   __entry->recv = conn->tuf ? tuf->recv : 0;
			   __entry->send_interval = tuf->marks.interval;
			   __entry->recv_interval = tuf->recv_interval;
			   __entry->emss = tuf->emss;),
	    TP_printk(MPA_TRACE_STREAM_FORMAT " send=%s recv=%s send_interval=%u recv_interval=%u emss=%u",
		      __entry->skaddr, __entry->id, __entry->laddr,
		      __entry->lport, __entry->raddr, __entry->rport,
		      mpa_show_framing(__entry->send),
		      mpa_show_framing(__entry->recv), __entry->send_interval,
		      __entry->recv_interval, __entry->emss));

/* Receiving or startup of a stream has ended. */
TRACE_EVENT(mpa_failure,
	    TP_PROTO(const struct mpa_conn *conn, enum mpa_error code, int err),
	    TP_ARGS(conn, code, err),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, id)
			     __array(u8, laddr, 16)
			     __array(u8, raddr, 16)
			     __field(u16, lport)
			     __field(u16, rport)
			     __field(int, state)
			     __field(int, code)
			     __field(int, err)),
	    TP_fast_assign(MPA_TRACE_STREAM_ASSIGN(conn);
			   __entry->state = conn->state;
			   __entry->code = code;
			   __entry->err = err;),
	    TP_printk(MPA_TRACE_STREAM_FORMAT " state=%s code=%s err=%d",
		      __entry->skaddr, __entry->id, __entry->laddr,
		      __entry->lport, __entry->raddr, __entry->rport,
		      mpa_show_state(__entry->state),
		      mpa_show_error(__entry->code), __entry->err));

/* An accepted ULPDU is longer than a segment, which has become shorter. */
TRACE_EVENT(mpa_tx_widen,
	    TP_PROTO(const struct mpa_conn *conn, u32 ulpdu_len),
	    TP_ARGS(conn, ulpdu_len),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, id)
			     __array(u8, laddr, 16)
			     __array(u8, raddr, 16)
			     __field(u16, lport)
			     __field(u16, rport)
			     __field(u32, ulpdu_len)
			     __field(u32, seg_len)),
	    TP_fast_assign(MPA_TRACE_STREAM_ASSIGN(conn);
			   __entry->ulpdu_len = ulpdu_len;
			   __entry->seg_len = conn->plan.seg_len;),
	    TP_printk(MPA_TRACE_STREAM_FORMAT " ulpdu_len=%u seg_len=%u",
		      __entry->skaddr, __entry->id, __entry->laddr,
		      __entry->lport, __entry->raddr, __entry->rport,
		      __entry->ulpdu_len, __entry->seg_len));

/*
 * Bytes of the stream are missing, and the owner was passed an FPDU behind them.
 * @seq: TCP sequence number behind the FPDU
 */
TRACE_EVENT(mpa_early,
	    TP_PROTO(const struct mpa_conn *conn, u32 seq, u32 ulpdu_len,
		     bool more),
	    TP_ARGS(conn, seq, ulpdu_len, more),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, id)
			     __array(u8, laddr, 16)
			     __array(u8, raddr, 16)
			     __field(u16, lport)
			     __field(u16, rport)
			     __field(u32, seq)
			     __field(u32, behind)
			     __field(u32, ulpdu_len)
			     __field(bool, more)),
	    TP_fast_assign(MPA_TRACE_STREAM_ASSIGN(conn);
			   __entry->seq = seq;
			   __entry->behind = seq - tcp_sk(conn->sk)->rcv_nxt;
			   __entry->ulpdu_len = ulpdu_len;
			   __entry->more = more;),
	    TP_printk(MPA_TRACE_STREAM_FORMAT " seq=%u behind=%u ulpdu_len=%u%s",
		      __entry->skaddr, __entry->id, __entry->laddr,
		      __entry->lport, __entry->raddr, __entry->rport,
		      __entry->seq, __entry->behind, __entry->ulpdu_len,
		      __entry->more ? "" : " no more"));

/* The last event of a stream: it is detached, with these counters. */
TRACE_EVENT(mpa_detach,
	    TP_PROTO(const struct mpa_conn *conn),
	    TP_ARGS(conn),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, id)
			     __array(u8, laddr, 16)
			     __array(u8, raddr, 16)
			     __field(u16, lport)
			     __field(u16, rport)
			     __field(int, state)
			     __field(u64, tx_fpdus)
			     __field(u64, tx_bytes)
			     __field(u64, rx_fpdus)
			     __field(u64, rx_bytes)),
	    TP_fast_assign(MPA_TRACE_STREAM_ASSIGN(conn);
			   __entry->state = conn->state;
			   __entry->tx_fpdus = conn->stats.tx_fpdus;
			   __entry->tx_bytes = conn->stats.tx_bytes;
			   __entry->rx_fpdus = conn->stats.rx_fpdus;
			   __entry->rx_bytes = conn->stats.rx_bytes;),
	    TP_printk(MPA_TRACE_STREAM_FORMAT " state=%s tx_fpdus=%llu tx_bytes=%llu rx_fpdus=%llu rx_bytes=%llu",
		      __entry->skaddr, __entry->id, __entry->laddr,
		      __entry->lport, __entry->raddr, __entry->rport,
		      mpa_show_state(__entry->state),
		      __entry->tx_fpdus, __entry->tx_bytes, __entry->rx_fpdus,
		      __entry->rx_bytes));

#endif /* MPA_ULP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ulp
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
