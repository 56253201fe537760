/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the ULP: state changes, startup frames, verdicts. A stream
 * is named by its local and remote port.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mpa

#if !defined(MPA_ULP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MPA_ULP_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>

#include "conn.h"

TRACE_DEFINE_ENUM(MPA_CONN_ATTACHED);
TRACE_DEFINE_ENUM(MPA_CONN_WAIT_REPLY);
TRACE_DEFINE_ENUM(MPA_CONN_WAIT_REQUEST);
TRACE_DEFINE_ENUM(MPA_CONN_REQUEST_SEEN);
TRACE_DEFINE_ENUM(MPA_CONN_OPERATIONAL);
TRACE_DEFINE_ENUM(MPA_CONN_RX_ENDED);
TRACE_DEFINE_ENUM(MPA_CONN_EXITED);
TRACE_DEFINE_ENUM(MPA_CONN_CLOSED);

#define mpa_show_state(state)						\
	__print_symbolic(state,						\
			 { MPA_CONN_ATTACHED, "attached" },		\
			 { MPA_CONN_WAIT_REPLY, "wait-reply" },		\
			 { MPA_CONN_WAIT_REQUEST, "wait-request" },	\
			 { MPA_CONN_REQUEST_SEEN, "request-seen" },	\
			 { MPA_CONN_OPERATIONAL, "operational" },	\
			 { MPA_CONN_RX_ENDED, "rx-ended" },		\
			 { MPA_CONN_EXITED, "exited" },			\
			 { MPA_CONN_CLOSED, "closed" })

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

/* A stream moves to another state, or was refused that. */
TRACE_EVENT(mpa_state,
	TP_PROTO(const struct mpa_conn *conn, enum mpa_conn_state to,
		 bool legal),
	TP_ARGS(conn, to, legal),
	TP_STRUCT__entry(
		__field(u16, lport)
		__field(u16, rport)
		__field(int, from)
		__field(int, to)
		__field(bool, legal)
	),
	TP_fast_assign(
		__entry->lport = inet_sk(conn->sk)->inet_num;
		__entry->rport = ntohs(inet_sk(conn->sk)->inet_dport);
		__entry->from = conn->state;
		__entry->to = to;
		__entry->legal = legal;
	),
	TP_printk("lport=%u rport=%u from=%s to=%s%s", __entry->lport,
		  __entry->rport, mpa_show_state(__entry->from),
		  mpa_show_state(__entry->to),
		  __entry->legal ? "" : " refused")
);

/* A startup frame was sent or, whole and well formed, received. */
TRACE_EVENT(mpa_frame,
	TP_PROTO(const struct mpa_conn *conn, bool sent,
		 const struct mpa_frame *f),
	TP_ARGS(conn, sent, f),
	TP_STRUCT__entry(
		__field(u16, lport)
		__field(u16, rport)
		__field(bool, sent)
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
		__field(u16, pd_len)
	),
	TP_fast_assign(
		__entry->lport = inet_sk(conn->sk)->inet_num;
		__entry->rport = ntohs(inet_sk(conn->sk)->inet_dport);
		__entry->sent = sent;
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
		__entry->pd_len = f->pd_len;
	),
	TP_printk("lport=%u rport=%u %s %s rev=%u M=%d C=%d R=%d S=%d A=%d rtr=%#x ird=%u ord=%u pd_len=%u",
		  __entry->lport, __entry->rport,
		  __entry->sent ? "sent" : "received",
		  __entry->reply ? "reply" : "request", __entry->rev,
		  __entry->markers, __entry->crc, __entry->reject,
		  __entry->enhanced, __entry->p2p, __entry->rtr,
		  __entry->ird, __entry->ord, __entry->pd_len)
);

/* What a stream receives, or its startup, has come to an end. */
TRACE_EVENT(mpa_verdict,
	TP_PROTO(const struct mpa_conn *conn, enum mpa_error code, int err),
	TP_ARGS(conn, code, err),
	TP_STRUCT__entry(
		__field(u16, lport)
		__field(u16, rport)
		__field(int, state)
		__field(int, code)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->lport = inet_sk(conn->sk)->inet_num;
		__entry->rport = ntohs(inet_sk(conn->sk)->inet_dport);
		__entry->state = conn->state;
		__entry->code = code;
		__entry->err = err;
	),
	TP_printk("lport=%u rport=%u state=%s code=%s err=%d", __entry->lport,
		  __entry->rport, mpa_show_state(__entry->state),
		  mpa_show_error(__entry->code), __entry->err)
);

#endif /* MPA_ULP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ulp
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
