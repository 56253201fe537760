/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * MPA (Marker PDU Aligned Framing, RFC 5044) on a TCP socket of an application;
 * mpa(7) tells how it is used.
 *
 *	setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3);
 *	setsockopt(fd, SOL_MPA, MPA_SO_START, &role, sizeof(role));
 *
 * Until MPA_SO_START the socket is the ordinary TCP socket it was. After the
 * exchange of the startup frames one send is one ULPDU and one receive is one
 * ULPDU. A connection that was rejected is an ordinary TCP socket again.
 *
 * Structures may grow: options take and return as many bytes as both sides
 * know; what a caller does not give is zero, and what the kernel does not know
 * must be zero (else E2BIG). Bits that are not named here and fields that are
 * reserved must be zero as well (else EINVAL).
 */
#ifndef _UAPI_LINUX_MPA_H
#define _UAPI_LINUX_MPA_H

#include <linux/types.h>

/* Level of the options below; the number of the RFC. */
#define SOL_MPA		5044

/**
 * enum mpa_sock_option - options of level SOL_MPA
 * @MPA_SO_PARAMS: get, set: struct mpa_sock_params; set before the start. Until
 *	it is set, what the administrator's settings say (linux/mpa_netlink.h)
 * @MPA_SO_PRIVATE_DATA: get, set: bytes that the next Request, or a Reply sent
 *	by %MPA_F_AUTO_ACCEPT, carries; 0 .. 512, less 4 with revision 2
 * @MPA_SO_LAST_MESSAGE: get, set: Responder: the last bytes of streaming mode,
 *	0 .. 4096, sent the moment MPA is ready for the Request that answers them
 * @MPA_SO_START: set: enum mpa_sock_role as int. Like connect(2): a blocking
 *	call returns when the exchange is over (Initiator), or when a Request
 *	waits for its answer or was accepted (Responder), or with %MPA_F_REVIEW
 *	when a Reply waits for it (Initiator); a non-blocking one
 *	returns -1 with EINPROGRESS. On a listening socket, Responder only:
 *	sockets accepted from now on start by themselves.
 * @MPA_SO_ACCEPT: set: answer the Request; the value is the private data. With
 *	%MPA_F_REVIEW: go on from the Reply; the value is empty
 * @MPA_SO_REJECT: set: refuse the Request; likewise. With %MPA_F_REVIEW: decline
 *	the Reply; nothing is sent, and the socket is ordinary TCP again
 * @MPA_SO_PEER_DATA: get: private data of the peer's Request or Reply
 * @MPA_SO_INFO: get: struct mpa_sock_info
 * @MPA_SO_MULPDU: get: u32, longest ULPDU that can be sent now, bytes
 * @MPA_SO_PACKING: get, set: int; 1: small ULPDUs wait while earlier ones are
 *	not acknowledged, to leave in one segment with their successors; else 0.
 *	Until it is set, what the administrator's settings say
 * @MPA_SO_STATS: get: struct mpa_sock_stats
 */
enum mpa_sock_option {
	MPA_SO_PARAMS		= 1,
	MPA_SO_PRIVATE_DATA	= 2,
	MPA_SO_LAST_MESSAGE	= 3,
	MPA_SO_START		= 4,
	MPA_SO_ACCEPT		= 5,
	MPA_SO_REJECT		= 6,
	MPA_SO_PEER_DATA	= 7,
	MPA_SO_INFO		= 8,
	MPA_SO_MULPDU		= 9,
	MPA_SO_PACKING		= 10,
	MPA_SO_STATS		= 11,
};

enum mpa_sock_role {
	MPA_ROLE_NONE		= 0,
	MPA_ROLE_INITIATOR	= 1,
	MPA_ROLE_RESPONDER	= 2,
};

/**
 * enum mpa_sock_flag - bits of mpa_sock_params.flags and mpa_sock_info.flags
 * @MPA_F_MARKERS: params: ask the peer for Markers; info: it inserts them
 * @MPA_F_NO_CRC: params: prefer no CRCs, which takes CAP_NET_ADMIN unless the
 *	administrator's settings say so, or the socket's parameters do already
 *	(RFC 5044 section 4.4: by an administrator's request, at both ends);
 *	info: none are in use
 * @MPA_F_PEER_TO_PEER: params: Initiator: ask for peer-to-peer mode (RFC 6581;
 *	revision 2, the application sends the RTR itself); info: it is in use
 * @MPA_F_AUTO_ACCEPT: params: Responder: every Request is accepted at once
 * @MPA_F_PERMISSIVE: params: take up the RDMA Consortium's protocols with a peer
 *	of revision 0 (RFC 5044 appendix C), if @rev is higher and @rev_min 0
 * @MPA_F_TX_MARKERS: info: the peer asked for Markers and gets them
 * @MPA_F_ENHANCED: info: RFC 6581's data was exchanged
 * @MPA_F_REVIEW: params: Initiator: a Reply that accepts waits in
 *	%MPA_STATE_REPLIED for %MPA_SO_ACCEPT or %MPA_SO_REJECT, so that its private
 *	data can be declined (RFC 5044 section 7.1.2 rule 3)
 */
enum mpa_sock_flag {
	MPA_F_MARKERS		= 1 << 0,
	MPA_F_NO_CRC		= 1 << 1,
	MPA_F_PEER_TO_PEER	= 1 << 2,
	MPA_F_AUTO_ACCEPT	= 1 << 3,
	MPA_F_PERMISSIVE	= 1 << 4,
	MPA_F_TX_MARKERS	= 1 << 5,
	MPA_F_ENHANCED		= 1 << 6,
	MPA_F_REVIEW		= 1 << 7,
};

/* mpa_sock_params.rev: Initiator: 1; Responder: all that are known. */
#define MPA_REV_AUTO	0xff

/**
 * struct mpa_sock_params - what this side asks of a connection
 * @flags: MPA_F_* of the first five, and %MPA_F_REVIEW
 * @rev: highest revision to speak: 1 (RFC 5044), 2 (RFC 6581) or %MPA_REV_AUTO;
 *	0: be one of the RDMA Consortium's peers
 * @rtr: revision 2: ways to open the stream in peer-to-peer mode that the
 *	application knows: 1 Send, 2 Write, 4 Read; 0: all
 * @ird: revision 2: Read Requests taken at once; 0 .. 16382
 * @ord: revision 2: Read Requests sent at once; likewise
 * @ird_max: revision 2: to which @ird may be raised in negotiation
 * @timeout_ms: how long the peer may take for its frame, at most 2^31 - 1; 0: as
 *	the settings say, 5000 unless they do
 * @rev_min: lowest revision to speak, at most @rev; 0 is as good as 1, but with
 *	%MPA_F_PERMISSIVE
 * @pad: zero
 *
 * A socket begins with what the administrator's settings for its network
 * namespace say when the protocol is attached; one that is accepted, with what
 * they say for its listener by then, unless %MPA_SO_PARAMS was set there, which
 * it takes over. Setting %MPA_SO_PARAMS replaces all of that. In any case
 * settings bound the Read depths and say how FPDUs are laid into segments.
 */
struct mpa_sock_params {
	__u32 flags;
	__u8 rev;
	__u8 rtr;
	__u16 ird;
	__u16 ord;
	__u16 ird_max;
	__u32 timeout_ms;
	__u8 rev_min;
	__u8 pad[3];
};

/**
 * enum mpa_sock_state - mpa_sock_info.state
 * @MPA_STATE_STREAMING: ordinary TCP: not started yet
 * @MPA_STATE_LISTENING: a listening socket
 * @MPA_STATE_WAIT_REPLY: Initiator: the Request was sent
 * @MPA_STATE_WAIT_REQUEST: Responder: waiting for the Request
 * @MPA_STATE_REQUESTED: Responder: the Request waits for its answer
 * @MPA_STATE_OPERATIONAL: ULPDUs go both ways
 * @MPA_STATE_RECEIVE_ENDED: nothing more is received; sending may go on
 * @MPA_STATE_REJECTED: ordinary TCP again
 * @MPA_STATE_FAILED: the startup exchange came to nothing
 * @MPA_STATE_CLOSED: TCP has ended
 * @MPA_STATE_REPLIED: Initiator with %MPA_F_REVIEW: the Reply waits for an answer
 */
enum mpa_sock_state {
	MPA_STATE_STREAMING	= 0,
	MPA_STATE_LISTENING	= 1,
	MPA_STATE_WAIT_REPLY	= 2,
	MPA_STATE_WAIT_REQUEST	= 3,
	MPA_STATE_REQUESTED	= 4,
	MPA_STATE_OPERATIONAL	= 5,
	MPA_STATE_RECEIVE_ENDED	= 6,
	MPA_STATE_REJECTED	= 7,
	MPA_STATE_FAILED	= 8,
	MPA_STATE_CLOSED	= 9,
	MPA_STATE_REPLIED	= 10,
};

/* mpa_sock_info.error: RFC 5044 section 8 */
enum mpa_sock_error {
	MPA_CODE_NONE		= 0,
	MPA_CODE_TCP		= 1,	/* TCP closed, terminated or lost */
	MPA_CODE_CRC		= 2,	/* CRC of an FPDU is wrong */
	MPA_CODE_MARKER		= 3,	/* Marker and ULPDU_Length disagree */
	MPA_CODE_STARTUP	= 4,	/* invalid or missing startup frame */
};

/**
 * struct mpa_sock_info - what became of a connection
 * @state: enum mpa_sock_state
 * @role: enum mpa_sock_role
 * @rev: revision both speak; valid once there is a result, as are the next
 * @rtr: the RTR agreed on, as in &struct mpa_sock_params
 * @error: enum mpa_sock_error: the first thing that ended receiving
 * @err: the error number receiving ended with; 0: none, or an orderly end
 * @flags: MPA_F_* that are for info
 * @mulpdu: longest ULPDU that can be sent now, bytes; 0 before full operation
 * @ird: our inbound Read depth
 * @ord: our outbound Read depth
 * @peer_ird: the peer's word on its own; 0 unless %MPA_F_ENHANCED
 * @peer_ord: likewise
 * @peer_data_len: bytes of %MPA_SO_PEER_DATA
 * @ddp_version: version of DDP and RDMAP, should they be spoken: 0 with revision
 *	0, else 1
 * @pad: zero
 *
 * In %MPA_STATE_REQUESTED there is no result yet, and what the Request says is
 * shown: @rev; in @flags %MPA_F_TX_MARKERS if its sender wants Markers,
 * %MPA_F_NO_CRC if it prefers no CRCs, %MPA_F_ENHANCED and %MPA_F_PEER_TO_PEER;
 * if enhanced @rtr, the kinds its sender can open the stream with, @peer_ird and
 * @peer_ord. In %MPA_STATE_REPLIED all but @mulpdu is what full operation will
 * have.
 */
struct mpa_sock_info {
	__u8 state;
	__u8 role;
	__u8 rev;
	__u8 rtr;
	__u32 error;
	__u32 err;
	__u32 flags;
	__u32 mulpdu;
	__u16 ird;
	__u16 ord;
	__u16 peer_ird;
	__u16 peer_ord;
	__u32 peer_data_len;
	__u8 ddp_version;
	__u8 pad[3];
};

/**
 * struct mpa_sock_stats - counted since the socket was attached
 * @tx_fpdus: FPDUs handed to TCP
 * @tx_batches: calls into TCP that carried them
 * @tx_bytes: stream bytes of these
 * @rx_fpdus: FPDUs found good
 * @rx_bytes: stream bytes of these
 * @rx_crc_errors: FPDUs refused for their CRC
 * @rx_marker_errors: FPDUs refused for a Marker
 * @rx_dropped: bytes dropped after an error
 * @rx_length_errors: FPDUs refused for a length above 64768
 * @rx_too_soon: Initiator: FPDUs that came before our first was sent
 */
struct mpa_sock_stats {
	__u64 tx_fpdus;
	__u64 tx_batches;
	__u64 tx_bytes;
	__u64 rx_fpdus;
	__u64 rx_bytes;
	__u64 rx_crc_errors;
	__u64 rx_marker_errors;
	__u64 rx_dropped;
	__u64 rx_length_errors;
	__u64 rx_too_soon;
};

/*
 * inet_diag: attribute of INET_DIAG_ULP_INFO beside the protocol's name, and
 * what is in it.
 */
#define INET_ULP_INFO_MPA	64

enum {
	MPA_DIAG_UNSPEC		= 0,
	MPA_DIAG_INFO		= 1,	/* struct mpa_sock_info */
	MPA_DIAG_STATS		= 2,	/* struct mpa_sock_stats */
};

#endif /* _UAPI_LINUX_MPA_H */
