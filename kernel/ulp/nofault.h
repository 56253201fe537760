/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of an application's memory that fail rather than sleep. */
#ifndef MPA_ULP_NOFAULT_H
#define MPA_ULP_NOFAULT_H

#include <linux/kcsan-checks.h>
#include <linux/uaccess.h>

/*
 * The kernel counts in current->pagefault_disabled, with plain accesses. An interrupt
 * of the same processor counts there too, with kmap_atomic(), and counts back before
 * it returns: an interrupted increment or decrement still has the right result. No
 * other processor writes there. KCSAN reports that in strict mode, in whichever
 * function the task's access is inlined.
 */

/**
 * mpa_nofault_begin - page faults are errors from here on
 */
static inline void mpa_nofault_begin(void)
{
	kcsan_disable_current();
	pagefault_disable();
	kcsan_enable_current();
}

/**
 * mpa_nofault_end - ends what mpa_nofault_begin() began
 */
static inline void mpa_nofault_end(void)
{
	kcsan_disable_current();
	pagefault_enable();
	kcsan_enable_current();
}

#endif /* MPA_ULP_NOFAULT_H */
