/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings shared with user space: memory, mapping, indices. */
#ifndef MPA_RNIC_RING_H
#define MPA_RNIC_RING_H

#include <rdma/ib_verbs.h>
#include <rdma/mpa-abi.h>

#include "ucontext.h"

/**
 * struct rnic_area - memory of rings that are mapped together
 * @mem: vmalloc() memory, of kernel consumers too; NULL: none
 * @len: bytes, page-aligned
 * @entry: the mmap entry, which owns the memory, or NULL with a kernel
 *	consumer
 * @uctx: the context it is counted for, or NULL with a kernel consumer
 * @kind: kind of object it is counted as
 */
struct rnic_area {
	void *mem;
	u32 len;
	struct rdma_user_mmap_entry *entry;
	struct rnic_ucontext *uctx;
	enum rnic_owned kind;
};

/**
 * struct rnic_ring - the kernel's view of a ring
 * @hdr: shared header, within an area
 * @entries: the first entry; %MPA_RING_HDR_LEN bytes after @hdr, unless a
 *	completion queue was resized
 * @size: entries, a power of two; changed only with the whole completion queue
 *	(the shared copy is never read)
 * @stride: bytes to an entry; constant
 */
struct rnic_ring {
	struct mpa_ring_hdr *hdr;
	void *entries;
	u32 size;
	u32 stride;
};

int rnic_area_create(struct rnic_area *area, enum rnic_owned kind,
		     struct ib_ucontext *uctx, u64 len);
void rnic_area_destroy(struct rnic_area *area);
u64 rnic_area_key(const struct rnic_area *area);
u64 rnic_ring_plan(struct rnic_ring *ring, u32 entries, u32 stride);
void rnic_ring_place(struct rnic_ring *ring, const struct rnic_area *area,
		     u64 offset);
int rnic_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void rnic_mmap_free(struct rdma_user_mmap_entry *entry);

/*
 * Memory cgroup to charge for allocations for the owner of @area; NULL: that of
 * current.
 */
static inline struct mem_cgroup *rnic_area_memcg(const struct rnic_area *area)
{
	return area->uctx ? area->uctx->memcg : NULL;
}

static inline void *rnic_ring_at(const struct rnic_ring *ring, u32 index)
{
	return ring->entries + (size_t)(index & (ring->size - 1)) * ring->stride;
}

/*
 * Copies @len bytes of an entry from byte @from on, both multiples of 8. Each
 * word is read once, even if its producer writes meanwhile. For so few words
 * memcpy() is slower.
 */
static inline void rnic_ring_fetch(const struct rnic_ring *ring, u32 index,
				   u32 from, void *to, u32 len)
{
	const u64 *entry = rnic_ring_at(ring, index) + from;
	u64 *word = to;
	u32 i;

	for (i = 0; i < len / sizeof(*word); i++)
		word[i] = READ_ONCE(entry[i]);
}

/*
 * Entries that the producer has published from @next on, at most the size of
 * the ring.
 */
static inline u32 rnic_ring_pending(const struct rnic_ring *ring, u32 next)
{
	/*
	 * Entries are read after the index. Pairs with mpa_ring_produce() of
	 * the provider, and with rnic_sq_post() and rnic_rqe_post().
	 */
	u32 n = smp_load_acquire(&ring->hdr->prod) - next;

	return min(n, ring->size);
}

#endif /* MPA_RNIC_RING_H */
