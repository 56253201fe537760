/* SPDX-License-Identifier: GPL-2.0-only */
/* Protection domains. */
#ifndef MPA_RNIC_PD_H
#define MPA_RNIC_PD_H

#include <rdma/ib_verbs.h>

struct rnic_ucontext;

/**
 * struct rnic_pd - a protection domain
 * @ibpd: the core's part
 * @uctx: the context it is counted for, or NULL with a kernel consumer;
 *	constant
 *
 * Regions and queue pairs refer to it by the core's pointer.
 */
struct rnic_pd {
	struct ib_pd ibpd;
	struct rnic_ucontext *uctx;
};

static inline struct rnic_pd *to_rnic_pd(const struct ib_pd *ibpd)
{
	return container_of(ibpd, struct rnic_pd, ibpd);
}

int rnic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int rnic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

#endif /* MPA_RNIC_PD_H */
