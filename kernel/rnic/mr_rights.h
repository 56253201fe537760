/* SPDX-License-Identifier: GPL-2.0-only */
/* Invalidation, removal and fast registration of regions, end of windows. */
#ifndef MPA_RNIC_MR_RIGHTS_H
#define MPA_RNIC_MR_RIGHTS_H

#include <linux/types.h>

struct ddp_fault;
struct ib_mr;
struct ib_qp;
struct rnic_dev;
struct rnic_mr;

void rnic_mr_drop_window(struct rnic_mr *region);
struct rnic_mr *rnic_mr_detach(struct rnic_mr *mr);
int rnic_mr_invalidate(struct rnic_dev *dev, const struct ib_qp *ibqp, u32 stag,
		       bool remote, struct ddp_fault *fault);
int rnic_mr_retire(struct rnic_mr *mr);
int rnic_mr_revoke(struct rnic_mr *mr);
void rnic_mr_unbind(struct rnic_mr *mw);
int rnic_mr_fast_reg(const struct ib_qp *ibqp, struct ib_mr *ibmr, u32 key,
		     int access);

#endif /* MPA_RNIC_MR_RIGHTS_H */
