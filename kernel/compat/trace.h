/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in tracepoints.
 */
#ifndef MPA_COMPAT_TRACE_H
#define MPA_COMPAT_TRACE_H

/**
 * mpa_assign_str - store a string in an event, in TP_fast_assign()
 * @field: declared by __string()
 * @from: the string, as given to __string()
 */
#ifdef MPA_HAVE_ASSIGN_STR_ONE
#define mpa_assign_str(field, from) __assign_str(field)
#else
#define mpa_assign_str(field, from) __assign_str(field, from)
#endif

#endif /* MPA_COMPAT_TRACE_H */
