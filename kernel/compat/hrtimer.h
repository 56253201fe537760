/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in high-resolution timers.
 */
#ifndef MPA_COMPAT_HRTIMER_H
#define MPA_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>

#ifndef MPA_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* MPA_COMPAT_HRTIMER_H */
