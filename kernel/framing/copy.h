/* SPDX-License-Identifier: GPL-2.0-only */
/* Copying payload, in either direction. */
#ifndef MPA_FRAMING_COPY_H
#define MPA_FRAMING_COPY_H

#include <linux/string.h>
#include <linux/types.h>

/**
 * mpa_copy - copy payload from one place to another, which do not overlap
 * @to: where to
 * @from: where from
 * @len: how many octets
 *
 * Where memcpy() of x86 is no string instruction, as in User Mode Linux, it goes
 * backwards for half of all addresses, which takes up to twice as long for what
 * the cache has not. memmove() goes forward then, and else is the same.
 */
static inline void mpa_copy(void *to, const void *from, u32 len)
{
	memmove(to, from, len);
}

#endif /* MPA_FRAMING_COPY_H */
