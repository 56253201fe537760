// SPDX-License-Identifier: GPL-2.0-only
/* What every file of the RNIC needs of a device: its names and its work queue. */
#include <linux/rtnetlink.h>

#include "device.h"

struct workqueue_struct *rnic_wq;

/**
 * rnic_dev_update_name() - the device has a name, or a new one
 * @dev: the device, within a call of the core's, which renames nothing meanwhile
 *
 * Nobody is told.
 */
void rnic_dev_update_name(struct rnic_dev *dev)
{
	spin_lock_bh(&dev->name_lock);
	strscpy(dev->name, dev->ibdev.name, sizeof(dev->name));
	spin_unlock_bh(&dev->name_lock);
}

/**
 * rnic_dev_update_ifname() - likewise, of the network device
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
