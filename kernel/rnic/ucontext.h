/* SPDX-License-Identifier: GPL-2.0-only */
/* User contexts, and what they may own. */
#ifndef MPA_RNIC_UCONTEXT_H
#define MPA_RNIC_UCONTEXT_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct mem_cgroup;

/* Kinds of objects of a context, each limited by a setting. */
enum rnic_owned {
	RNIC_OWNED_QP,		/* and shared receive queues */
	RNIC_OWNED_CQ,
	RNIC_OWNED_MR,
	RNIC_OWNED_PD,
	RNIC_OWNED_KINDS,
	/* Memory of an object that is counted already. */
	RNIC_OWNED_PART = RNIC_OWNED_KINDS,
};

/**
 * struct rnic_bells - the queue pairs of a context, for its doorbells
 * @ref: one of the context, one of every doorbell
 * @bells: struct rnic_bell by index
 * @rcu: frees the structure after the last lookup is over
 */
struct rnic_bells {
	struct kref ref;
	struct xarray bells;
	struct rcu_head rcu;
};

/**
 * struct rnic_ucontext - a user's context
 * @ibuctx: the core's part
 * @memcg: memory cgroup of the process that opened the device, with a
 *	reference, charged for allocations on its behalf in other contexts; NULL
 *	without memory cgroups; constant
 * @bells: its queue pairs, for its doorbells, with a reference; NULL before the
 *	first doorbell; set once
 * @owned: number of its objects, by &enum rnic_owned
 * @ring_bytes: bytes of its rings
 */
struct rnic_ucontext {
	struct ib_ucontext ibuctx;
	struct mem_cgroup *memcg;
	struct rnic_bells *bells;
	atomic_t owned[RNIC_OWNED_KINDS];
	atomic64_t ring_bytes;
};

static inline struct rnic_ucontext *to_rnic_uctx(struct ib_ucontext *uctx)
{
	return container_of(uctx, struct rnic_ucontext, ibuctx);
}

bool rnic_ucontext_doorbells(void);
int rnic_ucontext_own(struct rnic_ucontext *uctx, enum rnic_owned kind);
void rnic_ucontext_disown(struct rnic_ucontext *uctx, enum rnic_owned kind);
int rnic_ucontext_own_bytes(struct rnic_ucontext *uctx, u32 len);
struct rnic_bells *rnic_bells_get(struct rnic_ucontext *uctx);
void rnic_bells_put(struct rnic_bells *bells);
int rnic_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
int rnic_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs);
void rnic_dealloc_ucontext(struct ib_ucontext *uctx);
void rnic_disassociate_ucontext(struct ib_ucontext *uctx);

#endif /* MPA_RNIC_UCONTEXT_H */
