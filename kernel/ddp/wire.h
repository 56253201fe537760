/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Formats and numbers of DDP (RFC 5041) and RDMAP (RFC 5040).
 */
#ifndef MPA_DDP_WIRE_H
#define MPA_DDP_WIRE_H

#include <linux/types.h>

enum {
	DDP_CTRL_TAGGED		= 0x80,
	DDP_CTRL_LAST		= 0x40,
	DDP_CTRL_VERSION_MASK	= 0x03,
	RDMAP_CTRL_VERSION_SHIFT = 6,
	RDMAP_CTRL_OPCODE_MASK	= 0x0f,

	DDP_TAGGED_LEN		= 14,
	DDP_UNTAGGED_LEN	= 18,
	DDP_HDR_MAX		= 18,
	RDMAP_READ_REQ_LEN	= 28,
	RDMAP_READ_REQ_ULPDU	= DDP_UNTAGGED_LEN + RDMAP_READ_REQ_LEN,
	RDMAP_IMM_LEN		= 8,
	RDMAP_IMM_ULPDU		= DDP_UNTAGGED_LEN + RDMAP_IMM_LEN,
	RDMAP_ATOMIC_REQ_LEN	= 52,
	RDMAP_ATOMIC_REQ_ULPDU	= DDP_UNTAGGED_LEN + RDMAP_ATOMIC_REQ_LEN,
	RDMAP_ATOMIC_RESP_LEN	= 12,
	RDMAP_ATOMIC_RESP_ULPDU	= DDP_UNTAGGED_LEN + RDMAP_ATOMIC_RESP_LEN,
	/* Bytes of memory that an atomic operation changes. */
	RDMAP_ATOMIC_BYTES	= 8,
	RDMAP_TERM_MIN		= 4,
	RDMAP_TERM_LEN_FIELD	= 2,
	RDMAP_TERM_MAX		= RDMAP_TERM_MIN + RDMAP_TERM_LEN_FIELD +
				  DDP_HDR_MAX + RDMAP_READ_REQ_LEN,
	RDMAP_TERM_ULPDU_MAX	= DDP_UNTAGGED_LEN + RDMAP_TERM_MAX,
};

/* Offsets of the DDP fields in a ULPDU, bytes (RFC 5041 section 4). */
enum {
	DDP_OFF_CTRL		= 0,
	DDP_OFF_RDMAP		= 1,
	DDP_OFF_STAG		= 2,	/* untagged: Invalidate STag */
	DDP_OFF_TO		= 6,	/* tagged */
	DDP_OFF_QN		= 6,	/* untagged */
	DDP_OFF_MSN		= 10,	/* untagged */
	DDP_OFF_MO		= 14,	/* untagged */
};

/* Offsets of the fields of a Read Request header (RFC 5040 section 4.4). */
enum {
	RDMAP_READ_OFF_SINK_STAG	= 0,
	RDMAP_READ_OFF_SINK_TO		= 4,
	RDMAP_READ_OFF_SIZE		= 12,
	RDMAP_READ_OFF_SRC_STAG		= 16,
	RDMAP_READ_OFF_SRC_TO		= 20,
};

/* Offsets of the fields of an Atomic Request header (RFC 7306 section 5.2.1). */
enum {
	RDMAP_ATOMIC_OFF_OP		= 0,	/* in the low four bits */
	RDMAP_ATOMIC_OFF_ID		= 4,
	RDMAP_ATOMIC_OFF_STAG		= 8,
	RDMAP_ATOMIC_OFF_TO		= 12,
	RDMAP_ATOMIC_OFF_DATA		= 20,
	RDMAP_ATOMIC_OFF_MASK		= 28,
	RDMAP_ATOMIC_OFF_COMPARE	= 36,
	RDMAP_ATOMIC_OFF_COMPARE_MASK	= 44,
	RDMAP_ATOMIC_OP_MASK		= 0x0f,
};

/*
 * Offsets of the fields of an Atomic Response header (RFC 7306 section 5.2.2).
 */
enum {
	RDMAP_ATOMIC_RESP_OFF_ID	= 0,
	RDMAP_ATOMIC_RESP_OFF_VALUE	= 4,
};

/* RFC 7306 section 5.2.1; there is no Swap, but CmpSwap can do it. */
enum rdmap_atomic_op {
	RDMAP_FETCH_ADD		= 0x0,
	RDMAP_CMP_SWAP		= 0x2,
};

/* DDP and RDMAP version of the IETF protocols. */
enum { RDMAP_VERSION = 1 };

/* RFC 5040 section 4.1, RFC 7306 section 4 */
enum rdmap_opcode {
	RDMAP_WRITE		= 0x0,
	RDMAP_READ_REQ		= 0x1,
	RDMAP_READ_RESP		= 0x2,
	RDMAP_SEND		= 0x3,
	RDMAP_SEND_INV		= 0x4,
	RDMAP_SEND_SE		= 0x5,
	RDMAP_SEND_SE_INV	= 0x6,
	RDMAP_TERMINATE		= 0x7,
	RDMAP_IMM		= 0x8,
	RDMAP_IMM_SE		= 0x9,
	RDMAP_ATOMIC_REQ	= 0xa,
	RDMAP_ATOMIC_RESP	= 0xb,
};

/* Untagged queues. */
enum ddp_queue {
	DDP_QN_SEND		= 0,
	DDP_QN_READ_REQ		= 1,
	DDP_QN_TERMINATE	= 2,
	DDP_QN_ATOMIC_RESP	= 3,
	DDP_QN_COUNT		= 3,	/* 4 with the messages of RFC 7306 */
};

/* The flag byte of a Terminate header (RFC 5040 section 4.8). */
enum {
	RDMAP_TERM_HAS_LEN	= 0x80,	/* M */
	RDMAP_TERM_HAS_DDP	= 0x40,	/* D */
	RDMAP_TERM_HAS_RDMAP	= 0x20,	/* R */
};

/* Layer of an error: RFC 5040 section 4.8. */
enum rdmap_layer {
	RDMAP_LAYER_RDMAP	= 0,
	RDMAP_LAYER_DDP		= 1,
	RDMAP_LAYER_LLP		= 2,	/* MPA */
};

/* Error types of %RDMAP_LAYER_RDMAP: RFC 5040 section 4.8. */
enum rdmap_error_type {
	RDMAP_ET_LOCAL		= 0,	/* local catastrophic error */
	RDMAP_ET_PROTECTION	= 1,	/* remote protection error */
	RDMAP_ET_OPERATION	= 2,	/* remote operation error */
};

/* Error types of %RDMAP_LAYER_DDP: RFC 5041 section 7.2. */
enum ddp_error_type {
	DDP_ET_LOCAL		= 0,	/* local catastrophic error */
	DDP_ET_TAGGED		= 1,	/* tagged buffer error */
	DDP_ET_UNTAGGED		= 2,	/* untagged buffer error */
};

/* Error type of %RDMAP_LAYER_LLP: RFC 5044 section 8. */
enum llp_error_type {
	LLP_ET_MPA		= 0,
};

/*
 * Error codes of %RDMAP_ET_PROTECTION and %RDMAP_ET_OPERATION: RFC 5040
 * figure 9. The code of %RDMAP_ET_LOCAL is 0.
 */
enum rdmap_error_code {
	RDMAP_EC_INVALID_STAG		= 0x00,
	RDMAP_EC_BOUNDS			= 0x01,
	RDMAP_EC_ACCESS			= 0x02,
	RDMAP_EC_NOT_ASSOCIATED		= 0x03,
	RDMAP_EC_TO_WRAP		= 0x04,
	RDMAP_EC_VERSION		= 0x05,
	RDMAP_EC_OPCODE			= 0x06,
	RDMAP_EC_STREAM			= 0x07,
	RDMAP_EC_GLOBAL			= 0x08,
	RDMAP_EC_CANNOT_INVALIDATE	= 0x09,
	RDMAP_EC_UNSPECIFIED		= 0xff,
};

/* Error codes of %DDP_ET_TAGGED: RFC 5041 section 7.2. */
enum ddp_tagged_error_code {
	DDP_EC_TAGGED_STAG		= 0x00,
	DDP_EC_TAGGED_BOUNDS		= 0x01,
	DDP_EC_TAGGED_NOT_ASSOCIATED	= 0x02,
	DDP_EC_TAGGED_TO_WRAP		= 0x03,
	DDP_EC_TAGGED_VERSION		= 0x04,
};

/* Error codes of %DDP_ET_UNTAGGED: RFC 5041 section 7.2. */
enum ddp_untagged_error_code {
	DDP_EC_UNTAGGED_QN		= 0x01,
	DDP_EC_UNTAGGED_NO_BUFFER	= 0x02,
	DDP_EC_UNTAGGED_MSN_RANGE	= 0x03,
	DDP_EC_UNTAGGED_MO		= 0x04,
	DDP_EC_UNTAGGED_TOO_LONG	= 0x05,
	DDP_EC_UNTAGGED_VERSION		= 0x06,
};

/* Error codes of %LLP_ET_MPA: RFC 5044 section 8, RFC 6581 section 8. */
enum llp_error_code {
	MPA_EC_TCP_LOST			= 0x01,
	MPA_EC_CRC			= 0x02,
	MPA_EC_MARKER			= 0x03,
	MPA_EC_FRAME			= 0x04,
	MPA_EC_LOCAL			= 0x05,
	MPA_EC_IRD			= 0x06,
	MPA_EC_RTR			= 0x07,
};

#endif /* MPA_DDP_WIRE_H */
