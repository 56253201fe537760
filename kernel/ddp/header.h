/* SPDX-License-Identifier: GPL-2.0-only */
/* Encoding and decoding of DDP and RDMAP headers. Pure functions. */
#ifndef MPA_DDP_HEADER_H
#define MPA_DDP_HEADER_H

#include <linux/types.h>

#include "wire.h"

/**
 * struct ddp_hdr - DDP and RDMAP control fields of a segment, host byte order
 * @tagged: T bit
 * @last: L bit
 * @ddp_version: DV
 * @rdmap_version: RV
 * @opcode: RDMAP opcode, 0 .. 15, not checked yet
 * @stag: tagged: STag; untagged: Invalidate STag
 * @to: tagged offset of the payload (tagged)
 * @qn: queue number (untagged)
 * @msn: message sequence number (untagged)
 * @mo: message offset of the payload (untagged)
 * @hdr_len: bytes of this header, %DDP_TAGGED_LEN or %DDP_UNTAGGED_LEN
 * @payload_len: bytes of the ULPDU after the header
 */
struct ddp_hdr {
	bool tagged;
	bool last;
	u8 ddp_version;
	u8 rdmap_version;
	u8 opcode;
	u32 stag;
	u64 to;
	u32 qn;
	u32 msn;
	u32 mo;
	u32 hdr_len;
	u32 payload_len;
};

/**
 * struct rdmap_read - RDMA Read Request header, host byte order
 * @sink_stag: STag of the data sink; copied to the response, not interpreted
 * @sink_to: tagged offset of the data sink; likewise
 * @size: bytes to read
 * @src_stag: STag of the data source
 * @src_to: tagged offset of the data source
 */
struct rdmap_read {
	u32 sink_stag;
	u64 sink_to;
	u32 size;
	u32 src_stag;
	u64 src_to;
};

u32 ddp_hdr_len(u8 ddp_ctrl);
bool ddp_continues(const u8 *p, const u8 *next, u32 passed);
int ddp_decode(const u8 *p, u32 ulpdu_len, struct ddp_hdr *h);
void rdmap_read_decode(const u8 *p, struct rdmap_read *rd);
__be32 rdmap_imm_decode(const u8 *p);

u32 ddp_build_tagged(u8 *p, u8 version, u8 opcode, bool last, u32 stag, u64 to);
u32 ddp_build_untagged(u8 *p, u8 version, u8 opcode, bool last, u32 inv_stag,
		       u32 qn, u32 msn, u32 mo);
u32 rdmap_read_build(u8 *p, const struct rdmap_read *rd);
u32 rdmap_imm_build(u8 *p, __be32 imm);

#endif /* MPA_DDP_HEADER_H */
