/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in workqueues.
 */
#ifndef MPA_COMPAT_WORKQUEUE_H
#define MPA_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>

/* Work runs on the processor that queued it; before 6.17 the default. */
#ifdef MPA_HAVE_WQ_PERCPU
#define MPA_WQ_PERCPU	WQ_PERCPU
#else
#define MPA_WQ_PERCPU	0
#endif

#endif /* MPA_COMPAT_WORKQUEUE_H */
