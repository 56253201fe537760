// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encoding and decoding of DDP and RDMAP headers (RFC 5041 section 4, RFC 5040
 * section 4, RFC 7306 section 6). Values are not checked here but in check.c.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../compat/unaligned.h"
#include "header.h"

/**
 * ddp_hdr_len - length of the DDP header of a ULPDU
 * @ddp_ctrl: first byte of the ULPDU
 *
 * Return: %DDP_TAGGED_LEN or %DDP_UNTAGGED_LEN, by the T bit.
 */
u32 ddp_hdr_len(u8 ddp_ctrl)
{
	return ddp_ctrl & DDP_CTRL_TAGGED ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
}

static void header_decode_control(const u8 *p, struct ddp_hdr *h)
{
	h->last = p[DDP_OFF_CTRL] & DDP_CTRL_LAST;
	h->ddp_version = p[DDP_OFF_CTRL] & DDP_CTRL_VERSION_MASK;
	h->rdmap_version = p[DDP_OFF_RDMAP] >> RDMAP_CTRL_VERSION_SHIFT;
	h->opcode = p[DDP_OFF_RDMAP] & RDMAP_CTRL_OPCODE_MASK;
}

/**
 * ddp_decode - decode the DDP and RDMAP control fields of a segment
 * @p: start of the ULPDU; all bytes of its header are readable, or all
 *	@ulpdu_len bytes if these are fewer
 * @ulpdu_len: ULPDU_Length, bytes
 * @h: the fields; those of the other kind of buffer are zero
 *
 * Reserved bits are ignored, as RFC 5041 section 4.1 and RFC 5040 section 4.1
 * require. Only the length is checked, so that the caller can report a wrong
 * field together with the header.
 *
 * Return: 0, or -EMSGSIZE if @ulpdu_len is too short for the header that the T
 * bit announces; then all of @h except @h->tagged is zero.
 */
int ddp_decode(const u8 *p, u32 ulpdu_len, struct ddp_hdr *h)
{
	bool tagged = ulpdu_len && (p[DDP_OFF_CTRL] & DDP_CTRL_TAGGED);

	if (!ulpdu_len || ulpdu_len < ddp_hdr_len(p[DDP_OFF_CTRL])) {
		*h = (struct ddp_hdr){ .tagged = tagged };
		return -EMSGSIZE;
	}

	/* One store for each field: done for every FPDU. */
	h->tagged = tagged;
	header_decode_control(p, h);
	h->hdr_len = ddp_hdr_len(p[DDP_OFF_CTRL]);
	h->payload_len = ulpdu_len - h->hdr_len;
	h->stag = get_unaligned_be32(p + DDP_OFF_STAG);
	if (tagged) {
		h->to = get_unaligned_be64(p + DDP_OFF_TO);
		h->qn = 0;
		h->msn = 0;
		h->mo = 0;
	} else {
		h->to = 0;
		h->qn = get_unaligned_be32(p + DDP_OFF_QN);
		h->msn = get_unaligned_be32(p + DDP_OFF_MSN);
		h->mo = get_unaligned_be32(p + DDP_OFF_MO);
	}
	return 0;
}

/**
 * ddp_continues - check if a segment only continues another one
 * @p: header of the first segment
 * @next: header of the second segment, as many bytes
 * @passed: payload bytes from the start of the first to the start of the second
 *
 * Such segments of one message can be checked and placed as if they were one,
 * since the second header contains no new information. No segment continues one
 * that has the L bit.
 *
 * Return: true if the headers are equal except for the TO or MO, and that has
 * grown by @passed.
 */
bool ddp_continues(const u8 *p, const u8 *next, u32 passed)
{
	if (p[DDP_OFF_CTRL] & DDP_CTRL_LAST)
		return false;
	if (p[DDP_OFF_CTRL] & DDP_CTRL_TAGGED)
		return !memcmp(p, next, DDP_OFF_TO) &&
		       get_unaligned_be64(next + DDP_OFF_TO) ==
		       get_unaligned_be64(p + DDP_OFF_TO) + passed;
	return !memcmp(p, next, DDP_OFF_MO) &&
	       get_unaligned_be32(next + DDP_OFF_MO) ==
	       get_unaligned_be32(p + DDP_OFF_MO) + passed;
}

/**
 * rdmap_read_decode - decode an RDMA Read Request header
 * @p: its %RDMAP_READ_REQ_LEN bytes, all readable
 * @rd: the fields, unchecked
 */
void rdmap_read_decode(const u8 *p, struct rdmap_read *rd)
{
	rd->sink_stag = get_unaligned_be32(p + RDMAP_READ_OFF_SINK_STAG);
	rd->sink_to = get_unaligned_be64(p + RDMAP_READ_OFF_SINK_TO);
	rd->size = get_unaligned_be32(p + RDMAP_READ_OFF_SIZE);
	rd->src_stag = get_unaligned_be32(p + RDMAP_READ_OFF_SRC_STAG);
	rd->src_to = get_unaligned_be64(p + RDMAP_READ_OFF_SRC_TO);
}

/**
 * rdmap_imm_decode - decode Immediate Data
 * @p: its %RDMAP_IMM_LEN bytes, all readable
 *
 * The message has eight bytes, verbs have four: they are the first four, and
 * the others are ignored.
 *
 * Return: the bytes in the order in which they were received.
 */
__be32 rdmap_imm_decode(const u8 *p)
{
	__be32 imm;

	memcpy(&imm, p, sizeof(imm));
	return imm;
}

static void header_build_control(u8 *p, u8 kind, u8 version, u8 opcode,
				 bool last)
{
	p[DDP_OFF_CTRL] = kind | (last ? DDP_CTRL_LAST : 0) |
			  (version & DDP_CTRL_VERSION_MASK);
	p[DDP_OFF_RDMAP] = (version << RDMAP_CTRL_VERSION_SHIFT) |
			   (opcode & RDMAP_CTRL_OPCODE_MASK);
}

/**
 * ddp_build_tagged - write the header of a tagged segment
 * @p: destination, %DDP_TAGGED_LEN bytes
 * @version: version of both DDP and RDMAP
 * @opcode: enum rdmap_opcode
 * @last: L bit
 * @stag: STag of the sink buffer
 * @to: tagged offset of the payload
 *
 * Return: bytes written, %DDP_TAGGED_LEN.
 */
u32 ddp_build_tagged(u8 *p, u8 version, u8 opcode, bool last, u32 stag, u64 to)
{
	header_build_control(p, DDP_CTRL_TAGGED, version, opcode, last);
	put_unaligned_be32(stag, p + DDP_OFF_STAG);
	put_unaligned_be64(to, p + DDP_OFF_TO);
	return DDP_TAGGED_LEN;
}

/**
 * ddp_build_untagged - write the header of an untagged segment
 * @p: destination, %DDP_UNTAGGED_LEN bytes
 * @version: version of both DDP and RDMAP
 * @opcode: enum rdmap_opcode
 * @last: L bit
 * @inv_stag: Invalidate STag, zero for opcodes that have none
 * @qn: queue number
 * @msn: message sequence number
 * @mo: message offset of the payload
 *
 * Return: bytes written, %DDP_UNTAGGED_LEN.
 */
u32 ddp_build_untagged(u8 *p, u8 version, u8 opcode, bool last, u32 inv_stag,
		       u32 qn, u32 msn, u32 mo)
{
	header_build_control(p, 0, version, opcode, last);
	put_unaligned_be32(inv_stag, p + DDP_OFF_STAG);
	put_unaligned_be32(qn, p + DDP_OFF_QN);
	put_unaligned_be32(msn, p + DDP_OFF_MSN);
	put_unaligned_be32(mo, p + DDP_OFF_MO);
	return DDP_UNTAGGED_LEN;
}

/**
 * rdmap_read_build - write an RDMA Read Request header
 * @p: destination directly after the DDP header, %RDMAP_READ_REQ_LEN bytes
 * @rd: the fields
 *
 * Return: bytes written, %RDMAP_READ_REQ_LEN.
 */
u32 rdmap_read_build(u8 *p, const struct rdmap_read *rd)
{
	put_unaligned_be32(rd->sink_stag, p + RDMAP_READ_OFF_SINK_STAG);
	put_unaligned_be64(rd->sink_to, p + RDMAP_READ_OFF_SINK_TO);
	put_unaligned_be32(rd->size, p + RDMAP_READ_OFF_SIZE);
	put_unaligned_be32(rd->src_stag, p + RDMAP_READ_OFF_SRC_STAG);
	put_unaligned_be64(rd->src_to, p + RDMAP_READ_OFF_SRC_TO);
	return RDMAP_READ_REQ_LEN;
}

/**
 * rdmap_imm_build - write Immediate Data
 * @p: destination directly after the DDP header, %RDMAP_IMM_LEN bytes
 * @imm: the four bytes of verbs; the other four are written as zero
 *
 * Return: bytes written, %RDMAP_IMM_LEN.
 */
u32 rdmap_imm_build(u8 *p, __be32 imm)
{
	memset(p, 0, RDMAP_IMM_LEN);
	memcpy(p, &imm, sizeof(imm));
	return RDMAP_IMM_LEN;
}
