// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the speed of the kernel's CRC32c alone: the minimum cost of FPDU
 * CRCs. Runs once, when it is loaded:
 *
 *	modprobe mpa_crc_speed size=1440 mebi=256
 *	cat /sys/module/mpa_crc_speed/parameters/nanoseconds
 */
#include <linux/crc32c.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

static unsigned int size = 1440;
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "bytes per call, 1 to 1048576");

static unsigned int mebi = 256;
module_param(mebi, uint, 0444);
MODULE_PARM_DESC(mebi, "MiB in all, 1 to 65536");

static ulong nanoseconds;
module_param(nanoseconds, ulong, 0444);
MODULE_PARM_DESC(nanoseconds, "duration in nanoseconds");

static u32 result;
module_param(result, uint, 0444);
MODULE_PARM_DESC(result, "CRC of the last MiB, so that no work is optimized out");

/* One after the other, as FPDUs lie in a message. */
static u32 sum_mebi(const u8 *data)
{
	unsigned int at = 0, n;
	u32 sum = 0;

	for (; at < SZ_1M; at += n) {
		n = min_t(unsigned int, size, SZ_1M - at);
		sum ^= crc32c(~0, data + at, n);
	}
	return sum;
}

static int __init mpa_crc_speed_init(void)
{
	unsigned int i;
	ktime_t start;
	u8 *data;

	if (!size || size > SZ_1M || !mebi || mebi > SZ_64K)
		return -EINVAL;
	data = vmalloc(SZ_1M);
	if (!data)
		return -ENOMEM;
	for (i = 0; i < SZ_1M; i++)
		data[i] = i * 7;
	start = ktime_get();
	for (i = 0; i < mebi; i++) {
		result = sum_mebi(data);
		cond_resched();
	}
	nanoseconds = ktime_to_ns(ktime_sub(ktime_get(), start));
	vfree(data);
	return 0;
}
module_init(mpa_crc_speed_init);

static void __exit mpa_crc_speed_exit(void)
{
}
module_exit(mpa_crc_speed_exit);

MODULE_DESCRIPTION("Speed of CRC32c");
MODULE_LICENSE("GPL");
