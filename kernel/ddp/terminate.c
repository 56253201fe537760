// SPDX-License-Identifier: GPL-2.0-only
/* The Terminate message: RFC 5040 section 4.8. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../compat/unaligned.h"
#include "terminate.h"

/* Offsets of the fields of a Terminate header. */
enum {
	TERM_OFF_LAYER	= 0,	/* layer: high four bits, type: low four */
	TERM_OFF_CODE	= 1,
	TERM_OFF_FLAGS	= 2,
	TERM_OFF_RSVD	= 3,
	TERM_OFF_LEN	= 4,
	TERM_OFF_DDP	= TERM_OFF_LEN + RDMAP_TERM_LEN_FIELD,
};

/* RFC 5040 figure 10 requires the segment length whenever the DDP header is. */
static bool terminate_has_ddp(const struct ddp_fault *f, const u8 *seg,
			      u32 seg_hdr_len)
{
	return f->with_hdr && seg && seg_hdr_len &&
	       seg_hdr_len >= ddp_hdr_len(seg[DDP_OFF_CTRL]);
}

static bool terminate_has_read(const struct ddp_fault *f, const u8 *seg,
			       u32 seg_hdr_len)
{
	return f->with_rdmap && !(seg[DDP_OFF_CTRL] & DDP_CTRL_TAGGED) &&
	       (seg[DDP_OFF_RDMAP] & RDMAP_CTRL_OPCODE_MASK) ==
		       RDMAP_READ_REQ &&
	       seg_hdr_len >= RDMAP_READ_REQ_ULPDU;
}

/* Appends length and headers of the segment to @p; returns the bytes at @p. */
static u32 terminate_add_segment(u8 *p, const struct ddp_fault *f,
				 const u8 *seg, u32 seg_hdr_len, u32 seg_len)
{
	u32 len = ddp_hdr_len(seg[DDP_OFF_CTRL]);

	p[TERM_OFF_FLAGS] = RDMAP_TERM_HAS_LEN | RDMAP_TERM_HAS_DDP;
	if (terminate_has_read(f, seg, seg_hdr_len)) {
		p[TERM_OFF_FLAGS] |= RDMAP_TERM_HAS_RDMAP;
		len = RDMAP_READ_REQ_ULPDU;
	}
	put_unaligned_be16(min_t(u32, seg_len, U16_MAX), p + TERM_OFF_LEN);
	memcpy(p + TERM_OFF_DDP, seg, len);
	return TERM_OFF_DDP + len;
}

/**
 * rdmap_terminate_build - write a whole Terminate ULPDU
 * @p: destination, %RDMAP_TERM_ULPDU_MAX bytes
 * @version: version of both DDP and RDMAP
 * @f: the error to report
 * @seg: the faulty segment as received; %NULL for an error that no inbound
 *	segment caused. For a Read that failed after n bytes of response the
 *	caller has increased its two TOs by n and reduced its size by n.
 * @seg_hdr_len: bytes available at @seg: the DDP header, and for a Read Request
 *	the RDMAP header after it; more is not used
 * @seg_len: ULPDU_Length of the segment
 *
 * The message is a single segment on queue 2 with MSN 1. It carries segment
 * length and DDP header (M, D) if @f requires them and the header is available
 * in full, and then likewise the Read Request header (R). The caller must
 * ensure that a stream sends only one Terminate, and nothing after it.
 *
 * Return: bytes written.
 */
u32 rdmap_terminate_build(u8 *p, u8 version, const struct ddp_fault *f,
			  const u8 *seg, u32 seg_hdr_len, u32 seg_len)
{
	u32 hdr_len = ddp_build_untagged(p, version, RDMAP_TERMINATE, true, 0,
					 DDP_QN_TERMINATE, 1, 0);
	u8 *term = p + hdr_len;

	term[TERM_OFF_LAYER] = (f->layer << 4) | (f->etype & 0x0f);
	term[TERM_OFF_CODE] = f->code;
	term[TERM_OFF_FLAGS] = 0;
	term[TERM_OFF_RSVD] = 0;
	if (!terminate_has_ddp(f, seg, seg_hdr_len))
		return hdr_len + RDMAP_TERM_MIN;
	return hdr_len +
	       terminate_add_segment(term, f, seg, seg_hdr_len, seg_len);
}

/*
 * Minimum length of a Terminate with these @flags, as far as the @len bytes at
 * @p determine it; 0 if the flags contradict each other.
 */
static u32 terminate_needed_len(const u8 *p, u32 len, u8 flags)
{
	u32 need = RDMAP_TERM_MIN;

	if ((flags & RDMAP_TERM_HAS_DDP) && !(flags & RDMAP_TERM_HAS_LEN))
		return 0;
	if ((flags & RDMAP_TERM_HAS_RDMAP) && !(flags & RDMAP_TERM_HAS_DDP))
		return 0;

	if (flags & RDMAP_TERM_HAS_LEN)
		need += RDMAP_TERM_LEN_FIELD;
	/* The first byte of the DDP header, if received, gives its length. */
	if (flags & RDMAP_TERM_HAS_DDP)
		need += len > TERM_OFF_DDP ? ddp_hdr_len(p[TERM_OFF_DDP]) :
					     DDP_TAGGED_LEN;
	if (flags & RDMAP_TERM_HAS_RDMAP)
		need += RDMAP_READ_REQ_LEN;
	return need;
}

/**
 * rdmap_terminate_parse - decode a received Terminate header
 * @p: the bytes after the DDP header, @len of them readable
 * @len: bytes at @p; bytes after the announced fields are ignored
 * @t: the fields; any layer, type and code is accepted
 *
 * Some stacks send a zero-filled header without any of M, D and R, which is
 * valid. A Terminate must not be answered with another one, so -EPROTO is only
 * for local use. Layer, type and code are then set if the first four bytes were
 * received, and all other fields are zero.
 *
 * Return: 0, or -EPROTO if bytes are missing, or R is set without D, or D
 * without M.
 */
int rdmap_terminate_parse(const u8 *p, u32 len, struct rdmap_terminate *t)
{
	u32 need;
	u8 flags;

	*t = (struct rdmap_terminate){};
	if (len < RDMAP_TERM_MIN)
		return -EPROTO;

	t->layer = p[TERM_OFF_LAYER] >> 4;
	t->etype = p[TERM_OFF_LAYER] & 0x0f;
	t->code = p[TERM_OFF_CODE];
	flags = p[TERM_OFF_FLAGS];
	need = terminate_needed_len(p, len, flags);
	if (!need || len < need)
		return -EPROTO;

	t->has_len = flags & RDMAP_TERM_HAS_LEN;
	t->has_ddp = flags & RDMAP_TERM_HAS_DDP;
	t->has_rdmap = flags & RDMAP_TERM_HAS_RDMAP;
	if (t->has_len)
		t->seg_len = get_unaligned_be16(p + TERM_OFF_LEN);
	return 0;
}

struct error_text {
	u8 layer;
	u8 etype;
	u8 code;
	const char *text;
};

#define PROTECTION(ec, phrase) \
	{ .layer = RDMAP_LAYER_RDMAP, .etype = RDMAP_ET_PROTECTION, \
	  .code = RDMAP_EC_##ec, .text = (phrase) }
#define OPERATION(ec, phrase) \
	{ .layer = RDMAP_LAYER_RDMAP, .etype = RDMAP_ET_OPERATION, \
	  .code = RDMAP_EC_##ec, .text = (phrase) }
#define TAGGED(ec, phrase) \
	{ .layer = RDMAP_LAYER_DDP, .etype = DDP_ET_TAGGED, \
	  .code = DDP_EC_TAGGED_##ec, .text = (phrase) }
#define UNTAGGED(ec, phrase) \
	{ .layer = RDMAP_LAYER_DDP, .etype = DDP_ET_UNTAGGED, \
	  .code = DDP_EC_UNTAGGED_##ec, .text = (phrase) }
#define MPA(ec, phrase) \
	{ .layer = RDMAP_LAYER_LLP, .etype = LLP_ET_MPA, \
	  .code = MPA_EC_##ec, .text = (phrase) }

static const struct error_text error_texts[] = {
	PROTECTION(INVALID_STAG, "Read source: invalid STag"),
	PROTECTION(BOUNDS, "Read source: out of bounds"),
	PROTECTION(ACCESS, "Read source: access not allowed"),
	PROTECTION(NOT_ASSOCIATED, "Read source: STag of another stream"),
	PROTECTION(TO_WRAP, "Read source: tagged offset wraps"),
	PROTECTION(CANNOT_INVALIDATE,
		   "STag of another stream cannot be invalidated"),
	PROTECTION(UNSPECIFIED, "unspecified remote protection error"),

	OPERATION(VERSION, "invalid RDMAP version"),
	OPERATION(OPCODE, "unexpected opcode"),
	OPERATION(STREAM, "catastrophic error of the stream"),
	OPERATION(GLOBAL, "catastrophic error of the device"),
	OPERATION(CANNOT_INVALIDATE, "STag cannot be invalidated"),
	OPERATION(UNSPECIFIED, "unspecified remote operation error"),

	{ .layer = RDMAP_LAYER_DDP, .etype = DDP_ET_LOCAL,
	  .text = "local catastrophic error in DDP" },
	TAGGED(STAG, "invalid STag"),
	TAGGED(BOUNDS, "tagged buffer: out of bounds"),
	TAGGED(NOT_ASSOCIATED, "STag of another stream"),
	TAGGED(TO_WRAP, "tagged offset wraps"),
	TAGGED(VERSION, "invalid DDP version in a tagged segment"),
	UNTAGGED(QN, "invalid queue number"),
	UNTAGGED(NO_BUFFER, "no buffer for the message"),
	UNTAGGED(MSN_RANGE, "message sequence number out of range"),
	UNTAGGED(MO, "invalid message offset"),
	UNTAGGED(TOO_LONG, "message too long for its buffer"),
	UNTAGGED(VERSION, "invalid DDP version in an untagged segment"),

	MPA(TCP_LOST, "TCP connection closed or lost"),
	MPA(CRC, "CRC mismatch"),
	MPA(MARKER, "Marker and ULPDU length disagree"),
	MPA(FRAME, "invalid MPA Request or Reply Frame"),
	MPA(LOCAL, "local catastrophic error in MPA"),
	MPA(IRD, "insufficient IRD resources"),
	MPA(RTR, "no matching RTR option"),
};

/**
 * rdmap_error_text - describe a layer, type and code
 * @layer: enum rdmap_layer, or any other value that a peer may send
 * @etype: error type
 * @code: error code
 *
 * Return: a short English phrase for logs and tools, never %NULL; the same for
 * all values that no RFC defines.
 */
const char *rdmap_error_text(u8 layer, u8 etype, u8 code)
{
	size_t i;

	/* The code of a local catastrophic error has no meaning. */
	if (layer == RDMAP_LAYER_RDMAP && etype == RDMAP_ET_LOCAL)
		return "local catastrophic error in RDMAP";

	for (i = 0; i < ARRAY_SIZE(error_texts); i++) {
		const struct error_text *e = &error_texts[i];

		if (e->layer == layer && e->etype == etype && e->code == code)
			return e->text;
	}
	return "unspecified error";
}
