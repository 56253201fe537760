/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_LINUX_BITS_H
#define MPA_SHIM_LINUX_BITS_H

#define BIT(nr)		(1UL << (nr))
#define GENMASK(h, l)	((~0UL >> (8 * sizeof(long) - 1 - (h))) & (~0UL << (l)))

#endif /* MPA_SHIM_LINUX_BITS_H */
