/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The framing protocol of draft-ietf-tsvwg-tcp-ulp-frame-00 ("TUF") on the socket of
 * an application. Interface: uapi/linux/tcp_framing.h.
 *
 * Each direction is framed by itself, without an exchange with the peer. A direction
 * that is not framed is left to TCP.
 */
#ifndef MPA_ULP_TUF_STATE_H
#define MPA_ULP_TUF_STATE_H

#include <linux/tcp_framing.h>
#include <linux/types.h>

#include "framing/tuf.h"

enum {
	MPA_TUF_SEND_MODES	= TCP_FRAMING_SEND_ATOMIC |
				  TCP_FRAMING_SEND_ALIGN |
				  TCP_FRAMING_SEND_MARKERS,
	MPA_TUF_RECV_MODES	= TCP_FRAMING_RECV_ALIGN |
				  TCP_FRAMING_RECV_MARKERS,
};

/**
 * struct mpa_tuf_cut - a framing PDU that is sent in pieces
 * @buf: the framing PDU; NULL: there is none
 * @len: its bytes
 * @off: bytes of it that were passed to TCP
 */
struct mpa_tuf_cut {
	u8 *buf;
	u32 len;
	u32 off;
};

/**
 * struct mpa_tuf - TUF on a socket
 * @mode: %TCP_FRAMING_MODE; on a listener, for accepted sockets. Read without the lock
 *	by poll()
 * @send: the mode of sending that is in force, a TCP_FRAMING_SEND_*; 0: none
 * @recv: likewise, a TCP_FRAMING_RECV_*
 * @no_pack: %TCP_FRAMING_PACK_PDUS is 0
 * @emergency: %TCP_FRAMING_EMERGENCY
 * @notice: %TCP_FRAMING_EMSS_NOTICE
 * @nodelay: the application has set TCP_NODELAY: small PDUs do not wait for ACKs
 * @keyed: @key is valid
 * @peer_keyed: @peer_key is valid
 * @recv_ended: receiving has ended: calls return &mpa_usock.err. Read without the lock by
 *	poll()
 * @emss_changed: since the last %TCP_SEND_EMSS. Read without the lock by poll()
 * @emss_risen: since the last call that sends
 * @key: key of this side
 * @peer_key: key of the peer
 * @emss: bytes of a TCP segment when they were looked at last; 0 before the socket
 *	is connected
 * @marks: sending: position of the stream with markers
 * @recv_interval: %TCP_FRAMING_RECV_INTERVAL
 * @cut: framing PDU that is sent in pieces
 * @reader: receiving
 * @tx_pdus: see &struct tcp_framing_info, like the next three
 * @tx_frames: likewise
 * @tx_pieces: likewise
 * @emss_changes: likewise
 *
 * Under the socket's lock.
 */
struct mpa_tuf {
	u32 mode;
	u32 send;
	u32 recv;
	bool no_pack;
	bool emergency;
	bool notice;
	bool nodelay;
	bool keyed;
	bool peer_keyed;
	bool recv_ended;
	bool emss_changed;
	bool emss_risen;
	u8 key[MPA_TUF_KEY_LEN];
	u8 peer_key[MPA_TUF_KEY_LEN];
	u32 emss;
	struct mpa_tuf_marks marks;
	u32 recv_interval;
	struct mpa_tuf_cut cut;
	struct mpa_tuf_reader reader;
	u64 tx_pdus;
	u64 tx_frames;
	u64 tx_pieces;
	u64 emss_changes;
};

#endif /* MPA_ULP_TUF_STATE_H */
