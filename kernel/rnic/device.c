// SPDX-License-Identifier: GPL-2.0-only
/* What the device says of itself: operations, limits, port, statistics. */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sysfs.h>
#include <rdma/uverbs_ioctl.h>

#include "cm.h"
#include "cq.h"
#include "details.h"
#include "device.h"
#include "mr.h"
#include "qp.h"
#include "ring.h"

enum {
	/* The numbers software without a vendor uses. */
	RNIC_VENDOR_ID		= 0xffffff,
	RNIC_VENDOR_PART_ID	= 0,
	RNIC_GID_TABLE_LEN	= 1,
};

/* What settings can be at a device; it opens no stream by a Send. */
static const struct mpa_limits limits = {
	.ird_max = RNIC_MAX_IRD,
	.ord_max = RNIC_MAX_ORD,
	.rtr = MPA_RTR_WRITE | MPA_RTR_READ,
};

static const struct rdma_stat_desc stat_descs[] = {
	[RNIC_CNT_TX_SEND]		= { .name = "tx_send" },
	[RNIC_CNT_TX_WRITE]		= { .name = "tx_write" },
	[RNIC_CNT_TX_READ_REQ]		= { .name = "tx_read_req" },
	[RNIC_CNT_TX_READ_RESP]		= { .name = "tx_read_resp" },
	[RNIC_CNT_TX_READ_RESP_AT_ONCE]	= { .name = "tx_read_resp_at_once" },
	[RNIC_CNT_TX_SEGMENTS]		= { .name = "tx_segments" },
	[RNIC_CNT_TX_BYTES]		= { .name = "tx_bytes" },
	[RNIC_CNT_TX_BATCHES]		= { .name = "tx_batches" },
	[RNIC_CNT_TX_TERMINATE]		= { .name = "tx_terminate" },
	[RNIC_CNT_RX_SEND]		= { .name = "rx_send" },
	[RNIC_CNT_RX_WRITE]		= { .name = "rx_write" },
	[RNIC_CNT_RX_READ_REQ]		= { .name = "rx_read_req" },
	[RNIC_CNT_RX_READ_RESP]		= { .name = "rx_read_resp" },
	[RNIC_CNT_RX_SEGMENTS]		= { .name = "rx_segments" },
	[RNIC_CNT_RX_BYTES]		= { .name = "rx_bytes" },
	[RNIC_CNT_RX_TERMINATE]		= { .name = "rx_terminate" },
	[RNIC_CNT_RX_CRC_ERROR]		= { .name = "rx_crc_error" },
	[RNIC_CNT_RX_MARKER_ERROR]	= { .name = "rx_marker_error" },
	[RNIC_CNT_RX_LENGTH_ERROR]	= { .name = "rx_length_error" },
	[RNIC_CNT_RX_DDP_ERROR]		= { .name = "rx_ddp_error" },
	[RNIC_CNT_RX_RDMAP_ERROR]	= { .name = "rx_rdmap_error" },
	[RNIC_CNT_CONN_ACTIVE]		= { .name = "conn_active" },
	[RNIC_CNT_CONN_PASSIVE]		= { .name = "conn_passive" },
	[RNIC_CNT_CONN_FALLBACK]		= { .name = "conn_fallback" },
	[RNIC_CNT_CONN_REJECTED]		= { .name = "conn_rejected" },
	[RNIC_CNT_CONN_STARTUP_ERROR]	= { .name = "conn_startup_error" },
	[RNIC_CNT_CONN_HALF_OPEN_DROP]	= { .name = "conn_half_open_drop" },
	[RNIC_CNT_CONN_RESET]		= { .name = "conn_reset" },
	[RNIC_CNT_CONN_QP_DENIED]	= { .name = "conn_qp_denied" },
	[RNIC_CNT_CONN_CLOSE_TIMEOUT]	= { .name = "conn_close_timeout" },
	[RNIC_CNT_CONN_LINGER_DROP]	= { .name = "conn_linger_drop" },
	[RNIC_CNT_CQ_OVERFLOW]		= { .name = "cq_overflow" },
	[RNIC_CNT_USER_LIMIT]		= { .name = "user_limit" },
};

static_assert(ARRAY_SIZE(stat_descs) == RNIC_CNT_COUNT);
static_assert((int)RNIC_CNT_COUNT <= (int)MPA_COUNTERS_MAX);
static_assert((int)MPA_DEV_NAME_MAX >= IB_DEVICE_NAME_MAX);

/**
 * struct link_class - how verbs express the speed of a link
 * @mbps: up to this speed
 * @width: enum ib_port_width
 * @speed: enum ib_port_speed
 */
struct link_class {
	u32 mbps;
	u8 width;
	u8 speed;
};

/* The least width times speed that is no less than the link's. */
static const struct link_class link_classes[] = {
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

/**
 * rnic_dev_take() - count one more object
 * @nr: how many are alive
 * @max: how many there may be
 *
 * Return: true, and @nr has grown; false: there are @max.
 */
bool rnic_dev_take(atomic_t *nr, int max)
{
	return atomic_add_unless(nr, 1, max);
}

/**
 * rnic_dev_port_active() - can the network device carry traffic?
 * @dev: the device
 *
 * Any context.
 *
 * Return: true if it is up and has carrier.
 */
bool rnic_dev_port_active(const struct rnic_dev *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev);
}

static int rnic_query_device(struct ib_device *ibdev,
			     struct ib_device_attr *attr, struct ib_udata *udata)
{
	if (udata->inlen || udata->outlen)
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = RNIC_VENDOR_ID;
	attr->vendor_part_id = RNIC_VENDOR_PART_ID;
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	attr->max_mr_size = RNIC_MAX_MR_SIZE;
	attr->page_size_cap = GENMASK(31, 12);
	attr->max_qp = RNIC_MAX_QP;
	attr->max_qp_wr = RNIC_MAX_QP_WR;
	attr->max_send_sge = MPA_MAX_SGE;
	attr->max_recv_sge = MPA_MAX_SGE;
	attr->max_sge_rd = 1;
	attr->max_cq = RNIC_MAX_CQ;
	attr->max_cqe = RNIC_MAX_CQE;
	attr->max_mr = RNIC_MAX_MR;
	attr->max_pd = RNIC_MAX_PD;
	attr->max_qp_rd_atom = RNIC_MAX_IRD;
	attr->max_qp_init_rd_atom = RNIC_MAX_ORD;
	attr->max_res_rd_atom = RNIC_MAX_IRD * RNIC_MAX_QP;
	attr->atomic_cap = IB_ATOMIC_NONE;
	attr->masked_atomic_cap = IB_ATOMIC_NONE;
	attr->max_fast_reg_page_list_len = RNIC_MAX_FAST_REG_PAGES;
	return 0;
}

static const struct link_class *link_class(u32 mbps)
{
	size_t i;

	if (mbps == (u32)SPEED_UNKNOWN)
		return &link_classes[0];
	for (i = 0; i < ARRAY_SIZE(link_classes) - 1; i++)
		if (mbps <= link_classes[i].mbps)
			break;
	return &link_classes[i];
}

/*
 * The core has filled in the MTU. Its idea of the port's state is not ours:
 * it wants an IPv4 address.
 */
static int rnic_query_port(struct ib_device *ibdev, u32 port,
			   struct ib_port_attr *attr)
{
	struct rnic_dev *dev = to_rnic_dev(ibdev);
	const struct link_class *link = link_class(READ_ONCE(dev->link_mbps));

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

static int rnic_get_port_immutable(struct ib_device *ibdev, u32 port,
				   struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = RNIC_GID_TABLE_LEN;
	immutable->pkey_tbl_len = 0;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/*
 * The connection manager of the core looks for a device whose GID begins with
 * the address of the network device and is zero otherwise.
 */
static int rnic_query_gid(struct ib_device *ibdev, u32 port, int index,
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

static int rnic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rnic_pd *pd = to_rnic_pd(ibpd);
	struct rnic_dev *dev = to_rnic_dev(ibpd->device);
	int ret;

	if (!rnic_udata_clear(udata))
		return -EINVAL;
	pd->uctx = rdma_udata_to_drv_context(udata, struct rnic_ucontext,
					     ibuctx);
	ret = rnic_own(pd->uctx, RNIC_OWNED_PD);
	if (ret)
		return ret;
	if (rnic_dev_take(&dev->nr_pd, RNIC_MAX_PD))
		return 0;
	rnic_disown(pd->uctx, RNIC_OWNED_PD);
	return -ENOMEM;
}

static int rnic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rnic_pd *pd = to_rnic_pd(ibpd);

	atomic_dec(&to_rnic_dev(ibpd->device)->nr_pd);
	rnic_disown(pd->uctx, RNIC_OWNED_PD);
	return 0;
}

static struct rdma_hw_stats *rnic_alloc_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(stat_descs, ARRAY_SIZE(stat_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static u64 rnic_counted(const struct rnic_dev *dev, enum rnic_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->counters, cpu)->v[c]);
	return sum;
}

static int rnic_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			  u32 port, int index)
{
	const struct rnic_dev *dev = to_rnic_dev(ibdev);
	int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < RNIC_CNT_COUNT; i++)
		stats->value[i] = rnic_counted(dev, i);
	return RNIC_CNT_COUNT;
}

/* The device as netlink shows it ---------------------------------------------- */

static void rnic_view_counters(const struct rnic_dev *dev,
			       struct mpa_node_view *v)
{
	int i;

	for (i = 0; i < RNIC_CNT_COUNT; i++) {
		strscpy(v->counters[i].name, stat_descs[i].name,
			sizeof(v->counters[i].name));
		v->counters[i].value = rnic_counted(dev, i);
	}
	v->nr_counters = RNIC_CNT_COUNT;
}

static void rnic_view(const struct mpa_node *node, struct mpa_node_view *v)
{
	struct rnic_dev *dev = container_of(node, struct rnic_dev, node);

	spin_lock(&dev->name_lock);
	strscpy(v->name, dev->name, sizeof(v->name));
	strscpy(v->ifname, dev->ifname, sizeof(v->ifname));
	spin_unlock(&dev->name_lock);
	v->ifindex = READ_ONCE(dev->netdev->ifindex);
	v->active = rnic_dev_port_active(dev);
	v->limits = limits;
	v->conns = atomic_read(&dev->nr_conn);
	v->listeners = atomic_read(&dev->nr_listener);
	rnic_view_counters(dev, v);
}

static bool rnic_is_called(const struct mpa_node *node, const char *name)
{
	struct rnic_dev *dev = container_of(node, struct rnic_dev, node);
	bool same;

	spin_lock(&dev->name_lock);
	same = !strncmp(dev->name, name, sizeof(dev->name));
	spin_unlock(&dev->name_lock);
	return same;
}

static const struct mpa_node_ops node_ops = {
	.view = rnic_view,
	.is_called = rnic_is_called,
};

/**
 * rnic_dev_node_init() - make the node ready to be added
 * @dev: the device, new
 */
void rnic_dev_node_init(struct rnic_dev *dev)
{
	dev->node.kind = MPA_NODE_DEVICE;
	dev->node.limits = &limits;
	dev->node.ops = &node_ops;
	spin_lock_init(&dev->name_lock);
}

/**
 * rnic_dev_take_name() - the device has a name, or a new one
 * @dev: the device, within a call of the core's, which renames nothing meanwhile
 *
 * Nobody is told.
 */
void rnic_dev_take_name(struct rnic_dev *dev)
{
	spin_lock_bh(&dev->name_lock);
	strscpy(dev->name, dev->ibdev.name, sizeof(dev->name));
	spin_unlock_bh(&dev->name_lock);
}

/**
 * rnic_dev_take_ifname() - likewise, of the network device
 * @dev: the device; RTNL held
 */
void rnic_dev_take_ifname(struct rnic_dev *dev)
{
	ASSERT_RTNL();
	spin_lock_bh(&dev->name_lock);
	strscpy(dev->ifname, dev->netdev->name, sizeof(dev->ifname));
	spin_unlock_bh(&dev->name_lock);
	strscpy(dev->ibdev.iw_ifname, dev->netdev->name,
		sizeof(dev->ibdev.iw_ifname));
}

static ssize_t abi_version_show(struct device *device,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", MPA_ABI_VERSION);
}

/* By its name a provider knows the device: there is no driver number. */
static struct device_attribute abi_version_attr = {
	.attr = { .name = MPA_ABI_SYSFS_ATTR, .mode = 0444 },
	.show = abi_version_show,
};

static struct attribute *rnic_attrs[] = {
	&abi_version_attr.attr,
	NULL
};

static const struct attribute_group rnic_attr_group = {
	.attrs = rnic_attrs,
};

const struct ib_device_ops rnic_device_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver		= MPA_ABI_VERSION,
	.device_group		= &rnic_attr_group,

	.alloc_hw_port_stats	= rnic_alloc_stats,
	.alloc_mr		= rnic_alloc_mr,
	.alloc_pd		= rnic_alloc_pd,
	.alloc_ucontext		= rnic_alloc_ucontext,
	.create_cq		= rnic_create_cq,
	.create_qp		= rnic_create_qp,
	.dealloc_pd		= rnic_dealloc_pd,
	.dealloc_ucontext	= rnic_dealloc_ucontext,
	.dereg_mr		= rnic_dereg_mr,
	.destroy_cq		= rnic_destroy_cq,
	.destroy_qp		= rnic_destroy_qp,
	.disassociate_ucontext	= rnic_disassociate_ucontext,
	.fill_res_cm_id_entry	= rnic_fill_cm_id,
	.fill_res_cq_entry	= rnic_fill_cq,
	.fill_res_mr_entry	= rnic_fill_mr,
	.fill_res_qp_entry	= rnic_fill_qp,
	.get_dma_mr		= rnic_get_dma_mr,
	.get_hw_stats		= rnic_get_stats,
	.get_port_immutable	= rnic_get_port_immutable,
	.iw_accept		= rnic_iw_accept,
	.iw_add_ref		= rnic_iw_add_ref,
	.iw_connect		= rnic_iw_connect,
	.iw_create_listen	= rnic_iw_create_listen,
	.iw_destroy_listen	= rnic_iw_destroy_listen,
	.iw_get_qp		= rnic_iw_get_qp,
	.iw_reject		= rnic_iw_reject,
	.iw_rem_ref		= rnic_iw_rem_ref,
	.map_mr_sg		= rnic_map_mr_sg,
	.mmap			= rnic_mmap,
	.mmap_free		= rnic_mmap_free,
	.modify_qp		= rnic_modify_qp,
	.poll_cq		= rnic_poll_cq,
	.post_recv		= rnic_post_recv,
	.post_send		= rnic_post_send,
	.query_device		= rnic_query_device,
	.query_gid		= rnic_query_gid,
	.query_port		= rnic_query_port,
	.query_qp		= rnic_query_qp,
	.reg_user_mr		= rnic_reg_user_mr,
	.req_notify_cq		= rnic_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, rnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, rnic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, rnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rnic_ucontext, ibuctx),
};
