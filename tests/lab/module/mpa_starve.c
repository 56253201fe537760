// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets senders find no memory for a batch, or queues of RDMA Reads none to grow, while
 * that is switched on:
 *
 *	modprobe mpa_starve
 *	echo 1 > /sys/module/mpa_starve/parameters/on
 *	cat /sys/module/mpa_starve/parameters/attempts
 *
 * mpa_tx_begin() returns -ENOMEM then, and attempts counts the calls. With reads in
 * place of on, rnic_reads_grow_out() and rnic_reads_grow_in() return false, and
 * reads_attempts counts these.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>

struct mpa_conn;
struct mem_cgroup;
struct rnic_reads;

static bool on;
module_param(on, bool, 0644);
MODULE_PARM_DESC(on, "let senders find no memory");

static atomic_t attempts;
module_param_named(attempts, attempts.counter, int, 0644);
MODULE_PARM_DESC(attempts, "calls that found no memory");

static bool reads;
module_param(reads, bool, 0644);
MODULE_PARM_DESC(reads, "let queues of Reads find no memory");

/* Of local Reads, and of the peer's. */
static int reads_attempts[2];
module_param_array(reads_attempts, int, NULL, 0444);
MODULE_PARM_DESC(reads_attempts, "calls of each queue that found no memory");

static int starved_begin(struct mpa_conn *conn)
{
	atomic_inc(&attempts);
	return -ENOMEM;
}

static int divert_begin(struct kprobe *p, struct pt_regs *regs)
{
	if (!READ_ONCE(on))
		return 0;
	instruction_pointer_set(regs, (unsigned long)starved_begin);
	return 1;
}

static bool starved_grow_out(struct rnic_reads *r, struct mem_cgroup *memcg)
{
	WRITE_ONCE(reads_attempts[0], READ_ONCE(reads_attempts[0]) + 1);
	return false;
}

static bool starved_grow_in(struct rnic_reads *r, struct mem_cgroup *memcg)
{
	WRITE_ONCE(reads_attempts[1], READ_ONCE(reads_attempts[1]) + 1);
	return false;
}

static int divert_grow_out(struct kprobe *p, struct pt_regs *regs)
{
	if (!READ_ONCE(reads))
		return 0;
	instruction_pointer_set(regs, (unsigned long)starved_grow_out);
	return 1;
}

static int divert_grow_in(struct kprobe *p, struct pt_regs *regs)
{
	if (!READ_ONCE(reads))
		return 0;
	instruction_pointer_set(regs, (unsigned long)starved_grow_in);
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

static struct kprobe begin_probe = {
	.symbol_name	= "mpa_tx_begin",
	.pre_handler	= divert_begin,
	.post_handler	= divert_post,
};

static struct kprobe grow_out_probe = {
	.symbol_name	= "rnic_reads_grow_out",
	.pre_handler	= divert_grow_out,
	.post_handler	= divert_post,
};

static struct kprobe grow_in_probe = {
	.symbol_name	= "rnic_reads_grow_in",
	.pre_handler	= divert_grow_in,
	.post_handler	= divert_post,
};

static struct kprobe *probes[] = { &begin_probe, &grow_out_probe, &grow_in_probe };

static int __init mpa_starve_init(void)
{
	return register_kprobes(probes, ARRAY_SIZE(probes));
}
module_init(mpa_starve_init);

/*
 * A thread that is about to return from this module's code needs a moment for
 * it.
 */
static void __exit mpa_starve_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	synchronize_rcu_tasks();
}
module_exit(mpa_starve_exit);

MODULE_DESCRIPTION("Senders and queues without memory");
MODULE_LICENSE("GPL");
