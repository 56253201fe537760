/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_RNIC_MR_ATOMIC_H
#define MPA_RNIC_MR_ATOMIC_H

#include <linux/types.h>

struct ddp_fault;
struct ib_pd;
struct ib_qp;
struct rdmap_atomic;
struct rnic_dev;
struct rnic_early;

int rnic_mr_store(struct rnic_dev *dev, const struct ib_pd *pd,
		  struct rnic_early *e, u32 stag, u64 to, u64 value);
bool rnic_mr_atomic(struct rnic_dev *dev, const struct ib_qp *ibqp,
		    struct rnic_early *e, const struct rdmap_atomic *a, u64 *old,
		    struct ddp_fault *f);

#endif /* MPA_RNIC_MR_ATOMIC_H */
