/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory windows: allocation and binding; operations of the device. */
#ifndef MPA_RNIC_MW_H
#define MPA_RNIC_MW_H

#include <rdma/ib_verbs.h>
#include <rdma/mpa-abi.h>

struct rnic_mr;
struct rnic_qp;

/**
 * struct rnic_mw - a memory window
 * @ibmw: the core's part, freed without a grace period
 * @mr: what is found by its STag
 */
struct rnic_mw {
	struct ib_mw ibmw;
	struct rnic_mr *mr;
};

static inline struct rnic_mw *to_rnic_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct rnic_mw, ibmw);
}

int rnic_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int rnic_dealloc_mw(struct ib_mw *ibmw);
bool rnic_mw_entry_clear(const struct mpa_sqe *e);
int rnic_mw_bind(struct rnic_qp *qp, const struct mpa_sqe *e);
void rnic_mw_leave(struct rnic_qp *qp);

#endif /* MPA_RNIC_MW_H */
