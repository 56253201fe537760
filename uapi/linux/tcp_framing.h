/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The framing protocol for TCP of draft-ietf-tsvwg-tcp-ulp-frame-00 (2000), with
 * the socket options of its appendix A. See tcp-framing(7) for how to use it.
 *
 *	setsockopt(fd, SOL_TCP, TCP_ULP, "mpa", 3);
 *	setsockopt(fd, SOL_TCP, TCP_FRAMING_MODE, &mode, sizeof(mode));
 *
 * Each direction has a mode of its own. Nothing is exchanged with the peer: both
 * ends agree on modes, key and intervals by other means, as by a dialogue on the
 * same connection before the modes are set.
 *
 * The values are those of Linux with linux-mpa; the draft assigns none. They are
 * far from the options of TCP itself.
 */
#ifndef _UAPI_LINUX_TCP_FRAMING_H
#define _UAPI_LINUX_TCP_FRAMING_H

#include <linux/types.h>

/*
 * Options of level SOL_TCP on a socket with upper layer protocol "mpa". Values
 * are of type int unless stated otherwise.
 *
 * TCP_FRAMING_MODE: get, set: at most one TCP_FRAMING_SEND_* and at most one
 *	TCP_FRAMING_RECV_*; a direction without one stays an ordinary stream. May
 *	be set before or after connect(2), and on a listening socket for those
 *	that it accepts. A direction cannot be changed once it is framed
 * TCP_SEND_EMSS: get: most bytes that can be sent in one call without being
 *	divided: without the framing header in TCP_FRAMING_SEND_ALIGN. Ends the
 *	EPOLLPRI that reports its change
 * TCP_FRAMING_PACK_PDUS: get, set: 1 (default): PDUs that are sent one after
 *	the other may share a framing PDU; 0: never
 * TCP_FRAMING_EMERGENCY: get, set: 1: PDUs of up to 512 bytes are taken even if
 *	they do not fit in a segment; default 0
 * TCP_FRAMING_SEND_INTERVAL: get, set: bytes of stream from one marker that is
 *	sent to the next, 8 .. 2^31 - 1; default 2048
 * TCP_FRAMING_RECV_INTERVAL: get, set: the same for markers that are received;
 *	holds from the first byte that was not read yet
 * TCP_FRAMING_SEND_KEY: get: TCP_FRAMING_KEY_LEN bytes: the key of the framing
 *	PDUs that this side sends. It is random, made when it is first needed, and
 *	cannot be set. It may be read before the mode is set, to tell it to the peer
 * TCP_FRAMING_RECV_KEY: get, set: TCP_FRAMING_KEY_LEN bytes: the key of the
 *	peer; nothing is received in TCP_FRAMING_RECV_ALIGN before it is set
 * TCP_FRAMING_EMSS_NOTICE: get, set: 1: the first send after a rise of the EMSS
 *	fails with EMSGSIZE, once; default 0
 * TCP_FRAMING_INFO: get: struct tcp_framing_info
 */
#define TCP_FRAMING_MODE		504400
#define TCP_SEND_EMSS			504401
#define TCP_FRAMING_PACK_PDUS		504402
#define TCP_FRAMING_EMERGENCY		504403
#define TCP_FRAMING_SEND_INTERVAL	504404
#define TCP_FRAMING_RECV_INTERVAL	504405
#define TCP_FRAMING_SEND_KEY		504406
#define TCP_FRAMING_RECV_KEY		504407
#define TCP_FRAMING_EMSS_NOTICE		504408
#define TCP_FRAMING_INFO		504409

/*
 * TCP_FRAMING_MODE.
 *
 * TCP_FRAMING_SEND_ATOMIC: nothing is added; each call is a segment of its own
 * TCP_FRAMING_SEND_ALIGN: PDU alignment mode: each segment is one framing PDU
 * TCP_FRAMING_SEND_MARKERS: marker mode: markers at regular intervals
 * TCP_FRAMING_RECV_ALIGN: framing PDUs are received, each by one call
 * TCP_FRAMING_RECV_MARKERS: markers are expected, and removed
 */
#define TCP_FRAMING_SEND_ATOMIC		0x01
#define TCP_FRAMING_SEND_ALIGN		0x02
#define TCP_FRAMING_SEND_MARKERS	0x04
#define TCP_FRAMING_RECV_ALIGN		0x10
#define TCP_FRAMING_RECV_MARKERS	0x20

#define TCP_FRAMING_KEY_LEN		6

/* Bits of &tcp_framing_info.flags. */
#define TCP_FRAMING_F_PACK		0x01	/* TCP_FRAMING_PACK_PDUS */
#define TCP_FRAMING_F_EMERGENCY		0x02	/* TCP_FRAMING_EMERGENCY */
#define TCP_FRAMING_F_RECV_KEY		0x04	/* TCP_FRAMING_RECV_KEY was set */
#define TCP_FRAMING_F_RECV_ENDED	0x08	/* receiving ended with an error */

/**
 * struct tcp_framing_info - state of the framing of a socket
 * @mode: TCP_FRAMING_MODE
 * @flags: TCP_FRAMING_F_*
 * @emss: bytes of a segment; 0: not known, because nothing is framed yet or nothing
 *	has looked for it
 * @send_interval: TCP_FRAMING_SEND_INTERVAL, bytes
 * @recv_interval: TCP_FRAMING_RECV_INTERVAL, bytes
 * @pad: zero
 * @tx_pdus: PDUs of the application that were passed to TCP; with
 *	TCP_FRAMING_SEND_MARKERS those that were taken
 * @tx_frames: framing PDUs, or segments in TCP_FRAMING_SEND_ATOMIC, that
 *	carried them; 0 in TCP_FRAMING_SEND_MARKERS
 * @tx_pieces: framing PDUs that were sent in pieces: in emergency mode, or after
 *	the EMSS had fallen
 * @emss_changes: how often the EMSS has changed
 * @rx_frames: framing PDUs, or runs of bytes up to a boundary or to the end of
 *	what had arrived, that were received
 * @rx_aligned: framing PDUs that began a segment, as far as can be seen: the
 *	kernel may have joined segments before (generic receive offload)
 * @rx_unaligned: framing PDUs that did not
 * @rx_parted: framing PDUs of which a part was received before the rest: a segment
 *	ended within them, whatever was joined. There may be more
 *
 * May grow: a shorter buffer gets as many bytes as fit.
 */
struct tcp_framing_info {
	__u32 mode;
	__u32 flags;
	__u32 emss;
	__u32 send_interval;
	__u32 recv_interval;
	__u32 pad;
	__u64 tx_pdus;
	__u64 tx_frames;
	__u64 tx_pieces;
	__u64 emss_changes;
	__u64 rx_frames;
	__u64 rx_aligned;
	__u64 rx_unaligned;
	__u64 rx_parted;
};

#endif /* _UAPI_LINUX_TCP_FRAMING_H */
