/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory regions, those of the kernel and in general; STags of windows, too. */
#ifndef MPA_RNIC_MR_VERBS_H
#define MPA_RNIC_MR_VERBS_H

#include <rdma/ib_verbs.h>

#include "mr.h"

struct rnic_dev;

struct rnic_mr *rnic_mr_alloc(struct rnic_dev *dev, struct ib_pd *pd,
			      enum rnic_mr_kind kind);
void rnic_mr_free(struct rnic_mr *mr);
int rnic_mr_publish(struct rnic_mr *mr);
int rnic_mr_succeed(struct rnic_mr *mr, struct rnic_mr *old);
void rnic_mr_withdraw(struct rnic_mr *mr);
struct ib_mr *rnic_get_dma_mr(struct ib_pd *pd, int access);
int rnic_mr_local_dma_create(struct rnic_dev *dev);
void rnic_mr_local_dma_destroy(struct rnic_dev *dev);
struct ib_mr *rnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg);
int rnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *sg_offset);
int rnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* MPA_RNIC_MR_VERBS_H */
