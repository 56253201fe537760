/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in network devices.
 */
#ifndef MPA_COMPAT_NETDEV_H
#define MPA_COMPAT_NETDEV_H

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#ifdef MPA_HAVE_NETIF_GET_LINK_KSETTINGS
#include <net/netdev_lock.h>
#endif

/*
 * A device is removed after all tasks that were preempted in the core have run on. Without
 * this option of such kernels, which BPF_SYSCALL, KPROBES or FTRACE select, nothing waits
 * for them.
 */
#if defined(CONFIG_PREEMPTION) && !defined(CONFIG_TASKS_RCU)
#error "mpa_rnic needs CONFIG_TASKS_RCU in a preemptible kernel: enable BPF_SYSCALL or KPROBES"
#endif

/**
 * mpa_netdev_lock - take the lock that events of the state of a link are sent under
 * @netdev: the network device; RTNL held
 *
 * Only some drivers ask for it. Where the headers have no netif_get_link_ksettings(), as
 * in 6.1, reading the settings of a link takes no such lock, so nothing is done here.
 */
static inline void mpa_netdev_lock(struct net_device *netdev)
{
#ifdef MPA_HAVE_NETIF_GET_LINK_KSETTINGS
	netdev_lock_ops(netdev);
#endif
}

/**
 * mpa_netdev_unlock - release what mpa_netdev_lock() has taken
 * @netdev: the network device
 */
static inline void mpa_netdev_unlock(struct net_device *netdev)
{
#ifdef MPA_HAVE_NETIF_GET_LINK_KSETTINGS
	netdev_unlock_ops(netdev);
#endif
}

/**
 * mpa_netdev_link - get the settings of the link
 * @netdev: the network device; RTNL held, and mpa_netdev_lock(), as in its events
 *	%NETDEV_UP, %NETDEV_DOWN and %NETDEV_CHANGE
 * @link: filled in
 *
 * Return: 0 or a negative error.
 */
static inline int mpa_netdev_link(struct net_device *netdev,
				  struct ethtool_link_ksettings *link)
{
#ifdef MPA_HAVE_NETIF_GET_LINK_KSETTINGS
	return netif_get_link_ksettings(netdev, link);
#else
	return __ethtool_get_link_ksettings(netdev, link);
#endif
}

#endif /* MPA_COMPAT_NETDEV_H */
