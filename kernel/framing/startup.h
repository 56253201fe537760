/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The startup exchange: Request and Reply Frames of revisions 1 and 2, and
 * what follows from the two of them. RFC 5044 section 7.1, RFC 6581.
 */
#ifndef MPA_FRAMING_STARTUP_H
#define MPA_FRAMING_STARTUP_H

#include <linux/types.h>

#include "wire.h"

/* Ways to say "ready to receive" (RFC 6581 section 9.2), as a set. */
enum {
	MPA_RTR_SEND	= 1 << 0,
	MPA_RTR_WRITE	= 1 << 1,
	MPA_RTR_READ	= 1 << 2,
};

/**
 * struct mpa_frame - a startup frame, decoded
 * @reply: Reply Frame, else Request Frame
 * @markers: the sender wants Markers in what it receives
 * @crc: the sender prefers CRCs
 * @reject: Reply only: the connection is refused
 * @enhanced: the frame carries RFC 6581's four octets
 * @p2p: peer-to-peer: the Initiator's first FPDU is an RTR
 * @rev: revision of the frame
 * @rtr: MPA_RTR_* set; empty unless @p2p
 * @ird: inbound Read depth offered, 0 .. 0x3fff, meaningful if @enhanced
 * @ord: outbound Read depth wanted, likewise
 * @pd_len: octets of the consumer's private data, the four not included
 */
struct mpa_frame {
	bool reply;
	bool markers;
	bool crc;
	bool reject;
	bool enhanced;
	bool p2p;
	u8 rev;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 pd_len;
};

/**
 * struct mpa_params - what our side asks of a connection
 * @markers: ask the peer for Markers (RFC 5044: off unless configured)
 * @crc: prefer CRCs; false only by an administrator's request
 * @p2p: as Initiator: ask for peer-to-peer mode; as Responder ignored
 * @rev: highest revision to speak, %MPA_REV_1 or %MPA_REV_2
 * @rtr: RTR kinds we support, MPA_RTR_* set
 * @ird: inbound Read depth we offer (Initiator) or will grant (Responder)
 * @ord: outbound Read depth we want
 * @ird_max: limit to which @ird may be raised in negotiation
 */
struct mpa_params {
	bool markers;
	bool crc;
	bool p2p;
	u8 rev;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 ird_max;
};

/**
 * struct mpa_result - what the startup exchange came to; never changes after
 * @initiator: our role
 * @rev: revision both speak
 * @enhanced: RFC 6581's exchange took place
 * @p2p: an RTR opens the stream
 * @rtr: the kind of RTR to send or expect: one MPA_RTR_* bit (Initiator), the
 *	set agreed (Responder); 0 without @p2p
 * @tx_markers: we insert Markers
 * @rx_markers: the peer inserts Markers and we check them
 * @crc: CRCs are generated and checked in both directions
 * @ird: our inbound Read depth
 * @ord: our outbound Read depth
 * @peer_ird: the peer's word on its own inbound depth; 0 unless @enhanced
 * @peer_ord: the peer's word on its outbound depth; 0 unless @enhanced
 */
struct mpa_result {
	bool initiator;
	u8 rev;
	bool enhanced;
	bool p2p;
	u8 rtr;
	bool tx_markers;
	bool rx_markers;
	bool crc;
	u16 ird;
	u16 ord;
	u16 peer_ird;
	u16 peer_ord;
};

int mpa_frame_parse(const u8 *buf, u32 avail, bool expect_reply,
		    struct mpa_frame *f, const u8 **pd);
int mpa_frame_build(u8 *buf, u32 room, const struct mpa_frame *f,
		    const void *pd);
void mpa_request_from(const struct mpa_params *own, struct mpa_frame *req);
void mpa_answer(const struct mpa_params *own, const struct mpa_frame *req,
		bool reject, struct mpa_frame *rep, struct mpa_result *res);
int mpa_conclude(const struct mpa_params *own, const struct mpa_frame *req,
		 const struct mpa_frame *rep, struct mpa_result *res);

#endif /* MPA_FRAMING_STARTUP_H */
