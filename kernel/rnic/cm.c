// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection manager as a whole: what its connections ask for, and devices
 * that come and go.
 */
#include <linux/sched/signal.h>
#include <linux/wait_bit.h>
#include <rdma/restrack.h>

#include "compat/rdma_cm.h"
#include "device.h"
#include "ep.h"
#include "qp.h"
#include "trace.h"

/* Why a device has no connections: bits of rnic_dev.cm_gone. */
enum {
	RNIC_CM_NO_NETDEV	= BIT(0),	/* its network device has left */
	RNIC_CM_NO_CORE		= BIT(1),	/* it is being unregistered */
};

/**
 * rnic_cm_same_net - does the consumer live where the device does?
 * @cm_id: fresh from the core, in connect or create_listen
 *
 * With shared RDMA namespaces the core offers every wildcard listener to every
 * device it shows, and knows devices by hardware addresses, which may occur
 * twice. TCP's ports and addresses belong to one network namespace. The
 * rdma_cm_id holds that of the consumer.
 *
 * Return: true if so, or if it cannot be known.
 */
bool rnic_cm_same_net(const struct iw_cm_id *cm_id)
{
	const struct rnic_dev *dev = to_rnic_dev(cm_id->device);
	const struct rdma_cm_id *id = mpa_rdma_cm_id(cm_id);

	return !id || net_eq(id->route.addr.dev_addr.net, dev_net(dev->netdev));
}

/*
 * May the caller of connect or accept use this QP? Kernel consumers that made it
 * with rdma_create_qp() have it in their identifier. Users never have one there:
 * they name a QP by number, within their system call, and any number at that. So
 * theirs has to come from the same process. A kernel consumer that made its QP
 * by itself and names it by number is believed where no user can be: in a kernel
 * thread. The reference to @qp keeps res.task, and that keeps its signal struct.
 */
static bool cm_owns_qp(const struct iw_cm_id *cm_id, const struct rnic_qp *qp)
{
	const struct rdma_restrack_entry *res = &qp->ibqp.res;
	const struct rdma_cm_id *id = mpa_rdma_cm_id(cm_id);
	const struct ib_qp *own = id ? READ_ONCE(id->qp) : NULL;

	if (own)
		return own == &qp->ibqp;
	if (rdma_is_kernel_res(res))
		return !id || current->flags & PF_KTHREAD;
	return res->task && same_thread_group(res->task, current);
}

/**
 * rnic_cm_get_qp - the QP that the caller of connect or accept names
 * @cm_id: the core's identifier
 * @qpn: number of the QP
 *
 * In the context of the consumer's call. Return: the QP with a reference;
 * ERR_PTR(-EINVAL): there is no such QP; ERR_PTR(-EPERM): it is not the
 * caller's, which is counted.
 */
struct rnic_qp *rnic_cm_get_qp(const struct iw_cm_id *cm_id, u32 qpn)
{
	struct rnic_dev *dev = to_rnic_dev(cm_id->device);
	struct rnic_qp *qp = rnic_qp_find(dev, qpn);

	might_sleep();
	if (!qp)
		return ERR_PTR(-EINVAL);
	if (cm_owns_qp(cm_id, qp))
		return qp;
	rnic_count(dev, RNIC_CNT_CONN_QP_DENIED);
	trace_rnic_qp_denied(&qp->ibqp);
	rnic_qp_put(qp);
	return ERR_PTR(-EPERM);
}

/**
 * rnic_cm_params - what we ask of a connection
 * @cfg: settings in force for it
 * @ird: inbound Read depth the consumer wants
 * @ord: outbound Read depth it wants
 * @p: filled in
 */
void rnic_cm_params(const struct mpa_config *cfg, u32 ird, u32 ord,
		    struct mpa_params *p)
{
	mpa_config_params(cfg, p);
	p->ird = min_t(u32, ird, p->ird);
	p->ord = min_t(u32, ord, p->ord);
}

/**
 * rnic_cm_config - settings for a connection that is about to begin
 * @dev: its device
 * @cfg: filled in
 *
 * Process context. Return: 0; -ENODEV: there are no connections now.
 */
int rnic_cm_config(struct rnic_dev *dev, struct mpa_config *cfg)
{
	int ret = 0;

	mutex_lock(&dev->ep_lock);
	if (dev->listed)
		mpa_node_config(&dev->node, cfg);
	else
		ret = -ENODEV;
	mutex_unlock(&dev->ep_lock);
	return ret;
}

/* QP references for the core ------------------------------------------------- */

/**
 * rnic_iw_add_ref - iw_cm: hold a QP
 * @ibqp: the QP
 *
 * The core calls this for what rnic_iw_get_qp() has just given it, and for nothing
 * else: the reference was taken there, where the QP could not go in between.
 */
void rnic_iw_add_ref(struct ib_qp *ibqp)
{
}

/**
 * rnic_iw_rem_ref - iw_cm: drop a reference to a QP
 * @ibqp: the QP
 *
 * Any context.
 */
void rnic_iw_rem_ref(struct ib_qp *ibqp)
{
	rnic_qp_put(to_rnic_qp(ibqp));
}

/**
 * rnic_iw_get_qp - iw_cm: find a QP
 * @ibdev: the device
 * @qpn: number of the QP
 *
 * The core calls rnic_iw_add_ref() next, without a condition. Connect or accept
 * follows at once and looks whose the QP is, with a better error than this can
 * give; if it is not the caller's, the core drops its reference without having
 * touched it.
 *
 * Return: the QP, with the reference that rnic_iw_rem_ref() drops, or NULL.
 */
struct ib_qp *rnic_iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct rnic_qp *qp = rnic_qp_find(to_rnic_dev(ibdev), qpn);

	return qp ? &qp->ibqp : NULL;
}

/* Devices -------------------------------------------------------------------- */

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
static int rnic_cm_go(struct rnic_dev *dev, u8 why)
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
	return rnic_cm_go(dev, RNIC_CM_NO_CORE);
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
	int ret = rnic_cm_go(dev, RNIC_CM_NO_NETDEV);

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

	rnic_dev_take_name(dev);
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
