// SPDX-License-Identifier: GPL-2.0-only
/*
 * What connections are asked for with: namespace, QP, depths, settings.
 */
#include <linux/sched/signal.h>
#include <rdma/restrack.h>

#include "cm_params.h"
#include "compat/rdma_cm.h"
#include "device.h"
#include "qp.h"
#include "trace.h"
#include "ulp/mpa.h"

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
static bool rnic_cm_owns_qp(const struct iw_cm_id *cm_id, const struct rnic_qp *qp)
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
	if (rnic_cm_owns_qp(cm_id, qp))
		return qp;
	rnic_count(dev, RNIC_CNT_CONN_QP_DENIED);
	trace_rnic_qp_denied(&qp->ibqp);
	rnic_qp_put(qp);
	return ERR_PTR(-EPERM);
}

/**
 * rnic_cm_fill_params - what we ask of a connection
 * @cfg: settings in force for it
 * @ird: inbound Read depth the consumer wants
 * @ord: outbound Read depth it wants
 * @p: filled in
 */
void rnic_cm_fill_params(const struct mpa_config *cfg, u32 ird, u32 ord,
			 struct mpa_params *p)
{
	mpa_config_params(cfg, p);
	p->ird = min_t(u32, ird, p->ird);
	p->ord = min_t(u32, ord, p->ord);
}

/**
 * rnic_cm_get_config - settings for a connection that is about to begin
 * @dev: its device
 * @cfg: filled in
 *
 * Process context. Return: 0; -ENODEV: there are no connections now.
 */
int rnic_cm_get_config(struct rnic_dev *dev, struct mpa_config *cfg)
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

/* QP references for the core ----------------------------------------------- */

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
