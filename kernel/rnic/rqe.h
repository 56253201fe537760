/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries of receive queues, of one queue pair and shared ones. */
#ifndef MPA_RNIC_RQE_H
#define MPA_RNIC_RQE_H

#include <linux/math.h>
#include <rdma/ib_verbs.h>
#include <rdma/mpa-abi.h>

#include "ring.h"

/* Bytes of an entry that has room for so many pieces. */
static inline u32 rnic_rqe_stride(u32 max_sge)
{
	return round_up(sizeof(struct mpa_rqe) +
			max_sge * sizeof(struct mpa_sge), 32);
}

/*
 * Copies an entry and as many of its pieces as it may have. It is checked
 * afterwards, on the copy: a user can change the ring at any time.
 */
static inline void rnic_rqe_fetch(const struct rnic_ring *ring, u32 index,
				  u32 max_sge, struct mpa_rqe *e)
{
	rnic_ring_fetch(ring, index, 0, e, sizeof(*e));
	rnic_ring_fetch(ring, index, sizeof(*e), e->sge,
			min(e->num_sge, max_sge) * sizeof(e->sge[0]));
}

/**
 * rnic_rqe_post() - put a kernel consumer's receive into a ring
 * @ring: the ring; the lock of its queue is held
 * @max_sge: pieces that an entry may have
 * @wr: the request
 *
 * Return: 0, -EINVAL (too many pieces), -ENOMEM (ring full).
 */
static inline int rnic_rqe_post(struct rnic_ring *ring, u32 max_sge,
				const struct ib_recv_wr *wr)
{
	u32 prod = ring->hdr->prod;
	struct mpa_rqe *e = rnic_ring_at(ring, prod);
	int i;

	if (wr->num_sge < 0 || wr->num_sge > max_sge)
		return -EINVAL;
	/*
	 * Pairs with rnic_rq_give_back() and rnic_srq_take(): the reader is
	 * done with the slot.
	 */
	if (prod - smp_load_acquire(&ring->hdr->cons) >= ring->size)
		return -ENOMEM;
	e->wr_id = wr->wr_id;
	e->num_sge = wr->num_sge;
	e->reserved = 0;
	for (i = 0; i < wr->num_sge; i++) {
		e->sge[i].addr = wr->sg_list[i].addr;
		e->sge[i].length = wr->sg_list[i].length;
		e->sge[i].lkey = wr->sg_list[i].lkey;
	}
	/* Pairs with rnic_ring_pending(). */
	smp_store_release(&ring->hdr->prod, prod + 1);
	return 0;
}

#endif /* MPA_RNIC_RQE_H */
