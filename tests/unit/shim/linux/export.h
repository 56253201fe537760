/* SPDX-License-Identifier: GPL-2.0-only */
/* In user space exported symbols need no declaration. */
#ifndef MPA_SHIM_LINUX_EXPORT_H
#define MPA_SHIM_LINUX_EXPORT_H

#define EXPORT_SYMBOL_NS_GPL(sym, ns)	_Static_assert(sizeof(&(sym)), #sym)

#endif /* MPA_SHIM_LINUX_EXPORT_H */
