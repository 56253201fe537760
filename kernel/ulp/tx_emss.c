// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many bytes of a stream fit in a TCP segment: EMSS and MULPDU (RFC 5044
 * section 4.5).
 */
#include <net/tcp.h>

#include "compat/net.h"
#include "tx_emss.h"

/* Bytes that tcp_sendmsg() puts in a packet before it begins a new one. */
static u32 tx_packet_size(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 mss = tp->mss_cache;
	u32 segs;

	if (!sk_can_gso(sk) || !mss)
		return mss;
	segs = tcp_bound_to_half_wnd(tp, sk->sk_gso_max_size) / mss;
	return max_t(u32, min_t(u32, segs, sk->sk_gso_max_segs), 1) * mss;
}

/**
 * mpa_tx_renew_route - let TCP know its route and the size of its segments
 * @sk: TCP socket, locked
 *
 * When a route is replaced, TCP has the MTU of a device that stands in for that of the
 * old one: 68 bytes, or 1,280 with IPv6. It looks for the new one with its next segment,
 * and computes the size of segments again with the one after that; what is sent until
 * then would be divided. Any context.
 */
void mpa_tx_renew_route(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct dst_entry *dst = __sk_dst_get(sk);

	if (likely((!dst || READ_ONCE(dst->obsolete) <= 0) &&
		   icsk->icsk_pmtu_cookie > IPV6_MIN_MTU))
		return;
	icsk->icsk_af_ops->rebuild_header(sk);
	dst = __sk_dst_get(sk);
	if (dst && dst_mtu(dst) != icsk->icsk_pmtu_cookie)
		icsk->icsk_sync_mss(sk, dst_mtu(dst));
}

/**
 * mpa_tx_view_socket - collect what mpa_seg_plan() needs to know about a socket
 * @conn: the stream, locked
 * @v: set to the state of its socket
 */
void mpa_tx_view_socket(const struct mpa_conn *conn, struct mpa_seg_view *v)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	bool more = mpa_tcp_adds_options(conn->sk);
	int options = tp->tcp_header_len - sizeof(struct tcphdr);
	s32 window = tcp_wnd_end(tp) - tp->write_seq;
	int cwnd = tcp_snd_cwnd(tp) - tcp_packets_in_flight(tp);

	*v = (struct mpa_seg_view){
		.mss = tp->mss_cache,
		.options_pending = tp->rx_opt.num_sacks || tp->rx_opt.dsack || more,
		.strict = conn->tx.markers,
		.single = conn->single,
		.lone = conn->lone,
		.packet = tx_packet_size(conn->sk),
		.unsent = tp->write_seq - tp->snd_nxt,
		.window = max(window, 0),
		.cwnd = max(cwnd, 0),
	};
	if ((tcp_is_sack(tp) || more) && options < MAX_TCP_OPTION_SPACE)
		v->option_room = MAX_TCP_OPTION_SPACE - options;
}

/**
 * mpa_tx_emss - bytes of the stream that fit in a segment
 * @conn: the stream, locked
 *
 * Return: EMSS (RFC 5044 section 4.5), with room for options of variable size.
 */
u32 mpa_tx_emss(struct mpa_conn *conn)
{
	struct mpa_seg_view view;
	struct mpa_seg_plan plan;

	mpa_assert_locked(conn);
	mpa_tx_view_socket(conn, &view);
	view.options_pending = true;
	mpa_seg_plan(&view, &plan);
	return plan.seg_len;
}

/**
 * mpa_tx_mulpdu - longest ULPDU that fits in a segment
 * @conn: the stream, locked
 *
 * Depends only on the EMSS, not on what TCP is sending. mpa_tx_room() may
 * return some bytes more if no such options are pending or if fewer Markers
 * than the maximum fall into the segment.
 *
 * Return: MULPDU (RFC 5044 section 4.5), bytes.
 */
u32 mpa_tx_mulpdu(struct mpa_conn *conn)
{
	return mpa_mulpdu(mpa_tx_emss(conn), conn->tx.markers);
}
EXPORT_SYMBOL_NS_GPL(mpa_tx_mulpdu, MPA_NS);
