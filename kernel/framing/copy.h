/* SPDX-License-Identifier: GPL-2.0-only */
/* Copying payload, in either direction. */
#ifndef MPA_FRAMING_COPY_H
#define MPA_FRAMING_COPY_H

#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/prefetch.h>
#include <linux/string.h>
#include <linux/types.h>

enum {
	/*
	 * Bytes from where payload is copied to what is fetched meanwhile. It
	 * gives memory the time of some six packets of the usual MTU to answer, and
	 * leaves most of a first-level cache to others.
	 */
	MPA_AHEAD	= 8192,
};

/**
 * mpa_copy - copy payload from one place to another, which do not overlap
 * @to: where to
 * @from: where from
 * @len: how many bytes
 *
 * Where memcpy() of x86 is no string instruction, as in User Mode Linux, it goes
 * backwards for half of all addresses, which takes up to twice as long for what
 * the cache has not. memmove() goes forward then, and else is the same.
 */
static inline void mpa_copy(void *to, const void *from, u32 len)
{
	memmove(to, from, len);
}

/**
 * mpa_will_read - have memory fetched that will be copied from soon
 * @p: the first byte
 * @len: how many
 *
 * Payload lies in pages all over memory and is copied in pieces of FPDUs, which
 * keeps a processor from finding out by itself what comes next. A wrong guess
 * costs time and nothing else.
 */
static inline void mpa_will_read(const void *p, u32 len)
{
	const void *line = PTR_ALIGN_DOWN(p, L1_CACHE_BYTES);

	for (; line < p + len; line += L1_CACHE_BYTES)
		prefetch(line);
}

/**
 * mpa_will_write - have memory fetched that will be copied to soon
 * @p: the first byte
 * @len: how many
 *
 * See mpa_will_read().
 */
static inline void mpa_will_write(void *p, u32 len)
{
	void *line = PTR_ALIGN_DOWN(p, L1_CACHE_BYTES);

	for (; line < p + len; line += L1_CACHE_BYTES)
		prefetchw(line);
}

#endif /* MPA_FRAMING_COPY_H */
