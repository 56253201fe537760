/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_ASM_UNALIGNED_H
#define MPA_SHIM_ASM_UNALIGNED_H

#include <string.h>
#include <asm/byteorder.h>

#define __shim_unaligned(bits, end)					\
static inline u##bits get_unaligned_##end##bits(const void *p)		\
{									\
	__##end##bits word;						\
									\
	memcpy(&word, p, sizeof(word));					\
	return __##end##bits##_to_cpu(word);				\
}									\
									\
static inline void put_unaligned_##end##bits(u##bits val, void *p)	\
{									\
	__##end##bits word = __cpu_to_##end##bits(val);			\
									\
	memcpy(p, &word, sizeof(word));					\
}

__shim_unaligned(16, be)
__shim_unaligned(32, be)
__shim_unaligned(64, be)
__shim_unaligned(16, le)
__shim_unaligned(32, le)
__shim_unaligned(64, le)

#undef __shim_unaligned

#endif /* MPA_SHIM_ASM_UNALIGNED_H */
