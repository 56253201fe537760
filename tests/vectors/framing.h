/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Boundary tables for kernel/framing, in plain C that is also C++. Expected
 * values were derived by hand from the RFCs, not taken from the code.
 */
#ifndef MPA_TESTS_FRAMING_H
#define MPA_TESTS_FRAMING_H

#include <linux/errno.h>
#include <linux/types.h>

#include "../../kernel/framing/segment.h"
#include "../../kernel/framing/startup.h"
#include "../../kernel/framing/wire.h"
#include "hex.h"

/* RFC 5044 section 4.5 */
struct vec_mulpdu {
	u32 emss;
	u32 plain;
	u32 markers;
};

static const struct vec_mulpdu vec_mulpdus[] = {
	{ 0, 128, 128 },
	{ 1, 128, 128 },
	{ 6, 128, 128 },
	{ 133, 128, 128 },
	{ 135, 128, 128 },
	{ 136, 130, 128 },
	{ 137, 130, 128 },
	{ 139, 130, 128 },
	{ 140, 134, 130 },
	{ 511, 502, 498 },
	{ 512, 506, 502 },
	{ 513, 506, 498 },
	{ 515, 506, 498 },
	{ 516, 510, 502 },
	{ 1023, 1014, 1006 },
	{ 1024, 1018, 1010 },
	{ 1025, 1018, 1006 },
	{ 1028, 1022, 1010 },
	{ 1420, 1414, 1402 },
	{ 1446, 1438, 1426 },
	{ 1448, 1442, 1430 },
	{ 1460, 1454, 1442 },
	{ 8948, 8942, 8870 },
	{ 64772, 64766, 64258 },
	{ 64775, 64766, 64258 },
	{ 64776, 64768, 64262 },
	{ 65284, 64768, 64766 },
	{ 65287, 64768, 64766 },
	{ 65288, 64768, 64768 },
	{ 65483, 64768, 64768 },
	{ 65535, 64768, 64768 },
	{ 65536, 64768, 64768 },
	{ 0xfffffffc, 64768, 64768 },
	{ 0xffffffff, 64768, 64768 },
};

/* Length of the next FPDU by phase; RFC 5044 sections 4.1 and 4.3 */
struct vec_fpdu_len {
	const char *name;
	bool markers;
	u32 gap;
	u32 ulpdu_len;
	u32 want;
};

static const struct vec_fpdu_len vec_fpdu_lens[] = {
	{ "empty ULPDU", false, 0, 0, 8 },
	{ "pad 1", false, 0, 1, 8 },
	{ "pad 0", false, 0, 2, 8 },
	{ "pad 3", false, 0, 3, 12 },
	{ "pad 2", false, 0, 4, 12 },
	{ "pad 1 again", false, 0, 5, 12 },
	{ "pad 0 again", false, 0, 6, 12 },
	{ "longest", false, 0, 64768, 64776 },
	{ "first Marker", true, 0, 2, 12 },
	{ "Marker before the CRC", true, 4, 2, 12 },
	{ "Marker between two FPDUs", true, 8, 2, 8 },
	{ "Marker in the next FPDU", true, 12, 2, 8 },
	{ "Marker right after the pad", true, 8, 5, 16 },
	{ "Marker one word after the CRC", true, 16, 5, 12 },
	{ "up to the Marker", true, 508, 502, 508 },
	{ "one byte past it", true, 508, 503, 516 },
	{ "one Marker, then up to the next", true, 0, 502, 512 },
	{ "one Marker, then past the next", true, 0, 503, 520 },
	{ "RFC 5044 figure 5", true, 0, 42, 52 },
	{ "RFC 5044 figure 6", true, 20, 42, 52 },
	{ "longest, most Markers", true, 0, 64768, 65288 },
	{ "longest, Marker far", true, 508, 64768, 65284 },
};

/* Longest ULPDU for a given space, by phase */
struct vec_fit {
	bool markers;
	u32 gap;
	u32 room;
	u32 want;
};

static const struct vec_fit vec_fits[] = {
	{ false, 0, 0, 0 },
	{ false, 0, 7, 0 },
	{ false, 0, 8, 2 },
	{ false, 0, 11, 2 },
	{ false, 0, 12, 6 },
	{ false, 0, 1448, 1442 },
	{ false, 0, 64775, 64766 },
	{ false, 0, 64776, 64768 },
	{ false, 0, 0xffffffff, 64768 },
	{ true, 0, 11, 0 },
	{ true, 0, 12, 2 },
	{ true, 4, 8, 0 },
	{ true, 4, 12, 2 },
	{ true, 8, 8, 2 },
	/* The Marker at 8 belongs to the next FPDU: one word stays empty. */
	{ true, 8, 12, 2 },
	{ true, 8, 16, 6 },
	{ true, 0, 1448, 1430 },
	{ true, 0, 512, 502 },
	{ true, 0, 516, 502 },
	{ true, 0, 520, 506 },
	{ true, 508, 508, 502 },
	{ true, 0, 65288, 64768 },
	{ true, 0, 65284, 64766 },
	{ true, 0, 0xffffffff, 64768 },
};

/* FPDUs known byte by byte: RFC 5044 figures 5 and 6, and RDMAP frames */
#define VEC_Z4	"00000000"
#define VEC_Z24	"000000000000000000000000000000000000000000000000"

struct vec_fpdu {
	const char *name;
	bool markers;
	u32 gap;
	const char *ulpdu;
	const char *fpdu;
};

static const struct vec_fpdu vec_fpdus[] = {
	{
		.name = "figure 5, first FPDU of the stream",
		.markers = true,
		.gap = 0,
		.ulpdu = "4143" VEC_Z4 VEC_Z4 "00000001" VEC_Z4 VEC_Z24,
		.fpdu = VEC_Z4 "002a 4143" VEC_Z4 VEC_Z4 "00000001" VEC_Z4
			VEC_Z24 "52239983",
	}, {
		.name = "figure 5 without its Marker",
		.ulpdu = "4143" VEC_Z4 VEC_Z4 "00000001" VEC_Z4 VEC_Z24,
		.fpdu = "002a 4143" VEC_Z4 VEC_Z4 "00000001" VEC_Z4
			VEC_Z24 "b7243ec3",
	}, {
		.name = "figure 6, at byte 492 of the stream",
		.markers = true,
		.gap = 20,
		.ulpdu = "4143" VEC_Z4 VEC_Z4 "00000002" VEC_Z4 VEC_Z24,
		.fpdu = "002a 4143" VEC_Z4 VEC_Z4 "00000002" VEC_Z4
			"00000014" VEC_Z24 "84925898",
	}, {
		.name = "draft-culley-iwarp-mpa-03 figure 5",
		.markers = true,
		.gap = 0,
		.ulpdu = "4003" VEC_Z4 VEC_Z4 "00000001" VEC_Z4 VEC_Z24,
		.fpdu = VEC_Z4 "002a 4003" VEC_Z4 VEC_Z4 "00000001" VEC_Z4
			VEC_Z24 "4c86b384",
	}, {
		.name = "draft-culley-iwarp-mpa-03 figure 6",
		.markers = true,
		.gap = 20,
		.ulpdu = "4003" VEC_Z4 VEC_Z4 "00000002" VEC_Z4 VEC_Z24,
		.fpdu = "002a 4003" VEC_Z4 VEC_Z4 "00000002" VEC_Z4
			"00000014" VEC_Z24 "a19cd103",
	}, {
		.name = "Terminate 2/0/06 without headers",
		.ulpdu = "4147" VEC_Z4 "00000002 00000001" VEC_Z4 "20060000",
		.fpdu = "0016 4147" VEC_Z4 "00000002 00000001" VEC_Z4
			"20060000 6540fb1b",
	}, {
		.name = "RTR: RDMA Write of nothing",
		.ulpdu = "c140" VEC_Z4 VEC_Z4 VEC_Z4,
		.fpdu = "000e c140" VEC_Z4 VEC_Z4 VEC_Z4 "a30572ab",
	}, {
		.name = "RTR: RDMA Read of nothing",
		.ulpdu = "4141" VEC_Z4 "00000001 00000001" VEC_Z4 VEC_Z24
			 VEC_Z4,
		.fpdu = "002e 4141" VEC_Z4 "00000001 00000001" VEC_Z4 VEC_Z24
			VEC_Z4 "f2c6dd3d",
	}, {
		.name = "Read Response of nothing",
		.ulpdu = "c142" VEC_Z4 VEC_Z4 VEC_Z4,
		.fpdu = "000e c142" VEC_Z4 VEC_Z4 VEC_Z4 "6975d6ca",
	},
};

/* Startup frames; RFC 5044 section 7.1.1, RFC 6581 section 9 */
#define VEC_REQ	"4d504120 49442052 65712046 72616d65"
#define VEC_REP	"4d504120 49442052 65702046 72616d65"

struct vec_frame {
	const char *name;
	const char *hex;
	const char *pd;
	struct mpa_frame frame;
};

static const struct vec_frame vec_frames[] = {
	{
		.name = "Request, revision 1, nothing asked",
		.hex = VEC_REQ "00 01 0000",
		.pd = "",
		.frame = { .rev = 1 },
	}, {
		.name = "Request, revision 1, M, C, private data",
		.hex = VEC_REQ "c0 01 0003 0a0b0c",
		.pd = "0a0b0c",
		.frame = {
			.markers = true, .crc = true, .rev = 1, .pd_len = 3,
		},
	}, {
		.name = "Reply, revision 1, C",
		.hex = VEC_REP "40 01 0000",
		.pd = "",
		.frame = { .reply = true, .crc = true, .rev = 1 },
	}, {
		.name = "Reply that refuses, with private data",
		.hex = VEC_REP "60 01 0001 ff",
		.pd = "ff",
		.frame = {
			.reply = true, .crc = true, .reject = true, .rev = 1,
			.pd_len = 1,
		},
	}, {
		.name = "Request, revision 0",
		.hex = VEC_REQ "c0 00 0002 0102",
		.pd = "0102",
		.frame = { .markers = true, .crc = true, .pd_len = 2 },
	}, {
		.name = "Reply, revision 0",
		.hex = VEC_REP "c0 00 0000",
		.pd = "",
		.frame = { .reply = true, .markers = true, .crc = true },
	}, {
		.name = "Reply, revision 0, that refuses",
		.hex = VEC_REP "e0 00 0001 07",
		.pd = "07",
		.frame = {
			.reply = true, .markers = true, .crc = true,
			.reject = true, .pd_len = 1,
		},
	}, {
		.name = "Request, revision 2, not enhanced",
		.hex = VEC_REQ "40 02 0004 80040008",
		.pd = "80040008",
		.frame = { .crc = true, .rev = 2, .pd_len = 4 },
	}, {
		.name = "Request, client-server",
		.hex = VEC_REQ "50 02 0004 0004 0008",
		.pd = "",
		.frame = {
			.crc = true, .enhanced = true, .rev = 2,
			.ird = 4, .ord = 8,
		},
	}, {
		.name = "Request, peer-to-peer, all kinds of RTR",
		.hex = VEC_REQ "50 02 0006 c001 c002 1234",
		.pd = "1234",
		.frame = {
			.crc = true, .enhanced = true, .p2p = true, .rev = 2,
			.rtr = MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
			.ird = 1, .ord = 2, .pd_len = 2,
		},
	}, {
		.name = "Request, peer-to-peer, RTR Send",
		.hex = VEC_REQ "50 02 0004 ffff 3fff",
		.pd = "",
		.frame = {
			.crc = true, .enhanced = true, .p2p = true, .rev = 2,
			.rtr = MPA_RTR_SEND, .ird = 0x3fff, .ord = 0x3fff,
		},
	}, {
		.name = "Reply, peer-to-peer, RTR Write",
		.hex = VEC_REP "d0 02 0004 8000 8000",
		.pd = "",
		.frame = {
			.reply = true, .markers = true, .crc = true,
			.enhanced = true, .p2p = true, .rev = 2,
			.rtr = MPA_RTR_WRITE,
		},
	}, {
		.name = "Request for extensions",
		.hex = VEC_REQ "51 02 0004 0004 0008",
		.pd = "",
		.frame = {
			.crc = true, .enhanced = true, .extensions = true,
			.rev = 2, .ird = 4, .ord = 8,
		},
	}, {
		.name = "Reply that grants extensions",
		.hex = VEC_REP "52 02 0004 0004 0008",
		.pd = "",
		.frame = {
			.reply = true, .crc = true, .enhanced = true,
			.extensions = true, .rev = 2, .ird = 4, .ord = 8,
		},
	}, {
		.name = "Reply that refuses, peer-to-peer, RTR Read",
		.hex = VEC_REP "70 02 0004 bffe 7ffe",
		.pd = "",
		.frame = {
			.reply = true, .crc = true, .reject = true,
			.enhanced = true, .p2p = true, .rev = 2,
			.rtr = MPA_RTR_READ, .ird = 0x3ffe, .ord = 0x3ffe,
		},
	},
};

/* Frames with bits that have no meaning in them: parse only */
static const struct vec_frame vec_sloppy_frames[] = {
	{
		.name = "reserved bits set",
		.hex = VEC_REQ "4f 01 0000",
		.pd = "",
		.frame = { .crc = true, .rev = 1 },
	}, {
		.name = "revision 0, C forgotten",
		.hex = VEC_REP "8f 00 0000",
		.pd = "",
		.frame = { .reply = true, .markers = true },
	}, {
		.name = "revision 0 without M",
		.hex = VEC_REQ "40 00 0000",
		.pd = "",
		.frame = { .crc = true },
	}, {
		.name = "revision 0 without M or C",
		.hex = VEC_REQ "00 00 0000",
		.pd = "",
		.frame = { .rev = 0 },
	}, {
		.name = "revision 0 without M in a Reply",
		.hex = VEC_REP "40 00 0000",
		.pd = "",
		.frame = { .reply = true, .crc = true },
	}, {
		.name = "revision 0, bit 0x10",
		.hex = VEC_REQ "d0 00 0004 80010002",
		.pd = "80010002",
		.frame = { .markers = true, .crc = true, .pd_len = 4 },
	}, {
		.name = "revision 0, bit 0x10, in a Reply",
		.hex = VEC_REP "d0 00 0004 80010002",
		.pd = "80010002",
		.frame = {
			.reply = true, .markers = true, .crc = true,
			.pd_len = 4,
		},
	}, {
		.name = "revision 1, bit 0x10",
		.hex = VEC_REQ "50 01 0004 80010002",
		.pd = "80010002",
		.frame = { .crc = true, .rev = 1, .pd_len = 4 },
	}, {
		.name = "revision 1, bit 0x10, in a Reply",
		.hex = VEC_REP "50 01 0004 80010002",
		.pd = "80010002",
		.frame = {
			.reply = true, .crc = true, .rev = 1, .pd_len = 4,
		},
	}, {
		.name = "revision 1, bit 0x10, no private data",
		.hex = VEC_REQ "5f 01 0000",
		.pd = "",
		.frame = { .crc = true, .rev = 1 },
	}, {
		.name = "revision 1, bit 0x10, less than four bytes",
		.hex = VEC_REQ "50 01 0003 010203",
		.pd = "010203",
		.frame = { .crc = true, .rev = 1, .pd_len = 3 },
	}, {
		.name = "R in a Request",
		.hex = VEC_REQ "60 02 0000",
		.pd = "",
		.frame = { .crc = true, .rev = 2 },
	}, {
		.name = "B, C and D without A",
		.hex = VEC_REQ "50 02 0004 4001 c002",
		.pd = "",
		.frame = {
			.crc = true, .enhanced = true, .rev = 2,
			.ird = 1, .ord = 2,
		},
	}, {
		.name = "B, C and D without A in a Reply",
		.hex = VEC_REP "5f 02 0004 7fff ffff",
		.pd = "",
		.frame = {
			.reply = true, .crc = true, .enhanced = true, .rev = 2,
			.ird = 0x3fff, .ord = 0x3fff,
		},
	}, {
		.name = "enhanced, reserved bits and the Reply's for extensions",
		.hex = VEC_REQ "5e 02 0004 0001 0002",
		.pd = "",
		.frame = {
			.crc = true, .enhanced = true, .rev = 2,
			.ird = 1, .ord = 2,
		},
	}, {
		.name = "copy of a Request for extensions in a Reply",
		.hex = VEC_REP "51 02 0004 0001 0002",
		.pd = "",
		.frame = {
			.reply = true, .crc = true, .enhanced = true, .rev = 2,
			.ird = 1, .ord = 2,
		},
	}, {
		.name = "revision 2, not enhanced, bits of extensions",
		.hex = VEC_REQ "43 02 0000",
		.pd = "",
		.frame = { .crc = true, .rev = 2 },
	}, {
		.name = "no RTR kind named",
		.hex = VEC_REQ "50 02 0004 8001 0002",
		.pd = "",
		.frame = {
			.crc = true, .enhanced = true, .p2p = true, .rev = 2,
			.ird = 1, .ord = 2,
		},
	},
};

/* Invalid frames; @seen bytes of @hex are enough to refuse them */
struct vec_bad_frame {
	const char *name;
	const char *hex;
	bool expect_reply;
	u32 seen;
	int want;
};

static const struct vec_bad_frame vec_bad_frames[] = {
	{ "Request for a Reply", VEC_REQ "40 01 0000", true, 10, -EALREADY },
	{ "Reply for a Request", VEC_REP "40 01 0000", false, 10, -EPROTO },
	{ "neither key", "4d504120 49442052 65722046 72616d65 40 01 0000",
	  true, 10, -EPROTO },
	{ "Request with a wrong end, for a Reply",
	  "4d504120 49442052 65712046 72616d66 40 01 0000",
	  true, 10, -EALREADY },
	{ "HTTP", "47455420 2f204854 54502f31 2e310d0a 0d0a 0000",
	  false, 1, -EPROTO },
	{ "revision 0, 513 bytes of private data", VEC_REQ "c0 00 0201",
	  false, 20, -EMSGSIZE },
	{ "revision 3", VEC_REQ "40 03 0000", false, 18, -EPROTONOSUPPORT },
	{ "revision 255", VEC_REQ "40 ff 0000", false, 18, -EPROTONOSUPPORT },
	{ "revision 3 in a Reply", VEC_REP "40 03 0000", true, 18,
	  -EPROTONOSUPPORT },
	{ "revision 1, bit 0x10, 513 bytes of private data",
	  VEC_REQ "50 01 0201", false, 20, -EMSGSIZE },
	{ "513 bytes of private data", VEC_REQ "40 01 0201", false, 20,
	  -EMSGSIZE },
	{ "767 bytes of private data", VEC_REQ "40 01 02ff", false, 20,
	  -EMSGSIZE },
	{ "768 bytes of private data", VEC_REQ "40 01 0300", false, 19,
	  -EMSGSIZE },
	{ "65535 bytes of private data", VEC_REQ "40 01 ffff", false, 19,
	  -EMSGSIZE },
	{ "513 bytes, enhanced", VEC_REP "50 02 0201", true, 20, -EMSGSIZE },
	{ "enhanced, PD_Length 0", VEC_REQ "50 02 0000", false, 20, -EINVAL },
	{ "enhanced, PD_Length 1", VEC_REQ "50 02 0001 80", false, 20,
	  -EINVAL },
	{ "enhanced, PD_Length 2", VEC_REQ "50 02 0002 8000", false, 20,
	  -EINVAL },
	{ "enhanced, PD_Length 3", VEC_REP "50 02 0003 800080", true, 20,
	  -EINVAL },
};

/* RFC 5044 appendix C: kinds of peers */
enum vec_kind {
	VEC_RDMAC,
	VEC_IETF,
	VEC_PERMISSIVE,
};

/*
 * The cells of figures 15, 16 and 17, row by row: kinds and Marker preferences
 * of Initiator and Responder; the version of DDP and RDMAP, or -1 for "close";
 * Markers in what the Initiator and what the Responder receives. The cell of
 * figure 16 that is N/A (a permissive Responder never sends M=0 to an RDMAC
 * Initiator) stands for a Responder that prefers M=0 and has to send M=1.
 */
struct vec_figure {
	const char *name;
	enum vec_kind initiator;
	bool initiator_m;
	enum vec_kind responder;
	bool responder_m;
	int version;
	bool to_initiator;
	bool to_responder;
};

static const struct vec_figure vec_figures[] = {
	{ "15: RDMAC M=1 to RDMAC M=1",
	  VEC_RDMAC, true, VEC_RDMAC, true, 0, true, true },
	{ "15: RDMAC M=1 to non-permissive M=0",
	  VEC_RDMAC, true, VEC_IETF, false, -1 },
	{ "15: RDMAC M=1 to non-permissive M=1",
	  VEC_RDMAC, true, VEC_IETF, true, -1 },
	{ "15: non-permissive M=0 to RDMAC M=1",
	  VEC_IETF, false, VEC_RDMAC, true, -1 },
	{ "15: non-permissive M=0 to non-permissive M=0",
	  VEC_IETF, false, VEC_IETF, false, 1, false, false },
	{ "15: non-permissive M=0 to non-permissive M=1",
	  VEC_IETF, false, VEC_IETF, true, 1, false, true },
	{ "15: non-permissive M=1 to RDMAC M=1",
	  VEC_IETF, true, VEC_RDMAC, true, -1 },
	{ "15: non-permissive M=1 to non-permissive M=0",
	  VEC_IETF, true, VEC_IETF, false, 1, true, false },
	{ "15: non-permissive M=1 to non-permissive M=1",
	  VEC_IETF, true, VEC_IETF, true, 1, true, true },
	{ "16: RDMAC M=1 to RDMAC M=1",
	  VEC_RDMAC, true, VEC_RDMAC, true, 0, true, true },
	{ "16: RDMAC M=1 to permissive M=0",
	  VEC_RDMAC, true, VEC_PERMISSIVE, false, 0, true, true },
	{ "16: RDMAC M=1 to permissive M=1",
	  VEC_RDMAC, true, VEC_PERMISSIVE, true, 0, true, true },
	{ "16: permissive M=0 to RDMAC M=1",
	  VEC_PERMISSIVE, false, VEC_RDMAC, true, 0, true, true },
	{ "16: permissive M=0 to permissive M=0",
	  VEC_PERMISSIVE, false, VEC_PERMISSIVE, false, 1, false, false },
	{ "16: permissive M=0 to permissive M=1",
	  VEC_PERMISSIVE, false, VEC_PERMISSIVE, true, 1, false, true },
	{ "16: permissive M=1 to RDMAC M=1",
	  VEC_PERMISSIVE, true, VEC_RDMAC, true, 0, true, true },
	{ "16: permissive M=1 to permissive M=0",
	  VEC_PERMISSIVE, true, VEC_PERMISSIVE, false, 1, true, false },
	{ "16: permissive M=1 to permissive M=1",
	  VEC_PERMISSIVE, true, VEC_PERMISSIVE, true, 1, true, true },
	{ "17: non-permissive M=0 to non-permissive M=0",
	  VEC_IETF, false, VEC_IETF, false, 1, false, false },
	{ "17: non-permissive M=0 to non-permissive M=1",
	  VEC_IETF, false, VEC_IETF, true, 1, false, true },
	{ "17: non-permissive M=0 to permissive M=0",
	  VEC_IETF, false, VEC_PERMISSIVE, false, 1, false, false },
	{ "17: non-permissive M=0 to permissive M=1",
	  VEC_IETF, false, VEC_PERMISSIVE, true, 1, false, true },
	{ "17: non-permissive M=1 to non-permissive M=0",
	  VEC_IETF, true, VEC_IETF, false, 1, true, false },
	{ "17: non-permissive M=1 to non-permissive M=1",
	  VEC_IETF, true, VEC_IETF, true, 1, true, true },
	{ "17: non-permissive M=1 to permissive M=0",
	  VEC_IETF, true, VEC_PERMISSIVE, false, 1, true, false },
	{ "17: non-permissive M=1 to permissive M=1",
	  VEC_IETF, true, VEC_PERMISSIVE, true, 1, true, true },
	{ "17: permissive M=0 to non-permissive M=0",
	  VEC_PERMISSIVE, false, VEC_IETF, false, 1, false, false },
	{ "17: permissive M=0 to non-permissive M=1",
	  VEC_PERMISSIVE, false, VEC_IETF, true, 1, false, true },
	{ "17: permissive M=0 to permissive M=0",
	  VEC_PERMISSIVE, false, VEC_PERMISSIVE, false, 1, false, false },
	{ "17: permissive M=0 to permissive M=1",
	  VEC_PERMISSIVE, false, VEC_PERMISSIVE, true, 1, false, true },
	{ "17: permissive M=1 to non-permissive M=0",
	  VEC_PERMISSIVE, true, VEC_IETF, false, 1, true, false },
	{ "17: permissive M=1 to non-permissive M=1",
	  VEC_PERMISSIVE, true, VEC_IETF, true, 1, true, true },
	{ "17: permissive M=1 to permissive M=0",
	  VEC_PERMISSIVE, true, VEC_PERMISSIVE, false, 1, true, false },
	{ "17: permissive M=1 to permissive M=1",
	  VEC_PERMISSIVE, true, VEC_PERMISSIVE, true, 1, true, true },
};

static inline struct mpa_params vec_kind_params(enum vec_kind kind, bool markers,
						u8 rev)
{
	struct mpa_params own = {
		.markers = markers,
		.permissive = kind == VEC_PERMISSIVE,
		.rev = kind == VEC_RDMAC ? (u8)MPA_REV_RDMAC : rev,
		.rtr = MPA_RTR_WRITE,
	};

	return own;
}

/*
 * Revisions that each kind of Responder accepts, and revision of the Reply that
 * accepts or rejects; -1: no Reply
 */
struct vec_server {
	const char *name;
	u8 rev;
	u8 rev_min;
	bool permissive;
	int accept[3];
	int reject[3];
};

static const struct vec_server vec_servers[] = {
	{ "RDMAC", 0, 0, false, { 0, 0, -1 }, { 0, 0, -1 } },
	{ "RDMAC, permissive", 0, 0, true, { 0, 0, -1 }, { 0, 0, -1 } },
	{ "revision 1", 1, 0, false, { -1, 1, -1 }, { 1, 1, -1 } },
	{ "revision 1 at least", 1, 1, false, { -1, 1, -1 }, { 1, 1, -1 } },
	{ "revision 1, permissive", 1, 0, true, { 0, 1, -1 }, { 0, 1, -1 } },
	{ "revision 1 at least, permissive",
	  1, 1, true, { -1, 1, -1 }, { 1, 1, -1 } },
	{ "revision 2", 2, 0, false, { -1, 1, 2 }, { 1, 1, 2 } },
	{ "revision 2, 1 at least", 2, 1, false, { -1, 1, 2 }, { 1, 1, 2 } },
	{ "revision 2, permissive", 2, 0, true, { 0, 1, 2 }, { 0, 1, 2 } },
	{ "revision 2, 1 at least, permissive",
	  2, 1, true, { -1, 1, 2 }, { 1, 1, 2 } },
	{ "revision 2 only", 2, 2, false, { -1, -1, 2 }, { 2, 2, 2 } },
	{ "revision 2 only, permissive",
	  2, 2, true, { -1, -1, 2 }, { 2, 2, 2 } },
};

/*
 * Revision of the Request of each kind of Initiator, enhanced or not, and its
 * result for a plain Reply of revision 0, 1 and 2 and for an enhanced one
 */
struct vec_asker {
	const char *name;
	u8 rev;
	u8 rev_min;
	bool permissive;
	bool plain;
	u8 asks;
	bool enhanced;
	int want[3];
	int want_enhanced;
};

static const struct vec_asker vec_askers[] = {
	{ "RDMAC", 0, 0, false, false, 0, false,
	  { 0, -EPROTO, -EPROTO }, -EPROTO },
	{ "revision 1", 1, 0, false, false, 1, false,
	  { -EPROTONOSUPPORT, 0, -EPROTO }, -EPROTO },
	{ "revision 1, permissive", 1, 0, true, false, 1, false,
	  { 0, 0, -EPROTO }, -EPROTO },
	{ "revision 1 at least, permissive", 1, 1, true, false, 1, false,
	  { -EPROTONOSUPPORT, 0, -EPROTO }, -EPROTO },
	{ "revision 2", 2, 0, false, false, 2, true,
	  { -EPROTONOSUPPORT, -EPROTO, -EPROTO }, 0 },
	{ "revision 2, permissive", 2, 0, true, false, 2, true,
	  { -EPROTONOSUPPORT, -EPROTO, -EPROTO }, 0 },
	{ "revision 2 only", 2, 2, false, false, 2, true,
	  { -EPROTONOSUPPORT, -EPROTONOSUPPORT, -EPROTO }, 0 },
	{ "revision 2, plain", 2, 0, false, true, 1, false,
	  { -EPROTONOSUPPORT, 0, -EPROTO }, -EPROTO },
	{ "revision 2, plain, permissive", 2, 0, true, true, 1, false,
	  { 0, 0, -EPROTO }, -EPROTO },
	{ "revision 2 only, plain", 2, 2, false, true, 2, false,
	  { -EPROTONOSUPPORT, -EPROTONOSUPPORT, 0 }, -EPROTO },
	{ "a revision yet to come", 3, 0, false, false, 2, true,
	  { -EPROTONOSUPPORT, -EPROTO, -EPROTO }, 0 },
};

/* RFC 6581 section 9, Responder: enhanced Requests */
struct vec_answer {
	const char *name;
	struct {
		u16 ird, ord, ird_max;
		u8 rtr;
	} own;
	struct {
		u16 ird, ord;
		bool p2p;
		u8 rtr;
	} req;
	bool reject;
	struct {
		u16 ird, ord;
		u8 rtr;
	} rep;
	struct {
		u16 ird, ord;
	} res;
};

#define VEC_NONE	MPA_ENH_DEPTH_NONE
#define VEC_S		MPA_RTR_SEND
#define VEC_W		MPA_RTR_WRITE
#define VEC_R		MPA_RTR_READ

static const struct vec_answer vec_answers[] = {
	{
		.name = "M15: ORD kept within the Initiator's IRD",
		.own = { 8, 8, 8, VEC_W }, .req = { 4, 8 },
		.rep = { 8, 4 }, .res = { 8, 4 },
	}, {
		.name = "M15: IRD limited below the Initiator's ORD",
		.own = { 4, 4, 4, VEC_W }, .req = { 4, 8 },
		.rep = { 4, 4 }, .res = { 4, 4 },
	}, {
		.name = "IRD raised to the Initiator's ORD",
		.own = { 1, 4, 16, VEC_W }, .req = { 4, 8 },
		.rep = { 8, 4 }, .res = { 8, 4 },
	}, {
		.name = "IRD raised to the limit",
		.own = { 1, 4, 6, VEC_W }, .req = { 4, 8 },
		.rep = { 6, 4 }, .res = { 6, 4 },
	}, {
		.name = "IRD above its limit is not lowered",
		.own = { 7, 4, 6, VEC_W }, .req = { 4, 8 },
		.rep = { 7, 4 }, .res = { 7, 4 },
	}, {
		.name = "IRD above the Initiator's ORD stays",
		.own = { 9, 2, 16, VEC_W }, .req = { 4, 8 },
		.rep = { 9, 2 }, .res = { 9, 2 },
	}, {
		.name = "M16: Initiator's IRD 0",
		.own = { 4, 4, 4, VEC_W }, .req = { 0, 0 },
		.rep = { 4, 0 }, .res = { 4, 0 },
	}, {
		.name = "M17: depths of 0x3ffe",
		.own = { 4, 8, 32, VEC_W }, .req = { 0x3ffe, 0x3ffe },
		.rep = { 32, 8 }, .res = { 32, 8 },
	}, {
		.name = "M17: ORD 0x3fff leaves our IRD alone",
		.own = { 4, 8, 32, VEC_W }, .req = { 2, VEC_NONE },
		.rep = { VEC_NONE, 2 }, .res = { 4, 2 },
	}, {
		.name = "M17: IRD 0x3fff leaves our ORD alone",
		.own = { 4, 8, 32, VEC_W }, .req = { VEC_NONE, 5 },
		.rep = { 5, VEC_NONE }, .res = { 5, 8 },
	}, {
		.name = "our depths beyond 14 bits are not sent as 0x3fff",
		.own = { 0x4000, 0xffff, 0xffff, VEC_W }, .req = { 0x3ffe, 1 },
		.rep = { 0x3ffe, 0x3ffe }, .res = { 0x4000, 0x3ffe },
	}, {
		.name = "M19: RTR Write",
		.own = { 4, 4, 4, VEC_W | VEC_R | VEC_S },
		.req = { 4, 4, true, VEC_W },
		.rep = { 4, 4, VEC_W }, .res = { 4, 4 },
	}, {
		.name = "common RTR kinds of several",
		.own = { 4, 4, 4, VEC_W | VEC_R },
		.req = { 4, 4, true, VEC_R | VEC_S },
		.rep = { 4, 4, VEC_R }, .res = { 4, 4 },
	}, {
		.name = "M20: a Read as RTR makes IRD at least 1",
		.own = { 0, 4, 4, VEC_W | VEC_R },
		.req = { 4, 0, true, VEC_R },
		.rep = { 1, 4, VEC_R }, .res = { 1, 4 },
	}, {
		.name = "the same with our IRD out of negotiation",
		.own = { 0, 4, 4, VEC_R },
		.req = { 4, VEC_NONE, true, VEC_R },
		.rep = { VEC_NONE, 4, VEC_R }, .res = { 1, 4 },
	}, {
		.name = "no Read as RTR, IRD stays 0",
		.own = { 0, 4, 0, VEC_W | VEC_R },
		.req = { 4, 3, true, VEC_W },
		.rep = { 0, 4, VEC_W }, .res = { 0, 4 },
	}, {
		.name = "M21: no common RTR kind, ours are named",
		.own = { 4, 4, 4, VEC_W | VEC_R },
		.req = { 4, 4, true, VEC_S },
		.rep = { 4, 4, VEC_W | VEC_R }, .res = { 4, 4 },
	}, {
		.name = "no RTR kind asked for, ours are named",
		.own = { 4, 4, 4, VEC_W },
		.req = { 4, 4, true, 0 },
		.rep = { 4, 4, VEC_W }, .res = { 4, 4 },
	}, {
		.name = "M22: client-server names no RTR kind",
		.own = { 0, 4, 4, VEC_W | VEC_R | VEC_S },
		.req = { 4, 0, false, 0 },
		.rep = { 0, 4, 0 }, .res = { 0, 4 },
	}, {
		.name = "a refusal names the ORD wanted",
		.own = { 4, 8, 4, VEC_W }, .req = { 1, 1 }, .reject = true,
		.rep = { 4, 8 }, .res = { 4, 1 },
	},
};

/* RFC 6581 section 9, Initiator */
struct vec_conclude {
	const char *name;
	struct {
		u16 ird, ord, ird_max;
		u8 rtr;
	} own;
	bool p2p;
	bool ird_none;
	bool ord_none;
	struct {
		u16 ird, ord;
		bool p2p;
		u8 rtr;
	} rep;
	int want;
	struct {
		u16 ird, ord;
		u8 rtr;
	} res;
};

static const struct vec_conclude vec_conclusions[] = {
	{
		.name = "both depths suit",
		.own = { 4, 8, 4, VEC_W }, .rep = { 8, 4 },
		.res = { 4, 8 },
	}, {
		.name = "ORD cut to the Responder's IRD",
		.own = { 4, 8, 4, VEC_W }, .rep = { 3, 2 },
		.res = { 4, 3 },
	}, {
		.name = "Responder's IRD 0",
		.own = { 4, 8, 4, VEC_W }, .rep = { 0, 0 },
		.res = { 4, 0 },
	}, {
		.name = "IRD raised to the Responder's ORD",
		.own = { 4, 8, 16, VEC_W }, .rep = { 8, 16 },
		.res = { 16, 8 },
	}, {
		.name = "M18: IRD cannot be raised so far",
		.own = { 4, 8, 16, VEC_W }, .rep = { 8, 17 },
		.want = -ENOSPC, .res = { 4, 8 },
	}, {
		.name = "M18: depth 0x3ffe",
		.own = { 4, 8, 16, VEC_W }, .rep = { 0x3ffe, 0x3ffe },
		.want = -ENOSPC, .res = { 4, 8 },
	}, {
		.name = "M17: IRD out of negotiation",
		.own = { 4, 8, 4, VEC_W }, .ird_none = true,
		.rep = { 6, VEC_NONE }, .res = { 4, 6 },
	}, {
		.name = "the same, the Responder names its ORD",
		.own = { 4, 8, 4, VEC_W }, .ird_none = true,
		.rep = { 6, 12 }, .res = { 4, 6 },
	}, {
		.name = "M17: ORD out of negotiation",
		.own = { 4, 8, 4, VEC_W }, .ord_none = true,
		.rep = { VEC_NONE, 2 }, .res = { 4, 8 },
	}, {
		.name = "the same, the Responder names its IRD",
		.own = { 4, 8, 4, VEC_W }, .ord_none = true,
		.rep = { 1, 2 }, .res = { 4, 8 },
	}, {
		.name = "the Responder declines to negotiate",
		.own = { 4, 8, 4, VEC_W }, .rep = { VEC_NONE, VEC_NONE },
		.res = { 4, 8 },
	}, {
		.name = "M19: RTR Write",
		.own = { 4, 4, 4, VEC_W | VEC_R | VEC_S }, .p2p = true,
		.rep = { 4, 4, true, VEC_W | VEC_R | VEC_S },
		.res = { 4, 4, VEC_W },
	}, {
		.name = "RTR Read before Send",
		.own = { 4, 4, 4, VEC_W | VEC_R | VEC_S }, .p2p = true,
		.rep = { 4, 4, true, VEC_R | VEC_S },
		.res = { 4, 4, VEC_R },
	}, {
		.name = "RTR Send at last",
		.own = { 4, 4, 4, VEC_W | VEC_S }, .p2p = true,
		.rep = { 4, 4, true, VEC_R | VEC_S },
		.res = { 4, 4, VEC_S },
	}, {
		.name = "M20: RTR Read with ORD 0",
		.own = { 4, 0, 4, VEC_R }, .p2p = true,
		.rep = { 1, 4, true, VEC_R },
		.res = { 4, 1, VEC_R },
	}, {
		.name = "RTR Read, but the Responder's IRD is 0",
		.own = { 4, 4, 4, VEC_R | VEC_S }, .p2p = true,
		.rep = { 0, 4, true, VEC_R | VEC_S },
		.res = { 4, 0, VEC_S },
	}, {
		.name = "only RTR Read, and the Responder's IRD is 0",
		.own = { 4, 4, 4, VEC_R }, .p2p = true,
		.rep = { 0, 4, true, VEC_R },
		.want = -EOPNOTSUPP, .res = { 4, 0, 0 },
	}, {
		.name = "M21: no RTR kind in common",
		.own = { 4, 4, 4, VEC_S }, .p2p = true,
		.rep = { 4, 4, true, VEC_W | VEC_R },
		.want = -EOPNOTSUPP, .res = { 4, 4, 0 },
	}, {
		.name = "no RTR kind offered",
		.own = { 4, 4, 4, VEC_W }, .p2p = true,
		.rep = { 4, 4, true, 0 },
		.want = -EOPNOTSUPP, .res = { 4, 4, 0 },
	}, {
		.name = "depth before RTR",
		.own = { 4, 4, 4, VEC_S }, .p2p = true,
		.rep = { 4, 5, true, VEC_W },
		.want = -ENOSPC, .res = { 4, 4, 0 },
	}, {
		.name = "M23: A not echoed",
		.own = { 4, 4, 4, VEC_W }, .p2p = true,
		.rep = { 4, 4, false, 0 },
		.want = -EPROTO, .res = { 4, 4, 0 },
	}, {
		.name = "A out of nowhere",
		.own = { 4, 4, 4, VEC_W }, .rep = { 4, 4, true, VEC_W },
		.want = -EPROTO, .res = { 4, 4, 0 },
	},
};

/* Layout of FPDUs in segments */
struct vec_seg {
	const char *name;
	struct mpa_seg_view view;
	u32 seg_len;
	u32 segs;
	bool alone;
};

/* A view at MTU 1500 with timestamps: SACK blocks can take 28 bytes. */
#define VEC_VIEW(...) { .mss = 1448, .option_room = 28, ##__VA_ARGS__ }
#define VEC_AMPLE .window = 1 << 20, .cwnd = 1000

static const struct vec_seg vec_segs[] = {
	/* fast policy, no Markers: the socket's windows do not matter */
	{ "several segments", VEC_VIEW(), 1448, 45 },
	{ "behind unsent bytes",
	  VEC_VIEW(.unsent = 1, .window = 0, .cwnd = 0), 1448, 45 },
	{ "jumbo frames", { .mss = 8948, .option_room = 28 }, 8948, 7 },
	{ "two segments at the most",
	  { .mss = 32768, .option_room = 28 }, 32768, 2 },
	{ "too long for two", { .mss = 32772, .option_room = 28 }, 32744, 1 },
	/* a batch fits into one packet of TCP */
	{ "packets of 44 segments", VEC_VIEW(.packet = 44 * 1448), 1448, 44 },
	{ "a byte short of 44",
	  VEC_VIEW(.packet = 44 * 1448 - 1), 1448, 43 },
	{ "packets of two segments", VEC_VIEW(.packet = 2896), 1448, 2 },
	{ "packets of one segment", VEC_VIEW(.packet = 1448), 1420, 1 },
	{ "packets beyond a batch", VEC_VIEW(.packet = 1 << 18), 1448, 45 },
	{ "strict, packets of 3 segments",
	  VEC_VIEW(.strict = true, .packet = 3 * 1448, VEC_AMPLE), 1448, 3 },
	/* conditions that require the base policy */
	{ "SACK pending", VEC_VIEW(.options_pending = true), 1420, 1 },
	{ "SACK pending, all options in use",
	  { .mss = 1420, .option_room = 0, .options_pending = true }, 1420, 1 },
	{ "SACK pending, odd room",
	  { .mss = 1448, .option_room = 1, .options_pending = true }, 1444, 1 },
	{ "mss of 4n + 1", { .mss = 1449, .option_room = 28 }, 1420, 1 },
	{ "mss of 4n + 2", { .mss = 1446, .option_room = 28 }, 1416, 1 },
	{ "mss of 4n + 3", { .mss = 1447, .option_room = 28 }, 1416, 1 },
	/* set by the administrator */
	{ "single", VEC_VIEW(.single = true), 1420, 1 },
	{ "single, jumbo frames",
	  { .mss = 8948, .option_room = 28, .single = true }, 8920, 1 },
	{ "single, strict",
	  VEC_VIEW(.strict = true, .single = true, VEC_AMPLE), 1420, 1 },
	{ "single, no room for options",
	  { .mss = 1448, .single = true }, 1448, 1 },
	{ "lone", VEC_VIEW(.single = true, .lone = true), 1420, 1, true },
	{ "lone, strict",
	  VEC_VIEW(.strict = true, .single = true, .lone = true, VEC_AMPLE),
	  1420, 1, true },
	{ "lone, a segment too short for any ULPDU",
	  { .mss = 88, .single = true, .lone = true }, 136, 1, true },
	/* Markers: no risk taken */
	{ "strict, ample windows",
	  VEC_VIEW(.strict = true, VEC_AMPLE), 1448, 45 },
	{ "strict, SACK pending",
	  VEC_VIEW(.options_pending = true, .strict = true, VEC_AMPLE), 1420, 1 },
	{ "strict, one byte unsent",
	  VEC_VIEW(.strict = true, .unsent = 1, VEC_AMPLE), 1420, 1 },
	{ "strict, window just wide enough",
	  VEC_VIEW(.strict = true, .window = 45 * 1448, .cwnd = 45),
	  1448, 45 },
	{ "strict, window a byte short",
	  VEC_VIEW(.strict = true, .window = 45 * 1448 - 1, .cwnd = 45),
	  1448, 44 },
	{ "strict, window of two segments",
	  VEC_VIEW(.strict = true, .window = 2896, .cwnd = 45), 1448, 2 },
	{ "strict, window a byte short of two",
	  VEC_VIEW(.strict = true, .window = 2895, .cwnd = 45), 1420, 1 },
	{ "strict, window closed",
	  VEC_VIEW(.strict = true, .window = 0, .cwnd = 45), 1420, 1 },
	{ "strict, congestion window of 44",
	  VEC_VIEW(.strict = true, .window = 1 << 20, .cwnd = 44), 1448, 44 },
	{ "strict, congestion window of 2",
	  VEC_VIEW(.strict = true, .window = 1 << 20, .cwnd = 2), 1448, 2 },
	{ "strict, congestion window of 1",
	  VEC_VIEW(.strict = true, .window = 1 << 20, .cwnd = 1), 1420, 1 },
	{ "strict, congestion window full",
	  VEC_VIEW(.strict = true, .window = 1 << 20, .cwnd = 0), 1420, 1 },
	/* limits of seg_len */
	{ "no mss", { .mss = 0, .option_room = 0 }, 136, 1 },
	{ "no mss, strict", { .mss = 0, .strict = true }, 140, 1 },
	{ "room for options eats all", { .mss = 28, .option_room = 28 },
	  136, 1 },
	{ "and more than all", { .mss = 28, .option_room = 36 }, 136, 1 },
	{ "below the shortest", { .mss = 132, .option_room = 0 }, 136, 1 },
	{ "the shortest", { .mss = 136, .option_room = 28 }, 136, 481 },
	{ "the shortest, SACK pending",
	  { .mss = 136, .option_room = 28, .options_pending = true }, 136, 1 },
	{ "below the shortest, strict",
	  { .mss = 136, .option_room = 0, .strict = true, VEC_AMPLE }, 140, 1 },
	{ "the shortest, strict",
	  { .mss = 140, .option_room = 0, .strict = true, VEC_AMPLE },
	  140, 468 },
	{ "loopback", { .mss = 65483, .option_room = 28 }, 64776, 1 },
	{ "loopback, strict",
	  { .mss = 65483, .option_room = 28, .strict = true, VEC_AMPLE },
	  65288, 1 },
	{ "mss beyond all reason", { .mss = 0xfffffffc }, 64776, 1 },
};

#endif /* MPA_TESTS_FRAMING_H */
