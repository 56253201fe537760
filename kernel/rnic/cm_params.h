/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters of connect, accept and listen: namespace, QP, depths, settings. */
#ifndef MPA_RNIC_CM_PARAMS_H
#define MPA_RNIC_CM_PARAMS_H

#include <rdma/iw_cm.h>

#include "ulp/mpa.h"

struct rnic_dev;
struct rnic_qp;

bool rnic_cm_same_net(const struct iw_cm_id *cm_id);
bool rnic_cm_is_stream(const struct iw_cm_id *cm_id);
bool rnic_cm_has_mapper(const struct rnic_dev *dev);
struct rnic_qp *rnic_cm_get_qp(const struct iw_cm_id *cm_id, u32 qpn);
void rnic_cm_fill_params(const struct mpa_config *cfg, u32 ird, u32 ord,
			 struct mpa_params *p);
u32 rnic_cm_pd_max(const struct mpa_config *cfg);
int rnic_cm_get_config(struct rnic_dev *dev, struct mpa_config *cfg);
void rnic_iw_add_ref(struct ib_qp *ibqp);
void rnic_iw_rem_ref(struct ib_qp *ibqp);
struct ib_qp *rnic_iw_get_qp(struct ib_device *ibdev, int qpn);

#endif /* MPA_RNIC_CM_PARAMS_H */
