/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_LINUX_CACHE_H
#define MPA_SHIM_LINUX_CACHE_H

#define L1_CACHE_BYTES		64

#endif /* MPA_SHIM_LINUX_CACHE_H */
