/* SPDX-License-Identifier: GPL-2.0-only */
/* Send queue entries of atomic operations. */
#ifndef MPA_RNIC_SQ_ATOMIC_H
#define MPA_RNIC_SQ_ATOMIC_H

#include <linux/types.h>
#include <rdma/mpa-abi.h>

struct ib_send_wr;
struct rdmap_atomic;

/**
 * struct rnic_atomic_masks - what follows struct mpa_atomic in the entry of a
 * masked operation, of kernel consumers only
 * @mask: Add Mask or Swap Mask
 * @compare_mask: Compare Mask
 */
struct rnic_atomic_masks {
	u64 mask;
	u64 compare_mask;
};

static inline struct mpa_atomic *rnic_sqe_operands(const struct mpa_sqe *e)
{
	return (struct mpa_atomic *)e->sge;
}

static inline struct rnic_atomic_masks *rnic_sqe_masks(const struct mpa_sqe *e)
{
	return (struct rnic_atomic_masks *)(rnic_sqe_operands(e) + 1);
}

bool rnic_sqe_atomic_clear(const struct mpa_sqe *e);
void rnic_sqe_atomic(const struct mpa_sqe *e, struct rdmap_atomic *a);
int rnic_sqe_atomic_from(struct mpa_sqe *e, const struct ib_send_wr *wr);

#endif /* MPA_RNIC_SQ_ATOMIC_H */
