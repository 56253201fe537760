/* SPDX-License-Identifier: GPL-2.0-only */
/* Enabling and disabling the connections of devices. */
#ifndef MPA_RNIC_CM_H
#define MPA_RNIC_CM_H

struct rnic_dev;

void rnic_cm_dev_init(struct rnic_dev *dev);
int rnic_cm_dev_enable(struct rnic_dev *dev);
void rnic_cm_dev_changed(struct rnic_dev *dev);
void rnic_cm_netdev_gone(struct rnic_dev *dev);
void rnic_cm_netdev_back(struct rnic_dev *dev);
int rnic_cm_init(void);
void rnic_cm_exit(void);

#endif /* MPA_RNIC_CM_H */
