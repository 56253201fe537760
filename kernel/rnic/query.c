// SPDX-License-Identifier: GPL-2.0-only
/* What verbs report about a device and its port. */
#include <rdma/ib_mad.h>

#include "device.h"
#include "query.h"

enum {
	/* Numbers for software without a vendor. */
	RNIC_VENDOR_ID		= 0xffffff,
	RNIC_VENDOR_PART_ID	= 0,
	RNIC_GID_TABLE_LEN	= 1,
};

/**
 * struct rnic_link_class - width and speed of a link as verbs report them
 * @mbps: up to this speed
 * @width: enum ib_port_width
 * @speed: enum ib_port_speed
 */
struct rnic_link_class {
	u32 mbps;
	u8 width;
	u8 speed;
};

/* For each link, the least width and speed that is not below its own. */
static const struct rnic_link_class rnic_link_classes[] = {
	{ .mbps = 2500,   .width = IB_WIDTH_1X, .speed = IB_SPEED_SDR },
	{ .mbps = 5000,   .width = IB_WIDTH_1X, .speed = IB_SPEED_DDR },
	{ .mbps = 10000,  .width = IB_WIDTH_1X, .speed = IB_SPEED_FDR10 },
	{ .mbps = 20000,  .width = IB_WIDTH_4X, .speed = IB_SPEED_DDR },
	{ .mbps = 25000,  .width = IB_WIDTH_1X, .speed = IB_SPEED_EDR },
	{ .mbps = 40000,  .width = IB_WIDTH_4X, .speed = IB_SPEED_FDR10 },
	{ .mbps = 50000,  .width = IB_WIDTH_1X, .speed = IB_SPEED_HDR },
	{ .mbps = 100000, .width = IB_WIDTH_4X, .speed = IB_SPEED_EDR },
	{ .mbps = 200000, .width = IB_WIDTH_4X, .speed = IB_SPEED_HDR },
	{ .mbps = 400000, .width = IB_WIDTH_4X, .speed = IB_SPEED_NDR },
};

/*
 * Operations on peers' behalf use the processor's atomic instructions, on the
 * page that programs have mapped, too. Without such instructions for 64 bits the
 * kernel takes a lock, which programs do not know.
 */
static enum ib_atomic_cap rnic_query_atomic(void)
{
	return IS_ENABLED(CONFIG_GENERIC_ATOMIC64) ? IB_ATOMIC_HCA :
						     IB_ATOMIC_GLOB;
}

/* What verbs call firmware is this module. */
static u64 rnic_query_fw_ver(void)
{
	unsigned int major, minor, patch;

	if (sscanf(MPA_VERSION, "%u.%u.%u", &major, &minor, &patch) != 3)
		return 0;
	return (u64)major << 32 | minor << 16 | patch;
}

/**
 * rnic_get_fw_str() - verbs: get_dev_fw_str
 * @ibdev: the device
 * @str: set to the version of the module, for `rdma -d dev` and sysfs; of
 *	%IB_FW_VERSION_NAME_MAX bytes
 */
void rnic_get_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, MPA_VERSION, IB_FW_VERSION_NAME_MAX);
}

/**
 * rnic_get_numa_node() - verbs: get_numa_node
 * @ibdev: the device
 *
 * Return: the node of the network device, on which the core allocates queue
 * pairs, or %NUMA_NO_NODE.
 */
int rnic_get_numa_node(struct ib_device *ibdev)
{
	return dev_to_node(&to_rnic_dev(ibdev)->netdev->dev);
}

/**
 * rnic_query_device() - verbs: query_device
 * @ibdev: the device
 * @attr: filled in
 * @udata: must be empty; NULL if the core asks, since 7.0
 *
 * Return: 0 or -EINVAL.
 */
int rnic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata)
{
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = rnic_query_fw_ver();
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = RNIC_VENDOR_ID;
	attr->vendor_part_id = RNIC_VENDOR_PART_ID;
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	attr->max_mr_size = RNIC_MAX_MR_SIZE;
	attr->page_size_cap = GENMASK(31, 12);
	attr->max_qp = RNIC_MAX_QP;
	attr->max_qp_wr = RNIC_MAX_QP_WR;
	attr->max_send_sge = MPA_MAX_SGE;
	attr->max_recv_sge = MPA_MAX_SGE;
	attr->max_sge_rd = 1;
	attr->max_srq = RNIC_MAX_SRQ;
	attr->max_srq_wr = RNIC_MAX_SRQ_WR;
	attr->max_srq_sge = MPA_MAX_SGE;
	attr->max_cq = RNIC_MAX_CQ;
	attr->max_cqe = RNIC_MAX_CQE;
	attr->max_mr = RNIC_MAX_MR;
	attr->max_mw = RNIC_MAX_MW;
	attr->max_pd = RNIC_MAX_PD;
	attr->max_qp_rd_atom = RNIC_MAX_IRD;
	attr->max_qp_init_rd_atom = RNIC_MAX_ORD;
	attr->max_res_rd_atom = RNIC_MAX_IRD * RNIC_MAX_QP;
	attr->atomic_cap = rnic_query_atomic();
	attr->masked_atomic_cap = attr->atomic_cap;
	attr->max_fast_reg_page_list_len = RNIC_MAX_FAST_REG_PAGES;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	/* Time stamps of completions: nanoseconds, so a clock of 10^6 kHz. */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = NSEC_PER_SEC / MSEC_PER_SEC;
	return 0;
}

static const struct rnic_link_class *rnic_query_link(u32 mbps)
{
	size_t i;

	if (mbps == (u32)SPEED_UNKNOWN)
		return &rnic_link_classes[0];
	for (i = 0; i < ARRAY_SIZE(rnic_link_classes) - 1; i++)
		if (mbps <= rnic_link_classes[i].mbps)
			break;
	return &rnic_link_classes[i];
}

/**
 * rnic_query_port() - verbs: query_port
 * @ibdev: the device
 * @port: its port, 1
 * @attr: filled in. The core has set the MTU, and a state that is overwritten:
 *	for the core an active port needs an IPv4 address
 *
 * Return: 0.
 */
int rnic_query_port(struct ib_device *ibdev, u32 port,
		    struct ib_port_attr *attr)
{
	struct rnic_dev *dev = to_rnic_dev(ibdev);
	const struct rnic_link_class *link = rnic_query_link(READ_ONCE(dev->link_mbps));

	if (rnic_dev_port_active(dev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}
	attr->active_width = link->width;
	attr->active_speed = link->speed;
	attr->phys_mtu = READ_ONCE(dev->netdev->mtu);
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = MPA_MAX_MSG_SIZE;
	attr->gid_tbl_len = RNIC_GID_TABLE_LEN;
	attr->pkey_tbl_len = 0;
	attr->max_vl_num = 1;
	return 0;
}

/**
 * rnic_get_port_immutable() - report the constant attributes of a port
 * @ibdev: the device
 * @port: its port, 1
 * @immutable: filled in
 *
 * Return: 0.
 */
int rnic_get_port_immutable(struct ib_device *ibdev, u32 port,
			    struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = RNIC_GID_TABLE_LEN;
	immutable->pkey_tbl_len = 0;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/**
 * rnic_query_gid() - verbs: query_gid
 * @ibdev: the device
 * @port: its port, 1
 * @index: in the table of GIDs, which has one
 * @gid: filled in
 *
 * The connection manager of the core looks for a device whose GID begins with the
 * address of the network device and is zero otherwise, so it finds none of a network
 * device without an address; that of newer releases looks for the network device.
 *
 * Return: 0 or -EINVAL.
 */
int rnic_query_gid(struct ib_device *ibdev, u32 port, int index,
		   union ib_gid *gid)
{
	struct rnic_dev *dev = to_rnic_dev(ibdev);
	const struct net_device *netdev = dev->netdev;

	if (index)
		return -EINVAL;
	memset(gid, 0, sizeof(*gid));
	if (netdev->addr_len == ETH_ALEN &&
	    !is_zero_ether_addr(netdev->dev_addr))
		memcpy(gid->raw, netdev->dev_addr, ETH_ALEN);
	else
		memcpy(gid->raw, dev->own_mac, ETH_ALEN);
	return 0;
}
