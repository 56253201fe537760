/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters, for `rdma statistic` and for netlink. */
#ifndef MPA_RNIC_STATS_H
#define MPA_RNIC_STATS_H

#include <rdma/ib_verbs.h>

#include "counters.h"

struct mpa_node_view;
struct rnic_dev;

u64 rnic_stats_sum(const struct rnic_counters __percpu *cpus,
		   enum rnic_counter c);
struct rnic_counters __percpu *rnic_stats_new(void);
struct rdma_hw_stats *rnic_stats_alloc(struct ib_device *ibdev, u32 port);
int rnic_stats_get(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		   u32 port, int index);
void rnic_stats_view(const struct rnic_dev *dev, struct mpa_node_view *v);

#endif /* MPA_RNIC_STATS_H */
