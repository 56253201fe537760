/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in exported symbols.
 */
#ifndef MPA_COMPAT_EXPORT_H
#define MPA_COMPAT_EXPORT_H

#include <linux/export.h>

/* The namespace of what mpa.ko exports: a string, or before 6.13 a bare word. */
#ifdef MPA_HAVE_NS_STRING
#define MPA_NS "MPA"
#else
#define MPA_NS MPA
#endif

#endif /* MPA_COMPAT_EXPORT_H */
