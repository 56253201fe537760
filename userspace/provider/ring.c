// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Mapping of the rings that the kernel offers.
 */
#include <errno.h>
#include <sys/mman.h>

#include "mpa.h"

/**
 * mpa_ring_map() - map a ring
 * @ring: filled in
 * @fd: command file of the open device
 * @key: mmap() offset
 * @entries: number of entries; 0 maps nothing and makes a ring without room
 * @stride: octets to an entry
 * @least_stride: octets that an entry must have
 * @len: octets to map
 *
 * Return: 0, or a positive errno. The ring can be unmapped in either case.
 */
int mpa_ring_map(struct mpa_ring *ring, int fd, uint64_t key, uint32_t entries,
		 uint32_t stride, uint32_t least_stride, uint32_t len)
{
	void *base;

	*ring = (struct mpa_ring){ .stride = stride };
	if (!entries)
		return 0;
	if (!mpa_ring_fits(entries, stride, least_stride, len))
		return EPROTO;

	base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)key);
	if (base == MAP_FAILED)
		return errno;

	ring->hdr = base;
	ring->slots = (uint8_t *)base + MPA_RING_HDR_LEN;
	ring->entries = entries;
	ring->len = len;
	return 0;
}

/**
 * mpa_ring_unmap() - undo mpa_ring_map()
 * @ring: mapped, or all zeros
 */
void mpa_ring_unmap(struct mpa_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->len);
	*ring = (struct mpa_ring){ 0 };
}
