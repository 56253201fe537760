/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_RNIC_MR_TX_H
#define MPA_RNIC_MR_TX_H

#include <linux/types.h>

struct ddp_fault;
struct ib_qp;
struct mpa_sge;
struct rnic_dev;
struct rnic_mr;
struct rnic_run;
struct rnic_source;

struct rnic_mr *rnic_mr_get(struct rnic_dev *dev, const struct ib_qp *ibqp,
			    const struct rnic_source *from, struct rnic_run *run,
			    struct ddp_fault *fault);
bool rnic_mr_local_dma_run(struct rnic_dev *dev, const struct ib_qp *ibqp,
			   const struct rnic_source *from, struct rnic_run *run);
bool rnic_mr_granted(struct rnic_dev *dev, const struct ib_qp *ibqp,
		     const struct mpa_sge *sge, unsigned int nr, int access);
bool rnic_mr_copy(struct rnic_dev *dev, const struct ib_qp *ibqp, u32 stag,
		  u64 addr, u32 len, u8 *to);
bool rnic_mr_more(struct rnic_mr *mr, const struct ib_qp *ibqp,
		  const struct rnic_source *from, u32 epoch, struct rnic_run *run);
bool rnic_mr_lock_granted(struct rnic_mr *mr, u32 epoch);
void rnic_mr_unlock_granted(struct rnic_mr *mr);

#endif /* MPA_RNIC_MR_TX_H */
