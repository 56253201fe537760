// SPDX-License-Identifier: GPL-2.0-only
/*
 * User contexts and what they may own.
 *
 * Memory that the device allocates for a context is charged to the memory
 * cgroup of the calling process. Memory that the core allocates for it is not
 * charged: settings limit how many objects of each kind a context has.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "compat/memcg.h"
#include "device.h"
#include "ucontext.h"
#include "ulp/mpa.h"

static bool ucontext_doorbells;
module_param_named(doorbells, ucontext_doorbells, bool, 0644);
MODULE_PARM_DESC(doorbells, "Offer doorbells, which send faster, but keep the module loaded while a program has a device open (default: no)");

/**
 * rnic_ucontext_doorbells() - may contexts have doorbells?
 *
 * An open file of a doorbell keeps the module from being unloaded, unlike an open
 * device, so the administrator decides.
 *
 * Return: true if so.
 */
bool rnic_ucontext_doorbells(void)
{
	return READ_ONCE(ucontext_doorbells);
}

static u32 rnic_ucontext_features(void)
{
	return MPA_FEATURE_SRQ | MPA_FEATURE_MW | MPA_FEATURE_RFC7306 |
	       (rnic_ucontext_doorbells() ? MPA_FEATURE_DOORBELL : 0);
}

static u32 rnic_ucontext_setting(struct rnic_dev *dev, unsigned int attr)
{
	struct mpa_config cfg;

	mpa_node_config(&dev->node, &cfg);
	return cfg.v[attr];
}

static struct rnic_dev *rnic_ucontext_dev(const struct rnic_ucontext *uctx)
{
	return to_rnic_dev(uctx->ibuctx.device);
}

/* Programs see no more than "Cannot allocate memory". */
static int rnic_ucontext_refuse(struct rnic_dev *dev, const char *setting)
{
	rnic_count(dev, RNIC_CNT_USER_LIMIT);
	ibdev_info_ratelimited(&dev->ibdev, "a program has as much as %s allows\n", setting);
	return -ENOMEM;
}

/**
 * rnic_ucontext_own() - count one more object of a context
 * @uctx: the context; NULL for kernel consumers, which have no limit
 * @kind: kind of the object; %RNIC_OWNED_PART: nothing is counted
 *
 * Process context.
 *
 * Return: 0; -ENOMEM: it has as many as the settings allow.
 */
int rnic_ucontext_own(struct rnic_ucontext *uctx, enum rnic_owned kind)
{
	static const struct {
		u8 attr;
		const char *name;
	} settings[RNIC_OWNED_KINDS] = {
		[RNIC_OWNED_QP] = { MPA_A_CONFIG_USER_QP_MAX, "user-qp-max" },
		[RNIC_OWNED_CQ] = { MPA_A_CONFIG_USER_CQ_MAX, "user-cq-max" },
		[RNIC_OWNED_MR] = { MPA_A_CONFIG_USER_MR_MAX, "user-mr-max" },
		[RNIC_OWNED_PD] = { MPA_A_CONFIG_USER_PD_MAX, "user-pd-max" },
	};
	struct rnic_dev *dev;

	if (!uctx || kind == RNIC_OWNED_PART)
		return 0;
	dev = rnic_ucontext_dev(uctx);
	if (rnic_dev_reserve(&uctx->owned[kind],
			     rnic_ucontext_setting(dev, settings[kind].attr)))
		return 0;
	return rnic_ucontext_refuse(dev, settings[kind].name);
}

/**
 * rnic_ucontext_disown() - count one object less
 * @uctx: the context, or NULL
 * @kind: as for rnic_ucontext_own()
 */
void rnic_ucontext_disown(struct rnic_ucontext *uctx, enum rnic_owned kind)
{
	if (uctx && kind != RNIC_OWNED_PART)
		WARN_ON_ONCE(atomic_dec_return(&uctx->owned[kind]) < 0);
}

/**
 * rnic_ucontext_own_bytes() - count bytes of rings of a context
 * @uctx: the context
 * @len: bytes
 *
 * Process context. Undone by subtracting @len from rnic_ucontext.ring_bytes.
 *
 * Return: 0; -ENOMEM: it has as many as the settings allow.
 */
int rnic_ucontext_own_bytes(struct rnic_ucontext *uctx, u32 len)
{
	struct rnic_dev *dev = rnic_ucontext_dev(uctx);
	u64 max = (u64)rnic_ucontext_setting(dev, MPA_A_CONFIG_USER_RINGS_MAX) << 20;

	if (atomic64_add_return(len, &uctx->ring_bytes) <= max)
		return 0;
	atomic64_sub(len, &uctx->ring_bytes);
	return rnic_ucontext_refuse(dev, "user-rings-max");
}

static struct lock_class_key rnic_bells_lock_class;

static struct rnic_bells *rnic_bells_create(void)
{
	struct rnic_bells *bells = kzalloc(sizeof(*bells), GFP_KERNEL_ACCOUNT);

	if (bells) {
		kref_init(&bells->ref);
		xa_init_flags(&bells->bells,
			      XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
		/* A name in /proc/lock_stat. */
		lockdep_set_class(&bells->bells.xa_lock, &rnic_bells_lock_class);
	}
	return bells;
}

/**
 * rnic_bells_get() - get the table of a context, which the first call creates
 * @uctx: the context
 *
 * Not when the context is made: the core keeps a reference to the task if
 * alloc_ucontext() fails (UVERBS_METHOD_GET_CONTEXT, 6.1). Process context.
 *
 * Return: the table, with a reference; NULL: no memory.
 */
struct rnic_bells *rnic_bells_get(struct rnic_ucontext *uctx)
{
	/* Pairs with cmpxchg() in another call. */
	struct rnic_bells *bells = smp_load_acquire(&uctx->bells);
	struct rnic_bells *first;

	if (!bells) {
		bells = rnic_bells_create();
		if (!bells)
			return NULL;
		first = cmpxchg(&uctx->bells, NULL, bells);
		if (first) {
			kfree(bells);
			bells = first;
		}
	}
	kref_get(&bells->ref);
	return bells;
}

static void rnic_bells_release(struct kref *ref)
{
	struct rnic_bells *bells = container_of(ref, struct rnic_bells, ref);
	unsigned long index = 0;

	/* Without entries it may still have nodes, of an insertion that failed. */
	WARN_ON_ONCE(xa_find(&bells->bells, &index, ULONG_MAX, XA_PRESENT));
	xa_destroy(&bells->bells);
	kfree_rcu(bells, rcu);
}

/**
 * rnic_bells_put() - drop a reference
 * @bells: the table; without queue pairs if it is the last one
 */
void rnic_bells_put(struct rnic_bells *bells)
{
	kref_put(&bells->ref, rnic_bells_release);
}

/**
 * rnic_alloc_ucontext() - verbs: alloc_ucontext
 * @uctx: its context
 * @udata: room for struct mpa_alloc_ucontext_resp
 *
 * Return: 0; -EINVAL: the buffer for the response is too small, or the input is
 * not zero; -EFAULT.
 */
int rnic_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct mpa_alloc_ucontext_resp resp = {
		.abi_version = MPA_ABI_VERSION,
		.features = rnic_ucontext_features(),
	};
	int ret;

	if (udata->outlen < sizeof(resp) || !rnic_udata_clear(udata))
		return -EINVAL;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!ret)
		to_rnic_uctx(uctx)->memcg = mpa_memcg_get();
	return ret;
}

/**
 * rnic_query_ucontext() - verbs: query_ucontext
 * @uctx: context that another process imports
 * @attrs: room for %MPA_ATTR_QUERY_CONTEXT_FEATURES, if the caller wants these
 *
 * Return: 0; -EFAULT.
 */
int rnic_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs)
{
	u32 features = rnic_ucontext_features();
	int ret;

	ret = uverbs_copy_to(attrs, MPA_ATTR_QUERY_CONTEXT_FEATURES, &features,
			     sizeof(features));
	return IS_UVERBS_COPY_ERR(ret) ? ret : 0;
}

/**
 * rnic_dealloc_ucontext() - verbs: dealloc_ucontext
 * @uctx: its context
 *
 * The objects of the context are destroyed already. The core frees @uctx.
 */
void rnic_dealloc_ucontext(struct ib_ucontext *uctx)
{
	if (to_rnic_uctx(uctx)->bells)
		rnic_bells_put(to_rnic_uctx(uctx)->bells);
	mem_cgroup_put(to_rnic_uctx(uctx)->memcg);
}

/**
 * rnic_disassociate_ucontext() - verbs: disassociate_ucontext
 * @uctx: context of a process that has the device open
 *
 * Does nothing: mapped pages of rings live as long as the mapping, and the
 * mapping has no callback of this module. The operation must exist, so that the
 * core can remove or move a device without waiting for its users.
 */
void rnic_disassociate_ucontext(struct ib_ucontext *uctx)
{
}
