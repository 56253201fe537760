/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings shared with user space: memory, mapping, indices. */
#ifndef MPA_RNIC_RING_H
#define MPA_RNIC_RING_H

#include <rdma/ib_verbs.h>
#include <rdma/mpa-abi.h>

/**
 * struct mpa_ring - the kernel's view of a ring
 * @hdr: shared header; entries start %MPA_RING_HDR_LEN octets after it;
 *	vmalloc_user() memory, of kernel consumers too
 * @size: entries, a power of two; constant (the copy in user hands is
 *	never consulted)
 * @stride: octets to an entry; constant
 * @len: octets of the whole mapping, page-aligned
 * @entry: the mmap entry, which owns the memory, or NULL for a kernel
 *	consumer's ring
 */
struct mpa_ring {
	struct mpa_ring_hdr *hdr;
	u32 size;
	u32 stride;
	u32 len;
	struct rdma_user_mmap_entry *entry;
};

int mpa_ring_create(struct mpa_ring *ring, struct ib_ucontext *uctx,
		    u32 entries, u32 stride);
void mpa_ring_destroy(struct mpa_ring *ring);
u64 mpa_ring_key(const struct mpa_ring *ring);

static inline void *mpa_ring_at(const struct mpa_ring *ring, u32 index)
{
	return (u8 *)ring->hdr + MPA_RING_HDR_LEN +
	       (size_t)(index & (ring->size - 1)) * ring->stride;
}

/* Entries the producer has published beyond @next, bounded by the size. */
static inline u32 mpa_ring_pending(const struct mpa_ring *ring, u32 next)
{
	/* Pairs with the producer's store-release of prod. */
	u32 n = smp_load_acquire(&ring->hdr->prod) - next;

	return min(n, ring->size);
}

/**
 * struct mpa_ucontext - a user's context
 * @ibuctx: what the core sees
 */
struct mpa_ucontext {
	struct ib_ucontext ibuctx;
};

int mpa_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void mpa_mmap_free(struct rdma_user_mmap_entry *entry);
int mpa_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
void mpa_dealloc_ucontext(struct ib_ucontext *uctx);
void mpa_disassociate_ucontext(struct ib_ucontext *uctx);

#endif /* MPA_RNIC_RING_H */
