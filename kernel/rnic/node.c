// SPDX-License-Identifier: GPL-2.0-only
/* A device as the netlink interface of mpa.ko shows it. */
#include <rdma/iw_cm.h>

#include "device.h"
#include "node.h"
#include "stats.h"

/* Limits of settings of a device; an RTR cannot be a Send. */
static const struct mpa_limits rnic_node_limits = {
	.ird_max = RNIC_MAX_IRD,
	.ord_max = RNIC_MAX_ORD,
	.rtr = MPA_RTR_WRITE | MPA_RTR_READ,
};

static_assert((int)MPA_DEV_NAME_MAX >= IB_DEVICE_NAME_MAX);

static void rnic_node_view(const struct mpa_node *node, struct mpa_node_view *v)
{
	struct rnic_dev *dev = container_of(node, struct rnic_dev, node);

	spin_lock(&dev->name_lock);
	strscpy(v->name, dev->name, sizeof(v->name));
	strscpy(v->ifname, dev->ifname, sizeof(v->ifname));
	spin_unlock(&dev->name_lock);
	v->ifindex = READ_ONCE(dev->netdev->ifindex);
	v->active = rnic_dev_port_active(dev);
	v->limits = rnic_node_limits;
	v->conns = atomic_read(&dev->nr_conn);
	v->listeners = atomic_read(&dev->nr_listener);
	rnic_stats_view(dev, v);
}

static bool rnic_node_is_called(const struct mpa_node *node, const char *name)
{
	struct rnic_dev *dev = container_of(node, struct rnic_dev, node);
	bool same;

	spin_lock(&dev->name_lock);
	same = !strcmp(dev->name, name);
	spin_unlock(&dev->name_lock);
	return same;
}

/*
 * The core reads the flags before it asks the device to listen or to connect. A
 * port that is mapped for a device of another namespace would not be used, see
 * rnic_cm_has_mapper().
 */
static void rnic_node_configured(struct mpa_node *node,
				 const struct mpa_config *cfg)
{
	struct rnic_dev *dev = container_of(node, struct rnic_dev, node);
	bool mapping = cfg->v[MPA_A_CONFIG_PORT_MAPPING] &&
		       net_eq(node->net, &init_net);

	WRITE_ONCE(dev->ibdev.iw_driver_flags, mapping ? 0 : IW_F_NO_PORT_MAP);
}

static const struct mpa_node_ops rnic_node_ops = {
	.view = rnic_node_view,
	.is_called = rnic_node_is_called,
	.configured = rnic_node_configured,
};

/**
 * rnic_node_init() - initialize the node and the lock of the names
 * @dev: the device, new
 */
void rnic_node_init(struct rnic_dev *dev)
{
	dev->node.kind = MPA_NODE_DEVICE;
	dev->node.limits = &rnic_node_limits;
	dev->node.ops = &rnic_node_ops;
	spin_lock_init(&dev->name_lock);
}
