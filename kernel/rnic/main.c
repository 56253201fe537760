// SPDX-License-Identifier: GPL-2.0-only
/* Initialization and exit of the module. */
#include <linux/module.h>
#include <linux/workqueue.h>
#include <rdma/rdma_netlink.h>

#include "compat/workqueue.h"
#include "cm.h"
#include "device.h"
#include "ep_work.h"
#include "netdev.h"
#include "ulp/mpa.h"

static int __init rnic_main_init(void)
{
	const struct mpa_shared shared = MPA_SHARED_HERE;
	int ret;

	if (!mpa_shares(&shared)) {
		pr_err("mpa_rnic: mpa.ko is of another release: unload it first\n");
		return -EINVAL;
	}
	ret = rnic_ep_init();
	if (ret)
		return ret;
	ret = rnic_cm_init();
	if (ret)
		goto err_ep;
	ret = -ENOMEM;
	rnic_wq = alloc_workqueue("mpa_rnic", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnic_wq)
		goto err_cm;
	rnic_tx_wq = alloc_workqueue("mpa_rnic_tx", WQ_MEM_RECLAIM |
				     WQ_CPU_INTENSIVE | MPA_WQ_PERCPU, 0);
	if (!rnic_tx_wq)
		goto err_wq;
	ret = rnic_netdev_init();
	if (ret)
		goto err_tx_wq;
	return 0;

err_tx_wq:
	destroy_workqueue(rnic_tx_wq);
err_wq:
	destroy_workqueue(rnic_wq);
err_cm:
	rnic_cm_exit();
err_ep:
	rnic_ep_exit();
	return ret;
}

static void __exit rnic_main_exit(void)
{
	rnic_netdev_exit();
	rcu_barrier();
	destroy_workqueue(rnic_tx_wq);
	destroy_workqueue(rnic_wq);
	rnic_cm_exit();
	rnic_ep_exit();
}

module_init(rnic_main_init);
module_exit(rnic_main_exit);

MODULE_DESCRIPTION("Software iWARP RNIC over MPA (RFC 5044)");
MODULE_LICENSE("GPL");
MODULE_VERSION(MPA_VERSION);
MODULE_ALIAS_RDMA_LINK("mpa");
MODULE_IMPORT_NS(MPA_NS);
