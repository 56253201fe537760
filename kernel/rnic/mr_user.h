/* SPDX-License-Identifier: GPL-2.0-only */
/* Regions of users: operations of the device. */
#ifndef MPA_RNIC_MR_USER_H
#define MPA_RNIC_MR_USER_H

#include <rdma/ib_verbs.h>

struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			       int access, struct ib_udata *udata);
struct ib_mr *rnic_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 len,
				      u64 iova, int fd, int access,
				      struct ib_udata *udata);
struct ib_mr *rnic_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 len, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata);
int rnic_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs);

#endif /* MPA_RNIC_MR_USER_H */
