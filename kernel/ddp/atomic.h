/* SPDX-License-Identifier: GPL-2.0-only */
/* Atomic operations (RFC 7306 section 5). Pure functions. */
#ifndef MPA_DDP_ATOMIC_H
#define MPA_DDP_ATOMIC_H

#include <linux/types.h>

#include "wire.h"

/**
 * struct rdmap_atomic - Atomic Request header, host byte order
 * @op: enum rdmap_atomic_op, 0 .. 15, not checked yet
 * @id: Request Identifier, returned in the response
 * @stag: STag of the memory
 * @to: tagged offset of its eight bytes
 * @data: Add Data or Swap Data
 * @mask: Add Mask or Swap Mask
 * @compare: Compare Data of a CmpSwap
 * @compare_mask: Compare Mask of a CmpSwap
 */
struct rdmap_atomic {
	u8 op;
	u32 id;
	u32 stag;
	u64 to;
	u64 data;
	u64 mask;
	u64 compare;
	u64 compare_mask;
};

void rdmap_atomic_decode(const u8 *p, struct rdmap_atomic *a);
u32 rdmap_atomic_build(u8 *p, const struct rdmap_atomic *a);
void rdmap_atomic_response_decode(const u8 *p, u32 *id, u64 *value);
u32 rdmap_atomic_response_build(u8 *p, u32 id, u64 value);
u64 rdmap_atomic_result(const struct rdmap_atomic *a, u64 old);

#endif /* MPA_DDP_ATOMIC_H */
