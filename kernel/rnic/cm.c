// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection manager as a whole: what it asks for by default, and devices
 * that come and go.
 */
#include <linux/debugfs.h>
#include <linux/wait_bit.h>
#include <rdma/rdma_cm.h>

#include "device.h"
#include "ep.h"
#include "qp.h"

/* Defaults, until the administrator can say otherwise. */
const struct mpa_cm_config mpa_cm_defaults = {
	.params = {
		.markers = false,
		.crc = true,
		.p2p = true,
		.rev = MPA_REV_2,
		.rtr = MPA_RTR_WRITE | MPA_RTR_READ,
		.ird = MPA_MAX_IRD,
		.ord = MPA_MAX_ORD,
		.ird_max = MPA_MAX_IRD,
	},
	.connect_ms = 20000,
	/* The peer's application answers, not just its stack. */
	.reply_ms = 30000,
	.request_ms = MPA_STARTUP_TIMEOUT_MS,
	.answer_ms = 60000,
	.orphan_ms = 10000,
	.close_ms = 5000,
	.half_open_max = 128,
};

/* Why a device has no connections: bits of mpa_dev.cm_gone. */
enum {
	MPA_CM_NO_NETDEV	= BIT(0),	/* its network device has left */
	MPA_CM_NO_CORE		= BIT(1),	/* it is being unregistered */
};

static struct dentry *mpa_debugfs;

/**
 * mpa_cm_same_net - does the consumer live where the device does?
 * @cm_id: fresh from the core, in connect or create_listen
 *
 * With shared RDMA namespaces the core offers every wildcard listener to every
 * device it shows, and knows devices by hardware addresses, which may occur
 * twice. TCP's ports and addresses belong to one network namespace. Of the
 * consumer's the iw_cm interface says nothing, so look where it is: the only
 * consumer of iw_cm in the kernel is rdma_cm, whose context is always the
 * rdma_cm_id, bound to device and @cm_id by now and holding its namespace. A
 * context that does not point back is taken for something else, and trusted.
 *
 * Return: true if so, or if it cannot be known.
 */
bool mpa_cm_same_net(const struct iw_cm_id *cm_id)
{
	const struct mpa_dev *dev = to_mpa_dev(cm_id->device);
	struct rdma_cm_id *id = cm_id->context;

	if (!id || id->device != cm_id->device || rdma_iw_cm_id(id) != cm_id)
		return true;
	return net_eq(id->route.addr.dev_addr.net, dev_net(dev->netdev));
}

/**
 * mpa_cm_params - what we ask of a connection
 * @dev: its device
 * @ird: inbound Read depth the consumer wants
 * @ord: outbound Read depth it wants
 * @p: filled in
 */
void mpa_cm_params(const struct mpa_dev *dev, u32 ird, u32 ord,
		   struct mpa_params *p)
{
	*p = mpa_cm_defaults.params;
	p->markers = READ_ONCE(dev->ask_markers);
	p->crc = READ_ONCE(dev->prefer_crc);
	p->permissive = READ_ONCE(dev->permissive);
	p->rev = min_t(u8, READ_ONCE(dev->mpa_rev), p->rev);
	p->ird = min_t(u32, ird, p->ird);
	p->ord = min_t(u32, ord, p->ord);
}

/* QP references for the core ------------------------------------------------- */

/**
 * mpa_iw_add_ref - iw_cm: hold a QP
 * @ibqp: the QP
 *
 * Any context.
 */
void mpa_iw_add_ref(struct ib_qp *ibqp)
{
	mpa_qp_get(to_mpa_qp(ibqp));
}

/**
 * mpa_iw_rem_ref - iw_cm: let go of a QP
 * @ibqp: the QP
 *
 * Any context.
 */
void mpa_iw_rem_ref(struct ib_qp *ibqp)
{
	mpa_qp_put(to_mpa_qp(ibqp));
}

/**
 * mpa_iw_get_qp - iw_cm: find a QP
 * @ibdev: the device
 * @qpn: number of the QP
 *
 * Called under a spinlock of the core's, which calls mpa_iw_add_ref() before it
 * drops the lock; it is the consumer who must not destroy the QP meanwhile.
 *
 * Return: the QP, without a reference, or NULL.
 */
struct ib_qp *mpa_iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct mpa_qp *qp = mpa_qp_find(to_mpa_dev(ibdev), qpn);

	if (!qp)
		return NULL;
	mpa_qp_put(qp);
	return &qp->ibqp;
}

/* Devices -------------------------------------------------------------------- */

static void mpa_cm_stop(struct mpa_dev *dev, u8 why)
{
	struct mpa_ep *ep;

	mutex_lock(&dev->ep_lock);
	dev->cm_gone |= why;
	list_for_each_entry(ep, &dev->eps, entry)
		mpa_ep_kick(ep, MPA_EP_DO_ABORT);
	mutex_unlock(&dev->ep_lock);
	mpa_listeners_stop(dev);
	wait_var_event(&dev->eps, list_empty_careful(&dev->eps));
	/* Whoever has delisted the last one must be out of the lock, too. */
	mutex_lock(&dev->ep_lock);
	mutex_unlock(&dev->ep_lock);
}

static void mpa_cm_go(struct mpa_dev *dev, u8 why)
{
	mutex_lock(&dev->ep_lock);
	dev->cm_gone &= ~why;
	mutex_unlock(&dev->ep_lock);
	mpa_listeners_restart(dev);
}

/**
 * mpa_cm_netdev_gone - the network device is gone or on its way
 * @dev: the device
 *
 * Kills every endpoint, closes every listening socket, admits nothing new until
 * mpa_cm_netdev_back(). Process context, RTNL held or not; waits for the work
 * of the endpoints, which waits for no user and no peer. Idempotent.
 */
void mpa_cm_netdev_gone(struct mpa_dev *dev)
{
	mpa_cm_stop(dev, MPA_CM_NO_NETDEV);
}

/**
 * mpa_cm_netdev_back - the network device has arrived in another namespace
 * @dev: the device, after mpa_cm_netdev_gone()
 *
 * Process context, RTNL held or not.
 */
void mpa_cm_netdev_back(struct mpa_dev *dev)
{
	mpa_cm_go(dev, MPA_CM_NO_NETDEV);
}

/*
 * When a device is unregistered, rdma_cm destroys its identifiers, and for one
 * that is connecting waits until it has its CONNECT_REPLY. Nothing tells a
 * driver beforehand, but a client of the core's is told: the youngest one first,
 * and rdma_cm is older than this module, which uses it.
 */
static int mpa_cm_client_add(struct ib_device *ibdev)
{
	if (ibdev->ops.owner != THIS_MODULE)
		return -EOPNOTSUPP;
	mpa_cm_go(to_mpa_dev(ibdev), MPA_CM_NO_CORE);
	return 0;
}

static void mpa_cm_client_remove(struct ib_device *ibdev, void *data)
{
	mpa_cm_stop(to_mpa_dev(ibdev), MPA_CM_NO_CORE);
}

static struct ib_client mpa_cm_client = {
	.name = "mpa_rnic",
	.add = mpa_cm_client_add,
	.remove = mpa_cm_client_remove,
};

/**
 * mpa_cm_dev_add - a device has been registered
 * @dev: the device
 *
 * Makes files in /sys/kernel/debug/mpa_rnic/<name>, for new connections:
 * markers, whether they ask the peer for Markers; crc, whether they prefer
 * CRCs, without which there are none only if the peer does not want them
 * either (RFC 5044 section 4.4); permissive, whether they serve peers of
 * revision 0; revision, the highest to speak (0: what the RDMA Consortium
 * specified and nothing else, with CRCs in any case). For root, as section 4.4
 * leaves CRCs to the administrator. A makeshift, until that can be
 * configured by netlink; the directory keeps the name the device has now.
 */
void mpa_cm_dev_add(struct mpa_dev *dev)
{
	dev->debugfs = debugfs_create_dir(dev_name(&dev->ibdev.dev),
					  mpa_debugfs);
	debugfs_create_bool("markers", 0600, dev->debugfs, &dev->ask_markers);
	debugfs_create_bool("crc", 0600, dev->debugfs, &dev->prefer_crc);
	debugfs_create_bool("permissive", 0600, dev->debugfs, &dev->permissive);
	debugfs_create_u8("revision", 0600, dev->debugfs, &dev->mpa_rev);
}

/**
 * mpa_cm_dev_remove - undo mpa_cm_dev_add()
 * @dev: the device, also if it was never called
 */
void mpa_cm_dev_remove(struct mpa_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
	dev->debugfs = NULL;
}

/**
 * mpa_cm_init - at module init
 *
 * Return: 0 or a negative error.
 */
int mpa_cm_init(void)
{
	int ret = ib_register_client(&mpa_cm_client);

	if (!ret)
		mpa_debugfs = debugfs_create_dir("mpa_rnic", NULL);
	return ret;
}

/**
 * mpa_cm_exit - at module exit; no device is left
 */
void mpa_cm_exit(void)
{
	ib_unregister_client(&mpa_cm_client);
	debugfs_remove_recursive(mpa_debugfs);
	mpa_requests_destroy();
}
