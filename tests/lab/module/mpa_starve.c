// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets senders find no memory for a batch while it is switched on:
 *
 *	modprobe mpa_starve
 *	echo 1 > /sys/module/mpa_starve/parameters/on
 *	cat /sys/module/mpa_starve/parameters/attempts
 *
 * mpa_tx_begin() returns -ENOMEM then, and attempts counts the calls.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/module.h>

struct mpa_conn;

static bool on;
module_param(on, bool, 0644);
MODULE_PARM_DESC(on, "let senders find no memory");

static atomic_t attempts;
module_param_named(attempts, attempts.counter, int, 0644);
MODULE_PARM_DESC(attempts, "calls that found no memory");

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

static int __init mpa_starve_init(void)
{
	return register_kprobe(&begin_probe);
}
module_init(mpa_starve_init);

/*
 * A thread that is about to return from this module's code needs a moment for
 * it.
 */
static void __exit mpa_starve_exit(void)
{
	unregister_kprobe(&begin_probe);
	synchronize_rcu_tasks();
}
module_exit(mpa_starve_exit);

MODULE_DESCRIPTION("Senders without memory");
MODULE_LICENSE("GPL");
