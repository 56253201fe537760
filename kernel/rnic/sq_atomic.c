// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send queue entries of atomic operations: their operands, which lie where other
 * entries have pieces of memory.
 */
#include <rdma/ib_verbs.h>

#include "ddp/atomic.h"
#include "sq_atomic.h"

/**
 * rnic_sqe_atomic_clear() - are the operands zero that the operation does not use?
 * @e: private copy of an entry with an atomic operation
 *
 * Return: true if so.
 */
bool rnic_sqe_atomic_clear(const struct mpa_sqe *e)
{
	return e->opcode == MPA_WR_CMP_SWAP ||
	       e->opcode == MPA_WR_MASKED_CMP_SWAP ||
	       !rnic_sqe_operands(e)->compare;
}

/**
 * rnic_sqe_atomic() - make an Atomic Request of an entry
 * @e: the entry, which has passed its checks
 * @a: set to the request, without identifier
 *
 * RFC 7306 has no Swap: it is a CmpSwap that compares no bit. A FetchAdd without
 * mask is one field of 64 bits.
 */
void rnic_sqe_atomic(const struct mpa_sqe *e, struct rdmap_atomic *a)
{
	const struct mpa_atomic *operands = rnic_sqe_operands(e);

	*a = (struct rdmap_atomic){
		.op = RDMAP_CMP_SWAP,
		.stag = e->stag,
		.to = e->remote_addr,
		.data = operands->data,
		.mask = ~0ULL,
		.compare = operands->compare,
		.compare_mask = ~0ULL,
	};
	switch (e->opcode) {
	case MPA_WR_FETCH_ADD:
		a->op = RDMAP_FETCH_ADD;
		a->mask = 0;
		break;
	case MPA_WR_SWAP:
		a->compare_mask = 0;
		break;
	case MPA_WR_MASKED_FETCH_ADD:
		a->op = RDMAP_FETCH_ADD;
		a->mask = rnic_sqe_masks(e)->mask;
		break;
	case MPA_WR_MASKED_CMP_SWAP:
		a->mask = rnic_sqe_masks(e)->mask;
		a->compare_mask = rnic_sqe_masks(e)->compare_mask;
		break;
	}
}

/**
 * rnic_sqe_atomic_from() - write the operands of a kernel consumer's request
 * @e: the entry in the ring, started
 * @wr: the request
 *
 * Return: 0; -EINVAL: the result needs one piece of eight bytes.
 */
int rnic_sqe_atomic_from(struct mpa_sqe *e, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *awr = atomic_wr(wr);
	bool add = e->opcode == MPA_WR_FETCH_ADD ||
		   e->opcode == MPA_WR_MASKED_FETCH_ADD;

	if (wr->num_sge != 1 || wr->sg_list[0].length != RDMAP_ATOMIC_BYTES)
		return -EINVAL;
	e->remote_addr = awr->remote_addr;
	e->stag = awr->rkey;
	e->length = wr->sg_list[0].lkey;
	*rnic_sqe_operands(e) = (struct mpa_atomic){
		.addr = wr->sg_list[0].addr,
		.data = add ? awr->compare_add : awr->swap,
		.compare = add ? 0 : awr->compare_add,
	};
	*rnic_sqe_masks(e) = (struct rnic_atomic_masks){
		.mask = add ? awr->compare_add_mask : awr->swap_mask,
		.compare_mask = add ? 0 : awr->compare_add_mask,
	};
	return 0;
}
