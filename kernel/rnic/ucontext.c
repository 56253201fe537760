// SPDX-License-Identifier: GPL-2.0-only
/*
 * User contexts, and the rings that they map.
 *
 * The memory of a user's rings belongs to its mmap entry, which the core keeps
 * as long as somebody maps from it. Pages that are mapped have a reference
 * of their own, so that they outlive even the device: a process that still
 * looks at a dead ring sees the last state it had.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "ring.h"

/**
 * struct mpa_mmap_entry - the memory of a user's rings
 * @rdma: what the core sees
 * @mem: the memory, vmalloc_user(); freed with the entry
 */
struct mpa_mmap_entry {
	struct rdma_user_mmap_entry rdma;
	void *mem;
};

static struct mpa_mmap_entry *to_mpa_entry(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct mpa_mmap_entry, rdma);
}

static struct rdma_user_mmap_entry *entry_create(struct ib_ucontext *uctx,
						 void *mem, u32 len)
{
	struct mpa_mmap_entry *entry;
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

/**
 * mpa_area_create() - make memory for rings, zeroed
 * @area: to be set up; zeroed if it fails
 * @uctx: whose process is to map it; NULL for kernel consumers
 * @len: octets, rounded up to pages
 *
 * Process context.
 *
 * Return: 0; -EINVAL: too much for a mapping; -ENOMEM.
 */
int mpa_area_create(struct mpa_area *area, struct ib_ucontext *uctx, u64 len)
{
	*area = (struct mpa_area){};
	len = PAGE_ALIGN(len);
	if (len > INT_MAX)
		return -EINVAL;
	area->mem = vmalloc_user(len);
	if (!area->mem)
		return -ENOMEM;
	area->len = len;
	if (!uctx)
		return 0;
	area->entry = entry_create(uctx, area->mem, len);
	if (IS_ERR(area->entry)) {
		int ret = PTR_ERR(area->entry);

		vfree(area->mem);
		*area = (struct mpa_area){};
		return ret;
	}
	return 0;
}

/**
 * mpa_area_destroy() - let go of the memory of rings
 * @area: the memory, or a zeroed one
 *
 * Nobody may use the rings any more. The memory goes when the last mapping
 * does. Process context.
 */
void mpa_area_destroy(struct mpa_area *area)
{
	if (area->entry)
		rdma_user_mmap_entry_remove(area->entry);
	else
		vfree(area->mem);
	*area = (struct mpa_area){};
}

/**
 * mpa_area_key() - where to map a user's rings
 * @area: the memory, made with a user context
 *
 * Return: the offset for mmap().
 */
u64 mpa_area_key(const struct mpa_area *area)
{
	return rdma_user_mmap_get_offset(area->entry);
}

/**
 * mpa_ring_plan() - what a ring is to be like
 * @ring: its size and stride are set
 * @entries: how many it holds, not 0, at most 2^20; rounded up to a power of
 *	two
 * @stride: octets to an entry, at most 4096
 *
 * Return: octets of memory it needs; another ring may follow these.
 */
u64 mpa_ring_plan(struct mpa_ring *ring, u32 entries, u32 stride)
{
	BUILD_BUG_ON(sizeof(struct mpa_ring_hdr) != MPA_RING_HDR_LEN);
	BUILD_BUG_ON(MPA_RING_HDR_LEN % MPA_RING_ALIGN);
	ring->size = roundup_pow_of_two(entries);
	ring->stride = stride;
	return round_up(MPA_RING_HDR_LEN + (u64)ring->size * stride,
			MPA_RING_ALIGN);
}

/**
 * mpa_ring_place() - give a ring its memory; both indices are at 0
 * @ring: as planned
 * @area: the memory, which nobody has mapped yet
 * @offset: where in it, a multiple of %MPA_RING_ALIGN
 */
void mpa_ring_place(struct mpa_ring *ring, const struct mpa_area *area,
		    u64 offset)
{
	ring->hdr = area->mem + offset;
}

/**
 * mpa_mmap() - map rings into the calling process
 * @uctx: its context
 * @vma: shared, and exactly as long as the area of the rings
 *
 * Return: 0; -EINVAL: no rings at that offset, or of another length, or the
 * mapping is private; -EPERM: an executable mapping was asked for; or what
 * remap_vmalloc_range() says.
 */
int mpa_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int ret;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	ret = remap_vmalloc_range(vma, to_mpa_entry(entry)->mem, 0);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

/**
 * mpa_mmap_free() - the core's last reference to an mmap entry is gone
 * @entry: the entry
 */
void mpa_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct mpa_mmap_entry *own = to_mpa_entry(entry);

	vfree(own->mem);
	kfree(own);
}

/**
 * mpa_alloc_ucontext() - a process opens the device
 * @uctx: its context
 * @udata: room for struct mpa_alloc_ucontext_resp
 *
 * Return: 0; -EINVAL: the provider has no room for the response; -EFAULT.
 */
int mpa_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct mpa_alloc_ucontext_resp resp = {
		.abi_version = MPA_ABI_VERSION,
	};

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/**
 * mpa_dealloc_ucontext() - a process has closed the device
 * @uctx: its context
 *
 * All that was in it is gone already, and the core frees the rest.
 */
void mpa_dealloc_ucontext(struct ib_ucontext *uctx)
{
}

/**
 * mpa_disassociate_ucontext() - the device goes while a process has it open
 * @uctx: the process's context
 *
 * Nothing is to be done: rings are ordinary memory whose mapped pages live as
 * long as the mapping, and no callback of ours is attached to it. That the
 * operation exists is what lets the core remove or move a device without
 * waiting for its users.
 */
void mpa_disassociate_ucontext(struct ib_ucontext *uctx)
{
}
