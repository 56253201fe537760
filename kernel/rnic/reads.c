// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA Reads in flight: local ones, which responses complete in posting order,
 * and those of the peer, which are answered in the order of arrival.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "reads.h"

/*
 * Returns a queue with twice the entries of @size bytes that @queue has, or NULL.
 * The entries from @head on, which fill @queue, keep their free-running numbers.
 */
static void *rnic_reads_double(const void *queue, u32 *mask, u32 head, size_t size,
			       struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = NULL;
	u32 i, nr = *mask + 1;
	void *more;

	/* Often in softirq. */
	if (memcg)
		old = set_active_memcg(memcg);
	more = kmalloc_array(2 * nr, size,
			     GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (memcg)
		set_active_memcg(old);
	if (!more)
		return NULL;
	for (i = head; i != head + nr; i++)
		memcpy(more + (i & (2 * nr - 1)) * size,
		       queue + (i & (nr - 1)) * size, size);
	*mask = 2 * nr - 1;
	return more;
}

static void rnic_reads_free_out(struct rnic_reads *r)
{
	if (r->out != r->few_out)
		kfree(r->out);
}

static void rnic_reads_free_in(struct rnic_reads *r)
{
	if (r->in != r->few_in)
		kfree(r->in);
}

/**
 * rnic_reads_grow_out() - allocate memory for more local Reads
 * @r: under the socket lock; its queue of local Reads is full
 * @memcg: memory cgroup to charge, or NULL: that of the caller
 *
 * Any context. Return: false, with nothing changed, if there is none.
 */
bool rnic_reads_grow_out(struct rnic_reads *r, struct mem_cgroup *memcg)
{
	struct rnic_issued *out = rnic_reads_double(r->out, &r->out_mask,
						    r->out_head,
						    sizeof(*r->out), memcg);

	if (!out)
		return false;
	rnic_reads_free_out(r);
	r->out = out;
	return true;
}

/**
 * rnic_reads_grow_in() - allocate memory for more requests of the peer
 * @r: under the socket lock; its queue of these requests is full
 * @memcg: memory cgroup to charge, or NULL: that of the caller
 *
 * Any context. Pointers from rnic_response_head() become invalid. Return: false,
 * with nothing changed, if there is none.
 */
bool rnic_reads_grow_in(struct rnic_reads *r, struct mem_cgroup *memcg)
{
	struct rnic_asked *in = rnic_reads_double(r->in, &r->in_mask, r->in_head,
						  sizeof(*r->in), memcg);

	if (!in)
		return false;
	rnic_reads_free_in(r);
	r->in = in;
	return true;
}

/**
 * rnic_reads_init() - make both queues empty
 * @r: zeroed
 */
void rnic_reads_init(struct rnic_reads *r)
{
	r->out = r->few_out;
	r->out_mask = RNIC_READS_OUT - 1;
	r->in = r->few_in;
	r->in_mask = RNIC_READS_IN - 1;
}

/**
 * rnic_reads_destroy() - free the memory of both queues
 * @r: the queues, which are not used any more
 */
void rnic_reads_destroy(struct rnic_reads *r)
{
	rnic_reads_free_out(r);
	rnic_reads_free_in(r);
}
