/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Index arithmetic of the rings shared with the kernel.
 *
 * Each index has one writer, which keeps a copy of its own and never trusts the
 * shared word. A store-release of an index pairs with the load-acquire on the
 * other side: entries are written before they are published, and copied before
 * their place is given back. Functions of the kernel that are named here are in
 * kernel/rnic.
 */
#ifndef MPA_PROVIDER_RING_H
#define MPA_PROVIDER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/mpa-abi.h>

/**
 * struct mpa_area - mapped memory of rings
 * @base: the first byte; NULL: nothing is mapped
 * @len: bytes mapped
 */
struct mpa_area {
	void *base;
	size_t len;
};

/**
 * struct mpa_ring - a ring in an area
 * @hdr: the shared indices; NULL for a ring of no entries
 * @slots: the first entry
 * @entries: a power of two, or 0
 * @stride: bytes from one entry to the next
 */
struct mpa_ring {
	struct mpa_ring_hdr *hdr;
	uint8_t *slots;
	uint32_t entries;
	uint32_t stride;
};

/**
 * mpa_ring_fits() - whether a geometry is valid
 * @entries: number of entries
 * @stride: bytes to an entry
 * @least_stride: bytes that an entry must have
 * @len: bytes there are for the whole ring
 */
static inline bool mpa_ring_fits(uint32_t entries, uint32_t stride,
				 uint32_t least_stride, uint32_t len)
{
	uint64_t need = (uint64_t)entries * stride + MPA_RING_HDR_LEN;

	return (entries & (entries - 1)) == 0 && stride >= least_stride &&
	       stride % 8 == 0 && need <= len;
}

/**
 * mpa_ring_slot() - the entry at an index
 * @ring: ring with at least one entry
 * @index: free-running
 */
static inline void *mpa_ring_slot(const struct mpa_ring *ring, uint32_t index)
{
	return ring->slots +
	       (size_t)(index & (ring->entries - 1)) * ring->stride;
}

/**
 * mpa_ring_room() - entries a producer may still write
 * @ring: ring this side produces into
 * @prod: its own copy of the index, published or not
 *
 * If the consumer's index makes no sense (the memory of a removed device may
 * read as zeros), there is no room.
 */
static inline uint32_t mpa_ring_room(const struct mpa_ring *ring, uint32_t prod)
{
	uint32_t used;

	if (!ring->entries)
		return 0;

	/* Pairs with rnic_sq_advance(), rnic_rq_give_back(), rnic_srq_take(). */
	used = prod - __atomic_load_n(&ring->hdr->cons, __ATOMIC_ACQUIRE);
	return used < ring->entries ? ring->entries - used : 0;
}

/**
 * mpa_ring_ready() - entries a consumer may read
 * @ring: ring this side consumes from
 * @cons: its own copy of the index
 *
 * Return: the number, or -1 if the producer's index makes no sense.
 */
static inline int64_t mpa_ring_ready(const struct mpa_ring *ring, uint32_t cons)
{
	/* Pairs with cq_append(). */
	uint32_t ready = __atomic_load_n(&ring->hdr->prod, __ATOMIC_ACQUIRE) -
			 cons;

	return ready <= ring->entries ? (int64_t)ready : -1;
}

/**
 * mpa_ring_empty() - whether a consumer finds no entry
 * @hdr: of a ring that this side consumes from
 * @cons: its own copy of the index
 */
static inline bool mpa_ring_empty(const struct mpa_ring_hdr *hdr, uint32_t cons)
{
	return __atomic_load_n(&hdr->prod, __ATOMIC_RELAXED) == cons;
}

/**
 * mpa_ring_produce() - publish entries
 * @ring: ring this side produces into
 * @prod: the new index
 */
static inline void mpa_ring_produce(struct mpa_ring *ring, uint32_t prod)
{
	/* Pairs with rnic_ring_pending(). */
	__atomic_store_n(&ring->hdr->prod, prod, __ATOMIC_RELEASE);
}

/**
 * mpa_ring_consume() - give entries back
 * @ring: ring this side consumes from
 * @cons: the new index
 */
static inline void mpa_ring_consume(struct mpa_ring *ring, uint32_t cons)
{
	/* Pairs with cq_full(). */
	__atomic_store_n(&ring->hdr->cons, cons, __ATOMIC_RELEASE);
}

/**
 * mpa_ring_arm() - ask for an event
 * @hdr: of a completion ring
 * @want: %MPA_ARM_SOLICITED or %MPA_ARM_NEXT
 *
 * A stronger request that is still pending stays. The caller looks at the
 * ring again afterwards; the barrier keeps that look from being done before
 * the request is visible, and pairs with smp_mb() in cq_append(), between
 * publishing a completion and looking at the request. One of the two sides sees
 * the other.
 */
static inline void mpa_ring_arm(struct mpa_ring_hdr *hdr, uint32_t want)
{
	uint32_t old = __atomic_load_n(&hdr->arm, __ATOMIC_RELAXED);

	while (old < want &&
	       !__atomic_compare_exchange_n(&hdr->arm, &old, want, true,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/**
 * mpa_ring_armed() - whether the consumer asked to be notified of new entries
 * @ring: receive ring, into which entries have just been published
 *
 * The kernel looks at a receive queue when a message needs a buffer. Once a
 * stream has ended none will come, yet receives that are posted then have to
 * be flushed: it sets the word before it flushes for the last time. The
 * barrier keeps the word from being read before the entries are published, and
 * pairs with smp_mb() in rnic_qp_want_doorbell(), between the kernel's store
 * and its look at prod.
 */
static inline bool mpa_ring_armed(const struct mpa_ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->hdr->arm, __ATOMIC_RELAXED) !=
	       MPA_ARM_NONE;
}

#endif /* MPA_PROVIDER_RING_H */
