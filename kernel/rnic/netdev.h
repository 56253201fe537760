/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices on network devices. */
#ifndef MPA_RNIC_NETDEV_H
#define MPA_RNIC_NETDEV_H

int rnic_netdev_init(void);
void rnic_netdev_exit(void);

#endif /* MPA_RNIC_NETDEV_H */
