// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delays each caller that releases a reference to an address of an RDMA device,
 * as a busy machine sometimes does:
 *
 *	modprobe mpa_stall milliseconds=500
 *
 * The thread is busy meanwhile: it can be preempted and does not sleep.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <rdma/ib_cache.h>

static unsigned int milliseconds = 500;
module_param(milliseconds, uint, 0444);
MODULE_PARM_DESC(milliseconds, "delay of each call, 1 to 10000");

static atomic_t stalls;
module_param_named(stalls, stalls.counter, int, 0444);
MODULE_PARM_DESC(stalls, "calls delayed so far");

/* Calls that have been delayed and may pass. */
static atomic_t passes;
/* Delayed calls, which execute code of this module. */
static atomic_t inside;

static void stalled_put(const struct ib_gid_attr *attr)
{
	unsigned long end = jiffies + msecs_to_jiffies(milliseconds);

	while (time_before(jiffies, end))
		cpu_relax();
	atomic_inc(&stalls);
	atomic_inc(&passes);
	rdma_put_gid_attr(attr);
	atomic_dec(&inside);
}

static int divert(struct kprobe *p, struct pt_regs *regs)
{
	if (atomic_dec_if_positive(&passes) >= 0)
		return 0;
	atomic_inc(&inside);
	instruction_pointer_set(regs, (unsigned long)stalled_put);
	return 1;
}

/*
 * A probe with a post handler is never optimized into a jump, which could not
 * be diverted.
 */
static void divert_post(struct kprobe *p, struct pt_regs *regs,
			unsigned long flags)
{
}

static struct kprobe probe = {
	.symbol_name	= "rdma_put_gid_attr",
	.pre_handler	= divert,
	.post_handler	= divert_post,
};

static int __init mpa_stall_init(void)
{
	if (!milliseconds || milliseconds > 10000)
		return -EINVAL;
	return register_kprobe(&probe);
}

/*
 * Threads that are about to return from this module's code need a moment for
 * it.
 */
static void __exit mpa_stall_exit(void)
{
	unregister_kprobe(&probe);
	while (atomic_read(&inside))
		msleep(20);
	synchronize_rcu_tasks();
}

module_init(mpa_stall_init);
module_exit(mpa_stall_exit);

MODULE_DESCRIPTION("Delays callers of rdma_put_gid_attr()");
MODULE_LICENSE("GPL");
