/* SPDX-License-Identifier: GPL-2.0-only */
/* Removal and fast registration of memory regions, end of windows. */
#ifndef MPA_RNIC_MR_RIGHTS_H
#define MPA_RNIC_MR_RIGHTS_H

#include <linux/types.h>

struct ib_mr;
struct ib_qp;
struct rnic_mr;

int rnic_mr_retire(struct rnic_mr *mr);
int rnic_mr_revoke(struct rnic_mr *mr);
void rnic_mr_unbind(struct rnic_mr *mw);
int rnic_mr_fast_reg(const struct ib_qp *ibqp, struct ib_mr *ibmr, u32 key,
		     int access);

#endif /* MPA_RNIC_MR_RIGHTS_H */
