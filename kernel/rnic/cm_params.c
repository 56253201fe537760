// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters of connect, accept and listen: namespace, QP, depths, settings.
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
 * rnic_cm_same_net() - is the consumer in the network namespace of the device?
 * @cm_id: the core's identifier, in connect or create_listen
 *
 * With shared RDMA namespaces the core opens every wildcard listener on every
 * device, and, except in newer releases, identifies devices by hardware addresses,
 * which may occur twice. TCP's ports and addresses belong to one network namespace.
 * The rdma_cm_id has that of the consumer.
 *
 * Return: true if so, or if it is unknown.
 */
bool rnic_cm_same_net(const struct iw_cm_id *cm_id)
{
	const struct rnic_dev *dev = to_rnic_dev(cm_id->device);
	const struct rdma_cm_id *id = mpa_rdma_cm_id(cm_id);

	return !id || net_eq(id->route.addr.dev_addr.net, dev_net(dev->netdev));
}

/**
 * rnic_cm_is_stream() - does a listener wait for connections?
 * @cm_id: the core's identifier, in create_listen
 *
 * The core opens listeners for datagrams, too, whose ports have nothing to do with
 * those of TCP.
 *
 * Return: true if so, or if it is unknown.
 */
bool rnic_cm_is_stream(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = mpa_rdma_cm_id(cm_id);

	return !id || id->qp_type == IB_QPT_RC;
}

/**
 * rnic_cm_has_mapper() - may the port mapper have mapped addresses of a device?
 * @dev: the device
 *
 * The core asks the port mapper for devices of any namespace, but it runs in the
 * first one, knows the TCP ports of that one, and sends its questions there.
 *
 * Return: true if &iw_cm_id.m_local_addr and m_remote_addr are to be used.
 */
bool rnic_cm_has_mapper(const struct rnic_dev *dev)
{
	return net_eq(dev_net(dev->netdev), &init_net);
}

/*
 * May the caller of connect or accept use this QP? Kernel consumers that made
 * it with rdma_create_qp() have it in their identifier. Users never have one
 * there: in a system call they pass the number of a QP, which may be any. So
 * that QP must belong to the same process. A kernel consumer that created its
 * QP by itself and passes its number is accepted in a kernel thread, where no
 * user can call. The reference to @qp keeps res.task, and that keeps its signal
 * struct.
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
 * rnic_cm_get_qp() - get the QP for connect or accept
 * @cm_id: the core's identifier
 * @qpn: number of the QP
 *
 * Called in the context of the consumer. Return: the QP with a reference;
 * ERR_PTR(-EINVAL): there is no such QP; ERR_PTR(-EPERM): the QP belongs to
 * another process; counted.
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
 * rnic_cm_fill_params() - compute the parameters of a startup exchange
 * @cfg: settings of the connection
 * @ird: inbound Read depth the consumer requests
 * @ord: outbound Read depth it requests
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
 * rnic_cm_pd_max() - how much private data can be sent?
 * @cfg: settings of the device
 *
 * Return: bytes; a Start Key has none.
 */
u32 rnic_cm_pd_max(const struct mpa_config *cfg)
{
	return cfg->v[MPA_A_CONFIG_STARTUP] == MPA_CONFIG_STARTUP_START_KEY ?
		       0 : MPA_PRIVATE_DATA_MAX - MPA_ENHANCED_LEN;
}

/**
 * rnic_cm_get_config() - get the settings for a new connection
 * @dev: its device
 * @cfg: filled in
 *
 * Process context. Return: 0; -ENODEV: connections are disabled.
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
 * rnic_iw_add_ref() - iw_cm: hold a QP
 * @ibqp: the QP
 *
 * The core calls this only for the QP that rnic_iw_get_qp() just returned. The
 * reference was taken there, so that the QP cannot be destroyed in between.
 */
void rnic_iw_add_ref(struct ib_qp *ibqp)
{
}

/**
 * rnic_iw_rem_ref() - iw_cm: drop a reference to a QP
 * @ibqp: the QP
 *
 * Any context.
 */
void rnic_iw_rem_ref(struct ib_qp *ibqp)
{
	rnic_qp_cm_put(to_rnic_qp(ibqp));
}

/**
 * rnic_iw_get_qp() - iw_cm: find a QP
 * @ibdev: the device
 * @qpn: number of the QP
 *
 * The core always calls rnic_iw_add_ref() next. Connect or accept follows and
 * checks whose QP it is, with a better error than this function can return. On
 * failure the core drops its reference without using the QP.
 *
 * Return: the QP, with the reference that rnic_iw_rem_ref() drops; NULL: there
 * is none, or its RESET is in progress.
 */
struct ib_qp *rnic_iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct rnic_qp *qp = rnic_qp_find(to_rnic_dev(ibdev), qpn);

	if (!qp)
		return NULL;
	if (rnic_qp_cm_get(qp))
		return &qp->ibqp;
	rnic_qp_put(qp);
	return NULL;
}
