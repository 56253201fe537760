/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of DDP and RDMAP headers. The numbers are those of RFC 5040, 5041, 5044
 * and 6581: the constants of the code under test are not used here, so that a
 * wrong one is detected.
 *
 * Plain C that is also C++20: designated initialisers in order of declaration.
 */
#ifndef MPA_TESTS_DDP_H
#define MPA_TESTS_DDP_H

#include <linux/types.h>

#include "../../kernel/ddp/atomic.h"
#include "../../kernel/ddp/terminate.h"
#include "hex.h"

/**
 * struct ddp_want - expected result of a check
 * @ok: the segment passes
 * @fault: the fault if it does not
 */
struct ddp_want {
	bool ok;
	struct ddp_fault fault;
};

#define WANT_OK			{ true, { 0, 0, 0, false, false } }
#define WANT(l, t, c)		{ false, { l, t, c, true, false } }
#define WANT_READ(c)		{ false, { 0, 1, c, true, true } }
#define WANT_NO_HEADER(l, t, c)	{ false, { l, t, c, false, false } }

/**
 * struct ddp_wire_case - one header, as bytes and as fields
 * @name: what it shows
 * @bytes: the ULPDU's header, hex
 * @ulpdu_len: length of the whole ULPDU
 * @want: the fields
 */
struct ddp_wire_case {
	const char *name;
	const char *bytes;
	u32 ulpdu_len;
	struct ddp_hdr want;
};

static const struct ddp_wire_case ddp_wire_cases[] = {
	{
		"Send, RFC 5041 example, first segment",
		"0143 00000000 00000000 00000001 00000000", 1500,
		{ .ddp_version = 1, .rdmap_version = 1, .opcode = 3, .msn = 1,
		  .hdr_len = 18, .payload_len = 1482 },
	}, {
		"Send, RFC 5041 example, last segment",
		"4143 00000000 00000000 00000001 000005CA", 584,
		{ .last = true, .ddp_version = 1, .rdmap_version = 1,
		  .opcode = 3, .msn = 1, .mo = 1482, .hdr_len = 18,
		  .payload_len = 566 },
	}, {
		"Write, RFC 5041 example, first segment",
		"8140 01020304 0000000000004000", 1500,
		{ .tagged = true, .ddp_version = 1, .rdmap_version = 1,
		  .stag = 0x01020304, .to = 16384, .hdr_len = 14,
		  .payload_len = 1486 },
	}, {
		"Write, RFC 5041 example, last segment",
		"C140 01020304 00000000000045CE", 576,
		{ .tagged = true, .last = true, .ddp_version = 1,
		  .rdmap_version = 1, .stag = 0x01020304, .to = 17870,
		  .hdr_len = 14, .payload_len = 562 },
	}, {
		"tagged, each byte its own",
		"C142 A1A2A3A4 B1B2B3B4B5B6B7B8", 14,
		{ .tagged = true, .last = true, .ddp_version = 1,
		  .rdmap_version = 1, .opcode = 2, .stag = 0xa1a2a3a4,
		  .to = 0xb1b2b3b4b5b6b7b8ULL, .hdr_len = 14 },
	}, {
		"untagged, each byte its own",
		"4146 A1A2A3A4 B1B2B3B4 C1C2C3C4 D1D2D3D4", 65535,
		{ .last = true, .ddp_version = 1, .rdmap_version = 1,
		  .opcode = 6, .stag = 0xa1a2a3a4, .qn = 0xb1b2b3b4,
		  .msn = 0xc1c2c3c4, .mo = 0xd1d2d3d4, .hdr_len = 18,
		  .payload_len = 65517 },
	}, {
		"untagged, all ones, version 3",
		"43CF FFFFFFFF FFFFFFFF FFFFFFFF FFFFFFFF", 18,
		{ .last = true, .ddp_version = 3, .rdmap_version = 3,
		  .opcode = 15, .stag = 0xffffffff, .qn = 0xffffffff,
		  .msn = 0xffffffff, .mo = 0xffffffff, .hdr_len = 18 },
	}, {
		"tagged, all zero but T",
		"8000 00000000 0000000000000000", 15,
		{ .tagged = true, .hdr_len = 14, .payload_len = 1 },
	},
};

/**
 * struct ddp_read_case - a Read Request header, as bytes and as fields
 * @name: what it shows
 * @bytes: the 28 bytes, hex
 * @want: the fields
 */
struct ddp_read_case {
	const char *name;
	const char *bytes;
	struct rdmap_read want;
};

static const struct ddp_read_case ddp_read_cases[] = {
	{
		"each byte its own",
		"01020304 1112131415161718 21222324 31323334 4142434445464748",
		{ 0x01020304, 0x1112131415161718ULL, 0x21222324, 0x31323334,
		  0x4142434445464748ULL },
	}, {
		"all ones",
		"FFFFFFFF FFFFFFFFFFFFFFFF FFFFFFFF FFFFFFFF FFFFFFFFFFFFFFFF",
		{ 0xffffffff, ~0ULL, 0xffffffff, 0xffffffff, ~0ULL },
	}, {
		"all zero",
		"00000000 0000000000000000 00000000 00000000 0000000000000000",
		{ 0, 0, 0, 0, 0 },
	},
};

enum ddp_fpdu_kind {
	DDP_FPDU_WRITE,
	DDP_FPDU_READ,
	DDP_FPDU_RESPONSE,
	DDP_FPDU_SEND,
	DDP_FPDU_TERMINATE,
};

/**
 * struct ddp_fpdu_case - a reference FPDU of the RFCs or computed from them
 * @name: what it is
 * @kind: how to build its ULPDU
 * @fpdu: ULPDU_Length, ULPDU and CRC, without Markers, hex
 */
struct ddp_fpdu_case {
	const char *name;
	enum ddp_fpdu_kind kind;
	const char *fpdu;
};

/* Bytes 2 to 17, or 2 to 13, of a header. */
#define SEND_TAIL	" 00000000 00000000 00000001 00000000"
#define READ_TAIL	" 00000000 00000001 00000001 00000000"
#define ATOMIC_TAIL	" 00000000 00000003 00000001 00000000"
#define TERM_TAIL	" 00000000 00000002 00000001 00000000"
#define TAGGED_TAIL	" 00000100 0000000000001000"
#define ZEROS_12	" 00000000 00000000 00000000"

static const struct ddp_fpdu_case ddp_fpdu_cases[] = {
	{
		"RTR: zero-length Write", DDP_FPDU_WRITE,
		"000E C140 00000000 0000000000000000 A30572AB",
	}, {
		"RTR: zero-length Read", DDP_FPDU_READ,
		"002E 4141" READ_TAIL ZEROS_12 ZEROS_12 " 00000000 F2C6DD3D",
	}, {
		"response to the RTR Read", DDP_FPDU_RESPONSE,
		"000E C142 00000000 0000000000000000 6975D6CA",
	}, {
		"Send of RFC 5044 figure 5, without its Marker", DDP_FPDU_SEND,
		"002A 4143" SEND_TAIL ZEROS_12 ZEROS_12 " B7243EC3",
	}, {
		"Terminate 2/0/06 without headers", DDP_FPDU_TERMINATE,
		"0016 4147" TERM_TAIL " 20060000 6540FB1B",
	},
};

/**
 * struct ddp_control_case - a header checked without any state
 * @name: what it shows
 * @bytes: the bytes of the ULPDU that are available, hex
 * @ulpdu_len: length of the whole ULPDU
 * @want: the result
 */
struct ddp_control_case {
	const char *name;
	const char *bytes;
	u32 ulpdu_len;
	struct ddp_want want;
};

static const struct ddp_control_case ddp_control_cases[] = {
	{ "Write", "C140" TAGGED_TAIL, 78, WANT_OK },
	{ "Write, more to come", "8140" TAGGED_TAIL, 78, WANT_OK },
	{ "Write, one byte", "C140" TAGGED_TAIL, 15, WANT_OK },
	{ "Write, no payload", "C140" TAGGED_TAIL, 14, WANT_OK },
	{ "Read Response", "C142" TAGGED_TAIL, 78, WANT_OK },
	{ "Read Response, no payload", "C142" TAGGED_TAIL, 14, WANT_OK },
	{ "Send", "4143" SEND_TAIL, 42, WANT_OK },
	{ "Send, more to come", "0143" SEND_TAIL, 42, WANT_OK },
	{ "Send, no payload", "4143" SEND_TAIL, 18, WANT_OK },
	{ "Send, longest", "4143" SEND_TAIL, 64768, WANT_OK },
	{ "Send, later segment",
	  "4143 00000000 00000000 FFFFFFFF FFFFFFF0", 20, WANT_OK },
	{ "Send with Invalidate", "4144" SEND_TAIL, 42, WANT_OK },
	{ "Send with SE", "4145" SEND_TAIL, 42, WANT_OK },
	{ "Send with SE and Invalidate", "4146" SEND_TAIL, 42, WANT_OK },
	{ "Send, bytes 2-5 not zero",
	  "4143 DEADBEEF 00000000 00000001 00000000", 42, WANT_OK },
	{ "Read Request", "4141" READ_TAIL, 46, WANT_OK },
	{ "Terminate, shortest", "4147" TERM_TAIL, 22, WANT_OK },
	{ "Terminate, longest", "4147" TERM_TAIL, 70, WANT_OK },

	{ "tagged, 13 bytes", "C140 00000100 00000000000010", 13,
	  WANT_NO_HEADER(2, 0, 3) },
	{ "tagged, 2 bytes", "C140", 2, WANT_NO_HEADER(2, 0, 3) },
	{ "tagged, 1 byte", "C1", 1, WANT_NO_HEADER(2, 0, 3) },
	{ "nothing", "", 0, WANT_NO_HEADER(2, 0, 3) },
	{ "untagged, 13 bytes", "4143 00000000 00000000 000000", 13,
	  WANT_NO_HEADER(2, 0, 3) },
	{ "untagged, 14 bytes", "4143 00000000 00000000 00000001", 14,
	  WANT_NO_HEADER(2, 0, 3) },
	{ "untagged, 17 bytes", "4143 00000000 00000000 00000001 000000",
	  17, WANT_NO_HEADER(2, 0, 3) },
	{ "before D3: short, and DV 0", "C040", 2,
	  WANT_NO_HEADER(2, 0, 3) },

	{ "tagged, DV 0", "C040" TAGGED_TAIL, 78, WANT(1, 1, 4) },
	{ "tagged, DV 2", "C240" TAGGED_TAIL, 78, WANT(1, 1, 4) },
	{ "tagged, DV 3", "C340" TAGGED_TAIL, 78, WANT(1, 1, 4) },
	{ "tagged, DV 0, no payload", "C040" TAGGED_TAIL, 14,
	  WANT(1, 1, 4) },
	{ "untagged, DV 0", "4043" SEND_TAIL, 42, WANT(1, 2, 6) },
	{ "untagged, DV 2", "4243" SEND_TAIL, 42, WANT(1, 2, 6) },
	{ "untagged, DV 3", "4343" SEND_TAIL, 42, WANT(1, 2, 6) },
	{ "before R1: DV 0 and RV 0", "4003" SEND_TAIL, 42,
	  WANT(1, 2, 6) },

	{ "Write, DDP Rsvd bits", "FD40" TAGGED_TAIL, 78, WANT_OK },
	{ "Send, DDP Rsvd bits", "7D43" SEND_TAIL, 42, WANT_OK },
	{ "Write, RDMAP Rsv bits", "C170" TAGGED_TAIL, 78, WANT_OK },
	{ "Send, RDMAP Rsv bits", "4173" SEND_TAIL, 42, WANT_OK },

	{ "Write, RV 0", "C100" TAGGED_TAIL, 78, WANT(0, 2, 5) },
	{ "Write, RV 2", "C180" TAGGED_TAIL, 78, WANT(0, 2, 5) },
	{ "Write, RV 3", "C1C0" TAGGED_TAIL, 78, WANT(0, 2, 5) },
	{ "Send, RV 0", "4103" SEND_TAIL, 42, WANT(0, 2, 5) },
	{ "Send, RV 2", "4183" SEND_TAIL, 42, WANT(0, 2, 5) },
	{ "Send, RV 3", "41C3" SEND_TAIL, 42, WANT(0, 2, 5) },
	{ "before R2: RV 0, opcode F", "410F" SEND_TAIL, 42,
	  WANT(0, 2, 5) },
	{ "before D5: RV 0, QN 4",
	  "4103 00000000 00000004 00000001 00000000", 42, WANT(0, 2, 5) },

	{ "QN 3", "4143 00000000 00000003 00000001 00000000", 42,
	  WANT(1, 2, 1) },
	{ "QN 4", "4143 00000000 00000004 00000001 00000000", 42,
	  WANT(1, 2, 1) },
	{ "QN 0x100", "4143 00000000 00000100 00000001 00000000", 42,
	  WANT(1, 2, 1) },
	{ "QN 0x1000000", "4143 00000000 01000000 00000001 00000000", 42,
	  WANT(1, 2, 1) },
	{ "QN 0xFFFFFFFF", "4143 00000000 FFFFFFFF 00000001 00000000", 42,
	  WANT(1, 2, 1) },
	{ "Send without payload, QN 4",
	  "4143 00000000 00000004 00000001 00000000", 18, WANT(1, 2, 1) },
	{ "Read Request, QN 4",
	  "4141 00000000 00000004 00000001 00000000", 46, WANT(1, 2, 1) },
	{ "before D5: opcode C, QN 4",
	  "414C 00000000 00000004 00000001 00000000", 42, WANT(0, 2, 6) },
	{ "before D5: opcode 0, T=0, QN 4",
	  "4140 00000000 00000004 00000001 00000000", 42, WANT(0, 2, 6) },

	{ "Read Request, 18 bytes", "4141" READ_TAIL, 18,
	  WANT(0, 2, 0xff) },
	{ "Read Request, 45 bytes", "4141" READ_TAIL, 45,
	  WANT(0, 2, 0xff) },
	{ "Read Request, 47 bytes", "4141" READ_TAIL, 47, WANT(1, 2, 5) },
	{ "Read Request, L=0", "0141" READ_TAIL, 46, WANT(0, 2, 0xff) },
	{ "Read Request, second half",
	  "4141 00000000 00000001 00000001 0000000E", 32, WANT(1, 2, 4) },
	{ "Read Request, MO 1",
	  "4141 00000000 00000001 00000001 00000001", 46, WANT(1, 2, 4) },
	{ "Read Request, MO 0xFFFFFFFF",
	  "4141 00000000 00000001 00000001 FFFFFFFF", 46, WANT(1, 2, 4) },
	{ "T6 Terminate, L=0", "0147" TERM_TAIL, 22, WANT(0, 2, 0xff) },
	{ "T6 Terminate, MO 4",
	  "4147 00000000 00000002 00000001 00000004", 22, WANT(1, 2, 4) },
	{ "T6 Terminate, QN 1",
	  "4147 00000000 00000001 00000001 00000000", 22, WANT(0, 2, 6) },
	{ "T7 Terminate, no header byte", "4147" TERM_TAIL, 18,
	  WANT(0, 2, 0xff) },
	{ "T7 Terminate, 3 header bytes", "4147" TERM_TAIL, 21,
	  WANT(0, 2, 0xff) },
	{ "T7 Terminate, 53 header bytes", "4147" TERM_TAIL, 71,
	  WANT(1, 2, 5) },
};

/* On a stream with the messages of RFC 7306 */
static const struct ddp_control_case ddp_extension_cases[] = {
	{ "Immediate Data", "4148" SEND_TAIL, 26, WANT_OK },
	{ "Immediate Data with SE", "4149" SEND_TAIL, 26, WANT_OK },
	{ "Immediate Data, reserved bits, bytes 2-5 not zero",
	  "7D78 DEADBEEF 00000000 00000001 00000000", 26, WANT_OK },
	{ "X12 Immediate Data, no byte", "4148" SEND_TAIL, 18,
	  WANT(0, 2, 0xff) },
	{ "X12 Immediate Data, 7 bytes", "4148" SEND_TAIL, 25,
	  WANT(0, 2, 0xff) },
	{ "X12 Immediate Data, 9 bytes", "4148" SEND_TAIL, 27,
	  WANT(1, 2, 5) },
	{ "X12 Immediate Data with SE, 7 bytes", "4149" SEND_TAIL, 25,
	  WANT(0, 2, 0xff) },
	{ "X12 Immediate Data with SE, 9 bytes", "4149" SEND_TAIL, 27,
	  WANT(1, 2, 5) },
	{ "Immediate Data, longest", "4149" SEND_TAIL, 64768, WANT(1, 2, 5) },
	{ "Immediate Data, L=0", "0148" SEND_TAIL, 26, WANT(0, 2, 0xff) },
	{ "Immediate Data, MO 4",
	  "4148 00000000 00000000 00000001 00000004", 26, WANT(1, 2, 4) },
	{ "Atomic Request", "414A" READ_TAIL, 70, WANT_OK },
	{ "Atomic Request, reserved bits, bytes 2-5 not zero",
	  "7D7A DEADBEEF 00000001 00000001 00000000", 70, WANT_OK },
	{ "Atomic Response", "414B" ATOMIC_TAIL, 30, WANT_OK },
	{ "X7 Atomic Request, 69 bytes", "414A" READ_TAIL, 69,
	  WANT(0, 2, 0xff) },
	{ "X7 Atomic Request, 71 bytes", "414A" READ_TAIL, 71,
	  WANT(1, 2, 5) },
	{ "X7 Atomic Response, 29 bytes", "414B" ATOMIC_TAIL, 29,
	  WANT(0, 2, 0xff) },
	{ "X7 Atomic Response, 31 bytes", "414B" ATOMIC_TAIL, 31,
	  WANT(1, 2, 5) },
	{ "Atomic Request, L=0", "014A" READ_TAIL, 70, WANT(0, 2, 0xff) },
	{ "Atomic Response, L=0", "014B" ATOMIC_TAIL, 30,
	  WANT(0, 2, 0xff) },
	{ "Atomic Request, QN 3", "414A" ATOMIC_TAIL, 70, WANT(0, 2, 6) },
	{ "Atomic Response, QN 1", "414B" READ_TAIL, 30, WANT(0, 2, 6) },
	{ "Atomic Response, QN 4",
	  "414B 00000000 00000004 00000001 00000000", 30, WANT(1, 2, 1) },
	{ "Immediate Data, QN 1",
	  "4148 00000000 00000001 00000001 00000000", 26, WANT(0, 2, 6) },
};

/**
 * struct ddp_imm_case - Immediate Data, whose first half verbs have
 * @name: what it shows
 * @bytes: the 8 bytes, hex
 * @sloppy: the second half is not zero: decode only
 */
struct ddp_imm_case {
	const char *name;
	const char *bytes;
	bool sloppy;
};

static const struct ddp_imm_case ddp_imm_cases[] = {
	{ "each byte its own", "01020304 00000000", false },
	{ "all ones", "FFFFFFFF 00000000", false },
	{ "all zero", "00000000 00000000", false },
	{ "eight bytes", "01020304 05060708", true },
};

/**
 * struct ddp_flip_case - a valid segment with one control bit inverted
 * @name: the segment
 * @bytes: its header
 * @ulpdu_len: length of the ULPDU
 * @want: the result for each inverted bit of the control word, bit 15 (T) first
 */
struct ddp_flip_case {
	const char *name;
	const char *bytes;
	u32 ulpdu_len;
	struct ddp_want want[16];
};

static const struct ddp_flip_case ddp_flip_cases[] = {
	{
		"Send", "4143" SEND_TAIL, 42,
		{
			WANT(0, 2, 6), WANT_OK,			/* T, L */
			WANT_OK, WANT_OK, WANT_OK, WANT_OK,	/* Rsvd */
			WANT(1, 2, 6), WANT(1, 2, 6),		/* DV */
			WANT(0, 2, 5), WANT(0, 2, 5),		/* RV */
			WANT_OK, WANT_OK,			/* Rsv */
			WANT(0, 2, 6), WANT(0, 2, 6),		/* B, 7 */
			WANT(0, 2, 6), WANT(0, 2, 6),		/* 1, 2 */
		},
	}, {
		"Write", "C140" TAGGED_TAIL, 78,
		{
			WANT(0, 2, 6), WANT_OK,
			WANT_OK, WANT_OK, WANT_OK, WANT_OK,
			WANT(1, 1, 4), WANT(1, 1, 4),
			WANT(0, 2, 5), WANT(0, 2, 5),
			WANT_OK, WANT_OK,
			WANT(0, 2, 6), WANT(0, 2, 6),		/* 8, 4 */
			WANT_OK, WANT(0, 2, 6),			/* 2, 1 */
		},
	}, {
		"Read Request", "4141" READ_TAIL, 46,
		{
			WANT(0, 2, 6), WANT(0, 2, 0xff),
			WANT_OK, WANT_OK, WANT_OK, WANT_OK,
			WANT(1, 2, 6), WANT(1, 2, 6),
			WANT(0, 2, 5), WANT(0, 2, 5),
			WANT_OK, WANT_OK,
			WANT(0, 2, 6), WANT(0, 2, 6),		/* 9, 5 */
			WANT(0, 2, 6), WANT(0, 2, 6),		/* 3, 0 */
		},
	}, {
		"Terminate", "4147" TERM_TAIL, 22,
		{
			WANT(0, 2, 6), WANT(0, 2, 0xff),
			WANT_OK, WANT_OK, WANT_OK, WANT_OK,
			WANT(1, 2, 6), WANT(1, 2, 6),
			WANT(0, 2, 5), WANT(0, 2, 5),
			WANT_OK, WANT_OK,
			WANT(0, 2, 6), WANT(0, 2, 6),		/* F, 3 */
			WANT(0, 2, 6), WANT(0, 2, 6),		/* 5, 6 */
		},
	},
};

/* The queue numbers of ddp_opcode_cases, in the order of @untagged. */
static const u32 ddp_queue_numbers[] = {
	0, 1, 2, 3, 4, 0x100, 0x10000, 0x1000000, 0x80000000, 0xffffffff,
};

/**
 * struct ddp_opcode_case - an opcode on every kind of buffer and queue
 * @payload: valid number of bytes after the DDP header
 * @tagged: the result with T=1
 * @untagged: the results with T=0, for each of ddp_queue_numbers
 */
struct ddp_opcode_case {
	u32 payload;
	struct ddp_want tagged;
	struct ddp_want untagged[10];
};

#define WANT_OP		WANT(0, 2, 6)
#define WANT_QN		WANT(1, 2, 1)
#define WANT_BY_QUEUE(q0, q1, q2) \
	{ q0, q1, q2, WANT_QN, WANT_QN, WANT_QN, WANT_QN, WANT_QN, WANT_QN, \
	  WANT_QN }
/* With the messages of RFC 7306 queue 3 is in use. */
#define WANT_BY_FOUR(q0, q1, q2, q3) \
	{ q0, q1, q2, q3, WANT_QN, WANT_QN, WANT_QN, WANT_QN, WANT_QN, WANT_QN }
#define WANT_OP_ALWAYS	{ WANT_OP, WANT_OP, WANT_OP, WANT_OP, WANT_OP, \
			  WANT_OP, WANT_OP, WANT_OP, WANT_OP, WANT_OP }

static const struct ddp_opcode_case ddp_opcode_cases[16] = {
	/* 0 Write */
	{ 8, WANT_OK, WANT_OP_ALWAYS },
	/* 1 Read Request */
	{ 28, WANT_OP, WANT_BY_QUEUE(WANT_OP, WANT_OK, WANT_OP) },
	/* 2 Read Response */
	{ 8, WANT_OK, WANT_OP_ALWAYS },
	/* 3 - 6 the Sends */
	{ 8, WANT_OP, WANT_BY_QUEUE(WANT_OK, WANT_OP, WANT_OP) },
	{ 8, WANT_OP, WANT_BY_QUEUE(WANT_OK, WANT_OP, WANT_OP) },
	{ 8, WANT_OP, WANT_BY_QUEUE(WANT_OK, WANT_OP, WANT_OP) },
	{ 8, WANT_OP, WANT_BY_QUEUE(WANT_OK, WANT_OP, WANT_OP) },
	/* 7 Terminate */
	{ 4, WANT_OP, WANT_BY_QUEUE(WANT_OP, WANT_OP, WANT_OK) },
	/* 8, 9 Immediate Data, A, B Atomics: RFC 7306 */
	{ 8, WANT_OP, WANT_OP_ALWAYS },
	{ 8, WANT_OP, WANT_OP_ALWAYS },
	{ 52, WANT_OP, WANT_OP_ALWAYS },
	{ 12, WANT_OP, WANT_OP_ALWAYS },
	/* C - F unassigned */
	{ 8, WANT_OP, WANT_OP_ALWAYS },
	{ 8, WANT_OP, WANT_OP_ALWAYS },
	{ 8, WANT_OP, WANT_OP_ALWAYS },
	{ 8, WANT_OP, WANT_OP_ALWAYS },
};

/* The same on a stream with the messages of RFC 7306 */
static const struct ddp_opcode_case ddp_extension_opcodes[16] = {
	{ 8, WANT_OK, WANT_OP_ALWAYS },
	{ 28, WANT_OP, WANT_BY_FOUR(WANT_OP, WANT_OK, WANT_OP, WANT_OP) },
	{ 8, WANT_OK, WANT_OP_ALWAYS },
	{ 8, WANT_OP, WANT_BY_FOUR(WANT_OK, WANT_OP, WANT_OP, WANT_OP) },
	{ 8, WANT_OP, WANT_BY_FOUR(WANT_OK, WANT_OP, WANT_OP, WANT_OP) },
	{ 8, WANT_OP, WANT_BY_FOUR(WANT_OK, WANT_OP, WANT_OP, WANT_OP) },
	{ 8, WANT_OP, WANT_BY_FOUR(WANT_OK, WANT_OP, WANT_OP, WANT_OP) },
	{ 4, WANT_OP, WANT_BY_FOUR(WANT_OP, WANT_OP, WANT_OK, WANT_OP) },
	/* 8, 9 Immediate Data */
	{ 8, WANT_OP, WANT_BY_FOUR(WANT_OK, WANT_OP, WANT_OP, WANT_OP) },
	{ 8, WANT_OP, WANT_BY_FOUR(WANT_OK, WANT_OP, WANT_OP, WANT_OP) },
	/* A Atomic Request, B Atomic Response */
	{ 52, WANT_OP, WANT_BY_FOUR(WANT_OP, WANT_OK, WANT_OP, WANT_OP) },
	{ 12, WANT_OP, WANT_BY_FOUR(WANT_OP, WANT_OP, WANT_OP, WANT_OK) },
	/* C - F unassigned */
	{ 8, WANT_OP, WANT_OP_ALWAYS },
	{ 8, WANT_OP, WANT_OP_ALWAYS },
	{ 8, WANT_OP, WANT_OP_ALWAYS },
	{ 8, WANT_OP, WANT_OP_ALWAYS },
};

/**
 * struct ddp_atomic_case - an Atomic Request header, as bytes and as fields
 * @name: what it shows
 * @bytes: the 52 bytes, hex
 * @want: the fields
 */
struct ddp_atomic_case {
	const char *name;
	const char *bytes;
	struct rdmap_atomic want;
};

static const struct ddp_atomic_case ddp_atomic_cases[] = {
	{
		"each byte its own",
		"00000002 01020304 11121314 2122232425262728 3132333435363738 4142434445464748 5152535455565758 6162636465666768",
		{ 2, 0x01020304, 0x11121314, 0x2122232425262728ULL,
		  0x3132333435363738ULL, 0x4142434445464748ULL,
		  0x5152535455565758ULL, 0x6162636465666768ULL },
	}, {
		"all ones",
		"0000000F FFFFFFFF FFFFFFFF FFFFFFFFFFFFFFFF FFFFFFFFFFFFFFFF FFFFFFFFFFFFFFFF FFFFFFFFFFFFFFFF FFFFFFFFFFFFFFFF",
		{ 15, ~0U, ~0U, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL },
	}, {
		"all zero",
		"00000000 00000000 00000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000",
		{ 0, 0, 0, 0, 0, 0, 0, 0 },
	},
};

/**
 * struct ddp_result_case - an operation and what it makes of a value
 * @name: what it shows
 * @op: 0 FetchAdd, 2 CmpSwap
 * @old: the value
 * @data: Add Data or Swap Data
 * @mask: Add Mask or Swap Mask
 * @compare: Compare Data
 * @compare_mask: Compare Mask
 * @want: the new value
 */
struct ddp_result_case {
	const char *name;
	u8 op;
	u64 old;
	u64 data;
	u64 mask;
	u64 compare;
	u64 compare_mask;
	u64 want;
};

#define ONES		0xffffffffffffffffULL
#define TOPS_OF_BYTES	0x8080808080808080ULL

static const struct ddp_result_case ddp_result_cases[] = {
	{ "X1 add 0", 0, 0x1122334455667788ULL, 0, 0, 0, ONES,
	  0x1122334455667788ULL },
	{ "X1 add all ones", 0, 5, ONES, 0, 0, ONES, 4 },
	{ "add beyond the end", 0, ONES, 2, 0, 0, ONES, 1 },
	{ "carry into the upper half", 0, 0xffffffffULL, 1, 0, 0, ONES,
	  0x100000000ULL },
	{ "no carry into the upper half", 0, 0xffffffffULL,
	  1, 0x80000000ULL, 0, ONES, 0 },
	{ "mask of the top bit alone", 0, ONES, 2, 1ULL << 63, 0, ONES, 1 },
	{ "X2 eight bytes", 0, 0xff00807f01feff10ULL,
	  0x0101808101020110ULL, TOPS_OF_BYTES, 0, ONES, 0x0001000002000020ULL },
	{ "every bit alone", 0, 0xff00ff00ff00ff00ULL,
	  0xf0f0f0f0f0f0f0f0ULL, ONES, 0, ONES, 0x0ff00ff00ff00ff0ULL },
	{ "X3 equal", 2, 7, 9, ONES, 7, ONES, 9 },
	{ "X3 not equal", 2, 8, 9, ONES, 7, ONES, 8 },
	{ "X3 not equal in one bit", 2, 1ULL << 63, 9, ONES, 0, ONES,
	  1ULL << 63 },
	{ "X3 nothing compared: Swap", 2, 8, 9, ONES, 7, 0, 9 },
	{ "X3 nothing swapped", 2, 7, 9, 0, 7, ONES, 7 },
	{ "X3 upper half compared, lower half swapped", 2,
	  0x1122334455667788ULL, 0xaaaaaaaaaaaaaaaaULL, 0xffffffffULL,
	  0x1122334400000000ULL, 0xffffffff00000000ULL,
	  0x11223344aaaaaaaaULL },
	{ "X3 upper half not equal", 2,
	  0x1122334455667788ULL, 0xaaaaaaaaaaaaaaaaULL, 0xffffffffULL,
	  0x1122334500000000ULL, 0xffffffff00000000ULL,
	  0x1122334455667788ULL },
};

/**
 * struct ddp_atomic_check_case - an Atomic Request and its memory
 * @name: what it shows
 * @op: AOpCode
 * @to: tagged offset
 * @r: the region
 * @want: the result
 */
struct ddp_atomic_check_case {
	const char *name;
	u8 op;
	u64 to;
	struct ddp_region_view r;
	struct ddp_want want;
};

#define HERE(b, n)	{ true, true, true, (b), (n) }

static const struct ddp_atomic_check_case ddp_atomic_check_cases[] = {
	{ "FetchAdd", 0, 0x1000, HERE(0x1000, 8), WANT_OK },
	{ "CmpSwap", 2, 0x1000, HERE(0x1000, 8), WANT_OK },
	{ "X5 last eight bytes", 0, 0x1ff8, HERE(0x1000, 0x1000), WANT_OK },
	{ "X5 one byte beyond", 0, 0x1ff9, HERE(0x1000, 0x1000),
	  WANT(0, 1, 1) },
	{ "X5 at the end", 0, 0x2000, HERE(0x1000, 0x1000), WANT(0, 1, 1) },
	{ "X5 before", 0, 0xff8, HERE(0x1000, 0x1000), WANT(0, 1, 1) },
	{ "X5 region of seven bytes", 0, 0x1000, HERE(0x1000, 7),
	  WANT(0, 1, 1) },
	{ "X5 last bytes of all", 0, 0xfffffffffffffff8ULL,
	  HERE(0xffffffffffffff00ULL, 0x100), WANT_OK },
	{ "X5 wraps", 0, 0xfffffffffffffffcULL,
	  HERE(0xffffffffffffff00ULL, 0x100), WANT(0, 1, 4) },
	{ "X5 no such STag", 0, 0x1000, { false, true, true, 0x1000, 8 },
	  WANT(0, 1, 0) },
	{ "X5 another domain", 0, 0x1000, { true, false, true, 0x1000, 8 },
	  WANT(0, 1, 3) },
	{ "X5 no right", 0, 0x1000, { true, true, false, 0x1000, 8 },
	  WANT(0, 1, 2) },
	{ "X6 AOpCode 1", 1, 0x1000, HERE(0x1000, 8), WANT(0, 2, 6) },
	{ "X6 AOpCode 3", 3, 0x1000, HERE(0x1000, 8), WANT(0, 2, 6) },
	{ "X6 AOpCode F", 15, 0x1000, HERE(0x1000, 8), WANT(0, 2, 6) },
	{ "X6 before X5", 1, 0x1000, { false, false, false, 0, 0 },
	  WANT(0, 2, 6) },
};

/**
 * struct ddp_atomic_response_case - an Atomic Response and what is expected
 * @name: what it shows
 * @msn: its MSN
 * @id: its identifier
 * @v: what is expected
 * @want: the result
 */
struct ddp_atomic_response_case {
	const char *name;
	u32 msn;
	u32 id;
	struct ddp_atomic_view v;
	struct ddp_want want;
};

static const struct ddp_atomic_response_case ddp_atomic_response_cases[] = {
	{ "the next one", 1, 7, { true, 1, 7 }, WANT_OK },
	{ "after 2^32 of them", 0, 7, { true, 0, 7 }, WANT_OK },
	{ "X9 none outstanding", 1, 7, { false, 1, 7 }, WANT(0, 2, 6) },
	{ "X9 MSN repeated", 1, 7, { true, 2, 7 }, WANT(1, 2, 3) },
	{ "X9 MSN too high", 3, 7, { true, 2, 7 }, WANT(1, 2, 3) },
	{ "X9 another identifier", 1, 8, { true, 1, 7 }, WANT(0, 2, 0xff) },
	{ "none outstanding, all wrong", 2, 8, { false, 1, 7 },
	  WANT(0, 2, 6) },
};

/**
 * struct ddp_untagged_case - a segment and its queue
 * @name: what it shows
 * @h: the segment
 * @q: the queue
 * @want: the result
 */
struct ddp_untagged_case {
	const char *name;
	struct ddp_hdr h;
	struct ddp_queue_view q;
	struct ddp_want want;
};

/* A Send segment with this MSN, MO and payload length. */
#define SEGMENT(m, o, n) \
	{ .last = true, .ddp_version = 1, .rdmap_version = 1, .opcode = 3, \
	  .msn = (m), .mo = (o), .hdr_len = 18, .payload_len = (n) }
/* A queue before the first segment of message @m: buffer of @n bytes. */
#define FRESH(m, n)	{ .msn = (m), .buffer = true, .buffer_len = (n) }
/* A queue within message @m, a Send of which @o bytes were received. */
#define AMID(m, o, n) \
	{ .msn = (m), .mo = (o), .opcode = 3, .mo_open = true, \
	  .buffer = true, .buffer_len = (n) }
#define EMPTY(m)	{ .msn = (m) }

static const struct ddp_untagged_case ddp_untagged_cases[] = {
	{ "first message", SEGMENT(1, 0, 64), FRESH(1, 64), WANT_OK },
	{ "shorter than the buffer", SEGMENT(1, 0, 1), FRESH(1, 64), WANT_OK },
	{ "no payload, buffer of none", SEGMENT(1, 0, 0), FRESH(1, 0),
	  WANT_OK },
	{ "no payload, ample buffer", SEGMENT(1, 0, 0), FRESH(1, 64),
	  WANT_OK },
	{ "second segment", SEGMENT(1, 1482, 566), AMID(1, 1482, 2048),
	  WANT_OK },
	{ "last segment brings nothing", SEGMENT(1, 64, 0), AMID(1, 64, 64),
	  WANT_OK },
	{ "first segment brought nothing", SEGMENT(1, 0, 9), AMID(1, 0, 9),
	  WANT_OK },

	{ "first MSN 0", SEGMENT(0, 0, 1), FRESH(1, 64), WANT(1, 2, 3) },
	{ "first MSN 2", SEGMENT(2, 0, 1), FRESH(1, 64), WANT(1, 2, 3) },
	{ "first MSN 2, no payload", SEGMENT(2, 0, 0), FRESH(1, 64),
	  WANT(1, 2, 3) },
	{ "MSN half the space ahead", SEGMENT(0x80000001, 0, 1), FRESH(1, 64),
	  WANT(1, 2, 3) },
	{ "MSN repeated", SEGMENT(1, 0, 1), FRESH(2, 64), WANT(1, 2, 3) },
	{ "MSN 0xFFFFFFFF", SEGMENT(0xffffffff, 0, 1),
	  FRESH(0xffffffff, 64), WANT_OK },
	{ "then MSN 0", SEGMENT(0, 0, 1), FRESH(0, 64), WANT_OK },
	{ "then not MSN 1", SEGMENT(1, 0, 1), FRESH(0, 64),
	  WANT(1, 2, 3) },
	{ "nor MSN 0xFFFFFFFF again", SEGMENT(0xffffffff, 0, 1),
	  FRESH(0, 64), WANT(1, 2, 3) },
	{ "T6 Terminate with MSN 2", SEGMENT(2, 0, 4), FRESH(1, 52),
	  WANT(1, 2, 3) },

	{ "no buffer, 1 byte", SEGMENT(1, 0, 1), EMPTY(1),
	  WANT(1, 2, 2) },
	{ "no buffer, no payload", SEGMENT(1, 0, 0), EMPTY(1),
	  WANT(1, 2, 2) },
	{ "no buffer, its length stale", SEGMENT(1, 0, 1),
	  { .msn = 1, .buffer_len = 64 }, WANT(1, 2, 2) },

	{ "fills the buffer", SEGMENT(1, 0, 4096), FRESH(1, 4096),
	  WANT_OK },
	{ "one byte longer", SEGMENT(1, 0, 4097), FRESH(1, 4096),
	  WANT(1, 2, 5) },
	{ "one byte, buffer of none", SEGMENT(1, 0, 1), FRESH(1, 0),
	  WANT(1, 2, 5) },
	{ "second segment, one byte longer", SEGMENT(1, 1482, 567),
	  AMID(1, 1482, 2048), WANT(1, 2, 5) },
	{ "full, one byte more", SEGMENT(1, 64, 1), AMID(1, 64, 64),
	  WANT(1, 2, 5) },

	{ "MO beyond the buffer", SEGMENT(1, 101, 1), FRESH(1, 100),
	  WANT(1, 2, 4) },
	{ "MO beyond the buffer, as the queue has it",
	  SEGMENT(1, 101, 0), AMID(1, 101, 100), WANT(1, 2, 4) },
	{ "MO 0xFFFFFFFF, 2 bytes", SEGMENT(1, 0xffffffff, 2),
	  FRESH(1, 100), WANT(1, 2, 4) },
	{ "MO 0xFFFFFFFF, 2 bytes, reached", SEGMENT(1, 0xffffffff, 2),
	  AMID(1, 0xffffffff, 1ULL << 33), WANT(1, 2, 5) },
	{ "gap", SEGMENT(1, 11, 5), AMID(1, 10, 100), WANT(1, 2, 4) },
	{ "overlap", SEGMENT(1, 9, 5), AMID(1, 10, 100),
	  WANT(1, 2, 4) },
	{ "starts over", SEGMENT(1, 0, 5), AMID(1, 10, 100),
	  WANT(1, 2, 4) },
	{ "starts late", SEGMENT(1, 1, 5), FRESH(1, 100),
	  WANT(1, 2, 4) },
	{ "gap, no payload", SEGMENT(1, 11, 0), AMID(1, 10, 100),
	  WANT(1, 2, 4) },
	{ "MSN changes amid", SEGMENT(2, 10, 5), AMID(1, 10, 100),
	  WANT(1, 2, 3) },
	{ "next message begins amid", SEGMENT(2, 0, 5),
	  AMID(1, 10, 100), WANT(1, 2, 3) },

	{ "2^32 - 1 bytes at last", SEGMENT(1, 0xfffffff0, 15),
	  AMID(1, 0xfffffff0, 0xffffffff), WANT_OK },
	{ "2^32 - 1 bytes, boundless buffer",
	  SEGMENT(1, 0xfffffff0, 15), AMID(1, 0xfffffff0, ~0ULL), WANT_OK },
	{ "2^32 bytes, boundless buffer", SEGMENT(1, 0xfffffff0, 16),
	  AMID(1, 0xfffffff0, ~0ULL), WANT(1, 2, 5) },
	{ "sum of two large", SEGMENT(1, 0xffffffff, 0xffffffff),
	  AMID(1, 0xffffffff, ~0ULL), WANT(1, 2, 5) },
	{ "sum wraps to a small one", SEGMENT(1, 0xffffffff, 0x11),
	  AMID(1, 0xffffffff, 0xffffffff), WANT(1, 2, 5) },
	{ "nothing more at 2^32 - 1", SEGMENT(1, 0xffffffff, 0),
	  AMID(1, 0xffffffff, 0xffffffff), WANT_OK },

	{ "opcode changes amid", SEGMENT(1, 10, 5),
	  { .msn = 1, .mo = 10, .opcode = 5, .mo_open = true, .buffer = true,
	    .buffer_len = 100 }, WANT(0, 2, 6) },
	{ "opcode changes after an empty segment", SEGMENT(1, 0, 5),
	  { .msn = 1, .opcode = 4, .mo_open = true, .buffer = true,
	    .buffer_len = 100 }, WANT(0, 2, 6) },
	{ "opcode of the message before", SEGMENT(2, 0, 5),
	  { .msn = 2, .opcode = 5, .buffer = true, .buffer_len = 100 },
	  WANT_OK },

	{ "order: MSN before all else", SEGMENT(3, 7, 500),
	  { .msn = 1, .opcode = 5, .mo_open = true }, WANT(1, 2, 3) },
	{ "order: buffer before MO", SEGMENT(1, 7, 500),
	  { .msn = 1, .opcode = 5, .mo_open = true }, WANT(1, 2, 2) },
	{ "order: MO before length", SEGMENT(1, 7, 500),
	  { .msn = 1, .opcode = 5, .mo_open = true, .buffer = true,
	    .buffer_len = 100 }, WANT(1, 2, 4) },
	{ "order: length before opcode", SEGMENT(1, 0, 500),
	  { .msn = 1, .opcode = 5, .mo_open = true, .buffer = true,
	    .buffer_len = 100 }, WANT(1, 2, 5) },
};

/**
 * struct ddp_region_case - a range and its region
 * @name: what it shows
 * @to: where it starts
 * @len: bytes
 * @r: the region
 * @tagged: the result for a tagged segment that writes it
 * @read: the result for a Read Request that reads it
 */
struct ddp_region_case {
	const char *name;
	u64 to;
	u32 len;
	struct ddp_region_view r;
	struct ddp_want tagged;
	struct ddp_want read;
};

#define REGION(b, n)	{ true, true, true, b, n }
#define TOP(n)		(~0ULL - (n) + 1)	/* 2^64 - n */

static const struct ddp_region_case ddp_region_cases[] = {
	{ "the region exactly", 0x1000, 0x100, REGION(0x1000, 0x100),
	  WANT_OK, WANT_OK },
	{ "its first byte", 0x1000, 1, REGION(0x1000, 0x100),
	  WANT_OK, WANT_OK },
	{ "its last byte", 0x10ff, 1, REGION(0x1000, 0x100),
	  WANT_OK, WANT_OK },
	{ "all 2^32 - 1 bytes", 0, 0xffffffff, REGION(0, 0xffffffff),
	  WANT_OK, WANT_OK },
	{ "2^32 - 1 bytes of more", 1, 0xffffffff, REGION(0, 1ULL << 32),
	  WANT_OK, WANT_OK },
	{ "across 2^32", 0xfffffff0, 0x20, REGION(0xfffffff0, 0x20),
	  WANT_OK, WANT_OK },

	{ "unknown STag", 0x1000, 1,
	  { false, true, true, 0x1000, 0x100 },
	  WANT(1, 1, 0), WANT_READ(0) },
	{ "STag of another stream", 0x1000, 1,
	  { true, false, true, 0x1000, 0x100 },
	  WANT(1, 1, 2), WANT_READ(3) },
	{ "right not granted", 0x1000, 1,
	  { true, true, false, 0x1000, 0x100 },
	  WANT(1, 1, 0), WANT_READ(2) },

	{ "base - 1", 0xfff, 1, REGION(0x1000, 0x100),
	  WANT(1, 1, 1), WANT_READ(1) },
	{ "from base - 1 into it", 0xfff, 2, REGION(0x1000, 0x100),
	  WANT(1, 1, 1), WANT_READ(1) },
	{ "one past the end", 0x1100, 1, REGION(0x1000, 0x100),
	  WANT(1, 1, 1), WANT_READ(1) },
	{ "ends one past the end", 0x1000, 0x101, REGION(0x1000, 0x100),
	  WANT(1, 1, 1), WANT_READ(1) },
	{ "last byte and one more", 0x10ff, 2, REGION(0x1000, 0x100),
	  WANT(1, 1, 1), WANT_READ(1) },
	{ "TO 0, base above", 0, 1, REGION(0x1000, 0x100),
	  WANT(1, 1, 1), WANT_READ(1) },
	{ "region of no bytes", 0x1000, 1, REGION(0x1000, 0),
	  WANT(1, 1, 1), WANT_READ(1) },
	{ "2^32 - 1 bytes, one too many", 0, 0xffffffff,
	  REGION(0, 0xfffffffe), WANT(1, 1, 1), WANT_READ(1) },
	{ "length far too long", 0x1000, 0xffffffff, REGION(0x1000, 0x100),
	  WANT(1, 1, 1), WANT_READ(1) },

	{ "TO 2^64 - 4, 8 bytes", TOP(4), 8, REGION(TOP(16), 16),
	  WANT(1, 1, 3), WANT_READ(4) },
	{ "TO 2^64 - 4, 5 bytes", TOP(4), 5, REGION(TOP(16), 16),
	  WANT(1, 1, 3), WANT_READ(4) },
	{ "TO 2^64 - 4, 4 bytes", TOP(4), 4, REGION(TOP(16), 16),
	  WANT_OK, WANT_OK },
	{ "TO 2^64 - 1, 1 byte", TOP(1), 1, REGION(TOP(1), 1),
	  WANT_OK, WANT_OK },
	{ "TO 2^64 - 1, 2 bytes", TOP(1), 2, REGION(TOP(1), 1),
	  WANT(1, 1, 3), WANT_READ(4) },
	{ "region at the top exactly", TOP(16), 16, REGION(TOP(16), 16),
	  WANT_OK, WANT_OK },
	{ "wraps within the largest region", TOP(2), 0xffffffff,
	  REGION(0, ~0ULL), WANT(1, 1, 3), WANT_READ(4) },
	{ "wraps, and starts out of the region", TOP(4), 8,
	  REGION(0x1000, 0x100), WANT(1, 1, 1), WANT_READ(1) },
	{ "wraps into a region at 0", TOP(4), 8, REGION(0, 0x100),
	  WANT(1, 1, 1), WANT_READ(1) },
	{ "byte 2^64 - 1, region ends before", TOP(1), 1, REGION(0, ~0ULL),
	  WANT(1, 1, 1), WANT_READ(1) },

	{ "no bytes, all else garbage", TOP(1), 0,
	  { false, false, false, 0x1000, 0 }, WANT_OK, WANT_OK },
	{ "S3 no bytes, right not granted", 0x1000, 0,
	  { true, true, false, 0x1000, 0x100 }, WANT_OK, WANT_OK },

	{ "order: STag before all else", TOP(1), 2,
	  { false, false, false, 0x1000, 0x100 },
	  WANT(1, 1, 0), WANT_READ(0) },
	{ "order: STag before stream", TOP(1), 2,
	  { false, false, true, 0x1000, 0x100 },
	  WANT(1, 1, 0), WANT_READ(0) },
	{ "order: STag before right", TOP(1), 2,
	  { false, true, false, 0x1000, 0x100 },
	  WANT(1, 1, 0), WANT_READ(0) },
	{ "order: stream before right", TOP(1), 2,
	  { true, false, false, 0x1000, 0x100 },
	  WANT(1, 1, 2), WANT_READ(3) },
	{ "order: right before bounds", 0, 2,
	  { true, true, false, 0x1000, 0x100 },
	  WANT(1, 1, 0), WANT_READ(2) },
};

/**
 * struct ddp_right_case - a Read or Write and the rights of its stream
 * @name: what it shows
 * @read: a Read; else a Write
 * @len: bytes
 * @right: the stream grants it
 * @want: result
 */
struct ddp_right_case {
	const char *name;
	bool read;
	u32 len;
	bool right;
	struct ddp_want want;
};

static const struct ddp_right_case ddp_right_cases[] = {
	{ "Write with the right", false, 1, true, WANT_OK },
	{ "Write without it", false, 1, false, WANT(0, 1, 0x02) },
	{ "longest Write without it", false, 0xffffffff, false,
	  WANT(0, 1, 0x02) },
	{ "Write of nothing without it", false, 0, false, WANT_OK },
	{ "Read with the right", true, 1, true, WANT_OK },
	{ "Read without it", true, 1, false, WANT_READ(0x02) },
	{ "Read of nothing without it", true, 0, false, WANT_OK },
};

/**
 * struct ddp_invalidate_case - the region of an Invalidate STag
 * @name: what it shows
 * @r: the region
 * @want: the result
 */
struct ddp_invalidate_case {
	const char *name;
	struct ddp_region_view r;
	struct ddp_want want;
};

static const struct ddp_invalidate_case ddp_invalidate_cases[] = {
	{ "own STag", { true, true, true, 0x1000, 0x100 }, WANT_OK },
	{ "region of no bytes", { true, true, true, 0, 0 }, WANT_OK },
	{ "unknown STag", { false, true, true, 0x1000, 0x100 },
	  WANT(0, 2, 9) },
	{ "nothing known", { false, false, false, 0, 0 },
	  WANT(0, 2, 9) },
	{ "STag of another domain", { true, false, true, 0x1000, 0x100 },
	  WANT(0, 1, 9) },
	{ "that may not be invalidated either",
	  { true, false, false, 0x1000, 0x100 }, WANT(0, 1, 9) },
	{ "may not be invalidated", { true, true, false, 0x1000, 0x100 },
	  WANT(0, 2, 9) },
};

/**
 * struct ddp_response_case - a Read Response segment and the oldest Read
 * @name: what it shows
 * @h: the segment
 * @v: the Read
 * @want: the result
 */
struct ddp_response_case {
	const char *name;
	struct ddp_hdr h;
	struct ddp_read_view v;
	struct ddp_want want;
};

#define RESPONSE(l, s, t, n) \
	{ .tagged = true, .last = (l), .ddp_version = 1, .rdmap_version = 1, \
	  .opcode = 2, .stag = (s), .to = (t), .hdr_len = 14, \
	  .payload_len = (n) }
#define DUE(s, t, n)	{ true, s, t, n }
#define NO_READ		{ false, 7, 0x1000, 100 }

static const struct ddp_response_case ddp_response_cases[] = {
	{ "whole", RESPONSE(true, 7, 0x1000, 100), DUE(7, 0x1000, 100),
	  WANT_OK },
	{ "first part", RESPONSE(false, 7, 0x1000, 60), DUE(7, 0x1000, 100),
	  WANT_OK },
	{ "last part", RESPONSE(true, 7, 0x103c, 40), DUE(7, 0x103c, 40),
	  WANT_OK },
	{ "nothing asked, nothing sent", RESPONSE(true, 7, 0x1000, 0),
	  DUE(7, 0x1000, 0), WANT_OK },
	{ "nothing sent, STag and TO garbage",
	  RESPONSE(true, 0xdead, TOP(1), 0), DUE(7, 0x1000, 0), WANT_OK },
	{ "all there, L still to come", RESPONSE(false, 7, 0x1000, 100),
	  DUE(7, 0x1000, 100), WANT_OK },
	{ "L alone", RESPONSE(true, 0xdead, TOP(1), 0), DUE(7, 0x1064, 0),
	  WANT_OK },
	{ "empty part, nothing ended", RESPONSE(false, 0xdead, TOP(1), 0),
	  DUE(7, 0x1000, 100), WANT_OK },
	{ "2^32 - 1 bytes left", RESPONSE(false, 7, 0, 1000),
	  DUE(7, 0, 0xffffffff), WANT_OK },
	{ "sink at the top", RESPONSE(true, 7, TOP(4), 4), DUE(7, TOP(4), 4),
	  WANT_OK },

	{ "no Read", RESPONSE(true, 7, 0x1000, 100), NO_READ,
	  WANT(0, 2, 6) },
	{ "no Read, no payload", RESPONSE(true, 7, 0x1000, 0), NO_READ,
	  WANT(0, 2, 6) },
	{ "wrong STag", RESPONSE(true, 8, 0x1000, 100),
	  DUE(7, 0x1000, 100), WANT(1, 1, 0) },
	{ "STag of another Read", RESPONSE(true, 0x107, 0x1000, 100),
	  DUE(7, 0x1000, 100), WANT(1, 1, 0) },
	{ "TO too low", RESPONSE(true, 7, 0xfff, 100),
	  DUE(7, 0x1000, 100), WANT(1, 1, 1) },
	{ "TO too high", RESPONSE(true, 7, 0x1001, 99),
	  DUE(7, 0x1000, 100), WANT(1, 1, 1) },
	{ "TO off by 2^32", RESPONSE(true, 7, 0x100001000ULL, 100),
	  DUE(7, 0x1000, 100), WANT(1, 1, 1) },
	{ "too long", RESPONSE(true, 7, 0x1000, 101),
	  DUE(7, 0x1000, 100), WANT(1, 1, 1) },
	{ "too long, L still to come", RESPONSE(false, 7, 0x1000, 101),
	  DUE(7, 0x1000, 100), WANT(1, 1, 1) },
	{ "one byte, nothing asked", RESPONSE(true, 7, 0x1000, 1),
	  DUE(7, 0x1000, 0), WANT(1, 1, 1) },
	{ "too short", RESPONSE(true, 7, 0x1000, 99),
	  DUE(7, 0x1000, 100), WANT(1, 1, 1) },
	{ "ends with one byte due", RESPONSE(true, 7, 0x1063, 0),
	  DUE(7, 0x1063, 1), WANT(1, 1, 1) },
	{ "order: STag before TO", RESPONSE(true, 8, 0, 500),
	  DUE(7, 0x1000, 100), WANT(1, 1, 0) },
};

/**
 * struct ddp_error_case - an error of RFC 5040 figure 9 or a layer below
 * @layer: layer
 * @etype: error type
 * @code: error code
 */
struct ddp_error_case {
	u8 layer;
	u8 etype;
	u8 code;
};

/* All errors that the RFCs define; their texts must differ. */
static const struct ddp_error_case ddp_defined_errors[] = {
	{ 0, 0, 0x00 },
	{ 0, 1, 0x00 }, { 0, 1, 0x01 }, { 0, 1, 0x02 }, { 0, 1, 0x03 },
	{ 0, 1, 0x04 }, { 0, 1, 0x09 }, { 0, 1, 0xff },
	{ 0, 2, 0x05 }, { 0, 2, 0x06 }, { 0, 2, 0x07 }, { 0, 2, 0x08 },
	{ 0, 2, 0x09 }, { 0, 2, 0xff },
	{ 1, 0, 0x00 },
	{ 1, 1, 0x00 }, { 1, 1, 0x01 }, { 1, 1, 0x02 }, { 1, 1, 0x03 },
	{ 1, 1, 0x04 },
	{ 1, 2, 0x01 }, { 1, 2, 0x02 }, { 1, 2, 0x03 }, { 1, 2, 0x04 },
	{ 1, 2, 0x05 }, { 1, 2, 0x06 },
	{ 2, 0, 0x01 }, { 2, 0, 0x02 }, { 2, 0, 0x03 }, { 2, 0, 0x04 },
	{ 2, 0, 0x05 }, { 2, 0, 0x06 }, { 2, 0, 0x07 },
};

/* Some errors that they do not define. */
static const struct ddp_error_case ddp_undefined_errors[] = {
	{ 0, 1, 0x05 }, { 0, 1, 0x08 }, { 0, 1, 0x0a }, { 0, 2, 0x00 },
	{ 0, 2, 0x04 }, { 0, 2, 0x0a }, { 0, 3, 0x00 }, { 0, 15, 0xff },
	{ 1, 0, 0x01 }, { 1, 1, 0x05 }, { 1, 2, 0x00 }, { 1, 2, 0x07 },
	{ 1, 3, 0x00 }, { 2, 0, 0x00 }, { 2, 0, 0x08 }, { 2, 1, 0x01 },
	{ 3, 0, 0x00 }, { 15, 15, 0xff }, { 255, 255, 0xff },
};

/**
 * struct ddp_terminate_case - a Terminate to build
 * @name: what it shows
 * @fault: the error
 * @seg: available bytes of the faulty segment, hex; %NULL for none
 * @seg_len: its ULPDU_Length
 * @want: the whole ULPDU, hex
 */
struct ddp_terminate_case {
	const char *name;
	struct ddp_fault fault;
	const char *seg;
	u32 seg_len;
	const char *want;
};

#define TERM_HDR	"4147 00000000 00000002 00000001 00000000 "
#define A_WRITE		"C140 A1A2A3A4 B1B2B3B4B5B6B7B8"
#define A_SEND		"4143 A1A2A3A4 00000000 C1C2C3C4 D1D2D3D4"
#define A_READ		"4141 00000000 00000001 C1C2C3C4 00000000"
#define A_READ_TAIL \
	" 01020304 1112131415161718 21222324 31323334 4142434445464748"
#define A_READ_MOVED \
	" 01020304 1112131415161728 21222314 31323334 4142434445464758"

static const struct ddp_terminate_case ddp_terminate_cases[] = {
	{ "2/0/06, nothing to show", { 2, 0, 6, false, false }, NULL, 0,
	  TERM_HDR "20060000" },
	{ "0/0/00, a segment not shown", { 0, 0, 0, false, false }, A_SEND, 42,
	  TERM_HDR "00000000" },
	{ "2/0/02, a segment not shown", { 2, 0, 2, false, false }, A_WRITE,
	  100, TERM_HDR "20020000" },
	{ "0/2/07, no segment", { 0, 2, 7, true, false }, NULL, 0,
	  TERM_HDR "02070000" },
	{ "0/1/00, no segment", { 0, 1, 0, true, true }, NULL, 0,
	  TERM_HDR "01000000" },
	{ "1/1/01, Write", { 1, 1, 1, true, false }, A_WRITE, 0x1234,
	  TERM_HDR "1101C000 1234 " A_WRITE },
	{ "1/2/05, Send", { 1, 2, 5, true, false }, A_SEND, 0x05dc,
	  TERM_HDR "1205C000 05DC " A_SEND },
	{ "0/2/05, Send", { 0, 2, 5, true, false }, A_SEND, 42,
	  TERM_HDR "0205C000 002A " A_SEND },
	{ "0/2/FF, Read Request without its header at hand",
	  { 0, 2, 0xff, true, false }, A_READ, 45,
	  TERM_HDR "02FFC000 002D " A_READ },
	{ "1/2/03, Read Request: R is not for DDP errors",
	  { 1, 2, 3, true, false }, A_READ A_READ_TAIL, 46,
	  TERM_HDR "1203C000 002E " A_READ },
	{ "0/1/00, Read Request", { 0, 1, 0, true, true },
	  A_READ A_READ_TAIL, 46,
	  TERM_HDR "0100E000 002E " A_READ A_READ_TAIL },
	{ "0/1/04, Read Request", { 0, 1, 4, true, true },
	  A_READ A_READ_TAIL, 46,
	  TERM_HDR "0104E000 002E " A_READ A_READ_TAIL },
	{ "0/1/01, Read Request moved on by 0x10",
	  { 0, 1, 1, true, true },
	  A_READ A_READ_MOVED, 46,
	  TERM_HDR "0101E000 002E " A_READ A_READ_MOVED },
	{ "0/1/00, Read Request, one byte of its header short",
	  { 0, 1, 0, true, true },
	  A_READ " 01020304 1112131415161718 21222324 31323334 41424344454647",
	  46, TERM_HDR "0100C000 002E " A_READ },
	{ "0/1/00, R asked for a tagged segment", { 0, 1, 0, true, true },
	  A_WRITE A_READ_TAIL "00000000", 46,
	  TERM_HDR "0100C000 002E " A_WRITE },
	{ "0/1/09, R asked for a Send", { 0, 1, 9, true, true },
	  A_SEND A_READ_TAIL, 46, TERM_HDR "0109C000 002E " A_SEND },
	{ "0/1/00, R without M and D", { 0, 1, 0, false, true },
	  A_READ A_READ_TAIL, 46, TERM_HDR "01000000" },
	{ "1/1/04, one byte of the header short",
	  { 1, 1, 4, true, false }, "C040 A1A2A3A4 B1B2B3B4B5B6B7", 13,
	  TERM_HDR "11040000" },
	{ "1/2/06, one byte of the header short",
	  { 1, 2, 6, true, false },
	  "4043 A1A2A3A4 00000000 C1C2C3C4 D1D2D3", 17,
	  TERM_HDR "12060000" },
	{ "1/1/04, no byte at hand", { 1, 1, 4, true, false }, "", 0,
	  TERM_HDR "11040000" },
	{ "1/2/05, payload at hand is not shown", { 1, 2, 5, true, false },
	  A_SEND "EEEEEEEE", 22, TERM_HDR "1205C000 0016 " A_SEND },
	{ "1/2/05, longest segment", { 1, 2, 5, true, false }, A_SEND, 0xffff,
	  TERM_HDR "1205C000 FFFF " A_SEND },
	{ "1/2/05, length beyond its field", { 1, 2, 5, true, false }, A_SEND,
	  0x10001, TERM_HDR "1205C000 FFFF " A_SEND },
};

/**
 * struct ddp_parse_case - a kind of Terminate header to parse
 * @flags: its flag byte
 * @ctrl: first byte of the terminated DDP header, if there is one
 * @need: bytes it must have; 0: refused at any length
 */
struct ddp_parse_case {
	u8 flags;
	u8 ctrl;
	u32 need;
};

static const struct ddp_parse_case ddp_parse_cases[] = {
	{ 0x00, 0x00, 4 },
	{ 0x80, 0x00, 6 },
	{ 0xc0, 0x41, 24 },
	{ 0xc0, 0xc1, 20 },
	{ 0xe0, 0x41, 52 },
	{ 0xe0, 0xc1, 48 },
	{ 0x1f, 0x00, 4 },	/* reserved bits, here and below */
	{ 0x9f, 0xff, 6 },
	{ 0xdf, 0x7f, 24 },
	{ 0xff, 0x7f, 52 },
	{ 0x40, 0x41, 0 },	/* D without M */
	{ 0x60, 0x41, 0 },
	{ 0x20, 0x41, 0 },	/* R without D */
	{ 0xa0, 0x41, 0 },
};

#endif /* MPA_TESTS_DDP_H */
