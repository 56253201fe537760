/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wire format of MPA: RFC 5044 sections 4 and 7.1.1, RFC 6581 section 9, and the
 * Start Key of draft-culley-iwarp-mpa-03 section 8.1.1.
 * Formats, masks and limits only.
 */
#ifndef MPA_FRAMING_WIRE_H
#define MPA_FRAMING_WIRE_H

#include <linux/types.h>

enum {
	/* FPDU: ULPDU_Length, ULPDU, pad, CRC (RFC 5044 section 4.1) */
	MPA_LENGTH_FIELD	= 2,
	MPA_CRC_FIELD		= 4,
	MPA_FPDU_OVERHEAD	= MPA_LENGTH_FIELD + MPA_CRC_FIELD,
	MPA_FPDU_ALIGN		= 4,

	/* Markers (RFC 5044 sections 4.2 and 4.3) */
	MPA_MARKER_LEN		= 4,
	MPA_MARKER_PERIOD	= 512,

	/* Length of a ULPDU (RFC 5044 section 3) */
	MPA_MULPDU_MIN		= 128,
	MPA_MULPDU_MAX		= 64768,

	/* Startup frames (RFC 5044 section 7.1.1, RFC 6581 section 9) */
	MPA_KEY_LEN		= 16,
	MPA_FRAME_HDR_LEN	= 20,
	MPA_PRIVATE_DATA_MAX	= 512,
	MPA_ENHANCED_LEN	= 4,
	MPA_FRAME_MAX		= MPA_FRAME_HDR_LEN + MPA_PRIVATE_DATA_MAX,

	/* Start Key: a text, then a byte of flags and revision */
	MPA_START_KEY_TEXT_LEN	= 15,
	MPA_START_KEY_LEN	= 16,
};

#define MPA_KEY_REQUEST	"MPA ID Req Frame"
#define MPA_KEY_REPLY	"MPA ID Rep Frame"
#define MPA_START_KEY	"MPA ident frame"

/* Revisions of the RDMA Consortium, of RFC 5044 and of RFC 6581. */
enum {
	MPA_REV_RDMAC	= 0,
	MPA_REV_1	= 1,
	MPA_REV_2	= 2,
};

/*
 * The flag byte of a startup frame. The last two are bits that RFC 5044
 * reserves: they must be sent as zero, except by request of a setting, and must
 * not be checked. They are in enhanced frames only. The answer differs from the
 * question, because there are peers that copy the flags of a Request into their
 * Reply (siw does). 0x08 is not used, because siw has a meaning for it.
 */
enum {
	MPA_FLAG_MARKERS	= 0x80,
	MPA_FLAG_CRC		= 0x40,
	MPA_FLAG_REJECT		= 0x20,
	MPA_FLAG_ENHANCED	= 0x10,
	MPA_FLAG_EXT_GRANTED	= 0x02,	/* Reply: RFC 7306 is in use */
	MPA_FLAG_EXT_ASKED	= 0x01,	/* Request: use RFC 7306? */
};

/*
 * The last byte of a Start Key: MPA_FLAG_MARKERS, MPA_FLAG_CRC, two reserved bits,
 * and the revision, which is 0.
 */
enum {
	MPA_START_KEY_REV	= 0x0f,
};

/* The two 16-bit words of RFC 6581's enhanced data. */
enum {
	MPA_ENH_P2P		= 0x8000,	/* A, in the IRD word */
	MPA_ENH_RTR_SEND	= 0x4000,	/* B, in the IRD word */
	MPA_ENH_RTR_WRITE	= 0x8000,	/* C, in the ORD word */
	MPA_ENH_RTR_READ	= 0x4000,	/* D, in the ORD word */
	MPA_ENH_DEPTH_MASK	= 0x3fff,
	MPA_ENH_DEPTH_NONE	= 0x3fff,	/* "no automatic negotiation" */
};

/**
 * struct mpa_frame_hdr - fixed part of an MPA Request or Reply Frame
 * @key: %MPA_KEY_REQUEST or %MPA_KEY_REPLY, without a terminating zero
 * @flags: MPA_FLAG_* bits. The low four bits are reserved, and so is
 *	%MPA_FLAG_ENHANCED before %MPA_REV_2: sent as zero, ignored on receipt,
 *	except %MPA_FLAG_EXT_ASKED and %MPA_FLAG_EXT_GRANTED
 * @rev: MPA_REV_*
 * @pd_len: bytes of private data that follow, including the four bytes of
 *	RFC 6581
 */
struct mpa_frame_hdr {
	u8 key[MPA_KEY_LEN];
	u8 flags;
	u8 rev;
	__be16 pd_len;
} __packed;

/**
 * struct mpa_marker - a Marker in the stream
 * @reserved: sent as zero, ignored on receipt, covered by the CRC
 * @fpduptr: bytes from the containing FPDU's ULPDU_Length to this Marker;
 *	zero if the Marker is between two FPDUs
 */
struct mpa_marker {
	__be16 reserved;
	__be16 fpduptr;
} __packed;

#endif /* MPA_FRAMING_WIRE_H */
