/* SPDX-License-Identifier: GPL-2.0-only */
/* RDMA Reads in flight, in both directions. */
#ifndef MPA_RNIC_READS_H
#define MPA_RNIC_READS_H

#include <linux/types.h>

#include "ddp/atomic.h"
#include "ddp/header.h"

struct mem_cgroup;

/**
 * struct rnic_asked - a Read Request or Atomic Request of the peer
 * @is_atomic: it is atomic
 * @executed: the atomic operation was executed, and @value is its result, so that
 *	it is executed once, however often its response must be tried
 * @value: value before the atomic operation
 * @read: Read Request
 * @atomic: Atomic Request
 */
struct rnic_asked {
	bool is_atomic;
	bool executed;
	u64 value;
	union {
		struct rdmap_read read;
		struct rdmap_atomic atomic;
	};
};

/**
 * struct rnic_issued - a local Read or atomic operation whose response is due
 * @to: where the next byte of the response goes; atomic: its result
 * @index: its send record (rnic_sq.fetched numbering)
 * @stag: the sink's STag; 0: a Read without sink
 * @left: bytes of the response still due
 * @atomic: it is an atomic operation
 * @invalidate: @stag becomes invalid when the response is complete
 * @rtr: it is the RTR of a peer-to-peer start, which has no record and no sink
 */
struct rnic_issued {
	u64 to;
	u32 index;
	u32 stag;
	u32 left;
	bool atomic;
	bool invalidate;
	bool rtr;
};

enum {
	/* Peer's requests that need no memory besides the QP. */
	RNIC_READS_IN	= 4,
	/* Local Reads that need none. */
	RNIC_READS_OUT	= 8,
};

/**
 * struct rnic_reads - Reads in flight; socket lock
 * @out: outstanding local Reads, oldest first
 * @out_head: first of them, free-running
 * @out_tail: one past the last, free-running
 * @out_mask: entries of @out, a power of two, less one
 * @ord: how many may be outstanding
 * @in: the peer's Read Requests not yet answered, oldest first
 * @in_head: first of them, free-running
 * @in_tail: one past the last, free-running
 * @in_mask: entries of @in, a power of two, less one
 * @ird: how many of them the peer may have
 * @few_out: first memory of @out
 * @few_in: first memory of @in
 *
 * Atomic operations are among them: both share queue 1, its sequence numbers and
 * the depths (RFC 7306 section 5). Most streams never have as many in flight as
 * they have negotiated, so the queues grow when they must.
 */
struct rnic_reads {
	struct rnic_issued *out;
	u32 out_head;
	u32 out_tail;
	u32 out_mask;
	u32 ord;
	struct rnic_asked *in;
	u32 in_head;
	u32 in_tail;
	u32 in_mask;
	u32 ird;
	struct rnic_issued few_out[RNIC_READS_OUT];
	struct rnic_asked few_in[RNIC_READS_IN];
};

void rnic_reads_init(struct rnic_reads *r);
bool rnic_reads_grow_out(struct rnic_reads *r, struct mem_cgroup *memcg);
bool rnic_reads_grow_in(struct rnic_reads *r, struct mem_cgroup *memcg);
void rnic_reads_destroy(struct rnic_reads *r);

/**
 * rnic_reads_outstanding() - how many local Reads await their response
 * @r: under the socket lock
 *
 * Return: the number, an RTR included.
 */
static inline u32 rnic_reads_outstanding(const struct rnic_reads *r)
{
	return r->out_tail - r->out_head;
}

/**
 * rnic_reads_room_out() - may another local Read be issued?
 * @r: under the socket lock
 * @memcg: memory cgroup to charge, or NULL: that of the caller
 *
 * Any context. Return: false if it must wait for the end of others: ORD are
 * outstanding, or there is no memory for more.
 */
static inline bool rnic_reads_room_out(struct rnic_reads *r,
				       struct mem_cgroup *memcg)
{
	u32 n = rnic_reads_outstanding(r);

	return n < r->ord && (n <= r->out_mask || rnic_reads_grow_out(r, memcg));
}

/**
 * rnic_reads_issue() - a Read Request was put into a batch
 * @r: under the socket lock; rnic_reads_room_out() has found room, or none is
 *	outstanding
 * @issued: what its response needs
 */
static inline void rnic_reads_issue(struct rnic_reads *r,
				    const struct rnic_issued *issued)
{
	r->out[r->out_tail++ & r->out_mask] = *issued;
}

/**
 * rnic_reads_oldest() - the request whose response is expected next
 * @r: under the socket lock
 *
 * Return: the request, until rnic_reads_room_out() is called; NULL if none is
 * outstanding.
 */
static inline struct rnic_issued *rnic_reads_oldest(struct rnic_reads *r)
{
	if (!rnic_reads_outstanding(r))
		return NULL;
	return &r->out[r->out_head & r->out_mask];
}

/**
 * rnic_response_pending() - is a Read of the peer unanswered?
 * @r: under the socket lock
 *
 * Return: true if so.
 */
static inline bool rnic_response_pending(const struct rnic_reads *r)
{
	return r->in_head != r->in_tail;
}

/**
 * rnic_reads_room_in() - is there memory for another request of the peer?
 * @r: under the socket lock
 * @memcg: memory cgroup to charge, or NULL: that of the caller
 *
 * Any context. Return: false if there is none at the moment.
 */
static inline bool rnic_reads_room_in(struct rnic_reads *r,
				      struct mem_cgroup *memcg)
{
	return r->in_tail - r->in_head <= r->in_mask ||
	       rnic_reads_grow_in(r, memcg);
}

/**
 * rnic_reads_add_in() - a request of the peer was accepted
 * @r: under the socket lock; rnic_reads_room_in() has found room
 * @asked: the request
 */
static inline void rnic_reads_add_in(struct rnic_reads *r,
				     const struct rnic_asked *asked)
{
	r->in[r->in_tail++ & r->in_mask] = *asked;
}

/**
 * rnic_response_head() - the request to be answered next
 * @r: under the socket lock; one is pending
 *
 * Return: the request.
 */
static inline struct rnic_asked *rnic_response_head(struct rnic_reads *r)
{
	return &r->in[r->in_head & r->in_mask];
}

/**
 * rnic_asked_len() - how many bytes the response carries
 * @asked: the request
 *
 * Return: bytes of payload; an Atomic Response has a header only.
 */
static inline u32 rnic_asked_len(const struct rnic_asked *asked)
{
	return asked->is_atomic ? 0 : asked->read.size;
}

/**
 * rnic_response_done() - the request at the head was answered
 * @r: under the socket lock
 */
static inline void rnic_response_done(struct rnic_reads *r)
{
	r->in_head++;
}

#endif /* MPA_RNIC_READS_H */
