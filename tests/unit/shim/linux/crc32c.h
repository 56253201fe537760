/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_LINUX_CRC32C_H
#define MPA_SHIM_LINUX_CRC32C_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C"
#endif
u32 crc32c(u32 crc, const void *p, unsigned int len);

#endif /* MPA_SHIM_LINUX_CRC32C_H */
