// SPDX-License-Identifier: GPL-2.0-only
/* Protection domains. */
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "pd.h"
#include "ucontext.h"

/**
 * rnic_alloc_pd() - verbs: alloc_pd
 * @ibpd: the protection domain, zeroed
 * @udata: the user's buffers, NULL for kernel consumers
 *
 * Return: 0; -EINVAL: unknown input of the provider; -ENOMEM: the device or the
 * context has reached its limit.
 */
int rnic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rnic_pd *pd = to_rnic_pd(ibpd);
	struct rnic_dev *dev = to_rnic_dev(ibpd->device);
	int ret;

	if (!rnic_udata_clear(udata))
		return -EINVAL;
	pd->uctx = rdma_udata_to_drv_context(udata, struct rnic_ucontext,
					     ibuctx);
	ret = rnic_ucontext_own(pd->uctx, RNIC_OWNED_PD);
	if (ret)
		return ret;
	if (rnic_dev_reserve(&dev->nr_pd, RNIC_MAX_PD))
		return 0;
	rnic_ucontext_disown(pd->uctx, RNIC_OWNED_PD);
	return -ENOMEM;
}

/**
 * rnic_dealloc_pd() - verbs: dealloc_pd
 * @ibpd: the protection domain; the core frees it
 * @udata: unused
 *
 * Return: 0.
 */
int rnic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rnic_pd *pd = to_rnic_pd(ibpd);

	atomic_dec(&to_rnic_dev(ibpd->device)->nr_pd);
	rnic_ucontext_disown(pd->uctx, RNIC_OWNED_PD);
	return 0;
}
