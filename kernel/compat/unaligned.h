/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * get_unaligned() and put_unaligned() moved in 6.12.
 */
#ifndef MPA_COMPAT_UNALIGNED_H
#define MPA_COMPAT_UNALIGNED_H

#ifdef MPA_HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* MPA_COMPAT_UNALIGNED_H */
