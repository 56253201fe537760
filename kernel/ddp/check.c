// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of received segments: RFC 5041 section 7, RFC 5040 section 7.
 *
 * Each check sets the fault to report, so that the caller can end the stream
 * with exactly one Terminate. Values chosen by the peer (lengths, offsets,
 * sequence numbers) are compared in unsigned arithmetic in which no sum can
 * wrap before it is checked.
 *
 * Comments give faults as layer/type/code, with the code in hexadecimal.
 *
 * The RFCs leave some codes open. Here a ULPDU too short for its header is an
 * MPA framing error (2/0/03). An opcode on the wrong kind of buffer or queue is
 * unexpected (0/2/06). A Write to a region without write access has an STag
 * that is invalid for it (1/1/00), since DDP has no access rights. The rights
 * of a stream belong to RDMAP: without them a Write, like a Read, is an access
 * violation (0/1/02). A Read Response whose sink its owner has invalidated is no
 * fault of the peer: a local catastrophic error (0/0/00).
 */
#include <linux/limits.h>
#include <linux/types.h>

#include "atomic.h"
#include "check.h"

/* The faults that the checks find; index of check_faults. */
enum check_result {
	BAD_LENGTH,
	BAD_TAGGED_VERSION,
	BAD_UNTAGGED_VERSION,
	BAD_RDMAP_VERSION,
	BAD_OPCODE,
	BAD_FORMAT,
	BAD_QN,
	BAD_MSN,
	NO_BUFFER,
	BAD_MO,
	TOO_LONG,
	TAGGED_STAG,
	TAGGED_STREAM,
	TAGGED_BOUNDS,
	TAGGED_WRAP,
	READ_STAG,
	READ_STREAM,
	READ_ACCESS,
	READ_BOUNDS,
	READ_WRAP,
	WRITE_RIGHT,
	INVALIDATE_STREAM,
	INVALIDATE_STAG,
	ATOMIC_STAG,
	ATOMIC_STREAM,
	ATOMIC_ACCESS,
	ATOMIC_BOUNDS,
	ATOMIC_WRAP,
};

#define RDMAP_FAULT(et, ec) \
	{ .layer = RDMAP_LAYER_RDMAP, .etype = (et), .code = (ec), \
	  .with_hdr = true }
#define DDP_FAULT(et, ec) \
	{ .layer = RDMAP_LAYER_DDP, .etype = (et), .code = (ec), \
	  .with_hdr = true }
#define READ_FAULT(ec) \
	{ .layer = RDMAP_LAYER_RDMAP, .etype = RDMAP_ET_PROTECTION, \
	  .code = (ec), .with_hdr = true, .with_rdmap = true }
#define MPA_FAULT(ec) \
	{ .layer = RDMAP_LAYER_LLP, .etype = LLP_ET_MPA, .code = (ec) }

/* The headers to send with each error are those of RFC 5040 figure 10. */
static const struct ddp_fault check_faults[] = {
	[BAD_LENGTH]		= MPA_FAULT(MPA_EC_MARKER),
	[BAD_TAGGED_VERSION]	= DDP_FAULT(DDP_ET_TAGGED,
					    DDP_EC_TAGGED_VERSION),
	[BAD_UNTAGGED_VERSION]	= DDP_FAULT(DDP_ET_UNTAGGED,
					    DDP_EC_UNTAGGED_VERSION),
	[BAD_RDMAP_VERSION]	= RDMAP_FAULT(RDMAP_ET_OPERATION,
					      RDMAP_EC_VERSION),
	[BAD_OPCODE]		= RDMAP_FAULT(RDMAP_ET_OPERATION,
					      RDMAP_EC_OPCODE),
	[BAD_FORMAT]		= RDMAP_FAULT(RDMAP_ET_OPERATION,
					      RDMAP_EC_UNSPECIFIED),
	[BAD_QN]		= DDP_FAULT(DDP_ET_UNTAGGED,
					    DDP_EC_UNTAGGED_QN),
	[BAD_MSN]		= DDP_FAULT(DDP_ET_UNTAGGED,
					    DDP_EC_UNTAGGED_MSN_RANGE),
	[NO_BUFFER]		= DDP_FAULT(DDP_ET_UNTAGGED,
					    DDP_EC_UNTAGGED_NO_BUFFER),
	[BAD_MO]		= DDP_FAULT(DDP_ET_UNTAGGED,
					    DDP_EC_UNTAGGED_MO),
	[TOO_LONG]		= DDP_FAULT(DDP_ET_UNTAGGED,
					    DDP_EC_UNTAGGED_TOO_LONG),
	[TAGGED_STAG]		= DDP_FAULT(DDP_ET_TAGGED,
					    DDP_EC_TAGGED_STAG),
	[TAGGED_STREAM]		= DDP_FAULT(DDP_ET_TAGGED,
					    DDP_EC_TAGGED_NOT_ASSOCIATED),
	[TAGGED_BOUNDS]		= DDP_FAULT(DDP_ET_TAGGED,
					    DDP_EC_TAGGED_BOUNDS),
	[TAGGED_WRAP]		= DDP_FAULT(DDP_ET_TAGGED,
					    DDP_EC_TAGGED_TO_WRAP),
	[READ_STAG]		= READ_FAULT(RDMAP_EC_INVALID_STAG),
	[READ_STREAM]		= READ_FAULT(RDMAP_EC_NOT_ASSOCIATED),
	[READ_ACCESS]		= READ_FAULT(RDMAP_EC_ACCESS),
	[READ_BOUNDS]		= READ_FAULT(RDMAP_EC_BOUNDS),
	[READ_WRAP]		= READ_FAULT(RDMAP_EC_TO_WRAP),
	[WRITE_RIGHT]		= RDMAP_FAULT(RDMAP_ET_PROTECTION,
					      RDMAP_EC_ACCESS),
	[INVALIDATE_STREAM]	= RDMAP_FAULT(RDMAP_ET_PROTECTION,
					      RDMAP_EC_CANNOT_INVALIDATE),
	[INVALIDATE_STAG]	= RDMAP_FAULT(RDMAP_ET_OPERATION,
					      RDMAP_EC_CANNOT_INVALIDATE),
	/* RFC 7306 section 8.1: without the RDMAP header. */
	[ATOMIC_STAG]		= RDMAP_FAULT(RDMAP_ET_PROTECTION,
					      RDMAP_EC_INVALID_STAG),
	[ATOMIC_STREAM]		= RDMAP_FAULT(RDMAP_ET_PROTECTION,
					      RDMAP_EC_NOT_ASSOCIATED),
	[ATOMIC_ACCESS]		= RDMAP_FAULT(RDMAP_ET_PROTECTION,
					      RDMAP_EC_ACCESS),
	[ATOMIC_BOUNDS]		= RDMAP_FAULT(RDMAP_ET_PROTECTION,
					      RDMAP_EC_BOUNDS),
	[ATOMIC_WRAP]		= RDMAP_FAULT(RDMAP_ET_PROTECTION,
					      RDMAP_EC_TO_WRAP),
};

const struct ddp_fault ddp_fault_crc = MPA_FAULT(MPA_EC_CRC);
const struct ddp_fault ddp_fault_marker = MPA_FAULT(MPA_EC_MARKER);
const struct ddp_fault ddp_fault_mpa_local = MPA_FAULT(MPA_EC_LOCAL);
const struct ddp_fault ddp_fault_ird = MPA_FAULT(MPA_EC_IRD);
const struct ddp_fault ddp_fault_rtr = MPA_FAULT(MPA_EC_RTR);

const struct ddp_fault ddp_fault_local = {
	.layer = RDMAP_LAYER_RDMAP,
	.etype = RDMAP_ET_LOCAL,
};

const struct ddp_fault ddp_fault_stream =
	RDMAP_FAULT(RDMAP_ET_OPERATION, RDMAP_EC_STREAM);

/*
 * Requirements of an opcode on its segments. @payload_min and @payload_max
 * bound the bytes after the DDP header. @in_one: the message must be a single
 * segment. It is shorter than the smallest MULPDU, so no sender has a reason to
 * split it. @extension: a message of RFC 7306.
 */
struct opcode_rule {
	bool known;
	bool extension;
	bool tagged;
	bool in_one;
	u8 qn;
	u32 payload_min;
	u32 payload_max;
};

static const struct opcode_rule opcode_rules[RDMAP_CTRL_OPCODE_MASK + 1] = {
	[RDMAP_WRITE] = {
		.known = true, .tagged = true, .payload_max = U32_MAX,
	},
	[RDMAP_READ_REQ] = {
		.known = true, .in_one = true, .qn = DDP_QN_READ_REQ,
		.payload_min = RDMAP_READ_REQ_LEN,
		.payload_max = RDMAP_READ_REQ_LEN,
	},
	[RDMAP_READ_RESP] = {
		.known = true, .tagged = true, .payload_max = U32_MAX,
	},
	[RDMAP_SEND] = {
		.known = true, .qn = DDP_QN_SEND, .payload_max = U32_MAX,
	},
	[RDMAP_SEND_INV] = {
		.known = true, .qn = DDP_QN_SEND, .payload_max = U32_MAX,
	},
	[RDMAP_SEND_SE] = {
		.known = true, .qn = DDP_QN_SEND, .payload_max = U32_MAX,
	},
	[RDMAP_SEND_SE_INV] = {
		.known = true, .qn = DDP_QN_SEND, .payload_max = U32_MAX,
	},
	[RDMAP_TERMINATE] = {
		.known = true, .in_one = true, .qn = DDP_QN_TERMINATE,
		.payload_min = RDMAP_TERM_MIN,
		.payload_max = RDMAP_TERM_MAX,
	},
	[RDMAP_IMM] = {
		.known = true, .extension = true, .in_one = true,
		.qn = DDP_QN_SEND,
		.payload_min = RDMAP_IMM_LEN, .payload_max = RDMAP_IMM_LEN,
	},
	[RDMAP_IMM_SE] = {
		.known = true, .extension = true, .in_one = true,
		.qn = DDP_QN_SEND,
		.payload_min = RDMAP_IMM_LEN, .payload_max = RDMAP_IMM_LEN,
	},
	[RDMAP_ATOMIC_REQ] = {
		.known = true, .extension = true, .in_one = true,
		.qn = DDP_QN_READ_REQ,
		.payload_min = RDMAP_ATOMIC_REQ_LEN,
		.payload_max = RDMAP_ATOMIC_REQ_LEN,
	},
	[RDMAP_ATOMIC_RESP] = {
		.known = true, .extension = true, .in_one = true,
		.qn = DDP_QN_ATOMIC_RESP,
		.payload_min = RDMAP_ATOMIC_RESP_LEN,
		.payload_max = RDMAP_ATOMIC_RESP_LEN,
	},
};

static bool check_refuse(struct ddp_fault *f, enum check_result result)
{
	*f = check_faults[result];
	return false;
}

static bool check_versions(const struct ddp_hdr *h, u8 version,
			   struct ddp_fault *f)
{
	if (h->ddp_version != version)
		return check_refuse(f, h->tagged ? BAD_TAGGED_VERSION :
						   BAD_UNTAGGED_VERSION);
	if (h->rdmap_version != version)
		return check_refuse(f, BAD_RDMAP_VERSION);
	return true;
}

static bool check_buffer_model(const struct ddp_hdr *h,
			       const struct opcode_rule *rule, bool extensions,
			       struct ddp_fault *f)
{
	if (h->tagged != rule->tagged)
		return check_refuse(f, BAD_OPCODE);
	if (h->tagged)
		return true;
	/* An unused queue is the more specific error, so check it first. */
	if (h->qn >= DDP_QN_COUNT + extensions)
		return check_refuse(f, BAD_QN);
	if (h->qn != rule->qn)
		return check_refuse(f, BAD_OPCODE);
	return true;
}

static bool check_format(const struct ddp_hdr *h,
			 const struct opcode_rule *rule, struct ddp_fault *f)
{
	if (rule->in_one && h->mo)
		return check_refuse(f, BAD_MO);
	if (h->payload_len > rule->payload_max)
		return check_refuse(f, TOO_LONG);
	if (h->payload_len < rule->payload_min)
		return check_refuse(f, BAD_FORMAT);
	if (rule->in_one && !h->last)
		return check_refuse(f, BAD_FORMAT);
	return true;
}

/**
 * ddp_check_control - check a header without any state
 * @h: the header, from ddp_decode()
 * @whole: ddp_decode() succeeded; if not, @h is not used
 * @version: the version of both DDP and RDMAP of this stream
 * @extensions: the stream uses the messages of RFC 7306
 * @f: the fault
 *
 * In this order: the header is complete (2/0/03), DDP version (1/1/04 or
 * 1/2/06), RDMAP version (0/2/05), opcode in use (0/2/06) and with the T bit
 * that it requires (0/2/06), queue in use (1/2/01) and belonging to the opcode
 * (0/2/06). A Read Request, a Terminate and the messages of RFC 7306 must be one
 * segment at MO 0 (1/2/04) with the L bit (0/2/FF) and with a header neither too
 * long (1/2/05) nor too short (0/2/FF). RFC 5041 section 7.1, RFC 5040 sections
 * 4 and 7.2, RFC 7306 sections 4, 5.2, 6 and 8.
 *
 * Return: true if all checks pass; else false, and @f is set.
 */
bool ddp_check_control(const struct ddp_hdr *h, bool whole, u8 version,
		       bool extensions, struct ddp_fault *f)
{
	const struct opcode_rule *rule;

	if (!whole)
		return check_refuse(f, BAD_LENGTH);
	if (!check_versions(h, version, f))
		return false;
	rule = &opcode_rules[h->opcode & RDMAP_CTRL_OPCODE_MASK];
	if (h->opcode > RDMAP_CTRL_OPCODE_MASK || !rule->known ||
	    (rule->extension && !extensions))
		return check_refuse(f, BAD_OPCODE);
	return check_buffer_model(h, rule, extensions, f) &&
	       check_format(h, rule, f);
}

/**
 * ddp_check_untagged - check an untagged segment against its queue
 * @h: its header, after ddp_check_control()
 * @q: the queue with number @h->qn
 * @f: the fault
 *
 * TCP delivers in order, so exactly one MSN and one MO are acceptable: those of
 * the next byte. In this order: MSN (1/2/03), a buffer is available (1/2/02),
 * MO (1/2/04), the payload fits into the buffer and the message is shorter than
 * 2^32 bytes (1/2/05), the opcode is that of the first segment of the message
 * (0/2/06). A segment without payload is checked in the same way, since a
 * zero-length message consumes a buffer too (RFC 5040 section 5.3). RFC 5041
 * section 7.1.
 *
 * Return: true if all checks pass; else false, and @f is set.
 */
bool ddp_check_untagged(const struct ddp_hdr *h,
			const struct ddp_queue_view *q, struct ddp_fault *f)
{
	u64 end = (u64)h->mo + h->payload_len;

	if (h->msn != q->msn)
		return check_refuse(f, BAD_MSN);
	if (!q->buffer)
		return check_refuse(f, NO_BUFFER);
	if (h->mo != q->mo || h->mo > q->buffer_len)
		return check_refuse(f, BAD_MO);
	if (end > q->buffer_len || end > U32_MAX)
		return check_refuse(f, TOO_LONG);
	if (q->mo_open && h->opcode != q->opcode)
		return check_refuse(f, BAD_OPCODE);
	return true;
}

enum extent {
	EXTENT_INSIDE,
	EXTENT_OUTSIDE,
	EXTENT_WRAPS,
};

/*
 * Position of the @len > 0 bytes at @to relative to the region. A range that
 * ends with byte 2^64 - 1 does not wrap. Only a range that starts inside the
 * region can be reported as wrapping; any other is out of bounds anyway.
 */
static enum extent check_extent(const struct ddp_region_view *r, u64 to,
				u64 len)
{
	if (to < r->base || to - r->base >= r->len)
		return EXTENT_OUTSIDE;
	if (len - 1 > U64_MAX - to)
		return EXTENT_WRAPS;
	if (len > r->len - (to - r->base))
		return EXTENT_OUTSIDE;
	return EXTENT_INSIDE;
}

/**
 * ddp_check_tagged - check a tagged segment against its sink
 * @h: its header, after ddp_check_control()
 * @r: the region with STag @h->stag
 * @f: the fault
 *
 * A segment without payload always passes: STag and TO must not be checked
 * (RFC 5041 section 5.2). Otherwise, in this order: STag (1/1/00), protection
 * domain (1/1/02), access (1/1/00), bounds (1/1/01) and wrap (1/1/03).
 * RFC 5041 section 7.1.
 *
 * Return: true if all checks pass; else false, and @f is set.
 */
bool ddp_check_tagged(const struct ddp_hdr *h,
		      const struct ddp_region_view *r, struct ddp_fault *f)
{
	if (!h->payload_len)
		return true;
	if (!r->found)
		return check_refuse(f, TAGGED_STAG);
	if (!r->same_pd)
		return check_refuse(f, TAGGED_STREAM);
	if (!r->allowed)
		return check_refuse(f, TAGGED_STAG);
	switch (check_extent(r, h->to, h->payload_len)) {
	case EXTENT_INSIDE:
		return true;
	case EXTENT_WRAPS:
		return check_refuse(f, TAGGED_WRAP);
	case EXTENT_OUTSIDE:
		break;
	}
	return check_refuse(f, TAGGED_BOUNDS);
}

/**
 * rdmap_check_read - check a Read Request against its source
 * @rd: the request
 * @r: the region with STag @rd->src_stag
 * @f: the fault
 *
 * A request of size 0 always passes: the source must not be checked. Otherwise,
 * in this order: STag (0/1/00), protection domain (0/1/03), access (0/1/02),
 * bounds (0/1/01) and wrap (0/1/04). RFC 5040 sections 5.2.1 and 7.2.
 *
 * Return: true if all checks pass; else false, and @f is set.
 */
bool rdmap_check_read(const struct rdmap_read *rd,
		      const struct ddp_region_view *r, struct ddp_fault *f)
{
	if (!rd->size)
		return true;
	if (!r->found)
		return check_refuse(f, READ_STAG);
	if (!r->same_pd)
		return check_refuse(f, READ_STREAM);
	if (!r->allowed)
		return check_refuse(f, READ_ACCESS);
	switch (check_extent(r, rd->src_to, rd->size)) {
	case EXTENT_INSIDE:
		return true;
	case EXTENT_WRAPS:
		return check_refuse(f, READ_WRAP);
	case EXTENT_OUTSIDE:
		break;
	}
	return check_refuse(f, READ_BOUNDS);
}

/**
 * rdmap_check_atomic - check an Atomic Request against its memory
 * @a: the request
 * @r: the region with STag @a->stag
 * @f: the fault
 *
 * In this order: a known operation (0/2/06), STag (0/1/00), protection domain
 * (0/1/03), access (0/1/02), bounds (0/1/01) and wrap (0/1/04), as for a Read.
 * RFC 7306 sections 5.2.1 and 8. The caller checks the alignment, which is that
 * of the memory.
 *
 * Return: true if all checks pass; else false, and @f is set.
 */
bool rdmap_check_atomic(const struct rdmap_atomic *a,
			const struct ddp_region_view *r, struct ddp_fault *f)
{
	if (a->op != RDMAP_FETCH_ADD && a->op != RDMAP_CMP_SWAP)
		return check_refuse(f, BAD_OPCODE);
	if (!r->found)
		return check_refuse(f, ATOMIC_STAG);
	if (!r->same_pd)
		return check_refuse(f, ATOMIC_STREAM);
	if (!r->allowed)
		return check_refuse(f, ATOMIC_ACCESS);
	switch (check_extent(r, a->to, RDMAP_ATOMIC_BYTES)) {
	case EXTENT_INSIDE:
		return true;
	case EXTENT_WRAPS:
		return check_refuse(f, ATOMIC_WRAP);
	case EXTENT_OUTSIDE:
		break;
	}
	return check_refuse(f, ATOMIC_BOUNDS);
}

/**
 * rdmap_check_atomic_right - check an Atomic Request against its stream
 * @right: the stream grants atomic operations
 * @f: the fault
 *
 * Without the right it is an access violation (0/1/02).
 *
 * Return: true if the check passes; else false, and @f is set.
 */
bool rdmap_check_atomic_right(bool right, struct ddp_fault *f)
{
	return right || check_refuse(f, ATOMIC_ACCESS);
}

/**
 * rdmap_check_right - check a Read or Write against the rights of its stream
 * @read: a Read Request; false: a segment of a Write
 * @len: bytes it requests or carries
 * @right: the stream grants it
 * @f: the fault
 *
 * A message without bytes always passes, so that it can open a peer-to-peer
 * stream (RFC 6581 section 9). Any other needs the right, else it is an access
 * violation (0/1/02), RFC 5040 section 4.8.
 *
 * Return: true if the check passes; else false, and @f is set.
 */
bool rdmap_check_right(bool read, u32 len, bool right, struct ddp_fault *f)
{
	if (!len || right)
		return true;
	return check_refuse(f, read ? READ_ACCESS : WRITE_RIGHT);
}

/**
 * rdmap_check_invalidate - check the Invalidate STag of a Send
 * @r: the region of the STag; @r->allowed: a peer may invalidate it
 * @f: the fault
 *
 * To be called when the message is delivered, not when its first segment
 * arrives: RFC 5040 section 5.3. An STag that is unknown or must not be
 * invalidated is 0/2/09, one of another protection domain is 0/1/09.
 *
 * Return: true if the check passes; else false, and @f is set.
 */
bool rdmap_check_invalidate(const struct ddp_region_view *r,
			    struct ddp_fault *f)
{
	if (!r->found)
		return check_refuse(f, INVALIDATE_STAG);
	if (!r->same_pd)
		return check_refuse(f, INVALIDATE_STREAM);
	if (!r->allowed)
		return check_refuse(f, INVALIDATE_STAG);
	return true;
}

/**
 * rdmap_check_response - check a Read Response segment
 * @h: its header, after ddp_check_control()
 * @v: the oldest outstanding Read
 * @f: the fault
 *
 * In this order: a Read is outstanding (0/2/06); if there is payload, the STag
 * is that of its sink (1/1/00), the TO is that of the next byte and the payload
 * is not longer than the rest of the Read (1/1/01). The last segment must
 * complete the Read (1/1/01). Responses come in request order (RFC 5040 section
 * 5.2.2). The sink itself is still to be checked: see ddp_check_tagged().
 *
 * Return: true if all checks pass; else false, and @f is set.
 */
bool rdmap_check_response(const struct ddp_hdr *h,
			  const struct ddp_read_view *v, struct ddp_fault *f)
{
	if (!v->outstanding)
		return check_refuse(f, BAD_OPCODE);
	if (h->payload_len && h->stag != v->stag)
		return check_refuse(f, TAGGED_STAG);
	if (h->payload_len && h->to != v->to)
		return check_refuse(f, TAGGED_BOUNDS);
	if (h->payload_len > v->left)
		return check_refuse(f, TAGGED_BOUNDS);
	if (h->last && h->payload_len < v->left)
		return check_refuse(f, TAGGED_BOUNDS);
	return true;
}

/**
 * rdmap_check_atomic_response - check an Atomic Response
 * @h: its header, after ddp_check_control()
 * @v: the oldest outstanding request
 * @id: its Original Request Identifier
 * @f: the fault
 *
 * In this order: an Atomic Request is the oldest outstanding one (0/2/06), MSN
 * (1/2/03), identifier (0/2/FF). RFC 7306 section 5.2.2.
 *
 * Return: true if all checks pass; else false, and @f is set.
 */
bool rdmap_check_atomic_response(const struct ddp_hdr *h,
				 const struct ddp_atomic_view *v, u32 id,
				 struct ddp_fault *f)
{
	if (!v->outstanding)
		return check_refuse(f, BAD_OPCODE);
	if (h->msn != v->msn)
		return check_refuse(f, BAD_MSN);
	if (id != v->id)
		return check_refuse(f, BAD_FORMAT);
	return true;
}
