// SPDX-License-Identifier: GPL-2.0-only
/*
 * User contexts, and the rings that they map.
 *
 * The memory of a user's ring belongs to its mmap entry, which the core keeps
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
 * struct mpa_mmap_entry - the memory of a user's ring
 * @rdma: what the core sees
 * @hdr: the memory, vmalloc_user(); freed with the entry
 */
struct mpa_mmap_entry {
	struct rdma_user_mmap_entry rdma;
	struct mpa_ring_hdr *hdr;
};

static struct mpa_mmap_entry *to_mpa_entry(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct mpa_mmap_entry, rdma);
}

static struct rdma_user_mmap_entry *entry_create(struct ib_ucontext *uctx,
						 struct mpa_ring_hdr *hdr,
						 u32 len)
{
	struct mpa_mmap_entry *entry;
	int ret;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return ERR_PTR(-ENOMEM);
	entry->hdr = hdr;
	ret = rdma_user_mmap_entry_insert(uctx, &entry->rdma, len);
	if (ret) {
		kfree(entry);
		return ERR_PTR(ret);
	}
	return &entry->rdma;
}

/**
 * mpa_ring_create() - make a ring, zeroed, with both indices at 0
 * @ring: the ring
 * @uctx: whose process is to map it; NULL for kernel consumers
 * @entries: how many it holds, rounded up to a power of two
 * @stride: octets to an entry
 *
 * Process context.
 *
 * Return: 0; -EINVAL: no entries, no stride, or too much for a mapping;
 * -ENOMEM.
 */
int mpa_ring_create(struct mpa_ring *ring, struct ib_ucontext *uctx,
		    u32 entries, u32 stride)
{
	u64 len;

	BUILD_BUG_ON(sizeof(struct mpa_ring_hdr) != MPA_RING_HDR_LEN);
	if (!entries || entries > BIT(31) || !stride)
		return -EINVAL;
	entries = roundup_pow_of_two(entries);
	len = PAGE_ALIGN(MPA_RING_HDR_LEN + (u64)entries * stride);
	if (len > INT_MAX)
		return -EINVAL;

	ring->hdr = vmalloc_user(len);
	if (!ring->hdr)
		return -ENOMEM;
	ring->size = entries;
	ring->stride = stride;
	ring->len = len;
	ring->entry = NULL;
	if (uctx) {
		ring->entry = entry_create(uctx, ring->hdr, len);
		if (IS_ERR(ring->entry)) {
			vfree(ring->hdr);
			ring->hdr = NULL;
			return PTR_ERR(ring->entry);
		}
	}
	return 0;
}

/**
 * mpa_ring_destroy() - let go of a ring
 * @ring: the ring, or one that mpa_ring_create() refused and that was zeroed
 *	before
 *
 * Nobody may use it any more. The memory goes when the last mapping does.
 * Process context.
 */
void mpa_ring_destroy(struct mpa_ring *ring)
{
	if (!ring->hdr)
		return;
	if (ring->entry)
		rdma_user_mmap_entry_remove(ring->entry);
	else
		vfree(ring->hdr);
	ring->hdr = NULL;
	ring->entry = NULL;
}

/**
 * mpa_ring_key() - where to map a user's ring
 * @ring: the ring, made with a user context
 *
 * Return: the offset for mmap().
 */
u64 mpa_ring_key(const struct mpa_ring *ring)
{
	return rdma_user_mmap_get_offset(ring->entry);
}

/**
 * mpa_mmap() - map a ring into the calling process
 * @uctx: its context
 * @vma: shared, and exactly as long as the ring
 *
 * Return: 0; -EINVAL: no ring at that offset, or of another length, or the
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
	ret = remap_vmalloc_range(vma, to_mpa_entry(entry)->hdr, 0);
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

	vfree(own->hdr);
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
