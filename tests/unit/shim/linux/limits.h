/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_LINUX_LIMITS_H
#define MPA_SHIM_LINUX_LIMITS_H

#include_next <linux/limits.h>
#include <stdint.h>

#define U8_MAX		UINT8_MAX
#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX

#endif /* MPA_SHIM_LINUX_LIMITS_H */
