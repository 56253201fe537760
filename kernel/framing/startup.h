/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The startup exchange: Request and Reply Frames of revisions 0, 1 and 2, and
 * what follows from the two of them. RFC 5044 section 7.1 and appendix C,
 * RFC 6581.
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
 * @enhanced: the frame carries RFC 6581's four bytes
 * @p2p: peer-to-peer: the Initiator's first FPDU is an RTR
 * @rev: revision of the frame
 * @rtr: MPA_RTR_* set; empty unless @p2p
 * @ird: inbound Read depth offered, 0 .. 0x3fff, meaningful if @enhanced
 * @ord: outbound Read depth wanted, likewise
 * @pd_len: bytes of the consumer's private data, the four not included
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
 * @permissive: take up the RDMA Consortium's protocols with a peer of
 *	revision 0, if @rev is higher and @rev_min is 0
 * @plain: as Initiator: ask for nothing that is enhanced, so that the Request
 *	is one of revision 1 unless @rev_min forbids (RFC 6581 section 10); as
 *	Responder ignored
 * @rev: highest revision to speak. %MPA_REV_RDMAC alone is not a limit but
 *	what we are: then Markers and CRCs are asked for in any case, and a
 *	Request of revision 1 is answered in our own.
 * @rev_min: lowest revision to speak; not above @rev. 0 is as good as
 *	%MPA_REV_1, but with @permissive. More than %MPA_REV_1 shuts out peers
 *	that RFC 6581 section 10 wants served: an administrator's choice.
 * @rtr: RTR kinds we support, MPA_RTR_* set
 * @ird: inbound Read depth we offer (Initiator) or will grant (Responder)
 * @ord: outbound Read depth we want
 * @ird_max: limit to which @ird may be raised in negotiation
 *
 * The three kinds of peer of RFC 5044 appendix C: RDMAC is a @rev of
 * %MPA_REV_RDMAC, IETF non-permissive a higher one, and IETF permissive the
 * same with @permissive.
 */
struct mpa_params {
	bool markers;
	bool crc;
	bool p2p;
	bool permissive;
	bool plain;
	u8 rev;
	u8 rev_min;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 ird_max;
};

/**
 * struct mpa_result - what the startup exchange came to; never changes after
 * @initiator: our role
 * @rev: revision both speak; the Reply's
 * @ddp_version: version of DDP and RDMAP, on everything sent and received: 0
 *	with revision 0, else 1 (RFC 5044 appendix C.1)
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
	u8 ddp_version;
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

/**
 * mpa_lowest_rev - the lowest revision our side speaks
 * @own: what our side asks
 *
 * Return: MPA_REV_*; %MPA_REV_RDMAC with the first and the last of the three
 * kinds of peer.
 */
static inline u8 mpa_lowest_rev(const struct mpa_params *own)
{
	if (own->rev == MPA_REV_RDMAC || own->permissive || own->rev_min)
		return own->rev_min;
	return MPA_REV_1;
}

/**
 * mpa_serves - can a Responder accept a Request of this revision?
 * @own: what our side asks
 * @rev: the Request's revision
 *
 * A caller that is told no before it asks its consumer spares it the question.
 *
 * Return: true if so. If not, a revision above ours wants TCP closed without a
 * Reply, one below may get a Reply that refuses (mpa_answer()).
 */
static inline bool mpa_serves(const struct mpa_params *own, u8 rev)
{
	if (own->rev == MPA_REV_RDMAC)
		return rev <= MPA_REV_1;
	return rev <= own->rev && rev >= mpa_lowest_rev(own);
}

int mpa_frame_parse(const u8 *buf, u32 avail, bool expect_reply,
		    struct mpa_frame *f, const u8 **pd);
int mpa_frame_build(u8 *buf, u32 room, const struct mpa_frame *f,
		    const void *pd);
void mpa_request_from(const struct mpa_params *own, struct mpa_frame *req);
int mpa_answer(const struct mpa_params *own, const struct mpa_frame *req,
	       bool reject, struct mpa_frame *rep, struct mpa_result *res);
int mpa_conclude(const struct mpa_params *own, const struct mpa_frame *req,
		 const struct mpa_frame *rep, struct mpa_result *res);

#endif /* MPA_FRAMING_STARTUP_H */
