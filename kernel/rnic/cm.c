// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of devices that come and go.
 */
#include <linux/wait_bit.h>
#include <rdma/ib_verbs.h>

#include "accept.h"
#include "cm.h"
#include "device.h"
#include "ep.h"
#include "listen.h"
#include "ulp/mpa.h"

/* Why a device has no connections: bits of rnic_dev.cm_gone. */
enum {
	RNIC_CM_NO_NETDEV	= BIT(0),	/* its network device has left */
	RNIC_CM_NO_CORE		= BIT(1),	/* it is being unregistered */
};

static void rnic_cm_node_remove(struct rnic_dev *dev)
{
	lockdep_assert_held(&dev->ep_lock);
	if (!dev->listed)
		return;
	mpa_node_remove(&dev->node);
	dev->listed = false;
}

/* The namespace may be another than the last time, and any time the first. */
static int rnic_cm_node_add(struct rnic_dev *dev)
{
	struct net *net = dev_net(dev->netdev);
	int ret;

	lockdep_assert_held(&dev->ep_lock);
	if (dev->listed && net_eq(dev->node.net, net))
		return 0;
	rnic_cm_node_remove(dev);
	dev->node.id = dev->ibdev.index;
	ret = mpa_node_add(&dev->node, net);
	dev->listed = !ret;
	return ret;
}

static void rnic_cm_stop(struct rnic_dev *dev, u8 why)
{
	struct rnic_ep *ep;

	mutex_lock(&dev->ep_lock);
	/* rnic_listener_start() reads it without the lock. */
	WRITE_ONCE(dev->cm_gone, dev->cm_gone | why);
	list_for_each_entry(ep, &dev->eps, entry)
		rnic_ep_kick(ep, RNIC_EP_DO_ABORT);
	mutex_unlock(&dev->ep_lock);
	rnic_listeners_stop(dev);
	wait_var_event(&dev->eps, list_empty_careful(&dev->eps));
	/* A task that removed the last node must be out of the lock, too. */
	mutex_lock(&dev->ep_lock);
	rnic_cm_node_remove(dev);
	mutex_unlock(&dev->ep_lock);
}

/* Who sees no reason in rnic_dev.cm_gone finds the node in the registry. */
static int rnic_cm_start(struct rnic_dev *dev, u8 why)
{
	int ret = 0;
	u8 left;

	mutex_lock(&dev->ep_lock);
	left = dev->cm_gone & ~why;
	if (!left)
		ret = rnic_cm_node_add(dev);
	if (!ret)
		WRITE_ONCE(dev->cm_gone, left);
	mutex_unlock(&dev->ep_lock);
	if (!ret)
		rnic_listeners_restart(dev);
	return ret;
}

/**
 * rnic_cm_dev_init - make a device ready for rnic_cm_dev_enable()
 * @dev: the device, new
 */
void rnic_cm_dev_init(struct rnic_dev *dev)
{
	mutex_init(&dev->ep_lock);
	INIT_LIST_HEAD(&dev->eps);
	INIT_LIST_HEAD(&dev->lingering);
	hash_init(dev->ep_ids);
	INIT_LIST_HEAD(&dev->listeners);
	dev->cm_gone = RNIC_CM_NO_CORE;
}

/**
 * rnic_cm_dev_enable - the core knows the device, its clients do not yet
 * @dev: the device, its name taken; not under another call for it
 *
 * Before the core's clients: rdma_cm has every wildcard listener listen here as
 * soon as it is told of the device.
 *
 * Return: 0 or an error of mpa_node_add().
 */
int rnic_cm_dev_enable(struct rnic_dev *dev)
{
	return rnic_cm_start(dev, RNIC_CM_NO_CORE);
}

/**
 * rnic_cm_dev_changed - a name of the device, or its port, is not what it was
 * @dev: the device
 *
 * Process context.
 */
void rnic_cm_dev_changed(struct rnic_dev *dev)
{
	mutex_lock(&dev->ep_lock);
	if (dev->listed)
		mpa_node_changed(&dev->node);
	mutex_unlock(&dev->ep_lock);
}

/**
 * rnic_cm_netdev_gone - the network device is gone or on its way
 * @dev: the device
 *
 * Kills every endpoint, closes every listening socket, admits nothing new until
 * rnic_cm_netdev_back(). Process context, RTNL held or not; waits for the work
 * of the endpoints, which waits for no user and no peer. Idempotent.
 */
void rnic_cm_netdev_gone(struct rnic_dev *dev)
{
	rnic_cm_stop(dev, RNIC_CM_NO_NETDEV);
}

/**
 * rnic_cm_netdev_back - the network device has arrived in another namespace
 * @dev: the device, after rnic_cm_netdev_gone()
 *
 * Process context, RTNL held or not.
 */
void rnic_cm_netdev_back(struct rnic_dev *dev)
{
	int ret = rnic_cm_start(dev, RNIC_CM_NO_NETDEV);

	if (ret)
		dev_notice(&dev->ibdev.dev, "no connections here: error %d\n",
			   ret);
}

/*
 * When a device is unregistered, rdma_cm destroys its identifiers, and for one
 * that is connecting waits until it has its CONNECT_REPLY. Nothing tells a
 * driver beforehand, but a client of the core's is told: the youngest one first,
 * and rdma_cm is older than this module, which uses it.
 */
static int rnic_cm_client_add(struct ib_device *ibdev)
{
	return ibdev->ops.owner == THIS_MODULE ? 0 : -EOPNOTSUPP;
}

static void rnic_cm_client_remove(struct ib_device *ibdev, void *data)
{
	rnic_cm_stop(to_rnic_dev(ibdev), RNIC_CM_NO_CORE);
}

static void rnic_cm_client_rename(struct ib_device *ibdev, void *data)
{
	struct rnic_dev *dev = to_rnic_dev(ibdev);

	rnic_dev_update_name(dev);
	rnic_cm_dev_changed(dev);
}

static struct ib_client rnic_cm_client = {
	.name = "mpa_rnic",
	.add = rnic_cm_client_add,
	.remove = rnic_cm_client_remove,
	.rename = rnic_cm_client_rename,
};

/**
 * rnic_cm_init - at module init
 *
 * Return: 0 or a negative error.
 */
int rnic_cm_init(void)
{
	return ib_register_client(&rnic_cm_client);
}

/**
 * rnic_cm_exit - at module exit; no device is left
 */
void rnic_cm_exit(void)
{
	ib_unregister_client(&rnic_cm_client);
	rnic_requests_destroy();
}
