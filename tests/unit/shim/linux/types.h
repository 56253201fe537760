/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types for the pure sources in user space. Programs find this
 * header before the system's of the same name, whose contents it completes.
 */
#ifndef MPA_SHIM_LINUX_TYPES_H
#define MPA_SHIM_LINUX_TYPES_H

#include_next <linux/types.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#include <linux/compiler.h>

#endif /* MPA_SHIM_LINUX_TYPES_H */
