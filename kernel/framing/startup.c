// SPDX-License-Identifier: GPL-2.0-only
/*
 * The startup exchange: encoding and decoding of Request and Reply Frames of
 * revisions 0, 1 and 2, and the negotiation. RFC 5044 section 7.1 and
 * appendix C, RFC 6581 sections 6 to 10.
 *
 * Revision 0 is that of the RDMA Consortium's implementations; in practice
 * other software exchanges the startup frames for them. They always use Markers
 * and CRCs, whatever the frames say, so with revision 0 both are in use in both
 * directions (appendix C.1 and C.2.5).
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

	/* Highest depth that is not the value for "no negotiation". */
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

/* The first wrong byte decides, so the result does not depend on portions. */
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

/* The S bit exists since revision 2; before that it is reserved and ignored. */
static bool startup_is_enhanced(const u8 *buf)
{
	return buf[OFF_FLAGS] & MPA_FLAG_ENHANCED && buf[OFF_REV] >= MPA_REV_2;
}

static int startup_check_pd_len(const u8 *buf, u32 avail)
{
	/* The high byte alone can already be too large. */
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

/*
 * The answer counts only without the question: a peer that copies the flags of
 * the Request does not answer it.
 */
static bool startup_has_extensions(u8 flags, bool reply)
{
	flags &= MPA_FLAG_EXT_ASKED | MPA_FLAG_EXT_GRANTED;
	return reply ? flags == MPA_FLAG_EXT_GRANTED :
		       flags & MPA_FLAG_EXT_ASKED;
}

static void startup_parse_enhanced(const u8 *p, struct mpa_frame *f)
{
	u16 ird = startup_get_word(p);
	u16 ord = startup_get_word(p + 2);

	f->ird = ird & MPA_ENH_DEPTH_MASK;
	f->ord = ord & MPA_ENH_DEPTH_MASK;
	f->p2p = ird & MPA_ENH_P2P;
	/* RFC 6581 section 9.2: B, C and D have no meaning without A. */
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
 * @buf: the bytes received so far, starting with the first one of the frame
 * @avail: bytes at @buf; bytes after the frame are ignored
 * @expect_reply: a Reply is expected (Initiator); else a Request
 * @f: the frame, written only when it is complete
 * @pd: set likewise to the private data of the consumer within @buf, @f->pd_len
 *	bytes
 *
 * An invalid frame is refused as soon as its bytes allow it, and with the same
 * error in whatever portions it is received.
 *
 * Reserved bits are ignored (RFC 5044 section 7.1.1), except those of
 * @f->extensions in enhanced frames; before revision 2 the bit of enhanced
 * frames is one of them. It is not checked whether this side
 * supports the revision, nor whether the flags of a frame of revision 0 are
 * what such peers use: see mpa_answer() and mpa_conclude().
 *
 * Return: bytes of the whole frame; 0 if more than @avail are needed; negative
 * if it is invalid: -EPROTO for a wrong key, but -EALREADY for a Request where
 * a Reply is expected (both sides are Initiators, RFC 5044 section 7.1.2 rule
 * 8), -EPROTONOSUPPORT for an unknown revision, -EMSGSIZE for more than
 * %MPA_PRIVATE_DATA_MAX bytes of private data, -EINVAL for an enhanced frame
 * that is too short for its four bytes.
 */
int mpa_frame_parse(const u8 *buf, u32 avail, bool expect_reply,
		    struct mpa_frame *f, const u8 **pd)
{
	const u8 *body;
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
	body = buf + MPA_FRAME_HDR_LEN;
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
		f->extensions = startup_has_extensions(flags, expect_reply);
		f->pd_len -= MPA_ENHANCED_LEN;
		*pd += MPA_ENHANCED_LEN;
	}
	return MPA_FRAME_HDR_LEN + pd_len;
}

static u8 startup_extensions_flag(const struct mpa_frame *f)
{
	if (!f->enhanced || !f->extensions)
		return 0;
	return f->reply ? MPA_FLAG_EXT_GRANTED : MPA_FLAG_EXT_ASKED;
}

static u8 startup_frame_flags(const struct mpa_frame *f)
{
	return (f->markers ? MPA_FLAG_MARKERS : 0) |
	       (f->crc ? MPA_FLAG_CRC : 0) |
	       (f->reply && f->reject ? MPA_FLAG_REJECT : 0) |
	       (f->enhanced ? MPA_FLAG_ENHANCED : 0) |
	       startup_extensions_flag(f);
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
 * @buf: destination
 * @room: bytes available at @buf; %MPA_FRAME_MAX is always enough
 * @f: the frame
 * @pd: private data of the consumer, @f->pd_len bytes; unused if that is 0
 *
 * Return: bytes written; -EMSGSIZE if there is more private data than a frame
 * of this kind can carry: %MPA_PRIVATE_DATA_MAX bytes, less %MPA_ENHANCED_LEN
 * in an enhanced frame; -ENOSPC if @room is too small.
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
 * mpa_request_from - make the Request of an Initiator
 * @own: local parameters
 * @req: the Request, without private data. To exclude a depth from automatic
 *	negotiation the caller sets @req->ird or @req->ord to
 *	%MPA_ENH_DEPTH_NONE before sending (RFC 6581 section 9.1).
 *
 * The Request is of revision 2 and enhanced if @own allows and wants that; else
 * of revision 1, or of 0 if @own supports no other. Peer-to-peer mode is asked
 * for only if a kind of RTR is supported, and the messages of RFC 7306 only if
 * @own wants to negotiate them, in an enhanced Request.
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
	req->extensions = own->extensions == MPA_EXTENSIONS_NEGOTIATE;
	req->ird = min_t(u16, own->ird, DEPTH_MAX);
	req->ord = min_t(u16, own->ord, DEPTH_MAX);
	req->p2p = own->p2p && own->rtr;
	req->rtr = req->p2p ? own->rtr : 0;
}

/* RFC 6581 section 9.1, Responder: sets the depths of @res and @rep. */
static void startup_answer_depths(const struct mpa_params *own,
				  const struct mpa_frame *req,
				  struct mpa_frame *rep, struct mpa_result *res)
{
	if (req->ird != MPA_ENH_DEPTH_NONE)
		res->ord = min(own->ord, req->ird);
	if (req->ord != MPA_ENH_DEPTH_NONE && req->ord > own->ird)
		res->ird = max_t(u16, own->ird, min(req->ord, own->ird_max));
	/* The Initiator may use a Read as RTR whatever its ORD is. */
	if (rep->rtr & MPA_RTR_READ)
		res->ird = max_t(u16, res->ird, 1);

	rep->ird = min_t(u16, res->ird, DEPTH_MAX);
	/* A Reply that rejects states the ORD that was requested locally. */
	rep->ord = min_t(u16, rep->reject ? own->ord : res->ord, DEPTH_MAX);
	if (req->ord == MPA_ENH_DEPTH_NONE)
		rep->ird = MPA_ENH_DEPTH_NONE;
	if (req->ird == MPA_ENH_DEPTH_NONE)
		rep->ord = MPA_ENH_DEPTH_NONE;
	res->peer_ird = req->ird;
	res->peer_ord = req->ord;
}

/*
 * Are the messages of RFC 7306 in use? @agreed: the frames say so. Revision 0
 * has a version of RDMAP without them.
 */
static bool startup_extensions(const struct mpa_params *own, u8 rev,
			       bool agreed)
{
	if (rev == MPA_REV_RDMAC)
		return false;
	return own->extensions == MPA_EXTENSIONS_ON || agreed;
}

static u8 startup_ddp_version(u8 rev)
{
	return rev == MPA_REV_RDMAC ? 0 : 1;
}

/* Revision of the Reply to a Request of @rev, or -EPROTONOSUPPORT. */
static int startup_reply_rev(const struct mpa_params *own, u8 rev, bool reject)
{
	if (mpa_rev_supported(own, rev))
		return min(own->rev, rev);
	/* Appendix C.2.1: the Reply tells an older peer why it is rejected. */
	if (reject && rev < mpa_lowest_rev(own))
		return mpa_lowest_rev(own);
	return -EPROTONOSUPPORT;
}

/**
 * mpa_answer - make the Reply of a Responder and its result
 * @own: local parameters; @own->rtr must contain at least one kind if @own->rev
 *	is %MPA_REV_2 (RFC 6581 section 9.2)
 * @req: the Request
 * @reject: reject the connection
 * @rep: the Reply, without private data
 * @res: result of the exchange; with @reject only the depths of the peer are
 *	meaningful
 *
 * The Reply has the revision and kind of the Request. It repeats bit A, keeps
 * the local ORD within the IRD of the Initiator and raises the local IRD to the
 * ORD of the Initiator, at most to @own->ird_max, and to 1 if the RTR may be a
 * Read. A depth that the Initiator excludes from negotiation is not changed.
 * The Reply offers the RTR kinds that both sides support, or all local ones if
 * there are none in common (RFC 6581 section 9). C is set if either side
 * prefers CRCs, since they are in use then. In a Reply of revision 0 both M and
 * C are set whatever @own prefers (RFC 5044 appendix C.2.3). A Request for the
 * messages of RFC 7306 is granted unless @own has them off.
 *
 * Return: 0; -EPROTONOSUPPORT, with nothing written, if @own does not support
 * the revision of the Request: a newer one is never answered, and an older one
 * only with @reject, in the lowest revision of @own.
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
		.extensions = req->extensions && own->extensions && !reject,
		.rev = rev,
	};
	*res = (struct mpa_result){
		.rev = rev,
		.ddp_version = startup_ddp_version(rev),
		.enhanced = req->enhanced,
		.extensions = startup_extensions(own, rev, rep->extensions),
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
	/* Send is last: it is unclear if it consumes a receive buffer. */
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
	/* A Read as RTR needs a peer that accepts at least one Read. */
	if (!rep->ird)
		kinds &= ~MPA_RTR_READ;
	res->rtr = startup_choose_rtr(kinds);
	if (res->rtr == MPA_RTR_READ)
		res->ord = max_t(u16, res->ord, 1);
	return res->rtr ? 0 : -EOPNOTSUPP;
}

/* Checks if @own can continue with @rep as the Reply to @req. */
static int startup_check_reply(const struct mpa_params *own,
			       const struct mpa_frame *req,
			       const struct mpa_frame *rep)
{
	if (rep->reject)
		return -ECONNREFUSED;
	if (rep->rev > req->rev)
		return -EPROTO;
	/* The peer does what it can without being asked: C.2.2, C.2.5. */
	if (rep->rev < mpa_lowest_rev(own) ||
	    (rep->rev == MPA_REV_RDMAC && req->enhanced))
		return -EPROTONOSUPPORT;
	if (rep->enhanced != req->enhanced || rep->p2p != req->p2p)
		return -EPROTO;
	return 0;
}

/**
 * mpa_conclude - result of the exchange for the Initiator
 * @own: local parameters
 * @req: the Request that was sent
 * @rep: the Reply that was received
 * @res: result of the exchange; complete only on success. The depths of the
 *	peer are valid also with -ECONNREFUSED, -ENOSPC and -EOPNOTSUPP
 *
 * Of several RTR kinds Write is preferred to Read and Read to Send. With a
 * Reply of revision 0 Markers are in use in both directions, CRCs are in use,
 * and the version of DDP and RDMAP is 0, whatever was asked for (RFC 5044
 * appendix C.2.5).
 *
 * Return: 0; -ECONNREFUSED if the Responder rejected; -EPROTONOSUPPORT if it
 * uses an older revision that @own does not support, or that lacks what @req
 * asked for; -EPROTO if the Reply does not match the Request: it has a newer
 * revision, is enhanced and the Request is not or vice versa, or does not
 * repeat bit A; -ENOSPC if the local IRD cannot be raised to the ORD of the
 * Responder (a Terminate with error 2/0/06 must be sent); -EOPNOTSUPP if both
 * sides have no RTR kind in common (Terminate with error 2/0/07).
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
		.extensions = startup_extensions(own, rep->rev,
						 req->extensions &&
						 rep->extensions),
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

/* Request and Reply Frames. */
const struct mpa_exchange mpa_exchange_frames = {
	.parse		= mpa_frame_parse,
	.build		= mpa_frame_build,
	.request_from	= mpa_request_from,
	.answer		= mpa_answer,
	.conclude	= mpa_conclude,
};
