/* SPDX-License-Identifier: GPL-2.0-only */
/* A device in the registry of mpa.ko. */
#ifndef MPA_RNIC_NODE_H
#define MPA_RNIC_NODE_H

struct rnic_dev;

void rnic_node_init(struct rnic_dev *dev);

#endif /* MPA_RNIC_NODE_H */
