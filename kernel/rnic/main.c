// SPDX-License-Identifier: GPL-2.0-only
/* Initialization and exit of the module. */
#include <linux/module.h>
#include <linux/workqueue.h>
#include <rdma/rdma_netlink.h>

#include "cm.h"
#include "compat/workqueue.h"
#include "device.h"
#include "netdev.h"

/*
 * Consumers complete their requests in work of high priority on the processor of
 * the softirq. Sending is in the same pool of workers: it is not interrupted by what
 * it causes, and what is posted there is sent by the same thread, many at a time.
 */
static int __init rnic_main_init_wqs(void)
{
	rnic_wq = alloc_workqueue("mpa_rnic", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnic_wq)
		return -ENOMEM;
	rnic_tx_wq = alloc_workqueue("mpa_rnic_tx", WQ_HIGHPRI |
				     WQ_MEM_RECLAIM | MPA_WQ_PERCPU, 0);
	if (rnic_tx_wq)
		return 0;
	destroy_workqueue(rnic_wq);
	return -ENOMEM;
}

/* Sending may queue other work. */
static void rnic_main_exit_wqs(void)
{
	destroy_workqueue(rnic_tx_wq);
	destroy_workqueue(rnic_wq);
}

static int __init rnic_main_init(void)
{
	int ret;

	ret = rnic_cm_init();
	if (ret)
		return ret;
	ret = rnic_main_init_wqs();
	if (ret)
		goto err_cm;
	ret = rnic_netdev_init();
	if (ret)
		goto err_wqs;
	return 0;

err_wqs:
	rnic_main_exit_wqs();
err_cm:
	rnic_cm_exit();
	return ret;
}

static void __exit rnic_main_exit(void)
{
	rnic_netdev_exit();
	rcu_barrier();
	rnic_main_exit_wqs();
	rnic_cm_exit();
}

module_init(rnic_main_init);
module_exit(rnic_main_exit);

MODULE_DESCRIPTION("Software iWARP RNIC over MPA (RFC 5044)");
MODULE_LICENSE("GPL");
MODULE_VERSION(MPA_VERSION);
MODULE_ALIAS_RDMA_LINK("mpa");
MODULE_IMPORT_NS(MPA_NS);
