/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_LINUX_KERNEL_H
#define MPA_SHIM_LINUX_KERNEL_H

#include_next <linux/kernel.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define __shim_mask(x, a)	((__typeof__(x))(a) - 1)
#define ALIGN(x, a)		(((x) + __shim_mask(x, a)) & ~__shim_mask(x, a))
#define ALIGN_DOWN(x, a)	((x) & ~__shim_mask(x, a))
#define PTR_ALIGN_DOWN(p, a)	((__typeof__(p))ALIGN_DOWN((unsigned long)(p), (a)))
#define IS_ALIGNED(x, a)	(((x) & __shim_mask(x, a)) == 0)
#define ARRAY_SIZE(arr)		(sizeof(arr) / sizeof((arr)[0]))
#ifndef DIV_ROUND_UP
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#endif

#endif /* MPA_SHIM_LINUX_KERNEL_H */
