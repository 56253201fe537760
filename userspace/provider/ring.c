// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Mapping of the rings that the kernel offers.
 */
#include <errno.h>
#include <sys/mman.h>

#include "mpa.h"

static int area_mmap(struct mpa_area *area, size_t len, int prot, int flags,
		     int fd, uint64_t key)
{
	void *base = mmap(area->base, len, prot, flags, fd, (off_t)key);

	if (base == MAP_FAILED)
		return errno;
	area->base = base;
	area->len = len;
	return 0;
}

/**
 * mpa_area_reserve() - take addresses for memory that is mapped later
 * @area: filled in; all zeros if it fails
 * @len: bytes
 *
 * mpa_area_map() then needs nothing that a process can run out of.
 *
 * Return: 0, or a positive errno.
 */
int mpa_area_reserve(struct mpa_area *area, size_t len)
{
	*area = (struct mpa_area){ 0 };
	return area_mmap(area, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/**
 * mpa_area_map() - map the memory of rings
 * @area: reserved, or all zeros; filled in
 * @fd: command file of the open device
 * @key: mmap() offset
 * @len: bytes to map; of a reserved area, as many as are reserved
 *
 * Return: 0, or a positive errno; %EPROTO if @len differs from what is reserved.
 * The area can be unmapped in either case.
 */
int mpa_area_map(struct mpa_area *area, int fd, uint64_t key, uint32_t len)
{
	int fixed = area->base ? MAP_FIXED : 0;
	int ret;

	if (fixed && area->len != len)
		return EPROTO;
	ret = area_mmap(area, len, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd,
			key);
	/* What was reserved may have gone, and belong to another thread. */
	if (ret)
		*area = (struct mpa_area){ 0 };
	return ret;
}

/**
 * mpa_area_unmap() - undo mpa_area_map()
 * @area: mapped, or all zeros
 */
void mpa_area_unmap(struct mpa_area *area)
{
	if (area->base)
		munmap(area->base, area->len);
	*area = (struct mpa_area){ 0 };
}

/**
 * mpa_ring_plan() - take over the geometry of a ring, and check it
 * @ring: filled in, except for its address
 * @entries: number of entries; 0 makes an empty ring
 * @stride: bytes to an entry
 * @least_stride: bytes that an entry must have
 * @len: bytes there are for the whole ring
 *
 * Return: 0 or EPROTO.
 */
int mpa_ring_plan(struct mpa_ring *ring, uint32_t entries, uint32_t stride,
		  uint32_t least_stride, uint32_t len)
{
	*ring = (struct mpa_ring){ .stride = stride };
	if (!entries)
		return 0;
	if (!mpa_ring_fits(entries, stride, least_stride, len))
		return EPROTO;
	ring->entries = entries;
	return 0;
}

/**
 * mpa_ring_place() - set the address of a ring
 * @ring: from mpa_ring_plan()
 * @area: mapped
 * @offset: bytes from its beginning
 */
void mpa_ring_place(struct mpa_ring *ring, const struct mpa_area *area,
		    uint32_t offset)
{
	uint8_t *base = (uint8_t *)area->base + offset;

	if (!ring->entries)
		return;
	ring->hdr = (struct mpa_ring_hdr *)base;
	ring->slots = base + MPA_RING_HDR_LEN;
}
