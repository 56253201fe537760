/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in memory management.
 */
#ifndef MPA_COMPAT_MM_H
#define MPA_COMPAT_MM_H

#include <linux/mm.h>

/*
 * Regions are lists of kernel addresses, at which softirqs place received
 * bytes. On 32-bit kernels high memory has no address before it is mapped.
 */
#ifdef CONFIG_HIGHMEM
#error "mpa_rnic needs a kernel without CONFIG_HIGHMEM: all memory must have kernel addresses"
#endif

/**
 * mpa_vm_flags_set - set flags of a mapping in its mmap() handler
 * @vma: the mapping
 * @flags: VM_*
 */
static inline void mpa_vm_flags_set(struct vm_area_struct *vma,
				    unsigned long flags)
{
#ifdef MPA_HAVE_VM_FLAGS_SET
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/**
 * mpa_vm_flags_clear - clear flags of a mapping in its mmap() handler
 * @vma: the mapping
 * @flags: VM_*
 */
static inline void mpa_vm_flags_clear(struct vm_area_struct *vma,
				      unsigned long flags)
{
#ifdef MPA_HAVE_VM_FLAGS_SET
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

#endif /* MPA_COMPAT_MM_H */
