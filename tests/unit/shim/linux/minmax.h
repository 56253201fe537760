/* SPDX-License-Identifier: GPL-2.0-only */
/*
  * Like those of the kernel: each operand is evaluated once. Only the kernel
 * build checks that operands agree in signedness.
 */
#ifndef MPA_SHIM_LINUX_MINMAX_H
#define MPA_SHIM_LINUX_MINMAX_H

#ifndef __cplusplus
#define __shim_pick(x, y, op) ({			\
	__typeof__(x) _shim_x = (x);			\
	__typeof__(y) _shim_y = (y);			\
	_shim_x op _shim_y ? _shim_x : _shim_y; })
#define __shim_pick_t(type, x, y, op) ({		\
	type _shim_tx = (x);				\
	type _shim_ty = (y);				\
	_shim_tx op _shim_ty ? _shim_tx : _shim_ty; })

#define min(x, y)		__shim_pick(x, y, <)
#define max(x, y)		__shim_pick(x, y, >)
#define min_t(type, x, y)	__shim_pick_t(type, x, y, <)
#define max_t(type, x, y)	__shim_pick_t(type, x, y, >)
#define min3(x, y, z) ({				\
	__typeof__(x) _shim_m = min(x, y);		\
	min(_shim_m, z); })
#define clamp_t(type, val, lo, hi) ({			\
	type _shim_v = (val);				\
	type _shim_lo = (lo);				\
	type _shim_hi = (hi);				\
	_shim_v < _shim_lo ? _shim_lo :			\
	_shim_v > _shim_hi ? _shim_hi : _shim_v; })
#define clamp(val, lo, hi)	clamp_t(__typeof__(val), val, lo, hi)
#endif

#endif /* MPA_SHIM_LINUX_MINMAX_H */
