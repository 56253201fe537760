// SPDX-License-Identifier: GPL-2.0-only
/*
 * The startup exchange: codec of the Request and Reply Frames of revisions 0,
 * 1 and 2, and the negotiation. RFC 5044 section 7.1 and appendix C, RFC 6581
 * sections 6 to 10.
 *
 * Revision 0 is spoken by the RDMA Consortium's implementations, or rather for
 * them by software that exchanges startup frames in their place. They know
 * neither a stream without Markers nor one without CRCs, whatever they were
 * told, so both are in use in both directions (appendix C.1 and C.2.5).
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include <asm/byteorder.h>

#include "startup.h"

static_assert(sizeof(struct mpa_frame_hdr) == MPA_FRAME_HDR_LEN);
static_assert(offsetof(struct mpa_frame_hdr, flags) == MPA_KEY_LEN);
static_assert(offsetof(struct mpa_frame_hdr, pd_len) == 18);
static_assert(sizeof(MPA_KEY_REQUEST) - 1 == MPA_KEY_LEN);
static_assert(sizeof(MPA_KEY_REPLY) - 1 == MPA_KEY_LEN);

enum {
	OFF_FLAGS	= offsetof(struct mpa_frame_hdr, flags),
	OFF_REV		= offsetof(struct mpa_frame_hdr, rev),
	OFF_PD_LEN	= offsetof(struct mpa_frame_hdr, pd_len),

	/* The deepest queue that can be told from "do not negotiate". */
	DEPTH_MAX	= MPA_ENH_DEPTH_NONE - 1,
};

static u16 startup_get_word(const u8 *p)
{
	return p[0] << 8 | p[1];
}

static void startup_put_word(u8 *p, u16 word)
{
	p[0] = word >> 8;
	p[1] = word;
}

/* The first wrong byte decides, so that portions do not change the answer. */
static int startup_check_key(const u8 *buf, u32 avail, bool reply)
{
	static const char request_key[] = MPA_KEY_REQUEST;
	static const char reply_key[] = MPA_KEY_REPLY;
	const char *key = reply ? reply_key : request_key;
	u32 i;

	for (i = 0; i < min_t(u32, avail, MPA_KEY_LEN); i++) {
		if (buf[i] == key[i])
			continue;
		return reply && buf[i] == request_key[i] ? -EALREADY : -EPROTO;
	}
	return 0;
}

static int startup_check_rev(const u8 *buf, u32 avail)
{
	if (avail > OFF_REV && buf[OFF_REV] > MPA_REV_2)
		return -EPROTONOSUPPORT;
	return 0;
}

/* S is a bit of revision 2; before that it is reserved and not looked at. */
static bool startup_is_enhanced(const u8 *buf)
{
	return buf[OFF_FLAGS] & MPA_FLAG_ENHANCED && buf[OFF_REV] >= MPA_REV_2;
}

static int startup_check_pd_len(const u8 *buf, u32 avail)
{
	/* The upper byte alone may already be too much. */
	if (avail > OFF_PD_LEN && buf[OFF_PD_LEN] > MPA_PRIVATE_DATA_MAX >> 8)
		return -EMSGSIZE;
	if (avail < MPA_FRAME_HDR_LEN)
		return 0;
	if (startup_get_word(buf + OFF_PD_LEN) > MPA_PRIVATE_DATA_MAX)
		return -EMSGSIZE;
	if (startup_is_enhanced(buf) &&
	    startup_get_word(buf + OFF_PD_LEN) < MPA_ENHANCED_LEN)
		return -EINVAL;
	return 0;
}

static void startup_parse_enhanced(const u8 *p, struct mpa_frame *f)
{
	u16 ird = startup_get_word(p);
	u16 ord = startup_get_word(p + 2);

	f->ird = ird & MPA_ENH_DEPTH_MASK;
	f->ord = ord & MPA_ENH_DEPTH_MASK;
	f->p2p = ird & MPA_ENH_P2P;
	/* RFC 6581 section 9.2: without A, B to D carry no meaning. */
	if (!f->p2p)
		return;
	if (ird & MPA_ENH_RTR_SEND)
		f->rtr |= MPA_RTR_SEND;
	if (ord & MPA_ENH_RTR_WRITE)
		f->rtr |= MPA_RTR_WRITE;
	if (ord & MPA_ENH_RTR_READ)
		f->rtr |= MPA_RTR_READ;
}

/**
 * mpa_frame_parse - decode a startup frame
 * @buf: the bytes received so far, from the first of the frame on
 * @avail: how many; bytes that follow the frame are not looked at
 * @expect_reply: we are the Initiator, a Reply is due; else a Request
 * @f: the frame, written only when it is whole
 * @pd: set likewise to the consumer's private data inside @buf, @f->pd_len
 *	bytes of it
 *
 * A frame is refused as soon as its bytes allow it, and for the same reason
 * in whatever portions it comes.
 *
 * Return: bytes of the whole frame; 0 if more than @avail are needed;
 * negative if it is improperly formatted: -EPROTO for a wrong key, but
 * -EALREADY for a Request where a Reply was due (both ends are Initiators,
 * RFC 5044 section 7.1.2 rule 8), -EPROTONOSUPPORT for an unknown revision,
 * -EMSGSIZE for more than %MPA_PRIVATE_DATA_MAX bytes of private data,
 * -EINVAL for an enhanced frame without room for its four bytes. Reserved bits
 * are not looked at (RFC 5044 section 7.1.1), which the bit of enhanced frames
 * is before revision 2. Whether our side speaks the revision is not judged here,
 * nor whether one of revision 0 says what such peers mean: see mpa_answer() and
 * mpa_conclude().
 */
int mpa_frame_parse(const u8 *buf, u32 avail, bool expect_reply,
		    struct mpa_frame *f, const u8 **pd)
{
	const u8 *body = buf + MPA_FRAME_HDR_LEN;
	u32 pd_len;
	u8 flags;
	int ret;

	ret = startup_check_key(buf, avail, expect_reply);
	if (!ret)
		ret = startup_check_rev(buf, avail);
	if (!ret)
		ret = startup_check_pd_len(buf, avail);
	if (ret || avail < MPA_FRAME_HDR_LEN)
		return ret;
	pd_len = startup_get_word(buf + OFF_PD_LEN);
	if (avail - MPA_FRAME_HDR_LEN < pd_len)
		return 0;

	flags = buf[OFF_FLAGS];
	*f = (struct mpa_frame){
		.reply = expect_reply,
		.markers = flags & MPA_FLAG_MARKERS,
		.crc = flags & MPA_FLAG_CRC,
		.reject = expect_reply && flags & MPA_FLAG_REJECT,
		.enhanced = startup_is_enhanced(buf),
		.rev = buf[OFF_REV],
		.pd_len = pd_len,
	};
	*pd = body;
	if (f->enhanced) {
		startup_parse_enhanced(body, f);
		f->pd_len -= MPA_ENHANCED_LEN;
		*pd += MPA_ENHANCED_LEN;
	}
	return MPA_FRAME_HDR_LEN + pd_len;
}

static u8 startup_frame_flags(const struct mpa_frame *f)
{
	return (f->markers ? MPA_FLAG_MARKERS : 0) |
	       (f->crc ? MPA_FLAG_CRC : 0) |
	       (f->reply && f->reject ? MPA_FLAG_REJECT : 0) |
	       (f->enhanced ? MPA_FLAG_ENHANCED : 0);
}

static void startup_build_enhanced(u8 *p, const struct mpa_frame *f)
{
	u16 ird = f->ird & MPA_ENH_DEPTH_MASK;
	u16 ord = f->ord & MPA_ENH_DEPTH_MASK;

	if (f->p2p) {
		ird |= MPA_ENH_P2P;
		if (f->rtr & MPA_RTR_SEND)
			ird |= MPA_ENH_RTR_SEND;
		if (f->rtr & MPA_RTR_WRITE)
			ord |= MPA_ENH_RTR_WRITE;
		if (f->rtr & MPA_RTR_READ)
			ord |= MPA_ENH_RTR_READ;
	}
	startup_put_word(p, ird);
	startup_put_word(p + 2, ord);
}

/**
 * mpa_frame_build - encode a startup frame
 * @buf: where to
 * @room: bytes there; %MPA_FRAME_MAX is always enough
 * @f: the frame
 * @pd: the consumer's private data, @f->pd_len bytes; unused if that is 0
 *
 * Return: bytes written; -EMSGSIZE if there is more private data than a
 * frame of this kind can carry: %MPA_PRIVATE_DATA_MAX bytes, less
 * %MPA_ENHANCED_LEN in an enhanced frame; -ENOSPC if @room is too small.
 */
int mpa_frame_build(u8 *buf, u32 room, const struct mpa_frame *f,
		    const void *pd)
{
	u32 enhanced_len = f->enhanced ? MPA_ENHANCED_LEN : 0;
	u32 pd_len = enhanced_len + f->pd_len;

	if (pd_len > MPA_PRIVATE_DATA_MAX)
		return -EMSGSIZE;
	if (room < MPA_FRAME_HDR_LEN + pd_len)
		return -ENOSPC;

	memcpy(buf, f->reply ? MPA_KEY_REPLY : MPA_KEY_REQUEST, MPA_KEY_LEN);
	buf[OFF_FLAGS] = startup_frame_flags(f);
	buf[OFF_REV] = f->rev;
	startup_put_word(buf + OFF_PD_LEN, pd_len);
	buf += MPA_FRAME_HDR_LEN;
	if (f->enhanced)
		startup_build_enhanced(buf, f);
	if (f->pd_len)
		memcpy(buf + enhanced_len, pd, f->pd_len);
	return MPA_FRAME_HDR_LEN + pd_len;
}

/**
 * mpa_request_from - the Request an Initiator sends
 * @own: what our side asks
 * @req: the Request, without private data. A caller that wants no automatic
 *	negotiation of a depth sets @req->ird or @req->ord to
 *	%MPA_ENH_DEPTH_NONE before it sends (RFC 6581 section 9.1).
 *
 * Of revision 2 and enhanced if @own speaks that and wants it, else of revision
 * 1, or of 0 if that is all @own speaks. Peer-to-peer mode is asked for only if
 * there is an RTR to open it with.
 */
void mpa_request_from(const struct mpa_params *own, struct mpa_frame *req)
{
	u8 rev = min_t(u8, own->rev, MPA_REV_2);

	if (own->plain && rev > MPA_REV_1)
		rev = max_t(u8, own->rev_min, MPA_REV_1);
	*req = (struct mpa_frame){
		.markers = own->markers || rev == MPA_REV_RDMAC,
		.crc = own->crc || rev == MPA_REV_RDMAC,
		.rev = rev,
	};
	if (own->plain || rev < MPA_REV_2)
		return;
	req->enhanced = true;
	req->ird = min_t(u16, own->ird, DEPTH_MAX);
	req->ord = min_t(u16, own->ord, DEPTH_MAX);
	req->p2p = own->p2p && own->rtr;
	req->rtr = req->p2p ? own->rtr : 0;
}

/* RFC 6581 section 9.1, Responder; settles @res and @rep together. */
static void startup_answer_depths(const struct mpa_params *own,
				  const struct mpa_frame *req,
				  struct mpa_frame *rep, struct mpa_result *res)
{
	if (req->ird != MPA_ENH_DEPTH_NONE)
		res->ord = min(own->ord, req->ird);
	if (req->ord != MPA_ENH_DEPTH_NONE && req->ord > own->ird)
		res->ird = max_t(u16, own->ird, min(req->ord, own->ird_max));
	/* The Initiator may open with a Read whatever its ORD. */
	if (rep->rtr & MPA_RTR_READ)
		res->ird = max_t(u16, res->ird, 1);

	rep->ird = min_t(u16, res->ird, DEPTH_MAX);
	/* A refusal names the ORD that would have been wanted. */
	rep->ord = min_t(u16, rep->reject ? own->ord : res->ord, DEPTH_MAX);
	if (req->ord == MPA_ENH_DEPTH_NONE)
		rep->ird = MPA_ENH_DEPTH_NONE;
	if (req->ird == MPA_ENH_DEPTH_NONE)
		rep->ord = MPA_ENH_DEPTH_NONE;
	res->peer_ird = req->ird;
	res->peer_ord = req->ord;
}

static u8 startup_ddp_version(u8 rev)
{
	return rev == MPA_REV_RDMAC ? 0 : 1;
}

/* The revision of the Reply to a Request of @rev, or -EPROTONOSUPPORT. */
static int startup_reply_rev(const struct mpa_params *own, u8 rev, bool reject)
{
	if (mpa_serves(own, rev))
		return min(own->rev, rev);
	/* Appendix C.2.1: an older peer reads in the Reply why it is refused. */
	if (reject && rev < mpa_lowest_rev(own))
		return mpa_lowest_rev(own);
	return -EPROTONOSUPPORT;
}

/**
 * mpa_answer - the Responder's Reply, and what follows from it
 * @own: what our side asks; @own->rtr must name at least one kind if @own->rev
 *	is %MPA_REV_2 (RFC 6581 section 9.2)
 * @req: the Request
 * @reject: refuse the connection
 * @rep: the Reply, without private data
 * @res: the connection's result; after a refusal of use only for the peer's
 *	depths
 *
 * The Reply is of the revision and kind of the Request. It echoes A; keeps
 * our ORD within the Initiator's IRD and raises our IRD to the Initiator's
 * ORD, as far as @own->ird_max, and to 1 if a Read may come as RTR; leaves a
 * depth alone of which the Initiator says so; offers the RTR kinds that both
 * know, or all of ours if there is none (RFC 6581 section 9). C is set if
 * either side prefers CRCs, for then they are in use. In a Reply of revision 0
 * both M and C are set whatever @own prefers (RFC 5044 appendix C.2.3).
 *
 * Return: 0; -EPROTONOSUPPORT, with nothing written, if @own does not speak
 * the Request's revision: a newer one is not answered at all, and an older one
 * only with @reject, in the lowest revision of @own's.
 */
int mpa_answer(const struct mpa_params *own, const struct mpa_frame *req,
	       bool reject, struct mpa_frame *rep, struct mpa_result *res)
{
	int rev = startup_reply_rev(own, req->rev, reject);
	bool rdmac = rev == MPA_REV_RDMAC;

	if (rev < 0)
		return rev;
	*rep = (struct mpa_frame){
		.reply = true,
		.markers = own->markers || rdmac,
		.crc = own->crc || req->crc || rdmac,
		.reject = reject,
		.enhanced = req->enhanced,
		.rev = rev,
	};
	*res = (struct mpa_result){
		.rev = rev,
		.ddp_version = startup_ddp_version(rev),
		.enhanced = req->enhanced,
		.tx_markers = req->markers || rdmac,
		.rx_markers = rep->markers,
		.crc = rep->crc,
		.ird = own->ird,
		.ord = own->ord,
	};
	if (!req->enhanced)
		return 0;
	rep->p2p = req->p2p;
	if (req->p2p)
		rep->rtr = own->rtr & req->rtr ?: own->rtr;
	res->p2p = rep->p2p;
	res->rtr = rep->rtr;
	startup_answer_depths(own, req, rep, res);
	return 0;
}

static u8 startup_choose_rtr(u8 kinds)
{
	/* A Send comes last: it is unclear whether it takes a receive buffer. */
	static const u8 preferred[] = {
		MPA_RTR_WRITE, MPA_RTR_READ, MPA_RTR_SEND,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(preferred); i++)
		if (kinds & preferred[i])
			return preferred[i];
	return 0;
}

/* RFC 6581 section 9.1, Initiator. */
static int startup_conclude_depths(const struct mpa_params *own,
				   const struct mpa_frame *req,
				   const struct mpa_frame *rep,
				   struct mpa_result *res)
{
	if (req->ord != MPA_ENH_DEPTH_NONE && rep->ird != MPA_ENH_DEPTH_NONE)
		res->ord = min(own->ord, rep->ird);
	if (req->ird == MPA_ENH_DEPTH_NONE || rep->ord == MPA_ENH_DEPTH_NONE ||
	    rep->ord <= own->ird)
		return 0;
	if (rep->ord > own->ird_max)
		return -ENOSPC;
	res->ird = rep->ord;
	return 0;
}

static int startup_conclude_rtr(const struct mpa_frame *req,
				const struct mpa_frame *rep,
				struct mpa_result *res)
{
	u8 kinds = req->rtr & rep->rtr;

	if (!req->p2p)
		return 0;
	/* A Read as RTR takes a place in the peer's queue: it must have one. */
	if (!rep->ird)
		kinds &= ~MPA_RTR_READ;
	res->rtr = startup_choose_rtr(kinds);
	if (res->rtr == MPA_RTR_READ)
		res->ord = max_t(u16, res->ord, 1);
	return res->rtr ? 0 : -EOPNOTSUPP;
}

/* Is @rep an answer to @req that @own can go on from? */
static int startup_check_reply(const struct mpa_params *own,
			       const struct mpa_frame *req,
			       const struct mpa_frame *rep)
{
	if (rep->reject)
		return -ECONNREFUSED;
	if (rep->rev > req->rev)
		return -EPROTO;
	/* Without asking: the peer does what it can do (appendix C.2.2, C.2.5). */
	if (rep->rev < mpa_lowest_rev(own) ||
	    (rep->rev == MPA_REV_RDMAC && req->enhanced))
		return -EPROTONOSUPPORT;
	if (rep->enhanced != req->enhanced || rep->p2p != req->p2p)
		return -EPROTO;
	return 0;
}

/**
 * mpa_conclude - what the Initiator makes of the Reply
 * @own: what our side asks
 * @req: the Request that was sent
 * @rep: the Reply that came
 * @res: the connection's result; complete only on success, the peer's depths
 *	are valid also with -ECONNREFUSED, -ENOSPC and -EOPNOTSUPP
 *
 * Of several RTR kinds it takes Write before Read before Send. A Reply of
 * revision 0 brings Markers in both directions, CRCs, and version 0 of DDP and
 * RDMAP, whatever was asked for (RFC 5044 appendix C.2.5).
 *
 * Return: 0, or -ECONNREFUSED if the Responder refused; -EPROTONOSUPPORT if it
 * speaks an older revision, and @own does not, or had asked for what that
 * revision does not have; -EPROTO if the Reply is no answer to the Request: of
 * a newer revision, enhanced where the Request was not or the other way round,
 * or A not echoed; -ENOSPC if our IRD cannot be raised to the Responder's ORD
 * (it is owed a Terminate 2/0/06); -EOPNOTSUPP if no RTR kind is common to both
 * (Terminate 2/0/07).
 */
int mpa_conclude(const struct mpa_params *own, const struct mpa_frame *req,
		 const struct mpa_frame *rep, struct mpa_result *res)
{
	bool rdmac = rep->rev == MPA_REV_RDMAC;
	int ret;

	*res = (struct mpa_result){
		.initiator = true,
		.rev = rep->rev,
		.ddp_version = startup_ddp_version(rep->rev),
		.enhanced = req->enhanced && rep->enhanced,
		.p2p = req->p2p,
		.tx_markers = rep->markers || rdmac,
		.rx_markers = req->markers || rdmac,
		.crc = req->crc || rep->crc || rdmac,
		.ird = own->ird,
		.ord = own->ord,
	};
	if (res->enhanced) {
		res->peer_ird = rep->ird;
		res->peer_ord = rep->ord;
	}
	ret = startup_check_reply(own, req, rep);
	if (ret || !res->enhanced)
		return ret;
	ret = startup_conclude_depths(own, req, rep, res);
	return ret ?: startup_conclude_rtr(req, rep, res);
}
