// SPDX-License-Identifier: GPL-2.0-only
/* Names of a device, and the workqueues of all devices. */
#include <linux/rtnetlink.h>

#include "device.h"

struct workqueue_struct *rnic_wq;
struct workqueue_struct *rnic_tx_wq;

/**
 * rnic_dev_update_name() - copy the name that the core gave the device
 * @dev: the device, in a callback of the core, which renames no device
 *	meanwhile
 *
 * Sends no notification.
 */
void rnic_dev_update_name(struct rnic_dev *dev)
{
	spin_lock_bh(&dev->name_lock);
	strscpy(dev->name, dev->ibdev.name, sizeof(dev->name));
	spin_unlock_bh(&dev->name_lock);
}

/**
 * rnic_dev_update_ifname() - copy the name of the network device
 * @dev: the device; RTNL held
 */
void rnic_dev_update_ifname(struct rnic_dev *dev)
{
	ASSERT_RTNL();
	spin_lock_bh(&dev->name_lock);
	strscpy(dev->ifname, dev->netdev->name, sizeof(dev->ifname));
	spin_unlock_bh(&dev->name_lock);
	strscpy(dev->ibdev.iw_ifname, dev->netdev->name,
		sizeof(dev->ibdev.iw_ifname));
}
