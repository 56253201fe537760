/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * MPA (Marker PDU Aligned Framing, RFC 5044) on the TCP socket of an
 * application. See mpa(7) for how to use it.
 *
 *	setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3);
 *	setsockopt(fd, SOL_MPA, MPA_SO_START, &role, sizeof(role));
 *
 * Until MPA_SO_START the socket is an ordinary TCP socket. After the exchange
 * of the startup frames one send is one ULPDU and one receive is one ULPDU.
 * After a rejected connection the socket is an ordinary TCP socket again.
 *
 * Structures may grow: options read and write as many bytes as both sides know.
 * Fields that the caller does not pass are taken as zero, and fields that the
 * kernel does not know must be zero (else E2BIG). Bits that are not named here
 * and reserved fields must be zero as well (else EINVAL).
 */
#ifndef _UAPI_LINUX_MPA_H
#define _UAPI_LINUX_MPA_H

#include <linux/types.h>

/*
 * Level of the options below: the number of the RFC. The kernel assigns levels
 * consecutively in include/linux/socket.h, so a module outside of the kernel
 * must not take the next one. 5044 is far from these and from the IPPROTO_*
 * values, which are levels too. In the kernel this would become the next SOL_*
 * number.
 */
#define SOL_MPA		5044

/**
 * enum mpa_sock_option - options of level SOL_MPA
 * @MPA_SO_PARAMS: get, set: struct mpa_sock_params; set before the start. Until
 *	it is set, the administrator's settings apply (linux/mpa_netlink.h)
 * @MPA_SO_PRIVATE_DATA: get, set: private data of the next Request, or of a
 *	Reply sent by %MPA_F_AUTO_ACCEPT; 0 .. 512 bytes, less 4 with revision
 *	2
 * @MPA_SO_LAST_MESSAGE: get, set: Responder: the last bytes of streaming mode,
 *	0 .. 4096; sent as soon as MPA is ready for the Request that follows
 *	them
 * @MPA_SO_START: set: enum mpa_sock_role as int. Like connect(2): a blocking
 *	call returns when the exchange is complete (Initiator), when a Request
 *	waits for its answer or has been accepted (Responder), or with
 *	%MPA_F_REVIEW when a Reply waits for its answer (Initiator); a
 *	non-blocking call returns -1 with EINPROGRESS. On a listening socket,
 *	Responder only: sockets accepted from now on start automatically.
 * @MPA_SO_ACCEPT: set: accept the Request; the value is the private data. With
 *	%MPA_F_REVIEW: accept the Reply; the value is empty
 * @MPA_SO_REJECT: set: reject the Request; the value is the private data. With
 *	%MPA_F_REVIEW: decline the Reply; nothing is sent, and the socket is
 *	ordinary TCP again
 * @MPA_SO_PEER_DATA: get: private data of the peer's Request or Reply
 * @MPA_SO_INFO: get: struct mpa_sock_info
 * @MPA_SO_MULPDU: get: u32, longest ULPDU that can be sent now, bytes
 * @MPA_SO_PACKING: get, set: int; 1: small ULPDUs wait while earlier data is
 *	not acknowledged, to be sent in one segment with later ones; else 0.
 *	Until it is set, the administrator's settings apply
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
 * @MPA_F_NO_CRC: params: prefer no CRCs; requires CAP_NET_ADMIN unless the
 *	administrator's settings or the current parameters of the socket have it
 *	(RFC 5044 section 4.4: by an administrator's request, at both ends);
 *	info: CRCs are not in use
 * @MPA_F_PEER_TO_PEER: params: Initiator: ask for peer-to-peer mode (RFC 6581;
 *	revision 2, the application sends the RTR itself); info: it is in use
 * @MPA_F_AUTO_ACCEPT: params: Responder: accept every Request at once
 * @MPA_F_PERMISSIVE: params: use the protocols of the RDMA Consortium with a
 *	peer of revision 0 (RFC 5044 appendix C), if @rev is higher and
 *	@rev_min is 0
 * @MPA_F_TX_MARKERS: info: the peer asked for Markers, which are inserted
 * @MPA_F_ENHANCED: info: the enhanced data of RFC 6581 was exchanged
 * @MPA_F_REVIEW: params: Initiator: a Reply that accepts waits in
 *	%MPA_STATE_REPLIED for %MPA_SO_ACCEPT or %MPA_SO_REJECT, so that its
 *	private data can be declined (RFC 5044 section 7.1.2 rule 3)
 * @MPA_F_PLAIN: params: Responder: a peer that does not begin with a Request, or
 *	sends none of it in time, is a client of ordinary TCP: the socket moves to
 *	%MPA_STATE_PLAIN. Not together with %MPA_SO_LAST_MESSAGE
 * @MPA_F_START_KEY: info: Start Keys were exchanged, not frames
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
	MPA_F_PLAIN		= 1 << 8,
	MPA_F_START_KEY		= 1 << 9,
};

/**
 * enum mpa_sock_startup - mpa_sock_params.startup
 * @MPA_STARTUP_FRAMES: Request and Reply Frames (RFC 5044, RFC 6581)
 * @MPA_STARTUP_START_KEY: Start Keys (draft-culley-iwarp-mpa-03), which have neither
 *	private data nor a rejection; an application whose peer does not expect them
 *	cannot be sure to notice (mpa(7))
 * @MPA_STARTUP_EITHER: Responder: as the peer does; Initiator: frames
 */
enum mpa_sock_startup {
	MPA_STARTUP_FRAMES	= 0,
	MPA_STARTUP_START_KEY	= 1,
	MPA_STARTUP_EITHER	= 2,
};

/* mpa_sock_params.rev: Initiator: revision 1; Responder: any known revision. */
#define MPA_REV_AUTO	0xff

/**
 * struct mpa_sock_params - parameters of a connection
 * @flags: MPA_F_* that are for params
 * @rev: highest revision to use: 1 (RFC 5044), 2 (RFC 6581) or %MPA_REV_AUTO;
 *	0: act as a peer of the RDMA Consortium
 * @rtr: revision 2: kinds of RTR for peer-to-peer mode that the application
 *	supports: 1 Send, 2 Write, 4 Read; 0: all
 * @ird: revision 2: inbound Read Requests at once; 0 .. 16382
 * @ord: revision 2: outbound Read Requests at once; likewise
 * @ird_max: revision 2: limit to which @ird may be raised in negotiation
 * @timeout_ms: time limit for the peer's startup frame, at most 2^31 - 1; 0: as
 *	in the settings, where the default is 5000
 * @rev_min: lowest revision to use, at most @rev. 0 is equivalent to 1 except
 *	with %MPA_F_PERMISSIVE
 * @startup: enum mpa_sock_startup
 * @pad: zero
 *
 * A socket starts with the administrator's settings for its network namespace
 * at the time the protocol is attached. An accepted socket starts with the
 * settings for its listener at the time of accept, or with the parameters of
 * the listener if %MPA_SO_PARAMS was set there. Setting %MPA_SO_PARAMS replaces
 * all of these. In any case the settings limit the Read depths and decide how
 * FPDUs are laid into segments.
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
	__u8 startup;
	__u8 pad[2];
};

/**
 * enum mpa_sock_state - mpa_sock_info.state
 * @MPA_STATE_STREAMING: ordinary TCP, not started yet
 * @MPA_STATE_LISTENING: a listening socket
 * @MPA_STATE_WAIT_REPLY: Initiator: the Request was sent
 * @MPA_STATE_WAIT_REQUEST: Responder: waiting for the Request
 * @MPA_STATE_REQUESTED: Responder: the Request waits for its answer
 * @MPA_STATE_OPERATIONAL: full operation, ULPDUs in both directions
 * @MPA_STATE_RECEIVE_ENDED: nothing more is received; sending is still possible
 * @MPA_STATE_REJECTED: ordinary TCP again
 * @MPA_STATE_FAILED: the startup exchange failed
 * @MPA_STATE_CLOSED: TCP has ended
 * @MPA_STATE_REPLIED: Initiator with %MPA_F_REVIEW: the Reply waits for an
 *	answer
 * @MPA_STATE_PLAIN: Responder with %MPA_F_PLAIN: ordinary TCP, the peer does not
 *	use MPA
 * @MPA_STATE_HANDED_OVER: a queue pair has the connection; only inet_diag shows
 *	that, since there is no descriptor
 * @MPA_STATE_FRAMED: a framing without startup is used (linux/tcp_framing.h)
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
	MPA_STATE_PLAIN		= 11,
	MPA_STATE_HANDED_OVER	= 12,
	MPA_STATE_FRAMED	= 13,
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
 * struct mpa_sock_info - state of a connection
 * @state: enum mpa_sock_state
 * @role: enum mpa_sock_role
 * @rev: revision in use; valid after the startup exchange, like the next fields
 * @rtr: the kind of RTR agreed on, as in &struct mpa_sock_params
 * @error: enum mpa_sock_error: the first error that ended receiving
 * @err: the error number that receiving ended with; 0: none, or an orderly end
 * @flags: MPA_F_* that are for info
 * @mulpdu: longest ULPDU that can be sent now, bytes; 0 before full operation
 * @ird: local inbound Read depth
 * @ord: local outbound Read depth
 * @peer_ird: inbound depth stated by the peer; 0 unless %MPA_F_ENHANCED
 * @peer_ord: outbound depth stated by the peer; likewise
 * @peer_data_len: bytes of %MPA_SO_PEER_DATA
 * @ddp_version: version of DDP and RDMAP if they are used: 0 with revision 0,
 *	else 1
 * @pad: zero
 *
 * In %MPA_STATE_REQUESTED there is no result yet. The fields then show the
 * Request: @rev; in @flags %MPA_F_TX_MARKERS if its sender wants Markers,
 * %MPA_F_NO_CRC if it prefers no CRCs, %MPA_F_ENHANCED and %MPA_F_PEER_TO_PEER;
 * if enhanced also @rtr, the kinds its sender supports, @peer_ird and
 * @peer_ord; %MPA_F_START_KEY if it is a Start Key. In %MPA_STATE_REPLIED all
 * fields except @mulpdu have the values of full operation.
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
 * struct mpa_sock_stats - counters since the protocol was attached to the
 * socket
 * @tx_fpdus: FPDUs passed to TCP
 * @tx_batches: calls into TCP that carried them
 * @tx_bytes: stream bytes of these FPDUs
 * @rx_fpdus: valid FPDUs
 * @rx_bytes: stream bytes of these FPDUs
 * @rx_crc_errors: FPDUs refused because of the CRC
 * @rx_marker_errors: FPDUs refused because of a Marker
 * @rx_dropped: bytes dropped after an error
 * @rx_length_errors: FPDUs refused because of a length above 64768
 * @rx_too_soon: Initiator: FPDUs received before the first FPDU was sent
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
 * inet_diag: attribute of INET_DIAG_ULP_INFO in addition to the name of the
 * protocol, and its contents.
 */
#define INET_ULP_INFO_MPA	64

enum {
	MPA_DIAG_UNSPEC		= 0,
	MPA_DIAG_INFO		= 1,	/* struct mpa_sock_info */
	MPA_DIAG_STATS		= 2,	/* struct mpa_sock_stats */
	MPA_DIAG_FRAMING	= 3,	/* struct tcp_framing_info, if used */
};

#endif /* _UAPI_LINUX_MPA_H */
