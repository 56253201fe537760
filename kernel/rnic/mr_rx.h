/* SPDX-License-Identifier: GPL-2.0-only */
/* Placement of received payload. */
#ifndef MPA_RNIC_MR_RX_H
#define MPA_RNIC_MR_RX_H

#include <linux/types.h>

struct ddp_fault;
struct ddp_hdr;
struct ib_pd;
struct ib_qp;
struct mpa_rx;
struct rnic_dev;
struct rnic_early;
struct rnic_mr;
struct rnic_sink;

void rnic_mr_forget(struct rnic_sink *sink);
int rnic_mr_place(struct rnic_dev *dev, const struct ib_pd *pd,
		  struct rnic_sink *sink, u32 stag, u64 to, u32 len,
		  struct mpa_rx *rx);
bool rnic_mr_write(struct rnic_dev *dev, const struct ib_qp *ibqp,
		   struct rnic_sink *sink, const struct ddp_hdr *h,
		   struct mpa_rx *rx, struct ddp_fault *f);
bool rnic_mr_place_early(struct rnic_dev *dev, const struct ib_qp *ibqp,
			 struct rnic_early *e, const struct ddp_hdr *h,
			 int access, u32 end, struct mpa_rx *rx);
void rnic_mr_touch(const struct rnic_mr *mr, u64 addr, u32 len,
		   struct rnic_early *e);

#endif /* MPA_RNIC_MR_RX_H */
