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
struct rnic_mr;

void rnic_mr_forget(struct rnic_mr **sink);
int rnic_mr_place(struct rnic_dev *dev, const struct ib_pd *pd,
		  struct rnic_mr **sink, u32 stag, u64 to, u32 len,
		  struct mpa_rx *rx);
bool rnic_mr_write(struct rnic_dev *dev, const struct ib_qp *ibqp,
		   struct rnic_mr **sink, const struct ddp_hdr *h,
		   struct mpa_rx *rx, struct ddp_fault *f);

#endif /* MPA_RNIC_MR_RX_H */
