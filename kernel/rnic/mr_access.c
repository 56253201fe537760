// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access to memory regions and windows.
 *
 * A region is found by its STag under RCU and used under its own lock. The lock
 * is held for writing to take its rights away, so that no placement is running
 * afterwards (RFC 5042 section 6.2.2). Senders get the location of bytes under
 * the lock and copy them without it: they hold a reference, which
 * deregistration waits for, and after copying check that the epoch of the
 * region has not changed, before any byte goes to TCP. The regions of kernel
 * consumers they lock once more for copying.
 *
 * A window is found and used like a region. While it is bound, the region below
 * it can neither be invalidated nor removed, so the window refers to its pages.
 * Senders hold both: once the window is unbound, only their own reference keeps
 * the region.
 *
 * Application memory is touched in three places: mr_rx.c, mr_atomic.c, and where
 * senders copy what mr_tx.c has granted.
 */
#include "mr_access.h"

/**
 * rnic_mr_dma_mapped() - are kernel addresses mapped memory?
 * @addr: the first
 * @len: bytes
 *
 * Not inline, so that the checks of other regions need no stack frame.
 *
 * Return: true if all of them are.
 */
bool rnic_mr_dma_mapped(u64 addr, u64 len)
{
	u64 at = addr & PAGE_MASK;

	for (; at - (addr & PAGE_MASK) < offset_in_page(addr) + len;
	     at += PAGE_SIZE)
		if (!virt_addr_valid((void *)(uintptr_t)at))
			return false;
	return true;
}

/**
 * rnic_mr_check_range() - is a piece of memory the caller's?
 * @pd: the caller's protection domain
 * @sge: the piece
 * @access: IB_ACCESS_* rights needed, or %RNIC_MR_LOCAL_READ
 *
 * Any context.
 *
 * Return: 0; -ENOENT: an unknown or invalid lkey, or one of another context, which
 * the caller may not find by trying; -EPERM: another domain, or without the right;
 * -EFAULT: bytes outside of the region.
 */
int rnic_mr_check_range(const struct ib_pd *pd, const struct ib_sge *sge,
			int access)
{
	struct rnic_dev *dev = to_rnic_dev(pd->device);
	const struct mr_scope scope = { .pd = pd };
	struct rnic_mr *mr;
	int ret = -ENOENT;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, sge->lkey >> RNIC_MR_KEY_BITS);
	if (mr && mr->uctx == to_rnic_pd(pd)->uctx) {
		rnic_mr_read_lock(mr);
		ret = mr_check(mr, scope, sge->lkey, sge->addr, sge->length,
			       access);
		rnic_mr_read_unlock(mr);
	}
	rcu_read_unlock();
	return ret;
}

static bool mr_read_granted(struct rnic_mr *mr, const struct ib_qp *ibqp,
			    const struct rdmap_read *rd, struct ddp_fault *f)
{
	struct ddp_region_view v;
	bool ok;

	mr_view(mr, mr_scope_of(ibqp), rd->src_stag, IB_ACCESS_REMOTE_READ, &v);
	ok = rdmap_check_read(rd, &v, f);
	if (ok)
		atomic64_add(rd->size, &mr_traffic(mr)->read);
	return ok;
}

/**
 * rnic_mr_read_granted() - may a peer read memory?
 * @dev: the device
 * @ibqp: the queue pair of the stream
 * @rd: what it asks for; not of 0 bytes
 * @f: set to the fault by rdmap_check_read()
 *
 * Any context. The result may be outdated on return; rnic_mr_get() checks
 * again.
 *
 * Return: true if the region grants it.
 */
bool rnic_mr_read_granted(struct rnic_dev *dev, const struct ib_qp *ibqp,
			  const struct rdmap_read *rd, struct ddp_fault *f)
{
	const struct ddp_region_view none = {};
	struct rnic_mr *mr;
	bool ok;

	rcu_read_lock();
	mr = mr_find_access(dev, mr_scope_of(ibqp), rd->src_stag,
			    IB_ACCESS_REMOTE_READ);
	if (mr) {
		rnic_mr_read_lock(mr);
		ok = mr_read_granted(mr, ibqp, rd, f);
		rnic_mr_read_unlock(mr);
	} else {
		ok = rdmap_check_read(rd, &none, f);
	}
	rcu_read_unlock();
	return ok;
}
