/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings shared with user space: memory, mapping, indices. */
#ifndef MPA_RNIC_RING_H
#define MPA_RNIC_RING_H

#include <linux/atomic.h>
#include <rdma/ib_verbs.h>
#include <rdma/mpa-abi.h>

struct mem_cgroup;

/* What a user's context has a number of, each bounded by a setting. */
enum mpa_owned {
	MPA_OWNED_QP,
	MPA_OWNED_CQ,
	MPA_OWNED_MR,
	MPA_OWNED_PD,
	MPA_OWNED_KINDS
};

/**
 * struct mpa_ucontext - a user's context
 * @ibuctx: what the core sees
 * @memcg: memory cgroup of the process that opened the device, with a reference, for
 *	what is allocated on its behalf elsewhere; NULL: there are none; constant
 * @owned: objects it has, by &enum mpa_owned
 * @ring_bytes: bytes of the rings among these
 */
struct mpa_ucontext {
	struct ib_ucontext ibuctx;
	struct mem_cgroup *memcg;
	atomic_t owned[MPA_OWNED_KINDS];
	atomic64_t ring_bytes;
};

/**
 * struct mpa_area - memory of rings that are mapped together
 * @mem: vmalloc() memory, of kernel consumers too; NULL: none
 * @len: bytes, page-aligned
 * @entry: the mmap entry, which owns the memory, or NULL with a kernel
 *	consumer
 * @uctx: the context that it counts for, or NULL with a kernel consumer
 * @kind: what it counts as there
 */
struct mpa_area {
	void *mem;
	u32 len;
	struct rdma_user_mmap_entry *entry;
	struct mpa_ucontext *uctx;
	enum mpa_owned kind;
};

/**
 * struct mpa_ring - the kernel's view of a ring
 * @hdr: shared header, within an area; entries start %MPA_RING_HDR_LEN bytes
 *	after it
 * @size: entries, a power of two; constant (the copy in user hands is
 *	never consulted)
 * @stride: bytes to an entry; constant
 */
struct mpa_ring {
	struct mpa_ring_hdr *hdr;
	u32 size;
	u32 stride;
};

int mpa_own(struct mpa_ucontext *uctx, enum mpa_owned kind);
void mpa_disown(struct mpa_ucontext *uctx, enum mpa_owned kind);
int mpa_area_create(struct mpa_area *area, enum mpa_owned kind,
		    struct ib_ucontext *uctx, u64 len);
void mpa_area_destroy(struct mpa_area *area);
u64 mpa_area_key(const struct mpa_area *area);
u64 mpa_ring_plan(struct mpa_ring *ring, u32 entries, u32 stride);
void mpa_ring_place(struct mpa_ring *ring, const struct mpa_area *area,
		    u64 offset);

/* Whom to charge for what is allocated for the owner of @area; NULL: whoever runs. */
static inline struct mem_cgroup *mpa_area_memcg(const struct mpa_area *area)
{
	return area->uctx ? area->uctx->memcg : NULL;
}

static inline void *mpa_ring_at(const struct mpa_ring *ring, u32 index)
{
	return (u8 *)ring->hdr + MPA_RING_HDR_LEN +
	       (size_t)(index & (ring->size - 1)) * ring->stride;
}

/*
 * Copies the first @len bytes of an entry, a multiple of 8. Each word is read
 * once, whatever its producer does meanwhile; of so few, memcpy() takes longer.
 */
static inline void mpa_ring_fetch(const struct mpa_ring *ring, u32 index,
				  void *to, u32 len)
{
	const u64 *entry = mpa_ring_at(ring, index);
	u64 *word = to;
	u32 i;

	for (i = 0; i < len / sizeof(*word); i++)
		word[i] = READ_ONCE(entry[i]);
}

/* Entries the producer has published beyond @next, bounded by the size. */
static inline u32 mpa_ring_pending(const struct mpa_ring *ring, u32 next)
{
	/* Pairs with the producer's store-release of prod. */
	u32 n = smp_load_acquire(&ring->hdr->prod) - next;

	return min(n, ring->size);
}

int mpa_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void mpa_mmap_free(struct rdma_user_mmap_entry *entry);
int mpa_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
void mpa_dealloc_ucontext(struct ib_ucontext *uctx);
void mpa_disassociate_ucontext(struct ib_ucontext *uctx);

#endif /* MPA_RNIC_RING_H */
