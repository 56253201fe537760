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
	 * How far ahead of the copy payload is prefetched, bytes: about six
	 * packets of the usual MTU, which is enough time for memory to answer
	 * and leaves most of a first-level cache unused.
	 */
	MPA_PREFETCH_BYTES	= 8192,
	/*
	 * Up to so many bytes, prefetching costs more than it saves if they are in
	 * a cache, and gains nothing measurable if not (Reads and Writes of 4 KiB).
	 */
	MPA_PREFETCH_FEW	= 4096,
};

/**
 * mpa_copy - copy payload
 * @to: destination
 * @from: source; must not overlap @to
 * @len: bytes to copy
 *
 * Where the memcpy() of x86 is not a string instruction, as in User Mode Linux,
 * it copies backwards for half of all addresses, which takes up to twice as
 * long for data that is not cached. memmove() copies forward in that case and
 * is equivalent otherwise.
 */
static inline void mpa_copy(void *to, const void *from, u32 len)
{
	memmove(to, from, len);
}

/**
 * mpa_prefetch_read - prefetch memory that will be copied from soon
 * @p: first byte
 * @len: number of bytes
 *
 * Payload is spread over pages and is copied in pieces of FPDUs, so that the
 * processor's own prefetcher does not recognize what comes next. Prefetching
 * memory that is not used afterwards only costs time.
 */
static inline void mpa_prefetch_read(const void *p, u32 len)
{
	const void *line = PTR_ALIGN_DOWN(p, L1_CACHE_BYTES);

	for (; line < p + len; line += L1_CACHE_BYTES)
		prefetch(line);
}

/**
 * mpa_prefetch_write - prefetch memory that will be copied to soon
 * @p: first byte
 * @len: number of bytes
 *
 * See mpa_prefetch_read().
 */
static inline void mpa_prefetch_write(void *p, u32 len)
{
	void *line = PTR_ALIGN_DOWN(p, L1_CACHE_BYTES);

	for (; line < p + len; line += L1_CACHE_BYTES)
		prefetchw(line);
}

#endif /* MPA_FRAMING_COPY_H */
