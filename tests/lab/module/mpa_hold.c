// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delays one sender that has located its payload and not copied it yet:
 *
 *	modprobe mpa_hold
 *	echo 1 > /sys/module/mpa_hold/parameters/armed
 *	cat /sys/module/mpa_hold/parameters/held
 *	echo 1 > /sys/module/mpa_hold/parameters/pass
 *
 * The next sender with 32 bytes of payload or more sleeps at the entry of
 * mpa_tx_add() or mpa_tx_add_series() until "pass" is written. Senders in
 * softirqs, and those that hold a lock against softirqs, are not delayed. With 2
 * instead of 1 it is the next that is about to lock the region of a kernel consumer.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/uio.h>

enum {
	HOLD_BYTES	= 32,
	HOLD_SECONDS	= 60,
};

/* Values of "armed". */
enum {
	HOLD_COPY	= 1,
	HOLD_LOCK	= 2,
};

struct mpa_conn;
struct rnic_mr;

typedef int (*add_fn)(struct mpa_conn *conn, const void *hdr, u32 hdr_len,
		      const struct kvec *payload, unsigned int nr,
		      u32 payload_len, bool stable);
typedef unsigned int (*series_fn)(struct mpa_conn *conn, u8 *hdr, u32 hdr_len,
				 const struct kvec *payload, u32 *len);
typedef bool (*lock_fn)(struct rnic_mr *mr, u32 epoch);

static atomic_t armed;
module_param_named(armed, armed.counter, int, 0644);
MODULE_PARM_DESC(armed, "1: delay the next sender; 2: before it locks a region");

static atomic_t held;
module_param_named(held, held.counter, int, 0444);
MODULE_PARM_DESC(held, "1: a sender is delayed");

static int pass;
module_param(pass, int, 0644);
MODULE_PARM_DESC(pass, "1: the delayed sender may continue");

/* Calls that execute code of this module. */
static atomic_t inside;

static void hold(void)
{
	unsigned int tries = HOLD_SECONDS * 50;

	atomic_set(&held, 1);
	while (!READ_ONCE(pass) && tries--)
		msleep(20);
	WRITE_ONCE(pass, 0);
	atomic_set(&held, 0);
}

static struct kprobe add_probe, series_probe, lock_probe;

static int held_add(struct mpa_conn *conn, const void *hdr, u32 hdr_len,
		    const struct kvec *payload, unsigned int nr,
		    u32 payload_len, bool stable)
{
	int ret;

	hold();
	ret = ((add_fn)add_probe.addr)(conn, hdr, hdr_len, payload, nr,
				       payload_len, stable);
	atomic_dec(&inside);
	return ret;
}

static unsigned int held_series(struct mpa_conn *conn, u8 *hdr, u32 hdr_len,
				const struct kvec *payload, u32 *len)
{
	unsigned int ret;

	hold();
	ret = ((series_fn)series_probe.addr)(conn, hdr, hdr_len, payload, len);
	atomic_dec(&inside);
	return ret;
}

static bool held_lock(struct rnic_mr *mr, u32 epoch)
{
	bool ret;

	hold();
	ret = ((lock_fn)lock_probe.addr)(mr, epoch);
	atomic_dec(&inside);
	return ret;
}

static int divert(struct pt_regs *regs, int what, void *to)
{
	/*
	 * Neither softirqs nor who has switched them off can sleep. This handler
	 * itself does not count.
	 */
	if (softirq_count() || atomic_cmpxchg(&armed, what, 0) != what)
		return 0;
	atomic_inc(&inside);
	instruction_pointer_set(regs, (unsigned long)to);
	return 1;
}

static int divert_add(struct kprobe *p, struct pt_regs *regs)
{
	u32 bytes = regs_get_kernel_argument(regs, 5);

	return bytes < HOLD_BYTES ? 0 : divert(regs, HOLD_COPY, held_add);
}

static int divert_series(struct kprobe *p, struct pt_regs *regs)
{
	u32 *len = (u32 *)regs_get_kernel_argument(regs, 4);

	return *len < HOLD_BYTES ? 0 : divert(regs, HOLD_COPY, held_series);
}

static int divert_lock(struct kprobe *p, struct pt_regs *regs)
{
	return divert(regs, HOLD_LOCK, held_lock);
}

/*
 * A probe with a post handler is never optimized into a jump, which could not
 * be diverted.
 */
static void divert_post(struct kprobe *p, struct pt_regs *regs,
			unsigned long flags)
{
}

static struct kprobe add_probe = {
	.symbol_name	= "mpa_tx_add",
	.pre_handler	= divert_add,
	.post_handler	= divert_post,
};

static struct kprobe series_probe = {
	.symbol_name	= "mpa_tx_add_series",
	.pre_handler	= divert_series,
	.post_handler	= divert_post,
};

static struct kprobe lock_probe = {
	.symbol_name	= "rnic_mr_lock_granted",
	.pre_handler	= divert_lock,
	.post_handler	= divert_post,
};

static struct kprobe *probes[] = { &add_probe, &series_probe, &lock_probe };

static int __init mpa_hold_init(void)
{
	return register_kprobes(probes, ARRAY_SIZE(probes));
}

/*
 * A thread that is about to return from this module's code needs a moment for
 * it.
 */
static void __exit mpa_hold_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	WRITE_ONCE(pass, 1);
	while (atomic_read(&inside))
		msleep(20);
	synchronize_rcu_tasks();
}

module_init(mpa_hold_init);
module_exit(mpa_hold_exit);

MODULE_DESCRIPTION("Delays a sender of MPA before it copies");
MODULE_LICENSE("GPL");
