/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_LINUX_BUILD_BUG_H
#define MPA_SHIM_LINUX_BUILD_BUG_H

#ifndef __cplusplus
#define __shim_assert(expr, msg, ...)	_Static_assert(expr, msg)
#undef static_assert
#define static_assert(expr, ...) \
	__shim_assert(expr, ##__VA_ARGS__, #expr)
#define BUILD_BUG_ON(cond)		_Static_assert(!(cond), #cond)
#endif

#endif /* MPA_SHIM_LINUX_BUILD_BUG_H */
