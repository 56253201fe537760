/* SPDX-License-Identifier: GPL-2.0-only */
/* The Terminate message: RFC 5040 section 4.8. Pure functions. */
#ifndef MPA_DDP_TERMINATE_H
#define MPA_DDP_TERMINATE_H

#include <linux/types.h>

#include "check.h"

/**
 * struct rdmap_terminate - a decoded Terminate
 * @layer: layer of the error, enum rdmap_layer or any other value up to 15
 * @etype: error type, see &struct ddp_fault
 * @code: error code, see &struct ddp_fault
 * @has_len: M: @seg_len is valid
 * @has_ddp: D: a DDP header is present
 * @has_rdmap: R: a Read Request header is present
 * @seg_len: DDP Segment Length, for diagnosis only
 */
struct rdmap_terminate {
	u8 layer;
	u8 etype;
	u8 code;
	bool has_len;
	bool has_ddp;
	bool has_rdmap;
	u16 seg_len;
};

u32 rdmap_terminate_build(u8 *p, u8 version, const struct ddp_fault *f,
			  const u8 *seg, u32 seg_hdr_len, u32 seg_len);
int rdmap_terminate_parse(const u8 *p, u32 len, struct rdmap_terminate *t);
const char *rdmap_error_text(u8 layer, u8 etype, u8 code);

#endif /* MPA_DDP_TERMINATE_H */
