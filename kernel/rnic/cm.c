// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections are enabled and disabled as devices come and go.
 */
#include <linux/wait_bit.h>
#include <rdma/ib_verbs.h>

#include "accept.h"
#include "cm.h"
#include "device.h"
#include "ep.h"
#include "listen.h"
#include "ulp/mpa.h"

/* Why no connections are possible: bits of rnic_dev.cm_gone. */
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

/* The namespace may have changed since the last call. */
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
	/* Pairs with smp_mb() in rnic_ep_list_del(). */
	wait_var_event(&dev->eps, list_empty_careful(&dev->eps));
	/*
	 * Also waits until the task that removed the last entry has left the
	 * lock.
	 */
	mutex_lock(&dev->ep_lock);
	rnic_cm_node_remove(dev);
	mutex_unlock(&dev->ep_lock);
}

/* While rnic_dev.cm_gone is 0, the node is in the registry. */
static int rnic_cm_start(struct rnic_dev *dev, u8 why)
{
	int ret = 0;
	u8 left;

	mutex_lock(&dev->ep_lock);
	left = dev->cm_gone & ~why;
	if (!left)
		ret = rnic_cm_node_add(dev);
	if (!ret) {
		/* Its namespace is known. Pairs with rnic_listener_start(). */
		smp_store_release(&dev->cm_gone, left);
	}
	mutex_unlock(&dev->ep_lock);
	if (!ret)
		rnic_listeners_restart(dev);
	return ret;
}

/**
 * rnic_cm_dev_init() - initialize the fields of connections
 * @dev: the device, new
 */
void rnic_cm_dev_init(struct rnic_dev *dev)
{
	mutex_init(&dev->ep_lock);
	INIT_LIST_HEAD(&dev->eps);
	INIT_LIST_HEAD(&dev->lingering[0].eps);
	INIT_LIST_HEAD(&dev->lingering[1].eps);
	hash_init(dev->ep_ids);
	INIT_LIST_HEAD(&dev->listeners);
	dev->cm_gone = RNIC_CM_NO_CORE;
}

/**
 * rnic_cm_dev_enable() - enable connections of a new device
 * @dev: the device, with its name; calls for one device are serialized
 *
 * Adds the device to the registry of its network namespace. Called before the
 * core notifies its clients: rdma_cm then opens every wildcard listener on the
 * device. Process context.
 *
 * Return: 0 or an error of mpa_node_add().
 */
int rnic_cm_dev_enable(struct rnic_dev *dev)
{
	rnic_listeners_adding(dev, true);
	return rnic_cm_start(dev, RNIC_CM_NO_CORE);
}

/**
 * rnic_cm_dev_changed() - a name of the device or the state of its port changed
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
 * rnic_cm_netdev_gone() - the network device is leaving
 * @dev: the device
 *
 * Aborts every endpoint, closes every listening socket, removes the device from
 * its namespace, and refuses connections until rnic_cm_netdev_back(). Process
 * context, RTNL held or not. Waits for the work of the endpoints, which does
 * not wait for users or peers. Idempotent.
 */
void rnic_cm_netdev_gone(struct rnic_dev *dev)
{
	rnic_cm_stop(dev, RNIC_CM_NO_NETDEV);
}

/**
 * rnic_cm_netdev_back() - the network device is in another namespace now
 * @dev: the device, after rnic_cm_netdev_gone()
 *
 * Enables connections and opens the listeners that belong there. Process
 * context, RTNL held or not.
 */
void rnic_cm_netdev_back(struct rnic_dev *dev)
{
	int ret = rnic_cm_start(dev, RNIC_CM_NO_NETDEV);

	if (ret)
		dev_notice_ratelimited(&dev->ibdev.dev,
				       "cannot enable connections: error %d\n", ret);
}

/*
 * When a device is unregistered, rdma_cm destroys its identifiers, and waits
 * for the CONNECT_REPLY of one that is connecting. The core does not notify the
 * driver before, but it notifies its clients, the last registered one first.
 * rdma_cm is registered before this module, which depends on it. A new device is
 * added to it first, likewise.
 */
static int rnic_cm_client_add(struct ib_device *ibdev)
{
	if (ibdev->ops.owner != THIS_MODULE)
		return -EOPNOTSUPP;
	rnic_listeners_adding(to_rnic_dev(ibdev), false);
	return 0;
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
 * rnic_cm_init() - register the client of the core at module init
 *
 * Return: 0 or a negative error.
 */
int rnic_cm_init(void)
{
	return ib_register_client(&rnic_cm_client);
}

/**
 * rnic_cm_exit() - undo rnic_cm_init(); no device is left
 */
void rnic_cm_exit(void)
{
	ib_unregister_client(&rnic_cm_client);
	rnic_requests_destroy();
}
