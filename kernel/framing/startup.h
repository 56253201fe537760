/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The startup exchange: Request and Reply Frames of revisions 0, 1 and 2, and
 * the result of their exchange. RFC 5044 section 7.1 and appendix C, RFC 6581. The
 * older exchange of Start Keys gives the same kind of result (startkey.h).
 */
#ifndef MPA_FRAMING_STARTUP_H
#define MPA_FRAMING_STARTUP_H

#include <linux/types.h>

#include "wire.h"

/* Kinds of Ready to Receive (RTR) messages (RFC 6581 section 9.2), as a set. */
enum {
	MPA_RTR_SEND	= 1 << 0,
	MPA_RTR_WRITE	= 1 << 1,
	MPA_RTR_READ	= 1 << 2,
};

/* Use of the messages of RFC 7306, which knows no negotiation. */
enum mpa_extensions {
	MPA_EXTENSIONS_OFF,		/* not used */
	MPA_EXTENSIONS_NEGOTIATE,	/* if the peer answers that it has them */
	MPA_EXTENSIONS_ON,		/* used without asking */
};

/**
 * struct mpa_frame - a decoded startup frame
 * @start_key: a Start Key, which has only @markers, @crc and @rev
 * @reply: Reply Frame, else Request Frame; of a Start Key, the answer
 * @markers: the sender wants to receive Markers
 * @crc: the sender prefers CRCs
 * @reject: Reply only: the connection is rejected
 * @enhanced: the frame carries the four bytes of RFC 6581
 * @p2p: peer-to-peer: the first FPDU of the Initiator is an RTR
 * @extensions: the sender asks for the messages of RFC 7306 (Request), or uses
 *	them (Reply); only if @enhanced
 * @rev: revision of the frame
 * @rtr: MPA_RTR_* set; empty unless @p2p
 * @ird: inbound Read depth offered, 0 .. 0x3fff; valid if @enhanced
 * @ord: outbound Read depth requested, likewise
 * @pd_len: bytes of private data of the consumer, without the four bytes of
 *	RFC 6581
 */
struct mpa_frame {
	bool start_key;
	bool reply;
	bool markers;
	bool crc;
	bool reject;
	bool enhanced;
	bool p2p;
	bool extensions;
	u8 rev;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 pd_len;
};

/**
 * struct mpa_params - local parameters of a connection
 * @markers: ask the peer for Markers (RFC 5044: off unless configured)
 * @crc: prefer CRCs; false only by an administrator's request
 * @p2p: Initiator: ask for peer-to-peer mode; ignored by the Responder
 * @permissive: use the protocols of the RDMA Consortium with a peer of
 *	revision 0, if @rev is higher and @rev_min is 0
 * @plain: Initiator: ask for no enhanced features, so that the Request is of
 *	revision 1 unless @rev_min forbids that (RFC 6581 section 10); ignored
 *	by the Responder
 * @extensions: enum mpa_extensions: when to use the messages of RFC 7306
 * @rev: highest revision to use. %MPA_REV_RDMAC is not only a limit: Markers
 *	and CRCs are then always asked for, and a Request of revision 1 is
 *	answered in revision 0.
 * @rev_min: lowest revision to use, at most @rev. 0 is equivalent to %MPA_REV_1
 *	except with @permissive. More than %MPA_REV_1 excludes peers that RFC
 *	6581 section 10 requires to be served: an administrator's choice.
 * @rtr: supported kinds of RTR, MPA_RTR_* set
 * @ird: inbound Read depth to offer (Initiator) or to grant (Responder)
 * @ord: outbound Read depth to request
 * @ird_max: limit to which @ird may be raised in negotiation
 *
 * The three kinds of peer of RFC 5044 appendix C: RDMAC is a @rev of
 * %MPA_REV_RDMAC, IETF non-permissive is a higher @rev, and IETF permissive is
 * a higher @rev with @permissive.
 */
struct mpa_params {
	bool markers;
	bool crc;
	bool p2p;
	bool permissive;
	bool plain;
	u8 extensions;
	u8 rev;
	u8 rev_min;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 ird_max;
};

/**
 * struct mpa_result - result of the startup exchange; does not change later
 * @initiator: this side is the Initiator
 * @start_key: Start Keys were exchanged, not frames
 * @rev: revision in use, that of the Reply or of the keys
 * @ddp_version: version of DDP and RDMAP in everything sent and received: 0
 *	with revision 0, else 1 (RFC 5044 appendix C.1, figures 5 and 6 of
 *	draft-culley-iwarp-mpa-03)
 * @enhanced: the enhanced exchange of RFC 6581 took place
 * @p2p: the first FPDU of the Initiator is an RTR
 * @rtr: the kind of RTR to send or expect: one MPA_RTR_* bit (Initiator), or
 *	the agreed set (Responder); 0 without @p2p
 * @extensions: the messages of RFC 7306 are in use; never with version 0 of
 *	RDMAP, in which they do not exist
 * @tx_markers: this side inserts Markers
 * @rx_markers: the peer inserts Markers, which are checked
 * @crc: CRCs are generated and checked in both directions
 * @ird: local inbound Read depth
 * @ord: local outbound Read depth
 * @peer_ird: inbound depth stated by the peer; 0 unless @enhanced
 * @peer_ord: outbound depth stated by the peer; 0 unless @enhanced
 */
struct mpa_result {
	bool initiator;
	bool start_key;
	u8 rev;
	u8 ddp_version;
	bool enhanced;
	bool p2p;
	u8 rtr;
	bool extensions;
	bool tx_markers;
	bool rx_markers;
	bool crc;
	u16 ird;
	u16 ord;
	u16 peer_ird;
	u16 peer_ord;
};

/**
 * mpa_lowest_rev - lowest revision that this side supports
 * @own: local parameters
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
 * mpa_rev_supported - check if a Responder supports a revision of frames
 * @own: local parameters
 * @rev: the revision
 *
 * Return: true if it does.
 */
static inline bool mpa_rev_supported(const struct mpa_params *own, u8 rev)
{
	if (own->rev == MPA_REV_RDMAC)
		return rev <= MPA_REV_1;
	return rev <= own->rev && rev >= mpa_lowest_rev(own);
}

/**
 * mpa_request_supported - check if a Responder can accept a Request
 * @own: local parameters
 * @req: the Request, or a Start Key, to which the revisions of @own do not apply
 *
 * With this check a caller need not ask its consumer about a Request that
 * cannot be accepted.
 *
 * Return: true if it can. If not, TCP must be closed without a Reply if the
 * revision is too high; if it is too low, a Reply that rejects may be sent (see
 * mpa_answer()).
 */
static inline bool mpa_request_supported(const struct mpa_params *own,
					 const struct mpa_frame *req)
{
	return req->start_key || mpa_rev_supported(own, req->rev);
}

/**
 * struct mpa_exchange - the functions of one kind of startup exchange
 * @parse: as mpa_frame_parse()
 * @build: as mpa_frame_build()
 * @request_from: as mpa_request_from()
 * @answer: as mpa_answer()
 * @conclude: as mpa_conclude()
 */
struct mpa_exchange {
	int (*parse)(const u8 *buf, u32 avail, bool expect_reply,
		     struct mpa_frame *f, const u8 **pd);
	int (*build)(u8 *buf, u32 room, const struct mpa_frame *f,
		     const void *pd);
	void (*request_from)(const struct mpa_params *own,
			     struct mpa_frame *req);
	int (*answer)(const struct mpa_params *own, const struct mpa_frame *req,
		      bool reject, struct mpa_frame *rep,
		      struct mpa_result *res);
	int (*conclude)(const struct mpa_params *own, const struct mpa_frame *req,
			const struct mpa_frame *rep, struct mpa_result *res);
};

extern const struct mpa_exchange mpa_exchange_frames;

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
