// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings that the kernel shares with a process.
 *
 * The memory of a user's rings belongs to its mmap entry, which the core keeps
 * as long as a mapping exists. Mapped pages have a reference each and may
 * outlive the device: a process that reads the ring of a removed device sees
 * its last state.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"
#include "ring.h"
#include "ucontext.h"

/* Programs of 32 bits share this with a kernel of 64. */
static_assert(offsetof(struct mpa_ring_hdr, cons) == 64);
static_assert(sizeof(struct mpa_sge) == 16);
static_assert(sizeof(struct mpa_sqe) == 32);
static_assert(sizeof(struct mpa_rqe) == 16);
static_assert(sizeof(struct mpa_cqe) == 32);
static_assert(sizeof(struct mpa_cqe_timed) == 40);
static_assert(sizeof(struct mpa_atomic) == 24);
static_assert(sizeof(struct mpa_alloc_ucontext_resp) == 8);
static_assert(sizeof(struct mpa_create_cq_resp) == 16);
static_assert(sizeof(struct mpa_create_qp_resp) == 48);
static_assert(sizeof(struct mpa_create_srq_resp) == 24);
static_assert(sizeof(struct mpa_reg_mr_resp) == 8);

/**
 * struct rnic_mmap_entry - the memory of a user's rings
 * @rdma: the core's part
 * @mem: the memory, vmalloc(); freed with the entry
 */
struct rnic_mmap_entry {
	struct rdma_user_mmap_entry rdma;
	void *mem;
};

static struct rnic_mmap_entry *to_rnic_entry(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct rnic_mmap_entry, rdma);
}

static int rnic_area_own(struct rnic_area *area)
{
	int ret;

	if (!area->uctx)
		return 0;
	ret = rnic_ucontext_own(area->uctx, area->kind);
	if (ret)
		return ret;
	ret = rnic_ucontext_own_bytes(area->uctx, area->len);
	if (ret)
		rnic_ucontext_disown(area->uctx, area->kind);
	return ret;
}

static void rnic_area_disown(const struct rnic_area *area)
{
	if (!area->uctx)
		return;
	atomic64_sub(area->len, &area->uctx->ring_bytes);
	rnic_ucontext_disown(area->uctx, area->kind);
}

static struct rdma_user_mmap_entry *rnic_mmap_entry_create(struct ib_ucontext *uctx,
							   void *mem, u32 len)
{
	struct rnic_mmap_entry *entry;
	int ret;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return ERR_PTR(-ENOMEM);
	entry->mem = mem;
	ret = rdma_user_mmap_entry_insert(uctx, &entry->rdma, len);
	if (ret) {
		kfree(entry);
		return ERR_PTR(ret);
	}
	return &entry->rdma;
}

static int rnic_area_alloc(struct rnic_area *area)
{
	int ret;

	/*
	 * vmalloc_user() charges no memory cgroup. A request of a user must not
	 * cause a warning, nor wake the OOM killer.
	 */
	area->mem = __vmalloc(area->len, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					 __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!area->mem)
		return -ENOMEM;
	if (!area->uctx)
		return 0;
	area->entry = rnic_mmap_entry_create(&area->uctx->ibuctx, area->mem, area->len);
	if (!IS_ERR(area->entry))
		return 0;
	ret = PTR_ERR(area->entry);
	vfree(area->mem);
	return ret;
}

/**
 * rnic_area_create() - make memory for rings, zeroed
 * @area: to be set up; zeroed if it fails
 * @kind: kind of the object that the rings belong to; counted for the context
 * @uctx: context that will map it; NULL for kernel consumers
 * @len: bytes, rounded up to pages
 *
 * Process context. Charged to the memory cgroup of the caller.
 *
 * Return: 0; -EINVAL: too long for a mapping; -ENOMEM: no memory, or the
 * context has reached a limit.
 */
int rnic_area_create(struct rnic_area *area, enum rnic_owned kind,
		     struct ib_ucontext *uctx, u64 len)
{
	int ret;

	*area = (struct rnic_area){};
	len = PAGE_ALIGN(len);
	if (len > INT_MAX)
		return -EINVAL;
	area->len = len;
	area->kind = kind;
	area->uctx = uctx ? to_rnic_uctx(uctx) : NULL;
	ret = rnic_area_own(area);
	if (ret)
		goto err_zero;
	ret = rnic_area_alloc(area);
	if (!ret)
		return 0;
	rnic_area_disown(area);
err_zero:
	*area = (struct rnic_area){};
	return ret;
}

/**
 * rnic_area_destroy() - free the memory of rings
 * @area: the memory, or a zeroed one
 *
 * The rings must not be used any more. The memory is freed with its last
 * mapping. Process context.
 */
void rnic_area_destroy(struct rnic_area *area)
{
	if (!area->mem)
		return;
	rnic_area_disown(area);
	if (area->entry)
		rdma_user_mmap_entry_remove(area->entry);
	else
		vfree(area->mem);
	*area = (struct rnic_area){};
}

/**
 * rnic_area_key() - offset at which a user maps its rings
 * @area: the memory, made with a user context
 *
 * Return: the offset for mmap().
 */
u64 rnic_area_key(const struct rnic_area *area)
{
	return rdma_user_mmap_get_offset(area->entry);
}

/**
 * rnic_ring_plan() - compute size and stride of a ring
 * @ring: size and stride are set
 * @entries: number of entries, 1 to 2^20; rounded up to a power of two
 * @stride: bytes to an entry, at most 4096
 *
 * Return: bytes of memory it needs. Another ring may follow them.
 */
u64 rnic_ring_plan(struct rnic_ring *ring, u32 entries, u32 stride)
{
	BUILD_BUG_ON(sizeof(struct mpa_ring_hdr) != MPA_RING_HDR_LEN);
	BUILD_BUG_ON(MPA_RING_HDR_LEN % MPA_RING_ALIGN);
	ring->size = roundup_pow_of_two(entries);
	ring->stride = stride;
	return round_up(MPA_RING_HDR_LEN + (u64)ring->size * stride,
			MPA_RING_ALIGN);
}

/**
 * rnic_ring_place() - assign memory to a ring; both indices are 0
 * @ring: from rnic_ring_plan()
 * @area: the memory, not mapped yet
 * @offset: offset of the ring in it, a multiple of %MPA_RING_ALIGN
 */
void rnic_ring_place(struct rnic_ring *ring, const struct rnic_area *area,
		     u64 offset)
{
	ring->hdr = area->mem + offset;
	ring->entries = area->mem + offset + MPA_RING_HDR_LEN;
}

static int rnic_area_map(struct vm_area_struct *vma, void *mem)
{
	unsigned long at;
	int ret;

	mpa_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	/* Nor may mprotect() make it executable. */
	mpa_vm_flags_clear(vma, VM_MAYEXEC);
	for (at = vma->vm_start; at < vma->vm_end; at += PAGE_SIZE) {
		ret = vm_insert_page(vma, at, vmalloc_to_page(mem));
		if (ret)
			return ret;
		mem += PAGE_SIZE;
	}
	return 0;
}

/**
 * rnic_mmap() - map rings into the calling process
 * @uctx: its context
 * @vma: shared, and exactly as long as the area of the rings
 *
 * Return: 0; -EINVAL: no rings at that offset, another length, or a private
 * mapping; -EPERM: an executable mapping; or an error of vm_insert_page().
 */
int rnic_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int ret;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	/* The core has compared the lengths. */
	ret = rnic_area_map(vma, to_rnic_entry(entry)->mem);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

/**
 * rnic_mmap_free() - free an mmap entry without references
 * @entry: the entry
 */
void rnic_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct rnic_mmap_entry *own = to_rnic_entry(entry);

	vfree(own->mem);
	kfree(own);
}
