/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * get_unaligned() and put_unaligned() moved in 6.12.
 */
#ifndef MPA_COMPAT_UNALIGNED_H
#define MPA_COMPAT_UNALIGNED_H

#if __has_include("linux/unaligned.h")
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* MPA_COMPAT_UNALIGNED_H */
