// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices come with `rdma link add` and go with `rdma link delete`, with their
 * network device, or with the module.
 *
 * A device is in the list of this file from before its registration until the
 * core deallocates it (rnic_dev_dealloc()). It is always removed by
 * unregistration in the core, which runs once for all callers and which all
 * callers wait for. The work of rnic_dev_unregister_later() calls it, too. So
 * draining that work at module exit ensures that no thread is inside
 * rnic_dev_dealloc() any more.
 */
#include <linux/if_arp.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_netlink.h>

#include "cm.h"
#include "compat/netdev.h"
#include "device.h"
#include "methods.h"
#include "mr.h"
#include "mr_verbs.h"
#include "netdev.h"
#include "node.h"
#include "qp.h"
#include "query.h"
#include "stats.h"
#include "verbs.h"

/* Protects the list; innermost lock. */
static DEFINE_SPINLOCK(rnic_devs_lock);
static LIST_HEAD(rnic_devs);

static struct lock_class_key rnic_mrs_lock_class;
static struct lock_class_key rnic_qps_lock_class;
static struct lock_class_key rnic_counter_sets_lock_class;

/* Runs only rnic_dev.unregister, so that it can be drained at module exit. */
static struct workqueue_struct *rnic_unregister_wq;

/* The list ----------------------------------------------------------------- */

static struct rnic_dev *rnic_dev_find(const struct net_device *netdev)
{
	struct rnic_dev *dev;

	lockdep_assert_held(&rnic_devs_lock);
	list_for_each_entry(dev, &rnic_devs, entry)
		if (dev->netdev == netdev)
			return dev;
	return NULL;
}

/*
 * The device on @netdev, registered with the core or not. Its memory stays
 * until put_device().
 */
static struct rnic_dev *rnic_dev_get_by_netdev(const struct net_device *netdev)
{
	struct rnic_dev *dev;

	spin_lock(&rnic_devs_lock);
	dev = rnic_dev_find(netdev);
	if (dev)
		get_device(&dev->ibdev.dev);
	spin_unlock(&rnic_devs_lock);
	return dev;
}

/* At most one device on each network device. */
static int rnic_dev_list_add(struct rnic_dev *dev)
{
	int ret = -EEXIST;

	spin_lock(&rnic_devs_lock);
	if (!rnic_dev_find(dev->netdev)) {
		list_add_tail(&dev->entry, &rnic_devs);
		ret = 0;
	}
	spin_unlock(&rnic_devs_lock);
	return ret;
}

static void rnic_dev_list_del(struct rnic_dev *dev)
{
	spin_lock(&rnic_devs_lock);
	list_del_init(&dev->entry);
	spin_unlock(&rnic_devs_lock);
}

/* Removing devices --------------------------------------------------------- */

/*
 * A task that destroys an rdma_cm_id drops its use of the device in the core,
 * and then the GID of the device. It does not sleep in between, but may be
 * preempted. If it drops the GID last, work of the core then uses the table of
 * GIDs, which is freed with the last reference to the device, the one of this
 * module. So all such tasks and the work must be done before.
 */
static void rnic_dev_wait_for_readers(void)
{
	synchronize_rcu_tasks();
	flush_workqueue(ib_wq);
}

static void rnic_dev_unregister_work(struct work_struct *work)
{
	struct rnic_dev *dev = container_of(work, struct rnic_dev, unregister);

	ib_unregister_device(&dev->ibdev);
	rnic_dev_wait_for_readers();
	put_device(&dev->ibdev.dev);
}

/* Unregisters the device where waiting is not possible. */
static void rnic_dev_unregister_later(struct rnic_dev *dev)
{
	get_device(&dev->ibdev.dev);
	if (!queue_work(rnic_unregister_wq, &dev->unregister))
		put_device(&dev->ibdev.dev);
}

/*
 * Called by the core before it notifies its clients of the device, and after
 * the device moved to another namespace.
 */
static int rnic_dev_enable(struct ib_device *ibdev)
{
	struct rnic_dev *dev = to_rnic_dev(ibdev);

	rnic_dev_update_name(dev);
	return rnic_cm_dev_enable(dev);
}

/*
 * Called by the core to free a device, which may never have been registered.
 *
 * Contexts, regions and queues are destroyed already. Endpoints that outlived
 * their identifiers end here. The work that is queued has nothing to unregister,
 * but waits until this function returned, and keeps the device until the core does
 * not use its data any more. It is queued while the device is in the list: module
 * exit waits for one of the two.
 */
static void rnic_dev_dealloc(struct ib_device *ibdev)
{
	struct rnic_dev *dev = to_rnic_dev(ibdev);

	rnic_cm_netdev_gone(dev);
	WARN_ON_ONCE(atomic_read(&dev->nr_qp) || atomic_read(&dev->nr_cq) ||
		     atomic_read(&dev->nr_srq) || atomic_read(&dev->nr_mr) ||
		     atomic_read(&dev->nr_mw) || atomic_read(&dev->nr_pd));
	/* Without completion queues it is not queued again. */
	cancel_work_sync(&dev->cqs_failed);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	rnic_mr_local_dma_destroy(dev);
	xa_destroy(&dev->counter_sets);
	/* Counters that were released count in these until then. */
	if (READ_ONCE(dev->counted))
		rcu_barrier();
	free_percpu(dev->bound);
	free_percpu(dev->counters);
	rnic_dev_unregister_later(dev);
	rnic_dev_list_del(dev);
	netdev_put(dev->netdev, &dev->tracker);
}

static const struct ib_device_ops rnic_dev_life_ops = {
	.enable_driver	= rnic_dev_enable,
	.dealloc_driver	= rnic_dev_dealloc,
};

/* Adding devices ----------------------------------------------------------- */

/*
 * An address for a network device without one. It is the same if the same
 * devices are set up in the same order after boot.
 */
static void rnic_dev_derive_mac(struct rnic_dev *dev)
{
	const struct net_device *netdev = dev->netdev;
	u64 cookie = dev_net(netdev)->net_cookie;
	u32 h[2];

	h[0] = jhash(netdev->name, strlen(netdev->name), netdev->ifindex);
	h[1] = jhash(&cookie, sizeof(cookie), h[0]);
	memcpy(dev->own_mac, h, ETH_ALEN);
	dev->own_mac[0] &= ~0x01;	/* unicast */
	dev->own_mac[0] |= 0x02;	/* locally administered */
}

/*
 * With exclusive namespaces the device must be in that of its network device.
 * With shared ones all namespaces see it, and it stays in the initial one: the
 * core adds it to sysfs of all others, but not of the initial one.
 */
static void rnic_dev_set_netns(struct rnic_dev *dev)
{
	struct net *net = dev_net(dev->netdev);

	if (!rdma_dev_access_netns(&dev->ibdev, net))
		write_pnet(&dev->ibdev.coredev.rdma_net, net);
}

static void rnic_dev_setup_ibdev(struct rnic_dev *dev)
{
	const struct net_device *netdev = dev->netdev;
	struct ib_device *ibdev = &dev->ibdev;
	const u8 *mac = dev->own_mac;

	if (netdev->addr_len == ETH_ALEN &&
	    !is_zero_ether_addr(netdev->dev_addr))
		mac = netdev->dev_addr;
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, mac);
	ibdev->node_type = RDMA_NODE_RNIC;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_online_cpus();
	ibdev->local_dma_lkey = RNIC_STAG_LOCAL_DMA;
	ibdev->driver_def = rnic_methods;
	/* The doorbell of the send queue. */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	/* Until rnic_node_configured(). */
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(ibdev->node_desc, "linux-mpa software RNIC",
		sizeof(ibdev->node_desc));
	rnic_dev_set_netns(dev);
}

/* rnic_dev_dealloc() can undo everything here. */
static void rnic_dev_init(struct rnic_dev *dev, struct net_device *netdev)
{
	ib_set_device_ops(&dev->ibdev, &rnic_device_ops);
	ib_set_device_ops(&dev->ibdev, &rnic_dev_life_ops);
	dev->netdev = netdev;
	netdev_hold(netdev, &dev->tracker, GFP_KERNEL);
	dev->link_mbps = SPEED_UNKNOWN;
	xa_init_flags(&dev->mrs, XA_FLAGS_ACCOUNT);
	spin_lock_init(&dev->windows_lock);
	/*
	 * Not taken in interrupts, unlike that of @qps: xa_init_flags() gives
	 * both the same class. With one of its own, each has a name in
	 * /proc/lock_stat, too.
	 */
	lockdep_set_class(&dev->mrs.xa_lock, &rnic_mrs_lock_class);
	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	lockdep_set_class(&dev->qps.xa_lock, &rnic_qps_lock_class);
	/* Interrupts off for the same reason. */
	xa_init_flags(&dev->counter_sets,
		      XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	lockdep_set_class(&dev->counter_sets.xa_lock,
			  &rnic_counter_sets_lock_class);
	mutex_init(&dev->bind_lock);
	get_random_bytes(&dev->qpn_key, sizeof(dev->qpn_key));
	rnic_cm_dev_init(dev);
	rnic_node_init(dev);
	INIT_LIST_HEAD(&dev->entry);
	INIT_WORK(&dev->cqs_failed, rnic_qp_cqs_failed);
	INIT_WORK(&dev->unregister, rnic_dev_unregister_work);
	rnic_dev_derive_mac(dev);
	rnic_dev_setup_ibdev(dev);
	rtnl_lock();
	rnic_dev_update_ifname(dev);
	rtnl_unlock();
}

static int rnic_dev_alloc_parts(struct rnic_dev *dev)
{
	int ret;

	dev->counters = rnic_stats_new();
	dev->bound = rnic_stats_new();
	if (!dev->counters || !dev->bound)
		return -ENOMEM;
	ret = rnic_mr_local_dma_create(dev);
	if (ret)
		return ret;
	return ib_device_set_netdev(&dev->ibdev, dev->netdev, 1);
}

static struct rnic_dev *rnic_dev_create(struct net_device *netdev)
{
	struct rnic_dev *dev = ib_alloc_device(rnic_dev, ibdev);
	int ret;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	rnic_dev_init(dev, netdev);
	ret = rnic_dev_alloc_parts(dev);
	if (!ret)
		ret = rnic_dev_list_add(dev);
	if (ret) {
		ib_dealloc_device(&dev->ibdev);
		return ERR_PTR(ret);
	}
	return dev;
}

/* Returns false if the device is not registered. */
static bool rnic_dev_port_event(struct rnic_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = type,
	};

	if (!ib_device_try_get(&dev->ibdev))
		return false;
	ib_dispatch_event(&event);
	ib_device_put(&dev->ibdev);
	return true;
}

/*
 * Has the core read the GID again if it is another one. It may replace the entry even
 * if it is the same, and then its connection manager finds no device meanwhile.
 */
static void rnic_dev_gid_update(struct rnic_dev *dev)
{
	union ib_gid known, now;

	if (!ib_device_try_get(&dev->ibdev))
		return;
	rnic_query_gid(&dev->ibdev, 1, 0, &now);
	if (rdma_query_gid(&dev->ibdev, 1, 0, &known) ||
	    memcmp(&known, &now, sizeof(now)))
		rnic_dev_port_event(dev, IB_EVENT_GID_CHANGE);
	ib_device_put(&dev->ibdev);
}

/*
 * Updates speed and state of the port after an event of the network device, which is
 * sent under mpa_netdev_lock().
 */
static void rnic_dev_port_update(struct rnic_dev *dev)
{
	struct ethtool_link_ksettings link;
	bool active = rnic_dev_port_active(dev);
	u32 mbps = SPEED_UNKNOWN;

	ASSERT_RTNL();
	if (!mpa_netdev_link(dev->netdev, &link))
		mbps = link.base.speed;
	WRITE_ONCE(dev->link_mbps, mbps);
	if (active != dev->port_active &&
	    rnic_dev_port_event(dev, active ? IB_EVENT_PORT_ACTIVE :
				     IB_EVENT_PORT_ERR)) {
		dev->port_active = active;
		rnic_cm_dev_changed(dev);
	}
}

/*
 * Handles what happened to the network device before the device was registered.
 * Events could not be raised then, but the core may have read the state of the
 * port and its GID already.
 */
static void rnic_dev_catch_up(struct rnic_dev *dev)
{
	rtnl_lock();
	if (dev->netdev->reg_state == NETREG_REGISTERED) {
		mpa_netdev_lock(dev->netdev);
		dev->port_active = !rnic_dev_port_active(dev);
		rnic_dev_port_update(dev);
		mpa_netdev_unlock(dev->netdev);
		rnic_dev_gid_update(dev);
	} else {
		rnic_dev_unregister_later(dev);
	}
	rtnl_unlock();
}

static bool rnic_netdev_suits(const struct net_device *netdev)
{
	switch (netdev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:
		return true;
	}
	return false;
}

static int rnic_netdev_newlink(const char *name, struct net_device *netdev)
{
	struct rnic_dev *dev;
	int ret;

	if (!rnic_netdev_suits(netdev))
		return -EOPNOTSUPP;
	dev = rnic_dev_create(netdev);
	if (IS_ERR(dev))
		return PTR_ERR(dev);

	/* Once registered, it may be unregistered and freed at any time. */
	get_device(&dev->ibdev.dev);
	ret = ib_register_device(&dev->ibdev, name, NULL);
	if (ret)
		ib_dealloc_device(&dev->ibdev);
	else
		rnic_dev_catch_up(dev);
	put_device(&dev->ibdev.dev);
	/* The core returns this if the name is in use. */
	return ret == -ENFILE ? -EEXIST : ret;
}

static struct rdma_link_ops rnic_link_ops = {
	.type		= "mpa",
	.newlink	= rnic_netdev_newlink,
};

/* Events of network devices ------------------------------------------------ */

/*
 * The network device moves to another namespace or is unregistered. Connections
 * end in both cases; the device stays only in the first one.
 */
static void rnic_netdev_leaves(struct rnic_dev *dev)
{
	rnic_cm_netdev_gone(dev);
	if (dev->netdev->reg_state != NETREG_REGISTERED)
		rnic_dev_unregister_later(dev);
}

static void rnic_netdev_changed(struct rnic_dev *dev, unsigned long event)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		rnic_dev_port_update(dev);
		break;
	case NETDEV_CHANGEADDR:
		rnic_dev_gid_update(dev);
		break;
	case NETDEV_CHANGENAME:
		rnic_dev_update_ifname(dev);
		rnic_cm_dev_changed(dev);
		break;
	case NETDEV_UNREGISTER:
		rnic_netdev_leaves(dev);
		break;
	case NETDEV_REGISTER:
		/* The network device has a device already, so it has moved. */
		rnic_dev_update_ifname(dev);
		rnic_cm_netdev_back(dev);
		break;
	}
}

static int rnic_netdev_event(struct notifier_block *nb, unsigned long event,
			     void *info)
{
	struct rnic_dev *dev;

	dev = rnic_dev_get_by_netdev(netdev_notifier_info_to_dev(info));
	if (dev) {
		rnic_netdev_changed(dev, event);
		put_device(&dev->ibdev.dev);
	}
	return NOTIFY_DONE;
}

static struct notifier_block rnic_netdev_notifier = {
	.notifier_call = rnic_netdev_event,
};

/* Module init and exit ----------------------------------------------------- */

static struct rnic_dev *rnic_dev_first(void)
{
	struct rnic_dev *dev;

	spin_lock(&rnic_devs_lock);
	dev = list_first_entry_or_null(&rnic_devs, struct rnic_dev, entry);
	if (dev)
		get_device(&dev->ibdev.dev);
	spin_unlock(&rnic_devs_lock);
	return dev;
}

/*
 * ib_unregister_driver() cannot be used: it would also unregister other
 * drivers' devices without a driver number. No device is added any more.
 */
static void rnic_dev_remove_all(void)
{
	struct rnic_dev *dev;

	while ((dev = rnic_dev_first())) {
		ib_unregister_device(&dev->ibdev);
		put_device(&dev->ibdev.dev);
	}
}

/**
 * rnic_netdev_init() - accept `rdma link add`, at module init
 *
 * Return: 0 or a negative error.
 */
int rnic_netdev_init(void)
{
	int ret;

	rnic_unregister_wq = alloc_workqueue("mpa_unregister", WQ_UNBOUND, 0);
	if (!rnic_unregister_wq)
		return -ENOMEM;
	ret = register_netdevice_notifier(&rnic_netdev_notifier);
	if (ret) {
		destroy_workqueue(rnic_unregister_wq);
		return ret;
	}
	rdma_link_register(&rnic_link_ops);
	return 0;
}

/**
 * rnic_netdev_exit() - remove all devices, at module exit
 */
void rnic_netdev_exit(void)
{
	rdma_link_unregister(&rnic_link_ops);
	rnic_dev_remove_all();
	unregister_netdevice_notifier(&rnic_netdev_notifier);
	destroy_workqueue(rnic_unregister_wq);
}
