// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures how often, and for how long, a module disables interrupts: between
 * an instruction in [from, to) that disables them and the one that enables them
 * again, since 0 was written to the parameters.
 *
 *	modprobe mpa_irqoff from=0xffffffffa0000000 to=0xffffffffa0010000
 *	cat /sys/module/mpa_irqoff/parameters/sections
 *
 * A virtual machine sometimes waits for its host: there the longest time says
 * little, and the number of sections is more useful, unless time counts
 * instructions.
 *
 * Needs a kernel that traces when interrupts are disabled and enabled
 * (CONFIG_TRACE_IRQFLAGS) and has one processor.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/tracepoint.h>

static ulong from;
module_param(from, ulong, 0444);
MODULE_PARM_DESC(from, "where the code begins");

static ulong to;
module_param(to, ulong, 0444);
MODULE_PARM_DESC(to, "where it ends");

static ulong longest;
module_param(longest, ulong, 0644);
MODULE_PARM_DESC(longest, "nanoseconds");

static ulong sections;
module_param(sections, ulong, 0644);
MODULE_PARM_DESC(sections, "how often they were off");

static ulong limit = 100;
module_param(limit, ulong, 0444);
MODULE_PARM_DESC(limit, "microseconds");

static ulong longer;
module_param(longer, ulong, 0644);
MODULE_PARM_DESC(longer, "how often they were off for more than the limit");

static ulong all;
module_param(all, ulong, 0444);
MODULE_PARM_DESC(all, "how often they were off since the module was loaded");

static ulong worst;
module_param(worst, ulong, 0444);
MODULE_PARM_DESC(worst, "longest time since the module was loaded, nanoseconds");

/*
 * Where interrupts were disabled, and the caller; and the same for the longest
 * time.
 */
static unsigned long went_at[2], worst_at[2];

/* 0: interrupts are enabled, or code outside of the range disabled them. */
static u64 since;

static struct tracepoint *off_point;
static struct tracepoint *on_point;

static bool of_module(unsigned long ip)
{
	return ip >= from && ip < to;
}

static void went_off(void *data, unsigned long ip, unsigned long parent)
{
	since = of_module(ip) || of_module(parent) ? ktime_get_mono_fast_ns() : 0;
	went_at[0] = ip;
	went_at[1] = parent;
}

static void went_on(void *data, unsigned long ip, unsigned long parent)
{
	ulong took;

	if (!since)
		return;
	took = ktime_get_mono_fast_ns() - since;
	since = 0;
	sections++;
	longest = max(longest, took);
	all++;
	if (took > worst) {
		worst = took;
		memcpy(worst_at, went_at, sizeof(worst_at));
	}
	if (took > limit * NSEC_PER_USEC)
		longer++;
}

static void find_point(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "irq_disable"))
		off_point = point;
	else if (!strcmp(point->name, "irq_enable"))
		on_point = point;
}

static int __init mpa_irqoff_init(void)
{
	int ret;

	for_each_kernel_tracepoint(find_point, NULL);
	if (!off_point || !on_point)
		return -EOPNOTSUPP;
	ret = tracepoint_probe_register(off_point, went_off, NULL);
	if (ret)
		return ret;
	ret = tracepoint_probe_register(on_point, went_on, NULL);
	if (ret)
		tracepoint_probe_unregister(off_point, went_off, NULL);
	return ret;
}
module_init(mpa_irqoff_init);

static void __exit mpa_irqoff_exit(void)
{
	tracepoint_probe_unregister(on_point, went_on, NULL);
	tracepoint_probe_unregister(off_point, went_off, NULL);
	tracepoint_synchronize_unregister();
	pr_info("interrupts were off %lu times, up to %lu ns: %pS, %pS\n", all, worst,
		(void *)worst_at[0], (void *)worst_at[1]);
}
module_exit(mpa_irqoff_exit);

MODULE_DESCRIPTION("Longest time with interrupts off");
MODULE_LICENSE("GPL");
