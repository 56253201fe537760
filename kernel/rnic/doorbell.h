/* SPDX-License-Identifier: GPL-2.0-only */
/* Doorbells: descriptors by which users have posted requests sent. */
#ifndef MPA_RNIC_DOORBELL_H
#define MPA_RNIC_DOORBELL_H

#include <linux/fs.h>
#include <linux/rcupdate.h>
#include <rdma/uverbs_std_types.h>

struct rnic_bells;
struct rnic_qp;
struct rnic_ucontext;

/**
 * struct rnic_doorbell - a descriptor
 * @uobj: the core's part; of its file
 * @bells: the queue pairs, with a reference; NULL after the end of the context
 */
struct rnic_doorbell {
	struct ib_uobject uobj;
	struct rnic_bells __rcu *bells;
};

extern const struct file_operations rnic_doorbell_fops;

int rnic_bells_add(struct rnic_ucontext *uctx, struct rnic_qp *qp);
void rnic_bells_publish(struct rnic_ucontext *uctx, struct rnic_qp *qp);
void rnic_bells_remove(struct rnic_ucontext *uctx, struct rnic_qp *qp);
int rnic_doorbell_open(struct rnic_doorbell *db, struct rnic_ucontext *uctx);
void rnic_doorbell_close(struct rnic_doorbell *db);

#endif /* MPA_RNIC_DOORBELL_H */
